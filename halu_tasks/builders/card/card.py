"""Dataset cards in the format of the Hugging Face hub: front matter, and what users of the dataset must know.

The card depends only on the build: it contains no date, machine or path, so the same build has the same card.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import PurePosixPath
from typing import Any

import yaml

from halu_tasks.builders.annotation.annotation import AnnotationReport
from halu_tasks.builders.card.papers import paper_named
from halu_tasks.builders.card.sections import annotation_section, balance_section, leaks_section
from halu_tasks.builders.documents import NO_LICENCE
from halu_tasks.builders.pipeline import GENERATOR, MAX_TOKENS, VERIFIER, Pipeline
from halu_tasks.builders.quality.quality import Quality
from halu_tasks.builders.run.collect import Collected
from halu_tasks.builders.run.gate import GateResult
from halu_tasks.builders.run.plan import Source
from halu_tasks.core.options import Options
from halu_tasks.tasks import registry
from halu_tasks.text.figures import format_estimate
from halu_tasks.text.markdown import code_block, escaped, table

UNKNOWN = NO_LICENCE
_LICENCES = {
    *("afl-3.0", "apache-2.0", "bsd-2-clause", "bsd-3-clause", "cc0-1.0", "gfdl", "gpl-3.0", "lgpl-3.0", "mit"),
    *("cdla-permissive-1.0", "cdla-permissive-2.0", "cdla-sharing-1.0", "odbl", "odc-by", "pddl", UNKNOWN, "unlicense"),
    *(f"cc-{kind}-{version}" for kind in ("by", "by-sa") for version in ("2.0", "2.5", "3.0", "4.0")),
    *(f"cc-{kind}-{version}" for kind in ("by-nc", "by-nc-nd", "by-nc-sa") for version in ("2.0", "3.0", "4.0")),
    "cc-by-nd-4.0",
}
"""Licences known to the hub; others are given as `license_name`."""
_CATEGORIES = {
    "cfaith": ["question-answering", "multiple-choice"],
    "refact": ["text-classification", "question-answering"],
}
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_MORE = "n>1M"
_SEVERAL_DRAWS = ("candidates", "votes")
"""Options that, if greater than 1, cause prompts to be asked several times."""


@dataclass(frozen=True)
class CardInfo:
    """The contents of a card.

    Attributes:
        title: The dataset's name.
        pipeline: The pipeline with the options of the build.
        package: The version of this package.
        source: The name and checksum of the documents.
        documents: Number of documents.
        files: Number of rows by file of the dataset.
        items: Number of items.
        models: `model` and settings of the run's model, and under `roles` the models of individual roles: a name each,
            or `model` and settings.
        collected: What became of the documents.
        quality: The quality of the dataset; None if it was not checked.
        annotation: The labels of annotators; None if there are none.
        gate: The result of the samples that were drafted first; None if there were none.
    """

    title: str
    pipeline: Pipeline
    package: str
    source: Source
    documents: int
    files: Mapping[str, int]
    items: int
    models: Mapping[str, Any]
    collected: Collected
    quality: Quality | None = None
    annotation: AnnotationReport | None = None
    gate: GateResult | None = None


def card(info: CardInfo) -> str:
    """Return the text of the card, to be written to the dataset's `README.md`."""
    front = yaml.safe_dump(front_matter(info), sort_keys=False, allow_unicode=True, width=120)
    return f"---\n{front}---\n\n" + "\n\n".join(_parts(info)) + "\n"


