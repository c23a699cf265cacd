"""`halu-tasks run --dry-run` announces the calls that a server then gets, their tokens, dollars and hours."""

import json
import re
from collections import Counter
from itertools import count
from typing import Any

import pytest
from common import Patch, fenced

from halu_tasks.core.options import Options
from halu_tasks.tasks import build
from halu_tasks.text.sentences import sentences

SAMPLE = ("--data", "sample", "--limit", "3")
JUDGED = ("--tasks", "cfaith_gen,fave", "--judge", "openai-api/local/judge")
FEW_SHOT = ("--tasks", "cfaith_choice,refact_correction", "--fewshot", "2")
LM_EVAL, EPOCHS = ("--harness", "lm_eval"), ("--", "--epochs", "2", "--max-tokens", "77")
SUMMARIES = ("--tasks", "halueval_summarization")
EQUAL = ("--tasks", "refact_judgment_independent", "--limit", "64")
LISTER, VERIFIER = "decomposer=openai-api/local/lister", "verifier=openai-api/local/verifier"
ROLES = ("--", "--model-role", LISTER, "--model-role", VERIFIER)
RUNS = [
    FEW_SHOT,
    (*FEW_SHOT, *LM_EVAL),
    JUDGED,
    (*JUDGED, *LM_EVAL),
    ("--tasks", "refact_judgment_comparative", "--cot", *EPOCHS),
    (*SUMMARIES, "--method", "self_consistency:samples=3", *EPOCHS),
    # three of the prompts are also those of other items
    (*EQUAL, "--method", "self_consistency:samples=2"),
    (*EQUAL, "--method", "self_consistency:samples=2,cache=false"),
    (*SUMMARIES, "--method", "selfcheck_prompt:samples=2"),
    (*SUMMARIES, "--method", "truth_triangulator:knowledge=gold"),
    (*SUMMARIES, "--method", "factored_verification:how=samples,samples=2", *ROLES),
    (*JUDGED[2:], "--tasks", "fave", "--method", "factored_revision"),
]


class Models:
    """Answers as the plan supposes: items like the oracle, a claim for each sentence, and no reply twice."""

    def __init__(self, tasks: str) -> None:
        built = (build(task, Options(data="sample")) for task in tasks.split(","))
        self.replies = {item.prompt: one.oracle(item) for one in built for item in one.items}
        self.number = count()

    def __call__(self, request: dict[str, Any]) -> str:
        asked = str(request["messages"][-1]["content"])
        if is_check(request):
            return "ready"
        if request["model"] == "judge":
            *_, verdict = request["response_format"]["json_schema"]["schema"]["properties"].items()
            return json.dumps({"reason": "…", verdict[0]: verdict[1]["enum"][0]})
        if request["model"] == "lister":
            text = fenced(asked)[-1]
            return "\n".join(f"- {sentence}" for sentence in sentences(text))
        return f"{self.replies.get(asked, 'Supported: No')}\n{next(self.number)}"


def is_check(request: dict[str, Any]) -> bool:
    return str(request["messages"][-1]["content"]) == "Reply with the single word: ready"


