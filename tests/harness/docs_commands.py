"""The commands of README.md, CONTRIBUTING.md and docs: what a page shows, and what stands in a reader's place.

A page's commands run in order in one new folder. What a reader would have is replaced by these rules:

- Models of transformers and vLLM, and servers at the addresses that the pages show, are a server on loopback. In
  lm-eval, `hf` becomes `local-chat-completions`. Other names of models stay: the environment leads them to the server.
- The packaged sample is the data, also as `path/to/data`. Datasets of the Hub are local folders.
- `…` stands for a name, a key or a model, and LOG for the newest log.
- Documents are in English, six of them, and a cluster has two tasks instead of 32.
- Files that a page presupposes are those that it shows, or are made as `docs_files` says.

`NOT_RUN` lists the commands that cannot run here, with the reason; they are parsed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click
import yaml

from halu_tasks.cli import command_line

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")))
_BLOCK = re.compile(r"^( *)```(console|sh|bash)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)


class Command(NamedTuple):
    """A command as a page shows it; `exports` are those before it in its block, which is the one at line `block`."""

    page: str
    line: int
    text: str
    shown: str
    """The output below it."""
    block: int
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


def _commands_of_block(page: str, line: int, block: re.Match[str]) -> list[Command]:
    indent, language, body = block.groups()
    lines = [own.removeprefix(indent) for own in body.splitlines()]
    if language != "console":
        return [Command(page, line + 1, "\n".join(lines), "", line, ())]
    found: list[Command] = []
    exports: tuple[str, ...] = ()
    prompts = any(own.startswith("$ ") for own in lines)
    place = 0
    while place < len(lines):
        start, first = place, lines[place]
        place += 1
        if not (first.startswith("$ ") if prompts else first.strip() and not first.startswith("#")):
            continue
        while lines[place - 1].endswith("\\"):
            place += 1
        output = place
        while prompts and output < len(lines) and not lines[output].startswith("$ "):
            output += 1
        whole = "\n".join(lines[start:place]).removeprefix("$ ")
        shown = "\n".join(lines[place:output])
        for part in whole.split(" && "):
            found.append(Command(page, line + 1 + start, part, shown, line, exports))
            exports += (part,) if part.startswith("export ") else ()
    return found


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


INSTALLS = "changes the installation"
DOWNLOADS = "asks services that are not here"
ENDLESS = "does not end"
RELEASED = "needs the released replies of the paper"
BUILDER = "the printed builder is run by tests/halu_tasks/builders/test_add_a_builder.py"
CHECKOUT = "run by tests/halu_tasks/test_add_a_benchmark.py in a checkout with the files that the page shows"

NOT_RUN = (
    NotRun(None, r"pip install ", INSTALLS),
    NotRun("CONTRIBUTING.md", r"git clone |cd |python3 -m venv |\. |pre-commit ", INSTALLS),
    NotRun("docs/getting-started.md", r"python -m venv |\. ", INSTALLS),
    NotRun("README.md", r"pytest ", "runs the tests"),
    NotRun("README.md", r"halu-tasks demo$", "is the same on docs/getting-started.md"),
    NotRun("CONTRIBUTING.md", r"python tests/frozen/compare\.py", "takes minutes"),
    NotRun("docs/add-a-benchmark.md", r"halu-tasks |lm_eval |inspect ", CHECKOUT),
    NotRun("docs/add-a-benchmark.md", r"pytest ", "runs the tests"),
    NotRun("docs/builders.md", r"halu-tasks build .* --executor ray", "starts Ray; see test_executors.py"),
    NotRun("docs/builders.md", r"inspect view ", ENDLESS),
    NotRun("docs/builders.md", r"halu-tasks build one_edit |inspect eval halu_tasks/halluverse25_en ", BUILDER),
    NotRun("docs/scanners.md", r"scout view$", ENDLESS),
    NotRun("docs/findings.md", r"git |python |halu-tasks score ", RELEASED),
    NotRun("docs/detectors.md", r"halu-tasks data fetch ", DOWNLOADS),
    NotRun("docs/report-example.md", r"for model in |halu-tasks report ", RELEASED),
    NotRun("docs/leaderboards.md", r"inspect-evals-lint ", "is another project's program"),
    NotRun("docs/local-data.md", r"halu-tasks data fetch ", DOWNLOADS),
    NotRun("docs/pipelines.md", r"halu-tasks build biographies ", DOWNLOADS),
    NotRun("docs/methods.md", r"inspect eval .* -S tool=", "searches the web"),
    NotRun("docs/train-a-detector.md", r"python docs/train_detector\.py ", "needs weights and a GPU"),
)


def parsed(words: Sequence[str]) -> click.Context:
    """The context of a command of `halu-tasks` that is not run; raises what the command line says against it."""
    command: click.Command = command_line()
    context = command.make_context("halu-tasks", list(words))
    while isinstance(command, click.Group):
        name, called, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert called
        command, context = called, called.make_context(name, rest, parent=context)
    return context


def reason_not_to_run(command: Command) -> str | None:
    """Why a command is not run, or None."""
    text = " ".join(command.text.replace("\\\n", " ").split())
    for own in NOT_RUN:
        if own.page in (None, command.page) and re.match(own.pattern, text):
            return own.reason
    return None


class Ending(NamedTuple):
    """The exit status that a page states for a command, if it is not 0, and a pattern of what it prints."""

    page: str
    pattern: str
    status: int
    prints: str


ENDINGS: tuple[Ending, ...] = (
    Ending("docs/builders.md", r"halu-tasks build quality out/ --strict", 1, "flagged"),
    Ending("docs/judges.md", r"halu-tasks score .* --judge gpt-4o$", 2, ""),
    Ending("docs/judges.md", r".* http://localhost:9/v1$", 2, ""),
    Ending("docs/protocols.md", r"halu-tasks show --published", 0, "halluverse25_9shot_en"),
    Ending("docs/task-files.md", r"lm_eval ", 0, r"\|my_refact *\|1\.0-sample-prompts_[0-9a-f]{8}\|"),
)

RULES = yaml.safe_load(Path(__file__).with_name("docs_rules.yaml").read_text(encoding="utf-8"))


def as_run(text: str, *, server: str, log: str) -> str:
    """A command with what stands for a reader's models, data and logs."""
    for pattern, replacement in RULES:
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