def front_matter(info: CardInfo) -> dict[str, Any]:
    """Return the metadata that the hub reads from a card."""
    size = next((name for limit, name in _SIZES if info.items < limit), _MORE)
    return {
        "pretty_name": " ".join(info.title.split()),
        "language": [" ".join(info.pipeline.language.split())],
        **_licence(info.collected.licence),
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
    """Return the licence as metadata for the hub."""
    if named is None:
        return {"license": UNKNOWN}
    plain = "-".join(named.casefold().replace("_", " ").split())
    return {"license": plain} if plain in _LICENCES else {"license": "other", "license_name": " ".join(named.split())}


def tasks_on(benchmark: str, files: Mapping[str, int]) -> list[str]:
    """Return the names of the tasks that read at least one of the files."""
    tasks = registry()[0].values()
    return [task.name for task in tasks if task.benchmark == benchmark and task.data.file(Options()) in files]


def _parts(info: CardInfo) -> Iterator[str]:
    """Yield the paragraphs of the card."""
    pipeline, paper = info.pipeline, paper_named(info.pipeline.paper)
    yield f"# {escaped(info.title)}"
    yield (
        f"{info.items:,} items generated by models from {info.documents:,} documents, in the format of the benchmark "
        f"{escaped(pipeline.benchmark)}: {escaped(pipeline.about.rstrip('.'))}."
    )
    yield "## How it was made"
    yield (
        f"Built with the pipeline `{pipeline.name}` (version {pipeline.version}) of halu-tasks "
        f"{escaped(info.package)}, following {escaped(paper.citation)}. The prompts are those of "
        "halu-tasks or its user, not the paper's."
    )
    yield from _documents(info)
    yield "## Models"
    yield _models(info.models, pipeline.temperatures)
    if any(int(pipeline.settings.get(name, 1)) > 1 for name in _SEVERAL_DRAWS):
        yield "Prompts that are asked several times use temperature 1."
    yield "## Prompts, seeds and options"
    yield "Everything besides the models that determines the items:"
    yield code_block(_json(pipeline.settings), "json")
    yield f"The prompts (hash `{pipeline.settings['prompt_hash']}`):"
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
    yield f"Cite the paper that describes the method, and mention halu-tasks {escaped(info.package)}."
    if paper.bibtex:
        yield code_block(paper.bibtex, "bibtex")


def _documents(info: CardInfo) -> Iterator[str]:
    """Yield the section on the documents and their licences."""
    yield "## Documents"
    collected = info.collected
    rows = [
        ["name", escaped(info.source.name)],
        ["documents", f"{info.documents:,}"],
        ["sha256", escaped(info.source.sha256)],
        *([f"refused: {escaped(reason)}", f"{n:,}"] for reason, n in sorted(collected.refused.items())),
    ]
    if undone := collected.documents_not_done:
        rows.append(["**not finished when this was collected**", f"{undone:,}"])
    yield table(["", ""], rows)
    stated = {name: n for name, n in collected.licences.items() if name not in (UNKNOWN, "")}
    unknown = info.documents - sum(stated.values())
    if stated:
        counted = [[escaped(name), f"{n:,}"] for name, n in sorted(stated.items())]
        yield "Licences stated by the documents:"
        yield table(["licence", "documents"], [*counted, *([["not known", f"{unknown:,}"]] if unknown else [])])
    else:
        yield "**The documents do not state their licences, which are therefore unknown.**"
    if collected.licence is None:
        yield "**No licence was specified for this dataset.** It contains text of the documents."
    else:
        yield f"Licence of this dataset, as specified by its builder: {escaped(collected.licence)}."


def _models(models: Mapping[str, Any], temperatures: Mapping[str, float]) -> str:
    """Return a table of the models and settings by role; `temperatures` are those of the pipeline."""
    roles = {
        role: model if isinstance(model, Mapping) else {"model": model}
        for role, model in models.get("roles", {}).items()
    }
    default = {name: value for name, value in models.items() if name != "roles"}
    rows = []
    for role in sorted({GENERATOR, VERIFIER, *roles}):
        # a role that only prompts other than the pipeline's use, such as `optimizer`, has no temperature here
        own = {"temperature": temperatures[role]} if role in temperatures else {}
        settings = {"max_tokens": MAX_TOKENS, **own, **roles.get(role, default)}
        model = settings.pop("model", UNKNOWN)
        shown = ", ".join(map(escaped, model)) if isinstance(model, list) else escaped(model)
        listed = ", ".join(f"{escaped(name)}={escaped(value)}" for name, value in sorted(settings.items()))
        rows.append([escaped(role), shown, listed])
    return table(["role", "model", "settings"], rows)


def _rates(info: CardInfo) -> Iterator[str]:
    """Yield the section on pass rates and reasons of failure."""
    yield "## Pass rates"
    if info.gate and info.gate.samples:
        yield (
            f"Before all others, {info.gate.samples} documents of each kind were drafted as a test: "
            f"{escaped(info.gate.describe())}. At least {info.gate.required} had to be."
        )
    elif info.gate:
        yield "Nothing was drafted as a test before all others; this step of the method was skipped."
    yield "The share of checked drafts that passed each check, with 95% intervals clustered by document:"
    rows = [
        [escaped(check), f"{rate.of:,}", f"{rate.passed:,}", format_estimate(rate.share)]
        for check, rate in info.collected.rates.items()
    ]
    yield table(["check", "drafts", "passed", "share"], rows) if rows else "There were no drafts."
    for heading, counts in (
        ("Reasons why drafts failed (a draft may fail for several reasons):", info.collected.rejected),
        ("Items that passed but are not in the dataset:", info.collected.dropped),
    ):
        if counts:
            ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
            yield heading
            yield table(["reason", "number"], [[escaped(reason), f"{number:,}"] for reason, number in ordered])


def _use(info: CardInfo) -> Iterator[str]:
    """Yield the section on the files and the tasks that read them."""
    yield "## Use"
    yield table(["file", "rows"], [[f"`{escape(name)}`", f"{rows:,}"] for name, rows in sorted(info.files.items())])
    tasks = tasks_on(info.pipeline.benchmark, info.files)
    if not tasks:
        yield "No task of halu-tasks reads files with these names."
        return
    yield "With halu-tasks installed and the dataset in the folder `path/to/dataset`:"
    names = ",".join(tasks)
    lines = [f"lm_eval --model hf --model_args pretrained=MODEL --tasks {names} --metadata halu_data=path/to/dataset"]
    lines += [f"inspect eval halu_tasks/{task} -T data=path/to/dataset --model MODEL" for task in tasks]
    yield code_block("\n".join(lines), "console")
    yield "Results cannot be compared with those of the published benchmark; task versions contain `local`."


def _limits(info: CardInfo) -> Iterator[str]:
    """Yield the section on limits and biases."""
    yield "## Limits and biases"
    lines = [
        "Questions, answers and errors were written by models. They have the style and blind spots of these models, "
        "and a model may do better on texts written by related models.",
        "Items were accepted by a verifier model, which misses errors that it would make itself. The pass rates show "
        "how strict it was, not how often it was right.",
        "The documents define what is true. If they are wrong or out of date, so is the dataset.",
        "Errors were inserted on purpose. Errors that models make on their own may differ, and be harder to detect.",
    ]
    if info.annotation:
        lines.append("Annotators checked the items; their agreement is reported above.")
    else:
        lines.append("No person has checked the items.")
    if info.quality is None:
        lines.append("Leaks, balance and duplicates were not checked.")
    yield "\n".join(f"- {line}" for line in lines)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)
