"""Whether a reply says that a text hallucinates, in English, Arabic, Turkish or Hindi.

A reply is read as English first (`verdict_hallucination`). Where that finds nothing it is folded (`folding`), and
read in steps; a later step is tried only when the earlier ones found nothing.

1. A declared verdict, the last one: the yes or no behind "Answer:", "the answer is", "الإجابة:", "Cevap:",
   "उत्तर:" and the like, or at the end of a sentence ("şehir değiştiği için evet"), and a first or last line that is
   it or begins with it ("No, it is faithful"). A question with a short answer declares what they give together
   ("Halüsinasyon var mı? Yok.", "Sadık mı? Evet."), and so does a field ("Halüsinasyon: yok").
2. What the last concluding sentence says of the text ("Therefore, the sentence contains a hallucination").
3. What the last sentence at all says of it.
4. A first sentence that agrees with the question ("Certainly, the year was changed").

A second thought ("Bir dakika, …", "انتظر، …") begins the reply anew where what follows says anything. Where the
English reader only infers a verdict from a reply in another language, what is read here comes first.

In steps 2 and 3 a hallucination, contradiction or the like is a yes, faithfulness a no, and a negation turns either
round; of several clauses the last one that says so counts. Questions and conditions say nothing. A definition of
hallucination says nothing of the text. "Yes or no" is no verdict, and what a sentence only concedes counts for
nothing (`concession`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.concession import without_concessions, without_declining
from halu_tasks.scorers.reading.labels.hallucination import NO, YES, asserted, hallucinates
from halu_tasks.scorers.reading.labels.verdict_text import (
    CONCLUDES,
    DECLARED,
    REACH,
    behind,
    ends,
    joined,
    last_declared,
    matches,
    read_reply,
)
from halu_tasks.text.folding import any_of, fold, spelled

_SAYS_YES = rf"(?:yes|{spelled('نعم بنعم أجل')}|evet(?:tir)?|{spelled('हाँ हा हाँजी')})"
_SAYS_NO = rf"(?:no|{spelled('لا كلا')}|{fold('hayır')}(?:{fold('dır')})?|{spelled('नहीं नही ना')})"
_OR = rf"(?:or|and|veya|ya da|{spelled('أو أم و या अथवा')})"
_FILLER = re.compile(
    r"(?:\W|\b(?:"
    + any_of(
        "is are was be would should must will clearly definitely simply therefore thus so a the final answer verdict"
    )
    + "|"
    + spelled(
        "هي هو إذن النهائية النهائي الصحيحة الصحيح أعتقد أظن أن ربما بالتأكيد بالطبع على الأرجح kesinlikle"
        " bu açıkça olarak bence"
        " sanırım galiba muhtemelen herhalde büyük ihtimalle जी तो है स्पष्ट बिल्कुल बिलकुल शायद मेरे विचार से"
    )
    + r")\b)*"
)
_VERDICT = re.compile(
    rf"(?:(?P<yes>{_SAYS_YES})|(?P<no>{_SAYS_NO}))(?!\w)(?!\W*{_OR}\W+(?:not|{_SAYS_YES}|{_SAYS_NO})(?!\w))"
)
# "no" with a word behind it is often no answer: "no idea", "لا أعرف"
_ENDS = re.compile(
    r"\W*\Z|\s?[.,:;!(–—-]|\s(?:it|the|this|that|there|because|since|as)\b|\s" + spelled("है हैं क्योंकि لأن")
)

_DECLARES = re.compile(
    rf"{DECLARED.pattern}|\b(?:the|my|correct) (?:final )?answer\b"
    rf"|\banswer\W{{0,3}}[:=]|\bhallucinat(?:ion|es|ed)\s?[:=]"
    rf"|\b[وف]?{spelled('الإجابة الجواب إجابتي جوابي النتيجة الحكم الخلاصة')}\b"
    rf"|\b{spelled('cevap cevabım cevabı yanıt yanıtım sonuç karar kararım')}\b"
    rf"|\b{spelled('उत्तर जवाब निष्कर्ष निर्णय परिणाम')}\b"
)
# "Halüsinasyon: yok", "मतिभ्रम: नहीं"
_PRESENCE = re.compile(
    rf"(?<!\w)(?:(?:is |contains |has )?hallucinat(?:ion|es|ed|ions)"
    rf"|(?:{fold('ال')})?(?:{spelled('هلوسة تناقض مهلوسة मतिभ्रम हैलुसिनेशन हैलूसिनेशन विभ्रम')}"
    rf"|{fold('hall?üsinasyon')}|{fold('çelişki')}))"
    rf"(?: \w+)?[\"'*]{{0,4}}\s?[:=]"
)
_CONCLUDES = re.compile(
    rf"{CONCLUDES.pattern}|\W*(?:{spelled('لذلك ولذلك لذا ولذا وبالتالي بالتالي إذن وعليه ختاما باختصار')}"
    rf"|{fold('بناء على')}|{fold('في الختام')}|{fold('bu nedenle')}|{fold('bu yüzden')}|{fold('sonuç olarak')}"
    rf"|{fold('bu durumda')}|{spelled('dolayısıyla özetle yani kısacası इसलिए अतः')}|{fold('इस प्रकार')})\b"
)

# a conclusion in the middle of a sentence: "the two agree, hence no"
_HENCE = re.compile(
    rf"\b(?:so|hence|thus|therefore|{spelled('إذن إذا لذلك لذا فإذن dolayısıyla yani इसलिए अतः अत')}"
    rf"|{fold('bu nedenle')}|{fold('bu yüzden')})\b"
)
# In Hindi "नहीं" ends many a sentence whose verb it negates.
_AT_END = re.compile(
    rf"(?<!\w)(?:(?P<yes>{_SAYS_YES})|(?P<no>no|{spelled('لا كلا')}|{fold('hayır')}(?:{fold('dır')})?))"
    rf"(?:\s(?:{spelled('derim derdim diyorum diyebilirim olmalı olmalıdır olur olacaktır')}))?\W*\Z"
)
_LAST = 40  # characters of the last words, with the marks behind them
_WHOLE = re.compile(r"\A(?=.)", re.DOTALL)
_OPEN = re.compile(rf"(?<!\w)(?:{_OR}|ne|mi|mu|neither|either|{spelled('هل إما क्या')})(?!\w)")


# --- what a sentence says of the text -----------------------------------------------------------------

_AL = "(?:[وفبكل]{0,2}(?:ال|لل?)?)"
# A Turkish verb denies with -m- before its ending: uyuşuyor, uyuşmuyor; -mek and -miş deny nothing.
_NOT_TR = "m(?:[iu]yor|[ae](?!k))"


def _verbs(stems: str) -> tuple[str, str]:
    """Expressions for forms of the verbs: those that affirm and those that deny."""
    return rf"{spelled(stems)}(?!{_NOT_TR})\w*", rf"{spelled(stems)}{_NOT_TR}\w*"


_DIFFERS_TR, _NOT_DIFFERS_TR = _verbs("çeliş uydurul çarpıtıl ters\\sdüş")
_AGREES_TR, _NOT_AGREES_TR = _verbs("uyuş örtüş bağdaş eşleş yansıt")
_MEANING = rf"{spelled('anlam bilgi içerik şey')}\w*"
_CHANGES_TR, _NOT_CHANGES_TR = _verbs("değiş boz çarpıt")
_HALLUCINATION_TR = fold("hall?üsinasyon")
_MEANING_HI = spelled("अर्थ तथ्य जानकारी")
_MEANING_AR = rf"(?:{spelled('أي')} )?{_AL}{spelled('معنى معلومة معلومات مضمون حقائق')}"
_SOURCE_TR = rf"{spelled('asıl asl orijinal özgün kaynak metin metn')}\w*"
_FAULT = (
    r"hallucinat\w*|(?:changes|replaces|alters|swaps|distorts)(?! (?:only )?(?:the )?(?:word|order|structure"
    r"|phras|tense|voice|style))"
    r"|different(?! (?:words?|wording|order|structure|phras|style))|differs?|(?:changed|altered|modified"
    r"|(?:departs|deviates|differs) from)"
    rf"|{_AL}{spelled('هلوسة هلوسات مهلوس مهلوسة تناقض تناقضات متناقض متناقضة مناقض مناقضة خاطئة خاطئ مغلوطة مغلوط')}"
    rf"|{_AL}{spelled('مخالف مخالفة مخالفات تعارض متعارض متعارضة مختلف مختلفة مختلفان مختلفتان')}"
    rf"|{_AL}{spelled('اختلاف مختلق مختلقة ملفق ملفقة مفبركة خطأ أخطاء')}"
    rf"|{_AL}{spelled('محرف محرفة تحريف اختلاق تلفيق تضليل مضللة')}"
    rf"|{_AL}{spelled('خلافا بخلاف عكس')}(?= {_AL}{spelled('أصل أصلية ما نص')})"
    rf"|{_AL}{spelled('تناقض تتناقض يتناقض يناقض تهلوس يهلوس تخالف يخالف خالفت تتعارض يتعارض تختلف يختلف تحرف يحرف')}"
    rf"|{_HALLUCINATION_TR}(?!suz)\w*|{fold('gerçek dışı')}\w*|{fold('hata')}(?!siz)\w*|{_DIFFERS_TR}"
    rf"|{_NOT_AGREES_TR}|{fold('tutarsız')}\w*"
    rf"|{fold('uydurma')}(?![mzy]|dig)\w*|{fold('uydurmuş')}\w*"
    rf"|adds?(?= (?:any|information|details?|new|an?)\w*)|(?:{spelled('yeni ek')}) (?:bir )?{fold('bilgi')}"
    rf"|problems?|{fold('sorun')}\w*|{_AL}{spelled('مشكلة مشاكل')}|{fold('समस्या')}"
    rf"|{spelled('yanlış hatalı aykırı uyumsuz asılsız')}\w*"
    rf"|{_MEANING} {_CHANGES_TR}|{_MEANING_HI} (?:{spelled('को ही')} )?{fold('बदल')}\w*"
    rf"|{spelled('تغير تتغير يتغير تغيرت غيرت تغير')} {_MEANING_AR}"
    rf"|{spelled('değişen خلاف fark farkı farklar farklı farklıdır فرق فروق अंतर फ़र्क फर्क')}"
    # what the original does not have
    rf"|{_SOURCE_TR} {spelled('böyle bu')} [^,;]{{0,30}}?(?:{spelled('yok geçmiyor bulunmuyor')}"
    rf"|{fold('yer almıyor')})\w*"
    rf"|{spelled('لم لا')} {spelled('ترد يرد تذكر يذكر')} {fold('في')} {_AL}{spelled('أصل جملة نص')}"
    rf"|{fold('मूल')} (?:{spelled('वाक्य उत्तर')} )?{fold('में')} {spelled('ऐसा ऐसी यह')} [^,;]{{0,30}}?"
    rf"{spelled('नहीं नही')}"
    rf"|{_SOURCE_TR} (?:{spelled('olmayan bulunmayan geçmeyen belirtilmeyen')}|{fold('yer almayan')})"
    rf"|{spelled('मतिभ्रम मतिभ्रमित मतिविभ्रम विभ्रम हैलुसिनेशन हैल्यूसिनेशन हैलूसिनेशन हैलोसिनेशन')}"
    rf"|{spelled('हेलुसिनेशन हेल्यूसिनेशन हेलूसिनेशन भ्रम भ्रामक खंडन विरोधाभास विरोध गलत गलती त्रुटि')}"
    rf"|{spelled('मनगढ़ंत मनगढंत काल्पनिक विपरीत विरुद्ध भिन्न अलग असंगत झूठ झूठी झूठा विरोधाभासी')}"
)
_FAITHFUL = (
    rf"equivalent|(?:re)?paraphras\w+|rephras\w+|preserves?|unchanged|{spelled('tamam yolunda')}"
    rf"|{fold('yerli yerinde')}"
    rf"|faithful|consistent|supported|same|identical"
    rf"|{_AL}{spelled('مطابق مطابقة متطابقة متطابق متطابقان متطابقتان متطابقين متطابقتين')}"
    rf"|{_AL}{spelled('صحيحة صحيح متسق متسقة أمينة وفية دقيقة سليمة')}"
    rf"|{_AL}{spelled('متوافق متوافقة متفقة توافق تطابق موجودة موجود واردة وارد مذكورة مذكور مدعومة')}"
    rf"|{_AL}{spelled('تتوافق يتوافق توافق تتطابق يتطابق تطابق يطابق تتفق يتفق تتسق يتسق')}"
    rf"|{fold('المعنى')} {spelled('واحد نفسه ذاته')}|{_AL}{spelled('متماثلة متماثلان متماثلتان')}"
    rf"|{_MEANING} (?:{_NOT_CHANGES_TR}|{fold('korun')}(?!{_NOT_TR})\w*)"
    rf"|{_MEANING_HI} (?:{fold('एक')} )?{spelled('एक वही ही')}"
    rf"|{_NOT_DIFFERS_TR}|{_AGREES_TR}|{_HALLUCINATION_TR}{fold('suz')}\w*|{fold('doğru')}(?:dur)?"
    rf"|{spelled('sadık sadıktır tutarlı tutarlıdır uyumlu uyumludur uygun uygundur aynı aynıdır')}"
    rf"|{spelled('özdeş hatasız hatasızdır')}"
    rf"|{spelled('अनुरूप समान वफ़ादार सटीक संगत सही सच मेल मौजूद')}"
)
_NEGATION = (
    # "no doubt" denies nothing
    rf"not|no|nothing|never|\w+n't|[وف]?{fold('لا')}(?! {fold('شك')}(?!\w))"
    rf"|[وف]?{spelled('ليس ليست بدون دون غير لم خالية خال تخلو يخلو')}"
    rf"|yok\w*|{fold('değil')}\w*|\w+m[iu]yor\w*|\w+m[ae]di\w*|\w+m[ae]z|\w+m[ae]y[ae]n"
    rf"|\w+m[ae]m(?:[ae]kt|i[sk]|al)\w*"
    rf"|{spelled('नहीं नही बिना रहित मुक्त')}"
)
_SAID = re.compile(rf"(?<!\w)(?:(?:(?P<fault>{_FAULT})|(?P<faithful>{_FAITHFUL}))ا?|(?P<not>{_NEGATION}))(?!\w)")
_CLAUSE_END = re.compile(
    rf"[,;:()–—]|(?= (?:{spelled('فلا ولا')}) )|(?<!\w)(?:and|but|however|although|though|while"
    rf"|{spelled('لكن ama ancak ve लेकिन परंतु और')})(?!\w)"
)
_SAYS_NOTHING = re.compile(rf"(?<!\w)(?:if|whether|{spelled('إذا هل لو eğer ise değilse अगर यदि क्या')})(?!\w)|\?\W*\Z")


# What answers a question without a yes or no: "İçeriyor mu? İçermiyor.", "هل تهلوس؟ بلى", "… है? नहीं है।"
_AGREED = re.compile(
    rf"(?:{_SAYS_YES}|{spelled('بلى بالفعل بالتأكيد طبعا بالطبع قطعا elbette tabii kesinlikle maalesef öyle')}"
    rf"|{fold('tabii ki')}"
    rf"|{spelled('बिल्कुल बिलकुल अवश्य ज़रूर बेशक जी')})"
)
_DENIED = re.compile(
    rf"(?:{_SAYS_NO}|{_NEGATION}|{spelled('إطلاقا أبدا مطلقا asla')}|{fold('kesinlikle hayır')}|{fold('hiç')}"
    rf"|{spelled('हरगिज़ कतई')})"
)
_OR_NOT = re.compile(
    rf"(?<!\w)(?:{fold('या नहीं')}|{fold('أم لا')}|{fold('yoksa')}|{fold('değil mi')}|{fold('ya da')}|or not)(?!\w).*"
)
_MOST_ANSWERED = 4  # words of an answer that is read so

# A reply that repeats the verb of the question: "does it contain a hallucination".
_REPEATS_YES = rf"(?:{spelled('var vardır içeriyor içermektedir içerir bulunuyor mevcut تحتوي تهلوس توجد يوجد بلى है')})"
_REPEATS_NO = (
    rf"(?:{spelled('yok yoktur içermiyor içermemektedir içermez bulunmuyor')}"
    rf"|{fold('لا')} {spelled('تحتوي تهلوس توجد يوجد')}"
    rf"|{fold('नहीं है')})"
)
_BEING = re.compile(
    rf"\W*(?:(?P<yes>{_REPEATS_YES}|true|1|{spelled('موجود موجودة')})|(?P<no>{_REPEATS_NO}|false|0|none"
    rf"|{fold('غير')} {spelled('موجود موجودة')}"
    rf"|{fold('tespit edilme')}\w*))(?!\w)"
)
_REPEATED = re.compile(rf"\W*(?:(?P<yes>{_REPEATS_YES})|(?P<no>{_REPEATS_NO}))\W*")
_REPEATS = re.compile(rf"\W*(?:(?P<yes>{_REPEATS_YES})|(?P<no>{_REPEATS_NO}))(?=\s?[.,:;!(–—]|\W*\Z)")
# "Certainly, the year was changed" agrees with what was asked; counted where nothing else is read.
_CERTAINLY = re.compile(
    rf"\W*(?:absolutely|certainly|indeed|{spelled('بالتأكيد بالطبع طبعا بالفعل')}"
    rf"|{spelled('elbette kesinlikle tabii बिल्कुल बिलकुल अवश्य बेशक')}"
    rf"|{fold('tabii ki')})(?:,|\.?\Z| [-–—])"
)

# "Tabii, yardımcı olayım", "Certainly! Please send both sentences": agrees with a request, and not with the question.
_OFFERS = re.compile(
    r"(?<!\w)(?:here (?:is|are)(?! (?:why|the))|let me|i(?:'ll| will| can|'d)|happy to|please|provide|send"
    rf"|{spelled('lütfen yardımcı memnuniyetle hemen bakalım inceleyelim bakıyorum gönderin paylaşın olabilirim')}"
    rf"|{spelled('يرجى سأساعدك يسعدني يمكنني دعني أرسل تزويدي من فضلك سأقوم لنقارن')}"
    rf"|{spelled('कृपया मदद सहायता भेजें दीजिए')})(?!\w)"
)

_THEN_OFFERS = re.compile(rf"\W+(?!here){_OFFERS.pattern}")

# "الهلوسة هي …", "Halüsinasyon, … demektir", "मतिभ्रम का अर्थ है …"
_DEFINES = re.compile(
    rf"\W*(?:(?:تعرف|يقصد ب|المقصود ب|نعني ب)\s?)?{fold('ال')}{spelled('هلوسة هلوسات')}"
    rf"(?: {fold('في')} [^,.]{{0,60}}?)?,? (?:{spelled('هي هو تعني تحدث تشير بأنها بأنه')}|{fold('عندما')})(?!\w)"
    rf"|\W*{fold('hall?üsinasyon')}(?:lar)?,? [^.]{{0,300}}?(?:{fold('demek')}(?:tir)?|{fold('anlamına gelir')}"
    rf"|{fold('denir')}|{fold('üretme')}\w*|{fold('oluşturma')}\w*|{fold('uydurma')}s\w*|{fold('vermesi')}\w*)\W*\Z"
    rf"|\W*{spelled('मतिभ्रम हैलुसिनेशन हैलूसिनेशन')} (?:{fold('का')} (?:{spelled('अर्थ मतलब')})|{fold('तब')}"
    rf"|{fold('वह')}|{fold('ऐसी')})"
)
# "It is important to compare the two"
_ADVISES = re.compile(
    rf"(?<!\w)[وف]?(?:it(?:'s| is) important to|you should|{fold('من المهم')}|{fold('من الضروري')}|{fold('يجب')}"
    rf"|{fold('ينبغي')}"
    rf"|{fold('gerekir')}|{fold('gereklidir')}|{fold('önemlidir')}|{fold('ज़रूरी है')}|{fold('महत्वपूर्ण है')})(?!\w)"
)
_AGAIN = re.compile(
    rf"\W*(?:wait\b|hold on|correction|{spelled('düzeltme düzeltiyorum pardon انتظر لحظة عفوا تصحيح تصويب')}"
    rf"|{fold('bir dakika')}|{fold('bir saniye')}|{fold('dur bir')}|{fold('tekrar bak')}\w*|{fold('yeniden bak')}\w*"
    rf"|{fold('bir daha bak')}\w*|{fold('أعدت القراءة')}|{fold('عند إعادة')}|{fold('بعد إعادة')}|{fold('أصحح')}"
    rf"|{spelled('रुकिए रुको सुधार माफ़')}|{fold('दोबारा देखने')})\W*"
)
_MOST_SENTENCES = 2_000  # at either end; no real reply has more
_LETTER = re.compile(r"\W*(?:(?P<yes>[ey])|[hn])\W*")
# "Evet de denebilir hayır da", "قد تكون الإجابة نعم وقد تكون لا"
_BOTH = re.compile(
    rf"(?<!\w){_SAYS_YES} (?:de|da)(?!\w)[^.]{{0,40}}(?<!\w){_SAYS_NO} (?:de|da)(?!\w)"
    rf"|{fold('قد')} {spelled('تكون يكون')} [^.,]{{0,30}}{_SAYS_YES},? {spelled('وقد أو')}"
    rf" [^.,]{{0,30}}{_SAYS_NO}(?!\w)"
)
# "Yıl hariç her şey doğru", "كل شيء صحيح ما عدا السنة"
_EXCEPT = re.compile(
    rf"(?<!\w)(?:{spelled('hariç dışında باستثناء سوى')}|{fold('ما عدا')}|{fold('عدا')}|{fold('के अलावा')}"
    rf"|{fold('को छोड़कर')})(?!\w)"
)
_EVERYTHING = re.compile(rf"(?<!\w)(?:{fold('her şey')}|{spelled('tüm bütün hepsi كل جميع सब सभी सबकुछ')})(?!\w)")
_BUT = re.compile(rf"(?<!\w)(?:but|however|[وف]?{fold('لكن')}\w*|{spelled('ama ancak fakat oysa लेकिन परंतु मगर')})(?!\w)")

# what the question asked for, repeated
_ASKED = re.compile(rf"(?<!\w){_SAYS_YES}\s?/\s?{_SAYS_NO}(?!\w)")


def hallucinates_multilingual(reply: str) -> Answer[str]:
    """Whether the reply says that a text hallucinates: "Yes", "No", or unparsed."""
    english = hallucinates(reply)
    if english.value and not english.inferred:
        return english
    found = read_reply(reply, _read, _rewritten)
    text = ends(reply)
    # To the English reader "false" in {"halüsinasyon": false} would be a fault, and so would the name be in
    # {"hallucination": "لا"}.
    english_first = not _OTHER_LETTERS.search(text) and (found.inferred or not _PRESENCE.search(fold(text)))
    if english.value:
        return found if found.value and not english_first else english
    return english if english.abstained and not found.value else found


_OTHER_LETTERS = re.compile("[\u0600-\u06ff\u0900-\u097fğışĞİŞ]")


def _rewritten(text: str) -> str:
    return _ASKED.sub("/", fold(text))


def _read(sentences: list[str]) -> Answer[str]:
    sentences = [
        one
        for one in sentences[:_MOST_SENTENCES] + sentences[_MOST_SENTENCES:][-_MOST_SENTENCES:]
        if _MEANS.search(one)
    ]
    if len(sentences) == 1 and (letter := _LETTER.fullmatch(sentences[0])):
        return Answer(YES if letter["yes"] else NO)
    again = next((index for index in range(len(sentences) - 1, 0, -1) if _AGAIN.match(sentences[index])), None)
    if again is not None:
        amended = _read_on([_AGAIN.sub("", sentences[again], count=1) or "-", *sentences[again + 1 :]])
        if amended.value:
            return amended
    return _read_on(sentences)


def _read_on(sentences: list[str]) -> Answer[str]:
    if not sentences:
        return Answer(None, "no verdict")
    sentences = list(_answered(sentences))
    kept = [
        one
        for one in without_declining(sentences)
        if not _BOTH.search(one) and not _DEFINES.match(one) and (asserted(one) or not _SUPPOSED.match(one))
    ]
    found = _stated(without_concessions(kept, _says, _decides, _DECLARES)) if kept else Answer[str](None)
    if found.value is None and kept != sentences:
        return Answer(None, "declines", abstained=True)
    return found


_SUPPOSED = re.compile(r"\W*(?:if|otherwise|when|it depends)\b")
_MEANS = re.compile(r"\w")


def _answered(sentences: list[str]) -> Iterator[str]:
    """The sentences, a question and its short answer replaced by the verdict that they give."""
    taken = False
    for sentence, following in pairwise([*sentences, ""]):
        answer = _answer_to(sentence, following) if sentence[-1] == "?" and not taken else None
        if answer:
            yield f"verdict: {answer.lower()}"
        elif not taken:
            yield sentence
        taken = answer is not None


def _answer_to(question: str, following: str) -> str | None:
    """The verdict that the question and what follows it give, or None if that does not answer it."""
    words = _WORDS.findall(_CLAUSE_END.split(following, maxsplit=1)[0])
    if not 0 < len(words) <= _MOST_ANSWERED:
        return None
    first = words[0]
    topic = _claimed(_OR_NOT.sub("", question.rstrip("?")))
    if any(map(_DENIED.fullmatch, words)):
        agrees = False
    elif _AGREED.fullmatch(first) or first in _WORDS.findall(question):
        agrees = True
    else:
        return None
    if topic is None and not _VERDICT.fullmatch(first):
        return None
    return YES if agrees == (topic != NO) else NO


_WORDS = re.compile(r"\w+")


def _stated(sentences: list[str]) -> Answer[str]:
    markers = {_DECLARES: _repeated, _PRESENCE: _present, _HENCE: _alone, _WHOLE: _ending}
    if declared := last_declared(sentences, markers, _alone):
        return Answer(declared[1])
    sentences = [kept for one in joined(sentences) if (kept := _asserted(one))]
    for among in (filter(_CONCLUDES.match, reversed(sentences)), reversed(sentences)):
        if value := next(filter(None, map(_said, among)), None):
            return Answer(value, inferred=True)
    if sentences and _CERTAINLY.match(sentences[0]) and not any(map(_asks, sentences)):
        return Answer(YES, inferred=True)
    return Answer(None, "no verdict")


def _asserted(sentence: str) -> str:
    """What a sentence says of the text at hand, and not of hallucinations or of comparing at large."""
    return "" if _DEFINES.match(sentence) or _ADVISES.search(sentence) else asserted(sentence)


def _asks(sentence: str) -> bool:
    return sentence[-1] == "?" or _OFFERS.search(sentence) is not None


def _says(text: str) -> bool:
    return _decides(text) or _said(text) is not None


def _decides(text: str) -> bool:
    return bool(_alone(text) or _ending(text) or any(_introduced(behind(found)) for found in matches(_DECLARES, text)))


def _ending(text: str) -> str | None:
    """The verdict that a sentence ends in."""
    found = _AT_END.search(text, max(len(text) - _LAST, 0))
    if found is None or _OPEN.search(text, max(found.start() - REACH, 0), found.start()):
        return None
    return YES if found["yes"] else NO


def _present(text: str) -> str | None:
    """Whether the text begins with a yes, a no, or a word for being there or not."""
    begins = _BEING.match(text)
    return _introduced(text) if begins is None else YES if begins["yes"] else NO


def _repeated(text: str) -> str | None:
    """The verdict that the text begins with, if only by repeating the verb of the question."""
    found = _REPEATED.match(text)
    if found is None or not _ENDS.match(text, found.end()):
        return _introduced(text)
    return YES if found["yes"] else NO


def _introduced(text: str) -> str | None:
    """The verdict that the text begins with, or None."""
    filler = _FILLER.match(text)
    found = _VERDICT.match(text, filler.end() if filler else 0)
    return None if found is None else YES if found["yes"] else NO


def _alone(text: str) -> str | None:
    """The verdict that a line is, or begins with."""
    if repeated := _REPEATS.match(text):
        return YES if repeated["yes"] else NO
    filler = _FILLER.match(text)
    found = _VERDICT.match(text, filler.end() if filler else 0)
    if found is None or not (found["yes"] or _ENDS.match(text, found.end())):
        return None
    if _THEN_OFFERS.match(text, found.end()):
        return None
    return YES if found["yes"] else NO


def _said(sentence: str) -> str | None:
    """What the last clause that says so makes of the text."""
    if _SAYS_NOTHING.search(sentence):
        turns = list(_BUT.finditer(sentence))
        sentence = sentence[turns[-1].end() :] if turns else ""
    return None if _SAYS_NOTHING.search(sentence) else _claimed(sentence)


def _claimed(sentence: str) -> str | None:
    value = None
    for clause in _CLAUSE_END.split(sentence):
        said = [found.lastgroup for found in _SAID.finditer(clause)]
        found = next((kind for kind in said if kind != "not"), None)
        if found:
            value = YES if (found == "fault") != (said.count("not") % 2 == 1) else NO
    return YES if value == NO and _EXCEPT.search(sentence) and _EVERYTHING.search(sentence) else value
