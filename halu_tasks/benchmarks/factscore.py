"""FActScore (Min et al. 2023): biographies whose atomic facts people label as supported, not supported or irrelevant.

    python -m halu_tasks.benchmarks.factscore ChatGPT.jsonl > labelled.jsonl

writes the released biographies of a system as replies with recorded verdicts, people's labels of their facts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.core.errors import DataError, HaluTasksError
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.rows import Row, json_lines

SUPPORTED, IRRELEVANT = "supported", "irrelevant"
LABELS = {"S": SUPPORTED, "NS": "not_supported", "IR": IRRELEVANT}
"""The judge's label for each label of the annotators."""
BY = "people"


class Fact(NamedTuple):
    """An atomic fact of a biography, with the label of the judge that people's stands for."""

    text: str
    label: str


def facts_of(row: Row) -> list[Fact] | None:
    """Return the labelled facts of a released biography, in order; None if people did not label it.

    A sentence that is irrelevant as a whole has no facts that people split it into: those that a model found in it are
    irrelevant. The published figures follow from this (docs/reanalysis).

    Raises:
        ValueError: The annotations are not as released.
    """
    sentences = row.get("annotations")
    if sentences is None:
        return None
    try:
        return [fact for sentence in sentences for fact in _facts_of_sentence(sentence)]
    except (KeyError, TypeError, AttributeError) as error:
        form = "sentences with 'is-relevant' and facts with 'text' and 'label' (S, NS or IR)"
        raise ValueError(f"annotations: expected {form}, but {type(error).__name__}: {error}") from None


def _facts_of_sentence(sentence: dict[str, Any]) -> list[Fact]:
    if (facts := sentence.get("human-atomic-facts")) is not None:
        return [Fact(fact["text"], LABELS[fact["label"]]) for fact in facts]
    irrelevant = [] if sentence["is-relevant"] else sentence.get("model-atomic-facts") or []
    return [Fact(fact["text"], IRRELEVANT) for fact in irrelevant]


def check_row(row: Row) -> None:
    """Raise ValueError unless a row has the two categories of a person, and annotations as released."""
    if len(row["cat"]) != 2:
        raise ValueError(f"cat is {row['cat']!r}, expected how frequent the person is and a region")
    facts_of(row)


def cases(rows: Iterable[Row], options: Options) -> Iterator[Item]:
    """Yield one item per person; the target is what people call supported in the row's biography."""
    for row in rows:
        topic = row["topic"].strip()
        supported = [fact.text.strip() for fact in facts_of(row) or () if fact.label == SUPPORTED]
        frequency, region = ("_".join(category.replace("/", " ").split()) for category in row["cat"])
        tags = {"frequency": frequency, "region": region}
        yield Item(topic, topic, " ".join(supported) or topic, fields={"topic": topic}, tags=tags)


def labelled_reply(row: Row) -> dict[str, Any]:
    """Return a released biography as a reply with recorded verdicts; a list without any if people labelled nothing.

    Raises:
        ValueError: The row is not as released.
    """
    topic, output = row.get("topic"), row.get("output")
    if not isinstance(topic, str) or not isinstance(output, str):
        raise ValueError("expected strings in 'topic' and 'output'")
    verdicts = [{"about": fact.text, "label": fact.label} for fact in facts_of(row) or ()]
    return {"id": topic.strip(), "output": output, "reply": output, "verdicts": verdicts, "by": BY}


def labelled_replies(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the released biographies of a file as replies with recorded verdicts.

    Raises:
        DataError: The file cannot be read, or a row is not as released.
    """
    for number, row in json_lines(path):
        try:
            yield labelled_reply(row)
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None


def main(arguments: list[str]) -> str | None:
    """Print the replies with recorded verdicts of a released file; return what is wrong, if anything is."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        return "usage: python -m halu_tasks.benchmarks.factscore FILE.jsonl > labelled.jsonl"
    try:
        for row in labelled_replies(Path(arguments[0])):
            print(json.dumps(row))
    except HaluTasksError as error:
        return str(error)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
