"""One budget for the judges of several processes, which environment variables name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halu_tasks.core.options import JUDGE_COST_OPTIONS

FILE_NAME = "judge_costs.sqlite3"
"""The file in the folder of a command's results, in which costs are recorded."""
FILE_VARIABLE = "HALU_TASKS_JUDGE_COSTS"
"""The environment variable that names the file."""


def variable_of(option: str) -> str:
    """Return the environment variable that stands for one of `JUDGE_COST_OPTIONS`."""
    return f"HALU_TASKS_{option.upper()}"


def budget_variables(options: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Return the environment variables by which all processes of a command share one budget for judges.

    Args:
        options: Options of tasks that are not at their default, by name.
        folder: The folder of the command's results, which gets the file.

    Returns:
        The variables; none if `options` has no `judge_max_cost`.
    """
    if "judge_max_cost" not in options:
        return {}
    costs = {variable_of(name): str(options[name]) for name in JUDGE_COST_OPTIONS if name in options}
    return {**costs, FILE_VARIABLE: str(folder / FILE_NAME)}
