"""Writes the pages of the API reference: the operators from their list, the Python modules from their docstrings."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import importlib
import inspect
import re
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from docs import declarations, operator_facts, references
from docs.where_is import ROOT, headers

import lamella as lm

#: Modules of the reference, in its order, with what each page is about.
MODULES = {
    "lamella": "Functions beside the operators, modes and types",
    "lamella.nn": "Modules, layers and losses",
    "lamella.nn.functional": "Layers as functions",
    "lamella.nn.init": "Starting values",
    "lamella.nn.utils": "Parameters: clipping, vectors, normalization, pruning",
    "lamella.nn.utils.rnn": "Packed sequences",
    "lamella.nn.utils.parametrize": "Parametrizations",
    "lamella.nn.utils.parametrizations": "Weights that are orthogonal, or of norm one",
    "lamella.nn.utils.prune": "Pruning",
    "lamella.optim": "Optimizers",
    "lamella.optim.lr": "Learning rate schedules",
    "lamella.optim.swa_utils": "Averages of weights",
    "lamella.autograd": "Gradients, derivatives and checks",
    "lamella.autograd.forward_ad": "Forward mode",
    "lamella.autograd.graph": "Nodes, and what they save",
    "lamella.distributions": "Probability distributions",
    "lamella.distributions.constraints": "Sets of parameters and values",
    "lamella.data": "Datasets and loaders",
    "lamella.distributed": "Several processes",
    "lamella.distributed.hooks": "Gradients sent in other forms",
    "lamella.sbp": "Signatures of global tensors",
    "lamella.io": "Files",
    "lamella.random": "Random numbers",
    "lamella.linalg": "Linear algebra",
    "lamella.fft": "Fourier transforms",
    "lamella.signal.windows": "Windows of signals",
    "lamella.amp": "Mixed precision",
    "lamella.graph": "Graphs",
    "lamella.static": "Static programs",
    "lamella.static.nn": "Layers of static programs",
    "lamella.onnx": "Export to ONNX",
    "lamella.profiler": "Profiles",
    "lamella.library": "Operators of your own",
    "lamella.ops": "Registered operators by name",
    "lamella.user_op": "Operators in numpy",
    "lamella.utils": "Progress bars, and devices of extensions",
    "lamella.utils.cpp_extension": "Extensions",
    "lamella.config": "Build and machine",
    "lamella.sysconfig": "Flags for compilers",
    "lamella.memory": "Memory",
    "lamella.cuda": "CUDA devices",
}
#: Begins each page of operators.
ABOUT_OPERATORS = """Each entry ends with facts that were found by calls:

- *Shapes* are those of the arguments and the result of the *example*, or what they may be.
- *Dtypes* are those of the arguments whose values count. *Integers* are int8, int16, int32, int64, uint8, uint16,
  uint32 and uint64, *floating* is float16, bfloat16, float32 and float64, *complex* is complex64 and complex128. Those
  that are converted first come last, with the dtype of the result.
- *Reference* is the expression of numpy (`np`) or scipy.special (`sp`) with which tests compare the numbers.
- *Gradients* names the arguments of the example to which its result has a gradient.
- *Raises* has errors that one changed argument of the example leads to.
"""
#: Stands before the names of operators in place.
IN_PLACE = """The name of an operator with `_` behind it writes the result into the first argument, which is returned.
RuntimeError for a leaf that wants a gradient, ValueError where the result has another shape, TypeError where its dtype
is of a higher kind than the argument's. Each is a method of tensors, too."""
_SECTION = re.compile(r"^(Args|Arguments|Attributes|Returns|Yields|Raises|Example|Examples|Source|Sources):\s*$")
_ROLE = re.compile(r":(?:class|func|meth|mod|attr|exc|data|obj):`[~.]?([^`]+)`")
_ITEM = re.compile(r"^(\*{0,2}[\w., |`*]+?)(?: \(([^)]*)\))?:\s+(.*)$")


