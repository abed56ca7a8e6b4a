"""minimize() in a program makes the steps that the same optimizer makes eagerly, for every optimizer there is."""

import numpy as np
import pytest

import lamella as lm
from lamella import optim, static

STEPS = 7
#: Options to try of each optimizer, beside its defaults; one that is not here is tried with its defaults.
OPTIONS = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
        {"lr": 0.1, "momentum": 0.5, "dampening": 0.1, "maximize": True},
    ],
    "Adam": [{"lr": 0.05}, {"lr": 0.05, "betas": (0.8, 0.9), "weight_decay": 0.1, "amsgrad": True}],
    "AdamW": [{"lr": 0.05}, {"lr": 0.05, "weight_decay": 0.3, "maximize": True}],
}
OPTIMIZERS = sorted(
    name
    for name in optim.__all__
    if isinstance(getattr(optim, name), type)
    and issubclass(getattr(optim, name), optim.Optimizer)
    # L-BFGS needs a closure, and Muon moves no vectors.
    and name not in ("Optimizer", "LBFGS", "Muon")
)
CASES = [(name, options) for name in OPTIMIZERS for options in [{}, *OPTIONS.get(name, [])]]

SCHEDULES = {
    "none": lambda optimizer: None,
    "step": lambda optimizer: optim.StepLR(optimizer, 2, 0.5),
    "cosine": lambda optimizer: optim.CosineAnnealingLR(optimizer, 5, 0.001),
}


def network(x, w, b, v):
    return lm.mean(lm.square(lm.tanh(x @ w + b) @ v - 1))


def start(rng, dtype="float64"):
    return [rng.normal(size=shape).astype(dtype) for shape in ((4, 3), (3,), (3, 1))]


@static.program.paused()
def eagerly(name, options, schedule, values, batches, steps=STEPS):
    parameters = [lm.tensor(value, stop_gradient=False) for value in values]
    optimizer = getattr(optim, name)(parameters, **options)
    scheduler = SCHEDULES[schedule](optimizer)
    losses = []
    for x in batches[:steps]:
        loss = network(lm.tensor(x), *parameters)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if scheduler is not None:
            scheduler.step()
        losses.append(loss.item())
    return losses, [p.detach().numpy() for p in parameters]


class Trained:
    """The network in the program of a bench, with an optimizer."""

    def __init__(self, bench, name, options, schedule="none"):
        x = static.data("x", [-1, 4], "float64")
        self.parameters = [
            static.create_parameter(shape, "float64", name=name)
            for name, shape in (("w", [4, 3]), ("b", [3]), ("v", [3, 1]))
        ]
        self.loss = network(x, *self.parameters)
        self.optimizer = getattr(optim, name)(self.parameters, **options)
        self.scheduler = SCHEDULES[schedule](self.optimizer)
        self.optimizer.minimize(self.loss)
        self.bench = bench

    def set(self, values, scope=None):
        for name, value in zip(("w", "b", "v"), values, strict=True):
            (scope or self.bench.scope).find_var(name).get_tensor().set(value)

    def train(self, batches, scope=None):
        losses = []
        for x in batches:
            losses.append(float(self.bench.run({"x": x}, [self.loss], scope=scope)[0]))
            if self.scheduler is not None:
                self.scheduler.step()
        return losses

    def values(self, scope=None):
        return [(scope or self.bench.scope).find_var(name).get_tensor().numpy() for name in ("w", "b", "v")]


@pytest.fixture
def batches(rng):
    return [rng.normal(size=(5, 4)) for _ in range(2 * STEPS)]


def assert_same(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, 1e-12)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_steps_equal_the_eager_ones(bench, rng, batches, name, options, schedule):
    values = start(rng)
    trained = Trained(bench, name, options, schedule)
    bench.start()
    trained.set(values)
    losses = trained.train(batches[:STEPS])
    expected, parameters = eagerly(name, options, schedule, values, batches)
    np.testing.assert_allclose(losses, expected, 1e-12)
    assert_same(trained.values(), parameters)


