"""Special functions beside scipy's, at the ends of their domains, and as their definitions say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lamella as lm
from support import default_device

from ..special_calls import POLYNOMIALS, UNARY

sp = pytest.importorskip("scipy.special")

INF = float("inf")
NAN = float("nan")

REFERENCES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "i0": sp.i0,
    "i0e": sp.i0e,
    "i1": sp.i1,
    "i1e": sp.i1e,
    "modified_bessel_k0": sp.k0,
    "modified_bessel_k1": sp.k1,
    "scaled_modified_bessel_k0": sp.k0e,
    "scaled_modified_bessel_k1": sp.k1e,
    "bessel_j0": sp.j0,
    "bessel_j1": sp.j1,
    "bessel_y0": sp.y0,
    "bessel_y1": sp.y1,
    "spherical_bessel_j0": lambda x: sp.spherical_jn(0, x),
    "airy_ai": lambda x: sp.airy(x)[0],
    "erfcx": sp.erfcx,
    "ndtri": sp.ndtri,
    "log_ndtr": sp.log_ndtr,
}
#: Those that cross 0: near it what is compared is the difference beside the height of the wave.
WAVES = {"bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0", "airy_ai"}
ONLY_POSITIVE = {name for name in UNARY if "_k" in name or "_y" in name}


def arguments(rng: np.random.Generator, name: str) -> np.ndarray:
    """From every interval that has a formula of its own, and their ends."""
    if name == "ndtri":
        return np.concatenate([rng.uniform(0, 1, 300), 10.0 ** rng.uniform(-300, 0, 300), [0.075, 0.925, 2.0**-53]])
    ends = np.array([1.0, 2.0, 4.0, 5.0, 8.0, 16.0, 27.0])
    ends = np.concatenate([ends, np.nextafter(ends, 0), np.nextafter(ends, 99)])
    x = np.concatenate([rng.uniform(0, 1, 100), rng.uniform(0, 20, 400), rng.uniform(0, 100, 100), ends])
    return x if name in ONLY_POSITIVE else np.concatenate([x, -x[x < 26] if name == "erfcx" else -x])


def assert_near(name: str, got: np.ndarray, expected: np.ndarray, rtol: float) -> None:
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol / 2 if name in WAVES else 1e-300)


@pytest.mark.parametrize("name", ["i0", "logit"])
def test_order_of_axes(name: str, rng: np.random.Generator) -> None:
    function = getattr(lm, name)
    x = lm.asarray(rng.uniform(0.1, 0.9, (3, 4, 5)))
    for turned in (x.mT, lm.permute_dims(x, (2, 0, 1)), x[:, ::2], x[::-1], lm.broadcast_to(x[:, :1], (3, 4, 5))):
        y = function(turned)
        assert y.tolist() == function(lm.contiguous(turned)).tolist()
    # In memory as in the argument, as for elementwise operators.
    assert function(x.mT).mT.is_contiguous()


@pytest.mark.parametrize("name", REFERENCES)
def test_of_float64(name: str, rng: np.random.Generator) -> None:
    x = arguments(rng, name)
    got = getattr(lm, name)(lm.asarray(x))
    assert got.dtype == lm.float64
    # scipy's own digits are the fewer ones: it rounds x * x in erfcx, and has sums in airy.
    assert_near(name, got.numpy(), REFERENCES[name](x), 2e-13 if name in {"erfcx", "airy_ai", "log_ndtr"} else 5e-15)


@pytest.mark.parametrize("name", REFERENCES)
def test_of_float32(name: str, rng: np.random.Generator) -> None:
    x = arguments(rng, name).astype("float32")
    if name == "ndtri":
        x = x[(x > 1e-37) & (x < 1)]
    got = getattr(lm, name)(lm.asarray(x))
    assert got.dtype == lm.float32
    expected = REFERENCES[name](x.astype("float64"))
    fits = (np.abs(expected) < 3e38) & (np.abs(expected) > 1e-37)
    assert fits.sum() > 300
    assert_near(name, got.numpy()[fits], expected[fits], 5e-7)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "uint8", "bool"])
@pytest.mark.parametrize("name", REFERENCES)
def test_of_other_dtypes(name: str, dtype: str, rng: np.random.Generator) -> None:
    low, high = UNARY[name]
    x = lm.asarray(rng.uniform(low, high, 50)).astype(dtype)
    got = getattr(lm, name)(x)
    assert got.dtype.name == (dtype if "float" in dtype else "float32")
    # Numbers that float32 may not hold are computed in float64, and rounded once.
    expected = getattr(lm, name)(x.astype("float64" if dtype == "int32" else "float32")).astype(got.dtype)
    np.testing.assert_array_equal(got.astype("float32").numpy(), expected.astype("float32").numpy())


#: Arguments and values at the ends of the domains, which are PyTorch's.
ENDS: list[tuple[str, list[tuple[float, float]]]] = [
    ("i0", [(0, 1), (1e3, INF), (-1e3, INF), (NAN, NAN)]),
    ("i0e", [(0, 1), (INF, 0), (-INF, 0), (NAN, NAN)]),
    ("i1", [(0, 0), (1e-300, 5e-301), (1e3, INF), (-1e3, -INF), (NAN, NAN)]),
    ("i1e", [(0, 0), (INF, 0), (-INF, 0), (NAN, NAN)]),
    *[
        (f"{k}modified_bessel_k{n}", [(0, INF), (-1, NAN), (INF, 0), (NAN, NAN)])
        for k in ("", "scaled_")
        for n in (0, 1)
    ],
    ("modified_bessel_k1", [(1e-300, 1e300)]),
    ("bessel_j0", [(0, 1), (NAN, NAN)]),
    ("bessel_j1", [(0, 0), (1e-300, 5e-301), (NAN, NAN)]),
    ("bessel_y0", [(0, -INF), (-1, NAN), (NAN, NAN)]),
    ("bessel_y1", [(0, -INF), (-1, NAN), (NAN, NAN)]),
    ("spherical_bessel_j0", [(0, 1), (INF, 0), (-INF, 0), (1e-300, 1), (NAN, NAN)]),
    ("airy_ai", [(200, 0), (NAN, NAN)]),
    ("erfcx", [(0, 1), (INF, 0), (-INF, INF), (-30, INF), (1e300, 0.5641895835477563e-300), (NAN, NAN)]),
    ("ndtri", [(0, -INF), (1, INF), (0.5, 0), (-0.1, NAN), (1.1, NAN), (INF, NAN), (NAN, NAN)]),
    ("log_ndtr", [(INF, 0), (-INF, -INF), (-800, -320007.60355182335), (NAN, NAN)]),
]


@pytest.mark.parametrize(("name", "pairs"), ENDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ends(name: str, pairs: list[tuple[float, float]], dtype: str) -> None:
    fits = [
        (x, y)
        for x, y in pairs
        if dtype == "float64" or x == 0 or (abs(x) > 1e-30 and (abs(x) < 1e30 or x in (INF, -INF)))
    ]
    got = getattr(lm, name)(lm.asarray([x for x, _ in fits], dtype=dtype)).numpy()
    np.testing.assert_allclose(got, np.array([y for _, y in fits]), rtol=1e-15 if dtype == "float64" else 1e-6)


@pytest.mark.parametrize("name", UNARY)
def test_layouts(name: str, rng: np.random.Generator) -> None:
    low, high = UNARY[name]
    function = getattr(lm, name)
    x = rng.uniform(low, high, (5, 7))
    whole = function(lm.asarray(x)).numpy()
    np.testing.assert_array_equal(function(lm.asarray(x).T).numpy(), whole.T)
    np.testing.assert_array_equal(function(lm.asarray(x)[::2, 1::3]).numpy(), whole[::2, 1::3])
    for i in (0, 3):  # alone, as in a vector
        assert function(lm.asarray(x[i, 2])).item() == whole[i, 2]
    assert function(lm.zeros([0, 3])).shape == (0, 3)
    meta = function(lm.zeros([2, 3], device="meta"))
    assert meta.shape == (2, 3) and str(meta.device) == "meta"
    with pytest.raises(TypeError, match=rf"\[{name}\]"):
        function(lm.ones([2], dtype="complex64"))


@pytest.mark.parametrize(
    ("name", "at", "slope", "second"),
    [
        ("i1", 0.0, 0.5, 0.0),
        ("i1e", 0.0, 0.5, None),
        ("i0", 0.0, 0.0, 0.5),
        ("bessel_j0", 0.0, 0.0, -0.5),
        ("bessel_j1", 0.0, 0.5, 0.0),
        ("spherical_bessel_j0", 0.0, 0.0, -1 / 3),
        ("log_ndtr", -1e4, 1e4, -1.0),
        ("log_ndtr", 60.0, 0.0, 0.0),
        ("ndtri", 0.5, 2.5066282746310002, 0.0),
        ("erfcx", 0.0, -1.1283791670955126, 2.0),
    ],
)
def test_derivatives_where_formulas_meet(name: str, at: float, slope: float, second: float | None) -> None:
    x = lm.tensor(np.array([at]), stop_gradient=False)
    (dx,) = lm.grad(getattr(lm, name)(x).sum(), [x], create_graph=True)
    np.testing.assert_allclose(dx.detach().numpy(), [slope], rtol=1e-7, atol=1e-15)
    if second is not None:
        (ddx,) = lm.grad(dx.sum(), [x])
        np.testing.assert_allclose(ddx.numpy(), [second], rtol=1e-7, atol=1e-15)


def test_slope_of_airy_is_that_of_scipy() -> None:
    x = lm.tensor(np.linspace(-20, 10, 301), stop_gradient=False)
    (dx,) = lm.grad(lm.airy_ai(x).sum(), [x])
    np.testing.assert_allclose(dx.numpy(), sp.airy(x.detach().numpy())[1], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("largest", [1, 3, 25, 300, 1e5])
def test_incomplete_gamma(name: str, dtype: str, largest: float, rng: np.random.Generator) -> None:
    a = rng.uniform(0, largest, 400).astype(dtype)
    near = a[:200] * rng.uniform(0.6, 1.4, 200).astype(dtype)
    x = np.concatenate([near, rng.uniform(0, largest, 200).astype(dtype)])
    expected = getattr(sp, name)(a.astype("float64"), x.astype("float64"))
    got = getattr(lm, name)(lm.asarray(a), lm.asarray(x)).numpy()
    assert got.dtype == dtype
    fits = expected > (1e-30 if dtype == "float32" else 1e-200)
    # An error of the exponent of a rounding's size is one of the result that grows with the exponent.
    tolerated = (1e-7 if dtype == "float32" else 1e-13) * (4 + np.abs(np.log(expected[fits])))
    assert (np.abs(got[fits] - expected[fits]) <= tolerated * expected[fits]).all()
    np.testing.assert_allclose(got[~fits], expected[~fits], atol=1e-30)


@pytest.mark.parametrize(
    ("a", "x", "lower"),
    [
        *((0, 1, 1), (0, INF, 1), (0, 0, NAN), (1, 0, 0), (1, INF, 1), (INF, 1, 0), (INF, 0, 0), (INF, INF, NAN)),
        *((2, -1, NAN), (-1, 2, NAN), (0, -1, NAN), (NAN, 1, NAN), (1, NAN, NAN), (1e10, 1, 0), (1, 1e10, 1)),
    ],
)
def test_ends_of_incomplete_gamma(a: float, x: float, lower: float) -> None:
    for dtype in ("float32", "float64"):
        n, at = lm.asarray([a], dtype=dtype), lm.asarray([x], dtype=dtype)
        np.testing.assert_array_equal(lm.gammainc(n, at).numpy(), [lower])
        np.testing.assert_array_equal(lm.gammaincc(n, at).numpy(), [1 - lower])


def test_operands_of_incomplete_gamma(rng: np.random.Generator) -> None:
    x = lm.asarray(rng.uniform(0, 5, (3, 4)))
    a = lm.asarray(rng.uniform(0, 5, (3, 1)))
    expected = sp.gammainc(a.numpy(), x.numpy())
    np.testing.assert_allclose(lm.gammainc(a, x).numpy(), expected, rtol=1e-13)
    np.testing.assert_allclose(lm.gammainc(2, x).numpy(), sp.gammainc(2, x.numpy()), rtol=1e-13)
    np.testing.assert_allclose(lm.gammainc(a, 2.5).numpy(), sp.gammainc(a.numpy(), 2.5), rtol=1e-13)
    assert lm.gammainc(lm.asarray([1, 2]), lm.asarray([1, 2])).dtype == lm.float32
    assert lm.gammainc(a.astype("float16"), x.astype("float16")).dtype == lm.float16
    assert lm.gammainc(lm.zeros([0, 1]), lm.zeros([1, 3])).shape == (0, 3)
    assert lm.gammainc(lm.zeros([2, 1], device="meta"), lm.zeros([3], device="meta")).shape == (2, 3)
    with pytest.raises(ValueError, match=r"\[gammainc\]"):
        lm.gammainc(lm.ones([2]), lm.ones([3]))
    with pytest.raises(TypeError, match=r"\[gammaincc\] does not take dtype complex64"):
        lm.gammaincc(lm.ones([2], dtype="complex64"), 1.0)


def test_incomplete_gamma_is_a_constant_to_derivatives_by_a() -> None:
    a = lm.tensor([1.5, 2.5], stop_gradient=False)
    x = lm.tensor([1.0, 2.0], stop_gradient=False)
    y = lm.gammainc(a, x)
    with pytest.raises(RuntimeError, match="not used in the graph"):
        lm.grad(y.sum(), [a], retain_graph=True)
    (dx,) = lm.grad(y.sum(), [x])
    at, n = x.detach().numpy(), a.detach().numpy()
    expected = at ** (n - 1) * np.exp(-at) / sp.gamma(n)
    np.testing.assert_allclose(dx.numpy(), expected, rtol=1e-5)


def test_slope_of_incomplete_gamma() -> None:
    a = np.array([0.5, 1.0, 2.0, 3.0, 1e6])
    x = lm.tensor(np.array([0.0, 0.0, 0.0, 2.0, 1e6]), stop_gradient=False)
    (dx,) = lm.grad(lm.gammainc(lm.asarray(a), x).sum(), [x], create_graph=True)
    # By Stirling's formula it is 1 / sqrt(2 pi a) where x is a.
    expected = [INF, 1.0, 0.0, 2 * np.exp(-2), 1 / np.sqrt(2 * np.pi * 1e6)]
    np.testing.assert_allclose(dx.detach().numpy(), expected, rtol=1e-6)
    (ddx,) = lm.grad(dx[1:].sum(), [x])
    np.testing.assert_allclose(ddx.numpy()[[1, 3]], [-1.0, 0.0], atol=1e-15)


EVALUATED = {
    "chebyshev_polynomial_t": sp.eval_chebyt,
    "chebyshev_polynomial_u": sp.eval_chebyu,
    "chebyshev_polynomial_v": lambda n, x: np.cos((n + 0.5) * np.arccos(x)) / np.cos(np.arccos(x) / 2),
    "chebyshev_polynomial_w": lambda n, x: np.sin((n + 0.5) * np.arccos(x)) / np.sin(np.arccos(x) / 2),
    "hermite_polynomial_h": sp.eval_hermite,
    "hermite_polynomial_he": sp.eval_hermitenorm,
    "laguerre_polynomial_l": sp.eval_laguerre,
    "legendre_polynomial_p": sp.eval_legendre,
}
EVALUATED |= {
    f"shifted_{name}": lambda n, x, f=function: f(n, 2 * x - 1)
    for name, function in EVALUATED.items()
    if name.startswith("chebyshev")
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name: str, rng: np.random.Generator) -> None:
    function, expected = getattr(lm, name), EVALUATED[name]
    x = rng.uniform(0.05 if name.startswith("shifted") else -0.95, 0.95, (40, 1))
    n = np.array([0, 1, 2, 3, 7, 20, 64, 65, 90])
    rows = expected(n, x)
    got = function(lm.asarray(x), lm.asarray(n)).numpy()
    np.testing.assert_allclose(got, rows, rtol=1e-9, atol=1e-11)
    for column, degree in enumerate(n):
        alone = function(lm.asarray(x), int(degree)).numpy()
        np.testing.assert_array_equal(alone[:, 0], got[:, column])
    single = function(lm.asarray(x.astype("float32")), lm.asarray(n[:5]))
    assert single.dtype == lm.float32
    np.testing.assert_allclose(single.numpy(), rows[:, :5], rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_degrees_of_polynomials(name: str) -> None:
    function = getattr(lm, name)
    x = lm.asarray([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, INF, NAN], dtype="float64")
    assert function(x, -1).tolist() == [0.0] * 8
    assert function(x, -7).tolist() == [0.0] * 8
    assert function(x, 0).tolist() == [1.0] * 8
    assert function(x, NAN).tolist() == [0.0] * 8
    np.testing.assert_array_equal(function(x[:6], 2.7).numpy(), function(x[:6], 2).numpy())
    np.testing.assert_array_equal(function(x[:6], -0.7).numpy(), function(x[:6], 0).numpy())
    for n in (3, 100):
        assert np.isnan(function(x[-1:], n).numpy()).all()
    assert function(lm.asarray([1, 2]), lm.asarray([[1], [2]])).dtype == lm.float32
    assert function(0.5, lm.asarray([1, 2])).shape == (2,)
    assert function(x.astype("bfloat16"), 3).dtype == lm.bfloat16
    assert function(lm.zeros([0]), 3).shape == (0,)
    assert function(lm.zeros([3], device="meta"), 3).shape == (3,)
    with pytest.raises(ValueError, match=rf"\[{name}\]"):
        function(lm.ones([2]), lm.ones([3]))
    with pytest.raises(TypeError, match=rf"\[{name}\] does not take dtype complex64"):
        function(lm.ones([2], dtype="complex64"), 1)


@pytest.mark.parametrize("n", [3, 4, 70])
def test_polynomials_at_the_ends_of_their_interval(n: int) -> None:
    sign = (-1.0) ** n
    odd = 2.0 * n + 1
    ends = {"t": [sign, 1.0], "u": [sign * (n + 1), n + 1.0], "v": [sign * odd, 1.0], "w": [sign, odd]}
    for kind, values in ends.items():
        assert getattr(lm, f"chebyshev_polynomial_{kind}")(lm.asarray([-1.0, 1.0]), n).tolist() == values
        assert getattr(lm, f"shifted_chebyshev_polynomial_{kind}")(lm.asarray([0.0, 1.0]), n).tolist() == values
    np.testing.assert_allclose(lm.legendre_polynomial_p(lm.asarray([-1.0, 1.0]), n).numpy(), [sign, 1.0], rtol=1e-6)


@pytest.mark.parametrize("n", [65, 100, 301])
def test_chebyshev_polynomials_of_high_degrees_outside_of_their_interval(n: int) -> None:
    for kind, first in {"t": (0, 1), "u": (0, 2), "v": (-1, 2), "w": (1, 2)}.items():
        function = getattr(lm, f"chebyshev_polynomial_{kind}")
        x = lm.asarray([-3.0, -2.0, 2.0, 3.0, INF, -INF], dtype="float64")
        want = []
        for at in (-3, -2, 2, 3):  # in whole numbers, which do not round
            last, p = 1, first[0] + first[1] * at
            for _ in range(n - 1):
                last, p = p, 2 * at * p - last
            want.append(float(p))
        want += [INF, INF * (-1) ** n]
        np.testing.assert_allclose(function(x, n).numpy(), want, rtol=1e-12)
        shifted = getattr(lm, f"shifted_chebyshev_polynomial_{kind}")
        np.testing.assert_allclose(shifted((x + 1) / 2, n).numpy(), want, rtol=1e-12)


@default_device.cpu_only("degrees are not checked on a device: the result is NaN")
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_degrees_that_no_recurrence_reaches(name: str) -> None:
    function = getattr(lm, name)
    x = lm.tensor([0.25, 1.0], dtype="float64", stop_gradient=False)
    for n in (1e8, 1e30, 2.0**63):
        if "chebyshev" in name:
            y = function(x, n)
            assert y[1].item() == {"t": 1, "u": n + 1, "v": 1, "w": 2 * n + 1}[name[-1]]
            with pytest.raises(ValueError, match=rf"\[{name}\] n must be at most 10000000 for derivatives"):
                y.sum().backward()
        else:
            with pytest.raises(ValueError, match=rf"\[{name}\] n must be at most 10000000, got"):
                function(x, lm.asarray([2, n], dtype="float64"))
    assert x.grad is None


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_third_derivatives_of_polynomials(name: str) -> None:
    """A polynomial of degree 5 is the one through six of its values."""
    function = getattr(lm, name)
    nodes = np.linspace(-1, 1, 6)
    fit = np.polynomial.Polynomial.fit(nodes, function(lm.asarray(nodes), 5).numpy(), 5, domain=[-1, 1])
    x = lm.tensor(np.array([-0.7, 0.0, 0.4]), stop_gradient=False)
    y = function(x, 5)
    for order in (1, 2, 3):
        (y,) = lm.grad(y.sum(), [x], create_graph=True)
        expected = fit.deriv(order)(x.detach().numpy())
        np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("name", [*UNARY, "gammainc", "gammaincc", *POLYNOMIALS])
def test_results_into_a_tensor(name: str, rng: np.random.Generator) -> None:
    x = lm.asarray(rng.uniform(0.1, 0.9, (2, 3)))
    others = () if name in UNARY else (x,)
    out = lm.zeros([3, 2], dtype="float64").T
    assert getattr(lm, name)(x, *others, out=out) is out
    np.testing.assert_array_equal(out.numpy(), getattr(lm, name)(x, *others).numpy())
    with pytest.raises(ValueError, match=rf"\[{name}\] a result of shape"):
        getattr(lm, name)(x, *others, out=lm.zeros([7], dtype="float64"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logit_has_no_slope_outside_of_its_domain(dtype):
    x = lm.tensor([-np.inf, -0.5, 0.0, 0.5, 1.0, 1.5, np.inf], dtype=dtype, stop_gradient=False)
    (first,) = lm.grad([lm.logit(x)], [x], [lm.ones_like(x)], create_graph=True)
    np.testing.assert_array_equal(first.detach().numpy(), [np.nan, np.nan, np.inf, 4, np.inf, np.nan, np.nan])
    (second,) = lm.grad([first], [x], [lm.ones_like(x)])
    assert np.isnan(second.numpy()[[0, 1, 5, 6]]).all() and second.numpy()[3] == 0
