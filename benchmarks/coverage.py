"""How often a whole audit is wrong where there is nothing to find.

    python benchmarks/coverage.py [audits] [trials]

Every audit draws its users, fits the score and the threshold for a real contribution, and then
evaluates both hypotheses without the canary: any ε above 0 is a mistake. Each Clopper-Pearson end
is also held against the exact rate at the frozen threshold. At the end the same bound is taken the
wrong way, with the threshold chosen on the evaluation's own trials.
"""

import os

# Small matrices: threads of the linear algebra only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from pe_core import Mechanism
from pe_core.background import estimate
from pe_core.bounds import Ends, branch, clopper_pearson, ends, epsilon_lower
from pe_core.exact import error_rates
from pe_core.score import LinearScore
from pe_core.seeds import generator, sequence
from pe_core.threshold import calibrate
from pe_core.trials import error_counts

MECHANISM = Mechanism(60, 0.1, 1.0, 0.1, 1e-5)
ALPHA = 0.05
TAIL = ALPHA / 4.0
ENDS = ("TPR lower", "FPR upper", "TNR lower", "FNR upper")
# Trials among which an end is expected to miss in nearly its whole tail.
MANY = 100.0


def users(rng: np.random.Generator, count: int, coordinates: int = 6) -> NDArray[np.float64]:
    """Clipped contributions with a few heavy voters."""
    votes = rng.poisson(rng.gamma(0.5, 4.0, size=(count, 1)), size=(count, coordinates)) / 160.0
    norms = np.maximum(np.linalg.norm(votes, axis=1, keepdims=True), 1e-12)
    return votes * np.minimum(1.0, MECHANISM.clip / norms)


def null_audit(index: int, trials: int) -> tuple[float, list[bool], float, float]:
    """Return ε_lower, which ends missed, the exact rate, and the expected rarer events."""
    rng = generator(1, "coverage", index)
    canary = np.maximum(users(rng, 1)[0], 0.01 * rng.random(6))
    canary *= min(1.0, MECHANISM.clip / float(np.linalg.norm(canary)))
    score = LinearScore.fit(canary, estimate(users(rng, 60), MECHANISM), MECHANISM)
    threshold = calibrate(score, users(rng, 45), canary, MECHANISM, trials, TAIL)
    others, absent = users(rng, MECHANISM.population), np.zeros(6)
    # One call's two counts share their backgrounds: without a canary they would be the same number.
    true, false = (
        error_counts(
            score,
            others,
            absent,
            MECHANISM,
            threshold,
            trials,
            sequence(1, "coverage", index, hypothesis),
        ).false_positives
        for hypothesis in ("present", "absent")
    )
    epsilon = epsilon_lower(true, trials, false, trials, MECHANISM.delta, TAIL)
    rates = error_rates(score, others, absent, MECHANISM, threshold)
    rate, rest = float(rates.fpr), float(rates.tnr)
    missed = [
        bool(clopper_pearson(true, trials, TAIL).lower > rate),
        bool(clopper_pearson(false, trials, TAIL).upper < rate),
        bool(clopper_pearson(trials - false, trials, TAIL).lower > rest),
        bool(clopper_pearson(trials - true, trials, TAIL).upper < rest),
    ]
    return epsilon, missed, rate, trials * min(rate, rest)


@lru_cache(maxsize=2)
def all_ends(trials: int, tail: float) -> Ends:
    """The ends of every count."""
    return ends(np.arange(trials + 1.0), float(trials), tail)


def wrong_way(index: int, trials: int, tail: float) -> bool:
    """Whether the bound is positive under the null if its threshold maximises it on its own trials.

    Scores are standard normal under both hypotheses, and every score is tried as the threshold.
    """
    rng = generator(1, "wrong way", index)
    present, absent = np.sort(rng.standard_normal(trials)), np.sort(rng.standard_normal(trials))
    pooled = np.concatenate([present, absent])
    true = trials - np.searchsorted(present, pooled, side="right")
    false = trials - np.searchsorted(absent, pooled, side="right")
    lower, upper = all_ends(trials, tail)
    above = branch(lower[true], upper[false], MECHANISM.delta)
    below = branch(lower[trials - false], upper[trials - true], MECHANISM.delta)
    return bool(np.maximum(above, below).max() > 0.0)


def share(events: int, audits: int) -> str:
    """A share with its two-sided 95% interval."""
    lower, upper = clopper_pearson(events, audits, 0.025)
    return f"{events / audits:8.4f}  [{lower:.4f}, {upper:.4f}]"


def main(audits: int = 2000, trials: int = 20_000) -> None:
    """Print the table."""
    with ProcessPoolExecutor() as pool:
        results = list(pool.map(partial(null_audit, trials=trials), range(audits), chunksize=20))
        positive = sum(epsilon > 0.0 for epsilon, *_ in results)
        print(f"{audits} audits under the null, {trials} trials a hypothesis, one canary each")
        print(f"{'':34}allowed   share  95% interval")
        print(f"{'ε_lower > 0':34}{ALPHA:7.4f}{share(positive, audits)}")
        for j, name in enumerate(ENDS):
            count = sum(missed[j] for _, missed, _, _ in results)
            print(f"{name + ' misses the exact rate':34}{TAIL:7.4f}{share(count, audits)}")
        often = [missed for _, missed, _, events in results if events >= MANY]
        print(f"of these, {len(often)} expect at least {MANY:.0f} events (misses ≥ half the tail):")
        for j, name in enumerate(ENDS):
            if often:
                count = sum(missed[j] for missed in often)
                print(f"{name + ' misses the exact rate':34}{TAIL:7.4f}{share(count, len(often))}")
        for tail in (0.05, 0.025):
            judge = partial(wrong_way, trials=trials, tail=tail)
            count = sum(pool.map(judge, range(audits), chunksize=20))
            label = f"threshold from the same trials, γ {tail}"
            print(f"{label:34}       {share(count, audits)}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
