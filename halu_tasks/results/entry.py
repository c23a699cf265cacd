"""Entries of a report: models as they were asked, and their labels."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from halu_tasks.results.run import METHOD_UNKNOWN, PLAIN, Run

_HASH = re.compile(r"\b[0-9a-f]{40,}\b")
"""A hash, such as that of a chat template."""
_DIGITS = 8
"""Number of digits of a hash in a label."""

_GENERATION = {
    "best_of",
    "do_sample",
    "frequency_penalty",
    "max_gen_toks",
    "max_tokens",
    "num_beams",
    "presence_penalty",
    "reasoning_effort",
    "reasoning_tokens",
    "repetition_penalty",
    "seed",
    "stop_seqs",
    "temperature",
    "top_k",
    "top_p",
    "until",
}
"""Settings of how replies are generated, rather than of the model, its server or its chat template."""


@dataclass(frozen=True)
class Entry:
    """A model as it was asked, which is compared with others across tasks.

    `settings` and `roles` are those of its runs that differ from the tasks' own. The judge is not part of an entry.
    """

    model: str
    harness: str
    method: str
    settings: tuple[tuple[str, str], ...]
    roles: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, run: Run) -> Entry:
        """Return the entry that a run belongs to."""
        return cls(
            model=run.model,
            harness=run.harness.rpartition(" ")[0] or run.harness,
            method=run.method,
            settings=tuple(sorted((name, str(value)) for name, value in run.settings.items())),
            roles=tuple(sorted((role, model) for role, model in run.roles.items() if role != "grader")),
        )

    def order(self) -> tuple[Any, ...]:
        """Return a key that sorts entries by their models, ignoring case."""
        return self.model.casefold(), self.model, self.harness, self.method, self.settings, self.roles

    def distinctions(self) -> list[str]:
        """List what may distinguish this entry from another one of the same model."""
        return [
            self.harness,
            *([] if self.method in (PLAIN, METHOD_UNKNOWN) else [self.method]),
            *(f"{name}={_HASH.sub(_first_digits, value)}" for name, value in (*self.roles, *self.settings)),
        ]


def possible_duplicates(entries: Sequence[Entry]) -> list[tuple[Entry, Entry]]:
    """Find pairs of entries of two harnesses that may be the same model under two names.

    These have the same last part of the name, method, roles and settings. The chat template does not count, since only
    lm-eval records it.
    """

    def asked(entry: Entry) -> tuple[Any, ...]:
        settings = [setting for setting in entry.settings if setting[0] != "chat_template"]
        return last_part(entry.model), entry.method, settings, entry.roles

    return [
        (one, other)
        for one, other in combinations(entries, 2)
        if one.harness != other.harness and asked(one) == asked(other)
    ]


def different_settings(compared: Iterable[Iterable[Entry]]) -> dict[str, dict[str | None, list[Entry]]]:
    """Find the generation settings in which compared entries differ.

    Args:
        compared: Entries that are compared with each other, such as those of each column. Entries whose settings are
            not known do not count.

    Returns:
        By the name of the setting, the entries with each value; None is the task's own value.
    """
    differences: dict[str, dict[str | None, list[Entry]]] = {}
    for entries in compared:
        settings = {entry: dict(entry.settings) for entry in entries if entry.method != METHOD_UNKNOWN}
        for name in sorted({name for values in settings.values() for name in values} & _GENERATION):
            if len({values.get(name) for values in settings.values()}) > 1:
                by_value = differences.setdefault(name, {})
                for entry, values in settings.items():
                    of_value = by_value.setdefault(values.get(name), [])
                    of_value += [] if entry in of_value else [entry]
    return differences


def last_part(model: str) -> str:
    """Return what follows the last slash in the name of a model."""
    return model.rstrip("/").rpartition("/")[2]


def short_names(models: Collection[str]) -> dict[str, str]:
    """Shorten the names of models to what follows the last slash, or the slash that all names have in common.

    Args:
        models: All names, such as `openai/gpt-4o-mini` or a folder. They stay distinct.
    """
    last = {model: last_part(model) for model in models}
    if all(last.values()) and len(set(last.values())) == len(last):
        return last
    folders = [model.split("/")[:-1] for model in models]
    common = 0
    while all(len(parts) > common and parts[common] == folders[0][common] for parts in folders):
        common += 1
    return {model: "/".join(model.split("/")[common:]) for model in models}


def _first_digits(match: re.Match[str]) -> str:
    return match[0][:_DIGITS]


def labels_of(entries: Iterable[Entry], *, among_all: bool = False) -> dict[Entry, str]:
    """Label each entry with its model's short name, and with what distinguishes it if the model has several entries.

    Args:
        entries: The entries.
        among_all: Whether to name what distinguishes an entry from those of other models, too.
    """
    entries = list(entries)
    short = short_names({entry.model for entry in entries})
    labels = {}
    for entry in entries:
        others = [other.distinctions() for other in entries if among_all or other.model == entry.model]
        distinct = [text for text in entry.distinctions() if not all(text in other for other in others)]
        labels[entry] = f"{short[entry.model]} ({', '.join(distinct)})" if distinct else short[entry.model]
    return labels
