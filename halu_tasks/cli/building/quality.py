"""`halu-tasks quality`: what can be told of a built dataset without a model or a person."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from halu_tasks.builders.card.describe import COLLECTED, dropped_of, without_text
from halu_tasks.builders.card.sections import SAME, without_interval
from halu_tasks.builders.quality.leaks import LEAK, NONE
from halu_tasks.builders.quality.near_duplicates import NearDuplicates
from halu_tasks.builders.quality.published import at_hand
from halu_tasks.builders.quality.quality import near_duplicates, quality
from halu_tasks.builders.run.folder import Folder
from halu_tasks.builders.run.parts import read_json
from halu_tasks.cli import DONE_IN_PART
from halu_tasks.cli.tables import figure, table


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
            dropped=dropped_of(read_json(collected)) if collected.is_file() else None,
            seed=arguments.seed,
        )
    if arguments.json:
        print(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        show(found)
    if arguments.strict and found["flagged"]:
        return 1
    return tell_not_compared(found)


def tell_not_compared(found: Mapping[str, Any]) -> int:
    """Name the files of `--against` that nothing could be compared with. Returns the exit status."""
    for file in (files := without_text(found)):
        print(f"halu-tasks: {file} (--against) holds no text, and nothing was compared with it", file=sys.stderr)
    return DONE_IN_PART if files else 0


def show(found: Mapping[str, Any]) -> None:
    """Print a dataset's quality."""
    pairs = found["pairs"]
    print(f"{found['items']:,} items of {found['documents']:,} documents, {pairs['used']:,} of {pairs['n']:,} pairs\n")
    features = {**found["leaks"], "words alone, to a classifier": found["classifier"]}
    rows = [
        [name, *(figure(without_interval(own, key)) for key in ("area", "in_pairs")), leak(own)]
        for name, own in features.items()
    ]
    print(table(["what tells hallucinated from true", "all texts (area)", "within pairs", "leak"], rows))
    if words := found["classifier"].get("words"):
        print("\n".join(f"words for {side}: {', '.join(own) or 'none'}" for side, own in words.items()))
    balance = found["balance"]
    rows = [["kind", *_spread(balance["kinds"]), ""]]
    for file, fields in balance["labels"].items():
        rows += [[f"{field} in {file}", *_spread(own), told(own.get("verdict", ""))] for field, own in fields.items()]
    print("\n" + table(["balance of", "numbers", "evenness", "always the same", "leak"], rows, right=(2, 3)) + "\n")
    within, against = found["duplicates"], found["benchmarks"]
    print(f"duplicates of an earlier item: {within['same']['n']:,}; near-duplicates: {near_duplicates(within)}")
    for own in against["compared"]:
        print(f"share text with {own['source']} {own['file']} ({own['texts']:,} texts, {own['of']}): {own['n']:,}")
    if against["not_compared"]:
        print(f"not at hand, so not compared with: {', '.join(against['not_compared'])}")
        print("(halu-tasks data fetch SOURCE, or --against PATH)")
    print("\nflagged: " + ("nothing" if not found["flagged"] else ""))
    print("\n".join(f"  {own['check']}: {own['text']}" for own in found["flagged"]), end="\n" * bool(found["flagged"]))


def leak(own: Mapping[str, Any]) -> str:
    """Whether a feature leaks, in plain words."""
    return SAME if own.get("same") and own["verdict"] == NONE else told(own["verdict"])


def told(verdict: str) -> str:
    """A verdict in plain words."""
    return {LEAK: "LEAK", "none": "no", "unsure": "not sure"}.get(verdict, verdict)


def _spread(own: Mapping[str, Any]) -> list[str]:
    counts = ", ".join(f"{name or '(none)'} {number:,}" for name, number in own["counts"].items())
    return [counts, *("-" if own[name] is None else f"{own[name]:.3f}" for name in ("evenness", "largest"))]
