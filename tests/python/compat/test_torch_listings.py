"""The listings of the specification document on wheels with custom operators, put together as it says, on the CPU.

The documents are not part of the repository: where they do not lie beside the checkout, these tests are skipped.
test_torch_extensions.py covers the same ground with sources of its own.
"""

import subprocess
import sys

import pytest

from support import devices, extensions
from support.documents import TOOL, needs_tool

pytestmark = [needs_tool, pytest.mark.projects]

# What the document's sources include and do not show. The NPU's library is three lines here.
FUNCTION_H = """
#pragma once
#include <torch/extension.h>
using torch::autograd::AutogradContext;
using tensor_list = std::vector<at::Tensor>;
using namespace at;
at::Tensor my_op_impl_autograd(const at::Tensor& self, const at::Tensor& other);
"""
HELPER_HPP = """
#pragma once
#include <torch/extension.h>
inline void aclnnAddCustom(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  out.copy_(self + other);
}
#define EXEC_NPU_CMD(aclnn_api, ...) aclnn_api(__VA_ARGS__)
"""
TEST = """
import torch
import torch_npu
import custom_ops

x = torch.rand(8, 20, requires_grad=True)
y = torch.rand(8, 20, requires_grad=True)
z = custom_ops.add_custom(x, y)
assert torch.equal(z, x + y) and z.grad_fn is not None
dz = torch.rand(8, 20)
z.backward(dz)
assert torch.equal(x.grad, dz) and torch.equal(y.grad, dz)
with torch.no_grad():
    assert custom_ops.add_custom(x, y).grad_fn is None
meta = custom_ops.add_custom(torch.empty(2, 3, device="meta"), torch.empty(2, 3, device="meta"))
assert meta.shape == (2, 3) and meta.device == "meta"
print("OK")
"""


# The same on the device of an extension that the environment has.
NPU_TEST = """
import torch
import torch_npu
import custom_ops

assert torch.npu is torch_npu.npu and torch.npu.is_available()
x = torch.rand(8, 20).npu().requires_grad_()
y = torch.rand(8, 20, device="npu:0", requires_grad=True)
z = custom_ops.add_custom(x, y)
assert z.is_npu and z.device == "npu:0" and torch.equal(z.cpu(), (x + y).cpu()) and z.grad_fn is not None
dz = torch.rand(8, 20).to("npu")
z.backward(dz)
assert torch.equal(x.grad.cpu(), dz.cpu()) and torch.equal(y.grad.cpu(), dz.cpu()) and x.grad.is_npu
assert torch.equal(torch.ops.myops.my_op(x, y).cpu(), z.cpu())
meta = torch.ops.myops.my_op(torch.empty(2, 3, device="meta"), torch.empty(2, 3, device="meta"))
assert meta.shape == (2, 3) and meta.device == "meta"
torch.npu.synchronize()
print("OK")
"""


# The corrected kernels keep what their schema says.
CHECK = """
import torch
import custom_ops

args = [torch.rand(2, 3, dtype=torch.float64, requires_grad=True) for _ in range(2)]
assert set(torch.library.opcheck(torch.ops.myops.my_op, args).values()) == {"SUCCESS"}
assert torch.library.opcheck(torch.ops.myops.my_op_backward, args[:1], test_utils="test_schema")
"""


@pytest.fixture(scope="module")
def listings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("listings")
    subprocess.run([sys.executable, str(TOOL), str(folder)], check=True)
    return [path.read_text("utf-8") for path in sorted((folder / "003").iterdir())]


def on_the_cpu(text):
    return text.replace("PrivateUse1", "CPU")


def fresh_results(text):
    """The corrected form of listing 2: what it calls a new tensor is another handle of its input."""
    forward, backward = text.split("std::tuple", 1)
    alias = "at::Tensor(self)"
    assert alias in forward and alias in backward
    backward = backward.replace(f"at::Tensor result = {alias};", "").replace(
        "{result, result}", "{self.clone(), self.clone()}"
    )
    return forward.replace(alias, "at::empty_like(self)") + "std::tuple" + backward


def project(folder, listings, fix=fresh_results, device=on_the_cpu):
    schema, kernels, registered, lookups, autograd, binding, package, meta = listings[1:9]
    add_custom, init = package.split("# __init__.py")
    head = '#include "function.h"\n#include "pytorch_npu_helper.hpp"\n'
    return extensions.write(
        folder,
        {
            "csrc/function.h": FUNCTION_H,
            "csrc/pytorch_npu_helper.hpp": HELPER_HPP,
            # Listing 3 is repeated in listing 5: the same functions registered twice, which is fine.
            "csrc/extension_add.cpp": head + fix(kernels) + device(registered + lookups + autograd) + meta,
            "csrc/extension_add1.cpp": head,
            "csrc/register.cpp": schema + binding,
            "custom_ops/add_custom.py": add_custom,
            "custom_ops/__init__.py": init,
            "test/test_add_custom.py": TEST,
            "setup.py": "import os\nPYTORCH_NPU_INSTALL_PATH = '.'\n" + listings[12],
        },
    )


