"""The entry point for Inspect: loads the tasks of every benchmark and builder, scorers, solvers and embedded models."""

import importlib
import logging
import sys

from halu_tasks.builders.pipeline import pipelines
from halu_tasks.inspect_adapter.doors import register_tasks

BENCHMARKS = ("cfaith", "factchd", "factored", "halluverse", "halluverse_m3", "halueval", "refact")
_ADAPTER = ("figures", "judges", "models", "named_scorers", "scorer")
_METHODS = (
    *("factored_verification", "fave", "self_consistency", "selfcheck", "truth_triangulator", "with_knowledge"),
)
_MODULES = (
    "task",
    *("builders.drafting", "builders.optimize"),
    *(f"inspect_adapter.{name}" for name in _ADAPTER),
    *("solvers.chain_of_thought", "solvers.few_shot", "solvers.prompt_formats"),
    *(f"solvers.methods.{name}" for name in _METHODS),
)
for _name in _MODULES:
    importlib.import_module(f"halu_tasks.{_name}")

# a program that scans has imported Scout before it looks for scanners; others are spared the seconds this takes
for _name in (*pipelines(), *(["scanners"] if "inspect_scout" in sys.modules else [])):
    try:
        importlib.import_module(f"halu_tasks.{_name}")
    except Exception:
        logging.getLogger(__name__).warning("halu_tasks.%s cannot be imported", _name, exc_info=True)

_modules = (importlib.import_module(f"halu_tasks.{name}") for name in BENCHMARKS)
register_tasks({name for module in _modules for name in vars(module)})