#: Names in a text that are code: with an underscore within, or called without arguments.
_NAME = re.compile(
    r"(?<![\w`*./\\\"'-])((?:[A-Za-z]\w*\.)*"
    r"(?:[A-Za-z]\w*\(\)|_?[A-Za-z]\w*_\w*(?:\.\w+)*(?:\([^()`]{0,40}\)|=\w+)?)|lamella(?:\.\w+)+)(?![\w`(/-])"
)
#: Code, or emphasis of words.
_MARKED = re.compile(r"(`[^`]*`|(?<![\w*])\*[A-Za-z]+(?: [A-Za-z]+)*\*(?![\w*]))")
#: Modules with whose names those of operators begin.
_MODULES_OF_OPERATORS = ("linalg", "distributed", "fft")
#: A method that prints settings, which every layer has.
_PRINTED = "extra_repr"
#: What is shown as a class's methods and attributes.
_METHODS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)
_ATTRIBUTES = (property, functools.cached_property, types.GetSetDescriptorType)


def _spans(text: str) -> str:
    """Returns a docstring's text with Markdown's marks for code; a span of code may go over several lines."""
    text = _ROLE.sub(r"`\1`", text)
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    text = "".join(part if part.startswith("`") else _NAME.sub(r"`\1`", part) for part in re.split(r"(`[^`]*`)", text))
    parts = _MARKED.split(text)
    # Tags, and signs that emphasize no words, are meant as they are written.
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([*_\[\]])", r"\\\1", parts[i]).replace("<", "&lt;")
    return "".join(parts)


def _code(lines: list[str]) -> list[str]:
    """Returns a block of code, which is Python unless it cannot be."""
    text = inspect.cleandoc("\n".join(["", *lines]))
    try:
        ast.parse(text)
    except SyntaxError:
        return ["```text", *text.splitlines(), "```"]
    return ["```python", *text.splitlines(), "```"]


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Yields the lines of a docstring's part as Markdown: code after a "::", text otherwise."""
    at = 0
    text: list[str] = []
    while at < len(lines):
        line = lines[at].rstrip()
        if line.startswith(">>> "):
            end = next((i for i in range(at, len(lines)) if not lines[i].strip()), len(lines))
            session = [re.sub(r"\s*# doctest:.*", "", one) for one in lines[at:end]]
            yield from _spans("\n".join(text)).split("\n")
            yield from ["", "```pycon", *session, "```", ""]
            text, at = [], end
            continue
        at += 1
        if not line.endswith("::"):
            text.append(line)
            continue
        lead = line[:-1].rstrip()
        yield from _spans("\n".join([*text, "" if lead == ":" else lead])).split("\n")
        text = []
        block = []
        while at < len(lines) and (not lines[at].strip() or lines[at].startswith("    ")):
            block.append(lines[at])
            at += 1
        yield from ["", *_code(block), ""]
    if text:
        yield from _spans("\n".join(text)).split("\n")


def _items(lines: list[str]) -> list[str]:
    """Returns a list of arguments, attributes or exceptions as Markdown."""
    written = []
    for line in inspect.cleandoc("\n".join(["", *lines])).splitlines():
        item = _ITEM.match(line)
        if item and not line.startswith(" "):
            kind = f" ({item[2]})" if item[2] else ""
            written.append(f"- `{item[1].replace('`', '')}`{kind}: {item[3]}")
        elif line.strip():
            written.append(f"  {line.strip()}")
    return _spans("\n".join(written)).splitlines()


def markdown(docstring: str) -> str:
    """Returns a docstring as Markdown."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in inspect.cleandoc(docstring).splitlines():
        section = _SECTION.match(line)
        if section:
            parts.append((section[1], []))
        elif parts[-1][0] and line and not line.startswith(" "):
            parts.append(("", [line]))
        else:
            parts[-1][1].append(line)
    written: list[str] = []
    for name, lines in parts:
        if not name:
            written += _paragraphs(lines)
            continue
        body = inspect.cleandoc("\n".join(["", *lines])).splitlines()
        listed = name in ("Args", "Arguments", "Attributes", "Raises")
        code = name.startswith("Example")
        written += ["", f"**{name}**", ""]
        written += _items(lines) if listed else _code(body) if code else list(_paragraphs(body))
        written.append("")
    return "\n".join(written).strip() + "\n"


def _doc(value: Any) -> str:
    """Returns a docstring; an instance that is called, such as lamella.compile, has that of its class's __call__."""
    if inspect.isclass(value) or inspect.isroutine(value):
        return inspect.getdoc(value) or ""
    return inspect.getdoc(type(value).__call__) or inspect.getdoc(value) or ""


