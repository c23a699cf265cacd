"""Dataset cards in the format of the Hugging Face hub: front matter, and what users of the dataset must know.

The text is in `card.md.jinja`. The card depends only on the build: it contains no date, machine or path, so the same
build has the same card.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from halu_tasks import __version__
from halu_tasks.builders.build import read_gate
from halu_tasks.builders.documents import NO_LICENCE
from halu_tasks.builders.drafting import DocumentOutcome, Rate
from halu_tasks.builders.folder import Folder, by_count, read_items, write_json
from halu_tasks.builders.pipeline import GENERATOR, MAX_TOKENS, VERIFIER, Pipeline
from halu_tasks.builders.quality import Quality, measure_quality
from halu_tasks.core.files import atomic_write_text, read_yaml
from halu_tasks.core.options import Options
from halu_tasks.scorers.methods import COUNTED
from halu_tasks.tasks import registry, source_named
from halu_tasks.text.figures import code_block, escaped, format_estimate

QUALITY, CARD = "quality.json", "README.md"
"""Files in a dataset's folder."""


@dataclass(kw_only=True)
class Collection:
    """What became of a build's documents: the content of `collected.json`, from which the card is written.

    Attributes:
        documents: The number of documents that were worked on, refused ones included.
        documents_not_done: The number of documents that were not worked on yet.
        refused: Refused documents by reason.
        drafts: The number of drafts.
        rates: Pass rates by check.
        rejected: Drafts by `check: reason` of their faults; one draft can have several.
        items: Items by kind, before balancing.
        dropped: Items that passed but are not in the dataset, by reason.
        files: The number of rows of each file of the dataset.
        licences: Documents by the licence that they state.
        licence: The licence of the dataset; None if the user specified none.
        near: The similarity in percent from which on duplicates were dropped.
        cost: The total cost by measure.
    """

    documents: int = 0
    documents_not_done: int = 0
    refused: dict[str, int] = field(default_factory=Counter)
    drafts: int = 0
    rates: Mapping[str, Rate] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=Counter)
    items: dict[str, int] = field(default_factory=Counter)
    dropped: dict[str, int] = field(default_factory=Counter)
    files: Mapping[str, int] = field(default_factory=dict)
    licences: dict[str, int] = field(default_factory=Counter)
    licence: str | None = None
    near: float = 100.0
    cost: dict[str, int] = field(default_factory=Counter)

    def add(self, outcome: DocumentOutcome) -> None:
        """Count a document and its drafts."""
        self.documents += 1
        self.drafts += len(outcome.drafts)
        self.licences[outcome.licence] += 1
        for name in COUNTED:
            self.cost[name] += int((outcome.cost or {}).get(name, 0))
        if outcome.refused:
            self.refused[outcome.refused.reason] += 1
        for draft in outcome.drafts:
            for reason in dict.fromkeys(f"{fault.check}: {fault.reason}" for fault in draft.faults):
                self.rejected[reason] += 1


def describe(
    folder: Folder, dataset: Path, collection: Collection, annotation: Mapping[str, Any] | None = None
) -> None:
    """Write the quality and the card of a dataset into its folder.

    Args:
        folder: The build's folder.
        dataset: The dataset's folder, which may be a temporary one while it is built.
        collection: What became of the documents.
        annotation: The content of `annotation.json`, if there is one.

    Raises:
        DataError: The dataset is damaged.
    """
    quality = measure_quality(folder.pipeline, read_items(dataset))
    write_json(dataset / QUALITY, quality.as_json())
    atomic_write_text(dataset / CARD, card_text(folder, collection, quality, annotation))


def card_text(
    folder: Folder, collection: Collection, quality: Quality, annotation: Mapping[str, Any] | None = None
) -> str:
    """Return the text of a card, to be written to the dataset's `README.md`.

    Args:
        folder: The build's folder.
        collection: What became of the documents.
        quality: The quality of the dataset.
        annotation: The content of `annotation.json`; None if there is none.
    """
    pipeline, plan = folder.pipeline, folder.plan
    text: str = _template().render(
        pipeline=pipeline,
        plan=plan,
        collection=collection,
        quality=quality,
        annotation=annotation,
        gate=read_gate(folder),
        title=f"{plan.source} as {source_named(pipeline.benchmark).title}",
        package=__version__,
        paper=paper_named(pipeline.paper),
        models=list(_models(pipeline, plan.models)),
        settings=json.dumps(pipeline.settings, ensure_ascii=False, indent=2, sort_keys=True),
        tasks=tasks_on(pipeline.benchmark, collection.files),
    )
    return text


def _models(pipeline: Pipeline, recorded: Mapping[str, Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield each role with its model or models and their settings."""
    # arguments of models only say where they are served
    default = {name: value for name, value in recorded.items() if name not in ("roles", "model_args")}
    roles = {
        role: model if isinstance(model, Mapping) else {"model": model}
        for role, model in recorded.get("roles", {}).items()
    }
    for role in sorted({GENERATOR, VERIFIER, *roles}):
        # a role that only prompts other than the pipeline's use, such as `optimizer`, has no temperature here
        own = {"temperature": pipeline.temperatures[role]} if role in pipeline.temperatures else {}
        settings = {"max_tokens": MAX_TOKENS, **own, **roles.get(role, default)}
        model = settings.pop("model", NO_LICENCE)
        yield role, ", ".join(model) if isinstance(model, list) else model, settings


def tasks_on(benchmark: str, files: Container[str]) -> list[str]:
    """Return the names of the tasks that read at least one of the files."""
    tasks = registry()[0].values()
    return [task.name for task in tasks if task.benchmark == benchmark and task.data.file(Options()) in files]


def paper_named(name: str) -> dict[str, str]:
    """Return the `citation` and `bibtex` of a paper in `papers.yaml`; an unknown name is cited as it is."""
    papers = read_yaml(Path(__file__).parent / "papers.yaml")
    return {"bibtex": "", **papers.get(name, {"citation": name})}


# --- the template ---------------------------------------------------------------------------------


@cache
def _template() -> Any:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {
        "escaped": escaped,
        "code_block": code_block,
        "estimate": format_estimate,
        "number": lambda number: f"{number:,}",
        "by_count": by_count,
        # JSON strings are YAML
        "json": lambda text: json.dumps(" ".join(text.split()), ensure_ascii=False),
    }
    return environment.get_template("card.md.jinja")
