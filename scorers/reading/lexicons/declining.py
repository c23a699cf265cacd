"""Patterns of clauses that decline to answer, in English, Chinese, Arabic, Turkish and Hindi."""

from __future__ import annotations

from halu_tasks.scorers.reading.patterns import expression, folded, ignoring_case
from halu_tasks.text.folding import any_of

# --- English ------------------------------------------------------------------------------------------

ADVERB = any_of(r"""
    \w+ly also still yet thus just quite either all that very more at\sall with\s(?:\w+\s)?(?:certainty|confidence)
""")
CANNOT = expression(r"""
    (?:\b(?:can(?:'t|not| not)|could(?:n't| not)|unable to|incapable of|won't|will not|refuse to|decline to
    |prefer not to|rather not|(?:impossible|hard|difficult|tough) (?:for (?:me|us|anyone) )?to|no way (?:to|of))
    |(?:\bnot|n't) (?:able|in a position|going|comfortable|willing|possible(?: for (?:me|us|anyone))?)(?: to)?)
""")
JUDGED = any_of("answers? responses? claims? statements? sentences? text summary passage explanation question")
QUALITY = any_of("accuracy correctness truth truthfulness factuality veracity validity reliability faithfulness")
MATERIAL = expression(r"""
    (?:questions?|answers?|responses?|statements?|(?:\w+ )?sentences?|texts?|claims?|documents?|summar(?:y|ies)
    |passages?|context|details?|information|content|options?|evidence)
""")
VERDICT = any_of("""
    verdict judge?ment decision choice conclusion determination winner assessment evaluation label answer type class
    category replacements? errors? hallucinations? entities
""")
FIND_OUT = expression(rf"""
    (?:determin\w*|identify|tell|verify\w*|confirm\w*|assess\w*|evaluat\w*|judg\w*|decid\w*|know\w*|ascertain\w*
    |establish|check|fact-check|discern|gauge|be (?:{ADVERB} )?(?:sure|certain|confident))\b(?:\W*\Z
    |\W+(?:\w+\W+){{0,4}}?(?:whether|if|which|what|between|that|it|this|{QUALITY}|{VERDICT}|{JUDGED})\b)
""")
SAY = expression(rf"""
    (?:say|conclude|commit|choos\w*|pick|select|take|classify|label|distinguish|comply|rule|tell)\b(?:\W*\Z
    |\W+(?:to )?(?:whether|if|which|between|either way|one way|for (?:sure|certain)|definitively|you|one|any|this|it
    |without|either|sides?|an? (?:\w+ )?{VERDICT}|an? (?:side|option))\b(?!\W+(?:\w+\W+)?as\W+(?!either|one\b)))
""")
RESPOND = expression(rf"""
    (?:answer|respond|comment|help|assist|engage|rate|evaluate|compare|rank)\b(?:\W*\Z
    |\W+(?:\w+\W+){{0,3}}?(?:{JUDGED}|two|them|request|topic|this|that|it)\b)
""")
GIVE = expression(rf"""
    (?:give|provid\w*|offer|render|make|reach|form|come to|arrive at|draw)\b\W+(?:\w+\W+){{0,4}}?(?:{VERDICT}
    |information|assistance|help)\b
""")
CANNOT_DECIDE = ignoring_case(rf"{CANNOT}\s+(?:{ADVERB}\s+){{0,3}}(?:{FIND_OUT}|{SAY}|{RESPOND}|{GIVE})")
# Who cannot decide: the author of the reply, nobody named at the start of a clause, or "it is" impossible.
SPEAKER = ignoring_case(r"""
    (?:\b(?:i|we)\b[^.;]*|\b(?:it is|it's|there is|there's) (?:\w+ly )?|(?:\A|:)\W*(?:sorry\W+)?(?:\w+ly,? )?|,\s*)\Z
""")
UNSURE = any_of("unsure uncertain undecided unclear unknown inconclusive undetermined indeterminate unverifiable")
INFORMATION = any_of("information info context evidence knowledge data background expertise basis")
ENGLISH = expression(rf"""
    # its accuracy cannot be verified, no verdict can be given
    \b(?:it|this|that|{QUALITY}|verdict|label|judge?ment|{JUDGED}|correct|true|accurate)\s(?:can(?:not|'t| not)
    |could(?:n't| not)|is (?:impossible|not possible|hard
    |difficult) to)\s+(?:{ADVERB}\s+){{0,3}}(?:be\s+)?(?:{ADVERB}\s+){{0,3}}(?:determin|verif|confirm|assess|evaluat
    |judg|decid|know|ascertain|establish|answer|rat|classif|tell)\w*
    |(?:\A|:)\W*can(?:not|'t| not) be (?:\w+ly )?(?:determin|verif|confirm|assess|evaluat|judg|decid|know|answer)\w*
    |\bno (?:\w+ )?{VERDICT} (?:is possible|(?:can|could) be)
    # I don't know, I am not sure whether, it is unclear if
    |\b(?:i|we) (?:\w+ly |just )?(?:do|did)(?: not|n't) (?:\w+ly )?know\b(?!\W+(?:of|how|about|why)\b)
    |(?:\bi(?:'m| am) (?:{ADVERB} )?|(?:\A|:)\W*)not (?:{ADVERB} )?(?:sure|certain|confident)\b
    |(?:\bi have|(?:\A|:)\W*) ?no (?:idea|clue)\b|\bneither confirm nor deny\b|\bguess is as good as mine\b
    |(?:\b(?:i'm|i am|i remain|we are) (?:{ADVERB} )?|(?:\A|:)\W*(?:answer\W+)?|\b(?:it|this|that|{QUALITY}|verdict
    |label|judge?ment|result|correct|true|accurate)\W+(?:(?:is|remains)\s+)?(?:{ADVERB}\s)?){UNSURE}(?=\W*\Z
    |\s+(?:about|of|whether|if|which|what|as to|on|here|from)\b|\W*\b(?:because|since|as|due)\b|\s*[.,:(–—-])
    # there is not enough information, I lack the knowledge
    |(?:\b(?:there|we|i) (?:\w+ )?(?:not|(?:is|do|are|have)n't|no)|\bwithout|\A\W*not?)\s+(?:\w+ ){{0,3}}?(?:enough
    |sufficient|adequate)\s+(?:\w+ ){{0,2}}?{INFORMATION}\b(?!\s+(?:on|about|of|in)\b)
    |\bi (?:do not have|don't have|lack)\b[^.;]{{0,40}}?\b{INFORMATION}\b
    |\b(?:insufficient|inadequate|too little)\s+(?:\w+ )?{INFORMATION}\b(?=\W*\Z|\s+(?:to|for)\b|\W*[.,;])
    |\b{INFORMATION} (?:\w+ )?(?:is|are) (?:insufficient|inadequate|not (?:enough|sufficient))\b
    # I abstain, no comment, beyond my knowledge
    |\bi(?:'ll|'d|'m)?(?: will| would| must| have to| need to| am going to)? abstain\b
    |\bi(?:'ll|'d| will| must| would)(?: have to| rather| need to)? pass(?=\W*\Z| on\b)
    |\A\W*(?:abstain|pass|no (?:answer|comment|verdict)|n/a)\W*\Z
    # I'll refrain from a verdict, I'd withhold judgment, I pass no judgment
    |\b(?:i|we)\b[^.;]{{0,40}}?\b(?:refrain from|withhold(?:ing)?|suspend(?:ing)?|reserve) (?:\w+ ){{0,3}}?(?:{VERDICT}
    |judging|answering|commenting|labell?ing|classifying)\b|\b(?:i|we)\b[^.;]{{0,30}}?(?:\bnot|n't) (?:pass|offer
    |voice) (?:\w+ )?{VERDICT}\b
    # asks for the text to judge
    |\b(?:please|could you|can you|kindly)\b(?: \w+){{0,2}}? (?:provide|share|send|paste|give|supply|post
    |upload)\b(?:\s(?:me|us|with|the|both|two|full|your|a|an|more|that|any|some|original|specific|actual|missing|edited
    |and|{MATERIAL})){{0,8}}?\s{MATERIAL}\b|\b(?:beyond|outside) (?:of )?(?:the scope of )?my (?:\w+ )?(?:abilit
    |knowledge|expertise|competence|capabilit)
""")

