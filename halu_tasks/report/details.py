"""The details of a report's columns: breakdowns, confusion, calibration, risk, both modes, and items with replies.

All replies are also written to a Parquet table.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from statistics import fmean, pvariance
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import Item
from halu_tasks.report.detail_records import (
    BothModes,
    Breakdown,
    Calibration,
    CalibrationBin,
    Confusion,
    Details,
    Figure,
    OtherScore,
    Risk,
    ShownItem,
    ShownReply,
    TagCell,
    TagValue,
)
from halu_tasks.report.report_records import Column, Report, number_in_detail
from halu_tasks.results.run import Run
from halu_tasks.scorers.answer import NO_ANSWER, UNPARSED
from halu_tasks.scorers.attempts import Attempts, attempts_of
from halu_tasks.scorers.benchmarks.span_scorers import places, read_marks
from halu_tasks.scorers.columns import PROBABILITY, Columns, by_cluster
from halu_tasks.scorers.gold import SpanGold
from halu_tasks.scorers.kinds import Label
from halu_tasks.scorers.metrics import Metric, estimate
from halu_tasks.scorers.score import ScoredReply, verdicts_as_json
from halu_tasks.scorers.statistics.calibration import BINS, brier, ece
from halu_tasks.scorers.statistics.confidence import RiskCoverage, confidence_metrics
from halu_tasks.text.spans import Span, Text

OTHER_MODE = {"strict": "paper", "paper": "strict"}
JUDGED_ONCE = "The judge was asked in this mode; score the replies in the other one for its figures."
NO_COMMON_METRIC = "The two modes have no metric in common."
# maximum number of values of a tag for a breakdown; more would not be readable
_VALUES = 24
# maximum number of targets, and of other answers, in a confusion matrix
_LABELS = 12

# maximum number of points of a curve
_POINTS = 100

PER_KIND = 10
"""Maximum number of items of each kind in a column."""
BUDGET = 2_000_000
"""Maximum total length in characters of the strings of all items shown."""
_SHORTEST, _LONGEST = 100, 6_000
"""Bounds of the limit for one string, in characters."""
# maximum number of verdicts shown for one reply
_MAX_VERDICTS = 100
# maximum length in characters of a text in which spans are marked, once for each entry
_MAX_MARKED = 20_000
# maximum length of an item's title in characters
_TITLE = 140

# once for all values
_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
_TEXTS = (
    *("entry", "column", "task", *(each.name for each in fields(ScoredReply))),
    *("reply", "system", "prompt", "other_scoring", "other_answer", "other_outcome", "source"),
)
SCHEMA = pa.schema([*((name, pa.string()) for name in _TEXTS), ("value", pa.float64()), ("other_value", pa.float64())])


class ReplyRecord(NamedTuple):
    """A reply to an item, with its scores in the column's mode and in the other one, and their headline figures.

    `other` is None for a judged task, whose judge was asked in one mode, and a figure if the metric does not define it.
    """

    item: Item
    reply: str
    score: ScoredReply
    other: ScoredReply | None
    value: float | None
    other_value: float | None


Replies = Mapping[str, Sequence[ReplyRecord]]
"""The replies by the id of the entry."""


def write_details(report: Report, table: Path) -> None:
    """Add the details of all columns, and write all replies to a Parquet table.

    Lists and mappings are written as JSON. Invalid Unicode (lone surrogates) is replaced by question marks.

    Args:
        report: The report.
        table: The file of the table.
    """
    entries = number_in_detail(len(report.entries), len(report.places))
    limit = text_limit(3 * _per_kind(report) * len(report.columns), entries)
    with pq.ParquetWriter(table, SCHEMA, compression="zstd") as writer:
        # a progress bar, only on a terminal
        for column in tqdm(report.columns, desc="comparing", unit="task", disable=None):
            other_scores: dict[Any, ScoredReply] = {}
            scores = {entry.id: run.columns for entry, run in column.runs.items()}
            replies = {entry.id: _records(column, run, other_scores) for entry, run in column.runs.items()}
            for entry, run in column.runs.items():
                writer.write_table(_table(column, run, entry.label, replies[entry.id]))
            column.details = _details(column, scores, replies, limit, _per_kind(report))


def _per_kind(report: Report) -> int:
    return max(3, min(PER_KIND, 100 // max(len(report.columns), 1)))


def _records(column: Column, run: Run, other_scores: dict[Any, ScoredReply]) -> list[ReplyRecord]:
    """Return the replies of a run; `other_scores` are scores in the other mode, of which equal replies share one."""
    mode, asks_confidence = OTHER_MODE[run.scoring], run.asked["confidence"]
    values = _values_of(column.measure, run.columns)
    if column.benchmark_task.judge_spec:
        return [ReplyRecord(*answered, None, value, None) for answered, value in zip(run.answers, values, strict=True)]
    scores = []
    for answered in run.answers:
        key = answered.item.id, answered.reply, str(answered.score.target), answered.score.facts.get(PROBABILITY)
        if key not in other_scores:
            other_scores[key] = answered.scored(column.benchmark_task, mode, asks_confidence=asks_confidence)
        scores.append(other_scores[key])
    other_values = _values_of(column.first.metrics(mode).get(column.headline), Columns.of(scores))
    pairs = zip(run.answers, scores, values, other_values, strict=True)
    return [ReplyRecord(*answered, other, value, other_value) for answered, other, value, other_value in pairs]


def _values_of(metric: Metric | None, scores: Columns) -> list[float | None]:
    """Return the figure of each single item, None where the metric does not define one."""
    if metric is None:
        return [None] * len(scores)
    return [None if math.isnan(value) else value for value in metric.of_items(scores)]


def _table(column: Column, run: Run, label: str, replies: Sequence[ReplyRecord]) -> pa.Table:
    scores, others = [reply.score.as_json() for reply in replies], [reply.other for reply in replies]
    texts: dict[str, list[Any]] = {
        "entry": [label],
        "column": [column.title],
        "task": [run.task],
        "source": [run.source],
        **{each.name: [score.get(each.name) for score in scores] for each in fields(ScoredReply)},
        "system": [reply.item.system for reply in replies],
        "prompt": [reply.item.prompt for reply in replies],
        "reply": [reply.reply for reply in replies],
        "other_scoring": [other and OTHER_MODE[run.scoring] for other in others],
        "other_answer": [other and other.answer for other in others],
        "other_outcome": [other and other.outcome for other in others],
    }
    columns: dict[str, list[Any]] = {}
    for name, values in texts.items():
        columns[name] = [_text(value) for value in values]
    for name in ("entry", "column", "task", "source"):
        columns[name] *= len(replies)
    columns |= {"value": [reply.value for reply in replies], "other_value": [reply.other_value for reply in replies]}
    return pa.table(columns, schema=SCHEMA)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else _ENCODE(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _details(column: Column, scores: Mapping[str, Columns], replies: Replies, limit: int, per_kind: int) -> Details:
    task = column.benchmark_task
    label = task.scoring.choices[0] if task.scoring.choices else None
    labelled = isinstance(task.scoring.answer, Label)
    matrices = [_confusion(entry.id, run.scores) for entry, run in column.runs.items()] if labelled else []
    curves = [_calibration(entry, label, columns) for entry, columns in scores.items()] if label else []
    modes = list(_both_modes(column, scores, replies)) or None
    attempts = attempts_of(task.scorers[column.scoring].facts)
    risks = [_risk(entry, attempts, columns) for entry, columns in scores.items()] if attempts else []
    return {
        "column": column.id,
        "breakdowns": list(_breakdowns(column, scores)),
        "confusion": [matrix for matrix in matrices if matrix],
        "calibration": [curve for curve in curves if curve],
        "risk": [curve for curve in risks if curve],
        "modes": modes,
        "modes_missing": "" if modes else JUDGED_ONCE if column.benchmark_task.judge_spec else NO_COMMON_METRIC,
        "items": _shown_items(column, replies, limit, per_kind),
    }


def _breakdowns(column: Column, scores: Mapping[str, Columns]) -> Iterator[Breakdown]:
    """Break the headline, and the shares of a judge's labels, down by each tag with several values."""
    metrics = column.first.metrics()
    judged = column.benchmark_task.judge_spec
    shares = [name for name in metrics if name in judged.measurements] if judged else []
    tags = {answered.item.id: answered.item.tags for answered in column.first.answers}.values()
    for name in dict.fromkeys(name for item_tags in tags for name in item_tags):
        counts = Counter(item_tags[name] for item_tags in tags if name in item_tags)
        if not 1 < len(counts) <= _VALUES:
            continue
        values = sorted(counts)
        for metric in (column.measure, *(metrics[share] for share in shares if share != column.headline)):
            better = metrics.get(f"{metric.name}_ppi")
            cells = []
            for entry, columns in scores.items():
                nothing: list[Figure | None] = [None] * len(values)
                corrected = _by_value(better, name, values, columns) if better else nothing
                figures = _by_value(metric, name, values, columns)
                cells.append(TagCell(entry=entry, figures=figures, corrected=corrected))
            of_values = [TagValue(value=value, n=counts[value]) for value in values]
            yield Breakdown(by=name, metric=metric.name, values=of_values, cells=cells)


