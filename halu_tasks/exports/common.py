"""What every export needs: models under their public names, the figures of a run, and files that replace no others."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from halu_tasks.core.errors import DataError, HaluTasksError, UsageError, did_you_mean
from halu_tasks.core.files import atomic_path, create_folder
from halu_tasks.core.items import Reply
from halu_tasks.data.hub import SCHEME, HubAddress
from halu_tasks.replies.reply_scorer import ReplyScorer
from halu_tasks.results.comparability import Entry
from halu_tasks.results.read import read_and_warn
from halu_tasks.results.run import Run
from halu_tasks.scorers.columns import Columns
from halu_tasks.scorers.metrics import Estimate, Metric, estimates

T = TypeVar("T")
Warn = Callable[[str], None]
"""Prints a message for the user."""

NO_ORGANIZATION = "unknown"
"""The folder of models whose organization is not known."""

# Inspect's names for programs that serve a model of the Hub; the model's own name follows
_LOCAL_PROVIDERS = ("hf", "vllm", "sglang")
# Inspect's name for any server that speaks the OpenAI protocol
_COMPATIBLE = "openai-api"
# how the names of this package's embedded models begin
_EMBEDDED = "halu-"
# how names of predictions end, of which it is not known which model gave them
_FILES = (".jsonl", ".json", ".csv", ".parquet", ".xlsx", "/")
# a part of an id, which can be the name of a folder on every system
_PART = re.compile(r"\w([\w.-]*\w)?")


def without_provider(name: str) -> str:
    """Return a model's own name, by which a server or the Hub knows it, without the provider that reached it."""
    provider, _, rest = name.partition("/")
    if provider == _COMPATIBLE:
        # a name of the user's choice for the server comes first
        return rest.partition("/")[2] or rest
    return rest if provider in _LOCAL_PROVIDERS and "/" in rest else name


def organization_of(model_id: str) -> str:
    """Return the organization that made a model; empty if the id does not say."""
    organization, slash, _ = model_id.partition("/")
    return organization if slash else "halu-tasks" if model_id.startswith(_EMBEDDED) else ""


# --- runs -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublicRun:
    """A run as it is published.

    Attributes:
        run: The run.
        ids: The ids of models by their name in the results, as the user gives them.
    """

    run: Run
    ids: Mapping[str, str]

    def id_of(self, name: str) -> str:
        """Return the id of a model by its name in results, `ORGANIZATION/NAME` if the organization is known."""
        bare_name = without_provider(name)
        return self.ids.get(name) or self.ids.get(bare_name, bare_name)

    @cached_property
    def model(self) -> str:
        """The id of the model under test.

        Raises:
            DataError: The results do not say which model it is, or not by an id.
        """
        name = self.run.model
        model = self.id_of(name)
        if name not in self.ids and name.endswith(_FILES):
            raise DataError(
                f"the results do not say which model replied; name it with --model-id '{name}=ORGANIZATION/NAME'"
            )
        if not all(_PART.fullmatch(part) for part in model.split("/")):
            raise DataError(
                f"model {model!r} is not an id such as ORGANIZATION/NAME; name it with --model-id "
                f"'{model}=ORGANIZATION/NAME'"
            )
        return model

    @property
    def folders(self) -> str:
        """The folders of the model's results, `ORGANIZATION/NAME`."""
        parts = self.model.split("/")
        return "/".join((organization_of(self.model) or NO_ORGANIZATION, "_".join(parts[1:] or parts)))

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """The metrics of the run's task and mode by name, the headline first."""
        return self.run.metrics()

    @cached_property
    def figures(self) -> Mapping[str, Estimate]:
        """The figures of the run by metric, the headline first.

        Raises:
            DataError: The run has none.
        """
        if not self.run.figures:
            raise DataError("has no figures, since none of its metrics is defined")
        return self.run.figures

    @cached_property
    def judged(self) -> set[str]:
        """The names of the figures that rest on verdicts of a judge."""
        run, task = self.run, self.run.benchmark_task
        if not (task.judge_spec and run.judge):
            return set()
        scorer = ReplyScorer(task, run.scoring, asks_confidence=run.asked["confidence"])
        scores = [scorer.score(answered.item, Reply(answered.reply)) for answered in run.answers]
        return self.figures.keys() - estimates(self.metrics.values(), scores).keys()

    def direction(self, name: str) -> str:
        """Return which values of a metric are better: `higher`, `lower` or `neither`."""
        return {True: "higher", False: "lower", None: "neither"}[self.metrics[name].higher_is_better]

    def counts(self, name: str) -> tuple[int, int]:
        """Return of how many replies, in how many clusters, a figure is: those with its tag, and with a value."""
        metric = self.metrics[name]
        tag, value = metric.within[0] if metric.within else ("", None)
        scores = [score for score in self.run.scores if score.tags.get(tag) == value]
        if metric.item:
            values = metric.of_items(Columns.of(scores))
            scores = [score for score, value in zip(scores, values, strict=True) if not math.isnan(value)]
        return len(scores), len({score.cluster for score in scores})

    @cached_property
    def values(self) -> Mapping[str, Sequence[float]]:
        """The value of each reply by metric, NaN if it has none; those of a part of the items are left out."""
        columns = Columns.of(self.run.scores)
        metrics = (metric for metric in self.metrics.values() if metric.item and not metric.within)
        return {metric.name: metric.of_items(columns) for metric in metrics}

    @property
    def data_on_hub(self) -> HubAddress | None:
        """The dataset of the Hub that was read; None if the data are from elsewhere."""
        provenance, source = self.run.provenance, self.run.benchmark_task.data.source
        if provenance.data_file.startswith(SCHEME):
            return HubAddress.parse(provenance.data_file)
        if provenance.data == "pinned" and source.hub_dataset:
            return HubAddress(source.hub_dataset, source.revision, provenance.data_file)
        return None


