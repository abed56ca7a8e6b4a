"""Custom functions of gradients as PyTorch's programs write them."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.autograd import PyLayerContext

from ._plain import IN_FORWARD

#: Names of what a call leaves on its context: which outputs are tensors, what was saved for ``jvp``, and how sparse
#: tensors are made of what was saved for backward.
_PLACES, _FOR_JVP, _SPARSE = "_places_of_tensors", "_saved_for_forward", "_sparse_of_saved"


def _note_places(ctx: Any, result: Any) -> None:
    """Notes which of forward's results are tensors: natively, backward gets gradients of these alone."""
    if type(result) is not tuple or all(isinstance(each, Tensor) for each in result):
        return
    if not any(isinstance(each, (list, tuple, dict)) for each in result):
        setattr(ctx, _PLACES, tuple(isinstance(each, Tensor) for each in result))


def _forward(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a forward during which ``x.data`` gives memory whose writes are not noticed, as in PyTorch."""

    @functools.wraps(forward)
    def call(*args: Any, **kwargs: Any) -> Any:
        IN_FORWARD.depth = getattr(IN_FORWARD, "depth", 0) + 1
        try:
            result = forward(*args, **kwargs)
        finally:
            IN_FORWARD.depth -= 1
        if args and isinstance(args[0], PyLayerContext):
            _note_places(args[0], result)
        return result

    return call


def _setup_context(setup: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a ``setup_context`` that also notes which outputs are tensors."""

    @functools.wraps(setup)
    def call(ctx: Any, inputs: Any, output: Any) -> None:
        _note_places(ctx, output)
        setup(ctx, inputs, output)

    return call


def _backward(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a backward that gets one gradient for each of forward's results: None for what is no tensor."""

    @functools.wraps(backward)
    def call(ctx: Any, *grads: Any) -> Any:
        own = getattr(ctx, "__dict__", None)
        if not own:
            return backward(ctx, *grads)
        own.pop(_FOR_JVP, None)  # kept for as long as other saved tensors are
        places = own.get(_PLACES)
        if places is not None:
            rest = iter(grads)
            grads = tuple(next(rest, None) if place else None for place in places)
        return backward(ctx, *grads)

    return call


class _JvpContext:
    """The context of a layer as its ``jvp`` sees it: the saved tensors are those saved for forward mode."""

    __slots__ = ("_ctx",)

    def __init__(self, ctx: Any) -> None:
        object.__setattr__(self, "_ctx", ctx)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, _FOR_JVP if name == "saved_tensors" else name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._ctx, name, value)


def _jvp(jvp: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a jvp that returns one tangent for each of forward's results, whatever it is for what is no tensor."""
    code = getattr(jvp, "__code__", None)
    wanted = 0 if code is None else code.co_argcount - len(jvp.__defaults__ or ()) - 1  # type: ignore[attr-defined]

    @functools.wraps(jvp)
    def call(ctx: Any, *tangents: Any) -> Any:
        places = getattr(ctx, _PLACES, None)
        if hasattr(ctx, _FOR_JVP):
            ctx = _JvpContext(ctx)
        # None for the arguments of forward that the call left at their defaults.
        result = jvp(ctx, *tangents, *[None] * (wanted - len(tangents)))
        if places is not None and isinstance(result, tuple) and len(result) == len(places):
            return tuple(each for each, place in zip(result, places, strict=True) if place)
        return result

    return call


_WRAPPERS = {"forward": _forward, "setup_context": _setup_context, "backward": _backward, "jvp": _jvp}


class Function(lm.PyLayer):
    """A layer whose forward and backward are static methods: ``forward(ctx, ...)``, ``backward(ctx, *grads)``.

    ``backward`` gets a gradient for each of forward's results, and ``jvp`` returns a tangent for each: None where a
    result is no tensor.
    """

    #: True: ``torch.vmap`` maps over the layer by its forward and backward, which consist of operators.
    generate_vmap_rule = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        for name, wrapper in _WRAPPERS.items():
            method = vars(cls).get(name)
            if isinstance(method, staticmethod):
                setattr(cls, name, staticmethod(wrapper(method.__func__)))
        super().__init_subclass__(**kwargs)


class InplaceFunction(Function):
    """A layer that may write into its inputs: its forward says so by ``ctx.mark_dirty``."""


def _save_for_forward(self: Any, *tensors: Tensor | None) -> None:
    """Keeps tensors, or None, for the layer's ``jvp``, which finds them as ``ctx.saved_tensors``."""
    for each in tensors:
        if each is not None and not isinstance(each, Tensor):
            raise TypeError(f"[save_for_forward] expected tensors or None, got {type(each).__name__}")
    setattr(self, _FOR_JVP, tensors)


_native_save: Any = PyLayerContext.save_for_backward
_native_saved: Any = PyLayerContext.__dict__["saved_tensors"]


def _save_for_backward(self: Any, *tensors: Any) -> None:
    """Keeps tensors, or None, for backward; of a sparse tensor its places and values."""
    try:
        _native_save(self, *tensors)
    except TypeError:
        from .sparse import SparseTensor  # imported late: few programs have sparse tensors

        if not any(isinstance(each, SparseTensor) for each in tensors):
            raise
        makers = [each._from_parts if isinstance(each, SparseTensor) else None for each in tensors]
        parts = [each._to_save() if isinstance(each, SparseTensor) else (each,) for each in tensors]
        _native_save(self, *(one for each in parts for one in each))
        setattr(self, _SPARSE, [(make, len(each)) for make, each in zip(makers, parts, strict=True)])


def _saved_tensors(self: Any) -> tuple[Any, ...]:
    """The saved tensors; the layer's outputs among them want a gradient, also in a pass that is not recorded."""
    kept = _dense_saved(self)
    sparse = (getattr(self, "__dict__", None) or {}).get(_SPARSE)
    if sparse is None:
        return kept
    rest = iter(kept)
    return tuple(next(rest) if make is None else make(*(next(rest) for _ in range(count))) for make, count in sparse)


def _dense_saved(self: Any) -> tuple[Tensor | None, ...]:
    kept: tuple[Tensor | None, ...] = _native_saved.__get__(self)
    if lm.is_grad_enabled() or all(x is None or x.requires_grad for x in kept):
        return kept
    with lm.enable_grad():
        recorded: tuple[Tensor | None, ...] = _native_saved.__get__(self)
    return tuple(on if _is_output(on) else x for x, on in zip(kept, recorded, strict=True))


def _is_output(x: Tensor | None) -> bool:
    """True for a tensor of the layer that reads it; what its forward made on the way has a node of its own."""
    return x is not None and x.grad_fn is not None and x.grad_fn.name != "DetachedIntermediate"


def _saved_variables(self: Any) -> tuple[Tensor, ...]:
    """The saved tensors, by their oldest name."""
    warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
    return self.saved_tensors  # type: ignore[no-any-return]


_contexts: Any = PyLayerContext
_contexts.save_for_backward = _save_for_backward
_contexts.save_for_forward = _save_for_forward
_contexts.saved_tensors = property(_saved_tensors, doc=_native_saved.__doc__)
_contexts.saved_variables = property(_saved_variables)
