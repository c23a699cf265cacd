"""Prompt optimization (C-FAITH, section 3.2).

In each round, candidate prompts are written from the verifier's objections to drafts of training documents, and the
candidate with the highest pass rate on validation documents is kept.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import Failure, Pipeline
from halu_tasks.builders.prompts import prompt_texts
from halu_tasks.builders.run.outcomes import OVERALL, Outcome, Rates
from halu_tasks.core.errors import UsageError
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.prompting import PLACEHOLDER, fill
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.judge import fence
from halu_tasks.scorers.reading.reasoning import strip_reasoning

OPTIMIZER = "optimizer"
"""The model role that writes candidate prompts."""

TRAIN, VALIDATION = "train", "validation"

UNREAD = "no candidate could be read"
"""The reason a round ends if no reply of the optimizer contains a usable prompt."""

MOST_REJECTS = 12
"""Maximum number of rejected drafts shown to the optimizer for a prompt."""
_SHOWN = 1_500
"""Maximum number of characters of each."""
_OPENS, _CLOSES = "<prompt>", "</prompt>"
_LONGEST = 12_000
"""Maximum number of characters of a prompt."""

Texts = Mapping[str, str]
"""Prompts by name."""


class Asked(NamedTuple):
    """A request to rewrite a prompt.

    Attributes:
        candidate: Number of the candidate within the round, from 0.
        prompt: Name of the prompt.
        question: What the optimizer is asked.
    """

    candidate: int
    prompt: str
    question: str


@dataclass(frozen=True)
class Tried:
    """A set of prompts and its pass rates on the validation documents."""

    name: str
    texts: Texts
    validation: Rates

    @property
    def rate(self) -> float:
        """The share of drafts of validation documents that passed every check; 0 if there were no drafts."""
        passed, drafts = self.validation.counts()[OVERALL]
        return passed / drafts if drafts else 0.0


class Rejected(NamedTuple):
    """A failure of a draft.

    Attributes:
        document: Id of the document.
        draft: Id of the draft.
        failure: Why it failed.
        prompt: The prompt that the failure is blamed on; None if it is none of those that can be optimized.
    """

    document: str
    draft: str
    failure: Failure
    prompt: str | None


@dataclass
class Round:
    """One round of optimization.

    Attributes:
        number: Number of the round; 0 for the initial prompts.
        tried: The candidates that were evaluated.
        chosen: The best of them; None if none was evaluated.
        rejects: Failures of training drafts under the prompts of the previous round.
        ended: Why the optimization ended after this round; empty if it did not.
        problems: Why replies of the optimizer were not used, by candidate and prompt. A candidate without a usable
            reply is not evaluated.
    """

    number: int
    tried: list[Tried]
    chosen: Tried | None
    rejects: list[Rejected] = field(default_factory=list)
    ended: str = ""
    problems: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def describe(self) -> str:
        """Describe the round on one line."""
        parts = [f"round {self.number}"]
        parts += [f"{tried.name} {tried.rate:.1%}" for tried in self.tried]
        parts += [
            f"{name} has no {prompt} prompt: {problem}"
            for name, problems in self.problems.items()
            for prompt, problem in problems.items()
        ]
        return "; ".join([*parts, *([self.ended] if self.ended else [])])


Evaluate = Callable[[str, Texts, str], Sequence[Outcome]]
"""Takes a name, prompts, and `train` or `validation`; returns the outcomes of these documents under the prompts."""
Rewrite = Callable[[int, Sequence[Asked]], Sequence[str]]
"""Takes the number of a round and its requests; returns the optimizer's replies, in order."""


def optimize(
    pipeline: Pipeline,
    evaluate: Evaluate,
    rewrite: Rewrite,
    rounds: int,
    candidates: int,
    *,
    compare_wordings: bool = False,
) -> Iterator[Round]:
    """Yield the rounds; round 0 evaluates the initial prompts, and continues with the best of them.

    The optimization ends after `rounds` rounds, when the best candidate has a lower pass rate than the prompts before
    it, when no candidate could be read, or when no draft is rejected any more. The best prompts are those of the round
    with the highest rate, the earliest one if several are equal; see `best_of`.

    Args:
        pipeline: The pipeline whose prompts are optimized.
        evaluate: Runs the pipeline with a set of prompts.
        rewrite: Asks the optimizer.
        rounds: Maximum number of rounds.
        candidates: Number of candidates per round.
        compare_wordings: Whether to evaluate the pipeline's other wordings in round 0, too.
    """
    initial = {"round-0": pipeline.texts}
    if compare_wordings:
        initial |= {f"round-0-{name}": texts for name, texts in pipeline.other_texts.items()}
    first = [_evaluate(pipeline, name, texts, evaluate) for name, texts in initial.items()]
    current = max(first, key=lambda one: one.rate)
    yield Round(0, first, current)
    for number in range(1, rounds + 1):
        trained = evaluate(f"{current.name}-train", current.texts, TRAIN)
        rejects = [
            Rejected(outcome.document, draft.id, failure, pipeline.blamed(failure, draft))
            for outcome in trained
            for draft in outcome.drafts
            for failure in draft.failures
        ]
        requests = questions(pipeline, current.texts, rejects, candidates)
        if not requests:
            yield Round(number, [], None, rejects, "no draft of the training documents was rejected for a prompt")
            return
        written, problems = _candidates(number, current, requests, rewrite(number, requests))
        if not written:
            yield Round(number, [], None, rejects, UNREAD, problems)
            return
        tried = [_evaluate(pipeline, name, texts, evaluate) for name, texts in written.items()]
        best = max(tried, key=lambda one: one.rate)
        fell = best.rate < current.rate
        ended = "the validation rate fell" if fell else "that was the last round" if number == rounds else ""
        yield Round(number, tried, best, rejects, ended, problems)
        if fell:
            return
        current = best


