"""What a task is: its data, prompts, answer, scores and metrics, however they are declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import Prompt, next_question
from halu_tasks.data.hub import Dataset
from halu_tasks.data.locate import SAMPLE, Located, find_beside, is_sample
from halu_tasks.data.rows import Row, json_lines, read_rows, table_lines, table_rows
from halu_tasks.data.sources import Source
from halu_tasks.scorers.answer import Answer, Outcome
from halu_tasks.scorers.judge import JudgeSpec, Verdict
from halu_tasks.scorers.kinds import AnswerKind, Claims, Label
from halu_tasks.scorers.reading.declining import only_declines
from halu_tasks.scorers.reading.fields import structured_answer
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.registry import Reading, TaskScorer
from halu_tasks.scorers.score import Score, mark_empty
from halu_tasks.tasks.yaml_files import TaskFile

if TYPE_CHECKING:
    from halu_tasks.scorers.metrics import Metric

_LONGEST_TURN, _MOST_TURNS = 50_000, 3
"""How far a reply is searched for further questions, in characters, and how many of these are looked at.

Real replies that continue with another question after their answer do so much earlier.
"""


_IN_PAPER: Mapping[Outcome, Outcome] = {"abstained": "unparsed", "inferred": "answered"}


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


@dataclass(frozen=True, kw_only=True)
class TaskData:
    """Where the rows of a task come from, and how items are made of them.

    Attributes:
        source: Where the data come from.
        file: The name of the file under some options.
        fields: The fields that a row must have, with their types.
        check: Raises ValueError if a row is invalid.
        columns: The columns of a table, each with its other names; empty if the file is not a table.
        training: The file of the benchmark's training part; None if it has none.
        items: Makes items of rows, under some options; their prompts are not rendered yet.
        order: Orders the items that worked examples can be made of.
        size: The number of items in the published data, asked as published; None if it is not known.
    """

    source: Source
    file: Callable[[Options], str]
    fields: Mapping[str, type]
    check: Callable[[Row], None]
    columns: Mapping[str, Sequence[str]]
    training: str | None
    items: Callable[[Iterable[Row], Options], Iterable[Item]]
    order: Callable[[Iterable[Item], Options], list[Item]]
    size: int | None

    def rows(self, data: Located | Path) -> Iterator[Row]:
        """Read the rows of a file or dataset.

        Raises:
            DataError: A row is invalid, or there are none.
        """
        content, named = (data, {}) if isinstance(data, Path) else (data.content, data.columns)
        if self.columns:
            # the columns that the user named are part of the table's head
            return read_rows(self._table(content, named), content, self.fields, self.check)
        lines = json_lines(content) if isinstance(content, Path) else content.rows()
        return read_rows(lines, content, self.fields, self.check, named)

    def _table(self, content: Path | Dataset, named: Mapping[str, str]) -> Iterator[tuple[int, Row]]:
        if isinstance(content, Path):
            return table_lines(content, self.columns, named)
        return table_rows(content.rows(nulls=True), content, self.columns, named)

    def fewshot_rows(self, options: Options) -> Iterator[Row]:
        """Read the package's rows for worked examples, if there are any."""
        path = self.fewshot_path(options)
        return self.rows(path) if path.is_file() else iter(())

    def fewshot_path(self, options: Options) -> Path:
        """Return the path of these rows: the file for these options, or else for the default options."""
        folder = SAMPLE / "fewshot" / self.source.name
        path = folder / (self.training or self.file(options))
        return path if path.is_file() else folder / (self.training or self.file(Options()))

    def training_data(self, options: Options) -> Located | None:
        """Return the training part, which is pinned or in the user's folder; None if there is none."""
        return find_beside(self.source, self.training, options) if self.training else None

    def lacks_training(self, options: Options) -> bool:
        """Whether the benchmark has a training part that the user's data lack."""
        return self.training is not None and not is_sample(options.data) and not self.training_data(options)


class Wording(NamedTuple):
    """A prompt of a task, and the values of the options under which it replaces the usual one."""

    when: Mapping[str, Any]
    prompt: Prompt

    @property
    def suffix(self) -> str:
        """The suffix of the task's name under which a user's prompt file gives this wording."""
        return "".join(f"_{name if value is True else value}" for name, value in self.when.items())


