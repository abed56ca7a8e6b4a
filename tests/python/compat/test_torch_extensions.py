"""Extensions in PyTorch's dialect, built with the headers of lamella.compat."""

import numpy as np
import pytest

import lamella as lm
from lamella import compat
from lamella.utils import cpp_extension
from support import extensions

from .torch_sources import SOURCE

pytestmark = pytest.mark.projects


@pytest.fixture(scope="module")
def ext(tmp_path_factory):
    extensions.need_compiler()
    return cpp_extension.load_inline(
        "lamella_test_torch",
        SOURCE,
        no_implicit_headers=True,
        extra_cflags=["-O0"],
        extra_include_paths=[compat.HEADERS],
        build_directory=tmp_path_factory.mktemp("build"),
    )


def parameter(*shape):
    return lm.rand(shape).requires_grad_()


def test_functions_of_tensors(ext):
    z = lm.tensor([0.5, -1.0], stop_gradient=False)
    s = 1 / (1 + np.exp([-0.5, 1.0]))
    y = ext.swish_slope(z)
    np.testing.assert_allclose(y.detach().numpy(), s * (1 - s) * [0.5, -1.0] + s, rtol=1e-6)
    y.sum().backward()
    assert z.grad is not None
    new, old, positive = ext.gates(lm.rand((2, 3)), lm.rand((4, 5)), lm.rand((4,)), lm.rand((2, 2)))
    assert (new.shape, old.shape, positive.tolist()) == ((2, 2), (2, 2), [[2.0, 2.0]])


def test_a_layer_with_an_optional_tensor(ext):
    x, w, b = parameter(2, 3), parameter(4, 3), parameter(4)
    with_bias = ext.linear(x, w, b)
    assert with_bias.grad_fn.name == "LinearFunction"
    np.testing.assert_allclose(with_bias.detach().numpy(), (x @ w.T + b).detach().numpy(), rtol=1e-6)
    dy = lm.rand((2, 4))
    with_bias.backward(dy)
    np.testing.assert_allclose(x.grad.numpy(), (dy @ w.detach()).numpy(), rtol=1e-5)
    np.testing.assert_allclose(w.grad.numpy(), (dy.T @ x.detach()).numpy(), rtol=1e-5)
    np.testing.assert_allclose(b.grad.numpy(), dy.numpy().sum(0), rtol=1e-6)
    for call in (ext.linear_undefined, lambda x, w: ext.linear(x, w, None)):
        w.clear_grad()
        call(x, w).backward(dy)
        np.testing.assert_allclose(w.grad.numpy(), (dy.T @ x.detach()).numpy(), rtol=1e-5)


def test_a_layer_of_a_list_with_data_of_other_kinds(ext):
    xs = [parameter(3), parameter(3)]
    *ys, count = ext.scaled(xs, 2.5, "plain")
    assert count.item() == 2 and count.stop_gradient
    (ys[0] + 2 * ys[1]).sum().backward()
    assert xs[0].grad.tolist() == [2.5] * 3 and xs[1].grad.tolist() == [5.0] * 3
    *ys, _ = ext.scaled(xs, 2.5, "too few")
    with pytest.raises(RuntimeError, match=r"\[Scaled\] backward returned 2 gradients, expected one for each of the 4"):
        ys[0].sum().backward()
    *ys, _ = ext.scaled(xs, 2.5, "too many")
    with pytest.raises(RuntimeError, match=r"gradient for argument 3, which is no tensor"):
        ys[0].sum().backward()
    *ys, _ = ext.scaled([x.detach() for x in xs], 2.0, "plain")
    assert ys[0].grad_fn is None


def test_a_layer_that_writes_in_place(ext):
    x = parameter(3)
    y = x * 1
    z = ext.in_place(y)
    assert z is y or z.tolist() == y.tolist()
    z.sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_registered_operators(ext):
    a, b = parameter(2, 3), parameter(2, 3)
    y = ext.muladd(a, b, 0.5)
    assert y.grad_fn.name == "MulAdd"
    np.testing.assert_allclose(y.detach().numpy(), a.detach().numpy() * b.detach().numpy() + 0.5, rtol=1e-6)
    y.sum().backward()
    assert a.grad.tolist() == b.tolist() and b.grad.tolist() == a.tolist()
    meta = ext.muladd(lm.empty((4, 2), device="meta"), lm.empty((4, 2), device="meta"), 1.0)
    assert (meta.device, meta.shape) == ("meta", (4, 2))
    x, y = lm.ones(2), lm.ones(2)
    assert ext.call_registered("add_into", x, y).tolist() == [2.0, 2.0] == x.tolist()
    assert ext.call_registered("twice", x, y).tolist() == [4.0, 4.0]
    assert ext.call_registered("boxed", x, y).tolist() == [3.0, 3.0]
    result = ext.call_registered("lists", x, y)
    assert (result.item(), result.dtype) == (2 * (2 + 2) * 2 * 3, lm.float64)
    with pytest.raises(RuntimeError, match="lamella_test_torch::none"):
        ext.call_registered("none", x, y)
    with pytest.raises(RuntimeError, match=r"sizes \[2, 3\] and \[2\] differ"):
        ext.muladd(a.detach(), x, 1.0)


