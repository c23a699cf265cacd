"""Tasks asked with something to look up, run in Inspect against a scripted model on loopback."""

import json
from pathlib import Path
from typing import Any

import pytest
from common import Run
from judges import figures

from halu_tasks.cli import main
from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE
from halu_tasks.solvers.retrieval import MOST_ROUNDS
from halu_tasks.tasks import build, registry

pytestmark = pytest.mark.slow

TASK = "factchd"
ITEMS = build(TASK, Options(data="sample")).items
METHOD = "with_knowledge"


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A passage on each item of FactCHD's sample, and two that no item is about."""
    folder = tmp_path_factory.mktemp("wiki")
    rows = [{"id": item.id, "title": f"About {item.id}", "text": item.fields["evidence"]} for item in ITEMS]
    rows += [{"id": f"other{n}", "text": "qwertz asdfgh"} for n in range(2)]
    (folder / "corpus.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return folder


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A file with tools: one that notes what it is asked and knows one thing, one that fails, one with arguments."""
    file = tmp_path / "tools.py"
    file.write_text(
        f'''
from __future__ import annotations
from pathlib import Path
from inspect_ai.tool import Tool, ToolError, tool

ASKED = Path({str(tmp_path / "asked.txt")!r})

def looking_up(result):
    async def execute(query: str) -> str:
        """Look something up.

        Args:
            query: what to look up.
        """
        return result(query)
    return execute

def note(query):
    with ASKED.open("a") as file:
        file.write(query + "\\n")
    return f"The almanac has this on {{query}}: it is so."

def fail(query):
    raise ToolError("out of order")

@tool
def almanac() -> Tool:
    return looking_up(note)

@tool
def broken() -> Tool:
    return looking_up(fail)

@tool
def keyed(key: str) -> Tool:
    return looking_up(lambda query: key)
''',
        encoding="utf-8",
    )
    return file


def last(request: dict[str, Any]) -> str:
    return str(next(m for m in reversed(request["messages"]) if m["role"] == "user")["content"])


def item_of(asked: str) -> Any:
    return next(item for item in ITEMS if asked.endswith(item.prompt))


def call(query: str, name: str = "almanac", number: int = 1) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps({"query": query})}
    return {"content": None, "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}]}


class Reader:
    """Gives the right label where the item's own evidence is shown, and the wrong one where it is not."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def __call__(self, request: dict[str, Any]) -> str:
        self.asked.append(request)
        item = item_of(last(request))
        other = {"FACTUAL": "NON-FACTUAL", "NON-FACTUAL": "FACTUAL"}[item.target]
        return f"{item.target if item.fields['evidence'] in last(request) else other}. So it is."


def test_the_exported_training_part_asks_as_the_solver_does(run_method: Run, wiki: Path, tmp_path: Path) -> None:
    """The training part is put under test, so that the solver asks about the rows that are exported."""
    (tmp_path / "fact_test_noe.jsonl").write_text(
        (SAMPLE / "fewshot" / "factchd" / "fact_train_noe.jsonl").read_text(encoding="utf-8"), encoding="utf-8"
    )
    for knowledge in (str(wiki), "gold"):
        asked: list[str] = []
        run_method(
            "factchd",
            METHOD,
            lambda request, asked=asked: asked.append(json.dumps(request["messages"])) or "FACTUAL.",
            knowledge=knowledge,
            task_args={"data": str(tmp_path)},
        )
        chats = tmp_path / "chats.jsonl"
        assert main(["export", "chats", TASK, "--data", "sample", "--knowledge", knowledge, "-o", str(chats)]) == 0
        exported = [json.loads(line)["messages"] for line in chats.read_text(encoding="utf-8").splitlines()]
        assert sorted(json.dumps(messages[:-1]) for messages in exported) == sorted(asked)
        shown = [messages[1]["content"] for messages in exported]
        assert all("#Question#:" in text and "Below are passages" in text for text in shown)
        if knowledge != "gold":
            assert max(text.count("\n[") for text in shown) == 5


def test_passages_stand_in_front_of_the_question(run_method: Run, wiki: Path) -> None:
    reader = Reader()
    log = run_method("factchd_4shot", METHOD, reader, knowledge=str(wiki), top=3)
    found = figures(log)
    assert found["acc"] == 1.0
    assert 1 <= found["passages"] <= 3 and found["no_passage"] == 0.0
    assert found["calls"] == len(ITEMS) and found["cached_calls"] == 0
    plain = build("factchd_4shot", Options(data="sample", fewshot=4))
    for request in reader.asked:
        system, *examples, question = request["messages"]
        item = item_of(last(request))
        assert system["content"] == item.system and len(examples) == 8
        assert examples[0]["content"] == plain.examples[0].prompt
        text = question["content"]
        mark = next(line for line in text.splitlines() if line.startswith("====="))
        _, block, after = text.split(mark)
        assert block.startswith("\n[1] About ") and "qwertz" not in block
        assert item.fields["evidence"] in block
        assert after.endswith(f"\n{item.prompt}")
    for sample in log.samples:
        told = sample.output.metadata
        assert told["halu_method"] == METHOD and len(told["halu_steps"]["knowledge_sha256"]) == 64
        assert sample.id in [one["id"] for one in told["halu_steps"]["found"]]
        assert sample.output.completion.endswith("So it is.")
        assert [message.role for message in sample.messages[-2:]] == ["user", "assistant"]


def test_where_nothing_is_found_the_model_is_told(run_method: Run, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("qwertz asdfgh\n", encoding="utf-8")
    reader = Reader()
    found = figures(run_method(TASK, METHOD, reader, knowledge=str(tmp_path / "other.txt")))
    assert found["passages"] == 0.0 and found["no_passage"] == 1.0 and found["acc"] == 0.0
    assert all("No passage was found" in last(request) and "=====" not in last(request) for request in reader.asked)


def test_evidence_that_is_empty_or_missing(run_method: Run, tmp_path: Path) -> None:
    row = {"id": "1", "query": "Who?", "response": "Nobody.", "label": "FACTUAL", "reason": "FACTUAL. So."}
    asked: list[str] = []

    def server(request: dict[str, Any]) -> str:
        asked.append(last(request))
        return "FACTUAL."

    file = tmp_path / "fact_test_noe.jsonl"
    file.write_text(json.dumps({**row, "evidence": []}), encoding="utf-8")
    log = run_method(TASK, METHOD, server, knowledge="gold", task_args={"data": str(file)})
    assert figures(log)["no_passage"] == 1.0 and "No passage was found" in asked[0]
    file.write_text(json.dumps(row), encoding="utf-8")
    log = run_method(TASK, METHOD, server, knowledge="gold", task_args={"data": str(file)})
    assert log.status == "error" and "item 1 of factchd has no evidence" in log.error.message
    log = run_method("refact_correction", METHOD, server, knowledge="gold", limit=1)
    assert log.status == "error" and "of refact_correction has no evidence" in log.error.message
    assert "\n" not in log.error.message


def test_a_tool_is_called_until_the_model_replies(run_method: Run, tools: Path) -> None:
    asked: list[dict[str, Any]] = []

    def server(request: dict[str, Any]) -> Any:
        asked.append(request)
        results = [message for message in request["messages"] if message["role"] == "tool"]
        item = item_of(last(request))
        if len(results) < 2:
            return call(f"{item.id} {len(results)}", number=len(results))
        assert results[0]["content"] == f"The almanac has this on {item.id} 0: it is so."
        return f"{item.target}. Looked up."

    log = run_method(TASK, METHOD, server, tool=f"{tools}@almanac")
    found = figures(log)
    assert found["acc"] == 1.0 and found["lookups"] == found["passages"] == 2.0 and found["lookups_failed"] == 0.0
    assert found["calls"] == 3 * len(ITEMS)
    assert asked[0]["tools"][0]["function"]["name"] == "almanac"
    assert "with a tool" in last(asked[0]) and last(asked[0]).endswith(item_of(last(asked[0])).prompt)
    looked_up = (tools.parent / "asked.txt").read_text().splitlines()
    assert sorted(looked_up) == sorted(f"{item.id} {n}" for item in ITEMS for n in (0, 1))
    sample = log.samples[0]
    assert sample.output.metadata["halu_steps"]["found"][0]["title"] == f'almanac {{"query": "{sample.id} 0"}}'
    assert [m.role for m in sample.messages[-5:]] == ["assistant", "tool", "assistant", "tool", "assistant"]
    # the model is asked nothing twice, and the tool may know more by now
    number = len(asked)
    again = figures(run_method(TASK, METHOD, server, same_server=True, tool=f"{tools}@almanac"))
    assert len(asked) == number and again["calls"] == 0 and again["acc"] == 1.0


def test_a_model_caught_in_looking_up_has_to_answer(run_method: Run, tools: Path) -> None:
    number = 0

    def server(request: dict[str, Any]) -> Any:
        nonlocal number
        number += 1
        return call("more", number=number) if request.get("tools") else "FACTUAL."

    log = run_method(TASK, METHOD, server, tool=f"{tools}@almanac", limit=1)
    found = figures(log)
    assert found["lookups"] == MOST_ROUNDS and found["calls"] == MOST_ROUNDS + 1 and found["unparsed"] == 0.0
    # and one that even then calls has no answer
    log = run_method(TASK, METHOD, lambda request: call("more"), tool=f"{tools}@almanac", limit=1)
    assert figures(log)["empty"] == 1.0


def test_a_tool_that_fails_is_counted(run_method: Run, tools: Path) -> None:
    def server(request: dict[str, Any]) -> Any:
        return "FACTUAL." if request["messages"][-1]["role"] == "tool" else call("x", "broken")

    found = figures(run_method(TASK, METHOD, server, tool=f"{tools}@broken", limit=3))
    assert found["lookups"] == found["lookups_failed"] == found["no_passage"] == 1.0 and found["passages"] == 0.0


@pytest.mark.parametrize(
    ("name", "message"), [("other", "is not known to Inspect"), ("keyed", "made without arguments")]
)
def test_a_tool_that_cannot_be_called_is_told_in_one_line(
    name: str, message: str, run_method: Run, tools: Path
) -> None:
    with pytest.raises(ValueError, match=rf"^[^\n]*{message}[^\n]*$"):
        run_method(TASK, METHOD, Reader(), tool=f"{tools}@{name}")


def test_own_wording(run_method: Run, wiki: Path, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(json.dumps({"knowledge_passages": {"user": "{question}\nSee:\n{passages}"}}), encoding="utf-8")
    asked: list[str] = []

    def server(request: dict[str, Any]) -> str:
        asked.append(last(request))
        return "FACTUAL."

    run_method(TASK, METHOD, server, knowledge=str(wiki), prompts=str(file), limit=1)
    assert asked[0].startswith("#Question#") and "\nSee:\n=====" in asked[0]


@pytest.mark.parametrize("task", sorted({task.benchmark: name for name, task in registry()[0].items()}.values()))
def test_a_task_of_every_benchmark_can_be_asked_with_knowledge(task: str, run_inspect: Run, wiki: Path) -> None:
    from inspect_ai.util import registry_create

    solver = registry_create("solver", f"halu_tasks/{METHOD}", knowledge=str(wiki), cache=False)
    log = run_inspect(task, "halu/oracle", solver=solver, limit=2)
    found = figures(log)
    assert found["calls"] == 2 and found["passages"] + found["no_passage"] > 0
    scores = [sample.scores["halu_score"].value for sample in log.samples]
    assert set(scores) <= ({"N"} if registry()[0][task].judge_spec else {"C"})
    evaluation = build(task, Options(data="sample"))
    for sample in log.samples:
        item = next(item for item in evaluation.items if item.id == sample.id)
        assert sample.messages[-2].text.endswith(item.prompt) and sample.messages[-2].text != item.prompt


def test_what_a_provider_searched_is_told_by_what_the_reply_cites(run_inspect: Run) -> None:
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        ContentText,
        ContentToolUse,
        ModelOutput,
        ModelUsage,
        UrlCitation,
        get_model,
    )
    from inspect_ai.util import registry_create

    def use(error: str | None = None) -> ContentToolUse:
        return ContentToolUse(
            tool_type="web_search", id="1", name="search", arguments="{}", result="sealed", error=error
        )

    quoted = UrlCitation(url="https://a.example", title="A", cited_text="it is so")
    placed = UrlCitation(url="https://b.example", cited_text=(0, 3))
    text = ContentText(text="FACTUAL. So.", citations=[quoted, placed, quoted])
    message = ChatMessageAssistant(content=[use(), use("failed"), text])
    sought = ModelOutput(model="m", choices=[ChatCompletionChoice(message=message)])
    plain = ModelOutput.from_content("m", "FACTUAL.")
    # with usage given, Inspect fetches no tokenizer
    sought.usage = plain.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    solver = registry_create("solver", "halu_tasks/truth_triangulator", tool="web_search", cache=False)
    seen: list[str] = []

    def others(input: list[Any], *_: Any) -> ModelOutput:
        seen.append(input[-1].text)
        return plain

    log = run_inspect(
        TASK,
        get_model("mockllm/model", custom_outputs=others),
        model_roles={"seeker": get_model("mockllm/model", custom_outputs=[sought])},
        solver=solver,
        limit=1,
    )
    found = figures(log)
    assert found["lookups"] == 2.0 and found["lookups_failed"] == 1.0 and found["passages"] == 2.0
    (asked,) = [text for text in seen if "You are the manager" in text]
    assert "[1] A https://a.example\nit is so\n\n[2] https://b.example\n=====" in asked and "sealed" not in asked
