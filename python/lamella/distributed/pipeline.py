"""Training of a model whose stages lie on different processes, each of which works on another part of the batch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .. import _C, autograd
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from ..amp import GradScaler
from ..nn import Module
from . import sbp as sbps
from ._channel import DTYPES, Channel
from ._groups import get_group, group_of
from ._norms import clip_over
from ._objects import broadcast_object
from ._schedules import forward_only, interleaved
from .data_parallel import DistributedDataParallel
from .global_tensor import GlobalTensor
from .mesh import placement as Placement  # noqa: N812
from .mesh import sizes_of
from .sharded import FullyShardedDataParallel

__all__ = ["Pipeline"]


class Pipeline(Module):
    """A sequence of modules that is cut into stages, one for each process of a group.

    A batch is cut into microbatches along axis 0. While one stage works on a microbatch, others work on others, in the
    order 1F1B; activations go from stage to stage, and their gradients back. Losses and
    gradients are those of the whole model on the whole batch, but for rounding, and for layers that look at more than
    one sample (batch norms see a microbatch).

    Each process keeps its own stage: :meth:`parameters` are those of it, and names in states are those of the whole
    sequence. Example::

        pipe = dist.Pipeline([embed, *blocks, head], microbatches=4, loss=lm.nn.functional.cross_entropy)
        optimizer = lm.optim.AdamW(pipe.parameters())
        for x, t in loader:  # the same batches on all processes of the group
            optimizer.zero_grad()
            loss = pipe.step(x, t)
            optimizer.step()

    Args:
        stages: The modules, an ``nn.Sequential`` or a sequence, of which each takes what the one before returns, a
            tensor or a tuple of tensors. Where there are more of them than processes, neighbors are one stage. Every
            process gives all of them, of the same structure, and keeps its own; for those of other processes a function
            without arguments that would make the module may stand in the place of the module.
        microbatches: Number of parts of a batch, at least as many as processes to keep all of them busy.
        loss: Called as ``loss(output, target)`` on the last stage; returns a tensor of one element.
        group: The processes, in the order of the stages, or their group's name; None is the default group.
        chunks: Number of stages of each process: stage ``i`` is on process ``i % n`` of n. With more than one,
            processes wait less for each other, and send more; `microbatches` is then a multiple of n.
        reduction: ``"mean"`` where `loss` is a mean over samples, ``"sum"`` where it is a sum.
        balance: Number of modules of each stage; by default as ``numpy.array_split`` cuts them.
        wrap: Called with this process's stage, a module, before anything runs; returns what runs in its place, such as
            ``lambda stage: dist.DistributedDataParallel(stage, group=replicas)``. With several `chunks`, with each of
            the process's stages; they keep their parameters then.
        placement: The processes that work together on this stage, whose parameters are global tensors
            (:func:`parallelize`): what stages receive is whole on all of them.

    Raises:
        TypeError: A stage is neither a module nor a function, or the loss is no function.
        ValueError: There are fewer modules than stages, a number is out of range, or two stages share a parameter.
        RuntimeError: There is no process group.
    """

    def __init__(
        self,
        stages: Sequence[Module | Callable[[], Module]] | Any,
        microbatches: int,
        *,
        loss: Callable[..., Tensor] | None = None,
        group: ProcessGroup | str | None = None,
        chunks: int = 1,
        reduction: str = "mean",
        balance: Sequence[int] | None = None,
        wrap: Callable[[Module], Module] | None = None,
        placement: Placement | None = None,
    ) -> None:
        super().__init__()
        self._group = group_of(group).name
        rank, size = self.group.rank, self.group.size
        listed = list(stages) if isinstance(stages, Iterable) else []
        for part in listed if isinstance(stages, Iterable) else [stages]:
            if not isinstance(part, Module) and not callable(part):
                raise TypeError(f"[Pipeline] stages are modules, or functions that make them, not {part!r}")
        if loss is not None and not callable(loss):
            raise TypeError(f"[Pipeline] loss is a function of an output and a target, not {loss!r}")
        if type(microbatches) is not int or microbatches < 1:
            raise ValueError(f"[Pipeline] microbatches is an int of at least 1, not {microbatches!r}")
        if reduction not in ("mean", "sum"):
            raise ValueError(f"[Pipeline] reduction is 'mean' or 'sum', not {reduction!r}")
        if type(chunks) is not int or chunks < 1:
            raise ValueError(f"[Pipeline] chunks is an int of at least 1, not {chunks!r}")
        if chunks > 1 and microbatches % size:
            raise ValueError(
                f"[Pipeline] with several chunks, microbatches is a multiple of {size} processes, not {microbatches}"
            )
        cuts = _cuts(len(listed), size, chunks, balance)
        _check_separate([listed[a:b] for a, b in itertools.pairwise(cuts)])
        self.microbatches = microbatches
        self.chunks = chunks
        self.reduction = reduction
        self._loss = loss
        self._placement = placement
        made = [
            {str(i): _made(listed[i]) for i in range(cuts[at], cuts[at + 1])} for at in range(rank, size * chunks, size)
        ]
        own = {name: part for parts in made for name, part in parts.items()}
        self._names = list(own)
        stage: Module = _Stage(own)
        if chunks == 1:
            self.stage = stage if wrap is None else wrap(stage)
            self._runs: tuple[Module, ...] = (self.stage,)
            return
        self.stage = stage
        # In a tuple, as the parts have their places, and their names, in the stage.
        self._runs = tuple(_Stage(parts) if wrap is None else wrap(_Stage(parts)) for parts in made)
        if any(isinstance(one, FullyShardedDataParallel) for one in self._runs):
            raise ValueError(
                "[Pipeline] with several chunks, wrap leaves each stage its parameters: FullyShardedDataParallel takes "
                "chunks=1"
            )

    @property
    def group(self) -> ProcessGroup:
        """The processes, in the order of the stages."""
        return get_group(self._group)

    @property
    def is_first(self) -> bool:
        """True if this process has the first stage, which takes the inputs."""
        return self.group.rank == 0

    @property
    def is_last(self) -> bool:
        """True if this process has the last stage, which takes the targets."""
        return self.group.rank == self.group.size - 1

    def step(self, inputs: Any = None, target: Any = None, *, scaler: GradScaler | None = None) -> Tensor:
        """Adds the gradients of a batch to those of the parameters, and returns its loss, on every process.

        All processes of the group call it together.

        Args:
            inputs: A tensor or a tuple of tensors, shape ``(n, ...)`` each, on the first process; others ignore it.
            target: Shape ``(n, ...)``, on the last process; others ignore it.
            scaler: Scales the loss before backward. Processes see other gradients: :class:`ShardedGradScaler`.

        Returns:
            The loss of the whole batch, without a graph.

        Raises:
            ValueError: The batch is smaller than the number of microbatches, or is missing.
            RuntimeError: There is no ``loss``.
        """
        run = self._trained(inputs, target, scaler)
        told = _C.zeros([2], dtype="float64", device="cpu")
        if run.total is not None:
            told = _C.asarray([DTYPES.index(run.total.dtype.name), run.total.item()], dtype="float64", device="cpu")
        dtype, loss = self._from_last(told).tolist()
        return _C.asarray(loss, dtype=DTYPES[int(dtype)])

    def _trained(self, inputs: Any, target: Any, scaler: GradScaler | None, *, keeps: bool = False) -> _Run:
        """Runs forward and backward; with `keeps` the last stage's outputs and losses are kept."""
        if self._loss is None:
            raise RuntimeError("[Pipeline] step needs a loss: Pipeline(..., loss=...)")
        run = _Run(self, inputs, target, scaler, keeps=keeps)
        for what, i, chunk in interleaved(self.group.size, self.group.rank, self.microbatches, self.chunks):
            # What wraps a stage communicates once, with the last microbatch.
            is_last = i == self.microbatches - 1
            with nullcontext() if is_last else _no_sync(self._runs[chunk]):
                run.forward(i, chunk) if what == "forward" else run.backward(i, chunk)
        run.wait()
        return run

    def _ran_forward(self, inputs: Any) -> list[tuple[Tensor, ...]]:
        """Runs forward; returns the outputs of each microbatch, of this process's last stage."""
        with _C.no_grad():
            run = _Run(self, inputs, None, None, trains=False)
            tasks = forward_only(self.group.size, self.microbatches, self.chunks)
            found = {(task.chunk, task.microbatch): run.forward(task.microbatch, task.chunk) for task in tasks}
            run.wait()
        return [found[self.chunks - 1, i] for i in range(self.microbatches)]

    def forward(self, inputs: Any = None) -> Any:
        """Returns what the model gives for a batch, on every process and without a graph.

        Args:
            inputs: As for :meth:`step`.

        Raises:
            ValueError: The batch is smaller than the number of microbatches, or is missing.
        """
        with _C.no_grad():
            outputs = self._ran_forward(inputs)
            results = joined(outputs) if self.is_last else []
            root = self.group.size - 1
            told = broadcast_object([[x.dtype.name, list(x.shape)] for x in results], root, self._group)
            device = next((p.device for p in self.parameters()), "cpu")
            given = results or [_C.zeros(shape, dtype=dtype, device=device) for dtype, shape in told]
            told_all = tuple(self._from_last(x) for x in given)
        return told_all[0] if len(told_all) == 1 else told_all

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scales the gradients of all stages by one factor so that their norm is at most ``max_norm``.

        Args:
            max_norm: The largest norm.
            norm_type: The order of the norm; ``inf`` for the largest absolute value.

        Returns:
            The norm before, a tensor of no axes, the same on all processes.

        Raises:
            TypeError: A number is none.
            ValueError: ``max_norm`` is below 0 or NaN, or the order is not above 0.
        """
        if isinstance(self.stage, FullyShardedDataParallel):
            return self.stage.clip_over(max_norm, norm_type, [self._group])
        return clip_over(list(self.parameters()), max_norm, norm_type, [self._group])

    # ---- states

    def state_dict(self, prefix: str = "", *, keep_vars: bool = False) -> dict[str, Any]:
        """Returns this process's part of the state, by the names of the whole sequence (``"2.weight"``).

        Args:
            prefix: A path that stands, with a dot, before each name.
            keep_vars: True gives the parameters and buffers themselves.
        """
        return self._state.state_dict(prefix, keep_vars=keep_vars)

    def _save(self, state: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        # Called by a module that this one is a part of.
        state.update((prefix + name, x) for name, x in self.state_dict(keep_vars=keep_vars).items())

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Takes over this process's part of a state, of which other stages' entries are ignored; as for modules."""
        theirs = {name: x for name, x in state.items() if self._is_own(name)}
        return self._state.load_state_dict(theirs, strict=strict, assign=assign)

    def _is_own(self, name: str) -> bool:
        """True unless an entry of a state belongs to a module of another stage."""
        first = name.partition(".")[0]
        return first in self._names or not first.isdigit()

    def _from_last(self, x: Tensor) -> Tensor:
        return _C.distributed_broadcast(x, root=self.group.size - 1, group=self._group)

    @property
    def _state(self) -> Module:
        return self.stage.module if isinstance(self.stage, DistributedDataParallel) else self.stage