def test_a_registered_operator_from_python(ext):
    if not hasattr(lm, "ops"):
        pytest.skip("this Lamella has no lm.ops")
    a, b = parameter(2), parameter(2)
    y = lm.ops.lamella_test_torch.muladd(a, b, c=0.5)
    y.sum().backward()
    assert a.grad.tolist() == b.tolist()


def test_methods_and_functions_of_tensors(ext):
    ext.check_tensor()


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("check", RuntimeError, r"x has the shape \[2, 3\]"),
        ("bare", RuntimeError, r'Expected kind != "bare" to be true, but got false'),
        ("value", ValueError, "a value"),
        ("index", IndexError, "an index"),
        ("not implemented", NotImplementedError, "not yet"),
        ("dispatch", NotImplementedError, "\"fails\" not implemented for 'Long'"),
        ("view", RuntimeError, r"cannot be viewed as \[-1\]: use reshape"),
        ("accessor", ValueError, "expected 3 axes"),
        ("data", TypeError, "float64"),
        ("item", ValueError, "one element"),
    ],
)
def test_errors(ext, kind, error, message):
    with pytest.raises(error, match=message):
        ext.fails(kind, lm.arange(6).reshape((2, 3)))


def test_dtypes_are_chosen(ext):
    for dtype in (lm.float32, lm.float64, lm.float16, lm.int32, lm.uint8):
        y = ext.half_of(lm.tensor([2, 4], dtype=dtype))
        assert (y.dtype, y.astype(lm.float64).tolist()) == (dtype, [1.0, 2.0])
    with pytest.raises(NotImplementedError, match="'Bool'"):
        ext.half_of(lm.ones(2, dtype=lm.bool))


def test_arguments_from_python(ext):
    assert ext.sizes((1, 2), 3) == ([1, 2], 3) and ext.sizes([], 0.5) == ([], 0.5)
    assert ext.sizes([4], True) == ([4], True) and ext.sizes([], 2j) == ([], 2j)
    assert ext.count([lm.ones(1), lm.ones(2)]) == 2
    for wrong in (lambda: ext.sizes(["x"], 1), lambda: ext.count([1]), lambda: ext.muladd(None, None, 1.0)):
        with pytest.raises(TypeError):
            wrong()


SCRIPT = """
import torch
from torch.utils.cpp_extension import load, load_inline

both = dict(build_directory=".", extra_cflags=["-O0"])
source = "torch::Tensor f(torch::Tensor x, const torch::Tensor& y) { return x.sin() + y.sin(); }"
module = load_inline(name="inline_extension", cpp_sources=[source], functions=["f"], **both)
x = torch.randn(4, 4)
torch.testing.assert_close(module.f(x, x), x.sin() + x.sin())
try:
    load_inline("broken", "int f( { }", **both)
except RuntimeError as error:
    assert "error: expected" in str(error) and "main.cpp" in str(error), error
else:
    raise AssertionError("a broken text was compiled")
try:
    module.f(x, 1)
except TypeError as error:
    assert "torch.Tensor" in str(error)
else:
    raise AssertionError("a number was taken for a tensor")
print("OK")
"""


def test_texts_of_a_program_written_for_torch(tmp_path):
    extensions.need_compiler()
    extensions.write(tmp_path, {"program.py": SCRIPT})
    assert extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path).strip() == "OK"


# The layout of PyTorch's tutorial on custom operators: a package with a module that only registers.
PROJECT = {
    "extension_op/__init__.py": "from . import _C, ops\n",
    "extension_op/ops.py": "from ._C import half\n",
    "extension_op/csrc/half.cpp": """
#include <torch/extension.h>
at::Tensor half(const at::Tensor& x) { return x / 2; }
TORCH_LIBRARY(lamella_test_extension_op, m) { m.def("half(Tensor x) -> Tensor", &half); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("half", &half); }
""",
    "setup.py": """
import os
import torch
from setuptools import find_packages, setup
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CppExtension, CUDAExtension

use_cuda = torch.cuda.is_available() and CUDA_HOME is not None and os.getenv("USE_CUDA", "0") == "1"
extension = CUDAExtension if use_cuda else CppExtension
assert torch.__version__ >= "2.6.0"
setup(
    name="extension_op",
    version="0.1",
    packages=find_packages(),
    ext_modules=[
        extension(
            "extension_op._C",
            ["extension_op/csrc/half.cpp"],
            extra_compile_args={"cxx": ["-O0", "-fdiagnostics-color=always"], "nvcc": ["-O0"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
""",
    "test.py": """
import torch
import extension_op
assert extension_op.ops.half(torch.ones(2)).tolist() == [0.5, 0.5]
print("OK")
""",
}


def test_pip_builds_a_wheel(tmp_path):
    extensions.need_wheels()
    folder = extensions.write(tmp_path / "project", PROJECT)
    wheel_command = ("-m", "pip", "wheel", "-q", "--no-deps", "--no-index", "-w", tmp_path / "wheels", ".")
    extensions.succeed("-m", "lamella.compat", *wheel_command, cwd=folder)
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    python = extensions.clean_environment(tmp_path / "env")
    extensions.install(wheel, python)
    test = folder / "test.py"
    (tmp_path / "elsewhere").mkdir()
    copied = tmp_path / "elsewhere" / "test.py"
    copied.write_text(test.read_text())
    assert extensions.succeed("-m", "lamella.compat", copied, cwd=tmp_path, python=python).strip() == "OK"
