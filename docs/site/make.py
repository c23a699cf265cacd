"""Make the documentation site: `python docs/site/make.py [-o FOLDER]`.

It collects the written pages, generates the others from the package, runs the tutorials and the reports of the
gallery, builds all with Zensical in strict mode, and checks the links of what was built. Nothing is downloaded.

FOLDER (default: `build/docs`) then has the site in `site/`, its pages in `pages/`, and a configuration, with which
`zensical serve -f FOLDER/mkdocs.yml` shows the site while it is written.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from api_pages import api_section
from check import problems
from command_pages import command_section
from gallery import write_gallery
from llms import write_index
from method_pages import method_section
from metric_pages import metric_section
from option_pages import option_section
from page import ROOT, Page, Section
from task_pages import task_section
from tutorials import write_tutorials
from written import project_urls, repository, write_pages

WRITTEN = {".cache", "gallery", "mkdocs.yml", "pages", "site", "tutorials"}
"""What a build writes into its folder."""
Entry = str | Mapping[str, Any]
"""An entry of the navigation: a path, or a title with a path or with further entries."""


def main() -> None:
    """Make the site; raise SystemExit if it has a problem."""
    parser = argparse.ArgumentParser(description="Make the documentation site.")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "build" / "docs", metavar="FOLDER")
    folder = parser.parse_args().output.resolve()
    _clear(folder)
    pages = folder / "pages"
    pages.mkdir(parents=True)
    write_pages(pages)
    sections = (task_section, metric_section, option_section, method_section, command_section, api_section)
    generated = [make() for make in sections]
    for page in (page for section in generated for page in section.pages):
        _write(pages, page)
    write_tutorials(pages)
    write_gallery(pages)
    settings = _settings(generated)
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), encoding="utf-8")
    _require_all_in_navigation(pages, settings["nav"])
    write_index(pages, settings, generated)
    _build(folder)
    if found := problems(folder / "site"):
        raise SystemExit("\n".join(found))
    print(f"{folder / 'site' / 'index.html'}: {len(list((folder / 'site').rglob('*.html')))} pages")


def _clear(folder: Path) -> None:
    """Remove what an earlier build wrote; raise SystemExit if the folder has anything else."""
    others = {path.name for path in folder.glob("*")} - WRITTEN
    if others:
        raise SystemExit(f"{folder} contains other files: {', '.join(sorted(others))}; name a new or empty folder")
    for name in WRITTEN - {"mkdocs.yml"}:
        shutil.rmtree(folder / name, ignore_errors=True)


def _build(folder: Path) -> None:
    """Build the site; raise SystemExit if there is a warning, also one about a docstring, which are not counted."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(folder / "mkdocs.yml")]
    built = subprocess.run(
        command,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"NO_COLOR": "1"},
    )
    print(built.stdout, flush=True)
    if built.returncode or "griffe: " in built.stdout:
        raise SystemExit("the site was not built without a warning")


def _write(pages: Path, page: Page) -> None:
    target = pages / page.path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page.markdown(), encoding="utf-8")


def _settings(generated: Sequence[Section]) -> dict[str, Any]:
    """Return the settings of `mkdocs.yml`, with the generated pages in the navigation, and folders of this build."""
    settings: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    settings["nav"] = _with_generated(settings["nav"], {section.index.path: section for section in generated})
    settings |= {"docs_dir": "pages", "site_dir": "site"}
    addresses = {"site_url": project_urls().get("documentation"), "repo_url": repository()}
    return settings | {name: url for name, url in addresses.items() if url}


def _with_generated(entries: Sequence[Entry], by_index: Mapping[str, Section]) -> list[Entry]:
    """Replace the first page of a generated section by all its pages."""
    completed: list[Entry] = []
    for entry in entries:
        if isinstance(entry, str):
            completed.append(entry)
            continue
        ((title, value),) = entry.items()
        if section := by_index.get(value) if isinstance(value, str) else None:
            completed.append({title: _entries(section)})
        else:
            completed.append({title: value if isinstance(value, str) else _with_generated(value, by_index)})
    return completed


def _entries(section: Section) -> list[Entry]:
    entries: list[Entry] = [section.index.path]
    for group, pages in section.groups.items():
        of_group: list[Entry] = [{page.title: page.path} for page in pages]
        entries += [{group: of_group}] if group else of_group
    return entries


def _require_all_in_navigation(pages: Path, entries: Sequence[Entry]) -> None:
    """Raise SystemExit if a page is not in the navigation, where nobody would find it."""
    named = set(_paths(entries))
    missing = sorted({path.relative_to(pages).as_posix() for path in pages.rglob("*.md")} - named)
    if missing:
        raise SystemExit(f"mkdocs.yml: add to the navigation: {', '.join(missing)}")


def _paths(entries: Iterable[Entry]) -> Iterable[str]:
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for value in entry.values():
                yield from _paths([value] if isinstance(value, str) else value)


if __name__ == "__main__":
    main()
