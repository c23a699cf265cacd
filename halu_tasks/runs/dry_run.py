"""What runs would ask, counted without asking: calls, tokens, dollars and hours.

The messages are those of the run. The solver of a method runs as in Inspect, with a stand-in for all models. It replies
as `halu/oracle` does, or as the method supposes, with filler up to the token limit: no reply of the run, nor a later
prompt that contains it, can be longer.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

from click import ClickException
from inspect_ai._cli.eval import eval_set_command  # inspect-evals-lint: ignore[IECQ001] -- has no public name
from inspect_ai._util.generate_config_args import (  # inspect-evals-lint: ignore[IECQ001] -- has no public name
    config_from_locals,
)
from inspect_ai.model import ChatMessage, ChatMessageUser, GenerateConfig, ModelName, ModelOutput
from inspect_ai.scorer import Target
from inspect_ai.solver import TaskState

from halu_tasks.core.errors import UsageError, unknown
from halu_tasks.core.hashing import short_hash
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options, Price
from halu_tasks.inspect_adapter.task_factories import first_config, samples_of
from halu_tasks.judging.judge_model import LIST_TOKENS, SETTINGS
from halu_tasks.judging.reaching import FirstRequest, run_blocking
from halu_tasks.knowledge import open_knowledge
from halu_tasks.replies import embedded
from halu_tasks.runs.child_process import flags
from halu_tasks.runs.run_tasks import ModelRun
from halu_tasks.scorers.judge import verdict_schema
from halu_tasks.solvers.methods import get_method
from halu_tasks.solvers.model_calls import MethodRecord, chat_messages, dry_run_model
from halu_tasks.tasks import Evaluation, Task, build

_IN_USER = "add --system-in-user, which puts the system text before the first user turn"
# a reply of as many tokens is made, to count what a judge is asked
_MOST_TOKENS = 100_000_000
_ADVICE = {
    "inspect": (_IN_USER, "set what it names otherwise after --, such as -- --temperature 1"),
    "lm_eval": (
        _IN_USER,
        "set what it names otherwise after --, such as -- --gen_kwargs temperature=1, or use --harness inspect, which "
        "sends neither seed nor stop",
    ),
}

Exactness = Literal["exactly", "at most", "about", "at least"]
# what a called model is (`CallPlan.part`), and its name
Callee = tuple[str, str]


class CallPlan(NamedTuple):
    """What a run asks one model for a task.

    Attributes:
        run: The name of the run.
        task: The name of the task.
        part: What the model is: `model`, `judge`, `reader`, or the role of a method.
        model: Its name.
        counted: How the calls of the run differ from these: `exactly` none; `at most`, since a judge is not asked about
            a blank reply, and nothing is asked whose answer is in a cache; `about`, since a reply decides what else is
            asked; `at least`, since a model may call a tool.
        calls: The number of calls, without retries and what is asked before the run.
        input_tokens: The tokens of all prompts.
        most_output_tokens: The most tokens that all replies can have.
        dollars: The most that they cost; None without a price.
        hours: The longest that they take; None without a rate.
    """

    run: str
    task: str
    part: str
    model: str
    counted: Exactness
    calls: int
    input_tokens: int
    most_output_tokens: int
    dollars: float | None = None
    hours: float | None = None


def planned_calls(runs: Iterable[ModelRun], tasks: Iterable[Task]) -> list[CallPlan]:
    """Count what runs would ask for their tasks without a result.

    Args:
        runs: The runs, with the same options of tasks.
        tasks: The tasks.

    Raises:
        UsageError: A method cannot do a task.
        HaluTasksError: A task does not support an option, or its data cannot be read.
    """
    evaluations, by_name, rows = dict[str, Evaluation](), {task.name: task for task in tasks}, list[CallPlan]()
    for run in runs:
        refused: dict[str, UsageError] = {}
        for name in run.missing():
            if name not in evaluations:
                evaluations[name] = _evaluation(run, by_name[name])
            try:
                rows += _CallCounter(run, evaluations[name]).rows()
            except UsageError as error:
                if not run.method:
                    raise
                refused[name] = error
        if refused:
            fits = ", ".join(name for name in run.tasks if name not in refused)
            able = f"only {fits} of these tasks: use a command of its own for that" if fits else "none of these tasks"
            raise UsageError(f"--method: {next(iter(refused.values()))}; it can do {able}")
    return rows


def priced(
    planned: Sequence[CallPlan], prices: Sequence[str], calls_per_minute: int | None, tokens_per_second: int | None
) -> list[CallPlan]:
    """Add dollars and hours, and after several rows their sum, for calls one after the other.

    Args:
        planned: The rows.
        prices: Prices of a million input and output tokens, of one model (`openai/gpt-4o=2.50/10`) or all others.
        calls_per_minute: The calls of a minute; None if they are not limited.
        tokens_per_second: The input and output tokens of a second; None if they are not limited.

    Raises:
        UsageError: A price is malformed, or of a model that is not asked.
    """
    models, by_name = {row.model for row in planned}, dict[str, Price]()
    for name, _, text in (given.rpartition("=") for given in prices):
        if (price := Price.parse(text)) is None:
            raise UsageError(f"--price: expected [MODEL=]INPUT/OUTPUT, such as 2.50/10, got {text!r}")
        if name and name not in models:
            raise UsageError(f"--price: {unknown('model', name, sorted(models))}")
        by_name[name] = price
    rows = []
    for row in planned:
        known, (calls, read, written) = by_name.get(row.model, by_name.get("")), row[5:8]
        times = calls / 60 / (calls_per_minute or math.inf), (read + written) / 3600 / (tokens_per_second or math.inf)
        # without a rate, these are 0
        rows.append(row._replace(dollars=known and known.of(read, written), hours=max(times) or None))
    if len(rows) > 1:
        sums: Any = (None if None in column else sum(column) for column in list(zip(*rows, strict=True))[5:])
        rows.append(CallPlan("sum", "", "", "", max((r.counted for r in rows), key=get_args(Exactness).index), *sums))
    return rows


def first_requests(runs: Iterable[ModelRun], tasks: Iterable[Task]) -> Iterator[FirstRequest]:
    """Yield what the model of some runs is asked first, for each task without a result.

    Args:
        runs: The runs of the model, which a server has.
        tasks: The tasks.

    Raises:
        UsageError: A method cannot do a task, or the harness does not know an argument.
        HaluTasksError: A task does not support an option, or its data cannot be read.
    """
    by_name = {task.name: task for task in tasks}
    for run in runs:
        for name in run.missing():
            evaluation = _evaluation(run, by_name[name])
            (command,) = run.commands([name])
            if run.model.harness == "inspect":
                messages, settings = _CallCounter(run, evaluation).first()
                config = first_config([evaluation]).merge(_config_of(command)).merge(GenerateConfig(**settings))
                structured = not run.method and evaluation.options.structured
                if not structured:
                    config.response_schema = None
                yield FirstRequest(name, messages, config, _ADVICE["inspect"], schema_optional=structured)
            else:
                from halu_tasks.lm_eval_adapter.task import first_request  # takes seconds to import

                body = first_request(evaluation, command)
                messages = chat_messages(body.pop("messages"))
                del body["model"]
                yield FirstRequest(name, messages, GenerateConfig(extra_body=body), _ADVICE["lm_eval"])


def _evaluation(run: ModelRun, task: Task) -> Evaluation:
    options = Options(**{"fewshot": task.prompts.shots, **run.options})
    return build(task, options.restricted_to(task.prompts.task_options))


def _config_of(command: Sequence[str]) -> GenerateConfig:
    try:
        context = eval_set_command.make_context(command[1], list(command[2:]), auto_envvar_prefix="INSPECT_EVAL_SET")
        return GenerateConfig(**config_from_locals(dict(context.params)))
    except ClickException as error:
        raise UsageError(f"{shlex.join(command[:2])}: {error.format_message()}") from None


class _CallCounter:
    """Answers in the place of all models of a run on a task, and counts what each is asked."""

    def __init__(self, run: ModelRun, evaluation: Evaluation) -> None:
        self._run, self._evaluation = run, evaluation
        arguments = " ".join([*flags(run.model.options, dashes=run.model.harness == "inspect"), *run.further])
        limits = re.findall(r"(?:--max-tokens|max_gen_toks)\D+(\d+)", arguments)
        self._longest = int([evaluation.decoding.max_tokens, *limits][-1])
        if self._longest > _MOST_TOKENS:
            raise UsageError(f"max_tokens: expected at most {_MOST_TOKENS:,}, got {str(self._longest)[:20]}")
        self._epochs = int(["1", *re.findall(r"--epochs\D(\d+)", arguments)][-1])
        self._roles = dict(re.findall(r"--model-role[ =](\w+)=(?:\{ *model: *)?([^\s,}]+)", arguments))
        self._model = ("model", run.model.written)
        self._counts: dict[Callee, tuple[int, int, int]] = {}
        self._exactness: dict[Callee, Exactness] = {}
        self._usual_exactness: Exactness = "exactly"
        self._calls, self._reply = set[str](), ""
        self._first: tuple[str | list[ChatMessage], dict[str, Any]] | None = None
        judge, reader = evaluation.options.judge, evaluation.options.reader
        judges = {"judge": self._roles.get("grader", judge), "reader": self._roles.get("reader", reader)}
        specs = {"judge": evaluation.task.judge_spec, "reader": evaluation.reader}
        self._judges = {(part, name): spec for part, spec in specs.items() if spec and (name := judges[part])}
        knowledge = evaluation.options.judge_knowledge
        self._knowledge = open_knowledge(knowledge) if knowledge and self._judges else None

    def rows(self) -> list[CallPlan]:
        """Ask everything, and return what was counted."""
        ask = self._run_method if self._run.method else self._ask_plainly
        ask(self._evaluation.shuffled_items[: self._run.limit])
        names, usual = (self._run.name, self._evaluation.task.name), self._usual_exactness
        return [
            CallPlan(*names, *callee, self._exactness.get(callee, usual), *(self._epochs * number for number in counts))
            for callee, counts in self._counts.items()
        ]

    def first(self) -> tuple[list[ChatMessage], dict[str, Any]]:
        """Return what the model is asked first: the messages, and the settings of the call that differ."""
        item = self._evaluation.shuffled_items[0]
        if self._run.method:
            self._run_method([item])
        prompt, config = self._first or (chat_messages(self._evaluation.messages(item)), {})
        return [ChatMessageUser(content=prompt)] if isinstance(prompt, str) else prompt, config

    def _ask_plainly(self, items: Sequence[Item]) -> None:
        evaluation = self._evaluation
        weighs = evaluation.asks_for_probability and self._run.model.harness == "lm_eval"
        for item in items:
            prompt = "\n".join(message["content"] for message in evaluation.messages(item))
            for choice in (evaluation.task.scoring.choices or ()) if weighs else [""]:
                self._count(self._model, prompt + choice, 0 if weighs else self._longest)
            self._judge(item, [_longest_reply(evaluation.oracle(item), self._longest, item.id)])

    def _run_method(self, items: Sequence[Item]) -> None:
        solver = get_method(self._run.method, self._run.method_arguments)
        embedded.remember(self._evaluation)  # a prompt format uses its wording

        async def generate(state: TaskState, **_: Any) -> TaskState:
            state.output = self._answer(state.messages, None, (0, False), False, None)
            return state

        async def solve() -> None:
            dry_run_model.set(self._answer)
            for item, sample in zip(items, samples_of(self._evaluation, items=items), strict=True):
                self._reply, messages = self._evaluation.oracle(item), list[Any](sample.input)
                texts = messages, list(messages), Target(sample.target)
                state = TaskState(ModelName("none/none"), item.id, 1, *texts, metadata=dict(sample.metadata or {}))
                state = await solver(state, generate)
                draft = MethodRecord.from_metadata(state.output.metadata).draft
                self._judge(item, [state.output.completion, *([draft] if draft else [])])

        run_blocking(solve)

    def _answer(
        self,
        prompt: Any,
        role: str | None,
        draw: tuple[int, bool],
        tools: bool,
        dry_run_reply: str | None,
        **config: Any,
    ) -> ModelOutput:
        """Count a call and answer it; the arguments are those of `solvers.model_calls.ask`."""
        text = prompt if isinstance(prompt, str) else "\n".join(message.text for message in prompt)
        # the last message of a task's own prompt names its item, so that Inspect's cache tells equal prompts apart
        items = [] if isinstance(prompt, str) else [message.metadata for message in prompt]
        callee = (role, self._roles[role]) if role and role in self._roles else self._model
        if callee == self._model and not self._first:
            self._first = prompt, config
        longest = config.get("max_tokens") or self._longest
        # without a cache, each call is made
        call = short_hash(callee, text, items, config, draw if draw[1] else len(self._calls))
        if tools:
            self._exactness[callee] = "at least"
        if dry_run_reply is not None:
            self._usual_exactness = "about"
        elif draw[1] and self._usual_exactness == "exactly":
            self._usual_exactness = "at most"
        if call not in self._calls:
            self._count(callee, text, longest)
        self._calls.add(call)
        reply = self._reply if dry_run_reply is None else dry_run_reply
        return ModelOutput.from_content("none", _longest_reply(reply, longest, call))

    def _judge(self, item: Item, replies: Sequence[str]) -> None:
        for callee, judging in self._judges.items():
            task, mode = self._evaluation.task, self._evaluation.options.scoring
            judged = [task.judged_text(mode, item, reply) if task.judge_spec else reply for reply in replies]
            self._exactness[callee] = "about" if judging.coverage or judging.claims else "at most"
            options, longest = self._evaluation.options, self._evaluation.options.judge_max_characters
            questions = [question for reply in judged for question in judging.questions(item, reply, longest)]
            if claims := judging.claims:
                lists = (question for reply in judged for question in claims.listing.questions(item, reply, longest))
                for text in {claims.listing.text(question) for question in lists}:
                    self._count(callee, text, options.judge_max_tokens or LIST_TOKENS)
                if self._knowledge and claims.looks_up:
                    abouts = (question.about for question in questions)
                    questions = [claims.question(item, claim, self._knowledge.search(claim)) for claim in abouts]
            schema = "" if options.judge_without_schema else json.dumps(verdict_schema(judging.read))
            for text in {judging.text(question) for question in questions}:
                self._count(callee, text + schema, options.judge_max_tokens or SETTINGS.max_tokens or 0)

    def _count(self, callee: Callee, text: str, longest: int) -> None:
        counts = self._counts.get(callee, (0, 0, 0))
        self._counts[callee] = counts[0] + 1, counts[1] + _tokens(text), counts[2] + longest


def _longest_reply(reply: str, longest: int, call: str) -> str:
    """Return a reply as long as it can be, which differs from that to every other call."""
    text = f"{reply}\n{call} "
    return text + "abc " * (longest - _tokens(text))


def _tokens(text: str) -> int:
    """Return how many tokens a text has if each is four bytes."""
    return -(-len(text.encode("utf-8", "replace")) // 4)
