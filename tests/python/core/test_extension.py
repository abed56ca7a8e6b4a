"""Extensions: tensors and layers in modules of others, compiled against the headers."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import lamella as lm
import lamella.sysconfig

SOURCE = """
#include <lamella/lamella.h>
#include <lamella/python.h>

using lamella::Context;
using lamella::Tensor;

struct Scaled : lamella::Function<Scaled> {
  static Tensor forward(Context& ctx, const Tensor& x, double scale) {
    Tensor y = scale * lamella::tanh(x);
    ctx.save_for_backward(y);
    ctx.saved_data()["scale"] = scale;
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [y] = ctx.saved_tensors<1>();
    const double scale = std::any_cast<double>(ctx.saved_data()["scale"]);
    return dy * (scale - y * y / scale);
  }
};

struct Pair {
  Tensor first;
  Tensor second;
};
struct Two : lamella::Function<Two> {
  static Pair forward(Context&, const Tensor& x, const std::vector<Tensor>& others, const std::string& mode) {
    if (mode == "raise") lamella::fail<lamella::ValueError>("[two] mode ", mode);
    return {x * 2, others.at(0) * 3};
  }
  static std::tuple<Tensor, std::vector<Tensor>> backward(Context&, const Tensor& a, const Tensor& b) {
    return {a * 2, {b * 3}};
  }
};

PYBIND11_MODULE(@name@, m) {
  lamella::python::bind_function<Scaled>(m, "scaled", "scaled(x, scale): scale * tanh(x)");
  lamella::python::bind_function<Two>(m, "two");
  m.def("twice", [](const Tensor& x) { return x * 2; });
  m.def("undefined", [] { return Tensor(); });
  m.def("same", [](const Tensor& x) { return x; });
  m.def("call", [](const pybind11::function& f, const Tensor& x) { f(x); });
  m.def("backward", [](const Tensor& x) { lamella::autograd::backward(x); });
  m.def("fail", [](const std::string& kind) {
    if (kind == "value") lamella::fail<lamella::ValueError>("[fail] value");
    if (kind == "type") lamella::fail<lamella::TypeError>("[fail] type");
    if (kind == "index") lamella::fail<lamella::IndexError>("[fail] index");
    if (kind == "runtime") lamella::fail<lamella::RuntimeError>("[fail] runtime");
    if (kind == "not implemented") lamella::fail<lamella::NotImplementedError>("[fail] not implemented");
    if (kind == "memory") lamella::fail<lamella::OutOfMemoryError>("[fail] memory");
  });
}
"""


def compile_extension(folder: Path, name: str, *flags: str) -> Path:
    pybind11 = pytest.importorskip("pybind11", reason="extensions are compiled with pybind11")
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    source = folder / f"{name}.cc"
    source.write_text(SOURCE.replace("@name@", name))
    target = folder / (name + sysconfig.get_config_var("EXT_SUFFIX"))
    includes = [*lamella.sysconfig.get_include(), pybind11.get_include(), sysconfig.get_path("include")]
    library = lamella.sysconfig.get_lib()
    command = [
        compiler,
        "-std=c++20",
        "-O0",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        *(f"-I{path}" for path in includes),
        *flags,
    ]
    command += [str(source), "-o", str(target), f"-L{library}", "-llamella", f"-Wl,-rpath,{library}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    path = compile_extension(tmp_path_factory.mktemp("extension"), "lamella_test_extension")
    spec = importlib.util.spec_from_file_location("lamella_test_extension", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_layer_in_cpp(extension):
    x = lm.tensor([0.5, -1.0], stop_gradient=False)
    for call in (extension.scaled, extension.scaled.apply):
        y = call(x, 2.0)
        assert y.grad_fn.name == "Scaled"
        y.sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 2 * (1 - np.tanh([0.5, -1.0]) ** 2), rtol=1e-6)
        x.clear_grad()
    assert isinstance(extension.scaled, type) and extension.scaled.__name__ == "scaled"
    assert extension.scaled.__doc__ == "scaled(x, scale): scale * tanh(x)"
    assert extension.scaled(lm.ones(2), 1).grad_fn is None


def test_containers_and_structs(extension):
    x, z = lm.tensor([1.0], stop_gradient=False), lm.tensor([2.0], stop_gradient=False)
    a, b = extension.two(x, [z], "plain")
    (a + b).backward()
    assert (a.item(), b.item(), x.grad.item(), z.grad.item()) == (2, 6, 2, 3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((), TypeError, r"\[scaled\] takes 2 arguments, 0 were given"),
        ((lm.ones(1), "x"), TypeError, r"\[scaled\] argument 1: expected float, got str"),
        ((1, 2.0), TypeError, r"\[scaled\] argument 0: expected lamella\.Tensor, got int"),
        ((None, 2.0), TypeError, r"argument 0"),
        ((np.ones(1), 2.0), TypeError, r"argument 0"),
    ],
)
def test_wrong_arguments(extension, arguments, error, message):
    with pytest.raises(error, match=message):
        extension.scaled(*arguments)
    with pytest.raises(TypeError, match="keyword"):
        extension.scaled(lm.ones(1), scale=2.0)


def test_tensors_in_functions(extension):
    x = lm.tensor([1.0], stop_gradient=False)
    assert extension.twice(x).grad_fn.name == "multiply" and extension.same(x) is x and extension.undefined() is None
    with pytest.raises(TypeError):
        extension.twice(3)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("value", ValueError),
        ("type", TypeError),
        ("index", IndexError),
        ("runtime", RuntimeError),
        ("not implemented", NotImplementedError),
        ("memory", MemoryError),
    ],
)
def test_exceptions(extension, kind, error):
    with pytest.raises(error, match=rf"\[fail\] {kind}"):
        extension.fail(kind)


def test_exceptions_of_layers_and_callbacks(extension):
    with pytest.raises(ValueError, match=r"\[two\] mode raise"):
        extension.two(lm.ones(1), [lm.ones(1)], "raise")
    with pytest.raises(IndexError):
        extension.two(lm.ones(1), [], "plain")

    class Mine(Exception):
        pass

    def fails(*_):
        raise Mine

    with pytest.raises(Mine):
        extension.call(fails, lm.ones(1))
    x = lm.tensor([1.0], stop_gradient=False)
    x.register_hook(fails)
    with pytest.raises(Mine):
        extension.backward(x * 2)


@pytest.mark.projects
def test_another_abi_is_an_import_error(tmp_path):
    compile_extension(tmp_path, "lamella_old_extension", "-DLAMELLA_ABI_VERSION=9999")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import lamella_old_extension"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "ImportError: this extension was built for ABI version 9999" in done.stderr
