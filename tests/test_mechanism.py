import dataclasses
import math

import numpy as np
import pytest

from pe_core import InputError, Mechanism

SOUND = {
    "population": 1000,
    "participation": 0.1,
    "noise_multiplier": 1.0,
    "clip": 0.1,
    "delta": 1e-5,
}


def test_noise_scale_is_sigma_times_clip():
    assert Mechanism(**{**SOUND, "noise_multiplier": 3.0, "clip": 0.5}).noise_scale == 1.5


@pytest.mark.parametrize(
    "degenerate",
    [
        {"population": 0},
        {"participation": 0.0},
        {"participation": 1.0},
        {"noise_multiplier": 0.0},
        {"delta": 0.0},
        {"delta": 1.0},
        {"releases": 0},
        {"population": np.int64(3)},
    ],
)
def test_degenerate_mechanisms_exist(degenerate):
    mechanism = Mechanism(**{**SOUND, **degenerate})
    assert getattr(mechanism, next(iter(degenerate))) == next(iter(degenerate.values()))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("population", -1),
        ("population", 1.5),
        ("population", True),
        ("participation", 1.0000001),
        ("participation", -0.1),
        ("participation", math.nan),
        ("noise_multiplier", -1.0),
        ("noise_multiplier", math.inf),
        ("noise_multiplier", "1"),
        ("clip", 0.0),
        ("clip", math.nan),
        ("delta", 1.1),
        ("votes", 0),
        ("releases", -1),
    ],
)
def test_a_bad_parameter_is_named(key, value):
    with pytest.raises(InputError, match=f"^{key} = "):
        Mechanism(**{**SOUND, key: value})


def test_a_mechanism_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Mechanism(**SOUND).clip = 1.0
