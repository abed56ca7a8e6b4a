"""Makes functions and classes of another framework from Lamella's, by one line of a table for each name.

A line holds the framework's own signature and the native name behind it::

    cat(tensors, dim=0) -> concat

Without a signature the parameters are those of the native function, in the framework's words; a line may then hold
several names. From a line, source text is made and compiled, so that what a program calls is an ordinary function with
the framework's signature, which calls the native one directly.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, GenericAlias
from typing import Any, NamedTuple, Protocol

from lamella import Tensor
from lamella.compat.classes import finishing, initializer, pass_by

_POSITIONAL = inspect.Parameter.POSITIONAL_ONLY
_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD
_NAMED = inspect.Parameter.KEYWORD_ONLY
_STAR = inspect.Parameter.VAR_POSITIONAL
_STARS = inspect.Parameter.VAR_KEYWORD


class Line(NamedTuple):
    """One name of a table: its signature, or None for the native one, and the native name."""

    signature: str | None
    target: str


class Parameter(NamedTuple):
    """One parameter of a signature; the default is source text, or None where there is none."""

    name: str
    kind: Any
    default: str | None = None


@dataclass(frozen=True)
class Dialect:
    """The words of a framework.

    Attributes:
        words: by the framework's name of a parameter, the names that it may have natively.
        ignored: parameters that change nothing here: they are accepted, and passed on only where the native function
            has them.
        before: by parameter, a statement in front of the call, for parameters that change others.
        after: by parameter, an expression for the result; ``{result}`` stands for the call.
        helpers: what those statements and expressions name.
        extra: parameters that derived signatures have beside the native ones, with a native parameter that must be
            there for it, or "".
        own: parameters that are never passed on, even where the native function has them.
        in_place: parameters of ``extra`` that may be given by position, too, behind the native ones.
        also: other names by which parameters may be given, by the framework's name: numpy's, where it takes these.
        written: words that stand in the signatures of tables only, and in no derived one.
        base: returns a class in front of the native one that has the methods of all classes, or None.
        otherwise: is asked for the result of a call that the native function refuses: by the function, the arguments by
            position, and those by name. NotImplemented leaves the error as it is.
    """

    words: Mapping[str, tuple[str, ...]]
    ignored: frozenset[str] = frozenset()
    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    helpers: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    base: Callable[[], type] | None = None
    written: frozenset[str] = frozenset()
    otherwise: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] | None = None
    in_place: frozenset[str] = frozenset({"inplace"})
    also: Mapping[str, str] = field(default_factory=dict)

    @functools.cached_property
    def peer_words(self) -> dict[str, str]:
        """The framework's word by the native one; the first that says it counts."""
        words: dict[str, str] = {}
        for peer, natives in self.words.items():
            for native in natives if peer not in {"input", "other", *self.written} else ():
                words.setdefault(native, peer)
        return words


def parse_table(text: str, called: Mapping[str, str] | None = None) -> dict[str, Line]:
    """Returns the lines of a table by name. ``#`` begins a comment.

    Args:
        text: the table.
        called: what names are natively, where no arrow says so.

    Raises:
        ValueError: a name stands there twice.
    """
    lines: dict[str, Line] = {}
    for row in text.splitlines():
        left, _, target = row.partition("#")[0].strip().partition(" -> ")
        name, bracket, rest = left.partition("(")
        signature = rest.rpartition(")")[0] if bracket else None
        for each in [name.strip()] if bracket else name.split():
            if each in lines:
                raise ValueError(f"[parse_table] '{each}' stands there twice")
            lines[each] = Line(signature, target.strip() or (called or {}).get(each, each))
    return lines


def parse_signature(signature: str) -> list[Parameter]:
    """Returns the parameters of a signature, which is the text between its parentheses."""
    tree = ast.parse(f"def f({signature}): pass").body[0]
    assert isinstance(tree, ast.FunctionDef)
    arguments = tree.args
    places = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(places) - len(arguments.defaults)) + [ast.unparse(each) for each in arguments.defaults]
    found = [Parameter(each.arg, _EITHER, default) for each, default in zip(places, defaults, strict=True)]
    if arguments.vararg is not None:
        found.append(Parameter(arguments.vararg.arg, _STAR))
    for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(Parameter(each.arg, _NAMED, None if value is None else ast.unparse(value)))
    return found


