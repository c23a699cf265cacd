"""From logs to a dataset: outcomes in the order of all documents, without duplicates, balanced where asked.

What is written depends on the documents, the options and the models' replies alone, not on when, in how many parts, or
after how many interruptions they were asked.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from halu_tasks.builders.outcomes import Outcome, Rates
from halu_tasks.builders.pipeline import Item, Pipeline
from halu_tasks.scorers.cost import COUNTED

DUPLICATE, BALANCE = "duplicate", "balance"
"""Reasons for which a draft that was kept is not in the dataset, beside the pipeline's checks."""


@dataclass
class Tally:
    """What was counted while outcomes went by.

    `failures` counts drafts by check and reason (a draft can have several), `refused` documents by reason, `kinds` the
    items by kind before balancing, `dropped` items by why they are not in the dataset.
    """

    rates: Rates
    documents: int = 0
    drafts: int = 0
    items: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    licences: Counter[str] = field(default_factory=Counter)
    cost: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        self.documents += 1
        self.licences[outcome.licence] += 1
        self.drafts += len(outcome.drafts)
        self.rates.add(Rates.counted(outcome))
        if outcome.refused:
            self.refused[outcome.refused.reason] += 1
        for draft in outcome.drafts:
            self.failures.update({(failure.check, failure.reason) for failure in draft.failures})
        self.cost.update({name: int((outcome.cost or {}).get(name, 0)) for name in COUNTED})


Reject = Callable[[Mapping[str, str]], None]
"""Takes what is written of one thing that was dropped: document, draft, check, reason, detail."""
Duplicate = Callable[[str, str, str], str | None]
"""Takes an item's id, its key and its group; the id of an earlier item that it is a duplicate of, if it is one."""


def items(
    pipeline: Pipeline, outcomes: Iterator[Outcome], tally: Tally, reject: Reject, duplicate: Duplicate
) -> Iterator[Item]:
    """The items of outcomes as they come, without duplicates; everything else goes to `reject`, and all is counted."""
    for outcome in outcomes:
        tally.add(outcome)
        if outcome.refused:
            check, reason, detail = outcome.refused
            reject({"document": outcome.document, "draft": "", "check": check, "reason": reason, "detail": detail})
        for draft in outcome.drafts:
            told = {"document": outcome.document, "draft": draft.id}
            for check, reason, detail in draft.failures:
                reject({**told, "check": check, "reason": reason, "detail": detail})
            if draft.row is None:
                continue
            item = Item(draft.id, draft.kind, outcome.document, draft.row)
            if earlier := duplicate(item.id, pipeline.key(item), pipeline.group(item)):
                tally.dropped[DUPLICATE] += 1
                reject({**told, "check": DUPLICATE, "reason": "duplicate of an earlier item", "detail": earlier})
                continue
            tally.kinds[item.kind] += 1
            tally.items += 1
            yield item


def balanced(found: Iterator[Item], limits: Mapping[str, int], tally: Tally, reject: Reject) -> Iterator[Item]:
    """At most so many items of each kind: the first ones in the order of all, which is that of hashes."""
    taken: Counter[str] = Counter()
    for item in found:
        if taken[item.kind] >= limits.get(item.kind, 0):
            tally.dropped[BALANCE] += 1
            told = {"document": item.document, "draft": item.id, "check": BALANCE}
            reject({**told, "reason": "more of its kind than of others", "detail": item.kind})
            continue
        taken[item.kind] += 1
        yield item


def rejects_to(path: Path) -> tuple[Reject, Callable[[], None]]:
    """A way to write rejects to a file, and to end it."""
    file = path.open("w", encoding="utf-8", newline="\n")

    def write(told: Mapping[str, Any]) -> None:
        file.write(json.dumps(dict(told), ensure_ascii=False) + "\n")

    return write, file.close
