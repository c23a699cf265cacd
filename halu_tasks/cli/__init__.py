"""The command line `halu-tasks`. Each command is a module that is imported only when it runs, so that
`--help` answers at once.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any, NoReturn

from halu_tasks import __version__
from halu_tasks.credentials import redacted
from halu_tasks.errors import HaluTasksError, UsageError, did_you_mean
from halu_tasks.options import Options

_BUILDING = ("annotate", "build", "collect", "optimize", "quality")
"""Commands whose modules are in `cli/building`."""

DONE_IN_PART = 3
"""The exit status of a command that did what it was asked for without a part of its input, which it names."""


_TASK_ARGUMENT = "a task name from `halu-tasks list`, or the path of a task file (.yaml)"


class _Parser(argparse.ArgumentParser):
    """A parser that tells of a misspelt option under its own command's usage, and what may have been meant."""

    commands: Mapping[str, _Parser] = {}
    """All commands by name, for an option that is another command's."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.flags: set[str] = set()
        super().__init__(*args, **kwargs)

    def add_argument(self, *args: Any, **kwargs: Any) -> argparse.Action:
        self.flags |= {name for name in args if name.startswith("-")}
        return super().add_argument(*args, **kwargs)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        # argparse leaves what a command does not know to the parser of all commands, which shows its own usage
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._hint(unknown[0].partition('=')[0])}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        if found := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)$", message):
            message += did_you_mean(found[1], [choice.strip(" '") for choice in found[2].split(",")])
        super().error(redacted(message))

    def _hint(self, option: str) -> str:
        if not option.startswith("-"):
            return ""
        others = [name for name, command in self.commands.items() if option in command.flags]
        return f" (an option of {', '.join(others)})" if others else did_you_mean(option, self.flags)


def parser() -> argparse.ArgumentParser:
    main = _Parser(
        prog="halu-tasks",
        description="Hallucination benchmarks for lm-evaluation-harness and Inspect; scores for replies made anywhere.",
        epilog="Run the tasks with lm_eval --tasks NAME or inspect eval halu_tasks/NAME; docs: docs/getting-started.md",
        # by two, argparse puts the help of the longest command on a line of its own
        formatter_class=lambda prog: argparse.HelpFormatter(prog, indent_increment=1),
    )
    main.add_argument("--version", action="version", version=f"halu-tasks {__version__}")
    commands = main.add_subparsers(dest="command", metavar="COMMAND", required=True)

    command = commands.add_parser("list", help="tasks and groups, with items, metrics and source")
    command.add_argument("--json", action="store_true", help="one JSON object instead of tables")

    command = commands.add_parser("path", help="the folder of the task files, for --include_path, or one file")
    command.add_argument("task", nargs="?", metavar="TASK", help="a task or group whose file to print")

    command = commands.add_parser("show", help="what a task asks, how replies are read, and what is computed")
    command.add_argument("task", metavar="TASK", help=_TASK_ARGUMENT)
    command.add_argument("--json", action="store_true", help="one JSON object instead of text")

    command = commands.add_parser("check", help="what is wrong with task files")
    command.add_argument("files", nargs="*", metavar="FILE", help="task files; the packaged ones when none is given")

    command = commands.add_parser("data", help="list the sources, fetch them, or verify what is cached")
    command.add_argument("action", nargs="?", choices=("list", "fetch", "verify"), default="list")
    command.add_argument("sources", nargs="*", metavar="SOURCE", help="names from the list; all when none is given")

    command = commands.add_parser("items", help="print a task's items, to be answered anywhere")
    _task_arguments(command)
    command.add_argument("--cot", action="store_true", help="ask for reasoning before the answer")
    command.add_argument("--prompts", metavar="FILE", help="a prompt file whose wording replaces the package's")
    command.add_argument("--limit", type=_number, metavar="N", help="only the first N items")
    command.add_argument("--json", action="store_true", help="JSON Lines instead of text")

    command = commands.add_parser("export", help="the training part of a benchmark as chats, one JSON line each")
    command.add_argument("task", metavar="TASK", help="a task whose benchmark has a training part (factchd)")
    command.add_argument("--data", metavar="PATH|sample", help="a file, a folder, or the packaged worked examples")
    command.add_argument("--prompts", metavar="FILE", help="a prompt file whose wording replaces the package's")
    command.add_argument("-o", "--output", metavar="FILE", help="where to write; standard output when not given")

    command = commands.add_parser("score", help="score replies made anywhere")
    _task_arguments(command)
    about = 'rows of {"id": …, "output": …}: JSON Lines, a JSON array, .csv or .xlsx'
    command.add_argument("predictions", metavar="PREDICTIONS", help=about)
    _field_arguments(command)
    command.add_argument("--scoring", choices=("strict", "paper"), default="strict")
    command.add_argument("--partial", action="store_true", help="score only the ids in the file")
    command.add_argument("--model", metavar="NAME", help="whose replies they are, for a report")
    command.add_argument("--details", metavar="OUT.jsonl", help="write what happened to each item")
    command.add_argument("--judge", metavar="MODEL", help="a judge, named as Inspect names models (openai/gpt-4o)")
    command.add_argument("--judge-base-url", metavar="URL", help="a judge behind an OpenAI-compatible server")
    command.add_argument("--judge-max-failures", type=float, default=0.05, metavar="SHARE")
    command.add_argument("--json", action="store_true", help="one JSON object instead of a table")

    command = commands.add_parser("agree", help="how far several sets of replies agree: kappa and shares")
    _task_arguments(command)
    command.add_argument("predictions", metavar="PREDICTIONS", nargs="+", help="one file a rater, as for score")
    _field_arguments(command)
    command.add_argument("--gold", action="store_true", help="the gold labels as a rater too")
    command.add_argument("--scoring", choices=("strict", "paper"), default="strict", help="how replies are read")
    command.add_argument("--partial", action="store_true", help="only the ids that are in every file")
    command.add_argument("--json", action="store_true", help="one JSON object instead of a table")

    command = commands.add_parser("compare", help="results beside each other: figures, differences, tests")
    about = "a result as for report, or a folder of them; the others are compared with the first one"
    command.add_argument("results", metavar="RESULTS", nargs="+", help=about)
    _comparison_arguments(command)

    command = commands.add_parser("methods", help="run the plain prompt and methods in Inspect, and compare them")
    _task_arguments(command)
    about = "plain, or a method as NAME or NAME:ARGUMENT=VALUE,… (factored_verification:how=samples,samples=3)"
    command.add_argument("methods", metavar="METHOD", nargs="+", help=about)
    command.add_argument("--scoring", choices=("strict", "paper"), default="strict")
    command.add_argument("--limit", type=_number, metavar="N", help="only the first N items")
    _model_arguments(command, "any other option that the task has in Inspect (probability=true)")
    command.add_argument("--log-dir", metavar="PATH", help="folder of the logs; logs/methods/TASK when not given")
    _comparison_arguments(command)

    command = commands.add_parser("report", help="a page, a table and a JSON file about results in any mix")
    about = "an lm-eval folder or results file, an Inspect log, a JSON of `score --json`, or a folder of any of these"
    command.add_argument("results", metavar="RESULTS", nargs="+", help=about)
    command.add_argument(
        "-o", "--output", metavar="FOLDER", default="report", help="where to write; report when not given"
    )
    command.add_argument("--title", default="Hallucination benchmarks", help="the heading of the page")

    command = commands.add_parser("build", help="make a benchmark of your own documents")
    command.add_argument("builder", metavar="BUILDER", help="haluagent, refact_pipeline, halluverse25_pipeline, …")
    about = "a file of JSON Lines with id and text, or a folder of .txt and .md files"
    command.add_argument("documents", metavar="DOCUMENTS", help=about)
    about = "the folder of the build; the same command goes on with what lies in it"
    command.add_argument("-o", "--output", metavar="FOLDER", required=True, help=about)
    _model_arguments(command, "an option of the builder (language=en)")
    command.add_argument("--temperature", type=float, metavar="T", help="of the model; 0 when not given")
    command.add_argument("--max-tokens", type=_number, metavar="N", help="of a reply; 4096 when not given")
    command.add_argument("--part-size", type=_number, default=500, metavar="N", help="documents in a part, about; 500")
    command.add_argument("--shard", metavar="I/N", help="work on part I, I+N, … only (0/2 and 1/2 are all of two)")
    about = "keep replies in Inspect's cache, so that a build with other options asks nothing twice"
    command.add_argument("--cache", action="store_true", help=about)
    about = "prices of models, as Inspect reads them, to tell the cost in money"
    command.add_argument("--model-cost-config", metavar="FILE", help=about)
    _collect_arguments(command)

    command = commands.add_parser("collect", help="the dataset of a build again, with other options")
    command.add_argument("folder", metavar="FOLDER", help="the folder of the build, or logs of builds in Inspect")
    about = "where logs of Inspect are collected to: a folder like that of a build"
    command.add_argument("-o", "--output", metavar="FOLDER", help=about)
    _collect_arguments(command)

    command = commands.add_parser("optimize", help="better prompts for a builder, from what its verifier rejects")
    command.add_argument("builder", metavar="BUILDER", help="haluagent")
    command.add_argument("documents", metavar="DOCUMENTS", help="as for build; some of them are drawn")
    about = "the folder of the prompts, rates and rejects; the same command goes on with what lies in it"
    command.add_argument("-o", "--output", metavar="FOLDER", required=True, help=about)
    _model_arguments(command, "an option of the builder (language=en)")
    for name, default, about in (
        ("--train", 60, "documents whose rejected drafts the optimizer sees"),
        ("--validation", 20, "documents by which prompts are compared"),
        ("--rounds", 5, "rounds at most"),
        ("--candidates", 3, "sets of prompts that are tried in a round"),
    ):
        command.add_argument(name, type=_number, default=default, metavar="N", help=f"{about}; {default}")
    command.add_argument("--json", action="store_true", help="one JSON object instead of a table")

    command = commands.add_parser("quality", help="leaks, balance and duplicates of a dataset that was built")
    command.add_argument("folder", metavar="OUT", help="the folder that `halu-tasks build` wrote to")
    about = "published files to look for duplicates in, besides those in the cache; may be given several times"
    command.add_argument("--against", action="append", default=[], metavar="PATH", help=about)
    about = "look for near-duplicates among the items too, from this similarity in percent on"
    command.add_argument("--near", type=float, metavar="PERCENT", help=about)
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of the sample of pairs and of the folds")
    command.add_argument("--strict", action="store_true", help="exit with 1 where something is flagged")
    command.add_argument("--json", action="store_true", help="one JSON object instead of tables")

    _annotate_arguments(commands.add_parser("annotate", help="a built dataset to annotators and back (doccano)"))

    command = commands.add_parser("published", help="figures that the papers print for the same tasks")
    command.add_argument("task", nargs="?", metavar="TASK", help="a task or a group; all when not given")
    command.add_argument("--json", action="store_true", help="one JSON object instead of a table")

    command = commands.add_parser("demo", help="both harnesses on the packaged sample, offline")
    command.add_argument("--tasks", default="", metavar="A,B", help="task names; all when not given")
    for each in commands.choices.values():
        each.commands = commands.choices
    return main


def _annotate_arguments(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)

    action = actions.add_parser("export", help="items as doccano imports them, with labels and guidelines beside them")
    action.add_argument("folder", metavar="OUT", help="the folder that `halu-tasks build` wrote to")
    action.add_argument("-o", "--output", metavar="TASKS.jsonl", required=True, help="where to write")
    action.add_argument("--sample", type=_number, metavar="N", help="only so many items, drawn by the seed")
    action.add_argument("--seed", type=int, default=0, metavar="N", help="of the sample and of the order")

    action = actions.add_parser("import", help="what annotators say: agreement, and the items that they keep")
    action.add_argument("folder", metavar="OUT", help="the folder that the items were exported from")
    about = "doccano's export, one file an annotator, or the zip archive of all"
    action.add_argument("annotations", metavar="ANNOTATIONS.jsonl", nargs="+", help=about)
    about = "which label counts: that of more than half, or one that two give and no other as often"
    action.add_argument("--rule", choices=("majority", "two"), default="majority", help=about)
    action.add_argument("--least", type=_number, default=2, metavar="N", help="labels that an item needs; 2")
    action.add_argument("-o", "--output", metavar="OUT2", help="a new folder for the items that are kept")
    action.add_argument("--json", action="store_true", help="one JSON object instead of tables")


def _comparison_arguments(command: argparse.ArgumentParser) -> None:
    about = "a metric to compare by, the task's main one when not given; may be given several times"
    command.add_argument("--metric", action="append", default=[], metavar="NAME", help=about)
    command.add_argument("--json", action="store_true", help="one JSON object instead of tables")


def _model_arguments(command: argparse.ArgumentParser, task_option: str) -> None:
    command.add_argument("--model", required=True, help="the model, named as Inspect names it")
    command.add_argument("--model-base-url", metavar="URL", help="where it is served")
    for flags, name, form, about in (
        (("-M",), "model_arg", "KEY=VALUE", "an argument of the model"),
        (("--model-role",), "model_role", "ROLE=MODEL", "another model for a role"),
        (("-T",), "task_option", "KEY=VALUE", task_option),
    ):
        told = f"{about}; may be given several times"
        command.add_argument(*flags, dest=name, action="append", default=[], metavar=form, help=told)
    command.add_argument("--max-connections", type=_number, metavar="N", help="calls side by side, of each model")
    about = "how often a call that fails is tried again, waiting longer each time; 7, which takes about six minutes"
    command.add_argument("--max-retries", type=_count, default=7, metavar="N", help=about)
    about = "no call is tried again after so many seconds"
    command.add_argument("--timeout", type=_number, metavar="SECONDS", help=about)
    kinds = ("full", "rich", "plain", "log", "none")
    command.add_argument("--display", choices=kinds, help="how Inspect shows its progress, on standard error")


def _collect_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--balance", action="store_true", help="as many items of each kind as of the rarest")
    about = "similarity in percent from which on two items are duplicates; when not given 100, equal ones (FactCHD: 90)"
    command.add_argument("--near", type=float, metavar="PERCENT", help=about)
    about = (
        "a sentence-transformers model (extra embeddings) whose cosine, in percent, is the similarity; else rapidfuzz's"
    )
    command.add_argument("--embeddings", metavar="MODEL", help=about)
    command.add_argument("--partial", action="store_true", help="also where documents are not done")
    command.add_argument("--licence", metavar="NAME", help="of the dataset, for its card; not known when not given")
    about = "published files to look for duplicates in, besides those in the cache; may be given several times"
    command.add_argument("--against", action="append", default=[], metavar="PATH", help=about)
    command.add_argument("--json", action="store_true", help="one JSON object instead of tables")


def _field_arguments(command: argparse.ArgumentParser) -> None:
    for name, about in (("id", "the item's id"), ("output", "the reply")):
        told = f"the field or column that holds {about}; {name} when not given"
        command.add_argument(f"--{name}-field", default=name, metavar="NAME", help=told)


def _task_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("task", metavar="TASK", help=_TASK_ARGUMENT)
    command.add_argument("--data", metavar="PATH|sample", help="a file, a folder, or the packaged sample")
    for name, option in Options.of_some_tasks().items():
        if option.metadata["of_harnesses"]:
            continue
        flag, about, choices = "--" + name.replace("_", "-"), option.metadata["about"], option.metadata["choices"]
        if option.type == "bool":
            command.add_argument(flag, action="store_true", help=about)
        elif choices:
            command.add_argument(flag, choices=choices, default=option.default, help=about)
        else:
            kind, shown = (int, "N") if option.type == "int" else (float, "SHARE")
            command.add_argument(flag, type=kind, default=option.default, metavar=shown, help=about)


def options_of(arguments: argparse.Namespace, **others: Any) -> Options:
    """The options that a command was given. Raises UsageError for one that the task has no use for."""
    from halu_tasks.tasks import task_named

    own = task_named(arguments.task).task_options
    for name, option in Options.of_some_tasks().items():
        if name not in own and getattr(arguments, name, option.default) != option.default:
            raise UsageError(f"task {arguments.task} has no use for --{name.replace('_', '-')}; leave it out")
    given = {option.name: getattr(arguments, option.name) for option in fields(Options) if option.name in arguments}
    return Options(**given | others)


def warn(text: str) -> None:
    """Tell, in one line on standard error, what keeps no command from its work."""
    line = " ".join(text.splitlines())
    print(f"halu-tasks: {line.encode(errors='backslashreplace').decode()}", file=sys.stderr)


def _number(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not a positive number")
    return number


def _count(text: str) -> int:
    return 0 if text.strip() == "0" else _number(text)


_number.__name__ = _count.__name__ = "number"


def main(argv: list[str] | None = None) -> int:
    """Run one command. Returns the exit status: 0, or what the command says, or 2 for anything the user can mend
    (docs/getting-started.md, "Exit status").
    """
    status: int | None = None
    if isinstance(sys.stdout, io.TextIOWrapper):
        # items are JSON Lines and hold any script, whatever the terminal's own encoding
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        try:
            arguments = parser().parse_args(argv)
            room = "building." if arguments.command in _BUILDING else ""
            status = import_module(f"halu_tasks.cli.{room}{arguments.command}").run(arguments)
        finally:
            # here, where a failure can still be told; Python's own flush comes too late
            sys.stdout.flush()
    except BrokenPipeError:
        # the reader of a pipe has closed it, as `| head` does
        _drop_output()
    except OSError as error:
        _drop_output()
        return _failed(error)
    except HaluTasksError as error:
        return _failed(error)
    return status or 0


def _failed(error: Exception) -> int:
    print(f"halu-tasks: {' '.join(str(error).splitlines())}", file=sys.stderr)
    return 2


def _drop_output() -> None:
    """Let what cannot be written go nowhere, so that Python does not try it again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
