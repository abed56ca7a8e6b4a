"""Hooks on the tensors that operations save for their backward."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from .. import _C
from .._C import Tensor


class saved_tensors_hooks:  # noqa: N801
    """Keeps, in a ``with`` block, what ``pack`` makes of each tensor that an operation saves for its backward.

    ``pack(x)`` is called with each of them, off the tape, when the operation has been computed, and may return
    anything; ``unpack(packed)`` gets that back when backward asks for the tensor, and must return a tensor of the same
    shape, dtype and device. That holds for built-in operators, for layers in C++ and for :class:`PyLayer` alike. Both
    run with recording off and no hooks in force, on the thread that saves or asks. Blocks nest: the innermost pair is
    used, alone. A tensor's place on the tape is kept beside, so higher derivatives work::

        with lm.autograd.saved_tensors_hooks(lambda x: x.numpy().copy(), lm.asarray):
            y = model(x)

    Args:
        pack: A function of a tensor. It must not write into the tensor: ``RuntimeError``.
        unpack: A function of what ``pack`` returned.

    Raises:
        TypeError: ``pack`` or ``unpack`` is no function; in backward, where ``unpack`` returns no tensor.
        ValueError: In backward, where ``unpack`` returns a tensor of another shape, dtype or device.
        RuntimeError: Inside :class:`disable_saved_tensors_hooks`; in backward, where ``pack`` returned the tensor's own
            memory and that was written to since.
    """

    def __init__(self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> None:
        for name, function in (("pack", pack), ("unpack", unpack)):
            if not callable(function):
                raise TypeError(f"[saved_tensors_hooks] {name}: expected a function, got {type(function).__name__}")
        self._pack = pack
        self._unpack = unpack

    def __enter__(self) -> Self:
        """Puts the pair in force on this thread."""
        _C._push_saved_tensors_hooks(self._pack, self._unpack)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Takes the pair out of force."""
        _C._pop_saved_tensors_hooks(self._pack, self._unpack)


class disable_saved_tensors_hooks:  # noqa: N801
    """Makes the use of :class:`saved_tensors_hooks` in a ``with`` block an error, for code that they would break.

    Args:
        message: What the ``RuntimeError`` says.

    Raises:
        RuntimeError: Where hooks are in force already.
    """

    def __init__(self, message: str) -> None:
        if not isinstance(message, str):
            raise TypeError(f"[disable_saved_tensors_hooks] message: expected a str, got {type(message).__name__}")
        self._message = message

    def __enter__(self) -> Self:
        """Forbids hooks on this thread."""
        _C._push_saved_tensors_hooks_disabled(self._message)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Allows them again."""
        _C._pop_saved_tensors_hooks_disabled()


def _to_cpu(x: Tensor) -> tuple[str, Tensor]:
    return x.device, x.cpu()


def _back(packed: tuple[str, Tensor]) -> Tensor:
    device, x = packed
    return x.to(device)


def _to_pinned(x: Tensor) -> tuple[str, Tensor]:
    return x.device, x.to("cpu", non_blocking=True)


def _back_from_pinned(packed: tuple[str, Tensor]) -> Tensor:
    device, x = packed
    return x.to(device, non_blocking=True)


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Keeps the tensors that operations in a ``with`` block save for backward in the CPU's memory.

    They go back to their device when backward asks for them. Tensors that are on the CPU are kept as they are, without
    a copy.

    Args:
        pin_memory: Keeps them in page-locked memory, to and from which a CUDA device copies while the host goes on.

    Raises:
        TypeError: ``pin_memory`` is no bool.
    """

    def __init__(self, pin_memory: bool = False) -> None:
        if not isinstance(pin_memory, bool):
            raise TypeError(f"[save_on_cpu] pin_memory: expected True or False, got {type(pin_memory).__name__}")
        if pin_memory:
            super().__init__(_to_pinned, _back_from_pinned)
        else:
            super().__init__(_to_cpu, _back)


def _copy(x: Tensor) -> Tensor:
    return x.clone()


def _as_it_is(x: Tensor) -> Tensor:
    return x


class allow_mutation_on_saved_tensors(saved_tensors_hooks):  # noqa: N801
    """Lets tensors that operations in a ``with`` block save for backward be written to in place.

    Each is copied when it is saved, so that backward sees the value of that moment: memory is the price, and the error
    about a tensor that was overwritten is gone.
    """

    def __init__(self) -> None:
        super().__init__(_copy, _as_it_is)
