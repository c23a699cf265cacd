"""Finished runs of this package's tasks, read from the folders that lm-eval writes with --log_samples."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from halu_tasks.data import json_lines
from halu_tasks.embedded import name_of, provenance_of
from halu_tasks.errors import DataError, UsageError
from halu_tasks.items import Item, Reply
from halu_tasks.runs import Answered, Run, Skipped, own_settings
from halu_tasks.scorers.probability import probability_of_likelihoods, without_probability
from halu_tasks.scorers.score import Score
from halu_tasks.tasks import Task, logged_task

RECORD = "halu_tasks"

_NAMES = ("peft", "delta", "pretrained", "model", "path", "engine")
"""Arguments of a model in which lm-eval looks for its name."""

_SAMPLING = {"max_gen_toks": "max_tokens"}
"""lm-eval's names of settings that Inspect calls otherwise."""


def samples_of(results: Path) -> str:
    """The pattern of the names of the sample files that belong to a results file, `results_DATE.json`, or
    `NAME_DATE.json` where --output_path is NAME.json."""
    return f"samples_*_{results.stem.rpartition('_')[2]}.jsonl"


def is_results(found: Any) -> bool:
    """Whether a JSON value is what lm-eval writes as the results of a run."""
    return isinstance(found, dict) and {"results", "configs", "config", "n-samples"} <= found.keys()


def read_runs(path: Path, found: Any) -> Iterator[Run | Skipped]:
    """The runs of this package's tasks in lm-eval's results `found`, read from `path`, and the tasks that cannot be
    read, with why.

    Raises:
        DataError: they are no results of lm-eval.
    """
    try:
        configs, config = found["configs"], found["config"]
        names = [name for name in found["results"] if name in configs]
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: is no whole results file of lm-eval ({type(error).__name__}: {error})") from None
    foreign = [name for name in names if RECORD not in (configs[name].get("metadata") or {})]
    if foreign:
        told = f"{len(foreign)} tasks" if len(foreign) > 1 else "one task"
        yield Skipped(str(path), f"{told} of other packages: {', '.join(foreign)}", lost=False)
    for name in names:
        if name in foreign:
            continue
        try:
            yield _run(path, name, found, configs[name], config)
        except DataError as error:
            yield Skipped(str(path), str(error))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # a damaged task is no reason to leave out the others of its file
            yield Skipped(str(path), f"{name}: its record is damaged ({type(error).__name__}: {error})")


def _run(path: Path, name: str, found: Mapping[str, Any], own: Mapping[str, Any], config: Mapping[str, Any]) -> Run:
    provenance = (own.get("metadata") or {}).get(RECORD)
    if not isinstance(provenance, dict):
        raise DataError(f"the task {name} is none of this package's")
    if "version" not in provenance:
        raise DataError(f"{name} was written by an older version of this package; run it again")
    try:
        task = logged_task(provenance)
    except UsageError as error:
        raise DataError(f"{error}; this version of the package does not know the task") from None
    if "bypass,none" in found["results"][name]:
        raise DataError(f"{name} was run with --predict_only and has no scores; run it again without")
    samples = path.with_name(samples_of(path).replace("*", name))
    if not samples.is_file():
        raise DataError(f"{name}: {samples.name} is not beside it; run lm_eval with --log_samples")
    answers = [_answered(samples, number, row, task, provenance) for number, row in json_lines(samples)]
    expected = found["n-samples"][name]["effective"]
    if len(answers) != expected:
        raise DataError(f"{name}: {samples.name} holds {len(answers)} of {expected} samples")
    arguments = _arguments(config.get("model_args"))
    settings = own.get("generation_kwargs") or {}
    settings = {_SAMPLING.get(key, key): value for key, value in settings.items()} | {
        "chat_template": found.get("chat_template_sha"),
        "system_instruction": found.get("system_instruction_sha"),
        "fewshot_as_multiturn": found.get("fewshot_as_multiturn") if provenance["fewshot"] else None,
    }
    if settings.get("do_sample") == (task.decoding.temperature > 0):
        del settings["do_sample"]
    named = any(key in arguments for key in _NAMES)
    kind = str(config["model"]).removeprefix("halu-")
    model = name_of(kind, arguments) if kind != config["model"] else found["model_name"] if named else config["model"]
    given = {key: value for key, value in arguments.items() if key not in _NAMES}
    return Run(
        source=str(path),
        id=f"{found.get('model_name')} {found['date']}",
        harness=f"lm-eval {found.get('lm_eval_version', '')}".strip(),
        task=task.name,
        scoring=provenance["scoring"],
        steps=(),
        model=str(model),
        roles={"grader": provenance["judge"]} if provenance.get("judge") else {},
        settings=own_settings({**given, **settings}, [task.decoding]),
        provenance=provenance_of(kind, provenance) if kind != config["model"] else provenance,
        epochs=own.get("repeats") or 1,
        answers=answers,
        created=datetime.fromtimestamp(found["date"], UTC).isoformat(timespec="seconds"),
    )


