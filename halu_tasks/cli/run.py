"""`run`, `demo` and `doctor`: models on tasks in their harnesses, and what keeps them from it."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from halu_tasks.cli.command import Count, ExecutorOptions, Output, RunOptions, key_values
from halu_tasks.cli.output import EXIT_PARTIAL, pluralize, print_json, progress, table, warn
from halu_tasks.cli.report import summary
from halu_tasks.core.errors import HaluTasksError, RunInterrupted, UsageError
from halu_tasks.core.options import JUDGE_COST_OPTIONS, Options
from halu_tasks.text.figures import format_interval

if TYPE_CHECKING:
    from halu_tasks.report.write import WrittenReport
    from halu_tasks.runs.demo import Demo
    from halu_tasks.runs.models import HarnessModel
    from halu_tasks.runs.run import ModelRun, RunMethod, RunTask
    from halu_tasks.tasks import Task

PLAIN = "plain"
"""The method that sends the tasks' own prompts."""
REPORT = "report"
"""The folder of the report, in that of the runs."""
_TASK_OPTIONS = ("-T", "--task-config", "--metadata")
"""The harnesses' options that give options to tasks."""
_NEXT_ARGUMENT = re.compile(r",(?=\s*[A-Za-z_]\w*=)")
"""Separates the arguments of a method, whose values can contain commas."""

TaskNames = Annotated[str, "A,B"]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """How the models of a command line are reached.

    Attributes:
        harness: the harness (default: lm_eval for hf/…, else inspect)
        base_url: the address of a server that is already running, such as http://localhost:8000/v1
        model_arg: an argument of the model
        chat_template: whether lm-eval applies the chat template (default: if the tokenizer of an hf model has one)
    """

    harness: Literal["inspect", "lm_eval"] | None = None
    base_url: Annotated[str | None, "--base-url", "--model-base-url", "URL"] = None
    model_arg: Annotated[Mapping[str, Any], "-M"] = field(default_factory=dict)
    chat_template: bool | None = None

    def create(self, name: str) -> HarnessModel:
        """Return the model of a name."""
        from halu_tasks.runs.models import named_model

        return named_model(name, self.harness, self.base_url, self.model_arg, self.chat_template)


def run(
    models: Annotated[Sequence[str], "MODEL"],
    *,
    tasks: TaskNames,
    method: Annotated[Sequence[str], "METHOD"] = (),
    limit: Count | None = None,
    output: Output = Path("halu-runs"),
    model: ModelOptions,
    no_check: bool = False,
    options: RunOptions,
    executor: ExecutorOptions,
    json: bool = False,
    further: Sequence[str] = (),
) -> int:
    """Run models on tasks, with methods, and write a report.

    What follows -- is added to the harness's command: -- --max-tokens 4096

    Args:
        models: openai/gpt-4o-mini or another provider's, named as in Inspect; hf/OWNER/NAME on the Hub or hf/PATH, a
            local folder; openai-api/local/NAME with --base-url, your own server; or models.yaml, a file with models
            (docs/leaderboards.md)
        tasks: tasks, groups, halu_tasks (all tasks that need no judge), halu_tasks_judged (the others), task files or
            folders of them
        method: plain, or a method in Inspect as NAME or NAME:ARGUMENT=VALUE,… (default: plain)
        limit: only the first N items of each task
        output: where each model has a folder, beside a report on all; the same command continues there
        model: how models are reached
        no_check: do not ask models with a server a short question first: for servers that only machines of a cluster
            reach
        options: the options of the tasks
        executor: where the models run
        json: print what is done as one JSON object instead of a table
        further: further arguments of the harness's command
    """
    from halu_tasks.runs.run import Runs, in_folders

    selected = _tasks(tasks)
    packaged = [task for task, _ in selected]
    if unused := options.unused({name for task in packaged for name in task.task_options}):
        raise UsageError(f"none of the tasks has the option {Options.specs()[unused[0]].flag}")
    folder = output.expanduser()
    if (folder / REPORT).exists() and not (folder / REPORT / "report.json").is_file():
        raise UsageError(f"{folder / REPORT}: exists and is not a report; name another folder with -o FOLDER")
    planned = _runs(folder, _models(models, model), [task for _, task in selected], _methods(method), options)
    alone = len(planned) == 1 and not json and executor == ExecutorOptions()
    runs = list(in_folders(replace(run, limit=limit, further=tuple(further), shown=alone) for run in planned))
    pending = [run for run in runs if run.progress().missing]
    # options of tasks after -- may name other data, which only the harness reads
    checked = [] if any(word.startswith(_TASK_OPTIONS) for word in further) else packaged
    left_out = _left_out([run.model for run in pending], checked, options, no_check=no_check)
    if left_out and len(pending) == len(runs) and all(run.model.name in left_out for run in runs):
        raise next(iter(left_out.values()))
    job = Runs(folder, tuple(run for run in pending if run.model.name not in left_out))
    for run in job.runs:
        run.prepare()
    try:
        executor.create().run(job, (lambda line: print(f"$ {line}", flush=True)) if alone else progress)
    except (KeyboardInterrupt, RunInterrupted) as error:
        raise RunInterrupted(f"{str(error) or 'interrupted'}; {Runs(folder, tuple(runs)).kept()}") from None
    return _finish(runs, left_out, folder, json=json)


