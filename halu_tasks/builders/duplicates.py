"""Texts that duplicate an earlier one: equal, of similar spelling, or of similar meaning.

A text is an item's `Pipeline.key` (a question, a sentence). What is found depends only on the texts and their order.
"""

from __future__ import annotations

import re
import zlib
from typing import Protocol

import numpy as np
from rapidfuzz import fuzz

from halu_tasks.core.errors import UsageError
from halu_tasks.core.extras import require_extra
from halu_tasks.text.folding import fold


class DuplicateFilter(Protocol):
    """Finds texts that duplicate an earlier one; those that do are not kept to find others by."""

    def add(self, id: str, text: str, group: str = "") -> str | None:
        """Return the id of an earlier text that `text` duplicates; None if there is none, and `text` is kept.

        Args:
            id: Id of the text.
            text: The text.
            group: If not empty, texts of the same group are similar on purpose, and duplicates only if equal.
        """


def duplicate_filter(percent: float, embeddings: str | None = None) -> DuplicateFilter:
    """Create a filter of equal texts, of similar spelling or, if an embedding model is named, of similar meaning.

    Args:
        percent: Similarity from which on two texts are duplicates: rapidfuzz's ratio of the folded texts, or a hundred
            times the cosine of their embeddings.
        embeddings: Name or folder of an embedding model.

    Raises:
        UsageError: An extra is not installed, the model cannot be loaded, or the similarity is out of range.
    """
    if not 0 < percent <= 100:
        raise UsageError(f"near-duplicates: expected a similarity above 0 and up to 100, got {percent}")
    if embeddings:
        return _ByMeaning(embeddings, percent / 100)
    return _Equal() if percent == 100 else _BySpelling(percent)


class _Equal:
    """Finds texts whose words are equal."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}

    def add(self, id: str, text: str, group: str = "") -> str | None:
        earlier = self._first.setdefault(_folded(text), id)
        return None if earlier == id else earlier


_BANDS, _ROWS = 40, 5
"""Two texts whose shingles have a Jaccard similarity s are compared with a probability of 1 - (1 - s^_ROWS)^_BANDS:
0.9999 at 0.75, 0.96 at 0.6, 0.72 at 0.5, 0.013 at 0.2."""
_IDEOGRAPHS = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


class _BySpelling:
    """Finds texts of similar spelling; MinHash selects the earlier ones to compare with, which are held in memory."""

    def __init__(self, percent: float) -> None:
        require_extra("build", "finding near-duplicates")
        from datasketch import MinHash, MinHashLSH

        self._percent = percent
        # the same numbers on every machine, and a quick hash: what is found is compared as a whole
        self._empty = MinHash(num_perm=_BANDS * _ROWS, seed=1, hashfunc=zlib.crc32)
        self._index = MinHashLSH(num_perm=_BANDS * _ROWS, params=(_BANDS, _ROWS))
        self._texts: list[tuple[str, str, str]] = []

    def add(self, id: str, text: str, group: str = "") -> str | None:
        folded = _folded(text)
        # ideographs carry as much meaning as words, so two of them make a shingle, and otherwise three characters
        size = 2 if _IDEOGRAPHS.search(folded) else 3
        shingles = {folded[start : start + size] for start in range(max(len(folded) - size + 1, 1))}
        sketch = self._empty.copy()
        sketch.update_batch([shingle.encode("utf-8", "surrogatepass") for shingle in sorted(shingles)])
        for place in map(int, sorted(self._index.query(sketch))):
            earlier, other, other_group = self._texts[place]
            similar = not group or other_group != group
            if other == folded or (similar and fuzz.ratio(folded, other, score_cutoff=self._percent)):
                return earlier
        self._index.insert(len(self._texts), sketch)
        self._texts.append((id, folded, group))
        return None


class _ByMeaning:
    """Finds texts of similar meaning (FactCHD, section 4.3), also equal ones of a group.

    Each text is compared with every earlier one, so it is meant for up to about ten thousand.
    """

    def __init__(self, model: str, similarity: float) -> None:
        require_extra("embeddings", "finding near-duplicates by embeddings")
        from sentence_transformers import SentenceTransformer

        try:
            self._model = SentenceTransformer(model, device="cpu")
        except Exception as error:
            raise UsageError(
                f"embeddings {model}: cannot be loaded ({' '.join(str(error).split())[:200]}); name a folder or a "
                "model on the hub"
            ) from None
        self._similarity = similarity
        self._ids: list[str] = []
        self._groups: list[str] = []
        self._vectors = np.empty((0, self._model.get_sentence_embedding_dimension() or 0), dtype=np.float32)

    def add(self, id: str, text: str, group: str = "") -> str | None:
        vector = np.asarray(self._model.encode(text, show_progress_bar=False), dtype=np.float32).reshape(-1)
        # a zero vector is similar to nothing
        vector = vector / (float(np.linalg.norm(vector)) or 1.0)
        if len(self._ids) == len(self._vectors):
            self._vectors = np.resize(self._vectors, (2 * len(self._ids) + 1024, len(vector)))
        for place in np.flatnonzero(self._vectors[: len(self._ids)] @ vector >= self._similarity):
            if not group or self._groups[place] != group:
                return self._ids[place]
        self._vectors[len(self._ids)] = vector
        self._ids.append(id)
        self._groups.append(group)
        return None


def _folded(text: str) -> str:
    """Return the folded words of a text without punctuation; a text without words as it is."""
    return " ".join(re.findall(r"[^\W_]+", fold(text))) or text
