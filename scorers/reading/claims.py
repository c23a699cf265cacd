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
from halu_tasks.scorers.reading.labels.verdict_text import ends


class Checks(NamedTuple):
    """Whether each claim is supported, in order; how many claims have no check; for none at all, why."""

    checked: list[bool]
    unchecked: int = 0
    reason: str = ""


_PLAIN = str.maketrans({**dict.fromkeys(map(ord, '*`#"“”~>'), ""), ord("_"): " "})
_STAR = re.compile(r"(?m)^[ \t]*\*[ \t]+")
_LIST_MARK = re.compile(r"^[ \t]*(?:[-+•·–—]|\(?\d{1,3}[.):])[ \t]+")

_EITHER = r"(?!\s?(?:/|\||or\b)\s?(?:yes|no)\b)"
_YES_WORDS = r"(?:yes|true|correct|accurate|ja|oui|sí|wahr|richtig|korrekt|vraie?|verdader[oa]|是|支持)"
_NO_WORDS = r"(?:no|false|incorrect|inaccurate|nein|non|falsch|fausse|faux|fals[oa]|否|不支持)"
_YES = (
    rf"(?:(?:{_YES_WORDS}|y|1)\b{_EITHER}|(?:fully |directly |explicitly |clearly )?(?:supported|entailed|verified)\b"
    r"|[✓✔✅☑])"
)
_NO = (
    rf"(?:(?:{_NO_WORDS}|0|n(?!/))\b{_EITHER}|unsupported\b|not\b|(?:partial|part)(?:ly)?\b|cannot\b|can't\b"
    rf"|contradict\w*"
    r"|unclear\b|unverif\w*|unknown\b|somewhat\b|mostly\b|n/a\b|[✗✘❌✖☒×⚠❓👎🔴🟡🟠])"
)
_VALUE = re.compile(
    rf"[\s:=\[({{-]{{0,5}}(?:(?P<yes>{_YES})(?!\W{{0,4}}(?:but|partial|part|mostly|although|though|somewhat)\w*)|(?P<no>{_NO}|{_YES}))",
    re.IGNORECASE,
)
_PART = r"(?:not |partially |partly |cannot be )"
_NAME = (
    r"(?:is ?)?(?:supported|support|entailed|faithful|verified|verification|belegt|gestützt|unterstützt|soutenue?"
    r"|confirmée?|respaldad[oa])(?: (?:by|in|par|por|durch) (?:(?:the|le|el|das) )?\w{3,12})?"
)
_VERDICT = (
    r"(?:verdict|check|status|judge?ment|result|assessment|label|rating|evaluation|conclusion|bewertung|urteil"
    r"|ergebnis|évaluation|veredicto|evaluación)"
)
_COLUMN = re.compile(
    rf"\s*(?:{_NAME}|{_VERDICT}|yes ?/ ?no|(?:(?:found|stated|mentioned|present) )?in (?:the )?\w{{3,12}}"
    r"|true|correct|accurate|matches)\s?\??\s*(?:\(.{0,20}\))?\s*",
    re.IGNORECASE,
)
# Behind a lower-case word "supported:" may be part of a sentence.
_LABEL = re.compile(
    rf"(?:(?i:(?:^|(?<=[.,;:({{\[|?!–—-])|(?<=[.,;:({{\[|?!–—-] ))\s{{0,3}}{_NAME})|\bSupported)\s?(?:\?\s?[:=]?|[:=])"
)
# "Verdict: supported", where a claim stands before it; "Contradicted: it was a boat"
_VERDICT_LABEL = re.compile(rf"(?i:(?:^|(?<=[.,;{{\[])\s{{0,3}}){_VERDICT}\s?[:=]\s?)")
_NOT_LABEL = re.compile(
    r"(?:^|\s[–—-]\s)(?:unsupported|not supported|(?:only )?partially supported|contradicted)\s?:(?=\s?\S)", re.I
)
_CLAIM_WORD = r"(?:claim|statement|aussage|behauptung|affirmation|afirmación|声明|陈述)"
_CLAIM = re.compile(
    rf"(?i:(?:^|[{{\[,]\s{{0,3}})\s*{_CLAIM_WORD})\s?(?P<number>\d{{1,3}})?\s?(?:[:.)–—-]\s?(?P<text>.{{0,60}})|$)"
)
_LAST = re.compile(
    rf"(?:[-–—:=→(\[|.?!,]\s{{0,3}}|^|\s(?=[✓✔✅☑✗✘❌✖☒×]))(?:(?P<yes>{_YES})|(?P<no>{_PART}\w{{3,12}}|{_NO}))"
    r"[\s)\].,!}\ufe0f]*$",
    re.IGNORECASE,
)
# A status with which a part of a line begins. A word that may begin any sentence is one only before a mark.
_LEAD = (
    r"(?:(?:so|therefore|thus|hence),? )?(?:(?:this|it|that|(?:the|this) claim)(?:'s| is| was)? )?"
    r"(?:(?:fully|directly|explicitly|clearly|well|entirely|wird|est|está|durch (?:das|den) \w{3,15}) ){0,3}"
)
_CLEAR = (
    r"(?:supported|entail(?:ed|ment)|verified|confirmed|(?:stated|mentioned|found|given|present"
    r"|reported)(?= (?:\w+ly )?in\b)"
    r"|matches|consistent with|in the (?:document|article|text|source)"
    r"|belegt|gestützt|unterstützt|bestätigt|soutenue?|confirmée?|étayée?"
    r"|respaldad[oa]|confirmad[oa]|完全支持|得到支持)"
)
_CLEAR_NOT = (
    r"(?:(?:not|only|partially|partly|nicht|pas|partiellement|teilweise|parcialmente|nur teilweise|non|no)"
    r" (?:(?:fully|directly|explicitly|entirely|vollständig|durch (?:das|den) \w{3,15}) ){0,2}"
    r"(?:{CLEAR}|mentioned|stated|found|given|present|accurate|correct|mentionnée?|mencionad[oa]|erwähnt|in the)"
    r"|does(?:n't| not) (?:match|appear)|not enough|insufficient|refuted|neutral(?=\s?$)"
    r"|unsupported|unverif\w+|contradict\w+|hallucinated|fabricated|widerspricht|contredite?|contradich[oa]"
    r"|no (?:evidence|support|mention|basis)|(?:cannot|can't|could not|couldn't|can not) be (?:\w+ly )?"
    r"(?:verified|confirmed|determined|supported|inferred|found)|(?:the )?(?:document|article) (?:does not|doesn't"
    r"|never) (?:\w+ly )?(?:mention|state|say|support)s?|不支持|未支持|未提及|部分支持)"
).replace("{CLEAR}", _CLEAR)
_STATUS = re.compile(
    rf"(?P<mark>[✓✔✅☑👍🟢✗✘❌✖☒⚠❓👎🔴🟡🟠]|\[[x ]\](?=\s))|{_LEAD}(?:(?P<yes>{_CLEAR})|(?P<no>{_CLEAR_NOT})"
    rf"|(?:(?P<true>{_YES_WORDS})|(?P<false>{_NO_WORDS}))(?=\s?(?:[.,;:!)\]}}(–—]|- |$)))(?!\w)"
    r"(?P<partly>\W{1,4}(?:but|partial\w*|partly|mostly|although|though|somewhat|except)\b)?"
    r"(?=(?P<closed>\s?(?:[.,;:!)\]}(–—]|- |$))?)",
    re.IGNORECASE,
)
_GOOD_MARKS = ("✓", "✔", "✅", "☑", "👍", "🟢", "[x]", "[X]")
_PART_OF_LINE = re.compile(
    r"(?:(?<=[.!?…。])(?=\s|\w)|\s(?:[–—=-]|--|[-=]?>|→)\s|:\s|[(\[|]|(?=[✓✔✅☑👍🟢✗✘❌✖☒⚠❓👎🔴🟡🟠]))"
)
_MOST_PARTS = 30
# "the claim that a ship sank is not supported by the document", as an item of a list
_IS_STATUS = re.compile(
    r"\b(?:is|was|are|were)(?:(?P<no>n't| not| only| partially| un(?=supported))[\w ]{0,20})? (?:\w+ly )?"
    r"(?:(?P<yes>(?<!un)supported|confirmed|backed|verified|stated|mentioned)|contradicted|unsupported)"
    r" (?:up )?(?:by|in) (?:the )?(?:document|article|source|text|passage|report|story)\b",
    re.IGNORECASE,
)
_ORDINAL = r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|other|next|former|latter)"
# What is said of the claims that a sentence speaks of: "claim 2", "both", "three of the four", "everything".
_SUBJECT = (
    rf"(?:(?P<none>none|neither|no (?:\w+ )?(?:claims?|sentences?|statements?))\b.{{0,60}}?"
    rf"|(?P<some>not (?:all|every\w*|each)|only (?:\w+ )?(?:one|two|three|four|five|six|some|half|part|\d+)|(?:some"
    rf"|half|most) of)\b.{{0,80}}?"
    rf"|(?:(?:claims?|sentences?|statements?|facts?|details?|points?|summary|the {_ORDINAL}|both|all|each"
    rf"|every\w*|one)\b"
    r"(?:(?<=one) (?:is|are|of))?.{0,200}?))"
)
_SOURCE = r"(?:documents?|article|source|text|passage|report|story)"
_IS_FOUND = (
    rf"(?:supported|confirmed|true|backed|verified|borne out|substantiated|corroborated|entailed|grounded in"
    rf"|consistent with|accurate|correct"
    rf"|(?:found|stated|mentioned|present|contained|covered|said|reported|given"
    rf"|described)?(?: directly)? ?in the (?:\w+ )?{_SOURCE})"
)
_NOT_FOUND = (
    r"(?:unsupported|false|hallucinated|contradicted|refuted|unverified|unconfirmed|unfounded|absent|missing"
    r"|invented|fabricated"
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
    r"\b(?:except(?!ion)|apart from|aside from|other than|save for|bar(?:ring)?|(?:all|every\w*)(?: \w+)? but"
    r"|with (?:the|one|two|an?) (?:\w+ )?exceptions?)\b",
    re.IGNORECASE,
)
# "3 of the 4 claims", "4/4 claims", "Supported claims: 3/4"
_NUMBER = r"(?:\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten)"
_COUNT = re.compile(
    rf"\b(?:supported|verified)\b[^.]{{0,20}}: ?(?P<a>{_NUMBER}) ?(?:/|(?:out )?of(?: the)?) ?(?P<b>{_NUMBER})\b"
    rf"|\b(?P<c>{_NUMBER}) ?(?:/|(?:out )?of(?: the)?) ?(?P<d>{_NUMBER}) (?:\w+ )?(?:claims?|statements?|facts?)\b"
    rf"[^.]{{0,40}}\b(?P<not>not |un)?(?:supported|verified|confirmed|backed|check out)\b",
    re.IGNORECASE,
)
_CLAUSES = re.compile(
    r"(?<=[.;!?])\s+|,?\s\b(?:(?<![Aa]ll )(?<!claims )but|while|whereas|although|and(?= (?:the|claim|one|it)\b))\b|;\s"
)


