"""All checks, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from halu_tasks.core.errors import UsageError
from halu_tasks.core.options import Options
from halu_tasks.doctor.check import Check
from halu_tasks.doctor.data import check_data
from halu_tasks.doctor.installation import check_installation
from halu_tasks.doctor.judge import check_judge
from halu_tasks.doctor.model import check_model
from halu_tasks.doctor.providers import check_key, check_packages
from halu_tasks.sweeps.named_model import ModelName
from halu_tasks.sweeps.sweep_model import Harness, SweepModel
from halu_tasks.tasks import Task, tasks_selected
from halu_tasks.tasks.registry import TAG


def examine(
    name: ModelName | None, harness: Harness | None, tasks: Sequence[Task], options: Options
) -> Iterator[Check]:
    """Make all checks.

    Args:
        name: The model; None to check everything else.
        harness: The harness; by default, that of `halu-tasks run`.
        tasks: The tasks that the user named; without any, the data of all that need no judge are looked at.
        options: The options of the tasks.
    """
    yield from check_installation()
    yield from check_data(tasks or tasks_selected([TAG]), options, named=bool(tasks))
    yield from check_judge(tasks, options)
    if name:
        yield from check_model(name, harness or name.default_harness, tasks, options)
    else:
        yield Check("model", "not checked", "none was named", "halu-tasks doctor MODEL --tasks A,B")


def require_ready(name: ModelName, model: SweepModel, tasks: Sequence[Task], options: Options) -> None:
    """Make the checks before a run that take little time: of the packages, the API key and the data.

    Args:
        name: The model.
        model: The same model, as its harness names it.
        tasks: The tasks whose data are checked.
        options: The options of the tasks.

    Raises:
        UsageError: A check failed.
    """
    checks = chain((check_packages(name, model), check_key(name, model)), check_data(tasks, options, named=True))
    if failed := next((check for check in checks if check.state == "failed"), None):
        raise UsageError("; ".join(filter(None, (f"{failed.name}: {failed.found}", failed.advice))))
