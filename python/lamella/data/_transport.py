"""Transport of batches from a worker through shared memory.

A batch is pickled with its arrays out of band (PEP 574): the arrays' bytes are copied into a segment of shared memory,
and the reader makes arrays and tensors on that memory. Segments are files without a name (memfd_create), whose
descriptor travels through the socket: whatever becomes of the processes, none is left behind. A segment is used again
once nothing on it lives in the reader, so that a steady loop touches no new pages.
"""

from __future__ import annotations

import io
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
    count = int(np.prod(shape, dtype=np.int64))
    if count == 0:
        return lm.empty(shape, dtype=dtype)
    strides = [int(stride) for stride in np.cumprod([1, *shape[:0:-1]], dtype=np.int64)[::-1]] if shape else []
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
        self._free: list[int] = []

    def release(self, segments: list[int]) -> None:
        """Takes segments back that the reader needs no more."""
        self._free += segments

    def send(self, tag: Any, value: Any) -> None:
        """Sends one batch. What cannot be pickled raises before anything is sent."""
        pickled, buffers = _dump(value)
        parts: list[tuple[int, int]] = []
        end = 0
        for buffer in buffers:
            begin = -(-end // _ALIGNMENT) * _ALIGNMENT
            end = begin + buffer.nbytes
            parts.append((begin, end))
        if end + len(pickled) <= _INLINE:
            inline = bytearray(end)
            for (begin, last), buffer in zip(parts, buffers, strict=True):
                inline[begin:last] = buffer
            self._write(pickle.dumps(Header(tag, -1, 0, pickled, parts, bytes(inline)), 5))
            return
        if len(pickled) > _INLINE:
            buffers.append(memoryview(pickled))
            parts.append((end, end + len(pickled)))
            end, pickled = parts[-1][1], b""
        segment, descriptor = self._segment(end)
        try:
            memory = self._segments[segment]
            for (begin, last), buffer in zip(parts, buffers, strict=True):
                memory[begin:last] = buffer  # type: ignore[assignment]
            capacity = len(memory) if descriptor >= 0 else 0
            self._write(pickle.dumps(Header(tag, segment, capacity, pickled, parts, b""), 5))
            if descriptor >= 0:
                reduction.send_handle(self._connection, descriptor, os.getppid())
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _segment(self, size: int) -> tuple[int, int]:
        """Returns the number of a free segment, and its descriptor if it is new, else -1."""
        fitting = [number for number in self._free if len(self._segments[number]) >= size]
        if fitting:
            smallest = min(fitting, key=lambda number: len(self._segments[number]))
            self._free.remove(smallest)
            return smallest, -1
        # Powers of two serve batches of other sizes too; pages that are not touched take no memory.
        capacity = max(mmap.PAGESIZE, 1 << (size - 1).bit_length())
        descriptor = os.memfd_create("lamella-batch", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, capacity)
            self._segments.append(mmap.mmap(descriptor, capacity))
        except BaseException:
            os.close(descriptor)
            raise
        return len(self._segments) - 1, descriptor


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
            memory = self._memory(header.segment, header.parts[-1][1])
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
