"""Scripted judges of `cfaith_gen`, what its tests ask them, and the figures of a log."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from common import Capture, fenced, read_rows, write_rows
from loopback import completion

from halu_tasks.cli import main
from halu_tasks.core.options import Options
from halu_tasks.tasks import build

BUILT = build("cfaith_gen", Options(data="sample"))
ITEMS = BUILT.items
USAGE = {"prompt_tokens": 400, "completion_tokens": 100, "total_tokens": 500}
COST = (400 * 2.5 + 100 * 10) / 1e6
"""What each verdict of `priced` costs at 2.50/10."""


def asked_text(request: dict[str, Any]) -> str:
    return str(request["messages"][-1]["content"])


def is_question(request: dict[str, Any]) -> bool:
    """Whether a request asks for a verdict, and not whether the judge is there."""
    return "=====" in asked_text(request)


def questions(server: Any) -> int:
    return sum(map(is_question, server.asked))


def verdict(label: str, reason: str = "…") -> str:
    return json.dumps({"reason": reason, "verdict": label}, ensure_ascii=False)


def by_rule(request: dict[str, Any]) -> str:
    """A judge that knows: conflict unless the fenced text is the correct answer."""
    if not is_question(request):
        return "ready"
    _, correct, reply = fenced(asked_text(request))
    return verdict("consistent" if reply == correct else "conflict")


def priced(request: dict[str, Any]) -> dict[str, Any]:
    """Answer by the rule, with the usage of a real judge."""
    return completion({"content": by_rule(request)}) | {
        "usage": USAGE if is_question(request) else dict.fromkeys(USAGE, 0)
    }


def write_replies(path: Path, outputs: Sequence[str], **more: Any) -> Path:
    """Write replies to the first items, with further fields."""
    rows = [{"id": item.id, "output": output, **more} for item, output in zip(ITEMS, outputs, strict=False)]
    return write_rows(path, rows)


def third_right() -> list[str]:
    """Replies to all items, every third of them right."""
    return [item.target if n % 3 == 0 else f"在火星上{n}" for n, item in enumerate(ITEMS)]


def figures(log: Any) -> dict[str, float]:
    """The metrics of an Inspect log."""
    assert log.status == "success", log.error
    return {name: metric.value for name, metric in log.results.scores[0].metrics.items()}


class Scored(NamedTuple):
    """What `halu-tasks score` ended with, printed and wrote as details."""

    status: int
    metrics: dict[str, float]
    err: str
    details: list[dict[str, Any]]


def score(
    capsys: Capture,
    replies: Path,
    server: Any,
    *arguments: str,
    task: str = "cfaith_gen",
    judge: str = "openai/gpt-4o",
) -> Scored:
    """Score replies with a judge."""
    details = replies.with_name("details.jsonl")
    details.unlink(missing_ok=True)
    capsys.readouterr()
    asked = ["--judge", judge, "--judge-base-url", server.url]
    command = ["score", task, str(replies), "--data", "sample", "--partial", "--json", "--details", str(details)]
    status = main([*command, *asked, *arguments])
    out, err = capsys.readouterr()
    rows = read_rows(details) if details.exists() else []
    return Scored(status, json.loads(out)["metrics"] if out else {}, err, rows)
