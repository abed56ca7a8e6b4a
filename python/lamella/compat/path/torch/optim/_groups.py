"""Groups of optimizers, whose options go by PyTorch's names beside Lamella's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lamella.optim import Optimizer
from lamella.optim._pytorch import OPTIONS

#: Options that say which of PyTorch's kernels compute a step, and what groups have that were told nothing.
KERNELS: dict[str, Any] = {"foreach": None, "fused": None, "capturable": False, "differentiable": False}


class Group(dict[str, Any]):
    """Options of a group of tensors: those that PyTorch names otherwise have both names, and one value."""

    def __init__(self, *values: Mapping[str, Any] | Iterable[tuple[str, Any]], **more: Any) -> None:
        super().__init__()
        self.update(*values, **more)

    def __getitem__(self, name: str) -> Any:
        return super().__getitem__(OPTIONS.get(name, name))

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(OPTIONS.get(name, name), value)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(OPTIONS.get(name, name))

    def __contains__(self, name: object) -> bool:
        return super().__contains__(OPTIONS.get(name, name) if isinstance(name, str) else name)

    def __missing__(self, name: str) -> Any:
        return KERNELS[name]

    def __reduce__(self) -> tuple[Any, ...]:
        return Group, (dict(self),)

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the value of an option, or another one where there is none."""
        return super().get(OPTIONS.get(name, name), default)

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Returns the value of an option, which becomes ``default`` where there is none."""
        return super().setdefault(OPTIONS.get(name, name), default)

    def pop(self, name: str, *default: Any) -> Any:
        """Removes an option, and returns its value."""
        return super().pop(OPTIONS.get(name, name), *default)

    def update(self, *values: Any, **more: Any) -> None:
        """Sets options."""
        for name, value in dict(*values, **more).items():
            self[name] = value

    def copy(self) -> Group:
        """Returns a group with the options of this one."""
        return Group(self)


def _get(self: Optimizer) -> Any:
    try:
        return self.__dict__["param_groups"]
    except KeyError:
        raise AttributeError("param_groups") from None


def _set(self: Optimizer, groups: Any) -> None:
    if not all(isinstance(group, Group) for group in groups):
        groups = [group if isinstance(group, Group) else Group(group) for group in groups]
    self.__dict__["param_groups"] = groups  # the list that is given, which optimizers of programs may share


def take_last(self: Optimizer, order: Iterable[str]) -> Group:
    """Returns the group that was added last, which has both names of options, and begins with those in ``order``."""
    last = self.param_groups[-1]
    made = self.param_groups[-1] = Group({**{name: last[name] for name in order}, **last})
    return made


_optimizer: Any = Optimizer
_optimizer.param_groups = property(_get, _set, doc="The groups: options, and tensors under 'params'.")
