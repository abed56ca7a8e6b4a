"""The base of every layer and network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import lamella as lm

from .parameter import Parameter


class StateDictError(ValueError, RuntimeError):
    """A state that does not fit the module: it names every missing, unexpected and misshapen entry."""


class Module:
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

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, lm.Tensor | None]
    _modules: dict[str, Module | None]
    _transient: set[str]

    def __init__(self) -> None:
        # Written to __dict__ directly, as __setattr__ below needs these attributes to exist.
        self.__dict__.update(training=True, _parameters={}, _buffers={}, _modules={}, _transient=set())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the module's result. A subclass defines it."""
        raise NotImplementedError(f"[{type(self).__name__}] the module defines no forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs :meth:`forward`."""
        return self.forward(*args, **kwargs)

    # ---- registration

    def __setattr__(self, name: str, value: Any) -> None:
        if "_parameters" not in self.__dict__:
            if isinstance(value, (Parameter, Module)):
                raise AttributeError(f"[{type(self).__name__}] call super().__init__() before setting '{name}'")
            object.__setattr__(self, name, value)
        elif isinstance(value, Parameter):
            self._claim(name, self._parameters)
            self._parameters[name] = value
        elif isinstance(value, Module):
            self._claim(name, self._modules)
            self._modules[name] = value
        elif name in self._parameters:
            if value is not None:
                raise TypeError(
                    f"[{type(self).__name__}] '{name}' is a parameter: it takes a Parameter or None, "
                    f"not {type(value).__name__} (to change its values use copy_ under no_grad)"
                )
            self._parameters[name] = None
        elif name in self._modules:
            if value is not None:
                raise TypeError(
                    f"[{type(self).__name__}] '{name}' is a submodule: it takes a Module or None, "
                    f"not {type(value).__name__}"
                )
            self._modules[name] = None
        elif name in self._buffers:
            if value is not None and not isinstance(value, lm.Tensor):
                raise TypeError(
                    f"[{type(self).__name__}] '{name}' is a buffer: it takes a Tensor or None, "
                    f"not {type(value).__name__}"
                )
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def _claim(self, name: str, owner: dict[str, Any]) -> None:
        """Makes ``name`` free in every place but ``owner``, so that one name never means two things."""
        self.__dict__.pop(name, None)
        for place in (self._parameters, self._buffers, self._modules):
            if place is not owner:
                place.pop(name, None)
        self._transient.discard(name)

    def __getattr__(self, name: str) -> Any:
        # Called only if ordinary look-up has failed.
        for place in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(place)
            if found is not None and name in found:
                return found[name]
        hint = "" if "_parameters" in self.__dict__ else " (was super().__init__() called?)"
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'{hint}")

    def __delattr__(self, name: str) -> None:
        for place in (self._parameters, self._buffers, self._modules):
            if name in place:
                del place[name]
                self._transient.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        """Registers ``parameter`` under ``name``; None reserves the name for a parameter that is absent."""
        self._check_name("register_parameter", name)
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError(f"[register_parameter] '{name}' is {type(parameter).__name__}, not a Parameter")
        self._claim(name, self._parameters)
        self._parameters[name] = parameter

    def register_buffer(self, name: str, tensor: lm.Tensor | None, persistent: bool = True) -> None:
        """Registers a tensor that belongs to the state and is not trained (a running mean, a mask).

        Args:
            name: the attribute's name, without a dot.
            tensor: the buffer, or None for one that is absent.
            persistent: False leaves it out of :meth:`state_dict`.
        """
        self._check_name("register_buffer", name)
        if tensor is not None and not isinstance(tensor, lm.Tensor):
            raise TypeError(f"[register_buffer] '{name}' is {type(tensor).__name__}, not a Tensor")
        self._claim(name, self._buffers)
        self._buffers[name] = tensor
        if not persistent:
            self._transient.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Registers a submodule under a name that need not be a Python identifier."""
        self._check_name("add_module", name)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"[add_module] '{name}' is {type(module).__name__}, not a Module")
        self._claim(name, self._modules)
        self._modules[name] = module

    def _check_name(self, op: str, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"[{op}] a name is a str, not {type(name).__name__}")
        if not name or "." in name:
            raise KeyError(f"[{op}] '{name}' is no name: it is empty or holds a dot")
        taken = name in self._parameters or name in self._buffers or name in self._modules
        if not taken and hasattr(self, name):
            raise KeyError(f"[{op}] '{name}' is already an attribute of {type(self).__name__}")

    # ---- walking

    def named_modules(self, prefix: str = "", *, _seen: set[int] | None = None) -> Iterator[tuple[str, Module]]:
        """Yields the module itself (under ``prefix``) and all modules below it, each once, with dotted names."""
        seen = set() if _seen is None else _seen
        if id(self) in seen:
            return
        seen.add(id(self))
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(_join(prefix, name), _seen=seen)

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

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Yields the parameters with dotted names; one that is shared comes once, under its first name."""
        return self._named("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yields the parameters, each once: what an optimizer takes."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, lm.Tensor]]:
        """Yields the buffers with dotted names, each once."""
        return self._named("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[lm.Tensor]:
        """Yields the buffers, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def _named(self, place: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix) if recurse else [(prefix, self)]:
            for name, tensor in module.__dict__[place].items():
                if tensor is not None and id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield _join(path, name), tensor

    def apply(self, function: Callable[[Module], Any]) -> Self:
        """Calls ``function`` on every submodule, then on the module itself (for initialization, say)."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    # ---- mode and gradients

    def train(self, mode: bool = True) -> Self:
        """Puts the module and all below it in training mode, or with False in evaluation mode."""
        if not isinstance(mode, bool):
            raise TypeError(f"[train] mode is a bool, not {type(mode).__name__}")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Puts the module and all below it in evaluation mode: dropout does nothing, for one."""
        return self.train(False)

    def zero_grad(self) -> None:
        """Drops the gradients of all parameters."""
        for parameter in self.parameters():
            parameter.grad = None

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Makes every parameter want a gradient, or with False freezes them all."""
        for parameter in self.parameters():
            parameter.stop_gradient = not requires_grad
        return self

    def to(self, target: Any) -> Self:
        """Moves the module to a device, or turns its floating-point tensors to a dtype.

        Parameters are replaced by new ones and lose their gradients, so call it before an optimizer is made.
        A dtype leaves integer and bool tensors as they are.
        """
        device = _is_device(target)
        moved: dict[int, Any] = {}
        for module in self.modules():
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    if id(parameter) not in moved:
                        new = _convert(parameter, target, device)
                        if new is not parameter:
                            new = Parameter(new, stop_gradient=parameter.stop_gradient)
                        moved[id(parameter)] = new
                    module._parameters[name] = moved[id(parameter)]
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = moved.setdefault(id(buffer), _convert(buffer, target, device))
        return self

    # ---- state

    def state_dict(self, prefix: str = "") -> dict[str, lm.Tensor]:
        """Returns the parameters and persistent buffers by dotted name.

        The tensors share the module's memory and have no graph: clone them to keep what they hold now.
        A tensor that two names share appears under both.
        """
        state: dict[str, lm.Tensor] = {}
        for name, tensor in self._entries(prefix):
            state[name] = tensor.detach()
        return state

    def _entries(self, prefix: str) -> Iterator[tuple[str, lm.Tensor]]:
        for name, parameter in self._parameters.items():
            if parameter is not None:
                yield _join(prefix, name), parameter
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._transient:
                yield _join(prefix, name), buffer
        for name, child in self._modules.items():
            if child is not None:
                yield from child._entries(_join(prefix, name))

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> tuple[list[str], list[str]]:
        """Copies ``state`` into the module's parameters and buffers, cast to their dtypes.

        Everything is checked before anything is copied, so a state that does not fit changes nothing.

        Args:
            state: tensors (or arrays) by dotted name, as :meth:`state_dict` gives them.
            strict: False lets entries be missing or unexpected; shapes have to match all the same.

        Returns:
            The missing and the unexpected names, both empty where ``strict``.

        Raises:
            StateDictError: (a ``ValueError`` and a ``RuntimeError``) names every entry that does not fit.
            TypeError: ``state`` is not a mapping.
        """
        if not isinstance(state, Mapping):
            raise TypeError(f"[load_state_dict] the state is a mapping of names to tensors, not {type(state).__name__}")
        own = dict(self._entries(""))
        missing = [name for name in own if name not in state]
        unexpected = [str(name) for name in state if name not in own]
        problems = []
        if strict and missing:
            problems.append("missing: " + ", ".join(missing))
        if strict and unexpected:
            problems.append("unexpected: " + ", ".join(unexpected))
        fitting = []
        for name, target in own.items():
            if name in state:
                value = state[name].detach() if isinstance(state[name], lm.Tensor) else lm.asarray(state[name])
                if tuple(value.shape) == tuple(target.shape):
                    fitting.append((target, value.astype(target.dtype)))
                else:
                    problems.append(
                        f"{name}: shape {list(value.shape)} in the state, {list(target.shape)} in the module"
                    )
        if problems:
            listed = "\n  ".join(problems)
            raise StateDictError(f"[load_state_dict] the state does not fit {type(self).__name__}:\n  {listed}")
        with lm.no_grad():
            for target, value in fitting:
                target.copy_(value)
        return missing, unexpected

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


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _is_device(target: Any) -> bool:
    """Tells a device from a dtype: both can be given by name."""
    if isinstance(target, str):
        return target.partition(":")[0] in ("cpu", "cuda", "meta", "privateuse1", lm._C._privateuse1_name())
    return not hasattr(target, "itemsize")


def _convert(tensor: lm.Tensor, target: Any, device: bool) -> lm.Tensor:
    if not device and not _is_floating(tensor.dtype):
        return tensor
    with lm.no_grad():
        return tensor.to(target)


def _is_floating(dtype: Any) -> bool:
    return lm.isdtype(dtype, ("real floating", "complex floating"))
