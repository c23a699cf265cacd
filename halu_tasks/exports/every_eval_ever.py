"""Results in the schema of Every Eval Ever, version 0.3.0: one record for each run, and a file with its replies.

The schema has a place for the value of a metric, its direction, standard error and interval, for the judge, and for the
settings of the model. What it has no place for, such as the task's version, is in its `additional_details`, whose
values are strings.
"""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.core.errors import DataError
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.json_lines import json_line
from halu_tasks.core.prompting import prompt_for, prompt_hash
from halu_tasks.exports.exported import Exported, RunFigure, write_new
from halu_tasks.results.run import Run, ScoredReply
from halu_tasks.scorers.score import Score

SCHEMA_VERSION = "0.3.0"
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
"""What those who ran an evaluation can be to those who made the model."""

_LIBRARIES = {"Inspect": "inspect_ai", "lm-eval": "lm_eval", "halu-tasks score": "halu_tasks"}
"""The schema's names for the programs that make results."""
_ARGUMENTS = ("temperature", "top_p", "top_k", "max_tokens")
"""The settings of a model that the schema has a place for."""
_UNKNOWN_DEPLOYMENT = {"deployment_type": "unknown", "model_availability": "unknown"}
_LEVEL = 0.95


@dataclass(frozen=True)
class Publisher:
    """Who publishes the results.

    Attributes:
        organization: The name of the organization.
        relationship: What it is to those who made the model, one of `RELATIONSHIPS`.
    """

    organization: str = "unknown"
    relationship: str = "other"


class Written(NamedTuple):
    """A run that was written.

    Attributes:
        record: The file with its figures.
        rows: The number of replies in the file next to it.
        unjudged: The number of replies that are not in it, because it is not known whether they are right.
    """

    record: Path
    rows: int
    unjudged: int


def write_run(exported: Exported, folder: Path, publisher: Publisher) -> Written:
    """Write a run, below `data/` in a folder, where the schema's datastore has it.

    Raises:
        DataError: The run cannot be exported, or another file is in the way.
    """
    run = exported.run
    model = exported.model.folders
    identity = str(_uuid(exported))
    place = f"data/{run.benchmark_task.benchmark}/{model}/{identity}"
    record = _record(exported, publisher, identity)
    rows = rows_of(exported, record["evaluation_id"])
    files = {}
    if rows.lines:
        text = "".join(line + "\n" for line in rows.lines)
        files[folder / f"{place}_samples.jsonl"] = text
        record["detailed_evaluation_results"] = _details(rows, f"{place}_samples.jsonl", text)
    path = folder / f"{place}.json"
    # the record comes last: it refers to the replies
    files[path] = json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    write_new(files)
    return Written(path, len(rows.lines), rows.unjudged)


def _uuid(exported: Exported) -> uuid.UUID:
    """Return the id of a run's files, which is the same whenever it is exported; the datastore wants version 4."""
    digest = stable_hash(*exported.run.identity, exported.model.id, surrogates="replace")
    return uuid.UUID(bytes=bytes.fromhex(digest)[:16], version=4)


def _record(exported: Exported, publisher: Publisher, identity: str) -> dict[str, Any]:
    run = exported.run
    harness, version = exported.harness
    created = _seconds(run.created)
    retrieved = _seconds(run.completed) if run.completed else created
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{run.task}/{exported.model.id}/{retrieved}/{identity[:8]}",
        "evaluation_timestamp": created,
        "retrieved_timestamp": retrieved,
        "source_metadata": {
            "source_name": "halu-tasks",
            "source_type": "evaluation_run",
            "source_organization_name": publisher.organization,
            "evaluator_relationship": publisher.relationship,
        },
        "eval_library": {
            "name": _LIBRARIES.get(harness, harness),
            "version": version,
            "additional_details": _strings(
                {
                    "harness": run.harness,
                    "task": run.task,
                    "task_version": run.version,
                    "scoring": run.scoring,
                    "run": run.id,
                    "created": run.created,
                    "completed": run.completed,
                }
            ),
        },
        "model_info": _model(exported, run.model),
        "evaluation_results": [_result(exported, figure) for figure in exported.figures.values()],
    }


