"""Optimizers against their formulas written in numpy."""

import numpy as np
import pytest

import lamella as lm
from lamella import nn, optim

STEPS = 25


def sgd(p, gradients, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False):
    v = None
    for g in gradients:
        g = (-g if maximize else g) + weight_decay * p
        v = g if v is None else momentum * v + (1 - dampening) * g
        d = (g + momentum * v if nesterov else v) if momentum else g
        p = p - lr * d
    return p


def adam(
    p,
    gradients,
    lr=1e-3,
    betas=(0.9, 0.999),
    eps=1e-8,
    weight_decay=0.0,
    amsgrad=False,
    decoupled=False,
    maximize=False,
):
    m, v, largest = np.zeros_like(p), np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(gradients, 1):
        g = -g if maximize else g
        if decoupled:
            p = p - lr * weight_decay * p
        else:
            g = g + weight_decay * p
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        largest = np.maximum(largest, v)
        root = np.sqrt(largest if amsgrad else v) / np.sqrt(1 - betas[1] ** t)
        p = p - lr / (1 - betas[0] ** t) * m / (root + eps)
    return p


CASES = [
    (optim.SGD, sgd, {"lr": 0.1}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.5, "maximize": True, "weight_decay": 0.1}),
    (optim.Adam, adam, {}),
    (optim.Adam, adam, {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    (optim.Adam, adam, {"lr": 0.05, "amsgrad": True}),
    (optim.Adam, adam, {"lr": 0.05, "decoupled": True, "weight_decay": 0.1, "maximize": True}),
]


@pytest.mark.parametrize(("kind", "formula", "options"), CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_steps_follow_the_formula(kind, formula, options, dtype):
    rng = np.random.default_rng(0)
    start = rng.normal(size=(3, 4)).astype(dtype)
    # Gradients that shrink, so that amsgrad's maximum differs from the running mean.
    gradients = [rng.normal(size=(3, 4)) * 0.8**step for step in range(STEPS)]
    parameter = nn.Parameter(start)
    optimizer = kind([parameter], **options)
    for gradient in gradients:
        parameter.grad = lm.asarray(gradient.astype(dtype))
        optimizer.step()
    expected = formula(start.astype("float64"), gradients, **options)
    np.testing.assert_allclose(
        parameter.detach().numpy(), expected, rtol=2e-5 if dtype == "float32" else 1e-12, atol=1e-6
    )
    assert parameter.dtype.name == dtype and parameter.is_leaf and parameter.grad_fn is None


def test_adamw_is_decoupled_adam():
    one, two = nn.Parameter([1.0, 2.0]), nn.Parameter([1.0, 2.0])
    first, second = optim.AdamW([one]), optim.Adam([two], decoupled=True, weight_decay=0.01)
    for _ in range(3):
        one.grad, two.grad = lm.ones((2,)), lm.ones((2,))
        first.step()
        second.step()
    assert one.tolist() == two.tolist() and one.tolist() != [1.0, 2.0]


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW])
def test_a_quadratic_is_minimized(kind):
    x = nn.Parameter([5.0, -3.0])
    optimizer = kind([x], lr=0.1)
    for _ in range(400):
        optimizer.zero_grad()
        ((x - 1.0) * (x - 1.0)).sum().backward()
        optimizer.step()
    np.testing.assert_allclose(x.tolist(), [1.0, 1.0], atol=2e-2)


def test_groups_have_options_of_their_own():
    a, b = nn.Parameter([1.0]), nn.Parameter([1.0])
    optimizer = optim.SGD([{"params": [a], "lr": 0.5}, {"params": b}], lr=0.1)
    a.grad, b.grad = lm.ones((1,)), lm.ones((1,))
    optimizer.step()
    np.testing.assert_allclose([a.item(), b.item()], [0.5, 0.9], rtol=1e-6)
    optimizer.param_groups[1]["lr"] = 0.4
    optimizer.step()
    np.testing.assert_allclose([a.item(), b.item()], [0.0, 0.5], atol=1e-6)


def test_tensors_without_a_gradient_stay():
    a, b = nn.Parameter([1.0]), nn.Parameter([1.0])
    optimizer = optim.Adam([a, b], lr=0.1)
    a.grad = lm.ones((1,))
    optimizer.step()
    assert a.item() != 1.0 and b.item() == 1.0
    optimizer.zero_grad()
    assert a.grad is None


