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
from itertools import pairwise

from halu_tasks.scorers.reading.labels.verdict_text import sentences_of
from halu_tasks.text.folding import any_of, fold

# --- English ------------------------------------------------------------------------------------------

_ADVERB = any_of(
    r"\w+ly also still yet thus just quite either all that very more at\sall with\s(?:\w+\s)?(?:certainty|confidence)"
)
_CANNOT = (
    r"(?:\b(?:can(?:'t|not| not)|could(?:n't| not)|unable to|incapable of|won't|will not|refuse to|decline to"
    r"|prefer not to|rather not|(?:impossible|hard|difficult|tough) (?:for (?:me|us|anyone) )?to|no way (?:to|of))"
    r"|(?:\bnot|n't) (?:able|in a position|going|comfortable|willing|possible(?: for (?:me|us|anyone))?)(?: to)?)"
)
_JUDGED = any_of("answers? responses? claims? statements? sentences? text summary passage explanation question")
_QUALITY = any_of("accuracy correctness truth truthfulness factuality veracity validity reliability faithfulness")
_MATERIAL = (
    r"(?:questions?|answers?|responses?|statements?|(?:\w+ )?sentences?|texts?|claims?|documents?|summar(?:y|ies)"
    r"|passages?|context|details?|information|content|options?|evidence)"
)
_VERDICT = any_of(
    "verdict judge?ment decision choice conclusion determination winner assessment evaluation label answer type class"
    " category replacements? errors? hallucinations? entities"
)
_FIND_OUT = (
    rf"(?:determin\w*|identify|tell|verify\w*|confirm\w*|assess\w*|evaluat\w*|judg\w*|decid\w*|know\w*|ascertain\w*"
    rf"|establish"
    rf"|check|fact-check|discern|gauge|be (?:{_ADVERB} )?(?:sure|certain|confident))\b"
    rf"(?:\W*\Z|\W+(?:\w+\W+){{0,4}}?(?:whether|if|which|what|between|that|it|this|{_QUALITY}|{_VERDICT}|{_JUDGED})\b)"
)
_SAY = (
    r"(?:say|conclude|commit|choos\w*|pick|select|take|classify|label|distinguish|comply|rule|tell)\b"
    r"(?:\W*\Z|\W+(?:to )?(?:whether|if|which|between|either way|one way|for (?:sure|certain)|definitively|you|one"
    r"|any|this|it"
    rf"|without|either|sides?|an? (?:\w+ )?{_VERDICT}|an? (?:side|option))\b(?!\W+(?:\w+\W+)?as\W+(?!either|one\b)))"
)
_RESPOND = (
    r"(?:answer|respond|comment|help|assist|engage|rate|evaluate|compare|rank)\b"
    rf"(?:\W*\Z|\W+(?:\w+\W+){{0,3}}?(?:{_JUDGED}|two|them|request|topic|this|that|it)\b)"
)
_GIVE = (
    r"(?:give|provid\w*|offer|render|make|reach|form|come to|arrive at|draw)\b\W+(?:\w+\W+){0,4}?"
    rf"(?:{_VERDICT}|information|assistance|help)\b"
)
_CANNOT_DECIDE = re.compile(
    rf"{_CANNOT}\s+(?:{_ADVERB}\s+){{0,3}}(?:{_FIND_OUT}|{_SAY}|{_RESPOND}|{_GIVE})", re.IGNORECASE
)
# Who cannot: the one who answers; nobody named, at the start; "it is" impossible.
_SPEAKER = re.compile(
    r"(?:\b(?:i|we)\b[^.;]*|\b(?:it is|it's|there is|there's) (?:\w+ly )?"
    r"|(?:\A|:)\W*(?:sorry\W+)?(?:\w+ly,? )?|,\s*)\Z",
    re.IGNORECASE,
)
_UNSURE = any_of("unsure uncertain undecided unclear unknown inconclusive undetermined indeterminate unverifiable")
_INFORMATION = any_of("information info context evidence knowledge data background expertise basis")
_ENGLISH = (
    # its accuracy cannot be verified, no verdict can be given
    rf"\b(?:it|this|that|{_QUALITY}|verdict|label|judge?ment|{_JUDGED}|correct|true|accurate)"
    rf"\s(?:can(?:not|'t| not)|could(?:n't| not)|is (?:impossible|not possible|hard|difficult) to)\s+"
    rf"(?:{_ADVERB}\s+){{0,3}}(?:be\s+)?(?:{_ADVERB}\s+){{0,3}}"
    r"(?:determin|verif|confirm|assess|evaluat|judg|decid|know|ascertain|establish|answer|rat|classif|tell)\w*",
    r"(?:\A|:)\W*can(?:not|'t| not) be (?:\w+ly )?(?:determin|verif|confirm|assess|evaluat|judg|decid|know|answer)\w*",
    rf"\bno (?:\w+ )?{_VERDICT} (?:is possible|(?:can|could) be)",
    # I don't know, I am not sure whether, it is unclear if
    r"\b(?:i|we) (?:\w+ly |just )?(?:do|did)(?: not|n't) (?:\w+ly )?know\b(?!\W+(?:of|how|about|why)\b)",
    rf"(?:\bi(?:'m| am) (?:{_ADVERB} )?|(?:\A|:)\W*)not (?:{_ADVERB} )?(?:sure|certain|confident)\b",
    r"(?:\bi have|(?:\A|:)\W*) ?no (?:idea|clue)\b|\bneither confirm nor deny\b|\bguess is as good as mine\b",
    rf"(?:\b(?:i'm|i am|i remain|we are) (?:{_ADVERB} )?|(?:\A|:)\W*(?:answer\W+)?"
    rf"|\b(?:it|this|that|{_QUALITY}|verdict|label|judge?ment|result|correct|true|accurate)\W+(?:(?:is"
    rf"|remains)\s+)?(?:{_ADVERB}\s)?){_UNSURE}"
    r"(?=\W*\Z|\s+(?:about|of|whether|if|which|what|as to|on|here|from)\b|\W*\b(?:because|since|as|due)\b"
    r"|\s*[.,:(–—-])",
    # there is not enough information, I lack the knowledge
    r"(?:\b(?:there|we|i) (?:\w+ )?(?:not|(?:is|do|are|have)n't|no)|\bwithout|\A\W*not?)\s+(?:\w+ ){0,3}?"
    r"(?:enough|sufficient|adequate)\s+(?:\w+ ){0,2}?"
    rf"{_INFORMATION}\b(?!\s+(?:on|about|of|in)\b)",
    rf"\bi (?:do not have|don't have|lack)\b[^.;]{{0,40}}?\b{_INFORMATION}\b",
    rf"\b(?:insufficient|inadequate|too little)\s+(?:\w+ )?{_INFORMATION}\b(?=\W*\Z|\s+(?:to|for)\b|\W*[.,;])",
    rf"\b{_INFORMATION} (?:\w+ )?(?:is|are) (?:insufficient|inadequate|not (?:enough|sufficient))\b",
    # I abstain, no comment, beyond my knowledge
    r"\bi(?:'ll|'d|'m)?(?: will| would| must| have to| need to| am going to)? abstain\b",
    r"\bi(?:'ll|'d| will| must| would)(?: have to| rather| need to)? pass(?=\W*\Z| on\b)",
    r"\A\W*(?:abstain|pass|no (?:answer|comment|verdict)|n/a)\W*\Z",
    # I'll refrain from a verdict, I'd withhold judgment, I pass no judgment
    rf"\b(?:i|we)\b[^.;]{{0,40}}?\b(?:refrain from|withhold(?:ing)?|suspend(?:ing)?|reserve) (?:\w+ ){{0,3}}?"
    rf"(?:{_VERDICT}|judging|answering|commenting|labell?ing|classifying)\b",
    rf"\b(?:i|we)\b[^.;]{{0,30}}?(?:\bnot|n't) (?:pass|offer|voice) (?:\w+ )?{_VERDICT}\b",
    # asks for what is to be judged
    rf"\b(?:please|could you|can you|kindly)\b(?: \w+){{0,2}}? (?:provide|share|send|paste|give|supply|post|upload)\b"
    rf"(?:\s(?:me|us|with|the|both|two|full|your|a|an|more|that|any|some|original|specific|actual|missing|edited|and"
    rf"|{_MATERIAL})){{0,8}}?\s{_MATERIAL}\b",
    r"\b(?:beyond|outside) (?:of )?(?:the scope of )?my (?:\w+ )?(?:abilit|knowledge|expertise|competence|capabilit)",
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
_ZH_INFORMATION = "(?:信息|資訊|[资資]料|[证證][据據]|依据|背景|条件|上下文|材料|知[识識])"
_CHINESE = (
    rf"{_ZH_CANNOT}{_ZH_HOW}{_ZH_DECIDE}|[无無]法[说說]",
    "(?:判[断斷]|[确確]定|[选選]|[说說]|答)不(?:了|出来?|上来|清)|不知道|不得而知|不(?:太)?清楚|[没沒]有?把握|拿不准",
    "不(?:太|能|是很|敢)?[确確]定(?!性)|[说說]不准|不好(?:[说說]|判[断斷]|评[价判]|下结论)|[难難](?:[说說]|辨)|(?:没|沒|无|無)法[选選](?=\\W|$)",
    f"{_ZH_INFORMATION}(?:严重|都|是|并)?(?:不足|不[够夠]|有限|缺乏|欠缺)",
    f"(?:缺乏|缺少|[没沒]有|未提供|不具[备備])(?:足[够夠]|充分|相[关關]|必要|可靠)的?{_ZH_INFORMATION}",
    "(?:不做|不作|不予|不便|暂不|拒[绝絕]|放[弃棄]|不(?:想|愿意?|打算|会|能)(?:做|作|给)?)(?:出|任何|此|这个|置)*"
    "(?:判[断斷定别]|回答|作答|答复|[评評][价判论断]?(?=\\W|$|价|判|论|断)|[选選][择擇]|[结結][论論]|表[态態])|[弃棄][权權]|恕(?:我)?(?:不|[难難]|[无無])"
    "|[选選][择擇]不(?:做|作|回)|请(?:先|您|你|再)?(?:提供|把|[给給]出|[发發]|[补補]充|告[诉訴])(?!.{0,3}(?:判|[结結]))",
)

# --- Arabic, Turkish and Hindi, folded ----------------------------------------------------------------


def _either(*phrases: str) -> str:
    """An expression for one of the phrases, which may themselves be expressions without capitals, folded."""
    return f"(?:{'|'.join(map(fold, phrases))})"


_AR_CANNOT = _either(
    "(?:لا|لن|لم) (?:أستطيع|استطع|أستطع|يمكنني|يمكننا|يمكن|نستطيع|أتمكن|أقدر|يسعني)",
    "(?:ليس|ليست) (?:بإمكاني|بوسعي|في وسعي|من الممكن|لدي القدرة|بمقدوري)",
    "(?:لست|غير) (?:قادر|قادرا|قادرة)|(?:أعجز|عاجز|عاجزة) عن|(?:يتعذر|تعذر|يصعب|يستحيل)(?: علي| علينا)?",
    "من (?:الصعب|المستحيل|غير الممكن)",
)
_AR_DECIDE = _either(
    "(?:ال)?(?:تحديد|حكم|جزم|قول|تأكد|تأكيد|تحقق|معرفة|إجابة|تقييم|بت|اختيار|تصنيف|حسم|فصل|قرار|تمييز|مساعدة)",
    "(?:أحدد|أحكم|أجزم|أقرر|أجيب|أعرف|أقول|أتأكد|أتحقق|أقيم|أختار|أصنف|نحدد|نحكم|نعرف|نقول)",
    "(?:إعطاء|تقديم|إبداء|إصدار|اتخاذ)",
)
_AR_INFORMATION = "(?:معلومات|أدلة|سياق|معرفة)"
_ARABIC = (
    rf"{_AR_CANNOT}[^.;?]{{0,40}}?(?<!\w){_AR_DECIDE}",
    rf"(?<!\w){_either('لا (?:أعرف|أعلم|أدري|نعرف|نعلم|ندري)')}(?!\w)",
    rf"(?<!\w){_either('(?:لست|غير) (?:متأكد|واثق|متيقن)')}"
    rf"|(?<!\w){_either('أمتنع عن', 'غير (?:محدد|مؤكد|معروف)[ .]*$')}",
    # asks for what is to be judged
    rf"(?<!\w){_either('(?:يرجى|أرجو|الرجاء|من فضلك)')}[^.;?]{{0,20}}?"
    rf"{_either('(?:تزويدي|إرسال|تقديم|إعطائي|مشاركة|توفير|ذكر|أرسل|زودني|لصق)')}",
    _either(
        f"(?:ال)?{_AR_INFORMATION} (?:غير كافية|غير كاف|لا تكفي|ليست كافية|لا يكفي)",
        f"(?:لا توجد|لا تتوفر|لا يوجد|ليس لدي|ليست لدي|لا أملك|لا يتوفر) (?:لدي )?{_AR_INFORMATION} (?:كافية|كاف)",
    ),
)

# belirleyemiyorum, veremem, söyleyemedim, bilinemez, belirlenememektedir
_TR_CANNOT = r"[ae]m(?:iyoru[mz]|iyor|[ae]m|[ae]z(?:dir|di[mr])?|[ae]di[mk]?|[ae]yiz|[ae]m?[ae]kt[ae]\w*|[ae]mistir)"
_TR_DECIDE = _either("belirle", "söyle", "değerlendir", "doğrula", "bil", "yanıtla", "cevapla", "seç", "anla", "sapta")
_TR_VERDICT = _either(
    "karar", "hüküm", "yanıt", "cevap", "yargı", "görüş", "bir şey", "kesin", "net", "yorum", "tespit", "teyit", "emin"
)
_TR_MISSING = _either("yok", "değil", "sahip değil", "bulunm", "verilme", "sunulma", "yetersiz")
_TURKISH = (
    rf"(?<!\w){_TR_DECIDE}(?:n|nil|il|lan)?y?{_TR_CANNOT}",
    rf"(?<!\w){_TR_VERDICT}[^.;?]{{0,40}}?(?:ver|var|belirt|soyle|yap|et|ed|ol|bulun|bildir)(?:il|ul|un"
    rf"|n)?{_TR_CANNOT}",
    rf"(?<!\w){_either('(?:emin|net) değil', 'kararsız', 'bilmiyoru[mz]', 'bilgim yok', 'fikrim yok')}",
    rf"(?<!\w){_either('belirsiz')}(?:dir)?\W*\Z",
    # asks for what is to be judged, or cannot see it; does not want to say
    rf"(?<!\w){_either('(?:cümle|metin|metn|yanıt|cevab|soru)')}\w*[^.;?]{{0,40}}?"
    rf"{_either('(?:gönder|paylaş|ilet|yaz|ver|sağla)')}(?:[ae]?r|[iu]r)? ?(?:misin|m[iu]sunuz|bilir|ebilir|abilir)",
    rf"(?<!\w){_either('(?:cümleyi|metni|yanıtı|cevabı|soruyu|cümleleri)')} "
    rf"(?:\w+ )?{_either('gör')}[eu]m(?:iyor|em|uyor)",
    rf"(?<!\w){_either('(?:yorum|değerlendirme|seçim|yargı|karar)')}\w* (?:\w+ )?"
    rf"{_either('(?:yapmak|vermek|bulunmak) iste(?:mi|me)')}",
    rf"(?:{_TR_DECIDE}|{_TR_VERDICT})[^.;?]{{0,40}}?{_either('mümkün (?:değil|olma|görünmüyor)')}",
    rf"{_either('yeterli')} (?:\w+ ){{0,2}}?{_either('bilgi')}\w*(?: \w+)? {_TR_MISSING}"
    rf"|{_either('bilgi')}\w*(?: \w+)? {_either('yetersiz')}",
)

_HI_NOT = _either("नहीं", "नही")
_HI_DECIDE = _either(
    "तय|निर्धारित|निर्णय|निश्चित|फैसला|फ़ैसला|निष्कर्ष|निर्धारण|पुष्टि|सत्यापित|सत्यापन|मूल्यांकन|जांच|जाँच|आकलन",
    "उत्तर|जवाब|राय|सुनिश्चित|चयन|चुनाव|वर्गीकृत|मदद|सहायता|स्पष्ट रूप से",
)
_HI_DO = _either("(?:कर|कह|बता|दे|निकाल|पहुँच|किया जा|कहा जा|दिया जा|ले|चुन|समझ|लगा|हो)")
_HI_TELL = _either("(?:कह|बता|कहा जा|बताया जा|चुन)")
_HI_TOLD = _either("(?:कह|बता|कहा|बताया|चुन)")
_HI_CAN = _either("सक", "पा")
_HI_KNOWN = _either("(?:पता|मालूम|जानता|जानती|जानते|यकीन|निश्चित|ज्ञात|स्पष्ट)")
_HI_INFORMATION = _either("(?:जानकारी|सूचना|संदर्भ|प्रमाण|साक्ष्य)")
_HINDI = (
    # तय नहीं कर सकता, नहीं कहा जा सकता, कहा नहीं जा सकता
    rf"(?<!\w){_HI_DECIDE}[^.;?]{{0,30}}?(?:{_HI_NOT} {_HI_DO}|{_HI_DO} {_HI_NOT}) {_HI_CAN}",
    rf"(?<!\w)(?:{_HI_NOT} {_HI_TELL}|{_HI_TOLD} {_HI_NOT}(?: {_either('जा')})?) {_HI_CAN}",
    # कहना मुश्किल है, निर्णय संभव नहीं
    rf"{_either('(?:कहना|बताना|करना|देना|निर्णय|चुनना|पुष्टि)')}[^.;?]{{0,30}}?"
    rf"(?:{_either('(?:संभव|सम्भव|मुमकिन|आसान)')} {_HI_NOT}|{_either('(?:मुश्किल|कठिन|असंभव|असम्भव)')})",
    rf"(?<!\w){_either('(?:असमर्थ|असक्षम|अनिश्चित)')}|{_HI_KNOWN} {_HI_NOT}|{_HI_NOT} {_HI_KNOWN}",
    # asks for what is to be judged; does not want to say
    rf"{_either('कृपया')} [^.;?]{{0,60}}?{_either('(?:दें|दीजिए|भेजें|भेजिए|प्रदान|साझा|बताएँ|बताएं|लिखें)')}",
    rf"{_either('(?:टिप्पणी|निर्णय|फैसला|फ़ैसला|उत्तर)')} (?:{_HI_NOT} )?{_either('(?:करना|देना|लेना)')} "
    rf"(?:{_HI_NOT} )?{_either('चाह')}",
    rf"{_either('पर्याप्त')} (?:\w+ ){{0,2}}?{_HI_INFORMATION}[^.;?]{{0,20}}?{_HI_NOT}",
    rf"{_HI_INFORMATION} (?:{_either('अपर्याप्त')}|{_either('पर्याप्त')} {_HI_NOT})",
)

_DECLINES = tuple(
    re.compile("|".join(phrases), re.IGNORECASE) for phrases in (_ENGLISH, _CHINESE, _ARABIC, _TURKISH, _HINDI)
)
# Some letters of every phrase above: most clauses have none of them, and need no other look.
_HINT = re.compile(
    r"not|n't|no|un|im|in|hard|difficult|tough|refuse|decline|abstain|rather|lack|beyond|outside|guess|pass|too little"
    r"|n/a"
    r"|please|could you|can you|kindly|refrain|withhold|suspend|reserve"
    r"|m[iıaeuü]|değil|yok|s[iı]z|請|请|恕|[无無不没沒未难難缺弃棄拒足]|[\u0600-\u06ff\u0900-\u097f]",
    re.IGNORECASE,
)

# --- clauses ------------------------------------------------------------------------------------------

# Where what was said is left for something else: "…, but the answer is True"; a comma in Chinese.
_TURN = re.compile(
    r"(?<!\w)(?:but|however|nevertheless|nonetheless|that said|still(?=,)|though(?=,)|even so|yet(?= (?:I|the|it)\b)"
    r"|so (?=(?:my|the|I'll|I will)\b)|and (?=(?:my|I'll|I will|I'd|I would)\b)"
    r"|ama|fakat|ancak|yine de|و?لكن\w*|إلا أن\w*|و?مع ذلك|लेकिन|परंतु|परन्तु|मगर|किंतु|फिर भी)(?!\w)"
    r"|但是?|不[过過]|然而|可是|只是|(?<=[,，])(?=[\u3400-\u9fff])"
    r"|[,;] (?:and|so) |; |, (?=I (?:would|'d|will|think|believe|guess|lean|say)|I'd|I'll|my )"
    r"|(?<!\w)(?=if (?:I (?:had|have|must|were)|forced|pressed|pushed|made)\b)",
    re.IGNORECASE,
)
_CONCEDES = re.compile(
    r"\W*(?:(?:even )?though|although|while|even if|despite"
    r"|[虽雖]然|[尽儘]管|رغم|على الرغم|her ne kadar|यद्यपि|हाल[ाँं]+कि)",
    re.IGNORECASE,
)
# The reason for what was said before it, which is no statement of its own.
_REASON = re.compile(r"(?<!\w)(?:because|since|as (?=(?:it|the|there|I)\b)|due to|given that)(?!\w)", re.IGNORECASE)


def declines(text: str) -> bool:
    """Whether the reply, taken as a whole, declines to answer: whether it says that it cannot decide, in a clause of
    any sentence. It may answer beside that, so ask it only where no answer is stated."""
    return any(map(declining, sentences_of(text)))


def declining(sentence: str) -> bool:
    """Whether a clause of the sentence declines."""
    return any(map(_declining, _clauses(sentence)))


def stated(sentences: Iterable[str]) -> list[str]:
    """The sentences without the clauses that decline."""
    kept = ("".join(map(_without_declining, _clauses(sentence))).strip(" ,") for sentence in sentences)
    return list(filter(None, kept))


def _clauses(sentence: str) -> list[str]:
    if _CONCEDES.match(sentence):
        conceded, comma, rest = sentence.partition(",")
        return [conceded + comma, *_clauses(rest)] if comma else [sentence]
    cuts = [0, *(found.start() for found in _TURN.finditer(sentence)), len(sentence)]
    return [sentence[start:end] for start, end in pairwise(cuts)]


def _without_declining(clause: str) -> str:
    """The clause, or nothing if it declines; what a reason that declines was given for stands."""
    if not _declining(clause):
        return clause
    reason = _REASON.search(clause)
    return clause[: reason.start()] if reason and not _declining(clause[: reason.start()]) else ""


def _declining(clause: str) -> bool:
    if not _HINT.search(clause):
        return False
    folded = fold(clause)
    return any(words.search(folded) for words in _DECLINES) or any(
        _SPEAKER.search(folded, max(found.start() - 80, 0), found.start()) for found in _CANNOT_DECIDE.finditer(folded)
    )