def first_sentence(text: str) -> str:
    """Returns the first sentence of a docstring."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    end = re.search(r"(?<!\be\.g)(?<!\bi\.e)(?<! al)(?<! \.)\. (?=[A-Za-z`-])", paragraph)
    return (paragraph[: end.start()] if end else paragraph.rstrip(".:")) + "."


@functools.cache
def homes() -> dict[int, tuple[str, str]]:
    """Returns the module whose page describes each class and function, and its name there, by id.

    It is the module that it is written in. What is written in none of these modules, or in the compiled part, is
    described on the first page that has it; the top level comes last.
    """
    found: dict[int, tuple[int, str, str]] = {}
    for name in [*[*MODULES][1:], "lamella"]:
        module = importlib.import_module(name)
        for member in _public(module):
            value = getattr(module, member)
            if not _described(value):
                continue
            written = str(getattr(value, "__module__", ""))
            rank = len(name) if name != "lamella" and f"{written}.".startswith(f"{name}.") else 0
            if id(value) not in found or rank > found[id(value)][0]:
                found[id(value)] = (rank, name, member)
    return {key: place for key, (_, *place) in found.items()}  # type: ignore[misc]


def _described(value: Any) -> bool:
    """True for what has an entry of its own: classes, functions and what is called like one."""
    if isinstance(value, types.GenericAlias):
        return False
    return inspect.isclass(value) or (callable(value) and (value.__doc__ != type(value).__doc__ or value is lm.compile))


def _parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def _shown_members(value: type) -> Iterator[tuple[str, Any]]:
    """Yields a class's methods and attributes that the entries of its bases do not describe.

    Bases without an entry count as parts of the class; what they add for the library's own use, beside what the next
    base with an entry has, is left out.
    """
    bases = [base for base in value.__mro__[1:] if base.__module__.startswith("lamella")]
    at = next((i for i, base in enumerate(bases) if id(base) in homes()), len(bases))
    parts, described = bases[:at], bases[at] if at < len(bases) else None
    internal = {name for part in parts for name in vars(part) if described and not hasattr(described, name)}
    seen: set[str] = set()

    def is_told(found: Any, name: str) -> bool:
        same = getattr(described, name, None)
        return inspect.isfunction(found) and inspect.isfunction(same) and _parameters(found) == _parameters(same)

    for part in (value, *parts):
        for name, found in vars(part).items():
            is_internal = name.startswith("_") or name in internal or (described is not None and name == _PRINTED)
            # A part does another way what the base's entry describes.
            if name not in seen and not is_internal and (part is value or not is_told(found, name)):
                yield name, found
            seen.add(name)


def _members(value: type, operators: set[str], classes: list[type] | None = None) -> Iterator[str]:
    """Yields a class's methods and attributes; operators have pages of their own."""
    left_out = False
    for member, found in _shown_members(value):
        function = found.__func__ if isinstance(found, (classmethod, staticmethod)) else found
        # Symbols of graphs and programs have each operator anew, as a function that records it.
        if isinstance(function, _METHODS) and member in operators and issubclass(value, lm.Tensor):
            left_out = True
            continue
        if isinstance(found, _ATTRIBUTES):
            declared = declarations.attribute(member, found, value)
        elif isinstance(function, _METHODS):
            signature = declarations.signature(function, method=True, owner=value.__name__, classes=classes)
            declared = f"{member}{signature}"
        else:
            continue
        # An attribute that a base describes is shown there.
        text = found.__doc__ if isinstance(found, _ATTRIBUTES) else inspect.getdoc(function)
        described = [vars(base)[member] for base in value.__mro__[1:] if member in vars(base) and id(base) in homes()]
        repeated = any(inspect.getdoc(one) == inspect.getdoc(found) for one in described)
        if text and not repeated:
            yield f"**`{declared}`**\n\n{markdown(text)}\n"
    if left_out:
        yield "Operators are methods, too, where their pages say so.\n\n"


def _bases(value: type) -> str:
    """Returns what a reader has to know of a class's bases."""
    if issubclass(value, enum.Enum):
        return f"An `Enum`: {', '.join(f'`{name}`' for name in value.__members__)}.\n\n"
    bases = [base for base in value.__mro__[1:] if id(base) in homes() or issubclass(base, BaseException)]
    if not bases:
        return ""
    home = homes().get(id(bases[0]))
    return f"Base: `{'.'.join(home) if home else bases[0].__name__}`.\n\n"


