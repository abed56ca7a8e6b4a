"""Optimizers against their formulas written in numpy."""

from pathlib import Path

import numpy as np
import optimizer_formulas as formulas
import pytest

import lamella as lm
from lamella import nn, optim
from lamella.optim import elementwise

STEPS = 25


#: Options to try of each optimizer, beside its defaults.
OPTIONS = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True},
        {"lr": 0.1, "momentum": 0.5, "maximize": True, "weight_decay": 0.1},
    ],
    "Adam": [
        {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1},
        {"lr": 0.05, "amsgrad": True},
        {"lr": 0.05, "decoupled": True, "weight_decay": 0.1, "maximize": True},
    ],
    "AdamW": [{"lr": 0.05, "amsgrad": True}, {"lr": 0.05, "weight_decay": 0.3, "maximize": True}],
    "Adamax": [{"lr": 0.05, "betas": (0.5, 0.8), "weight_decay": 0.1}, {"eps": 0.1, "maximize": True}],
    "NAdam": [
        {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 0.1},
        {"lr": 0.05, "betas": (0.5, 0.8), "weight_decay": 0.1, "decoupled": True, "maximize": True},
    ],
    "RAdam": [
        {"lr": 0.05, "betas": (0.8, 0.9), "weight_decay": 0.1},
        {"lr": 0.05, "weight_decay": 0.1, "decoupled": True, "maximize": True},
    ],
    "Adagrad": [
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1},
        {"initial_accumulator_value": 0.5, "maximize": True},
    ],
    "Adadelta": [{"lr": 0.5, "rho": 0.5, "eps": 1e-3, "weight_decay": 0.1}, {"maximize": True}],
    "RMSprop": [
        {"lr": 0.05, "alpha": 0.8, "weight_decay": 0.1},
        {"momentum": 0.9, "maximize": True},
        {"centered": True, "eps": 1e-2},
        {"centered": True, "eps": 1e-2, "momentum": 0.5},
    ],
    "Rprop": [{"lr": 0.1, "etas": (0.3, 1.5)}, {"step_sizes": (0.005, 0.02), "maximize": True}],
    "ASGD": [{"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "weight_decay": 0.1}, {"t0": 3, "maximize": True}],
    "Lion": [{"lr": 0.01, "betas": (0.5, 0.8), "weight_decay": 0.1}, {"maximize": True}],
    "LAMB": [{"lr": 0.05, "betas": (0.5, 0.8), "weight_decay": 0.0}, {"weight_decay": 0.2, "maximize": True}],
    "LARS": [
        {"lr": 1.0, "momentum": 0.0, "weight_decay": 0.1, "trust_coefficient": 0.1},
        {"nesterov": True, "weight_decay": 0.1, "maximize": True},
        {"dampening": 0.5, "eps": 1.0},
    ],
    "Adafactor": [
        {"lr": 0.1, "weight_decay": 0.1, "d": 0.5},
        {"beta2_decay": -0.5, "eps": (1e-2, 1.0), "maximize": True},
    ],
    "Muon": [
        {"lr": 0.1, "nesterov": False, "ns_steps": 3},
        {"adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.0, "momentum": 0.5, "maximize": True},
    ],
}
CASES = [
    (getattr(optim, name), getattr(formulas, name.lower()), options)
    for name, listed in OPTIONS.items()
    for options in [{}, *listed]
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
    if formula is formulas.adafactor:
        options = {**options, "dtype": dtype}
    expected = formula(start.astype("float64"), gradients, **options)
    narrow = dtype == "float32"
    np.testing.assert_allclose(
        parameter.detach().numpy(), expected, rtol=5e-5 if narrow else 1e-12, atol=2e-6 if narrow else 1e-13
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


@pytest.mark.parametrize(("name", "options"), [(n, o) for n, os in OPTIONS.items() for o in [{}, *os]], ids=str)
def test_every_optimizer_goes_downhill(name, options):
    """From the middle of a slope, each step of any optimizer goes down, or up where it maximizes."""
    rng = np.random.default_rng(3)
    x = nn.Parameter(rng.normal(size=(4, 3)))
    optimizer = getattr(optim, name)([x], **{**options, "weight_decay": 0.0} if "weight_decay" in options else options)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (x * x).sum() * 0.1
        loss.backward()
        optimizer.step()
        losses.append(loss.item() * (-1 if options.get("maximize") else 1))
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]


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


#: Options that each optimizer refuses, with what the error says.
BAD = [
    *[(name, {"lr": -1.0}, r"lr is in [\[(]0, inf\), not -1") for name in [*OPTIONS, "LBFGS"]],
    *[
        (name, {"weight_decay": -0.1}, "weight_decay is in")
        for name, kind in vars(optim).items()
        if name in OPTIONS and name != "Rprop"
    ],
    *[(name, {"betas": (0.9, 1.0)}, r"betas\[1\] is in") for name in ("Adamax", "NAdam", "RAdam", "Lion", "LAMB")],
    *[(name, {"eps": -1.0}, "eps is in") for name in ("Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop")],
    ("NAdam", {"momentum_decay": -1.0}, "momentum_decay is in"),
    ("Adagrad", {"lr_decay": -1.0}, "lr_decay is in"),
    ("Adagrad", {"initial_accumulator_value": float("nan")}, "initial_accumulator_value is in"),
    ("Adadelta", {"rho": 1.5}, "rho is in"),
    ("RMSprop", {"alpha": -0.5}, "alpha is in"),
    ("RMSprop", {"momentum": -0.5}, "momentum is in"),
    ("Rprop", {"etas": (1.5, 1.2)}, "etas are below and above 1"),
    ("Rprop", {"step_sizes": (1.0, 0.1)}, "the smallest and the largest"),
    ("ASGD", {"t0": -1.0}, "t0 is in"),
    ("ASGD", {"lambd": -1.0}, "lambd is in"),
    ("LARS", {"nesterov": True, "momentum": 0.0}, "nesterov needs"),
    ("LARS", {"trust_coefficient": -1.0}, "trust_coefficient is in"),
    ("Adafactor", {"beta2_decay": 0.1}, "beta2_decay is at most 0"),
    ("Adafactor", {"d": 0.0}, "d is in"),
    ("Adafactor", {"eps": (None, -1.0)}, r"eps\[1\] is in"),
    ("Muon", {"momentum": 1.0}, "momentum is in"),
    ("Muon", {"ns_steps": 0}, "ns_steps is from 1 to 99"),
    ("Muon", {"adjust_lr_fn": "more"}, "adjust_lr_fn is None, 'original' or"),
    ("LBFGS", {"max_iter": 0}, "max_iter is at least 1"),
    ("LBFGS", {"history_size": 0}, "history_size is at least 1"),
    ("LBFGS", {"line_search_fn": "armijo"}, "line_search_fn is None or"),
    ("LBFGS", {"tolerance_grad": -1.0}, "tolerance_grad is in"),
]
WRONG_TYPES = [
    *[(name, {"lr": "fast"}, "lr is a number, not str") for name in [*OPTIONS, "LBFGS"]],
    *[(name, {"betas": 0.9}, "betas are two numbers") for name in ("Adamax", "NAdam", "RAdam", "Lion", "LAMB")],
    ("Rprop", {"etas": 0.5}, "etas are two numbers"),
    ("Adafactor", {"eps": 0.5}, "eps are a number or None"),
    ("Muon", {"ns_coefficients": (1.0, 2.0)}, "three numbers"),
    ("Muon", {"ns_steps": 2.5}, "ns_steps is an int"),
    ("LBFGS", {"max_eval": 2.5}, "max_eval is an int"),
]


@pytest.mark.parametrize(
    ("name", "options", "message", "error"),
    [(*case, ValueError) for case in BAD] + [(*case, TypeError) for case in WRONG_TYPES],
    ids=str,
)
def test_bad_options(name, options, message, error):
    p = nn.Parameter(np.ones((2, 2)))
    with pytest.raises(error, match=rf"^\[{name}\] .*{message}"):
        getattr(optim, name)([p], **options)
    optimizer = getattr(optim, name)([p])
    state = optimizer.state_dict()
    state["param_groups"][0].update(options)
    with pytest.raises(error, match=message):
        optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["lr"] == optimizer.defaults["lr"]


@pytest.mark.parametrize("name", OPTIONS)
def test_options_may_change_between_steps(name):
    """An option that asks for more state than there is gets it, from zeros."""
    x = nn.Parameter(np.ones((3, 2)))
    optimizer = getattr(optim, name)([x])
    for step in range(4):
        if step == 2:
            changes = {"amsgrad": True, "momentum": 0.5, "centered": True, "nesterov": True, "weight_decay": 0.1}
            group = optimizer.param_groups[0]
            group.update({option: value for option, value in changes.items() if option in group})
        x.grad = lm.full([3, 2], step + 1.0, dtype="float64")
        optimizer.step()
    assert np.isfinite(x.detach().numpy()).all()


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_dtypes_follow_wide_ones(name, dtype):
    rng = np.random.default_rng(5)
    start = lm.asarray(rng.normal(size=(4, 3))).astype(dtype)
    narrow, wide = nn.Parameter(start), nn.Parameter(start.astype("float64"))
    # An eps of 1e-8 is 0 in float16, and a square of 1e-3 nearly so: gradients are near 1.
    first, second = getattr(optim, name)([narrow]), getattr(optim, name)([wide])
    for _ in range(3):
        gradient = lm.asarray(1 + rng.random((4, 3))).astype(dtype)
        narrow.grad, wide.grad = gradient, gradient.astype("float64")
        first.step()
        second.step()
    found = narrow.detach().astype("float64").numpy()
    np.testing.assert_allclose(found, wide.detach().numpy(), atol=0.04)
    assert narrow.dtype.name == dtype


def test_zero_grad_drops_or_clears():
    x, y = nn.Parameter([1.0]), nn.Parameter([1.0])
    optimizer = optim.SGD([x, y])
    x.grad = lm.ones([1])
    gradient = x.grad
    optimizer.zero_grad(set_to_none=False)
    assert x.grad is gradient and x.grad.tolist() == [0.0] and y.grad is None
    optimizer.zero_grad(set_to_none=True)
    assert x.grad is None


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda p: optim.SGD([], lr=0.1), ValueError, "no parameters"),
        (lambda p: optim.SGD(p, lr=0.1), TypeError, "not one Parameter"),
        (
            lambda p: optim.SGD(lm.nn.Linear(2, 2)),
            TypeError,
            r"\[SGD\] params are tensors, not a module: give its parameters\(\)",
        ),
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


MADE = [(kind, options) for kind, _, options in CASES]
#: Those whose step is one kernel; norms of tensors, which others take, depend on the order of elements.
FUSED = [
    (kind, options)
    for kind, options in MADE
    if issubclass(kind, elementwise.Elementwise) and kind not in (optim.LAMB, optim.LARS)
]


@pytest.mark.parametrize(("kind", "options"), FUSED)
@pytest.mark.parametrize("size", [0, 1, 7, 33, 40_009])
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


@pytest.mark.parametrize(("kind", "options"), MADE)
def test_several_tensors_of_several_dtypes(kind, options):
    shapes_and_dtypes = [((300, 300), "float32"), ((), "float64"), ((0,), "float32"), ((5,), "bfloat16")]
    if kind is optim.Muon:
        shapes_and_dtypes = [((30, 40), "float32"), ((4, 4), "float64"), ((0, 3), "float32"), ((5, 2), "bfloat16")]
    rng = np.random.default_rng(2)
    together = [nn.Parameter(lm.asarray(rng.normal(size=s)).astype(d)) for s, d in shapes_and_dtypes]
    alone = [nn.Parameter(p.detach().clone()) for p in together]
    optimizer = kind(together, **options)
    optimizers = [kind([p], **options) for p in alone]
    for step in range(3):
        for one, two in zip(together, alone, strict=True):
            if step != 1 or one.size > 100:  # some rest in the second step, and are a step behind from then on
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


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in FUSED}, key=lambda kind: kind.__name__))
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


