"""True or false, in Chinese: `true_false_zh`. The rules are in `verdict`."""

from __future__ import annotations

import re

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.declining import declining, stated
from halu_tasks.scorers.reading.labels.rewording import corrected, left_open
from halu_tasks.scorers.reading.labels.truth import FIELD, label, read_truth, said, truth
from halu_tasks.scorers.reading.labels.verdict_text import DECLARED, last_declared, matches, read_reply

_CHINESE = re.compile("[\u3400-\u9fff]")
_DECLARED = re.compile(
    r"^答\s?:|(?:判断|结论|答案|结果|判定|判决|裁定|评判|评价|最终|回答)(?:结果|判断|答案|结论)?(?:是|为|应为|应该是|:)+"
)
# A verdict that needs no subject: it stands alone, or a mark follows it.
_BARE = re.compile(
    r"\W*(?:严格来说|可以算|能算|算|回?[说讲答]得|答(?=[对错])|的确|确实|其实|应该|应当|应|因此|所以|综上|总之|故|据此|最终|[,:]|该|这道?题|这个|此|它"
    r"|上述|回答|答案|说法|陈述|是|为|完全|基本|大致|大体|总体|属于|判断|判定|判|打|给|[我会]+选|选)*"
    r"(?P<no>不能算|不能说|不算|不是|并非|不|没有?|非)?(?:完全|太|够|十分|很|是)?"
    r"(?:(?P<true>正确|准确|属实|真实|无误|对|是|真|成立|可靠)|(?:错误?|虚假|假|否|有误|失实|不实|误))"
    r"的?(?:\W|了|$)"
)
# "正确" before a noun or "是" speaks of the right answer, not of the given one.
_JUDGED = re.compile(
    r"(?P<no>不能(?:算|说是?|视为|认为|称为)?(?:该|这个|此)?(?:回答|说法)?|不是|并非|并不|不够|不太|不完全|未见|未发现|看不出|不|没有|没|无|未|非)?(?:完全|存在|发现|任何|出现|明显|事实|性|有"
    r"|是|的|很|太|什么){0,6}"
    r"(?:(?P<true>正确|准确|属实|真实|符合(?:事实|实际|史实)|相符|一致|吻合|成立|无误|是对的|是真的|可信|没错|没有?(?:问题|毛病)|站得住脚|(?:的确|确实|事实)?如此(?=\W|$))"
    r"|(?:错误|错|有误|虚假|幻觉|失实|不实|不符|存在问题|有(?:问题|毛病)|是假的|矛盾|[搞弄说写]错|混淆|搞混|张冠李戴|虚构|捏造|编造"
    r"|杜撰|谣言|无中生有|有出入|相悖|相违背|站不住脚|误导"
    r"|(?:没有|缺乏|毫无|没)(?:任何|事实)?(?:依据|根据)|应(?:该|当)?[是为][^,;。]{1,30},?\s?(?:而不是|而非|并非|不是"
    r"|(?:该|原)?(?:回答|答案)?(?:却|则|但|被)?(?:写成|写作|说成|误作|误为|误写|当成))))"
    r"(?!的?(?:答案|说法应|名称|年份|选项|应|是|为|地))"
)
# What is asked: "whether it is right"
_ASKED = re.compile("(?:是否|能否|有没有)[^,;:?。]{0,8}|是对是错|是真是假|对还是错|正确与否|对不对|正误|真伪|对错")
# "I do not agree with the answer"
_AGREES = re.compile(
    r"(?:^|[,;:]|我们?|本人|笔者|对此|个人)(?:对此|完全|基本|非常|十分|表示|也|很|并|绝对|只能|认为|大体上){0,3}"
    r"(?P<no>不太?|无法|难以|不能|不敢|没法|很难|并不)?(?:完全|表示)?(?:(?P<yes>同意|赞同|认同|认可|赞成|苟同)|反对|质疑)"
    r"(?=[该这此上题的回说答观一个]|\W|$)"
)
_DOUBTED = re.compile(
    "(?:不认为|不觉得|不相信|难以认为|(?:不应该?|不该|不能|不可|不宜|不必|无法)(?:说|认|视|算|称|把|将|被?判)|(?:谈|算|称|说)不上|没有?理由)"
    "[^,;:。]*$"
)
# "把它判为正确是不合适的": what it would be wrong to call the answer
_MISCALLED = re.compile(
    "(?:把|将|认为|说|称|判)[^,;:。?]{0,20}?(?P<called>不?(?:正确|对|错误|错)的?)[^,;:。]{0,3}?是?(?:不(?:合适|合理|恰当|妥|公平|公允|对|正确|准确)|错误|欠妥)的?(?=\\W|$)"
)
# A question about the verdict and its answer, or the question repeated
_FIELD = re.compile(
    "是否(?:正确|属实|准确|真实|符合(?:事实|史实))[\"'”|\\s]*[:?|]\\s*(?=[\"'“|\\s]*(?:是|否|不|正确|错误|对|错|true|false|yes|no))",
    re.I,
)
_VERDICT = "(?:正确|错误|对|错|真|假|是|否)"
_EITHER = re.compile(f"{_VERDICT}\\s*(?:还是|或者?|/|、)\\s*{_VERDICT}的?\\W{{0,3}}")
_TURNS = re.compile("但|不过|然而|可是|只是")
_LETTER = re.compile("\\W*(?:(?P<true>t)|f)(?:\\W|$)", re.IGNORECASE)
_MARKS = {**dict.fromkeys(map(ord, "√✓✔✅☑"), "正确"), **dict.fromkeys(map(ord, "×✗✘❌"), "错误")}
_PART = re.compile("部分|不完全|一半")


