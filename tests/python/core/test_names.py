"""Names of PyTorch and Paddle that have another name here: what errors say of them, and what the page says."""

import copy
import importlib
import json
import pickle
import re
from pathlib import Path

import pytest

import lamella as lm
from lamella import _names

PAGE = Path(__file__).resolve().parents[3] / "docs" / "coming-from-pytorch.md"
FACTS = _names.FUNCTIONS


def there(path):
    value = lm
    for part in path.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("name", FACTS)
def test_what_a_function_is_called_is_there(name):
    assert callable(there(FACTS[name])) and not hasattr(lm, name)
    with pytest.raises(AttributeError, match=rf"no attribute '{name}': PyTorch's {name} is called lm.{FACTS[name]} "):
        getattr(lm, name)


@pytest.mark.parametrize("name", _names.PADDLE)
def test_what_a_function_of_paddle_is_called_is_there(name):
    assert callable(there(_names.PADDLE[name])) and name not in _names.FUNCTIONS
    with pytest.raises(AttributeError, match=rf"Paddle's {name} is called lm.{_names.PADDLE[name]} here"):
        getattr(lm, name)
    with pytest.raises(AttributeError, match=rf"Paddle's x.{name}\(...\) is "):
        getattr(lm.ones(2), name)
    with pytest.raises(AttributeError, match=r"for Paddle's x.place write x.device"):
        lm.ones(2).place  # noqa: B018


@pytest.mark.parametrize("name", _names.PHRASES)
def test_what_else_to_write(name):
    with pytest.raises(AttributeError, match=f"for PyTorch's {name} write ") as caught:
        getattr(lm, name)
    for path in re.findall(r"\blm\.([\w.]+)", str(caught.value)):
        there(path)


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package, names in _names.PACKAGES.items() for name in names]
)
def test_what_packages_lack(package, name):
    module = importlib.import_module(f"lamella.{package}")
    assert not hasattr(module, name)
    with pytest.raises(AttributeError, match=rf"for PyTorch's {package}.{name} write ") as caught:
        getattr(module, name)
    for path in re.findall(r"\blm\.([\w.]+)", str(caught.value)):
        there(path)
    with pytest.raises(AttributeError, match=rf"module 'lamella.{package}' has no attribute 'nosuch'$"):
        module.nosuch  # noqa: B018


@pytest.mark.parametrize("name", [*_names.METHODS, *_names.FUNCTIONS])
def test_methods_that_tensors_lack(name):
    x = lm.ones((2, 2))
    if name not in _names.METHODS and isinstance(vars(lm.Tensor).get(name), _names.Elsewhere) is False:
        assert hasattr(x, name)  # a method of this name is there
        return
    assert not hasattr(x, name) and not hasattr(lm.Tensor, name) and name not in dir(x)
    with pytest.raises(AttributeError, match=rf"'Tensor' object has no attribute '{name}': ") as caught:
        getattr(x, name)
    for path in re.findall(r"\blm\.([\w.]+)", str(caught.value).replace("lm.unique(x)", "")):
        there(path)
    for method in re.findall(r"\bx\.(\w+)\(", str(caught.value).partition("write")[2]):
        assert hasattr(x, method) or method == name, method


@pytest.mark.parametrize("axis", [(), (0,)])
def test_the_number_of_elements_is_no_function(axis):
    x = lm.ones([2, 3])
    with pytest.raises(TypeError, match=r"\[size\] the number of elements, 6, is no function: x.shape has the sizes"):
        x.size(*axis)
    number = x.size
    assert number == 6 and isinstance(number, int) and repr(number) == "6" and f"{number:03d}" == "006"
    for copied in (copy.copy(number), copy.deepcopy(number), pickle.loads(pickle.dumps(number)), number + 0):
        assert copied == 6 and type(copied) is int
    assert json.dumps([number]) == "[6]" and list(range(number)) == [0, 1, 2, 3, 4, 5] and {6: "six"}[number] == "six"


def test_other_names_are_missing_as_ever():
    with pytest.raises(AttributeError, match=r"module 'lamella' has no attribute 'nosuch'$"):
        lm.nosuch  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'nosuch'$"):
        lm.ones(1).nosuch  # noqa: B018


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: lm.nn.Softmax(dim=1), r"\[Softmax\] PyTorch's argument dim is called axis here"),
        (lambda: lm.nn.Flatten(start_dim=1), r"\[Flatten\] PyTorch's argument start_dim is called start_axis here"),
        (lambda: lm.nn.Linear(2, 2, dim=3), "unexpected keyword argument 'dim'"),
        (lambda: lm.optim.CosineAnnealingLR(None, T_max=3), r"\[CosineAnnealingLR\] .* T_max is called t_max here"),
    ],
)
def test_arguments_in_other_words(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_arguments_of_layers_of_ones_own():
    class Summed(lm.nn.Module):
        def __init__(self, dim, **options):
            super().__init__()
            self.dim = dim

    assert Summed(dim=3, keepdim=True).dim == 3 and copy.deepcopy(Summed(2)).dim == 2


def test_a_class_may_have_the_method():
    class Viewed(lm.Tensor):
        def view(self, *shape):
            return self.reshape(shape)

    assert Viewed(lm.ones(4)).view(2, 2).shape == (2, 2)
    parameter = lm.nn.Parameter(lm.ones(2))
    parameter.data = 3
    assert parameter.data == 3


def test_the_page_has_the_names():
    words = re.compile(r"`([a-z_0-9.]+)`")
    rows = [line.split("|") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    seen = 0
    for row in rows:
        theirs, ours = words.findall(row[1]), words.findall(row[2].partition("(")[0])
        if len(theirs) == len(ours) and "`" in row[1] and len(theirs) == row[1].count("`") / 2:
            for name, native in zip(theirs, ours, strict=True):
                if name in _names.FUNCTIONS:
                    seen += 1
                    assert _names.FUNCTIONS[name] == native, (name, native)
    assert seen > 35, seen


def test_the_page_for_those_who_come_from_others_names_what_is_there():
    text = PAGE.with_name("coming-from-others.md").read_text("utf-8")
    cells = [line.split("|")[2] for line in text.splitlines() if line.startswith("| ")]
    paths = re.findall(r"(?<![\w.])(?:lm\.|(?=nn\.|optim\.))((?!ops\.user_op)\w+(?:\.\w+)*)", " ".join(cells))
    assert len(paths) > 60
    importlib.import_module("lamella.utils.cpp_extension")
    for path in paths:
        there(path)
