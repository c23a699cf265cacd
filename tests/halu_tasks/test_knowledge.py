"""Knowledge that is looked up: what may be named, how it is split, what a query finds, the cached index."""

import gzip
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from common import Patch, read_rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halu_tasks.core.errors import DataError
from halu_tasks.knowledge import open_knowledge, split
from halu_tasks.text.folding import tokens

FACTS = [
    "Water boils at 100 degrees Celsius at sea level.",
    "Mercury is the planet closest to the Sun.",
    "Mercury is a metal that is liquid at room temperature; mercury boils at 357 degrees.",
    "The Danube flows into the Black Sea.",
]


def write(path: Path, content: str | bytes | Sequence[str | dict[str, Any]]) -> Path:
    """A file of bytes, of a text, or of rows of JSON; rows that are texts get no other field."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(content, str | bytes):
        rows = [{"text": row} if isinstance(row, str) else row for row in content]
        content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    return write(tmp_path / "facts.jsonl", FACTS)


def ids(path: Path, query: str, top: int = 5) -> list[str]:
    return [passage.id for passage in open_knowledge(path).search(query, top)]


# --- search -------------------------------------------------------------------------------------


def test_the_best_passage_comes_first_and_none_without_a_shared_word(facts: Path) -> None:
    found = open_knowledge(facts).search("At how many degrees does mercury boil?")
    assert found[0].text == FACTS[2] and "Danube" not in " ".join(passage.text for passage in found)
    assert [passage.text for passage in found[1:]] == [FACTS[0], FACTS[1]]


def test_at_most_top_passages_are_found(facts: Path, tmp_path: Path) -> None:
    knowledge = open_knowledge(facts)
    assert [len(knowledge.search("mercury sea", top)) for top in (1, 2, 3, 4, 100)] == [1, 2, 3, 4, 4]
    assert knowledge.search("mercury sea", 2) == knowledge.search("mercury sea", 4)[:2]
    same = write(tmp_path / "a.jsonl", ["same words"] * 9)
    assert ids(same, "words") == [f"a.jsonl#{line}" for line in range(1, 6)]


@pytest.mark.parametrize("query", ["", " \n", "?!", "zebra", "zebra?", "\ud800", "沸"])
def test_a_query_that_shares_nothing_finds_nothing(facts: Path, query: str) -> None:
    assert open_knowledge(facts).search(query) == []


def test_a_query_of_endless_repetition_is_answered(facts: Path) -> None:
    assert ids(facts, "boils " * 50_000) == ids(facts, "boils")


def test_threads_may_search_at_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [f"number{number % 50} of the {number % 7}th kind" for number in range(500)])
    knowledge = open_knowledge(path)
    queries = [f"number{number % 50} {number % 7}th" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(knowledge.search, queries)) == [knowledge.search(query) for query in queries]


# every character that a file can hold
TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=40), min_size=1, max_size=8)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS)
def test_every_passage_is_found_by_the_rarest_of_its_tokens(texts: list[str]) -> None:
    held = [set(tokens(text)) for text in texts]
    times = Counter(token for found in held for token in found)
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "a.jsonl", texts)
        if not times:
            with pytest.raises(DataError, match="contains no passages with searchable words"):
                open_knowledge(path)
            return
        knowledge = open_knowledge(path)
        for text, found in zip(texts, held, strict=True):
            if found:
                rarest = min(found, key=lambda token: (times[token], token))
                assert text in [passage.text for passage in knowledge.search(rarest, times[rarest])]
                assert text in [passage.text for passage in knowledge.search(text, len(texts))]


# --- words --------------------------------------------------------------------------------------

WRITTEN = read_rows(Path(__file__).with_name("words.jsonl"))


@pytest.mark.parametrize("case", WRITTEN, ids=lambda case: case["difference"])
def test_a_word_is_found_however_it_is_written(case: dict[str, str], tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", ["something else 其他 شيء", case["text"]])
    assert ids(path, case["query"]) == ["a.jsonl#2"]


@pytest.mark.parametrize(
    ("text", "other"),
    [("Bali: バリ", "パリ"), ("上海", "海上"), ("ভাষা", "ভাষ"), ("not", "no"), ("1934", "193"), ("كتاب", "كتب")],
)
def test_another_word_is_not_found(text: str, other: str, tmp_path: Path) -> None:
    assert ids(write(tmp_path / "a.jsonl", [text]), other) == []


# --- rows ---------------------------------------------------------------------------------------


def test_a_row_has_its_own_id_and_title_or_is_named_by_its_line(tmp_path: Path) -> None:
    rows = [
        {"id": "a1", "title": "Water", "text": "boils", "metadata": {"x": [1]}},
        {"text": "freezes"},
        {"id": 7, "text": "flows", "title": None},
        {"id": None, "text": "rains"},
    ]
    knowledge = open_knowledge(write(tmp_path / "rows.jsonl", rows))
    found = [knowledge.search(query)[0] for query in ("boils", "freezes", "flows", "rains")]
    assert [passage.id for passage in found] == ["a1", "rows.jsonl#2", "7", "rows.jsonl#4"]
    assert [passage.title for passage in found] == ["Water", "", "", ""]


def test_a_corpus_of_beir_is_read_with_its_empty_rows(tmp_path: Path) -> None:
    rows = [
        {"_id": "4983", "title": "Microstructural development", "text": "Alterations of the white matter."},
        {"_id": "7915", "title": "", "text": "", "metadata": {}},
        {"_id": "ug7v899j", "title": "Clinical features", "text": ""},
    ]
    path = write(tmp_path / "corpus.jsonl", rows)
    assert (ids(path, "white matter"), ids(path, "clinical")) == (["4983"], ["ug7v899j"])


def test_a_corpus_of_pyserini_is_read_also_compressed(tmp_path: Path) -> None:
    plain = write(tmp_path / "a.jsonl", [{"id": "doc1", "contents": "the contents"}])
    packed = write(tmp_path / "b.jsonl.gz", gzip.compress(plain.read_bytes()))
    assert ids(plain, "contents") == ids(packed, "contents") == ["doc1"]


GOOD = b'{"text": "good"}\n'
BAD_ROWS = {row.encode(): reason for row, reason in CASES["bad_rows_of_knowledge"]}
BAD_ROWS[b'{"text": "\xff"}'] = "not UTF-8"


@pytest.mark.parametrize("row", BAD_ROWS)
def test_a_bad_row_is_named_by_file_line_and_reason(row: bytes, tmp_path: Path, halu_cache: Path) -> None:
    path = write(tmp_path / "a.jsonl", GOOD + b"\n" + row + b"\n" + GOOD)
    with pytest.raises(DataError) as raised:
        open_knowledge(path)
    assert str(raised.value).startswith(f"{path}:3: {BAD_ROWS[row]}") and "\n" not in str(raised.value)
    assert not [left for left in halu_cache.rglob("*") if left.suffix != ".lock" and left.name != "knowledge"]


DAMAGED = {
    "plain": b"plain",
    "cut off": gzip.compress(GOOD * 1000)[:-20],
    "broken": b"\x1f\x8b\x08\0\0\0\0\0\0\0\xff\xff",
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_compressed_file_is_named(content: bytes, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl.gz", content)
    with pytest.raises(DataError, match=f"^{path}: [^\n]+$"):
        open_knowledge(path)


# --- files and folders --------------------------------------------------------------------------


def test_a_folder_is_read_with_the_folders_in_it_in_the_order_of_names(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".notes"
    for name in ("b.txt", "a/z.md", "a/b/c.TXT", "c.jsonl", "empty.txt"):
        write(folder / name, [{"text": "found"}] if name == "c.jsonl" else "" if name == "empty.txt" else "found")
    for name in (".hidden.txt", ".git/notes.md", "a/.b/c.txt", "table.csv", "page.html", "notes.txt~"):
        write(folder / name, "found")
    # a hidden folder may be named itself
    assert ids(Path("~/.notes"), "found", 20) == ["a/b/c.TXT#1", "a/z.md#1", "b.txt#1", "c.jsonl#1"]


KINDS = r".*\.jsonl, \.jsonl\.gz, \.txt, \.md"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("nowhere", None, rf"knowledge '.*/nowhere': No such file or directory; supported are files ending in {KINDS}"),
        ("x" * 300, None, "knowledge '.*': File name too long; supported"),
        ("table.csv", "a,b", rf"table\.csv: cannot be read as knowledge; {KINDS}"),
        ("", None, f"contains no file that can be read as knowledge; {KINDS}"),
        ("a.txt", b"one\ntwo\n\xe9t\xe9\n", r"a\.txt:3: not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_named_with_what_can(
    name: str, content: str | bytes | None, message: str, tmp_path: Path
) -> None:
    if content:
        write(tmp_path / name, content)
    with pytest.raises(DataError, match=message):
        open_knowledge(tmp_path / name)


@pytest.mark.parametrize(("content", "message"), CASES["files_without_a_passage_are_an_error"])
def test_files_without_a_passage_are_an_error(content: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a" / "a.txt", content)
    for named in (path, path.parent):
        with pytest.raises(DataError, match=f"{named}: {message}"):
            open_knowledge(named)


# --- splitting texts ----------------------------------------------------------------------------


def words(count: int, word: str = "word") -> str:
    return " ".join(f"{word}{number}" for number in range(count))


def passages(text: str) -> list[str]:
    return list(split(text))


def test_short_paragraphs_share_a_passage_until_it_is_full() -> None:
    paragraphs = [words(80, name) for name in "abcde"]
    assert passages("\n\n".join(paragraphs)) == [
        "\n\n".join(part) for part in (paragraphs[:2], paragraphs[2:4], paragraphs[4:])
    ]


def test_a_long_paragraph_is_divided_between_words() -> None:
    found = passages(words(450))
    assert [len(part.split()) for part in found] == [200, 200, 50] and " ".join(found) == words(450)


@given(
    st.lists(
        st.text(st.sampled_from("ab .!?。，水จ\n#"), max_size=60)
        | st.text(max_size=20)
        | st.integers(1, 500).map(words)
        | st.integers(1, 900).map(lambda count: "水" * count)
        | st.integers(1, 9000).map(lambda count: "x" * count),
        max_size=8,
    ),
    st.sampled_from(["\n\n", "\n", " ", ". ", "\r\n\r\n"]),
)
def test_splitting_loses_nothing_but_white_space_and_bounds_what_it_makes(parts: list[str], between: str) -> None:
    text = between.join(parts)
    found = passages(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(part and part == part.strip() for part in found)
    assert all(len(part.split()) <= 200 and len(part) <= 200 * 42 for part in found)


# --- the cached index ---------------------------------------------------------------------------


def kept(cache: Path) -> dict[str, tuple[int, int]]:
    """Which files of indexes the cache holds, and what would change if one was written again."""
    return {
        str(path): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in (cache / "knowledge").rglob("*")
        if path.suffix != ".lock"
    }


def folders(cache: Path) -> list[Path]:
    return [path for path in (cache / "knowledge").iterdir() if path.suffix != ".lock"]


def test_an_index_is_made_once(facts: Path, halu_cache: Path, monkeypatch: Patch) -> None:
    first = open_knowledge(facts)
    before = kept(halu_cache)
    with monkeypatch.context() as patch:
        patch.setattr("halu_tasks.knowledge.read_passages", lambda files: pytest.fail("read again"))
        second = open_knowledge(facts)
    assert second.search("mercury degrees") == first.search("mercury degrees")
    assert kept(halu_cache) == before and second.sha256 == first.sha256


def test_a_copy_elsewhere_has_the_same_index_and_a_changed_file_another(tmp_path: Path, halu_cache: Path) -> None:
    one, copy = (write(tmp_path / folder / "a.jsonl", FACTS) for folder in ("one", "two"))
    assert open_knowledge(one).sha256 == open_knowledge(copy).sha256
    assert len(folders(halu_cache)) == 1
    before = open_knowledge(copy)
    write(copy, [*FACTS, "The Rhine flows into the North Sea."])
    after = open_knowledge(copy)
    assert after.sha256 != before.sha256 and len(folders(halu_cache)) == 2
    assert (len(before.search("rhine")), len(after.search("rhine"))) == (0, 1)
    # ids contain the names of files
    assert ids(copy.rename(copy.with_name("b.jsonl")), "rhine") == ["b.jsonl#5"]


def test_a_damaged_index_says_what_to_do(facts: Path, halu_cache: Path) -> None:
    open_knowledge(facts)
    (folder,) = folders(halu_cache)
    for path in folder.glob("*.npy"):
        path.write_bytes(b"")
    with pytest.raises(DataError, match=rf"^{folder}: the index is damaged .*; delete the folder and run again"):
        open_knowledge(facts)


def test_a_cache_that_cannot_be_written_is_an_error_that_says_how_to_name_another(
    facts: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("HALU_TASKS_CACHE", str(write(tmp_path / "file", "")))
    with pytest.raises(
        DataError, match=rf"{facts}: cannot store the index in .*; name another folder with HALU_TASKS_CACHE=PATH"
    ):
        open_knowledge(facts)
