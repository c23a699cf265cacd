"""Reading finished runs of this package's tasks from Inspect's log files."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from inspect_ai.log import EvalLog, EvalSampleSummary, read_eval_log, read_eval_log_sample_summaries
from pydantic_core import from_json

from halu_tasks.core.credentials import public, redacted
from halu_tasks.core.errors import DataError
from halu_tasks.core.files import path_without_url_signs
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.limits import Archive
from halu_tasks.inspect_adapter.inspect_metrics import LoggedReply, stops_of
from halu_tasks.replies.embedded import name_of, provenance_of
from halu_tasks.replies.reply_scorer import ReplyScorer
from halu_tasks.results.run import METHOD_UNKNOWN, PLAIN, Run, RunReply, SkippedFile, UnfinishedError, own_settings
from halu_tasks.scorers.answer import REQUEST_FAILED
from halu_tasks.scorers.cost import total_cost
from halu_tasks.solvers.model_calls import SampleMetadata
from halu_tasks.tasks import RECORD, Provenance

PACKAGE = "halu_tasks/"

_SCORER = "halu_score"

# the solvers that ask the model once, the first two in older logs
_GENERATE = ("generate", "generate_structured", "generate_reply")

# settings of a task that asks for probabilities, which its options already record
_TASK_SETTINGS = {"logprobs", "top_logprobs"}

_ATTACHED = "attachment://"
_SAMPLES = "samples/"
# the parts of an archive that Inspect does not read for a header
_BESIDE_HEADER = ("_journal/summaries/", _SAMPLES)


def read_header(log: Path) -> EvalLog:
    """Read a log without its samples; its location is the path."""
    with path_without_url_signs(log) as path:
        header = read_eval_log(str(path), header_only=True)
    header.location = str(log)
    return header


def read_summaries(log: Path) -> list[EvalSampleSummary]:
    """Read the summaries of a log's samples."""
    with path_without_url_signs(log) as path:
        return read_eval_log_sample_summaries(str(path))


def read_runs(log: str) -> list[Run] | list[SkippedFile]:
    """Read the runs in a log: one for each of a group's tasks and for each mode that it was scored in.

    A log of another package is skipped.

    Raises:
        UnfinishedError: The log is not of a finished run.
        DataError: The log lacks samples or scores, or is damaged; for a file that is not a log, any error.
    """
    if log.endswith(".eval"):
        with Archive(log, log) as archive:
            archive.check(unread=_BESIDE_HEADER)
    header = read_header(Path(log))
    provenances = [Provenance.from_json(one) for one in (header.eval.metadata or {}).get(RECORD) or ()]
    if not provenances:
        return [SkippedFile(log, f"the task {header.eval.task} is not one of this package", lost=False)]
    if header.status != "success":
        raise UnfinishedError(log, header, f"the run is unfinished ({state(header)})")
    if header.invalidated:
        raise UnfinishedError(log, header, "samples of the run were marked as invalid")
    answers: dict[tuple[str, str], list[tuple[RunReply, LoggedReply]]] = {}
    for answered, record in _answers(log, header, provenances):
        if record.sample:
            answers.setdefault((record.sample.task, record.reply.scoring), []).append((answered, record))
    runs = []
    for provenance in provenances:
        modes = {mode: answers[task, mode] for task, mode in answers if task == provenance.task.task}
        if len({len(scored) for scored in modes.values()}) > 1:
            raise DataError(
                f"{log}: some samples are scored as {' and others as '.join(sorted(modes))}; score it again"
            )
        runs += [_run(log, header, provenance, mode, scored, provenances) for mode, scored in modes.items()]
    return runs


def _run(
    log: str,
    header: EvalLog,
    provenance: Provenance,
    scoring: str,
    answers: list[tuple[RunReply, LoggedReply]],
    together: list[Provenance],
) -> Run:
    spec = header.eval
    config = spec.model_generate_config.model_dump(exclude_none=True) | header.plan.config.model_dump(exclude_none=True)
    settings = {name: value for name, value in {**spec.model_args, **config}.items() if name not in _TASK_SETTINGS}
    roles = {
        role: ", ".join(model.model for model in (models if isinstance(models, list) else [models]))
        for role, models in (spec.model_roles or {}).items()
    }
    if judge := _judge(header, provenance, scoring):
        roles = {"grader": judge} | roles
    kind = spec.model.removeprefix("halu/")
    model = spec.model
    if kind != spec.model:
        model, provenance = name_of(kind, spec.model_args), provenance_of(kind, provenance)
    return Run(
        source=log,
        id=spec.eval_id,
        harness=f"Inspect {spec.packages.get('inspect_ai', '')}".strip(),
        model=model,
        roles=roles,
        settings=own_settings(settings, (logged.decoding for logged in together)),
        generation=frozenset(config),
        provenance=replace(provenance, scoring=scoring),
        epochs=spec.config.epochs or 1,
        answers=[answered for answered, _ in answers],
        cost=_cost([record for _, record in answers], "judge" if judge else "reader"),
        method=_method(header, provenance),
        stops=stops_of(record for _, record in answers),
        chat_template=True,
        created=spec.created,
        completed=header.stats.completed_at,
    )


