"""A check of a registered operator against its own registrations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .. import _C
from .._C import Tensor
from .._tree import TensorTree
from ._fake import made_up_sizes

_TESTS = ("test_schema", "test_autograd_registration", "test_fake", "test_gradients")


class OpCheckError(RuntimeError):
    """An operator does not keep what its registrations promise; the message lists what."""


class _FailedError(Exception):
    """Fault that a test found."""


def opcheck(
    op: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    test_utils: str | Iterable[str] = _TESTS,
    raise_exception: bool = True,
) -> dict[str, str]:
    """Checks a registered operator at one example of its arguments.

    - ``test_schema``: it writes into those arguments only that the schema marks, its results share memory with none
      that the schema does not name, and it returns the arguments that the schema says it returns;
    - ``test_autograd_registration``: where a tensor among the arguments wants a gradient, one is registered;
    - ``test_fake``: on "meta" tensors it gives results of the same dtypes and shapes, but for sizes that are
      ``get_ctx().new_dynamic_size()``;
    - ``test_gradients``: where a tensor wants a gradient, it passes :func:`lamella.autograd.check_layer`; such
      tensors should be float64.

    Args:
        op: A :class:`lamella.library.CustomOp` or an operator of ``lm.ops``.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        test_utils: The names of the tests to run.
        raise_exception: False returns the outcomes where some fail.

    Returns:
        For each test "SUCCESS", "SKIPPED: ..." with the reason, or what is wrong.

    Raises:
        OpCheckError: It names every test that failed.
        ValueError: There is no test of such a name.
        TypeError: ``op`` is no registered operator.
    """
    operator = getattr(op, "op", op)
    if not isinstance(operator, _C._Operator):
        raise TypeError(f"[opcheck] expected a registered operator, got {type(op).__name__}")
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    if strangers := set(names) - set(_TESTS):
        raise ValueError(f"[opcheck] there are no tests {sorted(strangers)}; they are {', '.join(_TESTS)}")
    outcomes = {name: _outcome(_RUN[name], operator, tuple(args), dict(kwargs or {})) for name in names}
    failed = {name: text for name, text in outcomes.items() if text != "SUCCESS" and not text.startswith("SKIPPED")}
    if failed and raise_exception:
        listed = "\n".join(f"- {name}: {text}" for name, text in failed.items())
        raise OpCheckError(f"[opcheck] {operator.name} fails {len(failed)} of {len(outcomes)} tests:\n{listed}")
    return outcomes


def _outcome(run: Callable[..., str | None], *arguments: Any) -> str:
    try:
        return run(*arguments) or "SUCCESS"
    except _FailedError as failure:
        return str(failure)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _mapped(value: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """Returns `value` with `function` of each tensor in it."""
    tree = TensorTree(value)
    return tree.build(map(function, tree.tensors))


def _tensors(value: Any) -> list[Tensor]:
    return TensorTree(value).tensors


def _fresh(x: Tensor) -> Tensor:
    """Returns a copy of a tensor, off the tape."""
    return x.detach().clone()


def _same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def _named_arguments(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, tuple[Any, bool]]:
    """Returns, for each given argument, its value, and True if the schema says that it is written to."""
    infos = operator.arguments
    given = dict(zip((info[0] for info in infos), args, strict=False)) | kwargs
    return {info[0]: (given[info[0]], bool(info[5]) and info[5].endswith("!")) for info in infos if info[0] in given}


def _check_schema(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    import numpy as np  # imported late: slow to import, and the package is also loaded for signatures of operators

    args, kwargs = _mapped(args, _fresh), _mapped(kwargs, _fresh)
    named = _named_arguments(operator, args, kwargs)
    before = {name: [np.array(x.numpy()) for x in _tensors(value)] for name, (value, _) in named.items()}
    enabled = _C._set_alias_checks(True)
    try:
        operator(*args, **kwargs)
    finally:
        _C._set_alias_checks(enabled)
    for name, (value, written) in named.items():
        for x, old in zip(_tensors(value), before[name], strict=True):
            if not written and not _same(np.asarray(x.numpy()), old):
                raise _FailedError(
                    f"it wrote into the argument '{name}', which the schema does not say: mark it there, as in "
                    f"Tensor(a!) {name}, or name it in mutates_args, or work on a copy"
                )


def _returns_nothing(operator: Any) -> bool:
    return bool(operator.schema.endswith("-> ()"))


def _wants_gradient(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return any(x.requires_grad for x in _tensors([args, kwargs]))


def _check_registration(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    if not _wants_gradient(args, kwargs):
        return "SKIPPED: no tensor among the arguments wants a gradient"
    if _returns_nothing(operator):
        return "SKIPPED: it returns nothing that could have a gradient"
    if not any(key.startswith("Autograd") or key == "CompositeImplicitAutograd" for key in operator.kernels):
        raise _FailedError(
            "no gradient is registered; register one with register_autograd(...), or for Autograd in C++"
        )
    return None


def _check_fake(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    if "Meta" not in operator.kernels and _returns_nothing(operator):
        return "SKIPPED: it returns nothing, and has no kernel for Meta"
    if not {"Meta", "CompositeImplicitAutograd", "CompositeExplicitAutograd"} & set(operator.kernels):
        raise _FailedError("there is no kernel for Meta; register one with register_fake(...), or for Meta in C++")
    real = _tensors([operator(*_mapped(args, _fresh), **_mapped(kwargs, _fresh))])

    def to_meta(x: Tensor) -> Tensor:
        return _C.empty(x.shape, dtype=x.dtype, device="meta")

    with made_up_sizes() as sizes:
        fake = _tensors([operator(*_mapped(args, to_meta), **_mapped(kwargs, to_meta))])
    if len(real) != len(fake):
        raise _FailedError(f"on meta it gives {len(fake)} tensors, on the arguments' device {len(real)}")
    for k, (x, y) in enumerate(zip(real, fake, strict=True)):
        if x.dtype != y.dtype or not _can_be(x.shape, y.shape, sizes):
            raise _FailedError(
                f"result {k} is {y.dtype.name}{list(y.shape)} on meta, {x.dtype.name}{list(x.shape)} on {x.device}"
            )
        if y.device != "meta":
            raise _FailedError(f"for tensors on meta, result {k} is on {y.device}")
    return None


def _can_be(real: Sequence[int], fake: Sequence[int], sizes: Mapping[int, tuple[int, int | None]]) -> bool:
    """True if a shape is another one in which some sizes were made up; what was computed from these may be any."""
    if len(real) != len(fake):
        return False
    for n, made in zip(real, fake, strict=True):
        if made in sizes:
            least, most = sizes[made]
            if n < least or (most is not None and n > most):
                return False
        elif n != made and not (sizes and made >= min(sizes)):
            return False
    return True


def _check_gradients(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    if not _wants_gradient(args, kwargs):
        return "SKIPPED: no tensor among the arguments wants a gradient"
    from ..autograd import check_layer

    report = check_layer(operator, *args, raise_exception=False, **kwargs)
    if not report.ok:
        raise _FailedError("; ".join(f"{name}: {text}" for name, text in report.failures.items()))
    return None


_RUN: dict[str, Callable[[Any, tuple[Any, ...], dict[str, Any]], str | None]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_registration,
    "test_fake": _check_fake,
    "test_gradients": _check_gradients,
}
