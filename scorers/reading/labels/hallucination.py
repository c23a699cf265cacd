"""Whether a reply says that a text hallucinates: `hallucinates`, for HaluEval's judgements, in English.

"Yes" is that it does, "No" that it does not. A reply is read in steps; in each the last finding wins, and a
later step is tried only when the earlier ones found nothing.

1. A declared verdict: what stands behind "#Your Judgement#:", "Final answer:", "I would say", "Therefore," and
   the like, behind a "hence" or in a LaTeX box, and a first or last line that begins with Yes or No. The word wins
   over what follows it ("Yes, the summary is faithful" is Yes): it is what was asked for.
2. A field or a question with its answer: "Hallucination: No", "Is it supported by the document? Yes", "Is anything
   made up? Not that I can see"; or the word behind a colon that ends a sentence.
3. What a concluding sentence says ("Overall, the summary is accurate").
4. What a sentence says of the whole ("The summary adds a detail that is not in the document").
5. Any part that is called unsupported or wrong.

A second thought ("Wait, …", "Correction: …", "I misread …") begins the reply anew where what follows says anything.
A word for yes or no may also be German, French, Spanish, Portuguese or Chinese.

In a clause the first word that calls something faithful or unfaithful counts, turned round by each negation
before it ("does not contain anything that is not supported"); of several clauses the last counts. "Everything is
right except the date" is unfaithful. What is said under "whether", "if", or as a plan ("I need to check for errors")
counts for nothing, nor does what a reply cannot tell, a definition of hallucination, or a question without its answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.concession import without_declining
from halu_tasks.scorers.reading.labels.truth import FALSE, FAULT, TRUE
from halu_tasks.scorers.reading.labels.verdict_text import CONCLUDES, DECLARED, joined, last_declared, read_reply
from halu_tasks.text.folding import any_of

YES, NO = "Yes", "No"

# --- yes and no ---------------------------------------------------------------------------------------

_EITHER = r"(?!\s?(?:/|,|and|or)+\s?(?:yes|no)\b|\s?[,:]?\s?(?:if|when|otherwise)\b)"
_APART = r"(?=\s?(?:[.,:;!?)–—。]|- |\Z))"
# "No hallucination" is no answer to the question, but a sentence that comes to the same.
_WORD = re.compile(
    rf"(?:(?P<yes>(?:yes|yep|yeah|yup)\b{_EITHER}|(?:ja|oui|sí|sim|是的?|有){_APART})"
    rf"|nope\b|nah\b|(?:nein|non|não|否|不是?|没有?|无){_APART}|no\b{_EITHER}(?!\s\w)"
    rf"|no(?=\s{any_of('the it this there i all everything')}\b))",
    re.IGNORECASE,
)
_FILLER = any_of(
    "is are was would should will be the a an that to as with final answer judge?ment it this therefore my"
)
_BEFORE = re.compile(rf"(?:\W|\b{_FILLER}\b)*", re.IGNORECASE)
_HEDGED = re.compile(
    rf"(?:\W|\b(?:{any_of('most probably likely definitely certainly clearly')}"
    rf"|{any_of('obviously unfortunately sadly')}|I\s(?:think|believe|guess|say))\b)*",
    re.IGNORECASE,
)
_ARROW = re.compile(r"(?:=>|->|→|⇒)(?=\W{0,4}(?:yes|no)\b)", re.IGNORECASE)
_MARKED = re.compile(
    rf"{DECLARED.pattern}|\byour\sjudge?ment\b|^a\s?:"
    r"|\b(?:revised|updated|corrected|new)\s(?:answer|verdict|judge?ment)\b"
    r"|\b(?:verdict|judge?ment|label)\s(?:is|(?:would|should|must) be)\b"
    r"|\bI(?:'d| would| will| must| have to)\s(?:say|answer|judge|reply|respond|conclude|go with)\b"
    r"|\bI(?:'d| would|'m| am)? (?:lean(?:ing)?|inclined)(?: towards?| to(?:wards?)?)?\b"
    rf"|^(?:answer|verdict|judge?ment|hallucination)\s[-–—](?=\s)|(?:答案|判断|结论|结果)(?:是|为|[:：])"
    rf"|\bso\s?[:,]|^(?:output|assistant|model|ai)\s?:|^based\son\s[^,]{{3,80}},"
    rf"|^(?:and\s)?{any_of('therefore thus hence so overall')}\b",
    re.IGNORECASE,
)

# "The answer is accurate" may speak of the answer that is judged: only the word itself is a verdict behind it.
_ANSWER_IS = re.compile(
    r"\b(?:answer|response)\s(?:is|remains|(?:would|should|must) be)\b"
    r"|\bmy\s(?:\w+\s)?answer\b(?:\sis\b)?\W{0,3}"
    r"|\b(?:change|revise|correct)\s(?:my|the)\s(?:\w+\s)?(?:answer|verdict|judge?ment)\s(?:to|into)\b",
    re.IGNORECASE,
)
# "I'm going with No.", "That's a yes from me.", "I would mark this as Yes."
_CHOSEN = re.compile(
    r"\b(?:with|as|to be|answer|answering|say|choose|select|pick|vote|answer to [^.]{0,80} is|(?:is|it's"
    r"|that's|call (?:it|this)) an?"
    r"(?: (?:clear|definite|firm|solid|simple|resounding))?|it's|it is)(?=\W{1,4}(?:yes|no)\W*(?:from me\W*)?\Z)",
    re.IGNORECASE,
)
# A conclusion that ends a sentence: "Nothing in it is made up, hence: No", "The year is wrong => Yes"
_HENCE = re.compile(
    rf"(?:\b{any_of('so hence thus therefore then consequently meaning')}|\bwhich means"
    rf"|\bwhich makes it a)\s?[:,]?(?=\W{{0,4}}(?:yes|no)\b)",
    re.IGNORECASE,
)
_AT_END = re.compile(r".{20,}:\W{0,4}(?:(?P<yes>yes)|no)\W*\Z", re.IGNORECASE | re.DOTALL)

# --- what calls a text faithful or not ----------------------------------------------------------------

_SOURCE = any_of("document source article text passage original context input")
_UNFAITHFUL = any_of(
    r"hallucinat\w+ problems? issues?"
    rf" unfaithful\w* {FAULT} {FALSE} factually\sincorrect falsely incorrectly wrongly inaccurately"
    r" unfounded ungrounded unverif\w+ unsubstantiated inconsisten\w+ contradict\w*"
    r" conflict(?:s|ing)?\swith conflicting discrepanc\w+ deviat\w+ fabricat\w+ invent(?:s|ed)"
    r" made[\s-]up mak(?:es|ing)\sup misinformation misrepresent\w* misstat\w+ misattribut\w+"
    r" distort\w* exaggerat\w+ extraneous extrinsic mismatch\w* (?:goes\s)?beyond differs?\sfrom absent\sfrom"
)
_FAITHFUL = (
    any_of(
        rf"faithful(?:ly)? factually factual(?!\s(?:claims?|statements?|assertions?)\b) {TRUE} accurately"
        r" correctly supported supports? consistent grounded entail(?:s|ed)"
        r" truthful align(?:s|ed) in\sline\swith match(?:es)? reflects? backed substantiated verified verifiable"
        r" restates? hold\sup checks?\sout"
    )
    + rf"(?!\s(?:{FALSE}|{FAULT}))|(?:{FAULT}|hallucination)[\s-]free"
)
# A text that claims nothing has nothing that could be wrong: "the poem makes no factual claims".
_CLAIMS = (
    r"(?:(?:factual|verifiable|checkable)\s(?:\w+\s)?|(?<=\bno\s)|(?<=\bany\s))"
    r"(?:claims?|statements?|assertions?|facts?)\b(?!\s(?:in the \w+ |of the \w+ )?(?:(?:that|which) )?(?:is"
    r"|are|was|were|has|have)\b)"
)
# "is not mentioned" calls a thing unsupported; that it is mentioned says nothing of the rest.
_PRESENT = any_of(
    r"mention(?:s|ed)? state(?:s|d) present found includ(?:es?|ed) specif(?:y|ies|ied) given taken traced"
    r" provid(?:es?|ed) report(?:s|ed)? contained indicate(?:s|d) confirm(?:s"
    r"|ed)? inferred derived implied said says?"
    rf" in\s(?:the|this)\s(?:\w+\s)?{_SOURCE}"
    rf" (?:evidence|mention|support|basis|indication)(?!\sof\s(?:\w+\s){{0,3}}(?:hallucinat|{FAULT}))"
)
# "It would be wrong to call this a hallucination"
_DENIED = (
    rf"(?:\b{any_of('wrong incorrect inaccurate unfair misleading')}|(?:\bnot"
    rf"|n't)\s(?:\w+ly\s)?{any_of('accurate correct right fair true')})"
    rf"\sto\s{any_of('say call claim describe label consider state suggest conclude')}\b"
)
_NEGATION = (
    r"(?:not(?!\s(?:only|just|merely)\b)|no|zero|0|non(?=-)|never|without|cannot|neither|nor|none|nothing|nowhere"
    r"|free\s(?:of|from)"
    r"|lacks?|fails?\sto|avoids?|rather\sthan|instead\sof)"
)
_ALL = rf"{any_of('all every each everything fully entirely completely both')}"
_PARTLY = r"(?:partial|partially|partly|somewhat|half)"
_TOKEN = re.compile(
    rf"(?P<negation>{_DENIED}|\b{_NEGATION}\b|n't\b)|(?P<claims>{_CLAIMS})"
    rf"|\b(?:(?P<unfaithful>{_UNFAITHFUL})(?![\s-]free\b)|(?P<faithful>{_FAITHFUL})"
    rf"|(?P<present>{_PRESENT})|(?P<all>{_ALL})|(?P<partly>{_PARTLY}))\b",
    re.IGNORECASE,
)

_TURNS = any_of("but however although though while yet despite except so thus therefore because since")
_ADDS = any_of(
    "the it also thus therefore then contains? adds? introduces? includes? invents? claims? wrong incorrect"
    " inaccurate false"
)
_CLAUSE = re.compile(rf"[,;:()–—]|\s-\s|\b{_TURNS}\b|\band\b(?=\s{_ADDS}\b)", re.IGNORECASE)
_HYPOTHETICAL = re.compile(
    r"\b(?:whether|if|unless|in case)\b"
    r"|\b(?:to|will|let me|let us|let's|must|should|I'll|going to|please)\s(?:\w+ly\s|now\s|first\s)?"
    + any_of(
        "check look verify identify determine compare find assess evaluate detect examine analy[sz]e see decide judge"
    )
    + r"\b|\b(?:can(?:no|')t|can not|unable to|not able to|impossible to)\s(?:\w+ly\s)?"
    + any_of("determine assess judge tell say evaluate help assist provide answer decide give make")
    + r"\b|\bI\s(?:can(?:no|')t|can not|am (?:unable|not able) to)\s(?:\w+ly\s)?(?:verify|confirm|check|know)\b",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"\b(?:summary|answer|response|it)\b(?!')|\bthere(?:\s(?:is|isn't|are|aren't|were|might|may|seems?"
    r"|appears?)|'s)\b|\bhallucinat"
    rf"|\b{any_of('all everything every nothing none')}\b|^no\b|^not\b|^this is\b|^contains?\b|^[\w-]+\W*$"
    r"|\bI\s(?:\w+\s){0,2}(?:find|found|identify|identified|see|detect|detected)\b",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"(?P<topic>[^:=,;]{3,160}?)\s?[?:=]\s*(?:[❌✖✘✗✅✔✓]\W{0,4})?(?P<word>yes|no|true|false|none|0|absent"
    r"|not (?:detected|found|present))\b" + _EITHER,
    re.IGNORECASE,
)


# "I looked for made-up facts and found none": what was looked for decides.
_FOUND_NONE = re.compile(
    r"\b(?:found|find|finds|see|saw|spotted|detected|identified|noticed)\s(?:none|nothing|no such thing)\W*\Z"
    r"|\bnone\s(?:(?:was|were|are|is|could be)\s)?(?:found|detected|present|seen|identified|spotted)\W*\Z"
    r"|(?:\b(?:not|cannot)|n't)\s(?:find|see|spot|detect|identify)\sany(?:thing)?\W*\Z",
    re.IGNORECASE,
)
_LOOKED_FOR = re.compile(
    r"\b(?:look(?:ed|ing)?|search(?:ed|ing)?|check(?:ed|ing)?|compar(?:ed|ing)|scann(?:ed|ing)|examined|reviewed"
    r"|inspected|went)\b[^.?]{0,200}?\bfor\b",
    re.IGNORECASE,
)
_SUPPORT = re.compile(r"\b(?:support|evidence|basis|mention|confirmation|quotes?|quotation|source|proof)\b", re.I)
# "Everything is right except the date"
_EXCEPT = re.compile(
    r"\b(?:except(?!ion)(?!\sfor\sminor\b)|apart from|aside from|other than|save for|bar|with (?:the|one|two"
    r"|an?) (?:\w+ )?exceptions?"
    r"|(?<=all )but|(?<=everything )but|(?<=every )but)\b"
    r"(?!\s(?:what|that|those|the (?:content|information|facts?|text|document)))",
    re.IGNORECASE,
)
_WITHIN = re.compile(
    r"\b(?:nothing|no information|not\b[^.]{0,60}\banything)\s(?:\w+\s)?(?:other than|except|beyond|apart from|but)\s"
    r"(?:for\s)?(?:what|that which|the (?:content|information|facts?|text|document))",
    re.IGNORECASE,
)
# "A hallucination is content that …"
_DEFINES = re.compile(
    r"\W*(?:an? |the term )?hallucinations?(?: in [^.,]{0,60})?,? (?:(?:is|are) (?:when|content|information|text|an? "
    r"|any|something|statements?|defined|claims?|output|the (?:generation|production|creation|phenomenon))"
    r"|means?\b|refers? to|(?:occurs?|happens?|arises?) (?:when|if)|describes?\b|involves?\b)",
    re.IGNORECASE,
)
_SUPPOSES = re.compile(
    r"\W*(?:(?:but|and|it depends\W+) )?(?:if(?! (?:I (?:had|have|must|were)|(?:we|you|one) (?:look|compare"
    r"|check|read|consider"
    r"|examine|go)\w*|forced|pressed|pushed|made|anything|so|not mistaken)\b)|unless|assuming|depending on"
    r"|when (?:it|this)?"
    r" ?(?:is )?(?:taken|read|interpreted|understood|meant|seen)|otherwise|it depends)\b",
    re.IGNORECASE,
)
_TURN = re.compile(r"\b(?:but|however|in this case|since)\b,?", re.IGNORECASE)
_MOST_AGAIN = 5
_LETTER = re.compile(r"\W*(?:(?P<yes>y)|n)\W*", re.IGNORECASE)
# "Yes, I can help with that."
_OFFERS = re.compile(
    r"\W*(?:yes|yeah|no)\W+(?:(?:of course|sure|certainly|problem)\W+)*I(?:'d| can| will|'ll| am|'m| would)"
    r" (?:be )?(?:happy|glad|help|able|assist|check|do|judge)\b",
    re.IGNORECASE,
)
_ALL_GOOD = re.compile(
    r"\W*(?:(?:it|this|that|everything|all|the (?:summary|answer|response))(?: is|'s)? )?(?:(?:is|looks?|seems?|all)"
    r" ){0,2}(?:good|fine|okay|ok|in order|clean)(?: to me| here)?\W*",
    re.IGNORECASE,
)
_IS_NOT = re.compile(
    r"\W*(?:but |though |however )?(?:it|there|they|this|that) (?:(?:is|are|do|does)(?:n't| not)|really isn't)\W*",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"(?P<no>没有|并无|不存在|并未|未发现|未|无|不包含|不含|不属于|不是|没)?(?:任何|明显|出现|产生|存在|包含|发现|的){0,3}"
    r"(?:幻觉|编造|虚构|捏造|杜撰|与(?:事实|原文|文档)(?:不符|不一致))"
    r"|(?P<same>与(?:事实|原文|文档)(?:一致|相符))"
)
# "Yes. Wait, I misread the query."
_AGAIN = re.compile(
    r"(?:\W*(?:(?:oh|ah|no|yes|but|and|hmm+|ok(?:ay)?)\W+){0,2}(?:wait\b|hold on|hmm+\b"
    r"|on (?:second thoughts?|reflection|closer"
    r" (?:look|inspection)|re-?(?:reading|checking))|correction\b|edit\s?:|update\s?:|scratch that"
    r"|strike that|sorry\W|looking"
    r" (?:again|closer|back)|re-?reading|let me (?:correct|revise|re-?consider|re-?check|re-?read|double[ -]check)"
    r"|actually(?=,? (?:wait|no|yes|I)\b)|upon (?:further|closer|second) (?:review|inspection|look|reading))"
    r"|.{0,60}\bI (?:was (?:wrong|mistaken)|misread|misunderstood|made (?:a|an) (?:mistake|error)|overlooked"
    r"|missed that"
    r"|stand corrected|need to correct|must correct|take (?:that|it) back)\b)",
    re.IGNORECASE,
)


def hallucinates(reply: str) -> Answer[str]:
    """Whether the reply says that a text hallucinates: "Yes", "No", or unparsed."""
    return read_reply(reply, _read, lambda text: _ARROW.sub(", hence ", text.replace("_", " ")))


def _read(sentences: list[str]) -> Answer[str]:
    sentences = [one for one in sentences if any(map(str.isalnum, one))]
    if not sentences:
        return Answer(None, "no judgement")
    if len(sentences) == 1 and (letter := _LETTER.fullmatch(sentences[0])):
        return Answer(YES if letter["yes"] else NO)
    again = [index for index, sentence in enumerate(sentences) if index and _AGAIN.match(sentence)]
    for index in again[: -_MOST_AGAIN - 1 : -1]:
        first = _AGAIN.sub("", sentences[index], count=1).lstrip(" ,:;.")
        amended = _stated([first or "-", *sentences[index + 1 :]])
        if amended.value:
            return amended
    return _stated(sentences)


def _stated(sentences: list[str]) -> Answer[str]:
    sentences = [kept for one in _answered([*_together(sentences)]) if (kept := asserted(one))]
    if not sentences:
        return Answer(None, "no judgement")
    markers = {_CHOSEN: _concluded, _MARKED: _introduced, _HENCE: _concluded, _ANSWER_IS: _concluded}
    if declared := last_declared(sentences, markers, _opening):
        return Answer(declared[1])
    told = [sentence for sentence in sentences if sentence[-1] != "?"]
    whole = joined(told)
    concluding = list(filter(CONCLUDES.match, whole))
    value = (
        _last(_field(sentence) or _ending(sentence) for sentence in reversed(sentences))
        or _last(map(_said, reversed(concluding)))
        or _last(
            _said(sentence) for sentence in reversed(whole) if _WHOLE.search(sentence) or _ALL_GOOD.fullmatch(sentence)
        )
        or (YES if any(_said(sentence) == YES for sentence in told) else None)
    )
    if value is None and without_declining(sentences) != sentences:
        return Answer(None, "declines", abstained=True)
    return Answer(value, inferred=True) if value else Answer(None, "no judgement")


def _together(sentences: list[str]) -> Iterator[str]:
    """The sentences, what was looked for and "none were found" as one."""
    taken = False
    for sentence, following in pairwise([*sentences, ""]):
        if taken:
            taken = False
            continue
        taken = bool(_FOUND_NONE.match(following) and _LOOKED_FOR.search(sentence))
        yield f"{sentence} {following}" if taken else sentence


def asserted(sentence: str) -> str:
    """What a sentence does not only suppose or define; empty where that is all of it."""
    if _DEFINES.match(sentence):
        return ""
    if _SUPPOSES.match(sentence):
        turn = _TURN.search(sentence)
        return sentence[turn.end() :].strip() if turn else ""
    return sentence


def _last(found: Iterator[str | None]) -> str | None:
    """The first of the values that is one."""
    return next(filter(None, found), None)


def _answered(sentences: list[str]) -> Iterator[str]:
    """The sentences, each question continued by its answer: alone, "Yes" would be a judgement."""
    taken = False
    for sentence, following in pairwise([*sentences, ""]):
        if not taken:
            short = _SHORT.match(following) if sentence[-1] == "?" else None
            hedged = _HEDGED.match(following)
            start = hedged.end() if hedged else 0
            taken = short is not None or (sentence[-1] == "?" and _WORD.match(following, start) is not None)
            if taken and not short:
                following = following[start:]
            if short:
                following = f"{YES if short['yes'] else NO}{following[short.end() :]}"
            yield f"{sentence} {following}" if taken else sentence
        else:
            taken = False


_SURELY = r"(?:certainly|definitely|absolutely|of course|clearly|probably|apparently)"
_SURELY_NOT = re.compile(rf"{_SURELY} not\b(?:\W*|[,;:–—].*)", re.IGNORECASE | re.DOTALL)
# What answers a question without a yes or no: "Not that I can see.", "It doesn't."
_SHORT = re.compile(
    r"(?:(?P<no>no(?:pe|t (?:at all|really|quite|entirely|exactly|that I (?:can |could )?\w+"
    r"|as far as I \w+ \w+|in the least))"
    rf"|{_SURELY} not|not|hardly|far from it"
    r"|none(?: at all| whatsoever| that I (?:can |could )?\w+)?|nothing(?: at all| that I (?:can |could )?\w+)?"
    r"|I (?:don't|do not) (?:think|believe|see)(?: so| any| it)?"
    r"|(?:it|there|they|this) (?:(?:does|is|do|are)(?:n't| not)"
    r"(?: (?:appear|seem) (?:to|so))?|seems not|appears not)"
    r"|there(?: is|'s| are) no (?:evidence|sign|indication)s? (?:of )?(?:one|any|it|that|this|such))"
    r"|(?P<yes>yep|yeah|yup|certainly|definitely|absolutely|of course|clearly|indeed|sure|very much so"
    r"|I (?:think|believe) so"
    r"|(?:it|there|they|this) (?:does|is|do|are|seems so)(?: indeed)?|(?:it )?sadly so))"
    r"(?=\s*(?:[.,;:!–—(-]|\Z))",
    re.IGNORECASE,
)


def _opening(text: str) -> str | None:
    """The verdict of a line that begins with Yes or No, marks and hedges apart."""
    if _OFFERS.match(text):
        return None
    if _SURELY_NOT.fullmatch(text):
        return NO
    before = _HEDGED.match(text)
    return _word(text, before.end() if before else 0)


def _word(text: str, start: int) -> str | None:
    found = _WORD.match(text, start)
    return (YES if found["yes"] else NO) if found else None


def _introduced(text: str) -> str | None:
    """The verdict that a marker introduces: the word, or what the rest of the sentence says."""
    return _concluded(text) or _said(text)


def _concluded(text: str) -> str | None:
    """The word behind "hence" and the like."""
    before = _BEFORE.match(text)
    return _word(text, before.end() if before else 0)


def _ending(text: str) -> str | None:
    """ "There is nothing to check: no"."""
    found = _AT_END.fullmatch(text)
    return (YES if found["yes"] else NO) if found else None


def _field(text: str) -> str | None:
    """ "Hallucination: No", "Is it supported? Yes"."""
    found = _FIELD.match(text)
    topic = found and _said(found["topic"])
    if not found or not topic:
        return None
    return topic if found["word"].lower() in ("yes", "true") else {YES: NO, NO: YES}[topic]


def _said(sentence: str) -> str | None:
    """What the last clause that says anything about faithfulness says: Yes for unfaithful, No for faithful."""
    if _ALL_GOOD.fullmatch(sentence):
        return NO
    if chinese := list(_CHINESE.finditer(sentence)):
        return NO if chinese[-1]["no"] or chinese[-1]["same"] else YES
    if (nothing := _FOUND_NONE.search(sentence)) and _LOOKED_FOR.search(sentence):
        return YES if _SUPPORT.search(sentence, 0, nothing.start()) else NO
    if _WITHIN.search(sentence):
        return NO
    value = _claimed(sentence)
    return YES if value == NO and _EXCEPT.search(sentence) else value


def _claimed(sentence: str) -> str | None:
    value = None
    start = 0
    for end in [*(found.start() for found in _CLAUSE.finditer(sentence)), len(sentence)]:
        clause, start = sentence[start:end], end
        supposed = _HYPOTHETICAL.search(clause)
        denied = value == YES and _IS_NOT.fullmatch(clause)
        value = NO if denied else _clause(clause[: supposed.start()] if supposed else clause) or value
    return value


def _clause(clause: str) -> str | None:
    negations, everything, partly, present = 0, False, False, False
    for found in _TOKEN.finditer(clause):
        if found["negation"]:
            negations += 1
        elif found["all"]:
            everything = True
        elif found["partly"]:
            partly = True
        elif found["claims"]:
            if negations % 2:
                return NO
        elif found["unfaithful"]:
            return NO if negations % 2 else YES
        elif found["faithful"] or negations or everything:
            return YES if negations % 2 or partly else NO
        else:
            present = True
    # "The document mentions all of it."
    return NO if present and everything else None
