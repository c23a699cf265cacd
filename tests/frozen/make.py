"""Freeze what must not change by accident: the replies that are scored, the logs that are reported, and all facts.

    python tests/frozen/make.py                       # freeze the facts of this version
    python tests/frozen/make.py --released FOLDER …   # with more released replies (docs/convert_refact_outputs.py)
    python tests/frozen/make.py --inputs replies logs # also write the replies, the logs or both anew

Facts whose data are not at hand keep their frozen values. The list of intended changes is emptied.
"""

import argparse
import json
import lzma
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import compare
import runs
import yaml

HOSTILE = yaml.safe_load(Path(__file__).with_name("hostile.yaml").read_text(encoding="utf-8"))
"""Replies to any task, most of them to another one."""

LOGS = ("refact_judgment_independent", "refact_localization_entity", "factchd", "halluverse25_tr", "cfaith_choice")
"""Tasks whose logs are stored: labels in three languages, spans, explanations."""


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write compressed JSON Lines, the same bytes for the same rows."""
    text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    path.write_bytes(lzma.compress(text.encode("utf-8")))


def stored_replies() -> Iterable[dict[str, Any]]:
    """Yield the replies of each kind to the sample's items, from the package's own oracle and baseline."""
    from halu_tasks.core.options import Options
    from halu_tasks.tasks import build

    for task in runs.tasks():
        for option in runs.variants(task):
            name, _, value = option.removeprefix("--").replace("-", "_").partition("=")
            given: dict[str, Any] = {name: value or True} if name and name != "alpha" else {}
            evaluation = build(task, Options(data="sample", **given))
            for kind in runs.KINDS:
                predictions = []
                for item in evaluation.items:
                    texts = {
                        "oracle": evaluation.task.prompts.oracle(item),
                        "baseline": evaluation.task.prompts.baseline(item),
                        "hostile": HOSTILE[runs.draw(item.id) % len(HOSTILE)],
                    }
                    drawn = list(texts)[runs.draw(item.id, "mixed") % 3] if kind == "mixed" else kind
                    row: dict[str, Any] = {"id": item.id, "output": texts[drawn]}
                    if kind == "mixed" and evaluation.task.scoring.choices:
                        row["probability"] = runs.draw(item.id, "probability") % 101 / 100
                    predictions.append(row)
                yield {"items": f"{task} {option}".strip(), "kind": kind, "predictions": predictions}


def write_logs(path: Path) -> None:
    """Run some tasks in both harnesses, with the oracle and with the mixed replies, and store the logs.

    Raises:
        RuntimeError: A run in Inspect fails.
    """
    import lm_eval
    from inspect_ai import eval as inspect_eval
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    from halu_tasks import task_configs
    from halu_tasks.lm_eval_adapter.lm_eval_models import OracleLM, ReplayLM

    manager = TaskManager(
        include_path=next(iter(task_configs.__path__)), include_defaults=False, metadata={"halu_data": "sample"}
    )
    with tempfile.TemporaryDirectory() as folder:
        logs, predictions = Path(folder) / "logs", Path(folder) / "predictions"
        predictions.mkdir()
        for task in LOGS:
            runs.write(predictions / f"{task}.jsonl", runs.replies()[task, "mixed"])
        for name, model in (("oracle", OracleLM()), ("replay", ReplayLM(str(predictions)))):
            tracker = EvaluationTracker(output_path=str(logs / "lm_eval"))
            results = lm_eval.simple_evaluate(model=model, tasks=list(LOGS), task_manager=manager)
            samples = results.pop("samples")
            # of the machine on which it ran
            results.pop("pretty_env_info", None)
            results["config"]["model"] = results["model_name"] = name
            tracker.general_config_tracker.model_name_sanitized = name
            tracker.save_results_aggregated(results=results, samples=samples)
            for task in LOGS:
                tracker.save_results_samples(task_name=task, samples=samples[task])
            done = inspect_eval(
                [f"halu_tasks/{task}" for task in LOGS],
                model=f"halu/{name}",
                model_args={"predictions": str(predictions)} if name == "replay" else {},
                task_args={"data": "sample"},
                log_dir=str(logs / f"inspect-{name}"),
                display="none",
            )
            if failed := [log.eval.task for log in done if log.status != "success"]:
                raise RuntimeError(f"{name}: {', '.join(failed)} failed in Inspect")
        with tarfile.open(path, mode="w:xz", preset=9) as archive:
            archive.add(logs, "logs")


def main() -> int:
    """Write the frozen files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--released", type=Path, nargs="*", default=[], metavar="FOLDER", help="more released replies")
    parser.add_argument("--inputs", nargs="+", choices=["replies", "logs"], default=[], help="write these anew")
    arguments = parser.parse_args()
    if "replies" in arguments.inputs:
        write_rows(runs.HERE / "replies.jsonl.xz", stored_replies())
    if "logs" in arguments.inputs:
        write_logs(runs.HERE / "logs.tar.xz")
    before, now = compare.frozen(), compare.facts_now([runs.RELEASED, *arguments.released])
    if failures := [f"{name}: {facts[compare.FAILURE]}" for name, facts in now.items() if compare.FAILURE in facts]:
        print(*failures, "nothing is frozen", sep="\n")
        return 1
    kept = compare.without_data(before, now)
    facts = {name: before[name] for name in kept} | now
    write_rows(compare.FACTS, ({"run": name, "facts": facts[name]} for name in sorted(facts)))
    compare.INTENDED.write_text("[]\n", encoding="utf-8")
    print(f"{sum(map(len, facts.values()))} facts of {len(facts)} runs, {len(kept)} of them as they were, without data")
    return 0


if __name__ == "__main__":
    sys.exit(main())
