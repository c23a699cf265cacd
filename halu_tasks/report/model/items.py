"""Choosing the items that a report shows: the hardest ones, and those on which entries or modes disagree."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat
from statistics import fmean, pvariance
from typing import NamedTuple

from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import WORDING, Item
from halu_tasks.report.model.breakdowns import OTHER_MODE, correctness_of, value_of
from halu_tasks.report.model.detail_records import GoldText, OtherScore, ShownItem, ShownReply
from halu_tasks.report.model.leaderboard import Column
from halu_tasks.results.entry import Entry
from halu_tasks.results.run import ScoredReply
from halu_tasks.scorers.benchmarks.localization import places
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.reading.judge import Verdict
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.probability import FACT
from halu_tasks.text.spans import Span, Text

WORST, DISAGREEING, MODES_DIFFER = "worst", "disagreeing", "modes differ"

PER_KIND = 10
"""Maximum number of items of each kind in a column."""
BUDGET = 2_500_000
"""Maximum total size in bytes of the strings of all items shown."""
_MIN_BYTES, _MAX_BYTES = 300, 6_000
"""Bounds of the limit for one string, in bytes."""
_MAX_VERDICTS = 100
"""Maximum number of verdicts shown for one reply."""
_MAX_MARKED = 20_000
"""Maximum length in characters of a text in which spans are marked, once for each entry."""

TITLE = 140
"""Maximum length of an item's title in characters."""
_COMPARED = 200
"""Number of prompts that are compared to find the line in which they differ."""
_SPACE = re.compile(r"[ \t]+")
_LABEL = re.compile(r".*[:：]\s*")

Answers = Mapping[str, list[tuple[ScoredReply, Score | None]]]
"""By item id, the answers (several with epochs), each with its score in the other mode, if there is one."""


def by_item(answers: Sequence[ScoredReply], others: Sequence[Score] | None) -> Answers:
    """Group answers, with their scores in the other mode, by item id."""
    grouped: dict[str, list[tuple[ScoredReply, Score | None]]] = {}
    for answered, other in zip(answers, others or repeat(None, len(answers)), strict=True):
        grouped.setdefault(answered.item.id, []).append((answered, other))
    return grouped


def chosen(column: Column, answers: Mapping[Entry, Answers]) -> dict[str, list[str]]:
    """Choose the items to show; ties are broken by a hash of the id.

    Args:
        column: The column.
        answers: The answers of each entry.

    Returns:
        The ids of the items, each with the kinds that it was chosen for.
    """
    ids = next(iter(answers.values()))
    headline = column.headline
    correctness = {id: _correctness_by_entry(headline, answers.values(), id) for id in ids}
    defined = {id: [value for value in values if value is not None] for id, values in correctness.items()}
    difficulty = {id: 1 - fmean(values) for id, values in defined.items() if values}
    spread = {id: pvariance(values) for id, values in defined.items() if len(values) > 1}
    other = _other_headline(column)
    differing = {
        id: float(sum(_differs(column.headline, other, by_id[id]) for by_id in answers.values()))
        for id in correctness
        if other
    }
    kinds: dict[str, list[str]] = {}
    for kind, weights in ((WORST, difficulty), (DISAGREEING, spread), (MODES_DIFFER, differing)):
        ranked = sorted(
            (id for id, weight in weights.items() if weight > 0),
            key=lambda id: (-weights[id], stable_hash(id, surrogates="surrogatepass")),
        )
        for id in ranked[:PER_KIND]:
            kinds.setdefault(id, []).append(kind)
    return kinds


def _correctness_by_entry(headline: Metric, answers: Iterable[Answers], id: str) -> list[float | None]:
    """Return by how much each entry has an item right, on average over epochs; None if it is unknown."""
    return [correctness_of(headline, [answered.score for answered, _ in by_id[id]]) for by_id in answers]


def _other_headline(column: Column) -> Metric | None:
    """Return the metric with the headline's name in the other mode, if there is one."""
    metrics = column.task.scoring[OTHER_MODE[column.first.scoring]].metrics
    return next((metric for metric in metrics if metric.name == column.headline.name), None)


def _differs(headline: Metric, other_headline: Metric, answers: Sequence[tuple[ScoredReply, Score | None]]) -> bool:
    """Return whether the two modes score any of the answers differently."""
    return any(
        other is not None and value_of(headline, answered.score) != value_of(other_headline, other)
        for answered, other in answers
    )


