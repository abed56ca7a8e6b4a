"""What the cases of ``cases`` compute, as a few numbers for each result.

Cases are written in PyTorch's words and run in two ways: by ``make.py`` with PyTorch itself, which writes the numbers
down, and by ``test_peers.py`` through Lamella's front, which compares. All randomness is numpy's, seeded by the case's
name.
"""

import math
import zlib

import numpy as np
import torch

#: The cases by name: functions of a random generator that return results, nested in tuples, lists and dicts.
CASES = {}


def case(name):
    """Registers the function below as the case ``name``."""

    def register(function):
        assert name not in CASES, name
        CASES[name] = function
        return function

    return register


def add(name, function):
    """Registers a function as the case ``name``."""
    case(name)(function)


def generator(name):
    """Returns the random generator of a case."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def flat(result, path=""):
    """Yields the leaves of a result with their paths."""
    if isinstance(result, dict):
        for key, value in result.items():
            yield from flat(value, f"{path}.{key}")
    elif isinstance(result, (tuple, list)) and not isinstance(result, torch.Size):
        for index, value in enumerate(result):
            yield from flat(value, f"{path}.{index}")
    elif isinstance(result, torch.Tensor):
        dtype = str(result.dtype).removeprefix("torch.").removeprefix("lamella.")
        wide = result.detach().to(torch.float32) if "bfloat16" in dtype else result.detach()
        yield path, dtype, wide.cpu().resolve_conj().numpy()
    elif isinstance(result, (bool, int, float, np.number)):
        yield path, "number", np.asarray(float(result))
    else:
        yield path, str(result), np.zeros(0)


def computed(name):
    """Returns what a case computes: paths, kinds and arrays of its results, or the type of the error that it raises."""
    torch.manual_seed(0)
    try:
        return list(flat(CASES[name](generator(name))))
    except Exception as error:
        return [("!", f"{type(error).__name__}: {error}", np.zeros(0))]


def digest(array):
    """Returns three numbers of an array: a sum with weights, the sum of magnitudes, and the last element's share."""
    values = np.asarray(array)
    if np.iscomplexobj(values):
        values = np.stack([values.real, values.imag])
    values = values.astype(np.float64).reshape(-1)
    values = np.clip(np.nan_to_num(values, nan=12.345, posinf=23.456, neginf=-34.567), -1e9, 1e9)
    weights = np.cos(1.7 * np.arange(values.size) + 0.3)
    ramp = np.arange(1, values.size + 1) / max(values.size, 1)
    return float(values @ weights), float(np.abs(values).sum()), float(values @ ramp)


# ---- what cases are made of


def tensor(rng, *shape, low=None, high=None, grad=False, dtype=torch.float32):
    """Returns normal numbers, or with ``low`` and ``high`` uniform ones."""
    values = rng.standard_normal(shape) if low is None else rng.uniform(low, high, shape)
    made = torch.tensor(values.tolist(), dtype=dtype).reshape(shape)
    return made.requires_grad_() if grad else made


def integers(rng, low, high, *shape):
    """Returns integers in [low, high)."""
    return torch.tensor(rng.integers(low, high, shape).tolist()).reshape(shape)


def fill(module, rng):
    """Gives all parameters and buffers of floating numbers values: positive ones to variances."""
    with torch.no_grad():
        for name, value in [*module.named_parameters(), *module.named_buffers()]:
            if value.is_floating_point():
                numbers = tensor(rng, *value.shape) * 0.4
                value.copy_(numbers.abs() + 0.5 if name.endswith("running_var") else numbers)
    return module


def described(module):
    """Returns the names and shapes of a module's state."""
    return " ".join(f"{name}{list(value.shape)}" for name, value in module.state_dict().items())


def gradients(result, inputs, rng):
    """Returns the gradients of all inputs, for random gradients of all floating results."""
    total = 0
    for _, leaf in _tensors(result):
        if leaf.is_floating_point() and leaf.requires_grad:
            total = total + (leaf * tensor(rng, *leaf.shape).to(leaf.dtype)).sum()
    wanted = [x for x in inputs if x.requires_grad]
    if isinstance(total, int) or not wanted:
        return []
    found = torch.autograd.grad(total, wanted, allow_unused=True)
    return ["none" if each is None else each for each in found]


def _tensors(result, path=""):
    if isinstance(result, torch.Tensor):
        yield path, result
    elif isinstance(result, (tuple, list)):
        for index, each in enumerate(result):
            yield from _tensors(each, f"{path}.{index}")


def layer(make, *inputs, call=None, evaluated=True):
    """Returns a case: a layer's state, its results and gradients in training, its buffers, its results in evaluation.

    Args:
        make: makes the layer.
        inputs: functions of a generator that make the arguments.
        call: calls the layer with the arguments.
        evaluated: False leaves evaluation out.
    """

    def run(rng):
        module = fill(make(), rng)
        arguments = [each(rng) for each in inputs]
        ask = call or (lambda module, *arguments: module(*arguments))
        module.train()
        state = described(module)
        result = ask(module, *arguments)
        wanted = [x for x in arguments if isinstance(x, torch.Tensor)] + list(module.parameters())
        slopes = gradients(result, wanted, rng)
        buffers = [value for _, value in module.named_buffers()]
        module.eval()
        with torch.no_grad():
            after = ask(module, *arguments) if evaluated else ()
        return {"state": state, "y": result, "g": slopes, "b": buffers, "eval": after}

    return run


def function(ask, *inputs):
    """Returns a case: a function's results and gradients."""

    def run(rng):
        arguments = [each(rng) for each in inputs]
        result = ask(*arguments)
        return {"y": result, "g": gradients(result, [x for x in arguments if isinstance(x, torch.Tensor)], rng)}

    return run


def x(*shape, low=None, high=None, dtype=None):
    """Returns a maker of a floating argument that wants a gradient."""
    return lambda rng: tensor(rng, *shape, low=low, high=high, grad=True, dtype=dtype or torch.float32)


def fixed(*shape, low=None, high=None):
    """Returns a maker of a floating argument without a gradient."""
    return lambda rng: tensor(rng, *shape, low=low, high=high)


def index(high, *shape, low=0):
    """Returns a maker of integers in [low, high)."""
    return lambda rng: integers(rng, low, high, *shape)


def just(value):
    """Returns a maker of one value."""
    return lambda rng: value


def close(ours, reference, rtol):
    """True if digests agree: within ``rtol`` of the sum of magnitudes."""
    room = rtol * (reference[1] + 1e-3)
    return all(math.isfinite(a) and abs(a - b) <= room for a, b in zip(ours, reference, strict=True))
