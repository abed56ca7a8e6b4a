"""Aliases that left the tape: a write through one of them is followed, or refused, and never wrong in silence."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

import lamella as lm

Array = np.ndarray[Any, Any]

# Ways to a view of a (4, 6) tensor, and the same of an array.
VIEWS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda x: x[0:1],
    "row": lambda x: x[2],
    "column": lambda x: x[:, 1],
    "steps": lambda x: x[::2, 1::2],
    "backward": lambda x: x[::-1],
    "whole": lambda x: x[...],
    "new axis": lambda x: x[None],
    "transposed": lambda x: x.T,
    "reshaped": lambda x: x.reshape(6, 4),
    "flattened": lambda x: x.reshape(24),
    "iteration": lambda x: next(iter(x)),
    "last of iteration": lambda x: list(x)[3],
    "unstack": lambda x: lm.unstack(x)[1] if isinstance(x, lm.Tensor) else x[1],
    "split": lambda x: lm.split(x, [1, 3])[1] if isinstance(x, lm.Tensor) else x[1:],
    "chunk": lambda x: lm.chunk(x, 2)[0] if isinstance(x, lm.Tensor) else x[:2],
    "permuted": lambda x: lm.permute_dims(x, (1, 0)) if isinstance(x, lm.Tensor) else x.T,
    "swapped": lambda x: lm.swapaxes(x, 0, 1) if isinstance(x, lm.Tensor) else x.T,
    "squeezed": lambda x: lm.squeeze(x[1:2], axis=0) if isinstance(x, lm.Tensor) else x[1],
    "expanded dims": lambda x: lm.expand_dims(x, axis=0) if isinstance(x, lm.Tensor) else x[None],
    "diagonal": lambda x: (
        lm.linalg.diagonal(x)
        if isinstance(x, lm.Tensor)
        else np.lib.stride_tricks.as_strided(x, (4,), (x.strides[0] + x.strides[1],))
    ),
    "windows": lambda x: lm.sliding_window(x, 1, 2, 2) if isinstance(x, lm.Tensor) else x.reshape(4, 3, 2),
    "view of a view": lambda x: x[1:][0][2:4],
}


class Shown(lm.PyLayer):
    """Returns the values and keeps a view of them."""

    kept: list[lm.Tensor] = []  # noqa: RUF012  # one list for the test that reads it

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor, view: Callable[[Any], Any]) -> lm.Tensor:
        y = x * 1
        Shown.kept.append(view(y))
        return y

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        return dy


MODES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "recording": lm.enable_grad,
    "no_grad": lm.no_grad,
    "inference_mode": lm.inference_mode,
    "set_grad_enabled": lambda: lm.set_grad_enabled(False),
}


def wanting(shape: list[int], dtype: str = "float32") -> lm.Tensor:
    """A leaf of ones that wants a gradient."""
    leaf = lm.ones(shape, dtype=dtype)
    leaf.stop_gradient = False
    return leaf


def constant(x: Any, array: Array) -> Any:
    """The values as x's kind of array."""
    return lm.asarray(array) if isinstance(x, lm.Tensor) else array


def mask_of(x: Any) -> Array:
    """True at every second element."""
    return np.arange(int(np.prod(tuple(x.shape)))).reshape(tuple(x.shape)) % 2 == 0


def write_out(x: Any) -> None:
    """Through out=."""
    values = constant(x, np.full(tuple(x.shape), 2.0))
    lm.add(values, values, out=x) if isinstance(x, lm.Tensor) else np.add(values, values, out=x)


def write_mask(x: Any) -> None:
    """By a mask."""
    x[constant(x, mask_of(x))] = 5.0


