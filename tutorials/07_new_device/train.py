"""The document's operator, forward and backward, and a small model, on the simulated device."""

import numpy as np
import sim_npu  # noqa: F401

import lamella as lm

x = lm.tensor([1.0, 2.0], device="npu:0", stop_gradient=False)
y = lm.tensor([10.0, 20.0], device="npu:0", stop_gradient=False)
z = lm.ops.sim_npu.my_op(x, y)
z.backward(lm.tensor([1.0, 3.0]).npu())
print(z.detach())
print(x.grad.tolist(), x.grad.device, x.is_npu)

# A line through points, found by gradient descent. Sums and products run on the device; what has no kernel there, such
# as the hyperbolic tangent, runs on the host.
lm.random.seed(0)
model = lm.nn.Sequential(lm.nn.Linear(1, 16), lm.nn.Tanh(), lm.nn.Linear(16, 1)).npu()
optimizer = lm.optim.Adam(model.parameters(), lr=0.01)
points = np.linspace(-1, 1, 32, dtype=np.float32).reshape(32, 1)
inputs, targets = lm.tensor(points).npu(), lm.tensor(points**2).npu()
losses = []
for _ in range(300):
    loss = ((model(inputs) - targets) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("trained:", losses[-1] < losses[0] / 20, next(iter(model.parameters())).device)

try:
    lm.ops.sim_npu.my_op(x, lm.ones([2]))
except RuntimeError as error:
    print(str(error).splitlines()[0])
