"""Read which of several options a reply takes, in English or Chinese: `pick` and `choice`.

The rules are listed in `verdict`.
"""

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
    """Return the letter of the answer that the reply prefers; the value is None if it prefers neither.

    Used for ReFACT's comparative judgment. If the reply takes no letter, "the first answer", "the latter" and
    "Option 2" are read as the letters.

    Args:
        reply: A model's reply.
        options: The letters that the prompt gives to the two answers.
    """
    reader = _make_reader(options)
    answer = reader(reply)
    if answer.value:
        return answer
    plain = plain_verdicts(ends(reply))
    if not (words.FIRST.search(plain) or words.SECOND.search(plain)):
        return answer
    return read_reply(reply, reader.read, lambda text: _replace_ordinals(options, plain_verdicts(text)))


def choice(reply: str, options: str = "ABCD") -> Answer[str]:
    """Return the letter of the option that the reply takes, in Chinese or English; the value is None if there is none.

    Used for C-FAITH's choice format. The value is None as well if the reply takes several options.

    Args:
        reply: A model's reply.
        options: The letters of the options of the multiple-choice question.
    """
    reader = _make_reader(options)
    answer = reader(reply)
    if answer.value or words.LETTER.search(ends(reply)):
        return answer
    return read_reply(reply, reader.read, lambda text: plain_verdicts(_replace_places(options, text)))


def _replace_ordinals(options: str, text: str) -> str:
    """Return the text with "the first answer", "the latter" and "Option 2" replaced by "Answer" and the letter."""
    for ordinal, letter in zip((words.FIRST, words.SECOND), options, strict=True):
        text = ordinal.sub(f"Answer {letter}", text)
    return text


def _replace_places(options: str, text: str) -> str:
    """Return the text with "the third option" and the like replaced by "选项" and the letter."""

    def lettered(place: re.Match[str]) -> str:
        word = next(filter(None, place.groups())).lower()
        return f"选项{options[words.PLACES.get(word, len(options) - 1)]}"

    return words.ENGLISH_COUNT.sub(lettered, words.CHINESE_COUNT.sub(lettered, text))


@cache
def _make_reader(letters: str) -> LabelReader:
    """Return the reader for options with the given capital letters."""
    rules = _OptionRules(letters)
    return LabelReader(
        markers={words.DECLARED_OPTION: rules.read},
        line=rules.read_line,
        infer=rules.infer,
        prepare=plain_verdicts,
        says=words.ANYTHING,
        conditional=words.ON_CONDITION,
        settle=rules.settle,
    )


