"""Checks of a model, in the order in which a run would meet what they find."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec

from halu_tasks.core.errors import HaluTasksError, did_you_mean
from halu_tasks.core.extras import install_hint
from halu_tasks.core.options import Options
from halu_tasks.doctor.check import Check, failed
from halu_tasks.doctor.question import ProbeReply, ask
from halu_tasks.runs.model_files import context_length, has_chat_template, is_folder
from halu_tasks.runs.models import LOADED, PLACEHOLDER_KEY, HarnessModel
from halu_tasks.tasks import Task, build

_FILES, _TEMPLATE, _LIMIT = "model files", "chat template", "token limit"
_BYTES_PER_TOKEN = 3
"""Bytes of UTF-8 in a token: about 4 in English, and 3 where a character has three and is one token."""
_ENOUGH_TO_REASON = 4096
"""A token limit that lets most models reason and then answer."""

_OPENAI = {"openai": install_hint("openai")}
_WEIGHTS = dict.fromkeys(("torch", "transformers", "accelerate"), install_hint("hf"))
_API = dict.fromkeys(("aiohttp", "requests", "tenacity"), install_hint("openai"))
_SPEAK_OPENAI = (
    *("openai", "openai-api", "together", "openrouter", "fireworks", "perplexity", "sambanova", "ollama"),
    *("llama-cpp-python", "hf-inference-providers"),
)
"""Inspect's providers that use the client of OpenAI."""
_NEEDED = {
    "inspect": {
        **dict.fromkeys(_SPEAK_OPENAI, _OPENAI),
        "anthropic": {"anthropic": "pip install anthropic"},
        "google": {"google.genai": "pip install google-genai"},
        "groq": {"groq": "pip install groq"},
        "hf": _WEIGHTS,
        "mistral": {"mistralai": "pip install mistralai"},
        "vllm": {**_OPENAI, "vllm": f"{install_hint('openai')} vllm"},
        "halu": {},
    },
    "lm_eval": {
        "hf": _WEIGHTS,
        "vllm": {"vllm": 'pip install "lm-eval[vllm]"'},
        **dict.fromkeys(("local-chat-completions", "openai-chat-completions"), _API),
        **{f"halu-{name}": {} for name in ("oracle", "baseline", "replay")},
    },
}
"""The modules that providers of Inspect and models of lm-eval need, and the commands that install them."""


def check_model(model: HarnessModel, tasks: Sequence[Task], options: Options) -> Iterator[Check]:
    """Check a model in its harness.

    Args:
        model: The model.
        tasks: The tasks that it would be asked.
        options: The options of the tasks.
    """
    first = [check_packages(model), check_key(model)]
    if model.is_loaded_here:
        first.append(_check_files(model))
    yield from first
    refused = [check.name for check in first if check.state == "failed"]
    if model.is_loaded_here and not refused:
        yield _check_device()
    answered, answer = _ask(model, refused)
    yield answered
    if weighed := [task.name for task in tasks if task.choices]:
        yield _check_log_probabilities(model, weighed, answer)
    if not model.is_loaded_here:
        embedded = model.provider == "halu"
        yield Check(
            _TEMPLATE, *(("ok", "none needed") if embedded else ("not checked", "a chat server applies its own"))
        )
        if tasks:
            yield _check_tokens(model, tasks, answer)
    elif _FILES in refused:
        yield Check(_TEMPLATE, "not checked", f"first: {_FILES}")
        yield Check(_LIMIT, "not checked", f"first: {_FILES}")
    else:
        yield _check_chat_template(model)
        if tasks:
            yield _check_context(model, tasks, options)


def check_packages(model: HarnessModel) -> Check:
    """Check that the packages of a model are installed."""
    label = "packages"
    needed = _NEEDED[model.harness].get(model.provider if model.harness == "inspect" else model.model)
    if needed is None:
        known = _inspect_providers()
        if model.harness == "inspect" and model.provider not in known:
            found = f"Inspect has no provider {model.provider!r}{did_you_mean(model.provider, known)}"
            return Check(label, "failed", found, "correct the name, or install the package that adds the provider")
        return Check(label, "not checked", f"it is not known here which ones {model.model} needs")
    modules = [module for module in needed if not (module == "vllm" and model.base_url)]
    if missing := [module for module in modules if not _installed(module)]:
        return Check(label, "failed", f"{', '.join(missing)} not installed", needed[missing[-1]])
    return Check(label, "ok", ", ".join(modules) or "none needed")


