"""A page for each command, from the command line."""

from __future__ import annotations

import click
from page import Page, Section, listed, literal, mentions, sections

from halu_tasks.cli import command_line

FOLDER = "reference/commands/"


def command_section() -> Section:
    """Make the pages of all commands of `halu-tasks`."""
    group = command_line()
    context = click.Context(group, info_name="halu-tasks", terminal_width=100)
    pages = [_page(name, command, context) for name, command in _commands(group, context)]
    text = sections("This section has a page for every command, with the output of `--help`.", listed(pages, FOLDER))
    about = "Every command of `halu-tasks` with its options."
    return Section("Commands", Page(f"{FOLDER}index.md", "All commands", about, text), {"": pages})


def _page(name: str, command: click.Command, parent: click.Context) -> Page:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=100)
    inner = _commands(command, context) if isinstance(command, click.Group) else []
    text = sections(
        f"{command.short_help}.",
        literal(command.get_help(context)),
        *(f"## `{name} {of}`\n\n{literal(_help(of, choice, context))}" for of, choice in inner),
        mentions(f"halu-tasks {name}", 2),
    )
    return Page(f"{FOLDER}{name}.md", f"halu-tasks {name}", str(command.short_help), text)


def _commands(group: click.Group, context: click.Context) -> list[tuple[str, click.Command]]:
    """Return the commands of a group, in order."""
    found = [(name, group.get_command(context, name)) for name in group.list_commands(context)]
    return [(name, command) for name, command in found if command]


def _help(name: str, command: click.Command, parent: click.Context) -> str:
    return command.get_help(click.Context(command, info_name=name, parent=parent, terminal_width=100))
