"""Self-consistency (Wang et al. 2023, arXiv 2203.11171): the majority label of several replies of one model."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import UsageError
from halu_tasks.core.hashing import stable_hash
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import ask, conclude, task_of
from halu_tasks.solvers.method_record import MethodRecord
from halu_tasks.solvers.sample_metadata import SampleMetadata


def winner(labels: list[str], id: str, seed: int) -> tuple[str, bool]:
    """Return the label with most votes, and whether there was a tie.

    Which of several labels wins a tie depends on their names, the item and the seed, but not on the order of the votes.

    Args:
        labels: The votes, at least one.
        id: The item's id.
        seed: The seed for ties.
    """
    votes = Counter(labels)
    tied = [label for label, number in votes.items() if number == max(votes.values())]
    return min(tied, key=lambda label: stable_hash(seed, id, label)), len(tied) > 1


@solver
@checked
def self_consistency(samples: int = 5, temperature: float = 0.7, seed: int = 0, cache: bool = True) -> Solver:
    """Draw several replies to the task's messages and answer with the label that most of them state.

    This works with every task whose answer is a label. All replies come from the model under test, with the task's
    token limit. The answer is the first reply that states the label, including its explanation.

    Args:
        samples: Number of replies.
        temperature: Temperature of the replies.
        seed: Seed that breaks ties, together with the item's id.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """
    method = "self_consistency"
    if samples < 1:
        raise UsageError(f"option samples={samples} is less than 1")

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        task = task_of(state)
        if not task.read:
            raise UsageError(f"{method} votes on labels, and {task.name} asks for something else")
        messages = list(state.messages)
        replies = await gather(
            *(ask(messages, None, cache=cache, draw=draw, temperature=temperature) for draw in range(samples))
        )
        labels = [task.label(reply.completion).value for reply in replies]
        votes = [label for label in labels if label is not None]
        counts: dict[str, float] = {"votes": samples, "votes_unread": samples - len(votes)}
        record = MethodRecord(method=method, counts=counts, steps={"labels": labels})
        if not votes:
            return conclude(state, "", replace(record, reason="no vote can be read"))
        label, tied = winner(votes, SampleMetadata.required_of(state).id, seed)
        counts |= {"votes_tied": float(tied), "agreement": votes.count(label) / len(votes)}
        probability = votes.count(task.choices[0]) / len(votes) if task.choices else None
        return conclude(state, replies[labels.index(label)], replace(record, probability=probability))

    return solve
