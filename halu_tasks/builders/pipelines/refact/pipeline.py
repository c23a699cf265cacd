"""The construction of ReFACT (Wang et al. 2025, section 3).

A true answer to a question is made false by negating one sentence or by replacing entities; tags mark the changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

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
    option,
)
from halu_tasks.builders.pipelines.refact.attempt import (
    FACTS,
    FORMAT,
    PHRASE,
    Attempt,
    Edits,
    mentions,
    negations,
    replacements,
)
from halu_tasks.builders.pipelines.refact.edits import Prose, has_tags, is_text
from halu_tasks.builders.pipelines.refact.entailment import AUTO, JUDGE, chosen_model, load, same_meaning
from halu_tasks.builders.pipelines.refact.rows import MULTI, NEG, SINGLE, SWAP, misread, row_of, singles
from halu_tasks.builders.pipelines.refact.source_filter import (
    NO_SCORE,
    TOO_LONG,
    TOO_SHORT,
    best_failure,
    length_failure,
    mark_best_answers,
    score_failure,
)
from halu_tasks.builders.pipelines.refact.stopwords import stop_words
from halu_tasks.builders.replies import NO, UNCERTAIN, YES, read_choice, read_texts, read_verdicts
from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import UsageError
from halu_tasks.core.prompting import prompt_hash
from halu_tasks.scorers.reading.judge import fence
from halu_tasks.text.spans import Span

KINDS = NEG, SWAP
EQUIVALENT, CHOICE, WRONG, COHERENT, RELEVANT, TAGS = "equivalent", "choice", "wrong", "coherent", "relevant", "tags"
_CRITERIA = {WRONG: "not false", COHERENT: "not coherent", RELEVANT: "irrelevant to the question"}


class _Facts(NamedTuple):
    """The factual sentences of an answer, in order, and why there are none or others were skipped."""

    spans: list[Span]
    left_out: list[Failure]


@dataclass(frozen=True)
class RefactPipeline(Pipeline):
    """Make two drafts of each question with a true answer: a sentence negated, and entities replaced."""

    name: ClassVar[str] = "refact_pipeline"
    version: ClassVar[int] = 2
    about: ClassVar[str] = "true answers made false by a negated sentence or by replaced entities (ReFACT)"
    benchmark: ClassVar[str] = "refact"
    paper: ClassVar[str] = "refact"
    checks: ClassVar[tuple[str, ...]] = (
        FACTS, PHRASE, FORMAT, EQUIVALENT, CHOICE, WRONG, COHERENT, RELEVANT, TAGS
    )  # fmt: skip
    prompts_used: ClassVar[tuple[str, ...]] = (
        "facts", "negate", "phrase", "mentions", "replace", "equivalent", "convincing", "verify"
    )  # fmt: skip

    generating: ClassVar[tuple[str, ...]] = ("facts", "negate", "phrase", "mentions", "replace", "convincing")

    max_chars: int = option(1_000, "maximum length of a question with its answer in characters")
    min_chars: int = option(500, "minimum length of a question with its answer in characters")
    min_score: int = option(4, "minimum score of a question; 0 for none, if documents have no scores")
    best_answer: bool = option(True, "only use the answer to a question with the highest score")
    kinds: tuple[str, ...] = option(KINDS, "transformations: neg (negate a sentence), swap (replace entities)")
    most_facts: int = option(5, "maximum number of factual sentences to negate; the most convincing one is kept")
    candidates: int = option(1, "number of sets of replacements to sample; the most convincing one is kept")
    nli_model: str = option(
        AUTO,
        "decides whether a replacement means the same: judge (the verifier), a model for natural-language inference "
        "(a folder, or a name on the hub, NAME@REVISION), or auto: the paper's model if the extra nli is installed",
    )
    stop_words: str | None = option(
        None, "file of stop words, one per line; default: NLTK's for the language", file="stop_words.txt"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        requested = self.kinds.split(",") if isinstance(self.kinds, str) else list(self.kinds)
        kinds = [kind.strip() for kind in requested]
        if not kinds or set(kinds) - set(KINDS) or len(set(kinds)) < len(kinds):
            raise UsageError(f"option kinds: expected {NEG}, {SWAP} or both, got {','.join(kinds)!r}")
        object.__setattr__(self, "kinds", tuple(kind for kind in KINDS if kind in kinds))
        for name, least in (("most_facts", 1), ("candidates", 1), ("min_chars", 0), ("min_score", 0)):
            if getattr(self, name) < least:
                raise UsageError(f"option {name}: must be at least {least}, got {getattr(self, name)}")
        if self.min_chars > self.max_chars:
            raise UsageError(f"option min_chars: must be at most max_chars={self.max_chars}, got {self.min_chars}")
        # report what cannot be used before any model is asked
        chosen_model(self.nli_model)
        stop_words(self.language, self.stop_words)

    @property
    def settings(self) -> dict[str, Any]:
        """The pipeline's settings, with the NLI model that is actually used and a hash of the stop words."""
        words = stop_words(self.language, self.stop_words)
        used = {"nli_model": chosen_model(self.nli_model) or JUDGE}
        return {**super().settings, **used, "stop_words": prompt_hash(dict.fromkeys(words, "")) if words else None}

    def documents(self, path: Path) -> Iterator[Document]:
        """Read questions with their answers, marked with whether they are the best answer.

        Raises:
            DataError: As in `read_documents`.
        """
        read = partial(super().documents, path)
        return mark_best_answers(read) if self.best_answer else read()

    def advice(self, reason: str) -> str:
        """Return what to do about documents without scores, and about short and long ones."""
        advice = {
            NO_SCORE: "give documents the fields question_score and score, or -T min_score=0 -T best_answer=false",
            TOO_SHORT: f"-T min_chars= is {self.min_chars}",
            TOO_LONG: f"-T max_chars= is {self.max_chars}",
        }
        return advice.get(reason) or super().advice(reason)

    def refuse(self, document: Document) -> Failure | None:
        """Return why a document cannot be used.

        Also refuses documents without a question or with tags of ReFACT, and those that the source filter leaves out.
        """
        if failure := super().refuse(document):
            return failure
        question = document.fields.get("question")
        if not isinstance(question, str) or not question.strip():
            return Failure("document", "no question", "the field 'question' must contain the question the text answers")
        for name, text in (("question", question), ("text", document.text)):
            if has_tags(text):
                return Failure("document", "contains tags", f"{name} has <neg>, <swap> or <mask>")
            if not is_text(text):
                return Failure("document", "invalid characters", name)
        best = best_failure(document) if self.best_answer else None
        return (
            best or score_failure(document, self.min_score) or length_failure(document, self.min_chars, self.max_chars)
        )

    async def drafts(self, document: Document, ask: Ask) -> list[Draft]:
        """Return a draft for each transformation in `kinds`."""
        prose = Prose(document.text)
        attempts = [Attempt(self, ask, document, prose, kind) for kind in self.kinds]
        facts = await self._facts(attempts[0])
        return await gather(*(self._draft(attempt, facts) for attempt in attempts))

    async def _facts(self, attempt: Attempt) -> _Facts:
        reply = read_texts(await attempt.ask(attempt.prompt("facts"), GENERATOR))
        if reply.value is None:
            return _Facts([], [Failure(FACTS, "unreadable reply", reply.reason)])
        sentences = {string: attempt.prose.sentence(string) for string in reply.value}
        spans = {span for span in sentences.values() if not isinstance(span, str)}
        left_out = [Failure(FACTS, reason, string) for string, reason in sentences.items() if isinstance(reason, str)]
        return _Facts(sorted(spans), left_out if left_out or spans else [Failure(FACTS, "no facts")])

    async def _draft(self, attempt: Attempt, facts: _Facts) -> Draft:
        """Return the draft made of the most convincing variant of the answer, verified."""
        attempt.checks.append(FACTS)
        if not facts.spans:
            attempt.fail(*facts.left_out)
            return attempt.draft()
        attempt.left_out += facts.left_out
        if attempt.kind == NEG:
            shuffled = sorted(facts.spans, key=lambda span: self.draw(attempt.document.id, *map(str, span)))
            results = await negations(attempt, sorted(shuffled[: self.most_facts]))
        else:
            attempt.checks.append(PHRASE)
            spans = await mentions(attempt, facts.spans, stop_words(self.language, self.stop_words))
            if attempt.failures:
                return attempt.draft()
            results = await replacements(attempt, spans, self.candidates)
        attempt.checks.append(FORMAT)
        variants = list(dict.fromkeys(edits for edits in results if not isinstance(edits, Failure)))
        rejected = [failure for failure in results if isinstance(failure, Failure)]
        if not variants:
            attempt.fail(*rejected)
            return attempt.draft()
        attempt.left_out += rejected
        if attempt.kind == SWAP:
            variants = await self._not_equivalent(attempt, variants)
        edits = await self._most_convincing(attempt, variants)
        return await self._verify(attempt, edits) if edits else attempt.draft()

    async def _not_equivalent(self, attempt: Attempt, variants: list[Edits]) -> list[Edits]:
        """Return the variants whose changed sentences all have a new meaning.

        If there are none, fail the attempt and return all variants, so that the remaining checks still run.
        """
        attempt.checks.append(EQUIVALENT)
        results = await gather(*(self._equivalence(attempt, edits) for edits in variants))
        failures = [failure for failure in results if failure]
        if len(failures) == len(variants):
            attempt.fail(*failures)
            return variants
        attempt.left_out += failures
        return [edits for edits, failure in zip(variants, results, strict=True) if not failure]

    async def _equivalence(self, attempt: Attempt, edits: Edits) -> Failure | None:
        """Return a failure if a changed sentence means the same as before."""
        parts = attempt.prose.changed_parts(edits)
        if model := chosen_model(self.nli_model):
            verdicts = [await same_meaning(model, before, after) for before, after in parts]
        else:
            pairs = json.dumps([{"before": a, "after": b} for a, b in parts], ensure_ascii=False, indent=1)
            prompt = self.prompt("equivalent", number=str(len(parts)), pairs=fence(pairs))
            reply = read_verdicts(await attempt.ask(prompt, VERIFIER), len(parts))
            if reply.value is None:
                return Failure(EQUIVALENT, "unreadable verdict", reply.reason)
            verdicts = reply.value
        for value, reason in ((YES, "same meaning"), (UNCERTAIN, "uncertain")):
            for (before, after), verdict in zip(parts, verdicts, strict=True):
                if verdict.value == value:
                    return Failure(EQUIVALENT, reason, f"{before}\n{after}\n{verdict.reason}")
        return None

    async def _most_convincing(self, attempt: Attempt, variants: Sequence[Edits]) -> Edits:
        """Return the variant that the generator chooses; no edits if its choice cannot be read."""
        if len(variants) == 1:
            return variants[0]
        attempt.checks.append(CHOICE)
        changed = ("\n".join(after for _, after in attempt.prose.changed_parts(edits)) for edits in variants)
        shown = "\n".join(f"{number}:\n{fence(text)}" for number, text in enumerate(changed, 1))
        prompt = attempt.prompt("convincing", number=str(len(variants)), variants=shown)
        choice = read_choice(await attempt.ask(prompt, GENERATOR), len(variants))
        if choice.value is None:
            attempt.fail(Failure(CHOICE, "unreadable choice", choice.reason))
            return ()
        return variants[choice.value - 1]

    async def _verify(self, attempt: Attempt, edits: Edits) -> Draft:
        """Verify a variant and return its draft.

        The variant must be false, coherent and still an answer (sections 3.2 and 3.3), with tags where it was edited.
        """
        row = row_of(attempt.document, attempt.kind, edits)
        tagged = row["error_spans"]
        attempt.checks.append(TAGS)
        before = [attempt.prose.text[edit.start : edit.end] for edit in edits]
        if fault := misread(row, before, [edit.text for edit in edits]):
            attempt.fail(Failure(TAGS, fault, tagged))
        elif not singles(row):
            attempt.left_out.append(Failure(TAGS, "no single-error rows", tagged))
        prompt = attempt.prompt("verify", changed=fence(tagged))
        reply = read_verdicts(await attempt.ask(prompt, VERIFIER), len(_CRITERIA))
        if reply.value is None:
            attempt.checks.append(WRONG)
            attempt.fail(Failure(WRONG, "unreadable verdict", f"{tagged}\n{reply.reason}"))
            return attempt.draft()
        attempt.checks += _CRITERIA
        for (check, denied), verdict in zip(_CRITERIA.items(), reply.value, strict=True):
            if verdict.value != YES:
                reason = denied if verdict.value == NO else "uncertain"
                attempt.fail(Failure(check, reason, f"{tagged}\n{verdict.reason}"))
        return attempt.draft(row)

    def lines(self, item: Item) -> Iterator[tuple[str, Row]]:
        """Return the item's row of ReFACT's multi-error file, and a row of the single-error file per tagged span.

        Rows that the tasks would misread are left out.
        """
        yield MULTI, item.row
        for row in singles(item.row):
            yield SINGLE, row

    def pairs(self, item: Item) -> Iterator[Pair]:
        """Return the true answer and the transformed one."""
        yield Pair(item.row["correct_answer"], item.row["confabulated_answer"], item.document, item.kind)

    def ready(self) -> None:
        """Load the NLI model, if one is used."""
        if model := chosen_model(self.nli_model):
            load(model)

    def group(self, item: Item) -> str:
        """Return the document's id: both transformations have the same question."""
        return item.document

    def context(self, item: Item) -> dict[str, str]:
        """Return the question."""
        return {"question": item.row["question"]}

    def shown(self, item: Item) -> dict[str, str]:
        """Return the question, the original answer, and the transformed answer with its tags."""
        return {
            "question": item.row["question"],
            "original answer": item.row["correct_answer"],
            "transformed answer": item.row["error_spans"],
        }

    def blamed(self, failure: Failure, draft: Draft) -> str | None:
        """Return the prompt that caused a failure; None if the verifier could not be read, or nothing was dropped."""
        if failure.reason in ("unreadable verdict", "no single-error rows"):
            return None
        if failure.check == PHRASE:
            return "mentions" if failure.reason == "unreadable mentions" else "phrase"
        edit = "negate" if draft.kind == NEG else "replace"
        return {FACTS: "facts", CHOICE: "convincing"}.get(failure.check, edit)

    def key(self, item: Item) -> str:
        """Return the question with the transformation."""
        return f"{item.row['question']}\n{item.kind}"
