"""Load the lexicons of the readers and find their phrases in a text.

A lexicon is a YAML file in `lexicons`: `en.yaml` has the words of a language that all questions need (negators,
conceders, markers), and `types.en.yaml` those of one question in that language. Each key is a kind of phrase, which
`lexicons/README.md` explains; its value is a text of phrases between vertical bars, or a mapping of labels to such
texts. In a phrase, `*` stands for the rest of a word, and `...` for up to three words. The key `prefix` is an
expression for what is written together with the next word.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain
from typing import Any, NamedTuple

import yaml

from halu_tasks.text.folding import fold

_SPECIAL = re.compile(r"( ?\.\.\. ?|\*|[ '-]+)")
_HAN = "\u3400-\u9fff"
_EXPRESSIONS = {"*": r"\w*", "...": r"[ '-]+(?:\S+ ){0,3}?"}
_JOINED, _WORD_END = "[ '-]+", r"(?!\w)"
_compiled = cache(re.compile)
_PLACEHOLDER = re.compile(r"\*|\.\.\.")

LANGUAGES = ("en", "eu", "zh", "tr", "ar", "hi", "es", "fa", "ja", "ko")
"""The languages of the lexicons; `eu` has those of Europe other than English. Not every lexicon has all of them.

Models answer in their own language, whatever the language of the question, so every reply is read in all of them.
"""


class Token(NamedTuple):
    """A phrase of a lexicon in a text: its kind, the label that it stands for (or an empty string), and its place."""

    kind: str
    label: str
    start: int
    end: int


class Phrase(NamedTuple):
    """A phrase of a lexicon.

    Attributes:
        text: The phrase as the file has it.
        kind: Its kind.
        label: The label that it stands for, or an empty string.
        prefix: The expression for what may be written before it in the same word.
        start: Its folded text up to the first space or placeholder.
        expression: What it is found by in a folded text.
    """

    text: str
    kind: str
    label: str
    prefix: str
    start: str
    expression: str

    @classmethod
    def of(cls, text: str, kind: str, label: str, prefix: str) -> Phrase:
        """Make a phrase of a file."""
        return cls(text, kind, label, prefix, fold(_SPECIAL.split(text)[0]), _expression(text, prefix))

    @property
    def is_literal(self) -> bool:
        """Whether it is a single word that stands for nothing but itself."""
        return not self.prefix and not _SPECIAL.search(self.text)


class Lexicon:
    """The phrases of several lexicon files.

    A text is divided into places where a phrase may begin: words, and single characters for signs, scripts without
    spaces, and phrases with a prefix. Most places begin no phrase, so that they only have to be looked up.

    Args:
        names: The names of the files without their ending. Those that do not exist are ignored, since a language need
            not have words of its own for a question. A phrase of a later file replaces the same phrase of an earlier
            one.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._phrases: dict[str, Phrase] = {}
        for phrase in chain.from_iterable(map(_phrases_of, names)):
            self._phrases.pop(phrase.text, None)
            self._phrases[phrase.text] = phrase
        every = self._phrases.values()
        self.kinds = {phrase.kind for phrase in every}
        """The kinds of its phrases."""
        # a word that is a phrase is of its kind, also if a longer phrase with a placeholder matches it
        self._words = {fold(phrase.text): phrase for phrase in every if phrase.is_literal}
        self._place = _place_expression(every)
        self._by_word, self._by_stem = defaultdict[str, list[Phrase]](list), defaultdict[str, list[Phrase]](list)
        for phrase in every:
            place = self._place.match(phrase.start)
            word = place[0] if place else ""
            rest = phrase.expression.removeprefix(re.escape(phrase.start))
            is_stem = not phrase.prefix and word == phrase.start and not rest.startswith((_JOINED, _WORD_END))
            for start in {word, *filter(str.isalpha, phrase.prefix)}:
                (self._by_stem if is_stem else self._by_word)[start].append(phrase)
        self._expression_at = lru_cache(100_000)(self._find_expression)
        self._phrase_of = lru_cache(100_000)(self._find_phrase)

    def literal(self, kind: str, label: str | None = None) -> list[str]:
        """Return the phrases of a kind without placeholders; those of any label, if it is None."""
        return [
            phrase.text
            for phrase in self._phrases.values()
            if phrase.kind == kind and label in (None, phrase.label) and not _PLACEHOLDER.search(phrase.text)
        ]

    def _beginning_at(self, place: str) -> list[Phrase]:
        stems = (self._by_stem.get(place[:end], ()) for end in range(1, len(place) + 1))
        return [*self._by_word.get(place.lstrip(" '-"), ()), *chain.from_iterable(stems)]

    def _find_expression(self, place: str) -> re.Pattern[str] | None:
        # compiling the expressions of a whole lexicon takes longer than reading most replies
        expressions = {phrase.expression for phrase in self._beginning_at(place)}
        return _compiled("|".join(sorted(expressions, key=_longest_first))) if expressions else None

    def _find_phrase(self, place: str, text: str) -> Phrase:
        if word := self._words.get(text):
            return word
        matching = (phrase for phrase in self._beginning_at(place) if _compiled(phrase.expression).fullmatch(text))
        return max(matching, key=lambda phrase: len(phrase.text.strip("*")))

    def scan(self, text: str) -> Iterator[Token]:
        """Yield the phrases in a folded text, from left to right; of those at one place, the longest."""
        position, expression_at, phrase_of = 0, self._expression_at, self._phrase_of
        for place in self._place.finditer(text):
            if (expression := expression_at(place[0])) is None or (start := place.start()) < position:
                continue
            if start and text[start - 1].isalnum() and _is_within_word(text, start):
                continue
            if match := expression.match(text, start):
                position = match.end()
                phrase = phrase_of(place[0], match[0])
                yield Token(phrase.kind, phrase.label, start, position)


def _phrases_of(name: str) -> Iterator[Phrase]:
    content = load(name)
    prefix = content.pop("prefix", "")
    for kind, by_label in content.items():
        for label, phrases in (by_label if isinstance(by_label, dict) else {"": by_label}).items():
            for text in phrases.split(" | "):
                yield Phrase.of(text.strip(), kind, label, prefix)


def _place_expression(phrases: Iterable[Phrase]) -> re.Pattern[str]:
    single = {p.start[0] for p in phrases if p.start and (p.prefix or not p.start[0].isalnum())}
    single |= {char for phrase in phrases for char in phrase.prefix if char.isalpha()}
    chars = _HAN + "".join(map(re.escape, sorted(single)))
    # what is joined to the word before it
    joined = {phrase.expression.removeprefix(_JOINED)[0] for phrase in phrases if not phrase.start}
    return re.compile("|".join([rf"[^\W{chars}]+|[{chars}]", *(f"{_JOINED}(?={char})" for char in joined)]))


def _longest_first(expression: str) -> tuple[bool, int, str]:
    return expression[0].isalnum(), -len(expression.removesuffix(_WORD_END)), expression


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
    texts = {phrase for name in names for kind in kinds for phrase in phrases(name).get(kind, ())}
    longest_first = sorted(texts, key=lambda phrase: (-len(phrase), phrase))
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
