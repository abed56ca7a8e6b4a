"""A layer with CUDA kernels of its own: gelu(x + bias) in one pass, checked, counted and trained."""

from __future__ import annotations

import sys
from pathlib import Path

import lamella as lm
from lamella.utils import cpp_extension

if not lm.cuda.is_available():
    sys.exit("this tutorial needs a GPU, or the emulation of one: see README.md")

kernels = cpp_extension.load("bias_gelu", [Path(__file__).parent / "bias_gelu.cu"])


class BiasGelu(lm.PyLayer):
    """``gelu(x + bias)`` of float32 tensors on a GPU."""

    @staticmethod
    def forward(ctx, x, bias):
        """Launches one kernel."""
        ctx.save_for_backward(x, bias)
        return kernels.forward(x, bias)

    @staticmethod
    def backward(ctx, dy):
        """Launches one kernel for x; the bias has the sum over all rows."""
        x, bias = ctx.saved_tensor()
        dx = kernels.backward(x, bias, dy)
        return dx, dx.reshape([-1, bias.shape[0]]).sum(0)


class Mlp(lm.nn.Module):
    """Two layers, of which the first one's bias belongs to the kernel."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.hidden = lm.nn.Linear(inputs, hidden, bias=False)
        self.bias = lm.nn.Parameter(lm.zeros([hidden]))
        self.out = lm.nn.Linear(hidden, outputs)

    def forward(self, x):
        """Maps ``[n, inputs]`` to ``[n, outputs]``."""
        return self.out(BiasGelu.apply(self.hidden(x), self.bias))


def largest_difference(dtype_rows: int = 50, width: int = 33) -> float:
    """Compares the layer's result and gradients with those of operators."""
    lm.seed(0)
    given = [lm.randn([dtype_rows, width], device="cuda"), lm.randn([width], device="cuda")]
    seed = lm.randn([dtype_rows, width], device="cuda")
    found = []
    for layer in (BiasGelu.apply, lambda x, bias: lm.nn.functional.gelu(x + bias)):
        x, bias = (t.clone() for t in given)
        x.stop_gradient = bias.stop_gradient = False
        y = layer(x, bias)
        y.backward(seed)
        found.append([y.detach(), x.grad, bias.grad])
    return max(lm.max(lm.abs(a - b)).item() for a, b in zip(*found, strict=True))


def train(steps: int) -> list[float]:
    """Learns sin(x1) cos(x2); returns the first and the last loss."""
    lm.seed(0)
    net = Mlp(2, 64, 1).to("cuda")
    optimizer = lm.optim.AdamW(net.parameters(), lr=0.01)
    x = (lm.rand([512, 2]) * 4 - 2).to("cuda")
    target = lm.sin(x[:, :1]) * lm.cos(x[:, 1:])
    losses = []
    for _ in range(steps):
        loss = lm.nn.functional.mse_loss(net(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())  # no item() in the loop: the host need not wait for the device
    return [losses[0].item(), losses[-1].item()]


print(f"on {lm.cuda.get_device_name()}")
print(f"as operators compute it: {largest_difference() < 1e-5}")
first, last = train(100)
print(f"trained: {last < 0.1 * first}")
try:
    BiasGelu.apply(lm.ones([2, 3], device="cuda"), lm.ones([4], device="cuda"))
except ValueError as error:
    print(error)
