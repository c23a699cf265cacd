"""Commands made of typed functions: their arguments and options are the settings that the function declares.

Parameters before `*` become arguments, those after it options. A parameter that is a dataclass stands for an option for
each of its fields; in `Annotated[Options, names]`, the names are of the fields that the command has no option for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import click

from halu_tasks.core.errors import UsageError
from halu_tasks.core.options import SCORING_OPTIONS, Options
from halu_tasks.core.plugins import Kind, added_parts
from halu_tasks.core.settings import Count, Help, Setting, settings_of

if TYPE_CHECKING:
    from halu_tasks.executors.jobs import Executor

FURTHER = "further"
"""The parameter that takes what follows `--`: arguments of another program."""
NOTHING: Mapping[str, Any] = MappingProxyType({})
"""The default of options KEY=VALUE."""

_TRUTH = {"true": True, "false": False}
_PLACEHOLDERS = {str: "TEXT", int: "N", float: "NUMBER", tuple: "A,B", Mapping: "KEY=VALUE"}

ItemOptions = Annotated[Options, (*SCORING_OPTIONS, "fewshot", "probability", "system_in_user")]
HarnessOptions = Annotated[Options, ("verdicts", "verdict_columns")]
ReplyOptions = Annotated[Options, ("fewshot", "cot", "structured", "probability", "system_in_user")]
Output = Annotated[Path, "-o", "--output", "FOLDER"]


@dataclass(frozen=True, kw_only=True)
class ExecutorOptions:
    """Where work is done that is divided into tasks."""

    executor: Annotated[
        str,
        "NAME",
        Help("where the work is done: local (this machine), slurm, ray, or an executor that a package adds"),
    ] = "local"
    executor_tasks: Annotated[Count, Help("number of tasks that share the work at the same time")] = 1
    executor_config: Annotated[
        Path | None,
        "FILE",
        Help("settings of the executor (YAML), such as the partition of a Slurm cluster; see docs/scale.md"),
    ] = None

    def create(self) -> Executor:
        """Return the executor.

        Raises:
            UsageError: It is not installed, or a setting is unknown or invalid.
        """
        from halu_tasks.executors import get_executor

        return get_executor(self.executor, self.executor_tasks, self.executor_config)


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
        about: What it does, for its help.
        function: The function, which returns an exit status; None stands for 0.
    """

    def __init__(self, name: str, about: str, function: Callable[..., int | None]) -> None:
        super().__init__(name, short_help=_summary(about))
        self.function = function
        self._records: dict[str, tuple[type, list[str]]] = {}
        """The class of each parameter that several options are made into, and their names."""
        self.params = list(self._parameters())
        described = (
            f"{argument.human_readable_name}: {settings_of(function)[str(argument.name)].about}"
            for argument in self.params
            if isinstance(argument, click.Argument)
        )
        self.help = "\n\n".join([about, *described])

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

    def _parameters(self) -> Iterator[click.Parameter]:
        parameters = inspect.signature(self.function).parameters
        for name, setting in settings_of(self.function).items():
            kind = setting.type
            if isinstance(kind, type) and is_dataclass(kind):
                left_out = next((extra for extra in setting.extras if isinstance(extra, tuple)), ())
                fields = {of: each for of, each in settings_of(kind).items() if of not in left_out}
                self._records[name] = kind, list(fields)
                yield from map(_option, fields.values())
            elif name != FURTHER:
                is_option = parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
                yield _option(setting) if is_option else _argument(setting)


def _argument(setting: Setting) -> click.Argument:
    many, required = get_origin(setting.type) is Sequence, setting.default is inspect.Parameter.empty
    metavar = (*setting.words, setting.name.upper())[0] + "…" * many
    facts: dict[str, Any] = {"type": _click_type(setting), "metavar": metavar, "nargs": -1 if many else 1}
    if not required:
        facts |= {"metavar": f"[{metavar}]", "default": () if many else setting.default}
    return click.Argument([setting.name], required=required, **facts)


