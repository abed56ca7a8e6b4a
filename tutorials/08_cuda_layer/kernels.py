"""The layer of layer.py without a build: kernels that are compiled while the program runs."""

from __future__ import annotations

import sys

import lamella as lm

if not lm.cuda.is_available():
    sys.exit("this tutorial needs a GPU, or the emulation of one: see README.md")

SOURCE = r"""
template <class T>
__device__ T cdf(T x) { return T(0.5) * erfc(-x * T(0.70710678118654752)); }

template <class T>
__global__ void forward(const T* x, const T* bias, T* y, int n, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const T u = x[i] + bias[i % width];
  y[i] = u * cdf(u);
}

template <class T>
__global__ void backward(const T* x, const T* bias, const T* dy, T* dx, int n, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const T u = x[i] + bias[i % width];
  dx[i] = dy[i] * (cdf(u) + u * T(0.39894228040143268) * exp(-u * u / 2));
}
"""
NAMES = {lm.float32: "float", lm.float64: "double"}
KERNELS = {
    (part, dtype): lm.cuda.kernel(SOURCE, f"{part}<{name}>")
    for part in ("forward", "backward")
    for dtype, name in NAMES.items()
}


def launch(part, *tensors):
    """Launches a kernel with a thread for each element of the first tensor, x, of ``[..., width]``."""
    x, bias = tensors[:2]
    if bias.shape != x.shape[-1:]:
        raise ValueError(f"[bias_gelu] bias has an element for each of x's last axis, got {bias.shape} for {x.shape}")
    KERNELS[part, x.dtype](grid=-(-x.size // 256), block=256, args=(*tensors, x.size, bias.size))


class BiasGelu(lm.PyLayer):
    """``gelu(x + bias)`` of float32 or float64 tensors on a GPU."""

    @staticmethod
    def forward(ctx, x, bias):
        """Launches one kernel."""
        x = x.contiguous()
        ctx.save_for_backward(x, bias)
        y = lm.empty_like(x)
        launch("forward", x, bias, y)
        return y

    @staticmethod
    def backward(ctx, dy):
        """Launches one kernel for x; the bias has the sum over all rows."""
        x, bias = ctx.saved_tensor()
        dx = lm.empty_like(x)
        launch("backward", x, bias, dy.contiguous(), dx)
        return dx, dx.reshape([-1, bias.size]).sum(0)


def difference(dtype: lm.dtype) -> float:
    """Compares the layer's result and gradients with those of operators."""
    lm.seed(0)
    given = [lm.randn([50, 33], dtype=dtype, device="cuda"), lm.randn([33], dtype=dtype, device="cuda")]
    seed = lm.randn([50, 33], dtype=dtype, device="cuda")
    found = []
    for layer in (BiasGelu.apply, lambda x, bias: lm.nn.functional.gelu(x + bias)):
        x, bias = (t.clone() for t in given)
        x.stop_gradient = bias.stop_gradient = False
        y = layer(x, bias)
        y.backward(seed)
        found.append([y.detach(), x.grad, bias.grad])
    return max(lm.max(lm.abs(a - b)).item() for a, b in zip(*found, strict=True))


kernel = KERNELS["forward", lm.float32]
print(kernel.signature)
print(f"as operators compute it: {difference(lm.float32) < 1e-5}, in float64 {difference(lm.float64) < 1e-13}")
x, bias, y = lm.ones([2, 3], device="cuda"), lm.ones([3], device="cuda"), lm.empty([2, 3], device="cuda")
for arguments in ((x, bias, y), (x, bias, y, 6, 3.0), (x, bias.astype("float64"), y, 6, 3)):
    try:
        kernel(1, 32, arguments)
    except TypeError as error:
        print(error)
