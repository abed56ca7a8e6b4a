"""L-BFGS on functions whose minima are known, and its line search."""

import copy
import math
import pickle

import numpy as np
import pytest

import lamella as lm
from lamella import nn, optim
from lamella.optim._line_search import Point, strong_wolfe

SEARCHES = [None, "strong_wolfe"]


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


class Problem:
    """A function, a point, and an optimizer that moves it."""

    def __init__(self, function, start, **options):
        self.function = function
        self.x = nn.Parameter(np.asarray(start, "float64"))
        self.optimizer = optim.LBFGS([self.x], **options)
        self.calls = 0

    def closure(self):
        self.calls += 1
        self.optimizer.zero_grad()
        loss = self.function(self.x)
        loss.backward()
        return loss

    def step(self):
        return self.optimizer.step(self.closure).item()


@pytest.mark.parametrize("start", [[-1.2, 1.0], [0.0, 0.0], [-3.0, -4.0], [-1.2, 1.0, -1.2, 1.0, 0.5]])
def test_rosenbrock(start):
    problem = Problem(
        rosenbrock, start, line_search_fn="strong_wolfe", max_iter=200, tolerance_change=1e-14, tolerance_grad=1e-9
    )
    assert problem.step() == pytest.approx(rosenbrock(lm.asarray(start, dtype="float64")).item())
    np.testing.assert_allclose(problem.x.tolist(), 1.0, atol=1e-7)
    assert problem.calls < 120


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("history", [1, 3, 100])
def test_a_quadratic_form(search, history, rng):
    a = rng.normal(size=(5, 5))
    matrix, b = lm.asarray(a @ a.T + np.eye(5)), lm.asarray(rng.normal(size=5))
    problem = Problem(
        lambda x: 0.5 * (x @ (matrix @ x)) - b @ x,
        np.zeros(5),
        lr=1.0 if search else 0.3,
        history_size=history,
        line_search_fn=search,
        max_iter=400,
        max_eval=2000,
        tolerance_change=1e-15,
        tolerance_grad=1e-9,
    )
    problem.step()
    np.testing.assert_allclose(problem.x.tolist(), np.linalg.solve(matrix.numpy(), b.numpy()), atol=1e-6)
    state = problem.optimizer.state[id(problem.x)]
    assert state["func_evals"] == problem.calls and state["s"].shape[0] <= history


