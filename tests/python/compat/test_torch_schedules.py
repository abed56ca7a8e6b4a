"""Schedules of PyTorch through the front: several of one optimizer, rates that programs set, and their states."""

import pytest

from support import extensions

HEAD = """
import copy, math, pickle
import torch
from torch import nn
from torch.optim import lr_scheduler as S
from torch.optim.swa_utils import SWALR


def optimizer(lr=1.0, **options):
    return torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=lr, **options)


def rates(schedules, epochs):
    seen, group = [], schedules[0].optimizer.param_groups[0]
    for _ in range(epochs):
        seen.append(float(group["lr"]))
        schedules[0].optimizer.step()
        for schedule in schedules:
            schedule.step()
    return seen


def close(got, wanted):
    assert len(got) == len(wanted) and all(abs(a - b) < 1e-9 for a, b in zip(got, wanted)), (got, wanted)


FORMS = {
    "step": (lambda o: S.StepLR(o, 3, 0.5), lambda e: 0.5 ** (e // 3)),
    "milestones": (lambda o: S.MultiStepLR(o, [2, 2, 5], 0.5), lambda e: 0.5 ** (2 * (e >= 2) + (e >= 5))),
    "exponential": (lambda o: S.ExponentialLR(o, 0.9), lambda e: 0.9**e),
    "constant": (lambda o: S.ConstantLR(o, 0.25, 4), lambda e: 0.25 if e < 4 else 1.0),
    "linear": (lambda o: S.LinearLR(o, 0.25, 0.5, 4), lambda e: 0.25 + 0.25 * min(e, 4) / 4),
    "polynomial": (lambda o: S.PolynomialLR(o, 12, 2.0), lambda e: (1 - e / 12) ** 2),
    "cosine": (lambda o: S.CosineAnnealingLR(o, 12), lambda e: (1 + math.cos(math.pi * e / 12)) / 2),
    "factors": (
        lambda o: S.MultiplicativeLR(o, lambda e: 0.9 if e % 2 else 0.8),
        lambda e: 0.9 ** ((e + 1) // 2) * 0.8 ** (e // 2),
    ),
}
"""

