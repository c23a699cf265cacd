"""Load the lexicons of the readers and find their phrases in a text.

A lexicon is a YAML file in `lexicons`: `en.yaml` has the words of a language that all questions need (negators,
conceders, markers), and `types.en.yaml` those of one question in that language. Each key is a kind of phrase; its
value is a text of phrases between vertical bars, or a mapping of labels to such texts. In a phrase, `*` stands for the
rest of a word, and `...` for up to three words. The key `prefix` is an expression for what is written together with
the next word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from halu_tasks.text.folding import fold

_SPECIAL = re.compile(r"(\.\.\.|\*|[ '-]+)")
_HAN = "\u3400-\u9fff"
_WITHOUT_SPACES = re.compile(f"[{_HAN}]")
_compiled = cache(re.compile)


class Token(NamedTuple):
    """A phrase of a lexicon in a text: its kind, the label that it stands for (or an empty string), and its place."""

    kind: str
    label: str
    start: int
    end: int


class Lexicon:
    """The phrases of several lexicon files.

    Args:
        names: The names of the files without their ending. Those that do not exist are ignored, since a language need
            not have words of its own for a question. A phrase of a later file replaces the same phrase of an earlier
            one.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._exact: dict[str, tuple[str, str]] = {}
        # by phrase: how it begins, its expression, kind and label
        self._open: dict[str, tuple[str, str, str, str]] = {}
        expressions: dict[str, str] = {}
        for name in names:
            lexicon = load(name)
            prefix = lexicon.pop("prefix", "")
            for kind, words in lexicon.items():
                for label, phrases in (words if isinstance(words, dict) else {"": words}).items():
                    for phrase in map(str.strip, phrases.split(" | ")):
                        expressions[phrase] = expression = _expression(phrase, prefix)
                        self._exact.pop(phrase, None)
                        self._open.pop(phrase, None)
                        if prefix or _SPECIAL.search(phrase):
                            begin = "" if prefix else fold(_SPECIAL.split(phrase)[0])
                            self._open[phrase] = begin, expression, kind, label
                        else:
                            self._exact[fold(phrase)] = kind, label
        self._pattern = re.compile(_alternatives(expressions.values()))
        self._kind = lru_cache(100_000)(self._find_kind)

    def _find_kind(self, text: str) -> tuple[str, str]:
        if known := self._exact.get(text):
            return known
        # compiling all expressions takes longer than most replies
        matching = [
            (phrase, kind, label)
            for phrase, (begin, expression, kind, label) in self._open.items()
            if text.startswith(begin) and _compiled(expression).fullmatch(text)
        ]
        _, kind, label = max(matching, key=lambda match: len(match[0].strip("*")))
        return kind, label

    def scan(self, text: str) -> list[Token]:
        """Return the phrases in a folded text, from left to right; of those at one place, the longest."""
        return [Token(*self._kind(match[0]), *match.span()) for match in self._pattern.finditer(text)]


def _expression(phrase: str, prefix: str) -> str:
    parts = {"*": r"\w*", "...": r"(?:\S+ ){0,3}?"}
    pieces = _SPECIAL.split(phrase)
    folded = (parts.get(piece, r"[ '-]+") if i % 2 else re.escape(fold(piece)) for i, piece in enumerate(pieces))
    expression = prefix + "".join(folded)
    ends = r"(?!\w)" if (phrase[-1].isalnum() or phrase[-1] == "*") and not _WITHOUT_SPACES.search(phrase) else ""
    return expression + ends


def _alternatives(expressions: Iterable[str]) -> str:
    """Return an expression for the longest of several; those of one first letter are tried together."""
    groups: dict[str, list[str]] = {}
    for expression in sorted(set(expressions), key=lambda expression: (-len(expression), expression)):
        first = expression[0] if expression[0].isalnum() else ""
        groups.setdefault(first, []).append(expression[len(first) :])
    marks = groups.pop("", [])
    words = (f"{first}(?:{'|'.join(rest)})" for first, rest in groups.items())
    begins = rf"(?:(?<!\w)|(?<=[{_HAN}])|(?=[{_HAN}]))"
    return "|".join([*marks, f"{begins}(?:{'|'.join(words)})"])


@cache
def lexicon(*names: str) -> Lexicon:
    """Return the lexicon of the files with these names."""
    return Lexicon(names)


@cache
def phrases(name: str) -> dict[str, tuple[str, ...]]:
    """Return the phrases of each kind in one file, as they are written."""
    return {kind: tuple(map(str.strip, words.split(" | "))) for kind, words in load(name).items()}


def load(name: str) -> Any:
    """Return the content of one file; an empty mapping if there is none."""
    path = files(__package__) / "lexicons" / f"{name}.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
