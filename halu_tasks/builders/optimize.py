"""Prompt optimization (C-FAITH, section 3.2), in a folder from which it can be continued.

In each round, candidate prompts are written from the verifier's objections to drafts of training documents, and the
candidate with the highest pass rate on validation documents is kept.

optimize.json       what is optimized
train.jsonl, …      the documents
prompts/, logs/     each set of prompts, and Inspect's logs; finished work is not repeated
rounds/             the rates of each round, and the rejected drafts of the training documents
prompts.yaml        the best prompts
"""

from __future__ import annotations

import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.builders.drafting import build_task, draft
from halu_tasks.builders.folder import check_free, digest, guard, write_documents
from halu_tasks.builders.logs import build_logs, outcomes_of
from halu_tasks.builders.pipeline import Fault, Pipeline, pipeline_named, prompt_texts
from halu_tasks.builders.records import DocumentOutcome, Rate, Rates, to_json
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.json_lines import json_line
from halu_tasks.core.prompting import PLACEHOLDER, fill
from halu_tasks.data.rows import read_json_object
from halu_tasks.executors import Report
from halu_tasks.inspect_adapter.run_models import RunModels, recorded
from halu_tasks.results.readers.inspect import path_of, samples_of, state
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.judge import fence
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.solvers.asking import ask

OPTIMIZER = "optimizer"
"""The model role that writes candidate prompts."""
TRAIN, VALIDATION = "train", "validation"
UNREAD = "no candidate could be read"
"""The reason a round ends if no reply of the optimizer contains a usable prompt."""
MOST_REJECTS = 12
"""Maximum number of rejected drafts shown to the optimizer for a prompt."""
_SHOWN = 1_500
"""Maximum number of characters of each."""
_OPENS, _CLOSES = "<prompt>", "</prompt>"
_LONGEST = 12_000
"""Maximum number of characters of a prompt."""
_MAX_TOKENS = 8192
_PLAN = "optimize.json"

Texts = Mapping[str, str]
"""Prompts by name."""


class PromptTrial(NamedTuple):
    """A set of prompts, the pass rates of drafts of validation documents, and the share that passed every check."""

    name: str
    texts: Texts
    rates: Mapping[str, Rate]
    overall: float


@dataclass(frozen=True)
class Round:
    """One round of optimization.

    Attributes:
        number: Number of the round; 0 for the initial prompts.
        trials: The candidates that were evaluated.
        rejects: The number of faults of training drafts under the prompts of the previous round.
        ended: Why the optimization ended after this round; empty if it did not.
        problems: Why replies of the optimizer were not used, by candidate and prompt. A candidate without a usable
            reply is not evaluated.
    """

    number: int
    trials: Sequence[PromptTrial] = ()
    rejects: int = 0
    ended: str = ""
    problems: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def best(self) -> PromptTrial | None:
        """The best of the candidates, the first of equal ones; None if none was evaluated."""
        return max(self.trials, key=lambda trial: trial.overall, default=None)

    def describe(self) -> str:
        """Describe the round on one line."""
        parts = [f"round {self.number}", *(f"{trial.name} {trial.overall:.1%}" for trial in self.trials)]
        for name, problems in self.problems.items():
            parts += [f"{name} has no {prompt} prompt: {problem}" for prompt, problem in problems.items()]
        return "; ".join([*parts, *([self.ended] if self.ended else [])])

    def as_json(self) -> dict[str, Any]:
        """Return the round as JSON values, without the prompts."""
        return {
            "round": self.number,
            "chosen": self.best.name if self.best else None,
            "ended": self.ended,
            "rejects": self.rejects,
            "tried": [{"name": trial.name, "validation": to_json(trial.rates)} for trial in self.trials],
            "problems": to_json(self.problems),
        }


@dataclass(frozen=True)
class Optimization:
    """A finished optimization: its folder and its rounds."""

    folder: Path
    rounds: Sequence[Round]

    @property
    def best(self) -> PromptTrial:
        """The prompts with the highest validation rate; the earliest ones if several are equal."""
        return max((each.best for each in self.rounds if each.best), key=lambda trial: trial.overall)

    @property
    def prompts(self) -> Path:
        """The file of the best prompts."""
        return self.folder / "prompts.yaml"

    def as_json(self) -> dict[str, Any]:
        """Return the rounds as JSON values."""
        return {"best": self.best.name, "rounds": [each.as_json() for each in self.rounds]}


