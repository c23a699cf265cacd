"""Patterns of statements of whether the judged text hallucinates, in English, Arabic, Turkish and Hindi."""

from __future__ import annotations

from halu_tasks.scorers.reading.lexicons import languages
from halu_tasks.scorers.reading.lexicons.languages import ANSWER
from halu_tasks.scorers.reading.patterns import folded, folded_pattern, pattern
from halu_tasks.text.folding import spelled

SAYS_YES = folded(r"(?:yes|نعم|بنعم|أجل|evet(?:tir)?|हाँ|हा|हाँजी)")
SAYS_NO = folded(r"(?:no|لا|كلا|hayır(?:dır)?|नहीं|नही|ना)")
OR = folded(r"(?:or|and|veya|ya da|أو|أم|و|या|अथवा)")
FILLER = folded_pattern(r"""
    (?:\W|\b(?:is|are|was|be|would|should|must|will|clearly|definitely|simply|therefore|thus|so|a|the|final|answer
    |verdict|هي|هو|إذن|النهائية|النهائي|الصحيحة|الصحيح|أعتقد|أظن|أن|ربما|بالتأكيد|بالطبع|على|الأرجح|kesinlikle|bu|açıkça
    |olarak|bence|sanırım|galiba|muhtemelen|herhalde|büyük|ihtimalle|जी|तो|है|स्पष्ट|बिल्कुल|बिलकुल|शायद|मेरे|विचार
    |से)\b)*
""")
VERDICT = pattern(rf"(?:(?P<yes>{SAYS_YES})|(?P<no>{SAYS_NO}))(?!\w)(?!\W*{OR}\W+(?:not|{SAYS_YES}|{SAYS_NO})(?!\w))")
# "no" before another word is often not an answer: "no idea", "لا أعرف"
ENDS = folded_pattern(r"\W*\Z|\s?[.,:;!(–—-]|\s(?:it|the|this|that|there|because|since|as)\b|\s(?:है|हैं|क्योंकि|لأن)")
DECLARES = pattern(rf"""
    {ANSWER}|\b(?:the|my|correct) (?:final )?answer\b|\banswer\W{{0,3}}[:=]|\bhallucinat(?:ion|es|ed)\s?[:=]
""")
# "Halüsinasyon: yok", "मतिभ्रम: नहीं"
PRESENCE = folded_pattern(r"""
    (?<!\w)(?:(?:is |contains |has )?hallucinat(?:ion|es|ed|ions)|(?:ال)?(?:هلوسة|تناقض|مهلوسة|मतिभ्रम|हैलुसिनेशन
    |हैलूसिनेशन|विभ्रम|hall?üsinasyon|çelişki))(?: \w+)?[\"'*]{0,4}\s?[:=]
""")
# A conclusion in the middle of a sentence: "the two agree, hence no"
HENCE = pattern(rf"\b{languages.HENCE}")
# In Hindi, "नहीं" is at the end of many sentences whose verb it negates.
AT_END = folded_pattern(rf"""
    (?<!\w)(?:(?P<yes>{SAYS_YES})|(?P<no>no|لا|كلا|hayır(?:dır)?))(?:\s(?:derim|derdim|diyorum|diyebilirim|olmalı
    |olmalıdır|olur|olacaktır))?\W*\Z
""")
WHOLE = pattern(r"(?s)\A(?=.)")
OPEN = folded_pattern(rf"(?<!\w)(?:{OR}|ne|mi|mu|neither|either|هل|إما|क्या)(?!\w)")

# --- statements about the text ------------------------------------------------------------------------

AL = r"(?:[وفبكل]{0,2}(?:ال|لل?)?)"
# A Turkish verb is negated by -m- before its ending: uyuşuyor, uyuşmuyor; -mek and -miş do not negate it.
NOT_TR = r"m(?:[iu]yor|[ae](?!k))"


def verbs(stems: str) -> tuple[str, str]:
    """Return expressions for the affirmative and the negated forms of Turkish verbs."""
    return rf"{spelled(stems)}(?!{NOT_TR})\w*", rf"{spelled(stems)}{NOT_TR}\w*"


