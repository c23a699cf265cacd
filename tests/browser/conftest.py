"""Fixtures that open a report's page in Chromium, and record whatever it does beyond being read."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from halu_tasks.report.page import render
from halu_tasks.report.report_records import Report

ROOT = Path(__file__).resolve().parents[2]
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@dataclass
class Opened:
    """An open page and what it did: lines of the console, errors, dialogs, addresses asked for."""

    page: Any
    url: str
    console: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def quiet(self) -> None:
        """Nothing ran that should not, nothing was asked for but the page itself."""
        assert self.console == []
        assert self.dialogs == []
        assert set(self.requests) == {self.url}

    def all_open(self) -> None:
        """Every item and every section unfolded, so that all of it has a place."""
        self.page.evaluate(
            "() => { for (const e of document.querySelectorAll('details')) { e.open = true; e.hidden = false; } }"
        )


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Chromium without a window; skips where it or playwright is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason='needs pip install "halu-tasks[browser]"')
    path = Path(os.environ.get("HALU_CHROMIUM", "/usr/bin/chromium"))
    if not path.exists():
        pytest.skip(f"no Chromium at {path} (HALU_CHROMIUM names another)")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=str(path), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """`opened(report, width=400, color_scheme="dark")` writes the page to a file and opens it."""
    contexts = []

    def open_page(report: Report, width: int = 1320, **options: Any) -> Opened:
        file = tmp_path / "report.html"
        file.write_bytes(render(report).encode("utf-8"))
        context = chromium.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        found = Opened(context.new_page(), file.as_uri())
        found.page.on("console", lambda message: found.console.append(message.text))
        found.page.on("pageerror", lambda error: found.console.append(str(error)))
        found.page.on("request", lambda request: found.requests.append(request.url))

        def dismiss(dialog: Any) -> None:
            found.dialogs.append(dialog.message)
            dialog.dismiss()

        found.page.on("dialog", dismiss)
        found.page.goto(found.url)
        return found

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core; skips where it is not installed."""
    named = os.environ.get("HALU_AXE")
    path = Path(named) if named else ROOT / "node_modules" / "axe-core" / "axe.min.js"
    if not path.is_file():
        pytest.skip(f"no axe-core at {path} (npm install axe-core, or HALU_AXE names axe.min.js)")
    return path.read_text("utf-8")
