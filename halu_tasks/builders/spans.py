"""Edits of an answer: where a sentence or a phrase stands in it, and the answer with tags around what was changed.

Spans are (start, end) code-point offsets, end excluded.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from halu_tasks.scorers.sentences import spans as sentence_spans
from halu_tasks.scorers.spans import Span, Text

_TAG = re.compile(r"<\s*/?\s*(?:neg|swap|mask)\b[^<>]*>", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_JOINERS = "\u200c\u200d"
# Written without spaces, so that a word may begin and end between any two characters: Thai, Lao, Tibetan, Burmese,
# Khmer, kana and Chinese characters.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)


class Edit(NamedTuple):
    """What stands from `start` to `end` becomes `text`."""

    start: int
    end: int
    text: str


def has_tags(text: str) -> bool:
    """Has the text anything that looks like a tag of ReFACT's, closed or not, or like the mask of its correction?"""
    return _TAG.search(text) is not None


def is_text(text: str) -> bool:
    """Is every character one that a line of text may hold? Lone surrogates and control characters are not."""
    return not any(unicodedata.category(char) in ("Cc", "Cs") for char in _LINE_END.sub("", text).replace("\t", ""))


def same(one: str, other: str) -> bool:
    """Do two texts differ in nothing but case, white space and the forms of characters?"""
    return alike(one) == alike(other)


def alike(text: str) -> str:
    """The text without what `same` makes nothing of."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def unfit(text: str, original: str) -> str:
    """Why `text` may not stand in the place of `original`, in a few words; empty where it may."""
    if has_tags(text):
        return "tags of its own"
    if not is_text(text):
        return "characters that are no text"
    if _LINE_END.search(text):
        return "several lines"
    if len(text) > 2 * len(original) + 60:
        return "much longer"
    return "unchanged" if same(text, original) else ""


class Prose:
    """A text in which sentences and phrases are looked up; what each look-up needs is made once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.sentences: Sequence[Span] = sentence_spans(text)
        self._begins = frozenset(start for start, _ in self.sentences)
        self._alike = Counter(alike(text[start:end]) for start, end in self.sentences)
        self._placed = Text(text)

    def sentence(self, string: str) -> Span | str:
        """The sentence that `string` is, or is a part of; case, white-space runs and quote style make no difference.

        Returns why there is none, in a few words: it is nowhere, stands there more than once, or goes over several
        sentences.
        """
        found = self._placed.place(string, fuzzy=False)
        if not found:
            return "not in the answer"
        if len(found) > 1:
            return "more than once in the answer"
        ((start, end),) = found
        over = self.over(start, end)
        if len(over) != 1:
            return "several sentences" if over else "not in the answer"
        return over[0] if self._alike[alike(self.text[slice(*over[0])])] == 1 else "more than once in the answer"

    def over(self, start: int, end: int) -> list[Span]:
        """The sentences that a span lies in, or goes over."""
        return [span for span in self.sentences if span[0] < end and start < span[1]]

    def has_sentence(self, string: str) -> bool:
        return self._alike[alike(string)] > 0

    def begins(self, at: int) -> bool:
        """Does a sentence begin at character `at`?"""
        return at in self._begins

    def mentions(self, phrase: str) -> list[Span]:
        """Every place where `phrase` stands as whole words, white-space runs aside, in order.

        A word that is written with a capital where a sentence begins is the same word without one.
        """
        found = _whole_words(self.text, phrase)
        first = phrase[:1]
        other = first.lower() if first.isupper() else first.upper()
        if other == first or len(other) != 1:
            return found
        toggled = _whole_words(self.text, other + phrase[1:])
        if first.isupper():
            # elsewhere than where a sentence begins, the capital belongs to a name
            return sorted([*found, *toggled]) if found and all(self.begins(start) for start, _ in found) else found
        return sorted([*found, *(span for span in toggled if self.begins(span[0]))])

    def changed_parts(self, edits: Sequence[Edit]) -> list[tuple[str, str]]:
        """The sentences that edits change, each before and after; sentences that one edit goes over are one."""
        parts: list[Span] = []
        for edit in edits:
            spans = [*self.over(edit.start, edit.end), (edit.start, edit.end)]
            start, end = min(start for start, _ in spans), max(end for _, end in spans)
            if parts and start < parts[-1][1]:
                start, end = parts[-1][0], max(parts.pop()[1], end)
            parts.append((start, end))
        found = []
        for start, end in parts:
            inside = [Edit(at - start, to - start, new) for at, to, new in edits if start <= at < end]
            found.append((self.text[start:end], edited(self.text[start:end], inside, "x")[0]))
        return list(dict.fromkeys(found))


