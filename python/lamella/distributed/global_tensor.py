"""Global tensors: one tensor that lies over many processes, with the methods of a tensor."""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import lamella as lm
from lamella import _C, autograd
from lamella import sbp as sbps
from lamella._C import Tensor
from lamella.graph._special import FUNCTIONAL
from lamella.sbp import SbpLike

from . import _presence
from .mesh import placement as Placement  # noqa: N812 (tensors have a property of its name)
from .redistribute import Signature, cost, redistribute

__all__ = ["GlobalParameter", "GlobalTensor"]


def adjoint(signature: Signature) -> Signature:
    """Returns the signatures of the gradient of a tensor: a part's is a part, a whole's is partial, a partial's whole.

    Each process computes the gradient of its own part; what is whole everywhere was used everywhere, and the uses add
    up.
    """
    return tuple(one if one.is_split else sbps.partial_sum if one.is_broadcast else sbps.broadcast for one in signature)


def settled(signature: Signature) -> Signature:
    """Returns the signatures in which a leaf keeps its gradient: its own, whole where it is partial."""
    return tuple(one if one.is_split else sbps.broadcast for one in signature)


class GlobalTensor(Tensor):
    """A tensor that lies over the processes of a :class:`placement` as its signatures say.

    It has the shape, dtype, methods and operators of the whole tensor; each process has a part of it. An operator on
    global tensors chooses signatures by its rule, brings its inputs to them, and computes on each process's parts; all
    processes of the placement call the same operators in the same order. Tensors that are not global, and numbers,
    count as the same on every process.

    Made by :func:`lamella.distributed.to_global`, :func:`lamella.distributed.distribute` and operators.
    """

    _local: Tensor
    _placement: Placement
    _sbp: Signature
    _token: object
    #: This process's part under other signatures, once that was found: several operators may ask for the same.
    _laid: dict[Signature, tuple[int, bool, Tensor]]
    #: True if another global tensor may lie in the same memory, as a slice does.
    _is_shared: bool
    #: True for a slice of what was sent elsewhere first: its elements are copies, or are other processes' as well.
    _is_severed: bool

    @classmethod
    def _of(cls, local: Tensor, shape: Sequence[int], mesh: Placement, signature: Signature) -> GlobalTensor:
        """Makes one of this process's part."""
        made: GlobalTensor = cls.__new__(cls, _C.empty(list(shape), dtype=local.dtype, device="meta"))
        made._local, made._placement, made._sbp = local, mesh, signature
        made._token, made._laid = _presence.Token(), {}
        made._is_shared = made._is_severed = False
        return made

    def __new__(cls, whole: Tensor) -> GlobalTensor:
        """Makes one of a tensor on ``meta``; programs call :func:`lamella.distributed.to_global`."""
        return Tensor.__new__(cls, whole)

    # ---- where it lies

    @property
    def placement(self) -> Placement:
        """The processes over which the tensor lies."""
        return self._placement

    @property
    def sbp(self) -> Signature:
        """The signatures, one for each axis of the placement."""
        return self._sbp

    @property
    def is_global(self) -> bool:
        """True."""
        return True

    @property
    def device(self) -> str:  # type: ignore[override]
        """The device of this process's part."""
        return self._local.device

    def to_global(self, placement: Placement | None = None, sbp: SbpLike | None = None) -> GlobalTensor:
        """Returns the tensor under other signatures; see :func:`lamella.distributed.to_global`.

        Raises:
            ValueError: a signature does not fit, or the placement is another.
        """
        mesh = self._placement
        if placement is not None and placement != mesh:
            raise ValueError(f"[to_global] the tensor lies over {mesh!r}, and goes to no other: {placement!r}")
        target = self._sbp if sbp is None else sbps.signature(sbp, mesh.ndim, self.ndim, "to_global")
        if target == self._sbp:
            return self
        local = redistribute(self._local, self.shape, mesh, self._sbp, target)
        return GlobalTensor._of(local, self.shape, mesh, target)

    def to_local(self) -> Tensor:
        """Returns this process's part, on the tape.

        The gradient of a part that every process has whole is taken from the first of them, as all compute the same.
        """
        if not self.is_differentiable:
            return self._local
        return _Local.apply(self._local, (tuple(self.shape), self._placement, self._sbp))

    @property
    def is_differentiable(self) -> bool:
        """True if the tensor takes part in recorded operations."""
        return not self._local.stop_gradient

    def whole(self) -> Tensor:
        """Returns the tensor's elements on every process, off the tape. All processes call it together."""
        with lm.no_grad():
            target = (sbps.broadcast,) * len(self._sbp)
            return redistribute(self._local.detach(), self.shape, self._placement, self._sbp, target)

    def _layouts(self) -> dict[Signature, Tensor]:
        """Returns this process's parts by the signatures under which they are there."""
        found = {self._sbp: self._local}
        if self._laid:
            now = self._local._version, lm.is_grad_enabled()
            found |= {signature: part for signature, (*then, part) in self._laid.items() if tuple(then) == now}
        return found

    def _under(self, signature: Signature, layouts: dict[Signature, Tensor]) -> Tensor:
        """Returns this process's part under a signature, by the cheapest way from one of ``layouts``."""
        found = layouts.get(signature)
        if found is not None:
            return found
        mesh, shape = self._placement, tuple(self.shape)
        source = min(layouts, key=lambda one: cost(shape, self._local.itemsize, mesh, one, signature))
        found = redistribute(layouts[source], shape, mesh, source, signature)
        # A leaf lives on, and would keep what others need for one operator only.
        if not self._local.is_leaf:
            self._laid[signature] = self._local._version, lm.is_grad_enabled(), found
        return found

    # ---- the tape

    @property
    def stop_gradient(self) -> bool:
        """True if no gradient flows back through the tensor; can be set."""
        return self._local.stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        leaf = self._local.stop_gradient and not stop
        self._local.stop_gradient = stop
        if leaf and self._local.is_leaf:
            self._sum_gradients()

    @property
    def requires_grad(self) -> bool:  # type: ignore[override]
        """The opposite of :attr:`stop_gradient`; can be set."""
        return not self.stop_gradient

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.stop_gradient = not wanted

    def _sum_gradients(self) -> None:
        """Has the gradients of this leaf added up over the processes that hold it whole, before they are kept."""
        source, target = adjoint(self._sbp), settled(self._sbp)
        if source != target and not hasattr(self, "_hook"):
            shape, mesh = tuple(self.shape), self._placement
            self._hook = self._local.register_hook(lambda dy: redistribute(dy, shape, mesh, source, target))

    @property
    def grad(self) -> GlobalTensor | None:  # type: ignore[override]
        """The gradient of a leaf, with its signatures (whole where it is partial); None without one. Can be set."""
        kept: GlobalTensor | None = getattr(self, "_kept", None)
        if kept is not None:
            return kept
        found = self._local.grad
        return None if found is None else GlobalTensor._of(found, self.shape, self._placement, settled(self._sbp))

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            self.clear_grad()
            return
        if not isinstance(value, GlobalTensor):
            raise TypeError(f"[grad] the gradient of a global tensor is global or None, not {type(value).__name__}")
        moved: GlobalTensor = value.to_global(self._placement, settled(self._sbp))
        self._local.grad = moved._local

    @property
    def grad_fn(self) -> Any:
        """The node of this process's part."""
        return self._local.grad_fn

    @property
    def is_leaf(self) -> bool:
        """True if the tensor is no result of a recorded operation."""
        return self._local.is_leaf

    def backward(
        self,
        grad: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Computes the gradients of the leaves; see :func:`lamella.autograd.backward`.

        Args:
            grad: that of this tensor, global or the same on every process; 1 by default, for one element.
            retain_graph: as for tensors.
            create_graph: as for tensors.
            inputs: as for tensors.
        """
        with _presence.installed():
            autograd.backward(self, grad, retain_graph=retain_graph, create_graph=create_graph, inputs=inputs)

    def detach(self) -> GlobalTensor:
        """Returns the tensor without its graph; the memory is shared."""
        return GlobalTensor._of(self._local.detach(), self.shape, self._placement, self._sbp)

    def detach_(self) -> GlobalTensor:
        """Takes the tensor off the tape."""
        self._local.detach_()
        return self

    def requires_grad_(self, requires_grad: bool = True) -> GlobalTensor:
        """Sets :attr:`requires_grad`."""
        self.requires_grad = requires_grad
        return self

    def retain_grad(self) -> None:
        """Keeps the gradient of this tensor, too, though it is no leaf."""
        if self.is_leaf or hasattr(self, "_kept"):
            return
        self._kept: GlobalTensor | None = None
        kept = weakref.ref(self)
        source, target, shape, mesh = adjoint(self._sbp), settled(self._sbp), tuple(self.shape), self._placement

        def keep(dy: Tensor) -> None:
            own = redistribute(dy.detach(), shape, mesh, source, target)
            tensor = kept()
            if tensor is not None:
                found = GlobalTensor._of(own, shape, mesh, target)
                tensor._kept = found if tensor._kept is None else tensor._kept + found  # type: ignore[assignment]

        self._local.register_hook(keep)

    def clear_grad(self) -> None:
        """Drops the gradient."""
        if hasattr(self, "_kept"):
            self._kept = None
        else:
            self._local.clear_grad()

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any:  # type: ignore[override]
        """Has a function called with this tensor's gradient, as a global tensor; it may return another."""
        shape, mesh = tuple(self.shape), self._placement
        summed = hasattr(self, "_hook")
        signature = settled(self._sbp) if summed else adjoint(self._sbp)

        def call(dy: Tensor) -> Tensor | None:
            found: Any = hook(GlobalTensor._of(dy, shape, mesh, signature))
            return None if found is None else found.to_global(mesh, signature)._local

        return self._local.register_hook(call)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> Any:
        """Has a function called with this leaf after its gradient was accumulated."""
        leaf = weakref.ref(self)

        def call(_: Tensor) -> None:
            tensor = leaf()
            if tensor is not None:
                hook(tensor)

        return self._local.register_post_accumulate_grad_hook(call)

    # ---- values

    def __repr__(self) -> str:
        text = repr(self._local.detach())
        return (
            f"GlobalTensor(shape={list(self.shape)}, sbp={self._sbp}, placement={self._placement!r}, "
            f"this process's part={text})"
        )

    def __format__(self, spec: str) -> str:
        return format(self.whole(), spec) if spec else repr(self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("[len] a 0-d tensor has no length")
        return self.shape[0]

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __getitem__(self, key: Any) -> Any:
        return _presence.recorder().get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _presence.recorder().set_item(self, key, value)

    def to(  # type: ignore[override]
        self, target: Any = None, *, dtype: Any = None, device: Any = None, non_blocking: bool = False
    ) -> Tensor:
        """Returns the tensor in another dtype; it stays on its placement."""
        if target is not None and (not isinstance(target, str) or hasattr(_C, target)):
            dtype = target
        return self if dtype is None else self.astype(dtype)

    def cpu(self) -> Tensor:
        """Returns the tensor itself, which stays on its placement."""
        return self

    def cuda(self, *_args: Any, **_options: Any) -> Tensor:
        """Returns the tensor itself, which stays on its placement."""
        return self

    def contiguous(self) -> GlobalTensor:
        """Returns the tensor with contiguous parts."""
        return GlobalTensor._of(self._local.contiguous(), self.shape, self._placement, self._sbp)

    # ---- copies

    def _as_parameter(self, stop_gradient: bool) -> GlobalTensor:
        """Returns a parameter with the values of this tensor, which lies as it does."""
        made = GlobalParameter._of(self._local.detach().clone(), self.shape, self._placement, self._sbp)
        made.stop_gradient = stop_gradient
        return made

    def __copy__(self) -> GlobalTensor:
        return self._with_local(copy.copy(self._local))

    def __deepcopy__(self, memo: dict[int, Any]) -> GlobalTensor:
        made = self._with_local(copy.deepcopy(self._local, memo))
        memo[id(self)] = made
        return made

    def _with_local(self, local: Tensor) -> GlobalTensor:
        made = type(self)._of(local, self.shape, self._placement, self._sbp)
        if not local.stop_gradient:
            made._sum_gradients()
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _restored, (type(self), self._local, tuple(self.shape), self._placement, self._sbp)


def _restored(
    cls: type[GlobalTensor], local: Tensor, shape: tuple[int, ...], mesh: Placement, signature: Signature
) -> GlobalTensor:
    """Makes a global tensor of a part that was pickled; it is that of the process that pickled it."""
    made = cls._of(local, shape, mesh, signature)
    if not local.stop_gradient:
        made._sum_gradients()
    return made


class GlobalParameter(GlobalTensor, lm.nn.Parameter):
    """A global tensor that a module trains."""

    def __new__(cls, whole: Tensor) -> GlobalParameter:  # type: ignore[override]
        """Makes one of a tensor on ``meta``; programs call :func:`lamella.distributed.parallelize`."""
        return Tensor.__new__(cls, whole)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{GlobalTensor.__repr__(self)}"


def seed_of(tensor: GlobalTensor, gradient: Tensor | None) -> Tensor:
    """Returns the gradient of this process's part where a backward pass begins.

    Raises:
        RuntimeError: None is given for a tensor of more than one element.
    """
    if gradient is None:
        if tensor.size != 1:
            raise RuntimeError(
                f"[backward] a gradient is made for one element, and the tensor has {tensor.size}: give one"
            )
        gradient = lm.ones(list(tensor.shape), dtype=tensor.dtype, device=tensor._local.device)
    mesh = tensor._placement
    if not isinstance(gradient, GlobalTensor):
        gradient = GlobalTensor._of(gradient, gradient.shape, mesh, (sbps.broadcast,) * mesh.ndim)
    return redistribute(gradient._local, tensor.shape, mesh, gradient._sbp, adjoint(tensor._sbp))


class _Local(autograd.PyLayer):
    """This process's part as a tensor of its own; see :meth:`GlobalTensor.to_local`."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, place: Any) -> Tensor:
        ctx.place = place
        return local.clone()

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        shape, mesh, signature = ctx.place
        source = tuple(sbps.broadcast if one.is_partial else one for one in signature)
        return redistribute(dy, shape, mesh, source, adjoint(signature)), None


def _value(name: str) -> Callable[..., Any]:
    """Returns a method that reads the elements of the whole tensor."""

    @functools.wraps(getattr(Tensor, name))
    def method(self: GlobalTensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.whole(), name)(*args, **kwargs)

    return method


def _function(name: str) -> Callable[..., Any]:
    function = FUNCTIONAL[name]

    def method(self: GlobalTensor, *args: Any) -> Any:
        with _presence.installed():
            return function(self, *args)

    method.__name__ = name
    return method


def _closed(name: str, instead: str) -> Callable[..., Any]:
    def method(self: GlobalTensor, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise RuntimeError(f"[{name}] a global tensor has none: {instead}")

    method.__name__ = name
    return method


def _install() -> None:
    for name in (
        "__bool__",
        "__float__",
        "__int__",
        "__index__",
        "__complex__",
        "__array__",
        "item",
        "numpy",
        "tolist",
    ):
        setattr(GlobalTensor, name, _value(name))
    for name in FUNCTIONAL:
        verb, _, attribute = name.partition(" ")
        setattr(GlobalTensor, attribute or name, property(_function(name)) if verb == "get" else _function(name))
    for name in ("data_ptr", "__dlpack__"):
        setattr(GlobalTensor, name, _closed(name, "to_local() is this process's part"))


_install()