WRITES: dict[str, Callable[[Any], Any]] = {
    "mul_": lambda x: x.__imul__(3.0),
    "add_": lambda x: x.__iadd__(1.5),
    "div_": lambda x: x.__itruediv__(constant(x, np.full(tuple(x.shape), 2.0))),
    "fill_": lambda x: x.fill_(2.0) if isinstance(x, lm.Tensor) else x.fill(2.0),
    "zero_": lambda x: x.zero_() if isinstance(x, lm.Tensor) else x.fill(0),
    "copy_": lambda x: (
        x.copy_(lm.full(tuple(x.shape), 4.0, dtype="float64")) if isinstance(x, lm.Tensor) else np.copyto(x, 4.0)
    ),
    "setitem": lambda x: x.__setitem__(..., 0.25),
    "setitem of a part": lambda x: x.__setitem__(0, 0.25),
    "masked": write_mask,
    "masked_fill_": lambda x: (
        x.masked_fill_(lm.asarray(mask_of(x)), 0.5) if isinstance(x, lm.Tensor) else np.copyto(x, 0.5, where=mask_of(x))
    ),
    "out=": write_out,
}


def weights() -> Array:
    """One for each element of the base."""
    return np.cos(np.arange(24.0)).reshape(4, 6)


@functools.cache
def expected_gradient(view: str, write: str) -> Array:
    """The gradient of the program for the values before it: differences of a program that is linear in each of them."""
    start = np.linspace(0.5, 1.5, 24).reshape(4, 6)

    def run(values: Array) -> float:
        base = values.copy()
        WRITES[write](VIEWS[view](base))
        return float((base * weights()).sum())

    result = np.empty_like(start)
    for at in np.ndindex(4, 6):
        up, down = start.copy(), start.copy()
        up[at] += 0.5
        down[at] -= 0.5
        result[at] = run(up) - run(down)
    return result


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_views_of_a_result(view: str, write: str, mode: str) -> None:
    """Every view, made in every mode, with every write of a constant while recording."""
    x = lm.asarray(np.linspace(0.5, 1.5, 24).reshape(4, 6), copy=True)
    x.stop_gradient = False
    base = x * 1
    with MODES[mode]():
        alias = VIEWS[view](base)
    before = base.detach().numpy().copy()
    try:
        WRITES[write](alias)
    except RuntimeError as error:
        assert mode != "recording" or write == "out="
        assert "[" in str(error)
        assert "clone()" in str(error) or "out=" in str(error)
        np.testing.assert_array_equal(base.detach().numpy(), before)
        return
    (base * lm.asarray(weights())).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), expected_gradient(view, write), atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_views_of_a_leaf(view: str, write: str, mode: str) -> None:
    """Where the leaf is refused, a view of it is, too."""
    leaf = wanting([4, 6], "float64")
    with MODES[mode]():
        alias = VIEWS[view](leaf)
    with pytest.raises(RuntimeError, match=r"clone|out="):
        WRITES[write](alias)
    assert bool((leaf == 1).all())


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_views_that_a_layer_kept(view: str, write: str) -> None:
    """What forward kept of its output is no way around the tape."""
    x = wanting([4, 6], "float64")
    Shown.kept.clear()
    base = Shown.apply(x, VIEWS[view])
    with pytest.raises(RuntimeError, match=r"clone|out="):
        WRITES[write](Shown.kept.pop())
    assert bool((base == 1).all())


@pytest.mark.parametrize("write", WRITES)
def test_other_ways_to_an_alias(write: str) -> None:
    """detach(), a kept output, a tensor that shared the memory before it got its place, a leaf on another's memory."""
    x = wanting([4, 6], "float64")

    def detached() -> tuple[lm.Tensor, lm.Tensor]:
        base = x * 1
        return base, base.detach()

    def view_of_detached() -> tuple[lm.Tensor, lm.Tensor]:
        base = x * 1
        return base, base.detach()[1:]

    def kept() -> tuple[lm.Tensor, lm.Tensor]:
        Shown.kept.clear()
        base = Shown.apply(x, lambda y: y)
        return base, Shown.kept.pop()

    def older() -> tuple[lm.Tensor, lm.Tensor]:
        base = lm.ones([4, 6], dtype="float64")
        with lm.no_grad():
            alias = base[1:]
        base.mul_(x)
        return base, alias

    def under_a_leaf() -> tuple[lm.Tensor, lm.Tensor]:
        base = lm.ones([4, 6], dtype="float64")
        leaf = base[1:]
        leaf.stop_gradient = False
        return leaf, base

    for way in (detached, view_of_detached):
        base, alias = way()
        before = (base * base).sum()
        try:
            WRITES[write](alias)
        except RuntimeError as error:
            assert write == "out="  # the others may go on
            assert "out=" in str(error)
            continue
        with pytest.raises(RuntimeError, match=r"overwritten by .* at .*test_aliases.py:\d+ through detach.*clone"):
            base.sum().backward()
        with pytest.raises(RuntimeError, match=r"overwritten by .* at .*test_aliases.py:\d+ through detach.*clone"):
            base[1:].sum().backward()
        with pytest.raises(RuntimeError, match="overwritten"):
            before.backward()
    for way in (kept, older, under_a_leaf):
        base, alias = way()
        with pytest.raises(RuntimeError, match=r"clone|out="):
            WRITES[write](alias)
        assert bool((base == 1).all()), way.__name__


