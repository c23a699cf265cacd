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

from halu_tasks.builders import drafting
from halu_tasks.builders.folder import check_free, digest, guard, to_json, write_documents, write_json
from halu_tasks.builders.pipeline import Fault, Pipeline, pipeline_named, prompt_texts
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.files import atomic_write_text, json_line
from halu_tasks.core.hashing import stable_hash
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
    """A set of prompts, and the pass rates of drafts of validation documents."""

    name: str
    texts: Texts
    rates: Mapping[str, drafting.Rate]

    @property
    def overall(self) -> float:
        """The share of drafts that passed every check; 0 if there were no drafts."""
        return self.rates[drafting.OVERALL].share.value if drafting.OVERALL in self.rates else 0.0


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
        check_free(
            folder, f"{TRAIN}.jsonl", f"{VALIDATION}.jsonl", "prompts", "rounds", what="contains no optimization"
        )
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
        # a prompt file with all prompts takes the place of the user's
        given = {key: value for key, value in options.items() if key != "prompts"}
        optimization = Optimization(folder, pipeline, given, models)
        for each in optimization.run(rounds, candidates):
            optimization.rounds.append(each)
            write_json(folder / "rounds" / f"{each.number}.json", each.as_json())
            report(each.describe())
        _write_prompts(optimization.prompts, pipeline, optimization.best.texts)
        write_json(folder / "rounds.json", optimization.as_json())
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
    write_json(folder / _PLAN, plan)


@dataclass
class Optimization:
    """An optimization in its folder.

    Attributes:
        folder: The folder.
        pipeline: The pipeline with the prompts to start from.
        options: The other options of the pipeline.
        models: The models.
        rounds: The rounds that are finished.
    """

    folder: Path
    pipeline: Pipeline
    options: Mapping[str, Any]
    models: RunModels
    rounds: list[Round] = field(default_factory=list)

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

    def run(self, rounds: int, candidates: int) -> Iterator[Round]:
        """Yield the rounds; round 0 evaluates the initial prompts."""
        current = self._evaluate("round-0", self.pipeline.texts)
        yield Round(0, [current])
        for number in range(1, rounds + 1):
            rejects, faults = self._rejects(number, current)
            if not faults:
                ended = "no draft of the training documents was rejected for a prompt"
                yield Round(number, rejects=rejects, ended=ended)
                return
            texts, problems = self._rewrite(number, current.texts, faults, candidates)
            trials = [self._evaluate(name, candidate) for name, candidate in texts.items()]
            best = max(trials, key=lambda trial: trial.overall, default=None)
            if best is None and current.name == "round-0":
                counts = Counter(problem for own in problems.values() for problem in own.values())
                reasons = ", ".join(f"{problem} ({count})" for problem, count in counts.most_common(3))
                raise DataError(
                    f"{self.folder}: nothing was optimized, since no reply of the optimizer in round {number} contains "
                    f"a usable prompt: {reasons}; remove {self._log_folder(number)} to ask it again, or choose another "
                    "optimizer (--model-role optimizer=…) and another folder"
                )
            ended = "that was the last round" if number == rounds else ""
            if best is None or best.overall < current.overall:
                ended = "the validation rate fell" if best else UNREAD
            yield Round(number, trials, rejects, ended, problems)
            if ended or best is None:
                return
            current = best

    def _evaluate(self, name: str, texts: Texts) -> PromptTrial:
        """Evaluate prompts on the validation documents."""
        counts = drafting.PassCounts()
        for outcome in self._draft(name, texts, VALIDATION):
            drafting.add_counts(counts, outcome.counts())
        return PromptTrial(name, dict(texts), drafting.pass_rates(self.pipeline.checks, counts))

    def _rejects(self, number: int, current: PromptTrial) -> tuple[int, dict[str, list[Fault]]]:
        """Draft the training documents, and write the faults; return their number, and those of each prompt."""
        faults, lines = defaultdict[str, list[Fault]](list), []
        for outcome in self._draft(f"{current.name}-train", current.texts, TRAIN):
            for each in outcome.drafts:
                for fault in each.faults:
                    prompt = self.pipeline.blamed(fault, each)
                    lines.append({"document": each.document, "draft": each.id, "prompt": prompt, **fault._asdict()})
                    if prompt:
                        faults[prompt].append(fault)
        rejected = "".join(json_line(line) + "\n" for line in lines)
        atomic_write_text(self.folder / "rounds" / f"{number}-rejects.jsonl", rejected)
        return len(lines), faults

    def _draft(self, name: str, texts: Texts, part: str) -> list[drafting.DocumentOutcome]:
        """Return the outcomes of the `train` or `validation` documents with prompts, which are saved as `name.yaml`."""
        prompts = self.folder / "prompts" / f"{name}.yaml"
        _write_prompts(prompts, self.pipeline, texts)
        options = {**self.options, "prompts": str(prompts)}
        logs = self.folder / "logs" / name
        if not any(map(drafting.is_finished, drafting.build_logs(logs))):
            self._run(drafting.build_task(self.pipeline.name, str(self.folder / f"{part}.jsonl"), **options), logs)
        return drafting.outcomes_of(drafting.build_logs(logs))

    def _run(self, task: Task, logs: Path) -> EvalLog:
        log = drafting.draft(task, logs, self.models)
        if log.status != "success":
            raise DataError(f"{logs}: ended as {state(log)}; run the same command again to continue")
        return log

    def _log_folder(self, number: int) -> Path:
        return self.folder / "logs" / f"round-{number}-optimizer"

    def _rewrite(
        self, number: int, texts: Texts, faults: Mapping[str, Sequence[Fault]], candidates: int
    ) -> tuple[dict[str, Texts], dict[str, dict[str, str]]]:
        """Return the candidates with at least one rewritten prompt, and the problems of all candidates, by name."""
        wanted = {
            f"candidate-{candidate}-{prompt}": (candidate, prompt)
            for candidate in range(1, candidates + 1)
            for prompt in self.pipeline.generating
            if prompt in faults
        }
        samples = [
            Sample(
                id=id,
                input=self._question(candidate, texts[prompt], faults[prompt]),
                metadata={"draw": candidate - 1},
            )
            for id, (candidate, prompt) in wanted.items()
        ]
        config = GenerateConfig(max_tokens=_MAX_TOKENS)
        dataset = MemoryDataset(samples, name="optimize")
        task = Task(dataset=dataset, solver=rewrite_prompt(), name="optimize", config=config)
        log = self._run(task, self._log_folder(number))
        replies = {
            sample["id"]: ((sample.get("output") or {}).get("metadata") or {}).get("halu_reply", "")
            for sample in samples_of(path_of(log.location))
        }
        rewrites, problems = defaultdict[str, dict[str, str]](dict), defaultdict[str, dict[str, str]](dict)
        for id, (candidate, prompt) in wanted.items():
            name = f"round-{number}-candidate-{candidate}"
            answer = rewritten(replies.get(id, ""), texts[prompt])
            if answer.value is None:
                problems[name][prompt] = answer.reason
            else:
                rewrites[name][prompt] = answer.value
        return {name: {**texts, **rewrite} for name, rewrite in rewrites.items()}, dict(problems)

    def _question(self, candidate: int, text: str, faults: Sequence[Fault]) -> str:
        """Return what the optimizer is asked about a prompt."""
        # the optimizer is asked in Chinese about Chinese prompts, and in English about all others
        language = "zh" if self.pipeline.language == "zh" else "en"
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
    text = yaml.safe_dump(entries, default_style="|", allow_unicode=True, sort_keys=False, width=10_000)
    atomic_write_text(path, text)
