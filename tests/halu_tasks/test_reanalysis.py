"""The page of recomputed tables is what its script makes of the released data, whole and section by section."""

import json
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reanalysis"


def load(name: str) -> Any:
    """Load a script of the folder, whose name others have, too."""
    spec = spec_from_file_location(f"{name}_of_reanalysis", FOLDER / f"{name}.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = load("make")
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


def test_the_records_have_the_figures_of_the_page(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "make", make)
    monkeypatch.setenv("HALU_TASKS_DATA", str(shared_data))
    out = tmp_path / "out"
    assert load("records").main([str(out), "Acme"]) is None
    assert capsys.readouterr().out == f"43 records in {out}\n"
    figures = 0
    for path in out.glob("data/*/*/*/*.json"):
        record = json.loads(path.read_text("utf-8"))
        for result in record["evaluation_results"]:
            score, interval = (result["score_details"][key] for key in ("score", "uncertainty"))
            ends = [interval["confidence_interval"][end] for end in ("lower", "upper")]
            # in percent with one or two digits, or as it is
            texts = [
                f"{unit * score:.{digits}f} [{unit * ends[0]:.{digits}f}, {unit * ends[1]:.{digits}f}]"
                for unit, digits in ((100, 1), (100, 2), (1, 3))
            ]
            figures += 1
            # of ReFACT, the page has the published metrics, some of which are no headline
            assert "refact" in path.parts[-4] or any(text in WRITTEN for text in texts), result["evaluation_result_id"]
    assert figures == 24 + 3 + 4 * 5 * 2 + 2 * 5 + 10
    if find_spec("every_eval_ever"):  # pip install --no-deps every-eval-ever
        files = [str(path.relative_to(out)) for path in out.glob("data/*/*/*/*.json")]
        command = [sys.executable, "-m", "every_eval_ever", "validate", "--format", "json", *files]
        done = subprocess.run(command, cwd=out, capture_output=True, text=True, timeout=120, check=False)
        assert all(report["valid"] and not report["warnings"] for report in json.loads(done.stdout)), done.stdout
