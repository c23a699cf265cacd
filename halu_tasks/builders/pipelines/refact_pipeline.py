"""The construction of ReFACT (Wang et al. 2025, section 3).

A true answer to a question is made false by negating one sentence or by replacing entities; tags mark the changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import (
    GENERATOR,
    VERIFIER,
    Ask,
    Draft,
    Fault,
    KeptFile,
    Pipeline,
    Row,
    TextPair,
    some_of,
)
from halu_tasks.builders.pipelines import refact_edits
from halu_tasks.builders.pipelines.refact_edits import MULTI, NEG, SINGLE, SWAP, Edit, Prose, alike
from halu_tasks.builders.replies import NO, UNREADABLE, objections, read_choice, read_object, read_texts, read_verdicts
from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import UsageError
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.prompting import prompt_hash
from halu_tasks.core.settings import Count, Help, Natural
from halu_tasks.scorers.judge import fence
from halu_tasks.text.sentences import spans as sentence_spans
from halu_tasks.text.spans import Span

KINDS = NEG, SWAP
FACTS, PHRASE, FORMAT, EQUIVALENT, CHOICE = "facts", "phrase", "format", "equivalent", "choice"
WRONG, COHERENT, RELEVANT, TAGS = "wrong", "coherent", "relevant", "tags"
_CRITERIA = {WRONG: "not false", COHERENT: "not coherent", RELEVANT: "irrelevant to the question"}
NO_SINGLES = "no single-error rows"
NO_SCORE = "no score, which min_score and best_answer need"
BEST = "best_answer"
"""Field of a document: whether its answer is the best one of its question; computed unless a document states it."""

MOST_MENTIONS = 20
"""Maximum number of places to replace one phrase at: more than in any row of the published data, and few enough for a
model to return as many replacements."""

_STOPS = re.compile(r"[.!?。！？؟…।]+\Z")
Edits = tuple[Edit, ...]


@dataclass(frozen=True)
class RefactPipeline(Pipeline):
    """Make two drafts of each question with a true answer: a sentence negated, and entities replaced."""

    name: ClassVar[str] = "refact_pipeline"
    version: ClassVar[int] = 2
    about: ClassVar[str] = "true answers made false by a negated sentence or by replaced entities (ReFACT)"
    benchmark: ClassVar[str] = "refact"
    paper: ClassVar[str] = "refact"
    checks: ClassVar[tuple[str, ...]] = (FACTS, PHRASE, FORMAT, EQUIVALENT, CHOICE, *_CRITERIA, TAGS)
    prompts_used: ClassVar[tuple[str, ...]] = (
        *("facts", "negate", "phrase", "mentions", "replace", "equivalent", "convincing", "verify"),
    )
    generating: ClassVar[tuple[str, ...]] = ("facts", "negate", "phrase", "mentions", "replace", "convincing")

    max_chars: Annotated[Count, Help("maximum length of a question with its answer in characters")] = 1_000
    min_chars: Annotated[Natural, Help("minimum length of a question with its answer in characters")] = 500
    min_score: Annotated[Natural, Help("minimum score of a question; 0 for none, if documents have no scores")] = 4
    best_answer: Annotated[bool, Help("only use the answer to a question with the highest score")] = True
    kinds: Annotated[tuple[str, ...], some_of(KINDS), Help("neg (negate a sentence), swap (replace entities)")] = KINDS
    most_facts: Annotated[Count, Help("maximum number of sentences to negate; the most convincing one is kept")] = 5
    candidates: Annotated[Count, Help("number of sets of replacements to sample; the most convincing one is kept")] = 1
    nli_model: Annotated[
        str,
        Help(
            "decides whether a replacement means the same: judge (the verifier), a model for natural-language "
            "inference (a folder, or a name on the hub, NAME@REVISION), or auto: the paper's model if the extra nli is "
            "installed"
        ),
    ] = refact_edits.AUTO
    stop_words: Annotated[
        str | None, KeptFile("stop_words.txt"), Help("stop words, one per line; for English, NLTK's")
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_chars > self.max_chars:
            raise UsageError(f"option min_chars: must be at most max_chars={self.max_chars}, got {self.min_chars}")
        # report what cannot be used before any model is asked
        refact_edits.chosen_model(self.nli_model)
        refact_edits.stop_words(self.language, self.stop_words)

    @property
    def settings(self) -> dict[str, Any]:
        """The pipeline's settings, with the NLI model that is actually used and a hash of the stop words."""
        words = refact_edits.stop_words(self.language, self.stop_words)
        used = {"nli_model": refact_edits.chosen_model(self.nli_model) or refact_edits.JUDGE}
        return {**super().settings, **used, "stop_words": prompt_hash(dict.fromkeys(words, "")) if words else None}

    def ready(self) -> None:
        """Load the NLI model, if one is used."""
        if model := refact_edits.chosen_model(self.nli_model):
            refact_edits.load(model)

    # --- documents --------------------------------------------------------------------------------

    def documents(self, path: Path) -> Iterator[Document]:
        """Read questions with their answers, marked with whether they are the best answer.

        Raises:
            DataError: As in `read_documents`.
        """
        read = partial(super().documents, path)
        return mark_best_answers(read) if self.best_answer else read()

    def refuse(self, document: Document) -> Fault | None:
        """Return why a document cannot be used.

        Also refuses documents without a question or with tags of ReFACT, and those that the source filter leaves out.
        """
        if fault := super().refuse(document):
            return fault
        question = document.fields.get("question")
        if not isinstance(question, str) or not question.strip():
            return Fault("document", "no question", "the field 'question' must contain the question the text answers")
        for name, text in (("question", question), ("text", document.text)):
            if reason := refact_edits.improper(text):
                return Fault("document", reason, f"in the {name}")
        return self._filter(document, len(question) + len(document.text))

    def _filter(self, document: Document, length: int) -> Fault | None:
        """Return why the source filter leaves out a question with its answer of so many characters (section 3.1)."""
        score, question_score = _score_of(document, "score"), _score_of(document, "question_score")
        rating = score if question_score is None else question_score
        if self.best_answer and document.fields.get(BEST) is False:
            if score is None:
                return Fault("document", NO_SCORE, "one of several answers to its question, and without a 'score'")
            return Fault("document", "not the best answer", "another answer to the same question has a higher score")
        if self.min_score and rating is None:
            return Fault("document", NO_SCORE, "neither the field 'question_score' nor 'score' contains a number")
        if rating is not None and rating < self.min_score:
            return Fault("document", "low score", f"{rating:g}, less than min_score={self.min_score}")
        text = f"{length} characters with the question"
        if length < self.min_chars:
            return Fault("document", f"shorter than min_chars={self.min_chars}", text)
        if length > self.max_chars:
            return Fault("document", f"longer than max_chars={self.max_chars}", text)
        return None

    # --- drafts -----------------------------------------------------------------------------------

    async def drafts(self, document: Document, ask: Ask) -> list[Draft]:
        """Return a draft for each transformation in `kinds`."""
        prose = Prose(document.text, self.language)
        attempts = [Transformation(self, ask, document, prose, kind) for kind in self.kinds]
        reply = read_texts(await ask(attempts[0].prompt("facts"), GENERATOR))
        sentences = {string: prose.sentence(string) for string in reply.value or ()}
        facts = sorted({span for span in sentences.values() if not isinstance(span, str)})
        left_out = [Fault(FACTS, reason, string) for string, reason in sentences.items() if isinstance(reason, str)]
        if reply.value is None:
            left_out = [Fault(FACTS, "unreadable reply", reply.reason)]
        elif not sentences:
            left_out = [Fault(FACTS, "no facts")]
        return await gather(*(self._draft(attempt, facts, left_out) for attempt in attempts))

    async def _draft(self, attempt: Transformation, facts: Sequence[Span], left_out: Sequence[Fault]) -> Draft:
        """Return the draft made of the most convincing variant of the answer, verified."""
        attempt.checks.append(FACTS)
        if not facts:
            return attempt.draft(*left_out)
        attempt.left_out += left_out
        if attempt.kind == NEG:
            shuffled = sorted(facts, key=lambda span: self.draw(attempt.document.id, *map(str, span)))
            drawn = sorted(shuffled[: self.most_facts])
            results = await gather(*(_negation(attempt, span) for span in drawn))
        else:
            attempt.checks.append(PHRASE)
            spans, faults = await _mentions(attempt, facts, refact_edits.stop_words(self.language, self.stop_words))
            if not spans:
                return attempt.draft(*faults)
            results = await _replacements(attempt, spans, self.candidates)
        attempt.checks.append(FORMAT)
        variants = list(dict.fromkeys(edits for edits in results if not isinstance(edits, Fault)))
        rejected = [fault for fault in results if isinstance(fault, Fault)]
        if not variants:
            return attempt.draft(*rejected)
        attempt.left_out += rejected
        if attempt.kind == SWAP:
            variants = await self._not_equivalent(attempt, variants)
        edits = await _most_convincing(attempt, variants)
        return attempt.draft(edits) if isinstance(edits, Fault) else await self._verify(attempt, edits)

    async def _not_equivalent(self, attempt: Transformation, variants: list[Edits]) -> list[Edits]:
        """Return the variants whose changed sentences all have a new meaning.

        If there are none, fail the attempt and return all variants, so that the remaining checks still run.
        """
        attempt.checks.append(EQUIVALENT)
        results = await gather(*(self._equivalence(attempt, edits) for edits in variants))
        faults = [fault for result in results for fault in result[:1]]
        if all(results):
            attempt.faults += faults
            return variants
        attempt.left_out += faults
        return [edits for edits, result in zip(variants, results, strict=True) if not result]

    async def _equivalence(self, attempt: Transformation, edits: Edits) -> list[Fault]:
        """Return faults if a changed sentence means the same as before, or may do."""
        parts = attempt.prose.changed_parts(edits)
        if model := refact_edits.chosen_model(self.nli_model):
            verdicts = [await refact_edits.same_meaning(model, before, after) for before, after in parts]
        else:
            pairs = json.dumps([{"before": a, "after": b} for a, b in parts], ensure_ascii=False, indent=1)
            prompt = self.prompt("equivalent", number=str(len(parts)), pairs=fence(pairs))
            verdicts = read_verdicts(await attempt.ask(prompt, VERIFIER), len(parts))
        faults: list[Fault] = []
        for (before, after), verdict in zip(parts, verdicts, strict=True):
            faults += objections(EQUIVALENT, verdict, "same meaning", f"{before}\n{after}", NO)
        return sorted(faults, key=lambda fault: fault.reason != "same meaning")

    async def _verify(self, attempt: Transformation, edits: Edits) -> Draft:
        """Verify a variant and return its draft.

        The variant must be false, coherent and still an answer (sections 3.2 and 3.3), with tags where it was edited.
        """
        row = refact_edits.row_of(attempt.document, attempt.kind, edits)
        tagged = row["error_spans"]
        attempt.checks += [TAGS, *_CRITERIA]
        if fault := refact_edits.misread(row, [attempt.prose.text[start:end] for start, end, _ in edits]):
            attempt.faults.append(Fault(TAGS, fault, tagged))
        elif not refact_edits.singles(row):
            attempt.left_out.append(Fault(TAGS, NO_SINGLES, tagged))
        reply = await attempt.ask(attempt.prompt("verify", changed=fence(tagged)), VERIFIER)
        verdicts = read_verdicts(reply, len(_CRITERIA))
        for (check, denied), verdict in zip(_CRITERIA.items(), verdicts, strict=True):
            attempt.faults += objections(check, verdict, denied, tagged)
        return attempt.draft(row=row)

    def blamed(self, fault: Fault, draft: Draft) -> tuple[str, ...]:
        """Return the prompt that caused a fault; none if the verifier could not be read, or nothing was dropped."""
        if fault.reason == NO_SINGLES or fault.reason.startswith(UNREADABLE):
            return ()
        if fault.check == PHRASE:
            return ("mentions" if fault.reason == "unreadable mentions" else "phrase",)
        edit = "negate" if draft.kind == NEG else "replace"
        return ({FACTS: "facts", CHOICE: "convincing"}.get(fault.check, edit),)

    # --- items ------------------------------------------------------------------------------------

    def lines(self, item: Draft) -> Iterator[tuple[str, Row]]:
        """Return the item's row of ReFACT's multi-error file, and a row of the single-error file per tagged span.

        Rows that the tasks would misread are left out.
        """
        yield MULTI, item.row
        for row in refact_edits.singles(item.row):
            yield SINGLE, row

    def pairs(self, item: Draft) -> Iterator[TextPair]:
        """Return the true answer and the transformed one."""
        yield TextPair(item.row["correct_answer"], item.row["confabulated_answer"], {"question": item.row["question"]})

    def parts(self, item: Draft) -> dict[str, dict[str, str]]:
        """Return the question, the original answer, and the transformed answer with its tags."""
        names = {"question": "question", "original answer": "correct_answer", "transformed answer": "error_spans"}
        return {"": {name: item.row[key] for name, key in names.items()}}

    def key(self, item: Draft) -> str:
        """Return the question with the transformation."""
        return f"{item.row['question']}\n{item.kind}"

    def group(self, item: Draft) -> str:
        """Return the document's id: both transformations have the same question."""
        return item.document


