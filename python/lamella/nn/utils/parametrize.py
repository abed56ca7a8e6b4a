"""Attributes of modules that are computed from parameters: constrained weights, say.

``register_parametrization(layer, "weight", Symmetric())`` makes ``layer.weight`` what ``Symmetric`` returns for the
tensor that is trained, ``layer.parametrizations.weight.original``. Modules keep their class, and are copied and pickled
as others are.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import lamella as lm

from ..containers import ModuleDict
from ..module import Computed, Module
from ..parameter import Parameter

_scope = threading.local()


class ParametrizationList(Computed):
    """Parametrizations of one attribute in the order of their use, and the tensors that they begin with.

    Attributes:
        original: the tensor that is trained; ``original0``, ``original1``, .. where the ``right_inverse`` of the first
            parametrization returns several.
    """

    def __init__(self, modules: Sequence[Module], original: lm.Tensor, unsafe: bool = False) -> None:
        super().__init__()
        self.unsafe = unsafe
        for i, module in enumerate(modules):
            self.add_module(str(i), module)
        values = self._inverse(original)
        self.is_tensor = isinstance(values, lm.Tensor)
        tensors = [values] if self.is_tensor else list(values)
        if not all(isinstance(tensor, lm.Tensor) for tensor in tensors):
            raise TypeError("[register_parametrization] right_inverse returns a tensor, or a sequence of tensors")
        self._names = ["original"] if self.is_tensor else [f"original{i}" for i in range(len(tensors))]
        for name, tensor in zip(self._names, tensors, strict=True):
            if isinstance(original, Parameter):
                given = original if tensor is original else Parameter(tensor, stop_gradient=original.stop_gradient)
                self.register_parameter(name, given)
            else:
                self.register_buffer(name, tensor)

    def _before_load(self, state: dict[str, Any], prefix: str, strict: bool, *lists: list[str]) -> None:
        """Gives entries of a state their names here, where they have those that the first parametrization says."""
        super()._before_load(state, prefix, strict, *lists)
        above, _, name = prefix.removesuffix(".").rpartition("parametrizations.")
        for own, suffix in getattr(self[0], "suffixes", {}).items():
            if prefix + own not in state and above + name + suffix in state:
                state[prefix + own] = state.pop(above + name + suffix)

    def __len__(self) -> int:
        return len(self._modules)

    def __getitem__(self, index: int) -> Module:
        return list(self._modules.values())[index]  # type: ignore[return-value]

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())  # type: ignore[arg-type]

    def originals(self) -> list[lm.Tensor]:
        """Returns the tensors that the first parametrization takes."""
        return [getattr(self, name) for name in self._names]

    def _inverse(self, value: lm.Tensor) -> Any:
        result: Any = value
        with lm.no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    result = module.right_inverse(result)
        return result

    def forward(self) -> lm.Tensor:
        """Returns the attribute's value; within :func:`cached` the one that was computed first."""
        cache: dict[int, tuple[Any, lm.Tensor]] | None = getattr(_scope, "cache", None)
        if cache is None:
            return self._compute()
        if id(self) not in cache:
            cache[id(self)] = (self, self._compute())
        return cache[id(self)][1]

    def _compute(self) -> lm.Tensor:
        first, *others = self
        x = first(*self.originals())
        for module in others:
            x = module(x)
        value: lm.Tensor = x
        return value

    def assign(self, value: Any) -> None:
        """Sets the originals to what gives ``value``, by the parametrizations' ``right_inverse``.

        Raises:
            TypeError: ``value`` is no tensor.
            RuntimeError: a parametrization has no ``right_inverse``.
            ValueError: the originals would have other shapes.
        """
        if not isinstance(value, lm.Tensor):
            raise TypeError(f"[parametrize] a parametrized attribute takes a Tensor, not {type(value).__name__}")
        for module in self:
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(
                    f"[parametrize] {type(module).__name__} has no right_inverse, which setting its attribute needs"
                )
        result = self._inverse(value.detach())
        news = [result] if self.is_tensor else list(result)
        befores = self.originals()
        if [tuple(new.shape) for new in news] != [tuple(before.shape) for before in befores]:
            raise ValueError(
                f"[parametrize] the value needs originals of the shapes {[list(new.shape) for new in news]}, they "
                f"have {[list(before.shape) for before in befores]}"
            )
        with lm.no_grad():
            for before, new in zip(befores, news, strict=True):
                before.copy_(new)
        (getattr(_scope, "cache", None) or {}).pop(id(self), None)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Makes a parameter or buffer of a module one that ``parametrization`` computes.

    The attribute is then ``parametrization(original)``; its ``original`` is what was there, or, where the
    parametrization has a ``right_inverse(value)``, what this returns: a tensor, or several that its ``forward`` takes.
    Setting the attribute sets the originals by ``right_inverse``. A further parametrization of the attribute takes what
    the one before returns.

    Args:
        module: the module.
        tensor_name: the name of its parameter or buffer.
        parametrization: a module that maps a tensor to one of the same shape and dtype; it gets the module's mode.
        unsafe: True to check neither shape nor dtype.

    Returns:
        The module.

    Raises:
        TypeError: ``parametrization`` is no module.
        ValueError: the module has no such parameter or buffer, or the result has another shape or dtype.
    """
    op = "register_parametrization"
    if not isinstance(parametrization, Module):
        raise TypeError(f"[{op}] a parametrization is a Module, not {type(parametrization).__name__}")
    stacked = is_parametrized(module, tensor_name)
    table = module._parameters if tensor_name in module._parameters else module._buffers
    original = getattr(module, tensor_name) if stacked else table.get(tensor_name)
    if original is None:
        raise ValueError(f"[{op}] {type(module).__name__} has no parameter or buffer '{tensor_name}'")
    parametrization.train(module.training)
    if stacked:
        entry: Any = module._modules["parametrizations"]._modules[tensor_name]  # type: ignore[union-attr]
        with lm.no_grad():
            _compare(op, parametrization(original.detach()), original, unsafe)
        entry.add_module(str(len(entry)), parametrization)
        return module
    entry = ParametrizationList([parametrization], original, unsafe)
    entry.train(module.training)
    with lm.no_grad():
        _compare(op, entry(), original, unsafe)
    if module._modules.get("parametrizations") is None:
        module.add_module("parametrizations", ModuleDict().train(module.training))
    del table[tensor_name]
    transient = tensor_name in module._transient
    module._transient.discard(tensor_name)
    if transient:
        entry._transient.update(entry._names)
    # A name such as "keys" may stand in this dict, though it is a method of dicts of modules.
    module._modules["parametrizations"]._modules[tensor_name] = entry  # type: ignore[union-attr]
    return module


def _compare(op: str, result: Any, value: lm.Tensor, unsafe: bool) -> None:
    if unsafe:
        return
    if not isinstance(result, lm.Tensor):
        raise TypeError(f"[{op}] a parametrization returns a Tensor, not {type(result).__name__}")
    if tuple(result.shape) != tuple(value.shape) or result.dtype != value.dtype:
        raise ValueError(
            f"[{op}] the parametrization returns {result.dtype.name} of the shape {list(result.shape)}, the tensor is "
            f"{value.dtype.name} of the shape {list(value.shape)}; unsafe=True allows that"
        )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Returns True if an attribute of the module is parametrized: the one of a name, or any."""
    table = module._modules.get("parametrizations")
    entries = {} if table is None else {k: v for k, v in table._modules.items() if isinstance(v, ParametrizationList)}
    return bool(entries) if tensor_name is None else tensor_name in entries


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes a parametrized attribute a plain parameter or buffer again, with the value that it has.

    Args:
        module: the module.
        tensor_name: the attribute's name.
        leave_parametrized: False gives it the value of its ``original`` instead, and the same tensor.

    Raises:
        ValueError: the attribute is not parametrized, or has several originals where ``leave_parametrized`` is False.
    """
    op = "remove_parametrizations"
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"[{op}] '{tensor_name}' of {type(module).__name__} is not parametrized")
    table: Any = module._modules["parametrizations"]
    entry = table._modules[tensor_name]
    if not leave_parametrized and not entry.is_tensor:
        raise ValueError(
            f"[{op}] '{tensor_name}' has {len(entry._names)} originals, of which none can take its place: "
            "leave_parametrized must be True"
        )
    first = entry.originals()[0]
    if leave_parametrized:
        with lm.no_grad():
            value = entry()
        if entry.is_tensor and tuple(first.shape) == tuple(value.shape) and first.dtype == value.dtype:
            # The tensor that an optimizer knows stays the one that is trained.
            with lm.no_grad():
                first.copy_(value)
        elif isinstance(first, Parameter):
            first = Parameter(value, stop_gradient=first.stop_gradient)
        else:
            first = value.detach()
    transient = entry._names[0] in entry._transient
    del table._modules[tensor_name]
    if not table._modules:
        del module._modules["parametrizations"]
    if isinstance(first, Parameter):
        module.register_parameter(tensor_name, first)
    else:
        module.register_buffer(tensor_name, first, persistent=not transient)
    return module


@contextmanager
def cached() -> Iterator[None]:
    """Computes each parametrized attribute once within the block, for a network that reads it several times.

    Values are those of one thread, and are computed anew once the attribute is set. A change of an original in place is
    seen after the block.
    """
    depth = getattr(_scope, "depth", 0)
    if depth == 0:
        _scope.cache = {}
    _scope.depth = depth + 1
    try:
        yield
    finally:
        _scope.depth = depth
        if depth == 0:
            _scope.cache = None


def type_before_parametrizations(module: Module) -> type:
    """Returns the module's class, which parametrizations leave as it is."""
    return type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Parametrizes a module as another one is, with the same parametrizations and copies of its originals.

    Args:
        from_module: the module with parametrizations.
        to_module: the module that gets them.
        tensor_name: the only attribute to transfer; all of them by default.

    Returns:
        ``to_module``.
    """
    if not is_parametrized(from_module, tensor_name):
        return to_module
    table: Any = from_module._modules["parametrizations"]
    for name in list(table._modules) if tensor_name is None else [tensor_name]:
        source = table._modules[name]
        if getattr(to_module, name, None) is None:
            with lm.no_grad():
                value = source()
            is_parameter = isinstance(source.originals()[0], Parameter)
            if is_parameter:
                to_module.register_parameter(name, Parameter(value))
            else:
                to_module.register_buffer(name, value)
        for parametrization in source:
            register_parametrization(to_module, name, parametrization, unsafe=source.unsafe)
        target = to_module._modules["parametrizations"]._modules[name]  # type: ignore[union-attr]
        with lm.no_grad():
            for to, of in zip(target.originals(), source.originals(), strict=True):  # type: ignore[union-attr]
                to.copy_(of)
    return to_module
