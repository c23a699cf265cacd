"""Reading finished runs of this package's tasks from the folders that lm-eval writes with --log_samples."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import DataError, HaluTasksError
from halu_tasks.core.items import OF_ITEM, Item, Reply
from halu_tasks.data.rows import json_lines
from halu_tasks.replies.embedded import name_of, provenance_of
from halu_tasks.replies.reply_scorer import ReplyScorer
from halu_tasks.results.run import METHOD_UNKNOWN, PLAIN, Run, RunReply, SkippedFile, own_settings
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.calibration import probability_of_likelihoods, without_probability
from halu_tasks.tasks import RECORD, Provenance, Task

# model arguments from which lm-eval takes the model's name
_NAMES = ("peft", "delta", "pretrained", "model", "path", "engine")

# arguments of lm-eval's models that say how replies are generated
_GENERATION_ARGUMENTS = frozenset(("max_gen_toks", "seed"))
# settings that have another name in Inspect, by their name in lm-eval
_INSPECT_NAMES = {"max_gen_toks": "max_tokens"}


def is_results(content: Any) -> bool:
    """Return whether a JSON value is the content of one of lm-eval's results files."""
    return isinstance(content, dict) and {"results", "configs", "config", "n-samples"} <= content.keys()


def read_runs(path: Path, content: Any) -> Iterator[Run | SkippedFile]:
    """Read the runs of this package's tasks in an lm-eval results file.

    Args:
        path: The results file.
        content: Its JSON content.

    Yields:
        A run for each task that can be read; for any other one, why it was skipped.
    """
    configs, config = content["configs"], content["config"]
    names = [name for name in content["results"] if name in configs]
    foreign = [name for name in names if RECORD not in (configs[name].get("metadata") or {})]
    if foreign:
        count = f"{len(foreign)} tasks" if len(foreign) > 1 else "one task"
        yield SkippedFile(str(path), f"{count} of other packages: {', '.join(foreign)}", lost=False)
    for name in names:
        if name in foreign:
            continue
        try:
            yield _read_run(path, name, content, configs[name], config)
        except HaluTasksError as error:
            yield SkippedFile(str(path), str(error))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # a damaged task must not keep the others in its file from being read
            yield SkippedFile(str(path), f"{name}: the record is damaged ({type(error).__name__}: {error})")


def _read_run(
    path: Path, name: str, results: Mapping[str, Any], task_config: Mapping[str, Any], config: Mapping[str, Any]
) -> Run:
    provenance = Provenance.from_json(task_config["metadata"][RECORD])
    task = provenance.task.resolve()
    # a results file is results_DATE.json, or NAME_DATE.json if --output_path is NAME.json
    samples = path.with_name(f"samples_{name}_{path.stem.rpartition('_')[2]}.jsonl")
    if "bypass,none" in results["results"][name]:
        how = f"halu-tasks score {name} {samples.name} --json"
        raise DataError(f"{name}: run with --predict_only, so it has no scores; they are made by: {how}")
    if not samples.is_file():
        raise DataError(f"{name}: {samples.name} is missing from the folder; run lm_eval with --log_samples")
    answers = [_read_sample(samples, number, row, task, provenance) for number, row in json_lines(samples)]
    expected = results["n-samples"][name]["effective"]
    if len(answers) != expected:
        raise DataError(f"{name}: {samples.name} holds {len(answers)} of {expected} samples")
    arguments = _parse_arguments(config.get("model_args"))
    generation = task_config.get("generation_kwargs") or {}
    generation = {_INSPECT_NAMES.get(key, key): value for key, value in generation.items()}
    settings = generation | {
        "chat_template": results.get("chat_template_sha"),
        "system_instruction": results.get("system_instruction_sha"),
        "fewshot_as_multiturn": results.get("fewshot_as_multiturn") if provenance.fewshot else None,
    }
    if settings.get("do_sample") == (task.prompts.decoding.temperature > 0):
        del settings["do_sample"]
    kind = str(config["model"]).removeprefix("halu-")
    model = results["model_name"] if any(key in arguments for key in _NAMES) else config["model"]
    decoding = provenance.decoding
    if kind != config["model"]:
        model, provenance = name_of(kind, arguments), provenance_of(kind, provenance)
    model_settings = {key: value for key, value in arguments.items() if key not in _NAMES}
    return Run(
        source=str(path),
        id=f"{results.get('model_name')} {results['date']}",
        harness=f"lm-eval {results.get('lm_eval_version', '')}".strip(),
        model=str(model),
        roles={"grader": provenance.judge} if provenance.judge else {},
        settings=own_settings({**model_settings, **settings}, [decoding]),
        generation=frozenset(generation) | _GENERATION_ARGUMENTS,
        provenance=provenance,
        epochs=task_config.get("repeats") or 1,
        answers=answers,
        method=PLAIN if provenance.prompt_hash else METHOD_UNKNOWN,
        chat_template=str(config["model"]).endswith("chat-completions") or bool(results.get("chat_template_sha")),
        created=datetime.fromtimestamp(results["date"], UTC).isoformat(timespec="seconds"),
    )


def _parse_arguments(arguments: Any) -> dict[str, Any]:
    """Parse the arguments of the model, which are a dictionary or the string that was typed."""
    if isinstance(arguments, dict):
        return arguments
    pairs = (part.partition("=") for part in str(arguments or "").split(",") if "=" in part)
    return {key.strip(): value for key, _, value in pairs}


def _read_sample(path: Path, number: int, row: Mapping[str, Any], task: Task, provenance: Provenance) -> RunReply:
    try:
        doc = row["doc"]
        if provenance.options.get("probability"):
            return _score_likelihoods(doc, row, task, ReplyScorer.of_record(task, provenance))
        score = ScoredReply.from_json(json.loads(row["filtered_resps"][0]))
        return RunReply(_item(doc, task), str(row["resps"][0][0]), score)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        problem = f"{task.name}: {path.name}:{number} is not a sample that this package scored"
        raise DataError(f"{problem} ({type(error).__name__}: {error})") from None


def _score_likelihoods(doc: Mapping[str, Any], row: Mapping[str, Any], task: Task, scorer: ReplyScorer) -> RunReply:
    """Score a sample that was asked for likelihoods, for which lm-eval logs no score."""
    assert task.scoring.choices
    (first, reply), (second, _) = row["filtered_resps"]
    probability = probability_of_likelihoods(float(first), float(second))
    item = _item(doc, task)
    if reply in (None, "None"):
        reply = "" if probability is None else task.scoring.choices[probability <= 0.5]
    score = scorer.score(item, Reply(reply, probability=probability))
    return RunReply(item, reply, score if probability is not None else without_probability(score))


def _item(doc: Mapping[str, Any], task: Task) -> Item:
    tags = {name: doc[name] for name in doc["tags"]}
    gold = {key: value for key, value in doc.items() if key not in (OF_ITEM | tags.keys())}
    return Item(doc["id"], doc["cluster"], doc["target"], doc["system"], doc["prompt"], task.gold(gold), tags)