def _by_value(metric: Metric, tag: str, values: Sequence[str], columns: Columns) -> list[Figure | None]:
    return [_figure(metric.only(tag, value, value), columns) for value in values]


def _figure(metric: Metric, columns: Columns) -> Figure | None:
    figure = estimate(metric, columns)
    return figure and Figure(value=figure.value, stderr=figure.stderr, low=figure.low, high=figure.high)


def _confusion(entry: str, scores: Sequence[ScoredReply]) -> Confusion | None:
    """Count answers by target, those without a label by their outcome; None if targets are not labels."""
    targets = sorted({score.target for score in scores if isinstance(score.target, str)})
    if not 1 < len(targets) <= _LABELS or any(isinstance(score.target, list) for score in scores):
        return None
    cells = Counter((str(s.target), s.outcome if s.answer is None else str(s.answer)) for s in scores)
    other_answers = sorted({answer for _, answer in cells} - {*targets, *NO_ANSWER})
    if len(other_answers) > _LABELS:
        return None
    unanswered = [outcome for outcome in NO_ANSWER if outcome == UNPARSED or any(cells[t, outcome] for t in targets)]
    answers = [*targets, *other_answers, *unanswered]
    counts = [[cells[target, answer] for answer in answers] for target in targets]
    return Confusion(entry=entry, targets=targets, answers=answers, counts=counts)