def size(request: dict[str, Any]) -> int:
    text = "\n".join(message["content"] for message in request["messages"])
    return -(-len(text.encode()) // 4)


def planned(here: Any, *arguments: str, status: int = 0) -> list[dict[str, Any]]:
    words = [*arguments, "--"] if "--" not in arguments else [*arguments]
    words[words.index("--") : words.index("--")] = ["--dry-run", "--no-check", "--json"]
    done = here("run", *words)
    assert done.returncode == status, done.stderr
    return list(json.loads(done.stdout)["plan"])


@pytest.mark.slow
@pytest.mark.parametrize("words", RUNS, ids=" ".join)
def test_the_calls_announced_are_those_that_servers_get(
    words: tuple[str, ...], serve: Any, here: Any, tmp_path: Any, monkeypatch: Patch
) -> None:
    server = serve(Models(words[words.index("--tasks") + 1]))
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    monkeypatch.setenv("LOCAL_BASE_URL", server.url)
    monkeypatch.setenv("HALU_TASKS_CACHE", str(tmp_path / "cache"))
    served = ("--base-url", server.url) if "lm_eval" in words else ()
    command = ("openai-api/local/m", *served, "-o", str(tmp_path / "out"), *SAMPLE, *words)
    rows = [row for row in planned(here, *command) if row["run"] != "sum"]
    assert not server.asked and not server.probed
    # without the check, in which each model is asked a first request once more
    assert here("run", "--no-check", *command).returncode == 0
    asked = [request for request in server.asked if not is_check(request)]
    calls, limits, tokens = Counter[str](), Counter[str](), Counter[str]()
    for request in asked:
        calls[request["model"]] += 1
        limits[request["model"]] += request.get("max_tokens") or request["max_completion_tokens"]
        tokens[request["model"]] += size(request)
    announced, longest, read = Counter[str](), Counter[str](), Counter[str]()
    for row in rows:
        name = re.split("[/_]", row["model"])[-1]
        announced[name] += row["calls"]
        longest[name] += row["most_output_tokens"]
        read[name] += row["input_tokens"]
    assert announced == calls and longest == limits
    # what is asked of replies is asked of the longest ones
    assert tokens["m"] == read["m"] if "--method" not in words else tokens <= read
    follows = {"factored", "selfcheck"} & {word.partition("_")[0] for word in words}
    usual = "about" if follows else "at most" if "--method" in words and "cache=false" not in words[-1] else "exactly"
    assert {row["counted"] for row in rows if row["part"] != "judge"} == {usual}
    assert all(
        row["counted"] == ("about" if row["task"] == "fave" else "at most") for row in rows if row["part"] == "judge"
    )


def test_a_limit_counts_the_items_that_are_asked(here: Any, tmp_path: Any) -> None:
    evaluation = build(EQUAL[1], Options(data="sample"))
    wanted, first = (
        sum(size({"messages": evaluation.messages(item)}) for item in items[:3])
        for items in (evaluation.shuffled_items, evaluation.items)
    )
    (row,) = planned(here, "halu/oracle", "--tasks", EQUAL[1], *SAMPLE, "-o", str(tmp_path / "out"))
    assert row["calls"] == 3 and row["input_tokens"] == wanted != first


def test_dollars_and_hours_follow_from_prices_and_rates(here: Any, tmp_path: Any) -> None:
    command = ("halu/oracle", "--tasks", "cfaith_gen,cfaith_tf", "-o", str(tmp_path / "out"), "--data", "sample")
    judge = ("--judge", "openai/gpt-4o")
    *rows, total = planned(here, *command, *judge, "--price", "2/8", "--price", "openai/gpt-4o=5/20")
    assert [(row["part"], row["counted"]) for row in rows] == [
        ("model", "exactly"), ("judge", "at most"), ("model", "exactly"),
    ]  # fmt: skip
    for row in rows:
        price = (5, 20) if row["part"] == "judge" else (2, 8)
        assert row["dollars"] == pytest.approx(
            (row["input_tokens"] * price[0] + row["most_output_tokens"] * price[1]) / 1e6
        )
    for name in ("calls", "input_tokens", "most_output_tokens", "dollars"):
        assert total[name] == pytest.approx(sum(row[name] for row in rows))
    assert total["counted"] == "at most" and total["hours"] is None
    # a price of one model is none of the others, and so none of all
    assert planned(here, *command, *judge, "--price", "openai/gpt-4o=5/20")[-1]["dollars"] is None
    by_calls = planned(here, *command, "--calls-per-minute", "6")[-1]
    assert by_calls["hours"] == pytest.approx(by_calls["calls"] / 360)
    both = planned(here, *command, "--calls-per-minute", "6000", "--tokens-per-second", "10")[-1]
    assert both["hours"] == pytest.approx((both["input_tokens"] + both["most_output_tokens"]) / 36_000)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--dry-run", "--price", "2"), "--price: expected [MODEL=]INPUT/OUTPUT, such as 2.50/10, got '2'"),
        (
            ("--dry-run", "--price", "halu/orcale=2/8"),
            "--price: unknown model 'halu/orcale' (did you mean 'halu/oracle'?); known: halu/oracle",
        ),
        (("--price", "2/8"), "need --dry-run"),
    ],
)
def test_a_price_that_is_none_is_an_error(here: Any, tmp_path: Any, arguments: tuple[str, ...], error: str) -> None:
    done = here("run", "halu/oracle", "--tasks", "cfaith_tf", "--data", "sample", "-o", tmp_path, *arguments)
    assert done.returncode == 2 and error in done.stderr and not done.stdout


