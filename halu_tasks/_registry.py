"""What Inspect loads by the entry point: the tasks of every benchmark and builder, scorers, solvers and the embedded
models."""

import importlib
import pkgutil

from halu_tasks import benchmarks, inspect_models
from halu_tasks.builders import inspect_build, inspect_optimize
from halu_tasks.builders.registry import pipelines
from halu_tasks.scorers import inspect_scorer
from halu_tasks.solvers import (
    factored_verification,
    fave,
    self_consistency,
    selfcheck,
    truth_triangulator,
    with_knowledge,
)

for _module in pkgutil.iter_modules(benchmarks.__path__):
    _benchmark = importlib.import_module(f"{benchmarks.__name__}.{_module.name}")
    importlib.import_module(f"halu_tasks.{getattr(_benchmark, 'INSPECT_MODULE', _module.name)}")

for _name in pipelines():
    importlib.import_module(f"halu_tasks.{_name}")

__all__ = [
    "factored_verification",
    "fave",
    "inspect_build",
    "inspect_models",
    "inspect_optimize",
    "inspect_scorer",
    "self_consistency",
    "selfcheck",
    "truth_triangulator",
    "with_knowledge",
]
