"""Read which claims a reply lists and whether each is supported (Factored Verification, 2.4 and A.1).

`checks` reads a list of claims with their checks ("Claim: …", "Supported: Yes/No"), `supported` the check of a single
claim (A.1.3). The first of these in which a check is found counts:

1. data: objects with a member named after the check, or whose keys are claims;
2. lines: a check behind its name ("Supported: Yes"), a part of the line that begins with a check ("2. A ship sank –
   yes", also a cell of a table), a line below the claim, a list under "Unsupported claims:";
3. sentences ("Claim 2 is not in the document"), as the reader of labels reads them.

What a reply takes back ("Wait, …") is replaced. A check that is neither a plain yes nor a plain no counts as a no,
because the question is whether the document supports the whole claim. A claim without a check is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from halu_tasks.scorers.answer import ABSTAINED, Answer
from halu_tasks.scorers.reading.clauses import signs, stated
from halu_tasks.scorers.reading.fields import values
from halu_tasks.scorers.reading.lexicon import phrases
from halu_tasks.scorers.reading.lines import Line, lines
from halu_tasks.scorers.reading.reply import ReplyText, ends, plain_line, sentences
from halu_tasks.scorers.reading.steps import LabelReader, partly_declines
from halu_tasks.scorers.reading.verdicts import VerdictReader
from halu_tasks.scorers.reading.vocabulary import Vocabulary

SUPPORTED, UNSUPPORTED = "supported", "unsupported"

_NAMES = (
    *("supported", "is supported", "support", "entailed", "faithful", "verified", "verdict", "status"),
    *("assessment", "label", "check", "result", "in the document", "the claim is", "this claim is"),
    *("the statement is", "belegt", "gestützt", "soutenue", "得到支持", "支持", "结论"),
)
read_support = VerdictReader(phrases("support"), _NAMES, reason="critique")
"""Reads the check of one claim ("Supported: Yes") as `supported` or `unsupported`."""
_support = LabelReader(Vocabulary(("judgment", "claims"), (SUPPORTED, UNSUPPORTED), yes=SUPPORTED))
_parse = _support.vocabulary.parse

_CLAIM = re.compile(
    r"^\W{0,4}(?:claim|statement|aussage|behauptung|affirmation|afirmación|声明|陈述)\s?(?P<number>\d{1,3})?\s?"
    r"(?:[:.)–—✓✔✅✗✘❌-]\s?(?P<text>.{0,60})|$)",
    re.IGNORECASE,
)
_NEXT_CLAIM = re.compile(r"(?<=[.;!?])\s+(?=claim \d{1,3}\s?[:.)])|\s(?=\*{0,2}claim \d{1,3}:)", re.IGNORECASE)
_SIGNS = "✓✔✅☑👍🟢✗✘❌✖☒⚠❓👎🔴🟡🟠"
_SIGN = re.compile(rf"[{_SIGNS}]")
_PART = re.compile(rf"(?<=[.!?…。])(?=\s|\w)|\s(?:[–—=-]|--|[-=]?>|→)\s|[:：](?=\s)|[(\[|]|(?=[{_SIGNS}])")
_FORM = re.compile(r"\byes ?(?:/|\||or) ?no\b", re.IGNORECASE)  # of the prompt
_RULE = re.compile(r"[|:\s-]*-[|:\s-]*")
_AGAIN = re.compile(r".*[,.?!–—-] (?:wait|on reflection|correction|actually)\b[,:]?\s+", re.IGNORECASE)
_NOT_EITHER = re.compile(r"\b(?:is|are|was|were) not\W*$")
_NOT_CHECKED = re.compile(r"\W*(?:none|n/a|nothing|no (?:\w+ )?claims?)\b.{0,30}", re.IGNORECASE)
_COUNT = re.compile(r"\b(\d{1,3}) ?(?:/|(?:out )?of(?: the)?) ?(\d{1,3})\b")
_COUNTED = re.compile(r"\b(?:claims?|statements?|facts?|supported|verified)\b")
_SUPPORTED = re.compile(r"\b(?:document|article|source|passage|supported|unsupported)\b", re.IGNORECASE)
# "Supported: Perhaps", not "SUPPORTED: The mayor resigned"
_UNKNOWN = re.compile(r"\s*\w+(?: \w+)?\W*")
_EVERY = re.compile(r"\b(?:all|both|every\w*|each|none|neither)\b", re.IGNORECASE)
_ABOUT = re.compile(
    r"\b(?:document|article|source|text|passage|story|claims?|statements?|checks? out"
    r"|(?:is|are|was|were) (?:not |all |both )?(?:un)?supported(?! by (?!the (?:document|article|source|text))))\b"
)
_MOST_PARTS = 30


class Checks(NamedTuple):
    """The checks of the claims in a reply.

    Attributes:
        checked: Whether each claim is supported, in order.
        unchecked: The number of claims without a check.
        none: The answer where no check was found, with the reason.
    """

    checked: list[bool]
    unchecked: int = 0
    none: Answer[str] = Answer(None, "no claim with a check")


def checks(reply: str) -> Checks:
    """Return whether each claim that a reply lists is supported."""
    reply = ReplyText(reply)
    if reply.missing:
        return Checks([], none=reply.missing)
    text = reply.text
    checks_in_data = [check for value in values(text) for check in _of_data(value.content)]
    if any(check is not None for check in checks_in_data):
        return Checks([check for check in checks_in_data if check is not None], checks_in_data.count(None))
    reply_lines = [*_lines_of(reply)]
    labels = [read_support.label(line.text) for line in reply_lines]
    if len(reply_lines) > 1 and None not in labels:
        return Checks([label == SUPPORTED for label in labels])
    claims = {claim["number"] or claim["text"] for line in reply_lines if (claim := _CLAIM.match(line.text))}
    checked = _with_revision(list(_of_lines(reply_lines)), reply_lines)
    checked = checked or list(_of_sentences("\n".join(line.text for line in reply_lines)))
    if not checked and partly_declines(reply):
        return Checks([], none=Answer(None, "declines", ABSTAINED))
    return Checks(checked, max(len(claims) - len(checked), 0))


def supported(reply: str) -> Answer[bool]:
    """Return whether the single claim that a reply checks is supported; unparsed if there is no check."""
    answer = read_support(reply)
    return Answer(None if answer.value is None else answer.value == SUPPORTED, answer.reason, answer.unanswered)


def _of_data(value: Any) -> list[bool | None]:
    """Return the checks in a JSON value; None for an object of a claim without one."""
    if isinstance(value, list):
        return [check for entry in value for check in _of_data(entry)]
    if not isinstance(value, dict):
        return []
    named = {name: member for name, member in value.items() if name.replace("_", " ").lower() in read_support.names}
    nested = [check for member in value.values() if isinstance(member, dict | list) for check in _of_data(member)]
    labels = [read_support.label(bool(member) if member in (0, 1) else member) for member in (named or value).values()]
    if not named and (nested or None in labels):
        return nested or [None] * ("claim" in value)
    return [None if label is None else label == SUPPORTED for label in labels]


def _lines_of(reply: ReplyText) -> Iterator[Line]:
    # a box or a tag has the verdict on all of them, not the checks
    for line in lines(ends(reply.text)):
        for part in _NEXT_CLAIM.split(_FORM.sub("", line.text)):
            if text := plain_line(part):
                yield line._replace(text=text)


def _of_lines(reply_lines: list[Line]) -> Iterator[tuple[int, bool]]:
    """Yield the index and the check of the lines that check a claim."""
    below, group, last = False, None, -1
    for index, line in enumerate(reply_lines):
        following = reply_lines[index + 1].text if index + 1 < len(reply_lines) else ""
        if _RULE.fullmatch(line.text) or _RULE.fullmatch(following) or index == last:
            continue
        body = line.text.strip("| ")
        is_claim = line.indent >= 0 or "|" in line.text or bool(_CLAIM.match(body))
        if again := _AGAIN.match(body):
            body, is_claim, below = body[again.end() :], False, True
        heading = read_support.label_at_start(re.sub(r"\bclaims?\b.*", "", body)) if body.endswith(":") else None
        if heading and not is_claim and (group or any(each.indent >= 0 for each in reply_lines[index + 1 : index + 2])):
            group = heading
            continue
        group = group if is_claim else None
        if group and not _NOT_CHECKED.fullmatch(body):
            yield index, group == SUPPORTED
            continue
        checks_on_line = list(_named(body, following))
        if not checks_on_line and _UNKNOWN.fullmatch(body, _end_of_title(body)):
            continue
        checks_on_line = (
            checks_on_line
            or list(_listed(body, below=below or is_claim))
            or list(_alone(body, is_claim=is_claim, below=below))
        )
        if not checks_on_line and is_claim and _SUPPORTED.search(body) and not read_support.name_places(following):
            checks_on_line = list(_of_sentences(body))[-1:]
        yield from ((index, check) for check in checks_on_line)
        below = not checks_on_line
        if checks_on_line and body.endswith((":", "：", "?")):
            last = index + 1  # the check was on the next line


def _end_of_title(line: str) -> int:
    """Return where the name of the check and its colon end that a line begins with; its length if it does not."""
    places = read_support.name_places(line)[:1]
    return next((end for start, end in places if start == 0 and line[end - 1] in ":：="), len(line))


def _named(line: str, following: str) -> Iterator[bool]:
    for start, end in read_support.name_places(line)[:_MOST_PARTS]:
        before = line[:start].rstrip()[-1:]
        if before and before not in ".,;:({[|?!–—-" and line[start].islower():
            continue  # part of a sentence
        rest = line[end : end + 200].strip(" =")
        label = read_support.label_at_start(rest or following) or (
            _support(rest).value if rest.count(" ") > 1 else None
        )
        if label:
            yield label == SUPPORTED


def _listed(line: str, *, below: bool) -> Iterator[bool]:
    """Yield the checks of a line that is nothing else: "supported, not supported, supported"."""
    labels = [read_support.label(part.strip(" []()")) for part in line.split(",")]
    is_list = (below or len(labels) > 1) and None not in labels and not line.endswith(":")
    yield from (label == SUPPORTED for label in labels if is_list)


def _alone(line: str, *, is_claim: bool, below: bool) -> Iterator[bool]:
    """Yield the check that a part of a line begins with.

    Args:
        line: The line without its list mark.
        is_claim: Whether it lists a claim, so that its first part is the claim, unless a mark sets the check off.
        below: Whether it may be the check of the claim above it.
    """
    ticked = _SIGN.match(line)
    is_set_off = bool(ticked or line[:1] in tuple("[(") or re.match(r"[A-Z]{3,}: ", line))
    starts = [0, *(match.end() for match in _PART.finditer(line))][:_MOST_PARTS]
    for number, start in enumerate(starts):
        part = line[start:].lstrip(" [(")
        label = read_support.label_at_start(part)
        if not label or part.endswith(":"):
            continue
        is_last = part.endswith(")") and len(part) < 40
        if is_set_off or (number and (is_claim or is_last)) or (below and not is_claim):
            yield label == SUPPORTED
            return


def _of_sentences(text: str) -> Iterator[bool]:
    """Yield the check of each clause that judges a claim, in sentences about claims or the document."""
    for sentence in (_parse(each.text, each) for each in sentences(re.sub(r"(?<=\d)/(?=\d)", " of ", text))):
        if not _ABOUT.search(sentence.text):
            continue
        if (count := _COUNT.search(sentence.text)) and _COUNTED.search(sentence.text):
            yield count[1] == count[2]
            continue
        for clause in stated(sentence.clauses):
            if polarities := [good for good, _ in signs(clause)]:
                yield all(polarities)
        if _NOT_EITHER.search(sentence.text):
            yield False


def _with_revision(line_checks: list[tuple[int, bool]], reply_lines: list[Line]) -> list[bool]:
    checked = [check for _, check in line_checks]
    first = line_checks[0][0] if line_checks else len(reply_lines)
    later = range(first + 1, len(reply_lines))
    retraction = _support.vocabulary.retraction
    revised = next(
        (at for at in later if any(retraction(_parse(each.text)) for each in sentences(reply_lines[at].text)[:1])), None
    )
    if revised is None:
        return checked
    before = [check for index, check in line_checks if index < revised]
    text = " ".join(line.text for line in reply_lines[revised:])
    again = [check for index, check in line_checks if index >= revised] or list(_of_sentences(text))
    if not again or not before:
        return checked
    if _EVERY.search(text):
        return [again[-1]] * len(before)
    return [*before[:-1], again[-1]]
