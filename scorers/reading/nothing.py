"""Recognise a reply that says that there is nothing to list, which is read as the empty list.

The frame of such a sentence ("There is no …", "لا يوجد …", "… yok", "कोई … नहीं", "没有…") depends on the language.
The noun in it depends on what the benchmark asks for. `none_of` combines the two. `FAULTS` contains the nouns for the
benchmarks of this package.
"""

from __future__ import annotations

import re

from halu_tasks.text.folding import fold, spelled

LONGEST = 400
"""Longest string that is tested, in characters; a longer one says more than that there is nothing."""
_EDGES = " \t\n.,;:!?。、*_`\"'“”()[]{}<>-–—"

FAULTS = (
    r"(?:wrong|incorrect|inaccura\w+|false|untrue|err(?:or|oneous)\w*|mistake\w*|hallucinat\w+|contradict\w+"
    r"|inconsisten\w+|discrepanc\w+|misinformation"
    rf"|(?:ال)?{spelled('خطأ أخطاء خاطئة تناقض تناقضات هلوسة هلوسات مهلوسة')}"
    rf"|(?:{spelled('hata yanlış çelişki halüsinasyon tutarsız uydurma')})\w*"
    rf"|{spelled('त्रुटि त्रुटियाँ गलती गलत ग़लत विरोधाभास मतिभ्रम असंगति')}|矛盾|错误|幻觉|不一致|问题)"
)
"""Expression over folded text for the words for errors, in English, Arabic, Turkish, Hindi and Chinese."""

_NO_CONTENT = re.compile(r"\[ ?\]|\{ ?\}|[∅—–-]|[(\[<](?:empty|blank|nil|null)[)\]>]", re.IGNORECASE)


def none_of(things: str = FAULTS) -> re.Pattern[str]:
    """Return the pattern of a statement that there are no `things`.

    Args:
        things: An expression over folded text for the things that a benchmark asks for.
    """
    things = f"(?:{things})"
    verbs = r"(?:found|find|saw|see|spot(?:ted)?|notice[d]?|detect(?:ed)?|identif(?:y|ied)|have|contains?|ha(?:s|ve))"
    # "no factually wrong entities", "any sentence that is false"
    described = rf"(?:[\w'-]+ ){{0,5}}{things}(?!\w)"
    english = (
        r"(?:(?:the )?(?:final )?(?:answer|result|output|list)(?: is)?:? )?(?:none|n/?a|nothing)"
        r"(?: (?:here|found|at all|identified|detected|to report|(?:is|was) found|applicable))?"
        r"|(?:an )?empty (?:list|output|string|response)|no output\b.*"
        rf"|none[.,;:–—-] .*|none of (?:the|these|its|them)(?: [\w-]+){{0,6}}? (?:is|are|was|were|seems?"
        rf"|appears?) {described}.*"
        r"|none of the (?:entities|sentences|passages|statements)\b.*"
        rf"|no {described}.*|nothing (?:here |in .{{1,40}}? )?(?:is|was|seems|appears(?: to be)?) {described}.*"
        rf"|.{{0,80}}\b(?:there (?:is|are|was|were)|there's|there (?:seems?|appears?) to be|i {verbs}|we {verbs}"
        rf"|(?:answer|text|response|passage|sentence|it) {verbs}) (?:no|not any|nothing)\b.{{0,30}}{things}.*"
        rf"|.{{0,80}}\b(?:(?:could|can|did|do|does|is|are) ?(?:not|n't)|cannot) (?:{verbs}|contain|include)(?: to be)?"
        rf"(?: any(?:thing)?)?\b.{{0,30}}{things}.*"
        rf"|.{{0,80}}\b(?:there (?:isn't|aren't)|there (?:is|are) not) any\b.{{0,30}}{things}.*"
        rf"|.{{0,40}}\b(?:answer|text|response) (?:is|seems|appears)(?: to be)? (?:entirely |completely "
        rf"|factually |fully )*"
        r"(?:correct|accurate|true|consistent|faithful)\b.*"
        r"|(?:everything|(?:all|every)\b.{0,20}\b(?:entit|sentence|statement|claim|fact"
        r"|information)\w*)\b.{0,40} (?:is|are) (?:entirely |completely |factually |fully )*"
        r"(?:correct|accurate|true)\b.*"
    )
    other_languages = (
        rf"{spelled('لا')} {spelled('شيء')}"
        rf"|.{{0,40}}(?:{spelled('لا ليس ليست')} {spelled('يوجد توجد هناك يحتوي تحتوي')}"
        rf"|{spelled('بدون')}|{fold('لم')} {spelled('أجد يتم')}).{{0,40}}{things}.*"
        rf"|{spelled('yok hiçbiri hiç boş')}|{fold('hiçbir şey')}(?: yok)?"
        rf"|.{{0,80}}{things}.{{0,60}} ?(?:{fold('yok')}|{fold('bulun')}m|{fold('bulama')}|{fold('içerm')}"
        rf"|{fold('görünm')}"
        rf"|{fold('rastlanm')}|{fold('tespit ed')}\w*m)\w*.{{0,20}}"
        rf"|{spelled('कोई कुछ')} (?:{fold('भी')} )?{spelled('नहीं नही')}(?: {fold('है')})?|{spelled('शून्य')}"
        rf"|.{{0,60}}{fold('कोई')} (?:{fold('भी')} )?.{{0,30}}{things}.{{0,40}}{spelled('नहीं नही')}.*"
        rf"|无|没有|(?:.{{0,20}})(?:没有|不存在|未发现|未见|无|不包含)(?:任何|发现|明显)*.{{0,10}}{things}.*"
    )
    return re.compile(rf"(?:{english}|{other_languages})", re.DOTALL)


NOTHING_WRONG = none_of()
"""Matches a statement that nothing is wrong."""


def says_none(text: str, none: re.Pattern[str] = NOTHING_WRONG) -> bool:
    """Return whether a string only says that there is nothing to list.

    Args:
        text: A reply or a part of it.
        none: The pattern of such a statement, from `none_of`.
    """
    text = text.strip()
    if _NO_CONTENT.fullmatch(text):
        return True
    return len(text) <= LONGEST and bool(none.fullmatch(fold(text).replace("’", "'").strip(_EDGES)))
