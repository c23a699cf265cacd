"""Where data come from, and how bad data are reported."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.options import Options
from halu_tasks.data.cache import cache_folder, cached_path, sha256_of
from halu_tasks.data.locate import SAMPLE, locate
from halu_tasks.data.rows import json_lines
from halu_tasks.data.sources import SOURCES, Source, SourceFile
from halu_tasks.tasks import build, registry, source_named
from halu_tasks.tasks.data import TaskData

PUBLISHED = b'{"a": "published"}\n'
ROWS, OTHER = "rows.jsonl", "other.jsonl"
# nothing listens on the discard port: a download fails at once
ADDRESS = "http://127.0.0.1:9"
TOY = Source(
    "toy",
    "Toy",
    "https://example.org/toy",
    "MIT",
    "revision-1",
    (
        SourceFile(ROWS, f"{ADDRESS}/{ROWS}", hashlib.sha256(PUBLISHED).hexdigest()),
        SourceFile(OTHER, f"{ADDRESS}/{OTHER}"),
    ),
)


def put(path: Path, content: bytes = b'{"a": "local"}\n') -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halu_tasks.data.download.time", SimpleNamespace(sleep=lambda seconds: None))


# --- the order ----------------------------------------------------------------------------------


def test_a_named_file_wins_over_the_environment_and_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(cached_path(TOY, ROWS), PUBLISHED)
    monkeypatch.setenv("HALU_TASKS_DATA", str(put(tmp_path / "environment" / ROWS).parent))
    named = put(tmp_path / "named.jsonl", b'{"a": "named"}\n')
    found = locate(TOY, ROWS, Options(data=str(named)))
    assert (found.content, found.kind, found.sha256) == (named, "local", hashlib.sha256(named.read_bytes()).hexdigest())


def test_the_environment_wins_over_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(cached_path(TOY, ROWS), PUBLISHED)
    folder = put(tmp_path / "environment" / ROWS).parent
    monkeypatch.setenv("HALU_TASKS_DATA", str(folder))
    assert locate(TOY, ROWS).content == folder / ROWS


def test_the_cache_serves_when_nothing_is_named() -> None:
    path = put(cached_path(TOY, ROWS), PUBLISHED)
    found = locate(TOY, ROWS)
    assert (found.content, found.kind) == (path, "pinned")


def test_the_sample_is_read_when_it_is_asked_for_by_its_word(monkeypatch: pytest.MonkeyPatch) -> None:
    found = locate(SOURCES["refact"], "refact_multi_error.jsonl", Options(data="sample"))
    assert (found.content, found.kind) == (SAMPLE / "refact" / "refact_multi_error.jsonl", "sample")
    monkeypatch.setenv("HALU_TASKS_DATA", "sample")
    assert locate(SOURCES["cfaith"], "generative_qa.jsonl").kind == "sample"


def test_missing_data_never_become_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", ADDRESS)
    with pytest.raises(DataError) as raised:
        build("refact_correction", Options())
    message = str(raised.value)
    assert "cannot download https://raw.githubusercontent.com/ddz5431/ReFACT/" in message
    for way in ("--metadata", "-T data=", "--data", "HALU_TASKS_DATA", "word sample"):
        assert way in message


def test_a_benchmark_that_the_sample_lacks_is_an_error() -> None:
    with pytest.raises(DataError, match=r"Toy: the packaged sample has no rows\.jsonl"):
        locate(TOY, ROWS, Options(data="sample"))


# --- what a name may be -------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [ROWS, f"toy/{ROWS}"])
def test_a_folder_or_the_root_of_one_folder_a_benchmark(tmp_path: Path, inside: str) -> None:
    path = put(tmp_path / inside)
    put(tmp_path / "elsewhere" / ROWS)
    assert locate(TOY, ROWS, Options(data=str(tmp_path))).content == path


def test_a_file_may_have_any_name(tmp_path: Path) -> None:
    path = put(tmp_path / "mine.txt")
    assert locate(TOY, ROWS, Options(data=str(path))).content == path


def test_a_name_may_begin_with_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = put(tmp_path / "data" / ROWS)
    assert locate(TOY, ROWS, Options(data="~/data")).content == path


def test_a_copy_of_the_published_file_is_as_good_as_the_pinned_one(tmp_path: Path) -> None:
    assert locate(TOY, ROWS, Options(data=str(put(tmp_path / ROWS, PUBLISHED)))).kind == "pinned"
    assert locate(TOY, ROWS, Options(data=str(put(tmp_path / "x" / ROWS, PUBLISHED + b"\n")))).kind == "local"


def test_a_file_without_a_published_sum_is_local_when_named(tmp_path: Path) -> None:
    assert locate(TOY, OTHER, Options(data=str(put(tmp_path / OTHER)))).kind == "local"


def test_the_file_of_another_task_of_the_benchmark_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / OTHER)
    with pytest.raises(DataError, match=f"{path}: this task reads {ROWS}, not {OTHER}; name the folder"):
        locate(TOY, ROWS, Options(data=str(path)))


def test_the_generative_file_is_refused_by_the_choice_task() -> None:
    path = SAMPLE / "cfaith" / "generative_qa.jsonl"
    with pytest.raises(DataError, match=r"this task reads single_choice_qa\.jsonl, not generative_qa\.jsonl"):
        build("cfaith_choice", Options(data=str(path)))
    assert len(build("cfaith_tf", Options(data=str(path))).items) == 72


def test_a_path_that_does_not_exist_is_named_with_the_ways_to_name_another(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Toy: data '.*/nowhere' does not exist; name a local copy with halu_data="):
        locate(TOY, ROWS, Options(data=str(tmp_path / "nowhere")))


def test_a_folder_without_the_file_says_what_it_lacks(tmp_path: Path) -> None:
    put(tmp_path / OTHER)
    with pytest.raises(DataError, match=f"Toy: {tmp_path} contains neither {ROWS} nor toy/{ROWS}"):
        locate(TOY, ROWS, Options(data=str(tmp_path)))


def test_a_name_that_no_file_can_have_is_an_error_of_one_line() -> None:
    with pytest.raises(DataError, match="cannot be read"):
        locate(TOY, ROWS, Options(data="x" * 5000))


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read anything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = put(tmp_path / ROWS)
    path.chmod(0)
    with pytest.raises(DataError, match=f"{path}: Permission denied"):
        locate(TOY, ROWS, Options(data=str(path)))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"HALU_TASKS_CACHE": "/a/b", "XDG_CACHE_HOME": "/x"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/halu-tasks"),
        ({"HOME": "/home/me"}, "/home/me/.cache/halu-tasks"),
        ({"HALU_TASKS_CACHE": "~/c", "HOME": "/home/me"}, "/home/me/c"),
    ],
)
def test_where_the_cache_is(given: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HALU_TASKS_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(expected)


def test_an_unknown_source_lists_the_known() -> None:
    with pytest.raises(UsageError, match=r"unknown source 'refakt' \(did you mean 'refact'\?\); known: refact, cfaith"):
        source_named("refakt")


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


def test_byte_order_mark_windows_line_ends_and_blank_lines(tmp_path: Path) -> None:
    path = put(tmp_path / ROWS, b'\xef\xbb\xbf{"a": 1}\r\n\r\n \t\n{"a": 2}\r\n\n{"a": 3}')
    assert lines_of(path) == [(1, {"a": 1}), (4, {"a": 2}), (6, {"a": 3})]


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    text = "a\u2028b\x85c\u2029d"
    path = put(tmp_path / ROWS, json.dumps({"a": text}, ensure_ascii=False).encode() + b"\n")
    assert lines_of(path) == [(1, {"a": text})]


BAD_LINES = {
    "not UTF-8": b'{"a": "\xff"}',
    "not UTF-8 (a surrogate)": b'{"a": "\xed\xa0\x80"}',
    "not JSON": b"{'a': 1}",
    "not JSON (Expecting": b'{"a": }',
    "not JSON (Extra data": b'{"a": 1} {"a": 2}',
    "not JSON (Expecting ',' delimiter": b'{"a": 1',
    "not JSON (Invalid control": b'{"a": "\x01"}',
    "expected a JSON object, found list": b"[1]",
    "expected a JSON object, found str": b'"a"',
    "expected a JSON object, found NoneType": b"null",
    "not JSON (nested too deeply": b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
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


def test_a_utf_16_file_is_not_utf_8(tmp_path: Path) -> None:
    path = put(tmp_path / ROWS, '{"a": 1}\n'.encode("utf-16"))
    with pytest.raises(DataError, match=f"{path}:1: not UTF-8"):
        lines_of(path)


@given(st.lists(st.one_of(st.binary(max_size=60), st.text(max_size=60).map(str.encode)), max_size=5))
def test_any_bytes_give_objects_or_one_data_error(lines: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = put(Path(folder) / ROWS, b"\n".join(lines))
        try:
            found = lines_of(path)
        except DataError as error:
            assert str(error).startswith(f"{path}:") and len(str(error).splitlines()) == 1
        else:
            assert all(isinstance(row, dict) for _, row in found)


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

Change = Callable[[dict[str, Any]], object]


def sample_rows(name: str) -> list[dict[str, Any]]:
    return [row for _, row in json_lines(SAMPLE / name)]


def set_to(field: str, value: Any) -> Change:
    return lambda row: row.__setitem__(field, value)


def without(field: str) -> Change:
    return lambda row: row.pop(field)


def retagged(change: Callable[[str], str]) -> Change:
    return lambda row: row.__setitem__("error_spans", change(row["error_spans"]))


SWAP_ROW = next(row for row in sample_rows("refact/refact_multi_error.jsonl") if row["error_type"] == "swap")
NEG_ROW = next(row for row in sample_rows("refact/refact_multi_error.jsonl") if row["error_type"] == "neg")

BAD_REFACT: dict[str, tuple[dict[str, Any], Change, str]] = {
    "missing field": (SWAP_ROW, without("question"), "field 'question' is missing (has 'sample_id', "),
    "null": (SWAP_ROW, set_to("question", None), "field 'question' is NoneType, expected str"),
    "number": (SWAP_ROW, set_to("sample_id", 5), "field 'sample_id' is int, expected str"),
    "list": (SWAP_ROW, set_to("error_spans", []), "field 'error_spans' is list, expected str"),
    "empty": (SWAP_ROW, set_to("sample_id", ""), "field 'sample_id' is empty"),
    "blank": (SWAP_ROW, set_to("question", " \u00a0\n"), "field 'question' is empty"),
    "lone surrogate": (SWAP_ROW, set_to("question", "why \ud800?"), "field 'question' contains a lone surrogate"),
    "label": (SWAP_ROW, set_to("error_type", "swapped"), "error_type is 'swapped', expected 'neg' or 'swap'"),
    "label in capitals": (NEG_ROW, set_to("error_type", "NEG"), "error_type is 'NEG', expected 'neg' or 'swap'"),
    "never closed": (SWAP_ROW, retagged(lambda text: text.replace("</swap>", "", 1)), "<swap> "),
    "closes nothing": (SWAP_ROW, retagged(lambda text: text.replace("<swap>", "", 1)), "</swap> closes nothing"),
    "nested": (NEG_ROW, retagged(lambda text: text.replace("<neg>", "<neg><neg>", 1)), "<neg> opens inside <neg>"),
    "crossing": (NEG_ROW, retagged(lambda text: text.replace("<neg>", "<swap>", 1)), "</neg> closes <swap>"),
    "no tag": (NEG_ROW, set_to("error_spans", NEG_ROW["confabulated_answer"]), "error_spans has no tagged text"),
    "empty span": (
        NEG_ROW,
        set_to("error_spans", "<neg></neg>" + NEG_ROW["confabulated_answer"]),
        "error_spans has no tagged text",
    ),
    "other text": (
        NEG_ROW,
        retagged(lambda text: text + " And more."),
        "error_spans without its tags differs from confabulated_answer",
    ),
    "other white space": (
        NEG_ROW,
        retagged(lambda text: text.replace(" ", "  ", 1)),
        "error_spans without its tags differs from confabulated_answer",
    ),
    "no originals": (
        SWAP_ROW,
        set_to("correct_answer", "Something else entirely."),
        "the text around the tags does not begin and end as the correct answer does",
    ),
}


def reader_of(task: str) -> TaskData:
    return registry()[0][task].data


def failing_at_line_three(reader: Any, good: dict[str, Any], change: Change, path: Path, bad: dict[str, Any]) -> str:
    row = dict(bad)
    change(row)
    put(path, "".join(json.dumps(r) + "\n" for r in (good, good, row, good)).encode())
    rows = reader.rows(path)
    assert [next(rows), next(rows)] == [good, good]
    with pytest.raises(DataError) as raised:
        next(rows)
    assert len(str(raised.value).splitlines()) == 1
    return str(raised.value)


@pytest.mark.parametrize("fault", BAD_REFACT)
def test_a_bad_refact_row_stops_loading_with_file_line_and_reason(fault: str, tmp_path: Path) -> None:
    row, change, reason = BAD_REFACT[fault]
    path = tmp_path / "refact_multi_error.jsonl"
    message = failing_at_line_three(reader_of("refact_correction"), NEG_ROW, change, path, row)
    assert message.startswith(f"{path}:3: {reason}")


CHOICE_ROW = sample_rows("cfaith/single_choice_qa.jsonl")[0]
OPEN_ROW = sample_rows("cfaith/generative_qa.jsonl")[0]

BAD_CFAITH: dict[str, tuple[dict[str, Any], Change, str]] = {
    "type outside the set": (OPEN_ROW, set_to("halu_type", "错误"), "halu_type is '错误', expected '虚构事实' or"),
    "no entity": (OPEN_ROW, without("ent"), "field 'ent' is missing"),
    "blank answer": (OPEN_ROW, set_to("halu_answer", "\u3000"), "field 'halu_answer' is empty"),
    "surrogate": (OPEN_ROW, set_to("correct_answer", "\udfff"), "field 'correct_answer' contains a lone surrogate"),
    "answers as text": (CHOICE_ROW, set_to("answers", "ABCD"), "field 'answers' is str, expected list"),
    "three answers": (
        CHOICE_ROW,
        lambda row: row.update(answers=row["answers"][:3]),
        "expected four answers and four labels, found 3 and 4",
    ),
    "number among answers": (
        CHOICE_ROW,
        lambda row: row.update(answers=[1, *row["answers"][1:]]),
        "field 'answers' must be a list of strings",
    ),
    "letter": (CHOICE_ROW, set_to("correct_option", "E"), "correct_option is 'E'"),
    "letters": (CHOICE_ROW, set_to("correct_option", "AB"), "correct_option is 'AB'"),
    "letter of a wrong one": (
        CHOICE_ROW,
        set_to("correct_option", "ABCD"[(CHOICE_ROW["labels"].index("correct") + 1) % 4]),
        "but the label 'correct' must be at this position and no other",
    ),
    "two correct": (
        CHOICE_ROW,
        set_to("labels", ["correct"] * 4),
        "but the label 'correct' must be at this position and no other",
    ),
    "label outside the set": (
        CHOICE_ROW,
        lambda row: row.update(labels=[label if label == "correct" else "错误" for label in row["labels"]]),
        "hallucination type is '错误'",
    ),
}


@pytest.mark.parametrize("fault", BAD_CFAITH)
def test_a_bad_cfaith_row_stops_loading_with_file_line_and_reason(fault: str, tmp_path: Path) -> None:
    row, change, reason = BAD_CFAITH[fault]
    reader, good = (reader_of("cfaith_gen"), OPEN_ROW) if row is OPEN_ROW else (reader_of("cfaith_choice"), CHOICE_ROW)
    path = tmp_path / "rows.jsonl"
    message = failing_at_line_three(reader, good, change, path, row)
    assert message.startswith(f"{path}:3: ") and reason in message


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


@pytest.mark.parametrize(
    ("task", "multi", "single"),
    [
        ("refact_judgment_independent", 2002, 2502),
        ("refact_judgment_comparative", 1001, 1251),
        ("refact_localization_negation", 527, 527),
        ("refact_localization_entity", 474, 724),
        ("refact_correction", 474, 724),
    ],
)
def test_every_real_refact_row_is_read(shared_data: Path, task: str, multi: int, single: int) -> None:
    for subset, size in (("multi_error", multi), ("single_error", single)):
        items = build(task, Options(data=str(shared_data), subset=subset)).items
        assert len({item.id for item in items}) == len(items) == size


def test_every_real_cfaith_row_is_read(shared_data: Path) -> None:
    options = Options(data=str(shared_data))
    sizes = {name: len(build(name, options).items) for name in ("cfaith_gen", "cfaith_tf", "cfaith_choice")}
    assert sizes == {"cfaith_gen": 14, "cfaith_tf": 28, "cfaith_choice": 9}
