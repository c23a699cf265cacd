"""Every command of README.md, CONTRIBUTING.md and docs: its program knows its options, and it runs as it is printed.

`docs_commands` says what is replaced, and which commands cannot run here.
"""

import re
import shlex
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from docs_commands import (
    ENDINGS,
    INSTEAD,
    NOT_RUN,
    PAGES,
    ROOT,
    Command,
    as_run,
    commands_of,
    in_one_line,
    parsed,
    reason_not_to_run,
    shown_files,
    words_of,
)

from halu_tasks.cli import command_line

COMMANDS = {page: commands for page in PAGES if (commands := commands_of(page))}
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
PARSED = ("halu-tasks", "lm_eval", "inspect")
"""Programs with a parser that is asked."""
OTHERS = {
    *(".", "cat", "cd", "export", "git", "inspect-evals-lint", "lint-imports", "mypy", "pip", "pre-commit", "pytest"),
    *("python", "python3", "ruff", "uv"),
    # its commands are run
    "scout",
}


# --- without running ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", COMMANDS)
def test_programs_know_the_options_of_every_command(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = []
    for command in COMMANDS[page]:
        for words in _simple_commands(command):
            if fault := _fault(words, page, monkeypatch):
                faults.append(f"{command.where}: {shlex.join(words)}\n  {fault}")
    if faults:
        pytest.fail("\n".join(faults), pytrace=False)


def test_each_command_that_is_not_run_and_each_stated_ending_is_on_its_page() -> None:
    texts = {page: [in_one_line(command) for command in commands] for page, commands in COMMANDS.items()}
    pages_of = [(own, own.page) for own in (*NOT_RUN, *ENDINGS)] + [(own, "README.md") for own in INSTEAD]
    for own, page in pages_of:
        candidates = texts[page] if page else [text for of_page in texts.values() for text in of_page]
        assert any(re.match(own.pattern, text) for text in candidates), own


def test_programs_know_the_options_of_what_is_run_in_the_place_of_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for own in INSTEAD:
        if own.command:
            assert not _fault(words_of(own.command), "README.md", monkeypatch), own


def test_the_tests_that_contributors_are_told_of_are_there() -> None:
    names = re.findall(r"`(tests/[^`\s]+)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert names and not [name for name in names if not any(ROOT.glob(name))]


def _simple_commands(command: Command) -> list[list[str]]:
    """The words of a command without redirections, or of each command of a script."""
    text = as_run(command.text, server="http://127.0.0.1/v1", log="LOG").replace("\\\n", " ")
    if "\n" not in text:
        return [_without_redirections(words_of(text))]
    for name, first in re.findall(r"^ *for (\w+) in (\S+)", text, re.MULTILINE):
        text = text.replace(f"${name}", first)
    calls = re.findall(rf"^\s*((?:{'|'.join(PARSED)}) .*?)(?: \|\||$)", text, re.MULTILINE)
    return [_without_redirections(words_of(call)) for call in calls]


def _without_redirections(words: list[str]) -> list[str]:
    end = next((place for place, word in enumerate(words) if word in (">", "|")), len(words))
    return words[:end]


def _fault(words: Sequence[str], page: str, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """What a program says against its arguments, without running it."""
    program, *arguments = words
    if program in PARSED:
        return _parse(program, arguments, monkeypatch)
    if program == "pip":
        extras = re.findall(r"\[([\w,]+)\]", " ".join(word for word in arguments if "halu" in word or word[0] == "."))
        unknown = {name for group in extras for name in group.split(",")} - set(EXTRAS)
        return f"no extra {unknown}" if unknown else None
    if program in ("python", "pytest"):
        files = [word for word in arguments if (word.endswith(".py") and "/" in word) or word.startswith("tests/")]
        missing = [name for name in files if not (ROOT / name).exists() and name not in shown_files(page)]
        return f"no {missing}" if missing else None
    return None if program in OTHERS else f"which program is {program}?"


def _parse(program: str, arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> str | None:
    import click

    monkeypatch.setattr("sys.argv", [program, *arguments])
    monkeypatch.setattr("argparse.ArgumentParser.error", _raise)
    try:
        if program == "halu-tasks":
            parsed(command_line(), arguments)
        elif program == "lm_eval":
            from lm_eval._cli import HarnessCLI

            HarnessCLI().parse_args()
        else:
            from inspect_ai._cli.main import inspect

            parsed(inspect, arguments)
    except (ValueError, SystemExit) as error:
        return str(error)
    except click.ClickException as error:
        return error.format_message()
    return None


def _raise(parser: Any, message: str) -> None:
    raise ValueError(message)


# --- running ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in COMMANDS if not all(map(reason_not_to_run, COMMANDS[page]))])
def test_the_commands_of_a_page_run(page: str, serve: Callable[..., Any], tmp_path: Path) -> None:
    from docs_files import AFTER, BEFORE, Model, Reader, take

    reader = Reader(page, tmp_path, serve(Model()).url)
    faults = []
    seen: set[tuple[str, ...]] = set()
    for command in COMMANDS[page]:
        text = reader.text(command.text)
        if reason_not_to_run(command) or (same := (text, *command.exports)) in seen or text.startswith("export "):
            continue
        seen.add(same)
        try:
            take(BEFORE, reader, command, text)
            text = reader.text(command.text)
            logs = set(reader.folder.glob("logs/**/*.eval"))
            done = reader.run(text, command.exports)
            fault = _ending(command, done.returncode, done.stdout)
            fault = fault or _unfinished(set(reader.folder.glob("logs/**/*.eval")) - logs)
            output = done.stdout
            if not fault:
                take(AFTER, reader, command, text)
        except Exception as error:
            fault, output = f"{type(error).__name__}", str(error)
        if fault:
            last = "\n".join(f"    {line}" for line in output.splitlines()[-25:])
            faults.append(f"{command.where}: {command.text}\n  run as: {text}\n  {fault}\n{last}")
    if faults:
        pytest.fail("\n\n".join(faults), pytrace=False)


def _ending(command: Command, status: int, output: str) -> str | None:
    """What is wrong with how a command ended."""
    text = " ".join(command.text.split())
    stated = next((own for own in ENDINGS if own.page == command.page and re.match(own.pattern, text)), None)
    expected = stated.status if stated else 0
    if status != expected:
        return f"exit status {status}, not {expected}"
    if stated and not re.search(stated.prints, output):
        return f"does not print {stated.prints!r}"
    return None


def _unfinished(logs: set[Path]) -> str | None:
    """Which runs of Inspect did not succeed: it ends with status 0 all the same."""
    from inspect_ai.log import read_eval_log

    states = {log.name: read_eval_log(str(log), header_only=True) for log in logs}
    failed = [
        f"{name}: {log.status}: {log.error.message if log.error else ''}"
        for name, log in states.items()
        if log.status != "success"
    ]
    return "\n  ".join(failed) or None
