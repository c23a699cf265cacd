"""True or false, in English: `true_false`. The rules are in `verdict`."""

from __future__ import annotations

import re
from itertools import pairwise

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.declining import declining, stated
from halu_tasks.scorers.verdict_text import CONCLUDES, DECLARED, REACH, any_of, joined, last_declared, read_reply

# What may stand between a marker and the verdict it introduces.
_HEDGE = any_of(
    "the this that given provided entire whole overall full answer response statement explanation information claim"
    " is are was be been should would will must can as in to of for my it its i a an therefore thus so factually"
    " considered deemed rated classified marked conclude final verdict still very quite fairly indeed mostly largely"
    " generally essentially primarily basically technically substantially broadly mainly almost remains leans?"
    " towards? definitely demonstrably completely entirely fully totally highly reasonably probably likely clearly"
    " actually really"
    " all every each statements claims points"
)
TRUE = any_of("true correct accurate factual valid right sound reliable")
FALSE = any_of(
    "false incorrect inaccurate wrong invalid untrue misleading flawed erroneous unsupported fabricated"
    " (?:non-?|un)factual"
)
FAULT = any_of(
    "inaccuracy inaccuracies errors? hallucinations? mistakes? misconceptions? misunderstandings? falsehoods?"
    " oversimplifications? inconsistency inconsistencies flaws? misinformation misstatements? exaggerations?"
)
_NEGATION = r"(?:\b(?:not|no|none|never|without|cannot|free|neither|nor|any)\b|n't\b)"

# "After analysing the answer, I conclude that", "2/4 ="
_LEAD = (
    r"(?:\W{0,10}(?:(?:after|upon|having|based on|given|considering|in light of)\b[^,.;:]{0,100},\s)?"
    r"(?:I|we)\s(?:\w+\s)?(?:conclude|find|determine|judge|classify|rate|label)\b)?"
    r"(?:\W{0,10}\d{1,3}\s?(?:/|of|out of)\s?\d{1,3}\b(?:[\w\s]{0,30}=)?)?"
)
# A declared verdict.
_VALUE = re.compile(
    rf"{_LEAD}(?:\W|\b{_HEDGE}\b)*(?P<not>\b(?:not|isn't)\s+(?:{_HEDGE}\s+)*)?"
    r"(?P<part>\b(?:partial|partially|partly|somewhat|half|mixed|only|not)\b[\s-]+"
    r"(?:(?:partially|partly|factually)\s)?)?"
    rf"\b(?:(?P<true>{TRUE}|yes(?!\s\w))|(?P<false>{FALSE}|no(?!\s\w)))\b"
    r"(?!\s(?:answer|explanation|option|response|term)\b)",
    re.IGNORECASE,
)
# "True or False", "True if everything is correct": the instruction repeated.
_ECHO = re.compile(rf"\W*(?:(?:or|and)?\W*(?:{TRUE}|{FALSE})|if)\b", re.IGNORECASE)
_BUT_FAULTY = re.compile(
    rf"\b(?:but|however|though)\b[^.]*\b(?:contains?|has|have|includes?)\b[^.]*\b{FAULT}", re.IGNORECASE
)
_CONTAINS = re.compile(
    rf"(?:\W|\b{_HEDGE}\b)*\b(?:contains?|has|includes?)\s(?P<no>no\s)?(?:\w+\s){{0,4}}?{FAULT}\b",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"\W*(?:(?:(?P<true>true|correct|yes)|false|incorrect|no)\b(?:\W*|\s?[.,:;(–—-].*)|(?:(?P<t>t)|f)\W*)",
    re.IGNORECASE,
)

_HEADED = re.compile(rf"(?:final )?(?:{DECLARED.pattern})", re.IGNORECASE)

# What a sentence speaks of: the answer as a whole, a part of it, or the label ("I would classify it as False").
_WHOLE = re.compile(
    r"\b(?:the|this|given|provided|entire|whole|overall|your|author's|above)\s"
    r"(?:(?!correct|accurate|better|right|ideal)[\w'-]+\s){0,2}?(?:answer|response)\b"
    r"(?:'s (?:\w+ )?(?:accuracy|correctness)\b|(?!'))"
    r"|\bcorrect answer(?= (?:to [\w ]{1,40} )?is\b)|^(?:answer|response)(?= (?:is|contains|has)\b)",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    rf"\b{any_of('statement explanation information claims? it this text passage author description')}\b",
    re.IGNORECASE,
)
_RULING = re.compile(
    r"\b(?:I (?:would|will|must|have to|can)|should be|(?:classify|categori[sz]e|label|mark|rate)\b).{0,100}"
    r"\b(?:True|False)\b|\bcorrect answer\b.{0,150}?\bis (?:True|False)\b"
)
_REFUSES = re.compile(
    r"\W*I(?:'m| am)? (?:can't|cannot|can not|won't|unable to|not able to)"
    r" (?:provide|give|offer|help|assist|evaluate|fulfil|answer|make|render)",
    re.IGNORECASE,
)

