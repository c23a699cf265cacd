"""Read the strings that a reply quotes from a passage, or gives for its masks (mode `strict`).

The prompts of ReFACT (appendix C.3 to C.5) and HaluEval's localization ask for bare lines; models add headings,
reasons, corrections and markup. What a line quotes is looked up: it is the longest part, between marks, that occurs in
the passage. The rules, in order:

 1. Reasoning and markup around the answer are removed. A list, an object or a table is read as data, by the names of
    its fields.
 2. Headings divide the reply. The last part whose heading names what was asked for is the answer, or else the text
    before the first heading; what is under "Explanation:" or "The correct sentence:" is not.
 3. If lines have list marks, these are read; otherwise, lines that quote the passage and short ones. Of "wrong →
    right", "wrong (should be right)" and the like, the wrong part is read, for masks the right one.
 4. A string that does not occur in the passage is kept, without quotes, marks and reasons, if it is a line alone.
 5. A reply that says that nothing is wrong gives the empty list; one that only declines gives no answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import yaml

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.declining import only_declines
from halu_tasks.scorers.reading.lexicon import lexicon
from halu_tasks.scorers.reading.questions import NO, hallucinates_multilingual
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.reading.text import ends
from halu_tasks.text.folding import fold

Unit = Literal["entity", "sentence", "passage", "replacement"]

_LONGEST = 2_000  # characters of a line that are looked up; an entity or a sentence is shorter
_MOST_LINES = 1_000
_SPACE = " \t\r\ufeff\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069"
_SIGNS = "❌✗✘✖✅✓✔☑⚠\ufe0f"
_QUOTES = str.maketrans({**dict.fromkeys("‘’‚′`´ʼ‹›", "'"), **dict.fromkeys("“”„«»＂「」『』", '"')})
_MARK = re.compile(
    r"(?:[-*+–—●]\s+|[•◦▪‣·]\s*)(?:\[[ xX]?\]\s+)?|[◆◇■□▶►➤🔹🔸🔴🔵🟢]\ufe0f?\s*|[→➜➔]\s+|\[\d{1,2}\]:?\s+|#\d{1,2}[:.)]?\s+"
    r"|\(?\d{1,3}[.)](?:\s+|(?=[^\W\d]|[\"“*`<])|$)|\(?[a-z]\)\s+|\d\ufe0f?\u20e3\s*",
    re.IGNORECASE,
)
# numbers and letters that may be part of a string; they are list marks only if they count
_COUNTING = re.compile(r"(?:(\d{1,2})\s?(?:[:|\t]|[-–—](?=\s))|(?:\(?([a-z]|[ivx]{1,5})[.):]))\s+(?=\S)", re.IGNORECASE)
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
_FENCE = re.compile(r"(?m)^[ \t>]*(?:`{3,}|~{3,})[ \t]*\w{0,20}[ \t]*$")
_BOXED = re.compile(r"\$*\\boxed\{(?:\\text\{)?([^{}\n]{1,500})\}{1,2}\$*")
_TAGGED = re.compile(r"<([A-Za-z]\w{0,30})>([^<>]{1,5000})</\1>")
_BREAK = re.compile(r"(?<=\S)[ \t]?<br ?/?>[ \t]?(?=\S)", re.IGNORECASE)
_INLINE = re.compile(r"((?:[^:：\"“\n]|:(?=\w)){1,160}?)[*_`\s]*[:：=][*_]*(?=[\s\"“*`<]|[A-Z]|$)\s*")
_STATES = re.compile(
    r"([^:\"“«\n]{3,160}?\b(?:is|are|reads|were|was|be)(?: (?:replaced|filled)(?: in)? (?:with|by))?:?)\s+(?=\S)",
    re.IGNORECASE,
)
_TITLE = re.compile(r"#{1,6}\s+\S|\*\*[^*\n]{1,60}\*\*\s*\Z")
# where a quotation may begin and end in a line
_BEGINS = re.compile(r"\A|[\"“«'‘`*_(\[<~]+(?=\S)|[:：,;،，、；|•]\s*|(?:-+>|=+>|[→⇒➜])\s*|(?<=\s)(?:\(?\d{1,2}[.)]|[-–—/&])\s+"
                     r"|\b(?:is|are|and|or|was|were|says|replace|calls|states|mentions|und|to|with)\s+(?:that\s+)?")  # fmt: skip
_ENDS = re.compile(r"[.!?]?[\"”»'’`*_)\]>~]|[.!?]?\s*[,;:：،，、；|•]|\s*(?:-+>|=+>|[→⇒➜←])|\s[-–—(\[/&]|[.!?。]*\s*\Z|[.!?。]\s|\s(?:\(?\d{1,2}[.)])\s"
                   r"|,?\s(?:is|are|was|were|and|or|should|must|instead|rather|because|since|as|which|to|with|by|in place"
                   r"|isn't|aren't|und|but|for)\b")  # fmt: skip
_RIGHT_BEFORE = re.compile(
    r"(?:should (?:be|read|say|have been)|must be|instead of|rather than|in place of|correct(?: \w+){0,2}(?: is| are)?:?"
    r"|\bnot|actually|originally|-+>|=+>|[→⇒➜✅✓✔]\ufe0f?|\bto|\bwith|\bby)[\s:\"“'*`_(]*\Z",
    re.IGNORECASE,
)
_CORRECTION = r"(?:should|must|instead of|rather than|in place of|originally|swapped|replac\w+|with|by|to|not|is|was|are|were|correct\w*)\b"
_GAP = re.compile(
    rf"[\W_]*(?:\([^()]{{0,200}}\)|(?:-+>|=+>|[→⇒➜])[^,;•|\n]{{0,120}}?|{_CORRECTION}[^,;•\n]{{0,120}}?)?"
    r"(?:[\s.]*[,;،，、；|•/&\"”*`>]+|\s+(?:\(?\d{1,2}[.)]|and|or|und|et|y)(?=\s))[\W_]*(?:\d{1,2}[.)]\s*)?(?:(?:and|or|und)\b)?"
    r"(?:\s*(?:replace|change)\b)?[\W_]*",
    re.IGNORECASE,
)
_WRONG_AFTER = re.compile(
    r"[\W_]*(?:(?:this|it|which|that) )?(?:is|are|was|were|seems|isn't|aren't) (?:\w+ly )?(?:the )?"
    r"(?:wrong|incorrect|false|inaccurate|erroneous|untrue|not|[\W_]|\Z)",
    re.IGNORECASE,
)
_RIGHT_AFTER = re.compile(
    r"[\W_]*(?:(?:this|it|which|that) )?(?:is|are|was|were|seems|looks|sounds?) (?:\w+ly )?(?:correct|right|accurate|true|fine|ok)\b",
    re.IGNORECASE,
)
_WRONG_BEFORE = re.compile(
    r"\b(?:wrong|incorrect|false|inaccurate|erroneous|untrue|error)\b[^.\"“«]{0,60}?(?:\bis|:|\bhere)[\s:\"“«'*`]*\Z", re.IGNORECASE
)
_REASON = re.compile(
    r"\s*(?:-+>|=+>|[→⇒➜⟶⟹➡➔←])|\s+[-–—]+\s+|—|:\s+|\s+[(\[]|[,;]?\s+(?:should (?:be|read|have)|instead of|rather than|in place of"
    r"|(?:is|are|was|were) (?:factually )?(?:incorrect|wrong|inaccurate|swapped|replaced)|ha(?:s|ve) replaced)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\"([^\"\n]{1,2000})\"|“([^“”\n]{1,2000})”|«([^«»\n]{1,2000})»|`([^`\n]{1,300})`|\*\*([^*\n]{1,300})\*\*|~~([^~\n]{1,2000})~~"
    r"|(?<!\w)'([^'\n]{1,300})'(?!\w)|<([^<>/\n]{1,300})>|(?<![\w*])[*_]([^*_\n]{1,300})[*_](?![\w*])"
)
_PAIR = re.compile(
    r"(?:replace|change|swap|correct|substitute)?\s*(.{1,300}?)\s*(?:(?:-+>|=+>|[→⇒➜⟶⟹➡➔])|\b(?:should be(?: replaced (?:with|by))?|with|by|becomes)\b)\s*(.+)",
    re.IGNORECASE,
)
_NONE = re.compile(r"(?:\[ ?\]|\{ ?\}|[∅—–-]|[(\[<]?(?:empty|blank|nil|null|none|n/?a|nothing|无|没有|yok|hicbiri|hic|(?:an )?empty list|no output)[)\]>]?)[.\s]*(?:(?<=none\. )|(?<=none ).*)?")


class Line(NamedTuple):
    """A line of a reply without its list mark.

    Attributes:
        text: The text.
        indent: The indent in characters; -1 without a list mark.
        gap: Whether a blank line precedes it.
    """

    text: str
    indent: int
    gap: bool

    @property
    def is_prose(self) -> bool:
        """Whether the line is running text, not a string that was asked for."""
        words = self.text.count(" ") + 1
        return words >= 12 or (words >= 6 and self.text.endswith((".", "!", "?")))


class Section:
    """The lines under one heading.

    Attributes:
        rank: How well the heading names what was asked for: 2 if it does, 1 if it is another one, 0 without a heading,
            -1 if it announces corrections or reasons.
        inline: The heading, if the first line follows it on the same line.
        lines: The lines.
    """

    def __init__(self, rank: int, inline: str = "") -> None:
        self.rank = rank
        self.inline = inline
        self.lines: list[Line] = []


class Passage:
    """A text in which quotations are looked up; case, quotes and runs of white space do not count.

    Args:
        text: The text; empty if it is not known.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._plain = _plain(text)

    def holds(self, string: str) -> bool:
        """Return whether a string occurs in the text as whole words."""
        plain = _plain(string)
        at = self._plain.find(plain) if any(map(str.isalnum, plain)) else -1
        while at >= 0:
            before, after = self._plain[at - 1 : at], self._plain[at + len(plain) : at + len(plain) + 1]
            if not (before.isalnum() and plain[0].isalnum() and _spaced(before)) and not (
                after.isalnum() and plain[-1].isalnum() and _spaced(after)
            ):
                return True
            at = self._plain.find(plain, at + 1)
        return False


