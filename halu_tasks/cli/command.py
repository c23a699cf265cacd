"""Commands made of typed functions: their arguments, options and help follow from the signature and the docstring.

Parameters before `*` become arguments, those after it options. Types and defaults are those of the signature, and the
texts of `--help` are the docstring's summary and its section `Args`. `Annotated` adds what a type cannot say: a
placeholder (`"N"`), other flags (`"-o"`, `"--output"`) or a click type. A parameter that is a dataclass stands for an
option for each of its fields, and `Annotated[Options, which]` for the task options that `which` selects, as `Options`
declares them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import click

from halu_tasks.core.errors import UsageError
from halu_tasks.core.options import SCORING_OPTIONS, Options, OptionSpec, docstring_of

if TYPE_CHECKING:
    from halu_tasks.executors.jobs import Executor

FURTHER = "further"
"""The parameter that takes what follows `--`: arguments of another program."""
NOTHING: Mapping[str, Any] = MappingProxyType({})
"""The default of options KEY=VALUE."""

_TRUTH = {"true": True, "false": False}

# what follows the class are the options that the command has not
ItemOptions = Annotated[Options, (*SCORING_OPTIONS, "fewshot", "probability", "system_in_user")]
ReplyOptions = Annotated[Options, ("fewshot", "cot", "structured", "probability", "system_in_user")]
RunOptions = Annotated[Options, ()]
Count = Annotated[int, click.IntRange(min=1), "N"]
Output = Annotated[Path, "-o", "--output", "FOLDER"]


@dataclass(frozen=True, kw_only=True)
class ExecutorOptions:
    """Where work is done that is divided into tasks.

    Attributes:
        executor: where the work is done: on this machine, or on a cluster with Slurm or Ray
        executor_tasks: number of tasks that share the work at the same time
        executor_config: settings of the executor (YAML), such as the partition of a Slurm cluster; see docs/scale.md
    """

    executor: Literal["local", "slurm", "ray"] = "local"
    executor_tasks: Count = 1
    executor_config: Annotated[Path | None, "FILE"] = None

    def create(self) -> Executor:
        """Return the executor.

        Raises:
            UsageError: It is not installed, or a setting is unknown or invalid.
        """
        from halu_tasks.executors import executor_named

        return executor_named(self.executor, self.executor_tasks, self.executor_config)


def key_values(arguments: Sequence[str], flag: str) -> dict[str, Any]:
    """Parse `KEY=VALUE` arguments as Inspect does: values are YAML, and lists if they contain commas.

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


class Command(click.Command):
    """A command that calls a function.

    Args:
        name: The name of the command.
        function: The function, which returns an exit status; None stands for 0.
    """

    def __init__(self, name: str, function: Callable[..., int | None]) -> None:
        summary, about = _parse_docstring(function)
        super().__init__(name, short_help=summary.partition("\n")[0].rstrip("."))
        self.function = function
        self._records: dict[str, tuple[type, list[str]]] = {}
        """The class of each parameter that several options are made into, and their names."""
        self.params = list(self._parameters(function, about))
        arguments = [param for param in self.params if isinstance(param, click.Argument)]
        described = (f"{argument.human_readable_name}: {about[argument.name]}" for argument in arguments)
        self.help = "\n\n".join([summary, *described])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; what follows `--` is kept for another program if the function has a use for it."""
        end = args.index("--") if "--" in args else len(args)
        switched = list(self._switched(args[:end]))
        if FURTHER not in inspect.signature(self.function).parameters:
            return super().parse_args(ctx, [*switched, *args[end:]])
        try:
            rest = super().parse_args(ctx, switched)
        except click.NoSuchOption as error:
            # a similar option, such as one of the judge, need not be what is meant
            ctx.fail(f"{error.format_message()} (options of the harness follow --, as in -- {error.option_name} …)")
        ctx.params[FURTHER] = args[end + 1 :]
        return rest

    def _switched(self, args: Sequence[str]) -> Iterator[str]:
        """Yield arguments with switches that have no value: `--structured true`, as in the harnesses, is one."""
        options = (param for param in self.params if isinstance(param, click.Option) and param.is_flag)
        switches = {flag: option for option in options for flag in option.opts}
        skip = False
        for word, following in zip(args, [*args, ""][1:], strict=True):
            flag, equals, value = word.partition("=")
            if skip:
                skip = False
            elif flag not in switches:
                yield word
            else:
                skip = not equals and following.casefold() in _TRUTH
                truth = _TRUTH.get((following if skip else value).casefold(), None if equals else True)
                if truth is None:
                    yield word  # click says that it takes no value
                else:
                    yield from [flag] if truth else switches[flag].secondary_opts[:1]

    def invoke(self, ctx: click.Context) -> Any:
        """Call the function; its status is the command's result."""
        values = dict(ctx.params)
        for name, (kind, fields) in self._records.items():
            values[name] = kind(**{field: values.pop(field) for field in fields})
        return self.function(**values)

    def _parameters(self, function: Callable[..., Any], about: Mapping[str, str]) -> Iterator[click.Parameter]:
        """Return the arguments and options of a function, or those of the fields of a dataclass."""
        hints = get_type_hints(function, include_extras=True)
        for name, parameter in inspect.signature(function).parameters.items():
            kind, extras = _unwrapped(hints[name])
            if kind is Options:
                specs = [spec for spec in Options.specs().values() if spec.name not in extras[0]]
                self._records[name] = Options, [spec.name for spec in specs]
                yield from map(_task_option, specs)
            elif is_dataclass(kind) and isinstance(kind, type):
                self._records[name] = kind, list(inspect.signature(kind).parameters)
                yield from self._parameters(kind, _parse_docstring(kind)[1])
            elif name != FURTHER:
                yield _parameter(parameter, kind, extras, about[name])


