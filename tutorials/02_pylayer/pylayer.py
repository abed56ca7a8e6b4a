"""A walk through PyLayer: what a layer of your own can do, and the errors that mistakes lead to."""

from __future__ import annotations

import numpy as np

import lamella as lm


def show(title: str) -> None:
    print(f"\n--- {title}")


# 1. A layer: forward computes the output, backward turns the gradient of the output into that of the input.


class Cube(lm.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy * 3 * x * x


show("a layer")
x = lm.tensor([1.0, 2.0, 3.0], stop_gradient=False)
y = Cube.apply(x)
y.sum().backward()
print("cube:", y.tolist(), " gradient:", x.grad.tolist())
assert x.grad.tolist() == [3.0, 12.0, 27.0]


# 2. Is the gradient right? Compare it with how much the output changes when the input moves a little.


def finite_differences(function, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Returns the gradient of the sum of ``function(x)``, by central differences in float64."""
    gradient = np.zeros_like(x)
    for i in range(x.size):
        nudge = np.zeros_like(x)
        nudge.flat[i] = step
        above, below = (function(lm.asarray(x + sign * nudge)).sum().item() for sign in (1, -1))
        gradient.flat[i] = (above - below) / (2 * step)
    return gradient


show("checking a gradient")
values = np.array([0.5, -1.5, 2.0])
x = lm.tensor(values, stop_gradient=False)
Cube.apply(x).sum().backward()
difference = np.abs(x.grad.numpy() - finite_differences(Cube.apply, values)).max()
print(f"largest difference: {difference:.1e}")
assert difference < 1e-6


# 3. Arguments of any type, by position or by name. What is not a tensor becomes an attribute of ctx.


class Power(lm.PyLayer):
    @staticmethod
    def forward(ctx, x, exponent=2):
        ctx.exponent = exponent
        ctx.save_for_backward(x)
        return x**exponent

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy * ctx.exponent * x ** (ctx.exponent - 1)


show("arguments")
x = lm.tensor([1.0, 2.0, 3.0], stop_gradient=False)
Power.apply(x=x, exponent=4).sum().backward()
print("gradient of x ** 4:", x.grad.tolist())
assert x.grad.tolist() == [4.0, 32.0, 108.0]


# 4. Several inputs and outputs: backward gets a gradient for each output and returns one for each input.


class Polar(lm.PyLayer):
    """Turns angles and radii into points. Also returns the number of points, which is not a tensor."""

    @staticmethod
    def forward(ctx, angle, radius):
        ctx.save_for_backward(angle, radius)
        return radius * lm.cos(angle), radius * lm.sin(angle), angle.size

    @staticmethod
    def backward(ctx, dx, dy):
        angle, radius = ctx.saved_tensor()
        dangle = dradius = None
        if ctx.needs_input_grad[0]:
            dangle = radius * (dy * lm.cos(angle) - dx * lm.sin(angle))
        if ctx.needs_input_grad[1]:
            dradius = dx * lm.cos(angle) + dy * lm.sin(angle)
        return dangle, dradius


show("several inputs and outputs")
angle = lm.tensor([0.0, 1.5], stop_gradient=False)
radius = lm.tensor([1.0, 2.0])  # stop_gradient is True: no gradient is wanted
px, py, count = Polar.apply(angle, radius)
px.sum().backward()  # py is not used: its gradient arrives as zeros
print(count, "points; gradient of the angle:", angle.grad.tolist(), " of the radius:", radius.grad)
assert np.allclose(angle.grad.numpy(), -radius.numpy() * np.sin(angle.tolist())) and radius.grad is None


# 5. Tensors in lists and dictionaries count too; the gradient has the same form.


class WeightedSum(lm.PyLayer):
    @staticmethod
    def forward(ctx, parts, weights):
        ctx.weights = weights
        return {"total": sum(weights[name] * parts[name] for name in parts)}

    @staticmethod
    def backward(ctx, dtotal):
        return {name: weight * dtotal for name, weight in ctx.weights.items()}


show("nested tensors")
parts = {"a": lm.tensor([1.0, 1.0], stop_gradient=False), "b": lm.tensor([2.0, 2.0], stop_gradient=False)}
result = WeightedSum.apply(parts, {"a": 0.25, "b": 0.75})
result["total"].sum().backward()
print({name: part.grad.tolist() for name, part in parts.items()})
assert parts["b"].grad.tolist() == [0.75, 0.75]


# 6. In place: a layer that writes into its input says so.


class DoubleInPlace(lm.PyLayer):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, dy):
        return 2 * dy


show("in place")
leaf = lm.tensor([1.0, 2.0], stop_gradient=False)
x = leaf + 0  # the leaf itself wants a gradient and may not be overwritten; the result of an operation may
y = DoubleInPlace.apply(x)
y.sum().backward()
print("the input itself is now", x.tolist(), " gradient:", leaf.grad.tolist())
assert x.tolist() == [2.0, 4.0] and leaf.grad.tolist() == [2.0, 2.0]


# 7. Outputs without a gradient.


class MaxWithIndex(lm.PyLayer):
    @staticmethod
    def forward(ctx, x):
        index = x.argmax()
        ctx.mark_non_differentiable(index)
        ctx.index, ctx.shape = index.item(), x.shape
        return x.max(), index

    @staticmethod
    def backward(ctx, dmax, dindex):
        dx = lm.zeros(ctx.shape)
        dx[ctx.index] = dmax
        return dx


show("an output without a gradient")
x = lm.tensor([1.0, 5.0, 3.0], stop_gradient=False)
largest, index = MaxWithIndex.apply(x)
largest.backward()
print(f"largest {largest.item()} at {index.item()}, gradient {x.grad.tolist()}, index stops: {index.stop_gradient}")
assert x.grad.tolist() == [0.0, 1.0, 0.0] and index.stop_gradient


# 8. Second derivatives come by themselves where backward uses Lamella's operations.

show("a second derivative")
x = lm.tensor([1.0, 2.0], stop_gradient=False)
(first,) = lm.grad(Cube.apply(x).sum(), [x], create_graph=True)
(second,) = lm.grad(first.sum(), [x])
print("of the cube:", second.tolist())
assert second.tolist() == [6.0, 12.0]


# 9. Mistakes, and the errors that they lead to.


class TooMany(lm.PyLayer):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, dz):
        return dz, dz, dz


class WrongShape(lm.PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, dy):
        return lm.ones((5,))


def overwritten() -> None:
    x = lm.tensor([1.0, 2.0], stop_gradient=False)
    kept = x * 1
    y = Cube.apply(kept)
    kept.add_(1)  # y's gradient needs the old values
    y.sum().backward()


def used_twice() -> None:
    x = lm.tensor([1.0, 2.0], stop_gradient=False)
    y = Cube.apply(x).sum()
    y.backward()
    y.backward()


show("mistakes")
mistakes = {
    "too many gradients": lambda: TooMany.apply(lm.ones((2,)), x).sum().backward(),
    "a gradient of the wrong shape": lambda: WrongShape.apply(x).sum().backward(),
    "a saved tensor overwritten": overwritten,
    "backward twice through one graph": used_twice,
}
for name, mistake in mistakes.items():
    try:
        mistake()
    except (ValueError, RuntimeError) as error:
        print(f"{name}: {type(error).__name__}: {error}\n")
    else:
        raise AssertionError(f"{name} should have been an error")
