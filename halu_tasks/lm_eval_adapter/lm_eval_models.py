"""The embedded models as lm-eval models: `halu-oracle`, `halu-baseline`, `halu-replay`."""

from __future__ import annotations

import math
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from tqdm import tqdm

from halu_tasks.core.errors import UsageError
from halu_tasks.replies.embedded import REPLY, EmbeddedKind, EmbeddedModel


class EmbeddedLM(LM):
    """A model that answers the items of this package without a network.

    Args:
        predictions: The predictions file of `halu-replay`.
    """

    kind: EmbeddedKind
    tokenizer_name = "halu-tasks"

    def __init__(self, predictions: str | None = None, **_: Any) -> None:
        super().__init__()
        self._model = EmbeddedModel(self.kind, predictions)

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """Reply to items. A reply with a target of its own changes the target of its document."""
        outputs = []
        for request in tqdm(requests, disable=disable_tqdm, desc=f"halu-{self.kind}"):
            reply = self._model.reply(request.task_name, request.doc.get("id"))
            if reply.target is not None:
                request.doc["target"] = reply.target
            self.cache_hook.add_partial("generate_until", request.args, reply.text)
            outputs.append(reply.text)
        return outputs

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        """Join the messages."""
        return "\n\n".join(turn["content"] for turn in chat_history)

    def chat_template(self, chat_template: bool | str = False) -> str:
        """Return an empty template, which results show."""
        return ""

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Weigh choices by the probability of the reply; NaN if it has none."""
        likelihoods = []
        for request in requests:
            reply = self._model.reply(request.task_name, request.doc.get("id"))
            request.doc[REPLY], probability = reply.text, reply.probability
            if probability is None:
                likelihoods.append((math.nan, False))
                continue
            # the requests of an item have the first and the second choice
            probability = 1 - probability if request.idx else probability
            likelihoods.append((math.log(probability) if probability > 0 else -math.inf, probability > 0.5))
        return likelihoods

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        """Refuse, since no task of this package asks for rolling likelihoods."""
        raise NotImplementedError(f"halu-{self.kind} generates text and does not support rolling likelihoods")


class OracleLM(EmbeddedLM):
    """Gives the reply that earns the full score."""

    kind: EmbeddedKind = "oracle"


class BaselineLM(EmbeddedLM):
    """Gives a reply that is made without knowing the answer."""

    kind: EmbeddedKind = "baseline"


class ReplayLM(EmbeddedLM):
    """Gives the replies of a predictions file."""

    kind: EmbeddedKind = "replay"

    def set_cache_hook(self, cache_hook: Any) -> None:
        """Refuse lm-eval's option `--use_cache`."""
        raise UsageError(
            "halu-replay cannot be used with --use_cache: a replayed reply may have its own target, which the cache "
            "would lose; leave out --use_cache"
        )