def best_of(rounds: Iterable[Round]) -> Tried:
    """Return the prompts with the highest validation rate; the earliest ones if several are equal."""
    return max((each.chosen for each in rounds if each.chosen), key=lambda tried: tried.rate)


def _evaluate(pipeline: Pipeline, name: str, texts: Texts, evaluate: Evaluate) -> Tried:
    """Evaluate prompts on the validation documents."""
    rates = Rates(pipeline.checks)
    for outcome in evaluate(name, texts, VALIDATION):
        rates.add(Rates.counted(outcome))
    return Tried(name, dict(texts), rates)


def _candidates(
    number: int, current: Tried, requests: Sequence[Asked], replies: Sequence[str]
) -> tuple[dict[str, Texts], dict[str, dict[str, str]]]:
    """Return the candidates with at least one rewritten prompt, and the problems of all candidates, by name."""
    rewrites: dict[str, dict[str, str]] = {}
    problems: dict[str, dict[str, str]] = {}
    for request, reply in zip(requests, replies, strict=True):
        name = f"round-{number}-candidate-{request.candidate + 1}"
        answer = rewritten(reply, current.texts[request.prompt])
        if answer.value is None:
            problems.setdefault(name, {})[request.prompt] = answer.reason
        else:
            rewrites.setdefault(name, {})[request.prompt] = answer.value
    return {name: {**current.texts, **texts} for name, texts in rewrites.items()}, problems


def questions(pipeline: Pipeline, texts: Texts, rejects: Sequence[Rejected], candidates: int) -> list[Asked]:
    """Return the requests to the optimizer: for each candidate, one per prompt that caused a failure.

    Args:
        pipeline: The pipeline whose prompts are optimized.
        texts: The current prompts.
        rejects: Failures of training drafts.
        candidates: Number of candidates.
    """
    by_prompt: dict[str, list[Failure]] = {}
    for reject in rejects:
        if reject.prompt:
            by_prompt.setdefault(reject.prompt, []).append(reject.failure)
    # the optimizer is asked in Chinese about Chinese prompts, and in English about all others
    template = prompt_texts("optimize", ("rewrite",), "zh" if pipeline.language == "zh" else "en", None)["rewrite"]
    requests = []
    for candidate in range(candidates):
        for prompt in pipeline.generating:
            if blamed := by_prompt.get(prompt):
                # each candidate is shown other rejected drafts, if there are enough
                shown = sorted(set(blamed), key=lambda failure: stable_hash(candidate, *failure))[:MOST_REJECTS]
                listed = "\n\n".join(f"{f.check}: {f.reason}\n{f.detail[:_SHOWN]}" for f in shown)
                fields = {
                    "prompt": fence(texts[prompt]),
                    "rejects": fence(listed),
                    "number": str(len(blamed)),
                    "placeholders": " ".join(sorted(set(PLACEHOLDER.findall(texts[prompt])))),
                }
                fields["placeholders"] = ", ".join(f"{{{name}}}" for name in fields["placeholders"].split())
                requests.append(Asked(candidate, prompt, fill(template, fields)))
    return requests


def _last_inside(text: str) -> str | None:
    """Return the text between the last pair of `<prompt>` and `</prompt>`, reading pairs from the start."""
    inside = None
    start = text.find(_OPENS)
    while start >= 0 and (end := text.find(_CLOSES, start)) >= 0:
        inside = text[start + len(_OPENS) : end]
        start = text.find(_OPENS, end)
    return inside


def rewritten(reply: str, current: str) -> Answer[str]:
    """Read the rewritten prompt of a reply, between `<prompt>` and `</prompt>`.

    It must have the same placeholders as the current prompt, and differ from it.
    """
    inside = _last_inside(strip_reasoning(reply) or "")
    if inside is None:
        return Answer(None, "no <prompt>")
    text = inside.strip(" \t").strip("\n")
    expected, actual = set(PLACEHOLDER.findall(current)), set(PLACEHOLDER.findall(text))
    if missing := sorted(expected - actual):
        return Answer(None, f"leaves out {{{missing[0]}}}")
    if more := sorted(actual - expected):
        return Answer(None, f"adds {{{more[0]}}}")
    if text == current.strip("\n"):
        return Answer(None, "the same as before")
    if len(text) > _LONGEST:
        return Answer(None, f"longer than {_LONGEST} characters")
    return Answer(text)


def choose(
    pipeline: Pipeline, documents: Iterable[Document], train: int, validation: int, seed: int
) -> tuple[list[Document], list[Document]]:
    """Draw training and validation documents from those the pipeline accepts, by a hash of the seed and their ids.

    Args:
        pipeline: The pipeline.
        documents: The documents to choose from.
        train: Number of training documents.
        validation: Number of validation documents.
        seed: The seed.

    Returns:
        The training documents and the validation documents.

    Raises:
        UsageError: There are too few usable documents.
    """
    usable = (document for document in documents if pipeline.refuse(document) is None)
    number = train + validation
    drawn = heapq.nsmallest(number, usable, key=lambda document: stable_hash(seed, document.id))
    if len(drawn) < number:
        raise UsageError(
            f"expected at least {train} training and {validation} validation documents, but only {len(drawn)} can be "
            "used; reduce --train and --validation"
        )
    return drawn[:train], drawn[train:]
