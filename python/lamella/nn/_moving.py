"""Modules on other devices and in other dtypes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

import lamella as lm

from .parameter import Parameter


class Movable:
    """A tree of modules whose tensors can be replaced by others of another device or dtype."""

    if TYPE_CHECKING:
        _parameters: dict[str, Any]
        _buffers: dict[str, Any]

        def modules(self) -> Iterator[Any]:
            """Yields the module and all below it."""

    def to(self, *targets: Any, device: str | None = None, dtype: Any = None) -> Self:
        """Moves the module to a device, or turns its floating-point tensors to a dtype, or both.

        Parameters are replaced by new ones and lose their gradients, so call it before an optimizer is made.
        A dtype leaves integer and bool tensors as they are, and a real one complex tensors, too.

        Args:
            targets: a device, a dtype, both, or a tensor, which stands for its device and dtype.
            device: the device, by its name.
            dtype: the dtype.

        Raises:
            TypeError: a device or a dtype is given twice, or there is neither.
        """
        for target in targets:
            if isinstance(target, lm.Tensor):
                device, dtype = _once("device", device, target.device), _once("dtype", dtype, target.dtype)
            elif _is_device(target):
                device = _once("device", device, target)
            elif target is not None:
                dtype = _once("dtype", dtype, target)
        if device is None and dtype is None:
            raise TypeError("[to] takes a device, a dtype or a tensor")

        # A real dtype would take the imaginary parts of complex numbers away.
        is_real = dtype is not None and lm.isdtype(lm.empty((0,), dtype=dtype).dtype, "real floating")
        kinds = ("real floating",) if is_real else ("real floating", "complex floating")

        def moved(tensor: lm.Tensor) -> lm.Tensor:
            if device is not None:
                tensor = tensor.to(device)
            if dtype is None or not lm.isdtype(tensor.dtype, kinds):
                return tensor
            return tensor.to(dtype)

        return self._convert(moved)

    def to_empty(self, *, device: str) -> Self:
        """Moves the module to a device without its values: parameters and buffers hold anything afterwards.

        With it a module that was made on the device ``meta``, which has no memory, gets its memory.
        """
        return self._convert(lambda tensor: lm.empty(tuple(tensor.shape), dtype=tensor.dtype, device=device))

    def _convert(self, convert: Callable[[lm.Tensor], lm.Tensor]) -> Self:
        """Replaces every tensor by what ``convert`` makes of it; one that is shared stays shared."""
        moved: dict[int, Any] = {}
        with lm.no_grad():
            for module in self.modules():
                for table in (module._parameters, module._buffers):
                    for name, tensor in table.items():
                        if tensor is not None:
                            if id(tensor) not in moved:
                                # The old tensor is held, so that no new one gets its id.
                                moved[id(tensor)] = (tensor, _like(tensor, convert(tensor)))
                            table[name] = moved[id(tensor)][1]
        return self

    def float(self) -> Self:
        """Turns floating-point tensors to float32."""
        return self.to(lm.float32)

    def double(self) -> Self:
        """Turns floating-point tensors to float64."""
        return self.to(lm.float64)

    def half(self) -> Self:
        """Turns floating-point tensors to float16."""
        return self.to(lm.float16)

    def bfloat16(self) -> Self:
        """Turns floating-point tensors to bfloat16."""
        return self.to(lm.bfloat16)

    def cuda(self, index: int | None = None) -> Self:
        """Moves the module to a CUDA device, by default the current one."""
        return self.to("cuda" if index is None else f"cuda:{index}")

    def cpu(self) -> Self:
        """Moves the module to the CPU."""
        return self.to("cpu")


def _like(before: lm.Tensor, now: lm.Tensor) -> lm.Tensor:
    """Returns a converted tensor as a parameter of the kind that it was before, where it was one."""
    if now is before or not isinstance(before, Parameter):
        return now
    return type(before).of_memory(now, stop_gradient=before.stop_gradient)


def _once(name: str, before: Any, now: Any) -> Any:
    if before is not None:
        raise TypeError(f"[to] two {name}s are given: {before} and {now}")
    return now


def _is_device(target: Any) -> bool:
    """Tells a device from a dtype: both can be given by name."""
    if isinstance(target, str):
        return target.partition(":")[0] in ("cpu", "cuda", "meta", "privateuse1", lm._C._privateuse1_name())
    return target is not None and not hasattr(target, "itemsize")
