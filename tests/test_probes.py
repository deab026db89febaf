import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_core import InputError
from pe_core.probes import round_robin, select, uniform
from pe_core.routing import Routes, merge_top_k
from tests.naive import probes as naive


def spd(rng, n, condition):
    """A covariance with the given condition number and random directions."""
    rotation, _ = np.linalg.qr(rng.standard_normal((n, n)))
    matrix = (rotation * np.geomspace(1.0, condition, n)) @ rotation.T
    return (matrix + matrix.T) / 2


def case(rng, levels=None):
    """A random problem; with levels, distances take few values, so that ties are everywhere."""
    m, k, pool = rng.integers(1, 7), rng.integers(1, 6), rng.integers(1, 13)
    budget = int(rng.integers(1, pool + 1))

    def draw(shape):
        return rng.integers(0, levels, shape) / 4 if levels else rng.random(shape)

    base = np.sort(draw((m, k)), axis=1)
    if rng.random() < 0.2:
        base[:, rng.integers(0, k) :] = np.inf
    distances = draw((m, pool))
    # Duplicated candidates, as round-robin paraphrases and repeated texts are.
    for _ in range(rng.integers(0, 4)):
        distances[:, rng.integers(0, pool)] = distances[:, rng.integers(0, pool)]
    return base, distances, budget


def bank_positions(rng, base, budget):
    """Positions of base entries, ascending among equal distances, and of the probes."""
    m, k = base.shape
    bank = rng.permutation(k * 3 + budget)
    positions, others = bank[:budget], bank[budget:]
    index = np.array([rng.permutation(others)[:k] for _ in range(m)])
    for row, distances in zip(index, base):
        for value in set(distances.tolist()):
            row[distances == value] = np.sort(row[distances == value])
    return index, positions


def compare(seed, levels, objective, condition):
    rng = np.random.default_rng(seed)
    base, distances, budget = case(rng, levels)
    pool = distances.shape[1]
    covariance = spd(rng, pool, condition) if objective == "mu_eff" else None
    index, positions = bank_positions(rng, base, budget)
    for ties in ({}, {"base_index": index, "positions": positions}):
        found = select(base, distances, budget, objective, covariance, **ties)
        sequence, scores = naive.select(base, distances, budget, covariance, *ties.values())
        assert found.sequence.tolist() == sequence
        if objective == "norm":
            assert found.scores.tolist() == scores
        else:
            np.testing.assert_allclose(found.scores, scores, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("objective", ["norm", "mu_eff"])
@pytest.mark.parametrize("levels", [None, 2, 4])
@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=60, derandomize=True)
def test_sequence_equals_the_plain_version(objective, levels, seed):
    compare(seed, levels, objective, 10.0 ** np.random.default_rng(seed).uniform(0, 3))


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["norm", "mu_eff"])
@pytest.mark.parametrize("levels", [None, 2, 4])
def test_sequence_equals_the_plain_version_on_thousands(objective, levels):
    for seed in range(1000):
        compare(seed + 10**10, levels, objective, 1e3)


@pytest.mark.parametrize("levels", [2, None])
def test_diagonal_covariances_force_tied_scores(levels):
    # All variances equal: J_mu_eff orders candidates as J_norm does, ties included.
    for seed in range(60):
        rng = np.random.default_rng(seed)
        base, distances, budget = case(rng, levels)
        by_norm = select(base, distances, budget, "norm")
        same = select(base, distances, budget, "mu_eff", 0.3 * np.eye(distances.shape[1]))
        assert same.sequence.tolist() == by_norm.sequence.tolist()
        np.testing.assert_allclose(same.scores * base.size**2 * 0.3, by_norm.scores, rtol=1e-12)


@pytest.mark.parametrize("exponent", [6, 9])
def test_ill_conditioned_steps_stay_within_the_stated_error(exponent):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        base, distances, budget = case(rng)
        covariance = spd(rng, distances.shape[1], 10.0**exponent)
        found = select(base, distances, budget, "mu_eff", covariance)
        for t in range(budget):
            before = found.sequence[:t].tolist()
            position = np.full(base.shape, -1)
            scores = naive.step_scores(base, position, distances, before, range(budget), covariance)
            chosen = scores[found.sequence[t]]
            allowed = 10.0**exponent * 1e-15
            assert chosen >= max(scores.values()) * (1 - 1e-12 - allowed)
            assert found.scores[t] == pytest.approx(chosen, rel=allowed)


@pytest.mark.parametrize("levels", [None, 3])
def test_votes_are_those_of_routing_on_the_whole_bank(levels):
    for seed in range(80):
        rng = np.random.default_rng(seed)
        base, distances, budget = case(rng, levels)
        base[~np.isfinite(base)] = 9.0
        index, positions = bank_positions(rng, base, budget)
        found = select(base, distances, budget, "norm", base_index=index, positions=positions)
        for t in range(1, budget + 1):
            routes = merge_top_k(
                Routes(index.astype(np.int32), base),
                positions[:t],
                np.ascontiguousarray(distances[:, found.sequence[:t]]),
                base.shape[1],
            )
            votes = [(routes.index == position).sum() for position in positions[:t]]
            assert found.scores[t - 1] == sum(n * n for n in votes)


