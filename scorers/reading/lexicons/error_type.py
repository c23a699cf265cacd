"""Patterns of the types of errors that a reply names, in English, Arabic, Turkish and Hindi."""

from __future__ import annotations

import re

from halu_tasks.scorers.reading.lexicons import languages
from halu_tasks.scorers.reading.lexicons.languages import ANSWER
from halu_tasks.scorers.reading.patterns import folded, folded_pattern, pattern
from halu_tasks.text.folding import any_of, fold, spelled

ENTITY, RELATION, SENTENCE, NONE = TYPES = ("entity", "relation", "sentence", "none")

TAG = pattern(r"</?((?:entity|relation|sentence))[\w ]{0,20}>|\b(entity|relation|sentence)_")

# --- names of the types -------------------------------------------------------------------------------

ERROR_HI = spelled("""
    त्रुटि त्रुटियाँ त्रुटियों गलती गलतियाँ भूल मतिभ्रम मतिविभ्रम विभ्रम हैलुसिनेशन हैल्यूसिनेशन हैलूसिनेशन हेलुसिनेशन
    हैलुसिनेशंस एरर
""")
# Arabic writes its article and short words together with the next word.
JOINED = r"(?:[وفبكل]{0,2}(?:ال|لل?)?)"
NAMES = {
    ENTITY: rf"entit(?:y|ies)|antite|entite|entidad|entidade|entita|entitat"
    rf"|{fold('varlık')}\w{{0,12}}|{fold('varlığ')}\w{{1,8}}"
    rf"|{JOINED}{spelled('كيان كيانات كياني كيانية كينونة')}"
    rf"|{spelled('इकाई इकाइयाँ इकाइयों सत्ता सत्ताएँ सत्ताओं एंटिटी एंटीटी ऐंटिटी ऐंटीटी')}",
    RELATION: rf"relation(?:s|al|ships?)?|relacion|relacao|relazione|beziehung|{fold('ilişki')}(?!n\b|len)\w{{0,8}}"
    rf"|{fold('ilişkilendirme')}(?= {fold('hata')})|{fold('bağıntı')}\w{{0,4}}"
    rf"|{JOINED}{spelled('علاقة علاقات علائقي علائقية علاقي علاقية')}"
    rf"|{spelled('संबंध संबंधों संबंधात्मक संबंधपरक रिश्ता रिश्ते रिश्तों रिलेशन रिलेशनल रिलेशनशिप')}",
    SENTENCE: rf"sentences?|satz|oracion|(?<=erreur : )phrase|(?<=erreur de )phrase"
    rf"|{spelled('cümle cümledir cümlesel tümce tümcedir tümcesel')}"
    rf"|{spelled('cümleyle cümleye tümceyle tümceye')}(?= {spelled('ilgili ilişkin ait')})"
    rf"|{JOINED}{spelled('جملة جمل جملي')}"
    rf"|{spelled('वाक्य वाक्यों वाक्यगत वाक्यस्तरीय सेंटेंस सेन्टेन्स सेंटेन्स सेंटेंसेस')}",
    NONE: r"none|no (?:such |factual |real |actual )?(?:errors?|hallucinations?)|error-free|zero"
    rf"|{spelled('sıfır hiçbiri hatasız')}"
    rf"|{fold('hata yok')}\w*|(?<![\w.,])[0٠۰०](?![\w]|[.,]\d)"
    rf"|(?:{spelled('لا بلا بدون')} (?:{spelled('يوجد توجد')} )?(?:{spelled('أي')} )?"
    rf"{spelled('خطأ أخطاء هلوسة شيء')})"
    # "no error of the entity" is about one type only
    rf"(?!\s(?:في )?{JOINED}{spelled('كيان علاقة')})"
    rf"|{fold('कोई')} (?:{fold('भी')} )?(?:{ERROR_HI} )?{spelled('नहीं नही')}|{spelled('शून्य त्रुटिहीन')}",
}
NAME = "|".join(f"(?P<{kind}>{words})" for kind, words in NAMES.items())
CALLED_BEFORE = folded(rf"""
    (?:{JOINED}(?:خطأ|أخطاء|هلوسة|هلوسات|غلط|نوع|فئة|مستوى)\s(?:(?:في|على|من|نوع|مستوى|فئة|يخص|تخص|يتعلق|متعلق|مرتبط|يمس
    |:)\s?){{0,4}}|\b(?:error|hallucination|mistake)s? (?:of|at) (?:the )?(?:type |class |category )?)
""")
LEVEL_TR = folded(r"(?:düzey|seviye|baz|tür|sınıf|kategori)\w*|(?:ile )?(?:ilgili|ilişkin|ait)")
CALLED_AFTER = folded(rf"""
    (?:[\s-]?(?:level|based|related|type))?[\s-]?(?:(?:errors?|hallucinations?|mistakes?|changes?|swaps?|problems?
    |issues?|level|type|class|category|label|option)\b|(?:(?:{LEVEL_TR}) )?(?:bir )?(?:hata|halüsinasyon|yanlışı
    |yanlışlığ)\w*|{LEVEL_TR}|seçeneğ\w*)|[\s-](?:(?:के )?(?:स्तर|स्तरीय|लेवल|संबंधी|आधारित|श्रेणी|वर्ग) |से (?:संबंधित
    |जुड़ी|जुड़ा) )?(?:(?:की|का|के|में|पर) ){{0,2}}(?:एक )?{ERROR_HI}|[\s-](?:(?:की|के) )?(?:स्तर|लेवल|श्रेणी
    |वर्ग)(?!\w)
""")
TYPE = pattern(rf"(?P<before>{CALLED_BEFORE})?(?<![\w])(?:{NAME})(?!\w)(?P<after>{CALLED_AFTER})?")
# Words after a type that call it the right choice. That a relation "is correct" only means that it was not changed.
CHOICE = folded(r"""
    [,:]?(?: (?:is|are|seem|seems|would|be|to|appears|looks|feels|remains|هو|هي|ही|olarak)){0,3}(?:(?:\s(?:(?:the|a|more
    |most|much|far|clearly|still)\s)+(?:best|better|closest|right|correct|appropriate|accurate|fitting|suitable|apt
    |likely|precise|stronger|strongest)\b|\s(?:(?:clearly|really|still)\s)?(?:best|better|closest|fits?|suits?|applies
    |wins)\b)| (?:الأنسب|الأدق|الأصح|الأقرب|الأفضل|الأرجح|الصحيح|الصحيحة|أنسب|أدق|أصح|أقرب|أفضل|أرجح)(?!\w)
    | (?:daha|en) (?:uygun|doğru|iyi|isabetli|yerinde|yakın|mantıklı)\w*|(?: (?:demek|denmesi))? uygundur
    | seç(?:iyor|er|ti|il|mek)\w*| (?:diyorum|derim|derdim)|(?: को)? चुन\w*|(?: (?:सबसे|अधिक|ज़्यादा|ज्यादा))? (?:बेहतर
    |उपयुक्त|उचित|सटीक)(?!\w)| (?:सबसे|अधिक|ज़्यादा|ज्यादा) सही(?!\w)| (?:बच|शेष)\w*| kal(?:iyor|ir|di|mis)(?!\w))
""")
CHOSEN = pattern(rf"{CHOICE}")
# Words before "sentence" that show that a sentence of the text is meant, not the type.
DETERMINED = folded_pattern(r"""
    (?:the|this|that|these|those|each|both|whole|entire|edited|original|modified|given|first|second|new|altered|changed
    |rewritten|in|of|a|every|one|same) \Z|(?:bu|düzenlenmiş|düzenlenen|orijinal|özgün|asıl|ilk|ikinci|verilen
    |değiştirilmiş|her|tüm|bütün|iki|bir) \Z|(?:यह|इस|उस|इन|ये|वह|संपादित|मूल|दिया|दिए|गए|गया|हुआ|हुए|बदला|बदले|पहला
    |पहले|दूसरा|दूसरे|पूरा|पूरे|नया|नए|हर|दोनों|एक) \Z
""")
WHICH = re.compile(f" {spelled('المعدلة المحررة الأصلية الثانية الأولى الجديدة التي')}")
DESCRIBED = folded_pattern(rf"""
    ['’]\w|(?!{CHOICE})(?! (?:كلها|بأكملها|برمتها|ككل)\W*(?:\Z|[.,;])) (?!(?:because|since|as|for|لأن|لأنه|لأنها|حيث|إذ
    |çünkü|क्योंकि|चूँकि|है)\b)\w
""")
NEGATED = folded_pattern(r"""
    (?:\b(?:not|no|never|nor|neither|without|rather than|instead of|rul(?:e|ed|es|ing) out|exclud(?:e|ed|es|ing)
    |eliminat(?:e|ed|es|ing)|discard(?:ed|ing)?)|n't) (?:(?:a|an|the|any|in|of|just|only|really|both|under|as) )*\Z
    |\b(?:ليس|ليست|وليس|وليست|لا|ولا|لم|غير) (?:(?:هناك|يوجد|هو|هي|من|في|مجرد|أراه|أظنه|أعتبره|أعده|يعد|يعتبر|ضمن|تحت
    |على|إطار|نطاق|باب) )*\Z|\bلم (?:يتغير|تتغير|يتبدل|تتبدل) \Z|\bne (?:de )?\Z|\bبدلا من \Z
    |\bन (?:तो|ही|कि) (?:(?:यह|एक) )*\Z
""")
RATHER_TR = rf" {fold('ziyade')}|(?<=[td][ae]n) {fold('çok')}(?!\w)|(?<=lar) {fold('doğru')}(?!\w)"
NEGATED_AFTER = folded_pattern(rf"""
    # "the entities (Rome, Paris) are unchanged"
    (?:\s?\([^()]{{0,60}}\))?(?:\W{{0,2}}(?:değil|olmayan|olmadığ|yerine|yok|bulunm|नहीं|नही)\w*
    |(?: (?:में|की|का|के|से|अंतर्गत)){{1,2}} (?:नहीं|नही)(?!\w)
    # unchanged
    |,? (?:(?:is|are|was|were|has|have|remains?|stays?|stayed|itself
    |both) ){{0,2}}(?:also |still |completely |exactly )?(?:unchanged|the same|same|intact|untouched|fine|kept|retained
    |maintained|preserved|unaffected|identical|correct|isn't|hasn't)\b
    # "not changed"; in "relation, not entity", the type after "not" is negated
    |(?: (?:is|are|was|were|has|have|does|did))? (?:not|\w+n't) (?:\w+ )?(?:been )?(?:chang|alter|modif|affect|involv
    |relevant|applic|apply|the (?:issue|error|problem|right|best|correct))\w*|,? (?:is|are|was|were|has|have|does
    |did) not\b|(?: \w+)? (?:aynı|değişme|değişmemiş|korun)\w*|(?: भी)? (?:वही|समान)(?!\w)
    | [وف]?(?:لم|لا) (?:يتغير|تتغير|يتأثر|تتأثر|يتبدل|تتبدل)| (?:كما|نفسه|نفسها|سليم|سليمة)(?!\w)|{RATHER_TR})
""")
# A relation is between entities, which are then not named as the type.
BETWEEN = pattern(r"(?:\bbetween (?:(?:the|these|two|both|its|different) )*|بين (?:هذه |هذين )?)\Z")
SEVERAL_ENTITIES = folded_pattern(rf"entities|{JOINED}كيانات|varlıklar|इकाइयों")
BETWEEN_AFTER = folded_pattern(r"(?: ile \w+)? aras\w*|(?: के)? बीच(?!\w)")
AND = folded_pattern(r"""
    (?:[^\w]|\b(?:or|and|nor|a|an|the|perhaps|maybe|possibly|veya|ya|da|ve|ile|ne|hem|belki)\b
    |\b(?:أو|و|أم|في|من|ضمن|ربما|إما|या|अथवा|और|तथा|एवं|व|शायद)\b)*
""")
OR = folded_pattern(r"\b(?:or|nor|veya|أو|أم|या|अथवा)\b|\bya da\b")
FILLER = folded_pattern(r"""
    (?:[^\w]|\b(?:is|are|was|be|would|should|must|will|a|an|the|most|best|likely|clearly|definitely|probably|of|type
    |types|in|as|to|that|this|it|its|class|category|error|errors|hallucination|label|described|following|falls|under
    |into|belongs|classified|considered|called|simply|therefore|thus|answer|final|verdict|mainly|primarily|s|m|i|say
    |here|edited|only|just|us|me|with|behind|option|choice|سوى|إلا|فقط|لنا|خيار|الخيار|احتمال|هو|هي|من|نوع|أنه|انها|في
    |على|مستوى|إلى|فئة|هنا|أن|تكون|يكون|تحت|ضمن|النهائي|النهائية|الصحيح|الصحيحة|yalnızca|sadece|tek|seçenek|bir|bu
    |olarak|şu|şudur|en|uygun|de|da|ise|olan|göre|यह|एक|है|हैं|का|की|के|में|से|अंतिम|सही|सबसे|उपयुक्त|स्पष्ट|रूप|होगा
    |होगी|केवल)\b)*
""")

