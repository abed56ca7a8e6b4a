"""Schedules against their formulas, and what their states and copies do next."""

import copy
import math
import pickle

import numpy as np
import pytest

import lamella as lm
from lamella import nn, optim
from lamella.optim import lr

EPOCHS = 30
FIRST = [0.8, 0.1]


def made(kind=optim.SGD, **options):
    groups = [{"params": [nn.Parameter([1.0])], "lr": rate} for rate in FIRST]
    return kind(groups, **options)


def half_cosine(start, end, part):
    return end + (start - end) * (1 + math.cos(math.pi * part)) / 2


def factor(epoch):
    return 1 / (1 + epoch)


def restarts(base, epoch):
    spans = [range(3), range(3, 9), range(9, 21), range(21, 45)]
    span = next(span for span in spans if epoch in span)
    return half_cosine(base, 0.01, (epoch - span.start) / len(span))


def triangle(epoch, up, down):
    within = epoch % (up + down)
    return within / up if within <= up else 1 - (within - up) / down


def one_cycle(epoch, total, start, peak, last, pick=half_cosine, three=False):
    points = [0, 0.25 * total - 1, total - 1]
    rates = [start, peak, last]
    if three:
        points, rates = [0, 0.25 * total - 1, 2 * (0.25 * total - 1), total - 1], [start, peak, start, last]
    for k in range(len(points) - 1):
        if epoch <= points[k + 1]:
            return pick(rates[k], rates[k + 1], (epoch - points[k]) / (points[k + 1] - points[k]))
    return last


def straight(start, end, part):
    return start + (end - start) * part


