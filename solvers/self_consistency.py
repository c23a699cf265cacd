"""Self-consistency (Wang et al. 2023, arXiv 2203.11171): a model answers several times, and the label that most of
its replies state is the answer."""

from __future__ import annotations

from collections import Counter

from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.concurrency import gather
from halu_tasks.errors import UsageError
from halu_tasks.hashing import stable_hash
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import ask, conclude, task_of


def winner(labels: list[str], id: str, seed: int) -> tuple[str, bool]:
    """The label that most votes are for, and whether others have as many. Which of several it is depends on their
    names, the item and the seed, never on the order of the votes.

    Args:
        labels: one a vote, at least one.
        id: of the item.
        seed: another one breaks ties in another way.
    """
    votes = Counter(labels)
    top = [label for label, number in votes.items() if number == max(votes.values())]
    return min(top, key=lambda label: stable_hash(seed, id, label)), len(top) > 1


@solver
@checked
def self_consistency(samples: int = 5, temperature: float = 0.7, seed: int = 0, cache: bool = True) -> Solver:
    """Draw several replies to the task's own messages and take the label that most of them state.

    For every task that asks for a label. The reply is the first drawn one that states it, with its explanation. The
    model under test gives all of them; its limit of tokens is the task's.

    Args:
        samples: number of replies.
        temperature: of these.
        seed: breaks ties, together with the item's id.
        cache: keep replies, so that a second run asks nothing again.
    """
    name = "self_consistency"
    if samples < 1:
        raise UsageError(f"option samples={samples} is less than 1")

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        task = task_of(state)
        if not task.read:
            raise UsageError(f"{name} votes on labels, and {task.name} asks for something else")
        asked = list(state.messages)
        replies = await gather(
            *(ask(asked, None, cache=cache, draw=draw, temperature=temperature) for draw in range(samples))
        )
        labels = [task.label(reply.completion).value for reply in replies]
        read = [label for label in labels if label is not None]
        counts: dict[str, float] = {"votes": samples, "votes_unread": samples - len(read)}
        steps = {"labels": labels}
        if not read:
            return conclude(state, name, "", reason="no vote can be read", counts=counts, steps=steps)
        label, tied = winner(read, state.metadata["id"], seed)
        counts |= {"votes_tied": float(tied), "agreement": read.count(label) / len(read)}
        probability = read.count(task.choices[0]) / len(read) if task.choices else None
        chosen = replies[labels.index(label)]
        return conclude(state, name, chosen, probability=probability, counts=counts, steps=steps)

    return solve
