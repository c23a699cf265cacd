"""`build` and `label`: a benchmark from documents, what is known of it, and what people say of its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from halu_tasks.cli.command import NOTHING, Count, ExecutorOptions, Output
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, print_record, progress, say, table, warn
from halu_tasks.core.errors import require_extra
from halu_tasks.core.files import to_json

if TYPE_CHECKING:
    from halu_tasks.builders.folder import Folder
    from halu_tasks.builders.optimize import Optimization
    from halu_tasks.inspect_adapter.run_models import RunModels

Percent = Annotated[float, click.FloatRange(0, 100, min_open=True), "PERCENT"]
BuilderOptions = Annotated[Mapping[str, Any], "-T"]


@dataclass(frozen=True, kw_only=True)
class BuildModels:
    """The models of a build, and the settings of their calls.

    Attributes:
        model: the model, named as in Inspect
        model_base_url: the address of its server
        model_arg: an argument of the model
        model_role: another model for a role, as ROLE=MODEL
        max_connections: maximum number of concurrent calls to each model
        max_retries: how often a failed call is retried, after increasing delays (seven times take six minutes)
        timeout: no call is retried after this many seconds
        temperature: temperature of all calls of --model (default: that of the builder's role)
        max_tokens: maximum length of a reply (default: 4096)
        model_cost_config: prices of models, in the format of Inspect, to report costs in dollars
        display: how Inspect shows its progress, on standard error
    """

    model: Annotated[str, "MODEL"]
    model_base_url: Annotated[str | None, "URL"] = None
    model_arg: Annotated[Mapping[str, Any], "-M"] = field(default_factory=dict)
    model_role: Annotated[Mapping[str, Any], "--model-role"] = field(default_factory=dict)
    max_connections: Count | None = None
    max_retries: Annotated[int, click.IntRange(min=0), "N"] = 7
    timeout: Annotated[int | None, click.IntRange(min=1), "SECONDS"] = None
    temperature: float | None = None
    max_tokens: Count | None = None
    model_cost_config: Annotated[str | None, "FILE"] = None
    display: Literal["full", "rich", "plain", "log", "none"] | None = None

    def create(self) -> RunModels:
        """Return the models.

        Raises:
            UsageError: Inspect cannot create one of them.
        """
        from halu_tasks.inspect_adapter.run_models import RunModels

        named = {"model", "model_base_url", "model_arg", "model_role"}
        settings = {k: v for k, v in vars(self).items() if k not in named and v is not None}
        models = RunModels(self.model, self.model_base_url, self.model_arg, self.model_role, settings)
        models.check()
        return models


@dataclass(frozen=True, kw_only=True)
class DatasetOptions:
    """How a dataset is assembled from drafts.

    Attributes:
        balance: keep as many items of each kind as there are of the rarest
        near: similarity in percent from which on two items are duplicates (default: 100, equal items; FactCHD: 90)
        embeddings: a sentence-transformers model (extra embeddings) whose cosine, in percent, is the similarity
            (default: similarity of spelling)
        partial: collect even if documents are not finished
        licence: the dataset's licence, for its card (default: unknown)
    """

    balance: bool = False
    near: Percent | None = None
    embeddings: Annotated[str | None, "MODEL"] = None
    partial: bool = False
    licence: Annotated[str | None, "NAME"] = None


def dataset(
    builder: str,
    documents: Path,
    *,
    output: Output,
    models: BuildModels,
    option: BuilderOptions = NOTHING,
    part_size: Count = 500,
    executor: ExecutorOptions,
    gate_samples: Annotated[int | None, click.IntRange(min=0), "N"] = None,
    gate_share: Annotated[float | None, click.FloatRange(0, 1), "SHARE"] = None,
    collecting: DatasetOptions,
    json: bool = False,
) -> int:
    """Build a benchmark from your own documents.

    Args:
        builder: haluagent, refact_pipeline, halluverse25_pipeline, …
        documents: a JSON Lines file with id and text, or a folder of .txt and .md files
        output: the folder of the build; the same command continues what it contains
        models: the models
        option: an option of the builder (language=en), see `halu-tasks build options`
        part_size: approximate number of documents in a part
        executor: where the work is done
        gate_samples: documents of each kind to draft first, as a test; 0 skips it (default: factchd_pipeline 5,
            others 0)
        gate_share: share of these drafts that must be consistent, or the build stops (default: factchd_pipeline 0.95)
        collecting: how the dataset is assembled
        json: print one JSON object instead of YAML
    """
    require_extra("build", "halu-tasks build")
    from halu_tasks.builders.build import build

    folder = build(
        builder,
        documents,
        output,
        models.create(),
        executor.create(),
        progress,
        options=dict(option),
        part_size=part_size,
        gate_samples=gate_samples,
        gate_share=gate_share,
    )
    return _collect(folder, collecting, json=json)


def collect(folder: Path, *, collecting: DatasetOptions, json: bool = False) -> int:
    """Assemble the dataset of a build again, with other options.

    Args:
        folder: the folder of the build
        collecting: how the dataset is assembled
        json: print one JSON object instead of YAML
    """
    require_extra("build", "halu-tasks build collect")
    from halu_tasks.builders.folder import Folder

    return _collect(Folder(folder), collecting, json=json)


def _collect(folder: Folder, options: DatasetOptions, *, json: bool) -> int:
    """Make the dataset of a build, and print what became of its documents; return the exit status."""
    from halu_tasks.builders import collect as collecting

    collection = collecting.collect(folder, **asdict(options))
    print_record({"folder": str(folder.path), **to_json(collection)}, as_json=json)
    collecting.check_items(folder, collection)
    if unfinished := collection.documents_not_done:
        warn(f"{unfinished} of {folder.plan.documents} documents are not in the dataset")
        return EXIT_PARTIAL
    return 0


def quality(folder: Path, *, near: Percent = 100.0, strict: bool = False, json: bool = False) -> int:
    """Measure leaks, balance and duplicates of a built dataset.

    Args:
        folder: the folder that `halu-tasks build` wrote to
        near: similarity in percent from which on two items are duplicates (100: equal items)
        strict: exit with status 1 if something is flagged
        json: print one JSON object instead of YAML
    """
    require_extra("build", "halu-tasks build quality")
    from halu_tasks.builders.folder import DATASET, Folder, read_items
    from halu_tasks.builders.quality import measure_quality

    build = Folder(folder)
    report = measure_quality(build.pipeline, read_items(build.path / DATASET), near=near)
    print_record(report.as_json(), as_json=json)
    return 1 if strict and list(report.flagged()) else 0


def optimize(
    builder: str,
    documents: Path,
    *,
    output: Output,
    models: BuildModels,
    option: BuilderOptions = NOTHING,
    train: Count = 60,
    validation: Count = 20,
    rounds: Count = 5,
    candidates: Count = 3,
    json: bool = False,
) -> None:
    """Improve a builder's prompts, using the drafts that its verifier rejects.

    Args:
        builder: haluagent, refact_pipeline, halluverse25_pipeline, …
        documents: as for build; a sample of them is used
        output: the folder of the prompts, rates and rejects; the same command continues what it contains
        models: the models
        option: an option of the builder (language=en)
        train: number of documents whose rejected drafts the optimizer sees
        validation: number of documents by which prompts are compared
        rounds: maximum number of rounds
        candidates: number of sets of prompts to try in a round
        json: print one JSON object instead of a table
    """
    require_extra("build", "halu-tasks build optimize")
    from halu_tasks.builders.optimize import optimize_prompts

    optimization = optimize_prompts(
        builder,
        documents,
        output,
        models.create(),
        progress,
        options=dict(option),
        train=train,
        validation=validation,
        rounds=rounds,
        candidates=candidates,
    )
    if json:
        print_json(optimization.as_json())
        return
    say(_rates(optimization))
    ended = next((each["ended"] for each in optimization.rounds if each["ended"]), f"{rounds} rounds")
    prompts = optimization.prompts
    say(f"\nended: {ended}\nbest: {optimization.best}, in {prompts}; build with -T prompts={prompts}")


def _rates(optimization: Optimization) -> str:
    """Format the rates of each round's prompts, as in Table 3 of the paper (C-FAITH)."""
    best = {each["round"]: optimization.rates[each["chosen"]] for each in optimization.rounds if each["chosen"]}
    names = [name for name in best[0] if name != "kept"]
    return table(
        [
            {"iteration": number, **{n: f"{rates[n].share.value:.2%}" if n in rates else "" for n in names}}
            for number, rates in best.items()
        ]
    )


def biographies(
    *,
    output: Output,
    contact: Annotated[str, "ADDRESS"],
    number: Count = 500,
    language: Annotated[Sequence[str], "LANGUAGE"] = (),
    profession: Annotated[str | None, "ITEM"] = None,
    country: Annotated[str | None, "ITEM"] = None,
    born: Annotated[str | None, "YEARS"] = None,
    seed: int = 0,
    json: bool = False,
) -> int:
    """Fetch documents for a builder: people sampled from Wikidata, with their pages in Wikipedia (HalluVerse25).

    Args:
        output: the folder of the documents; the same command continues what it contains
        contact: your e-mail address or web page; Wikimedia asks programs to name one
        number: how many people
        language: a language of Wikipedia; everyone has an article in at least one (default: en, ar, tr)
        profession: their profession, as an item of Wikidata (Q82955)
        country: their country of citizenship, as an item of Wikidata (Q43)
        born: their years of birth (1900..1949)
        seed: seed of the sample
        json: print one JSON object instead of a table
    """
    from halu_tasks.builders.biographies import fetch_biographies

    wanted = {
        "number": number,
        "languages": list(language) or ["en", "ar", "tr"],
        "profession": profession,
        "country": country,
        "born": born,
        "seed": seed,
    }
    fetched = fetch_biographies(output, contact, progress, wanted)
    print_record(fetched, as_json=json)
    if missing := number - fetched["people"]:
        warn(f"{missing:,} fewer people than requested")
        return EXIT_PARTIAL
    return 0


def options(builder: str | None = None) -> None:
    """List the options of the builders.

    Args:
        builder: the builder (default: all)
    """
    from halu_tasks.builders.pipeline import pipeline_class, pipelines
    from halu_tasks.core.options import option_specs
    from halu_tasks.runs.command import as_yaml

    for name, cls in (pipelines() if builder is None else {builder: pipeline_class(builder)}).items():
        say(f"{name}: {cls.about}")
        for spec in option_specs(cls).values():
            value = spec.default
            shown = "" if value is None else f"{value:g}" if isinstance(value, float) else as_yaml(value)
            say(f"  -T {spec.name}={shown}: {spec.about}")


def label_items(
    folder: Path,
    *,
    output: Annotated[Path, "-o", "--output", "TASKS.jsonl"],
    sample: Count | None = None,
    seed: int = 0,
) -> None:
    """Write the items of a built dataset for doccano, with labels and guidelines.

    Args:
        folder: the folder that `halu-tasks build` wrote to
        output: where to write
        sample: only export a sample of N items
        seed: seed of the sample and of the order
    """
    from halu_tasks.builders.annotation import export_items
    from halu_tasks.builders.folder import Folder

    count = export_items(Folder(folder), output, sample, seed)
    say(f"{count:,} rows to label in {output}, with labels and guidelines in files next to it")


def import_items(
    folder: Path,
    annotations: Annotated[Sequence[Path], "ANNOTATIONS.jsonl"],
    *,
    rule: Literal["majority", "two"] = "majority",
    least: Count = 2,
    output: Annotated[Path | None, "-o", "--output", "FOLDER"] = None,
    json: bool = False,
) -> int:
    """Read the labels of items: agreement, and the items that annotators keep.

    Args:
        folder: the folder that the items were exported from
        annotations: the files of doccano's export, one for each annotator
        rule: an item's label is that of more than half, or one that two annotators give and no other as often
        least: minimum number of labels of an item
        output: a new folder for the items that are kept
        json: print one JSON object instead of YAML
    """
    from halu_tasks.builders.annotation import import_labels
    from halu_tasks.builders.folder import Folder

    report, annotators = import_labels(Folder(folder), annotations, rule, least, output)
    print_record(to_json(report), as_json=json)
    if not json:
        say(f"\nwritten to {output}" if output else "\nnothing was written; to keep the items, name a folder with -o")
    problems = [f"annotator {each.name}: {each.problem}" for each in annotators if each.problem]
    for problem in problems:
        warn(problem)
    return EXIT_PARTIAL if problems else 0