def test_closure_runs_with_recording_on():
    x = nn.Parameter([2.0])
    optimizer = optim.SGD([x], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    with lm.no_grad():
        assert optimizer.step(closure).item() == 4.0
    assert x.item() == 1.0


@pytest.mark.parametrize(("kind", "options"), [(optim.SGD, {"momentum": 0.9}), (optim.Adam, {"amsgrad": True})])
def test_state_continues_where_it_was(kind, options):
    def make():
        x = nn.Parameter([1.0, -2.0, 3.0])
        return x, kind([x], lr=0.05, **options)

    def advance(x, optimizer, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            (x * x).sum().backward()
            optimizer.step()

    x, optimizer = make()
    advance(x, optimizer, 6)
    y, first = make()
    advance(y, first, 3)
    z, second = make()
    z_state = first.state_dict()
    assert set(z_state) == {"state", "param_groups"} and z_state["param_groups"][0]["params"] == [0]
    with lm.no_grad():
        z.copy_(y)
    second.load_state_dict(z_state)
    advance(z, second, 3)
    assert z.tolist() == x.tolist()
    # The copy has moved on, what it was made from has not.
    assert y.tolist() != z.tolist()


def test_state_of_another_optimizer_is_refused():
    x, y = nn.Parameter([1.0, 2.0]), nn.Parameter([1.0, 2.0])
    optimizer = optim.Adam([x])
    x.grad = lm.ones((2,))
    optimizer.step()
    state = optimizer.state_dict()
    with pytest.raises(ValueError, match="1 tensors in the state, 2 in the optimizer"):
        optim.Adam([x, y]).load_state_dict(state)
    with pytest.raises(ValueError, match="1 parameter groups, the optimizer 2"):
        optim.Adam([{"params": [x]}, {"params": [y]}]).load_state_dict(state)
    with pytest.raises(ValueError, match="other options"):
        optim.SGD([x]).load_state_dict(state)
    with pytest.raises(ValueError, match=r"'exp_avg' has shape \[2\] in the state, its parameter \[3\]"):
        optim.Adam([nn.Parameter([1.0, 2.0, 3.0])]).load_state_dict(state)
    with pytest.raises(ValueError, match="holds 'state'"):
        optimizer.load_state_dict({"state": {}})
    with pytest.raises(ValueError, match="tensor 4, which is in no group"):
        optimizer.load_state_dict({**state, "state": {4: {}}})


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda p: optim.SGD([], lr=0.1), ValueError, "no parameters"),
        (lambda p: optim.SGD(p, lr=0.1), TypeError, "not one Parameter"),
        (lambda p: optim.SGD([1.0]), TypeError, "parameter 0 is float"),
        (lambda p: optim.SGD([p * 2]), ValueError, "not a leaf"),
        (lambda p: optim.SGD([p, p]), ValueError, "already"),
        (lambda p: optim.SGD([{"lr": 0.1}]), ValueError, "under 'params'"),
        (lambda p: optim.SGD([{"params": [p], "speed": 3}]), ValueError, "unknown options: speed"),
        (lambda p: optim.SGD([p], lr=-1.0), ValueError, "lr is in"),
        (lambda p: optim.SGD([p], lr=float("nan")), ValueError, "lr is in"),
        (lambda p: optim.SGD([p], lr="fast"), TypeError, "lr is a number"),
        (lambda p: optim.SGD([p], nesterov=True), ValueError, "nesterov needs"),
        (lambda p: optim.SGD([p], momentum=0.9, dampening=0.1, nesterov=True), ValueError, "nesterov needs"),
        (lambda p: optim.Adam([p], betas=(0.9, 1.0)), ValueError, r"betas\[1\] is in"),
        (lambda p: optim.Adam([p], betas=0.9), TypeError, "two numbers"),
        (lambda p: optim.Adam([p], eps=-1e-8), ValueError, "eps is in"),
        (lambda p: optim.Adam([p], weight_decay=-0.1), ValueError, "weight_decay is in"),
    ],
)
def test_bad_arguments(make, kind, message):
    with pytest.raises(kind, match=message):
        make(nn.Parameter([1.0]))


def rates(schedule, steps):
    found = []
    for _ in range(steps):
        found += schedule.get_last_lr()
        schedule.step()
    return found