def test_the_page_names_everything():
    page = (Path(__file__).parents[3] / "docs" / "optimizers.md").read_text("utf-8")
    listed = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    missing = [name for name in optim.__all__ if not any(f"{name}`" in cell for cell in listed)]
    assert missing == ["Optimizer", "LRScheduler", "swa_utils"]


@pytest.mark.parametrize(("kind", "options"), FUSED)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_parts_of_complex_numbers_move_each_by_itself(kind, options, dtype):
    rng = np.random.default_rng(6)
    start = lm.asarray(rng.normal(size=(5, 3, 2)).astype("float32" if dtype == "complex64" else "float64"))
    whole, parts = nn.Parameter(lm.view_as_complex(start)), nn.Parameter(start.clone())
    assert whole.dtype.name == dtype
    optimizers = kind([whole], **options), kind([parts], **options)
    for step in range(3):
        gradient = lm.asarray(rng.normal(size=(5, 3, 2))).astype(start.dtype)
        whole.grad, parts.grad = lm.view_as_complex(gradient), gradient
        if step == 1:
            whole.grad = lm.view_as_complex(lm.asarray(np.ascontiguousarray(gradient.numpy().swapaxes(0, 1)))).mT
        for optimizer in optimizers:
            optimizer.step()
    assert lm.view_as_real(whole.detach()).tolist() == parts.tolist()


