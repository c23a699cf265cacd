"""The entry point for Inspect: loads the tasks of every benchmark and builder, scorers, solvers and embedded models."""

import importlib
import logging
import sys

from halu_tasks import cfaith, factchd, factored, halluverse, halluverse_m3, halueval, refact, task
from halu_tasks.builders import drafting as inspect_build
from halu_tasks.builders import optimize as inspect_optimize
from halu_tasks.builders.pipeline import pipelines
from halu_tasks.inspect_adapter import figures as inspect_figures
from halu_tasks.inspect_adapter import models as inspect_models
from halu_tasks.inspect_adapter import named_scorers as inspect_named
from halu_tasks.inspect_adapter import scorer as inspect_scorer
from halu_tasks.inspect_adapter.tasks import register_tasks
from halu_tasks.solvers import factored_verification, knowledge, opinions, prompt_formats, selfcheck

# a program that scans has imported Scout before it looks for scanners; others are spared the seconds this takes
for _name in (*pipelines(), *(["scanners"] if "inspect_scout" in sys.modules else [])):
    try:
        importlib.import_module(f"halu_tasks.{_name}")
    except Exception:
        logging.getLogger(__name__).warning("halu_tasks.%s cannot be imported", _name, exc_info=True)

register_tasks(
    {
        name
        for module in (cfaith, factchd, factored, halluverse, halluverse_m3, halueval, refact)
        for name in vars(module)
    }
)

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
