"""HalluVerse-M3: its columns, parts and folders; workbooks; text of any script from the file to the details."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from openpyxl import Workbook

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.cache import cached_path
from halu_tasks.data.locate import SAMPLE
from halu_tasks.data.sources import SOURCES
from halu_tasks.tasks import build

LANGUAGES = ("en", "ar", "hi", "tr")
PARTS = {"qa": "QA", "summarization": "summarization"}
TYPES = ("entity", "relation", "sentence")
QA = ["Question", "QuestionId", "Answer", "edited_answer", "label"]
TEXTS = {
    "en": ("Who?", "Ann did.", "Bob did."),
    "ar": ("مَن؟", "\u200fسلمى، نَعَم.", "ليلى «هي»."),
    "hi": ("कौन?", "श्रीमती क्ष्मा ने, हाँ।", "रिश्ता ज़ोर से।"),
    "tr": ("Kim?", "Işıl’ın İzmir’i.", "Şükrü’nün ğüşöç."),
}


def sheet(path: Path, rows: list[list[Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    book = Workbook()
    assert book.active is not None
    for row in rows:
        book.active.append(row)
    book.create_sheet("notes").append(["not", "read"])
    book.save(path)
    return path


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def items(path: Path, language: str = "en", **options: Any) -> list[Item]:
    return build(f"halluverse_m3_{language}", Options(data=str(path), **options)).items


def fault(path: Path, **options: Any) -> str:
    with pytest.raises((DataError, UsageError)) as raised:
        items(path, **options)
    (line,) = str(raised.value).splitlines()
    return line


# --- columns and labels ---------------------------------------------------------------------------


@pytest.mark.parametrize("head", CASES["the_columns_of_both_parts_may_go_by_several_names"])
def test_the_columns_of_both_parts_may_go_by_several_names(head: str, tmp_path: Path) -> None:
    (item,) = items(written(tmp_path / "x.csv", f"{head}\nC,O,E,relation\n"))
    assert item.target == "relation" and item.prompt.endswith("\nQuestion: C\nOriginal answer: O\nEdited answer: E")


@pytest.mark.parametrize(("text", "reason"), CASES["a_bad_file_of_several_languages_is_an_error_of_one_line"])
def test_a_bad_file_of_several_languages_is_an_error_of_one_line(text: str, reason: str, tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", text)
    assert fault(path) == f"{path}{reason}"


# --- workbooks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_workbook_is_read_like_the_csv_file(language: str, tmp_path: Path) -> None:
    texts = TEXTS[language]
    rows = [QA, [texts[0], 1, texts[1], texts[2], "Entity"], [texts[0], 1, texts[1], "x", 0], [None] * 5]
    book = sheet(tmp_path / f"QA_{language}.xlsx", [*rows, [f"{texts[0]} 2", 2.0, 1934, 1935.5, "SENTENCE"]])
    found = items(book, language, with_zero=True)
    assert [item.target for item in found] == ["entity", "none", "sentence"]
    shown = f"\nQuestion: {texts[0]}\nOriginal answer: {texts[1]}\nEdited answer: {texts[2]}"
    assert found[0].prompt.endswith(shown)
    assert found[2].prompt.endswith("\nOriginal answer: 1934\nEdited answer: 1935.5")


@pytest.mark.parametrize("content", [b"", b"Question,Answer\n", b"PK\x03\x04broken"])
def test_what_is_no_workbook_is_an_error_of_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    path.write_bytes(content)
    assert fault(path).startswith(f"{path}: not an Excel workbook (")


def test_an_empty_sheet_holds_no_rows(tmp_path: Path) -> None:
    assert fault(sheet(tmp_path / "x.xlsx", [])) == f"{tmp_path / 'x.xlsx'}: contains no rows"
    assert fault(sheet(tmp_path / "y.xlsx", [QA])) == f"{tmp_path / 'y.xlsx'}: contains no rows"


def test_without_openpyxl_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sheet(tmp_path / "x.xlsx", [QA])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    message = f'{path}: reading Excel workbooks (instead of CSV) requires openpyxl: pip install "openpyxl>=3.1"'
    assert fault(path) == message


def test_halluverse25_reads_the_workbooks_of_its_repository(tmp_path: Path) -> None:
    head = ["orig_sentence", "edited_sentence", "final_label"]
    sheet(tmp_path / "tr_final_data.xlsx", [head, ["Işık.", "Gölge.", "entity"], ["a", "b", 0]])
    for task, targets in (("halluverse25_tr", ["entity"]), ("halluverse25_binary_tr", ["Yes", "No"])):
        assert [item.target for item in build(task, Options(data=str(tmp_path))).items] == targets


# --- folders --------------------------------------------------------------------------------------


def test_the_folders_of_the_publisher_are_found(tmp_path: Path) -> None:
    final = tmp_path / "halluverse_m3" / "FINAL_DATASET"
    sheet(final / "QA" / "QA_hi.xlsx", [QA, ["Q", 1, "A", "B", "entity"]])
    dialogue = [["Dialogue", "Summary", "edited_summary", "label"], ["D", "S", "T", "relation"]]
    sheet(final / "summarization" / "DialogSum_hi.xlsx", dialogue)
    (final / "summarization" / "~$DialogSum_hi.xlsx").touch()
    for folder in (tmp_path, tmp_path / "halluverse_m3", final):
        assert [item.target for item in items(folder, "hi")] == ["entity"]
        assert [item.target for item in items(folder, "hi", part="summarization")] == ["relation"]
    # a CSV file is read before the workbook that it was exported from
    written(final / "QA" / "QA_hi.csv", "Question,Answer,edited_answer,label\nQ,A,B,sentence\n")
    assert [item.target for item in items(final, "hi")] == ["sentence"]


def test_two_files_that_may_be_meant_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "summarization"
    for name in ("new_en.xlsx", "old_en.xlsx"):
        sheet(folder / name, [QA])
    assert fault(tmp_path, part="summarization") == (
        f"HalluVerse-M3: {folder} contains several files for summarization_en.csv (new_en.xlsx, old_en.xlsx); name one "
        "of them"
    )


def test_a_file_of_another_part_or_language_is_refused(tmp_path: Path) -> None:
    path = sheet(tmp_path / "QA" / "QA_tr.xlsx", [QA])
    assert fault(path) == f"{path}: this task reads QA_en.csv, not QA_tr.xlsx; name the folder that contains both"
    path = sheet(tmp_path / "summarization" / "any_en.xlsx", [QA])
    assert fault(path) == f"{path}: this task reads QA_en.csv, not any_en.xlsx; name the folder that contains both"


def test_an_empty_folder_says_what_it_was_searched_for(tmp_path: Path) -> None:
    assert fault(tmp_path) == (
        f"HalluVerse-M3: {tmp_path} contains neither QA_en.csv nor halluverse_m3/QA_en.csv; the file may also be "
        "named QA/QA_en.csv, FINAL_DATASET/QA/QA_en.csv, QA_en.xlsx, QA/QA_en.xlsx, FINAL_DATASET/QA/QA_en.xlsx"
    )


def test_nothing_is_fetched_and_the_error_says_where_the_data_are() -> None:
    for _ in range(2):
        with pytest.raises(DataError) as raised:
            build("halluverse_m3_en", Options())
        assert str(raised.value).startswith(
            "HalluVerse-M3: QA_en.csv cannot be downloaded automatically, as no pinned address is known; download it "
            "manually from https://huggingface.co/datasets/sabdalja/HalluVerse-M3 and name a local copy with "
            "halu_data (lm-eval"
        )
        # what somebody put into the cache is not what was published
        path = cached_path(SOURCES["halluverse_m3"], "QA_en.csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("Question,Answer,edited_answer,label\nQ,A,B,entity\n")


# --- the sample -----------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_sample_and_the_examples_have_what_they_promise(language: str, part: str) -> None:
    def labels(folder: str) -> Counter[str]:
        text = (SAMPLE / folder / f"{PARTS[part]}_{language}.csv").read_text(encoding="utf-8")
        return Counter(row["label"] for row in csv.DictReader(io.StringIO(text)))

    assert labels("halluverse_m3") == {"entity": 5, "relation": 4, "sentence": 3, "0": 2}
    assert labels("fewshot/halluverse_m3") == {"entity": 3, "relation": 3, "sentence": 3, "0": 3}
    task, shown = f"halluverse_m3_{language}", "\nQuestion: " if part == "qa" else "\nDialogue: "
    nine = build(task, Options(data="sample", part=part, fewshot=9))
    assert [example.reply for example in nine.examples] == [*TYPES] * 3
    assert all(shown in text for text in [*(e.prompt for e in nine.examples), *(i.prompt for i in nine.items)])
    with pytest.raises(UsageError, match="has 9 worked examples, fewshot=10"):
        build(task, Options(data="sample", part=part, fewshot=10))
    twelve = build(task, Options(data="sample", part=part, fewshot=12, with_zero=True))
    assert [example.reply for example in twelve.examples] == [*TYPES, "none"] * 3
    assert "none]" in twelve.items[0].prompt and len(twelve.items) == 14
    mark = ("summarization",) if part == "summarization" else ()
    assert nine.version_tags == ("sample", *mark) and twelve.version_tags == ("sample", "with_zero", *mark)


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(UsageError, match="option part: expected 'qa' or 'summarization', got 'dialogue'"):
        build("halluverse_m3_en", Options(data="sample", part="dialogue"))
