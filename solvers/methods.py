"""The methods: the solvers of this package by their names."""

from collections.abc import Mapping
from typing import Any


def get_method(name: str, arguments: Mapping[str, Any]) -> Any:
    """Return the solver of a method.

    Raises:
        UsageError: The method is unknown.
        ArgumentError: The solver does not accept an argument.
    """
    from inspect_ai.util import registry_create

    from halu_tasks.core.errors import UsageError, unknown
    from halu_tasks.solvers import factored_verification, opinions, prompt_formats, retrieval, selfcheck

    modules = (factored_verification, retrieval, opinions, prompt_formats, selfcheck)
    # what the decorator of solvers has registered
    solvers = {name for module in modules for name, of in vars(module).items() if hasattr(of, "__registry_info__")}
    if name not in solvers:
        raise UsageError(unknown("method", name, ["plain", *sorted(solvers)]))
    return registry_create("solver", f"halu_tasks/{name}", **arguments)
