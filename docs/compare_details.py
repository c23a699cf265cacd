"""Compare how two scorings read the same replies, item by item.

    halu-tasks score TASK replies.jsonl --partial --scoring paper --details paper.jsonl
    halu-tasks score TASK replies.jsonl --partial --scoring strict --details strict.jsonl
    python compare_details.py paper.jsonl strict.jsonl

For labels, print how often each answer became each other one. For strings, print in how many items `acc` rose or
fell, in how many of the former stripping the first file's strings is enough, and how many items have partial credit.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def read(path: Path) -> dict[str, Row]:
    """Return the rows of a --details file by id."""
    with path.open(encoding="utf-8") as file:
        return {row["id"]: row for row in map(json.loads, file)}


def print_labels(pairs: list[tuple[Row, Row]]) -> None:
    """Print how often each answer became each other one."""
    moves = Counter((str(one["answer"]), str(other["answer"])) for one, other in pairs)
    for (one, other), number in sorted(moves.items()):
        print(f"{number:6d}  {one} -> {other}")
    reasons = Counter(other["reason"] for _, other in pairs if other["answer"] is None)
    for reason, number in reasons.most_common():
        print(f"{number:6d}  unparsed in the second: {reason}")


def print_strings(pairs: list[tuple[Row, Row]]) -> None:
    """Print in how many items `acc` rose or fell."""
    rose = [(one, other) for one, other in pairs if other["facts"]["acc"] > one["facts"]["acc"]]
    fell = sum(other["facts"]["acc"] < one["facts"]["acc"] for one, other in pairs)
    print(f"{len(rose):6d}  items with a higher acc in the second")
    spaces = sum(gains_by_stripping(one) for one, _ in rose)
    print(f"{spaces:6d}  of them: higher once the first file's strings are stripped")
    print(f"{fell:6d}  items with a lower acc in the second")
    for which, side in (("first", 0), ("second", 1)):
        parts = sum(0 < pair[side]["facts"]["acc"] < 1 for pair in pairs)
        print(f"{parts:6d}  items with part of the credit in the {which}")


def gains_by_stripping(row: Row) -> bool:
    """Return whether stripping the returned strings finds more gold strings."""
    gold, returned = set(row["target"]), set(row["answer"] or [])
    return len(gold & {string.strip() for string in returned}) > len(gold & returned)


def main() -> int:
    """Compare the two files named on the command line."""
    parser = argparse.ArgumentParser(description="Compare two --details files of halu-tasks score.")
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    arguments = parser.parse_args()
    first, second = read(arguments.first), read(arguments.second)
    pairs = [(first[id], second[id]) for id in first if id in second]
    print(f"{len(pairs):6d}  items in both files")
    if any(isinstance(one["target"], list) for one, _ in pairs):
        print_strings(pairs)
    else:
        print_labels(pairs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
