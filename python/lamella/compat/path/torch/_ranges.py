"""Numbers in a row."""

from __future__ import annotations

import functools
import math
from typing import Any

import lamella as lm
from lamella import Tensor

from ._writing import written_in_a_row


def arange(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Numbers from start (0 where only one is given) up to end, which is not included."""
    start, end = (0, start) if end is None else (start, end)
    whole = dtype is not None and lm.isdtype(dtype, "integral")
    if whole and any(isinstance(each, float) and not each.is_integer() for each in (start, end, step)):
        # As many as there are between the numbers as they are given, in steps of whole ones.
        count = max(0, math.ceil((end - start) / step))
        made = lm.arange(count, dtype=dtype, device=device) * int(step) + int(start)
    else:
        made = lm.arange(start, end, step, dtype=dtype, device=device)
    made = written_in_a_row(made, out)
    return made.requires_grad_() if requires_grad else made


def range(start: Any, end: Any, step: Any = 1, *, out: Tensor | None = None, **options: Any) -> Tensor:
    """Numbers from start to end, which is included, as floats."""
    options.setdefault("dtype", lm.float32 if out is None else out.dtype)
    return written_in_a_row(lm.arange(start, end + step / 2, step, **options), out)


def linspace(start: Any, end: Any, steps: int, *, out: Tensor | None = None, **options: Any) -> Tensor:
    """``steps`` numbers from start to end, at equal distances."""
    return _spaced(lm.linspace, start, end, steps, options, out)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, out: Any = None, **options: Any) -> Tensor:
    """Powers of ``base``, whose exponents are ``steps`` numbers from start to end at equal distances."""
    return _spaced(functools.partial(lm.logspace, base=base), start, end, steps, options, out)


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
) -> Tensor:
    """The rows and columns of the elements on and below a diagonal of a matrix, row by row."""
    return _placed(lm.tril_indices(row, col, k=offset, device=device), dtype)


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
) -> Tensor:
    """The rows and columns of the elements on and above a diagonal of a matrix, row by row."""
    return _placed(lm.triu_indices(row, col, k=offset, device=device), dtype)


def _placed(made: Tensor, dtype: Any) -> Tensor:
    return made if dtype is None else made.astype(dtype, copy=False)


def _spaced(native: Any, start: Any, end: Any, steps: int, options: dict[str, Any], out: Tensor | None) -> Tensor:
    options.pop("layout", None), options.pop("pin_memory", None)
    requires_grad = options.pop("requires_grad", False)
    if options.get("dtype") is None and out is not None:
        options["dtype"] = out.dtype
    if options.get("dtype") is not None and lm.isdtype(options["dtype"], "integral"):
        # Integers lie between whole ends.
        start, end = (each if isinstance(each, Tensor) else int(each) for each in (start, end))
    made = written_in_a_row(native(start, end, steps, **options), out)
    return made.requires_grad_() if requires_grad else made