def checks(reply: str) -> Checks:
    """What the reply says of each claim that it lists."""
    text = strip_reasoning(reply)
    if text is None:
        return Checks([], reason="unclosed reasoning")
    raw = [line for line in _STAR.sub("- ", ends(text)).splitlines() if line.strip()]
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


def _table(lines: list[str]) -> Iterator[Found]:
    column = None
    for index, line in enumerate(lines):
        if line.count("|") < 2 - (column is not None):
            column = None
            continue
        cells = line.strip("|").split("|")
        if column is None:
            column = next((index for index, cell in enumerate(cells) if _COLUMN.fullmatch(cell[:60])), None)
        elif column < len(cells) and (value := _value(cells[column].strip())) is not None:
            yield index, value
    if column is None:
        yield from _last_cells(lines)


def _last_cells(lines: list[str]) -> Iterator[Found]:
    """The checks of rows without a heading that names them."""
    for index, line in enumerate(lines):
        cells = line.strip("|").split("|")[1:][-5:]
        values = (_status(found) for cell in cells if (found := _STATUS.match(cell.strip()[:80])) and _closed(found))
        if (value := next(values, None)) is not None:
            yield index, value


# "Supported claims:", with the claims as a list below
_GROUP = re.compile(
    rf"(?:the )?(?:(?:(?P<no>{_CLEAR_NOT})|(?P<yes>(?:fully )?{_CLEAR}))(?: (?:claims?|statements?|facts?))?"
    rf"|(?:claims?|statements?|facts?) (?:that are )?(?:(?P<no2>{_CLEAR_NOT})|(?P<yes2>{_CLEAR})))"
    r"(?: (?:by|in) (?:the )?\w{3,12})?\s?(?:\(\d{1,3}\))?\s?:?",
    re.IGNORECASE,
)
_NO_ITEM = re.compile(r"\W*(?:none|n/a|nothing|no (?:\w+ )?claims?)\b.{0,30}", re.IGNORECASE)