# --- words that declare a type ------------------------------------------------------------------------

DECLARES = folded_pattern(rf"""
    {ANSWER}|\b(?:error|hallucination) ?(?:type|class|category)\b|\b(?:type|class|category|kind) of (?:the )?(?:error
    |hallucination|issue)\b|^(?:the )?(?:correct |best |right )?(?:type|class|category|error)\s?[:=]
    |\b(?:this|it|that|which|error|issue|edit|change|problem|hallucination|type|class|category|answer)(?: here)? (?:is
    |was|would be|must be|remains|represents|constitutes|falls (?:under|into)|belongs to)\b|\b(?:it|this|that)'s\b
    |\b(?:classif|categori[sz]|describ|label|class)\w*(?: it| this| the \w+| best)? as\b
    |\b(?:choose|pick|select|go with|choice is|fits|opt for)\b
    # the type that is left if the others are ruled out
    |\b(?:leav(?:es?|ing)|left with|(?:what|all that) (?:is left|remains)(?: is)?|remaining \w+ is)\b
    |\b(?:يبقى|تبقى|يتبقى|تتبقى|بقي|geriye)\b
    # what the author of the reply calls his own or chooses: "my pick: entity"
    |\bmy \w+\s?[:=]|\b(?:selected|chosen|selection|choice)\s?[:=]|\b(?:मेरा|मेरी|मेरे) \w+(?: है)?\s?[:=]
    |\bचुन\w* (?:हूँ|है|हैं)\s?[:=]|\b\w{{2,12}}[iu]m\s?[:=]|\b(?:قراري|رأيي|خياري|حكمي)\b
    # a correction
    |^(?:or )?(?:rather|no|wait|actually|sorry|correction)\b[,:]|^(?:تصحيح|عفوا|استدراك|أصحح|للتصحيح|düzeltme
    |düzeltiyorum|pardon|सुधार|संशोधन)\b\s?[,:]|\b(?:التصنيف|النوع|الفئة|الصنف|نوعه|نوعها)\b
    |\b(?:(?:نوع|تصنيف|فئة) (?:الخطأ|الهلوسة|خطأ|التعديل)|الخطأ هو|الخطأ هنا)
    |^(?:الخطأ|خطأ|الهلوسة|المشكلة|التغيير)\s?[:=]|^(?:त्रुटि|गलती|मतिभ्रम)\s?[:=]|\b(?:يتعلق|تتعلق|متعلق|متعلقة|يكمن
    |تكمن|يقع|تقع|يخص)\b|(?<!ليس )\b(?:الخطأ|المشكلة|التغيير) في\b|\b(?:error|issue|change|problem|hallucination
    |mistake) (?:concerns|affects|lies in|relates to|is about|has to do with)\b|\b(?:makes|making) (?:it|this)\b
    |\b(?:best|closest|better|right|correct) (?:fit|match|choice|option|description) is\b
    |\b(?:الأنسب|الأدق|الأصح|الأقرب|الأفضل|الأرجح)\b|\ben (?:uygun|doğru|isabetli|yakın)\w*
    |\bwhat(?:'s| is| was| has)? (?:been |really |actually )?(?:changed|changes|altered|wrong|different)(?: here)? (?:is
    |was)\b|\b(?:yanlış|hatalı|değişmiş) olan\b|\b(?:değişen|değiştirilen)(?: (?:şey|öge|öğe|unsur))?\b
    |\b(?:المتغير|المتبدل|ما (?:تغير|تبدل))(?: هنا)? (?:هو|هي)\b|\b(?:هذا|هذه|أختار|اخترت|اختياري|يصنف|تصنف|يعد|يعتبر
    |ينتمي)\b|\b(?:sınıflandırma|etiket|seçimim|bu|(?:(?:hata|hatanın|halüsinasyon|halüsinasyonun|doğru) )?(?:türü|tipi
    |sınıfı|kategorisi|tür)|^(?:sınıf|kategori|tür|hata)\s?[:=])(?!\w)
    |\b(?:वर्गीकरण|श्रेणी|वर्ग|लेबल|यह|(?<!इस )प्रकार)\b
""")
DECIDED = folded_pattern(rf"{ANSWER}|\banswer\s?[:=]|\bالتصنيف\b")
HENCE = pattern(rf", (?:and )?{languages.HENCE}")
EXPLAINED = folded_pattern(r"\W*\Z|\s?[:,(–—-].*|,? (?:because|since|as|for|क्योंकि|चूँकि)\b.*")

