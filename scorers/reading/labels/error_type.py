"""Which type of error a reply names: entity, relation, sentence, or none; in English, Arabic, Turkish or
Hindi.

HalluVerse25's classification. A reply is folded first (`folding`), and then read in steps; a later step is
tried only when the earlier ones found nothing.

1. A declared verdict, the last one: what stands behind "Answer:", "the error is", "نوع الخطأ:", "Hata türü:",
   "त्रुटि का प्रकार:" and the like, and a first or last line that is nothing but the type or explains it.
2. The type that the last conclusion names ("Therefore …", "لذلك …", "Bu nedenle …", "इसलिए …"), at the start of a
   sentence or behind a comma.
3. The one type that is called the best or right choice ("relation fits better", "الجملة هي الأنسب").
4. The one type that is called an error, a hallucination or a class ("relation error", "خطأ في العلاقة",
   "varlık hatası", "संबंध त्रुटि").
5. The one type that is named at all, in what is no question.
6. The type at the place that the reply gives ("the second option"), in the order in which it lists the types or, if
   it lists none, in the order of the question.

A list that says yes or no of each type ("Entity: No / Relation: Yes", "entity ❌ relation ✅", "Did the entity
change? No. Did the relation change? Yes.") declares the one with a yes. What a sentence only concedes counts for
nothing (`concession`). A negated type ("not an entity error",
"ليس خطأ كيان", "varlık hatası değil", "इकाई त्रुटि नहीं") or an unchanged one is not named, nor are the entities that a
relation is between. Several types in one step are no verdict. "The edited sentence" is no type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.concession import without_concessions, without_declining
from halu_tasks.scorers.reading.labels.verdict_text import (
    CONCLUDES,
    DECLARED,
    joined,
    last_declared,
    matches,
    read_reply,
)
from halu_tasks.text.folding import any_of, fold, spelled

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
    ENTITY: rf"entit(?:y|ies)|antite|entite|entidad|entidade|entita|entitat"
    rf"|{fold('varlık')}\w{{0,12}}|{fold('varlığ')}\w{{1,8}}"
    rf"|{_JOINED}{spelled('كيان كيانات كياني كيانية كينونة')}"
    rf"|{spelled('इकाई इकाइयाँ इकाइयों सत्ता सत्ताएँ सत्ताओं एंटिटी एंटीटी ऐंटिटी ऐंटीटी')}",
    RELATION: rf"relation(?:s|al|ships?)?|relacion|relacao|relazione|beziehung|{fold('ilişki')}(?!n\b|len)\w{{0,8}}"
    rf"|{fold('ilişkilendirme')}(?= {fold('hata')})|{fold('bağıntı')}\w{{0,4}}"
    rf"|{_JOINED}{spelled('علاقة علاقات علائقي علائقية علاقي علاقية')}"
    rf"|{spelled('संबंध संबंधों संबंधात्मक संबंधपरक रिश्ता रिश्ते रिश्तों रिलेशन रिलेशनल रिलेशनशिप')}",
    SENTENCE: rf"sentences?|satz|oracion|(?<=erreur : )phrase|(?<=erreur de )phrase"
    rf"|{spelled('cümle cümledir cümlesel tümce tümcedir tümcesel')}"
    rf"|{spelled('cümleyle cümleye tümceyle tümceye')}(?= {spelled('ilgili ilişkin ait')})"
    rf"|{_JOINED}{spelled('جملة جمل جملي')}"
    rf"|{spelled('वाक्य वाक्यों वाक्यगत वाक्यस्तरीय सेंटेंस सेन्टेन्स सेंटेन्स सेंटेंसेस')}",
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
    rf"(?:(?:{spelled('في على من نوع مستوى فئة يخص تخص يتعلق متعلق مرتبط يمس')}|:)\s?){{0,4}}"
    r"|\b(?:error|hallucination|mistake)s? (?:of|at) (?:the )?(?:type |class |category )?)"
)
_LEVEL_TR = rf"{spelled('düzey seviye baz tür sınıf kategori')}\w*|(?:ile )?{spelled('ilgili ilişkin ait')}"
_CALLED_AFTER = (
    r"(?:[\s-]?(?:level|based|related|type))?[\s-]?"
    r"(?:(?:errors?|hallucinations?|mistakes?|changes?|swaps?|problems?|issues?|level|type|class|category"
    r"|label|option)\b"
    rf"|(?:(?:{_LEVEL_TR}) )?(?:bir )?{spelled('hata halüsinasyon yanlışı yanlışlığ')}\w*|{_LEVEL_TR}"
    rf"|{spelled('seçeneğ')}\w*)"
    rf"|[\s-](?:(?:{fold('के')} )?{spelled('स्तर स्तरीय लेवल संबंधी आधारित श्रेणी वर्ग')} "
    rf"|{fold('से')} {spelled('संबंधित जुड़ी जुड़ा')} )?"
    rf"(?:{spelled('की का के में पर')} ){{0,2}}(?:{fold('एक')} )?{_ERROR_HI}"
    rf"|[\s-](?:{spelled('की के')} )?{spelled('स्तर लेवल श्रेणी वर्ग')}(?!\w)"
)
_TYPE = re.compile(rf"(?P<before>{_CALLED_BEFORE})?(?<![\w])(?:{_NAME})(?!\w)(?P<after>{_CALLED_AFTER})?")

# What calls a type the right choice, behind it. That a relation "is correct" only says that it was not changed.
_CHOICE = (
    rf"[,:]?(?: {spelled('is are seem seems would be to appears looks feels remains هو هي ही olarak')}){{0,3}}(?:"
    + any_of(
        r"\s(?:(?:the|a|more|most|much|far|clearly|still)\s)+(?:best|better|closest|right|correct|appropriate"
        r"|accurate|fitting"
        r"|suitable|apt|likely|precise|stronger|strongest)\b"
        r" \s(?:(?:clearly|really|still)\s)?(?:best|better|closest|fits?|suits?|applies|wins)\b"
    )
    + rf"| {spelled('الأنسب الأدق الأصح الأقرب الأفضل الأرجح الصحيح الصحيحة أنسب أدق أصح أقرب أفضل أرجح')}(?!\w)"
    rf"| {spelled('daha en')} {spelled('uygun doğru iyi isabetli yerinde yakın mantıklı')}\w*"
    rf"|(?: {spelled('demek denmesi')})? {fold('uygundur')}"
    rf"| {fold('seç')}(?:iyor|er|ti|il|mek)\w*| {spelled('diyorum derim derdim')}|(?: {fold('को')})? {fold('चुन')}\w*"
    rf"|(?: {spelled('सबसे अधिक ज़्यादा ज्यादा')})? {spelled('बेहतर उपयुक्त उचित सटीक')}(?!\w)"
    rf"| {spelled('सबसे अधिक ज़्यादा ज्यादा')} {fold('सही')}(?!\w)"
    rf"| {spelled('बच शेष')}\w*| kal(?:iyor|ir|di|mis)(?!\w))"
)
_CHOSEN = re.compile(_CHOICE)

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
    rf"['’]\w|(?!{_CHOICE})(?! {spelled('كلها بأكملها برمتها ككل')}\W*(?:\Z|[.,;])) (?!(?:because|since|as|for"
    rf"|{spelled('لأن لأنه لأنها حيث إذ çünkü क्योंकि चूँकि है')})\b)\w"
)
_NEGATED = re.compile(
    r"(?:\b(?:not|no|never|nor|neither|without|rather than|instead of|rul(?:e|ed|es|ing) out|exclud(?:e|ed|es|ing)"
    r"|eliminat(?:e|ed|es|ing)|discard(?:ed|ing)?)|n't) (?:(?:a|an|the|any|in|of|just|only|really|both|under|as) )*\Z"
    rf"|\b{spelled('ليس ليست وليس وليست لا ولا لم غير')} (?:"
    rf"{spelled('هناك يوجد هو هي من في مجرد أراه أظنه أعتبره أعده يعد يعتبر ضمن تحت على إطار نطاق باب')} )*\Z"
    rf"|\b{fold('لم')} {spelled('يتغير تتغير يتبدل تتبدل')} \Z|\bne (?:de )?\Z|\b{fold('بدلا من')} \Z"
    rf"|\b{fold('न')} {spelled('तो ही कि')} (?:{spelled('यह एक')} )*\Z"
)
_RATHER_TR = rf" {fold('ziyade')}|(?<=[td][ae]n) {fold('çok')}(?!\w)|(?<=lar) {fold('doğru')}(?!\w)"
_NEGATED_AFTER = re.compile(
    r"(?:\s?\([^()]{0,60}\))?(?:"  # "the entities (Rome, Paris) are unchanged"
    rf"\W{{0,2}}{spelled('değil olmayan olmadığ yerine yok bulunm नहीं नही')}\w*"
    rf"|(?: {spelled('में की का के से अंतर्गत')}){{1,2}} {spelled('नहीं नही')}(?!\w)"
    # unchanged
    r"|,? (?:(?:is|are|was|were|has|have|remains?|stays?|stayed|itself|both) ){0,2}(?:also |still "
    r"|completely |exactly )?"
    r"(?:unchanged|the same|same|intact|untouched|fine|kept|retained|maintained|preserved|unaffected|identical"
    r"|correct|isn't|hasn't)\b"
    # "not changed"; what "relation, not entity" denies is the other
    r"|(?: (?:is|are|was|were|has|have|does|did))? (?:not|\w+n't) (?:\w+ )?(?:been )?(?:chang|alter|modif|affect|involv"
    r"|relevant|applic|apply|the (?:issue|error|problem|right|best|correct))\w*"
    r"|,? (?:is|are|was|were|has|have|does|did) not\b"
    rf"|(?: \w+)? {spelled('aynı değişme değişmemiş korun')}\w*|(?: {fold('भी')})? {spelled('वही समान')}(?!\w)"
    rf"| [وف]?{spelled('لم لا')} {spelled('يتغير تتغير يتأثر تتأثر يتبدل تتبدل')}"
    rf"| {spelled('كما نفسه نفسها سليم سليمة')}(?!\w)|{_RATHER_TR})"
)
# a relation is between entities: they are what the reply speaks of
_BETWEEN = re.compile(
    rf"(?:\bbetween (?:(?:the|these|two|both|its|different) )*|{fold('بين')} (?:{fold('هذه')} |{fold('هذين')} )?)\Z"
)
_SEVERAL_ENTITIES = re.compile(rf"entities|{_JOINED}{fold('كيانات')}|{fold('varlıklar')}|{fold('इकाइयों')}")
_BETWEEN_AFTER = re.compile(rf"(?: {fold('ile')} \w+)? {fold('aras')}\w*|(?: {fold('के')})? {fold('बीच')}(?!\w)")
_AND = re.compile(
    rf"(?:[^\w]|\b{spelled('or and nor a an the perhaps maybe possibly veya ya da ve ile ne hem belki')}\b"
    rf"|\b{spelled('أو و أم في من ضمن ربما إما या अथवा और तथा एवं व शायद')}\b)*"
)
_OR = re.compile(rf"\b{spelled('or nor veya أو أم या अथवा')}\b|\b{fold('ya da')}\b")

_FILLER = re.compile(
    r"(?:[^\w]|\b(?:"
    + any_of(
        "is are was be would should must will a an the most best likely clearly definitely probably of type types in as"
        " to that this it its class category error errors hallucination label described following falls under into"
        " belongs classified considered called simply therefore thus answer final verdict mainly primarily s m i say"
        " here edited only just us me with behind option choice"
    )
    + "|"
    + spelled(
        "سوى إلا فقط لنا خيار الخيار احتمال هو هي من نوع أنه انها في"
        " على مستوى إلى فئة هنا أن تكون يكون تحت ضمن النهائي النهائية الصحيح الصحيحة"
    )
    + "|"
    + spelled("yalnızca sadece tek seçenek bir bu olarak şu şudur en uygun de da ise olan göre")
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
    # what is left, where the others are ruled out
    r"|\b(?:leav(?:es?|ing)|left with|(?:what|all that) (?:is left|remains)(?: is)?|remaining \w+ is)\b"
    rf"|\b(?:{spelled('يبقى تبقى يتبقى تتبقى بقي')}|{fold('geriye')})\b"
    # what the one who answers calls his own, or chooses: "my pick: entity"
    r"|\bmy \w+\s?[:=]|\b(?:selected|chosen|selection|choice)\s?[:=]"
    rf"|\b{spelled('मेरा मेरी मेरे')} \w+(?: {fold('है')})?\s?[:=]|\b{fold('चुन')}\w* {spelled('हूँ है हैं')}\s?[:=]"
    rf"|\b\w{{2,12}}[iu]m\s?[:=]|\b{spelled('قراري رأيي خياري حكمي')}\b"
    # a correction
    r"|^(?:or )?(?:rather|no|wait|actually|sorry|correction)\b[,:]"
    rf"|^(?:{spelled('تصحيح عفوا استدراك أصحح للتصحيح düzeltme düzeltiyorum pardon सुधार संशोधन')})\b\s?[,:]"
    rf"|\b{spelled('الإجابة الجواب إجابتي جوابي التصنيف النتيجة الحكم الخلاصة النوع الفئة الصنف نوعه نوعها')}\b"
    rf"|\b(?:{spelled('نوع تصنيف فئة')} {spelled('الخطأ الهلوسة خطأ التعديل')}|{fold('الخطأ هو')}"
    rf"|{fold('الخطأ هنا')})"
    rf"|^{spelled('الخطأ خطأ الهلوسة المشكلة التغيير')}\s?[:=]|^{spelled('त्रुटि गलती मतिभ्रम')}\s?[:=]"
    rf"|\b{spelled('يتعلق تتعلق متعلق متعلقة يكمن تكمن يقع تقع يخص')}\b"
    rf"|(?<!{fold('ليس')} )\b{spelled('الخطأ المشكلة التغيير')} {fold('في')}\b"
    r"|\b(?:error|issue|change|problem|hallucination|mistake) (?:concerns|affects|lies in|relates to"
    r"|is about|has to do with)\b"
    r"|\b(?:makes|making) (?:it|this)\b|\b(?:best|closest|better|right|correct) (?:fit|match|choice|option"
    r"|description) is\b"
    rf"|\b{spelled('الأنسب الأدق الأصح الأقرب الأفضل الأرجح')}\b"
    rf"|\b{fold('en')} {spelled('uygun doğru isabetli yakın')}\w*"
    r"|\bwhat(?:'s| is| was| has)? (?:been |really |actually )?(?:changed|changes|altered|wrong"
    r"|different)(?: here)? (?:is|was)\b"
    rf"|\b{spelled('yanlış hatalı değişmiş')} olan\b"
    rf"|\b{spelled('değişen değiştirilen')}(?: {spelled('şey öge öğe unsur')})?\b"
    rf"|\b(?:{spelled('المتغير المتبدل')}|{fold('ما')} {spelled('تغير تبدل')})(?: {fold('هنا')})? "
    rf"{spelled('هو هي')}\b"
    rf"|\b{spelled('هذا هذه أختار اخترت اختياري يصنف تصنف يعد يعتبر ينتمي')}\b"
    rf"|\b(?:{spelled('cevap cevabım cevabı yanıt yanıtım sonuç sınıflandırma etiket karar kararım seçimim bu')}"
    rf"|(?:{spelled('hata hatanın halüsinasyon halüsinasyonun doğru')} )?{spelled('türü tipi sınıfı kategorisi tür')}"
    rf"|^(?:{spelled('sınıf kategori tür hata')})\s?[:=])(?!\w)"
    rf"|\b(?:{spelled('उत्तर जवाब निष्कर्ष निर्णय परिणाम वर्गीकरण श्रेणी वर्ग लेबल यह')}"
    rf"|(?<!{fold('इस ')}){fold('प्रकार')})\b",
)
_DECIDED = re.compile(
    rf"{DECLARED.pattern}|\banswer\s?[:=]"
    rf"|\b{spelled('الإجابة الجواب إجابتي جوابي التصنيف الحكم cevap cevabım yanıt yanıtım karar उत्तर जवाब')}\b"
)
_CONCLUDES = re.compile(
    rf"{CONCLUDES.pattern}|\W*(?:{spelled('لذلك ولذلك لذا ولذا وبالتالي بالتالي إذن إذا وعليه ختاما باختصار')}"
    rf"|{fold('بناء على')}|{fold('في الختام')}|{fold('bu nedenle')}|{fold('bu yüzden')}|{fold('sonuç olarak')}"
    rf"|{fold('bu durumda')}|{spelled('dolayısıyla özetle yani kısacası')}"
    rf"|{spelled('इसलिए अतः अत निष्कर्षतः लिहाज़ा')}|{fold('इस प्रकार')}|{fold('संक्षेप में')})\b"
)
_HENCE = re.compile(
    rf", (?:and )?(?:so|hence|thus|therefore|{spelled('إذن لذلك لذا وعليه dolayısıyla yani öyleyse इसलिए अतः सो')}"
    rf"|{fold('bu nedenle')}|{fold('bu yüzden')}|{fold('bu sebeple')})\b"
)
_EXPLAINED = re.compile(r"\W*\Z|\s?[:,(–—-].*|,? (?:because|since|as|for|" + spelled("क्योंकि चूँकि") + r")\b.*")


# --- a yes or no for each type -------------------------------------------------------------------------

_TYPES = "|".join(f"(?P<{kind}>{_NAMES[kind]})" for kind in (ENTITY, RELATION, SENTENCE))
_ANY_TYPE = "|".join(_NAMES[kind] for kind in (ENTITY, RELATION, SENTENCE))
_SEPARATES = rf"(?:\s(?:mi|mu|{fold('है')}))?" r"[\"'`*_\]]{0,4}\s{0,3}(?:[:=?|(–—-]|->|→)[\s\"'`*_(\[|-]{0,6}"
_YES_WORD = rf"(?:yes|true|evet|var|1|present|{spelled('نعم صح صحيح हाँ')})(?![\w.,]\w|\w)"
_NO_WORD = (
    rf"(?:(?:no|false)(?!\w)(?![^\S\n]+(?!(?:{_ANY_TYPE}){_SEPARATES}|changes?\b|errors?\b|issues?\b|modif"
    rf"|differ|problems?\b)\w)"
    rf"|not (?:changed|affected|applicable|present|altered|modified|relevant)|unchanged|n/a|0(?![\w.,]\w|\w)"
    rf"|{spelled('hayır yok لا')}(?!\w)|{spelled('नहीं नही')}(?!\w))"
)
_CHECK, _CROSS = "[✅✓✔☑]\ufe0f?", "[❌✗✘✖☐]\ufe0f?"
_MARK_BEHIND = re.compile(
    rf"(?<!\w)(?:{_TYPES})(?!\w)(?:{_CALLED_AFTER})?(?:{_SEPARATES}(?:(?P<yes>{_YES_WORD})|(?P<no>{_NO_WORD}))"
    rf"|[\s\"'`*_:=|(–—-]{{0,6}}(?:(?P<check>{_CHECK})|(?P<cross>{_CROSS})))"
)
_MARK_BEFORE = re.compile(
    rf"(?:(?P<check>{_CHECK}|\[[x✓✔]\])|(?P<cross>{_CROSS}"
    rf"|\[\s?\]))[\s\"'`*_]{{0,4}}(?:{_TYPES})(?!\w)(?:{_CALLED_AFTER})?"
)


# "Did the relation change? Yes." In a question "cümlenin" may be said of the type.
_ANSWERED = re.compile(rf"\?[\s\"'`*_|-]{{0,6}}(?:(?P<yes>{_YES_WORD})|(?P<no>{_NO_WORD}))")
_BOUNDARY = re.compile(r"[.!?;\n]")
_LONGEST_QUESTION = 120
_ASKED = {
    kind: re.compile(rf"(?<!\w)(?:{_NAMES[kind]}{more})(?!\w)")
    for kind, more in ((ENTITY, ""), (RELATION, ""), (SENTENCE, rf"|{fold('cümle')}\w*"))
}


class _Mark(NamedTuple):
    kind: str
    yes: bool
    start: int
    end: int


def _asked(text: str) -> Iterator[_Mark]:
    """The questions about one type that are answered by yes or no."""
    start = 0
    for found in _ANSWERED.finditer(text):
        question = _BOUNDARY.split(text[max(start, found.start() - _LONGEST_QUESTION) : found.start()])[-1]
        kinds = {kind for kind, words in _ASKED.items() if words.search(question)}
        if len(kinds) > 1:
            kinds.discard(SENTENCE)
        start = found.end()
        if len(kinds) == 1:
            yield _Mark(kinds.pop(), found["yes"] is not None, found.start() - len(question), start)


_GLOSS = re.compile(rf"\s?\(\s?[\"'`*]{{0,3}}(?:{_TYPES})(?:{_CALLED_AFTER})?[\"'`*]{{0,3}}\s?\)")
_ENDS_IN = {
    kind: re.compile(rf"(?<!\w)(?:{_NAMES[kind]})(?:{_CALLED_AFTER})?[\"'`*]{{0,3}}\Z")
    for kind in (ENTITY, RELATION, SENTENCE)
}
_CHINESE = re.compile(
    rf"(?:(?:错误|幻觉)?(?:类型|答案)(?:是|为|[:：])+)?\W{{0,6}}(?:(?P<{ENTITY}>实体)|(?P<{RELATION}>关系)|(?P<{SENTENCE}>句子?))"
    r"(?:级别?|层面)?的?(?:错误|幻觉)?\W{0,6}"
)
_WORD = re.compile(r"\w")

_ONE_TYPE = re.compile(rf"(?<!\w)(?:{_TYPES})(?!\w)")


def _with_verdict(text: str) -> str:
    """The text with a list that says yes or no of each type turned into the verdict that the list gives."""
    behind, before = [*_MARK_BEHIND.finditer(text)], [*_MARK_BEFORE.finditer(text)]
    marks = before if before and (not behind or before[0].start() < behind[0].start()) else behind
    asked = [*_asked(text)]
    # A question about one type alone may be about the sentence that is judged.
    if len({mark.kind for mark in asked}) > 1:
        found = asked
    else:
        found = [
            _Mark(_marked(mark), bool(mark["check"] or mark.groupdict().get("yes")), mark.start(), mark.end())
            for mark in marks
        ]
    if not found:
        return text
    said = {mark.kind: mark.yes for mark in found}
    kinds = [kind for kind, yes in said.items() if yes]
    verdict = ", ".join(kinds) or (NONE if len(said) == 3 else "")
    starts, ends = [0, *(mark.end for mark in found)], [*(mark.start for mark in found), len(text)]
    parts = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    return "\n".join(parts[:-1]) + (f"\nverdict: {verdict}\n" if verdict else "\n") + parts[-1]


def _marked(mark: re.Match[str]) -> str:
    return next(kind for kind in (ENTITY, RELATION, SENTENCE) if mark[kind])


# --- a type by its place in the list -------------------------------------------------------------------

_PLACES = (  # in English, Arabic, Turkish and Hindi
    (0, "first", "أول أولى", "birinci ilk", "पहला पहली पहले प्रथम"),
    (1, "second", "ثاني ثانية", "ikinci", "दूसरा दूसरी दूसरे द्वितीय"),
    (2, "third", "ثالث ثالثة", "üçüncü", "तीसरा तीसरी तीसरे तृतीय"),
    (-1, "last", "أخير أخيرة", "sonuncu son", "आखिरी अंतिम"),
)
_OPTION_EN = any_of("one option choice type class category label alternative kind")
_OPTION_AR = spelled("الخيار الخيارات النوع الصنف الفئة البديل الاحتمال أختار اخترت اختياري")
_OPTION_TR = rf"{fold('s')}[iu]n?\w{{0,4}}|\s(?:{spelled('seçenek seçeneğ şık sınıf kategori')}|{fold('tür')}(?!k))\w*"
_OPTION_HI = spelled("विकल्प प्रकार वर्ग श्रेणी वाला वाली")
_ORDINALS = [
    (
        place,
        re.compile(
            rf"(?<!\w)(?:{english} {_OPTION_EN}\b|the {english}(?=\W*\Z)"
            rf"|{_OPTION_AR}(?: {fold('هو')})? {fold('ال')}{spelled(arabic)}(?!\w)"
            rf"|{spelled(turkish)}(?:{_OPTION_TR})(?!\w)"
            rf"|{spelled(hindi)} {_OPTION_HI}(?!\w)|{fold('में से')} {spelled(hindi)}(?!\w))"
        ),
    )
    for place, english, arabic, turkish, hindi in _PLACES
]


# In "the second one" of a reply that speaks of a second sentence it is the sentence.
_COUNTED_SENTENCE = re.compile(
    rf"\b(?:first|second) (?:\w+ )?sentence|{fold('الجملة')} {spelled('الأولى الثانية')}"
    rf"|{spelled('birinci ilk ikinci')} {fold('cümle')}|{spelled('पहला पहले दूसरा दूसरे')} {fold('वाक्य')}"
)


# --- reading -------------------------------------------------------------------------------------------


def error_type(reply: str) -> Answer[str]:
    """The type of error that the reply names: one of `TYPES`, or unparsed."""
    return read_reply(reply, _read, _rewritten)


def _rewritten(text: str) -> str:
    if chinese := _CHINESE.fullmatch(text):
        return next(kind for kind in (ENTITY, RELATION, SENTENCE) if chinese[kind])
    return _with_verdict(_GLOSS.sub(_without_gloss, _TAG.sub(r" \1\2 ", fold(text))))


def _without_gloss(found: re.Match[str]) -> str:
    """Nothing in place of a word in parentheses that repeats the type before it: "العلاقة (Relation)"."""
    before = found.string[max(found.start() - 40, 0) : found.start()]
    return "" if _ENDS_IN[_marked(found)].search(before) else found[0]


def _read(sentences: list[str]) -> Answer[str]:
    # sentences of marks alone state nothing, and a reply may be full of them
    sentences = list(filter(_WORD.search, sentences))
    if not sentences:
        return Answer(None, "no verdict")
    kept = without_declining(sentences)
    found = _stated(without_concessions(kept, _says, _decides, _DECIDED)) if kept else Answer[str](None)
    if found.value is None and (counted := _counted(kept)):
        return Answer(counted, inferred=True)
    if found.value is None and kept != sentences:
        return Answer(None, "declines", abstained=True)
    return found


def _stated(sentences: list[str]) -> Answer[str]:
    declared = last_declared(sentences, {_DECLARES: _introduced}, _Lines(sentences).alone)
    if declared:
        return _answer({declared[1]})
    found = _answer(_inferred(joined(sentences)))
    return found._replace(inferred=found.value is not None)


def _inferred(sentences: list[str]) -> set[str]:
    """The types that the last concluding sentence names, or that are called right, or errors, or named at all."""
    told = [sentence for sentence in sentences if sentence[-1] != "?"]
    if any(map(_says, told)):
        sentences = told
    for sentence in reversed(sentences):
        if _CONCLUDES.match(sentence) and (kinds := {kind for kind, _ in _named(sentence)}):
            return kinds
        hence = _HENCE.split(sentence)[-1]
        if hence != sentence and len(kinds := {kind for kind, _ in _named(hence)}) == 1:
            return kinds
    named = [pair for sentence in sentences for pair in _named(sentence)]
    if right := {kind for sentence in sentences for kind in _best(sentence)}:
        return right
    errors = {kind for kind, called in named if called}
    # "there is no error" may be said of a part
    return errors - {NONE} or errors or {kind for kind, _ in named}


def _counted(sentences: list[str]) -> str | None:
    """The type that the reply names by its place in the list: "the second option"."""
    if any(map(_COUNTED_SENTENCE.search, sentences)):
        return None
    for sentence in reversed(sentences):
        places = {place for place, words in _ORDINALS for found in words.finditer(sentence) if not _denied(found)}
        if places:
            break
    else:
        return None
    listed: list[str] = []
    for sentence in sentences:
        for found in _ONE_TYPE.finditer(sentence):
            kind = _marked(found)
            if kind not in listed and not (kind == SENTENCE and _DESCRIBED.match(sentence, found.end())):
                listed.append(kind)
    if len(listed) < 2:
        listed = [ENTITY, RELATION, SENTENCE]  # as the question lists them
    place = places.pop()
    return listed[place] if not places and place < len(listed) else None


def _denied(found: re.Match[str]) -> bool:
    before = found.string[max(found.start() - 30, 0) : found.start()]
    return bool(_NEGATED.search(before) or _NEGATED_AFTER.match(found.string, found.end()))


def _says(text: str) -> bool:
    return any(True for _ in _named(text))


def _decides(text: str) -> bool:
    return any(called for _, called in _named(text)) or any(True for _ in _best(text)) or _introduced(text) is not None


def _best(sentence: str) -> Iterator[str]:
    """The types that the sentence calls the right choice."""
    for found in matches(_TYPE, sentence):
        if not found[NONE] and _stands(found) and _CHOSEN.match(sentence, found.end()):
            yield _kind(found)


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
        if not found or text.endswith("?") or not _EXPLAINED.fullmatch(text, found.end()):
            return None
        return _introduced(text)


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start


_KEY = re.compile(r"\s?[:=]\s?(?!\W*(?:yes|no)\b)\w")


def _introduced(text: str) -> str | None:
    """The type that the text begins with, `_SEVERAL` for a list of them, or None."""
    start = _end(_FILLER, text, 0)
    found = _TYPE.match(text, start)
    if found is None or not _stands(found, introduced=True):
        return None
    kind = _kind(found)
    following = _TYPE.match(text, _end(_AND, text, found.end()))
    if following and _KEY.match(text, following.end()):  # "label: relation, entity: Paris"
        return kind
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
    if _SEVERAL_ENTITIES.match(found[0]) and (_BETWEEN.search(before) or _BETWEEN_AFTER.match(text, found.end())):
        return False
    if not found[SENTENCE] or found["after"]:
        return True
    if found["before"]:
        return not _WHICH.match(text, found.end())
    return not _DESCRIBED.match(text, found.end()) and bool(introduced or not _DETERMINED.search(before))


_ANY_NAME = re.compile("|".join(_NAMES.values()))


def _named(sentence: str) -> Iterator[tuple[str, bool]]:
    """The types that the sentence names, the last one first, and whether each is called an error."""
    if not _ANY_NAME.search(sentence):  # the whole expression takes ten times as long
        return
    found = [*matches(_TYPE, sentence)]
    called = [bool(one["before"] or one["after"] or one[NONE]) for one in found]
    joined_by = [
        sentence[one.end() : other.start()] if _AND.fullmatch(sentence, one.end(), other.start()) else None
        for one, other in pairwise(found)
    ]
    # in "an entity or relation error" both are called so, and in "an entity error or a relation"
    for at in reversed(range(len(joined_by))):
        called[at] = called[at] or (joined_by[at] is not None and called[at + 1])
    for at, by in enumerate(joined_by):
        called[at + 1] = called[at + 1] or (by is not None and called[at] and _OR.search(by) is not None)
    denied = _denied_together(found, joined_by)
    for one, so, no in zip(reversed(found), reversed(called), reversed(denied), strict=True):
        if not no and _stands(one):
            yield _kind(one), so


def _denied_together(found: list[re.Match[str]], joined_by: list[str | None]) -> list[bool]:
    """Whether each match is denied with one that it is joined to: "not an entity or a relation", and in Turkish and
    Hindi, where the denial stands behind the last, all that are joined to it."""
    denied = [bool(_NEGATED.search(one.string, max(one.start() - 30, 0), one.start())) for one in found]
    for at, by in enumerate(joined_by):
        denied[at + 1] = denied[at + 1] or (denied[at] and by is not None and _OR.search(by) is not None)
    behind = [bool(_NEGATED_AFTER.match(one.string, one.end())) for one in found]
    for at in reversed(range(len(joined_by))):
        by = joined_by[at]
        behind[at] = behind[at] or (behind[at + 1] and by is not None and re.search(r"\w", by) is not None)
    return [not one[NONE] and (before or after) for one, before, after in zip(found, denied, behind, strict=True)]
