"""Writes ``references_paddle.npz``: what Paddle computes in the cases below.

    python make_paddle.py              with Paddle: writes the file beside it
    python make_paddle.py OUT.npz      through the front: python -m lamella.compat make_paddle.py OUT.npz
    python make_paddle.py --print      prints the results

Lamella's tests need the file, not Paddle; see ``make.py``.
"""

import sys
import zlib
from pathlib import Path

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.regularizer import L1Decay, L2Decay

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import expressions  # noqa: E402 (neighbors, which are no package)
import training  # noqa: E402

CASES = {}


def numbers(rng, *shape):
    """Returns normal numbers as a tensor."""
    return paddle.to_tensor(rng.standard_normal(shape).astype("float32"))


def integers(rng, high, *shape):
    """Returns integers below ``high``."""
    return paddle.to_tensor(rng.integers(0, high, shape))


def fill(layer, rng):
    """Gives all parameters and floating buffers values."""
    for name, value in [*layer.named_parameters(), *layer.named_buffers()]:
        if name == "_dropout_state":
            continue
        values = rng.standard_normal(tuple(value.shape)).astype("float32") * 0.4
        value.set_value(np.abs(values) + 0.5 if name.endswith("_variance") else values)
    return layer


OPTIMIZERS = {
    "SGD": [{"learning_rate": 0.1}, {"learning_rate": 0.1, "weight_decay": 0.01}, {"weight_decay": L1Decay(0.05)}],
    "Momentum": [{"learning_rate": 0.1}, {"learning_rate": 0.05, "momentum": 0.8, "use_nesterov": True}],
    "Adam": [{"learning_rate": 0.01}, {"learning_rate": 0.01, "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-4}],
    "AdamW": [
        {"learning_rate": 0.01},
        {"learning_rate": 0.01, "weight_decay": 0.2},
        {"learning_rate": 0.05, "amsgrad": True},
    ],
    "Adamax": [{"learning_rate": 0.02}],
    "Adagrad": [{"learning_rate": 0.1}, {"learning_rate": 0.1, "initial_accumulator_value": 0.2}],
    "Adadelta": [{"learning_rate": 0.5, "rho": 0.8}],
    "RMSProp": [{"learning_rate": 0.01}, {"learning_rate": 0.01, "momentum": 0.5, "centered": True}],
    "Lamb": [
        {"learning_rate": 0.01},
        {"learning_rate": 0.01, "lamb_weight_decay": 0.1},
        {"learning_rate": 0.01, "lamb_weight_decay": 0.0},
        {"learning_rate": 0.05, "exclude_from_weight_decay_fn": lambda p: len(p.shape) == 1},
    ],
    "ASGD": [{"learning_rate": 0.05}, {"learning_rate": 0.05, "batch_num": 4, "weight_decay": 0.1}],
    "NAdam": [{"learning_rate": 0.01}],
    "RAdam": [{"learning_rate": 0.01}],
    "Rprop": [{"learning_rate": 0.01}],
}


def steps(kind, options, attr=None, groups=False, again=None):
    """Returns a case: the losses of twenty steps, and the weights.

    Args:
        kind: the optimizer's class.
        options: its options.
        attr: attributes of the first weight.
        groups: puts the second layer into a group of half the rate.
        again: number of the step before which the states go over to another network and optimizer.
    """

    def run(rng):
        losses, states = [], None
        for count in [20] if again is None else [again, 20 - again]:
            # States name parameters and what is remembered of them: those that are made again have the same names.
            with paddle.utils.unique_name.guard():
                net = nn.Sequential(nn.Linear(4, 6, weight_attr=attr), nn.Tanh(), nn.Linear(6, 3))
                parts = [{"params": net[0].parameters()}, {"params": net[2].parameters(), "learning_rate": 0.5}]
                parameters = parts if groups else net.parameters()
                optimizer = getattr(paddle.optimizer, kind)(parameters=parameters, **options)
                if states is None:
                    fill(net, rng)
                    x, y = numbers(rng, 8, 4), integers(rng, 3, 8)
                else:
                    net.set_state_dict(states[0])
                    optimizer.set_state_dict(states[1])
                for _ in range(count):
                    loss = F.cross_entropy(net(x), y)
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
                    losses.append(loss)
                states = net.state_dict(), optimizer.state_dict()
        return [*losses, *net.parameters()]

    return run


for _kind, _settings in OPTIMIZERS.items():
    for _number, _options in enumerate(_settings):
        CASES[f"optimizer.{_kind}/{_number}"] = steps(_kind, _options)
    CASES[f"again.{_kind}"] = steps(_kind, _settings[0], again=8)
    CASES[f"groups.{_kind}"] = steps(_kind, _settings[0], groups=True)
ATTRIBUTES = {
    "L1": {"regularizer": L1Decay(0.1)},
    "L2": {"regularizer": L2Decay(0.1)},
    "rate": {"learning_rate": 0.3},
    "still": {"trainable": False},
    "whole": {"need_clip": False},
}
for _name, _options in ATTRIBUTES.items():
    _clipped = {"learning_rate": 0.1, "weight_decay": 0.05, "grad_clip": nn.ClipGradByGlobalNorm(0.3)}
    CASES[f"attr.{_name}"] = lambda rng, o=_options, c=_clipped: steps("Momentum", c, paddle.ParamAttr(**o))(rng)
for _name, _clip in {
    "norm": lambda: nn.ClipGradByNorm(0.1),
    "global": lambda: nn.ClipGradByGlobalNorm(0.3),
    "value": lambda: nn.ClipGradByValue(0.02),
}.items():
    CASES[f"clip.{_name}"] = lambda rng, clip=_clip: steps("Adam", {"learning_rate": 0.01, "grad_clip": clip()})(rng)

lr = paddle.optimizer.lr
SCHEDULES = {
    "NoamDecay": lambda: lr.NoamDecay(16, 4),
    "ExponentialDecay": lambda: lr.ExponentialDecay(0.1, 0.9),
    "NaturalExpDecay": lambda: lr.NaturalExpDecay(0.1, 0.2),
    "InverseTimeDecay": lambda: lr.InverseTimeDecay(0.1, 0.3),
    "PolynomialDecay": lambda: lr.PolynomialDecay(0.1, 6, 0.01, 2.0),
    "PolynomialDecay/cycle": lambda: lr.PolynomialDecay(0.1, 4, 0.01, cycle=True),
    "PiecewiseDecay": lambda: lr.PiecewiseDecay([2, 5], [0.1, 0.05, 0.01]),
    "CosineAnnealingDecay": lambda: lr.CosineAnnealingDecay(0.1, 5, 0.01),
    "CosineAnnealingWarmRestarts": lambda: lr.CosineAnnealingWarmRestarts(0.1, 2, 2, 0.01),
    "StepDecay": lambda: lr.StepDecay(0.1, 3, 0.5),
    "MultiStepDecay": lambda: lr.MultiStepDecay(0.1, [2, 5], 0.3),
    "LambdaDecay": lambda: lr.LambdaDecay(0.1, lambda n: 0.9**n),
    "MultiplicativeDecay": lambda: lr.MultiplicativeDecay(0.1, lambda n: 0.9),
    "LinearWarmup": lambda: lr.LinearWarmup(0.1, 4, 0.0, 0.1),
    "LinearWarmup/after": lambda: lr.LinearWarmup(lr.ExponentialDecay(0.1, 0.5), 3, 0.01, 0.1),
    "LinearLR": lambda: lr.LinearLR(0.1, 5, 0.2, 0.9),
    "OneCycleLR": lambda: lr.OneCycleLR(0.5, 12),
    "OneCycleLR/linear": lambda: lr.OneCycleLR(0.5, 14, 10.0, 1e-3, 0.4, "linear", True),
    "CyclicLR": lambda: lr.CyclicLR(0.01, 0.2, 3, 2),
    "CyclicLR/exp": lambda: lr.CyclicLR(0.01, 0.2, 3, mode="exp_range", exp_gamma=0.9),
}


def rates(make, carried=True):
    """Returns a case: twelve rates, with a state that goes over to another schedule on the way."""

    def run(rng):
        schedule, seen = make(), []
        for number in range(12):
            if number == 5 and carried:
                again = make()
                again.set_state_dict(schedule.state_dict())
                schedule = again
            seen.append(float(schedule()))
            schedule.step()
        return np.array(seen)

    return run


for _name, _make in SCHEDULES.items():
    # Paddle's warm restarts begin anew when their state is loaded.
    CASES[f"lr.{_name}"] = rates(_make, _name != "CosineAnnealingWarmRestarts")


def plateau(rng):
    """Returns the rates that follow a metric."""
    schedule = lr.ReduceOnPlateau(0.1, patience=1, factor=0.5, cooldown=1)
    seen = []
    for metric in [1.0, 0.9, 0.95, 0.94, 0.93, 0.92, 0.91, 0.5, 0.6, 0.7, 0.8]:
        schedule.step(paddle.to_tensor(metric))
        seen.append(schedule())
    return np.array(seen)


CASES["lr.ReduceOnPlateau"] = plateau

LAYERS = {
    "Linear": (lambda: nn.Linear(4, 3), (5, 4)),
    "Conv2D": (lambda: nn.Conv2D(4, 6, 3, stride=2, padding=1, groups=2), (2, 4, 7, 6)),
    "Conv2D/same": (lambda: nn.Conv2D(4, 6, 3, padding="SAME", bias_attr=False), (2, 4, 7, 6)),
    "Conv1D": (lambda: nn.Conv1D(4, 6, 3, padding=1, dilation=2), (2, 4, 9)),
    "Conv3D": (lambda: nn.Conv3D(2, 3, 2), (1, 2, 4, 4, 3)),
    "Conv2DTranspose": (lambda: nn.Conv2DTranspose(4, 3, 3, stride=2, padding=1, output_padding=1), (2, 4, 4, 5)),
    "BatchNorm2D": (lambda: nn.BatchNorm2D(4), (3, 4, 5, 5)),
    "BatchNorm1D": (lambda: nn.BatchNorm1D(4, momentum=0.7), (6, 4)),
    "LayerNorm": (lambda: nn.LayerNorm([4, 5]), (3, 4, 5)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (3, 4, 5)),
    "InstanceNorm2D": (lambda: nn.InstanceNorm2D(4), (2, 4, 5, 5)),
    "MaxPool2D": (lambda: nn.MaxPool2D(3, 2, 1), (2, 3, 7, 6)),
    "AvgPool2D": (lambda: nn.AvgPool2D(3, 2, 1), (2, 3, 7, 6)),
    "AvgPool2D/inclusive": (lambda: nn.AvgPool2D(3, 2, 1, exclusive=False), (2, 3, 7, 6)),
    "AdaptiveAvgPool2D": (lambda: nn.AdaptiveAvgPool2D((3, 2)), (2, 3, 7, 6)),
    "AdaptiveMaxPool2D": (lambda: nn.AdaptiveMaxPool2D(2), (2, 3, 7, 6)),
    "Upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 3, 4)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), (2, 8, 3, 2)),
    "Pad2D": (lambda: nn.Pad2D([1, 2, 0, 1], mode="reflect"), (2, 3, 4, 5)),
    "Flatten": (lambda: nn.Flatten(), (2, 3, 4)),
    "GELU": (lambda: nn.GELU(), (3, 4)),
    "Hardswish": (lambda: nn.Hardswish(), (3, 4)),
    "Hardsigmoid": (lambda: nn.Hardsigmoid(), (3, 4)),
    "LeakyReLU": (lambda: nn.LeakyReLU(0.2), (3, 4)),
    "PReLU": (lambda: nn.PReLU(4), (3, 4, 2)),
    "Softplus": (lambda: nn.Softplus(2.0, 1.0), (3, 4)),
    "Maxout": (lambda: nn.Maxout(2), (2, 4, 3, 3)),
    "ThresholdedReLU": (lambda: nn.ThresholdedReLU(0.3), (3, 4)),
    "Swish": (lambda: nn.Swish(), (3, 4)),
    "LogSoftmax": (lambda: nn.LogSoftmax(), (3, 4)),
    "LSTM": (lambda: nn.LSTM(3, 4, 2), (2, 5, 3)),
    "GRU": (lambda: nn.GRU(3, 4, direction="bidirect"), (2, 5, 3)),
    "SimpleRNN": (lambda: nn.SimpleRNN(3, 4, time_major=True), (5, 2, 3)),
    "LSTMCell": (lambda: nn.LSTMCell(3, 4), (2, 3)),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0), (2, 4, 8)),
    "GRUCell": (lambda: nn.GRUCell(3, 4), (2, 3)),
    "SimpleRNNCell": (lambda: nn.SimpleRNNCell(3, 4), (2, 3)),
    "TransformerEncoder": (
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 12, 0.0, "gelu", normalize_before=True), 2, nn.LayerNorm(8)
        ),
        (2, 4, 8),
    ),
    "MultiHeadAttention": (lambda: nn.MultiHeadAttention(8, 2), (2, 4, 8)),
}


