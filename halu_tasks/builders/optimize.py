"""Prompt optimization (C-FAITH, section 3.2): in each round, candidate prompts are written from what the verifier had
against drafts of training documents, and the one by which most drafts of validation documents pass is kept."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from halu_tasks.builders.documents import Document
from halu_tasks.builders.outcomes import OVERALL, Outcome, Rates
from halu_tasks.builders.pipeline import Failure, Pipeline
from halu_tasks.builders.wording import prompt_texts
from halu_tasks.errors import UsageError
from halu_tasks.scorers.answer import Answer, strip_reasoning
from halu_tasks.scorers.judge import fence
from halu_tasks.solvers.prompting import PLACEHOLDER, fill

OPTIMIZER = "optimizer"
"""The model role that writes candidates."""

TRAIN, VALIDATION = "train", "validation"

UNREAD = "no candidate could be read"
"""How a round ends in which no reply of the optimizer holds a prompt that can be used."""

MOST_REJECTS = 12
"""Rejected drafts that an optimizer is shown for a prompt."""
_SHOWN = 1_500
"""Characters of each."""
_OPENS, _CLOSES = "<prompt>", "</prompt>"
_LONGEST = 12_000
"""Characters of the longest prompt that is taken."""

Texts = Mapping[str, str]
"""Prompts by name."""


class Asked(NamedTuple):
    """A prompt to be rewritten for a candidate: its number among the round's, the prompt's name, and the question."""

    candidate: int
    prompt: str
    question: str


@dataclass(frozen=True)
class Tried:
    """A set of prompts and how it did on the validation documents."""

    name: str
    texts: Texts
    validation: Rates

    @property
    def rate(self) -> float:
        """The share of drafts of validation documents that passed every check; 0 where there was none."""
        passed, made = self.validation.counts()[OVERALL]
        return passed / made if made else 0.0


@dataclass
class Round:
    """One round: what was tried, what was chosen, and the drafts of training documents that were rejected under the
    prompts that it began with. `problems` are replies of the optimizer that were not taken, by candidate and prompt: a
    candidate of which none was taken is not tried."""

    number: int
    tried: list[Tried]
    chosen: Tried | None
    rejects: list[tuple[str, str, Failure]] = field(default_factory=list)
    ended: str = ""
    problems: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


Evaluate = Callable[[str, Texts, str], Sequence[Outcome]]
"""Name, prompts, and `train` or `validation` → what becomes of these documents under the prompts."""
Rewrite = Callable[[int, Sequence[Asked]], Sequence[str]]
"""A round's number and what is asked in it → the optimizer's replies, in order."""


def optimize(
    pipeline: Pipeline, evaluate: Evaluate, rewrite: Rewrite, rounds: int, candidates: int, language: str
) -> Iterator[Round]:
    """The rounds, round 0 with the prompts as they are first.

    It ends after `rounds` of them, when the best candidate passes less than the prompts before it, when no candidate
    could be read, or when nothing is rejected any more. The best prompts are those of the round with the highest rate,
    the earliest of several.
    """
    current = _tried(pipeline, "round-0", pipeline.texts, evaluate)
    yield Round(0, [current], current)
    for number in range(1, rounds + 1):
        trained = evaluate(f"{current.name}-train", current.texts, TRAIN)
        rejects = [
            (outcome.document, draft.id, failure)
            for outcome in trained
            for draft in outcome.drafts
            for failure in draft.failures
        ]
        asked = questions(pipeline, current.texts, [failure for _, _, failure in rejects], candidates, language)
        if not asked:
            yield Round(number, [], None, rejects, "no draft of the training documents was rejected for a prompt")
            return
        written, problems = _candidates(number, current, asked, rewrite(number, asked))
        if not written:
            yield Round(number, [], None, rejects, UNREAD, problems)
            return
        tried = [_tried(pipeline, name, texts, evaluate) for name, texts in written.items()]
        best = max(tried, key=lambda one: one.rate)
        fell = best.rate < current.rate
        ended = "the validation rate fell" if fell else "that was the last round" if number == rounds else ""
        yield Round(number, tried, best, rejects, ended, problems)
        if fell:
            return
        current = best


def best_of(rounds: Iterable[Round]) -> Tried:
    """The prompts of the highest validation rate, the earliest of several."""
    return max((found.chosen for found in rounds if found.chosen), key=lambda tried: tried.rate)


def _tried(pipeline: Pipeline, name: str, texts: Texts, evaluate: Evaluate) -> Tried:
    rates = Rates(pipeline.checks)
    for outcome in evaluate(name, texts, VALIDATION):
        rates.add(Rates.counted(outcome))
    return Tried(name, dict(texts), rates)


def _candidates(
    number: int, current: Tried, asked: Sequence[Asked], replies: Sequence[str]
) -> tuple[dict[str, Texts], dict[str, dict[str, str]]]:
    """The candidates of a round in which at least one prompt was rewritten, and the problems of all, each by name."""
    rewrites: dict[str, dict[str, str]] = {}
    problems: dict[str, dict[str, str]] = {}
    for one, reply in zip(asked, replies, strict=True):
        name = f"round-{number}-candidate-{one.candidate + 1}"
        answer = rewritten(reply, current.texts[one.prompt])
        if answer.value is None:
            problems.setdefault(name, {})[one.prompt] = answer.reason
        else:
            rewrites.setdefault(name, {})[one.prompt] = answer.value
    return {name: {**current.texts, **texts} for name, texts in rewrites.items()}, problems


def questions(
    pipeline: Pipeline, texts: Texts, failures: Sequence[Failure], candidates: int, language: str
) -> list[Asked]:
    """What the optimizer is asked: for each candidate, each prompt that a failure is laid to."""
    by_prompt: dict[str, list[Failure]] = {}
    for failure in failures:
        if prompt := pipeline.blamed(failure):
            by_prompt.setdefault(prompt, []).append(failure)
    told = prompt_texts("optimize", ("rewrite",), language, None)["rewrite"]
    found = []
    for candidate in range(candidates):
        for prompt in pipeline.generating:
            if own := by_prompt.get(prompt):
                # every candidate is written from other rejects, where there are enough
                shown = sorted(set(own), key=lambda failure: _mark(candidate, *failure))[:MOST_REJECTS]
                listed = "\n\n".join(f"{f.check}: {f.reason}\n{f.detail[:_SHOWN]}" for f in shown)
                fields = {
                    "prompt": fence(texts[prompt]),
                    "rejects": fence(listed),
                    "number": str(len(own)),
                    "placeholders": " ".join(sorted(set(PLACEHOLDER.findall(texts[prompt])))),
                }
                fields["placeholders"] = ", ".join(f"{{{name}}}" for name in fields["placeholders"].split())
                found.append(Asked(candidate, prompt, fill(told, fields)))
    return found


def _mark(*of: Any) -> str:
    return hashlib.sha256("\0".join(map(str, of)).encode()).hexdigest()


def _last_inside(text: str) -> str | None:
    """What stands between the last `<prompt>` and `</prompt>`, one pair behind the other."""
    inside = None
    start = text.find(_OPENS)
    while start >= 0 and (end := text.find(_CLOSES, start)) >= 0:
        inside = text[start + len(_OPENS) : end]
        start = text.find(_OPENS, end)
    return inside


def rewritten(reply: str, current: str) -> Answer[str]:
    """The prompt that a reply gives between `<prompt>` and `</prompt>`: with the same placeholders as the current one,
    and not the same text."""
    inside = _last_inside(strip_reasoning(reply) or "")
    if inside is None:
        return Answer(None, "no <prompt>")
    text = inside.strip(" \t").strip("\n")
    wanted, own = set(PLACEHOLDER.findall(current)), set(PLACEHOLDER.findall(text))
    if missing := sorted(wanted - own):
        return Answer(None, f"leaves out {{{missing[0]}}}")
    if more := sorted(own - wanted):
        return Answer(None, f"adds {{{more[0]}}}")
    if text == current.strip("\n"):
        return Answer(None, "the same as before")
    if len(text) > _LONGEST:
        return Answer(None, f"longer than {_LONGEST} characters")
    return Answer(text)


def choose(
    pipeline: Pipeline, documents: Iterable[Document], train: int, validation: int, seed: int
) -> tuple[list[Document], list[Document]]:
    """Documents to train and to validate on, drawn by the seed and their ids from those that the pipeline works on.

    Raises:
        UsageError: there are not as many.
    """
    usable = (document for document in documents if pipeline.refuse(document) is None)
    wanted = train + validation
    drawn = heapq.nsmallest(wanted, usable, key=lambda document: _mark(seed, document.id))
    if len(drawn) < wanted:
        raise UsageError(
            f"{train} documents to train and {validation} to validate on are asked for, and {len(drawn)} can be used; "
            "give others with --train and --validation"
        )
    return drawn[:train], drawn[train:]
