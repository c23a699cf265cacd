"""A reply as it is read: what is read of it is made once, when it is first needed."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple, Self

from halu_tasks.scorers.answer import EMPTY, REQUEST_FAILED, UNPARSED, Answer
from halu_tasks.scorers.reading.fields import JsonValue, values
from halu_tasks.scorers.reading.lexicon import load
from halu_tasks.scorers.reading.lines import BULLET, NUMBER, TICKED, Line, kinds, lines
from halu_tasks.scorers.reading.reasoning import HINT, REACT, TOKEN, strip_reasoning

# No real reply is longer. Of a longer one, from a model in an endless loop, the two ends are read.
_HEAD, _TAIL = 5_000, 20_000
_MOST, _LONGEST = 3_000, 1_000  # sentences, and characters of one
_BOX = re.compile(r"\\boxed\s?\{|\\(?:(?:text|math)[a-z]{0,8}|emph|underline|quad)\s?\{?|\\[()\[\]]")
# a letter in a formula is no option
_FORMULA = re.compile(r"\\[A-Za-z]{2,20}(?:\{(?:[^{}]|\{[^{}]{0,100}\}){0,200}\})+")
_ANSWER_TAG = re.compile(r"<(/?)(?:final[_ ]?)?(?:answer|verdict|label|judge?ment|choice|result)>", re.IGNORECASE)
# it begins with a set of characters, which are looked for faster than what may precede them
_TAG = re.compile(
    r"[<>/](?:(?<=<)/?(?:br|hr|p|li|ul|ol|b|i|u|em|strong|div|span|code|pre|reasoning|answer|verdict|label)(?: ?/)?>"
    r"|(?<! .)[<>/]?(?=\w)|(?<=<)(?=\w{1,12}>)|(?<=\w>))"
)
_PLAIN = {
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys(map(ord, '*`#~$"＊＿＃“”„‟«»「」『』【】{}[]\ufeff\u3000'), " "),
    # invisible
    **dict.fromkeys([0x00AD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFE0F], ""),
    **dict.fromkeys(map(ord, "‘’‚‛ʼ"), "'"),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\ufe63"), "-"),
    ord("_"): " ",
    **dict(zip(map(ord, "認擇會錯誤對確實準無沒說問題斷結論為應該屬偽內覺選項這個與發現實據證爲"),
               "认择会错误对确实准无没说问题断结论为应该属伪内觉选项这个与发现实据证为", strict=True)),
}  # fmt: skip
_PLAIN_IN_BRACKETS = {code: plain for code, plain in _PLAIN.items() if chr(code) not in "[]"}
# between letters, it is a hyphen: NON–FACTUAL
_DASH = re.compile(r"(?<=[^\W\d_])[\u2013\u2212](?=[^\W\d_])")
_DIGIT = re.compile(r"(?![0-9])\d")
MARKUP = " \t>*_#"
"""What surrounds a line in Markdown."""
# "[[A>>B]]": the marks of tags are taken off
_RATED = re.compile(r"(?<![A-Za-z])([A-Z])\s?([<>=])\2{0,2}\s?([A-Z])(?![A-Za-z])")
_UNTICKED = re.compile(r"(?m)^[ \t*-]*\[ ?\].*$|\[ ?\][^\[\n]*")
_LIST_MARK = re.compile(rf"[>\s]*(?:{BULLET}|{NUMBER})|\s*>+\s+")
# several words of the judged text, within a sentence, say nothing of it
_QUOTATION = re.compile(r"(?<=\w )[\"“](?=(?:[^\s\"”]+ ){3})[^\"”\n]{1,500}[\"”](?=,? \w)")
QUOTED = " ⋯ "
"""What stands in the place of a quotation in a plain sentence."""
_GLUED = re.compile(r"。(?=[^\s\"'”’」』）》)\]])|[!?;](?=[\u3400-\u9fff])")
_END = re.compile(r" (?<=[.!?;。] )(?<!^[A-Z]\. )")
# the message of a server is short, and nothing else is said
_LONGEST_MESSAGE, _MOST_MESSAGE_LINES = 2_000, 8
_OF_ERROR = {
    *("error", "errors", "message", "code", "status", "type", "detail", "details", "param", "request_id", "object"),
    *("success", "user_id", "timestamp", "path"),
}
# a reply that goes on to answer
_DECLARES = re.compile(r"\b(?:verdict|answer|label|judge?ment|conclusion)\s*(?:is\b|[:：])", re.IGNORECASE)
# characters of a line that may be repeated from the prompt, of one that is no part of another by chance, and of one
# that says nothing although it stands alone
_LINE_OF_PROMPT, _LONG_LINE, _PARAGRAPH = 8, 40, 120
_FENCE = re.compile(r"(?m)^[ \t>]*(?:`{3,}|~{3,})[ \t]*\w{0,20}[ \t]*$")
_SPACES = re.compile(r"(?<=\S)\s{20,}(?=\S)")
# a base model goes on with the next question of the prompt's pattern
_NEXT_TASK = re.compile(r"(?<=\n)[ \t]{0,20}(?:#+ *|\*\*)?(?:Task:\s*)?Question(?:\*\*)?:")
_BOXED = re.compile(r"\$*\\boxed\{(?:\\text\{)?([^{}\n]{1,500})\}{1,2}\$*")
_TAGGED = re.compile(r"<([A-Za-z]\w{0,30})>([^<>]{1,5000})</\1>")
_OF_ANSWER = {"wrong", "replacement", "mask", "final", "entity", "sentence", "passage"}


class Sentence(NamedTuple):
    """A plain sentence of a reply.

    Attributes:
        text: The sentence without markup.
        starts_line: Whether it begins a line.
        is_item: Whether its line is an item of a list or a row of a table.
        line: The line that it stands on, as the model wrote it.
    """

    text: str
    starts_line: bool
    is_item: bool
    line: str = ""


class ReplyText(str):
    """A reply as the model wrote it, and what is read of it.

    If the request failed, the model wrote nothing, and the text is empty.

    Attributes:
        prompt: What the model was asked; whatever the reply repeats of it says nothing.
        failure: Why the request failed, or the message of a server in the place of a reply; otherwise empty.
    """

    prompt: str
    failure: str

    def __new__(cls, reply: str, prompt: str = "", failure: str | None = None) -> Self:
        """Return a reply to a prompt; one that is a `ReplyText` already is returned itself.

        Args:
            reply: The reply.
            prompt: What the model was asked; empty if that is not known.
            failure: Why the request failed, empty if it did not; None if the reply itself tells.
        """
        if isinstance(reply, cls):
            return reply
        failure = _server_message(reply) if failure is None else failure
        self = super().__new__(cls, "" if failure else reply)
        self.prompt, self.failure = prompt, failure
        return self

    def until(self, end: int) -> ReplyText:
        """Return the beginning of the reply up to an offset, without white space at its end."""
        return ReplyText(self[:end].rstrip(), self.prompt, self.failure)

    @cached_property
    def text(self) -> str:
        """The reply without reasoning; empty if that does not end."""
        return self._split or ""

    @property
    def text_start(self) -> int:
        """Where the text without reasoning begins in the reply; 0 if it is not one part of it."""
        return max(self.rfind(self.text), 0)

    @cached_property
    def _split(self) -> str | None:
        may_reason = HINT.search(self.lower()) or TOKEN.match(self) or REACT[0].match(self)  # most have none
        return strip_reasoning(self, self.prompt) if may_reason else str(self)

    @cached_property
    def missing(self) -> Answer[Any] | None:
        """The answer of a reply without anything to read, because it failed, is empty or ends before its reasoning."""
        if self._split is None:
            return Answer(None, "unclosed reasoning")
        if self.text.strip():
            return None
        if self.failure:
            return Answer(None, self.failure, REQUEST_FAILED)
        return Answer(None, "empty", UNPARSED if self.strip() else EMPTY)

    @cached_property
    def values(self) -> list[JsonValue]:
        """The JSON objects that are not part of another."""
        return [*values(self.without_prompt, "{")] if "{" in self.text else []

    @cached_property
    def sentences(self) -> list[Sentence]:
        """The plain sentences that the prompt does not have."""
        return sentences(self.without_prompt)

    @cached_property
    def without_prompt(self) -> str:
        """The text without what it repeats of the prompt."""
        text = self.text
        if "\\n" in text and "\n" not in text.strip():
            text = text.replace("\\n", "\n")  # line feeds as JSON writes them
        return _without_prompt(ends(text), self.prompt)

    @cached_property
    def plain(self) -> str:
        """The answer alone: without fences, and of boxes and tags named after an answer, the content."""
        return _unwrapped(ends(self.text))

    @cached_property
    def lines(self) -> list[Line]:
        """The lines of the answer, without list marks."""
        return [*lines(self.plain)]

    def is_of_prompt(self, line: str) -> bool:
        """Return whether the prompt has a line, as one of its own or as a long part of one."""
        return bool(self.prompt) and _is_of(line, self.prompt)


def _is_of(line: str, prompt: str) -> bool:
    if len(line) < _LINE_OF_PROMPT and not line.endswith((":", "：")):  # a cue may be short
        return False
    return line in _lines(prompt) or (len(line) >= _LONG_LINE and line in prompt)


def _without_prompt(text: str, prompt: str) -> str:
    """Return a text without what it repeats of a prompt: adjacent lines, a cue or a paragraph.

    A single line may also choose what the prompt offers ("Entity error: one thing takes the place of another").
    """
    if not prompt:
        return text
    lines = [line for line in text.split("\n") if line.strip()]
    plain = [line.strip(MARKUP) for line in lines]
    repeated = [_is_of(line, prompt) for line in plain]
    if not any(repeated):
        return text
    remaining = []
    for number, line in enumerate(lines):
        above, below = any(repeated[max(number - 1, 0) : number]), any(repeated[number + 1 : number + 2])
        is_cue, is_last = plain[number].endswith((":", "：")), number + 1 == len(lines)
        is_alone = not (above or below or (len(plain[number]) >= _PARAGRAPH and plain[number] in prompt))
        # before words of the reply's own, a cue is where that answers; behind them at the end, where it did not
        is_echo = below or (is_last and (above or number == 0)) if is_cue else not is_alone
        if not (repeated[number] and is_echo):
            remaining.append(line)
    return "\n".join(remaining)


@cache
def _failures() -> re.Pattern[str]:
    expressions = (f"(?:{expression})" for group in load("failures").values() for expression in group)
    return re.compile(rf"[\W_]*(?:{'|'.join(expressions)})", re.IGNORECASE)


def _server_message(reply: str) -> str:
    """Return the message of a server or a client that stands in the place of a reply; empty if none does.

    It is all that is there: an object with the key `error`, an error by its HTTP status, or a message as providers word
    them (`failures.yaml`).
    """
    text = reply.strip()
    if not text or len(text) > _LONGEST_MESSAGE or text.count("\n") >= _MOST_MESSAGE_LINES:
        return ""
    if text[0] in "{[":
        data = [*values(text)]
        if len(data) == 1 and data[0].end == len(text) and (message := _error_in(data[0].content)):
            return message
    if _DECLARES.search(text):
        return ""
    return text if _failures().match(text) else ""


def _error_in(value: Any) -> str:
    """Return the error that a server states as JSON; empty if this is another value, such as an answer."""
    if isinstance(value, list):
        return _error_in(value[0]) if len(value) == 1 else ""
    if not isinstance(value, dict) or not {str(name).lower() for name in value} <= _OF_ERROR:
        return ""
    if value.keys() == {"detail"} and isinstance(value["detail"], str):
        return value["detail"]  # as FastAPI writes it
    for error in (value.get("error"), value.get("errors"), value.get("detail"), value.get("message")):
        if isinstance(error, str) and _failures().match(error):
            return error
        inner = error[0] if isinstance(error, list) and error else error
        if isinstance(inner, dict) and {"message", "code"} & {str(name).lower() for name in inner}:
            return json.dumps(error, ensure_ascii=False)
    return ""


@lru_cache(maxsize=4)
def _lines(prompt: str) -> frozenset[str]:
    return frozenset(line.strip(MARKUP) for line in prompt.split("\n"))


def _unwrapped(text: str) -> str:
    if boxed := _BOXED.findall(text):
        return "\n".join(boxed)
    text = _FENCE.sub("", _SPACES.sub(" ", text))  # long runs of spaces would take quadratic time
    again = _NEXT_TASK.search(text)
    if again and text[: again.start()].strip():
        text = text[: again.start()]
    tagged = [(tag[1].lower(), tag[2].strip("\n")) for tag in _TAGGED.finditer(text)] if "</" in text else []
    asked = [content for name, content in tagged if name == "output" or _names_answer(name)]
    return "\n".join(asked) if asked and not all(content.strip().isdigit() for content in asked) else text


def _names_answer(name: str) -> bool:
    name_kinds = kinds(name)
    return bool(name_kinds & _OF_ANSWER) and not name_kinds & {"aside", "analysis", "field"}


def plain_line(text: str) -> str:
    """Return a line in the characters of a plain sentence; brackets remain, and dashes that are no hyphens."""
    if not text.isascii():
        text = _plain_letters(text)
    return " ".join(text.translate(_PLAIN_IN_BRACKETS).split())


def _plain_letters(text: str) -> str:
    text = _DASH.sub("-", text)
    return _DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)


def ends(text: str) -> str:
    """Return the text, or its two ends if it is longer than any real reply."""
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def sentences(text: str) -> list[Sentence]:
    """Return the plain sentences of a text; of very many, those at either end.

    One that ends in a colon includes the next one, unless that is an item of a list.
    """
    if TICKED.search(text):
        text = TICKED.sub("✔ ", _UNTICKED.sub("", text))
    if any(mark in text for mark in "<>/\\="):
        text = _RATED.sub(r"\1 \2 \3", text)
        text = _FORMULA.sub(" ", _BOX.sub(" ", ends(text)))
        text = _ANSWER_TAG.sub(lambda tag: "\n" if tag[1] else "\nverdict: ", text)
        text = _TAG.sub(" ", text)
    else:
        text = ends(text)
    if not text.isascii():
        text = _plain_letters(text)
    pieces: list[Sentence] = []
    quotes = '"' in text or "“" in text
    for raw in text.split("\n"):
        line = (_QUOTATION.sub(QUOTED, raw) if quotes else raw).translate(_PLAIN)
        if not line.strip():
            continue
        mark = _LIST_MARK.match(line)
        is_item = bool(mark) or "|" in line
        line = line[mark.end() if mark else 0 :].strip(" |").replace("|", " ¦ ").replace(" - ", " – ")
        line = " ".join(line.replace("->", "→").replace("=>", "→").split())
        split_line = _END.split(line if line.isascii() else _GLUED.sub(r"\g<0> ", line))
        parts = (part[at : at + _LONGEST].strip() for part in split_line for at in range(0, len(part), _LONGEST))
        pieces += [Sentence(part, number == 0, is_item, raw) for number, part in enumerate(filter(None, parts))]
    joined: list[Sentence] = []
    for sentence in pieces[: _MOST // 2] + pieces[_MOST // 2 :][-_MOST // 2 :]:
        before = joined[-1] if joined else None
        if before and before.text.endswith(":") and not sentence.is_item and len(before.text) < _LONGEST:
            joined[-1] = before._replace(text=f"{before.text} {sentence.text}")
        else:
            joined.append(sentence)
    return joined
