"""Devices that an extension brings: their name, methods named after it, and the module of that name."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, TracebackType
from typing import Any

import lamella as lm

from .. import _C, random


def rename_privateuse1_backend(name: str) -> None:
    """Names the kind of device that an extension brings: with ``"npu"`` its devices are ``"npu:0"``, ``"npu:1"``.

    The extension's C++ does that where it registers its backend; from Python it is needed only before.

    Raises:
        ValueError: ``name`` is no lower-case name, or is another device's.
        RuntimeError: the kind has another name already: a process has one such kind of device.
    """
    _C._privateuse1_rename(name)


def privateuse1_backend_name() -> str:
    """Returns the name of the kind of device that an extension brings; ``"privateuse1"`` until it has another."""
    return _C._privateuse1_name()


def generate_methods_for_privateuse1_backend(for_tensor: bool = True, for_module: bool = True) -> None:
    """Gives tensors and modules what they have for CUDA, under the name of the extension's devices.

    For a device named ``npu``: ``x.npu(index=None)``, ``x.is_npu`` and ``module.npu(index=None)``. Doing it again
    changes nothing.

    Raises:
        RuntimeError: the devices have no name yet, or tensors or modules have something else under it.
    """
    name = privateuse1_backend_name()
    if name == "privateuse1":
        raise RuntimeError(
            "[generate_methods_for_privateuse1_backend] the devices have no name yet: load the extension that brings "
            "them, or call rename_privateuse1_backend() first"
        )

    def on_device(self: lm.Tensor, index: int | None = None) -> lm.Tensor:
        return self.to(_device(name, index))

    def is_on_device(self: lm.Tensor) -> bool:
        return self.device.partition(":")[0] == name

    def module_on_device(self: Any, index: int | None = None) -> Any:
        return self.to(_device(name, index))

    on_device.__doc__ = f"The tensor on the device ``{name}:index``, by default the current one."
    module_on_device.__doc__ = f"Moves parameters and buffers to ``{name}:index``, by default the current one."
    if for_tensor:
        _put(lm.Tensor, name, on_device)
        _put(lm.Tensor, f"is_{name}", property(is_on_device, doc=f"True if the tensor is on a device ``{name}``."))
    if for_module:
        _put(lm.nn.Module, name, module_on_device)


#: (class, name) of the attributes that this module has added.
_generated: set[tuple[type, str]] = set()


def _put(owner: type, name: str, value: Any) -> None:
    if (owner, name) in _generated:
        return
    if hasattr(owner, name):
        raise RuntimeError(
            f"[generate_methods_for_privateuse1_backend] {owner.__name__} has something else that is called '{name}'"
        )
    function: Any = value.fget if isinstance(value, property) else value
    function.__name__ = name
    function.__qualname__ = f"{owner.__name__}.{name}"
    setattr(owner, name, value)
    _generated.add((owner, name))


def _device(name: str, index: int | None) -> str:
    return name if index is None else f"{name}:{index}"


def register_device_module(name: str, module: ModuleType | None = None) -> ModuleType:
    """Makes a module ``lamella.<name>``, as ``lamella.cuda`` is CUDA's, and returns it.

    Args:
        name: the name of the extension's devices.
        module: the extension's own; by default the one that :func:`device_module` makes.

    Raises:
        RuntimeError: the devices have another name, or there is something else that is called so.
    """
    if name != privateuse1_backend_name():
        raise RuntimeError(
            f"[register_device_module] '{name}' is not the extension's devices' name, '{privateuse1_backend_name()}'"
        )
    before = getattr(lm, name, None)
    if before is not None and not getattr(before, "_is_device_module", False) and before is not module:
        raise RuntimeError(f"[register_device_module] there is something else that is called lamella.{name}")
    made = device_module() if module is None else module
    made._is_device_module = True  # type: ignore[attr-defined]
    setattr(lm, name, made)
    sys.modules[f"lamella.{name}"] = made
    return made


def device_module() -> ModuleType:
    """Returns a new module with what every device has, for the one that an extension brings.

    It holds ``is_available``, ``device_count``, ``current_device``, ``set_device``, ``device`` (a scope with another
    current device), ``synchronize``, ``Stream``, ``stream`` (a scope whose work goes to a stream), ``manual_seed``,
    ``get_rng_state``, ``set_rng_state``, ``memory_allocated``, ``max_memory_allocated``, ``memory_reserved``,
    ``reset_peak_memory`` and ``empty_cache``. Where a function takes a device, that is an index, a name such as
    ``"npu:1"``, or None for the current one.
    """
    name = privateuse1_backend_name()
    module = ModuleType(f"lamella.{name}", f"The devices ``{name}``, which an extension has brought.")
    functions = (
        *(is_available, device_count, current_device, set_device, device, synchronize, Stream, stream),
        *(manual_seed, get_rng_state, set_rng_state, memory_allocated, max_memory_allocated, memory_reserved),
        *(reset_peak_memory, empty_cache),
    )
    for function in functions:
        setattr(module, function.__name__, function)
    module.__dict__["__all__"] = sorted(function.__name__ for function in functions)
    return module


def _named(device: str | int | None) -> str:
    """Returns a device by its name."""
    if isinstance(device, str):
        return device
    return f"{privateuse1_backend_name()}:{current_device() if device is None else device}"


def is_available() -> bool:
    """True if there is a device of the extension."""
    return _C._privateuse1_count() > 0


def device_count() -> int:
    """Returns the number of the extension's devices that this process can use."""
    return _C._privateuse1_count()


