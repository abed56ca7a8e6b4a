"""Views of complex numbers as real ones and the other way around: memory, writes in place, derivatives of all kinds."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as lm
from support.numeric import differences

Array = np.ndarray[Any, Any]


class _Memory:
    """Memory of an array, as another array is to see it."""

    def __init__(self, owner: Array, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.owner = owner
        self.__array_interface__ = {
            **owner.__array_interface__,
            "typestr": dtype,
            "shape": shape,
            "strides": strides,
            "descr": [("", dtype)],
        }


def is_complex(x: Any) -> bool:
    return (x.dtype.name if isinstance(x, lm.Tensor) else str(x.dtype)) == "complex128"


def as_real(x: Any) -> Any:
    if not is_complex(x):
        return x
    if isinstance(x, lm.Tensor):
        return lm.view_as_real(x)
    return np.asarray(_Memory(x, "<f8", (*x.shape, 2), (*x.strides, 8)))


def as_complex(x: Any) -> Any:
    """Of real numbers that lie in pairs; anything else as it is."""
    if is_complex(x) or not x.ndim or x.shape[-1] != 2:
        return x
    if isinstance(x, lm.Tensor):
        try:
            return lm.view_as_complex(x)
        except ValueError:
            return x
    rows = [stride for stride, size in zip(x.strides, x.shape, strict=True) if size > 1][:-1]
    if x.strides[-1] != 8 or any(stride % 16 for stride in rows) or x.__array_interface__["data"][0] % 16:
        return x
    return np.asarray(_Memory(x, "<c16", x.shape[:-1], x.strides[:-1]))


VIEWS: dict[str, Callable[[Any], Any]] = {
    "real": lambda x: x.real,
    "imag": lambda x: x.imag if is_complex(x) else x,
    "as real": as_real,
    "as complex": as_complex,
    "first": lambda x: x[0, ...] if x.ndim else x,
    "backward": lambda x: x[::-1] if x.ndim else x,
    "last": lambda x: x[..., -1] if x.ndim else x,
    "tail": lambda x: x[1:] if x.ndim and x.shape[0] > 1 else x,
    "transposed": lambda x: x.T,
    "new axis": lambda x: x[:, None] if x.ndim else x,
}


def add(x: Any, w: Any) -> None:
    x += w


def multiply(x: Any, w: Any) -> None:
    x *= w


def turn(x: Any, w: Any) -> None:
    x *= 0.6 + 0.8j if is_complex(x) else -0.5


def add_imaginary(x: Any, w: Any) -> None:
    x += 0.5j * w if is_complex(x) else 0.5 * w


def set_item(x: Any, w: Any) -> None:
    x[...] = w * w


def update_item(x: Any, w: Any) -> None:
    if x.ndim:
        x[0] += w
    else:
        x[()] = w


def zero(x: Any, w: Any) -> None:
    x.zero_() if isinstance(x, lm.Tensor) else x.fill(0)


def update_real(x: Any, w: Any) -> None:
    x.real += w


def set_imaginary(x: Any, w: Any) -> None:
    if is_complex(x):
        x.imag = w * w


def swap_parts(x: Any, w: Any) -> None:
    if is_complex(x):
        x.real[...] = x.imag


WRITES = [add, multiply, turn, add_imaginary, set_item, update_item, zero, update_real, set_imaginary, swap_parts]
Program = list[tuple[str, int, Any]]


def run(program: Program, x: Any, w: Any) -> Any:
    """Runs steps on a list of aliases that begins with x; the sum of their squares with unequal weights."""
    aliases = [x]
    for kind, which, what in program:
        target = aliases[which % len(aliases)]
        if kind == "view":
            aliases.append(VIEWS[what](target))
        else:
            what(target, w)
    total = 0
    for i, alias in enumerate(aliases):
        weights = np.cos(np.arange(int(np.prod(tuple(alias.shape)))) + i).reshape(tuple(alias.shape))
        if is_complex(alias):
            weights = weights * (1 + 0.5j)
        product = alias * alias * (lm.asarray(weights) if isinstance(alias, lm.Tensor) else weights)
        total = total + (product.real if is_complex(product) else product).sum()
    return total


def make_program(seed: int) -> Program:
    draw = random.Random(seed)
    steps: Program = [("view", 0, "as real"), ("view", 0, "as complex")]
    for _ in range(draw.randint(3, 9)):
        if draw.random() < 0.55:
            steps.append(("view", draw.randrange(5), draw.choice(sorted(VIEWS))))
        else:
            steps.append(("write", draw.randrange(6), draw.choice(WRITES)))
    return steps


# A base of 12 numbers, and the same as numpy has it.
BASES: dict[str, tuple[Callable[[lm.Tensor], lm.Tensor], Callable[[Array], Array]]] = {
    "real": (lambda a: a * 1, lambda v: v.copy()),
    "complex": (lambda a: lm.complex(a[..., 0], a[..., 1]), lambda v: v[..., 0] + 1j * v[..., 1]),
    "complex, transposed": (
        lambda a: lm.complex(a[..., 0].T, a[..., 1].T).T,
        lambda v: (v[..., 0].T + 1j * v[..., 1].T).copy().T,
    ),
}


@pytest.mark.parametrize("seed", range(80))
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("base_wants", [True, False])
def test_random_programs(seed: int, base: str, base_wants: bool) -> None:
    """Values are numpy's, whose views share memory as well; derivatives are differences of these."""
    program = make_program(seed)
    make, make_array = BASES[base]
    values = np.random.default_rng(seed).uniform(0.5, 1.5, (2, 3, 2))
    a = lm.tensor(values, stop_gradient=not base_wants)
    w = lm.tensor(0.7, dtype="float64", stop_gradient=False)
    loss = run(program, make(a), w)
    assert loss.item() == pytest.approx(float(run(program, make_array(values), 0.7)), rel=1e-9, abs=1e-12)

    dw = differences(lambda v: run(program, make_array(values), float(v)), np.asarray(0.7))
    if loss.stop_gradient:
        np.testing.assert_allclose(dw, 0, atol=1e-7)
        return
    inputs = [w, a] if base_wants else [w]
    grads = lm.autograd.grad(loss, inputs, allow_unused=True, retain_graph=True)
    assert (0.0 if grads[0] is None else grads[0].item()) == pytest.approx(float(dw), rel=1e-5, abs=1e-6)
    if base_wants:
        da = differences(lambda v: run(program, make_array(v), 0.7), values)
        np.testing.assert_allclose(0 if grads[1] is None else grads[1].numpy(), da, rtol=1e-5, atol=1e-6)

    def slope(v: Array) -> float:
        at = lm.tensor(float(v), dtype="float64", stop_gradient=False)
        (first,) = lm.autograd.grad(run(program, make(lm.tensor(values)), at), [at], allow_unused=True)
        return 0.0 if first is None else float(first.item())

    first = lm.autograd.grad(loss, [w], create_graph=True, allow_unused=True)[0]
    if first is not None and not first.stop_gradient:
        second = lm.autograd.grad(first, [w], allow_unused=True)[0]
        expected = differences(slope, np.asarray(0.7))
        assert (0.0 if second is None else second.item()) == pytest.approx(float(expected), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("seed", range(80))
@pytest.mark.parametrize("base", BASES)
def test_random_programs_in_forward_mode_and_vmap(seed: int, base: str) -> None:
    program = make_program(seed)
    make, make_array = BASES[base]
    values = np.random.default_rng(seed).uniform(0.5, 1.5, (2, 3, 2))
    a = lm.tensor(values)

    def f(w: lm.Tensor, a: lm.Tensor) -> lm.Tensor:
        return run(program, make(a + 0 * w), w) + 0 * w

    w = lm.tensor(0.7, dtype="float64")
    for of_w in (1.0, 0.0):  # along w, then along the base
        direction = np.zeros_like(values) if of_w else np.cos(np.arange(12.0)).reshape(values.shape)
        _, tangent = lm.autograd.jvp(f, (w, a), (lm.tensor(of_w, dtype="float64"), lm.tensor(direction)))
        slope = differences(
            lambda t, of_w=of_w, d=direction: run(program, make_array(values + t * d), 0.7 + float(t) * of_w),
            np.asarray(0.0),
        )
        assert tangent.item() == pytest.approx(float(slope), rel=1e-5, abs=1e-6)

    several = lm.tensor([0.7, 0.2, -0.4], dtype="float64")
    mapped = lm.autograd.vmap(f, in_axes=(0, None))(several, a)
    loop = [f(several[i], a).item() for i in range(3)]
    np.testing.assert_allclose(mapped.numpy(), loop, rtol=1e-12)
    slopes = lm.autograd.vmap(lambda w: lm.autograd.jvp(lambda w: f(w, a), (w,), (lm.ones_like(w),))[1])(several)
    assert slopes[0].item() == pytest.approx(
        float(differences(lambda v: run(program, make_array(values), float(v)), np.asarray(0.7))), rel=1e-5, abs=1e-6
    )


COMPLEX = {
    "matrix": lambda dtype: numbers(3, 4).astype(dtype),
    "transposed": lambda dtype: numbers(3, 4).astype(dtype).T,
    "strided": lambda dtype: numbers(6, 8).astype(dtype)[1::2, ::4],
    "0-d": lambda dtype: numbers(1).astype(dtype).reshape(()),
    "empty": lambda dtype: numbers(3, 0).astype(dtype),
    "one element": lambda dtype: numbers(3, 4).astype(dtype)[1:2, 1:2],
}


def numbers(*shape: int) -> Array:
    rng = np.random.default_rng(5)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("kind", COMPLEX)
def test_parts_show_the_memory_of_their_tensor(kind: str, dtype: str) -> None:
    """Shapes, strides and values are those of numpy's views of the same array, and so are writes."""
    array = COMPLEX[kind](dtype)
    z = lm.asarray(array)
    item = array.real.dtype.itemsize
    for name in ("real", "imag"):
        theirs = getattr(array, name)
        for ours in (getattr(z, name), getattr(lm, name)(z)):
            assert ours.dtype.name == str(theirs.dtype) and ours.shape == theirs.shape
            assert [s for s, n in zip(ours.strides, ours.shape, strict=True) if n > 1] == [
                s // item for s, n in zip(theirs.strides, theirs.shape, strict=True) if n > 1
            ]
            np.testing.assert_array_equal(ours.numpy(), theirs)
            if array.size:
                assert ours.data_ptr() == theirs.__array_interface__["data"][0] == ours.numpy().ctypes.data
    parts = lm.view_as_real(z)
    assert parts.shape == (*array.shape, 2) and parts.strides == (*[2 * s for s in z.strides], 1)
    np.testing.assert_array_equal(parts.numpy(), np.stack([array.real, array.imag], -1))
    again = lm.view_as_complex(parts)
    assert again.dtype == z.dtype and again.shape == z.shape and (again.strides == z.strides or z.size <= 1)
    if array.size == 0:
        return
    assert again.data_ptr() == parts.data_ptr() == z.data_ptr()
    before = array.copy()
    z.real.mul_(2)
    z.imag.zero_()
    parts[..., 1].add_(3)
    again.mul_(1j)
    np.testing.assert_allclose(array, 1j * (2 * before.real + 3j), rtol=1e-6)


def test_exchange_with_numpy() -> None:
    array = numbers(2, 3)
    z = lm.asarray(array)
    z.real = 7.0
    z.imag[0] = [1.0, 2.0, 3.0]
    assert (array.real == 7).all() and array.imag[0].tolist() == [1, 2, 3]
    exported = np.from_dlpack(z.imag)
    exported[1] = 9
    assert np.shares_memory(exported, array) and (array.imag[1] == 9).all()
    pairs = np.arange(8.0, dtype="float32").reshape(2, 2, 2)
    lm.view_as_complex(lm.from_dlpack(pairs)).mul_(1j)
    np.testing.assert_array_equal(pairs[..., 0], [[-1, -3], [-5, -7]])


def test_attributes_can_be_set() -> None:
    z = lm.asarray([1 + 2j, 3 + 4j])
    z.real = [5, 6]
    z.imag = lm.asarray(-1.0)
    assert z.tolist() == [5 - 1j, 6 - 1j]
    z.imag += 1
    assert z.tolist() == [5, 6] and z.inplace_version == 3  # the assignment that Python adds writes nothing
    x = lm.asarray([1.0, 2.0])
    x.real = 3.0
    assert x.tolist() == [3, 3]


def errors() -> list[tuple[str, type[Exception], Callable[[], Any], str]]:
    flat = lm.asarray(np.arange(12.0))

    def delete() -> None:
        del lm.zeros([2], dtype="complex64").real

    def set_imaginary() -> None:
        lm.zeros([2]).imag = 1.0

    def set_complex() -> None:
        lm.zeros([2], dtype="complex64").real = lm.zeros([3])

    def leaf() -> lm.Tensor:
        return lm.tensor([1 + 2j], stop_gradient=False)

    return [
        (
            "0-d",
            ValueError,
            lambda: lm.view_as_complex(flat[0]),
            r"\[view_as_complex\] the last axis must be of size 2",
        ),
        ("size", ValueError, lambda: lm.view_as_complex(flat.reshape(4, 3)), r"size 2, got shape \[4, 3\]"),
        (
            "last stride",
            ValueError,
            lambda: lm.view_as_complex(flat.reshape(2, 6).T),
            r"the last axis must have stride 1, got strides \[1, 6\].*clone\(x\)",
        ),
        ("odd stride", ValueError, lambda: lm.view_as_complex(flat.reshape(4, 3)[:, :2]), "must be even, got strides"),
        ("odd offset", ValueError, lambda: lm.view_as_complex(flat[1:3]), "an even number of them from the begin"),
        ("dtype", TypeError, lambda: lm.view_as_complex(lm.ones([2], dtype="float16")), "float16"),
        ("complex", TypeError, lambda: lm.view_as_complex(lm.ones([2], dtype="complex64")), "complex64"),
        ("real", TypeError, lambda: lm.view_as_real(flat), r"\[view_as_real\] does not take dtype float64"),
        ("delete", TypeError, delete, r"\[real\] cannot be deleted"),
        ("no imaginary part", TypeError, set_imaginary, r"\[imag\] a tensor of dtype float32 has no imaginary part"),
        ("shape", ValueError, set_complex, r"\[setitem\] a value of shape \[3\]"),
        ("leaf", RuntimeError, lambda: leaf().imag.zero_(), "a view of a leaf tensor that wants a gradient"),
        ("mapped", ValueError, lambda: lm.autograd.vmap(lm.view_as_complex, in_axes=1)(lm.ones([2, 3])), "stride 1"),
    ]


@pytest.mark.parametrize(("error", "call", "words"), [e[1:] for e in errors()], ids=[e[0] for e in errors()])
def test_errors(error: type[Exception], call: Callable[[], Any], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


FUNCTIONS: dict[str, Callable[[lm.Tensor], Any]] = {
    "real": lm.real,
    "imag": lm.imag,
    "view_as_real": lm.view_as_real,
    "back and forth": lambda z: lm.view_as_complex(lm.view_as_real(z)),
    "of a square": lambda z: (lm.real(z * z), lm.imag(z * z * z)),
    "of transposed parts": lambda z: lm.view_as_real(z.T * z.T)[..., 1].reshape(-1)[1:] * z.real[0, 0],
    "written through": lambda z: written(z * 1),
    "complex of transposed pairs": lambda z: lm.view_as_complex(lm.swapaxes(lm.view_as_real(z * z), 0, 1)),
}


def written(z: lm.Tensor) -> lm.Tensor:
    before = z.imag[1]
    z.real.mul_(z.imag * 1)
    lm.view_as_real(z)[:, 0, 1] *= 3
    z.imag[1] = (z.real[0] + before) * 0.5
    return z


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name: str) -> None:
    """First and second derivatives, in both modes, for a complex argument; views of no numbers have some as well."""
    z = lm.tensor(numbers(2, 3), stop_gradient=False)
    f = FUNCTIONS[name]
    assert lm.autograd.gradcheck(f, z, check_forward_ad=True, check_batched_grad=True)
    assert lm.autograd.gradgradcheck(f, z)


def test_checkpoints_and_saved_tensors() -> None:
    z = lm.tensor(numbers(2, 3), stop_gradient=False)
    plain = lm.grad(lm.abs(written(z * 1)).sum(), z)
    again = lm.grad(lm.abs(lm.autograd.checkpoint(lambda z: written(z * 1), z)).sum(), z)
    np.testing.assert_array_equal(plain.numpy(), again.numpy())
    y = z * 1
    square = y * y
    y.imag.zero_()
    with pytest.raises(RuntimeError, match="overwritten by zero_"):
        lm.abs(square).sum().backward()


def test_a_view_follows_its_base() -> None:
    """grad_fn and stop_gradient of views made before the base was written to, of both kinds."""
    w = lm.tensor([1.0, 2.0], stop_gradient=False)
    z, pairs = lm.zeros([2], dtype="complex64"), lm.zeros([1, 2])
    for view, write, expected in (
        (z.imag, lambda: z.imag.copy_(w), [1.0, 2.0]),
        (lm.view_as_complex(pairs), lambda: pairs.copy_(w), [1 + 2j]),
    ):
        assert view.stop_gradient and view.grad_fn is None
        write()
        assert view.tolist() == expected
        assert not view.stop_gradient and view.grad_fn is not None and view.grad_fn.name == "view"
    assert not z.stop_gradient and z.grad_fn is not None and z.grad_fn.name == "overwrite"
    z.zero_()
    assert z.imag.stop_gradient
    with lm.no_grad():
        part = z.real
    assert part.is_leaf and part.data_ptr() == z.data_ptr()


def test_base_that_begins_within_a_pair() -> None:
    """The gradient of such a base has no pairs where the view is: they are copied."""
    w = lm.tensor(3.0, stop_gradient=False)
    whole = lm.asarray([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    with lm.no_grad():
        base = whole[1:]
    del whole  # whose gradient would not know
    lm.view_as_complex(base[1:5].reshape(2, 2)).mul_(w)
    assert base.tolist() == [1, 6, 9, 12, 15]
    (base * lm.asarray([1.0, 10.0, 100.0, 1000.0, 10000.0])).sum().backward()
    assert w.grad is not None and w.grad.item() == 54320


def test_copies_stand_alone(tmp_path: Path) -> None:
    z = lm.asarray(numbers(2, 3))
    for view in (z.real, z.imag.T, lm.view_as_real(z)[0], lm.view_as_complex(lm.view_as_real(z))):
        copies = [copy.deepcopy(view), copy.copy(view).clone(), pickle.loads(pickle.dumps(view))]
        lm.io.save({"x": view}, tmp_path / "x.npz")
        copies.append(lm.io.load(tmp_path / "x.npz")["x"])
        for twin in copies:
            assert twin.dtype == view.dtype and twin.data_ptr() != view.data_ptr()
            np.testing.assert_array_equal(twin.numpy(), view.numpy())


def test_results_into_views() -> None:
    """``out=``, and operands that lie between the elements that are written."""
    z = lm.asarray([1 + 2j, 3 + 4j])
    assert lm.add(z.real, z.imag, out=z.imag) is not None and z.tolist() == [1 + 3j, 3 + 7j]
    lm.abs(lm.asarray([3 + 4j, 0j]), out=z.real)
    assert z.tolist() == [5 + 3j, 7j]
    z.real.copy_(z.imag)
    z *= z.real
    assert z.tolist() == [9 + 9j, 49 + 49j]
    lm.imag(z, out=z.real)
    z.copy_(z.real)
    assert z.tolist() == [9, 49]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_meta(dtype: str) -> None:
    z = lm.empty([3, 4], dtype=dtype, device="meta").T
    assert z.real.strides == (2, 8) and str(z.imag.device) == "meta"
    assert lm.view_as_complex(lm.view_as_real(z)).dtype == z.dtype


def test_real_tensors_are_their_real_part() -> None:
    x = lm.asarray([1.0, 2.0])
    assert x.real is x and lm.real(x) is x
    zeros = x.imag
    zeros.add_(1)
    assert x.imag.tolist() == [0, 0]


@pytest.mark.parametrize("layout", ["every other", "backwards", "transposed", "odd rows", "broadcast"])
def test_tangents_of_pairs_have_any_strides(layout: str) -> None:
    rng = np.random.default_rng(0)
    numbers = lm.asarray(rng.normal(size=(5, 4)))
    tangent = {
        "every other": numbers[:, ::2],
        "backwards": numbers[:, 1::-1],
        "transposed": numbers.T[:2].contiguous().T,
        "odd rows": lm.asarray(rng.normal(size=(5, 3)))[:, 1:],
        "broadcast": lm.broadcast_to(numbers[:, :1], [5, 2]),
    }[layout]
    x = lm.asarray(rng.normal(size=(5, 2)))
    found = lm.jvp(lm.view_as_complex, (x,), (tangent,))[1].numpy()
    np.testing.assert_array_equal(found, tangent.numpy()[:, 0] + 1j * tangent.numpy()[:, 1])
