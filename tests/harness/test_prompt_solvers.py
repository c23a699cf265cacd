"""The prompt formats as solvers: what a model is asked, on samples of any task and on those of this package."""

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from cases import CASES
from common import Patch, Run

DOCS = Path(__file__).resolve().parents[2] / "docs" / "solvers.md"
QUESTION = {"question": "Q?", "answer": "One. Two.", "answer_a": "One.", "answer_b": "Two."}
FORMATS = {
    "independent": "refact_judgment_independent",
    "comparative": "refact_judgment_comparative",
    "localization": "refact_localization_entity",
    "correction": "refact_correction",
}
Turns = list[dict[str, str]]


def turns_of(messages: list[Any]) -> Turns:
    return [{"role": message.role, "content": message.text} for message in messages]


@pytest.fixture
def ask(serve: Run, openai: Run, tmp_path: Path, monkeypatch: Patch) -> Run:
    """`ask(task, solver, **arguments)` runs a task (a task, its name, or a file) with a solver of this package or of a
    file; returns what the model was asked in each call, or the error that the run ended in."""
    monkeypatch.setenv("HALU_TASKS_DATA", "sample")

    def run(task: Any, solver: Any, limit: int | None = None, task_args: Any = None, **arguments: Any) -> Any:
        from inspect_ai import eval
        from inspect_ai.solver import SolverSpec

        server = serve(lambda request: "True")
        if isinstance(solver, str):
            solver = SolverSpec(solver, arguments, arguments)
        (log,) = eval(
            task, model=openai(server), solver=solver, limit=limit, task_args=task_args or {}, display="log",
            log_dir=str(tmp_path / "logs"), log_realtime=False,
        )  # fmt: skip
        if log.status != "success":
            return log.error.message
        return [request["messages"] for request in server.asked]

    return run


def task_with(*samples: dict[str, Any], input: Any = "INPUT") -> Any:
    """A task of another package, with samples of these metadata."""
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample

    return Task(
        dataset=MemoryDataset([Sample(id=f"s{n}", input=input, metadata=fields) for n, fields in enumerate(samples)])
    )


# --- the examples of the documentation ------------------------------------------------------------


class Shown(NamedTuple):
    """A command of the documentation, and the messages that it says the model is asked."""

    command: list[str]
    asked: str


def _blocks() -> list[tuple[str, str]]:
    return re.findall(r"^```(\w+)\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def _shown() -> list[Shown]:
    return [
        Shown(shlex.split(line.removeprefix("$ ")), asked)
        for (kind, text), (_, asked) in pairwise(_blocks())
        if kind == "console"
        for line in text.splitlines()
        if line.startswith("$ inspect eval")
    ]


@pytest.fixture
def documented(tmp_path: Path, monkeypatch: Patch) -> Path:
    """The working directory, with the files that the documentation shows."""
    for kind, text in _blocks():
        if kind == "python":
            name = text.partition("\n")[0].removeprefix("# ")
            (tmp_path / name).write_text(text, encoding="utf-8")
        for name, content in re.findall(r"^\$ cat (\S+)\n(.*?)(?=^\$ )", text, re.DOTALL | re.MULTILINE):
            (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _matches(asked: Turns, shown: str) -> bool:
    """Whether messages are as shown, where `…` stands for any text."""
    text = "".join(f"{turn['role']}: {turn['content']}\n" for turn in asked)
    return re.fullmatch(".*?".join(map(re.escape, shown.split("…"))), text, re.DOTALL) is not None


@pytest.mark.parametrize("shown", _shown(), ids=lambda shown: " ".join(shown.command[2:5]))
def test_the_documented_commands_ask_what_is_shown(shown: Shown, documented: Path, ask: Run) -> None:
    words = shown.command
    values = dict(words[n + 1].split("=", 1) for n, word in enumerate(words) if word == "-S")
    arguments = {name: yaml.safe_load(value) for name, value in values.items()}
    solver = words[words.index("--solver") + 1]
    (asked,) = ask(words[2], solver, limit=1, **arguments)
    assert _matches(asked, shown.asked), asked


def test_every_solver_is_documented_with_a_command() -> None:
    named = {shown.command[shown.command.index("--solver") + 1] for shown in _shown()}
    assert named == {f"halu_tasks/{name}" for name in (*FORMATS, "few_shot", "chain_of_thought")} | {"my_chain.py"}


# --- the same bytes as without, which are those of lm-eval (test_parity) ---------------------------


def _sorted(asked: list[Turns]) -> list[str]:
    return sorted(json.dumps(turns, ensure_ascii=False) for turns in asked)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "task"), FORMATS.items())
def test_fields_in_a_users_metadata_are_asked_as_the_packaged_task_asks_them(name: str, task: str, ask: Run) -> None:
    from inspect_ai.solver import generate

    from halu_tasks.core.options import Options
    from halu_tasks.tasks import build

    fields = [dict(item.fields) for item in build(task, Options(data="sample")).items]
    for each in fields:
        each.pop("number_of_masks", None)  # counted by the solver
    in_inspect = ask(task_with(*fields), f"halu_tasks/{name}")
    assert _sorted(in_inspect) == _sorted(ask(f"halu_tasks/{task}", generate()))


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("independent", "cfaith_tf"),
        pytest.param("localization", "refact_localization_negation", marks=pytest.mark.slow),
    ],
)
def test_a_packaged_task_is_asked_by_its_own_format_as_without(name: str, task: str, ask: Run) -> None:
    from inspect_ai.solver import generate

    plain = ask(f"halu_tasks/{task}", generate(), task_args={"fewshot": 1})
    assert _sorted(ask(f"halu_tasks/{task}", f"halu_tasks/{name}", task_args={"fewshot": 1})) == _sorted(plain)


