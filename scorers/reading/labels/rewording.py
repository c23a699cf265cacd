"""Verdicts of true or false in other words, rewritten to the words that the readers know.

- What it would be wrong to call the text: "It would be a mistake to label this True" is "the answer is not True".
- A verdict word of another language at the start of a sentence, behind its marker or behind "is": "Respuesta final:
  Falso" is "final verdict: False".
- The question repeated ("True or False?") is dropped.

Besides, where a reply takes back what it said before (`corrected`), and whether it leaves the verdict open, since each
side of it holds under a condition only (`left_open`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from halu_tasks.scorers.reading.labels.declining import stated
from halu_tasks.text.folding import any_of

_GOOD = any_of("true correct accurate right valid factual")
_BAD = any_of(r"false incorrect inaccurate wrong invalid untrue (?:non|un)[\s-]?factual")

# --- what it would be wrong to say ----------------------------------------------------------------------

_CALL = (
    any_of(
        "call(?:ing)? label(?:l?ing)? mark(?:ing)? rat(?:e|ing) classify(?:ing)? consider(?:ing)? describ(?:e|ing)"
        " judg(?:e|ing) deem(?:ing)? declar(?:e|ing) say(?:ing)? claim(?:ing)? conclud(?:e|ing) regard(?:ing)?"
    )
    + r"\b"
)
# No question is repeated between: "I cannot say whether the answer is true"
_OBJECT = r"(?:\s(?!(?:whether|if|either|how|what|which|for)\b)[\w'-]+){0,7}?"
_CALLED = rf"{_CALL}{_OBJECT}\s({_GOOD}|{_BAD})\b(?!\s(?:or|nor)\b)"
_MISTAKEN = (
    r"(?:\w+ly\s|too\s|a\s|an\s|bit\s){0,4}"
    + any_of(
        r"wrong incorrect inaccurate unfair misleading inappropriate unjustified mistake error stretch mistaken harsh"
        " generous strict lenient overstatement"
    )
    + r"\b"
)
_NOT_TO_CALL = re.compile(
    rf"\b(?:it\s?(?:would|'d|is|'s)\s(?:be\s)?)?{_MISTAKEN} to {_CALLED}"
    rf"|\bno (?:\w+ )?(?:reason|grounds?|basis|justification|cause|need) (?:to|for|in|of) {_CALLED}"
    r"|\b(?:i|we|one|you|nobody)\s(?:can(?:not|'t| not)|could(?: not|n't)|would(?: not|n't)|will not|won't)"
    rf"\s(?:[\w']+\s){{0,4}}?{_CALLED}"
    rf"|\b(?:to )?{_CALLED}\s(?:here )?(?:would be|is|'d be)\s{_MISTAKEN}"
    rf"|\bno way{_OBJECT}\s(?:is|can be|could be)\s({_GOOD}|{_BAD})\b",
    re.IGNORECASE,
)
_CALL_HINT = re.compile(rf"\b{_CALL}|\bno way\b", re.IGNORECASE)
_ANYTHING_BUT = re.compile(r"\banything but(?= )", re.IGNORECASE)
_QUESTION = re.compile(
    r"\b(?:true|correct|factual) ?(?:or|/|vs\.?) ?(?:false|incorrect|wrong|non-?factual)\b"
    r"|\bfalse ?(?:or|/) ?true\b",
    re.IGNORECASE,
)

# --- other languages ------------------------------------------------------------------------------------

_MARKER_ABROAD = (
    r"(?:(?:la|le|el|die|das|o|a|il|l')\s?)?(?:(?:mi|ma|mon|meine?|final\w*|endgültig\w*|abschließend\w*)\s)?"
    + any_of(
        "respuesta veredicto conclusión etiqueta evaluación resultado réponse verdict jugement conclusion étiquette"
        " resposta veredito conclusão risposta verdetto conclusione antwort urteil fazit ergebnis bewertung ответ"
        " вердикт вывод (?:最终)?(?:判断|结论|答案|判定)(?:结果)?"
    )
    + r"(?:\s(?:final|finale|definitiva|définitive?))?"
)
_TRUE_ABROAD = any_of(
    "verdader[oa] ciert[oa] correct[oae] vraie? exacte? juste wahr richtig korrekt zutreffend verdadeir[oa] corret[oa]"
    " ver[oa] corrett[oa] верно правда истина правильно"
)
_FALSE_ABROAD = any_of(
    "fals[oae] incorrect[oae] erróne[oa] faux fausse inexacte? falsch unwahr inkorrekt errad[oa] incorret[oa] errat[oa]"
    " scorrett[oa] неверно ложь неправда неправильно"
)
_TRUE_ZH, _FALSE_ZH = any_of("正确 对 属实 真 符合事实"), any_of("错误 错 不正确 不对 不属实 假 不符合事实")
_ADVERB_ABROAD = r"(?:(?:\w{3,14}(?:mente|ment)|faktisch|sachlich)\s)?"
_WORD_ABROAD = (
    rf"(?P<no>(?:no|non|não|nicht|pas|не)[\s-])?{_ADVERB_ABROAD}"
    rf"(?:(?P<true>{_TRUE_ABROAD}|{_TRUE_ZH})|{_FALSE_ABROAD}|{_FALSE_ZH})"
)
_ABROAD = re.compile(rf"\W*(?:{_MARKER_ABROAD}\s?[:：=-]\s*\W*)?{_WORD_ABROAD}(?=\s?[.,;:!?。,(–—-]|\W*\Z)", re.I)
_IS_ABROAD = re.compile(
    r"\W*(?:la respuesta|la réponse|die antwort|a resposta|la risposta|l'affirmation|la afirmación|die aussage)"
    rf"(?:\s\w+)?\s(?P<not>no\s|n')?(?:es|est|ist|é|è)\s(?:pas\s)?{_WORD_ABROAD}\b",
    re.IGNORECASE,
)
_ALL_OF_IT = re.compile(r"\W*(?:hallucinat(?:ion|ed)|fabricat(?:ion|ed))\W*", re.IGNORECASE)


def reworded(sentence: str) -> str:
    """The sentence with what it says of the verdict in words that the readers know."""
    if _ALL_OF_IT.fullmatch(sentence):
        return "False"
    sentence = _QUESTION.sub("", sentence)
    sentence = _ANYTHING_BUT.sub("not", sentence)
    if _CALL_HINT.search(sentence):
        sentence = _NOT_TO_CALL.sub(_not_so, sentence)
    for pattern, opening in ((_IS_ABROAD, "The answer is"), (_ABROAD, "final verdict:")):
        if found := pattern.match(sentence):
            denied = bool(found["no"]) or bool(found.groupdict().get("not"))
            good = bool(found["true"]) != denied
            return f"{opening} {good}{sentence[found.end() :]}"
    return sentence


def _not_so(found: re.Match[str]) -> str:
    called = next(filter(None, found.groups()))
    return f"the answer is not {called}"


# --- corrections ----------------------------------------------------------------------------------------

_CORRECTS = re.compile(
    r"\W*(?:(?:hmm+|oh|oops|no|ah|but)\W+)*(?:wait|hold on|correction|corrected|on (?:second thoughts?|reflection"
    r"|closer inspection"
    r"|re-?reading)|scratch that|i take (?:that|it) back|my (?:mistake|bad)|i (?:misread|was wrong|stand corrected"
    r"|made an? (?:mistake|error)|(?:have|need|want) to (?:correct|revise|change))"
    r"|let me (?:correct|revise|reconsider|re-?check)"
    r"|actually(?=,))(?!\w)"
    r"|\W*(?:等等|等一下|且慢|更正|纠正|订正|修正|不对[,，]|我(?:看|说|弄|搞|记)错了)",
    re.IGNORECASE,
)
_OPENER = re.compile(r"\W*\w+(?:\s\w+){0,2}\s?[:：]\s*")


def corrected(sentences: list[str]) -> list[str]:
    """What a reply says from its last correction on; nothing where it takes nothing back."""
    for index in range(len(sentences) - 1, 0, -1):
        if _CORRECTS.match(sentences[index]):
            return [_OPENER.sub("", sentences[index], count=1) or sentences[index], *sentences[index + 1 :]]
    return []


# --- verdicts under a condition -------------------------------------------------------------------------

_CLAUSE = re.compile(r"[,;:，。]|\b(?:and|but|while|whereas)\b", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:if|otherwise|else|unless|when|assuming|could|may|might|depend(?:s|ing))\b"
    r"|如果|若|假如|要是|假设|否则|取决于|可能|也许",
    re.IGNORECASE,
)
# What holds for the rest of the sentence: "It depends on the year: True for 2006 and False for 1998"
_DEPENDS = re.compile(r"\bdepend(?:s|ing)\b|取决于", re.IGNORECASE)
_OPENS = re.compile(r"\W*(?:\w+ )?(?:if|when|assuming|unless)\b|\W*(?:如果|若|假如|要是|假设)", re.IGNORECASE)
_SIDE = re.compile(
    rf"(?P<bad>\b{_BAD}\b|\bnot {_GOOD}\b|不(?:正确|对|属实)|(?<![看弄搞说写记犯])错误?|虚假|有误)"
    rf"|\b{_GOOD}\b|正确|对(?=\W|也|\Z)|属实",
    re.IGNORECASE,
)
_MOST = 12
"""Sentences of a reply that leaves the verdict open; a longer one discusses the parts of a text."""


def left_open(sentences: list[str]) -> bool:
    """Whether the reply calls the text right under one condition and wrong under another, and neither without one."""
    if len(sentences) > _MOST or not any(map(_CONDITION.search, sentences)):
        return False
    sides = [side for sentence in stated(sentences) for side in _sides(sentence)]
    return all(open_ for _, open_ in sides) and len({bad for bad, _ in sides}) == 2


def _sides(sentence: str) -> Iterator[tuple[bool, bool]]:
    """Each side that a sentence names: whether it is the wrong one, and whether it is named under a condition."""
    under = depends = False
    for clause in _CLAUSE.split(sentence):
        depends = depends or bool(_DEPENDS.search(clause))
        here = bool(_CONDITION.search(clause))
        for found in _SIDE.finditer(clause):
            yield found["bad"] is not None, here or under or depends
        under = bool(_OPENS.match(clause))
