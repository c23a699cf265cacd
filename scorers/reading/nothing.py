"""Whether a reply to a question for strings says that there are none: an answer, the empty list.

The frames ("There is no"
    " …", "لا يوجد …", "… yok", "कोई … नहीं", "没有…") belong to the language, and what there is none of
to the benchmark: `none_of` puts the two together. `FAULTS` are the things that the package's own benchmarks ask for.
"""

from __future__ import annotations

import re

from halu_tasks.text.folding import fold, spelled

LONGEST = 400
"""Characters of the longest string that is looked at: what is longer says more than that there is nothing."""
_AROUND = " \t\n.,;:!?。、*_`\"'“”()[]{}<>-–—"

FAULTS = (
    r"(?:wrong|incorrect|inaccura\w+|false|untrue|err(?:or|oneous)\w*|mistake\w*|hallucinat\w+|contradict\w+"
    r"|inconsisten\w+|discrepanc\w+|misinformation"
    rf"|(?:ال)?{spelled('خطأ أخطاء خاطئة تناقض تناقضات هلوسة هلوسات مهلوسة')}"
    rf"|(?:{spelled('hata yanlış çelişki halüsinasyon tutarsız uydurma')})\w*"
    rf"|{spelled('त्रुटि त्रुटियाँ गलती गलत ग़लत विरोधाभास मतिभ्रम असंगति')}|矛盾|错误|幻觉|不一致|问题)"
)
"""What there is nothing of where nothing is wrong, in English, Arabic, Turkish, Hindi and Chinese."""


_BLANK = re.compile(r"\[ ?\]|\{ ?\}|[∅—–-]|[(\[<](?:empty|blank|nil|null)[)\]>]", re.IGNORECASE)


def none_of(things: str = FAULTS) -> re.Pattern[str]:
    """Return the expression for texts that say that there are no `things`, which is an expression over folded text."""
    things = f"(?:{things})"
    found = r"(?:found|find|saw|see|spot(?:ted)?|notice[d]?|detect(?:ed)?|identif(?:y|ied)|have|contains?|ha(?:s|ve))"
    # "no factually wrong entities", "any sentence that is false"
    some = rf"(?:[\w'-]+ ){{0,5}}{things}(?!\w)"
    english = (
        r"(?:(?:the )?(?:final )?(?:answer|result|output|list)(?: is)?:? )?(?:none|n/?a|nothing)"
        r"(?: (?:here|found|at all|identified|detected|to report|(?:is|was) found|applicable))?"
        r"|(?:an )?empty (?:list|output|string|response)|no output\b.*"
        rf"|none[.,;:–—-] .*|none of (?:the|these|its|them)(?: [\w-]+){{0,6}}? (?:is|are|was|were|seems?"
        rf"|appears?) {some}.*"
        r"|none of the (?:entities|sentences|passages|statements)\b.*"
        rf"|no {some}.*|nothing (?:here |in .{{1,40}}? )?(?:is|was|seems|appears(?: to be)?) {some}.*"
        rf"|.{{0,80}}\b(?:there (?:is|are|was|were)|there's|there (?:seems?|appears?) to be|i {found}|we {found}"
        rf"|(?:answer|text|response|passage|sentence|it) {found}) (?:no|not any|nothing)\b.{{0,30}}{things}.*"
        rf"|.{{0,80}}\b(?:(?:could|can|did|do|does|is|are) ?(?:not|n't)|cannot) (?:{found}|contain|include)(?: to be)?"
        rf"(?: any(?:thing)?)?\b.{{0,30}}{things}.*"
        rf"|.{{0,80}}\b(?:there (?:isn't|aren't)|there (?:is|are) not) any\b.{{0,30}}{things}.*"
        rf"|.{{0,40}}\b(?:answer|text|response) (?:is|seems|appears)(?: to be)? (?:entirely |completely "
        rf"|factually |fully )*"
        r"(?:correct|accurate|true|consistent|faithful)\b.*"
        r"|(?:everything|(?:all|every)\b.{0,20}\b(?:entit|sentence|statement|claim|fact"
        r"|information)\w*)\b.{0,40} (?:is|are) (?:entirely |completely |factually |fully )*"
        r"(?:correct|accurate|true)\b.*"
    )
    others = (
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
    return re.compile(rf"(?:{english}|{others})", re.DOTALL)


NOTHING_WRONG = none_of()


def says_none(text: str, none: re.Pattern[str] = NOTHING_WRONG) -> bool:
    """Return whether the text says nothing but that there is nothing to return, in the words of `none`."""
    text = text.strip()
    if _BLANK.fullmatch(text):
        return True
    return len(text) <= LONGEST and bool(none.fullmatch(fold(text).replace("’", "'").strip(_AROUND)))
