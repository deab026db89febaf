import numpy as np
import pytest
from scipy import stats

from pe_core import InputError, Mechanism, background, best, bounds, exact, seeds, threshold, trials
from pe_core.evolution.prefixes import RoundTest, audit, prefix_counts
from pe_core.score import LinearScore, mixture

MECHANISM = Mechanism(30, 0.1, 1.1088, 0.1, 1e-5)
TRIALS = 40_000
TAIL = 0.0125


def round_test(t, mechanism=MECHANISM, norm=1.0):
    """One round's users and canary on five probes, by made-up numbers."""
    rng = seeds.generator(6, "users", t)

    def users(n):
        rows = 0.02 * np.abs(rng.standard_normal((n, 5))) * (rng.random((n, 5)) < 0.3)
        return np.ascontiguousarray(rows)

    canary = np.abs(rng.standard_normal(5))
    canary *= norm * mechanism.clip / np.linalg.norm(canary)
    model = background.estimate(users(20), mechanism)
    score = LinearScore.fit(canary, model, mechanism)
    return RoundTest(score, users(15), users(mechanism.population), canary)


def streams(rounds, name="trials"):
    return [seeds.sequence(6, name, t) for t in range(rounds)]


def test_one_release_is_the_single_release_audit_to_the_last_digit():
    test, (stream,) = round_test(1), streams(1)
    (found,) = audit([test], MECHANISM, TRIALS, TAIL, [stream])
    fixed = threshold.calibrate(test.score, test.calibration, test.canary, MECHANISM, TRIALS, TAIL)
    counts = trials.error_counts(
        test.score, test.contributions, test.canary, MECHANISM, fixed, TRIALS, streams(1)[0]
    )
    linear = exact.linear_test(test.score, test.contributions, test.canary, MECHANISM)
    assert found.releases == 1
    assert found.threshold == fixed
    assert found.counts == counts
    assert found.lower == bounds.epsilon_lower(
        counts.true_positives, TRIALS, counts.false_positives, TRIALS, 1e-5, TAIL
    )
    assert found.exact == linear.epsilon(fixed, 1e-5)
    assert found.exact_best == best.best_epsilon(linear, 1e-5).epsilon
    assert 0 < counts.false_positives < counts.true_positives


def test_further_rounds_do_not_change_an_earlier_prefix():
    tests = [round_test(t) for t in range(2)]
    once = audit(tests[:1], MECHANISM, TRIALS, TAIL, streams(1), 1e-2)
    twice = audit(tests, MECHANISM, TRIALS, TAIL, streams(2), 1e-2)
    assert twice[:1] == once


def test_counts_are_those_of_the_summed_scores():
    tests = [round_test(t) for t in range(3)]
    limits = [0.5, 0.4, 0.3]
    counts = prefix_counts(tests, MECHANISM, limits, 5000, streams(3))
    total = np.zeros((2, 5000))
    for t, (test, stream) in enumerate(zip(tests, streams(3))):
        ell = trials.scores(test.score, test.contributions, test.canary, MECHANISM, 5000, stream)
        total += [mixture(each, 0.1) for each in ell]
        if t:
            assert counts[t].false_positives == (total[0] > limits[t]).sum()
            assert counts[t].true_positives == (total[1] > limits[t]).sum()
        else:
            assert counts[0].false_positives == (ell[0] > limits[0]).sum()
            assert counts[0].true_positives == (ell[1] > limits[0]).sum()


def test_the_canary_takes_part_anew_in_every_round():
    """Almost no noise: a sum above its all-absent value says that it took part at least once."""
    mechanism = Mechanism(0, 0.2, 0.1, 0.1, 1e-5)
    canary = np.array([0.1])
    score = LinearScore.fit(canary, background.Background(np.zeros(1), np.eye(1) * 1e-4), mechanism)
    none = np.zeros((0, 1))
    test = RoundTest(score, none, none, canary)
    n, rounds = 20_000, 4
    counts = prefix_counts([test] * rounds, mechanism, [0.0] * rounds, n, streams(rounds))
    for t, found in enumerate(counts, 1):
        assert found.false_positives == 0
        chance = 1 - 0.8**t
        assert stats.binomtest(found.true_positives, n, chance).pvalue > 1e-3


def test_trials_agree_with_the_exact_rates():
    tests = [round_test(t) for t in range(3)]
    found = audit(tests, MECHANISM, TRIALS, TAIL, streams(3), 1e-3)
    for each in found:
        # The same pair of data sets: what trials prove is below what the true rates prove, but for
        # the tail of the bound; and the calibrated threshold is no better than the best.
        assert 0.0 < each.lower <= each.exact_best
        assert each.exact <= each.exact_best
    assert [each.exact_best for each in found] == sorted(each.exact_best for each in found)


def test_an_ideal_canary_reaches_what_the_accountant_allows():
    """μ_eff = 1: nobody else on the probes, and the whole clip on one of them."""
    mechanism = Mechanism(0, 0.1, 1.1088, 0.1, 1e-5)
    canary = np.array([0.1])
    model = background.Background(np.zeros(1), np.eye(1) * mechanism.noise_scale**2)
    none = np.zeros((0, 1))
    test = RoundTest(LinearScore.fit(canary, model, mechanism), none, none, canary)
    found = audit([test] * 6, mechanism, 1000, TAIL, streams(6), 1e-3)
    # The paper's figures are upper ends about 0.01 above the truth; six meshes a round are lost.
    for each, paper in zip(found, [1.345, 1.540, 1.682, 1.800, 1.905, 2.000]):
        assert paper - 0.011 - 0.006 * each.releases < each.exact_best < paper


def test_a_round_without_a_vote_on_the_probes_adds_nothing():
    telling, silent = round_test(1), round_test(2, norm=0.0)
    assert silent.score.separation == 0.0
    found = audit([telling, silent, telling], MECHANISM, TRIALS, TAIL, streams(3), 1e-2)
    alone = audit([telling, telling], MECHANISM, TRIALS, TAIL, streams(2), 1e-2)
    assert found[2].exact_best == alone[1].exact_best
    assert found[2].threshold == alone[1].threshold
    nothing = audit([silent, silent], MECHANISM, TRIALS, TAIL, streams(2))
    assert [(e.lower, e.exact, e.exact_best) for e in nothing] == [(0.0, 0.0, 0.0)] * 2


def test_the_threshold_is_the_calibration_users_and_not_the_tested():
    tests = [round_test(t) for t in range(2)]
    other = [
        RoundTest(t.score, t.calibration, t.contributions[::-1] * 0.5, t.canary) for t in tests
    ]
    found = [audit(each, MECHANISM, TRIALS, TAIL, streams(2), 1e-2) for each in (tests, other)]
    assert [e.threshold for e in found[0]] == [e.threshold for e in found[1]]
    assert found[0] != found[1]


def test_one_of_each_is_needed_for_every_round():
    with pytest.raises(InputError, match="2 tests and 1 seeds"):
        audit([round_test(1)] * 2, MECHANISM, 10, TAIL, streams(1))
    with pytest.raises(InputError, match="0 tests and 0 seeds"):
        audit([], MECHANISM, 10, TAIL, [])
    with pytest.raises(InputError, match="1 tests, 2 thresholds and 1 seeds"):
        prefix_counts([round_test(1)], MECHANISM, [0.0, 1.0], 10, streams(1))
