import numpy as np
import pytest

from pe_core import InputError
from pe_core.text import utility


def cloud(n, centre=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, 8)) + centre).astype(np.float32)


def test_the_value_is_the_packages_over_clusterings():
    from mauve import compute_mauve

    a, b = cloud(80, 0.4, 1), cloud(200, 0.0, 2)
    expected = [
        compute_mauve(p_features=a, q_features=b, kmeans_num_redo=1, seed=seed).mauve
        for seed in range(5)
    ]
    assert 0.0 < min(expected) < max(expected) < 1.0
    assert utility.mauve(a, b, 1, np.random.default_rng(0)).value == pytest.approx(
        np.mean(expected), rel=1e-12
    )


def test_farther_is_less_and_the_interval_holds_the_value():
    reference = cloud(400, 0.0, 3)
    found = [
        utility.mauve(cloud(200, centre, 4), reference, 40, np.random.default_rng(1))
        for centre in (0.0, 0.3, 2.0)
    ]
    values = [each.value for each in found]
    assert values == sorted(values, reverse=True)
    for each in found:
        assert 0.0 <= each.low <= each.value <= each.high <= 1.0
    assert found[1].low < found[1].high


def test_the_interval_covers_the_mean_score_of_sets_of_these_sizes():
    rng = np.random.default_rng(5)
    p, q = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.3, 0.2, 0.1])
    n, m = 60, 90

    def histograms():
        return rng.multinomial(n, p) / n, rng.multinomial(m, q) / m

    truth = np.mean([utility._score(*histograms()) for _ in range(300)])
    runs = 40
    found = [utility._with_interval([histograms()], (n, m), 60, rng) for _ in range(runs)]
    inside = sum(each.low <= truth <= each.high for each in found)
    # 95% nominally: three standard deviations, and some for quantiles of sixty resamples.
    assert inside >= (0.95 - 3 * np.sqrt(0.05 * 0.95 / runs) - 0.05) * runs


@pytest.mark.parametrize("rows", [np.ones((1, 8), np.float32), np.ones(8, np.float32)])
def test_two_texts_a_side_are_needed(rows):
    with pytest.raises(InputError, match="features of shape"):
        utility.mauve(rows, cloud(9), 1, np.random.default_rng(0))


def test_one_encoder_is_needed():
    with pytest.raises(InputError, match="features have 8 columns, the reference 3"):
        utility.mauve(cloud(9), cloud(9)[:, :3], 1, np.random.default_rng(0))


def test_distinct_counts_runs_of_words():
    assert utility.distinct(["a b a b"], 1) == 2 / 4
    assert utility.distinct(["a b a b"], 2) == 2 / 3
    # Runs do not cross texts, case and punctuation do not count, apostrophes stay in a word.
    assert utility.distinct(["A b", "b, a", "a B!"], 2) == 2 / 3
    assert utility.distinct(["o'er", "o er"], 1) == 1.0
    assert utility.distinct(["one", ""], 2) == 0.0
    with pytest.raises(InputError, match="n = 0"):
        utility.distinct([], 0)