@pytest.mark.slow
def test_reasoning_is_asked_for_as_by_the_option_of_the_task(ask: Run) -> None:
    from inspect_ai.solver import generate

    task = "halu_tasks/refact_correction"
    wanted = _sorted(ask(task, generate(), task_args={"cot": True}))
    assert _sorted(ask(task, "halu_tasks/correction", cot=True)) == wanted


def test_metadata_of_packaged_samples_hold_the_fields_and_what_scoring_reads() -> None:
    from halu_tasks.core.options import Options
    from halu_tasks.inspect_adapter.task_factories import inspect_task
    from halu_tasks.tasks import build, registry

    for task in registry()[0]:
        items = {item.id: item for item in build(task, Options(data="sample")).items}
        for sample in inspect_task(task, data="sample").dataset:
            item = items[str(sample.id)]
            assert sample.metadata.get("fields", {}) == item.fields
            assert (sample.metadata["task"], sample.metadata.get("gold", {})) == (task, item.gold.as_json())


# --- arguments ------------------------------------------------------------------------------------


def test_names_of_fields_are_arguments_and_the_input_is_a_field(ask: Run) -> None:
    foreign = task_with({"response": "One.", "year": 1999})
    (asked,) = ask(
        foreign, "halu_tasks/independent", question="input", answer="response", template="{question} {answer} {year}"
    )
    assert asked[1]["content"] == "INPUT One. 1999"


def test_braces_in_fields_and_templates_are_text(ask: Run) -> None:
    template = '{"verdict": "{answer}"} {}'
    (asked,) = ask(
        task_with({"answer": '{question} {{x}} {"a": 1}'}), "halu_tasks/independent", template=template, system=""
    )
    assert asked == [{"role": "user", "content": '{"verdict": "{question} {{x}} {"a": 1}"} {}'}]


def test_masks_of_another_form_are_counted_and_shown_as_ours(ask: Run) -> None:
    fields = {"question": "Q?", "answer": "[MASK] and [MASK] or [MASK]."}
    (asked,) = ask(task_with(fields), "halu_tasks/correction", mask="[MASK]")
    assert "Answer: <mask> and <mask> or <mask>.\n3 Replacements expected" in asked[1]["content"]


def test_examples_may_be_a_file_or_a_list_and_count_their_masks(ask: Run, tmp_path: Path) -> None:
    row = {"question": "Q1?", "answer": "<mask> is it.", "output": "This"}
    file = tmp_path / "examples.jsonl"
    file.write_text(json.dumps(row))
    foreign = {"question": "Q?", "answer": "<mask> <mask>"}
    for examples in (str(file), [row]):
        (asked,) = ask(task_with(foreign), "halu_tasks/correction", examples=examples)
        _, question, reply, last = asked
        assert "Answer: <mask> is it.\n1 Replacements expected" in question["content"]
        assert reply == {"role": "assistant", "content": "This"} and "\n2 Replacements" in last["content"]


def test_examples_of_any_fields_are_worded_by_a_template_and_stand_before_the_last_question(ask: Run) -> None:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    before = [ChatMessageSystem(content="S"), ChatMessageUser(content="1"), ChatMessageAssistant(content="2")]
    (asked,) = ask(
        task_with({}, input=[*before, ChatMessageUser(content="3")]), "halu_tasks/few_shot",
        examples=[{"a": "x", "output": "y"}], template="A: {a}",
    )  # fmt: skip
    assert [turn["content"] for turn in asked] == ["S", "1", "2", "A: x", "y", "3"]


def test_without_generate_nothing_is_asked(ask: Run) -> None:
    for name in (*FORMATS, "few_shot", "chain_of_thought"):
        fields = {**QUESTION, "answer": "<mask>"}
        arguments = {"examples": [{"input": "i", "output": "o"}]} if name == "few_shot" else {}
        assert ask(task_with(fields), f"halu_tasks/{name}", generate=False, **arguments) == []


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "fields", "message"), CASES["a_sample_without_what_is_needed_is_named_in_one_line"])
def test_a_sample_without_what_is_needed_is_named_in_one_line(
    name: str, fields: dict[str, Any], message: str, ask: Run
) -> None:
    error = ask(task_with(fields), f"halu_tasks/{name}")
    assert message in error and len(error.splitlines()) == 1


REFUSED = yaml.safe_load(Path(__file__).with_name("refused_arguments.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "arguments", "message"), REFUSED)
def test_a_wrong_argument_is_named_before_anything_is_asked(name: str, arguments: dict[str, Any], message: str) -> None:
    from inspect_ai.util import registry_create

    from halu_tasks.core.errors import HaluTasksError

    kind, _, own = name.partition("/")
    with pytest.raises(HaluTasksError) as raised:
        registry_create(kind, f"halu_tasks/{own}", **arguments)
    assert message in str(raised.value) and len(str(raised.value).splitlines()) == 1