@pytest.mark.parametrize(
    ("pool", "budget"), [(700, 200), pytest.param(8192, 512, marks=pytest.mark.slow)]
)
def test_a_large_pool_is_consistent_with_its_routes(pool, budget):
    # The plain version at each step would take minutes: only the chosen scores are computed again.
    rng = np.random.default_rng(5)
    base, distances = np.sort(rng.random((64, 5)), axis=1) + 0.3, rng.random((64, pool)) + 0.2
    factors = rng.standard_normal((300, pool)) / 300**0.5
    covariance = factors.T @ factors + 0.1 * np.eye(pool)
    found = select(base, distances, budget, "mu_eff", covariance)
    assert np.unique(found.sequence).size == budget
    position = np.full(base.shape, -1)
    for t in (1, 7, 40, budget):
        chosen = found.sequence[:t].tolist()
        votes = naive.counts(base, position, distances, chosen, range(budget))
        score = naive.objective(votes, chosen, covariance, base.size)
        assert found.scores[t - 1] == pytest.approx(score, rel=1e-11)


def test_duplicated_candidates_go_by_pool_index():
    base, distances = np.full((3, 2), 0.5), np.full((3, 5), 0.1)
    assert select(base, distances, 5, "norm").sequence.tolist() == [0, 1, 2, 3, 4]
    found = select(base, distances, 5, "mu_eff", np.eye(5))
    assert found.sequence.tolist() == [0, 1, 2, 3, 4]


def test_a_tie_with_a_base_entry_goes_to_the_lower_position():
    base, distances = np.array([[0.5]]), np.array([[0.5]])
    ties = {"base_index": np.array([[7]])}
    assert select(base, distances, 1, "norm").scores.tolist() == [0.0]
    for position, votes in ((6, 1.0), (8, 0.0)):
        found = select(base, distances, 1, "norm", positions=np.array([position]), **ties)
        assert found.scores.tolist() == [votes]


def test_singular_covariance_is_an_error_and_not_a_score():
    distances = np.full((2, 3), 0.1)
    for covariance in (np.ones((3, 3)), np.zeros((3, 3)), np.diag([1.0, -1.0, 1.0])):
        with pytest.raises(InputError, match="not positive definite"):
            select(np.ones((2, 2)), distances, 2, "mu_eff", covariance)


BASE, POOL = np.array([[0.1, 0.2], [0.1, 0.3]]), np.zeros((2, 3))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"base_distance": np.zeros((0, 2)), "pool_distance": np.zeros((0, 3))}, "a record"),
        ({"base_distance": BASE[:, ::-1]}, "must ascend"),
        ({"base_distance": np.array([[np.nan, 1.0]] * 2)}, "must ascend"),
        ({"base_distance": BASE.astype(np.float32)}, "float32"),
        ({"pool_distance": np.zeros((3, 3))}, "pool_distance 3"),
        ({"pool_distance": np.full((2, 3), np.inf)}, "not finite"),
        ({"pool_distance": np.zeros(3)}, "matrix"),
        ({"budget": 0}, "budget = 0"),
        ({"budget": 4}, "the pool's 3"),
        ({"budget": 1.5}, "whole number"),
        ({"objective": "mu"}, "allowed are 'norm' and 'mu_eff'"),
        ({"objective": "mu_eff"}, "needs it"),
        ({"covariance": np.eye(3)}, "belongs to"),
        ({"objective": "mu_eff", "covariance": np.eye(4)}, "3 candidates"),
        ({"objective": "mu_eff", "covariance": np.triu(np.ones((3, 3)))}, "not symmetric"),
        ({"objective": "mu_eff", "covariance": np.full((3, 3), np.nan)}, "not finite"),
        ({"positions": np.array([1, 2])}, "both or neither"),
        ({"positions": np.array([1, 1]), "base_index": np.array([[5, 6]] * 2)}, "must differ"),
        ({"positions": np.array([1, 5]), "base_index": np.array([[5, 6]] * 2)}, "must differ"),
        ({"positions": np.array([1.0, 2]), "base_index": np.array([[5, 6]] * 2)}, "integers"),
        (
            {
                "base_distance": np.full((2, 2), 0.5),
                "positions": np.array([1, 2]),
                "base_index": np.array([[6, 5]] * 2),
            },
            "order of their positions",
        ),
    ],
)
def test_bad_input(changes, message):
    call = {"base_distance": BASE, "pool_distance": POOL, "budget": 2, "objective": "norm"}
    with pytest.raises(InputError, match=message):
        select(**{**call, **changes})


def test_the_input_is_left_as_it_was():
    base, distances = BASE.copy(), POOL.copy()
    select(base, distances, 2, "norm")
    assert np.array_equal(base, BASE)
    assert np.array_equal(distances, POOL)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.data())
@settings(deadline=None, max_examples=100, derandomize=True)
def test_round_robin_takes_turns(source, data):
    budget = data.draw(st.integers(1, len(source)))
    queues = {record: [c for c, s in enumerate(source) if s == record] for record in set(source)}
    expected = []
    while any(queues.values()):
        expected += [queues[record].pop(0) for record in sorted(queues) if queues[record]]
    assert round_robin(source, budget).tolist() == expected[:budget]


def test_uniform_draws_every_pair_equally_often():
    rng = np.random.default_rng(8)
    counts = np.zeros((5, 5))
    for _ in range(4000):
        a, b = uniform(5, 2, rng)
        counts[a, b] += 1
    assert (np.diag(counts) == 0).all()
    expected = 4000 / 20
    chi_square = ((counts - expected) ** 2 / expected)[~np.eye(5, dtype=bool)].sum()
    assert chi_square < 43.8  # 99.9% point at 19 degrees of freedom


@pytest.mark.parametrize("source", [[0.5, 1.0], [[0, 1]]])
def test_bad_sources(source):
    with pytest.raises(InputError, match="source_record"):
        round_robin(source, 1)
    with pytest.raises(InputError, match="budget = 3"):
        uniform(2, 3, np.random.default_rng(0))
