"""Counter-based random words, uniforms and normals: a value is a function of where it stands.

Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011)
maps a 64-bit key and a 128-bit counter to 128 random bits. Nothing is carried from one draw to
the next, so no answer depends on threads or on the order of the work.

A stream is (key, lane, block): counter word 0 runs along it, word 1 is the lane, words 2 and 3
the block. Word 2i and word 2i+1 of a stream are the halves of counter i.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_MULTIPLIER_0, _MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_ROUNDS = 10


@njit(cache=True, inline="always")
def philox(
    x0: np.uint64, x1: np.uint64, x2: np.uint64, x3: np.uint64, key: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Philox4x32-10 of a counter of four 32-bit words, as two 64-bit words, low word first."""
    k0, k1 = key & _LOW, key >> _HALF
    for _ in range(_ROUNDS):
        p0, p1 = _MULTIPLIER_0 * x0, _MULTIPLIER_1 * x2
        x0, x1 = (p1 >> _HALF) ^ x1 ^ k0, p1 & _LOW
        x2, x3 = (p0 >> _HALF) ^ x3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + _WEYL_0) & _LOW, (k1 + _WEYL_1) & _LOW
    return x0 | (x1 << _HALF), x2 | (x3 << _HALF)


@njit(cache=True)
def fill(words: Words, key: np.uint64, lane: int, block: int) -> None:
    """Write the first words of a stream; their number is even."""
    x1, x2, x3 = np.uint64(lane), np.uint64(block) & _LOW, np.uint64(block) >> _HALF
    for i in range(words.shape[0] // 2):
        words[2 * i], words[2 * i + 1] = philox(np.uint64(i), x1, x2, x3, key)


@njit(cache=True, inline="always")
def word(key: np.uint64, lane: int, block: int, index: int) -> np.uint64:
    """The first half of one counter of a stream."""
    return philox(
        np.uint64(index), np.uint64(lane), np.uint64(block) & _LOW, np.uint64(block) >> _HALF, key
    )[0]


@njit(cache=True, inline="always")
def uniform(word: np.uint64) -> float:
    """A word as a multiple of 2⁻⁵³ in [0, 1)."""
    return np.int64(word >> np.uint64(11)) * 2.0**-53


def _layers() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # 256 layers of equal area under e^(−x²/2), each as wide as its lower edge; the lowest holds
    # the tail beyond x[1] (Marsaglia and Tsang, "The ziggurat method", 2000).
    edge, area = 3.6541528853610088, 0.00492867323397465
    x = np.zeros(257)
    x[0], x[1] = area * math.exp(0.5 * edge * edge), edge
    for i in range(2, 256):
        x[i] = math.sqrt(-2.0 * math.log(area / x[i - 1] + math.exp(-0.5 * x[i - 1] ** 2)))
    return x, np.exp(-0.5 * x * x)


_EDGE, _HEIGHT = _layers()


@njit(cache=True)
def normal(first: np.uint64, key: np.uint64, lane: int, block: int, index: int) -> float:
    """A standard normal from one word; the 1% that need more take them from the given stream.

    Index i reads counters from 64·i on, so a lane serves 2²⁶ indices.
    """
    draw, counter = first, 64 * index
    while True:
        layer = np.int64(draw & np.uint64(255))
        # Bit 8 is the sign and the top 53 bits are the place across the layer.
        sign = 1.0 if draw & np.uint64(256) else -1.0
        x = uniform(draw) * _EDGE[layer]
        if x < _EDGE[layer + 1]:
            return sign * x
        if layer == 0:
            while True:
                beyond = -math.log(1.0 - uniform(word(key, lane, block, counter))) / _EDGE[1]
                accept = -math.log(1.0 - uniform(word(key, lane, block, counter + 1)))
                if 2.0 * accept > beyond * beyond:
                    return sign * (_EDGE[1] + beyond)
                counter += 2
        low, high = _HEIGHT[layer], _HEIGHT[layer + 1]
        y = low + (high - low) * uniform(word(key, lane, block, counter))
        if y < math.exp(-0.5 * x * x):
            return sign * x
        draw = word(key, lane, block, counter + 1)
        counter += 2