def _tasks(names: str) -> list[tuple[Task, RunTask]]:
    """Return the tasks that names, task files and folders of them stand for, each once."""
    from halu_tasks.runs.run import RunTask
    from halu_tasks.tasks import task_named, tasks_selected

    selected: dict[str, tuple[Task, RunTask]] = {}
    for name in map(str.strip, names.split(",")):
        path = Path(name).expanduser()
        if path.is_dir():
            files = [file for file in sorted(path.glob("*.yaml")) if not file.name.startswith("_")]
            if not files:
                raise UsageError(f"{path}: contains no task files (.yaml)")
        else:
            files = [path] if name.endswith(".yaml") else []
        found: list[tuple[Task, Path | None]] = [(task_named(str(file)), file.resolve()) for file in files]
        for task, file in found or [(task, None) for task in tasks_selected([name])]:
            if task.name in selected and selected[task.name][1].file != file:
                raise UsageError(f"{name}: another of the tasks has the name {task.name}, too")
            selected[task.name] = task, RunTask(task.name, file)
    return list(selected.values())


def _models(names: Sequence[str], options: ModelOptions) -> list[HarnessModel]:
    """Return models by their names, or those of models files."""
    from halu_tasks.runs.models import read_models

    models: list[HarnessModel] = []
    for name in names:
        if name.endswith((".yaml", ".yml")):
            if options != ModelOptions():
                raise UsageError(f"{name}: says how its models are reached; leave out the options about it")
            models += read_models(Path(name))
        else:
            models.append(options.create(name))
    if twice := next((name for name, count in Counter(model.name for model in models).items() if count > 1), None):
        raise UsageError(f"model {twice} is named twice")
    return models


def _methods(names: Sequence[str]) -> list[RunMethod | None]:
    """Parse methods; None stands for the plain prompt.

    Raises:
        UsageError: A method is unknown or named twice, or an argument is malformed.
        ArgumentError: A method does not accept an argument.
    """
    from halu_tasks.runs.run import RunMethod

    methods: list[RunMethod | None] = []
    for text in names or [PLAIN]:
        name, _, given = text.partition(":")
        arguments = key_values(_NEXT_ARGUMENT.split(given) if given else (), f"method {name}")
        method = None if name == PLAIN else RunMethod(name, arguments)
        if method in methods:
            raise UsageError(f"method {name} is named twice")
        if name == PLAIN and arguments:
            raise UsageError(f"method {PLAIN}: the plain prompt has no arguments")
        methods.append(method)
    if any(methods):
        from halu_tasks.solvers import check_method

        for method in filter(None, methods):
            check_method(method.name, method.arguments)
    return methods


def _runs(
    folder: Path,
    models: Sequence[HarnessModel],
    tasks: Sequence[RunTask],
    methods: Sequence[RunMethod | None],
    options: Options,
) -> list[ModelRun]:
    """Return the runs of models with methods, in folders that may be taken."""
    from halu_tasks.judging.stores import budget_variables
    from halu_tasks.runs.run import ModelRun

    changed = {k: list(v) if isinstance(v, tuple) else v for k, v in options.changed().items()}
    runs = []
    for model in models:
        if any(methods) and model.harness != "inspect":
            raise UsageError(f"--method: model {model.name} runs in lm-eval, which has no methods; --harness inspect")
        for method in methods:
            runs.append(
                ModelRun(
                    folder=folder / (f"{model.name}-{method.name}" if method else model.name),
                    model=model,
                    tasks=tuple(tasks),
                    method=method,
                    options={name: value for name, value in changed.items() if name not in JUDGE_COST_OPTIONS},
                    environment=budget_variables(changed, folder),
                )
            )
    return runs


