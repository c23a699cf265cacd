"""Which type of error a reply names: entity, relation, sentence, or none; in English, Arabic, Turkish or
Hindi.

HalluVerse25's classification. A reply is folded first (`folding`), and then read in steps; a later step is
tried only when the earlier ones found nothing.

1. A declared verdict, the last one: what stands behind "Answer:", "the error is", "نوع الخطأ:", "Hata türü:",
   "त्रुटि का प्रकार:" and the like, and a first or last line that is nothing but the type or explains it.
2. The type that the last concluding sentence names ("Therefore …", "لذلك …", "Bu nedenle …", "इसलिए …").
3. The one type that is called an error, a hallucination or a class ("relation error", "خطأ في العلاقة",
   "varlık hatası", "संबंध त्रुटि").
4. The one type that is named at all.

A negated type ("not an entity error", "ليس خطأ كيان", "varlık hatası değil", "इकाई त्रुटि नहीं") is not
named. Several types in one step are no verdict. "The edited sentence" is no type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.folding import fold, spelled
from halu_tasks.scorers.verdict_text import (
    CONCLUDES,
    DECLARED,
    any_of,
    joined,
    last_declared,
    matches,
    read_reply,
)

ENTITY, RELATION, SENTENCE, NONE = TYPES = ("entity", "relation", "sentence", "none")
_SEVERAL = "several"

_TAG = re.compile(r"</?((?:entity|relation|sentence))[\w ]{0,20}>|\b(entity|relation|sentence)_")


# --- the words ----------------------------------------------------------------------------------------

_ERROR_HI = spelled(
    "त्रुटि त्रुटियाँ त्रुटियों गलती गलतियाँ भूल मतिभ्रम मतिविभ्रम विभ्रम हैलुसिनेशन हैल्यूसिनेशन हैलूसिनेशन हेलुसिनेशन हैलुसिनेशंस एरर"
)
# Arabic joins its article and its short words to the next one.
_JOINED = "(?:[وفبكل]{0,2}(?:ال|لل?)?)"
_NAMES = {
    ENTITY: rf"entit(?:y|ies)|antite|entite|{fold('varlık')}\w{{0,6}}|{fold('varlığ')}\w{{1,5}}"
    rf"|{_JOINED}{spelled('كيان كيانات كياني كيانية كينونة')}"
    rf"|{spelled('इकाई इकाइयाँ इकाइयों सत्ता सत्ताएँ सत्ताओं एंटिटी एंटीटी')}",
    RELATION: rf"relation(?:s|al|ships?)?|{fold('ilişki')}\w{{0,8}}|{fold('bağıntı')}\w{{0,4}}"
    rf"|{_JOINED}{spelled('علاقة علاقات علائقي علائقية علاقي علاقية')}"
    rf"|{spelled('संबंध संबंधों संबंधात्मक रिश्ता रिश्ते रिश्तों रिलेशन')}",
    SENTENCE: rf"sentences?|{spelled('cümle cümlesel tümce tümcesel')}|{_JOINED}{spelled('جملة جمل جملي')}"
    rf"|{spelled('वाक्य वाक्यों वाक्यगत')}",
    NONE: r"none|no (?:such |factual |real |actual )?(?:errors?|hallucinations?)|error-free|zero"
    rf"|{spelled('sıfır hiçbiri hatasız')}"
    rf"|{fold('hata yok')}\w*|(?<![\w.,])[0٠۰०](?![\w]|[.,]\d)"
    rf"|(?:{spelled('لا بلا بدون')} (?:{spelled('يوجد توجد')} )?(?:{spelled('أي')} )?"
    rf"{spelled('خطأ أخطاء هلوسة شيء')})"
    # "no error of the entity" speaks of one type
    rf"(?!\s(?:في )?{_JOINED}{spelled('كيان علاقة')})"
    rf"|{fold('कोई')} (?:{fold('भी')} )?(?:{_ERROR_HI} )?{spelled('नहीं नही')}|{spelled('शून्य त्रुटिहीन')}",
}
_NAME = "|".join(f"(?P<{kind}>{words})" for kind, words in _NAMES.items())
_CALLED_BEFORE = (
    rf"(?:{_JOINED}{spelled('خطأ أخطاء هلوسة هلوسات غلط نوع فئة مستوى')}\s"
    rf"(?:(?:{spelled('في على من نوع مستوى فئة')}|:)\s?){{0,4}}"
    r"|\b(?:error|hallucination|mistake)s? (?:of|at) (?:the )?(?:type |class |category )?)"
)
_CALLED_AFTER = (
    r"(?:[\s-]?(?:level|based|related|type))?[\s-]?"
    r"(?:(?:errors?|hallucinations?|mistakes?|level|type|class|category|label|option)\b"
    rf"|{spelled('hata halüsinasyon yanlışı yanlışlığ düzey tür sınıf kategori seçeneğ')}\w*)"
    rf"|[\s-](?:{spelled('स्तर स्तरीय संबंधी आधारित')} )?(?:{spelled('की का के में')} )?{_ERROR_HI}"
)
_TYPE = re.compile(rf"(?P<before>{_CALLED_BEFORE})?(?<![\w])(?:{_NAME})(?!\w)(?P<after>{_CALLED_AFTER})?")

# "sentence" is also what a reply speaks of.
_DETERMINED = re.compile(
    any_of(
        "the this that these those each both whole entire edited original modified given first second new altered"
        " changed rewritten in of a every one same"
    )
    + r" \Z|"
    + spelled("bu düzenlenmiş düzenlenen orijinal özgün asıl ilk ikinci verilen değiştirilmiş her tüm bütün iki bir")
    + r" \Z|"
    + spelled("यह इस उस इन ये वह संपादित मूल दिया दिए गए गया हुआ हुए बदला बदले पहला पहले दूसरा दूसरे पूरा पूरे नया नए हर दोनों एक")
    + r" \Z"
)
_WHICH = re.compile(f" {spelled('المعدلة المحررة الأصلية الثانية الأولى الجديدة التي')}")
_DESCRIBED = re.compile(
    rf"['’]\w| (?!(?:because|since|as|for|{spelled('لأن لأنه لأنها حيث إذ çünkü क्योंकि चूँकि है')})\b)\w"
)
_NEGATED = re.compile(
    r"(?:\b(?:not|no|never|nor|neither|without|rather than|instead of)|n't) (?:(?:a|an|the|any|in|of|just|only|really)"
    rf" )*\Z|\b{spelled('ليس ليست وليس وليست لا ولا لم غير')} (?:{spelled('هناك يوجد هو هي من في مجرد')} )*\Z"
    rf"|\b{fold('بدلا من')} \Z|\b{fold('न')} {spelled('तो ही कि')} (?:{spelled('यह एक')} )*\Z"
)
_NEGATED_AFTER = re.compile(rf"\W{{0,2}}{spelled('değil olmayan olmadığ yerine yok bulunm नहीं नही')}\w*")
_AND = re.compile(rf"(?:[^\w]|\b{spelled('or and nor a an the veya ya da ve ile ne أو و أم या अथवा और तथा एवं व')}\b)*")

_FILLER = re.compile(
    r"(?:[^\w]|\b(?:"
    + any_of(
        "is are was be would should must will a an the most best likely clearly definitely probably of type types in as"
        " to that this it its class category error errors hallucination label described following falls under into"
        " belongs classified considered called simply therefore thus answer final verdict mainly primarily s m i say"
        " here edited"
    )
    + "|"
    + spelled("هو هي من نوع أنه انها في على مستوى إلى فئة هنا أن تكون يكون تحت ضمن النهائي النهائية الصحيح الصحيحة")
    + "|"
    + spelled("bir bu olarak şu şudur en uygun de da ise olan göre")
    + "|"
    + spelled("यह एक है हैं का की के में से अंतिम सही सबसे उपयुक्त स्पष्ट रूप होगा होगी केवल")
    + r")\b)*"
)

# --- what declares a type -----------------------------------------------------------------------------

_DECLARES = re.compile(
    rf"{DECLARED.pattern}"
    r"|\b(?:error|hallucination) ?(?:type|class|category)\b|\b(?:type|class|category|kind) of (?:the )?"
    r"(?:error|hallucination|issue)\b|^(?:the )?(?:correct |best |right )?(?:type|class|category|error)\s?[:=]"
    r"|\b(?:this|it|that|which|error|issue|edit|change|problem|hallucination|type|class|category|answer)(?: here)?"
    r" (?:is|was|would be|must be|remains|represents|constitutes|falls (?:under|into)|belongs to)\b"
    r"|\b(?:it|this|that)'s\b"
    r"|\b(?:classif|categori[sz]|describ|label|class)\w*(?: it| this| the \w+| best)? as\b"
    r"|\b(?:choose|pick|select|go with|choice is|fits|opt for)\b"
    r"|^(?:or )?(?:rather|no|wait|actually|sorry|correction)\b[,:]"
    rf"|\b{spelled('الإجابة الجواب إجابتي جوابي التصنيف النتيجة الحكم الخلاصة النوع الفئة الصنف نوعه نوعها')}\b"
    rf"|\b(?:{spelled('نوع تصنيف فئة')} {spelled('الخطأ الهلوسة خطأ التعديل')}|{fold('الخطأ هو')}"
    rf"|{fold('الخطأ هنا')})"
    rf"|\b{spelled('هذا هذه أختار اخترت اختياري يصنف تصنف يعد يعتبر ينتمي')}\b"
    rf"|\b(?:{spelled('cevap cevabım cevabı yanıt yanıtım sonuç sınıflandırma etiket karar kararım seçimim bu')}"
    rf"|(?:{spelled('hata hatanın halüsinasyon halüsinasyonun doğru')} )?{spelled('türü tipi sınıfı kategorisi tür')}"
    rf"|^(?:{spelled('sınıf kategori tür hata')})\s?[:=])(?!\w)"
    rf"|\b(?:{spelled('उत्तर जवाब निष्कर्ष निर्णय परिणाम वर्गीकरण श्रेणी वर्ग लेबल यह')}|(?<!{fold('इस ')}){fold('प्रकार')})\b",
)
_CONCLUDES = re.compile(
    rf"{CONCLUDES.pattern}|\W*(?:{spelled('لذلك ولذلك لذا ولذا وبالتالي بالتالي إذن إذا وعليه ختاما باختصار')}"
    rf"|{fold('بناء على')}|{fold('في الختام')}|{fold('bu nedenle')}|{fold('bu yüzden')}|{fold('sonuç olarak')}"
    rf"|{fold('bu durumda')}|{spelled('dolayısıyla özetle yani kısacası')}"
    rf"|{spelled('इसलिए अतः अत निष्कर्षतः लिहाज़ा')}|{fold('इस प्रकार')}|{fold('संक्षेप में')})\b"
)
_EXPLAINED = re.compile(r"\W*\Z|\s?[:,(–—-].*|,? (?:because|since|as|for|" + spelled("क्योंकि चूँकि") + r")\b.*")


def error_type(reply: str) -> Answer[str]:
    """The type of error that the reply names: one of `TYPES`, or unparsed."""
    return read_reply(reply, _read, _rewritten)


def _rewritten(text: str) -> str:
    return _TAG.sub(r" \1\2 ", fold(text))


def _read(sentences: list[str]) -> Answer[str]:
    declared = last_declared(sentences, {_DECLARES: _introduced}, _Lines(sentences).alone)
    if declared:
        return _answer({declared[1]})
    sentences = joined(sentences)
    for sentence in reversed(sentences):
        if _CONCLUDES.match(sentence) and (kinds := {kind for kind, _ in _named(sentence)}):
            return _answer(kinds)
    named = [pair for sentence in sentences for pair in _named(sentence)]
    errors = {kind for kind, called in named if called}
    # "there is no error" may be said of a part
    return _answer(errors - {NONE} or errors or {kind for kind, _ in named})


def _answer(kinds: set[str]) -> Answer[str]:
    if len(kinds) == 1 and _SEVERAL not in kinds:
        return Answer(kinds.pop())
    return Answer(None, "several types" if kinds else "no verdict")


class _Lines:
    """The lines that are a type and nothing else, or explain it."""

    def __init__(self, sentences: list[str]) -> None:
        self._kinds = {kind for kind in map(self._line, sentences) if kind}

    def alone(self, text: str) -> str | None:
        # Lines that open with several types discuss them.
        return self._line(text) if len(self._kinds) == 1 else None

    def _line(self, text: str) -> str | None:
        found = _TYPE.match(text, _end(_FILLER, text, 0))
        if not found or not _EXPLAINED.fullmatch(text, found.end()):
            return None
        return _introduced(text)


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start


def _introduced(text: str) -> str | None:
    """The type that the text begins with, `_SEVERAL` for a list of them, or None."""
    start = _end(_FILLER, text, 0)
    found = _TYPE.match(text, start)
    if found is None or not _stands(found, introduced=True):
        return None
    kind = _kind(found)
    following = _TYPE.match(text, _end(_AND, text, found.end()))
    if following and _kind(following) != kind and _stands(following, introduced=True):
        return _SEVERAL
    return kind


def _kind(found: re.Match[str]) -> str:
    return next(kind for kind in TYPES if found[kind])


def _stands(found: re.Match[str], *, introduced: bool = False) -> bool:
    """Whether the match names a type: not negated, and no sentence that the reply speaks of."""
    text = found.string
    before = text[max(found.start() - 30, 0) : found.start()]
    if _NEGATED_AFTER.match(text, found.end()):
        return False
    if found[NONE]:
        return True
    if _NEGATED.search(before):
        return False
    if not found[SENTENCE] or found["after"]:
        return True
    if found["before"]:
        return not _WHICH.match(text, found.end())
    return not _DESCRIBED.match(text, found.end()) and bool(introduced or not _DETERMINED.search(before))


def _named(sentence: str) -> Iterator[tuple[str, bool]]:
    """The types that the sentence names, and whether each is called an error."""
    called, begin = False, len(sentence)
    for found in reversed([*matches(_TYPE, sentence)]):
        # in "an entity or relation error" both are called so
        listed = _AND.fullmatch(sentence, found.end(), begin) is not None
        called, begin = bool(found["before"] or found["after"] or found[NONE]) or (called and listed), found.start()
        if _stands(found):
            yield _kind(found), called
