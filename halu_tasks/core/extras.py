"""Optional dependencies: which packages each extra installs, and the error if they are missing."""

from __future__ import annotations

from importlib.util import find_spec

from halu_tasks.core.errors import UsageError

EXTRAS = {
    "build": ("bm25s", "datasketch", "sklearn"),
    "cluster": ("ray",),
    "embeddings": ("sentence_transformers",),
    "hf": ("torch", "transformers"),
    "knowledge": ("bm25s",),
    "nli": ("torch", "transformers"),
    "openai": ("openai",),
    "scout": ("inspect_scout",),
    "xlsx": ("openpyxl",),
}
"""Extra to the modules by which it is known to be installed."""


def missing_modules(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed."""
    return [module for module in EXTRAS[extra] if find_spec(module) is None]


def install_hint(extra: str) -> str:
    """Return the command that installs an extra."""
    return f'pip install "halu-tasks[{extra}]"'


def require_extra(extra: str, purpose: str) -> None:
    """Check that an extra is installed.

    Args:
        extra: The extra's name.
        purpose: What needs it, as the beginning of a sentence.

    Raises:
        UsageError: One of its modules is missing.
    """
    if missing := missing_modules(extra):
        raise UsageError(f"{purpose} requires {' and '.join(missing)}: {install_hint(extra)}")
