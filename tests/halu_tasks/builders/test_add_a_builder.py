"""The builder that the documentation prints does what it says."""

import asyncio
import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from cases import CASES
from common import Cli, Patch

from halu_tasks.builders import pipeline as wording
from halu_tasks.builders.collect import paper_named, write_dataset
from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import Draft
from halu_tasks.data.sources import SOURCES

SECTION = (Path(__file__).parents[3] / "docs" / "builders.md").read_text(encoding="utf-8").split("## Add a builder")[1]
TEXT = "The mill at Fenn was built by Ada Rook in 1812. It stands by the river."
EDIT = {"original": "The mill at Fenn was built by Ada Rook in 1812.", "edited": "The mill at Fenn was built in 1912."}


def printed(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", SECTION, re.DOTALL)
    return str(found)


@pytest.fixture
def one_edit(tmp_path: Path, monkeypatch: Patch) -> Iterator[ModuleType]:
    (tmp_path / "one_edit.yaml").write_text(printed("yaml"), encoding="utf-8")
    (tmp_path / "one_edit.py").write_text(printed("python"), encoding="utf-8")
    monkeypatch.setattr(wording, "PROMPTS", tmp_path)
    spec = importlib.util.spec_from_file_location("one_edit", tmp_path / "one_edit.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "one_edit", module)
    spec.loader.exec_module(module)
    yield module
    wording.prompt_texts.cache_clear()


def drafted(module: ModuleType, edit: str, verdict: str) -> list[Draft]:
    async def ask(prompt: str, role: str, *, draw: int = 0, draws: int = 1) -> str:
        assert "=====" in prompt and "{document}" not in prompt
        return {"generator": edit, "verifier": verdict}[role]

    found: list[Draft] = asyncio.run(module.OneEdit().drafts(Document("d", TEXT), ask))
    return found


def test_what_it_makes_is_read_by_its_tasks(one_edit: ModuleType, tmp_path: Path, here: Cli) -> None:
    pipeline = one_edit.OneEdit()
    assert pipeline.benchmark in SOURCES and paper_named(pipeline.paper)["bibtex"]
    (draft,) = drafted(one_edit, json.dumps(EDIT), '{"verdict": "yes"}')
    assert not draft.faults and draft.row and draft.checks == pipeline.checks
    item = draft
    write_dataset(pipeline, [item], tmp_path / "dataset")
    shown = here("items", "halluverse25_en", "--data", tmp_path / "dataset")
    assert shown.returncode == 0 and EDIT["edited"] in shown.stdout
    assert (
        list(pipeline.pairs(item))
        and pipeline.key(item) == EDIT["original"]
        and pipeline.annotated(item, {"": "valid"})
    )


@pytest.mark.parametrize(("edit", "verdict", "failure"), CASES["what_is_bad_fails_with_a_reason"])
def test_what_is_bad_fails_with_a_reason(one_edit: ModuleType, edit: str, verdict: str, failure: list[str]) -> None:
    (draft,) = drafted(one_edit, edit, verdict)
    assert [(own.check, own.reason) for own in draft.faults] == [tuple(failure)] and not draft.row
