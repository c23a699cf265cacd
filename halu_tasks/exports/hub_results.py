"""Results as community evals of the Hugging Face Hub.

A community eval, `.eval_results/*.yaml`, has a place for a value and for the dataset that it was measured on. It has
none for a direction, and leaderboards show higher values first, so the value is that of a metric of which higher values
are better. Everything else stands in the entry's notes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.exports.common import PublicRun, Warn, each, read_public, write_new
from halu_tasks.scorers.answer import EMPTY, UNPARSED

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

_REVISION = re.compile(r"[0-9a-f]{40}")


def export_hub(
    paths: Sequence[str],
    folder: Path,
    models: Mapping[str, str],
    warn: Warn,
    *,
    datasets: Mapping[str, str],
    source: str | None,
    partial: bool,
) -> tuple[list[Path], bool]:
    """Write results as community evals.

    Args:
        paths: Results, or folders that contain some.
        folder: Where to write, created if necessary.
        models: The ids of models by their name in the results.
        warn: Called with a message for each result that is not exported, or lacks something.
        datasets: The datasets of the Hub with the leaderboards, `OWNER/NAME`, by benchmark.
        source: An address where the results are published in full, if there is one.
        partial: Whether to export results on a part of the items.

    Returns:
        The files, and whether results could not be read or exported.

    Raises:
        DataError: There are no results, or none can be exported.
        UsageError: A name in `models` is not in the results, or `datasets` lacks one of their benchmarks.
    """
    runs, unread = read_public(paths, models, warn)

    def dataset(public: PublicRun) -> str | None:
        named = datasets.get(public.run.benchmark_task.benchmark)
        return named or (public.data_on_hub.repository if public.data_on_hub else None)

    if lacking := [one.run for one in runs if one.run.provenance.data != "sample" and not dataset(one)]:
        flags = " ".join(dict.fromkeys(f"--dataset {run.benchmark_task.benchmark}=OWNER/NAME" for run in lacking))
        raise UsageError(f"data that are not from the Hub need the name of the dataset with the leaderboard: {flags}")

    def entry(public: PublicRun) -> tuple[Path, EvalResultEntry]:
        _check_publishable(public, partial=partial)
        path = folder / "models" / public.folders / ".eval_results" / f"{public.run.task}.yaml"
        return path, _entry(public, str(dataset(public)), source)

    entries, failed = each(runs, entry, warn)
    by_file: dict[Path, list[EvalResultEntry]] = {}
    for place, one in entries:
        by_file.setdefault(place, []).append(one)
    write_new({place: _as_yaml(own) for place, own in by_file.items()})
    return list(by_file), unread or failed


def _check_publishable(public: PublicRun, *, partial: bool) -> None:
    run = public.run
    if run.provenance.data == "sample":
        raise DataError("is a result on the packaged sample, which does not belong in a leaderboard")
    if len(run.scores) < run.expected_replies and not partial:
        raise DataError(
            f"has {len(run.scores):,} of {run.expected_replies:,} replies; to export it anyway, with these "
            "numbers in its notes, add --partial"
        )


def _entry(public: PublicRun, dataset: str, source: str | None) -> EvalResultEntry:
    from huggingface_hub import EvalResultEntry

    run, address = public.run, public.data_on_hub
    candidates = [name for name in (next(iter(public.metrics)), "acc") if name in public.figures]
    metric = next((name for name in candidates if public.direction(name) == "higher"), None)
    if metric is None:
        needs = " without a judge" if run.benchmark_task.judge_spec and not run.judge else ""
        raise DataError(f"has no figure{needs} of which higher values are better")
    # a branch or tag is no revision that stays
    revision = address.revision if address and address.repository == dataset else None
    return EvalResultEntry(
        dataset_id=dataset,
        task_id=run.task,
        value=public.figures[metric].value,
        dataset_revision=revision if revision and _REVISION.fullmatch(revision) else None,
        date=run.completed or run.created,
        source_url=source,
        notes=_notes(public, metric),
    )


def _notes(public: PublicRun, metric: str) -> str:
    """Return what an entry has no other place for, as `name=value` separated by semicolons."""
    run, provenance = public.run, public.run.provenance
    n, clusters = public.counts(metric)
    of = f"{n} of {run.expected_replies}" if len(run.scores) < run.expected_replies else n
    notes: dict[str, Any] = {"metric": metric, **_figure_notes("", public, metric), "n": of, "clusters": clusters}
    notes |= {name: count / len(run.scores) for name, count in run.outcomes.items() if name in (UNPARSED, EMPTY)}
    headline = next(iter(public.metrics))
    if headline != metric and headline in public.figures:
        notes |= {"headline": headline, "headline_value": public.figures[headline].value}
        notes |= _figure_notes("headline_", public, headline)
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
    return "; ".join(f"{name}={_text(value)}" for name, value in notes.items() if value not in (None, ""))


def _figure_notes(prefix: str, public: PublicRun, metric: str) -> dict[str, Any]:
    estimate = public.figures[metric]
    interval = None if estimate.low is None else f"{estimate.low!r}..{estimate.high!r}"
    values = {"better": public.direction(metric), "interval95": interval, "stderr": estimate.stderr}
    return {f"{prefix}{name}": value for name, value in values.items()}


def _text(value: Any) -> str:
    """Format a value on one line without a semicolon: a string as it is if it can be, anything else as JSON."""
    plain = isinstance(value, str) and value.isprintable() and ";" not in value and value[:1] not in ('"', "{", "[")
    return value if plain else json.dumps(value, sort_keys=True, default=str).replace(";", "\\u003b")


def _as_yaml(entries: Sequence[EvalResultEntry]) -> bytes:
    from huggingface_hub import eval_result_entries_to_yaml

    content = eval_result_entries_to_yaml(list(entries))
    return bytes(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1_000_000, encoding="utf-8"))
