"""Finding out about the tape: where gradients go wrong, why there is none, what a graph holds. For lamella.autograd."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self, TypeVar

from .. import _C

_Function = TypeVar("_Function", bound=Callable[..., Any])


class trace:  # noqa: N801 (called like a function)
    """Writes down where operations are called, and where and why tensors leave the tape.

    It does so in a ``with`` block, or in the function that it decorates. :func:`explain`, :func:`draw` and
    ``Node.origin`` then tell operations and lines, and :func:`live_nodes` counts. It holds for the thread that enters
    it, and makes every operation there some microseconds slower::

        with lm.autograd.trace():
            loss = model(x)
            loss.backward()
        print(lm.autograd.explain(model.weight))
    """

    _name = "trace"

    def __init__(self) -> None:
        self._before: list[Any] = []

    def _settings(self) -> Any:
        _, traced_before, checks = _C._tracing_state()
        return True, traced_before, checks

    def __enter__(self) -> Self:
        self._before.append(_C._tracing_state())
        _C._set_tracing_state(self._settings())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before:
            _C._set_tracing_state(self._before.pop())

    def __call__(self, function: _Function) -> _Function:
        """Decorates a function."""
        from .._decorate import decorate  # slow to import, and seldom needed

        decorated: Any = decorate(function, self._again, name=self._name)
        return decorated  # type: ignore[no-any-return]

    def _again(self) -> trace:
        return type(self)()


class detect_anomaly(trace):  # noqa: N801 (called like a function)
    """Finds the operation whose gradient goes wrong, in a ``with`` block or in the function that it decorates.

    A backward pass raises ``RuntimeError`` at the first operation whose gradient has a NaN (``check_nan``) or an
    infinity (``check_inf``) in it. The message names the operation, which of its inputs the gradient is of, how many
    values are bad, and where the operation was called, for which the block has to hold the forward pass too. An
    exception in the backward of a layer comes out with its own type, and a note that tells the same. With
    ``check_forward`` the results of recorded operations are checked as well, as soon as they are computed.

    It does all that :class:`trace` does, and reads every gradient once more: use it to search, not to train. It holds
    for the thread that enters it::

        with lm.autograd.detect_anomaly():
            loss = model(x)
            loss.backward()
    """

    _name = "detect_anomaly"

    def __init__(self, check_nan: bool = True, check_inf: bool = True, check_forward: bool = False) -> None:
        super().__init__()
        self._mode = True
        self._checks = (check_nan, check_inf, check_forward)
        for name, value in zip(("check_nan", "check_inf", "check_forward"), self._checks, strict=True):
            if not isinstance(value, bool):
                raise TypeError(
                    f"[{self._name}] {name}: expected True or False, got {type(value).__name__}"
                    + ("; decorate with @detect_anomaly()" if callable(value) else "")
                )

    def _settings(self) -> Any:
        tracing, traced_before, checks = _C._tracing_state()
        before = traced_before if checks else tracing
        return (True, before, self._checks) if self._mode else (before, before, None)

    def _again(self) -> trace:
        return detect_anomaly(*self._checks)


class set_detect_anomaly(detect_anomaly):  # noqa: N801 (called like a function)
    """Switches :class:`detect_anomaly` on or off.

    From here on, for a ``with`` block, or for the function that it decorates.
    """

    _name = "set_detect_anomaly"

    def __init__(self, mode: bool, check_nan: bool = True, check_inf: bool = True, check_forward: bool = False) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"[set_detect_anomaly] mode: expected True or False, got {type(mode).__name__}")
        super().__init__(check_nan, check_inf, check_forward)
        self._mode = mode
        super().__enter__()
        self._entered = False

    def __enter__(self) -> Self:
        # The first block ends the mode that the call began.
        if self._entered:
            return super().__enter__()
        self._entered = True
        return self

    def __call__(self, function: _Function) -> _Function:
        """Decorates a function; where the decorator stands, the mode does not change."""
        self.__exit__(None, None, None)
        return super().__call__(function)

    def _again(self) -> trace:
        return set_detect_anomaly(self._mode, *self._checks)


def is_anomaly_enabled() -> bool:
    """True if this thread is in :class:`detect_anomaly`."""
    return _C._tracing_state()[2] is not None


class Drawing(str):
    """A drawn graph: the text of an SVG, which notebooks show as a picture, or plain text."""

    __slots__ = ("_format",)
    _format: str

    def __new__(cls, text: str, format: str) -> Self:
        drawing = super().__new__(cls, text)
        drawing._format = format
        return drawing

    def _repr_svg_(self) -> str | None:
        return str(self) if self._format == "svg" else None

    def show(self) -> str:
        """Opens the drawing in the browser.

        Returns:
            The path of the page, a temporary file that stays until the system removes it.
        """
        import html
        import tempfile
        import webbrowser
        from pathlib import Path

        body = str(self) if self._format == "svg" else f"<pre>{html.escape(self)}</pre>"
        with tempfile.NamedTemporaryFile("w", suffix=".html", delete=False, encoding="utf-8") as file:
            file.write(f"<!DOCTYPE html><meta charset='utf-8'><title>lamella</title>{body}")
        webbrowser.open(Path(file.name).as_uri())
        return file.name


def draw(
    *tensors: _C.Tensor,
    params: Mapping[str, _C.Tensor] | None = None,
    format: Literal["svg", "text"] = "svg",
    path: str | os.PathLike[str] | None = None,
    max_nodes: int = 200,
) -> Drawing:
    """Draws the recorded graph that ``tensors`` were computed by.

    Each operation is shown with its name, the shapes of its results, the bytes it saves for backward, and the line of
    its call. Shapes are those that the graph knows; all shapes, and lines, are there for what ran under :class:`trace`.
    Arrows lead where gradients go. As ``"text"``, each operation stands above its inputs, and one that several share is
    written out once, with a number.

    ``params`` names leaves: ``dict(model.named_parameters())``. The drawing is written to ``path`` where there is one.
    Of more than ``max_nodes`` nodes, those nearest to the tensors are drawn, and how many are left out is told.

    ``ValueError`` where no tensor is on the tape; ``TypeError`` for anything but tensors.
    """
    drawing = Drawing(_C._draw(tensors, None if params is None else dict(params), format, max_nodes), format)
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(drawing)
    return drawing


class NodeCount(NamedTuple):
    """Number of nodes of one operation or layer, and the bytes that they save for backward."""

    nodes: int
    """Number of nodes."""
    saved_bytes: int
    """Bytes saved for backward. Memory that several operations save counts for the first that was met."""


class GraphStats(dict[str, NodeCount]):
    """:class:`NodeCount` by the name of the operation or layer; prints as a table."""

    @property
    def nodes(self) -> int:
        """Number of nodes of all operations."""
        return sum(count.nodes for count in self.values())

    @property
    def saved_bytes(self) -> int:
        """Bytes saved by the nodes of all operations, each piece of memory once."""
        return sum(count.saved_bytes for count in self.values())

    def __repr__(self) -> str:
        rows = sorted(self.items(), key=lambda item: (-item[1].saved_bytes, -item[1].nodes, item[0]))
        rows.append(("total", NodeCount(self.nodes, self.saved_bytes)))
        return _table(("operation", "nodes", "saved bytes"), [(name, *count) for name, count in rows])


class _Counts(dict[str, int]):
    """Numbers by name; prints as a table."""

    def __init__(self, values: Mapping[str, int], title: str) -> None:
        super().__init__(values)
        self.title = title

    def __repr__(self) -> str:
        rows: list[tuple[str, int]] = sorted(self.items(), key=lambda item: (-item[1], item[0]))
        return _table(("operation", self.title), [*rows, ("total", sum(self.values()))])


def _table(head: tuple[str, ...], rows: list[Any]) -> str:
    cells = [head, *(tuple(str(cell) for cell in row) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    )


def graph_stats(*tensors: _C.Tensor) -> GraphStats:
    """Counts the nodes of the graph that ``tensors`` were computed by, and the bytes they save for backward.

    Tensors that are off the tape add nothing. ``TypeError`` for anything but tensors.
    """
    return GraphStats({name: NodeCount(*count) for name, count in _C._graph_stats(tensors).items()})


def live_nodes() -> dict[str, int]:
    """Counts the living nodes that were recorded under :class:`trace`, on any thread, by the name of the operation.

    The newest node of another thread that records at this moment may be missing.
    """
    return _Counts({name: count[0] for name, count in _C._live_stats().items()}, "nodes")


def saved_bytes() -> dict[str, int]:
    """Returns the bytes saved for backward by nodes recorded under :class:`trace`, by the name of the operation.

    Memory that several nodes save counts once. See :func:`live_nodes` for the nodes that count.
    """
    return _Counts({name: count[1] for name, count in _C._live_stats().items()}, "saved bytes")