@dataclass
class Transformation:
    """A draft in progress.

    Attributes:
        pipeline: The pipeline that makes the draft.
        ask: Asks the models.
        document: The question with its true answer.
        prose: The answer.
        kind: `neg` or `swap`.
        checks: The checks run so far.
        faults: Why the draft is dropped, if it is.
        left_out: Why sentences, phrases and variants were skipped on the way; these are counted, but drop nothing.
    """

    pipeline: Pipeline
    ask: Ask
    document: Document
    prose: Prose
    kind: str
    checks: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    left_out: list[Fault] = field(default_factory=list)

    def prompt(self, name: str, **more: str) -> str:
        """Return the prompt `name` filled with question, answer and further values."""
        shown = {"question": fence(str(self.document.fields["question"])), "answer": fence(self.prose.text)}
        return self.pipeline.prompt(name, **{**shown, **more})

    def draft(self, *faults: Fault, row: Row | None = None) -> Draft:
        """Return the draft in its current state; it is kept if it has a row and there were no faults.

        Faults are merged by reason, and checks are in the pipeline's order.
        """
        self.faults += faults
        details: dict[tuple[str, str], list[str]] = {}
        for fault in (*self.faults, *self.left_out):
            details.setdefault((fault.check, fault.reason), []).append(fault.detail)
        checks = tuple(sorted(self.checks, key=self.pipeline.checks.index))
        merged = tuple(Fault(*key, "\n".join(filter(None, lines))) for key, lines in details.items())
        kept = {} if self.faults else row or {}
        return Draft.of(self.document, self.kind, self.kind, checks=checks, faults=merged, row=kept)


