"""Registering operators from Python, under PyTorch's names; see :mod:`lamella.library`."""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import lamella as lm
from lamella._tree import TensorTree
from lamella.compat.front import close_module
from lamella.library import CustomOp, OpCheckError, custom_op, get_ctx  # noqa: F401
from lamella.library import Library as _Library
from lamella.library import infer_schema as _infer_schema
from lamella.library import opcheck as _opcheck

from ._ops import OpOverload, OpOverloadPacket


class Tag(enum.Enum):
    """Marks of operators for compilers, which definitions may be given; nothing here reads them."""

    core = enum.auto()
    data_dependent_output = enum.auto()
    dynamic_output_shape = enum.auto()
    flexible_layout = enum.auto()
    generated = enum.auto()
    inplace_view = enum.auto()
    needs_fixed_stride_order = enum.auto()
    nondeterministic_bitwise = enum.auto()
    nondeterministic_seeded = enum.auto()
    pointwise = enum.auto()
    pt2_compliant_tag = enum.auto()
    view_copy = enum.auto()


def fallthrough_kernel() -> Any:
    """Stands for a key that is passed over, where a kernel for it is registered; it is not called.

    Raises:
        NotImplementedError: it was.
    """
    raise NotImplementedError("[fallthrough_kernel] it is registered with Library.impl(), and not called")


class Library(_Library):
    """Definitions and kernels of one namespace; ``impl`` takes the operator itself for its name as well."""

    _records = True

    def __init__(self, ns: str, kind: Any = "FRAGMENT", dispatch_key: str = "") -> None:
        super().__init__(ns, kind, dispatch_key or None)

    def impl(  # type: ignore[override]
        self, op_name: Any, fn: Callable[..., Any] | None = None, dispatch_key: str = "", **options: Any
    ) -> Any:
        """Registers a kernel, also as a decorator, but for operators that are made of others and need none."""
        if fn is None:
            return functools.partial(self.impl, op_name, dispatch_key=dispatch_key)
        if _needs_none(self.ns, op_name):
            return fn
        short = (op_name if isinstance(op_name, str) else op_name.name).rpartition("::")[2].removesuffix(".default")
        if fn is fallthrough_kernel:
            register = functools.partial(super().fallthrough, short, dispatch_key or None)
        else:
            register = functools.partial(super().impl, short, fn, dispatch_key or None)
        _once_defined(f"{self.ns}::{short}", lambda found: register())
        return fn

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = (), **kwargs: Any) -> str:
        """Defines an operator; tags are accepted, and nothing here reads them."""
        made: str = super().define(schema)
        _catch_up(f"{self.ns}::{schema.partition('(')[0].strip()}")
        return made

    def _destroy(self) -> None:
        """Takes the definitions and kernels back."""
        self.reset()


@contextlib.contextmanager
def _scoped_library(ns: str, kind: str = "FRAGMENT", dispatch_key: str = "") -> Iterator[Library]:
    """A library whose definitions and kernels last for a block."""
    library = Library(ns, kind, dispatch_key)
    try:
        yield library
    finally:
        library._destroy()


def _needs_none(namespace: str, op: Any) -> bool:
    """True of an operator that is made of others, which have kernels and gradients, and of one that is only a name."""
    if isinstance(op, str):
        found = getattr(getattr(lm.ops, namespace), op.rpartition("::")[2].removesuffix(".default"), None)
    else:
        found = op
    kernels = getattr(found, "kernels", None)
    return isinstance(found, OpOverload | OpOverloadPacket) or "CompositeImplicitAutograd" in (kernels or ())


class _Defined(CustomOp):
    """An operator that was defined elsewhere, in C++ perhaps, and gets more kernels."""

    def __init__(self, name: str) -> None:
        namespace, _, short = name.partition("::")
        self._name = name
        self._short = short
        self._library = lm.library.Library(namespace)
        self._kernels = {}
        self._backward = self._setup_context = self._vmap = None
        self._op = getattr(getattr(lm.ops, namespace), short)


