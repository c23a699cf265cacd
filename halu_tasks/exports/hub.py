"""The Hugging Face Hub: results as community evals, and a built dataset as a benchmark.

A community eval, `.eval_results/*.yaml`, has a place for a value and for the dataset that it was measured on. It has
none for a direction, and leaderboards show higher values first, so the value is that of a metric of which higher values
are better. Everything else stands in the entry's notes.

The Hub runs a benchmark, `eval.yaml`, with Inspect's own solvers and scorers, and knows none of another package. So
each task is written as rows with the whole prompt and the right reply, and scored by whether the first label in a reply
is the right one. Only tasks whose replies are labels can be scored so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from halu_tasks.builders.card import CARD, tasks_on
from halu_tasks.builders.folder import DATASET, Folder, build_folder, dataset_rows
from halu_tasks.core.errors import DataError, HaluTasksError
from halu_tasks.core.files import json_line
from halu_tasks.core.options import Options
from halu_tasks.exports.common import (
    PublicRun,
    Warn,
    each,
    read_public,
    write_new,
)
from halu_tasks.scorers.answer import EMPTY, UNPARSED
from halu_tasks.scorers.kinds import Label
from halu_tasks.tasks import Evaluation, build, task_named

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

EVAL = "eval.yaml"
FRAMEWORK = "inspect-ai"
"""The one framework of the Hub's list that runs tasks like these."""
_FRONT = re.compile(r"---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
_REVISION = re.compile(r"[0-9a-f]{40}")


def export_hub(
    paths: Sequence[str],
    folder: Path,
    models: Mapping[str, str],
    warn: Warn,
    *,
    datasets: Mapping[str, str] | None = None,
    source: str | None = None,
    partial: bool = False,
) -> tuple[list[Path], bool]:
    """Write results as community evals, and the datasets of builds as benchmarks.

    Args:
        paths: Results, folders that contain some, and folders of builds.
        folder: Where to write, created if necessary.
        models: The ids of models by their name in the results.
        warn: Called with a message for each result that is not exported, or lacks something.
        datasets: The datasets of the Hub with the leaderboards, `OWNER/NAME`, by benchmark.
        source: An address where the results are published in full.
        partial: Whether to export results on a part of the items.

    Returns:
        The files, and whether results could not be read or exported.

    Raises:
        DataError: There are no results, or none can be exported.
        UsageError: A name in `models` is not in the results.
    """
    builds = {path: build for path in paths if (build := build_folder(Path(path).expanduser()))}
    files, incomplete = [], False
    for path, build_path in builds.items():
        try:
            file, left_out = write_benchmark(build_path, folder / "datasets" / build_path.resolve().name)
        except HaluTasksError as error:
            incomplete = True
            warn(f"not exported: {path}: {str(error).removeprefix(f'{build_path}: ')}")
        else:
            files.append(file)
            for reason in left_out:
                warn(f"{file}: lacks {reason}")
    results = [path for path in paths if path not in builds]
    if not results:
        if not files:
            raise DataError("no result was exported")
        return files, incomplete
    runs, unread = read_public(results, models, warn)

    def entry(public: PublicRun) -> tuple[Path, EvalResultEntry]:
        _check_publishable(public, partial=partial)
        path = folder / "models" / public.folders / ".eval_results" / f"{public.run.task}.yaml"
        return path, _entry(public, datasets or {}, source)

    entries, failed = each(runs, entry, warn)
    by_file: dict[Path, list[EvalResultEntry]] = {}
    for place, one in entries:
        by_file.setdefault(place, []).append(one)
    write_new({place: _entries_yaml(own) for place, own in by_file.items()})
    return [*files, *by_file], incomplete or unread or failed


# --- community evals --------------------------------------------------------------------------------


def _check_publishable(public: PublicRun, *, partial: bool) -> None:
    """Check that a run belongs in a leaderboard.

    Raises:
        DataError: It does not.
    """
    run = public.run
    if run.provenance.data == "sample":
        raise DataError("is a result on the packaged sample, not on the benchmark, so it belongs in no leaderboard")
    if len(run.scores) < run.expected_replies and not partial:
        raise DataError(
            f"has {len(run.scores):,} of {run.expected_replies:,} replies; to export it all the same, with these "
            "numbers in its notes, add --partial"
        )


def _entry(public: PublicRun, datasets: Mapping[str, str], source: str | None) -> EvalResultEntry:
    """Return the entry of a run.

    Raises:
        DataError: It has no figure of which higher values are better, or its dataset is not known.
    """
    from huggingface_hub import EvalResultEntry

    run, address = public.run, public.data_on_hub
    benchmark = run.benchmark_task.benchmark
    dataset = datasets.get(benchmark) or (address.repository if address else None)
    if dataset is None:
        raise DataError(
            f"its data are not from the Hub; name the dataset with the leaderboard: --dataset {benchmark}=OWNER/NAME"
        )
    candidates = [name for name in (next(iter(public.metrics)), "acc") if name in public.figures]
    metric = next((name for name in candidates if public.direction(name) == "higher"), None)
    if metric is None:
        needs = " without a judge" if run.benchmark_task.judged and not run.judge else ""
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


def _entries_yaml(entries: Sequence[EvalResultEntry]) -> bytes:
    from huggingface_hub import eval_result_entries_to_yaml

    return _yaml(eval_result_entries_to_yaml(list(entries)), width=1_000_000)


def _yaml(content: Any, width: int = 120) -> bytes:
    return bytes(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=width, encoding="utf-8"))


