"""Read how sure a reply says that it is of its answer, in numbers or words, and take what says so off the reply.

A statement is a field of a JSON object; or a word such as "confidence" and its value, wherever a line or a sentence
begins or a bracket opens ("Confidence: 85%", "(confidence: high)"); or, in the last line, a sentence about oneself ("I
am 85% sure that this is correct."). The last one counts. The words are those of the lexicons
`confidence.LANGUAGE.yaml`, in every language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from halu_tasks.scorers.reading.fields import values
from halu_tasks.scorers.reading.lexicon import LANGUAGES, load
from halu_tasks.scorers.reading.passage import SPACELESS_LETTER
from halu_tasks.scorers.reading.reply import ReplyText

_NUMBER = r"(?:\d{1,3}(?:[.,٫]\d{1,6})?|[.,]\d{1,6})(?![\d.,٫]*\d)"
_MEMBER = r'"{0}"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[^\s",{{}}\[\]]+)'
# a number without a unit that is not greater may be percent or "9 of 10"
_FEW = 10
_DENOMINATORS = (5, 10, 100)
# the most lines that are searched and characters of each, and of what follows a name or is said of oneself
_MOST_LINES, _LONGEST, _LAST = 20, 1_000, 300
# where a statement begins, its markup, what stands between a name and its value, and what ends it
_BEGINS = r"(?:(?<![^\n.!?;,，。；！？(（\[【|—–:：*_<>#\"'])|(?<=[.!?;,:：] )|(?=[,;，；–—(（\[【-]))"
_MARKS = r"(?:[,;，；–—-](?!\n))?[#> \t-]{0,8}[(（\[【<]?[*_\"']{0,3} {0,2}"
_GAP = r"[\s\"'“”*_`:：=＝|>#-]{0,12}"
_ABOUT = r"[~≈><≥≤]? {0,2}"
_ENDS = r"[\"'”*_`)）\]】]{0,6}(?:</\w{1,20}>)?[.。!]?"


class StatedConfidence(NamedTuple):
    """A reply and how sure it says that it is.

    Attributes:
        reply: The reply without what says so. What remains is where it was, with white space in the place of the rest.
        confidence: How sure it says that it is, 0 to 1; None if it does not.
    """

    reply: str
    confidence: float | None


def stated_confidence(reply: str) -> StatedConfidence:
    """Read how sure a reply says that it is of its answer, and take what says so off the reply.

    Args:
        reply: The reply. What it says while it reasons does not count.
    """
    text = ReplyText(reply).text
    if not text.strip():
        return StatedConfidence(reply, None)
    rest, confidence = _of_object(text) or _of_words(text)
    if rest == text:
        return StatedConfidence(reply, confidence)
    start = reply.rfind(text)
    remaining = rest if start < 0 else reply[:start] + rest + reply[start + len(text) :]
    return StatedConfidence(remaining.rstrip(), confidence)


# --- a field ----------------------------------------------------------------------------------------------


def _of_object(text: str) -> tuple[str, float | None] | None:
    for value in reversed([*values(text)] if "{" in text else []):
        content = value.content if isinstance(value.content, dict) else {}
        name = next((name for name in content if _words().name.fullmatch(name.replace("_", " ").strip())), None)
        if name is not None and (rest := _without_member(text[value.start : value.end], name, content)):
            return text[: value.start] + rest + text[value.end :], _of_value(content[name])
    return None


def _without_member(text: str, name: str, content: Mapping[str, object]) -> str:
    remaining = {key: value for key, value in content.items() if key != name}
    for member in re.finditer(_MEMBER.format(re.escape(name)), text):
        before, after = re.search(r",\s*\Z", text[: member.start()]), re.compile(r"\s*,").match(text, member.end())
        start = before.start() if before else member.start()
        rest = _without(text, [(start, after.end() if after and not before else member.end())])
        # a record within the object may have a member of the same name
        if [value.content for value in values(rest)] == [remaining]:
            return rest
    return ""


def _of_value(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    match = _words().value.fullmatch(str(value).strip(" .*_"))
    return _degree(match) if match else None


# --- words ------------------------------------------------------------------------------------------------


def _of_words(text: str) -> tuple[str, float | None]:
    end = len(text.rstrip())
    last_line = max(text.rfind("\n", 0, end) + 1, end - _LAST)
    statements = {each.span(): each for each in _named(text)}
    free = max((stop for _, stop in statements), default=0)
    statements |= {each.span(): each for each in _words().about_oneself.finditer(text, max(last_line, free))}
    degrees = {span: degree for span, each in statements.items() if (degree := _degree(each)) is not None}
    return (_without(text, degrees), degrees[max(degrees)]) if degrees else (text, None)


def _named(text: str) -> Iterator[re.Match[str]]:
    lines, names = text.splitlines(keepends=True), _words().names
    ends = [*accumulate(map(len, lines))]
    named = [place for place, line in enumerate(lines) if any(name in line.casefold() for name in names)]
    for place in named[-_MOST_LINES:]:
        end = ends[min(place + 2, len(ends) - 1)]
        start = max(ends[place] - len(lines[place]), ends[place] - _LONGEST)
        yield from _words().stated.finditer(text, start, min(end, ends[place] + _LAST))


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Replace parts of a text by white space of the same length, which keeps its lines."""
    for start, end in spans:
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text