def test_what_stays_allowed() -> None:
    """Writes that contradict no gradient: off the tape, into parts that nobody holds, after the holder is gone."""
    x = wanting([4])

    plain = lm.ones([4])
    with lm.no_grad():
        alias = plain[:2]
    alias.mul_(3)
    plain.detach().mul_(2)
    assert plain.tolist() == [6, 6, 2, 2]

    base = x * 1
    with lm.no_grad():
        base[:2].mul_(3)  # asked for
    alias = base.detach()
    del base
    gc.collect()
    alias.mul_(2)
    assert alias.tolist() == [6, 6, 2, 2]

    flat = lm.zeros([4])
    leaf = flat[:2]
    leaf.stop_gradient = False
    flat[2:].add_(1)
    with lm.no_grad():
        flat.add_(1)
    assert leaf.tolist() == [1, 1]

    leaf = wanting([2])
    leaf.detach().mul_(5)  # a leaf has no history to contradict
    leaf.detach()[0].fill_(1)
    assert leaf.tolist() == [1, 5]

    base = x * 1
    base.mul_(2).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2, 2, 2]


class TestLayers:
    """What forward does to its inputs and returns."""

    def test_two_outputs_on_one_memory_cannot_be_written_to(self) -> None:
        """Each has a gradient of its own."""

        class Both(lm.PyLayer):
            @staticmethod
            def forward(ctx: Any, x: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor]:
                y = x * 2
                return y, y[0:1]

            @staticmethod
            def backward(ctx: Any, dy: lm.Tensor, dv: lm.Tensor) -> lm.Tensor:
                return 2 * (dy + lm.concat([dv, lm.zeros([2])]))

        x = wanting([3])
        for which in (0, 1):
            outputs = Both.apply(x)
            with pytest.raises(RuntimeError, match=r"\[mul_\].*clone"):
                outputs[which].mul_(3.0)
        y, v = Both.apply(x)
        (y.sum() + v.sum()).backward()
        assert x.grad is not None
        assert x.grad.tolist() == [4, 2, 2]

    @pytest.mark.parametrize("graded", [True, False])
    def test_kernels_of_custom_operators(self, graded: bool) -> None:
        """Two results on one memory, a view that was kept, and an input that was written to without saying so."""
        kept: list[lm.Tensor] = []
        name = "graded" if graded else "plain"

        @lm.library.custom_op(f"test_aliases::both_{name}", mutates_args=())
        def both(x: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor]:
            y = x * 2
            kept.append(y[1:2])
            return y, y[0:1]

        @lm.library.custom_op(f"test_aliases::writes_{name}", mutates_args=())
        def writes(x: lm.Tensor) -> lm.Tensor:
            x[:1].mul_(3.0)
            return x * 2

        if graded:
            both.register_autograd(lambda ctx, dy, dv: 2 * dy + lm.concat([2 * dv, lm.zeros([2])]))
            writes.register_autograd(lambda ctx, dy: 2 * dy)
        x = wanting([3])
        y, v = both(x)
        for target in (y, v, kept.pop()):
            with pytest.raises(RuntimeError, match=r"\[mul_\].*clone"):
                target.mul_(3.0)
        with pytest.raises(RuntimeError, match=r"writes_.*input 0.*mul_.*mark_dirty"):
            writes(x * 1)

    @pytest.mark.parametrize("which", [0, 1])
    def test_results_of_one_memory_that_were_not_recorded(self, which: int) -> None:
        """A gradient that is written into one of them reaches the other, or is refused."""

        @lm.library.custom_op(f"test_aliases::halves_{which}", mutates_args=())
        def halves(x: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor]:
            y = x * 2
            return y, y[0:1]

        class Halves(lm.PyLayer):
            @staticmethod
            def forward(ctx: Any, x: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor]:
                y = x * 2
                return y, y[0:1]

        for call in (halves, Halves.apply):
            results = call(lm.ones([3]))
            w = wanting([1])
            try:
                results[which].mul_(w)
            except RuntimeError as error:
                assert "clone()" in str(error)
                results[which].mul_(3.0)
                assert results[1 - which][0].item() == 6
                continue
            (results[0][0] + results[1][0]).backward()
            assert w.grad is not None
            assert w.grad.item() == 4

    @pytest.mark.parametrize("view", [None, *VIEWS])
    def test_unmarked_writes_are_found(self, view: str | None) -> None:
        """The version rises, and mark_dirty was not called."""

        class Clamp(lm.PyLayer):
            @staticmethod
            def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
                (x if view is None else VIEWS[view](x)).mul_(3.0)
                return x * 2

            @staticmethod
            def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
                return 6 * dy

        x = wanting([4, 6])
        with pytest.raises(RuntimeError, match=r"Clamp.*input 0.*mul_.*mark_dirty"):
            Clamp.apply(x * 1)
        with pytest.raises(RuntimeError, match=r"Clamp.*input 0.*mul_.*mark_dirty"):
            Clamp.apply(x)

    def test_plain_inputs_may_be_written_to(self) -> None:
        """Running statistics are: no gradient goes there."""

        class Count(lm.PyLayer):
            @staticmethod
            def forward(ctx: Any, x: lm.Tensor, seen: lm.Tensor) -> lm.Tensor:
                seen.add_(1)
                return x * 2

            @staticmethod
            def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
                return 2 * dy

        x = wanting([2])
        seen = lm.zeros([])
        Count.apply(x, seen).sum().backward()
        assert seen.item() == 1
        assert x.grad is not None
        assert x.grad.tolist() == [2, 2]

    def test_marked_writes_are_followed(self) -> None:
        """As they were."""

        class Triple(lm.PyLayer):
            @staticmethod
            def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
                x.mul_(3.0)
                ctx.mark_dirty(x)
                return x

            @staticmethod
            def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
                return 3 * dy

        x = wanting([2])
        h = x * 1
        view = h[:1]
        Triple.apply(h)
        (h.sum() + view.sum()).backward()
        assert x.grad is not None
        assert x.grad.tolist() == [6, 3]