def _cost(records: Sequence[LoggedReply], role: str) -> dict[str, float] | None:
    """Add up the costs of answers, and the tokens of the judge or reader, which may be the model itself."""
    costs = [cost for record in records if (cost := record.reply.cost)]
    judging = [cost for record in records if (cost := record.reply.judging)]
    cost = total_cost(costs) if costs else {}
    if judging:
        used = total_cost(judging)
        cost |= {f"{role}_{name}": used[name] for name in ("input_tokens", "output_tokens")}
    return cost or None


def _method(header: EvalLog, provenance: Provenance) -> str:
    names = [step.solver.removeprefix(PACKAGE) for step in header.plan.steps]
    if provenance.prompt_hash is None:
        return METHOD_UNKNOWN
    if all(name in _GENERATE for name in names):
        return PLAIN
    written = []
    for name, step in zip(names, header.plan.steps, strict=True):
        values = [
            f"{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
            for key, value in public(step.params_passed).items()
        ]
        written.append(f"{name}:{','.join(values)}" if values else name)
    return " + ".join(written)


def continued(unfinished: Mapping[str, UnfinishedError], runs: Iterable[Run]) -> dict[str, str]:
    """Find the logs of unfinished runs that were continued in another log.

    Args:
        unfinished: The errors by log.
        runs: The finished runs.

    Returns:
        The last log of the same run by log.
    """
    by_time = sorted(unfinished.items(), key=lambda pair: pair[1].order)
    last = {error.retry_id: log for log, error in by_time}
    if last:
        logs = {run.source for run in runs if run.harness.startswith("Inspect")}
        last |= {read_header(Path(log)).eval.task_id: log for log in logs}
    return {log: last[error.retry_id] for log, error in by_time if last[error.retry_id] != log}


def _judge(header: EvalLog, provenance: Provenance, scoring: str) -> str | None:
    """Return the judge that was named as an option for this mode; a log may have been scored again."""
    options = [spec.options or {} for spec in header.eval.scorers or () if spec.name.removeprefix(PACKAGE) == _SCORER]
    if not options or "judge" not in provenance.options:
        return provenance.judge
    of_mode = [scorer for scorer in options if scorer.get("scoring", "strict") == scoring]
    return (of_mode or options)[-1].get("judge")


def state(header: EvalLog) -> str:
    """Describe the status of an unfinished run, with a short version of its error."""
    message = header.error.message if header.error else ""
    if inner := re.fullmatch(r"""\w+\((["'])(.*)\1\)""", message, re.DOTALL):
        # the message without the error's name; that of a failed call begins with the whole request
        message = inner[2].rpartition(r"\n\n")[2].replace("\\", "")
    why = " ".join(message.split())[:200]
    return f"{header.status}: {why}" if why else header.status


def _unreadable(log: str, error: Exception) -> DataError:
    # a file that is not a log can fail in any way: as an archive, as JSON, or in Inspect's validation
    why = " ".join(str(error).split())[:200]
    return DataError(f"{log}: cannot be read as an Inspect log ({type(error).__name__}: {why})")


def _answers(log: str, header: EvalLog, provenances: Sequence[Provenance]) -> list[tuple[RunReply, LoggedReply]]:
    """Read each sample, with the scorer's record of it; one that ended in an error is a request that failed.

    Inspect's own reader validates all events of a sample and takes ten times as long.
    """
    ids = header.eval.dataset.sample_ids or []
    place = {id: number for number, id in enumerate(ids)}
    count, failed = 0, list[Mapping[str, Any]]()
    answers: list[tuple[Any, RunReply, LoggedReply]] = []
    for sample in samples_of(log):
        count += 1
        if sample.get("error"):
            failed.append(sample)
            continue
        scores = (sample.get("scores") or {}).values()
        logged = (LoggedReply.from_log(score.get("metadata"), sample["id"], sample["metadata"]) for score in scores)
        # if a log was scored several times in a mode, the last one counts
        stop = next((choice.get("stop_reason") for choice in sample["output"].get("choices") or ()), None)
        # a log that was made before scored replies had it
        records = {
            one.reply.scoring: one._replace(reply=replace(one.reply, stop=stop)) if stop and not one.reply.stop else one
            for one in logged
            if one
        }
        if not records:
            raise DataError(
                f"{log}: sample {sample['id']} has no score of this package; score it with: "
                f"inspect score {log} --scorer {PACKAGE}halu_score"
            )
        order = sample["epoch"], place.get(sample["id"], len(place))
        answers += [(order, _answered(sample, record), record) for record in records.values()]
    if not count:
        raise DataError(f"{log}: holds no samples; run the task again without --no-log-samples")
    modes = {record.reply.scoring for *_, record in answers} or {provenances[0].scoring}
    has_judge = "grader" in (header.eval.model_roles or {}) or any(one.judge for one in provenances)
    for errored in failed:
        order = errored["epoch"], place.get(errored["id"], len(place))
        answers += [(order, *_failed(errored, mode, has_judge=has_judge)) for mode in sorted(modes)]
    planned = len(ids or range(count)) * (header.eval.config.epochs or 1)
    if count < planned:
        raise UnfinishedError(log, header, f"holds {count} of {planned} samples")
    # a log has samples as they finished; in the order in which Inspect adds them up, sums are the same to the last bit
    answers.sort(key=lambda answer: answer[0])
    return [(answered, record) for _, answered, record in answers]