def _entry(name: str, value: Any, operators: set[str], classes: list[type]) -> Iterator[str]:
    kind = "class " if inspect.isclass(value) else ""
    declaration = declarations.laid_out(f"{kind}{name}{declarations.signature(value, classes=classes)}")
    yield f"## {name.rpartition('.')[2]}\n\n```python\n{declaration}\n```\n\n"
    yield markdown(_doc(value)) + "\n"
    if inspect.isclass(value):
        yield _bases(value)
    if not inspect.isroutine(value):
        yield from _members(value if inspect.isclass(value) else type(value), operators, classes)


def _public(module: types.ModuleType) -> Iterable[str]:
    def own(name: str) -> bool:
        value = getattr(module, name)
        home = str(getattr(value, "__module__", None) or module.__name__)
        # A class of a file with an underscore is shown where it is imported.
        package, private, _ = home.partition("._")
        shown = inspect.isclass(value) and private and module.__name__.startswith(f"{package}.")
        return not name.startswith("_") and (home.startswith(module.__name__) or bool(shown))

    names = getattr(module, "__all__", None) or [name for name in dir(module) if own(name)]
    return sorted(names, key=str.lower)


def _constant(name: str, member: str, value: Any) -> str:
    """Returns a line for a value: what it shows of itself, where that says more than the name, and its comment."""
    shown = "" if isinstance(value, (str, type(None))) else repr(value)
    if isinstance(value, types.GenericAlias):
        shown = re.sub(r"\b[a-z_.]+\.(?=[A-Z])", "", shown)
    is_name = shown.startswith("<") or shown.rpartition(".")[2].lower() in (member, member.replace("_", ""))
    said = declarations.comment(name, member)
    if not said and type(value).__module__.startswith("lamella"):
        said = first_sentence(str(vars(type(value)).get("__doc__")))
    about = "the dtype." if isinstance(value, lm.DType) else _spans(said)
    return ": ".join(part for part in (f"- `{member}`", "" if is_name or not shown else f"`{shown}`", about) if part)


def module_page(name: str, about: str, operators: dict[int, str]) -> str:
    """Returns the page of a module; operators, the pages of which are given by id, are named with links."""
    module = importlib.import_module(name)
    names = {page.rpartition("#")[2] for page in operators.values()}
    in_place = {f"{operator}_" for operator in names}
    # A long name is broken at its dots where the screen is narrow.
    title = name.replace(".", ".<wbr>")
    entries: list[str] = []
    called_operators, elsewhere, places, constants = [], [], [], []
    classes: list[type] = []
    for member in _public(module):
        value = getattr(module, member)
        home, called = homes().get(id(value), (name, member))
        if id(value) in operators:
            link = operators[id(value)]
            said = str(_infos()[link.rpartition("#")[2]]["doc"])
            called_operators.append(f"- [`{member}`]({link}): {_spans(first_sentence(said))}")
        elif name == "lamella" and member in in_place and inspect.isbuiltin(value):
            places.append(
                f"[`{member}`]({next(page for page in operators.values() if page.endswith(f'#{member[:-1]}'))})"
            )
        elif home != name:
            link = f"{home.replace('.', '-')}.md#{references.anchor(called)}"
            elsewhere.append(f"- [`{member}`]({link}): {_spans(first_sentence(_doc(value)))}")
        elif _described(value):
            entries += _entry(f"{name}.{member}", value, names | in_place, classes)
        elif member in getattr(module, "__all__", ()) and not inspect.ismodule(value):
            constants.append(_constant(name, member, value))
    # Results of functions whose class has no public name.
    for result in sorted({one for one in classes if id(one) not in homes()}, key=lambda one: one.__name__):
        has_fields = hasattr(result, "_fields") or dataclasses.is_dataclass(result)
        declaration = declarations.laid_out(f"class {result.__name__}{declarations.signature(result)}")
        entries.append(f"## {result.__name__}\n\n" + f"```python\n{declaration}\n```\n\n" * has_fields)
        entries += [markdown(_doc(result)), "\n", *_members(result, names | in_place)]
    written = [f"# {title}: {about}\n\n{markdown(module.__doc__ or '')}\n"]
    # The top level has all operators, which the contents show by families.
    if called_operators and name != "lamella":
        written += ["## Operators\n\n", "\n".join(called_operators), "\n\n"]
    written += entries
    if elsewhere:
        written += ["## Described elsewhere\n\n", "\n".join(elsewhere), "\n\n"]
    if places:
        written += [f"## In-place forms\n\n{IN_PLACE}\n\n", ", ".join(places), "\n\n"]
    if constants:
        written += ["## Constants\n\n", "\n".join(constants), "\n"]
    return "".join(written)


