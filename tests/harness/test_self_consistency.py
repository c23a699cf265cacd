"""Self-consistency, run in Inspect: with the embedded models, and against a model on loopback that changes its mind."""

import re
from collections import Counter
from typing import Any

import pytest
from common import Run
from judges import figures

from halu_tasks.core.options import Options
from halu_tasks.results.read import read_results
from halu_tasks.solvers.opinions import winner
from halu_tasks.tasks import build, get_task, registry

pytestmark = pytest.mark.slow

READINGS = list({id(task.scoring.read): name for name, task in registry()[0].items() if task.scoring.read}.values())
"""One task for each way to read a reply."""
TASK = "halueval_summarization"
ITEMS = build(TASK, Options(data="sample")).items


class Voter:
    """Gives each prompt the replies of its script in turn, in which R stands for the right label and W for the wrong
    one. Only how often a prompt came before decides."""

    def __init__(self, *script: str) -> None:
        self.script = script
        self.right = {item.prompt: item.target for item in ITEMS}
        self.came: Counter[str] = Counter()
        self.requests: list[dict[str, Any]] = []

    def __call__(self, request: dict[str, Any]) -> str:
        self.requests.append(request)
        asked = str(request["messages"][-1]["content"])
        reply = self.script[self.came[asked] % len(self.script)]
        self.came[asked] += 1
        right = self.right[asked]
        wrong = "Yes" if right == "No" else "No"
        return re.sub(r"\b[RW]\b", lambda word: right if word[0] == "R" else wrong, reply)


def voting(samples: int, **arguments: Any) -> Any:
    from inspect_ai.util import registry_create

    return registry_create("solver", "halu_tasks/self_consistency", samples=samples, **arguments)


@pytest.mark.parametrize("task", READINGS)
def test_a_task_of_every_reading_can_be_voted_on(task: str, run_inspect: Run) -> None:
    found = figures(run_inspect(task, "halu/oracle", solver=voting(2), limit=4))
    assert found[get_task(task).headline] == (0.0 if "hallucination_rate" in found else 1.0)
    assert found["agreement"] == 1.0 and found["votes"] == 2 and found["votes_unread"] == found["votes_tied"] == 0


def test_the_majority_wins_whatever_the_order(run_method: Run) -> None:
    for script in (("R", "W", "R", "W", "R"), ("W", "W", "R", "R", "R"), ("R", "I cannot tell", "W", "R", "")):
        log = run_method(TASK, "self_consistency", Voter(*script), cache=False, limit=20)
        found = figures(log)
        assert found["acc"] == 1.0 and found["roc_auc"] == 1.0 and found["unparsed"] == 0
        assert found["agreement"] == pytest.approx(2 / 3 if "" in script else 0.6)
        assert found["votes"] == 5 and found["votes_unread"] == (2 if "" in script else 0)
        for sample in log.samples:
            share = found["agreement"] if sample.target == "Yes" else 1 - found["agreement"]
            assert sample.output.metadata["halu_probability"] == pytest.approx(share)
            assert Counter(sample.output.metadata["halu_steps"]["labels"])[sample.target] == script.count("R")
    found = figures(run_method(TASK, "self_consistency", Voter("W", "W", "R"), samples=3, limit=8))
    assert found["acc"] == 0.0 and found["roc_auc"] == 0.0


def test_a_tie_is_broken_by_item_and_seed_and_counted(run_method: Run) -> None:
    def answers(script: str, **arguments: Any) -> dict[str, str]:
        log = run_method(TASK, "self_consistency", Voter(*script), samples=4, limit=20, **arguments)
        found = figures(log)
        assert found["votes_tied"] == 1.0 and found["agreement"] == 0.5 and found["unparsed"] == 0
        assert {sample.output.metadata["halu_probability"] for sample in log.samples} == {0.5}
        return {sample.id: sample.scores["halu_score"].answer for sample in log.samples}

    first = answers("RRWW", cache=False)
    assert first == answers("WWRR", cache=False) == answers("WRRW")
    assert 0.25 < list(first.values()).count("Yes") / len(first) < 0.75
    other = answers("RRWW", cache=False, seed=1)
    assert 0.25 < sum(other[id] != label for id, label in first.items()) / len(first) < 0.75