def flat(value):
    """Yields the tensors and arrays of a result."""
    for each in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(each, (list, tuple)):
            yield from flat(each)
        else:
            yield each


def layer(make, shape):
    """Returns a case: names and shapes of a state, results and gradients, and results in evaluation."""

    def run(rng):
        module = fill(make(), rng)
        x = numbers(rng, *shape)
        x.stop_gradient = False
        y = list(flat(module(x)))
        total = sum((each * numbers(rng, *each.shape)).sum() for each in y if each.dtype == paddle.float32)
        total.backward()
        slopes = [each.grad for each in [x, *module.parameters()] if not each.stop_gradient]
        # Paddle's recurrent networks name each parameter twice.
        names = {name: value for name, value in module.state_dict().items() if "cell" not in name}
        state = " ".join(f"{name}{list(value.shape)}" for name, value in names.items())
        module.eval()
        return [np.frombuffer(state.encode(), np.uint8), y, slopes, list(flat(module(x)))]

    return run


for _name, (_make, _shape) in LAYERS.items():
    CASES[f"nn.{_name}"] = layer(_make, _shape)

CASES |= expressions.cases(layer) | training.CASES

LOSSES = {
    "CrossEntropyLoss": (nn.CrossEntropyLoss, (4, 5), lambda rng: integers(rng, 5, 4), ["mean", "sum", "none"]),
    "MSELoss": (nn.MSELoss, (4, 5), lambda rng: numbers(rng, 4, 5), ["mean", "sum", "none"]),
    "L1Loss": (nn.L1Loss, (4, 5), lambda rng: numbers(rng, 4, 5), ["mean", "sum", "none"]),
    "SmoothL1Loss": (nn.SmoothL1Loss, (4, 5), lambda rng: numbers(rng, 4, 5), ["mean", "sum", "none"]),
    "BCEWithLogitsLoss": (
        nn.BCEWithLogitsLoss,
        (4, 5),
        lambda rng: F.sigmoid(numbers(rng, 4, 5)),
        ["mean", "sum", "none"],
    ),
    "KLDivLoss": (
        nn.KLDivLoss,
        (4, 5),
        lambda rng: F.softmax(numbers(rng, 4, 5)),
        ["mean", "sum", "none", "batchmean"],
    ),
    "NLLLoss": (lambda **o: nn.NLLLoss(**o), (4, 5), lambda rng: integers(rng, 5, 4), ["mean", "sum", "none"]),
}


