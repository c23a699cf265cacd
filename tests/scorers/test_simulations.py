"""The simulations that the tables of the documentation come from still measure the present code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_intervals_of_every_shape_cover_about_as_often_as_they_say() -> None:
    """With few runs of each design, only the median over designs says something."""
    command = [sys.executable, str(FOLDER / "coverage_of_intervals.py"), "--runs", "40"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-1000:]
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 21
    for shape, designs, *_, median, highest, _inside in (row for row in rows if row[3:] and "no interval" not in row):
        assert int(designs) > 1 and float(median) >= 0.9 and float(highest) <= 1, shape
