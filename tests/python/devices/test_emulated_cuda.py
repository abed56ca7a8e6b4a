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


def test_batch_norm_is_one_launch_each_way():
    generator = np.random.default_rng(4)
    given = generator.normal(1e4, 1, (6, 3, 4, 5)).astype("float32")
    slopes = generator.normal(size=given.shape).astype("float32")
    x, weight, bias = lm.asarray(given), lm.asarray([0.5, 2.0, -1.0]), lm.asarray([1.0, 0.0, 3.0])
    for tensor in (x, weight, bias):
        tensor.stop_gradient = False
    with emulation.counted() as forward:
        y = lm.batch_norm(x, None, None, weight, bias, training=True)
    dy = lm.asarray(slopes)
    with emulation.counted() as backward:
        gradients = lm.grad([y], [x, weight, bias], [dy])
    assert forward == backward == {"launches": 1}
    axes, wide = (0, 2, 3), given.astype("float64")
    rstd = 1 / np.sqrt(wide.var(axes, keepdims=True) + 1e-5)
    normal = (wide - wide.mean(axes, keepdims=True)) * rstd
    scale, shift = (np.asarray(v).reshape(1, 3, 1, 1) for v in ([0.5, 2.0, -1.0], [1.0, 0.0, 3.0]))
    centered = slopes - slopes.mean(axes, keepdims=True) - normal * (slopes * normal).mean(axes, keepdims=True)
    wanted = (scale * rstd * centered, (slopes * normal).sum(axes), slopes.sum(axes))
    np.testing.assert_allclose(y.detach().numpy(), normal * scale + shift, atol=1e-2)
    for got, expected in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(got.numpy(), expected, atol=2e-2)


def test_sums_do_not_depend_on_the_order_of_threads():
    x = lm.rand([300, 70])
    there = [lm.sum(x, axis).tolist() for axis in (0, 1)] + [lm.softmax(x).tolist()]
    with emulation.reversed_order():
        assert there == [lm.sum(x, axis).tolist() for axis in (0, 1)] + [lm.softmax(x).tolist()]


def steps_of_a_network(device: str) -> list[np.ndarray]:
    """The losses of some steps of a convolutional network, and its parameters after them."""
    nn = lm.nn
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, padding=1),
        nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=8),
        nn.Conv2d(8, 12, 1, groups=2),
        nn.Sigmoid(),
        nn.AvgPool2d(2),
        nn.ConvTranspose2d(12, 6, 3, stride=2, output_padding=1),
        nn.LocalResponseNorm(3),
        nn.Upsample(scale_factor=1.5, mode="bilinear"),
        nn.AdaptiveAvgPool2d((2, 3)),
        nn.Flatten(),
        nn.Linear(36, 5),
    )
    generator = np.random.default_rng(7)
    with lm.no_grad():
        for parameter in model.parameters():
            parameter.copy_(lm.asarray(generator.normal(0, 0.3, parameter.shape).astype("float32")))
    model.to(device)
    x = lm.asarray(generator.normal(size=(4, 3, 11, 12)).astype("float32")).to(device)
    labels = lm.asarray(generator.integers(0, 5, 4)).to(device)
    optimizer = lm.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = lm.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [x.detach().to("cpu").numpy() for x in [*losses, *model.parameters()]]


def test_a_convolutional_network_learns_what_it_learns_on_the_cpu():
    for there, here in zip(steps_of_a_network("cuda"), steps_of_a_network("cpu"), strict=True):
        np.testing.assert_allclose(there, here, rtol=2e-4, atol=2e-5)


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
