"""Print every figure of a fixed set of replies, so that two versions of the program can be compared.

Every task is scored in both modes under each of its options, on the packaged sample, with replies that earn the full
score, a baseline, and hostile ones; ReFACT and HaluEval also on the whole published data, and ReFACT with the replies
that its authors released. Values are printed with all their digits.

    python tests/frozen_figures.py > before.json
    python tests/frozen_figures.py --against before.json

With `--against` the figures that differ are printed, and the exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.replies.predictions import read_predictions, with_target
from halu_tasks.scorers.metrics import Estimate, estimates
from halu_tasks.scorers.reading.judge import Verdict
from halu_tasks.scorers.score import Score
from halu_tasks.tasks import Built, build, registry

SHARED = Path(__file__).parents[2] / "shared" / "data"

HOSTILE = (
    "",
    " \n",
    "True",
    "False.",
    "**Final Verdict: A**",
    "B is factually correct.",
    "Neither A nor B.",
    "正确",
    "这个回答并不正确。",
    "C",
    "Yes",
    "No, the summary does not hallucinate.",
    "FACTUAL. The answer is right. It was so. Therefore, it is right.",
    "NON-FACTUAL. It is wrong, as the facts show. Therefore, there is an error.",
    "entity",
    "It may look like a relation error, but sentence is the best fit.",
    "none",
    "I cannot determine whether the answer is correct.",
    "无法判断。",
    "<think>True",
    "<think>so</think>\nFalse",
    "There is no contradiction.",
    "1. the\n2. a\n3. of",
    '"the"\n"the"\n"the"',
    "Claim: It rains.\nSupported: Yes\nClaim: It snows.\nSupported: No",
    "Claim: It rains.\nSupported: Yes",
    "The papers agree (Smith, 2020). Nobody else does.",
    "لا",
    "Evet, halüsinasyon var.",
    "सेंटेंस",
    "\x00\ufffd" + "🤖" * 50,
)
"""Replies to any task, most of them to another one."""

VARIED: dict[str, tuple[Any, ...]] = {
    "subset": ("multi_error", "single_error"),
    "both_orders": (False, True),
    "with_zero": (False, True),
    "without_original": (False, True),
    "part": ("qa", "summarization"),
}
"""Values of the options that change what is asked; the others change which rows are asked, or nothing offline."""


def draw(*parts: object) -> int:
    return int.from_bytes(hashlib.sha256("\0".join(map(str, parts)).encode()).digest()[:8], "big")


def replies(built: Built) -> dict[str, Callable[[Item], Reply]]:
    task = built.task

    def mixed(item: Item) -> Reply:
        drawn = draw(item.id, "mixed") % 3
        text = (task.oracle(item), task.baseline(item), HOSTILE[draw(item.id) % len(HOSTILE)])[drawn]
        probability = None if not task.choices else (draw(item.id, "probability") % 101) / 100
        return Reply(text, probability=probability)

    return {
        "oracle": lambda item: Reply(task.oracle(item)),
        "baseline": lambda item: Reply(task.baseline(item)),
        "hostile": lambda item: Reply(HOSTILE[draw(item.id) % len(HOSTILE)]),
        "mixed": mixed,
    }


def verdicts(built: Built, item: Item, reply: Reply) -> list[Verdict] | None:
    """Verdicts of a judge that is as often of one opinion as of the other, and fails now and then."""
    judged = built.task.judged
    if judged is None or not built.options.judge:
        return None
    labels = {"cfaith_gen": ("conflict", "consistent"), "fave": ("unsupported", "supported")}[built.task.name]
    asked = judged.questions(item, built.task.judged_text(built.options.scoring, item, reply.text))
    names = (*labels, *labels, "failed")
    return [Verdict(names[draw(item.id, number) % len(names)]) for number, _ in enumerate(asked)]


def figures(built: Built, scores: Sequence[Score]) -> dict[str, Any]:
    return {name: shown(value) for name, value in estimates(built.scoring.metrics, scores).items()}


def shown(value: Estimate) -> list[str | None]:
    return [None if part is None else repr(float(part)) for part in value]


def runs(name: str) -> Iterator[tuple[str, Options]]:
    task = registry()[0][name]
    varied = [option for option in VARIED if option in task.task_options]
    judges = (None, "a/judge") if task.judged else (None,)
    places: list[str | None] = ["sample"]
    if task.benchmark == "refact":
        places.append(str(SHARED / "refact"))
    if name.startswith("halueval_general"):
        places.append(str(SHARED / "halueval"))
    for scoring, data, judge, *values in product(
        ("strict", "paper"), places, judges, *(VARIED[option] for option in varied)
    ):
        own = dict(zip(varied, values, strict=True))
        where = "sample" if data == "sample" else "published"
        label = " ".join([name, scoring, where, *(["judged"] if judge else []), *(f"{k}={v}" for k, v in own.items())])
        yield label, Options(data=data, scoring=scoring, judge=judge, **own)


def frozen() -> dict[str, Any]:
    found: dict[str, Any] = {}
    tasks, groups = registry()
    plain: dict[tuple[str, str], dict[str, list[Score]]] = {}
    for name in tasks:
        for label, options in runs(name):
            built = build(name, options)
            for kind, reply_to in replies(built).items():
                scores = [
                    built.task.score(options.scoring, item, reply, verdicts(built, item, reply))
                    for item in built.items
                    for reply in [reply_to(item)]
                ]
                found[f"{label} {kind}"] = figures(built, scores)
                if options == Options(data="sample", scoring=options.scoring):
                    plain.setdefault((options.scoring, kind), {})[name] = scores
        print(name, len(found), file=sys.stderr)
    for group in groups.values():
        for (scoring, kind), by_task in plain.items():
            own = {task: by_task[task] for task in group.members if task in by_task}
            if len(own) == len(group.members):
                means = group.figures(scoring, own)
                found[f"{group.name} {scoring} {kind}"] = {metric: shown(value) for metric, value in means.items()}
    for path in sorted((SHARED / "refact_outputs").glob("*/*.jsonl")):
        for scoring in ("strict", "paper"):
            built = build(path.stem, Options(data=str(SHARED / "refact"), scoring=scoring))
            items = {item.id: item for item in built.items}
            scores = [
                built.task.score(scoring, with_target(items[id], prediction.reply.target), prediction.reply)
                for id, prediction in read_predictions(path).items()
                if id in items
            ]
            found[f"released {path.parent.name} {path.stem} {scoring}"] = figures(built, scores)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="FILE", help="figures printed before")
    arguments = parser.parse_args()
    found = frozen()
    if not arguments.against:
        json.dump(found, sys.stdout, indent=1, ensure_ascii=False)
        return 0
    before = json.loads(arguments.against.read_text(encoding="utf-8"))
    differing = 0
    for label in dict.fromkeys([*before, *found]):
        then, now = before.get(label), found.get(label)
        if then is None or now is None:
            print(f"{label}: only {'now' if then is None else 'before'}")
            differing += 1
            continue
        for metric in dict.fromkeys([*then, *now]):
            if then.get(metric) != now.get(metric):
                print(f"{label} {metric}: {then.get(metric)} -> {now.get(metric)}")
                differing += 1
    count = sum(map(len, found.values()))
    print(f"{count} figures of {len(found)} runs, {differing} differ", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
