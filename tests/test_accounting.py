"""The accountant against closed forms, mpmath, naive convolution, the paper and other libraries."""

import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from pe_core import AccuracyError, InputError, Mechanism
from pe_core.accounting import (
    Adjacency,
    Interval,
    account,
    delta_of,
    epsilon,
    epsilon_curve,
    group_epsilon,
    noise_multiplier_for,
    opacus_prv,
    releases_for,
)
from pe_core.accounting.contour import contour_delta
from pe_core.accounting.grid import compose, tilt_for_delta
from pe_core.accounting.quadrature import gaussian_delta, pair_delta
from pe_core.accounting.step import DIRECTIONS, Step, steps_of
from tests.naive import accounting as naive


def mechanism(q=0.1, sigma=1.0, releases=1, delta=1e-5):
    return Mechanism(1000, q, sigma, 0.1, delta, releases=releases)


# adjacency, q, σ, T, δ, ε, tolerance: known figures, the paper's among them, to their last digit.
ANCHORS = [
    ("add_remove", 0.1, 1.0, 1, 1e-5, 1.6845438, 5e-8),
    ("substitute", 0.1, 1.0, 1, 1e-5, 1.7891546, 5e-8),
    ("substitute_votes", 0.1, 1.0, 1, 1e-5, 1.7082, 5e-5),
    ("add_remove", 0.1, 0.05, 1, 1e-5, 271.16, 5e-3),
    ("add_remove", 1e-4, 1.0, 1, 1e-5, 2.19076e-4, 5e-10),
    ("add_remove", 1.0, 1.0, 1, 1e-5, 4.37718, 5e-6),
    ("substitute", 1.0, 1.0, 1, 1e-5, 9.99726, 5e-6),
    ("substitute_votes", 1.0, 1.0, 1, 1e-5, 6.573, 5e-4),
    ("add_remove", 0.1, 1.1088, 6, 1e-5, 1.989819, 1e-6),
    ("substitute", 0.1, 1.1088, 1, 1e-5, 1.43862, 5e-6),
    ("substitute", 0.1, 1.1088, 6, 1e-5, 2.37043, 5e-6),
    ("substitute_votes", 0.1, 1.1088, 1, 1e-5, 1.357, 5e-4),
    ("substitute_votes", 0.1, 1.1088, 2, 1e-5, 1.574, 6e-4),
    ("substitute_votes", 0.1, 1.1088, 3, 1e-5, 1.736, 5e-4),
    ("substitute_votes", 0.1, 1.1088, 4, 1e-5, 1.875, 5e-4),
    ("substitute_votes", 0.1, 1.1088, 5, 1e-5, 2.000, 5e-4),
    ("substitute_votes", 0.1, 1.1088, 6, 1e-5, 2.114, 5e-4),
]


@pytest.mark.parametrize(("adjacency", "q", "sigma", "releases", "delta", "value", "tol"), ANCHORS)
def test_anchors(adjacency, q, sigma, releases, delta, value, tol):
    found = epsilon(mechanism(q, sigma, releases, delta), adjacency)
    assert found.low <= found.estimate <= found.high
    assert found.estimate == pytest.approx(value, abs=tol)
    assert found.high - found.low <= 1e-3 * found.high


@pytest.mark.parametrize(
    ("sigma", "releases", "value"),
    [(1.0, 1, 1.695), (1.1088, 1, 1.345), (1.1088, 3, 1.682), (1.1088, 6, 2.000)],
)
def test_the_papers_figures(sigma, releases, value):
    assert opacus_prv(mechanism(0.1, sigma, releases)) == pytest.approx(value, abs=5e-4)


def test_opacus_is_an_upper_end_about_a_hundredth_high():
    found = epsilon(mechanism())
    assert 0.009 < opacus_prv(mechanism()) - found.estimate < 0.0115
    # Where the truth is far below its error allowance, Opacus returns the allowance.
    assert opacus_prv(mechanism(1e-4)) == pytest.approx(0.00999, abs=1e-5)


