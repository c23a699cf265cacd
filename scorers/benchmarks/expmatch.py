"""ExpMatch: how much of a gold explanation a given one holds, part by part (FactCHD, section 5.1).

An explanation is split on full stops, as the authors' evaluator does: the first sentence is its head, the
last its tail, what is between its body. Body scores by the F1 of token multisets, head and tail by the
recall of ROUGE-L; ExpMatch weighs them 0.7, 0.15 and 0.15.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from rapidfuzz.distance import LCSseq

WEIGHTS = {"body": 0.7, "head": 0.15, "tail": 0.15}
_WORD = re.compile(r"[a-z0-9]+")


class Parts(NamedTuple):
    """An explanation in its three parts; a part that it lacks is empty."""

    body: str
    head: str
    tail: str


def split(explanation: str) -> Parts:
    """The parts of an explanation. With fewer than three sentences there is no head: the first is body, and
    so is the second, unless it begins with "Therefore" or "therefore" and so is the tail."""
    sentences = [sentence.strip() + ". " for sentence in explanation.split(".") if sentence]
    if len(sentences) >= 3:
        return Parts("".join(sentences[1:-1]), sentences[0], sentences[-1])
    if len(sentences) == 2 and sentences[1].startswith(("Therefore", "therefore")):
        return Parts(sentences[0], "", sentences[1])
    return Parts("".join(sentences), "", "")


def parts_scores(given: Parts, gold: Parts) -> dict[str, float | None]:
    """The score of each part, 0 to 1, by its name; None where the gold has nothing to compare with."""
    return {
        "body": token_f1(given.body, gold.body) if gold.body.split() else None,
        "head": rouge_l_recall(given.head, gold.head),
        "tail": rouge_l_recall(given.tail, gold.tail),
    }


def expmatch(scores: Mapping[str, float | None]) -> float | None:
    """The weighted mean of the parts' scores over the parts that the gold has, with the weights scaled up to
    1; None where it has none. The gold itself is worth 1."""
    stated = [(WEIGHTS[part], score) for part, score in scores.items() if score is not None]
    if not stated:
        return None
    return sum(weight * score for weight, score in stated) / sum(weight for weight, _ in stated)


def expmatch_published(scores: Mapping[str, float | None]) -> float:
    """The weighted sum with 0 for a part that the gold lacks: a gold of two sentences cannot reach 1."""
    return sum(WEIGHTS[part] * (score or 0.0) for part, score in scores.items())


def token_f1(given: str, gold: str) -> float:
    """F1 of the multisets of white-space tokens; 0 where nothing is shared."""
    in_given, in_gold = given.split(), gold.split()
    same = sum((Counter(in_given) & Counter(in_gold)).values())
    if not same:
        return 0.0
    precision, recall = same / len(in_given), same / len(in_gold)
    return 2 * precision * recall / (precision + recall)


def rouge_l_recall(given: str, gold: str) -> float | None:
    """The longest common subsequence of stemmed words over the number of words in `gold`: rouge-score's
    `rougeL` recall with its stemmer, to the last bit. None where the gold has no word."""
    wanted = words(gold)
    return LCSseq.similarity(wanted, words(given)) / len(wanted) if wanted else None


def words(text: str) -> list[str]:
    """The stemmed lower-case alphanumeric (ASCII) words of a text, as rouge-score makes them."""
    return [_stem(word) if len(word) > 3 else word for word in _WORD.findall(text.lower())]


@lru_cache(maxsize=1 << 17)
def _stem(word: str) -> str:
    return str(_stemmer().stem(word))


@cache
def _stemmer() -> Any:
    # here, since importing it takes longer than all else
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()