_defined: dict[str, _Defined] = {}
#: Registrations for operators that are not there yet, of a library that could not be loaded perhaps, by their names.
_early: dict[str, list[Callable[[CustomOp], Any]]] = {}


def _catch_up(name: str) -> None:
    """Registers what was given for an operator before it was defined."""
    for register in _early.pop(name, []):
        register(_operator(name))


def _once_defined(op: Any, register: Callable[[CustomOp], Any]) -> None:
    """Registers something for an operator, now or when it is defined."""
    if isinstance(op, str) and _needs_none(op.partition("::")[0], op):
        return
    try:
        found = _operator(op)
    except AttributeError:
        if not isinstance(op, str):
            raise
        _early.setdefault(op.removesuffix(".default"), []).append(register)
    else:
        register(found)


def _operator(op: Any) -> CustomOp:
    if isinstance(op, CustomOp):
        return op
    name = (op if isinstance(op, str) else op.name).removesuffix(".default")
    if name in lm.library._custom_ops:
        return lm.library._custom_ops[name][1]
    if name not in _defined:
        _defined[name] = _Defined(name)
    return _defined[name]


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, **kwargs: Any) -> Any:
    """Registers what an operator does for meta tensors: ``@register_fake("ns::name")``."""
    if func is None:
        return functools.partial(register_fake, op)
    _once_defined(op, lambda found: found.register_fake(func))
    return func


impl_abstract = register_fake


def triton_op(name: str, fn: Any = None, /, *, mutates_args: Any = (), schema: str | None = None) -> Any:
    """Makes an operator whose function calls kernels of Triton, under its name: ``@triton_op("ns::name", ...)``."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """Returns a kernel of Triton as something to launch.

    Raises:
        NotImplementedError: tensors here are no memory that kernels of Triton can be given.
    """
    name = getattr(triton_kernel, "__name__", type(triton_kernel).__name__)
    raise NotImplementedError(
        f"[wrap_triton] kernels of Triton, such as {name}, do not run on Lamella's tensors: write it as an operator in "
        "C++ or CUDA, or take the package's form of it without Triton"
    )


def register_kernel(
    op: Any, device_types: str | Iterable[str] | None, func: Callable[..., Any] | None = None, /, **kwargs: Any
) -> Any:
    """Registers an operator's kernel for devices: ``@register_kernel("ns::name", "cpu")``."""
    return _operator(op).register_kernel(device_types, func)


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, **kwargs: Any
) -> None:
    """Registers an operator's gradient."""
    _once_defined(op, lambda found: found.register_autograd(backward, setup_context=setup_context))


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, **kwargs: Any) -> Any:
    """Registers what ``vmap`` calls in place of an operator: ``@register_vmap("ns::name")``."""
    if func is None:
        return functools.partial(register_vmap, op)
    return _operator(op).register_vmap(func)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """Has an operator's inputs cast in autocast.

    Raises:
        NotImplementedError: registered operators get their arguments as they are.
    """
    raise NotImplementedError(
        f"[register_autocast] in autocast, registered operators such as {_name_of(op)} get their arguments as they "
        "are: cast them in its kernel, or where it is called, by torch.get_autocast_dtype(device_type)"
    )


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """Registers what an operator does for a class of tensors or a mode.

    Raises:
        NotImplementedError: nothing here has ``__torch_dispatch__``.
    """
    kind = getattr(torch_dispatch_class, "__name__", torch_dispatch_class)
    raise NotImplementedError(
        f"[register_torch_dispatch] there is no __torch_dispatch__ that {_name_of(op)} could go to for {kind}: write "
        "the class's __torch_function__"
    )


def _name_of(op: Any) -> str:
    return op if isinstance(op, str) else str(getattr(op, "op", op).name)