# The labels as the prompt writes them; at the start of a sentence the capital means nothing.
_WRITTEN = re.compile(r"(?<=\w )(?<!not )(?:True|False)\b")
_PARTLY = re.compile(r"\b(?:partially|partly|somewhat)\s(?:true|false)\b", re.IGNORECASE)
# "The answer would be correct if it said 1941", "whether the answer is correct"
_SUPPOSED = re.compile(r"\b(?:if|whether)\b", re.IGNORECASE)
_WOULD = re.compile(r"\bwould (?:\w+ly )?(?:be|have been)\b[^.;]*\b(?:if|had|were|unless)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(
    rf"[,;:()]|\b{any_of('but however although though while and so yet despite making thus')}\b", re.IGNORECASE
)
_SUBORDINATE = re.compile(
    r"\b(?:that|which|because|since|as it|as the|due|regarding|about|concerning|where|who|when|in stating"
    r"|why|how)\b",
    re.IGNORECASE,
)
# "the correct answer" is another than the given one.
_NOT_GIVEN = r"(?<!some )(?!(?<=the )\w+\s(?:answer|explanation|statement|response|term)\b)"
# "factual accuracy" and "no factual claims" judge nothing.
_TOPIC = r"(?!factual\s(?:accuracy|correctness|claims?|statements?|assertions?|information|content|basis|details?)\b)"
# A judgment word with what turns it round.
_JUDGED = re.compile(
    rf"(?P<no>{_NEGATION}[^.]{{0,40}}?)?(?:(?P<part>\b(?:partially|partly|somewhat)\s+(?:\w+ly\s)?)?"
    rf"\b(?:(?:factual\s)?(?P<fault>{FAULT})\b"
    rf"|{_NOT_GIVEN}{_TOPIC}(?P<true>{TRUE})\b(?P<some>\sin\s(?:parts?|some)\b)?|{FALSE}\b"
    r"|lack(?:s|ing)(?:\s\w+){0,2}?\s(?:accuracy|correctness)\b))",
    re.IGNORECASE,
)
_PART_OF = re.compile(r"\b(?:parts?|half|portion|section|sentence) of \Z", re.IGNORECASE)
_NONE = re.compile(r"\bnone of\b", re.IGNORECASE)
_MINOR = re.compile(r"\b(?:minor|slight|small)\s(?:\w+\s)?\Z", re.IGNORECASE)
# "The answer is correct for several reasons:" is a judgment, "What is correct in the answer:" introduces some.
_PREDICATED = re.compile(
    rf"\b(?:is|are|seems|appears)\s(?:\w+ly\s){{0,3}}(?:{TRUE})(?:\W+(?:for|because|since|as)\b|\W*\Z)",
    re.IGNORECASE,
)
_MISSTATES = re.compile(
    r"\b(?:incorrectly|inaccurately|wrongly|falsely|erroneously|mistakenly)\s(?!\w*ed\b)\w+|\bmisstates?\b"
    r"|\bmisrepresents?\b",
    re.IGNORECASE,
)
# "The claim that … is not accurate."
_LAST_WORD = re.compile(
    rf"\b(?:is|are)\s(?P<no>not\s)?(?:\w+ly\s){{0,3}}(?:(?P<true>{TRUE})|{FALSE})\W*\Z", re.IGNORECASE
)

