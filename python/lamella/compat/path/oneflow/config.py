"""Settings of the process, such as the number of devices."""

from lamella.compat.front import close_module
from lamella.user_op import load_library as _load

__getattr__ = close_module(__name__)


def load_library(path: str) -> None:
    """Loads a library of operators; see :func:`lamella.user_op.load_library`."""
    _load(path)


def gpu_device_num(count: int) -> None:
    """Accepted: operators run where their inputs are.

    Raises:
        ValueError: the number is negative.
    """
    if count < 0:
        raise ValueError(f"[gpu_device_num] expected a number of devices, got {count}")


def cpu_device_num(count: int) -> None:
    """Accepted, as :func:`gpu_device_num` is."""
    gpu_device_num(count)
