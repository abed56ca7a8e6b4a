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
X = lm.ones((2, 2))
#: Methods of PyTorch's tensors, without the underscore, that write in place under another name here, or not at all.
IN_PLACE = [
    *(name for name, native in FACTS.items() if hasattr(X, f"{native}_") and not hasattr(X, f"{name}_")),
    *_names.RESHAPED,
]
PADDLE = _names.paddle


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


@pytest.mark.parametrize("name", PADDLE.FUNCTIONS)
def test_what_a_function_of_paddle_is_called_is_there(name):
    assert callable(there(PADDLE.FUNCTIONS[name])) and name not in _names.FUNCTIONS
    with pytest.raises(AttributeError, match=rf"Paddle's {name} is called lm.{PADDLE.FUNCTIONS[name]} here"):
        getattr(lm, name)
    with pytest.raises(AttributeError, match=rf"Paddle's x.{name}\(...\) is "):
        getattr(lm.ones(2), name)


def expect_phrase(owner, name):
    """The owner lacks the name, and its error says what of the library, which is there, to write."""
    assert not hasattr(owner, name)
    with pytest.raises(AttributeError, match=rf"for (\w+'s )?([\w.]+\.)?{name}(\(.*\))? write ") as caught:
        getattr(owner, name)
    for path in re.findall(r"\blm\.(\w+(?:\.\w+)*)", str(caught.value)):
        there(path)
    return str(caught.value).rpartition(" write ")[2]


@pytest.mark.parametrize("package", PADDLE.PACKAGES)
def test_names_in_packages_of_paddle(package):
    module = importlib.import_module(f"lamella.{package}")
    for name in PADDLE.PACKAGES[package]:
        expect_phrase(module, name)
        with pytest.raises(ImportError, match=rf"cannot import name '{name}' from 'lamella.{package}': for "):
            exec(f"from lamella.{package} import {name}")
    with pytest.raises(ImportError, match=r"cannot import name 'nosuch' from 'lamella.[\w.]+' \("):
        exec(f"from lamella.{package} import nosuch")


def test_other_names_of_paddle():
    for name in PADDLE.PHRASES | PADDLE.OF_TENSORS:
        expect_phrase(lm, name)
    for name in PADDLE.IO:
        expect_phrase(lm.io, name)
    for name in ("Conv2D", "Conv1DTranspose", "BatchNorm3D", "AdaptiveAvgPool2D", "Dropout2D"):
        expect_phrase(lm.nn, name)
    assert expect_phrase(lm.nn.functional, "diag_embed") == "lm.diag_embed(x)"
    assert expect_phrase(lm.nn.functional, "lerp") == "lm.lerp"


@pytest.mark.parametrize(
    ("make", "table"),
    [
        (lambda: lm.nn.Linear(2, 2), PADDLE.OF_MODULES),
        (lambda: lm.optim.SGD([lm.nn.Parameter([1.0])]), PADDLE.OF_OPTIMIZERS),
        (lambda: lm.optim.StepLR(lm.optim.SGD([lm.nn.Parameter([1.0])]), 2), PADDLE.OF_SCHEDULES),
        (lm.amp.GradScaler, PADDLE.OF_SCALERS),
    ],
)
def test_methods_of_paddles_classes(make, table):
    made = make()
    for name in table:
        native = re.match(r"(\w+)\(", expect_phrase(made, name))
        assert native is None or native[1] == "type" or callable(getattr(made, native[1]))


def test_methods_of_paddles_tensors():
    for name in PADDLE.METHODS | PADDLE.OF_TENSORS:
        expect_phrase(lm.ones((2, 2)), name)
    for name in PADDLE.IN_PLACE:
        expect_phrase(lm.ones((2, 2)), name)
        expect_phrase(lm, name)