def test_schedules():
    def make():
        return optim.SGD([nn.Parameter([1.0])], lr=0.8)

    np.testing.assert_allclose(rates(optim.StepLR(make(), 2, 0.5), 6), [0.8, 0.8, 0.4, 0.4, 0.2, 0.2])
    cosine = [0.8, 0.8 * (2 + 2**0.5) / 4, 0.4, 0.8 * (2 - 2**0.5) / 4, 0.0, 0.0]
    np.testing.assert_allclose(rates(optim.CosineAnnealingLR(make(), 4), 6), cosine, atol=1e-12)
    schedule = optim.StepLR(make(), 1, 0.5)
    rates(schedule, 2)
    other = optim.StepLR(make(), 1, 0.5)
    other.load_state_dict(schedule.state_dict())
    assert other.get_last_lr() == [0.2]
    with pytest.raises(ValueError, match="step_size"):
        optim.StepLR(make(), 0)
    with pytest.raises(ValueError, match="t_max"):
        optim.CosineAnnealingLR(make(), 0)
    with pytest.raises(TypeError, match="expected an Optimizer"):
        optim.StepLR([], 1)


OPTIONS = [(kind, options) for kind, _, options in CASES]


@pytest.mark.parametrize(("kind", "options"), OPTIONS)
@pytest.mark.parametrize("size", [0, 1, 7, 33, 100_003])
def test_kernels_and_operators_give_the_same_bits(kind, options, size):
    """A transposed gradient goes through operators, a contiguous one through a kernel."""
    rng = np.random.default_rng(1)
    start = rng.normal(size=(size, 2)).astype("float32")
    one, two = nn.Parameter(start), nn.Parameter(start)
    optimizers = kind([one], **options), kind([two], **options)
    for _ in range(3):
        gradient = rng.normal(size=(size, 2)).astype("float32")
        one.grad = lm.asarray(gradient)
        two.grad = lm.asarray(np.ascontiguousarray(gradient.T)).T
        assert size < 2 or two.grad.strides != one.grad.strides
        for optimizer in optimizers:
            optimizer.step()
    np.testing.assert_array_equal(one.detach().numpy(), two.detach().numpy())


@pytest.mark.parametrize(("kind", "options"), OPTIONS)
def test_several_tensors_of_several_dtypes(kind, options):
    shapes_and_dtypes = [((300, 300), "float32"), ((), "float64"), ((0,), "float32"), ((5,), "bfloat16")]
    rng = np.random.default_rng(2)
    together = [nn.Parameter(lm.asarray(rng.normal(size=s)).astype(d)) for s, d in shapes_and_dtypes]
    alone = [nn.Parameter(p.detach().clone()) for p in together]
    optimizer = kind(together, **options)
    optimizers = [kind([p], **options) for p in alone]
    for step in range(3):
        for one, two in zip(together, alone, strict=True):
            if step != 1 or one.ndim == 2:  # some rest in the second step, and are a step behind from then on
                one.grad = lm.asarray(rng.normal(size=one.shape)).astype(one.dtype)
                two.grad = one.grad.clone()
            else:
                one.grad = two.grad = None
        for each in (optimizer, *optimizers):
            each.step()
    for one, two in zip(together, alone, strict=True):
        assert one.dtype == two.dtype and (one.astype("float64") == two.astype("float64")).all()


def test_a_step_counts_as_a_write():
    x = nn.Parameter([1.0, 2.0])
    y = (x * x).sum()
    x.grad = lm.ones((2,))
    optim.SGD([x], lr=0.1).step()
    with pytest.raises(RuntimeError, match="sgd_step"):
        y.backward()


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_a_step_that_fails_changes_nothing(kind):
    a = nn.Parameter([1.0, 2.0])
    b = lm.broadcast_to(lm.asarray([3.0]), (2,))
    b.stop_gradient = False
    optimizer = kind([a, b], lr=0.1)
    a.grad, b.grad = lm.ones((2,)), lm.ones((2,))
    with pytest.raises(RuntimeError, match="_step"):
        optimizer.step()
    assert a.tolist() == [1.0, 2.0] and b.tolist() == [3.0, 3.0]
    b.grad = None
    optimizer.step()
    assert a.tolist() != [1.0, 2.0]
    fresh = kind([nn.Parameter([1.0, 2.0])], lr=0.1)
    fresh.param_groups[0]["params"][0].grad = lm.ones((2,))
    fresh.step()
    assert a.tolist() == fresh.param_groups[0]["params"][0].tolist()


def test_a_hand_written_optimizer_moves_tensors_one_by_one():
    class Signs(optim.Optimizer):
        def update(self, parameter, gradient, state, group):
            state["steps"] = state.get("steps", 0) + 1
            parameter.sub_(lm.sign(gradient) * group["lr"])

    x = nn.Parameter([1.0, 2.0])
    optimizer = Signs([x], {"lr": 0.5})
    x.grad = lm.asarray([3.0, -4.0])
    optimizer.step()
    assert x.tolist() == [0.5, 2.5] and optimizer.state_dict()["state"][0] == {"steps": 1}
