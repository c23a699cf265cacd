"""Patterns of a judge's own verdict, and of its reports of the judged text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from halu_tasks.scorers.reading.patterns import ignoring_case, pattern

NAMES = ("verdict", "judgement", "judgment", "conclusion", "判定", "结论", "裁定")
"""Names of a verdict whose question does not name it."""
REASONS = ("reason", "critique", "reasoning", "explanation", "rationale", "理由", "原因", "依据", "说明")
REASON_NAME = ignoring_case(rf"^[*_#]{{0,4}}(?:{'|'.join(REASONS)})[*_]{{0,4}}[ \t]?[:：][*_]{{0,4}}\s*")

DECORATION = " \t\r\n*_`\"'“”‘’.。!！"
OPENING, CLOSING = "“「『", "”」』"

# Words that may precede an object with which a reply is considered to begin.
LEAD_IN = ignoring_case(r"""
    (?:[\W_]|\b(?:an?|answer|as|assessment|below|certainly|conclusion|critique|decision|evaluation|final|follow(?:s|ing)
    |format|here|in|is|it|json|judge?ment|my|object|of|ok|okay|output|overall|please|requested|response|result|reply
    |single|sure|the|this|verdict)\b|好的|以下|如下|下面|我的|这是|是|为|评审|评判|判断|裁定|判定|最终|结果|结论|输出|对象|的)*
