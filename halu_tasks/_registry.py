"""The entry point for Inspect: loads the tasks of every benchmark and builder, scorers, solvers and embedded models."""

import sys

from halu_tasks import task
from halu_tasks.builders import drafting as inspect_build
from halu_tasks.builders import optimize as inspect_optimize
from halu_tasks.builders.pipeline import pipelines
from halu_tasks.inspect_adapter import figures as inspect_figures
from halu_tasks.inspect_adapter import judges as inspect_judges
from halu_tasks.inspect_adapter import models as inspect_models
from halu_tasks.inspect_adapter import named_scorers as inspect_named
from halu_tasks.inspect_adapter import scorer as inspect_scorer
from halu_tasks.solvers import chain_of_thought, few_shot, prompt_formats
from halu_tasks.solvers.methods import (
    factored_verification,
    fave,
    self_consistency,
    selfcheck,
    truth_triangulator,
    with_knowledge,
)
from halu_tasks.tasks import registry
from halu_tasks.tasks.registry import imported

for _name in dict.fromkeys(_task.inspect_module for _task in registry()[0].values()):
    imported(f"halu_tasks.{_name}")

for _name in pipelines():
    imported(f"halu_tasks.{_name}")

# a program that scans has imported Scout before it looks for scanners; others are spared the seconds this takes
if "inspect_scout" in sys.modules:
    imported("halu_tasks.scanners")

__all__ = [
    "chain_of_thought",
    "factored_verification",
    "fave",
    "few_shot",
    "inspect_build",
    "inspect_figures",
    "inspect_judges",
    "inspect_models",
    "inspect_named",
    "inspect_optimize",
    "inspect_scorer",
    "prompt_formats",
    "self_consistency",
    "selfcheck",
    "task",
    "truth_triangulator",
    "with_knowledge",
]
