"""HalluVerse25: its CSV files, its items, the paper's Table 3 from Table 4, rows labelled 0, its Inspect module."""

import json
from pathlib import Path
from typing import Any

import pytest
from common import Capture, write_rows
from made_runs import figures_of

from halu_tasks.cli import main
from halu_tasks.core.errors import DataError
from halu_tasks.core.options import Options
from halu_tasks.data.rows import table_lines
from halu_tasks.tasks import build

LANGUAGES = ("en", "ar", "tr")
COLUMNS = ("orig_sentence", "edited_sentence", "final_label")
HEAD = ",".join(COLUMNS)
TYPES = ("entity", "relation", "sentence")


def written(folder: Path, text: str | bytes, language: str = "en") -> Path:
    path = folder / f"{language}_final_data.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def items(path: Path, **options: Any) -> list[Any]:
    return build(f"halluverse25_{path.name[:2]}", Options(data=str(path), **options)).items


# --- files ----------------------------------------------------------------------------------------


def test_a_mark_windows_line_ends_blank_lines_and_quoted_ends_are_read(tmp_path: Path) -> None:
    text = f'\ufeff{HEAD}\r\n"He said ""no"", twice.\r\nThen left.",b,entity\r\n\r\nc,d,relation\r\n"e","f\ng",sentence'
    path = written(tmp_path, text)
    rows = list(table_lines(path, dict.fromkeys(COLUMNS, ())))
    assert [number for number, _ in rows] == [2, 5, 6]
    assert rows[0][1]["orig_sentence"] == 'He said "no", twice.\r\nThen left.'
    assert rows[2][1] == {"orig_sentence": "e", "edited_sentence": "f\ng", "final_label": "sentence"}
    assert len(items(path)) == 3


def test_columns_may_stand_in_any_order_and_among_others(tmp_path: Path) -> None:
    path = written(tmp_path, ", final_label ,edited_sentence,note,orig_sentence\n0,entity,b,x,a\n")
    (item,) = items(path)
    assert item.target == "entity" and item.prompt.endswith("\nOriginal: a\nEdited: b")


