"""Running models on tasks with methods, and what of it is done.

Each model with a method has a folder, which contains what its harness writes, how it is run (`settings.json`), its last
commands (`command.txt`), and, if there are several, all that they printed (`output.txt`). The same command continues
there. A model that is run in another way, so that its replies may differ, has a folder of its own: NAME-2, NAME-3 …
What judges may cost is no part of that: it can change between calls, and the harnesses read it from the environment.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from halu_tasks.core.files import atomic_write, create_folder
from halu_tasks.core.options import PREFIX
from halu_tasks.data.rows import read_json_object
from halu_tasks.executors import Report
from halu_tasks.runs.command import flags, repeated, run_harness, shown
from halu_tasks.runs.models import HarnessModel

if TYPE_CHECKING:
    from inspect_ai.log import EvalError

LOGS, RESULTS, CACHE = "logs", "results", "replies"
"""In a folder: Inspect's logs, lm-eval's results, and lm-eval's cache of replies."""
_SETTINGS, _COMMAND, _OUTPUT = "settings.json", "command.txt", "output.txt"
_RETRIES = 7
"""How often Inspect repeats a call that fails, unless the user says otherwise; by itself, it never gives up."""
_LAST = 2000
"""How many bytes at the end of an output are searched for its last line."""
_CAUSED = "The above exception was the direct cause of the following exception:"
"""What a traceback has between two errors, the second of which says that calls were retried."""
_SAME_REPLIES = {
    *("model_base_url", "max_connections", "adaptive_connections", "max_tasks", "max_samples", "batch", "max_retries"),
    *("timeout", "attempt_timeout", "retry_on_error", "fail_on_error", "no_fail_on_error", "continue_on_fail"),
    *("score_on_error", "log_level", "log_level_transcript", "log_buffer", "log_shared", "no_log_realtime", "tags"),
    *("metadata", "base_url", "num_concurrent", "verify_certificate", "ca_cert_path"),
}
"""Options and arguments that change where and how fast a model is asked, and what happens on errors, not its replies.
"""


@dataclass(frozen=True)
class RunTask:
    """A task of a run: its name, and the task file that defines it if it is no packaged one."""

    name: str
    file: Path | None = None