def optimize_prompts(
    builder: str,
    documents: Path,
    output: Path,
    models: RunModels,
    report: Report,
    *,
    options: Mapping[str, Any],
    train: int = 60,
    validation: int = 20,
    rounds: int = 5,
    candidates: int = 3,
) -> Optimization:
    """Optimize the prompts of a builder, or continue an optimization.

    It ends after `rounds` rounds, when the best candidate has a lower pass rate than the prompts before it, or when no
    draft is rejected any more.

    Args:
        builder: Name of the builder.
        documents: A file or folder of documents.
        output: The folder of the optimization.
        models: The models.
        report: Called with a line when a round ends.
        options: Options of the builder.
        train: Number of documents whose rejected drafts the optimizer sees.
        validation: Number of documents by which prompts are compared.
        rounds: Maximum number of rounds.
        candidates: Number of candidates per round.

    Raises:
        UsageError: The builder, an option or the documents do not exist, or the builder has no prompts to optimize.
        ModelError: A model does not answer.
        DataError: The folder contains something else, another process works on it, or no candidate could be read.
        RunInterrupted: The optimization was interrupted from the keyboard.
    """
    pipeline = pipeline_named(builder, options)
    if not pipeline.generating:
        raise UsageError(f"{pipeline.name} has no prompts that can be optimized")
    if not documents.exists():
        raise UsageError(f"{documents}: no such file or folder")
    pipeline.ready()
    # always the same path: Inspect recognizes a task by its arguments, and this path is one of them
    folder = output.resolve()
    if not (folder / _PLAN).is_file():
        check_free(folder, what="contains no optimization")
    plan = {
        "settings": pipeline.settings,
        # the settings record the contents of files
        "options": {key: value for key, value in options.items() if key not in pipeline.files()},
        "models": {"model": models.name, "roles": recorded(models.roles)},
        "source": {"name": documents.name, "sha256": digest(documents)},
        TRAIN: train,
        VALIDATION: validation,
        "candidates": candidates,
    }
    with guard(folder):
        _begin(folder, pipeline, plan, documents)
        if not (folder / "rounds.json").is_file():
            models.reach()
        finished = []
        # a prompt file with all prompts takes the place of the user's
        given = {key: value for key, value in options.items() if key != "prompts"}
        for each in _Optimizer(folder, pipeline, given, models).run(rounds, candidates):
            finished.append(each)
            _write_json(folder / "rounds" / f"{each.number}.json", each.as_json())
            report(each.describe())
        optimization = Optimization(folder, finished)
        _check_read(optimization)
        _write_prompts(optimization.prompts, pipeline, optimization.best.texts)
        _write_json(folder / "rounds.json", optimization.as_json())
        return optimization


def _begin(folder: Path, pipeline: Pipeline, plan: Mapping[str, Any], documents: Path) -> None:
    """Write the plan and the documents, drawn by the seed from those that can be used.

    Raises:
        DataError: The folder contains an optimization with other settings.
    """
    plan = json.loads(json.dumps(plan))
    if (folder / _PLAN).is_file():
        earlier = read_json_object(folder / _PLAN)
        # more rounds continue from the earlier ones; with more candidates, earlier rounds could end differently
        if other := next((key for key in plan if earlier.get(key) != plan[key]), None):
            raise DataError(f"{folder}: contains an optimization with other {other}; choose another folder")
    train, number = plan[TRAIN], plan[TRAIN] + plan[VALIDATION]
    usable = (document for document in pipeline.documents(documents) if pipeline.refuse(document) is None)
    drawn = heapq.nsmallest(number, usable, key=lambda document: stable_hash(pipeline.seed, document.id))
    if len(drawn) < number:
        raise UsageError(
            f"expected at least {train} training and {number - train} validation documents, but only {len(drawn)} can "
            "be used; reduce --train and --validation"
        )
    write_documents(folder / f"{TRAIN}.jsonl", drawn[:train])
    write_documents(folder / f"{VALIDATION}.jsonl", drawn[train:])
    for name in ("prompts", "rounds"):
        (folder / name).mkdir(exist_ok=True)
    _write_json(folder / _PLAN, plan)


