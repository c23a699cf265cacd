"""Scanners for Inspect Scout: they look for hallucinations in the logs of any task (`scout scan halu_tasks/NAME`).

A thin adapter: what is asked and how it is read is that of the methods and benchmarks.
"""

# the extra is checked before what needs it is imported
# ruff: noqa: E402
from __future__ import annotations

from halu_tasks.core.errors import require_extra

require_extra("scout", "scanning logs")

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from inspect_ai.model import ChatMessage, ChatMessageAssistant
from inspect_ai.scorer import Reference
from inspect_scout import Result, Scanner, Transcript, scanner

from halu_tasks.core.errors import DataError
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import texts, turns
from halu_tasks.core.settings import Count
from halu_tasks.data.rows import value_at
from halu_tasks.judging.judge_model import JudgeFailures, judge_of_loop
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks.judged import SUMMARY, cited_sentences, score_summary, summary_of
from halu_tasks.scorers.benchmarks.span_scorers import places
from halu_tasks.scorers.citations import YEARS, listed_papers
from halu_tasks.scorers.gold import Paper, SummaryGold
from halu_tasks.scorers.judge import FAILED, Verdict
from halu_tasks.scorers.reading.claims import UNSUPPORTED
from halu_tasks.scorers.reading.strings import quotations
from halu_tasks.solvers.factored_verification import FactoredVerifier, How
from halu_tasks.solvers.model_calls import MethodRecord, ask, chat_messages, checked, model_in
from halu_tasks.tasks import get_task
from halu_tasks.text.spans import Text, merge

__all__ = ["citations", "factored_verification", "spans"]

Before = Sequence[ChatMessage]
"""The messages before a reply."""
SPANS_TASK = "halueval_general_localization"
"""The task in whose words `spans` asks."""


@scanner(messages="all")
@checked
def factored_verification(
    source: str | None = None,
    how: How = "auto",
    samples: Count = 5,
    temperature: float = 1.0,
    threshold: float = 0.5,
    knowledge: str | None = None,
    top: Count = 5,
    prompts: str | None = None,
    cache: bool = True,
) -> Scanner[Transcript]:
    """Split a reply into claims, check each one against the source, and multiply their probabilities.

    The value is whether the probability that some claim is wrong is above the threshold. The model role `decomposer`
    lists the claims and `verifier` checks them; both default to the model of the scan.

    Args:
        source: The metadata field with the source. By default, all that the user and tools wrote before the reply.
        how: How the probability of a claim is estimated, as in the solver.
        samples: Number of replies drawn for each claim with `samples`.
        temperature: Temperature of these replies.
        threshold: The probability above which a reply is called hallucinated.
        knowledge: File or folder of passages. Each claim is checked against those that BM25 finds for it.
        top: Number of passages to look up for each claim.
        prompts: Prompt file with texts that replace those of the package.
        cache: Whether to cache replies of the models.
    """
    verifier = FactoredVerifier(how, samples, temperature, knowledge, top, prompts, cache)

    async def scan(transcript: Transcript, reply: str, before: Before) -> Result:
        text = "" if knowledge is not None else _source_of(transcript, before, source)
        return _verification_result(await verifier.verify(reply, text), threshold)

    return _of_replies(scan)


def _verification_result(record: MethodRecord, threshold: float) -> Result:
    steps = record.steps or {}
    metadata = {"probability": record.probability, **(record.counts or {}), **steps}
    if record.probability is None:
        return Result(value=None, explanation=record.reason, metadata=metadata)
    doubted = [claim for claim, probability in steps["claims"] if probability is not None and probability < 0.5]
    return Result(
        value=record.probability > threshold,
        answer=f"{record.probability:.3f}",
        explanation="\n".join(f"not supported: {claim}" for claim in doubted) or "every claim is supported",
        metadata=metadata,
    )


