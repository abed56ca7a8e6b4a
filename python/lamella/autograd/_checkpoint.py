"""Memory for time: backward computes again what forward did not keep."""

from __future__ import annotations

import contextlib
import enum
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from .. import _C
from .._C import PyLayer, Tensor
from .._tree import Spec, flatten, rebuild


class CheckpointPolicy(enum.Enum):
    """Answer of a policy of :func:`checkpoint` for one call.

    Nothing here overrules a policy, so ``PREFER_`` means the same as ``MUST_``.
    """

    MUST_SAVE = enum.auto()
    PREFER_SAVE = enum.auto()
    MUST_RECOMPUTE = enum.auto()
    PREFER_RECOMPUTE = enum.auto()


_SAVES = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
_Policy = Callable[..., CheckpointPolicy | bool]
_Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]


class _Around(threading.local):
    """Keeps what the functions of a thread run in, the outermost first."""

    def __init__(self) -> None:
        self.contexts: list[Callable[[], AbstractContextManager[Any]]] = []


_around = _Around()


@contextlib.contextmanager
def running_again_in(context: Callable[[], AbstractContextManager[Any]]) -> Iterator[None]:
    """Has checkpoints of what runs meanwhile enter a context, which the function makes, when they run again."""
    _around.contexts.append(context)
    try:
        yield
    finally:
        _around.contexts.pop()


@contextlib.contextmanager
def _entered(contexts: Sequence[Callable[[], AbstractContextManager[Any]]]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context())
        yield


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = False,
    preserve_rng_state: bool = True,
    determinism_check: str = "default",
    context_fn: _Contexts | None = None,
    early_stop: bool = True,
    policy: _Policy | Collection[str] | None = None,
    **kwargs: Any,
) -> Any:
    """Calls ``function(*args, **kwargs)`` without keeping what its operations save for backward.

    Backward runs the function again for that, when it first needs something of it. Gradients are those of a plain
    call: of any order, through arguments in nested lists, tuples, dicts and dataclasses, and through tensors that the
    function only refers to. Checkpoints nest, and hold built-in operators and layers alike. Without recording
    (``no_grad``) this is a plain call.

    The function must do the same on each call. It gets its tensor arguments as new leaves the second time, so it must
    not rely on what they were computed from; a tensor inside an object that is not one of the containers named above is
    passed as it is. An argument that is written to in place before backward is a ``RuntimeError`` there, and so is a
    tensor that the function only refers to, unless the function writes to it itself (running statistics).

    Args:
        function: What to call.
        *args: Its arguments.
        use_reentrant: Compute the gradients in a backward pass of their own, inside the one that runs, as PyTorch does
            in this mode: the function's first call is not recorded at all. The other options but ``preserve_rng_state``
            have no meaning then, a pass for named inputs (``grad``) is a ``RuntimeError``, a second derivative too, and
            at least one tensor argument must want a gradient. A function that only refers to such tensors has no
            gradient.
        preserve_rng_state: The second call draws the same random numbers from the default generators, whatever other
            threads draw meanwhile.
        determinism_check: "default" compares number, shapes, dtypes and devices of the tensors that both calls save,
            and (with a policy) the operators they call; "none" does not.
        context_fn: Returns two context managers, for the first and for the second call. The latter is entered again
            for each further pass.
        early_stop: Leave the second call once everything is there that backward still wants, by an exception that is
            not an ``Exception``.
        policy: Which results to keep all the same: a function ``policy(op, *tensors)`` of an operator's or a layer's
            name and the tensors it is called with, which returns a :class:`CheckpointPolicy` or a bool (keep?), or a
            set of such names. It is asked once for each call that the function makes; calls made by a layer's
            ``forward`` are the layer's own affair. A call whose results are kept is not made again: they, and what it
            saved beside its inputs, live as long as the graph. One that writes into an input in place, whose results
            somebody wrote to, or whose results have tangents of forward mode, is made again all the same.
        **kwargs: Keyword arguments of the function.

    Returns:
        What the function returns.

    Raises:
        TypeError, ValueError: For an option that cannot be.
        RuntimeError: Inside :class:`disable_saved_tensors_hooks`; and in backward, where the function did not do the
            same, or an argument or a tensor that the function refers to was overwritten.
    """
    if not callable(function):
        raise TypeError(f"[checkpoint] function: expected a function, got {type(function).__name__}")
    if determinism_check not in ("default", "none"):
        raise ValueError(f'[checkpoint] determinism_check: expected "default" or "none", got {determinism_check!r}')
    lower = getattr(_C._recorder(), "lower", None)
    if lower is not None:
        function, args, kwargs = lower(function, args, kwargs)
    if use_reentrant:
        if context_fn is not None or policy is not None or determinism_check != "default":
            raise ValueError("[checkpoint] context_fn, policy and determinism_check go with use_reentrant=False only")
        tensors, spec = flatten((args, kwargs))
        return _Reentrant.apply(function, spec, bool(preserve_rng_state), tensors)
    decide = None if policy is None else _decision(policy)
    first, second = (contextlib.nullcontext(), contextlib.nullcontext()) if context_fn is None else context_fn()
    if not _C.is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    tensors, spec = flatten((args, kwargs))
    again = _Again(function, spec, second)
    with first:
        return _C._checkpoint(
            function, args, kwargs, tensors, again, bool(preserve_rng_state), determinism_check == "default",
            bool(early_stop), decide,
        )  # fmt: skip


