"""States of optimizers under Paddle's names, as its files have them: ``linear_0.w_0_moment1_0``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import lamella as lm

#: Counts of steps that ``ModelAverage`` remembers of each parameter, as tensors of one element.
AVERAGED = ("num_accumulates", "old_num_accumulates", "num_updates")
#: What Paddle calls the tensors of a state, by the class of the optimizer and the native names.
TENSORS: dict[str, dict[str, str]] = {
    "Momentum": {"momentum_buffer": "velocity"},
    **{
        kind: {"exp_avg": "moment1", "exp_avg_sq": "moment2", "max_exp_avg_sq": "moment2_max"}
        for kind in ("Adam", "AdamW", "Lamb", "NAdam", "RAdam")
    },
    "Adamax": {"exp_avg": "moment", "exp_inf": "inf_norm"},
    "Adagrad": {"sum": "moment"},
    "Adadelta": {"square_avg": "_avg_squared_grad", "acc_delta": "_avg_squared_update"},
    "RMSProp": {"velocity": "momentum", "square": "mean_square", "mean": "mean_grad"},
    "Rprop": {"prev": "prevs", "step_size": "learning_rates"},
    "ASGD": {"total": "d", "seen": "y"},
    "LookAhead": {"slow": "slow"},
    "ModelAverage": {word: word for word in ("sum_1", "sum_2", "sum_3", "restore", *AVERAGED)},
}


def _counts(
    kind: str, group: Mapping[str, Any], state: Mapping[str, Any], shape: list[int], dtype: str
) -> Iterator[Any]:
    """Yields the names and tensors by which Paddle knows how many steps have been made."""
    step = state.get("step", 0)

    def one(value: float) -> lm.Tensor:
        return lm.full((1,), value, dtype=dtype)

    def all_over(value: float) -> lm.Tensor:
        return lm.full(tuple(shape), value, dtype=dtype)

    betas = group.get("betas", (0.0, 0.0))
    if kind in ("Adam", "AdamW", "Lamb", "Adamax"):
        for number, beta in enumerate(betas if kind != "Adamax" else betas[:1]):
            yield f"beta{number + 1}_pow_acc", one(beta ** (step + 1))
    elif kind == "NAdam":
        yield "momentum_decay_pow", all_over(0.96**step)
        yield "beta2_pow", all_over(betas[1] ** step)
        yield "mu_product", all_over(state.get("mu_product", 1.0))
    elif kind == "RAdam":
        yield "beta1_pow", all_over(betas[0] ** step)
        yield "beta2_pow", all_over(betas[1] ** step)
        share = betas[1] ** step
        longest = 2.0 / (1.0 - betas[1]) - 1.0
        yield "rho", all_over(longest if not step else step * share / (1.0 - share))
    elif kind == "ASGD":
        yield "m", lm.full((1,), step, dtype="int64")


def to_paddle(kind: str, names: list[str], groups: list[Any], states: list[Any]) -> dict[str, Any]:
    """Returns the state in Paddle's form.

    Args:
        kind: the optimizer's class.
        names: of the parameters, in their order.
        groups: the group of each.
        states: the native state of each, or None.
    """
    words = TENSORS.get(kind, {})
    # Each kind of tensor comes for all parameters before the next one, as in Paddle.
    kinds: dict[str, dict[str, Any]] = {}

    def keep(name: str, word: str, value: Any) -> None:
        kinds.setdefault(word, {})[f"{name}_{word}_0"] = value

    for name, group, state in zip(names, groups, states, strict=True):
        if not state:
            continue
        tensors = {key: value for key, value in state.items() if isinstance(value, lm.Tensor)}
        for key, value in tensors.items():
            keep(name, words.get(key, key), value)
        shape = list(next(iter(tensors.values())).shape) if tensors else []
        dtype = "float64" if any(value.dtype == lm.float64 for value in tensors.values()) else "float32"
        for word, value in _counts(kind, group, state, shape, dtype):
            keep(name, word, value)
    return {name: value for members in kinds.values() for name, value in members.items()}


def from_paddle(kind: str, name: str, group: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the native state of a parameter from what Paddle's form holds of it."""
    own = {
        match[1]: value
        for key, value in given.items()
        if key.startswith(f"{name}_") and (match := re.fullmatch(r"(.+)_\d+", key[len(name) + 1 :]))
    }
    if not own:
        return {}
    words = {word: key for key, word in TENSORS.get(kind, {}).items()}
    state: dict[str, Any] = {
        words[word]: value if isinstance(value, lm.Tensor) else lm.asarray(value)
        for word, value in own.items()
        if word in words
    }

    def number(word: str) -> float:
        return float(lm.reshape(lm.asarray(own[word]), (-1,))[0].item())

    betas = group.get("betas", (0.0, 0.0))
    for word, base, ahead in (
        ("beta1_pow_acc", betas[0], 1),
        ("momentum_decay_pow", 0.96, 0),
        ("beta1_pow", betas[0], 0),
    ):
        if word in own and 0 < base < 1 and number(word) > 0:
            state["step"] = max(round(math.log(number(word)) / math.log(base)) - ahead, 0)
    if "mu_product" in own:
        state["mu_product"] = number("mu_product")
    if "m" in own:
        state["step"] = int(number("m"))
    if kind in ("Adagrad", "Adadelta", "Rprop"):
        state.setdefault("step", 1)
    return state