BAD = {
    "column missing": (b"orig,edited_sentence,final_label\na,b,entity\n", ":1: column 'orig_sentence' is missing (has"),
    "column twice": (f"{HEAD},final_label\na,b,c,d\n".encode(), ":1: column 'final_label' occurs more than once"),
    "UTF-16": (HEAD.encode("utf-16"), ":1: not UTF-8"),
    "Turkish of Windows": (f"{HEAD}\na,b,entity\n".encode() + "ışık,b,entity".encode("cp1254"), ":3: not UTF-8"),
    "cells too few": (f"{HEAD}\na,b,entity\na,b\n".encode(), ":3: row has 2 cells for 3 columns"),
    "cells too many": (f"{HEAD}\na,b,c,entity\n".encode(), ":2: row has 4 cells for 3 columns"),
    "quote never closed": (f'{HEAD}\na,b,entity\n"a,b,entity\nc,d,entity\n'.encode(), ":3: not CSV (unexpected end"),
    "label": (f"{HEAD}\na,b,entity\na,b,predicate\n".encode(), ":3: final_label is 'predicate', expected 'entity', "),
    "no label": (f"{HEAD}\na,b,\n".encode(), ":2: field 'final_label' is empty"),
    "empty cells": (f"{HEAD}\n,,\n".encode(), ":2: field 'orig_sentence' is empty"),
    "nothing": (b"", ": contains no rows"),
    "rows labelled 0 alone": (f"{HEAD}\na,b,0\n".encode(), ": contains no row for task halluverse25_en"),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_bad_file_is_an_error_of_one_line_that_names_the_line(fault: str, tmp_path: Path) -> None:
    content, reason = BAD[fault]
    path = written(tmp_path, content)
    with pytest.raises(DataError) as raised:
        items(path)
    message = str(raised.value)
    assert message.startswith(f"{path}{reason}") and len(message.splitlines()) == 1


def test_the_rows_printed_in_the_paper_are_read(shared_data: Path) -> None:
    for language in LANGUAGES:
        found = build(f"halluverse25_{language}", Options(data=str(shared_data))).items
        assert [item.target for item in found] == list(TYPES)
        assert {item.tags["language"] for item in found} == {language}


def test_a_row_given_twice_is_two_items_of_one_cluster(tmp_path: Path) -> None:
    found = items(written(tmp_path, f"{HEAD}\na,b,entity\na,b,entity\na,c,relation\n"))
    assert len({item.id for item in found}) == 3 and len({item.cluster for item in found}) == 1


# --- the paper's tables ---------------------------------------------------------------------------

SIZES = {"en": (545, 259, 506), "ar": (423, 108, 297), "tr": (435, 125, 418)}
FAILED = {"en": (4, 14, 245), "ar": (18, 10, 122), "tr": (11, 11, 219)}
TABLE_3 = {
    "en": (99.27, 94.59, 51.58, 79.92),
    "ar": (95.74, 90.74, 58.92, 81.88),
    "tr": (97.47, 91.20, 47.61, 75.36),
}
WORDS = {
    "en": ("entity", "**Relation error**", "Answer: sentence"),
    "ar": ("خَطَأ في الكيان", "عـلاقة", "الإجابة: الجملة"),
    "tr": ("VARLIK HATASI", "İlişki", "Hata türü: cümle"),
}


def as_published(folder: Path, language: str) -> tuple[Path, dict[str, str]]:
    """Rows of the published class sizes, and by edited sentence gpt-4o's replies: its failures of Table 4 as
    another type, an entity where it was not one (Figure 4)."""
    rows, replies = [], {}
    for target, (size, failed) in enumerate(zip(SIZES[language], FAILED[language], strict=True)):
        for number in range(size):
            edited = f"{TYPES[target]} {number}"
            rows.append(f"original {edited},{edited},{TYPES[target]}\n")
            wrong = 2 if target == 0 else 0
            replies[edited] = WORDS[language][wrong if number < failed else target]
    return written(folder, f"{HEAD}\n{''.join(rows)}", language), replies


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_failures_of_table_4_give_table_3(language: str, tmp_path: Path, capsys: Capture) -> None:
    path, replies = as_published(tmp_path, language)
    task = f"halluverse25_{language}"
    evaluation = build(task, Options(data=str(path)))
    assert len(evaluation.items) == evaluation.task.data.size == sum(SIZES[language])
    rows = [{"id": item.id, "output": replies[item.prompt.rsplit("Edited: ", 1)[1]]} for item in evaluation.items]
    predictions = write_rows(tmp_path / "predictions.jsonl", rows)
    assert main(["score", task, str(predictions), "--data", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["metrics"]
    names = ("acc_entity", "acc_relation", "acc_sentence", "acc")
    assert tuple(round(100 * found[name], 2) for name in names) == TABLE_3[language]
    assert found["unparsed"] == 0.0
    assert found["rate_sentence_as_entity"] == pytest.approx(1 - found["acc_sentence"])


# --- scores ---------------------------------------------------------------------------------------


def test_the_confusion_matrix_and_f1_by_hand() -> None:
    evaluation = build("halluverse25_en", Options(data="sample"))
    by_type: dict[str, list[str]] = {kind: [] for kind in TYPES}
    for item in evaluation.items:
        by_type[item.target].append(item.id)
    replies = dict.fromkeys(by_type["entity"], "entity") | dict.fromkeys(by_type["relation"], "relation")
    replies |= dict.fromkeys(by_type["sentence"], "entity error")
    replies[by_type["relation"][0]] = "sentence"
    replies[by_type["relation"][1]] = "I cannot tell."
    found = figures_of(evaluation, [replies[item.id] for item in evaluation.items])
    assert found["acc"] == pytest.approx(14 / 23) and found["abstained"] == pytest.approx(1 / 23)
    assert (found["acc_entity"], found["acc_sentence"]) == (1.0, 0.0)
    assert found["acc_relation"] == pytest.approx(5 / 7)
    assert found["rate_sentence_as_entity"] == 1.0 and found["rate_entity_as_relation"] == 0.0
    assert found["rate_relation_as_sentence"] == pytest.approx(1 / 7)
    assert found["f1_macro"] == pytest.approx((2 * 9 / (16 + 9) + 2 * 5 / (5 + 7) + 0) / 3)
    assert not any("none" in name for name in found)


@pytest.mark.parametrize("language", LANGUAGES)
def test_rows_labelled_0_are_asked_on_demand_with_a_fourth_answer(language: str) -> None:
    plain, zero = (build(f"halluverse25_{language}", Options(data="sample", with_zero=zero)) for zero in (False, True))
    assert (len(plain.items), len(zero.items)) == (23, 26) and "none]" in zero.items[0].prompt
    assert {item.id for item in plain.items} < {item.id for item in zero.items}
    assert zero.version_tags == ("sample", "with_zero") and plain.version_tags == ("sample",)
    found = figures_of(zero, ["0" if item.target == "none" else item.target for item in zero.items])
    assert found["acc"] == found["acc_none"] == found["f1_macro"] == 1.0
    found = figures_of(zero, ["entity"] * len(zero.items))
    assert (found["rate_none_as_entity"], found["acc_none"]) == (1.0, 0.0)
