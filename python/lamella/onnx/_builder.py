"""Emitting the nodes of an ONNX graph: values, constants, and the functions that converters are written with."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import lamella as lm
from lamella import DType

from ._package import onnx

_NAMES = {
    "bool": onnx.TensorProto.BOOL,
    "int8": onnx.TensorProto.INT8,
    "int16": onnx.TensorProto.INT16,
    "int32": onnx.TensorProto.INT32,
    "int64": onnx.TensorProto.INT64,
    "uint8": onnx.TensorProto.UINT8,
    "uint16": onnx.TensorProto.UINT16,
    "uint32": onnx.TensorProto.UINT32,
    "uint64": onnx.TensorProto.UINT64,
    "float16": onnx.TensorProto.FLOAT16,
    "bfloat16": onnx.TensorProto.BFLOAT16,
    "float32": onnx.TensorProto.FLOAT,
    "float64": onnx.TensorProto.DOUBLE,
    "complex64": onnx.TensorProto.COMPLEX64,
    "complex128": onnx.TensorProto.COMPLEX128,
}
_DTYPES: dict[int, str] = {int(number): name for name, number in _NAMES.items()}
#: Constants up to this many bytes are found again, and their values are known to the inference of shapes.
_SMALL = 4096

_active = threading.local()


class Value:
    """A value of the ONNX graph that is being built: an input, an initializer, or the result of a node.

    Arithmetic and comparisons (``==`` excepted, see :meth:`eq`) add nodes; Python numbers take the value's dtype.
    """

    def __init__(self, builder: Builder, name: str, type_: onnx.TypeProto) -> None:
        self._builder = builder
        self._type = type_
        self.name = name

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        dtype: DType = getattr(lm, _DTYPES[int(self._type.tensor_type.elem_type)])
        return dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes, -1 for those that are known only when the model runs."""
        if not self._type.tensor_type.HasField("shape"):
            raise ValueError(f"the rank of {self.name!r} is not known")
        return tuple(d.dim_value if d.HasField("dim_value") else -1 for d in self._type.tensor_type.shape.dim)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def refine(self, shape: Sequence[int]) -> Value:
        """Fills in sizes that are known from elsewhere."""
        type_ = self._type.tensor_type
        if not type_.HasField("shape"):
            self._type = onnx.TypeProto()
            self._type.CopyFrom(_type(self.dtype, shape))
            return self
        for dim, n in zip(type_.shape.dim, shape, strict=True):
            if n >= 0 and not dim.HasField("dim_value"):
                dim.dim_value = n
        return self

    def known(self) -> np.ndarray | None:
        """Returns the contents of a small stored tensor, None for other values."""
        proto = self._builder._known.get(self.name)
        return (
            None if proto is None or proto.data_type == onnx.TensorProto.BFLOAT16 else onnx.numpy_helper.to_array(proto)
        )

    def __repr__(self) -> str:
        return f"Value({self.name!r}, shape={list(self.shape)}, dtype={self.dtype.name})"

    def __add__(self, other: Any) -> Value:
        return op("Add", self, other)

    def __radd__(self, other: Any) -> Value:
        return op("Add", other, self)

    def __sub__(self, other: Any) -> Value:
        return op("Sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return op("Sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return op("Mul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return op("Mul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return op("Div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return op("Div", other, self)

    def __pow__(self, other: Any) -> Value:
        return op("Pow", self, other)

    def __matmul__(self, other: Value) -> Value:
        return op("MatMul", self, other)

    def __neg__(self) -> Value:
        return op("Neg", self)

    def __abs__(self) -> Value:
        return op("Abs", self)

    def __lt__(self, other: Any) -> Value:
        return op("Less", self, other)

    def __le__(self, other: Any) -> Value:
        return op("LessOrEqual", self, other)

    def __gt__(self, other: Any) -> Value:
        return op("Greater", self, other)

    def __ge__(self, other: Any) -> Value:
        return op("GreaterOrEqual", self, other)

    def __and__(self, other: Any) -> Value:
        return op("And", self, other)

    def __or__(self, other: Any) -> Value:
        return op("Or", self, other)

    def __invert__(self) -> Value:
        return op("Not", self)

    def eq(self, other: Any) -> Value:
        """Returns where the value equals another, bool."""
        return op("Equal", self, other)


def _type(dtype: DType, dims: Sequence[int | str | None]) -> onnx.TypeProto:
    return onnx.helper.make_tensor_type_proto(onnx_dtype(dtype), [None if d == -1 else d for d in dims])


def onnx_dtype(dtype: DType) -> int:
    """Returns ONNX's number of a dtype."""
    return int(_NAMES[dtype.name])


def tensor_proto(tensor: lm.Tensor, name: str) -> onnx.TensorProto:
    """Returns a tensor as ONNX stores it."""
    tensor = tensor.detach()
    if tensor.device != "cpu":
        tensor = tensor.cpu()
    if tensor.dtype == lm.bfloat16:
        bits = tensor.astype(lm.float32).numpy().view(np.uint32) >> 16
        shape = list(tensor.shape)
        return onnx.helper.make_tensor(name, onnx.TensorProto.BFLOAT16, shape, bits.astype("<u2").tobytes(), raw=True)
    return onnx.numpy_helper.from_array(np.ascontiguousarray(tensor.numpy()).reshape(tensor.shape), name)


class Builder:
    """The nodes and initializers of a graph that is being built."""

    def __init__(self, opset_version: int, custom_opsets: dict[str, int]) -> None:
        self.opset_version = opset_version
        self.custom_opsets = dict(custom_opsets)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}
        #: What the node that is converted stands for, and the line of the program that made it.
        self.source = ""
        self.where = ""
        #: The results of the node that is converted.
        self.outputs: Sequence[Any] = []
        self._imports = [onnx.helper.make_opsetid("", opset_version)]
        self._constants: dict[tuple[Any, ...], Value] = {}
        self._known: dict[str, onnx.TensorProto] = {}
        self._taken: set[str] = set()

    def unique(self, name: str) -> str:
        """Returns the name, with a number where it is taken."""
        free, count = name, 0
        while free in self._taken:
            count += 1
            free = f"{name}_{count}"
        self._taken.add(free)
        return free

    def value(self, name: str, dtype: DType, dims: Sequence[int | str | None]) -> Value:
        """Returns a value that no node computes."""
        self._taken.add(name)
        return Value(self, name, _type(dtype, dims))

    def initializer(self, proto: onnx.TensorProto, name: str) -> Value:
        """Adds a stored tensor."""
        proto.name = self.unique(name)
        self.initializers[proto.name] = proto
        if len(proto.raw_data) <= _SMALL:
            self._known[proto.name] = proto
        type_ = onnx.helper.make_tensor_type_proto(proto.data_type, list(proto.dims))
        return Value(self, proto.name, type_)

    def constant(self, array: Any, dtype: DType | None = None) -> Value:
        """Returns a stored tensor with these contents, the same one for the same contents."""
        tensor = lm.asarray(np.asarray(array) if not isinstance(array, lm.Tensor) else array)
        if dtype is not None and tensor.dtype != dtype:
            tensor = tensor.astype(dtype)
        proto = tensor_proto(tensor, "")
        key = (proto.data_type, tuple(proto.dims), proto.raw_data)
        if len(proto.raw_data) > _SMALL:
            return self.initializer(proto, "constant")
        if key not in self._constants:
            self._constants[key] = self.initializer(proto, "constant")
        return self._constants[key]

    def emit(
        self, name: str, inputs: Sequence[Any], outputs: int, domain: str, attributes: dict[str, Any]
    ) -> tuple[Value, ...]:
        """Adds a node."""
        dtype = next((x.dtype for x in inputs if isinstance(x, Value)), None)
        values = [self._input(x, dtype) for x in inputs]
        while values and values[-1] is None:
            values.pop()
        results = [self.unique(f"{self.source or name}") for _ in range(outputs)]
        node = onnx.helper.make_node(
            name,
            ["" if x is None else x.name for x in values],
            results,
            name=self.unique(f"{self.source}/{name}"),
            domain=domain,
            doc_string=self.where,
            **attributes,
        )
        types = self._infer(node, values, domain)
        self.nodes.append(node)
        return tuple(Value(self, result, type_) for result, type_ in zip(results, types, strict=True))

    @contextlib.contextmanager
    def subgraph(self, name: str) -> Iterator[Subgraph]:
        """Takes the nodes that are added meanwhile into a graph of their own, which sees all values around it."""
        outer, known = self.nodes, self.outputs
        part = Subgraph(self, self.unique(name))
        self.nodes = part.nodes
        try:
            yield part
        finally:
            self.nodes, self.outputs = outer, known

    def emit_flow(
        self, name: str, inputs: Sequence[Value | None], outputs: Sequence[Any], attributes: dict[str, Any]
    ) -> list[Value]:
        """Adds a node with subgraphs, whose results look like ``outputs``."""
        results = [self.unique(name.lower()) for _ in outputs]
        given = ["" if x is None else x.name for x in inputs]
        node = onnx.helper.make_node(name, given, results, name=self.unique(f"{name.lower()}/{name}"), **attributes)
        node.doc_string = self.where
        self.nodes.append(node)
        return [Value(self, key, _type(x.dtype, x.shape)) for key, x in zip(results, outputs, strict=True)]

    def _input(self, x: Any, dtype: DType | None) -> Value | None:
        if x is None or isinstance(x, Value):
            return x
        if isinstance(x, (list, tuple)):
            return self.constant(np.array(x, dtype="int64"))
        if isinstance(x, (np.ndarray, lm.Tensor)):
            return self.constant(x)
        return self.constant(x, dtype or lm.float32)

    def _infer(self, node: onnx.NodeProto, values: Sequence[Value | None], domain: str) -> list[onnx.TypeProto]:
        if domain not in ("", "ai.onnx"):
            if domain not in self.custom_opsets:
                self.custom_opsets[domain] = 1
            first = next((x for x in values if x is not None), None)
            if len(self.outputs) == len(node.output):
                return [_type(out.dtype, out.shape) for out in self.outputs]
            if first is None:
                raise ValueError(f"[onnx] {domain}::{node.op_type} has no input that its results could be like")
            return [first._type for _ in node.output]
        try:
            schema = onnx.defs.get_schema(node.op_type, self.opset_version, "")
        except onnx.defs.SchemaError:
            raise ValueError(
                f"[onnx] {self.source or node.op_type} needs ONNX's {node.op_type}, which opset {self.opset_version} "
                "does not have: export with a newer opset_version"
            ) from None
        given = {x.name: x._type for x in values if x is not None}
        data = {name: self._known[name] for name in given if name in self._known}
        try:
            types = onnx.shape_inference.infer_node_outputs(schema, node, given, data, opset_imports=self._imports)
        except Exception as error:
            inputs = ", ".join(repr(x) for x in values if x is not None)
            raise ValueError(
                f"[onnx] {self.source} ({self.where}) cannot be written as ONNX's {node.op_type} of {inputs}: {error}"
            ) from error
        return [types.get(name, onnx.TypeProto()) for name in node.output]


class Subgraph:
    """A graph within a node that is being built."""

    def __init__(self, builder: Builder, name: str) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.proto = onnx.GraphProto(name=name)
        self._builder = builder

    def take(self, name: str, dtype: DType, shape: Sequence[int]) -> Value:
        """Adds an input."""
        value = self._builder.value(self._builder.unique(name), dtype, shape)
        self.proto.input.append(onnx.ValueInfoProto(name=value.name, type=value._type))
        return value

    def finish(self, results: Sequence[Value]) -> None:
        """Completes the graph with its outputs."""
        for value in results:
            name = self._builder.unique("result")
            self.nodes.append(onnx.helper.make_node("Identity", [value.name], [name], name=f"/{name}"))
            self.proto.output.append(onnx.ValueInfoProto(name=name, type=value._type))
        self.proto.node.extend(self.nodes)


def current() -> Builder:
    """Returns the builder of the export that runs on this thread; RuntimeError outside of one."""
    builder: Builder | None = getattr(_active, "builder", None)
    if builder is None:
        raise RuntimeError("[onnx] nodes can be added only by a converter, while lm.onnx.export runs")
    return builder


@contextlib.contextmanager
def building(builder: Builder) -> Iterator[None]:
    """Makes a builder the one that converters on this thread add to."""
    before, _active.builder = getattr(_active, "builder", None), builder
    try:
        yield
    finally:
        _active.builder = before


def op(name: str, *inputs: Any, domain: str = "", **attributes: Any) -> Value:
    """Adds a node and returns its only result.

    Args:
        name: ONNX's name of the operator, such as "MatMul".
        inputs: values; None for one that is left out; a Python number, which takes the dtype of the first value; a
            list of ints, which becomes an int64 tensor; a numpy array or a Tensor, which is stored.
        domain: the operator set that it belongs to; ONNX's own by default.
        attributes: of the node.
    """
    return current().emit(name, inputs, 1, domain, attributes)[0]


def ops(name: str, *inputs: Any, outputs: int, domain: str = "", **attributes: Any) -> tuple[Value, ...]:
    """Adds a node and returns its results, of which there are ``outputs``."""
    return current().emit(name, inputs, outputs, domain, attributes)


def constant(value: Any, dtype: DType | None = None) -> Value:
    """Returns a stored tensor with these contents."""
    return current().constant(value, dtype)


def cast(x: Any, dtype: DType) -> Value:
    """Returns a value, or a Python number, in a dtype."""
    if not isinstance(x, Value):
        return constant(x, dtype)
    if x.dtype != dtype and (contents := x.known()) is not None:
        return constant(contents, dtype)
    return x if x.dtype == dtype else op("Cast", x, to=onnx_dtype(dtype))


def dtype_promote(*tensors: Any, target_dtype: DType) -> Any:
    """Returns the values in ``target_dtype``; numbers become constants, None stays. One alone is returned by itself."""
    promoted = [None if x is None else cast(x, target_dtype) for x in tensors]
    return promoted[0] if len(promoted) == 1 else promoted


def result_type(*operands: Any) -> DType:
    """Returns the dtype in which Lamella computes with these values and Python numbers."""
    dtype: DType = lm.result_type(*(x.dtype if isinstance(x, Value) else x for x in operands))
    return dtype


def beyond(number: Any, dtype: DType) -> int:
    """Returns -1 for a Python number below all whole numbers of a dtype, 1 for one above all of them, and else 0."""
    if isinstance(number, Value) or not isinstance(number, int) or "int" not in dtype.name:
        return 0
    limits = lm.iinfo(dtype)
    return int(number > limits.max) - int(number < limits.min)


# Moving elements


def axis_of(axis: int, ndim: int) -> int:
    """Returns an axis counted from the front."""
    return axis + ndim if axis < 0 else axis


def size(x: Value, axis: int) -> int | Value:
    """Returns the size of an axis, as a tensor of shape [1] where it is known only when the model runs."""
    axis = axis_of(axis, x.ndim)
    known = x.shape[axis]
    return known if known >= 0 else op("Shape", x, start=axis, end=axis + 1)


def sizes(x: Value) -> list[int | Value]:
    """Returns the sizes of the axes."""
    return [size(x, axis) for axis in range(x.ndim)]


def product(dims: Sequence[int | Value]) -> int | Value:
    """Returns the product of sizes."""
    total: Any = math.prod(d for d in dims if isinstance(d, int))
    for d in dims:
        if isinstance(d, Value):
            total = d * total
    return total


def shape_value(dims: Sequence[int | Value]) -> Any:
    """Returns sizes as an input that takes a shape."""
    if all(isinstance(d, int) for d in dims):
        return list(dims)
    return op("Concat", *(constant([d], lm.int64) if isinstance(d, int) else d for d in dims), axis=0)


def reshape(x: Value, dims: Sequence[int | Value]) -> Value:
    """Returns the elements in another shape, of which one size may be -1."""
    if list(dims) == list(x.shape) and -1 not in x.shape:
        return x
    # Otherwise a size of 0, which one that a run determines may be, stands for the size that x has there.
    has_zero = any(isinstance(d, int) and d == 0 for d in dims)
    computed = any(isinstance(d, Value) for d in dims)
    has_rest = any(isinstance(d, int) and d == -1 for d in dims)
    y = op("Reshape", x, shape_value(dims), allowzero=int(has_zero or (computed and not has_rest)))
    return y.refine([d if isinstance(d, int) else -1 for d in dims])


def transpose(x: Value, axes: Sequence[int]) -> Value:
    """Returns the value with its axes in another order."""
    return x if list(axes) == list(range(len(axes))) else op("Transpose", x, perm=list(axes))


def swap(x: Value, a: int, b: int) -> Value:
    """Returns the value with two axes exchanged."""
    axes = list(range(x.ndim))
    axes[a], axes[b] = axes[b], axes[a]
    return transpose(x, axes)


def unsqueeze(x: Value, *axes: int) -> Value:
    """Adds axes of size 1."""
    return op("Unsqueeze", x, list(axes)) if axes else x


def squeeze(x: Value, *axes: int) -> Value:
    """Removes axes of size 1."""
    return op("Squeeze", x, list(axes)) if axes else x


def concat(parts: Sequence[Value], axis: int) -> Value:
    """Joins values along an axis."""
    return parts[0] if len(parts) == 1 else op("Concat", *parts, axis=axis)


def slice_axis(x: Value, axis: int, start: Any, stop: Any, step: int = 1) -> Value:
    """Returns the elements of an axis from ``start`` up to ``stop``, which may be values of shape [1]."""
    bounds = [b if isinstance(b, Value) else [b] for b in (start, stop)]
    return op("Slice", x, *bounds, [axis], [step])


def gather(x: Value, index: Any, axis: int) -> Value:
    """Returns the slices of an axis with these numbers; an int removes the axis."""
    return op("Gather", x, constant(index, lm.int64) if isinstance(index, int) else index, axis=axis)


def reduce(name: str, x: Value, axes: Sequence[int] | None, keepdims: bool = False) -> Value:
    """Adds a Reduce node; None reduces all axes."""
    if axes is not None and not axes:
        return x
    if axes is None:
        return op(name, x, keepdims=int(keepdims))
    if name == "ReduceSum" or current().opset_version >= 18:
        return op(name, x, list(axes), keepdims=int(keepdims))
    return op(name, x, axes=list(axes), keepdims=int(keepdims))


def where(condition: Value, a: Any, b: Any) -> Value:
    """Returns ``a`` where the condition holds, else ``b``; one of them is a value, and a number takes its dtype."""
    dtype = a.dtype if isinstance(a, Value) else b.dtype
    a, b = cast(a, dtype), cast(b, dtype)
    if dtype == lm.bool:  # for which engines have no Where
        return (condition & a) | (~condition & b)
    return op("Where", condition, a, b)


def range_value(stop: Any) -> Value:
    """Returns the int64 numbers below ``stop``, an int or a value of shape [1]."""
    if isinstance(stop, int):
        return constant(np.arange(stop, dtype="int64"))
    return op("Range", constant(0, lm.int64), squeeze(stop, 0), constant(1, lm.int64))