def checkpoint_sequential(functions: Sequence[Callable[[Any], Any]], segments: int, input: Any, **options: Any) -> Any:
    """Calls ``functions`` one after the other, in ``segments`` checkpoints of about equal length.

    The last segment runs without a checkpoint: its backward comes first anyway.

    Args:
        functions: Functions (or layers, or a :class:`lamella.nn.Sequential`) of what the one before returned.
        segments: How many segments to make.
        input: What the first function gets.
        **options: Options of :func:`checkpoint`.

    Raises:
        ValueError: ``segments`` is not between 1 and the number of functions.
    """
    functions = list(functions)
    if not 1 <= segments <= len(functions):
        raise ValueError(
            f"[checkpoint_sequential] segments must be between 1 and the number of functions, {len(functions)}, "
            f"got {segments}"
        )
    length = len(functions) // segments
    last = length * (segments - 1)
    for begin in range(0, last, length):
        input = checkpoint(_Chain(functions[begin : begin + length]), input, **options)
    return _Chain(functions[last:])(input)


class _Chain:
    """Functions one after the other, as one."""

    def __init__(self, functions: list[Callable[[Any], Any]]) -> None:
        self.functions = functions

    def __call__(self, value: Any) -> Any:
        for function in self.functions:
            value = function(value)
        return value


class _Again:
    """Second call of a checkpoint's function. It holds no tensor of the first call's arguments."""

    __slots__ = ("around", "context", "function", "spec")

    def __init__(self, function: Callable[..., Any], spec: Spec, context: AbstractContextManager[Any]) -> None:
        self.function = function
        self.spec = spec
        self.context = context
        self.around = tuple(_around.contexts)

    def __call__(self, *tensors: Tensor) -> None:
        args, kwargs = rebuild(self.spec, tensors)
        with _entered(self.around), self.context:
            self.function(*args, **kwargs)


def _decision(policy: _Policy | Collection[str]) -> Callable[..., bool]:
    if callable(policy):
        function = policy

        def decide(op: str, *tensors: Tensor) -> bool:
            answer = function(op, *tensors)
            if isinstance(answer, CheckpointPolicy):
                return answer in _SAVES
            if isinstance(answer, bool):
                return answer
            raise TypeError(
                f"[checkpoint] policy: expected it to return a CheckpointPolicy or a bool, got {type(answer).__name__}"
            )

        return decide
    if isinstance(policy, str) or not isinstance(policy, Collection):
        raise TypeError(
            f"[checkpoint] policy: expected a function or a set of operators' names, got {type(policy).__name__}"
        )
    names = frozenset(policy)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"[checkpoint] policy: expected operators' names, got {type(name).__name__}")

    def is_named(op: str, *tensors: Tensor) -> bool:
        return op in names

    return is_named


class _Reentrant(PyLayer):
    """The checkpoint's function as one layer, whose backward runs it again and a backward pass through that."""

    @staticmethod
    def forward(
        ctx: Any, function: Callable[..., Any], spec: Spec, preserve_rng_state: bool, tensors: list[Tensor]
    ) -> Any:
        ctx.function = function
        ctx.spec = spec
        ctx.around = tuple(_around.contexts)
        ctx.random = None
        ctx.wants = [x.requires_grad for x in tensors]
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        args, kwargs = rebuild(spec, tensors)
        if preserve_rng_state:
            ctx.random, (ctx.reads, result) = _C._call_with_random_lease(
                _C._call_noting_reads, (_call, (function, args, kwargs))
            )
        else:
            ctx.reads, result = _C._call_noting_reads(_call, (function, args, kwargs))
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if not _C._pass_is_for_all_leaves():
            raise RuntimeError(
                "[checkpoint] with use_reentrant=True there are no gradients of named inputs (grad(), or inputs= of "
                "backward()); use backward() for all leaves, or use_reentrant=False"
            )
        inputs = [_C._detach_like(x) for x in ctx.saved_tensors]
        for x, wants in zip(inputs, ctx.wants, strict=True):
            x.requires_grad = wants
        args, kwargs = rebuild(ctx.spec, inputs)
        with _C.enable_grad(), _entered(ctx.around):
            again = (ctx.reads, _call, (ctx.function, args, kwargs))
            if ctx.random is None:
                result = _C._call_comparing_reads(*again)
            else:
                result = _C._call_with_random_state(ctx.random, _C._call_comparing_reads, again)
        outputs, _ = flatten(result)
        if len(outputs) != len(grads):
            raise RuntimeError(
                f"[checkpoint] the function does not do the same when it runs again for backward: it returned "
                f"{len(outputs)} tensors, and {len(grads)} in forward"
            )
        pairs = [(y, dy) for y, dy in zip(outputs, grads, strict=True) if dy is not None and y.requires_grad]
        if not pairs:
            raise RuntimeError("[checkpoint] no result of the function wants a gradient: it needs no checkpoint")
        _C.backward([y for y, _ in pairs], [dy for _, dy in pairs])
        return None, None, None, [x.grad for x in inputs]


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return function(*args, **kwargs)


# backward has no derivative of its own, as the pass inside is not recorded.
_Reentrant.backward._once_differentiable = True  # type: ignore[attr-defined]
