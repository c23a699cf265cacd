"""The prompts that authors published, recognized by a hash because their texts are not part of the package.

The key `prompts` of a file in `halu_tasks/reference/` lists them: `source` (where the text is printed), `tasks`,
`sha256` (of the text as `wording` gives it), and optionally `fields`, the authors' names of a task's fields.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml

from halu_tasks.core.prompting import Prompt

REFERENCE = Path(__file__).parents[1] / "reference"
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_QUOTES = {"‘‘": '"', "’’": '"', "``": '"', "''": '"', "“": '"', "”": '"', "‘": "'", "’": "'", "`": "'"}


@dataclass(frozen=True)
class PublishedPrompt:
    """A prompt that authors published.

    Attributes:
        source: The paper, or the authors' repository, and the place in it.
        tasks: The tasks that it asks.
        sha256: The hash of its wording.
        fields: The task's name of each field that the authors call by another name.
    """

    source: str
    tasks: tuple[str, ...]
    sha256: str
    fields: Mapping[str, str] = field(default_factory=dict)


def wording(prompt: Prompt) -> str:
    """Return the text of a prompt without what typesetting changes.

    The system text precedes the user text. White space is collapsed, quotation marks are straight, and a placeholder
    is written `{name}`.
    """
    text = "\n".join(part for part in (prompt.get("system", ""), prompt["user"]) if part)
    text = unicodedata.normalize("NFKC", _PLACEHOLDER.sub(r"{\1}", text))
    for printed, plain in _QUOTES.items():
        text = text.replace(printed, plain)
    return " ".join(text.split())


def wording_hash(prompt: Prompt) -> str:
    """Return the SHA-256 of a prompt's wording."""
    return hashlib.sha256(wording(prompt).encode()).hexdigest()


def prompts_for(task: str) -> list[PublishedPrompt]:
    """Return the published prompts of a packaged task."""
    return [prompt for prompt in _prompts() if task in prompt.tasks]


def published_as(task: str, prompt: Prompt) -> PublishedPrompt | None:
    """Return the published prompt whose wording a prompt of a task has; None if there is none."""
    known = prompts_for(task)
    sha256 = wording_hash(prompt) if known else ""
    return next((published for published in known if published.sha256 == sha256), None)


@cache
def _prompts() -> tuple[PublishedPrompt, ...]:
    papers = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(REFERENCE.glob("*.yaml"))]
    return tuple(
        PublishedPrompt(entry["source"], tuple(entry["tasks"]), entry["sha256"], entry.get("fields", {}))
        for paper in papers
        for entry in paper.get("prompts", ())
    )
