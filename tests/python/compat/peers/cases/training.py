"""Twenty steps of every optimizer, the rates of every scheduler, and what surrounds training."""

import copy
import warnings

import torch
from recording import add, described, fill, integers, tensor
from torch import nn, optim
from torch.optim import lr_scheduler, swa_utils

warnings.filterwarnings("ignore")

OPTIMIZERS = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
        {"lr": 0.05, "momentum": 0.8, "dampening": 0.3, "maximize": True},
    ],
    "Adam": [
        {},
        {"lr": 0.01, "betas": (0.8, 0.95), "eps": 1e-4, "weight_decay": 0.1},
        {"lr": 0.01, "amsgrad": True},
        {"lr": 0.01, "maximize": True},
        {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True},
    ],
    "AdamW": [{"lr": 0.01}, {"lr": 0.01, "weight_decay": 0.3, "amsgrad": True, "betas": (0.5, 0.9)}],
    "Adamax": [{}, {"lr": 0.02, "weight_decay": 0.1, "betas": (0.7, 0.8)}, {"lr": 0.02, "maximize": True}],
    "NAdam": [
        {},
        {"lr": 0.02, "weight_decay": 0.1, "momentum_decay": 0.01},
        {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True},
    ],
    "RAdam": [
        {},
        {"lr": 0.02, "weight_decay": 0.1, "betas": (0.9, 0.99)},
        {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True},
    ],
    "Adagrad": [{}, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2, "eps": 1e-3}],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.8, "eps": 1e-3, "weight_decay": 0.1}],
    "Adafactor": [{}, {"lr": 0.1, "weight_decay": 0.1, "d": 1.5, "beta2_decay": -0.5}],
    "RMSprop": [
        {},
        {"lr": 0.02, "alpha": 0.9, "eps": 1e-3, "weight_decay": 0.1, "momentum": 0.8, "centered": True},
        {"lr": 0.02, "momentum": 0.5},
    ],
    "Rprop": [{}, {"lr": 0.05, "etas": (0.4, 1.3), "step_sizes": (1e-3, 0.2)}],
    "ASGD": [{}, {"lr": 0.05, "lambd": 0.01, "alpha": 0.5, "t0": 5.0, "weight_decay": 0.1}],
    "LBFGS": [{"lr": 0.5, "max_iter": 3}, {"line_search_fn": "strong_wolfe", "max_iter": 4, "history_size": 3}],
    "Muon": [
        {"lr": 0.01},
        {"lr": 0.02, "momentum": 0.9, "nesterov": False, "weight_decay": 0.2, "ns_steps": 3},
        {"lr": 0.02, "adjust_lr_fn": "match_rms_adamw"},
    ],
}


def network(rng, dtype=torch.float32):
    """Returns a small network, with its inputs and targets."""
    net = fill(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)), rng).to(dtype)
    return net, tensor(rng, 8, 4).to(dtype), integers(rng, 0, 3, 8)


def steps(kind, options, count=20):
    """Returns a case: losses and weights of ``count`` steps, and the optimizer's state."""

    def run(rng):
        # Searches along lines amplify rounding errors.
        net, inputs, targets = network(rng, torch.float64 if kind == "LBFGS" else torch.float32)
        wanted = [p for p in net.parameters() if p.ndim == 2] if kind == "Muon" else net.parameters()
        optimizer = getattr(optim, kind)(wanted, **options)
        losses = []

        def closure():
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(inputs), targets)
            loss.backward()
            return loss

        for _ in range(count):
            losses.append(optimizer.step(closure).item())
        groups = optimizer.state_dict()["param_groups"]
        settings = {
            k: v for k, v in groups[0].items() if isinstance(v, (int, float, tuple)) and k in options and k[0] != "d"
        }
        return {"losses": losses, "weights": list(net.parameters()), "settings": settings}

    return run


for kind, settings in OPTIMIZERS.items():
    for number, options in enumerate(settings):
        add(f"optim.{kind}/{number}", steps(kind, options))


def groups(rng):
    """Returns the weights of two groups with rates of their own, after a copy of the optimizer went on."""
    net, inputs, targets = network(rng)
    first, last = net[0], net[2]
    optimizer = optim.AdamW([{"params": first.parameters()}, {"params": last.parameters(), "lr": 0.1}], lr=0.01)
    for number in range(6):
        optimizer.zero_grad(set_to_none=number % 2 == 0)
        nn.functional.cross_entropy(net(inputs), targets).backward()
        optimizer.step()
    other = copy.deepcopy(net)
    again = optim.AdamW([{"params": other[0].parameters()}, {"params": other[2].parameters(), "lr": 0.1}], lr=0.5)
    again.load_state_dict(optimizer.state_dict())
    nn.functional.cross_entropy(other(inputs), targets).backward()
    again.step()
    names = sorted(optimizer.state_dict()["state"][0])
    return {
        "weights": list(other.parameters()),
        "lrs": [g["lr"] for g in again.param_groups],
        "names": " ".join(names),
        "keys": " ".join(map(str, optimizer.state_dict()["state"])),
    }