def test_opacus_says_where_it_cannot_answer():
    with pytest.raises(AccuracyError, match="cells"):
        opacus_prv(mechanism(releases=100_000))
    with pytest.raises(AccuracyError, match="Opacus"):
        opacus_prv(mechanism(delta=1e-16))


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("sigma", [0.0, 1.0])
def test_edges_in_their_order(adjacency, sigma):
    cap = 1 - 0.9**3
    for zero in (
        mechanism(0.0, sigma, 3, 0.0),
        mechanism(0.1, sigma, 0, 0.0),
        mechanism(0.1, sigma, 3, cap + 1e-12),
        mechanism(0.1, sigma, 3, 1.0),
    ):
        assert epsilon(zero, adjacency) == Interval(0.0, 0.0, 0.0)
    assert epsilon(mechanism(0.1, sigma, 3, 0.0), adjacency).high == math.inf
    assert epsilon(mechanism(1.0, sigma, 1, 0.0), adjacency).high == math.inf
    no_noise = epsilon(mechanism(0.1, 0.0, 3, cap - 1e-12), adjacency)
    assert no_noise == Interval(math.inf, math.inf, math.inf)


def test_edges_of_the_other_functions():
    assert opacus_prv(mechanism(0.0, 0.0)) == 0.0
    assert opacus_prv(mechanism(0.1, 0.0)) == math.inf
    assert opacus_prv(mechanism(1.0)) == pytest.approx(4.37718 + 0.01, abs=1e-3)
    assert delta_of(mechanism(0.1, 0.0, 2), 5.0).estimate == pytest.approx(0.19)
    assert delta_of(mechanism(0.0, 0.0), 0.0).estimate == 0.0
    assert delta_of(mechanism(), math.inf).estimate == 0.0
    assert group_epsilon(mechanism(0.1, 0.0)).low == math.inf
    assert noise_multiplier_for(1.0, mechanism(0.0)) == 0.0
    assert noise_multiplier_for(math.inf, mechanism(0.1)) == 0.0


@pytest.mark.parametrize("bad", [-1e-9, 1.5, math.nan, "x", True])
def test_a_bad_delta_is_named(bad):
    with pytest.raises(InputError, match="delta"):
        epsilon(mechanism(), delta=bad)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="add_remove, substitute, substitute_votes"):
        epsilon(mechanism(), "replace")
    with pytest.raises(InputError, match="epsilon"):
        delta_of(mechanism(), -1.0)
    with pytest.raises(InputError, match="epsilon"):
        noise_multiplier_for(math.nan, mechanism())
    with pytest.raises(InputError, match="certified, opacus"):
        releases_for(1.0, mechanism(), accountant="rdp")
    with pytest.raises(InputError, match="add_remove only"):
        releases_for(1.0, mechanism(), "substitute", accountant="opacus")


@settings(deadline=None, max_examples=25, derandomize=True)
@given(
    kind=st.sampled_from(["remove", "add", "antipodal"]),
    q=st.floats(1e-4, 0.99),
    sigma=st.floats(0.2, 20.0),
    share=st.floats(0.0, 1.2),
)
def test_quadrature_equals_mpmath(kind, q, sigma, share):
    # ε up to past the largest loss that occurs with probability 1e-16 or so.
    epsilon_at = share * float(abs(Step(kind, q, sigma).loss(np.array(8.0 + 1.0 / sigma))))
    expected = naive.line_delta(kind, q, sigma, epsilon_at)
    found = pair_delta((kind,), q, sigma, epsilon_at)
    assert found == pytest.approx(expected, rel=2e-9, abs=1e-25)


def test_orthogonal_quadrature_equals_the_plane():
    expected = naive.plane_delta(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.1, 1.0, 0.5)
    assert pair_delta(("remove", "add"), 0.1, 1.0, 0.5) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("q", "sigma", "delta"),
    [
        # μ is so small that the terms of δ nearly cancel.
        (0.25, 2e5, 1e-15),
        (1 - 2e-4, 2e7, 1e-10),
        # The greatest loss of `add` is −log(1 − q).
        (1 - 1e-10, 0.1, 1e-12),
        (0.999, 0.05, 1e-13),
        (1e-4, 0.1, 1e-14),
    ],
)
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
def test_ends_hold_where_doubles_run_out(q, sigma, delta, adjacency):
    found = account(mechanism(q, sigma, delta=delta), adjacency).directions
    for name, (kind,) in DIRECTIONS[Adjacency(adjacency)].items():
        ends = found[name].low, found[name].high
        at_low, at_high = (naive.line_delta(kind, q, sigma, end) for end in ends)
        assert at_high < delta < at_low