def _grouped(lines: list[str]) -> Iterator[Found]:
    value = None
    for index, (line, following) in enumerate(pairwise([*lines, ""])):
        marked = _LIST_MARK.match(line)
        heading = None if marked else _GROUP.fullmatch(line[:80])
        if heading and (_LIST_MARK.match(following) or (value is not None and _NO_ITEM.fullmatch(following[:60]))):
            value = bool(heading["yes"] or heading["yes2"])
        elif not marked:
            value = None
        elif value is not None and not _NO_ITEM.fullmatch(_LIST_MARK.sub("", line, count=1)[:60]):
            yield index, value


def _labelled(lines: list[str]) -> Iterator[Found]:
    claimed = False
    for index, (line, following) in enumerate(pairwise([*lines, ""])):
        plain = _LIST_MARK.sub("", line, count=1)
        before = claimed or plain != line or "claim" in plain[:5_000].lower()
        values = list(_labels(plain, following))
        if not values and before:
            values = [value for label in _VERDICT_LABEL.finditer(plain) for value in _label_value(label, following)]
        if not values and _NOT_LABEL.search(plain[:400]):
            values = [False]
        yield from ((index, value) for value in values)
        claimed = not values and (claimed or plain != line or bool(_CLAIM.match(line)))


def _labels(line: str, following: str) -> Iterator[bool]:
    for label in _LABEL.finditer(line):
        rest = label.string[label.end() :][:200].strip()
        value = _value(rest or following)
        if value is None and re.match(r"[a-z]", rest, re.IGNORECASE) and not re.match(_EITHERS, rest):
            # "Supported: the first line says so", "Supported: only the date"
            value = not _DENIES.search(rest)
        if value is not None:
            yield value


