"""How a model is asked: an item and a prompt make the messages that are sent.

Task files have the prompts of tasks, `solvers/prompts/` the prompts of methods, judges and builders. A prompt has
`user` and, optionally, `system` and `cot`, the system text when a chain of thought is asked for. In prompt files
`{name}` is a placeholder for a field of the item and any other brace is kept; task files use Jinja (`{{name}}`), as in
lm-eval.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import halu_tasks
from halu_tasks.core.errors import UsageError, unknown
from halu_tasks.core.files import read_yaml
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import Example, Item
from halu_tasks.core.limits import exceeded, limit

PROMPTS = Path(halu_tasks.__path__[-1], "solvers", "prompts")
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")

Prompt = Mapping[str, str]
_KEYS = {"system", "user", "cot"}


@cache
def read_prompts(path: Path) -> dict[str, Prompt]:
    """Read the prompts of a file, by name.

    Raises:
        UsageError: The file cannot be read or is not a prompt file.
    """
    entries = read_yaml(path)
    if not isinstance(entries, dict):
        raise UsageError(f"prompts {path}: expected a mapping of names to prompts")
    try:
        return {str(name): _entry(str(name), entry) for name, entry in entries.items()}
    except ValueError as error:
        raise UsageError(f"prompts {path}: {error}") from None


def _entry(name: str, entry: Any) -> Prompt:
    is_prompt = isinstance(entry, dict) and all(isinstance(text, str) for text in entry.values())
    if not is_prompt or not set(entry) <= _KEYS:
        raise ValueError(f"{name!r} may have {', '.join(sorted(_KEYS))}, each a string")
    # JSON writes a character beyond the first plane as a surrogate pair, which YAML reads as two characters
    return {key: text.encode("utf-16-le", "surrogatepass").decode("utf-16-le") for key, text in entry.items()}


def prompt_for(name: str, file_of_package: str) -> Prompt:
    """Return the packaged prompt of a method, judge or builder.

    Args:
        name: The name of the prompt.
        file_of_package: The file in `solvers/prompts/`, without its extension.
    """
    return read_prompts(PROMPTS / f"{file_of_package}.yaml")[name]


def given_prompts(file: str, names: Iterable[str]) -> dict[str, Prompt]:
    """Read a user's prompt file, which may have prompts of any tasks and methods.

    Args:
        file: The path of the file.
        names: The names of tasks' prompts; prompts of methods are always allowed.

    Returns:
        The prompts by name.

    Raises:
        UsageError: The file cannot be read, or has an unknown prompt or key.
    """
    prompts = read_prompts(Path(file).expanduser())
    allowed = {name for path in PROMPTS.glob("*.yaml") if path.stem != "judge" for name in read_prompts(path)}
    allowed.update(names)
    if unknown_names := sorted(set(prompts) - allowed):
        raise UsageError(f"prompts {file}: {unknown('prompt', unknown_names[0], sorted(allowed))}")
    return prompts


@cache
def next_question(questions: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for the place where a reply continues with another question, as base models do.

    It matches the end of a line before one that begins like one of the questions, or with the label of its first field.

    Args:
        questions: The user texts of prompts.
    """
    beginnings: set[str] = set()
    for question in questions:
        lines = question.splitlines()
        label = next((line for line in lines if "{" in line), "").partition("{")[0].strip()
        beginnings |= {beginning for beginning in (lines[0].partition("{")[0].strip(), label) if len(beginning) > 3}
    return re.compile(rf"\n[ \t]*(?:{'|'.join(map(re.escape, sorted(beginnings))) or '(?!)'})")


def prompt_hash(prompt: Prompt) -> str:
    """Return eight hexadecimal digits that change with any word of the prompt."""
    return stable_hash(*chain.from_iterable(sorted(prompt.items())))[:8]


class JinjaText(str):
    """A string with Jinja's placeholders, `{{name}}`, as in task files; in plain strings they are `{name}`."""


@cache
def _names_in(source: str) -> frozenset[str]:
    from jinja2 import TemplateSyntaxError, meta, nodes

    try:
        tree = _jinja().parse(source)
        for load in tree.find_all((nodes.Extends, nodes.FromImport, nodes.Import, nodes.Include)):
            raise ValueError(f"line {load.lineno} loads another file ({type(load).__name__}), which no template may")
        return frozenset(meta.find_undeclared_variables(tree))
    except TemplateSyntaxError as error:
        raise ValueError(f"line {error.lineno} is not valid Jinja ({error.message})") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def placeholders(text: str) -> set[str]:
    """Return the names of a template's placeholders."""
    if not isinstance(text, JinjaText):
        return set(PLACEHOLDER.findall(text))
    return set(_names_in(str(text)))


