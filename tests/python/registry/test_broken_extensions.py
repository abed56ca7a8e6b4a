"""A broken extension of each kind: what is said of it, and that the process lives on.

What the schema parser and load_library() say of wrong registrations is in test_libraries.py, what there is to say of
operators in OneFlow's dialect in user_op/test_user_op_broken.py.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lamella as lm
from lamella.library import OpCheckError, custom_op, opcheck
from support import extensions
from support.libraries import compile_library
from support.user_ops import cache

KINDS = Path(__file__).parent / "sources" / "kinds.cc"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compile_library(tmp_path_factory.mktemp("kinds"), "kinds", KINDS.read_text("utf-8"))


@pytest.fixture
def ops(library):
    """The operators of sources/kinds.cc; one that is fine works after whatever happened in the test."""
    lm.ops.load_library(library)
    yield lm.ops.kinds
    assert lm.ops.kinds.fine(lm.ones([2])).tolist() == [1, 1]


def leaf(*values):
    return lm.tensor(values, dtype="float32", stop_gradient=False)


# --- Kernels in C++ --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "error", "words"),
    [
        ("no_kernel", NotImplementedError, ["there is no kernel for tensors on cpu", 'impl("no_kernel", CPU, ...)']),
        ("other_type", TypeError, ["the tensor is float32[2] on cpu, not float64"]),
        ("huge", MemoryError, ["cpu has no 4503599627370496 bytes left"]),
        ("typed", TypeError, ["[kinds::fine] typed: the function takes 2 arguments (Tensor, float), the schema has 1"]),
        ("nowhere", RuntimeError, ["there is no operator 'kinds::fin'; did you mean kinds::fine?"]),
        ("leaves", RuntimeError, ["the kernel for CPU left result 0 undefined"]),
        ("number", TypeError, ["the kernel for CPU gave a float as result 0, which is a Tensor in the schema"]),
        ("in_a_loop", RuntimeError, ["from a thread of the loop"]),
    ],
)
def test_kernels(ops, op, error, words):
    for _ in range(2):
        with pytest.raises(error) as caught:
            getattr(ops, op)(lm.ones([2]))
        text = str(caught.value)
        assert text.startswith(f"[kinds::{op}]") and all(word in text for word in words), text


def test_a_kernel_for_autograd_that_calls_itself(ops):
    for x in (lm.ones([2]), leaf(1, 1)):
        with pytest.raises(RuntimeError, match=r"a kernel calls itself.* opens an AutoDispatchBelowAutograd before"):
            ops.no_guard(x)


@pytest.mark.parametrize(
    ("op", "error", "message"),
    [
        ("too_few", ValueError, r"\[TooFew\] backward returned 1 gradient, expected 2, one for each tensor argument"),
        ("other_shape", ValueError, r"\[OtherShape\] .* a gradient of shape \[7\] for an input of shape \[2\]"),
        ("throws", RuntimeError, "backward's own words"),
    ],
)
def test_backward_passes(ops, op, error, message):
    x, y = leaf(1, 2), leaf(3, 4)
    with pytest.raises(error, match=message):
        getattr(ops, op)(x, y).sum().backward()
    (x * y).sum().backward()
    assert x.grad.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("op", "test", "message"),
    [
        ("lies", "test_fake", r"result 0 is float32\[1, 2, 3\] on meta, float32\[2\] on cpu"),
        ("returns_new_", "test_schema", "result 0 is not the argument 'x', which the schema says it is"),
        ("twice", "test_schema", "result 0 and result 1 share their memory; return a copy"),
        ("no_kernel", "test_fake", "there is no kernel for Meta"),
    ],
)
def test_promises_that_opcheck_finds_broken(ops, op, test, message):
    with pytest.raises(OpCheckError, match=message):
        opcheck(getattr(ops, op), (lm.ones([2]),), test_utils=test)


# --- Files -----------------------------------------------------------------------------------------------------------

# In a process of its own, for a file that is mapped beyond its end would take this one along.
LOAD = """
import sys
import lamella as lm
for path in sys.argv[2:]:
    try:
        lm.ops.load_library(path)
    except (RuntimeError, OSError) as error:
        print(type(error).__name__, error)
    else:
        print("loaded")
