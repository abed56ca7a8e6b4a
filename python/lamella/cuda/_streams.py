"""Streams and events: orders of work on a CUDA device."""

from __future__ import annotations

from types import TracebackType

from .. import _C
from .._C import Tensor
from ._device import name_of


class Stream:
    """A queue of work on a device: what is in it runs in order, and beside the work of other streams.

    There are 32 streams of each priority on a device, which new objects take in turn. Memory belongs to the stream that
    was current when it was taken: a tensor that is used on another stream lives until that stream is done, or is told
    to :meth:`record_stream`.

    Args:
        device: an index, or a name such as ``"cuda:1"``; None for the current device.
        priority: the work of streams with lower numbers is preferred; 0 is the lowest priority.

    Attributes:
        device: the device's name.
        cuda_stream: the address that CUDA's functions take.

    Raises:
        RuntimeError: there is no such device, or no CUDA in this build.
    """

    def __init__(self, device: str | int | None = None, priority: int = 0) -> None:
        self.device = name_of(device, "Stream")
        self.cuda_stream = _C._stream_make(self.device, priority)
        self._before: list[int] = []

    @classmethod
    def _of(cls, device: str, address: int) -> Stream:
        made = cls.__new__(cls)
        made.device, made.cuda_stream, made._before = device, address, []
        return made

    def synchronize(self) -> None:
        """Waits for the stream's work."""
        _C._stream_synchronize(self.device, self.cuda_stream)

    def query(self) -> bool:
        """True if the stream has no work left."""
        return _C._stream_is_idle(self.device, self.cuda_stream)

    def record_event(self, event: Event | None = None) -> Event:
        """Has an event, a new one by default, occur once the work so far is done; returns it."""
        event = Event(device=self.device) if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Has later work wait for an event; returns at once."""
        _C._event_wait(self.device, self.cuda_stream, event._number)

    def wait_stream(self, stream: Stream) -> None:
        """Has later work wait for the work that another stream has now; returns at once."""
        self.wait_event(stream.record_event())

    def record_stream(self, x: Tensor) -> None:
        """Says that the stream uses a tensor that was made on another one.

        Where the tensor goes before the stream is done, its memory is not reused until then.

        Raises:
            ValueError: the tensor is on another device.
        """
        _C._stream_record(x, self.device, self.cuda_stream)

    def __enter__(self) -> Stream:
        self._before.append(_C._stream_current(self.device))
        _C._stream_set_current(self.device, self.cuda_stream)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _C._stream_set_current(self.device, self._before.pop())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.device, self.cuda_stream) == (other.device, other.cuda_stream)

    def __hash__(self) -> int:
        return hash((self.device, self.cuda_stream))

    def __repr__(self) -> str:
        return f"Stream(device='{self.device}', cuda_stream={self.cuda_stream:#x})"


class Event:
    """A point in a stream's work, for which other streams and the host may wait.

    Args:
        enable_timing: True for events between which :meth:`elapsed_time` is asked.
        device: an index, or a name such as ``"cuda:1"``; None for the current device.

    Raises:
        RuntimeError: there is no such device, or no CUDA in this build.
    """

    def __init__(self, enable_timing: bool = False, *, device: str | int | None = None) -> None:
        self._number = 0
        self.device = name_of(device, "Event")
        self._number = _C._event_make(self.device, enable_timing)

    def record(self, stream: Stream | None = None) -> None:
        """Has the event occur once a stream's work so far is done; None for the current stream."""
        address = _C._stream_current(self.device) if stream is None else stream.cuda_stream
        _C._event_record(self._number, address)

    def wait(self, stream: Stream | None = None) -> None:
        """Has later work of a stream, the current one for None, wait for the event; returns at once."""
        (current_stream(self.device) if stream is None else stream).wait_event(self)

    def synchronize(self) -> None:
        """Waits for the event."""
        _C._event_synchronize(self._number)

    def query(self) -> bool:
        """True if the event has occurred, or was never recorded."""
        return _C._event_has_occurred(self._number)

    def elapsed_time(self, end: Event) -> float:
        """Returns the milliseconds from this event to another one.

        Raises:
            ValueError: one of them keeps no time, was not recorded, or is of another device.
            RuntimeError: one of them has not occurred yet.
        """
        return _C._event_milliseconds(self._number, end._number)

    def __del__(self) -> None:
        if getattr(self, "_number", 0):
            _C._event_end(self._number)

    def __repr__(self) -> str:
        return f"Event(device='{self.device}')"


class stream:  # noqa: N801 (PyTorch's name)
    """A scope whose work on a stream's device, on this thread, goes to the stream; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> Stream | None:
        return None if self.stream is None else self.stream.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.stream is not None:
            self.stream.__exit__(kind, error, trace)


def current_stream(device: str | int | None = None) -> Stream:
    """Returns the stream of this thread's work on a device."""
    name = name_of(device, "current_stream")
    return Stream._of(name, _C._stream_current(name))


def default_stream(device: str | int | None = None) -> Stream:
    """Returns a device's default stream, on which work goes where no other was chosen."""
    return Stream._of(name_of(device, "default_stream"), 0)


def set_stream(stream: Stream | None) -> None:
    """Sends this thread's work on a stream's device to the stream; None changes nothing."""
    if stream is not None:
        _C._stream_set_current(stream.device, stream.cuda_stream)


_MODES = ("default", "warn", "error")


def set_sync_debug_mode(mode: str | int) -> None:
    """Sets what happens where the host waits for a device: ``"default"`` nothing, ``"warn"``, or ``"error"``.

    A training step that does not wait is limited by the device alone: reading ``loss.item()`` or ``print(loss)``, and
    copies between host and device, wait. In ``"error"`` mode they raise ``RuntimeError``.

    Args:
        mode: the name, or 0, 1 or 2.

    Raises:
        ValueError: it is none of these.
    """
    if mode in _MODES:
        mode = _MODES.index(mode)
    if mode not in (0, 1, 2):
        raise ValueError(f"[set_sync_debug_mode] mode is 'default', 'warn' or 'error', not {mode!r}")
    _C._set_sync_debug_mode(int(mode))


def get_sync_debug_mode() -> int:
    """Returns what happens where the host waits for a device: 0 nothing, 1 a warning, 2 an error."""
    return _C._sync_debug_mode()
