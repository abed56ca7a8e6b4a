"""Sequences of several lengths."""

from __future__ import annotations

from typing import Any

from lamella.compat.tables.torch_nn import RNN_UTILS as _TABLE
from lamella.nn._packed import PackedSequence as _Native

from ... import _words

__getattr__ = _words.serve(_words.Names(__name__, [("lamella.nn.utils.rnn", _TABLE, _words.FUNCTIONS)]))


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
