"""The state of a module: read as a dict of tensors, and loaded again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import lamella as lm

from ._hooks import Hooked, ModuleHookHandle, _Entry
from .parameter import Parameter, is_buffer

_EXTRA = "_extra_state"


class StateDictError(ValueError, RuntimeError):
    """A state that does not fit the module: it names every missing, unexpected and misshapen entry."""


class IncompatibleKeys(NamedTuple):
    """Names that a state lacks, and names that the module does not know."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class _Place(NamedTuple):
    """A tensor of a module, and the table that holds it."""

    table: dict[str, Any]
    key: str

    @property
    def tensor(self) -> Any:
        return self.table[self.key]


class Stateful(Hooked):
    """Parameters, persistent buffers and submodules as one dict."""

    if TYPE_CHECKING:
        _parameters: dict[str, Any]
        _buffers: dict[str, Any]
        _modules: dict[str, Any]
        _transient: set[str]

    def state_dict(self, prefix: str = "", *, keep_vars: bool = False) -> dict[str, Any]:
        """Returns the parameters and persistent buffers by dotted name.

        The tensors share the module's memory and have no graph: clone them to keep what they hold now.
        A tensor that two names share appears under both.

        Args:
            prefix: a path that stands, with a dot, before each name.
            keep_vars: True gives the parameters and buffers themselves.
        """
        state: dict[str, Any] = {}
        self._save(state, f"{prefix}." if prefix else "", keep_vars)
        return state

    def _save(self, state: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        table: Mapping[str, Mapping[int, _Entry]] = self._hook_table or {}
        for entry in table.get("state_dict_pre", {}).values():
            entry.hook(self, prefix, keep_vars)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                state[prefix + name] = parameter if keep_vars else parameter.detach()
        transient = self._transient
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in transient:
                state[prefix + name] = buffer if keep_vars else buffer.detach()
        if self._has_extra_state():
            state[prefix + _EXTRA] = self.get_extra_state()
        for name, child in self._modules.items():
            if child is not None:
                child._save(state, f"{prefix}{name}.", keep_vars)
        for entry in table.get("state_dict", {}).values():
            if entry.hook(self, state, prefix, {}) is not None:
                raise TypeError(
                    f"[state_dict] a hook of {type(self).__name__} changes the state in place and returns None"
                )

    def _places(self) -> Iterator[tuple[str, _Place]]:
        for name, parameter in self._parameters.items():
            if parameter is not None:
                yield name, _Place(self._parameters, name)
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._transient:
                yield name, _Place(self._buffers, name)

    def _all_places(self, prefix: str = "") -> Iterator[tuple[str, _Place]]:
        for key, place in self._places():
            yield prefix + key, place
        for path, child in self._parts(prefix):
            yield from child._all_places(path)

    def _parts(self, prefix: str) -> Iterator[tuple[str, Any]]:
        """Yields the submodules with their names, each with a dot behind it."""
        return ((f"{prefix}{name}.", child) for name, child in self._modules.items() if child is not None)

    def get_extra_state(self) -> Any:
        """Returns what a state holds beside tensors. A subclass defines it, and :meth:`set_extra_state`."""
        raise NotImplementedError(f"[{type(self).__name__}] the module defines no get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Takes what :meth:`get_extra_state` of a module of this kind returned."""
        raise NotImplementedError(f"[{type(self).__name__}] the module defines no set_extra_state")

    def _has_extra_state(self) -> bool:
        return type(self).get_extra_state is not Stateful.get_extra_state

    def _extras(self, prefix: str = "") -> Iterator[tuple[str, Any]]:
        if self._has_extra_state():
            yield prefix + _EXTRA, self
        for path, child in self._parts(prefix):
            yield from child._extras(path)

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copies ``state`` into the module's parameters and buffers, cast to their dtypes.

        Everything is checked before anything is copied, so a state that does not fit changes nothing.

        Args:
            state: tensors (or arrays) by dotted name, as :meth:`state_dict` gives them.
            strict: False lets entries be missing or unexpected; shapes have to match all the same.
            assign: True makes new parameters and buffers of the state's own memory, dtypes and devices, where
                otherwise the elements are copied. Make an optimizer afterwards.

        Returns:
            The missing and the unexpected names, both empty where ``strict``.

        Raises:
            StateDictError: (a ``ValueError`` and a ``RuntimeError``) names every entry that does not fit.
            TypeError: ``state`` is not a mapping.
        """
        if not isinstance(state, Mapping):
            raise TypeError(f"[load_state_dict] the state is a mapping of names to tensors, not {type(state).__name__}")
        # The state is taken over now, also while a program is recorded, whose runs would take it over again.
        with lm.graph.not_recording() if lm.graph.is_recording() else contextlib.nullcontext():
            return self._load_state(state, strict, assign)

    def _load_state(self, state: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
        given = dict(state)
        missing: list[str] = []
        unexpected: list[str] = []
        misfits: list[str] = []
        self._before_load(given, "", strict, missing, unexpected, misfits)
        own = dict(self._all_places())
        extras = dict(self._extras())
        missing += [name for name in [*own, *extras] if name not in given]
        unexpected += [str(name) for name in given if name not in own and name not in extras]
        problems = []
        if strict and missing:
            problems.append("missing: " + ", ".join(missing))
        if strict and unexpected:
            problems.append("unexpected: " + ", ".join(unexpected))
        fitting = []
        for name, place in own.items():
            if name in given:
                value = given[name].detach() if is_buffer(given[name]) else lm.asarray(given[name])
                if assign and not place.tensor.stop_gradient and not _has_gradients(value):
                    misfits.append(f"{name}: {value.dtype.name} in the state, of which there are no gradients")
                elif isinstance(value, lm.Tensor) != isinstance(place.tensor, lm.Tensor):
                    misfits.append(
                        f"{name}: {type(value).__name__} in the state, {type(place.tensor).__name__} in the module"
                    )
                elif tuple(value.shape) == tuple(place.tensor.shape):
                    fitting.append((place, _assigned(place, value) if assign else value.to(place.tensor.dtype)))
                else:
                    misfits.append(
                        f"{name}: shape {list(value.shape)} in the state, {list(place.tensor.shape)} in the module"
                    )
        if problems or misfits:
            listed = "\n  ".join(problems + misfits)
            raise StateDictError(f"[load_state_dict] the state does not fit {type(self).__name__}:\n  {listed}")
        with lm.no_grad():
            for place, value in fitting:
                if assign:
                    place.table[place.key] = value
                else:
                    place.tensor.copy_(value)
        for name, module in extras.items():
            if name in given:
                module.set_extra_state(given[name])
        keys = IncompatibleKeys(missing, unexpected)
        self._after_load(keys)
        return keys

    def _before_load(self, state: dict[str, Any], prefix: str, strict: bool, *lists: list[str]) -> None:
        self._before_own_load(state, prefix, {}, strict, *lists)
        for path, child in self._parts(prefix):
            child._before_load(state, path, strict, *lists)

    def _before_own_load(
        self, state: dict[str, Any], prefix: str, metadata: Mapping[str, Any], strict: bool, *lists: list[str]
    ) -> None:
        for hook in self._hooks_of("load_state_dict_pre"):
            hook(self, state, prefix, metadata, strict, *lists)

    def _after_load(self, keys: IncompatibleKeys) -> None:
        for _, child in self._parts(""):
            child._after_load(keys)
        for hook in self._hooks_of("load_state_dict_post"):
            hook(self, keys)

    # ---- hooks

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> ModuleHookHandle:
        """Has ``hook(module, prefix, keep_vars)`` called before the module's entries are read.

        ``prefix`` is the module's path in the state, with a dot behind it, or "".

        Returns:
            A handle, whose ``remove()`` takes the hook away.
        """
        return self._add_hook("register_state_dict_pre_hook", "state_dict_pre", _Entry(hook), False)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> ModuleHookHandle:
        """Has ``hook(module, state, prefix, metadata)`` called when the module's entries are in ``state``.

        The hook changes ``state`` in place. ``metadata`` is an empty dict: states have no versions.

        Returns:
            A handle, whose ``remove()`` takes the hook away.
        """
        return self._add_hook("register_state_dict_post_hook", "state_dict", _Entry(hook), False)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> ModuleHookHandle:
        """Has a hook called before a state is compared with the module.

        Its arguments are ``(module, state, prefix, metadata, strict, missing, unexpected, errors)``. The hook may
        change ``state``, a copy of the caller's dict (to rename entries, say), and add names to the lists ``missing``
        and ``unexpected``, and texts to ``errors``, for which the state is refused.

        Returns:
            A handle, whose ``remove()`` takes the hook away.
        """
        return self._add_hook("register_load_state_dict_pre_hook", "load_state_dict_pre", _Entry(hook), False)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> ModuleHookHandle:
        """Has ``hook(module, keys)`` called after a state was loaded, with its :class:`IncompatibleKeys`.

        Returns:
            A handle, whose ``remove()`` takes the hook away.
        """
        return self._add_hook("register_load_state_dict_post_hook", "load_state_dict_post", _Entry(hook), False)


def _has_gradients(tensor: lm.Tensor) -> bool:
    return bool(lm.isdtype(tensor.dtype, ("real floating", "complex floating")))


def _assigned(place: _Place, value: lm.Tensor) -> lm.Tensor:
    """Returns what takes a tensor's place: a parameter where it was one."""
    before = place.tensor
    if not isinstance(before, Parameter):
        return value
    return Parameter.of_memory(value, stop_gradient=before.stop_gradient)
