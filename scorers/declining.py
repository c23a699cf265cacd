"""Whether a reply declines to answer, in English, Chinese, Arabic, Turkish or Hindi.

A clause declines that says of the one who answers, of the verdict or of what is judged that no decision can be
made: "I cannot determine whether the answer is correct", "its accuracy cannot be verified", "there is not enough
information", "I don't know", 无法判断该回答是否正确, "bir karar veremiyorum". What is said of the subject matter
does not decline: "scientists do not know why", "the exact date cannot be determined".

A clause that declines takes back nothing and states nothing: "I cannot be sure, but the answer is True" is an
answer. Readers therefore drop such clauses (`stated`), read what is left, and ask `declines` where nothing is left
that can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from halu_tasks.scorers.folding import fold
from halu_tasks.scorers.verdict_text import any_of, sentences_of

# --- English ------------------------------------------------------------------------------------------

_ADVERBS = (
    r"(?:(?:reliably|definitively|definitely|conclusively|accurately|fully|really|honestly|truly|currently|simply|just"
    r"|confidently|independently|objectively|properly|possibly|therefore|thus|also|still|yet|at all|either|quite|all"
    r"|that|entirely|completely|absolutely|very|say for (?:sure|certain)|with (?:any |full |complete )?(?:certainty"
    r"|confidence))\s+){0,3}"
)
_NOT = r"(?:\bnot|n't)"
_CANNOT = (
    rf"(?:\bcan(?:'t|not| not)|\bcould(?:n't| not)|\bunable to|{_NOT} able to|\bincapable of|{_NOT} in a position to"
    r"|\bimpossible (?:for (?:me|us|anyone) )?to"
    rf"|{_NOT} possible (?:for me )?to|\b(?:hard|difficult|tough) (?:for me )?to|\b(?:fail|failed) to)"
)
_WILL_NOT = (
    r"(?:\bwon't|\bwill not|\brefuse to|\bdecline to|\brefrain from|\babstain from|\bprefer not to|\brather not"
    rf"|\bam going to abstain|{_NOT} (?:going|willing|comfortable) (?:to )?)"
)
_DECIDE = (
    r"(?:determin|tell|say|judg|decid|assess|evaluat|verify|verif|confirm|conclud|establish|ascertain|gaug|know"
    r"|discern|distinguish|rul|commit|choos|pick|select|classif|rat|label|answer|respond|comment|comply|help|assist"
    r"|fact-check|check|identif|find out|make a|reach a|come to a|arrive at a|form a|give|provid|offer|render|state"
    r"|draw a|be (?:\w+ )?(?:sure|certain|confident|definitive))\w*"
)
# What is decided: the verdict, or what it is on.
_JUDGED = any_of("answers? responses? claims? statements? sentences? text summary passage explanation question it this")
_OBJECT = (
    r"(?:\b(?:whether|if|which|what|who|how|either way|one way|between|verdict|judge?ment|decision|choice|conclusion"
    r"|determination|winner|assessment|evaluation|label|rating|accuracy|correctness|truth(?:fulness)?|factuality"
    r"|factual|veracity|validity|reliability|faithfulness|hallucinat\w*|true|false|correct|accurate|sure|certain"
    rf"|{_JUDGED}|that|you|here)\b|\W*\Z)"
)
_UNSURE = any_of("unsure uncertain undecided unclear unknown inconclusive undetermined indeterminate unverifiable")
_INFORMATION = any_of("information info context evidence knowledge data background expertise basis means")
_VERDICT = (
    r"(?:\b(?:it|this|that|(?:factual |overall )?(?:accuracy|correctness|truth|factuality|veracity|validity|verdict"
    rf"|label|judge?ment|{_JUDGED}))\b(?:(?!\b(?:that|because|since|as|says?)\b)[^,;]){{0,60}}?\s)"
)
_SPEAKER = r"(?:\b(?:I|I'm|we|one|it is|it's|is|this model|as an ai)\b[^.;]{0,40}?|^\W*(?:sorry\W+)?(?:\w+ly,? )?)"
_ENGLISH = "|".join(
    (
        # I cannot determine whether the answer is correct
        rf"{_SPEAKER}(?:{_CANNOT}|{_WILL_NOT})\s+{_ADVERBS}(?:be\s+)?{_DECIDE}\b[^;]{{0,60}}?{_OBJECT}",
        # its accuracy cannot be verified, no verdict can be given
        rf"{_VERDICT}(?:(?:can(?:not|'t| not)|could(?:n't| not))\s+{_ADVERBS}be"
        rf"|is impossible to|is (?:not possible|hard|difficult) to)\s+{_ADVERBS}{_DECIDE}\b",
        r"\bno (?:\w+ )?(?:verdict|judge?ment|decision|conclusion|answer|determination) (?:is possible|(?:can|could) be)",
        # I don't know, I am not sure whether, it is unclear if
        r"\b(?:I|we) (?:really |honestly |simply |just )?(?:do|did)(?: not|n't)"
        r" (?:really |actually )?know\b(?!\W+(?:of|how|about|why)\b)",
        rf"\bI(?:'m| am) {_ADVERBS}not\s+{_ADVERBS}(?:sure|certain|confident)\b",
        r"(?:\bI(?: \w+)? have|^\W*) ?no (?:idea|clue)\b",
        rf"\bno way (?:for me )?(?:to|of)\s+{_DECIDE}\b",
        r"\bneither confirm nor deny\b",
        rf"(?:\b(?:I|I'm|I am|we are)\s+{_ADVERBS}|\b(?:it|this|that) (?:is|remains)\s+{_ADVERBS}"
        rf"|^\W*|\b(?:answer|verdict|label|judge?ment|result)\W+(?:(?:is|remains)\s+)?){_UNSURE}"
        r"(?=\W*\Z|\s+(?:about|of|whether|if|which|what|as to|on|here)\b|\W+(?:because|since|as|due)\b|\s*[.,;:–—-])",
        r"\b(?:accuracy|correctness|truth|factuality|veracity|validity) (?:is|remains) "
        rf"(?:{_UNSURE}|an open question)",
        # there is not enough information, I lack the knowledge to
        rf"(?:{_NOT}|\bno|\bwithout)\s+(?:\w+ ){{0,3}}?(?:enough|sufficient|adequate)\s+(?:\w+ ){{0,2}}?{_INFORMATION}\b"
        r"(?!\s+(?:on|about|of|in)\b)",
        rf"\bI (?:do not|don't|did not|didn't) have\b[^.;]{{0,40}}?\b{_INFORMATION}\b",
        rf"\b(?:insufficient|inadequate|too little)\s+(?:\w+ )?{_INFORMATION}\b(?=\W*\Z|\s+(?:to|for|is|was)\b|\W*[.,;])",
        rf"\b{_INFORMATION} (?:\w+ )?(?:is|are|was) (?:insufficient|inadequate|not (?:enough|sufficient))\b",
        rf"\bI lack\b[^.;]{{0,40}}?\b{_INFORMATION}\b",
        r"\bnot enough info(?:rmation)?\b",
        # I abstain, no answer, beyond my knowledge
        r"\bI(?:'ll|'d|'m)?(?: will| would| must| have to| need to| am going to)? abstain\b|\A\W*(?:abstain|pass|no (?:answer|comment|idea|verdict))\W*\Z",
        r"\b(?:beyond|outside) (?:of )?(?:my|the scope of my) (?:\w+ )?(?:ability|abilities|knowledge|expertise"
        r"|competence|capabilit(?:y|ies))",
        r"\b(?:your|anyone's) guess is as good as mine\b",
    )
)

# --- Chinese ------------------------------------------------------------------------------------------

_ZH_CANNOT = (
    "(?:无法|無法|不能|[难難]以|没法|沒法|[没沒]有?办法|无从|無從|不便|未能|不可能|很[难難]|不足以|不敢|[没沒]能)"
)
_ZH_HOW = (
    "(?:[对對][^,;。]{0,30}?)?(?:给出|給出|做出|作出|进行|進行|明确|准确|确切|直接|据此|完全|就此|对此|可靠|有效|得出|提供"
    "|任何|一个|一個|肯定|地|的|百分之百|独立|從|从中){0,5}"
)
_ZH_DECIDE = (
    "(?:判[断斷定别]|[确確][定认認切]|核[实實查对]|[验驗][证證]|[断斷]定|回答|作答|答复|[评評][判价估定]|[结結][论論]|[决決]定"
    "|[选選][择擇出]|辨[别別]|知道|知晓|查[证證]|[认認]定|下定论|定论|答案|分辨|得知|判[决決]|[说說]准)"
)
_CHINESE = "|".join(
    (
        rf"{_ZH_CANNOT}{_ZH_HOW}{_ZH_DECIDE}|[无無]法[说說]",
        "不知道|不清楚|不太清楚|不(?:太|能|是很|敢)?[确確]定(?!性)|不得而知|[没沒]有?把握|拿不准|[说說]不准|不好[说說]|[难難][说說]",
        "(?:信息|資訊|[资資]料|[证證][据據]|依据|背景|条件|上下文|材料|知[识識])(?:严重|都|是|并)?(?:不足|不[够夠]|有限|缺乏|欠缺)",
        "(?:缺乏|缺少|[没沒]有|未提供|不具[备備])(?:足[够夠]|充分|相[关關]|必要|可靠)(?:的)?(?:信息|資訊|[证證][据據]|依据|[资資]料"
        "|背景|上下文|材料|知[识識])",
        "(?:不做|不作|不予|暂不|拒[绝絕]|放[弃棄])(?:出|任何)?(?:判[断斷]|回答|作答|[评評][价判]|[选選][择擇])|[弃棄][权權]",
    )
)

# --- Arabic, Turkish and Hindi, folded -------------------------------------------------------------------


def _phrases(*phrases: str) -> str:
    """An expression for one of the phrases, folded; they may hold expressions in which case tells nothing."""
    return f"(?:{'|'.join(map(fold, phrases))})"


_ARABIC = "|".join(
    (
        # "I cannot", "it is impossible", "I was not able", and what
        _phrases(
            r"(?:لا|لن|لم) (?:أستطيع|استطع|أستطع|يمكنني|يمكننا|يمكن|نستطيع|أتمكن|أقدر|يسعني)",
            r"(?:ليس|ليست) (?:بإمكاني|بوسعي|في وسعي|من الممكن|لدي القدرة|بمقدوري)",
            r"(?:لست|غير) (?:قادر|قادرا|قادرة)",
            r"(?:أعجز|عاجز|عاجزة) عن",
            r"(?:يتعذر|تعذر|يصعب|يستحيل)(?: علي| علينا)?",
            r"من (?:الصعب|المستحيل|غير الممكن)",
        )
        + r"[^.;?]{0,40}?(?<!\w)"
        + _phrases(
            r"(?:ال)?تحديد(?:ه|ها)?",
            r"(?:أن )?(?:أحدد|أحكم|أجزم|أقرر|أجيب|أعرف|أقول|أتأكد|أتحقق|أقيم|أختار|أصنف|نحدد|نحكم|نعرف|نقول)",
            r"(?:ال)?(?:حكم|جزم|قول|تأكد|تأكيد|تحقق|معرفة|إجابة|تقييم|بت|اختيار|تصنيف|حسم|فصل|قرار|تمييز|مساعدة)",
            r"(?:إعطاء|تقديم|إبداء|إصدار|اتخاذ)",
        ),
        _phrases(
            r"(?<!\w)لا (?:أعرف|أعلم|أدري|نعرف|نعلم|ندري)(?!\w)",
            r"(?<!\w)(?:لست|غير|ليس) (?:متأكد|متأكدا|متأكدة|واثق|واثقا|واثقة|متيقنا)",
            r"(?:المعلومات|معلومات|السياق|الأدلة) (?:\w+ )?(?:غير كافية|غير كاف|لا تكفي|ليست كافية|لا يكفي)",
            r"(?:لا توجد|لا تتوفر|لا يوجد|ليس لدي|ليست لدي|لا أملك|لا تتوافر|لا يتوفر) (?:لدي )?(?:معلومات|أدلة|سياق|معرفة)"
            r" (?:كافية|كاف|كافي)",
            r"(?<!\w)(?:أمتنع|امتنع) عن",
            r"غير (?:محدد|مؤكد|معروف)[ .]*$",
        ),
    )
)
_TR_CANNOT = (
    # -emiyorum, -emem, -emedim, -emiyoruz, -emez, -ememektedir
    r"[ae]m(?:iyoru[mz]|[ae]m|iyor|[ae]z(?:si?n|di[mr]|iz)?|[ae]di[mk]?|[ae]yiz|[ae]mekte(?:dir|yi[mz])"
    r"|[ae]maktadir|[ae]makta(?:dir|yi[mz])|[ae]mistir|ezdir|azdir)"
)
_TURKISH = "|".join(
    (
        # belirleyemiyorum, karar veremem, söylenemez
        rf"(?<!\w)(?:{'|'.join(map(fold, ['belirle', 'söyle', 'değerlendir', 'doğrula', 'bil', 'yanıtla', 'cevapla', 'seç', 'anla', 'kestir', 'sapta']))})"
        rf"(?:n|nil|il|lan)?y?{_TR_CANNOT}",
        rf"(?<!\w)(?:{fold('karar|hüküm|yanıt|cevap|yargı|görüş|bir şey|kesin|net|yorum|tespit|teyit|emin|tahmin|ayırt')})"
        rf"[^.;?]{{0,40}}?(?:ver|var|belirt|söyle|yap|et|ed|ol|bulun|bildir)(?:il|ul|un|n)?{_TR_CANNOT}",
        rf"(?<!\w)(?:{fold('emin|net')} {fold('değil')}(?:im|iz)?|{fold('kararsız')}(?:im|iz)?|{fold('bilmiyoru')}[mz]"
        rf"|{fold('bilgim yok')}|{fold('fikrim yok')}|{fold('belirsiz')}(?:dir)?\W*\Z)",
        rf"(?:{'|'.join(map(fold, ['belirle', 'söyle', 'değerlendir', 'doğrula', 'karar', 'yanıt', 'cevap']))})"
        rf"[^.;?]{{0,40}}?{fold('mümkün')} (?:{fold('değil')}|{fold('olmamıştır')}|{fold('görünmüyor')})",
        rf"{fold('yeterli')} (?:\w+ ){{0,2}}?{fold('bilgi')}\w*(?: \w+)?"
        rf" (?:{fold('yok')}|{fold('değil')}|{fold('sahip değil')}|{fold('bulunma')}|{fold('verilme')}|{fold('sunulma')})\w*"
        rf"|{fold('bilgi')}\w*(?: \w+)? {fold('yetersiz')}",
    )
)
_HI_SUBJECT = _phrases(
    "तय|निर्धारित|निर्णय|निश्चित|फैसला|फ़ैसला|निष्कर्ष|निर्धारण|पुष्टि|सत्यापित|सत्यापन|मूल्यांकन|जांच|जाँच|आंकलन|आकलन"
    "|उत्तर|जवाब|राय|सुनिश्चित|चयन|चुनाव|वर्गीकृत|मदद|सहायता|स्पष्ट रूप से"
)
_HI_CAN = _phrases("(?:कर|कह|बता|दे|निकाल|पहुँच|पहुंच|किया जा|कहा जा|दिया जा|ले|चुन|समझ|लगा|हो)")
_HINDI = "|".join(
    (
        # तय नहीं कर सकता, नहीं कहा जा सकता, यह कहना संभव नहीं है
        rf"(?<!\w){_HI_SUBJECT}[^.;?]{{0,30}}?{_phrases('नहीं', 'नही')} {_HI_CAN} {_phrases('सक', 'पा')}",
        rf"(?<!\w){_HI_SUBJECT}[^.;?]{{0,20}}?{_HI_CAN} {_phrases('नहीं', 'नही')} {_phrases('सक', 'पा')}",
        rf"(?<!\w)(?:{_phrases('नहीं', 'नही')} {_phrases('(?:कह|बता|कहा जा|बताया जा|चुन)')}"
        rf"|{_phrases('(?:कह|बता|कहा|बताया|चुन)')} {_phrases('नहीं', 'नही')}(?: {_phrases('जा')})?) {_phrases('सक', 'पा')}",
        rf"(?<!\w){_phrases('(?:असमर्थ|असक्षम|अनिश्चित)')}",
        rf"{_phrases('(?:कहना|बताना|करना|देना|तय करना|निर्णय|चुनना|पुष्टि)')}[^.;?]{{0,30}}?"
        rf"(?:{_phrases('(?:संभव|सम्भव|मुमकिन|आसान)')} {_phrases('नहीं', 'नही')}|{_phrases('(?:मुश्किल|कठिन|असंभव|असम्भव)')})",
        rf"{_phrases('(?:पता|मालूम|जानता|जानती|यकीन|निश्चित|ज्ञात)')} {_phrases('नहीं', 'नही')}"
        rf"|{_phrases('नहीं', 'नही')} {_phrases('(?:पता|मालूम|जानता|जानती|जानते)')}",
        rf"{_phrases('पर्याप्त')} (?:\w+ ){{0,2}}?{_phrases('(?:जानकारी|सूचना|संदर्भ|प्रमाण|साक्ष्य)')}[^.;?]{{0,20}}?"
        rf"{_phrases('नहीं', 'नही')}|{_phrases('(?:जानकारी|सूचना)')} {_phrases('(?:अपर्याप्त|पर्याप्त नहीं)')}",
    )
)

_DECLINES = tuple(re.compile(words, re.IGNORECASE) for words in (_ENGLISH, _CHINESE, _ARABIC, _TURKISH, _HINDI))

# --- clauses ------------------------------------------------------------------------------------------

# Where what was said is left for something else: "…, but the answer is True".
_TURN = re.compile(
    r"(?<!\w)(?:but|however|nevertheless|nonetheless|that said|having said that|still,|though(?=,)|even so|yet(?= (?:I|the|it)\b)"
    r"|so (?=(?:my|the|I'll|I will)\b)|and (?=(?:my|I'll|I will|I'd|I would)\b)"
    r"|ama|fakat|ancak|yine de|لكن\w*|ولكن\w*|إلا أن\w*|ومع ذلك|مع ذلك|लेकिन|परंतु|परन्तु|मगर|किंतु|फिर भी|पर(?= )"
    r")(?!\w)|但是?|不[过過]|然而|可是|只是|, (?=I (?:would|'d|will|think|believe|guess|lean|say)|I'd|I'll|my )"
    r"|(?<!\w)(?=if (?:I (?:had|have|must|were)|forced|pressed|pushed|made)\b)",
    re.IGNORECASE,
)
_CONCEDES = re.compile(
    r"\W*(?:although|though|while|even though|even if|despite|虽然|雖然|尽管|儘管|رغم|على الرغم|her ne kadar|यद्यपि|हालाँकि|हालांकि)",
    re.IGNORECASE,
)


def declines(text: str) -> bool:
    """Whether the reply, taken as a whole, declines to answer: whether it says that it cannot decide, in a clause of
    any sentence. It may answer beside that, so ask it only where no answer is stated."""
    return any(_declining(clause) for sentence in sentences_of(text) for clause in _clauses(sentence))


def stated(sentences: Iterable[str]) -> list[str]:
    """The sentences without the clauses that decline."""
    kept = []
    for sentence in sentences:
        clauses = _clauses(sentence)
        left = [clause for clause in clauses if not _declining(clause)]
        kept.append(sentence if len(left) == len(clauses) else " ".join(left).strip())
    return [sentence for sentence in kept if sentence]


def _clauses(sentence: str) -> list[str]:
    if _CONCEDES.match(sentence):
        conceded, comma, rest = sentence.partition("，" if "，" in sentence else ",")
        return [conceded, *_clauses(rest)] if comma else [sentence]
    cuts = [0, *(found.start() for found in _TURN.finditer(sentence)), len(sentence)]
    return [sentence[start:end] for start, end in zip(cuts, cuts[1:], strict=False) if sentence[start:end].strip()]


def _declining(clause: str) -> bool:
    folded = fold(clause)
    return any(words.search(folded) for words in _DECLINES)
