"""Starting values of every function for every shape: those of an empty tensor are none, and no arithmetic error."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.nn import init

FUNCTIONS = {
    name: f
    for name, f in inspect.getmembers(init, inspect.isfunction)
    if name.endswith("_") and not name.startswith("_")
}
SHAPES = [
    (),
    (0,),
    (3,),
    (0, 0),
    (0, 4),
    (4, 0),
    (2, 3),
    (0, 2, 3),
    (2, 3, 0),
    (2, 0, 3),
    (2, 3, 2, 2),
    (1, 1),
    (0, 0, 0),
]
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "constant_": [{"value": 2.0}],
    "trunc_normal_": [{}, {"mean": 1.0, "std": 3.0, "low": 0.0, "high": 0.5}],
    "orthogonal_": [{}, {"gain": 2.0}],
    "sparse_": [{"sparsity": share} for share in (0.0, 0.4, 1.0)],
    "xavier_uniform_": [{}, {"gain": 2.0}],
    "xavier_normal_": [{}, {"gain": 2.0}],
    "kaiming_uniform_": [{}, {"mode": "fan_out"}, {"a": 0.5, "nonlinearity": "relu"}],
    "kaiming_normal_": [{}, {"mode": "fan_out"}, {"a": 0.5, "nonlinearity": "relu"}],
}
BY_FANS = {f"{source}_{kind}_" for source in ("xavier", "glorot", "kaiming", "he") for kind in ("uniform", "normal")}
#: Numbers of axes of functions that are for some only.
AXES = {**dict.fromkeys([*BY_FANS, "orthogonal_"], (2, 3, 4)), "eye_": (2,), "sparse_": (2,), "dirac_": (3, 4, 5)}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_shape(name: str, shape: tuple[int, ...]) -> None:
    for options in OPTIONS.get(name, [{}]):
        for dtype in ("float32", "float64", "float16", "bfloat16"):
            x = lm.full(shape, math.nan, dtype=dtype)
            if len(shape) not in AXES.get(name, [len(shape)]):
                with pytest.raises(ValueError, match=r"^\[\w+\] .* axes"):
                    FUNCTIONS[name](x, **options)
                assert np.isnan(x.astype("float64").numpy()).all()
                continue
            assert FUNCTIONS[name](x, **options) is x
            assert x.shape == shape and np.isfinite(x.astype("float64").numpy()).all()


@pytest.mark.parametrize("name", sorted(BY_FANS))
def test_spread(name: str) -> None:
    """The standard deviation of many numbers is the formula's."""
    x = lm.zeros([300, 200])
    FUNCTIONS[name](x, generator=lm.Generator(seed=3))
    expected = math.sqrt(2 / (300 + 200)) if name.startswith(("xavier", "glorot")) else math.sqrt(2 / 200)
    assert abs(x.std().item() / expected - 1) < 0.02
