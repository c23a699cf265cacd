"""What `docs/upstream` would send to other projects: it stands alone, and says what this package says."""

import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from halu_tasks.scorers.metrics import mean
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.differences import difference

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "upstream"


@pytest.fixture
def paired(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    import paired_comparison

    return paired_comparison


def test_the_standalone_comparison_has_the_figures_of_reports(paired: Any) -> None:
    numbers = random.Random(5)
    metric = mean("share", "right", range=(0.0, 1.0))
    for number, size in enumerate((2, 7, 40, 300)):
        for odds in ((0.5, 0.5), (0.9, 0.3), (1.0, 1.0), (1.0, 0.98)):
            clusters = [str(numbers.randrange(1 + size // (1 + number))) for _ in range(size)]
            clusters[:2] = ["a", "b"]
            runs = [[float(numbers.random() < share) for _ in range(size)] for share in odds]
            scores = [
                [ScoredReply(str(n), clusters[n], None, "", {"right": value}) for n, value in enumerate(run)]
                for run in runs
            ]
            ours, found = difference(metric, *scores), paired.paired_difference(*runs, clusters)
            assert ours and found[:5] == pytest.approx([ours.value, ours.stderr, ours.low, ours.high, ours.p])
            assert (found.samples, found.clusters) == (ours.items, ours.clusters)


@pytest.mark.parametrize("chosen", ["not command_line", pytest.param("command_line", marks=pytest.mark.slow)])
def test_its_files_need_nothing_of_this_package_and_their_own_tests_pass(chosen: str) -> None:
    for path in FOLDER.glob("*.py"):
        assert not re.search(r"^\s*(from|import) .*halu", path.read_text("utf-8"), re.MULTILINE)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_paired_comparison.py", "-k", chosen]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_lm_eval_finds_the_tasks_that_the_package_advertises() -> None:
    command = [*(sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"), "test_installed_tasks.py"]
    done = subprocess.run([*command, "-k", "halu_tasks"], cwd=FOLDER, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout
