"""Random networks of native operators and numpy functions: as programs they give the eager network's numbers."""

import numpy as np
import pytest

import lamella as lm
from lamella import static

#: Name, native function, numpy function and numpy gradient of (inputs, output, output's gradient).
FUNCTIONS = {
    "tanh": (lm.tanh, np.tanh, lambda x, y, d: d * (1 - y * y)),
    "exp of minus the square": (
        lambda x: lm.exp(-(x * x)),
        lambda x: np.exp(-np.square(x)),
        lambda x, y, d: d * y * -2 * x,
    ),
    "product": (lambda a, b: a * b, np.multiply, lambda a, b, y, d: (d * b, d * a)),
    "sum": (lambda a, b: a + b, np.add, lambda a, b, y, d: (d, d)),
    "matmul": (lambda a, b: a @ b, np.matmul, lambda a, b, y, d: (d @ b.T, a.T @ d)),
}


def draw(rng):
    """A list of steps: function, positions of its inputs, and whether numpy computes it."""
    steps = []
    for at in range(int(rng.integers(3, 12))):
        name = str(rng.choice(list(FUNCTIONS)))
        count = 1 if name in ("tanh", "exp of minus the square") else 2
        steps.append((name, [int(i) for i in rng.integers(0, at + 2, count)], bool(rng.random() < 0.5)))
    return steps


def arrays(function):
    return lambda *tensors: function(*map(np.array, tensors))


def compute(steps, inputs, numpy, declare=None):
    values = list(inputs)
    for number, (name, positions, in_numpy) in enumerate(steps):
        native, forward, backward = FUNCTIONS[name]
        given = [values[i] for i in positions]
        if numpy and in_numpy:
            out = declare(f"value_{number}")
            values.append(static.py_func(arrays(forward), given, out, arrays(backward)))
        else:
            values.append(native(*given))
        values[-1] = lm.tanh(values[-1]) if name == "matmul" else values[-1]
    return lm.mean(lm.square(values[-1]) + values[len(values) // 2])


@pytest.mark.parametrize("seed", range(60))
def test_random_networks(bench, seed):
    rng = np.random.default_rng(seed)
    steps, (a, b) = draw(rng), rng.normal(size=(2, 3, 3)) / 2
    x, w = static.data("x", [3, 3], "float64"), static.create_parameter([3, 3], "float64", name="w")
    x.stop_gradient = False
    loss = compute(steps, [x, w], True, lambda name: bench.declare(name, [3, 3], "float64"))
    grads = static.gradients(loss, [x, w])
    optimizer = lm.optim.SGD([w], lr=0.1, momentum=0.9)
    depends = grads[1] is not None
    if depends:
        optimizer.minimize(loss)
    bench.start()
    bench.scope.find_var("w").get_tensor().set(b)
    fetches = [loss, *(g for g in grads if g is not None)]
    found = [bench.run({"x": a}, fetches) for _ in range(2)]

    with static.program.paused():
        leaf, parameter = lm.tensor(a, stop_gradient=False), lm.tensor(b, stop_gradient=False)
        eager = lm.optim.SGD([parameter], lr=0.1, momentum=0.9)
        for results in found:
            leaf.grad = parameter.grad = None
            expected = compute(steps, [leaf, parameter], False)
            expected.backward()
            slopes = [t.grad for t, g in zip((leaf, parameter), grads, strict=True) if g is not None]
            assert [t.grad is None for t in (leaf, parameter)] == [g is None for g in grads]
            for value, wanted in zip(results, [expected, *slopes], strict=True):
                np.testing.assert_allclose(value, wanted.detach().numpy(), 1e-10, 1e-12)
            eager.step()
    np.testing.assert_allclose(bench.array("w"), parameter.detach().numpy(), 1e-10)
