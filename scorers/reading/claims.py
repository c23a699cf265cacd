"""Read which claims a reply lists and whether each is supported: `checks` (Factored Verification, 2.4).

`supported` reads the check of a single claim (A.1.3).

The prompt asks for the lines "Claim: …" and "Supported: Yes/No"; models also number them, add markup or write a table.
`checks` tries the following forms in order and uses the first one in which it finds a check:

1. A table: the column that is named after the check. If no column is, the first check in each row, from the second
   cell on and among the last five cells.
2. Headings with lists below them: "Supported claims:", "Not supported:".
3. Labels: "Supported: Yes", "**Supported?** No", `"is_supported": true`, "Verdict: contradicted".
4. An object whose keys are claims: `{"A ship sank": "yes"}`.
5. A line that contains only checks, separated by commas: "supported, not supported, supported".
6. A list or lines with a status: "1. A ship sank. - Yes", "✔ A ship sank", "Cannot be verified from the document." on
   a line below the claim, "False, it floats"; in English, German, French, Spanish or Chinese.
7. Sentences: "Claim 2 is not supported by the document", "the first is supported, the second is not".

In forms 1 to 6, a check is replaced if the reply changes its mind ("Wait, …") or makes a statement about the claim
after the last check.

A check that is neither a plain yes nor a plain no ("partially", "cannot be verified") counts as a no, because the
question is whether the document supports the whole claim. "Yes/No", the prompt's form repeated, is not a check. A claim
without a check, as in a reply that was cut off, is counted in `unchecked`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.fields import structured_reply
from halu_tasks.scorers.reading.labels.verdict_reader import verdict_reader
from halu_tasks.scorers.reading.lexicons import claims as words
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.reading.text import ends


class Checks(NamedTuple):
    """The checks of the claims in a reply.

    Attributes:
        checked: Whether each claim is supported, in order.
        unchecked: The number of claims without a check.
        reason: Why no check was found; empty if one was.
    """

    checked: list[bool]
    unchecked: int = 0
    reason: str = ""


_PLAIN = str.maketrans({**dict.fromkeys(map(ord, '*`#"“”~>'), ""), ord("_"): " "})

_GOOD_MARKS = ("✓", "✔", "✅", "☑", "👍", "🟢", "[x]", "[X]")
_MOST_PARTS = 30


def checks(reply: str) -> Checks:
    """Return whether each claim that a reply lists is supported."""
    text = strip_reasoning(reply)
    if text is None:
        return Checks([], reason="unclosed reasoning")
    if isinstance(listed := structured_reply(text).get("answer"), list):
        checked = [claim["supported"] for claim in listed if isinstance(claim, dict) and "supported" in claim]
        return Checks([value is True for value in checked], len(listed) - len(checked))
    raw_lines = [line for line in words.STAR.sub("- ", ends(text)).splitlines() if line.strip()]
    lines = [line for raw_line in raw_lines if (line := raw_line.translate(_PLAIN).strip())]
    for read in (
        _table_checks,
        _grouped_checks,
        _labelled_checks,
        _mapped_checks,
        _enumerated_checks,
        _listed_checks,
        _sentence_checks,
    ):
        if line_checks := list(read(lines)):
            checked = [
                value for _, value in (line_checks if read is _sentence_checks else _with_revisions(line_checks, lines))
            ]
            return Checks(checked, max(len(_claims(lines)) - len(checked), 0))
    return Checks([], len(_claims(lines)), "no claim with a check" if lines else "empty")


Found = tuple[int, bool]
"""A check: the index of its line, and whether the claim is supported."""

SUPPORTED, UNSUPPORTED = "supported", "unsupported"

# "Yes, mostly" is not a yes: the question is whether the document supports the whole claim.
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
"""Reads the check of one claim ("Supported: Yes") as `supported` or `unsupported`."""


def supported(reply: str) -> Answer[bool]:
    """Return whether the single claim that a reply checks is supported; unparsed if there is no check."""
    answer = read_support(reply)
    return Answer(None if answer.value is None else answer.value == SUPPORTED, answer.reason)


def _claims(lines: list[str]) -> set[str]:
    """Return the claims labelled "Claim", each represented by its number, or else by its first words."""
    matches = (words.CLAIM.search(words.LIST_MARK.sub("", line, count=1)[:200]) for line in lines)
    return {claim["number"] or claim["text"] or "" for claim in matches if claim}


def _leading_check(text: str) -> bool | None:
    """Return the check at the start of the text, or None."""
    match = words.VALUE.match(text[:60])
    return match["yes"] is not None if match else None


def _table_checks(lines: list[str]) -> Iterator[Found]:
    """Yield the checks in the column of a table that is named after the check, or else as `_last_cell_checks` does."""
    column = None
    for index, line in enumerate(lines):
        if line.count("|") < 2 - (column is not None):
            column = None
            continue
        cells = line.strip("|").split("|")
        if column is None:
            column = next((index for index, cell in enumerate(cells) if words.COLUMN.fullmatch(cell[:60])), None)
        elif column < len(cells) and (value := _leading_check(cells[column].strip())) is not None:
            yield index, value
    if column is None:
        yield from _last_cell_checks(lines)


def _last_cell_checks(lines: list[str]) -> Iterator[Found]:
    """Yield the first check among the last cells of each row."""
    for index, line in enumerate(lines):
        cells = line.strip("|").split("|")[1:][-5:]
        values = (
            _says_supported(match)
            for cell in cells
            if (match := words.STATUS.match(cell.strip()[:80])) and _is_closed(match)
        )
        if (value := next(values, None)) is not None:
            yield index, value


def _grouped_checks(lines: list[str]) -> Iterator[Found]:
    """Yield a check for each claim in a list below a heading such as "Supported claims:"."""
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


def _labelled_checks(lines: list[str]) -> Iterator[Found]:
    """Yield the checks after labels such as "Supported:"; after "Verdict:" only if a claim precedes it."""
    claimed = False
    for index, (line, following) in enumerate(pairwise([*lines, ""])):
        plain = words.LIST_MARK.sub("", line, count=1)
        before = claimed or plain != line or "claim" in plain[:5_000].lower()
        values = list(_checks_after_labels(plain, following))
        if not values and before:
            values = [
                value for label in words.VERDICT_LABEL.finditer(plain) for value in _check_after_label(label, following)
            ]
        if not values and words.NOT_LABEL.search(plain[:400]):
            values = [False]
        yield from ((index, value) for value in values)
        claimed = not values and (claimed or plain != line or bool(words.CLAIM.match(line)))


def _checks_after_labels(line: str, following: str) -> Iterator[bool]:
    """Yield the checks after the labels "Supported" on a line, or on the following line if nothing is after them."""
    for label in words.LABEL.finditer(line):
        text = label.string[label.end() :][:200].strip()
        value = _leading_check(text or following)
        if value is None and re.match(r"[a-z]", text, re.IGNORECASE) and not re.match(words.EITHERS, text):
            # "Supported: the first line says so", "Supported: only the date"
            value = not words.DENIES.search(text)
        if value is not None:
            yield value


def _check_after_label(label: re.Match[str], following: str) -> Iterator[bool]:
    """Yield the check after a label, if any; it may be on the following line."""
    text = label.string[label.end() :][:80].strip() or following[:80]
    if match := words.STATUS.match(text):
        yield _says_supported(match)


def _enumerated_checks(lines: list[str]) -> Iterator[Found]:
    """Yield the checks on a line that contains nothing else: "supported, not supported, supported"."""
    for index, line in enumerate(lines):
        parts = line.strip("[](). ")[:2_000].split(",")
        matches = [words.STATUS.fullmatch(part.strip()) for part in parts]
        if len(parts) > 1 and all(matches):
            yield from ((index, _says_supported(match)) for match in matches if match)


def _mapped_checks(lines: list[str]) -> Iterator[Found]:
    """Yield the values of an object whose keys are claims."""
    if lines and any("{" in line for line in lines[:3]):
        text = " ".join(line if line[0] in "{}" else f",{line.rstrip(',')}" for line in lines)[:20_000]
        for entry in words.ENTRY.finditer(text):
            yield 0, _leading_check(entry["value"]) is True


def _listed_checks(lines: list[str]) -> Iterator[Found]:
    """Yield the status of each claim, on its own line or on a line below it."""
    pending = False
    for index, line in enumerate(lines):
        claim = bool(words.LIST_MARK.match(line) or words.CLAIM.match(line))
        value = _line_check(line, claim=claim, below=pending)
        if value is not None:
            yield index, value
        pending = value is None and not words.SECOND_THOUGHT.match(line)


def _line_check(line: str, *, claim: bool, below: bool) -> bool | None:
    """Return the check on a line, or None.

    Args:
        line: The line.
        claim: Whether the line contains a claim, which the check is about.
        below: Whether the line may check the claim on the line above it.
    """
    text = words.LIST_MARK.sub("", line, count=1)[:2_000]
    parts = [0, *(match.end() for _, match in zip(range(_MOST_PARTS), words.PART_OF_LINE.finditer(text), strict=False))]
    starts = (start + len(text[start : start + 3]) - len(text[start : start + 3].lstrip()) for start in parts)
    candidates = [match for start in starts if (match := words.STATUS.match(text, start))]
    statuses = [match for match in candidates if _is_check(match, claim=claim, below=below)]
    last = words.LAST.search(line[-80:])
    if statuses and words.SECOND_THOUGHT_IN.search(text, statuses[0].end()):
        return _says_supported(statuses[-1])
    if last and (claim or (below and last.end() - last.start() == len(line))):
        return last["yes"] is not None
    if statuses:
        return _says_supported(statuses[0])
    predicate = words.IS_STATUS.search(text) if claim else None
    return None if predicate is None else bool(predicate["yes"]) and not predicate["no"]


def _is_check(match: re.Match[str], *, claim: bool, below: bool) -> bool:
    """Return whether a match of `STATUS` on a line is a check.

    Args:
        match: The match.
        claim: Whether the line contains a claim.
        below: Whether the line may check the claim on the line above it.
    """
    if match["mark"]:
        return True
    text, start, end = match.string, match.start(), match.end()
    if not start and not below and not words.TITLE.match(text, end):
        return False
    if not (claim or below or match["yes"] or match["no"]):
        return False
    return match["closed"] is not None or match["no"] is not None or words.BY.match(text, end) is not None


def _says_supported(match: re.Match[str]) -> bool:
    """Return whether a match of `STATUS` says that the claim is supported."""
    if match["partly"]:
        return False
    return match["mark"] in _GOOD_MARKS if match["mark"] else bool(match["yes"] or match["true"])


def _is_closed(match: re.Match[str]) -> bool:
    """Return whether a match of `STATUS` is a sign, or a word before a punctuation mark."""
    return bool(match["mark"] or match["closed"] is not None)


def _sentence_checks(lines: list[str]) -> Iterator[Found]:
    """Yield the checks that the clauses of sentences state."""
    for index, line in enumerate(lines):
        for clause in words.CLAUSES.split(line[:2_000]):
            yield from ((index, value) for value in _clause_checks(clause))


def _with_revisions(checked: list[Found], lines: list[str]) -> list[Found]:
    """Return the checks, with those that the reply takes back removed or replaced."""
    kept = [
        check
        for check, following in zip(checked, [*checked[1:], None], strict=True)
        if not _is_checked_again(check, following, lines)
    ]
    checked_lines = {index for index, _ in checked}
    for index in range(checked[0][0] + 1, len(lines)):
        line = lines[index]
        second_thought = words.SECOND_THOUGHT.match(line)
        if index not in checked_lines and (
            second_thought or (index > checked[-1][0] and not words.LIST_MARK.match(line))
        ):
            for clause in words.CLAUSES.split(line[:2_000]):
                if second_thought or words.WHICH.search(clause) or words.EVERY.search(clause):
                    for value in _clause_checks(clause) or _restated_check(clause):
                        _replace_check(kept, clause, index, value=value)
    return kept


def _is_checked_again(check: Found, following: Found | None, lines: list[str]) -> bool:
    """Return whether the following check is of the same claim, after a second thought."""
    between = lines[check[0] + 1 : following[0]] if following else []
    claimed = any(
        words.CLAIM.match(words.LIST_MARK.sub("", line, count=1)) or words.LIST_MARK.match(line) for line in between
    )
    return not claimed and any(map(words.SECOND_THOUGHT.match, between))


def _restated_check(clause: str) -> list[bool]:
    """Return the check in a clause such as "So this is supported"; empty if there is none."""
    match = words.IT_IS.search(clause)
    return [bool(match["yes"]) != bool(match["no"])] if match else []


def _replace_check(kept: list[Found], clause: str, index: int, *, value: bool) -> None:
    """Replace the check of the claim that a clause names, in place.

    Args:
        kept: The checks. If the clause names no claim, the last one before its line is replaced.
        clause: The clause.
        index: The index of its line.
        value: The new check.
    """
    named_claim = words.WHICH.search(clause)
    if named_claim and named_claim["number"]:
        place = int(named_claim["number"]) - 1
    elif named_claim:
        place = (
            words.ORDINALS.index(named_claim["ordinal"].lower())
            if named_claim["ordinal"].lower() in words.ORDINALS
            else len(kept) - 1
        )
    elif words.EVERY.search(clause):
        if value and not re.search(r"\b(?:summary|mostly|largely|generally|nearly|almost)\b", clause, re.IGNORECASE):
            kept[:] = [(line, True) for line, _ in kept]
        # One claim is not supported, but the clause does not say which.
        place = len(kept) - 1 if not value and all(good for _, good in kept) else -1
    else:
        place = max((at for at, (line, _) in enumerate(kept) if line < index), default=-1)
    if 0 <= place < len(kept):
        kept[place] = (kept[place][0], value)


def _clause_checks(clause: str) -> list[bool]:
    """Return the checks of the claims that a clause is about."""
    if words.NO_UNSUPPORTED.search(clause):
        return [True]
    if count := words.COUNT.search(clause):
        number, of = (count["a"] or count["c"]).lower(), (count["b"] or count["d"]).lower()
        return [not count["not"] and number == of]
    for form in (words.ACTIVE, words.SUPPORT_FOUND):
        if match := form.search(clause):
            is_positive = bool(match.groupdict().get("yes", True))
            return [is_positive != bool(match["no"]) and not match["some"] and not words.EXCEPT.search(clause)]
    values = []
    for match in words.SENTENCE.finditer(clause):
        is_positive = bool(match["yes"] or match["holds"] or match["bare"] is not None)
        negations = sum(bool(match[name]) for name in ("no", "none", "without", "cannot"))
        partly = match["some"] or (match["no"] or "").strip() in ("only", "partially", "partly")
        values.append(is_positive != bool(negations % 2) and not partly and not words.EXCEPT.search(clause))
    return values
