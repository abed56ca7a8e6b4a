"""Writes the pages of the API reference: the operators from their list, the Python modules from their docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ForwardRef

from docs import operator_facts
from docs.where_is import ROOT, headers

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
#: Letters of a declaration that a window of usual width shows in a line.
LONGEST = 80
#: Begins each page of operators.
ABOUT_OPERATORS = """Each entry ends with facts that were found by calls:

- *Shapes* are those of the arguments and the result of the *example*, or what they may be.
- *Reference* is the expression of numpy (`np`) or scipy.special (`sp`) with which tests compare the numbers.
- *Gradients* names the arguments of the example to which its result has a gradient.
- *Raises* has errors that one changed argument of the example leads to.
"""
_SECTION = re.compile(r"^(Args|Arguments|Attributes|Returns|Yields|Raises|Example|Examples|Source|Sources):\s*$")
_ROLE = re.compile(r":(?:class|func|meth|mod|attr|exc|data|obj):`~?([^`]+)`")
_ITEM = re.compile(r"^(\*{0,2}[\w., |`*]+?)(?: \(([^)]*)\))?:\s+(.*)$")


#: Code, or emphasis of words.
_MARKED = re.compile(r"(`[^`]*`|(?<![\w*])\*[A-Za-z]+(?: [A-Za-z]+)*\*(?![\w*]))")
#: What is shown as a class's methods and attributes.
_METHODS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)
_ATTRIBUTES = (property, types.GetSetDescriptorType)


def _spans(text: str) -> str:
    """Returns a docstring's text with Markdown's marks for code; a span of code may go over several lines."""
    text = _ROLE.sub(r"`\1`", text)
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
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


class _Plain(str):
    """A text that shows itself without quotes."""

    __repr__ = str.__str__


def _plain_annotation(annotation: Any) -> Any:
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    return _Plain(annotation) if isinstance(annotation, str) else annotation


def _plain_default(default: Any) -> Any:
    if inspect.isroutine(default):
        return _Plain(default.__name__)
    if isinstance(default, float) and default >= 1e6 and float(short := f"{default:g}".replace("e+", "e")) == default:
        return _Plain(short)
    # A dataclass makes it anew for each object.
    return _Plain("...") if repr(default) == "<factory>" else default


def _signature(value: Any, *, method: bool = False) -> str:
    """Returns the parameters of a function or class as they are written; those of a method without the object."""
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError):
        return "" if inspect.isclass(value) else getattr(value, "__text_signature__", None) or "(...)"
    parameters = [
        p.replace(annotation=_plain_annotation(p.annotation), default=_plain_default(p.default))
        for p in signature.parameters.values()
    ]
    returns = inspect.Signature.empty if inspect.isclass(value) else _plain_annotation(signature.return_annotation)
    if method and parameters and parameters[0].name in ("self", "cls", "type"):
        del parameters[0]
    return str(signature.replace(parameters=parameters, return_annotation=returns))


def _laid_out(declaration: str) -> str:
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


def _members(value: type, operators: set[str]) -> Iterator[str]:
    """Yields a class's own methods and attributes; operators have pages of their own."""
    left_out = False
    for member, found in vars(value).items():
        if member.startswith("_"):
            continue
        function = found.__func__ if isinstance(found, (classmethod, staticmethod)) else found
        if isinstance(function, types.MethodDescriptorType) and member in operators:
            left_out = True
            continue
        if isinstance(found, _ATTRIBUTES):
            getter = getattr(found, "fget", None)
            annotation = inspect.signature(getter).return_annotation if getter else inspect.Signature.empty
            kind = "" if annotation is inspect.Signature.empty else f": {_plain_annotation(annotation)}"
            declared = f"{member}{kind}"
        elif isinstance(function, _METHODS):
            declared = f"{member}{_signature(function, method=True)}"
        else:
            continue
        # An attribute that a base describes is shown there.
        text = found.__doc__ if isinstance(found, _ATTRIBUTES) else inspect.getdoc(function)
        if text:
            yield f"**`{declared}`**\n\n{markdown(text)}\n"
    if left_out:
        yield "Operators are methods, too, where their pages say so.\n\n"


def _entry(name: str, value: Any, operators: set[str]) -> Iterator[str]:
    kind = "class " if inspect.isclass(value) else ""
    declaration = _laid_out(f"{kind}{name}{_signature(value)}")
    yield f"## {name.rpartition('.')[2]}\n\n```python\n{declaration}\n```\n\n"
    yield markdown(inspect.getdoc(value) or "") + "\n"
    if inspect.isclass(value):
        yield from _members(value, operators)


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


