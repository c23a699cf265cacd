"""Takes the picture of README.md.

    python tests/browser/pictures.py report/index.html docs/pictures

The report is the one of docs/findings.md. Needs `pip install -e ".[browser]"` and Chromium.
"""

import os
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright


def main(report: str, out: str) -> None:
    """Open the report and save the picture."""
    url, folder = Path(report).resolve().as_uri(), Path(out)
    with sync_playwright() as started:
        path = os.environ.get("HALU_CHROMIUM", "/usr/bin/chromium")
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(viewport={"width": 1180, "height": 1300}).new_page()
        page.goto(url)
        top, picture = (page.locator(part).bounding_box() for part in ("#answer", "#picture"))
        area = {"x": 0, "y": top["y"] - 12, "width": 1180, "height": picture["y"] + picture["height"] - top["y"] + 24}
        page.screenshot(path=folder / "two-models.png", clip=area)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
