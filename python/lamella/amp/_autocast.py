"""Mixed precision: autocast, and what makes custom layers honor it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from .. import _C
from .._C import DType, Tensor
from .._tree import flatten, rebuild

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_enabled"]

_F = TypeVar("_F", bound=Callable[..., Any])
_State = tuple[DType | None, DType | None, bool]
_PLACES = {"cpu": 0, "cuda": 1}


def _places(op: str, device_type: str | None) -> list[int]:
    if device_type is None:
        return [0, 1]
    if not isinstance(device_type, str):
        raise TypeError(f"[{op}] device_type: expected 'cpu', 'cuda' or None, got {type(device_type).__name__}")
    if device_type not in _PLACES:
        raise ValueError(f"[{op}] device_type: expected 'cpu' or 'cuda', got {device_type!r}")
    return [_PLACES[device_type]]


class autocast:  # noqa: N801
    """Lets operators choose the precision they compute in, in a ``with`` block or in a decorated function.

    Products of matrices, also those added to something, linear layers and convolutions cast what they get to ``dtype``;
    exponentials, logarithms, powers, sums, softmax, normalization and losses cast float16 and bfloat16 to float32; all
    else promotes as ever. float64 stays what it is. The casts are recorded, so gradients have the dtypes of the tensors
    they belong to. A parameter is cast once in the outermost block and the copy used again, until the parameter changes
    or the block ends. Backward passes run without autocast, in the dtypes that forward chose, wherever they are
    started.

    Args:
        device_type: ``"cpu"`` or ``"cuda"``: whose tensors; ``None`` for both.
        dtype: bfloat16 or float16; by default what :func:`get_autocast_dtype` says: bfloat16 on the CPU, float16 on
            CUDA.
        enabled: False ends autocast for an inner block.
        cache_enabled: False casts parameters anew in each call; ``None`` leaves it as it is.

    Raises:
        TypeError: for a dtype that is neither, and for arguments of other types.
        ValueError: for another kind of device.
    """

    def __init__(
        self,
        device_type: str | None = None,
        dtype: DType | str | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        self._where = _places("autocast", device_type)
        if not isinstance(enabled, bool) or not (cache_enabled is None or isinstance(cache_enabled, bool)):
            raise TypeError("[autocast] enabled and cache_enabled are bools")
        self._dtype = DType(dtype) if isinstance(dtype, str) else dtype
        if self._dtype is not None and self._dtype not in (_C.bfloat16, _C.float16):
            raise TypeError(f"[autocast] dtype: expected bfloat16 or float16, got {dtype!r}")
        self._enabled = enabled
        self._cache = cache_enabled
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        *dtypes, cache = _C._autocast_state()
        for place, kind in enumerate(_PLACES):
            if place in self._where:
                dtypes[place] = (self._dtype or _C.get_autocast_dtype(kind)) if self._enabled else None
        cache = cache if self._cache is None else self._cache
        self._before.append(_C._enter_autocast((dtypes[0], dtypes[1], cache)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        _C._leave_autocast(self._before.pop())

    def _again(self) -> autocast:
        """Returns a new scope for each call, as the function may run on several threads."""
        copy = autocast(None, self._dtype, self._enabled, self._cache)
        copy._where = self._where
        return copy

    def __call__(self, function: _F, /) -> _F:
        from .._decorate import decorate  # it imports inspect, which is slow

        return decorate(function, self._again, name="autocast")  # type: ignore[return-value]


class _InState:
    """``with`` block that restores a state of :func:`_C._autocast_state`."""

    def __init__(self, state: _State) -> None:
        self._state = state

    def __enter__(self) -> None:
        self._before = _C._enter_autocast(self._state)

    def __exit__(self, *error: object) -> None:
        _C._leave_autocast(self._before)


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """True if autocast is on for a device type, ``"cpu"`` or ``"cuda"``; for ``None``, for any."""
    state = _C._autocast_state()
    return any(state[place] is not None for place in _places("is_autocast_enabled", device_type))


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str | None = None, cast_inputs: DType | str | None = None
) -> Any:
    """Decorates ``forward`` of a :class:`PyLayer`, for :func:`custom_bwd`.

    Without ``cast_inputs`` operators in forward are cast as anywhere, and backward runs in the same state. With it,
    where autocast is on for them, floating tensors among the arguments (but float64) arrive in that dtype, and autocast
    is off in forward and in backward; elsewhere it changes nothing.

    ::

        class Dense(lm.PyLayer):
            @staticmethod
            @lm.amp.custom_fwd(cast_inputs=lm.float32)
            def forward(ctx, x, w): ...

            @staticmethod
            @lm.amp.custom_bwd
            def backward(ctx, dy): ...
    """
    where = _places("custom_fwd", device_type)
    wanted = DType(cast_inputs) if isinstance(cast_inputs, str) else cast_inputs
    if wanted is not None and wanted not in (_C.float16, _C.bfloat16, _C.float32, _C.float64):
        raise TypeError(f"[custom_fwd] cast_inputs: expected a floating dtype, got {cast_inputs!r}")

    def wrap(forward: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(forward):
            raise TypeError(
                f"[custom_fwd] decorates functions, got {type(forward).__name__}; put it below staticmethod"
            )

        @functools.wraps(forward)
        def call(ctx: Any, *args: Any, **kwargs: Any) -> Any:
            state = _C._autocast_state()
            if wanted is None or all(state[place] is None for place in where):
                ctx._autocast_state = state
                return forward(ctx, *args, **kwargs)
            ctx._autocast_state = (None, None, state[2])
            tensors, spec = flatten((args, kwargs))
            args, kwargs = rebuild(spec, [_cast(x, wanted, state) for x in tensors])
            with _InState(ctx._autocast_state):
                return forward(ctx, *args, **kwargs)

        return call

    return wrap if fwd is None else wrap(fwd)


def _cast(x: Tensor, dtype: DType, state: _State) -> Tensor:
    on = state[_PLACES["cuda" if x.device.startswith("cuda") else "cpu"]] is not None
    return x.to(dtype) if on and x.dtype in (_C.float16, _C.bfloat16, _C.float32) else x


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str | None = None) -> Any:
    """Decorates ``backward`` of a :class:`PyLayer` whose ``forward`` has :func:`custom_fwd`: it runs in its state."""
    _places("custom_bwd", device_type)

    def wrap(backward: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(backward):
            raise TypeError(
                f"[custom_bwd] decorates functions, got {type(backward).__name__}; put it below staticmethod"
            )

        @functools.wraps(backward)
        def call(ctx: Any, *grads: Any) -> Any:
            state = getattr(ctx, "_autocast_state", None)
            if state is None:
                raise RuntimeError("[custom_bwd] the layer's forward is not decorated with custom_fwd")
            with _InState(state):
                return backward(ctx, *grads)

        return call

    return wrap if bwd is None else wrap(bwd)
