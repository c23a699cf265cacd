"""The page of recomputed tables is what its script makes of the released data, whole and section by section."""

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reanalysis"
_spec = spec_from_file_location("make_reanalysis", FOLDER / "make.py")
assert _spec and _spec.loader
make = module_from_spec(_spec)
_spec.loader.exec_module(make)
WRITTEN = (FOLDER / "index.md").read_text(encoding="utf-8")


def test_the_page_is_what_the_released_data_give(shared_data: Path) -> None:
    assert make.page(shared_data).splitlines() == WRITTEN.splitlines()


def test_a_section_is_printed_as_it_is_on_the_page(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HALU_TASKS_DATA", str(shared_data))
    assert make.main(["factscore"]) is None
    printed = capsys.readouterr().out
    assert "| ChatGPT | 58.3 | 58.28 [" in printed and printed in WRITTEN


def test_the_published_figures_are_those_of_the_reference(shared_data: Path) -> None:
    halluqa, truthfulqa = (
        json.loads((shared_data.parent / "reference" / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("halluqa", "truthfulqa_multi")
    )
    assert make.PUBLISHED["halluqa"]["rows"] == halluqa["models"]
    languages = list(make.LANGUAGES)
    kappas = {aspect: [truthfulqa["cohen_kappa"][name][aspect] for name in languages] for aspect in make.ASPECTS}
    assert make.PUBLISHED["truthfulqa_multi"]["cohen_kappa"] == kappas


def test_a_page_with_another_figure_is_not_what_would_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "index.md"
    monkeypatch.setattr(make, "PAGE", page)
    monkeypatch.setattr(make, "page", lambda data: "26.00\n")
    monkeypatch.setenv("HALU_TASKS_DATA", str(tmp_path))
    assert make.main([]) is None and make.main(["--check"]) is None
    page.write_text("27.33\n", encoding="utf-8")
    said = make.main(["--check"])
    assert said is not None and "not what the data give" in said


def test_what_is_missing_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "HALU_TASKS_DATA" in make.main(["halluqa"])
    assert make.main(["--chek"]).startswith("usage:") and make.main(["halluqa", "factscore"]).startswith("usage:")