_FOUND = re.compile(
    rf"(?:\bnot\s|n't\s)?\b(?:find|found|following|identified|noticed?|there (?:is|are))\b[^.]{{0,80}}\b{FAULT}\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(_NEGATION, re.IGNORECASE)


def true_false(reply: str) -> Answer[str]:
    """Whether the reply calls a text factual ("True") or not ("False"), in English; or unparsed.

    ReFACT's independent judgment: "False" also when it only says that the text contains inaccuracies.
    """
    return read_reply(reply, truth)


def truth(sentences: list[str]) -> Answer[str]:
    """The verdict of English sentences, by the steps given in `verdict`."""
    declared = last_declared(sentences, {DECLARED: read_truth}, _alone)
    if declared:
        return Answer(declared[1])
    whole = _headed(sentences)
    marked = [index for index, sentence in enumerate(sentences) if DECLARED.search(sentence)]
    after = whole[marked[-1] :] if marked else []
    left = stated(whole)
    value = _concluded(stated(after))
    if value is None and not (after and declining(after[0])):
        value = _concluded(left) or _listed(left) or _misstated(left)
    if value:
        return Answer(value, inferred=True)
    return Answer(None, "declines", abstained=True) if any(map(declining, sentences)) else Answer(None, "no verdict")


def label(good: bool) -> str:
    """The verdict as it is named."""
    return "True" if good else "False"


def read_truth(text: str) -> str | None:
    """The verdict that `text` begins with, or None."""
    found = _VALUE.match(text)
    if found is None:
        faults = _CONTAINS.match(text)
        return label(faults["no"] is not None) if faults else None
    if found["false"]:
        return label(found["not"] is not None)
    if _ECHO.match(text, found.end()):
        return None
    if found["true"].lower() != "true" and _BUT_FAULTY.search(text, found.end()):
        return "False"
    return label(not found["not"] and not found["part"])


def _alone(text: str) -> str | None:
    """The verdict of a line that is nothing but it."""
    bare = _BARE.fullmatch(text)
    return label(bool(bare["true"] or bare["t"])) if bare else None


def _headed(sentences: list[str]) -> list[str]:
    """The sentences, each heading that speaks of no answer ("Conclusion:") continued by what stands under it."""
    return [long if _heads(plain) else plain for plain, long in zip(sentences, joined(sentences), strict=True)]


def _heads(sentence: str) -> bool:
    declares = DECLARED.search(sentence) and not CONCLUDES.match(sentence)
    return not (declares or _WHOLE.search(sentence) or _CLAIM.search(sentence))


def _concluded(sentences: list[str]) -> str | None:
    """The last judgment of the whole, best in a sentence that concludes; else a concluding one of a part."""
    pairs = list(pairwise([*sentences, ""]))
    concluding = [pair for pair in pairs if CONCLUDES.match(pair[0]) or _HEADED.match(pair[0])]
    steps = ((_WHOLE, concluding), (_WHOLE, pairs), (_RULING, pairs), (_CLAIM, concluding))
    for subject, among in steps:
        for sentence, following in reversed(among):
            if subject.search(sentence) and not _REFUSES.match(sentence) and (value := _judged(sentence, following)):
                return value
    return None


def _judged(sentence: str, following: str) -> str | None:
    """The judgment of a sentence, or that which follows one that ends in a colon."""
    introduces = sentence[-1] == ":"
    return (introduces and read_truth(following[:REACH])) or _judgment(sentence, introduces)


def _judgment(sentence: str, introduces: bool) -> str | None:
    """The last judgment among the main clauses of a sentence; one that introduces a list calls something right only
    where it needs no more ("The answer is correct for several reasons:")."""
    labels = {found[0] for found in _WRITTEN.finditer(sentence)}
    if len(labels) == 1 and not _PARTLY.search(sentence):
        return labels.pop()
    value = None
    if _WOULD.search(sentence):
        return None
    start = 0
    for end in [*(found.start() for found in _CLAUSE_END.finditer(sentence)), len(sentence)]:
        clause, start = sentence[start:end], end
        subject = _WHOLE.search(clause) or _CLAIM.search(clause)
        begin = subject.end() if subject else 0
        below = _SUBORDINATE.search(clause, begin)
        judged = _JUDGED.search(clause, begin, below.start() if below else len(clause))
        if (
            judged
            and not _SUPPOSED.search(clause, 0, judged.start())
            and not (judged["fault"] and _MINOR.search(clause, 0, judged.start("fault")))
        ):
            good = bool(judged["true"]) and not judged["some"]
            if introduces and judged["true"] and not _PREDICATED.search(clause):
                continue
            turned = bool(judged["no"]) or bool(_NONE.search(clause, 0, begin))
            said = label(good != turned and not judged["part"])
            # the whole is wrong where a part of it is, but not right
            if said == "False" or not (subject and _PART_OF.search(clause, 0, subject.start())):
                value = said
    if value is None and (last := _LAST_WORD.search(sentence)) and not _SUPPOSED.search(sentence):
        value = label(bool(last["true"]) != bool(last["no"]))
    return value


def _listed(sentences: list[str]) -> str | None:
    """Whether the faults that the sentences announce first are none."""
    faults = next(filter(None, map(_FOUND.search, sentences)), None)
    return label(_NEGATED.search(faults[0]) is not None) if faults else None


def _misstated(sentences: list[str]) -> str | None:
    """ "False" if the answer is said to state something incorrectly."""
    speak = (sentence for sentence in sentences if _WHOLE.search(sentence) or _CLAIM.search(sentence))
    return "False" if any(map(_MISSTATES.search, speak)) else None
