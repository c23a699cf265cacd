"""`halu-tasks export hub`: results as community evals of the Hugging Face hub, and built datasets as benchmarks."""

from __future__ import annotations

import argparse
from pathlib import Path

from halu_tasks.cli.exports.shared import add_result_arguments, ids_by_name, print_outcome
from halu_tasks.cli.output import warn

HELP = "export results as .eval_results files of models, or a built dataset with an eval.yaml, for the Hugging Face Hub"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_result_arguments(parser, "; or the folder of a build, whose dataset is written with an eval.yaml")
    about = (
        "the dataset of the Hub with the leaderboard of a benchmark, for results whose data are not from there; "
        "BENCHMARK is a name from `halu-tasks data`; can be repeated"
    )
    parser.add_argument("--dataset", metavar="BENCHMARK=OWNER/NAME", action="append", default=[], help=about)
    about = "also export results on a part of the items (`--limit`); their notes say of how many"
    parser.add_argument("--partial", action="store_true", help=about)
    parser.add_argument("--source", metavar="URL", help="an address where the results are published in full")


def run(arguments: argparse.Namespace) -> int:
    """Write the files, and print them."""
    from halu_tasks.exports.community_evals import Target
    from halu_tasks.exports.write import export_hub

    outcome = export_hub(
        arguments.results,
        Path(arguments.output).expanduser(),
        ids_by_name(arguments.model_id, "--model-id"),
        Target(ids_by_name(arguments.dataset, "--dataset"), arguments.source),
        warn,
        partial=arguments.partial,
    )
    return print_outcome(outcome)
