"""The construction of HalluVerse25 (Abdaljalil, Kurban and Serpedin 2025, section 3 and appendix B).

Factual sentences are copied from biographies, and one error of a randomly drawn type is put into each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import (
    GENERATOR,
    VERIFIER,
    Ask,
    Draft,
    Failure,
    Item,
    Pair,
    Pipeline,
    Row,
    item_id,
    option,
)
from halu_tasks.builders.pipelines.halluverse25.edits import extent_faults, finished, form_faults, words
from halu_tasks.builders.quoting import Source, one_line, sentence_count
from halu_tasks.builders.replies import NO, UNCERTAIN, YES, read_object, read_own_object, read_texts, read_verdict
from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import UsageError
from halu_tasks.scorers.reading.judge import fence
from halu_tasks.scorers.reading.questions import ENTITY, NONE, RELATION, SENTENCE, error_type

TYPES = (ENTITY, RELATION, SENTENCE)
SHORTEST, LONGEST = 4, 150
"""Minimum and maximum number of words of a sentence."""

EXTRACTION, COPY, EDIT, FORM, EXTENT = "extraction", "copy", "edit", "form", "extent"
VERDICT, WRONG, FLUENT, TYPE = "verdict", "wrong", "fluent", "type"
_OF_FACT = (EXTRACTION, COPY)
_OF_EDIT = (*_OF_FACT, EDIT)
_OF_TEXT = (*_OF_EDIT, FORM, EXTENT, VERDICT)
_DENIED = {WRONG: "not wrong", FLUENT: "not fluent"}
_ASKED = (WRONG, FLUENT, TYPE)


@dataclass(frozen=True)
class HalluVerse25Pipeline(Pipeline):
    """Copy sentences from biographies, and edit each to contain an entity, relation or sentence error.

    There is a draft for every sentence that was requested or returned. Its error type is drawn from the document's id
    and the sentence, so it depends on nothing else.
    """

    name: ClassVar[str] = "halluverse25_pipeline"
    version: ClassVar[int] = 2
    about: ClassVar[str] = "biographical sentences with an entity, relation or sentence error (HalluVerse25)"
    benchmark: ClassVar[str] = "halluverse25"
    paper: ClassVar[str] = "halluverse25"
    checks: ClassVar[tuple[str, ...]] = (*_OF_TEXT, *_ASKED)
    prompts_used: ClassVar[tuple[str, ...]] = ("extract", *TYPES, "verify")
    generating: ClassVar[tuple[str, ...]] = ("extract", *TYPES)
    labels: ClassVar[tuple[str, ...]] = (*TYPES, "0")

    generator_temperature: float = option(1.0, "temperature of the generator's calls; the default is the paper's")
    min_sentences: int = option(20, "minimum number of sentences of a document")
    facts: int = option(5, "number of sentences to copy from a document")
    types: tuple[str, ...] = option(TYPES, f"types of error to draw from: {', '.join(TYPES)}")

    def __post_init__(self) -> None:
        super().__post_init__()
        types = (self.types,) if isinstance(self.types, str) else tuple(self.types)
        if unknown := [name for name in types if name not in TYPES]:
            raise UsageError(f"option types: unknown type {unknown[0]!r}; choose from {', '.join(TYPES)}")
        if not types or len(set(types)) < len(types):
            raise UsageError("option types: expected one or more different types")
        # in a fixed order, because the draw is by position
        object.__setattr__(self, "types", tuple(name for name in TYPES if name in types))
        for name in ("min_sentences", "facts"):
            if getattr(self, name) < 1:
                raise UsageError(f"option {name}: must be at least 1, got {getattr(self, name)}")

    def refuse(self, document: Document) -> Failure | None:
        """Return why a document cannot be used; also refuses those with fewer than `min_sentences` sentences."""
        if failure := super().refuse(document):
            return failure
        count = sentence_count(document.text, self.language)
        if count < self.min_sentences:
            return Failure("document", "too few sentences", f"{count}, fewer than min_sentences={self.min_sentences}")
        return None

    async def drafts(self, document: Document, ask: Ask) -> list[Draft]:
        """Return a draft for each copied sentence, then one for each missing, superfluous or unusable sentence."""
        prompt = self.prompt("extract", document=fence(document.text), number=str(self.facts))
        reply = read_texts(await ask(prompt, GENERATOR))
        extracted = reply.value or []
        source, seen = Source(document.text), set[tuple[str, ...]]()
        facts: list[str] = []
        failed: list[Draft] = []
        for place in range(max(len(extracted), self.facts)):
            id = item_id(document.id, "", str(place))
            if place >= len(extracted) or place >= self.facts:
                reason = reply.reason or ("fewer than requested" if place < self.facts else "more than requested")
                failure = Failure(EXTRACTION, reason, "" if place >= len(extracted) else one_line(extracted[place]))
                failed.append(Draft(id, "", (EXTRACTION,), (failure,)))
                continue
            sentence, reason = self._fact(source, extracted[place])
            key = tuple(words(sentence, self.language))
            reason = reason or ("repeated" if key in seen else "")
            if reason:
                failed.append(Draft(id, "", _OF_FACT, (Failure(COPY, reason, one_line(extracted[place])),)))
                continue
            seen.add(key)
            facts.append(sentence)
        drafts = await gather(*(self._edit(document, source, sentence, ask) for sentence in facts))
        return [*drafts, *failed]

    def _fact(self, source: Source, extracted: str) -> tuple[str, str]:
        """Return a copied sentence as the document writes it, or an empty string and why it cannot be used."""
        sentence = source.sentence(extracted)
        if sentence.value is None:
            return "", sentence.reason
        if sentence_count(sentence.value, self.language) > 1:
            return "", "several sentences"
        number = len(words(sentence.value, self.language))
        if not SHORTEST <= number <= LONGEST:
            return "", "too short" if number < SHORTEST else "too long"
        return sentence.value, ""

    async def _edit(self, document: Document, source: Source, sentence: str, ask: Ask) -> Draft:
        """Ask for an edit of a sentence, check it by rules and by the verifier, and return the draft."""
        id = item_id(document.id, sentence)
        kind = self.types[self.draw(document.id, sentence) % len(self.types)]
        reply = read_object(await ask(self.prompt(kind, sentence=fence(sentence)), GENERATOR), "edited")
        if reply.value is None:
            return Draft(id, kind, _OF_EDIT, (Failure(EDIT, reply.reason, sentence),))
        raw = reply.value["edited"]
        edited = finished(sentence, raw)
        if not words(edited, self.language):
            return Draft(id, kind, _OF_EDIT, (Failure(EDIT, "no words", sentence),))
        pair = f"original: {sentence}\nedited: {edited}"
        failures = [Failure(FORM, fault, pair) for fault in form_faults(sentence, raw, self.language)]
        faults = extent_faults(sentence, edited, kind, self.language)
        if not faults and source.holds(edited):
            faults = ["occurs in the document"]
        failures += [Failure(EXTENT, fault, pair) for fault in faults]
        prompt = self.prompt("verify", original=fence(sentence), edited=fence(edited))
        checks, denials = _verify(await ask(prompt, VERIFIER), kind, pair)
        failures += denials
        row = {"orig_sentence": sentence, "edited_sentence": edited, "final_label": kind}
        return Draft(id, kind, checks, tuple(failures), None if failures else row)

    def lines(self, item: Item) -> Iterator[tuple[str, Row]]:
        """Return the item's row of the language's file."""
        yield f"{self.language}_final_data.csv", dict(item.row)

    def pairs(self, item: Item) -> Iterator[Pair]:
        """Return the original and the edited sentence."""
        yield Pair(item.row["orig_sentence"], item.row["edited_sentence"], item.document, item.kind)

    def shown(self, item: Item) -> dict[str, str]:
        """Return what the paper's annotators saw: the two sentences, without the type that was asked for."""
        return {"original": item.row["orig_sentence"], "edited": item.row["edited_sentence"]}

    def key(self, item: Item) -> str:
        """Return the original sentence."""
        return str(item.row["orig_sentence"])

    def blamed(self, failure: Failure, draft: Draft) -> str | None:
        """Return `extract`, or the prompt of the draft's type; None if the verifier could not be read."""
        if failure.check in _OF_FACT:
            return "extract"
        return None if failure.check == VERDICT or failure.reason == "unreadable" else draft.kind

    def annotated(self, item: Item, label: str) -> Item | None:
        """Return the item with the annotators' label as its type; None if the label is 0 (no error).

        The benchmark's files contain rows labelled 0 as well, but its tasks skip them by default.
        """
        if label == self.labels[-1]:
            return None
        return item._replace(kind=label, row={**item.row, "final_label": label})


def _verify(reply: str, kind: str, pair: str) -> tuple[tuple[str, ...], list[Failure]]:
    """Return the checks that could be made from a verifier's reply, and the failures among them.

    The verifier does not know the type that was asked for.
    """
    reply_fields = read_own_object(reply, *_ASKED)
    if reply_fields.value is None:
        return _OF_TEXT, [Failure(VERDICT, reply_fields.reason, pair)]
    # the reason is requested, but optional
    with_reason = read_own_object(reply, *_ASKED, "reason").value or {}
    reason = with_reason.get("reason", "")
    context = f"{pair}\nverifier: {one_line(reason)}" if reason else pair
    failures = []
    for check, denied in _DENIED.items():
        verdict = read_verdict(reply_fields.value[check]).value
        fault = {YES: "", NO: denied, UNCERTAIN: "uncertain"}[verdict.value] if verdict else "unreadable"
        if fault:
            failures.append(Failure(check, fault, context))
    seen = error_type(reply_fields.value[TYPE]).value
    if seen != kind:
        fault = "unreadable" if seen is None else "classified as no error" if seen == NONE else f"classified as {seen}"
        failures.append(Failure(TYPE, fault, context))
    return (*_OF_TEXT, *_ASKED), failures
