"""`halu-tasks quality`: what can be told of a built dataset without a model or a person."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path

from halu_tasks.builders.card.describe import COLLECTED, dropped_of, without_text
from halu_tasks.builders.card.sections import SAME
from halu_tasks.builders.quality.balance import Distribution
from halu_tasks.builders.quality.leaks import LEAK, NONE, Separation
from halu_tasks.builders.quality.near_duplicates import NearDuplicates
from halu_tasks.builders.quality.published import at_hand
from halu_tasks.builders.quality.quality import Quality, quality
from halu_tasks.builders.run.collect import Collected
from halu_tasks.builders.run.folder import Folder
from halu_tasks.cli import DONE_IN_PART
from halu_tasks.cli.tables import figure, table
from halu_tasks.data.rows import read_json_object


def run(arguments: argparse.Namespace) -> int:
    folder = Folder(Path(arguments.folder))
    collected = folder.path / COLLECTED
    benchmarks, missing = at_hand([Path(path) for path in arguments.against])
    with ExitStack() as stack:
        near = stack.enter_context(NearDuplicates(arguments.near)) if arguments.near else None
        found = quality(
            folder.pipeline,
            folder.items(),
            benchmarks=benchmarks,
            not_compared=missing,
            near=near,
            dropped=dropped_of(Collected.from_json(read_json_object(collected))) if collected.is_file() else None,
            seed=arguments.seed,
        )
    if arguments.json:
        print(json.dumps(found.to_json(), ensure_ascii=False, indent=2))
    else:
        show(found)
    if arguments.strict and found.flagged:
        return 1
    return tell_not_compared(found)


def tell_not_compared(found: Quality) -> int:
    """Name the files of `--against` that nothing could be compared with. Returns the exit status."""
    for file in (files := without_text(found)):
        print(f"halu-tasks: {file} (--against) holds no text, and nothing was compared with it", file=sys.stderr)
    return DONE_IN_PART if files else 0


def show(found: Quality) -> None:
    """Print a dataset's quality."""
    pairs = found.pairs
    print(f"{found.items:,} items of {found.documents:,} documents, {pairs.used:,} of {pairs.n:,} pairs\n")
    rows = [[name, *map(figure, own.figures), leak(own)] for name, own in found.separations.items()]
    print(table(["what tells hallucinated from true", "all texts (area)", "within pairs", "leak"], rows))
    if words := found.classifier.words:
        print("\n".join(f"words for {side}: {', '.join(own) or 'none'}" for side, own in words.items()))
    balance = found.balance
    rows = [["kind", *_spread(balance.kinds), ""]]
    for file, fields in balance.labels.items():
        rows += [[f"{field} in {file}", *_spread(own), told(own.verdict or "")] for field, own in fields.items()]
    print("\n" + table(["balance of", "numbers", "evenness", "always the same", "leak"], rows, right=(2, 3)) + "\n")
    within, against = found.duplicates, found.benchmarks
    print(f"duplicates of an earlier item: {within.same.n:,}; near-duplicates: {within.describe_similar()}")
    for own in against.compared:
        print(f"share text with {own.source} {own.file} ({own.texts:,} texts, {own.of}): {own.n:,}")
    if against.not_compared:
        print(f"not at hand, so not compared with: {', '.join(against.not_compared)}")
        print("(halu-tasks data fetch SOURCE, or --against PATH)")
    flagged = found.flagged
    print("\nflagged: " + ("nothing" if not flagged else ""))
    print("\n".join(f"  {own.check}: {own.text}" for own in flagged), end="\n" * bool(flagged))


def leak(own: Separation) -> str:
    """Whether a feature leaks, in plain words."""
    return SAME if own.same and own.verdict == NONE else told(own.verdict)


def told(verdict: str) -> str:
    """A verdict in plain words."""
    return {LEAK: "LEAK", "none": "no", "unsure": "not sure"}.get(verdict, verdict)


def _spread(own: Distribution) -> list[str]:
    counts = ", ".join(f"{name or '(none)'} {number:,}" for name, number in own.counts.items())
    return [counts, *("-" if share is None else f"{share:.3f}" for share in (own.evenness, own.largest))]
