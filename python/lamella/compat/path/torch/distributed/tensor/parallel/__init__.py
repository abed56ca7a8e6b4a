"""Ways to split the layers of a model over processes, by the names of the layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

import lamella as lm
from lamella.compat.front import add_paths, close_module
from lamella.distributed import GlobalTensor
from lamella.nn import Embedding, Module

from ...device_mesh import DeviceMesh
from .. import DTensor, Placement, Replicate, Shard, distribute_module, distribute_tensor


class ParallelStyle:
    """A way to split a layer."""

    def apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        """Splits a layer in place, and returns it."""
        raise TypeError(f"[parallelize_module] {type(self).__name__} defines no apply")

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        return self.apply(module, device_mesh)


def _into(x: Any, mesh: DeviceMesh, given: Any, wanted: Any) -> Any:
    """Returns a tensor under placements; one that is not global yet is this process's part under others."""
    if not isinstance(x, lm.Tensor):
        return x
    if not isinstance(x, GlobalTensor):
        x = DTensor.from_local(x, mesh, given)  # type: ignore[attr-defined]
    return x.redistribute(placements=wanted)


def _out_of(x: Any, mesh: DeviceMesh, wanted: Any, is_local: bool) -> Any:
    if not isinstance(x, GlobalTensor):
        return x
    found = x.redistribute(placements=wanted)  # type: ignore[attr-defined]
    return found.to_local() if is_local else found


def _listed(layouts: Any) -> tuple[Any, ...]:
    return tuple(layouts) if isinstance(layouts, Sequence) else (layouts,)


class _Split(ParallelStyle):
    """A way that splits parameters along one axis each."""

    #: Placement of parameters by name; others are whole.
    parameters: Mapping[str, Placement] = {}

    def __init__(self, given: Placement, computed: Placement, output: Placement, use_local_output: bool) -> None:
        self.input_layouts = (given,)
        self.desired_input_layouts = (computed,)
        self.output_layouts = (output,)
        self.use_local_output = use_local_output

    def placement_of(self, module: Module, name: str) -> Placement:
        """Returns the placement of a parameter."""
        return self.parameters.get(name, Replicate())

    def _split(self, name: str, part: Module, mesh: DeviceMesh) -> None:
        for key, p in list(part._parameters.items()):
            if p is not None:
                part._parameters[key] = distribute_tensor(p, mesh, [self.placement_of(part, key)])  # type: ignore[assignment]

    def apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        """Splits a layer in place, and returns it."""
        return distribute_module(
            module,
            device_mesh,
            self._split,
            lambda _, inputs, mesh: (
                _into(inputs[0], mesh, self.input_layouts, self.desired_input_layouts),
                *inputs[1:],
            ),
            lambda _, output, mesh: _out_of(output, mesh, self.output_layouts, self.use_local_output),
        )


class ColwiseParallel(_Split):
    """Splits a linear layer by its outputs, an embedding by its features.

    Args:
        input_layouts: how inputs that are not global lie; each process has the whole by default.
        output_layouts: how outputs are to lie; along the last axis by default.
        use_local_output: True gives this process's part of the outputs, False a global tensor.
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(input_layouts or Replicate(), Replicate(), output_layouts or Shard(-1), use_local_output)

    def placement_of(self, module: Module, name: str) -> Placement:
        """Returns the placement of a parameter."""
        return Shard(1) if isinstance(module, Embedding) else Shard(0)


class RowwiseParallel(_Split):
    """Splits a linear layer by its inputs, an embedding by its rows.

    Args:
        input_layouts: how inputs that are not global lie; along the last axis by default.
        output_layouts: how outputs are to lie; each process has the whole by default.
        use_local_output: True gives this process's part of the outputs, False a global tensor.
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(input_layouts or Shard(-1), Shard(-1), output_layouts or Replicate(), use_local_output)

    def placement_of(self, module: Module, name: str) -> Placement:
        """Returns the placement of a parameter."""
        if name != "weight":
            return Replicate()
        return Shard(0) if isinstance(module, Embedding) else Shard(1)

    def apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        """Splits a layer in place, and returns it."""
        if isinstance(module, Embedding):  # its inputs are numbers of rows, which every process has
            self.desired_input_layouts = (Replicate(),)
        return super().apply(module, device_mesh)


