"""A neural ODE by Runge-Kutta steps, a layer of torch.autograd.Function, gradients checked, and L-BFGS at the end."""

import math

import torch
import torch.nn as nn
from fixing import fix


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x)
        ctx.beta = beta
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        gate = torch.sigmoid(ctx.beta * x)
        return grad_output * (gate + ctx.beta * x * gate * (1 - gate)), None


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.ModuleList([nn.Linear(2, 12), nn.Linear(12, 2)])
        self.nfe = 0

    def forward(self, t, y):
        self.nfe += 1
        return self.net[1](Swish.apply(self.net[0](y**3), 1.5))


def odeint(func, y0, t):
    y, path = y0, [y0]
    for start, end in zip(t[:-1], t[1:]):
        h = end - start
        k1 = func(start, y)
        k2 = func(start + h / 3, y + h * k1 / 3)
        k3 = func(start + h * 2 / 3, y + h * (k2 - k1 / 3))
        k4 = func(end, y + h * (k1 - k2 + k3))
        y = y + (k1 + 3 * (k2 + k3) + k4) * h * 0.125
        path.append(y)
    return torch.stack(path)


def main():
    true_a = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    t = torch.linspace(0.0, 1.0, 9)
    y0 = torch.tensor([[2.0, 0.0]])
    with torch.no_grad():
        truth = odeint(lambda t, y: torch.mm(y**3, true_a), y0, t)
    func = fix(ODEFunc(), 0.1)
    optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-2)
    seen = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = torch.mean(torch.abs(odeint(func, y0, t) - truth))
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    lbfgs = torch.optim.LBFGS(func.parameters(), lr=0.1, max_iter=3, history_size=5)

    def closure():
        lbfgs.zero_grad()
        loss = torch.mean((odeint(func, y0, t) - truth) ** 2)
        loss.backward()
        return loss

    seen += [lbfgs.step(closure).item() for _ in range(2)]
    x = torch.randn(3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: Swish.apply(x, 0.7), (x,), eps=1e-6, atol=1e-4)
    z = torch.tensor([0.2, 1.7], requires_grad=True)
    (StraightThrough.apply(z) * torch.tensor([2.0, 3.0])).sum().backward()
    theta = torch.tensor(0.3, requires_grad=True)
    inner = math.pi * theta - 0.5 * torch.autograd.grad(theta.pow(2), theta, create_graph=True)[0] ** 2
    inner.backward()
    return [*seen, func.nfe, z.grad.tolist(), theta.grad.item()]


if __name__ == "__main__":
    print(main())