@dataclass(frozen=True)
class RunMethod:
    """A method of Inspect: a solver of this package, and its arguments."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


class Progress(NamedTuple):
    """What of a run is done.

    Attributes:
        done: The names of the tasks with a complete result.
        missing: Those of the others.
        message: Why something is missing: the error of a task, or the last line that the harness printed; empty if
            nothing is missing or it is not known.
    """

    done: Sequence[str]
    missing: Sequence[str]
    message: str


@dataclass(frozen=True)
class ModelRun:
    """A model that runs on tasks with a method.

    Attributes:
        folder: Its folder.
        model: The model.
        tasks: The tasks.
        method: The method; None for the tasks' own prompts.
        options: The options of the tasks that are not at their default, as JSON values.
        limit: Maximum number of items of each task; None for all.
        further: Further arguments of the harness's command.
        environment: The environment variables that are set for it.
        shown: Whether the harness prints to the terminal instead of a file.
    """

    folder: Path
    model: HarnessModel
    tasks: tuple[RunTask, ...]
    method: RunMethod | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    further: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    shown: bool = False

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def output(self) -> Path:
        """The file with what the harness printed."""
        return self.folder / _OUTPUT

    def commands(self, tasks: Sequence[RunTask]) -> list[list[str]]:
        """Return the harness's own commands for some of the tasks, without the interpreter.

        Inspect runs one task file in a command, and lm-eval those of one folder.
        """
        groups: dict[Path | None, list[RunTask]] = {}
        for task in tasks:
            place = task.file if self.model.harness == "inspect" or not task.file else task.file.parent
            groups.setdefault(place, []).append(task)
        words = self._inspect if self.model.harness == "inspect" else self._lm_eval
        limited = ["--limit", str(self.limit)] if self.limit else []
        return [[*words(place, group), *limited, *self.further] for place, group in groups.items()]

    def _inspect(self, file: Path | None, tasks: Sequence[RunTask]) -> Iterator[str]:
        model = self.model
        names = ["task"] if file else [task.name for task in tasks]
        yield from ("inspect", "eval-set", *(f"halu_tasks/{name}" for name in names), "--model", model.model)
        yield from repeated("-M", model.arguments)
        yield from repeated("-T", {**({"config": str(file)} if file else {}), **self.options})
        if self.method:
            yield from ("--solver", f"halu_tasks/{self.method.name}")
            yield from repeated("-S", self.method.arguments)
        yield from ("--log-dir", str(self.folder / LOGS), "--log-dir-allow-dirty", "--retry-attempts", "1")
        if not self.shown:
            yield from ("--display", "plain")
        yield from flags({"max_retries": _RETRIES, **model.options}, dashes=True)

    def _lm_eval(self, folder: Path | None, tasks: Sequence[RunTask]) -> Iterator[str]:
        model, options = self.model, dict(self.options)
        shots = options.pop("fewshot", None)
        yield from ("lm_eval", "run", "--model", model.model)
        if model.arguments:
            yield from ("--model_args", json.dumps(model.arguments))
        yield from ("--tasks", ",".join(task.name for task in tasks))
        yield from ("--include_path", str(folder)) if folder else ()
        yield from ("--num_fewshot", str(shots)) if shots is not None else ()
        if options:
            yield from ("--metadata", json.dumps({PREFIX + name: value for name, value in options.items()}))
        yield from ("--output_path", str(self.folder / RESULTS), "--log_samples")
        yield from ("--use_cache", str(self.folder / CACHE))
        yield from flags(model.options, dashes=False)

    def run_missing(self, report: Report) -> None:
        """Run the tasks without a result: together, and then one by one those that another one stopped.

        In lm-eval, one task that fails stops all of a command, and in Inspect one that cannot be created.
        """
        missing = self._missing()
        if not missing:
            return
        (self.folder / _COMMAND).unlink(missing_ok=True)
        earlier = {log.path for log in unfinished_logs(self.folder)}
        self._run(missing, report)
        if len(missing) == 1:
            return
        # Inspect has a log of each task that failed by itself
        failed = {log.task for log in unfinished_logs(self.folder) if log.path not in earlier}
        messages = []
        for task in self._missing():
            if task.name not in failed:
                self._run([task], report)
                if task in self._missing():
                    messages.append(f"{task.name}: {_last_line(self.output)}\n")
        if messages and not self.shown:
            # the last command may be of a task that succeeded
            with self.output.open("a", encoding="utf-8") as output:
                output.writelines(messages)

    def _run(self, tasks: Sequence[RunTask], report: Report) -> None:
        """Run the harness's commands for some tasks."""
        variables = {**self.model.placeholder_key, **self.environment}
        for command in self.commands(tasks):
            line = shown(command, variables)
            report(line)
            with (self.folder / _COMMAND).open("a", encoding="utf-8") as commands:
                commands.write(line + "\n")
            if self.shown:
                run_harness(command, variables, None)
                continue
            with self.output.open("ab") as output:
                output.write(f"$ {line}\n".encode())
                output.flush()
                run_harness(command, {**variables, "PYTHONUNBUFFERED": "1"}, output)

    def _missing(self) -> list[RunTask]:
        finished = finished_tasks(self.folder)
        return [task for task in self.tasks if task.name not in finished]

    def progress(self) -> Progress:
        """Return what of the tasks is done."""
        missing = [task.name for task in self._missing()]
        errors = [log.error for log in unfinished_logs(self.folder) if log.error]
        message = (errors[-1] if errors else _last_line(self.output)) if missing else ""
        return Progress([task.name for task in self.tasks if task.name not in missing], missing, message)

    def prepare(self) -> None:
        """Create the folder, with the settings.

        Raises:
            DataError: It cannot be created.
        """
        create_folder(self.folder)
        with atomic_write(self.folder / _SETTINGS, "settings") as file:
            json.dump(self.settings(), file, indent=2, ensure_ascii=False)

    def settings(self) -> dict[str, Any]:
        """Return how the model is run, as JSON values."""
        ways = {
            **{key: value for key, value in asdict(self.model).items() if key not in ("name", "base_url")},
            "method": asdict(self.method) if self.method else None,
            "task_options": self.options,
            "limit": self.limit,
            "further": self.further,
        }
        return dict(json.loads(json.dumps(ways)))


def in_folders(runs: Iterable[ModelRun]) -> Iterator[ModelRun]:
    """Give each run the first of the folders NAME, NAME-2, NAME-3 … that is new, or of a run with the same replies."""
    taken: set[Path] = set()
    for run in runs:
        names = (run.name if number == 1 else f"{run.name}-{number}" for number in count(1))
        folders = (run.folder.with_name(name) for name in names)
        folder = next(place for place in folders if place not in taken and _can_be_of(run, place))
        taken.add(folder)
        yield replace(run, folder=folder)


