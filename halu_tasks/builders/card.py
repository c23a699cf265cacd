"""Dataset cards in the format of the Hugging Face hub: front matter, and what users of the dataset must know.

The text is in `card.md.jinja`. The card depends only on the build: it contains no date, machine or path, so the same
build has the same card.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from halu_tasks import __version__
from halu_tasks.builders.annotation import AnnotationReport
from halu_tasks.builders.build import GateResult
from halu_tasks.builders.documents import NO_LICENCE
from halu_tasks.builders.folder import GATE, BuildPlan, Folder, dataset_rows, read_items
from halu_tasks.builders.leaks import LEAK, NONE, Separation
from halu_tasks.builders.pipeline import GENERATOR, MAX_TOKENS, VERIFIER, Pipeline
from halu_tasks.builders.quality import Distribution, Quality, measure_quality
from halu_tasks.builders.records import Collection
from halu_tasks.core.files import atomic_write_text
from halu_tasks.core.options import Options
from halu_tasks.data.rows import read_json_object
from halu_tasks.tasks import registry, source_named
from halu_tasks.text.figures import code_block, escaped, format_estimate

QUALITY, CARD = "quality.json", "README.md"
"""Files in a dataset's folder."""
SAME = "same in every pair"
"""The verdict shown for a feature that cannot leak."""
_LICENCES = {
    *("afl-3.0", "apache-2.0", "bsd-2-clause", "bsd-3-clause", "cc0-1.0", "gfdl", "gpl-3.0", "lgpl-3.0", "mit"),
    *("cdla-permissive-1.0", "cdla-permissive-2.0", "cdla-sharing-1.0", "odbl", "odc-by", "pddl", "unlicense"),
    *(f"cc-{kind}-{version}" for kind in ("by", "by-sa") for version in ("2.0", "2.5", "3.0", "4.0")),
    *(f"cc-{kind}-{version}" for kind in ("by-nc", "by-nc-nd", "by-nc-sa") for version in ("2.0", "3.0", "4.0")),
    *("cc-by-nd-4.0", NO_LICENCE),
}
"""Licences known to the hub; others are given as `license_name`."""
_CATEGORIES = {
    "cfaith": ["question-answering", "multiple-choice"],
    "refact": ["text-classification", "question-answering"],
}
_SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
_SEVERAL_DRAWS = ("candidates", "votes")
"""Options that, if greater than 1, cause prompts to be asked several times."""


def describe(folder: Folder, dataset: Path, collection: Collection, annotation: AnnotationReport | None = None) -> None:
    """Write the quality and the card of a dataset into its folder.

    Args:
        folder: The build's folder.
        dataset: The dataset's folder, which may be a temporary one while it is built.
        collection: What became of the documents.
        annotation: The labels of annotators, if there are any.

    Raises:
        DataError: The dataset is damaged.
    """
    quality = measure_quality(folder.pipeline, read_items(dataset), collection=collection)
    atomic_write_text(dataset / QUALITY, json.dumps(quality.as_json(), ensure_ascii=False, indent=1) + "\n")
    gate = folder.path / GATE
    card = Card(
        pipeline=folder.pipeline,
        plan=folder.plan,
        files=dataset_rows(dataset),
        collection=collection,
        quality=quality,
        annotation=annotation,
        gate=GateResult(**read_json_object(gate)) if gate.is_file() else None,
    )
    atomic_write_text(dataset / CARD, card.text())


