"""HaluAgent, the construction of C-FAITH (Zhang et al. 2025, section 3).

Agents generate questions that provoke a type of hallucination, their answers, hallucinated answers and labels; each
result is verified by another agent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import (
    GENERATOR,
    VERIFIER,
    Ask,
    Draft,
    Failure,
    Item,
    Pair,
    Part,
    Pipeline,
    Row,
    item_id,
    option,
)
from halu_tasks.builders.quoting import Source
from halu_tasks.builders.replies import YES, Verdict, read_objects, read_texts, read_verdicts
from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import UsageError
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks.cfaith import TYPES
from halu_tasks.scorers.reading.judge import fence
from halu_tasks.text.folding import fold

RESPONSES = 3
"""Number of hallucinated answers per question (section 3.3)."""

FORMAT, ANSWER, HALLUCINATION, LABEL = "format", "answer", "hallucination", "label"
_FORMATS = {"question": "question", "hallucinated answers": "hallucinate", "labels": "label"}
"""How reasons of format failures begin, and the prompt whose reply had the wrong format."""
_RELEASED = {name: label for label, name in TYPES.items()}
_DEFINITION = re.compile(r"(?m)^(\w+) ([^:：\n]+)[:：]\s*(.+)$")
_LETTERS = "ABCD"


class Kind(NamedTuple):
    """A type of hallucination: its name in the language of the prompts, and its definition."""

    name: str
    definition: str


class _Response(NamedTuple):
    """A hallucinated answer, its label, and the checks it failed."""

    text: str
    label: str
    failures: tuple[Failure, ...]


@dataclass(frozen=True)
class HaluAgent(Pipeline):
    """Generate questions for each type of hallucination, with an answer and hallucinated answers.

    Each question has an answer with a supporting sentence from the document, and three hallucinated answers with a
    label each. Everything is verified, then written as open questions, single choice, and true or false.
    """

    name: ClassVar[str] = "haluagent"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "questions with hallucinated answers in three formats (C-FAITH)"
    benchmark: ClassVar[str] = "cfaith"
    paper: ClassVar[str] = "cfaith"
    checks: ClassVar[tuple[str, ...]] = (FORMAT, ANSWER, HALLUCINATION, LABEL)
    prompts_used: ClassVar[tuple[str, ...]] = (
        "types",
        "question",
        "hallucinate",
        "label",
        "check_answer",
        "check_hallucination",
        "check_label",
        "choice",
    )
    parts: ClassVar[tuple[str, ...]] = ("answer", "response", "label")
    generating: ClassVar[tuple[str, ...]] = ("question", "hallucinate", "label")

    wording: ClassVar[tuple[str, ...]] = ("examples",)

    language: str = option("zh", "language of the documents and the prompts (ISO 639-1)")
    types: tuple[str, ...] = option(tuple(_RELEASED), f"types of hallucination to ask for: {', '.join(_RELEASED)}")
    questions: int = option(1, "number of questions per type and document")
    examples: bool = option(False, "prompts with example inputs and outputs, as the paper's")

    def __post_init__(self) -> None:
        super().__post_init__()
        types = (self.types,) if isinstance(self.types, str) else tuple(self.types)
        object.__setattr__(self, "types", types)
        if unknown := [name for name in types if name not in _RELEASED]:
            raise UsageError(f"option types: unknown type {unknown[0]!r}; choose from {', '.join(_RELEASED)}")
        if not types or len(set(types)) < len(types):
            raise UsageError("option types: expected one or more different types")
        if self.questions < 1:
            raise UsageError(f"option questions: must be at least 1, got {self.questions}")
        if missing := [name for name in _RELEASED if name not in self.kinds]:
            raise UsageError(
                f"prompt {self.name}_types_{self.language} does not define {missing[0]}; add a line that begins with it"
            )

    @property
    def variant(self) -> str:
        """The wording of the prompts: that with examples, if they are wanted."""
        return "with_examples" if self.examples else ""

    @property
    def other_texts(self) -> dict[str, Mapping[str, str]]:
        """The prompts with examples, or without them if the pipeline uses examples."""
        name = "without-examples" if self.examples else "with-examples"
        return {name: replace(self, examples=not self.examples).texts}

    @property
    def kinds(self) -> dict[str, Kind]:
        """The types by the paper's names, parsed from the prompt's lines `NAME local name: definition`."""
        lines = _DEFINITION.findall(self.texts["types"])
        return {name: Kind(local, definition) for name, local, definition in lines}

    async def drafts(self, document: Document, ask: Ask) -> list[Draft]:
        """Return the drafts of all types, in the order of the option `types`."""
        source = Source(document.text)
        by_type = await gather(*(self._of_type(document, source, kind, ask) for kind in self.types))
        return [draft for drafts in by_type for draft in drafts]

    async def _of_type(self, document: Document, source: Source, kind: str, ask: Ask) -> list[Draft]:
        """Return the drafts for one type: one per requested question, including those the model did not write."""
        prompt = self.prompt(
            "question",
            document=_shown(document.text),
            number=str(self.questions),
            type=self.kinds[kind].name,
            definition=self.kinds[kind].definition,
        )
        reply = read_objects(await ask(prompt, GENERATOR), "question", "answer", "support")
        rows = (reply.value or [])[: self.questions]
        pending = (self._draft(document, source, kind, row, place, ask) for place, row in enumerate(rows))
        drafts = await gather(*pending)
        for place in range(len(rows), self.questions):
            failure = Failure(FORMAT, f"question: {reply.reason}" if reply.reason else "question: fewer than requested")
            drafts.append(Draft(item_id(document.id, kind, str(place)), kind, (FORMAT,), (failure,)))
        return drafts

    async def _draft(self, document: Document, source: Source, kind: str, row: Row, place: int, ask: Ask) -> Draft:
        id = item_id(document.id, kind, str(place))
        question, answer, support = row["question"], row["answer"], row["support"]
        detail = f"Q: {question}\nA: {answer}\nsupport: {support}"
        if not source.holds(support):
            failure = Failure(FORMAT, "question: support is not in the document", detail)
            return Draft(id, kind, (FORMAT,), (failure,))
        facts = {"question": _shown(question), "answer": _shown(answer), "knowledge": _shown(support)}
        texts = read_texts(await ask(self.prompt("hallucinate", **facts), GENERATOR), RESPONSES)
        if texts.value is None:
            failure = Failure(FORMAT, f"hallucinated answers: {texts.reason}", detail)
            return Draft(id, kind, (FORMAT,), (failure,))
        responses = texts.value
        numbered = "\n".join(f"{number}. {text}" for number, text in enumerate(responses, 1))
        shown = {**facts, "responses": _shown(numbered), "types": self.texts["types"]}
        labels = self._labels(await ask(self.prompt("label", **shown), GENERATOR))
        if labels.value is None:
            failure = Failure(FORMAT, f"labels: {labels.reason}", f"{detail}\n{numbered}")
            return Draft(id, kind, (FORMAT,), (failure,))
        right, wrong, fits = await self._verify(facts, responses, labels.value, shown, ask)
        checked = [
            _Response(text, label, _failures(detail, text, label, answer, wrong, fits, number))
            for number, (text, label) in enumerate(zip(responses, labels.value, strict=True))
        ]
        failures = _answer_failures(right, detail) + tuple(failure for each in checked for failure in each.failures)
        supported = not any(failure.check == ANSWER for failure in failures)
        kept = [each for each in checked if not each.failures]
        drafted = {
            **row,
            "responses": [
                {"text": each.text, "type": each.label, "kept": supported and not each.failures} for each in checked
            ],
        }
        if kept and supported:
            label_counts = Counter(each.label for each in kept)
            # the type a question is meant to provoke is the most frequent one of its hallucinated answers (section 4.1)
            kind = max(
                label_counts, key=lambda label: (label_counts[label], label == kind, -list(label_counts).index(label))
            )
            row = {
                **row,
                "title": str(document.fields.get("title") or document.id),
                "hallucinated": [{"text": each.text, "type": each.label} for each in kept],
            }
            return Draft(id, kind, self.checks, failures, row, drafted)
        return Draft(id, kind, self.checks, failures, drafted=drafted)

    async def _verify(
        self, facts: Mapping[str, str], responses: Sequence[str], labels: Sequence[str], shown: Row, ask: Ask
    ) -> tuple[Answer[list[Verdict]], Answer[list[Verdict]], Answer[list[Verdict]]]:
        """Return the verifier's verdicts on the answer, on each hallucinated answer, and on each label."""
        claimed = "\n".join(
            f"{number}. {text}\n   → {self.kinds[label].name}"
            for number, (text, label) in enumerate(zip(responses, labels, strict=True), 1)
        )
        prompts = (
            (self.prompt("check_answer", **facts), 1),
            (self.prompt("check_hallucination", **shown), len(responses)),
            (self.prompt("check_label", **{**shown, "responses": _shown(claimed)}), len(responses)),
        )

        async def verify(prompt: str, number: int) -> Answer[list[Verdict]]:
            return read_verdicts(await ask(prompt, VERIFIER), number)

        right, wrong, fits = await gather(*(verify(prompt, number) for prompt, number in prompts))
        return right, wrong, fits

    def _labels(self, reply: str) -> Answer[list[str]]:
        """Read the types that a reply names, as the paper's names."""
        texts = read_texts(reply, RESPONSES)
        if texts.value is None:
            return texts
        spellings = {
            fold(word): name for name, kind in self.kinds.items() for word in (name, kind.name, _RELEASED[name])
        }
        names = [spellings.get(fold(text)) for text in texts.value]
        if None in names:
            return Answer(None, "an unknown type")
        return Answer([name for name in names if name])

    def lines(self, item: Item) -> Iterator[tuple[str, Row]]:
        """Return the item's rows of the three files; single choice needs three different hallucinated answers."""
        row = item.row
        first = next(each for each in row["hallucinated"] if each["type"] == item.kind)
        kind = _RELEASED[item.kind]
        shared = {"reason": row["support"], "halu_type": kind, "ent": row["title"]}
        question_and_answer = {"question": row["question"], "correct_answer": row["answer"]}
        yield "generative_qa.jsonl", {**question_and_answer, **shared, "halu_answer": first["text"]}
        for answer, right in ((row["answer"], True), (first["text"], False)):
            yield "true_false_qa.jsonl", {"question": row["question"], "answer": answer, "label": right, **shared}
        options = [(row["answer"], "correct"), *((each["text"], _RELEASED[each["type"]]) for each in _distinct(row))]
        if len(options) == len(_LETTERS):
            options.sort(key=lambda option: self.draw(item.id, option[0]))
            answers, labels = zip(*options, strict=True)
            listed = "\n".join(f"{letter}. {text}" for letter, text in zip(_LETTERS, answers, strict=True))
            yield (
                "single_choice_qa.jsonl",
                {
                    "question": self.prompt("choice", question=row["question"], options=listed),
                    "answers": list(answers),
                    "labels": list(labels),
                    "correct_option": _LETTERS[labels.index("correct")],
                },
            )

    def pairs(self, item: Item) -> Iterator[Pair]:
        """Return the answer with each hallucinated answer."""
        for each in item.row["hallucinated"]:
            yield Pair(item.row["answer"], each["text"], item.document, each["type"])

    def context(self, item: Item) -> dict[str, str]:
        """Return the question."""
        return {"question": item.row["question"]}

    def shown(self, item: Item) -> dict[str, str]:
        """Return the knowledge, the question, the answer, and the hallucinated answers with their types."""
        row = item.row
        listed = (f"{number}. [{each['type']}] {each['text']}" for number, each in enumerate(row["hallucinated"], 1))
        return {
            "knowledge": row["support"],
            "question": row["question"],
            "answer": row["answer"],
            "hallucinated answers": "\n".join(listed),
        }

    def parts_of(self, draft: Draft, document: str) -> Iterator[Part]:
        """Yield the answer, each hallucinated answer, and the label of each."""
        if not draft.drafted:
            return
        texts = {"knowledge": draft.drafted["support"], "question": draft.drafted["question"]}
        texts["correct answer"] = draft.drafted["answer"]
        yield Part("answer", draft.id, document, texts, draft.row is not None)
        for number, response in enumerate(draft.drafted["responses"]):
            id, hallucinated = f"{draft.id}-{number}", {**texts, "hallucinated answer": response["text"]}
            yield Part("response", id, document, hallucinated, response["kept"])
            labelled = {**hallucinated, "label": f"{response['type']} ({self.kinds[response['type']].name})"}
            yield Part("label", id, document, labelled, response["kept"])

    def key(self, item: Item) -> str:
        """Return the question."""
        return str(item.row["question"])

    def blamed(self, failure: Failure, draft: Draft) -> str | None:
        """Return the prompt whose reply failed the check; None if none did."""
        if failure.check == FORMAT:
            return _FORMATS.get(failure.reason.partition(":")[0])
        return {ANSWER: "question", HALLUCINATION: "hallucinate", LABEL: "label"}.get(failure.check)


