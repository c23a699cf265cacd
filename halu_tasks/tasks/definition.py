"""From the keys of a task file to a `Task`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from halu_tasks.core.errors import did_you_mean
from halu_tasks.core.items import Item, by_target
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import render_jinja
from halu_tasks.data.rows import Row
from halu_tasks.scorers.kinds import AnswerKind, Claims, JudgedText, Label, Spans, Strings
from halu_tasks.scorers.registry import TaskScorer, make_scorer
from halu_tasks.tasks.schema import (
    KEYS,
    MODES,
    DataKeys,
    DecodingKeys,
    MetricKeys,
    PromptKeys,
    ScoringKeys,
    TaskKeys,
    check_option,
    check_placeholders,
    check_signature,
    fault,
    validated,
)
from halu_tasks.tasks.task import Decoding, Prompts, Subject, Task, TaskData, Wording
from halu_tasks.tasks.yaml_files import FunctionName, TaskFile, comparable, load_object

if TYPE_CHECKING:
    from halu_tasks.scorers.metrics import Metric

_LM_EVAL_KEYS = ("tag", "task_alias", "class", "output_type", "include", "group", "task_list")
"""Keys of lm-eval that a task file may have and that do not change how the task is asked or scored."""

_REPLACED_KEYS = {
    "dataset_path": "source",
    "dataset_name": "file",
    "process_docs": "cases",
    "process_results": "scorer",
    "filter_list": "answer and scorer",
    "repeats": "the method self_consistency",
    "fewshot_config": "order_examples",
    "fewshot_split": "training_file",
    "test_split": "file",
}
"""Keys of lm-eval that would have no effect, and the keys that do the same here."""

_PARTS = {"description": "system", "doc_to_text": "user", "chain_of_thought": "cot"}
"""The keys of a prompt in task files, and the parts of a `Prompt` that they give."""
_DESCRIPTIVE_KEYS = ("task", "about", "items", "metadata")
_ROW_TYPES = {"string": str, "array": list, "object": dict, "any": object}
_KINDS: Mapping[str, type[AnswerKind]] = {"spans": Spans, "strings": Strings, "judged_text": JudgedText}


class _KeyFault(Exception):
    """A fault of a key, given with what is wrong."""


def task_from(file: TaskFile, reference: Task | None = None) -> Task:
    """Make the task that a file defines.

    Args:
        file: The file's keys and values.
        reference: For a user's file, the packaged task that it was derived from.

    Raises:
        UsageError: A key is missing, unknown or wrong; the message is one line with file, line and key.
    """
    try:
        return _task(validated(TaskKeys, file, _own_values(file, reference)), file, reference)
    except _KeyFault as error:
        raise fault(file, *error.args) from None


def _own_values(file: TaskFile, reference: Task | None) -> dict[str, Any]:
    """Return the values of the keys of this package, after a check of the names of all keys."""
    for key, value in file.values.items():
        if key in _REPLACED_KEYS:
            raise _KeyFault(key, f"has no effect on a task of halu-tasks; use {_REPLACED_KEYS[key]}")
        if key not in KEYS and key not in _LM_EVAL_KEYS:
            raise _KeyFault(key, f"unknown key{did_you_mean(key, KEYS)}; known: {', '.join(KEYS)}")
        if key == "output_type" and value not in (None, "generate_until"):
            reason = f"expected generate_until, got {value!r}; to weigh labels, use the option probability"
            raise _KeyFault(key, reason)
    values = {key: value for key, value in file.values.items() if key in KEYS}
    decoding = values.get("generation_kwargs")
    if reference and isinstance(decoding, dict) and "max_gen_toks" not in decoding:
        # authors who only set another temperature expect the rest to stay
        values["generation_kwargs"] = {**reference.file.values["generation_kwargs"], **decoding}
    return values


def _task(keys: TaskKeys, file: TaskFile, reference: Task | None) -> Task:
    answer = _answer(keys)
    prompts = _prompts(keys)
    version = keys.metadata.version
    if version is None:
        if reference is None:
            raise _KeyFault("metadata", "version: is missing")
        version = reference.version
    return Task(
        name=keys.task,
        version=int(version),
        changed=_changed_keys(file, reference) if reference else (),
        file=file,
        data=_data(keys),
        prompts=replace(prompts, questions=reference.prompts.questions) if reference else prompts,
        decoding=_decoding(keys.generation_kwargs),
        answer=answer,
        scoring=_scoring(keys, answer),
        judged=keys.judge,
        choices=_choices(keys),
        subject=_subject(keys),
        task_options=keys.task_options,
    )


def _changed_keys(file: TaskFile, reference: Task) -> tuple[str, ...]:
    """Return the keys that differ from the reference task's. Prompts are left out; versions have a hash of them."""
    keys = [key for key in KEYS if key not in (*_PARTS, "wordings", *_DESCRIPTIVE_KEYS)]
    return tuple(key for key in keys if comparable(file.values.get(key)) != comparable(reference.file.values.get(key)))