def loss(make, shape, target, reduction):
    """Returns a case: a loss and its gradient."""

    def run(rng):
        x = numbers(rng, *shape)
        x.stop_gradient = False
        value = make(reduction=reduction)(x, target(rng))
        value.sum().backward()
        return [value, x.grad]

    return run


for _name, (_make, _shape, _target, _reductions) in LOSSES.items():
    for _reduction in _reductions:
        CASES[f"loss.{_name}/{_reduction}"] = loss(_make, _shape, _target, _reduction)


def digest(values):
    """Returns three numbers of an array, as those of ``recording.py``."""
    values = np.asarray(values)
    values = np.stack([values.real, values.imag]) if np.iscomplexobj(values) else values
    values = np.nan_to_num(values.astype(np.float64).reshape(-1), nan=12.345, posinf=23.456, neginf=-34.567)
    values = np.clip(values, -1e9, 1e9)
    weights = np.cos(1.7 * np.arange(values.size) + 0.3)
    ramp = np.arange(1, values.size + 1) / max(values.size, 1)
    return [float(values @ weights), float(np.abs(values).sum()), float(values @ ramp)]


def main(arguments):
    """Runs all cases, and writes digests of their results down."""
    names, kinds, digests = [], [], []
    for name, case in CASES.items():
        try:
            found = list(flat(case(np.random.default_rng(zlib.crc32(name.encode())))))
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        for number, each in enumerate(found):
            if isinstance(each, str) or each is None:
                array, kind = np.zeros(0), str(each)
            else:
                array = each if isinstance(each, np.ndarray) else each.numpy()
                kind = f"{array.dtype}{list(array.shape)}"
            names.append(f"{name}|{number}")
            kinds.append(kind.replace("\n", " "))
            digests.append(digest(array))
            if "--print" in arguments:
                print(names[-1], kinds[-1], digests[-1])
    target = next((each for each in arguments if not each.startswith("--")), HERE / "references_paddle.npz")
    texts = {
        key: np.frombuffer("\n".join(lines).encode(), np.uint8) for key, lines in (("names", names), ("kinds", kinds))
    }
    np.savez_compressed(target, **texts, digests=np.array(digests, np.float32), version=np.array(paddle.__version__))


if __name__ == "__main__":
    main(sys.argv[1:])
