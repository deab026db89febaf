"""Random streams keyed by what they are for, so that no result depends on what else ran."""

import hashlib

import numpy as np


def sequence(seed: int, *names: str | int) -> np.random.SeedSequence:
    """Return the seed sequence for one purpose.

    Args:
        seed: the config's seed, any integer ≥ 0.
        names: what the stream is for, e.g. `"shakespeare", "A", "exact", 0, "present"`.
            The text `"1"` and the number `1` are different names.

    Returns:
        A `SeedSequence`: equal for equal arguments on every machine and Python version.

    Example:
        >>> sequence(1, "trials", 0).entropy == sequence(1, "trials", 0).entropy
        True
        >>> sequence(1, "trials", 0).entropy == sequence(1, "trials", 1).entropy
        False
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in names:
        part = f"{type(name).__name__}:{name}".encode()
        digest.update(len(part).to_bytes(8, "little") + part)
    return np.random.SeedSequence([seed, int.from_bytes(digest.digest(), "little")])


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """Return a NumPy generator (PCG64) on the stream of `sequence(seed, *names)`.

    Example:
        >>> float(generator(1, "a").random()) == float(generator(1, "a").random())
        True
    """
    return np.random.default_rng(sequence(seed, *names))