def _seconds(time: str) -> str:
    """Convert a time in ISO 8601 to seconds since 1970."""
    try:
        return str(int(datetime.fromisoformat(time).timestamp()))
    except ValueError:
        raise DataError(f"the time of the run, {time!r}, is not in ISO 8601") from None


def _model(exported: Exported, name: str) -> dict[str, Any]:
    model = exported.model_of(name)
    developer = {"developer": model.organization} if model.organization else {}
    return {"name": name, "id": model.id, **developer, "additional_details": dict(_UNKNOWN_DEPLOYMENT)}


def _result(exported: Exported, figure: RunFigure) -> dict[str, Any]:
    estimate, name = figure.estimate, figure.metric.name
    uncertainty: dict[str, Any] = {"num_samples": figure.replies}
    if estimate.stderr is not None:
        uncertainty["standard_error"] = {"value": estimate.stderr, "method": "jackknife over clusters"}
    if estimate.low is not None and estimate.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": estimate.low,
            "upper": estimate.high,
            "confidence_level": _LEVEL,
            "method": "from the jackknife over clusters",
        }
    return {
        "evaluation_result_id": name,
        "evaluation_name": exported.run.task,
        "source_data": _source(exported),
        "metric_config": _metric(exported, figure),
        "score_details": {
            "score": estimate.value,
            "details": {"clusters": str(figure.clusters)},
            "uncertainty": uncertainty,
        },
        "generation_config": _generation(exported.run),
    }


def _metric(exported: Exported, figure: RunFigure) -> dict[str, Any]:
    metric, task = figure.metric, exported.run.benchmark_task
    low, high = metric.range
    headline = next(iter(exported.metrics))
    known: dict[str, Any] = {
        "evaluation_description": metric.about or metric.name,
        "metric_id": f"halu_tasks.{task.name}.{metric.name}",
        "metric_name": metric.name,
        # the schema knows two directions; `direction` has the third
        "lower_is_better": figure.direction == "lower",
        "score_type": "continuous",
        "min_score": _bound(low),
        "max_score": _bound(high),
        "additional_details": {
            "direction": figure.direction,
            "headline": json.dumps(metric.name == headline),
        },
    }
    if (low, high) == (0.0, 1.0):
        known["metric_unit"] = "proportion"
    if figure.judged and task.judged and exported.run.judge:
        prompt = prompt_for(task.judged.prompt, "judge")
        known["llm_scoring"] = {
            "judges": [{"model_info": _model(exported, exported.run.judge)}],
            "input_prompt": prompt["user"],
            "additional_details": {"prompt_hash": prompt_hash(prompt)},
        }
    return known


def _bound(value: float) -> float | str:
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _source(exported: Exported) -> dict[str, Any]:
    run, source = exported.run, exported.run.benchmark_task.data.source
    provenance, address = run.provenance, exported.data_on_hub
    details = _strings(
        {
            "data": provenance.data,
            "file": provenance.data_file,
            "sha256": provenance.data_sha256,
            "items": provenance.items,
            "items_hash": run.items_hash,
            "revision": address.revision if address else source.revision if provenance.data == "pinned" else None,
        }
    )
    if address:
        place = {"source_type": "hf_dataset", "hf_repo": address.repository, "samples_number": provenance.items}
    elif provenance.data in ("pinned", "extract"):
        place = {"source_type": "url", "url": [source.homepage]}
    else:
        place = {"source_type": "other"}
    return {"dataset_name": source.name, **place, "additional_details": details}


def _generation(run: Run) -> dict[str, Any]:
    """Return how the model was asked; only what is known, if the replies come from elsewhere."""
    provenance, task = run.provenance, run.benchmark_task
    details: dict[str, Any] = {
        "method": run.method,
        "epochs": run.epochs,
        "options": dict(provenance.options),
        "roles": dict(run.roles),
        "settings": dict(run.settings),
    }
    if provenance.prompt_hash is None:
        return {"additional_details": _strings(details)}
    decoding = task.decoding
    settings = {"temperature": decoding.temperature, "top_p": decoding.top_p, "max_tokens": decoding.max_tokens}
    settings |= {name: run.settings[name] for name in _ARGUMENTS if name in run.settings}
    arguments = {name: value for name, value in settings.items() if isinstance(value, int | float)}
    details |= {"prompt_hash": provenance.prompt_hash, "fewshot": provenance.fewshot, "cot": provenance.cot}
    return {"generation_args": arguments, "additional_details": _strings(details)}


