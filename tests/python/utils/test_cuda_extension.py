"""Extensions with sources for CUDA: compiled and linked by nvcc, and what a machine without a GPU says of a call."""

import re
import shutil
from pathlib import Path

import pytest

import lamella as lm
from lamella.utils import cpp_extension
from lamella.utils._extension import toolchain
from support import emulation, extensions

pytestmark = [
    pytest.mark.projects,
    pytest.mark.skipif(
        emulation.library() is None and shutil.which("nvcc") is None and not Path("/usr/local/cuda/bin/nvcc").exists(),
        reason="there is no nvcc",
    ),
]

SOURCE = r"""
#include <cuda_runtime.h>
#include <lamella/library.h>

namespace {
__global__ void twice_kernel(int64_t n, const float* x, float* y) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < n; i += int64_t{gridDim.x} * blockDim.x) {
    y[i] = 2 * x[i];
  }
}
lamella::Tensor twice_cuda(const lamella::Tensor& x) {
  lamella::Tensor y = lamella::empty_like(x);
  twice_kernel<<<32, 256>>>(x.numel(), x.data<float>(), y.data<float>());
  return y;
}
}  // namespace

LAMELLA_LIBRARY(lamella_test_cuda, m) { m.def("twice(Tensor x) -> Tensor"); }
LAMELLA_LIBRARY_IMPL(lamella_test_cuda, CUDA, m) { m.impl("twice", &twice_cuda); }
"""

# The kernel of a text for CUDA, called by one in C++.
CPP = "#include <lamella/python.h>\nlamella::Tensor half(const lamella::Tensor& x);"
CUDA = r"""
#include <cuda_runtime.h>
#include <lamella/library.h>
__global__ void half_kernel(int n, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / 2;
}
lamella::Tensor half(const lamella::Tensor& x) {
  if (!x.device().is_cuda()) lamella::fail<lamella::ValueError>("[half] x is on ", x.device(), ", not on a GPU");
  lamella::Tensor y = lamella::empty_like(x);
  half_kernel<<<(x.numel() + 255) / 256, 256>>>(x.numel(), x.data<float>(), y.data<float>());
  return y;
}
"""


@pytest.fixture(autouse=True)
def one_architecture(monkeypatch):
    extensions.need_compiler()
    if emulation.library() is not None:
        monkeypatch.setenv("CUDA_HOME", str(Path(lm.__file__).parents[1] / "cuda"))
    if not lm.cuda.is_available():  # otherwise that of the machine
        monkeypatch.setenv("LAMELLA_CUDA_ARCH_LIST", "9.0")
    toolchain.cuda_home.cache_clear()
    yield
    toolchain.cuda_home.cache_clear()


def test_a_library_of_operators(tmp_path):
    (tmp_path / "twice.cu").write_text(SOURCE)
    cpp_extension.load(
        "lamella_test_cuda", tmp_path / "twice.cu", build_directory=tmp_path / "build", is_python_module=False
    )
    op = lm.ops.lamella_test_cuda.twice
    with pytest.raises(NotImplementedError, match=r"no kernel for tensors on cpu; it has kernels for CUDA"):
        op(lm.ones([2], device="cpu"))
    if lm.cuda.is_available():
        assert op(lm.ones([3], device="cuda")).cpu().tolist() == [2, 2, 2]
    else:
        with pytest.raises(RuntimeError, match=r"cuda"):
            op(lm.ones([3], device="cuda"))


def test_a_module_of_texts(tmp_path):
    module = cpp_extension.load_inline(
        "lamella_test_half",
        CPP,
        CUDA,
        functions=["half"],
        extra_cflags=["-O0"],
        build_directory=tmp_path,
        no_implicit_headers=True,
    )
    with pytest.raises(ValueError, match=r"\[half\] x is on cpu, not on a GPU"):
        module.half(lm.ones([2], device="cpu"))
    if lm.cuda.is_available():
        assert module.half(lm.ones([3], device="cuda")).cpu().tolist() == [0.5, 0.5, 0.5]


def test_what_nvcc_says_of_mistakes(tmp_path):
    (tmp_path / "wrong.cu").write_text("__global__ void f() { no_such_thing(); }\n")
    with pytest.raises(RuntimeError, match=r"(?s)wrong\.cu: the compiler failed.*wrong\.cu[(:]1[):].*no_such_thing"):
        cpp_extension.load("lamella_test_wrong", tmp_path / "wrong.cu", build_directory=tmp_path / "build")


SETUP = """
from setuptools import setup
from lamella.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="lamella-test-cuda",
    version="1.0",
    ext_modules=[CUDAExtension("lamella_test_cuda_wheel", ["twice.cu"], extra_compile_args={"nvcc": ["-O1"]})],
    cmdclass={"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)},
)
"""


def test_a_project(tmp_path):
    extensions.need_wheels()
    source = SOURCE.replace("lamella_test_cuda", "lamella_test_cuda_wheel")
    extensions.write(tmp_path, {"setup.py": SETUP, "twice.cu": source})
    printed = extensions.succeed("setup.py", "build_ext", "--inplace", cwd=tmp_path)
    assert re.search(r"nvcc .*-O1.*twice\.cu", printed) and "-lcudart" in printed
    program = "import lamella as lm; lm.ops.load_library('lamella_test_cuda_wheel.so'); "
    program += "print(sorted(lm.ops.lamella_test_cuda_wheel.twice.kernels))"
    assert extensions.succeed("-c", program, cwd=tmp_path).strip() == "['CUDA']"