lm.ops.load_library(sys.argv[1])
print(lm.ops.kinds.fine(lm.ones([2])).tolist())
"""


def test_files_that_are_cut_off_or_for_other_machines(library, tmp_path):
    whole = library.read_bytes()
    texts = {}

    def write(name, data, text):
        (tmp_path / name).write_bytes(data)
        texts[name] = text

    write("empty.so", b"", "file too short")
    for part in (100, 5000, len(whole) // 2, len(whole) - 1):
        write(f"cut{part}.so", whole[:part], f"is cut off: it has {part} bytes, and its header speaks of")
    write(
        "machine.so", whole[:18] + b"\xf3\x00" + whole[20:], "was built for another kind of processor (ELF machine 243"
    )
    write("class.so", whole[:4] + b"\x01" + whole[5:], "wrong ELF class: ELFCLASS32")
    (tmp_path / "folder.so").mkdir()
    texts["folder.so"] = "Is a directory"
    command = [sys.executable, "-c", LOAD, library, *(tmp_path / name for name in texts)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()
    assert last == "[1.0, 1.0]" and len(lines) == len(texts)
    for line, (name, text) in zip(lines, texts.items(), strict=True):
        assert line.startswith("LibraryError [load_library]") and name in line and text in line, line


def shared(folder, name, *flags):
    """A library of next to nothing, made by the linker."""
    (folder / f"{name}.cc").write_text(f"int {name}() {{ return 0; }}")
    path = folder / f"lib{name}.so"
    command = ["g++", "-shared", "-fPIC", folder / f"{name}.cc", "-o", path, *flags]
    subprocess.run(command, check=True)
    return path


def test_a_library_that_registers_nothing(tmp_path):
    extensions.need_compiler()
    path = shared(tmp_path, "nothing")
    lm.ops.load_library(path)  # another library may need it
    with pytest.raises(
        AttributeError, match=rf"no operator of the namespace 'nothing'.* registering nothing: .*{path}"
    ):
        lm.ops.nothing.something  # noqa: B018


def test_a_library_that_needs_another(tmp_path):
    extensions.need_compiler()
    needed = shared(tmp_path, "needed")
    path = shared(tmp_path, "needs", "-Wl,--no-as-needed", f"-L{tmp_path}", "-lneeded")
    needed.unlink()
    with pytest.raises(RuntimeError, match=r"libneeded\.so: cannot open .*; a library that it needs is not found"):
        lm.ops.load_library(path)


def test_other_strings(tmp_path):
    source = 'LAMELLA_LIBRARY(other_strings, m) { m.def("x(Tensor x) -> Tensor"); }'
    path = compile_library(
        tmp_path, "strings", source, "-D_GLIBCXX_USE_CXX11_ABI=0", "-Wl,--unresolved-symbols=ignore-all"
    )
    with pytest.raises(RuntimeError, match=r"was built with _GLIBCXX_USE_CXX11_ABI=0, Lamella with 1: build it again"):
        lm.ops.load_library(path)


def test_a_library_that_is_no_module(tmp_path):
    from lamella.utils import cpp_extension

    extensions.need_compiler()
    (tmp_path / "plain.cc").write_text("int plain() { return 0; }")
    with pytest.raises(ImportError, match=r"PyInit_plain.*is_python_module=False"):
        cpp_extension.load("plain", tmp_path / "plain.cc", build_directory=tmp_path / "build")


# --- Operators in Python ---------------------------------------------------------------------------------------------


def scaled(name, **options):
    @custom_op(f"py_kinds::{name}", mutates_args=(), **options)
    def scale(x: lm.Tensor, factor: float) -> lm.Tensor:
        return lm.asarray(x.numpy() * factor)

    return scale


@pytest.mark.parametrize(
    ("backward", "error", "message"),
    [
        (lambda ctx, dy: (), ValueError, r"\[few\] backward returned 0 gradients, expected"),
        (lambda ctx, dy: (dy, None, dy), ValueError, r"\[few\] backward returned 3 gradients, expected"),
        (lambda ctx, dy: (dy.numpy(), None), TypeError, r"\[few\].*ndarray"),
        (lambda ctx, dy: (dy[:1], None), ValueError, r"\[few\] .* shape \[1\] for an input of shape \[2\]"),
        (lambda ctx: None, TypeError, r"takes 1 positional argument but 2 were given"),
        (lambda ctx, dy: 1 / 0, ZeroDivisionError, "division by zero"),
    ],
)
def test_gradients_in_python(backward, error, message):
    op = scaled("few")
    op.register_autograd(backward)
    x = leaf(1, 2)
    with pytest.raises(error, match=message):
        op(x, 2.0).sum().backward()
    op.register_autograd(lambda ctx, dy: (dy * 2, None))
    op(x, 2.0).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_setup_that_fails():
    op = scaled("setup")
    op.register_autograd(lambda ctx, dy: (dy, None), setup_context=lambda ctx, inputs, output: inputs[2])
    with pytest.raises(IndexError):
        op(leaf(1, 2), 2.0)
    assert op(lm.ones([1]), 2.0).tolist() == [2]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (np.ones(2), "the result: expected Tensor, got numpy.ndarray"),
        (object, "the result: expected Tensor, got type"),
        ((1, 2), "the result: expected Tensor, got tuple"),
    ],
)
def test_results_of_python_kernels(result, message):
    @custom_op("py_kinds::gives", mutates_args=())
    def gives(x: lm.Tensor) -> lm.Tensor:
        return result

    with pytest.raises(TypeError, match=message):
        gives(lm.ones([2]))


# --- Operators in folders --------------------------------------------------------------------------------------------

KERNEL = "broken_folder_py_kernel.py"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("def forward(args): return args[0] / 0 1", SyntaxError, "invalid syntax"),
        ("import no_such_module_anywhere", ModuleNotFoundError, "no_such_module_anywhere"),
        ("raise KeyError('while it is imported')", KeyError, "while it is imported"),
        ("forward = 3", ValueError, rf"{KERNEL} has no function for any of the operators .*'forward' computes"),
    ],
)
def test_kernel_files(tmp_path, text, error, message):
    folder = tmp_path / "broken_folder"
    folder.mkdir()
    (folder / KERNEL).write_text(text)
    module = lm.user_op.custom_op_module("broken_folder", tmp_path).py_kernel()
    with pytest.raises(error, match=message):
        module.build_load()
    assert "broken_folder_py_kernel" not in sys.modules or error is ValueError


DECLARATION = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("raising_forward").Attr<std::string>("device_sub_tag", "py").Input("x").Output("y")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
      return Maybe<void>::Ok();
    });
}
"""


def test_a_kernel_that_raises_and_one_that_is_not_there(tmp_path):
    folder = tmp_path / "raising"
    folder.mkdir()
    (folder / "raising_cpp_def.cpp").write_text(DECLARATION)
    (folder / "raising_py_kernel.py").write_text("def forward(args):\n    raise ArithmeticError('in the kernel')\n")
    with cache():
        module = lm.user_op.custom_op_module("raising", tmp_path).cpp_def().build_load()
        with pytest.raises(NotImplementedError, match=r"\[raising_forward\] is computed in Python"):
            lm.ops.user_op.raising_forward(lm.ones([2]))
        module.py_kernel().build_load()
    with pytest.raises(ArithmeticError, match="in the kernel") as caught:
        lm.ops.user_op.raising_forward(lm.ones([2]))
    assert caught.traceback[-1].path.name == "raising_py_kernel.py"
    with pytest.raises(RuntimeError, match=r"call py_api\(\) and build_load\(\) before api is used"):
        _ = module.api
