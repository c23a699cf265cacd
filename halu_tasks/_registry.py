"""The entry point for Inspect: loads the tasks of every benchmark and builder, scorers, solvers and embedded models."""

import importlib
import logging
import sys
from functools import partial

from halu_tasks import factored, halluverse
from halu_tasks.builders.drafting import build_task
from halu_tasks.builders.pipeline import pipelines
from halu_tasks.inspect_adapter.doors import register_task, register_tasks

_ADAPTER = ("figures", "judges", "models", "named_scorers", "scorer")
_METHODS = (
    *("factored_verification", "fave", "self_consistency", "selfcheck", "truth_triangulator", "with_knowledge"),
)
_MODULES = (
    "task",
    "builders.optimize",
    *(f"inspect_adapter.{name}" for name in _ADAPTER),
    *("solvers.chain_of_thought", "solvers.few_shot", "solvers.prompt_formats"),
    *(f"solvers.methods.{name}" for name in _METHODS),
)
for _name in _MODULES:
    importlib.import_module(f"halu_tasks.{_name}")

# a program that scans has imported Scout before it looks for scanners; others are spared the seconds this takes
if "inspect_scout" in sys.modules:
    try:
        importlib.import_module("halu_tasks.scanners")
    except Exception:
        logging.getLogger(__name__).warning("halu_tasks.scanners cannot be imported", exc_info=True)

register_tasks({*vars(factored), *vars(halluverse)})
for _name, _pipeline in pipelines().items():
    register_task(_name, partial(build_task, _name), _pipeline.about)
