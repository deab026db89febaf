import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_core import InputError, Mechanism
from pe_core.dpsgd import Examples, Network, Training, train_reference
from pe_core.dpsgd.network import accuracy, confidence, gradient_factors
from pe_core.dpsgd.training import Block, Coordinate, trajectory
from tests.naive import dpsgd as naive

SHAPES = [(), (4,), (5, 3)]


def problem(seed, hidden=(), records=7, features=3, classes=3, dtype=np.float64):
    random = np.random.default_rng(seed)
    data = Examples(
        random.normal(size=(records, features)).astype(dtype),
        random.integers(0, classes, records),
        classes,
    )
    start = [random.normal(size=shape) for shape in Network(features, classes, hidden).shapes]
    return random, data, start


def block(start, data, runs, clip=0.5, batch=2.0, rate=0.3, optimizer="sgd", **canary):
    return Block(
        start, data, runs, clip=clip, batch=batch, learning_rate=rate, optimizer=optimizer, **canary
    )


@settings(deadline=None, max_examples=40, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    hidden=st.sampled_from(SHAPES),
    records=st.integers(1, 9),
    features=st.integers(1, 5),
    classes=st.integers(2, 4),
    clip=st.sampled_from([1e-3, 0.5, 1e3]),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    gradient=st.booleans(),
)
def test_clipped_sums_equal_the_plain_ones(
    seed, hidden, records, features, classes, clip, share, gradient
):
    random, data, start = problem(seed, hidden, records, features, classes)
    data.features[records // 2] = data.features[0]  # a duplicate
    canary = Coordinate(len(start) - 1, 1, -clip) if gradient else None
    own = block(start, data, 3, clip, canary=0 if gradient else None, gradient=canary)
    for layer in own.weights:
        layer += random.normal(size=layer.shape)  # runs that differ
    sampled = random.random((3, records)) < share
    found = own.clipped_sums(sampled)
    for run in range(3):
        weights = [layer[run] for layer in own.weights]
        replacement = [np.zeros_like(layer) for layer in weights]
        replacement[-1].flat[1] = -clip
        expected = naive.clipped_sum(
            weights, data.features, data.labels, sampled[run], clip,
            0 if gradient else None, replacement,
        )  # fmt: skip
        for a, b in zip(found, expected):
            np.testing.assert_allclose(a[run], b, rtol=1e-9, atol=1e-12 * max(clip, 1.0))


@pytest.mark.parametrize("hidden", SHAPES)
def test_the_plain_gradient_is_the_slope_of_the_loss(hidden):
    _, data, start = problem(3, hidden)
    found = naive.gradient(start, data.features[0], data.labels[0])
    for number, layer in enumerate(start):
        for at in range(layer.size):
            ends = []
            for step in (1e-6, -1e-6):
                moved = copy.deepcopy(start)
                moved[number].flat[at] += step
                ends.append(naive.loss(moved, data.features[0], data.labels[0]))
            assert found[number].flat[at] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)


@pytest.mark.parametrize("hidden", SHAPES)
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_steps_equal_the_plain_ones(hidden, optimizer):
    random, data, start = problem(1, hidden)
    own = block(start, data, 2, optimizer=optimizer)
    plain = [start, start]
    moments = [[[np.zeros_like(layer) for layer in start] for _ in "mv"] for _ in plain]
    for step in range(1, 6):
        sampled = random.random((2, data.count)) < 0.5
        noise = [random.normal(size=layer.shape) for layer in own.weights]
        own.step(sampled, [layer.copy() for layer in noise])
        for run in range(2):
            total = naive.clipped_sum(plain[run], data.features, data.labels, sampled[run], 0.5)
            mean = [(a + b[run]) / 2.0 for a, b in zip(total, noise)]
            if optimizer == "sgd":
                plain[run] = naive.sgd(plain[run], mean, 0.3)
            else:
                plain[run], *moments[run] = naive.adam(plain[run], mean, *moments[run], 0.3, step)
    for run in range(2):
        for a, b in zip(own.weights, plain[run]):
            np.testing.assert_allclose(a[run], b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("hidden", "optimizer"), [((), "sgd"), ((6, 5), "sgd"), ((6, 5), "adam")])
