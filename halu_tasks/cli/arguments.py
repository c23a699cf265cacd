"""Arguments that several commands share: how they are declared, and how their values are read."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halu_tasks.core.errors import UsageError
from halu_tasks.core.options import DATA_OPTIONS, Options, OptionSpec, ValueType

if TYPE_CHECKING:
    from halu_tasks.executors.job import Executor
    from halu_tasks.inspect_adapter.run_models import RunModels
    from halu_tasks.sweeps.named_model import ModelName

TASK_HELP = "a task name from `halu-tasks list`, or the path of a task file (.yaml)"

# --- values ---------------------------------------------------------------------------------------


def positive_int(text: str) -> int:
    """Parse an integer greater than 0."""
    number = _parsed(text, int, "an integer")
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected an integer greater than 0, got {text!r}")
    return int(number)


def count(text: str) -> int:
    """Parse an integer that is not negative."""
    return 0 if text.strip() == "0" else positive_int(text)


def integer(text: str) -> int:
    """Parse an integer."""
    return int(_parsed(text, int, "an integer"))


def number(text: str) -> float:
    """Parse a number."""
    return float(_parsed(text, float, "a number"))


def positive_number(text: str) -> float:
    """Parse a finite number greater than 0."""
    value = number(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number greater than 0, got {text!r}")
    return value


def _parsed(text: str, parse: Callable[[str], Any], description: str) -> Any:
    try:
        return parse(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected {description}, got {text!r}") from None


def key_values(arguments: Sequence[str], flag: str) -> dict[str, Any]:
    """Parse `KEY=VALUE` arguments as Inspect does: values are YAML, and lists if they contain commas.

    Args:
        arguments: The arguments.
        flag: What they were given to, for the error, such as `-T`.

    Raises:
        UsageError: An argument is not of this form.
    """
    import yaml

    values: dict[str, Any] = {}
    for text in arguments:
        key, equals, raw = text.strip().partition("=")
        if not (key and equals):
            raise UsageError(f"{flag}: expected KEY=VALUE, got {text!r}")
        try:
            value = yaml.safe_load(raw)
        except yaml.YAMLError:
            value = raw
        parts = value.split(",") if isinstance(value, str) else []
        values[key.replace("-", "_")] = parts if len(parts) > 1 else value
    return values


# --- options of tasks -----------------------------------------------------------------------------


def add_task_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the task, and the options that change which items it has."""
    parser.add_argument("task", metavar="TASK", help=TASK_HELP)
    add_item_options(parser)


def add_item_options(parser: argparse._ActionsContainer) -> None:
    """Add the options that change which items a task has."""
    of_some_tasks = [name for name, spec in Options.of_some_tasks().items() if not spec.of_harnesses]
    add_options(parser, *DATA_OPTIONS, *of_some_tasks)


def add_run_options(parser: argparse._ActionsContainer) -> None:
    """Add the options of a run that all tasks have, except the number of worked examples, which harnesses set."""
    add_options(
        parser, *(name for name, spec in Options.specs().items() if not spec.of_some_tasks and name != "fewshot")
    )


def add_options(parser: argparse._ActionsContainer, *names: str) -> None:
    """Add options of tasks, as `Options` declares them."""
    for name in names:
        _add_option(parser, Options.specs()[name])


def _add_option(parser: argparse._ActionsContainer, spec: OptionSpec) -> None:
    kind = spec.type
    if kind is None:
        raise TypeError(f"option {spec.name} cannot be given on the command line")
    if bool in kind.accepts:
        parser.add_argument(spec.flag, action="store_true", help=spec.about)
    elif spec.choices:
        parser.add_argument(spec.flag, choices=spec.choices, default=spec.default, help=spec.about)
    else:
        parse = _argument_type(kind)
        parser.add_argument(spec.flag, type=parse, default=spec.default, metavar=spec.metavar, help=spec.about)


def _argument_type(kind: ValueType) -> Callable[[str], Any]:
    return lambda text: _parsed(text, kind.parse, kind.description)


def task_options(arguments: argparse.Namespace, **others: Any) -> Options:
    """Return the options of a task that a command line gives.

    Args:
        arguments: The command line.
        **others: Further options.

    Raises:
        UsageError: The task does not have one of them.
    """
    from halu_tasks.tasks import task_named

    options = given_options(arguments, **others)
    if unused := options.unused(task_named(arguments.task).task_options):
        raise UsageError(f"task {arguments.task} has no option {Options.specs()[unused[0]].flag}")
    return options


def given_options(arguments: argparse.Namespace, **others: Any) -> Options:
    """Return the options that a command line gives, whatever the task.

    Args:
        arguments: The command line.
        **others: Further options.
    """
    given = {name: getattr(arguments, name) for name in Options.specs() if name in arguments}
    return Options(**given | others)