def _left_out(
    models: Sequence[HarnessModel], tasks: Sequence[Task], options: Options, *, no_check: bool
) -> Mapping[str, HaluTasksError]:
    """Check data, judge and models before a run; return why models cannot be run, by their names.

    Raises:
        UsageError: The data cannot be read.
    """
    from halu_tasks.doctor.checks import check_data, check_judge
    from halu_tasks.doctor.model import check_key, check_packages
    from halu_tasks.doctor.question import has_server, unanswered

    left_out: dict[str, HaluTasksError] = {}
    distinct = list({model.name: model for model in models}.values())
    for model in distinct:
        try:
            for check in (check_packages(model), check_key(model)):
                check.require()
        except UsageError as error:
            left_out[model.name] = error
    if distinct and len(left_out) == len(distinct):
        return left_out
    for check in check_data(tasks, options, named=True):
        check.require()
    asked = [model for model in distinct if model.name not in left_out and has_server(model)]
    if asked and not no_check:
        if len(distinct) > 1:
            progress(f"Asking {pluralize(len(asked), 'model', 'models')} one short question …")
        left_out |= unanswered(asked)
    if not options.judge and len(left_out) < len(distinct):
        for check in check_judge(tasks, options):
            warn(f"{check.found}; {check.advice}")
    return left_out


def _finish(runs: Sequence[ModelRun], left_out: Mapping[str, HaluTasksError], folder: Path, *, json: bool) -> int:
    """Write the report, and print what is done; return the exit status."""
    done = {run.name: run.progress() for run in runs}
    for run in runs:
        if run.model.name in left_out and done[run.name].missing:
            done[run.name] = done[run.name]._replace(message=f"not run: {left_out[run.model.name]}")
    written = None
    if any(row.done for row in done.values()):
        written = _report(folder, runs[0].folder if len(runs) == 1 else None)
    if json:
        print_json(
            {
                "models": {name: row._asdict() for name, row in done.items()},
                "report": str(written.page) if written else None,
            }
        )
    else:
        rows = [
            {"model": name, "done": str(len(row.done)), "missing": ",".join(row.missing), "why": row.message}
            for name, row in done.items()
        ]
        if len(rows) > 1:
            print(table(rows))
        print(f"\n{summary(written) if written else 'no report'}")
    for run in runs:
        row = done[run.name]
        if row.missing:
            see = f"the output of {run.model.harness} above" if run.shown else str(run.output)
            why = row.message if run.model.name in left_out else f"see {see}"
            warn(f"{run.name}: no complete result of {', '.join(row.missing)}; {why}; the same command continues")
    return EXIT_PARTIAL if any(row.missing for row in done.values()) else 0


def _report(folder: Path, warn_about: Path | None) -> WrittenReport:
    """Write the report on all results in a folder."""
    from halu_tasks.report.write import write_report

    sys.stdout.flush()
    progress("Writing the report …")
    try:
        return write_report([str(folder)], folder / REPORT, "Runs", warn, warn_about=warn_about, warn_unfinished=False)
    except KeyboardInterrupt:
        raise RunInterrupted(
            f"interrupted; all replies are kept, write the report with: halu-tasks report {folder} -o {folder / REPORT}"
        ) from None