def _plain(text: str) -> str:
    return " ".join(text.translate(_QUOTES).casefold().split())


def _spaced(char: str) -> bool:
    return not "\u3040" <= char <= "\u9fff"


def quotations(reply: str, passage: str, unit: Unit) -> Answer[list[str]]:
    """Return the strings of a passage that a reply calls wrong, in its order and with repetitions.

    Args:
        reply: The reply.
        passage: The text from which the model was asked to quote; empty if it is not known.
        unit: What it was asked for: each `entity`, one `sentence`, or each `passage` of any length.
    """
    text = strip_reasoning(reply)
    if text is None:
        return Answer(None, "unclosed reasoning")
    whole = [line for raw in text.splitlines() if (line := raw.strip(_SPACE))]
    if not whole:
        return Answer(None, "empty reply")
    if not (len(whole) == 1 and len(whole[0]) <= 8 and _says_none(whole[0])) and passage and all(
        line in passage for line in whole[:_MOST_LINES]
    ):
        return Answer(whole)
    text = _unwrapped(ends(text), unit)
    source = Passage(passage)
    data = _data(text, unit)
    if data is not None:
        strings = [string for entry in data if (string := _bare(entry))]
        if len(strings) == 1 and unit == "entity":
            strings = _quoted(strings[0], source, unit) or strings
        return Answer([] if len(strings) == 1 and _says_none(strings[0]) else strings)
    sections = _sections(text, unit)
    loose: list[str] = []
    for section in sections:
        lines = _listed(section)
        found = [(line, _quoted(line.text, source, unit)) for line in lines]
        has_short = any(strings and not line.is_prose for line, strings in found)
        strings = []
        for line, quoted in found:
            if quoted and not (strings and has_short and line.is_prose and line.indent < 0 and unit == "entity"):
                strings += quoted
            elif not quoted and unit == "entity" and (line.indent >= 0 or not line.is_prose):
                strings += _pieces(line.text)
        strings = [string for string in strings if string]
        if any(quoted for _, quoted in found):
            return Answer(_once(strings))
        if len(strings or lines) == 1 and _says_none((strings or [lines[0].text])[0]):
            return Answer([])
        if lines and all(_says_none(line.text) for line in lines[:3]):
            return Answer([])
        loose = loose or (strings if unit == "entity" and strings else [_loose(line.text) for line in _paragraph(lines)])
    if only_declines(text):
        return Answer(None, "declines", abstained=True)
    if _says_none(text):
        return Answer([])
    loose = [string for string in loose if string]
    return Answer(loose) if loose else Answer(None, "no string found")


