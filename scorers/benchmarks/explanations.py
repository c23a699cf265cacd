"""Explanations, compared with a gold one by ExpMatch, alone or behind a label (FactCHD, section 5.1).

Explanations are split at full stops, as in the authors' evaluator: the first sentence is the head, the last one the
tail, and those in between are the body. The body is scored by the F1 of its tokens, head and tail by the recall of
ROUGE-L. ExpMatch is their mean with the weights α for the body, and half of 1 - α each for head and tail.

For a label with an explanation, `strict` reads the label wherever a reply states it; `paper` reads (`published`) and
counts as the authors' evaluator does (`evaluate/` in their repository).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Annotated, Any, NamedTuple

from annotated_types import Gt, Le

from halu_tasks.core.items import Item
from halu_tasks.scorers.answer import ABSTAINED, UNPARSED, Answer
from halu_tasks.scorers.benchmarks import released_readers
from halu_tasks.scorers.classification import Unparsed, label_metric
from halu_tasks.scorers.gold import ExplanationGold
from halu_tasks.scorers.metrics import mean, share_of
from halu_tasks.scorers.reading.fields import structured_reply
from halu_tasks.scorers.reading.questions import FACTUAL, NON_FACTUAL, factual
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.scorers.reading.steps import only_declines
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import ScoredReply, score_label
from halu_tasks.scorers.statistics.calibration import probability_metrics

Weight = Annotated[float, Gt(0), Le(1)]
ALPHA = 0.7
"""The weight of the body in the published figures; a footnote also tries 0.75 and 0.8."""
LABELS = (FACTUAL, NON_FACTUAL)
PATTERNS = {
    "Conventional": "vanilla",
    "Reasoning": "multi_hop",
    "Comparing": "comparison",
    "Operation": "set_operation",
}
"""The released categories and the paper's names for them."""


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


Matches = Mapping[str, float | None]
"""The match of each part by name, 0 to 1; None if the gold explanation lacks the part."""


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


def matches(explanation: str, gold_explanation: str) -> Matches:
    """Compare an explanation with the gold one, part by part."""
    parts, gold_parts = split(explanation), split(gold_explanation)
    return {
        "body": token_f1(parts.body, gold_parts.body) if gold_parts.body.split() else None,
        "head": rouge_l_recall(parts.head, gold_parts.head),
        "tail": rouge_l_recall(parts.tail, gold_parts.tail),
    }


def expmatch(matches: Matches, alpha: float = ALPHA, *, published: bool = False) -> float | None:
    """Compute the weighted mean of the matches of the parts, 0 to 1.

    Args:
        matches: The match of each part.
        alpha: The weight of the body, above 0, up to 1.
        published: Whether parts that the gold explanation lacks count as 0, so that no reply scores 1 if it has fewer
            than three sentences. Otherwise the weights of those it has add up to 1.

    Returns:
        The mean; None if the gold explanation has no parts.
    """
    # rounded, so that 0.7 leaves 0.15 and not 0.15000000000000002
    rest = round((1 - alpha) / 2, 12)
    weights = {"body": alpha, "head": rest, "tail": rest}
    total = math.fsum(weights[part] * (match or 0.0) for part, match in matches.items())
    if published:
        return total
    present = [weights[part] for part, match in matches.items() if match is not None]
    return total / math.fsum(present) if present else None


