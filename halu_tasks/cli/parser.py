"""The parser of the command line, made of what each command declares."""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
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
    """A parser that reports errors in one line, and suggests what was meant by a misspelt option."""

    commands: Mapping[str, Parser] = {}
    """All commands by name, to recognize an option of another command."""

    takes_further: bool = False
    """Whether what follows `--` is kept as `further`: arguments of another program."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    @property
    def flags(self) -> Collection[str]:
        """All spellings of all options."""
        return self._option_string_actions.keys()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, and report unknown ones here; argparse would leave that to the parser of all commands."""
        further: list[str] = []
        if self.takes_further and args and "--" in args:
            end = args.index("--")
            args, further = args[:end], args[end + 1 :]
        if not self._subparsers:
            # before argparse misses a required option that is misspelt
            words = itertools.takewhile("--".__ne__, args or [])
            self._reject([word for word in words if word.startswith("--") and _flag(word) not in self.flags])
        arguments, unknown = super().parse_known_args(args, namespace)
        if self.takes_further:
            arguments.further = further
        self._reject(unknown)
        return arguments, unknown

    def error(self, message: str) -> NoReturn:
        """Report an error, with the closest choice if the value of an option is not one."""
        if invalid := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)$", message):
            message += did_you_mean(invalid[1], [choice.strip(" '") for choice in invalid[2].split(",")])
        self.exit(2, f"{self.prog}: error: {redacted(message)}; see {self.prog} --help\n")

    def _reject(self, unknown: Sequence[str]) -> None:
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._hint(_flag(unknown[0]))}")

    def _hint(self, option: str) -> str:
        if not option.startswith("-"):
            return ""
        if meant := did_you_mean(option, self.flags):
            return meant
        if self.takes_further:
            return f" (options of the harness follow --, as in -- {option} …)"
        others = [name for name, command in self.commands.items() if option in command.flags]
        return f" (an option of {', '.join(others)})" if others else ""


def _flag(word: str) -> str:
    return word.partition("=")[0]


@cache
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
