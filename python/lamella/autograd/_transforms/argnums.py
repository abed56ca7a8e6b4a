"""Functions as functions of some of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class ArgNums:
    """Positional arguments of ``func`` to differentiate with respect to: an index, or a tuple of them.

    Raises:
        TypeError: ``func`` is no function, or ``argnums`` something else.
    """

    def __init__(self, op: str, func: Callable[..., Any], argnums: int | tuple[int, ...]) -> None:
        if not callable(func):
            raise TypeError(f"[{op}] func is {type(func).__name__}: expected a function")
        self.several = isinstance(argnums, tuple)
        self._wanted: tuple[Any, ...] = argnums if isinstance(argnums, tuple) else (argnums,)
        if not self._wanted or any(isinstance(n, bool) or not isinstance(n, int) for n in self._wanted):
            raise TypeError(f"[{op}] argnums is {argnums!r}: expected an int or a tuple of ints")
        self._op = op
        self._func = func
        self._argnums = argnums

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Returns a function of the chosen arguments alone, and these.

        Raises:
            ValueError: the call has no such arguments.
        """
        places = [n + len(args) if n < 0 else n for n in self._wanted]
        if any(not 0 <= n < len(args) for n in places) or len(set(places)) != len(places):
            raise ValueError(
                f"[{self._op}] argnums is {self._argnums!r}, the call has {len(args)} positional arguments"
            )

        def of_chosen(*chosen: Any) -> Any:
            arguments = list(args)
            for place, value in zip(places, chosen, strict=True):
                arguments[place] = value
            return self._func(*arguments, **kwargs)

        return of_chosen, tuple(args[n] for n in places)
