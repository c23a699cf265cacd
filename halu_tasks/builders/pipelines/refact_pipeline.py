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
from typing import Annotated, Any, NoReturn

from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import Ask, Draft, Fault, KeptFile, Pipeline, Row, TextPair, some_of
from halu_tasks.builders.pipelines import refact_edits
from halu_tasks.builders.pipelines.refact_edits import MULTI, NEG, SINGLE, SWAP, Edit, Prose, alike
from halu_tasks.builders.replies import NO, UNREADABLE, objections, read_choice, read_object, read_texts, read_verdicts
from halu_tasks.core.concurrency import gather
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

    name = "refact_pipeline"
    version = 2
    about = "true answers made false by a negated sentence or by replaced entities (ReFACT)"
    benchmark = "refact"
    paper = "refact"
    checks = (FACTS, PHRASE, FORMAT, EQUIVALENT, CHOICE, *_CRITERIA, TAGS)
    prompts_used = ("facts", "negate", "phrase", "mentions", "replace", "equivalent", "convincing", "verify")
    generating = ("facts", "negate", "phrase", "mentions", "replace", "convincing")

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
            if reason := refact_edits.text_fault(text):
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
        transformations = [Transformation(self, ask, document, prose, kind) for kind in self.kinds]
        reply = read_texts(await transformations[0].generate("facts"))
        sentences = {string: prose.sentence(string) for string in reply.value or ()}
        facts = sorted({span for span in sentences.values() if not isinstance(span, str)})
        faults = [Fault(FACTS, reason, string) for string, reason in sentences.items() if isinstance(reason, str)]
        if reply.value is None:
            faults = [Fault(FACTS, "unreadable reply", reply.reason)]
        elif not sentences:
            faults = [Fault(FACTS, "no facts")]
        return await gather(*(each.draft(facts, faults) for each in transformations))

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
        for row in refact_edits.single_error_rows(item.row):
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


