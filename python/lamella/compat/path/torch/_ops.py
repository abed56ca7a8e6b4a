"""``torch.ops``: Lamella's operators by their namespaces, and ``aten``, whose operators are functions of the front."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module

from ._schemas import FunctionSchema, of_function, of_registered


class OpOverload:
    """One form of an operator of ``aten``, such as ``torch.ops.aten.add.Tensor``."""

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket, self._overloadname = packet, overload
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__module__, self._name = packet.__module__, self.name()
        self._overloadpacket, self._opname, self.namespace = packet, packet.__name__, "aten"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function."""
        return self.overloadpacket(*args, **kwargs)

    def name(self) -> str:
        """Returns the operator's name, with its namespace."""
        return f"aten::{self.__name__}".removesuffix(".default")

    @property
    def op(self) -> Any:
        """The function."""
        return self.overloadpacket.op

    @property
    def _schema(self) -> FunctionSchema:
        name = self.overloadpacket.__name__
        return of_function(f"aten::{name}", self._overloadname, _function(name))

    @property
    def tags(self) -> list[Any]:
        """Marks for compilers, of which operators here have none."""
        return []

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self.overloadpacket.__name__}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """An operator of ``aten`` with all its forms, which are attributes of it.

    Programs make tables by operators, also of such that nothing here calls: the function is looked for by a call.
    """

    def __init__(self, name: str) -> None:
        self.__name__, self.__module__ = name, "torch._ops.aten"
        self._qualified_op_name = f"aten::{name}"

    @property
    def op(self) -> Any:
        """The function."""
        return _function(self.__name__)

    def overloads(self) -> list[str]:
        """Returns the names of the forms that programs have asked for, and of that without a name."""
        return [
            "default",
            *(name for name, one in vars(self).items() if isinstance(one, OpOverload) and name != "default"),
        ]

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function.

        Raises:
            NotImplementedError: the front has no function of the name.
        """
        return _function(self.__name__)(*args, **kwargs)

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("_"):
            raise AttributeError(f"'{self}' has no form '{overload}'")
        made = vars(self)[overload] = OpOverload(self, overload)
        return made

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"


#: Operators that are functions of another name.
_OTHER_NAMES = {"_to_copy": "to", "_pin_memory": "pin_memory", "alias": "detach", "lift_fresh": "positive"}


def _function(name: str) -> Callable[..., Any]:
    """Returns the function that an operator of ``aten`` is."""
    torch = sys.modules["torch"]
    word = _OTHER_NAMES.get(name, name)
    for home in (torch, Tensor, torch.nn.functional):
        found = getattr(home, word, None)
        if callable(found):
            return found
    raise NotImplementedError(f"Lamella's torch front does not have 'torch.ops.aten.{name}'")


class _Aten:
    """The namespace of PyTorch's own operators."""

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        made = vars(self)[name] = OpOverloadPacket(name)
        return made


#: Operators of ``aten`` by Lamella's names of them, where these differ.
_FORMS = {
    "add": "add.Tensor",
    "broadcast_to": "expand.default",
    "cast": "_to_copy.default",
    "concat": "cat.default",
    "conv1d": "convolution.default",
    "conv2d": "convolution.default",
    "conv3d": "convolution.default",
    "divide": "div.Tensor",
    "index": "index.Tensor",
    "layer_norm": "native_layer_norm.default",
    "log_softmax": "_log_softmax.default",
    "multiply": "mul.Tensor",
    "negative": "neg.default",
    "permute_dims": "permute.default",
    "reshape": "view.default",
    "scaled_dot_product_attention": "_scaled_dot_product_flash_attention.default",
    "slice": "slice.Tensor",
    "softmax": "_softmax.default",
    "subtract": "sub.Tensor",
}


def overload_of(name: str, tensors: tuple[Tensor, ...]) -> Any:
    """Returns the operator that PyTorch would call where Lamella calls one: an attribute of ``torch.ops``.

    Args:
        name: Lamella's name of the operator, or that of a registered one with its namespace.
        tensors: what it is called with.
    """
    namespace, _, short = name.rpartition("::")
    if namespace:
        return getattr(getattr(ops, namespace), short).default
    if name == "matmul":
        form = "mm.default" if all(x.ndim == 2 for x in tensors) else "bmm.default"
    elif name == "linear":
        form = "addmm.default" if len(tensors) == 3 else "mm.default"
    else:
        form = _FORMS.get(name, f"{name}.default")
    packet, _, overload = form.rpartition(".")
    return getattr(getattr(ops.aten, packet), overload)


class _Operators:
    """The operators of all namespaces."""

    aten = _Aten()

    def load_library(self, path: Any) -> None:
        """Loads operators; those of torchvision's compiled part are Lamella's."""
        from . import _vision

        if _vision.stands_for(str(path)):
            _vision.register()
        else:
            lm.ops.load_library(path)

    def __getattr__(self, namespace: str) -> Any:
        if namespace == "torchvision":
            from . import _vision

            return _vision.namespace
        return getattr(lm.ops, namespace)


ops = _Operators()


class _OperatorName(str):
    """The name of a registered operator, which PyTorch's programs call for."""

    def __call__(self) -> str:
        return str(self)


_registered: Any = type(lm.ops.lamella.add)
_native_name: Any = vars(_registered)["name"]
_registered.name = property(lambda self: _OperatorName(_native_name.__get__(self)), doc=_native_name.__doc__)
_registered._schema = property(of_registered, doc="What the operator takes and gives.")
_registered._name = property(lambda self: _native_name.__get__(self), doc="The name with its namespace.")
_registered._qualified_op_name = _registered._name
_registered._opname = property(lambda self: self.__name__, doc="The name without its namespace.")
_registered._overloadname = property(lambda self: self.overload or "default", doc="The overload's name.")
_registered.namespace = property(lambda self: self.name.partition("::")[0], doc="The namespace.")
_registered.overloadpacket = property(
    lambda self: getattr(getattr(lm.ops, self.namespace), self.__name__), doc="The operator with all its overloads."
)
_registered._overloadpacket = _registered.overloadpacket


def _shown(op: Any) -> str:
    """Returns what an operator prints as, by which programs compare: "ns.name", and with the overload's name."""
    dotted = str(_native_name.__get__(op)).replace("::", ".")
    return dotted if op.is_packet else f"{dotted}.{op.overload or 'default'}"


_registered.__str__ = _shown
_registered.__deepcopy__ = lambda self, memo: self
_registered.tags = property(lambda self: [], doc="Marks for compilers, of which operators here have none.")
__getattr__ = close_module(__name__)