def test_limits_are_kept():
    for search in SEARCHES:
        problem = Problem(rosenbrock, [-1.2, 1.0], lr=1e-3, max_iter=50, max_eval=7, line_search_fn=search)
        problem.step()
        assert problem.calls <= 8  # a line search makes one call beyond the limit
        problem = Problem(rosenbrock, [-1.2, 1.0], lr=1e-3, max_iter=4, line_search_fn=None)
        problem.step()
        assert problem.calls == 4  # the loss after the last step is the next call's first
    problem = Problem(lambda x: (x * x).sum(), [0.0, 0.0])
    assert problem.step() == 0.0 and problem.calls == 1 and problem.x.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("take", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_goes_on_as_the_original(search, take):
    """Of the copies' own closures: a closure made for the original would move the original."""

    def advance(x, optimizer):
        def closure():
            optimizer.zero_grad()
            loss = rosenbrock(x)
            loss.backward()
            return loss

        return optimizer.step(closure).item()

    x = nn.Parameter(np.array([-1.2, 1.0]))
    optimizer = optim.LBFGS([x], lr=1.0 if search else 1e-3, max_iter=5, line_search_fn=search)
    advance(x, optimizer)
    y, other = take((x, optimizer))
    z = nn.Parameter(x.detach().clone())
    third = optim.LBFGS([z], line_search_fn=search)
    third.load_state_dict(optimizer.state_dict())
    losses = [advance(x, optimizer) for _ in range(3)]
    assert losses == [advance(y, other) for _ in range(3)] == [advance(z, third) for _ in range(3)]
    assert losses[0] > losses[-1] and x.tolist() == y.tolist() == z.tolist()


def test_tensors_of_several_shapes_and_without_gradients():
    a, b, c = nn.Parameter(np.ones((2, 3))), nn.Parameter(np.ones(())), nn.Parameter(np.ones((0,)))
    idle = nn.Parameter(np.ones(2))
    optimizer = optim.LBFGS([a, b, c, idle], line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = ((a - 2) ** 2).sum() + (b + 1) ** 4 + (c * c).sum()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    np.testing.assert_allclose(a.tolist(), 2 * np.ones((2, 3)), atol=1e-4)
    assert abs(b.item() + 1) < 0.05 and idle.tolist() == [1.0, 1.0]


def test_a_network_is_fitted(rng):
    lm.random.seed(1)
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    x = lm.asarray(rng.normal(size=(30, 2)).astype("float32"))
    y = x[:, :1] * x[:, 1:]
    optimizer = optim.LBFGS(net.parameters(), line_search_fn="strong_wolfe", max_iter=100)

    def closure():
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        return loss

    first = optimizer.step(closure).item()
    assert closure().item() < 0.02 * first


def test_errors():
    x, y = nn.Parameter([1.0]), nn.Parameter([1.0])
    with pytest.raises(ValueError, match=r"\[LBFGS\] there is one group"):
        optim.LBFGS([{"params": [x]}, {"params": [y]}])
    with pytest.raises(ValueError, match=r"\[LBFGS\] parameter 0 is of dtype complex64"):
        optim.LBFGS([nn.Parameter(lm.ones([2], dtype="complex64"))])
    optimizer = optim.LBFGS([x])
    with pytest.raises(TypeError, match=r"\[LBFGS\] step needs a closure"):
        optimizer.step()
    with pytest.raises(TypeError, match=r"\[LBFGS\] minimize"):
        optimizer.minimize((x * x).sum())


def line(function, slope_of):
    seen = []

    def evaluate(at):
        seen.append(at)
        return Point(at, function(at), slope_of(at), None)

    return evaluate, seen


LINES = {
    "parabola": (lambda t: (t - 3) ** 2, lambda t: 2 * (t - 3), 0.1),
    "far": (lambda t: (t / 1000 - 3) ** 2, lambda t: 2 * (t / 1000 - 3) / 1000, 1.0),
    "near": (lambda t: (1000 * t - 3) ** 2, lambda t: 2000 * (1000 * t - 3), 1.0),
    "waves": (lambda t: -t / 10 - math.sin(t), lambda t: -0.1 - math.cos(t), 9.0),
    "quartic": (lambda t: (t - 1) ** 4, lambda t: 4 * (t - 1) ** 3, 5.0),
    "wall": (lambda t: -math.log(1 - t) - 3 * t if t < 1 else math.inf, lambda t: 1 / abs(1 - t) - 3, 7.0),
    "nowhere": (lambda t: t**2 - t if t < 2 else math.nan, lambda t: 2 * t - 1, 50.0),
}


@pytest.mark.parametrize("name", LINES)
def test_points_of_the_line_search_satisfy_the_wolfe_conditions(name):
    function, slope_of, first = LINES[name]
    evaluate, seen = line(function, slope_of)
    start = Point(0.0, function(0.0), slope_of(0.0), None)
    found = strong_wolfe(evaluate, start, first, 1e-12, 50)
    assert found.at in seen and found.value == function(found.at)
    assert found.value <= start.value + 1e-4 * found.at * start.slope
    assert abs(found.slope) <= 0.9 * abs(start.slope)
    assert len(seen) <= 12


def test_a_search_that_ends_early_returns_the_lowest_point():
    evaluate, seen = line(lambda t: -t, lambda t: -1.0)
    found = strong_wolfe(evaluate, Point(0.0, 0.0, -1.0, None), 1.0, 1e-12, 5)
    assert len(seen) == 6 and found.at == max(seen)
    evaluate, seen = line(lambda t: math.nan, lambda t: math.nan)
    start = Point(0.0, 0.0, -1.0, None)
    assert strong_wolfe(evaluate, start, 1.0, 1e-12, 5) is start


def test_a_rate_that_is_a_tensor():
    found = []
    for rate in (0.5, lm.tensor(0.5)):
        x = nn.Parameter([3.0, -1.0])
        optimizer = optim.LBFGS([x], lr=rate)

        def closure(x=x, optimizer=optimizer):
            optimizer.zero_grad()
            loss = lm.sum(lm.square(lm.square(x) - 1.0))
            loss.backward()
            return loss

        optimizer.step(closure)
        optimizer.step(closure)
        found.append(x.tolist())
        assert float(optimizer.param_groups[0]["lr"]) == 0.5
    assert found[0] == found[1]


def test_a_rate_of_zero_is_a_state_like_others() -> None:
    """Schedules end there."""
    p = lm.nn.Parameter(lm.ones([2]))
    optimizer = lm.optim.LBFGS([p], lr=0.1)
    optimizer.param_groups[0]["lr"] = 0.0
    lm.optim.LBFGS([p], lr=0.1).load_state_dict(optimizer.state_dict())