@scanner(messages="all")
@checked
def citations(papers: str = "papers", support: bool = True) -> Scanner[Transcript]:
    """Check the citations of a reply against a list of papers, as the task `fave` does.

    The value is whether a citation matches no paper of the list or, with `support`, a cited sentence is not supported
    by the papers that it cites. The model role `grader` is asked about support; it defaults to the model of the scan.

    Args:
        papers: The metadata field with the papers: a list of strings, or of objects with `title`, `authors`, `year`,
            and `abstract` or `text`.
        support: Whether a model is asked if the cited papers support each sentence.
    """
    failures = JudgeFailures(None)

    async def scan(transcript: Transcript, reply: str, before: Before) -> Result:
        item, verdicts = _item(transcript, papers), None
        if support:
            judge = judge_of_loop(model_in("grader"), SUMMARY, Options())
            verdicts = await judge.judge_reply(item, reply)
            failures.count(verdicts, judge)
        return _citations_result(item, reply, verdicts)

    return _of_replies(scan)


def _item(transcript: Transcript, name: str) -> Item:
    listed = _field_of(transcript, name)
    if not isinstance(listed, list) or not listed:
        raise DataError(f"metadata {name!r}: expected a list of papers, got {type(listed).__name__}")
    papers = [_paper(paper, number, name) for number, paper in enumerate(listed, 1)]
    try:
        named = listed_papers(papers)
    except ValueError as error:
        raise DataError(f"metadata {name!r}: {error}") from None
    for paper, reference in zip(papers, named, strict=True):
        paper["name"] = reference.key
    id = transcript.transcript_id
    return Item(id, id, "", gold=SummaryGold(query="", papers=papers, adjustment=1.0))


def _paper(paper: Any, number: int, name: str) -> Paper:
    """Return a paper as in FAVE; a text alone is cited by its number, and gets a title of its own."""
    fields: Mapping[str, Any] = {"text": paper} if isinstance(paper, str) else paper
    if not isinstance(fields, Mapping):
        raise DataError(
            f"metadata {name!r}: paper {number} is {type(paper).__name__}, expected a string or an object with title, "
            "authors, year, and abstract or text"
        )
    authors = fields.get("authors") or []
    year = str(fields.get("year") or "")
    return {
        "name": "",
        "title": str(fields.get("title") or f"Document {number}"),
        "abstract": str(fields.get("abstract") or fields.get("text") or ""),
        "authors": [authors] if isinstance(authors, str) else [str(author) for author in authors],
        "year": int(year) if year.isdecimal() and int(year) in YEARS else None,
    }


def _citations_result(item: Item, reply: str, verdicts: list[Verdict] | None) -> Result:
    labels = None if verdicts is None else [verdict.label for verdict in verdicts]
    measurements = score_summary(item, reply, labels).facts
    cited = cited_sentences(summary_of(reply) or "", item.gold.papers)[0]
    unknown = [{"sentence": each.sentence, "citation": written} for each in cited for written in each.unknown]
    unsupported = [verdict for verdict in verdicts or [] if verdict.label == UNSUPPORTED]
    failed = sum(label == FAILED for label in labels or [])
    found = [f"cites {each['citation']}, which is not listed: {each['sentence']}" for each in unknown]
    found += [f"not supported: {verdict.about} ({verdict.reason})" for verdict in unsupported]
    value = bool(found)
    metadata: dict[str, Any] = {"sentences": int(measurements["sentences"]), "sentences_cited": len(cited)}
    metadata |= {"citations_ambiguous": int(measurements["ambiguous"]), "citations_unknown": unknown}
    metadata["unsupported"] = [{"sentence": verdict.about, "reason": verdict.reason} for verdict in unsupported]
    metadata |= {"judge_failed": failed, "support": verdicts is not None}
    nothing = "no citations" if not cited else f"{failed} sentences without a verdict" if failed else "nothing found"
    return Result(
        # a sentence without a verdict may be unsupported
        value=None if failed and not value else value,
        answer=f"{len(found)} found",
        explanation="\n".join(found) or nothing,
        metadata=metadata,
    )


