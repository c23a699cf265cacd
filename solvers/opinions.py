"""Methods that decide between labels given independently: self-consistency and Truth-Triangulator.

Self-consistency (Wang et al. 2023, arXiv 2203.11171) is the majority label of several replies of one model. In
Truth-Triangulator (FactCHD, Chen et al. 2024, section 5.4), a seeker looks things up, a guardian relies on its own
knowledge, and a manager weighs both answers against what was found.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import UsageError
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.settings import Count
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.judge import fence, shown_passages
from halu_tasks.scorers.reading.questions import NO, YES, hallucinates
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.scorers.reading.stated_confidence import stated_confidence
from halu_tasks.solvers import model_calls
from halu_tasks.solvers.retrieval import InformedReply, Seeker, with_question

SEEKER, GUARDIAN, MANAGER = "seeker", "guardian", "manager"
"""The model roles of Truth-Triangulator."""
SILENT = "(gave no answer)"
"""What the manager is shown in place of a missing answer."""


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
@model_calls.method
def self_consistency(samples: Count = 5, temperature: float = 0.7, seed: int = 0, cache: bool = True) -> Solver:
    """Draw several replies to the task's messages and answer with the label that most of them state.

    This works with every task whose answer is a label, and with texts of your own. All replies come from the model
    under test, with the task's token limit. The answer is the first reply that states the label, including its
    explanation.

    Args:
        samples: Number of replies.
        temperature: Temperature of the replies.
        seed: Seed that breaks ties, together with the item's id.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """
    method = "self_consistency"

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        label_of, choices = _labels_of(state, f"{method} votes on labels")
        replies = await model_calls.draws(list(state.messages), None, samples, cache=cache, temperature=temperature)
        labels = [label_of(reply.completion).value for reply in replies]
        votes = [label for label in labels if label is not None]
        counts: dict[str, float] = {"votes": samples, "votes_unread": samples - len(votes)}
        record = model_calls.MethodRecord(method=method, counts=counts, steps={"labels": labels})
        if not votes:
            return model_calls.conclude(state, "", replace(record, reason="no vote can be read"))
        metadata = model_calls.SampleMetadata.of(state)
        id = metadata.item_id(state.sample_id) if metadata else state.metadata.get("id", str(state.sample_id))
        label, tied = winner(votes, id, seed)
        counts |= {"votes_tied": float(tied), "agreement": votes.count(label) / len(votes)}
        probability = votes.count(choices[0]) / len(votes) if choices else None
        return model_calls.conclude(state, replies[labels.index(label)], replace(record, probability=probability))

    return solve


@solver
@model_calls.method
def truth_triangulator(
    knowledge: str | None = None,
    tool: str | None = None,
    top: Count = 5,
    prompts: str | None = None,
    cache: bool = True,
) -> Solver:
    """Ask a seeker that can look things up and a guardian that cannot, and let a manager decide.

    The manager sees both answers and what was found, and its reply is the answer. This works with tasks whose answer is
    a label, and with texts of your own. The model roles `seeker`, `guardian` and `manager` default to the model under
    test. Give either `knowledge` or `tool`.

    Args:
        knowledge: File or folder of passages, which BM25 searches for each item; or `gold`, the item's own evidence.
        tool: Name of an Inspect tool that the seeker may call instead: `web_search`, `package/tool`, `file.py@tool`.
        top: Number of passages to look up.
        prompts: Prompt file with texts that replace the packaged ones.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """
    method = "truth_triangulator"
    seeker = Seeker(method, knowledge, tool, top, prompts, cache)
    weighing = model_calls.method_prompt("truth_triangulator_manager", method, prompts)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        label_of, _ = _labels_of(state, f"{method} weighs two labels")
        guard = model_calls.ask(state.messages, GUARDIAN, cache=cache, **model_calls.decoding_for(state, GUARDIAN))
        replies: list[Any] = await gather(seeker.reply(state, SEEKER), guard)
        informed: InformedReply = replies[0]
        sought, _, findings, record = informed
        answers = {SEEKER: _answer(sought), GUARDIAN: _answer(replies[1])}
        fields = {role: fence(text) if text else SILENT for role, text in answers.items()}
        messages = with_question(state.messages, weighing, {**fields, "passages": shown_passages(findings)})
        output = await model_calls.ask(messages, MANAGER, cache=cache, **model_calls.decoding_for(state, MANAGER))
        unread = sum(not text for text in answers.values())
        record = replace(
            record,
            counts={**(record.counts or {}), "opinions_unread": unread},
            steps={**(record.steps or {}), **answers},
            opinions={role: label_of(text).value for role, text in answers.items()},
        )
        return model_calls.conclude(state, output, record)

    return solve


def _labels_of(state: TaskState, what: str) -> tuple[Callable[[str], Answer[str]], Sequence[str] | None]:
    """Return the reading of labels, and the two labels that a probability is about, if there are two.

    A text of a user's own hallucinates, Yes, or does not, No. `what` begins the error of a task without labels.
    """
    if model_calls.SampleMetadata.of(state) is None and model_calls.parts_of(state):
        return hallucinates, (YES, NO)
    metadata = model_calls.SampleMetadata.required_of(state)
    task = metadata.benchmark_task
    if task.scoring.read is None:
        raise UsageError(f"{what}, and {task.name} asks for something else")

    def label(reply: str) -> Answer[str]:
        return task.label(stated_confidence(reply).reply if metadata.confidence else reply)

    return label, task.scoring.choices


def _answer(output: ModelOutput) -> str:
    return ReplyText(output.completion).text.strip()
