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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.builders.drafting import DraftLogs, build_task
from halu_tasks.builders.folder import digest, hold, require_same, write_documents, write_json
from halu_tasks.builders.pipeline import DocumentOutcome, Fault, Pipeline, pipeline_named
from halu_tasks.builders.rates import OVERALL, PassCounts, Rate
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.files import atomic_write_text, json_line
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.prompting import PLACEHOLDER, fill, prompt_for
from halu_tasks.core.records import to_json
from halu_tasks.data.rows import read_json_object
from halu_tasks.executors.jobs import Progress
from halu_tasks.inspect_adapter.run_models import RunModels
from halu_tasks.results.inspect_logs import samples_of, state
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.judge import fence
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.solvers.model_calls import ask

OPTIMIZER = "optimizer"
"""The model role that writes candidate prompts."""
TRAIN, VALIDATION = "train", "validation"
UNREAD = "no candidate could be read"
"""The reason a round ends if no reply of the optimizer contains a usable prompt."""
MOST_REJECTS = 12
"""Maximum number of rejected drafts shown to the optimizer for a prompt."""
# maximum number of characters of each
_SHOWN = 1_500
_OPENS, _CLOSES = "<prompt>", "</prompt>"
_MAX_TOKENS = 8192
_PLAN = "optimize.json"

Texts = Mapping[str, str]
"""Prompts by name."""
Rates = Mapping[str, Rate]


