"""Methods in `halu-tasks run`: what is asked, what it costs, and what a second run asks again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common import Capture

from halu_tasks.cli import main
from halu_tasks.core.options import Options
from halu_tasks.tasks import build

pytestmark = pytest.mark.slow

TASK = "halueval_summarization"
ITEMS = build(TASK, Options(data="sample")).items
REASONED = "factored_verification:how=reasoned"


def kind(request: dict[str, Any]) -> str:
    asked = str(request["messages"][-1]["content"])
    return "list" if "The claims are:" in asked else "check" if "Supported:" in asked else "plain"


def reply(request: dict[str, Any]) -> str:
    """Two claims a text; the first of them is supported, and every summary is called right."""
    asked = str(request["messages"][-1]["content"])
    text = asked.rpartition("Text:\n")[2].partition("\n")[2].rpartition("\n")[0].strip()
    first, second = text[:30].replace("\n", " "), text[-30:].replace("\n", " ")
    answers = {"list": f"The claims are:\n- {first} A.\n- {second} B.", "plain": "No"}
    return answers.get(kind(request), f"Reasoning: none.\nSupported: {'Yes' if ' A.' in asked else 'No'}")


@pytest.fixture
def methods(capsys: Capture, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """`halu-tasks run` with methods against a server, without the check, which would ask the first item once more; its
    exit status and what it wrote on both streams."""

    def call(server: Any, *arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(
            ["run", "openai/gpt-4o", "--tasks", TASK, "--data", "sample", "--base-url", server.url,
             "-M", "responses_api=false", "-o", str(tmp_path / "out"), "--json", "--no-check",
             *arguments]
        )  # fmt: skip
        return status, *capsys.readouterr()

    return call


Call = Callable[..., tuple[int, str, str]]


def both(*methods: str) -> list[str]:
    return ["--method", "plain", *(word for method in methods for word in ("--method", method))]


def test_costs_are_what_the_server_saw_and_a_rerun_asks_nothing(
    methods: Call, serve: Any, tmp_path: Path, capsys: Capture
) -> None:
    server = serve(reply)
    status, _, err = methods(server, *both(REASONED))
    assert status == 0, err
    asked = [kind(request) for request in server.asked]
    assert asked.count("plain") == asked.count("list") == len(ITEMS)
    assert methods(server, *both(REASONED))[0] == 0 and len(server.asked) == len(asked)
    # another method beside those that are there: only it is run, and its calls come from the cache
    other = "factored_verification:how=reasoned,threshold=0.9"
    status, out, err = methods(server, *both(REASONED, other))
    assert status == 0 and len(server.asked) == len(asked), err
    names = ["openai_gpt-4o", *(f"openai_gpt-4o-factored_verification{end}" for end in ("", "-2"))]
    assert list(json.loads(out)["models"]) == names
    assert main(["report", "--pairs", *(str(tmp_path / "out" / name) for name in names), "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert [own["method"] for own in compared["results"]] == ["plain prompt", REASONED, other]
    costs = [own["cost"] for own in compared["results"]]
    assert [cost["calls"] for cost in costs] == [asked.count("plain"), asked.count("list") + asked.count("check"), 0]
    assert costs[2]["cached_calls"] == costs[1]["calls"] + costs[1]["cached_calls"]
    # every text has an unsupported claim, so the method calls all hallucinated, and the prompt none
    assert [own["metrics"]["acc"]["value"] for own in compared["results"]] == [0.5, 0.5, 0.5]
    assert (tmp_path / "out" / "report" / "index.html").exists()


def test_a_prompt_is_a_method_and_what_is_done_is_a_list_of_words(here: Any, tmp_path: Path) -> None:
    command = ("run", "halu/oracle", "--tasks", "cfaith_tf,cfaith_choice", "--data", "sample", "--limit", "2")
    done = here(*command, "--method", "plain", "--method", "chain_of_thought", "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    lines = [line.split(None, 1) for line in done.stdout.splitlines()]
    for name in ("halu_oracle", "halu_oracle-chain_of_thought"):
        assert [name, "cfaith_tf, cfaith_choice"] in lines


def test_a_method_that_fails_leaves_the_others(methods: Call, serve: Any) -> None:
    broken = True

    def partly(request: dict[str, Any]) -> str | int:
        return 401 if broken and kind(request) == "check" else reply(request)

    server = serve(partly)
    # one call at a time: none is on its way when another fails
    again = (*both(REASONED), "--limit", "8", "--", "--max-connections", "1")
    status, out, err = methods(server, *again)
    models = json.loads(out)["models"]
    assert status == 3 and "no complete result" in err
    assert [len(own["done"]) for own in models.values()] == [1, 0]
    assert "Error code: 401" in models["openai_gpt-4o-factored_verification"]["message"]
    broken = False
    assert methods(server, *again)[0] == 0
    # what was answered before is not asked again
    kinds = [kind(request) for request in server.asked]
    assert kinds.count("plain") == kinds.count("list") == 8
