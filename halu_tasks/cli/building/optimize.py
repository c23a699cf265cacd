"""`halu-tasks optimize`: better prompts for a builder, from the drafts that its verifier rejects."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import (
    add_json_argument,
    add_model_arguments,
    key_values,
    positive_int,
    run_models,
)
from halu_tasks.cli.output import print_json, progress
from halu_tasks.cli.tables import table
from halu_tasks.core.extras import require_extra

if TYPE_CHECKING:
    from halu_tasks.builders.optimize import Optimization

HELP = "improve a builder's prompts, using the drafts that its verifier rejects"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("builder", metavar="BUILDER", help="haluagent, refact_pipeline, halluverse25_pipeline, …")
    parser.add_argument("documents", metavar="DOCUMENTS", help="as for build; a sample of them is used")
    about = "the folder of the prompts, rates and rejects; the same command continues what it contains"
    parser.add_argument("-o", "--output", metavar="FOLDER", required=True, help=about)
    add_model_arguments(parser, "an option of the builder (language=en)")
    for name, default, about in (
        ("--train", 60, "number of documents whose rejected drafts the optimizer sees"),
        ("--validation", 20, "number of documents by which prompts are compared"),
        ("--rounds", 5, "maximum number of rounds"),
        ("--candidates", 3, "number of sets of prompts to try in a round"),
    ):
        about += f" (default: {default})"
        parser.add_argument(name, type=positive_int, default=default, metavar="N", help=about)
    add_json_argument(parser, "a table")


def run(arguments: argparse.Namespace) -> None:
    """Optimize the prompts, and print the rates of each round."""
    require_extra("build", "halu-tasks optimize")
    from halu_tasks.builders.optimize import optimize_prompts

    optimization = optimize_prompts(
        arguments.builder,
        Path(arguments.documents),
        Path(arguments.output),
        run_models(arguments),
        progress,
        options=key_values(arguments.task_option, "-T"),
        train=arguments.train,
        validation=arguments.validation,
        rounds=arguments.rounds,
        candidates=arguments.candidates,
    )
    if arguments.json:
        print_json(optimization.as_json(), indent=None)
        return
    print(_table(optimization))
    ended = next((each.ended for each in optimization.rounds if each.ended), f"{arguments.rounds} rounds")
    prompts = optimization.prompts
    print(f"\nended: {ended}\nbest: {optimization.best.name}, in {prompts}; build with -T prompts={prompts}")


def _table(optimization: Optimization) -> str:
    """Format the rates of each round's prompts, as in Table 3 of the paper (C-FAITH)."""
    best = {each.number: each.best.rates for each in optimization.rounds if each.best}
    names = [name for name in best[0] if name != "kept"]
    rows = [
        [str(number), *(f"{rates[name].share.value:.2%}" if name in rates else "" for name in names)]
        for number, rates in best.items()
    ]
    return table(["iteration", *names], rows, right=range(len(names) + 1))
