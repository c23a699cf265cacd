"""Models of Inspect that say what a test scripts, without a server."""

from collections.abc import Callable
from typing import Any

from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model


def saying(reply: Callable[[str], str]) -> Model:
    """A model that answers a prompt by `reply`."""

    def output(input: list[Any], *_: Any) -> ModelOutput:
        made = ModelOutput.from_content("mockllm", reply(input[-1].text))
        # without one, Inspect counts tokens by a tokenizer that it fetches
        made.usage = ModelUsage()
        return made

    return get_model("mockllm/model", custom_outputs=output, memoize=False)
