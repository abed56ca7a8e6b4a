"""Lamella's front for extensions written for Ascend's plugin of PyTorch: they are built, and run on the CPU.

There is no NPU here: a kernel registered for PrivateUse1 waits for an extension that brings the device.
"""

from lamella.compat.front import close

__getattr__ = close("torch_npu", {"torch_npu.npu": "there is no NPU here"})

from . import utils  # noqa: F401