# --- data -----------------------------------------------------------------------------------------


def _data(keys: DataKeys) -> TaskData:
    rows, names = keys.rows, [file.name for file in keys.source.files]
    for key, name in {"file": _file_name(keys.file, Options()), "training_file": keys.training_file}.items():
        if name is not None and name not in names:
            raise _KeyFault(key, f"source {keys.source.name} has no file {name!r}; it has {', '.join(names)}")
    try:
        check_signature(keys.cases, [], Options(), **keys.cases_arguments)
    except ValueError as error:
        raise _KeyFault("cases", error) from None
    fields = {name: _ROW_TYPES[kind] for name, kind in rows.fields.items()} or dict.fromkeys(rows.columns, str)
    items: Callable[[Iterable[Row], Options], Iterable[Item]] = partial(keys.cases, **keys.cases_arguments)
    return TaskData(
        source=keys.source,
        file=partial(_file_name, keys.file),
        fields=fields,
        check=rows.check,
        columns=(rows.columns or dict.fromkeys(fields, ())) if rows.format == "table" else {},
        training=keys.training_file,
        items=items,
        order=keys.order_examples or (lambda items, options: by_target(items)),
        size=keys.items,
    )


def _file_name(template: str, options: Options) -> str:
    """Return the name of the file under these options."""
    return template if "{" not in template else render_jinja(template, vars(options))


# --- asking ---------------------------------------------------------------------------------------


def _prompts(keys: TaskKeys) -> Prompts:
    if keys.doc_to_text is None:
        raise _KeyFault("doc_to_text", f"is missing ({KEYS['doc_to_text']})")
    usual = _prompt(keys, keys.fields)
    wordings = [Wording({}, usual)]
    for entry in keys.wordings:
        for name, value in entry.when.items():
            if name not in keys.task_options:
                raise _KeyFault("wordings", f"when: {name!r} is not among the task_options")
            try:
                check_option(name, value)
            except ValueError as error:
                raise _KeyFault("wordings", error) from None
        wordings.append(Wording(entry.when, {**usual, **_prompt(entry, keys.fields, "wordings")}))
    return Prompts(
        fields=keys.fields,
        wordings=tuple(wordings),
        questions=tuple(dict.fromkeys(str(wording.prompt["user"]) for wording in wordings)),
        shots=keys.num_fewshot,
        format=keys.prompt_format,
        oracle=keys.doc_to_target,
        baseline=keys.baseline,
    )


def _prompt(keys: PromptKeys, fields: Sequence[str], within: str | None = None) -> dict[str, str]:
    """Return the parts of a prompt, of which placeholders are checked.

    Args:
        keys: The prompt.
        fields: The fields that placeholders may name.
        within: The key that the prompt stands under, for error messages; by default, each part has a key of its own.
    """
    for key, text in keys.templates().items():
        if key == "doc_to_text" and (not text.strip() or text != text.rstrip()):
            raise _KeyFault(within or key, "is empty or ends in white space")
        try:
            check_placeholders(text, fields)
        except ValueError as error:
            raise _KeyFault(within or key, error) from None
    return {_PARTS[key]: text for key, text in keys.templates().items()}


def _decoding(keys: DecodingKeys) -> Decoding:
    return Decoding(keys.max_gen_toks, float(keys.temperature), None if keys.top_p is None else float(keys.top_p))


def _subject(keys: TaskKeys) -> Subject | None:
    if keys.method_input is None:
        return None
    parts = keys.method_input.model_dump(exclude_none=True)
    for part, field in parts.items():
        if field not in keys.fields and part != "evidence":
            raise _KeyFault("method_input", f"{part}: {field!r} is not a field; fields: {', '.join(keys.fields)}")
    return Subject(**parts)


# --- scoring --------------------------------------------------------------------------------------


def _answer(keys: ScoringKeys) -> AnswerKind:
    answer = keys.answer
    if keys.judge is None and answer.kind == "judged_text":
        raise _KeyFault("judge", "is missing; answers of the kind judged_text need a judge")
    if keys.judge is not None and answer.kind != "judged_text":
        raise _KeyFault("judge", f"only answers of the kind judged_text have a judge, not {answer.kind}")
    if answer.reading is None:
        return _KINDS[answer.kind]()
    return (Claims if answer.kind == "claims" else Label)(
        tuple(answer.labels),
        answer.reading,
        {} if not any(answer.labels.values()) else answer.labels,
        target_varies=answer.target_varies,
        explains=answer.explains,
        only_with=answer.only_with,
    )


