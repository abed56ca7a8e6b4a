"""Averaged models against averages taken in numpy."""

import copy
import pickle

import numpy as np
import pytest

import lamella as lm
from lamella import nn
from lamella.optim.swa_utils import AveragedModel, update_bn


def network():
    lm.random.seed(4)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2).to("float64"))


def moved(model, rng):
    """Gives a model other weights and statistics."""
    with lm.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            noise = rng.normal(size=tensor.shape) if tensor.dtype.name.startswith("float") else 1
            tensor.add_(lm.asarray(noise).astype(tensor.dtype))


def weights(model):
    return [np.array(p.detach().numpy(), "float64") for p in model.parameters()]


RULES = {
    "mean": ({}, lambda a, p, n: a + (p - a) / (n + 1)),
    "decay": ({"decay": 0.9}, lambda a, p, n: 0.9 * a + 0.1 * p),
    "own": ({"avg_fn": lambda a, p, n: (a + p) / 2}, lambda a, p, n: (a + p) / 2),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("use_buffers", [False, True])
def test_averages(name, use_buffers, rng):
    options, rule = RULES[name]
    model = network()
    average = AveragedModel(model, use_buffers=use_buffers, **options)
    expected, mean = None, None
    for count in range(6):
        moved(model, rng)
        current = weights(model)
        expected = current if count == 0 else [rule(a, p, count) for a, p in zip(expected, current, strict=True)]
        statistic = model[1].running_mean.numpy().copy()
        mean = statistic if count == 0 else rule(mean, statistic, count)
        average.update_parameters(model)
        for found, wanted in zip(weights(average.module), expected, strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-6)
        assert int(average.n_averaged) == count + 1
        wanted = mean if use_buffers else statistic
        np.testing.assert_allclose(average.module[1].running_mean.numpy(), wanted, atol=1e-6)
        assert average.module[1].num_batches_tracked.item() == model[1].num_batches_tracked.item()


def test_the_mean_is_that_of_all_updates(rng):
    model, taken = nn.Linear(3, 2).to("float64"), []
    average = AveragedModel(model)
    for _ in range(7):
        moved(model, rng)
        taken.append(weights(model))
        average.update_parameters(model)
    for found, all_of_one in zip(weights(average), zip(*taken, strict=True), strict=True):
        np.testing.assert_allclose(found, np.mean(all_of_one, axis=0), 1e-12)


TAKE = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "state": lambda x: loaded(x.state_dict()),
}


def loaded(state):
    made = AveragedModel(network(), decay=0.5)
    made.load_state_dict(state)
    return made


@pytest.mark.parametrize("take", TAKE)
@pytest.mark.parametrize("before", [0, 1, 3])
def test_copies_go_on_as_the_original(take, before, rng):
    model = network()
    average = AveragedModel(model, decay=0.5)
    for _ in range(before):
        moved(model, rng)
        average.update_parameters(model)
    other = TAKE[take](average)
    for _ in range(3):
        moved(model, rng)
        average.update_parameters(model)
        other.update_parameters(model)
    for a, b in zip(weights(average), weights(other), strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_average_is_called_as_the_model_and_is_apart_from_it(rng):
    model = network().eval()
    average = AveragedModel(model)
    x = lm.asarray(rng.normal(size=(5, 3)).astype("float32"))
    first = model[:3](x).tolist() if hasattr(model, "__getitem__") else None
    with lm.no_grad():
        model[0].weight.add_(1.0)
    assert average.module[:3](x).tolist() == first
    assert set(average.state_dict()) == {"n_averaged", *(f"module.{name}" for name in model.state_dict())}


def test_batch_statistics_are_taken_anew(rng):
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)).eval()
    model[2].train()
    batches = [lm.asarray(rng.normal(size=(8, 3)).astype("float32")) for _ in range(5)]
    for loader in (batches, [(batch, "target") for batch in batches], iter(batches)):
        model[1].running_mean.fill_(9.0)
        update_bn(loader, model, "cpu")
        hidden = [model[0](batch).detach().numpy() for batch in batches]
        np.testing.assert_allclose(model[1].running_mean.numpy(), np.mean(hidden, axis=(0, 1)), atol=1e-5)
        variance = np.mean([h.var(axis=0, ddof=1) for h in hidden], axis=0)
        np.testing.assert_allclose(model[1].running_var.numpy(), variance, rtol=1e-4)
        assert model[1].momentum == 0.1 and not model[1].training and model[2].training and not model.training


def test_a_loader_that_fails_leaves_the_mode(rng):
    model = nn.Sequential(nn.BatchNorm1d(4)).eval()
    with pytest.raises(ValueError, match="axes"):
        update_bn([lm.ones([2, 3, 4, 5])], model)
    assert model[0].momentum == 0.1 and not model[0].training


def test_a_model_without_batch_statistics_is_left_alone():
    update_bn(None, nn.Linear(2, 2))


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: AveragedModel(3), TypeError, r"\[AveragedModel\] expected a Module, not int"),
        (lambda: AveragedModel(nn.Linear(2, 2), decay=1.5), ValueError, "decay is at most 1"),
        (lambda: AveragedModel(nn.Linear(2, 2), decay=-0.5), ValueError, "decay is in"),
        (lambda: AveragedModel(nn.Linear(2, 2), decay=0.5, avg_fn=max), ValueError, "not both"),
        (
            lambda: AveragedModel(nn.Linear(2, 2)).update_parameters(nn.Linear(2, 3)),
            ValueError,
            "the parameters of the model differ",
        ),
        (
            lambda: AveragedModel(nn.BatchNorm1d(2)).update_parameters(nn.LayerNorm(2)),
            ValueError,
            "the buffers of the model differ",
        ),
    ],
)
def test_errors(make, kind, message):
    with pytest.raises(kind, match=message):
        make()
