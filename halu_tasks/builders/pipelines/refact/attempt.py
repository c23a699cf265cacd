"""A draft of ReFACT's construction in progress, and the two ways to make an answer false."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import GENERATOR, Ask, Draft, Failure, Pipeline, Row, item_id
from halu_tasks.builders.pipelines.refact.edits import (
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
from halu_tasks.builders.pipelines.refact.rows import SWAP
from halu_tasks.builders.pipelines.refact.stopwords import only_stop_words
from halu_tasks.builders.replies import read_object, read_texts
from halu_tasks.core.concurrency import gather
from halu_tasks.scorers.reading.judge import fence
from halu_tasks.text.sentences import spans as sentence_spans
from halu_tasks.text.spans import Span

FACTS, PHRASE, FORMAT = "facts", "phrase", "format"
Edits = tuple[Edit, ...]

MOST_MENTIONS = 20
"""Maximum number of places to replace one phrase at: more than in any row of the published data, and few enough for a
model to return as many replacements."""

_STOPS = re.compile(r"[.!?。！？؟…।]+\Z")


@dataclass
class Attempt:
    """A draft in progress.

    Attributes:
        pipeline: The pipeline that makes the draft.
        ask: Asks the models.
        document: The question with its true answer.
        prose: The answer.
        kind: `neg` or `swap`.
        checks: The checks run so far.
        failures: Why the draft is dropped, if it is.
        left_out: Why sentences, phrases and variants were skipped on the way; these are counted, but drop nothing.
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
        """The document's question."""
        return str(self.document.fields["question"])

    def prompt(self, name: str, **more: str) -> str:
        """Return the prompt `name` filled with question, answer and further values."""
        shown = {"question": fence(self.question), "answer": fence(self.prose.text)}
        return self.pipeline.prompt(name, **{**shown, **more})

    def fail(self, *failures: Failure) -> None:
        """Add failures that drop the draft."""
        self.failures += failures

    def draft(self, row: Row | None = None) -> Draft:
        """Return the draft in its current state; it is kept if there were no failures.

        Failures are merged by reason, and checks are in the pipeline's order.
        """
        details: dict[tuple[str, str], list[str]] = {}
        for failure in (*self.failures, *self.left_out):
            details.setdefault((failure.check, failure.reason), []).append(failure.detail)
        failures = tuple(Failure(*key, "\n".join(filter(None, lines))) for key, lines in details.items())
        checks = tuple(sorted(self.checks, key=self.pipeline.checks.index))
        id = item_id(self.document.id, self.kind)
        return Draft(id, self.kind, checks, failures, None if self.failures else row)


def listed(texts: Iterable[str]) -> str:
    """Format strings as a fenced JSON array."""
    return fence(json.dumps(list(texts), ensure_ascii=False))


# --- a negated sentence (section 3.2.1) ---------------------------------------------------------------


async def negations(attempt: Attempt, facts: Sequence[Span]) -> list[Edits | Failure]:
    """Return for each factual sentence the edit that negates it, or a failure."""
    return await gather(*(_negation(attempt, span) for span in facts))


async def _negation(attempt: Attempt, span: Span) -> Edits | Failure:
    """Ask the generator to negate one sentence."""
    original = attempt.prose.text[slice(*span)]
    prompt = attempt.prompt("negate", sentence=fence(original))
    reply = read_object(await attempt.ask(prompt, GENERATOR), "sentence")
    if reply.value is None:
        return Failure(FORMAT, "unreadable negation", f"{original}\n{reply.reason}")
    text = begun_as(in_one_line(reply.value["sentence"], original), original)
    if (stops := _STOPS.search(original)) and text[-1].isalnum():
        text += stops[0]
    fault = unfit(text, original)
    if not fault and len(sentence_spans(text)) != 1:
        fault = "several sentences"
    if not fault and attempt.prose.has_sentence(text):
        fault = "another sentence of the answer"
    return Failure(FORMAT, fault, f"{original}\n{text}") if fault else (Edit(*span, text),)


# --- replaced entities (section 3.2.2) ----------------------------------------------------------------


