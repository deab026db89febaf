"""A generator and an encoder that are functions of what they are given, and small populations."""

import hashlib

import numpy as np

from pe_core import seeds
from pe_core.evolution import Bank, Voters

DIMENSION = 6


def write(text, seed):
    return hashlib.sha256(f"{text} {seed}".encode()).hexdigest()[:12]


def generate(asked):
    return [write(" ".join((*each.high, *each.low)), each.seed) for each in asked]


def encode(texts):
    rows = np.array([seeds.generator(0, text).standard_normal(DIMENSION) for text in texts])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def bank(p, reserved=()):
    texts = tuple(f"probe {j}" if j in reserved else f"text {j}" for j in range(p))
    return Bank(texts, tuple(f"label {j % 3}" for j in range(p)), tuple(reserved))


def voters(users, records=4, seed=1):
    texts = [f"record {seed} {j}" for j in range(users * records)]
    return Voters(encode(texts), np.repeat(np.arange(users), records), users)


def streams(seed=1):
    return lambda purpose, t: seeds.generator(seed, purpose, t)
