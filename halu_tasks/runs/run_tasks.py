"""Runs of models on tasks with methods, and which of their results are complete.

Each model with a method has a folder with the logs of its harness, its settings and checksums of its data
(`settings.json`), its last commands (`command.txt`), and their output (`output.txt`; a single model prints to the
terminal, and only tracebacks are there). The same command continues there. A run with other settings or changed data,
whose replies may differ, gets a new folder: NAME-2, NAME-3 … The budget of judges may change between commands; the
harnesses read it from the environment.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halu_tasks.core.credentials import public, redacted
from halu_tasks.core.errors import DataError, HaluTasksError, UsageError
from halu_tasks.core.files import atomic_write, atomic_write_text, create_folder, path_without_url_signs
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.options import PREFIX, Options
from halu_tasks.core.processes import GRACE, LOCK, guard
from halu_tasks.data.cache import sha256_of
from halu_tasks.data.rows import read_json_object
from halu_tasks.executors.jobs import Progress, run_here
from halu_tasks.replies.warnings import REPORT_FOLLOWS
from halu_tasks.results.run import COMMAND, IS_REJECTED, SETTINGS, TRANSPORT, cause_of
from halu_tasks.runs.child_process import flags, repeated, run_harness, shell_line
from halu_tasks.runs.model_specs import Harness, HarnessModel, named_model, set_by_run
from halu_tasks.tasks import Task, build

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

LOGS, RESULTS, CACHE = "logs", "results", "replies"
"""In a folder: Inspect's logs, lm-eval's results, and lm-eval's cache of replies."""
# the file with what the harness printed, in which this stands before its commands
_OUTPUT, _PROMPT = "output.txt", "$ "
# how often Inspect repeats a call that fails, unless the user says otherwise; by itself, it never gives up
_RETRIES = 7
# an option of lm-eval with one letter; -1 is a value
_SHORT = re.compile("-[A-Za-z]")


