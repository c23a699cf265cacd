"""Showing untrusted strings on the page: never executed, never invisible, and never outside their element."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from markupsafe import Markup, escape

NAME = 80
"""Maximum length in characters of a name: of a model, a task, an item or a file."""

_BIDI = {
    "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO", "\u202e": "RLO",
    "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI",
}  # fmt: skip
_CONTROLS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    "\u2028\u2029"  # line and paragraph separators, which invisibly end a bidi paragraph
    "\u202a-\u202e\u2066-\u206f"  # embeddings, overrides, isolates; deprecated shaping controls
    "\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff"  # noncharacters, and interlinear annotation marks
    "\ud800-\udfff"  # lone surrogates, which UTF-8 cannot encode
    "\U000e0000-\U000e007f"  # tags: invisible text
)
_IN_TEXT = re.compile(f"[{_CONTROLS}]+")
_IN_LINE = re.compile(f"[{_CONTROLS}\t\n]+")
_BREAK = re.compile(r"[_/](?![^<]*>)(?=\w)")
"""Where a name may break; not inside the tag of a control picture."""
_MAX_MARKS = 6
"""Maximum number of combining marks per character of a name; scripts in use need fewer."""


def _picture(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"⟨{_BIDI.get(char) or f'U+{code:04X}'}⟩"


def _pictures(match: re.Match[str]) -> str:
    return "".join(map(_picture, match[0]))


def _limit_marks(text: str) -> str:
    kept, marks = [], 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= _MAX_MARKS:
            kept.append(char)
    return "".join(kept)


def _start(text: str, limit: int) -> tuple[str, bool]:
    """Truncate a name, after removing excess combining marks.

    Returns:
        The first characters of the name, and whether they are all of it.
    """
    reduced = _limit_marks(text[: 8 * limit])
    return reduced[:limit], len(reduced) <= limit and len(text) <= 8 * limit


def as_text(value: Any) -> str:
    """Convert a value of the view model to a string: strings unchanged, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def plain(value: Any, limit: int | None = None) -> str:
    """Convert a value to one line of visible characters, without escaping it.

    For places that cannot contain elements: attributes, options, the title, and labels of a chart.
    """
    text = as_text(value)
    start, complete = (text, True) if limit is None else _start(text, limit)
    return _limit_marks(_IN_LINE.sub(_pictures, start)) + ("" if complete else "…")


def characters(text: str, *, line: bool = False) -> Markup:
    """Escape a string and show control characters as pictures; with `line`, also tabs and line feeds."""

    def element(match: re.Match[str]) -> str:
        code_points = sorted({f"U+{ord(char):04X}" for char in match[0]})
        title = " ".join(code_points[:3]) + (" …" if len(code_points) > 3 else "")
        return f'<span class="ctl" title="{title}">{_pictures(match)}</span>'

    if not line:
        text = text.replace("\r\n", "\n")
    # escaped first, so only the elements inserted here are markup
    return Markup((_IN_LINE if line else _IN_TEXT).sub(element, str(escape(text))))


def cut_note(left: int, table: str) -> Markup:
    """Say how much of a string is not shown, and where it can be found."""
    if left <= 0:
        return Markup("")
    return Markup(' <span class="cut">… {} more characters in {}</span>').format(f"{left:,}", plain(table, NAME))


def name(value: Any, limit: int = NAME) -> Markup:
    """Show a name within a line of the page, in a bidi isolate."""
    start, complete = _start(as_text(value), limit)
    # allow line breaks in long names of tasks and files after _ and /
    shown = Markup(_BREAK.sub(r"\g<0><wbr>", str(characters(start, line=True))))
    more = Markup("") if complete else Markup('<span class="cut">…</span>')
    return Markup('<bdi class="name" dir="auto">{}{}</bdi>').format(shown, more)


def block(value: Any, limit: int, table: str, left: int = 0) -> Markup:
    """Show a string as a block of at most `limit` characters.

    Args:
        value: The string.
        limit: The maximum number of characters.
        table: The name of the file that contains the full string.
        left: The number of characters that were left out before.
    """
    text = as_text(value)
    more = cut_note(max(0, len(text) - limit) + left, table)
    return Markup('<div class="text"><div dir="auto">{}</div>{}</div>').format(characters(text[:limit]), more)
