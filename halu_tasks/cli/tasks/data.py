"""`halu-tasks data`: the sources of data; download them, verify what is cached, or describe data by statistics."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halu_tasks.cli.arguments import add_item_options, add_json_argument, given_options
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, warn
from halu_tasks.cli.tables import NONE, table
from halu_tasks.core.errors import DataError, HaluTasksError, UsageError
from halu_tasks.core.options import Options

if TYPE_CHECKING:
    from halu_tasks.data.sources import Source
    from halu_tasks.tasks.profiles import DataProfile, LengthSummary, TaskProfile

HELP = "list the sources, download or verify them, or describe data by statistics"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", nargs="?", choices=("list", "fetch", "verify", "describe"), default="list")
    about = "names from the list (default: all); describe also takes a task, a group, or a folder that was built"
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help=about)
    add_item_options(parser.add_argument_group("options of describe"))
    add_json_argument(parser, "tables of describe", "one JSON list")


def run(arguments: argparse.Namespace) -> int:
    """Run the action."""
    from halu_tasks.tasks import source_named, sources

    options = given_options(arguments)
    if arguments.action == "describe":
        return _describe(arguments.sources or list(sources()), options, json=arguments.json)
    if arguments.json or options.changed():
        raise UsageError(f"halu-tasks data {arguments.action}: takes no options; those are for: data describe")
    named = [source_named(name) for name in arguments.sources]
    every = list(sources().values())
    # to fetch everything does not include what can only be downloaded manually
    default = every if arguments.action == "list" else [s for s in every if all(file.url for file in s.files)]
    return {"list": _list, "fetch": _fetch, "verify": _verify}[arguments.action](named or default)


def _list(sources: Sequence[Source]) -> int:
    from halu_tasks.data.cache import cache_folder, cached_file
    from halu_tasks.tasks import registry

    counts = Counter(task.reader.source.name for task in registry()[0].values())
    rows = []
    for source in sources:
        for file in source.files:
            path = cached_file(source, file.name)
            size = f"{path.stat().st_size:,}" if path else ""
            missing = "manual" if file.url is None else "gated" if source.gated else "missing"
            state = "cached" if path else missing
            tasks = str(counts[source.name] or "none")
            rows.append([source.name, file.name, source.licence, size, state, tasks, source.homepage])
    print(table(["source", "file", "licence", "bytes", "state", "tasks", "from"], rows, right=(3,)))
    print(
        f"\nCached in {cache_folder()} (HALU_TASKS_CACHE), files of the Hub in its own cache (HF_HOME). Download with: "
        "halu-tasks data fetch SOURCE"
    )
    if any("manual" in row for row in rows):
        print("Files marked manual have no address: download them manually.")
    return 0


def _fetch(sources: Sequence[Source]) -> int:
    from halu_tasks.data.download import fetch

    return _each_file(sources, lambda source, name: f"fetched {fetch(source, name)}")


def _verify(sources: Sequence[Source]) -> int:
    from halu_tasks.data.cache import cached_file, verify

    def verify_file(source: Source, name: str) -> str:
        path = cached_file(source, name)
        if path is None:
            fetch = f"fetch it with: halu-tasks data fetch {source.name}"
            advice = fetch if source.file(name).url else "download it manually"
            raise DataError(f"{source.name}: {name} is not cached; {advice}")
        checksum = verify(source, name, path)
        published = "as published" if source.file(name).sha256 else "no published checksum to compare with"
        return f"{path}: sha256 {checksum}, {published}"

    return _each_file(sources, verify_file)


def _each_file(sources: Sequence[Source], action: Callable[[Source, str], str]) -> int:
    """Apply an action to every file and print its results, or its errors; return the exit status."""
    failed, total = 0, sum(len(source.files) for source in sources)
    for source in sources:
        for file in source.files:
            try:
                print(action(source, file.name))
            except HaluTasksError as error:
                failed += 1
                warn(str(error))
    if failed:
        warn(f"{failed} of {total} files failed (above)")
    return 0 if not failed else 2 if failed == total else EXIT_PARTIAL


# --- describe -------------------------------------------------------------------------------------


def _describe(names: Sequence[str], options: Options, *, json: bool) -> int:
    """Print the statistics of data; return the exit status."""
    described: list[dict[str, Any]] = []
    failed = 0
    for name in names:
        try:
            for profile in _profiles(name, options):
                if json:
                    described.append(profile.as_json())
                else:
                    _show_data(profile)
        except DataError as error:
            failed += 1
            warn(str(error))
    if json:
        print_json(described)
    return 0 if not failed else 2 if failed == len(names) else EXIT_PARTIAL


def _profiles(name: str, options: Options) -> Iterable[DataProfile]:
    """Describe what a name stands for."""
    from halu_tasks.builders.card import tasks_on
    from halu_tasks.builders.folder import DATASET, Folder, build_folder, dataset_rows
    from halu_tasks.tasks import task_named
    from halu_tasks.tasks.profiles import profiles, tasks_of

    if folder := build_folder(Path(name).expanduser()):
        if options.changed():
            raise UsageError(f"{name}: options do not apply to a folder that was built")
        dataset = Folder(folder).path / DATASET
        names = tasks_on(Folder(folder).pipeline.benchmark, dataset_rows(dataset))
        return profiles([task_named(each) for each in names], Options(data=str(dataset)))
    tasks = tasks_of(name)
    if unused := options.unused({option for task in tasks for option in task.task_options}):
        raise UsageError(f"{name} has no option {Options.specs()[unused[0]].flag}")
    return profiles(tasks, options)


def _show_data(data: DataProfile) -> None:
    part = ", training part" if data.training else ""
    print(f"{data.source}: {data.data} ({data.kind}{part}), {data.rows:,} rows")
    if data.languages:
        languages = ", ".join(f"{code} {count:,}" for code, count in data.languages.items())
        print(f"languages of {sum(data.languages.values()):,} rows: {languages}")
    head = ["field", "length in", "number", "total", "mean", "median", "min", "max"]
    rows = [
        [field.name, unit, f"{number:,}", *_summary(lengths)]
        for field in data.fields
        for unit, number, lengths in (
            ("characters", field.texts, field.characters),
            ("words", field.texts, field.words),
            ("entries", field.lists, field.entries),
        )
        # ids and labels are single words
        if lengths and not (unit == "words" and lengths.maximum == 1)
    ]
    print("\n" + table(head, rows, right=range(2, 8)) + "\n")
    rows = [
        [task.task, f"{task.items:,}", f"{task.published:,}" if task.published else NONE, f"{task.clusters:,}"]
        + (_summary(task.spans) if task.spans else [NONE] * 5)
        for task in data.tasks
    ]
    head = ["task", "items", "published", "clusters", "spans", "mean", "median", "min", "max"]
    print(table(head, rows, right=range(1, 9)) + "\n")
    _show_breakdown(data.tasks)


def _show_breakdown(tasks: Sequence[TaskProfile]) -> None:
    """Print the labels and tags of tasks, once for all tasks with the same numbers."""
    names: dict[tuple[tuple[str, str, int, float], ...], list[str]] = {}
    for task in tasks:
        # the tag of some tasks is their label
        tags = {name: counts for name, counts in task.tags.items() if counts != task.labels}
        for name, counts in {"label": task.labels, **tags}.items():
            numbers = tuple((name, value, count, count / task.items) for value, count in counts.items())
            names.setdefault(numbers, []).append(task.task)
    rows = [
        ["all" if 1 < len(alike) == len(tasks) else ", ".join(alike), name, value, f"{count:,}", f"{share:.1%}"]
        for numbers, alike in names.items()
        for name, value, count, share in numbers
    ]
    if rows:
        print(table(["task", "by", "value", "items", "share"], rows, right=(3, 4)) + "\n")


def _summary(lengths: LengthSummary) -> list[str]:
    mean, median = f"{lengths.mean:,.2f}", f"{lengths.median:,.1f}"
    return [f"{lengths.total:,}", mean, median, f"{lengths.minimum:,}", f"{lengths.maximum:,}"]
