"""`build` and `label`: a benchmark from documents, what is known of it, and what people say of its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge, Gt, Le

from halu_tasks.cli.command import NOTHING, ExecutorOptions, Output
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, print_record, progress, say, table, warn
from halu_tasks.core.errors import require_extra
from halu_tasks.core.records import to_json
from halu_tasks.core.settings import Count, Help, Natural, Share

if TYPE_CHECKING:
    from halu_tasks.builders.folder import Folder
    from halu_tasks.builders.optimize import Optimization
    from halu_tasks.inspect_adapter.run_models import RunModels

Percent = Annotated[float, Gt(0), Le(100), "PERCENT"]
BuilderOptions = Annotated[Mapping[str, Any], "-T"]


@dataclass(frozen=True, kw_only=True)
class BuildModels:
    """The models of a build, and the settings of their calls."""

    model: Annotated[str, "MODEL", Help("the model, named as in Inspect")]
    model_base_url: Annotated[str | None, "URL", Help("the address of its server")] = None
    model_arg: Annotated[Mapping[str, Any], "-M", Help("an argument of the model")] = field(default_factory=dict)
    model_role: Annotated[Mapping[str, Any], "--model-role", Help("another model for a role, as ROLE=MODEL")] = field(
        default_factory=dict
    )
    max_connections: Annotated[Count | None, Help("maximum number of concurrent calls to each model")] = None
    max_retries: Annotated[
        Natural,
        Help("how often a failed call is retried, after increasing delays (seven times take six minutes)"),
    ] = 7
    timeout: Annotated[int | None, Ge(1), "SECONDS", Help("no call is retried after this many seconds")] = None
    temperature: Annotated[
        float | None, Help("temperature of all calls of --model (default: that of the builder's role)")
    ] = None
    max_tokens: Annotated[Count | None, Help("maximum length of a reply (default: 4096)")] = None
    model_cost_config: Annotated[
        str | None, "FILE", Help("prices of models, in the format of Inspect, to report costs in dollars")
    ] = None
    display: Annotated[
        Literal["full", "rich", "plain", "log", "none"] | None,
        Help("how Inspect shows its progress, on standard error"),
    ] = None

    def create(self) -> RunModels:
        """Return the models.

        Raises:
            UsageError: Inspect cannot create one of them.
        """
        from halu_tasks.inspect_adapter.run_models import RunModels

        arguments = {"model", "model_base_url", "model_arg", "model_role"}
        settings = {k: v for k, v in vars(self).items() if k not in arguments and v is not None}
        models = RunModels(self.model, self.model_base_url, self.model_arg, self.model_role, settings)
        models.check()
        return models


@dataclass(frozen=True, kw_only=True)
class DatasetOptions:
    """How a dataset is assembled from drafts."""

    balance: Annotated[bool, Help("keep as many items of each kind as there are of the rarest")] = False
    near: Annotated[
        Percent | None,
        Help("similarity in percent from which on two items are duplicates (default: 100, equal items; FactCHD: 90)"),
    ] = None
    embeddings: Annotated[
        str | None,
        "MODEL",
        Help(
            "a sentence-transformers model (extra embeddings) whose cosine, in percent, is the "
            "similarity (default: similarity of spelling)"
        ),
    ] = None
    partial: Annotated[bool, Help("collect even if documents are not finished")] = False
    licence: Annotated[str | None, "NAME", Help("the dataset's licence, for its card (default: unknown)")] = None


def dataset(
    builder: Annotated[str, Help("haluagent, refact_pipeline, halluverse25_pipeline, …")],
    documents: Annotated[Path, Help("a JSON Lines file with id and text, or a folder of .txt and .md files")],
    *,
    output: Annotated[Output, Help("the folder of the build; the same command continues what it contains")],
    models: BuildModels,
    option: Annotated[
        BuilderOptions, Help("an option of the builder (language=en), see `halu-tasks build options`")
    ] = NOTHING,
    part_size: Annotated[Count, Help("approximate number of documents in a part")] = 500,
    executor: ExecutorOptions,
    gate_samples: Annotated[
        Natural | None,
        Help("documents of each kind to draft first, as a test; 0 skips it (default: factchd_pipeline 5, others 0)"),
    ] = None,
    gate_share: Annotated[
        Share | None,
        Help("share of these drafts that must be consistent, or the build stops (default: factchd_pipeline 0.95)"),
    ] = None,
    collecting: DatasetOptions,
    json: Annotated[bool, Help("print one JSON object instead of YAML")] = False,
) -> int:
    """Run `halu-tasks build dataset`."""
    require_extra("build", "halu-tasks build")
    from halu_tasks.builders.dataset_build import build

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


def collect(
    folder: Annotated[Path, Help("the folder of the build")],
    *,
    collecting: DatasetOptions,
    json: Annotated[bool, Help("print one JSON object instead of YAML")] = False,
) -> int:
    """Run `halu-tasks build collect`."""
    require_extra("build", "halu-tasks build collect")
    from halu_tasks.builders.folder import Folder

    return _collect(Folder(folder), collecting, json=json)


def _collect(folder: Folder, options: DatasetOptions, *, json: bool) -> int:
    from halu_tasks.builders import collect as collecting

    collection = collecting.collect(folder, **asdict(options))
    print_record({"folder": str(folder.path), **to_json(collection)}, as_json=json)
    collecting.check_items(folder, collection)
    if unfinished := collection.documents_not_done:
        warn(f"{unfinished} of {folder.plan.documents} documents are not in the dataset")
        return EXIT_PARTIAL
    return 0


def quality(
    folder: Annotated[Path, Help("the folder that `halu-tasks build` wrote to")],
    *,
    near: Annotated[
        Percent, Help("similarity in percent from which on two items are duplicates (100: equal items)")
    ] = 100.0,
    strict: Annotated[bool, Help("exit with status 1 if something is flagged")] = False,
    json: Annotated[bool, Help("print one JSON object instead of YAML")] = False,
) -> int:
    """Run `halu-tasks build quality`."""
    require_extra("build", "halu-tasks build quality")
    from halu_tasks.builders.folder import DATASET, Folder, read_items
    from halu_tasks.builders.quality import measure_quality

    build = Folder(folder)
    report = measure_quality(build.pipeline, read_items(build.path / DATASET), near=near)
    print_record(to_json(report), as_json=json)
    return 1 if strict and report.flagged else 0


def optimize(
    builder: Annotated[str, Help("haluagent, refact_pipeline, halluverse25_pipeline, …")],
    documents: Annotated[Path, Help("as for build; a sample of them is used")],
    *,
    output: Annotated[
        Output, Help("the folder of the prompts, rates and rejects; the same command continues what it contains")
    ],
    models: BuildModels,
    option: Annotated[BuilderOptions, Help("an option of the builder (language=en)")] = NOTHING,
    train: Annotated[Count, Help("number of documents whose rejected drafts the optimizer sees")] = 60,
    validation: Annotated[Count, Help("number of documents by which prompts are compared")] = 20,
    rounds: Annotated[Count, Help("maximum number of rounds")] = 5,
    candidates: Annotated[Count, Help("number of sets of prompts to try in a round")] = 3,
    json: Annotated[bool, Help("print one JSON object instead of a table")] = False,
) -> None:
    """Run `halu-tasks build optimize`."""
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
    ended = next((each.ended for each in optimization.rounds if each.ended), f"{rounds} rounds")
    prompts = optimization.prompts
    say(f"\nended: {ended}\nbest: {optimization.best.name}, in {prompts}; build with -T prompts={prompts}")


def _rates(optimization: Optimization) -> str:
    """Format the rates of each round's prompts, as in Table 3 of the paper (C-FAITH)."""
    tried = [(each.round, trial) for each in optimization.rounds for trial in each.tried if trial.name == each.chosen]
    best = {number: trial.validation for number, trial in tried}
    names = [name for name in best[0] if name != "kept"]
    return table(
        [
            {"iteration": number, **{n: f"{rates[n].share.value:.2%}" if n in rates else "" for n in names}}
            for number, rates in best.items()
        ]
    )