# --- reading and writing -----------------------------------------------------------------------------


def read_public(paths: Sequence[str], models: Mapping[str, str], warn: Warn) -> tuple[list[PublicRun], bool]:
    """Read the latest run of each entry under each condition.

    Args:
        paths: Results, or folders that contain some.
        models: The ids of models by their name in the results.
        warn: Called with a message for each result that is not exported.

    Returns:
        The runs, and whether results could not be read.

    Raises:
        DataError: There are no results.
        UsageError: A name in `models` is not in the results.
    """
    results = read_and_warn(paths, warn)
    names = {name for run in results.runs for name in (run.model, *([run.judge] if run.judge else []))}
    all_names = names | {without_provider(name) for name in names}
    for name in models:
        if name not in all_names:
            raise UsageError(
                f"--model-id: no result is of a model {name!r}{did_you_mean(name, all_names)}; models: "
                f"{', '.join(sorted(all_names))}"
            )

    def key(run: Run) -> tuple[object, ...]:
        return run.condition, run.items_hash, run.targets_hash, Entry.of(run)

    latest = {key(run): run for run in results.runs}
    if replaced := [run for run in results.runs if run is not latest[key(run)]]:
        number = "1 run" if len(replaced) == 1 else f"{len(replaced):,} runs"
        why = "replaced by later ones of the same model and conditions"
        warn(f"not exported: {number} {why}: {_sources(replaced)}")
    return [PublicRun(run, models) for run in latest.values()], any(skipped.lost for skipped in results.skipped)


def each(runs: Sequence[PublicRun], act: Callable[[PublicRun], T], warn: Warn) -> tuple[list[T], bool]:
    """Do something with each run.

    Warns of failures, once for all tasks of a model that have the same error; of many replies without an answer; and,
    once each, of models whose organization is not known.

    Returns:
        What was done with the runs that did not fail, and whether there were failures.

    Raises:
        DataError: All failed.
    """
    results: list[T] = []
    failures: dict[tuple[str, str], list[Run]] = {}
    unknown: dict[str, None] = {}
    for one in runs:
        try:
            results.append(act(one))
        except HaluTasksError as error:
            failures.setdefault((one.run.model, str(error)), []).append(one.run)
            continue
        for share, meaning in one.run.reply_warnings:
            warn(f"{one.run.model}, {one.run.task}: {share} {meaning}")
        if not organization_of(one.model):
            unknown[without_provider(one.run.model)] = None
    for (_, message), of_model in failures.items():
        tasks = ", ".join(dict.fromkeys(run.task for run in of_model))
        warn(f"not exported: {_sources(of_model)}: {tasks}: {message}")
    for name in unknown:
        warn(
            f"model {name}: the results do not say which organization made it, so it is exported as "
            f"{NO_ORGANIZATION}; name it with --model-id '{name}=ORGANIZATION/NAME' (and another folder with -o)"
        )
    if not results:
        raise DataError("no result was exported")
    return results, bool(failures)


def _sources(runs: Sequence[Run]) -> str:
    first, *others = dict.fromkeys(run.source for run in runs)
    return f"{first} and {len(others):,} more" if others else first


def write_new(contents: Mapping[Path, bytes]) -> None:
    """Write files, in order, unless one of them exists and differs.

    Raises:
        DataError: One of them does, in which case none is written; or a file cannot be written.
    """
    for path, content in contents.items():
        if path.exists() and not (path.is_file() and path.read_bytes() == content):
            raise DataError(f"{path}: exists and differs; choose another folder with -o, or remove the file")
    for path, content in contents.items():
        create_folder(path.parent)
        with atomic_path(path) as partial:
            partial.write_bytes(content)
