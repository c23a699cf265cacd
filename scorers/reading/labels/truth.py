"""True or false, in English: `true_false`. The rules are in `verdict`."""

from __future__ import annotations

import re
from itertools import pairwise

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.declining import declining, stated
from halu_tasks.scorers.reading.labels.rewording import corrected, left_open, reworded
from halu_tasks.scorers.reading.labels.verdict_text import (
    CONCLUDES,
    DECLARED,
    REACH,
    joined,
    last_declared,
    matches,
    read_reply,
)
from halu_tasks.text.folding import any_of

# What may stand between a marker and the verdict it introduces.
_HEDGE = any_of(
    "the this that given provided entire whole overall full answer response statement explanation information claim"
    " is are was be been should would will must can as in to of for my it its i a an therefore thus so factually"
    " considered deemed rated classified marked conclude final verdict still very quite fairly indeed mostly largely"
    " generally essentially primarily basically technically substantially broadly mainly almost remains leans?"
    " towards? definitely demonstrably completely entirely fully totally highly reasonably probably likely clearly"
    " actually really"
    " all every each statements claims points (?:that|it|this)'s they're"
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
    rf"{_LEAD}(?:\W{{0,10}}\d{{1,3}}\s?%)?(?:\W|\b{_HEDGE}\b)*(?P<not>\b(?:not|isn't|aren't|wasn't)\s+(?:{_HEDGE}\s+)*)?"
    r"(?P<part>\b(?:partial|partially|partly|somewhat|half|mixed|only|not)\b[\s-]+"
    r"(?:(?:partially|partly|factually)\s)?)?"
    rf"\b(?:(?P<true>{TRUE}|(?:yes|yep|yeah)(?!\s\w))|(?P<false>{FALSE}|(?:no|nope)(?!\s\w)))\b"
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
    r"\b(?:I(?: would| will| must| have to| can|'d|'ll|'m| lean)\b|(?:should|must|has to|needs to) be\b"
    r"|(?:classify|categori[sz]e|label|mark|rate)\b).{0,100}\b(?:True|False)\b"
    r"|\bcorrect answer\b.{0,150}?\bis (?:True|False)\b"
)
_DECIDES = re.compile(f"{_WHOLE.pattern}|(?-i:{_RULING.pattern})", re.IGNORECASE)
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
    rf"|{_NOT_GIVEN}{_TOPIC}(?P<true>{TRUE})\b(?P<some>\sin\s(?:parts?|some)\b)?|{FALSE}\b|hallucinated\b"
    r"|lack(?:s|ing)(?:\s\w+){0,2}?\s(?:accuracy|correctness)\b))",
    re.IGNORECASE,
)
_PART_OF = re.compile(r"\b(?:parts?|half|portion|section|sentence) of \Z", re.IGNORECASE)
_NONE = re.compile(r"\bnone of\b|\bno(?:thing|t one \w+|t a single \w+) (?:in|about|of)\b", re.IGNORECASE)
_MINOR = re.compile(r"\b(?:minor|slight|small)\s(?:\w+\s)?\Z", re.IGNORECASE)
# "The answer is correct for several reasons:" is a judgment, "What is correct in the answer:" introduces some.
_PREDICATED = re.compile(
    rf"\b(?:is|are|seems|appears)\s(?:\w+ly\s){{0,3}}(?:{TRUE})(?:\W+(?:for|because|since|as)\b|\W*\Z)",
    re.IGNORECASE,
)
_MISSTATES = re.compile(
    r"(?<!not )(?<!n't )(?<!never )\b"
    r"(?:(?:incorrectly|inaccurately|wrongly|falsely|erroneously|mistakenly)\s(?!\w*ed\b)\w+"
    r"|misstates?\b|misrepresents?\b)",
    re.IGNORECASE,
)
# "The claim that … is not accurate."
_LAST_WORD = re.compile(
    rf"\b(?:is|are)\s(?P<no>not\s)?(?:\w+ly\s){{0,3}}(?:(?P<true>{TRUE})|{FALSE})\W*\Z", re.IGNORECASE
)

