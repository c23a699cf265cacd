"""Asking the models of a sweep before it starts, since the harnesses wait minutes for a server that is not there."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from halu_tasks.core.errors import HaluTasksError
from halu_tasks.doctor.server import HAVE_SERVERS, ask_in_lm_eval
from halu_tasks.sweeps.keys import harness_environment
from halu_tasks.sweeps.sweep_model import SweepModel


def with_servers(models: Sequence[SweepModel]) -> list[SweepModel]:
    """Return the models that have a server which can be asked; the others run in the harness's process."""
    from halu_tasks.judging.reaching import has_server

    return [
        model
        for model in models
        if (model.model in HAVE_SERVERS if model.harness == "lm_eval" else has_server(model.model, _address(model)))
    ]


def unanswered(models: Sequence[SweepModel]) -> Mapping[str, str]:
    """Ask models a short question at the same time, through the harnesses that would run them.

    Args:
        models: Models with a server (`with_servers`).

    Returns:
        Why a model does not answer, by its name; those that answer are not included.
    """
    errors: dict[str, HaluTasksError] = {}
    in_lm_eval = [model for model in models if model.harness == "lm_eval"]
    if in_lm_eval:
        # imported before the threads, which would wait for each other
        import lm_eval.models.api_models  # noqa: F401

    def ask(model: SweepModel) -> None:
        try:
            ask_in_lm_eval(model)
        except HaluTasksError as error:
            errors[model.name] = error

    threads = [threading.Thread(target=ask, args=[model], daemon=True) for model in in_lm_eval]
    for thread in threads:
        thread.start()
    errors |= _unanswered_in_inspect([model for model in models if model.harness == "inspect"])
    for thread in threads:
        thread.join()
    return {model.name: str(errors[model.name]).partition("; ")[0] for model in models if model.name in errors}


def _unanswered_in_inspect(models: Sequence[SweepModel]) -> Mapping[str, HaluTasksError]:
    """Return the errors of models of Inspect that cannot be created or do not answer, by their names."""
    from halu_tasks.inspect_adapter.run_models import create_model
    from halu_tasks.judging.reaching import probe_all

    errors: dict[str, HaluTasksError] = {}
    created = {}
    for model in models:
        key = next(iter(harness_environment(model).values()), None)
        arguments = {"memoize": False, "api_key": key, **model.arguments}
        timeout = model.options.get("timeout")
        try:
            created[model.name] = create_model(model.model, _address(model), arguments, {"timeout": timeout})
        except HaluTasksError as error:
            errors[model.name] = error
    answers = zip(created, probe_all(list(created.values())), strict=True)
    return errors | {name: error for name, error in answers if error}


def _address(model: SweepModel) -> str | None:
    return model.options.get("model_base_url")
