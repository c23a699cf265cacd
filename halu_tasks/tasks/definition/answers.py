"""The answer that a task asks for: its kind, the judge of a judged task, and choices that are weighed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from halu_tasks.core.options import Options
from halu_tasks.scorers.kinds import AnswerKind, Claims, JudgedText, Label, Spans, Strings
from halu_tasks.scorers.reading.judge import JudgeSpec
from halu_tasks.scorers.registry import reading_named
from halu_tasks.tasks.definition.keys import TaskKeys, named_in

_KINDS: Mapping[str, Callable[[], AnswerKind]] = {"spans": Spans, "strings": Strings, "judged_text": JudgedText}
"""The kinds without further keys; a label has some."""


_OPTIONS = Options.of_some_tasks().keys()


def read_answer(keys: TaskKeys) -> AnswerKind:
    """Read the key `answer`."""
    answer = keys.mapping("answer", ("kind", "labels", "reading", "target_varies", "explains", "only_with"))
    kind = answer.get("kind")
    if kind in ("label", "claims"):
        return _label(keys, answer, Label if kind == "label" else Claims)
    if not named_in(kind, _KINDS):
        keys.fail("answer", f"kind: expected {', '.join(('label', 'claims', *_KINDS))}, got {kind!r}")
    if others := [name for name in answer if name != "kind"]:
        keys.fail("answer", f"an answer of the kind {kind} has no {others[0]!r}")
    return _KINDS[str(kind)]()


def _label(keys: TaskKeys, answer: Mapping[str, Any], kind: type[Label]) -> Label:
    declared = answer.get("labels")
    names = declared if isinstance(declared, dict) else {}
    labels = keys.as_strings("answer", list(names) if names else declared)
    if len(labels) < 2 or len(set(labels)) < len(labels):
        keys.fail("answer", f"labels: expected two or more different strings, got {list(labels)}")
    try:
        reading = reading_named(keys.load("answer", answer.get("reading")))
    except ValueError as error:
        keys.fail("answer", f"reading: {error}")
    keys.check_signature("answer", reading, "")
    keys.as_strings("answer", list(names.values()))
    flags = {name: answer.get(name, False) for name in ("target_varies", "explains")}
    for name, value in flags.items():
        if not isinstance(value, bool):
            keys.fail("answer", f"{name}: expected true or false, got {value!r}")
    only_with = answer.get("only_with") or {}
    if not isinstance(only_with, dict) or not (only_with.keys() <= set(labels) and {*only_with.values()} <= _OPTIONS):
        keys.fail("answer", f"only_with: expected options by label, got {only_with!r}")
    return kind(labels, reading, names, **flags, only_with=only_with)


def read_judge(keys: TaskKeys, answer: AnswerKind) -> JudgeSpec | None:
    """Read the key `judge`, which answers of the kind `judged_text` need and others may not have."""
    judge = keys.load("judge", keys.file.values.get("judge"))
    if judge is not None and not isinstance(judge, JudgeSpec):
        keys.fail("judge", f"expected !function MODULE.NAME of a JudgeSpec, got {judge!r}")
    if judge is None and isinstance(answer, JudgedText):
        keys.fail("judge", "is missing; answers of the kind judged_text need a judge")
    if judge is not None and not isinstance(answer, JudgedText):
        keys.fail("judge", f"only answers of the kind judged_text have a judge, not {answer.name}")
    return judge


def read_choices(keys: TaskKeys, answer: AnswerKind) -> tuple[str, str] | None:
    """Read the key `doc_to_choice`: the two labels of the answer, the one looked for first."""
    choices = keys.strings("doc_to_choice", required=False)
    if keys.file.values.get("doc_to_choice") is None:
        return None
    if not isinstance(answer, Label) or sorted(choices) != sorted(answer.labels) or len(choices) != 2:
        keys.fail("doc_to_choice", f"expected the two labels of the answer, got {list(choices)}")
    return choices[0], choices[1]
