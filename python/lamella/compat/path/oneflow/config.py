"""Settings of the process, such as the number of devices."""

from typing import Any

from lamella.compat.front import close_module
from lamella.user_op import load_library as _load

__getattr__ = close_module(__name__)


def load_library(path: str) -> None:
    """Loads a library of operators; see :func:`lamella.user_op.load_library`."""
    _load(path)


load_library_now = load_library


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


def _accepted(value: Any = None) -> None:
    """Accepted, without an effect."""


enable_legacy_model_io = enable_model_io_v2 = enable_debug_mode = _accepted
machine_num = compute_thread_pool_size = comm_net_worker_num = rdma_mem_block_mbyte = _accepted
reserved_host_mem_mbyte = reserved_device_mem_mbyte = use_rdma = thread_enable_local_message_queue = _accepted
disable_group_boxing_by_dst_parallel = save_downloaded_file_to_local_fs = persistence_buf_byte = _accepted
