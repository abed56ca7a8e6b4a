"""Storages of PyTorch's files: pieces of memory of one dtype, in which tensors lie with sizes and strides."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella import Tensor

from ._memory import TypedStorage, UntypedStorage
from ._memory import contiguous_strides as strides_of  # noqa: F401


class StorageType:
    """A name of a class of storages, which stands in files as ``torch.FloatStorage``; called, it makes one."""

    def __call__(self, size: Any = 0, **options: Any) -> TypedStorage:
        """Returns memory of a number of elements, or with the elements that are given."""
        return TypedStorage(size, dtype=DTYPE_OF_STORAGE[self.__name__], **options)

    def __init__(self, name: str, module: str = "torch") -> None:
        self.__name__ = self.__qualname__ = name
        self.__module__ = module

    def __reduce__(self) -> str:
        return self.__name__


DTYPE_OF_STORAGE = {
    "FloatStorage": lm.float32,
    "DoubleStorage": lm.float64,
    "HalfStorage": lm.float16,
    "BFloat16Storage": lm.bfloat16,
    "ByteStorage": lm.uint8,
    "CharStorage": lm.int8,
    "ShortStorage": lm.int16,
    "IntStorage": lm.int32,
    "LongStorage": lm.int64,
    "BoolStorage": lm.bool,
    "ComplexFloatStorage": lm.complex64,
    "ComplexDoubleStorage": lm.complex128,
    "UntypedStorage": lm.uint8,
}
STORAGES = {dtype: StorageType(name) for name, dtype in DTYPE_OF_STORAGE.items() if name != "UntypedStorage"}


#: Memory of dtypes that have no storage of their own, and stand beside it in files.
UNTYPED = UntypedStorage


class Storage:
    """The memory of a contiguous tensor, on its way into a file."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


def written(tensor: Tensor) -> bytes:
    """Returns the bytes of a contiguous tensor."""
    return bytes(lm._C._memory_as_bytes(tensor.cpu()).numpy())


def rebuild_tensor(
    storage: Tensor, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, metadata: Any = None
) -> Tensor:
    """Returns the tensor that lies in a storage; tensors of one storage share its memory, as they did."""
    with lm.no_grad():
        bytes_of = lm._C._memory_as_bytes(storage)
        at = int(offset) * storage.dtype.itemsize
        strides = tuple(int(each) for each in stride)
        made = lm._C._tensor_in_memory(bytes_of, storage.dtype, tuple(map(int, size)), strides, at).detach()
        # PyTorch's conjugates and negatives may be views, which files say of them.
        for mark, function in (("conj", lm.conj), ("neg", lm.negative)):
            if (metadata or {}).get(mark):
                made = function(made)
    return made.requires_grad_() if requires_grad else made


def rebuild_of_dtype(
    storage: Tensor,
    offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    """Returns the tensor of a dtype that lies in a storage of bytes."""
    count = math.prod(storage.shape) * storage.dtype.itemsize // dtype.itemsize
    memory = lm._C._tensor_in_memory(lm._C._memory_as_bytes(storage), dtype, (count,), (1,), 0)
    return rebuild_tensor(memory, offset, size, stride, requires_grad, hooks, metadata)


def rebuild_from_type(function: Any, kind: Any, arguments: Any, state: Any) -> Any:
    """Returns a tensor with its attributes, maybe of a subclass."""
    made = function(*arguments)
    if isinstance(kind, type) and issubclass(kind, Tensor) and not isinstance(made, kind):
        made = Tensor.__new__(kind, made.detach())
    if isinstance(state, tuple):  # attributes in a dict, and those in slots
        state = state[0]
    for name, value in (state or {}).items():
        if hasattr(made, "__dict__"):
            made.__dict__[name] = value
        else:
            setattr(made, name, value)
    return made


def rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any) -> Any:
    """Returns a parameter with the values of ``data``."""
    from .nn import Parameter

    return Parameter(data, requires_grad)


# In files these functions stand under PyTorch's names.
rebuild_tensor.__module__ = rebuild_parameter.__module__ = rebuild_of_dtype.__module__ = "torch._utils"
rebuild_of_dtype.__qualname__ = rebuild_of_dtype.__name__ = "_rebuild_tensor_v3"
rebuild_tensor.__qualname__ = rebuild_tensor.__name__ = "_rebuild_tensor_v2"
rebuild_parameter.__qualname__ = rebuild_parameter.__name__ = "_rebuild_parameter"
rebuild_from_type.__module__ = "torch._tensor"
rebuild_from_type.__qualname__ = rebuild_from_type.__name__ = "_rebuild_from_type_v2"
