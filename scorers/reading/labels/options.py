"""One of several options, in English or Chinese: `pick` and `choice`. The rules are in `verdict`."""

from __future__ import annotations

import re
from functools import cache

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.engine import LabelReader
from halu_tasks.scorers.reading.labels.option_ratings import Options, called, letter_of, rated_at, undecided
from halu_tasks.scorers.reading.labels.options_text import plain_verdicts
from halu_tasks.scorers.reading.lexicons import options as words
from halu_tasks.scorers.reading.lexicons.declared import CONCLUDES
from halu_tasks.scorers.reading.steps.declared import Declared
from halu_tasks.scorers.reading.steps.declining import stated
from halu_tasks.scorers.reading.steps.sentences import behind, ends, joined, matches, past, read_reply

_BOTH = "both or neither"
_SEVERAL: Answer[str] = Answer(None, "several answers")


def pick(reply: str, options: str = "AB") -> Answer[str]:
    """Return which of two answers the reply prefers: one of the letters, or no value.

    ReFACT's comparative judgment; the letters are those the prompt gives the two answers. Where no letter is taken,
    "the first answer", "the latter", "Option 2" are read as the letters.
    """
    reader = _reader(options)
    answer = reader(reply)
    if answer.value:
        return answer
    plain = plain_verdicts(ends(reply))
    if not (words.FIRST.search(plain) or words.SECOND.search(plain)):
        return answer
    return read_reply(reply, reader.read, lambda text: _lettered(options, plain_verdicts(text)))


def choice(reply: str, options: str = "ABCD") -> Answer[str]:
    """Return which option of a multiple-choice question the reply takes, in Chinese or English, or no value.

    C-FAITH's choice format. A reply that takes several options has no value.
    """
    reader = _reader(options)
    answer = reader(reply)
    if answer.value or words.LETTER.search(ends(reply)):
        return answer
    return read_reply(reply, reader.read, lambda text: plain_verdicts(_counted(options, text)))


def _lettered(options: str, text: str) -> str:
    """Return the text with "the first answer", "the latter", "Option 2" called by their letters."""
    for ordinal, letter in zip((words.FIRST, words.SECOND), options, strict=True):
        text = ordinal.sub(f"Answer {letter}", text)
    return text


def _counted(options: str, text: str) -> str:
    """Return the text with "the third option" called by its letter."""

    def letter(found: re.Match[str]) -> str:
        word = next(filter(None, found.groups())).lower()
        return f"选项{options[words.PLACES.get(word, len(options) - 1)]}"

    return words.ENGLISH_COUNT.sub(letter, words.CHINESE_COUNT.sub(letter, text))


@cache
def _reader(letters: str) -> LabelReader:
    """Return the reader for options with the given capital letters."""
    rules = _Rules(letters)
    return LabelReader(
        markers={words.DECLARED_OPTION: rules.read},
        line=rules.line,
        infer=rules.infer,
        prepare=plain_verdicts,
        says=words.ANYTHING,
        conditional=words.ON_CONDITION,
        settle=rules.settle,
    )


