"""Devices whose backends and kernels do what they must not: an error says so, and the process lives on."""

import pytest

from support import devices, extensions
from support.libraries import compile_library
from support.toy_device import BACKEND

KERNELS = r"""
LAMELLA_LIBRARY_IMPL(lamella, PrivateUse1, m) {
  m.impl("multiply", [](const Tensor& a, const Tensor& b) -> Tensor {
    if (broken["throws"]) throw std::out_of_range("the kernel gave up");
    if (broken["odd"]) throw 3;
    if (broken["shape"]) return lamella::empty({7}, a.dtype(), a.device());
    if (broken["dtype"]) return lamella::empty(a.shape(), lamella::DType::Int8, a.device());
    if (broken["device"]) return lamella::empty(a.shape(), a.dtype());
    if (broken["declines"]) return {};
    if (broken["input"]) return a;
    if (broken["itself"]) {
      static const auto op = lamella::Dispatcher::singleton().find_schema_or_throw("lamella::multiply");
      lamella::registry::Arg args[] = {a, b};
      lamella::registry::Value result;
      op.call(args, &result);
      return result.take_tensor();
    }
    Tensor y = lamella::empty_like(a);
    for (std::int64_t i = 0; i < a.numel(); ++i) {
      reinterpret_cast<float*>(real(y.raw_data()))[i] =
          reinterpret_cast<float*>(real(a.raw_data()))[i] * reinterpret_cast<float*>(real(b.raw_data()))[i];
    }
    return y;
  });
}
"""
FALLBACK = """
LAMELLA_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(KernelFunction::boxed(lamella::host_fallback)); }
"""
OWN_FALLBACK = """
#include <vector>
static std::int64_t calls = 0;
static void counted(const lamella::registry::CallContext& context, std::span<const lamella::registry::Arg> args,
                    std::span<lamella::registry::Value> results) {
  ++calls;
  lamella::host_fallback(context, args, results);
}
LAMELLA_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(KernelFunction::boxed(counted)); }
LAMELLA_LIBRARY_FRAGMENT(toy, m) { m.def("calls() -> int", [] { return calls; }); }
"""

START = """
import sys
import lamella as lm
from support.devices import raises
lm.ops.load_library(sys.argv[1])
def breaks(what, value=True):
    lm.ops.toy.breaks(what, value)
"""


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    extensions.need_compiler()
    folder = tmp_path_factory.mktemp("toys")
    built = {}

    def get(*parts, name="toy", count=2):
        key = (*parts, name, count)
        if key not in built:
            flags = (f"-DNAME={name}", f"-DCOUNT={count}", f'-DLAMELLA_TEXT(x)="{name}"')
            source = BACKEND + "".join(parts)
            built[key] = compile_library(folder, f"device{len(built)}", source, *flags)
        return built[key]

    return get


def test_nothing_but_the_backend(build):
    """Without kernels and a fallback there are tensors, copies and views."""
    devices.succeed(
        START
        + """
x = lm.tensor([[1.0, 2.0], [3.0, 4.0]], device="toy:1")
assert x.T.contiguous().tolist() == [[1, 3], [2, 4]] and repr(x).endswith("device='toy:1')")
assert lm.ones([2], device="toy").tolist() == [1, 1] and lm.arange(3, device="toy").tolist() == [0, 1, 2]
assert x.to("toy:0").to("toy:1").astype("int32").tolist() == [[1, 2], [3, 4]]
x[:, 0] = 9.0
assert x.tolist() == [[9, 2], [9, 4]]
for f in (lambda: x + 1, lambda: x @ x, lambda: x.sum(), lambda: lm.softmax(x, 1), lambda: lm.sort(x),
          lambda: lm.exp(x),
          lambda: lm.conv1d(x[None], x[None]), lambda: lm.linalg.inv(x), lambda: x[x > 2], lambda: lm.fft.fft(x),
          lambda: x.fill_(2.0) * 2):
    raises(NotImplementedError, f, "its extension has kernels for no built-in operator, and no fallback")
raises(NotImplementedError, lambda: lm.exp(x), "[exp] has no kernel for device toy:1")
""",
        arguments=(str(build()),),
    )


def test_kernels_without_a_fallback(build):
    devices.succeed(
        START
        + """
x = lm.tensor([1.0, 2.0], device="toy", stop_gradient=False)
y = (x * x) * x
assert y.tolist() == [1, 8]
raises(NotImplementedError, lambda: x + 1, "has kernels for multiply, and no fallback. Register one with impl(")
raises(NotImplementedError, lambda: y.backward(lm.ones([2], device="toy")), "add")  # two gradients meet
(g,) = lm.grad((x * 3.0), [x], [lm.ones([2], device="toy")])
assert g.tolist() == [3, 3]
for what, text in (("shape", "returned float32[7] on toy:0, where float32[2] on toy:0 was wanted"), ("dtype", "int8"),
                   ("device", "on cpu, where"), ("throws", "the kernel gave up"), ("odd", "")):
    breaks(what)
    error = {"throws": Exception, "odd": BaseException}.get(what, RuntimeError)
    raises(error, lambda: x * x, text)
    breaks(what, False)
breaks("itself")
raises(RuntimeError, lambda: x * x, "400 calls of registered operators are under way")
breaks("itself", False)
breaks("declines")
raises(NotImplementedError, lambda: x * x, "[multiply] has no kernel for device toy:0")
breaks("declines", False)
breaks("input")  # an alias: the result is a copy of it
z = x.detach() * 2.0
z.fill_(5.0)
assert x.tolist() == [1, 2]
breaks("input", False)
assert (x * x).tolist() == [1, 4]
""",
        arguments=(str(build(KERNELS)),),
    )


