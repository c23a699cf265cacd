"""The commands of README.md, CONTRIBUTING.md and docs: what a page shows, and what stands in a reader's place.

A page's commands run in order in one new folder. What a reader would have is replaced by these rules:

- Models of transformers and vLLM, and servers at the addresses that the pages show, are a server on loopback. In
  lm-eval, `hf` becomes `local-chat-completions`. Other names of models stay: the environment leads them to the server.
- The packaged sample is the data, also as `path/to/data`. Datasets of the Hub are local folders.
- `…` stands for a name, a key or a model, and LOG for the newest log.
- Documents are in English, six of them, and a cluster has two tasks instead of 32.
- Files that a page presupposes are those that it shows, or are made as `docs_files` says.

`docs_rules.yaml` lists the commands that cannot run here, with the reason; they are parsed.

`python tests/harness/docs_commands.py` prints the commands of README.md as a shell script with a command in each line,
for a new clone. There they are run as they are printed; what needs a model is a comment, with a command in its place.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")))
_BLOCK = re.compile(r"^( *)```(console|sh|bash)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)


class Command(NamedTuple):
    """A command as a page shows it; `exports` are those before it in its block."""

    page: str
    line: int
    text: str
    exports: tuple[str, ...]

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"


def commands_of(page: str) -> list[Command]:
    """The commands of a page, in order.

    In a console block each line is a command, or if lines begin with `$ `, each of these, and the others are output.
    Parts joined by `&&` are commands of their own. A block of sh or bash is one command.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        command
        for block in _BLOCK.finditer(text)
        for command in _commands_of_block(page, text.count("\n", 0, block.start()) + 1, block)
    ]


def _commands_of_block(page: str, line: int, block: re.Match[str]) -> Iterator[Command]:
    indent, language, body = block.groups()
    text = "\n".join(own.removeprefix(indent) for own in body.splitlines())
    if language != "console":
        yield Command(page, line + 1, text, ())
        return
    exports: tuple[str, ...] = ()
    begin = r"\$ " if re.search(r"^\$ ", text, re.MULTILINE) else r"(?!#|\s*$)"
    for found in re.finditer(rf"^{begin}((?:.*\\\n)*.*)", text, re.MULTILINE):
        for part in found[1].split(" && "):
            yield Command(page, line + 1 + text.count("\n", 0, found.start()), part, exports)
            exports += (part,) if part.startswith("export ") else ()


def words_of(text: str) -> list[str]:
    """The words of a simple command, without variables before it."""
    words = shlex.split(text.replace("\\\n", " "), comments=True)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        del words[0]
    return words


class NotRun(NamedTuple):
    """Commands of a page (None: of any) that begin with a pattern, and why they are not run."""

    page: str | None
    pattern: str
    reason: str


class Instead(NamedTuple):
    """Commands of README.md that begin with a pattern, why they are not run as printed, and what is in their place."""

    pattern: str
    reason: str
    command: str | None


_READ = yaml.safe_load(Path(__file__).with_name("docs_rules.yaml").read_text(encoding="utf-8"))
NOT_RUN = [NotRun(*row) for row in _READ["not_run"]]
INSTEAD = [Instead(*row) for row in _READ["instead"]]


def parsed(command: click.Command, words: Sequence[str]) -> click.Context:
    """The context of a command that is not run; raises what the command line says against it."""
    context = command.make_context(command.name, list(words))
    while isinstance(command, click.Group) and (rest := [*context._protected_args, *context.args]):
        name, called, further = command.resolve_command(context, rest)
        assert called
        command, context = called, called.make_context(name, further, parent=context)
    return context


def reason_not_to_run(command: Command) -> str | None:
    """Why a command is not run, or None."""
    text = in_one_line(command)
    for own in NOT_RUN:
        if own.page in (None, command.page) and re.match(own.pattern, text):
            return own.reason
    return None


def in_one_line(command: Command) -> str:
    """The text of a command without line breaks."""
    return " ".join(command.text.replace("\\\n", " ").split())


def as_printed() -> Iterator[str]:
    """The lines of a script of README.md's commands."""
    for command in commands_of("README.md"):
        text = in_one_line(command)
        own = next((own for own in INSTEAD if re.match(own.pattern, text)), None)
        if own is None:
            yield command.text.replace("\\\n", " ")
        else:
            yield f"# {text}  (not run: {own.reason})"
            yield from [own.command] if own.command else []


class Ending(NamedTuple):
    """The exit status that a page states for a command, if it is not 0, and a pattern of what it prints."""

    page: str
    pattern: str
    status: int
    prints: str


ENDINGS = [Ending(*row) for row in _READ["endings"]]


def as_run(text: str, *, server: str, log: str) -> str:
    """A command with what stands for a reader's models, data and logs."""
    for pattern, replacement in _READ["replaced"]:
        text = re.sub(pattern, replacement.replace("{server}", server).replace("{log}", log), text)
    return text


def shown_files(page: str) -> dict[str, str]:
    """The files that a page shows, by name.

    A block is a file if its first line is a comment with its name, if it is a script that says how it is called, or if
    the text before it ends with its name in backticks, and perhaps the command that reads it. So is what `cat` prints.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    files: dict[str, str] = {}
    for block in re.finditer(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        language, body = block.groups()
        before = text[: block.start()].rstrip().rpartition("\n\n")[2]
        named = (
            re.match(r"# ([\w.]+\.\w+)\n", body)
            or re.match(r'""".*?python (\w+\.py)', body)
            or (re.search(r"`([\w/.]+\.\w+)`:$", before) if language != "console" else None)
        )
        if named:
            files.setdefault(named[1], body)
        for name, content in re.findall(r"^\$ cat (\S+)\n(.*?)(?=^\$ |\Z)", body, re.DOTALL | re.MULTILINE):
            files[name] = content
    return files


if __name__ == "__main__":
    print("\n".join(as_printed()))
