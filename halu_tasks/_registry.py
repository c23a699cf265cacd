"""What Inspect loads by the entry point: the tasks of every benchmark and builder, scorers, solvers and the embedded
models."""

from halu_tasks import inspect_models
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
from halu_tasks.tasks import benchmark_modules, imported

for _benchmark in benchmark_modules():
    imported(f"halu_tasks.{getattr(_benchmark, 'INSPECT_MODULE', _benchmark.__name__.rpartition('.')[2])}")

for _name in pipelines():
    imported(f"halu_tasks.{_name}")

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
