"""A page for each command, from its parser."""

from __future__ import annotations

import argparse
import re

from page import Page, Section, listed, literal, mentions, sections

from halu_tasks.cli.parser import build_parser

FOLDER = "reference/commands/"


def command_section() -> Section:
    """Make the pages of all commands of `halu-tasks`."""
    actions = build_parser()._subparsers
    commands = next(a for a in (actions._group_actions if actions else []) if isinstance(a, argparse._SubParsersAction))
    helps = {choice.dest: choice.help or "" for choice in commands._choices_actions}
    pages = [_page(name, helps[name], parser) for name, parser in commands.choices.items()]
    text = sections("This section has a page for every command, with the output of `--help`.", listed(pages, FOLDER))
    about = "Every command of `halu-tasks` with its options."
    return Section("Commands", Page(f"{FOLDER}index.md", "All commands", about, text), {"": pages})


def _page(name: str, about: str, parser: argparse.ArgumentParser) -> Page:
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    inner = [(of, choice) for group in groups for of, choice in group.choices.items()]
    text = sections(
        f"{about[:1].upper()}{about[1:]}.",
        literal(_help(parser)),
        *(f"## `{name} {of}`\n\n{literal(_help(choice))}" for of, choice in inner),
        mentions(f"halu-tasks {name}", 2),
    )
    return Page(f"{FOLDER}{name}.md", f"halu-tasks {name}", about, text)


def _help(parser: argparse.ArgumentParser) -> str:
    """Return what `--help` prints, at the same width wherever the site is built."""
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, max_help_position=28, width=100)
    return re.sub(r"^usage: \S+ ", "usage: halu-tasks ", parser.format_help())
