"""einsum against numpy, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm

CASES: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
    ("ij,jk->ik", ((2, 3), (3, 4))),
    ("ij,jk", ((2, 3), (3, 4))),
    ("ba,cb", ((2, 3), (4, 2))),
    ("i,i", ((3,), (3,))),
    ("i,j->ji", ((3,), (2,))),
    ("ii->i", ((3, 3),)),
    ("ii", ((3, 3),)),
    ("iij->j", ((3, 3, 2),)),
    ("iijj->ij", ((3, 3, 2, 2),)),
    ("iii->i", ((3, 3, 3),)),
    ("ij->ji", ((2, 3),)),
    ("ij->", ((2, 3),)),
    ("ij", ((2, 3),)),
    ("ji", ((2, 3),)),
    (" i j , j k -> i k ", ((2, 3), (3, 4))),
    ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))),
    ("bij,bij->bij", ((2, 3, 4), (2, 3, 4))),
    ("bij,bij->b", ((2, 3, 4), (2, 3, 4))),
    ("bhqd,bhkd->bhqk", ((2, 3, 4, 5), (2, 3, 6, 5))),
    ("...ij,...jk->...ik", ((2, 1, 3, 4), (5, 4, 2))),
    ("i...j,j...->...i", ((2, 3, 4), (4, 3))),
    ("...,...->...", ((2, 3), (3,))),
    ("...i->...", ((2, 3),)),
    ("i...->i...", ((2, 3, 4),)),
    ("...ij,jk", ((2, 3, 4), (4, 2))),
    ("ij,ij->ij", ((1, 3), (2, 3))),
    ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 5))),
    ("ab,bc,cd,de->ae", ((9, 2), (2, 8), (8, 3), (3, 7))),
    ("i,i,i->i", ((3,), (3,), (3,))),
    ("ij,kl,i->l", ((2, 3), (4, 5), (2,))),
    ("aB,Bc->ca", ((2, 3), (3, 4))),
    ("ij,j->", ((2, 0), (0,))),
    (",i->i", ((), (3,))),
    ("->", ((),)),
]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize(("subscripts", "shapes"), CASES, ids=[case[0] for case in CASES])
def test_values(subscripts: str, shapes: tuple[tuple[int, ...], ...], dtype: str, rng: np.random.Generator) -> None:
    arrays = [rng.integers(-3, 4, shape).astype(dtype) for shape in shapes]
    got = lm.einsum(subscripts, *[lm.asarray(a) for a in arrays])
    expected = np.einsum(subscripts, *arrays)
    assert (got.shape, got.dtype.name) == (expected.shape, dtype)
    np.testing.assert_array_equal(got.numpy(), expected)


def test_a_small_product_comes_first() -> None:
    """In the order of writing an intermediate result would have 2000 x 2000 x 2000 elements."""
    a, b, c = lm.ones([2000, 1]), lm.ones([1, 2000]), lm.ones([2000, 2])
    assert lm.einsum("ij,kl,km->im", a, b.mT, c).shape == (2000, 2)
    assert lm.einsum("i,j,k,k->", a[:, 0], b[0], a[:, 0], b[0]).item() == 2000.0**3


def test_mixed_dtypes_are_promoted() -> None:
    y = lm.einsum("i,i->i", lm.ones([2], dtype="int32"), lm.ones([2], dtype="float64"))
    assert y.dtype.name == "float64"


@pytest.mark.parametrize(
    ("subscripts", "shapes", "message"),
    [
        ("ij,jk", ((2, 3),), "describes 2 tensors, 1 are given"),
        ("ij", ((2, 3, 4),), "tensor 0 has 3 axes"),
        ("ijk", ((2, 3),), "tensor 0 has 2 axes"),
        ("...ijk", ((2, 3),), "at least 3"),
        ("ij,jk", ((2, 3), (4, 2)), "'j' has lengths 3 and 4"),
        ("ii", ((2, 3),), "'i' has lengths 2 and 3"),
        ("ij->k", ((2, 3),), "the result has 'k', and no tensor has"),
        ("ij->ii", ((2, 3),), "the result has 'i' twice"),
        ("i1", ((2, 3),), "expected letters"),
        ("i->j->k", ((2,),), "expected letters"),
        ("i.", ((2, 3),), "expected letters"),
        ("......", ((2, 3),), "more than one"),
        ("...,...", ((2,), (3,)), "of '...' has lengths"),
    ],
)
def test_errors(subscripts: str, shapes: tuple[tuple[int, ...], ...], message: str) -> None:
    with pytest.raises(ValueError, match=r"\[einsum\].*" + message):
        lm.einsum(subscripts, *[lm.ones(shape) for shape in shapes])


def test_other_errors() -> None:
    with pytest.raises(ValueError, match="at least one tensor"):
        lm.einsum("")
    with pytest.raises(TypeError, match=r"\[einsum\].*bool"):
        lm.einsum("i", lm.ones([2], dtype="bool"))
    with pytest.raises(TypeError, match="einsum"):
        lm.einsum("i", 3.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize(
    "widths", [(1, 2), (3, 3), (2, 5), (7, 8), (9, 4), (16, 15), (5, 16), (4, 17), (70, 3), (65, 70)], ids=str
)
def test_batches_of_outer_products(widths: tuple[int, int], dtype: str, rng: np.random.Generator) -> None:
    for count in (1, 2, 17, 40):
        x, y = (rng.integers(-4, 5, (2, count, n)).astype(dtype) for n in widths)
        a, b = lm.tensor(x), lm.tensor(y)
        want = np.einsum("bij,bik->bijk", x, y)
        wide = lm.tensor(np.repeat(x, 3, axis=-1))
        across = lm.swapaxes(lm.tensor(np.swapaxes(y, 1, 2).copy()), 1, 2)
        table = [
            ("dense", lm.einsum("bij,bik->bijk", a, b), want),
            ("strided", lm.einsum("bij,bik->bijk", wide[..., ::3], across), want),
            ("other order", lm.einsum("bij,bik->kbji", a, b), want.transpose(3, 0, 2, 1)),
            ("one for all", lm.einsum("bij,bik->bijk", a, b[:1, :1]), x[..., None] * y[:1, :1, None]),
            ("one of a batch", lm.einsum("bij,ik->bijk", a, b[1]), x[..., None] * y[1][:, None]),
            ("product of matrices", a[..., None] @ b[:, :, None], want),
        ]
        for name, got, expected in table:
            np.testing.assert_array_equal(got.numpy(), expected, err_msg=f"{name}, {count} products")