def replacements(reply: str, expected: int) -> Answer[list[str]]:
    """Return the replacements that a reply gives for masks, in order.

    Args:
        reply: The reply.
        expected: The number of masks; surplus replacements are returned, too.
    """
    text = strip_reasoning(reply)
    if text is None:
        return Answer(None, "unclosed reasoning")
    if not text.strip(_SPACE):
        return Answer(None, "empty reply")
    text = _unwrapped(ends(text), "replacement")
    data = _data(text, "replacement")
    if data is not None:
        strings = [string for entry in data if (string := _replacement(entry))]
        return Answer(strings) if strings else Answer(None, "no string found")
    for section in _sections(text, "replacement"):
        strings = _filled(_listed(section), expected)
        if strings:
            declined = len(strings) == 1 and only_declines(strings[0])
            return Answer(None, "declines", abstained=True) if declined else Answer(strings)
    if only_declines(text):
        return Answer(None, "declines", abstained=True)
    return Answer(None, "no string found")


def normalise(string: str) -> str:
    """Return the form in which two strings are compared.

    The string is normalised to NFKC and case-folded, white space becomes single spaces, and surrounding punctuation is
    removed, except for signs that carry meaning (%, #, &, @, a minus before a digit). A string of punctuation only is
    kept. A string of more than 10,000 characters is only stripped and case-folded, since it is compared with shorter
    ones.
    """
    if len(string) > 10_000:  # normalising a long run of combining marks takes quadratic time
        return string.strip().casefold()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", string).casefold())
    folded = " ".join(folded.split())
    start, end = 0, len(folded)
    while end > start and _is_removable(folded[end - 1]):
        end -= 1
    while start < end and _is_removable(folded[start]):
        if folded[start] == "-" and folded[start + 1 : start + 2].isdigit():
            break
        start += 1
    return folded[start:end] or folded


