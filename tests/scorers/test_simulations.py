"""The simulations that the tables of the documentation come from still measure the present code."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_intervals_of_every_shape_cover_about_as_often_as_they_say() -> None:
    """With few runs, one design says little: 0.85 is five standard errors below 0.95."""
    command = [sys.executable, str(FOLDER / "coverage_of_intervals.py"), "--runs", "120"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-1000:]
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 20
    for shape, _, lowest, median, *_ in rows:
        assert float(lowest) > 0.85 and float(median) > 0.93, shape


@pytest.mark.slow
@pytest.mark.parametrize("script", ["error_rates_of_reports.py", "power_of_plans.py"])
def test_simulated_reports_and_plans_have_the_p_values_of_the_package(script: str) -> None:
    done = subprocess.run([sys.executable, str(FOLDER / script), "--runs", "2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-1000:]


@pytest.mark.slow
def test_intervals_of_a_judge_s_errors_cover_however_labels_are_drawn() -> None:
    """With 60 runs, 0.8 is five standard errors below 0.95."""
    command = [sys.executable, str(FOLDER / "coverage_of_judged_rates.py"), "--errors", "--runs", "60"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-1000:]
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert len(rows) == 48
    for row in rows:
        of_errors = [(float(row[at]), float(row[at + 1])) for at in (8, 11, 14)]
        assert all(coverage > 0.8 for coverage, given in of_errors if given > 0.3), row
