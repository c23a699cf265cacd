"""Commands made of typed functions: their arguments, options and help follow from the signature and the docstring.

Parameters before `*` become arguments, those after it options. Types and defaults are those of the signature, and the
texts of `--help` are the docstring's summary and its section `Args`. `Annotated` adds what a type cannot say: a
placeholder (`"N"`), other flags (`"-o"`, `"--output"`) or a click type. A parameter that is a dataclass stands for an
option for each of its fields, and `Annotated[Options, group]` for the task options of a group, as `Options` declares
them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import click

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.core.options import Options, OptionSpec, ValueType

if TYPE_CHECKING:
    from halu_tasks.executors import Executor

FURTHER = "further"
"""The parameter that takes what follows `--`: arguments of another program."""

_NOT_ASKED = ("scoring", "fewshot")
_OF_PROMPTS = ("cot", "structured")
_OF_REPLIES = ("judge", "reader", "reference", "assume")


class OptionGroup(Enum):
    """The task options that a command takes."""

    ITEMS = "which items a task has, and how they are asked"
    REPLIES = "which items a task has, and how replies are scored"
    RUN = "all"

    def __contains__(self, spec: OptionSpec) -> bool:
        return self is OptionGroup.RUN or not (spec.of_harnesses or spec.name in self._left_out)

    @property
    def _left_out(self) -> Sequence[str]:
        if self is OptionGroup.REPLIES:
            return ("fewshot", *_OF_PROMPTS)
        return [name for name in Options.specs() if name in _NOT_ASKED or name.startswith(_OF_REPLIES)]


NOTHING: Mapping[str, Any] = MappingProxyType({})
"""The default of options KEY=VALUE."""
ItemOptions = Annotated[Options, OptionGroup.ITEMS]
ReplyOptions = Annotated[Options, OptionGroup.REPLIES]
RunOptions = Annotated[Options, OptionGroup.RUN]
Count = Annotated[int, click.IntRange(min=1), "N"]
Output = Annotated[Path, "-o", "--output", "FOLDER"]


@dataclass(frozen=True, kw_only=True)
class ExecutorOptions:
    """Where work is done that is divided into tasks.

    Attributes:
        executor: where the work is done: on this machine, or on a cluster with Slurm
        executor_tasks: number of tasks that share the work at the same time
        executor_config: settings of the executor (YAML), such as the partition of a Slurm cluster; see docs/scale.md
    """

    executor: Literal["local", "slurm"] = "local"
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
        summary, self._about = _parse_docstring(function)
        super().__init__(name, help=summary, short_help=summary.partition("\n")[0].rstrip("."))
        self.function = function
        self._conversions: list[Callable[[dict[str, Any]], None]] = []
        """What makes the values that the function takes of those that click has read, in order."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, which are made when they are first needed."""
        if not self.params:
            for parameter, annotation in _parameters_of(self.function):
                self.params += self._parameters(parameter, annotation)
        return super().get_params(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; what follows `--` is kept for another program if the function has a use for it."""
        further: list[str] = []
        takes_further = FURTHER in inspect.signature(self.function).parameters
        if takes_further and "--" in args:
            end = args.index("--")
            args, further = args[:end], args[end + 1 :]
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if takes_further and not error.possibilities:
                ctx.fail(f"{error.message} (options of the harness follow --, as in -- {error.option_name} …)")
            raise
        if takes_further:
            ctx.params[FURTHER] = further
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Call the function; its status is the command's result."""
        values = dict(ctx.params)
        for convert in self._conversions:
            convert(values)
        return self.function(**values)

    def _parameters(self, parameter: inspect.Parameter, annotation: Any) -> list[click.Parameter]:
        """Return the arguments or options of a parameter of the function."""
        name = parameter.name
        if name == FURTHER:
            return []
        kind, extras = _unwrapped(annotation)
        if kind is Options:
            specs = [spec for spec in Options.specs().values() if spec in extras[0]]
            self._gather(name, Options, [spec.name for spec in specs])
            return [_task_option(spec) for spec in specs]
        if is_dataclass(kind) and isinstance(kind, type):
            self._about = {**_parse_docstring(kind)[1], **self._about}
            fields = list(_parameters_of(kind))
            params = [param for field, hint in fields for param in self._parameters(field, hint)]
            self._gather(name, kind, [field.name for field, _ in fields])
            return params
        many = get_origin(kind) in (Sequence, Mapping)
        if get_origin(kind) is Mapping:
            flag = extras[0]
            self._conversions.append(lambda values: values.update({name: key_values(values[name], flag)}))
            kind, extras = str, [*extras, "KEY=VALUE"]
        elif many:
            kind, inner = _unwrapped(get_args(kind)[0])
            extras = [*extras, *inner]
        required = parameter.default is inspect.Parameter.empty
        given = next((extra for extra in extras if isinstance(extra, click.ParamType)), None)
        settings: dict[str, Any] = {"required": required, "type": given or _click_type(kind)}
        if not required:
            settings["default"] = () if many else parameter.default
        words = [extra for extra in extras if isinstance(extra, str)]
        flags = [word for word in words if word.startswith("-")]
        settings["metavar"] = next((word for word in words if word not in flags), None)
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            about = self._about[name] + ("; can be repeated" if many else "")
            return [_option(name, flags, kind, multiple=many, help=about, **settings)]
        metavar = (settings["metavar"] or name.upper()) + ("…" if many else "")
        settings["metavar"] = metavar if required else f"[{metavar}]"
        return [_Argument([name], nargs=-1 if many else 1, about=self._about[name], **settings)]

    def _gather(self, name: str, kind: Callable[..., Any], fields: Sequence[str]) -> None:
        """Have the values of some options made into one."""

        def convert(values: dict[str, Any]) -> None:
            values[name] = kind(**{field: values.pop(field) for field in fields})

        self._conversions.append(convert)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments, and then the options."""
        arguments = [param for param in self.get_params(ctx) if isinstance(param, _Argument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl([(param.make_metavar(ctx), param.about) for param in arguments])
        super().format_options(ctx, formatter)


class Subcommands(NamedTuple):
    """The commands of a group.

    Attributes:
        about: What the group is for.
        commands: The function of each command as `module:function`, or the commands of a group in it.
        default: The command that runs if none is named; empty if one has to be.
    """

    about: str
    commands: Mapping[str, str | Subcommands]
    default: str = ""


class CommandGroup(click.Group):
    """Commands by name, whose modules are imported when they are needed.

    Args:
        name: The name of the group.
        subcommands: Its commands.
    """

    def __init__(self, name: str, subcommands: Subcommands) -> None:
        about, self._paths, self._default = subcommands
        about = about[:1].upper() + about[1:]
        super().__init__(name, help=about, short_help=about.partition("\n")[0], no_args_is_help=False)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in their order."""
        return list(self._paths)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command."""
        path = self._paths.get(cmd_name)
        if path is None:
            return None
        if isinstance(path, Subcommands):
            return CommandGroup(cmd_name, path)
        module, _, function = path.partition(":")
        return Command(cmd_name, getattr(import_module(f"{__package__}.{module}"), function))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments: without the name of a command, they are those of the default."""
        if self._default and "--help" not in args[:1] and not (args and args[0] in self._paths):
            args = [self._default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name, or suggest one."""
        if self.get_command(ctx, args[0]) is None:
            ctx.fail(f"no command {args[0]!r}{did_you_mean(args[0], self._paths)}")
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the default, and the commands."""
        if self._default and (command := self.get_command(ctx, self._default)):
            command.format_options(ctx, formatter)
            self.format_commands(ctx, formatter)
        else:
            super().format_options(ctx, formatter)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the usage of the default, or that of a group."""
        command = self.get_command(ctx, self._default) if self._default else None
        return command.collect_usage_pieces(ctx) if command else super().collect_usage_pieces(ctx)


class _Argument(click.Argument):
    """An argument with a description."""

    def __init__(self, *args: Any, about: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.about = about


class _TaskValue(click.ParamType[Any]):
    """The type of a task option."""

    def __init__(self, kind: ValueType) -> None:
        self.kind, self.name = kind, kind.metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.kind.parse(value)
        except ValueError:
            self.fail(f"expected {self.kind.description}, got {value!r}", param, ctx)


def _task_option(spec: OptionSpec) -> click.Option:
    kind = spec.type
    if kind is None:
        raise TypeError(f"option {spec.name} cannot be given on the command line")
    settings: dict[str, Any] = {"type": click.Choice(spec.choices) if spec.choices else _TaskValue(kind)}
    if bool in kind.accepts:
        settings = {"is_flag": True}
    elif not spec.choices:
        settings["metavar"] = spec.metavar
    shown = bool not in kind.accepts and spec.default not in (None, ())
    return click.Option([spec.flag, spec.name], default=spec.default, help=spec.about, show_default=shown, **settings)


def _option(name: str, flags: Sequence[str], kind: Any, **settings: Any) -> click.Option:
    """Return an option; `flags` replace the one that its name gives."""
    flag = f"--{name.replace('_', '-')}"
    default = settings.get("default")
    if kind is bool:
        settings |= {"is_flag": True, "type": None}
        flag = f"{flag}/--no-{flag[2:]}" if default is None else flag
    shown = kind is not bool and default not in (None, ())
    return click.Option([*(flags or [flag]), name], show_default=shown, **settings)


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


def _parameters_of(function: Callable[..., Any]) -> Iterator[tuple[inspect.Parameter, Any]]:
    """Return the parameters of a function or dataclass, with their types."""
    hints = get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        yield parameter, hints[parameter.name]


def _parse_docstring(function: Callable[..., Any]) -> tuple[str, Mapping[str, str]]:
    """Return the text of a Google docstring above its sections, and what it says of each argument."""
    text, _, sections = re.sub("\n\nAttributes:\n", "\n\nArgs:\n", inspect.cleandoc(function.__doc__ or "")).partition(
        "\n\nArgs:\n"
    )
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", sections.partition("\n\n")[0], re.MULTILINE)
    return text, {name: " ".join(about.split()).rstrip(".") for name, about in entries}
