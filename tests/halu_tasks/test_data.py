"""Where data come from, and how bad data are reported."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from common import read_rows
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.options import Options
from halu_tasks.data.cache import cache_folder, cached_path, sha256_of
from halu_tasks.data.locate import SAMPLE, find_beside, locate
from halu_tasks.data.rows import json_lines
from halu_tasks.data.sources import SOURCES, Source, SourceFile
from halu_tasks.tasks import build, get_source, registry

PUBLISHED = b'{"a": "published"}\n'
ROWS, OTHER = "rows.jsonl", "other.jsonl"
# nothing listens on the discard port: a download fails at once
ADDRESS = "http://127.0.0.1:9"
TOY = Source(
    name="toy",
    title="Toy",
    files=(
        SourceFile(name=ROWS, url=f"{ADDRESS}/{ROWS}", sha256=hashlib.sha256(PUBLISHED).hexdigest()),
        SourceFile(name=OTHER, url=f"{ADDRESS}/{OTHER}"),
    ),
    revision="revision-1",
)


LOCAL = b'{"a": "local"}\n'


def put(path: Path, content: bytes = LOCAL) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


# --- where data are -----------------------------------------------------------------------------

LOCATED: dict[str, tuple[dict[str, bytes], str | None, str | None, str, str]] = {
    "named before environment and cache": ({"env/rows.jsonl": LOCAL, "x": LOCAL}, "x", "env", "x", "local"),
    "environment before the cache": ({"env/rows.jsonl": LOCAL}, None, "env", "env/rows.jsonl", "local"),
    "the cache": ({}, None, None, "cache", "pinned"),
    "a folder": ({"rows.jsonl": LOCAL, "elsewhere/rows.jsonl": LOCAL}, ".", None, "rows.jsonl", "local"),
    "a root of folders": (
        {"toy/rows.jsonl": LOCAL, "elsewhere/rows.jsonl": LOCAL},
        ".",
        None,
        "toy/rows.jsonl",
        "local",
    ),
    "the home folder": ({"data/rows.jsonl": LOCAL}, "~/data", None, "data/rows.jsonl", "local"),
    "a copy of the published file": ({"rows.jsonl": PUBLISHED}, ".", None, "rows.jsonl", "pinned"),
    "almost a copy": ({"rows.jsonl": PUBLISHED + b"\n"}, ".", None, "rows.jsonl", "local"),
}


@pytest.mark.parametrize("case", LOCATED)
def test_data_are_found(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, named, environment, expected, kind = LOCATED[case]
    cached = put(cached_path(TOY, ROWS), PUBLISHED)
    for name, content in files.items():
        put(tmp_path / name, content)
    monkeypatch.setenv("HOME", str(tmp_path))
    if environment:
        monkeypatch.setenv("HALU_TASKS_DATA", str(tmp_path / environment))
    data = named if named is None or named.startswith("~") else str(tmp_path / named)
    found = locate(TOY, ROWS, Options(data=data))
    path = cached if expected == "cache" else tmp_path / expected
    assert (found.content, found.kind) == (path, kind)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_sample_is_read_when_it_is_asked_for_by_its_word(monkeypatch: pytest.MonkeyPatch) -> None:
    found = locate(SOURCES["refact"], "refact_multi_error.jsonl", Options(data="sample"))
    assert (found.content, found.kind) == (SAMPLE / "refact" / "refact_multi_error.jsonl", "sample")
    monkeypatch.setenv("HALU_TASKS_DATA", "sample")
    assert locate(SOURCES["cfaith"], "generative_qa.jsonl").kind == "sample"


def test_an_empty_environment_names_no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    put(cached_path(TOY, ROWS), PUBLISHED)
    monkeypatch.setenv("HALU_TASKS_DATA", "")
    beside = find_beside(TOY, ROWS, Options())
    assert beside and beside == locate(TOY, ROWS) and beside.kind == "pinned"


def test_missing_data_never_become_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", ADDRESS)
    with pytest.raises(DataError) as raised:
        build("refact_correction", Options())
    message = str(raised.value)
    assert "cannot download https://raw.githubusercontent.com/ddz5431/ReFACT/" in message
    for way in ("--metadata", "-T data=", "--data", "HALU_TASKS_DATA", "word sample"):
        assert way in message


@pytest.mark.parametrize(
    ("data", "message"),
    [*CASES["data_that_are_not_found_are_named"], ("x" * 5000, "File name too long; name a local copy")],
)
def test_data_that_are_not_found_are_named(data: str, message: str, tmp_path: Path) -> None:
    put(tmp_path / OTHER)
    with pytest.raises(DataError, match=message.replace("{}", str(tmp_path))):
        locate(TOY, ROWS, Options(data=data.replace("{}", str(tmp_path))))


@pytest.mark.parametrize(("given", "expected"), CASES["where_the_cache_is"])
def test_where_the_cache_is(given: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HALU_TASKS_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(expected)


def test_an_unknown_source_lists_the_known() -> None:
    with pytest.raises(UsageError, match=r"unknown source 'refakt' \(did you mean 'refact'\?\); known: refact, cfaith"):
        get_source("refakt")


# --- checksums ----------------------------------------------------------------------------------


def test_a_cached_file_of_another_sum_is_named_with_both_sums_and_not_used() -> None:
    path = put(cached_path(TOY, ROWS), b"tampered")
    with pytest.raises(DataError) as raised:
        locate(TOY, ROWS)
    message = str(raised.value)
    assert str(path) in message and "halu-tasks data fetch toy" in message
    assert hashlib.sha256(b"tampered").hexdigest() in message and str(TOY.file(ROWS).sha256) in message


def test_the_real_files_are_the_pinned_ones(shared_data: Path) -> None:
    for file in SOURCES["refact"].files:
        found = locate(SOURCES["refact"], file.name, Options(data=str(shared_data)))
        assert (found.kind, found.sha256) == ("pinned", file.sha256 or sha256_of(found.content))


# --- lines --------------------------------------------------------------------------------------


def lines_of(path: Path) -> list[tuple[int, dict[str, Any]]]:
    return list(json_lines(path))


BAD_LINES = {
    "not UTF-8": b'{"a": "\xff"}',
    "not UTF-8 (a surrogate)": b'{"a": "\xed\xa0\x80"}',
    "not JSON": b"{'a': 1}",
    "expected a JSON object, found list": b"[1]",
    "expected a JSON object, found str": b'"a"',
    "expected a JSON object, found NoneType": b"null",
    "not JSON (a list nested too deeply": b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "not JSON (a number with too many digits": b'{"a": ' + b"9" * 5_000 + b"}",
}


@pytest.mark.parametrize("reason", BAD_LINES)
def test_a_bad_line_is_named_by_file_line_and_reason(reason: str, tmp_path: Path) -> None:
    # many lines before and after: a reader that decodes ahead would name another
    good = b'{"a": "%s"}\n' % (b"x" * 500)
    path = put(tmp_path / ROWS, good * 40 + BAD_LINES[reason] + b"\n" + good * 40)
    with pytest.raises(DataError) as raised:
        lines_of(path)
    assert str(raised.value).startswith(f"{path}:41: {reason.split(' (a ')[0]}")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.lists(st.none() | st.dictionaries(st.text(), VALUES, max_size=3), max_size=6),
    st.booleans(),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
)
def test_what_was_written_is_read_with_its_line(
    rows: list[dict[str, Any] | None], mark: bool, end: bytes, escaped: bool
) -> None:
    """None is a blank line; `escaped` writes non-ASCII characters as they stand or as JSON escapes."""
    lines = [b"" if row is None else json.dumps(row, ensure_ascii=escaped).encode() for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        path = put(Path(folder) / ROWS, (b"\xef\xbb\xbf" if mark else b"") + end.join(lines))
        assert lines_of(path) == [(number, row) for number, row in enumerate(rows, 1) if row is not None]


# --- rows ---------------------------------------------------------------------------------------


def sample_rows(name: str) -> list[dict[str, Any]]:
    return [row for _, row in json_lines(SAMPLE / name)]


NEG_ROW, SWAP_ROW = (
    next(row for row in sample_rows("refact/refact_multi_error.jsonl") if row["error_type"] == kind)
    for kind in ("neg", "swap")
)
BASES = {
    "neg": ("refact_correction", NEG_ROW),
    "swap": ("refact_correction", SWAP_ROW),
    "choice": ("cfaith_choice", sample_rows("cfaith/single_choice_qa.jsonl")[0]),
    "open": ("cfaith_gen", sample_rows("cfaith/generative_qa.jsonl")[0]),
    "summary": ("halueval_summarization", sample_rows("halueval/summarization_data.json")[0]),
    "general": ("halueval_general", sample_rows("halueval/general_data.json")[0]),
    "factchd": ("factchd", next(row for row in sample_rows("factchd/fact_test_noe.jsonl") if "query" in row)),
    "factchd marked": ("factchd", next(row for row in sample_rows("factchd/fact_test_noe.jsonl") if "input" in row)),
}
BAD_ROWS = read_rows(Path(__file__).with_name("bad_rows.jsonl"))


@pytest.mark.parametrize("case", BAD_ROWS, ids=lambda case: f"{case['base']} {case['fault']}")
def test_a_bad_row_stops_loading_with_file_line_and_reason(case: dict[str, Any], tmp_path: Path) -> None:
    task, good = BASES[case["base"]]
    bad = {name: value for name, value in good.items() if name not in case.get("without", ())} | case.get("set", {})
    path = put(tmp_path / "rows.jsonl", "".join(json.dumps(each) + "\n" for each in (good, good, bad, good)).encode())
    rows = registry()[0][task].data.rows(path)
    assert [next(rows), next(rows)] == [good, good]
    with pytest.raises(DataError) as raised:
        next(rows)
    message = str(raised.value)
    assert message.startswith(f"{path}:3: ") and case["reason"] in message and len(message.splitlines()) == 1


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_a_file_without_rows_is_an_error(content: bytes, tmp_path: Path) -> None:
    path = put(tmp_path / "refact_multi_error.jsonl", content)
    with pytest.raises(DataError, match=f"{path}: contains no rows"):
        _ = build("refact_correction", Options(data=str(path))).items


def test_a_file_without_a_row_for_the_task_is_an_error(tmp_path: Path) -> None:
    path = put(tmp_path / "refact_multi_error.jsonl", json.dumps(NEG_ROW).encode())
    assert len(build("refact_localization_negation", Options(data=str(path))).items) == 1
    with pytest.raises(DataError, match=f"{path}: contains no row for task refact_correction"):
        _ = build("refact_correction", Options(data=str(path))).items


def test_a_row_given_twice_is_an_error_and_not_two_items_of_one_id(tmp_path: Path) -> None:
    path = put(tmp_path / "refact_multi_error.jsonl", (json.dumps(NEG_ROW) + "\n").encode() * 2)
    with pytest.raises(DataError, match=NEG_ROW["sample_id"]):
        _ = build("refact_localization_negation", Options(data=str(path))).items


def test_every_real_cfaith_row_is_read(shared_data: Path) -> None:
    options = Options(data=str(shared_data))
    sizes = {name: len(build(name, options).items) for name in ("cfaith_gen", "cfaith_tf", "cfaith_choice")}
    assert sizes == {"cfaith_gen": 14, "cfaith_tf": 28, "cfaith_choice": 9}
