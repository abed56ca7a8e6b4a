"""The base of every layer and network."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import lamella as lm
from lamella import _C, _names

from ._moving import Movable
from ._state import Stateful
from .parameter import Buffer, Parameter, is_buffer

if TYPE_CHECKING:
    from ._summary import Summary


class Module(Stateful, Movable):
    """A layer, or a network of layers.

    Parameters, buffers and submodules are registered by setting them as attributes (buffers by
    :meth:`register_buffer`), and found again, in the order of registration, by :meth:`named_parameters`,
    :meth:`named_buffers` and :meth:`named_modules`. A subclass calls ``super().__init__()`` first and defines
    ``forward``; calling the module calls it.

    Example::

        class Net(lm.nn.Module):
            def __init__(self):
                super().__init__()
                self.hidden = lm.nn.Linear(64, 32)
                self.out = lm.nn.Linear(32, 10)

            def forward(self, x):
                return self.out(lm.relu(self.hidden(x)))
    """

    if TYPE_CHECKING:

        def summary(self, *args: Any, **kwargs: Any) -> Summary:
            """Describes the module and its parts; prints as a table. See :func:`lamella.nn.summary`."""

    #: True for layers that make their parameters at the first call.
    _lazy: ClassVar[bool] = False
    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, lm.Tensor | None]
    _modules: dict[str, Module | None]
    _transient: set[str]

    def __init__(self) -> None:
        # Written to __dict__ directly, as __setattr__ below needs these attributes to exist.
        self.__dict__.update(training=True, _parameters={}, _buffers={}, _modules={}, _transient=set())

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        quicken(cls)

    # ---- registration

    def __setattr__(self, name: str, value: Any) -> None:
        tables = self.__dict__
        if "_parameters" not in tables:
            if isinstance(value, (Parameter, Module)):
                raise AttributeError(f"[{type(self).__name__}] call super().__init__() before setting '{name}'")
            object.__setattr__(self, name, value)
            return
        parameters, modules, buffers = tables["_parameters"], tables["_modules"], tables["_buffers"]
        if "parametrizations" in modules and (computed := _computed(self, name)) is not None:
            computed.assign(value)
        elif isinstance(value, Parameter):
            _claim(self, name, parameters)
            parameters[name] = value
        elif isinstance(value, Module):
            _claim(self, name, modules)
            modules[name] = value
        elif isinstance(value, Buffer):
            _claim(self, name, buffers)
            buffers[name] = value
            if not value.persistent:
                self._transient.add(name)
        elif name in parameters:
            if value is not None:
                raise TypeError(
                    f"[{type(self).__name__}] '{name}' is a parameter: it takes a Parameter or None, "
                    f"not {type(value).__name__} (to change its values use copy_ under no_grad)"
                )
            parameters[name] = None
        elif name in modules:
            if value is not None:
                raise TypeError(
                    f"[{type(self).__name__}] '{name}' is a submodule: it takes a Module or None, "
                    f"not {type(value).__name__}"
                )
            modules[name] = None
        elif name in buffers:
            if value is not None and not is_buffer(value):
                raise TypeError(
                    f"[{type(self).__name__}] '{name}' is a buffer: it takes a Tensor or None, "
                    f"not {type(value).__name__}"
                )
            buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        # _quicken_attributes looks into the tables before this is called, where no subclass has a method of its own.
        tables = self.__dict__
        try:
            if name in (table := tables["_parameters"]):
                return table[name]
            if name in (table := tables["_modules"]):
                return table[name]
            if name in (table := tables["_buffers"]):
                return table[name]
        except KeyError:
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute '{name}' (was super().__init__() called?)"
            ) from None
        computed = _computed(self, name)
        if computed is not None:
            return computed()
        if name == "summary":
            # Found last, so that a part of a model may have the name.
            from ._summary import summary

            return functools.partial(summary, self)
        sentence = _names.of_module_method(name)
        raise AttributeError(
            f"'{type(self).__name__}' object has no attribute '{name}'" + (f": {sentence}" if sentence else ""),
            **({"name": name} if sentence else {}),
        )

    def __delattr__(self, name: str) -> None:
        for place in (self._parameters, self._buffers, self._modules):
            if name in place:
                del place[name]
                self._transient.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*super().__dir__(), *self._parameters, *self._buffers, *self._modules}
        return sorted(names | set(getattr(self._modules.get("parametrizations"), "_modules", ())))

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        """Registers ``parameter`` under ``name``; None reserves the name for a parameter that is absent."""
        _check_name(self, "register_parameter", name)
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError(f"[register_parameter] '{name}' is {type(parameter).__name__}, not a Parameter")
        _claim(self, name, self._parameters)
        self._parameters[name] = parameter

    def register_buffer(self, name: str, tensor: lm.Tensor | None, persistent: bool = True) -> None:
        """Registers a tensor that belongs to the state and is not trained (a running mean, a mask).

        Args:
            name: the attribute's name, without a dot.
            tensor: the buffer, or None for one that is absent.
            persistent: False leaves it out of :meth:`state_dict`.
        """
        _check_name(self, "register_buffer", name)
        if tensor is not None and not is_buffer(tensor):
            raise TypeError(f"[register_buffer] '{name}' is {type(tensor).__name__}, not a Tensor")
        _claim(self, name, self._buffers)
        self._buffers[name] = tensor
        if not persistent:
            self._transient.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Registers a submodule under a name that need not be a Python identifier."""
        _check_name(self, "add_module", name)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"[add_module] '{name}' is {_no_module(module)}")
        _claim(self, name, self._modules)
        self._modules[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        """Registers a submodule, see :meth:`add_module`."""
        self.add_module(name, module)

    # ---- walking

    def named_modules(
        self, prefix: str = "", remove_duplicate: bool = True, *, _seen: set[int] | None = None
    ) -> Iterator[tuple[str, Module]]:
        """Yields the module itself (under ``prefix``) and all modules below it, with dotted names.

        A module that is used twice comes once, under its first name, or with ``remove_duplicate=False`` under each.
        """
        seen = set() if _seen is None else _seen
        if id(self) in seen:
            return
        if remove_duplicate:
            seen.add(id(self))
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(_join(prefix, name), remove_duplicate, _seen=seen)

    def modules(self) -> Iterator[Module]:
        """Yields the module itself and all modules below it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yields the direct submodules, each once, with their names."""
        seen: set[int] = set()
        for name, child in self._modules.items():
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def children(self) -> Iterator[Module]:
        """Yields the direct submodules, each once."""
        return (child for _, child in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yields the parameters with dotted names.

        Args:
            prefix: a path that stands, with a dot, before each name.
            recurse: False leaves those of submodules out.
            remove_duplicate: a parameter that is shared comes once, under its first name; False gives it under each.
        """
        return _named(self, "_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yields the parameters, each once: what an optimizer takes."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, lm.Tensor]]:
        """Yields the buffers with dotted names; arguments as for :meth:`named_parameters`."""
        return _named(self, "_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[lm.Tensor]:
        """Yields the buffers, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """Returns the module of a dotted name, as :meth:`named_modules` gives it; "" is the module itself.

        Raises:
            AttributeError: there is none: the message names the first part of the path that is not there.
        """
        if not isinstance(target, str):
            raise TypeError(f"[get_submodule] a name is a str, not {type(target).__name__}")
        module: Module = self
        for name in target.split(".") if target else ():
            child = module._modules.get(name)
            if child is None:
                raise AttributeError(f"[get_submodule] {type(module).__name__} has no submodule '{name}' ('{target}')")
            module = child
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts a module in the place of a dotted name.

        Args:
            target: the name. All parts but the last one must be there.
            module: the new module.
            strict: True refuses a name under which there is no submodule yet.

        Raises:
            ValueError: ``target`` is empty.
            AttributeError: a part of the path is not there.
        """
        path, _, name = target.rpartition(".")
        if not name:
            raise ValueError("[set_submodule] the target is the name of a submodule, not ''")
        owner = self.get_submodule(path)
        if strict and owner._modules.get(name) is None:
            raise AttributeError(f"[set_submodule] {type(owner).__name__} has no submodule '{name}' ('{target}')")
        if name not in owner._modules or not isinstance(module, Module):
            owner.add_module(name, module)
        else:
            owner._modules[name] = module

    def get_parameter(self, target: str) -> Parameter:
        """Returns the parameter of a dotted name; AttributeError where there is none."""
        found: Parameter = _get(self, "get_parameter", "parameter", "_parameters", target)
        return found

    def get_buffer(self, target: str) -> lm.Tensor:
        """Returns the buffer of a dotted name; AttributeError where there is none."""
        found: lm.Tensor = _get(self, "get_buffer", "buffer", "_buffers", target)
        return found

    def apply(self, function: Callable[[Module], Any]) -> Self:
        """Calls ``function`` on every submodule, then on the module itself (for initialization, say)."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    # ---- mode and gradients

    def train(self, mode: bool = True) -> Self:
        """Puts the module and all below it in training mode, or with False in evaluation mode.

        Parts are asked by this method, so that a class may keep its part in one mode.
        """
        if not isinstance(mode, bool):
            raise TypeError(f"[train] mode is a bool, not {type(mode).__name__}")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        """Puts the module and all below it in evaluation mode: dropout does nothing, for one."""
        return self.train(False)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or with ``set_to_none=False`` fills them with zeros."""
        for parameter in self.parameters():
            if set_to_none or parameter.grad is None:
                parameter.grad = None
            else:
                parameter.grad = lm.zeros_like(parameter.grad)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Makes every parameter want a gradient, or with False freezes them all."""
        for parameter in self.parameters():
            parameter.stop_gradient = not requires_grad
        return self

    # ---- copies

    def __copy__(self) -> Self:
        """Returns a module with the same parameters, buffers and submodules, registered in tables of its own."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        for table in ("_parameters", "_buffers", "_modules", "_transient"):
            if table in self.__dict__:
                made.__dict__[table] = self.__dict__[table].copy()
        return made

    # ---- printing

    def extra_repr(self) -> str:
        """Returns the text between the parentheses of the module's own line when it is printed."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = [f"({name}): " + repr(child).replace("\n", "\n  ") for name, child in self._modules.items()]
        if not lines:
            return f"{type(self).__name__}({extra})"
        body = "\n  ".join([extra] * bool(extra) + lines)
        return f"{type(self).__name__}(\n  {body}\n)"

    def _repr_html_(self) -> str:
        from .._html import module

        return module(self)


def quicken(kind: type[Module]) -> None:
    """Has a class of modules find parameters and call ``forward`` in C, where it has no methods of its own for that."""
    if kind.__getattr__ is Module.__getattr__ and kind.__getattribute__ is object.__getattribute__:
        _C._quicken_attributes(kind)
    if kind.__call__ is Module.__call__:
        _C._quicken_calls(kind)


# Functions, so that the names are free for what programs set on their modules.


def _claim(module: Module, name: str, owner: dict[str, Any]) -> None:
    """Makes ``name`` free in every place but ``owner``, so that one name never means two things."""
    module.__dict__.pop(name, None)
    for place in (module._parameters, module._buffers, module._modules):
        if place is not owner:
            place.pop(name, None)
    module._transient.discard(name)


def _computed(module: Module, name: str) -> Computed | None:
    """Returns the module that computes an attribute, see :mod:`lamella.nn.utils.parametrize`; None elsewhere."""
    table = module.__dict__["_modules"].get("parametrizations")
    found = None if table is None else table._modules.get(name)
    return found if isinstance(found, Computed) else None


def _no_module(value: Any) -> str:
    """Returns what a value is that was given for a module, and what to write instead."""
    if isinstance(value, tuple):
        return "tuple, not a Module: names are given by a mapping, as in nn.Sequential(dict(pairs))"
    if not isinstance(value, type):
        hint = ": call it in the forward of a module" if callable(value) else ""
        return f"{type(value).__name__}, not a Module{hint}"
    if issubclass(value, Module):
        return f"the class {value.__name__}, not a Module: write {value.__name__}(...)"
    hint = f": call {value.__name__}.apply in the forward of a module" if issubclass(value, lm.PyLayer) else ""
    return f"the class {value.__name__}, not a Module{hint}"


def _check_name(module: Module, op: str, name: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"[{op}] a name is a str, not {type(name).__name__}")
    if not name or "." in name:
        raise KeyError(f"[{op}] '{name}' is no name: it is empty or holds a dot")
    taken = name in module._parameters or name in module._buffers or name in module._modules
    if not taken and hasattr(module, name):
        raise KeyError(f"[{op}] '{name}' is already an attribute of {type(module).__name__}")


def _named(root: Module, place: str, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
    seen: set[int] = set()
    for path, module in root.named_modules(prefix, remove_duplicate) if recurse else [(prefix, root)]:
        if module._lazy and place == "_parameters":
            raise ValueError(
                f"[{type(module).__name__}] {path or 'the layer'} has no parameters before its first call: "
                "call the model with an example first"
            )
        for name, tensor in module.__dict__[place].items():
            if tensor is not None and id(tensor) not in seen:
                if remove_duplicate:
                    seen.add(id(tensor))
                yield _join(path, name), tensor


def _get(module: Module, op: str, what: str, place: str, target: str) -> Any:
    path, _, name = target.rpartition(".")
    owner = module.get_submodule(path)
    found = owner.__dict__[place].get(name)
    if found is None:
        raise AttributeError(f"[{op}] {type(owner).__name__} has no {what} '{name}' ('{target}')")
    return found


class Computed(Module):
    """A module whose result is an attribute of the module that holds it, in its ``parametrizations``."""

    def assign(self, value: Any) -> None:
        """Takes a new value for the attribute."""
        raise NotImplementedError(f"[{type(self).__name__}] the module defines no assign")


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name
