"""State that PyTorch's optimizers keep and Lamella's compute anew, or keep in another form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import lamella as lm
from lamella.optim import ASGD, LBFGS, Optimizer

#: Numbers of averaged descent that were computed for the next step when the last one was made.
_NEXT = ("eta", "mu")


def _advance(self: Any, parameters: Any, gradients: Any, states: Any, group: Any) -> None:
    """Moves tensors by the numbers of the last step, and remembers those of the next one under the present options."""
    if not states:
        return
    counts, rate = self.counted(states[0], group), float(group["lr"])
    eta, mu = states[0].get("eta", rate), states[0].get("mu", 1.0)
    self.move(parameters, gradients, states, (eta, 1.0 - group["lambd"] * eta, mu), group)
    step = counts["step"]
    following = {
        "eta": rate / (1.0 + group["lambd"] * rate * step) ** group["alpha"],
        "mu": 1.0 / max(1.0, step - group["t0"]),
    }
    for state in states:
        state.update(counts, **following)


def in_their_form(optimizer: Optimizer, values: Any) -> Any:
    """Returns what is remembered of a tensor as PyTorch's optimizer of the kind reads it."""
    if not isinstance(optimizer, LBFGS) or not isinstance(values, Mapping) or "prev_flat_grad" not in values:
        return values
    made = dict(values)
    steps, slopes = (list(made.pop(name, ())) for name in ("s", "y"))
    products = [lm.sum(s * y) for s, y in zip(steps, slopes, strict=True)]
    diagonal = products[-1] / lm.sum(slopes[-1] * slopes[-1]) if products else 1
    return {
        **made,
        "old_dirs": slopes,
        "old_stps": steps,
        "ro": [1.0 / product for product in products],
        "H_diag": diagonal,
        "prev_loss": None,
    }


def take_numbers(optimizer: Optimizer, state: Mapping[Any, Any]) -> None:
    """Takes over the numbers of the next step from a state, by the positions of tensors."""
    if isinstance(optimizer, ASGD):
        for position, parameter in enumerate(optimizer._parameters()):
            saved = state.get(position, {})
            optimizer.state[parameter].update((name, float(saved[name])) for name in _NEXT if name in saved)


def without_numbers(optimizer: Optimizer, state: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Returns a state without the numbers that :func:`take_numbers` reads, which PyTorch writes as tensors."""
    if not isinstance(optimizer, ASGD):
        return state
    return {
        key: {name: each[name] for name in each if name not in _NEXT} if isinstance(each, Mapping) else each
        for key, each in state.items()
    }


_averaged: Any = ASGD
_averaged.counters = ("step", *_NEXT)
_averaged._advance = _advance