class SequenceParallel(_Split):
    """Has a norm or a dropout compute on parts along an axis, the sequence's; its parameters are whole.

    Args:
        sequence_dim: the axis.
        use_local_output: True gives this process's part of the outputs, False a global tensor.
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        along = Shard(sequence_dim)
        super().__init__(along, along, along, use_local_output)


class PrepareModuleInput(ParallelStyle):
    """Brings the inputs of a module to placements.

    Args:
        input_layouts: how inputs that are not global lie, one for each; None leaves an input as it is.
        desired_input_layouts: how the module wants them.
        input_kwarg_layouts: likewise for those that are named.
        desired_input_kwarg_layouts: likewise.
        use_local_output: True gives the module this process's parts.
    """

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: Mapping[str, Placement] | None = None,
        desired_input_kwarg_layouts: Mapping[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts = () if input_layouts is None else _listed(input_layouts)
        self.desired_input_layouts = () if desired_input_layouts is None else _listed(desired_input_layouts)
        if len(self.input_layouts) != len(self.desired_input_layouts):
            raise ValueError("[PrepareModuleInput] there are as many desired_input_layouts as input_layouts")
        self.named = dict(input_kwarg_layouts or {})
        self.named_wanted = dict(desired_input_kwarg_layouts or {})
        self.use_local_output = use_local_output

    def _brought(self, x: Any, mesh: DeviceMesh, given: Any, wanted: Any) -> Any:
        if given is None or wanted is None:
            return x
        return _out_of(_into(x, mesh, (given,), (wanted,)), mesh, (wanted,), self.use_local_output)

    def apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        """Has a module's inputs brought to placements, and returns the module."""

        def bring(_: Module, inputs: Any, named: Any) -> Any:
            both = zip(inputs, self.input_layouts, self.desired_input_layouts, strict=False)
            found = [self._brought(x, device_mesh, given, wanted) for x, given, wanted in both]
            return (*found, *inputs[len(found) :]), {
                key: self._brought(x, device_mesh, self.named.get(key), self.named_wanted.get(key))
                for key, x in named.items()
            }

        module.register_forward_pre_hook(bring, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Brings the outputs of a module to placements.

    Args:
        output_layouts: how outputs that are not global lie, one for each.
        desired_output_layouts: how they are wanted.
        use_local_output: True gives this process's parts.
    """

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts = _listed(output_layouts)
        self.desired_output_layouts = _listed(desired_output_layouts)
        self.use_local_output = use_local_output

    def apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        """Has a module's outputs brought to placements, and returns the module."""

        def bring(_: Module, inputs: Any, output: Any) -> Any:
            listed = output if isinstance(output, tuple) else (output,)
            found = tuple(
                x
                if given is None or wanted is None
                else _out_of(_into(x, device_mesh, (given,), (wanted,)), device_mesh, (wanted,), self.use_local_output)
                for x, given, wanted in zip(listed, self.output_layouts, self.desired_output_layouts, strict=True)
            )
            return found if isinstance(output, tuple) else found[0]

        module.register_forward_hook(bring)
        return module


def parallelize_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | Mapping[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Module:
    """Splits the layers of a model in place.

    Args:
        module: the model, of which every process has one of the same structure.
        device_mesh: the processes, along one axis; all of them by default.
        parallelize_plan: the way for the model, or ways by the names of its layers, in which ``*`` stands for any part.
        src_data_rank: accepted; the first process's values count.

    Raises:
        ValueError: the mesh has several axes, or a name fits no layer.
    """
    from .. import _mesh

    mesh = _mesh(device_mesh)
    if mesh.ndim != 1:
        raise ValueError(f"[parallelize_module] the mesh has one axis, not {mesh.ndim}: take one by its name")
    if isinstance(parallelize_plan, ParallelStyle):
        return parallelize_plan.apply(module, mesh)
    parts = list(module.named_modules())
    for pattern, style in (parallelize_plan or {}).items():
        found = [part for name, part in parts if _fits(name, pattern)]
        if not found:
            raise ValueError(f"[parallelize_module] {pattern!r} fits no layer of {type(module).__name__}")
        for part in found:
            style.apply(part, mesh)
    return module


def _fits(name: str, pattern: str) -> bool:
    words, wanted = name.split("."), pattern.split(".")
    return len(words) == len(wanted) and all(map(fnmatchcase, words, wanted))


@contextmanager
def loss_parallel() -> Iterator[None]:
    """Lets losses be computed of outputs that are split along the classes, as global tensors always do."""
    yield


__getattr__ = close_module(__name__)
_STYLES = (
    "ParallelStyle ColwiseParallel RowwiseParallel SequenceParallel PrepareModuleInput PrepareModuleOutput "
    "parallelize_module loss_parallel"
)
add_paths(
    "torch",
    {
        f"{__name__}.style": {__name__: _STYLES},
        f"{__name__}.api": {__name__: "parallelize_module"},
    },
)