def module_page(name: str, about: str, operators: dict[int, str]) -> str:
    """Returns the page of a module; operators, the pages of which are given by id, are named with links."""
    module = __import__(name, fromlist=["_"])
    names = {page.rpartition("#")[2] for page in operators.values()}
    names |= {f"{operator}_" for operator in names}
    # A long name is broken at its dots where the screen is narrow.
    title = name.replace(".", ".<wbr>")
    written = [f"# {title}: {about}\n\n{markdown(module.__doc__ or '')}\n"]
    elsewhere, constants = [], []
    for member in _public(module):
        value = getattr(module, member)
        if id(value) in operators:
            elsewhere.append(f"[`{member}`]({operators[id(value)]})")
        elif inspect.isclass(value) or (callable(value) and value.__doc__ != type(value).__doc__):
            written += _entry(f"{name}.{member}", value, names)
        elif member in getattr(module, "__all__", ()) and not inspect.ismodule(value):
            # A value is left out where it says no more than the name, or depends on the machine.
            shown = "" if isinstance(value, (str, type(None))) else repr(value)
            is_told = shown and not shown.startswith("<") and shown not in (member, f"{name}.{member}")
            constants.append(f"- `{member}`" + (f": `{shown}`" if is_told else ""))
    if constants:
        written += ["## Constants\n\n", "\n".join(constants), "\n"]
    if elsewhere and name != "lamella":
        written.append(f"## Operators\n\n{', '.join(elsewhere)}\n")
    return "".join(written)


def operator_pages() -> dict[str, str]:
    """Returns the page of each family of operators."""
    import lamella as lm

    files = headers()
    families: dict[str, list[str]] = {}
    for info in sorted(lm._C.operators(), key=lambda info: str(info["name"])):
        name = str(info["name"])
        function = getattr(lm._C, name)
        family = files[name].parent.name
        forms = [f"x.{name}(...)"] * bool(info["method"]) + [f"x.{name}_(...)"] * bool(info["in_place"])
        dtypes = ", ".join(map(str, info["dtypes"]))  # type: ignore[arg-type]
        call = operator_facts.example_call(info)
        facts = [f"- Shapes: {operator_facts.shapes(info, call)}", f"- Dtypes: {dtypes}"]
        facts += [f"- Returns: `{info['returns']}`"]
        facts += [f"- Also: {', '.join(f'`{form}`' for form in forms)}"] if forms else []
        facts += [f"- Example: `lm.{info['example']}`"] if info["example"] else []
        facts += [f"- Reference: `{info['reference']}`"] if info["reference"] else []
        facts += [f"- Gradients: {operator_facts.gradients(info, call)}"]
        facts += [f"- Source: `{files[name].relative_to(ROOT)}`"]
        refused = operator_facts.refusals(info, call)
        facts += ["", "**Raises**, as its example does with one argument changed:", ""]
        facts += [f"- {error.given}: `{error.error}: {error.message}`" for error in refused]
        declaration = _laid_out(f"lamella.{name}{_signature(function)}")
        families.setdefault(family, []).append(
            f"## {name}\n\n```python\n{declaration}\n```\n\n{_spans(str(info['doc']))}\n\n" + "\n".join(facts) + "\n"
        )
    return {
        family: f"# Operators: {family}\n\n{ABOUT_OPERATORS}\n" + "\n".join(entries)
        for family, entries in sorted(families.items())
    }


def searched(boost: float) -> str:
    """Returns the head of a page that the search ranks higher (above 1) or lower than others."""
    return f"---\nsearch:\n  boost: {boost:g}\n---\n\n"


def write(folder: Path) -> list[tuple[str, str]]:
    """Writes all pages into a folder; returns the title and file name of each, in order."""
    import lamella as lm

    folder.mkdir(parents=True, exist_ok=True)
    pages = []
    families = operator_pages()
    operators = {
        id(getattr(lm._C, name)): f"operators-{family}.md#{name}"
        for family, text in families.items()
        for name in re.findall(r"^## (\w+)$", text, re.MULTILINE)
    }
    for name, about in MODULES.items():
        page = name.replace(".", "-") + ".md"
        (folder / page).write_text(module_page(name, about, operators), encoding="utf-8")
        pages.append((name, page))
    for family, text in families.items():
        (folder / f"operators-{family}.md").write_text(searched(3) + text, encoding="utf-8")
        pages.append((f"Operators: {family}", f"operators-{family}.md"))
    return pages