#: By name: how a schedule is made, and its rate as a function of the first one and the epoch.
SCHEDULES = {
    "StepLR": (lambda o: lr.StepLR(o, 4, 0.5), lambda b, e: b * 0.5 ** (e // 4)),
    "MultiStepLR": (
        lambda o: lr.MultiStepLR(o, [9, 3, 9, 0], 0.5),
        lambda b, e: b * 0.5 * (0.5 if e >= 3 else 1) * (0.25 if e >= 9 else 1),
    ),
    "ExponentialLR": (lambda o: lr.ExponentialLR(o, 0.9), lambda b, e: b * 0.9**e),
    "NaturalExpLR": (lambda o: lr.NaturalExpLR(o, 0.2), lambda b, e: b * math.exp(-0.2 * e)),
    "InverseTimeLR": (lambda o: lr.InverseTimeLR(o, 0.2), lambda b, e: b / (1 + 0.2 * e)),
    "ConstantLR": (lambda o: lr.ConstantLR(o, 0.25, 7), lambda b, e: b * (0.25 if e < 7 else 1)),
    "LinearLR": (lambda o: lr.LinearLR(o, 0.2, 0.9, 10), lambda b, e: b * (0.2 + 0.07 * min(e, 10))),
    "PolynomialLR": (lambda o: lr.PolynomialLR(o, 12, 2.0), lambda b, e: b * (1 - min(e, 12) / 12) ** 2),
    "PolynomialLR cycles": (
        lambda o: lr.PolynomialLR(o, 8, 2.0, end_lr=0.05, cycle=True),
        lambda b, e: 0.05 + (b - 0.05) * (1 - e / (8 * max(math.ceil(e / 8), 1))) ** 2,
    ),
    "LambdaLR": (lambda o: lr.LambdaLR(o, factor), lambda b, e: b / (1 + e)),
    "MultiplicativeLR": (lambda o: lr.MultiplicativeLR(o, factor), lambda b, e: b / math.factorial(e + 1)),
    "CosineAnnealingLR": (
        lambda o: lr.CosineAnnealingLR(o, 20, 0.05),
        lambda b, e: half_cosine(b, 0.05, min(e / 20, 1)),
    ),
    "CosineAnnealingWarmRestarts": (lambda o: lr.CosineAnnealingWarmRestarts(o, 3, 2, 0.01), restarts),
    "CosineAnnealingWarmRestarts equal": (
        lambda o: lr.CosineAnnealingWarmRestarts(o, 7),
        lambda b, e: half_cosine(b, 0, e % 7 / 7),
    ),
    "CyclicLR": (
        lambda o: lr.CyclicLR(o, 0.1, 0.5, 4, 6),
        lambda b, e: 0.1 + 0.4 * triangle(e, 4, 6),
    ),
    "CyclicLR triangular2": (
        lambda o: lr.CyclicLR(o, 0.1, 0.5, 4, mode="triangular2"),
        lambda b, e: 0.1 + 0.4 * triangle(e, 4, 4) / 2 ** (e // 8),
    ),
    "CyclicLR exp_range": (
        lambda o: lr.CyclicLR(o, 0.1, 0.5, 4, mode="exp_range", gamma=0.9),
        lambda b, e: 0.1 + 0.4 * triangle(e, 4, 4) * 0.9**e,
    ),
    "CyclicLR scaled": (
        lambda o: lr.CyclicLR(o, 0.1, 0.5, 4, scale_fn=factor),
        lambda b, e: 0.1 + 0.4 * triangle(e, 4, 4) * factor(e // 8 + 1),
    ),
    "OneCycleLR": (
        lambda o: lr.OneCycleLR(o, 0.5, 24, pct_start=0.25, div_factor=5.0, final_div_factor=10.0),
        lambda b, e: one_cycle(e, 24, 0.1, 0.5, 0.01),
    ),
    "OneCycleLR linear": (
        lambda o: lr.OneCycleLR(o, 0.5, None, 4, 6, 0.25, "linear", div_factor=5.0, final_div_factor=10.0),
        lambda b, e: one_cycle(e, 24, 0.1, 0.5, 0.01, straight),
    ),
    "OneCycleLR three phases": (
        lambda o: lr.OneCycleLR(o, 0.5, 24, pct_start=0.25, div_factor=5.0, final_div_factor=10.0, three_phase=True),
        lambda b, e: one_cycle(e, 24, 0.1, 0.5, 0.01, three=True),
    ),
    "NoamLR": (
        lambda o: lr.NoamLR(o, 16, 6),
        lambda b, e: b / 4 * min((e + 1) ** -0.5, (e + 1) * 6**-1.5),
    ),
    "PiecewiseLR": (
        lambda o: lr.PiecewiseLR(o, [3, 8], [1.0, 0.5, 0.25]),
        lambda b, e: 1.0 if e < 3 else 0.5 if e < 8 else 0.25,
    ),
    "LinearWarmupLR": (lambda o: lr.LinearWarmupLR(o, 8), lambda b, e: b * min(e / 8, 1)),
    "LinearWarmupLR before": (
        lambda o: lr.LinearWarmupLR(o, 8, 0.05, 0.4, lr.ExponentialLR(o, 0.9)),
        lambda b, e: 0.05 + 0.35 * e / 8 if e < 8 else b * 0.9 ** (e - 8),
    ),
    "SequentialLR": (
        lambda o: lr.SequentialLR(o, [lr.LinearLR(o, 0.1, 1.0, 5), lr.ExponentialLR(o, 0.9)], [5]),
        lambda b, e: b * (0.1 + 0.18 * e) if e < 5 else b * 0.9 ** (e - 5),
    ),
    "SequentialLR of three": (
        lambda o: lr.SequentialLR(
            o, [lr.ConstantLR(o, 0.5, 99), lr.CosineAnnealingLR(o, 6), lr.StepLR(o, 2, 0.5)], [4, 10]
        ),
        lambda b, e: 0.5 * b if e < 4 else half_cosine(b, 0, (e - 4) / 6) if e < 10 else b * 0.5 ** ((e - 10) // 2),
    ),
    "ChainedScheduler": (
        lambda o: lr.ChainedScheduler([lr.ConstantLR(o, 0.5, 4), lr.ExponentialLR(o, 0.9), lr.StepLR(o, 3, 0.5)]),
        lambda b, e: b * (0.5 if e < 4 else 1) * 0.9**e * 0.5 ** (e // 3),
    ),
    "SWALR": (
        lambda o: optim.swa_utils.SWALR(o, 0.05, 6),
        lambda b, e: half_cosine(b, 0.05, min(e / 6, 1)),
    ),
    "SWALR linear": (
        lambda o: optim.swa_utils.SWALR(o, [0.05, 0.2], 6, "linear"),
        lambda b, e: straight(b, 0.05 if b == 0.8 else 0.2, min(e / 6, 1)),
    ),
}


def test_every_schedule_is_tried():
    names = {name.split()[0] for name in SCHEDULES}
    assert set(lr.__all__) - names == {"LRScheduler", "ReduceLROnPlateau"}
    assert set(lr.__all__) <= set(optim.__all__)


def rates(schedule, count):
    found = []
    for _ in range(count):
        found.append(schedule.get_last_lr())
        schedule.step()
    return found


@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_follow_the_formula(name):
    make, formula = SCHEDULES[name]
    optimizer = made()
    schedule = make(optimizer)
    found = rates(schedule, EPOCHS)
    assert [group["lr"] for group in optimizer.param_groups] == schedule.get_last_lr()
    expected = [[formula(base, epoch) for base in FIRST] for epoch in range(EPOCHS)]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


TAKE = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("before", [0, 1, 11])
def test_copies_and_states_go_on(name, before):
    make, _ = SCHEDULES[name]
    optimizer = made()
    schedule = make(optimizer)
    rates(schedule, before)
    others = [take(schedule) for take in TAKE.values()]
    # A schedule of an optimizer at its start, and one of an optimizer that took over the other's state.
    others.append(make(made()))
    others[-1].load_state_dict(copy.deepcopy(schedule.state_dict()))
    resumed = made()
    resumed.load_state_dict(optimizer.state_dict())
    others.append(make(resumed))
    others[-1].load_state_dict(schedule.state_dict())
    expected = rates(schedule, 12)
    for other in others:
        assert rates(other, 12) == expected
        assert other.optimizer is not optimizer


@pytest.mark.parametrize("kind", [optim.SGD, optim.AdamW])
def test_momentum_goes_the_other_way(kind):
    def momenta(schedule, count):
        found = []
        for _ in range(count):
            group = schedule.optimizer.param_groups[0]
            found.append(group["betas"][0] if "betas" in group else group["momentum"])
            schedule.step()
        return found

    cyclic = lr.CyclicLR(made(kind), 0.1, 0.5, 4, 6, base_momentum=0.5, max_momentum=0.9)
    np.testing.assert_allclose(momenta(cyclic, 20), [0.9 - 0.4 * triangle(e, 4, 6) for e in range(20)])
    cycle = lr.OneCycleLR(made(kind), 0.5, 24, pct_start=0.25, base_momentum=0.5, max_momentum=0.9)
    np.testing.assert_allclose(momenta(cycle, 30), [one_cycle(e, 24, 0.9, 0.5, 0.9) for e in range(30)])
    optimizer = made(kind)
    sequence = lr.SequentialLR(optimizer, [lr.CyclicLR(optimizer, 0.1, 0.5, 4), lr.StepLR(optimizer, 2)], [3])
    rates(sequence, 3)
    assert optimizer.param_groups[0]["lr"] == FIRST[0]
    still = made(kind)
    before = dict(still.param_groups[0])
    lr.CyclicLR(still, 0.1, 0.5, 4, cycle_momentum=False).step()
    assert {k: v for k, v in still.param_groups[0].items() if k not in ("lr", "initial_lr")} == {
        k: v for k, v in before.items() if k != "lr"
    }


def plateau(metrics, **options):
    optimizer = optim.SGD([nn.Parameter([1.0])], lr=1.0)
    schedule = lr.ReduceLROnPlateau(optimizer, factor=0.5, **options)
    found = []
    for metric in metrics:
        schedule.step(metric)
        found.append(schedule.get_last_lr()[0])
    return found


PLATEAUS = {
    "patience": ([1, 1, 1, 1, 1, 1], {"patience": 1}, [1, 1, 0.5, 0.5, 0.25, 0.25]),
    "improving": ([6, 5, 4, 3], {"patience": 0}, [1, 1, 1, 1]),
    "growing": ([1, 2, 3, 3, 3], {"patience": 0, "mode": "max"}, [1, 1, 1, 0.5, 0.25]),
    "relative": ([1, 0.95, 0.85], {"patience": 0, "threshold": 0.1}, [1, 0.5, 0.5]),
    "relative growing": ([1, 1.05, 1.2], {"patience": 0, "threshold": 0.1, "mode": "max"}, [1, 0.5, 0.5]),
    "absolute": ([1, 0.8, 0.4], {"patience": 0, "threshold": 0.5, "threshold_mode": "abs"}, [1, 0.5, 0.5]),
    "cooldown": ([1, 1, 1, 1, 1], {"patience": 0, "cooldown": 2}, [1, 0.5, 0.5, 0.5, 0.25]),
    "least": ([1, 1, 1, 1], {"patience": 0, "min_lr": 0.3}, [1, 0.5, 0.3, 0.3]),
    "eps": ([1, 1, 1, 1], {"patience": 0, "eps": 0.3}, [1, 0.5, 0.5, 0.5]),
    "not a number": ([1, math.nan, math.inf], {"patience": 0}, [1, 0.5, 0.25]),
    "below zero": ([-1, -2, -2], {"patience": 0}, [1, 1, 0.5]),
}


@pytest.mark.parametrize("name", PLATEAUS)
def test_plateaus(name):
    metrics, options, expected = PLATEAUS[name]
    np.testing.assert_allclose(plateau(metrics, **options), expected)


@pytest.mark.parametrize("before", [0, 1, 4])
def test_a_plateau_goes_on_where_it_was(before):
    def make():
        return lr.ReduceLROnPlateau(made(), factor=0.5, patience=1, cooldown=1)

    schedule = make()
    metrics = [5.0, 4.0, 4.0, 4.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]
    for metric in metrics[:before]:
        schedule.step(metric)
    others = [take(schedule) for take in TAKE.values()] + [make()]
    others[-1].load_state_dict(schedule.state_dict())
    expected = []
    for metric in metrics[before:]:
        schedule.step(metric)
        expected.append(schedule.get_last_lr())
    for other in others:
        found = []
        for metric in metrics[before:]:
            other.step(metric)
            found.append(other.get_last_lr())
        assert found == expected


def test_groups_that_come_later_are_scheduled():
    optimizer = made()
    schedule = lr.ExponentialLR(optimizer, 0.5)
    schedule.step()
    optimizer.add_param_group({"params": [nn.Parameter([2.0])], "lr": 1.0})
    schedule.step()
    assert schedule.get_last_lr() == [0.2, 0.025, 0.25]


def test_the_average_rate_begins_where_another_schedule_led():
    optimizer = made()
    schedule, average = lr.ExponentialLR(optimizer, 0.5), optim.swa_utils.SWALR(optimizer, 0.6, 2, "linear")
    schedule.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] == 0.2
    assert [round(r, 12) for r, _ in rates(average, 4)] == [0.2, 0.4, 0.6, 0.6]


def test_schedules_of_users():
    class Halves(lr.LRScheduler):
        def rate(self, base, epoch):
            return base / 2**epoch

    schedule = Halves(made())
    assert rates(schedule, 3) == [[0.8, 0.1], [0.4, 0.05], [0.2, 0.025]]
    with pytest.raises(NotImplementedError, match=r"\[LRScheduler\] the schedule defines no rate"):
        lr.LRScheduler(made()).step()


def test_a_rate_that_is_a_tensor_may_be_written_into():
    rate = lm.tensor(0.5)
    optimizer = optim.SGD([nn.Parameter([1.0])], lr=rate)
    schedule = lr.StepLR(optimizer, 2)
    rate.fill_(7.0)
    assert schedule.base_lrs == [0.5] and optimizer.param_groups[0]["initial_lr"] == 0.5


ERRORS = {
    "no optimizer": (TypeError, "expected an Optimizer", lambda o: lr.StepLR([], 1)),
    "step_size": (ValueError, r"\[StepLR\] step_size is at least 1, not 0", lambda o: lr.StepLR(o, 0)),
    "step_size's type": (TypeError, "step_size is an int, not float", lambda o: lr.StepLR(o, 1.5)),
    "t_max": (ValueError, "t_max is at least 1", lambda o: lr.CosineAnnealingLR(o, 0)),
    "t_0": (ValueError, "t_0 is at least 1", lambda o: lr.CosineAnnealingWarmRestarts(o, 0)),
    "t_mult": (ValueError, "t_mult is at least 1", lambda o: lr.CosineAnnealingWarmRestarts(o, 3, 0)),
    "milestone": (ValueError, "a milestone is at least 0", lambda o: lr.MultiStepLR(o, [-1])),
    "factor": (ValueError, "factor is in", lambda o: lr.ConstantLR(o, -1.0)),
    "start_factor": (ValueError, "start_factor is in", lambda o: lr.LinearLR(o, -1.0)),
    "total_iters": (ValueError, "total_iters is at least 1", lambda o: lr.LinearLR(o, total_iters=0)),
    "values": (ValueError, "2 boundaries part 2 values", lambda o: lr.PiecewiseLR(o, [1, 2], [1.0, 2.0])),
    "functions": (ValueError, "lr_lambda has 1 values for 2", lambda o: lr.LambdaLR(o, [factor])),
    "function": (TypeError, "lr_lambda is a function, not float", lambda o: lr.MultiplicativeLR(o, 0.5)),
    "d_model": (ValueError, "d_model is at least 1", lambda o: lr.NoamLR(o, 0, 5)),
    "warmup": (ValueError, "warmup_epochs is at least 1", lambda o: lr.LinearWarmupLR(o, 0)),
    "mode": (ValueError, "mode is 'triangular'", lambda o: lr.CyclicLR(o, 0.1, 0.5, mode="square")),
    "scale_mode": (ValueError, "scale_mode is", lambda o: lr.CyclicLR(o, 0.1, 0.5, scale_mode="epoch")),
    "max_lr": (ValueError, "max_lr has 3 values for 2", lambda o: lr.CyclicLR(o, 0.1, [0.5] * 3)),
    "no momentum": (
        ValueError,
        "Adagrad has neither momentum nor betas: pass cycle_momentum=False",
        lambda o: lr.CyclicLR(made(optim.Adagrad), 0.1, 0.5),
    ),
    "no total": (ValueError, "needs total_steps, or epochs", lambda o: lr.OneCycleLR(o, 0.5, epochs=3)),
    "pct_start": (ValueError, "pct_start is in", lambda o: lr.OneCycleLR(o, 0.5, 10, pct_start=1.5)),
    "strategy": (ValueError, "anneal_strategy is", lambda o: lr.OneCycleLR(o, 0.5, 10, anneal_strategy="log")),
    "plateau's mode": (ValueError, "mode is 'min' or 'max'", lambda o: lr.ReduceLROnPlateau(o, "least")),
    "plateau's factor": (ValueError, "factor is in", lambda o: lr.ReduceLROnPlateau(o, factor=1.0)),
    "plateau's threshold": (ValueError, "threshold_mode", lambda o: lr.ReduceLROnPlateau(o, threshold_mode="x")),
    "milestones": (ValueError, "parted by 1 milestones", lambda o: lr.SequentialLR(o, [lr.StepLR(o, 1)] * 2, [])),
    "order": (ValueError, "in order", lambda o: lr.SequentialLR(o, [lr.StepLR(o, 1)] * 3, [5, 2])),
    "another's": (
        ValueError,
        "schedule 0 is of another optimizer",
        lambda o: lr.SequentialLR(o, [lr.StepLR(made(), 1)], []),
    ),
    "no schedules": (ValueError, r"\[ChainedScheduler\] there are no schedules", lambda o: lr.ChainedScheduler([])),
    "no schedule": (TypeError, "schedule 0 is a function of the epoch", lambda o: lr.ChainedScheduler([3], o)),
    "a warm-up's": (
        ValueError,
        "after is of another optimizer",
        lambda o: lr.LinearWarmupLR(o, 3, after=lr.StepLR(made(), 1)),
    ),
    "a warm-up before a plateau": (
        TypeError,
        "after is a function of the epoch alone",
        lambda o: lr.LinearWarmupLR(o, 3, after=lr.ReduceLROnPlateau(o)),
    ),
    "a plateau": (
        TypeError,
        "not ReduceLROnPlateau",
        lambda o: lr.ChainedScheduler([lr.ReduceLROnPlateau(o)]),
    ),
    "swa_lr": (ValueError, "swa_lr is in", lambda o: optim.swa_utils.SWALR(o, -1.0)),
    "swa's strategy": (ValueError, "anneal_strategy", lambda o: optim.swa_utils.SWALR(o, 0.1, 5, "log")),
    "state of another schedule": (
        ValueError,
        r"\[ReduceLROnPlateau\] the state is a mapping that holds 'best', 'num_bad_epochs'",
        lambda o: lr.ReduceLROnPlateau(o).load_state_dict(lr.StepLR(o, 1).state_dict()),
    ),
    "no state": (ValueError, "a mapping that holds 'epoch'", lambda o: lr.StepLR(o, 1).load_state_dict(3)),
    "states of fewer": (
        ValueError,
        "another number of schedules",
        lambda o: lr.ChainedScheduler([lr.StepLR(o, 1)]).load_state_dict(
            {"epoch": 3, "base_lrs": FIRST, "schedulers": []}
        ),
    ),
    "a state within": (
        ValueError,
        r"\[StepLR\] the state is of another number",
        lambda o: lr.SequentialLR(o, [lr.StepLR(o, 1)], []).load_state_dict(
            {"epoch": 3, "base_lrs": FIRST, "schedulers": [{"epoch": 3, "base_lrs": []}]}
        ),
    ),
    "state": (
        ValueError,
        "another number of parameter groups",
        lambda o: lr.StepLR(o, 1).load_state_dict({"epoch": 1, "base_lrs": [1.0]}),
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    kind, message, call = ERRORS[name]
    optimizer = made()
    with pytest.raises(kind, match=message):
        call(optimizer)
    assert [group["lr"] for group in optimizer.param_groups] == FIRST