class _Stage(Module):
    """Modules that run one after the other, under their numbers in the whole sequence."""

    def __init__(self, parts: Mapping[str, Module]) -> None:
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, *inputs: Any) -> Any:
        """Returns what the last module gives."""
        for part in self._modules.values():
            assert part is not None
            found = part(*inputs)
            inputs = found if isinstance(found, tuple) else (found,)
        return inputs if len(inputs) > 1 else inputs[0]


class _Run:
    """One batch on its way through the stages."""

    def __init__(
        self,
        pipe: Pipeline,
        inputs: Any,
        target: Any,
        scaler: GradScaler | None,
        *,
        trains: bool = True,
        keeps: bool = False,
    ) -> None:
        self.pipe = pipe
        self.scaler = scaler
        self.trains = trains
        self.total: Tensor | None = None
        self._keeps = keeps
        #: Of each microbatch, in their order.
        self.outputs: list[tuple[Tensor, ...]] = []
        self.losses: list[Tensor] = []
        group, n = pipe.group, pipe.microbatches
        self.device = device = next((p.device for p in pipe.parameters()), "cpu")
        is_ring = pipe.chunks > 1  # the last process goes on at the first one
        self.before = self.after = None
        if is_ring or not pipe.is_first:
            self.before = Channel(group.name, (group.rank - 1) % group.size, device)
        if is_ring or not pipe.is_last:
            self.after = Channel(group.name, (group.rank + 1) % group.size, device)
        self.inputs = _cut(inputs, n, "inputs") if pipe.is_first else []
        self.targets = _cut(target, n, "target") if pipe.is_last and trains else []
        #: What stages received and gave, by their numbers here and that of the microbatch.
        self.received: dict[tuple[int, int], list[Tensor]] = {}
        self.sent: dict[tuple[int, int], list[Tensor]] = {}
        count = sum(len(x[0]) for x in self.targets) or 1
        is_mean = pipe.reduction == "mean"
        self.weights = [len(x[0]) / count if is_mean else 1.0 for x in self.targets]

    def forward(self, i: int, chunk: int) -> tuple[Tensor, ...]:
        """Runs one of the process's stages on a microbatch, and sends on what it gives."""
        pipe = self.pipe
        before, after = self._before(chunk), self._after(chunk)
        given = list(self.inputs[i]) if before is None else before.receive()
        if self.trains:
            self.received[chunk, i] = given
        found = pipe._runs[chunk](*(_spread(x, pipe._placement) for x in given))
        outputs = tuple(_whole(x) for x in (found if isinstance(found, tuple) else (found,)))
        if after is not None:
            after.send(outputs)
            if self.trains:
                self.sent[chunk, i] = [x for x in outputs if not x.stop_gradient]
        elif self.trains:
            assert pipe._loss is not None
            target = self.targets[i]
            own = _whole(pipe._loss(found, target[0] if len(target) == 1 else target))
            if self._keeps:
                self.outputs.append(tuple(x.detach() for x in outputs))
                self.losses.append(own.detach())
            loss = own * self.weights[i]
            self.total = loss.detach() if self.total is None else self.total + loss.detach()
            self.sent[chunk, i] = [loss if self.scaler is None else self.scaler.scale(loss)]
        return outputs

    def backward(self, i: int, chunk: int) -> None:
        """Takes the gradients of what was sent on, and sends back those of what was received."""
        before, after = self._before(chunk), self._after(chunk)
        outputs, inputs = self.sent.pop((chunk, i)), self.received.pop((chunk, i))
        gradients = [None] if after is None else after.receive_back(outputs)
        if outputs:
            autograd.backward(outputs, gradients)
        if before is not None:
            before.send_back(inputs)

    def _before(self, chunk: int) -> Channel | None:
        """Returns the way from the stage before; None for the first of all."""
        return None if self.pipe.is_first and chunk == 0 else self.before

    def _after(self, chunk: int) -> Channel | None:
        """Returns the way to the stage behind; None for the last of all."""
        return None if self.pipe.is_last and chunk == self.pipe.chunks - 1 else self.after

    def wait(self) -> None:
        """Waits until all messages have gone."""
        for channel in (self.before, self.after):
            if channel is not None:
                channel.wait()


