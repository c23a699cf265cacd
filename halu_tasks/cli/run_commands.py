"""`run` and `demo`: models on tasks in their harnesses."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from halu_tasks.cli.command import NOTHING, ExecutorOptions, HarnessOptions, Output, key_values
from halu_tasks.cli.output import EXIT_PARTIAL, pluralize, print_json, progress, say, table, warn
from halu_tasks.cli.report_commands import summary
from halu_tasks.core.errors import HaluTasksError, RejectedError, RunInterrupted, UsageError
from halu_tasks.core.files import create_folder
from halu_tasks.core.options import JUDGE_COST_OPTIONS, Options
from halu_tasks.core.settings import Count, Help
from halu_tasks.text.number_format import format_interval

if TYPE_CHECKING:
    from halu_tasks.runs.dry_run import CallPlan
    from halu_tasks.runs.model_specs import HarnessModel
    from halu_tasks.runs.run_tasks import ModelRun
    from halu_tasks.tasks import Task

PLAIN = "plain"
"""The method that sends the tasks' own prompts."""
REPORT = "report"
"""The folder of the report, in that of the runs."""
_COUNTED = """\
A token is taken to be four bytes. Output tokens, dollars and hours are upper limits, for replies as long as allowed.
Calls are counted
- exactly,
- at most: blank replies are not judged, and verdicts in the cache, such as on an equal reply, are not asked for again,
- about: replies decide what is asked; those of halu/oracle are assumed, with each sentence as one claim,
- at least: a model may call its tool."""
# separates the arguments of a method, whose values can contain commas
_NEXT_ARGUMENT = re.compile(r",(?=\s*[A-Za-z_]\w*=)")

TaskNames = Annotated[str, "A,B"]
Methods = Sequence[tuple[str, Mapping[str, Any]]]


