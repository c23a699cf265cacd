"""The card is what the hub reads, says what a user must know, and nothing in it breaks out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import DatasetCard
from markdown_it import MarkdownIt

from halu_tasks.builders.annotation import Key, apply_labels
from halu_tasks.builders.collect import Collection, card_text, tasks_on
from halu_tasks.builders.folder import BuildPlan, Folder, write_json
from halu_tasks.builders.pipeline import Draft, Pipeline
from halu_tasks.builders.quality import measure_quality
from halu_tasks.builders.rates import Rate
from halu_tasks.scorers.metrics import Estimate

Toys = Callable[..., Draft]
Info = Callable[..., dict[str, Any]]
COLLECTED = Collection(
    refused={"too long": 2},
    rates={"right": Rate(30, 40, Estimate(0.75, None, 0.612, 0.851))},
    rejected={"right: not supported": 7, "wrong: means the same": 9},
    dropped={"duplicate": 3},
    licences={"CC BY 4.0": 5, "unknown": 7},
    files={"generative_qa.jsonl": 30, "items.jsonl": 30},
)
NASTY = "</details>\n---\n# Bad | `x` <script>alert(1)</script> [a](b) ```` ``` \x1b[31m: {c} & *d* \u202e"


@pytest.fixture
def info(toy: Pipeline, toys: Toys, tmp_path: Path) -> Info:
    """`info(**changed)` is what a card is made of, the arguments of `card_text`."""

    def made(**changed: Any) -> dict[str, Any]:
        of_collection = {name: changed.pop(name) for name in ("licences", "licence") if name in changed}
        models = {"model": "openai/gpt-4o", "temperature": 0.5, "roles": {"verifier": {"model": "vllm/q"}}}
        pipeline, of_build = changed.pop("pipeline", toy), changed.pop("plan", plan("docs.jsonl", models))
        write_json(tmp_path / "build.json", of_build.model_dump())
        folder = Folder(tmp_path)
        folder.pipeline = pipeline
        return {
            "folder": folder,
            "collection": dataclasses.replace(COLLECTED, **of_collection),
            "quality": measure_quality(toy, [toys(place) for place in range(30)]),
            **changed,
        }

    return made


def plan(name: str, models: Mapping[str, Any]) -> BuildPlan:
    empty = {"options": {}, "settings": {}, "refused": {}, "samples": 0}
    return BuildPlan(builder="toy", models=models, source=name, sha256="ab" * 32, documents=12, parts=[12], **empty)


def sections(text: str) -> dict[str, str]:
    """The text under each heading, as a parser of Markdown finds headings."""
    lines = text.split("\n---\n", 1)[1].splitlines()
    starts = [token for token in MarkdownIt().enable("table").parse("\n".join(lines)) if token.type == "heading_open"]
    found = [token.map[0] for token in starts if token.map]
    ends = [*found[1:], len(lines)]
    return {
        lines[start].lstrip("# "): "\n".join(lines[start + 1 : end]) for start, end in zip(found, ends, strict=True)
    }


def test_the_hub_reads_the_front_matter(info: Info) -> None:
    text = card_text(**info(licence="cc by-sa 4.0"))
    data = DatasetCard(text).data.to_dict()
    assert data["language"] == ["en"] and data["license"] == "cc-by-sa-4.0"
    assert data["task_categories"] == ["question-answering", "multiple-choice"]
    assert {own["config_name"]: own["data_files"] for own in data["configs"]} == {
        "generative_qa": [{"split": "test", "path": "generative_qa.jsonl"}],
        "items": [{"split": "test", "path": "items.jsonl"}],
    }
    assert DatasetCard(text).text.lstrip().startswith("# docs.jsonl as C-FAITH")


def test_a_licence_is_told_as_the_hub_knows_it(info: Info) -> None:
    for named, expected in (
        (None, {"license": "unknown"}),
        ("CC BY 4.0", {"license": "cc-by-4.0"}),
        ("Our own terms", {"license": "other", "license_name": "Our own terms"}),
    ):
        data = DatasetCard(card_text(**info(licence=named))).data.to_dict()
        assert {key: value for key, value in data.items() if key.startswith("license")} == expected


def test_what_is_not_known_of_licences_is_said(info: Info) -> None:
    told = sections(card_text(**info()))["Documents"]
    assert "| CC BY 4.0 | 5 |" in told and "| not known | 7 |" in told
    assert "No licence was specified for this dataset" in told
    told = sections(card_text(**info(licences={}, licence="MIT")))["Documents"]
    assert "The documents do not state their licences" in told and "as specified by its builder: MIT" in told


def test_a_card_tells_how_the_dataset_was_made(info: Info) -> None:
    told = sections(card_text(**info()))
    assert "ab" * 32 in told["Documents"] and "| refused: too long | 2 |" in told["Documents"]
    assert "| generator | openai/gpt-4o | max_tokens=4096, temperature=0.5 |" in told["Models"]
    assert "| verifier | vllm/q | max_tokens=4096, temperature=0.0 |" in told["Models"]
    assert '"seed": 0' in told["Prompts, seeds and options"]
    assert "Ask {document}" in told["Prompts, seeds and options"]
    assert "| right | 40 | 30 | 0.750 [0.612, 0.851] |" in told["Pass rates"]
    assert told["Pass rates"].index("means the same") < told["Pass rates"].index("not supported")
    assert "| duplicate | 3 |" in told["Pass rates"]
    assert "| kind | one 30 |" in told["Balance"]
    assert (
        "characters" in told["Leaks"]
        and "0 at 100% similarity or more; dropped when collected, at 100% or more: 3." in told["Duplicates"]
    )
    assert '--tasks cfaith_gen,cfaith_tf --metadata \'{"halu_data": "path/to/dataset"}\'' in told["Use"]
    assert "cfaith_choice" not in told["Use"]
    assert "No person has checked the items." in told["Limits and biases"] and "Annotation" not in told


def test_annotation_is_told_where_there_is_one(info: Info, toy: Pipeline, toys: Toys) -> None:
    labels = {"a": "valid", "b": "invalid"}
    given = {name: {Key("item0"): "valid", Key("item1"): label} for name, label in labels.items()}
    kept, report = apply_labels(toy, [toys(0), toys(1)], given, "majority", 2)
    assert [item.id for item in kept] == ["item0"]
    told = sections(card_text(**info(annotation=report)))
    assert "2 annotators labelled 2 of 2 items; 1 were kept" in told["Annotation"]
    assert "| no majority | one | 1 |" in told["Annotation"] and "| 2 | 0.500 |" in told["Annotation"]
    assert "No person has checked" not in told["Limits and biases"]


def test_a_card_without_figures_says_so(info: Info) -> None:
    told = sections(card_text(**info(collection=Collection(documents_not_done=4, files={"other.jsonl": 1}))))
    assert "There were no drafts." in told["Pass rates"]
    assert "| **not finished when this was collected** | 4 |" in told["Documents"]
    assert "No task of halu-tasks reads files with these names" in told["Use"]


def test_tasks_are_those_whose_file_is_there() -> None:
    expected = ["halluverse25_tr", "halluverse25_9shot_tr", "halluverse25_binary_tr"]
    assert tasks_on("halluverse25", {"tr_final_data.csv": 3}) == expected


def nasty(info: Info, text: str) -> str:
    """A card in which every text from outside is `text`."""

    class Worded(type(info()["folder"].pipeline)):  # type: ignore[misc]
        @property
        def texts(self) -> Mapping[str, str]:
            return {"ask": text}

    own = info(
        pipeline=Worded(),
        plan=plan(text, {"model": text, text: text, "roles": {text: {"model": text, text: text}, "verifier": text}}),
        collection=Collection(
            refused={text: 1},
            rates={text: Rate(1, 1, Estimate(1.0, None, None, None))},
            rejected={text: 1},
            dropped={text: 1},
            licences={text: 1},
            licence=text,
            files=COLLECTED.files,
        ),
    )
    return card_text(**own)


@pytest.mark.parametrize(
    "text", [NASTY, "a\n\n# b", "~~~\n```\n</summary>", "x\n---\ny: [", "\r\r\n\u2028{a}: 'b\"", "-", ""]
)
@pytest.mark.slow
def test_nothing_from_outside_breaks_the_card(info: Info, text: str) -> None:
    written = nasty(info, text)
    data = DatasetCard(written).data.to_dict()
    assert data["configs"] == DatasetCard(card_text(**info())).data.to_dict()["configs"]
    tokens = MarkdownIt().enable("table").parse(DatasetCard(written).text)
    plain = MarkdownIt().enable("table").parse(DatasetCard(card_text(**info())).text)

    def headings(own: list[Any]) -> list[str]:
        return [after.content for token, after in pairwise(own) if token.type == "heading_open"]

    assert headings(tokens)[1:] == headings(plain)[1:]
    html = [token.content for token in tokens if token.type == "html_block"]
    assert html == [token.content for token in plain if token.type == "html_block"]
    inline = [child for token in tokens for child in token.children or []]
    strong = {"strong_open", "strong_close"}
    assert {child.type for child in inline} <= {"text", "code_inline", "softbreak", "text_special", *strong}