@pytest.mark.filterwarnings("ignore")
def test_the_update_is_that_of_opacus(monkeypatch, hidden, optimizer, dtype):
    torch = pytest.importorskip("torch")
    pytest.importorskip("opacus")
    from opacus.grad_sample import GradSampleModule
    from opacus.optimizers import DPOptimizer
    from opacus.optimizers import optimizer as opacus_optimizer

    random, data, start = problem(5, hidden, records=20, features=8, dtype=dtype)
    clip, sigma, rate, batch = 0.8, 0.7, 0.01, 10.0
    widths = [8, *hidden, 3]
    layers = []
    for number in range(len(widths) - 1):
        linear = torch.nn.Linear(widths[number], widths[number + 1])
        layers += [linear, torch.nn.Tanh()]
    model = torch.nn.Sequential(*layers[:-1]).to(
        torch.float32 if dtype == np.float32 else torch.float64
    )
    linears = [layer for layer in model if isinstance(layer, torch.nn.Linear)]
    with torch.no_grad():
        for linear, layer in zip(linears, start):
            linear.weight.copy_(torch.from_numpy(layer[:, :-1]))
            linear.bias.copy_(torch.from_numpy(layer[:, -1]))
    noise_of = {}
    monkeypatch.setattr(
        opacus_optimizer, "_generate_noise", lambda std, reference, **_: noise_of[reference.shape]
    )
    wrapped = GradSampleModule(model)
    kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
    optim = DPOptimizer(
        kind(wrapped.parameters(), lr=rate),
        noise_multiplier=sigma,
        max_grad_norm=clip,
        expected_batch_size=batch,
    )
    own = block(start, data, 1, clip, batch, rate, optimizer)
    for _ in range(6):
        sampled = random.random((1, 20)) < 0.5
        noise = [
            (random.normal(size=layer.shape) * sigma * clip).astype(dtype) for layer in own.weights
        ]
        noise_of.clear()
        for layer in noise:
            noise_of[layer[0, :, :-1].shape] = torch.from_numpy(layer[0, :, :-1].copy())
            noise_of[layer[0, :, -1].shape] = torch.from_numpy(layer[0, :, -1].copy())
        own.step(sampled, noise)
        optim.zero_grad()
        inputs = torch.from_numpy(data.features[sampled[0]])
        targets = torch.from_numpy(data.labels[sampled[0]])
        torch.nn.functional.cross_entropy(wrapped(inputs), targets).backward()
        optim.step()
        for linear, layer in zip(linears, own.weights):
            np.testing.assert_allclose(layer[0, :, :-1], linear.weight.detach().numpy(), atol=1e-6)
            np.testing.assert_allclose(layer[0, :, -1], linear.bias.detach().numpy(), atol=1e-6)


def test_one_training_supplies_all_prefixes():
    _, data, start = problem(2)
    training = Training(Mechanism(6, 0.5, 1.0, 1.0, 1e-5, releases=9), 0.5)
    long = [
        [layer.copy() for layer in weights]
        for weights in trajectory(start, data, training, 4, (2, 5, 9), np.random.default_rng(1))
    ]
    (short,) = trajectory(start, data, training, 4, (5,), np.random.default_rng(1))
    np.testing.assert_array_equal(long[1][0], short[0])
    assert len(long) == 3


def test_noise_and_sampling_have_their_rates():
    # A feature that is always 0: its weights move by the noise and the canary alone.
    data = Examples(np.zeros((8, 1)), np.zeros(8, np.int64), 2)
    mechanism = Mechanism(7, 0.25, 1.5, 2.0, 1e-5, releases=16)
    runs, rate = 20_000, 0.5
    for optimizer_rate, sign in ((rate, 1.0), (rate, -1.0)):
        training = Training(mechanism, optimizer_rate)
        canary = Coordinate(0, 0, sign * 2.0)
        (weights,) = trajectory(
            [np.zeros((2, 2))], data, training, runs, (16,), np.random.default_rng(4), 3, canary
        )
        moved = -weights[0][:, 0, 0] / rate * (0.25 * 8) / 2.0  # in units of C
        mean, variance = sign * 16 * 0.25, 16 * (1.5**2 + 0.25 * 0.75)
        assert abs(moved.mean() - mean) < 4 * np.sqrt(variance / runs)
        # The variance of a sample variance near normal: 2 v² / n.
        assert abs(moved.var() - variance) < 4 * variance * np.sqrt(2 / runs)


