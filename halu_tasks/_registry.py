"""The entry point for Inspect: loads the tasks of every benchmark and builder, scorers, solvers and embedded models."""

import importlib
import logging
import sys
from functools import partial

from halu_tasks import inspect_tasks
from halu_tasks.builders.drafting import build_task
from halu_tasks.builders.pipeline import pipelines
from halu_tasks.halluverse import halluverse
from halu_tasks.inspect_adapter.task_factories import register_file, register_task, register_tasks

_MODULES = (
    "factored",
    "task",
    "builders.optimize",
    *(f"inspect_adapter.{name}" for name in ("inspect_metrics", "inspect_models", "named_scorers", "inspect_scorer")),
    *(f"solvers.{name}" for name in ("factored_verification", "opinions", "prompt_formats", "retrieval", "selfcheck")),
)
for _name in _MODULES:
    importlib.import_module(f"halu_tasks.{_name}")

# a program that scans has imported Scout before it looks for scanners; others are spared the seconds this takes
if "inspect_scout" in sys.modules:
    try:
        importlib.import_module("halu_tasks.scanners")
    except Exception:
        logging.getLogger(__name__).warning("halu_tasks.scanners cannot be imported", exc_info=True)

register_tasks(vars(inspect_tasks))
register_file("halluverse.py", halluverse)
for _name, _pipeline in pipelines().items():
    register_task(_name, partial(build_task, _name), _pipeline.about)
