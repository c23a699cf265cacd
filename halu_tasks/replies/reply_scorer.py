"""Scoring of replies, the same for both harnesses, `halu-tasks score`, reports and recorded verdicts.

A generator yields what a model is asked about a reply, receives the verdicts, and returns the score. The caller decides
where verdicts come from: from a judge, for one reply in an event loop or for many at once, or from a record.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import PENALTY, Assumption
from halu_tasks.scorers.judge import JudgeSpec, Verdict
from halu_tasks.scorers.judge_correction import ReferenceLabels, with_judge_errors
from halu_tasks.scorers.reader_metrics import UNSURE
from halu_tasks.scorers.reading.stated_confidence import stated_confidence
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.confidence import (
    USUAL_RISK,
    with_allowed_risk,
    with_shown_confidence,
    with_stated_confidence,
)
from halu_tasks.tasks import Evaluation, Task
from halu_tasks.tasks.provenance import Provenance

Role = Literal["judge", "reader"]
"""Who is asked about replies: a judge, or a model that reads those that declare no answer."""


class VerdictRequest(NamedTuple):
    """A text that a model is asked about.

    Attributes:
        role: Who is asked.
        item: The item.
        text: The reply, or the part of it that is judged.
    """

    role: Role
    item: Item
    text: str


Steps = Generator[VerdictRequest, Sequence[Verdict], ScoredReply]
"""Yields what is asked, is sent the verdicts, and returns the scored reply."""


@dataclass(frozen=True)
class ReplyScorer:
    """Scores replies to a task in a mode.

    Attributes:
        task: The task.
        mode: The mode, `strict` or `paper`.
        judged: What a judge is asked about each reply; None if none is asked.
        read: What a model is asked about replies that declare no answer; None if none is asked.
        labels: Better labels of the replies, if there are any.
        assumed: What is assumed of the judge's errors, if anything.
        penalty: What a wrong answer costs in `net`, in points.
        asks_confidence: Whether replies were asked to say how sure they are, which is then taken off them.
        risk: The highest risk that `coverage_at_risk` allows.
    """

    task: Task
    mode: str
    judged: JudgeSpec | None = None
    read: JudgeSpec | None = None
    labels: ReferenceLabels | None = None
    assumed: Assumption | None = None
    penalty: float = 1.0
    asks_confidence: bool = False
    risk: float = USUAL_RISK

    @classmethod
    def of(cls, evaluation: Evaluation) -> ReplyScorer:
        """Return the scorer of the replies of an evaluation.

        Raises:
            DataError: The labels cannot be read, or do not fit the task.
        """
        task, options = evaluation.task, evaluation.options
        return cls(
            task,
            options.scoring,
            task.judge_spec if options.judge or options.verdicts else None,
            evaluation.reader,
            evaluation.labels,
            options.assumption,
            options.penalty,
            options.confidence,
            options.risk,
        )

    @classmethod
    def of_record(cls, task: Task, record: Provenance) -> ReplyScorer:
        """Return what scores replies to a task again as the record of their run says, without asking anyone."""
        options = record.options
        asks_confidence, risk = bool(options.get("confidence")), options.get("risk", USUAL_RISK)
        return cls(task, record.scoring, penalty=record.penalty, asks_confidence=asks_confidence, risk=risk)

    @property
    def role(self) -> Role | None:
        """Who is asked about replies, a judge about texts or a reader about labels; None if nobody is."""
        return "judge" if self.judged else "reader" if self.read else None

    @property
    def of_drafts(self) -> ReplyScorer:
        """What scores the first versions of replies: labels do not apply to them, and no model reads them."""
        return replace(self, read=None, labels=None, assumed=None)

    def with_judge_errors(self, scored: ScoredReply) -> ScoredReply:
        """Add to a scored reply what labels and assumptions say of the judge's errors."""
        if self.task.judge_spec and (self.labels or self.assumed):
            return with_judge_errors(scored, self.task.judge_spec, self.labels, self.assumed)
        return scored

    def steps(self, item: Item, reply: Reply) -> Steps:
        """Score a reply step by step. Nothing is asked about a request that failed: its text is not the model's."""
        verdicts: Sequence[Verdict] | None = None
        stated = None
        if self.asks_confidence and not reply.failure:
            text, stated = stated_confidence(reply.text)
            reply = reply._replace(text=text)
        if self.judged:
            verdicts = ()
            text = self.task.judged_text(self.mode, item, reply.text)
            if not reply.failure and self.task.scoring.is_asked_about(self.mode, item, text):
                verdicts = yield VerdictRequest("judge", item, text)
        scored = self.with_judge_errors(self.task.score(self.mode, item, reply, verdicts))
        if self.penalty != 1:
            scored = replace(scored, facts={**scored.facts, PENALTY: self.penalty})
        if self.read and scored.outcome in UNSURE:
            scored = replace(scored, verdicts=(yield VerdictRequest("reader", item, reply.text)))
        return self.with_confidence(with_stated_confidence(scored, stated) if self.asks_confidence else scored)

    def with_confidence(self, scored: ScoredReply) -> ScoredReply:
        """Add the confidence that a scored reply shows without stating it, and the risk that is allowed."""
        return with_allowed_risk(with_shown_confidence(scored, self.task.scoring.choices), self.risk)

    def score(self, item: Item, reply: Reply, verdicts: Sequence[Verdict] = ()) -> ScoredReply:
        """Score a reply without asking anyone.

        Args:
            item: The item.
            reply: The reply.
            verdicts: The verdicts that were given on it.
        """
        (scored,) = self.score_all([(item, reply)], lambda role, texts: [verdicts])
        return scored

    async def score_by(
        self, item: Item, reply: Reply, ask: Callable[[VerdictRequest], Awaitable[Sequence[Verdict]]]
    ) -> ScoredReply:
        """Score a reply, asking for the verdicts on it."""
        steps = self.steps(item, reply)
        try:
            request = next(steps)
            while True:
                request = steps.send(await ask(request))
        except StopIteration as end:
            scored: ScoredReply = end.value
            return scored

    def score_all(
        self,
        replies: Sequence[tuple[Item, Reply]],
        ask: Callable[[Role, Sequence[tuple[Item, str]]], Sequence[Sequence[Verdict]]],
    ) -> list[ScoredReply]:
        """Score replies, asking for the verdicts on all of them at once.

        Args:
            replies: Items with their replies.
            ask: Returns the verdicts on texts of items.

        Returns:
            The scored replies, in the order of `replies`.
        """
        scored: dict[int, ScoredReply] = {}
        running: dict[int, tuple[Steps, VerdictRequest]] = {}

        def go_on(place: int, steps: Steps, verdicts: Sequence[Verdict] | None) -> None:
            try:
                running[place] = steps, next(steps) if verdicts is None else steps.send(verdicts)
            except StopIteration as end:
                scored[place] = end.value

        for place, (item, reply) in enumerate(replies):
            go_on(place, self.steps(item, reply), None)
        while running:
            waiting, running = running, {}
            (role,) = {request.role for _, request in waiting.values()}
            verdicts = ask(role, [(request.item, request.text) for _, request in waiting.values()])
            for (place, (steps, _)), answers in zip(waiting.items(), verdicts, strict=True):
                go_on(place, steps, answers)
        return [scored[place] for place in range(len(replies))]