def samples_of(log: str) -> Iterator[dict[str, Any]]:
    """Read the samples of a log as raw JSON objects.

    Raises:
        DataError: The file is not a log.
    """
    try:
        if Path(log).suffix == ".json":
            return iter(json.loads(Path(log).read_text(encoding="utf-8")).get("samples") or ())
        return _samples_of_archive(log)
    except (BadZipFile, KeyError, NotImplementedError, TypeError, ValueError):
        # the layout of the archive is not documented; Inspect's own reader knows each layout, or says what is wrong
        return _samples_by_inspect(log)


def _samples_of_archive(log: str) -> Iterator[dict[str, Any]]:
    """Read the samples of a `.eval` file without their events.

    `read_eval_log_samples` takes ten times as long, and with `exclude_fields` 36 times.
    """
    archive = Archive(log, log)
    failed = _errors(archive.unpack("summaries.json"))
    # a sample that was written again is in the archive twice; reading by name returns the last one
    names = [name for name in dict.fromkeys(archive.namelist()) if name.startswith(_SAMPLES)]
    if names:
        _sample(archive.unpack(names[0]))

    def samples() -> Iterator[dict[str, Any]]:
        with archive:
            for name in names:
                try:
                    sample = _sample(archive.unpack(name))
                    yield sample | {"error": failed.get((sample["id"], sample["epoch"]))}
                except Exception as error:
                    raise _unreadable(log, error) from None

    return samples()


def _errors(summaries: bytes) -> dict[tuple[Any, int], str]:
    if b'"error"' not in summaries:  # usually, and they are long
        return {}
    return {(s["id"], s["epoch"]): s["error"] for s in json.loads(summaries) if s.get("error")}


def _samples_by_inspect(log: str) -> Iterator[dict[str, Any]]:
    try:
        if log.endswith(".eval"):
            with Archive(log, log) as archive:
                archive.check()
        with path_without_url_signs(Path(log)) as path:
            samples = read_eval_log(str(path)).samples or []
    except Exception as error:
        raise _unreadable(log, error) from None
    return (sample.model_dump(mode="json") for sample in samples)


def _sample(content: bytes) -> dict[str, Any]:
    """Parse a sample only up to its events, which are most of it, unless it refers to attachments after them."""
    before = content[: max(content.find(b',"events":['), 0)]
    if before and _ATTACHED.encode() not in before:
        with suppress(ValueError):  # not all of what is before, if the key is that of a part
            return dict(from_json(before + b"}"))
    return dict(json.loads(content))


def _failed(sample: Mapping[str, Any], mode: str, *, has_judge: bool) -> tuple[RunReply, LoggedReply]:
    """Score a sample that ended in an error as a request that failed."""
    metadata = SampleMetadata.model_validate(sample["metadata"])
    item = _item(sample, metadata)
    error = sample["error"]
    message = str(error["message"] if isinstance(error, dict) else error)
    reply = Reply("", failure=redacted(" ".join(message.split())))
    task = metadata.benchmark_task
    judged = task.judge_spec if has_judge else None
    score = ReplyScorer(task, mode, judged, asks_confidence=metadata.confidence).score(item, reply)
    return RunReply(item, "", score), LoggedReply(score, metadata)


def _answered(sample: Mapping[str, Any], record: LoggedReply) -> RunReply:
    item = _item(sample, record.sample or SampleMetadata.model_validate(sample["metadata"]))
    choices = sample["output"].get("choices") or [{"message": {"content": ""}}]
    # what a server says of a request that it refuses is no reply
    text = "" if record.reply.outcome == REQUEST_FAILED else _text(choices[0]["message"], sample)
    reply = record.reply if record.reply.tags == item.tags else replace(record.reply, tags=item.tags)
    return RunReply(item, text, reply)


def _item(sample: Mapping[str, Any], metadata: SampleMetadata) -> Item:
    messages = sample["input"]
    turns = messages if isinstance(messages, list) else [{"role": "user", "content": messages}]
    return metadata.item(sample["id"], sample["target"], ((turn["role"], _text(turn, sample)) for turn in turns))


def _text(turn: Mapping[str, Any], sample: Mapping[str, Any]) -> str:
    content = turn["content"]
    if not isinstance(content, str):
        content = "\n".join(part["text"] for part in content if part.get("type") == "text")
    if content.startswith(_ATTACHED):
        content = sample.get("attachments", {}).get(content.removeprefix(_ATTACHED), content)
    return str(content)