def _check_read(optimization: Optimization) -> None:
    """Raise DataError if no candidate of any round could be read."""
    unread = next((each for each in optimization.rounds if each.ended == UNREAD), None)
    if unread is None or optimization.best is not optimization.rounds[0].best:
        return
    counts = Counter(problem for problems in unread.problems.values() for problem in problems.values())
    reasons = ", ".join(f"{problem} ({count})" for problem, count in counts.most_common(3))
    logs = optimization.folder / "logs" / f"round-{unread.number}-optimizer"
    raise DataError(
        f"{optimization.folder}: nothing was optimized, since no reply of the optimizer in round {unread.number} "
        f"contains a usable prompt: {reasons}; remove {logs} to ask it again, or choose another optimizer "
        "(--model-role optimizer=…) and another folder"
    )


class _Request(NamedTuple):
    """A request to rewrite a prompt for a candidate, which is numbered from 1."""

    candidate: int
    prompt: str
    question: str


class _Optimizer:
    """Evaluates and rewrites prompts."""

    def __init__(self, folder: Path, pipeline: Pipeline, options: Mapping[str, Any], models: RunModels) -> None:
        self._folder, self._pipeline, self._options, self._models = folder, pipeline, options, models

    def run(self, rounds: int, candidates: int) -> Iterator[Round]:
        """Yield the rounds; round 0 evaluates the initial prompts."""
        current = self._evaluate("round-0", self._pipeline.texts)
        yield Round(0, [current])
        for number in range(1, rounds + 1):
            rejects, faults = 0, defaultdict[str, list[Fault]](list)
            lines = []
            for outcome in self._draft(f"{current.name}-train", current.texts, TRAIN):
                for each in outcome.drafts:
                    for fault in each.faults:
                        prompt = self._pipeline.blamed(fault, each)
                        rejects += 1
                        lines.append({"document": each.document, "draft": each.id, "prompt": prompt, **fault._asdict()})
                        if prompt:
                            faults[prompt].append(fault)
            rejected = "".join(json_line(line) + "\n" for line in lines)
            atomic_write_text(self._folder / "rounds" / f"{number}-rejects.jsonl", rejected)
            if not faults:
                ended = "no draft of the training documents was rejected for a prompt"
                yield Round(number, rejects=rejects, ended=ended)
                return
            texts, problems = self._rewrite(number, current.texts, faults, candidates)
            trials = [self._evaluate(name, candidate) for name, candidate in texts.items()]
            finished = Round(number, trials, rejects, "" if trials else UNREAD, problems)
            best = finished.best
            if best and best.overall < current.overall:
                finished = Round(number, trials, rejects, "the validation rate fell", problems)
            elif best and number == rounds:
                finished = Round(number, trials, rejects, "that was the last round", problems)
            yield finished
            if finished.ended or not best:
                return
            current = best

    def _evaluate(self, name: str, texts: Texts) -> PromptTrial:
        """Evaluate prompts on the validation documents."""
        rates = Rates(self._pipeline.checks)
        for outcome in self._draft(name, texts, VALIDATION):
            rates.add(outcome.counts())
        return PromptTrial(name, dict(texts), rates.rates(), rates.overall())

    def _draft(self, name: str, texts: Texts, part: str) -> list[DocumentOutcome]:
        """Return the outcomes of the `train` or `validation` documents with prompts, which are saved as `name.yaml`."""
        prompts = self._folder / "prompts" / f"{name}.yaml"
        _write_prompts(prompts, self._pipeline, texts)
        options = {**self._options, "prompts": str(prompts)}
        logs = self._folder / "logs" / name
        if not any(log.finished for log in build_logs(logs)):
            self._run(build_task(self._pipeline.name, str(self._folder / f"{part}.jsonl"), **options), logs)
        return outcomes_of(build_logs(logs))

    def _run(self, task: Task, logs: Path) -> EvalLog:
        log = draft(task, logs, self._models)
        if log.status != "success":
            raise DataError(f"{logs}: ended as {state(log)}; run the same command again to continue")
        return log

    def _rewrite(
        self, number: int, texts: Texts, faults: Mapping[str, Sequence[Fault]], candidates: int
    ) -> tuple[dict[str, Texts], dict[str, dict[str, str]]]:
        """Return the candidates with at least one rewritten prompt, and the problems of all candidates, by name."""
        requests = [
            _Request(candidate, prompt, self._question(candidate, texts[prompt], faults[prompt]))
            for candidate in range(1, candidates + 1)
            for prompt in self._pipeline.generating
            if prompt in faults
        ]
        samples = [
            Sample(id=f"candidate-{candidate}-{prompt}", input=question, metadata={"draw": candidate - 1})
            for candidate, prompt, question in requests
        ]
        config = GenerateConfig(max_tokens=_MAX_TOKENS)
        dataset = MemoryDataset(samples, name="optimize")
        task = Task(dataset=dataset, solver=rewrite_prompt(), name="optimize", config=config)
        log = self._run(task, self._folder / "logs" / f"round-{number}-optimizer")
        replies = {
            sample["id"]: ((sample.get("output") or {}).get("metadata") or {}).get("halu_reply", "")
            for sample in samples_of(path_of(log.location))
        }
        rewrites: dict[str, dict[str, str]] = defaultdict(dict)
        problems: dict[str, dict[str, str]] = defaultdict(dict)
        for candidate, prompt, _ in requests:
            name = f"round-{number}-candidate-{candidate}"
            answer = rewritten(replies.get(f"candidate-{candidate}-{prompt}", ""), texts[prompt])
            if answer.value is None:
                problems[name][prompt] = answer.reason
            else:
                rewrites[name][prompt] = answer.value
        return {name: {**texts, **rewrite} for name, rewrite in rewrites.items()}, dict(problems)

    def _question(self, candidate: int, text: str, faults: Sequence[Fault]) -> str:
        """Return what the optimizer is asked about a prompt."""
        # the optimizer is asked in Chinese about Chinese prompts, and in English about all others
        language = "zh" if self._pipeline.language == "zh" else "en"
        template = prompt_texts("optimize", ("rewrite",), language, None)["rewrite"]
        # each candidate is shown other rejected drafts, if there are enough
        shown = sorted(set(faults), key=lambda fault: stable_hash(candidate - 1, *fault))[:MOST_REJECTS]
        fields = {
            "prompt": fence(text),
            "rejects": fence("\n\n".join(f"{f.check}: {f.reason}\n{f.detail[:_SHOWN]}" for f in shown)),
            "number": str(len(faults)),
            "placeholders": ", ".join(f"{{{name}}}" for name in sorted(set(PLACEHOLDER.findall(text)))),
        }
        return fill(template, fields)