def _option(setting: Setting) -> click.Option:
    kind, default = get_origin(setting.type) or setting.type, setting.default
    required, many = default is inspect.Parameter.empty, kind in (Sequence, Mapping)
    flags = [word for word in setting.words if word.startswith("-")] or [setting.flag]
    facts: dict[str, Any] = {"type": _click_type(setting), "metavar": _placeholder(setting), "multiple": many}
    if kind is bool:
        facts = {"is_flag": True}
        flags = [f"{flags[0]}/--no-{flags[0][2:]}"] if default is None else flags
    elif kind is Mapping:
        facts["callback"] = lambda ctx, param, value: key_values(value, flags[0])
    if not required:
        facts["default"] = () if many else default
    shows_default = kind is not bool and not required and facts["default"] not in (None, ())
    about = setting.about + "; can be repeated" * many + (f"  [{setting.limits}]" if setting.limits else "")
    return click.Option([*flags, setting.name], required=required, help=about, show_default=shows_default, **facts)


def _placeholder(setting: Setting) -> str | None:
    """Return what stands for a value in the help; None if click knows better, as it does of choices and paths."""
    usual = _PLACEHOLDERS.get(get_origin(setting.type) or setting.type)
    return next((word for word in setting.words if not word.startswith("-")), usual)


def _click_type(setting: Setting) -> Any:
    """Return the type by which click reads a value; what needs a check is parsed by the setting."""

    def parse(text: Any) -> Any:
        try:
            return setting.parse(text) if isinstance(text, str) else text
        except UsageError as error:
            raise click.BadParameter(str(error)) from None

    many = get_origin(setting.type) in (Sequence, Mapping)
    kind = get_args(setting.type)[0] if many else setting.type
    if setting.choices:
        return click.Choice(setting.choices)
    if kind is Path:
        return click.Path(path_type=Path)
    return str if many or setting.is_any_text else parse


def _summary(about: str) -> str:
    return about.partition("\n")[0].rstrip(".")


class CommandGroup(click.Group):
    """Commands by name, whose modules are imported when they are needed.

    Args:
        name: The name of the group.
        about: What it is for.
        commands: What each command does, and its function as `module:function`; of a group of commands, the arguments.
        default: The command that runs if none is named; empty if one has to be.
        kind: The kind of the functions that other packages add as further commands; None if they add none.
    """

    def __init__(
        self,
        name: str,
        about: str,
        commands: Mapping[str, tuple[Any, ...]],
        default: str = "",
        kind: Kind | None = None,
    ) -> None:
        super().__init__(name, help=about, short_help=_summary(about), no_args_is_help=False)
        packaged = {command: f"{__package__}.{what}" for command, (_, what, *_) in commands.items()} if kind else {}
        functions = added_parts(kind, packaged) if kind else {}
        self._added = {
            each: Command(each, inspect.getdoc(function) or "", function) for each, function in functions.items()
        }
        self._declared, self._default = commands, default
        # click suggests one of these for a name that is none
        self.commands = dict.fromkeys([*commands, *self._added], self)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in their order."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with what they do, for which their modules are not imported."""
        abouts = {name: about for name, (about, *_) in self._declared.items()}
        abouts |= {name: command.short_help or "" for name, command in self._added.items()}
        with formatter.section("Commands"):
            formatter.write_dl([(name, _summary(abouts[name])) for name in self.list_commands(ctx)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command."""
        if cmd_name in self._added:
            return self._added[cmd_name]
        about, what, *default = self._declared.get(cmd_name, (None, None))
        if not isinstance(what, str):
            return CommandGroup(cmd_name, about, what, *default) if what else None
        module, _, function = what.partition(":")
        return Command(cmd_name, about, getattr(import_module(f"{__package__}.{module}"), function))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments: without the name of a command, they are those of the default."""
        if self._default and "--help" not in args[:1] and not (args and args[0] in self.commands):
            args = [self._default, *args]
        return super().parse_args(ctx, args)
