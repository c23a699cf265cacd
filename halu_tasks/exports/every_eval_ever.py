"""Results in the schema of Every Eval Ever, version 0.3.0: one record for each run, and a file with its replies.

The schema has a place for the value of a metric, its direction, standard error and interval, for the judge, and for the
settings of the model. What it has no place for, such as the task's version, is in its `additional_details`, whose
values are strings.
"""

import hashlib
import json
import math
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from halu_tasks.core.files import json_line
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.prompting import prompt_hash
from halu_tasks.exports.common import PublicRun, Warn, each, organization_of, read_public, write_new
from halu_tasks.results.run import Run, RunReply
from halu_tasks.scorers.score import verdicts_as_json

SCHEMA_VERSION = "0.3.0"
# the schema's names for the programs that make results
_LIBRARIES = {"Inspect": "inspect_ai", "lm-eval": "lm_eval", "halu-tasks score": "halu_tasks"}
# the settings of a model that the schema has a place for
_ARGUMENTS = ("temperature", "top_p", "top_k", "max_tokens")
# the metrics by whose value for an item its reply is right (1) or not, the first that a task reports: `acc` of a
# localization task is the share of the gold passages that are returned, which a reply that returns the whole text has,
# too; `exact` is 1 only if it returns nothing else
_RIGHT = ("exact", "acc")


def export_eee(
    paths: Sequence[str], folder: Path, models: Mapping[str, str], warn: Warn, publisher: Mapping[str, str]
) -> tuple[list[Path], bool]:
    """Write results in the schema of Every Eval Ever.

    Args:
        paths: Results, or folders that contain some.
        folder: Where to write, created if necessary; as in the schema's datastore, the files are below `data/`.
        models: The ids of models by their name in the results.
        warn: Called with a message for each result that is not exported, or lacks something.
        publisher: Who publishes the results, in the schema's words: `source_organization_name`, and what it is to those
            who made the model (`evaluator_relationship`).

    Returns:
        The files with figures, and whether results could not be read or exported.

    Raises:
        DataError: There are no results, or none can be public.
        UsageError: A name in `models` is not in the results.
    """
    runs, unread = read_public(paths, models, warn)
    written, failed = each(runs, lambda public: _write_run(public, folder, publisher, warn), warn)
    return written, unread or failed


def _write_run(public: PublicRun, folder: Path, publisher: Mapping[str, str], warn: Warn) -> Path:
    run = public.run
    # the same whenever a run is public; the datastore wants version 4
    digest = stable_hash(*run.identity, public.model)
    identity = str(uuid.UUID(bytes=bytes.fromhex(digest)[:16], version=4))
    place = f"data/{run.benchmark_task.benchmark}/{public.folders}/{identity}"
    record = _record(public, publisher, identity)
    rows = _rows(public, record["evaluation_id"])
    unjudged = len(run.answers) - len(rows)
    files: dict[Path, bytes] = {}
    if rows:
        # lone surrogates, which a model's reply can contain, cannot be written
        content = "".join(json_line(row, allow_nan=False) + "\n" for row in rows).encode("utf-8", "replace")
        files[folder / f"{place}_samples.jsonl"] = content
        details = _strings(score_of=rows[0]["evaluation_result_id"], replies_without_a_verdict=unjudged)
        written: dict[str, Any] = {"format": "jsonl", "file_path": f"{place}_samples.jsonl", "hash_algorithm": "sha256"}
        written |= {"checksum": hashlib.sha256(content).hexdigest(), "total_rows": len(rows)}
        record["detailed_evaluation_results"] = {**written, "additional_details": details}
    path = folder / f"{place}.json"
    # the record comes last: it refers to the replies
    files[path] = (json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()
    write_new(files)
    if unjudged:
        of = f"{unjudged:,} of {len(run.answers):,}"
        warn(f"{path}: {of} replies have no row, since it is not known whether they are right")
    return path


def _record(public: PublicRun, publisher: Mapping[str, str], identity: str) -> dict[str, Any]:
    run = public.run
    created = _seconds(run.created)
    retrieved = _seconds(run.completed) if run.completed else created
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{run.task}/{public.model}/{retrieved}/{identity[:8]}",
        "evaluation_timestamp": created,
        "retrieved_timestamp": retrieved,
        "source_metadata": {"source_name": "halu-tasks", "source_type": "evaluation_run", **publisher},
        "eval_library": {
            "name": _LIBRARIES.get(run.program, run.program),
            "version": run.harness.removeprefix(run.program).strip() or "unknown",
            "additional_details": _strings(
                harness=run.harness,
                task=run.task,
                task_version=run.version,
                scoring=run.scoring,
                run=run.id,
                created=run.created,
                completed=run.completed,
            ),
        },
        "model_info": _model(public, run.model),
        "evaluation_results": [_result(public, name) for name in public.figures],
    }


def _seconds(time: str) -> str:
    return str(int(datetime.fromisoformat(time).timestamp()))


def _model(public: PublicRun, name: str) -> dict[str, Any]:
    model = public.id_of(name)
    organization = organization_of(model)
    developer = {"developer": organization} if organization else {}
    unknown = {"deployment_type": "unknown", "model_availability": "unknown"}
    return {"name": name, "id": model, **developer, "additional_details": unknown}