def biographies(
    *,
    output: Annotated[Output, Help("the folder of the documents; the same command continues what it contains")],
    contact: Annotated[str, "ADDRESS", Help("your e-mail address or web page; Wikimedia asks programs to name one")],
    number: Annotated[Count, Help("how many people")] = 500,
    language: Annotated[
        Sequence[str],
        "LANGUAGE",
        Help("a language of Wikipedia; everyone has an article in at least one (default: en, ar, tr)"),
    ] = (),
    profession: Annotated[str | None, "ITEM", Help("their profession, as an item of Wikidata (Q82955)")] = None,
    country: Annotated[str | None, "ITEM", Help("their country of citizenship, as an item of Wikidata (Q43)")] = None,
    born: Annotated[str | None, "YEARS", Help("their years of birth (1900..1949)")] = None,
    seed: Annotated[int, Help("seed of the sample")] = 0,
    json: Annotated[bool, Help("print one JSON object instead of a table")] = False,
) -> int:
    """Run `halu-tasks build biographies`."""
    from halu_tasks.builders.biographies import PeopleQuery, fetch_biographies

    languages = list(language) or ["en", "ar", "tr"]
    query = PeopleQuery(
        number=number, languages=languages, profession=profession, country=country, born=born, seed=seed
    )
    fetched = fetch_biographies(output, contact, progress, query)
    print_record(to_json(fetched), as_json=json)
    if missing := number - fetched.people:
        warn(f"{missing:,} fewer people than requested")
        return EXIT_PARTIAL
    return 0


