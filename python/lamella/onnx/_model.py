"""Putting an ONNX model together, and writing it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO

from lamella import __version__
from lamella.graph import Graph, Symbol

from ._builder import Builder, Value, onnx_dtype
from ._package import onnx

#: Tensors up to this many bytes stay in the model.
_SMALL = 1024
#: Tensors in a file of their own begin at multiples of the size of a page, so that engines can map them.
_ALIGNMENT = 4096


def assemble(
    name: str,
    graph: Graph,
    builder: Builder,
    symbols: Sequence[Symbol],
    results: Sequence[Value],
    names: Sequence[str],
    axes: dict[str, dict[int, str | None]],
) -> onnx.ModelProto:
    """Returns the model of what a builder has, with the given names of outputs, and without what they do not need."""
    inputs = {x.name for x in graph.inputs}
    if taken := sorted(inputs & set(names)):
        raise ValueError(f"[onnx.export] an input and an output have the name {taken[0]!r}")
    # An output takes the place of the value that it is; one that a node does not compute, or that two outputs are, is
    # copied.
    computed = {output for node in builder.nodes for output in node.output}
    renamed: dict[str, str] = {}
    for value, output in zip(results, names, strict=True):
        if value.name in computed and value.name not in renamed:
            renamed[value.name] = output
        else:
            builder.nodes.append(onnx.helper.make_node("Identity", [value.name], [output], name=f"/{output}"))
    for clash in set(names) & (computed | builder.initializers.keys()):
        renamed.setdefault(clash, builder.unique(f"{clash}_value"))
    needed = set(names)
    nodes = []
    for node in reversed(builder.nodes):
        for part in _with_parts(node):
            part.input[:] = [renamed.get(x, x) for x in part.input]
        node.output[:] = [renamed.get(x, x) if x in computed else x for x in node.output]
        if needed & set(node.output):
            needed.update(x for part in _with_parts(node) for x in part.input)
            nodes.append(node)
    initializers = []
    for key, proto in builder.initializers.items():
        proto.name = renamed.get(key, key)
        if proto.name in needed:
            initializers.append(proto)
    used = {part.domain for node in nodes for part in _with_parts(node)}
    opsets = [onnx.helper.make_opsetid("", builder.opset_version)]
    opsets += [onnx.helper.make_opsetid(d, v) for d, v in builder.custom_opsets.items() if d in used]
    proto = onnx.helper.make_graph(
        nodes[::-1],
        name,
        [_info(x.name, builder, x, None, axes) for x in graph.inputs],
        [_info(n, builder, x, v, axes) for n, x, v in zip(names, symbols, results, strict=True)],
        initializers,
    )
    model: onnx.ModelProto = onnx.helper.make_model(
        proto,
        opset_imports=opsets,
        ir_version=onnx.helper.find_min_ir_version_for(opsets[:1]),
        producer_name="lamella",
        producer_version=__version__,
    )
    return model


def _with_parts(node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
    """Returns a node and those of the graphs within it."""
    yield node
    for attribute in node.attribute:
        for part in attribute.g.node:
            yield from _with_parts(part)


def _info(
    name: str, builder: Builder, x: Symbol, value: Value | None, axes: dict[str, dict[int, str | None]]
) -> onnx.ValueInfoProto:
    """Returns name, dtype and dimensions of an input or an output."""
    dims: list[int | str | None] = [None if d == -1 else d for d in x.shape]
    if value is not None:
        known = value._type.tensor_type.shape.dim
        dims = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in known]
    for axis, label in axes.get(name, {}).items():
        if not -len(dims) <= axis < len(dims):
            raise ValueError(f"[onnx.export] dynamic_axes: {name!r} has {len(dims)} axes, and no axis {axis}")
        if not isinstance(dims[axis], int) or value is None:
            dims[axis] = label
    if value is None:
        dims = [f"{name}_dim_{i}" if d is None else d for i, d in enumerate(dims)]
    return onnx.helper.make_tensor_value_info(name, onnx_dtype(x.dtype), dims)


def check_model(model: onnx.ModelProto) -> None:
    """Has ``onnx.checker`` check a model; tensors that stand in another file are inputs meanwhile."""
    outside = [x for x in model.graph.initializer if x.external_data]
    if outside:
        inside = [x for x in model.graph.initializer if not x.external_data]
        skeleton = onnx.ModelProto()
        skeleton.CopyFrom(model)
        del skeleton.graph.initializer[:]
        skeleton.graph.initializer.extend(inside)
        skeleton.graph.input.extend(
            onnx.helper.make_tensor_value_info(x.name, x.data_type, list(x.dims)) for x in outside
        )
        model = skeleton
    onnx.checker.check_model(model, full_check=True)


def take_out(model: onnx.ModelProto, file: str) -> list[bytes]:
    """Takes the contents of large tensors out of a model that names their places in ``file``, and returns them."""
    contents: list[bytes] = []
    place = 0
    for x in model.graph.initializer:
        if len(x.raw_data) <= _SMALL:
            continue
        gap = -place % _ALIGNMENT
        contents += [bytes(gap), x.raw_data]
        place += gap
        entries = {"location": file, "offset": place, "length": len(x.raw_data)}
        place += len(x.raw_data)
        x.ClearField("raw_data")
        x.data_location = onnx.TensorProto.EXTERNAL
        for key, value in entries.items():
            x.external_data.add(key=key, value=str(value))
    return contents


def write(model: onnx.ModelProto, f: str | os.PathLike[str] | IO[bytes]) -> None:
    """Writes a model to a file."""
    data = [model.SerializeToString()]
    if isinstance(f, (str, os.PathLike)):
        replace_file(os.fspath(f), data)
    else:
        f.write(data[0])


def replace_file(path: str, parts: Sequence[bytes]) -> None:
    """Writes a file, and puts it in the place of ``path`` when it is whole."""
    path = os.path.abspath(path)
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path) + ".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