def make_function(
    native: Callable[..., Any], name: str, signature: str | None, dialect: Dialect, *, module: str, filename: str
) -> Callable[..., Any]:
    """Returns a function with the framework's signature that calls ``native``.

    Args:
        native: the function behind it.
        name: the function's name.
        signature: the framework's signature, or None for the native one in the framework's words.
        dialect: the framework's words.
        module: the name of the module that shows the function.
        filename: the file that its code is said to come from.

    Raises:
        TypeError: the signature has a parameter without a default that neither the native function nor the dialect
            knows. Of others, the function takes the default only.
    """
    try:
        natives = list(inspect.signature(native).parameters.values())
    except ValueError:  # a function in C without a text for its signature takes what it takes
        return native
    parameters = _derived(natives, dialect) if signature is None else parse_signature(signature)
    for word in {"out", "name"} & set(dialect.extra):
        if all(each.name != word and each.kind is not _STARS for each in parameters):
            parameters.append(Parameter(word, _NAMED, "None"))
    helpers = {"_native": native, "_sizes": _sizes, **dialect.helpers}
    named, body = _with_other_names(parameters, dialect, name, helpers)
    head = _head(named)
    call = f"_native({_arguments(parameters, natives, dialect, name, helpers, body)})"
    given = {each.name for each in parameters}
    body += [line for word, line in dialect.before.items() if word in given]
    if "inplace" in given and not any(each.name == "inplace" for each in natives):
        first = parameters[0].name
        body += ["if inplace:", f"    return {first}.copy_({call.replace(f'({first}', f'({first}.clone()', 1)})"]
    for word, expression in dialect.after.items():
        if word in given and not any(each.name == word for each in natives):
            call = expression.format(result=call)
    if dialect.otherwise is None:
        body.append(f"return {call}")
    else:
        helpers["_otherwise"] = dialect.otherwise
        body += ["try:", f"    return {call}", "except Exception:", *_asking(parameters)]
    made = _compiled(name, head, body, helpers, filename)
    made.__globals__["_function"] = made
    made.__module__ = module
    made.__doc__ = native.__doc__
    return made


def _asking(parameters: list[Parameter]) -> list[str]:
    """Returns the statements that ask another for the result of a call that failed."""
    named = [each.name for each in parameters if each.kind is _NAMED]
    by_place = "".join(
        f"*_{each.name}, " if each.kind is _STAR else f"{each.name}, "
        for each in parameters
        if each.kind not in (_NAMED, _STARS)
    )
    by_name = ", ".join(f"{name!r}: {name}" for name in named)
    by_name += "".join(f", **{each.name}" for each in parameters if each.kind is _STARS)
    return [
        f"    _made = _otherwise(_function, ({by_place}), {{{by_name}}})",
        "    if _made is NotImplemented:",
        "        raise",
        "    return _made",
    ]


def _with_other_names(
    parameters: list[Parameter], dialect: Dialect, name: str, helpers: dict[str, Any]
) -> tuple[list[Parameter], list[str]]:
    """Returns a signature with the other names of its parameters behind it, and the statements that read these."""
    have = {each.name for each in parameters}
    found, behind, body = [], [], []
    for place, each in enumerate(parameters):
        other = dialect.also.get(each.name)
        needed_behind = any(p.default is None and p.kind is _EITHER for p in parameters[place + 1 :])
        if other is None or other in have or (each.default is None and needed_behind):
            found.append(each)
            continue
        behind.append(Parameter(other, _NAMED, "None"))
        if each.default is None:
            helpers.update(_given=_given, _nothing=_nothing)
            found.append(each._replace(default="_nothing"))
            body.append(f"if {each.name} is _nothing: {each.name} = _given({name!r}, {each.name!r}, {other})")
        else:
            found.append(each)
            body.append(f"if {other} is not None: {each.name} = {other}")
    return [*found, *behind], body


#: Stands for an argument that was not given.
_nothing = type("_Nothing", (), {"__repr__": lambda self: "..."})()


def _given(name: str, parameter: str, other: Any) -> Any:
    """Returns the argument that was given by its other name."""
    if other is None:
        raise TypeError(f"[{name}] missing the argument '{parameter}'")
    return other


def by_other_names(function: Callable[..., Any], also: Mapping[str, str]) -> Callable[..., Any]:
    """Returns a function whose arguments may be given by the other names of a dialect, too."""
    names = {other: own for own, other in also.items()}

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if not named.keys().isdisjoint(names):
            named = {names.get(name, name): value for name, value in named.items()}
        return function(*args, **named)

    return call


