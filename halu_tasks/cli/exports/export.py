"""`halu-tasks export`: results and training data in the formats of other tools."""

from __future__ import annotations

import argparse
from typing import cast

from halu_tasks.cli.exports import chats, eee, hub

HELP = "export results and training data in the formats of other tools"

_FORMATS = {"eee": eee, "hub": hub, "chats": chats}
"""The modules of the formats, by name."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the formats, each with its arguments."""
    formats = parser.add_subparsers(dest="format", metavar="FORMAT", required=True)
    for name, module in _FORMATS.items():
        module.add_arguments(formats.add_parser(name, help=module.HELP))


def run(arguments: argparse.Namespace) -> int:
    """Export to the format."""
    return cast(int, _FORMATS[arguments.format].run(arguments) or 0)