def run(
    models: Annotated[
        Sequence[str],
        "MODEL",
        Help(
            "openai/gpt-4o-mini or another provider's, named as in Inspect; hf/OWNER/NAME on the Hub "
            "or hf/PATH, a local folder; openai-api/local/NAME with --base-url, your own server; or "
            "models.yaml, a file with models (docs/leaderboards.md)"
        ),
    ],
    *,
    tasks: Annotated[
        TaskNames,
        Help(
            "tasks, groups, halu_tasks (all tasks that need no judge), halu_tasks_judged (the "
            "others), task or group files, or folders of task files"
        ),
    ],
    method: Annotated[
        Sequence[str], "METHOD", Help("plain, or a method in Inspect as NAME or NAME:ARGUMENT=VALUE,… (default: plain)")
    ] = (),
    limit: Annotated[
        Count | None,
        Help("only N items of each task: a random sample, which is the same in every run and part of any larger one"),
    ] = None,
    output: Annotated[
        Output, Help("where each model has a folder, beside a report on all; the same command continues there")
    ] = Path("halu-runs"),
    harness: Annotated[
        Literal["inspect", "lm_eval"] | None, Help("the harness (default: lm_eval for hf/…, else inspect)")
    ] = None,
    base_url: Annotated[
        str | None,
        "--base-url",
        "--model-base-url",
        "URL",
        Help("the address of a server that is already running, such as http://localhost:8000/v1"),
    ] = None,
    model_arg: Annotated[Mapping[str, Any], "-M", Help("an argument of the model")] = NOTHING,
    chat_template: Annotated[
        bool | None,
        Help("whether lm-eval applies the chat template (default: if the tokenizer of an hf model has one)"),
    ] = None,
    no_check: Annotated[
        bool, Help("do not ask judge and models before the run: for servers that only machines of a cluster reach")
    ] = False,
    dry_run: Annotated[
        bool,
        Help(
            "print calls and tokens, check judge and models, and print the harnesses' commands instead of running them"
        ),
    ] = False,
    price: Annotated[
        Sequence[str],
        "[MODEL=]INPUT/OUTPUT",
        Help(
            "with --dry-run, dollars per million input and output tokens, such as 2.50/10, of all "
            "models or of one, a judge included, as in openai/gpt-4o=2.50/10"
        ),
    ] = (),
    calls_per_minute: Annotated[
        Count | None, Help("with --dry-run, the calls that a model answers in a minute, to print hours")
    ] = None,
    tokens_per_second: Annotated[
        Count | None, Help("with --dry-run, the input and output tokens that a model takes in a second")
    ] = None,
    options: HarnessOptions,
    executor: ExecutorOptions,
    json: Annotated[bool, Help("print what is done as one JSON object instead of a table")] = False,
    further: Sequence[str] = (),
) -> int:
    """Run `halu-tasks run`."""
    from halu_tasks.replies.scoring import judge_warnings
    from halu_tasks.runs.model_specs import models_named
    from halu_tasks.runs.run_tasks import Runs, in_folders
    from halu_tasks.tasks.task_registry import files_at, is_group, tasks_at

    if not dry_run and (price or calls_per_minute or tokens_per_second):
        raise UsageError("--price, --calls-per-minute and --tokens-per-second need --dry-run")
    groups = [str(file) for name in tasks.split(",") for file in files_at(name.strip()) if is_group(file)]
    selected = [*tasks_at(tasks.split(",")).values()]
    if unused := options.unsupported({name for task, _ in selected for name in task.prompts.task_options}):
        raise UsageError(f"none of the tasks has the option {Options.settings()[unused[0]].flag}")
    folder = output.expanduser()
    named = models_named(models, harness=harness, base_url=base_url, arguments=model_arg, chat_template=chat_template)
    of_models = _model_runs(folder, named, _methods(method), selected, options, limit, further)
    runs = list(in_folders(of_models, progress))
    alone = len(runs) == 1 and not json and executor == ExecutorOptions()
    runs = [replace(run, to_terminal=alone) for run in runs]
    pending, chosen = [run for run in runs if run.missing()], [task for task, _ in selected]
    for run in runs:
        if done := len(run.tasks) - len(run.missing()):
            progress(f"{run.folder} has the results of {done} of {pluralize(len(run.tasks), 'task', 'tasks')}")
    plan = list["CallPlan"]()
    if dry_run:
        from halu_tasks.runs.dry_run import planned_calls, priced

        plan = planned_calls(pending, chosen)
        judged = options.judge_price and any(row.model == options.judge for row in plan)
        of_judge = [f"{options.judge}={options.judge_price}"] if judged else []
        plan = priced(plan, [*of_judge, *price], calls_per_minute, tokens_per_second)
        if plan and not json:
            say(f"{table([row._asdict() for row in plan])}\n{_COUNTED}\n")
    else:
        for run in pending if executor.executor == "local" else ():
            # tasks on a cluster go on without their command, and the same command waits for them
            run.require_free()
        _check_methods(pending, chosen)
    left_out = {} if no_check else _left_out(pending, chosen, options)
    if left_out and all(run.model.name in left_out for run in runs):
        raise next(iter(left_out.values()))
    job = Runs(folder, tuple(run for run in pending if run.model.name not in left_out))
    if dry_run or not alone:
        # otherwise the harness says so on the terminal
        for line in (line for task in chosen for line in judge_warnings(task, options)):
            warn(line)
    if dry_run:
        return _show(job.runs, plan, left_out, as_json=json)
    try:
        executor.create()(job, (lambda line: say(f"$ {line}")) if alone else progress)
        return _finish(runs, left_out, folder, groups, json=json)
    except (KeyboardInterrupt, RunInterrupted) as error:
        raise RunInterrupted(f"{str(error) or 'interrupted'}; {Runs(folder, tuple(runs)).kept()}") from None


def _check_methods(runs: Sequence[ModelRun], tasks: Sequence[Task]) -> None:
    """Check on the first item of each task that the methods can do it, once for all models.

    Raises:
        UsageError: A method cannot do a task.
    """
    methods = {(run.method, str(run.method_arguments), *run.tasks): replace(run, limit=1) for run in runs if run.method}
    if methods:
        from halu_tasks.runs.dry_run import planned_calls

        planned_calls(methods.values(), tasks)


def _show(
    runs: Sequence[ModelRun], plan: Sequence[CallPlan], left_out: Mapping[str, HaluTasksError], *, as_json: bool
) -> int:
    from halu_tasks.runs.child_process import shell_line

    for name, error in left_out.items():
        warn(f"{name}: {error}")
    commands = [shell_line(command, run.variables) for run in runs for command in run.commands(run.missing())]
    if as_json:
        print_json({"plan": [row._asdict() for row in plan], "commands": commands})
    else:
        for line in commands:
            say(line)
    return EXIT_PARTIAL if left_out else 0


