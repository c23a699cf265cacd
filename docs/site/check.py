"""Checks of the built site: its links, its anchors, and that it needs no other server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src")}
"""What a browser fetches when it opens a page."""


class Document(HTMLParser):
    """The anchors and the addresses of a page.

    Attributes:
        anchors: The ids of its elements.
        links: The addresses of its links.
        fetched: The addresses that a browser fetches to show it.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the id and the addresses of an element."""
        values = dict(attrs)
        self.anchors |= {value for name, value in attrs if name in ("id", "name") and value}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"] or "")
        # a canonical address or an icon of another server would be named here, too; only the former is not fetched
        is_fetched = tag != "link" or values.get("rel") in ("stylesheet", "preload", "icon", "modulepreload")
        self.fetched += [value for name, value in attrs if (tag, name) in FETCHED and value and is_fetched]


@cache
def document(path: Path) -> Document:
    """Read a page of the site."""
    return Document(path.read_text(encoding="utf-8"))


def problems(site: Path) -> list[str]:
    """Return what is wrong with the links and resources of a built site, one line for each problem."""
    return [line for path in sorted(site.rglob("*.html")) if path.name != "404.html" for line in _of_page(path, site)]


def _of_page(path: Path, site: Path) -> Iterator[str]:
    page = path.relative_to(site)
    # a report of the gallery is a page of its own, whose script adds anchors
    for link in [] if page.parts[0] == "gallery" and len(page.parts) > 2 else document(path).links:
        if (file := target(path, link)) is None:
            continue
        if not file.is_file():
            yield f"{page}: the link {link} leads to no page"
        elif not _has_anchor(file, unquote(urlsplit(link).fragment)):
            yield f"{page}: the link {link} leads to no anchor"
    for address in document(path).fetched:
        if urlsplit(address).netloc:
            yield f"{page}: {address} is fetched from another server"
        elif (file := target(path, address)) is not None and not file.is_file():
            yield f"{page}: {address} does not exist"


def _has_anchor(file: Path, anchor: str) -> bool:
    return not anchor or file.suffix != ".html" or anchor in document(file).anchors


def target(path: Path, link: str) -> Path | None:
    """Return the file that a link of a page leads to; None for another server."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    return file / "index.html" if file.is_dir() else file
