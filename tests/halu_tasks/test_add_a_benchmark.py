"""The benchmarks that the documentation prints run as printed, without any change of the package's own files."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from programs import run as program

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "add-a-benchmark.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"`([\w/]+\.(?:yaml|jsonl?))`:\n\n```\w+\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
TASKS = {"capitals_tf", "rivers_wrong_passage", "answers_judged"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the printed files added."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("halu_tasks", "scorers", "solvers", "task_configs"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        path = folder / name
        assert not path.exists(), f"{name} is a file of the package"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def run(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return program(*words, folder=checkout, PYTHONPATH=str(checkout))


@pytest.mark.parametrize("name", ["capitals", "rivers", "answers"])
def test_a_benchmark_is_two_files_of_at_most_eighty_lines(name: str) -> None:
    files = {path: text for path, text in FILES.items() if name in path}
    assert len(files) == 2 and max(len(text.splitlines()) for text in files.values()) <= 80


@pytest.mark.slow
def test_the_printed_commands_print_what_the_page_shows(checkout: Path) -> None:
    (block,) = re.findall(r"^```console\n(\$ .*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    shown = re.findall(r"^\$ halu-tasks (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    assert len(shown) == 3
    for command, output in shown:
        if "demo" in command:
            continue
        done = run(checkout, "halu_tasks", *command.split())
        # how many files there are is not for the page to say
        printed, expected = (re.sub(r"in \d+ files", "in … files", text.rstrip("\n")) for text in (done.stdout, output))
        assert (done.returncode, printed) == (0, expected), done.stderr


@pytest.mark.slow
def test_the_demo_is_the_printed_one(checkout: Path) -> None:
    ((command, table),) = re.findall(r"^\$ halu-tasks (demo[^\n]*)\n(.*?)^…$", PAGE, re.DOTALL | re.MULTILINE)
    done = run(checkout, "halu_tasks", *command.split())
    assert done.returncode == 0 and "capitals_tf" in table and done.stdout.startswith(table)


@pytest.mark.slow
def test_the_other_commands_know_them(checkout: Path) -> None:
    assert {*TASKS} <= {line.split()[0] for line in run(checkout, "halu_tasks", "list").stdout.splitlines() if line}
    assert "capitals.jsonl" in run(checkout, "halu_tasks", "data").stdout
    shown = json.loads(run(checkout, "halu_tasks", "show", "rivers_wrong_passage", "--json").stdout)
    assert shown["metrics"][0]["name"] == "iou" and shown["first_item"]["target"] in (
        "the Black Sea",
        "south",
        "Asia\nthe Baltic Sea",
    )


@pytest.mark.slow
def test_the_printed_test_passes(checkout: Path) -> None:
    (text,) = re.findall(
        r"`tests/halu_tasks/test_capitals.py`:\n\n```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE
    )
    (checkout / "test_capitals.py").write_text(text, encoding="utf-8")
    done = run(checkout, "pytest", "-q", "-p", "no:cacheprovider", "test_capitals.py")
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


@pytest.mark.slow
def test_both_harnesses_find_them_by_the_printed_commands(checkout: Path) -> None:
    (block,) = re.findall(r"^```console\n(lm_eval --model halu-oracle.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    first, second = map(shlex.split, block.splitlines())
    in_lm_eval = run(checkout, "lm_eval", *first[1:])
    assert in_lm_eval.returncode == 0 and re.search(r"\|acc +\|[^|]*\| +1\|", in_lm_eval.stdout)
    assert all(f"|{task}" in in_lm_eval.stdout for task in TASKS)
    in_inspect = run(checkout, "inspect_ai", *second[1:])
    assert in_inspect.returncode == 0 and re.search(r"iou\s+1\.0", in_inspect.stdout), in_inspect.stdout
    assert all(f"halu_tasks/{task}" in in_inspect.stdout or task in in_inspect.stdout for task in TASKS)


@pytest.mark.slow
def test_the_printed_tests_of_all_tasks_pass_for_them(checkout: Path) -> None:
    ((words,),) = [re.findall(r"^```console\npytest (.*)\n```", PAGE, re.MULTILINE)]
    for name in ("tests", "docs"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__", "frozen"))
    shutil.copy(ROOT / "pyproject.toml", checkout)
    done = run(checkout, "pytest", "-q", "-p", "no:cacheprovider", *shlex.split(words))
    # the dots of the tests that ran
    assert done.returncode == 0 and done.stdout.partition("[100%]")[0].count(".") >= 20, done.stdout