def _details(rows: Rows, place: str, text: str) -> dict[str, Any]:
    return {
        "format": "jsonl",
        "file_path": place,
        "hash_algorithm": "sha256",
        "checksum": hashlib.sha256(text.encode()).hexdigest(),
        "total_rows": len(rows.lines),
        "additional_details": _strings({"score_of": rows.metric, "replies_without_a_verdict": rows.unjudged}),
    }


def _strings(values: Mapping[str, Any]) -> dict[str, str]:
    """Convert values to strings, all but strings to JSON; those that are None or empty are left out."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
        for name, value in values.items()
        if value is not None and value != ""
    }


# --- rows -------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """The rows of a run.

    Attributes:
        lines: The rows as JSON.
        metric: The metric that `score` is the value of.
        unjudged: The number of replies of which it is not known whether they are right, which have no row.
    """

    lines: Sequence[str]
    metric: str
    unjudged: int


def rows_of(exported: Exported, evaluation_id: str) -> Rows:
    """Return the rows of a run.

    A reply without a verdict of the judge has none: the schema knows only right and wrong, and the figures leave such
    replies out, too.
    """
    metric = _row_metric(exported)
    epochs: Counter[str] = Counter()
    lines = []
    for answered in exported.run.answers:
        score = answered.score
        epochs[score.id] += 1
        is_right, value = exported.is_right(score), _values(exported, score).get(metric)
        if is_right is None or value is None:
            continue
        row = _row(exported, evaluation_id, answered, epochs[score.id])
        row |= {"evaluation_result_id": metric, "evaluation": {"score": value, "is_correct": is_right}}
        lines.append(json_line(_encodable(row), allow_nan=False))
    return Rows(lines, metric, len(exported.run.answers) - len(lines))


def _row_metric(exported: Exported) -> str:
    """Return the first metric with values for single items: the headline, or else what comes closest to it."""
    return next((name for name, figure in exported.figures.items() if figure.metric.item), "")


def _values(exported: Exported, score: Score) -> dict[str, float]:
    """Return the values of all metrics for an item; those for parts of the items say nothing more."""
    metrics = [figure.metric for figure in exported.figures.values()]
    values = {m.name: m.item(score) for m in metrics if m.item and not m.tag_filter}
    return {name: value for name, value in values.items() if not math.isnan(value)}


def _row(exported: Exported, evaluation_id: str, answered: ScoredReply, epoch: int) -> dict[str, Any]:
    run, score, item = exported.run, answered.score, answered.item
    prompt = f"{item.system}\n\n{item.prompt}" if item.system else item.prompt
    references = [score.target] if isinstance(score.target, str) else list(score.target)
    shown = {"raw": prompt, "reference": references}
    # by this hash, the schema's converters recognize an item in other results
    sample_hash = hashlib.sha256(json.dumps(shown, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    answer = score.answer if isinstance(score.answer, str) or score.answer is None else "\n".join(score.answer)
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation_id,
        "model_id": exported.model.id,
        "evaluation_name": run.task,
        "sample_id": score.id,
        "sample_hash": sample_hash,
        "interaction_type": "single_turn",
        "input": shown,
        "output": {"raw": [answered.reply]},
        "answer_attribution": []
        if answer is None
        else [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": answer,
                "extraction_method": f"halu_tasks {run.scoring}",
                "is_terminal": True,
            }
        ],
        "metadata": {
            "epoch": str(epoch),
            "cluster": score.cluster,
            "outcome": score.outcome,
            **({"reason": score.reason} if score.reason else {}),
            "values": json.dumps(_values(exported, score)),
            **{f"tag:{name}": value for name, value in score.tags.items()},
            **({"verdicts": json.dumps(score.verdicts_json(), ensure_ascii=False)} if score.verdicts else {}),
        },
    }


def _encodable(value: Any) -> Any:
    """Replace lone surrogates, which a model's reply can contain and no file in UTF-8 can."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {name: _encodable(one) for name, one in value.items()}
    return [_encodable(one) for one in value] if isinstance(value, list) else value