class TestMemoryOfOthers:
    """numpy and DLPack aliases of what is saved: a checksum finds what no version tells."""

    def test_exported_after_it_was_saved(self) -> None:
        """A writable view of a saved tensor."""
        w = wanting([300])
        x = lm.ones([300])
        y = (w * x).sum()
        array = x.numpy()
        array[7] = 3
        with pytest.raises(RuntimeError, match=r"multiply.*numpy or through DLPack.*clone"):
            y.backward()

    def test_exported_before_it_was_saved(self) -> None:
        """The array lives on."""
        w = wanting([3, 4])
        x = lm.ones([4, 3])
        array = x.numpy()
        y = (w * x.T).sum()
        array[3, 2] = 5
        with pytest.raises(RuntimeError, match="numpy"):
            y.backward()

    def test_the_array_is_gone_when_backward_runs(self) -> None:
        """The end of an export counts as a write where there was one."""
        w = wanting([3])
        x = lm.ones([3])
        y = (w * x).sum()
        x.numpy()[1] = 4
        gc.collect()
        with pytest.raises(RuntimeError, match="numpy"):
            y.backward()

    @pytest.mark.parametrize("make", [lm.from_numpy, lm.from_dlpack], ids=["numpy", "dlpack"])
    def test_imported(self, make: Callable[[Array], lm.Tensor]) -> None:
        """The memory is somebody else's."""
        w = wanting([3], "float64")
        array = np.ones(3)
        x = make(array)
        y = (w * x).sum()
        array[0] = 2
        with pytest.raises(RuntimeError, match="numpy"):
            y.backward()

    def test_dlpack_export(self) -> None:
        """By way of numpy's importer."""
        w = wanting([3])
        x = lm.ones([3])
        array = np.from_dlpack(x)
        y = (w * x).sum()
        del array
        gc.collect()
        y.backward(retain_graph=True)
        lm.from_dlpack(x).mul_(2)
        with pytest.raises(RuntimeError, match=r"overwritten|numpy"):
            y.backward()

    def test_a_layer_that_saved(self) -> None:
        """Of a layer of the user's, its output, too."""

        class Square(lm.PyLayer):
            @staticmethod
            def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
                y = x * x
                ctx.save_for_backward(x, y)
                return y

            @staticmethod
            def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
                x, _ = ctx.saved_tensor()
                return 2 * x * dy

        x = wanting([3])
        y = Square.apply(x)
        y.detach().numpy()[1] = 7
        with pytest.raises(RuntimeError, match=r"Square.*(overwritten|numpy)"):
            y.sum().backward()

    def test_reading_is_no_writing(self) -> None:
        """Looks at values, and writes that leave them alone, cost no gradient."""
        w = wanting([3])
        x = lm.from_numpy(np.arange(3.0, dtype="float32"))
        y = (w * x).sum()
        array = x.numpy()
        assert array.sum() == 3
        array[1] = 1
        y.backward(retain_graph=True)
        del array
        gc.collect()
        y.backward()
        assert w.grad is not None
        assert w.grad.tolist() == [0, 2, 4]

    def test_exported_weights_train_on(self) -> None:
        """Updates by the library between steps are what they were."""
        w = wanting([3])
        array = w.detach().numpy()
        for step in range(3):
            (w * w).sum().backward()
            with lm.no_grad():
                w.sub_(w.grad * 0.25)
            w.grad = None
            assert w.tolist() == pytest.approx([0.5 ** (step + 1)] * 3)
        assert array.tolist() == pytest.approx([0.125] * 3)


