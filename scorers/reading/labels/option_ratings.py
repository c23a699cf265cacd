"""What a reply calls the options of a question: right or wrong, as a whole or in part."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from halu_tasks.scorers.reading.lexicons import options as words
from halu_tasks.scorers.reading.steps.sentences import matches


@dataclass
class Rated:
    """The options that are somewhere called right, and those that are somewhere called wrong."""

    right: set[str] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)

    def add(self, letters: Iterable[str], *, good: bool | None) -> None:
        """Add options that are called right or wrong; None is neither."""
        if good is not None:
            (self.right if good else self.wrong).update(letters)


class Options:
    """What sentences say of the options with the given letters."""

    def __init__(self, letters: str) -> None:
        self.letters = letters
        self.words = words.letter_words(letters)

    def mentions(self, sentence: str) -> list[re.Match[str]]:
        """Return where the sentence names an option that is neither conditional nor half of "A and B"."""
        mentioned = [*matches(self.words.mention, sentence)]
        # the turns of the sentence, where anything in it only seems so
        seeming = mentioned and words.SEEMS.search(sentence)
        turns = [found.start() for found in words.TURN.finditer(sentence)] if seeming else None
        return [found for found in mentioned if self._stands(sentence, found, turns)]

    def _stands(self, sentence: str, mention: re.Match[str], turns: list[int] | None) -> bool:
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
        """Return whether another option is joined to the one whose name ends there: "A and B"."""
        other = words.COORDINATED.match(text, end)
        return other is not None and other[1].upper() in self.letters and other[1].upper() != letter

    def ratings(self, sentences: list[str]) -> Rated:
        """Return the options somewhere called right, and those somewhere called wrong."""
        rated = Rated()
        for sentence in sentences:
            for found in matches(self.words.group, sentence):
                rated.add(re.findall("[A-Z]", found[1]), good=not (found["wrong"] or found["false"]))
            for found in matches(words.ZH_WHICH, sentence):
                rated.add(set(found["letters"]) & set(self.letters), good=bool(found["no"]) == bool(found["wrong"]))
            for found in self.mentions(sentence):
                if not found["owned"]:
                    rated.add([letter_of(found)], good=called(sentence, found))
        return rated

    def parts(self, sentences: list[str]) -> Rated:
        """Return the options called right and wrong in part.

        Parts stand under the option's heading, and in details if the reply does not call all options alike.
        """
        rated = self._headed(sentences)
        if not any(map(words.ALL_ALIKE.search, sentences)):
            details = self._details(sentences)
            rated = Rated(rated.right | details.right, rated.wrong | details.wrong)
        return Rated(rated.right - rated.wrong, rated.wrong)

    def _headed(self, sentences: list[str]) -> Rated:
        """Return what is said under an option's heading: "Answer A: … This statement is incorrect."."""
        rated = Rated()
        letter = None
        for sentence in sentences:
            if heading := self.words.heading.match(sentence):
                letter = heading["letter"].upper()
            if letter is None:
                continue
            for found in [*matches(words.THIS_IS, sentence), *filter(None, [words.ALONE.match(sentence)])]:
                rated.add([letter], good=is_good(found))
        return Rated(rated.right - rated.wrong, rated.wrong)

    def _details(self, sentences: list[str]) -> Rated:
        """Return the options of which a part is called right, and those of which one is called wrong."""
        rated = Rated()
        for sentence in sentences:
            for letter, good in self._details_in(sentence):
                rated.add([letter], good=good)
        return Rated(rated.right - rated.wrong, rated.wrong)

    def _details_in(self, sentence: str) -> Iterator[tuple[str, bool | None]]:
        mentions = self.mentions(sentence)
        ends_at = [*(one.start() for one in mentions[1:]), len(sentence)]
        for found, following in zip(mentions, ends_at, strict=False):
            good = called(sentence, found) if found["owned"] else None
            if good is None:
                good = _located(sentence, found, following)
            if good is None:
                good = _judged(sentence, found.end(), following)
            if good is None and len(mentions) == 1 and _agreed(sentence, found):
                good = True
            yield letter_of(found), good


def letter_of(mention: re.Match[str]) -> str:
    """Return the letter of the option that is named there."""
    return str(mention["named"] or mention["bare"]).upper()


def undecided(sentence: str, start: int) -> bool:
    """Return whether what begins there holds under a condition only."""
    return bool(words.CONDITION.search(sentence, max(start - 200, 0), start))


def is_good(found: re.Match[str]) -> bool:
    """Return whether a rating is a good one; each negation turns it round."""
    names = found.re.groupindex
    negations = sum(found[name] is not None for name in ("no", "not") if name in names)
    right = any(found[name] for name in ("right", "right_after_all", "proper") if name in names)
    return right != (negations % 2 == 1)


def rated_at(text: str, end: int) -> bool | None:
    """Return whether the option whose name ends there is called right at once; None if it is not rated there."""
    for pattern in (words.IS, words.RATED, words.BARELY, words.ZH_CALLED):
        if found := pattern.match(text, end):
            return None if words.CONDITIONAL.match(text, found.end()) else is_good(found)
    if words.DOES_WELL.match(text, end):
        return True
    return False if words.DOES_BADLY.match(text, end) or words.IS_NOT.match(text, end) else None


def called(sentence: str, mention: re.Match[str]) -> bool | None:
    """Return whether the option named there is called right; what one does not believe is turned round."""
    good = rated_at(sentence, mention.end())
    doubted = words.DOUBTED.search(sentence, max(mention.start() - 40, 0), mention.start())
    return not good if good is not None and doubted else good


def _judged(text: str, start: int, end: int) -> bool | None:
    """Return whether what the option says is called right or wrong in the same sentence: "A says …, which is wrong"."""
    if stated_how := words.STATES.match(text, start):
        return is_good(stated_how)
    judged = [is_good(found) for found in words.THIS_IS.finditer(text, start, min(end, start + 400))]
    return judged[-1] if judged else None


def _located(sentence: str, mention: re.Match[str], end: int) -> bool | None:
    """Return whether a mistake is said to be in the option, or none, or something in it is called right or wrong."""
    before = sentence[max(mention.start() - 80, 0) : mention.start()]
    if mistake := words.MISTAKE_IN.search(before):
        return bool(mistake["no"])
    if not words.IN.search(before):
        return None
    if words.CHANGED.search(sentence, mention.end(), min(end, mention.end() + 200)):
        return False
    if not words.CLAIM_IN.search(before):
        return None
    judged = words.IS.search(sentence, mention.end(), min(end, mention.end() + 200))
    return is_good(judged) if judged else None


def _agreed(sentence: str, mention: re.Match[str]) -> bool:
    """Return whether the facts of the sentence agree with the option."""
    start = mention.start()
    agrees = words.AGREES_WITH.search(sentence[:start]) or (
        words.AS.search(sentence[:start]) and words.SAYS.match(sentence, mention.end())
    )
    return bool(agrees) and not words.DENIES.search(sentence, 0, start)


def _only_seems(sentence: str, mention: re.Match[str], turns: list[int]) -> bool:
    """Return whether what is said of the option there only seems so, up to the next turn of the sentence."""
    start = max((turn for turn in turns if turn <= mention.start()), default=0)
    end = min((turn for turn in turns if turn > mention.start()), default=len(sentence))
    return bool(words.SEEMS.search(sentence, start, min(end, mention.end() + 60)))
