"""Read how a reply rates the options of a question: right or wrong, as a whole or in part."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from halu_tasks.scorers.reading.lexicons import options as words
from halu_tasks.scorers.reading.steps.sentences import matches


@dataclass
class Rated:
    """The options that a reply rates.

    Attributes:
        right: The letters of the options that are called right at least once.
        wrong: The letters of the options that are called wrong at least once.
    """

    right: set[str] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)

    def add(self, letters: Iterable[str], *, good: bool | None) -> None:
        """Add options that are called right (`good` is True) or wrong (False); ignore them if `good` is None."""
        if good is not None:
            (self.right if good else self.wrong).update(letters)


class Options:
    """Read what sentences say about the options of a question.

    Attributes:
        letters: The capital letters of the options.
        words: The patterns for options with these letters.
    """

    def __init__(self, letters: str) -> None:
        self.letters = letters
        self.words = words.letter_words(letters)

    def mentions(self, sentence: str) -> list[re.Match[str]]:
        """Return the options that a sentence names, as matches.

        Options that are named under a condition, in a pair ("A and B") or in an impression ("may seem") are left out.
        """
        candidates = [*matches(self.words.mention, sentence)]
        # The turns are needed only if something in the sentence merely seems so.
        seems = candidates and words.SEEMS.search(sentence)
        turns = [turn.start() for turn in words.TURN.finditer(sentence)] if seems else None
        return [mention for mention in candidates if self._is_mentioned(sentence, mention, turns)]

    def _is_mentioned(self, sentence: str, mention: re.Match[str], turns: list[int] | None) -> bool:
        before = sentence[max(mention.start() - 30, 0) : mention.start()]
        if mention[0] == "A" and words.AFTER_ARTICLE.match(sentence, mention.end()):
            return False
        if self.other_named(sentence, mention.end(), letter_of(mention)):
            return False
        pair = words.PAIR.search(before)
        if words.UNSURE.search(before) or words.KIND.search(before) or (pair and pair[1].upper() in self.letters):
            return False
        if turns is not None and _only_seems(sentence, mention, turns):
            return False
        return not undecided(sentence, mention.start())

    def other_named(self, text: str, end: int, letter: str) -> bool:
        """Return whether an option is joined to another one ("A and B").

        Args:
            text: The text that names the options.
            end: The end of the option's name in `text`.
            letter: The option's letter.
        """
        other = words.COORDINATED.match(text, end)
        return other is not None and other[1].upper() in self.letters and other[1].upper() != letter

    def ratings(self, sentences: list[str]) -> Rated:
        """Return the options that the sentences call right and those that they call wrong."""
        rated = Rated()
        for sentence in sentences:
            for group in matches(self.words.group, sentence):
                rated.add(re.findall("[A-Z]", group[1]), good=not (group["wrong"] or group["false"]))
            for which in matches(words.ZH_WHICH, sentence):
                rated.add(set(which["letters"]) & set(self.letters), good=bool(which["no"]) == bool(which["wrong"]))
            for mention in self.mentions(sentence):
                if not mention["owned"]:
                    rated.add([letter_of(mention)], good=called(sentence, mention))
        return rated

    def parts(self, sentences: list[str]) -> Rated:
        """Return the options of which a part is called right and those of which a part is called wrong.

        Parts are rated under the option's heading and, if the reply does not rate all options alike, in sentences that
        mention the option. An option with a wrong part is not right.
        """
        rated = self._rate_under_headings(sentences)
        if not any(map(words.ALL_ALIKE.search, sentences)):
            details = self._rate_details(sentences)
            rated = Rated(rated.right | details.right, rated.wrong | details.wrong)
        return Rated(rated.right - rated.wrong, rated.wrong)

    def _rate_under_headings(self, sentences: list[str]) -> Rated:
        """Return the ratings under the heading of an option: "Answer A: … This statement is incorrect."."""
        rated = Rated()
        letter = None
        for sentence in sentences:
            if heading := self.words.heading.match(sentence):
                letter = heading["letter"].upper()
            if letter is None:
                continue
            for rating in [*matches(words.THIS_IS, sentence), *filter(None, [words.ALONE.match(sentence)])]:
                rated.add([letter], good=is_good(rating))
        return Rated(rated.right - rated.wrong, rated.wrong)

    def _rate_details(self, sentences: list[str]) -> Rated:
        """Return the options of which a detail is called right and those of which a detail is called wrong."""
        rated = Rated()
        for sentence in sentences:
            for letter, good in self._find_details(sentence):
                rated.add([letter], good=good)
        return Rated(rated.right - rated.wrong, rated.wrong)

    def _find_details(self, sentence: str) -> Iterator[tuple[str, bool | None]]:
        """Yield the options that a sentence mentions, each with whether a detail of it is called right, or None."""
        mentions = self.mentions(sentence)
        ends = [*(mention.start() for mention in mentions[1:]), len(sentence)]
        for mention, end in zip(mentions, ends, strict=False):
            good = called(sentence, mention) if mention["owned"] else None
            if good is None:
                good = _rate_content(sentence, mention, end)
            if good is None:
                good = _rate_statement(sentence, mention.end(), end)
            if good is None and len(mentions) == 1 and _facts_agree(sentence, mention):
                good = True
            yield letter_of(mention), good


def letter_of(mention: re.Match[str]) -> str:
    """Return the letter of the option that a match names."""
    return str(mention["named"] or mention["bare"]).upper()


def undecided(sentence: str, start: int) -> bool:
    """Return whether the text from `start` on holds only under a condition."""
    return bool(words.CONDITION.search(sentence, max(start - 200, 0), start))


def is_good(rating: re.Match[str]) -> bool:
    """Return whether a rating calls something right; each negation inverts it."""
    names = rating.re.groupindex
    negations = sum(rating[name] is not None for name in ("no", "not") if name in names)
    right = any(rating[name] for name in ("right", "right_after_all", "proper") if name in names)
    return right != (negations % 2 == 1)


def rated_at(text: str, end: int) -> bool | None:
    """Return whether the text directly after an option's name calls the option right; None if it does not rate it.

    Args:
        text: The text that names the option.
        end: The end of the option's name in `text`.
    """
    for pattern in (words.IS, words.RATED, words.BARELY, words.ZH_CALLED):
        if rating := pattern.match(text, end):
            return None if words.CONDITIONAL.match(text, rating.end()) else is_good(rating)
    if words.DOES_WELL.match(text, end):
        return True
    return False if words.DOES_BADLY.match(text, end) or words.IS_NOT.match(text, end) else None


def called(sentence: str, mention: re.Match[str]) -> bool | None:
    """Return whether the mentioned option is called right; "I do not think that" inverts the rating."""
    good = rated_at(sentence, mention.end())
    doubted = words.DOUBTED.search(sentence, max(mention.start() - 40, 0), mention.start())
    return not good if good is not None and doubted else good


def _rate_statement(text: str, start: int, end: int) -> bool | None:
    """Return whether an option's statement is called right in the same sentence ("A says …, which is wrong"), or None.

    Args:
        text: The sentence.
        start: The end of the option's name.
        end: The start of the next option's name, or the end of the sentence.
    """
    if states := words.STATES.match(text, start):
        return is_good(states)
    ratings = [is_good(rating) for rating in words.THIS_IS.finditer(text, start, min(end, start + 400))]
    return ratings[-1] if ratings else None


def _rate_content(sentence: str, mention: re.Match[str], end: int) -> bool | None:
    """Return whether something in the option is called right, or None.

    False if a mistake is said to be in the option, or something in it to have been changed. True if it is said to have
    no mistake.

    Args:
        sentence: The sentence that mentions the option.
        mention: The match that names the option.
        end: The start of the next option's name, or the end of the sentence.
    """
    before = sentence[max(mention.start() - 80, 0) : mention.start()]
    if mistake := words.MISTAKE_IN.search(before):
        return bool(mistake["no"])
    if not words.IN.search(before):
        return None
    if words.CHANGED.search(sentence, mention.end(), min(end, mention.end() + 200)):
        return False
    if not words.CLAIM_IN.search(before):
        return None
    rating = words.IS.search(sentence, mention.end(), min(end, mention.end() + 200))
    return is_good(rating) if rating else None


def _facts_agree(sentence: str, mention: re.Match[str]) -> bool:
    """Return whether the facts of the sentence agree with the mentioned option."""
    start = mention.start()
    agrees = words.AGREES_WITH.search(sentence[:start]) or (
        words.AS.search(sentence[:start]) and words.SAYS.match(sentence, mention.end())
    )
    return bool(agrees) and not words.DENIES.search(sentence, 0, start)


def _only_seems(sentence: str, mention: re.Match[str], turns: list[int]) -> bool:
    """Return whether the statement about the option is only an impression ("may seem right").

    Args:
        sentence: The sentence that mentions the option.
        mention: The match that names the option.
        turns: The positions of "but" and the like, which divide the sentence.
    """
    start = max((turn for turn in turns if turn <= mention.start()), default=0)
    end = min((turn for turn in turns if turn > mention.start()), default=len(sentence))
    return bool(words.SEEMS.search(sentence, start, min(end, mention.end() + 60)))
