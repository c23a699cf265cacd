"""Claims of a summary and their checks, as a reply lists them in one go: `checks` (Factored Verification, 2.4).
The check of a single claim is `supported` (A.1.3).

The prompt asks for lines "Claim: …" and "Supported: Yes/No"; models number, decorate and tabulate them. Checks are
looked for in one form after the other, and the first that has any is the reply's:

1. a table with a column that is named after the check;
2. labels: "Supported: Yes", "**Supported?** No", `"is_supported": true`;
3. a list or lines that end in the check: "1. A ship sank. - Yes", "(not supported)";
4. sentences: "Claim 2 is not supported by the document", "the first is supported, the second is not".

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
from halu_tasks.scorers.verdict_reader import verdict_reader
from halu_tasks.scorers.verdict_text import ends


class Checks(NamedTuple):
    """Whether each claim is supported, in order; how many claims have no check; for none at all, why."""

    checked: list[bool]
    unchecked: int = 0
    reason: str = ""


_PLAIN = str.maketrans({**dict.fromkeys(map(ord, '*`#"“”~>'), ""), ord("_"): " "})
_STAR = re.compile(r"(?m)^[ \t]*\*[ \t]+")
_LIST_MARK = re.compile(r"^[ \t]*(?:[-+•·–—]|\(?\d{1,3}[.):])[ \t]+")

_EITHER = r"(?!\s?(?:/|\||or\b)\s?(?:yes|no)\b)"
_YES = (
    rf"(?:(?:yes|true|correct|y)\b{_EITHER}|(?:fully |directly |explicitly |clearly )?(?:supported|entailed)\b|[✓✔✅☑])"
)
_NO = (
    rf"(?:(?:no|false|incorrect|n(?!/))\b{_EITHER}|unsupported\b|not\b|(?:partial|part)(?:ly)?\b|cannot\b|can't\b"
    rf"|contradict\w*"
    r"|unclear\b|unverif\w*|unknown\b|somewhat\b|mostly\b|n/a\b|[✗✘❌✖☒×])"
)
_VALUE = re.compile(
    rf"[\s:=\[({{-]{{0,5}}(?:(?P<yes>{_YES})(?!\W{{0,4}}(?:but|partial|part|mostly|although|though|somewhat)\w*)|(?P<no>{_NO}|{_YES}))",
    re.IGNORECASE,
)
_PART = r"(?:not |partially |partly |cannot be )"
_NAME = r"(?:is ?)?(?:supported|support|entailed|faithful|verified|verification)(?: by (?:the )?\w{3,12})?"
_COLUMN = re.compile(
    rf"\s*(?:{_NAME}|verdict|check|status|judge?ment|yes ?/ ?no)\s?\??\s*(?:\(.{{0,20}}\))?\s*", re.IGNORECASE
)
# Behind a lower-case word "supported:" may be part of a sentence.
_LABEL = re.compile(
    rf"(?:(?i:(?:^|(?<=[.,;:({{\[|?!–—-])|(?<=[.,;:({{\[|?!–—-] ))\s{{0,3}}{_NAME})|\bSupported)\s?(?:\?\s?[:=]?|[:=])"
)
_CLAIM = re.compile(r"(?i:(?:^|[{\[,]\s{0,3})\s*claim)\s?(?P<number>\d{1,3})?\s?(?:[:.)–—-]\s?(?P<text>.{0,60})|$)")
_LAST = re.compile(
    rf"(?:[-–—:=→(\[|.?!,]\s{{0,3}}|^|\s(?=[✓✔✅☑✗✘❌✖☒×]))(?:(?P<yes>{_YES})|(?P<no>{_PART}\w{{3,12}}|{_NO}))"
    r"[\s)\].,!}\ufe0f]*$",
    re.IGNORECASE,
)
# "- A ship sank: not supported, the document speaks of a boat"
_FOLLOWED = re.compile(
    r"(?:\s[–—-]|:)\s(?:(?P<yes>(?:fully )?supported)|(?:not|only|partially|partly) supported|unsupported|contradicted"
    r"|not (?:mentioned|stated|found|in the))\b",
    re.IGNORECASE,
)
_ORDINAL = r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|other|next|former|latter)"
# What is said of the claims that a sentence speaks of: "claim 2", "both", "three of the four", "everything".
_SUBJECT = (
    rf"(?:(?P<none>none|neither|no (?:\w+ )?(?:claims?|sentences?|statements?))\b.{{0,60}}?"
    rf"|(?P<some>not (?:all|every\w*|each)|only (?:\w+ )?(?:one|two|three|four|five|six|some|half|part|\d+)|(?:some"
    rf"|half|most) of)\b.{{0,80}}?"
    rf"|(?:(?:claims?|sentences?|statements?|facts?|details?|points?|the {_ORDINAL}|both|all|each|every\w*|one)\b"
    r"(?:(?<=one) (?:is|are|of))?.{0,200}?))"
)
_SOURCE = r"(?:documents?|article|source|text|passage|report|story)"
_IS_FOUND = (
    rf"(?:supported|confirmed|backed|verified|borne out|substantiated|corroborated|entailed|grounded in"
    rf"|consistent with|accurate|correct"
    rf"|(?:found|stated|mentioned|present|contained|covered|said|reported|given"
    rf"|described)?(?: directly)? ?in the (?:\w+ )?{_SOURCE})"
)
_NOT_FOUND = (
    r"(?:unsupported|contradicted|refuted|unverified|unconfirmed|unfounded|absent|missing|invented|fabricated"
    r"|made up|nowhere|inaccurate"
    r"|wrong|at odds with|inconsistent with)"
)
_SENTENCE = re.compile(
    rf"\b{_SUBJECT}(?:\b(?:is|are|was|were|(?P<cannot>can(?:not|'t))?(?:can)? be|has been|have been)(?P<no> (?:not"
    rf"|only|partially|partly)\b|n't\b)?"
    rf"(?:(?: (?!not\b)\w+){{0,2}}? (?:(?P<yes>{_IS_FOUND})|{_NOT_FOUND})\b|(?P<bare>(?<=not)(?=[.,;!]|\s*$)))"
    rf"|(?P<without>(?:does|do)(?:n't| not) |has no |have no |lacks? |finds no )?\b(?:(?P<holds>checks? out|holds? up"
    rf"|appears? in|matche?s?|follows? from|(?:find|has|have) support|support)|contradicts?|conflicts? with)\b)",
    re.IGNORECASE,
)
# "The document supports all three claims"
_ACTIVE = re.compile(
    rf"\b(?:{_SOURCE}|it)\s(?P<no>(?:does|do)(?:n't| not) |nowhere |never )?(?:\w+ly )?"
    r"(?:(?P<yes>supports?|confirms?|backs?(?: up)?|bears? out|verif(?:y|ies)|corroborates?|contains?|states?"
    r"|mentions?|covers?)"
    rf"|contradicts?|refutes?|conflicts? with)\s(?:\w+ ){{0,3}}?(?P<object>(?P<some>only|some|most|half)\b|all|both"
    rf"|each|every\w*|claims?\b|the {_ORDINAL}|any|none|them|it\b)",
    re.IGNORECASE,
)
_SUPPORT_FOUND = re.compile(
    r"\b(?:found|find|see|there is|there's) (?P<no>no |any )?(?:\w+ )?support for (?P<some>only |some |most )?(?:each"
    r"|all|every|both|them|any|claims?)\b",
    re.IGNORECASE,
)
# "There are no unsupported claims"
_NO_UNSUPPORTED = re.compile(
    r"\bno (?:unsupported|unverified|contradicted|unfounded) (?:claims?|sentences?|statements?)\b", re.I
)
_EXCEPT = re.compile(
    r"\b(?:except(?!ion)|apart from|other than|(?:all|every\w*) but|with the exception)\b", re.IGNORECASE
)
_CLAUSES = re.compile(r"(?<=[.;!?])\s+|,?\s\b(?:but|while|whereas|although|and(?= (?:the|claim|one|it)\b))\b|;\s")


def checks(reply: str) -> Checks:
    """What the reply says of each claim that it lists."""
    text = strip_reasoning(reply)
    if text is None:
        return Checks([], reason="unclosed reasoning")
    text = _STAR.sub("- ", ends(text)).translate(_PLAIN)
    lines = [line for raw in text.splitlines() if (line := raw.strip())]
    for read in (_table, _labelled, _listed, _sentences):
        if checked := list(read(lines)):
            return Checks(checked, max(len(_claims(lines)) - len(checked), 0))
    return Checks([], len(_claims(lines)), "no claim with a check" if lines else "empty")


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
    """Whether the one claim that a reply checks is supported."""
    found = read_support(reply)
    return Answer(None if found.value is None else found.value == SUPPORTED, found.reason)


def _claims(lines: list[str]) -> set[str]:
    """The claims that are labelled as such: by number, else by their first words."""
    found = (_CLAIM.search(_LIST_MARK.sub("", line, count=1)[:200]) for line in lines)
    return {claim["number"] or claim["text"] or "" for claim in found if claim}


def _value(text: str) -> bool | None:
    """The check that a text begins with."""
    found = _VALUE.match(text[:60])
    return found["yes"] is not None if found else None


def _table(lines: list[str]) -> Iterator[bool]:
    column = None
    for line in lines:
        if line.count("|") < 2 - (column is not None):
            column = None
            continue
        cells = line.strip("|").split("|")
        if column is None:
            column = next((index for index, cell in enumerate(cells) if _COLUMN.fullmatch(cell[:60])), None)
        elif column < len(cells) and (value := _value(cells[column].strip())) is not None:
            yield value


def _labelled(lines: list[str]) -> Iterator[bool]:
    for line, following in pairwise([*lines, ""]):
        for label in _LABEL.finditer(_LIST_MARK.sub("", line, count=1)):
            rest = label.string[label.end() :][:60].strip()
            value = _value(rest or following)
            if value is None and re.match(r"[a-z]", rest, re.IGNORECASE) and not re.match(_EITHERS, rest):
                value = False
            if value is not None:
                yield value


_EITHERS = re.compile(r"\W*(?:yes|no)\b", re.IGNORECASE)


def _listed(lines: list[str]) -> Iterator[bool]:
    before = False
    for line in lines:
        found = _LAST.search(line[-80:])
        claim = bool(_LIST_MARK.match(line) or _CLAIM.match(line))
        if found and (claim or (before and found.end() - found.start() == len(line))):
            yield found["yes"] is not None
        elif claim and (followed := _FOLLOWED.search(line[:400])):
            yield followed["yes"] is not None
        before = claim


def _sentences(lines: list[str]) -> Iterator[bool]:
    for line in lines:
        for clause in _CLAUSES.split(line[:2_000]):
            yield from _said(clause)


def _said(clause: str) -> Iterator[bool]:
    """Whether the claims that a clause speaks of are supported."""
    if _NO_UNSUPPORTED.search(clause):
        yield True
        return
    for form in (_ACTIVE, _SUPPORT_FOUND):
        if found := form.search(clause):
            good = bool(found.groupdict().get("yes", True))
            yield good != bool(found["no"]) and not found["some"] and not _EXCEPT.search(clause)
            return
    for found in _SENTENCE.finditer(clause):
        good = bool(found["yes"] or found["holds"] or found["bare"] is not None)
        turned = sum(bool(found[name]) for name in ("no", "none", "without", "cannot"))
        partly = found["some"] or (found["no"] or "").strip() in ("only", "partially", "partly")
        yield good != bool(turned % 2) and not partly and not _EXCEPT.search(clause)