class Dropped(Exception):
    """A draft is dropped, and no further check of it can be made."""


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

    pipeline: RefactPipeline
    ask: Ask
    document: Document
    prose: Prose
    kind: str
    checks: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    left_out: list[Fault] = field(default_factory=list)

    async def draft(self, facts: Sequence[Span], faults: Sequence[Fault]) -> Draft:
        """Return the draft made of the most convincing variant of the answer, verified.

        It is kept if there were no faults. Faults are merged by reason, and checks are in the pipeline's order.

        Args:
            facts: The factual sentences.
            faults: Why other strings that the generator gave are no factual sentences.
        """
        row: Row = {}
        try:
            self._require(FACTS, facts, faults)
            results = await (self._negations(facts) if self.kind == NEG else self._replacements(facts))
            variants = list(dict.fromkeys(edits for edits in results if not isinstance(edits, Fault)))
            self._require(FORMAT, variants, [fault for fault in results if isinstance(fault, Fault)])
            if self.kind == SWAP:
                variants = await self._not_equivalent(variants)
            row = await self._verified(await self._most_convincing(variants))
        except Dropped:
            pass
        details: dict[tuple[str, str], list[str]] = {}
        for fault in (*self.faults, *self.left_out):
            details.setdefault((fault.check, fault.reason), []).append(fault.detail)
        merged = tuple(Fault(*key, "\n".join(filter(None, lines))) for key, lines in details.items())
        checks, row = tuple(sorted(self.checks, key=self.pipeline.checks.index)), {} if self.faults else row
        return Draft.of(self.document, self.kind, self.kind, checks=checks, faults=merged, row=row)

    async def generate(self, name: str, draw: int = 0, draws: int = 1, /, **shown: str) -> str:
        """Ask the generator the prompt `name`, filled with question, answer and further values."""
        return await self.pipeline.generate(self.ask, name, draw, draws, **{**self._texts, **shown})

    async def verify(self, name: str, **shown: str) -> str:
        """Ask the verifier the prompt `name`, filled with question, answer and further values."""
        return await self.pipeline.verify(self.ask, name, **{**self._texts, **shown})

    @property
    def _texts(self) -> dict[str, str]:
        return {"question": fence(str(self.document.fields["question"])), "answer": fence(self.prose.text)}

    def _drop(self, *faults: Fault) -> NoReturn:
        self.faults += faults
        raise Dropped

    def _require(self, check: str, results: Sequence[Any], faults: Sequence[Fault]) -> None:
        """Drop the draft with the faults if a check left no results."""
        self.checks.append(check)
        if not results:
            self._drop(*faults)
        self.left_out += faults

    # --- a negated sentence (section 3.2.1) -------------------------------------------------------

    async def _negations(self, facts: Sequence[Span]) -> list[Edits | Fault]:
        """Return for each of some factual sentences the edit that negates it, or why there is none."""
        shuffled = sorted(facts, key=lambda span: self.pipeline.draw(self.document.id, *map(str, span)))
        return await gather(*(self._negation(span) for span in sorted(shuffled[: self.pipeline.most_facts])))

    async def _negation(self, span: Span) -> Edits | Fault:
        original = self.prose.text[slice(*span)]
        reply = read_object(await self.generate("negate", sentence=fence(original)), "sentence")
        if reply.value is None:
            return Fault(FORMAT, "unreadable negation", f"{original}\n{reply.reason}")
        text = refact_edits.capitalize_like(refact_edits.join_lines(reply.value["sentence"], original), original)
        if (stops := _STOPS.search(original)) and text[-1].isalnum():
            text += stops[0]
        reason = refact_edits.replacement_fault(text, original)
        if not reason and len(sentence_spans(text, self.pipeline.language)) != 1:
            reason = "several sentences"
        if not reason and self.prose.has_sentence(text):
            reason = "another sentence of the answer"
        return Fault(FORMAT, reason, f"{original}\n{text}") if reason else ((*span, text),)

    # --- replaced entities (section 3.2.2) --------------------------------------------------------

    async def _replacements(self, facts: Sequence[Span]) -> list[Edits | Fault]:
        """Return for each of several sampled replies the edits that replace an entity, or why there are none."""
        spans, draws = await self._mentions(facts), self.pipeline.candidates
        phrases = [self.prose.text[slice(*span)] for span in spans]
        answer = fence(refact_edits.tag_spans(self.prose.text, spans, SWAP))
        shown = {"answer": answer, "number": str(len(phrases)), "phrases": _listed(phrases)}
        replies = await gather(*(self.generate("replace", draw, draws, **shown) for draw in range(draws)))
        return [_read_replacements(self.prose, spans, reply) for reply in replies]

    async def _mentions(self, facts: Sequence[Span]) -> list[Span]:
        """Return where the answer mentions the entity that a key phrase of its factual sentences refers to."""
        self.checks.append(PHRASE)
        sentences = _listed(self.prose.text[slice(*span)] for span in facts)
        phrases = read_texts(await self.generate("phrase", sentences=sentences))
        if phrases.value is None:
            self._drop(Fault(PHRASE, "unreadable phrases", phrases.reason))
        faults: list[Fault] = []
        for phrase in phrases.value:
            spans, reason = self._places(phrase)
            if not reason and not any(a <= start and end <= b for start, end in spans for a, b in facts):
                reason = "not in a factual sentence"
            if not reason:
                self.left_out += faults
                return await self._with_coreferences(phrase, spans)
            faults.append(Fault(PHRASE, reason, phrase))
        return self._drop(*(faults or [Fault(PHRASE, "no key phrase")]))

    async def _with_coreferences(self, phrase: str, spans: list[Span]) -> list[Span]:
        """Return the spans of a phrase and of the other mentions of its entity that the generator names."""
        others = read_texts(await self.generate("mentions", phrase=fence(phrase)))
        if others.value is None:
            self._drop(Fault(PHRASE, "unreadable mentions", others.reason))
        for other in others.value:
            more, reason = self._places(other)
            spans = [*spans, *more]
            self.left_out += [Fault(PHRASE, reason, other)] if reason else []
        return refact_edits.longest(self.prose.text, spans)

    def _places(self, phrase: str) -> tuple[list[Span], str]:
        """Return where a phrase occurs; no places and a short reason if it cannot be replaced."""
        text, stop_words = self.prose.text, refact_edits.stop_words(self.pipeline.language, self.pipeline.stop_words)
        if refact_edits.only_stop_words(phrase, stop_words):
            return [], "only stop words"
        if refact_edits.mentions_phrase(str(self.document.fields["question"]), phrase):
            return [], "in the question"
        spans = self.prose.mentions(phrase)
        if any(text[start:end] != refact_edits.join_lines(text[start:end]) for start, end in spans):
            return [], "contains a line end"
        if any(start <= a and b <= end for start, end in spans for a, b in self.prose.sentences):
            return [], "a whole sentence"
        if len(spans) > MOST_MENTIONS:
            return [], "too many mentions"
        return spans, "" if spans else "not in the answer"

    async def _not_equivalent(self, variants: list[Edits]) -> list[Edits]:
        """Return the variants whose changed sentences all have a new meaning.

        If there are none, fail the draft and return all variants, so that the remaining checks still run.
        """
        self.checks.append(EQUIVALENT)
        results = await gather(*(self._equivalence(edits) for edits in variants))
        faults = [fault for result in results for fault in result[:1]]
        if all(results):
            self.faults += faults
            return variants
        self.left_out += faults
        return [edits for edits, result in zip(variants, results, strict=True) if not result]

    async def _equivalence(self, edits: Edits) -> list[Fault]:
        """Return faults if a changed sentence means the same as before, or may do."""
        parts = self.prose.changed_parts(edits)
        if model := refact_edits.chosen_model(self.pipeline.nli_model):
            verdicts = [await refact_edits.same_meaning(model, before, after) for before, after in parts]
        else:
            pairs = json.dumps([{"before": a, "after": b} for a, b in parts], ensure_ascii=False, indent=1)
            reply = await self.verify("equivalent", number=str(len(parts)), pairs=fence(pairs))
            verdicts = read_verdicts(reply, len(parts))
        faults: list[Fault] = []
        for (before, after), verdict in zip(parts, verdicts, strict=True):
            faults += objections(EQUIVALENT, verdict, "same meaning", f"{before}\n{after}", NO)
        return sorted(faults, key=lambda fault: fault.reason != "same meaning")

    # --- choosing and verifying a variant (sections 3.2 and 3.3) ----------------------------------

    async def _most_convincing(self, variants: Sequence[Edits]) -> Edits:
        if len(variants) == 1:
            return variants[0]
        self.checks.append(CHOICE)
        changed = ("\n".join(after for _, after in self.prose.changed_parts(edits)) for edits in variants)
        shown = "\n".join(f"{number}:\n{fence(text)}" for number, text in enumerate(changed, 1))
        reply = await self.generate("convincing", number=str(len(variants)), variants=shown)
        choice = read_choice(reply, len(variants))
        if choice.value is None:
            self._drop(Fault(CHOICE, "unreadable choice", choice.reason))
        return variants[choice.value - 1]

    async def _verified(self, edits: Edits) -> Row:
        """Return the row of a variant; it must be false, coherent and still an answer, with tags where it differs."""
        row = refact_edits.row_of(self.document, self.kind, edits)
        tagged = row["error_spans"]
        self.checks += [TAGS, *_CRITERIA]
        if reason := refact_edits.reading_fault(row, [self.prose.text[start:end] for start, end, _ in edits]):
            self.faults.append(Fault(TAGS, reason, tagged))
        elif not refact_edits.single_error_rows(row):
            self.left_out.append(Fault(TAGS, NO_SINGLES, tagged))
        verdicts = read_verdicts(await self.verify("verify", changed=fence(tagged)), len(_CRITERIA))
        for (check, denied), verdict in zip(_CRITERIA.items(), verdicts, strict=True):
            self.faults += objections(check, verdict, denied, tagged)
        return row


def _read_replacements(prose: Prose, spans: Sequence[Span], reply: str) -> Edits | Fault:
    texts = read_texts(reply, len(spans))
    if texts.value is None:
        return Fault(FORMAT, "unreadable replacements", texts.reason)
    edits, replaced_by = list[Edit](), dict[str, str]()
    for (start, end), text in zip(spans, texts.value, strict=True):
        original = prose.text[start:end]
        reason = refact_edits.replacement_fault(text, original)
        if not reason and replaced_by.setdefault(alike(original), alike(text)) != alike(text):
            reason = "one phrase replaced in two ways"
        if reason:
            return Fault(FORMAT, reason, f"{original} → {text}")
        edits.append((start, end, refact_edits.capitalize_like(text, original) if prose.begins(start) else text))
    return tuple(edits)


def _listed(texts: Iterable[str]) -> str:
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
