"""Documents and their parts: what is read, what is refused, and that parts do not depend on order."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cases import CASES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halu_tasks.builders.documents import Document, in_order, place, read_documents
from halu_tasks.builders.folder import digest, split, write_documents
from halu_tasks.builders.pipeline import Pipeline
from halu_tasks.core.errors import DataError

IDS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20).filter(
        str.strip
    ),
    unique=True,
    max_size=30,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(IDS, st.integers(2, 9), st.integers(0, 3), st.randoms())
def test_every_document_is_in_one_part_in_one_order(toy, tmp_path_factory, ids, parts, samples, random) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("parts")
    # every second one is too short to be used
    texts = [f"Text\nof\u2028{id}. It is long enough to be used.\n" if n % 2 else "." for n, id in enumerate(ids)]
    documents = [Document(id, text, {"title": id}) for id, text in zip(ids, texts, strict=True)]
    write_documents(folder / "all.jsonl", random.sample(documents, len(documents)))
    numbers = split(toy, folder / "all.jsonl", folder / "documents", parts, samples)
    files = sorted((folder / "documents").iterdir())
    assert len(files) == len(numbers) == parts and sum(numbers) == len(ids)
    read = [list(read_documents(path)) for path in files]
    assert [len(own) for own in read] == numbers
    # samples are the first that can be used; the others are in the order of all, whatever the number of parts
    ordered = in_order(documents)
    assert ordered == sorted(documents, key=lambda document: place(document.id))
    first = [document for document in ordered if toy.refuse(document) is None][:samples]
    assert not samples or read[0] == first
    assert [document for own in read[bool(samples) :] for document in own] == [
        own for own in ordered if own not in first
    ]


def test_a_folder_of_texts(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.MD").write_text("Two.", encoding="utf-8")
    (tmp_path / "one.txt").write_text("\ufeffOne.\r\n", encoding="utf-8")
    (tmp_path / "other.pdf").write_bytes(b"\xff")
    before = digest(tmp_path)
    (tmp_path / ".git").mkdir()
    for hidden in (".git/notes.md", ".DS_Store"):
        (tmp_path / hidden).write_bytes(b"\xff")
    found = list(read_documents(tmp_path))
    assert [(document.id, document.fields["title"]) for document in found] == [("b/two.MD", "two"), ("one.txt", "one")]
    assert found[1].text == "One.\n" and digest(tmp_path) == before
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"bad\.txt:1: not UTF-8"):
        list(read_documents(tmp_path))
    assert digest(tmp_path) != before


@pytest.mark.parametrize(("row", "told"), CASES["rows_that_are_no_documents"])
def test_rows_that_are_no_documents(tmp_path: Path, row: dict[str, object], told: str) -> None:
    path = tmp_path / "documents.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=told) as error:
        list(read_documents(path))
    assert str(error.value).startswith(f"{path}:1: ")


CHINESE = (
    "伦勃朗于1606年7月15日生在荷兰共和国时期的莱顿，父亲是磨坊主，母亲是面包师的女儿。他是家里的第九个孩子，后来成为著名的画家。"
    * 4
)
ENGLISH = "Rembrandt was born in Leiden, and his father was a miller. " * 5
TURKISH = "Kalabalık bir ailenin çocuğu olarak küçük bir köyde dünyaya geldi ve orada büyüdü. " * 5
ARABIC = "ولد في مدينة صغيرة على ضفاف النهر ثم انتقل إلى العاصمة ليدرس الطب والفلسفة. " * 5


def test_languages_are_told_apart(toy: Pipeline) -> None:
    for text, language in ((CHINESE, "zh"), (ENGLISH, "en"), (TURKISH, "tr"), (ARABIC, "ar")):
        for wanted in ("zh", "en", "tr", "ar"):
            refused = replace(toy, language=wanted).refuse(Document("a", text))
            assert (refused and refused.reason) == (None if wanted == language else f"not in language={wanted}")
        assert replace(toy, check_language=False).refuse(Document("a", text)) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no sentence"),
        (" \n\t", "no sentence"),
        ("12345 67890. " * 30, "no sentence"),
        ("words without an end " * 3, "no sentence"),
        (ENGLISH * 100, "longer than max_chars=20000"),
        (f"{ENGLISH}\ud800", "invalid characters"),
    ],
)
def test_what_is_refused(toy: Pipeline, text: str, reason: str) -> None:
    refused = toy.refuse(Document("a", text))
    assert refused and refused.reason == reason