def joined(outputs: Sequence[tuple[Tensor, ...]]) -> list[Tensor]:
    """Returns the outputs of a whole batch, from those of its microbatches."""
    return [_C.concat(list(parts)) for parts in zip(*outputs, strict=True)]


def _cuts(count: int, processes: int, chunks: int, balance: Sequence[int] | None) -> list[int]:
    """Returns where each stage begins in the sequence of modules, and its end."""
    stages = processes * chunks
    if count < stages:
        each = "a stage" if chunks == 1 else f"{chunks} stages"
        raise ValueError(f"[Pipeline] {processes} processes have {each} each, and there are {count} modules")
    counts = list(sizes_of(count, stages) if balance is None else balance)
    are_ints = all(type(number) is int for number in counts)
    if not are_ints or len(counts) != stages or sum(counts) != count or min(counts) < 1:
        raise ValueError(f"[Pipeline] balance has {stages} numbers of at least 1 that add up to {count}, not {counts}")
    return [sum(counts[:i]) for i in range(stages + 1)]


def _made(stage: Module | Callable[[], Module]) -> Module:
    return stage if isinstance(stage, Module) else stage()


def _check_separate(stages: Sequence[Sequence[Any]]) -> None:
    owner: dict[int, int] = {}
    for number, parts in enumerate(stages):
        for part in parts:
            for name, p in part.named_parameters() if isinstance(part, Module) else ():
                if owner.setdefault(id(p), number) != number:
                    raise ValueError(
                        f"[Pipeline] the parameter '{name}' of stage {number} is one of stage {owner[id(p)]}, too: "
                        "stages lie on different processes and share none"
                    )


