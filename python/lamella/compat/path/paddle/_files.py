"""Files of ``paddle.save``: which of their arrays were tensors, and those tensors' names."""

from __future__ import annotations

import copyreg
import os
import pickle
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor

#: Key of a state dict's names of tensors, beside the entries that are tensors.
_NAMES = "StructuredToParameterName@@"


def save(obj: Any, path: Any, protocol: int = 4, **configs: Any) -> None:
    """Writes an object in Paddle's format: pickled, with arrays in place of tensors. Folders of the path are made.

    A dict of tensors is written with a table of their names; elsewhere a name stands beside each tensor's elements.
    """
    if hasattr(path, "write"):
        _write(obj, path, protocol)
        return
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        _write(obj, file, protocol)


def load(path: Any, return_numpy: bool = False, **configs: Any) -> Any:
    """Returns the object of a file that :func:`save` or Paddle wrote.

    Tensors come back as tensors of their names, or as arrays where ``return_numpy``; arrays beside tensors stay arrays.
    In a file without any tensor arrays become tensors, as the oldest files do not tell them apart.

    Raises:
        pickle.UnpicklingError: the file holds an object other than arrays and plain data.
    """
    if hasattr(path, "read"):
        read = _Unpickler(path).load()
    else:
        with open(path, "rb") as file:
            read = _Unpickler(file).load()
    if isinstance(read, dict) and _NAMES in read:
        names = read.pop(_NAMES)
        return {key: _tensor(x, names[key], return_numpy) if key in names else x for key, x in read.items()}
    if _any(read, _is_named):
        return _each(read, lambda x: _tensor(x[1], x[0], return_numpy) if _is_named(x) else x)
    return _each(read, lambda x: _tensor(x, None, return_numpy) if _is_array(x) else x)


def bits_of(x: Tensor) -> Any:
    """Returns the elements as an array; those of bfloat16, which numpy lacks, as the uint16 of their bits."""
    values = x.detach().cpu()
    if values.dtype != lm.bfloat16:
        return values.numpy()
    return (values.astype("float32").numpy().view("uint32") >> 16).astype("uint16")


def of_bits(array: Any) -> Tensor:
    """Returns the tensor of an array; uint16 are the bits of bfloat16."""
    if array.dtype != "uint16":
        return lm.tensor(array)
    return lm.tensor((array.astype("uint32") << 16).view("float32")).astype("bfloat16")


def _write(obj: Any, file: Any, protocol: int) -> None:
    if _is_state(obj):
        names = {key: _name(x) for key, x in obj.items() if isinstance(x, Tensor)}
        obj = {key: bits_of(x) if isinstance(x, Tensor) else x for key, x in obj.items()} | {_NAMES: names}
    pickler = pickle.Pickler(file, protocol)
    pickler.dispatch_table = copyreg.dispatch_table.copy()
    for kind in (Tensor, lm.nn.Parameter):
        pickler.dispatch_table[kind] = lambda x: (tuple, ((_name(x), bits_of(x)),))
    pickler.dump(obj)


def _name(x: Any) -> str:
    return str(x.name)


def _is_state(obj: Any) -> bool:
    """True for a dict of tensors, and of dicts without any."""
    return isinstance(obj, dict) and all(
        isinstance(x, Tensor)
        or (isinstance(x, dict) and not _any(list(x.values()), lambda part: isinstance(part, Tensor)))
        for x in obj.values()
    )


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Finds what arrays and plain data are made by; anything else could do anything."""
        if module.partition(".")[0] == "numpy" and name in (
            "ndarray",
            "dtype",
            "scalar",
            "_reconstruct",
            "_frombuffer",
        ):
            return super().find_class(module, name)
        if (module, name) in (("collections", "OrderedDict"), ("_codecs", "encode"), ("builtins", "set")):
            return super().find_class(module, name)
        # Paddle's tensors within other objects: their name and elements, or the elements alone.
        if (module, name) == ("builtins", "tuple"):
            return tuple
        if (module, name) == ("builtins", "eval"):
            return _elements
        raise pickle.UnpicklingError(f"[load] the file holds an object of '{module}.{name}', which could do anything")


def _elements(text: str, names: dict[str, Any]) -> Any:
    """Returns what Paddle writes as the text ``"data"`` to be evaluated with elements of that name."""
    if text != "data" or set(names) != {"data"}:
        raise pickle.UnpicklingError(f"[load] the file evaluates {text!r}, which could do anything")
    return names["data"]


def _is_array(value: Any) -> bool:
    import numpy as np

    return isinstance(value, np.ndarray)


def _is_named(value: Any) -> bool:
    """True for a name and elements, which is how a tensor is written."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and _is_array(value[1])


def _tensor(array: Any, name: str | None, return_numpy: bool) -> Any:
    if return_numpy or not _is_array(array):
        return array
    made = of_bits(array)
    if name:
        made.name = name  # type: ignore[attr-defined]
    return made


def _any(value: Any, holds: Callable[[Any], bool]) -> bool:
    """True if something of an object's containers, or the object, is what is looked for."""
    if holds(value):
        return True
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple, set)) else ()
    return any(_any(part, holds) for part in parts)


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """Returns an object with what its containers hold changed, and itself where that changes it."""
    if (changed := change(value)) is not value:
        return changed
    if isinstance(value, dict):
        return type(value)((key, _each(part, change)) for key, part in value.items())
    return type(value)(_each(part, change) for part in value) if type(value) in (list, tuple) else value
