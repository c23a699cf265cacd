"""Load the lexicons of the readers and find their phrases in a text.

A lexicon is a YAML file in `lexicons`: `en.yaml` has the words of a language that all questions need (negators,
conceders, markers), and `types.en.yaml` those of one question in that language. Each key is a kind of phrase; its
value is a text of phrases between vertical bars, or a mapping of labels to such texts. In a phrase, `*` stands for the
rest of a word, and `...` for up to three words. The key `prefix` is an expression for what is written together with
the next word.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from halu_tasks.text.folding import fold

_SPECIAL = re.compile(r"( ?\.\.\. ?|\*|[ '-]+)")
_HAN = "\u3400-\u9fff"
_EXPRESSIONS = {"*": r"\w*", "...": r"[ '-]+(?:\S+ ){0,3}?"}
_JOINED, _WORD_END = "[ '-]+", r"(?!\w)"
_compiled = cache(re.compile)

LANGUAGES = ("en", "eu", "zh", "tr", "ar", "hi", "es", "fa", "ja", "ko")
"""The languages of the lexicons; `eu` has those of Europe other than English. Not every lexicon has all of them.

Models answer in their own language whatever that of the question, so every reply is read in all of them.
"""


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
        # by phrase: its expression, its first word, and its prefix
        expressions: dict[str, tuple[str, str, str]] = {}
        for name in names:
            lexicon = load(name)
            prefix = lexicon.pop("prefix", "")
            for kind, words in lexicon.items():
                for label, phrases in (words if isinstance(words, dict) else {"": words}).items():
                    for phrase in map(str.strip, phrases.split(" | ")):
                        expression, begin = _expression(phrase, prefix), fold(_SPECIAL.split(phrase)[0])
                        expressions[phrase] = expression, begin, prefix
                        self._exact.pop(phrase, None)
                        self._open.pop(phrase, None)
                        if prefix or _SPECIAL.search(phrase):
                            self._open[phrase] = "" if prefix else begin, expression, kind, label
                        else:
                            self._exact[fold(phrase)] = kind, label
        self._by_first = defaultdict[str, list[tuple[str, tuple[str, str, str, str]]]](list)
        for phrase, of in self._open.items():
            self._by_first[of[0][:1]].append((phrase, of))
        self._index(list(expressions.values()))
        self.kinds = {kind for kind, _ in self._exact.values()} | {kind for *_, kind, _ in self._open.values()}
        """The kinds of its phrases."""
        self._kind = lru_cache(100_000)(self._find_kind)
        self._phrases = lru_cache(100_000)(self._find_phrases)

    def literal(self, kind: str, label: str | None = None) -> list[str]:
        """Return the phrases of a kind that stand for nothing but themselves; None for those of any label."""
        of = {**self._exact, **{phrase: (kind, label) for phrase, (_, _, kind, label) in self._open.items()}}
        chosen = (phrase for phrase, each in of.items() if each[0] == kind and label in (None, each[1]))
        return [phrase for phrase in chosen if "*" not in phrase and "..." not in phrase]

    def _index(self, expressions: list[tuple[str, str, str]]) -> None:
        """Sort expressions by what they begin with, so that most words of a text only have to be looked up.

        This is a word; a single character for signs, scripts without spaces, and phrases with a prefix; and nothing for
        what is joined to the word before it.
        """
        single = {begin[0] for _, begin, prefix in expressions if begin and (prefix or not begin[0].isalnum())}
        single |= {char for _, _, prefix in expressions for char in prefix if char.isalpha()}
        chars = _HAN + "".join(map(re.escape, sorted(single)))
        joined = {expression.removeprefix(_JOINED)[0] for expression, begin, _ in expressions if not begin}
        self._places = re.compile("|".join([rf"[^\W{chars}]+|[{chars}]", *(f"{_JOINED}(?={char})" for char in joined)]))
        self._begun, self._stems = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
        for expression, begin, prefix in expressions:
            place = self._places.match(begin)
            word = place[0] if place else ""
            behind = expression.removeprefix(re.escape(begin))
            is_stem = not prefix and word == begin and not behind.startswith((_JOINED, _WORD_END))
            for start in {word, *filter(str.isalpha, prefix)}:
                (self._stems if is_stem else self._begun)[start].append(expression)

    def _find_phrases(self, start: str) -> re.Pattern[str] | None:
        """Return an expression for the phrases that begin with a word or character; None if there are none."""
        found = [*self._begun.get(start.lstrip(" '-"), ())]
        found += [each for end in range(1, len(start) + 1) for each in self._stems.get(start[:end], ())]
        return _compiled(_alternatives(found)) if found else None

    def _find_kind(self, text: str) -> tuple[str, str]:
        if known := self._exact.get(text):
            return known
        # compiling all expressions takes longer than most replies
        matching = [
            (phrase, kind, label)
            for phrase, (begin, expression, kind, label) in (*self._by_first[text[0]], *self._by_first[""])
            if text.startswith(begin) and _compiled(expression).fullmatch(text)
        ]
        _, kind, label = max(matching, key=lambda match: len(match[0].strip("*")))
        return kind, label

    def scan(self, text: str) -> Iterator[Token]:
        """Yield the phrases in a folded text, from left to right; of those at one place, the longest."""
        position, phrases_of, kind_of = 0, self._phrases, self._kind
        for place in self._places.finditer(text):
            if (phrases := phrases_of(place[0])) is None or (start := place.start()) < position:
                continue
            if start and text[start - 1].isalnum() and _is_within_word(text, start):
                continue
            if match := phrases.match(text, start):
                position = match.end()
                yield Token(*kind_of(match[0]), start, position)


def _expression(phrase: str, prefix: str) -> str:
    pieces = _SPECIAL.split(phrase)
    folded = (
        _EXPRESSIONS.get(piece.strip(), _JOINED) if i % 2 else re.escape(fold(piece)) for i, piece in enumerate(pieces)
    )
    expression = prefix + "".join(folded)
    ends = _WORD_END if (phrase[-1].isalnum() or phrase[-1] == "*") and not _has_han(phrase) else ""
    return expression + ends


def _is_within_word(text: str, start: int) -> bool:
    return text[start - 1 : start + 1].isalnum() and not _has_han(text[start - 1 : start + 1])


def _has_han(text: str) -> bool:
    # a set of them takes a millisecond to compile
    return not text.isascii() and any("\u3400" <= char <= "\u9fff" for char in text)


def _alternatives(expressions: Iterable[str]) -> str:
    """Return an expression for the longest of several; those of one first letter are tried together."""
    groups: dict[str, list[str]] = {}
    longest_first = sorted(set(expressions), key=lambda each: (-len(each.removesuffix(_WORD_END)), each))
    for expression in longest_first:
        first = expression[0] if expression[0].isalnum() else ""
        groups.setdefault(first, []).append(expression[len(first) :])
    marks = groups.pop("", [])
    words = "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in groups.items())
    return "|".join([*marks, *([words] if words else [])])


@cache
def lexicon(*names: str) -> Lexicon:
    """Return the lexicon of the files with these names."""
    return Lexicon(names)


@cache
def phrases(name: str) -> dict[str, tuple[str, ...]]:
    """Return the phrases of each kind in one file, as they are written."""
    return {kind: tuple(map(str.strip, words.split(" | "))) for kind, words in load(name).items()}


def expression_of(names: Iterable[str], kinds: Iterable[str]) -> str:
    """Return an expression for the phrases of some kinds in several files, as whole words and the longest first."""
    found = {phrase for name in names for kind in kinds for phrase in phrases(name).get(kind, ())}
    longest_first = sorted(found, key=lambda phrase: (-len(phrase), phrase))
    words, joined = (
        "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in longest_first if _has_han(phrase) == has_han)
        for has_han in (False, True)
    )
    return rf"(?<!\w)(?:{words})(?!\w)" + (f"|{joined}" if joined else "")


def load(name: str) -> Any:
    """Return the content of one file; an empty mapping if there is none."""
    path = files(__package__) / "lexicons" / f"{name}.yaml"
    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader) if path.is_file() else {}
