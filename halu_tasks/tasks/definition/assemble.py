"""Assemble a `Task` from the parts that its file defines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from halu_tasks.core.errors import did_you_mean
from halu_tasks.core.items import Case, by_target
from halu_tasks.core.options import Options
from halu_tasks.tasks.definition.answers import read_answer, read_choices, read_judge
from halu_tasks.tasks.definition.data import read_cases, read_reader
from halu_tasks.tasks.definition.decoding import read_decoding
from halu_tasks.tasks.definition.keys import KEYS, TaskKeys, version_number
from halu_tasks.tasks.definition.prompts import read_reply, read_wordings
from halu_tasks.tasks.definition.scoring import read_scoring
from halu_tasks.tasks.task import Subject, Task
from halu_tasks.tasks.yaml_files import TaskFile, comparable

PROMPT_FORMATS = ("independent", "comparative", "localization", "correction")
_PROMPT_KEYS = ("description", "doc_to_text", "chain_of_thought", "wordings")
_DESCRIPTIVE_KEYS = ("task", "about", "items", "metadata")


def task_from(file: TaskFile, reference: Task | None = None) -> Task:
    """Make the task that a file defines.

    Args:
        file: The file's keys and values.
        reference: For a user's file, the packaged task that it was derived from.

    Raises:
        UsageError: A key is missing, unknown or wrong; the message is one line with file, line and key.
    """
    keys = TaskKeys(file)
    keys.check_names()
    name = keys.string("task")
    answer = read_answer(keys)
    scoring = read_scoring(keys, answer)
    options = _task_options(keys)
    fields = keys.strings("fields")
    wordings = read_wordings(keys, fields, options)
    questions = tuple(dict.fromkeys(str(wording.prompt["user"]) for wording in wordings))
    reference_task, version, about = keys.string("reference_task"), _version(keys, reference), keys.string("about")
    size, reader = keys.count("items"), read_reader(keys)
    return Task(
        name=name,
        reference=reference_task,
        changed=_changed_keys(file, reference) if reference else (),
        version=version,
        about=about,
        size=size,
        reader=reader,
        cases=read_cases(keys),
        fields=fields,
        wordings=wordings,
        questions=reference.questions if reference else questions,
        answer=answer,
        scoring=scoring,
        decoding=read_decoding(keys, reference.definition["generation_kwargs"] if reference else None),
        oracle=read_reply(keys, "doc_to_target", "{{target}}"),
        baseline=read_reply(keys, "baseline", ""),
        shots=keys.count("num_fewshot") or 0,
        examples=_example_order(keys),
        task_options=options,
        judged=read_judge(keys, answer),
        choices=read_choices(keys, answer),
        subject=_subject(keys, fields),
        prompt_format=_prompt_format(keys),
        inspect_module=keys.optional_string("inspect_module") or reader.source.name,
        definition={key: value for key, value in file.values.items() if key in KEYS},
        path=file.path,
    )


def _changed_keys(file: TaskFile, reference: Task) -> tuple[str, ...]:
    """Return the keys that differ from the reference task's. Prompts are left out; versions have a hash of them."""
    values, packaged = file.values, reference.definition
    keys = [key for key in KEYS if key not in (*_PROMPT_KEYS, *_DESCRIPTIVE_KEYS)]
    return tuple(key for key in keys if comparable(values.get(key)) != comparable(packaged.get(key)))


def _version(keys: TaskKeys, reference: Task | None) -> int:
    metadata = keys.mapping("metadata", required=False)
    try:
        return version_number(metadata.get("version", reference.version if reference else None))
    except ValueError as error:
        keys.fail("metadata", error)


def _example_order(keys: TaskKeys) -> Callable[[Iterable[Case], Options], list[Case]]:
    """Return the function of `order_examples`; by default, targets take turns."""
    if "order_examples" not in keys.file.values:
        return lambda cases, options: by_target(cases)
    function: Callable[[Iterable[Case], Options], list[Case]] = keys.function("order_examples", [], Options())
    return function


def _task_options(keys: TaskKeys) -> tuple[str, ...]:
    options = keys.strings("task_options", required=False)
    known = Options.of_some_tasks()
    for name in options:
        if name not in known:
            close = did_you_mean(name, known)
            keys.fail("task_options", f"unknown option {name!r}{close}; known: {', '.join(known)}")
    return options


def _subject(keys: TaskKeys, fields: Collection[str]) -> Subject | None:
    """Read `method_input`: the fields of a case that a detection method looks at."""
    parts = keys.mapping("method_input", Subject._fields, required=False)
    for part, field in parts.items():
        if field not in fields and part != "evidence":
            keys.fail("method_input", f"{part}: {field!r} is not a field; fields: {', '.join(fields)}")
    if parts and "text" not in parts:
        keys.fail("method_input", "lacks 'text', the field that may hallucinate")
    return Subject(**parts) if parts else None


def _prompt_format(keys: TaskKeys) -> str | None:
    name = keys.optional_string("prompt_format")
    if name is not None and name not in PROMPT_FORMATS:
        close = did_you_mean(name, PROMPT_FORMATS)
        keys.fail("prompt_format", f"unknown format {name!r}{close}; known: {', '.join(PROMPT_FORMATS)}")
    return name
