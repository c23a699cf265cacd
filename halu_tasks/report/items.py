"""Choosing the items that a report shows: the hardest ones, and those on which entries or modes disagree."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import repeat
from statistics import fmean, pvariance
from typing import NamedTuple

from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import WORDING, Item
from halu_tasks.report.board import Column
from halu_tasks.report.records import OtherScore, ShownItem, ShownReply
from halu_tasks.results.entry import Entry
from halu_tasks.results.run import ScoredReply
from halu_tasks.scorers.benchmarks.strings import places
from halu_tasks.scorers.judge import Verdict
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.calibration import FACT
from halu_tasks.text.spans import Span, Text

OTHER_MODE = {"strict": "paper", "paper": "strict"}
WORST, DISAGREEING, MODES_DIFFER = "worst", "disagreeing", "modes differ"

PER_KIND = 10
"""Maximum number of items of each kind in a column."""
BUDGET = 2_500_000
"""Maximum total size in bytes of the strings of all items shown."""
_MIN_BYTES, _MAX_BYTES = 100, 6_000
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
"""By item id, an entry's answers (several with epochs), each with its score in the other mode, if there is one."""


def shown_items(
    column: Column, ids: Mapping[Entry, str], others: Mapping[Entry, Sequence[Score] | None], limit: int
) -> list[ShownItem]:
    """Collect the items to show of a column, with all replies.

    Args:
        column: The column.
        ids: The ids of entries.
        others: Scores in the other mode by entry.
        limit: The maximum length of each string, in bytes.
    """
    answers = {ids[entry]: _by_item(run.answers, others[entry]) for entry, run in column.runs.items()}
    other = OTHER_MODE[column.first.scoring]
    metrics = {metric.name: metric for metric in column.task.scoring[other].metrics}
    shown = _Shown(column.headline, metrics.get(column.headline.name), other, limit)
    kinds = _chosen(shown, answers)
    names = titles([answered.item for answered in column.first.answers], kinds)
    return [_item(column, shown, answers, id, names[id], of_item) for id, of_item in kinds.items()]


class _Shown(NamedTuple):
    """The headline, the metric with its name in the other mode (if any), that mode, and the limit of strings."""

    headline: Metric
    other_headline: Metric | None
    other_mode: str
    limit: int

    def cut(self, text: str) -> str:
        return cut(text, self.limit)[0]

    def cut_answer(self, answer: str | list[str] | None) -> str | list[str] | None:
        if isinstance(answer, list):
            return [self.cut(string) for string in answer]
        return None if answer is None else self.cut(answer)


def _by_item(answers: Sequence[ScoredReply], others: Sequence[Score] | None) -> Answers:
    grouped: dict[str, list[tuple[ScoredReply, Score | None]]] = {}
    for answered, other in zip(answers, others or repeat(None, len(answers)), strict=True):
        grouped.setdefault(answered.item.id, []).append((answered, other))
    return grouped


def _chosen(shown: _Shown, answers: Mapping[str, Answers]) -> dict[str, list[str]]:
    """Choose items, each with the kinds that it is chosen for; ties are broken by a hash of the id."""
    difficulty: dict[str, float] = {}
    spread: dict[str, float] = {}
    differing: dict[str, float] = {}
    for id in next(iter(answers.values())):
        values = [value for value in _correctness(shown.headline, answers, id) if value is not None]
        difficulty |= {id: 1 - fmean(values)} if values else {}
        spread |= {id: pvariance(values)} if len(values) > 1 else {}
        differing[id] = sum(_differs(shown, by_id[id]) for by_id in answers.values())
    kinds: dict[str, list[str]] = {}
    for kind, weights in ((WORST, difficulty), (DISAGREEING, spread), (MODES_DIFFER, differing)):
        ranked = sorted(
            (id for id, weight in weights.items() if weight > 0),
            key=lambda id: (-weights[id], stable_hash(id, surrogates="surrogatepass")),
        )
        for id in ranked[:PER_KIND]:
            kinds.setdefault(id, []).append(kind)
    return kinds


def _differs(shown: _Shown, answers: Sequence[tuple[ScoredReply, Score | None]]) -> bool:
    """Return whether the two modes score any of the answers differently."""
    return shown.other_headline is not None and any(
        other is not None and value_of(shown.headline, answered.score) != value_of(shown.other_headline, other)
        for answered, other in answers
    )


