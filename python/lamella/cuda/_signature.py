"""Reads the parameters of a kernel from its source in CUDA C++."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

#: Dtypes of C++'s types, as they are where CUDA runs, by words in alphabetical order.
_DTYPES = {
    "bool": "bool",
    "char": "int8",
    "char signed": "int8",
    "char unsigned": "uint8",
    "short": "int16",
    "short unsigned": "uint16",
    "int": "int32",
    "signed": "int32",
    "unsigned": "uint32",
    "int unsigned": "uint32",
    "long": "int64",
    "long unsigned": "uint64",
    "long long": "int64",
    "long long unsigned": "uint64",
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "bfloat16": "bfloat16",
    "__nv_bfloat16": "bfloat16",
    "nv_bfloat16": "bfloat16",
    "size_t": "uint64",
    "ptrdiff_t": "int64",
    "complex<float>": "complex64",
    "complex<double>": "complex128",
    "cuFloatComplex": "complex64",
    "cuDoubleComplex": "complex128",
    **{f"int{bits}_t": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": f"uint{bits}" for bits in (8, 16, 32, 64)},
}
#: Words that are parts of types, and so no names of parameters.
_WORDS = {"const", *(word for text in _DTYPES for word in re.findall(r"\w+", text))}
_NOISE = re.compile(
    r"\b(?:__restrict__|__restrict|restrict|volatile|struct|__grid_constant__|typename)\b|\b(?:std|cuda|thrust)::"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_BOUNDS = re.compile(r"__launch_bounds__\s*\([^()]*\)")
_KERNEL = re.compile(r"__global__\b[^;{}()]*?(?P<name>\w+)\s*\(")
_TEMPLATE = re.compile(r"template\s*<(?P<parameters>[^{};]*)>\s*(?:extern\s*\"C\"\s*)?(?:static\s*|inline\s*)*$")


class Parameter(NamedTuple):
    """A parameter of a kernel.

    Attributes:
        name: its name, or that of its place where it has none.
        type: as ``_C._kernel_make`` takes it: ``"int32"``, ``"const float32*"``, ``"*"``.
    """

    name: str
    type: str


class _Kernel(NamedTuple):
    name: str
    template: list[str]
    parameters: str


def _split(text: str) -> list[str]:
    """Splits at the commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "<([{") - (character in ">)]}")
        if character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _closing(text: str, at: int) -> int:
    """Returns the place of the bracket that closes the one before ``at``."""
    depth = 1
    while depth and at < len(text):
        depth += (text[at] == "(") - (text[at] == ")")
        at += 1
    return at - 1


def _kernels(source: str) -> list[_Kernel]:
    """Returns the kernels that a source defines or declares, each name once."""
    text = _COMMENT.sub(lambda found: '"C"' if found[0] == '"C"' else " ", source)
    text = _BOUNDS.sub(" ", text)
    kernels: dict[str, _Kernel] = {}
    for found in _KERNEL.finditer(text):
        template = _TEMPLATE.search(text[: found.start()].rstrip())
        names = []
        for parameter in _split(template["parameters"]) if template else []:
            words = re.findall(r"\w+", parameter.partition("=")[0])
            names.append(words[-1] if words else "")
        end = _closing(text, found.end())
        kernels.setdefault(found["name"], _Kernel(found["name"], names, text[found.end() : end]))
    return list(kernels.values())


def type_of(text: str) -> str | None:
    """Returns a C++ type as ``_C._kernel_make`` takes it; None for one that no argument has.

    A pointer to a type that is not known stands for a tensor of any dtype.
    """
    plain = _NOISE.sub(" ", text)
    pointers = plain.count("*")
    if pointers > 1 or "&" in plain or "[" in plain:
        return None
    element = plain.partition("*")[0]
    constant = "const " if pointers and re.search(r"\bconst\b", element) else ""
    element = re.sub(r"\s*([<>])\s*", r"\1", re.sub(r"\bconst\b", " ", element))
    dtype = _DTYPES.get(" ".join(sorted(element.split())))
    if pointers:
        return f"{constant}{dtype or ''}*"
    return None if dtype is None or dtype.startswith("complex") else dtype


def _substituted(text: str, values: dict[str, str]) -> str:
    """Returns a type in which parameters of the template are replaced."""
    return re.sub(r"\w+", lambda found: values.get(found[0], found[0]), text)


def names_of(source: str) -> list[str]:
    """Returns the names of the kernels in a source, in its order."""
    return [kernel.name for kernel in _kernels(source)]


def parameters_of(source: str, name: str) -> list[Parameter] | None:
    """Returns the parameters of a kernel; None where the source, apart from what it includes, does not have it.

    Args:
        source: the source, whose macros and aliases of types are not resolved.
        name: the kernel's name, in namespaces and with template arguments where it has them: ``"scale<float, 4>"``.

    Raises:
        TypeError: a parameter is of a type that is not known.
    """
    path, _, arguments = name.partition("<")
    last = path.split("::")[-1].strip()
    kernel = next((found for found in _kernels(source) if found.name == last), None)
    if kernel is None:
        return None
    values = dict(zip(kernel.template, _split(arguments.strip().removesuffix(">")), strict=False))
    result = []
    for place, written in enumerate(_split(kernel.parameters), start=1):
        text = written.partition("=")[0].strip()
        if text == "void":
            continue
        named = re.fullmatch(r"(.*[\s*&>])(\w+)", text, re.DOTALL)
        if named is not None and named[2] not in _WORDS:
            text, own = named[1], named[2]
        else:
            own = f"parameter {place}"
        found = type_of(_substituted(text, values))
        if found is None:
            raise TypeError(
                f"[kernel {name}] the type of parameter {place}, '{written}', is none that is known here: types= says "
                "what it is"
            )
        result.append(Parameter(own, found))
    return result


def declared(name: str, types: Sequence[str]) -> list[Parameter]:
    """Returns parameters of types that a user has declared: ``["const float*", "int"]``.

    Raises:
        TypeError: a type is no text, or not known.
    """
    result = []
    for place, text in enumerate(types, start=1):
        found = type_of(text) if isinstance(text, str) else None
        if found is None:
            raise TypeError(
                f"[kernel {name}] types[{place - 1}] is a C++ type such as 'const float*' or 'int', not {text!r}"
            )
        result.append(Parameter(f"parameter {place}", found))
    return result