def _arguments(given: Any) -> dict[str, Any]:
    """The arguments of the model, which are a dictionary or a text as they were typed."""
    if isinstance(given, dict):
        return given
    pairs = (part.partition("=") for part in str(given or "").split(",") if "=" in part)
    return {key.strip(): value for key, _, value in pairs}


def _answered(path: Path, number: int, row: Mapping[str, Any], task: Task, provenance: Mapping[str, Any]) -> Answered:
    try:
        doc = row["doc"]
        if provenance.get("probability"):
            return _weighed(doc, row, task, provenance["scoring"])
        score = Score(**_record(row["filtered_resps"][0]))
        return Answered(_item(doc), str(row["resps"][0][0]), score)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        told = f"{task.name}: {path.name}:{number} is no sample that this package scored"
        raise DataError(f"{told} ({type(error).__name__}: {error})") from None


_LONGEST_RECORD = 10_000_000
"""Characters of a record that is parsed as Python; the longest replies make far shorter ones."""


class _Numbers(ast.NodeTransformer):
    """What `repr` writes for numbers that have no literal."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(float(node.id)) if node.id in ("nan", "inf") else node


def _record(text: str) -> dict[str, Any]:
    """A score record as it was logged: JSON, or the `repr` of a dict, which earlier versions of this package logged for
    lm-eval's API and multimodal models. Raises ValueError where it is neither."""
    try:
        found = json.loads(text)
    except ValueError as error:
        if not text.startswith("{'") or len(text) > _LONGEST_RECORD:
            raise
        try:
            found = ast.literal_eval(_Numbers().visit(ast.parse(text, mode="eval")))
        except (SyntaxError, MemoryError, RecursionError, ValueError):
            raise error from None
    if not isinstance(found, dict):
        raise ValueError("the score record is no object")
    return found


def _weighed(doc: Mapping[str, Any], row: Mapping[str, Any], task: Task, scoring: str) -> Answered:
    """A sample that was asked for likelihoods, of which lm-eval logs these and no score."""
    assert task.choices
    (first, reply), (second, _) = row["filtered_resps"]
    probability = probability_of_likelihoods(float(first), float(second))
    item = _item(doc)
    if reply in (None, "None"):
        reply = "" if probability is None else task.choices[probability <= 0.5]
    score = task.score(scoring, item, Reply(reply, probability=probability))
    return Answered(item, reply, score if probability is not None else without_probability(score))


def _item(doc: Mapping[str, Any]) -> Item:
    tags = {name: doc[name] for name in doc["tags"]}
    own = {"id", "system", "prompt", "target", "cluster", "tags", *tags}
    gold = {key: value for key, value in doc.items() if key not in own}
    return Item(doc["id"], doc["cluster"], doc["target"], doc["system"], doc["prompt"], gold, tags)
