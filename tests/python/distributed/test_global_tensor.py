"""Global tensors: how they are made, what they are as tensors, their gradients, writes in place, copies, mistakes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import _C
from lamella.distributed import GlobalTensor, distribute, sbp, to_global
from lamella.distributed.mesh import placement

from .ranks import run

RNG = np.random.default_rng(21)
X, Y = RNG.standard_normal((5, 4)), RNG.standard_normal((5, 4))


def _two(function: Callable[[Any], Any]) -> list[Any]:
    """Calls a function on two processes with their placement."""
    return run(2, lambda rank: function(placement("cpu", [0, 1])))


def _global(x: Any, mesh: Any, one: Any, gradient: bool = False) -> GlobalTensor:
    made = distribute(lm.asarray(x), mesh, one)
    made.stop_gradient = not gradient
    return made


@pytest.mark.parametrize("one", ["S(0)", "S(1)", "B", "P"])
def test_it_is_a_tensor_of_the_whole_shape(one: str) -> None:
    def check(mesh: Any) -> None:
        x = _global(X, mesh, one)
        assert isinstance(x, lm.Tensor) and x.is_global
        assert (x.shape, x.ndim, x.size, x.dtype, x.device) == ((5, 4), 2, 20, lm.float64, "cpu")
        assert x.placement is mesh and x.sbp == (sbp.parse(one),) and len(x) == 5
        np.testing.assert_array_equal(x.numpy(), X)
        assert x.tolist() == X.tolist() and np.array_equal(np.asarray(x), X)
        assert float(x.sum()) == pytest.approx(X.sum()) and f"{x.sum():.3f}" == f"{X.sum():.3f}"
        assert repr(x).startswith("GlobalTensor(shape=[5, 4], sbp=(lamella.sbp.")
        np.testing.assert_array_equal(np.stack([row.numpy() for row in x.to_global(sbp="B")]), X)
        assert bool((x > -100).all())

    _two(check)


@pytest.mark.parametrize("one", ["S(0)", "S(1)", "B"])
def test_of_every_process_s_part(one: str) -> None:
    def check(mesh: Any) -> Any:
        rank = mesh.coordinate()[0]
        part = np.array_split(X, 2, axis=int(one[2]))[rank] if one != "B" else X + rank
        x = lm.asarray(part).to_global(mesh, sbp.parse(one))
        np.testing.assert_array_equal(x.numpy(), X)  # of broadcast ones, the first process's values
        np.testing.assert_array_equal(x.to_local().numpy(), part if one != "B" else X)

    _two(check)


def test_gradients_reach_the_parts() -> None:
    def check(mesh: Any) -> None:
        rank = mesh.coordinate()[0]
        for one in ("S(0)", "S(1)", "B"):
            part = np.array_split(X, 2, axis=int(one[2]))[rank] if one != "B" else X
            own = lm.tensor(part, stop_gradient=False)
            x = to_global(own, mesh, one)
            (x * x * x).sum().backward()
            np.testing.assert_allclose(own.grad.numpy(), 3 * part**2)  # type: ignore[union-attr]
            # Through a part: a loss of what every process has whole counts once.
            own.grad = None
            local = to_global(own, mesh, one).to_global(sbp="B").to_local()
            (local**2).sum().backward()
            np.testing.assert_allclose(own.grad.numpy(), 2 * part)  # type: ignore[union-attr]
            own.grad = None
            cut = to_global(own, mesh, one).to_global(sbp="S(0)").to_local()
            (cut**2).sum().backward()
            np.testing.assert_allclose(own.grad.numpy(), 2 * part)  # type: ignore[union-attr]

    _two(check)


@pytest.mark.parametrize("one", ["S(0)", "S(1)", "B", "P"])
def test_leaves_have_gradients_as_they_lie(one: str) -> None:
    def check(mesh: Any) -> None:
        x = _global(X, mesh, one, gradient=True)
        y = _global(Y, mesh, "S(0)")
        assert x.is_leaf and not x.stop_gradient and x.requires_grad and x.grad is None and x.grad_fn is None
        for times in (1, 2):
            loss = (x * x * y).sum()
            assert not loss.is_leaf and loss.grad_fn is not None
            loss.backward()
            assert x.grad is not None and x.grad.sbp == ((sbp.parse(one) if one != "P" else sbp.broadcast),)
            np.testing.assert_allclose(x.grad.numpy(), times * 2 * X * Y)
        x.grad = x.grad * 0.5
        np.testing.assert_allclose(x.grad.numpy(), 2 * X * Y)
        x.clear_grad()
        assert x.grad is None
        lm.autograd.backward([(x * y).sum(), (x * x).sum()])
        np.testing.assert_allclose(x.grad.numpy(), Y + 2 * X)  # type: ignore[union-attr]
        [dx] = lm.grad((x * x * x).sum(), [x])
        np.testing.assert_allclose(dx.numpy(), 3 * X**2)

    _two(check)


def test_second_derivatives() -> None:
    def check(mesh: Any) -> None:
        for one in ("S(0)", "B"):
            x, w = _global(X, mesh, one, gradient=True), _global(Y, mesh, "S(0)", gradient=True)
            [dx] = lm.grad(((x @ w.T) ** 2).sum(), [x], create_graph=True)
            (dx * dx).sum().backward()
            gram = Y.T @ Y
            np.testing.assert_allclose(x.grad.numpy(), 8 * X @ gram @ gram, rtol=1e-9)  # type: ignore[union-attr]

    _two(check)


def test_hooks_see_global_gradients() -> None:
    def check(mesh: Any) -> None:
        x = _global(X, mesh, "B", gradient=True)
        seen: list[Any] = []
        x.register_hook(lambda dy: seen.append(dy) or dy * 2)  # type: ignore[func-returns-value]
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf))
        y = x * 3
        y.retain_grad()
        (y * _global(Y, mesh, "S(1)")).sum().backward()
        np.testing.assert_allclose(seen[0].numpy(), 3 * Y)
        assert seen[1] is x
        np.testing.assert_allclose(x.grad.numpy(), 6 * Y)  # type: ignore[union-attr]
        np.testing.assert_allclose(y.grad.numpy(), Y)  # type: ignore[union-attr]

    _two(check)


def test_writes_in_place() -> None:
    def check(mesh: Any) -> None:
        for one in ("S(0)", "S(1)", "B", "P"):
            x = _global(X, mesh, one)
            same = x
            x += _global(Y, mesh, "S(0)")
            x.mul_(2.0)
            assert x is same
            np.testing.assert_allclose(x.numpy(), 2 * (X + Y))
            lm.add(x, x, out=x)
            np.testing.assert_allclose(x.numpy(), 4 * (X + Y))
            x.copy_(lm.asarray(Y))
            np.testing.assert_array_equal(x.numpy(), Y)
            x.fill_(3.0)
            np.testing.assert_array_equal(x.numpy(), np.full((5, 4), 3.0))
            x.relu_()
            x[:, 1:3] = _global(Y, mesh, "S(1)")[:, 1:3]
            x[2] = 7.0
            expected = np.full((5, 4), 3.0)
            expected[:, 1:3], expected[2] = Y[:, 1:3], 7.0
            np.testing.assert_array_equal(x.numpy(), expected)

    _two(check)


VIEWS: list[tuple[str, Callable[[Any], Any]]] = [
    ("rows", lambda x: x[1:3]),
    ("columns", lambda x: x[:, 1:3]),
    ("row", lambda x: x[2]),
    ("permuted", lambda x: lm.permute_dims(x, (1, 0))),
    ("reshaped", lambda x: lm.reshape(x, (2, 10))),
    ("flat", lambda x: lm.reshape(x, (20,))[3:9]),
    ("broadcast", lambda x: lm.expand_dims(x, axis=0)),
]
WRITES: list[tuple[str, Callable[[Any], Any]]] = [
    ("mul_", lambda v: v.mul_(2.0)),
    ("setitem", lambda v: v.__setitem__(0, 5.0)),
    ("copy_", lambda v: v.copy_(lm.full(v.shape, 3.0, dtype=lm.float64))),
    ("out", lambda v: lm.add(v, v, out=v)),
]


@pytest.mark.parametrize("one", ["S(0)", "S(1)", "B", "P"])
def test_a_write_through_a_view_reaches_the_tensor_or_is_refused(one: str) -> None:
    plain = np.arange(20.0).reshape(4, 5)
    expected = {}
    for view, take in VIEWS:
        for write, change in WRITES:
            whole = lm.asarray(plain.copy())
            change(take(whole))
            expected[view, write] = whole.numpy()

    def check(mesh: Any) -> None:
        done = 0
        for view, take in VIEWS:
            for write, change in WRITES:
                x = _global(plain, mesh, one)
                part = take(x)
                before = part.numpy()
                try:
                    change(part)
                except RuntimeError as error:
                    assert "clone" in str(error), error
                    np.testing.assert_array_equal(x.numpy(), plain)
                    np.testing.assert_array_equal(part.numpy(), before)
                else:
                    done += 1
                    np.testing.assert_array_equal(x.numpy(), expected[view, write], err_msg=f"{view} {write}")
        assert done >= 4

    _two(check)


KEYS: list[Any] = [
    *(0, -1, slice(1, 4), slice(None, None, 2), (slice(None), 2), (..., None), (None, 1), (slice(None), [0, 2])),
    *(([3, 0], slice(None)), (..., slice(1, 3))),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_subscripts(key: Any) -> None:
    def check(mesh: Any) -> None:
        for one in ("S(0)", "S(1)", "B", "P"):
            np.testing.assert_array_equal(_global(X, mesh, one)[key].numpy(), X[key])

    _two(check)


def test_numbers_and_tensors_beside() -> None:
    def check(mesh: Any) -> None:
        x = _global(X, mesh, "S(0)")
        for found, expected in (
            (1 - x, 1 - X),
            (x / 2, X / 2),
            (2 ** (x * 0), np.ones_like(X)),
            (x + lm.asarray(Y), X + Y),
            (lm.asarray(Y) - x, Y - X),
            (x + Y, X + Y),
            (x @ lm.asarray(Y).T, X @ Y.T),
            (x.T.mT.real, X),
            (divmod(x, 2)[0], X // 2),
        ):
            assert isinstance(found, GlobalTensor)
            np.testing.assert_allclose(found.numpy(), expected)
        assert x.to("float32").dtype == lm.float32 and x.cpu() is x
        assert lm.asarray(x) is x

    _two(check)


def test_copies_and_pickles() -> None:
    def check(mesh: Any) -> None:
        for one in ("S(0)", "B"):
            x = _global(X, mesh, one, gradient=True)
            (x * x).sum().backward()
            for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
                assert type(other) is GlobalTensor and other.sbp == x.sbp and other.placement == mesh
                (other * other).sum().backward()
                np.testing.assert_allclose(other.grad.numpy(), 4 * X)
                with lm.no_grad():
                    other.zero_()
                np.testing.assert_array_equal(x.numpy(), X)

    _two(check)


def test_random_numbers_are_the_same_where_tensors_are_whole_and_others_for_each_part() -> None:
    ones = np.ones((64, 64))

    def check(mesh: Any) -> Any:
        dropped = lm.dropout(_global(ones, mesh, "B"), 0.5)
        cut = lm.dropout(_global(ones, mesh, "S(0)"), 0.5, generator=lm.Generator(seed=3))
        return dropped.to_local().numpy(), cut.to_local().numpy()

    # The stand-in's processes share one generator, so that only the explicit one shows what separate processes do.
    (_, first), (_, second) = _two(check)
    assert (first != second).mean() > 0.4 and abs(first.mean() - 1) < 0.2


def test_a_checkpoint_keeps_parts() -> None:
    def check(mesh: Any) -> None:
        x, w = _global(X, mesh, "S(0)", gradient=True), _global(Y, mesh, "B", gradient=True)
        y = lm.checkpoint(lambda a, b: lm.tanh(a * b) * a, x, w)
        y.sum().backward()
        t = np.tanh(X * Y)
        np.testing.assert_allclose(x.grad.numpy(), t + X * Y * (1 - t**2), rtol=1e-9)  # type: ignore[union-attr]
        np.testing.assert_allclose(w.grad.numpy(), X**2 * (1 - t**2), rtol=1e-9)  # type: ignore[union-attr]

    _two(check)


def test_what_is_brought_about_once_is_not_sent_again() -> None:
    from lamella.distributed import _carrier

    def check(mesh: Any) -> None:
        log = _carrier.current().log  # type: ignore[attr-defined]
        x = _global(X, mesh, "S(0)", gradient=True) * 1.0
        wide = np.tile(Y, (8, 1))
        weights = [_global(wide, mesh, "S(0)") for _ in range(3)]
        log.clear()
        results = [lm.linear(x, w) for w in weights]
        assert [name for name, _ in log] == ["all_gather"]
        sum((y.sum() for y in results), start=lm.zeros([])).backward()
        with lm.no_grad():
            x.mul_(2.0)
        log.clear()
        np.testing.assert_allclose(lm.linear(x, weights[0]).numpy(), 2 * X @ wide.T)
        assert "all_gather" in [name for name, _ in log]

    _two(check)


def test_a_compiled_function_runs_as_it_is() -> None:
    double = lm.compile(lambda x: lm.tanh(x) * 2)

    def check(mesh: Any) -> None:
        np.testing.assert_allclose(double(_global(X, mesh, "S(0)")).numpy(), 2 * np.tanh(X))

    _two(check)


def test_nothing_sees_operators_without_global_tensors() -> None:
    def check(mesh: Any) -> None:
        x = _global(X, mesh, "S(0)")
        assert _C._recorder() is not None
        y = x * 2
        del x
        assert _C._recorder() is not None
        del y
        assert _C._recorder() is None

    _two(check)
    assert _C._recorder() is None


MISTAKES: list[tuple[Callable[[Any, Any], Any], type[Exception], str]] = [
    (lambda x, mesh: to_global(lm.asarray(X)), TypeError, "takes a placement and signatures"),
    (lambda x, mesh: x.to_global(placement("cpu", [1, 0])), ValueError, "goes to no other"),
    (lambda x, mesh: x.to_global(sbp="S(2)"), ValueError, "out of range for a tensor of 2 axes"),
    (lambda x, mesh: x.to_global(sbp=["B", "B"]), ValueError, "2 signatures for a mesh of 1 axes"),
    (lambda x, mesh: lm.asarray(X).to_global(mesh, "S(0)").backward(), RuntimeError, "a gradient is made for one"),
    (lambda x, mesh: x + lm.tensor(Y, stop_gradient=False), RuntimeError, r"\[add\] a tensor that wants a gradient is"),
    (lambda x, mesh: x.data_ptr(), RuntimeError, r"\[data_ptr\] a global tensor has none"),
    (lambda x, mesh: lm.vmap(lambda row: row * 2)(x), RuntimeError, r"\[vmap\] takes no global tensors"),
    (lambda x, mesh: lm.vjp(lambda x: x * 2, x), RuntimeError, r"\[vjp\] takes no global tensors"),
    (lambda x, mesh: lm.jvp(lambda x: x * 2, (x,), (x,)), RuntimeError, r"\[jvp\] takes no global tensors"),
    (lambda x, mesh: x.set_gradient(), AttributeError, "set_gradient"),
    (
        lambda x, mesh: lm.asarray(1.0).to_global(mesh, "B") and len(lm.asarray(1.0).to_global(mesh, "B")),
        TypeError,
        "0-d",
    ),
]


@pytest.mark.parametrize(("call", "error", "words"), MISTAKES)
def test_mistakes(call: Any, error: type[Exception], words: str) -> None:
    def check(mesh: Any) -> None:
        with pytest.raises(error, match=words):
            call(_global(X, mesh, "S(0)"), mesh)

    _two(check)


def test_parts_that_do_not_fit() -> None:
    def check(mesh: Any) -> None:
        rank = mesh.coordinate()[0]
        with pytest.raises(ValueError, match=r"expected \[[23]\], as numpy.array_split cuts it"):
            to_global(lm.zeros([2 + rank]), mesh, "S(0)")
        with pytest.raises(ValueError, match="have tensors of other shapes"):
            to_global(lm.zeros([2 + rank]), mesh, "B")

    _two(check)
