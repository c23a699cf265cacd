"""The parser of the command line, made of what each command declares."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NoReturn, Protocol, cast

from halu_tasks import __version__
from halu_tasks.core.credentials import redacted
from halu_tasks.core.errors import did_you_mean

COMMANDS = (
    "tasks.list",
    "tasks.path",
    "tasks.show",
    "tasks.check",
    "tasks.prompts",
    "tasks.data",
    "tasks.items",
    "tasks.doctor",
    "results.run",
    "results.score",
    "results.agree",
    "results.adjust",
    "results.compare",
    "results.methods",
    "results.plan",
    "results.report",
    "exports.export",
    "results.sweep",
    "building.documents",
    "building.build",
    "building.collect",
    "building.optimize",
    "building.quality",
    "building.annotate",
    "results.published",
    "results.demo",
)
"""The modules of the commands, in the order of `--help`. A command has the name of its module."""


class Command(Protocol):
    """The module of a command.

    It imports what a command needs only when the command runs, because `--help` imports all of these modules.
    """

    HELP: str
    """What the command does, in a few words."""
    add_arguments: Callable[[argparse.ArgumentParser], None]
    """Declares the command's arguments."""
    run: Callable[[argparse.Namespace], int | None]
    """Runs the command, and returns its exit status; None stands for 0."""


class Parser(argparse.ArgumentParser):
    """A parser that reports a misspelt option with the usage of its own command, and suggests what was meant."""

    commands: Mapping[str, Parser] = {}
    """All commands by name, to recognize an option of another command."""

    takes_further: bool = False
    """Whether what follows `--` is kept as `further`: arguments of another program."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.flags: set[str] = set()
        super().__init__(*args, **kwargs)

    def add_argument(self, *args: Any, **kwargs: Any) -> argparse.Action:
        """Add an argument, and remember its flags."""
        self.flags |= {name for name in args if name.startswith("-")}
        return super().add_argument(*args, **kwargs)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, and report unknown ones here; argparse would leave that to the parser of all commands."""
        further: list[str] = []
        if self.takes_further and args and "--" in args:
            end = args.index("--")
            args, further = args[:end], args[end + 1 :]
        arguments, unknown = super().parse_known_args(args, namespace)
        if self.takes_further:
            arguments.further = further
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._hint(unknown[0].partition('=')[0])}")
        return arguments, unknown

    def error(self, message: str) -> NoReturn:
        """Report an error, with the closest choice if the value of an option is not one."""
        if invalid := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)$", message):
            message += did_you_mean(invalid[1], [choice.strip(" '") for choice in invalid[2].split(",")])
        super().error(redacted(message))

    def _hint(self, option: str) -> str:
        if not option.startswith("-"):
            return ""
        others = [name for name, command in self.commands.items() if option in command.flags]
        return f" (an option of {', '.join(others)})" if others else did_you_mean(option, self.flags)


def build_parser() -> Parser:
    """Build the parser of all commands. `run` of the arguments that it parses is the function of the command."""
    parser = Parser(
        prog="halu-tasks",
        description="Hallucination benchmarks for lm-evaluation-harness and Inspect, and scores for replies from "
        "anywhere.",
        epilog="Run the tasks with lm_eval --tasks NAME or inspect eval halu_tasks/NAME; docs: docs/getting-started.md",
        # with the default of 2, the help of the longest command would be on a line of its own
        formatter_class=lambda prog: argparse.HelpFormatter(prog, indent_increment=1),
    )
    parser.add_argument("--version", action="version", version=f"halu-tasks {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for path in COMMANDS:
        command = cast(Command, import_module(f"{__package__}.{path}"))
        subparser = subparsers.add_parser(path.rpartition(".")[2], help=command.HELP)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    for subparser in subparsers.choices.values():
        subparser.commands = subparsers.choices
    return parser
