"""Declarations of the reference: parameters of functions and classes, with types and defaults as one writes them."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import importlib
import inspect
import re
import types
from fractions import Fraction
from pathlib import Path
from typing import Any, ForwardRef, TypeVar

import lamella as lm

#: Letters of a declaration that a window of usual width shows in a line.
LONGEST = 80
_SEVERAL, _NAMED = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
#: Functions and methods of the compiled part.
_COMPILED = (types.BuiltinFunctionType, types.MethodDescriptorType, types.ClassMethodDescriptorType)
#: Names that types of the compiled part go by, and what one writes.
_WRITTEN = {"_bool": "bool", "_complex": "Number", "SupportsIndex": "int"}


class _Plain(str):
    """A text that shows itself without quotes."""

    __repr__ = str.__str__


@functools.cache
def _tree(module: str) -> ast.Module:
    """Returns the syntax of a module of Lamella; that of its stub for the compiled part."""
    if module == "lamella._C":
        return ast.parse((Path(lm.__file__).parent / "_C.pyi").read_text("utf-8"))
    return ast.parse(Path(str(importlib.import_module(module).__file__)).read_text("utf-8"))


@functools.cache
def _assigned(module: str) -> dict[str, ast.stmt]:
    """Returns what gives each name of a module its value: an assignment, a class or an import; for a checker, too."""
    found: dict[str, ast.stmt] = {}
    pending = list(_tree(module).body)
    while pending:
        statement = pending.pop(0)
        if isinstance(statement, ast.If):
            pending = [*statement.body, *statement.orelse, *pending]
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            for name in statement.names:
                found.setdefault(name.asname or name.name.partition(".")[0], statement)
        elif isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
            found.setdefault(statement.name, statement)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, statement)
    return found


def _imported(module: str, statement: ast.ImportFrom) -> str:
    """Returns the full name of the module that an import takes names from."""
    if not statement.level:
        return statement.module or ""
    is_package = str(importlib.import_module(module).__file__).endswith("__init__.py")
    parts = module.split(".")
    parts = parts[: len(parts) - statement.level + is_package]
    return ".".join([*parts, *([statement.module] if statement.module else [])])


def _origin(module: str, name: str) -> tuple[str, ast.stmt] | None:
    """Returns the module of Lamella in which a name gets its value, with the statement; None for others' names."""
    statement = _assigned(module).get(name)
    if not isinstance(statement, ast.ImportFrom):
        return None if statement is None or isinstance(statement, ast.Import) else (module, statement)
    source = _imported(module, statement)
    (there,) = [one.name for one in statement.names if (one.asname or one.name) == name]
    if source.partition(".")[0] != "lamella":
        return None
    try:
        return _origin(source, there)
    except ModuleNotFoundError:
        return None


class _Spelled(ast.NodeTransformer):
    """Puts what an alias stands for in its place, and leaves the names of Lamella's modules out."""

    def __init__(self, module: str, classes: list[type]) -> None:
        self._module = module
        self._classes = classes

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        statement = _assigned(self._module).get(root.id) if isinstance(root, ast.Name) else None
        ours = isinstance(statement, ast.ImportFrom) and _imported(self._module, statement).startswith("lamella")
        ours |= isinstance(statement, ast.Import) and statement.names[0].name.startswith("lamella")
        return ast.Name(node.attr) if ours else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        # Alternatives of an alias stand beside the others, each once.
        def parts(part: ast.expr) -> list[ast.expr]:
            is_union = isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr)
            return [*parts(part.left), *parts(part.right)] if is_union else [part]  # type: ignore[attr-defined]

        found = {ast.unparse(part): part for part in parts(self.generic_visit(node))}  # type: ignore[arg-type]
        if "None" in found:
            found["None"] = found.pop("None")
        first, *others = found.values()
        for other in others:
            first = ast.BinOp(first, ast.BitOr(), other)
        return first

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        # A type that is named before it is there.
        return self.visit(ast.parse(node.value, mode="eval").body) if isinstance(node.value, str) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if ast.unparse(node.value) == "npt.NDArray":
            return ast.Name("np.ndarray")
        # Strings of a Literal are values.
        return node if isinstance(node.value, ast.Name) and node.value.id == "Literal" else self.generic_visit(node)  # type: ignore[return-value]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in _WRITTEN:
            return ast.Name(_WRITTEN[node.id])
        found = _origin(self._module, node.id)
        if found is None or isinstance(found[1], ast.FunctionDef):
            return ast.Name(node.id.lstrip("_"))
        module, statement = found
        if isinstance(statement, ast.ClassDef):
            return self._of_class(module, statement)
        value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
        spelled = _Spelled(module, self._classes)
        if isinstance(value, ast.Call) and ast.unparse(value.func) in ("TypeVar", "ParamSpec"):
            bounds = [word.value for word in value.keywords if word.arg == "bound"]
            return spelled.visit(bounds[0]) if bounds else ast.Name(node.id.lstrip("_"))
        if value is None or isinstance(value, ast.Call):
            return ast.Name(node.id.lstrip("_"))
        return spelled.visit(ast.parse(ast.unparse(value), mode="eval").body)

    def _of_class(self, module: str, statement: ast.ClassDef) -> ast.expr:
        bases = [ast.unparse(base) for base in statement.bases]
        methods = {one.name for one in statement.body if isinstance(one, ast.FunctionDef)}
        if module == "lamella._C" and "NamedTuple" in bases:
            fields = [one for one in statement.body if isinstance(one, ast.AnnAssign)]
            return ast.Name(f"({', '.join(map(ast.unparse, fields))})")
        if statement.name.startswith("_") and "__enter__" in methods:
            return ast.Name("AbstractContextManager")
        if module != "lamella._C" and not statement.name.startswith("_"):
            self._classes.append(getattr(importlib.import_module(module), statement.name))
        return ast.Name(statement.name.lstrip("_"))


