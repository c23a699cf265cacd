"""Replies of models in no form that anybody expects: each is a rejected draft with its reason, and ends no build."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from scripted_builders import HaluModel, document

ODD: list[Any] = [
    {"content": None},
    {"content": ""},
    {"content": "{" * 20_000},
    {"content": "[" * 20_000},
    {"content": '{"verdict": ' + "9" * 5_000 + "}"},
    {"content": "[" + "9" * 5_000 + "]"},
    {"content": '[{"verdict": ' + "9" * 5_000 + "}]"},
    {"content": '[{"question": "\\ud800", "answer": "b", "support": "c"}]'},
    {"content": '[{"question": ["a"], "answer": {}, "support": null}]'},
    {"content": "[null, [[]], {}, NaN, 1e999]"},
    {"content": None, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}}]},
    {"content": "\0\ud800"},
]


class Odd(HaluModel):
    """Every question about a document gets one kind of odd reply, by the document's number."""

    def __init__(self, step: str) -> None:
        super().__init__()
        self.step = step

    def __call__(self, request: dict[str, Any]) -> Any:
        asked = str(request["messages"][-1]["content"])
        if self.step in asked:
            return ODD[int(asked.partition("Site")[2].partition(" ")[0].split("?")[0].split(".")[0])]
        return super().__call__(request)


@pytest.mark.slow
def test_odd_replies_are_rejected_drafts(run_build: Callable[..., Any]) -> None:
    documents = [document(number) for number in range(len(ODD))]
    good = {"id": "good", "text": document(99)["text"]}
    for step in ("You write questions", "You check a question"):

        class Own(Odd):
            def __call__(self, request: dict[str, Any]) -> Any:
                return HaluModel()(request) if "Site99" in json.dumps(request) else super().__call__(request)

        out = step.replace(" ", "-")
        own = ("-T", "language=en", "-T", "types=EntErr")
        told, _ = run_build("haluagent", [*documents, good], Own(step), *own, out=out)
        assert told["documents"] == len(ODD) + 1 and told["items"] == {"EntErr": 1} and not told["documents_not_done"]
        assert sum(told["rejected"].values()) == len(ODD), (step, told["rejected"])