def _is_removable(char: str) -> bool:
    category = unicodedata.category(char)
    return char in " `" or category in ("Cf", "Cc") or (category[0] == "P" and char not in "%‰#&@")


# Headings and lines


def _kinds(name: str) -> set[str]:
    words = name[-300:].replace("_", " ").strip("*` ")
    return {token.kind for token in lexicon("strings.en").scan(fold(words))}


def _rank(heading: str, unit: Unit) -> int:
    """Return the rank of a heading, as in `Section`."""
    clause = re.split(r"[,;.]\s|\bbut\b|\bhowever\b", heading)[-1]
    kinds = _kinds(clause)
    if unit == "replacement":
        return -1 if "aside" in kinds - {"answer"} else 2 if kinds & {"replacement", "right", "final"} else 1
    if "aside" in kinds or ("right" in kinds and "wrong" not in kinds):
        return -1
    return (1 if "plan" in kinds else 2) if kinds & {"wrong", "final", unit} else 1


def _unwrapped(text: str, unit: Unit) -> str:
    """Return a reply without code fences and breaks; of boxes and tags named after what was asked for, the content."""
    if boxed := _BOXED.findall(text):
        return "\n".join(boxed)
    if "\n" not in text.strip():
        text = text.replace("\\n", "\n")
    text = _FENCE.sub("", _BREAK.sub("\n", text))
    tagged = [(tag[1].lower(), tag[2].strip("\n")) for tag in _TAGGED.finditer(text)]
    asked = [content for name, content in tagged if name in ("answer", "output", "mask") or _rank(name, unit) == 2]
    return "\n".join(asked) if asked and not all(content.strip().isdigit() for content in asked) else text


def _lines(text: str) -> Iterator[tuple[Line, bool]]:
    """Yield the lines of a text and whether each has the markup of a title."""
    raws = [raw for raw in text.splitlines()][:_MOST_LINES]
    counts: dict[str, int] = {}
    matches = [_COUNTING.match(raw.strip(_SPACE)) for raw in raws]
    counted: dict[int, int] = {}
    for order in ("number", "letter", "roman"):
        expected: list[tuple[int, int]] = []
        for number, match in enumerate(matches):
            if match and _position(match, order) == len(expected) + 1:
                expected.append((number, match.end()))
        if len(expected) > 1:
            counted |= dict(expected)
    del counts
    gap = False
    for number, raw in enumerate(raws):
        text = raw.strip(_SPACE)
        if not text.strip("-*_=`~ #>"):
            gap = True
            continue
        titled = bool(_TITLE.match(text))
        text = re.sub(r"^(?:[#>]|&gt;)+\s*", "", text[:_LONGEST * 5])
        text = re.sub(r"^\*\*(\(?\d{1,3}[.):])\*\*(?=\s)", r"\1", text)
        end = counted.get(number) or ((mark := _MARK.match(text)) and mark.end()) or 0
        body = text[end:].strip(_SPACE)
        if body:
            yield Line(body, len(raw) - len(raw.lstrip()) if end else -1, gap), titled
        gap = False


def _position(match: re.Match[str], order: str) -> int:
    if order == "number":
        return int(match[1] or 0)
    letter = (match[2] or "").lower()
    if order == "roman":
        return _ROMAN.index(letter) + 1 if letter in _ROMAN else 0
    return ord(letter) - 96 if len(letter) == 1 else 0


