"""`halu-tasks check`: what is wrong with task files."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "check task files, and name their faults"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    about = "task files (default: those of this package)"
    parser.add_argument("files", nargs="*", metavar="FILE", help=about)


def run(arguments: argparse.Namespace) -> int:
    """Print the faults."""
    from halu_tasks.tasks.checks import faults_of, packaged_faults
    from halu_tasks.tasks.yaml_files import packaged_files

    paths = [Path(name).expanduser() for name in arguments.files]
    faults = faults_of(paths) if paths else packaged_faults()
    for fault in faults:
        print(fault)
    if not faults:
        print(f"no faults in {len(paths) or len(packaged_files())} files")
    return 2 if faults else 0