@functools.cache
def _infos() -> dict[str, dict[str, Any]]:
    return {str(info["name"]): info for info in lm._C.operators()}


@functools.cache
def _public_names() -> dict[int, str]:
    """Returns the names under which modules have operators, by id."""
    found: dict[int, str] = {}
    for name in MODULES:
        module = importlib.import_module(name)
        for member in _public(module):
            value = getattr(module, member)
            if not inspect.isbuiltin(value) or value.__name__ not in _infos() or name == "lamella":
                continue
            if id(value) not in found or value.__name__.startswith(name.rpartition(".")[2]):
                found[id(value)] = f"{name}.{member}"
    return found


def operator_pages() -> dict[str, str]:
    """Returns the page of each family of operators."""
    files = headers()
    families: dict[str, list[str]] = {}
    for name, info in sorted(_infos().items()):
        function = getattr(lm._C, name)
        # A function in Python may stand in front of the compiled one.
        front = getattr(lm, name, function)
        family = files[name].parent.name
        forms = [f"x.{name}(...)"] * bool(info["method"]) + [f"x.{name}_(...)"] * bool(info["in_place"])
        # Functions of a module may stand in front of operators, and give names to results.
        module, _, short = name.partition("_")
        fronts = getattr(getattr(lm, module), short, None) if module in _MODULES_OF_OPERATORS else None
        forms += [f"lm.{module}.{short}(...)"] * (fronts is not None and fronts is not function)
        call = operator_facts.example_call(info)
        facts = [f"- Shapes: {operator_facts.shapes(info, call)}", f"- Dtypes: {operator_facts.dtypes(info, call)}"]
        facts += [f"- Returns: `{info['returns']}`"]
        facts += [f"- Also: {', '.join(f'`{form}`' for form in forms)}"] if forms else []
        facts += [f"- Example: {operator_facts.example(info)}"]
        facts += [f"- Reference: `{info['reference']}`"] if info["reference"] else []
        facts += [f"- Gradients: {operator_facts.gradients(info, call)}"]
        facts += [f"- Source: `{files[name].relative_to(ROOT)}`"]
        refused = operator_facts.refusals(info, call)
        facts += ["", "**Raises**, as its example does with one argument changed:", ""]
        facts += [f"- {error.given}: {operator_facts.code(f'{error.error}: {error.message}')}" for error in refused]
        path = f"lamella.{name}"
        if module in _MODULES_OF_OPERATORS:
            path = _public_names().get(id(function), path)
        declaration = declarations.laid_out(f"{path}{declarations.signature(front)}")
        said = _spans(str(info["doc"])) if inspect.isbuiltin(front) else markdown(_doc(front))
        families.setdefault(family, []).append(
            f"## {name}\n\n```python\n{declaration}\n```\n\n{said}\n\n" + "\n".join(facts) + "\n"
        )
    return {
        family: f"# Operators: {family}\n\n{ABOUT_OPERATORS}\n" + "\n".join(entries)
        for family, entries in sorted(families.items())
    }


def searched(boost: float, title: str = "") -> str:
    """Returns the head of a page, which the search ranks higher (above 1) or lower than others, with its title."""
    named = f'title: "{title}"\n' if title else ""
    return f"---\n{named}search:\n  boost: {boost:g}\n---\n\n"


def write(folder: Path) -> list[tuple[str, str]]:
    """Writes all pages into a folder; returns the title and file name of each, in order."""
    folder.mkdir(parents=True, exist_ok=True)
    families = operator_pages()
    operators = {
        id(value): f"operators-{family}.md#{name}"
        for family, text in families.items()
        for name in re.findall(r"^## (\w+)$", text, re.MULTILINE)
        for value in (getattr(lm._C, name), getattr(lm, name, None))
        if value is not None
    }
    pages = {f"{name.replace('.', '-')}.md": module_page(name, about, operators) for name, about in MODULES.items()}
    pages |= {f"operators-{family}.md": text for family, text in families.items()}
    titles = [*MODULES, *(f"Operators: {family}" for family in families)]
    for title, (page, text) in zip(titles, references.linked(pages).items(), strict=True):
        # The contents show shorter titles, some of which stand for a module and for a family.
        boost = 3 if page.startswith("operators-") else 1
        (folder / page).write_text(searched(boost, title) + text, encoding="utf-8")
    return list(zip(titles, pages, strict=True))
