"""Registering operators from Python.

:func:`custom_op` makes an operator of a function, whose annotations give its schema::

    @lm.library.custom_op("my_ops::scale", mutates_args=())
    def scale(x: lm.Tensor, factor: float = 2.0) -> lm.Tensor:
        return lm.asarray(x.numpy() * factor)

    @scale.register_fake
    def _(x, factor):
        return lm.empty_like(x)

    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    def backward(ctx, grad):
        return grad * ctx.factor, None

    scale.register_autograd(backward, setup_context=setup_context)

It is then called as ``scale(x)``, as ``lm.ops.my_ops.scale(x)``, and from C++ through the dispatcher.
:class:`Library` registers schemas and kernels one by one, as ``LAMELLA_LIBRARY`` does in C++; :func:`opcheck` checks
that an operator keeps what its registrations promise.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Literal, TypeAlias

from .. import _C
from ._fake import DynamicOutputShapeError, get_ctx
from ._opcheck import OpCheckError, opcheck
from ._schema import infer_schema

__all__ = [
    "CustomOp",
    "DynamicOutputShapeError",
    "Library",
    "OpCheckError",
    "custom_op",
    "get_ctx",
    "infer_schema",
    "opcheck",
]

_Function: TypeAlias = Callable[..., Any]
_Decorator: TypeAlias = Callable[[_Function], _Function]

_KEYS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "privateuse1": "PrivateUse1"}


def _caller() -> tuple[str, int]:
    """Returns the line that called into this module."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _place(function: _Function) -> tuple[str, int]:
    """Returns file and line of a function; those of the caller, for a callable that is not written in Python."""
    code = getattr(function, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else _caller()


class Library:
    """Definitions and kernels of operators of one namespace; they go when it does, or at :meth:`reset`.

    Args:
        ns: The namespace.
        kind: "FRAGMENT" adds operators to the namespace, "DEF" owns it (a second one elsewhere is an error), "IMPL"
            gives kernels to operators of it.
        dispatch_key: What :meth:`impl` registers kernels for where it is not told: "CPU", "CUDA", "Meta",
            "PrivateUse1", "Autograd", one of these after "Autograd", "CompositeImplicitAutograd" or
            "CompositeExplicitAutograd".

    Raises:
        ValueError: Another kind or key, or a name that is none.
        RuntimeError: "DEF" of a namespace that is defined elsewhere.
    """

    #: True if what a device's kernel computes by operators is on the tape where there is no kernel for Autograd.
    _records = False

    def __init__(
        self, ns: str, kind: Literal["DEF", "FRAGMENT", "IMPL"] = "FRAGMENT", dispatch_key: str | None = None
    ) -> None:
        self.ns = ns
        self.kind = kind
        self._library = _C._library_new(kind, ns, dispatch_key or None, *_caller())

    def define(self, schema: str, *, doc: str = "") -> str:
        """Defines an operator: ``define("scale(Tensor x, float factor=2.0) -> Tensor")``.

        Returns:
            The operator's name with its namespace.

        Raises:
            ValueError: The schema is wrong; the message points at the character.
            RuntimeError: The operator is defined with another schema; the message names both places.
        """
        name: str = _C._library_define(self._library, schema, *_caller())
        if doc:
            _C._library_doc(self._library, name, doc)
        return name

    def impl(self, name: str, function: _Function | None = None, dispatch_key: str | None = None) -> Any:
        """Gives an operator a kernel: ``impl("scale", function, "CPU")``, or as a decorator of the function.

        The kernel gets the operator's arguments in order, those after ``*`` by keyword.

        Raises:
            RuntimeError: There is another kernel for the key; the message names both places.
            ValueError: Another key.
        """
        if function is None:
            return functools.partial(self._implemented, name, dispatch_key)
        return self._implemented(name, dispatch_key, function)

    def _implemented(self, name: str, dispatch_key: str | None, function: _Function) -> _Function:
        recorded = False if self._records else None
        _C._library_implement(self._library, name, function, dispatch_key or None, recorded, *_place(function))
        return function

    def fallthrough(self, name: str, dispatch_key: str | None = None) -> None:
        """Says that a key is passed over: for "Autograd", that what the device's kernel does is recorded as it is."""
        _C._library_implement(self._library, name, None, dispatch_key or None, False, *_caller())

    def reset(self) -> None:
        """Takes back everything that was registered through this library."""
        _C._library_reset(self._library)

    def __repr__(self) -> str:
        return f"Library({self.ns!r}, {self.kind!r})"


class CustomOp:
    """An operator made by :func:`custom_op`: called like the function, and known to ``lm.ops``."""

    def __init__(self, name: str, function: _Function, schema: str, device_types: Iterable[str] | None) -> None:
        namespace, _, short = name.partition("::")
        self._name = name
        self._short = short
        self._library = Library(namespace)
        #: Kernels that were registered later, each in a library of its own, so that they can be replaced.
        self._kernels: dict[str, Library] = {}
        self._backward: _Function | None = None
        self._setup_context: _Function | None = None
        self._vmap: _Function | None = None
        functools.update_wrapper(self, function)
        try:
            _C._library_define(self._library._library, short + schema, *_place(function))
            if function.__doc__:
                _C._library_doc(self._library._library, short, function.__doc__)
            if device_types is None:
                self._implement("CompositeExplicitAutograd", function)
            else:
                self.register_kernel(device_types, function)
        except BaseException:
            self._reset()
            raise
        self._op = _C._find_operator(name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the operator."""
        return self._op(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<custom_op {self._op.schema}>"

    @property
    def op(self) -> Any:
        """The operator as ``lm.ops`` has it."""
        return self._op

    def _reset(self) -> None:
        self._library.reset()
        for library in self._kernels.values():
            library.reset()

    def _implement(self, key: str, function: _Function, *, for_recording: bool = False) -> None:
        if key in self._kernels:
            self._kernels.pop(key).reset()
        library = Library(self._library.ns)
        flag = for_recording or None  # None: what a device's kernel computes is not on the tape
        _C._library_implement(library._library, self._short, function, key, flag, *_place(function))
        self._kernels[key] = library

    def register_kernel(
        self, device_types: str | Iterable[str] | None, function: _Function | None = None
    ) -> _Function | _Decorator:
        """Registers the kernel for some devices: ``@op.register_kernel("cuda")``; None stands for all others.

        It replaces one that was registered before.
        """
        if function is None:
            return functools.partial(self._registered, device_types)
        return self._registered(device_types, function)

    def _registered(self, device_types: str | Iterable[str] | None, function: _Function) -> _Function:
        if device_types is None:
            self._implement("CompositeExplicitAutograd", function)
            return function
        keys = {**_KEYS, _C._privateuse1_name(): "PrivateUse1"}
        for device in [device_types] if isinstance(device_types, str) else device_types:
            if device not in keys:
                raise ValueError(f"[{self._name}] there is no device type {device!r}; they are {', '.join(keys)}")
            self._implement(keys[device], function)
        return function

    def register_fake(self, function: _Function) -> _Function:
        """Registers what the operator does for tensors on "meta": it makes results with shape and dtype, no data."""
        self._implement("Meta", function)
        return function

    def register_autograd(self, backward: _Function, /, *, setup_context: _Function | None = None) -> None:
        """Registers the gradient.

        Args:
            backward: ``backward(ctx, *grads)`` gets a gradient for each result, a list of them for a result that is a
                list (``Tensor[]``), None for one that is no tensor, and returns one for each argument, a list for a
                list, None for those that have none. Written with operators that have gradients, it has gradients of
                every order.
            setup_context: ``setup_context(ctx, inputs, output)`` keeps what backward needs; with keyword-only
                arguments ``setup_context(ctx, inputs, keyword_only_inputs, output)``.

        Raises:
            RuntimeError: The operator writes into its arguments.
        """
        if any(alias for *_, alias in self._op.arguments):
            raise RuntimeError(
                f"[{self._name}] register_autograd is for operators that return new tensors, and this one writes into "
                f"its arguments: {self._op.schema}"
            )
        self._backward = backward
        self._setup_context = setup_context
        self._register_layer()

    def register_vmap(self, function: _Function) -> _Function:
        """Registers what :func:`lamella.autograd.vmap` calls in place of the operator.

        ``function(info, in_dims, *args)`` gets arguments with the mapped axis at ``in_dims`` (None where there is none)
        and returns the output and its ``out_dims``.
        """
        self._vmap = function
        self._register_layer()
        return function

    def _register_layer(self) -> None:
        """Makes the kernel for Autograd: a layer whose forward calls the device's kernel."""
        below = self._op.below_autograd
        setup_context, backward, vmap = self._setup_context, self._backward, self._vmap
        results = [kind for _, kind, _ in self._op.results]
        has_others = any(kind != "Tensor" for kind in results)

        def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
            output = below(*args, **kwargs)
            if has_others:
                ctx._result_lengths = _lengths(results, output)
            if setup_context is not None:
                if kwargs:
                    setup_context(ctx, inputs=args, keyword_only_inputs=kwargs, output=output)
                else:
                    setup_context(ctx, inputs=args, output=output)
            return output

        def grouped(ctx: Any, *grads: Any) -> Any:
            assert backward is not None
            rest = iter(grads)
            lengths = ctx._result_lengths
            return backward(
                ctx, *(None if n is None else next(rest) if n == _TENSOR else [*islice(rest, n)] for n in lengths)
            )

        def missing(ctx: Any, *grads: Any) -> Any:
            raise NotImplementedError(
                f"[{self._name}] no gradient is registered for {self._name}; register one with register_autograd(...)"
            )

        rule = missing if backward is None else grouped if has_others else backward
        members: dict[str, Any] = {"forward": staticmethod(forward), "backward": staticmethod(rule)}
        if vmap is not None:
            members["vmap"] = staticmethod(vmap)
        layer: Any = type(self._short, (_C.PyLayer,), members)
        self._implement("Autograd", layer.apply, for_recording=vmap is None)


#: Stands for a result that is a tensor among the lengths of lists.
_TENSOR = -1


def _lengths(results: list[str], output: Any) -> list[int | None]:
    """Returns the length of each result that is a list of tensors, and None for what is no tensor either."""
    values = [output] if len(results) == 1 else output
    lengths: list[int | None] = []
    for kind, value in zip(results, values, strict=True):
        if kind.startswith("Tensor") and kind.endswith("]"):
            lengths.append(sum(isinstance(item, _C.Tensor) for item in value))
        else:
            lengths.append(_TENSOR if isinstance(value, _C.Tensor) else None)
    return lengths


#: Operators by name, so that a function defined again (by a reloaded module, a repeated cell) replaces the first.
_custom_ops: dict[str, tuple[tuple[str, str], CustomOp]] = {}


def custom_op(
    name: str,
    function: _Function | None = None,
    /,
    *,
    mutates_args: str | Iterable[str] = (),
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
) -> Any:
    """Makes a registered operator of a function.

    Args:
        name: "namespace::name".
        function: The kernel; left out where this is used as a decorator. It gets tensors whose gradients are not
            followed, and returns new ones.
        mutates_args: The names of the arguments that it writes into; "unknown" stands for all tensors.
        device_types: The devices that the function is for, such as "cpu"; None for all.
        schema: "(Tensor x, float factor=2.0) -> Tensor"; taken from the annotations where it is None, see
            :func:`infer_schema`.

    Returns:
        The :class:`CustomOp`, or a decorator that makes it.

    Raises:
        ValueError: The name, an annotation or the schema is wrong.
        RuntimeError: There is an operator of that name already; the message names both places.
    """
    if function is None:
        return functools.partial(custom_op, name, mutates_args=mutates_args, device_types=device_types, schema=schema)
    if name.count("::") != 1 or "." in name:
        raise ValueError(f"[custom_op] a name is 'namespace::name', not {name!r}")
    text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
    if not text.lstrip().startswith("("):
        raise ValueError(f"[custom_op] the schema begins with the arguments, '(Tensor x) -> Tensor', not with {text!r}")
    identity = (getattr(function, "__module__", ""), getattr(function, "__qualname__", repr(function)))
    earlier = _custom_ops.get(name)
    if earlier is not None and earlier[0] == identity:
        earlier[1]._reset()
    made = CustomOp(name, function, text, [device_types] if isinstance(device_types, str) else device_types)
    _custom_ops[name] = (identity, made)
    return made
