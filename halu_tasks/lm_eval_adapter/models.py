"""The embedded models as lm-eval models: `halu-oracle`, `halu-baseline`, `halu-replay`."""

from __future__ import annotations

import math
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from tqdm import tqdm

from halu_tasks.errors import UsageError, install_excepthook
from halu_tasks.replies.embedded import REPLY, Embedded, Kind

install_excepthook("lm_eval", "lm-eval", "lm-evaluate", "lm_eval/__main__.py")


class EmbeddedLM(LM):
    """Answers requests for halu-tasks items, with likelihoods if the reply has a probability."""

    kind: Kind
    tokenizer_name = "halu-tasks"

    def __init__(self, predictions: str | None = None, **_: Any) -> None:
        super().__init__()
        self._model = Embedded(self.kind, predictions)

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        outputs = []
        for request in tqdm(requests, disable=disable_tqdm, desc=f"halu-{self.kind}"):
            reply = self._model.reply(request.args[0], request.doc.get("id"), request.task_name)
            if reply.target is not None:
                request.doc["target"] = reply.target
            self.cache_hook.add_partial("generate_until", request.args, reply.text)
            outputs.append(reply.text)
        return outputs

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        return "\n\n".join(turn["content"] for turn in chat_history)

    def chat_template(self, chat_template: bool | str = False) -> str:
        return ""

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        likelihoods = []
        for request in requests:
            prompt, choice = request.args
            id, task = request.doc.get("id"), request.task_name
            request.doc[REPLY] = self._model.reply(prompt, id, task).text
            probability = self._model.probability(prompt, id, task, choice.strip())
            if probability is None:
                likelihoods.append((math.nan, False))
            else:
                likelihoods.append((math.log(probability) if probability > 0 else -math.inf, probability > 0.5))
        return likelihoods

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        raise NotImplementedError(f"halu-{self.kind} generates text and does not support rolling likelihoods")


class OracleLM(EmbeddedLM):
    kind: Kind = "oracle"


class BaselineLM(EmbeddedLM):
    kind: Kind = "baseline"


class ReplayLM(EmbeddedLM):
    kind: Kind = "replay"

    def set_cache_hook(self, cache_hook: Any) -> None:
        raise UsageError(
            "halu-replay cannot be used with --use_cache: a replayed reply may have its own target, which the cache "
            "would lose; leave out --use_cache"
        )
