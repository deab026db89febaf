import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import gammaincc, ndtr

from pe_core import InputError, Mechanism, inclusion, trials
from pe_core.kernels import random, sampling
from pe_core.score import LinearScore
from tests.naive import trials as naive

KEY = np.uint64(0x0123456789ABCDEF)


def p_value(chi_square, degrees):
    return gammaincc(degrees / 2, chi_square / 2)


def audit(weights, q, sigma=1.0, shift=0.5, offset=0.25, scale=1.0):
    """A score of one coordinate whose users have the given weights s_u, as if clipped at 1."""
    weights = np.asarray(weights, dtype=np.float64)
    mechanism = Mechanism(weights.size, q, sigma, 1.0, 1e-5)
    score = LinearScore(np.array([scale]), offset, 1.0)
    return score, weights[:, None] / scale, np.array([shift / scale]), mechanism


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        # The known answers that Random123, by Philox's authors, is distributed with.
        ("00000000 " * 4, "00000000 " * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff " * 4, "ffffffff " * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            "243f6a88 85a308d3 13198a2e 03707344",
            "a4093822 299f31d0",
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_gives_the_published_answers(counter, key, expected):
    c, k, want = ([int(x, 16) for x in text.split()] for text in (counter, key, expected))
    low, high = random.philox(*map(np.uint64, c), np.uint64(k[0] | k[1] << 32))
    assert [int(low) & 0xFFFFFFFF, int(low) >> 32, int(high) & 0xFFFFFFFF, int(high) >> 32] == want
    assert naive.philox(c, k) == want


def test_a_stream_is_its_counters():
    block = 3 + (5 << 32)
    stream = naive.Stream(int(KEY), 9, block)
    words = np.empty(10, np.uint64)
    random.fill(words, KEY, 9, block)
    assert [int(word) for word in words] == [stream.word(i) for i in range(10)]
    assert int(random.word(KEY, 9, block, 4)) == stream.word(8)
    assert random.uniform(np.uint64(2**64 - 1)) == 1.0 - 2.0**-53
    assert random.uniform(np.uint64(0)) == 0.0


def test_ziggurat_layers_have_equal_area_and_close_at_the_top():
    edge, height = random._EDGE, random._HEIGHT
    tail = edge[1] * height[1] + math.sqrt(math.pi / 2) * math.erfc(edge[1] / math.sqrt(2))
    assert edge[0] * height[1] == pytest.approx(tail, rel=1e-12)
    areas = edge[1:256] * np.diff(height[1:])
    np.testing.assert_allclose(areas, tail, rtol=1e-9)


def test_normals_have_the_normal_distribution_tails_included():
    n = 4_000_000
    mechanism = Mechanism(0, 0.0, 1.0, 1.0, 1e-5)
    score = LinearScore(np.array([1.0]), 0.0, 1.0)
    seed = np.random.SeedSequence(11)
    z, _ = trials.scores(score, np.zeros((0, 1)), np.zeros(1), mechanism, n, seed)
    edge = random._EDGE[1]
    bounds = np.concatenate(
        ([-np.inf, -4.6, -4.2], np.linspace(-edge - 0.2, edge + 0.2, 400), [4.2, 4.6, np.inf])
    )
    # The upper half by symmetry: there the differences would cancel.
    expected = n * np.where(bounds[:-1] < 0.0, np.diff(ndtr(bounds)), -np.diff(ndtr(-bounds)))
    observed = np.histogram(z, bounds)[0]
    chi_square = ((observed - expected) ** 2 / expected).sum()
    assert p_value(chi_square, expected.size - 1) > 1e-3
    # Neighbouring trials use neighbouring words.
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 4.5 / math.sqrt(n)


@pytest.mark.parametrize(
    ("users", "q"),
    [(1, 0.3), (5, 0.5), (25, 0.1), (40, 0.02), (70, 0.01), (30, 0.8), (300, 1e-4), (64, 0.9999)],
)
def test_each_trial_is_the_sum_over_its_own_participants(users, q):
    # Replays the draws of some trials in plain Python; the sums must agree to 1e-9 of τ.
    rng = np.random.default_rng(users)
    weights, tau, n = rng.standard_normal(users) * 3.0, 0.1, 200
    call = audit(weights, q, sigma=tau, shift=0.5)
    seed = np.random.SeedSequence(7)
    absent, present = trials.scores(*call, n, seed)
    key = int(seed.generate_state(1, np.uint64)[0])
    excluded = q > 0.5
    chosen = 1.0 - q if excluded else q
    size, patterns = inclusion.plan(users, chosen)
    if patterns.bits:
        listed = patterns.first_pattern.size - 1
        drawn = naive.table_draws(users, chosen, size, patterns.bits, listed, key, 0, n)
    else:
        drawn = naive.skip_draws(users, chosen, key, 0, n)
    assert any(drawn) or chosen * users * n < 10
    noise, canary = naive.Stream(key, 0, 0), naive.Stream(key, 2, 0)
    for t in range(n):
        members = set(range(users)) - set(drawn[t]) if excluded else drawn[t]
        z = random.normal(np.uint64(noise.word(t)), np.uint64(key), 1, 0, t)
        expected = math.fsum([*weights[list(members)], tau * z, -0.25])
        assert abs(absent[t] - expected) < 1e-9 * tau
        step = 0.5 if canary.uniform(t) < q else 0.0
        assert present[t] - absent[t] == pytest.approx(step, abs=1e-9 * tau)


def test_rounding_stays_below_a_billionth_of_the_noise_for_many_users():
    # All of one sign, the worst case: uncentred totals near 1e4 τ would lose three digits more.
    users, q, n = 100_000, 0.1, 8
    weights = np.random.default_rng(0).random(users)
    seed = np.random.SeedSequence(3)
    call = audit(weights, q, sigma=1.0, offset=q * weights.sum())
    absent, _ = trials.scores(*call, n, seed)
    finer, _ = trials.scores(
        *audit(weights / 2, q, sigma=0.5, offset=q * weights.sum() / 2), n, seed
    )
    assert np.array_equal(absent, 2 * finer)
    quantised = np.round(weights * 2**20) / 2**20
    noiseless, _ = trials.scores(*audit(quantised, q, sigma=0.0, offset=0.0), n, seed)
    # Sums of multiples of 2⁻²⁰ are multiples of 2⁻²⁰: what is left over is rounding error.
    off_grid = np.abs(noiseless * 2**20 - np.round(noiseless * 2**20)) / 2**20
    assert off_grid.max() < 1e-9


def binomial_tail(n, q, step, tau, offset, threshold):
    """P(step·B + τZ − offset > threshold) for B ~ Binomial(n, q)."""
    return math.fsum(
        math.comb(n, k) * q**k * (1 - q) ** (n - k) * ndtr((k * step - offset - threshold) / tau)
        for k in range(n + 1)
    )


@pytest.mark.parametrize(
    ("users", "q"),
    [(1, 0.5), (7, 0.3), (23, 0.1), (50, 0.02), (60, 0.9), (40, 0.001), (50, 0.999), (100, 0.5)],
)
def test_counts_follow_the_exact_binomial_mixture(users, q):
    n, step, tau, shift = 1_000_000, 1.0, 0.4, 0.7
    thresholds = np.unique(
        np.quantile(
            np.random.default_rng(1).binomial(users, q, 10_000), [0.02, 0.3, 0.6, 0.9, 0.999]
        )
    )
    thresholds = np.concatenate((thresholds - 0.3, thresholds + 0.3))
    call = audit(np.full(users, step), q, sigma=tau, shift=shift, offset=0.0)
    counts = trials.error_counts_at(*call, thresholds, n, np.random.SeedSequence(users))
    for i, a in enumerate(thresholds):
        absent = binomial_tail(users, q, step, tau, 0.0, a)
        present = (1 - q) * absent + q * binomial_tail(users, q, step, tau, 0.0, a - shift)
        for rate, count in (
            (absent, counts.false_positives[i]),
            (present, counts.true_positives[i]),
        ):
            assert abs(count - n * rate) < 4.5 * math.sqrt(n * rate * (1 - rate)) + 5


@pytest.mark.parametrize(("users", "q"), [(8, 0.1), (8, 0.4), (8, 0.85), (8, 1e-3)])
def test_every_pattern_of_participants_has_its_probability(users, q):
    # Weights 1, 2, 4, …: without noise the score spells who took part.
    n = 2_000_000
    call = audit(2.0 ** np.arange(users), q, sigma=0.0, offset=0.0)
    absent, _ = trials.scores(*call, n, np.random.SeedSequence(5))
    pattern = np.rint(absent).astype(np.int64)
    assert np.abs(absent - pattern).max() < 1e-9
    size = np.bitwise_count(np.arange(2**users))
    expected = n * q**size * (1 - q) ** (users - size)
    observed = np.bincount(pattern, minlength=2**users)
    common = expected >= 5
    chi_square = ((observed - expected) ** 2 / expected)[common].sum()
    rare, rare_expected = observed[~common].sum(), expected[~common].sum()
    assert p_value(chi_square, common.sum() - 1) > 1e-3
    assert abs(rare - rare_expected) < 4.5 * math.sqrt(rare_expected) + 3


def test_subsets_of_one_size_are_equally_likely():
    weights, n = 2.0 ** np.arange(7), 35_000
    stream = naive.Stream(int(KEY), 6, 2)
    seen = {}
    for i in range(n):
        total = sampling.uniform_subset_sum(weights, 3, KEY, 6, 2, i)
        seen[total] = seen.get(total, 0) + 1
        if i < 200:
            assert total == sum(weights[j] for j in naive.floyd(7, 3, stream, 64 * i))
    assert len(seen) == 35
    assert all(int(total).bit_count() == 3 for total in seen)
    assert p_value(sum((count - 1000) ** 2 / 1000 for count in seen.values()), 34) > 1e-3


def test_trials_do_not_depend_on_each_other():
    call = audit(np.ones(30), 0.3, sigma=0.0, offset=0.0)
    absent, _ = trials.scores(*call, 400_000, np.random.SeedSequence(2))
    for lag in (1, 2, 3, 4, 8, sampling.BLOCK):
        assert abs(np.corrcoef(absent[:-lag], absent[lag:])[0, 1]) < 4.5 / math.sqrt(400_000 - lag)


def test_agrees_with_plain_sampling_on_unequal_weights():
    rng = np.random.default_rng(6)
    weights = np.concatenate((rng.standard_normal(80) * 0.2, [5.0], np.zeros(30)))
    plain = naive.scores(weights, 0.25, 0.5, 0.8, 0.15, 200_000, rng)
    call = audit(weights, 0.15, sigma=0.5, shift=0.8)
    found = trials.scores(*call, 200_000, np.random.SeedSequence(4))
    for a, b in zip(plain, found):
        grid = np.sort(np.concatenate((a, b)))
        gap = np.searchsorted(np.sort(a), grid, "right") - np.searchsorted(
            np.sort(b), grid, "right"
        )
        # Kolmogorov–Smirnov: 1.95·√(2/n) is the 0.1% point.
        assert np.abs(gap).max() / 200_000 < 1.95 * math.sqrt(2 / 200_000)


@given(st.integers(0, 2**32), st.integers(1, 200), st.floats(0, 1), st.integers(0, 60))
@settings(deadline=None, max_examples=60, derandomize=True)
def test_counts_are_those_of_the_scores(seed, n, q, users):
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 0.5, -0.3, 1.0], users)
    call = audit(weights, q, sigma=0.3 * float(rng.integers(0, 2)))
    absent, present = trials.scores(*call, n, np.random.SeedSequence(seed))
    # Thresholds among the scores themselves: ℓ > threshold, not ≥.
    thresholds = rng.permutation(np.concatenate((absent[:4], present[-4:], [np.inf, -np.inf])))
    counts = trials.error_counts_at(*call, thresholds, n, np.random.SeedSequence(seed))
    assert counts.false_positives.tolist() == [(absent > a).sum() for a in thresholds]
    assert counts.true_positives.tolist() == [(present > a).sum() for a in thresholds]
    one = trials.error_counts(*call, thresholds[0], n, np.random.SeedSequence(seed))
    assert one == trials.Counts(counts.true_positives[0], counts.false_positives[0], n)


