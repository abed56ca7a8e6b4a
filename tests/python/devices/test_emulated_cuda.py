"""Operators in the emulation of CUDA: what they ask of the runtime, and which of them have no kernel."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

import lamella as lm
from support import default_device, emulation

pytestmark = pytest.mark.skipif(
    emulation.library() is None or default_device.DEVICE != "cuda", reason="this is no build on the emulation of CUDA"
)


@pytest.fixture(scope="module")
def measured():
    from devices import cuda_calls

    return cuda_calls.measure()


def test_counts_are_those_on_record(measured):
    """Renewed by ``tests/python/devices/cuda_calls.py --renew``."""
    from devices import cuda_calls

    assert cuda_calls.differences(measured[0]) == []


def test_operators_without_a_kernel_are_those_on_the_list(measured):
    assert measured[1] == default_device.without_kernels()


def test_an_elementwise_operator_is_one_launch():
    x = lm.ones([1000])
    with emulation.counted() as counts:
        x + x
    assert counts == {"launches": 1}


def test_sums_do_not_depend_on_the_order_of_threads():
    x = lm.rand([300, 70])
    there = [lm.sum(x, axis).tolist() for axis in (0, 1)] + [lm.softmax(x).tolist()]
    with emulation.reversed_order():
        assert there == [lm.sum(x, axis).tolist() for axis in (0, 1)] + [lm.softmax(x).tolist()]


def test_new_tensors_are_on_the_default_device():
    made = [lm.tensor(1.0), lm.asarray([1, 2]), lm.zeros([2]), lm.arange(3), lm.linspace(0, 1, 3), lm.eye(2)]
    made += [lm.rand([2]), lm.randint(0, 3, [2]), lm.randperm(4), lm.normal([2]), lm.Tensor([1.0])]
    assert lm.get_default_device() == "cuda:0"
    assert {x.device for x in made} == {"cuda:0"}
    there = lm.ones([2], device="cpu")
    assert lm.tensor(there).device == "cpu" and lm.zeros_like(there).device == "cpu"


TWICE = r"""
template <class T>
__global__ void twice(int n, const T* x, T* y) {
  extern __shared__ T copies[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  copies[threadIdx.x] = i < n ? x[i] : T(0);
  __syncthreads();
  if (i < n) y[i] = 2 * copies[threadIdx.x];
}
extern "C" int run(const float* from, float* to, int n) {
  float *x = nullptr, *y = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&x), n * sizeof(float));
  cudaMalloc(reinterpret_cast<void**>(&y), n * sizeof(float));
  cudaMemcpy(x, from, n * sizeof(float), cudaMemcpyHostToDevice);
  twice<float><<<(n + 31) / 32, 32, 32 * sizeof(float)>>>(n, x, y);
  cudaMemcpy(to, y, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
  return cudaGetLastError();
}
"""


def test_a_file_for_nvcc_is_compiled_and_runs(tmp_path):
    (tmp_path / "twice.cu").write_text(TWICE)
    home = Path(lm.__file__).parents[1] / "cuda"
    command = [home / "bin" / "nvcc", "-std=c++20", "-gencode=arch=compute_90,code=sm_90", "--expt-relaxed-constexpr"]
    command += ["-Xcompiler=-fPIC", "-shared", tmp_path / "twice.cu", "-o", tmp_path / "twice.so"]
    subprocess.run([*command, f"-L{home / 'lib64'}", "-lcudart"], check=True)
    given = np.arange(50, dtype="float32")
    result = np.empty_like(given)
    library = ctypes.CDLL(str(tmp_path / "twice.so"))
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (given, result)]
    assert library.run(*pointers, 50) == 0
    assert (result == 2 * given).all()
