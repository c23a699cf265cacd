"""Near duplicates by what texts mean: the cosine of their embeddings (FactCHD, section 4.3), for those who installed
the extra `embeddings`."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from halu_tasks.builders.near import Filter, NearDuplicates
from halu_tasks.errors import UsageError

SIMILARITY = 0.9
"""Cosine from which on two texts are near duplicates."""

_BLOCK = 8192
"""Earlier embeddings that are read from disk at once."""

Vector = NDArray[np.float32]


class NearEmbeddings:
    """Texts seen so far, and whether a new one means nearly what one of them does.

    Every earlier embedding is looked at, so that time grows with the square of the number of texts: it is meant for up
    to some ten thousand. Embeddings lie in a temporary file. As with `NearDuplicates`, a near duplicate is not kept.
    """

    def __init__(self, model: str, similarity: float = SIMILARITY, folder: Path | None = None) -> None:
        """`model` is a name or folder that sentence-transformers loads.

        Raises:
            UsageError: the extra is not installed, the model cannot be loaded, or the similarity is none.
        """
        if not 0 < similarity <= 1:
            raise UsageError(f"a similarity of near duplicates is above 0 and at most 1, found {similarity}")
        self.similarity = similarity
        self._model = _load(model)
        self._ids: list[str] = []
        self._groups: defaultdict[str, list[int]] = defaultdict(list)
        self._file = tempfile.TemporaryFile(prefix="near-", dir=folder)  # noqa: SIM115 it lives as long as this

    def add(self, id: str, text: str, group: str = "") -> str | None:
        """As `NearDuplicates.add`, but that texts of one group are no duplicates of each other at all."""
        vector: Vector = np.asarray(self._model.encode(text, show_progress_bar=False), dtype=np.float32).reshape(-1)
        # a vector of nothing is like none
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
        """Forget all texts, and remove the temporary file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _load(model: str) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise UsageError("near duplicates by embeddings need the extra: pip install 'halu-tasks[embeddings]'") from None
    try:
        return SentenceTransformer(model, device="cpu")
    except Exception as error:
        raise UsageError(f"embeddings {model}: {' '.join(str(error).split())[:200]}") from None


def near_filter(percent: float, embeddings: str | None = None) -> Filter:
    """The filter by spelling; or by meaning, where a model of embeddings is named, of whose cosine `percent` is a
    hundred times the least. Raises UsageError as they do."""
    return NearEmbeddings(embeddings, percent / 100) if embeddings else NearDuplicates(percent)