def _parameter(parameter: inspect.Parameter, kind: Any, extras: Sequence[Any], about: str) -> click.Parameter:
    """Return an argument or an option."""
    many = get_origin(kind) in (Sequence, Mapping)
    words = [extra for extra in extras if isinstance(extra, str)]
    flags = [word for word in words if word.startswith("-")] or [f"--{parameter.name.replace('_', '-')}"]
    settings: dict[str, Any] = {"metavar": next((word for word in words if not word.startswith("-")), None)}
    if get_origin(kind) is Mapping:
        kind = str
        settings = {"metavar": "KEY=VALUE", "callback": lambda ctx, param, value: key_values(value, flags[0])}
    elif many:
        kind, inner = _unwrapped(get_args(kind)[0])
        extras = [*extras, *inner]
    default = () if many else parameter.default
    settings["required"] = parameter.default is inspect.Parameter.empty
    own_type = next((extra for extra in extras if isinstance(extra, click.ParamType)), None)
    settings["type"] = own_type or _click_type(kind)
    if not settings["required"]:
        settings["default"] = default
    if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
        metavar = (settings.pop("metavar") or parameter.name.upper()) + "…" * many
        return click.Argument(
            [parameter.name],
            nargs=-1 if many else 1,
            metavar=metavar if settings["required"] else f"[{metavar}]",
            **settings,
        )
    if kind is bool:
        settings |= {"is_flag": True, "type": None}
        flags = [f"{flags[0]}/--no-{flags[0][2:]}"] if default is None else flags
    about += "; can be repeated" if many else ""
    shown = kind is not bool and default not in (None, (), inspect.Parameter.empty)
    return click.Option([*flags, parameter.name], multiple=many, help=about, show_default=shown, **settings)


def _task_option(spec: OptionSpec) -> click.Option:
    settings: dict[str, Any] = {"type": _parser(spec), "metavar": spec.metavar}
    if spec.choices:
        settings = {"type": click.Choice(spec.choices)}
    elif spec.kind is bool:
        settings = {"is_flag": True}
    shown = spec.kind is not bool and spec.default not in (None, ())
    return click.Option([spec.flag, spec.name], default=spec.default, help=spec.about, show_default=shown, **settings)


def _parser(spec: OptionSpec) -> Callable[[Any], Any]:
    """Return what reads a task option."""

    def parse(value: Any) -> Any:
        try:
            return spec.parse(value) if isinstance(value, str) else value
        except UsageError as error:
            # Click names the option itself
            raise click.BadParameter(str(error).removeprefix(f"option {spec.name}: ")) from None

    return parse


def _unwrapped(annotation: Any) -> tuple[Any, list[Any]]:
    """Return the type without `None`, and what `Annotated` adds to it."""
    extras: list[Any] = []
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *found = get_args(annotation)
            extras += found
        elif get_origin(annotation) in (Union, UnionType):
            annotation = next(member for member in get_args(annotation) if member is not NoneType)
        else:
            return annotation, extras


def _click_type(kind: Any) -> Any:
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    return click.Path(path_type=Path) if kind is Path else kind


def _parse_docstring(function: Callable[..., Any]) -> tuple[str, Mapping[str, str]]:
    """Return the text of a Google docstring above its sections, and what it says of each argument."""
    parts = re.split("\n\n(?:Args|Attributes):\n", docstring_of(function), maxsplit=1)
    text, sections = (*parts, "")[:2]
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", sections.partition("\n\n")[0], re.MULTILINE)
    return text, {name: " ".join(about.split()).rstrip(".") for name, about in entries}


class CommandGroup(click.Group):
    """Commands by name, whose modules are imported when they are needed.

    Args:
        name: The name of the group.
        about: What it is for.
        paths: The function of each command as `module:function`, or the arguments of a group of commands.
        default: The command that runs if none is named; empty if one has to be.
    """

    def __init__(self, name: str, about: str, paths: Mapping[str, str | tuple[Any, ...]], default: str = "") -> None:
        super().__init__(name, help=about, short_help=about.partition("\n")[0].rstrip("."), no_args_is_help=False)
        self._paths, self._default = paths, default
        # click suggests one of these for a name that is none
        self.commands = dict.fromkeys(paths, self)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in their order."""
        return list(self._paths)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command."""
        path = self._paths.get(cmd_name)
        if not isinstance(path, str):
            return CommandGroup(cmd_name, *path) if path else None
        module, _, function = path.partition(":")
        return Command(cmd_name, getattr(import_module(f"{__package__}.{module}"), function))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments: without the name of a command, they are those of the default."""
        if self._default and "--help" not in args[:1] and not (args and args[0] in self._paths):
            args = [self._default, *args]
        return super().parse_args(ctx, args)