def _methods(names: Sequence[str]) -> Methods:
    """Parse methods and their arguments; an empty name stands for the plain prompt.

    Raises:
        UsageError: A method is unknown or named twice, or an argument is malformed.
        ArgumentError: A method does not accept an argument.
    """
    methods: list[tuple[str, Mapping[str, Any]]] = []
    for text in names or [PLAIN]:
        name, _, settings = text.partition(":")
        arguments = key_values(_NEXT_ARGUMENT.split(settings) if settings else (), f"method {name}")
        if name == PLAIN and arguments:
            raise UsageError(f"method {PLAIN}: the plain prompt has no arguments")
        method = ("" if name == PLAIN else name, arguments)
        if method in methods:
            raise UsageError(f"method {name} is named twice")
        if name != PLAIN:
            from halu_tasks.solvers.methods import get_method

            get_method(*method)
        methods.append(method)
    return methods


def _model_runs(
    folder: Path,
    models: Sequence[HarnessModel],
    methods: Methods,
    selected: Sequence[tuple[Task, Path | None]],
    options: HarnessOptions,
    limit: int | None,
    further: Sequence[str],
) -> Iterator[ModelRun]:
    """Return the runs of models with methods, each in the folder that has its name.

    Raises:
        UsageError: A model in lm-eval has a method, or one whose server gives no probabilities is to compare them.
        DataError: The data of a task cannot be read.
    """
    from halu_tasks.judging.stores import budget_variables
    from halu_tasks.runs.run_tasks import ModelRun, checksum_of

    changed = {k: list(v) if isinstance(v, tuple) else v for k, v in options.changed().items()}
    data = {task.name: checksum_of(task, file, options) for task, file in selected}
    for model in models:
        for method, arguments in methods:
            if method and model.harness != "inspect":
                raise UsageError(
                    f"--method: model {model.name} runs in lm-eval, which has no methods; --harness inspect"
                )
            if options.probability and model.harness == "lm_eval" and model.model.endswith("chat-completions"):
                raise UsageError(
                    f"--probability: lm-eval gets no probabilities from the chat server of {model.name}; "
                    "use --harness inspect"
                )
            yield ModelRun(
                folder=folder / (f"{model.name}-{method}" if method else model.name),
                model=model,
                tasks={task.name: file for task, file in selected},
                data=data,
                method=method,
                method_arguments=arguments,
                options={name: value for name, value in changed.items() if name not in JUDGE_COST_OPTIONS},
                limit=limit,
                further=tuple(further),
                environment=budget_variables(changed, folder),
            )


def _left_out(runs: Sequence[ModelRun], tasks: Sequence[Task], options: Options) -> Mapping[str, HaluTasksError]:
    """Check judge and models before runs; return why models cannot be run, by their names.

    Raises:
        JudgeError: The judge does not answer.
    """
    from halu_tasks.runs.dry_run import first_requests
    from halu_tasks.runs.model_specs import require_model

    left_out: dict[str, HaluTasksError] = {}
    distinct = {run.model.name: run.model for run in runs}
    if len(distinct) > 1:
        progress(f"Checking {len(distinct)} models …")
    for name, model in distinct.items():
        try:
            require_model(model, first_requests([run for run in runs if run.model.name == name], tasks))
        except HaluTasksError as error:
            left_out[name] = error
    judged = next((task.judge_spec for task in tasks if task.judge_spec), None)
    if judged and options.judge and len(left_out) < len(distinct):
        from halu_tasks.judging.judge_model import Judge, with_judge

        with_judge(options, judged, Judge.reach)
    return left_out


