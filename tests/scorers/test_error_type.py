"""Reading the type of an error: phrasings in four languages, properties, time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.scorers.error_type import error_type
from halu_tasks.scorers.folding import fold

E, R, S, N = "entity", "relation", "sentence", "none"

ENGLISH = [
    ("entity", E),
    ("Entity", E),
    ("RELATION.", R),
    ("sentence\n", S),
    ("**Relation**", R),
    ("`sentence`", S),
    ('"entity"', E),
    ("[relation]", R),
    ("(sentence)", S),
    ("Entities", E),
    ("ｅｎｔｉｔｙ", E),
    ("ＲＥＬＡＴＩＯＮ　ＥＲＲＯＲ", R),
    ("entity error", E),
    ("Entity Errors", E),
    ("relation hallucination", R),
    ("Relational error.", R),
    ("Sentence-level error", S),
    ("sentence_error", S),
    ("<relation_error>", R),
    ("<entity_error>He was born in Rome.</entity_error>", E),
    ('{"error_type": "sentence"}', S),
    ('```json\n{"class": "relation"}\n```', R),
    ("\\boxed{entity}", E),
    ("<answer>relation</answer>", R),
    ("Answer: sentence", S),
    ("Final answer: **entity**", E),
    ("Error type: Relation", R),
    ("The type of error is entity.", E),
    ("The error type that best describes the issue is: relation", R),
    ("Class:\nsentence", S),
    ("The error in the edited sentence is a relation error.", R),
    ("The edited sentence contains an entity error.", E),
    ("This is a sentence error, since nothing of the original is left.", S),
    ("It falls under sentence errors.", S),
    ("I would classify it as an entity hallucination.", E),
    ("This should be classified as a relation error.", R),
    ("The best choice is relation.", R),
    ("Entity: the town was replaced.", E),
    ("Relation - the verb was turned round.", R),
    ("sentence, because the edited sentence contradicts the original as a whole.", S),
    ("entity\n\nThe edited sentence names another city than the original sentence.", E),
    ("The verb is right and the sentence reads well. Therefore, the error is entity.", E),
    ("It is not an entity error but a relation error.", R),
    ("It isn't a sentence error; it's an entity error.", E),
    ("This is a relation error rather than an entity error.", R),
    ("Answer: entity. On reflection, the answer is relation.", R),
    ("This is an entity error. Actually, it is a sentence error.", S),
    ("Entity errors exchange a thing and relation errors a verb. Here a verb changed. Answer: relation", R),
    ("<think>entity? relation?</think>sentence", S),
    ("The relationship between the two was reversed.", R),
    ("entity, relation, sentence", None),
    ("entity or relation", None),
    ("It could be an entity or a relation error.", None),
    ("Either an entity error or a sentence error.", None),
    ("Answer: entity and relation", None),
    ("The edited sentence is wrong.", None),
    ("The original sentence says 1990.", None),
    ("I cannot tell.", None),
    ("Entity error? No. Relation error.", None),
    ("There is no entity error; the verb was changed, which is a relation error.", R),
    ("<think>entity", None),
    ("", None),
    ("none", N),
    ("No error.", N),
    ("0", N),
    ("Answer: none", N),
]

ARABIC = [
    ("كيان", E),
    ("الكيان", E),
    ("كيان.", E),
    ("«كيان»", E),
    ("**علاقة**", R),
    ("علاقة؛", R),
    ("العلاقة", R),
    ("علاقه", R),
    ("جملة", S),
    ("الجملة.", S),
    ("جُمْلَة", S),
    ("كِيَانٌ", E),
    ("عَلَاقَةٌ", R),
    ("عـــلاقـــة", R),
    ("كـيـان", E),
    ("خطأ كيان", E),
    ("خطأ في الكيان", E),
    ("خطأ الكيان", E),
    ("خَطَأٌ فِي العَلاقَةِ", R),
    ("خطأ علاقة", R),
    ("خطا علائقي", R),
    ("خطأ على مستوى الجملة", S),
    ("خطأ في الجملة", S),
    ("خطأ جملة", S),
    ("هلوسة الكيان", E),
    ("هلوسة في العلاقة", R),
    ("هلوسة جملة", S),
    ("أخطاء الكيانات", E),
    ("الإجابة: كيان", E),
    ("الاجابة : علاقة", R),
    ("الجواب: جملة.", S),
    ("الجواب هو: علاقة", R),
    ("نوع الخطأ: كيان", E),
    ("نوع الخطأ هو خطأ في العلاقة.", R),
    ("نوع الخطأ في الجملة المعدلة هو: كيان", E),
    ("التصنيف النهائي: جملة", S),
    ("الفئة: علاقة", R),
    ("هذا خطأ في الكيان، لأن المدينة تغيرت.", E),
    ("هذا خطأ علاقة وليس خطأ كيان.", R),
    ("ليس خطأ كيان بل خطأ في العلاقة.", R),
    ("يوجد خطأ كيان في الجملة المعدلة.", E),
    ("الجملة المعدلة تحتوي على خطأ في العلاقة.", R),
    ("تغيرت المدينة في الجملة المعدلة. لذلك فهو خطأ كيان.", E),
    ("يُصنَّف على أنه خطأ في الجملة.", S),
    ("الإجابة: كيان. تصحيح: الإجابة: علاقة", R),
    ("entity", E),
    ("النوع: entity", E),
    ("خطأ من نوع relation", R),
    ("الإجابة: ｓｅｎｔｅｎｃｅ", S),
    ("كيان (entity)", E),
    ("\u200fعلاقة\u200f", R),
    ("\u202bجملة\u202c", S),
    ("کیان", E),
    ("كيان، علاقة، جملة", None),
    ("كيان أو علاقة؟", None),
    ("كيان وعلاقة", None),
    ("الجملة المعدلة خاطئة.", None),
    ("لا أعرف", None),
    ("الخطأ هو خطأ في الجملة لأن الجملة كلها تناقض الأصل.", S),
    ("خطأ كيان، لا خطأ علاقة", E),
    ("هناك خطأ في الكيان وليس في العلاقة.", E),
    ("لا يوجد خطأ", N),
    ("لا يوجد خطأ في الجملة", N),
    ("٠", N),
]

TURKISH = [
    ("varlık", E),
    ("Varlık", E),
    ("VARLIK", E),
    ("VARLİK", E),
    ("varlik.", E),
    ("ilişki", R),
    ("İlişki", R),
    ("İLİŞKİ", R),
    ("ILISKI", R),
    ("i\u0307lis\u0327ki", R),
    ("Iliski!", R),
    ("**ilişki**", R),
    ("cümle", S),
    ("CÜMLE", S),
    ("Cu\u0308mle.", S),
    ("'cumle'", S),
    ("ｖａｒｌıｋ", E),
    ("varlık hatası", E),
    ("VARLIK HATASI", E),
    ("Varlik Hatasi", E),
    ("ilişki hatası.", R),
    ("İLİŞKİ HATASI", R),
    ("ilişkisel hata", R),
    ("cümle hatası", S),
    ("CÜMLE HATASI", S),
    ("cümle düzeyinde hata", S),
    ("varlık halüsinasyonu", E),
    ("ilişki halüsinasyonu", R),
    ("Cevap: varlık", E),
    ("CEVAP: İLİŞKİ", R),
    ("Yanıt: cümle", S),
    ("Hata türü: cümle", S),
    ("Hata Türü: **İlişki**", R),
    ("Hatanın türü varlık hatasıdır.", E),
    ("Sınıf: varlık", E),
    ("Bu bir varlık hatasıdır.", E),
    ("Bu bir ilişki hatasıdır, çünkü fiil değişmiş.", R),
    ("Bu, cümle hatasıdır.", S),
    ("Düzenlenmiş cümlede varlık hatası var.", E),
    ("Düzenlenen cümle bir ilişki hatası içeriyor.", R),
    ("Varlık hatası değil, ilişki hatasıdır.", R),
    ("Bu bir varlık hatası değildir; cümle hatasıdır.", S),
    ("İlişki hatası olarak sınıflandırılır.", R),
    ("Şehir adı değişmiş. Bu nedenle varlık hatasıdır.", E),
    ("Sonuç olarak hata türü ilişkidir.", R),
    ("varlık: şehir değiştirilmiş", E),
    ("ilişki, çünkü fiil tersine dönmüş", R),
    ("Cevap: varlık. Düzeltme: Cevap: ilişki", R),
    ("entity", E),
    ("ENTİTY", E),
    ("RELATİON", R),
    ("Hata türü: entity", E),
    ("Cevap: Relation error", R),
    ("<think>varlık</think>ilişki", R),
    ("ilişki hatası (varlık hatası değil)", R),
    ("Cümle hatası: cümlenin tamamı asılla çelişiyor.", S),
    ("varlık, ilişki, cümle", None),
    ("varlık veya ilişki", None),
    ("Varlık ya da ilişki hatası olabilir.", None),
    ("Düzenlenmiş cümle yanlış.", None),
    ("Bilmiyorum", None),
    ("hata yok", N),
]


HINDI = [
    ("इकाई", E),
    ("सत्ता", E),
    ("एंटिटी", E),
    ("एन्टिटी", E),
    ("संबंध", R),
    ("सम्बन्ध", R),
    ("संबन्ध।", R),
    ("रिश्ता", R),
    ("वाक्य", S),
    ("वाक्य।", S),
    ("**इकाई**", E),
    ("“संबंध”", R),
    ("- वाक्य", S),
    ("इकाई त्रुटि", E),
    ("इकाई की त्रुटि", E),
    ("संबंध त्रुटि।", R),
    ("संबंध में त्रुटि", R),
    ("वाक्य त्रुटि", S),
    ("वाक्य-स्तरीय त्रुटि", S),
    ("वाक्य स्तर की त्रुटि", S),
    ("इकाई संबंधी त्रुटि", E),
    ("इकाई मतिभ्रम", E),
    ("संबंध हैलुसिनेशन", R),
    ("वाक्य मतिभ्रम", S),
    ("उत्तर: इकाई", E),
    ("उत्तर : संबंध", R),
    ("जवाब: वाक्य।", S),
    ("अंतिम उत्तर: **संबंध**", R),
    ("त्रुटि का प्रकार: इकाई", E),
    ("त्रुटि का प्रकार संबंध है।", R),
    ("त्रुटि का प्रकार: वाक्य त्रुटि", S),
    ("श्रेणी: संबंध", R),
    ("वर्ग: इकाई", E),
    ("यह एक इकाई त्रुटि है।", E),
    ("यह संबंध त्रुटि है क्योंकि क्रिया बदल दी गई है।", R),
    ("यह वाक्य त्रुटि है, क्योंकि पूरा वाक्य मूल के विपरीत है।", S),
    ("संपादित वाक्य में इकाई त्रुटि है।", E),
    ("संपादित वाक्य में संबंध की त्रुटि है।", R),
    ("यह इकाई त्रुटि नहीं है, यह संबंध त्रुटि है।", R),
    ("यह इकाई त्रुटि नहीं बल्कि वाक्य त्रुटि है।", S),
    ("शहर का नाम बदल दिया गया है। इसलिए यह इकाई त्रुटि है।", E),
    ("अतः उत्तर संबंध है।", R),
    ("निष्कर्ष: वाक्य", S),
    ("इसे इकाई त्रुटि के रूप में वर्गीकृत किया जाता है।", E),
    ("उत्तर: इकाई। सुधार: उत्तर: संबंध", R),
    ("entity", E),
    ("उत्तर: relation", R),
    ("त्रुटि का प्रकार: sentence", S),
    ("इकाई (entity)", E),
    ("<think>इकाई?</think>वाक्य", S),
    ("इकाई: शहर बदल दिया गया है", E),
    ("संबंध, क्योंकि क्रिया उलट दी गई है", R),
    ("इस वाक्य में वाक्य त्रुटि है।", S),
    ("गलती का प्रकार: संबंध", R),
    ("इकाई की ग़लती", E),
    ("संबंध की गलती", R),
    ("\u0930\u093f\u0936\u094d\u0924\u0947 की त्रुटि", R),
    ("इकाई, संबंध, वाक्य", None),
    ("इकाई या संबंध", None),
    ("यह इकाई या वाक्य त्रुटि हो सकती है।", None),
    ("संपादित वाक्य गलत है।", None),
    ("मूल वाक्य में 1990 लिखा है।", None),
    ("मुझे नहीं पता।", None),
    ("कोई नहीं", N),
    ("कोई त्रुटि नहीं", N),
    ("कोई त्रुटि नहीं है।", N),
    ("संपादित वाक्य में कोई त्रुटि नहीं है।", N),
    ("०", N),
    ("उत्तर: कोई नहीं", N),
    ("शून्य", N),
]


@pytest.mark.parametrize(("reply", "expected"), [*ENGLISH, *ARABIC, *TURKISH, *HINDI])
def test_phrasings(reply: str, expected: str | None) -> None:
    assert error_type(reply).value == expected


def test_at_least_forty_phrasings_a_language() -> None:
    for phrasings in (ENGLISH, ARABIC, TURKISH, HINDI):
        assert len({reply for reply, expected in phrasings if expected in (E, R, S)}) >= 40


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        ("<think>entity", "unclosed reasoning"),
        ("entity, relation", "several types"),
        ("Paris", "no verdict"),
    ],
)
def test_an_unparsed_reply_says_why(reply: str, reason: str) -> None:
    assert error_type(reply) == (None, reason)


WORDS = st.sampled_from(
    [(reply, kind) for reply, kind in (*ENGLISH, *ARABIC, *TURKISH, *HINDI) if kind and " " not in reply]
)


@given(
    WORDS,
    st.sampled_from(["", ".", "!", "؟", "،", "。", " \n", "**", "»"]),
    st.sampled_from(["", "\n", "«", "- ", "> "]),
)
def test_marks_around_a_word_change_nothing(word: tuple[str, str], after: str, before: str) -> None:
    assert error_type(before + word[0] + after).value == word[1]


@given(st.text())
def test_any_text_is_read_or_unparsed(text: str) -> None:
    found = error_type(text)
    assert found.value in (E, R, S, N) or (found.value is None and found.reason)


@given(st.text())
def test_folding_is_idempotent(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    "unit",
    [
        "entity ",
        "خطأ في ",
        "varlık hatası değil ",
        "no no ",
        "error type: ",
        "entity, ",
        "ـ",
        "\u064b",
        "(",
        "the sentence ",
    ],
)
def test_ten_million_characters_take_well_under_a_second(unit: str) -> None:
    reply = unit * (10_000_000 // len(unit)) + "\n\nAnswer: relation"
    start = time.perf_counter()
    assert error_type(reply).value == R
    assert time.perf_counter() - start < 2