# PyTorch's names of tests by Lamella's; the last one traces an operator, which runs here as it is.
_TESTS = {
    "test_schema": "test_schema",
    "test_autograd_registration": "test_autograd_registration",
    "test_faketensor": "test_fake",
    "test_aot_dispatch_dynamic": None,
    "test_aot_dispatch_static": None,
}


def opcheck(
    op: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    test_utils: str | Iterable[str] = tuple(_TESTS)[:4],
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, str]:
    """Checks an operator at one example of its arguments; see :func:`lamella.library.opcheck`.

    The tests have PyTorch's names or Lamella's. Those of traces run the operator, and its backward pass where an
    argument wants a gradient.
    """
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    outcomes = {}
    for name in names:
        known = _TESTS.get(name, name)
        if known is None:
            outcomes[name] = _run_backward(op, args, kwargs or {})
        else:
            outcomes[name] = _opcheck(op, args, kwargs, test_utils=known, raise_exception=False)[known]
    outcomes = {name: "SUCCESS" if text.startswith("SKIPPED") else text for name, text in outcomes.items()}
    failed = "".join(f"\n- {name}: {text}" for name, text in outcomes.items() if text != "SUCCESS")
    if failed and raise_exception:
        raise OpCheckError(f"[opcheck] {getattr(op, 'op', op).name} fails:{failed}")
    return outcomes


def _run_backward(op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    def copied(x: lm.Tensor) -> lm.Tensor:
        return x.detach().clone().requires_grad_(x.requires_grad) * 1

    given = TensorTree((args, kwargs))
    try:
        copied_args, copied_kwargs = given.build(map(copied, given.tensors))
        for y in TensorTree(op(*copied_args, **copied_kwargs)).tensors:
            if y.requires_grad:
                y.sum().backward(retain_graph=True)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "SUCCESS"


_fragments: list[_Library] = []


def define(name: Any, schema: str, alias_analysis: str = "", **kwargs: Any) -> Any:
    """Defines an operator: ``define("ns::name", "(Tensor x) -> Tensor")``.

    Args:
        name: the operator's name, or in an older form the library that defines it; that returns a decorator of the
            function which is its kernel.
        schema: the arguments and results; in the older form with the name in front.
        alias_analysis: accepted.
        **kwargs: ``lib``, ``tags``: accepted.
    """
    if isinstance(name, Library):
        name.define(schema, alias_analysis)
        return functools.partial(_implemented, name, schema.partition("(")[0].strip(), "")
    namespace, _, short = name.partition("::")
    library = _Library(namespace)
    library.define(short + schema)
    _fragments.append(library)
    _catch_up(name)
    return None


def impl(name: Any, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """Gives an operator a kernel: ``@impl("ns::name", "cpu")``.

    Args:
        name: the operator's name, or in an older form the library that has it: ``@impl(library, "name", "CPU")``.
        types: a type of devices, several, or "default", which is all of them; in the older form the operator's name.
        func: the kernel; left out where this is used as a decorator. In the older form the key of the dispatcher.
        lib: accepted.
    """
    if isinstance(name, Library):
        return functools.partial(_implemented, name, types, func or "")
    if func is None:
        return functools.partial(impl, name, types)
    keys = [types] if isinstance(types, str) else list(types)
    for key in keys:
        device = None if key == "default" else key.lower()
        _once_defined(name, functools.partial(_register, device, func))
    return func


def _register(device: str | None, kernel: Callable[..., Any], found: Any) -> None:
    found.register_kernel(device, kernel)


def _implemented(library: Library, name: Any, key: str, function: Callable[..., Any]) -> Callable[..., Any]:
    library.impl(name, function, key)
    return function


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: Any = (), op_name: str | None = None
) -> str:
    """Returns the schema of a function by its annotations, with a name in front where one is given.

    Args:
        prototype_function: with annotations for all parameters and the result.
        mutates_args: the names of the tensors that it writes into.
        op_name: the name.
    """
    return (op_name or "") + _infer_schema(prototype_function, mutates_args=mutates_args)


__getattr__ = close_module(__name__)