@solver
def rewrite_prompt() -> Solver:
    """Ask the model in the role `optimizer` for a rewritten prompt, at temperature 1."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        draw = int(state.metadata["draw"])
        output = await ask(state.input_text, OPTIMIZER, cache=False, draw=draw, temperature=1.0, max_tokens=_MAX_TOKENS)
        state.output = ModelOutput.from_content(str(state.model), output.completion)
        state.output.metadata = {"halu_reply": output.completion}
        return state

    return solve


def rewritten(reply: str, current: str) -> Answer[str]:
    """Read the rewritten prompt of a reply, between the last `<prompt>` and `</prompt>`.

    It must have the same placeholders as the current prompt, and differ from it.
    """
    before, closed, _ = (strip_reasoning(reply) or "").rpartition(_CLOSES)
    _, opened, inside = before.rpartition(_OPENS)
    if not (closed and opened):
        return Answer(None, "no <prompt>")
    text = inside.strip(" \t").strip("\n")
    expected, actual = set(PLACEHOLDER.findall(current)), set(PLACEHOLDER.findall(text))
    if missing := sorted(expected - actual):
        return Answer(None, f"leaves out {{{missing[0]}}}")
    if more := sorted(actual - expected):
        return Answer(None, f"adds {{{more[0]}}}")
    if text == current.strip("\n"):
        return Answer(None, "the same as before")
    return Answer(None, f"longer than {_LONGEST} characters") if len(text) > _LONGEST else Answer(text)


def _write_prompts(path: Path, pipeline: Pipeline, texts: Texts) -> None:
    """Write prompts to a file that can be passed as the option `prompts`."""
    entries = {f"{pipeline.name}_{name}_{pipeline.language}": {"user": text} for name, text in texts.items()}
    atomic_write_text(path, yaml.dump(entries, Dumper=_PromptDumper, allow_unicode=True, sort_keys=False, width=10_000))


class _PromptDumper(yaml.SafeDumper):
    """A YAML dumper that writes strings of several lines as blocks."""


_PromptDumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    atomic_write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")