def test_a_kernel_that_declines_leaves_the_call_to_the_fallback(build):
    devices.succeed(
        START
        + """
x = lm.tensor([1.0, 2.0], device="toy")
breaks("declines")
assert (x * x).tolist() == [1, 4]
""",
        arguments=(str(build(KERNELS, FALLBACK)),),
    )


def test_a_fallback_of_the_authors(build):
    devices.succeed(
        START
        + """
x = lm.tensor([[1.0, 2.0]], device="toy", stop_gradient=False)
y = lm.exp(x).sum() + lm.softmax(x, 1).max()
y.backward()
assert x.grad.device == "toy:0" and lm.ops.toy.calls() >= 5
import numpy as np
assert np.allclose(lm.sort(-x.detach(), axis=1).numpy(), [[-2, -1]])
@lm.library.custom_op("toy_test::view", mutates_args=(), schema="(Tensor(a) x) -> Tensor(a)", device_types="cpu")
def view(t):
    return t[0]
raises(RuntimeError, lambda: view(x.detach()), "returns a view of its argument")
""",
        arguments=(str(build(OWN_FALLBACK)),),
    )


def test_memory_copies_and_waits_that_fail(build):
    devices.succeed(
        START
        + """
x = lm.tensor([1.0, 2.0], device="toy")
for what, f in (
    ("allocate", lambda: lm.empty([1 << 16], device="toy")),
    ("copy_from_host", lambda: lm.ones([2], device="toy")),
    ("copy_to_host", lambda: x.tolist()),
    ("copy_on_device", lambda: x.clone()),
    ("copy_to_host", lambda: x.to("toy:1")),
    ("synchronize", lambda: lm._C._privateuse1_synchronize("toy")),
):
    breaks(what)
    raises(RuntimeError, f, f"the toy's {what} failed")
    breaks(what, False)
    f()
lm.empty_cache("toy")
breaks("memory")
raises(MemoryError, lambda: lm.empty([1 << 20], device="toy"), "toy:0 has no 4194304 bytes left")
breaks("memory", False)
assert x.tolist() == [1, 2] and lm.empty([1 << 20], device="toy").shape == (1 << 20,)
breaks("synchronize")
lm.empty_cache("toy")  # waits for the device, and frees all the same
breaks("synchronize", False)
raises(NotImplementedError, lambda: lm._C._privateuse1_make_stream("toy"), "toy:0 has one stream, its own")
raises(RuntimeError, lambda: lm.ones([1], device="toy:2"), "there is no toy:2: this process can use 2")
raises(RuntimeError, lambda: x + lm.ones([2], device="toy:1"), "toy:0 and toy:1")
raises(RuntimeError, lambda: x * lm.ones([2]), "toy:0 and cpu")
assert (x * lm.tensor(2.0)).tolist() == [2, 4]  # a number on the CPU goes along
""",
        arguments=(str(build(FALLBACK)),),
    )


def test_a_second_kind_of_device_is_refused(build):
    devices.succeed(
        START
        + """
x = lm.ones([2], device="toy")
for _ in range(2):
    raises(RuntimeError, lambda: lm.ops.load_library(sys.argv[2]), "an extension has brought 'toy' already")
lm.ops.load_library(sys.argv[1])  # the same again
assert (x + x).tolist() == [2, 2] and "other" not in dir(lm.ops)
raises(ValueError, lambda: lm.ones([1], device="other"))
""",
        arguments=(str(build(FALLBACK)), str(build(name="other"))),
    )


def test_names_that_do_not_fit(build):
    devices.succeed(
        START.replace("lm.ops.load_library(sys.argv[1])", "")
        + """
raises(RuntimeError, lambda: lm.utils.generate_methods_for_privateuse1_backend(), "have no name yet")
raises(RuntimeError, lambda: lm.ones([1], device="privateuse1"), "no memory for device privateuse1:0")
lm.utils.rename_privateuse1_backend("other")
raises(RuntimeError, lambda: lm.ops.load_library(sys.argv[1]), "are called 'other' in this process")
raises(ValueError, lambda: lm.ops.load_library(sys.argv[2]), "there can be 0 to 64")
assert (lm.ones([2]) + 1).tolist() == [2, 2]
lm.Tensor.is_other = True
raises(RuntimeError, lambda: lm.utils.generate_methods_for_privateuse1_backend(), "Tensor has something else")
""",
        arguments=(str(build()), str(build(count=65))),
    )


def test_no_device_at_all(build):
    devices.succeed(
        START
        + """
raises(RuntimeError, lambda: lm.ones([1], device="toy"), "there is no toy:0: this process can use 0 of its kind")
""",
        arguments=(str(build(count=0)),),
    )


def test_the_backend_is_shut_down_once_and_last(build, monkeypatch):
    code = START + "x = lm.ones([5], device='toy')\nkept = [x]\nkept.append(kept)\nprint('end')"
    monkeypatch.setenv("TOY_TELLS", "1")
    assert devices.succeed(code, arguments=(str(build()),)) == "end\nshut down\n"