@settings(deadline=None, max_examples=40, derandomize=True)
@given(
    kind=st.sampled_from(["remove", "add", "antipodal"]),
    q=st.floats(1e-6, 1.0),
    sigma=st.floats(0.05, 50.0),
    z=st.floats(-6.0, 6.0),
)
def test_position_inverts_the_loss(kind, q, sigma, z):
    step = Step(kind, q, sigma)
    at = np.array(z + 0.5 / sigma)
    loss = step.loss(at)
    slope = float(step.loss(at + 1e-3) - step.loss(at - 1e-3)) / 2e-3
    # Where the loss is flat, many z share it to the last bit; an antipodal one is a difference of
    # logarithms of mixtures, which are right to 1e-16.
    if abs(slope) > 1e-6 * abs(float(loss)) + 1e-9:
        assert float(step.position(loss)) == pytest.approx(float(at), abs=1e-6)


@settings(deadline=None, max_examples=8, derandomize=True)
@given(
    kinds=st.sampled_from([("remove",), ("add",), ("antipodal",), ("remove", "add")]),
    q=st.floats(0.05, 0.9),
    sigma=st.floats(0.8, 3.0),
    releases=st.integers(2, 4),
    delta=st.floats(1e-6, 1e-2),
)
def test_grid_and_contour_lie_between_naive_roundings(kinds, q, sigma, releases, delta):
    steps = steps_of(kinds, q, sigma, releases, delta)
    tilt = tilt_for_delta(steps, releases, delta)
    composition = compose(steps, releases, tilt, delta)
    at = composition.epsilon(delta)
    assert at.low <= at.estimate <= at.high
    middle = at.estimate
    low, high = naive.bucket_bounds(kinds, q, sigma, releases, middle, gap=1e-2)
    found = composition.delta(middle)
    assert low <= found.high
    assert found.low <= high
    assert low - 1e-14 <= found.estimate <= high + 1e-14
    contour = contour_delta(steps, releases, tilt, middle, delta)
    assert max(contour.low, found.low) <= min(contour.high, found.high)
    assert found.estimate == pytest.approx(
        contour.estimate, rel=1e-5, abs=contour.high - contour.low
    )


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("releases", [1, 7, 100_000])
def test_the_plain_gaussian_composes_in_closed_form(adjacency, releases):
    """With q = 1 the grid must agree with one Gaussian of separation √T·μ."""
    separation = {"add_remove": 1.0, "substitute_votes": math.sqrt(2), "substitute": 2.0}
    mu = separation[adjacency] * math.sqrt(releases) / 30.0
    kinds = {
        "add_remove": ("remove",),
        "substitute": ("antipodal",),
        "substitute_votes": ("remove", "add"),
    }[adjacency]
    for delta in (1e-16, 1e-5, 0.01):
        steps = steps_of(kinds, 1.0, 30.0, releases, delta)
        grid = compose(steps, releases, tilt_for_delta(steps, releases, delta), delta)
        found = grid.epsilon(delta)
        for end, sign in ((found.low, 1), (found.high, -1)):
            assert sign * (gaussian_delta(mu, end) - delta) >= -1e-6 * delta
        if found.estimate > 0.0:
            assert gaussian_delta(mu, found.estimate) == pytest.approx(delta, rel=1e-3)