def _label_value(label: re.Match[str], following: str) -> Iterator[bool]:
    rest = label.string[label.end() :][:80].strip() or following[:80]
    if found := _STATUS.match(rest):
        yield _status(found)


_EITHERS = re.compile(r"\W*(?:yes|no)\b", re.IGNORECASE)
_DENIES = re.compile(r"\b(?:not|no|never|only|part|partly|partially|some|half|most|nothing|but)\b|n't\b", re.IGNORECASE)
_ENTRY = re.compile(
    r"[{,]\s{0,3}[^{}:,|][^{}:|]{8,300}: ?(?P<value>yes|no|true|false|(?:not |un)?supported)\s?(?=[,}]|$)", re.I
)


def _enumerated(lines: list[str]) -> Iterator[Found]:
    """The checks of a line that lists nothing else: "supported, not supported, supported"."""
    for index, line in enumerate(lines):
        parts = line.strip("[](). ")[:2_000].split(",")
        found = [_STATUS.fullmatch(part.strip()) for part in parts]
        if len(parts) > 1 and all(found):
            yield from ((index, _status(each)) for each in found if each)


def _mapped(lines: list[str]) -> Iterator[Found]:
    if lines and any("{" in line for line in lines[:3]):
        text = " ".join(line if line[0] in "{}" else f",{line.rstrip(',')}" for line in lines)[:20_000]
        for found in _ENTRY.finditer(text):
            yield 0, _value(found["value"]) is True


