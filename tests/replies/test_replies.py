"""Every reply of these files is read as its label says."""

import html
import json
import re
from typing import Any

import pytest
from readers import FOLDER, PAPER, STRICT, read, read_label, rows

from halu_tasks.scorers.reading.lexicon import load
from halu_tasks.scorers.reading.steps import STEPS

NAMES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
REQUIRED = {"reply": str, "label": str | list, "language": str, "source": str}
OPTIONAL = {"reason": str, "masks": int, "passage": str, "mode": str, "read": str | list}
LANGUAGES = {"ar", "ca", "cs", "de", "en", "es", "eu", "fa", "fi", "fr", "hi", "it", "ja", "ko", "nl", "pt", "ru"}
LANGUAGES |= {"sv", "tr", "und", "zh"}
SOURCES = ("real", "rule", "written: ")


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_well_formed(name: str) -> None:
    assert name in STRICT
    seen: dict[str, int] = {}
    for number, row in enumerate(rows(name), 1):
        place = f"{name}.jsonl:{number}"
        types = REQUIRED | {key: OPTIONAL[key] for key in row.keys() & OPTIONAL.keys()}
        assert row.keys() == types.keys(), place
        assert all(isinstance(row[key], kind) for key, kind in types.items()), place
        assert row["language"] in LANGUAGES and row["source"].startswith(SOURCES), place
        assert row.get("mode") in (None, "paper") and ("mode" not in row or name in PAPER), place
        inputs = json.dumps([row.get(key) for key in ("reply", "masks", "passage", "mode")])
        assert seen.setdefault(inputs, number) == number, f"{place} repeats line {seen[inputs]}"


def misreading(name: str, row: dict[str, Any]) -> str | None:
    """How a reply is read, where that is not as its label says."""
    answer = read(name, row)
    label = answer.outcome if answer.value is None else answer.value
    if "read" in row:
        return None if label == row["read"] else f"{row['reply']!r}, known to be misread, is now read as {label!r}"
    if row["label"] == "no label":
        if answer.value is not None or not answer.reason:
            return f"{row['reply']!r} says nothing and is read as {label!r}"
    elif label != row["label"]:
        return f"{row['reply']!r} says {row['label']!r} and is read as {label!r}"
    if "reason" in row and answer.reason != row["reason"]:
        return f"{row['reply']!r} has no label for {answer.reason!r}, not {row['reason']!r}"
    return None


# a case for each file, as one for each row takes six times as long
@pytest.mark.parametrize("name", NAMES)
def test_replies_are_read_as_labelled(name: str) -> None:
    told = [(number, misreading(name, row)) for number, row in enumerate(rows(name), 1)]
    assert not (misread := [f"{name}.jsonl:{number}: {text}" for number, text in told if text]), "\n".join(misread)


def test_every_markup_has_a_row() -> None:
    replies = [row["reply"] for row in rows("reasoning")]
    for markup in load("markups"):
        for expression in (expression for part, expression in markup.items() if part not in ("models", "begins")):
            assert any(re.search(expression, reply, re.IGNORECASE) for reply in replies), expression


def test_every_message_of_a_server_has_a_row() -> None:
    replies = [row["reply"] for row in rows("failed") if row["label"] == "failed"]
    for expression in (each for group in load("failures").values() for each in group):
        assert any(re.match(rf"[\W_]*(?:{expression})", reply, re.IGNORECASE) for reply in replies), expression


LEXICONS = [path.stem for path in (FOLDER.parents[1] / "scorers/reading/lexicons").glob("*.yaml")]


# in those of confidence, a kind is a part of a sentence
@pytest.mark.parametrize(
    "name", sorted(name for name in {*LEXICONS} - {"markups", "failures"} if not name.startswith("confidence"))
)
def test_a_phrase_of_a_lexicon_has_one_kind(name: str) -> None:
    kinds: dict[str, set[str]] = {}
    for kind, words in load(name).items():
        for phrases in words.values() if isinstance(words, dict) else [words]:
            for phrase in map(str.strip, phrases.split(" | ")):
                kinds.setdefault(phrase, set()).add(kind)
    assert not {phrase: found for phrase, found in kinds.items() if len(found) > 1}


def test_the_page_lists_the_steps_in_order() -> None:
    rows = re.findall(r"(?m)^\| `(\w+)` \| (.*) \|$", PAGE.partition("| step |")[2].partition("\n\n")[0])
    assert rows[0][0] == "form"
    assert rows[1:] == [(step.__name__, str(step.__doc__).rstrip(".")) for step in STEPS]


PAGE = (FOLDER.parents[1] / "docs" / "reading.md").read_text(encoding="utf-8")


def test_the_examples_of_the_page_are_read_as_it_says() -> None:
    table = PAGE.partition("## Examples")[2].partition("## See")[0]
    cells = [re.split(r"(?<!\\)\|", line)[1:5] for line in table.splitlines() if line.startswith("| `")]
    assert len(cells) >= 10
    for task, shown, label, outcome in ([cell.strip() for cell in row] for row in cells):
        reply = re.sub(r"\\([*|])", r"\1", html.unescape(shown.replace("<br>", "\n")))
        answer = read_label(task.strip("`"), reply)
        assert (answer.value or "", answer.outcome) == (label, outcome), reply


def test_the_page_names_the_models_of_every_markup() -> None:
    for markup in load("markups")[:-1]:
        assert f"| {markup['models']} |" in PAGE