@pytest.mark.parametrize("releases", [1, 20])
def test_the_ends_hold_on_a_coarse_mesh_too(monkeypatch, releases):
    """Where rounding is plain to see, the truth lies between the ends, strictly."""
    from pe_core.accounting import grid

    monkeypatch.setattr(grid, "_STEP_CELLS", 40)
    monkeypatch.setattr(grid, "_MAX_CELLS", 400)
    steps = steps_of(("remove",), 1.0, 3.0, releases, 1e-5)
    composition = compose(steps, releases, tilt_for_delta(steps, releases, 1e-5), 1e-5)
    found = composition.epsilon(1e-5)
    mu = math.sqrt(releases) / 3.0
    assert gaussian_delta(mu, found.high) < 0.999e-5
    assert gaussian_delta(mu, found.low) > 1e-5


@settings(deadline=None, max_examples=50, derandomize=True)
@given(mu=st.floats(0.01, 30.0), share=st.floats(0.0, 1.0))
def test_gaussian_delta_is_the_textbook_formula(mu, share):
    epsilon_at = share * (mu * mu / 2 + 6 * mu)
    expected = ndtr(mu / 2 - epsilon_at / mu) - math.exp(epsilon_at) * ndtr(
        -mu / 2 - epsilon_at / mu
    )
    assert gaussian_delta(mu, epsilon_at) == pytest.approx(expected, rel=1e-8, abs=1e-13)


def test_a_hundred_releases_count_as_a_hundred():
    hundred = epsilon(mechanism(0.01, 1.0, 100))
    assert hundred.low > 3 * epsilon(mechanism(0.01, 1.0, 1)).high
    # Subsampled Gaussians add up about as separations do: √T, here between T = 50 and T = 200.
    assert epsilon(mechanism(0.01, 1.0, 50)).high < hundred.low
    assert hundred.high < epsilon(mechanism(0.01, 1.0, 200)).low


@pytest.mark.parametrize(
    ("q", "sigma", "delta"), [(0.1, 1.0, 1e-5), (1e-6, 0.02, 1e-5), (0.5, 100.0, 1e-16)]
)
def test_a_hundred_thousand_releases_fit(q, sigma, delta):
    tracemalloc.start()
    found = epsilon(mechanism(q, sigma, 100_000, delta))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e9
    assert 0.98 * found.high < found.low <= found.estimate <= found.high


def test_back_ends_and_directions_are_said():
    found = account(mechanism())
    assert found.dominant == "remove"
    assert found.directions["remove"].estimate > found.directions["add"].estimate
    assert found.back_ends == ("grid", "quadrature", "dp-accounting")
    assert account(mechanism(releases=3)).back_ends == ("grid", "contour", "dp-accounting")
    assert account(mechanism(releases=3, delta=1e-12)).back_ends == ("grid", "contour")
    assert account(mechanism(0.0)).back_ends == ()


@pytest.mark.parametrize("back_end", ["contour_delta", "library_delta"])
def test_a_disagreement_is_an_error(monkeypatch, back_end):
    import sys

    module = sys.modules["pe_core.accounting.account"]
    wrong = Interval(1.1e-5, 1.1e-5, 1.1e-5)
    monkeypatch.setattr(module, back_end, lambda *_: wrong)
    with pytest.raises(AccuracyError, match="disagree"):
        epsilon(mechanism(releases=2))


def test_delta_of_inverts_epsilon():
    for adjacency in Adjacency:
        for releases in (1, 4):
            m = mechanism(0.2, 1.5, releases, 1e-7)
            at = epsilon(m, adjacency)
            back = delta_of(m, at.estimate, adjacency)
            assert back.low <= 1e-7 <= back.high
            assert back.estimate == pytest.approx(1e-7, rel=1e-5)
    # δ(0) is the total variation distance: here 0.1·(Φ(1/2) − Φ(−1/2)).
    assert delta_of(mechanism(), 0.0).estimate == pytest.approx(0.1 * (2 * ndtr(0.5) - 1), rel=1e-8)


def test_the_curve_falls():
    deltas = [1e-12, 1e-8, 1e-5, 1e-2]
    values = [found.estimate for found in epsilon_curve(mechanism(), deltas, "substitute_votes")]
    assert values == sorted(values, reverse=True)
    assert values[2] == pytest.approx(1.7082, abs=5e-5)


