"""What a task is: its data, prompts, answer, scores and metrics, apart from where these are declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.data.locate import SAMPLE, find_beside, is_sample
from halu_tasks.data.rows import Lines, Row, json_lines, read_rows
from halu_tasks.data.sources import Source
from halu_tasks.items import Case, Item, Reply
from halu_tasks.options import Options
from halu_tasks.prompting import Prompt, next_question
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.kinds import AnswerKind, Label
from halu_tasks.scorers.reading.judge import JudgeSpec, Verdict
from halu_tasks.scorers.registry import Reading, TaskScorer
from halu_tasks.scorers.score import Score, mark_empty

# No real reply that answers before it asks itself another question is longer, or repeats its own item more often.
_LONGEST_TURN, _MOST_TURNS = 50_000, 3


@dataclass(frozen=True)
class Decoding:
    """The paper's decoding. Both harnesses let users override each value."""

    max_tokens: int
    temperature: float = 0.0
    top_p: float | None = None

    def as_json(self) -> dict[str, float]:
        """Convert to JSON under lm-eval's names; a `top_p` that is None is left out."""
        top_p = {} if self.top_p is None else {"top_p": self.top_p}
        return {"max_gen_toks": self.max_tokens, "temperature": self.temperature, **top_p}


@dataclass(frozen=True)
class Reader:
    """How a benchmark's rows are read: which file for which options, what a valid row is, how the file's
    format is read, and the file of the benchmark's training part, where it has one.
    """

    source: Source
    file: Callable[[Options], str]
    fields: Mapping[str, type]
    check: Callable[[Row], None]
    lines: Lines = json_lines
    training: str | None = None

    def rows(self, path: Path) -> Iterator[Row]:
        """The rows of a file. Raises DataError as `read_rows` does."""
        return read_rows(path, self.fields, self.check, self.lines)

    def fewshot_rows(self, options: Options) -> Iterator[Row]:
        """The package's own rows for worked examples; none where the package has none."""
        path = self.fewshot_path(options)
        return self.rows(path) if path.is_file() else iter(())

    def fewshot_path(self, options: Options) -> Path:
        """Where they lie: under the name of the file that the options choose, where the package has one, else
        of the default one.
        """
        folder = SAMPLE / "fewshot" / self.source.name
        chosen = folder / (self.training or self.file(options))
        return chosen if chosen.is_file() else folder / (self.training or self.file(Options()))

    def training_path(self, options: Options) -> Path | None:
        """The training part, pinned or in the folder that the user named; None where there is none."""
        return find_beside(self.source, self.training, options.data) if self.training else None


class Subject(NamedTuple):
    """What a detection method looks at in an item, each part by the name of its field: the text that may
    hallucinate, the question that it answers, and the source that has to support it; None where a task does not
    show such a part. `evidence` is not shown and only for a method that is told to use it.
    """

    text: str
    query: str | None = None
    source: str | None = None
    evidence: str | None = None

    def of(self, fields: Mapping[str, str]) -> dict[str, str]:
        """The parts that the fields have, under the names `text`, `query`, `source` and `evidence`."""
        return {part: fields[name] for part, name in self._asdict().items() if name in fields}


class Wording(NamedTuple):
    """One prompt of a task, and the values of the options under which it is used instead of the task's first."""

    when: Mapping[str, Any]
    prompt: Prompt

    @property
    def suffix(self) -> str:
        """What a user's prompt file puts behind the task's name to give this wording."""
        return "".join(f"_{name if value is True else value}" for name, value in self.when.items())


