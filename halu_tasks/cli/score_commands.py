"""`score`: the figures of replies from any source, and how far several sets of replies agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from halu_tasks.cli.command import ExecutorOptions, ReplyOptions
from halu_tasks.cli.output import EXIT_PARTIAL, pluralize, print_json, print_record, progress, say, table, warn
from halu_tasks.cli.task_commands import of_task
from halu_tasks.core.errors import UsageError
from halu_tasks.core.settings import Help
from halu_tasks.text.number_format import format_estimate, format_interval

if TYPE_CHECKING:
    from halu_tasks.replies.score_file import ScoredFile
    from halu_tasks.scorers.metrics import Estimate
    from halu_tasks.tasks.human_baseline import AnnotatorComparison


def score(
    task: Annotated[
        str,
        Help(
            "a task or group from `halu-tasks list`, the path of a task or group file (.yaml), or a "
            "folder of task files"
        ),
    ],
    predictions: Annotated[
        Sequence[str],
        Help(
            'rows of {"id": …, "output": …}, or with a detector\'s "spans" or "probability": JSON '
            "Lines, a JSON array, .parquet, .csv or .xlsx; one or more files, or folders of them; for"
            " several tasks, a folder in which each has a file or folder with its name"
        ),
    ],
    *,
    options: ReplyOptions,
    id_field: Annotated[str, "NAME", Help("the field or column that contains the item's id")] = "id",
    output_field: Annotated[str, "NAME", Help("the field or column that contains the reply")] = "output",
    partial: Annotated[
        bool,
        Help(
            "only score the ids in the file; of several raters, those in every file; of several "
            "tasks, those with a file"
        ),
    ] = False,
    agreement: Annotated[
        bool, Help("print how far the labels in several files agree, each file being a rater: kappas, alpha and shares")
    ] = False,
    gold: Annotated[bool, Help("the same, with the gold labels as another rater")] = False,
    model: Annotated[str | None, "NAME", Help("the model that gave the replies, for a report")] = None,
    details: Annotated[
        str | None,
        "OUT",
        Help("write how each item was read and scored, as JSON Lines; for several tasks, a folder of such files"),
    ] = None,
    work_folder: Annotated[
        Path | None,
        "FOLDER",
        Help("keep finished parts in FOLDER; the same command continues there if it was interrupted"),
    ] = None,
    executor: ExecutorOptions,
    json: Annotated[bool, Help("print one JSON object instead of a table")] = False,
) -> int:
    """Run `halu-tasks score`."""
    from halu_tasks.replies.score_file import ScoredTasks, score_file, score_tasks
    from halu_tasks.tasks.task_registry import several_at

    several = several_at(task)
    if several and (agreement or gold):
        raise UsageError(f"{task} stands for several tasks; --agreement and --gold are about one")
    options = options if several else of_task(task, options)
    fields = {"id_field": id_field, "output_field": output_field}
    if agreement or gold:
        from halu_tasks.replies.reply_agreement import measure_agreement

        return _print_agreement(
            *measure_agreement(task, options, predictions, **fields, partial=partial, gold=gold), json=json
        )
    if executor.executor != "local" and work_folder is None:
        raise UsageError(f"--executor {executor.executor} needs --work-folder, a folder that all machines share")
    report = progress if executor != ExecutorOptions() else lambda line: None
    settings: dict[str, Any] = {**fields, "partial": partial, "model": model, "details": details, "folder": work_folder}
    settings |= {"executor": executor.create(), "report": report}
    if several:
        scored = score_tasks(task, options, predictions, **settings)
    else:
        scored = ScoredTasks({task: score_file(task, options, predictions, **settings)}, None, {}, "")
    files = scored.tasks.values()
    for warning in filter(None, [scored.lacking, *(warning for one in files for warning in one.warnings)]):
        warn(warning)
    if json:
        print_json(scored.as_json() if several else scored.tasks[task].as_json())
    else:
        for one in files:
            _print_figures(one)
            if several:
                say("")
        if group := scored.group:
            say(f"{group.name} {group.version}  means over {pluralize(len(group.tasks), 'task', 'tasks')}\n")
            say(table(_rows(scored.means)) or "none: a task has no replies, or no such figure")
    return EXIT_PARTIAL if scored.lacking or any(one.missing for one in files) else 0


def _print_figures(scored: ScoredFile) -> None:
    evaluation = scored.evaluation
    partial = " (partial: only the ids in the file)" if scored.run["partial"] else ""
    epochs = f", {scored.epochs} epochs" if scored.epochs > 1 else ""
    items = f"{pluralize(scored.scored_items, 'item', 'items')}{epochs}{partial}"
    items += f", {scored.missing:,} {'predictions missing' if epochs else 'without a prediction'}"
    mode, data = evaluation.options.scoring, evaluation.located.kind
    say(f"{evaluation.task.name} {evaluation.version}  scoring: {mode}  data: {data}  {items}")
    say(f"\n{table(_rows(scored.estimates))}")
    for reply, figures in scored.references.items():
        for metric, value in figures.items():
            say(f"for comparison, {metric} of {reply}: {value:.4f}")
    if scored.people:
        _print_people(scored.people)
    if scored.note:
        say(f"note: {scored.evaluation.task.name}: {scored.note}")


def _print_people(beside: AnnotatorComparison) -> None:
    people = beside.people
    say(f"\n{people.about}; Krippendorff's alpha {format_estimate(people.alpha, '.4f')}")
    rows = [
        {
            "metric": name,
            "replies": format_estimate(one.value, ".4f"),
            "people": format_estimate(one.other, ".4f"),
            "replies − people": format_estimate(one.difference, "+.4f"),
            **{reply: figures.get(name) for reply, figures in beside.floors.items()},
        }
        for name, one in beside.figures.items()
    ]
    say(f"{table(rows)}\nall against what the other annotators say; intervals are over items, with these annotators")


def _rows(estimates: Mapping[str, Estimate]) -> list[dict[str, Any]]:
    return [
        {"metric": name, "value": e.value, "95% interval": format_interval(e.low, e.high, ".4f")}
        for name, e in estimates.items()
    ]


def _print_agreement(figures: Mapping[str, Any], missing: Mapping[str, int], *, json: bool) -> int:
    for path, count in missing.items():
        if count:
            warn(
                f"{path}: {count} of {figures['n']} items have no reply, and so no label; --partial compares only "
                "the ids that are in every file"
            )
    print_record(figures, as_json=json)
    return EXIT_PARTIAL if any(missing.values()) else 0
