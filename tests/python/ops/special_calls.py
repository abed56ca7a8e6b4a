"""Calls of the special functions, for the tests of all kinds of derivatives and of vmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm

from .moving import index, x

#: Functions of one number, with a range in which their derivatives are neither huge nor close to 0.
UNARY: dict[str, tuple[float, float]] = {
    "i0": (-3.0, 9.5),
    "i0e": (-2.9, 9.5),
    "i1": (-3.0, 9.5),
    "i1e": (-2.9, 9.5),
    "modified_bessel_k0": (0.3, 3.0),
    "modified_bessel_k1": (0.3, 3.0),
    "scaled_modified_bessel_k0": (0.3, 3.0),
    "scaled_modified_bessel_k1": (0.3, 3.0),
    "bessel_j0": (-3.0, 9.0),
    "bessel_j1": (-3.0, 9.0),
    "bessel_y0": (0.5, 9.0),
    "bessel_y1": (0.5, 9.0),
    "spherical_bessel_j0": (-3.0, 0.4),
    "airy_ai": (-5.0, 2.0),
    "erfcx": (-1.5, 6.0),
    "ndtri": (0.02, 0.95),
    "log_ndtr": (-4.0, 2.0),
}
POLYNOMIALS = [
    *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    *("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"),
]


def polynomial(name: str, *n: int) -> Callable[..., lm.Tensor]:
    function = getattr(lm, name)
    return lambda a: function(a, n[0] if len(n) == 1 else index(*n))


def of_positive(name: str, *first: float) -> Callable[..., lm.Tensor]:
    """Of the last argument, made positive."""
    function = getattr(lm, name)
    return lambda *a: function(*first, *a[:-1], a[-1] * a[-1] + 0.5)


#: With arguments that have to be varied, as test_gradients and test_forward_mode want them.
CALLS: dict[str, list[tuple[Callable[..., Any], list[lm.Tensor]]]] = {
    **{name: [(getattr(lm, name), [x(6, low=low, high=high)])] for name, (low, high) in UNARY.items()},
    "gammainc": [
        (lambda a: lm.gammainc(index([0.7], [4.0]), a), [x(3, low=0.3, high=6.0)]),
        (lambda a: lm.gammainc(25.0, a), [x(3, low=20.0, high=30.0)]),
    ],
    "gammaincc": [(lambda a: lm.gammaincc(index([0.7], [4.0]), a), [x(3, low=0.3, high=6.0)])],
    **{
        name: [
            (polynomial(name, 4), [x(2, 2, low=-1.2, high=1.2)]),
            (polynomial(name, 0, 1, 3), [x(2, 3, low=-1.2, high=1.2)]),
        ]
        for name in POLYNOMIALS
    },
}

#: A function and the shapes of its arguments for one example, as test_vmap has them.
CASES: dict[str, list[tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    **{name: [(getattr(lm, name), ((2, 3),))] for name, (low, _) in UNARY.items() if low < 0},
    **{name: [(of_positive(name), ((2, 3),))] for name, (low, _) in UNARY.items() if low > 0 and name != "ndtri"},
    "ndtri": [(lambda a: lm.ndtri(lm.sigmoid(a)), ((2, 3),))],
    **{
        name: [
            (of_positive(name, 2.5), ((2, 3),)),
            (of_positive(name), (((2, 1), 1, 5), (3,))),
        ]
        for name in ("gammainc", "gammaincc")
    },
    **{
        name: [
            (polynomial(name, 4), ((2, 3),)),
            (getattr(lm, name), ((2, 3), ((3,), 0, 5))),
        ]
        for name in POLYNOMIALS
    },
}
