"""In-place operators as PyTorch's programs call them."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import lamella as lm
from lamella import Tensor


def written(made: Any, out: Any) -> Any:
    """Returns results, written over the tensors that are given for them where there are any."""
    if out is None:
        return made
    if isinstance(made, (tuple, list)):
        for each, place in zip(made, out, strict=True):
            written(each, place)
        kind: Any = type(made)
        if kind in (tuple, list):
            return tuple(out)
        return kind._make(out) if hasattr(kind, "_make") else kind(out)  # results keep their names
    if made is out:
        return out
    _refuse_cast("out", made, out)
    if tuple(out.shape) != tuple(made.shape):
        if math.prod(out.shape):
            text = f"[out] a tensor of shape {list(out.shape)} is resized for a result of shape {list(made.shape)}"
            warnings.warn(text, stacklevel=3)
        out.resize_(made.shape)
    return out.copy_(made)


def over_itself(made: Tensor, x: Tensor) -> Tensor:
    """Overwrites a tensor by what was computed of it, which has its shape and fits into its dtype."""
    _refuse_cast("copy_", made, x)
    return x.copy_(made)


def _refuse_cast(op: str, made: Tensor, place: Tensor) -> None:
    if not can_cast(made.dtype, place.dtype):
        raise RuntimeError(
            f"[{op}] results of dtype {made.dtype.name} do not fit into a tensor of dtype {place.dtype.name}: give one "
            f"of {made.dtype.name}"
        )


def written_in_a_row(made: Tensor, out: Tensor | None) -> Tensor:
    """Returns numbers in a row, written over a tensor in any shape of as many elements."""
    fits = out is not None and math.prod(out.shape) == math.prod(made.shape)
    found: Tensor = written(lm.reshape(made, tuple(out.shape)) if fits else made, out)  # type: ignore[union-attr]
    return found


#: Kinds of numbers in the order in which one becomes the next.
KINDS = ("bool", "integral", "real floating", "complex floating")


@functools.cache
def _kind_of(dtype: Any) -> int:
    """Returns the place of a dtype's kind of numbers among :data:`KINDS`."""
    return next(place for place, kind in enumerate(KINDS) if lm.isdtype(dtype, kind))


def can_cast(from_: lm.DType, to: lm.DType) -> bool:
    """True if numbers of a dtype may be written into tensors of another: floats into none of integers, and so on."""
    return _kind_of(from_) <= _kind_of(to)


#: Operators that write what they are given, or what is computed of it, over their tensor.
OPERATORS = [
    *("add_", "addcdiv_", "addcmul_", "copy_", "div_", "index_add_", "lerp_", "masked_fill_", "mul_", "sub_"),
    *("__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__"),
]


def off_the_tape(native: Any) -> Any:
    """Returns an in-place operator that writes on the memory of ``x.detach()``, too, whatever it is given.

    Lamella refuses to record that, as gradients of ``x`` would not know; PyTorch's programs mean it so.
    """

    @functools.wraps(native)
    def method(self: Tensor, *args: Any, **named: Any) -> Any:
        try:
            return native(self, *args, **named)
        except RuntimeError as error:
            if "through detach()" not in str(error):
                raise
            with lm.no_grad():
                return native(self, *args, **named)

    return method


def factor_first(native: Any) -> Any:
    """Returns addcmul_() or addcdiv_(), to which older programs give the factor first."""

    def method(self: Tensor, *tensors: Any, value: Any = 1, **named: Any) -> Any:
        if len(tensors) == 3:
            value, *tensors = tensors  # type: ignore[assignment]
        return native(self, *tensors, value=value, **named)

    return method


def by_dim(native: Any) -> Any:
    """Returns an in-place operator that is given its axis by PyTorch's word, too."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if "dim" in kwargs:
            kwargs["axis"] = kwargs.pop("dim")
        index = kwargs["index"] if "index" in kwargs else args[1] if len(args) > 1 else None
        if isinstance(index, Tensor) and index.size == 0 and index.ndim != self.ndim:
            return self  # places that are none at all
        return native(self, *args, **kwargs)

    return method


def by_words(native: Any, *words: str, dropped: str = "") -> Any:
    """Returns an in-place operator whose arguments may be given by PyTorch's words; one of them changes nothing."""

    def method(self: Tensor, *args: Any, **named: Any) -> Any:
        if named:
            named.pop(dropped, None)
            args = (*args, *[named.pop(word) for word in words[len(args) :] if word in named])
        return native(self, *args, **named)

    return method
