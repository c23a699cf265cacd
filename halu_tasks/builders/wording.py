"""The prompts of a pipeline in a language: the package's, or those of a user's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from halu_tasks.errors import UsageError
from halu_tasks.solvers.prompting import PLACEHOLDER, PROMPTS, read_prompts


@cache
def prompt_texts(pipeline: str, names: Sequence[str], language: str, file: str | None) -> Mapping[str, str]:
    """The texts of the entries `<pipeline>_<name>_<language>` by their names.

    A user's file may replace some of the package's, or hold all of a language that the package has not.

    Raises:
        UsageError: the file cannot be read, has entries that no language could use, or an entry is missing.
    """
    own = read_prompts(PROMPTS / f"{pipeline}.yaml")
    given = read_prompts(Path(file).expanduser()) if file else {}
    stems = tuple(f"{pipeline}_{name}_" for name in names)
    if unknown := sorted(name for name in given if not name.startswith(stems)):
        known = ", ".join(f"{stem}{language}" for stem in stems)
        raise UsageError(f"prompts {file}: {pipeline} has no prompt {unknown[0]!r}; it may name {known}")
    found = {**own, **given}
    wanted = {name: f"{pipeline}_{name}_{language}" for name in names}
    if missing := [entry for entry in wanted.values() if "user" not in found.get(entry, {})]:
        choices = sorted({name.removeprefix(stems[0]) for name in found if name.startswith(stems[0])})
        raise UsageError(
            f"{pipeline} has no prompts in {language!r}; choose {' or '.join(choices)}, or name a prompt file with "
            f"{', '.join(missing)}"
        )
    texts = {name: found[entry]["user"] for name, entry in wanted.items()}
    for name, entry in wanted.items() if given else ():
        # what the pipeline fills, as the package's prompt has it in the same language or in any
        stem = f"{pipeline}_{name}_"
        model = own.get(entry) or next(own[known] for known in sorted(own) if known.startswith(stem))
        filled, there = (set(PLACEHOLDER.findall(text)) for text in (model["user"], texts[name]))
        if wrong := sorted(filled ^ there):
            told = "leaves out" if wrong[0] in filled else "has a placeholder of no meaning,"
            raise UsageError(f"prompts {file}: {entry} {told} {{{wrong[0]}}}; it has to have {_listed(filled)}")
    return texts


def _listed(names: set[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names)) or "none"