""")
CLOSERS = pattern(r"[\s`\]]*")
OBJECT_LINE = pattern(r"(?m)^[ \t]{0,40}\[?[ \t]{0,10}(?=\{)")
CONTINUES = r"because\b|since\b|as\b|by\b|reason|critique|explanation|因为|由于|理由|原因"
ENDS = rf"(?=[ \t]{{0,3}}(?:$|[\n.,;!。，；！、…()（）\]}}\"'”’*`~—–-])|[ \t]{{1,3}}(?:{CONTINUES}))"
EITHER = ignoring_case(r"""
    [ \t*\"'`]{0,4}(?:/|\||,|、|或|or\b)[ \t*\"'`]{0,4}
""")
# Words that make a clause the judge's own statement, and words that make it a report of the judged text.
OWN = ignoring_case(r"""
    \b(?:my|mine|i (?:say|answer|conclude|find|decide|give)|actual|actually|real|corrected|correction|instead|reflection
    |revised|final|overall|therefore|hence|thus|so)\b|更正|实际|我的|我认为|应为|最终|因此|所以|综上
""")
REPORTS = ignoring_case(r"""
    \b(?:texts?|passage|documents?|abstracts?|papers?|claims?|claimed|says?|said|tells?|told|asks?|asked|orders?|reads
    |instructs?|instruction|injection|quotes?|quoted|contains?|wants?|writes)\b
    |文字|文本|原文|自称|声称|写|要求|引用|注入|指令
""")
SENTENCE_END = pattern(r"[.!?。！？\n]")
SENTENCE_START = pattern(r"[A-Z(（]|注|备注|说明|另")


def _whole_words(words: str) -> str:
    """Return an expression for words that are not part of a longer Latin word; other scripts have no spaces."""
    return rf"(?:(?<![a-zA-Z])(?:{words})(?![a-zA-Z]))"


def fold_name(name: str) -> str:
    """Return the form in which the names of an object's members are compared."""
    return " ".join(name[:100].strip(DECORATION + "?？").replace("_", " ").lower().split())


@dataclass(frozen=True)
class VerdictWords:
    """The patterns made from a vocabulary of verdicts.

    Attributes:
        vocabulary: The words and phrases of each label, in lower case.
        names: The names of the verdict in an object or before a colon.
        reason: The name of its reason.
    """

    vocabulary: Mapping[str, Sequence[str]]
    names: Sequence[str]
    reason: str

    def by_phrase(self, phrase: str) -> str | None:
        """Return the label of a phrase, ignoring marks between its words; None if it is not in the vocabulary."""
        return self.by_word.get(" ".join(re.sub(r"[\s,;:_-]+", " ", phrase.lower()).split()))

    @cached_property
    def by_word(self) -> dict[str, str]:
        """The label of each word or phrase."""
        return {
            " ".join(re.sub(r"[,;:_-]+", " ", word.lower()).split()): label
            for label, words in self.vocabulary.items()
            for word in (label, *words)
        }

    @cached_property
    def folded_names(self) -> frozenset[str]:
        """The names of the verdict, in the form in which they are compared."""
        return frozenset(map(fold_name, self.names))

    def _any_of(self, words: Sequence[str]) -> str:
        """Return an expression for one of the words or phrases, the longest first."""
        longest_first = sorted(words, key=lambda word: (-len(word), word))
        return "|".join(re.escape(word).replace(r"\ ", r"[ \t,;:_-]{1,3}") for word in longest_first)

    @cached_property
    def word(self) -> re.Pattern[str]:
        """Matches a word or phrase of the vocabulary."""
        return re.compile(_whole_words(self._any_of(list(self.by_word))), re.IGNORECASE)

    @cached_property
    def begins(self) -> re.Pattern[str]:
        """Matches a word or phrase at the start of a value."""
        # A phrase such as "yes, but" is never read as "yes", whatever follows it.
        overriding = [
            word
            for word, label in self.by_word.items()
            if any(word.startswith(f"{other} ") and other_label != label for other, other_label in self.by_word.items())
        ]
        words = rf"(?:{self._any_of(list(self.by_word))})(?=[*_`\"'”)\]]{{0,4}}{ENDS})"
        return re.compile(
            rf"({_whole_words(self._any_of(overriding)) + '|' if overriding else ''}{words})", re.IGNORECASE
        )

    @cached_property
    def strong(self) -> re.Pattern[str]:
        """Matches words that do not occur in ordinary sentences, unlike yes, no and 是."""
        words = [word for word in self.by_word if len(word) > (5 if word.isascii() else 1)]
        return re.compile(_whole_words(self._any_of(words)) if words else r"(?!)", re.IGNORECASE)

    @property
    def _name(self) -> str:
        return self._any_of([name for name in self.names if not name.endswith(" is")])

    @cached_property
    def named(self) -> re.Pattern[str]:
        """Matches a name of the verdict."""
        return re.compile(self._name, re.IGNORECASE)

    @cached_property
    def statement(self) -> re.Pattern[str]:
        """Matches the beginning of a line that states a verdict."""
        with_is = self._any_of([name for name in self.names if name.endswith(" is")]) or "(?!)"
        lead = "my|the|our|final|overall|own|so|thus|therefore|hence|in conclusion|in short|is"
        lead_zh = "我的|最终|综上|因此|所以|故|评审"
        return re.compile(
            rf"(?m)^[ \t*_#`\d.()•+-]{{0,12}}(?:(?:(?:{lead})[ ,:]{{1,3}}|(?:{lead_zh})[，,：:]?){{0,4}})"
            rf"(?:(?:{self._name})[ \t*_`\"'”]{{0,4}}(?:\?[ \t]?[:=]?|[:：=]|[ \t]is\b[ \t]?:?|是|为)"
            rf"|(?P<is>{with_is})\b)[*_`]{{0,4}}",
            re.IGNORECASE,
        )

    @cached_property
    def keyed(self) -> re.Pattern[str]:
        """Matches a name of the verdict and the label after it."""
        return re.compile(
            rf"(?:(?:{self._name}|answer|decision|mine)[ \t*_`\"'“”]{{0,4}}"
            rf"(?:[:：=]|[ \t](?:is|remains|stays)\b|是|为|仍为|仍是)[^\w\n]{{0,8}}){{1,2}}"
            rf"({_whole_words(self._any_of(list(self.by_word)))})",
            re.IGNORECASE,
        )

    @cached_property
    def head(self) -> re.Pattern[str]:
        """Matches a damaged object that begins with its verdict."""
        reasons = self._any_of((self.reason, *REASONS))
        return re.compile(
            rf"\{{\s{{0,40}}[\"'“”]?(?:{self._name})[\"'“”]?\s{{0,9}}[:：]\s{{0,9}}[\"'“”]([^\"'“”{{}}]{{1,60}})[\"'“”]"
            rf"\s{{0,9}}[,，]\s{{0,40}}[\"'“”]?(?:{reasons})[\"'“”]?\s{{0,9}}[:：]",
            re.IGNORECASE,
        )

    @cached_property
    def tail(self) -> re.Pattern[str]:
        """Matches a damaged object that ends in its verdict."""
        return re.compile(
            rf"[\"'“”]\s{{0,9}}[,，]\s{{0,40}}[\"'“”]?(?:{self._name})[\"'“”]?\s{{0,9}}[:：]\s{{0,9}}"
            r"[\"'“”]?([^\"'“”{}]{1,60})[\"'“”]?\s{0,9},?\s{0,40}\}$",
            re.IGNORECASE,
        )

    @cached_property
    def reason_head(self) -> re.Pattern[str]:
        """Matches the beginning of a damaged object that begins with its reason."""
        reasons = self._any_of((self.reason, *REASONS))
        return re.compile(rf"\{{\s{{0,40}}[\"'“”]?(?:{reasons})[\"'“”]?\s{{0,9}}[:：]", re.IGNORECASE)