def _sections(text: str, unit: Unit) -> list[Section]:
    """Return the sections of a reply in the order in which they are tried for an answer."""
    sections = [Section(0)]
    for line, titled in _lines(text):
        last = sections[-1]
        heading, rest = _heading(line, unit, titled)
        if heading is None:
            if line.indent >= 0 and last.rank < 0 and last.inline and sections[-2].lines[-1:] and sections[-2].lines[-1].indent >= 0:
                sections.pop()  # a list goes on after a remark between its items
                last = sections[-1]
            last.lines.append(line)
            continue
        rank = _rank(heading, unit)
        again = bool(last.lines) and rank == 2 and (_letters(heading) == _letters(last.inline) or "more" in _kinds(heading))
        if not (last.rank == 2 and unit != "sentence" and (again or (rank == 1 and (not last.lines or last.inline == "group")))):
            sections.append(Section(rank, heading if rest else ""))
        elif rank == 1:
            last.inline = "group"
        if rest:
            sections[-1].lines.append(Line(rest, -1, line.gap))
    ranks = (2, 0, 1, -1)
    ordered = [[section for section in sections if section.rank == rank and section.lines] for rank in ranks]
    return [section for same in ordered for section in reversed(same)]


def _heading(line: Line, unit: Unit, titled: bool) -> tuple[str | None, str]:
    """Return the heading on a line or None, and the text after it on the same line."""
    plain = line.text.strip("*_ ")
    if plain.endswith((":", "：")) and plain[:1] not in "\"“'`":
        heading = plain[-300:-1].strip("*_ ")
        if line.indent < 0 or _rank(heading, unit) not in (0, 1):
            return heading, ""
    bare = plain.strip(".*_ ")
    if len(bare) < 60 and line.indent < 0 and _rank(bare, unit) != 1 and (titled or _is_bare(bare)):
        return bare, ""
    if line.indent >= 0:
        return None, ""
    label = _INLINE.match(plain[:400])
    if label and label.end() < len(plain) and _rank(label[1], unit) != 1 and (_rank(label[1], unit) == 2 or len(label[1].split()) <= 6):
        rest = plain[label.end() :].strip()
        return label[1].strip("*_ "), rest.lstrip("*") if rest.count("*") == 1 else rest
    statement = _STATES.match(plain[:400])
    if statement and _names(statement[1], unit):
        return statement[1], plain[statement.end() :].strip()
    return None, ""


def _is_bare(text: str) -> bool:
    return bool(re.fullmatch(r"(?:so,? )?(?:the )?(?:final )?(?:factually )?(?:wrong |incorrect )?(?:answer|entity|entities|sentence|replacements?)(?: (?:is|are))?", text, re.IGNORECASE))


def _names(statement: str, unit: Unit) -> bool:
    """Return whether the beginning of a sentence names what was asked for: "The wrong entities are"."""
    kinds = _kinds(statement)
    if unit == "replacement":
        return bool(kinds & {"replacement"}) and not kinds & {"aside", "first"} and "<mask>" not in statement
    return {"wrong", unit} <= kinds and not kinds & {"aside", "right"}


def _letters(heading: str) -> str:
    return re.sub(r"[\W\d]+", "", heading).lower()


def _listed(section: Section) -> list[Line]:
    """Return the lines of a section, or those with list marks if there are any."""
    lines = [line for line in section.lines if not re.fullmatch(r"[(\[][^()\[\]]*[:\s][^()\[\]]*[)\]]\.?", line.text[:_LONGEST])] or section.lines
    marked = [line for line in lines if line.indent >= 0]
    if marked and (lines[0].indent >= 0 or not any(line.indent < 0 and not line.is_prose for line in lines[:1])):
        least = min(line.indent for line in marked) + 1
        lines = [line for line in marked if line.indent <= least]
    crossed = [line for line in lines if line.text[:1] in "❌✗✘✖"]
    lines = [line for line in lines if line.text[:1] not in "✅✓✔☑"] if crossed else lines
    texts = [line.text for line in lines]
    half = len(texts) // 2
    return lines[:half] if half > 1 and texts[:half] == texts[half:] else lines


def _paragraph(lines: list[Line]) -> list[Line]:
    """Return the lines before the first blank line."""
    end = next((at for at, line in enumerate(lines) if at and line.gap and line.indent < 0), len(lines))
    return lines[:end]


def _once(strings: list[str]) -> list[str]:
    half = len(strings) // 2
    return strings[:half] if half > 1 and strings[:half] == strings[half:] else strings


# Strings of a line