class _Rules(Options):
    """Which of the options with the given letters sentences take."""

    def settle(self, declared: Declared, sentences: list[str]) -> Answer[str]:
        """Return the declared option, or what the sentences say of the others if it is a refusal or called wrong."""
        if declared.label in self.letters:
            return Answer(self._revised(sentences[declared.position + 1 :]) or declared.label)
        return self._inferred(sentences, declared)

    def infer(self, sentences: list[str]) -> Answer[str]:
        """Return the option that sentences without a declaration take."""
        return self._inferred(sentences)

    def _inferred(self, sentences: list[str], declared: Declared | None = None) -> Answer[str]:
        answer = self._weighed(declared, stated(joined(sentences)))
        # one sentence and no more is the answer, not the beginning of an argument
        return answer._replace(inferred=answer.value is not None and len(sentences) > 1)

    def _revised(self, sentences: list[str]) -> str | None:
        """Return the option taken behind a sentence that takes back what was declared before it."""
        for index, sentence in enumerate(sentences):
            if words.REVISES.match(sentence):
                chosen = self._concluded(sentences[index:])
                return chosen if chosen and chosen in self.letters else None
        return None

    def _weighed(self, declared: Declared | None, sentences: list[str]) -> Answer[str]:
        """Return the option that is chosen, or rated right, or left when the others are called wrong."""
        chosen = self._concluded(sentences[declared.position if declared else 0 :])
        if chosen == _BOTH:
            rated = self.ratings(_behind_last(words.ALL_ALIKE, sentences))
            return _only(rated.right, rated.right - rated.wrong) or _SEVERAL
        if chosen:
            return Answer(chosen)
        rated = self.ratings(sentences)
        if not rated.right and not rated.wrong:
            rated = self.parts(sentences)
        left = set(self.letters) - rated.wrong
        if declared:
            other = declared.label.upper()
            return Answer(other) if other in left else _SEVERAL
        reason = "several answers" if len(rated.right) > 1 else "no verdict"
        return _only(rated.right, rated.right - rated.wrong, rated.wrong and left) or Answer(None, reason)

    def read(self, text: str) -> str | None:
        """Return the option that a text names at its start, `_BOTH` for a refusal to choose, or None.

        Of two options, one that is called wrong there names the other, in lower case.
        """
        start = past(words.FILLER, text)
        named = self.words.first.match(text, start)
        if named is None:
            return _BOTH if words.REFUSAL.match(text, start) else None
        value, end = named["letter"].upper(), named.end()
        bare = not named["name"] and not named["open"]
        if bare and named["letter"].islower() and text.strip(" .():,!") != named["letter"]:
            return None
        if bare and value == "A" and words.AFTER_ARTICLE.match(text, end):
            return None
        if self.other_named(text, end, value):
            return _BOTH
        if words.CONDITIONAL.match(text, end):
            return None
        if named["not"] or rated_at(text, end) is False:
            return self._other(value).lower() or None
        return value

    def _other(self, letter: str | None) -> str:
        """Return the other of two options; nothing if there are more."""
        return self.letters.replace(letter or "", "") if len(self.letters) == 2 else ""

    def line(self, text: str, sentences: list[str]) -> str | None:
        """Return the option of a line that is nothing but it."""
        line = self.words.line.fullmatch(text)
        if not line or self.read(text) == _BOTH or rated_at(text, line.end(1)) is False:
            return None
        # Several lines that open with a letter discuss or repeat the options.
        lettered = {found[1].upper() for found in map(self.words.line.fullmatch, sentences) if found}
        return None if len(lettered) > 1 else line[1].upper()

    def _concluded(self, sentences: list[str]) -> str | None:
        """Return the last choice, exclusive rating, or rating in a sentence that concludes.

        `_BOTH` when a later conclusion rates all options alike.
        """
        value = None
        for sentence in sentences:
            concludes = bool(CONCLUDES.match(sentence) or words.REVISES.match(sentence))
            if concludes and words.ALL_ALIKE.search(sentence):
                value = _BOTH
            value = self._chosen(sentence) or self._preferred(sentence, concludes) or value
        return value

    def _chosen(self, sentence: str) -> str | None:
        """Return the option of the last choice or rejection in the sentence."""
        if words.ZH_EITHER.search(sentence):
            return None
        found: list[tuple[int, str | None]] = []
        for choice in matches(words.CHOICE, sentence):
            if not undecided(sentence, choice.end()):
                found.append((choice.start(), self.read(behind(choice))))
        for wrong in matches(words.THE_WRONG_ONE, sentence):
            if not undecided(sentence, wrong.end()):
                found.append((wrong.start(), self._other(self.read(behind(wrong)))))
        found += [(match.start(), self._linked(match)) for match in matches(words.ONE_THAT, sentence)]
        found += [
            (match.start(), match["letters"])
            for match in matches(words.ZH_WHICH, sentence)
            if bool(match["no"]) == bool(match["wrong"])
        ]
        found += [(match.start(), match["letter"]) for match in matches(words.ZH_EXCEPT, sentence)]
        chosen = [option for _, option in sorted(found, key=lambda one: one[0]) if option in [*self.letters]]
        return chosen[-1] if chosen else None

    def _linked(self, one_that: re.Match[str]) -> str | None:
        """Return the option in "the one that is right is B", or the other of "the one that is wrong is A"."""
        good = rated_at(one_that.string, one_that.end())
        link = words.LINKED.match(one_that.string, one_that.end()) if good is not None else None
        option = self.read(behind(link)) if link else None
        return option if good else self._other(option)

    def _preferred(self, sentence: str, concludes: bool) -> str | None:
        """Return the option that the sentence rates above the others, or rates right in conclusion."""
        value = None
        for found in self.mentions(sentence):
            good = called(sentence, found)
            if good is False or found["owned"]:
                continue
            before = sentence[max(found.start() - 60, 0) : found.start()]
            if words.EXCLUSIVE.match(sentence, found.end()) or (
                good and (concludes or words.CONCLUDING.search(before))
            ):
                value = letter_of(found)
        return value


def _only(*candidates: set[str]) -> Answer[str] | None:
    """Return the first option that stands alone."""
    return next((Answer(next(iter(options))) for options in candidates if len(options) == 1), None)


def _behind_last(pattern: re.Pattern[str], sentences: list[str]) -> list[str]:
    """Return the sentences behind the last one in which the pattern is found."""
    last = max((index for index, sentence in enumerate(sentences) if pattern.search(sentence)), default=-1)
    return sentences[last + 1 :]