@dataclass(frozen=True, kw_only=True)
class Prompts:
    """How a model is asked, and two replies that need no model.

    Attributes:
        fields: The names of the fields that an item has for prompts.
        wordings: The prompts; the first is the usual one.
        questions: The user texts of all prompts of the benchmark's packaged tasks. By them a reply is recognized that
            continues with another question.
        shots: The default number of worked examples.
        format: The solver that asks in the same way on users' samples.
        oracle: Makes the reply that earns the full score, which worked examples show.
        baseline: Makes a reply without knowing the answer; its score is a lower bound.
    """

    fields: tuple[str, ...]
    wordings: tuple[Wording, ...]
    questions: tuple[str, ...]
    shots: int
    format: str | None
    oracle: Callable[[Item], str]
    baseline: Callable[[Item], str]

    def wording(self, options: Options) -> Wording:
        """Return the wording that is used under `options`."""
        fitting = [
            wording
            for wording in self.wordings
            if all(getattr(options, name) == value for name, value in wording.when.items())
        ]
        return fitting[-1]


@dataclass(frozen=True)
class Subject:
    """The fields of an item that a detection method looks at; None if a task does not show such a part.

    Attributes:
        text: The text that may hallucinate.
        query: The question that the text answers.
        source: The source that has to support the text.
        evidence: Evidence that the task does not show, for methods that are asked to use it.
    """

    text: str
    query: str | None = None
    source: str | None = None
    evidence: str | None = None

    def of(self, fields: Mapping[str, str]) -> dict[str, str]:
        """Return the parts that are among the fields, under the names of the attributes."""
        return {part: fields[name] for part, name in vars(self).items() if name in fields}


