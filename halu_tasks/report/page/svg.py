"""Embedding matplotlib's SVG in a page: with unique ids, without styles, in the page's colours."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from xml.etree import ElementTree

import matplotlib
from markupsafe import Markup
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

INK, MUTED, RULE, ACCENT = "#000001", "#000002", "#000003", "#000004"
"""Placeholders for the page's colours, which depend on the light or dark theme."""

_VARIABLES = {INK: "var(--ink)", MUTED: "var(--muted)", RULE: "var(--line)", ACCENT: "var(--accent)"}
_COLOUR = re.compile("|".join(_VARIABLES))
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_FONT = re.compile(r"font-family:[^;]*;?\s*")
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


@contextmanager
def drawing() -> Iterator[None]:
    """Draw figures with matplotlib's defaults, whatever the user's settings, and save text as text."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        # browsers have the glyphs that are missing from the font used for measuring
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support .* natively")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "halu-tasks", "path.simplify": False})
        yield


def inline(figure: Figure, prefix: str, words: str) -> Markup:
    """Convert a figure to an SVG element of the page.

    Args:
        figure: The figure.
        prefix: A prefix for the ids of its elements.
        words: A description for screen readers.
    """
    FigureCanvasSVG(figure)
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata=_NO_METADATA, transparent=True)
    root = ElementTree.fromstring(out.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            # a style in a figure would apply to the whole page
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    used_ids = {value[1:] for element in root.iter() for value in element.attrib.values() if value.startswith("#")}
    used_ids |= {id for element in root.iter() for id in _REFERENCE.findall(element.get("clip-path", ""))}
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {
            name.rpartition("}")[2]: _attribute(value, prefix)
            for name, value in element.attrib.items()
            if name != "id" or value in used_ids
        }
        if "id" in element.attrib:
            element.set("id", f"{prefix}-{element.get('id')}")
        if element.tag != "text" and not (element.text or "").strip():
            element.text = None
        element.tail = None
    box = root.get("viewBox", "")
    root.attrib = {"viewBox": box, "class": "chart", "role": "img", "aria-label": words, "focusable": "false"}
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _attribute(value: str, prefix: str) -> str:
    if value.startswith("#") and not _COLOUR.fullmatch(value):
        return f"#{prefix}-{value[1:]}"
    value = _COLOUR.sub(lambda match: _VARIABLES[match[0]], _FONT.sub("", value))
    return _REFERENCE.sub(lambda match: f"url(#{prefix}-{match[1]})", value).replace("\n", " ")
