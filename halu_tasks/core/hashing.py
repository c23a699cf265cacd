"""Hashes that are the same on every machine and in every run: ids, sort keys and seeded choices.

All are SHA-256 of strings in UTF-8, several of them joined by NUL characters. Python's own `hash` differs from one
process to the next, and a random generator depends on the order in which it is called; a hash depends on its
arguments alone, so a choice made by it stays the same when items are added, removed or reordered.

The bytes must not change: ids of published datasets, the items of a split and cached verdicts depend on them.
"""

from __future__ import annotations

import hashlib


def stable_hash(*parts: object) -> str:
    """Return the hash of the parts as 64 hex digits, for keys and for sorting into an arbitrary but fixed order.

    Args:
        parts: Strings, or values that are converted by `str`, such as a seed. Lone surrogates, which UTF-8 cannot
            encode, have bytes of their own.
    """
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()


def short_hash(*parts: object) -> str:
    """Return the first 16 hex digits of `stable_hash`, for ids that people read."""
    return stable_hash(*parts)[:16]


def stable_number(*parts: object) -> int:
    """Return a number below 2^64 that depends only on the parts, for seeded choices: `stable_number(seed, id) % 3`."""
    return int(short_hash(*parts), 16)