def _inspect_providers() -> set[str]:
    """Return the names of all providers of Inspect, with those that installed packages add."""
    import inspect_ai.model  # noqa: F401 -- registers Inspect's own
    from inspect_ai._util import entrypoints, registry  # inspect-evals-lint: ignore[IECQ001] -- have no public names

    entrypoints.ensure_entry_points()
    found = registry.registry_find(lambda info: info.type == "modelapi")
    return {registry.registry_unqualified_name(provider) for provider in found}


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # the parent of a submodule is missing
        return False


def check_key(model: HarnessModel) -> Check:
    """Check that the API key of a provider is set; whether it is right, the server says."""
    label, variable = "API key", model.key_variable
    if model.provider in ("halu", *LOADED[:1]):
        return Check(label, "ok", "none needed")
    if variable is None:
        of = model.provider or model.model
        return Check(label, "not checked", f"which variable {of} reads is not known here; see the server")
    if os.environ.get(variable):
        return Check(label, "ok", f"{variable} is set")
    if model.model == "local-chat-completions":
        return Check(label, "ok", f"{variable} is not set, which servers of your own may not need")
    if model.placeholder_key:
        found = f"{variable} is not set, so {PLACEHOLDER_KEY!r} is sent"
        return Check(label, "ok", found, f"if the server needs a key: export {variable}=…")
    return Check(label, "failed", f"{variable} is not set", f"export {variable}=…")


def _check_files(model: HarnessModel) -> Check:
    """Check that the small files of a model can be read, in its folder or on the Hub."""
    try:
        has_chat_template(model.at_provider, model.revision)
    except HaluTasksError as error:
        return failed(_FILES, error)
    return Check(_FILES, "ok", "in a local folder" if is_folder(model.at_provider) else "on the Hub, or in its cache")


def _check_device() -> Check:
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


def _ask(model: HarnessModel, refused: Sequence[str]) -> tuple[Check, ProbeReply | None]:
    """Ask a model a short question, unless it would have to be loaded or another check has failed."""
    label = "answer"
    if model.provider == "halu":
        return Check(label, "ok", "answers in this process"), None
    if refused:
        return Check(label, "not checked", f"first: {', '.join(refused)}"), None
    if model.is_loaded_here:
        would = "loaded" if is_folder(model.at_provider) else "downloaded and loaded"
        return Check(label, "not checked", f"the weights would be {would}", "try it with --limit 1"), None
    try:
        answer = ask(model)
    except HaluTasksError as error:
        return failed(label, error), None
    if answer.overloaded:
        found = "the server is there, but overloaded (HTTP 429)"
        return Check(label, "warning", found, "fewer --max-connections"), None
    return Check(label, "ok", f"in {answer.seconds:.1f} s, asked one short question"), answer


def _check_log_probabilities(model: HarnessModel, tasks: Sequence[str], answer: ProbeReply | None) -> Check:
    """Check that the option `probability` can be used."""
    label, without = "log-probabilities", "leave out the option probability; other figures do not need them"
    if model.provider == "halu":
        return Check(label, "ok", "embedded models state a probability")
    if model.harness == "lm_eval":
        if model.is_loaded_here:
            return Check(label, "ok", "lm-eval computes the probability of each answer from the weights")
        return Check(label, "warning", f"lm-eval gets none from {model.model}", f"{without}, or use --harness inspect")
    if answer is None:
        return Check(label, "not checked", "the model was not asked")
    try:
        weighed = ask(model, log_probabilities=True)
    except HaluTasksError as error:
        found = f"the model does not answer when asked for them ({str(error).partition('; ')[0]})"
        return Check(label, "warning", found, without)
    if not weighed.log_probabilities:
        return Check(label, "warning", "the model's replies have none", without)
    return Check(label, "ok", f"available: {', '.join(tasks)} can be run with probability")


