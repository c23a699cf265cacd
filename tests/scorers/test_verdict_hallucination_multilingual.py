"""Reading yes or no: phrasings in four languages, properties, time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.verdict_hallucination_multilingual import hallucinates_multilingual

YES, NO = "Yes", "No"

ENGLISH = [
    ("Yes", YES),
    ("yes.", YES),
    ("NO", NO),
    ("no\n", NO),
    ("**Yes**", YES),
    ("`No`", NO),
    ('"Yes"', YES),
    ("[no]", NO),
    ("Ｙｅｓ", YES),
    ("\\boxed{No}", NO),
    ("<answer>yes</answer>", YES),
    ('{"answer": "No"}', NO),
    ("Answer: Yes", YES),
    ("Final answer: **No**", NO),
    ("**Final Verdict: Yes**", YES),
    ("The answer is no.", NO),
    ("My answer is Yes.", YES),
    ("Yes, the sentence contains a hallucination.", YES),
    ("Yes, it hallucinates: the city was changed.", YES),
    ("No, it is faithful.", NO),
    ("No, the sentence does not contain a hallucination.", NO),
    ("No - both say the same.", NO),
    ("The sentence contains a hallucination.", YES),
    ("The sentence does not contain a hallucination.", NO),
    ("The sentence doesn't contain any hallucinations.", NO),
    ("The sentence is hallucinated.", YES),
    ("The sentence is not hallucinated.", NO),
    ("There is no hallucination.", NO),
    ("There is a hallucination in the sentence.", YES),
    ("The sentence hallucinates.", YES),
    ("This sentence is faithful to the original.", NO),
    ("The sentence is not faithful to the original.", YES),
    ("The sentence contradicts the original.", YES),
    ("No hallucination.", NO),
    ("Hallucination: Yes", YES),
    ("Hallucination: no", NO),
    ("At first I would say no. But the year differs. Answer: Yes", YES),
    ("Yes... wait. The two agree. Final answer: No", NO),
    ("<think>Yes or no? Yes.</think>No", NO),
    ("The year was changed from 1990 to 1995. Therefore, the answer is yes.", YES),
    ("The two sentences agree. Therefore, the sentence contains no hallucination.", NO),
    ("Yes\n\nThe original names another city.", YES),
    ("The city is another one.\n\nYes", YES),
    ("No\n\nNo fact was changed.", NO),
    ("It is free of hallucinations.", NO),
    ("The sentence is consistent with the original, so no.", NO),
    ("Yes or No", None),
    ("I cannot tell.", None),
    ("Maybe", None),
    ("<think>Yes", None),
    ("", None),
    ("No idea.", None),
    ("Yes, this sentence hallucinates because the original says 1990, not 1995.", YES),
    ("No, there is no hallucination here.", NO),
    ("The sentence to judge states the same facts as the original.", NO),
    ("I would answer: Yes", YES),
    ("It does hallucinate.", YES),
    ("It doesn't hallucinate.", NO),
    ("Hallucinated: yes", YES),
    ("Does the sentence hallucinate? No.", NO),
    ("Does the sentence hallucinate? **Yes**", YES),
    ("Sentence: ... \nVerdict: Yes, it contains a hallucination.", YES),
    ("Based on the comparison, the sentence contains hallucinated information.", YES),
    ("Based on the comparison, the sentence is not hallucinated; it is identical to the original.", NO),
    ("The sentence is identical to the original.", NO),
    ("The sentence changes the city, which contradicts the original. Yes.", YES),
    ("If the sentence hallucinates, the answer is Yes. It agrees with the original, so the answer is No.", NO),
    ("Not hallucinated", NO),
    ("hallucination", YES),
    ("Yes, but only slightly.", YES),
    ("No. The sentence matches the original exactly.", NO),
    ("There isn't any hallucination in the sentence.", NO),
    ("The sentence does contain a hallucination.", YES),
    ("The claim is supported by the original.", NO),
    ("The claim is not supported by the original.", YES),
    ("Yes/No: Yes", YES),
    ("Yes / No", None),
    ("Neither yes nor no", None),
    ("As an AI, I cannot judge this.", None),
    ("Answer (Yes/No): No", NO),
    ("Original: He was born in Rome.\nSentence: He was born in Paris.\nAnswer: Yes", YES),
    ("no hallucination detected", NO),
    ("The answer is: **No**.", NO),
    ("No changes were made to the facts, so the sentence does not hallucinate.", NO),
    ("Yes. There is no support for the claim in the original.", YES),
]

ARABIC = [
    ("نعم", YES),
    ("لا", NO),
    ("نعم.", YES),
    ("لا،", NO),
    ("**نعم**", YES),
    ("«لا»", NO),
    ("نَعَم", YES),
    ("نـعـم", YES),
    ("الإجابة: نعم", YES),
    ("الاجابة : لا", NO),
    ("الجواب هو: نعم", YES),
    ("الإجابة النهائية: لا.", NO),
    ("نعم، الجملة تحتوي على هلوسة.", YES),
    ("لا، الجملة لا تحتوي على هلوسة.", NO),
    ("لا، الجملة مطابقة للأصل.", NO),
    ("الجملة تحتوي على هلوسة.", YES),
    ("لا تحتوي الجملة على هلوسة.", NO),
    ("لا توجد هلوسة.", NO),
    ("توجد هلوسة في الجملة.", YES),
    ("تغيرت المدينة. لذلك الإجابة هي نعم.", YES),
    ("الجملتان متطابقتان. لذلك الجواب: لا", NO),
    ("<think>نعم؟</think>لا", NO),
    ("الإجابة: لا. تصحيح: الإجابة: نعم", YES),
    ("\u200fنعم\u200f", YES),
    ("Yes", YES),
    ("الإجابة: No", NO),
    ("نعم (yes)", YES),
    ("لا أعرف", None),
    ("نعم أو لا", None),
    ("نعم، هناك هلوسة لأن المدينة تغيرت.", YES),
    ("لا، لا توجد أي هلوسة.", NO),
    ("لا يوجد هلوسة في الجملة", NO),
    ("الجملة لا تحتوي على أي هلوسة.", NO),
    ("ليست هناك هلوسة", NO),
    ("الجملة خالية من الهلوسة.", NO),
    ("هناك تناقض مع الأصل.", YES),
    ("الجملة مطابقة للأصل.", NO),
    ("الجواب: نعم، لأن السنة مختلفة", YES),
    ("إجابتي هي لا", NO),
    ("هل الجملة مهلوسة؟ نعم", YES),
    ("لا أستطيع الحكم", None),
    ("نعم تحتوي الجملة على هلوسة", YES),
    # found to be misread by a reviewer
    ("لا شك أن الجملة تحتوي على هلوسة", "Yes"),
    ("الجملة متطابقة مع الأصل.", "No"),
    ("الجملة خاطئة.", "Yes"),
    ("المعلومات غير صحيحة.", "Yes"),
    ("الإجابة الصحيحة: نعم", "Yes"),
]

TURKISH = [
    ("Evet", YES),
    ("hayır", NO),
    ("EVET.", YES),
    ("HAYIR", NO),
    ("Hayir", NO),
    ("hayi\u0307r", NO),
    ("**Evet**", YES),
    ("'hayır'", NO),
    ("Cevap: Evet", YES),
    ("CEVAP: HAYIR", NO),
    ("Yanıt: hayır.", NO),
    ("Cevabım evet.", YES),
    ("Evet, cümle halüsinasyon içeriyor.", YES),
    ("Hayır, cümle halüsinasyon içermiyor.", NO),
    ("Hayır, cümle aslına sadık.", NO),
    ("Cümle halüsinasyon içeriyor.", YES),
    ("Cümle halüsinasyon içermiyor.", NO),
    ("Cümlede halüsinasyon var.", YES),
    ("Cümlede halüsinasyon yok.", NO),
    ("Halüsinasyon yok.", NO),
    ("Şehir adı değişmiş. Bu nedenle cevap evet.", YES),
    ("İki cümle aynı. Sonuç olarak cevap hayırdır.", NO),
    ("Cevap: hayır. Düzeltme: Cevap: evet", YES),
    ("<think>evet</think>hayır", NO),
    ("Evet\n\nYıl değiştirilmiş.", YES),
    ("Yes", YES),
    ("Cevap: No", NO),
    ("Bilmiyorum", None),
    ("Evet veya hayır", None),
    ("Evet, halüsinasyon var.", YES),
    ("Hayır, herhangi bir halüsinasyon bulunmuyor.", NO),
    ("Halüsinasyon bulunmamaktadır.", NO),
    ("Cümle halüsinasyon içermez.", NO),
    ("Cümle aslıyla çelişiyor.", YES),
    ("Cümle aslıyla çelişmiyor.", NO),
    ("Cümle aslına sadık değil.", YES),
    ("Cümle aslına sadık.", NO),
    ("Bu cümle bir halüsinasyondur.", YES),
    ("Bu cümle halüsinasyon değildir.", NO),
    ("Cevap: Evet, çünkü yıl farklı.", YES),
    ("Cümle halüsinasyon içeriyor mu? Hayır.", NO),
    ("Halüsinasyon içermemektedir.", NO),
    ("Evet/Hayır", None),
    ("Emin değilim", None),
    # found to be misread by a reviewer
    ("Cümlede herhangi bir halüsinasyon bulunmuyor.", "No"),
    ("Halüsinasyon görünmüyor.", "No"),
    ("Bu cümle tamamen halüsinasyonsuz.", "No"),
    ("Cümlenin halüsinasyon içerdiğini düşünmüyorum.", "No"),
    ("Cümle yanlıştır.", "Yes"),
    ("Cümle hatalı.", "Yes"),
]

HINDI = [
    ("हाँ", YES),
    ("हां", YES),
    ("हा", YES),
    ("नहीं", NO),
    ("नही", NO),
    ("हाँ।", YES),
    ("नहीं।", NO),
    ("**हाँ**", YES),
    ("“नहीं”", NO),
    ("जी हाँ", YES),
    ("जी नहीं।", NO),
    ("उत्तर: हाँ", YES),
    ("उत्तर : नहीं", NO),
    ("जवाब: नहीं।", NO),
    ("अंतिम उत्तर: हाँ", YES),
    ("उत्तर हाँ है।", YES),
    ("हाँ, वाक्य में मतिभ्रम है।", YES),
    ("नहीं, वाक्य में कोई मतिभ्रम नहीं है।", NO),
    ("नहीं, वाक्य मूल के अनुरूप है।", NO),
    ("वाक्य में मतिभ्रम है।", YES),
    ("वाक्य में मतिभ्रम नहीं है।", NO),
    ("वाक्य में कोई मतिभ्रम नहीं है।", NO),
    ("वाक्य में हैलुसिनेशन है।", YES),
    ("शहर बदल दिया गया है। इसलिए उत्तर हाँ है।", YES),
    ("दोनों वाक्य समान हैं। अतः उत्तर: नहीं", NO),
    ("उत्तर: नहीं। सुधार: उत्तर: हाँ", YES),
    ("<think>हाँ</think>नहीं", NO),
    ("हाँ\n\nवर्ष बदल दिया गया है।", YES),
    ("Yes", YES),
    ("उत्तर: No", NO),
    ("मुझे नहीं पता।", None),
    ("हाँ या नहीं", None),
    ("हाँ, इसमें मतिभ्रम है क्योंकि शहर बदल गया है।", YES),
    ("जी हां, वाक्य गलत जानकारी देता है।", YES),
    ("नहीं, इसमें कोई मतिभ्रम नहीं है।", NO),
    ("इसमें कोई मतिभ्रम नहीं है", NO),
    ("यह वाक्य मतिभ्रम है।", YES),
    ("वाक्य मूल से मेल खाता है, इसलिए उत्तर नहीं है।", NO),
    ("मेरा उत्तर है: हाँ", YES),
    ("उत्तर - नहीं", NO),
    ("क्या वाक्य में मतिभ्रम है? हाँ।", YES),
    ("वाक्य मतिभ्रम से मुक्त है।", NO),
    ("नहीं\n\nदोनों वाक्य एक ही बात कहते हैं।", NO),
    ("पता नहीं", None),
    ("हाँ/नहीं", None),
    # found to be misread by a reviewer
    ("यह वाक्य गलत है।", "Yes"),
    ("वाक्य सही है।", "No"),
]


# One answer is conceded and the other chosen, or the answer stands at the end of a sentence.
CONCEDING = [
    ("Başta evet gibi görünüyor ama iki cümle aynı, dolayısıyla hayır.", NO),
    ("Evet denebilir, ancak cevabım hayır.", NO),
    ("Hayır gibi görünse de evet.", YES),
    ("İlk bakışta hayır, fakat şehir değiştiği için evet.", YES),
    ("İlk bakışta evet, ama aslında hayır.", NO),
    ("Evet demek mümkün görünse de doğru cevap hayır.", NO),
    ("Önce hayır diyecektim, ama yıl farklı: evet", YES),
    ("قد تبدو الإجابة نعم، لكن الجملتين متطابقتان، إذن لا.", NO),
    ("قد يبدو أن الجواب لا، لكن المدينة تغيرت، فالجواب نعم.", YES),
    ("للوهلة الأولى نعم، لكن بعد التدقيق لا.", NO),
    ("ربما نعم، ولكن الأرجح لا.", NO),
    ("قد يبدو لا، لكن الإجابة نعم", YES),
    ("رغم أن الجملة تبدو مطابقة، فالإجابة نعم.", YES),
    ("पहली नज़र में हाँ लगता है, लेकिन उत्तर नहीं है।", NO),
    ("शायद नहीं लगे, परंतु उत्तर हाँ है।", YES),
    ("It may look like yes, but the answer is no.", NO),
    ("At first glance no, but the city differs, so yes.", YES),
    ("Ne evet ne hayır.", None),
    ("نعم أو لا", None),
    ("Cümle halüsinasyon içeriyor gibi görünse de aslında orijinaliyle aynı.", NO),
    ("قد تبدو الجملة صحيحة، لكنها تحتوي على هلوسة.", YES),
    ("Kesin bir şey söyleyemem ama cevabım evet.", YES),
    ("Hayır, diyemem ki halüsinasyon var.", NO),
    ("Hayır; ikisi de aynı bilgiyi veriyor.", NO),
    ("Evet. Çünkü tarih değişmiş.", YES),
    ("Buna evet derdim.", YES),
    ("جوابي: نعم، مع أن الفرق بسيط.", YES),
    ("الجملة لا تهلوس.", NO),
    ("Cümle halüsinasyon değil, orijinaliyle birebir aynı.", NO),
    ("yes / evet", YES),
    ("Cevap evet olmalı.", YES),
    ("Hayır, cümle doğru.", NO),
    ("Görünüşte evet ama aslında hayır.", NO),
    ("Evet gibi görünse de hayır.", NO),
    ("Hayır denebilirdi, fakat tarih değişmiş; bu yüzden evet.", YES),
    ("Cümle ilk bakışta doğru görünüyor, ancak halüsinasyon içeriyor.", YES),
    ("Cümlede küçük bir fark olsa da halüsinasyon yok.", NO),
    ("قد تبدو الجملة مهلوسة، لكنها مطابقة للأصل.", NO),
    ("تبدو الإجابة لا، ولكن بعد المقارنة: نعم.", YES),
    ("رغم تشابه الجملتين، الجواب نعم.", YES),
    ("مع أن الصياغة مختلفة، فإن الجملة لا تحتوي على هلوسة.", NO),
    ("أميل إلى نعم، لكن الإجابة النهائية لا.", NO),
    ("الإجابة هي لا، رغم اختلاف الصياغة.", NO),
    ("Cevap: Evet. Gerçi fark küçük.", YES),
    ("Sanırım hayır.", NO),
    ("Bence evet, çünkü yıl farklı.", YES),
    ("Kesinlikle hayır.", NO),
    ("أعتقد أن الإجابة نعم.", YES),
    ("بالتأكيد لا.", NO),
    ("Muhtemelen evet.", YES),
    ("على الأرجح نعم.", YES),
]

DECLINING = [
    "لا أستطيع الحكم على الجملة.",
    "Emin değilim.",
    "Karar veremiyorum.",
    "Cümlenin halüsinasyon içerip içermediğini belirleyemiyorum.",
    "Cümlenin doğru olup olmadığını söyleyemem.",
    "मैं निर्णय नहीं ले सकता।",
    "मुझे नहीं पता।",
    "لا يمكنني تحديد ما إذا كانت الجملة تحتوي على هلوسة.",
    "لا أعرف",
    "Bilmiyorum",
    "यह बताना संभव नहीं है कि वाक्य में मतिभ्रम है या नहीं।",
    "I cannot determine whether the sentence hallucinates.",
    "لا أدري إن كانت الجملة مهلوسة.",
    "لا يمكن الجزم بوجود هلوسة.",
    "Halüsinasyon olup olmadığına karar veremiyorum.",
    "Bu cümleyi değerlendiremem.",
    "Evet mi hayır mı emin değilim.",
]


@pytest.mark.parametrize(("reply", "expected"), [*ENGLISH, *ARABIC, *TURKISH, *HINDI, *CONCEDING])
def test_phrasings(reply: str, expected: str | None) -> None:
    assert hallucinates_multilingual(reply).value == expected


def test_enough_phrasings_a_language() -> None:
    for phrasings, least in ((ENGLISH, 30), (ARABIC, 15), (TURKISH, 15), (HINDI, 15)):
        assert len({reply for reply, expected in phrasings if expected}) >= least


@pytest.mark.parametrize(
    ("reply", "reason"),
    [("", "empty"), ("<think>yes", "unclosed reasoning"), ("Yes or no", "no verdict"), ("Paris", "no verdict")],
)
def test_an_unparsed_reply_says_why(reply: str, reason: str) -> None:
    assert hallucinates_multilingual(reply) == Answer(None, reason)


@pytest.mark.parametrize("reply", DECLINING)
def test_a_reply_that_declines_abstains(reply: str) -> None:
    assert hallucinates_multilingual(reply) == Answer(None, "declines", abstained=True)


WORDS = st.sampled_from(
    [(reply, found) for reply, found in (*ENGLISH, *ARABIC, *TURKISH, *HINDI) if found and " " not in reply]
)


@given(
    WORDS,
    st.sampled_from(["", ".", "!", "؟", "،", "।", "。", " \n", "**", "»"]),
    st.sampled_from(["", "\n", "«", "- ", "> "]),
)
def test_marks_around_a_word_change_nothing(word: tuple[str, str], after: str, before: str) -> None:
    assert hallucinates_multilingual(before + word[0] + after).value == word[1]


@given(st.text())
def test_any_text_is_read_or_unparsed(text: str) -> None:
    found = hallucinates_multilingual(text)
    assert found.value in (YES, NO) or (found.value is None and found.reason)


@pytest.mark.parametrize(
    "unit", ["yes ", "no no ", "لا توجد هلوسة ", "hayır değil ", "नहीं ", "answer: ", "hallucination ", "not ", "("]
)
def test_ten_million_characters_take_well_under_a_second(unit: str) -> None:
    reply = unit * (10_000_000 // len(unit)) + "\n\nAnswer: yes"
    start = time.perf_counter()
    assert hallucinates_multilingual(reply).value == YES
    assert time.perf_counter() - start < 2
