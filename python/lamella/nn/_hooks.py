"""Functions of the user's that a module calls around its forward, and around the backward of what it computed."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import lamella as lm

from .. import _C, _tree

Hook = Callable[..., Any]

#: Kinds of hooks, by what a module has a method ``register_..._hook`` for.
KINDS = ("forward_pre", "forward", "backward_pre", "backward")
#: True once a hook was registered: until then calls of modules look for none.
_any_registered = False
_keys = itertools.count()
#: Held while a table is replaced, so that hooks of several threads are all kept.
_changing = threading.Lock()


class _Entry(NamedTuple):
    hook: Hook
    with_kwargs: bool = False
    always_call: bool = False


class HookTable(dict[str, dict[int, _Entry]]):
    """Hooks of a module by their kind, in the order of their calls. A change makes a new table.

    So a running call goes on with the hooks that it began with, and copies of a module may share its table.
    """

    def __new__(cls, *args: Any) -> HookTable:
        """Makes a table, also while one is unpickled: from now on calls look for hooks."""
        global _any_registered
        _any_registered = True
        return super().__new__(cls, *args)


#: Hooks of all modules, by their kind.
_of_all_modules: HookTable | None = None


class ModuleHookHandle:
    """Takes a module's hook away again, by :meth:`remove` or at the end of a ``with`` block.

    A copy that is made with the module takes the copy's hook away.
    """

    def __init__(self, module: Hooked | None, kind: str, key: int) -> None:
        self._module: Callable[[], Hooked | None] = (lambda: None) if module is None else weakref.ref(module)
        self._kind = kind
        self._key = key

    def __deepcopy__(self, memo: dict[int, Any]) -> ModuleHookHandle:
        module = self._module()
        return ModuleHookHandle(memo.get(id(module), module), self._kind, self._key)

    def __reduce__(self) -> tuple[Any, ...]:
        return ModuleHookHandle, (self._module(), self._kind, self._key)

    def remove(self) -> None:
        """Takes the hook away; doing so again changes nothing."""
        module = self._module()
        if module is not None:
            module._drop_hook(self._kind, self._key)

    def __enter__(self) -> ModuleHookHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class Hooked:
    """A callable with a ``forward``, around which hooks run."""

    #: None where there are no hooks: the table is made by the first one and goes with the last one.
    _hook_table: HookTable | None = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the module's result. A subclass defines it."""
        raise NotImplementedError(f"[{type(self).__name__}] the module defines no forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs :meth:`forward`, and the hooks around it: those of all modules before the module's own."""
        if _any_registered:
            table = _joined(_of_all_modules, self._hook_table)
            if table is not None:
                return self._call_with_hooks(table, args, kwargs)
        return self.forward(*args, **kwargs)

    # ---- registration

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> ModuleHookHandle:
        """Has ``hook(module, args)`` called before each :meth:`forward`.

        It may return other positional arguments: a tuple, or a single one; None leaves them as they are.

        Args:
            hook: the function.
            prepend: True for a hook before those that are there, rather than behind them.
            with_kwargs: True for ``hook(module, args, kwargs)``, which returns None or ``(args, kwargs)``.

        Returns:
            A handle, whose ``remove()`` takes the hook away.

        Raises:
            TypeError: ``hook`` cannot be called.
        """
        return self._add_hook("register_forward_pre_hook", "forward_pre", _Entry(hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> ModuleHookHandle:
        """Has ``hook(module, args, result)`` called after each :meth:`forward`.

        It may return another result; None leaves the result as it is.

        Args:
            hook: the function.
            prepend: True for a hook before those that are there, rather than behind them.
            with_kwargs: True for ``hook(module, args, kwargs, result)``.
            always_call: True to have it called also where the call raises, with the result so far, or None. The
                exception goes on afterwards.

        Returns:
            A handle, whose ``remove()`` takes the hook away.

        Raises:
            TypeError: ``hook`` cannot be called.
        """
        entry = _Entry(hook, with_kwargs, always_call)
        return self._add_hook("register_forward_hook", "forward", entry, prepend)

    def register_full_backward_pre_hook(self, hook: Hook, *, prepend: bool = False) -> ModuleHookHandle:
        """Has ``hook(module, grad_output)`` called when the gradients of the module's results are complete.

        ``grad_output`` is a tuple with an entry for each tensor of the result, None where there is no gradient. The
        hook may return gradients in their place: a tuple, or a single tensor.

        Returns:
            A handle, whose ``remove()`` takes the hook away.
        """
        return self._add_hook("register_full_backward_pre_hook", "backward_pre", _Entry(hook), prepend)

    def register_full_backward_hook(self, hook: Hook, *, prepend: bool = False) -> ModuleHookHandle:
        """Has ``hook(module, grad_input, grad_output)`` called when the gradients of the module's inputs are complete.

        ``grad_input`` is a tuple with an entry for each tensor among the positional arguments, ``grad_output`` one for
        each of the result; None where there is no gradient. The hook may return gradients in the place of
        ``grad_input``. Where no input wants a gradient it is called as soon as ``grad_output`` is known, and not at all
        in passes that reach the inputs without the results, as those of second derivatives do.

        The tensors that :meth:`forward` sees, and those that the call returns, are aliases of the originals with a
        place of their own on the tape, and cannot be written to in place while that is recorded.

        Returns:
            A handle, whose ``remove()`` takes the hook away.
        """
        return self._add_hook("register_full_backward_hook", "backward", _Entry(hook), prepend)

    def _add_hook(self, name: str, kind: str, entry: _Entry, prepend: bool) -> ModuleHookHandle:
        if not callable(entry.hook):
            raise TypeError(f"[{name}] a hook is a function, not {type(entry.hook).__name__}")
        key = next(_keys)
        with _changing:
            self.__dict__["_hook_table"] = _with_entry(self._hook_table, kind, key, entry, prepend)
        return ModuleHookHandle(self, kind, key)

    def _drop_hook(self, kind: str, key: int) -> None:
        with _changing:
            if table := _without_entry(self._hook_table, kind, key):
                self.__dict__["_hook_table"] = table
            else:
                self.__dict__.pop("_hook_table", None)

    def _hooks_of(self, kind: str) -> list[Hook]:
        return [] if self._hook_table is None else [entry.hook for entry in self._hook_table.get(kind, {}).values()]

    # ---- calls

    def _call_with_hooks(self, table: HookTable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result: Any = None
        waiting = dict(table.get("forward", {}))
        try:
            for entry in table.get("forward_pre", {}).values():
                args, kwargs = self._before_forward(entry, args, kwargs)
            watch = _BackwardHooks(self, table) if "backward" in table or "backward_pre" in table else None
            if watch is not None:
                args = watch.mark_inputs(args)
            result = self.forward(*args, **kwargs)
            while waiting:
                entry = waiting.pop(next(iter(waiting)))
                given = (args, kwargs, result) if entry.with_kwargs else (args, result)
                changed = entry.hook(self, *given)
                result = result if changed is None else changed
            return result if watch is None else watch.mark_results(result)
        except Exception as error:
            for entry in waiting.values():
                if entry.always_call:
                    self._after_failure(entry, args, kwargs, result, error)
            raise

    def _before_forward(
        self, entry: _Entry, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if not entry.with_kwargs:
            changed = entry.hook(self, args)
            return (args if changed is None else changed if isinstance(changed, tuple) else (changed,)), kwargs
        changed = entry.hook(self, args, kwargs)
        if changed is None:
            return args, kwargs
        if not (
            isinstance(changed, tuple)
            and len(changed) == 2
            and isinstance(changed[0], tuple)
            and isinstance(changed[1], dict)
        ):
            raise TypeError(
                f"[{type(self).__name__}] a forward pre-hook with with_kwargs returns None or (args, kwargs), "
                f"not {type(changed).__name__}"
            )
        return changed

    def _after_failure(
        self, entry: _Entry, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, error: Exception
    ) -> None:
        """Calls a hook that is called in any case; what it raises itself becomes a note of the first exception."""
        try:
            entry.hook(self, *((args, kwargs, result) if entry.with_kwargs else (args, result)))
        except Exception as second:
            error.add_note(f"[{type(self).__name__}] a forward hook with always_call also raised: {second!r}")


def _with_entry(table: HookTable | None, kind: str, key: int, entry: _Entry, prepend: bool = False) -> HookTable:
    made = HookTable(table or {})
    before = made.get(kind, {})
    made[kind] = {key: entry, **before} if prepend else {**before, key: entry}
    return made


def _without_entry(table: HookTable | None, kind: str, key: int) -> HookTable | None:
    made = HookTable(table or {})
    left = {k: entry for k, entry in made.pop(kind, {}).items() if k != key}
    if left:
        made[kind] = left
    return made or None


def _joined(first: HookTable | None, second: HookTable | None) -> HookTable | None:
    if first is None or second is None:
        return second if first is None else first
    return HookTable({kind: {**first.get(kind, {}), **second.get(kind, {})} for kind in {**first, **second}})


class HookOfAllHandle:
    """Takes a hook of all modules away again, by :meth:`remove` or at the end of a ``with`` block."""

    def __init__(self, kind: str, key: int) -> None:
        self._kind = kind
        self._key = key

    def remove(self) -> None:
        """Takes the hook away; doing so again changes nothing."""
        _replace_hooks_of_all(lambda table: _without_entry(table, self._kind, self._key))

    def __enter__(self) -> HookOfAllHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def _replace_hooks_of_all(change: Callable[[HookTable | None], HookTable | None]) -> None:
    global _of_all_modules
    with _changing:
        _of_all_modules = change(_of_all_modules)
        _C._hook_all_calls(_of_all_modules is not None)


def hook_all_modules(kind: str, hook: Hook, *, with_kwargs: bool = False, always_call: bool = False) -> HookOfAllHandle:
    """Has a hook called at each call of each module of the process, before the module's own hooks of the kind.

    Args:
        kind: "forward_pre", "forward", "backward_pre" or "backward": what :class:`Hooked` has a method
            ``register_..._hook`` for, whose function ``hook`` is.
        hook: the function.
        with_kwargs: as for :meth:`Hooked.register_forward_hook`.
        always_call: as for :meth:`Hooked.register_forward_hook`.

    Returns:
        A handle, whose ``remove()`` takes the hook away.

    Raises:
        TypeError: ``hook`` cannot be called.
        ValueError: there is no such kind.
    """
    if kind not in KINDS:
        raise ValueError(f"[hook_all_modules] kind is one of {', '.join(KINDS)}, not {kind!r}")
    if not callable(hook):
        raise TypeError(f"[hook_all_modules] a hook is a function, not {type(hook).__name__}")
    key = next(_keys)
    entry = _Entry(hook, with_kwargs, always_call)
    _replace_hooks_of_all(lambda table: _with_entry(table, kind, key, entry))
    return HookOfAllHandle(kind, key)


class _BackwardHooks:
    """Backward hooks of one call: places on the tape around it, and what has come through them."""

    def __init__(self, module: Hooked, table: HookTable) -> None:
        self._module = module
        self._pre = [entry.hook for entry in table.get("backward_pre", {}).values()]
        self._post = [entry.hook for entry in table.get("backward", {}).values()]
        #: For each tensor of the arguments, and of the result, if it wants a gradient.
        self._inputs: list[bool] = []
        self._results: list[bool] = []
        self._grad_output: tuple[lm.Tensor | None, ...] | None = None

    def mark_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns the arguments with a place on the tape behind which the gradients of all are complete."""
        if not self._post:
            return args
        marked: tuple[Any, ...]
        marked, self._inputs = _mark(self._at_inputs, args)
        return marked

    def mark_results(self, result: Any) -> Any:
        """Returns the results with a place on the tape before the module's own."""
        marked, self._results = _mark(self._at_results, result)
        return marked

    def _at_results(self, gradients: Sequence[lm.Tensor | None]) -> tuple[lm.Tensor | None, ...]:
        grad_output = _spread(gradients, self._results)
        for hook in self._pre:
            grad_output = self._replaced(hook(self._module, grad_output), grad_output, "grad_output")
        if any(self._inputs):
            self._grad_output = grad_output
        else:
            self._run((None,) * len(self._inputs), grad_output)
        return _picked(grad_output, self._results)

    def _at_inputs(self, gradients: Sequence[lm.Tensor | None]) -> tuple[lm.Tensor | None, ...]:
        grad_output, self._grad_output = self._grad_output, None
        if grad_output is None:
            # The pass came here from a tensor that is none of the results: from a first derivative, say.
            return tuple(gradients)
        return _picked(self._run(_spread(gradients, self._inputs), grad_output), self._inputs)

    def _run(
        self, grad_input: tuple[lm.Tensor | None, ...], grad_output: tuple[lm.Tensor | None, ...]
    ) -> tuple[lm.Tensor | None, ...]:
        for hook in self._post:
            grad_input = self._replaced(hook(self._module, grad_input, grad_output), grad_input, "grad_input")
        return grad_input

    def _replaced(self, changed: Any, gradients: tuple[lm.Tensor | None, ...], what: str) -> Any:
        if changed is None:
            return gradients
        changed = (changed,) if isinstance(changed, lm.Tensor) else tuple(changed)
        if len(changed) != len(gradients):
            raise ValueError(
                f"[{type(self._module).__name__}] a backward hook returned {len(changed)} gradients in the place of "
                f"{what}, which has {len(gradients)}"
            )
        return changed


class _Place(lm.PyLayer):
    """The identity of several tensors; the gradients of all of them go through a function together."""

    @staticmethod
    def forward(ctx: Any, through: Callable[..., Any], *tensors: lm.Tensor) -> tuple[lm.Tensor, ...]:
        """Returns the tensors."""
        ctx.through = through
        ctx.set_materialize_grads(False)
        ctx.mark_not_inplace(*tensors)
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: lm.Tensor | None) -> tuple[lm.Tensor | None, ...]:
        """Returns what the function makes of the gradients."""
        return (None, *ctx.through(gradients))

    @staticmethod
    def jvp(ctx: Any, _through: Any, *tangents: lm.Tensor | None) -> tuple[lm.Tensor | None, ...]:
        """Returns the tangents: forward mode passes no hook."""
        return tangents


def _mark(through: Callable[..., Any], value: Any) -> tuple[Any, list[bool]]:
    """Returns a tree whose tensors that want gradients went through a place, and which of them do."""
    tensors, spec = _tree.flatten(value)
    wanted = [lm.is_grad_enabled() and not tensor.stop_gradient for tensor in tensors]
    if not any(wanted):
        return value, wanted
    marked = iter(_Place.apply(through, *itertools.compress(tensors, wanted)))
    merged = [next(marked) if wants else tensor for tensor, wants in zip(tensors, wanted, strict=True)]
    return _tree.rebuild(spec, merged), wanted


def _spread(gradients: Sequence[lm.Tensor | None], wanted: Sequence[bool]) -> tuple[lm.Tensor | None, ...]:
    given = iter(gradients)
    return tuple(next(given) if wants else None for wants in wanted)


def _picked(gradients: Sequence[lm.Tensor | None], wanted: Sequence[bool]) -> tuple[lm.Tensor | None, ...]:
    return tuple(itertools.compress(gradients, wanted))
