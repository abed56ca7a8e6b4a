"""Sequences of several lengths."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.compat.tables.torch_nn import RNN_UTILS as _TABLE
from lamella.nn._packed import PackedSequence as _Native

from ... import _words

_find = _words.serve(_words.Names(__name__, [("lamella.nn.utils.rnn", _TABLE, _words.FUNCTIONS)]))
_native_pack: Callable[..., _Native] = _find("pack_padded_sequence")


@functools.wraps(_native_pack)
def pack_padded_sequence(
    input: lm.Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> _Native:
    """Packs padded sequences, whose lengths may be floating numbers, too."""
    if isinstance(lengths, lm.Tensor) and lm.isdtype(lengths.dtype, "real floating"):
        lengths = lengths.astype(lm.int64)
    return _native_pack(input, lengths, batch_first, enforce_sorted)


__getattr__ = _find


def _to(self: _Native, *args: Any, **options: Any) -> _Native:
    """Returns the steps on another device or in another dtype, and the places of sequences on that device, too."""
    data = self.data.to(*args, **options)
    if data is self.data:
        return self
    places = [None if each is None else each.to(data.device) for each in self[2:]]
    return _Native(data, self.batch_sizes, *places)


def _method(name: str) -> Any:
    def method(self: _Native, *args: Any, **options: Any) -> _Native:
        data = getattr(self.data, name)(*args, **options)
        return _to(self, device=data.device, dtype=data.dtype)

    method.__doc__ = f"Returns the steps as Tensor.{name}() has them."
    return method


_packed: Any = _Native
_packed.to = _to
_packed.is_pinned = lambda self: self.data.is_pinned()
_CASTS = ("double", "float", "half", "bfloat16", "long", "int", "short", "byte", "char")
for _name in ("cpu", "cuda", "pin_memory", *_CASTS):
    setattr(_packed, _name, _method(_name))