@dataclass(frozen=True)
class ModelRun:
    """A model that runs on tasks with a method.

    Attributes:
        folder: Its folder.
        model: The model.
        tasks: The task file that defines each task, by its name; None for a packaged task.
        data: A checksum of what each task reads (`checksum_of`), by its name.
        method: The method, a solver of this package; empty for the tasks' own prompts.
        method_arguments: The arguments of the method.
        options: The options of the tasks that are not at their default, as JSON values.
        limit: Maximum number of items of each task; None for all.
        further: Further arguments of the harness's command.
        environment: The environment variables of the run.
        to_terminal: Whether the harness prints to the terminal instead of a file.

    Raises:
        UsageError: A further argument is one that the run sets itself.
    """

    folder: Path
    model: HarnessModel
    tasks: Mapping[str, Path | None]
    data: Mapping[str, str] = field(default_factory=dict)
    method: str = ""
    method_arguments: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    further: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    to_terminal: bool = False

    def __post_init__(self) -> None:
        for word in self.further:
            if word.startswith("--") and (option := set_by_run(self.model.harness, word)):
                raise UsageError(f"{word}: {option} is set by the run; leave it out after --")
            if self.model.harness == "lm_eval" and _SHORT.match(word):
                # nearly all of them are set by the run, and argparse takes several written together
                raise UsageError(f"{word}: write the long name of an option of lm-eval after --")

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that are set for the harness's command."""
        return {**self.model.key_variables, **self.environment}

    @property
    def output(self) -> Path:
        """The file with what the harness printed."""
        return self.folder / _OUTPUT

    def commands(self, tasks: Iterable[str]) -> list[list[str]]:
        """Return the harness's own commands for some of the tasks, without the interpreter.

        Inspect runs one task file in a command, and lm-eval those of one folder.
        """
        inspect = self.model.harness == "inspect"
        groups: dict[Path | None, list[str]] = {}
        for task in tasks:
            file = self.tasks[task]
            groups.setdefault(file if inspect or not file else file.parent, []).append(task)
        words = self._inspect if inspect else self._lm_eval
        limited = ["--limit", str(self.limit)] if self.limit else []
        return [[*words(place, group), *limited, *self.further] for place, group in groups.items()]

    def _inspect(self, file: Path | None, tasks: Sequence[str]) -> Iterator[str]:
        model = self.model
        names = ["task"] if file else tasks
        yield from ("inspect", "eval-set", *(f"halu_tasks/{name}" for name in names), "--model", model.model)
        yield from repeated("-M", model.arguments)
        yield from repeated("-T", {**({"config": str(file)} if file else {}), **self.options})
        if self.method:
            yield from ("--solver", f"halu_tasks/{self.method}")
            yield from repeated("-S", self.method_arguments)
        yield from ("--log-dir", str(self.folder / LOGS), "--log-dir-allow-dirty", "--retry-attempts", "1")
        if not self.to_terminal:
            yield from ("--display", "plain")
        yield from flags({"max_retries": _RETRIES, **model.options}, dashes=True)

    def _lm_eval(self, folder: Path | None, tasks: Sequence[str]) -> Iterator[str]:
        model, options = self.model, dict(self.options)
        shots = options.pop("fewshot", None)
        yield from ("lm_eval", "run", "--model", model.model)
        if model.arguments:
            yield from ("--model_args", json.dumps(model.arguments))
        yield from ("--tasks", ",".join(tasks))
        yield from ("--include_path", str(folder)) if folder else ()
        yield from ("--num_fewshot", str(shots)) if shots is not None else ()
        if options:
            yield from ("--metadata", json.dumps({PREFIX + name: value for name, value in options.items()}))
        yield from ("--output_path", str(self.folder / RESULTS), "--log_samples")
        yield from ("--use_cache", str(self.folder / CACHE))
        yield from flags(model.options, dashes=False)

    def run_missing(self, report: Progress) -> None:
        """Run the tasks without a result, unless another process that works in the folder is running them."""
        if not self.missing():
            return
        with guard(self.folder, wait=math.inf) as held:
            if missing := self.missing():
                self.prepare()
                (self.folder / COMMAND).unlink(missing_ok=True)
                self._run_all(missing, report, held)

    def _run_all(self, tasks: Sequence[str], report: Progress, held: int) -> None:
        """Run tasks: together, and in lm-eval, where one that fails stops all, then one by one."""
        self._run(tasks, report, held)
        if self.model.harness == "inspect" or len(tasks) == 1:
            return
        messages = []
        for task in self.missing():
            self._run([task], report, held)
            if task in self.missing():
                messages.append(f"{task}: {_last_line(self.output)}\n")
        if messages and not self.to_terminal:
            # the last command may be of a task that succeeded
            with self.output.open("a", encoding="utf-8") as output:
                output.writelines(messages)

    def _run(self, tasks: Iterable[str], report: Progress, held: int) -> None:
        for command in self.commands(tasks):
            line = shell_line(command, self.variables)
            report(line)
            with (self.folder / COMMAND).open("a", encoding="utf-8") as commands:
                commands.write(line + "\n")
            with self.output.open("a", encoding="utf-8") as output:
                output.write(f"{_PROMPT}{line}\n")
            try:
                variables = {
                    **self.variables,
                    REPORT_FOLLOWS: "1",
                    **({} if self.to_terminal else {"PYTHONUNBUFFERED": "1"}),
                }
                with path_without_url_signs(self.folder) as folder:
                    logs = str(self.folder / LOGS)
                    if folder != self.folder.absolute():
                        report(f"# Inspect cannot read this path, and calls {logs} {folder / LOGS}")
                        command = [str(folder / LOGS) if word == logs else word for word in command]
                    run_harness(command, variables, self.output, held, to_terminal=self.to_terminal)
            finally:
                atomic_write_text(self.output, redacted(self.output.read_text("utf-8", "replace")), "output")

    def require_free(self) -> None:
        """Raise DataError if another process holds the folder for longer than an interrupted one takes to end."""
        if (self.folder / LOCK).exists():
            with guard(self.folder, wait=GRACE + 5):
                pass

    def missing(self) -> list[str]:
        """Return the names of the tasks without a complete result."""
        finished = finished_tasks(self.folder)
        return [task for task in self.tasks if task not in finished]

    def replies_kept(self) -> str:
        """Say how many replies are kept, such as `95 of 200 replies`; empty if nothing was begun.

        Of how many is only known of Inspect, if it has begun all tasks.
        """
        # each attempt begins with the replies of the one before
        newest = {log.eval.task_id: log for log in logs_of(self.folder)}
        replies, samples = sum(map(_samples_kept, newest.values())), sum(map(_samples, newest.values()))
        caches = [*self.folder.glob(f"{CACHE}*.db")]
        for cache in caches:
            with closing(sqlite3.connect(cache)) as db, suppress(sqlite3.Error):
                replies += next(db.execute("SELECT count(*) FROM unnamed"))[0]
        of = f" of {samples:,}" if len(newest) == len(self.tasks) else ""
        return f"{replies:,}{of} replies" if newest or caches else ""

    def why_missing(self) -> str:
        """Return the error of a task, or the last line that the harness printed; empty if it is not known."""
        errors = [cause_of(log.error) for log in logs_of(self.folder) if log.error]
        return errors[-1] if errors else _last_line(self.output)

    def is_rejected(self) -> bool:
        """Whether a server rejected a request, so that the same command would fail again."""
        return bool(IS_REJECTED.search(self.why_missing()))

    def prepare(self) -> None:
        """Create the folder, with the settings and the checksums of the data.

        Raises:
            DataError: It cannot be created, or another command has created it since it was chosen.
        """
        create_folder(self.folder)
        if (self.folder / SETTINGS).exists() and not self.has_replies_in(self.folder):
            raise DataError(
                f"{self.folder}: another command has just started a run with other settings here; run the command again"
            )
        record = {**self._settings(), "data": {**_record(self.folder).get("data", {}), **self.data}}
        with atomic_write(self.folder / SETTINGS, "settings") as file:
            json.dump(record, file, indent=2, ensure_ascii=False)

    def _settings(self) -> dict[str, Any]:
        ways = {
            **{key: value for key, value in asdict(self.model).items() if key not in ("name", "base_url")},
            "method": self.method,
            "method_arguments": self.method_arguments,
            "task_options": self.options,
            "limit": self.limit,
            "further": self.further,
        }
        return dict(json.loads(json.dumps(public(ways))))

    def has_replies_in(self, folder: Path) -> bool:
        """Return whether a folder is of a model that is run in the same way, and so has the replies of this run."""
        record = _record(folder)
        record.pop("data", None)
        return _of_replies(record) == _of_replies(self._settings())


