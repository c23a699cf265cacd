"""Divide a reply that returns strings at its headings, and order the sections by how well they fit as the answer.

Models write "Here are the factually wrong entities:" before a list and "The correct sentence should be:" after it; what
these words are is in the lexicon `strings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from halu_tasks.scorers.reading.lexicon import lexicon
from halu_tasks.text.folding import fold

Unit = Literal["entity", "sentence", "passage", "replacement"]
SPACE = " \t\r\ufeff\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069"
CROSSES, TICKS = "❌✗✘✖", "✅✓✔☑"
LONGEST = 2_000  # characters of a line that are looked up; an entity or a sentence is shorter
MOST_LINES = 1_000
_MARK = re.compile(
    r"(?:[-*+–—●]\s+|[•◦▪‣·]\s*)(?:\[[ xX]?\]\s+)?|[◆◇■□▶►➤🔹🔸🔴🔵🟢]\ufe0f?\s*|[→➜➔]\s+"
    r"|\[\d{1,2}\]:?\s+|#\d{1,2}[:.)]?\s+"
    r"|\(?\d{1,3}[.)](?:\s+|(?=[^\W\d]|[\"“*`<])|$)|\(?[a-z]\)\s+|\d\ufe0f?\u20e3\s*",
    re.IGNORECASE,
)
# numbers and letters that may be part of a string; they are list marks only if they count
_COUNTING = re.compile(
    r"\(?(\d{1,2}(?=\s?[:|\t–—-])|(?:[a-z]|[ivx]{2,5})(?=[.):]))\s?[.):|\t–—-]\s+(?=\S)", re.IGNORECASE
)
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
_BEFORE_MARK = re.compile(r"^(?:[#>]|&gt;|\s)*(?:\*\*(\(?\d{1,3}[.):])\*\*(?=\s))?")
_FENCE = re.compile(r"(?m)^[ \t>]*(?:`{3,}|~{3,})[ \t]*\w{0,20}[ \t]*$")
# a base model goes on with the next question of the prompt's pattern
_NEXT_TASK = re.compile(r"(?<=\n)[ \t]{0,20}(?:#+ *|\*\*)?(?:Task:\s*)?Question(?:\*\*)?:")
_BOXED = re.compile(r"\$*\\boxed\{(?:\\text\{)?([^{}\n]{1,500})\}{1,2}\$*")
_TAGGED = re.compile(r"<([A-Za-z]\w{0,30})>([^<>]{1,5000})</\1>")
_INLINE = re.compile(r"((?:[^:：\"“\n]|:(?=\w)){1,160}?)[*_`\s]*[:：=][*_]*(?=[\s\"“*`<]|[A-Z]|$)\s*")
_STATES = re.compile(
    r"([^:\"“«\n]{3,160}?\b(?:is|are|reads|were|was|be)(?: (?:replaced|filled)(?: in)? (?:with|by))?:?)\s+(?=\S)",
    re.IGNORECASE,
)
_TITLE = re.compile(r"#{1,6}\s+\S|\*\*[^*\n]{1,60}\*\*\s*\Z")


class Line(NamedTuple):
    """A line of a reply without its list mark.

    Attributes:
        text: The text.
        indent: The indent in characters; -1 without a list mark.
        gap: Whether a blank line precedes it.
        is_title: Whether it has the markup of a title.
    """

    text: str
    indent: int
    gap: bool
    is_title: bool = False

    @property
    def is_prose(self) -> bool:
        """Whether the line is running text, not a string that was asked for."""
        words = self.text.count(" ") + 1
        return words >= 20 or (words >= 6 and self.text.endswith((".", "!", "?")))


class Section(NamedTuple):
    """The lines under one heading.

    Attributes:
        rank: How well the heading names what was asked for: 2 if it does, 1 if it is another one, 0 without a heading,
            -1 if it announces corrections or reasons.
        heading: The heading.
        lines: The lines.
    """

    rank: int
    heading: str
    lines: list[Line]


def kinds(name: str) -> set[str]:
    """Return what the words of a heading, a label or the name of a field are about, as kinds of the lexicon."""
    words = name[-300:].replace("_", " ").strip("*` ")
    return {token.kind for token in lexicon("strings.en").scan(fold(words))}


def rank_of(heading: str, unit: Unit) -> int:
    """Return the rank of a heading, as in `Section`."""
    asked = {"replacement", "right", "corrected", "final"} if unit == "replacement" else {"wrong", "final"}
    asked |= {unit} if unit == "sentence" or heading.count(" ") < 4 else set()
    found = kinds(heading)
    is_right = "corrected" in found or found & {"right", "wrong"} == {"right"}
    if "aside" in found or (unit != "replacement" and (is_right or (found & {"analysis"} and not found & asked))):
        return -1
    return 2 if found & asked else 1


def unwrapped(text: str, unit: Unit) -> str:
    """Return a reply without code fences; of boxes and tags named after what was asked for, the content."""
    if boxed := _BOXED.findall(text):
        return "\n".join(boxed)
    if "\n" not in text.strip():
        text = text.replace("\\n", "\n")
    text = _FENCE.sub("", re.sub(r"(?<=\S)\s{20,}(?=\S)", " ", text))  # long runs of spaces would take quadratic time
    again = _NEXT_TASK.search(text)
    if again and text[: again.start()].strip():
        text = text[: again.start()]
    tagged = [(tag[1].lower(), tag[2].strip("\n")) for tag in _TAGGED.finditer(text)]
    asked = [content for name, content in tagged if name in ("answer", "output", "mask") or rank_of(name, unit) == 2]
    return "\n".join(asked) if asked and not all(content.strip().isdigit() for content in asked) else text


def sections_of(text: str, unit: Unit) -> list[tuple[int, list[Line]]]:
    """Return the ranks and lines of the sections of a reply in the order in which they are tried for an answer."""
    sections = [Section(0, "", [])]
    for line in _lines(text):
        heading, rest = _heading(line, unit)
        if heading:
            rank = rank_of(heading, unit)
            last = next((section for section in reversed(sections) if section.rank >= 0), sections[0])
            goes_on = "more" in kinds(heading) or (rest and _letters(heading) == _letters(last.heading))
            if goes_on and last.rank == 2 == rank and unit != "sentence":
                sections.append(last)  # "Wrong: …", "Correct: …", "Wrong: …"
            else:
                sections.append(Section(rank, heading, []))
        if rest or not heading:
            sections[-1].lines.append(Line(rest, -1, line.gap) if heading else line)
    given = {id(section): section for section in reversed(sections) if section.lines}.values()
    ordered = sorted(given, key=lambda section: (2, 0, 1, -1).index(section.rank))
    return [(section.rank, _listed(section.lines)) for section in ordered]


def _listed(lines: list[Line]) -> list[Line]:
    """Return the lines of a section, or those with list marks if there are any; those ticked as right are left out."""
    marked = [line for line in lines if line.indent >= 0]
    if marked and (lines[0].indent >= 0 or lines[0].is_prose):
        level = min(line.indent for line in marked) + 1
        end = max(at for at, line in enumerate(lines) if line.indent >= 0) + 1
        after = [line for line in lines[end : end + 1] if line.text.count(" ") < 4 and not line.gap]
        lines = [line for line in marked if line.indent <= level] + after
    if any(line.text[0] in CROSSES for line in lines):
        lines = [line for line in lines if line.text[0] not in TICKS]
    return lines


def _lines(text: str) -> Iterator[Line]:
    raws = text.splitlines()
    raws = raws[: MOST_LINES // 2] + raws[MOST_LINES // 2 :][-MOST_LINES // 2 :]
    counted = _counted(raws)
    gap = False
    for number, raw in enumerate(raws):
        text = raw.strip(SPACE)
        if not text.strip("-*_=`~ #>"):
            gap = True
            continue
        is_title = bool(_TITLE.match(text))
        text = _BEFORE_MARK.sub(r"\1", text[: LONGEST * 5])
        end = counted.get(number) or ((mark := _MARK.match(text)) and mark.end()) or 0
        if body := text[end:].strip(SPACE):
            yield Line(body, len(raw) - len(raw.lstrip()) if end else -1, gap, is_title)
        gap = False


def _counted(lines: list[str]) -> dict[int, int]:
    """Return the ends of the numbers or letters before lines if they count from the first on."""
    ends: dict[int, int] = {}
    for number, line in enumerate(lines):
        mark = _COUNTING.match(line.strip(SPACE))
        at = len(ends)
        if mark and mark[1].lower() in (str(at + 1), chr(ord("a") + at), *_ROMAN[at : at + 1]):
            ends[number] = mark.end()
    return ends if len(ends) > 1 else {}


def _heading(line: Line, unit: Unit) -> tuple[str, str]:
    """Return the heading on a line or an empty string, and the text after it on the same line."""
    plain = line.text.strip("*_ ")
    heading, rest = plain[-300:].strip(".:：*_ "), ""
    is_known = rank_of(heading, unit) != 1
    if plain.endswith((":", "：")) and plain[0] not in "\"“'`":
        return (heading, "") if line.indent < 0 or is_known else ("", "")
    if line.indent >= 0:
        return "", ""
    if is_known and (line.is_title or (plain.count(" ") < 4 and "final" in kinds(heading))):
        return heading, ""
    label = _INLINE.match(plain[:400])
    if label and (rank_of(label[1], unit) == 2 or label[1].count(" ") < 6):
        heading, rest = label[1].strip("*_ "), plain[label.end() :]
        is_heading = rank_of(heading, unit) != 1 and not re.search(r"[.!?]\s|\([^)]*\Z", heading)
        return (heading, rest.strip()) if is_heading else ("", "")
    statement = _STATES.match(plain[:400])
    if statement and _names(statement[1], unit) and (unit != "sentence" or plain[statement.end()] in '"“«*'):
        return statement[1], plain[statement.end() :].strip()
    return "", ""


def _names(statement: str, unit: Unit) -> bool:
    """Return whether the beginning of a sentence names what was asked for: "The wrong entities are"."""
    found = kinds(statement)
    if unit == "replacement":
        return "replacement" in found and not found & {"aside", "first"} and "<mask>" not in statement
    return {"wrong", unit} <= found and not found & {"aside", "right"}


def _letters(heading: str) -> str:
    return re.sub(r"[\W\d]+", "", heading).lower()
