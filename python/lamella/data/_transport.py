"""Transport of batches from a worker through shared memory.

A batch is pickled with its arrays out of band (PEP 574): the arrays' bytes are put into a segment of shared memory, or
were made there, and the reader makes arrays and tensors on that memory. Segments are files without a name
(memfd_create), whose descriptor travels through the socket: whatever becomes of the processes, none is left behind. A
segment is used again once nothing on it lives in the reader, so that a steady loop touches no new pages.
"""

from __future__ import annotations

import io
import math
import mmap
import os
import pickle
import weakref
from collections.abc import Callable
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

import lamella as lm
from lamella import _C

_INLINE = 1 << 14  # batches up to this size go through the socket, which is quicker
_ALIGNMENT = 64  # of an array in a segment, as of the library's own memory
# Number of segments that a reader may hold, as each takes a descriptor; further batches are copied out.
_HELD = 16


class Header(NamedTuple):
    """Describes a message; the first thing sent."""

    #: What the message belongs to: chosen by the sender.
    tag: Any
    #: Number of the segment that holds the batch; -1 for none.
    segment: int
    #: Size of the segment if it is new: its descriptor follows then. 0 for one known already.
    capacity: int
    #: The pickled rest of the batch; empty where it lies in the segment, as the last part.
    pickled: bytes
    #: Where the parts lie, as pairs of first and last byte.
    parts: list[tuple[int, int]]
    #: The parts themselves, where there is no segment.
    inline: bytes


def _tensor(memory: Any, dtype: str, shape: tuple[int, ...]) -> lm.Tensor:
    """Makes a tensor on memory that a message brought."""
    if math.prod(shape) == 0:
        return lm.empty(shape, dtype=dtype)
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    data = lm.from_numpy(np.frombuffer(memory, np.uint8))
    return _C._tensor_in_memory(data, dtype, list(shape), strides, 0)