def test_averages_of_asgd_are_in_the_state():
    x = nn.Parameter(np.zeros(2))
    optimizer = optim.ASGD([x], lr=0.5, lambd=0.0, t0=2)
    places = []
    for step in range(6):
        x.grad = lm.asarray([1.0 + step, -1.0], dtype="float64")
        optimizer.step()
        places.append(x.tolist())
    # The average begins with the fourth place: those before it are not counted.
    np.testing.assert_allclose(optimizer.state[id(x)]["ax"].tolist(), np.mean(places[3:], axis=0))


@pytest.mark.parametrize(
    ("formula", "gradients", "states", "numbers", "message"),
    [
        ("nosuch_step", [lm.ones([2])], [], [], "no formula of the name nosuch_step"),
        ("lion_step", [lm.ones([2])], [[lm.ones([2])]], [0.1], r"\[lion_step\] takes 5 numbers, got 1"),
        ("lion_step", [], [[lm.ones([2])]], [0.1] * 5, "expected 1 tensors, one for each parameter, got 0"),
        ("lion_step", [lm.ones([2])], [], [0.1] * 5, "expected 1 lists, got 0"),
        ("lion_step", [lm.ones([2])], [[lm.ones([3])]], [0.1] * 5, "the optimizer's state must have the parameter's"),
        ("lion_step", [lm.ones([3])], [[lm.ones([2])]], [0.1] * 5, "the gradient must have the parameter's shape"),
    ],
)
def test_formulas_check_what_they_are_given(formula, gradients, states, numbers, message):
    x = lm.zeros([2])
    with pytest.raises(ValueError, match=message):
        lm._C._optimizer_step(lm._C._optimizer_formula(formula), [x], gradients, states, numbers, 0.0, 1.0, False)
    assert x.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("number", [-1, 1000])
def test_a_number_that_is_no_formula(number):
    with pytest.raises(ValueError, match="no formula of the number"):
        lm._C._optimizer_step(number, [], [], [], [], 0.0, 1.0, False)
