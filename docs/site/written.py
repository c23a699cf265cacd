"""The written pages: those of `docs/`, and the files of the checkout's root that the site includes."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path, PurePosixPath
from posixpath import normpath

from page import ROOT

INCLUDED = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""The files of the root that are pages of the site, and their names there."""
_LINK = re.compile(r"(!?)\[((?:[^\]\\]|\\.)*)\]\(([^)\s]+)\)")
_CODE = re.compile(r"^(```|~~~).*?^\1\s*?$", re.DOTALL | re.MULTILINE)


def project_urls() -> dict[str, str]:
    """Return the addresses that `pyproject.toml` declares, by name in lower case; empty if there are none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {name.lower(): url for name, url in project.get("urls", {}).items()}


def repository() -> str | None:
    """Return the address of the repository, if `pyproject.toml` declares one."""
    urls = project_urls()
    return next((urls[name].rstrip("/") for name in ("repository", "source", "homepage") if name in urls), None)


def write_pages(folder: Path) -> None:
    """Copy the written pages into the folder of the site's pages, with their pictures, scripts and examples.

    Links between the pages of `docs/` stay as they are. A link to an included file leads to its page, one to any other
    file of the checkout to the repository; if no address of it is declared, only the text of the link is left.
    """
    docs = ROOT / "docs"
    for name in ("pictures", "own_task", "stylesheets"):
        shutil.copytree(docs / name, folder / name, dirs_exist_ok=True)
    for script in docs.glob("*.py"):
        shutil.copy(script, folder / script.name)
    pages = {path.relative_to(ROOT): path.relative_to(docs) for path in docs.rglob("*.md")}
    pages |= {Path(name): Path(page) for name, page in INCLUDED.items()}
    for source, page in pages.items():
        target = folder / page
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_with_links((ROOT / source).read_text(encoding="utf-8"), source), encoding="utf-8")


def _with_links(text: str, source: Path) -> str:
    """Return a page's text with its links as they are in the site; code blocks stay as they are."""
    parts, end = [], 0
    for block in _CODE.finditer(text):
        parts += [_LINK.sub(lambda link: _link(link, source), text[end : block.start()]), _shell(block[0])]
        end = block.end()
    return "".join([*parts, _LINK.sub(lambda link: _link(link, source), text[end:])])


def _shell(block: str) -> str:
    """Return a code block; as commands of a shell if nothing in it is output, which would be shown in grey."""
    return block if "\n$ " in block else block.replace("```console", "```bash", 1)


def _link(link: re.Match[str], source: Path) -> str:
    picture, text, address = link.groups()
    path, _, anchor = address.partition("#")
    if not path or ":" in path:
        return link[0]
    file = normpath(PurePosixPath(source.as_posix()).parent / path)
    at = f"#{anchor}" if anchor else ""
    up = "../" * (len(source.parts) - 2) if source.parts[0] == "docs" else ""
    if file in INCLUDED:
        return f"[{text}]({up}{INCLUDED[file]}{at})"
    if file.startswith("docs/"):
        inside = file.removeprefix("docs/")
        # a folder is shown by its first page, and a notebook as a page
        inside += "/README.md" if (ROOT / file).is_dir() else ""
        inside = inside.replace(".ipynb", ".md")
        return f"{picture}[{text}]({up}{inside}{at})"
    if not (ROOT / file).exists():
        raise SystemExit(f"{source}: the link {address} leads to no file of the checkout")
    return f"[{text}]({repository()}/blob/main/{file}{at})" if repository() else text
