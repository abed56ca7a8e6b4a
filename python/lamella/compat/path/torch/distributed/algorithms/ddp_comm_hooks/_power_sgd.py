"""Hooks of ``DistributedDataParallel`` that send factors of low rank: :class:`lamella.distributed.hooks.PowerSGD`."""

from __future__ import annotations

from typing import Any

from lamella import Tensor
from lamella.distributed import hooks

from ....futures import Future
from ..._data_parallel import GradBucket, as_future


class PowerSGDState(hooks.PowerSGD):
    """Keeps the state of :func:`powerSGD_hook`; see :class:`lamella.distributed.hooks.PowerSGD`.

    Args:
        process_group: the processes; None is the model's group.
        matrix_approximation_rank: the rank of the factors.
        start_powerSGD_iter: number of backward passes before the first one of which factors are sent.
        min_compression_rate: gradients are sent as they are unless this many times the factors' elements are fewer.
        use_error_feedback: True to add what a step has left out to the next one's gradients.
        warm_start: True to begin with the last step's factor.
        orthogonalization_epsilon: accepted; nothing changes.
        random_seed: of the first factor.
        compression_stats_logging_frequency: accepted; nothing changes.
        batch_tensors_with_same_shape: accepted; nothing changes.
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,  # noqa: N803 (PyTorch's name)
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        super().__init__(
            matrix_approximation_rank,
            start=start_powerSGD_iter,
            error_feedback=use_error_feedback,
            warm_start=warm_start,
            min_compression=min_compression_rate,
            seed=random_seed,
        )
        self.process_group = process_group

    def __getstate__(self) -> dict[str, Any]:
        """Returns all but the processes, which are those of the program that goes on."""
        return {**self.__dict__, "process_group": None}


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:  # noqa: N802 (PyTorch's name)
    """Takes the mean of the gradients, of which factors of low rank are sent."""
    return as_future(state(bucket.native_of(state.process_group)))


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:  # noqa: N802 (PyTorch's name)
    """Takes the mean as :func:`powerSGD_hook` does: matrices keep their shapes here, which loses less."""
    return powerSGD_hook(state, bucket)