def _finish(
    runs: Sequence[ModelRun], left_out: Mapping[str, HaluTasksError], folder: Path, groups: Sequence[str], *, json: bool
) -> int:
    from halu_tasks.report.write import write_report

    results: dict[str, dict[str, Any]] = {}
    for run in runs:
        missing, error = run.missing(), left_out.get(run.model.name)
        why = "" if not missing else f"not run: {error}" if error else run.why_missing()
        finished = [task for task in run.tasks if task not in missing]
        results[run.name] = {"done": finished, "missing": missing, "message": why}
        if missing:
            see = "" if error else f"see {'the output above' if run.to_terminal else run.output}"
            replies = "" if error else run.replies_kept()
            reason = "; ".join(filter(None, [why, see, replies and f"{replies} are kept"]))
            rejected = isinstance(error, RejectedError) if error else run.is_rejected()
            again = "the server would reject the same command again" if rejected else "the same command continues"
            warn(f"{run.name}: no complete result of {', '.join(missing)}: {reason}; {again}")
    written = None
    if any(row["done"] for row in results.values()):
        sys.stdout.flush()
        progress("Writing the report …")
        written = write_report([str(folder), *groups], folder / REPORT, "Runs", warn, warn_unfinished=False)
    if json:
        print_json({"models": results, "report": str(folder / REPORT / "index.html") if written else None})
    else:
        if len(results) > 1:
            names = [{key: ", ".join(row[key]) for key in ("done", "missing")} for row in results.values()]
            say(table([{"model": name, **row} for name, row in zip(results, names, strict=True)]))
        say(f"\n{summary(folder / REPORT, written) if written else 'no report'}")
    return EXIT_PARTIAL if any(row["missing"] for row in results.values()) else 0


def demo(
    *,
    tasks: Annotated[TaskNames, Help("tasks or groups (default: one of four benchmarks)")] = "",
    output: Annotated[Output, Help("where results and the report are written")] = Path("halu-demo"),
) -> int:
    """Run `halu-tasks demo`."""
    from halu_tasks.report.write import write_report
    from halu_tasks.runs.run_tasks import DEMO_MODELS, DEMO_TASKS, run_demo
    from halu_tasks.tasks import tasks_selected

    selected, folder = tasks_selected(tasks.split(",") if tasks else DEMO_TASKS), output.expanduser()
    create_folder(folder)
    say(f"Running {pluralize(len(selected), 'task', 'tasks')} in lm-eval and Inspect at the same time …\n")
    figures_of = run_demo([task.name for task in selected], folder)
    in_lm_eval, in_inspect = figures_of["lm_eval"], figures_of["inspect"]
    write_report([str(folder / harness) for harness in figures_of], folder / REPORT, "Demo", warn)
    rows = []
    for task in selected:
        # the headline, or the metric that takes its place without a judge
        name = task.judge_spec.unjudged if task.judge_spec else task.headline
        metric = next(metric for metric in task.scorers["strict"].metrics if metric.name == name)
        direction = {True: "↑", False: "↓", None: ""}[metric.higher_is_better]
        figures = {}
        for model in DEMO_MODELS:
            of = in_inspect[task.name, model]
            interval = format_interval(of.get(f"{name}_low"), of.get(f"{name}_high"), ".2f", "")
            figures[f"halu-{model}"] = f"{of[name]:.2f} {interval}".rstrip()
        # the answers' form, in brackets, is on the page
        question = task.about.partition(" (")[0]
        rows.append({"task": task.name, "metric": f"{name} {direction}".rstrip(), **figures, "what is asked": question})
    say(table(rows))
    say(
        "\nhalu-oracle knows the answers: no model can be better (↑ higher is better, ↓ lower). halu-baseline answers "
        "by a fixed\nrule, without reading the items: a model near it has not solved the task. The items are a sample "
        "written for this\npackage, not the benchmarks. In square brackets: 95% confidence intervals."
    )
    compared = [(key, name) for key, figures in in_lm_eval.items() for name in figures if name in in_inspect[key]]
    different = sum(in_lm_eval[key][name] != in_inspect[key][name] for key, name in compared)
    same = "report the same values of all" if not different else f"differ in {different} of"
    say(f"lm-eval and Inspect {same} {len(compared):,} figures: these, other metrics and the standard errors.")
    say(f"\nOpen {folder / REPORT / 'index.html'} in a browser. Next, a model of your own on a benchmark:")
    say("  halu-tasks run hf/Qwen/Qwen2.5-0.5B-Instruct --tasks refact_judgment_independent --limit 20")
    return 1 if different else 0
