"""Training of stages on different processes: :class:`lamella.distributed.Pipeline` by PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lamella.distributed as native
from lamella import Tensor
from lamella.compat.front import add_paths, close_module
from lamella.distributed.pipeline import joined
from lamella.nn import Module


class PipelineStage:
    """One stage of a model.

    Args:
        submodule: the stage, which takes what the one before returns.
        stage_index: its number.
        num_stages: the number of all stages.
        device: accepted; the stage is where its parameters are.
        input_args: accepted; messages say of what shape they are.
        output_args: accepted, likewise.
        group: the processes, in the order of the stages.
        dw_builder: None.

    Raises:
        ValueError: the number is none of the stages'.
    """

    def __init__(
        self,
        submodule: Module,
        stage_index: int,
        num_stages: int,
        device: Any = None,
        input_args: Any = None,
        output_args: Any = None,
        group: Any = None,
        dw_builder: Any = None,
    ) -> None:
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"[PipelineStage] stage_index is one of {num_stages} stages, not {stage_index}")
        self.submod = submodule
        self.stage_index = stage_index
        self.num_stages = num_stages
        self.device = device
        self.group = group

    @property
    def is_first(self) -> bool:
        """True for the stage that takes the inputs."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """True for the stage that takes the targets."""
        return self.stage_index == self.num_stages - 1


class _Schedule:
    """An order in which stages work on the parts of a batch, which here is 1F1B whatever its name."""

    def __init__(
        self,
        stages: Sequence[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None,
        scale_grads: bool,
    ) -> None:
        first = stages[0]
        size, rank = native.get_world_size(first.group), native.get_rank(first.group)
        expected = list(range(rank, first.num_stages, size))
        given = [stage.stage_index for stage in stages]
        if given != expected:
            raise ValueError(
                f"[pipelining] process {rank} of {size} has the stages {expected} of {first.num_stages}, not {given}"
            )
        listed: list[Any] = [_nothing] * first.num_stages
        for stage in stages:
            listed[stage.stage_index] = stage.submod
        self._pipe = native.Pipeline(
            listed,
            n_microbatches,
            loss=loss_fn,
            group=first.group,
            chunks=len(stages),
            reduction="mean" if scale_grads else "sum",
        )
        self._loss = loss_fn

    def step(self, *args: Any, target: Any = None, losses: list[Tensor] | None = None, **kwargs: Any) -> Any:
        """Adds the gradients of a batch to those of the parameters; without a loss it only computes.

        Args:
            args: the inputs, on the first stage's process.
            target: on the last stage's process.
            losses: gets the loss of each part of the batch, on the last stage's process.
            kwargs: none: stages take what the ones before return.

        Returns:
            The outputs on the last stage's process, None on others.

        Raises:
            NotImplementedError: an input has a name.
        """
        if kwargs:
            raise NotImplementedError(f"[step] inputs have no names here, and these have: {sorted(kwargs)}")
        if self._loss is None:
            return self.eval(*args)
        run = self._pipe._trained(args or None, target, None, keeps=True)
        if losses is not None:
            losses[:] = run.losses
        return self._given(run.outputs)

    def eval(self, *args: Any, target: Any = None, losses: list[Tensor] | None = None) -> Any:
        """Computes the outputs of a batch, without gradients."""
        outputs = self._pipe._ran_forward(args or None)
        if losses is not None and self._pipe.is_last and self._loss is not None:
            cut = target.split([len(x[0]) for x in outputs])
            losses[:] = [self._loss(_single(x), t) for x, t in zip(outputs, cut, strict=True)]
        return self._given(outputs)

    def _given(self, outputs: Sequence[tuple[Tensor, ...]]) -> Any:
        return _single(tuple(joined(outputs))) if self._pipe.is_last else None


def _single(x: tuple[Tensor, ...]) -> Any:
    return x[0] if len(x) == 1 else x


def _nothing() -> Module:
    raise RuntimeError("[pipelining] a stage of another process")


class ScheduleGPipe(_Schedule):
    """A schedule of one stage on each process.

    Args:
        stage: this process's stage.
        n_microbatches: number of parts of a batch.
        loss_fn: called with an output and a target on the last stage; None only computes.
        args_chunk_spec: None: batches are cut along axis 0.
        kwargs_chunk_spec: None.
        output_merge_spec: None.
        scale_grads: True where the loss is a mean over samples, False where it is a sum.
    """

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        super().__init__([stage], n_microbatches, loss_fn, scale_grads)


class Schedule1F1B(ScheduleGPipe):
    """See :class:`ScheduleGPipe`."""


class ScheduleInterleaved1F1B(_Schedule):
    """A schedule of several stages on each process: stage ``i`` on process ``i % n`` of n.

    Args:
        stages: this process's stages, in order.
        n_microbatches: number of parts of a batch, a multiple of the number of processes.
        loss_fn: called with an output and a target on the last stage; None only computes.
        args_chunk_spec: None: batches are cut along axis 0.
        kwargs_chunk_spec: None.
        output_merge_spec: None.
        scale_grads: True where the loss is a mean over samples, False where it is a sum.
    """

    def __init__(
        self,
        stages: Sequence[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        super().__init__(stages, n_microbatches, loss_fn, scale_grads)


class ScheduleLoopedBFS(ScheduleInterleaved1F1B):
    """See :class:`ScheduleInterleaved1F1B`."""


__getattr__ = close_module(__name__)
_SCHEDULES = "ScheduleGPipe Schedule1F1B ScheduleInterleaved1F1B ScheduleLoopedBFS"
add_paths(
    "torch",
    {f"{__name__}.stage": {__name__: "PipelineStage"}, f"{__name__}.schedules": {__name__: _SCHEDULES}},
)
