"""Random numbers: a generator for each device, seeds, states, and scopes that leave no trace.

Every number is made from a generator's seed and the number's place in the stream alone (Philox4x32-10; Salmon et al.
2011, "Parallel random numbers: as easy as 1, 2, 3"). So the same seed gives the same bits for any number of threads,
and the whole state is three integers.

Operators that draw take ``generator=``, a :class:`Generator` of the device they draw on (another one is a ValueError);
without it they draw from that device's default generator. On ``"meta"`` nothing is drawn.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from ._C import (
    Generator,
    bernoulli,
    cauchy,
    default_generator,
    exponential,
    gamma,
    geometric,
    get_rng_state,
    laplace,
    log_normal,
    multinomial,
    normal,
    permutation,
    poisson,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
    restore_rng_states,
    rng_states,
    seed,
    set_rng_state,
    truncated_normal,
    uniform,
)

__all__ = [
    "Generator",
    "bernoulli",
    "cauchy",
    "default_generator",
    "exponential",
    "fork_rng",
    "gamma",
    "geometric",
    "get_rng_state",
    "laplace",
    "log_normal",
    "multinomial",
    "normal",
    "permutation",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "restore_rng_states",
    "rng_states",
    "seed",
    "set_rng_state",
    "truncated_normal",
    "uniform",
]

_P = ParamSpec("_P")
_R = TypeVar("_R")


class _ForkRng:
    """Scope of :func:`fork_rng`. One object may be entered again before it is left."""

    def __init__(self, devices: list[str] | None, enabled: bool) -> None:
        self._devices = devices
        self._enabled = enabled
        self._saved: list[dict[str, tuple[int, int, int]]] = []

    def __enter__(self) -> Self:
        if self._enabled:
            self._saved.append(rng_states(self._devices))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        if self._enabled:
            restore_rng_states(self._saved.pop())

    def __call__(self, function: Callable[_P, _R], /) -> Callable[_P, _R]:
        if not callable(function) or isinstance(function, type):
            raise TypeError(f"[fork_rng] decorates functions, got {function!r}")
        import inspect  # slow to import, and seldom needed

        if (
            inspect.isgeneratorfunction(function)
            or inspect.iscoroutinefunction(function)
            or inspect.isasyncgenfunction(function)
        ):
            # A generator's states cannot be restored between its steps, as others draw from the same generators then.
            name = getattr(function, "__name__", repr(function))
            raise TypeError(
                f"[fork_rng] '{name}' runs in pieces: use `with fork_rng()` within them, or give it a Generator"
            )

        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            # Each call gets an object of its own, as the function may run on several threads.
            with _ForkRng(self._devices, self._enabled):
                return function(*args, **kwargs)

        return call


def fork_rng(devices: Sequence[str] | str | None = None, enabled: bool = True) -> _ForkRng:
    """Random numbers drawn in its ``with`` block, or in the function it decorates, leave no trace.

    The default generators go back to where they stood before, after an exception too. They belong to the process:
    what other threads draw from them meanwhile is undone as well. Generators of your own are left alone.

    Args:
        devices: whose generators, such as ``["cuda:0"]``; the CPU's always is among them. ``None`` stands for all,
            those first used in the block included, and for what :func:`seed` set.
        enabled: ``False`` does nothing, so that a program can choose.

    Raises:
        TypeError: for what is no sequence of device names.
        ValueError: for the name of no device, and for ``"meta"``, where nothing is drawn.
        RuntimeError: where there is no such device.
    """
    if not isinstance(enabled, bool):
        raise TypeError(f"[fork_rng] enabled: expected a bool, got {type(enabled).__name__}")
    if devices is None:
        return _ForkRng(None, enabled)
    names = [devices] if isinstance(devices, str) else devices
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        hint = "; a decorator is written @fork_rng()" if callable(devices) else ""
        raise TypeError(f"[fork_rng] devices: expected names such as ['cuda:0'] or None, got {devices!r}{hint}")
    own = ["cpu", *(name for name in names if name != "cpu")]
    rng_states(own)  # raises for a wrong name here, not where the block begins
    return _ForkRng(own, enabled)