def _degree(match: re.Match[str]) -> float | None:
    """Return the value that a statement gives, 0 to 1; None if it is ambiguous or no confidence."""
    parts = match.groupdict()
    if word := parts["word"]:
        return _words().degrees[_plain(word)]
    first, second = (_number(parts[name]) for name in ("number", "until"))
    if first is None:
        return None
    number = first if second is None else (first + second) / 2
    if parts["of"]:
        denominator = float(parts["of"])
        return number / denominator if denominator in _DENOMINATORS and number <= denominator else None
    if parts["unit"] or parts["before"]:
        return number / 100 if number <= 100 else None
    if number <= 1:
        return number
    return number / 100 if _FEW < number <= 100 else None


def _number(text: str | None) -> float | None:
    return float(re.sub("[,٫]", ".", text)) if text else None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


class _Words(NamedTuple):
    """What statements are found by.

    Attributes:
        names: The names of what is stated, without case.
        name: A name, as an expression.
        value: A value.
        stated: A name with a value.
        about_oneself: A sentence about oneself.
        degrees: The value of each word.
    """

    names: tuple[str, ...]
    name: re.Pattern[str]
    value: re.Pattern[str]
    stated: re.Pattern[str]
    about_oneself: re.Pattern[str]
    degrees: Mapping[str, float]


@cache
def _words() -> _Words:
    phrases: dict[str, list[str]] = {}
    degrees: dict[str, float] = {}
    for lexicon in filter(None, (load(f"confidence.{language}") for language in LANGUAGES)):
        kinds = {kind: _listed(text) for kind, text in lexicon.items() if kind != "degree"}
        for kind, kind_phrases in kinds.items():
            phrases.setdefault(kind, []).extend(kind_phrases)
        for degree, text in lexicon["degree"].items():
            for phrase in _listed(text):
                forms = [phrase.replace("~", sure) for sure in kinds["sure"]] if "~" in phrase else [phrase]
                degrees |= {_plain(form): float(degree) for form in forms}
    any_of = {kind: _any(kind_phrases) for kind, kind_phrases in phrases.items()}
    word, percent = _any(degrees), f"(?:[%٪％﹪]|{any_of['unit']})"
    number = (
        rf"(?:(?P<before>[%٪％]|{any_of['percent_before']}) ?)?(?P<number>{_NUMBER})"
        rf"(?: ?{percent}? ?[-–—~] ?(?P<until>{_NUMBER}))?"
        rf"(?: ?(?P<unit>{percent})| ?(?:/|{any_of['of']}) ?(?P<of>\d{{1,3}})(?![\d.,]*\d))?"
    )
    # a number in brackets behind a word is more exact than the word: "High (90%)"
    value = rf"{_ABOUT}(?:(?:{word} ?[(（,] ?)?{number}|(?P<word>{word}))"
    name = rf"(?:(?:{any_of['own']}|{any_of['subject']}) ?){{0,2}}{any_of['cue']}(?![\"'] ?:)"
    between = rf"(?: ?\([^()\n]{{0,40}}\))?{_GAP}(?:(?:{any_of['is']}|{any_of['subject']}){_GAP}){{0,2}}"
    stated = rf"{_BEGINS}(?P<statement>{_MARKS}{name}{between}{value}(?: ?\([^()\n]{{0,80}}\))?{_ENDS})"
    subject, rest = rf"(?P<subject>{any_of['subject']} ?)", rf"(?:[ ,，]{{0,2}}{any_of['about']})?{_ENDS}"
    measured = (
        rf"{_MARKS}{subject}?(?:{any_of['is']} ?)?{_ABOUT}{number} ?(?:{any_of['sure']}|{any_of['measure']}){rest}"
    )
    # in words, it is all that the last sentence or the last brackets say
    begins = rf"(?:{subject.replace('subject', 'speaker')}|(?<![^\n.!?。！？(（]) ?)"
    in_words = rf"[(（]?{begins}(?P<word>{word}){rest}(?=\W{{0,9}}\Z)"
    about_oneself = rf"(?P<statement>(?:{measured}|{in_words}))"
    return _Words(
        names=tuple({_plain(cue) for cue in phrases["cue"]}),
        name=re.compile(name, re.IGNORECASE),
        value=re.compile(rf"{value}[)）]?", re.IGNORECASE),
        stated=re.compile(stated, re.IGNORECASE),
        about_oneself=re.compile(about_oneself, re.IGNORECASE),
        degrees=degrees,
    )


def _listed(text: str) -> list[str]:
    return [phrase.strip() for phrase in text.split("|")]


def _any(phrases: Iterable[str]) -> str:
    longest_first = sorted({*phrases}, key=lambda phrase: (-len(phrase), phrase))
    return f"(?:{'|'.join(map(_expression, longest_first))})"


def _expression(phrase: str) -> str:
    words = r"\s+".join(map(re.escape, phrase.split()))
    begins, ends = (not SPACELESS_LETTER.match(char) and char.isalnum() for char in (phrase[0], phrase[-1]))
    return (r"(?<!\w)" if begins else "") + words + (r"(?!\w)" if ends else "")
