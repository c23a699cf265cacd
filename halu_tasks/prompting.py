"""How a model is asked: a case and a prompt text make the messages that go over the wire.

The prompts of tasks stand in their task files, those of methods, judges and builders in `solvers/prompts/`. A prompt
has `user` and, optionally, `system` and `cot`: the system text when a chain of thought is asked for. In prompt files
`{name}` stands for a field of the case, and any other brace is text; task files are Jinja (`{{name}}`), as in lm-eval.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from halu_tasks.errors import UsageError
from halu_tasks.hashing import stable_hash
from halu_tasks.items import Case, Example, Item

PROMPTS = Path(str(files("halu_tasks.solvers") / "prompts"))
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")

Prompt = Mapping[str, str]
_KEYS = {"system", "user", "cot"}


@cache
def read_prompts(path: Path) -> dict[str, Prompt]:
    """The entries of a prompt file. Raises UsageError where it cannot be read or is none."""
    try:
        entries: Any = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"prompts {path}: {error.strerror or error}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"prompts {path}: not a YAML file ({' '.join(str(error).split())})") from None
    if not isinstance(entries, dict):
        raise UsageError(f"prompts {path}: expected task names with their prompts")
    try:
        return {str(name): _entry(str(name), entry) for name, entry in entries.items()}
    except ValueError as error:
        raise UsageError(f"prompts {path}: {error}") from None


def _entry(name: str, entry: Any) -> Prompt:
    texts = isinstance(entry, dict) and all(isinstance(text, str) for text in entry.values())
    if not texts or not set(entry) <= _KEYS:
        raise ValueError(f"{name!r} may have {', '.join(sorted(_KEYS))}, each a text")
    # JSON writes a character beyond the first plane as two halves, and YAML reads them as two characters
    return {key: text.encode("utf-16-le", "surrogatepass").decode("utf-16-le") for key, text in entry.items()}


def prompt_for(name: str, file_of_package: str) -> Prompt:
    """The packaged prompt of a method, judge or builder."""
    return read_prompts(PROMPTS / f"{file_of_package}.yaml")[name]


def given_prompts(file: str, names: Iterable[str]) -> dict[str, Prompt]:
    """The prompts in a user's file, by name. It may hold prompts of several tasks and methods, and leave out others.

    Args:
        file: path of the file.
        names: the names of tasks' prompts; those of methods are known here.

    Raises:
        UsageError: the file cannot be read, or names a prompt or a key that there is none of.
    """
    given = read_prompts(Path(file).expanduser())
    known = {known for path in PROMPTS.glob("*.yaml") if path.stem != "judge" for known in read_prompts(path)}
    known.update(names)
    if unknown := sorted(set(given) - known):
        raise UsageError(f"prompts {file}: there is no prompt {unknown[0]!r}; it may name {', '.join(sorted(known))}")
    return given


@cache
def next_question(questions: tuple[str, ...]) -> re.Pattern[str]:
    """Where a reply goes on to ask itself another of the `questions` (user texts of prompts), as base models do: a line
    that begins as one of them does, or with the label of its first field."""
    begins: set[str] = set()
    for question in questions:
        lines = question.splitlines()
        label = next(line for line in lines if "{" in line).partition("{")[0].strip()
        begins |= {begin for begin in (lines[0].partition("{")[0].strip(), label) if len(begin) > 3}
    return re.compile(rf"(?<=\S)\s*\n[ \t]*(?:{'|'.join(map(re.escape, sorted(begins))) or '(?!)'})")


def prompt_hash(prompt: Prompt) -> str:
    """Eight hex digits that change whenever a word of the prompt does."""
    return stable_hash(*chain.from_iterable(sorted(prompt.items())))[:8]


class JinjaText(str):
    """A text whose placeholders are Jinja's, `{{name}}`, as in a task file; in any other text they are `{name}`."""

    def placeholders(self) -> set[str]:
        """The names that the text refers to. Raises ValueError where it is not valid Jinja."""
        from jinja2 import TemplateSyntaxError, meta

        try:
            return set(meta.find_undeclared_variables(_jinja().parse(str(self))))
        except TemplateSyntaxError as error:
            raise ValueError(f"line {error.lineno} is not valid Jinja ({error.message})") from None


def placeholders(text: str) -> set[str]:
    """The names of the fields that a text shows."""
    return text.placeholders() if isinstance(text, JinjaText) else set(PLACEHOLDER.findall(text))


def render_jinja(text: str, values: Mapping[str, Any]) -> str:
    """A Jinja text with its placeholders filled. Raises UsageError for one that has no value."""
    from jinja2 import TemplateError

    try:
        return str(_template(str(text)).render(values))
    except TemplateError as error:
        raise UsageError(f"prompt: {error.message}; this task fills {', '.join(values)}") from None


@cache
def _jinja() -> Any:
    from jinja2 import Environment, StrictUndefined

    return Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)


@cache
def _template(source: str) -> Any:
    return _jinja().from_string(source)


def fill(text: str, fields: Mapping[str, str]) -> str:
    """`text` with each placeholder replaced by the field of its name, once: braces inside a field stay as they are.

    Raises:
        UsageError: a placeholder that the case has no field for.
    """
    if isinstance(text, JinjaText):
        return render_jinja(text, fields)

    def value(match: re.Match[str]) -> str:
        if match[1] not in fields:
            raise UsageError(f"prompt has {{{match[1]}}}; this task fills {', '.join(fields)}")
        return fields[match[1]]

    return PLACEHOLDER.sub(value, text)


def texts(prompt: Prompt, fields: Mapping[str, str], *, cot: bool = False) -> tuple[str, str]:
    """The system text, which may be empty, and the user text with which `prompt` asks about `fields`."""
    return fill(prompt["cot"] if cot else prompt.get("system", ""), fields), fill(prompt["user"], fields)


def turns(system: str, user: str, examples: Iterable[Example] = ()) -> list[dict[str, str]]:
    """Chat messages: the system text if there is one, each example as a user and an assistant turn, the question."""
    shown = [
        turn
        for example in examples
        for turn in ({"role": "user", "content": example.prompt}, {"role": "assistant", "content": example.reply})
    ]
    first = [{"role": "system", "content": system}] if system else []
    return [*first, *shown, {"role": "user", "content": user}]


def render(case: Case, prompt: Prompt, *, cot: bool = False) -> Item:
    """The item that asks `case` with `prompt`."""
    system, user = texts(prompt, case.fields, cot=cot)
    return Item(case.id, case.cluster, case.target, system, user, case.gold, case.tags, case.fields)


def messages(item: Item, examples: Iterable[Example] = ()) -> list[dict[str, str]]:
    """The chat messages of an item."""
    return turns(item.system, item.prompt, examples)
