"""Signatures of registered operators for Python."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, TypeAlias

#: (name, type, has_default, default, keyword_only, alias)
ArgumentInfo: TypeAlias = tuple[str, str, bool, Any, bool, str | None]
#: (name, type, alias)
ResultInfo: TypeAlias = tuple[str, str, str | None]

_ANNOTATIONS = {"Scalar": "complex", "dtype": "DType", "Device": "str", "Tensor|Scalar": "Tensor | complex"}


def annotation(type_name: str) -> str:
    """Returns a type of a schema as an annotation: "int[2]?" gives "Sequence[int] | None"."""
    if type_name.endswith("?"):
        return annotation(type_name[:-1]) + " | None"
    if type_name == "str|int[]":
        return "str | Sequence[int]"
    if type_name == "int|int[]":
        return "int | Sequence[int]"
    if type_name.endswith("]"):
        element, _, size = type_name[:-1].rpartition("[")
        sequence = f"Sequence[{annotation(element)}]"
        return f"{annotation(element)} | {sequence}" if size else sequence
    return _ANNOTATIONS.get(type_name, type_name)


def signature(arguments: Sequence[ArgumentInfo], results: Sequence[ResultInfo]) -> inspect.Signature:
    """Returns the signature of an operator with these arguments and results."""
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY if keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=default if has_default else inspect.Parameter.empty,
            annotation=annotation(type_name),
        )
        for name, type_name, has_default, default, keyword_only, _ in arguments
    ]
    returned = [annotation(type_name) for _, type_name, _ in results]
    if not returned:
        return inspect.Signature(parameters, return_annotation=None)
    text = returned[0] if len(returned) == 1 else f"tuple[{', '.join(returned)}]"
    return inspect.Signature(parameters, return_annotation=text)
