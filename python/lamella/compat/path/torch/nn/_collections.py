"""Lists and dicts of parameters that take any objects, of which parameters and modules are found by the module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import lamella as lm


class _Members:
    """Members under names, as attributes of a module: parameters, modules, and other objects.

    Tensors become parameters.
    """

    def _put(self, name: str, value: Any) -> None:
        if isinstance(value, lm.Tensor) and not isinstance(value, lm.nn.Parameter):
            value = lm.nn.Parameter(value)
        if isinstance(value, (lm.nn.Parameter, lm.nn.Module)):
            self.__dict__.pop(name, None)
        setattr(self, name, value)

    def _named(self) -> Iterator[tuple[str, Any]]:
        """Yields the members with their names, in order."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        """Returns a line for each member."""
        return "\n".join(f"  ({name}): {self._told(value)}" for name, value in self._named())

    def _told(self, value: Any) -> str:
        if not isinstance(value, lm.nn.Parameter):
            return f"Object of type: {type(value).__name__}"
        size = "x".join(map(str, value.shape))
        device = "" if str(value.device).startswith("cpu") else f" ({value.device})"
        return f"Parameter containing: [{value.dtype} of size {size}{device}]"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"[{type(self).__name__}] is not called: it holds parameters")


class Listed(_Members):
    """A list whose members have the names "0", "1" and so on."""

    #: Set for each object when the first member comes.
    _size = 0

    def _named(self) -> Iterator[tuple[str, Any]]:
        return ((str(place), value) for place, value in enumerate(self))

    def _name_of(self, index: int) -> str:
        if not -self._size <= index < self._size:
            raise IndexError(f"[{type(self).__name__}] index {index} is out of range of {self._size} members")
        return str(index % self._size)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, str(place)) for place in range(self._size)])

    def __getitem__(self, index: int | slice) -> Any:
        if not isinstance(index, slice):
            return getattr(self, self._name_of(index))
        made: Any = type(self)()
        made.extend(list(self)[index])
        return made

    def __setitem__(self, index: int, value: Any) -> None:
        self._put(self._name_of(index), value)

    def append(self, value: Any) -> Self:
        """Adds a member at the end."""
        place = self._size
        self._size = place + 1
        self._put(str(place), value)
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Adds members at the end."""
        if not isinstance(values, Iterable):
            raise TypeError(f"[{type(self).__name__}] extend() takes an iterable, not {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)


class Named(_Members):
    """A dict; a plain one is taken in the order of its names."""

    def _told(self, value: Any) -> str:
        text = super()._told(value)
        if not isinstance(value, lm.nn.Parameter):
            return text
        any_value: Any = value
        return text.replace(f"[{value.dtype} ", f"[{any_value.type()} ")

    def _order(self) -> dict[str, None]:
        """Returns the names in order; objects that Lamella makes have none at first."""
        order: dict[str, None] = self.__dict__.setdefault("_keys", {})
        return order

    def _named(self) -> Iterator[tuple[str, Any]]:
        return iter(self.items())

    def _checked(self, name: Any) -> str:
        if not isinstance(name, str):
            raise TypeError(f"[{type(self).__name__}] a name is a str, not {type(name).__name__}")
        return name

    def __getitem__(self, name: str) -> Any:
        return getattr(self, self._checked(name))

    def __setitem__(self, name: str, value: Any) -> None:
        self._order()[self._checked(name)] = None
        self._put(name, value)

    def __delitem__(self, name: str) -> None:
        del self._order()[self._checked(name)]
        delattr(self, name)

    def __len__(self) -> int:
        return len(self._order())

    def __iter__(self) -> Iterator[str]:
        return iter(self._order())

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._order()))

    def __contains__(self, name: object) -> bool:
        return name in self._order()

    def keys(self) -> Any:
        """Returns the names."""
        return self._order().keys()

    def items(self) -> Any:
        """Returns the names and members."""
        return [(name, self[name]) for name in self._order()]

    def values(self) -> Any:
        """Returns the members."""
        return [self[name] for name in self._order()]

    def get(self, name: str, default: Any = None) -> Any:
        """Returns a member, or ``default`` where there is none of the name."""
        return self[name] if name in self._order() else default

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Returns the member of a name, which is ``default`` where there was none."""
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str) -> Any:
        """Takes a member out and returns it."""
        value = self[name]
        del self[name]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Takes the last member out and returns it with its name."""
        name = next(reversed(self))  # type: ignore[call-overload]
        return name, self.pop(name)

    def clear(self) -> None:
        """Takes all members out."""
        for name in list(self):
            del self[name]

    def update(self, parameters: Any) -> None:
        """Adds members, in the place of those that have their names."""
        if not isinstance(parameters, Iterable):
            raise TypeError(f"[{type(self).__name__}] update() takes a dict or pairs, not {type(parameters).__name__}")
        pairs: Iterable[Any] = parameters.items() if hasattr(parameters, "items") else list(parameters)
        if type(parameters) is dict or (isinstance(parameters, Mapping) and not hasattr(parameters, "move_to_end")):
            pairs = sorted(pairs)
        for pair in pairs:
            if not isinstance(pair, Iterable):
                raise TypeError(f"[{type(self).__name__}] update() takes pairs, not {type(pair).__name__}")
            name, value = pair
            self[name] = value

    def copy(self) -> Any:
        """Returns a dict of its own with the same members."""
        made: Any = type(self)()
        for name, value in self.items():
            made[name] = value
        return made

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> Any:
        """Returns a dict with a member for each name."""
        made: Any = type(self)()
        for name in keys:
            made[name] = default
        return made

    def __or__(self, other: Any) -> Any:
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        made = other.copy()
        made.update(self)
        return made

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self
