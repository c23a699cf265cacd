"""How a model is asked: a case and a prompt text make the messages that go over the wire.

Prompts are data, one YAML file a benchmark in `solvers/prompts/`, and one copy serves both harnesses.
An entry holds `user` and, optionally, `system` and `cot`: the system text when a chain of thought is
asked for. `{name}` stands for a field of the case; any other brace is text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from halu_tasks.errors import UsageError
from halu_tasks.items import Case, Example, Item

PROMPTS = Path(__file__).parent / "prompts"
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


def prompt_for(name: str, benchmark: str, file: str | None = None) -> Prompt:
    """The prompt called `name`: the package's, with the texts that the user's `file` gives in its place.
    A file may hold prompts of several tasks and leave out others, which keep the package's wording.

    Raises:
        UsageError: the file cannot be read, or names a prompt or a key that there is none of.
    """
    own = read_prompts(PROMPTS / f"{benchmark}.yaml")[name]
    if file is None:
        return own
    given = read_prompts(Path(file).expanduser())
    known = {known for path in PROMPTS.glob("*.yaml") if path.stem != "judge" for known in read_prompts(path)}
    if unknown := sorted(set(given) - known):
        raise UsageError(f"prompts {file}: there is no prompt {unknown[0]!r}; it may name {', '.join(sorted(known))}")
    return {**own, **given.get(name, {})}


@cache
def next_question(benchmark: str) -> re.Pattern[str]:
    """Where a reply goes on to ask itself another question of the benchmark, as base models do: a line that
    begins as the user text of one of the package's prompts does, or with the label of its first field."""
    begins: set[str] = set()
    for prompt in read_prompts(PROMPTS / f"{benchmark}.yaml").values():
        lines = prompt["user"].splitlines()
        label = next(line for line in lines if "{" in line).partition("{")[0].strip()
        begins |= {begin for begin in (lines[0].partition("{")[0].strip(), label) if len(begin) > 3}
    return re.compile(rf"(?<=\S)\s*\n[ \t]*(?:{'|'.join(map(re.escape, sorted(begins))) or '(?!)'})")


def prompt_hash(prompt: Prompt) -> str:
    """Eight hex digits that change whenever a word of the prompt does."""
    text = "\0".join(f"{key}\0{prompt[key]}" for key in sorted(prompt))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def fill(text: str, fields: Mapping[str, str]) -> str:
    """`text` with each `{name}` of a field replaced, once: braces inside a field stay as they are.

    Raises:
        UsageError: a placeholder that the case has no field for.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in fields:
            raise UsageError(f"prompt has {{{match[1]}}}; this task fills {', '.join(fields)}")
        return fields[match[1]]

    return PLACEHOLDER.sub(value, text)


def render(case: Case, prompt: Prompt, *, cot: bool = False) -> Item:
    """The item that asks `case` with `prompt`."""
    system = fill(prompt["cot"] if cot else prompt.get("system", ""), case.fields)
    user = fill(prompt["user"], case.fields)
    return Item(case.id, case.cluster, case.target, system, user, case.gold, case.tags, case.fields)


def messages(item: Item, examples: Iterable[Example] = ()) -> list[dict[str, str]]:
    """The chat messages of an item: system, then each example as a user and an assistant turn, then
    the question."""
    system = [{"role": "system", "content": item.system}] if item.system else []
    turns = [
        turn
        for example in examples
        for turn in (
            {"role": "user", "content": example.prompt},
            {"role": "assistant", "content": example.reply},
        )
    ]
    return [*system, *turns, {"role": "user", "content": item.prompt}]