def _correctness(headline: Metric, answers: Mapping[str, Answers], id: str) -> list[float | None]:
    """Compute how right each entry has an item, from 0 to 1, on average over epochs; None if it is not defined."""
    shares: list[float | None] = []
    for by_id in answers.values():
        values = [value for answered, _ in by_id[id] if (value := value_of(headline, answered.score)) is not None]
        share = fmean(values) if values else None
        if share is not None and not headline.higher_is_better:
            # shares are inverted, so that more is better; for counts, only the order matters
            share = 1 - share if headline.range[1] <= 1 else 1 / (1 + max(share, 0.0))
        shares.append(share)
    return shares


def value_of(metric: Metric, score: Score) -> float | None:
    """Return the figure of a single item; None if the metric does not define one."""
    value = metric.item(score) if metric.item else None
    return None if value is None or value != value else value


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
    start = encoded[:limit].decode("utf-8", "ignore")
    # a string with lone surrogates does not begin with what is left without them
    start = start if text.startswith(start) else text[: limit // 4]
    return start, len(text) - len(start)


def _item(
    column: Column, shown: _Shown, answers: Mapping[str, Answers], id: str, title: str, kinds: Sequence[str]
) -> ShownItem:
    (first, _), *_ = next(iter(answers.values()))[id]
    item = first.item
    gold = column.task.answer.gold_spans(item.gold)
    marks = _Marks(Text(gold.text), gold.spans) if gold and len(gold.text) <= _MAX_MARKED else None
    shown_text, text_cut = cut(gold.text, shown.limit) if gold else ("", 0)
    parts = {name: cut(getattr(item, name), shown.limit) for name in ("prompt", "system", "target")}
    return ShownItem(
        id=item.id,
        title=title,
        kinds=kinds,
        right=sum(value == 1 for value in _correctness(shown.headline, answers, id)),
        **{name: text for name, (text, _) in parts.items()},
        cut=sum(left_out for _, left_out in parts.values()),
        tags=item.tags,
        text=f"{shown_text}{'…' * bool(text_cut)}" if marks else None,
        gold=marks.gold if marks else [],
        replies=[_reply(shown, entry, *one, marks) for entry, by_id in answers.items() for one in by_id[id]],
    )


class _Marks(NamedTuple):
    """A text and its gold spans, in which the strings of answers are marked, too."""

    text: Text
    gold: Sequence[Span]

    def place(self, strings: Sequence[str]) -> tuple[list[Span], list[str]]:
        """Return the spans of strings in the text, sorted, and the strings that are not in it."""
        placed = {string: places(self.text, string, self.gold) for string in strings}
        spans = sorted({span for spans in placed.values() for span in spans})
        return spans, [string for string, spans in placed.items() if not spans]


def _reply(shown: _Shown, entry: str, answered: ScoredReply, other: Score | None, marks: _Marks | None) -> ShownReply:
    item, score = answered.item, answered.score
    reply, left_out = cut(answered.reply, shown.limit)
    marked = marks.place(score.answer) if marks and isinstance(score.answer, list) else None
    spans, unplaced = marked or (None, [])
    other_score = None
    if other:
        value = value_of(shown.other_headline, other) if shown.other_headline else None
        other_score = OtherScore(shown.other_mode, shown.cut_answer(other.answer), other.outcome, value)
    return ShownReply(
        entry=entry,
        reply=reply,
        cut=left_out,
        answer=shown.cut_answer(score.answer),
        outcome=score.outcome,
        target=score.target if isinstance(score.target, str) and score.target != item.target else None,
        value=value_of(shown.headline, score),
        reason=score.reason,
        verdicts=[Verdict(*map(shown.cut, verdict)) for verdict in score.verdicts[:_MAX_VERDICTS]],
        verdicts_left_out=max(len(score.verdicts) - _MAX_VERDICTS, 0),
        spans=spans,
        unplaced=list(map(shown.cut, unplaced)),
        probability=score.measurements.get(FACT),
        other=other_score,
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
    label = _LABEL.match(next((low[:i] for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), low))
    return label[0] if label else ""
