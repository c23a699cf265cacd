"""Words that concede, turn to another statement or conclude, for each language.

Readers of several languages combine the words of all of them (`any_language`) and read folded text
(`halu_tasks.text.folding`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from halu_tasks.scorers.reading.lexicons import declared
from halu_tasks.scorers.reading.patterns import folded, pattern


@dataclass(frozen=True, kw_only=True)
class Language:
    """The words of one language, each attribute as alternatives of an expression.

    Attributes:
        concedes: Words that begin a concession: "although".
        concedes_behind: Words that begin a concession after the main clause.
        turns: Words that turn to another statement: "but".
        seems: Words that say that something only seems so.
        possible: Words that say that something is only possible.
        hence: Words that begin a conclusion in the middle of a sentence.
        concludes: Words that begin a sentence that concludes: "therefore". The English words are in `declared`.
        answer: Names of the answer that a reply gives: "the answer". The English words are in `declared`.
    """

    concedes: str
    concedes_behind: str
    turns: str
    seems: str
    possible: str
    hence: str
    concludes: str = ""
    answer: str = ""


ENGLISH = Language(
    concedes="although|though|even (?:though|if)|while|whilst|whereas|despite|granted|admittedly",
    concedes_behind="although|even though|though|even if|despite",
    turns="but|however|nevertheless|nonetheless|yet|in fact|in reality|actually",
    seems=r"""
        may|might|could|would|can|seem(?:s|ed)?|looks?|looked|appears?|resembl\w+|tempt\w+|first|initial\w*|at a glance
        |arguabl\w+|superficial\w*|similar|perhaps|maybe|possibl[ye]|suggests?|think
    """,
    possible="may|might|could|can|perhaps|maybe|possibl[ye]",
    hence="so|hence|thus|therefore",
)
ARABIC = Language(
    concedes="على الرغم|بالرغم|مع أن|حتى لو|حتى وإن|رغم|ورغم|صحيح",
    concedes_behind="على الرغم|بالرغم|مع أن|رغم",
    turns=r"[وف]?لكن\w*|إلا أن\w*|غير أن\w*|بيد أن\w*|مع ذلك|ومع ذلك|إنما|وإنما|في الحقيقة|في الواقع",
    seems="قد|ربما|يبدو|تبدو|يشبه|تشبه|للوهلة|ظاهريا|يظن|البعض|كأن|كأنه|كأنها|يمكن|يوحي|توحي",
    possible="قد (?:يكون|تكون|يبدو|تبدو|يعد|تعد|يعتبر|تعتبر|يقال)|ربما|يمكن",
    concludes="لذلك|ولذلك|لذا|ولذا|وبالتالي|بالتالي|إذن|إذا|وعليه|ختاما|باختصار|بناء على|في الختام",
    hence="إذن|لذلك|لذا|فإذن|وعليه",
    answer="الإجابة|الجواب|إجابتي|جوابي|النتيجة|الحكم|الخلاصة",
)
TURKISH = Language(
    concedes="her ne kadar",
    concedes_behind="",
    turns=r"""
        ama|ancak|fakat|lakin|oysa|oysaki|halbuki|aslında|yine de|buna rağmen|bununla birlikte|\w+s[ae](?: bile)? d[ae]
        |\w+s[ae] bile|\w+m[ae]kla birlikte
    """,
    seems=r"(?:gibi|belki|başta|başlangıçta|önce|olabil|sanıl|düşünül|denebil|denil|görün|benz|bakışta)\w*",
    possible="olabilir|denebilir|sanılabilir|belki",
    concludes="bu nedenle|bu yüzden|sonuç olarak|bu durumda|dolayısıyla|özetle|yani|kısacası",
    hence="dolayısıyla|yani|öyleyse|bu nedenle|bu yüzden|bu sebeple",
    answer="cevap|cevabım|cevabı|yanıt|yanıtım|sonuç|karar|kararım",
)
HINDI = Language(
    concedes="हालाँकि|हालांकि|यद्यपि|चाहे|भले ही",
    concedes_behind="हालाँकि|हालांकि|यद्यपि",
    turns="लेकिन|परंतु|किंतु|मगर|तथापि|बल्कि|फिर भी|वास्तव में|असल में|(?<=, )पर",
    seems=r"शायद|पहली|संभव|संभवतः|प्रतीत|(?:लग|जैस|दिख|सकत)\w*",
    possible=r"शायद|सकत\w*",
    concludes="इसलिए|अतः|अत|निष्कर्षतः|लिहाज़ा|इस प्रकार|संक्षेप में",
    hence="इसलिए|अतः|अत|सो",
    answer="उत्तर|जवाब|निष्कर्ष|निर्णय|परिणाम",
)


def any_language(words: Callable[[Language], str]) -> str:
    """Return the words of all languages as folded alternatives of an expression."""
    return "|".join(folded(each) for each in map(words, (ENGLISH, ARABIC, TURKISH, HINDI)) if each)


LEADING = pattern(rf"\W*(?:{any_language(lambda language: language.concedes)})(?!\w)[^,]*,")
TRAILING = pattern(rf"(?<=[\s,;(–—-])(?:{any_language(lambda language: language.concedes_behind)})(?!\w)")
TURN = pattern(rf"(?<!\w)(?:{any_language(lambda language: language.turns)})(?!\w)")
SEEMS = pattern(rf"(?<!\w)(?:{any_language(lambda language: language.seems)})(?!\w)")
POSSIBLE = pattern(rf"(?<!\w)(?:{any_language(lambda language: language.possible)})(?!\w)")
HENCE = rf"(?:{any_language(lambda language: language.hence)})\b"
CONCLUDES = pattern(rf"{declared.CONCLUDES.pattern}|\W*(?:{any_language(lambda language: language.concludes)})\b")
ANSWER = rf"{declared.DECLARED.pattern}|\b[وف]?(?:{any_language(lambda language: language.answer)})\b"
