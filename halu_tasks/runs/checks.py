"""Checks before a run: what is installed, the data, the judge and the model. No data and no weights are downloaded."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Any, Literal, NamedTuple

from halu_tasks.core.errors import HaluTasksError, UsageError
from halu_tasks.core.extras import install_hint, missing_modules
from halu_tasks.core.options import Options
from halu_tasks.data.cache import cached_file, verify
from halu_tasks.data.locate import is_sample, locate
from halu_tasks.data.remote import remote_size
from halu_tasks.runs.models import HarnessModel, has_chat_template
from halu_tasks.tasks import Task, tasks_selected
from halu_tasks.tasks.registry import TAG

TESTED = {
    "python": ("3.11", "3.14"),
    "lm-eval": ("0.4.13", "0.4.13"),
    "inspect-ai": ("0.3.285", "0.3.285"),
}
"""The first and the last release that this version of the package was tested with."""


class Check(NamedTuple):
    """The result of a check.

    Attributes:
        name: What was checked.
        state: `failed` if a run cannot succeed; `warning` if its figures may surprise; `not checked` if it is unknown.
        found: What was found, or why nothing was checked.
        advice: What to do; empty if there is nothing to do.
    """

    name: str
    state: Literal["ok", "warning", "failed", "not checked"]
    found: str
    advice: str = ""


def examine(models: Sequence[HarnessModel], tasks: Sequence[Task], options: Options) -> Iterator[Check]:
    """Make all checks, in the order in which they are shown.

    Args:
        models: The models.
        tasks: The tasks that the user named; without any, the data of all that need no judge are looked at.
        options: The options of the tasks.
    """
    yield from map(check_version, TESTED)
    yield _check_hook()
    for check in _check_data(tasks or tasks_selected([TAG]), options):
        # that data of tasks which nobody may want to run cannot be read is no failure
        yield check if tasks or check.state != "failed" else check._replace(state="warning")
    yield from check_judge(tasks, options)
    for model in models:
        yield from _check_model(model)


def check_version(name: str) -> Check:
    """Check that a program has a version that was tested."""
    first, last = TESTED[name]
    version = ".".join(map(str, sys.version_info[:3])) if name == "python" else metadata.version(name)
    # 3.13.5 is a release of 3.13
    numbers, known = ([int(part) for part in re.findall(r"\d+", text.partition("+")[0])] for text in (version, last))
    if numbers[: len(known)] > known:
        advice = f"if something fails, use {last}"
        return Check(name, "warning", f"{version}, newer than what was tested ({first} to {last})", advice)
    return Check(name, "ok", version)


def _check_hook() -> Check:
    name, advice = "tasks in lm-eval", 'add --include_path "$(halu-tasks show --path)" to lm_eval'
    if os.environ.get("HALU_TASKS_NO_AUTOLOAD") == "1":
        return Check(name, "warning", "HALU_TASKS_NO_AUTOLOAD=1: tasks and halu-… models are not found by name", advice)
    if not any(getattr(hook, "__module__", "") == "_halu_tasks_autoload" for hook in sys.meta_path):
        return Check(name, "warning", "the import hook did not run when Python started", advice)
    return Check(name, "ok", "found by name, through the import hook")


def _check_data(tasks: Sequence[Task], options: Options) -> Iterator[Check]:
    """Check the data of tasks, each file once."""
    if is_sample(options.data):
        yield Check("data", "ok", "the packaged sample: its figures say nothing about a benchmark")
        return
    named = options.data or os.environ.get("HALU_TASKS_DATA")
    for source, file in dict.fromkeys((task.data.source, task.data.file(options)) for task in tasks):
        label = f"data: {file}"
        try:
            if named:
                located = locate(source, file, options)
                yield Check(label, "ok", f"{located} ({located.kind})")
            elif path := cached_file(source, file):
                verify(source, file, path)
                yield Check(label, "ok", f"{source.title}, cached")
            else:
                size = remote_size(source, file)
                amount = f"{size / 1e6:,.1f} MB" if size else "unknown size"
                found = f"{source.title}, {amount}, fetched on first use"
                yield Check(label, "ok", found, f"halu-tasks data fetch {source.name}")
        except HaluTasksError as error:
            yield _failed(label, error)


def check_judge(tasks: Sequence[Task], options: Options) -> Iterator[Check]:
    """Check that the judge answers, for tasks that need one."""
    judged = {task.name: task.judged for task in tasks if task.judged}
    if not judged:
        return
    if not options.judge:
        without = ", ".join(dict.fromkeys(spec.unjudged for spec in judged.values()))
        found = f"{', '.join(judged)}: the headline needs a judge; without one there is only {without}"
        yield Check("judge", "warning", found, "--judge MODEL (docs/judges.md)")
        return
    from halu_tasks.judging.blocking import reach_now

    try:
        reach_now(options, next(iter(judged.values())))
    except HaluTasksError as error:
        yield _failed("judge", error)
    else:
        yield Check("judge", "ok", f"{options.judge} answers")


def _check_model(model: HarnessModel) -> Iterator[Check]:
    """Check a model in its harness."""
    try:
        require_model(model)
        if not model.is_loaded_here:
            yield Check("model", "ok", "answers")
            return
        yield Check("model", "not checked", "its weights would be loaded", "try it with --limit 1")
        if has_chat_template(model):
            yield Check("chat template", "ok", "the tokenizer has one, which is applied")
        else:
            found = "the tokenizer has none, as of a base model"
            yield Check("chat template", "warning", found, "an Instruct model follows tasks better")
    except HaluTasksError as error:
        yield _failed("model", error)


def _failed(name: str, error: HaluTasksError) -> Check:
    """Return the check that an error makes a failure; what follows its first semicolon is the advice."""
    found, _, advice = str(error).partition("; ")
    return Check(name, "failed", found, advice)


def require_model(model: HarnessModel) -> None:
    """Check that what a model needs is installed, and that it answers a short question if a server has it.

    The harnesses themselves wait minutes for a server that is not there.

    Raises:
        HaluTasksError: A package or an API key is missing, the harness does not know the model, or it does not answer.
    """
    if model.is_loaded_here:
        if model.provider == "hf" and (missing := missing_modules("hf")):
            raise UsageError(f"model {model.name}: {', '.join(missing)} not installed; {install_hint('hf')}")
    elif model.harness == "lm_eval":
        if model.model.endswith("-chat-completions"):
            _ask_in_lm_eval(model)
    else:
        from halu_tasks.inspect_adapter.run_models import create_model
        from halu_tasks.judging.reaching import reach

        key = next(iter(model.placeholder_key.values()), None)
        arguments = {"memoize": False, "api_key": key, **model.arguments}
        reach([create_model(model.model, model.base_url, arguments, {"timeout": model.options.get("timeout")})])


def _ask_in_lm_eval(model: HarnessModel) -> None:
    """Ask a chat server through lm-eval's client."""
    import logging

    from lm_eval.api.registry import get_model
    from lm_eval.models.api_models import JsonChatStr

    from halu_tasks.judging.failures import status_of
    from halu_tasks.judging.reaching import PATIENCE, PROBE, model_error

    # it prints each reply that is no JSON
    logging.getLogger("lm_eval").setLevel(logging.CRITICAL)
    try:
        created: Any = get_model(model.model).create_from_arg_obj({"timeout": PATIENCE, **model.arguments}, {})
    except Exception as error:
        raise UsageError(f"model {model.name}: {' '.join(str(error).split())}") from None
    question: Any = JsonChatStr(f'[{{"role": "user", "content": "{PROBE}"}}]')
    try:
        created.model_call([question], gen_kwargs={"max_gen_toks": 64, "temperature": 0.0, "until": []})
    except HaluTasksError:
        raise
    except Exception as error:
        # 429: the server is there, but overloaded
        if status_of(error) != 429:
            address, key = str(created.base_url or ""), getattr(created, "api_key", None)
            raise model_error(str(model.arguments.get("model")), address, error, int(created.timeout), key) from None
