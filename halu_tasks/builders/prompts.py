"""The prompts of a pipeline in a language, from this package or a user's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from halu_tasks.core.errors import UsageError
from halu_tasks.core.prompting import PLACEHOLDER, PROMPTS, read_prompts


@cache
def prompt_texts(
    pipeline: str,
    names: Sequence[str],
    language: str,
    file: str | None,
    optional: Sequence[str] = (),
    variant: str = "",
) -> Mapping[str, str]:
    """Return the prompts `<pipeline>_<name>_<language>` by name.

    A user's file can replace some of the package's prompts, or provide all prompts of another language.

    Args:
        pipeline: Name of the pipeline.
        names: Names of the prompts.
        language: Language of the prompts (ISO 639-1).
        file: Path of the user's file; None for the package's prompts only.
        optional: Names of prompts that the file may contain although they are not needed.
        variant: Another wording of some prompts, `<pipeline>_<name>_<variant>_<language>`, which is used where there is
            one; but a prompt of the user's file without a variant takes precedence over a variant of this package.

    Raises:
        UsageError: The file cannot be read, contains unknown entries, or an entry is missing.
    """
    packaged = read_prompts(PROMPTS / f"{pipeline}.yaml")
    given = read_prompts(Path(file).expanduser()) if file else {}
    stems = tuple(f"{pipeline}_{name}_" for name in names)
    allowed = (*stems, *(f"{pipeline}_{name}_" for name in optional))
    if unknown := sorted(name for name in given if not name.startswith(allowed)):
        valid = ", ".join(f"{stem}{language}" for stem in stems)
        raise UsageError(f"prompts {file}: {pipeline} has no prompt {unknown[0]!r}; valid names: {valid}")
    entries = {**packaged, **given}
    required = {name: f"{pipeline}_{name}_{language}" for name in names}
    if variant:
        variants = {name: f"{pipeline}_{name}_{variant}_{language}" for name in names}
        if not any(entry in entries for entry in variants.values()):
            raise UsageError(
                f"{pipeline} has no prompts {variant.replace('_', ' ')} in {language!r}; provide a prompt file with "
                f"{next(iter(variants.values()))} or others"
            )
        for name, entry in variants.items():
            if entry in given or (entry in packaged and required[name] not in given):
                required[name] = entry
    if missing := [entry for entry in required.values() if "user" not in entries.get(entry, {})]:
        choices = sorted({name.removeprefix(stems[0]) for name in entries if name.startswith(stems[0])})
        raise UsageError(
            f"{pipeline} has no prompts in {language!r}; choose {' or '.join(choices)}, or provide a prompt file with "
            f"{', '.join(missing)}"
        )
    texts = {name: entries[entry]["user"] for name, entry in required.items()}
    for name, entry in required.items() if given else ():
        # the placeholders the pipeline fills are those of the package's prompt in this language, or else in any
        stem = f"{pipeline}_{name}_"
        reference = packaged.get(entry) or next(packaged[key] for key in sorted(packaged) if key.startswith(stem))
        expected, actual = (set(PLACEHOLDER.findall(text)) for text in (reference["user"], texts[name]))
        if wrong := sorted(expected ^ actual):
            problem = "lacks the placeholder" if wrong[0] in expected else "has the unknown placeholder"
            raise UsageError(f"prompts {file}: {entry} {problem} {{{wrong[0]}}}; expected {_listed(expected)}")
    return texts


def _listed(names: set[str]) -> str:
    """Format the names of placeholders."""
    return ", ".join(f"{{{name}}}" for name in sorted(names)) or "none"
