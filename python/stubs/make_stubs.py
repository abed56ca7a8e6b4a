"""Writes lamella/_C.pyi: what is in the template, and every operator that the built module lists.

usage: make_stubs.py MODULE OUTPUT     (the file of the compiled module; the stub file to write)
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"]
COMPARISONS = ["lt", "le", "gt", "ge"]
OTHER = "Tensor | _complex | npt.NDArray[Any]"


def load(path: Path) -> ModuleType:
    """Returns the module at `path`, whatever is on sys.path."""
    spec = importlib.util.spec_from_file_location("lamella._C", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def annotated(signature: str, types: tuple[str, ...], skip_first: bool) -> str:
    """Returns a text signature such as ``(x, /, axis=None)`` with the types of its parameters."""
    parameters = [part.strip() for part in re.split(r",\s*(?![^\[]*\])", signature.strip("()"))]
    remaining = iter(types)
    if skip_first:
        next(remaining)
    result = []
    for parameter in parameters:
        if parameter in ("", "/", "*", "$self"):
            result.append("self" if parameter == "$self" else parameter)
            continue
        name, equals, default = parameter.partition("=")
        kind = next(remaining)
        if name.startswith("*"):
            kind = kind.removeprefix("Sequence[").removesuffix("]")
        result.append(f"{name}: {kind}" + (f" = {default}" if equals else ""))
    return ", ".join(part for part in result if part)


def forms(info: dict[str, Any]) -> list[str]:
    """Returns the names under which there is an operator: its own, and that of its in-place form."""
    return [info["name"]] + [info["name"] + "_"] * info["in_place"]


def result(info: dict[str, Any]) -> str:
    """Returns the type of an operator's result."""
    return f"_{info['name']}_result" if info["fields"] else info["returns"]


def results(module: ModuleType) -> str:
    """Returns the types of results whose parts have names."""
    return "\n".join(
        f"class _{info['name']}_result(NamedTuple):\n" + "\n".join(f"    {name}: Tensor" for name in info["fields"])
        for info in module.operators()
        if info["fields"]
    )


def functions(module: ModuleType) -> str:
    """One line for each operator as a function."""
    return "\n".join(
        f"def {name}({annotated(getattr(module, name).__text_signature__, info['types'], False)})"
        f" -> {result(info)}: ..."
        for info in module.operators()
        for name in forms(info)
    )


def methods(module: ModuleType) -> str:
    """One line for each operator as a method of Tensor."""
    lines = []
    for info in module.operators():
        if info["method"]:
            for name in forms(info):
                signature = getattr(module.Tensor, name).__text_signature__
                lines.append(f"    def {name}({annotated(signature, info['types'], True)}) -> {result(info)}: ...")
    return "\n".join(lines)


def number_methods(module: ModuleType) -> str:
    """Returns the arithmetic and comparison of Tensor."""
    lines = []
    for prefix in ("", "r", "i"):
        for name in BINARY:
            slot = f"__{prefix}{name}__"
            if not hasattr(module.Tensor, slot):
                continue
            kind = "Self" if prefix == "i" else "Tensor"
            rest = ", modulus: None = None" if name == "pow" and prefix != "i" else ""
            # The interpreter gives the in-place power no modulus.
            remark = "  # type: ignore[misc]" if slot == "__ipow__" else ""
            lines.append(f"    def {slot}(self, other: {OTHER}{rest}, /) -> {kind}: ...{remark}")
    lines += [
        f"    def __{name}__(self, other: {OTHER}, /) -> tuple[Tensor, Tensor]: ..." for name in ("divmod", "rdivmod")
    ]
    lines += [f"    def __{name}__(self, other: {OTHER}, /) -> Tensor: ..." for name in COMPARISONS]
    lines += [
        f"    def __{name}__(self, other: object, /) -> Tensor: ...  # type: ignore[override]" for name in ("eq", "ne")
    ]
    return "\n".join(lines)


def main(argv: list[str]) -> None:
    """Fills the template's places."""
    module: Any = load(Path(argv[0]))
    template = Path(__file__).with_name("_C.pyi.in").read_text()
    dtypes = [name for name in vars(module) if isinstance(getattr(module, name), module.DType)]
    places = {
        "dtypes": "\n".join(f"{name}: DType" for name in dtypes),
        "number_methods": number_methods(module),
        "methods": methods(module),
        "functions": functions(module),
        "results": results(module),
    }
    for name, text in places.items():
        template = template.replace(f"@{name}@", text)
    Path(argv[1]).write_text(template)


if __name__ == "__main__":
    main(sys.argv[1:])
