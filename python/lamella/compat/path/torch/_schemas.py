"""Descriptions of operators under PyTorch's names: ``torch.ops.ns.name.default._schema``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

_NOTHING = inspect.Parameter.empty
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_TYPES = {bool: "bool", int: "int", float: "float", str: "str"}


class AliasInfo:
    """Which memory an argument or a result is a part of, as in ``Tensor(a!)``."""

    def __init__(self, text: str) -> None:
        self.is_write = text.endswith("!")
        self.before_set = self.after_set = {text.removesuffix("!")}

    def __repr__(self) -> str:
        return f"({'|'.join(sorted(self.before_set))}{'!' if self.is_write else ''})"


class Argument:
    """An argument, or a result, of an operator."""

    def __init__(
        self, name: str, type: str, default_value: Any = _NOTHING, kwarg_only: bool = False, alias: str | None = None
    ) -> None:
        self.name, self.type, self.kwarg_only = name, type, kwarg_only
        self.real_type = type
        self._default = default_value
        self.alias_info = AliasInfo(alias) if alias else None
        self.is_out = bool(kwarg_only and alias and alias.endswith("!"))

    @property
    def default_value(self) -> Any:
        """The default; None where there is none."""
        return None if self._default is _NOTHING else self._default

    def has_default_value(self) -> bool:
        """True if the argument may be left out."""
        return self._default is not _NOTHING

    def __str__(self) -> str:
        text = self.type if self.alias_info is None else self.type.replace("Tensor", f"Tensor{self.alias_info}", 1)
        text = f"{text} {self.name}".rstrip()
        default = f'"{self._default}"' if isinstance(self._default, str) else self._default
        return f"{text}={default}" if self.has_default_value() else text

    def __repr__(self) -> str:
        return f"Argument({self})"


class FunctionSchema:
    """Arguments and results of an operator."""

    def __init__(
        self, name: str, overload_name: str, arguments: Iterable[Argument], returns: Iterable[Argument]
    ) -> None:
        self.name, self.overload_name = name, overload_name
        self.arguments, self.returns = list(arguments), list(returns)

    @property
    def is_mutable(self) -> bool:
        """True if the operator writes into an argument."""
        return any(each.alias_info is not None and each.alias_info.is_write for each in self.arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        parts, starred = [], False
        for each in self.arguments:
            if each.kwarg_only and not starred:
                starred = True
                parts.append("*")
            parts.append(str(each))
        given = ", ".join(map(str, self.returns))
        name = f"{self.name}.{self.overload_name}" if self.overload_name else self.name
        return f"{name}({', '.join(parts)}) -> {given if len(self.returns) == 1 else f'({given})'}"

    __repr__ = __str__


def of_registered(op: Any) -> FunctionSchema:
    """Returns the schema of an operator of ``lm.ops``."""
    arguments = [
        Argument(name, type_, default if has_default else _NOTHING, keyword, alias)
        for name, type_, has_default, default, keyword, alias in op.arguments
    ]
    returns = [Argument(name, type_, alias=alias) for name, type_, alias in op.results]
    return FunctionSchema(str(op.name), op.overload, arguments, returns)


def of_function(name: str, overload: str, function: Callable[..., Any]) -> FunctionSchema:
    """Returns the schema of an operator that is a function of the front: the names and defaults of its parameters.

    Raises:
        AttributeError: the function does not tell its parameters.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        raise AttributeError(f"'{name}' has no _schema: the function does not tell its parameters") from None
    arguments: list[Argument] = []
    for each in parameters:
        if each.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD) or each.name == "out":
            continue
        type_ = _TYPES.get(type(each.default), "Tensor" if each.default is _NOTHING else "Any")
        first = not arguments
        written = "a!" if first and name.endswith("_") and not name.endswith("__") else None
        shown = "self" if first and each.name == "input" else each.name
        arguments.append(Argument(shown, type_, each.default, each.kind is _KEYWORD, written))
    return FunctionSchema(name, "" if overload == "default" else overload, arguments, [Argument("", "Tensor")])
