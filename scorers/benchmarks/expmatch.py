"""ExpMatch: how much of a gold explanation a given one contains, part by part (FactCHD, section 5.1).

Explanations are split at full stops, as in the authors' evaluator: the first sentence is the head, the last one the
tail, and those in between are the body. The body is scored by the F1 of its tokens, head and tail by the recall of
ROUGE-L. ExpMatch is their mean with the weights α for the body, and half of 1 - α each for head and tail.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

from halu_tasks.core.items import Item
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.metrics import mean, share_unparsed
from halu_tasks.scorers.reading.declining import only_declines
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import Score

ALPHA = 0.7
"""The weight of the body in the published figures; a footnote also tries 0.75 and 0.8."""


class Parts(NamedTuple):
    """The three parts of an explanation, as strings; missing parts are empty.

    Attributes:
        body: The sentences between head and tail.
        head: The first sentence.
        tail: The last sentence.
    """

    body: str
    head: str
    tail: str


def split(explanation: str) -> Parts:
    """Split an explanation into its parts.

    An explanation with fewer than three sentences has no head: all of it is the body, except for a second sentence that
    begins with "Therefore" or "therefore", which is the tail.
    """
    sentences = [sentence.strip() + ". " for sentence in explanation.split(".") if sentence]
    if len(sentences) >= 3:
        return Parts("".join(sentences[1:-1]), sentences[0], sentences[-1])
    if len(sentences) == 2 and sentences[1].startswith(("Therefore", "therefore")):
        return Parts(sentences[0], "", sentences[1])
    return Parts("".join(sentences), "", "")


def parts_scores(given: Parts, gold: Parts) -> dict[str, float | None]:
    """Score each part by name, 0 to 1; None if the gold explanation lacks the part."""
    return {
        "body": token_f1(given.body, gold.body) if gold.body.split() else None,
        "head": rouge_l_recall(given.head, gold.head),
        "tail": rouge_l_recall(given.tail, gold.tail),
    }


def weights(alpha: float) -> dict[str, float]:
    """Return the weight of each part by name; they add up to 1.

    Args:
        alpha: The weight of the body, above 0, up to 1.
    """
    # rounded, so that 0.7 leaves 0.15 and not 0.15000000000000002
    rest = round((1 - alpha) / 2, 12)
    return {"body": alpha, "head": rest, "tail": rest}


def expmatch(scores: Mapping[str, float | None], alpha: float = ALPHA) -> float | None:
    """Compute the weighted mean of the scores of the parts that the gold explanation has, 0 to 1.

    The weights are scaled so that they add up to 1, and the gold explanation itself scores 1.

    Args:
        scores: The score of each part by name; None for parts that the gold explanation lacks.
        alpha: The weight of the body, above 0, up to 1.

    Returns:
        The mean; None if the gold explanation has no parts.
    """
    weight_of = weights(alpha)
    weighted = [(weight_of[part], score) for part, score in scores.items() if score is not None]
    if not weighted:
        return None
    return math.fsum(weight * score for weight, score in weighted) / math.fsum(weight for weight, _ in weighted)


def expmatch_published(scores: Mapping[str, float | None], alpha: float = ALPHA) -> float:
    """Compute the weighted sum, 0 to 1, with 0 for parts that the gold explanation lacks (`paper`).

    No reply can score 1 if the gold explanation has fewer than three sentences.

    Args:
        scores: The score of each part by name; None for parts that the gold explanation lacks.
        alpha: The weight of the body, above 0, up to 1.
    """
    weight_of = weights(alpha)
    return math.fsum(weight_of[part] * (score or 0.0) for part, score in scores.items())


def token_f1(given: str, gold: str) -> float:
    """Compute the F1, 0 to 1, of the multisets of tokens, which are separated by white space."""
    in_given, in_gold = given.split(), gold.split()
    same = sum((Counter(in_given) & Counter(in_gold)).values())
    if not same:
        return 0.0
    precision, recall = same / len(in_given), same / len(in_gold)
    return 2 * precision * recall / (precision + recall)


def rouge_l_recall(given: str, gold: str) -> float | None:
    """Compute the recall of ROUGE-L, 0 to 1, bit for bit as rouge-score does with its stemmer.

    This is the length of the longest common subsequence of stemmed words over the number of words in `gold`; None if
    `gold` has no words.
    """
    gold_words = words(gold)
    return LCSseq.similarity(gold_words, words(given)) / len(gold_words) if gold_words else None


def words(text: str) -> list[str]:
    """Split a text into stemmed lower-case alphanumeric (ASCII) words with rouge-score's tokenizer."""
    tokenize, stemmer = _rouge()
    return tokenize(text, stemmer)


class _CachedStemmer:
    """A stemmer that remembers the words that it has stemmed, which takes most of the time of ROUGE-L."""

    def __init__(self, stem: Callable[[str], str]) -> None:
        self.stem = lru_cache(maxsize=1 << 17)(stem)


@cache
def _rouge() -> tuple[Callable[[str, _CachedStemmer], list[str]], _CachedStemmer]:
    """Return rouge-score's tokenizer, and its stemmer with a cache."""
    # imported here because it takes longer than everything else
    from rouge_score import tokenize, tokenizers

    return tokenize.tokenize, _CachedStemmer(tokenizers.porter.PorterStemmer().stem)


# --- the scorer ------------------------------------------------------------------------------------------


def read_explanation(reply: str) -> Answer[str]:
    """Read the reply without its reasoning blocks; a reply that only declines to answer has no explanation."""
    text = strip_reasoning(reply)
    if text is None:
        return Answer(None, "unclosed reasoning")
    text = text.strip()
    if not text:
        return Answer(None, "empty reply")
    if only_declines(text):
        return Answer(None, "declines", abstained=True)
    return Answer(text)


def score_explanation(item: Item, reply: str, alpha: float = ALPHA) -> Score:
    """Score an explanation against the reference, which is the item's target.

    Measurements, all 0 to 1: `expmatch`, and `expmatch_body`, `expmatch_head` and `expmatch_tail` for the parts that
    the reference has.

    Args:
        item: The item.
        reply: The reply.
        alpha: The weight of the body in `expmatch`, above 0, up to 1.
    """
    answer = read_explanation(reply)
    parts = parts_scores(split(answer.value or ""), split(item.target))
    measurements = {"expmatch": expmatch(parts, alpha) or 0.0}
    measurements |= {f"expmatch_{part}": score for part, score in parts.items() if score is not None}
    return Score(
        item.id, item.cluster, answer.value, item.target, measurements, item.tags, answer.reason, answer.outcome
    )


METRICS = (
    mean("expmatch", "expmatch"),
    *(mean(f"expmatch_{part}", f"expmatch_{part}") for part in Parts._fields),
    share_unparsed(),
)


def expmatch_scorer(alpha: float = ALPHA) -> TaskScorer:
    """Score how much of a reference explanation a reply contains (FactCHD, section 5.1).

    Args:
        alpha: The weight of the body, above 0, up to 1; head and tail share the rest.

    Returns:
        A scorer with the metrics `expmatch`, `expmatch_body`, `expmatch_head` and `expmatch_tail`, all 0 to 1.

    Raises:
        ValueError: `alpha` is not a number above 0, up to 1.
    """
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha <= 1:
        raise ValueError(f"alpha: expected a number above 0, up to 1, got {alpha!r}")
    return TaskScorer(lambda item, reply, _: score_explanation(item, reply, alpha), METRICS)