def optimize_prompts(
    builder: str,
    documents: Path,
    output: Path,
    models: RunModels,
    report: Progress,
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
    pipeline.ready()
    # always the same path: Inspect recognizes a task by its arguments, and this path is one of them
    folder = output.resolve()
    plan = {
        "settings": pipeline.settings,
        "models": models.record,
        "source": {"name": documents.name, "sha256": digest(documents)},
        TRAIN: train,
        VALIDATION: validation,
        "candidates": candidates,
    }
    leftovers = (f"{TRAIN}.jsonl", f"{VALIDATION}.jsonl", "prompts", "rounds")
    with hold(folder, _PLAN, "contains no optimization", *leftovers) as is_new:
        _begin(folder, pipeline, json.loads(json.dumps(plan)), documents, is_new=is_new)
        if not (folder / "rounds.json").is_file():
            models.reach()
        # a prompt file with all prompts takes the place of the user's
        others = {key: value for key, value in options.items() if key != "prompts"}
        optimization = Optimization(folder, pipeline, others, models)
        for each in optimization.run(rounds, candidates):
            optimization.rounds.append(each)
            write_json(folder / "rounds" / f"{each.round}.json", each)
            report(str(each))
        _write_prompts(optimization.prompts, pipeline, optimization.best.texts)
        write_json(folder / "rounds.json", optimization.as_json())
        return optimization


def _begin(folder: Path, pipeline: Pipeline, plan: Mapping[str, Any], documents: Path, *, is_new: bool) -> None:
    """Write the plan and the documents, drawn by the seed from those that can be used.

    Raises:
        DataError: The folder contains an optimization with other settings.
    """
    if not is_new:
        # more rounds continue from the earlier ones; with more candidates, earlier rounds could end differently
        require_same(folder, "an optimization", read_json_object(folder / _PLAN), plan)
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


@dataclass(frozen=True)
class Trial:
    """A set of prompts, and their pass rates on the validation documents.

    Attributes:
        name: Its name, such as `round-0` for the initial prompts.
        validation: The rates.
        texts: The prompts by name.
    """

    name: str
    validation: Rates
    texts: Texts = field(metadata={"json": False})

    @property
    def overall(self) -> float:
        """The share of drafts that passed every check; 0 if there were no drafts."""
        return self.validation[OVERALL].share.value if OVERALL in self.validation else 0.0


@dataclass(frozen=True)
class Round:
    """A round of an optimization.

    Attributes:
        round: The number; round 0 tries the initial prompts.
        chosen: The best of the prompts that were tried; None if none were.
        ended: Why the optimization ended after it; empty if it did not.
        rejects: The number of faults of training drafts under the prompts of the previous round.
        tried: The prompts that were tried.
        problems: Why replies of the optimizer were not used, by candidate and prompt.
    """

    round: int
    chosen: str | None
    ended: str = ""
    rejects: int = 0
    tried: Sequence[Trial] = ()
    problems: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __str__(self) -> str:
        trials = [f"{trial.name} {trial.overall:.1%}" for trial in self.tried]
        problems = [
            f"{name} has no {prompt} prompt: {problem}"
            for name, of_candidate in self.problems.items()
            for prompt, problem in of_candidate.items()
        ]
        return "; ".join(filter(None, [f"round {self.round}", *trials, *problems, self.ended]))


@dataclass
class Optimization:
    """An optimization in its folder.

    Attributes:
        folder: The folder.
        pipeline: The pipeline with the prompts to start from.
        options: The other options of the pipeline.
        models: The models.
        rounds: The finished rounds.
    """

    folder: Path
    pipeline: Pipeline
    options: Mapping[str, Any]
    models: RunModels
    rounds: list[Round] = field(default_factory=list)

    @property
    def best(self) -> Trial:
        """The prompts with the highest validation rate; the earliest ones if several are equal."""
        return max((trial for each in self.rounds for trial in each.tried), key=lambda trial: trial.overall)

    @property
    def prompts(self) -> Path:
        """The file of the best prompts."""
        return self.folder / "prompts.yaml"

    def as_json(self) -> dict[str, Any]:
        """Return the rounds as JSON values."""
        return {"best": self.best.name, "rounds": to_json(self.rounds)}

    def run(self, rounds: int, candidates: int) -> Iterator[Round]:
        """Yield the rounds; round 0 tries the initial prompts."""
        current = self._try("round-0", self.pipeline.texts)
        yield Round(0, current.name, tried=[current])
        for number in range(1, rounds + 1):
            rejects, faults = self._rejects(number, current)
            if not faults:
                yield Round(number, None, "no draft of the training documents was rejected for a prompt", rejects)
                return
            rewrites, problems = self._rewrite(number, current.texts, faults, candidates)
            tried = [self._try(name, texts) for name, texts in rewrites.items()]
            best = max(tried, key=lambda trial: trial.overall, default=None)
            if best is None and number == 1:
                counts = Counter(problem for of_candidate in problems.values() for problem in of_candidate.values())
                reasons = ", ".join(f"{problem} ({count})" for problem, count in counts.most_common(3))
                raise DataError(
                    f"{self.folder}: nothing was optimized, since no reply of the optimizer in round {number} contains "
                    f"a usable prompt: {reasons}; remove {self.folder / 'logs' / _optimizer_logs(number)} to ask it "
                    "again, or choose another optimizer (--model-role optimizer=…) and another folder"
                )
            ended = "that was the last round" if number == rounds else ""
            if best is None or best.overall < current.overall:
                ended = "the validation rate fell" if best else UNREAD
            yield Round(number, best.name if best else None, ended, rejects, tried, problems)
            if ended or best is None:
                return
            current = best

    def _try(self, name: str, texts: Texts) -> Trial:
        """Draft the validation documents with prompts."""
        counts = PassCounts()
        for outcome in self._draft(name, texts, VALIDATION):
            counts.add(outcome.counts())
        return Trial(name, counts.rates(self.pipeline.checks), texts)

    def _rejects(self, number: int, current: Trial) -> tuple[int, dict[str, list[Fault]]]:
        """Draft the training documents, and write the faults; return their number, and those of each prompt."""
        faults, lines = defaultdict[str, list[Fault]](list), []
        outcomes = self._draft(f"{current.name}-train", current.texts, TRAIN)
        for draft, fault in ((d, fault) for outcome in outcomes for d in outcome.drafts for fault in d.faults):
            prompts = self.pipeline.blamed(fault, draft)
            lines.append({"document": draft.document, "draft": draft.id, "prompts": prompts, **fault._asdict()})
            for prompt in prompts:
                faults[prompt].append(fault)
        rejected = "".join(json_line(line) + "\n" for line in lines)
        atomic_write_text(self.folder / "rounds" / f"{number}-rejects.jsonl", rejected)
        return len(lines), faults

    def _draft(self, name: str, texts: Texts, part: str) -> list[DocumentOutcome]:
        """Return the outcomes of the `train` or `validation` documents with prompts, which are saved as `name.yaml`."""
        prompts = self.folder / "prompts" / f"{name}.yaml"
        _write_prompts(prompts, self.pipeline, texts)
        options, documents = {**self.options, "prompts": str(prompts)}, str(self.folder / f"{part}.jsonl")
        return self._logs(name, lambda: build_task(self.pipeline.name, documents, **options)).outcomes()

    def _logs(self, name: str, make_task: Callable[[], Task]) -> DraftLogs:
        """Return the logs of a task, after running what is left of it.

        Raises:
            DataError: It has not succeeded.
        """
        logs = DraftLogs(self.folder / "logs" / name)
        if not logs.finished():
            log = logs.draft(make_task(), self.models)
            if log.status != "success":
                raise DataError(f"{logs.folder}: ended as {state(log)}; run the same command again to continue")
        return logs

    def _rewrite(
        self, number: int, texts: Texts, faults: Mapping[str, Sequence[Fault]], candidates: int
    ) -> tuple[dict[str, Texts], dict[str, dict[str, str]]]:
        """Return the candidates with at least one rewritten prompt, and the problems of all candidates, by name."""
        prompts = [prompt for prompt in self.pipeline.generating if prompt in faults]
        rewrites = {f"candidate-{n}-{prompt}": (n, prompt) for n in range(1, candidates + 1) for prompt in prompts}
        samples = [
            Sample(id=id, input=self._question(n, texts[prompt], faults[prompt]), metadata={"draw": n - 1})
            for id, (n, prompt) in rewrites.items()
        ]
        dataset, config = MemoryDataset(samples, name="optimize"), GenerateConfig(max_tokens=_MAX_TOKENS)
        task = Task(dataset=dataset, solver=rewrite_prompt(), name="optimize", config=config)
        log = self._logs(_optimizer_logs(number), lambda: task).finished()
        replies = {sample["id"]: sample["output"]["completion"] for sample in samples_of(log.location)} if log else {}
        usable, problems = defaultdict[str, dict[str, str]](dict), defaultdict[str, dict[str, str]](dict)
        for id, (n, prompt) in rewrites.items():
            answer = read_rewrite(replies[id], texts[prompt])
            problem = answer.reason or self.pipeline.unusable(prompt, answer.value or "")
            of_candidate = (problems if problem else usable)[f"round-{number}-candidate-{n}"]
            of_candidate[prompt] = problem or answer.value or ""
        return {name: {**texts, **rewrite} for name, rewrite in usable.items()}, dict(problems)

    def _question(self, candidate: int, text: str, faults: Sequence[Fault]) -> str:
        """Return what the optimizer is asked about a prompt."""
        # the optimizer is asked in Chinese about Chinese prompts, and in English about all others
        language = "zh" if self.pipeline.language == "zh" else "en"
        template = prompt_for(f"optimize_rewrite_{language}", "optimize")["user"]
        # each candidate is shown other rejected drafts, if there are enough
        shown = sorted(set(faults), key=lambda fault: stable_hash(candidate - 1, *fault))[:MOST_REJECTS]
        fields = {
            "prompt": fence(text),
            "rejects": fence("\n\n".join(f"{f.check}: {f.reason}\n{f.detail[:_SHOWN]}" for f in shown)),
            "number": str(len(faults)),
            "placeholders": ", ".join(f"{{{name}}}" for name in sorted(set(PLACEHOLDER.findall(text)))) or "-",
        }
        return fill(template, fields)


def _optimizer_logs(number: int) -> str:
    return f"round-{number}-optimizer"


@solver
def rewrite_prompt() -> Solver:
    """Ask the model in the role `optimizer` for a rewritten prompt, at temperature 1."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        draw = int(state.metadata["draw"])
        output = await ask(state.input_text, OPTIMIZER, cache=False, draw=draw, temperature=1.0, max_tokens=_MAX_TOKENS)
        state.output = output
        return state

    return solve


def read_rewrite(reply: str, current: str) -> Answer[str]:
    """Read the rewritten prompt of a reply, between the last `<prompt>` and `</prompt>`.

    It must have the same placeholders as the current prompt, and differ from it.
    """
    before, closed, _ = ReplyText(reply).text.rpartition(_CLOSES)
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
    return Answer(text)


def _write_prompts(path: Path, pipeline: Pipeline, texts: Texts) -> None:
    """Write prompts to a file that can be passed as the option `prompts`."""
    entries = {f"{pipeline.name}_{name}_{pipeline.language}": {"user": text} for name, text in texts.items()}
    text = yaml.safe_dump(entries, default_style="|", allow_unicode=True, sort_keys=False, width=10_000)
    atomic_write_text(path, text)
