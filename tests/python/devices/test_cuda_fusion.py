"""Elementwise operators of graphs and compiled functions become one kernel on a CUDA device: in the emulation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lamella as lm
from lamella import _C
from support import emulation

pytestmark = pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA")


@pytest.fixture(autouse=True)
def folder(tmp_path):
    """Compiles each program before it runs, into an empty folder, which it returns."""
    before = _C._native_settings()
    lm.graph.set_native("wait", cache=tmp_path)
    yield tmp_path / "kernels"
    _C._set_native_settings(*before)


def record(function, **types):
    """Returns a graph of a function of tensors of any length, and its results."""
    graph = lm.graph.Graph("fused")
    inputs = [graph.input(name, dtype, shape) for name, (dtype, shape) in types.items()]
    for x in inputs:
        x.stop_gradient = x.dtype == lm.bool
    with lm.graph.recording(graph):
        results = function(*inputs)
    return graph, list(results) if isinstance(results, (tuple, list)) else [results]


def compare(graph, results, feeds, launches=1):
    """Runs a graph with and without kernels of its own; the results are the same bits."""
    got = graph.run(feeds, results)
    with emulation.counted() as counts:
        got = graph.run(feeds, results)
    want = graph.run(feeds, results, fuse=False)
    for a, b in zip(got, want, strict=True):
        assert (a.dtype, a.shape, a.device) == (b.dtype, b.shape, b.device)
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
    assert counts == ({"launches": launches} if launches else {})


def numbers(count, dtype="float32", seed=3):
    return lm.asarray(np.random.default_rng(seed).normal(size=count).astype(dtype)).to("cuda")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [0, 1, 255, 1001, 5000])
def test_a_chain_is_one_launch(dtype, count):
    graph, y = record(lambda x: lm.sigmoid(lm.tanh(x * 2 + 1)) - x, x=(dtype, [-1]))
    compare(graph, y, {"x": numbers(count, dtype)}, 1 if count else 0)


def test_programs_that_differ_in_numbers_share_a_file(folder):
    for number in (2.25, -0.5):
        graph, y = record(lambda x, number=number: lm.exp(x * number) - number, x=("float32", [-1]))
        compare(graph, y, {"x": numbers(100)})
    assert [path.suffix for path in folder.iterdir()] == [".cubin"]


def test_numbers_and_masks_are_operands_and_results():
    def function(x, s, mask):
        y = lm.where(mask, lm.exp(x * s), x + s)
        z = lm.where(y > 1e300, np.inf, lm.where(y < -1e300, -np.inf, lm.maximum(y, np.nan) - 0.1))
        return y, z, y > s, x

    graph, results = record(function, x=("float64", [-1, 3]), s=("float64", []), mask=("bool", [-1, 3]))
    x = lm.asarray(np.arange(15.0).reshape(5, 3)).to("cuda")
    for factor in (0.25, 1e3, -1e305):
        compare(graph, results, {"x": x, "s": lm.tensor(factor, dtype="float64", device="cuda"), "mask": x > 6})


#: Operators of one or two tensors of floats that are joined, but for those whose functions CUDA does not have.
OPERATORS = [
    (op["name"], op["inputs"])
    for op in _C.operators()
    if op["elementwise"] and {"float32", "float64"} <= {*op["dtypes"]} and op["inputs"] < 3 and not op["mask_input"]
    if not op["settings"] and op["name"] not in ("digamma", "erfinv", "polygamma", "round", "trigamma", "zeta")
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_formulas_are_those_of_the_operators(dtype):
    def function(x, y):
        results = [getattr(lm, name)(*(x, y)[:inputs]) for name, inputs in OPERATORS]
        results += [x**3, x**-2, x**0.3, lm.remainder(x, 0.7)]
        # Sums join all of them into one program.
        total = x * 0
        for result in results:
            total = lm.where(result, total, total + 1) if result.dtype == lm.bool else total + result
        return [*results, total]

    graph, results = record(function, x=(dtype, [-1]), y=(dtype, [-1]))
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -50, 50, 0.5, -2.75], dtype)
    x = lm.concat([numbers(300, dtype), lm.asarray(special).to("cuda")])
    compare(graph, results, {"x": x, "y": lm.flip(x * 1.5).contiguous()})


def test_gradients_are_one_launch():
    def function(x, y):
        return lm.where(x > 0.25, lm.tanh(x * y) + lm.exp(-y * y), lm.gelu_erf(x) / (1 + lm.abs(y)))

    compiled = lm.compile(function)
    for turn in range(5):
        x, y = numbers(100, seed=turn), numbers(100, seed=turn + 50)
        x.stop_gradient = y.stop_gradient = False
        seed = numbers(100, seed=99)
        with emulation.counted() as forward:
            z = compiled(x, y)
        with emulation.counted() as backward:
            got = lm.grad([z], [x, y], [seed])
        wanted = function(x, y)
        np.testing.assert_array_equal(z.detach().numpy(), wanted.detach().numpy())
        for a, b in zip(got, lm.grad([wanted], [x, y], [seed]), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=1e-6)
    assert forward == backward == {"launches": 1}


def test_second_derivatives_go_operator_by_operator():
    def function(x):
        return lm.sigmoid(x * 2) * x

    compiled, found = lm.compile(function), []
    for layer in (compiled, compiled, compiled, function):
        x = numbers(10, "float64")
        x.stop_gradient = False
        (slope,) = lm.grad([layer(x).sum()], [x], create_graph=True)
        found.append(lm.grad([slope.sum()], [x])[0].numpy())
    np.testing.assert_allclose(found[2], found[3], rtol=1e-12)


def test_what_cuda_has_no_function_for_goes_operator_by_operator(folder):
    graph, y = record(lambda x: lm.digamma(x * 2) + x, x=("float32", [-1]))
    given = {"x": numbers(10)}
    with emulation.counted() as counts:
        graph.run(given, y, fuse=False)
    compare(graph, y, given, counts["launches"])
    compiled = lm.compile(lambda x: lm.lgamma(x * 2) + x)  # whose gradient is digamma
    for _ in range(4):
        x = numbers(10)
        x.stop_gradient = False
        compiled(x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), (2 * lm.digamma(x.detach() * 2) + 1).numpy(), rtol=1e-5)
    assert not lm.graph.native_status().problems


def test_what_runs_rarely_is_not_compiled(folder):
    lm.graph.set_native("background")
    graph, y = record(lambda x: lm.tanh(x * 2 + 1.75) - x, x=("float32", [-1]))
    launches = []
    given = {"x": numbers(10)}
    for _ in range(12):
        with emulation.counted() as counts:
            graph.run(given, y)
        launches.append(counts["launches"])
    assert launches == [4] * 10 + [1] * 2
    lm.graph.set_native("off")
    compare(graph, y, {"x": numbers(10)}, 4)


def test_a_program_is_captured_into_a_graph():
    graph, (y,) = record(lambda x: lm.tanh(x * 2 + 1.5) - x, x=("float32", [-1]))
    x = numbers(10)
    captured = lm.cuda.CUDAGraph()
    with lm.cuda.graph(captured):
        (result,) = graph.run({"x": x}, [y])
    x.copy_(numbers(10, seed=8))
    captured.replay()
    np.testing.assert_array_equal(result.numpy(), (lm.tanh(x * 2 + 1.5) - x).numpy())


PROGRAM = """
import warnings
import lamella as lm
lm.graph.set_native("wait")
graph = lm.graph.Graph("fused")
x = graph.input("x", "float32", [-1])
with lm.graph.recording(graph):
    y = lm.exp(x * 2) + 1
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    results = [graph.run({"x": lm.zeros([2], device="cuda")}, [y])[0].tolist() for _ in range(3)]
print(results, len(told), *(w.message for w in told))
"""


def test_without_nvrtc_it_is_told_once():
    environment = {**os.environ, "PYTHONPATH": str(Path(lm.__file__).parents[1]), "LAMELLA_NVRTC_LIBRARY": "/no/file"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]] 1 "), done.stdout
    assert "kernels need NVRTC" in done.stdout and "run operator by operator" in done.stdout


def test_arrays_are_on_the_cpu_in_compiled_functions_too():
    array, x = np.ones(3, "float32"), lm.ones([3], device="cuda")
    before = lm.get_default_device()
    lm.set_default_device("cuda")
    try:
        for function in (lambda x: x * array, lm.compile(lambda x: x * array)):
            for _ in range(3):
                with pytest.raises(RuntimeError, match=r"\[multiply\] got tensors on cuda:0 and cpu"):
                    function(x)
    finally:
        lm.set_default_device(before)