def render_jinja(text: str, values: Mapping[str, Any]) -> str:
    """Fill the placeholders of a Jinja template, which can neither call what is in Python nor load a file.

    Raises:
        UsageError: A placeholder has no value, the template fails, or it exceeds a limit.
    """
    left, parts = limit("max_prompt"), []
    try:
        template = _template(text)
        if isinstance(template, str):
            return template
        for part in template.generate(values):
            parts.append(part)
            left -= len(part)
            if left < 0:
                break
    except Exception as error:  # a template may raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UsageError(f"prompt: {reason}; fields: {', '.join(values)}") from None
    if left < 0:
        raise exceeded("max_prompt", "prompt")
    return "".join(parts)


@cache
def _jinja() -> Any:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)


@cache
def _template(source: str) -> Any:
    """Return a template, or the text itself if Jinja would change nothing, as of most system texts."""
    return _jinja().from_string(str(source)) if "{" in source or "\r" in source else str(source)


def fill(text: str, fields: Mapping[str, str]) -> str:
    """Replace each placeholder of a template by the field of its name; braces inside fields are kept.

    Raises:
        UsageError: There is no field for a placeholder.
    """
    if isinstance(text, JinjaText):
        return render_jinja(text, fields)

    def value(match: re.Match[str]) -> str:
        if match[1] not in fields:
            raise UsageError(f"prompt: {{{match[1]}}} is not a field; fields: {', '.join(fields)}")
        return fields[match[1]]

    return PLACEHOLDER.sub(value, text)


def texts(prompt: Prompt, fields: Mapping[str, str], *, cot: bool = False) -> tuple[str, str]:
    """Fill a prompt.

    Args:
        prompt: The prompt.
        fields: The fields of the item.
        cot: Whether to ask for a chain of thought.

    Returns:
        The system text, which may be empty, and the user text. Before a chain of thought, it has no cue for the answer.
    """
    if not cot:
        return fill(prompt.get("system", ""), fields), fill(prompt["user"], fields)
    return fill(prompt["cot"], fields), fill(without_cue(prompt["user"]), fields)


def cue_of(template: str) -> str:
    """Return the last line of a user text if it only asks for the answer, such as `Final Verdict:`; else nothing."""
    last = template.rpartition("\n")[2].strip()
    return last if last.endswith((":", "：")) and not placeholders(type(template)(last)) else ""


def without_cue(template: str) -> str:
    """Return a user text without the cue for its answer."""
    return type(template)(template.rpartition("\n")[0].rstrip()) if cue_of(template) else template


def turns(system: str, user: str, examples: Iterable[Example] = ()) -> list[dict[str, str]]:
    """Make chat messages: the system text unless it is empty, two turns for each example, and the question.

    Args:
        system: The system text.
        user: The question.
        examples: The worked examples.
    """
    turns_so_far = [("system", system)] if system else []
    for example in examples:
        turns_so_far += [("user", example.prompt), ("assistant", example.reply)]
    return [{"role": role, "content": text} for role, text in (*turns_so_far, ("user", user))]


def render(item: Item, prompt: Prompt, *, cot: bool = False) -> Item:
    """Return an item with its prompt.

    Args:
        item: The item.
        prompt: The prompt.
        cot: Whether to ask for a chain of thought.
    """
    system, user = texts(prompt, item.fields, cot=cot)
    return Item(item.id, item.cluster, item.target, system, user, item.gold, item.tags, item.fields, item.explanation)


def messages(item: Item, examples: Iterable[Example] = ()) -> list[dict[str, str]]:
    """Return the chat messages of an item."""
    return turns(item.system, item.prompt, examples)


def system_in_user(chat: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Put the system text before the first user turn, with a blank line between them."""
    system = "\n\n".join(turn["content"] for turn in chat if turn["role"] == "system")
    without_system = [dict(turn) for turn in chat if turn["role"] != "system"]
    if system and (first := next((turn for turn in without_system if turn["role"] == "user"), None)):
        first["content"] = f"{system}\n\n{first['content']}"
    return without_system


NO_SYSTEM_ROLE = "%s: the model's chat template has no system role, so the system text goes before the first user turn"
"""A warning about a task."""


def takes_system(render: Callable[[list[dict[str, str]]], Any]) -> bool:
    """Return whether a chat template has a system role.

    Some templates raise an error, others leave the text out, and lm-eval does so in the place of those that raise one.

    Args:
        render: Applies the template to messages.
    """
    try:
        return "the system text" in str(render(turns("the system text", "the question")))
    except Exception:  # a template may raise anything
        return False