def _of_replies(settings: Mapping[str, Any]) -> dict[str, Any]:
    ways = dict(settings)
    for key in ("arguments", "options"):
        ways[key] = {name: value for name, value in settings.get(key, {}).items() if name not in TRANSPORT}
    return ways


def _record(folder: Path) -> dict[str, Any]:
    path = folder / SETTINGS
    return dict(read_json_object(path)) if path.exists() else {}


def checksum_of(task: Task, file: Path | None, options: Options) -> str:
    """Return a checksum of what a task reads: its data, and the files of its prompts.

    Args:
        task: The task.
        file: The task file that defines it, if it is no packaged one.
        options: The options that say which data and prompts the user wants.

    Raises:
        UsageError: The task does not support an option.
        DataError: The data cannot be read.
    """
    located = build(task, options.restricted_to(task.prompts.task_options)).located
    files = [path for path in (file, *map(Path, options.prompts)) if path and path.is_file()]
    examples = [part.sha256] if file and (part := task.data.training_data(options)) else []
    return stable_hash(located.sha256, *map(sha256_of, files), *examples)


def in_folders(runs: Iterable[ModelRun], report: Progress) -> Iterator[ModelRun]:
    """Give each run the first of the folders NAME, NAME-2 … that is new, or has the same replies to the same data.

    A run is divided if the data or prompts of some of its tasks have changed since these were run there.

    Args:
        runs: The runs.
        report: Called with a line about each task that has changed.
    """
    taken: set[Path] = set()
    for run in runs:
        shares: dict[Path, dict[str, Path | None]] = {}
        for task, file in run.tasks.items():
            changed = None
            for number in count(1):
                folder = run.folder if number == 1 else run.folder.with_name(f"{run.name}-{number}")
                if folder in taken or (folder.exists() and not run.has_replies_in(folder)):
                    continue
                checksum = run.data.get(task)
                if _record(folder).get("data", {}).get(task, checksum) == checksum:
                    break
                changed = folder
            if changed:
                report(f"{task}: its data or prompts have changed since {changed}; the new results are in {folder}")
            shares.setdefault(folder, {})[task] = file
        taken |= shares.keys()
        for folder, tasks in shares.items():
            yield replace(run, folder=folder, tasks=tasks, data={t: d for t, d in run.data.items() if t in tasks})


@dataclass(frozen=True)
class Runs:
    """Runs of models; as a job of an executor, its tasks are shares of them.

    Attributes:
        folder: The folder of all results.
        runs: The runs.
    """

    folder: Path
    runs: tuple[ModelRun, ...]

    name = "run"

    def finished(self, rank: int, tasks: int) -> bool:
        """Whether the runs of a share have results of all tasks."""
        return not any(run.missing() for run in self.runs[rank::tasks])

    def work(self, rank: int, tasks: int, report: Progress) -> None:
        """Do the runs of a share, one after the other; one that fails does not stop the others."""
        for run in self.runs[rank::tasks]:
            run.run_missing(report)
            if not run.to_terminal:
                report(f"{run.name}: {len(run.tasks) - len(run.missing())} of {len(run.tasks)} tasks done")

    def kept(self) -> str:
        """Say what is kept after an interruption."""
        parts = []
        for run in self.runs:
            tasks = f"{run.name}: {len(run.tasks) - len(run.missing())} of {len(run.tasks)} tasks"
            parts.append(", ".join(filter(None, (tasks, run.replies_kept()))))
        return f"{self.folder} keeps what is finished ({'; '.join(parts)}), and the same command continues from there"


