"""HaluAgent, the construction of C-FAITH (Zhang et al. 2025, section 3).

Agents generate questions that provoke a type of hallucination, their answers, hallucinated answers and labels; each
result is verified by another agent.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from halu_tasks.benchmarks.cfaith import TYPES
from halu_tasks.builders.documents import Document, SourceText
from halu_tasks.builders.pipeline import Ask, Draft, Fault, Pipeline, Row, TextPair, some_of
from halu_tasks.builders.replies import objections, read_objects, read_texts, read_verdicts
from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import UsageError
from halu_tasks.core.settings import Count, Help
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.judge import fence
from halu_tasks.text.folding import fold

RESPONSES = 3
"""Number of hallucinated answers per question (section 3.3)."""

FORMAT, ANSWER, HALLUCINATION, LABEL = "format", "answer", "hallucination", "label"
_BLAMED = {ANSWER: ("question",), HALLUCINATION: ("hallucinate",), LABEL: ("label", "types")}
# how reasons of format faults begin, and the prompt whose reply had the wrong format
_BLAMED_FORMATS = {"question": "question", "hallucinated answers": "hallucinate", "labels": "label"}
_RELEASED = {name: label for label, name in TYPES.items()}
# a definition goes on until the next one begins, so it may have lines of examples
_NAME = f"({'|'.join(_RELEASED)}) ([^:：\n]+)[:：]"
_DEFINITION = re.compile(rf"(?ms)^{_NAME}[ \t]*(.+?)\s*(?=^{_NAME}|\Z)")
_LETTERS = "ABCD"


@dataclass(frozen=True)
class HaluAgent(Pipeline):
    """Generate questions for each type of hallucination, with an answer and hallucinated answers.

    Each question has an answer with a supporting sentence from the document, and three hallucinated answers with a
    label each. Everything is verified, then written as open questions, single choice, and true or false.
    """

    name = "haluagent"
    version = 1
    about = "questions with hallucinated answers in three formats (C-FAITH)"
    benchmark = "cfaith"
    paper = "cfaith"
    checks = (FORMAT, ANSWER, HALLUCINATION, LABEL)
    prompts_used = (
        *("types", "question", "hallucinate", "label"),
        *("check_answer", "check_hallucination", "check_label", "check_types", "choice"),
    )
    generating = ("types", "question", "hallucinate", "label")

    language: Annotated[str, Help("language of the documents and the prompts (ISO 639-1)")] = "zh"
    types: Annotated[
        tuple[str, ...], some_of(_RELEASED), Help(f"types of hallucination to ask for: {', '.join(_RELEASED)}")
    ] = tuple(_RELEASED)
    questions: Annotated[Count, Help("number of questions per type and document")] = 1
    examples: Annotated[bool, Help("prompts with example inputs and outputs, as the paper's")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for prompt in ("types", "check_types"):
            if missing := [name for name in _RELEASED if name not in _kinds_of(self.texts[prompt])]:
                entry = f"{self.name}_{prompt}_{self.language}"
                raise UsageError(f"prompt {entry} does not define {missing[0]}; add a line that begins with it")

    @property
    def variant(self) -> str:
        """The wording of the prompts: that with examples, if they are wanted."""
        return "with_examples" if self.examples else ""

    @property
    def kinds(self) -> dict[str, tuple[str, str]]:
        """The types by the paper's names: their names in the prompts' language and their definitions."""
        return _kinds_of(self.texts["types"])

    # --- drafts -----------------------------------------------------------------------------------

    async def drafts(self, document: Document, ask: Ask) -> list[Draft]:
        """Return the drafts of all types, in the order of the option `types`."""
        source = SourceText(document.text)
        by_type = await gather(*(self._of_type(document, source, kind, ask) for kind in self.types))
        return [draft for drafts in by_type for draft in drafts]

    async def _of_type(self, document: Document, source: SourceText, kind: str, ask: Ask) -> list[Draft]:
        """Return a draft for each requested question of a type, including those the model did not write."""
        name, definition = self.kinds[kind]
        shown = {"document": fence(document.text), "type": name, "definition": definition}
        reply = await self.generate(ask, "question", number=str(self.questions), **shown)
        questions = read_objects(reply, "question", "answer", "support")
        rows = (questions.value or [])[: self.questions]
        drafts = (self._draft(document, source, kind, str(place), row, ask) for place, row in enumerate(rows))
        fault = Fault(FORMAT, f"question: {questions.reason or 'fewer than requested'}")
        missing = map(str, range(len(rows), self.questions))
        return [*await gather(*drafts), *(self.rejected(fault, document, kind, kind, place) for place in missing)]

    async def _draft(self, document: Document, source: SourceText, kind: str, place: str, row: Row, ask: Ask) -> Draft:
        """Ask for hallucinated answers to a question and for their labels, and verify everything."""
        detail = f"Q: {row['question']}\nA: {row['answer']}\nsupport: {row['support']}"

        def rejected(reason: str, more: str = "") -> Draft:
            return self.rejected(Fault(FORMAT, reason, detail + more), document, kind, kind, place)

        if not source.holds(row["support"]):
            return rejected("question: support is not in the document")
        facts = {name: fence(row[key]) for name, key in _FACTS.items()}
        texts = read_texts(await self.generate(ask, "hallucinate", **facts), RESPONSES)
        if texts.value is None:
            return rejected(f"hallucinated answers: {texts.reason}")
        numbered = _numbered(texts.value)
        shown = {**facts, "responses": fence(numbered), "types": self.texts["types"]}
        labels = self._labels(await self.generate(ask, "label", **shown))
        if labels.value is None:
            return rejected(f"labels: {labels.reason}", f"\n{numbered}")
        answers = [{"text": text, "type": label} for text, label in zip(texts.value, labels.value, strict=True)]
        claims = _numbered([f"{each['text']}\n   → {self.kinds[each['type']][0]}" for each in answers])
        labelled = {**shown, "responses": fence(claims), "types": self.texts["check_types"]}
        right, wrong, fits = await gather(
            self.verify(ask, "check_answer", **facts),
            self.verify(ask, "check_hallucination", **shown),
            self.verify(ask, "check_label", **labelled),
        )
        faults = objections(ANSWER, read_verdicts(right, 1)[0], "not supported by the knowledge", detail)
        is_supported, valid = not faults, list[dict[str, str]]()
        verdicts = zip(answers, read_verdicts(wrong, RESPONSES), read_verdicts(fits, RESPONSES), strict=True)
        for answer, is_wrong, fit in verdicts:
            about = f"{detail}\nhallucinated: {answer['text']}"
            same = _plain(answer["text"]) == _plain(row["answer"])
            objected = (
                *([Fault(HALLUCINATION, "same as the answer", about)] if same else []),
                *objections(HALLUCINATION, is_wrong, "not wrong", about),
                *objections(LABEL, fit, "type does not fit", f"{about}\nlabel: {answer['type']}"),
            )
            faults += objected
            valid += [answer] if is_supported and not objected else []
        title = str(document.fields.get("title") or document.id)
        item = {**row, "title": title, "hallucinated": valid} if valid else {}
        provoked = _most_frequent([answer["type"] for answer in valid], kind)
        return Draft.of(document, provoked, kind, place, checks=self.checks, faults=faults, row=item)

    def _labels(self, reply: str) -> Answer[list[str]]:
        """Read the types that a reply names, as the paper's names."""
        texts = read_texts(reply, RESPONSES)
        if texts.value is None:
            return texts
        spellings = {
            fold(word): name for name, (local, _) in self.kinds.items() for word in (name, local, _RELEASED[name])
        }
        names = [spellings.get(fold(text), "") for text in texts.value]
        return Answer(names) if all(names) else Answer(None, "an unknown type")

    def blamed(self, fault: Fault, draft: Draft) -> tuple[str, ...]:
        """Return the prompts whose reply failed the check; for a label also the definitions of types."""
        if fault.check == FORMAT:
            prompt = _BLAMED_FORMATS.get(fault.reason.partition(":")[0])
            return (prompt,) if prompt else ()
        return _BLAMED.get(fault.check, ())

    def unusable(self, name: str, text: str) -> str:
        """Return which type's name a rewritten definition lacks or changes, by which replies are read."""
        if name != "types":
            return ""
        new = _kinds_of(text)
        changed = (each for each, (local, _) in self.kinds.items() if new.get(each, ("", ""))[0] != local)
        return next((f"leaves out or renames {each}" for each in changed), "")

    # --- items ------------------------------------------------------------------------------------

    def lines(self, item: Draft) -> Iterator[tuple[str, Row]]:
        """Return the item's rows of the three files; single choice needs three different hallucinated answers."""
        row = item.row
        question, answer = row["question"], row["answer"]
        first = next(each for each in row["hallucinated"] if each["type"] == item.kind)
        shared = {"reason": row["support"], "halu_type": _RELEASED[item.kind], "ent": row["title"]}
        generative = {"question": question, "correct_answer": answer, **shared, "halu_answer": first["text"]}
        yield "generative_qa.jsonl", generative
        for text, right in ((answer, True), (first["text"], False)):
            yield "true_false_qa.jsonl", {"question": question, "answer": text, "label": right, **shared}
        options = [(answer, "correct"), *((each["text"], _RELEASED[each["type"]]) for each in _distinct(row))]
        if len(options) == len(_LETTERS):
            options.sort(key=lambda option: self.draw(item.id, option[0]))
            answers, labels = zip(*options, strict=True)
            listed = "\n".join(f"{letter}. {text}" for letter, text in zip(_LETTERS, answers, strict=True))
            choice = {
                "question": self.prompt("choice", question=question, options=listed),
                "answers": list(answers),
                "labels": list(labels),
                "correct_option": _LETTERS[labels.index("correct")],
            }
            yield "single_choice_qa.jsonl", choice

    def pairs(self, item: Draft) -> Iterator[TextPair]:
        """Return the answer with each hallucinated answer."""
        for each in item.row["hallucinated"]:
            yield TextPair(item.row["answer"], each["text"], {"question": item.row["question"]})

    def parts(self, item: Draft) -> dict[str, dict[str, str]]:
        """Return the answer, each hallucinated answer, and each with its type: Table 2 has labels of each.

        The names are those of the checks.
        """
        shown = {name: item.row[key] for name, key in _FACTS.items()}
        parts = {ANSWER: shown}
        for number, each in enumerate(item.row["hallucinated"], 1):
            parts[f"{HALLUCINATION} {number}"] = {**shown, "hallucinated answer": each["text"]}
            parts[f"{LABEL} {number}"] = {**shown, "hallucinated answer": each["text"], "its type": f"[{each['type']}]"}
        return parts

    def annotated(self, item: Draft, labels: Mapping[str, str | None]) -> Draft | None:
        """Return the item with the hallucinated answers that are valid with their types; None without any of them."""
        valid = {part for part, label in labels.items() if label == self.labels[0]}
        numbered = enumerate(item.row["hallucinated"], 1)
        answers = [each for n, each in numbered if {f"{HALLUCINATION} {n}", f"{LABEL} {n}"} <= valid]
        if ANSWER not in valid or not answers:
            return None
        kind = _most_frequent([each["type"] for each in answers], item.kind)
        return replace(item, kind=kind, row={**item.row, "hallucinated": answers})

    def key(self, item: Draft) -> str:
        """Return the question."""
        return str(item.row["question"])


