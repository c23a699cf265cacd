"""Checking that sentences copied by a model are whole sentences of a document, and how the document writes them."""

from __future__ import annotations

import re
import unicodedata

from halu_tasks.scorers.answer import Answer
from halu_tasks.text.sentences import sentences
from halu_tasks.text.spans import occurrences

_ENDS = ".!?…؟۔。！？।"
_CLOSERS = "\"'”’»›)]）」』"
# soft hyphens and directional marks; the joiners U+200C and U+200D are part of the spelling
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\ufeff"))
_UNSEEN |= dict.fromkeys(range(0x2066, 0x206A))
_REFERENCE = re.compile(r"\[(?:\d{1,3}|[a-z])\]")
# one character for one character, so that offsets stay the same
_RETYPED = str.maketrans("’‘ʼ＇“”„«»‐‑–—", "''''" + '"' * 5 + "-" * 4)
_ENDED = re.compile(rf"[{_ENDS}][{re.escape(_CLOSERS)}]*\Z")
_MORE_ENDS = re.compile(rf"[{_ENDS}]+")
_GOES_ON = ",;،؛、，-–—(（[/&"
_ORDINAL = re.compile(r"(?:\A|\W)(?:\d{1,2}|[IVXLCDM]{1,6})\.\Z")
_SHORTENED = re.compile(r"(?:\A|\W)[^\W\d_a-z][^\W\d_]{0,2}\.\Z")
_LONGEST = 2_000


def plain(text: str) -> str:
    """Normalize a text to form C, without reference marks ("[3]") and invisible characters.

    Lone surrogates become U+FFFD. Line ends are kept.
    """
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _REFERENCE.sub("", unicodedata.normalize("NFC", text.translate(_UNSEEN)))


def one_line(text: str) -> str:
    """Normalize a text with `plain`, and replace every run of white space with one space."""
    return " ".join(plain(text).split())


def sentence_count(text: str, language: str) -> int:
    """Return the number of sentences a text certainly contains.

    Ordinals ("II. Mehmed", "am 3. Oktober") do not end a sentence; neither do, except in English, capitalized words of
    up to three letters ("Hz. Ali"), as abbreviations differ between languages.
    """
    parts = sentences(plain(text))
    doubtful = (
        _ORDINAL.search(part[-9:]) or (language != "en" and _SHORTENED.search(part[-9:])) for part in parts[:-1]
    )
    return len(parts) - sum(map(bool, doubtful))


def ended(text: str) -> bool:
    """Whether a text ends in a mark that ends a sentence, possibly followed by closing quotes or brackets."""
    return bool(_ENDED.search(text))


class SourceText:
    """A document's text, prepared for finding many sentences in it.

    `text.spans.Text` locates strings as readers of replies need it: in the text as it is, in any case. A copied
    sentence must match in case, but white space may differ anywhere, as documents wrap lines even inside words of
    scripts without spaces, and reference marks are left out.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self.text = plain(text)
        self._places = [place for place, char in enumerate(self.text) if not char.isspace()]
        self._compact = _compact(self.text)

    def holds(self, text: str) -> bool:
        """Whether the document contains a text, ignoring white space and the style of quotation marks and dashes."""
        compact = _compact(plain(text))
        return bool(compact) and compact in self._compact

    def sentence(self, text: str) -> Answer[str]:
        """Return a copied sentence as the document writes it, on one line, with the full stop the copy may lack.

        Otherwise the reason is `not in the document`, `part of a sentence` or `too long`.
        """
        if len(text) > _LONGEST:
            return Answer(None, "too long")
        compact = _compact(plain(text))
        reason = "not in the document"
        for at in occurrences(self._compact, compact):
            start, end = self._places[at], self._places[at + len(compact) - 1] + 1
            if self._begins(start) and (end := self._end(start, end)):
                return Answer(" ".join(self.text[start:end].split()))
            reason = "part of a sentence"
        return Answer(None, reason)

    def _begins(self, start: int) -> bool:
        """Whether a sentence can begin here: not after a word or comma, unless a line ends between them."""
        before = self.text[max(start - 200, 0) : start]
        char = before.rstrip()[-1:]
        if not char or not (char.isalnum() or char in _GOES_ON):
            return True
        wrapped = "\n" in before[len(before.rstrip()) :]
        return wrapped and not self.text[start].islower()

    def _end(self, start: int, end: int) -> int:
        """Return where the sentence copied up to `end` ends; 0 if it continues."""
        if ended(self.text[start:end]):
            return end
        if more := _MORE_ENDS.match(self.text, end):
            return more.end()
        following = self.text[end : end + 200].lstrip(" \t\u00a0")
        return end if not following or following[0] in "\r\n\v\f\u2028\u2029\x85" else 0


def _compact(text: str) -> str:
    """Remove white space, and unify quotation marks and dashes."""
    return "".join(text.split()).translate(_RETYPED)
