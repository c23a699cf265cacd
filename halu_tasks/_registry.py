"""The entry point for Inspect: loads the tasks of every benchmark and builder, scorers, solvers and embedded models."""

import importlib
import logging
import sys
from functools import partial

from halu_tasks import factored, halluverse, task
from halu_tasks.builders import drafting as inspect_build
from halu_tasks.builders import optimize as inspect_optimize
from halu_tasks.builders.pipeline import pipelines
from halu_tasks.inspect_adapter import figures as inspect_figures
from halu_tasks.inspect_adapter import judges as inspect_judges
from halu_tasks.inspect_adapter import models as inspect_models
from halu_tasks.inspect_adapter import named_scorers as inspect_named
from halu_tasks.inspect_adapter import scorer as inspect_scorer
from halu_tasks.inspect_adapter.doors import register_task, register_tasks
from halu_tasks.solvers import chain_of_thought, few_shot, prompt_formats
from halu_tasks.solvers.methods import (
    factored_verification,
    fave,
    self_consistency,
    selfcheck,
    truth_triangulator,
    with_knowledge,
)

# a program that scans has imported Scout before it looks for scanners; others are spared the seconds this takes
if "inspect_scout" in sys.modules:
    try:
        importlib.import_module("halu_tasks.scanners")
    except Exception:
        logging.getLogger(__name__).warning("halu_tasks.scanners cannot be imported", exc_info=True)

register_tasks({*vars(factored), *vars(halluverse)})
for _name, _pipeline in pipelines().items():
    register_task(_name, partial(inspect_build.build_task, _name), _pipeline.about)

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