def test_the_project_builds_installs_and_trains(listings, tmp_path):
    extensions.need_wheels()
    folder = project(tmp_path / "setup", listings)
    extensions.succeed("-m", "lamella.compat", "setup.py", "-q", "build", "bdist_wheel", cwd=folder)
    (built,) = (folder / "build").glob("lib*")
    extensions.succeed("-m", "lamella.compat", "-c", CHECK, cwd=built)
    (wheel,) = (folder / "dist").glob("custom_ops-1.0-*.whl")
    python = extensions.clean_environment(tmp_path / "env")
    extensions.install(wheel, python)
    test = folder / "test" / "test_add_custom.py"
    printed = extensions.succeed("-m", "lamella.compat", test, cwd=tmp_path, python=python)
    assert printed.strip() == "OK"


def test_the_project_runs_unmodified_on_a_device_that_an_extension_brings(listings, tmp_path):
    extensions.need_wheels()
    folder = project(tmp_path / "setup", listings, device=lambda text: text)
    extensions.succeed("-m", "lamella.compat", "setup.py", "-q", "build", "bdist_wheel", cwd=folder)
    (wheel,) = (folder / "dist").glob("custom_ops-1.0-*.whl")
    accelerator = devices.tutorial_wheel(tmp_path)
    python = extensions.clean_environment(tmp_path / "env")
    extensions.install(wheel, python)
    extensions.install(accelerator, python)
    extensions.write(tmp_path, {"test_npu.py": NPU_TEST})
    printed = extensions.succeed("-m", "lamella.compat", "test_npu.py", cwd=tmp_path, python=python)
    assert printed.strip() == "OK"


# Listings 2 and 4 as they are written: a result is another handle of an input, and one is returned twice.
ALIASES = """
import torch
from torch.utils.cpp_extension import load

sources = ["csrc/extension_add.cpp", "csrc/register.cpp"]
load("custom_ops_lib", sources, build_directory="build", extra_cflags=["-O0"])
ops = torch.ops.myops

x = torch.ones(3)
z = ops.my_op(x, torch.full((3,), 2.0))
assert z.tolist() == x.tolist() == [3.0, 3.0, 3.0]  # it runs, and writes into its argument
first, second = ops.my_op_backward(x)
assert first.tolist() == second.tolist() == [3.0, 3.0, 3.0]


def verdict(op, *args):
    return torch.library.opcheck(op, args, test_utils="test_schema", raise_exception=False)["test_schema"]


text = verdict(ops.my_op, torch.ones(3), torch.ones(3))
assert "[myops::my_op] result 0 shares the memory of the argument 'self', and the schema does not say so" in text, text
assert "return a new tensor (clone()), or mark both in the schema" in text, text
text = verdict(ops.my_op_backward, torch.ones(3))
assert "[myops::my_op_backward] result 0 shares the memory of the argument 'self'" in text, text
"""


def test_the_aliases_of_the_kernels_are_told_of(listings, tmp_path):
    extensions.need_compiler()
    project(tmp_path, listings, fix=lambda text: text)
    extensions.write(tmp_path, {"program.py": ALIASES})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)


@pytest.mark.parametrize(("head", "name"), [("", "os"), ("import os\n", "PYTORCH_NPU_INSTALL_PATH")])
def test_setup_as_it_is_written_lacks_definitions(listings, tmp_path, head, name):
    extensions.need_wheels()
    extensions.write(tmp_path, {"setup.py": head + listings[12]})
    done = extensions.run("-m", "lamella.compat", "setup.py", "build", cwd=tmp_path)
    assert done.returncode == 1 and f"NameError: name '{name}' is not defined" in done.stderr


def test_the_converter_is_kept(listings, tmp_path):
    # The generated module that it imports, and the operator: the converter is only registered.
    files = {
        "auto_generated_ge_raw_custom_ops.py": "def AddCustom(x, y): return x + y\n",
        "converter.py": listings[11].replace("torch.ops.myops.my_op.default", "'myops::my_op'")
        + """
import torch
x = torch.ones(2, dtype=torch.float16)
assert conveter_custom_op(x, torch.ones(2), meta_outputs=torch.ones(2)).dtype == torch.float32
""",
    }
    extensions.write(tmp_path, files)
    extensions.succeed("-m", "lamella.compat", "converter.py", cwd=tmp_path)


def test_the_converter_writes_onnx(listings, tmp_path):
    """From the declaration of the operator to a model with a node of it."""
    (tmp_path / "custom_reg_op.h").write_text(listings[9], "utf-8")
    command = ("-m", "lamella.onnx", "custom_reg_op.h", "-o", "auto_generated_ge_raw_custom_ops.py")
    extensions.succeed(*command, cwd=tmp_path)
    program = """
import lamella as lm

library = lm.library.Library("myops", "DEF")
library.define("my_op(Tensor self, Tensor other) -> Tensor")
for key in ("CPU", "Meta"):
    library.impl("my_op", lambda x, y: x + y, key)
import torch
"""
    use = """
x, y = torch.ones(2), torch.ones(2, dtype=torch.float16)
model = lm.onnx.export(lambda x, y: torch.ops.myops.my_op(x, y), (x, y))
print([(node.domain, node.op_type) for node in model.graph.node])
"""
    (tmp_path / "program.py").write_text(program + listings[11] + use, "utf-8")
    printed = extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
    assert printed.strip() == "[('', 'Cast'), ('custom', 'AddCustom')]"