@dataclass(frozen=True, kw_only=True)
class Task:
    """A benchmark task, as its YAML file defines it (`halu_tasks.tasks.definition`).

    Attributes:
        name: The name, the same in lm-eval, Inspect and on the command line.
        version: Changes when results stop being comparable.
        changed: The keys of the file that differ from the reference task's.
        file: The task file; for a task that was restored from a log, its path is a name for error messages.
        data: Where rows come from, and how items are made of them.
        prompts: How a model is asked.
        decoding: The paper's decoding.
        answer: The kind of answer that is asked for.
        scoring: The scorers by mode; every task has `strict` and `paper`.
        judged: What a judge is asked about each reply; None if no judge is needed.
        choices: The two answers of a task that can be answered by a probability, the one looked for first.
        subject: What a detection method looks at, for tasks with `choices`.
        task_options: The options, beyond those of every task, that change what is asked.
    """

    name: str
    version: int
    changed: tuple[str, ...]
    file: TaskFile
    data: TaskData
    prompts: Prompts
    decoding: Decoding
    answer: AnswerKind
    scoring: Mapping[str, TaskScorer]
    judged: JudgeSpec | None
    choices: tuple[str, str] | None
    subject: Subject | None
    task_options: tuple[str, ...]

    @property
    def about(self) -> str:
        """One line for listings."""
        return str(self.file.values["about"])

    @property
    def reference(self) -> str:
        """The packaged task that the definition comes from; a packaged task's own name."""
        return str(self.file.values["reference_task"])

    @property
    def benchmark(self) -> str:
        """The name of the task's source, which all tasks of a benchmark share."""
        return self.data.source.name

    def oracle(self, item: Item) -> str:
        """Return the reply that earns the full score."""
        return self.prompts.oracle(item)

    def baseline(self, item: Item) -> str:
        """Return a reply that does not know the answer."""
        return self.prompts.baseline(item)

    @property
    def headline(self) -> str:
        """The name of the metric that sums up the task in `strict`."""
        return self.headline_metric("strict").name

    def headline_metric(self, mode: str) -> Metric:
        """Return the metric that sums up the task in a mode, `strict` or `paper`."""
        return self.scoring[mode].metrics[0]

    def metrics_of(self, mode: str, scores: Sequence[Score]) -> tuple[Metric, ...]:
        """Return all metrics of the scores of a run in a mode, with those of several wordings if it has any.

        Args:
            mode: The mode, `strict` or `paper`.
            scores: The scores.
        """
        from halu_tasks.scorers.reader import was_read, with_reader
        from halu_tasks.scorers.wordings import with_wordings, wordings_of

        metrics = with_wordings(self.scoring[mode].metrics, wordings_of(scores))
        return with_reader(metrics) if self.read and was_read(scores) else metrics

    @property
    def read(self) -> Reading | None:
        """Reads the label that a reply states, as in strict but without the gold; None unless labels are asked for."""
        return self.answer.reading if isinstance(self.answer, Label) else None

    def reading_spec(self, mode: str) -> JudgeSpec | None:
        """Return what a model is asked that reads replies; None if there is no label to read in this mode."""
        from halu_tasks.scorers.reader import reader_spec

        if mode != "strict" or not isinstance(self.answer, Label) or isinstance(self.answer, Claims):
            return None
        return reader_spec(self.about, self.answer.labels)

    @property
    def labels(self) -> tuple[str, ...]:
        """The targets that a prediction may state as its own, because the question has an order."""
        return self.answer.labels if isinstance(self.answer, Label) and self.answer.target_varies else ()

    def score(
        self,
        mode: str,
        item: Item,
        reply: Reply,
        verdicts: Sequence[Verdict] | None = None,
    ) -> Score:
        """Score a reply.

        In `strict`, a reply that continues with another question after its answer is read up to that question.

        Args:
            mode: `strict` or `paper`.
            item: The item.
            reply: The reply.
            verdicts: For a judged task, the judge's verdicts; None if no judge was asked.
        """
        judged = self.judged is not None
        score = self._judged_score(mode, item, reply, verdicts) if judged else self._read_score(mode, item, reply)
        if mode == "strict":
            return mark_empty(score, reply.text)
        # in `paper` the authors tell neither these apart, nor empty replies from others
        told = _IN_PAPER.get(score.outcome)
        return replace(score, outcome=told) if told else score

    def _judged_score(
        self,
        mode: str,
        item: Item,
        reply: Reply,
        verdicts: Sequence[Verdict] | None,
    ) -> Score:
        labels = None if verdicts is None else [verdict.label for verdict in verdicts]
        text = self.judged_text(mode, item, reply.text)
        score = self.scoring[mode].score(item, text, labels)
        abstains = mode == "strict" and score.outcome == "answered" and only_declines(strip_reasoning(text) or "")
        outcome = "abstained" if abstains else score.outcome
        return replace(score, outcome=outcome, verdicts=verdicts or ())

    def _read_score(self, mode: str, item: Item, reply: Reply) -> Score:
        from halu_tasks.scorers.statistics.probability import with_probability  # imports numpy, which listings avoid

        for text in self._readings(mode, reply.text):
            score = self.scoring[mode].score(item, text, None)
            if score.outcome != "unparsed":
                break
        return with_probability(score, reply.probability)

    def label(self, reply: str) -> Answer[str]:
        """Read the label that a reply states, as in strict but without the gold, for tasks with `read`."""
        assert self.read
        for text in self._readings("strict", reply):
            answer = self.read(text)
            if answer.outcome != "unparsed":
                break
        return answer

    def judged_text(self, mode: str, item: Item, reply: str) -> str:
        """Return the part of a reply to a judged task that a judge is asked about."""
        assert self.judged
        if mode == "strict" and (answer := structured_answer(reply)):
            return answer
        parts = (text for text in self._readings(mode, reply) if self.judged and self.judged.questions(item, text))
        return next(parts, reply)

    def _readings(self, mode: str, reply: str) -> tuple[str, ...]:
        """Return the parts of a reply to read, in order, until one has an answer.

        In `strict` these are what precedes another question that the reply continues with, and the whole reply. A label
        must be declared before that question, since a reply that weighs an answer may repeat the item before it
        reaches its verdict. In `paper` it is always the whole reply.
        """
        if mode != "strict":
            return (reply,)
        ends = (end.start() for end in next_question(self.prompts.questions).finditer(reply[:_LONGEST_TURN]))
        before = [reply[:end] for end in islice(ends, _MOST_TURNS)]
        if self.read:
            return (next((text for text in before if self._declares_label(text)), reply),)
        return (*before[:1], reply)

    def _declares_label(self, text: str) -> bool:
        """Whether a text declares a label, or declines to."""
        assert self.read
        answer = self.read(text)
        return answer.outcome != "unparsed" and not answer.inferred
