"""Checks of a model, in the order in which a run would meet what they find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from halu_tasks.core.errors import HaluTasksError
from halu_tasks.core.options import Options
from halu_tasks.doctor.check import Check, failed
from halu_tasks.doctor.providers import check_key, check_packages
from halu_tasks.doctor.server import ProbeReply, ask_in_inspect, ask_in_lm_eval
from halu_tasks.doctor.weights import (
    FILES,
    TOKEN_LIMIT,
    check_chat_template,
    check_context,
    check_device,
    check_files,
    is_loaded_here,
    token_limits,
)
from halu_tasks.sweeps.keys import placeholder_key
from halu_tasks.sweeps.model_files import is_folder
from halu_tasks.sweeps.named_model import ModelName, for_harness
from halu_tasks.sweeps.sweep_model import Harness, SweepModel
from halu_tasks.tasks import Task

ENOUGH_TO_REASON = 4096
"""A token limit that lets most models reason and then answer."""


def check_model(name: ModelName, harness: Harness, tasks: Sequence[Task], options: Options) -> Iterator[Check]:
    """Check a model in a harness.

    Args:
        name: The model.
        harness: The harness.
        tasks: The tasks that it would be asked.
        options: The options of the tasks.
    """
    try:
        model = for_harness(name, harness, False if is_loaded_here(name) and harness == "lm_eval" else None)
    except HaluTasksError as error:
        yield failed("model", error)
        return
    first = [check_packages(name, model), check_key(name, model)]
    if is_loaded_here(name):
        first.append(check_files(name))
    yield from first
    refused = [check.name for check in first if check.state == "failed"]
    if is_loaded_here(name) and not refused:
        yield check_device()
    answered, reply = _ask(name, model, refused)
    yield answered
    weighed = [task.name for task in tasks if task.choices]
    if weighed:
        yield _check_log_probabilities(name, model, weighed, reply)
    if not is_loaded_here(name):
        yield _check_chat_template(name)
        if tasks:
            yield _check_tokens(name, tasks, reply)
    elif FILES in refused:
        yield Check("chat template", "not checked", f"first: {FILES}")
        yield Check(TOKEN_LIMIT, "not checked", f"first: {FILES}")
    else:
        yield check_chat_template(name, harness)
        if tasks:
            yield check_context(name, tasks, options)


def _ask(name: ModelName, model: SweepModel, refused: Sequence[str]) -> tuple[Check, ProbeReply | None]:
    """Ask a model a short question, unless it would have to be loaded or another check has failed."""
    label = "answer"
    if name.provider == "halu":
        return Check(label, "ok", "answers in this process"), None
    if refused:
        return Check(label, "not checked", f"first: {', '.join(refused)}"), None
    if is_loaded_here(name):
        would = "loaded" if is_folder(name.model) else "downloaded and loaded"
        return Check(label, "not checked", f"the weights would be {would}", "try it with --limit 1"), None
    try:
        reply = _asked_in_inspect(name, model) if model.harness == "inspect" else ask_in_lm_eval(model)
    except HaluTasksError as error:
        return failed(label, error), None
    if reply.overloaded:
        return Check(
            label, "warning", "the server is there, but overloaded (HTTP 429)", "fewer --max-connections"
        ), None
    return Check(label, "ok", f"in {reply.seconds:.1f} s, asked one short question"), reply


def _asked_in_inspect(name: ModelName, model: SweepModel, *, log_probabilities: bool = False) -> ProbeReply:
    key = next(iter(placeholder_key(name, model).values()), None)
    return ask_in_inspect(model, name.base_url, key, log_probabilities=log_probabilities)


def _check_log_probabilities(
    name: ModelName, model: SweepModel, tasks: Sequence[str], reply: ProbeReply | None
) -> Check:
    """Check that the option `probability` can be used."""
    label, without = "log-probabilities", "leave out the option probability; other figures do not need them"
    if name.provider == "halu":
        return Check(label, "ok", "embedded models state a probability")
    if model.harness == "lm_eval":
        if is_loaded_here(name):
            return Check(label, "ok", "lm-eval computes the probability of each answer from the weights")
        return Check(label, "warning", f"lm-eval gets none from {model.model}", f"{without}, or use --harness inspect")
    if reply is None:
        return Check(label, "not checked", "the model was not asked")
    try:
        weighed = _asked_in_inspect(name, model, log_probabilities=True)
    except HaluTasksError as error:
        found = f"the model does not answer when asked for them ({str(error).partition('; ')[0]})"
        return Check(label, "warning", found, without)
    if not weighed.log_probabilities:
        return Check(label, "warning", "the model's replies have none", without)
    return Check(label, "ok", f"available: {', '.join(tasks)} can be run with probability")


def _check_chat_template(name: ModelName) -> Check:
    if name.provider == "halu":
        return Check("chat template", "ok", "none needed")
    return Check("chat template", "not checked", "a chat server applies its own")


def _check_tokens(name: ModelName, tasks: Sequence[Task], reply: ProbeReply | None) -> Check:
    """Check the token limits of tasks against what is known of a model, and how it replied."""
    label, allowed = TOKEN_LIMIT, token_limits(tasks)
    limits = sorted({task.decoding.max_tokens for task in tasks})
    if name.provider == "halu":
        return Check(label, "ok", "embedded models have none")
    from inspect_ai.model import get_model_info

    # the database is of published models, whoever serves them
    info = get_model_info(str(name))
    most = info.output_tokens if info else None
    if most and most < limits[-1]:
        found = f"tasks allow {allowed} tokens, the model writes at most {most:,}"
        return Check(label, "failed", found, f"-- --max-tokens {most} (lm-eval: -- --gen_kwargs max_gen_toks={most})")
    reasons = reply.reasons if reply else bool(info and info.reasoning)
    if reasons and limits[0] < ENOUGH_TO_REASON:
        enough = ENOUGH_TO_REASON * 2
        advice = f"-- --max-tokens {enough} (lm-eval: -- --gen_kwargs max_gen_toks={enough})"
        return Check(label, "warning", f"the model reasons first, and tasks allow only {allowed} tokens", advice)
    if reply:
        return Check(label, "ok", f"the model did not reason before its short reply; tasks allow {allowed} tokens")
    if info and info.reasoning is not None:
        return Check(label, "ok", f"tasks allow {allowed} tokens; the model is not known to reason first")
    return Check(label, "not checked", f"tasks allow {allowed} tokens; nothing is known of the model")
