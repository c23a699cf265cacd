"""The command line `halu-tasks`. A command parses its arguments, calls a function of another package, and prints."""

from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from halu_tasks.cli.command import CommandGroup

ABOUT = """Hallucination benchmarks for lm-evaluation-harness and Inspect, and scores for replies from anywhere.

Run the tasks with lm_eval --tasks NAME or inspect eval halu_tasks/NAME; docs: docs/getting-started.md
"""
COMMANDS: dict[str, str | tuple[str, dict[str, str], str]] = {
    "list": "tasks:list_tasks",
    "show": "tasks:show",
    "new": "tasks:new",
    "check": "tasks:check",
    "items": "tasks:items",
    "score": "score:score",
    "run": "run:run",
    "report": "report:report",
    "demo": "run:demo",
    "data": (
        "List the sources of data (list, the default), download them, or describe data.",
        {"list": "tasks:list_sources", "fetch": "tasks:fetch", "describe": "tasks:describe"},
        "list",
    ),
    "plan": "report:plan",
    "export": (
        "Export results and training data in the formats of other tools.",
        {"eee": "report:eee", "hub": "report:hub", "chats": "tasks:chats"},
        "",
    ),
    "build": (
        "Build a benchmark from your own documents (dataset, the default).",
        {
            "dataset": "build:dataset",
            "collect": "build:collect",
            "quality": "build:quality",
            "optimize": "build:optimize",
            "biographies": "build:biographies",
            "options": "build:options",
        },
        "dataset",
    ),
    "label": (
        "Draw what people check from results and built datasets, and read their labels.",
        {"verdicts": "report:verdicts", "items": "build:label_items", "import": "build:import_items"},
        "",
    ),
}
"""The function of each command; of a group its purpose, its commands, and the one that runs if none is named."""


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
            if arguments[:1] == ["--help"]:
                print(_help())
                return 0
            return _run(arguments)
        finally:
            # flush here, where an error can be reported; when Python flushes at exit, it is too late
            sys.stdout.flush()
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


def _help() -> str:
    """Return the help. Summaries are read from source, since importing it takes longer than Python takes to start."""
    lines = ["Usage: halu-tasks [OPTIONS] COMMAND [ARGS]...", ""]
    lines += [f"  {line}".rstrip() for line in ABOUT.splitlines()]
    lines += ["", "Options:", "  --version  Show the version and exit.", "  --help     Show this message and exit."]
    lines += ["", "Commands:"]
    for name, path in COMMANDS.items():
        about = path[0]
        if isinstance(path, str):
            module, _, function = path.partition(":")
            with open(f"{__path__[0]}/{module}.py", encoding="utf-8") as source:  # noqa: PTH123
                about = source.read().partition(f"\ndef {function}(")[2].partition('"""')[2].partition("\n")[0]
        lines.append(f"  {name:<6}  {about.rstrip('.')}")
    return "\n".join(lines)


def _run(arguments: list[str]) -> int:
    import logging
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
        return _report(f"{error.format_message().rstrip('.')}; see {of} --help", 2)
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
    """Print an error on one line; return the exit status."""
    from halu_tasks.cli.output import warn

    warn(message)
    return status


def _discard_output() -> None:
    """Discard output that cannot be written, so that Python does not try again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
