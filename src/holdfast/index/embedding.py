"""The model that turns texts into vectors: the extra ``holdfast[semantic]``. It is loaded when it is first needed.

The model comes in the wheel with its weights and its tokenizer. Nothing is downloaded.
"""

from __future__ import annotations

from functools import lru_cache

from holdfast.errors import Unavailable
from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

LENGTH = 2_000
"""Characters of a text that its vector is made from."""
_CONFIG = "l2_supercat"
DIMENSIONS = 256


class Model:
    """Texts in, vectors of length 1 out."""

    def __init__(self, name: str, inference: Any) -> None:
        self.name = name
        """The vectors of two models with different names cannot be compared."""
        self._inference = inference

    def embed(self, texts: list[str]) -> Matrix:
        """One row per text. A text without a known word becomes zeros, which are near nothing."""
        import numpy as np

        rows: Matrix = self._inference.embed([text[:LENGTH] for text in texts]).astype(np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Matrix = np.nan_to_num(rows) / np.maximum(np.nan_to_num(lengths), 1e-9)
        return unit


def is_installed() -> bool:
    """Whether the extra is there, without loading it."""
    from importlib.util import find_spec

    return find_spec("wordllama") is not None


@lru_cache(maxsize=1)
def load() -> Model:
    """The model; raises ``Unavailable`` if it cannot be had."""
    if not is_installed():
        raise Unavailable(
            "Ranking by meaning needs the extra holdfast[semantic], which is not installed.",
            hint="pip install 'holdfast[semantic]'; without it, searches go by words.",
        )
    try:
        import os
        from importlib.metadata import version

        import wordllama

        # Without the folder it looks for the tokenizer in a cache, and would download it.
        folder = os.path.dirname(wordllama.__file__)
        inference = wordllama.WordLlama.load(_CONFIG, cache_dir=folder, dim=DIMENSIONS, disable_download=True)
        return Model(f"wordllama {version('wordllama')} {_CONFIG} {DIMENSIONS}", inference)
    except Exception as error:  # whatever a broken installation raises
        raise Unavailable(
            f"The model for ranking by meaning cannot be loaded: {type(error).__name__}: {error}.",
            hint="pip install --force-reinstall 'holdfast[semantic]'; without it, searches go by words.",
        ) from error