async def _most_convincing(attempt: Transformation, variants: Sequence[Edits]) -> Edits | Fault:
    """Return the variant that the generator chooses, or why there is none."""
    if len(variants) == 1:
        return variants[0]
    attempt.checks.append(CHOICE)
    changed = ("\n".join(after for _, after in attempt.prose.changed_parts(edits)) for edits in variants)
    shown = "\n".join(f"{number}:\n{fence(text)}" for number, text in enumerate(changed, 1))
    prompt = attempt.prompt("convincing", number=str(len(variants)), variants=shown)
    choice = read_choice(await attempt.ask(prompt, GENERATOR), len(variants))
    return variants[choice.value - 1] if choice.value else Fault(CHOICE, "unreadable choice", choice.reason)


# --- a negated sentence (section 3.2.1) -----------------------------------------------------------


async def _negation(attempt: Transformation, span: Span) -> Edits | Fault:
    """Ask the generator to negate one factual sentence; return the edit, or why there is none."""
    original = attempt.prose.text[slice(*span)]
    prompt = attempt.prompt("negate", sentence=fence(original))
    reply = read_object(await attempt.ask(prompt, GENERATOR), "sentence")
    if reply.value is None:
        return Fault(FORMAT, "unreadable negation", f"{original}\n{reply.reason}")
    text = refact_edits.begun_as(refact_edits.in_one_line(reply.value["sentence"], original), original)
    if (stops := _STOPS.search(original)) and text[-1].isalnum():
        text += stops[0]
    fault = refact_edits.unfit(text, original)
    if not fault and len(sentence_spans(text, attempt.pipeline.language)) != 1:
        fault = "several sentences"
    if not fault and attempt.prose.has_sentence(text):
        fault = "another sentence of the answer"
    return Fault(FORMAT, fault, f"{original}\n{text}") if fault else ((*span, text),)


