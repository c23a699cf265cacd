"""How long reading a reply takes, as processor time over its size: `python tests/benchmark_readers.py`.

Every reader of replies, and every task's scoring in both modes, is given the shapes that hurt regular expressions, at
growing sizes. What grows faster than the size to the power of 1.2, or takes more than a second for a megabyte, is
marked with "!"; the exit status is 1 if anything is. `--reader` and `--shape` choose by a part of the name, `--sizes`
the sizes. The whole takes about an hour; no network.
"""

import argparse
import inspect
import json
import math
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from halu_tasks.builders import optimize, replies
from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.tasks import build, registry

SIZES = (64 << 10, 1 << 20)
MOST_EXPONENT = 1.2
MOST_SECONDS = 1.0  # for a megabyte
SHORT = 0.02  # seconds from which on a measurement counts
LIMIT = 20.0  # seconds after which a reading is broken off

OWN = Path(__file__).parent.parent / "docs" / "own_task"
Read = Callable[[str], object]
TEXT = "The moons of Jupiter are made of cheese. Light takes an hour to reach them.\nNone of them is larger than Earth."

UNITS: dict[str, str] = json.loads((Path(__file__).parent / "shapes_of_replies.json").read_text(encoding="utf-8"))
"""What is repeated, by name."""


def shapes(size: int) -> Iterator[tuple[str, str]]:
    """The replies of about `size` bytes, by name."""
    for name, unit in UNITS.items():
        number = size // len(unit.encode("utf-8", "surrogatepass"))
        yield name, unit * number
        yield f"{name}, between words", "a " + unit * number + " b"
    half = size // 2
    for opens, closes in ("()", "[]", "{}", "“”", "<>"):
        yield f"nested {opens}{closes}", opens * half + closes * half
    yield "lines of each", "\n".join(UNITS.values()) * (size // sum(len(unit) + 1 for unit in UNITS.values()))


def readers() -> dict[str, Read]:
    """What reads replies: every task, in each mode, and the builders' readers, with plausible arguments."""
    known: dict[str, Read] = {
        "optimize.read_rewrite": lambda reply: optimize.read_rewrite(reply, "Write about {text}.")
    }
    arguments: dict[str, tuple[Any, ...]] = {
        "objects": ("text",),
        "object": ("text",),
        "verdicts": (2,),
        "choice": (2,),
    }
    for name, function in inspect.getmembers(replies, inspect.isfunction):
        if function.__module__ == replies.__name__ and name.startswith("read_"):
            more = arguments.get(name.removeprefix("read_"), ())
            known[f"replies.{name}"] = lambda reply, read=function, more=more: read(reply, *more)
    return known | dict(tasks())


def tasks() -> Iterator[tuple[str, Read]]:
    """The scoring of the first item of every task, and of those of the documentation, in each mode."""
    asked = [(name, Options(data="sample")) for name in sorted(registry()[0])]
    asked += [(str(path), Options()) for path in sorted(OWN.glob("*.yaml"))]
    for name, options in asked:
        evaluation = build(name, options)
        task, item = evaluation.task, next(evaluation.stream())
        for mode in task.scoring:
            yield (
                f"task {task.name} {mode}",
                lambda reply, task=task, mode=mode, item=item: task.score(mode, item, Reply(reply)),
            )


class TooLong(Exception):
    """A reading was broken off."""


def _break_off(signum: int, frame: FrameType | None) -> None:
    raise TooLong


def seconds(read: Read, reply: str) -> float:
    """Processor time of one reading; infinite where it was broken off."""
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    start = time.process_time()
    try:
        read(reply)
    except TooLong:
        return math.inf
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return time.process_time() - start


def exponent(times: dict[int, float]) -> float:
    """How fast the time grows between the two largest sizes whose time can be told from noise; 0 if there are none."""
    told = [(size, spent) for size, spent in times.items() if spent >= SHORT]
    if len(told) < 2:
        return 0.0
    (size, spent), (larger, longer) = told[-2:]
    return math.log(longer / spent) / math.log(larger / size)


def measure(name: str, read: Read, shape: str | None, sizes: tuple[int, ...], *, all_of_them: bool) -> int:
    """Print what one reader takes; the number of shapes that are too slow."""
    found: dict[str, dict[int, float]] = {}
    for first in ("Yes, A > B.", "是，A对。"):
        seconds(read, first)  # what a reader loads once is not counted
    for size in sizes:
        for which, reply in shapes(size):
            times = found.setdefault(which, {})
            if (shape is None or shape in which) and math.inf not in times.values():
                times[size] = seconds(read, reply)
    slow = 0
    for which, times in found.items():
        if not times:
            continue
        grows = exponent(times)
        # a short time can double for any reason: it is measured on larger replies before it is believed
        over = any(spent > MOST_SECONDS * max(size / (1 << 20), 1) for size, spent in times.items())
        bad = over or (grows > MOST_EXPONENT and max(times.values()) > 0.1)
        slow += bad
        if bad or all_of_them:
            told = "  ".join(f"{size >> 10:>5} KB {spent:7.3f} s" for size, spent in times.items())
            print(f"{'!' if bad else ' '} {name:<45} {which:<28} {told}  exponent {grows:.2f}", flush=True)
    worst = max(found, key=lambda which: max(found[which].values(), default=0.0))
    spent = max(found[worst].values(), default=0.0)
    print(
        f"  {name:<45} {len(found)} shapes, {slow} too slow; slowest: {worst}, {spent:.3f} s,"
        f" exponent {exponent(found[worst]):.2f}",
        flush=True,
    )
    return slow


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--reader", action="append", help="a part of the names of readers to measure; may be repeated")
    parser.add_argument("--shape", help="a part of the names of shapes to measure")
    parser.add_argument(
        "--sizes", type=int, nargs="+", metavar="KB", help="sizes in kilobytes (64 and 1024; up to 8192)"
    )
    parser.add_argument("--all", action="store_true", help="print every measurement")
    asked = parser.parse_args()
    sizes = tuple(size << 10 for size in asked.sizes) if asked.sizes else SIZES
    signal.signal(signal.SIGPROF, _break_off)
    slow = 0
    for name, read in readers().items():
        if not asked.reader or any(part in name for part in asked.reader):
            slow += measure(name, read, asked.shape, sizes, all_of_them=asked.all)
    print(f"{slow} too slow")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