def _choices(keys: ScoringKeys) -> tuple[str, str] | None:
    choices = keys.doc_to_choice
    if choices is None:
        return None
    if len(choices) != 2 or {*choices} != {*keys.answer.labels}:
        raise _KeyFault("doc_to_choice", f"expected the two labels of the answer, got {list(choices)}")
    return choices[0], choices[1]


def _scoring(keys: ScoringKeys, answer: AnswerKind) -> dict[str, TaskScorer]:
    """Return the scorers by mode.

    Each has the metrics of `metric_list` that it has, and the shares of replies without an answer, which are always
    reported.
    """
    scorers = {mode: _scorer(mode, getattr(keys.scorer, mode), answer) for mode in MODES}
    of_any_mode = {metric.name: metric for mode in reversed(MODES) for metric in scorers[mode].metrics}
    for entry in keys.metric_list:
        _check_metric(keys, entry, of_any_mode)
    _check_unique([entry.metric for entry in keys.metric_list], "lists {!r} twice")
    _check_unique([entry.headline for entry in keys.metric_list if entry.headline], "lists two headlines of {}")
    return {
        mode: replace(scorer, metrics=_reported_metrics(keys, mode, scorer.metrics, answer))
        for mode, scorer in scorers.items()
    }


def _scorer(mode: str, spec: Any, answer: AnswerKind) -> TaskScorer:
    """Make the scorer of a mode. Its arguments `reading` and `labels`, if not given, are those of the answer."""
    arguments: dict[str, Any] = {}
    try:
        if isinstance(spec, dict):
            arguments = {str(name): load_object(value) for name, value in spec.items() if name != "name"}
            spec = spec.get("name")
        if not isinstance(spec, FunctionName) and not callable(spec):
            return make_scorer(spec, arguments, answer.scorer_arguments())
        scorer = load_object(spec)(**arguments)
    except Exception as error:  # what a user's function raises is a fault of the file that names it
        raise _KeyFault("scorer", f"{mode}: {' '.join(str(error).split()) or type(error).__name__}") from None
    if not isinstance(scorer, TaskScorer):
        reason = f"{mode}: expected a function that returns a TaskScorer, got {type(scorer).__name__}"
        raise _KeyFault("scorer", reason)
    return scorer


def _check_metric(keys: ScoringKeys, entry: MetricKeys, metrics: Mapping[str, Metric]) -> None:
    of = entry.of or entry.metric
    if of not in metrics:
        close = did_you_mean(of, metrics)
        raise _KeyFault("metric_list", f"unknown metric {of!r}{close}; the scorer has {', '.join(metrics)}")
    higher_is_better = metrics[of].higher_is_better
    if entry.higher_is_better not in (None, higher_is_better):
        reason = f"{entry.metric}: higher_is_better is {higher_is_better} by the metric's definition"
        raise _KeyFault("metric_list", reason)
    if unknown := [tag for tag in entry.by if tag not in keys.tags]:
        expected = f"expected tags ({', '.join(keys.tags) or 'none are declared'})"
        raise _KeyFault("metric_list", f"{entry.metric}: by: {expected}, got {unknown[0]!r}")


def _check_unique(names: Sequence[str], reason: str) -> None:
    if repeated := [name for name in names if names.count(name) > 1]:
        raise _KeyFault("metric_list", reason.format(repeated[0]))


def _reported_metrics(
    keys: ScoringKeys, mode: str, of_scorer: Sequence[Metric], answer: AnswerKind
) -> tuple[Metric, ...]:
    """Return what is reported in a mode: the listed metrics, the shares without an answer, and the splits."""
    metrics = {metric.name: metric for metric in of_scorer}
    listed: list[Metric] = []
    splits: list[Metric] = []
    for entry in sorted(keys.metric_list, key=lambda entry: entry.headline != mode):
        base = metrics.get(entry.of or entry.metric)
        if base is None:
            continue  # one of the modes may lack a metric
        metric = replace(base, name=entry.metric, requires_option=entry.requires or base.requires_option)
        listed.append(metric)
        part = replace(metric, requires_option=entry.split_requires or metric.requires_option)
        splits += [part.only(tag, value, f"{entry.metric}_{value}") for tag in entry.by for value in keys.tags[tag]]
    if not listed:
        raise _KeyFault("metric_list", f"lists no metric that the scorer of {mode} has")
    if "unparsed" not in metrics:
        raise _KeyFault("scorer", f"{mode}: the scorer lacks the metric 'unparsed' (scorers.metrics.share_unparsed)")
    shares = [metrics["unparsed"], *(answer.outcome_metrics() if mode == "strict" else ())]
    names = {metric.name for metric in listed}
    return (*listed, *(share for share in shares if share.name not in names), *splits)
