"""Scopes that say on which device operators run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lamella.compat.front import close_module

__getattr__ = close_module(__name__)

#: Device of the innermost placement.
_device: ContextVar[str | None] = ContextVar("oneflow_placement", default=None)


def current_device() -> str | None:
    """Returns the device that a ``placement`` named; None outside of one."""
    return _device.get()


@contextmanager
def placement(device_tag: str, machine_device_ids: str | list[str]) -> Iterator[None]:
    """Runs the operators of a block on a device.

    Args:
        device_tag: "cpu", "gpu" or "cuda".
        machine_device_ids: machine and device, "0:0"; one machine and one device are supported.

    Raises:
        ValueError: there is no such kind of device, or the text names none.
        NotImplementedError: several devices, or another machine.
    """
    if device_tag not in ("cpu", "gpu", "cuda"):
        raise ValueError(f"[placement] expected 'cpu', 'gpu' or 'cuda', got '{device_tag}'")
    ids = [machine_device_ids] if isinstance(machine_device_ids, str) else list(machine_device_ids)
    machine, colon, device = ids[0].partition(":") if len(ids) == 1 else ("", "", "")
    if len(ids) != 1 or "-" in device or "," in device or machine.lstrip("@") not in ("0", ""):
        raise NotImplementedError(f"[placement] {machine_device_ids!r}: one device of machine 0 is supported")
    if not colon or not device.isdigit():
        raise ValueError(f"[placement] {machine_device_ids!r} is not machine and device, such as '0:0'")
    before = _device.set("cpu" if device_tag == "cpu" else f"cuda:{device}")
    try:
        yield
    finally:
        _device.reset(before)


def consistent_view() -> str:
    """Returns the way of work that there is: one device, which holds all of every tensor. For ``FunctionConfig``."""
    return "consistent"


def mirrored_view() -> str:
    """Accepted: with one device it is the same as :func:`consistent_view`."""
    return "mirrored"