def test_gradient_factors_confidence_and_accuracy():
    _, data, start = problem(8, (4, 3))
    factors = gradient_factors(start, data.features, data.labels)
    weights = [layer[None] for layer in start]
    logits = confidence(weights, data.features, data.labels)[0]
    for i in range(data.count):
        for (residual, source), expected in zip(
            factors, naive.gradient(start, data.features[i], data.labels[i])
        ):
            np.testing.assert_allclose(np.outer(residual[i], source[i]), expected, atol=1e-12)
        probability = np.exp(-naive.loss(start, data.features[i], data.labels[i]))
        assert logits[i] == pytest.approx(np.log(probability / (1 - probability)), rel=1e-9)
    likely = [min(range(3), key=lambda label: naive.loss(start, x, label)) for x in data.features]
    expected = np.mean(np.array(likely) == data.labels)
    assert accuracy(weights, data.features, data.labels)[0] == expected


def test_a_reference_converges_says_when_it_did_not_and_diverging_is_an_error():
    random = np.random.default_rng(0)
    labels = np.arange(40) % 2
    data = Examples(random.normal(size=(40, 2)) + 4.0 * labels[:, None], labels, 2)
    start = [np.zeros((2, 3))]
    good = train_reference(start, data, 0.5, "sgd", 400)
    assert good.converged
    assert accuracy([good.weights[0][None]], data.features, labels)[0] > 0.95
    few = train_reference(start, data, 1e-6, "sgd", 3)
    assert not few.converged
    assert few.gradient_norm == pytest.approx(1.0, abs=1e-3)
    # Three equal steps of plain gradient descent: the movement is three times the first one.
    mean = naive.clipped_sum(start, data.features, labels, np.ones(40, bool), np.inf)[0] / 40
    np.testing.assert_allclose(few.movement[0], 3e-6 * np.abs(mean), rtol=1e-4, atol=1e-10)
    huge = Examples(np.array([[1e200], [-1e200]]), np.array([0, 1]), 2)
    with np.errstate(all="ignore"), pytest.raises(InputError, match="diverges"):
        train_reference([np.zeros((2, 2))], huge, 1e200, "sgd", 3)
    with pytest.raises(InputError, match="at least 1"):
        train_reference(start, data, 0.5, "sgd", 0)


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (
            np.zeros((2, 3)),
            np.array([0, 2]),
            "record 1: label 2 does not exist; allowed are 0 to 1",
        ),
        (np.zeros((2, 3)), np.array([-1, 0]), "record 0: label -1"),
        (np.zeros((2, 3)), np.array([0]), "one int64 for each of 2 records"),
        (np.zeros((2, 3), np.int64), np.array([0, 1]), "float32 or float64"),
        (np.array([[0.0], [np.nan]]), np.array([0, 1]), "record 1: a feature is not finite"),
    ],
)
def test_unusable_examples_are_refused(features, labels, message):
    with pytest.raises(InputError, match=message):
        Examples(features, labels, 2)


def test_unusable_settings_are_refused():
    mechanism = Mechanism(6, 0.5, 1.0, 1.0, 1e-5)
    for rate in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(InputError, match="learning_rate"):
            Training(mechanism, rate)
    with pytest.raises(InputError, match="allowed are sgd, adam"):
        Training(mechanism, 0.1, "lion")
    for sizes in ((0, 2, ()), (1, 1, ()), (1, 2, (0,))):
        with pytest.raises(InputError, match="are needed"):
            Network(*sizes)
