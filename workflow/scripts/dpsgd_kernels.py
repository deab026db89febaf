"""Compile the training kernels once, before many processes ask for them at the same time.

Output: kernels.json (seconds it took).
"""

import time

import numpy as np

from artifacts import save_json
from job import job
from pe_core import Mechanism
from pe_core.dpsgd import Examples, Game, GradientPair, Network, Training, play, play_worst_case

with job(snakemake):
    began = time.perf_counter()
    for kind in (np.float32, np.float64):
        data = Examples(np.eye(4, dtype=kind), np.array([0, 1, 0, 1]), 2)
        for optimizer in ("sgd", "adam"):
            training = Training(Mechanism(3, 0.5, 1.0, 1.0, 1e-5), 0.1, optimizer)
            start = Network(4, 2, (2,)).start(np.random.default_rng(0))
            play(Game(start, data, 0, training, 2, (1,), data, 0), GradientPair(0, 0, 0.0))
    play_worst_case(Mechanism(0, 0.5, 1.0, 1.0, 1e-5), 2, (1,), 0)
    save_json(snakemake.output[0], {"seconds": time.perf_counter() - began})