def doctor(
    model: Annotated[str | None, "MODEL"] = None,
    *,
    tasks: TaskNames = "",
    reached: ModelOptions,
    options: RunOptions,
    json: bool = False,
) -> int:
    """Check installation, data, judge and model before a run.

    Args:
        model: the model, as for run
        tasks: the tasks of the run, as for run
        reached: how the model is reached
        options: the options of the tasks
        json: print one JSON list instead of a table
    """
    from halu_tasks.doctor.checks import examine
    from halu_tasks.runs.models import LOADED

    provider = (model or "").partition("/")[0]
    if provider in LOADED and not reached.base_url and (reached.harness or provider) in ("lm_eval", "hf"):
        # whether there is a chat template is checked later
        reached = replace(reached, chat_template=False)
    named = reached.create(model) if model else None
    selected = [task for task, _ in _tasks(tasks)] if tasks else []
    checks = list(examine(named, selected, options))
    if json:
        print_json([check._asdict() for check in checks])
    else:
        print(table([{"check": check.name, "state": check.state, "found": check.found} for check in checks]))
        if advised := [{"what to do": check.name, " ": check.advice} for check in checks if check.advice]:
            print(f"\n{table(advised)}")
        states = Counter(check.state for check in checks)
        print(f"\n{len(checks)} checks: {', '.join(f'{count} {state}' for state, count in states.items())}")
    return 1 if any(check.state == "failed" for check in checks) else 0


def demo(*, tasks: TaskNames = "", output: Output = Path("halu-demo")) -> int:
    """Run four tasks on the packaged sample in both harnesses, offline, and write a report.

    Args:
        tasks: tasks or groups (default: one of four benchmarks)
        output: where results and the report are written
    """
    from halu_tasks.runs.demo import TASKS, prepare_folder, run_demo
    from halu_tasks.tasks import registry, tasks_selected

    order = list(registry()[0])
    # as in the report
    selected = sorted(tasks_selected(tasks.split(",") if tasks else TASKS), key=lambda task: order.index(task.name))
    names, folder = [task.name for task in selected], output.expanduser()
    prepare_folder(folder)
    print(f"Running {pluralize(len(names), 'task', 'tasks')} in lm-eval and Inspect at the same time …\n", flush=True)
    shown = run_demo(names, folder, warn)
    _show_demo(selected, shown)
    if shown.differences:
        warn(f"lm-eval and Inspect differ in {shown.differences} of {shown.compared} figures")
    return 1 if shown.differences else 0


def _show_demo(tasks: list[Task], demo: Demo) -> None:
    from halu_tasks.replies.embedded import name_of
    from halu_tasks.runs.demo import INSPECT, LM_EVAL, MODELS

    oracle, baseline = (name_of(model, {}) for model in MODELS)
    rows = []
    for task in tasks:
        # the headline, or the metric that takes its place without a judge
        name = task.judged.unjudged if task.judged else task.headline
        metric = next(metric for metric in task.scoring["strict"].metrics if metric.name == name)
        direction = {True: "↑", False: "↓", None: ""}[metric.higher_is_better]
        figures = [_demo_figure(demo.figures[task.name, model], name) for model in MODELS]
        rows.append(
            {
                "task": task.name,
                "items (clusters)": "{} ({})".format(*demo.sizes[task.name]),
                "metric": f"{name} {direction}".rstrip(),
                oracle: figures[0],
                baseline: figures[1],
                # the answers' form, in brackets, is on the page
                "what is asked": task.about.partition(" (")[0],
            }
        )
    print(table(rows))
    print(
        f"\n{oracle} knows the answers: no model can be better (↑ higher is better, ↓ lower). {baseline} answers by a "
        "fixed rule,\nwithout reading the items (not at random): a model near it has not solved the task. The items "
        "are a sample written for\nthis package, not the benchmarks. In square brackets: 95% confidence intervals. "
        "Items made from one source form a cluster\nand count as one unit, so an interval can be wider or narrower "
        "than for as many independent items."
    )
    if not demo.differences:
        print(
            f"lm-eval and Inspect report the same values of all {demo.compared:,} figures: the "
            f"{len(MODELS) * len(rows)} in the table, the other metrics of these\ntasks and models, and the standard "
            f"errors. They are in {demo.folder / LM_EVAL} and {demo.folder / INSPECT}."
        )
    for task in tasks:
        if task.judged:
            print(f"{task.name}: {task.headline} needs a judge (docs/judges.md); {task.judged.unjudged} does not.")
    page = f"Open {demo.page} in a browser."
    print(f"\n{page} Next, a model of your own on a benchmark:")
    print("  halu-tasks run hf/Qwen/Qwen2.5-0.5B-Instruct --tasks refact_judgment_independent --limit 20")


def _demo_figure(figures: Mapping[str, float], name: str) -> str:
    interval = format_interval(figures.get(f"{name}_low"), figures.get(f"{name}_high"), ".2f", "")
    return f"{figures[name]:.2f} {interval}".rstrip()