class _Pickler(pickle.Pickler):
    """Pickler that takes tensors and arrays out of band, whatever their layout."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, lm.Tensor):
            if type(value) is not lm.Tensor or not str(value.device).startswith("cpu"):
                return NotImplemented
            plain = value.detach().contiguous()
            shape = tuple(plain.shape)
            if plain.size == 0:
                return _tensor, (b"", plain.dtype.name, shape)
            # bfloat16 has no format in the buffer protocol, so its memory is shown as bytes.
            array: Any = _C._memory_as_bytes(plain.clone()) if plain.dtype == lm.bfloat16 else plain
            return _tensor, (pickle.PickleBuffer(array), plain.dtype.name, shape)
        if type(value) is np.ndarray and not value.flags.forc and not value.dtype.hasobject:
            return np.ascontiguousarray(value).__reduce_ex__(5)
        return NotImplemented


def _dump(value: Any) -> tuple[bytes, list[memoryview]]:
    file = io.BytesIO()
    buffers: list[pickle.PickleBuffer] = []
    _Pickler(file, protocol=5, buffer_callback=buffers.append).dump(value)
    return file.getvalue(), [buffer.raw() for buffer in buffers]


class Sender:
    """The worker's end.

    Args:
        write: sends bytes through the socket.
        connection: the socket, for descriptors.
    """

    def __init__(self, write: Callable[[bytes], None], connection: Connection) -> None:
        self._write = write
        self._connection = connection
        self._segments: list[mmap.mmap] = []
        #: Descriptors of the segments that the reader does not know yet.
        self._descriptors: dict[int, int] = {}
        self._free: list[int] = []
        #: Memory of each segment as an array, as long as anything here refers to it.
        self._used: dict[int, weakref.ref[Any]] = {}
        self._open: tuple[int, Any] | None = None
        self._end = 0
        self._expected = 0

    def release(self, segments: list[int]) -> None:
        """Takes segments back that the reader needs no more."""
        self._free += segments

    def begin(self) -> None:
        """Forgets what was allocated for a batch that was not sent."""
        if self._open is not None and self._end:
            self._free.append(self._open[0])
            self._open = None
        self._end = 0

    def allocate(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Returns an array that is sent without a copy, in the next batch's segment, or one elsewhere if it is full."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if size <= _INLINE:
            return np.empty(shape, dtype)
        if self._open is None:
            # A batch is mostly as large as the one before it.
            self._open = self._take(max(size, self._expected))
        number, memory = self._open
        begin = _aligned(self._end)
        if begin + size > len(self._segments[number]):
            return np.empty(shape, dtype)
        self._end = begin + size
        return np.frombuffer(memory, dtype, math.prod(shape), begin).reshape(shape)

    def send(self, tag: Any, value: Any) -> None:
        """Sends one batch. What cannot be pickled raises before anything is sent."""
        pickled, buffers = _dump(value)
        if sum(buffer.nbytes for buffer in buffers) + len(pickled) <= _INLINE:
            parts, end = _placed(buffers, 0)
            inline = bytearray(end)
            for (begin, last), buffer in zip(parts, buffers, strict=True):
                inline[begin:last] = buffer
            self._write(pickle.dumps(Header(tag, -1, 0, pickled, parts, bytes(inline)), 5))
            return
        if len(pickled) > _INLINE:
            buffers.append(memoryview(pickled))
            pickled = b""
        number, memory, parts = self._filled(buffers)
        self._expected = max(last for _, last in parts)
        self._open, self._end = None, 0
        self._used[number] = weakref.ref(memory)
        descriptor = self._descriptors.pop(number, -1)
        try:
            capacity = len(self._segments[number]) if descriptor >= 0 else 0
            self._write(pickle.dumps(Header(tag, number, capacity, pickled, parts, b""), 5))
            if descriptor >= 0:
                reduction.send_handle(self._connection, descriptor, os.getppid())
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _filled(self, buffers: list[memoryview]) -> tuple[int, Any, list[tuple[int, int]]]:
        """Returns a segment that holds all parts, and where; those that were allocated in it stay where they are."""
        if self._open is not None:
            number, memory = self._open
            first = memory.ctypes.data
            begins = [_address(buffer) - first for buffer in buffers]
            there = [
                0 <= begin < self._end and buffer.nbytes > 0 for begin, buffer in zip(begins, buffers, strict=True)
            ]
            others = [buffer for buffer, inside in zip(buffers, there, strict=True) if not inside]
            placed, end = _placed(others, self._end)
            if end <= len(self._segments[number]):
                _copy(memory, placed, others)
                rest = iter(placed)
                return (
                    number,
                    memory,
                    [
                        (begin, begin + buffer.nbytes) if inside else next(rest)
                        for begin, buffer, inside in zip(begins, buffers, there, strict=True)
                    ],
                )
            self._free.append(number)
        parts, end = _placed(buffers, 0)
        number, memory = self._take(end)
        _copy(memory, parts, buffers)
        return number, memory, parts

    def _take(self, size: int) -> tuple[int, Any]:
        """Returns the number of a segment on which nothing lives, here or there, and its memory."""
        fitting = [
            number
            for number in self._free
            if len(self._segments[number]) >= size and (number not in self._used or self._used[number]() is None)
        ]
        if fitting:
            number = min(fitting, key=lambda number: len(self._segments[number]))
            self._free.remove(number)
        else:
            # Powers of two serve batches of other sizes too; pages that are not touched take no memory.
            capacity = max(mmap.PAGESIZE, 1 << (size - 1).bit_length())
            descriptor = os.memfd_create("lamella-batch", os.MFD_CLOEXEC)
            try:
                os.ftruncate(descriptor, capacity)
                self._segments.append(mmap.mmap(descriptor, capacity))
            except BaseException:
                os.close(descriptor)
                raise
            number = len(self._segments) - 1
            self._descriptors[number] = descriptor
        memory = np.frombuffer(self._segments[number], np.uint8)
        self._used[number] = weakref.ref(memory)
        return number, memory


def _aligned(place: int) -> int:
    return -(-place // _ALIGNMENT) * _ALIGNMENT


def _placed(buffers: list[memoryview], end: int) -> tuple[list[tuple[int, int]], int]:
    """Returns where buffers lie that begin behind ``end``, and where the last one ends."""
    parts = []
    for buffer in buffers:
        begin = _aligned(end)
        end = begin + buffer.nbytes
        parts.append((begin, end))
    return parts, end


def _copy(memory: Any, parts: list[tuple[int, int]], buffers: list[memoryview]) -> None:
    target = memoryview(memory)
    for (begin, last), buffer in zip(parts, buffers, strict=True):
        target[begin:last] = buffer


def _address(buffer: memoryview) -> int:
    return int(np.frombuffer(buffer, np.uint8).ctypes.data) if buffer.nbytes else -1


class Receiver:
    """The reader's end of one worker's socket.

    Attributes:
        released: numbers of the segments on which nothing lives any more; who tells the worker empties it.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._segments: dict[int, mmap.mmap] = {}
        self._living: dict[int, weakref.ref[Any]] = {}
        self.released: list[int] = []

    def receive(self) -> tuple[Any, Any]:
        """Waits for a message and returns its tag and its batch.

        Raises:
            EOFError: the worker is gone; OSError in its stead where it went while it sent.
        """
        header: Header = pickle.loads(self._connection.recv_bytes())
        if header.segment < 0:
            memory: Any = bytearray(header.inline)
        else:
            if header.capacity:
                descriptor = reduction.recv_handle(self._connection)
                try:
                    self._segments[header.segment] = mmap.mmap(descriptor, header.capacity)
                finally:
                    os.close(descriptor)
            memory = self._memory(header.segment, max(last for _, last in header.parts))
        buffers = [memoryview(memory)[begin:end] for begin, end in header.parts]
        pickled: Any = header.pickled or buffers.pop()
        return header.tag, pickle.loads(pickled, buffers=buffers)

    def _memory(self, segment: int, size: int) -> Any:
        """Returns the first bytes of a segment; when nothing refers to them any more, the segment is released."""
        memory = np.frombuffer(self._segments[segment], np.uint8, size)
        if len(self._living) >= _HELD:
            self.released.append(segment)
            return memory.copy()
        living, released = self._living, self.released

        def release(_: Any) -> None:
            living.pop(segment, None)
            released.append(segment)

        living[segment] = weakref.ref(memory, release)
        return memory
