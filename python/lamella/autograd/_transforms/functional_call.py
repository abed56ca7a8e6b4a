"""Calls of a module with other tensors in the place of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._C import Tensor

if TYPE_CHECKING:
    from ...nn import Module


class _Slot(NamedTuple):
    """A place in which a module holds a tensor."""

    place: dict[str, Any]
    key: str

    def tensor(self) -> Any:
        return self.place.get(self.key)

    def put(self, tensor: Any) -> None:
        self.place[self.key] = tensor

    @property
    def identity(self) -> tuple[int, str]:
        return id(self.place), self.key


def functional_call(
    module: Module,
    params_and_buffers: Mapping[str, Tensor | None] | Sequence[Mapping[str, Tensor | None]],
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls ``module`` with the given tensors in the place of its parameters and buffers.

    The module has its own again when the call ends, also by an exception; calls may be nested. So a network becomes a
    function of its parameters, for :func:`jacrev`, :func:`hvp` or :func:`gradcheck`::

        params = dict(net.named_parameters())
        hvp(lambda p: functional_call(net, p, (x,)).sum(), params, v)

    Args:
        module: a :class:`lamella.nn.Module`.
        params_and_buffers: tensors by dotted name, as ``named_parameters`` gives them, or several such mappings. None
            stands for no tensor, as where a layer is without a bias.
            A tensor that ``forward`` puts in a given one's place (a buffer set anew) is stored there in turn.
        args: the positional arguments: a tuple, or the only one.
        kwargs: the keyword arguments.
        tie_weights: a tensor that the module holds under several names is replaced under all of them.
        strict: every parameter and buffer must be given.

    Returns:
        What the module returns.

    Raises:
        TypeError: a value is no tensor.
        ValueError: a name is unknown (or missing, with ``strict``), is given twice, or names that are tied are given
            different tensors.
    """
    arguments = args if isinstance(args, tuple) else (args,)
    with tensors_replaced(module, params_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*arguments, **(kwargs or {}))


@contextmanager
def tensors_replaced(
    module: Module,
    params_and_buffers: Mapping[str, Tensor | None] | Sequence[Mapping[str, Tensor | None]],
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Iterator[None]:
    """Puts tensors in the place of a module's own for a block; see :func:`functional_call`."""
    given: dict[str, Tensor | None] = {}
    sources: dict[str, Any] = {}
    for mapping in [params_and_buffers] if isinstance(params_and_buffers, Mapping) else params_and_buffers:
        for name, tensor in mapping.items():
            if name in given:
                raise ValueError(f"[functional_call] '{name}' is given twice")
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(f"[functional_call] '{name}' is {type(tensor).__name__}: expected a Tensor")
            given[name] = tensor
            sources[name] = mapping
    with _replaced(_places(module, given, tie_weights, strict), given, sources):
        yield


def _slots(module: Module) -> Iterator[tuple[str, _Slot]]:
    """Returns every place in which the module holds a tensor, once for each of its names."""
    for place in (module._parameters, module._buffers):
        for name, tensor in place.items():
            if tensor is not None:
                yield name, _Slot(place, name)
    for name, child in module._modules.items():
        if child is not None:
            for path, slot in _slots(child):
                yield f"{name}.{path}", slot


def _places(
    module: Module, given: Mapping[str, Tensor | None], tie_weights: bool, strict: bool
) -> dict[str, list[_Slot]]:
    """Returns the places in which each given tensor goes."""
    slots = dict(_slots(module))
    if unknown := [name for name in given if name not in slots]:
        raise ValueError(
            f"[functional_call] {type(module).__name__} has no parameter or buffer {', '.join(map(repr, unknown))}; "
            f"it has {', '.join(slots) or 'none'}"
        )

    # Names of one place (a submodule that is used twice) are tied in any case, names of one tensor on request.
    def tie_of(slot: _Slot) -> object:
        return id(slot.tensor()) if tie_weights else slot.identity

    tied: dict[object, list[str]] = {}
    for name, slot in slots.items():
        tied.setdefault(tie_of(slot), []).append(name)
    owners: dict[object, str] = {}
    places: dict[str, list[_Slot]] = {}
    for name, tensor in given.items():
        tie = tie_of(slots[name])
        owner = owners.setdefault(tie, name)
        if given[owner] is not tensor:
            raise ValueError(
                f"[functional_call] '{owner}' and '{name}' are one tensor of the module, and are given different ones"
                + ("; tie_weights=False unties names that share a tensor" if tie_weights else "")
            )
        if owner == name:
            places[name] = list({slots[other].identity: slots[other] for other in tied[tie]}.values())
    if strict and (missing := [name for name, slot in slots.items() if tie_of(slot) not in owners]):
        raise ValueError(f"[functional_call] strict=True: not given: {', '.join(missing)}")
    return places


@contextmanager
def _replaced(
    places: Mapping[str, list[_Slot]], given: Mapping[str, Tensor | None], sources: Mapping[str, Any]
) -> Iterator[None]:
    """Puts the given tensors in their places for a block."""
    before = [(slot, slot.tensor()) for slots in places.values() for slot in slots]
    try:
        for name, slots in places.items():
            for slot in slots:
                slot.put(given[name])
        yield
    finally:
        for name, slots in places.items():
            now = slots[0].tensor()
            if now is not given[name] and now is not None and isinstance(sources[name], MutableMapping):
                sources[name][name] = now
        for slot, tensor in before:
            slot.put(tensor)
