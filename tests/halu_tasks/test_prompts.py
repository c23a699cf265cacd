"""Prompts of the authors, which are not part of the package: the version says where the wording is a published one."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from halu_tasks.core.options import Options
from halu_tasks.tasks import build, prompting, registry
from halu_tasks.tasks.prompting import published_prompts, published_source, wording_hash

TASKS, _ = registry()
TASK = "refact_judgment_independent"
SYSTEM, USER = 'Say which of "True" and "False" the answer is.', "Q {question}\n\nA {answer} Verdict:"


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A published prompt whose text is known here."""
    sha256 = wording_hash({"system": SYSTEM, "user": USER})
    monkeypatch.setattr(prompting, "published_prompts", lambda: {TASK: {sha256: "Paper, Appendix Z"}})


@pytest.mark.parametrize(
    ("system", "user", "options", "tag"),
    [
        (SYSTEM, USER, {}, "prompts_paper"),
        ('Say which of “True”  and ``False" the\nanswer is.', USER.replace("\n\n", " "), {}, "prompts_paper"),
        (SYSTEM.replace(".", "!"), USER, {}, "prompts_[0-9a-f]{8}"),
        (SYSTEM.replace("True", "true"), USER, {}, "prompts_[0-9a-f]{8}"),
        (SYSTEM, USER.replace("A {", "A: {"), {}, "prompts_[0-9a-f]{8}"),
        (SYSTEM, "A {answer}\n\nQ {question} Verdict:", {}, "prompts_[0-9a-f]{8}"),
        # with a chain of thought, the system text is another one
        (SYSTEM, USER, {"cot": True}, "cot-prompts_[0-9a-f]{8}"),
    ],
)
def test_a_prompt_file_is_marked_by_its_wording_alone(
    system: str, user: str, options: dict[str, Any], tag: str, known: None, tmp_path: Path
) -> None:
    path = tmp_path / "prompts.yaml"
    path.write_text(json.dumps({TASK: {"system": system, "user": user}}))
    version = build(TASK, Options(data="sample", prompts=(str(path),), **options)).version
    assert re.fullmatch(f"1-sample-{tag}", version)


def test_a_task_file_with_a_published_wording_is_marked(known: None, tmp_path: Path) -> None:
    path, user = tmp_path / "mine.yaml", re.sub(r"\{(\w+)\}", r"{{ \1 }}", USER)
    keys = {"include": str(TASKS[TASK].file.path), "task": "mine", "description": SYSTEM, "doc_to_text": user}
    path.write_text(json.dumps(keys))
    evaluation = build(str(path), Options(data="sample"))
    assert evaluation.version == "1-sample-prompts_paper" and evaluation.items[0].system == SYSTEM


# --- the papers -----------------------------------------------------------------------------------


def test_each_known_hash_is_one_of_a_task_and_stands_for_one_text() -> None:
    published = published_prompts()
    sources = {sha256: source for task in published.values() for sha256, source in task.items()}
    assert {*published} <= {*TASKS} and all(re.fullmatch(r"[0-9a-f]{64}", sha256) for sha256 in sources)
    assert len(sources) == len({*sources.values()}) == 9
    for name, task in TASKS.items():
        # no published wording is shipped
        assert all(published_source(name, wording.prompt) is None for wording in task.prompts.wordings)


HEADING = re.compile(r"^[ \t]*(system|user)(?:[ \t]+prompt)?[ \t]*:?[ \t]*$", re.IGNORECASE | re.MULTILINE)


def test_the_prompts_that_the_papers_print_have_the_known_hashes(shared_data: Path) -> None:
    papers = shared_data.parent / "papers"
    if not papers.is_dir():
        pytest.skip(f"no texts of the papers in {papers}")
    _, appendix = (papers / "refact.txt").read_text(encoding="utf-8").split("Appendix C Experiment Prompts")
    refact = [name for name in TASKS if name.startswith("refact")]
    printed = dict(zip(refact, re.split(r"\nC\.\d [^\n]*\n", appendix)[1:], strict=True))
    printed["halluverse25_9shot_tr"] = (papers / "halluverse25.txt").read_text("utf-8").split("Table 9: Instruction")[1]
    for number, (name, text) in enumerate(printed.items(), start=1):
        text = text.replace("{transformed_answer}", "{answer}")
        before, *parts = HEADING.split(text)
        prompt = {key.lower(): body.strip() for key, body in zip(parts[::2], parts[1::2], strict=True)}
        prompt = prompt or {"user": re.sub(r"\s*Prompt:\s*", "", before.partition("\n")[2], count=1)}
        expected = f"ReFACT, Appendix C.{number}" if name in refact else "HalluVerse25, Table 9"
        assert published_source(name, prompt) == expected