def test_names_that_mean_something_else_in_each():
    with pytest.raises(
        AttributeError, match=r"PyTorch's transpose is called lm.swapaxes here; for Paddle's .*permute_"
    ):
        lm.transpose  # noqa: B018


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
        (
            lambda: lm.nn.Conv2d(1, 1, 1, bias_attr=False),
            r"\[Conv2d\] for Paddle's argument bias_attr, give bias=",
        ),
        (
            lambda: lm.nn.LSTM(2, 2, direction="forward"),
            r"\[LSTM\] for Paddle's .* direction, .* batch_first=True",
        ),
        (lambda: lm.nn.LayerNorm(2, epsilon=1e-5), r"\[LayerNorm\] Paddle's argument epsilon is called eps here"),
        (
            lambda: lm.optim.Adam(parameters=[]),
            r"\[Adam\] Paddle's argument parameters is called params .* first",
        ),
        (lambda: lm.optim.Adam([], beta1=0.5), r"\[Adam\] for Paddle's argument beta1, give betas="),
        (lambda: lm.optim.Adam(0.1), r"\[Adam\] params is an iterable of tensors or of groups, not one float"),
        (lambda: lm.amp.GradScaler(init_loss_scaling=2.0), r"init_loss_scaling is called init_scale here"),
        (lambda: lm.autocast(level="O1"), r"\[autocast\] for Paddle's argument level, leave it out"),
        (lambda: lm.data.DataLoader([1], return_list=True), r"\[DataLoader\] for Paddle's argument return_list"),
        (lambda: lm.matmul(lm.ones(2), lm.ones(2), transpose_y=True), "for Paddle's argument transpose_y, write b.mT"),
        (lambda: lm.add(x=1, y=2), "Paddle's argument x is called a here, and is given by position"),
        (lambda: lm.smooth_l1_loss(lm.ones(2), lm.ones(2), delta=2.0), "argument delta, call lm.huber_loss"),
        (lambda: lm.nn.Sequential(("a", lm.nn.ReLU())), "names are given by a mapping, as in nn.Sequential"),
        (lambda: lm.nn.Linear(2, 2, dim=3), "unexpected keyword argument 'dim'"),
        (lambda: lm.optim.CosineAnnealingLR(None, T_max=3), r"\[CosineAnnealingLR\] .* T_max is called t_max here"),
        (lambda: lm.optim.StepLR(None, 3, verbose=True), r"\[StepLR\] for PyTorch's argument verbose, leave it out"),
        (lambda: lm.optim.Adam([], fused=True), r"\[Adam\] for PyTorch's argument fused, leave it out"),
        (lambda: lm.nn.Embedding(2, 2, sparse=True), r"\[Embedding\] for PyTorch's argument sparse, leave it out"),
        (
            lambda: lm.nn.MSELoss(size_average=False),
            r"\[MSELoss\] for PyTorch's argument size_average, write reduction",
        ),
        (lambda: lm.nn.Parameter(X, requires_grad=False), r"\[Parameter\] .* is the opposite of stop_gradient here"),
        (lambda: lm.tensor(1.0, requires_grad=True), r"\[tensor\] .* is the opposite of stop_gradient here"),
        (
            lambda: lm.data.DataLoader([1], in_order=True),
            r"\[DataLoader\] .* argument in_order, leave it out",
        ),
        (lambda: lm.nn.init.uniform_(X, a=-1, b=1), r"\[uniform_\] .* PyTorch's argument a is called low here"),
        (lambda: lm.nn.init.constant_(X, val=1), r"\[constant_\] .* for PyTorch's argument val, write value"),
        (lambda: lm.linalg.norm(X, dim=1), r"\[norm\] .* PyTorch's argument dim is called axis here"),
        (lambda: lm.fft.rfft(X, dim=1), r"\[rfft\] .* PyTorch's argument dim is called axis here"),
        (lambda: lm.fft.fftn(X, dim=1), r"\[fftn\] .* PyTorch's argument dim is called axes here"),
        (lambda: lm.vmap(abs, in_dims=0), r"\[vmap\] .* PyTorch's argument in_dims is called in_axes here"),
        (lambda: lm.io.load_torch("x", map_location="cpu"), r"\[load_torch\] .* argument map_location, leave it out"),
        (lambda: lm.max(X, dim=1), r"\[max\] .* dim is called axis here; it returns values alone, and lm.argmax"),
        (lambda: lm.sort(X, 1), r"\[sort\] takes 1 positional argument, 2 were given; .*\(x, /, \*, axis=-1"),
        (lambda: lm.var(X, dim=1), r"\[var\] .* dim is called axis here; without correction=1 it divides by n"),
        (lambda: lm.std(X, unbiased=False), r"\[std\] .* argument unbiased, write correction=1 for True"),
        (lambda: lm.roll(X, shifts=1, dims=0), r"\[roll\] .* shifts is called shift here"),
        (lambda: lm.flip(X, dims=[0]), r"\[flip\] .* dims is called axis here"),
        (lambda: lm.linspace(0, 1, steps=3), r"\[linspace\] .* steps is called num here"),
        (lambda: lm.triu(X, diagonal=1), r"\[triu\] .* diagonal is called k here"),
        (lambda: lm.nonzero(X, as_tuple=False), r"\[nonzero\] .* argument as_tuple, leave it out"),
        (lambda: lm.searchsorted(X, X, right=True), r"\[searchsorted\] .* argument right, write side='right'"),
        (lambda: lm.divide(X, X, rounding_mode="floor"), r"\[divide\] .* rounding_mode, write floor_divide"),
        (lambda: lm.grad(X, X, only_inputs=True), r"\[grad\] .* argument only_inputs, leave it out"),
        (lambda: lm.split(X, split_size_or_sections=1), r"\[split\] .* write how many parts there are"),
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

    class Rated(lm.nn.Module):
        def __init__(self, lr, **options):
            super().__init__()
            self.options = options

    assert Rated(1, learning_rate=2).options == {"learning_rate": 2}
    assert Summed(dim=3, keepdim=True).dim == 3 and copy.deepcopy(Summed(2)).dim == 2


