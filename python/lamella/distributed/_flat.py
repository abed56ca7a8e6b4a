"""Parameters that lie one after the other in one flat tensor, of which each process keeps an equal part."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from .. import _C
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from .._C import _Work as Work
from ..autograd import PyLayer
from ..nn import Module, Parameter
from ._groups import get_group
from ._models import own_part, place_of
from .global_tensor import GlobalParameter, GlobalTensor, adjoint, settled
from .redistribute import redistribute


class FlatShard(Parameter):
    """This process's part of a flat tensor: what an optimizer moves in the place of the parameters in it."""

    #: Optimizers that look at whole tensors refuse it.
    is_shard = True


class Slot(NamedTuple):
    """The place of a parameter in a flat tensor."""

    #: Its dotted names in the model: more than one where it is shared.
    names: tuple[str, ...]
    #: The modules that have it, with its name there.
    places: tuple[tuple[Module, str], ...]
    shape: tuple[int, ...]
    start: int
    #: Of a part of a global tensor: the shape of the whole, the processes and the signatures.
    place: tuple[tuple[int, ...], Any, Any] | None = None

    def placed(self, piece: Tensor) -> Tensor:
        """Returns the parameter, of its elements: a global tensor where these are a part of one."""
        return piece if self.place is None else GlobalTensor._of(piece, *self.place)

    def made(self, piece: Tensor, stop_gradient: bool) -> Any:
        """Returns a parameter of such elements."""
        if self.place is None:
            return Parameter.of_memory(piece, stop_gradient=stop_gradient)
        found = GlobalParameter._of(piece.detach(), *self.place)
        found.stop_gradient = stop_gradient
        return found

    def settled(self, gradient: Tensor) -> Tensor:
        """Returns the gradient of the elements, added up over the processes where all have them."""
        if self.place is None:
            return gradient
        shape, mesh, signature = self.place
        return redistribute(gradient, shape, mesh, adjoint(signature), settled(signature))

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


class Span(NamedTuple):
    """Elements of a parameter in a tensor that an optimizer moves."""

    slot: Slot
    #: Where they begin and end in the tensor.
    first: int
    last: int
    #: Where they begin in the parameter, as one long row.
    begin: int


class Member(NamedTuple):
    """A tensor that an optimizer moves, and what is in it."""

    tensor: Any
    spans: tuple[Span, ...]


class View(NamedTuple):
    """Describes a tensor that is a part of a flat tensor, so that it need not be kept itself."""

    flat: Flat
    start: int
    #: Sizes of its axes in the order of memory.
    sizes: tuple[int, ...]
    #: For each of its axes, where it is in the order of memory.
    axes: tuple[int, ...]

    def tensor(self) -> Tensor:
        """Returns the tensor, whose flat tensor is gathered."""
        return (
            self.flat.gathered()[self.start : self.start + math.prod(self.sizes)]
            .reshape(self.sizes)
            .permute_dims(self.axes)
        )