def _result(public: PublicRun, name: str) -> dict[str, Any]:
    estimate = public.figures[name]
    replies, clusters = public.counts(name)
    uncertainty: dict[str, Any] = {"num_samples": replies}
    if estimate.stderr is not None:
        uncertainty["standard_error"] = {"value": estimate.stderr, "method": "jackknife over clusters"}
    if estimate.low is not None and estimate.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": estimate.low,
            "upper": estimate.high,
            "confidence_level": 0.95,
            "method": "from the jackknife over clusters",
        }
    return {
        "evaluation_result_id": name,
        "evaluation_name": public.run.task,
        "source_data": _source(public),
        "metric_config": _metric(public, name),
        "score_details": {"score": estimate.value, "details": {"clusters": str(clusters)}, "uncertainty": uncertainty},
        "generation_config": _generation(public.run),
    }


def _metric(public: PublicRun, name: str) -> dict[str, Any]:
    metric, task, direction = public.metrics[name], public.run.benchmark_task, public.direction(name)
    low, high = metric.range
    is_headline = name == next(iter(public.metrics))
    config: dict[str, Any] = {
        "evaluation_description": metric.about or name,
        "metric_id": f"halu_tasks.{task.name}.{name}",
        "metric_name": name,
        # the schema knows two directions; `direction` has the third
        "lower_is_better": direction == "lower",
        "score_type": "continuous",
        "min_score": _bound(low),
        "max_score": _bound(high),
        "additional_details": {"direction": direction, "headline": json.dumps(is_headline)},
    }
    if (low, high) == (0.0, 1.0):
        config["metric_unit"] = "proportion"
    if name in public.judged and task.judge_spec and public.run.judge:
        config["llm_scoring"] = {
            "judges": [{"model_info": _model(public, public.run.judge)}],
            "input_prompt": task.judge_spec.prompt,
            "additional_details": {"prompt_hash": prompt_hash({"user": task.judge_spec.prompt})},
        }
    return config


def _bound(value: float) -> float | str:
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _source(public: PublicRun) -> dict[str, Any]:
    run, source = public.run, public.run.benchmark_task.data.source
    provenance, address = run.provenance, public.data_on_hub
    details = _strings(
        data=provenance.data,
        file=provenance.data_file,
        sha256=provenance.data_sha256,
        items=provenance.items,
        items_hash=run.items_hash,
        revision=address.revision if address else source.revision if provenance.data == "pinned" else None,
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
        return {"additional_details": _strings(**details)}
    decoding = task.prompts.decoding
    settings = {"temperature": decoding.temperature, "top_p": decoding.top_p, "max_tokens": decoding.max_tokens}
    settings |= {name: run.settings[name] for name in _ARGUMENTS if name in run.settings}
    arguments = {name: value for name, value in settings.items() if isinstance(value, int | float)}
    details |= {"prompt_hash": provenance.prompt_hash, "fewshot": provenance.fewshot, "cot": provenance.cot}
    return {"generation_args": arguments, "additional_details": _strings(**details)}


def _strings(**values: Any) -> dict[str, str]:
    """Convert values to strings, all but strings to JSON; those that are None or empty are left out."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
        for name, value in values.items()
        if value is not None and value != ""
    }


# --- rows -------------------------------------------------------------------------------------------


def _rows(public: PublicRun, evaluation_id: str) -> list[dict[str, Any]]:
    """Return the rows of a run.

    A reply without a verdict of the judge has none: the schema knows only right and wrong, and the figures leave such
    replies out, too. `score` is the value of the first metric with values for single items: the headline, or else what
    comes closest to it.
    """
    names = [name for name in public.figures if name in public.values]
    right = next((name for name in _RIGHT if name in names), "")
    epochs: Counter[str] = Counter()
    rows = []
    for place, answered in enumerate(public.run.answers):
        epochs[answered.score.id] += 1
        values = {name: value for name in names if not math.isnan(value := public.values[name][place])}
        if right in values and names[0] in values:
            row = _row(public, evaluation_id, answered, epochs[answered.score.id], values)
            evaluation = {"score": values[names[0]], "is_correct": values[right] == 1}
            rows.append(row | {"evaluation_result_id": names[0], "evaluation": evaluation})
    return rows


def _row(
    public: PublicRun, evaluation_id: str, answered: RunReply, epoch: int, values: Mapping[str, float]
) -> dict[str, Any]:
    run, score, item = public.run, answered.score, answered.item
    prompt = f"{item.system}\n\n{item.prompt}" if item.system else item.prompt
    references = [score.target] if isinstance(score.target, str) else list(score.target)
    sample = {"raw": prompt, "reference": references}
    # by this hash, the schema's converters recognize an item in other results
    sample_hash = hashlib.sha256(json.dumps(sample, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    verdicts = verdicts_as_json(score.verdicts)
    answer = score.answer if isinstance(score.answer, str) or score.answer is None else "\n".join(score.answer)
    read = {
        "turn_idx": 0,
        "source": "output.raw",
        "is_terminal": True,
        "extraction_method": f"halu_tasks {run.scoring}",
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation_id,
        "model_id": public.model,
        "evaluation_name": run.task,
        "sample_id": score.id,
        "sample_hash": sample_hash,
        "interaction_type": "single_turn",
        "input": sample,
        "output": {"raw": [answered.reply]},
        "answer_attribution": [] if answer is None else [{**read, "extracted_value": answer}],
        "metadata": {
            "epoch": str(epoch),
            "cluster": score.cluster,
            "outcome": score.outcome,
            **({"reason": score.reason} if score.reason else {}),
            "values": json.dumps(values),
            **{f"tag:{name}": value for name, value in score.tags.items()},
            **({"verdicts": json.dumps(verdicts, ensure_ascii=False)} if verdicts else {}),
        },
    }