def _calibration(entry: str, label: str, scores: Columns) -> Calibration | None:
    """Compute the calibration of a label's probabilities, in the bins of `ece`; None if there are none."""
    pairs = zip(scores[PROBABILITY].tolist(), scores["target"] == label, strict=True)
    probabilities = [(probability, has_label) for probability, has_label in pairs if not math.isnan(probability)]
    of_ece, of_brier = _figure(ece(label), scores), _figure(brier(label), scores)
    if not (probabilities and of_ece and of_brier):
        return None
    bins: list[CalibrationBin] = []
    for i in range(BINS):
        inside = [(p, has_label) for p, has_label in probabilities if min(int(p * BINS), BINS - 1) == i]
        if inside:
            mean, share = (float(np.mean(values)) for values in zip(*inside, strict=True))
            bins.append({"low": i / BINS, "high": (i + 1) / BINS, "n": len(inside), "mean": mean, "share": share})
    without = len(scores) - len(probabilities)
    return Calibration(entry=entry, label=label, bins=bins, without=without, ece=of_ece, brier=of_brier)


def _risk(entry: str, attempts: Attempts, scores: Columns) -> Risk | None:
    """Compute the risk over the coverage, with their figures; None without answers that have a confidence."""
    curve = RiskCoverage.of(attempts, scores)
    if not len(curve.kept):
        return None
    # evenly spaced in coverage, and with the last one
    drawn = np.unique(np.searchsorted(curve.kept, np.linspace(curve.kept[0], curve.kept[-1], _POINTS)))
    points = [
        [kept / curve.items, wrong / kept]
        for kept, wrong in zip(curve.kept[drawn].tolist(), curve.wrong[drawn].tolist(), strict=True)
    ]
    metrics = {metric.name: metric for metric in confidence_metrics(attempts)}
    return Risk(
        entry=entry,
        points=points,
        degrees=len(curve.kept),
        aurc=_figure(metrics["aurc"], scores),
        coverage_at_risk=_figure(metrics["coverage_at_risk"], scores),
        no_confidence=_figure(metrics["no_confidence"], scores),
    )