class _OptionRules(Options):
    """Read which option the sentences take."""

    def settle(self, declared: Declared, sentences: list[str]) -> Answer[str]:
        """Return the declared option, or the option inferred from a refusal to choose or from a rejected option."""
        if declared.label in self.letters:
            return Answer(self._read_revision(sentences[declared.position + 1 :]) or declared.label)
        return self._infer_option(sentences, declared)

    def infer(self, sentences: list[str]) -> Answer[str]:
        """Return the option that sentences without a declaration take."""
        return self._infer_option(sentences)

    def _infer_option(self, sentences: list[str], declared: Declared | None = None) -> Answer[str]:
        answer = self._choose_or_rate(declared, stated(joined(sentences)))
        # A single sentence is the answer itself and not an argument for it.
        return answer._replace(inferred=answer.value is not None and len(sentences) > 1)

    def _read_revision(self, sentences: list[str]) -> str | None:
        """Return the option that the reply takes after it takes back its declaration, or None."""
        for index, sentence in enumerate(sentences):
            if words.REVISES.match(sentence):
                chosen = self._read_conclusion(sentences[index:])
                return chosen if chosen and chosen in self.letters else None
        return None

    def _choose_or_rate(self, declared: Declared | None, sentences: list[str]) -> Answer[str]:
        """Return the option that is chosen, or rated right, or left over because the others are called wrong."""
        chosen = self._read_conclusion(sentences[declared.position if declared else 0 :])
        if chosen == _BOTH:
            rated = self.ratings(_sentences_after_last(words.ALL_ALIKE, sentences))
            return _only_option(rated.right, rated.right - rated.wrong) or _SEVERAL
        if chosen:
            return Answer(chosen)
        rated = self.ratings(sentences)
        if not rated.right and not rated.wrong:
            rated = self.parts(sentences)
        not_wrong = set(self.letters) - rated.wrong
        if declared:
            other = declared.label.upper()
            return Answer(other) if other in not_wrong else _SEVERAL
        reason = "several answers" if len(rated.right) > 1 else "no verdict"
        return _only_option(rated.right, rated.right - rated.wrong, rated.wrong and not_wrong) or Answer(None, reason)

    def read(self, text: str) -> str | None:
        """Return the option that a text names at its start; `_BOTH` for a refusal to choose; None if it names none.

        If the text rejects one of two options, the other one is returned, in lower case.
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
            return self._other_option(value).lower() or None
        return value

    def _other_option(self, letter: str | None) -> str:
        """Return the other one of two options; empty if there are more than two."""
        return self.letters.replace(letter or "", "") if len(self.letters) == 2 else ""

    def read_line(self, text: str, sentences: list[str]) -> str | None:
        """Return the option of a line that contains only the option, or None."""
        line = self.words.line.fullmatch(text)
        if not line or self.read(text) == _BOTH or rated_at(text, line.end(1)) is False:
            return None
        # Lines that begin with different letters discuss or repeat the options.
        letters = {match[1].upper() for match in map(self.words.line.fullmatch, sentences) if match}
        return None if len(letters) > 1 else line[1].upper()

    def _read_conclusion(self, sentences: list[str]) -> str | None:
        """Return the option of the last choice, exclusive rating, or rating in a sentence that concludes; or None.

        If a later conclusion rates all options alike, `_BOTH` is returned.
        """
        value = None
        for sentence in sentences:
            concludes = bool(CONCLUDES.match(sentence) or words.REVISES.match(sentence))
            if concludes and words.ALL_ALIKE.search(sentence):
                value = _BOTH
            value = self._read_choice(sentence) or self._read_preference(sentence, concludes) or value
        return value

    def _read_choice(self, sentence: str) -> str | None:
        """Return the option of the last choice or rejection in the sentence, or None."""
        if words.ZH_EITHER.search(sentence):
            return None
        candidates: list[tuple[int, str | None]] = []
        for choice in matches(words.CHOICE, sentence):
            if not undecided(sentence, choice.end()):
                candidates.append((choice.start(), self.read(behind(choice))))
        for wrong in matches(words.THE_WRONG_ONE, sentence):
            if not undecided(sentence, wrong.end()):
                candidates.append((wrong.start(), self._other_option(self.read(behind(wrong)))))
        candidates += [(match.start(), self._read_linked(match)) for match in matches(words.ONE_THAT, sentence)]
        candidates += [
            (match.start(), match["letters"])
            for match in matches(words.ZH_WHICH, sentence)
            if bool(match["no"]) == bool(match["wrong"])
        ]
        candidates += [(match.start(), match["letter"]) for match in matches(words.ZH_EXCEPT, sentence)]
        chosen = [option for _, option in sorted(candidates, key=lambda pair: pair[0]) if option in [*self.letters]]
        return chosen[-1] if chosen else None

    def _read_linked(self, one_that: re.Match[str]) -> str | None:
        """Return B for "the one that is right is B", and the other option for "the one that is wrong is A"."""
        good = rated_at(one_that.string, one_that.end())
        link = words.LINKED.match(one_that.string, one_that.end()) if good is not None else None
        option = self.read(behind(link)) if link else None
        return option if good else self._other_option(option)

    def _read_preference(self, sentence: str, concludes: bool) -> str | None:
        """Return the option that the sentence rates above the others, or rates right in a conclusion; or None.

        Args:
            sentence: A plain sentence.
            concludes: Whether the sentence is a conclusion.
        """
        value = None
        for mention in self.mentions(sentence):
            good = called(sentence, mention)
            if good is False or mention["owned"]:
                continue
            before = sentence[max(mention.start() - 60, 0) : mention.start()]
            if words.EXCLUSIVE.match(sentence, mention.end()) or (
                good and (concludes or words.CONCLUDING.search(before))
            ):
                value = letter_of(mention)
        return value


def _only_option(*candidates: set[str]) -> Answer[str] | None:
    """Return the option of the first set that has exactly one option, or None."""
    return next((Answer(next(iter(options))) for options in candidates if len(options) == 1), None)


def _sentences_after_last(pattern: re.Pattern[str], sentences: list[str]) -> list[str]:
    """Return the sentences after the last one that contains the pattern; all sentences if none does."""
    last = max((index for index, sentence in enumerate(sentences) if pattern.search(sentence)), default=-1)
    return sentences[last + 1 :]
