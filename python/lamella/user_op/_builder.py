"""Calls of operators by name."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from lamella import _C
from lamella._C import DType, Tensor

__all__ = ["UserOp", "UserOpBuilder", "op_info", "sbp_signatures", "user_op_builder"]


def op_info(op: str) -> dict[str, Any]:
    """Returns what an operator declares: inputs, outputs, attributes, kernels, and whether it has a gradient.

    Raises:
        ValueError: there is no operator of that name.
    """
    return _C._user_op_info(op)


def sbp_signatures(
    op: str,
    inputs: Mapping[str, Sequence[Tensor]],
    outputs: Mapping[str, int] | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> list[dict[tuple[str, int], str]]:
    """Returns the ways to split an operator over devices.

    Args:
        op: the operator.
        inputs: the tensors, of which shapes and dtypes count (``meta`` tensors will do).
        outputs: how many tensors an output has, where the operator leaves that open.
        attrs: the attributes.

    Returns:
        For each way, how each argument (name and index) lies on the devices: ``"S(0)"`` split along axis 0, ``"B"``
        whole on each, ``"P"`` the sum of what they hold. The last way is always ``"B"`` for all.

    Raises:
        ValueError: the operator's function named an argument or axis that there is not, or left one out.
    """
    tensors = {name: list(values) for name, values in inputs.items()}
    return _C._user_op_sbp(op, "", tensors, dict(outputs or {}), dict(attrs or {}))


class UserOp:
    """Use of an operator, as :meth:`UserOpBuilder.Build` describes it."""

    def __init__(
        self, op: str, name: str, inputs: dict[str, list[Tensor]], outputs: dict[str, int], attrs: dict[str, Any]
    ) -> None:
        self._use = (op, name, inputs, outputs, attrs)
        self._results: list[Tensor] | None = None

    def InferAndTryRun(self) -> Self:  # noqa: N802 (the dialect's name)
        """Computes the outputs: those that were declared by ``Output``, in that order.

        Where a graph is recorded and an input is one of its symbols, or there is no input, the call becomes a node.
        """
        op, _, inputs, _, _ = self._use
        tensors = [x for key in inputs for x in inputs[key]]
        graphs = sys.modules.get("lamella.graph")  # there is no symbol unless it was imported
        graph = None
        if graphs is not None:
            symbol = next((x for x in tensors if isinstance(x, graphs.Symbol)), None)
            graph = symbol.graph if symbol is not None else None if tensors else graphs.recorded_graph()
        if graph is None:
            self._results = self._run_observed(op, tensors)
        else:
            self._results = graph.function(op, self._run, *self._types(graph))
        return self

    def _run_observed(self, op: str, tensors: list[Tensor]) -> list[Tensor]:
        recorder = _C._recorder()
        results = NotImplemented if recorder is None else recorder.call(op, self._run, tensors, {})
        return self._run(*tensors) if results is NotImplemented else results

    def _is_dynamic(self, tensors: Iterable[Tensor]) -> bool:
        """True if the kernel decides on the size of an output."""
        op, name, _, declared, attrs = self._use
        with contextlib.suppress(Exception):  # the call itself says what is wrong
            outputs = _C._user_op_describe(op, name, self._given(tensors), declared, attrs)
            return any(dynamic for _, _, of_output in outputs for dynamic in of_output)
        return False

    def _given(self, tensors: Iterable[Tensor]) -> dict[str, list[Tensor]]:
        """Returns the inputs with other tensors in their places."""
        remaining = iter(tensors)
        return {key: [next(remaining) for _ in own] for key, own in self._use[2].items()}

    def _run(self, *tensors: Tensor) -> list[Tensor]:
        op, name, _, declared, attrs = self._use
        results = dict(_C._user_op_call(op, name, self._given(tensors), declared, attrs))
        return [x for key in declared or results for x in results[key]]

    def _types(self, graph: Any) -> tuple[list[Tensor], list[tuple[DType, tuple[int, ...]]]]:
        """Returns the inputs, and the dtypes and shapes of the outputs; a size that a run decides on is -1."""
        op, name, inputs, declared, attrs = self._use
        symbols = [graph.capture(x) for key in inputs for x in inputs[key]]

        def described(k: int) -> list[Any]:
            given = self._given(graph.meta(x, k) for x in symbols)
            outputs = {key: rest for key, *rest in _C._user_op_describe(op, name, given, declared, attrs)}
            return [each for key in declared or outputs for each in zip(*outputs[key], strict=True)]

        samples = [described(0), described(1)]
        with contextlib.suppress(Exception):  # the operator may refuse sizes of 1, with whatever it throws
            least = described(2)
            if [len(shape) for (shape, _), _ in least] == [len(shape) for (shape, _), _ in samples[0]]:
                samples.append(least)
        types = []
        for outputs in zip(*samples, strict=True):
            (_, dtype), dynamic = outputs[0]
            shapes = zip(*(shape for (shape, _), _ in outputs), strict=True)
            types.append((dtype, tuple(-1 if dynamic or len(set(each)) > 1 else each[0] for each in shapes)))
        return symbols, types

    def RemoteBlobList(self) -> list[Tensor]:  # noqa: N802
        """Returns all outputs.

        Raises:
            RuntimeError: ``InferAndTryRun`` has not been called.
        """
        if self._results is None:
            raise RuntimeError(f"[{self._use[0]}] has no outputs yet: call InferAndTryRun() first")
        return self._results

    def SoleOutputBlob(self) -> Tensor:  # noqa: N802
        """Returns the only output.

        Raises:
            ValueError: there is not exactly one.
        """
        results = self.RemoteBlobList()
        if len(results) != 1:
            raise ValueError(
                f"[{self._use[0]}] SoleOutputBlob() is for one output, and there are {len(results)}: "
                "use RemoteBlobList()"
            )
        return results[0]


class UserOpBuilder:
    """Describes a use of an operator: each method returns the object itself."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"[user_op_builder] name is a string, not {type(name).__name__}")
        self._name = name
        self._op: str | None = None
        self._inputs: dict[str, list[Tensor]] = {}
        self._outputs: dict[str, int] = {}
        self._attrs: dict[str, Any] = {}

    def Op(self, op_type_name: str) -> Self:  # noqa: N802
        """Names the operator."""
        if not isinstance(op_type_name, str):
            raise TypeError(
                f"[{self._name}] Op() takes the operator's name, a string, not {type(op_type_name).__name__}"
            )
        self._op = op_type_name
        return self

    def Input(self, name: str, tensors: Sequence[Tensor]) -> Self:  # noqa: N802
        """Gives the tensors of an input, a list also where there is one.

        Raises:
            TypeError: something is no list of tensors.
        """
        self._check_name("Input", name)
        if not isinstance(tensors, (list, tuple)) or not all(isinstance(x, Tensor) for x in tensors):
            raise TypeError(f"[{self._op or self._name}] input '{name}' takes a list of Tensors, such as [x]")
        self._inputs.setdefault(name, []).extend(tensors)
        return self

    def InputSize(self, name: str, count: int) -> Self:  # noqa: N802
        """Says how many tensors an input has, which the list that is given to ``Input`` says already.

        Raises:
            ValueError: it has another number.
        """
        given = len(self._inputs.get(name, []))
        if given != count:
            raise ValueError(f"[{self._op or self._name}] input '{name}' has {given} tensors, not {count}")
        return self

    def Output(self, name: str, num: int = 1) -> Self:  # noqa: N802
        """Names an output, with the number of its tensors."""
        self._check_name("Output", name)
        if not isinstance(num, int):
            raise TypeError(f"[{self._op or self._name}] output '{name}' takes a number of tensors, not {num!r}")
        self._outputs[name] = num
        return self

    def Attr(self, name: str, value: Any, attr_type_name: str | None = None) -> Self:  # noqa: N802
        """Sets an attribute; its type is the operator's to say, and the last argument is there for old programs.

        Raises:
            TypeError: the value can be of none of the types that attributes have.
        """
        self._check_name("Attr", name)
        if _attribute_kind(value) is None:
            got = type(value).__name__
            if isinstance(value, (list, tuple)):
                got += f" of {', '.join(dict.fromkeys(type(each).__name__ for each in value))}"
            elif hasattr(value, "tolist"):
                got += ": its tolist() gives a list"
            raise TypeError(
                f"[{self._op or self._name}] attribute '{name}' takes a bool, a number, a string, a dtype, or a list "
                f"of numbers, strings, dtypes or shapes, not {got}"
            )
        self._attrs[name] = value
        return self

    def _check_name(self, method: str, name: Any) -> None:
        if not isinstance(name, str):
            raise TypeError(
                f"[{self._op or self._name}] {method}() takes a name of the operator's, not {type(name).__name__}"
            )

    def Build(self) -> UserOp:  # noqa: N802
        """Returns the use that was described.

        Raises:
            ValueError: ``Op`` was not called.
        """
        if self._op is None:
            raise ValueError(f"user_op_builder('{self._name}') was not told which operator: call Op(op_type_name)")
        return UserOp(self._op, self._name, self._inputs, self._outputs, self._attrs)


def _attribute_kind(value: Any) -> str | None:
    """Returns the kind of an attribute as the engine reads it, None where it is none.

    Which type it ought to have is known to the operator alone. An array is no list: of each attribute of a list type,
    OneFlow's programs give a list or a tuple.
    """
    if isinstance(value, (list, tuple)):
        kinds = {_attribute_kind(each) for each in value}
        return "list" if len(kinds) <= 1 and not kinds & {None, "bool"} else None
    if isinstance(value, (DType, np.dtype, type)):
        return "dtype"
    if getattr(value, "ndim", 0) > 0:
        return None
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, str):
        return "text"
    return "number" if hasattr(value, "__index__") or hasattr(value, "__float__") else None


def user_op_builder(name: str) -> UserOpBuilder:
    """Starts the description of a use of an operator.

    >>> op = user_op_builder("relu1").Op("myrelu").Input("in", [x]).Output("out").Build()  # doctest: +SKIP
    >>> y = op.InferAndTryRun().SoleOutputBlob()  # doctest: +SKIP

    Args:
        name: what the use is called in messages. A kernel with a state keeps one for each name.
    """
    return UserOpBuilder(name)
