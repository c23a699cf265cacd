"""A draft of ReFACT's construction in the making, and the two ways in which an answer is made false."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import GENERATOR, Ask, Draft, Failure, Pipeline, Row, item_id
from halu_tasks.builders.refact_rows import SWAP
from halu_tasks.builders.replies import read_object, read_texts
from halu_tasks.builders.spans import (
    Edit,
    Prose,
    alike,
    begun_as,
    in_one_line,
    longest,
    marked,
    mentioned,
    same,
    unfit,
)
from halu_tasks.builders.stopwords import only_stop_words
from halu_tasks.scorers.judge import fence
from halu_tasks.scorers.sentences import spans as sentence_spans
from halu_tasks.scorers.spans import Span
from halu_tasks.solvers.concurrency import side_by_side

FACTS, PHRASE, FORMAT = "facts", "phrase", "format"
Edits = tuple[Edit, ...]

MOST_MENTIONS = 20
"""Places at which one phrase is replaced: more than in any row of the published data, and few enough for a model to
return as many replacements."""

_STOPS = re.compile(r"[.!?。！？؟…।]+\Z")


@dataclass
class Attempt:
    """A draft in the making.

    Attributes:
        kind: `neg` or `swap`.
        checks: those made of it so far.
        failures: why it is dropped, if it is.
        left_out: why sentences, phrases and variants were left out on the way; they drop nothing, and are counted.
    """

    pipeline: Pipeline
    ask: Ask
    document: Document
    prose: Prose
    kind: str
    checks: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    left_out: list[Failure] = field(default_factory=list)

    @property
    def question(self) -> str:
        return str(self.document.fields["question"])

    def prompt(self, name: str, **more: str) -> str:
        """The prompt `name` with question, answer and what else it shows."""
        shown = {"question": fence(self.question), "answer": fence(self.prose.text)}
        return self.pipeline.prompt(name, **{**shown, **more})

    def fail(self, *failures: Failure) -> None:
        self.failures += failures

    def draft(self, row: Row | None = None) -> Draft:
        """The draft as it stands, kept where it failed nothing; one entry a reason, and checks in the order of the
        pipeline's."""
        details: dict[tuple[str, str], list[str]] = {}
        for failure in (*self.failures, *self.left_out):
            details.setdefault((failure.check, failure.reason), []).append(failure.detail)
        failures = tuple(Failure(*about, "\n".join(filter(None, told))) for about, told in details.items())
        checks = tuple(sorted(self.checks, key=self.pipeline.checks.index))
        own = item_id(self.document.id, self.kind)
        return Draft(own, self.kind, checks, failures, None if self.failures else row)


def listed(texts: Iterable[str]) -> str:
    """Texts as a JSON array between two equal lines."""
    return fence(json.dumps(list(texts), ensure_ascii=False))


# --- a negated sentence (section 3.2.1) ---------------------------------------------------------------


async def negations(attempt: Attempt, facts: Sequence[Span]) -> list[Edits | Failure]:
    """For each factual sentence the edit that negates it, or why there is none."""
    return await side_by_side(*(_negation(attempt, span) for span in facts))


async def _negation(attempt: Attempt, span: Span) -> Edits | Failure:
    original = attempt.prose.text[slice(*span)]
    asked = attempt.prompt("negate", sentence=fence(original))
    reply = read_object(await attempt.ask(asked, GENERATOR), "sentence")
    if reply.value is None:
        return Failure(FORMAT, "negation unread", f"{original}\n{reply.reason}")
    text = begun_as(in_one_line(reply.value["sentence"], original), original)
    if (stops := _STOPS.search(original)) and text[-1].isalnum():
        text += stops[0]
    why = unfit(text, original)
    if not why and len(sentence_spans(text)) != 1:
        why = "several sentences"
    if not why and attempt.prose.has_sentence(text):
        why = "another sentence of the answer"
    return Failure(FORMAT, why, f"{original}\n{text}") if why else (Edit(*span, text),)