class TestLentGradients:
    """A backward, or a hook, that writes into the gradient that it is given."""

    @staticmethod
    def writer(write: Callable[[lm.Tensor], Any]) -> type[lm.PyLayer]:
        class Writer(lm.PyLayer):
            @staticmethod
            def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
                return x * 1

            @staticmethod
            def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
                write(dy)
                return dy

        return Writer

    @pytest.mark.parametrize("size", [4, 1000])
    @pytest.mark.parametrize("order", [0, 1])
    @pytest.mark.parametrize(
        "write",
        [
            lambda g: g.mul_(10),
            lambda g: g[0].mul_(10),
            lambda g: g.reshape(2, -1).T.mul_(10),
            lambda g: g.__setitem__(slice(None), g * 10),
            lambda g: np.multiply(g.numpy(), 10, out=g.numpy()),
        ],
        ids=["mul_", "part", "view", "setitem", "numpy"],
    )
    def test_other_branches_and_the_seed(self, write: Callable[[lm.Tensor], Any], order: int, size: int) -> None:
        """They get, and keep, what they should."""
        writer = self.writer(write)
        a = wanting([size])
        b = wanting([size])
        # A branch that is run before the writer's, or after it, and a view of the same gradient.
        parts = [writer.apply(a), b.reshape(2, -1).reshape(size)]
        y = parts[order] + parts[1 - order]
        seed = lm.ones([size])
        y.backward(seed)
        assert b.grad is not None
        assert b.grad.tolist() == [1] * size
        assert seed.tolist() == [1] * size
        assert a.grad is not None
        assert a.grad[0].item() == 10

    @pytest.mark.parametrize("kind", ["tensor", "prehook", "posthook"])
    def test_hooks(self, kind: str) -> None:
        """A hook's write flows on along its own branch, and along no other."""
        a = wanting([3])
        b = wanting([3])
        h = a * 1
        y = h + b

        def write(g: lm.Tensor) -> None:
            g.mul_(10)

        if kind == "tensor":
            h.register_hook(write)
        elif kind == "prehook":
            h.grad_fn.register_prehook(lambda grads: write(grads[0]))
        else:
            h.grad_fn.register_hook(lambda results, grads: write(grads[0]))
        seed = lm.ones([3])
        y.backward(seed)
        assert seed.tolist() == [1, 1, 1]
        assert b.grad is not None
        assert b.grad.tolist() == [1, 1, 1]
        assert a.grad is not None
        assert a.grad.tolist() == ([1, 1, 1] if kind == "posthook" else [10, 10, 10])

    def test_kept_gradients(self) -> None:
        """retain_grad() and what grad() returned for an inner tensor keep theirs."""
        a = wanting([3])
        h = a * 1
        h.retain_grad()
        self.writer(lambda g: g.mul_(10)).apply(h).backward(lm.ones([3]))
        assert h.grad is not None
        assert h.grad.tolist() == [10, 10, 10]

        y = self.writer(lambda g: g.mul_(10)).apply(a)
        z = y * 1
        dz, dy, da = lm.grad(z, [z, y, a], lm.ones([3]))
        assert dz.tolist() == [1, 1, 1]
        assert dy.tolist() == [1, 1, 1]
        assert da.tolist() == [10, 10, 10]

    def test_nothing_is_copied_where_nobody_writes(self) -> None:
        """Both look at the seed."""
        seen: list[int] = []
        layer = self.writer(lambda g: seen.append(g.data_ptr()))
        a = wanting([1000])
        b = wanting([1000])
        seed = lm.ones([1000])
        (layer.apply(a) + layer.apply(b)).backward(seed)
        assert seen == [seed.data_ptr()] * 2

    def test_create_graph(self) -> None:
        """A recorded pass follows the write, and the others."""
        a = lm.tensor([2.0], stop_gradient=False)
        s = lm.tensor([3.0], stop_gradient=False)
        seed = s * 1
        y = self.writer(lambda g: g.mul_(10)).apply(a) + a
        (da,) = lm.grad(y, [a], seed, create_graph=True)
        assert da.tolist() == [33]
        assert lm.grad(da, [s])[0].tolist() == [11]