def test_ties_of_three_and_single_votes() -> None:
    wins = Counter(winner(["entity", "relation", "sentence"], str(number), 0)[0] for number in range(3000))
    assert all(900 < number < 1100 for number in wins.values()) and len(wins) == 3
    assert winner(["b", "a", "b", "c", "a", "b"], "1", 0) == ("b", False)
    assert winner(["a"], "1", 0) == ("a", False)
    # a label that is not among the leaders never wins
    assert {winner(["a", "b", "a", "b", "c"], str(number), 0)[0] for number in range(50)} == {"a", "b"}


def test_no_vote_can_be_read(run_method: Run) -> None:
    log = run_method(TASK, "self_consistency", Voter("Who knows?", "", "<think>Yes"), samples=3, limit=8)
    found = figures(log)
    assert found["unparsed"] == 1.0 and found["acc"] == 0.0 and found["votes_unread"] == found["votes"] == 3
    assert found.get("roc_auc") is None and "agreement" not in found and "votes_tied" not in found
    assert {sample.output.completion for sample in log.samples} == {""}
    assert {sample.scores["halu_score"].explanation for sample in log.samples} == {"no vote can be read"}


def test_the_reply_is_the_first_that_states_the_label(run_inspect: Run, serve: Run, openai: Run) -> None:
    came: Counter[str] = Counter()

    def answer(request: dict[str, Any]) -> str:
        asked = str(request["messages"])
        came[asked] += 1
        return ["FACTUAL.\nReason A.", "NON-FACTUAL.\nReason B.", "NON-FACTUAL.\nReason C."][came[asked] - 1]

    model = openai(serve(answer))
    log = run_inspect("factchd", model, solver=voting(3), limit=4)
    for sample in log.samples:
        steps = sample.output.metadata["halu_steps"]
        assert sorted(steps["labels"]) == ["FACTUAL", "NON-FACTUAL", "NON-FACTUAL"]
        assert sample.output.completion in ("NON-FACTUAL.\nReason B.", "NON-FACTUAL.\nReason C.")
        assert sample.messages[-1].text == sample.output.completion


def test_draws_are_requests_of_their_own_and_a_second_run_makes_none(run_method: Run) -> None:
    few = 16
    voter = Voter("R", "W", "R")
    first = figures(run_method(TASK, "self_consistency", voter, samples=3, limit=few))
    assert first["calls"] == len(voter.requests) == 3 * few and first["cached_calls"] == 0
    assert set(voter.came.values()) == {3}
    # the task's limit of tokens, and the method's temperature
    assert {request["temperature"] for request in voter.requests} == {0.7}
    assert {request["max_tokens"] for request in voter.requests} == {get_task(TASK).prompts.decoding.max_tokens}
    assert {len(request["messages"]) for request in voter.requests} == {2}
    second = figures(run_method(TASK, "self_consistency", voter, samples=3, same_server=True, limit=few))
    assert second["calls"] == 0 and second["cached_calls"] == 3 * few == len(voter.requests)
    assert second["acc"] == first["acc"] and second["agreement"] == first["agreement"]
    # two more draws than before
    third = figures(run_method(TASK, "self_consistency", voter, samples=5, same_server=True, limit=few))
    assert third["calls"] == 2 * few and third["cached_calls"] == 3 * few


def test_draws_under_a_seed_have_seeds_of_their_own(run_inspect: Run, serve: Run, openai: Run) -> None:
    from inspect_ai.model import GenerateConfig

    voter = Voter("R")
    run_inspect(TASK, openai(serve(voter), config=GenerateConfig(seed=7)), solver=voting(3), limit=1)
    assert sorted(request["seed"] for request in voter.requests) == [7, 8, 9]


def test_a_task_without_labels_is_told(run_method: Run) -> None:
    log = run_method("refact_correction", "self_consistency", lambda request: "A", limit=1)
    why = "self_consistency votes on labels, and refact_correction asks for something else"
    assert why in log.error.message
    (unfinished,) = read_results([log.location]).skipped
    assert why in unfinished.why and unfinished.why.endswith(
        "; the run would fail alike; correct the command, or remove this log"
    )
