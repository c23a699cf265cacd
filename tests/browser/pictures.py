"""Takes the pictures of README.md and docs/report-example.md.

    python tests/browser/pictures.py report/index.html docs/pictures

The report is the one that the page describes. Needs `pip install -e ".[browser]"` and Chromium.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

COMPARATIVE, ENTITY = "refact_judgment_comparative", "refact_localization_entity"


def main(report: str, out: str) -> None:
    """Open the report and save each picture."""
    url, folder = Path(report).resolve().as_uri(), Path(out)
    with sync_playwright() as started:
        path = os.environ.get("HALU_CHROMIUM", "/usr/bin/chromium")
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])

        def opened(width: int, height: int, scheme: str = "light") -> Any:
            page = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme).new_page()
            page.goto(url)
            return page

        page = opened(1280, 1300)
        page.screenshot(path=folder / "leaderboard.png")
        page.locator("#leaderboard table").first.screenshot(path=folder / "two-models.png")
        opened(1280, 1300, "dark").screenshot(path=folder / "leaderboard-dark.png")
        opened(400, 1300).screenshot(path=folder / "phone.png")
        page = opened(1100, 1459)
        section = page.locator("details.why", has=page.locator("h3", has_text=COMPARATIVE)).first
        section.evaluate("e => { e.open = true; }")
        box = section.bounding_box()
        clip = {**box, "height": min(box["height"], 1460)}
        page.screenshot(path=folder / "why.png", full_page=True, clip=clip)
        page.select_option("#f-column", label=ENTITY)
        page.locator("#f-text").fill("gravitational force")
        page.wait_for_timeout(500)
        item = page.locator(".item:visible").first
        item.locator("summary").click()
        item.screenshot(path=folder / "item.png")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