add("optim.groups", groups)


def sparse_adam(rng):
    """Returns a table that SparseAdam trains."""
    table = fill(nn.Embedding(6, 3, sparse=True), rng)
    optimizer = optim.SparseAdam(table.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        (table(integers(rng, 0, 6, 4)) ** 2).sum().backward()
        optimizer.step()
    return table.weight


add("optim.SparseAdam", sparse_adam)

SCHEDULERS = {
    "StepLR": [{"step_size": 3}, {"step_size": 2, "gamma": 0.5}],
    "MultiStepLR": [{"milestones": [2, 5, 5, 9], "gamma": 0.3}],
    "ConstantLR": [{}, {"factor": 0.2, "total_iters": 4}],
    "LinearLR": [{}, {"start_factor": 0.1, "end_factor": 0.8, "total_iters": 7}],
    "ExponentialLR": [{"gamma": 0.8}],
    "PolynomialLR": [{}, {"total_iters": 8, "power": 2.0}],
    "CosineAnnealingLR": [{"T_max": 5}, {"T_max": 4, "eta_min": 0.01}],
    "CosineAnnealingWarmRestarts": [{"T_0": 3}, {"T_0": 2, "T_mult": 2, "eta_min": 0.01}],
    "LambdaLR": [{"lr_lambda": lambda n: 0.9**n}, {"lr_lambda": [lambda n: 0.9**n, lambda n: 1 / (n + 1)]}],
    "MultiplicativeLR": [{"lr_lambda": lambda n: 0.9}],
    "CyclicLR": [
        {"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 3},
        {"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 2, "step_size_down": 4, "mode": "triangular2"},
        {"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 2, "mode": "exp_range", "gamma": 0.9, "base_momentum": 0.5},
    ],
    "OneCycleLR": [
        {"max_lr": 1.0, "total_steps": 12},
        {"max_lr": [1.0, 2.0], "epochs": 3, "steps_per_epoch": 4, "pct_start": 0.5, "anneal_strategy": "linear"},
        {"max_lr": 1.0, "total_steps": 15, "three_phase": True, "div_factor": 10.0, "final_div_factor": 50.0},
        {"max_lr": 1.0, "total_steps": 12, "cycle_momentum": False},
    ],
}


def two_groups(momentum=0.9):
    """Returns an optimizer of two groups with gradients."""
    weights = [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(3))]
    for weight in weights:
        weight.grad = torch.zeros_like(weight)
    return optim.SGD([{"params": weights[:1]}, {"params": weights[1:], "lr": 0.3}], lr=0.1, momentum=momentum)


def rates(make, count=12, metrics=None):
    """Returns a case: the rates and momenta of a scheduler, and of one that its state was put into on the way."""

    def run(rng):
        optimizer = two_groups()
        scheduler = make(optimizer)
        seen = []
        for number in range(count):
            if number == count // 2:
                other = two_groups()
                again = make(other)
                again.load_state_dict(scheduler.state_dict())
                other.load_state_dict(optimizer.state_dict())
                optimizer, scheduler = other, again
            optimizer.step()
            scheduler.step(*(() if metrics is None else (metrics[number],)))
            last = scheduler.get_last_lr()
            seen.append(
                [group["lr"] for group in optimizer.param_groups]
                + list(last)
                + [optimizer.param_groups[0]["momentum"], scheduler.last_epoch]
            )
        return torch.tensor(seen, dtype=torch.float64)

    return run


for kind, settings in SCHEDULERS.items():
    for number, options in enumerate(settings):
        count = 11 if kind == "OneCycleLR" else 12
        add(
            f"scheduler.{kind}/{number}",
            rates(lambda o, k=kind, given=options: getattr(lr_scheduler, k)(o, **given), count),
        )

METRICS = [1.0, 0.9, 0.95, 0.94, 0.93, 0.92, 0.91, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0, 1.0, 1.0]
for number, options in enumerate(
    [
        {"patience": 1},
        {"patience": 2, "factor": 0.5, "cooldown": 2, "min_lr": 0.01},
        {"mode": "max", "patience": 0, "threshold": 0.1, "threshold_mode": "abs"},
        {"min_lr": [0.05, 0.2], "patience": 1},
    ]
):
    add(
        f"scheduler.ReduceLROnPlateau/{number}",
        rates(lambda o, given=options: lr_scheduler.ReduceLROnPlateau(o, **given), len(METRICS), METRICS),
    )


def sequential(optimizer):
    """Returns a warm-up, a decay and a constant rate after each other."""
    parts = [
        lr_scheduler.LinearLR(optimizer, 0.1, total_iters=3),
        lr_scheduler.CosineAnnealingLR(optimizer, 4),
        lr_scheduler.ExponentialLR(optimizer, 0.5),
    ]
    return lr_scheduler.SequentialLR(optimizer, parts, milestones=[3, 8])


def chained(rng):
    """Returns the rates of two schedulers that act together."""
    optimizer = two_groups()
    both = lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(optimizer, 0.1, 3), lr_scheduler.ExponentialLR(optimizer, 0.9)]
    )
    seen = []
    for _ in range(8):
        optimizer.step()
        both.step()
        seen.append(both.get_last_lr())
    return torch.tensor(seen, dtype=torch.float64)


add("scheduler.SequentialLR", rates(sequential))
add("scheduler.ChainedScheduler", chained)


def resumed(rng):
    """Returns the rates of schedulers that begin in the middle."""
    found = []
    for kind, options in (
        ("StepLR", {"step_size": 2}),
        ("CosineAnnealingLR", {"T_max": 6}),
        ("LinearLR", {}),
        ("ExponentialLR", {"gamma": 0.5}),
    ):
        optimizer = two_groups()
        first = getattr(lr_scheduler, kind)(optimizer, **options)
        for _ in range(3):
            optimizer.step()
            first.step()
        scheduler = getattr(lr_scheduler, kind)(optimizer, last_epoch=2, **options)
        for _ in range(4):
            found.append(scheduler.get_last_lr())
            optimizer.step()
            scheduler.step()
    return torch.tensor(found, dtype=torch.float64)


add("scheduler.resumed", resumed)


def averaged(rng):
    """Returns averages of weights, in equal parts and moving, and the rates of SWALR."""
    net, inputs, targets = network(rng)
    optimizer = optim.SGD(net.parameters(), lr=0.5)
    equal = swa_utils.AveragedModel(net)
    moving = swa_utils.AveragedModel(net, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.8))
    scheduler = swa_utils.SWALR(optimizer, swa_lr=0.05, anneal_epochs=4)
    lrs = []
    for _ in range(6):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(inputs), targets).backward()
        optimizer.step()
        equal.update_parameters(net)
        moving.update_parameters(net)
        scheduler.step()
        lrs.append(optimizer.param_groups[0]["lr"])
    return [list(equal.parameters()), list(moving.parameters()), lrs, described(equal), equal.n_averaged]


