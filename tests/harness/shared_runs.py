"""One run of all tasks in each harness, whose logs many tests read."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import lm_eval
from common import write_rows
from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog, read_eval_log
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from halu_tasks import task_configs
from halu_tasks.core.options import Options
from halu_tasks.lm_eval_adapter.lm_eval_models import ReplayLM  # registers the models
from halu_tasks.tasks import build, registry

TASKS = registry()[0]


def mixed_replies(task: str) -> list[dict[str, str]]:
    """Right, wrong, worded, unreadable, empty, repeating and missing replies in turn, the same at every run."""
    evaluation = build(task, Options(data="sample"))
    rows = []
    for number, item in enumerate(evaluation.items):
        right, floor = evaluation.task.prompts.oracle(item), evaluation.task.prompts.baseline(item)
        output = [
            right,
            f"<think>It might be {floor}.</think>\n\n**Final Verdict: {right}**",
            floor,
            f"I think that the answer is {floor}",
            "<think>never ends",
            "",
            right.upper(),
            f"{item.prompt}\n{right}",
        ][number % 9 - 1]
        if number % 9 != 8:
            rows.append({"id": item.id, "output": output})
    if task == "refact_judgment_comparative":
        # replies that were made with A and B the other way round
        rows = [row | {"target": "B" if n % 2 else "A"} if n % 3 == 0 else row for n, row in enumerate(rows)]
    return rows


class ChatReplayLM(ReplayLM):
    """Replays, and is asked the turns of a chat as JSON."""

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        # what is asked ends the prompt, by which a replayed reply is found
        turns = json.dumps(chat_history, ensure_ascii=False)
        return f"{turns}\n{chat_history[-1]['content']}"


def asked_lm_eval(
    folder: Path, tasks: list[str], model: Any, metadata: dict[str, Any] | None = None, **arguments: Any
) -> Path:
    """The results file of a run in lm-eval, written by what its command writes it with."""
    tracker = EvaluationTracker(output_path=str(folder))
    manager = TaskManager(
        include_path=next(iter(task_configs.__path__)),
        include_defaults=False,
        metadata={"halu_data": "sample", **(metadata or {})},
    )
    results: Any = lm_eval.simple_evaluate(
        model=model, tasks=tasks, task_manager=manager, log_samples=True, evaluation_tracker=tracker, **arguments
    )
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    for name in results["configs"]:
        tracker.save_results_samples(task_name=name, samples=samples[name])
    (found,) = (folder.parent if folder.suffix else folder).rglob(f"*{tracker.date_id}.json")
    return found


def asked(folder: Path, task: str, model: Any = "halu/baseline", **others: Any) -> Path:
    """The log of a run in Inspect; what is no argument of the run is an option of the task."""
    names = (
        "epochs",
        "fail_on_error",
        "limit",
        "log_format",
        "model_args",
        "sample_id",
        "score",
        "solver",
        "temperature",
    )
    own = {name: others.pop(name) for name in names if name in others}
    where = {"log_dir": str(folder), "display": "log", "log_realtime": False}
    (log,) = inspect_eval(f"halu_tasks/{task}", model=model, task_args={"data": "sample"} | others, **where, **own)
    return Path(log.location)


class SharedRuns:
    """The predictions, and the logs of both harnesses, of all tasks on the sample."""

    def __init__(self, folder: Path) -> None:
        self.predictions, self.lm_eval, self.inspect = (folder / name for name in ("predictions", "lm_eval", "inspect"))

    def make(self) -> None:
        for task in TASKS:
            write_rows(self.predictions / f"{task}.jsonl", mixed_replies(task))
        asked_lm_eval(
            self.lm_eval, [*TASKS], ChatReplayLM(str(self.predictions)), apply_chat_template=True,
            fewshot_as_multiturn=True, bootstrap_iters=0,
        )  # fmt: skip
        inspect_eval(
            [f"halu_tasks/{task}" for task in TASKS], model="halu/replay", task_args={"data": "sample"},
            model_args={"predictions": str(self.predictions)}, log_dir=str(self.inspect), display="log",
            log_realtime=False, max_tasks=1,
        )  # fmt: skip

    @cache  # noqa: B019  (one object for the session)
    def results(self) -> dict[str, Any]:
        (path,) = self.lm_eval.rglob("results_*.json")
        return dict(json.loads(path.read_text(encoding="utf-8")))

    def samples(self, task: str) -> list[dict[str, Any]]:
        (path,) = self.lm_eval.rglob(f"samples_{task}_20*.jsonl")
        return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]

    def log(self, task: str) -> EvalLog:
        (path,) = self.inspect.glob(f"*_{task.replace('_', '-')}_*.eval")
        return read_eval_log(str(path))