def run_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `add_run_options` that are not at their default, as JSON values."""
    options = given_options(arguments).changed()
    return {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}


# --- models ---------------------------------------------------------------------------------------


def add_model_arguments(parser: argparse.ArgumentParser, task_option_help: str) -> None:
    """Add the models of a run and the settings of their calls.

    Args:
        parser: The parser of the command.
        task_option_help: What `-T` gives.
    """
    parser.add_argument("--model", required=True, help="the model, named as in Inspect")
    parser.add_argument("--model-base-url", metavar="URL", help="the address of its server")
    for flag, name, form, about in (
        ("-M", "model_arg", "KEY=VALUE", "an argument of the model"),
        ("--model-role", "model_role", "ROLE=MODEL", "another model for a role"),
        ("-T", "task_option", "KEY=VALUE", task_option_help),
    ):
        about += "; can be repeated"
        parser.add_argument(flag, dest=name, action="append", default=[], metavar=form, help=about)
    about = "maximum number of concurrent calls to each model"
    parser.add_argument("--max-connections", type=positive_int, metavar="N", help=about)
    about = "how often a failed call is retried, after increasing delays (default: 7, about six minutes)"
    parser.add_argument("--max-retries", type=count, default=7, metavar="N", help=about)
    about = "no call is retried after this many seconds"
    parser.add_argument("--timeout", type=positive_int, metavar="SECONDS", help=about)
    displays = ("full", "rich", "plain", "log", "none")
    parser.add_argument("--display", choices=displays, help="how Inspect shows its progress, on standard error")


def add_named_model(parser: argparse._ActionsContainer, *, required: bool) -> None:
    """Add a model for either harness.

    Args:
        parser: The parser of the command.
        required: Whether a model must be given.
    """
    about = (
        "the model: openai/gpt-4o-mini or another provider's, named as in Inspect; hf/OWNER/NAME on the Hub or "
        "hf/PATH, a local folder; openai-api/local/NAME with --base-url, your own server"
    )
    parser.add_argument("model", metavar="MODEL", nargs=None if required else "?", help=about)
    about = "the harness (default: lm_eval for hf/…, else inspect)"
    parser.add_argument("--harness", choices=("inspect", "lm_eval"), help=about)
    about = "the address of a server that is already running, such as http://localhost:8000/v1"
    parser.add_argument("--base-url", "--model-base-url", metavar="URL", help=about)
    about = "an argument of the model; can be repeated"
    parser.add_argument("-M", dest="model_arg", action="append", default=[], metavar="KEY=VALUE", help=about)


def model_name(arguments: argparse.Namespace) -> ModelName:
    """Return the model that a command line names.

    Raises:
        UsageError: It has no provider, or there is a credential among its arguments.
    """
    from halu_tasks.sweeps.named_model import ModelName

    return ModelName.parse(arguments.model, arguments.base_url, key_values(arguments.model_arg, "-M"))


def run_models(arguments: argparse.Namespace) -> RunModels:
    """Return the models that a command line names.

    Raises:
        UsageError: Inspect cannot create one of them.
    """
    from halu_tasks.inspect_adapter.run_models import RunModels

    calls = ("max_connections", "max_retries", "timeout")
    models = RunModels(
        name=arguments.model,
        base_url=arguments.model_base_url,
        arguments=key_values(arguments.model_arg, "-M"),
        roles=key_values(arguments.model_role, "--model-role"),
        eval_settings={
            "display": arguments.display,
            **{name: value for name in calls if (value := getattr(arguments, name)) is not None},
        },
    )
    models.check()
    if getattr(arguments, "executor", None) == "slurm" and models.secret:
        raise UsageError(
            "--executor slurm: keeps the settings of models in a file; set credentials in the environment, such as "
            "OPENAI_API_KEY, instead of naming them on the command line"
        )
    return models


# --- executors ------------------------------------------------------------------------------------


def add_executor_arguments(parser: argparse.ArgumentParser, number_flag: str = "--tasks") -> None:
    """Add where the work is done, and how many tasks share it.

    Args:
        parser: The parser of the command.
        number_flag: The option with the number of tasks.
    """
    about = "where the tasks run: on this machine, or on a cluster with Slurm or Ray (default: local)"
    parser.add_argument("--executor", choices=("local", "slurm", "ray"), default="local", help=about)
    about = "number of tasks that share the work at the same time (default: 1)"
    parser.add_argument(number_flag, dest="executor_tasks", type=positive_int, default=1, metavar="N", help=about)
    about = "settings of the executor (YAML), such as the partition of a Slurm cluster; see docs/scale.md"
    parser.add_argument("--executor-config", metavar="FILE", help=about)


def chosen_executor(arguments: argparse.Namespace) -> Executor:
    """Return the executor that a command line chooses.

    Raises:
        UsageError: It is not installed, or a setting is unknown or invalid.
    """
    from halu_tasks.executors.choice import executor_named

    config = Path(arguments.executor_config) if arguments.executor_config else None
    return executor_named(arguments.executor, arguments.executor_tasks, config)


# --- other groups ---------------------------------------------------------------------------------


def add_field_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the names of the fields of a predictions file."""
    for name, about in (("id", "the item's id"), ("output", "the reply")):
        about = f"the field or column that contains {about} (default: {name})"
        parser.add_argument(f"--{name}-field", default=name, metavar="NAME", help=about)


def add_comparison_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the metrics of a comparison, and its format."""
    about = "a metric to compare (default: the headline metric); can be repeated"
    parser.add_argument("--metric", action="append", default=[], metavar="NAME", help=about)
    add_margin_argument(parser)
    add_json_argument(parser, "tables")


def add_margin_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--margin`."""
    about = "also test whether differences are smaller than this, such as 0.02 for two points: equal instead of open"
    parser.add_argument("--margin", type=positive_number, metavar="DIFFERENCE", help=about)


def add_json_argument(parser: argparse.ArgumentParser, instead_of: str, what: str = "one JSON object") -> None:
    """Add `--json`.

    Args:
        parser: The parser of the command.
        instead_of: What the command prints without it.
        what: What it prints with it.
    """
    parser.add_argument("--json", action="store_true", help=f"print {what} instead of {instead_of}")
