"""`halu-tasks build`: make a dataset from documents, in parts that can be interrupted at any moment."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NoReturn

from halu_tasks.cli.arguments import (
    add_executor_arguments,
    add_model_arguments,
    chosen_executor,
    count,
    key_values,
    number,
    positive_int,
    run_models,
)
from halu_tasks.cli.building.collect import add_collect_arguments, collect_and_show
from halu_tasks.cli.output import progress
from halu_tasks.core.extras import require_extra

HELP = "build a benchmark from your own documents"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("builder", metavar="BUILDER", help="haluagent, refact_pipeline, halluverse25_pipeline, …")
    about = "list the options of the builders, or of BUILDER if it is named before, and exit"
    parser.add_argument("--options", action=_ListOptions, nargs=0, help=about)
    about = "a JSON Lines file with id and text, or a folder of .txt and .md files"
    parser.add_argument("documents", metavar="DOCUMENTS", help=about)
    about = "the folder of the build; the same command continues what it contains"
    parser.add_argument("-o", "--output", metavar="FOLDER", required=True, help=about)
    add_model_arguments(parser, "an option of the builder (language=en), see --options")
    about = "temperature of all calls of --model (default: that of the builder's role, see --options)"
    parser.add_argument("--temperature", type=number, metavar="T", help=about)
    about = "maximum length of a reply (default: 4096)"
    parser.add_argument("--max-tokens", type=positive_int, metavar="N", help=about)
    about = "approximate number of documents in a part (default: 500)"
    parser.add_argument("--part-size", type=positive_int, default=500, metavar="N", help=about)
    add_executor_arguments(parser)
    about = "documents of each kind to draft first, as a test; 0 skips it (default: factchd_pipeline 5, others 0)"
    parser.add_argument("--gate-samples", type=count, metavar="N", help=about)
    about = "share of these drafts that must be consistent, or the build stops (default: factchd_pipeline 0.95)"
    parser.add_argument("--gate-share", type=number, metavar="SHARE", help=about)
    about = "keep replies in Inspect's cache, so that a build with other options does not repeat calls"
    parser.add_argument("--cache", action="store_true", help=about)
    about = "prices of models, in the format of Inspect, to report costs in dollars"
    parser.add_argument("--model-cost-config", metavar="FILE", help=about)
    add_collect_arguments(parser)


class _ListOptions(argparse.Action):
    """Prints the options of the builders, and exits; like `--help`, but it imports the builders."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *_: Any) -> NoReturn:
        from halu_tasks.builders.pipeline import pipeline_class, pipelines
        from halu_tasks.core.errors import HaluTasksError
        from halu_tasks.core.options import option_specs

        try:
            classes = (
                pipelines() if namespace.builder is None else {namespace.builder: pipeline_class(namespace.builder)}
            )
        except HaluTasksError as error:
            parser.error(str(error))
        for name, cls in classes.items():
            print(f"{name}: {cls.about}")
            for spec in option_specs(cls).values():
                print(f"  -T {spec.name}={_shown(spec.default)}: {spec.about}")
        parser.exit()


def _shown(default: Any) -> str:
    """Format a default as it would be given."""
    if isinstance(default, tuple):
        return ",".join(default)
    if isinstance(default, float):
        return f"{default:g}"
    return "" if default is None else str(default).lower() if isinstance(default, bool) else f"{default}"


def run(arguments: argparse.Namespace) -> int:
    """Build the parts, then collect the dataset."""
    require_extra("build", "halu-tasks build")
    from halu_tasks.builders.build import build

    config = {name: value for name in ("temperature", "max_tokens") if (value := getattr(arguments, name)) is not None}
    folder = build(
        arguments.builder,
        Path(arguments.documents),
        Path(arguments.output),
        run_models(arguments),
        chosen_executor(arguments),
        progress,
        options=key_values(arguments.task_option, "-T"),
        call_config=config,
        model_cost_config=arguments.model_cost_config,
        cache=arguments.cache,
        part_size=arguments.part_size,
        partial=arguments.partial,
        gate_samples=arguments.gate_samples,
        gate_share=arguments.gate_share,
    )
    return collect_and_show(folder, arguments)
