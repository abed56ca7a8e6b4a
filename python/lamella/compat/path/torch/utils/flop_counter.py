"""Counts of the multiplications and additions of products: matrix products, convolutions and attention."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import lamella as lm
from lamella import _C, Tensor
from lamella._tree import flatten
from lamella.compat.front import close_module
from lamella.graph._recorder import RecorderBase, _Operator, not_recording
from lamella.graph._special import exchange_handler

from .._nodes import GradientEdge, get_gradient_edge
from .._ops import OpOverloadPacket, ops, overload_of
from ._flops import (
    MODULES,
    SINGLE,
    TIMES,
    Products,
    backward_of,
    examples_of,
    has_gradient,
    has_kernel,
    nodes_of,
    note_kept,
    of_attention,
    of_matmul,
    recorded,
)
from .module_tracker import ModuleTracker

#: Formulas of programs, by the operator's packet.
flop_registry: dict[Any, Callable[..., int]] = {}


def _of_shapes(formula: Callable[..., int]) -> Callable[..., int]:
    """Returns a formula that is called with tensors, for one of shapes."""

    def shape_of(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(shape_of, value))
        return value.shape if isinstance(value, Tensor) else value

    @functools.wraps(formula)
    def call(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        named = {name: shape_of(value) for name, value in kwargs.items()}
        return formula(*map(shape_of, args), out_shape=shape_of(out_val), **named)

    return call


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Returns a decorator of functions that count for operators: ``@register_flop_formula(torch.ops.ns.name)``.

    Args:
        targets: an operator of ``torch.ops``, or several.
        get_raw: True calls the function with the tensors, and with the result as ``out_val``, rather than with their
            shapes, and ``out_shape``.
    """

    def register(formula: Callable[..., int]) -> Callable[..., int]:
        made = formula if get_raw else _of_shapes(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            key = _key(target)
            if key in flop_registry:
                raise RuntimeError(f"[register_flop_formula] {target} has a formula already")
            flop_registry[key] = made
        return made

    return register


def _key(target: Any) -> Any:
    """Returns that by which an operator is found: a packet of ``aten``, or the name of a registered operator.

    Raises:
        ValueError: it is no operator of ``torch.ops``.
    """
    if isinstance(target, OpOverloadPacket):
        return target
    name = getattr(target, "_name", None) or getattr(target, "name", None)
    if not isinstance(name, str) or "::" not in name:
        raise ValueError(f"[register_flop_formula] expected an operator such as torch.ops.ns.name, got {target!r}")
    return name


#: Operators that are products with a vector, or may be: those of two vectors, or of a matrix and a vector, are not
#: counted, as they are none of matrices.
_OF_VECTORS = frozenset({"matmul", "mv", "dot", "vdot", "addmv", "inner", "tensordot"})
#: Operators that are not counted in any case, although here they are made of products of matrices.
_UNCOUNTED = frozenset({"vecdot", "bilinear", "linalg_matrix_exp"})
#: Operators that are made of products: how many, their call on tensors without memory tells. For some PyTorch calls
#: one operator only.
_COMPOSED: dict[str, str | None] = {
    **dict.fromkeys(("rnn", "lstm", "gru", "rnn_cell", "lstm_cell", "gru_cell", "linalg_matrix_power", "cov")),
    "einsum": "bmm",
    "tensordot": "mm",
    "inner": "mm",
}


class FlopCounterMode(RecorderBase):
    """A block whose products are counted, each for the modules that are running.

    Those of gradients are counted when they are computed, for the modules that their forward ran in.

    Args:
        mods: not used: modules are found as they run.
        depth: the number of levels of modules in the table.
        display: True prints the table at the end of the block.
        custom_mapping: formulas by operators, as of :func:`register_flop_formula`, for this block.
        skip_unsupported: not used: operators without a formula run, and count nothing.
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: Mapping[Any, Callable[..., int]] | None = None,
        skip_unsupported: bool = False,
    ) -> None:
        if mods is not None:
            warnings.warn("[FlopCounterMode] mods is not needed: modules are found as they run", stacklevel=2)
        self.depth = depth
        self.display = display
        own = {_key(op): _of_shapes(formula) for op, formula in (custom_mapping or {}).items()}
        self.flop_registry = {**flop_registry, **own}
        self.flop_counts: dict[str, dict[Any, int]] = {"Global": {}}
        self._operators: dict[str, _Operator] = {}
        self.mod_tracker = ModuleTracker()
        self._is_passed = False

    def __enter__(self) -> Self:
        self.flop_counts = {"Global": {}}
        self.mod_tracker.__enter__()
        self._previous = _C._set_recorder(self), exchange_handler(self)
        return self

    def __exit__(self, *error: Any) -> None:
        recorder, handler = self._previous
        _C._set_recorder(recorder)
        exchange_handler(handler)
        self.mod_tracker.__exit__(*error)
        if self.display:
            print(self.get_table(self.depth))

    # ---- forward

    def operator(self, name: str, in_place: bool, values: Sequence[Any]) -> Any:
        """Runs an operator, and counts its products."""
        if name not in self._operators:
            self._operators[name] = _Operator(getattr(lm.ops.lamella, name))
        operator = self._operators[name]
        given = values[: len(operator.names)]
        if in_place or any(each is not None for each in values[len(given) :]):  # an output that is given
            with not_recording():
                self._count(name, operator, given, [])
            return NotImplemented
        return self._run(name, operator, lambda: operator.run(given), given)

    def _run(self, name: str, operator: _Operator, call: Callable[[], Any], values: Sequence[Any]) -> Any:
        with not_recording():
            result = call()
            self._count(name, operator, values, flatten(result)[0])
        return result

    def special(self, name: str, original: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Runs ``x @ y`` and ``x.backward()``, and counts their products."""
        if name == "backward":
            return self._pass(lambda: original(*args, **kwargs), [args[0]], kwargs.get("inputs"), asks=False)
        if name not in ("__matmul__", "__rmatmul__"):
            return NotImplemented
        operator = _Operator(lm.ops.lamella.matmul)
        given = args if name == "__matmul__" else args[::-1]
        if not isinstance(given[0], Tensor) or not isinstance(given[1], Tensor):
            return NotImplemented
        return self._run("matmul", operator, lambda: original(*args), given)

    def registered(self, call: Any, args: Any, kwargs: Any) -> Any:
        """Runs a registered operator, and counts by its formula where a program gave one."""
        formula = self.flop_registry.get(call.name)
        if formula is None:
            return NotImplemented
        with not_recording():
            result = call(*args, **kwargs)
        self._add(call, formula(*args, **kwargs, out_val=result), self.mod_tracker.running)
        return result

    def layer(self, layer: Any, args: Any, kwargs: Any) -> Any:
        """Leaves layers alone."""
        return NotImplemented

    cpp_layer = layer

    def _count(self, name: str, operator: _Operator, values: Sequence[Any], results: list[Tensor]) -> None:
        """Counts a call, and notes in its nodes where its gradients are counted."""
        tensors = [each for each in flatten(list(values))[0] if isinstance(each, Tensor)]
        if not tensors:
            return
        packet = getattr(overload_of(name, tuple(tensors)), "overloadpacket", None)
        if packet in self.flop_registry:
            out = results[0] if len(results) == 1 else tuple(results)
            self._add(packet, self.flop_registry[packet](*values, out_val=out), self.mod_tracker.running)
            return
        counted = name not in _UNCOUNTED and not (name in _OF_VECTORS and tensors[-1].ndim == 1)
        found = self._products(name, operator, values, tensors, results) if counted else []
        if not found and counted and name not in _COMPOSED:
            return
        counted = bool(found)
        times = examples_of(tensors)
        for each in found:
            self._add(getattr(ops.aten, each.operator), each.flops * times, self.mod_tracker.running)
        before = {each.grad_fn for each in tensors if each.grad_fn is not None}
        nodes = [node for node in nodes_of(results, before) if has_gradient(node)]
        for node in nodes:
            node.metadata[MODULES] = self.mod_tracker.running if counted else None
        note_kept(nodes, operator.run, values)
        drops = name == "scaled_dot_product_attention" and _value(operator, values, "dropout_p") > 0
        for node in nodes:
            node.metadata[TIMES], node.metadata[SINGLE] = times, drops

    def _products(
        self, name: str, operator: _Operator, values: Sequence[Any], tensors: list[Tensor], results: list[Tensor]
    ) -> list[Products]:
        """Returns the products of a call."""
        if name in _COMPOSED:
            found = recorded(operator.run, values)
            alone = _COMPOSED[name]
            return [Products(alone, each.flops) for each in found] if alone else found
        if name in ("matmul", "mm", "bmm"):
            flops = of_matmul(*(lm.empty(_as_matrix(x, k), device="meta") for k, x in enumerate(tensors)))
            kind = "bmm" if (tensors[0].ndim > 2 and tensors[1].ndim > 2) or name == "bmm" else "mm"
            return [Products(kind, flops)]
        if name in ("addmm", "baddbmm"):
            return [Products(name, of_matmul(*tensors[-2:]))]
        if name == "linear":
            x, weight = tensors[:2]
            kind = "addmm" if len(tensors) > 2 else "mm"
            return [Products(kind, 2 * math.prod(x.shape) * math.prod(weight.shape) // max(weight.shape[-1], 1))]
        if name == "scaled_dot_product_attention":
            kernel = has_kernel(*tensors[:3]) and not _value(operator, values, "dropout_p")
            kind = "_scaled_dot_product_flash_attention_for_cpu" if kernel else "bmm"
            return [Products(kind, sum(of_attention(*tensors[:3])))]
        if name.startswith("conv"):
            return self._convolution(name, operator, values, tensors, results)
        return []

    @staticmethod
    def _convolution(
        name: str, operator: _Operator, values: Sequence[Any], tensors: list[Tensor], results: list[Tensor]
    ) -> list[Products]:
        if name.removesuffix("d")[:-1] not in ("conv", "conv_transpose"):
            return []
        places = tensors[0] if "transpose" in name else results[0]
        weight = tensors[1]
        return [Products("convolution", 2 * math.prod(places.shape) * math.prod(weight.shape) // weight.shape[0])]

    # ---- gradients

    def backward(self, module: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Runs :func:`torch.autograd.backward`, and counts the products of gradients."""
        if self._passes():
            return NotImplemented
        named = dict(zip(("tensors", "grad_tensors", "retain_graph", "create_graph", "inputs"), args, strict=False))
        named |= kwargs
        return self._pass(lambda: _C.backward(*args, **kwargs), _listed(named["tensors"]), named.get("inputs"))

    def grad(self, module: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Runs :func:`torch.autograd.grad`, and counts the products of gradients."""
        if self._passes():
            return NotImplemented
        named = dict(zip(("outputs", "inputs"), args, strict=False)) | kwargs
        return self._pass(lambda: _C.grad(*args, **kwargs), _listed(named["outputs"]), named["inputs"])

    def _pass(self, call: Callable[[], Any], results: Iterable[Tensor], inputs: Any, asks: bool = True) -> Any:
        """Runs a backward pass with a hook before each node whose gradients are products.

        ``asks`` is True for a call that asks this recorder again.
        """
        nodes = list(nodes_of(results))
        wanted = None if inputs is None else _leading_to(nodes, [_edge_of(each) for each in _listed(inputs)])
        handles = []
        for node in nodes:
            if not has_gradient(node):
                continue
            modules = node.metadata.get(MODULES, ("Global",))
            if modules is not None:
                edges = node.next_functions
                needed = [each[0] is not None and (wanted is None or each in wanted) for each in edges]
                handles.append(node.register_prehook(self._hook(node, modules, needed)))
        self._is_passed = asks
        recorder, handler = _C._set_recorder(self), exchange_handler(self)  # what runs in the pass is counted as well
        try:
            return call()
        finally:
            _C._set_recorder(recorder)
            exchange_handler(handler)
            self._is_passed = False
            for handle in handles:
                handle.remove()

    def _passes(self) -> bool:
        """True for the call of a backward pass that :meth:`_pass` makes."""
        passes, self._is_passed = self._is_passed, False
        return passes

    def _hook(self, node: Any, modules: Sequence[str], needed: list[bool]) -> Callable[..., None]:
        padded = [*needed, False, False, False]

        def count(grads: Any) -> None:
            if any(each is not None for each in grads):
                with not_recording():
                    found = backward_of(node, grads, padded)
                self._add(getattr(ops.aten, found.operator), found.flops, modules)

        return count

    def _add(self, operator: Any, flops: int, modules: Iterable[str]) -> None:
        for each in dict.fromkeys(modules if flops else ()):
            counts = self.flop_counts.setdefault(each, {})
            counts[operator] = counts.get(operator, 0) + flops
        around = self._previous[0]
        if isinstance(around, FlopCounterMode):
            around._add(operator, flops, around.mod_tracker.running)

    # ---- results

    def get_total_flops(self) -> int:
        """Returns the number for all modules."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Returns the numbers by the names of modules and by operators."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Returns the numbers of modules down to a level as a table."""
        levels = self.depth if depth is None else depth
        total = self.get_total_flops()
        unit = max(0, min(len(_UNITS) - 1, (len(str(total)) - 2) // 3))

        def lines_of(name: str, indent: int) -> list[tuple[str, str, str]]:
            counts = self.flop_counts[name]
            lines = [(name, sum(counts.values())), *((f" - {op}", flops) for op, flops in counts.items())]
            return [
                (" " * indent + text, f"{n / 1000**unit:.3f}{_UNITS[unit]}", f"{n / total:.2%}" if total else "0%")
                for text, n in lines
            ]

        names = sorted(self.flop_counts.keys() - {"Global"})
        shown = [name for name in names if levels is None or name.count(".") < levels]
        whole = any(sum(self.flop_counts[name].values()) >= total for name in shown)
        indent = 0 if whole else 1
        lines = [] if whole or not total else lines_of("Global", 0)
        for name in shown:
            lines += lines_of(name, name.count(".") + indent)
        return _aligned(("Module", "FLOP", "% Total"), lines or [("Global", "0", "0%")])


#: Suffixes of thousands, millions and so on.
_UNITS = ("", "K", "M", "B", "T")


def _aligned(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Returns a table whose first column stands at the left and whose others stand at the right."""
    widths = [
        max(len(title) + 2, *map(len, column)) for title, column in zip(head, zip(*lines, strict=True), strict=True)
    ]
    rows = [head, ["-" * width for width in widths], *lines]
    sides = ["<", *[">"] * (len(head) - 1)]
    return "\n".join(
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)) for row in rows
    )


def _value(operator: _Operator, values: Sequence[Any], name: str) -> Any:
    return values[operator.names.index(name)]


def _as_matrix(x: Tensor, place: int) -> tuple[int, ...]:
    return tuple(x.shape) if x.ndim > 1 else (1, x.shape[0]) if place == 0 else (x.shape[0], 1)


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) and not isinstance(given, GradientEdge) else [given]


def _edge_of(given: Any) -> tuple[Any, int]:
    edge = given if isinstance(given, GradientEdge) else get_gradient_edge(given)
    return edge.node, edge.output_nr


def _leading_to(nodes: Sequence[Any], targets: Sequence[tuple[Any, int]]) -> set[tuple[Any, int]]:
    """Returns the edges of nodes by which gradients reach one of some places."""
    ends, reached = set(targets), set()
    for node in sorted(nodes, key=lambda each: each.sequence_nr):  # those that were recorded first
        if any(each in ends or each[0] in reached for each in node.next_functions):
            reached.add(node)
    return ends | {each for node in nodes for each in node.next_functions if each[0] in reached}


__getattr__ = close_module(__name__)