def options(builder: Annotated[str | None, Help("the builder (default: all)")] = None) -> None:
    """Run `halu-tasks build options`."""
    from halu_tasks.builders.pipeline import pipeline_class, pipelines
    from halu_tasks.core.settings import settings_of
    from halu_tasks.runs.child_process import as_yaml

    for name, cls in (pipelines() if builder is None else {builder: pipeline_class(builder)}).items():
        say(f"{name}: {cls.about}")
        for setting in settings_of(cls).values():
            value = setting.default
            default = "" if value is None else f"{value:g}" if isinstance(value, float) else as_yaml(value)
            say(f"  -T {setting.name}={default}: {setting.about}")


def label_items(
    folder: Annotated[Path, Help("the folder that `halu-tasks build` wrote to")],
    *,
    output: Annotated[
        Path, "-o", "--output", "LABELS", Help("where to write: JSON Lines if it ends in .jsonl, otherwise CSV")
    ],
    sample: Annotated[Count | None, Help("only export a sample of N items")] = None,
    seed: Annotated[int, Help("seed of the sample and of the order")] = 0,
) -> None:
    """Run `halu-tasks label items`."""
    from halu_tasks.builders.annotation import export_items
    from halu_tasks.builders.folder import Folder

    count = export_items(Folder(folder), output, sample, seed)
    say(f"{count:,} rows to label in {output}, with guidelines in a file next to it")


def import_items(
    folder: Annotated[Path, Help("the folder that the items were exported from")],
    annotations: Annotated[
        Sequence[Path], "LABELS", Help("labelled rows, a file for each annotator or with their names in 'by'")
    ],
    *,
    rule: Annotated[
        Literal["majority", "two"],
        Help("an item's label is that of more than half, or one that two annotators give and no other as often"),
    ] = "majority",
    least: Annotated[Count, Help("minimum number of labels of an item")] = 2,
    output: Annotated[Path | None, "-o", "--output", "FOLDER", Help("a new folder for the items that are kept")] = None,
    json: Annotated[bool, Help("print one JSON object instead of YAML")] = False,
) -> None:
    """Run `halu-tasks label import`."""
    from halu_tasks.builders.collect import import_labels
    from halu_tasks.builders.folder import Folder

    annotation = import_labels(Folder(folder), annotations, rule, least, output)
    print_record(to_json(annotation), as_json=json)
    if not json:
        say(f"\nwritten to {output}" if output else "\nnothing was written; to keep the items, name a folder with -o")
