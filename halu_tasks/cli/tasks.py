"""`list`, `show`, `check` and `items`: the tasks, and what they ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from halu_tasks.cli.command import Count, ItemOptions
from halu_tasks.cli.output import print_json, print_record, table
from halu_tasks.core.errors import UsageError
from halu_tasks.core.json_lines import json_line
from halu_tasks.core.options import Options

if TYPE_CHECKING:
    from halu_tasks.results.published import Published


def list_tasks(*, json: bool = False) -> None:
    """List tasks and groups, with items, metrics and sources.

    Args:
        json: print one JSON object instead of tables
    """
    if json:
        print_json(_listed())
        return
    from halu_tasks.tasks.registry import listed, registry

    tasks, groups = registry()
    print(table([row for task in tasks.values() if (row := listed(task))]))
    rows = [
        {"group": name, "mean of": ", ".join(group.means), "tasks": ", ".join(group.members)}
        for name, group in groups.items()
    ]
    print(f"\n{table(rows)}")
    print("\nItems are those of the published data. All metrics: halu-tasks show TASK, docs/tasks.md.")


def _listed() -> dict[str, Any]:
    """Return the tasks with the metrics that their scorers have, and the groups."""
    from halu_tasks.tasks import registry

    tasks, groups = registry()
    return {
        "tasks": [
            {
                "name": task.name,
                "version": task.version,
                "about": task.about,
                "items": task.data.size,
                "headline": task.headline,
                "metrics": {mode: [m.name for m in scoring.metrics] for mode, scoring in task.scoring.items()},
                "source": task.data.source.homepage,
            }
            for task in tasks.values()
        ],
        "groups": [
            {"name": group.name, "about": group.about, "tasks": list(group.members), "metrics": list(group.means)}
            for group in groups.values()
        ],
    }


def show(
    task: str | None = None,
    *,
    path: bool = False,
    protocols: bool = False,
    published: bool = False,
    json: bool = False,
) -> None:
    """Show what a task asks, how replies are read, and its metrics.

    Args:
        task: a task name from `halu-tasks list`, or the path of a task file (.yaml)
        path: print the path of the task's or group's file; without TASK, the folder of all, for --include_path
        protocols: print the folder of the run configurations, one for each published table and harness
        published: print the figures that papers report for the task or group; without TASK, for all
        json: print JSON instead of YAML or a table
    """
    if path or protocols:
        _show_path(task, protocols=protocols)
    elif published:
        _show_published(task, json=json)
    elif task is None:
        raise UsageError("show: name a task")
    else:
        from halu_tasks.tasks import task_named
        from halu_tasks.tasks.describe import summary

        print_record(summary(task_named(task)), as_json=json)


def _show_path(task: str | None, *, protocols: bool) -> None:
    from halu_tasks.results.published import PROTOCOLS
    from halu_tasks.tasks.registry import packaged_file
    from halu_tasks.tasks.yaml_files import task_configs

    if task and protocols:
        raise UsageError("show --protocols: takes no task")
    print(PROTOCOLS if protocols else packaged_file(task).path if task else task_configs())


def _show_published(task: str | None, *, json: bool) -> None:
    from dataclasses import asdict

    from halu_tasks.results.published import published, with_figures

    figures = published(task)
    if not figures:
        raise UsageError(f"{task!r} has no published figures; {with_figures()}")
    if json:
        print_json({"published": [asdict(figure) for figure in figures]})
    else:
        print(_published_table(figures))


def _published_table(figures: Sequence[Published]) -> str:
    """Format published figures as a table, with numbered notes below it."""
    notes = dict.fromkeys(note for figure in figures for note in figure.note.splitlines())
    numbers = {note: str(number) for number, note in enumerate(notes, start=1)}
    several = len({figure.task for figure in figures}) > 1
    rows = [
        {
            "task": figure.task if several else None,
            "model": figure.model,
            "method": figure.method,
            "critic": figure.critic or "",
            "judge": figure.judge or "",
            "metric": figure.metric,
            "value": f"{figure.value:g}",
            "scoring": figure.scoring,
            "source": figure.source,
            "notes": ", ".join(numbers[note] for note in figure.note.splitlines()),
        }
        for figure in figures
    ]
    return "\n".join([table(rows), *([""] if notes else []), *(f"{numbers[note]}: {note}" for note in notes)])


def check(files: Annotated[Sequence[Path], "FILE"] = ()) -> int:
    """Check task files, and name their faults.

    Args:
        files: task files (default: those of this package)
    """
    from halu_tasks.tasks.checks import faults_of
    from halu_tasks.tasks.yaml_files import packaged_files

    paths = [path.expanduser() for path in files] or packaged_files()
    faults = faults_of(paths)
    for fault in faults:
        print(fault)
    if not faults:
        print(f"no faults in {len(paths)} files")
    return 2 if faults else 0


def items(
    task: str,
    *,
    options: ItemOptions,
    limit: Count | None = None,
    json: bool = False,
) -> None:
    """Print the items of a task, for models that run elsewhere.

    Args:
        task: a task name from `halu-tasks list`, or the path of a task file (.yaml)
        options: which items, and how they are asked
        limit: only the first N items
        json: print JSON Lines instead of text
    """
    from dataclasses import replace

    from halu_tasks.tasks import build, task_named

    built = build(task, replace(of_task(task, options), fewshot=task_named(task).prompts.shots))
    examples = {"examples": [example._asdict() for example in built.examples]} if built.examples else {}
    rows = (
        {"id": item.id, "target": item.target, "system": item.system, "prompt": item.prompt, **examples}
        for item in islice(built.stream(), limit)
    )
    for row in rows:
        print(json_line(row) if json else _text(row))


def _text(row: Mapping[str, Any]) -> str:
    """Format an item for people, with a blank line after it."""
    parts = [f"--- id: {row['id']}", f"[target]\n{row['target']}", f"[system]\n{row['system']}"]
    parts += [f"[example]\n{example['prompt']}\n[reply]\n{example['reply']}" for example in row.get("examples", [])]
    return "\n".join([*parts, f"[prompt]\n{row['prompt']}"]) + "\n"


def of_task(task: str, options: Options) -> Options:
    """Return options after a check that a task has them.

    Raises:
        UsageError: The task does not have one of them.
    """
    from halu_tasks.tasks import task_named

    if unused := options.unused(task_named(task).task_options):
        raise UsageError(f"task {task} has no option {Options.specs()[unused[0]].flag}")
    return options
