"""`llms.txt`: the pages of the site with one sentence each, for programs that read documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from page import Section, heading


def write_index(pages: Path, settings: Mapping[str, Any], generated: Sequence[Section]) -> None:
    """Write `llms.txt` in the order of the navigation."""
    about = {page.path: page.about for section in generated for page in section.pages}
    lines = [f"# {settings['site_name']}", f"> {settings['site_description']}"]
    for entry in settings["nav"]:
        ((title, value),) = entry.items()
        paths = [value] if isinstance(value, str) else list(_paths(value))
        links = "\n".join(_line(pages, path, about, settings.get("site_url", "")) for path in paths)
        lines.append(f"## {title}\n\n{links}")
    (pages / "llms.txt").write_text("\n\n".join(lines) + "\n", encoding="utf-8")


def _paths(entries: Sequence[Any]) -> Iterator[str]:
    for entry in entries:
        values = [entry] if isinstance(entry, str) else list(entry.values())
        for value in values:
            yield from [value] if isinstance(value, str) else _paths(value)


def _line(pages: Path, path: str, about: Mapping[str, str], address: str) -> str:
    url = re.sub(r"(^|/)(index|README)$", r"\1", path.removesuffix(".md"))
    sentence = about.get(path) or first_sentence((pages / path).read_text(encoding="utf-8"))
    return f"- [{heading(pages / path)}]({address}{url}{'/' if url and url[-1] != '/' else ''}): {sentence}"


def first_sentence(text: str) -> str:
    """Return the first sentence below a page's heading, without links and marks; code and tables are passed over."""
    below = re.sub(r"(?s)^.*?^# [^\n]*\n", "", text, count=1, flags=re.MULTILINE)
    paragraphs = re.split(r"\n\s*\n", re.sub(r"(?ms)^```.*?^```$", "", below))
    paragraph = next((part for part in paragraphs if re.match(r"[\w`*\[]", part.strip())), "")
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split())).replace("`", "").replace("**", "")
    # a decision begins with this word as a label
    plain = plain.removeprefix("Decision. ")
    return re.split(r"(?<=[.:])\s(?=[A-Z])", plain, maxsplit=1)[0].rstrip(":")