def _both_modes(column: Column, scores: Mapping[str, Columns], replies: Replies) -> Iterator[BothModes]:
    """Compare the scores of each entry in both modes, unless these have no metric in common."""
    mode, other_mode = column.scoring, OTHER_MODE[column.scoring]
    metrics, theirs = column.first.metrics(), column.first.metrics(other_mode)
    names = (name for name in (column.headline, *column.directions) if name != UNPARSED)
    metric = next((metrics[name] for name in names if name in theirs and name in metrics), None)
    if metric is None or column.benchmark_task.judge_spec:
        return
    for entry, records in replies.items():
        both = {
            mode: (metric, scores[entry]),
            other_mode: (theirs[metric.name], by_cluster(reply.other for reply in records if reply.other)),
        }
        values = [_values_of(*one) for one in both.values()]
        yield BothModes(
            entry=entry,
            metric=metric.name,
            strict=_figure(*both["strict"]),
            paper=_figure(*both["paper"]),
            unanswered_strict=_unanswered(both["strict"][1]),
            unanswered_paper=_unanswered(both["paper"][1]),
            changed=sum(one != other for one, other in zip(*values, strict=True)),
            n=len(records),
        )


def _unanswered(scores: Columns) -> int:
    return sum(outcome in NO_ANSWER for outcome in scores["outcome"])


# --- items ------------------------------------------------------------------------------------------


def _shown_items(column: Column, replies: Replies, limit: int, per_kind: int) -> list[ShownItem]:
    """Show the hardest items, and those on which entries or modes disagree, with all replies (several with epochs)."""
    by_item: dict[str, dict[str, list[ReplyRecord]]] = {}
    for entry, records in replies.items():
        for reply in records:
            by_item.setdefault(reply.item.id, {}).setdefault(entry, []).append(reply)
    right = {id: _correctness(column.measure, of_item) for id, of_item in by_item.items()}
    has_other = column.headline in column.first.metrics(OTHER_MODE[column.scoring])
    weights: dict[str, dict[str, float]] = {
        "worst": {id: 1 - fmean(shares) for id, shares in right.items() if shares},
        "disagreeing": {id: pvariance(shares) for id, shares in right.items() if shares},
        "modes differ": {
            id: sum(any(one.other and one.value != one.other_value for one in records) for records in of_item.values())
            for id, of_item in by_item.items()
            if has_other
        },
    }
    kinds: dict[str, list[str]] = {}
    for kind, weight in weights.items():
        # ties are broken by a hash of the id
        order = sorted(weight, key=lambda id: (-weight[id], stable_hash(id)))
        for id in order[:per_kind]:
            if weight[id] > 0:
                kinds.setdefault(id, []).append(kind)
    names = titles({id: next(iter(of_item.values()))[0].item.prompt for id, of_item in by_item.items()})
    return [
        _shown_item(column, by_item[id], limit, title=names[id], kinds=of_item, right=right[id].count(1))
        for id, of_item in kinds.items()
    ]


def _correctness(headline: Metric, of_item: Mapping[str, Sequence[ReplyRecord]]) -> list[float]:
    """Compute how right each entry with a figure has an item, from 0 to 1, on average over epochs."""
    shares = []
    for records in of_item.values():
        values = [reply.value for reply in records if reply.value is not None]
        if values:
            share = fmean(values)
            if not headline.higher_is_better:
                # shares are inverted, so that more is better; for counts, only the order matters
                share = 1 - share if headline.range[1] <= 1 else 1 / (1 + max(share, 0.0))
            shares.append(share)
    return shares


