"""Devices: their names, with the kind and the number as PyTorch's programs ask for them."""

from __future__ import annotations

import re
import threading
from importlib import import_module
from typing import Any

import lamella as lm

#: Kinds of devices that programs name; which of them there are is found when tensors are made.
_KINDS = ("cpu", "cuda", "meta", "mps", "xpu", "xla", "hpu", "mtia", "ipu", "vulkan", "lazy", "npu", "privateuseone")
#: Devices on which a thread made tensors before it entered blocks.
_devices_before = threading.local()


class device(str):  # noqa: N801 (PyTorch's name)
    """A device: its name as Lamella takes it, with ``type`` and ``index``.

    ``device("cuda:1")``, ``device("cuda", 1)``, ``device(1)``: the devices of tensors are such objects, and equal their
    names.

    Raises:
        RuntimeError: The name is none of a device.
    """

    __module__ = "torch"

    def __new__(cls, type: Any, index: int | None = None) -> device:
        """Returns a device by its name, by the kind and which one, or by the number of a GPU."""
        name = f"cuda:{type}" if isinstance(type, int) else str(type)
        if index is not None:
            if ":" in name:
                raise RuntimeError(f"[device] type {name!r} has an index already, and index={index} is given")
            name = f"{name}:{index}"
        if not re.fullmatch(r"[A-Za-z_]\w*(:\d+)?", name):
            raise RuntimeError(f"[device] {name!r} is no device: expected a kind such as 'cpu', or 'cuda:0'")
        kind = name.partition(":")[0]
        if kind not in _KINDS and kind != lm.utils.privateuse1_backend_name():
            raise RuntimeError(f"[device] {name!r} is no device: its kind is one of {', '.join(_KINDS)}")
        return super().__new__(cls, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type,) if self.index is None else (self.type, self.index)

    def __enter__(self) -> device:
        """Makes tensors on the device in a ``with`` block, where none is named."""
        before = _devices_before.__dict__.setdefault("names", [])
        before.append(lm.get_default_device())
        lm.set_default_device(str(self))
        return self

    def __exit__(self, *exception: object) -> None:
        """Ends the block."""
        lm.set_default_device(_devices_before.names.pop())

    def __repr__(self) -> str:
        return f"device(type={self.type!r}" + ("" if self.index is None else f", index={self.index}") + ")"

    @property
    def type(self) -> str:
        """The kind of device, "cpu" or "cuda"."""
        return str(self).partition(":")[0]

    @property
    def index(self) -> Any:  # type: ignore[override]
        """Index of the device among those of its kind; None if it was not given."""
        number = str(self).partition(":")[2]
        return int(number) if number else None


def get_device_module(device: Any = None) -> Any:
    """Returns the module of a kind of devices, such as ``torch.cuda``.

    By default it is that of GPUs, where there is one, or of the CPU.

    Raises:
        RuntimeError: there is no such module.
    """
    if device is None:
        device = "cuda" if lm.cuda.is_available() else "cpu"
    kind = str(device).partition(":")[0]
    try:
        return import_module(f"torch.{kind}")
    except ImportError:
        found = getattr(lm, kind, None)
        if found is None:
            raise RuntimeError(f"[get_device_module] there is no module of the devices {kind!r}") from None
        return found