def _annotation(annotation: Any, module: str, classes: list[type]) -> Any:
    if annotation is inspect.Parameter.empty:
        return annotation
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, TypeVar):
        bound = annotation.__bound__
        annotation = re.sub(r"\b[a-z.]+\.", "", repr(bound)) if bound else annotation.__name__
    if not isinstance(annotation, str):
        return annotation
    if not module.startswith("lamella"):
        return _Plain(annotation)
    return _Plain(ast.unparse(_Spelled(module, classes).visit(ast.parse(annotation, mode="eval").body)))


def _default(default: Any, name: str, owner: Any) -> Any:
    if inspect.isroutine(default):
        return _Plain(default.__name__)
    if repr(default) == "<factory>":
        # A dataclass makes it anew for each object.
        (made,) = [field.default_factory for field in dataclasses.fields(owner) if field.name == name]
        return made()  # type: ignore[operator]
    if isinstance(default, enum.Enum):
        return _Plain(str(default))
    if isinstance(default, float):
        if default >= 1e6 and float(short := f"{default:g}".replace("e+", "e")) == default:
            return _Plain(short)
        near = Fraction(default).limit_denominator(10) if abs(default) < 1e6 else Fraction(1)
        if len(repr(default)) > 15 and float(near) == default:
            return _Plain(f"{near.numerator} / {near.denominator}")
    return default


def _shown(parameter: inspect.Parameter) -> bool:
    """True if a parameter is for callers: private ones with a default are for the library's own calls."""
    several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return several or not parameter.name.startswith("_") or parameter.default is parameter.empty


def _of_owner(owner: str) -> list[ast.stmt]:
    body = _tree("lamella._C").body
    classes = [one for one in body if isinstance(one, ast.ClassDef) and one.name.lstrip("_") == owner]
    return [part for one in classes for part in one.body]


@functools.cache
def _stub(name: str, owner: str = "") -> ast.FunctionDef | None:
    """Returns the declaration of a function of the compiled part, or of a method of one of its classes."""
    body = _of_owner(owner) if owner else _tree("lamella._C").body
    found = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == name]
    return found[0] if found else None


def _stubbed(name: str, owner: str) -> ast.expr | None:
    """Returns the type of an attribute that can be set, of a class of the compiled part."""
    found = [part for part in _of_owner(owner) if isinstance(part, ast.AnnAssign) and ast.unparse(part.target) == name]
    return ast.parse(ast.unparse(found[0].annotation), mode="eval").body if found else None


def _of_stub(stub: ast.FunctionDef, *, method: bool, returns: bool = True) -> str:
    arguments = ast.parse(ast.unparse(stub)).body[0].args  # type: ignore[attr-defined]
    is_static = any(ast.unparse(one) == "staticmethod" for one in stub.decorator_list)
    if method and not is_static:
        (arguments.posonlyargs or arguments.args).pop(0)
    spelled = _Spelled("lamella._C", [])
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg) and argument.annotation:
            argument.annotation = spelled.visit(argument.annotation)
    result = f" -> {ast.unparse(spelled.visit(stub.returns))}" if returns and stub.returns else ""
    text = ast.unparse(arguments).removeprefix("/, ")
    # ast leaves out the spaces around the default of an annotated argument.
    return f"({_spaced(arguments, text)}){result}"