def test_degenerate_mechanisms():
    weights, n, seed = np.array([1.0, 2.0, 4.0]), 1000, np.random.SeedSequence(1)
    for q, total, step in ((0.0, 0.0, 0.0), (1.0, 7.0, 0.5)):
        absent, present = trials.scores(*audit(weights, q, sigma=0.0, offset=0.0), n, seed)
        assert (absent == total).all()
        assert (present - absent == step).all()
    nobody = audit(np.zeros(0), 0.4, sigma=0.0, offset=0.0)
    absent, present = trials.scores(*nobody, n, seed)
    assert (absent == 0.0).all()
    assert set(present.tolist()) == {0.0, 0.5}


def test_users_without_weight_change_nothing():
    weights = np.random.default_rng(1).random(20)
    spread = np.zeros(50)
    spread[::2][:20] = weights
    seed = np.random.SeedSequence(9)
    first = trials.scores(*audit(weights, 0.2), 5000, seed)
    second = trials.scores(*audit(spread, 0.2), 5000, seed)
    assert np.array_equal(first, second)


def test_sparse_contributions_give_the_same_counts():
    score, contributions, canary, mechanism = audit(np.arange(30) % 4 / 8, 0.2)
    seed = np.random.SeedSequence(9)
    dense = trials.error_counts(score, contributions, canary, mechanism, 0.5, 9999, seed)
    sparse = trials.error_counts(
        score, csr_array(contributions), canary, mechanism, 0.5, 9999, seed
    )
    assert dense == sparse
    assert dense != trials.error_counts(
        score, contributions, canary, mechanism, 0.5, 9999, np.random.SeedSequence(10)
    )