# --- a yes or no for each type ------------------------------------------------------------------------

EACH_TYPE = "|".join(f"(?P<{kind}>{NAMES[kind]})" for kind in (ENTITY, RELATION, SENTENCE))
ANY_TYPE = "|".join(NAMES[kind] for kind in (ENTITY, RELATION, SENTENCE))
SEPARATES = folded(r"""
    (?:\s(?:mi|mu|है))?[\"'`*_\]]{0,4}\s{0,3}(?:[:=?|(–—-]|->|→)[\s\"'`*_(\[|-]{0,6}
""")
YES_WORD = folded(r"(?:yes|true|evet|var|1|present|نعم|صح|صحيح|हाँ)(?![\w.,]\w|\w)")
NO_WORD = folded(rf"""
    (?:(?:no|false)(?!\w)(?![^\S\n]+(?!(?:{ANY_TYPE}){SEPARATES}|changes?\b|errors?\b|issues?\b|modif|differ
    |problems?\b)\w)|not (?:changed|affected|applicable|present|altered|modified|relevant)|unchanged|n/a
    |0(?![\w.,]\w|\w)|(?:hayır|yok|لا)(?!\w)|(?:नहीं|नही)(?!\w))
""")
CHECK, CROSS = "[✅✓✔☑]\ufe0f?", "[❌✗✘✖☐]\ufe0f?"
MARK_BEHIND = pattern(rf"""
    (?<!\w)(?:{EACH_TYPE})(?!\w)(?:{CALLED_AFTER})?(?:{SEPARATES}(?:(?P<yes>{YES_WORD})|(?P<no>{NO_WORD}))
    |[\s\"'`*_:=|(–—-]{{0,6}}(?:(?P<check>{CHECK})|(?P<cross>{CROSS})))
""")
MARK_BEFORE = pattern(rf"""
    (?:(?P<check>{CHECK}|\[[x✓✔]\])|(?P<cross>{CROSS}|\[\s?\]))[\s\"'`*_]{{0,4}}(?:{EACH_TYPE})(?!\w)(?:{CALLED_AFTER})?
""")
# "Did the relation change? Yes." In a question, "cümlenin" may refer to the type.
ANSWERED = pattern(rf"""
    \?[\s\"'`*_|-]{{0,6}}(?:(?P<yes>{YES_WORD})|(?P<no>{NO_WORD}))
""")
BOUNDARY = pattern(r"[.!?;\n]")
ASKED = {
    kind: re.compile(rf"(?<!\w)(?:{NAMES[kind]}{more})(?!\w)")
    for kind, more in ((ENTITY, ""), (RELATION, ""), (SENTENCE, rf"|{fold('cümle')}\w*"))
}
GLOSS = pattern(rf"""
    \s?\(\s?[\"'`*]{{0,3}}(?:{EACH_TYPE})(?:{CALLED_AFTER})?[\"'`*]{{0,3}}\s?\)
""")
ENDS_IN = {
    kind: re.compile(rf"(?<!\w)(?:{NAMES[kind]})(?:{CALLED_AFTER})?[\"'`*]{{0,3}}\Z")
    for kind in (ENTITY, RELATION, SENTENCE)
}
CHINESE = pattern(rf"""
    (?:(?:错误|幻觉)?(?:类型|答案)(?:是|为|[:：])+)?\W{{0,6}}(?:(?P<{ENTITY}>实体)|(?P<{RELATION}>关系)
    |(?P<{SENTENCE}>句子?))(?:级别?|层面)?的?(?:错误|幻觉)?\W{{0,6}}
""")
WORD = pattern(r"\w")
ONE_TYPE = pattern(rf"(?<!\w)(?:{EACH_TYPE})(?!\w)")

