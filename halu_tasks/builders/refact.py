"""The construction of ReFACT (Wang et al. 2025, section 3): a true answer to a question, made false by one negated
sentence or by replaced entities, with tags around what was changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from halu_tasks.builders.documents import Document
from halu_tasks.builders.entailment import AUTO, JUDGE, chosen_model, load, same_meaning
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
from halu_tasks.builders.refact_attempt import (
    FACTS,
    FORMAT,
    PHRASE,
    Attempt,
    Edits,
    mentions,
    negations,
    replacements,
)
from halu_tasks.builders.refact_rows import MULTI, NEG, SINGLE, SWAP, misread, row_of, singles
from halu_tasks.builders.replies import NO, UNCERTAIN, YES, read_choice, read_texts, read_verdicts
from halu_tasks.builders.spans import Prose, has_tags, is_text
from halu_tasks.builders.stopwords import stop_words
from halu_tasks.errors import UsageError
from halu_tasks.scorers.judge import fence
from halu_tasks.scorers.spans import Span
from halu_tasks.solvers.concurrency import side_by_side
from halu_tasks.solvers.prompting import prompt_hash

KINDS = NEG, SWAP
EQUIVALENT, CHOICE, WRONG, COHERENT, RELEVANT, TAGS = "equivalent", "choice", "wrong", "coherent", "relevant", "tags"
_CRITERIA = {WRONG: "not false", COHERENT: "not coherent", RELEVANT: "beside the question"}


class _Facts(NamedTuple):
    """The factual sentences of an answer, in order, and why there are none or others were left out."""

    spans: list[Span]
    left_out: list[Failure]


@dataclass(frozen=True)
class RefactPipeline(Pipeline):
    """Two drafts of each question with its true answer: one with a negated sentence, one with replaced entities."""

    name: ClassVar[str] = "refact_pipeline"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "true answers made false by a negated sentence or by replaced entities (ReFACT)"
    benchmark: ClassVar[str] = "refact"
    paper: ClassVar[str] = "refact"
    checks: ClassVar[tuple[str, ...]] = (
        FACTS, PHRASE, FORMAT, EQUIVALENT, CHOICE, WRONG, COHERENT, RELEVANT, TAGS
    )  # fmt: skip
    prompts_used: ClassVar[tuple[str, ...]] = (
        "facts", "negate", "phrase", "mentions", "replace", "equivalent", "convincing", "verify"
    )  # fmt: skip

    kinds: tuple[str, ...] = option(KINDS, "transformations to draft: neg (a negated sentence), swap (entities)")
    most_facts: int = option(5, "factual sentences that are negated, of which the most convincing is kept")
    candidates: int = option(1, "sets of replacements that are drawn, of which the most convincing is kept")
    nli_model: str = option(
        AUTO,
        "who decides whether a replacement says the same: judge (the verifier), a model of natural-language inference "
        "(a folder, or a name on the hub, NAME@REVISION), or auto: the paper's model where the extra nli is installed",
    )
    stop_words: str | None = option(None, "a file of stop words, one a line, in place of NLTK's for the language")

    def __post_init__(self) -> None:
        super().__post_init__()
        named = self.kinds.split(",") if isinstance(self.kinds, str) else list(self.kinds)
        given = [kind.strip() for kind in named]
        if not given or set(given) - set(KINDS) or len(set(given)) < len(given):
            raise UsageError(f"option kinds={','.join(given)}: choose {NEG}, {SWAP} or both")
        object.__setattr__(self, "kinds", tuple(kind for kind in KINDS if kind in given))
        for name, value in (("most_facts", self.most_facts), ("candidates", self.candidates)):
            if value < 1:
                raise UsageError(f"option {name}={value} is less than 1")
        # what cannot be used is told before anything is asked
        chosen_model(self.nli_model)
        stop_words(self.language, self.stop_words)

    @property
    def settings(self) -> dict[str, Any]:
        """As every pipeline's; `nli_model` is the model that is used, `stop_words` a hash of the words."""
        words = stop_words(self.language, self.stop_words)
        used = {"nli_model": chosen_model(self.nli_model) or JUDGE}
        return {**super().settings, **used, "stop_words": prompt_hash(dict.fromkeys(words, "")) if words else None}

    def refuse(self, document: Document) -> Failure | None:
        if failure := super().refuse(document):
            return failure
        question = document.fields.get("question")
        if not isinstance(question, str) or not question.strip():
            return Failure("document", "no question", "the field 'question' holds what the text answers")
        if len(question) > self.max_chars:
            return Failure("document", "too long", f"question of more than max_chars={self.max_chars} characters")
        for name, text in (("question", question), ("text", document.text)):
            if has_tags(text):
                return Failure("document", "tags of its own", f"{name} has <neg>, <swap> or <mask>")
            if not is_text(text):
                return Failure("document", "characters that are no text", name)
        return None

    async def drafts(self, document: Document, ask: Ask) -> list[Draft]:
        prose = Prose(document.text)
        attempts = [Attempt(self, ask, document, prose, kind) for kind in self.kinds]
        facts = await self._facts(attempts[0])
        return await side_by_side(*(self._draft(attempt, facts) for attempt in attempts))

    async def _facts(self, attempt: Attempt) -> _Facts:
        reply = read_texts(await attempt.ask(attempt.prompt("facts"), GENERATOR))
        if reply.value is None:
            return _Facts([], [Failure(FACTS, "reply unread", reply.reason)])
        found = {string: attempt.prose.sentence(string) for string in reply.value}
        spans = {span for span in found.values() if not isinstance(span, str)}
        left_out = [Failure(FACTS, why, string) for string, why in found.items() if isinstance(why, str)]
        return _Facts(sorted(spans), left_out if left_out or spans else [Failure(FACTS, "no facts")])

    async def _draft(self, attempt: Attempt, facts: _Facts) -> Draft:
        """The draft made of the most convincing variant of the answer, verified."""
        attempt.checks.append(FACTS)
        if not facts.spans:
            attempt.fail(*facts.left_out)
            return attempt.draft()
        attempt.left_out += facts.left_out
        if attempt.kind == NEG:
            drawn = sorted(facts.spans, key=lambda span: self.draw(attempt.document.id, *map(str, span)))
            tried = await negations(attempt, sorted(drawn[: self.most_facts]))
        else:
            attempt.checks.append(PHRASE)
            spans = await mentions(attempt, facts.spans, stop_words(self.language, self.stop_words))
            if attempt.failures:
                return attempt.draft()
            tried = await replacements(attempt, spans, self.candidates)
        attempt.checks.append(FORMAT)
        variants = list(dict.fromkeys(edits for edits in tried if not isinstance(edits, Failure)))
        rejected = [failure for failure in tried if isinstance(failure, Failure)]
        if not variants:
            attempt.fail(*rejected)
            return attempt.draft()
        attempt.left_out += rejected
        if attempt.kind == SWAP:
            variants = await self._not_equivalent(attempt, variants)
        edits = await self._most_convincing(attempt, variants)
        return await self._verified(attempt, edits) if edits else attempt.draft()

    async def _not_equivalent(self, attempt: Attempt, variants: list[Edits]) -> list[Edits]:
        """The variants none of whose changed sentences says what it said before. All of them where that leaves none:
        the attempt has failed, and is checked further all the same."""
        attempt.checks.append(EQUIVALENT)
        found = await side_by_side(*(self._equivalence(attempt, edits) for edits in variants))
        failures = [failure for failure in found if failure]
        if len(failures) == len(variants):
            attempt.fail(*failures)
            return variants
        attempt.left_out += failures
        return [edits for edits, failure in zip(variants, found, strict=True) if not failure]

    async def _equivalence(self, attempt: Attempt, edits: Edits) -> Failure | None:
        parts = attempt.prose.changed_parts(edits)
        if model := chosen_model(self.nli_model):
            verdicts = [await same_meaning(model, before, after) for before, after in parts]
        else:
            pairs = json.dumps([{"before": a, "after": b} for a, b in parts], ensure_ascii=False, indent=1)
            asked = self.prompt("equivalent", number=str(len(parts)), pairs=fence(pairs))
            reply = read_verdicts(await attempt.ask(asked, VERIFIER), len(parts))
            if reply.value is None:
                return Failure(EQUIVALENT, "verdict unread", reply.reason)
            verdicts = reply.value
        for value, reason in ((YES, "says the same"), (UNCERTAIN, "uncertain")):
            for (before, after), verdict in zip(parts, verdicts, strict=True):
                if verdict.value == value:
                    return Failure(EQUIVALENT, reason, f"{before}\n{after}\n{verdict.reason}")
        return None

    async def _most_convincing(self, attempt: Attempt, variants: Sequence[Edits]) -> Edits:
        """The variant that the generator chooses; no edits where its choice cannot be read."""
        if len(variants) == 1:
            return variants[0]
        attempt.checks.append(CHOICE)
        changed = ("\n".join(after for _, after in attempt.prose.changed_parts(edits)) for edits in variants)
        shown = "\n".join(f"{number}:\n{fence(text)}" for number, text in enumerate(changed, 1))
        asked = attempt.prompt("convincing", number=str(len(variants)), variants=shown)
        choice = read_choice(await attempt.ask(asked, GENERATOR), len(variants))
        if choice.value is None:
            attempt.fail(Failure(CHOICE, "choice unread", choice.reason))
            return ()
        return variants[choice.value - 1]

    async def _verified(self, attempt: Attempt, edits: Edits) -> Draft:
        """The draft of a variant: false, coherent and still an answer (sections 3.2 and 3.3), and tagged where it was
        edited."""
        row = row_of(attempt.document, attempt.kind, edits)
        told = row["error_spans"]
        attempt.checks.append(TAGS)
        before = [attempt.prose.text[edit.start : edit.end] for edit in edits]
        if why := misread(row, before, [edit.text for edit in edits]):
            attempt.fail(Failure(TAGS, why, told))
        elif not singles(row):
            attempt.left_out.append(Failure(TAGS, "no single-error rows", told))
        asked = attempt.prompt("verify", changed=fence(told))
        reply = read_verdicts(await attempt.ask(asked, VERIFIER), len(_CRITERIA))
        if reply.value is None:
            attempt.checks.append(WRONG)
            attempt.fail(Failure(WRONG, "verdict unread", f"{told}\n{reply.reason}"))
            return attempt.draft()
        attempt.checks += _CRITERIA
        for (check, no), verdict in zip(_CRITERIA.items(), reply.value, strict=True):
            if verdict.value != YES:
                reason = no if verdict.value == NO else "uncertain"
                attempt.fail(Failure(check, reason, f"{told}\n{verdict.reason}"))
        return attempt.draft(row)

    def lines(self, item: Item) -> Iterator[tuple[str, Row]]:
        """The item in ReFACT's multi-error file, and in the single-error file once for each tagged span, unless the
        tasks would misread such a row."""
        yield MULTI, item.row
        for row in singles(item.row):
            yield SINGLE, row

    def pairs(self, item: Item) -> Iterator[Pair]:
        yield Pair(item.row["correct_answer"], item.row["confabulated_answer"], item.document, item.kind)

    def ready(self) -> None:
        if model := chosen_model(self.nli_model):
            load(model)

    def group(self, item: Item) -> str:
        return item.document

    def context(self, item: Item) -> dict[str, str]:
        return {"question": item.row["question"]}

    def shown(self, item: Item) -> dict[str, str]:
        return {
            "question": item.row["question"],
            "original answer": item.row["correct_answer"],
            "transformed answer": item.row["error_spans"],
        }

    def key(self, item: Item) -> str:
        return f"{item.row['question']}\n{item.kind}"
