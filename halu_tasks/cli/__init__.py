"""The command line `halu-tasks`. A command parses its arguments, calls a function of another package, and prints."""

from __future__ import annotations

import gc
import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from halu_tasks.cli.command import CommandGroup

ABOUT = """Hallucination benchmarks for lm-evaluation-harness and Inspect, and scores for replies from anywhere.

Run the tasks with lm_eval --tasks NAME or inspect eval halu_tasks/NAME; docs: docs/getting-started.md
"""
COMMANDS: dict[str, tuple[str, str] | tuple[str, dict[str, tuple[str, str]], *tuple[str, ...]]] = {
    "list": ("List tasks and groups, with items, metrics and sources.", "task_commands:list_tasks"),
    "show": ("Show what a task asks, how replies are read, and its metrics.", "task_commands:show"),
    "new": ("Write the file of a new task about your own rows, and check it.", "task_commands:new"),
    "check": ("Check task files, and name their faults.", "task_commands:check"),
    "items": ("Print the items of a task, for models that run elsewhere.", "task_commands:items"),
    "score": (
        "Score replies from any source.\n"
        "\n"
        "With --agreement or --gold, measure how far several sets of replies to the same items agree.",
        "score_commands:score",
    ),
    "run": (
        "Run models on tasks, with methods, and write a report.\n"
        "\n"
        "What follows -- is added to the harness's command: -- --max-tokens 4096",
        "run_commands:run",
    ),
    "report": (
        "Write an HTML page, Markdown and JSON about results of any kind, or compare all pairs.",
        "report_commands:report",
    ),
    "demo": (
        "Run four tasks on the packaged sample in both harnesses, offline, and write a report.",
        "run_commands:demo",
    ),
    "data": (
        "List the sources of data (list, the default), download them, or describe data.",
        {
            "list": ("List the sources of data, and what is cached.", "task_commands:list_sources"),
            "fetch": (
                "Download sources into the cache, or verify the checksums of what is there.",
                "task_commands:fetch",
            ),
            "describe": ("Count what is in data: items, clusters, labels, tags, gold spans.", "task_commands:describe"),
        },
        "list",
    ),
    "plan": (
        "Plan a comparison: how many items and repeats it needs, what a number of calls can show.",
        "report_commands:plan",
    ),
    "export": (
        "Export results and training data in the formats of other tools.",
        {
            "eee": (
                "Export results in the schema of Every Eval Ever: a record for each run, and a row for each reply.",
                "report_commands:eee",
            ),
            "hub": (
                "Export results as .eval_results files of models, for the Hugging Face Hub.",
                "report_commands:hub",
            ),
            "chats": (
                "Export the training part of a benchmark as chats, one JSON line each; with --knowledge, after "
                "passages.",
                "task_commands:chats",
            ),
        },
        "",
        "exports",
    ),
    "build": (
        "Build a benchmark from your own documents (dataset, the default).",
        {
            "dataset": ("Build a benchmark from your own documents.", "build_commands:dataset"),
            "collect": ("Assemble the dataset of a build again, with other options.", "build_commands:collect"),
            "quality": ("Measure leaks, balance and duplicates of a built dataset.", "build_commands:quality"),
            "optimize": (
                "Improve a builder's prompts, using the drafts that its verifier rejects.",
                "build_commands:optimize",
            ),
            "biographies": (
                "Fetch documents for a builder: people sampled from Wikidata, with their pages in Wikipedia "
                "(HalluVerse25).",
                "build_commands:biographies",
            ),
            "options": ("List the options of the builders.", "build_commands:options"),
        },
        "dataset",
    ),
    "label": (
        "Draw what people check from results and built datasets, and read their labels.",
        {
            "verdicts": ("Draw judged replies of each model from results, to label.", "report_commands:verdicts"),
            "items": (
                "Write the items of a built dataset as rows to label, with guidelines.",
                "build_commands:label_items",
            ),
            "import": (
                "Read the labels of items: agreement, and the items that annotators keep.",
                "build_commands:import_items",
            ),
        },
        "",
    ),
}
"""What each command does, and its function; of a group its commands, the one that runs if none is named, and the kind
of those that other packages add."""


def main(argv: list[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: The command line without the program; None for that of the process.

    Returns:
        The exit status (docs/running.md, "Exit status").
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # items are JSON Lines in any script, whatever the encoding of the terminal
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            return _run(arguments)
        finally:
            # flush here, where an error can be reported; when Python flushes at exit, it is too late
            sys.stdout.flush()
            if argv is None:
                gc.freeze()  # so that nothing is searched for garbage when the process ends
    except BrokenPipeError:
        # the reader of a pipe has closed it, as `| head` does
        _discard_output()
        return 0
    except OSError as error:
        _discard_output()
        return _report(str(error), 2)


def command_line() -> CommandGroup:
    """Return the command line."""
    import click

    from halu_tasks import __version__
    from halu_tasks.cli.command import CommandGroup

    group = CommandGroup("halu-tasks", ABOUT, COMMANDS)
    group.context_settings = {"max_content_width": 100}
    return click.version_option(__version__, message="halu-tasks %(version)s")(group)


def _run(arguments: list[str]) -> int:
    import logging
    import re
    from contextlib import suppress

    import click

    from halu_tasks.cli.output import LogLine
    from halu_tasks.core.errors import HaluTasksError, RunInterrupted
    from halu_tasks.core.processes import interrupt_on_signals

    if logging.lastResort:
        logging.lastResort.setFormatter(LogLine())
    with suppress(ValueError):  # not the main thread
        interrupt_on_signals()
    try:
        group = command_line()
        with group.make_context("halu-tasks", arguments) as context:
            status: int | None = group.invoke(context)
        return status or 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        of = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "halu-tasks"
        message = re.sub(r"\.?:? \(?Did you mean (.+\?)\)?$", r" (did you mean \1)", error.format_message()).rstrip(".")
        return _report(f"{message}; see {of} --help", 2)
    except KeyboardInterrupt:
        return _report("interrupted", RunInterrupted.exit_status)
    except HaluTasksError as error:
        return _report(str(error), error.exit_status)
    except OverflowError as error:
        return _report(f"a number is too large ({error}); check those in the command and its files", 2)
    except UnicodeEncodeError as error:
        # a name whose bytes are not UTF-8 has surrogates, which no report, log or table can hold
        return _report(f"{error.object[:200]}: is not UTF-8; if it is the name of a file or folder, rename it", 2)


def _report(message: str, status: int) -> int:
    from halu_tasks.cli.output import warn

    warn(message)
    return status


def _discard_output() -> None:
    """Discard output that cannot be written, so that Python does not try again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