def _distinct(row: Row) -> list[dict[str, str]]:
    """Return the hallucinated answers that differ from each other and from the answer in more than spelling."""
    seen = {_plain(row["answer"])}
    distinct = []
    for each in row["hallucinated"]:
        if (plain := _plain(each["text"])) not in seen:
            seen.add(plain)
            distinct.append(each)
    return distinct


def _plain(text: str) -> str:
    """Reduce a text to its letters and digits, folded, for comparison."""
    return re.sub(r"\W", "", fold(text))


def _shown(text: str) -> str:
    """Fence text of a document or a model, so that nothing in it can pass for a part of the prompt."""
    return fence(text)


def _answer_failures(right: Answer[list[Verdict]], detail: str) -> tuple[Failure, ...]:
    """Return the failure of the answer, if the verifier did not confirm it."""
    if right.value is None:
        return (Failure(ANSWER, f"unreadable verdict: {right.reason}", detail),)
    (verdict,) = right.value
    if verdict.value == YES:
        return ()
    reason = "uncertain" if verdict.value == "uncertain" else "not supported by the knowledge"
    return (Failure(ANSWER, reason, f"{detail}\nverifier: {verdict.reason}"),)


def _failures(
    detail: str,
    text: str,
    label: str,
    answer: str,
    wrong: Answer[list[Verdict]],
    fits: Answer[list[Verdict]],
    number: int,
) -> tuple[Failure, ...]:
    """Return the failures of one hallucinated answer, the one at index `number`."""
    detail = f"{detail}\nhallucinated: {text}"
    failures = []
    if _plain(text) == _plain(answer):
        failures.append(Failure(HALLUCINATION, "same as the answer", detail))
    for check, verdicts, denied in ((HALLUCINATION, wrong, "not wrong"), (LABEL, fits, "type does not fit")):
        context = detail if check == HALLUCINATION else f"{detail}\nlabel: {label}"
        if verdicts.value is None:
            failures.append(Failure(check, f"unreadable verdict: {verdicts.reason}", context))
        elif (verdict := verdicts.value[number]).value != YES:
            reason = "uncertain" if verdict.value == "uncertain" else denied
            failures.append(Failure(check, reason, f"{context}\nverifier: {verdict.reason}"))
    return tuple(failures)
