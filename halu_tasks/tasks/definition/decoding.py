"""The decoding of a task: the key `generation_kwargs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halu_tasks.tasks.definition.keys import TaskKeys, is_integer, is_number
from halu_tasks.tasks.task import Decoding

_KEY = "generation_kwargs"


def read_decoding(keys: TaskKeys, reference: Mapping[str, Any] | None) -> Decoding:
    """Read `generation_kwargs`.

    Args:
        keys: The keys of the task file.
        reference: Of a derived task, the reference task's values. They fill up a mapping without a token limit, since
            authors who only set another temperature expect the rest to stay.
    """
    values = keys.mapping(_KEY, ("max_gen_toks", "temperature", "top_p", "do_sample", "until"))
    if reference is not None and "max_gen_toks" not in values:
        values = {**reference, **values}
    tokens, temperature, top_p = values.get("max_gen_toks"), values.get("temperature", 0.0), values.get("top_p")
    if not is_integer(tokens) or tokens < 1:
        keys.fail(_KEY, f"max_gen_toks: expected a positive integer, got {tokens!r}")
    for name, value in (("temperature", temperature), ("top_p", 0.0 if top_p is None else top_p)):
        if not is_number(value) or value < 0:
            keys.fail(_KEY, f"{name}: expected a number of at least 0, got {value!r}")
    if values.get("do_sample", temperature > 0) is not (temperature > 0):
        keys.fail(_KEY, f"do_sample is {values['do_sample']!r} and temperature is {temperature}")
    if values.get("until") not in (None, []):
        keys.fail(_KEY, f"until: expected [], since whole replies are read, got {values['until']!r}")
    return Decoding(tokens, float(temperature), None if top_p is None else float(top_p))
