"""Tensors, modules and tables as notebooks show them."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._C import Tensor, _hidden_axes, _numpy_to_print, no_grad
from ._dtypes import for_numpy

if TYPE_CHECKING:
    from .nn import Module

_SHOWN = 10  # number of rows, and of columns, from which on the middle ones are left out
_BLUE, _RED = "66, 133, 244", "234, 67, 53"


def _described(tensor: Tensor) -> str:
    """Returns a tensor's dtype and shape."""
    return f"{tensor.dtype.name}{list(tensor.shape)}"


def _head(tensor: Tensor) -> str:
    parts = [f"<b>{type(tensor).__name__}</b> {_described(tensor)} on {tensor.device}"]
    if tensor.grad_fn is not None:
        parts.append(f"grad_fn={tensor.grad_fn!r}")
    elif not tensor.stop_gradient:
        parts.append("stop_gradient=False")
    return f"<code>{parts[0]}{html.escape(''.join(f', {part}' for part in parts[1:]))}</code>"


def _range(values: Any) -> str:
    """Returns what numbers lie between, their mean, and how many are not finite."""
    import numpy as np

    if values.dtype.kind not in "iuf" or values.size < 2:
        return ""
    finite = np.isfinite(values)
    bad = values.size - np.count_nonzero(finite)
    words = []
    if bad < values.size:
        # No copy is made of numbers that are finite: there may be many.
        start = values[np.unravel_index(finite.argmax(), values.shape)]
        low, high = (f(values, where=finite, initial=start) for f in (np.min, np.max))
        words.append(f"from {low:.4g} to {high:.4g}, mean {np.mean(values, where=finite, dtype=np.float64):.4g}")
    if bad:
        words.append(f"{bad:,} not finite")
    return f"<div><small>{', '.join(words)}</small></div>"


def _places(size: int) -> list[int | None]:
    """Returns the rows or columns to show, with None for those that are left out."""
    half = _SHOWN // 2
    return [*range(size)] if size <= _SHOWN else [*range(half), None, *range(size - half, size)]


def _cell(value: Any, largest: float) -> str:
    import numpy as np

    text = f"{value:.4g}" if isinstance(value, (float, complex, np.inexact)) else str(value)
    style = "text-align: right; font-family: monospace"
    if isinstance(value, (bool, np.bool_)):
        strength = 0.35 if value else 0.0
    elif isinstance(value, (complex, np.complexfloating)) or not np.isfinite(value):
        strength = 0.0
        style += "; font-weight: bold" if not np.isfinite(value) else ""
    else:
        strength = 0.6 * float(value) / largest if largest else 0.0
    if strength:
        style += f"; background: rgba({_BLUE if strength > 0 else _RED}, {abs(strength):.2f})"
    return f"<td style='{style}'>{text}</td>"


def _matrix(values: Any) -> str:
    """Returns a matrix as a table, whose cells are the stronger colored the larger their numbers are."""
    import numpy as np

    rows, columns = (_places(size) for size in values.shape)
    largest = 0.0
    if values.dtype.kind in "iuf":
        shown = values[np.ix_(*([i for i in places if i is not None] for places in (rows, columns)))].astype(np.float64)
        largest = float(np.abs(shown[np.isfinite(shown)]).max(initial=0.0))
    gap = "<td style='text-align: center'>…</td>"
    lines = []
    for i in rows:
        cells = [gap if i is None or j is None else _cell(values[i, j], largest) for j in columns]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>"


def table(cells: Sequence[Sequence[str]], sides: Sequence[str], note: str) -> str:
    """Returns texts as a table with a note below it.

    Args:
        cells: the rows, of which the first is the head.
        sides: "left" or "right" for each column.
        note: the text below.
    """

    def row(texts: Sequence[str], tag: str) -> str:
        inner = (
            # Spaces at the beginning of a cell say how deep it is in a tree.
            f"<{tag} style='text-align: {side}'>{html.escape(text).replace('  ', '&emsp;')}</{tag}>"
            for side, text in zip(sides, texts, strict=True)
        )
        return f"<tr>{''.join(inner)}</tr>"

    body = "".join(row(texts, "td") for texts in cells[1:])
    head = row(cells[0], "th")
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><p>{html.escape(note)}</p>"


def tensor(x: Tensor) -> str:
    """Returns a tensor as HTML: dtype, shape and device, the range of its numbers, and a table or a text of them."""
    with no_grad():
        head = _head(x)
        if str(x.device) == "meta" or _hidden_axes(x) or x.size == 0:
            return f"<div>{head}</div>"
        values = _numpy_to_print(for_numpy(x))
        if values.ndim in (1, 2):
            body = _matrix(values.reshape(-1, values.shape[-1]))
        else:
            import numpy as np

            body = f"<pre>{html.escape(np.array2string(values, separator=', ', threshold=200, edgeitems=2))}</pre>"
        return f"<div>{head}</div>{_range(values)}{body}"


def module(x: Module) -> str:
    """Returns a module as a tree that can be unfolded: its parts, and the shapes of their parameters and buffers."""

    def count(part: Module) -> str:
        numbers = sum(p.size for p in part.parameters())
        frozen = sum(p.size for p in part.parameters() if p.stop_gradient)
        note = f", {'all' if frozen == numbers else f'{frozen:,}'} frozen" if frozen else ""
        return f" <small>{numbers:,} parameters{note}</small>" if numbers else ""

    def tree(name: str, part: Module, depth: int) -> str:
        title = f"{name}: " if name else ""
        line = f"<code>{html.escape(title)}<b>{html.escape(type(part).__name__)}</b>"
        line += f"({html.escape(part.extra_repr())})</code>{count(part)}"
        inner = [
            f"<div style='margin-left: 2.2em'><code>{html.escape(own)} {_described(p)}</code></div>"
            for own, p in (*part.named_parameters(recurse=False), *part.named_buffers(recurse=False))
        ]
        inner += [tree(child, module, depth + 1) for child, module in part.named_children()]
        if not inner:
            return f"<div style='margin-left: 2.2em'>{line}</div>"
        state = " open='open'" if depth < 1 else ""
        return f"<details{state} style='margin-left: 1.2em'><summary>{line}</summary>{''.join(inner)}</details>"

    return tree("", x, 0)
