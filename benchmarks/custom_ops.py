"""The operator of the user's that is timed: one kernel for the CPU, registered by its schema, in each dialect."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent.parent / "build" / "benchmarks" / "custom_ops"

#: Source of the kernel, the same for both frameworks: float32, contiguous.
_KERNEL = r"""
static Tensor scale(const Tensor& x, double factor) {
  Tensor y = empty_like(x);
  const float* from = x.DATA<float>();
  float* to = y.DATA<float>();
  for (int64_t i = 0, n = x.numel(); i < n; ++i) to[i] = static_cast<float>(factor) * from[i];
  return y;
}
PREFIX_LIBRARY(benchmark, m) { m.def("scale(Tensor x, float factor) -> Tensor"); }
PREFIX_LIBRARY_IMPL(benchmark, CPU, m) { m.impl("scale", &scale); }
"""

SOURCES = {
    "lamella": "#include <lamella/library.h>\nusing lamella::Tensor;\n"
    + _KERNEL.replace("DATA", "data").replace("PREFIX", "LAMELLA"),
    "torch": "#include <ATen/ATen.h>\n#include <torch/library.h>\nusing at::Tensor;\nusing at::empty_like;\n"
    + _KERNEL.replace("DATA", "data_ptr").replace("PREFIX", "TORCH"),
}


def library(framework: str, version: str, flags: Sequence[str]) -> str:
    """Returns the shared library of the framework's source; compiles it if it is not there already.

    Args:
        framework: a key of SOURCES.
        version: the framework's, which tells one installed from another.
        flags: for the compiler and the linker.

    Raises:
        RuntimeError: the compiler failed.
    """
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    command = [*compiler, "-O2", "-shared", "-fPIC", "-x", "c++", "-", *flags]
    text = SOURCES[framework]
    key = hashlib.sha256("\0".join([version, text, *command]).encode()).hexdigest()[:16]
    target = _FOLDER / f"{framework}-{key}.so"
    if not target.exists():
        _FOLDER.mkdir(parents=True, exist_ok=True)
        scratch = target.with_suffix(f".{os.getpid()}")
        done = subprocess.run([*command, "-o", str(scratch)], input=text, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"the operator for {framework} does not compile:\n{done.stderr}")
        os.replace(scratch, target)
    return str(target)
