"""Parameters in lists and dicts whose members are found by the module that holds them."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Self

import lamella as lm

from .module import Module
from .parameter import Parameter


class _Parameters(Module):
    def _put(self, name: str, parameter: Any) -> None:
        """Registers a parameter; a tensor becomes one that shares nothing with it."""
        if isinstance(parameter, lm.Tensor) and not isinstance(parameter, Parameter):
            parameter = Parameter(parameter)
        if not isinstance(parameter, Parameter):
            raise TypeError(
                f"[{type(self).__name__}] '{name}' is a Parameter or a Tensor, not {type(parameter).__name__}"
            )
        if name in self._parameters:
            self._parameters[name] = parameter
        else:
            self.register_parameter(name, parameter)

    def __len__(self) -> int:
        return len(self._parameters)

    def extra_repr(self) -> str:
        """Returns the members' shapes and dtypes, to be printed."""
        return ", ".join(
            f"{name}: {list(p.shape)} {p.dtype.name}" for name, p in self._parameters.items() if p is not None
        )


class ParameterList(_Parameters):
    """A list of parameters that are found. A tensor that is put into it becomes a parameter."""

    def __init__(self, parameters: Iterable[lm.Tensor] = ()) -> None:
        super().__init__()
        self.extend(parameters)

    def __getitem__(self, index: int | slice) -> Any:
        members = list(self._parameters.values())
        return type(self)(members[index]) if isinstance(index, slice) else members[index]  # type: ignore[arg-type]

    def __setitem__(self, index: int, parameter: lm.Tensor) -> None:
        self._put(list(self._parameters)[index], parameter)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._parameters.values())  # type: ignore[arg-type]

    def append(self, parameter: lm.Tensor) -> Self:
        """Adds a parameter at the end."""
        self._put(str(len(self)), parameter)
        return self

    def extend(self, parameters: Iterable[lm.Tensor]) -> Self:
        """Adds parameters at the end."""
        for parameter in list(parameters):
            self.append(parameter)
        return self

    def __iadd__(self, parameters: Iterable[lm.Tensor]) -> Self:
        return self.extend(parameters)


class ParameterDict(_Parameters):
    """A dict of parameters that are found. A tensor that is put into it becomes a parameter.

    Args:
        parameters: a mapping of names to parameters, or pairs of them.
    """

    def __init__(self, parameters: Mapping[str, lm.Tensor] | Iterable[tuple[str, lm.Tensor]] = ()) -> None:
        super().__init__()
        self.update(parameters)

    def __getitem__(self, name: str) -> Parameter:
        return self._parameters[name]  # type: ignore[return-value]

    def __setitem__(self, name: str, parameter: lm.Tensor) -> None:
        self._put(name, parameter)

    def __delitem__(self, name: str) -> None:
        del self._parameters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, name: object) -> bool:
        return name in self._parameters

    def keys(self) -> KeysView[str]:
        """Returns the names."""
        return self._parameters.keys()

    def values(self) -> ValuesView[Parameter | None]:
        """Returns the parameters."""
        return self._parameters.values()

    def items(self) -> ItemsView[str, Parameter | None]:
        """Returns names and parameters."""
        return self._parameters.items()

    def get(self, name: str, default: Any = None) -> Any:
        """Returns a parameter, or ``default`` where there is none of the name."""
        return self._parameters.get(name, default)

    def update(self, parameters: Mapping[str, lm.Tensor] | Iterable[tuple[str, lm.Tensor]]) -> None:
        """Adds parameters, in the place of those that have their names."""
        for name, parameter in dict(parameters).items():
            self._put(name, parameter)

    def setdefault(self, name: str, default: lm.Tensor) -> Parameter:
        """Returns the parameter of a name, which is ``default`` where there was none."""
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str) -> Parameter:
        """Takes a parameter out and returns it."""
        parameter = self[name]
        del self[name]
        return parameter

    def clear(self) -> None:
        """Takes all parameters out."""
        self._parameters.clear()
