"""How a text that a model or a user wrote is shown in the page: it never runs, never hides, never leaves its place."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from markupsafe import Markup, escape

NAME = 80
"""Characters of a name that are shown: of a model, a task, an item, a file."""

_BIDI = {
    "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO", "\u202e": "RLO",
    "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI",
}  # fmt: skip
_CONTROLS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    "\u2028\u2029"  # separators of lines and paragraphs, which end a bidi paragraph unseen
    "\u202a-\u202e\u2066-\u206f"  # embeddings, overrides, isolates; shaping controls that are no longer used
    "\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff"  # no characters, and marks of annotations
    "\ud800-\udfff"  # half characters, which UTF-8 cannot hold
    "\U000e0000-\U000e007f"  # tags: text that nobody sees
)
_IN_TEXT = re.compile(f"[{_CONTROLS}]+")
_IN_LINE = re.compile(f"[{_CONTROLS}\t\n]+")
_BREAK = re.compile(r"[_/](?![^<]*>)(?=\w)")
"""Where a name may break; not in the tag of a picture."""
_TOWER = 6
"""Combining marks that a character of a name keeps; scripts in use need fewer."""


def _picture(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"⟨{_BIDI.get(char) or f'U+{code:04X}'}⟩"


def _pictures(found: re.Match[str]) -> str:
    return "".join(map(_picture, found[0]))


def _low_towers(text: str) -> str:
    kept, height = [], 0
    for char in text:
        height = height + 1 if unicodedata.combining(char) else 0
        if height <= _TOWER:
            kept.append(char)
    return "".join(kept)


def _start(text: str, limit: int) -> tuple[str, bool]:
    """The first characters of a name, and whether they are all of it; marks that no script needs do not count."""
    low = _low_towers(text[: 8 * limit])
    return low[:limit], len(low) <= limit and len(text) <= 8 * limit


def as_text(value: Any) -> str:
    """A value of the view model as a text: a text itself, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def plain(value: Any, limit: int | None = None) -> str:
    """A text as one line of characters that can all be seen, for places that hold no elements: attributes, options,
    the title, labels of a chart. It is not escaped."""
    text = as_text(value)
    start, whole = (text, True) if limit is None else _start(text, limit)
    return _low_towers(_IN_LINE.sub(_pictures, start)) + ("" if whole else "…")


def characters(text: str, *, line: bool = False) -> Markup:
    """A text escaped, with pictures of what cannot be seen; tab and line feed stay unless it is to be one line."""

    def element(found: re.Match[str]) -> str:
        kinds = sorted({f"U+{ord(char):04X}" for char in found[0]})
        told = " ".join(kinds[:3]) + (" …" if len(kinds) > 3 else "")
        return f'<span class="ctl" title="{told}">{_pictures(found)}</span>'

    if not line:
        text = text.replace("\r\n", "\n")
    # escaping first: what is put in after it is ours
    return Markup((_IN_LINE if line else _IN_TEXT).sub(element, str(escape(text))))


def cut_note(left: int, table: str) -> Markup:
    """Says how much of a text is not shown, and where it is."""
    if left <= 0:
        return Markup("")
    return Markup(' <span class="cut">… {} more characters in {}</span>').format(f"{left:,}", plain(table, NAME))


def name(value: Any, limit: int = NAME) -> Markup:
    """A name in a line of the page, in a bidi isolate of its own."""
    start, whole = _start(as_text(value), limit)
    # long names of tasks and files break where people would break them
    shown = Markup(_BREAK.sub(r"\g<0><wbr>", str(characters(start, line=True))))
    more = Markup("") if whole else Markup('<span class="cut">…</span>')
    return Markup('<bdi class="name" dir="auto">{}{}</bdi>').format(shown, more)


def block(value: Any, limit: int, table: str, left: int = 0) -> Markup:
    """A text of any length as a block: up to `limit` characters, then how many more there are; `left` is how many
    were left out before."""
    text = as_text(value)
    more = cut_note(max(0, len(text) - limit) + left, table)
    return Markup('<div class="text"><div dir="auto">{}</div>{}</div>').format(characters(text[:limit]), more)