# fields of a row by the names under which models and annotators see them
_FACTS = {"knowledge": "support", "question": "question", "answer": "answer"}


def _kinds_of(text: str) -> dict[str, tuple[str, str]]:
    """Read definitions of the form `NAME local name: definition`."""
    return {match[1]: (match[2], match[3]) for match in _DEFINITION.finditer(text)}


def _most_frequent(types: Sequence[str], asked_for: str) -> str:
    """Return the type that a question provokes: the most frequent one of its hallucinated answers (section 4.1).

    Among equally frequent ones, it is the type that was asked for, or the first.
    """
    counts = Counter(types)
    return max(counts, key=lambda each: (counts[each], each == asked_for, -types.index(each)), default=asked_for)


def _numbered(texts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))


def _distinct(row: Mapping[str, list[dict[str, str]]]) -> list[dict[str, str]]:
    """Return the hallucinated answers that differ from each other and from the answer in more than spelling."""
    distinct: dict[str, dict[str, str]] = {}
    for each in row["hallucinated"]:
        distinct.setdefault(_plain(each["text"]), each)
    distinct.pop(_plain(str(row["answer"])), None)
    return [*distinct.values()]


def _plain(text: str) -> str:
    """Reduce a text to its letters and digits, folded, for comparison."""
    return re.sub(r"\W", "", fold(text))
