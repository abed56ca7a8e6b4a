"""Settings of libraries behind PyTorch: they may be set; those of products' precision and of cuDNN's use count here."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
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


class _Cudnn(_Settings):
    """Settings of cuDNN, of which one changes what convolutions on CUDA devices use."""

    @property
    def enabled(self) -> bool:
        """True if convolutions may use cuDNN."""
        return lm.cuda.is_cudnn_enabled()

    @enabled.setter
    def enabled(self, enabled: bool) -> None:
        lm.cuda.set_cudnn_enabled(enabled)

    @staticmethod
    def is_available() -> bool:
        """True if there are a CUDA device and cuDNN."""
        return lm.cuda.is_available() and lm.cuda.cudnn_version() is not None

    @staticmethod
    def version() -> int | None:
        """Returns the version of cuDNN, 91002 for 9.10.2, or None."""
        return lm.cuda.cudnn_version()

    @contextlib.contextmanager
    def flags(self, enabled: bool = False, *options: Any, **named: Any) -> Iterator[None]:
        """A scope in which cuDNN may be used or not; other settings change nothing."""
        before = self.enabled
        self.enabled = enabled
        try:
            yield
        finally:
            self.enabled = before


def _no() -> bool:
    return False


def _yes() -> bool:
    return True


cudnn = _Cudnn(f"{__name__}.cudnn", benchmark=False, deterministic=False, allow_tf32=True, benchmark_limit=10)
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
