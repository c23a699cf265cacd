"""Texts that equal an earlier one, or are similar in spelling or meaning.

What is found depends only on the texts and their order.
"""

import re
import zlib
from collections.abc import Callable

import numpy as np
from rapidfuzz import fuzz

from halu_tasks.core.errors import UsageError, require_extra
from halu_tasks.text.folding import fold

DuplicateOf = Callable[[str, str, str], str | None]
"""`duplicate_of(id, text, group)` returns the id of an earlier text that a text duplicates.

If there is none, it returns None and keeps the text to find others by. Texts of the same group, if it is not empty, are
similar on purpose, and duplicates only if they are equal.
"""
# returns the number of the first earlier text that is similar and allowed; if there is none, keeps the text
_Similar = Callable[[str, Callable[[int], bool]], int | None]

_BANDS, _ROWS = 40, 5
"""Two texts whose shingles have a Jaccard similarity s are compared with a probability of 1 - (1 - s^_ROWS)^_BANDS:
0.9999 at 0.75, 0.96 at 0.6, 0.72 at 0.5, 0.013 at 0.2."""
_IDEOGRAPHS = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def duplicate_filter(percent: float, embeddings: str | None = None) -> DuplicateOf:
    """Create a filter of equal texts, of similar spelling or, if an embedding model is named, of similar meaning.

    Args:
        percent: Similarity above 0 and up to 100 from which on two texts are duplicates: rapidfuzz's ratio of the
            folded texts, or a hundred times the cosine of their embeddings.
        embeddings: Name or folder of an embedding model.

    Raises:
        UsageError: An extra is not installed, or the model cannot be loaded.
    """
    similar = _by_meaning(embeddings, percent / 100) if embeddings else _by_spelling(percent) if percent < 100 else None
    first: dict[str, str] = {}
    earlier: list[tuple[str, str]] = []  # ids and groups

    def duplicate_of(id: str, text: str, group: str) -> str | None:
        folded = " ".join(re.findall(r"[^\W_]+", fold(text))) or text
        if folded in first:
            return first[folded]
        if similar is not None:
            place = similar(text if embeddings else folded, lambda place: not group or earlier[place][1] != group)
            if place is not None:
                return earlier[place][0]
        first[folded] = id
        earlier.append((id, group))
        return None

    return duplicate_of


def _by_spelling(percent: float) -> _Similar:
    """Find texts of similar spelling; MinHash selects the earlier ones to compare with, which are held in memory."""
    require_extra("build", "finding near-duplicates")
    from datasketch import MinHash, MinHashLSH

    # the same numbers on every machine, and a quick hash: what is found is compared as a whole
    empty = MinHash(num_perm=_BANDS * _ROWS, seed=1, hashfunc=zlib.crc32)
    index, texts = MinHashLSH(num_perm=_BANDS * _ROWS, params=(_BANDS, _ROWS)), list[str]()

    def similar(text: str, allowed: Callable[[int], bool]) -> int | None:
        # ideographs carry as much meaning as words, so two of them make a shingle, and otherwise three characters
        size = 2 if _IDEOGRAPHS.search(text) else 3
        shingles = {text[start : start + size] for start in range(max(len(text) - size + 1, 1))}
        sketch = empty.copy()
        sketch.update_batch([shingle.encode("utf-8", "surrogatepass") for shingle in sorted(shingles)])
        for place in map(int, sorted(index.query(sketch))):
            if allowed(place) and fuzz.ratio(text, texts[place], score_cutoff=percent):
                return place
        index.insert(len(texts), sketch)
        texts.append(text)
        return None

    return similar


def _by_meaning(model: str, similarity: float) -> _Similar:
    """Find texts of similar meaning (FactCHD, section 4.3).

    Each text is compared with every earlier one, so it is meant for up to about ten thousand.
    """
    require_extra("embeddings", "finding near-duplicates by embeddings")
    from sentence_transformers import SentenceTransformer

    try:
        encoder = SentenceTransformer(model, device="cpu")
    except Exception as error:
        raise UsageError(
            f"embeddings {model}: cannot be loaded ({' '.join(str(error).split())[:200]}); name a folder or a model on "
            "the hub"
        ) from None
    # rows are reserved in advance: copying all vectors for each text would take quadratic time
    number, vectors = 0, np.empty((0, encoder.get_sentence_embedding_dimension() or 0), dtype=np.float32)

    def similar(text: str, allowed: Callable[[int], bool]) -> int | None:
        nonlocal number, vectors
        vector = np.asarray(encoder.encode(text, show_progress_bar=False), dtype=np.float32).reshape(-1)
        # a zero vector is similar to nothing
        vector = vector / (float(np.linalg.norm(vector)) or 1.0)
        if number == len(vectors):
            vectors = np.resize(vectors, (2 * number + 1024, len(vector)))
        for place in map(int, np.flatnonzero(vectors[:number] @ vector >= similarity)):
            if allowed(place):
                return place
        vectors[number] = vector
        number += 1
        return None

    return similar
