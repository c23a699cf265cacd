"""`list`, `show`, `check`, `items`, `data` and `export chats`: the tasks, what they ask, and their data."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from halu_tasks.cli.command import Count, ItemOptions
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, print_record, table, warn
from halu_tasks.core.errors import DataError, HaluTasksError, UsageError
from halu_tasks.core.json_lines import json_line
from halu_tasks.core.options import Options

if TYPE_CHECKING:
    from halu_tasks.data.sources import Source
    from halu_tasks.tasks.profiles import DataProfile

Names = Annotated[Sequence[str], "SOURCE"]


def list_tasks(*, json: bool = False) -> None:
    """List tasks and groups, with items, metrics and sources.

    Args:
        json: print one JSON object instead of tables
    """
    from halu_tasks.tasks.listing import listing

    tasks, groups = listing()
    if json:
        kinds: dict[str, Sequence[Any]] = {"tasks": tasks, "groups": groups}
        print_json({kind: [asdict(one) | {"path": str(one.path)} for one in kinds[kind]] for kind in kinds})
        return
    rows = [
        {"task": t.name, "items": t.size or "unknown", "headline": t.headline, "source": t.title, "asks": t.about}
        for t in tasks
    ]
    print(f"{table(rows)}\n")
    print(table([{"group": g.name, "mean of": ", ".join(g.means), "tasks": ", ".join(g.members)} for g in groups]))
    print("\nItems are those of the published data. All metrics: halu-tasks show TASK, docs/tasks.md.")


def show(
    task: str | None = None,
    *,
    path: bool = False,
    protocols: bool = False,
    published: bool = False,
    authors: Annotated[Path | None, "FILE"] = None,
    json: bool = False,
) -> None:
    """Show what a task asks, how replies are read, and its metrics.

    Args:
        task: a task name from `halu-tasks list`, or the path of a task file (.yaml)
        path: print the path of the task's or group's file; without TASK, the folder of all, for --include_path
        protocols: print the folder of the run configurations, one for each published table and harness
        published: print the figures that papers report for the task or group; without TASK, for all
        authors: print a task file with the authors' wording, from a file of theirs: a text with {placeholders}, or
            JSON Lines with `instruction` and `input`
        json: print JSON instead of YAML or a table
    """
    if path or protocols:
        _show_path(task, protocols=protocols)
    elif published:
        _show_published(task, json=json)
    elif task is None:
        raise UsageError("show: name a task")
    elif authors:
        _show_authors(task, authors)
    else:
        from halu_tasks.tasks import task_named
        from halu_tasks.tasks.summary import summary

        print_record(summary(task_named(task)), as_json=json)


def _show_path(task: str | None, *, protocols: bool) -> None:
    from halu_tasks.results.published import PROTOCOLS
    from halu_tasks.tasks.listing import path_of
    from halu_tasks.tasks.yaml_files import task_configs

    if task and protocols:
        raise UsageError("show --protocols: takes no task")
    print(PROTOCOLS if protocols else path_of(task) if task else task_configs())


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
        rows.append({name: row[name] for name in row if name != "note" and (several or name != "task")})
    print(table(rows))
    for number, note in enumerate(notes, 1):
        print(f"{number}: {note}")


def _show_authors(name: str, file: Path) -> None:
    """Print a task file, and say on standard error whether its wording is a published one."""
    from halu_tasks.tasks import task_named
    from halu_tasks.tasks.convert import as_task_file, read_prompt
    from halu_tasks.tasks.published import published_as

    task = task_named(name)
    prompt = read_prompt(task, file)
    published = published_as(task.reference, prompt)
    origin = f"the wording of {published.source}" if published else "a wording that is not known as published"
    own = f"{task.name}_authors"
    print(as_task_file(task, prompt, own, f"{task.name} with {origin}"), end="")
    mark = "prompts_paper" if published else "a hash of the prompt"
    print(f"{own}: {origin}; its version shows {mark}", file=sys.stderr)


def check(files: Annotated[Sequence[Path], "FILE"] = ()) -> int:
    """Check task files, and name their faults.

    Args:
        files: task files (default: those of this package)
    """
    from halu_tasks.tasks.checks import faults_of, packaged_faults
    from halu_tasks.tasks.yaml_files import packaged_files

    paths = [path.expanduser() for path in files]
    faults = faults_of(paths) if paths else packaged_faults()
    for fault in faults:
        print(fault)
    if not faults:
        print(f"no faults in {len(paths) or len(packaged_files())} files")
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


# --- data -----------------------------------------------------------------------------------------


def list_sources(sources: Names = ()) -> None:
    """List the sources of data, and what is cached.

    Args:
        sources: names of sources (default: all)
    """
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
    print(table(rows))
    print(
        f"\nCached in {cache_folder()} (HALU_TASKS_CACHE), files of the Hub in its own cache (HF_HOME). Download with: "
        "halu-tasks data fetch SOURCE"
    )
    if any(row["state"] == "manual" for row in rows):
        print("Files marked manual have no address: download them manually.")


def fetch(sources: Names = ()) -> int:
    """Download sources into the cache, or verify the checksums of what is there.

    Args:
        sources: names of sources (default: all that have an address)
    """
    from halu_tasks.data.cache import fetch as download

    named = [source for source in _named(sources) if sources or all(file.url for file in source.files)]
    files = [(source, file.name) for source in named for file in source.files]
    failed = 0
    for source, name in files:
        try:
            print(f"fetched {download(source, name)}")
        except HaluTasksError as error:
            failed += 1
            warn(str(error))
    if failed:
        warn(f"{failed} of {len(files)} files failed (above)")
    return _status(failed, len(files))


def describe(names: Annotated[Sequence[str], "NAME"] = (), *, options: ItemOptions, json: bool = False) -> int:
    """Describe data by statistics: rows, lengths, languages, labels.

    Args:
        names: sources, tasks, groups or task files (default: all sources)
        options: which data and items
        json: print one JSON list instead of YAML documents
    """
    described: list[dict[str, Any]] = []
    failed = 0
    names = names or [source.name for source in _named(())]
    for name in names:
        try:
            for profile in _profiles(name, options):
                described.append(profile.as_json())
                if not json:
                    print("---")
                    print_record(described[-1], as_json=False)
        except DataError as error:
            failed += 1
            warn(str(error))
    if json:
        print_json(described)
    return _status(failed, len(names))


def _named(names: Sequence[str]) -> list[Source]:
    """Return the sources of some names, or all."""
    from halu_tasks.tasks import source_named, sources

    return [source_named(name) for name in names] or list(sources().values())


def _status(failed: int, total: int) -> int:
    return 0 if not failed else 2 if failed == total else EXIT_PARTIAL


def _profiles(name: str, options: Options) -> Iterator[DataProfile]:
    from halu_tasks.tasks.profiles import profiles, tasks_of

    tasks = tasks_of(name)
    if unused := options.unused({option for task in tasks for option in task.task_options}):
        raise UsageError(f"{name} has no option {Options.specs()[unused[0]].flag}")
    return profiles(tasks, options)


def chats(
    task: str,
    *,
    options: ItemOptions,
    knowledge: Annotated[str | None, "PATH|gold"] = None,
    top: Count = 5,
    output: Annotated[Path | None, "-o", "--output", "FILE"] = None,
) -> None:
    """Export the training part of a benchmark as chats, one JSON line each; with --knowledge, after passages.

    Args:
        task: a task whose benchmark has a training part (factchd)
        options: which data, and how they are asked
        knowledge: put passages before each question, as the solver with_knowledge does: a file, a folder, or gold
        top: how many passages --knowledge looks up (FactCHD, section 5.3.4)
        output: where to write (default: standard output)
    """
    from halu_tasks.core.files import atomic_write
    from halu_tasks.tasks import task_named
    from halu_tasks.tasks.asking import training_chats

    benchmark = task_named(task)
    if len(options.prompts) > 1:
        raise UsageError(f"--prompts {','.join(options.prompts)}: expected one file, got {len(options.prompts)}")
    questions = []
    if knowledge is not None:
        from halu_tasks.solvers.passages import InformedQuestions

        questions = [InformedQuestions(benchmark, knowledge, top, next(iter(options.prompts), None))]
    rows = training_chats(benchmark, options, *questions)
    with atomic_write(output, "export") if output else nullcontext(sys.stdout) as file:
        file.writelines(json_line(chat) + "\n" for chat in rows)
