"""What runs would ask, counted without asking: calls and tokens.

The messages are those of the run. The solver of a method runs as it does in Inspect, with a stand-in for all models:
its replies are those of `halu/oracle`, or what the method supposes, with filler up to the limit of tokens, so that
neither a reply nor a later prompt that contains it is longer in the run.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from halu_tasks.core.errors import HaluTasksError, UsageError, unknown
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options, Price
from halu_tasks.core.prompting import messages
from halu_tasks.runs.command import flags
from halu_tasks.runs.models import LOADED, HarnessModel, folder_name
from halu_tasks.runs.run import ModelRun
from halu_tasks.scorers.judge import JudgeSpec, verdict_schema
from halu_tasks.tasks import Evaluation, Task, build

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

Counted = Literal["exactly", "at most", "about", "at least"]
Size = Callable[[str], int]
MODEL = "model"
"""The part of the model under test."""
BYTES = 4
"""The bytes of a token where the tokenizer is not on this machine."""
_FILLER = "abc "


class Planned(NamedTuple):
    """What a run asks one model for a task.

    Attributes:
        run: The name of the run.
        task: The name of the task.
        part: What the model is: `model`, `judge`, `reader`, or the role of a method.
        model: Its name.
        counted: How the calls of the run differ from these: `exactly` none; `at most`, since a judge is not asked about
            a blank reply, or again about the same; `about`, since a reply decides what else is asked, or comes from the
            cache; `at least`, since a model may call a tool.
        calls: The number of calls, without retries and the short question whether a model answers.
        input_tokens: The tokens of all prompts.
        output_tokens: The most tokens that all replies can have.
    """

    run: str
    task: str
    part: str
    model: str
    counted: Counted
    calls: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class Rates:
    """What tokens cost, and how fast models answer.

    Attributes:
        prices: The prices by name of a model; that of all others has no name.
        calls_per_minute: The calls that a model answers in a minute; None if they are not limited.
        tokens_per_second: The input and output tokens of a second; None if they are not limited.
    """

    prices: Mapping[str, Price]
    calls_per_minute: int | None = None
    tokens_per_second: int | None = None

    def rows(self, planned: Sequence[Planned]) -> list[dict[str, Any]]:
        """Return what is planned, with `dollars` and `hours`, None if they are not known; the last of several is the sum.

        Raises:
            UsageError: A price is of a model that is not asked.
        """
        prices = {name and folder_name(name): price for name, price in self.prices.items()}
        models = {folder_name(row.model) for row in planned}
        if planned and (strange := prices.keys() - models - {""}):
            raise UsageError(f"price: {unknown('model', min(strange), sorted(models))}")
        rows = []
        for row in planned:
            price = prices.get(folder_name(row.model), prices.get(""))
            dollars = price and price.of(row.input_tokens, row.output_tokens)
            rows.append({**row._asdict(), "dollars": dollars, "hours": self._hours(row)})
        if len(rows) > 1:
            sums = {
                name: None if any(row[name] is None for row in rows) else sum(row[name] for row in rows)
                for name in (*Planned._fields[5:], "dollars", "hours")
            }
            weakest = max((row.counted for row in planned), key=get_args(Counted).index)
            rows.append({**dict.fromkeys(rows[0], ""), "run": "sum", "counted": weakest, **sums})
        return rows

    def _hours(self, row: Planned) -> float | None:
        by_calls = row.calls / self.calls_per_minute / 60 if self.calls_per_minute else None
        tokens = row.input_tokens + row.output_tokens
        by_tokens = tokens / self.tokens_per_second / 3600 if self.tokens_per_second else None
        return max((hours for hours in (by_calls, by_tokens) if hours is not None), default=None)


def planned_calls(runs: Sequence[ModelRun], tasks: Iterable[Task], refuse: Callable[[str], object]) -> list[Planned]:
    """Count what runs would ask for their tasks without a result.

    Args:
        runs: The runs, with the same options of tasks.
        tasks: The tasks.
        refuse: Called with a line about each task that a run cannot ask, such as one that its method does not fit.

    Raises:
        HaluTasksError: A task does not support an option, or its data cannot be read.
    """
    missing = [(run, run.missing()) for run in runs]
    rows: dict[str, list[Planned]] = {run.name: [] for run in runs}
    for task in tasks:
        asking = [run for run, names in missing if task.name in names]
        if asking:
            options = Options(**{"fewshot": task.prompts.shots, **asking[0].options})
            evaluation = build(task, options.for_tasks(task.prompts.task_options))
        for run in asking:
            try:
                rows[run.name] += _Counter(run, evaluation).rows()
            except HaluTasksError as error:
                refuse(f"{run.name}: {task.name}: {error}")
    return [row for of_run in rows.values() for row in of_run]


class _Counter:
    """Answers in the place of all models of a run on a task, and counts what each is asked."""

    def __init__(self, run: ModelRun, evaluation: Evaluation) -> None:
        self._run, self._evaluation = run, evaluation
        words = " ".join([*flags(run.model.options, dashes=run.model.harness == "inspect"), *run.further])
        self._epochs = int(_last(r"--epochs\D(\d+)", words) or 1)
        self._longest = int(_last(r"(?:--max-tokens|max_gen_toks)\D+(\d+)", words) or evaluation.decoding.max_tokens)
        self._roles = dict(re.findall(r"--model-role[ =](\w+)=(?:\{ *model: *)?([^\s,}]+)", words))
        self._size = tokenizer_of(run.model) or _by_bytes
        self._counts: dict[tuple[str, str], list[int]] = {}
        self._ways: dict[tuple[str, str], Counted] = {}
        self._model = MODEL, run.model.name
        self._usual: Counted = "exactly"
        self._known: set[int] = set()
        self._reply = ""
        self._judges = list(self._judges_of_run())

    def _judges_of_run(self) -> Iterable[tuple[tuple[str, str], JudgeSpec]]:
        options, judged, reader = self._evaluation.options, self._evaluation.task.judged, self._evaluation.reader
        if judged and (name := self._roles.get("grader", options.judge)):
            yield ("judge", name), judged
        if reader:
            yield ("reader", self._roles.get("reader", str(options.reader))), reader

    def rows(self) -> list[Planned]:
        """Ask everything, and return what was counted."""
        items = islice(self._evaluation.stream(), self._run.limit)
        if self._run.method:
            self._run_method(list(items))
        else:
            self._ask_plainly(items)
        named = self._run.name, self._evaluation.task.name
        return [
            Planned(*named, *asked, self._ways.get(asked, self._usual), *(self._epochs * number for number in counts))
            for asked, counts in self._counts.items()
        ]

    def _ask_plainly(self, items: Iterable[Item]) -> None:
        evaluation = self._evaluation
        weighs = evaluation.asks_for_probability and self._run.model.harness == "lm_eval"
        for item in items:
            prompt = "\n".join(message["content"] for message in messages(item, evaluation.examples))
            for choice in evaluation.task.rules.choices or () if weighs else ():
                self._count(self._model, prompt + choice, 0)
            if not weighs:
                self._count(self._model, prompt, self._longest)
                self._judge(item, [self._filled(evaluation.oracle(item), self._longest, item.id)])

    def _run_method(self, items: Sequence[Item]) -> None:
        from inspect_ai.model import ModelName
        from inspect_ai.scorer import Target
        from inspect_ai.solver import TaskState

        from halu_tasks.inspect_adapter.tasks import samples_of
        from halu_tasks.judging.reaching import run_blocking
        from halu_tasks.solvers import method_named
        from halu_tasks.solvers.asking import MethodRecord, stand_in

        name = ModelName(f"none/{self._run.model.name}")
        solver = method_named(self._run.method, self._run.method_arguments)

        async def generate(state: TaskState, **_: Any) -> TaskState:
            state.output = self._answer(state.messages, None, (0, False), False, None)
            return state

        async def solve() -> None:
            stand_in.set(self._answer)
            for item, sample in zip(items, samples_of(self._evaluation), strict=False):
                self._reply = self._evaluation.oracle(item)
                asked = list(sample.input)
                place: Any = (name, item.id, 1, asked, list(asked), Target(sample.target))
                state = await solver(TaskState(*place, metadata=dict(sample.metadata or {})), generate)
                draft = MethodRecord.from_metadata(state.output.metadata).draft
                self._judge(item, [state.output.completion, *([draft] if draft else [])])

        # what a method warns of here, such as missing log-probabilities, is of the stand-in
        logging.disable(logging.WARNING)
        try:
            run_blocking(solve)
        finally:
            logging.disable(logging.NOTSET)

    def _answer(
        self, prompt: Any, role: str | None, draw: tuple[int, bool], tools: bool, supposed: Any, **config: Any
    ) -> ModelOutput:
        """Count a call and answer it; the arguments are those of `solvers.asking.ask`."""
        from inspect_ai.model import ModelOutput

        text = prompt if isinstance(prompt, str) else "\n".join(message.text for message in prompt)
        asked = (role, self._roles[role]) if role and role in self._roles else self._model
        longest = config.get("max_tokens") or self._longest
        call = hash((asked, text, draw, str(config)))
        if tools:
            self._ways[asked] = "at least"
        if supposed or call in self._known:
            self._usual = "about"
        if call not in self._known:
            self._count(asked, text, longest)
        if draw[1]:
            self._known.add(call)
        reply = (supposed() if supposed else "") or (self._reply if not config else "")
        return ModelOutput.from_content("none", self._filled(reply, longest, call))

    def _judge(self, item: Item, replies: Sequence[str]) -> None:
        """Count the questions about the replies to an item."""
        if not self._judges:
            return
        from halu_tasks.judging.judge import SETTINGS

        task, mode = self._evaluation.task, self._evaluation.options.scoring
        for asked, judging in self._judges:
            self._ways[asked] = "about" if judging.coverage else "at most"
            texts = [task.judged_text(mode, item, reply) if task.judged else reply for reply in replies]
            schema = json.dumps(verdict_schema(judging.read))
            for text in {judging.text(fields) for reply in texts for fields in judging.questions(item, reply)}:
                self._count(asked, text + schema, SETTINGS.max_tokens or 0)

    def _count(self, asked: tuple[str, str], text: str, longest: int) -> None:
        counts = self._counts.setdefault(asked, [0, 0, 0])
        counts[0] += 1
        counts[1] += (self._size if asked == self._model else _by_bytes)(text)
        counts[2] += longest

    def _filled(self, reply: str, longest: int, call: object) -> str:
        """Return a reply as long as it can be, which differs from that to every other call."""
        text = f"{reply}\n{call} "
        return text + _FILLER * (longest - _by_bytes(text))


def _last(pattern: str, words: str) -> str | None:
    return next(reversed(re.findall(pattern, words)), None)


def _by_bytes(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // BYTES)


def tokenizer_of(model: HarnessModel) -> Size | None:
    """Return what counts the tokens of a text as a model does whose tokenizer is on this machine; None without it."""
    if not {model.provider, model.model} & {*LOADED}:
        return None
    name = str(model.arguments.get("pretrained") or model.at_provider)
    path: Any = Path(name).expanduser() / "tokenizer.json"
    with suppress(ImportError, ValueError):  # the latter of a name that is none on the Hub
        from huggingface_hub import try_to_load_from_cache
        from tokenizers import Tokenizer

        if not path.is_file():
            path = try_to_load_from_cache(name, path.name, revision=model.arguments.get("revision"))
        if isinstance(path, str | Path):
            tokenizer = Tokenizer.from_file(str(path))
            return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
    return None
