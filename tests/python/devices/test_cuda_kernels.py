"""Kernels that are compiled while the program runs: in the emulation, and what is told without a device."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import lamella as lm
from support import emulation
from support.cuda_sources import AXPY, SCALE

emulated = pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA")

#: Writes each number that it is given into an element.
NUMBERS = """
__global__ void numbers(double* y, bool a, signed char b, unsigned char c, short d, unsigned short e, int f,
                        unsigned int g, long long h, unsigned long long i, float j, double k, size_t l) {
  y[0] = a; y[1] = b; y[2] = c; y[3] = d; y[4] = e; y[5] = f; y[6] = g; y[7] = h; y[8] = i; y[9] = j; y[10] = k;
  y[11] = l;
}
"""
SQUARE = """
__global__ void square(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * x[i];
}
__global__ void square_backward(const float* x, const float* dy, float* dx, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) dx[i] = 2 * x[i] * dy[i];
}
"""


def blocks(n: int, size: int = 32) -> int:
    return (n + size - 1) // size


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


# Launches
# ---------------------------------------------------------------------------------------------------------------------


@emulated
def test_a_kernel_computes():
    axpy = lm.cuda.kernel(AXPY)
    x, y = lm.arange(100, dtype="float32", device="cuda"), lm.ones([100], device="cuda")
    for factor in (2, 0.5):
        axpy(blocks(100), 32, (x, y, factor, x.size))
    with emulation.counted() as counts:
        axpy(lambda x, y, alpha, n: (blocks(n),), (32, 1, 1), [x, y, np.float64(0.5), np.int32(100)])
    assert counts == {"launches": 1}
    np.testing.assert_array_equal(y.numpy(), 1 + 3 * np.arange(100, dtype="float32"))


@emulated
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "int64"])
def test_templates_take_their_dtypes(dtype):
    names = {"float32": "float", "float64": "double", "int8": "signed char", "uint16": "unsigned short"}
    scale = lm.cuda.kernel(SCALE, f"mine::scale<{names.get(dtype, 'long long')}>")
    x = lm.arange(10, device="cuda").astype(dtype)
    y = lm.empty_like(x)
    scale(1, 32, (x, y, 10))
    np.testing.assert_array_equal(y.numpy(), 3 * np.arange(10))


@emulated
def test_numbers_arrive_as_they_are():
    given = [True, -128, 255, -(2**15), 2**16 - 1, -(2**31), 2**32 - 1, -(2**53), 2**63, 0.1, 0.1, 2**40]
    wanted = [*given[:9], float(np.float32(0.1)), 0.1, 2.0**40]
    numbers = lm.cuda.kernel(NUMBERS)
    y = lm.zeros([12], dtype="float64", device="cuda")
    numbers(1, 1, (y, *given))
    assert y.tolist() == [float(x) for x in wanted]
    kinds = [
        "bool_",
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float32",
        "float64",
        "uint64",
    ]
    y.zero_()
    numbers(1, 1, (y, *(getattr(np, kind)(x) for kind, x in zip(kinds, given, strict=True))))
    assert y.tolist() == [float(x) for x in wanted]


@emulated
def test_shared_memory_options_and_null_pointers():
    source = """
    __global__ void reversed(const int* x, int* y, const int* bias) {
      extern __shared__ int row[];
      row[threadIdx.x] = x[threadIdx.x];
      __syncthreads();
      y[threadIdx.x] = row[blockDim.x - 1 - threadIdx.x] * FACTOR + (bias ? bias[threadIdx.x] : 0);
    }
    """
    made = lm.cuda.kernel(source, options=["-DFACTOR=10", "--use_fast_math"])
    x, y = lm.arange(5, dtype="int32", device="cuda"), lm.zeros([5], dtype="int32", device="cuda")
    made(1, 5, (x, y, None), shared_mem=20)
    assert y.tolist() == [40, 30, 20, 10, 0]
    made(1, 5, (x, y, x), shared_mem=100 << 10)  # more than a launch has without asking
    assert y.tolist() == [40, 31, 22, 13, 4]
    with pytest.raises(RuntimeError, match=r"\[kernel reversed\] CUDA: invalid argument"):
        made(1, 5, (x, y, x), shared_mem=300 << 10)


@emulated
def test_strided_tensors_are_taken_where_they_are_asked_for():
    source = """
    __global__ void copy(const double* x, double* y, int rows, int columns, long long row, long long column) {
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) y[i * columns + j] = x[i * row + j * column];
    }
    """
    x = lm.arange(6, dtype="float64", device="cuda").reshape([2, 3]).T
    y = lm.empty([3, 2], dtype="float64", device="cuda")
    arguments = (x, y, *x.shape, *x.strides)
    with pytest.raises(ValueError, match=r"\[kernel copy\] argument 1, x, is not contiguous .*strided=True"):
        lm.cuda.kernel(source)(1, 1, arguments)
    lm.cuda.kernel(source, strided=True)(1, 1, arguments)
    np.testing.assert_array_equal(y.numpy(), x.numpy())


@emulated
def test_nothing_is_launched_on_an_empty_grid_or_on_meta():
    axpy = lm.cuda.kernel(AXPY.replace("y[i] +=", "no C++"))  # never compiled
    x, y = lm.ones([0], device="cuda"), lm.ones([0], device="cuda")
    with emulation.counted() as counts:
        for grid in (0, (4, 0), lambda x, *_: blocks(x.size)):
            axpy(grid, 32, (x, y, 1.0, 0))
        axpy(1, 32, (lm.ones([3], device="meta"), lm.ones([3], device="meta"), 1.0, 3))
    assert counts == {}
    with pytest.raises(TypeError, match="argument 2, y"):
        axpy(0, 32, (x, 5, 1.0, 0))


@emulated
def test_each_device_has_its_own_kernel_and_stream():
    axpy = lm.cuda.kernel(AXPY)
    for device in ("cuda:0", "cuda:1"):
        x, y = lm.ones([3], device=device), lm.ones([3], device=device)
        stream = lm.cuda.Stream(device)
        stream.wait_stream(lm.cuda.current_stream(device))
        with lm.cuda.stream(stream):
            axpy(1, 32, (x, y, 2.0, 3))
        stream.synchronize()
        assert y.tolist() == [3.0] * 3 and lm.cuda.current_device() == 0
    other = lm.ones([3], device="cuda:0")
    with pytest.raises(ValueError, match=r"argument 2, y, is on cuda:0, and those before it are on cuda:1"):
        axpy(1, 32, (x, other, 1.0, 3))


@emulated
def test_a_launch_is_captured():
    axpy = lm.cuda.kernel(AXPY)
    x, y = lm.ones([4], device="cuda"), lm.zeros([4], device="cuda")
    captured = lm.cuda.CUDAGraph()
    with lm.cuda.graph(captured):
        axpy(1, 32, (x, y, 2.0, 4))  # compiled here
        z = y + 1
    assert y.tolist() == [0.0] * 4
    for count in (1, 2):
        captured.replay()
        assert z.tolist() == [2.0 * count + 1] * 4


@emulated
def test_threads_share_what_is_compiled(folder):
    x = lm.ones([1000], device="cuda")
    results: list[lm.Tensor] = []

    def work() -> None:
        y = lm.zeros([1000], device="cuda")
        lm.cuda.kernel(AXPY, options=["-DTHREADS"])(blocks(1000), 32, (x, y, 1.0, 1000))
        results.append(y)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [float(y.sum()) for y in results] == [1000.0] * 4
    assert len(list(folder.iterdir())) == 1


# Errors
# ---------------------------------------------------------------------------------------------------------------------


@emulated
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"args": ()}, TypeError, r"\[kernel axpy\] 4 arguments are wanted \(x, y, alpha, n\), got 0"),
        ({"args": 5}, TypeError, r"\[kernel axpy\] args is a tuple or a list, not int"),
        ({0: 1.0}, TypeError, r"\[kernel axpy\] argument 1, x, is a Tensor or None, not float"),
        ({0: "double"}, TypeError, "argument 1, x, is of dtype float32, got float64"),
        ({1: "cpu"}, ValueError, r"argument 2, y, is on cpu:?0?, and a kernel computes on a CUDA device"),
        ({1: "broadcast"}, ValueError, "argument 2, y, is not contiguous"),
        ({2: "text"}, TypeError, r"argument 3, alpha, is a number \(float32\), not str"),
        ({2: "tensor"}, TypeError, r"argument 3, alpha, is a number \(float32\), not a Tensor; item\(\)"),
        ({3: 1.5}, TypeError, r"argument 4, n, is an int \(int32\), not float"),
        ({3: 2**31}, ValueError, r"argument 4, n, is an int of dtype int32, which has no 2147483648"),
        ({3: 2**70}, ValueError, "which has no 1180591620717411303424"),
        ({"grid": -1}, ValueError, r"\[kernel axpy\] grid\[0\] is from 0 to 2147483647, not -1"),
        ({"grid": (1, 1, 65536)}, ValueError, r"grid\[2\] is from 0 to 65535"),
        ({"grid": (1, 1, 1, 1)}, ValueError, "grid has 1 to 3 sizes, not 4"),
        ({"grid": 1.5}, TypeError, "grid is an int or a tuple of up to three, not 1.5"),
        ({"grid": lambda *_: None}, TypeError, "grid is an int or a tuple"),
        ({"block": 0}, ValueError, r"block\[0\] is from 1 to 1024, not 0"),
        ({"block": (64, 32)}, ValueError, "block has 2048 threads, and at most 1024 run in one"),
        ({"block": "32"}, TypeError, "block is an int or a tuple"),
        ({"shared_mem": -1}, ValueError, "shared_mem is a number of bytes, not -1"),
        ({"shared_mem": 1.5}, TypeError, "shared_mem is a number of bytes, not 1.5"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(change, error, message):
    x, y = lm.ones([3], device="cuda"), lm.ones([3], device="cuda")
    others = {
        "double": x.astype("float64"),
        "cpu": x.cpu(),
        "broadcast": lm.ones([1], device="cuda").broadcast_to([3]),
        "tensor": lm.tensor(1.0, device="cuda"),
    }
    arguments = [x, y, 2.0, 3]
    call = {"grid": 1, "block": 32, "args": arguments}
    for key, value in change.items():
        if isinstance(key, int):
            arguments[key] = others.get(value, value) if isinstance(value, str) else value
        else:
            call[key] = value
    version = y._version
    with pytest.raises(error, match=message):
        lm.cuda.kernel(AXPY)(**call)
    assert (y._version, y.tolist()) == (version, [1.0] * 3)


@emulated
@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (AXPY.replace("alpha *", "beta *"), (), "_COMPILATION\n.*source.cu:4.*beta"),
        (AXPY, ("--no-such-thing",), "_INVALID_OPTION\n.*--no-such-thing"),
    ],
)
def test_the_compilers_messages_are_raised(source, options, message, folder):
    axpy = lm.cuda.kernel(source, options=options)
    x, y = lm.ones([3], device="cuda"), lm.ones([3], device="cuda")
    for _ in range(2):
        with pytest.raises(RuntimeError, match=rf"(?s)\[kernel axpy\] NVRTC: NVRTC_ERROR{message}"):
            axpy(1, 32, (x, y, 1.0, 3))
    assert y.tolist() == [1.0] * 3 and list(folder.iterdir()) == []


@pytest.mark.skipif(lm.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_there_is_an_error():
    x, y = lm.ones([3]), lm.ones([3])
    with pytest.raises(ValueError, match=r"\[kernel axpy\] argument 1, x, is on cpu"):
        lm.cuda.kernel(AXPY)(1, 32, (x, y, 1.0, 3))
    with pytest.raises(RuntimeError):
        lm.cuda.kernel("__global__ void f(int n) {}")(1, 1, (1,))


# Gradients
# ---------------------------------------------------------------------------------------------------------------------


class Square(lm.PyLayer):
    """x ** 2 by kernels."""

    launch = lm.cuda.kernel(SQUARE, "square")
    launch_backward = lm.cuda.kernel(SQUARE, "square_backward")

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = lm.empty_like(x)
        Square.launch(blocks(x.size), 32, (x, y, x.size))
        return y

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        dx = lm.empty_like(x)
        Square.launch_backward(blocks(x.size), 32, (x, dy.contiguous(), dx, x.size))
        return dx


@emulated
def test_a_layer_has_kernels(rng):
    given = rng.normal(size=(4, 5)).astype("float32")
    x = lm.asarray(given).to("cuda")
    x.stop_gradient = False
    (Square.apply(x) * 3).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 6 * given, rtol=1e-6)


@emulated
def test_a_compiled_function_calls_a_layer_with_kernels(rng):
    @lm.compile
    def function(x):
        return Square.apply(x + 1) * 2

    for _ in range(5):
        given = rng.normal(size=(4, 5)).astype("float32")
        x = lm.asarray(given).to("cuda")
        x.stop_gradient = False
        y = function(x)
        y.sum().backward()
        np.testing.assert_allclose(y.detach().numpy(), 2 * (given + 1) ** 2, rtol=1e-5)
        np.testing.assert_allclose(x.grad.numpy(), 4 * (given + 1), rtol=1e-5)


@emulated
def test_a_graph_calls_a_layer_with_kernels():
    graph = lm.graph.Graph("layers")
    x = graph.input("x", "float32", [-1])
    with lm.graph.recording(graph):
        y = Square.apply(x * 2) + 1
        with pytest.raises(RuntimeError, match=r"\[data_ptr\] .* is a value of the graph"):
            Square.launch(1, 32, (x, y, 3))
    (result,) = graph.run({"x": lm.full([3], 2.0, device="cuda")}, [y])
    assert result.tolist() == [17.0] * 3


@emulated
def test_lost_gradients_are_refused():
    axpy = lm.cuda.kernel(AXPY)
    x, y = lm.ones([3], device="cuda"), lm.ones([3], device="cuda")
    for wanting in (x, y):
        wanting.stop_gradient = False
        with pytest.raises(RuntimeError, match=r"wants a gradient, .*: launch it in the forward of a PyLayer"):
            axpy(1, 32, (x, y, 1.0, 3))
        with lm.no_grad():
            axpy(1, 32, (x, y, 1.0, 3))
        wanting.stop_gradient = True
    assert y.tolist() == [3.0] * 3
    lm.no_grad()(axpy)(1, 32, (x, y, 1.0, 3))
    with pytest.raises(RuntimeError, match="a kernel"):
        lm.jvp(lambda x: (axpy(1, 32, (x, y, 1.0, 3)), x * 1)[1], (x,), (x,))
    with pytest.raises(RuntimeError, match="batched by vmap"):
        lm.vmap(lambda x: (axpy(1, 32, (x, y, 1.0, 3)), x * 1)[1])(lm.ones([2, 3], device="cuda"))


@emulated
def test_writes_are_noticed():
    axpy = lm.cuda.kernel(AXPY)
    x, w = lm.ones([3], device="cuda"), lm.ones([3], device="cuda")
    w.stop_gradient = False
    versions = (x._version, w._version)
    y = lm.zeros([3], device="cuda")
    product = w * y  # keeps y
    axpy(1, 32, (x, y, 1.0, 3))
    assert (x._version, w._version) == versions and y._version > 0
    with pytest.raises(RuntimeError, match="kernel axpy"):
        product.sum().backward()
    with lm.inference_mode():
        z = lm.zeros([3], device="cuda")
    with pytest.raises(RuntimeError, match="inference_mode"):
        axpy(1, 32, (x, z, 1.0, 3))


# What is kept
# ---------------------------------------------------------------------------------------------------------------------


def test_copies_are_kernels_of_their_own():
    made = lm.cuda.kernel(AXPY, options=["-DN=1"])
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert (other.source, other.name, other.options, other.signature) == (AXPY, "axpy", ("-DN=1",), made.signature)
        if emulation.library() is not None:
            x, y = lm.ones([3], device="cuda"), lm.zeros([3], device="cuda")
            other(1, 32, (x, y, 4.0, 3))
            assert y.tolist() == [4.0] * 3


PROGRAM = f"""
import sys
import lamella as lm
x, y = lm.ones([3], device="cuda"), lm.zeros([3], device="cuda")
lm.cuda.kernel({AXPY!r}, options=sys.argv[1:])(1, 32, (x, y, 2.0, 3))
print(y.tolist())
"""


@emulated
def test_files_serve_other_processes(folder, tmp_path):
    package = Path(lm.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(package)}

    def run(*options: str, **variables: str) -> None:
        command = [sys.executable, "-c", PROGRAM, *options]
        done = subprocess.run(command, env=environment | variables, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "[2.0, 2.0, 2.0]\n"), done.stderr

    run()
    (kept,) = folder.iterdir()
    assert kept.suffix == ".cubin" and kept.stat().st_mode & 0o077 == 0
    run(PATH="/nowhere")  # without a compiler
    whole = kept.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole[:100] + b"\0" + whole[101:]):
        kept.write_bytes(damaged)
        run()
        assert kept.read_bytes()[:100] == whole[:100] and len(kept.read_bytes()) > len(whole) // 2
    run(f"--include-path={tmp_path}")  # headers may change: not kept
    run(LAMELLA_CACHE="/proc/nothing")
    assert list(folder.iterdir()) == [kept]


@emulated
def test_a_missing_library_is_told(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(lm.__file__).parents[1]), "LAMELLA_NVRTC_LIBRARY": "/no/file"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert (
        "RuntimeError: [cuda.kernel] kernels need NVRTC, of CUDA 12, and the file that LAMELLA_NVRTC_LIBRARY"
        in done.stderr
    )
    assert "/no/file" in done.stderr
