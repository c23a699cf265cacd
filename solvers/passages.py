"""Asking a question together with passages that were looked up for it, without a harness.

The solvers that look things up use the same query and the same prompt, so that a model can be tuned on what they send.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from halu_tasks.core.errors import UsageError
from halu_tasks.core.items import Item
from halu_tasks.core.prompting import fill
from halu_tasks.knowledge import Snippet, named_files, open_knowledge
from halu_tasks.scorers.judge import fence
from halu_tasks.solvers.method_prompts import method_prompt
from halu_tasks.tasks import Task

GOLD = "gold"
"""The value of `knowledge` for each item's own evidence."""
NOTHING = "(nothing was found)"
"""What is shown in place of passages if none was found."""
# the evidence of FactCHD's rows that have none
_NO_EVIDENCE = ("", "none")


def check_lookup(knowledge: str, top: int) -> None:
    """Check what to look up, before a run begins.

    Raises:
        UsageError: `top` is less than 1.
        DataError: The file or folder does not exist, or has no file that can be read.
    """
    if top < 1:
        raise UsageError(f"option top={top} is less than 1")
    if knowledge != GOLD:
        named_files(Path(knowledge).expanduser())


def query_for(subject: Mapping[str, str], question: str) -> str:
    """Return the query: the text that methods examine after its question, or the question of the whole prompt."""
    return "\n".join(subject[part] for part in ("query", "text") if part in subject) or question


def evidence_in(subject: Mapping[str, str]) -> str | None:
    """Return the item's own evidence, even if its task does not show it; None if it has none."""
    return subject.get("source", subject.get("evidence"))


def as_finding(evidence: str) -> list[Snippet]:
    """Return an item's own evidence as a passage; none if it says that there is none."""
    return [] if evidence.strip() in _NO_EVIDENCE else [Snippet(GOLD, "", evidence)]


def shown(findings: Sequence[Snippet]) -> str:
    """Format passages for a model, numbered and with their titles, between fences."""
    if not findings:
        return NOTHING
    parts = (
        f"[{n}] {title}\n{text}" if title else f"[{n}] {text}" for n, (_, title, text, _) in enumerate(findings, 1)
    )
    return fence("\n\n".join(part.strip() for part in parts))


class PassagePrompts(NamedTuple):
    """The prompts of a question with passages: `found` if there are any, else `none`."""

    found: str
    none: str

    @classmethod
    def of(cls, prompts: str | None) -> PassagePrompts:
        """Return the prompts, of which a user's prompt file may replace some."""
        found, none = (
            method_prompt(name, "knowledge", prompts)["user"] for name in ("knowledge_passages", "knowledge_no_passage")
        )
        return cls(found, none)

    def for_findings(self, findings: Sequence[Snippet]) -> str:
        """Return the prompt to use."""
        return self.found if findings else self.none


class InformedQuestions:
    """The questions of a task's items with passages, as the solver `with_knowledge` asks them.

    Args:
        task: The task.
        knowledge: A file or folder that is searched for each item, or `gold` for the item's own evidence.
        top: The number of passages to look up.
        prompts: A prompt file with texts that replace those of the package.

    Raises:
        UsageError: `top` is less than 1, or the prompt file cannot be read.
        DataError: The file or folder does not exist, or has no file that can be read.
    """

    def __init__(self, task: Task, knowledge: str, top: int, prompts: str | None) -> None:
        check_lookup(knowledge, top)
        self._task, self._top = task, top
        self._prompts = PassagePrompts.of(prompts)
        self._knowledge = None if knowledge == GOLD else open_knowledge(knowledge)

    def __call__(self, item: Item) -> str:
        """Return the user text of an item with its passages.

        Raises:
            UsageError: The knowledge is the item's evidence, and it has none.
        """
        subject = self._task.subject.of(item.fields) if self._task.subject else {}
        if self._knowledge:
            findings = self._knowledge.search(query_for(subject, item.prompt), self._top)
        elif (evidence := evidence_in(subject)) is None:
            raise UsageError(f"item {item.id} of {self._task.name} has no evidence; name a file or folder of passages")
        else:
            findings = as_finding(evidence)
        return fill(self._prompts.for_findings(findings), {"passages": shown(findings), "question": item.prompt})
