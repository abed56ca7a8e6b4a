"""Operators registered in C++: loading them, calling them, and what is said about broken ones."""

import inspect
import os
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import lamella as lm
import lamella.sysconfig
from support.libraries import compile_library

SOURCE = """
static Tensor combine(const Tensor& a, const Tensor& b, double alpha) {
  Tensor y = lamella::empty_like(a);
  for (int64_t i = 0; i < a.numel(); ++i) y.data<float>()[i] = a.data<float>()[i] + float(alpha) * b.data<float>()[i];
  return y;
}
LAMELLA_LIBRARY(cpp_test, m) {
  m.def("combine(Tensor a, Tensor b, *, float alpha=1.0) -> Tensor");
  m.doc("combine", "a + alpha * b");
  m.def("twice_(Tensor(a!) x) -> Tensor(a!)");
  m.def("echo(int[] sizes, int[2] pair=3, float[] fs=[], bool[] bs=[], str[] ss=[], int? n=None, str mode=\\"m\\", "
        "Scalar s=1, dtype d=float32, Device? v=None)"
        " -> (int[], int[], float[], bool[], str[], int?, str, Scalar, dtype, Device?)");
  m.def("stack(Tensor[] xs, Tensor?[] ys=[]) -> (Tensor[] all, int count)");
  m.def("named(Tensor x) -> (Tensor first, Tensor second)");
  m.def("nothing(Tensor? x=None) -> ()");
  m.def("forgets(Tensor x) -> Tensor");
  m.def("throws(Tensor x, str kind) -> Tensor");
  m.def("alias(Tensor x) -> Tensor");
  m.def("over(Tensor x) -> str");
  m.def("over.number(float x) -> str");
}
LAMELLA_LIBRARY_IMPL(cpp_test, CPU, m) {
  m.impl("combine", combine);
  m.impl("twice_", [](Tensor& x) -> Tensor& {
    for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] *= 2;
    return x;
  });
  m.impl("stack", [](std::vector<Tensor> xs, const std::vector<std::optional<Tensor>>& ys) {
    int64_t count = 0;
    for (const auto& y : ys) count += y.has_value();
    return std::tuple(xs, count);
  });
  m.impl("named", [](const Tensor& x) { return std::tuple(x, x); });
  m.impl("nothing", [](const std::optional<Tensor>&) {});
  m.impl("forgets", [](const Tensor&) { return Tensor(); });
  m.impl("alias", [](const Tensor& x) { return x; });
  m.impl("throws", [](const Tensor& x, std::string_view kind) -> Tensor {
    if (kind == "std") throw std::runtime_error("it broke");
    if (kind == "int") throw 5;
    if (kind == "value") lamella::fail<lamella::ValueError>("a bad value");
    return x;
  });
  m.impl("over", [](const Tensor&) { return std::string("tensor"); });
  m.impl("over.number", [](double) { return std::string("number"); });
  m.impl("echo", [](std::vector<int64_t> sizes, std::array<int64_t, 2> pair, std::vector<double> fs,
                    std::span<const bool> bs, std::vector<std::string> ss, std::optional<int64_t> n, std::string mode,
                    lamella::Scalar s, lamella::DType d, std::optional<lamella::Device> v) {
    const std::vector<int64_t> both(pair.begin(), pair.end());
    return std::tuple(sizes, both, fs, std::vector<bool>(bs.begin(), bs.end()), ss, n, mode, s, d, v);
  });
}
LAMELLA_LIBRARY_IMPL(cpp_test, Meta, m) {
  m.impl("combine", [](const Tensor& a, const Tensor&, double) { return lamella::empty_like(a); });
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = compile_library(tmp_path_factory.mktemp("library"), "cpp_test", SOURCE)
    lm.ops.load_library(path)
    return path


@pytest.fixture(scope="module")
def ops(library):
    return lm.ops.cpp_test


def test_calls(ops):
    a, b = lm.ones([2, 3]), lm.full([2, 3], 2.0)
    np.testing.assert_array_equal(ops.combine(a, b).numpy(), np.full((2, 3), 3))
    np.testing.assert_array_equal(ops.combine(a, b=b, alpha=2).numpy(), np.full((2, 3), 5))
    np.testing.assert_array_equal(ops.combine(b=b, alpha=0.5, a=a).numpy(), np.full((2, 3), 2))
    meta = ops.combine(lm.empty([4], device="meta"), lm.empty([4], device="meta"))
    assert (meta.shape, meta.device) == ((4,), "meta")
    assert ops.combine.default(a, b).shape == (2, 3)


def test_every_type_arrives_and_comes_back(ops):
    assert ops.echo([1, 2]) == ([1, 2], [3, 3], [], [], [], None, "m", 1, lm.float32, None)
    given = ([], (4, 5), [1, 2.5], [True, False], ["a", "b"], 7, "ä", 2.5, lm.int64, "cpu")
    assert ops.echo(*given) == ([], [4, 5], [1.0, 2.5], [True, False], ["a", "b"], 7, "ä", 2.5, lm.int64, "cpu")
    assert ops.echo(np.array([1, 2]).tolist(), 1, d="float64", s=1 + 2j, v="cpu")[7:] == (1 + 2j, lm.float64, "cpu")
    x = lm.ones([1])
    stacked, count = ops.stack([x, x], [None, x, None])
    assert [y is x for y in stacked] == [True, True]
    assert count == 1
    named = ops.named(x)
    assert named.first is x and named.second is x
    assert ops.nothing() is None


def test_numbers_stand_for_each_other_as_in_pytorch(ops):
    """A truth is a number and a number a truth, a tensor of one element is what it holds, a dtype has a number."""
    one, two, true = lm.tensor([1.5]), lm.tensor(2), lm.tensor(True)
    sizes, pair, fs, bs, _, n, _, _, dtype, _ = ops.echo(
        [True, two, np.int64(3)], True, [True, one, 2], [1, 0.0, true, one, np.float32(0)], n=two, d=15
    )
    assert (sizes, pair, fs, n, dtype) == ([1, 2, 3], [1, 1], [1.0, 1.5, 2.0], 2, lm.bfloat16)
    assert bs == [True, False, True, True, False] and all(type(each) is int for each in sizes)
    assert ops.echo([1], n=True)[5] == 1 and ops.combine(lm.ones([1]), lm.ones([1]), alpha=two).tolist() == [3]


def test_in_place(ops):
    x = lm.ones([3])
    version = x._version
    assert ops.twice_(x) is x
    assert x.tolist() == [2, 2, 2]
    assert x._version == version + 1
    leaf = lm.tensor([1.0], stop_gradient=False)
    with pytest.raises(RuntimeError, match="leaf"):
        ops.twice_(leaf)
    assert leaf.tolist() == [1]


def test_overloads(ops):
    assert ops.over.overloads() == ["default", "number"]
    assert ops.over(lm.ones([1])) == "tensor"
    assert ops.over(2.0) == "number"
    assert ops.over.number(2) == "number"
    with pytest.raises(TypeError, match=r"(?s)fit none of its overloads.*over\(Tensor x\).*over\.number\(float x\)"):
        ops.over("text")
    with pytest.raises(AttributeError, match="nothing"):
        ops.over.nothing  # noqa: B018


def test_inspection(ops, library):
    op = ops.combine
    assert op.schema == "cpp_test::combine(Tensor a, Tensor b, *, float alpha=1.0) -> Tensor"
    assert repr(op) == f"<operator {op.schema}>"
    assert op.__doc__ == op.schema + "\n\na + alpha * b"
    assert str(inspect.signature(op)) == "(a: 'Tensor', b: 'Tensor', *, alpha: 'float' = 1.0) -> 'Tensor'"
    assert (op.name, op.overload, op.__name__, op.is_defined) == ("cpp_test::combine", "", "combine", True)
    assert sorted(op.kernels) == ["CPU", "Meta"]
    assert "cpp_test.cc" in op.place and "cpp_test.cc" in op.kernels["CPU"]
    assert op.has_kernel("CPU") and not op.has_kernel("CUDA")
    assert op == lm.ops.cpp_test.combine and hash(op) == hash(lm.ops.cpp_test.combine.default)
    assert {"combine", "over", "twice_"} <= set(dir(ops))
    assert "cpp_test" in dir(lm.ops) and "lamella" in dir(lm.ops)
    assert str(library) in lm.ops.loaded_libraries
    lm.ops.load_library(library)  # again


def test_without_a_gradient_backward_says_so(ops):
    x = lm.ones([2])
    x.stop_gradient = False
    y = ops.combine(x, lm.ones([2]))
    assert not y.stop_gradient
    assert y.grad_fn.name == "cpp_test::combine"
    with pytest.raises(NotImplementedError, match="no gradient is registered for cpp_test::combine; register one"):
        y.sum().backward()
    with lm.no_grad():
        assert ops.combine(x, x).stop_gradient


FOLLOWED = """
#include <lamella/lamella.h>
static Tensor on_memory(const Tensor& x) {
  Tensor y = lamella::empty_like(x);
  for (int64_t i = 0; i < x.numel(); ++i) y.data<float>()[i] = x.data<float>()[i] / 2;
  return y;
}
LAMELLA_LIBRARY(cpp_followed, m) {
  m.def("doubled(Tensor x) -> Tensor");
  m.def("halves(Tensor x) -> (Tensor, Tensor)");
  m.def("scale_(Tensor(a!) x, Tensor y) -> ()");
}
LAMELLA_LIBRARY_IMPL(cpp_followed, CPU, m) {
  m.impl("doubled", [](const Tensor& x) -> Tensor { return x * 2; });
  m.impl("halves", [](const Tensor& x) { return std::tuple<Tensor, Tensor>(x * 0.5, on_memory(x)); });
  m.impl("scale_", [](Tensor& x, const Tensor& y) { lamella::mul_(x, y); });
}
"""


def test_a_kernel_of_operators_is_differentiated_through(ops, tmp_path):
    lm.ops.load_library(compile_library(tmp_path, "followed", FOLLOWED))
    twice, ops = ops.twice_, lm.ops.cpp_followed
    x = lm.tensor([1.0, 2.0], stop_gradient=False)
    with pytest.warns(UserWarning, match=r"\[cpp_followed::doubled\] no kernel for Autograd is registered"):
        y = ops.doubled(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ops.doubled(x)  # says it once
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    with pytest.warns(UserWarning, match="halves"):
        first, second = ops.halves(x)
    x.grad = None
    first.sum().backward()
    assert x.grad.tolist() == [0.5, 0.5]
    with pytest.raises(NotImplementedError, match="no gradient is registered for cpp_followed::halves"):
        second.sum().backward()
    z = lm.ones([2])
    with pytest.warns(UserWarning, match="scale_"):
        ops.scale_(z, x)
    x.grad = None
    (z * z).sum().backward()
    assert x.grad.tolist() == [2, 4] and z.tolist() == [1, 2]
    y = x * 1
    assert twice(y) is not None and y.tolist() == [2, 4]
    with pytest.raises(NotImplementedError, match="no gradient is registered for cpp_test::twice_"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="leaf"):
        ops.scale_(x, z)


def test_modes_see_the_operator(ops):
    x = lm.ones([2])
    with lm.autograd.forward_ad.dual_level():
        dual = lm.autograd.forward_ad.make_dual(x, lm.ones([2]))
        with pytest.raises(NotImplementedError, match="no gradient is registered"):
            ops.combine(dual, x)
    with pytest.raises(RuntimeError, match=r"\[cpp_test::combine\] \[data\] inside of vmap"):
        lm.autograd.vmap(lambda row: ops.combine(row, row))(lm.ones([3, 2]))
    with lm.autocast("cpu"):
        assert ops.combine(x, x).tolist() == [2, 2]

    w = lm.tensor([1.0, 2.0], stop_gradient=False)
    y = lm.autograd.checkpoint(lambda w: lm.tanh(w) + ops.combine(w.detach(), x), w)
    y.sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), 1 - np.tanh([1.0, 2.0]) ** 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda ops, x: ops.combine(x), TypeError, r"\[cpp_test::combine\] missing argument 'b': cpp_test::combine\("),
        (lambda ops, x: ops.combine(x, x, 1.0), TypeError, r"takes 2 positional arguments, 3 were given"),
        (lambda ops, x: ops.combine(x, x, beta=1), TypeError, r"unexpected argument 'beta'"),
        (lambda ops, x: ops.combine(x, x, a=x), TypeError, r"two values for 'a'"),
        (lambda ops, x: ops.combine([1.0], x), TypeError, r"a: expected Tensor, got list \(lm.asarray makes a Tensor"),
        (lambda ops, x: ops.combine(None, x), TypeError, r"a: expected Tensor, got NoneType"),
        (lambda ops, x: ops.combine(x, x, alpha="1"), TypeError, r"alpha: expected float, got str"),
        (lambda ops, x: ops.combine(x, x, alpha=1j), TypeError, r"alpha: expected float, got complex"),
        (lambda ops, x: ops.combine(x, x, alpha=x), TypeError, r"alpha: expected float, got"),
        (lambda ops, x: ops.echo(3), TypeError, r"sizes: expected int\[\], got int"),
        (lambda ops, x: ops.echo([1.5]), TypeError, r"sizes: expected int\[\], got float"),
        (lambda ops, x: ops.echo([1], [1, 2, 3]), ValueError, r"a list of 2 was expected, got one of 3"),
        (lambda ops, x: ops.echo([1.0]), TypeError, r"sizes: expected int\[\], got float"),
        (lambda ops, x: ops.echo([lm.tensor(1.5)]), TypeError, r"sizes: expected int\[\], got"),
        (lambda ops, x: ops.echo([1], d=8), ValueError, r"d: there is no dtype 8"),
        (lambda ops, x: ops.echo([1], d=True), TypeError, r"d: expected dtype, got bool"),
        (lambda ops, x: ops.echo([1], bs=["a"]), TypeError, r"bs: expected bool\[\], got str"),
        (lambda ops, x: ops.echo([2**63]), ValueError, r"sizes: the integer does not fit into 64 bits"),
        (lambda ops, x: ops.stack([x, 1]), TypeError, r"xs: item 1 of Tensor\[\] is int"),
        (lambda ops, x: ops.stack(x), TypeError, r"xs: expected Tensor\[\], got"),
        (
            lambda ops, x: ops.forgets(x),
            RuntimeError,
            r"\[cpp_test::forgets\] the kernel for CPU left result 0 undefined",
        ),
        (lambda ops, x: ops.throws(x, "std"), RuntimeError, r"\[cpp_test::throws\] it broke"),
        (lambda ops, x: ops.throws(x, "int"), RuntimeError, r"\[cpp_test::throws\] an unknown C\+\+ exception"),
        (lambda ops, x: ops.throws(x, "value"), ValueError, r"\[cpp_test::throws\] a bad value"),
        (
            lambda ops, x: ops.alias(lm.empty([2], device="meta")),
            NotImplementedError,
            r"\[cpp_test::alias\] there is no kernel for tensors on meta; it has kernels for CPU\. Register one",
        ),
        (
            lambda ops, x: ops.combine(x, lm.empty([2], device="meta")),
            RuntimeError,
            r"several devices: 'a' on cpu, 'b' on meta",
        ),
        (
            lambda ops, x: ops.combin(x, x),
            AttributeError,
            r"no operator 'cpp_test::combin'; did you mean cpp_test::combine",
        ),
        (lambda ops, x: lm.ops.cpp_tset_.combine, AttributeError, r"no operator of the namespace 'cpp_tset_'"),
        (lambda ops, x: ops.combine.has_kernel("TPU"), ValueError, r"no dispatch key 'TPU'; the keys are CPU"),
        (lambda ops, x: type(ops.combine)(), TypeError, r"cannot create"),
    ],
)
def test_wrong_calls(ops, call, error, message):
    with pytest.raises(error, match=message):
        call(ops, lm.ones([2]))


def test_opcheck_finds_an_undeclared_alias(ops):
    with pytest.raises(lm.library.OpCheckError, match="shares the memory of the argument 'x'"):
        lm.library.opcheck(ops.alias, (lm.ones([2]),), test_utils="test_schema")
    assert ops.alias(lm.ones([2])).shape == (2,)


def test_threads_may_call_at_once(ops):
    x = lm.ones([50000])
    wrong = []

    def work():
        for _ in range(20):
            if ops.combine(x, x).sum().item() != 100000:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_lists_that_change_while_they_are_read(ops):
    sizes = []

    class Shrinks:
        def __index__(self):
            sizes.clear()
            return 1

    sizes += [Shrinks(), 2, 3]
    with pytest.raises(ValueError, match="changed while it was read"):
        ops.echo(sizes)


BROKEN = {
    "schema": (
        'LAMELLA_LIBRARY(broken_a, m) { m.def("fine(Tensor x) -> Tensor"); m.def("bad(Tensr x) -> Tensor"); }',
        ValueError,
        r"(?s)there is no type 'Tensr'.*\n  bad\(Tensr x\) -> Tensor\n      \^",
    ),
    "kernel": (
        'LAMELLA_LIBRARY(broken_b, m) { m.def("bad(Tensor x, int n) -> Tensor"); }\n'
        'LAMELLA_LIBRARY_IMPL(broken_b, CPU, m) { m.impl("bad", [](const Tensor& x, double) { return x; }); }',
        TypeError,
        r"the kernel for CPU \(.*broken_kernel.cc:2\): argument 1 \('n'\) is int in the schema, the function takes",
    ),
    "dangling": (
        'LAMELLA_LIBRARY_IMPL(broken_c, CPU, m) { m.impl("bad", [](const Tensor& x) { return x; }); }',
        RuntimeError,
        r"\[broken_c::bad\] .*gives it a kernel for CPU, and nobody defines it",
    ),
    "twice": (
        'LAMELLA_LIBRARY(broken_d, m) { m.def("bad(Tensor x) -> Tensor"); m.def("bad(Tensor y) -> Tensor"); }',
        RuntimeError,
        r"(?s)\[broken_d::bad\] is defined at .*broken_twice.cc:1 as.*and at .*broken_twice.cc:1 as",
    ),
    "kernels": (
        'LAMELLA_LIBRARY(broken_e, m) { m.def("bad(Tensor x) -> Tensor"); }\n'
        "LAMELLA_LIBRARY_IMPL(broken_e, CPU, m) {\n"
        '  m.impl("bad", [](const Tensor& x) { return x; });\n'
        '  m.impl("bad", [](const Tensor& x) { return x; });\n}',
        RuntimeError,
        r"has a kernel for CPU from .*:3, and gets another at .*:4",
    ),
    "owner": (
        'LAMELLA_LIBRARY(broken_f, m) { m.def("one(Tensor x) -> Tensor"); }\nLAMELLA_LIBRARY(broken_f, m) {}',
        RuntimeError,
        r"the namespace 'broken_f' is defined at .*:1 already, and again at .*:2; use LAMELLA_LIBRARY_FRAGMENT",
    ),
    "throws": (
        'LAMELLA_LIBRARY(broken_g, m) { m.def("one(Tensor x) -> Tensor"); throw 5; }',
        RuntimeError,
        r"unknown C\+\+ exception while the library was loaded",
    ),
    "impl": (
        'LAMELLA_LIBRARY_IMPL(broken_h, CPU, m) { m.def("bad(Tensor x) -> Tensor"); }',
        RuntimeError,
        r"def\(\) does not belong in a LAMELLA_LIBRARY_IMPL",
    ),
    "undefined": (
        'Tensor missing(const Tensor&);\nLAMELLA_LIBRARY(broken_i, m) { m.def("bad", &missing); }',
        RuntimeError,
        r"undefined symbol: .*missing.*; link it with Lamella",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_libraries_are_errors_and_leave_nothing(tmp_path, name):
    source, error, message = BROKEN[name]
    path = compile_library(tmp_path, f"broken_{name}", source)
    before = lm._C._operator_names("")
    for _ in range(2):  # it is closed again, so a second try tells the same
        with pytest.raises(error, match=message):
            lm.ops.load_library(path)
    assert lm._C._operator_names("") == before
    assert str(path) not in lm.ops.loaded_libraries


def test_a_library_for_another_version_runs_no_code(tmp_path):
    source = (
        "#include <cstdlib>\nstatic const int stop = (std::abort(), 0);\n"
        'LAMELLA_LIBRARY(other_version, m) { m.def("x(Tensor x) -> Tensor"); }'
    )
    path = compile_library(tmp_path, "other_version", source, "-DLAMELLA_ABI_VERSION=7")
    with pytest.raises(RuntimeError, match=r"built for ABI version 7 of Lamella, the one installed has \d+: build it"):
        lm.ops.load_library(path)


def test_files_that_are_no_libraries(tmp_path):
    with pytest.raises(TypeError, match=r"\[load_library\] path is a string or a path, not int"):
        lm.ops.load_library(3)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        lm.ops.load_library(tmp_path / "nothing.so")
    text = tmp_path / "text.so"
    text.write_text("no library")
    with pytest.raises(RuntimeError, match=r"text\.so"):
        lm.ops.load_library(text)
    cut = tmp_path / "cut.so"
    cut.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(57))
    with pytest.raises(RuntimeError, match=r"cut\.so"):
        lm.ops.load_library(cut)


def test_a_library_loaded_twice_under_two_names_is_the_same(library, ops, tmp_path):
    copy = tmp_path / "libcopy.so"
    shutil.copy(library, copy)
    lm.ops.load_library(copy)
    assert ops.combine(lm.ones([1]), lm.ones([1])).tolist() == [2]


def test_a_bad_library_loaded_by_others_is_told_of(tmp_path):
    path = compile_library(tmp_path, "foreign", 'LAMELLA_LIBRARY(foreign, m) { m.def("x(Tensr x) -> Tensor"); }')
    # In a process of its own: what it says stays pending.
    program = (
        "import ctypes, threading, lamella as lm\n"
        "def load():\n"
        f"    ctypes.CDLL({str(path)!r})\n"
        "{start}\n"
        "try:\n    lm.ops.foreign.x\nexcept AttributeError as error:\n    print(error)\n"
    )
    starts = {
        "try:\n    load()\nexcept ValueError as error:\n    print('raised', error)": "raised [schema]",
        # Python raises in the main thread only: the first look-up tells.
        "thread = threading.Thread(target=load); thread.start(); thread.join()": "",
    }
    for start, words in starts.items():
        line = [sys.executable, "-c", program.replace("{start}", start)]
        done = subprocess.run(line, capture_output=True, text=True, check=True)
        assert done.stdout.startswith(words) and "could not register itself" in done.stdout and "Tensr" in done.stdout


def test_headers_for_operators_are_thin(tmp_path):
    """What makes a small operator compile in a second: none of pybind11, Eigen and the operators comes along."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    (tmp_path / "x.cc").write_text("#include <lamella/library.h>\n")
    command = [compiler, *lamella.sysconfig.get_compile_flags(), "-M", str(tmp_path / "x.cc")]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    ours = [Path(name).resolve() for name in listed if "engine" in name or "ops" in name]
    assert ours and len(ours) < 60
    for heavy in ("pybind11", "Eigen", "Python.h", "/regex", "/iostream", "all_ops.h"):
        assert not any(heavy in name for name in listed), heavy
