"""`halu-tasks score`: score replies in a predictions file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import (
    add_executor_arguments,
    add_field_arguments,
    add_json_argument,
    add_options,
    add_task_arguments,
    chosen_executor,
    task_options,
)
from halu_tasks.cli.output import EXIT_PARTIAL, pluralize, print_json, progress, warn
from halu_tasks.cli.tables import estimates_table
from halu_tasks.core.errors import UsageError
from halu_tasks.core.options import SCORING_OPTIONS

if TYPE_CHECKING:
    from halu_tasks.replies.score_file import ScoredFile

HELP = "score replies from any source"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_task_arguments(parser)
    about = (
        'rows of {"id": …, "output": …}: JSON Lines, a JSON array, .parquet, .csv or .xlsx; one or more files, folders '
        "of them, or addresses such as s3://bucket/folder"
    )
    parser.add_argument("predictions", nargs="+", metavar="PREDICTIONS", help=about)
    add_field_arguments(parser)
    add_options(parser, "prompts")
    parser.add_argument("--partial", action="store_true", help="only score the ids in the file")
    parser.add_argument("--model", metavar="NAME", help="the model that gave the replies, for a report")
    about = "write how each item was read and scored; to Parquet files in a new folder if OUT ends in a slash"
    parser.add_argument("--details", metavar="OUT", help=about)
    about = "keep finished parts in FOLDER; the same command continues there if it was interrupted"
    parser.add_argument("--work-folder", type=Path, metavar="FOLDER", help=about)
    add_executor_arguments(parser)
    add_options(parser, *SCORING_OPTIONS)
    add_json_argument(parser, "a table")


def run(arguments: argparse.Namespace) -> int:
    """Score the file, and print the metrics."""
    from halu_tasks.replies.score_file import ScoreRequest, score_file

    request = ScoreRequest(
        predictions=tuple(arguments.predictions),
        id_field=arguments.id_field,
        output_field=arguments.output_field,
        partial=arguments.partial,
        model=arguments.model,
        details=arguments.details,
    )
    options = task_options(arguments)
    if arguments.executor != "local" and arguments.work_folder is None:
        raise UsageError(f"--executor {arguments.executor} needs --work-folder, a folder that all machines share")
    divided = arguments.executor != "local" or arguments.executor_tasks > 1
    scored = score_file(
        arguments.task,
        options,
        request,
        executor=chosen_executor(arguments),
        folder=arguments.work_folder,
        report=progress if divided else lambda line: None,
    )
    for warning in scored.warnings:
        warn(warning)
    if arguments.json:
        print_json(scored.as_json())
    else:
        print(_report(scored))
    return EXIT_PARTIAL if scored.missing else 0


def _report(scored: ScoredFile) -> str:
    built = scored.built
    partial = " (partial: only the ids in the file)" if scored.request.partial else ""
    epochs = f", {scored.epochs} epochs" if scored.epochs > 1 else ""
    items = f"{pluralize(scored.scored_items, 'item', 'items')}{epochs}{partial}, "
    items += f"{scored.missing:,} predictions missing" if epochs else f"{scored.missing:,} without a prediction"
    head = f"{built.task.name} {built.version}  scoring: {built.options.scoring}  data: {built.located.kind}  {items}"
    references = "".join(
        f"\nfor comparison, {metric} of {reply}: {value:.4f}"
        for reply, figures in scored.references.items()
        for metric, value in figures.items()
    )
    note = f"\nnote: {scored.note}" if scored.note else ""
    return f"{head}\n\n{estimates_table('metric', scored.estimates)}{references}{note}"
