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
from halu_tasks.inspect_adapter import models as inspect_models
from halu_tasks.inspect_adapter import named_scorers as inspect_named
from halu_tasks.inspect_adapter import scorer as inspect_scorer
from halu_tasks.inspect_adapter.tasks import register_task, register_tasks
from halu_tasks.solvers import factored_verification, knowledge, opinions, prompt_formats, selfcheck

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
    "factored_verification",
    "inspect_build",
    "inspect_figures",
    "inspect_models",
    "inspect_named",
    "inspect_optimize",
    "inspect_scorer",
    "knowledge",
    "opinions",
    "prompt_formats",
    "selfcheck",
    "task",
]