def batch_statistics(rng):
    """Returns the statistics that update_bn finds."""
    net = fill(nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6)), rng)
    swa_utils.update_bn([tensor(rng, 5, 4) for _ in range(3)], net)
    return list(net.buffers())


add("swa.averaged", averaged)
add("swa.update_bn", batch_statistics)


def clipping(rng):
    """Returns norms of gradients, and gradients after they were clipped."""
    found = []
    for norm, bound in ((2.0, 0.5), (1, 2.0), (float("inf"), 0.1), (3.0, 1e3)):
        net, inputs, targets = network(rng)
        nn.functional.cross_entropy(net(inputs), targets).backward()
        found.append(nn.utils.clip_grad_norm_(net.parameters(), bound, norm))
        found.append([p.grad for p in net.parameters()])
    nn.utils.clip_grad_value_(net.parameters(), 0.02)
    found.append([p.grad for p in net.parameters()])
    total = nn.utils.get_total_norm([p.grad for p in net.parameters()])
    nn.utils.clip_grads_with_norm_(net.parameters(), 0.01, total)
    return [*found, total, [p.grad for p in net.parameters()]]


add("utils.clipping", clipping)


def scaled(rng):
    """Returns scales and weights of a GradScaler that meets infinite gradients."""
    net, inputs, targets = network(rng)
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=16.0, growth_interval=3, growth_factor=4.0, backoff_factor=0.25)
    scales = []
    for number in range(9):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(inputs), targets)
        scaler.scale(loss * (float("inf") if number == 4 else 1.0)).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    state = {name: value for name, value in sorted(scaler.state_dict().items()) if name != "_growth_tracker"}
    return [scales, list(net.parameters()), state]


def autocast(rng):
    """Returns the dtypes that autocast gives, and a loss."""
    net, inputs, targets = network(rng)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = net(inputs)
        kept = inputs + inputs
        loss = nn.functional.cross_entropy(hidden, targets)
        product = inputs @ inputs.T
    return [str(each.dtype).removeprefix("torch.") for each in (hidden, kept, loss, product)]


add("amp.scaler", scaled)
add("amp.autocast", autocast)
