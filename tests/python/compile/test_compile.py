"""What lm.compile promises beside the numbers: modes, threads, errors, words, lifetimes."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import lamella as lm
from support.libraries import compile_library


def leaf(*shape: int) -> lm.Tensor:
    x = lm.ones(list(shape)) * 0.5
    x.stop_gradient = False
    return x


def warm(compiled: Any, *args: Any, **kwargs: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lm.CompileWarning)
        for _ in range(4):
            compiled(*args, **kwargs)


def graphs(compiled: Any) -> int:
    return len(lm.compile.explain(compiled).graphs)


def chain(x: lm.Tensor) -> lm.Tensor:
    return lm.exp(lm.tanh(x * 2 + 1))


class TestModes:
    def test_gradients_on_and_off(self):
        compiled = lm.compile(chain)
        warm(compiled, leaf(3))
        with lm.no_grad():
            for _ in range(4):
                assert compiled(leaf(3)).stop_gradient
        with lm.inference_mode():
            for _ in range(4):
                assert compiled(leaf(3)).is_inference()
        assert not compiled(leaf(3)).stop_gradient
        assert graphs(compiled) == 3

    def test_second_derivatives(self):
        compiled = lm.compile(chain)
        for _ in range(5):
            found = []
            for f in (chain, compiled):
                x = leaf(3)
                (g,) = lm.grad(f(x).sum(), [x], create_graph=True)
                (h,) = lm.grad(g.sum(), [x])
                found.append(h.numpy())
            np.testing.assert_allclose(found[1], found[0], 1e-5)
        assert graphs(compiled) == 1

    @pytest.mark.parametrize("transform", ["vmap", "jvp", "jacobian", "hessian", "checkpoint"])
    def test_transforms_around(self, transform):
        compiled = lm.compile(chain)
        warm(compiled, leaf(3))
        warm(compiled, leaf(2, 3))
        x = leaf(2, 3)

        def run(f: Any) -> Any:
            if transform == "vmap":
                return lm.vmap(f)(x)
            if transform == "jvp":
                return lm.jvp(f, (x,), (lm.ones_like(x),))[1]
            if transform == "jacobian":
                return lm.jacobian(f, x)
            if transform == "hessian":
                return lm.hessian(lambda t: f(t).sum(), x)
            return lm.checkpoint(f, x)

        np.testing.assert_allclose(run(compiled).detach().numpy(), run(chain).detach().numpy(), 1e-5, 1e-6)

    def test_hooks_of_saved_tensors_see_what_they_would(self):
        compiled = lm.compile(chain)
        warm(compiled, leaf(3))
        seen: list[int] = []
        with lm.autograd.saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t):
            compiled(leaf(3)).sum().backward()
        assert seen

    def test_autocast_around(self):
        layer = lm.nn.Linear(4, 4)
        compiled = lm.compile(layer)
        warm(compiled, leaf(2, 4))
        with lm.autocast("cpu", dtype=lm.bfloat16):
            for _ in range(4):
                assert compiled(leaf(2, 4)).dtype == layer(leaf(2, 4)).dtype == lm.bfloat16
        assert compiled(leaf(2, 4)).dtype == lm.float32

    def test_a_graph_that_is_recorded(self):
        compiled = lm.compile(chain)
        warm(compiled, leaf(3))
        graph = lm.graph.Graph()
        x = graph.input("x", lm.float32, [3])
        with lm.graph.recording(graph):
            y = compiled(x)
        assert [node.op for node in graph.nodes] == [
            "lamella::multiply", "lamella::add", "lamella::tanh", "lamella::exp",
        ]  # fmt: skip
        [value] = graph.run({"x": lm.ones([3])}, [y])
        np.testing.assert_array_equal(value.numpy(), chain(lm.ones([3])).numpy())

    def test_compiled_functions_within_compiled_functions(self):
        inner = lm.compile(lambda x: x * 2)
        outer = lm.compile(lambda x: inner(x) + 1)
        warm(outer, leaf(3))
        assert graphs(outer) == 1
        np.testing.assert_array_equal(outer(lm.ones([3])).numpy(), [3, 3, 3])


class TestKinds:
    def test_each_shape_and_dtype_is_observed_once(self):
        calls: list[int] = []

        class Counter:
            def __getattr__(self, name: str) -> Any:
                calls.append(1)
                raise AttributeError(name)

        counter = Counter()

        def function(x: lm.Tensor) -> lm.Tensor:
            return x * getattr(counter, "scale", 2.0)

        compiled = lm.compile(function)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lm.CompileWarning)
            for shape in ([2], [3], [2, 2]):
                for dtype in (lm.float32, lm.float64):
                    for _ in range(5):
                        y = compiled(lm.ones(shape, dtype=dtype))
                        assert y.dtype == dtype and list(y.shape) == shape

    def test_sizes_that_vary(self):
        net = lm.nn.Sequential(lm.nn.Linear(4, 8), lm.nn.Tanh(), lm.nn.LayerNorm(8), lm.nn.Linear(8, 2))

        def function(x: lm.Tensor, y: lm.Tensor) -> lm.Tensor:
            return lm.softmax(net(x) * 2 + 1, axis=1) @ y

        compiled = lm.compile(function)
        for size in [*(2, 2, 2), *(5, 5, 5), 3, 1, 40, 0, *range(1, 60)]:
            x, y = leaf(size, 4) * (size + 1), leaf(2, 3)
            np.testing.assert_allclose(compiled(x, y).detach().numpy(), function(x, y).detach().numpy(), 1e-5)
        assert graphs(compiled) == 3
        # Another state of what is read is observed anew.
        net[1] = lm.nn.ReLU()
        for size in (7, 7, 7, 9):
            x, y = leaf(size, 4) * (size + 1), leaf(2, 3)
            np.testing.assert_allclose(compiled(x, y).detach().numpy(), function(x, y).detach().numpy(), 1e-5)

    @pytest.mark.parametrize("number", range(5))
    def test_sizes_that_decide_what_is_computed(self, number):
        functions: list[Any] = [
            lambda x: x * 2 if x.shape[0] > 4 else x - 1,
            lambda x: x / len(x),
            lambda x: x.reshape(-1)[: x.size // 2],
            lambda x: sum(row * i for i, row in enumerate(x)),
            lambda x: x[: x.nbytes // 16] * (2 if x.is_contiguous() else 1),
        ]
        compiled = lm.compile(functions[number])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lm.CompileWarning)
            for size in [2, 2, 2, 3, 3, 3, 4, 4, 4, *range(2, 12), *range(2, 12)]:
                x = leaf(size, 2) * size
                np.testing.assert_allclose(compiled(x).detach().numpy(), functions[number](x).detach().numpy(), 1e-6)

    def test_a_list_whose_length_varies_with_sizes(self):
        def function(x: lm.Tensor) -> lm.Tensor:
            return lm.stack([part * 2 for part in lm.unstack(x)])

        compiled = lm.compile(function)
        for size in [2, 2, 2, 3, 3, 3, 4, 4, 4, 9]:
            x = leaf(size, 2)
            np.testing.assert_allclose(compiled(x).detach().numpy(), function(x).detach().numpy(), 1e-6)

    def test_no_batch_is_kept(self):
        compiled = lm.compile(lambda x: x * 2)
        watched = []
        for size in (2, 2, 2, 3, 3, 3, 4):
            x = leaf(size)
            watched.append(weakref.ref(x))
            compiled(x)
        del x
        gc.collect()
        assert not any(ref() is not None for ref in watched)

    def test_no_object_of_a_batch_is_kept(self):
        class Batch:
            def __init__(self, size: int) -> None:
                self.x = leaf(size)

        compiled = lm.compile(lambda batch: batch.x * 2)
        watched = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lm.CompileWarning)
            for size in range(1, 40):
                batch = Batch(size)
                watched.append(weakref.ref(batch))
                assert compiled(batch).shape == (size,)
        del batch
        gc.collect()
        assert not any(ref() is not None for ref in watched)

    def test_the_number_of_kinds_is_limited(self):
        compiled = lm.compile(lambda x: x + x.shape[0])
        with pytest.warns(lm.CompileWarning, match="more than 32 kinds"):
            for size in range(1, 40):
                assert float(compiled(lm.ones([size]))[0]) == size + 1
        assert float(compiled(lm.ones([77]))[0]) == 78

    def test_the_number_of_graphs_is_limited(self):
        box = [0.0]
        compiled = lm.compile(lambda x: x + box[0])
        with pytest.warns(lm.CompileWarning, match="box"):
            for i in range(20):
                box[0] = float(i)
                assert float(compiled(lm.zeros([1]))) == i
        assert "box" in str(lm.compile.explain(compiled))


class TestForms:
    def test_methods(self):
        class Net(lm.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.weight = lm.nn.Parameter(lm.ones([3]))

            @lm.compile
            def forward(self, x: lm.Tensor) -> lm.Tensor:
                return x * self.weight

            @staticmethod
            @lm.compile
            def double(x: lm.Tensor) -> lm.Tensor:
                return x * 2

        a, b = Net(), Net()
        with lm.no_grad():
            b.weight.fill_(3.0)
        for _ in range(4):
            assert float(a(lm.ones([3])).sum()) == 3 and float(b(lm.ones([3])).sum()) == 9
            assert float(Net.double(lm.ones([3])).sum()) == 6
        assert graphs(Net.forward) == 2

    def test_a_module_is_still_one(self):
        net = lm.nn.Sequential(lm.nn.Linear(3, 3), lm.nn.Dropout(0.5))
        compiled = lm.compile(net)
        warm(compiled, leaf(2, 3))
        compiled.eval()
        x = leaf(2, 3)
        np.testing.assert_array_equal(compiled(x).detach().numpy(), net(x).detach().numpy())
        assert sorted(compiled.state_dict()) == sorted(net.state_dict())

    def test_copies_and_pickles(self):
        compiled = lm.compile(lm.nn.Linear(3, 2))
        warm(compiled, leaf(2, 3))
        for other in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
            with lm.no_grad():
                other.weight.mul_(2.0)
            x = leaf(2, 3)
            expected = (x @ other.weight.T + other.bias).detach().numpy()
            for _ in range(4):
                np.testing.assert_allclose(other(x).detach().numpy(), expected, 1e-5)

    def test_names_and_words(self):
        def named(x: lm.Tensor) -> lm.Tensor:
            """Adds one."""
            return x + 1

        compiled = lm.compile(named)
        assert compiled.__name__ == "named" and compiled.__doc__ == "Adds one." and "named" in repr(compiled)
        assert lm.compile(compiled) is compiled
        warm(compiled, leaf(3))
        text = str(lm.compile.explain(compiled))
        assert "lamella::add" in text and "test_compile.py:" in text

    def test_what_is_no_function_is_refused(self):
        with pytest.raises(TypeError, match="expected a function, a Module or another callable, got int"):
            lm.compile(3)
        with pytest.raises(TypeError, match="expected a compiled function, got int"):
            lm.compile.explain(3)

    def test_the_reason_has_a_line(self):
        def function(x: lm.Tensor) -> lm.Tensor:
            print(end="")
            return x

        compiled = lm.compile(function)
        with pytest.warns(lm.CompileWarning, match=r"print\(\) is called \(test_compile.py:\d+\)"):
            for _ in range(5):
                compiled(leaf(3))


class TestErrors:
    def test_errors_of_calls(self):
        compiled = lm.compile(lambda x, y: x @ y)
        for _ in range(4):
            with pytest.raises(ValueError, match="matmul"):
                compiled(lm.ones([2, 3]), lm.ones([4, 2]))
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            compiled(lm.ones([2, 3]))
        assert compiled(lm.ones([2, 3]), lm.ones([3, 2])).shape == (2, 2)

    def test_errors_within_replays(self):
        table = lm.ones([5, 2])
        compiled = lm.compile(lambda ids: lm.nn.functional.embedding(ids, table) * 2)
        warm(compiled, lm.tensor([0, 1]))
        assert graphs(compiled) == 1
        with pytest.raises(IndexError) as error:
            compiled(lm.tensor([0, 9]))
        assert any("test_compile.py" in str(entry.path) for entry in error.traceback[2:])
        np.testing.assert_array_equal(compiled(lm.tensor([4, 1])).numpy(), np.full((2, 2), 2))

    def test_errors_after_something_has_changed_name_the_node(self):
        table, calls = lm.ones([5, 2]), lm.zeros([1])

        def function(ids: lm.Tensor) -> lm.Tensor:
            calls.add_(1)
            return lm.nn.functional.embedding(ids, table) * 2

        compiled = lm.compile(function)
        warm(compiled, lm.tensor([0, 1]))
        assert graphs(compiled) == 1
        with pytest.raises(IndexError) as error:
            compiled(lm.tensor([0, 9]))
        assert any("test_compile.py" in note for note in error.value.__notes__)
        assert calls.tolist() == [5]

    def test_nothing_stays_behind(self):
        before = {name: vars(lm.Tensor)[name] for name in vars(lm.Tensor)}
        step = vars(lm.optim.Optimizer)["step"]

        def function(x: lm.Tensor) -> lm.Tensor:
            raise KeyError("stop")

        compiled = lm.compile(function)
        for _ in range(3):
            with pytest.raises(KeyError):
                compiled(leaf(2))
        for x in (lm.ones([2]), lm.nn.Parameter(lm.ones([2])), lm.ones([2]).detach()):
            for wrong in ("text", None, [1.0]):
                with pytest.raises(TypeError):
                    x += wrong
                with pytest.raises(TypeError):
                    x *= wrong
        assert before == dict(vars(lm.Tensor)) and vars(lm.optim.Optimizer)["step"] is step
        assert type(lm.ones([2]) * 2) is lm.Tensor

    def test_state_that_a_layer_changes_is_not_read_in_silence(self):
        state = {"scale": 1.0, "calls": 0}

        class Switch(lm.PyLayer):
            @staticmethod
            def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
                state["calls"] += 1
                return x * 1

            @staticmethod
            def backward(ctx: Any, grad: lm.Tensor) -> lm.Tensor:
                return grad

        def function(x: lm.Tensor) -> lm.Tensor:
            y = Switch.apply(x)
            return y * state["scale"]

        compiled = lm.compile(function)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lm.CompileWarning)
            for _ in range(6):
                assert float(compiled(lm.ones([1]))) == 1
        assert state["calls"] == 6


class TestLifetimes:
    def test_compiled_functions_and_what_they_read_are_freed(self):
        def watch() -> list[Any]:
            net = lm.nn.Linear(3, 3)
            compiled = lm.compile(lambda x: net(x))
            warm(compiled, leaf(2, 3))
            assert graphs(compiled) == 1
            return [weakref.ref(net), weakref.ref(net.weight), weakref.ref(compiled)]

        watched = watch()
        gc.collect()
        assert [ref() for ref in watched] == [None, None, None]

    def test_threads(self):
        net = lm.nn.Sequential(lm.nn.Linear(3, 3), lm.nn.Tanh())
        compiled = lm.compile(net)
        failures: list[Any] = []

        def work(seed: int) -> None:
            rng = np.random.default_rng(seed)
            for i in range(60):
                x = lm.tensor(rng.normal(size=(1 + i % 3, 3)).astype(np.float32))
                got, expected = compiled(x).detach().numpy(), net(x).detach().numpy()
                if not np.array_equal(got, expected):
                    failures.append((seed, i, got, expected))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lm.CompileWarning)
            threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert not failures


def test_every_attribute_of_tensors_is_seen_or_harmless():
    """A method or attribute in C that is new is refused by compiled functions until somebody has thought about it."""
    from lamella.graph import _special

    operators = {operator["name"] for operator in lm._C.operators()}
    for name, value in vars(lm.Tensor).items():
        if type(value).__name__ not in ("wrapper_descriptor", "method_descriptor", "getset_descriptor"):
            continue
        operator = type(value).__name__ == "method_descriptor" and (
            name in operators or name.removesuffix("_") in operators
        )
        assert operator or name in _special.ORIGINALS or name in _special.KNOWN, name


class Refusing:
    """Refuses every attribute."""

    def __getattr__(self, name: str) -> Any:
        raise ValueError(name)


class Lying:
    """Says that it is a dictionary."""

    @property
    def __class__(self) -> Any:
        return dict

    @__class__.setter
    def __class__(self, kind: Any) -> None:
        raise TypeError


def odd_objects() -> dict[str, Any]:
    loop: list[Any] = []
    loop.append(loop)
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    return {
        "refusing": Refusing(),
        "lying": Lying(),
        "loop": loop,
        "loop in a dict": {"a": loop},
        "deep": deep,
        "odd keys": {1: 2, (1, 2): lm.ones([2]), None: ...},
        "iterator": iter([1, 2]),
        "memory": memoryview(b"abc"),
        "nan": float("nan"),
        "huge": 10**400,
        "lone surrogate": "\ud800",
        "function": print,
        "type": type,
    }


@pytest.mark.parametrize("name", odd_objects())
def test_odd_objects_are_taken_as_they_are(name):
    value = odd_objects()[name]

    def given(x: lm.Tensor, _value: Any) -> lm.Tensor:
        return x * 2

    def closed(x: lm.Tensor) -> Any:
        return x * 2 if value is not None else value

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lm.CompileWarning)
        for function, args in ((given, (lm.ones([2]), value)), (closed, (lm.ones([2]),))):
            compiled = lm.compile(function)
            for _ in range(5):
                assert compiled(*args).tolist() == [2, 2]
            assert str(lm.compile.explain(compiled))


def test_containers_keep_their_identity() -> None:
    known = [lm.ones([2])]
    given = lm.compile(lambda batch: batch)
    closed_over = lm.compile(lambda x: (x + 1, known))
    twice = lm.compile(lambda x: [made := [x * 2], made])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lm.CompileWarning)
        for _ in range(5):
            batch = {"x": lm.ones([2])}
            assert given(batch) is batch
            assert closed_over(lm.ones([2]))[1] is known
            first, second = twice(lm.ones([2]))
            assert first is second
    assert graphs(closed_over) == 1


def test_registered_operators_are_called_as_often_as_in_the_function(tmp_path):
    source = """