def test_every_optimizer_is_there():
    assert {"SGD", "Adam", "AdamW"} <= set(OPTIMIZERS)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_start_up_program_forgets_what_the_optimizer_remembers(bench, rng, batches, name):
    values = start(rng)
    trained = Trained(bench, name, {"lr": 0.1})
    rounds = []
    for _ in range(2):
        bench.start()
        trained.set(values)
        rounds.append((trained.train(batches[:STEPS]), trained.values()))
    assert rounds[0][0] == rounds[1][0]
    assert_same(rounds[0][1], rounds[1][1])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_each_scope_has_its_own_state(bench, rng, batches, name):
    trained = Trained(bench, name, {"lr": 0.1})
    scopes, starts, losses = [static.Scope(), static.Scope()], [start(rng), start(rng)], [[], []]
    for scope, values in zip(scopes, starts, strict=True):
        bench.run(program=bench.startup, scope=scope)
        trained.set(values, scope)
    for x in batches[:STEPS]:
        for scope, found in zip(scopes, losses, strict=True):
            found += trained.train([x], scope)
    for scope, values, found in zip(scopes, starts, losses, strict=True):
        expected, parameters = eagerly(name, {"lr": 0.1}, "none", values, batches)
        np.testing.assert_allclose(found, expected, 1e-12)
        assert_same(trained.values(scope), parameters)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_saved_states_go_on(bench, rng, batches, name, tmp_path):
    values = start(rng)
    trained = Trained(bench, name, {"lr": 0.1})
    bench.start()
    trained.set(values)
    trained.train(batches[:STEPS])
    static.save(bench.main, str(tmp_path / "model"))
    losses = trained.train(batches[STEPS:])
    after = trained.values()
    bench.start()
    static.load(bench.main, str(tmp_path / "model"), bench.executor)
    assert trained.train(batches[STEPS:]) == losses
    assert_same(trained.values(), after)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_state_may_be_loaded_before_the_first_run(bench, rng, batches, name):
    values = start(rng)
    with static.program.paused():
        parameters = [lm.tensor(value, stop_gradient=False) for value in values]
        eager = getattr(optim, name)(parameters, lr=0.1)
        for x in batches[:STEPS]:
            network(lm.tensor(x), *parameters).backward()
            eager.step()
            eager.zero_grad()
    middle = [p.detach().numpy().copy() for p in parameters]
    trained = Trained(bench, name, {"lr": 0.1})
    bench.start()
    trained.set(middle)
    trained.optimizer.load_state_dict(eager.state_dict())
    losses = trained.train(batches[STEPS:])
    with static.program.paused():
        for x, loss in zip(batches[STEPS:], losses, strict=True):
            expected = network(lm.tensor(x), *parameters)
            expected.backward()
            eager.step()
            eager.zero_grad()
            np.testing.assert_allclose(loss, expected.item(), 1e-12)
    assert_same(trained.values(), [p.detach().numpy() for p in parameters])


def test_two_losses_with_parameters_of_their_own(bench):
    x = static.data("x", [-1, 2])
    a, b = static.create_parameter([2, 1], name="a"), static.create_parameter([2, 1], name="b")
    first, second = lm.mean(lm.square(x @ a)), lm.mean(lm.square(x @ b - 1))
    optim.SGD([a], 0.1).minimize(first)
    optim.Adam([b], 0.1).minimize(second)
    bench.start()
    feed = {"x": np.array([[1, 2], [3, -1]], "float32")}
    losses = [bench.run(feed, [first, second]) for _ in range(40)]
    assert losses[-1][0] < 0.1 * losses[0][0] and losses[-1][1] < 0.1 * losses[0][1]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_two_losses_with_the_same_parameters(bench, rng, batches, name):
    """Both gradients are taken before the first step: a parameter is needed for the second with its old value."""
    x = static.data("x", [-1, 4], "float64")
    parameters = [static.create_parameter(s, "float64", name=n) for n, s in (("w", [4, 3]), ("v", [3, 1]))]

    def losses(x, w, v):
        y = lm.tanh(x @ w) @ v
        return lm.mean(y), lm.mean(lm.square(y - 1))

    built = losses(x, *parameters)
    for loss in built:
        getattr(optim, name)(parameters, lr=0.1).minimize(loss)
    bench.start()
    values = [rng.normal(size=tuple(p.shape)) for p in parameters]
    for p, value in zip(parameters, values, strict=True):
        bench.scope.find_var(p.name).get_tensor().set(value)
    found = [bench.run({"x": x}, built) for x in batches[:STEPS]]
    with static.program.paused():
        tensors = [lm.tensor(value, stop_gradient=False) for value in values]
        optimizers = [getattr(optim, name)(tensors, lr=0.1) for _ in built]
        for x, results in zip(batches, found, strict=False):
            eager = losses(lm.tensor(x), *tensors)
            np.testing.assert_allclose(results, [loss.item() for loss in eager], 1e-10)
            grads = [lm.grad(loss, tensors, retain_graph=True) for loss in eager]
            for optimizer, slopes in zip(optimizers, grads, strict=True):
                for tensor, slope in zip(tensors, slopes, strict=True):
                    tensor.grad = slope
                optimizer.step()
    for p, tensor in zip(parameters, tensors, strict=True):
        np.testing.assert_allclose(bench.array(p.name), tensor.detach().numpy(), 1e-10)


