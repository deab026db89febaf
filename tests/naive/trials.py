"""Trials as they are defined, and the compiled trials replayed draw by draw in plain Python."""

import bisect
import itertools
import math

import numpy as np


def scores(weights, offset, noise, shift, q, trials, rng):
    """ℓ without and with the canary, each user's coin tossed: (trials,) each."""
    taking_part = rng.random((trials, len(weights))) < q
    background = taking_part @ np.asarray(weights) + noise * rng.standard_normal(trials) - offset
    return background, background + shift * (rng.random(trials) < q)


def philox(counter, key):
    """Philox4x32-10 (Salmon et al. 2011): four 32-bit words from four and a key of two."""
    c, k = list(counter), list(key)
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [
            (second >> 32) ^ c[1] ^ k[0],
            second & 0xFFFFFFFF,
            (first >> 32) ^ c[3] ^ k[1],
            first & 0xFFFFFFFF,
        ]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


class Stream:
    """The words of one lane of one block, by index; word 2i and 2i + 1 come from counter i."""

    def __init__(self, key, lane, block):
        self.key = (key & 0xFFFFFFFF, key >> 32)
        self.rest = (lane, block & 0xFFFFFFFF, block >> 32)

    def word(self, index):
        words = philox((index // 2, *self.rest), self.key)
        low, high = words[2 * (index % 2) : 2 * (index % 2) + 2]
        return low | (high << 32)

    def uniform(self, index):
        return (self.word(index) >> 11) * 2.0**-53


def floyd(n, size, stream, start):
    """A uniform subset of the given size, one counter a member."""
    chosen = set()
    for j in range(n - size, n):
        pick = int(stream.uniform(2 * (start + j)) * (j + 1))
        chosen.add(j if pick in chosen else pick)
    return chosen


def table_draws(users, q, size, bits, listed_sizes, key, block, trials):
    """Who takes part in each trial of a block, drawn by tables of groups of `size` users."""
    patterns = [
        subset for k in range(listed_sizes) for subset in itertools.combinations(range(size), k)
    ]
    probability = [q**k * (1 - q) ** (size - k) for k in range(size + 1)]
    cells = [math.floor(p * 2**bits) for p in probability[:listed_sizes]]
    table = [subset for subset in patterns for _ in range(cells[len(subset)])]
    left = [
        math.comb(size, k) * (p * 2**bits - (cells[k] if k < listed_sizes else 0))
        for k, p in enumerate(probability)
    ]
    below = [total / sum(left) if sum(left) else 0.0 for total in itertools.accumulate(left)]
    below[-1] = 1.0
    taking_part = [[] for _ in range(trials)]
    for group in range(-(-users // size)):
        lane, escapes = 4 + 3 * group, 0
        draws, more, subsets = (Stream(key, lane + j, block) for j in range(3))
        for trial in range(trials):
            x = draws.word(trial // 4) >> (16 * (trial % 4)) & (2**bits - 1)
            if x < len(table):
                members = table[x]
            else:
                u = more.uniform(escapes)
                escapes += 1
                k = bisect.bisect_right(below, u)
                if k < listed_sizes:
                    alike = [subset for subset in patterns if len(subset) == k]
                    low = below[k - 1] if k else 0.0
                    members = alike[int((u - low) / (below[k] - low) * len(alike))]
                else:
                    members = floyd(size, k, subsets, 64 * trial)
            taking_part[trial] += [group * size + member for member in members]
    return [[user for user in row if user < users] for row in taking_part]


def skip_draws(users, q, key, block, trials):
    """Who takes part in each trial of a block, drawn by geometric gaps, user after user."""
    taking_part = [[] for _ in range(trials)]
    stream, index, cell = Stream(key, 3, block), 0, -1
    while True:
        gap = math.floor(math.log(1.0 - stream.uniform(index)) / math.log1p(-q))
        cell, index = cell + gap + 1, index + 1
        if cell >= users * trials:
            break
        taking_part[cell % trials].append(cell // trials)
    return taking_part
