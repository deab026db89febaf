"""Unit vectors that stand in for sentence embeddings."""

import numpy as np

D = 384
_INNER = 32
_BLOCK = 8192


def embeddings(seed: int, n: int) -> np.ndarray:
    """n unit rows, float32 (n, 384): sines of random linear functions of a point in 32 dimensions.

    At 19,000 rows they have an intrinsic dimension of 30 (from the ratios of the 20 nearest
    distances) and HNSW finds as many of their neighbours as of those of the lines of Shakespeare's
    roles in all-MiniLM-L6-v2's space.
    """
    fixed = np.random.default_rng(0)
    slopes = fixed.standard_normal((_INNER, D), dtype=np.float32) * np.float32(1.2 / _INNER**0.5)
    phases = fixed.uniform(0, 2 * np.pi, D).astype(np.float32)
    rng = np.random.default_rng(seed)
    rows = np.empty((n, D), np.float32)
    for start in range(0, n, _BLOCK):
        part = rows[start : start + _BLOCK]
        np.sin(rng.standard_normal((len(part), _INNER), np.float32) @ slopes + phases, out=part)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return rows
