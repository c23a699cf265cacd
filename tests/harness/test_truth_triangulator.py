"""Truth-Triangulator, run in Inspect against scripted models on loopback that know what is right."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from common import fenced
from inspect_ai.model import GenerateConfig
from judges import figures
from test_with_knowledge import ITEMS, TASK, Run, last

from halu_tasks.core.options import Options
from halu_tasks.tasks import build

pytestmark = pytest.mark.slow

METHOD = "truth_triangulator"
OTHER = {"FACTUAL": "NON-FACTUAL", "NON-FACTUAL": "FACTUAL"}
PLANS = list(product([True, False], repeat=3))
"""Whether seeker, guardian and manager are right; the items take them in turn."""


def number_of(asked: str) -> int:
    return next(n for n, item in enumerate(ITEMS) if asked.endswith(item.prompt))


class Panel:
    """Plays all three roles: `right(role, number of the item)` says whether a role is."""

    def __init__(self, right: Callable[[str, int], bool]) -> None:
        self.right = right
        self.asked: dict[str, list[dict[str, Any]]] = {"seeker": [], "guardian": [], "manager": []}

    def role_of(self, asked: str) -> str:
        if "You are the manager" in asked:
            return "manager"
        found = "retrieved for the task" in asked or "No passage was found" in asked
        return "seeker" if found or "look things up" in asked else "guardian"

    def __call__(self, request: dict[str, Any]) -> Any:
        role, number = self.role_of(last(request)), number_of(last(request))
        self.asked[role].append(request)
        item = ITEMS[number]
        return f"{item.target if self.right(role, number) else OTHER[item.target]}. The {role} has spoken on {item.id}."


def planned(role: str, number: int) -> bool:
    return PLANS[number % len(PLANS)][["seeker", "guardian", "manager"].index(role)]


def test_the_manager_sees_both_opinions_and_what_was_found(run_method: Run) -> None:
    panel = Panel(planned)
    log = run_method(TASK, METHOD, panel, knowledge="gold")
    assert {role: len(asked) for role, asked in panel.asked.items()} == dict.fromkeys(panel.asked, len(ITEMS))
    for request in panel.asked["manager"]:
        n = number_of(last(request))
        item = ITEMS[n]
        labels = [item.target if planned(role, n) else OTHER[item.target] for role in ("seeker", "guardian")]
        assert fenced(last(request)) == [
            f"[1] {item.fields['evidence']}",
            f"{labels[0]}. The seeker has spoken on {item.id}.",
            f"{labels[1]}. The guardian has spoken on {item.id}.",
        ]
        assert request["messages"][0]["content"] == item.system
    for request in panel.asked["seeker"]:
        assert fenced(last(request)) == [f"[1] {ITEMS[number_of(last(request))].fields['evidence']}"]
    for request in panel.asked["guardian"]:
        item = ITEMS[number_of(last(request))]
        assert [m["content"] for m in request["messages"]] == [item.system, item.prompt]
    for sample in log.samples:
        told, n = sample.output.metadata, [item.id for item in ITEMS].index(sample.id)
        assert told["halu_method"] == METHOD
        roles = ("seeker", "guardian")
        assert told["halu_opinions"] == {
            role: ITEMS[n].target if planned(role, n) else OTHER[ITEMS[n].target] for role in roles
        }
        assert told["halu_steps"]["guardian"].endswith(f"The guardian has spoken on {sample.id}.")
        assert sample.output.completion.endswith(f"The manager has spoken on {sample.id}.")


def test_opinions_are_compared_with_the_answer(run_method: Run) -> None:
    found = figures(run_method(TASK, METHOD, Panel(planned), knowledge="gold"))
    n = len(ITEMS)
    plans = [PLANS[number % len(PLANS)] for number in range(n)]
    for place, role in enumerate(("seeker", "guardian")):
        assert found[f"acc_{role}"] == pytest.approx(sum(plan[place] for plan in plans) / n)
        assert found[f"unparsed_{role}"] == 0.0
        assert found[f"acc_{role}_low"] < found[f"acc_{role}"] < found[f"acc_{role}_high"]
    assert found["agreement"] == pytest.approx(sum(plan[0] == plan[1] for plan in plans) / n)
    assert found["acc"] == pytest.approx(sum(plan[2] for plan in plans) / n)
    assert found["calls"] == 3 * n and found["passages"] == 1.0 and found["opinions_unread"] == 0.0


def test_roles_are_models_of_their_own(run_method: Run, serve: Run, openai: Run) -> None:
    panels = {role: Panel(lambda role, number: True) for role in ("seeker", "guardian", "manager")}
    roles = {role: openai(serve(panel)) for role, panel in panels.items()}
    own = Panel(lambda role, number: False)
    log = run_method(TASK, METHOD, own, knowledge="gold", model_roles=roles, limit=3, temperature=0.9)
    assert figures(log)["acc"] == 1.0 and not any(own.asked.values())
    for role, panel in panels.items():
        assert [len(asked) for asked in panel.asked.values()] == [3 * (other == role) for other in panels]
        # the task's decoding; the command line's is of the model under test
        for request in panel.asked[role]:
            assert request["temperature"] == 0.2
            assert 1024 in (request.get("max_tokens"), request.get("max_completion_tokens"))
    guest, host = Panel(planned), Panel(planned)
    model = openai(serve(guest), config=GenerateConfig(temperature=0.5))
    run_method(TASK, METHOD, host, knowledge="gold", model_roles={"seeker": model}, limit=1, temperature=0.9)
    assert [other for other, asked in guest.asked.items() if asked] == ["seeker"] and not host.asked["seeker"]
    # what a role's model was given of its own counts more
    assert guest.asked["seeker"][0]["temperature"] == 0.5
    assert {r["temperature"] for asked in host.asked.values() for r in asked} == {0.9}


@pytest.mark.parametrize("silence", ["  \n", "<think>It may well be FACTUAL"])
def test_an_opinion_that_says_nothing(silence: str, run_method: Run) -> None:
    panel = Panel(lambda role, number: True)

    def server(request: dict[str, Any]) -> Any:
        return silence if panel.role_of(last(request)) == "guardian" else panel(request)

    found = figures(run_method(TASK, METHOD, server, knowledge="gold"))
    asked = [last(request) for request in panel.asked["manager"]]
    assert all("The guardian's answer:\n(gave no answer)\n" in text and "think" not in text for text in asked)
    assert found["opinions_unread"] == found["unparsed_guardian"] == 1.0 and found["acc_guardian"] == 0.0
    assert found["acc"] == 1.0
    assert found["agreement"] == 0.0


def test_reasoning_is_kept_from_the_manager_and_a_label_can_be_missing(run_method: Run) -> None:
    asked: list[str] = []
    panel = Panel(lambda role, number: True)

    def server(request: dict[str, Any]) -> Any:
        role = panel.role_of(last(request))
        if role == "manager":
            asked.append(last(request))
        return {"seeker": "<think>FACTUAL?</think>\nNON-FACTUAL. So.", "guardian": "Who knows?"}.get(role, "FACTUAL.")

    log = run_method(TASK, METHOD, server, knowledge="gold", limit=2)
    assert all(fenced(text)[1:] == ["NON-FACTUAL. So.", "Who knows?"] for text in asked)
    found = figures(log)
    # it says something, which is no label
    assert found["opinions_unread"] == 0.0 and found["unparsed_guardian"] == 1.0
    assert log.samples[0].output.metadata["halu_opinions"] == {"seeker": "NON-FACTUAL", "guardian": None}


def test_a_task_without_labels_is_told(run_method: Run) -> None:
    log = run_method("refact_correction", METHOD, Panel(planned), knowledge="gold", limit=1)
    assert log.status == "error" and "weighs two labels, and refact_correction asks for something" in log.error.message


def test_the_managers_log_probabilities_are_the_answers(run_method: Run, serve: Run, openai: Run) -> None:
    summaries = build("halueval_summarization", Options(data="sample")).items

    def manager(request: dict[str, Any]) -> Any:
        assert request["logprobs"] and request["top_logprobs"] == 20
        item = next(item for item in summaries if last(request).endswith(item.prompt))
        p = 0.9 if item.target == "Yes" else 0.2
        tokens = [{"token": t, "logprob": math.log(q), "bytes": None} for t, q in (("Yes", p), ("No", 1 - p))]
        return item.target, [{**tokens[item.target == "No"], "top_logprobs": tokens}]

    log = run_method(
        "halueval_summarization",
        METHOD,
        lambda request: "Yes",
        knowledge="gold",
        task_args={"probability": True},
        model_roles={"manager": openai(serve(manager))},
    )
    found = figures(log)
    assert found["roc_auc"] == 1.0 and found["acc"] == 1.0 and found["acc_seeker"] == 0.5