def _quoted(text: str, passage: Passage, unit: Unit) -> list[str]:
    """Return what a line quotes from the passage: its longest parts between marks that occur there."""
    text = text[:_LONGEST].strip(_SPACE + _SIGNS)
    bare = _bare(text)
    if passage.text:
        for whole in (text, bare):
            if whole and passage.holds(whole):
                return [whole]
    found = list(_held(text, passage, 1 if unit == "entity" else 4))
    if not found:
        return []
    if unit != "entity":
        before = [text[:start] for start, _ in found]
        after = [text[end:] for _, end in found]
        wrong = [i for i in range(len(found)) if _WRONG_BEFORE.search(before[i][-100:]) or _WRONG_AFTER.match(after[i])]
        other = [i for i in range(len(found)) if not _RIGHT_AFTER.match(after[i]) and not _RIGHT_BEFORE.search(before[i][-60:])]
        chosen = wrong[-1:] or other[:1]
        return [_bare(text[slice(*found[i])]) for i in chosen]
    strings: list[str] = []
    last = 0
    for start, end in found:
        if _RIGHT_BEFORE.search(text[max(0, start - 60) : start]):
            continue
        gap = text[last:start]
        if strings and not _GAP.fullmatch(gap):
            break
        if not strings and gap.strip("\"“«'‘`*_([<~ ") and text[start - 1 : start] not in tuple("\"“«'‘`*:：> "):
            continue
        if not strings and start and text[start - 1] in " :：" and not _kinds(gap) & {"wrong", "entity", "mask", "final"}:
            continue
        strings.append(text[start:end])
        last = end
    return strings


def _held(text: str, passage: Passage, least: int) -> Iterator[tuple[int, int]]:
    """Yield the places of the longest parts of a line between marks that occur in the passage.

    Args:
        text: The line.
        passage: The passage.
        least: The number of words that a part must have.
    """
    if not passage.text:
        return
    starts = sorted({match.end() for match in _BEGINS.finditer(text)})[:60]
    stops = sorted({match.start() for match in _ENDS.finditer(text)} | {match.end() for match in re.finditer(r"[.!?。]", text)})[:80]
    at = 0
    for start in starts:
        if start < at:
            continue
        for stop in reversed(stops):
            if stop <= start:
                break
            part = text[start:stop]
            if part.count(" ") + 1 >= least and len(part) <= len(passage.text) + 100 and passage.holds(part.strip()):
                yield start, stop
                at = stop
                break


def _pieces(text: str) -> list[str]:
    """Return the strings of a line that quotes nothing from the passage: parts that are marked, or the line."""
    text = text.strip(_SPACE + _SIGNS)
    quoted = [*_QUOTED.finditer(text)]
    between = _QUOTED.sub("\0", text)
    if len(quoted) > 1 and re.fullmatch(r"(?:\0|[\s,;/&|.]|\b(?:and|or|und)\b)+", between):
        return [_content(piece) for piece in quoted]
    numbered = re.split(r"(?:^|(?<=[\s,;]))\(?\d{1,2}[.)]\s+(?=\S)|\s+[•◦▪·]\s+", text)
    if len(numbered) > 1:
        return [_loose(part.strip(" ,;")) for part in numbered if part.strip(" ,;")]
    parts = [re.sub(r"^(?:and|or)\s+", "", part) for part in re.split(r",\s+(?![^()]*\))|;\s*|[،，、；]\s*|\s[|/]{1,2}\s", text)]
    if len(parts) > 1 and all(part and part.count(" ") < 8 and not re.match(r"(?:which|who|that|where|when|as|so|but|it|not|it's|is|because)\b", part) for part in parts):
        return [_loose(part) for part in parts]
    return [_loose(text)]


def _loose(text: str) -> str:
    """Return the string of a line that quotes nothing from the passage, without quotes and reasons."""
    if (piece := _QUOTED.match(text)) and _content(piece):
        rest = text[piece.end() :]
        if not rest.strip(" .,;:") or _REASON.match(rest) or _content(piece).count(" ") < 8:
            return _content(piece)
    inner = next((piece for piece in _QUOTED.finditer(text) if _content(piece).count(" ") >= 4), None)
    if inner:
        return _content(inner)
    reason = _REASON.search(text, 1)
    return _bare(text[: reason.start()] if reason and not text[: reason.start()].count(" ") > 11 else text)


def _content(piece: re.Match[str]) -> str:
    return next(group for group in piece.groups() if group is not None).strip(_SPACE)


def _bare(text: str) -> str:
    """Return a string without the quotes and emphasis around it, and without the signs and stops behind it."""
    text = text.strip(_SPACE + _SIGNS)
    while (piece := _QUOTED.fullmatch(text.rstrip(" .,;:"))) and _content(piece):
        text = _content(piece)
    return text if text.count(" ") > 4 else text.rstrip(" ,;:،。，；：、" if text[-2:-1].isdigit() else " ,.;:،。，；：、!?").strip()


def _says_none(text: str) -> bool:
    """Return whether a text says that there is nothing to quote."""
    plain = fold(text[:500]).strip(" *_`\"'\n")
    if _NONE.fullmatch(plain):
        return True
    return len(text) <= 400 and hallucinates_multilingual(text).value == NO


