"""Texts of tensors as PyTorch prints them.

The rules are those that the documentation of ``torch.set_printoptions`` describes: all elements take the same width and
the same form, which is the scientific one where they differ much in magnitude.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import lamella as lm
from lamella import Tensor

from ._node_names import shown

_PREFIX = "tensor("


@dataclasses.dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None
    #: The package that dtypes are called after; another one than torch names all of them.
    front: str = "torch"


options = _Options()

#: Settings by the names of profiles.
_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


@contextlib.contextmanager
def printoptions(**named: Any) -> Iterator[None]:
    """Sets how tensors are printed within a ``with`` block; see :func:`set_printoptions`."""
    before = dataclasses.asdict(options)
    set_printoptions(**named)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(options, name, value)


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors are printed.

    Args:
        precision: digits behind the point.
        threshold: number of elements from which on only the edges are shown.
        edgeitems: elements at each end of an axis that are shown then.
        linewidth: characters of a line.
        profile: "default", "short" or "full", which set the above; what is given beside it counts more.
        sci_mode: True for the scientific form, False for the plain one, None to choose by the elements.
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in {
        **_PROFILES.get(profile or "", {}),
        **{k: v for k, v in given.items() if v is not None},
    }.items():
        setattr(options, name, value)
    options.sci_mode = sci_mode


def _form(shown: Any) -> Callable[[Any], str]:
    """Returns the function that makes the text of an element, for an array of those that are shown."""
    import numpy as np

    if np.iscomplexobj(shown):
        real, imaginary = _form(shown.real), _form(shown.imag)
        return lambda z: f"{real(z.real)}{'+' if not math.copysign(1, z.imag) < 0 else ''}{imaginary(z.imag).strip()}j"
    if shown.dtype.kind != "f":
        width = max((len(str(each)) for each in shown.flat), default=1)
        return lambda x: str(x).rjust(width)
    told = shown[np.isfinite(shown) & (shown != 0)].astype(np.float64)
    if told.size == 0:
        width = max((len(_whole(float(each))) for each in shown.flat), default=1)
        whole, scientific = True, False
        told = np.zeros(1) if shown.size else told
    else:
        least, most = float(np.abs(told).min()), float(np.abs(told).max())
        whole = bool((told == np.ceil(told)).all())
        scientific = most / least > 1000 or most > 1e8 or (not whole and least < 1e-4)
    if options.sci_mode is not None:
        scientific = options.sci_mode
    spec = f".{options.precision}{'e' if scientific else 'f'}"
    one = (lambda x: format(x, spec)) if scientific or not whole else _whole
    width = max((len(one(float(each))) for each in told), default=1)
    return lambda x: one(float(x)).rjust(width)


def _whole(x: float) -> str:
    return f"{x:.0f}" + ("." if math.isfinite(x) else "")


def _ends(values: Any, summarized: bool) -> list[Any]:
    """Returns the entries along the first axis, with None in place of those that are left out."""
    edge = options.edgeitems
    if summarized and len(values) > 2 * edge:
        return [*values[:edge], None, *(values[-edge:] if edge else [])]
    return list(values)


def _rows(values: Any, indent: int, summarized: bool, form: Callable[[Any], str]) -> str:
    if values.ndim == 0:
        return form(values[()])
    if values.ndim > 1:
        parts = [
            "..." if each is None else _rows(each, indent + 1, summarized, form) for each in _ends(values, summarized)
        ]
        return "[" + ("," + "\n" * (values.ndim - 1) + " " * (indent + 1)).join(parts) + "]"
    cells = [" ..." if each is None else form(each) for each in _ends(values, summarized)]
    width = len(form(values[0])) if len(values) else 1
    in_line = max(1, (options.linewidth - indent) // (width + 2))
    lines = [", ".join(cells[at : at + in_line]) for at in range(0, len(cells), in_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _shown(values: Any) -> Any:
    """Returns the elements of an array that are shown, where it is shown by its edges."""
    import numpy as np

    edge = options.edgeitems
    for axis, size in enumerate(values.shape):
        if size > 2 * edge:
            values = np.take(values, [*range(edge), *range(size - edge, size)], axis=axis)
    return values


PRINT_OPTS = options


def _tensor_str(self: Tensor, indent: int = len(_PREFIX)) -> str:
    """Returns the elements as text, without what stands around them; lines but the first are indented."""
    from lamella._dtypes import for_numpy

    values = lm._C._numpy_to_print(for_numpy(self))
    summarized = values.size > options.threshold
    return _rows(values, indent, summarized, _form(_shown(values) if summarized else values))


def _default_dtype() -> lm.DType:
    """Returns the dtype of numbers that are given none, which needs no mention."""
    front = sys.modules.get("torch") if options.front == "torch" else None
    dtype: lm.DType = getattr(front, "get_default_dtype", lambda: lm.float32)()
    return dtype


def text_of(x: Tensor) -> str:
    """Returns the text of a tensor: its elements, and what differs from a plain tensor on the CPU."""
    default = _default_dtype()
    plain = default, lm.complex128 if default == lm.float64 else lm.complex64, lm.int64, lm.bool
    notes = []
    if str(x.device) not in ("cpu", "meta"):
        notes.append(f"device='{x.device}'")
    empty = math.prod(x.shape) == 0
    if str(x.device) == "meta":
        text, notes = "...", ["device='meta'", f"size={tuple(x.shape)}"]
    elif lm._C._hidden_axes(x):
        text, notes = "...", [*notes, f"size={tuple(x.shape)}"]
    elif empty:
        text = "[]"
        if x.ndim != 1:
            notes.append(f"size={tuple(x.shape)}")
    else:
        text = _tensor_str(x)
    if options.front != "torch" or (x.dtype != default if empty else x.dtype not in plain):
        notes.append(f"dtype={options.front}.{x.dtype.name}")
    if x.grad_fn is not None:
        notes.append(f"grad_fn=<{shown(x.grad_fn)}>")
    elif x.requires_grad:
        notes.append("requires_grad=True")
    if (tangent := lm._C._unpack_dual(x)[1]) is not None:
        notes.append(f"tangent={tangent!r}")
    return _with_notes(_PREFIX + text, notes)


def _with_notes(text: str, notes: list[str]) -> str:
    length = len(text) - text.rfind("\n") + 1
    for note in notes:
        if length + len(note) + 2 > options.linewidth:
            text += ",\n" + " " * len(_PREFIX) + note
            length = len(_PREFIX) + len(note)
        else:
            text += f", {note}"
            length += len(note) + 2
    return text + ")"
