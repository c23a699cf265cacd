"""Models that answer the prompts of a pipeline by name, and what documents become with them."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import Ask, Draft, Pipeline
from halu_tasks.core.prompting import PLACEHOLDER


def name_of(pipeline: Pipeline, prompt: str) -> str:
    """The name of a prompt that is filled in; others may be part of it."""

    def length(text: str) -> int:
        *inner, last = PLACEHOLDER.sub("\0", text).split("\0")
        return len(text) if prompt.endswith(last) and all(piece in prompt for piece in inner) else 0

    return max(pipeline.texts, key=lambda name: length(pipeline.texts[name]))


class ScriptedModel:
    """Replies with what `replies` has for a prompt: a text, a value that is sent as JSON, or a function of prompt and
    draw that gives one of these. `asked` holds name, role, prompt, draw and number of draws of each call."""

    def __init__(
        self, pipeline: Pipeline, replies: Mapping[str, Any], delay: Callable[[], float] = lambda: 0.0
    ) -> None:
        self.pipeline, self.replies, self.delay = pipeline, replies, delay
        self.asked: list[tuple[str, str, str, int, int]] = []

    async def __call__(self, prompt: str, role: str, *, draw: int = 0, draws: int = 1) -> str:
        name = name_of(self.pipeline, prompt)
        self.asked.append((name, role, prompt, draw, draws))
        await asyncio.sleep(self.delay())
        reply = self.replies[name]
        reply = reply(prompt, draw) if callable(reply) else reply
        return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)

    def prompts(self, *names: str) -> list[str]:
        return [prompt for name, _, prompt, *_ in self.asked if name in names]

    def count(self) -> Counter[str]:
        return Counter(name for name, *_ in self.asked)

    def roles(self) -> dict[str, str]:
        return {name: role for name, role, *_ in self.asked}


def drafted(pipeline: Pipeline, document: Document, ask: Ask) -> list[Draft]:
    return asyncio.run(pipeline.drafts(document, ask))


def reasons(drafts: Sequence[Draft]) -> list[tuple[str, str]]:
    return [fault[:2] for draft in drafts for fault in draft.faults]