# Replacements for masks


def _filled(lines: list[Line], expected: int) -> list[str]:
    """Return the replacements on the lines of a section; empty if they are running text."""
    given = [(line, _replacement(line.text)) for line in lines]
    marked = any(line.indent >= 0 for line in lines)
    short = [string for line, string in given if string and (marked or string != _bare(line.text) or not line.is_prose)]
    if len(lines) == 1 and (marked or not short or expected > 1):
        for parts in _divisions(lines[0].text):
            if len(parts) == expected > 1:
                return parts
        if short and not lines[0].is_prose:
            return short
    if marked or len(short) == expected or not any(line.is_prose for line in lines):
        return short
    if len(lines) == expected and not any("<mask>" in line.text for line in lines):
        return [string for _, string in given]
    before: list[str] = []
    for line, string in given:
        if line.is_prose or (line.gap and before):
            break
        before.append(string)
    return before if len(before) == expected else []


def _divisions(text: str) -> Iterator[list[str]]:
    """Yield the ways to divide a line into replacements, the surest first."""
    quoted = [_content(piece) for piece in _QUOTED.finditer(text)]
    yield [part for part in quoted if part.lower().strip("<> ") != "mask"]
    yield [_loose(part) for part in re.split(r"(?:^|(?<=[\s,;]))\(?\d{1,2}[.)]\s+(?=\S)|\s+[•◦▪·]\s+", text) if part.strip(" ,;")]
    for divider in (r";\s*|[،，、；]\s*|,\s+", r"\s(?:\||/{1,2})\s|\t", r",?\s+(?:and|&)\s+"):
        yield [_replacement(part) for part in re.split(divider + r"(?![^()]*\))", text)]
    yield re.findall(r"<[^<>]+>", text)


def _replacement(text: str) -> str:
    """Return the replacement on a line: of "Mask 1: chalk" and "stone → chalk", what is behind the mark."""
    text = text.strip(_SPACE + _SIGNS)[:_LONGEST]
    if (struck := re.match(r"~~[^~]*~~\s*(?=\S)", text)):
        text = text[struck.end() :]
    label = re.match(r"([^:：=\n]{1,60}?)[*_`]*\s*(?:[:：=]|[–—-](?=\s)|-+>|=+>|[→⇒])[*_`]*\s*(?=\S)", text)
    if label and (_kinds(label[1]) & {"mask", "first"} or "replacement" in _kinds(label[1])):
        text = text[label.end() :]
    pair = _PAIR.fullmatch(text)
    if pair and (pair[2].count(" ") < 12 or "mask" in pair[1].lower()):
        text = pair[2]
    piece = _QUOTED.match(text)
    if piece and _content(piece) and (not text[piece.end() :].strip(" .,;") or _REASON.match(text, piece.end())):
        return _content(piece)
    reason = re.search(r"\s+[–—-]\s+|\s+\((?=[^()]*\s[^()]*\s)|:\s+", text[1:]) if text.count(" ") > 3 else None
    return _bare(text[: reason.start() + 1] if reason else text)


# Strings as data


def _data(text: str, unit: Unit) -> list[str] | None:
    """Return the strings of the last list, object or table of a reply that has some; None if none has."""
    found: list[str] | None = None
    for heading, value in (*_values(text), *_tables(text), *_pairs(text)):
        strings = _value_strings(value, unit)
        if strings is not None and _rank(heading, unit) >= 0:
            found = strings if found is None or _rank(heading, unit) != 2 else found + strings if False else strings
    return found