def _can_be_of(run: ModelRun, folder: Path) -> bool:
    """Return whether a folder is new, or has the replies of a run."""
    path = folder / _SETTINGS
    return not folder.exists() or (path.exists() and _of_replies(read_json_object(path)) == _of_replies(run.settings()))


def _of_replies(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that may change replies."""
    ways = dict(settings)
    for key in ("arguments", "options"):
        ways[key] = {name: value for name, value in settings.get(key, {}).items() if name not in _SAME_REPLIES}
    return ways


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
        return not any(run.progress().missing for run in self.runs[rank::tasks])

    def work(self, rank: int, tasks: int, report: Report) -> None:
        """Do the runs of a share, one after the other; one that fails does not stop the others."""
        for run in self.runs[rank::tasks]:
            run.run_missing(report)
            if not run.shown:
                report(f"{run.name}: {len(run.progress().done)} of {len(run.tasks)} tasks done")

    def kept(self) -> str:
        """Say what is kept after an interruption."""
        parts = []
        for run in self.runs:
            done, replies = len(run.progress().done), kept_replies(run.folder)
            also = f", {replies:,} replies of unfinished tasks" if replies and done < len(run.tasks) else ""
            parts.append(f"{run.name}: {done} of {len(run.tasks)} tasks{also}")
        return f"{self.folder} keeps what is finished ({'; '.join(parts)}), and the same command continues from there"


class UnfinishedLog(NamedTuple):
    """A log of a task that Inspect did not finish.

    Attributes:
        task: The task.
        path: The log.
        replies: The number of samples in it.
        error: Why the task ended; empty if it was interrupted.
    """

    task: str
    path: Path
    replies: int
    error: str


def finished_tasks(folder: Path) -> set[str]:
    """Return the tasks with a complete result in a folder; Inspect ends with status 0 even if a task failed."""
    finished: set[str] = set()
    # lm-eval writes its results when all items have a reply
    for path in folder.glob(f"{RESULTS}/**/results_*.json"):
        finished |= json.loads(path.read_text(encoding="utf-8")).get("results", {}).keys()
    return finished | {task for task, header, _ in _logs(folder) if header.status == "success"}


def unfinished_logs(folder: Path) -> list[UnfinishedLog]:
    """Return the logs of tasks without a complete result in a folder, in the order of their names."""
    logs = []
    for task, header, path in _logs(folder):
        if header.status != "success":
            from inspect_ai.log import read_eval_log_sample_summaries

            replies = sum(not sample.error for sample in read_eval_log_sample_summaries(str(path)))
            logs.append(UnfinishedLog(task, path, replies, _cause(header.error) if header.error else ""))
    return sorted(logs, key=lambda log: log.path)


def kept_replies(folder: Path) -> int:
    """Return the number of replies in unfinished logs of Inspect, and in lm-eval's cache, in a folder."""
    cached = sum(map(_cached, folder.glob(f"{CACHE}_rank*.db")))
    return cached + sum(log.replies for log in unfinished_logs(folder))


def _logs(folder: Path) -> Iterator[tuple[str, Any, Path]]:
    """Return the logs of Inspect in a folder: the task, the header and the path."""
    if not (folder / LOGS).is_dir():
        return
    from inspect_ai.log import list_eval_logs, read_eval_log

    from halu_tasks.results.readers.inspect import PACKAGE, path_of

    for info in list_eval_logs(str(folder / LOGS)):
        header = read_eval_log(info, header_only=True)
        yield header.eval.task.removeprefix(PACKAGE), header, folder / LOGS / Path(path_of(info.name)).name


def _cached(path: Path) -> int:
    """Return the number of replies in a cache of lm-eval."""
    with closing(sqlite3.connect(path)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'unnamed'").fetchone():
            return 0
        return int(connection.execute("SELECT COUNT(*) FROM unnamed").fetchone()[0])


def _cause(error: EvalError) -> str:
    """Return why a task of Inspect failed, in one line; for a call that was retried, why the last one failed."""
    retried = error.traceback.rpartition(_CAUSED)[0].strip() if error.message.startswith("RetryError") else ""
    lines = (retried or error.message).strip().splitlines()
    return " ".join((lines[-1] if retried else lines[0]).split()) if lines else ""


def _last_line(path: Path) -> str:
    """Return the last line of a file that is not blank; empty if there is none."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _LAST, 0))
        lines = file.read().decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