def _cut(given: Any, count: int, name: str) -> list[tuple[Tensor, ...]]:
    """Returns the microbatches of a batch."""
    if given is None:
        raise ValueError(
            f"[Pipeline] this process has the {'first' if name == 'inputs' else 'last'} stage: give {name}"
        )
    listed = given if isinstance(given, tuple) else (given,)
    for x in listed:
        if not isinstance(x, Tensor) or not x.ndim or len(x) < count:
            what = f"shape {list(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
            raise ValueError(f"[Pipeline] {name} has {what}: a batch has at least {count} samples, one a microbatch")
    if len({len(x) for x in listed}) > 1:
        raise ValueError(f"[Pipeline] {name} has batches of {[len(x) for x in listed]} samples: they differ")
    return list(zip(*(x.split(sizes_of(len(x), count)) for x in listed), strict=True))


def _spread(x: Tensor, mesh: Placement | None) -> Tensor:
    """Returns a tensor that the processes of a stage have whole, as a global one."""
    if mesh is None:
        return x
    found: Tensor = x.to_global(mesh, [sbps.broadcast] * mesh.ndim)
    return found


def _whole(x: Tensor) -> Tensor:
    """Returns a global tensor as one that every process of the stage has whole."""
    if not isinstance(x, GlobalTensor):
        return x
    return x.to_global(sbp=[sbps.broadcast] * x.placement.ndim).to_local()


def _no_sync(stage: Module) -> AbstractContextManager[Any]:
    made: AbstractContextManager[Any] = stage.no_sync() if hasattr(stage, "no_sync") else nullcontext()
    return made
