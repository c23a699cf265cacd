"""A pipeline that asks no model, and folders as a build leaves them."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from halu_tasks.builders.collect import write_dataset
from halu_tasks.builders.pipeline import Draft, Pipeline, Row, TextPair, pipelines


@dataclass(frozen=True)
class Toy(Pipeline):
    """Items of a question and two answers, in the format of C-FAITH."""

    name = "toy"
    version = 1
    about = "Questions with two answers."
    benchmark = "cfaith"
    paper = "Nobody (2025), A Paper"
    checks = ("right", "wrong")
    prompts_used = ()

    def __post_init__(self) -> None:
        """There is no prompt file to look into."""

    @property
    def texts(self) -> Mapping[str, str]:
        return {"ask": "Ask {document}"}

    async def drafts(self, document: Any, ask: Any) -> list[Any]:
        return []

    def lines(self, item: Draft) -> Iterable[tuple[str, Row]]:
        yield "generative_qa.jsonl", {**item.row, "reason": "it says so", "ent": item.document, "halu_type": "属性错误"}

    def pairs(self, item: Draft) -> Iterable[TextPair]:
        context = {"question": item.row["question"]}
        yield TextPair(item.row["correct_answer"], item.row["halu_answer"], context)

    def parts(self, item: Draft) -> Mapping[str, Mapping[str, str]]:
        return {"": item.row}

    def key(self, item: Draft) -> str:
        return str(item.row["question"])


@dataclass(frozen=True)
class ToyOfTypes(Toy):
    """The same, with labels that change an item."""

    name = "toy_of_types"
    labels = ("one", "other", "0")

    def annotated(self, item: Draft, labels: Mapping[str, str | None]) -> Draft | None:
        label = labels[""]
        return None if label in (None, "0") else replace(item, kind=str(label))


def item(place: int, question: str = "", true: str = "", hallucinated: str = "", kind: str = "one") -> Draft:
    """An item of the document `place // 2`; texts that are not given say nothing."""
    row = {
        "question": question or f"What is thing number {place}?",
        "correct_answer": true or f"Thing {place} is right.",
        "halu_answer": hallucinated or f"Thing {place} is wrong.",
    }
    return Draft(id=f"item{place}", kind=kind, document=f"document{place // 2}", row=row)


@pytest.fixture
def toy() -> Toy:
    return Toy()


@pytest.fixture
def toys() -> Callable[..., Draft]:
    return item


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """`built(items)` writes them as a build by `toy` would, and returns the folder."""
    for pipeline in (Toy, ToyOfTypes):
        # beside the packaged ones: Inspect registers the tasks of all of them once in a process
        monkeypatch.setitem(pipelines(), pipeline.name, pipeline)

    def build(items: Sequence[Draft]) -> Path:
        folder = tmp_path / "built"
        write_dataset(Toy(), items, folder / "dataset")
        plan = {
            "builder": "toy",
            "options": {},
            "settings": {},
            "source": "docs.jsonl",
            "sha256": "ab" * 32,
            "models": {"model": "openai/gpt-4o", "roles": {}},
            "samples": 0,
            "parts": [12],
            "refused": {},
        }
        (folder / "build.json").write_text(json.dumps(plan))
        return folder

    return build


@pytest.fixture
def toy_of_types() -> Toy:
    return ToyOfTypes()
