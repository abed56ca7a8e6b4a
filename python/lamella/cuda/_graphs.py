"""Graphs: work on a CUDA device that is captured once and repeated by one launch."""

from __future__ import annotations

import contextlib
import gc
from types import TracebackType

from .. import _C
from ._device import is_available, name_of
from ._streams import Stream, current_stream


class CUDAGraph:
    """Work on a CUDA device, captured once, that :meth:`replay` repeats with one launch.

    A graph repeats kernels and copies with the memory they had: it reads its inputs where they were, which is written
    before a replay (``x.copy_(batch)``), and leaves its results in the tensors that the capture returned. What the
    captured code takes in between is memory of the graph's own pool, which it keeps as long as it lives.

    Python runs at the capture only, so that numbers that the host computes for each step stay as they were: those of an
    optimizer such as Adam, whose step depends on how many there have been. SGD repeats itself. While it is captured,
    work is not done, and what a graph cannot repeat raises ``RuntimeError``: waits of the host (``item()``, copies to
    the CPU, indexing by masks), and random numbers of the CPU or of a generator of your own. Those of the device's
    default generator are drawn by each replay as the code itself would draw them. Run the code a few times before it is
    captured, so that libraries are loaded and tables made.

    Raises:
        RuntimeError: there is no CUDA device.
    """

    def __init__(self) -> None:
        self._number = 0
        self._captured = False
        if not is_available():
            raise RuntimeError("[CUDAGraph] there is no CUDA device")

    def capture_begin(self, pool: int | None = None, *, device: str | int | None = None) -> None:
        """Waits for a device, and captures this thread's work on it until :meth:`capture_end`.

        Args:
            pool: what :meth:`pool` of another graph returned, to share its memory: the graphs are replayed in the order
                of their captures then, and the results of one are read before the next one runs. None for memory of its
                own.
            device: an index, or a name such as ``"cuda:1"``; None for the current device.

        Raises:
            RuntimeError: this thread captures a graph, this one was captured already, or there is no such device.
        """
        if self._number:
            raise RuntimeError("[CUDAGraph] the graph was captured already: call its reset() first")
        self._number = _C._graph_begin(name_of(device, "CUDAGraph"), 0 if pool is None else pool)

    def capture_end(self) -> None:
        """Ends the capture.

        Raises:
            RuntimeError: this thread captures no graph, or the capture failed.
        """
        if not self._number or self._captured:
            raise RuntimeError("[CUDAGraph] capture_begin() was not called")
        _C._graph_end(self._number)
        self._captured = True

    def replay(self) -> None:
        """Queues the work in the current stream.

        Raises:
            RuntimeError: nothing was captured yet, or this thread captures another graph.
        """
        if not self._captured:
            raise RuntimeError("[CUDAGraph] nothing was captured yet")
        _C._graph_launch(self._number)

    def pool(self) -> int:
        """Returns what :meth:`capture_begin` of other graphs takes to share this one's memory.

        Raises:
            RuntimeError: the graph was not captured.
        """
        if not self._number:
            raise RuntimeError("[CUDAGraph] nothing was captured yet")
        return self._number

    def reset(self) -> None:
        """Gives up what was captured, and its memory, which tensors of the capture keep as long as they live."""
        number, self._number, self._captured = self._number, 0, False
        if number:
            _C._graph_destroy(number)

    def __del__(self) -> None:
        if getattr(self, "_number", 0):
            self.reset()


class graph:  # noqa: N801 (PyTorch's name)
    """A scope whose work on a device, on this thread, is captured into a graph instead of being done.

    Args:
        cuda_graph: the graph.
        pool: as for :meth:`CUDAGraph.capture_begin`.
        stream: a stream whose device is captured; None for the current device. The work is captured on a stream of the
            graph's own.
    """

    def __init__(self, cuda_graph: CUDAGraph, pool: int | None = None, stream: Stream | None = None) -> None:
        self._graph, self._pool = cuda_graph, pool
        self._device = (current_stream() if stream is None else stream).device

    def __enter__(self) -> None:
        gc.collect()  # memory that is freed during the capture is not reused before its end
        self._graph.capture_begin(self._pool, device=self._device)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._graph.capture_end()
            return
        with contextlib.suppress(RuntimeError):  # the error that is on its way says more
            self._graph.capture_end()
        self._graph.reset()


def is_current_stream_capturing() -> bool:
    """True if this thread's work is captured into a graph."""
    return _C._is_capturing()
