"""The memory in which tensors lie, as an object: its address, its size and its bytes."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella import Tensor

from ._device import device


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the strides of a contiguous tensor."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


class UntypedStorage:
    """The whole memory of a tensor, which its views share.

    Args:
        size: number of bytes of new memory, or the bytes.
        device: where new memory is.
    """

    __module__ = "torch.storage"
    #: Bytes are of no dtype.
    dtype = None

    def __init__(self, size: Any = 0, *, device: Any = None) -> None:
        place = None if device is None else str(device)
        if isinstance(size, int):
            self._bytes = lm.zeros((size,), dtype=lm.uint8, device=place)
        else:
            self._bytes = lm.asarray(list(size), dtype=lm.uint8, device=place)

    @classmethod
    def of(cls, tensor: Tensor) -> UntypedStorage:
        """Returns the memory of a tensor."""
        made = cls.__new__(cls)
        if tensor.device == "meta":
            made._bytes = lm.empty((math.prod(tensor.shape) * tensor.dtype.itemsize,), dtype=lm.uint8, device="meta")
        else:
            made._bytes = lm._C._memory_as_bytes(tensor.detach())
        return made

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """Returns the memory of a file, which is read when it is asked for.

        Args:
            filename: the file.
            shared: True for memory whose changes go into the file.
            nbytes: number of bytes from the file's beginning.
        """
        import numpy as np

        made = cls.__new__(cls)
        mapped = np.memmap(filename, dtype=np.uint8, mode="r+" if shared else "c", shape=(nbytes,))
        made._bytes = lm.from_numpy(mapped)
        return made

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return device(self._bytes.device)

    @property
    def is_cuda(self) -> bool:
        """True if the memory is a GPU's."""
        return self.device.type == "cuda"

    def nbytes(self) -> int:
        """Returns the number of bytes."""
        return int(self._bytes.shape[0])

    size = __len__ = nbytes

    def element_size(self) -> int:
        """Returns 1."""
        return 1

    def data_ptr(self) -> int:
        """Returns the address, by which two storages are known to be the same."""
        return 0 if self._bytes.device == "meta" else int(self._bytes.data_ptr())

    @property
    def _cdata(self) -> int:
        return self.data_ptr()

    def __getitem__(self, index: Any) -> Any:
        """Returns a byte, or a part of the memory."""
        if not isinstance(index, slice):
            return self._bytes[index].item()
        made = UntypedStorage.__new__(UntypedStorage)
        made._bytes = self._bytes[index]
        return made

    def __setitem__(self, index: Any, value: Any) -> None:
        self._bytes[index] = value

    def tolist(self) -> list[int]:
        """Returns the bytes."""
        return list(self._bytes.tolist())

    def fill_(self, value: int) -> UntypedStorage:
        """Overwrites all bytes by one."""
        self._bytes.fill_(value)
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = None) -> UntypedStorage:
        """Overwrites the bytes by those of memory of the same size."""
        self._bytes.copy_(source._bytes)
        return self

    def clone(self) -> UntypedStorage:
        """Returns a copy."""
        return UntypedStorage.of(self._bytes.clone())

    def cpu(self) -> UntypedStorage:
        """Returns the memory, or a copy in the CPU's."""
        return self if self._bytes.device == "cpu" else UntypedStorage.of(self._bytes.cpu())

    def untyped(self) -> UntypedStorage:
        """Returns the memory itself."""
        return self

    def resize_(self, size: int) -> UntypedStorage:
        """Takes the size that the memory has.

        Raises:
            NotImplementedError: for another one, as memory keeps its size: ``x.resize_()`` gives a tensor new memory.
        """
        if size != self.nbytes():
            raise NotImplementedError(f"[resize_] memory of {self.nbytes()} bytes keeps its size, and gets not {size}")
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and (self.data_ptr(), self.nbytes(), self.device) == (
            other.data_ptr(),
            other.nbytes(),
            other.device,
        )

    def __hash__(self) -> int:
        return hash((self.data_ptr(), self.nbytes(), self.device))

    def __repr__(self) -> str:
        return f"[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


class TypedStorage:
    """The whole memory of a tensor as elements of a dtype; see :class:`UntypedStorage`.

    Args:
        size: number of elements of new memory, which are 0, or the elements.
        wrap_storage: memory that is there.
        dtype: the dtype of the elements.
        device: where new memory is.
    """

    __module__ = "torch.storage"

    def __init__(
        self, size: Any = 0, *, wrap_storage: UntypedStorage | None = None, dtype: Any = None, device: Any = None
    ) -> None:
        self.dtype = lm.float32 if dtype is None else dtype
        if wrap_storage is None:
            place = None if device is None else str(device)
            if isinstance(size, int):
                made = lm.zeros((size,), dtype=self.dtype, device=place)
            else:
                made = lm.asarray(list(size), dtype=self.dtype, device=place)
            wrap_storage = UntypedStorage.of(made)
        self._untyped_storage = wrap_storage

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return self._untyped_storage.device

    def untyped(self) -> UntypedStorage:
        """Returns the memory as bytes."""
        return self._untyped_storage

    def nbytes(self) -> int:
        """Returns the number of bytes."""
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """Returns the number of elements."""
        return self.nbytes() // self.element_size()

    __len__ = size

    def element_size(self) -> int:
        """Returns the number of bytes of an element."""
        return int(self.dtype.itemsize)

    def data_ptr(self) -> int:
        """Returns the address."""
        return self._untyped_storage.data_ptr()

    @property
    def _cdata(self) -> int:
        return self.data_ptr()

    def fill_(self, value: Any) -> TypedStorage:
        """Overwrites all elements by one."""
        self._elements().fill_(value)
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool | None = None) -> TypedStorage:
        """Overwrites the elements by those of memory of as many."""
        self._elements().copy_(source._elements())
        return self

    def clone(self) -> TypedStorage:
        """Returns a copy."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and (self.dtype, self._untyped_storage) == (
            other.dtype,
            other._untyped_storage,
        )

    def __hash__(self) -> int:
        return hash((self.dtype, self._untyped_storage))

    def _elements(self) -> Tensor:
        part = self._untyped_storage._bytes
        if part.device == "meta":
            return lm._C._tensor_in_memory(part, self.dtype, (self.size(),), (1,), 0)
        # A part of the memory begins behind its first byte.
        whole = lm._C._memory_as_bytes(part)
        begin = part.data_ptr() - whole.data_ptr()
        if begin % self.dtype.itemsize != 0:
            raise RuntimeError(f"[storage] memory from byte {begin} on has no elements of {self.dtype.name}")
        return lm._C._tensor_in_memory(whole, self.dtype, (self.size(),), (1,), begin // self.dtype.itemsize)

    def __getitem__(self, index: Any) -> Any:
        found = self._elements()[index]
        return found.item() if found.ndim == 0 else found

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index] = value

    def tolist(self) -> list[Any]:
        """Returns the elements."""
        return list(self._elements().tolist())

    def __repr__(self) -> str:
        return f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"
