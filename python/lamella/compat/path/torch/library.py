"""Registering operators from Python, under PyTorch's names; see :mod:`lamella.library`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.library import CustomOp, custom_op, infer_schema, opcheck  # noqa: F401
from lamella.library import Library as _Library


class Library(_Library):
    """Definitions and kernels of one namespace; ``impl`` takes the operator itself for its name as well."""

    def __init__(self, ns: str, kind: Any = "FRAGMENT", dispatch_key: str = "") -> None:
        super().__init__(ns, kind, dispatch_key or None)

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = (), **kwargs: Any) -> str:
        """Defines an operator; tags are accepted, and nothing here reads them."""
        return super().define(schema)


class _Defined(CustomOp):
    """An operator that was defined elsewhere, in C++ perhaps, and gets more kernels."""

    def __init__(self, name: str) -> None:
        namespace, _, short = name.partition("::")
        self._name = name
        self._short = short
        self._library = lm.library.Library(namespace)
        self._kernels = {}
        self._backward = self._setup_context = self._vmap = None
        self._op = getattr(getattr(lm.ops, namespace), short.removesuffix(".default"))


_defined: dict[str, _Defined] = {}


def _operator(op: Any) -> CustomOp:
    if isinstance(op, CustomOp):
        return op
    name = op if isinstance(op, str) else op.name
    if name not in _defined:
        _defined[name] = _Defined(name)
    return _defined[name]


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, **kwargs: Any) -> Any:
    """Registers what an operator does for meta tensors: ``@register_fake("ns::name")``."""
    if func is None:
        return functools.partial(register_fake, op)
    return _operator(op).register_fake(func)


impl_abstract = register_fake


def register_kernel(
    op: Any, device_types: str | Iterable[str] | None, func: Callable[..., Any] | None = None, /, **kwargs: Any
) -> Any:
    """Registers an operator's kernel for devices: ``@register_kernel("ns::name", "cpu")``."""
    return _operator(op).register_kernel(device_types, func)


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, **kwargs: Any
) -> None:
    """Registers an operator's gradient."""
    _operator(op).register_autograd(backward, setup_context=setup_context)


_fragments: list[_Library] = []


def define(name: str, schema: str, **kwargs: Any) -> None:
    """Defines an operator: ``define("ns::name", "(Tensor x) -> Tensor")``."""
    namespace, _, short = name.partition("::")
    library = _Library(namespace)
    library.define(short + schema)
    _fragments.append(library)


def impl(name: str, types: str | Iterable[str], func: Callable[..., Any] | None = None, **kwargs: Any) -> Any:
    """Gives an operator a kernel for device types, or for the key "default", which is all of them."""
    if func is None:
        return functools.partial(impl, name, types)
    keys = [types] if isinstance(types, str) else list(types)
    for key in keys:
        _operator(name).register_kernel(None if key == "default" else key.lower(), func)
    return func


__getattr__ = close_module(__name__)
