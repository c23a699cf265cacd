"""Claims of a summary and their checks, as a reply lists them in one go: `checks` (Factored Verification, 2.4).

The check of a single claim is `supported` (A.1.3).

The prompt asks for lines "Claim: …" and "Supported: Yes/No"; models number, decorate and tabulate them. Checks are
looked for in one form after the other, and the first that has any is the reply's:

1. a table: a column that is named after the check, else the last cell of a row that is a check;
2. headings with lists below them: "Supported claims:", "Not supported:";
3. labels: "Supported: Yes", "**Supported?** No", `"is_supported": true`, "Verdict: contradicted";
4. an object whose names are claims: `{"A ship sank": "yes"}`;
5. a list or lines with a status: "1. A ship sank. - Yes", "✔ A ship sank", "Cannot be verified from the document." on
   a line below the claim, "False, it floats"; in English, German, French, Spanish or Chinese;
6. sentences: "Claim 2 is not supported by the document", "the first is supported, the second is not".

A second thought ("Wait, …"), and what is said of the claims below the last check, take back the checks that they
speak of.

A check that is neither a plain yes nor a plain no ("partially", "cannot be verified") is a no, since what is asked
is whether the document supports all of the claim. "Yes/No", the form repeated, is no check. A claim whose check is
missing, as when a reply is cut off, is counted in `unchecked`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from halu_tasks.scorers.answer import Answer, strip_reasoning
from halu_tasks.scorers.reading.labels.verdict_reader import verdict_reader
from halu_tasks.scorers.reading.lexicons import claims as words
from halu_tasks.scorers.reading.steps.sentences import ends


class Checks(NamedTuple):
    """Whether each claim is supported, in order; how many claims have no check; for none at all, why."""

    checked: list[bool]
    unchecked: int = 0
    reason: str = ""


_PLAIN = str.maketrans({**dict.fromkeys(map(ord, '*`#"“”~>'), ""), ord("_"): " "})

_GOOD_MARKS = ("✓", "✔", "✅", "☑", "👍", "🟢", "[x]", "[X]")
_MOST_PARTS = 30


def checks(reply: str) -> Checks:
    """Return what the reply says of each claim that it lists."""
    text = strip_reasoning(reply)
    if text is None:
        return Checks([], reason="unclosed reasoning")
    raw = [line for line in words.STAR.sub("- ", ends(text)).splitlines() if line.strip()]
    lines = [line for each in raw if (line := each.translate(_PLAIN).strip())]
    for read in (_table, _grouped, _labelled, _mapped, _enumerated, _listed, _sentences):
        if found := list(read(lines)):
            checked = [value for _, value in (found if read is _sentences else _amended(found, lines))]
            return Checks(checked, max(len(_claims(lines)) - len(checked), 0))
    return Checks([], len(_claims(lines)), "no claim with a check" if lines else "empty")


Found = tuple[int, bool]
"""The index of a line and whether the claim that it checks is supported."""

SUPPORTED, UNSUPPORTED = "supported", "unsupported"

# "yes, mostly" is no yes: what is asked is whether the document supports all of the claim
_HEDGES = ("but", "partial", "partially", "partly", "in part", "mostly", "although", "though", "somewhat", "except")
_IN_PART = ("partially", "partly", "only partially", "only partly", "mostly", "somewhat", "not fully", "not entirely")
_NOT_KNOWN = (
    "cannot be verified", "can't be verified", "cannot be determined", "cannot tell", "not verifiable", "unverifiable",
    "unverified", "unclear", "unknown", "not stated", "not mentioned", "n/a",
)  # fmt: skip

read_support = verdict_reader(
    {
        SUPPORTED: (
            "yes", "y", "true", "correct", "supported", "fully supported", "is supported", "directly supported",
            "explicitly supported", "clearly supported", "entailed", "✓", "✔", "✅", "☑", "是", "支持", "完全支持",
        ),
        UNSUPPORTED: (
            "no", "n", "false", "incorrect", "not supported", "not fully supported", "is not supported",
            "isn't supported", "unsupported", "not entailed", "contradicted", "not", "✗", "✘", "❌", "✖", "☒",
            "否", "不", "不是", "不支持", "未支持", "不完全支持", "部分支持", "未得到支持",
            *_IN_PART, *(f"{part} supported" for part in _IN_PART), *_NOT_KNOWN,
            *(f"{yes} {hedge}" for yes in ("yes", "true", "supported", "correct") for hedge in _HEDGES),
        ),
    },
    names=(
        "supported", "is supported", "support", "entailed", "faithful", "verified", "verdict", "judgement", "judgment",
        "the claim is", "this claim is", "the sentence is", "the statement is", "得到支持", "支持", "结论",
    ),
    reason="critique",
)  # fmt: skip
"""`supported` or `unsupported`, from a check of one claim ("Supported: Yes")."""


def supported(reply: str) -> Answer[bool]:
    """Return whether the one claim that a reply checks is supported."""
    found = read_support(reply)
    return Answer(None if found.value is None else found.value == SUPPORTED, found.reason)


def _claims(lines: list[str]) -> set[str]:
    """Return the claims that are labelled as such: by number, else by their first words."""
    found = (words.CLAIM.search(words.LIST_MARK.sub("", line, count=1)[:200]) for line in lines)
    return {claim["number"] or claim["text"] or "" for claim in found if claim}


def _value(text: str) -> bool | None:
    """Return the check that a text begins with."""
    found = words.VALUE.match(text[:60])
    return found["yes"] is not None if found else None


def _table(lines: list[str]) -> Iterator[Found]:
    column = None
    for index, line in enumerate(lines):
        if line.count("|") < 2 - (column is not None):
            column = None
            continue
        cells = line.strip("|").split("|")
        if column is None:
            column = next((index for index, cell in enumerate(cells) if words.COLUMN.fullmatch(cell[:60])), None)
        elif column < len(cells) and (value := _value(cells[column].strip())) is not None:
            yield index, value
    if column is None:
        yield from _last_cells(lines)


def _last_cells(lines: list[str]) -> Iterator[Found]:
    """Yield the checks of rows without a heading that names them."""
    for index, line in enumerate(lines):
        cells = line.strip("|").split("|")[1:][-5:]
        values = (
            _status(found) for cell in cells if (found := words.STATUS.match(cell.strip()[:80])) and _closed(found)
        )
        if (value := next(values, None)) is not None:
            yield index, value


def _grouped(lines: list[str]) -> Iterator[Found]:
    value = None
    for index, (line, following) in enumerate(pairwise([*lines, ""])):
        marked = words.LIST_MARK.match(line)
        heading = None if marked else words.GROUP.fullmatch(line[:80])
        if heading and (
            words.LIST_MARK.match(following) or (value is not None and words.NO_ITEM.fullmatch(following[:60]))
        ):
            value = bool(heading["yes"] or heading["yes2"])
        elif not marked:
            value = None
        elif value is not None and not words.NO_ITEM.fullmatch(words.LIST_MARK.sub("", line, count=1)[:60]):
            yield index, value


def _labelled(lines: list[str]) -> Iterator[Found]:
    claimed = False
    for index, (line, following) in enumerate(pairwise([*lines, ""])):
        plain = words.LIST_MARK.sub("", line, count=1)
        before = claimed or plain != line or "claim" in plain[:5_000].lower()
        values = list(_labels(plain, following))
        if not values and before:
            values = [
                value for label in words.VERDICT_LABEL.finditer(plain) for value in _label_value(label, following)
            ]
        if not values and words.NOT_LABEL.search(plain[:400]):
            values = [False]
        yield from ((index, value) for value in values)
        claimed = not values and (claimed or plain != line or bool(words.CLAIM.match(line)))


def _labels(line: str, following: str) -> Iterator[bool]:
    for label in words.LABEL.finditer(line):
        rest = label.string[label.end() :][:200].strip()
        value = _value(rest or following)
        if value is None and re.match(r"[a-z]", rest, re.IGNORECASE) and not re.match(words.EITHERS, rest):
            # "Supported: the first line says so", "Supported: only the date"
            value = not words.DENIES.search(rest)
        if value is not None:
            yield value


def _label_value(label: re.Match[str], following: str) -> Iterator[bool]:
    rest = label.string[label.end() :][:80].strip() or following[:80]
    if found := words.STATUS.match(rest):
        yield _status(found)


def _enumerated(lines: list[str]) -> Iterator[Found]:
    """Yield the checks of a line that lists nothing else: "supported, not supported, supported"."""
    for index, line in enumerate(lines):
        parts = line.strip("[](). ")[:2_000].split(",")
        found = [words.STATUS.fullmatch(part.strip()) for part in parts]
        if len(parts) > 1 and all(found):
            yield from ((index, _status(each)) for each in found if each)


def _mapped(lines: list[str]) -> Iterator[Found]:
    if lines and any("{" in line for line in lines[:3]):
        text = " ".join(line if line[0] in "{}" else f",{line.rstrip(',')}" for line in lines)[:20_000]
        for found in words.ENTRY.finditer(text):
            yield 0, _value(found["value"]) is True


def _listed(lines: list[str]) -> Iterator[Found]:
    pending = False
    for index, line in enumerate(lines):
        claim = bool(words.LIST_MARK.match(line) or words.CLAIM.match(line))
        value = _line_status(line, claim=claim, below=pending)
        if value is not None:
            yield index, value
        pending = value is None and not words.SECOND_THOUGHT.match(line)


def _line_status(line: str, *, claim: bool, below: bool) -> bool | None:
    """Return the check that a line states: of the claim in it, or of the one that stands above it (`below`)."""
    text = words.LIST_MARK.sub("", line, count=1)[:2_000]
    parts = [0, *(found.end() for _, found in zip(range(_MOST_PARTS), words.PART_OF_LINE.finditer(text), strict=False))]
    starts = (start + len(text[start : start + 3]) - len(text[start : start + 3].lstrip()) for start in parts)
    begun = [found for start in starts if (found := words.STATUS.match(text, start))]
    stated = [found for found in begun if _states(found, claim=claim, below=below)]
    last = words.LAST.search(line[-80:])
    if stated and words.SECOND_THOUGHT_IN.search(text, stated[0].end()):
        return _status(stated[-1])
    if last and (claim or (below and last.end() - last.start() == len(line))):
        return last["yes"] is not None
    if stated:
        return _status(stated[0])
    said = words.IS_STATUS.search(text) if claim else None
    return None if said is None else bool(said["yes"]) and not said["no"]


def _states(found: re.Match[str], *, claim: bool, below: bool) -> bool:
    """Return whether what begins like a status is one."""
    if found["mark"]:
        return True
    text, start, end = found.string, found.start(), found.end()
    if not start and not below and not words.TITLE.match(text, end):
        return False
    if not (claim or below or found["yes"] or found["no"]):
        return False
    return found["closed"] is not None or found["no"] is not None or words.BY.match(text, end) is not None


def _status(found: re.Match[str]) -> bool:
    if found["partly"]:
        return False
    return found["mark"] in _GOOD_MARKS if found["mark"] else bool(found["yes"] or found["true"])


def _closed(found: re.Match[str]) -> bool:
    return bool(found["mark"] or found["closed"] is not None)


def _sentences(lines: list[str]) -> Iterator[Found]:
    for index, line in enumerate(lines):
        for clause in words.CLAUSES.split(line[:2_000]):
            yield from ((index, value) for value in _judgements(clause))


def _amended(found: list[Found], lines: list[str]) -> list[Found]:
    """Return the checks, those that are taken back replaced."""
    kept = [
        one
        for one, following in zip(found, [*found[1:], None], strict=True)
        if not _again_between(one, following, lines)
    ]
    stated = {index for index, _ in found}
    for index in range(found[0][0] + 1, len(lines)):
        line = lines[index]
        again = words.SECOND_THOUGHT.match(line)
        if index not in stated and (again or (index > found[-1][0] and not words.LIST_MARK.match(line))):
            for clause in words.CLAUSES.split(line[:2_000]):
                if again or words.WHICH.search(clause) or words.EVERY.search(clause):
                    for value in _judgements(clause) or _new_judgement(clause):
                        _replace(kept, clause, index, value=value)
    return kept


def _again_between(one: Found, following: Found | None, lines: list[str]) -> bool:
    """Return whether the claim is checked once more after a second thought."""
    between = lines[one[0] + 1 : following[0]] if following else []
    claimed = any(
        words.CLAIM.match(words.LIST_MARK.sub("", line, count=1)) or words.LIST_MARK.match(line) for line in between
    )
    return not claimed and any(map(words.SECOND_THOUGHT.match, between))


def _new_judgement(clause: str) -> list[bool]:
    """Return the check in "So this is supported"; empty if there is none."""
    found = words.IT_IS.search(clause)
    return [bool(found["yes"]) != bool(found["no"])] if found else []


def _replace(kept: list[Found], clause: str, index: int, *, value: bool) -> None:
    """Return what a clause says of claims, put in the place of their checks."""
    which = words.WHICH.search(clause)
    if which and which["number"]:
        place = int(which["number"]) - 1
    elif which:
        place = (
            words.ORDINALS.index(which["ordinal"].lower())
            if which["ordinal"].lower() in words.ORDINALS
            else len(kept) - 1
        )
    elif words.EVERY.search(clause):
        if value and not re.search(r"\b(?:summary|mostly|largely|generally|nearly|almost)\b", clause, re.IGNORECASE):
            kept[:] = [(line, True) for line, _ in kept]
        # One of them fails, whichever it is.
        place = len(kept) - 1 if not value and all(good for _, good in kept) else -1
    else:
        place = max((at for at, (line, _) in enumerate(kept) if line < index), default=-1)
    if 0 <= place < len(kept):
        kept[place] = (kept[place][0], value)


def _judgements(clause: str) -> list[bool]:
    """Return whether the claims that a clause speaks of are supported."""
    if words.NO_UNSUPPORTED.search(clause):
        return [True]
    if count := words.COUNT.search(clause):
        number, of = (count["a"] or count["c"]).lower(), (count["b"] or count["d"]).lower()
        return [not count["not"] and number == of]
    for form in (words.ACTIVE, words.SUPPORT_FOUND):
        if found := form.search(clause):
            good = bool(found.groupdict().get("yes", True))
            return [good != bool(found["no"]) and not found["some"] and not words.EXCEPT.search(clause)]
    values = []
    for found in words.SENTENCE.finditer(clause):
        good = bool(found["yes"] or found["holds"] or found["bare"] is not None)
        turned = sum(bool(found[name]) for name in ("no", "none", "without", "cannot"))
        partly = found["some"] or (found["no"] or "").strip() in ("only", "partially", "partly")
        values.append(good != bool(turned % 2) and not partly and not words.EXCEPT.search(clause))
    return values
