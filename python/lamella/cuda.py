"""CUDA devices. All of this works, and says that there are none, in a build without CUDA."""

from __future__ import annotations

from ._C import cuda_device_count as device_count
from ._C import cuda_is_available as is_available
from ._C import cuda_synchronize as synchronize

__all__ = ["device_count", "is_available", "synchronize"]
