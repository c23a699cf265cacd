"""Patterns of statements of true or false that are rewritten before a verdict is read."""

from __future__ import annotations

from halu_tasks.scorers.reading.patterns import expression, ignoring_case
from halu_tasks.text.folding import any_of

GOOD = any_of("true correct accurate right valid factual")
BAD = any_of(r"false incorrect inaccurate wrong invalid untrue (?:non|un)[\s-]?factual")

# --- labels that it would be wrong to use -------------------------------------------------------------

CALL = expression(r"""
    (?:call(?:ing)?|label(?:l?ing)?|mark(?:ing)?|rat(?:e|ing)|classify(?:ing)?|consider(?:ing)?|describ(?:e|ing)
    |judg(?:e|ing)|deem(?:ing)?|declar(?:e|ing)|say(?:ing)?|claim(?:ing)?|conclud(?:e|ing)|regard(?:ing)?)\b
""")
# No indirect question may occur in between: "I cannot say whether the answer is true".
OBJECT = r"(?:\s(?!(?:whether|if|either|how|what|which|for)\b)[\w'-]+){0,7}?"
CALLED = rf"{CALL}{OBJECT}\s({GOOD}|{BAD})\b(?!\s(?:or|nor)\b)"
MISTAKEN = expression(r"""
    (?:\w+ly\s|too\s|a\s|an\s|bit\s){0,4}(?:wrong|incorrect|inaccurate|unfair|misleading|inappropriate|unjustified
    |mistake|error|stretch|mistaken|harsh|generous|strict|lenient|overstatement)\b
""")
NOT_TO_CALL = ignoring_case(rf"""
    \b(?:it\s?(?:would|'d|is|'s)\s(?:be\s)?)?{MISTAKEN} to {CALLED}|\bno (?:\w+ )?(?:reason|grounds?|basis|justification
    |cause|need) (?:to|for|in|of) {CALLED}|\b(?:i|we|one|you|nobody)\s(?:can(?:not|'t| not)|could(?: not|n't)
    |would(?: not|n't)|will not|won't)\s(?:[\w']+\s){{0,4}}?{CALLED}|\b(?:to )?{CALLED}\s(?:here )?(?:would be|is
    |'d be)\s{MISTAKEN}|\bno way{OBJECT}\s(?:is|can be|could be)\s({GOOD}|{BAD})\b
""")
CALL_HINT = ignoring_case(rf"\b{CALL}|\bno way\b")
ANYTHING_BUT = ignoring_case(r"\banything but(?= )")
QUESTION = ignoring_case(r"""
    \b(?:true|correct|factual) ?(?:or|/|vs\.?) ?(?:false|incorrect|wrong|non-?factual)\b|\bfalse ?(?:or|/) ?true\b
""")

# --- other languages ----------------------------------------------------------------------------------

MARKER_ABROAD = expression(r"""
    (?:(?:la|le|el|die|das|o|a|il|l')\s?)?(?:(?:mi|ma|mon|meine?|final\w*|endgültig\w*|abschließend\w*)\s)?(?:respuesta
    |veredicto|conclusión|etiqueta|evaluación|resultado|réponse|verdict|jugement|conclusion|étiquette|resposta|veredito
    |conclusão|risposta|verdetto|conclusione|antwort|urteil|fazit|ergebnis|bewertung|ответ|вердикт|вывод
    |(?:最终)?(?:判断|结论|答案|判定)(?:结果)?)(?:\s(?:final|finale|definitiva|définitive?))?
""")
TRUE_ABROAD = any_of("""
    verdader[oa] ciert[oa] correct[oae] vraie? exacte? juste wahr richtig korrekt zutreffend verdadeir[oa] corret[oa]
    ver[oa] corrett[oa] верно правда истина правильно
""")
FALSE_ABROAD = any_of("""
    fals[oae] incorrect[oae] erróne[oa] faux fausse inexacte? falsch unwahr inkorrekt errad[oa] incorret[oa] errat[oa]
    scorrett[oa] неверно ложь неправда неправильно
""")
TRUE_ZH, FALSE_ZH = any_of("正确 对 属实 真 符合事实"), any_of("错误 错 不正确 不对 不属实 假 不符合事实")
ADVERB_ABROAD = r"(?:(?:\w{3,14}(?:mente|ment)|faktisch|sachlich)\s)?"
WORD_ABROAD = expression(rf"""
    (?P<no>(?:no|non|não|nicht|pas|не)[\s-])?{ADVERB_ABROAD}(?:(?P<true>{TRUE_ABROAD}|{TRUE_ZH})|{FALSE_ABROAD}
    |{FALSE_ZH})
""")
ABROAD = ignoring_case(rf"\W*(?:{MARKER_ABROAD}\s?[:：=-]\s*\W*)?{WORD_ABROAD}(?=\s?[.,;:!?。,(–—-]|\W*\Z)")
IS_ABROAD = ignoring_case(rf"""
    \W*(?:la respuesta|la réponse|die antwort|a resposta|la risposta|l'affirmation|la afirmación
    |die aussage)(?:\s\w+)?\s(?P<not>no\s|n')?(?:es|est|ist|é|è)\s(?:pas\s)?{WORD_ABROAD}\b
""")
ALL_OF_IT = ignoring_case(r"\W*(?:hallucinat(?:ion|ed)|fabricat(?:ion|ed))\W*")
