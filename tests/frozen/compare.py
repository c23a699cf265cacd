"""Compare this version with the frozen one: figures, intervals, readings, prompts and reports.

    python tests/frozen/compare.py                       # everything
    python tests/frozen/compare.py refact_correction     # runs whose name contains one of the words
    python tests/frozen/compare.py --released FOLDER …   # with more released replies (docs/convert_refact_outputs.py)

Each fact that differs is a line, `run: fact: before -> now`. Figures and texts must be equal; standard errors, ends of
intervals and p-values may differ by 1e-9. `intended.yaml` lists changes that are meant, as `{run, fact, reason}`, where
`run` and `fact` are patterns of `fnmatch`; an entry that no difference needs is a fault. The exit status is 1 if there
is a difference that is not on the list. `make.py` freezes the present version and empties the list.
"""

import argparse
import multiprocessing
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import runs
import yaml

FACTS = runs.HERE / "facts.jsonl.xz"
INTENDED = runs.HERE / "intended.yaml"
MAY_ROUND = re.compile(r"^interval |(^|[.| ])(low|high|stderr|p|p_adjusted|p_equal)$")
FAILURE = "failure"
"""The only fact of a run that fails."""
SHOWN = 20
"""Differences of one run that are printed; the others are counted."""


def frozen() -> dict[str, runs.Facts]:
    """Return the frozen facts of each run."""
    return {row["run"]: row["facts"] for row in runs.rows_of(FACTS)} if FACTS.exists() else {}


def _facts(name: str) -> tuple[str, runs.Facts]:
    try:
        return name, _RUNS[name]()
    except Exception as error:
        # one run that fails must not hide what the others say
        return name, {FAILURE: f"{type(error).__name__}: {error}"}


_RUNS: dict[str, runs.Run] = {}


def facts_now(folders: list[Path], words: list[str] | None = None) -> dict[str, runs.Facts]:
    """Return the facts of each run whose name contains one of the words, in as many processes as there are cores."""
    chosen = {name: run for name, run in runs.runs(folders).items() if matches(name, words)}
    _RUNS.update(chosen)
    # what reports are made of comes before them, so that it is scored once
    reports = [name for name in chosen if name.startswith("report")]
    others = sorted({*chosen} - {*reports}, key=lambda name: (not name.startswith("released"), name))
    if Path("/dev/shm").is_dir():
        # scoring writes hundreds of small files for each run
        tempfile.tempdir = "/dev/shm"
    with tempfile.TemporaryDirectory() as cache:
        os.environ |= {"HALU_TASKS_CACHE": cache, "INSPECT_CACHE_DIR": cache, "OPENAI_API_KEY": "none"}
        with ProcessPoolExecutor(mp_context=multiprocessing.get_context("fork")) as pool:
            # the modes and replies of a task are one piece of work: what they import is imported once
            facts = dict(pool.map(_facts, others, chunksize=8))
            return facts | dict(pool.map(_facts, reports))


def matches(name: str, words: list[str] | None) -> bool:
    return not words or any(word in name for word in words)


def without_data(before: dict[str, runs.Facts], now: dict[str, runs.Facts]) -> list[str]:
    """Return the runs that cannot be compared, as the data on which they rest are not at hand."""
    return [name for name in before if name not in now and name.startswith(("released ", "labels ", "report of re"))]


def differences(before: runs.Facts, now: runs.Facts) -> Iterator[tuple[str, str]]:
    """Yield the facts that differ, each with what to print about it."""
    if FAILURE in now:
        yield FAILURE, str(now[FAILURE])
        return
    for key in dict.fromkeys([*before, *now]):
        if key not in now:
            yield key, f"{shorten(before[key])} -> absent"
        elif key not in before:
            yield key, f"absent -> {shorten(now[key])}"
        elif before[key] != now[key] and not (MAY_ROUND.search(key) and close(before[key], now[key])):
            yield key, show(before[key], now[key])


def close(before: Any, now: Any) -> bool:
    """Return whether numbers, or lists of them, differ by at most 1e-9."""
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return all(map(close, before, now))
    if isinstance(before, int | float) and isinstance(now, int | float):
        return abs(before - now) <= 1e-9
    return bool(before == now)


def show(before: Any, now: Any) -> str:
    """Return both values, of long texts the place where they part."""
    if isinstance(before, str) and isinstance(now, str) and max(len(before), len(now)) > 60:
        pairs = zip(before, now, strict=False)
        at = next((number for number, (old, new) in enumerate(pairs) if old != new), min(len(before), len(now)))
        start = max(0, at - 20)
        return f"at character {at}: …{before[start : at + 40]!r} -> …{now[start : at + 40]!r}"
    return f"{shorten(before)} -> {shorten(now)}"


def shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 90 else f"{text[:87]}…"


def main() -> int:
    """Print what changed; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only runs whose name contains one of these")
    parser.add_argument("--released", type=Path, nargs="*", default=[], metavar="FOLDER", help="more released replies")
    arguments = parser.parse_args()
    before = {name: facts for name, facts in frozen().items() if matches(name, arguments.words)}
    now = facts_now([runs.RELEASED, *arguments.released], arguments.words)
    intended = yaml.safe_load(INTENDED.read_text(encoding="utf-8")) or []
    used: Counter[int] = Counter()
    unintended = 0
    absent = without_data(before, now)
    for name in sorted({*before, *now} - {*absent}):
        lines = []
        for key, line in differences(before.get(name, {}), now.get(name, {})):
            entry = next(
                (n for n, e in enumerate(intended) if fnmatchcase(name, e["run"]) and fnmatchcase(key, e["fact"])), None
            )
            if entry is None:
                lines.append(f"{name}: {key}: {line}")
            else:
                used[entry] += 1
        print(*lines[:SHOWN], sep="\n", end="\n" if lines else "")
        if len(lines) > SHOWN:
            print(f"{name}: and {len(lines) - SHOWN} more")
        unintended += len(lines)
    for number, entry in enumerate(intended):
        print(f"intended, {used[number]} facts: {entry['run']}: {entry['fact']}: {entry['reason']}")
    # an entry for runs that were not compared may still be needed
    stale = [
        entry
        for number, entry in enumerate(intended)
        if not used[number] and not arguments.words and not any(fnmatchcase(name, entry["run"]) for name in absent)
    ]
    for entry in stale:
        print(f"{INTENDED.name}: nothing differs any more for {entry['run']}: {entry['fact']}; remove the entry")
    if absent:
        print(f"not compared, as the data are not at hand: {len(absent)} runs, such as {absent[0]!r}")
    total = sum(len(facts) for name, facts in before.items() if name not in absent)
    print(f"{total} facts of {len(before) - len(absent)} runs: {unintended} differ, {used.total()} differ as intended")
    return 1 if unintended or stale or not before else 0


if __name__ == "__main__":
    sys.exit(main())