#include <lamella/lamella.h>
static std::int64_t calls = 0;
LAMELLA_LIBRARY(compile_calls, m) {
  m.def("note(Tensor x) -> ()", [](const Tensor&) { ++calls; });
  m.def("next(int step) -> Tensor", [](std::int64_t step) {
    calls += step;
    return lamella::full({}, static_cast<double>(calls));
  });
  m.def("copy(Tensor x) -> Tensor");
  m.impl("copy", lamella::DispatchKey::CPU, [](const Tensor& x) {
    ++calls;
    return lamella::clone(x);
  });
}
"""
    lm.ops.load_library(compile_library(tmp_path, "compile_calls", source))
    ops = lm.ops.compile_calls

    def noted(x):
        ops.note(x)
        return x + 1

    def unused(x):
        ops.copy(x)
        return x + 1

    for function in (noted, unused, lambda x: x + ops.next(1)):
        compiled = lm.compile(function)
        before = int(ops.next(0).item())
        for i in range(6):
            compiled(lm.ones([2]))
            assert ops.next(0).item() == before + i + 1
        assert lm.compile.explain(compiled).graphs

    graph = lm.graph.Graph("noted")
    with lm.graph.recording(graph):
        y = noted(graph.input("x", "float32", [2]))
    before = ops.next(0).item()
    for one in (graph, lm.graph.Graph.parse(graph.text())):
        one.run({"x": lm.ones([2])}, [y.name])
    assert ops.next(0).item() == before + 2
