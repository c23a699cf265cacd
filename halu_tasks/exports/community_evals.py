"""Results as community evals of the Hugging Face hub: `.eval_results/*.yaml`, one value an entry.

The format has a place for a value and for the dataset that it was measured on. It has none for a direction, and
leaderboards show higher values first, so the value is that of a metric of which higher values are better. Everything
else stands in the entry's notes, which `notes_of` writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from halu_tasks.core.errors import DataError
from halu_tasks.exports.exported import Exported, RunFigure, write_new
from halu_tasks.results.run import Run
from halu_tasks.scorers.answer import Outcome

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

_REVISION = re.compile(r"[0-9a-f]{40}")
_SEPARATOR = "; "


@dataclass(frozen=True)
class Target:
    """Where results belong.

    Attributes:
        datasets: The datasets of the Hub with the leaderboards, `OWNER/NAME`, by benchmark.
        source: An address where the results are published in full; None if there is none.
    """

    datasets: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None


def check_publishable(run: Run, *, partial: bool) -> None:
    """Check that a run belongs in a leaderboard.

    Args:
        run: The run.
        partial: Whether it may be of a part of the items.

    Raises:
        DataError: It does not.
    """
    if run.provenance.data == "sample":
        raise DataError("is a result on the packaged sample, not on the benchmark, so it belongs in no leaderboard")
    if _is_partial(run) and not partial:
        raise DataError(
            f"has {len(run.scores):,} of {run.expected_replies:,} replies; to export it all the same, with these "
            "numbers in its notes, add --partial"
        )


def _is_partial(run: Run) -> bool:
    return len(run.scores) < run.expected_replies


def entry_of(exported: Exported, target: Target) -> EvalResultEntry:
    """Return the entry of a run.

    Raises:
        DataError: It has no figure of which higher values are better, or its dataset is not known.
    """
    from huggingface_hub import EvalResultEntry

    run = exported.run
    benchmark = run.benchmark_task.benchmark
    address = exported.data_on_hub
    dataset = target.datasets.get(benchmark) or (address.repository if address else None)
    if dataset is None:
        raise DataError(
            f"its data are not from the Hub; name the dataset with the leaderboard: --dataset {benchmark}=OWNER/NAME"
        )
    figure = _figure(exported)
    # a branch or tag is no revision that stays
    revision = address.revision if address and address.repository == dataset else None
    return EvalResultEntry(
        dataset_id=dataset,
        task_id=run.task,
        value=figure.estimate.value,
        dataset_revision=revision if revision and _REVISION.fullmatch(revision) else None,
        date=run.completed or run.created,
        source_url=target.source,
        notes=notes_of(exported, figure),
    )


def _figure(exported: Exported) -> RunFigure:
    """Return the headline if higher values of it are better, otherwise `acc`."""
    figures = exported.figures
    headline = figures.get(next(iter(exported.metrics)))
    for figure in (headline, figures.get("acc")):
        if figure and figure.direction == "higher":
            return figure
    needs = " without a judge" if exported.run.benchmark_task.judged and not exported.run.judge else ""
    raise DataError(f"has no figure{needs} of which higher values are better")


def notes_of(exported: Exported, figure: RunFigure) -> str:
    """Return what an entry has no other place for, as `name=value` separated by semicolons."""
    run, provenance = exported.run, exported.run.provenance
    headline = exported.figures.get(next(iter(exported.metrics)))
    n = f"{figure.replies} of {run.expected_replies}" if _is_partial(run) else figure.replies
    notes: dict[str, Any] = {**_figure_notes("metric", figure), "n": n, "clusters": figure.clusters}
    without_answer: Sequence[Outcome] = ("unparsed", "empty")
    notes |= {name: run.outcomes[name] / len(run.scores) for name in without_answer if run.outcomes.get(name)}
    if headline and headline.metric.name != figure.metric.name:
        notes |= _figure_notes("headline", headline)
    notes |= {
        "version": run.version,
        "scoring": run.scoring,
        "judge": run.judge,
        "prompt": provenance.prompt_hash,
        "data": provenance.data,
        "data_sha256": provenance.data_sha256,
        "method": run.method,
        "settings": dict(run.settings) or None,
        "harness": run.harness,
    }
    return _SEPARATOR.join(f"{name}={_text(value)}" for name, value in notes.items() if value not in (None, ""))


def _figure_notes(prefix: str, figure: RunFigure) -> dict[str, Any]:
    estimate = figure.estimate
    notes: dict[str, Any] = {prefix: figure.metric.name}
    if prefix != "metric":
        notes[f"{prefix}_value"] = estimate.value
    dash = "" if prefix == "metric" else f"{prefix}_"
    interval = None if estimate.low is None else f"{estimate.low!r}..{estimate.high!r}"
    return notes | {
        f"{dash}better": figure.direction,
        f"{dash}interval95": interval,
        f"{dash}stderr": estimate.stderr,
    }


def _text(value: Any) -> str:
    """Format a value on one line without a semicolon: a string as it is if it can be, anything else as JSON."""
    plain = isinstance(value, str) and value.isprintable() and ";" not in value and value[:1] not in ('"', "{", "[")
    return value if plain else json.dumps(value, sort_keys=True, default=str).replace(";", "\\u003b")


def write_entries(path: Path, entries: Sequence[EvalResultEntry]) -> None:
    """Write the entries of one file.

    Raises:
        DataError: There is another file, or it cannot be written.
    """
    from huggingface_hub import eval_result_entries_to_yaml

    content = eval_result_entries_to_yaml(list(entries))
    write_new({path: yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1_000_000)})