# --- Chinese ------------------------------------------------------------------------------------------

ZH_CANNOT = (
    r"(?:无法|無法|不能|[难難]以|没法|沒法|[没沒]有?办法|无从|無從|不便|未能|不可能|很[难難]|不足以|不敢|[没沒]能)"
)
ZH_HOW = expression(r"""
    (?:[对對][^,;。]{0,30}?)?(?:给出|給出|做出|作出|进行|進行|明确|准确|确切|直接|据此|完全|就此|对此|可靠|有效|得出
    |提供|任何|一个|一個|肯定|地|的|百分之百|独立|從|从中){0,5}
""")
ZH_DECIDE = expression(r"""
    (?:判[断斷定别]|[确確][定认認切]|核[实實查对]|[验驗][证證]|[断斷]定|回答|作答|答复|[评評][判价估定]|[结結][论論]
    |[决決]定|[选選][择擇出]|辨[别別]|知道|知晓|查[证證]|[认認]定|下定论|定论|答案|分辨|得知|判[决決]|[说說]准)
""")
ZH_INFORMATION = r"(?:信息|資訊|[资資]料|[证證][据據]|依据|背景|条件|上下文|材料|知[识識])"
CHINESE = expression(rf"""
    {ZH_CANNOT}{ZH_HOW}{ZH_DECIDE}|[无無]法[说說]|(?:判[断斷]|[确確]定|[选選]|[说說]|答)不(?:了|出来?|上来|清)|不知道
    |不得而知|不(?:太)?清楚|[没沒]有?把握|拿不准|不(?:太|能|是很|敢)?[确確]定(?!性)|[说說]不准
    |不好(?:[说說]|判[断斷]|评[价判]|下结论)|[难難](?:[说說]|辨)|(?:没|沒|无|無)法[选選](?=\W|$)
    |{ZH_INFORMATION}(?:严重|都|是|并)?(?:不足|不[够夠]|有限|缺乏|欠缺)
    |(?:缺乏|缺少|[没沒]有|未提供|不具[备備])(?:足[够夠]|充分|相[关關]|必要|可靠)的?{ZH_INFORMATION}
    |(?:不做|不作|不予|不便|暂不|拒[绝絕]|放[弃棄]|不(?:想|愿意?|打算|会|能)(?:做|作|给)?)(?:出|任何|此|这个
    |置)*(?:判[断斷定别]|回答|作答|答复|[评評][价判论断]?(?=\W|$|价|判|论|断)|[选選][择擇]|[结結][论論]|表[态態])
    |[弃棄][权權]|恕(?:我)?(?:不|[难難]|[无無])|[选選][择擇]不(?:做|作|回)|请(?:先|您|你|再)?(?:提供|把|[给給]出|[发發]
    |[补補]充|告[诉訴])(?!.{{0,3}}(?:判|[结結]))
""")
AR_CANNOT = folded(r"""
    (?:(?:لا|لن|لم) (?:أستطيع|استطع|أستطع|يمكنني|يمكننا|يمكن|نستطيع|أتمكن|أقدر|يسعني)
    |(?:ليس|ليست) (?:بإمكاني|بوسعي|في وسعي|من الممكن|لدي القدرة|بمقدوري)|(?:لست|غير) (?:قادر|قادرا|قادرة)
    |(?:أعجز|عاجز|عاجزة) عن|(?:يتعذر|تعذر|يصعب|يستحيل)(?: علي| علينا)?|من (?:الصعب|المستحيل|غير الممكن))
""")
AR_DECIDE = folded(r"""
    (?:(?:ال)?(?:تحديد|حكم|جزم|قول|تأكد|تأكيد|تحقق|معرفة|إجابة|تقييم|بت|اختيار|تصنيف|حسم|فصل|قرار|تمييز|مساعدة)|أحدد
    |أحكم|أجزم|أقرر|أجيب|أعرف|أقول|أتأكد|أتحقق|أقيم|أختار|أصنف|نحدد|نحكم|نعرف|نقول|إعطاء|تقديم|إبداء|إصدار|اتخاذ)
""")
AR_INFORMATION = r"(?:معلومات|أدلة|سياق|معرفة)"
ARABIC = folded(rf"""
    {AR_CANNOT}[^.;?]{{0,40}}?(?<!\w){AR_DECIDE}|(?<!\w)(?:لا (?:أعرف|أعلم|أدري|نعرف|نعلم|ندري))(?!\w)
    |(?<!\w)(?:(?:لست|غير) (?:متأكد|واثق|متيقن))|(?<!\w)(?:أمتنع عن|غير (?:محدد|مؤكد|معروف)[ .]*$)
    # asks for the text to judge
    |(?<!\w)(?:يرجى|أرجو|الرجاء|من فضلك)[^.;?]{{0,20}}?(?:تزويدي|إرسال|تقديم|إعطائي|مشاركة|توفير|ذكر|أرسل|زودني|لصق)
    |(?:(?:ال)?{AR_INFORMATION} (?:غير كافية|غير كاف|لا تكفي|ليست كافية|لا يكفي)|(?:لا توجد|لا تتوفر|لا يوجد|ليس لدي
    |ليست لدي|لا أملك|لا يتوفر) (?:لدي )?{AR_INFORMATION} (?:كافية|كاف))
""")
# belirleyemiyorum, veremem, söyleyemedim, bilinemez, belirlenememektedir
TR_CANNOT = r"[ae]m(?:iyoru[mz]|iyor|[ae]m|[ae]z(?:dir|di[mr])?|[ae]di[mk]?|[ae]yiz|[ae]m?[ae]kt[ae]\w*|[ae]mistir)"
TR_DECIDE = folded(r"(?:belirle|söyle|değerlendir|doğrula|bil|yanıtla|cevapla|seç|anla|sapta)")
TR_VERDICT = folded(r"(?:karar|hüküm|yanıt|cevap|yargı|görüş|bir şey|kesin|net|yorum|tespit|teyit|emin)")
TR_MISSING = folded(r"(?:yok|değil|sahip değil|bulunm|verilme|sunulma|yetersiz)")
TURKISH = folded(rf"""
    (?<!\w){TR_DECIDE}(?:n|nil|il|lan)?y?{TR_CANNOT}|(?<!\w){TR_VERDICT}[^.;?]{{0,40}}?(?:ver|var|belirt|soyle|yap|et|ed
    |ol|bulun|bildir)(?:il|ul|un|n)?{TR_CANNOT}|(?<!\w)(?:(?:emin|net) değil|kararsız|bilmiyoru[mz]|bilgim yok
    |fikrim yok)|(?<!\w)belirsiz(?:dir)?\W*\Z
    # asks for the text to judge, or cannot see it; does not want to answer
    |(?<!\w)(?:cümle|metin|metn|yanıt|cevab|soru)\w*[^.;?]{{0,40}}?(?:gönder|paylaş|ilet|yaz|ver|sağla)(?:[ae]?r
    |[iu]r)? ?(?:misin|m[iu]sunuz|bilir|ebilir|abilir)|(?<!\w)(?:cümleyi|metni|yanıtı|cevabı|soruyu
    |cümleleri) (?:\w+ )?gör[eu]m(?:iyor|em|uyor)|(?<!\w)(?:yorum|değerlendirme|seçim|yargı
    |karar)\w* (?:\w+ )?(?:(?:yapmak|vermek|bulunmak) iste(?:mi|me))
    |(?:{TR_DECIDE}|{TR_VERDICT})[^.;?]{{0,40}}?(?:mümkün (?:değil|olma|görünmüyor))
    |yeterli (?:\w+ ){{0,2}}?bilgi\w*(?: \w+)? {TR_MISSING}|bilgi\w*(?: \w+)? yetersiz
""")
HI_NOT = folded(r"(?:नहीं|नही)")
HI_DECIDE = folded(r"""
    (?:तय|निर्धारित|निर्णय|निश्चित|फैसला|फ़ैसला|निष्कर्ष|निर्धारण|पुष्टि|सत्यापित|सत्यापन|मूल्यांकन|जांच|जाँच|आकलन|उत्तर
    |जवाब|राय|सुनिश्चित|चयन|चुनाव|वर्गीकृत|मदद|सहायता|स्पष्ट रूप से)
""")
HI_DO = folded(r"(?:कर|कह|बता|दे|निकाल|पहुँच|किया जा|कहा जा|दिया जा|ले|चुन|समझ|लगा|हो)")
HI_TELL = folded(r"(?:कह|बता|कहा जा|बताया जा|चुन)")
HI_SAID = folded(r"(?:कह|बता|कहा|बताया|चुन)")
HI_CAN = folded(r"(?:सक|पा)")
HI_KNOWN = folded(r"(?:पता|मालूम|जानता|जानती|जानते|यकीन|निश्चित|ज्ञात|स्पष्ट)")
HI_INFORMATION = folded(r"(?:जानकारी|सूचना|संदर्भ|प्रमाण|साक्ष्य)")
HINDI = folded(rf"""
    # तय नहीं कर सकता, नहीं कहा जा सकता, कहा नहीं जा सकता
    (?<!\w){HI_DECIDE}[^.;?]{{0,30}}?(?:{HI_NOT} {HI_DO}|{HI_DO} {HI_NOT}) {HI_CAN}
    |(?<!\w)(?:{HI_NOT} {HI_TELL}|{HI_SAID} {HI_NOT}(?: जा)?) {HI_CAN}
    # कहना मुश्किल है, निर्णय संभव नहीं
    |(?:कहना|बताना|करना|देना|निर्णय|चुनना|पुष्टि)[^.;?]{{0,30}}?(?:(?:संभव|सम्भव|मुमकिन|आसान) {HI_NOT}|मुश्किल|कठिन
    |असंभव|असम्भव)|(?<!\w)(?:असमर्थ|असक्षम|अनिश्चित)|{HI_KNOWN} {HI_NOT}|{HI_NOT} {HI_KNOWN}
    # asks for the text to judge; does not want to answer
    |कृपया [^.;?]{{0,60}}?(?:दें|दीजिए|भेजें|भेजिए|प्रदान|साझा|बताएँ|बताएं|लिखें)
    |(?:टिप्पणी|निर्णय|फैसला|फ़ैसला|उत्तर) (?:{HI_NOT} )?(?:करना|देना|लेना) (?:{HI_NOT} )?चाह
    |पर्याप्त (?:\w+ ){{0,2}}?{HI_INFORMATION}[^.;?]{{0,20}}?{HI_NOT}|{HI_INFORMATION} (?:अपर्याप्त|पर्याप्त {HI_NOT})
""")
DECLINES = tuple(map(ignoring_case, (ENGLISH, CHINESE, ARABIC, TURKISH, HINDI)))
# Some letters of each phrase above. Most clauses contain none of them and are not tested further.
HINT = ignoring_case(r"""
    not|n't|no|un|im|in|hard|difficult|tough|refuse|decline|abstain|rather|lack|beyond|outside|guess|pass|too little|n/a
    |please|could you|can you|kindly|refrain|withhold|suspend|reserve|m[iıaeuü]|değil|yok|s[iı]z|請|请|恕
    |[无無不没沒未难難缺弃棄拒足]|[\u0600-\u06ff\u0900-\u097f]
""")