def mentioned(text: str, phrase: str) -> bool:
    """Does `phrase` stand in `text` as whole words, in whatever case?"""
    return bool(_whole_words(text, phrase, re.IGNORECASE))


def _whole_words(text: str, phrase: str, flags: re.RegexFlag = re.RegexFlag.NOFLAG) -> list[Span]:
    words = phrase.split()
    if not words:
        return []
    pattern = re.compile(r"\s+".join(map(re.escape, words)), flags)
    found = (match for match in pattern.finditer(text) if len(_LINE_END.findall(match[0])) < 2)
    return [match.span() for match in found if not (_cuts(text, match.start()) or _cuts(text, match.end()))]


def _cuts(text: str, at: int) -> bool:
    """Does a cut before character `at` go through a word, a number, or a character of several parts?"""
    before, after = text[max(at - 1, 0) : at], text[at : at + 1]
    if not before or not after:
        return False
    if unicodedata.combining(after) or unicodedata.category(after)[0] == "M" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if before in _JOINERS or after in _JOINERS:
        return True
    if _UNSPACED.match(before) or _UNSPACED.match(after):
        return False
    if after in ".,":
        return before.isdigit() and text[at + 1 : at + 2].isdigit()
    if before in ".,":
        return after.isdigit() and text[max(at - 2, 0) : at - 1].isdigit()
    return _in_word(before) and _in_word(after)


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M"


def longest(text: str, spans: Iterable[Span]) -> list[Span]:
    """The spans without those that overlap a longer one, in order; those with nothing but white space between them
    are one."""
    kept: list[Span] = []
    for start, end in sorted(set(spans), key=lambda span: (span[0] - span[1], span[0])):
        if all(end <= other[0] or other[1] <= start for other in kept):
            kept.append((start, end))
    joined: list[Span] = []
    for start, end in sorted(kept):
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined


def edited(text: str, edits: Iterable[Edit], tag: str) -> tuple[str, str]:
    """The text after the edits, which follow each other, and the same with `<tag>…</tag>` around each."""
    plain: list[str] = []
    tagged: list[str] = []
    read = 0
    for edit in edits:
        plain += (text[read : edit.start], edit.text)
        tagged += (text[read : edit.start], f"<{tag}>{edit.text}</{tag}>")
        read = edit.end
    return "".join([*plain, text[read:]]), "".join([*tagged, text[read:]])


def marked(text: str, spans: Iterable[Span], tag: str) -> str:
    """The text with `<tag>…</tag>` around each span."""
    return edited(text, [Edit(start, end, text[start:end]) for start, end in spans], tag)[1]


def in_one_line(text: str, original: str = "\n") -> str:
    """`text` with spaces for the line ends inside it, where `original` has some."""
    return " ".join(_LINE_END.split(text)) if _LINE_END.search(original) else text


def begun_as(text: str, original: str) -> str:
    """`text` with a capital where `original` begins with one and `text` with a plain lower-case word."""
    word = re.match(r"[^\W\d_]+", text)
    if original[:1].isupper() and word and word[0].islower() and len(text[0].upper()) == 1:
        return text[0].upper() + text[1:]
    return text
