"""Prototypes of custom operators: declared once, they check calls and build the nodes of ONNX models.

A prototype is declared in Python, or read from a C++ header that declares it by ``REG_OP`` in the manner of Ascend's
graph engine::

    AddCustom = lm.onnx.REG_OP("AddCustom").INPUT("x").INPUT("y").OUTPUT("z")
    [AddCustom] = lm.onnx.read_prototypes(Path("custom_reg_op.h"))

Either way it is a function that converters call with values; it adds a node of an operator set of its own.
``python -m lamella.onnx custom_reg_op.h -o builders.py`` writes a module of such functions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from ._builder import Value

#: Names of dtypes in declarations.
_DTYPES = {
    "DT_BOOL": "bool",
    "DT_INT8": "int8",
    "DT_INT16": "int16",
    "DT_INT32": "int32",
    "DT_INT64": "int64",
    "DT_UINT8": "uint8",
    "DT_UINT16": "uint16",
    "DT_UINT32": "uint32",
    "DT_UINT64": "uint64",
    "DT_FLOAT16": "float16",
    "DT_BF16": "bfloat16",
    "DT_FLOAT": "float32",
    "DT_DOUBLE": "float64",
}
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_INTEGERS = tuple(name for key, name in _DTYPES.items() if "INT" in key)
#: Names of sets of dtypes.
_SETS = {
    "ALL": tuple(_DTYPES.values()),
    "BasicType": tuple(_DTYPES.values()),
    "NumberType": _INTEGERS + _FLOATS,
    "RealNumberType": _INTEGERS + _FLOATS,
    "FloatingDataType": _FLOATS,
    "IntegerDataType": _INTEGERS,
    "IndexNumberType": ("int32", "int64"),
}
#: The types of attributes, and those of Python that stand for them.
_ATTRIBUTES: dict[str, type | tuple[type, ...]] = {
    "Int": int,
    "Float": (int, float),
    "Bool": bool,
    "String": str,
    "ListInt": (list, tuple),
    "ListFloat": (list, tuple),
}


class _Port(NamedTuple):
    name: str
    dtypes: tuple[str, ...]
    #: "", "optional" or "dynamic" (a list).
    kind: str


class _Attribute(NamedTuple):
    name: str
    type: str
    required: bool
    default: Any


class Prototype:
    """The declaration of an operator; calling it in a converter adds a node.

    Args:
        name: the operator's name.
        domain: the operator set that its nodes belong to.
    """

    def __init__(self, name: str, domain: str = "custom") -> None:
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ValueError(f"[REG_OP] {name!r} is no name of an operator")
        self.name = name
        self.domain = domain
        self._inputs: list[_Port] = []
        self._outputs: list[_Port] = []
        self._attributes: list[_Attribute] = []

    def _add(self, ports: list[_Port], name: str, dtypes: Any, kind: str) -> Self:
        taken = self._names() if ports is self._inputs else [x.name for x in ports]
        if name in taken:
            raise ValueError(f"[REG_OP] {self.name} has {name!r} already")
        ports.append(_Port(name, _dtypes(dtypes), kind))
        return self

    def INPUT(self, name: str, dtypes: Any = "ALL") -> Self:  # noqa: N802 (the names of declarations)
        """Declares a tensor that is taken, and its dtypes: "ALL", another named set, or a list of dtypes."""
        return self._add(self._inputs, name, dtypes, "")

    def OPTIONAL_INPUT(self, name: str, dtypes: Any = "ALL") -> Self:  # noqa: N802
        """Declares a tensor that may be None."""
        return self._add(self._inputs, name, dtypes, "optional")

    def DYNAMIC_INPUT(self, name: str, dtypes: Any = "ALL") -> Self:  # noqa: N802
        """Declares a list of tensors."""
        return self._add(self._inputs, name, dtypes, "dynamic")

    def OUTPUT(self, name: str, dtypes: Any = "ALL") -> Self:  # noqa: N802
        """Declares a result."""
        return self._add(self._outputs, name, dtypes, "")

    def ATTR(self, name: str, type: str, default: Any) -> Self:  # noqa: N802
        """Declares an attribute, "Int", "Float", "Bool", "String", "ListInt" or "ListFloat", and its default."""
        return self._attribute(_Attribute(name, type, False, default))

    def REQUIRED_ATTR(self, name: str, type: str) -> Self:  # noqa: N802
        """Declares an attribute without a default."""
        return self._attribute(_Attribute(name, type, True, None))

    def OP_END_FACTORY_REG(self, name: str | None = None) -> Self:  # noqa: N802
        """Ends a declaration; the name, where it is given, is that of its beginning."""
        if name not in (None, self.name):
            raise ValueError(f"[REG_OP] the declaration of {self.name} ends with the name {name}")
        return self

    def _attribute(self, attribute: _Attribute) -> Self:
        if attribute.type not in _ATTRIBUTES:
            raise ValueError(f"[REG_OP] {self.name}: {attribute.type!r} is no type of an attribute: {[*_ATTRIBUTES]}")
        if attribute.name in self._names():
            raise ValueError(f"[REG_OP] {self.name} has {attribute.name!r} already")
        self._attributes.append(attribute)
        return self

    def _names(self) -> list[str]:
        """Returns the names of the arguments."""
        return [x.name for x in self._inputs] + [x.name for x in self._attributes]

    def __repr__(self) -> str:
        inputs = [f"{x.name}?" if x.kind == "optional" else f"{x.name}[]" if x.kind else x.name for x in self._inputs]
        settings = [x.name if x.required else f"{x.name}={x.default!r}" for x in self._attributes]
        results = ", ".join(x.name for x in self._outputs)
        return f"{self.domain}::{self.name}({', '.join([*inputs, *settings])}) -> {results}"

    def __call__(self, *args: Any, **kwargs: Any) -> Value | tuple[Value, ...]:
        """Adds a node to the model that is exported.

        Args:
            args: values for the inputs, in order; attributes may follow.
            kwargs: inputs and attributes by name.

        Returns:
            The result, or a tuple of them.

        Raises:
            TypeError: an argument is missing, unknown, or of the wrong type or dtype.
        """
        from ._builder import ops

        given = self._bind(args, kwargs)
        inputs: list[Any] = []
        for port in self._inputs:
            values = list(given[port.name]) if port.kind == "dynamic" else [given[port.name]]
            inputs += [self._checked(port, value) for value in values]
        attributes = {}
        for attribute in self._attributes:
            value = given[attribute.name]
            if not isinstance(value, _ATTRIBUTES[attribute.type]):
                raise TypeError(f"[{self.name}] {attribute.name} is {attribute.type}, not {value!r}")
            plain = {"Int": int, "Bool": int, "Float": float, "String": str}.get(attribute.type, list)
            attributes[attribute.name] = plain(value)
        results = ops(self.name, *inputs, outputs=max(1, len(self._outputs)), domain=self.domain, **attributes)
        return results[0] if len(results) == 1 else results

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        names = self._names()
        if len(args) > len(names):
            raise TypeError(f"[{self.name}] takes {len(names)} arguments, got {len(args)}: {self!r}")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names or name in given:
                raise TypeError(
                    f"[{self.name}] {'got twice' if name in given else 'has no argument'} {name!r}: {self!r}"
                )
            given[name] = value
        for port in self._inputs:
            if port.kind == "optional":
                given.setdefault(port.name, None)
        for attribute in self._attributes:
            if not attribute.required:
                given.setdefault(attribute.name, attribute.default)
        if missing := [name for name in names if name not in given]:
            raise TypeError(f"[{self.name}] missing argument {missing[0]!r}: {self!r}")
        return given

    def _checked(self, port: _Port, value: Any) -> Any:
        from ._builder import Value

        if value is None and port.kind == "optional":
            return None
        if not isinstance(value, Value):
            raise TypeError(f"[{self.name}] {port.name} is a value of the model, not {type(value).__name__}")
        if value.dtype.name not in port.dtypes:
            raise TypeError(f"[{self.name}] {port.name} is {value.dtype.name}, and takes {', '.join(port.dtypes)}")
        return value

    def source(self) -> str:
        """Returns the declaration as a line of Python."""
        text = f'{self.name} = REG_OP("{self.name}", domain={self.domain!r})'
        names = {"": "INPUT", "optional": "OPTIONAL_INPUT", "dynamic": "DYNAMIC_INPUT"}
        for port in self._inputs:
            text += f".{names[port.kind]}({port.name!r}, {list(port.dtypes)!r})"
        for port in self._outputs:
            text += f".OUTPUT({port.name!r}, {list(port.dtypes)!r})"
        for x in self._attributes:
            text += f".REQUIRED_ATTR({x.name!r}, {x.type!r})" if x.required else f".ATTR{(x.name, x.type, x.default)!r}"
        return text


def REG_OP(name: str, domain: str = "custom") -> Prototype:  # noqa: N802 (the name of declarations)
    """Begins the declaration of an operator: ``REG_OP("AddCustom").INPUT("x").INPUT("y").OUTPUT("z")``."""
    return Prototype(name, domain)


def _dtypes(given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        name = given.removesuffix("()")
        if name not in _SETS:
            raise ValueError(f"[REG_OP] {given!r} is no set of dtypes: {[*_SETS]}, or a list of dtypes")
        return _SETS[name]
    names = [_DTYPES.get(str(x), getattr(x, "name", x)) for x in given]
    if unknown := [x for x in names if x not in _DTYPES.values()]:
        raise ValueError(f"[REG_OP] {unknown[0]!r} is no dtype: {[*_DTYPES]}")
    return tuple(names)


def read_prototypes(header: str | os.PathLike[str], domain: str = "custom") -> list[Prototype]:
    """Reads the declarations of a C++ header.

    Args:
        header: its path, or its text.
        domain: the operator set that their nodes belong to.

    Returns:
        A prototype for each ``REG_OP``.

    Raises:
        ValueError: a declaration is wrong, or not ended by ``OP_END_FACTORY_REG``; the message names it.
    """
    text = header if isinstance(header, str) and "(" in header else Path(header).read_text("utf-8")
    code = re.sub(r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*", " ", text, flags=re.DOTALL | re.MULTILINE)
    found = []
    for begin in re.finditer(r"\bREG_OP\b", code):
        calls = _calls(code, begin.start())
        _, arguments = next(calls)
        prototype = Prototype(arguments.strip(), domain)
        ended = False
        for name, arguments in calls:
            _declare(prototype, name, _split(arguments))
            if name == "OP_END_FACTORY_REG":
                ended = True
                break
        if not ended:
            raise ValueError(f"[REG_OP] the declaration of {prototype.name} is not ended by OP_END_FACTORY_REG")
        found.append(prototype)
    return found


def _calls(code: str, at: int) -> Iterator[tuple[str, str]]:
    """Returns the names and the arguments of a chain of calls."""
    while match := re.compile(r"\s*\.?\s*(\w+)\s*\(").match(code, at):
        depth, end = 1, match.end()
        while end < len(code) and depth:
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        if depth:
            raise ValueError(f"[REG_OP] {match[1]} has no closing parenthesis")
        yield match[1], code[match.end() : end - 1]
        at = end
        if not re.compile(r"\s*\.").match(code, at):
            return


def _split(arguments: str) -> list[str]:
    """Returns arguments that commas outside of brackets separate."""
    parts, depth = [""], 0
    for c in arguments:
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(c, 0)
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


def _declare(prototype: Prototype, name: str, arguments: list[str]) -> None:
    if name in ("INPUT", "OPTIONAL_INPUT", "DYNAMIC_INPUT", "OUTPUT"):
        getattr(prototype, name)(arguments[0], _dtypes_of(arguments[1]) if len(arguments) > 1 else "ALL")
    elif name == "ATTR" and len(arguments) == 3:
        prototype.ATTR(arguments[0], arguments[1], _literal(arguments[2], prototype.name))
    elif name == "REQUIRED_ATTR" and len(arguments) == 2:
        prototype.REQUIRED_ATTR(*arguments)
    elif name == "OP_END_FACTORY_REG":
        prototype.OP_END_FACTORY_REG(*arguments)
    else:
        raise ValueError(f"[REG_OP] {prototype.name}: cannot read .{name}({', '.join(arguments)})")


def _dtypes_of(text: str) -> Any:
    listed = re.search(r"\{(.*)\}", text, re.DOTALL)
    if listed:
        return [part.strip().rpartition("::")[2] for part in listed[1].split(",") if part.strip()]
    return text.removesuffix("()").rpartition("::")[2]


def _literal(text: str, name: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if text.startswith("{"):
        return [_literal(part, name) for part in _split(text[1:-1])]
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1]
    number = text.rstrip("fFlLuU")
    try:
        return int(number)
    except ValueError:
        pass
    try:
        return float(number)
    except ValueError:
        raise ValueError(f"[REG_OP] {name}: {text!r} is no value of an attribute") from None


def builders(prototypes: list[Prototype]) -> str:
    """Returns the text of a module that declares prototypes."""
    head = '"""Functions that add nodes of custom operators to ONNX models."""\n\nfrom lamella.onnx import REG_OP\n\n'
    return head + "".join(f"{prototype.source()}\n" for prototype in prototypes)
