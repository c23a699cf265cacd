"""The embedded models as Inspect models: `halu/oracle`, `halu/baseline`, `halu/replay`."""

from typing import Any

from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from halu_tasks.core.errors import UsageError
from halu_tasks.inspect_adapter.inspect_scorer import TARGET
from halu_tasks.inspect_adapter.task_factories import ID, TASK
from halu_tasks.replies.embedded import KINDS, EmbeddedModel
from halu_tasks.solvers.model_calls import MethodRecord


@modelapi(name="halu")
class EmbeddedAPI(ModelAPI):
    """A model that answers the items of this package without a network.

    Args:
        model_name: `oracle`, `baseline` or `replay`.
        base_url: Ignored.
        api_key: Ignored.
        config: The configuration of generation.
        predictions: The predictions file of `halu/replay` (`-M predictions=FILE`).
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 (Inspect's signature)
        predictions: str | None = None,
        **_: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if model_name not in KINDS:
            raise UsageError(f"unknown model halu/{model_name}; known: {', '.join('halu/' + kind for kind in KINDS)}")
        self._model = EmbeddedModel(model_name, predictions)

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Reply to the item that the metadata of the last message names."""
        metadata = input[-1].metadata or {}
        reply = self._model.reply(metadata.get(TASK), metadata.get(ID))
        output = ModelOutput.from_content(f"halu/{self.model_name}", reply.text)
        if self.model_name == "replay":
            # how a reply ended that was made elsewhere is not known
            output.choices[0].stop_reason = "unknown"
        # with usage given, Inspect does not count tokens and thus does not download a tokenizer
        output.usage = ModelUsage(input_tokens=0, output_tokens=0, total_tokens=0)
        target = {} if reply.target is None else {TARGET: reply.target}
        output.metadata = {**target, **MethodRecord(probability=reply.probability).to_metadata()} or None
        return output

    def max_connections(self) -> int:
        """Return a large number, since no server is asked."""
        return 100
