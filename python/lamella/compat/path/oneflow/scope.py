"""Scopes that say on which device operators run, and what the names of variables begin with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import local

from lamella.compat.front import close_module

from . import _record

__getattr__ = close_module(__name__)


class _Placement(local):
    """The innermost placement of a thread, which compiled functions watch."""

    device: str | None = None


_placement = _Placement()
#: What names begin with: the namespaces, outermost first.
_namespaces: ContextVar[tuple[str, ...]] = ContextVar("oneflow_namespaces", default=())


def current_device() -> str | None:
    """Returns the device that a ``placement`` named; None outside of one."""
    return _placement.device


@contextmanager
def placement(device_tag: str, machine_device_ids: str | list[str]) -> Iterator[None]:
    """Runs the operators of a block on a device.

    Args:
        device_tag: "cpu", "gpu" or "cuda".
        machine_device_ids: machine and device, "0:0" (or "0:0-0"); one machine and one device are supported.

    Raises:
        ValueError: there is no such kind of device, or the text names none.
        NotImplementedError: several devices, or another machine.
    """
    if device_tag not in ("cpu", "gpu", "cuda"):
        raise ValueError(f"[placement] expected 'cpu', 'gpu' or 'cuda', got '{device_tag}'")
    ids = [machine_device_ids] if isinstance(machine_device_ids, str) else list(machine_device_ids)
    machine, colon, device = ids[0].partition(":") if len(ids) == 1 else ("", "", "")
    first, dash, last = device.partition("-")
    device = first if dash and first == last else device
    if len(ids) != 1 or "-" in device or "," in device or machine.lstrip("@") not in ("0", ""):
        raise NotImplementedError(f"[placement] {machine_device_ids!r}: one device of machine 0 is supported")
    if not colon or not device.isdigit():
        raise ValueError(f"[placement] {machine_device_ids!r} is not machine and device, such as '0:0'")
    chosen = "cpu" if device_tag == "cpu" else f"cuda:{device}"
    record = _record.current()
    if record is not None:
        record.place(chosen)
    before, _placement.device = _placement.device, chosen
    try:
        yield
    finally:
        _placement.device = before


@contextmanager
def namespace(name: str) -> Iterator[None]:
    """Puts ``name`` and a hyphen before the names of the variables that a block makes.

    Raises:
        TypeError: the name is not text.
        ValueError: the name is empty.
    """
    if not isinstance(name, str):
        raise TypeError(f"[namespace] name is a str, not {type(name).__name__}")
    if not name:
        raise ValueError("[namespace] name is empty")
    before = _namespaces.set((*_namespaces.get(), name))
    try:
        yield
    finally:
        _namespaces.reset(before)


@contextmanager
def outermost() -> Iterator[None]:
    """Leaves all namespaces until the end of the block: those around a call are none of the job's."""
    before = _namespaces.set(())
    try:
        yield
    finally:
        _namespaces.reset(before)


def full_name(name: str) -> str:
    """Returns a name with the namespaces around it before it: "dense1-weight"."""
    return "-".join([*_namespaces.get(), name])


def consistent_view() -> str:
    """Returns the way of work that there is: one device, which holds all of every tensor. For ``FunctionConfig``."""
    return "consistent"


def mirrored_view() -> str:
    """Accepted: with one device it is the same as :func:`consistent_view`."""
    return "mirrored"
