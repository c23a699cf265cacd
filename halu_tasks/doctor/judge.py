"""The check of the judge that some tasks need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from halu_tasks.core.errors import HaluTasksError
from halu_tasks.core.options import Options
from halu_tasks.doctor.check import Check, failed
from halu_tasks.tasks import Task


def check_judge(tasks: Sequence[Task], options: Options) -> Iterator[Check]:
    """Check that the judge answers, for tasks that need one."""
    judged = [task for task in tasks if task.judged]
    if not judged:
        return
    names = ", ".join(task.name for task in judged)
    specs = [task.judged for task in judged if task.judged]
    if not options.judge:
        without = ", ".join(dict.fromkeys(spec.unjudged for spec in specs))
        found = f"{names}: the headline needs a judge; without one there is only {without}"
        yield Check("judge", "warning", found, "--judge MODEL (docs/judges.md)")
        return
    from halu_tasks.judging.blocking import reach_now

    try:
        reach_now(options, specs[0])
    except HaluTasksError as error:
        yield failed("judge", error)
    else:
        yield Check("judge", "ok", f"{options.judge} answers")