@pytest.mark.parametrize("size", [3, 1000])
def test_what_stands_before_and_after_an_update(bench, size):
    w = static.create_parameter([size], name="w", attr=lm.nn.init.ones_)
    before = w * 2 + 1
    loss = lm.sum(w * w)
    optim.SGD([w], lr=0.25).minimize(loss)
    after, both = w * 2 + 1, (w + before) * 1
    bench.start()
    found = bench.run(fetch_list=[before, after, both, w, loss])
    assert [value.ravel()[0] for value in found] == [3, 2, 3.5, 0.5, size]


def test_modules_are_trained_as_eagerly(bench, rng):
    with static.program.paused():
        models = [lm.nn.Sequential(lm.nn.Linear(4, 5), lm.nn.Tanh(), lm.nn.Linear(5, 1)) for _ in range(2)]
        models[1].load_state_dict(models[0].state_dict())
        optimizers = [lm.optim.Adam(model.parameters(), 0.05) for model in models]
    x = static.data("x", [-1, 4])
    loss = lm.mean(lm.square(models[0](x) - 1))
    _, pairs = optimizers[0].minimize(loss)
    assert len(pairs) == 4
    for _ in range(STEPS):
        batch = rng.normal(size=(6, 4)).astype("float32")
        (found,) = bench.run({"x": batch}, [loss])
        with static.program.paused():
            eager = lm.mean(lm.square(models[1](lm.tensor(batch)) - 1))
            eager.backward()
            optimizers[1].step()
            optimizers[1].zero_grad()
        np.testing.assert_allclose(found, eager.item(), 1e-5)
    for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 1e-4, 1e-6)
        assert a.grad is None


def test_groups_keep_their_options(bench, rng):
    x = static.data("x", [-1, 4])
    w, v = static.create_parameter([4, 1], name="w"), static.create_parameter([4, 1], name="v")
    loss = lm.mean(x @ w) + lm.mean(x @ v)
    optimizer = optim.SGD([{"params": [w], "lr": 1.0}, {"params": [v]}], lr=0.5)
    optimizer.minimize(loss)
    bench.start()
    before = {name: bench.array(name) for name in "wv"}
    bench.run({"x": np.ones((2, 4), "float32")})
    np.testing.assert_allclose(before["w"] - bench.array("w"), 1.0, 1e-5)
    np.testing.assert_allclose(before["v"] - bench.array("v"), 0.5, 1e-5)


def test_what_is_not_trained_stays(bench):
    x = static.data("x", [-1, 2])
    w, frozen, other = (static.create_parameter([2, 1], name=name) for name in ("w", "frozen", "other"))
    frozen.stop_gradient = True
    bystander = static.create_parameter([2, 1], name="bystander")
    loss = lm.mean(x @ w + x @ frozen + x @ other)
    optimizer = optim.SGD([w, frozen, other, bystander], lr=1.0)
    _, pairs = optimizer.minimize(loss, no_grad_set={"other"})
    assert [(p.name, g.name) for p, g in pairs] == [("w", "w@GRAD")]
    bench.start()
    before = {name: bench.array(name) for name in ("w", "frozen", "other", "bystander")}
    bench.run({"x": np.ones((3, 2), "float32")})
    changed = {name for name in before if (bench.array(name) != before[name]).any()}
    assert changed == {"w"}


def test_parameters_may_be_chosen(bench):
    x = static.data("x", [-1, 2])
    a, b = static.create_parameter([2, 1], name="a"), static.create_parameter([2, 1], name="b")
    loss = lm.mean(x @ a + x @ b)
    _, pairs = optim.SGD([a, b], lr=1.0).minimize(loss, parameters=["b"])
    assert [p.name for p, _ in pairs] == ["b"]


ERRORS = {
    "a tensor": (TypeError, ["backward()", "Tensor"], lambda o, x, w: o.minimize(lm.tensor(1.0))),
    "many elements": (ValueError, ["has shape [-1, 1]", "mean"], lambda o, x, w: o.minimize(x @ w)),
    "no parameter": (ValueError, ["depends on no parameter"], lambda o, x, w: o.minimize(lm.mean(x))),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(bench, case):
    kind, words, call = ERRORS[case]
    x, w = static.data("x", [-1, 2]), static.create_parameter([2, 1], name="w")
    with pytest.raises(kind) as caught:
        call(optim.SGD([w], lr=0.1), x, w)
    assert not [word for word in words if word not in str(caught.value)], caught.value