def token_f1(explanation: str, gold: str) -> float:
    """Compute the F1, 0 to 1, of the multisets of tokens, which are separated by white space."""
    tokens, gold_tokens = explanation.split(), gold.split()
    shared = sum((Counter(tokens) & Counter(gold_tokens)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(tokens), shared / len(gold_tokens)
    return 2 * precision * recall / (precision + recall)


def rouge_l_recall(explanation: str, gold: str) -> float | None:
    """Compute the recall of ROUGE-L, 0 to 1, by rouge-score with its stemmer; None if `gold` has no words."""
    if not re.search("[a-z0-9]", gold.lower()):
        return None
    return float(_rouge_l().score(gold, explanation)["rougeL"].recall)


class _Tokenizer:
    """The tokenizer of rouge-score with a cache of stems, without which stemming takes most of the time."""

    def __init__(self) -> None:
        from rouge_score import tokenize, tokenizers

        self.stem = lru_cache(maxsize=1 << 17)(tokenizers.porter.PorterStemmer().stem)
        self._tokenize: Callable[[str, _Tokenizer], list[str]] = tokenize.tokenize

    def tokenize(self, text: str) -> list[str]:
        return self._tokenize(text, self)


@cache
def _rouge_l() -> Any:
    from rouge_score.rouge_scorer import RougeScorer  # imported here because it takes longer than everything else

    return RougeScorer(["rougeL"], tokenizer=_Tokenizer())


# --- an explanation alone ---------------------------------------------------------------------------------


def read_explanation(reply: str) -> Answer[str]:
    """Read the reply without its reasoning blocks; a reply that only declines to answer has no explanation."""
    reply = ReplyText(reply)
    if reply.missing:
        return reply.missing
    return Answer(None, "declines", ABSTAINED) if only_declines(reply.text) else Answer(reply.text.strip())


def _measurements(matches: Matches, alpha: float, *, published: bool = False) -> dict[str, float]:
    named = {"expmatch": expmatch(matches, alpha, published=published)}
    named |= {f"expmatch_{part}": match for part, match in matches.items()}
    return {name: match for name, match in named.items() if match is not None}


_WEIGHTS = "α body + (1 - α)/2 head + (1 - α)/2 tail; α is 0.7, or alpha"
_FACTS = ("expmatch", *(f"expmatch_{part}" for part in Parts._fields))
_EXPMATCH = (
    mean("expmatch", "expmatch", f"mean match of explanation and gold explanation: {_WEIGHTS}"),
    *(mean(f"expmatch_{part}", f"expmatch_{part}", f"mean match of its {part}") for part in Parts._fields),
)


def expmatch_scorer(alpha: Weight = ALPHA) -> TaskScorer:
    """Score how much of a reference explanation, the target, a reply contains (FactCHD, section 5.1).

    Args:
        alpha: The weight of the explanation's body, above 0, up to 1; head and tail share the rest.

    Returns:
        A scorer with the metrics `expmatch`, `expmatch_body`, `expmatch_head` and `expmatch_tail`, all 0 to 1.
    """

    def score(item: Item, reply: str, verdicts: object) -> ScoredReply:
        answer = read_explanation(reply)
        return ScoredReply.of(item, answer, _measurements(matches(answer.value or "", item.target), alpha))

    return TaskScorer(score, (*_EXPMATCH, share_of(UNPARSED)), _FACTS)


# --- a label and an explanation ---------------------------------------------------------------------------

_MARKS = r"[\s*_`#<>\"'“”‘’\[\](){}|~:.=\-–—]"
_LABEL_FIRST = re.compile(
    rf"{_MARKS}*(?:(?:output|response|answer|label|verdict|judge?ment|classification|conclusion|(?:my|final) \w+)"
    rf"(?: is\b)?{_MARKS}+)?(?:facts\s*:{_MARKS}*)?"
    r"(?P<non>(?:non|not|un)[\s\-_‐‑–—]{0,2})?(?:factual|(?-i:FACTS?)(?!:))(?![a-z0-9]|[\-‐‑]\w)(?!\s+(?:or|nor|and)\b)"
    r"(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_BEHIND = " .,;:'\"\n*_`)]}>-–—#\t\r"
# no reply to the paper's models was so long; it bounds the time that a model caught in a loop costs
_LONGEST = 1_000_000


def explanation_of(reason: str) -> str:
    """Return an explanation without the label that it begins with."""
    first = _LABEL_FIRST.match(reason.strip())
    return first["rest"].lstrip(_BEHIND).strip() if first else reason.strip()


def label_of(reason: str) -> str | None:
    """Return the label that a gold explanation begins with."""
    first = _LABEL_FIRST.match(reason.strip())
    return None if first is None else NON_FACTUAL if first["non"] else FACTUAL


def read(reply: str) -> tuple[Answer[str], str]:
    """Return the label of a reply, and its explanation, which is the reply without reasoning and leading label."""
    text = ReplyText(reply).text
    return factual(reply), explanation_of(str(structured_reply(text).get("explanation", text)))


def score_factchd(item: Item[ExplanationGold], reply: str, verdicts: object = None) -> ScoredReply:
    """Score a reply in `strict`: an unparsed one is worth nothing, its explanation included."""
    answer, explanation = read(reply)
    part_matches = matches(explanation, explanation_of(item.gold.reason))
    if answer.value is None:
        part_matches = {part: None if match is None else 0.0 for part, match in part_matches.items()}
    return score_label(item, answer, _measurements(part_matches, item.gold.alpha))


def score_factchd_published(item: Item[ExplanationGold], reply: str, verdicts: object = None) -> ScoredReply:
    """Score a reply as the authors' evaluator does, except for its stemmer and its rounding.

    A reply without a label keeps the score of its explanation, and is no true or false positive or negative.
    """
    cleaned, gold = (released_readers.published_clean(text) for text in (reply[:_LONGEST], item.gold.reason))
    label = released_readers.published_label(cleaned)
    part_matches = matches(
        released_readers.published_explanation(cleaned), released_readers.published_explanation(gold)
    )
    part_matches = {part: match or 0.0 for part, match in part_matches.items()}
    answer = Answer(label, "" if label else "does not begin with a label")
    return score_label(item, answer, _measurements(part_matches, item.gold.alpha, published=True))


def factchd_scorer(published: bool = False) -> TaskScorer:
    """Score the label and the explanation of a reply (section 5.1).

    Args:
        published: Whether replies are read and scored as by the authors' evaluator (`paper`).

    Returns:
        A scorer with the metrics `factcls` (the F1 of NON-FACTUAL), `precision`, `recall`, `acc`, `expmatch` and its
        parts, and those of probabilities.
    """
    unparsed: Unparsed = "ignored" if published else "miss"
    metrics = (
        label_metric("f1", NON_FACTUAL, "factcls", unparsed=unparsed),
        label_metric("precision", NON_FACTUAL, "precision", unparsed=unparsed),
        label_metric("recall", NON_FACTUAL, "recall", unparsed=unparsed),
        mean("acc", "correct", "share of items answered with the target"),
        share_of(UNPARSED),
        *_EXPMATCH,
        *probability_metrics(NON_FACTUAL),
    )
    score = score_factchd_published if published else score_factchd
    return TaskScorer(score, metrics, {"correct", *_FACTS}, gold=ExplanationGold)
