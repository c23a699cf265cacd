"""The page on architecture leads to files that are there, and to what they define."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FOLDERS = (ROOT / "halu_tasks", ROOT)
"""What paths on the page are relative to: in a checkout, some packages are beside `halu_tasks`."""
FILE = r"`([a-z_][\w/]*\.py)`"
NAMES = sorted({(name, file) for name, file in re.findall(rf"`([\w.]+)` (?:\(|in ){FILE}", PAGE)})


def test_every_file_and_folder_on_the_page_is_there() -> None:
    named = {*re.findall(FILE, PAGE), *re.findall(r"`([a-z_][\w/]*/)`", PAGE)}
    assert len(named) > 50
    assert [name for name in named if not any((folder / name).exists() for folder in FOLDERS)] == []


@pytest.mark.parametrize(("name", "file"), NAMES)
def test_a_file_defines_what_the_page_says_it_does(name: str, file: str) -> None:
    text = next(path for folder in FOLDERS if (path := folder / file).exists()).read_text(encoding="utf-8")
    for part in name.split("."):
        assert re.search(rf"^ *(?:class|(?:async )?def) {part}\b|^{part}\b.* = ", text, re.MULTILINE), part