DIFFERS_TR, NOT_DIFFERS_TR = verbs("çeliş uydurul çarpıtıl ters\\sdüş")
AGREES_TR, NOT_AGREES_TR = verbs("uyuş örtüş bağdaş eşleş yansıt")
MEANING = folded(r"(?:anlam|bilgi|içerik|şey)\w*")
CHANGES_TR, NOT_CHANGES_TR = verbs("değiş boz çarpıt")
HALLUCINATION_TR = folded(r"hall?üsinasyon")
MEANING_HI = spelled("अर्थ तथ्य जानकारी")
MEANING_AR = folded(rf"(?:أي )?{AL}(?:معنى|معلومة|معلومات|مضمون|حقائق)")
SOURCE_TR = folded(r"(?:asıl|asl|orijinal|özgün|kaynak|metin|metn)\w*")
FAULT = folded(rf"""
    hallucinat\w*|(?:changes|replaces|alters|swaps|distorts)(?! (?:only )?(?:the )?(?:word|order|structure|phras|tense
    |voice|style))|different(?! (?:words?|wording|order|structure|phras|style))|differs?
    |(?:changed|altered|modified|(?:departs|deviates|differs) from)|{AL}(?:هلوسة|هلوسات|مهلوس|مهلوسة|تناقض|تناقضات
    |متناقض|متناقضة|مناقض|مناقضة|خاطئة|خاطئ|مغلوطة|مغلوط)|{AL}(?:مخالف|مخالفة|مخالفات|تعارض|متعارض|متعارضة|مختلف|مختلفة
    |مختلفان|مختلفتان)|{AL}(?:اختلاف|مختلق|مختلقة|ملفق|ملفقة|مفبركة|خطأ|أخطاء)|{AL}(?:محرف|محرفة|تحريف|اختلاق|تلفيق
    |تضليل|مضللة)|{AL}(?:خلافا|بخلاف|عكس)(?= {AL}(?:أصل|أصلية|ما|نص))|{AL}(?:تناقض|تتناقض|يتناقض|يناقض|تهلوس|يهلوس|تخالف
    |يخالف|خالفت|تتعارض|يتعارض|تختلف|يختلف|تحرف|يحرف)|{HALLUCINATION_TR}(?!suz)\w*|gerçek dışı\w*|hata(?!siz)\w*
    |{DIFFERS_TR}|{NOT_AGREES_TR}|tutarsız\w*|uydurma(?![mzy]|dig)\w*|uydurmuş\w*|adds?(?= (?:any|information|details?
    |new|an?)\w*)|(?:yeni|ek) (?:bir )?bilgi|problems?|sorun\w*|{AL}(?:مشكلة|مشاكل)|समस्या
    |(?:yanlış|hatalı|aykırı|uyumsuz|asılsız)\w*|{MEANING} {CHANGES_TR}|{MEANING_HI} (?:(?:को|ही) )?बदल\w*
    |(?:تغير|تتغير|يتغير|تغيرت|غيرت|تغير) {MEANING_AR}|(?:değişen|خلاف|fark|farkı|farklar|farklı|farklıdır|فرق|فروق|अंतर
    |फ़र्क|फर्क)
    # what the original does not have
    |{SOURCE_TR} (?:böyle|bu) [^,;]{{0,30}}?(?:yok|geçmiyor|bulunmuyor|yer almıyor)\w*
    |(?:لم|لا) (?:ترد|يرد|تذكر|يذكر) في {AL}(?:أصل|جملة|نص)|मूल (?:(?:वाक्य|उत्तर) )?में (?:ऐसा|ऐसी
    |यह) [^,;]{{0,30}}?(?:नहीं|नही)|{SOURCE_TR} (?:olmayan|bulunmayan|geçmeyen|belirtilmeyen|yer almayan)|मतिभ्रम
    |मतिभ्रमित|मतिविभ्रम|विभ्रम|हैलुसिनेशन|हैल्यूसिनेशन|हैलूसिनेशन|हैलोसिनेशन|हेलुसिनेशन|हेल्यूसिनेशन|हेलूसिनेशन|भ्रम
    |भ्रामक|खंडन|विरोधाभास|विरोध|गलत|गलती|त्रुटि|(?:मनगढ़ंत|मनगढंत|काल्पनिक|विपरीत|विरुद्ध|भिन्न|अलग|असंगत|झूठ|झूठी|झूठा
    |विरोधाभासी)
""")
FAITHFUL = folded(rf"""
    equivalent|(?:re)?paraphras\w+|rephras\w+|preserves?|unchanged|tamam|yolunda|yerli yerinde|faithful|consistent
    |supported|same|identical|{AL}(?:مطابق|مطابقة|متطابقة|متطابق|متطابقان|متطابقتان|متطابقين|متطابقتين)
    |{AL}(?:صحيحة|صحيح|متسق|متسقة|أمينة|وفية|دقيقة|سليمة)|{AL}(?:متوافق|متوافقة|متفقة|توافق|تطابق|موجودة|موجود|واردة
    |وارد|مذكورة|مذكور|مدعومة)|{AL}(?:تتوافق|يتوافق|توافق|تتطابق|يتطابق|تطابق|يطابق|تتفق|يتفق|تتسق|يتسق)
    |المعنى (?:واحد|نفسه|ذاته)|{AL}(?:متماثلة|متماثلان|متماثلتان)|{MEANING} (?:{NOT_CHANGES_TR}|korun(?!{NOT_TR})\w*)
    |{MEANING_HI} (?:एक )?(?:एक|वही|ही)|{NOT_DIFFERS_TR}|{AGREES_TR}|{HALLUCINATION_TR}suz\w*|doğru(?:dur)?|sadık
    |sadıktır|tutarlı|tutarlıdır|uyumlu|uyumludur|uygun|uygundur|aynı|aynıdır|özdeş|hatasız|hatasızdır
    |(?:अनुरूप|समान|वफ़ादार|सटीक|संगत|सही|सच|मेल|मौजूद)
""")
NEGATION = folded(r"""
    not|no|nothing|never|\w+n't|[وف]?لا(?! شك(?!\w))|[وف]?(?:ليس|ليست|بدون|دون|غير|لم|خالية|خال|تخلو|يخلو)|yok\w*
    |değil\w*|\w+m[iu]yor\w*|\w+m[ae]di\w*|\w+m[ae]z|\w+m[ae]y[ae]n|\w+m[ae]m(?:[ae]kt|i[sk]|al)\w*
    |(?:नहीं|नही|बिना|रहित|मुक्त)
""")
SAID = pattern(rf"(?<!\w)(?:(?:(?P<fault>{FAULT})|(?P<faithful>{FAITHFUL}))ا?|(?P<not>{NEGATION}))(?!\w)")
CLAUSE_END = folded_pattern(r"""
    [,;:()–—]|(?= (?:فلا|ولا) )|(?<!\w)(?:and|but|however|although|though|while|لكن|ama|ancak|ve|लेकिन|परंतु|और)(?!\w)
""")
SAYS_NOTHING = folded_pattern(r"(?<!\w)(?:if|whether|إذا|هل|لو|eğer|ise|değilse|अगर|यदि|क्या)(?!\w)|\?\W*\Z")
# Answers to a question without a yes or no: "İçeriyor mu? İçermiyor.", "هل تهلوس؟ بلى", "… है? नहीं है।"
AGREED = folded_pattern(rf"""
    (?:{SAYS_YES}|بلى|بالفعل|بالتأكيد|طبعا|بالطبع|قطعا|elbette|tabii|kesinlikle|maalesef|öyle|tabii ki|बिल्कुल|बिलकुल
    |अवश्य|ज़रूर|बेशक|जी)
""")
DENIED = folded_pattern(rf"(?:{SAYS_NO}|{NEGATION}|إطلاقا|أبدا|مطلقا|asla|kesinlikle hayır|hiç|हरगिज़|कतई)")
OR_NOT = folded_pattern(r"(?<!\w)(?:या नहीं|أم لا|yoksa|değil mi|ya da|or not)(?!\w).*")
# A reply may repeat the verb of the question: "does it contain a hallucination".
REPEATS_YES = folded(r"(?:var|vardır|içeriyor|içermektedir|içerir|bulunuyor|mevcut|تحتوي|تهلوس|توجد|يوجد|بلى|है)")
REPEATS_NO = folded(r"(?:yok|yoktur|içermiyor|içermemektedir|içermez|bulunmuyor|لا (?:تحتوي|تهلوس|توجد|يوجد)|नहीं है)")
BEING = folded_pattern(rf"""
    \W*(?:(?P<yes>{REPEATS_YES}|true|1|موجود|موجودة)|(?P<no>{REPEATS_NO}|false|0|none|غير (?:موجود|موجودة)
    |tespit edilme\w*))(?!\w)
""")
REPEATED = pattern(rf"\W*(?:(?P<yes>{REPEATS_YES})|(?P<no>{REPEATS_NO}))\W*")
REPEATS = pattern(rf"\W*(?:(?P<yes>{REPEATS_YES})|(?P<no>{REPEATS_NO}))(?=\s?[.,:;!(–—]|\W*\Z)")
# "Certainly, the year was changed" answers the question with yes; used only if nothing else is read.
CERTAINLY = folded_pattern(r"""
    \W*(?:absolutely|certainly|indeed|بالتأكيد|بالطبع|طبعا|بالفعل|elbette|kesinlikle|tabii|बिल्कुल|बिलकुल|अवश्य|बेशक
    |tabii ki)(?:,|\.?\Z| [-–—])
""")
# "Tabii, yardımcı olayım", "Certainly! Please send both sentences": agrees to a request, not with the question.
OFFERS = folded_pattern(r"""
    (?<!\w)(?:here (?:is|are)(?! (?:why|the))|let me|i(?:'ll| will| can|'d)|happy to|please|provide|send|lütfen|yardımcı
    |memnuniyetle|hemen|bakalım|inceleyelim|bakıyorum|gönderin|paylaşın|olabilirim|يرجى|سأساعدك|يسعدني|يمكنني|دعني|أرسل
    |تزويدي|من|فضلك|سأقوم|لنقارن|कृपया|मदद|सहायता|भेजें|दीजिए)(?!\w)
""")
THEN_OFFERS = pattern(rf"\W+(?!here){OFFERS.pattern}")
# "الهلوسة هي …", "Halüsinasyon, … demektir", "मतिभ्रम का अर्थ है …"
DEFINES = folded_pattern(r"""
    \W*(?:(?:تعرف|يقصد ب|المقصود ب|نعني ب)\s?)?ال(?:هلوسة|هلوسات)(?: في [^,.]{0,60}?)?,? (?:هي|هو|تعني|تحدث|تشير|بأنها
    |بأنه|عندما)(?!\w)|\W*hall?üsinasyon(?:lar)?,? [^.]{0,300}?(?:demek(?:tir)?|anlamına gelir|denir|üretme\w*
    |oluşturma\w*|uydurmas\w*|vermesi\w*)\W*\Z|\W*(?:मतिभ्रम|हैलुसिनेशन|हैलूसिनेशन) (?:का (?:अर्थ|मतलब)|तब|वह|ऐसी)
""")
# "It is important to compare the two"
ADVISES = folded_pattern(r"""
    (?<!\w)[وف]?(?:it(?:'s| is) important to|you should|من المهم|من الضروري|يجب|ينبغي|gerekir|gereklidir|önemlidir
    |ज़रूरी है|महत्वपूर्ण है)(?!\w)
""")
AGAIN = folded_pattern(r"""
    \W*(?:wait\b|hold on|correction|düzeltme|düzeltiyorum|pardon|انتظر|لحظة|عفوا|تصحيح|تصويب|bir dakika|bir saniye
    |dur bir|tekrar bak\w*|yeniden bak\w*|bir daha bak\w*|أعدت القراءة|عند إعادة|بعد إعادة|أصحح|रुकिए|रुको|सुधार|माफ़
    |दोबारा देखने)\W*
""")
LETTER = pattern(r"\W*(?:(?P<yes>[ey])|[hn])\W*")
# "Evet de denebilir hayır da", "قد تكون الإجابة نعم وقد تكون لا"
BOTH = folded_pattern(rf"""
    (?<!\w){SAYS_YES} (?:de|da)(?!\w)[^.]{{0,40}}(?<!\w){SAYS_NO} (?:de|da)(?!\w)
    |قد (?:تكون|يكون) [^.,]{{0,30}}{SAYS_YES},? (?:وقد|أو) [^.,]{{0,30}}{SAYS_NO}(?!\w)
""")
# "Yıl hariç her şey doğru", "كل شيء صحيح ما عدا السنة"
EXCEPT = folded_pattern(r"(?<!\w)(?:hariç|dışında|باستثناء|سوى|ما عدا|عدا|के अलावा|को छोड़कर)(?!\w)")
EVERYTHING = folded_pattern(r"(?<!\w)(?:her şey|tüm|bütün|hepsi|كل|جميع|सब|सभी|सबकुछ)(?!\w)")
# The question repeated: "yes/no".
ASKED = pattern(rf"(?<!\w){SAYS_YES}\s?/\s?{SAYS_NO}(?!\w)")
OTHER_LETTERS = pattern(r"[\u0600-ۿऀ-ॿğışĞİŞ]")
SUPPOSED = pattern(r"\W*(?:if|otherwise|when|it depends)\b")
MEANS = pattern(r"\w")
WORDS = pattern(r"\w+")