def text_limit(items: int, entries: int) -> int:
    """Compute the limit in bytes for each string, given the number of items and of entries that reply to each."""
    return max(_MIN_BYTES, min(_MAX_BYTES, BUDGET // max(items * (entries + 1), 1)))


def cut(text: str, limit: int) -> tuple[str, int]:
    """Truncate a string to at most `limit` bytes.

    Returns:
        The start of the string, and the number of characters that were left out.
    """
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= limit:
        return text, 0
    start = encoded[:limit].decode("utf-8", "ignore") if _is_valid_unicode(text) else text[: limit // 4]
    return start, len(text) - len(start)


def _is_valid_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def shown_item(
    column: Column, id: str, title: str, kinds: Sequence[str], answers: Mapping[str, Answers], limit: int
) -> ShownItem:
    """Collect what is shown of an item, with all replies.

    Args:
        column: The item's column.
        id: The item's id.
        title: The item's title.
        kinds: The kinds that it was chosen for.
        answers: The answers of each entry, by the entry's id.
        limit: The maximum length of each string, in bytes.
    """
    (first, _), *_ = next(iter(answers.values()))[id]
    item = first.item
    gold = column.task.answer.gold_spans(item.gold)
    marks = _Marks(Text(gold.text), gold.spans) if gold and len(gold.text) <= _MAX_MARKED else None
    values = _correctness_by_entry(column.headline, answers.values(), id)
    prompt, prompt_cut = cut(item.prompt, limit)
    system, system_cut = cut(item.system, limit)
    target, target_cut = cut(item.target, limit)
    return ShownItem(
        id=item.id,
        title=title,
        kinds=kinds,
        right=sum(value == 1 for value in values),
        entries=len(values),
        prompt=prompt,
        system=system,
        target=target,
        cut=prompt_cut + system_cut + target_cut,
        tags=item.tags,
        text=GoldText(text=marks.text.text, gold=marks.gold) if marks else None,
        replies=[
            _shown_reply(column, item, entry, answered, other, marks, limit)
            for entry, by_id in answers.items()
            for answered, other in by_id[id]
        ],
    )


def titles(items: Sequence[Item], ids: Collection[str]) -> dict[str, str]:
    """Title items by the first line of their prompts in which they differ, usually the question, without its label.

    Args:
        items: Items of one task. Those in different wordings are compared among themselves.
        ids: The ids of the items to title.
    """
    by_wording: dict[str, list[Item]] = {}
    for item in items:
        by_wording.setdefault(item.tags.get(WORDING, ""), []).append(item)
    found = {}
    for alike in by_wording.values():
        lines = {item.id: [line for line in item.prompt.split("\n") if line.strip()] or [""] for item in alike}
        samples = [lines[item.id] for item in alike[:_COMPARED]]
        depth = 0
        while len({tuple(prompt[depth : depth + 1]) for prompt in samples}) == 1 < len(samples):
            if min(map(len, samples)) <= depth + 1:
                break
            depth += 1
        label = _label([prompt[depth] for prompt in samples if len(prompt) > depth])
        for id in lines.keys() & ids:
            line = lines[id][depth] if len(lines[id]) > depth else lines[id][-1]
            line = _SPACE.sub(" ", line.removeprefix(label)[: 8 * TITLE]).strip()
            found[id] = line if len(line) <= TITLE else f"{line[: TITLE - 1].rstrip()}…"
    return found


def _label(lines: Sequence[str]) -> str:
    """Return what all lines begin with, up to a colon, such as `Question: `."""
    if len(lines) < 2:
        return ""
    low, high = min(lines), max(lines)
    common = next((low[:i] for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), low)
    label = _LABEL.match(common)
    return label[0] if label else ""


class _Marks(NamedTuple):
    """A text and its gold spans, in which the strings of answers are marked, too."""

    text: Text
    gold: Sequence[Span]

    def place(self, strings: Sequence[str]) -> tuple[list[Span], list[str]]:
        """Return the spans of strings in the text, sorted, and the strings that are not in it."""
        placed = {string: places(self.text, string, self.gold) for string in strings}
        spans = sorted({span for spans in placed.values() for span in spans})
        return spans, [string for string, spans in placed.items() if not spans]


def _shown_reply(
    column: Column,
    item: Item,
    entry: str,
    answered: ScoredReply,
    other: Score | None,
    marks: _Marks | None,
    limit: int,
) -> ShownReply:
    score = answered.score
    reply, left_out = cut(answered.reply, limit)
    marked = marks.place(score.answer) if marks and isinstance(score.answer, list) else None
    spans, unplaced = marked or (None, [])
    return ShownReply(
        entry=entry,
        reply=reply,
        cut=left_out,
        answer=_cut_answer(score.answer, limit),
        outcome=score.outcome,
        target=score.target if isinstance(score.target, str) and score.target != item.target else None,
        value=value_of(column.headline, score),
        reason=score.reason,
        verdicts=[_cut_verdict(verdict, limit) for verdict in score.verdicts[:_MAX_VERDICTS]],
        verdicts_left_out=max(len(score.verdicts) - _MAX_VERDICTS, 0),
        spans=spans,
        unplaced=[cut(string, limit)[0] for string in unplaced],
        probability=score.measurements.get(FACT),
        other=_other_score(column, other, limit) if other else None,
    )


def _other_score(column: Column, score: Score, limit: int) -> OtherScore:
    headline = _other_headline(column)
    return OtherScore(
        scoring=OTHER_MODE[column.first.scoring],
        answer=_cut_answer(score.answer, limit),
        outcome=score.outcome,
        value=value_of(headline, score) if headline else None,
    )


def _cut_verdict(verdict: Verdict, limit: int) -> Verdict:
    return Verdict(*(cut(part, limit)[0] for part in verdict))


def _cut_answer(answer: str | list[str] | None, limit: int) -> str | list[str] | None:
    if isinstance(answer, list):
        return [cut(string, limit)[0] for string in answer]
    return None if answer is None else cut(answer, limit)[0]