class AdaptedType(type(Protocol)):  # type: ignore[misc]
    """Type of adapted classes: objects of the native class are instances, too, as layers make such objects.

    It is one of the types of abstract classes and protocols, so that a class may be made of such a one and a layer.
    """

    def __instancecheck__(cls, value: object) -> bool:
        native = cls.__dict__.get("_native")
        return ABCMeta.__instancecheck__(cls, value) if native is None else type.__instancecheck__(native, value)

    def __subclasscheck__(cls, other: type) -> bool:
        native = cls.__dict__.get("_native")
        return ABCMeta.__subclasscheck__(cls, other) if native is None else type.__subclasscheck__(native, other)


def make_class(
    native: type,
    name: str,
    signature: str | None,
    dialect: Dialect,
    *,
    module: str,
    filename: str,
    base: type = object,
    above: Sequence[type] | None = None,
) -> type:
    """Returns a subclass of ``native`` whose constructor has the framework's signature.

    Args:
        native: the class behind it.
        name: the class's name.
        signature: the framework's signature, or None for the native one in the framework's words.
        dialect: the framework's words.
        module: the name of the module that shows the class.
        filename: the file that its code is said to come from.
        base: a class of methods that all classes of this table have.
        above: the classes that stand for base classes of the native one, where what Lamella makes is made an object of
            them (see :mod:`lamella.compat.classes`); elsewhere the class's metaclass finds that it is one.

    Raises:
        TypeError: the signature has a parameter without a default that neither the native class nor the dialect knows.
    """
    natives = list(inspect.signature(native.__init__).parameters.values())[1:]  # type: ignore[misc]
    members: dict[str, Any] = {"__module__": module, "__qualname__": name, "__doc__": native.__doc__, "_native": native}
    members["__annotations__"] = {}  # those of the native class name what its own module has
    if hasattr(native, "__class_getitem__"):  # what is in the brackets is for readers of the program
        members["__class_getitem__"] = classmethod(GenericAlias)
    if not any(each.kind in (_STAR, _STARS) for each in natives):
        parameters = _derived(natives, dialect) if signature is None else parse_signature(signature)
        if "name" in dialect.extra and all(each.name != "name" and each.kind is not _STARS for each in parameters):
            parameters.append(Parameter("name", _NAMED, "None"))
        helpers = {"_native_init": native.__init__, "_sizes": _sizes, **dialect.helpers}  # type: ignore[misc]
        body: list[str] = []
        arguments = _arguments(parameters, natives, dialect, name, helpers, body)
        given = {each.name for each in parameters}
        body += [line for word, line in dialect.before.items() if word in given]
        body.append(f"_native_init(self, {arguments})")
        for word, expression in dialect.after.items():
            if word in given and (word in dialect.own or not any(each.name == word for each in natives)):
                body.append(expression)
        made_init = finishing(_compiled("__init__", f"self, {_head(parameters)}", body, helpers, filename))
        members["__init__"] = made_init if above is None else initializer(made_init, native.__init__)  # type: ignore[misc]
    bases = (native,) if base is object or issubclass(native, base) else (base, native)
    if above is None or issubclass(native, Tensor):
        return AdaptedType(name, bases, members)
    if base is not object and any(issubclass(each, base) for each in above):
        # Their bases have it further behind: its methods come first from here.
        members.update((word, value) for word, value in vars(base).items() if callable(value))
        bases = (native,)
    kind: Any = type(native)
    made: type = kind(name, (*bases, *above), members)
    if any(each.default is inspect.Parameter.empty and each.kind is _EITHER for each in natives):
        pass_by(native, made)
    return made


def resolve(path: str, home: str) -> Any:
    """Returns what a dotted name means below a module.

    Raises:
        AttributeError: there is nothing of the name.
    """
    value: Any = importlib.import_module(home)
    for part in path.split("."):
        value = getattr(value, part)
    return value


