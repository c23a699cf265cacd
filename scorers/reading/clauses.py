"""Divide a sentence into clauses and find what they state of the judged text: the machine that all lexicons share.

A clause is a list of tokens, the phrases of a lexicon. What a clause concedes, supposes or asks is not stated. A
negator turns what follows it in its clause, in some languages what precedes it. A hedge, or two opposite statements in
one clause, state nothing: it is better to infer no label than the opposite of what was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import compress
from typing import NamedTuple

from halu_tasks.scorers.reading.lexicon import Token

ASIDES = ("concede", "suppose", "consequence")
"""The openers of clauses that state nothing."""
_CUTS = ("stop", "turn", "bound", "conclude", "concede", "suppose", "because")
_AFTER_ANSWER_NO = re.compile(r"\s*(?:$|[.,:;!–—])")
_WORD = re.compile(r"\w")
_ALTERNATIVES = (["good", "either", "bad"], ["bad", "either", "good"])


class Clause(NamedTuple):
    """A clause of a sentence.

    Attributes:
        opener: The kind of the token that begins it; empty for the first one.
        tokens: Its tokens, without the opener.
        kinds: The kinds of these.
        text: The folded sentence.
        start: Where the clause begins in the sentence, behind its opener.
        end: Where it ends.
    """

    opener: str
    tokens: list[Token]
    kinds: frozenset[str]
    text: str
    start: int
    end: int

    def has(self, *kinds: str) -> bool:
        """Return whether the clause has a token of one of the kinds."""
        return not self.kinds.isdisjoint(kinds)


class Statement(NamedTuple):
    """What a sentence states: whether it speaks for the judged text, and whether it is a conclusion."""

    good: bool
    concludes: bool


def split_clauses(tokens_of_sentence: Iterable[Token], text: str) -> list[Clause]:
    """Return the clauses of a folded sentence; a comma only ends a clause that concedes or supposes."""
    result: list[Clause] = []
    opener, start, tokens = "", 0, list[Token]()
    for token in tokens_of_sentence:
        is_comma = token.kind == "comma" or text[token.start] == ","
        ends_aside = is_comma and opener in ("concede", "suppose") and bool(tokens or start)
        opens = opener in ("conclude", "turn") and not tokens and not _WORD.search(text, start, token.start)
        if token.kind == "bound" and opens:
            start = token.end  # "Therefore, it …"
        elif token.kind in _CUTS or ends_aside:
            result.append(Clause(opener, tokens, _kinds(tokens), text, start, token.start))
            kind = "consequence" if opener == "suppose" else ""
            opener, start, tokens = kind if ends_aside else token.kind, token.end, []
        else:
            tokens.append(token)
    result.append(Clause(opener, tokens, _kinds(tokens), text, start, len(text)))
    return [clause for clause in result if clause.tokens or _WORD.search(text, clause.start, clause.end)]


def _kinds(tokens: list[Token]) -> frozenset[str]:
    return frozenset([token.kind for token in tokens])


def stated(sentence_clauses: list[Clause]) -> list[Clause]:
    """Return the clauses that state something: none that concede, suppose, ask or decline."""
    return [*compress(sentence_clauses, which_state(sentence_clauses))]


def which_state(sentence_clauses: list[Clause]) -> list[bool]:
    """Return whether each clause states something."""
    is_question = bool(sentence_clauses) and sentence_clauses[-1].text.rstrip().endswith("?")
    asking = [number for number, clause in enumerate(sentence_clauses) if clause.has("ask", "question")]
    question_end = max(asking, default=len(sentence_clauses) - 1) + 1 if is_question else 0
    return [number >= question_end and _states(clause) for number, clause in enumerate(sentence_clauses)]


def _states(clause: Clause) -> bool:
    if clause.opener in ASIDES or clause.has("hedge", "modal", "define", "announce", "report", "mention"):
        return False
    return not (_asks(clause) or declines(clause) or _offers(clause))


def _offers(clause: Clause) -> bool:
    """Return whether a clause names two opposite answers as alternatives ("Yes or No")."""
    if not clause.has("either"):
        return False
    words = {"yes": "good", "no": "bad"}
    named = [token for token in clause.tokens if clause.text[token.start : token.end] != "and"]
    kinds = [words.get(token.kind, token.kind) for token in named]
    return any(kinds[at : at + 3] in _ALTERNATIVES for at in range(len(kinds) - 2))


def _asks(clause: Clause) -> bool:
    """Return whether a clause asks what it judges, not how something is that it judged ("true in how it …")."""
    if not clause.has("ask"):
        return False
    tokens = [token for token in clause.tokens if token.kind in ("ask", "good", "bad")]
    return any(token.kind == "ask" and (token.label != "how" or token == tokens[0]) for token in tokens)


def declines(clause: Clause) -> bool:
    """Return whether the author of the reply declines to answer in the clause."""
    if clause.has("decline"):
        return True
    if not clause.has("cannot"):
        return False
    cannot = [token.end for token in clause.tokens if token.kind == "cannot"]
    judges = clause.has("good", "bad") and not clause.has("ask")  # "I cannot call this true" is a statement
    kinds = ("decide", "pick") if judges else ("decide", "pick", "call")
    decide = [token.start for token in clause.tokens if token.kind in kinds]
    return bool(decide) and min(cannot) <= max(decide)


def signs(clause: Clause) -> Iterator[tuple[bool, Token]]:
    """Yield for each word of judgment in a clause whether it speaks for the judged text, and its token."""
    negated, used, partly = False, False, False
    pending: list[tuple[bool, Token]] = []
    for token, following in zip(clause.tokens, [*clause.tokens[1:], None], strict=False):
        if token.kind == "no" and token.label == "after":
            if pending:
                good, word = pending[-1]
                pending[-1] = not good, word
            continue
        if token.kind == "no" and (token.label == "apart" or _AFTER_ANSWER_NO.match(clause.text, token.end)):
            continue
        if token.kind == "good" and following and following.kind == "bad" and following.start <= token.end + 1:
            continue  # "a factual error"
        if token.kind in ("negate", "no", "cannot"):
            again = used or token.label == "nor"
            negated, used = (True if again else not negated), False
        elif token.kind == "label":
            negated = negated and not used  # a new subject
        elif token.kind == "partly":
            partly = True
        elif token.kind in ("good", "bad"):
            good = token.kind == "good"
            if not clause.text[token.start].isalnum():  # a sign
                pending.append((good, token))
                continue
            pending.append((not good if negated else good and not partly, token))
            used = True
    if clause.has("except") and pending and all(good for good, _ in pending):
        pending = [(False, pending[-1][1])]  # "everything is right except the date"
    yield from pending


def judge(sentence_clauses: list[Clause]) -> Statement | None:
    """Return what a sentence states of the judged text; None if it states nothing.

    What follows a turn ("but") takes precedence over what comes before it.
    """
    if any(clause.has("define") for clause in sentence_clauses):
        return None
    statement: Statement | None = None
    about_all = False
    for clause, states in zip(sentence_clauses, which_state(sentence_clauses), strict=True):
        about_all = about_all or clause.has("whole")
        if not states:
            continue
        polarities = list(signs(clause))
        goods = {good for good, _ in polarities}
        if len(goods) == 2 and not clause.has("negate", "no", "cannot"):
            # "right about the year and wrong about the place"
            polarities = [(good, token) for good, token in polarities if not good]
        elif len(goods) != 1:
            continue
        good, token = polarities[0]
        stands_first = not _WORD.search(words_between(clause, clause.start, token.start))
        negated_fault = good and token.kind == "bad"
        about_whole = not good or (not clause.has("part") and (negated_fault or about_all or stands_first))
        if not about_whole:
            continue
        concludes = clause.opener == "conclude" or clause.has("conclude")
        goes_further = concludes or clause.opener == "turn"
        # "the dates are right, the place is wrong"
        if (
            statement is None
            or goes_further
            or good == statement.good
            or (statement.good and clause.opener != "because")
        ):
            statement = Statement(good, concludes)
    return statement


def words_between(clause: Clause, start: int, end: int) -> str:
    """Return the words in a part of a clause that are not in the lexicon."""
    words, position = "", start
    for token in clause.tokens:
        if start <= token.start < end:
            words, position = words + clause.text[position : token.start], token.end
    return words + clause.text[position:end]
