"""Runs functions with side effects, compiled and as they are: see test_side_effects.py."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import random
from collections.abc import Callable
from typing import Any

import numpy as np

import lamella as lm

CALLS = 9
CASES: dict[str, Callable[[], Any]] = {}


def case(make: Callable[[], Any]) -> Callable[[], Any]:
    """Registers a case: a function that returns (function, arguments of call i, state)."""
    CASES[make.__name__] = make
    return make


def x_of(i: int, shape: tuple[int, ...] = (3, 4), seed: int = 0) -> lm.Tensor:
    values = np.random.default_rng(100 * seed + i).normal(size=shape).astype(np.float32)
    return lm.tensor(values, stop_gradient=False)


def plain(value: Any) -> Any:
    if isinstance(value, lm.Tensor):
        return np.array(value.detach().numpy()).tolist(), value.dtype.name, value.stop_gradient
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        return plain(vars(value))
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value


def history(make: Callable[[], Any], compile_: bool) -> tuple[list[Any], Any]:
    """What the calls of a case give, print and leave behind, and the function that was called."""
    random.seed(1)
    np.random.seed(1)
    lm.random.seed(1)
    made = make()
    function, arguments, state = made[0], made[1], made[2] if len(made) > 2 else lambda: None
    run = lm.compile(function) if compile_ else function
    seen = []
    for i in range(CALLS):
        args = arguments(i)
        args = args if isinstance(args, tuple) else (args,)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                result = run(*args)
                recording = lm.is_grad_enabled()
                lm.set_grad_enabled(True)
            except Exception as error:
                seen.append((type(error).__name__, str(error)))
                continue
        first = next((x for x in (result if isinstance(result, (list, tuple)) else [result])
                      if isinstance(x, lm.Tensor) and not x.stop_gradient), None)  # fmt: skip
        gradients = None
        if first is not None and not first.is_leaf:
            first.sum().backward()
            gradients = [None if x.grad is None else plain(x.grad) for x in args if isinstance(x, lm.Tensor)]
        seen.append((recording, plain(result), gradients, printed.getvalue(), plain(state())))
    return seen, run
