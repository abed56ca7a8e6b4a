"""The hooks of a module as dictionaries, through which programs also take them away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from lamella.nn import Module
from lamella.nn._hooks import _changing, _Entry, _with_entry

Hook = Callable[..., Any]


class HooksOfModule(MutableMapping[int, Hook]):
    """The hooks of a kind that a module has now, by the ``id`` of their handles; changes are those of the module."""

    def __init__(self, module: Module, kind: str) -> None:
        self._module, self._kind = module, kind

    def entries(self) -> Mapping[int, _Entry]:
        """Returns the hooks, with what was said of each when it was registered."""
        table: Any = self._module._hook_table or {}
        entries: Mapping[int, _Entry] = table.get(self._kind, {})
        return entries

    def __getitem__(self, key: int) -> Hook:
        return self.entries()[key].hook

    def __setitem__(self, key: int, hook: Hook) -> None:
        with _changing:
            self._module.__dict__["_hook_table"] = _with_entry(self._module._hook_table, self._kind, key, _Entry(hook))

    def __delitem__(self, key: int) -> None:
        self.entries()[key]
        self._module._drop_hook(self._kind, key)

    def __iter__(self) -> Iterator[int]:
        return iter(list(self.entries()))

    def __len__(self) -> int:
        return len(self.entries())

    def __repr__(self) -> str:
        return f"OrderedDict({dict(self)})"


def _of_kind(kind: str) -> property:
    """Returns the property of modules that has their hooks of a kind; it may be set to other ones."""

    def replace(self: Module, hooks: Mapping[int, Hook]) -> None:
        kept, own = dict(hooks), HooksOfModule(self, kind)
        own.clear()
        own.update(kept)

    return property(lambda self: HooksOfModule(self, kind), replace)


def _told(kind: str, what: str) -> property:
    """Returns the property of modules that says of which hooks something is true."""
    return property(
        lambda self: {key: True for key, entry in HooksOfModule(self, kind).entries().items() if getattr(entry, what)}
    )


#: Attributes of modules.
ATTRIBUTES = {
    "_forward_pre_hooks": _of_kind("forward_pre"),
    "_forward_pre_hooks_with_kwargs": _told("forward_pre", "with_kwargs"),
    "_forward_hooks": _of_kind("forward"),
    "_forward_hooks_with_kwargs": _told("forward", "with_kwargs"),
    "_forward_hooks_always_called": _told("forward", "always_call"),
    "_backward_pre_hooks": _of_kind("backward_pre"),
    "_backward_hooks": _of_kind("backward"),
    "_state_dict_pre_hooks": _of_kind("state_dict_pre"),
    "_state_dict_hooks": _of_kind("state_dict"),
    "_load_state_dict_pre_hooks": _of_kind("load_state_dict_pre"),
    "_load_state_dict_post_hooks": _of_kind("load_state_dict_post"),
}