def finished_tasks(folder: Path) -> set[str]:
    """Return the tasks with a complete result in a folder; Inspect ends with status 0 even if a task failed."""
    from halu_tasks.results.inspect_logs import PACKAGE

    finished = {log.eval.task.removeprefix(PACKAGE) for log in logs_of(folder) if log.status == "success"}
    # lm-eval writes its results when all items have a reply
    for path in folder.glob(f"{RESULTS}/**/results_*.json"):
        finished |= json.loads(path.read_text(encoding="utf-8")).get("results", {}).keys()
    return finished


def logs_of(folder: Path) -> list[EvalLog]:
    """Return the headers of Inspect's logs in a folder, in the order of their names, which begin with a date."""
    paths = [path for path in sorted((folder / LOGS).rglob("[0-9]*")) if path.suffix in (".eval", ".json")]
    if not paths:
        return []
    from halu_tasks.results.inspect_logs import read_header

    return [*map(read_header, paths)]


def _samples(log: EvalLog) -> int:
    return len(log.eval.dataset.sample_ids or ()) * (log.eval.config.epochs or 1)


def _samples_kept(log: EvalLog) -> int:
    """Return how many samples of a log have a reply; the log of a process that was killed may not say it."""
    from halu_tasks.results.inspect_logs import read_summaries

    if log.status == "success":
        return _samples(log)
    try:
        summaries = read_summaries(Path(log.location))
    except Exception:
        return 0
    return sum(summary.completed and not summary.error for summary in summaries)


def _last_line(path: Path) -> str:
    """Return the last line that is not blank of what a harness printed; empty if it printed nothing."""
    if not path.exists():
        return ""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return "" if last.startswith(_PROMPT) else last


# --- the demo -------------------------------------------------------------------------------------


DEMO_TASKS = ("refact_judgment_independent", "halluverse25_en", "halueval_summarization", "cfaith_choice")
"""One task of each of four benchmarks; none needs a judge."""
DEMO_MODELS = ("oracle", "baseline")
HARNESSES: tuple[Harness, ...] = ("inspect", "lm_eval")

Figures = dict[tuple[str, str], Mapping[str, float]]
"""Metrics by name, by task and model."""


def run_demo(tasks: Sequence[str], folder: Path) -> dict[Harness, Figures]:
    """Run tasks in both harnesses at the same time, unless they have results in the folder.

    Args:
        tasks: The names of the tasks.
        folder: The folder of the results.

    Returns:
        The figures that each harness reports.

    Raises:
        HaluTasksError: A harness failed.
    """
    # the models and the data are in the package, so nothing may use the network
    offline: Any = {"environment": {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}, "options": {"data": "sample"}}
    runs = [
        ModelRun(folder / harness / name, named_model(f"halu/{name}", harness), dict.fromkeys(tasks), **offline)
        for harness in HARNESSES
        for name in DEMO_MODELS
    ]
    run_here(Runs(folder, tuple(runs)), lambda line: None, tasks=2)
    figures: dict[Harness, Figures] = {harness: {} for harness in HARNESSES}
    for run in runs:
        if missing := run.missing():
            raise HaluTasksError(f"{', '.join(missing)}: {run.why_missing() or 'no result'}; see {run.output}")
        figures[run.model.harness] |= {(task, run.name): reported for task, reported in _reported(run)}
    return figures


def _reported(run: ModelRun) -> Iterator[tuple[str, Mapping[str, float]]]:
    for log in logs_of(run.folder):
        if log.results:
            metrics = log.results.scores[0].metrics
            yield log.eval.task.removeprefix("halu_tasks/"), {name: float(m.value) for name, m in metrics.items()}
    for path in (run.folder / RESULTS).glob("**/results_*.json"):
        for task, figures in json.loads(path.read_text(encoding="utf-8"))["results"].items():
            unfiltered = {key.removesuffix(",none"): value for key, value in figures.items() if key.endswith(",none")}
            yield task, {name: value for name, value in unfiltered.items() if value != "N/A"}