_FOUND = re.compile(
    rf"(?:\bnot\s|n't\s)?\b(?:find|found|see|spot(?:ted)?|detect(?:ed)?|following|identified|noticed?|there (?:is"
    rf"|are)|there's)\b[^.]{{0,80}}\b{FAULT}\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(_NEGATION, re.IGNORECASE)

# A field of an object or a row of a table: "is_factually_correct": false
FIELD = re.compile(
    rf"\b(?:is (?:factually |factual )?(?:{TRUE})|factual(?:ly (?:{TRUE}))?)(?:\s?[:=?]|\s(?=\s))"
    rf"(?=\s?(?:true|false|yes"
    rf"|no)\s?(?:[,.]|$))",
    re.IGNORECASE,
)
_TICKS, _CROSSES = "✅✔☑√✓👍", "❌✗✘✖×❎👎"
_MARK = re.compile(rf"[^\w{_TICKS}{_CROSSES}]*(?:(?P<true>[{_TICKS}])|[{_CROSSES}])\W*(?:\Z|(?=\w))")
_SAYS = re.compile(rf"[\w{_TICKS}{_CROSSES}]")
# "True? No, False."
_ANSWERED = re.compile(r"\W*(?:no|yes)\W+(?=(?:true|false)\b)", re.IGNORECASE)
# "Not everything in the answer is correct", "Only a part of it is true"
_NOT_ALL = re.compile(
    r"\bnot (?:quite )?(?:everything|every\w*|all|each)\b|\bonly (?:\w+ ){0,3}(?:parts?|half|some|portion|one|two)\b",
    re.IGNORECASE,
)
# A last sentence that ends in the label: "…, hence True", "A single error is enough: False."
_CLOSING = re.compile(
    r"(?:(?P<no>(?:\bnot|\bnever|\bcannot|n't)\s(?:\w+\s){0,2}?)|[:=→–—,]|->|=>|\b(?:hence|so|ergo|thus|therefore"
    r"|then|is|be|with|say|means|remains|answer|as)\b|'s"
    r"|\bmakes? (?:it|this|that|the \w+))\W{0,6}(?P<label>True|False)\b(?: it is)?[^\w?]*\Z"
)
_OF_A_PART = re.compile(r"\W*(?:the|this|that|its) (?:\w+ )?(?:statement|claim|point|sentence|part|assertion)\b", re.I)
_TEXT = (
    r"(?:the|this|that|these|its|your|any of the)\s(?:\w+\s){0,2}?"
    r"(?:answer|response|claims?|statement|explanation|assertion|text)"
)
# "I disagree with the answer", "I have no objection to this claim"
_AGREES = re.compile(
    r"\b(?:i|we)(?:'d|'m|'ll)?\b(?P<between>[^,.;:]{0,40}?)\b(?:(?P<yes>agree|concur|go along|am on board)|disagree"
    r"|quarrel|take issue"
    rf"|objections?|object)\b(?:\s(?:\w+ly\s)?(?:with|to)\s{_TEXT}\b|(?=\W*\Z|\s?[:;–—]))",
    re.IGNORECASE,
)
_EVIDENCE = "(?:evidence|facts?|sources?|records?|data|documents?|passages?|literature)"
# Whether what is judged and what is known are at one: "is consistent with the evidence", "does not hold up"
_ACCORD = re.compile(
    r"\b(?:(?P<yes>(?:is|are|fully|entirely|not|be)\s(?:\w+ly\s)?(?:consistent|in (?:line|keeping|accord|accordance"
    r"|agreement)) with"
    r"|match(?:es)?\b|agrees? with|aligns? with|lines? up with|tall(?:y|ies) with|(?:is|are) true to"
    r"|holds? (?:up|true|water)|checks? out|stands? up|(?:supports?|confirms?|corroborates?|backs? up"
    r"|bears? out)\s(?:the|this|all|every|each)"
    r"|(?:supported|confirmed|corroborated|backed(?: up)?|borne out|verified) by|gets? (?:it|everything|every\s\w+"
    r"|all\b.{0,20}) right)"
    r"|contradict(?:s|ed|ions?)?\b|conflicts? with|clash(?:es)? with|at odds with|inconsistent with|incompatible with"
    r"|(?:runs?|is) (?:counter|contrary) to|goes against|refutes?|refuted|disproves?|disproved|debunk(?:s|ed)"
    r"|mixes up|confuses|conflates"
    r"|(?:gets?|has) (?:it|this|that|things) (?:all )?(?:wrong|backwards|the wrong way round)"
    r"|(?:any|some|no)thing (?:\w+ly )?(?:wrong|incorrect|false|amiss|off)\b|(?:wrong|amiss) with|unfounded|baseless"
    r"|made up|invented"
    r"|an? (?:\w+ ){0,2}(?:myth|fabrication|lie|falsehood|hoax))",
    re.IGNORECASE,
)
_TURNED = re.compile(
    r"\b(?:no|not|never|none|nothing|neither|nor|without|cannot|fails? to|hardly|free of)\b|n't\b|\bfar from\b", re.I
)
_JUDGED_TEXT = re.compile(rf"\b{_TEXT}\b|^\W*(?:this|that|it)\b|\b{_EVIDENCE}\b.*\b(?:it|this)\b", re.IGNORECASE)
# "It is true that the war ended, but", "the correct answer": no verdicts on the answer
_ASSERTS = re.compile(r"\b(?:true|correct|right|accurate|false|wrong) (?:that|to)\b", re.IGNORECASE)
_ASIDE = re.compile(r"\b(?:whether|if)\b[^,;]*\Z", re.IGNORECASE)
_ECHOED = re.compile(r"\bfactual\b|\?\W*\Z|\b(?:true or false|false or true)\b", re.IGNORECASE)
_NEITHER = re.compile(r"\bneither\b.*\bnor\b", re.IGNORECASE)
_NAMES = re.compile(r"\s(?!because\b|since\b|as\b|and\b|but\b|for\b|in\b)\w")  # "the correct direction is"
_FEW = 8
"""Sentences of a reply that gives its verdict in passing; a longer one goes through parts of the text."""
_ABOUT_IT = re.compile(r"\W*(?:it|this|that|everything|all of (?:it|this|that))(?:'s|\b)", re.IGNORECASE)


def true_false(reply: str) -> Answer[str]:
    """Whether the reply calls a text factual ("True") or not ("False"), in English; or unparsed.

    ReFACT's independent judgment: "False" also when it only says that the text contains inaccuracies.
    """
    return read_reply(reply, truth)


def truth(sentences: list[str]) -> Answer[str]:
    """The verdict of English sentences, by the steps given in `verdict`; what a reply corrects itself to wins."""
    sentences = list(filter(None, map(str.strip, map(reworded, said(sentences)))))
    if not sentences:
        return Answer(None, "no verdict")
    later = corrected(sentences)
    if later and (answer := _truth(later)).value:
        return answer
    return _truth(sentences)


def said(sentences: list[str]) -> list[str]:
    """The sentences that say anything; a reply may be full of stops."""
    return list(filter(_SAYS.search, sentences))


def _truth(sentences: list[str]) -> Answer[str]:
    declared = last_declared(sentences, {DECLARED: read_truth, FIELD: read_truth}, _alone)
    if declared:
        return Answer(declared[1])
    if left_open(sentences):
        return Answer(None, "left open")
    whole = _headed(sentences)
    marked = [index for index, sentence in enumerate(sentences) if DECLARED.search(sentence)]
    after = whole[marked[-1] :] if marked else []
    left = stated(whole)
    value = _concluded(stated(after))
    if value is None and not (after and declining(after[0])):
        value = _concluded(left) or _listed(left) or _misstated(left) or _closing(left) or _agreed(left)
        if value is None and len(left) <= _FEW:
            value = _at_one(left) or _at_ends(left)
    if value:
        return Answer(value, inferred=True)
    return Answer(None, "declines", abstained=True) if any(map(declining, sentences)) else Answer(None, "no verdict")


def label(good: bool) -> str:
    """The verdict as it is named."""
    return "True" if good else "False"


def read_truth(text: str) -> str | None:
    """The verdict that `text` begins with, or None."""
    found = _VALUE.match(text)
    if found is None and (mark := _MARK.match(text)):
        return label(mark["true"] is not None)
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
    if text[-1] == "?":
        return None
    answered = _ANSWERED.match(text)
    text = text[answered.end() :] if answered else text
    if mark := _MARK.fullmatch(text):
        return label(mark["true"] is not None)
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
    deciding = [pair for pair in pairs if CONCLUDES.match(pair[0]) or _HEADED.match(pair[0]) or _RULING.search(pair[0])]
    steps = ((_DECIDES, deciding), (_WHOLE, pairs), (_CLAIM, concluding))
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
            if judged["true"] and _NOT_ALL.search(clause, 0, judged.start("true")):
                value = "False"
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


def _closing(sentences: list[str]) -> str | None:
    """The label that the last sentence ends in."""
    found = _CLOSING.search(sentences[-1]) if sentences and not _OF_A_PART.match(sentences[-1]) else None
    return found and label((found["label"] == "True") != bool(found["no"]))


def _agreed(sentences: list[str]) -> str | None:
    """Whether the one who answers agrees with the text."""
    for sentence in reversed(sentences):
        if (found := _AGREES.search(sentence)) and not _SUPPOSED.search(found["between"]):
            return label((found["yes"] is not None) != (len(_TURNED.findall(found["between"])) % 2 == 1))
    return None


def _at_one(sentences: list[str]) -> str | None:
    """Whether all that is said of the text and of what is known is that they are at one, or that they are not."""
    said = set()
    for sentence in sentences:
        if not _JUDGED_TEXT.search(sentence) or _WOULD.search(sentence) or _NEITHER.search(sentence):
            continue
        for found in matches(_ACCORD, sentence):
            before = sentence[max(found.start() - 80, 0) : found.end()]
            clause = re.split(r"[,;:]|\b(?:but|whether|if|and)\b", before)[-1]
            if not _ASIDE.search(before):
                said.add((found["yes"] is not None) != (len(_TURNED.findall(clause)) % 2 == 1))
    return label(said.pop()) if len(said) == 1 else None


def _at_ends(sentences: list[str]) -> str | None:
    """What the last or the first sentence says first ("That's false.", "Not true."), or says of "it" as a whole."""
    for sentence in [*sentences[-1:], *sentences[:1]]:
        if _ASSERTS.search(sentence) or _ECHOED.search(sentence):
            continue
        if _ABOUT_IT.match(sentence) and (value := _judgment(sentence, introduces=False)):
            return value
        opener = CONCLUDES.match(sentence)
        sentence = sentence[opener.end() :] or sentence if opener else sentence
        found = _VALUE.match(sentence[:REACH])
        if not (found and _NAMES.match(sentence, found.end())) and (value := read_truth(sentence[:REACH])):
            return value
    return None


def _misstated(sentences: list[str]) -> str | None:
    """ "False" if the answer is said to state something incorrectly."""
    speak = (sentence for sentence in sentences if _WHOLE.search(sentence) or _CLAIM.search(sentence))
    return "False" if any(map(_MISSTATES.search, speak)) else None
