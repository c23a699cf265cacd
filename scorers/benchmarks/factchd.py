"""FactCHD: label and explanation of a reply, FactCls and ExpMatch (section 5.1).

`strict` reads the label wherever a reply states it. `paper` reads (`published`) and counts as the authors' evaluator
(`evaluate/` in their repository) does:

- a prefix `Output:`, then one `Response:`, then `FACTS:` is removed, the last being a label of its own;
- the label is what the reply begins with once lower-cased and freed of punctuation and articles, so that
  "Factually, …" is FACTUAL;
- the explanation begins behind a label that is written in one case throughout, else with the first letter;
- a reply without a label keeps the score of its explanation, and is no true or false positive or negative.
"""

from __future__ import annotations

import re
from dataclasses import replace

from halu_tasks.core.items import Item
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks import published
from halu_tasks.scorers.benchmarks.expmatch import ALPHA, Parts, expmatch, expmatch_published, parts_scores, split
from halu_tasks.scorers.classification import Unparsed, label_metric, score_label
from halu_tasks.scorers.metrics import Metric, mean, share_unparsed
from halu_tasks.scorers.reading.fields import structured_reply
from halu_tasks.scorers.reading.questions import FACTUAL, NON_FACTUAL, factual
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.calibration import probability_metrics

LABELS = (FACTUAL, NON_FACTUAL)
PATTERNS = {
    "Conventional": "vanilla",
    "Reasoning": "multi_hop",
    "Comparing": "comparison",
    "Operation": "set_operation",
}
"""The released categories and the paper's names for them."""


_MARKS = r"[\s*_`#<>\"'“”‘’\[\](){}|~:.=\-–—]"
_LABEL_FIRST = re.compile(
    rf"{_MARKS}*(?:(?:output|response|answer|label|verdict|judge?ment|classification|conclusion|(?:my|final) \w+)"
    rf"(?: is\b)?{_MARKS}+)?(?:facts\s*:{_MARKS}*)?"
    r"(?P<non>(?:non|not|un)[\s\-_‐‑–—]{0,2})?(?:factual|(?-i:FACTS?)(?!:))(?![a-z0-9]|[\-‐‑]\w)(?!\s+(?:or|nor|and)\b)"
    r"(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_BEHIND = " .,;:'\"\n*_`)]}>-–—#\t\r"


def read(reply: str) -> tuple[Answer[str], str]:
    """Return the label of a reply, and its explanation, which is the reply without reasoning and leading label."""
    text = strip_reasoning(reply) or ""
    return factual(reply), explanation_of(str(structured_reply(text).get("explanation", text)))


def explanation_of(reason: str) -> str:
    """Return an explanation without the label that it begins with."""
    first = _LABEL_FIRST.match(reason.strip())
    return first["rest"].lstrip(_BEHIND).strip() if first else reason.strip()


def label_of(reason: str) -> str | None:
    """Return the label that a gold explanation begins with."""
    first = _LABEL_FIRST.match(reason.strip())
    return None if first is None else NON_FACTUAL if first["non"] else FACTUAL


def score(item: Item, reply: str) -> Score:
    """Score of a reply in `strict`: an unparsed one is worth nothing, its explanation included."""
    answer, explanation = read(reply)
    found = parts_scores(split(explanation), split(explanation_of(str(item.gold["reason"]))))
    if answer.value is None:
        found = {part: None if value is None else 0.0 for part, value in found.items()}
    return _with_facts(
        item,
        answer,
        {"expmatch": expmatch(found, _alpha(item)), **{f"expmatch_{k}": v for k, v in found.items()}},
    )


def _alpha(item: Item) -> float:
    # logs of older versions have none
    return float(item.gold.get("alpha", ALPHA))


def _with_facts(item: Item, answer: Answer[str], facts: dict[str, float | None]) -> Score:
    base = score_label(item.id, item.cluster, item.target, answer, item.tags)
    stated = {name: value for name, value in facts.items() if value is not None}
    return replace(base, measurements={**base.measurements, **stated})


def score_published(item: Item, reply: str) -> Score:
    """Score of a reply as the authors' evaluator gives it, but for its stemmer and its rounding."""
    cleaned = published.published_clean(reply[:_LONGEST])
    label = published.published_label(cleaned)
    gold = published.published_parts(published.published_clean(str(item.gold["reason"])))
    found = {part: value or 0.0 for part, value in parts_scores(published.published_parts(cleaned), gold).items()}
    facts: dict[str, float | None] = {
        "expmatch": expmatch_published(found, _alpha(item)),
        **{f"expmatch_{k}": v for k, v in found.items()},
    }
    return _with_facts(item, Answer(label, "" if label else "does not begin with a label"), facts)


_LONGEST = 1_000_000
"""No reply to the paper's models was so long; it bounds the time that a model caught in a loop costs."""

# --- metrics ----------------------------------------------------------------------------------------


def _metrics(unparsed: Unparsed) -> tuple[Metric, ...]:
    about = (
        "mean match of explanation and gold explanation: α body + (1 - α)/2 head + (1 - α)/2 tail; α is 0.7, or alpha"
    )
    return (
        label_metric("f1", NON_FACTUAL, "factcls", unparsed=unparsed),
        label_metric("precision", NON_FACTUAL, "precision", unparsed=unparsed),
        label_metric("recall", NON_FACTUAL, "recall", unparsed=unparsed),
        mean("acc", "correct", "share of items answered with the target"),
        share_unparsed(),
        mean("expmatch", "expmatch", about),
        *(
            mean(f"expmatch_{part}", f"expmatch_{part}", f"mean match of the explanation's {part}")
            for part in Parts._fields
        ),
        *probability_metrics(NON_FACTUAL),
    )


METRICS = _metrics("miss")
PUBLISHED_METRICS = _metrics("ignored")


def factchd_scorer(published: bool = False) -> TaskScorer:
    """Score the label and the explanation of a reply (section 5.1).

    Args:
        published: whether replies are read and scored as by the authors' evaluator (`paper`).

    Returns:
        A scorer with the metrics `factcls` (the F1 of NON-FACTUAL), `precision`, `recall`, `acc`, `expmatch` and its
        parts, and those of probabilities.
    """
    if published:
        return TaskScorer(lambda item, reply, _: score_published(item, reply), PUBLISHED_METRICS)
    return TaskScorer(lambda item, reply, _: score(item, reply), METRICS)


def read_label(reply: str) -> Answer[str]:
    """Return the label that a reply states."""
    return read(reply)[0]
