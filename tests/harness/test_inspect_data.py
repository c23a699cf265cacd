"""The recipes of docs/inspect-data.md and the commands of docs/scanners.md, as they stand there."""

import contextlib
import inspect
import io
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_recipes_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("inspect_viz")
    from inspect_ai import eval

    commands = [shlex.split(line) for line in blocks("inspect-data.md", "console")[0].splitlines()]
    monkeypatch.chdir(tmp_path)
    # as the page's commands, which differ in the model alone
    assert [words[:4] + words[6:] for words in commands] == [commands[0][:4] + commands[0][6:]] * 2
    models = [words[words.index("--model") + 1] for words in commands]
    tasks = commands[0][2:4]
    eval(tasks, model=models, task_args={"data": "sample"}, log_dir="logs", display="log", log_realtime=False)
    shown: list[str] = []
    names: dict[str, Any] = {}
    for block in blocks("inspect-data.md", "python"):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(block, names)
        shown.append(printed.getvalue())
    assert shown[0] == blocks("inspect-data.md", "text")[0]
    assert "multi_hop" in shown[1] and "halu/oracle" in shown[1]
    figures = names["figures"].set_index("model").query("task_name == 'factchd'")
    by_item = names["items"].groupby("model")["acc"].mean()
    assert by_item.to_dict() == pytest.approx(figures["score_halu_score_acc"].to_dict())
    assert "headline with its 95% interval" in (tmp_path / "headlines.html").read_text("utf-8")
    assert names["figures"]["score_headline_stderr"].notna().any()


def test_the_commands_for_scanners_name_scanners_and_arguments_that_exist() -> None:
    pytest.importorskip("inspect_scout")
    from halu_tasks import scanners

    lines = [shlex.split(line) for block in blocks("scanners.md", "console") for line in block.splitlines()]
    commands = [words for words in lines if words[:2] == ["scout", "scan"]]
    assert {words[2].removeprefix("halu_tasks/") for words in commands} == set(scanners.__all__)
    for words in commands:
        scanner = getattr(scanners, words[2].removeprefix("halu_tasks/"))
        given = [words[at + 1].partition("=")[0] for at, word in enumerate(words) if word == "-S"]
        assert set(given) <= set(inspect.signature(scanner).parameters), words


def test_the_table_of_each_scanner_has_its_arguments() -> None:
    pytest.importorskip("inspect_scout")
    from halu_tasks import scanners

    text = (DOCS / "scanners.md").read_text("utf-8")
    for name, heading in (("factored_verification", "## Factored verification"), ("citations", "## Citations")):
        section = text.partition(f"{heading}\n")[2].partition("\n## ")[0]
        rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
        listed = {argument for row in rows for argument in re.findall(r"`(\w+)`", row)}
        assert listed == set(inspect.signature(getattr(scanners, name)).parameters)


def test_the_example_of_a_scanner_as_a_scorer_is_a_task() -> None:
    pytest.importorskip("inspect_scout")
    names: dict[str, Any] = {}
    exec(blocks("scanners.md", "python")[-1], names)
    assert names["task"].scorer


def test_what_is_registered_is_a_task_of_its_file_which_names_its_paper() -> None:
    entries = yaml.safe_load((DOCS / "upstream" / "register.yaml").read_text("utf-8"))
    assert {"refact", "cfaith", "factchd", "factscore"} <= entries.keys()
    for entry in entries.values():
        (file,) = {task["task_path"] for task in entry["tasks"]}
        door = (DOCS.parent / file).read_text("utf-8")
        assert entry["arxiv"] in door
        # the register looks for a decorator as it is written here
        assert {task["name"] for task in entry["tasks"]} <= set(re.findall(r"^@task\ndef (\w+)\(", door, re.MULTILINE))
