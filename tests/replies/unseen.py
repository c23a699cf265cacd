"""How many replies are read as labelled that nobody saw who wrote the rules: `python tests/replies/unseen.py [FILE]`.

Prints counts for each task and language, not the replies, so that rules can be measured on them more than once. Replies
to published items are read if HALU_TASKS_DATA leads to copies of them. unseen_2.jsonl.xz has 206 replies of small
models to this package's prompts, 189 that were written as large models answer, and 42 traps; its failures are known.
"""

import json
import lzma
import os
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz

from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.tasks import build
from halu_tasks.text.folding import normalise

UNSEEN = Path(__file__).with_name("unseen.jsonl.xz")
NO_LABEL = ("none", "abstained")


def agrees(label: Any, answer: Any) -> bool:
    """Return whether an answer is the label; strings may differ by a tenth."""
    if label in NO_LABEL:
        return answer in (None, [])
    if isinstance(label, list) and isinstance(answer, list) and len(label) == len(answer):
        return all(fuzz.ratio(normalise(one), normalise(other)) >= 90 for one, other in zip(label, answer, strict=True))
    return bool(answer == label)


def main(path: Path) -> None:
    evaluation = cache(lambda task, data: build(task, Options(data=data)))
    items = cache(lambda *of: {item.id: item for item in evaluation(*of).items})
    text = (lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()).decode("utf-8")
    counts: dict[str, Counter[str]] = {}
    for row in map(json.loads, text.splitlines()):
        published = row.get("data") == "published"
        if published and "HALU_TASKS_DATA" not in os.environ:
            continue
        of = row["task"], None if published else "sample"
        score = evaluation(*of).task.score("strict", items(*of)[row["id"]], Reply(row["reply"]))
        right = agrees(row["label"], score.answer)
        wrong = not right and isinstance(score.answer, str) and row["label"] not in NO_LABEL
        sure = "" if "sure" not in row else "sure" if row["sure"] else "not sure"
        for group in filter(None, ("all", sure, row.get("set"), row["lang"], row["task"])):
            counts.setdefault(group, Counter()).update(
                n=1, right=right, wrong_label=wrong, inferred=score.outcome == "inferred"
            )
    for group, count in counts.items():
        print(f"{group:32} {count['right']:4} of {count['n']:4} right, {count['wrong_label']:3} another label, "
              f"{count['inferred']:3} inferred")  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else UNSEEN)