def _spaced(arguments: ast.arguments, text: str) -> str:
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg) and argument.annotation:
            declared = ast.unparse(argument)
            text = text.replace(f"{declared}=", f"{declared} = ")
    return text


def signature(value: Any, *, method: bool = False, owner: str = "", classes: list[type] | None = None) -> str:
    """Returns the parameters of a function or class as they are written; those of a method without the object.

    Args:
        value: the function or class.
        method: True leaves the first parameter out.
        owner: the name of the class of a method.
        classes: gets the classes of Lamella that the result is annotated with.
    """
    kept: list[type] = []
    is_class = inspect.isclass(value)
    if is_class and issubclass(value, (enum.Enum, BaseException)) and "__init__" not in vars(value):
        return ""
    compiled = isinstance(value, _COMPILED)
    name = str(getattr(value, "__name__", ""))
    if compiled or (is_class and value in (getattr(lm._C, name, None), getattr(lm._C, f"_{name}", None))):
        stub = _stub("__new__" if is_class else name, name if is_class else owner)
        stub = stub or (_stub("__init__", name) if is_class else None)
        if stub is not None:
            return _of_stub(stub, method=method or is_class, returns=not is_class)
    called = value
    if not is_class and not inspect.isroutine(value):
        called = type(value).__call__
        method = True
    try:
        found = inspect.signature(called)
        if is_class and {p.kind for p in found.parameters.values()} == {_SEVERAL, _NAMED}:
            # A __new__ that passes all on.
            found = inspect.signature(value.__init__)
            found = found.replace(parameters=list(found.parameters.values())[1:])
    except (ValueError, TypeError):
        return "" if is_class else getattr(value, "__text_signature__", None) or "(...)"
    module = str(getattr(inspect.unwrap(called), "__module__", None) or "")
    if is_class:
        makers = [base for base in value.__mro__ if "__init__" in vars(base) or "__new__" in vars(base)]
        module = makers[0].__module__ if makers else module
    parameters = [
        p.replace(
            name=p.name.lstrip("_") if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) else p.name,
            annotation=_annotation(p.annotation, module, []),
            default=_default(p.default, p.name, value),
        )
        for p in found.parameters.values()
        if _shown(p)
    ]
    if method and parameters and parameters[0].name in ("self", "cls", "type"):
        del parameters[0]
    returns = inspect.Signature.empty if is_class else _annotation(found.return_annotation, module, kept)
    if classes is not None:
        classes += kept
    return str(found.replace(parameters=parameters, return_annotation=returns))


def attribute(name: str, value: Any, owner: type) -> str:
    """Returns an attribute with its type, where that is known."""
    getter = getattr(value, "fget", None) or getattr(value, "func", None)
    if getter is not None:
        annotation = _annotation(inspect.signature(getter).return_annotation, getter.__module__, [])
        return name if annotation is inspect.Signature.empty else f"{name}: {annotation}"
    stub = _stub(name, owner.__name__)
    kind = stub.returns if stub else _stubbed(name, owner.__name__)
    return f"{name}: {ast.unparse(_Spelled('lamella._C', []).visit(kind))}" if kind else name


def laid_out(declaration: str) -> str:
    """Returns a declaration with a line for each parameter if it is long."""
    if len(declaration) <= LONGEST:
        return declaration
    begin = declaration.index("(") + 1
    depth, end, parts = 0, begin, [""]
    while depth >= 0:
        letter = declaration[end]
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        elif depth >= 0:
            parts[-1] += letter
        end += depth >= 0
    return declaration[:begin] + "\n" + "".join(f"    {part.strip()},\n" for part in parts) + declaration[end:]


def comment(module: str, name: str) -> str:
    """Returns the comment ("#:") above the assignment that gives a name of a module its value."""
    found = _origin(module, name)
    if found is None or isinstance(found[1], (ast.ClassDef, ast.FunctionDef)):
        return ""
    lines = Path(str(importlib.import_module(found[0]).__file__)).read_text("utf-8").splitlines()
    at = found[1].lineno - 2
    above: list[str] = []
    while at >= 0 and lines[at].startswith("#: "):
        above.insert(0, lines[at].removeprefix("#: "))
        at -= 1
    return " ".join(above)