THREADS = """
import json, sys
import numpy as np
from pe_core import Mechanism, threads
from pe_core.score import LinearScore
from pe_core.trials import error_counts
found = []
for q in (0.1, 1e-4, 0.7):
    users = np.random.default_rng(0).random((40, 1))
    score = LinearScore(np.array([1.0]), 2.0, 1.0)
    counts = error_counts(score, users, np.array([0.5]), Mechanism(40, q, 1.0, 1.0, 1e-5), 0.5,
                          400_000, np.random.SeedSequence(1))
    found.append([counts.true_positives, counts.false_positives])
print(json.dumps([threads.cores(), found]))
"""


def test_counts_are_the_same_for_any_number_of_threads():
    answers = []
    for threads in (1, 2, 7):
        done = subprocess.run(
            [sys.executable, "-c", THREADS],
            env={**os.environ, "NUMBA_NUM_THREADS": str(threads)},
            capture_output=True,
            text=True,
            check=True,
        )
        used, counts = json.loads(done.stdout)
        assert used == threads
        answers.append(counts)
    assert answers[0] == answers[1] == answers[2]


@given(st.integers(1, 300), st.floats(1e-6, 0.5))
@settings(deadline=None, max_examples=60, derandomize=True)
def test_a_plan_keeps_every_probability(users, q):
    size, patterns = inclusion.plan(users, q)
    if not patterns.bits:
        return
    members = np.zeros(patterns.parent.size, np.int64)
    for p in range(1, members.size):
        members[p] = members[patterns.parent[p]] + 1
    cells = np.zeros(size + 1)
    held = np.diff(patterns.first_cell)
    np.add.at(cells, members[: held.size], held)
    total = 1 << patterns.bits
    assert held.sum() <= total
    escape = np.diff(patterns.escape_below, prepend=0.0) * (total - held.sum()) / total
    binomial = [math.comb(size, k) * q**k * (1 - q) ** (size - k) for k in range(size + 1)]
    np.testing.assert_allclose(cells / total + escape, binomial, rtol=1e-9, atol=1e-15)
    counts = np.bincount(members)
    assert counts.tolist() == [math.comb(size, k) for k in range(counts.size)]
    assert np.diff(patterns.first_pattern).tolist() == counts.tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trials": 0}, "trials = 0"),
        ({"trials": 1.5}, "trials = 1.5"),
        ({"seed": 1}, "SeedSequence"),
        ({"contributions": np.zeros((3, 2))}, "shape"),
        ({"contributions": np.zeros((3, 1), np.float32)}, "float32"),
        ({"contributions": np.zeros((2, 1))}, "must agree"),
        ({"contributions": np.array([[0.0], [np.nan], [0.0]])}, "contributions: not finite at 1"),
        ({"canary": np.zeros(2)}, "canary"),
        ({"canary": np.array([np.inf])}, "canary: not finite"),
        ({"threshold": np.nan}, "without NaN"),
        ({"score": LinearScore(np.array([np.nan]), 0.0, 1.0)}, "not finite"),
    ],
)
def test_bad_input(changes, message):
    call = {
        "score": LinearScore(np.array([1.0]), 0.0, 1.0),
        "contributions": np.zeros((3, 1)),
        "canary": np.zeros(1),
        "mechanism": Mechanism(3, 0.1, 1.0, 0.1, 1e-5),
        "threshold": 0.0,
        "trials": 10,
        "seed": np.random.SeedSequence(1),
    }
    with pytest.raises(InputError, match=message):
        trials.error_counts(**{**call, **changes})