@dataclass(frozen=True, kw_only=True)
class Card:
    """The contents of a card.

    Attributes:
        pipeline: The pipeline with the options of the build.
        plan: The plan of the build.
        files: Number of rows by file of the dataset.
        collection: What became of the documents.
        quality: The quality of the dataset.
        annotation: The labels of annotators; None if there are none.
        gate: The result of the samples that were drafted first; None if there were none.
    """

    pipeline: Pipeline
    plan: BuildPlan
    files: Mapping[str, int]
    collection: Collection
    quality: Quality
    annotation: AnnotationReport | None = None
    gate: GateResult | None = None

    @property
    def title(self) -> str:
        """The dataset's name."""
        return f"{self.plan.source.name} as {source_named(self.pipeline.benchmark).title}"

    def text(self) -> str:
        """Return the text of the card, to be written to the dataset's `README.md`."""
        licences = {name: n for name, n in self.collection.licences.items() if name not in (NO_LICENCE, "")}
        settings = self.pipeline.settings
        text: str = _template().render(
            **vars(self),
            title=self.title,
            front=yaml.safe_dump(self.front_matter(), sort_keys=False, allow_unicode=True, width=120),
            package=__version__,
            paper=paper_named(self.pipeline.paper),
            licences=licences,
            unknown=self.plan.documents - sum(licences.values()),
            models=list(self._models()),
            several_draws=any(int(settings.get(name, 1)) > 1 for name in _SEVERAL_DRAWS),
            settings=json.dumps(settings, ensure_ascii=False, indent=2, sort_keys=True),
            tasks=tasks_on(self.pipeline.benchmark, self.files),
        )
        return text

    def front_matter(self) -> dict[str, Any]:
        """Return the metadata that the hub reads from a card."""
        return {
            "pretty_name": " ".join(self.title.split()),
            "language": [" ".join(self.pipeline.language.split())],
            **_licence(self.collection.licence),
            "annotations_creators": ["expert-generated" if self.annotation else "machine-generated"],
            "language_creators": ["machine-generated"],
            "size_categories": [next((name for most, name in _SIZES.items() if self.quality.items < most), "n>1M")],
            "task_categories": _CATEGORIES.get(self.pipeline.benchmark, ["text-classification"]),
            "tags": ["hallucination", "factuality", "synthetic", "halu-tasks", self.pipeline.name],
            "configs": [
                {"config_name": PurePosixPath(name).stem, "data_files": [{"split": "test", "path": name}]}
                for name in sorted(self.files)
            ],
        }

    def _models(self) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        """Yield each role with its model or models and their settings."""
        recorded = self.plan.models
        # arguments of models only say where they are served
        default = {name: value for name, value in recorded.items() if name not in ("roles", "model_args")}
        roles = {
            role: model if isinstance(model, Mapping) else {"model": model}
            for role, model in recorded.get("roles", {}).items()
        }
        for role in sorted({GENERATOR, VERIFIER, *roles}):
            # a role that only prompts other than the pipeline's use, such as `optimizer`, has no temperature here
            temperatures = self.pipeline.temperatures
            own = {"temperature": temperatures[role]} if role in temperatures else {}
            settings = {"max_tokens": MAX_TOKENS, **own, **roles.get(role, default)}
            model = settings.pop("model", NO_LICENCE)
            yield role, ", ".join(model) if isinstance(model, list) else model, settings


def _licence(named: str | None) -> dict[str, str]:
    """Return the licence as metadata for the hub."""
    plain = "-".join((named or NO_LICENCE).casefold().replace("_", " ").split())
    if plain in _LICENCES:
        return {"license": plain}
    return {"license": "other", "license_name": " ".join(str(named).split())}


def tasks_on(benchmark: str, files: Mapping[str, int]) -> list[str]:
    """Return the names of the tasks that read at least one of the files."""
    tasks = registry()[0].values()
    return [task.name for task in tasks if task.benchmark == benchmark and task.data.file(Options()) in files]


class CitedPaper(NamedTuple):
    """A paper's citation, for use in a sentence, and its BibTeX entry."""

    citation: str
    bibtex: str = ""


def paper_named(name: str) -> CitedPaper:
    """Return the paper of this name in `papers.yaml`; an unknown name is used as it is, without BibTeX."""
    papers = yaml.safe_load((Path(__file__).parent / "papers.yaml").read_text(encoding="utf-8"))
    return CitedPaper(**papers.get(name, {"citation": name}))


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
        "by_count": lambda counts: sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])),
        "distribution": _distribution_cells,
        "leak": _leak_cell,
    }
    return environment.get_template("card.md.jinja")


def _distribution_cells(distribution: Distribution) -> str:
    """Return the table cells for a distribution: the counts, their evenness, and the largest share."""
    counts = ", ".join(f"{escaped(name) or 'none'} {number:,}" for name, number in distribution.counts.items())
    shares = (distribution.evenness, distribution.largest)
    return " | ".join([counts, *("–" if share is None else f"{share:.3f}" for share in shares)])


def _leak_cell(separation: Separation) -> str:
    if separation.same and separation.verdict == NONE:
        return SAME
    return f"**{LEAK}**" if separation.verdict == LEAK else escaped(separation.verdict)
