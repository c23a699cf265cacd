"""Prompt formats and methods as solvers of Inspect."""

from collections.abc import Mapping
from typing import Any


def method_named(name: str, arguments: Mapping[str, Any]) -> Any:
    """Return the solver of a method.

    Raises:
        UsageError: The method is unknown.
        ArgumentError: The solver does not accept an argument.
    """
    from inspect_ai.solver import Solver
    from inspect_ai.util import registry_create

    from halu_tasks.core.errors import UsageError, unknown
    from halu_tasks.solvers import factored_verification, knowledge, opinions, prompt_formats, selfcheck

    modules = (factored_verification, knowledge, opinions, prompt_formats, selfcheck)
    types = {name: getattr(of, "__annotations__", {}) for module in modules for name, of in vars(module).items()}
    solvers = {name for name, kinds in types.items() if kinds.get("return") is Solver and not name.startswith("_")}
    if name not in solvers:
        raise UsageError(unknown("method", name, ["plain", *sorted(solvers)]))
    return registry_create("solver", f"halu_tasks/{name}", **arguments)