# --- replaced entities (section 3.2.2) ----------------------------------------------------------------


async def mentions(attempt: Attempt, facts: Sequence[Span], stop_words: frozenset[str]) -> list[Span]:
    """Where the answer speaks of the entity that a key phrase of its factual sentences stands for; nowhere where the
    attempt fails."""
    prose = attempt.prose
    sentences = listed(prose.text[slice(*span)] for span in facts)
    reply = read_texts(await attempt.ask(attempt.prompt("phrase", sentences=sentences), GENERATOR))
    if reply.value is None:
        attempt.fail(Failure(PHRASE, "phrases unread", reply.reason))
        return []
    rejected = []
    for phrase in reply.value:
        found = _placed(attempt, phrase, stop_words)
        if isinstance(found, str):
            rejected.append(Failure(PHRASE, found, phrase))
        elif not any(a <= start and end <= b for start, end in found for a, b in facts):
            rejected.append(Failure(PHRASE, "not in a factual sentence", phrase))
        else:
            attempt.left_out += rejected
            return await _with_coreferences(attempt, phrase, found, stop_words)
    attempt.fail(*(rejected or [Failure(PHRASE, "no key phrase")]))
    return []


async def _with_coreferences(
    attempt: Attempt, phrase: str, found: Sequence[Span], stop_words: frozenset[str]
) -> list[Span]:
    reply = read_texts(await attempt.ask(attempt.prompt("mentions", phrase=fence(phrase)), GENERATOR))
    if reply.value is None:
        attempt.fail(Failure(PHRASE, "mentions unread", reply.reason))
        return []
    spans = list(found)
    for other in reply.value:
        also = _placed(attempt, other, stop_words)
        if isinstance(also, str):
            attempt.left_out.append(Failure(PHRASE, also, other))
        else:
            spans += also
    return longest(attempt.prose.text, spans)


def _placed(attempt: Attempt, phrase: str, stop_words: frozenset[str]) -> list[Span] | str:
    """Where a phrase stands, or why it is not to be replaced, in a few words."""
    prose = attempt.prose
    if only_stop_words(phrase, stop_words):
        return "only stop words"
    if mentioned(attempt.question, phrase):
        return "in the question"
    found = prose.mentions(phrase)
    if any(prose.text[start:end] != in_one_line(prose.text[start:end]) for start, end in found):
        return "over the end of a line"
    if any(start <= a and b <= end for start, end in found for a, b in prose.sentences):
        return "a whole sentence"
    if len(found) > MOST_MENTIONS:
        return "too many mentions"
    return found or "not in the answer"


async def replacements(attempt: Attempt, spans: Sequence[Span], draws: int) -> list[Edits | Failure]:
    """For each of several draws the edits that replace what stands at the spans, or why there are none."""
    phrases = [attempt.prose.text[slice(*span)] for span in spans]
    asked = attempt.prompt(
        "replace",
        answer=fence(marked(attempt.prose.text, spans, SWAP)),
        number=str(len(phrases)),
        phrases=listed(phrases),
    )
    replies = await side_by_side(*(attempt.ask(asked, GENERATOR, draw=draw, draws=draws) for draw in range(draws)))
    return [_replaced(attempt.prose, spans, reply) for reply in replies]


def _replaced(prose: Prose, spans: Sequence[Span], reply: str) -> Edits | Failure:
    texts = read_texts(reply, len(spans))
    if texts.value is None:
        return Failure(FORMAT, "replacements unread", texts.reason)
    edits = []
    became: dict[str, str] = {}
    for (start, end), text in zip(spans, texts.value, strict=True):
        original = prose.text[start:end]
        if why := unfit(text, original):
            return Failure(FORMAT, why, f"{original} → {text}")
        if not same(became.setdefault(alike(original), text), text):
            return Failure(FORMAT, "one phrase replaced in two ways", f"{original} → {text}")
        edits.append(Edit(start, end, begun_as(text, original) if prose.begins(start) else text))
    return tuple(edits)