class TestCopies:
    """`y.copy_(x)` gives y a place of its own."""

    WAYS: dict[str, Callable[[lm.Tensor, lm.Tensor], Any]] = {  # noqa: RUF012
        "copy_": lambda y, x: y.copy_(x),
        "setitem": lambda y, x: y.__setitem__(..., x),
        "setitem of a slice": lambda y, x: y.__setitem__(slice(None), x),
        "zero and add": lambda y, x: y.zero_().add_(x),
        "masked": lambda y, x: y.__setitem__(lm.ones([2], dtype="bool"), x),
    }

    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize("leaf", [True, False])
    def test_hooks_of_the_copy(self, way: str, leaf: bool) -> None:
        """A hook on y acts on y, retain_grad keeps y's, grad and backward(inputs=) find y's."""
        source = wanting([2])
        x = source if leaf else source * 1
        y = lm.zeros([2])
        self.WAYS[way](y, x)
        y.retain_grad()
        y.register_hook(lambda g: g * 10)
        total = (2 * x + y).sum()
        (dy,) = lm.grad(total, [y], retain_graph=True)
        assert dy.tolist() == [10, 10]
        (dx,) = lm.grad(total, [x], retain_graph=True)
        assert dx.tolist() == [12, 12]
        total.backward()
        assert source.grad is not None
        assert source.grad.tolist() == [12, 12]
        assert y.grad is not None
        assert y.grad.tolist() == [30, 30]  # of three passes
        assert y.grad_fn is not None
        assert leaf or y.grad_fn is not x.grad_fn

    @pytest.mark.parametrize("way", WAYS)
    def test_backward_with_the_copy_as_input(self, way: str) -> None:
        """Only y gets a gradient."""
        x = wanting([2])
        y = lm.zeros([2])
        self.WAYS[way](y, x)
        (2 * x + y).sum().backward(inputs=[y])
        assert x.grad is None
        assert y.grad is not None
        assert y.grad.tolist() == [1, 1]


