"""Functions of lists of tensors, ``torch._foreach_add_`` and its kin: the function of the tensors at each place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella import Tensor


def function_of(name: str) -> Callable[..., Any] | None:
    """Returns the function of lists behind a name such as ``_foreach_mul_``, or None where there is none.

    Those whose names end in ``_`` write over the tensors of the first list and return it. Further arguments are lists,
    with an item for each place, or the same for all.
    """
    if not name.startswith("_foreach_"):
        return None
    word = name.removeprefix("_foreach_")
    in_place = word.endswith("_")
    single = _SINGLE.get(word) or (getattr(Tensor, word, None) if in_place else _function(word))
    if single is None:
        return None
    is_power = word == "pow"
    has_factors = word.rstrip("_") in ("addcdiv", "addcmul")

    def function(self: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        for given in _SCALARS & kwargs.keys():
            args = (*args, kwargs.pop(given))
        if is_power and not isinstance(self, (list, tuple)):  # a number to the powers of a list
            return tuple(single(self, x) for x in args[0])
        if has_factors:
            args, kwargs = _with_factors(args, kwargs)
        made = tuple(
            single(x, *(_at(each, i) for each in args), **{key: _at(each, i) for key, each in kwargs.items()})
            for i, x in enumerate(self)
        )
        return self if in_place else made

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Calls ``{word}`` with the tensors at each place of lists."
    return function


#: Words by which numbers that go with lists of tensors are given.
_SCALARS = frozenset({"scalar", "scalars"})


def _function(word: str) -> Any:
    torch = sys.modules["torch"]
    return getattr(torch, word, None) or getattr(Tensor, word, None)


def _at(given: Any, place: int) -> Any:
    return given[place] if isinstance(given, (list, tuple)) else given


def _with_factors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns arguments in which the factor is named; those of a tensor are a list."""
    *tensors, factors = args if len(args) == 3 else (*args, kwargs.get("value", 1))
    if isinstance(factors, Tensor) and factors.ndim == 1:
        factors = factors.tolist()
    return tuple(tensors), {**kwargs, "value": factors}


def _norm(x: Tensor, ord: Any = 2, dtype: Any = None) -> Tensor:
    found: Tensor = lm.linalg.vector_norm(x, ord=ord)
    return found if dtype is None else found.astype(dtype)


def _copy(x: Tensor, other: Tensor, non_blocking: bool = False) -> Tensor:
    return x.copy_(other)


#: Those whose words mean something else of one tensor.
_SINGLE: dict[str, Callable[..., Any]] = {
    "copy_": _copy,
    "max": lm.max,
    "norm": _norm,
    "maximum_": lambda x, other: x.copy_(lm.maximum(x, other)),
    "minimum_": lambda x, other: x.copy_(lm.minimum(x, other)),
}


def _group_tensors_by_device_and_dtype(tensorlistlist: Any, with_indices: bool = False) -> dict[Any, Any]:
    """Returns lists of tensors by the device and dtype of those of the first list, and their places."""
    groups: dict[Any, tuple[list[list[Any]], list[int]]] = {}
    for place, first in enumerate(tensorlistlist[0]):
        lists, places = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for made, given in zip(lists, tensorlistlist, strict=True):
            made.append(given[place] if given else None)
        places.append(place)
    return groups