def _listed(lines: list[str]) -> Iterator[Found]:
    pending = False
    for index, line in enumerate(lines):
        claim = bool(_LIST_MARK.match(line) or _CLAIM.match(line))
        value = _line_status(line, claim=claim, below=pending)
        if value is not None:
            yield index, value
        pending = value is None and not _SECOND_THOUGHT.match(line)


def _line_status(line: str, *, claim: bool, below: bool) -> bool | None:
    """The check that a line states: of the claim in it, or of the one that stands above it (`below`)."""
    text = _LIST_MARK.sub("", line, count=1)[:2_000]
    parts = [0, *(found.end() for _, found in zip(range(_MOST_PARTS), _PART_OF_LINE.finditer(text), strict=False))]
    starts = (start + len(text[start : start + 3]) - len(text[start : start + 3].lstrip()) for start in parts)
    begun = [found for start in starts if (found := _STATUS.match(text, start))]
    stated = [found for found in begun if _states(found, claim=claim, below=below)]
    last = _LAST.search(line[-80:])
    if stated and _SECOND_THOUGHT_IN.search(text, stated[0].end()):
        return _status(stated[-1])
    if last and (claim or (below and last.end() - last.start() == len(line))):
        return last["yes"] is not None
    if stated:
        return _status(stated[0])
    said = _IS_STATUS.search(text) if claim else None
    return None if said is None else bool(said["yes"]) and not said["no"]


def _states(found: re.Match[str], *, claim: bool, below: bool) -> bool:
    """Whether what begins like a status is one."""
    if found["mark"]:
        return True
    text, start, end = found.string, found.start(), found.end()
    if not start and not below and not _TITLE.match(text, end):
        return False
    if not (claim or below or found["yes"] or found["no"]):
        return False
    return found["closed"] is not None or found["no"] is not None or _BY.match(text, end) is not None


_TITLE = re.compile(r"\s?(?:[:–—]|- )\s?\S")
_BY = re.compile(r"\s(?:by|in|the|from|since|because|as|according|par|por|durch|im)\b", re.IGNORECASE)


def _status(found: re.Match[str]) -> bool:
    if found["partly"]:
        return False
    return found["mark"] in _GOOD_MARKS if found["mark"] else bool(found["yes"] or found["true"])


def _closed(found: re.Match[str]) -> bool:
    return bool(found["mark"] or found["closed"] is not None)


def _sentences(lines: list[str]) -> Iterator[Found]:
    for index, line in enumerate(lines):
        for clause in _CLAUSES.split(line[:2_000]):
            yield from ((index, value) for value in _said(clause))


# --- second thoughts and conclusions -----------------------------------------------------------------

_AGAIN = (
    r"(?:(?:no,? )?wait|hold on|hmm+|actually|correction|edit|update|scratch that|sorry"
    r"|on (?:second thoughts?|reflection"
    r"|closer (?:look|inspection)|re-?(?:reading|checking))|looking (?:again|closer|back)|re-?reading"
    r"|let me (?:correct|revise|re-?consider|re-?check|re-?read|double[ -]check)|I (?:was wrong|misread|made a mistake"
    r"|overlooked|missed|stand corrected|need to correct))\b"
)
_SECOND_THOUGHT = re.compile(rf"\W*{_AGAIN}", re.IGNORECASE)
_SECOND_THOUGHT_IN = re.compile(rf"(?:[.…,;–—(-]|no)\s{{0,3}}{_AGAIN}", re.IGNORECASE)
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_WHICH = re.compile(
    rf"\b(?:claim|statement|sentence|point) (?P<number>\d{{1,3}})\b|\bthe (?P<ordinal>{'|'.join(_ORDINALS)}|last)\b",
    re.IGNORECASE,
)
_EVERY = re.compile(
    r"\b(?:all|both|every\w*|each|none|neither|summary)\b(?!(?: of)?(?: the)?"
    r" (?:other|others|remaining|rest|claims? \d)\b)",
    re.IGNORECASE,
)


