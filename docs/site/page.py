"""Pages of the site, and the Markdown that they are made of."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from halu_tasks.cli import main

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""


@dataclass(frozen=True)
class Page:
    """A page that is generated.

    Attributes:
        path: Its path in the site, such as `reference/tasks/cfaith_tf.md`.
        title: Its heading, and its name in the navigation.
        about: One sentence that says what is on it, for `llms.txt` and for the page of its section.
        text: Its Markdown below the heading.
    """

    path: str
    title: str
    about: str
    text: str

    def markdown(self) -> str:
        """Return the whole page. It is found by search, but a generated page ranks below a written one."""
        return f"---\nsearch:\n  boost: 0.5\n---\n\n# {self.title}\n\n{self.text.strip()}\n"


@dataclass(frozen=True)
class Section:
    """A section of generated pages, with a first page that lists them.

    Attributes:
        title: The name of the section in the navigation.
        index: The first page.
        groups: The other pages by the name of their group; the empty name stands for no group.
    """

    title: str
    index: Page
    groups: Mapping[str, Sequence[Page]]

    @property
    def pages(self) -> list[Page]:
        """All pages, the first one first."""
        return [self.index, *(page for pages in self.groups.values() for page in pages)]


def cell(text: object) -> str:
    """Return a text as a cell of a table: one line, without a bar that would end the cell."""
    return " ".join(str(text).split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; empty if it has no rows."""
    lines = [f"| {' | '.join(cell(value) for value in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines]) if lines else ""


def literal(text: str, language: str = "text") -> str:
    """Return a text in a block that shows it as it is."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def sections(*parts: str) -> str:
    """Join the parts of a page, and leave out empty ones."""
    return "\n\n".join(part.strip() for part in parts if part.strip())


def listed(pages: Iterable[Page], folder: str) -> str:
    """List pages with links, as they are seen from a page in `folder`."""
    return table(
        ["page", "content"], ([f"[{page.title}]({page.path.removeprefix(folder)})", page.about] for page in pages)
    )


def mentions(word: str, depth: int) -> str:
    """List the written pages that contain a word in code, as seen from a page `depth` folders down."""
    pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    paths = [path for path in sorted((ROOT / "docs").glob("*.md")) if pattern.search(path.read_text(encoding="utf-8"))]
    links = [f"[{heading(path)}]({'../' * depth}{path.name})" for path in paths if path.stem != "index"]
    return f"## Explained in\n\n{', '.join(links)}" if links else ""


def heading(path: Path) -> str:
    """Return the heading of a written page."""
    return next(line[2:].strip() for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# "))


def printed(*arguments: str) -> str:
    """Run a command of `halu-tasks`, and return what it prints; raise SystemExit if it fails."""
    with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(io.StringIO()) as errors:
        status = main(list(arguments))
    if status:
        raise SystemExit(f"halu-tasks {' '.join(arguments)}: {errors.getvalue()}")
    return output.getvalue()


@cache
def listing() -> Mapping[str, Any]:
    """Return the tasks and groups as `halu-tasks list` prints them."""
    return dict(json.loads(printed("list", "--json")))


@cache
def shown_tasks() -> Sequence[Mapping[str, Any]]:
    """Return all tasks as `halu-tasks show` prints them."""
    return [json.loads(printed("show", task["name"], "--json")) for task in listing()["tasks"]]