# --- a type by its place in the list ------------------------------------------------------------------

PLACES = (  # in English, Arabic, Turkish and Hindi
    (0, "first", "أول أولى", "birinci ilk", "पहला पहली पहले प्रथम"),
    (1, "second", "ثاني ثانية", "ikinci", "दूसरा दूसरी दूसरे द्वितीय"),
    (2, "third", "ثالث ثالثة", "üçüncü", "तीसरा तीसरी तीसरे तृतीय"),
    (-1, "last", "أخير أخيرة", "sonuncu son", "आखिरी अंतिम"),
)
OPTION_EN = any_of("one option choice type class category label alternative kind")
OPTION_AR = spelled("الخيار الخيارات النوع الصنف الفئة البديل الاحتمال أختار اخترت اختياري")
OPTION_TR = folded(r"s[iu]n?\w{0,4}|\s(?:seçenek|seçeneğ|şık|sınıf|kategori|tür(?!k))\w*")
OPTION_HI = spelled("विकल्प प्रकार वर्ग श्रेणी वाला वाली")
ORDINALS = [
    (
        place,
        re.compile(
            rf"(?<!\w)(?:{english} {OPTION_EN}\b|the {english}(?=\W*\Z)"
            rf"|{OPTION_AR}(?: {fold('هو')})? {fold('ال')}{spelled(arabic)}(?!\w)"
            rf"|{spelled(turkish)}(?:{OPTION_TR})(?!\w)"
            rf"|{spelled(hindi)} {OPTION_HI}(?!\w)|{fold('में से')} {spelled(hindi)}(?!\w))"
        ),
    )
    for place, english, arabic, turkish, hindi in PLACES
]
# If the reply mentions a second sentence, "the second one" may refer to that sentence.
COUNTED_SENTENCE = folded_pattern(r"""
    \b(?:first|second) (?:\w+ )?sentence|الجملة (?:الأولى|الثانية)|(?:birinci|ilk|ikinci) cümle
    |(?:पहला|पहले|दूसरा|दूसरे) वाक्य
""")
KEY = pattern(r"\s?[:=]\s?(?!\W*(?:yes|no)\b)\w")
ANY_NAME = pattern(rf"{'|'.join(NAMES.values())}")
