"""cuDNN, NVIDIA's library of convolutions: whether it is there, and whether it is used."""

from __future__ import annotations

from .. import _C


def cudnn_version() -> int | None:
    """Returns the version of the cuDNN that is installed, 91002 for 9.10.2; None if there is none.

    It is found as ``libcudnn.so.9``, or where the environment's ``LAMELLA_CUDNN_LIBRARY`` says.
    """
    return _C._cudnn_version()


def set_cudnn_enabled(enabled: bool) -> None:
    """Sets whether convolutions on CUDA devices may use cuDNN, process-wide; initially they do, where it is installed.

    Without it they are products by cuBLAS, with the same results to rounding.

    Raises:
        TypeError: ``enabled`` is no bool.
    """
    _C._cudnn_set_enabled(enabled)


def is_cudnn_enabled() -> bool:
    """True if convolutions on CUDA devices may use cuDNN."""
    return _C._cudnn_is_enabled()
