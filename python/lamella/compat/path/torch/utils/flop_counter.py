"""Counts of the multiplications and additions of products: matrix products, convolutions and attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import lamella as lm
from lamella import _C, Tensor
from lamella.compat.front import close_module
from lamella.distributed.rules.flops import flops_of
from lamella.graph._recorder import RecorderBase, _Operator, not_recording
from lamella.graph._special import exchange_handler
from lamella.nn import Module
from lamella.nn._hooks import hook_all_modules


class FlopCounterMode(RecorderBase):
    """A block whose products are counted, each for the modules that are running.

    Gradients are computed by kernels of their own, which are not counted.

    Args:
        mods: not used: modules are found as they run.
        depth: the number of levels of modules in the table.
        display: True prints the table at the end of the block.
        custom_mapping: not used.
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        self.depth = depth
        self.display = display
        self.flop_counts: dict[str, dict[str, int]] = {"Global": {}}
        self._operators: dict[str, _Operator] = {}
        self._names: dict[int, str] = {}
        self._running: list[str] = ["Global"]

    def __enter__(self) -> Self:
        self.flop_counts = {"Global": {}}
        self._handles = [
            hook_all_modules("forward_pre", self._enter),
            hook_all_modules("forward", self._leave, always_call=True),
        ]
        self._previous = _C._set_recorder(self), exchange_handler(self)
        return self

    def __exit__(self, *error: Any) -> None:
        recorder, handler = self._previous
        _C._set_recorder(recorder)
        exchange_handler(handler)
        for handle in self._handles:
            handle.remove()
        self._running = ["Global"]
        if self.display:
            print(self.get_table(self.depth))

    def _enter(self, module: Module, args: Any) -> None:
        name = self._names.setdefault(id(module), type(module).__name__)
        for part, child in module.named_children():
            self._names.setdefault(id(child), f"{name}.{part}")
        self._running.append(name)

    def _leave(self, module: Module, args: Any, result: Any) -> None:
        self._running.pop()

    def operator(self, name: str, in_place: bool, values: Sequence[Any]) -> Any:
        """Runs an operator, and counts its products."""
        if name not in self._operators:
            self._operators[name] = _Operator(getattr(lm.ops.lamella, name))
        operator = self._operators[name]
        known = len(operator.names)
        if in_place or any(each is not None for each in values[known:]):  # an output that is given
            return NotImplemented
        return self._run(name, lambda: operator.run(values[:known]), values)

    def _run(self, name: str, call: Callable[[], Any], values: Sequence[Any]) -> Any:
        with not_recording():
            result = call()
            if isinstance(result, Tensor):
                self._count(name, [each for each in values if isinstance(each, Tensor)], result)
        return result

    def special(self, name: str, original: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Runs ``x @ y``, and counts its products."""
        if name not in ("__matmul__", "__rmatmul__"):
            return NotImplemented
        return self._run("matmul", lambda: original(*args), args if name == "__matmul__" else args[::-1])

    def registered(self, call: Any, args: Any, kwargs: Any) -> Any:
        """Leaves registered operators alone."""
        return NotImplemented

    layer = cpp_layer = registered

    def _count(self, name: str, tensors: list[Tensor], result: Tensor) -> None:
        flops = int(flops_of(name, tensors, result))
        for each in dict.fromkeys(self._running if flops else ()):
            counts = self.flop_counts.setdefault(each, {})
            counts[name] = counts.get(name, 0) + flops

    def get_total_flops(self) -> int:
        """Returns the number for all modules."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """Returns the numbers by the names of modules and of operators."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Returns the numbers of modules down to a level as a table."""
        levels = self.depth if depth is None else depth
        rows = [("Module", "FLOP", "% Total")]
        total = self.get_total_flops()
        for name, counts in self.flop_counts.items():
            if name.count(".") < levels:
                count = sum(counts.values())
                rows.append((name, f"{count:,}", f"{100 * count / total:.2f}%" if total else "0%"))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


__getattr__ = close_module(__name__)