async def mentions(attempt: Attempt, facts: Sequence[Span], stop_words: frozenset[str]) -> list[Span]:
    """Return where the answer mentions the entity that a key phrase of its factual sentences refers to.

    Args:
        attempt: The draft in progress; it fails if no phrase can be used.
        facts: Spans of the factual sentences.
        stop_words: Words that are no key phrase on their own.

    Returns:
        The spans of the mentions; empty if the attempt failed.
    """
    prose = attempt.prose
    sentences = listed(prose.text[slice(*span)] for span in facts)
    reply = read_texts(await attempt.ask(attempt.prompt("phrase", sentences=sentences), GENERATOR))
    if reply.value is None:
        attempt.fail(Failure(PHRASE, "unreadable phrases", reply.reason))
        return []
    rejected = []
    for phrase in reply.value:
        spans = _find_places(attempt, phrase, stop_words)
        if isinstance(spans, str):
            rejected.append(Failure(PHRASE, spans, phrase))
        elif not any(a <= start and end <= b for start, end in spans for a, b in facts):
            rejected.append(Failure(PHRASE, "not in a factual sentence", phrase))
        else:
            attempt.left_out += rejected
            return await _with_coreferences(attempt, phrase, spans, stop_words)
    attempt.fail(*(rejected or [Failure(PHRASE, "no key phrase")]))
    return []


async def _with_coreferences(
    attempt: Attempt, phrase: str, mentioned_at: Sequence[Span], stop_words: frozenset[str]
) -> list[Span]:
    """Return the spans of a phrase and of the other mentions of its entity that the generator names."""
    reply = read_texts(await attempt.ask(attempt.prompt("mentions", phrase=fence(phrase)), GENERATOR))
    if reply.value is None:
        attempt.fail(Failure(PHRASE, "unreadable mentions", reply.reason))
        return []
    spans = list(mentioned_at)
    for other in reply.value:
        more = _find_places(attempt, other, stop_words)
        if isinstance(more, str):
            attempt.left_out.append(Failure(PHRASE, more, other))
        else:
            spans += more
    return longest(attempt.prose.text, spans)


def _find_places(attempt: Attempt, phrase: str, stop_words: frozenset[str]) -> list[Span] | str:
    """Return where a phrase occurs, or a short reason why it cannot be replaced."""
    prose = attempt.prose
    if only_stop_words(phrase, stop_words):
        return "only stop words"
    if mentioned(attempt.question, phrase):
        return "in the question"
    spans = prose.mentions(phrase)
    if any(prose.text[start:end] != in_one_line(prose.text[start:end]) for start, end in spans):
        return "contains a line end"
    if any(start <= a and b <= end for start, end in spans for a, b in prose.sentences):
        return "a whole sentence"
    if len(spans) > MOST_MENTIONS:
        return "too many mentions"
    return spans or "not in the answer"


async def replacements(attempt: Attempt, spans: Sequence[Span], draws: int) -> list[Edits | Failure]:
    """Return for each of several sampled replies the edits that replace the text at the spans, or a failure.

    Args:
        attempt: The draft in progress.
        spans: The mentions to replace.
        draws: Number of replies to sample.
    """
    phrases = [attempt.prose.text[slice(*span)] for span in spans]
    prompt = attempt.prompt(
        "replace",
        answer=fence(marked(attempt.prose.text, spans, SWAP)),
        number=str(len(phrases)),
        phrases=listed(phrases),
    )
    replies = await gather(*(attempt.ask(prompt, GENERATOR, draw=draw, draws=draws) for draw in range(draws)))
    return [_read_replacements(attempt.prose, spans, reply) for reply in replies]


def _read_replacements(prose: Prose, spans: Sequence[Span], reply: str) -> Edits | Failure:
    """Read replacements from a reply and turn them into edits."""
    texts = read_texts(reply, len(spans))
    if texts.value is None:
        return Failure(FORMAT, "unreadable replacements", texts.reason)
    edits = []
    replaced_by: dict[str, str] = {}
    for (start, end), text in zip(spans, texts.value, strict=True):
        original = prose.text[start:end]
        if fault := unfit(text, original):
            return Failure(FORMAT, fault, f"{original} → {text}")
        if not same(replaced_by.setdefault(alike(original), text), text):
            return Failure(FORMAT, "one phrase replaced in two ways", f"{original} → {text}")
        edits.append(Edit(start, end, begun_as(text, original) if prose.begins(start) else text))
    return tuple(edits)
