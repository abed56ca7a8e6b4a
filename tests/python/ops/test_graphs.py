"""Every operator as a node of a graph: the numbers of the eager call and its gradients, also from the graph's text."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import _tree

from .calls import CALLS, KEYS, get_item, leaf, set_item
from .samples import ELEMENTWISE, GRADIENT_SHAPES, Operator, arguments, case_id


def values_of(tensors: Sequence[lm.Tensor | None]) -> list[np.ndarray | None]:
    return [None if x is None else x.detach().numpy() for x in tensors]


def eager(f: Callable[..., Any], inputs: Sequence[lm.Tensor]) -> tuple[list[lm.Tensor], list[lm.Tensor]]:
    """The results, and the gradients of their sum."""
    results, _ = _tree.flatten(f(*inputs))
    targets = [y for y in results if not y.stop_gradient]
    wanted = [x for x in inputs if not x.stop_gradient]
    grads = lm.grad(targets, wanted, [lm.ones_like(y) for y in targets], materialize_grads=True) if targets else []
    return results, grads


def record(
    f: Callable[..., Any], inputs: Sequence[lm.Tensor], dynamic: bool
) -> tuple[lm.graph.Graph, dict[str, lm.Tensor], list[Any], list[Any]]:
    """The graph of a call, its feeds, its results, and the gradients of the inputs that want one."""
    graph = lm.graph.Graph("one operator")
    symbols = []
    for i, x in enumerate(inputs):
        shape = [-1, *x.shape[1:]] if dynamic and x.ndim else x.shape
        symbols.append(graph.input(f"x{i}", x.dtype, shape))
        symbols[-1].stop_gradient = x.stop_gradient
    with lm.graph.recording(graph):
        results, _ = _tree.flatten(f(*symbols))
    kept = [y for y in results if isinstance(y, lm.graph.Symbol)]
    floats = [y for y in kept if y.dtype.name.startswith(("float", "complex"))]
    wanted = [s for s, x in zip(symbols, inputs, strict=True) if not x.stop_gradient]
    grads: list[Any] = []
    if floats and wanted:
        with lm.graph.recording(graph):
            begin = [lm.ones_like(y) for y in floats]
        grads = graph.gradients(floats, wanted, begin)
    feeds = {f"x{i}": x.detach() for i, x in enumerate(inputs)}
    return graph, feeds, results, grads


def check(f: Callable[..., Any], inputs: Sequence[lm.Tensor], dynamic: bool = False) -> None:
    results, grads = eager(f, inputs)
    graph, feeds, symbols, gradient_symbols = record(f, inputs, dynamic)
    assert len(symbols) == len(results)
    graph.verify()
    graphs = [graph]
    if "generator=Generator" not in graph.text():  # a generator has no text form
        graphs.append(lm.graph.Graph.parse(graph.text(), graph.captured))
        assert graphs[1].text() == graph.text()
    for one in graphs:
        kept = [y.name for y in [*symbols, *gradient_symbols] if isinstance(y, lm.graph.Symbol)]
        run = dict(zip(kept, one.run(feeds, kept, fuse=False), strict=True))
        # Another run draws other numbers.
        fused = run if "generator=Generator" in graph.text() else dict(zip(kept, one.run(feeds, kept), strict=True))
        for expected, symbol in zip(results, symbols, strict=True):
            value = run[symbol.name] if isinstance(symbol, lm.graph.Symbol) else symbol
            assert value.dtype == expected.dtype
            np.testing.assert_array_equal(value.detach().numpy(), expected.detach().numpy())
            if isinstance(symbol, lm.graph.Symbol):
                np.testing.assert_array_equal(fused[symbol.name].detach().numpy(), expected.detach().numpy())
        if not grads:
            continue
        assert len(gradient_symbols) == len(grads)
        for expected, symbol in zip(grads, gradient_symbols, strict=True):
            if symbol is None:
                assert not expected.any()
            else:
                np.testing.assert_array_equal(run[symbol.name].detach().numpy(), expected.numpy())
                # Fused gradients are summed in another order.
                close = 1e-4 if expected.dtype in (lm.float32, lm.complex64) else 1e-11
                np.testing.assert_allclose(fused[symbol.name].detach().numpy(), expected.numpy(), close, close)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ELEMENTWISE, ids=case_id)
def test_elementwise(op: Operator, dtype: str, rng: np.random.Generator) -> None:
    given = dtype if dtype in op.dtypes else op.dtypes[-1]
    shapes: Any = GRADIENT_SHAPES["broadcast"]
    arrays = arguments(op, shapes[: op.inputs], given, rng)
    floating = given.startswith(("float", "complex"))
    check(op, [lm.tensor(a, stop_gradient=not (op.differentiable[i] and floating)) for i, a in enumerate(arrays)])


@pytest.mark.parametrize("name", CALLS)
def test_every_other_operator(name: str) -> None:
    for call, inputs in CALLS[name]:
        check(call, inputs)


@pytest.mark.parametrize("name", [name for name, calls in CALLS.items() if any(len(xs) == 1 for _, xs in calls)])
def test_a_first_size_that_is_known_later(name: str) -> None:
    """The call is refused while it is recorded, where it fits no other size, or gives the eager numbers."""
    for call, inputs in CALLS[name]:
        if len(inputs) != 1:
            continue
        try:
            record(call, inputs, dynamic=True)
        except (ValueError, MemoryError, RuntimeError):
            continue
        check(call, inputs, dynamic=True)


@pytest.mark.parametrize("name", CALLS)
def test_sizes_that_are_known_later_take_no_memory(name: str) -> None:
    """Shapes follow from samples of thousands of rows, whose elements nobody makes."""
    for call, inputs in CALLS[name]:
        before = lm.memory.memory_allocated()
        lm.memory.reset_peak_memory()
        with contextlib.suppress(ValueError, TypeError, IndexError, RuntimeError, MemoryError):
            record(call, inputs, dynamic=True)
        assert lm.memory.max_memory_allocated() - before < 4 << 20


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing(key: Any) -> None:
    check(get_item(key), [leaf(2, 3)])
    check(set_item(key), [leaf(2, 3), leaf(1, low=1.5)])
