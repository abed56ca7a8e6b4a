"""Functions of lists of tensors: ``torch._foreach_add`` and its kin, each tensor by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor

_PREFIX = "_foreach_"


def function(name: str) -> Callable[..., Any] | None:
    """Returns the function of a name that begins with ``_foreach_``; None for others, and where there is none."""
    if not name.startswith(_PREFIX):
        return None
    word = name.removeprefix(_PREFIX)
    torch = sys.modules["torch"]
    if word == "norm":
        return lambda tensors, ord=2, dtype=None: tuple(lm.linalg.vector_norm(each, ord=ord) for each in tensors)
    if word == "max":
        return lambda tensors: tuple(each.max() for each in tensors)
    if not hasattr(Tensor, word) and not hasattr(torch, word):
        return None
    of_one: Any = getattr(Tensor, word, None) or getattr(torch, word)
    takes_factor = word in ("addcdiv", "addcdiv_", "addcmul", "addcmul_")

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls the function for each tensor; lists among the arguments have one for each."""
        if takes_factor and len(args) == 3:
            *args, factor = args  # type: ignore[assignment]
            kwargs = {**kwargs, "value": factor}
        factors = kwargs.get("value")
        if isinstance(factors, Tensor) and factors.ndim == 1:
            kwargs["value"] = factors.tolist()

        def of(place: int, value: Any) -> Any:
            return value[place] if isinstance(value, (list, tuple)) else value

        made = tuple(
            of_one(each, *[of(place, value) for value in args], **{word: of(place, v) for word, v in kwargs.items()})
            for place, each in enumerate(self)
        )
        return self if name.endswith("_") else made

    call.__name__ = call.__qualname__ = name
    return call


def _group_tensors_by_device_and_dtype(tensorlistlist: Any, with_indices: bool = False) -> dict[Any, Any]:
    """Returns lists of tensors by the device and dtype of those of the first list, and their places."""
    groups: dict[Any, tuple[list[list[Any]], list[int]]] = {}
    for place, first in enumerate(tensorlistlist[0]):
        lists, places = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for made, given in zip(lists, tensorlistlist, strict=True):
            made.append(given[place] if given else None)
        places.append(place)
    return groups