def true_false_zh(reply: str) -> Answer[str]:
    """Whether the reply calls an answer right ("True") or wrong ("False"), in Chinese or English.

    C-FAITH's true-or-false format. Traditional characters are read like simplified ones.
    """
    return read_reply(reply, _truth, _rewritten)


def _rewritten(text: str) -> str:
    text = text.translate(_MARKS)
    return _EITHER.sub(" ", _FIELD.sub("判断:", text.replace("：", ":").replace("？", "?")))


def _truth(sentences: list[str]) -> Answer[str]:
    """The verdict of Chinese sentences, declared or judged last, best behind a correction; English ones as such."""
    if not any(map(_CHINESE.search, sentences)):
        return truth(sentences)
    sentences = [_MISCALLED.sub(_not_so, sentence) for sentence in said(sentences)]
    later = corrected(sentences)
    if later and (answer := _read_all(later)).value:
        return answer
    return _read_all(sentences)


def _not_so(found: re.Match[str]) -> str:
    return f"答案{found['called'].removeprefix('不')}" if found["called"][0] == "不" else f"答案不{found['called']}"


def _read_all(sentences: list[str]) -> Answer[str]:
    declared = last_declared(sentences, {DECLARED: read_truth, FIELD: read_truth, _DECLARED: _read}, line=_line)
    if declared:
        return Answer(declared[1])
    if left_open(sentences):
        return Answer(None, "left open")
    value = next(filter(None, map(_judgment, reversed(stated(sentences)))), None)
    if value:
        return Answer(value, inferred=True)
    return Answer(None, "declines", abstained=True) if any(map(declining, sentences)) else Answer(None, "no verdict")


def _read(text: str) -> str | None:
    """The verdict that `text` begins with, in Chinese or English, or None."""
    found = _BARE.match(text)
    if found is None:
        letter = _LETTER.match(text)
        return label(letter["true"] is not None) if letter else read_truth(text)
    return label(bool(found["true"]) != bool(found["no"]) and not _PART.search(found[0]))


def _line(text: str) -> str | None:
    """The verdict of a line; one that turns to something else ("基本正确,但年份有误,…") is read to its end instead."""
    return None if _TURNS.search(text) else _read(text)


def _judgment(sentence: str) -> str | None:
    """The last judgment in a Chinese sentence; "partly right" is not right."""
    value = None
    sentence = _ASKED.sub("", sentence)
    for found in matches(_AGREES, sentence):
        value = label(bool(found["yes"]) != bool(found["no"]))
    if value:
        return value
    for found in matches(_JUDGED, sentence):
        part = _PART.search(sentence, max(found.start() - 4, 0), found.end())
        good = bool(found["true"]) != bool(found["no"]) and not part
        value = label(good != bool(_DOUBTED.search(sentence, max(found.start() - 30, 0), found.start())))
    return value