class Flat:
    """Parameters of one dtype and device, in one flat tensor that is cut evenly over the processes.

    Args:
        parameters: The parameters, each with its dotted names and the modules that have it.
        key: What tells these parameters from others of the same module.
        group: The processes.
    """

    def __init__(
        self,
        parameters: Sequence[tuple[Parameter, tuple[str, ...], tuple[tuple[Module, str], ...]]],
        key: Any,
        group: ProcessGroup,
    ) -> None:
        self.key = key
        #: The unit that it belongs to.
        self.unit: Any = None
        self._group = group.name
        #: Dtypes of the whole, and of gradients that are sent; None for the shard's, and for that of the gradients.
        self.compute_dtype: Any = None
        self.reduce_dtype: Any = None
        #: Names of the groups of processes that keep the same part, of other samples: one for each axis of their array.
        self.replicas: tuple[str, ...] = ()
        #: True while the whole is to have the shard's dtype.
        self.is_exact = False
        self.slots: list[Slot] = []
        self.size = 0
        for parameter, names, places in parameters:
            own = own_part(parameter)
            self.slots.append(Slot(names, places, tuple(own.shape), self.size, place_of(parameter)))
            self.size += own.size
        self.part = max(1, -(-self.size // group.size))
        self.padding = self.part * group.size - self.size
        self.sizes = [self.part] * group.size
        first = parameters[0][0]
        with _C.no_grad():
            whole = self._padded([own_part(p).detach().reshape([-1]) for p, *_ in parameters], own_part(first))
            own = whole[group.rank * self.part : (group.rank + 1) * self.part].clone()
        #: The table of the shard, and its name there: a module that is moved gets another one.
        self._home: dict[str, Any] = {"shard": FlatShard.of_memory(own, stop_gradient=first.stop_gradient)}
        self._name = "shard"
        self._start()

    def _start(self) -> None:
        #: The sum over backward passes that did not communicate, or that ends with the pass; of the whole size.
        self.pending: Tensor | None = None
        self._reductions: list[Work] = []
        self._whole: Tensor | None = None
        self._work: Work | None = None
        #: The tensors that were gathered, and their versions then.
        self._source: list[tuple[Tensor, int]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Returns what copies and pickles have: all but what is gathered."""
        return {**self.__dict__, "_whole": None, "_work": None, "_source": None, "_reductions": []}

    @property
    def shard(self) -> Parameter:
        """This process's part."""
        found: Parameter = self._home[self._name]
        return found

    def members(self) -> list[Member]:
        """Returns the tensors that optimizers move."""
        spans = []
        for slot in self.slots:
            first = min(max(slot.start - self.start, 0), self.part)
            last = min(max(slot.start + slot.size - self.start, 0), self.part)
            spans.append(Span(slot, first, last, self.start + first - slot.start if last > first else 0))
        return [Member(self.shard, tuple(spans))]

    @property
    def sources(self) -> list[Tensor]:
        """This process's parts of what is gathered, one after the other: leaves, which get the gradients."""
        return [self.shard]

    def settle(self, table: dict[str, Any], name: str) -> None:
        """Puts the shard into a module's table of parameters."""
        table[name] = self.shard
        self._home, self._name = table, name

    def leave(self) -> None:
        """Takes the shard out of the table in which it is."""
        self._home = {self._name: self._home.pop(self._name)}

    @property
    def group(self) -> ProcessGroup:
        """The processes."""
        return get_group(self._group)

    @property
    def is_trained(self) -> bool:
        """True if the parameters want gradients."""
        return not self.sources[0].stop_gradient

    @property
    def split_over(self) -> tuple[str, ...]:
        """Names of the groups over which the elements are split besides, as those of a global tensor are."""
        place = self.slots[0].place
        if place is None:
            return ()
        _, mesh, signature = place
        return tuple(mesh.group(axis).name for axis, one in enumerate(signature) if one.is_split)

    @property
    def start(self) -> int:
        """Number of elements before this process's part."""
        return self.group.rank * self.part

    def _padded(self, parts: list[Tensor], like: Tensor) -> Tensor:
        if self.padding:
            parts = [*parts, _C.zeros([self.padding], dtype=like.dtype, device=like.device)]
        return _C.concat(parts)

    @property
    def _dtype(self) -> Any:
        return self.own_dtype if self.compute_dtype is None or self.is_exact else self.compute_dtype

    @property
    def own_dtype(self) -> Any:
        """The dtype of what each process keeps."""
        return self.sources[0].dtype

    def arranged(self, row: Tensor) -> Tensor:
        """Returns the whole, of what the processes keep one after the other."""
        return row

    def packed(self, whole: Tensor) -> Tensor:
        """Returns the whole in the order in which the processes keep it."""
        return whole

    def keep(self, whole: Tensor) -> None:
        """Overwrites this process's part by that of a whole."""
        at = self.start
        for x, part in zip(self.sources, self.packed(whole)[at : at + self.part].split(self._counts()), strict=True):
            x.detach().copy_(part.reshape(x.shape))

    def _counts(self) -> list[int]:
        return [x.size for x in self.sources]

    # ---- the whole

    def prefetch(self) -> None:
        """Starts to gather the whole, unless it is here or on its way."""
        if not self._is_current():
            self.release()
            sources = self.sources
            self._source = [(x, x._version) for x in sources]
            parts = [x.detach().reshape([-1]) for x in sources]
            own = parts[0] if len(parts) == 1 else _C.concat(parts)
            if own.dtype != self._dtype:
                own = own.astype(self._dtype)
            self._work = _C._distributed_start("all_gather", own, sizes=self.sizes, group=self._group)

    def gathered(self) -> Tensor:
        """Returns the whole with its padding, off the tape."""
        self.prefetch()
        if self._whole is None:
            assert self._work is not None
            self._whole, self._work = self.arranged(self._work.wait()), None
        return self._whole

    def _is_current(self) -> bool:
        is_here = self._whole is not None or self._work is not None
        if not is_here or self._source is None:
            return False
        return all(x is y and x._version == then for (x, then), y in zip(self._source, self.sources, strict=True))

    @property
    def is_here(self) -> bool:
        """True if the whole is gathered."""
        return self._whole is not None

    @property
    def is_coming(self) -> bool:
        """True if the whole is on its way."""
        return self._work is not None

    def release(self) -> None:
        """Drops the whole; what is on its way has to come first."""
        if self._work is not None:
            self._work.wait()
        self._whole = self._work = None

    def pieces(self) -> list[Tensor]:
        """Returns the parameters, as views of the whole, off the tape."""
        return self._cut(self.gathered())

    def _cut(self, whole: Tensor) -> list[Tensor]:
        parts = whole.split([slot.size for slot in self.slots] + [self.padding] * bool(self.padding))
        return [part.reshape(slot.shape) for part, slot in zip(parts, self.slots, strict=False)]

    def view_of(self, x: Tensor) -> View | None:
        """Returns the description of a tensor that is a part of the whole; None for any other."""
        whole = self._whole
        if whole is None or not x.size or x.dtype != whole.dtype:
            return None
        start, odd = divmod(x.data_ptr() - whole.data_ptr(), x.dtype.itemsize)
        if odd or not 0 <= start < self.size or x.device != whole.device:
            return None
        order = sorted(range(x.ndim), key=lambda axis: -x.strides[axis] if x.shape[axis] > 1 else 0)
        expected = 1
        for axis in reversed(order):
            if x.shape[axis] > 1 and x.strides[axis] != expected:
                return None  # it leaves out elements in between
            expected *= x.shape[axis]
        axes = tuple(order.index(axis) for axis in range(x.ndim))
        return View(self, start, tuple(x.shape[axis] for axis in order), axes)

    # ---- gradients

    def add(self, gradients: Sequence[Tensor | None]) -> None:
        """Adds the parameters' gradients to what is pending."""
        with _C.no_grad():
            like = next(gradient for gradient in gradients if gradient is not None).detach()
            parts = [
                _C.zeros([slot.size], dtype=like.dtype, device=like.device)
                if gradient is None
                else slot.settled(gradient.detach()).reshape([-1])
                for slot, gradient in zip(self.slots, gradients, strict=True)
            ]
            whole = self._padded(parts, like)
            # Sums over passes are as exact as the shard.
            self.pending = whole if self.pending is None else self.pending.astype(self.own_dtype) + whole

    def start_reduction(self) -> None:
        """Starts to take the mean over the processes of what is pending, of which each gets its part."""
        assert self.pending is not None
        sent = self.packed(self.pending)
        if self.reduce_dtype is not None:
            sent = sent.astype(self.reduce_dtype)
        work = _C._distributed_start("reduce_scatter", sent, op="mean", sizes=self.sizes, group=self._group)
        self._reductions.append(work)
        self.pending = None

    def finish_reductions(self) -> None:
        """Waits for the means, and adds them to the gradient of this process's part."""
        with _C.no_grad():
            for work in self._reductions:
                mean = work.wait()
                for replicas in self.replicas:
                    mean = _C.distributed_all_reduce(mean, op="mean", group=replicas)
                mean = mean.astype(self.own_dtype)
                for x, part in zip(self.sources, mean.split(self._counts()), strict=True):
                    own = part.reshape(x.shape)
                    x.grad = own if x.grad is None else x.grad + own
        self._reductions = []

    def whole_gradients(self) -> list[Tensor | None]:
        """Returns the whole gradients of the parameters, which all processes ask for together; None without any."""
        if all(x.grad is None for x in self.sources):
            return [None] * len(self.slots)
        own = [(_C.zeros_like(x.detach()) if x.grad is None else x.grad.detach()).reshape([-1]) for x in self.sources]
        row = _C.distributed_all_gather(_C.concat(own), sizes=self.sizes, group=self._group)
        return list(self._cut(self.arranged(row)))

    def forget(self) -> None:
        """Drops what a pass that failed has begun."""
        self._reductions = []
        self.release()


class Gathered(PyLayer):
    """The parameters of a flat tensor, on the tape; their gradients go to the flat tensor's owner."""

    @staticmethod
    def forward(ctx: Any, _shard: Tensor, flat: Flat, ready: Any) -> tuple[Tensor, ...]:
        """Returns the parameters."""
        ctx.rest = flat, ready
        return tuple(flat.pieces())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> None:
        """Hands on the gradients; the shard gets its own when the pass ends."""
        flat, ready = ctx.rest
        ready(flat, gradients)


@contextmanager
def restored(
    flats: Sequence[Flat], orders: Sequence[tuple[Module, list[str]]], write: bool, with_grads: bool = False
) -> Iterator[None]:
    """Has whole parameters in the places where they were; with ``write``, new values go back to the shards.

    Args:
        flats: The flat tensors.
        orders: For each module that had parameters, their names in its order.
        write: True to keep changes.
        with_grads: True to have whole gradients, too.
    """
    for flat in flats:
        if flat.compute_dtype is not None:
            flat.release()
            flat.is_exact = True
    wholes = [flat.gathered() for flat in flats]
    made: list[tuple[Slot, Parameter]] = []
    for flat in flats:
        for piece, slot in zip(flat.pieces(), flat.slots, strict=True):
            made.append((slot, slot.made(piece, not flat.is_trained)))
            for module, name in slot.places:
                module._parameters[name] = made[-1][1]
    if with_grads:
        gradients = [x for flat in flats for x in flat.whole_gradients()]
        for (slot, parameter), gradient in zip(made, gradients, strict=True):
            parameter.grad = None if gradient is None else slot.placed(gradient)
    for module, names in orders:
        table = dict(module._parameters)
        module._parameters.clear()
        module._parameters.update({name: table[name] for name in names})
    try:
        yield
        if write:
            _write_back(flats, wholes, made)
    finally:
        for flat in flats:
            if flat.is_exact:
                flat.release()
                flat.is_exact = False
        for slot, _ in made:
            for module, name in slot.places:
                module._parameters.pop(name, None)


def _write_back(flats: Sequence[Flat], wholes: Sequence[Tensor], made: Sequence[tuple[Slot, Parameter]]) -> None:
    with _C.no_grad():
        for slot, parameter in made:
            module, name = slot.places[0]
            new = module._parameters[name]
            if new is not None and new is not parameter:  # another one was put there
                parameter.copy_(new)
        for flat, whole in zip(flats, wholes, strict=True):
            flat.keep(whole)
