"""What is wrong with an operator is said, by name, and the process lives on."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

import lamella as lm
from lamella import sysconfig
from lamella.compat import HEADERS
from support.user_ops import SOURCES, built, load, use


@pytest.fixture(autouse=True, scope="module")
def library():
    load("broken")


@pytest.mark.parametrize(
    ("op", "kind", "words"),
    [
        ("b_no_infer", NotImplementedError, ["has no infer function", "SetTensorDescInferFn"]),
        ("b_no_shape", ValueError, ["left the shape of output 'y' unset"]),
        ("b_infer_typo", ValueError, ["no argument 'out'", "its inputs are 'x', its outputs 'y'"]),
        ("b_infer_error", ValueError, ["the infer function", "seven axes are wanted"]),
        ("b_no_kernel", NotImplementedError, ['REGISTER_USER_KERNEL("b_no_kernel")', "'b_no_kernal'"]),
        (
            "b_other_dtype",
            NotImplementedError,
            ["cpu with x float32", "(device type == gpu | !(data type of y == float32))", "broken.cpp:"],
        ),
        ("b_two_kernels", RuntimeError, ["2 kernels", "device tag == cpu", "always"]),
        ("b_unwritten", RuntimeError, ["left output 'y' unwritten"]),
        ("b_no_compute", NotImplementedError, ["overrides no Compute"]),
        ("b_writes_input", RuntimeError, ["'x' is an input"]),
        ("b_wrong_type", TypeError, ["'y' holds float32", "float64"]),
    ],
)
def test_forward(op, kind, words):
    with pytest.raises(kind) as error:
        use(op, {"x": lm.ones([2])}, {"y": 1})
    text = str(error.value)
    assert text.startswith(f"[{op}]") and all(word in text for word in words), text


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (np.array([1, 2]), "ndarray: its tolist"),
        (lm.ones([2]), "Tensor: its tolist"),
        (None, "NoneType"),
        (b"x", "bytes"),
        ([1, "a"], "list of int, str"),
        ((True, False), "tuple of bool"),
        ([np.ones(2)], "list of ndarray"),
    ],
    ids=str,
)
def test_values_that_no_attribute_takes(value, got):
    with pytest.raises(TypeError, match=rf"\[b_throws\] attribute 'shape' takes a bool, .*, not {got}"):
        use("b_throws", {"x": lm.ones([2])}, {"y": 1}, shape=value)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: lm.user_op.user_op_builder(3), r"\[user_op_builder\] name is a string, not int"),
        (lambda: lm.user_op.user_op_builder("u").Op(3), r"\[u\] Op\(\) takes the operator's name, .* not int"),
        (lambda: lm.user_op.user_op_builder("u").Op("b").Input(3, []), r"\[b\] Input\(\) .* not int"),
        (lambda: lm.user_op.user_op_builder("u").Op("b").Output(3), r"\[b\] Output\(\) .* not int"),
        (lambda: lm.user_op.user_op_builder("u").Op("b").Output("y", "a"), r"\[b\] output 'y' takes .* not 'a'"),
        (lambda: lm.user_op.user_op_builder("u").Op("b").Attr(3, 3), r"\[b\] Attr\(\) .* not int"),
    ],
)
def test_builders_that_are_told_no_names(wrong, words):
    with pytest.raises(TypeError, match=words):
        wrong()


@pytest.mark.parametrize(
    ("value", "words"), [(1.0, "the kernel's own words"), (-1.0, "check failed"), (0.0, "not a std::exception")]
)
def test_a_kernel_that_throws(value, words):
    with pytest.raises(RuntimeError, match=rf"\[b_throws\].*{words}"):
        use("b_throws", {"x": lm.full([2], value)}, {"y": 1})


@pytest.mark.parametrize(
    ("op", "kind", "words"),
    [
        ("b_no_gradient", NotImplementedError, ["REGISTER_USER_OP_GRAD"]),
        ("b_unknown_input", ValueError, ["binds input 'in'", "inputs are 'x'"]),
        ("b_unknown_output", ValueError, ["no output 'out'", "its inputs are 'x', its outputs 'y'"]),
        ("b_unknown_op", ValueError, ["no operator 'b_nowhere'"]),
    ],
)
def test_gradients(op, kind, words):
    x = lm.tensor([1.0, 1.0], stop_gradient=False)
    assert use(op, {"x": x.detach()}, {"y": 1}).tolist() == [1, 1]
    with pytest.raises(kind) as error:
        use(op, {"x": x}, {"y": 1}).sum().backward()
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.parametrize("op", ["b_fewer", "b_more", "b_list_fewer", "b_list_more", "b_right", "b_list_right"])
def test_a_gradient_that_asks_for_another_number_of_results(op):
    library = lm.library.Library("b_list")
    library.define("parts(Tensor x) -> Tensor[]")
    library.impl("parts", lambda x: [x * 1, x * 2], "CPU")
    x = lm.tensor([1.0, 1.0], stop_gradient=False)
    y = use(op, {"x": x}, {"y": 1}).sum()
    if op.endswith("right"):
        y.backward()
        assert x.grad.tolist() == [2.0 if "list" in op else 1.0] * 2
        return
    asked = "1" if "fewer" in op else "3"
    with pytest.raises(ValueError, match=rf"takes {asked} results? of 'g' .* gave 2|'y' is 2 tensors, {asked} w"):
        y.backward()
    assert x.grad is None


def test_a_second_derivative_that_nobody_wrote():
    x = lm.tensor([1.0, 1.0], stop_gradient=False)
    y = use("b_once", {"x": x}, {"y": 1})
    (first,) = lm.autograd.grad(y.sum(), [x], create_graph=True)
    assert first.tolist() == [1, 1]
    seed = lm.tensor([1.0, 1.0], stop_gradient=False)
    (again,) = lm.autograd.grad(use("b_once", {"x": x}, {"y": 1}), [x], [seed], create_graph=True)
    with pytest.raises(NotImplementedError, match=r"\[b_no_gradient\] has no gradient"):
        again.sum().backward()


def test_sbp():
    x = lm.zeros([2])
    with pytest.raises(ValueError, match=r"splits 'x' along axis 5, and it has 1 axis"):
        lm.user_op.sbp_signatures("b_sbp_axis", {"x": [x]})
    with pytest.raises(ValueError, match=r"does not say how 'y' lies"):
        lm.user_op.sbp_signatures("b_sbp_missing", {"x": [x]})


def test_loading_twice_is_fine(tmp_path):
    path = built("relu")
    lm.user_op.load_library(path)
    before = lm.ops.loaded_libraries
    lm.user_op.load_library(path)
    assert lm.ops.loaded_libraries == before
    copy = tmp_path / "copy.so"
    shutil.copy(path, copy)
    lm.user_op.load_library(copy)
    assert use("t_relu", {"in": lm.ones([1])}, {"out": 1}).tolist() == [1]


def compiled(tmp_path, source, *flags):
    target = tmp_path / f"{source.stem}.so"
    command = ["g++", str(source), "-shared", "-fPIC", *flags, f"-I{HEADERS}", *sysconfig.get_compile_flags()]
    subprocess.run([*command, "-o", str(target), *sysconfig.get_link_flags()], check=True)
    return target


def test_another_abi_version(tmp_path):
    path = compiled(tmp_path, SOURCES / "relu.cpp", "-DLAMELLA_ABI_VERSION=77")
    with pytest.raises(RuntimeError, match="was built for ABI version 77 of Lamella"):
        lm.user_op.load_library(path)


OTHER = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("%s").Input("in")%s;
}
"""


