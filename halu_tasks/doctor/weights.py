"""Checks of a model whose weights a harness loads on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from halu_tasks.core.errors import HaluTasksError
from halu_tasks.core.options import Options
from halu_tasks.doctor.check import Check, failed
from halu_tasks.sweeps.model_files import context_length, has_chat_template, is_folder
from halu_tasks.sweeps.named_model import ModelName
from halu_tasks.sweeps.sweep_model import Harness
from halu_tasks.tasks import Task, build

FILES = "model files"
"""The check that the others of this module rest on."""
TOKEN_LIMIT = "token limit"
_BYTES_PER_TOKEN = 3
"""Bytes of UTF-8 in a token: about 4 in English, and 3 where a character has three and is one token."""
_PROVIDERS = ("hf", "vllm")


def is_loaded_here(name: ModelName) -> bool:
    """Return whether a harness would load the weights of a model."""
    return name.provider in _PROVIDERS and not name.base_url


def check_files(name: ModelName) -> Check:
    """Check that the small files of a model can be read, in its folder or on the Hub."""
    try:
        has_chat_template(name.model, _revision(name))
    except HaluTasksError as error:
        return failed(FILES, error)
    return Check(FILES, "ok", "in a local folder" if is_folder(name.model) else "on the Hub, or in its cache")


def check_device() -> Check:
    """Check that there is a GPU to compute on."""
    try:
        import torch
    except ImportError as error:
        return Check("device", "not checked", f"torch cannot be imported ({error})")
    if torch.cuda.is_available():
        return Check("device", "ok", torch.cuda.get_device_name())
    if torch.backends.mps.is_available():
        return Check("device", "ok", "GPU of Apple (mps)")
    return Check("device", "warning", "no GPU is visible: a reply may take minutes", "begin with --limit 5")


def check_chat_template(name: ModelName, harness: Harness) -> Check:
    """Check that the tokenizer of a model has a chat template."""
    label = "chat template"
    if has_chat_template(name.model, _revision(name)):
        how = "halu-tasks run adds --apply_chat_template" if harness == "lm_eval" else "Inspect applies it"
        return Check(label, "ok", f"the tokenizer has one; {how}")
    return Check(
        label, "warning", "the tokenizer has none, as of a base model", "an Instruct model follows tasks better"
    )


def check_context(name: ModelName, tasks: Sequence[Task], options: Options) -> Check:
    """Check that prompts and replies of tasks fit into the context of a model.

    Args:
        name: The model.
        tasks: The tasks.
        options: Their options.
    """
    allowed, most = token_limits(tasks), max(task.decoding.max_tokens for task in tasks)
    try:
        length = context_length(name.model, _revision(name))
    except HaluTasksError as error:
        return failed(TOKEN_LIMIT, error)
    if length is None:
        return Check(TOKEN_LIMIT, "not checked", f"tasks allow {allowed} tokens; the model's context is not known")
    found = f"tasks allow {allowed} tokens, the model's context has {length:,}"
    advice = "-- --gen_kwargs max_gen_toks=N (lm-eval), -- --max-tokens N (Inspect)"
    if length <= most:
        return Check(TOKEN_LIMIT, "failed", f"{found} with the prompt", advice)
    longest = max(_longest_prompt(task, options) for task in tasks)
    if length < most + longest:
        return Check(TOKEN_LIMIT, "warning", f"{found}, and prompts of the sample alone have up to {longest:,}", advice)
    return Check(TOKEN_LIMIT, "ok", found)


def token_limits(tasks: Sequence[Task]) -> str:
    """Return the token limits of tasks, as they are shown."""
    limits = sorted({task.decoding.max_tokens for task in tasks})
    return f"{limits[0]:,}" if len(limits) == 1 else f"{limits[0]:,} to {limits[-1]:,}"


def _longest_prompt(task: Task, options: Options) -> int:
    """Estimate the tokens of the longest prompt of a task's packaged sample, with its worked examples."""
    built = build(task, replace(options, data="sample", fewshot=options.fewshot or task.prompts.shots))
    examples = "".join(example.prompt + example.reply for example in built.examples)
    longest = max(len(f"{examples}{item.system}{item.prompt}".encode()) for item in built.stream())
    return longest // _BYTES_PER_TOKEN


def _revision(name: ModelName) -> str | None:
    revision = name.arguments.get("revision")
    return str(revision) if revision else None
