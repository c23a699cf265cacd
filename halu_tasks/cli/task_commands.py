"""`list`, `show`, `check`, `items`, `data` and `export chats`: the tasks, what they ask, and their data."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from halu_tasks.cli.command import ItemOptions
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, print_record, say, table, warn
from halu_tasks.core.credentials import escaped
from halu_tasks.core.errors import DataError, HaluTasksError, UsageError
from halu_tasks.core.files import json_line
from halu_tasks.core.options import Options
from halu_tasks.core.settings import Count, Help

if TYPE_CHECKING:
    from halu_tasks.data.sources import Source

Names = Annotated[Sequence[str], "SOURCE"]
# the columns of published figures
_PUBLISHED = ("task", "model", "method", "critic", "judge", "metric", "value", "scoring", "source", "notes")


def list_tasks(*, json: Annotated[bool, Help("print one JSON object instead of tables")] = False) -> None:
    """Run `halu-tasks list`."""
    if json:
        print_json(_listed())
        return
    from halu_tasks.tasks.task_registry import listed, registry

    tasks, groups = registry()
    say(table([row for task in tasks.values() if (row := listed(task))]))
    rows = [
        {"group": name, "mean of": ", ".join(group.means), "tasks": ", ".join(group.members)}
        for name, group in groups.items()
    ]
    say(f"\n{table(rows)}")
    say("\nItems are those of the published data. All metrics: halu-tasks show TASK, docs/tasks.md.")


def _listed() -> dict[str, Any]:
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
                "metrics": {mode: [m.name for m in scoring.metrics] for mode, scoring in task.scorers.items()},
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
    task: Annotated[str | None, Help("a task name from `halu-tasks list`, or the path of a task file (.yaml)")] = None,
    *,
    path: Annotated[
        bool, Help("print the path of the task's or group's file; without TASK, the folder of all, for --include_path")
    ] = False,
    protocols: Annotated[
        bool, Help("print the folder of the run configurations, one for each table of results and harness")
    ] = False,
    published: Annotated[
        bool, Help("print the figures that papers report for the task, group or builder; without TASK, for all")
    ] = False,
    json: Annotated[bool, Help("print JSON instead of YAML or a table")] = False,
) -> None:
    """Run `halu-tasks show`."""
    if path or protocols:
        from halu_tasks.results.published import PROTOCOLS
        from halu_tasks.tasks.task_registry import packaged_file
        from halu_tasks.tasks.yaml_files import task_configs

        if task and protocols:
            raise UsageError("show --protocols: takes no task")
        say(PROTOCOLS if protocols else packaged_file(task).path if task else task_configs())
    elif published:
        _show_published(task, json=json)
    elif task is None:
        raise UsageError("show: name a task")
    else:
        from halu_tasks.tasks import get_task
        from halu_tasks.tasks.describe import summary

        print_record(summary(get_task(task)), as_json=json)


def _show_published(task: str | None, *, json: bool) -> None:
    from halu_tasks.results.published import published, with_figures

    figures = published(task)
    if not figures:
        raise UsageError(f"{task!r} has no published figures; {with_figures()}")
    if json:
        print_json({"published": [asdict(figure) for figure in figures]})
        return
    notes = list(dict.fromkeys(note for figure in figures for note in figure.note.splitlines()))
    several = len({figure.task for figure in figures}) > 1
    rows = []
    for figure in figures:
        numbers = ", ".join(str(notes.index(note) + 1) for note in figure.note.splitlines())
        row = {**asdict(figure), "value": f"{figure.value:g}", "notes": numbers}
        rows.append({name: row[name] for name in _PUBLISHED if several or name != "task"})
    say(table(rows))
    for number, note in enumerate(notes, 1):
        say(f"{number}: {note}")


def new(
    name: Annotated[str, Help("the name of the task")],
    *,
    rows: Annotated[Path, "FILE", Help("rows in JSON Lines, JSON, .csv, .xlsx or .parquet")],
    judged: Annotated[bool, Help("draft a task whose replies a judge labels, whatever the rows have")] = False,
    output: Annotated[
        Path | None, "-o", "--output", "FILE", Help("where to write it (default: NAME.yaml beside the rows)")
    ] = None,
) -> int:
    """Run `halu-tasks new`."""
    from halu_tasks.core.files import atomic_write_text
    from halu_tasks.tasks.new import draft
    from halu_tasks.tasks.task_registry import registry

    if not re.fullmatch(r"[\w-]+", name) or name in {name for part in registry() for name in part}:
        raise UsageError(f"{name!r} cannot name a new task: use letters, digits and _, and no name of a packaged task")
    path = (output or rows.with_name(f"{name}.yaml")).expanduser()
    if path.exists():
        raise UsageError(f"{path} exists; name another file with -o")
    text, guessed = draft(name, rows, os.path.relpath(rows, path.parent), judged=judged)
    atomic_write_text(path, text)
    say(f"wrote {path}; guessed: {guessed}")
    if status := check([str(path)]):
        return status
    say(f"change the prompt, and see it with: halu-tasks items {path} --limit 1")
    return 0


def check(
    tasks: Annotated[
        Sequence[str],
        "TASK",
        Help("task files, folders of them, or names of tasks and groups (default: all files of this package)"),
    ] = (),
    *,
    data: Annotated[
        str | None,
        "PATH",
        Help(
            "name all faults of these data and of the items made of them, instead of the first in the"
            " rows beside the file or the packaged sample"
        ),
    ] = None,
) -> int:
    """Run `halu-tasks check`."""
    from halu_tasks.tasks.checks import faults_of
    from halu_tasks.tasks.task_registry import files_at, tasks_selected
    from halu_tasks.tasks.yaml_files import packaged_files

    files = (files_at(name) or [task.file.path for task in tasks_selected([name])] for name in tasks)
    paths = [*dict.fromkeys(chain.from_iterable(files))] or packaged_files()
    faults = faults_of(paths, data)
    for fault in faults:
        say(fault)
    if not faults:
        say(f"no faults in {len(paths)} files")
    return 2 if faults else 0


def items(
    task: Annotated[
        str,
        Help(
            "a task or group from `halu-tasks list`, the path of a task or group file (.yaml), or a "
            "folder of task files"
        ),
    ],
    *,
    options: ItemOptions,
    limit: Annotated[Count | None, Help("only N items of each task, those that a run with this limit asks")] = None,
    json: Annotated[bool, Help("print JSON Lines instead of text")] = False,
) -> None:
    """Run `halu-tasks items`."""
    from halu_tasks.tasks.task_registry import several_at, tasks_at

    several = several_at(task)
    for name, (_, file) in (tasks_at([task]) if several else {task: (None, None)}).items():
        of = {"task": name} if several else {}
        _print_items(str(file or name), options, limit, of, json=json)


def _print_items(task: str, options: Options, limit: int | None, of: Mapping[str, str], *, json: bool) -> None:
    from halu_tasks.tasks import build, get_task

    evaluation = build(task, replace(of_task(task, options), fewshot=get_task(task).prompts.shots))
    examples = {"examples": [example._asdict() for example in evaluation.examples]} if evaluation.examples else {}
    rows = (
        {**of, "id": item.id, "target": item.target, "system": item.system, "prompt": item.prompt, **examples}
        for item in evaluation.shuffled_items[:limit]
    )
    for row in rows:
        # prompts are shown as they are sent, whatever looks like a credential in them
        print(json_line(row) if json else escaped(_text(row)))


def _text(row: Mapping[str, Any]) -> str:
    task = f"  task: {row['task']}" if "task" in row else ""
    parts = [f"--- id: {row['id']}{task}", f"[target]\n{row['target']}", f"[system]\n{row['system']}"]
    parts += [f"[example]\n{example['prompt']}\n[reply]\n{example['reply']}" for example in row.get("examples", [])]
    return "\n".join([*parts, f"[prompt]\n{row['prompt']}"]) + "\n"


def of_task(task: str, options: Options) -> Options:
    """Return options after a check that a task has them.

    Raises:
        UsageError: The task does not have one of them.
    """
    from halu_tasks.tasks import get_task

    if unused := options.unsupported(get_task(task).prompts.task_options):
        raise UsageError(f"task {task} has no option {Options.settings()[unused[0]].flag}")
    return options


# --- data -----------------------------------------------------------------------------------------


def list_sources(sources: Annotated[Names, Help("names of sources (default: all)")] = ()) -> None:
    """Run `halu-tasks data list`."""
    from halu_tasks.data.cache import cache_folder, cached_file
    from halu_tasks.tasks import registry

    counts = Counter(task.data.source.name for task in registry()[0].values())
    rows = []
    for source in _named(sources):
        for file in source.files:
            path = cached_file(source, file.name)
            missing = "manual" if file.url is None else "gated" if source.gated else "missing"
            rows.append(
                {
                    "source": source.name,
                    "file": file.name,
                    "licence": source.licence,
                    "bytes": path.stat().st_size if path else "",
                    "state": "cached" if path else missing,
                    "tasks": str(counts[source.name] or "none"),
                    "from": source.homepage,
                }
            )
    say(table(rows))
    say(
        f"\nCached in {cache_folder()} (HALU_TASKS_CACHE), files of the Hub in its own cache (HF_HOME). Download with: "
        "halu-tasks data fetch SOURCE"
    )
    if any(row["state"] == "manual" for row in rows):
        say("Files marked manual have no address: download them manually.")


def fetch(sources: Annotated[Names, Help("names of sources (default: all that have an address)")] = ()) -> int:
    """Run `halu-tasks data fetch`."""
    from halu_tasks.data.cache import fetch as download

    named = [source for source in _named(sources) if sources or all(file.url for file in source.files)]
    files = [(source, file.name) for source in named for file in source.files]
    failed = 0
    for source, name in files:
        try:
            say(f"fetched {download(source, name)}")
        except HaluTasksError as error:
            failed += 1
            warn(str(error))
    if failed:
        warn(f"{failed} of {len(files)} files failed (above)")
    return _status(failed, len(files))


def describe(
    names: Annotated[
        Sequence[str],
        "NAME",
        Help("sources, tasks, groups, task or group files, or folders of these (default: all sources)"),
    ] = (),
    *,
    options: ItemOptions,
    json: Annotated[bool, Help("print one JSON list instead of YAML documents")] = False,
) -> int:
    """Run `halu-tasks data describe`."""
    described: list[dict[str, Any]] = []
    failed = 0
    names = names or [source.name for source in _named(())]
    for name in names:
        try:
            for profile in _profiles(name, options):
                described.append(profile)
                if not json:
                    say("---")
                    print_record(profile, as_json=False)
        except DataError as error:
            failed += 1
            warn(str(error))
    if json:
        print_json(described)
    return _status(failed, len(names))


def _named(names: Sequence[str]) -> list[Source]:
    from halu_tasks.tasks.task_registry import get_source, sources

    return [get_source(name) for name in names] or list(sources().values())


def _status(failed: int, total: int) -> int:
    return 0 if not failed else 2 if failed == total else EXIT_PARTIAL


def _profiles(name: str, options: Options) -> Iterable[dict[str, Any]]:
    from halu_tasks.tasks.describe import profiles, tasks_of

    tasks = tasks_of(name)
    if unused := options.unsupported({option for task in tasks for option in task.prompts.task_options}):
        raise UsageError(f"{name} has no option {Options.settings()[unused[0]].flag}")
    return profiles(tasks, options)


def chats(
    task: Annotated[str, Help("a task whose benchmark has a training part (factchd)")],
    *,
    options: ItemOptions,
    knowledge: Annotated[
        str | None,
        "PATH|gold",
        Help("put passages before each question, as the solver with_knowledge does: a file, a folder, or gold"),
    ] = None,
    top: Annotated[Count, Help("how many passages --knowledge looks up (FactCHD, section 5.3.4)")] = 5,
    output: Annotated[Path | None, "-o", "--output", "FILE", Help("where to write (default: standard output)")] = None,
) -> None:
    """Run `halu-tasks export chats`."""
    from halu_tasks.core.files import atomic_write
    from halu_tasks.tasks import get_task
    from halu_tasks.tasks.prompting import training_chats

    benchmark = get_task(task)
    if len(options.prompts) > 1:
        raise UsageError(f"--prompts {','.join(options.prompts)}: expected one file, got {len(options.prompts)}")
    questions = []
    if knowledge is not None:
        from halu_tasks.solvers.retrieval import informed_questions

        questions = [informed_questions(benchmark, knowledge, top, next(iter(options.prompts), None))]
    rows = training_chats(benchmark, options, *questions)
    with atomic_write(output, "export") if output else nullcontext(sys.stdout) as file:
        file.writelines(json_line(chat) + "\n" for chat in rows)