def text_limit(items: int, entries: int) -> int:
    """Compute the limit in characters for each string, given the number of items and of entries that reply to each."""
    return max(_SHORTEST, min(_LONGEST, BUDGET // max(items * (entries + 1), 1)))


def cut(text: str, limit: int) -> tuple[str, int]:
    """Return the first `limit` characters of a string, and the number of characters that were left out."""
    return text[:limit], max(len(text) - limit, 0)


def titles(prompts: Mapping[str, str]) -> dict[str, str]:
    """Title items by the first line of their prompts that few others have, usually the question."""
    lines = {id: [line for line in prompt.split("\n") if line.strip()] or [""] for id, prompt in prompts.items()}
    counts = Counter(line for each in lines.values() for line in {*each})
    first = {id: next((line for line in each if 3 * counts[line] <= len(lines)), each[0]) for id, each in lines.items()}
    squeezed = {id: " ".join(line[: 8 * _TITLE].split()) for id, line in first.items()}
    return {id: text if len(text) <= _TITLE else f"{text[: _TITLE - 1].rstrip()}…" for id, text in squeezed.items()}


def _shown_item(
    column: Column,
    replies: Mapping[str, Sequence[ReplyRecord]],
    limit: int,
    *,
    title: str,
    kinds: list[str],
    right: int,
) -> ShownItem:
    item = next(iter(replies.values()))[0].item
    prompt, system, target = (cut(part, limit) for part in (item.prompt, item.system, item.target))
    gold = item.gold if isinstance(item.gold, SpanGold) and len(item.gold.text) <= _MAX_MARKED else None
    text, left_out = cut(gold.text, limit) if gold else ("", 0)
    whole = Text(gold.text) if gold else None
    gold_spans = [*gold.spans] if gold else []
    shown_replies = []
    for entry, records in replies.items():
        for reply in records:
            spans, unplaced = _marks(whole, gold_spans, reply)
            shown_replies.append(_shown_reply(column, entry, reply, limit, spans, _cut_all(unplaced, limit)))
    return ShownItem(
        id=item.id,
        title=title,
        kinds=kinds,
        right=right,
        of=len(replies),
        prompt=prompt[0],
        system=system[0],
        target=target[0],
        cut=prompt[1] + system[1] + target[1],
        tags=item.tags,
        text=f"{text}{'…' * bool(left_out)}" if gold else None,
        gold=gold_spans,
        replies=shown_replies,
    )


def _marks(text: Text | None, gold: Sequence[Span], record: ReplyRecord) -> tuple[list[Span] | None, list[str]]:
    """Return the spans of an answer's strings in the text, sorted, and the strings that are not in it."""
    answer = record.score.answer
    if text is None or not isinstance(answer, list):
        return None, []
    read = read_marks(record.reply, text.text, gold, "passage")
    if read.by_offsets and read.answer.value == answer:
        return sorted(span for spans in read.spans.values() for span in spans), [*read.unplaced]
    placed = {string: places(text, string, gold) for string in answer}
    spans = sorted({span for spans in placed.values() for span in spans})
    return spans, [string for string, spans in placed.items() if not spans]


def _shown_reply(
    column: Column, entry: str, record: ReplyRecord, limit: int, spans: list[Span] | None, unplaced: list[str]
) -> ShownReply:
    score, other = record.score, record.other
    reply, left_out = cut(record.reply, limit)
    of_other: OtherScore | None = None
    if other:
        answer = _cut_all(other.answer, limit)
        mode, value = OTHER_MODE[column.scoring], record.other_value
        of_other = {"scoring": mode, "answer": answer, "outcome": other.outcome, "value": value}
    # the correct answer is shown if the item was asked in another order
    differs = isinstance(score.target, str) and score.target != record.item.target
    return ShownReply(
        entry=entry,
        reply=reply,
        cut=left_out,
        answer=_cut_all(score.answer, limit),
        outcome=score.outcome,
        target=str(score.target) if differs else None,
        value=record.value,
        reason=score.reason,
        verdicts=_cut_all(verdicts_as_json(score.verdicts)[:_MAX_VERDICTS], limit),
        verdicts_left_out=max(len(score.verdicts) - _MAX_VERDICTS, 0),
        probability=score.facts.get(PROBABILITY),
        other=of_other,
        spans=spans,
        unplaced=unplaced,
    )


def _cut_all(value: Any, limit: int) -> Any:
    if isinstance(value, list):
        return [_cut_all(part, limit) for part in value]
    if isinstance(value, dict):
        return {name: _cut_all(part, limit) for name, part in value.items()}
    return value if value is None else cut(value, limit)[0]