# --- clauses ------------------------------------------------------------------------------------------

# The start of a clause that turns to another statement: "…, but the answer is True"; in Chinese, also a comma.
TURN = ignoring_case(r"""
    (?<!\w)(?:but|however|nevertheless|nonetheless|that said|still(?=,)|though(?=,)|even so|yet(?= (?:I|the|it)\b)
    |so (?=(?:my|the|I'll|I will)\b)|and (?=(?:my|I'll|I will|I'd|I would)\b)|ama|fakat|ancak|yine de|و?لكن\w*|إلا أن\w*
    |و?مع ذلك|लेकिन|परंतु|परन्तु|मगर|किंतु|फिर भी)(?!\w)|但是?|不[过過]|然而|可是|只是|(?<=[,，])(?=[\u3400-\u9fff])
    |[,;] (?:and|so) |; |, (?=I (?:would|'d|will|think|believe|guess|lean|say)|I'd|I'll|my )
    |(?<!\w)(?=if (?:I (?:had|have|must|were)|forced|pressed|pushed|made)\b)
""")
CONCEDES = ignoring_case(r"""
    \W*(?:(?:even )?though|although|while|even if|despite|[虽雖]然|[尽儘]管|رغم|على الرغم|her ne kadar|यद्यपि
    |हाल[ाँं]+कि)
""")
# The start of a reason for an earlier statement, which is not a statement of its own.
REASON = ignoring_case(r"(?<!\w)(?:because|since|as (?=(?:it|the|there|I)\b)|due to|given that)(?!\w)")