@scanner(messages="all")
@checked
def spans(cache: bool = True) -> Scanner[Transcript]:
    """Ask which passages of a reply are hallucinated, in the words of the task `halueval_general_localization`.

    The value is whether there is one that occurs in the reply. The model role `grader` is asked; it defaults to the
    model of the scan.

    Args:
        cache: Whether to cache replies of the model.
    """
    task = get_task(SPANS_TASK)
    prompt = task.prompts.wordings[0].prompt
    most_tokens = task.prompts.decoding.max_tokens

    async def scan(transcript: Transcript, reply: str, before: Before) -> Result:
        messages = chat_messages(turns(*texts(prompt, {"query": _written(before, "user"), "response": reply})))
        output = await ask(messages, "grader", cache=cache, temperature=0.0, max_tokens=most_tokens)
        return located(reply, quotations(output.completion, reply, "passage"))

    return _of_replies(scan)


def located(reply: str, answer: Answer[list[str]]) -> Result:
    """Locate passages in a reply.

    Args:
        reply: The reply.
        answer: The passages that a model called hallucinated.

    Returns:
        Whether a passage was located. Without an answer, or if no passage occurs in the reply, there is no value.
    """
    strings, text = answer.value or [], Text(reply)
    placed = {string: places(text, string, ()) for string in strings}
    marked = merge(span for each in placed.values() for span in each)
    unplaced = [string for string, each in placed.items() if not each]
    reason = answer.reason or (f"{len(unplaced)} of {len(placed)} passages are not in the reply" if unplaced else "")
    unknown = answer.value is None or (unplaced and not marked)
    return Result(
        value=None if unknown else bool(marked),
        answer=None if answer.value is None else "\n".join(reply[start:end] for start, end in marked),
        explanation=reason or f"{len(marked)} passages",
        metadata={
            "spans": [list(span) for span in marked],
            "characters": sum(end - start for start, end in marked),
            "reply_characters": len(reply),
            "unplaced": unplaced,
        },
    )


# --- transcripts ----------------------------------------------------------------------------------


def _of_replies(scan: Callable[[Transcript, str, Before], Awaitable[Result]]) -> Scanner[Transcript]:
    """Create a scanner of the reply: the last message of the model that has text; without one, there is no value."""

    async def scan_transcript(transcript: Transcript) -> Result:
        messages = transcript.messages
        for number in range(len(messages) - 1, -1, -1):
            message = messages[number]
            if isinstance(message, ChatMessageAssistant) and (text := message.text.strip()):
                result = await scan(transcript, text, messages[:number])
                references = [Reference(type="message", id=message.id)] if message.id else []
                return result.model_copy(update={"references": references})
        return Result(value=None, explanation="the transcript has no reply")

    return scan_transcript


def _source_of(transcript: Transcript, before: Before, name: str | None) -> str:
    """Return a field of the sample's metadata or, without its name, all that users and tools wrote before the reply."""
    if name is not None:
        value = _field_of(transcript, name)
        parts = value if isinstance(value, list) else [value]
        return "\n\n".join(part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in parts)
    if source := _written(before, "user", "tool"):
        return source
    raise DataError(f"{_name_of(transcript)}: no message of the user or a tool precedes the reply; name a source")


def _field_of(transcript: Transcript, name: str) -> Any:
    # logs of Inspect have the metadata of the sample in a field of its own; other sources have no samples
    metadata = transcript.metadata.get("sample_metadata", transcript.metadata)
    try:
        return value_at(metadata, name)
    except ValueError as error:
        raise DataError(f"{_name_of(transcript)}: metadata: {error}") from None


def _written(before: Before, *roles: str) -> str:
    return "\n\n".join(text for message in before if message.role in roles and (text := message.text.strip()))


def _name_of(transcript: Transcript) -> str:
    return f"sample {transcript.task_id!r}" if transcript.task_id else f"transcript {transcript.transcript_id!r}"
