"""Variables of jobs, and functions that look at values while a job runs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella import static
from lamella.graph import Symbol, UnknownValueError
from lamella.static.spec import checked_dtype

from . import _record, distribute, scope
from ._session import Blob
from .regularizers import Regularizer
from .typing import ListNumpy, Numpy


def get_variable(
    name: str,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    initializer: Callable[..., Any] | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool | None = None,
    model_name: str | None = None,
    random_seed: int | None = None,
    distribute: Any = distribute.broadcast(),  # noqa: B008 (a constant)
    reuse: bool = True,
) -> Symbol:
    """Returns a variable of the job that is recorded: all jobs of a session share those of one name.

    Args:
        name: the variable's name, before which namespaces put theirs.
        shape: its sizes.
        dtype: its dtype; that of the job's ``default_data_type`` by default, or float32.
        initializer: one of ``flow.*_initializer``; Xavier-uniform by default.
        regularizer: one of ``flow.regularizers``, added to the gradient.
        trainable: False for a variable that optimizers leave alone.
        model_name: not used.
        random_seed: seed of the initializer's numbers; those of the process by default.
        distribute: ``flow.distribute.broadcast()`` or ``split``; there is one device.
        reuse: False makes a second use of the name in one job an error.

    Raises:
        RuntimeError: no job is recorded.
        TypeError: the name is not text, or the initializer no function.
        ValueError: there is no shape, or the name is that of a variable that looks different.
    """
    record = _record.needed("get_variable")
    if not isinstance(name, str):
        raise TypeError(f"[get_variable] name is a str, not {type(name).__name__}")
    full = scope.full_name(name)
    where = f"[get_variable] job '{record.job}', variable '{full}'"
    if shape is None:
        raise ValueError(f"{where}: expected a shape, got None")
    if initializer is not None and not callable(initializer):
        raise TypeError(f"{where}: expected an initializer such as flow.zeros_initializer(), got {initializer!r}")
    if regularizer is not None and not isinstance(regularizer, Regularizer):
        raise TypeError(f"{where}: expected a regularizer such as flow.regularizers.l2(1e-4), got {regularizer!r}")
    kind = checked_dtype("get_variable", record.default_dtype if dtype is None else dtype, full)
    sizes = tuple(int(size) for size in shape)
    if -1 in sizes:
        raise UnknownValueError("shape", f"{where}: the shape {sizes} has a size that each call decides on")
    if full in record.main.held and not reuse:
        raise ValueError(f"{where}: the job has it already, and reuse is False")
    learns = trainable is not False and lm.isdtype(kind, ("real floating", "complex floating"))
    known = record.scope.find_var(full)
    if known is not None and known.value is not None:
        value = known.value
        if value.dtype != kind or tuple(value.shape) != sizes:
            raise ValueError(
                f"{where}: expected {value.dtype} of shape {tuple(value.shape)}, as other jobs have it, got {kind} of "
                f"shape {sizes}"
            )
        if learns:
            # Another job may have it as one that is not trained.
            value.stop_gradient = False
    if initializer is not None and random_seed is not None:
        initializer = functools.partial(initializer, seed=random_seed)
    record.free(full)
    symbol = static.create_parameter(list(sizes), kind, full, static.ParamAttr(full, initializer, trainable=learns))
    if regularizer is not None:
        record.regularizers[full] = regularizer
    return symbol


def watch(blob_watched: lm.Tensor, handler_or_prompt: Callable[[Any], Any] | str | None = None) -> None:
    """Calls a function with a value whenever the job runs, or prints the value behind a text.

    Args:
        blob_watched: a value of the job.
        handler_or_prompt: a function, whose argument is annotated with ``typing.Numpy`` for an array, or with
            ``typing.ListNumpy``; or the text.

    Raises:
        RuntimeError: no job is recorded.
        TypeError: an argument is no such.
    """
    record = _record.needed("watch")
    handler = _handler("watch", blob_watched, handler_or_prompt)
    record.main.graph.function("watch", handler, [blob_watched], [])


def watch_diff(blob_watched: lm.Tensor, handler_or_prompt: Callable[[Any], Any] | str | None = None) -> None:
    """Calls a function with the gradient of a value whenever the job runs, as :func:`watch` does with the value.

    The gradient is that of the sum of the losses that the job minimizes.
    """
    record = _record.needed("watch_diff")
    handler = _handler("watch_diff", blob_watched, handler_or_prompt)
    record.watch_diff(blob_watched, handler)  # type: ignore[arg-type]  # _handler checks it


def _handler(op: str, blob: Any, given: Any) -> Callable[[lm.Tensor], None]:
    """Returns a function that hands a tensor on as ``given`` wants it."""
    if not isinstance(blob, Symbol):
        raise TypeError(f"[{op}] expected a value of the job, got {type(blob).__name__}")
    if given is None or isinstance(given, str):
        name = given or blob.name
        return lambda x: print(name, x.detach().cpu().numpy(), flush=True)
    if not callable(given):
        raise TypeError(f"[{op}] expected a function or a text, got {type(given).__name__}")
    parameters = list(inspect.signature(given, eval_str=True).parameters.values())
    wanted = parameters[0].annotation if parameters else inspect.Parameter.empty

    def handle(x: lm.Tensor) -> None:
        copy = x.detach().clone()
        if wanted is Numpy:
            given(copy.cpu().numpy())
        elif wanted is ListNumpy:
            given([copy.cpu().numpy()])
        else:
            given(Blob.of(copy))

    return handle