class TestOverlap:
    """Memory whose elements share places: windows that overlap."""

    def windows(self) -> list[lm.Tensor]:
        """Tensors that overlap themselves."""
        plain = lm.arange(6.0)
        strides = np.lib.stride_tricks.as_strided(np.arange(6.0, dtype="float32"), (3, 3), (4, 4))
        odd = np.lib.stride_tricks.as_strided(np.arange(20.0, dtype="float32"), (3, 4), (12, 8))
        return [
            lm.sliding_window(plain, 0, 2, 1),
            lm.sliding_window(plain, 0, 3, 2),
            lm.broadcast_to(plain, [2, 6]),
            lm.from_numpy(strides),
            lm.from_numpy(odd)[:, ::1],
        ]

    @pytest.mark.parametrize("write", [*WRITES])
    def test_writes_are_refused(self, write: str) -> None:
        """By every operator that writes; an entry of windows is a part without overlap, and may be set."""
        for w in self.windows():
            before = w.tolist()
            if write == "setitem of a part" and 0 not in w.strides:
                WRITES[write](w)
                assert w[0].tolist() == [0.25] * len(before[0])
                continue
            with pytest.raises((RuntimeError, ValueError), match="share memory"):
                WRITES[write](w)
            assert w.tolist() == before

    def test_entries_of_windows_are_set_with_their_gradients(self) -> None:
        """x[i, j] = value of overlapping windows is a write into one element of the base."""
        x, v = wanting([5], "float64"), wanting([], "float64")
        y = x * 2
        w = lm.sliding_window(y, 0, 3)
        w[1, 2] = v * 7
        scale = np.cos(np.arange(9.0)).reshape(3, 3)
        (w * lm.asarray(scale)).sum().backward()
        expected = np.zeros(5)
        for i in range(3):
            expected[i : i + 3] += 2 * scale[i]
        assert v.grad is not None
        assert v.grad.item() == pytest.approx(7 * expected[3] / 2)
        expected[3] = 0
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), expected)

    def test_windows_that_do_not_overlap_are_allowed(self) -> None:
        """Also with strides that do not nest."""
        x = lm.arange(8.0)
        lm.sliding_window(x, 0, 2, 2).mul_(2)
        lm.sliding_window(x, 0, 2, 3).add_(1)
        array = np.arange(12.0, dtype="float32")
        lm.from_numpy(np.lib.stride_tricks.as_strided(array, (2, 3), (12, 8))).zero_()
        assert array.tolist() == [0, 1, 0, 0, 0, 0, 6, 0, 8, 9, 10, 11]

    @pytest.mark.parametrize(("size", "step"), [(2, 1), (3, 1), (3, 2), (4, 3), (2, 2), (2, 3)])
    def test_a_base_that_is_written_to(self, size: int, step: int) -> None:
        """Windows taken before see the write, and sum where they share."""
        x = wanting([7], "float64")
        y = x * 1
        w = lm.sliding_window(y, 0, size, step)
        rate = lm.tensor(3.0, dtype="float64", stop_gradient=False)
        y.mul_(rate)
        scale = np.cos(np.arange(w.size)).reshape(tuple(w.shape))
        loss = (w * lm.asarray(scale)).sum()
        loss.backward(create_graph=True)
        counted = np.zeros(7)
        for i in range(w.shape[0]):
            counted[i * step : i * step + size] += scale[i]
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.detach().numpy(), 3 * counted)
        (second,) = lm.grad((x.grad * lm.arange(7.0, dtype="float64")).sum(), [rate])
        np.testing.assert_allclose(second.item(), (counted * np.arange(7)).sum())

    def test_parts_without_overlap(self) -> None:
        """A write into one window is a write into its part of the base."""
        x = wanting([4])
        y = x * 1
        w = lm.sliding_window(y, 0, 2, 1)
        w[1].mul_(3.0)
        (y * lm.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [1, 30, 300, 1000]
        x.grad = None
        y = x * 1
        w = lm.sliding_window(y, 0, 2, 1)
        w[0].mul_(3.0)
        w.sum().backward()
        assert x.grad.tolist() == [3, 6, 2, 1]
