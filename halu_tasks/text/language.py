"""The language of a text."""

from __future__ import annotations


def language_of(text: str) -> str:
    """Return the ISO 639-1 code of a text's most likely language; varieties of Chinese are `zh`."""
    from py3langid.langid import classify  # imported here because it takes memory that most commands do not need

    code = str(classify(text[:5_000])[0])
    return "zh" if code in ("wuu", "yue", "lzh", "gan", "hak", "nan") else code