def _amended(found: list[Found], lines: list[str]) -> list[Found]:
    """The checks, those that are taken back replaced."""
    kept = [
        one
        for one, following in zip(found, [*found[1:], None], strict=True)
        if not _again_between(one, following, lines)
    ]
    stated = {index for index, _ in found}
    for index in range(found[0][0] + 1, len(lines)):
        line = lines[index]
        again = _SECOND_THOUGHT.match(line)
        if index not in stated and (again or (index > found[-1][0] and not _LIST_MARK.match(line))):
            for clause in _CLAUSES.split(line[:2_000]):
                if again or _WHICH.search(clause) or _EVERY.search(clause):
                    for value in _said(clause) or _said_again(clause):
                        _replace(kept, clause, index, value=value)
    return kept


def _again_between(one: Found, following: Found | None, lines: list[str]) -> bool:
    """Whether the claim is checked once more after a second thought."""
    between = lines[one[0] + 1 : following[0]] if following else []
    claimed = any(_CLAIM.match(_LIST_MARK.sub("", line, count=1)) or _LIST_MARK.match(line) for line in between)
    return not claimed and any(map(_SECOND_THOUGHT.match, between))


def _said_again(clause: str) -> list[bool]:
    """ "So this is supported"."""
    found = _IT_IS.search(clause)
    return [bool(found["yes"]) != bool(found["no"])] if found else []


_IT_IS = re.compile(
    rf"\b(?:this|it|that|the claim)(?:'s| is| was)(?P<no> (?:not|only|partially|partly)\b|n't)?"
    rf"(?: \w+ly| also| in fact| indeed)? (?:(?P<yes>{_CLEAR}|correct|true|accurate)|{_CLEAR_NOT}|false|wrong)\b",
    re.IGNORECASE,
)


def _replace(kept: list[Found], clause: str, index: int, *, value: bool) -> None:
    """What a clause says of claims, put in the place of their checks."""
    which = _WHICH.search(clause)
    if which and which["number"]:
        place = int(which["number"]) - 1
    elif which:
        place = _ORDINALS.index(which["ordinal"].lower()) if which["ordinal"].lower() in _ORDINALS else len(kept) - 1
    elif _EVERY.search(clause):
        if value and not re.search(r"\b(?:summary|mostly|largely|generally|nearly|almost)\b", clause, re.IGNORECASE):
            kept[:] = [(line, True) for line, _ in kept]
        # One of them fails, whichever it is.
        place = len(kept) - 1 if not value and all(good for _, good in kept) else -1
    else:
        place = max((at for at, (line, _) in enumerate(kept) if line < index), default=-1)
    if 0 <= place < len(kept):
        kept[place] = (kept[place][0], value)


def _said(clause: str) -> list[bool]:
    """Whether the claims that a clause speaks of are supported."""
    if _NO_UNSUPPORTED.search(clause):
        return [True]
    if count := _COUNT.search(clause):
        number, of = (count["a"] or count["c"]).lower(), (count["b"] or count["d"]).lower()
        return [not count["not"] and number == of]
    for form in (_ACTIVE, _SUPPORT_FOUND):
        if found := form.search(clause):
            good = bool(found.groupdict().get("yes", True))
            return [good != bool(found["no"]) and not found["some"] and not _EXCEPT.search(clause)]
    values = []
    for found in _SENTENCE.finditer(clause):
        good = bool(found["yes"] or found["holds"] or found["bare"] is not None)
        turned = sum(bool(found[name]) for name in ("no", "none", "without", "cannot"))
        partly = found["some"] or (found["no"] or "").strip() in ("only", "partially", "partly")
        values.append(good != bool(turned % 2) and not partly and not _EXCEPT.search(clause))
    return values
