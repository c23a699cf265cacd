"""A dataset's card in the form of the Hugging Face hub: front matter, and what a user of the dataset must know.

The card is a function of the build alone: no date, machine or path, so that the same build has the same card.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import PurePosixPath
from typing import Any

import yaml

from halu_tasks.builders.card_quality import annotation_section, balance_section, figure, leaks_section
from halu_tasks.builders.documents import NO_LICENCE
from halu_tasks.builders.papers import paper_named
from halu_tasks.builders.pipeline import GENERATOR, VERIFIER, Pipeline
from halu_tasks.markdown import code_block, escaped, table
from halu_tasks.options import Options
from halu_tasks.tasks import registry

UNKNOWN = NO_LICENCE
_LICENCES = {
    *("afl-3.0", "apache-2.0", "bsd-2-clause", "bsd-3-clause", "cc0-1.0", "gfdl", "gpl-3.0", "lgpl-3.0", "mit"),
    *("cdla-permissive-1.0", "cdla-permissive-2.0", "cdla-sharing-1.0", "odbl", "odc-by", "pddl", UNKNOWN, "unlicense"),
    *(f"cc-{kind}-{version}" for kind in ("by", "by-sa") for version in ("2.0", "2.5", "3.0", "4.0")),
    *(f"cc-{kind}-{version}" for kind in ("by-nc", "by-nc-nd", "by-nc-sa") for version in ("2.0", "3.0", "4.0")),
    "cc-by-nd-4.0",
}
"""Licences that the hub has names for; others are told by their own."""
_CATEGORIES = {
    "cfaith": ["question-answering", "multiple-choice"],
    "refact": ["text-classification", "question-answering"],
}
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_MORE = "n>1M"
DEFAULTS = {"temperature": 0.0, "max_tokens": 4096}
"""How a model is asked where the user has not said otherwise."""

_SEVERAL_DRAWS = ("candidates", "votes")
"""Options by which a prompt is asked several times, where they are more than 1."""


@dataclass(frozen=True)
class CardInfo:
    """What a card tells.

    Attributes:
        title: the dataset's name.
        pipeline: with the options that it was built with.
        package: the version of this package.
        source: `name` and `sha256` of the documents.
        documents: how many they are.
        files: rows by file of the dataset.
        items: how many there are.
        models: `model` and settings of the run's model, and under `roles` the models of some roles: a name each, or
            `model` and settings.
        collected: what became of the documents: `refused`, counted by reason; `rates` by check, each with `passed`,
            `of`, `value`, `low` and `high`; `rejected`, failures of drafts by `check: reason`; `dropped`, items that
            are not in the dataset, by reason.
        licences: what the documents say of their licences, counted.
        licence: that of the dataset, where the user named one.
        quality: as `quality.quality` returns it.
        annotation: as `annotation.Annotation.report` returns it.
    """

    title: str
    pipeline: Pipeline
    package: str
    source: Mapping[str, str]
    documents: int
    files: Mapping[str, int]
    items: int
    models: Mapping[str, Any]
    collected: Mapping[str, Any]
    licences: Mapping[str, int] = field(default_factory=dict)
    licence: str | None = None
    quality: Mapping[str, Any] | None = None
    annotation: Mapping[str, Any] | None = None


def card(info: CardInfo) -> str:
    """The text of the card, `README.md` of the dataset."""
    front = yaml.safe_dump(front_matter(info), sort_keys=False, allow_unicode=True, width=120)
    return f"---\n{front}---\n\n" + "\n\n".join(_parts(info)) + "\n"


def front_matter(info: CardInfo) -> dict[str, Any]:
    """What the hub reads of a card."""
    size = next((name for limit, name in _SIZES if info.items < limit), _MORE)
    return {
        "pretty_name": " ".join(info.title.split()),
        "language": [" ".join(info.pipeline.language.split())],
        **_licence(info.licence),
        "annotations_creators": ["expert-generated" if info.annotation else "machine-generated"],
        "language_creators": ["machine-generated"],
        "size_categories": [size],
        "task_categories": _CATEGORIES.get(info.pipeline.benchmark, ["text-classification"]),
        "tags": ["hallucination", "factuality", "synthetic", "halu-tasks", info.pipeline.name],
        "configs": [
            {"config_name": PurePosixPath(name).stem, "data_files": [{"split": "test", "path": name}]}
            for name in sorted(info.files)
        ],
    }


def _licence(named: str | None) -> dict[str, str]:
    if named is None:
        return {"license": UNKNOWN}
    plain = "-".join(named.casefold().replace("_", " ").split())
    return {"license": plain} if plain in _LICENCES else {"license": "other", "license_name": " ".join(named.split())}


def tasks_on(benchmark: str, files: Mapping[str, int]) -> list[str]:
    """The tasks that read one of the files."""
    tasks = registry()[0].values()
    return [task.name for task in tasks if task.benchmark == benchmark and task.reader.file(Options()) in files]


def _parts(info: CardInfo) -> Iterator[str]:
    pipeline, paper = info.pipeline, paper_named(info.pipeline.paper)
    yield f"# {escaped(info.title)}"
    yield (
        f"{info.items:,} items made by models of {info.documents:,} documents, in the format of the benchmark "
        f"{escaped(pipeline.benchmark)}: {escaped(pipeline.about.rstrip('.'))}."
    )
    yield "## How it was made"
    yield (
        f"By the pipeline `{pipeline.name}`, version {pipeline.version}, of halu-tasks {escaped(info.package)}, after "
        f"{escaped(paper.told)}. The prompts are this package's or its user's, not the paper's."
    )
    yield from _documents(info)
    yield "## Models"
    yield _models(info.models)
    if any(int(pipeline.settings.get(name, 1)) > 1 for name in _SEVERAL_DRAWS):
        yield "Prompts that are asked several times are asked at temperature 1."
    yield "## Prompts, seeds and options"
    yield "What decides what is made of a document, besides the models:"
    yield code_block(_json(pipeline.settings), "json")
    yield f"The prompts, together `{pipeline.settings['prompt_hash']}`:"
    for name, text in sorted(pipeline.texts.items()):
        yield f"<details>\n<summary>{escape(name)}</summary>\n\n{code_block(text, 'text')}\n\n</details>"
    yield from _rates(info)
    if info.quality:
        yield from balance_section(info.quality)
        yield from leaks_section(info.quality)
    if info.annotation:
        yield from annotation_section(info.annotation)
    yield from _use(info)
    yield from _limits(info)
    yield "## Citation"
    yield f"Cite the paper that the method is of, and name halu-tasks by its version, {escaped(info.package)}."
    if paper.bibtex:
        yield code_block(paper.bibtex, "bibtex")


def _documents(info: CardInfo) -> Iterator[str]:
    yield "## Documents"
    refused = info.collected.get("refused", {})
    rows = [
        ["name", escaped(info.source["name"])],
        ["documents", f"{info.documents:,}"],
        ["sha256", escaped(info.source["sha256"])],
        *([f"not worked on: {escaped(reason)}", f"{n:,}"] for reason, n in sorted(refused.items())),
    ]
    if undone := info.collected.get("documents_not_done"):
        rows.append(["**not done when this was collected**", f"{undone:,}"])
    yield table(["", ""], rows)
    told = {name: n for name, n in info.licences.items() if name not in (UNKNOWN, "")}
    unknown = info.documents - sum(told.values())
    if told:
        counted = [[escaped(name), f"{n:,}"] for name, n in sorted(told.items())]
        yield "What the documents say of their licences:"
        yield table(["licence", "documents"], [*counted, *([["not known", f"{unknown:,}"]] if unknown else [])])
    else:
        yield "**The documents say nothing of their licences: they are not known.**"
    if info.licence is None:
        yield "**No licence was named for this dataset: it is not known.** Texts of the documents stand in it."
    else:
        yield f"Licence of this dataset, as named by who built it: {escaped(info.licence)}."


def _models(models: Mapping[str, Any]) -> str:
    named = {role: own if isinstance(own, Mapping) else {"model": own} for role, own in models.get("roles", {}).items()}
    run = {name: value for name, value in models.items() if name != "roles"}
    rows = []
    for role in sorted({GENERATOR, VERIFIER, *named}):
        own = {**DEFAULTS, **named.get(role, run)}
        model = own.pop("model", UNKNOWN)
        shown = ", ".join(map(escaped, model)) if isinstance(model, list) else escaped(model)
        settings = ", ".join(f"{escaped(name)}={escaped(value)}" for name, value in sorted(own.items()))
        rows.append([escaped(role), shown, settings])
    return table(["role", "model", "settings"], rows)


def _rates(info: CardInfo) -> Iterator[str]:
    yield "## Pass rates"
    yield "Of the drafts that a check was made of, the share that passed, with its 95% interval over documents:"
    rows = [
        [escaped(check), f"{own['of']:,}", f"{own['passed']:,}", figure(own)]
        for check, own in info.collected.get("rates", {}).items()
    ]
    yield table(["check", "drafts", "passed", "share"], rows) if rows else "There were no drafts."
    for told, key in (
        ("Why drafts failed; a draft may fail for several reasons:", "rejected"),
        ("Items that passed and are not in the dataset:", "dropped"),
    ):
        if counts := info.collected.get(key):
            ordered = sorted(counts.items(), key=lambda own: (-own[1], own[0]))
            yield told
            yield table(["reason", "number"], [[escaped(reason), f"{number:,}"] for reason, number in ordered])


def _use(info: CardInfo) -> Iterator[str]:
    yield "## Use"
    yield table(["file", "rows"], [[f"`{escape(name)}`", f"{rows:,}"] for name, rows in sorted(info.files.items())])
    tasks = tasks_on(info.pipeline.benchmark, info.files)
    if not tasks:
        yield "No task of halu-tasks reads these files under their names."
        return
    yield "With halu-tasks installed, the folder being `path/to/dataset`:"
    named = ",".join(tasks)
    lines = [f"lm_eval --model hf --model_args pretrained=MODEL --tasks {named} --metadata halu_data=path/to/dataset"]
    lines += [f"inspect eval halu_tasks/{task} -T data=path/to/dataset --model MODEL" for task in tasks]
    yield code_block("\n".join(lines), "console")
    yield "Figures on it are not those of the published benchmark; versions that the harnesses print say `local`."


def _limits(info: CardInfo) -> Iterator[str]:
    yield "## Limits and biases"
    lines = [
        "Questions, answers and errors were written by models. They have the models' style and blind spots, and a "
        "model may do better on texts of its own kin.",
        "What a verifier passed is what a model found right: it misses errors that it would make itself. The pass "
        "rates say how strict it was, not how often it was right.",
        "True is what the documents say. Where they are wrong or out of date, so is the dataset.",
        "Errors were put in on purpose. Those that models make by themselves may be others, and harder to find.",
    ]
    if info.annotation:
        lines.append("People looked at the items; how they agreed stands above.")
    else:
        lines.append("No person has checked the items.")
    if info.quality is None:
        lines.append("Leaks, balance and duplicates were not looked for.")
    yield "\n".join(f"- {line}" for line in lines)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)
