"""Finds what operators do to shapes and what they refuse by calling them: each line of the reference is an outcome."""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import lamella as lm

#: Dtypes that are tried as arguments, in this order.
_DTYPES = ("bool", "int64", "float32", "complex64")
#: Values that no operator takes for a number, by the name of the parameter or for all others.
_NUMBERS = {"axis": 7, "dim": 7}
#: Dtypes by kind.
_KINDS = {
    "bool": ["bool"],
    "integers": ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"],
    "floating": ["float16", "bfloat16", "float32", "float64"],
    "complex": ["complex64", "complex128"],
}
#: Letters of a result that is shown.
_LONGEST = 160
#: Errors that are shown of an operator, and of one of its arguments.
_SHOWN, _OF_ONE = 8, 2


class Call(NamedTuple):
    """A call of an operator: a function with its arguments."""

    function: Callable[..., Any]
    positional: tuple[Any, ...]
    named: dict[str, Any]

    def run(self) -> Any:
        """Calls it."""
        return self.function(*self.positional, **self.named)


class Refusal(NamedTuple):
    """An argument that an operator refuses, and what it says."""

    given: str
    error: str
    message: str


class _Names(dict[str, Any]):
    """The names that examples use: those of Lamella, with what is loaded when it is first asked for."""

    def __missing__(self, name: str) -> Any:
        try:
            return getattr(lm, name)
        except AttributeError as error:
            raise KeyError(name) from error


def _value(part: ast.expr) -> Any:
    return eval(compile(ast.Expression(part), "example", "eval"), {}, _Names(lm=lm))


def example_call(info: dict[str, Any]) -> Call:
    """Returns the call of an operator that its example makes, with tensors for the operands of elementwise ones."""
    name = str(info["name"])
    calls = [node for node in ast.walk(ast.parse(str(info["example"]), mode="eval")) if isinstance(node, ast.Call)]
    named = [node for node in calls if ast.unparse(node.func).rpartition(".")[2] in name]
    node = named[0] if named else calls[0]
    function, positional = node.func, list(node.args)
    arguments: list[Any] = []
    for part in positional:
        arguments += _value(part.value) if isinstance(part, ast.Starred) else [_value(part)]
    found = _value(function)
    if isinstance(function, ast.Attribute) and isinstance(held := _value(function.value), lm.Tensor):
        found, arguments = getattr(lm._C, name), [held, *arguments]
    if info["elementwise"]:
        settings = info["settings"]
        arguments = [
            lm.full([2], x) if isinstance(x, (int, float)) and at < info["inputs"] and at not in settings else x
            for at, x in enumerate(arguments)
        ]
    return Call(found, tuple(arguments), {str(word.arg): _value(word.value) for word in node.keywords})