@pytest.mark.parametrize("releases", [1, 3])
def test_adjacencies_stand_in_order(releases):
    m = mechanism(0.3, 2.0, releases, 1e-6)
    one, votes, any_two = (
        epsilon(m, each) for each in ("add_remove", "substitute_votes", "substitute")
    )
    assert one.high < votes.low < votes.high < any_two.low


@settings(deadline=None, max_examples=30, derandomize=True)
@given(
    lengths=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
    angle=st.floats(0.0, math.pi / 2),
    q=st.floats(0.05, 1.0),
    epsilon_at=st.floats(-1.0, 2.0),
)
def test_no_pair_of_votes_is_worse_than_the_orthogonal_one(lengths, angle, q, epsilon_at):
    """The theorem of docs/adjacency.md, at random norms and angles up to 90°, ε of either sign."""
    first = lengths[0] * np.array([1.0, 0.0])
    second = lengths[1] * np.array([math.cos(angle), math.sin(angle)])
    found = naive.plane_delta(first, second, q, 1.0, epsilon_at, spacing=0.05)
    worst = naive.plane_delta(
        np.array([1.0, 0.0]), np.array([0.0, 1.0]), q, 1.0, epsilon_at, spacing=0.05
    )
    assert found <= worst + 1e-4 * max(worst, 1e-3)


def test_the_papers_noise_multiplier():
    m = mechanism(0.1, 1.0, 6)
    sigma = noise_multiplier_for(2.0, m, accountant="opacus")
    assert sigma == pytest.approx(1.1088, abs=5e-5)
    assert opacus_prv(replace(m, noise_multiplier=sigma)) <= 2.0


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_noise_is_never_short(adjacency):
    m = mechanism(0.1, 1.0, 1)
    sigma = noise_multiplier_for(1.5, m, adjacency)
    assert epsilon(replace(m, noise_multiplier=sigma), adjacency).high <= 1.5
    assert epsilon(replace(m, noise_multiplier=sigma * (1 - 1e-5)), adjacency).high > 1.5


def test_noise_out_of_reach_says_so():
    with pytest.raises(InputError, match="out of reach"):
        noise_multiplier_for(1e-6, mechanism(0.9, 1.0, 1, 1e-9))
    with pytest.raises(InputError, match="out of reach"):
        noise_multiplier_for(1.0, mechanism(delta=0.0))
    # A budget that the least σ meets already ends there.
    assert noise_multiplier_for(1e6, mechanism()) == 0.02


def test_releases_are_never_too_many():
    m = mechanism(1.0, 3.0, 1)
    most = releases_for(4.0, m)
    assert epsilon(replace(m, releases=most)).high <= 4.0
    assert epsilon(replace(m, releases=most + 1)).high > 4.0
    # (μ√T)-Gaussian: T = 9 with σ = 3 is T = 1 with σ = 1.
    assert releases_for(4.3772, m) == 9
    assert releases_for(4.3772, m, most=5) == 5
    assert releases_for(1.0, mechanism(0.0), most=7) == 7
    with pytest.raises(InputError, match="not even one"):
        releases_for(0.1, m)


def test_group_privacy_solves_its_equation():
    m = mechanism()
    found = group_epsilon(m)
    # δ′ from the definition, by asking δ at half the ε.
    share = delta_of(m, found.estimate / 2).estimate
    assert (1 + math.exp(found.estimate / 2)) * share == pytest.approx(1e-5, rel=1e-6)
    # Its ends hold: with ε and δ at either, the equation's left side is on its own side of δ.
    for q, sigma, delta in ((0.2, 0.8, 4.3e-5), (0.07, 0.7, 1.6e-8), (0.02, 3.0, 2e-4)):
        ends = group_epsilon(mechanism(q, sigma, delta=delta))
        at_low, at_high = (
            (1 + math.exp(end / 2))
            * max(naive.line_delta(kind, q, sigma, end / 2) for kind in ("remove", "add"))
            for end in (ends.low, ends.high)
        )
        assert at_high < delta < at_low
    # It is what add/remove implies for a substitution, so it lies above the direct account.
    assert found.low > epsilon(m, "substitute").high