# --- replaced entities (section 3.2.2) ------------------------------------------------------------


async def _mentions(
    attempt: Transformation, facts: Sequence[Span], words: frozenset[str]
) -> tuple[list[Span], list[Fault]]:
    """Return where the answer mentions the entity that a key phrase of its factual sentences refers to.

    Args:
        attempt: The draft in progress.
        facts: Spans of the factual sentences.
        words: Words that are no key phrase on their own.

    Returns:
        The spans of the mentions; none, and why, if no phrase can be used.
    """
    sentences = _listed(attempt.prose.text[slice(*span)] for span in facts)
    reply = read_texts(await attempt.ask(attempt.prompt("phrase", sentences=sentences), GENERATOR))
    if reply.value is None:
        return [], [Fault(PHRASE, "unreadable phrases", reply.reason)]
    rejected: list[Fault] = []
    for phrase in reply.value:
        spans, fault = _places(attempt, phrase, words)
        if not fault and not any(a <= start and end <= b for start, end in spans for a, b in facts):
            fault = "not in a factual sentence"
        if not fault:
            attempt.left_out += rejected
            return await _with_coreferences(attempt, phrase, spans, words)
        rejected.append(Fault(PHRASE, fault, phrase))
    return [], rejected or [Fault(PHRASE, "no key phrase")]