def _values(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the lists and objects that are lines of their own, as JSON, Python or YAML write them, and their headings."""
    openings = [*re.finditer(r"(?m)^([^\n\[{]{0,80}[:=])?[ \t`*_>-]*(?=[\[{]|\([\"'“])", text)][:20]
    at = 0
    for opening in openings:
        start = opening.end()
        if start < at:
            continue
        closing = {"[": "]", "{": "}", "(": ")"}[text[start]]
        stops = [m.end() for m in re.finditer(re.escape(closing) + r"(?=[ \t`*_.,;]*(?:\n|\Z))", text[start : start + 20_000])][:10]
        for stop in stops:
            source = text[start : start + stop].translate(str.maketrans({"“": '"', "”": '"'}))
            if source[0] == "(" or (source[0] == "{" and ":" not in source):
                source = f"[{source[1:-1]}]"
            try:
                value = yaml.load(source, yaml.CBaseLoader if hasattr(yaml, "CBaseLoader") else yaml.BaseLoader)
            except (yaml.YAMLError, RecursionError, ValueError):
                continue
            yield opening[1] or text[:start].rstrip().rsplit("\n", 1)[-1], value
            at = start + stop
            break


def _tables(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the tables of a text as lists of rows."""
    rows: list[list[str]] = []
    for line in [*text.splitlines()[:_MOST_LINES], ""]:
        if "|" in line.strip()[1:]:
            rows.append([cell.strip().strip("*`_ ") for cell in line.strip().strip("|").split("|")])
            continue
        rows = [row for row in rows if set("".join(row)) - set("-:= ")]
        if len(rows) > 1 and len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
            head, *body = rows
            if all(cell.isdigit() for cell in (row[0] for row in body)):
                head, body = head[1:], [row[1:] for row in body]
            yield "", [dict(zip(head, row, strict=True)) for row in body]
        rows = []


def _pairs(text: str) -> Iterator[tuple[str, Any]]:
    """Yield a reply of labelled lines ("Wrong: …", "Correct: …") as one record for each time that its labels begin."""
    lines = [line for line in text.splitlines()[:_MOST_LINES] if line.strip()]
    pairs = [re.match(r"[-*\s\d.]*([^:\n]{1,40}?)[*_]*\s*:[*_]*\s+(\S.*)", line[:_LONGEST]) for line in lines]
    if len(pairs) < 2 or not all(pairs):
        return
    names = [pair[1].strip("*_` ") for pair in pairs if pair]
    if len(set(names)) < len(names) or {"wrong", "right"} <= set().union(*map(_kinds, names)):
        records: list[dict[str, str]] = [{}]
        for name, pair in zip(names, pairs, strict=True):
            if name in records[-1]:
                records.append({})
            records[-1][name] = pair[2] if pair else ""
        yield "", records


def _value_strings(value: Any, unit: Unit) -> list[str] | None:
    """Return the strings of a value; None if it has fields but not the one that was asked for."""
    if isinstance(value, str):
        return [] if value.lower() in ("null", "none", "") and unit != "replacement" else [value]
    if isinstance(value, dict):
        return _record_strings({str(key): entry for key, entry in value.items()}, unit)
    if not isinstance(value, list):
        return []
    if len(value) > 1 and all(isinstance(entry, list) and len(entry) == 2 for entry in value):
        return [str(entry[-1 if unit == "replacement" else 0]) for entry in value]
    parts = [_value_strings(entry, unit) for entry in value if not _is_called_right(entry, unit)]
    return None if None in parts else [string for part in parts for string in part or []]


def _is_called_right(value: Any, unit: Unit) -> bool:
    if unit == "replacement" or not isinstance(value, dict):
        return False
    verdicts = [str(entry) for name, entry in value.items() if "aside" in _kinds(str(name)) and str(entry).count(" ") < 3]
    return any("right" in _kinds(verdict) and "wrong" not in _kinds(verdict) for verdict in verdicts)


def _record_strings(record: dict[str, Any], unit: Unit) -> list[str] | None:
    """Return the strings of the field that was asked for; of a mapping of wrong to right strings, those asked for."""
    fits = {name: _fit(name, unit) for name in record}
    best = max(fits.values(), default=0)
    if best > 0:
        parts = [_value_strings(record[name], unit) for name in record if fits[name] == best]
        return None if None in parts else [string for part in parts for string in part or []]
    plain = {name: entry for name, entry in record.items() if not fits[name]}
    if len(record) == 1 and not isinstance(next(iter(record.values())), str):
        return _value_strings(next(iter(record.values())), unit)
    if plain and len(plain) == len(record) and all(isinstance(entry, str) for entry in plain.values()):
        return [entry if unit == "replacement" else name for name, entry in plain.items()]
    return None


def _fit(name: str, unit: Unit) -> int:
    """Return how well the name of a field fits what was asked for: 3 to -1; 0 if it says nothing."""
    kinds = _kinds(re.sub(r"(?<=[a-z])(?=[A-Z\d])", " ", name))
    if unit == "replacement":
        if kinds & {"replacement", "right"}:
            return 3
        return -1 if "aside" in kinds or "wrong" in kinds or "original" in kinds else 2 if re.fullmatch(r"\W*(?:mask|blank|gap)?[\s_<>#]*\d+\W*", name, re.IGNORECASE) else 1 if "mask" in kinds else 0
    if "aside" in kinds:
        return -1
    if kinds & {"wrong", "original"}:
        return 3
    return -1 if "right" in kinds else 2 if kinds & {unit, "entity"} else 1 if "final" in kinds or name.lower() in ("answer", "answers", "list", "items", "result") else 0
