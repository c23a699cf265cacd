"""Finding near-duplicates by meaning: the cosine similarity of embeddings (FactCHD, section 4.3).

Requires the extra `embeddings`.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from halu_tasks.builders.quality.near_duplicates import Filter, NearDuplicates
from halu_tasks.core.errors import UsageError
from halu_tasks.core.extras import require_extra

SIMILARITY = 0.9
"""Default cosine similarity from which on two texts are near-duplicates."""

_BLOCK = 8192
"""Number of earlier embeddings to read from disk at once."""

Vector = NDArray[np.float32]


class NearEmbeddings:
    """A filter that finds near-duplicates by meaning.

    Each text is compared with every earlier one, so that time grows with the square of the number of texts: it is meant
    for up to about ten thousand. Embeddings are kept in a temporary file. As in `NearDuplicates`, near-duplicates are
    not kept.
    """

    def __init__(self, model: str, similarity: float = SIMILARITY, folder: Path | None = None) -> None:
        """Create an empty filter.

        Args:
            model: A name or folder that sentence-transformers can load.
            similarity: Cosine similarity from which on two texts are near-duplicates.
            folder: Where to put the temporary file; None for the default folder of temporary files.

        Raises:
            UsageError: The extra is not installed, the model cannot be loaded, or the similarity is out of range.
        """
        if not 0 < similarity <= 1:
            raise UsageError(f"near-duplicates: expected a similarity above 0 and up to 1, got {similarity}")
        self.similarity = similarity
        self._model = _load(model)
        self._ids: list[str] = []
        self._groups: defaultdict[str, list[int]] = defaultdict(list)
        self._file = tempfile.TemporaryFile(prefix="near-", dir=folder)  # noqa: SIM115 closed by close()

    def add(self, id: str, text: str, group: str = "") -> str | None:
        """Do the same as `NearDuplicates.add`, except that texts of one group are never duplicates of each other."""
        vector: Vector = np.asarray(self._model.encode(text, show_progress_bar=False), dtype=np.float32).reshape(-1)
        # a zero vector is similar to nothing
        vector = vector / (float(np.linalg.norm(vector)) or 1.0)
        for start in range(0, len(self._ids), _BLOCK):
            self._file.seek(start * vector.nbytes)
            block = np.frombuffer(self._file.read(_BLOCK * vector.nbytes), dtype=np.float32).reshape(-1, len(vector))
            near = block @ vector >= self.similarity
            near[[place - start for place in self._groups.get(group, []) if start <= place < start + len(near)]] = False
            if near.any():
                return self._ids[start + int(near.argmax())]
        self._file.seek(0, 2)
        self._file.write(vector.tobytes())
        if group:
            self._groups[group].append(len(self._ids))
        self._ids.append(id)
        return None

    def close(self) -> None:
        """Forget all texts and remove the temporary file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _load(model: str) -> Any:
    """Load a model, on the CPU."""
    require_extra("embeddings", "finding near-duplicates by embeddings")
    from sentence_transformers import SentenceTransformer

    try:
        return SentenceTransformer(model, device="cpu")
    except Exception as error:
        raise UsageError(
            f"embeddings {model}: cannot be loaded ({' '.join(str(error).split())[:200]}); name a folder or a model on "
            "the hub"
        ) from None


def near_filter(percent: float, embeddings: str | None = None) -> Filter:
    """Create a filter by spelling or, if an embedding model is named, by meaning.

    Args:
        percent: Threshold in percent; for embeddings, a hundred times the cosine similarity.
        embeddings: Name or folder of an embedding model.

    Raises:
        UsageError: As in `NearDuplicates` and `NearEmbeddings`.
    """
    return NearEmbeddings(embeddings, percent / 100) if embeddings else NearDuplicates(percent)