def current_device() -> int:
    """Returns the index of the device that the name without an index stands for, on this thread."""
    return _C._privateuse1_current()


def set_device(device: str | int) -> None:
    """Makes another device the current one, on this thread."""
    _C._privateuse1_set_current(device)


@contextmanager
def device(device: str | int) -> Iterator[None]:
    """Returns a scope in which another device is the current one."""
    before = current_device()
    set_device(device)
    try:
        yield
    finally:
        set_device(before)


def synchronize(device: str | int | None = None) -> None:
    """Waits for all work on a device. What went wrong there is raised here."""
    _C._privateuse1_synchronize(device)


class Stream:
    """Queue of work on a device.

    Memory belongs to the stream that was current when it was taken: a tensor that is used on another stream has to
    live until that stream is done.

    Raises:
        NotImplementedError: the device has one stream only.
    """

    def __init__(self, device: str | int | None = None) -> None:
        self._id = 0
        self._id, self.device = _C._privateuse1_make_stream(device)
        self._before: list[Stream | None] = []

    def synchronize(self) -> None:
        """Waits for the stream's work."""
        _C._privateuse1_synchronize_stream(self._id)

    def __enter__(self) -> Stream:
        self._before.append(_set_stream(self.device, self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _set_stream(self.device, self._before.pop())

    def __del__(self) -> None:
        if getattr(self, "_id", 0):
            _C._privateuse1_end_stream(self._id)

    def __repr__(self) -> str:
        return f"Stream(device='{self.device}')"


def stream(stream: Stream) -> Stream:
    """Returns a scope whose work on the stream's device, on this thread, goes to the stream."""
    return stream


_current = threading.local()


def _set_stream(device: str, stream: Stream | None) -> Stream | None:
    """Makes a stream the current one of this thread, None the device's own; returns the one before."""
    _C._privateuse1_set_stream(device, 0 if stream is None else stream._id)
    streams: dict[str, Stream | None] = _current.__dict__.setdefault("streams", {})
    before = streams.get(device)
    streams[device] = stream
    return before


def manual_seed(seed: int, device: str | int | None = None) -> None:
    """Starts a device's random numbers anew."""
    random.default_generator(_named(device)).manual_seed(seed)


def get_rng_state(device: str | int | None = None) -> tuple[int, int, int]:
    """Returns the state of a device's generator."""
    return _C.get_rng_state(_named(device))


def set_rng_state(state: tuple[int, int, int], device: str | int | None = None) -> None:
    """Sets the state of a device's generator."""
    _C.set_rng_state(state, _named(device))


def memory_allocated(device: str | int | None = None) -> int:
    """Bytes that tensors hold on a device."""
    return _C.memory_allocated(_named(device))


def max_memory_allocated(device: str | int | None = None) -> int:
    """Returns the most bytes that tensors have held on a device since the last :func:`reset_peak_memory`."""
    return _C.max_memory_allocated(_named(device))


def memory_reserved(device: str | int | None = None) -> int:
    """Bytes taken from a device: those that tensors hold, and those kept for reuse."""
    return _C.memory_reserved(_named(device))


def reset_peak_memory(device: str | int | None = None) -> None:
    """Starts :func:`max_memory_allocated` anew, from what is held now."""
    _C.reset_peak_memory(_named(device))


def empty_cache(device: str | int | None = None) -> None:
    """Gives a device the memory back that no tensor holds."""
    _C.empty_cache(_named(device))
