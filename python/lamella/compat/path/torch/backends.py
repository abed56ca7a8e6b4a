"""Settings of libraries behind PyTorch: they may be set, and change nothing here but for the precision of products."""

from __future__ import annotations

import contextlib
import sys
from types import ModuleType
from typing import Any

import lamella as lm
from lamella.compat.front import close_module


class _Settings(ModuleType):
    """A module of settings. Any may be set; those of :attr:`known` may be read before."""

    def __init__(self, name: str, **known: Any) -> None:
        super().__init__(name, f"Settings of {name.rpartition('.')[2]}, which change nothing here.")
        self.__path__: list[str] = []
        self.__dict__.update(known)
        sys.modules[name] = self

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Lamella's torch front does not have '{self.__name__}.{name}'")


class _Products(_Settings):
    """Settings of products of matrices on CUDA."""

    @property
    def allow_tf32(self) -> bool:
        """True if float32 matrices may be multiplied as TF32, which changes what CUDA devices compute."""
        return lm.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        lm.set_float32_matmul_precision("high" if allowed else "highest")


def _no() -> bool:
    return False


def _yes() -> bool:
    return True


_CUDNN = {"enabled": True, "benchmark": False, "deterministic": False, "allow_tf32": True, "benchmark_limit": 10}
cudnn = _Settings(
    f"{__name__}.cudnn",
    is_available=_no,
    version=lambda: None,
    flags=lambda *options, **named: contextlib.nullcontext(),
    **_CUDNN,
)
cuda = _Settings(
    f"{__name__}.cuda",
    is_built=_yes,
    preferred_blas_library=lambda backend=None: "default",
    preferred_linalg_library=lambda backend=None: "default",
    matmul=_Products(f"{__name__}.cuda.matmul", allow_fp16_reduced_precision_reduction=True),
    flash_sdp_enabled=_yes,
    math_sdp_enabled=_yes,
    mem_efficient_sdp_enabled=_yes,
    enable_flash_sdp=lambda enabled: None,
    enable_math_sdp=lambda enabled: None,
    enable_mem_efficient_sdp=lambda enabled: None,
    sdp_kernel=lambda *options, **named: contextlib.nullcontext(),
)
mps = _Settings(f"{__name__}.mps", is_available=_no, is_built=_no, is_macos_or_newer=lambda major, minor: False)
mkl = _Settings(f"{__name__}.mkl", is_available=_no)
mkldnn = _Settings(f"{__name__}.mkldnn", is_available=_yes, enabled=True)
openmp = _Settings(f"{__name__}.openmp", is_available=_no)
_fast_path = [True]
#: The fast path of attention in evaluation leaves padding out, which :class:`torch.nn.TransformerEncoder` says.
mha = _Settings(
    f"{__name__}.mha",
    get_fastpath_enabled=lambda: _fast_path[0],
    set_fastpath_enabled=lambda value: _fast_path.__setitem__(0, bool(value)),
)
#: Asked by programs that would resize bytes as they are, by instructions that "DEFAULT" does not name.
cpu = _Settings(f"{__name__}.cpu", get_cpu_capability=lambda: "DEFAULT")

__getattr__ = close_module(__name__)
