"""Nonce texts: random strings that no natural record comes near."""

import numpy as np

from pe_core import seeds
from pe_core.errors import InputError

# 64 hexadecimal characters, as in the paper: 256 bits, so equal strings do not happen.
_BYTES = 32


def strings(count: int, seed: int, *names: str | int) -> list[str]:
    """Return random strings of 64 hexadecimal characters from the stream of one purpose.

    Args:
        count: how many, ≥ 0.
        seed: the config's seed, ≥ 0.
        names: what they are for, e.g. `"shakespeare", "nonce", "pool", 0`.

    Returns:
        `count` strings. A longer list from the same stream begins with a shorter one.

    Raises:
        InputError: a negative count or seed.

    Example:
        >>> [len(text) for text in strings(2, 1, "pool", 0)]
        [64, 64]
        >>> strings(2, 1, "pool", 0)[0] == strings(1, 1, "pool", 0)[0]
        True
    """
    for name, value in (("count", count), ("seed", seed)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
            raise InputError(f"{name} = {value!r}: a whole number of at least 0 is needed")
    stream = seeds.generator(int(seed), *names).bytes(_BYTES * int(count)).hex()
    return [stream[i : i + 2 * _BYTES] for i in range(0, len(stream), 2 * _BYTES)]