@pytest.mark.slow
def test_equal_replies_are_judged_once_and_the_legend_says_so(
    serve: Any, here: Any, tmp_path: Any, monkeypatch: Patch
) -> None:
    answers = Models("cfaith_gen")
    server = serve(lambda request: answers(request) if request["model"] == "judge" or is_check(request) else "A cat.")
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    monkeypatch.setenv("LOCAL_BASE_URL", server.url)
    monkeypatch.setenv("HALU_TASKS_CACHE", str(tmp_path / "cache"))
    command = ("--tasks", "cfaith_gen", *SAMPLE, *JUDGED[2:], "-o", str(tmp_path / "out"))
    for model in ("openai-api/local/m", "openai-api/local/n"):
        rows = [row for row in planned(here, model, *command) if row["part"] == "judge"]
        assert [(row["counted"], row["calls"]) for row in rows] == [("at most", 3)]
        told = " ".join(here("run", model, *command, "--dry-run", "--no-check").stdout.split())
        assert "on an equal reply, are not asked for again" in told and "Output tokens, dollars and hours are" in told
        assert here("run", model, *command).returncode == 0
    assert sum(request["model"] == "judge" for request in server.asked if not is_check(request)) == 3


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
@pytest.mark.parametrize(
    ("method", "tasks", "error"),
    [
        (
            "self_consistency:samples=4",
            "refact_correction,cfaith_tf,cfaith_choice,cfaith_gen",
            "--method: self_consistency votes on labels, and refact_correction asks for something else; it can do only "
            "cfaith_tf, cfaith_choice of these tasks: use a command of its own for that",
        ),
        (
            "factored_verification",
            "factchd",
            "--method: factored_verification needs the source of each item, and factchd has none; name knowledge=PATH "
            "to look claims up instead; it can do none of these tasks",
        ),
        ("correction", "cfaith_tf", "'answer' has no '<mask>', which correction needs; it can do none of these tasks"),
    ],
)
def test_what_a_method_cannot_do_is_refused_before_any_call(
    here: Any, serve: Any, tmp_path: Any, monkeypatch: Patch, dry: Any, method: str, tasks: str, error: str
) -> None:
    server = serve(lambda request: "Yes")
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    command = ("openai-api/local/m", "--base-url", server.url, "--tasks", tasks, "--data", "sample", *dry)
    done = here("run", *command, "-o", str(tmp_path / "out"), "--method", "plain", "--method", method)
    assert done.returncode == 2 and not done.stdout and error in done.stderr and done.stderr.count("\n") == 1
    assert not server.asked and not server.probed and not (tmp_path / "out").exists()


def test_weighed_labels_are_a_call_each_in_lm_eval_and_a_tool_may_be_called(here: Any, tmp_path: Any) -> None:
    command = ("halu/oracle", *SUMMARIES, "--data", "sample", "-o", str(tmp_path))
    (asked,) = planned(here, *command)
    (weighed,) = planned(here, *command, "--probability", "--harness", "lm_eval")
    assert weighed["calls"] == 2 * asked["calls"] and weighed["most_output_tokens"] == 0
    (tool,) = planned(here, *command, "--method", "with_knowledge:tool=web_search")
    assert tool["counted"] == "at least" and tool["calls"] == asked["calls"]


def test_a_prompt_format_is_counted_in_the_words_of_the_run(here: Any, tmp_path: Any) -> None:
    name, file = "refact_judgment_independent", tmp_path / "prompts.yaml"
    file.write_text(json.dumps({name: {"cot": "Think first. " * 500}}))
    command = ("halu/oracle", *SAMPLE, "--tasks", name, "--method", "independent:cot=true", "-o", str(tmp_path / "out"))
    (own,), (given,) = planned(here, *command), planned(here, *command, "--prompts", str(file))
    assert given["input_tokens"] > own["input_tokens"] + 3_000
