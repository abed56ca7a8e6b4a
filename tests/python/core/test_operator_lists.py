"""The library has one list of operators: what else it knows of one by name stands in the operator's description."""

import ast
import re
from pathlib import Path

import pytest

from lamella import _C

ROOT = Path(__file__).resolve().parents[3]
OPERATORS = {info["name"] for info in _C.operators()}
#: Number of operators named in a row that makes a list.
FEW = 4
#: Lists that are the only place of what they say.
ALLOWED = {
    "ops/cpu/tables/reduce.h": "the one table of reductions",
    "python/lamella/_compile/_layers.py": "which of Python's functions layers call, some named as operators",
    "python/lamella/_names/paddle.py": "what Paddle has under names that mean nothing, or something else, here",
    "python/lamella/distributions/constraints.py": "which constraints there are, some with the name of an operator",
    "python/lamella/graph/_dynamic.py": "how operators are recorded that are given sizes which only runs know",
    "python/lamella/linalg/__init__.py": "which operators without the prefix belong to the package",
    "python/lamella/nn/functional.py": "which operators PyTorch has in the module of the same name",
    "python/lamella/onnx/_aliases.py": "which operators give views, which test_onnx_operators.py checks",
    "python/lamella/random.py": "which operators draw random numbers into new tensors",
}
#: Fronts, and converters for ONNX, translate the names of other systems; rules of splitting say what nothing else does.
FRONTS = ("python/lamella/compat/", "python/lamella/onnx/converters/", "python/lamella/distributed/rules/")


def lists_in_cpp(text):
    """The names in each braced list of texts, of pairs that begin with a text included."""
    for match in re.finditer(r'(?=\{(\s*(?=\{?")(?:[^{}]|\{[^{}]*\})*)\})', text):
        yield re.findall(r'(?:^|[{,])\s*"(\w+)"', match[1])


def lists_in_python(text):
    """The texts in each list, tuple, set, and among the keys of each dict."""
    for node in ast.walk(ast.parse(text)):
        items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        yield [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]


def has_list(path):
    lists = lists_in_python if path.suffix == ".py" else lists_in_cpp
    return any(len(OPERATORS.intersection(names)) >= FEW for names in lists(path.read_text("utf-8")))


def sources():
    for folder in ("engine", "ops", "python/bindings", "python/lamella"):
        yield from (path for path in (ROOT / folder).rglob("*") if path.suffix in (".h", ".cc", ".cu", ".py"))


def test_no_second_list_of_operators_is_kept_by_hand():
    found = {path.relative_to(ROOT).as_posix() for path in sources() if has_list(path)}
    assert {path for path in found if not path.startswith(FRONTS)} == set(ALLOWED)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.h", 'constexpr auto kAll = std::to_array<const char*>({"sum", "prod", "max",\n  "min"});'),
        ("a.cc", 'const Row rows[] = {{"sum", 1}, {"prod", 2}, {"max", 3}, {"tanh", 4}};'),
        ("a.py", 'ALL = {"sum": 1, "prod": 2, "max": 3, "min": 4}'),
        ("a.py", 'ALL = ("sum", "prod", "max", "min")'),
    ],
)
def test_a_list_is_found(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    assert has_list(tmp_path / name)