def _sizes(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sizes given one by one, or as one list or tuple."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        return tuple(sizes[0])
    return sizes


def _only(name: str, parameter: str, default: Any, given: Any) -> None:
    raise NotImplementedError(f"[{name}] {parameter} is {default!r} here, which cannot be changed; got {given!r}")


def _derived(natives: list[inspect.Parameter], dialect: Dialect) -> list[Parameter]:
    """Returns native parameters in the framework's words; all but the last ones may be given by position."""
    found = []
    for place, each in enumerate(natives):
        name = dialect.peer_words.get(each.name, each.name)
        for word, positions in (("input", 0), ("other", 1)):
            if place == positions and each.name in dialect.words.get(word, ()):
                name = word
        if each.name == "x" and "x" in dialect.words:  # where the framework says x as well
            name = "x"
        kind = _EITHER if each.kind is _POSITIONAL else each.kind
        if kind is _NAMED and each.name in ("axis", "axes", "keepdims", "descending", "n", "k"):
            kind = _EITHER
        default = None if each.default is inspect.Parameter.empty else _text(each.default)
        found.append(Parameter(name, kind, default))
    have = {each.name for each in natives}
    rest = [found.pop()] if found and found[-1].kind is _STARS else []
    for word, needed in dialect.extra.items():
        if word not in have and (not needed or needed in have) and not rest:
            by_place = word in dialect.in_place and all(each.kind is _EITHER for each in found)
            found.append(Parameter(word, _EITHER if by_place else _NAMED, "None"))
    return found + rest


def _text(default: Any) -> str:
    return repr(default) if isinstance(default, (bool, int, float, str, tuple, type(None))) else "None"


def _head(parameters: list[Parameter]) -> str:
    """Returns the text of a signature; sizes one by one may be given under their name, too."""
    parts, starred = [], False
    for each in parameters:
        if each.kind is _STAR:
            parts += [f"*_{each.name}", f"{each.name}=None"]
            starred = True
            continue
        if each.kind is _STARS:
            parts.append(f"**{each.name}")
            continue
        if each.kind is _NAMED and not starred:
            parts.append("*")
            starred = True
        parts.append(each.name if each.default is None else f"{each.name}={each.default}")
    return ", ".join(parts)


def _arguments(
    parameters: list[Parameter],
    natives: list[inspect.Parameter],
    dialect: Dialect,
    name: str,
    helpers: dict[str, Any],
    body: list[str],
) -> str:
    """Returns the text of the native call's arguments; checks of what cannot be passed go into the body."""
    known = {each.name: each for each in natives if each.name not in dialect.own}
    passed: dict[str, str] = {}
    for place, each in enumerate(parameters):
        words = (each.name, *dialect.words.get(each.name, ()))
        if place < len(natives) and natives[place].name in words:
            words = (natives[place].name,)
        target = next((word for word in words if word in known and word not in passed), None)
        if target is None and place < len(natives) and natives[place].kind in (_POSITIONAL, _STAR):
            target = natives[place].name
        if target is None:
            if each.name in dialect.ignored or each.name in dialect.after or each.name in dialect.before:
                continue
            if each.name == "inplace":
                continue
            if each.default is None:
                raise TypeError(f"[{name}] the native function has no parameter for '{each.name}'")
            helpers["_only"] = _only
            body.append(
                f"if {each.name} != {each.default}: _only({name!r}, {each.name!r}, {each.default}, {each.name})"
            )
            continue
        text = each.name
        if each.kind is _STAR:
            text = f"(_sizes(_{each.name}) if {each.name} is None else {each.name})"
        elif each.default == "None" and known[target].default not in (None, inspect.Parameter.empty):
            # None asks for the default, whatever it is natively.
            helpers[f"_default_{target}"] = known[target].default
            text = f"_default_{target} if {each.name} is None else {each.name}"
        passed[target] = text
    return ", ".join(_call(natives, passed, name))


def _call(natives: list[inspect.Parameter], passed: dict[str, str], name: str) -> Iterator[str]:
    left_out = False
    for each in natives:
        if each.kind is _STARS:
            if each.name in passed:
                yield f"**{passed[each.name]}"
            continue
        if each.name not in passed:
            if each.kind is _POSITIONAL:
                if each.default is inspect.Parameter.empty:
                    raise TypeError(f"[{name}] nothing is given for the native parameter '{each.name}'")
                yield _text(each.default)
            left_out = left_out or each.kind is not _POSITIONAL
        elif each.kind is _STAR:
            yield f"*{passed[each.name]}"
        elif each.kind is _NAMED or (left_out and each.kind is _EITHER):
            yield f"{each.name}={passed[each.name]}"
        else:
            yield passed[each.name]


@functools.cache
def _code(source: str, filename: str) -> CodeType:
    return compile(source, filename, "exec")


def _compiled(name: str, head: str, body: list[str], helpers: dict[str, Any], filename: str) -> Callable[..., Any]:
    source = f"def {name}({head}):\n" + "".join(f"    {line}\n" for line in body)
    namespace = {**helpers, "__name__": __name__}
    exec(_code(source, filename), namespace)
    made: Callable[..., Any] = namespace[name]
    return made