def _with_dtype(value: Any, dtype: str) -> Any:
    """Returns a tensor, or those in a list, in another dtype; for bools, a number as one as well."""
    if isinstance(value, lm.Tensor):
        return value.detach().astype(dtype)
    if isinstance(value, (list, tuple)) and value and all(isinstance(part, lm.Tensor) for part in value):
        return type(value)(part.astype(dtype) for part in value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return True if dtype == "bool" and is_number else value


def _results(call: Call, changed: set[str], names: list[str], dtype: str) -> list[str] | None:
    """Returns the dtypes of the results with some arguments in another dtype; None where that is refused."""
    given = [_with_dtype(x, dtype) if name in changed else x for name, x in zip(names, call.positional, strict=False)]
    given += call.positional[len(given) :]
    named = {word: _with_dtype(x, dtype) if word in changed else x for word, x in call.named.items()}
    try:
        with warnings.catch_warnings(), lm.no_grad():
            warnings.simplefilter("ignore")
            return [str(y.dtype) for y in _tensors(call._replace(positional=tuple(given), named=named).run())]
    except (ValueError, TypeError, IndexError, RuntimeError, NotImplementedError):
        return None


def _kinds(found: list[str]) -> str:
    """Returns dtypes in words: a kind in place of all that are of it."""
    words, left = [], list(found)
    for kind, members in _KINDS.items():
        if set(members) <= set(left):
            words.append(kind)
            left = [dtype for dtype in left if dtype not in members]
        elif some := [dtype for dtype in members if dtype in left]:
            words += some
    return ", ".join(words)


def dtypes(info: dict[str, Any], call: Call) -> str:
    """Returns the dtypes that an operator takes: those that it computes in, and those that it converts first.

    They are found by its example in each dtype: of the arguments that gradients flow to, or, where there are none, of
    all that have the first one's.
    """
    names = list(inspect.signature(getattr(lm._C, str(info["name"]))).parameters)
    declared = [str(dtype) for dtype in info["dtypes"]]
    given = dict([*zip(names, call.positional, strict=False), *call.named.items()])
    tensors = {name: next(_tensors(value)) for name, value in given.items() if any(True for _ in _tensors(value))}
    followed = set(re.findall(r"`(\w+)`", gradients(info, call)))
    first = {name for name, x in tensors.items() if x.dtype == next(iter(tensors.values())).dtype}
    changed = followed or first
    # What arrives from another process has the dtype that it was sent in.
    if not changed or str(info["name"]) == "distributed_recv":
        return _kinds(declared)
    numbers = {name for name, value in given.items() if isinstance(value, (int, float))} - {"axis", "dim"}
    own, converted = [], dict[str, list[str]]()
    for dtype in (one for members in _KINDS.values() for one in members):
        results = _results(call, changed, names, dtype) or _results(call, changed | numbers, names, dtype)
        if results is not None and (dtype in declared or dtype in results[:1]):
            own.append(dtype)
        elif results is not None:
            converted.setdefault(results[0] if results else "none", []).append(dtype)
    also = [f"also {_kinds(found)} (the result is {result})" for result, found in converted.items()]
    return "; ".join([*([_kinds(own)] if own else []), *also])


class _Qualified(ast.NodeTransformer):
    """Puts "lm." before the names of Lamella that an example uses."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        is_ours = node.id != "lm" and (hasattr(lm, node.id) and node.id not in ("float", "int"))
        return ast.Attribute(ast.Name("lm"), node.id) if is_ours else node


def example(info: dict[str, Any]) -> str:
    """Returns an operator's example as one would type it, with its result where that is always the same and short."""
    tree = _Qualified().visit(ast.parse(str(info["example"]), mode="eval"))
    text = ast.unparse(tree)
    before = lm.random.get_rng_state()
    with lm.no_grad():
        once, again = (" ".join(repr(eval(text, {"lm": lm})).split()) for _ in range(2))
    is_drawn = lm.random.get_rng_state() != before
    is_same = not is_drawn and once == again and len(once) <= _LONGEST and "empty" not in text
    return f"`{text}` → `{once}`" if is_same else f"`{text}`"


def code(text: str) -> str:
    """Returns a text as code; one that has marks of code itself stands between longer ones."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _text(shape: Any) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, lm.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)


def shapes(info: dict[str, Any], call: Call) -> str:
    """Returns what is known of the shapes of an operator's arguments and result."""
    if info["elementwise"]:
        return "any, which the result has" if info["inputs"] == 1 else "any that broadcast, to the result's"
    given = [_text(x.shape) for x in _tensors([*call.positional, *call.named.values()])]
    found = [_text(y.shape) for y in _tensors(call.run())]
    return f"`{' '.join([', '.join(given), '→', ', '.join(found)]).strip()}`, for example"


def _followed(value: Any) -> Any:
    """Returns tensors that have a gradient in the place of others."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_followed, value))
    if not isinstance(value, lm.Tensor) or str(value.dtype) == "bool":
        return value
    leaf = value.detach().astype("float32") if "int" in str(value.dtype) else value.detach()
    leaf.stop_gradient = False
    # Operators in place refuse leaves.
    return leaf * 1


def gradients(info: dict[str, Any], call: Call) -> str:
    """Returns the arguments of an operator's example to which its result has a gradient, each tried by itself."""
    names = list(inspect.signature(getattr(lm._C, str(info["name"]))).parameters)
    given = {name: x for name, x in [*zip(names, call.positional, strict=False), *call.named.items()] if name != "out"}
    found = []
    for place, (name, value) in enumerate(given.items()):
        positional = tuple(_followed(x) if at == place else x for at, x in enumerate(call.positional))
        named = {word: _followed(x) if word == name else x for word, x in call.named.items()}
        if not any(True for _ in _tensors(value)):
            continue
        with contextlib.suppress(ValueError, TypeError, IndexError, RuntimeError):  # numbers of elements are integers
            results = _tensors(call._replace(positional=positional, named=named).run())
            found += [f"`{name}`"] * any(not result.stop_gradient for result in results)
    return ", ".join(found) or "none in the example"


def _others(name: str, value: Any, kind: str) -> Iterator[tuple[str, Any]]:
    """Yields values to try in the place of an argument, each with the words for it."""
    if isinstance(value, lm.Tensor):
        if str(value.device) != "meta" and value.ndim:
            grown = [lm.concat([value, value], axis=axis) for axis in sorted({0, value.ndim - 1}, reverse=True)]
            tried = (
                [value[0], value.flatten()[0], *grown, value.reshape([1, *value.shape])]
                if value.size
                else [value.reshape([1, *value.shape])]
            )
            for other in tried:
                yield f"`{name}` of shape {_text(other.shape)}", other
        elif str(value.device) != "meta":
            yield f"`{name}` of shape [1, 1]", value.reshape([1, 1])
        for dtype in _DTYPES:
            if str(value.dtype) != dtype:
                with lm.no_grad():
                    yield (
                        f"`{name}` of {dtype}",
                        (lm.real(value) if "complex" in str(value.dtype) else value).astype(dtype),
                    )
        yield f"`{name}='text'`", "text"
    elif isinstance(value, (list, tuple)) and value and all(isinstance(part, lm.Tensor) for part in value):
        yield f"`{name}=[]`", []
        for words, other in _others(f"{name}[0]", value[0], kind):
            yield words, [other, *value[1:]]
    elif "str" in kind and "SupportsIndex" not in kind and "_DTypeLike" not in kind:
        yield f"`{name}='other'`", "other"
    elif isinstance(value, bool) or "bool" in kind:
        return
    elif "SupportsIndex" in kind or "float" in kind or "_complex" in kind:
        for number in (_NUMBERS.get(name, -1), 0, 7):
            yield f"`{name}={number}`", number


def _tried(info: dict[str, Any], call: Call) -> Iterator[tuple[str, Call]]:
    """Yields calls with one argument changed, each with the words for the change."""
    signature = inspect.signature(getattr(lm._C, str(info["name"])))
    parameters = list(signature.parameters.values())
    kinds = dict(zip(signature.parameters, info["types"], strict=False))
    across = str(info["name"]).startswith("distributed_")
    for place, parameter in enumerate(parameters):
        name, kind = parameter.name, str(kinds.get(parameter.name, ""))
        # Another process may be waited for by a changed tensor or tag.
        if across and name not in ("op", "axis", "root", "group", "to", "source"):
            continue
        if place < len(call.positional):
            for words, other in _others(name, call.positional[place], kind):
                changed = (*call.positional[:place], other, *call.positional[place + 1 :])
                yield words, call._replace(positional=changed)
        elif name == "out":
            yield "`out` of shape [7]", call._replace(named={**call.named, name: lm.zeros([7])})
        elif parameter.kind is not parameter.POSITIONAL_ONLY and name not in ("generator", "device", "dtype"):
            for words, other in _others(name, call.named.get(name), kind):
                yield words, call._replace(named={**call.named, name: other})


def refusals(info: dict[str, Any], call: Call) -> list[Refusal]:
    """Returns what an operator refuses when one argument of its example is changed, each kind of message once."""
    found: dict[str, Refusal] = {}
    counts: Counter[str] = Counter()
    for words, changed in _tried(info, call):
        try:
            with warnings.catch_warnings(), lm.no_grad():
                warnings.simplefilter("ignore")
                changed.run()
        except (ValueError, TypeError, IndexError, RuntimeError) as error:
            message = str(error).splitlines()[0]
            if not message.startswith("["):  # Python's own words, not the operator's
                continue
            about = words.split("`")[1].split("=")[0]
            alike = re.sub(r"\d+|bool|u?int\d+|b?float\d+|complex\d+", "#", message)
            if alike not in found and counts[about] < _OF_ONE:
                counts[about] += 1
                found[alike] = Refusal(words, type(error).__name__, message)
    # Everything refuses what is no tensor: told where there is nothing else to tell.
    telling = [refusal for refusal in found.values() if not refusal.given.endswith("='text'`")]
    return (telling or list(found.values()))[:_SHOWN]