def _check_tokens(model: HarnessModel, tasks: Sequence[Task], answer: ProbeReply | None) -> Check:
    """Check the token limits of tasks against what is known of a model, and how it replied."""
    limits, allowed = _limits(tasks)
    if model.provider == "halu":
        return Check(_LIMIT, "ok", "embedded models have none")
    from inspect_ai.model import get_model_info

    # the database is of published models, whoever serves them
    info = get_model_info(f"{model.provider}/{model.at_provider}")
    most = info.output_tokens if info else None
    if most and most < limits[-1]:
        found = f"tasks allow {allowed} tokens, the model writes at most {most:,}"
        return Check(_LIMIT, "failed", found, f"-- --max-tokens {most} (lm-eval: -- --gen_kwargs max_gen_toks={most})")
    reasons = answer.reasons if answer else bool(info and info.reasoning)
    if reasons and limits[0] < _ENOUGH_TO_REASON:
        enough = _ENOUGH_TO_REASON * 2
        advice = f"-- --max-tokens {enough} (lm-eval: -- --gen_kwargs max_gen_toks={enough})"
        return Check(_LIMIT, "warning", f"the model reasons first, and tasks allow only {allowed} tokens", advice)
    if answer:
        return Check(_LIMIT, "ok", f"the model did not reason before its short reply; tasks allow {allowed} tokens")
    if info and info.reasoning is not None:
        return Check(_LIMIT, "ok", f"tasks allow {allowed} tokens; the model is not known to reason first")
    return Check(_LIMIT, "not checked", f"tasks allow {allowed} tokens; nothing is known of the model")


def _check_chat_template(model: HarnessModel) -> Check:
    if has_chat_template(model.at_provider, model.revision):
        how = "halu-tasks run adds --apply_chat_template" if model.harness == "lm_eval" else "Inspect applies it"
        return Check(_TEMPLATE, "ok", f"the tokenizer has one; {how}")
    found = "the tokenizer has none, as of a base model"
    return Check(_TEMPLATE, "warning", found, "an Instruct model follows tasks better")


def _check_context(model: HarnessModel, tasks: Sequence[Task], options: Options) -> Check:
    """Check that prompts and replies of tasks fit into the context of a model."""
    limits, allowed = _limits(tasks)
    try:
        length = context_length(model.at_provider, model.revision)
    except HaluTasksError as error:
        return failed(_LIMIT, error)
    if length is None:
        return Check(_LIMIT, "not checked", f"tasks allow {allowed} tokens; the model's context is not known")
    found = f"tasks allow {allowed} tokens, the model's context has {length:,}"
    advice = "-- --gen_kwargs max_gen_toks=N (lm-eval), -- --max-tokens N (Inspect)"
    if length <= limits[-1]:
        return Check(_LIMIT, "failed", f"{found} with the prompt", advice)
    longest = max(_longest_prompt(task, options) for task in tasks)
    if length < limits[-1] + longest:
        return Check(_LIMIT, "warning", f"{found}, and prompts of the sample alone have up to {longest:,}", advice)
    return Check(_LIMIT, "ok", found)


def _limits(tasks: Sequence[Task]) -> tuple[list[int], str]:
    """Return the token limits of tasks in order, and how they are shown."""
    limits = sorted({task.decoding.max_tokens for task in tasks})
    return limits, f"{limits[0]:,}" if len(limits) == 1 else f"{limits[0]:,} to {limits[-1]:,}"


def _longest_prompt(task: Task, options: Options) -> int:
    """Estimate the tokens of the longest prompt of a task's packaged sample, with its worked examples."""
    built = build(task, replace(options, data="sample", fewshot=options.fewshot or task.prompts.shots))
    examples = "".join(example.prompt + example.reply for example in built.examples)
    longest = max(len(f"{examples}{item.system}{item.prompt}".encode()) for item in built.stream())
    return longest // _BYTES_PER_TOKEN
