"""Prompts of the authors: read from files of theirs, and marked in the version where the wording is a published one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from halu_tasks.core.options import Options
from halu_tasks.tasks import build, published, registry
from halu_tasks.tasks.convert import read_prompt
from halu_tasks.tasks.published import PublishedPrompt, prompts_for, published_as, wording_hash

Here = Callable[..., Any]
TASKS, _ = registry()
TEXT = """System Prompt:
Say which of ``True'' and ‘‘False’’ the
answer is.
User Prompt
Q {question}
A {reply_shown}
Verdict: """
SAME = {"system": "Say which of “True”  and 'False' the answer is.", "user": "Q {{ question }}\nA {{answer}} Verdict:"}


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> PublishedPrompt:
    """A published prompt whose text is known here."""
    prompt = {"system": 'Say which of "True" and "False" the answer is.', "user": "Q {question}\nA {answer}\nVerdict:"}
    task = "refact_judgment_independent"
    entry = PublishedPrompt("Paper, Appendix Z", (task,), wording_hash(prompt), {"reply_shown": "answer"})
    monkeypatch.setattr(published, "_prompts", lambda: (entry,))
    return entry


def test_a_file_of_the_authors_becomes_a_task_whose_version_says_so(
    known: PublishedPrompt, here: Here, tmp_path: Path
) -> None:
    source, target = tmp_path / "appendix.txt", tmp_path / "mine.yaml"
    source.write_text(TEXT, encoding="utf-8")
    told = here("show", "refact_judgment_independent", "--authors", source)
    assert told.returncode == 0, told.stderr
    target.write_text(told.stdout)
    name = "refact_judgment_independent_authors"
    assert f"{name}: the wording of Paper, Appendix Z; its version shows prompts_paper" in told.stderr
    assert here("check", target).returncode == 0
    built = build(str(target), Options(data="sample"))
    assert built.version == "1-sample-prompts_paper"
    item = built.items[0]
    assert item.system == "Say which of ``True'' and ‘‘False’’ the\nanswer is."
    assert item.prompt == f"Q {item.fields['question']}\nA {item.fields['answer']}\nVerdict:"


def test_a_prompt_file_is_marked_by_its_wording_alone(known: PublishedPrompt, tmp_path: Path) -> None:
    def version(system: str, user: str, **options: Any) -> str:
        path = tmp_path / f"{wording_hash({'system': repr(system), 'user': user})}{len(options)}.yaml"
        path.write_text(json.dumps({"refact_judgment_independent": {"system": system, "user": user}}))
        return build("refact_judgment_independent", Options(data="sample", prompts=str(path), **options)).version

    user = "Q {question}\n\nA {answer} Verdict:"
    assert version('Say which of “True” and ``False" the answer is.', user) == "1-sample-prompts_paper"
    for system, changed in (
        ('Say which of "True" and "False" the answer is!', user),
        ('Say which of "true" and "False" the answer is.', user),
        ('Say which of "True" and "False" the answer is.', user.replace("A {answer}", "A: {answer}")),
        ('Say which of "True" and "False" the answer is.', "A {answer}\n\nQ {question} Verdict:"),
    ):
        assert re.fullmatch(r"1-sample-prompts_[0-9a-f]{8}", version(system, changed))
    # with a chain of thought, the system text is another one
    assert re.search(
        r"-cot-prompts_[0-9a-f]{8}$", version('Say which of "True" and "False" the answer is.', user, cot=True)
    )


def test_the_same_words_for_another_task_are_not_its_published_prompt(known: PublishedPrompt) -> None:
    assert published_as("refact_judgment_independent", SAME) is None  # single quotes differ
    same = SAME | {"system": SAME["system"].replace("'", '"')}
    assert published_as("refact_judgment_independent", same) == known
    assert published_as("halueval_general", same) is None


def test_rows_with_an_instruction_give_it_and_the_form_of_their_input(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    row = {
        "id": 1,
        "instruction": "Find {the} fault.",
        "input": "#Question#: Why?\n#Answer#: So.",
        "output": "FACTUAL. x",
    }
    path.write_text("\n".join(json.dumps(row | {"id": number}) for number in (1, 2)))
    with pytest.raises(Exception, match="is not a field"):
        read_prompt(TASKS["factchd"], path)
    path.write_text(json.dumps(row | {"instruction": "Find the fault: {%."}))
    prompt = read_prompt(TASKS["factchd"], path)
    assert prompt["user"] == "#Question#: {{query}}\n#Answer#: {{response}}"
    from halu_tasks.core.prompting import JinjaText, fill

    assert fill(JinjaText(prompt["system"]), {}) == "Find the fault: {%."
    path.write_text("\n".join(json.dumps(row | {"instruction": text}) for text in ("a", "b")))
    with pytest.raises(Exception, match="one 'instruction' for all rows, got 2"):
        read_prompt(TASKS["factchd"], path)


def test_an_instruction_without_placeholders_precedes_the_packages_fields(tmp_path: Path) -> None:
    path = tmp_path / "instruction.txt"
    path.write_text("Judge the summary.\n")
    task = TASKS["halueval_summarization"]
    prompt = read_prompt(task, path)
    assert prompt == {"system": "", "user": f"Judge the summary.\n\n{task.prompts.wording(Options()).prompt['user']}"}


@pytest.mark.parametrize(
    ("task", "text", "said"),
    [
        (
            "refact_correction",
            "Q {question} {answr}",
            "{answr} is not a field (did you mean 'answer'?); fields: question",
        ),
        ("refact_correction", "C.5\nUser Prompt:\n{question}", ":1: there is text before the line 'User'; remove it"),
        ("refact_correction", "User:\n{question}\nUser:\n{answer}", "'System Prompt' and 'User Prompt' once each"),
        ("refact_correction", "System Prompt:\nx\nUser Prompt:\n", "the user text is empty"),
        (
            "halluverse25_en",
            "Classify.",
            "the text has no placeholder; halluverse25_en has the fields {original}, {edited}",
        ),
    ],
)
def test_a_fault_of_a_file_is_one_line(task: str, text: str, said: str, here: Here, tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_text(text)
    told = here("show", task, "--authors", path)
    assert told.returncode == 2 and told.stdout == ""
    assert told.stderr.startswith(f"halu-tasks: {path}") and said in told.stderr and len(told.stderr.splitlines()) == 1


# --- the papers -----------------------------------------------------------------------------------


def test_each_known_hash_is_one_of_a_task_and_stands_for_one_text() -> None:
    entries = {entry.sha256: entry for name in TASKS for entry in prompts_for(name)}
    assert all(re.fullmatch(r"[0-9a-f]{64}", sha256) for sha256 in entries)
    assert len(entries) == len({entry.source for entry in entries.values()}) == 9
    for entry in entries.values():
        assert {*entry.tasks} <= {*TASKS}
    for name, task in TASKS.items():
        # no published wording is shipped
        assert all(published_as(name, w.prompt) is None for w in task.prompts.wordings)


@pytest.fixture
def papers(shared_data: Path) -> Path:
    folder = shared_data.parent / "papers"
    if not folder.is_dir():
        pytest.skip(f"no texts of the papers in {folder}")
    return folder


def test_the_prompts_that_the_papers_print_have_the_known_hashes(papers: Path, tmp_path: Path) -> None:
    _, appendix = (papers / "refact.txt").read_text(encoding="utf-8").split("Appendix C Experiment Prompts")
    sections = re.split(r"\nC\.\d [^\n]*\n", appendix)[1:]
    names = (
        "judgment_independent",
        "judgment_comparative",
        "localization_negation",
        "localization_entity",
        "correction",
    )
    printed = {f"refact_{name}": text for name, text in zip(names, sections, strict=True)}
    table = (papers / "halluverse25.txt").read_text(encoding="utf-8").partition("Table 9: Instruction")[2]
    printed["halluverse25_9shot_tr"] = table.partition("\n")[2]
    sources = []
    for name, text in printed.items():
        path = tmp_path / f"{name}.txt"
        path.write_text(text, encoding="utf-8")
        found = published_as(name, read_prompt(TASKS[name], path))
        assert found, name
        sources.append(found.source)
    assert sources == [*(f"ReFACT, Appendix C.{number}" for number in range(1, 6)), "HalluVerse25, Table 9"]