def test_a_class_may_have_the_method():
    class Viewed(lm.Tensor):
        def view(self, *shape):
            return self.reshape(shape)

    assert Viewed(lm.ones(4)).view(2, 2).shape == (2, 2)
    parameter = lm.nn.Parameter(lm.ones(2))
    parameter.view = 3
    assert parameter.view == 3


def test_data_that_is_set_is_no_attribute_that_means_nothing():
    parameter = lm.nn.Parameter(lm.ones(2))
    with pytest.raises(
        AttributeError, match=r"'Parameter' object has no attribute 'data' to set: .* x.copy_\(values\)"
    ):
        parameter.data = lm.zeros(2)
    assert vars(parameter) == {}


def test_methods_in_place_that_tensors_have_are_listed():
    assert {"neg", "clamp", "unsqueeze"} <= set(IN_PLACE)


@pytest.mark.parametrize("name", IN_PLACE)
def test_methods_in_place_that_tensors_lack(name):
    x = lm.ones((2, 2))
    native = "T" if name == "t" else _names.FUNCTIONS.get(name, name)
    with pytest.raises(AttributeError, match=rf"PyTorch's x.{name}_\(...\) .*x.{native}"):
        getattr(x, f"{name}_")


@pytest.mark.parametrize("name", _names.OF_MODULES)
def test_methods_that_modules_lack(name):
    module = lm.nn.LSTM(2, 2)
    assert not hasattr(module, name)
    with pytest.raises(AttributeError, match=rf"'LSTM' object has no attribute '{name}': for PyTorch's {name} write "):
        getattr(module, name)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("from lamella import cat", "PyTorch's cat is called lm.concat here"),
        ("from lamella.autograd import Variable", "for PyTorch's autograd.Variable write lm.tensor"),
        ("from lamella.optim import lr_scheduler", "for PyTorch's optim.lr_scheduler write lm.optim"),
        ("import lamella.optim.lr_scheduler", "for PyTorch's optim.lr_scheduler write lm.optim"),
        ("from lamella.utils.data.distributed import DistributedSampler", "for PyTorch's utils.data write lm.data"),
        ("from lamella.cuda.amp import GradScaler", "for PyTorch's cuda.amp write lm.amp"),
        ("import lamella.func", "for PyTorch's func write lm.vmap"),
        *((f"import lamella.{path}", f"for PyTorch's {path} write lm.") for path in _names.MODULES),
    ],
)
def test_imports_of_what_is_elsewhere(statement, text):
    with pytest.raises(ImportError, match=re.escape(text)):
        exec(statement, {})


def test_other_imports_fail_as_ever():
    with pytest.raises(ImportError, match=r"^cannot import name 'nosuch' from 'lamella'"):
        exec("from lamella import nosuch", {})
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'lamella.nosuch'$"):
        importlib.import_module("lamella.nosuch")


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