# --- benchmarks -------------------------------------------------------------------------------------


def write_benchmark(path: Path, place: Path) -> tuple[Path, Sequence[str]]:
    """Write the dataset of a build with its `eval.yaml`, as a folder to upload.

    Args:
        path: The folder of the build.
        place: The folder to write, created if necessary.

    Returns:
        The `eval.yaml`, and why each of the other tasks on the dataset is not in it.

    Raises:
        DataError: There is no dataset, no task can be written, or another file is in the way.
    """
    folder = Folder(path)
    dataset = folder.path / DATASET
    if not (dataset / CARD).is_file():
        raise DataError(f"{path}: has no dataset with a card; make it with: halu-tasks build collect {path}")
    tasks, left_out = [], []
    rows: dict[Path, bytes] = {}
    configs = []
    for name in tasks_on(folder.pipeline.benchmark, dataset_rows(dataset)):
        if task_named(name).prompts.shots:
            left_out.append(f"{name}: its worked examples have no place in eval.yaml")
            continue
        evaluation = build(task_named(name), Options(data=str(dataset)))
        targets = _targets(evaluation)
        if not targets:
            left_out.append(f"{name}: its replies are not one of a few labels")
            continue
        tasks.append(_task(evaluation, targets))
        file = f"tasks/{name}.jsonl"
        lines = [
            {"id": item.id, "system": item.system, "prompt": item.prompt, "target": target}
            for item, target in zip(evaluation.items, targets, strict=True)
        ]
        rows[place / file] = "".join(json_line(line) + "\n" for line in lines).encode()
        configs.append({"config_name": name, "data_files": [{"split": "test", "path": file}]})
    if not tasks:
        raise DataError(f"{path}: no task on this dataset can be run on the Hub ({'; '.join(left_out) or 'none'})")
    card = (dataset / CARD).read_text(encoding="utf-8")
    match = _FRONT.match(card)
    front = dict(yaml.safe_load(match[1])) if match else {}
    names = ", ".join(task["id"] for task in tasks)
    about = (
        "Items generated by models and checked by others, see the card. Scored here by the first label in a reply; "
        f"halu-tasks reads replies more carefully and gives intervals. Tasks: {names}."
    )
    content = {"name": front.get("pretty_name", "halu-tasks"), "description": about, "evaluation_framework": FRAMEWORK}
    # the rows of the tasks are configurations of the dataset
    front["configs"] = [*front.get("configs", []), *configs]
    others = [file for file in sorted(dataset.iterdir()) if file.is_file() and file.name != CARD]
    write_new(
        {place / file.name: file.read_bytes() for file in others}
        | rows
        | {place / CARD: b"---\n" + _yaml(front) + b"---\n" + _FRONT.sub("", card, count=1).encode()}
        | {place / EVAL: _yaml(content | {"tasks": tasks})}
    )
    return place / EVAL, left_out


def _targets(evaluation: Evaluation) -> list[str]:
    """Return the right reply to each item, one of a few labels; empty if replies are something else."""
    if not isinstance(evaluation.task.rules.answer, Label):
        return []
    replies = [evaluation.task.prompts.oracle(item) for item in evaluation.items]
    if len(set(replies)) <= len(evaluation.task.rules.answer.labels):
        return replies
    # a label that something else follows, such as an explanation
    targets = [item.target for item in evaluation.items]
    first = [re.search(_pattern(targets), reply) for reply in replies]
    return targets if [match and match[1] for match in first] == targets else []


def _pattern(targets: Sequence[str]) -> str:
    """Return the pattern of the first label in a reply."""
    labels = sorted(set(targets), key=lambda label: (-len(label), label))
    return rf"(?<!\w)({'|'.join(map(re.escape, labels))})(?!\w)"


def _task(evaluation: Evaluation, targets: Sequence[str]) -> dict[str, Any]:
    task, decoding = evaluation.task, evaluation.task.prompts.decoding
    systems = {item.system for item in evaluation.items}
    if len(systems) > 1:
        raise DataError(f"{task.name}: its items have different system texts")
    settings: dict[str, Any] = {"max_tokens": decoding.max_tokens, "temperature": decoding.temperature}
    settings |= {} if decoding.top_p is None else {"top_p": decoding.top_p}
    # the solver fills in what stands between braces
    templates = [text.replace("{", "{{").replace("}", "}}") for text in systems if text]
    system = [{"name": "system_message", "args": {"template": template}} for template in templates]
    return {
        "id": task.name,
        "config": task.name,
        "split": "test",
        "field_spec": {"input": "prompt", "target": "target"},
        "solvers": [*system, {"name": "generate", "args": settings}],
        "scorers": [{"name": "pattern", "args": {"pattern": _pattern(targets)}}],
    }
