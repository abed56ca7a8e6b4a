"""A device brought in PyTorch's words, as far as these go: its name, its fallback, kernels and guards."""

from lamella import compat
from support import devices, extensions
from support.libraries import compile_library
from support.toy_device import BACKEND

SOURCE = r"""
#include <ATen/native/CPUFallback.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

static std::int64_t calls = 0;
static void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  ++calls;
  at::native::cpu_fallback(op, stack);
}
static at::Tensor twice(const at::Tensor& x) {
  TORCH_CHECK(x.is_privateuseone() && x.device().type() == at::kPrivateUse1, "not here");
  const c10::DeviceGuard guard(x.device());
  TORCH_CHECK(at::empty({1}, at::device(at::kPrivateUse1)).device() == x.device(), "another device");
  return x + x;
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }
TORCH_LIBRARY_FRAGMENT(toy, m) {
  m.def("calls() -> int", [] { return calls; });
  m.def("names() -> str", [] {
    TORCH_CHECK(c10::is_privateuse1_backend_registered());
    c10::register_privateuse1_backend("toy");
    return c10::get_privateuse1_backend() + c10::get_privateuse1_backend(false);
  });
  m.def("twice(Tensor x) -> Tensor");
  m.def("clear(Tensor(a!) x, Tensor[] others) -> (Tensor(a!), Tensor[])");
}
TORCH_LIBRARY_IMPL(toy, PrivateUse1, m) { m.impl("twice", &twice); }
TORCH_LIBRARY_IMPL(toy, CPU, m) {
  m.impl("clear", [](at::Tensor x, at::TensorList others) -> std::tuple<at::Tensor, std::vector<at::Tensor>> {
    x.zero_();
    return {x, {others[0] + 1}};
  });
}
"""
PROGRAM = """
import sys
import torch

import lamella as lm

lm.ops.load_library(sys.argv[1])
torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
torch._register_device_module("toy")
assert torch.ops.toy.names() == "toyTOY" and torch.toy.device_count() == 2
x = torch.tensor([1.0, 2.0], device="toy:1")
assert torch.ops.toy.twice(x).tolist() == [2, 4] and torch.toy.current_device() == 0
before = torch.ops.toy.calls()
assert (x + 1).tolist() == [2, 3] and torch.ops.toy.calls() == before + 1
y, (z,) = torch.ops.toy.clear(x, [x])
assert y is x or y.tolist() == [0, 0]
assert x.tolist() == [0, 0] and z.tolist() == [1, 1] and z.is_toy and z.device == "toy:1"
assert torch.ones(2).toy(1).is_toy and torch.device("toy:1").type == "toy"
"""


def test_names_fallback_and_guards(tmp_path):
    extensions.need_compiler()
    flags = ("-DNAME=toy", "-DCOUNT=2", '-DLAMELLA_TEXT(x)="toy"', f"-I{compat.HEADERS}")
    library = compile_library(tmp_path, "torch_device", BACKEND + SOURCE, *flags)
    extensions.write(tmp_path, {"program.py": PROGRAM})
    done = devices.run("", tmp_path)
    assert done.returncode == 0
    extensions.succeed("-m", "lamella.compat", "program.py", library, cwd=tmp_path)