async def _with_coreferences(
    attempt: Transformation, phrase: str, spans: list[Span], words: frozenset[str]
) -> tuple[list[Span], list[Fault]]:
    """Return the spans of a phrase and of the other mentions of its entity that the generator names."""
    reply = read_texts(await attempt.ask(attempt.prompt("mentions", phrase=fence(phrase)), GENERATOR))
    if reply.value is None:
        return [], [Fault(PHRASE, "unreadable mentions", reply.reason)]
    for other in reply.value:
        more, fault = _places(attempt, other, words)
        spans = [*spans, *more]
        attempt.left_out += [Fault(PHRASE, fault, other)] if fault else []
    return refact_edits.longest(attempt.prose.text, spans), []


def _places(attempt: Transformation, phrase: str, words: frozenset[str]) -> tuple[list[Span], str]:
    """Return where a phrase occurs; no places and a short reason if it cannot be replaced."""
    prose = attempt.prose
    if refact_edits.only_stop_words(phrase, words):
        return [], "only stop words"
    if refact_edits.mentioned(str(attempt.document.fields["question"]), phrase):
        return [], "in the question"
    spans = prose.mentions(phrase)
    if any(prose.text[start:end] != refact_edits.in_one_line(prose.text[start:end]) for start, end in spans):
        return [], "contains a line end"
    if any(start <= a and b <= end for start, end in spans for a, b in prose.sentences):
        return [], "a whole sentence"
    if len(spans) > MOST_MENTIONS:
        return [], "too many mentions"
    return spans, "" if spans else "not in the answer"


async def _replacements(attempt: Transformation, spans: Sequence[Span], draws: int) -> list[Edits | Fault]:
    """Return for each of several sampled replies the edits that replace the text at the spans, or a fault."""
    phrases = [attempt.prose.text[slice(*span)] for span in spans]
    answer = fence(refact_edits.marked(attempt.prose.text, spans, SWAP))
    prompt = attempt.prompt("replace", answer=answer, number=str(len(phrases)), phrases=_listed(phrases))
    replies = await gather(*(attempt.ask(prompt, GENERATOR, draw=draw, draws=draws) for draw in range(draws)))
    return [_read_replacements(attempt.prose, spans, reply) for reply in replies]


def _read_replacements(prose: Prose, spans: Sequence[Span], reply: str) -> Edits | Fault:
    """Read replacements from a reply and turn them into edits."""
    texts = read_texts(reply, len(spans))
    if texts.value is None:
        return Fault(FORMAT, "unreadable replacements", texts.reason)
    edits = []
    replaced_by: dict[str, str] = {}
    for (start, end), text in zip(spans, texts.value, strict=True):
        original = prose.text[start:end]
        fault = refact_edits.unfit(text, original)
        if not fault and replaced_by.setdefault(alike(original), alike(text)) != alike(text):
            fault = "one phrase replaced in two ways"
        if fault:
            return Fault(FORMAT, fault, f"{original} → {text}")
        edits.append((start, end, refact_edits.begun_as(text, original) if prose.begins(start) else text))
    return tuple(edits)


def _listed(texts: Iterable[str]) -> str:
    """Format strings as a fenced JSON array."""
    return fence(json.dumps(list(texts), ensure_ascii=False))


# --- the source (section 3.1) ---------------------------------------------------------------------


def mark_best_answers(read: Callable[[], Iterator[Document]]) -> Iterator[Document]:
    """Yield documents with the field `best_answer`.

    The best answer of a question is that with the highest `score`; of equal ones, that with the smallest id. A question
    is recognized by its text, ignoring white space. An answer without a score is the best one only if there is no
    other. Memory grows with the number of questions, not with the length of the texts.

    Args:
        read: Reads the documents, which happens twice.
    """
    answers: dict[str, int] = {}
    best: dict[str, tuple[float, str]] = {}
    for document in read():
        question = _question_of(document)
        answers[question] = answers.get(question, 0) + 1
        if (score := _score_of(document, "score")) is not None:
            rank = -score, document.id
            best[question] = min(best.get(question, rank), rank)
    for document in read():
        question = _question_of(document)
        is_best = answers[question] == 1 or (question in best and best[question][1] == document.id)
        stated = document.fields.get(BEST)
        marked = stated if isinstance(stated, bool) else is_best
        yield Document(document.id, document.text, {**document.fields, BEST: marked})


def _score_of(document: Document, field: str) -> float | None:
    """Return the number in a field of a document; None if there is none."""
    value = document.fields.get(field)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _question_of(document: Document) -> str:
    """Return a short key of a document's question; documents without a question have one each."""
    question = document.fields.get("question")
    text = " ".join(question.split()) if isinstance(question, str) else ""
    return stable_hash(text) if text else f"\0{document.id}"
