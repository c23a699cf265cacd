"""What a sentence chooses where it concedes something else first, in English, Arabic, Turkish or Hindi.

"It may look like a relation error, but sentence is the best fit", "Although the name changed, …",
"ilişki hatası gibi görünse de …", "قد يبدو خطأ علاقة، لكن …", "पहली नज़र में …, लेकिन …". All texts are folded (`folding`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from halu_tasks.scorers.reading.labels.declining import stated
from halu_tasks.text.folding import fold, spelled

Says = Callable[[str], bool]
"""Whether a text gives an answer."""

_OPENS = (
    r"although|though|even (?:though|if)|while|whilst|whereas|despite|granted|admittedly"
    rf"|{fold('على الرغم')}|{fold('بالرغم')}|{fold('مع أن')}|{fold('حتى لو')}|{fold('حتى وإن')}"
    rf"|{spelled('رغم ورغم صحيح')}"
    rf"|{fold('her ne kadar')}|{spelled('हालाँकि हालांकि यद्यपि चाहे')}|{fold('भले ही')}"
)
_LEADING = re.compile(rf"\W*(?:{_OPENS})(?!\w)[^,]*,")
_TRAILING = re.compile(
    r"(?<=[\s,;(–—-])(?:although|even though|though|even if|despite|"
    + "|".join([fold("على الرغم"), fold("بالرغم"), fold("مع أن"), spelled("رغم हालाँकि हालांकि यद्यपि")])
    + r")(?!\w)"
)
_TURN = re.compile(
    r"(?<!\w)(?:but|however|nevertheless|nonetheless|yet|in fact|in reality|actually"
    rf"|[وف]?{fold('لكن')}\w*|{fold('إلا أن')}\w*|{fold('غير أن')}\w*|{fold('بيد أن')}\w*|{fold('مع ذلك')}"
    rf"|{fold('ومع ذلك')}"
    rf"|{spelled('إنما وإنما')}|{fold('في الحقيقة')}|{fold('في الواقع')}"
    rf"|{spelled('ama ancak fakat lakin oysa oysaki halbuki aslında')}|{fold('yine de')}|{fold('buna rağmen')}"
    rf"|{fold('bununla birlikte')}|\w+s[ae](?: bile)? d[ae]|\w+s[ae] bile|\w+m[ae]kla birlikte"
    rf"|{spelled('लेकिन परंतु किंतु मगर तथापि बल्कि')}|{fold('फिर भी')}|{fold('वास्तव में')}|{fold('असल में')}"
    rf"|(?<=, ){fold('पर')})(?!\w)"
)
_SEEMS = re.compile(
    r"(?<!\w)(?:may|might|could|would|can|seem(?:s|ed)?|looks?|looked|appears?|resembl\w+|tempt\w+|first|initial\w*"
    r"|at a glance|arguabl\w+|superficial\w*|similar|perhaps|maybe|possibl[ye]|suggests?|think"
    rf"|{spelled('قد ربما يبدو تبدو يشبه تشبه للوهلة ظاهريا يظن البعض كأن كأنه كأنها يمكن يوحي توحي')}"
    rf"|{spelled('gibi belki başta başlangıçta önce olabil sanıl düşünül denebil denil görün benz bakışta')}\w*"
    rf"|{spelled('शायद पहली संभव संभवतः प्रतीत')}|{spelled('लग जैस दिख सकत')}\w*)(?!\w)"
)
_POSSIBLE = re.compile(
    r"(?<!\w)(?:may|might|could|can|perhaps|maybe|possibl[ye]"
    rf"|{fold('قد')} {spelled('يكون تكون يبدو تبدو يعد تعد يعتبر تعتبر يقال')}|{spelled('ربما يمكن')}"
    rf"|{spelled('olabilir denebilir sanılabilir belki')}|{spelled('शायद')}|{spelled('सकत')}\w*)(?!\w)"
)
_LONGEST = 600
"""Characters of a sentence that is divided; no real one is longer."""


def chosen(sentence: str, says: Says, decides: Says, declares: re.Pattern[str]) -> str:
    """The part of the sentence that chooses; all of it where nothing is conceded.

    What stands behind "but" and the like counts, if it `says` an answer that is no mere possibility, and if what stands
    before only seems so or the part behind `decides`; else what stands before "although" or behind its comma. What
    stands before and `declares` an answer is not taken back, unless it only seems so.
    """
    if len(sentence) > _LONGEST:
        return sentence
    for turn in reversed([*_TURN.finditer(sentence)]):
        before, after = sentence[: turn.start()], sentence[turn.end() :].lstrip(" ,;:")
        if not before.strip(" ,;") or not says(after) or _POSSIBLE.search(after):
            continue
        if _SEEMS.search(sentence, 0, turn.end()) or (decides(after) and not declares.search(before)):
            return after
    leading = _LEADING.match(sentence)
    if leading and says(after := sentence[leading.end() :].lstrip()):
        return after
    trailing = _TRAILING.search(sentence)
    if trailing and says(before := sentence[: trailing.start()]):
        return before
    return sentence


def without_declining(sentences: list[str]) -> list[str]:
    """The sentences without the clauses that decline to answer."""
    return [kept for one in sentences for kept in (stated([one]) if len(one) <= _LONGEST else [one])]


def without_concessions(sentences: list[str], says: Says, decides: Says, declares: re.Pattern[str]) -> list[str]:
    """The sentences, of each the part that chooses. One that begins with "However" and chooses takes back a sentence
    before it in which something only seems so."""
    kept: list[str] = []
    for sentence in sentences:
        turn = _TURN.match(sentence)
        if turn and kept and len(kept[-1]) <= _LONGEST and _SEEMS.search(kept[-1]) and says(sentence[turn.end() :]):
            kept.pop()
        kept.append(chosen(sentence, says, decides, declares))
    return kept