@dataclass(frozen=True, kw_only=True)
class Task:
    """One benchmark task, as its YAML file defines it (`halu_tasks.tasks.definition`).

    Attributes:
        name: the same in lm-eval, Inspect and on the command line.
        reference: the name of the packaged task that the definition comes from; of a packaged task its own.
        changed: keys of the definition that differ from the reference task's.
        version: changes when results stop being comparable.
        about: one line for listings.
        size: number of items in the published data, asked as published; None where it is not known.
        reader: where rows come from.
        cases: rows and options -> cases.
        fields: the names of the fields that a case has for prompts.
        wordings: the prompts; the first is the usual one.
        questions: the user texts of all prompts of the benchmark's packaged tasks, by which a reply is recognized that
            goes on to ask itself another question.
        answer: the kind of answer that is asked for.
        scoring: by mode; every task has `strict` and `paper`.
        headline: the metric that sums the task up.
        decoding: the paper's.
        oracle: the reply that earns the full score, shown in worked examples.
        baseline: a reply made without knowing the answer; a floor.
        shots: number of worked examples that the task has of its own, zero-shot being none.
        examples: puts the cases that worked examples can be made of into the order in which they are shown.
        task_options: options beyond those of every task that change what it asks.
        judged: what a judge is asked about each reply; None when no judge is needed.
        choices: the two answers, the one that is looked for first, of a task that may be answered by a
            probability.
        subject: what a detection method looks at, for tasks with `choices`.
        prompt_format: the solver that asks in the same way on a user's own samples.
        inspect_module: the module of `halu_tasks` that holds the task for Inspect.
        definition: the keys and values of the task file, as JSON.
        path: the task file; of a task that was restored from a log, what stands for it in errors.
    """

    name: str
    reference: str
    changed: tuple[str, ...]
    version: int
    about: str
    size: int | None
    reader: Reader
    cases: Callable[[Iterable[Row], Options], Iterable[Case]]
    fields: tuple[str, ...]
    wordings: tuple[Wording, ...]
    questions: tuple[str, ...]
    answer: AnswerKind
    scoring: Mapping[str, TaskScorer]
    headline: str
    decoding: Decoding
    oracle: Callable[[Item], str]
    baseline: Callable[[Item], str]
    shots: int
    examples: Callable[[Iterable[Case], Options], list[Case]]
    task_options: tuple[str, ...]
    judged: JudgeSpec | None
    choices: tuple[str, str] | None
    subject: Subject | None
    prompt_format: str | None
    inspect_module: str
    definition: Mapping[str, Any]
    path: Path

    @property
    def read(self) -> Reading | None:
        """The label that a reply states, read as in strict but without the gold; None where the answer is no label."""
        return self.answer.reading if isinstance(self.answer, Label) else None

    @property
    def labels(self) -> tuple[str, ...]:
        """The targets that a prediction may name as its own, where the question has an order."""
        return self.answer.labels if isinstance(self.answer, Label) and self.answer.target_varies else ()

    def score(self, mode: str, item: Item, reply: Reply, verdicts: Sequence[Verdict] | None = None) -> Score:
        """The score of a reply in `strict` or `paper`, given the judge's verdicts where the task is judged. In
        strict, a reply that goes on to ask itself another question behind its answer is read up to there.
        """
        from halu_tasks.scorers.statistics.probability import with_probability  # numpy, which listings do without

        score = self.scoring[mode].score
        if self.judged:
            labels = None if verdicts is None else [verdict.label for verdict in verdicts]
            found = score(item, self.judged_text(mode, item, reply.text), labels)
            found = replace(found, verdicts=[verdict._asdict() for verdict in verdicts or ()])
        else:
            for text in self._readings(mode, reply.text):
                found = score(item, text, None)
                if found.outcome != "unparsed":
                    break
            found = with_probability(found, reply.probability)
        if mode == "paper" and found.outcome == "abstained":
            return replace(found, outcome="unparsed")
        # in `paper` a reply without content stays what the authors count it as
        return mark_empty(found, reply.text) if mode == "strict" else found

    def label(self, reply: str) -> Answer[str]:
        """The label that a reply states, read as in strict but without the gold, for tasks with `read`."""
        assert self.read
        for text in self._readings("strict", reply):
            found = self.read(text)
            if found.outcome != "unparsed":
                break
        return found

    def judged_text(self, mode: str, item: Item, reply: str) -> str:
        """What a judge is asked about, of a reply to a judged task."""
        assert self.judged
        asked = (text for text in self._readings(mode, reply) if self.judged and self.judged.questions(item, text))
        return next(asked, reply)

    def _readings(self, mode: str, reply: str) -> tuple[str, ...]:
        """What to read of a reply in strict, one after the other until something is read: what stands before another
        question that it goes on to ask itself, and all of it, as always in paper. A label has to be declared before
        the question, since a reply that weighs an answer may repeat the item before it comes to its verdict.
        """
        if mode != "strict":
            return (reply,)
        ends = (end.start() for end in next_question(self.questions).finditer(reply[:_LONGEST_TURN]))
        before = [reply[:end] for end in islice(ends, _MOST_TURNS)]
        if self.read:
            return (next((text for text in before if self._answered(text)), reply),)
        return (*before[:1], reply)

    def _answered(self, text: str) -> bool:
        """Whether the text declares a label, or declines to."""
        assert self.read
        answer = self.read(text)
        return answer.outcome != "unparsed" and not answer.inferred

    def own_prompt(self, options: Options) -> Prompt:
        """The prompt that asks the task under `options`."""
        return self.wording(options).prompt

    def wording(self, options: Options) -> Wording:
        """The wording that is used under `options`."""
        fitting: list[Wording] = [
            wording
            for wording in self.wordings
            if all(getattr(options, name) == value for name, value in wording.when.items())
        ]
        return fitting[-1]

    def lacks_training(self, options: Options) -> bool:
        """Whether the benchmark has a training part and the data that the user named have it not."""
        reader = self.reader
        return reader.training is not None and not is_sample(options.data) and not reader.training_path(options)

    @property
    def benchmark(self) -> str:
        return self.reader.source.name