PROGRAMS = {
    "a schedule of one's own remembers its attributes under PyTorch's names": """
class Mine(S.LRScheduler):
    def __init__(self, optimizer, scale):
        self._scale, self.seen = scale, [scale]
        super().__init__(optimizer)

    def get_lr(self):
        return [base * self._scale * 0.5 ** self.last_epoch for base in self.base_lrs]


def made(scale):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    return Mine(optimizer, scale)


first = made(2.0)
for _ in range(2):
    first.optimizer.step(), first.step()
state = first.state_dict()
assert {"last_epoch", "_last_lr", "_step_count", "base_lrs", "_scale", "seen"} == set(state), sorted(state)
assert (state["last_epoch"], state["_last_lr"], state["_step_count"]) == (2, [0.5], 3)
second = made(8.0)
second.load_state_dict(state)
assert (second._scale, second.seen, second.last_epoch, second.get_last_lr()) == (2.0, [2.0], 2, [0.5])
second.step()
assert second.get_last_lr() == [0.25]
theirs = {"_get_lr_called_within_step": False, "_is_initial": False, "_last_lr": [0.75], "_step_count": 6}
second.load_state_dict({**theirs, "last_epoch": 5, "base_lrs": [64.0], "_scale": 1.0})
assert (second.last_epoch, second.get_last_lr(), second._step_count) == (5, [0.75], 6)
second.step()
assert second.get_last_lr() == [1.0]
""",
    "restarts tell where they are": """
schedule = S.CosineAnnealingWarmRestarts(torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0), 2, T_mult=2)
seen = []
for _ in range(7):
    seen.append((schedule.T_cur, schedule.T_i))
    schedule.optimizer.step(), schedule.step()
assert seen == [(0, 2), (1, 2), (0, 4), (1, 4), (2, 4), (3, 4), (0, 8)], seen
schedule.step(4.5)
assert (schedule.T_cur, schedule.T_i) == (2.5, 4)
""",
    "each schedule knows the rates that it has set last": """
o = optimizer()
one, two = S.PolynomialLR(o, 4), S.LinearLR(o, 0.5, 1.0, 2)
close(one.get_last_lr() + two.get_last_lr() + [o.param_groups[0]["lr"]], [1.0, 0.5, 0.5])
o.step(), one.step()
o.param_groups[0]["lr"] = 7.0
close(one.get_last_lr() + two.get_last_lr(), [0.5 * 3 / 4, 0.5])
plateau = S.ReduceLROnPlateau(o)
o.param_groups[0]["lr"] = 3.0
assert plateau.get_last_lr() == [7.0]
plateau.step(1.0)
assert plateau.get_last_lr() == [3.0]
""",
    "schedules made on groups that others have begun": """
step = lambda o: S.StepLR(o, 1, 0.5)
o = optimizer()
step(o)
close(rates([S.CyclicLR(o, 0.1, 0.5, 2, cycle_momentum=False)], 4), [1.0, 0.3, 0.5, 0.3])  # from the first rate
averages = lambda o: SWALR(o, 0.2, 2, "linear")
o = optimizer()
schedules = [step(o), averages(o)]
close(rates(schedules, 4), [1.0, 0.5 * 0.5 + 0.1, 0.2, 0.2])  # from the present rate
one = lambda o: S.OneCycleLR(o, 0.5, total_steps=5, div_factor=10.0, anneal_strategy="linear")
o = optimizer()
first = S.SequentialLR(o, [S.ConstantLR(o, 0.5, 2), one(o)], [3])
close(rates([first], 3), [0.025, 0.025, 0.05])  # the second one has set the first rate anew
o = optimizer()
schedule = S.OneCycleLR(o, 0.5, total_steps=5, pct_start=0.6, div_factor=10.0, anneal_strategy="linear")
o.param_groups[0]["max_lr"] = 1.0  # by a program
close(rates([schedule], 3), [0.05, 0.525, 1.0])
""",
    "a penalty in a group of an optimizer that has none changes nothing": """
p, q = nn.Parameter(torch.tensor([-0.1])), nn.Parameter(torch.tensor([-0.1]))
o = torch.optim.Rprop([{"params": [p], "weight_decay": 5.0}, {"params": [q]}], lr=0.1)
for _ in range(3):
    p.grad = q.grad = torch.tensor([0.1])
    o.step()
assert p.item() == q.item() and abs(p.item() + 0.464) < 1e-6 and o.param_groups[0]["weight_decay"] == 5.0
""",
    "averaged descent follows its options one step later": """
p = nn.Parameter(torch.ones(1))
o = torch.optim.ASGD([p], lr=0.1, lambd=0.0, alpha=1.0, t0=0)
for rate, moved in ((0.1, 0.1), (0.5, 0.1), (0.5, 0.5)):
    before = p.item()
    o.param_groups[0]["lr"] = rate
    p.grad = torch.ones(1)
    o.step()
    assert abs(before - p.item() - moved) < 1e-6, (rate, before, p)
state = copy.deepcopy(o.state_dict())
assert state["state"][0]["eta"] == 0.5 and abs(state["state"][0]["mu"] - 1 / 3) < 1e-9
q = nn.Parameter(p.detach().clone())
other = torch.optim.ASGD([q], lr=0.7)
state["state"][0].update(eta=torch.tensor(0.25), mu=torch.tensor(0.5))  # as PyTorch writes them
other.load_state_dict(state)
q.grad = torch.ones(1)
other.step()
assert abs(p.item() - q.item() - 0.25) < 1e-6
""",
    "states of LBFGS hold its history as PyTorch's do": """
def run(o, p, times):
    def closure():
        o.zero_grad()
        loss = ((p - 0.3) ** 4).sum() + (p * p.flip(0)).sum() ** 2
        loss.backward()
        return loss

    for _ in range(times):
        o.step(closure)
    return p.detach().clone()


ends = []
for sign in (1, -1):  # climbing a loss is descending its negative
    p = nn.Parameter(torch.tensor([0.5, -0.2, 1.0]))
    for search in (None, "strong_wolfe"):
        o = torch.optim.LBFGS([p], max_iter=3, line_search_fn=search, maximize=sign < 0)

        def climb():
            o.zero_grad()
            loss = sign * ((p - 0.3) ** 2 * torch.arange(1.0, 4.0)).sum()
            loss.backward()
            return loss

        assert sign * o.step(climb) > 0
    ends.append(p.detach())
assert torch.equal(*ends), ends
assert torch.allclose(ends[0], torch.tensor([0.3317, 0.3081, 0.3117]), atol=1e-4), ends  # PyTorch 2.15's
make = lambda p: torch.optim.LBFGS([p], max_iter=3)
assert make(p := torch.ones(2, requires_grad=True))._params == [p]
p = nn.Parameter(torch.tensor([0.5, -0.2, 1.0]))
o = make(p)
run(o, p, 2)
state = copy.deepcopy(o.state_dict())
(values,) = state["state"].values()
count = len(values["old_dirs"])
assert count == len(values["old_stps"]) == len(values["ro"]) > 1 and state["param_groups"][0]["max_eval"] == 3
for y, s, ro in zip(values["old_dirs"], values["old_stps"], values["ro"]):
    assert abs(float(ro) * float(y @ s) - 1) < 1e-4
y, s = values["old_dirs"][-1], values["old_stps"][-1]
assert abs(float(values["H_diag"]) - float(y @ s) / float(y @ y)) < 1e-5 and values["n_iter"] == 4
q = nn.Parameter(p.detach().clone())
other = make(q)
other.load_state_dict(state)
assert torch.allclose(run(o, p, 2), run(other, q, 2))
""",
    "options of groups go by PyTorch's names": """
name = "decoupled_weight_decay"
for kind in (torch.optim.Adam, torch.optim.NAdam, torch.optim.RAdam):
    moved = {}
    for where in ("default", "group", "later", "state", None):
        p = nn.Parameter(torch.ones(2))
        group = {"params": [p], **({name: True} if where == "group" else {})}
        o = kind([group], lr=0.1, weight_decay=0.5, **({name: True} if where == "default" else {}))
        if where == "later":
            o.param_groups[0][name] = True
        if where == "state":
            state = copy.deepcopy(o.state_dict())
            state["param_groups"][0][name] = True
            o.load_state_dict(state)
        for _ in range(3):
            p.grad = torch.tensor([1.0, -2.0])
            o.step()
        for each in (o, copy.deepcopy(o), pickle.loads(pickle.dumps(o))):
            found = each.param_groups[0]
            assert found[name] is found.get(name) is (where is not None) and name in found
            assert each.state_dict()["param_groups"][0][name] is found[name]
        assert found["foreach"] is None and isinstance(found, dict)
        moved[where] = p.tolist()
    assert moved["default"] == moved["group"] == moved["later"] == moved["state"] != moved[None], (kind, moved)
""",
    "ends of schedules": """
o = optimizer(momentum=0.9)
one = S.OneCycleLR(o, 0.3, total_steps=4)
rates([one], 4)
assert abs(o.param_groups[0]["lr"] - one.base_lrs[0] / 1e4) > 1e-5  # one step behind the last phase, it rises again
try:
    one.step()
except ValueError:
    pass
else:
    raise AssertionError
close(rates([S.ConstantLR(optimizer(), 0.25, 0)], 4), [0.25] * 4)
""",
    "what schedules tell groups": """
def told(make, lr=1.0, before=None, **options):
    o = optimizer(lr, **options)
    if before is not None:
        before(o)
    make(o)
    names = {"initial_lr", "max_lr", "min_lr", "max_momentum", "base_momentum", "swa_lr", "momentum"}
    return {name: value for name, value in o.param_groups[0].items() if name in names}


step = lambda o: S.StepLR(o, 2)
cycle = lambda o: S.CyclicLR(o, 0.01, 0.1, 2)
one = lambda o: S.OneCycleLR(o, 0.5, total_steps=10)
moved = {"momentum": 0.9, "max_momentum": 0.9, "base_momentum": 0.8}
assert told(step) == {"initial_lr": 1.0, "momentum": 0}
assert told(cycle, momentum=0.5) == {"initial_lr": 0.01, **moved}
assert told(cycle, before=step, momentum=0.5) == {"initial_lr": 1.0, **moved}
for before in (None, step, cycle):
    got = told(one, before=before, momentum=0.5)
    assert got["initial_lr"] == 0.02 and got["max_lr"] == 0.5 and got["min_lr"] == 0.02 / 1e4, got
    assert (got["momentum"], got["max_momentum"], got["base_momentum"]) == (0.95, 0.95, 0.85)
assert told(lambda o: S.ReduceLROnPlateau(o)) == {"momentum": 0}
assert told(lambda o: SWALR(o, 0.05))["swa_lr"] == 0.05
o = optimizer()
S.ReduceLROnPlateau(o)
o.param_groups[0]["lr"] = 0.5
assert S.StepLR(o, 2).base_lrs == [0.5]
""",
    "parts of sequences count their own epochs": """
def sequence(*parts, milestones):
    o = optimizer()
    return S.SequentialLR(o, [part(o) for part in parts], milestones)


constant = lambda o: S.ConstantLR(o, 0.1, 2)
ratio = lambda o: S.MultiplicativeLR(o, lambda e: 0.5)
seen = sequence(constant, ratio, milestones=[2])
close(rates([seen], 5), [0.1, 0.1, 0.05, 0.025, 0.0125])  # from the rate that is there at the milestone
assert [part.last_epoch for part in seen._schedulers] == [1, 3]
chain = lambda o: S.ChainedScheduler([S.StepLR(o, 1, 0.5), S.ExponentialLR(o, 0.5)])
close(rates([sequence(constant, chain, milestones=[2])], 5), [0.1, 0.1, 1.0, 0.25, 0.0625])
seen = sequence(constant, lambda o: S.StepLR(o, 1, 0.5), milestones=[3])
rates([seen], 4)
seen.optimizer.param_groups[0]["lr"] = 8.0  # by a program
close(rates([seen], 3), [8.0, 4.0, 2.0])
o = optimizer()
schedule = S.MultiplicativeLR(o, lambda e: 0.9**e)
o.step(), schedule.step(4)
close([o.param_groups[0]["lr"]], [0.9**4])
""",
    "states have PyTorch's names": """
for make, names in (
    (lambda o: S.CosineAnnealingWarmRestarts(o, 2, 2), {"T_cur": 1, "T_i": 4, "T_0": 2, "T_mult": 2}),
    (
        lambda o: S.CyclicLR(o, 0.1, 1.0, 3, 1, cycle_momentum=False),
        {"total_size": 4.0, "step_ratio": 0.75, "_scale_fn_custom": None},
    ),
    (lambda o: S.SequentialLR(o, [S.StepLR(o, 1), S.StepLR(o, 2)], [2]), {"_milestones": [2]}),
):
    schedule = make(optimizer())
    rates([schedule], 3)
    state = schedule.state_dict()
    assert {name: state[name] for name in names} == names and state["last_epoch"] == 3 and "scale_fn" not in state
    wanted = rates([schedule], 5)
    # A state as PyTorch writes it, without the names that are Lamella's.
    theirs = {k: v for k, v in state.items() if k not in ("epoch", "base_lrs")}
    other = make(optimizer())
    other.load_state_dict(theirs)
    other.optimizer.param_groups[0]["lr"] = wanted[0]
    close(rates([other], 5), wanted)
o = optimizer()
chain = S.ChainedScheduler([S.StepLR(o, 2, 0.5), S.ExponentialLR(o, 0.5)])
rates([chain], 3)
assert [part["last_epoch"] for part in chain.state_dict()["_schedulers"]] == [3, 3]
theirs = {"_schedulers": chain.state_dict()["_schedulers"], "_last_lr": chain.get_last_lr()}
other = S.ChainedScheduler([S.StepLR(o, 2, 0.5), S.ExponentialLR(o, 0.5)])
other.load_state_dict(theirs)
assert other.last_epoch == 3 and [part.last_epoch for part in other._schedulers] == [3, 3]
""",
    "rules of averages": """
from torch.optim import swa_utils


def own(averaged, current, count):
    assert count > 0
    for average, now in zip(averaged, current):
        average.mul_(0.5).add_(now * 0.5)


rules = [
    ({}, 7 / 3), ({"multi_avg_fn": own}, 2.75), ({"avg_fn": lambda a, c, n: 0.5 * (a + c)}, 2.75),
    ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.9)}, 1.39), ({"avg_fn": swa_utils.get_ema_avg_fn(0.9)}, 1.39),
    ({"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}, 7 / 3), ({"avg_fn": swa_utils.get_swa_avg_fn()}, 7 / 3),
]
for options, wanted in rules:
    model = nn.Linear(1, 1)
    average = swa_utils.AveragedModel(model, **options)
    for value in (1.0, 2.0, 4.0):
        with torch.no_grad():
            model.weight.fill_(value)
        average.update_parameters(model)
    assert abs(average.module.weight.item() - wanted) < 1e-6, options
    for name, rule in options.items():
        one, other = torch.zeros(1), torch.full((1,), 2.0)
        of_all = name == "multi_avg_fn"
        made = rule([one], [other], 1) if of_all else rule(one, other, 1)
        assert (one if of_all else made).item() > 0
try:
    torch.optim.Adafactor([nn.Parameter(torch.ones(1))], d=0.5)
except ValueError:
    pass
else:
    raise AssertionError
""",
    "chained ones step in turn, from the present rate or from the first": """
def chained(*makes):
    o = optimizer(0.1)
    chain = S.ChainedScheduler([make(o) for make in makes])
    seen = rates([chain], 6)
    assert chain.get_last_lr() == [o.param_groups[0]["lr"]]
    return seen, chain


ratio = lambda o: S.ExponentialLR(o, 0.9)
factor = lambda o: S.LambdaLR(o, lambda e: 0.5**e)
restarts = lambda o: S.CosineAnnealingWarmRestarts(o, 2)
# A function of the first rate takes back what was set before it, and what comes behind goes on from there.
close(chained(factor, ratio)[0], [0.1] + [0.1 * 0.5**e * 0.9 for e in range(1, 6)])
close(chained(ratio, factor)[0], [0.1 * 0.5**e for e in range(6)])
close(chained(lambda o: S.ConstantLR(o, 0.25, 4), restarts)[0], [0.1, 0.05] * 3)
close(chained(ratio, lambda o: S.StepLR(o, 2, 0.5))[0], [0.1 * 0.9**e * 0.5 ** (e // 2) for e in range(6)])
for makes in ([factor, ratio], [ratio, restarts], [lambda o: S.CosineAnnealingLR(o, 4), ratio]):
    seen, chain = chained(*makes)
    _, other = chained(*makes)
    other.optimizer.param_groups[0]["lr"] = 7.0
    other.optimizer.load_state_dict(chain.optimizer.state_dict())
    other.load_state_dict(copy.deepcopy(chain.state_dict()))
    close(rates([other], 4), rates([chain], 4))
""",
    "hooks of a step see the optimizer among its arguments": """
o, seen = optimizer(), []
o.register_step_pre_hook(lambda own, args, kwargs: seen.append((own is o, args[0] is o, len(args), kwargs)))
o.register_step_post_hook(lambda own, args, kwargs: seen.append((own is o, args[0] is o, len(args), kwargs)))
o.step()
o.step(lambda: torch.zeros(()))
assert seen[:2] == [(True, True, 1, {})] * 2 and seen[2][:3] == (True, True, 2) == seen[3][:3]
""",
    "a state names options as PyTorch does": """
for kind, decoupled in ((torch.optim.AdamW, True), (torch.optim.Adam, False)):
    p = nn.Parameter(torch.ones(2))
    o = kind([p], lr=0.1, weight_decay=0.5)
    p.grad = torch.ones(2)
    o.step()
    state = copy.deepcopy(o.state_dict())
    assert state["param_groups"][0]["decoupled_weight_decay"] is decoupled
    q = nn.Parameter(p.detach().clone())
    # Of the other kind by its own options: the state says how the decay acts.
    other = torch.optim.Adam([q], lr=1.0, weight_decay=0.0)
    other.load_state_dict(state)
    q.grad = torch.ones(2)
    o.step(), other.step()
    assert torch.equal(p, q), (kind, p, q)
""",
    "two of one optimizer multiply": """
for one, (make, rate) in FORMS.items():
    for other, (make_other, rate_other) in FORMS.items():
        o = optimizer(0.3)
        close(rates([make(o), make_other(o)], 9), [0.3 * rate(e) * rate_other(e) for e in range(9)])
""",
    "a rate that a program sets is gone on from": """
for name, (make, rate) in FORMS.items():
    o = optimizer()
    schedule = make(o)
    rates([schedule], 3)
    o.param_groups[0]["lr"] *= 0.1
    close(rates([schedule], 5), [0.1 * rate(e) for e in range(3, 8)])
o = optimizer()
schedule = S.LambdaLR(o, lambda e: 0.5**e)  # a function of the first rate
o.param_groups[0]["lr"] = 7.0
schedule.step()
assert o.param_groups[0]["lr"] == 0.5
""",
    "from the floor of a cosine": """
o = optimizer()
schedule = S.CosineAnnealingLR(o, 4, eta_min=0.1)
rates([schedule], 4)
o.param_groups[0]["lr"] += 0.05
schedule.step()
assert abs(o.param_groups[0]["lr"] - (0.15 + 0.9 * (1 - math.cos(math.pi / 4)) / 2)) < 1e-9
""",
    "states hold settings": """
cases = {
    "step": (lambda o, k: S.StepLR(o, 2 + k, 0.5 - 0.1 * k), "step_size gamma"),
    "milestones": (lambda o, k: S.MultiStepLR(o, [2 + k, 5, 5], 0.5), "milestones"),
    "cosine": (lambda o, k: S.CosineAnnealingLR(o, 10 + k, eta_min=0.01 * k), "T_max eta_min"),
    "restarts": (lambda o, k: S.CosineAnnealingWarmRestarts(o, 3 + k, 2, 0.1 * k), "T_0 T_mult eta_min"),
    "linear": (lambda o, k: S.LinearLR(o, 0.5, 1.0 + k, 6 + k), "start_factor end_factor total_iters"),
    "averaging": (lambda o, k: SWALR(o, 0.1 + k, 3 + k, "linear" if k else "cos"), "anneal_epochs anneal_strategy"),
    "cycle": (lambda o, k: S.CyclicLR(o, 0.1, 1.0 + k, 2 + k, cycle_momentum=False), "max_lrs mode gamma"),
}
for name, (make, keys) in cases.items():
    o = optimizer()
    schedule = make(o, 0)
    rates([schedule], 4)
    other = optimizer()
    again = make(other, 1)
    state = pickle.loads(pickle.dumps(schedule.state_dict()))
    assert set(keys.split()) <= set(state), (name, state)
    other.load_state_dict(o.state_dict())
    again.load_state_dict(state)
    assert other.param_groups[0]["lr"] == o.param_groups[0]["lr"], name
    close(rates([again], 6), rates([schedule], 6))
plateau = S.ReduceLROnPlateau(optimizer(), "min", 0.5, patience=1)
for value in (1.0, 2.0, 2.0, 2.0):
    plateau.step(value)
again = S.ReduceLROnPlateau(optimizer(), "max", 0.1, patience=7)
again.load_state_dict(plateau.state_dict())
assert (again.mode, again.factor, again.patience, again.num_bad_epochs) == ("min", 0.5, 1, plateau.num_bad_epochs)


class Falling:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, epoch):
        return self.factor**epoch


state = S.LambdaLR(optimizer(), Falling(0.5)).state_dict()
again = S.LambdaLR(optimizer(), Falling(0.9))
again.load_state_dict(state)
close(rates([again], 3), [1.0, 0.5, 0.25])
assert S.LambdaLR(optimizer(), lambda e: 1.0).state_dict()["lr_lambdas"] == [None]
""",
    "the rates of a loaded state are the optimizer's": """
o = optimizer()
one, other = S.ExponentialLR(o, 0.5), S.StepLR(o, 2, 0.1)
rates([one, other], 3)
wanted = copy.deepcopy(o.param_groups[0]["lr"])
again = S.ExponentialLR(optimizer(), 0.5)
again.optimizer.load_state_dict(o.state_dict())
again.load_state_dict(one.state_dict())
assert again.optimizer.param_groups[0]["lr"] == wanted and again.last_epoch == 3
again.step()
close([again.optimizer.param_groups[0]["lr"]], [wanted * 0.5])
""",
    "behind an epoch": """
o = optimizer(0.5)
o.param_groups[0]["initial_lr"] = 1.0
schedule = S.ExponentialLR(o, 0.5, last_epoch=2)  # made after three epochs: goes on from the present rate
assert schedule.last_epoch == 3
close([o.param_groups[0]["lr"]], [0.5])
schedule.step()
close([o.param_groups[0]["lr"]], [0.25])
close([rates([S.StepLR(o, 3, 0.1, last_epoch=2)], 2)[0]], [0.025])  # the next one is the third epoch's end


class Own(S.LRScheduler):
    def get_lr(self):
        return self.base_lrs


for make in (
    lambda o: S.StepLR(o, 3, last_epoch=2),
    lambda o: S.ExponentialLR(o, 0.5, last_epoch=2),
    lambda o: S.LambdaLR(o, lambda epoch: 1.0, last_epoch=0),
    lambda o: S.CosineAnnealingLR(o, 3, last_epoch=1),
    lambda o: Own(o, last_epoch=1),
):
    o = optimizer()
    try:
        make(o)
    except KeyError as error:
        assert "initial_lr" in str(error) and "initial_lr" not in o.param_groups[0]
    else:
        raise AssertionError
""",
    "schedules of schedules begin by steps of their parts": """
def exponential(o, gamma=0.5):
    return S.ExponentialLR(o, gamma)


def step(o):
    return S.StepLR(o, 2, 0.1)


def factors(o):
    return S.MultiplicativeLR(o, lambda epoch: 0.5 + epoch / 4)


def cosine(o):
    return S.CosineAnnealingLR(o, 4)


def polynomial(o):
    return S.PolynomialLR(o, 4)


def after(o, *parts, at):
    return S.SequentialLR(o, list(parts), list(at))


def both(o, *parts):
    return S.ChainedScheduler(list(parts), optimizer=o)


def epochs(schedule):
    return list(map(epochs, schedule._schedulers)) if hasattr(schedule, "_schedulers") else schedule.last_epoch


NESTED = [  # as PyTorch has the rates, and the epochs of the parts after four steps
    (
        lambda o: after(o, step(o), factors(o), at=[3]),
        [1.0, 1.0, 0.1, 0.05, 0.0375, 0.0375, 0.046875, 0.0703125],
        [2, 1],
    ),
    (
        lambda o: after(o, after(o, exponential(o), step(o), at=[2]), exponential(o, 0.9), at=[4]),
        [0.5, 1.0, 1.0, 0.1, 1.0, 0.9, 0.81, 0.729],
        [[0, 2], 0],
    ),
    (
        lambda o: after(o, both(o, exponential(o), factors(o)), cosine(o), at=[3]),
        [0.25, 0.09375, 0.046875, 1.0, 0.8535534, 0.5, 0.1464466, 0.0],
        [[2, 2], 1],
    ),
    (
        lambda o: after(o, after(o, cosine(o), polynomial(o), at=[2]), step(o), at=[5]),
        [1.1715729, 1.0, 0.75, 0.5, 0.25, 1.0, 1.0, 0.1],
        [[0, 3], -1],
    ),
    (
        lambda o: after(o, both(o, polynomial(o), step(o)), exponential(o), at=[3]),
        [0.8, 0.6, 0.04, 1.0, 0.5, 0.25, 0.125, 0.0625],
        [[2, 2], 1],
    ),
    (
        lambda o: after(
            o, after(o, after(o, exponential(o), cosine(o), at=[2]), factors(o), at=[4]), step(o), at=[6]
        ),
        [1.0, 0.8535534, 0.5, 0.25, 0.1875, 0.1875, 1.0, 1.0],
        [[[-1, 2], 1], -1],
    ),
    (
        lambda o: both(o, after(o, step(o), factors(o), at=[3]), exponential(o, 0.9)),
        [1.0, 0.9, 0.081, 0.03645, 0.0246038, 0.0221434, 0.0249113, 0.0336303],
        [[2, 1], 4],
    ),
    (
        lambda o: S.SequentialLR(o, [exponential(o), step(o)], [5], last_epoch=2),
        [1.0, 0.5, 1.0, 1.0, 0.1, 0.1, 0.01, 0.01],
        [1, 2],
    ),
]
for make, wanted, counted in NESTED:
    o = optimizer()
    schedule = make(o)
    got = rates([schedule], 4)
    assert epochs(schedule) == counted, (epochs(schedule), counted)
    fresh = optimizer()
    again = make(fresh)
    again.load_state_dict(pickle.loads(pickle.dumps(schedule.state_dict())))
    fresh.load_state_dict(o.state_dict())
    got += rates([again], 4)
    assert all(abs(a - b) < 1e-6 for a, b in zip(got, wanted)), (got, wanted)
""",
    "rates of subclasses": """
class Halved(S.StepLR):
    def get_lr(self):
        return [rate / 2 if self.last_epoch else rate for rate in super().get_lr()]


close(rates([Halved(optimizer(), 2, 0.1)], 4), [1.0, 0.5, 0.025, 0.0125])
""",
    "states of optimizers": """
o = optimizer(momentum=0.9)
o.state["seen"] = 3
o.param_groups[0]["params"][0].grad = torch.ones(1)
o.step()
state = pickle.loads(pickle.dumps(o.state_dict()))
for name in ("maximize", "nesterov"):  # a version that did not have them
    del state["param_groups"][0][name]
named = torch.optim.SGD([("weight", nn.Parameter(torch.ones(1)))], lr=1.0, momentum=0.9)
named.load_state_dict(state)
group = named.param_groups[0]
assert group["param_names"] == ["weight"] and group["maximize"] is False and named.state["seen"] == 3
""",
    "rates that are tensors": """
rate = torch.tensor(0.5)
o = optimizer(rate)
schedule = S.ExponentialLR(o, 0.5)
o.step(), schedule.step()
assert o.param_groups[0]["lr"] is rate and rate.item() == 0.25
assert schedule.base_lrs == [0.5] and float(o.param_groups[0]["initial_lr"]) == 0.5
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_schedules(program, tmp_path):
    extensions.write(tmp_path, {"program.py": HEAD + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