@pytest.mark.parametrize(
    ("op", "rest", "kind", "words"),
    [
        ("t_relu", '.Input("more").Output("out")', RuntimeError, ["t_relu", "relu.cpp", "other.cpp"]),
        ("o_names", '.Output("in")', ValueError, ["output 'in' has the name of another argument", "other.cpp:4"]),
        ("o_count", '.Output("out", 0)', ValueError, ["'out' is to be 0 tensors"]),
        (
            "o_default",
            '.Attr("a", UserOpAttrType::kAtInt32, std::string("x"))',
            TypeError,
            ["default of attribute 'a'", "kAtString", "kAtInt32"],
        ),
        ("not a name", '.Output("out")', ValueError, ["not a name"]),
    ],
)
def test_definitions_that_cannot_be(tmp_path, op, rest, kind, words):
    load("relu")
    source = tmp_path / "other.cpp"
    source.write_text(OTHER % (op, rest))
    with pytest.raises(kind) as error:
        lm.user_op.load_library(compiled(tmp_path, source))
    assert all(word in str(error.value) for word in words), error.value
    assert use("t_relu", {"in": lm.ones([1])}, {"out": 1}).tolist() == [1]


def test_no_library(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nosuch\.so"):
        lm.user_op.load_library(tmp_path / "nosuch.so")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(RuntimeError, match=r"text\.so"):
        lm.user_op.load_library(tmp_path / "text.so")


def test_the_sources_compile_without_warnings(tmp_path):
    compiled(tmp_path, SOURCES / "broken.cpp", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")


def test_flags_on_the_command_line():
    command = [sys.executable, "-m", "lamella.sysconfig", "--cflags", "--ldflags"]
    cflags, ldflags = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert cflags.split() == sysconfig.get_compile_flags() and cflags.endswith("-std=c++20")
    assert ldflags.split() == sysconfig.get_link_flags()
