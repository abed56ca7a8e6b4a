"""Lays a plain model over many processes by naming how its parameters lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeVar

import lamella as lm
from lamella import sbp as sbps
from lamella.nn import Module
from lamella.sbp import Sbp, SbpLike

from . import _carrier
from .global_tensor import GlobalParameter, GlobalTensor
from .making import part_of
from .mesh import placement
from .redistribute import Signature

M = TypeVar("M", bound=Module)


def _signature(given: SbpLike, mesh: placement, ndim: int, exact: bool, name: str) -> Signature:
    """Returns the signatures of a tensor; an axis that it does not have is whole where its own name was not given."""
    listed = [given] if isinstance(given, (Sbp, str)) else list(given)
    parsed = [sbps.parse(one) if isinstance(one, str) else one for one in listed]
    if not exact:
        parsed = [
            sbps.broadcast if isinstance(one, Sbp) and one.is_split and not -ndim <= one.axis < ndim else one
            for one in parsed
        ]
    made = sbps.signature(parsed, mesh.ndim, ndim, "parallelize")
    if any(one.is_partial for one in made):
        raise ValueError(f"[parallelize] '{name}' would be partial: a parameter is split or broadcast")
    return made


def _is_whole(given: SbpLike) -> bool:
    """True if signatures ask for nothing to be split."""
    listed = [given] if isinstance(given, (Sbp, str)) else list(given)
    return not any((sbps.parse(one) if isinstance(one, str) else one).is_split for one in listed)


def _whole(x: lm.Tensor, mesh: placement) -> lm.Tensor:
    """Returns the first process's values."""
    own = x.detach()
    for axis in range(mesh.ndim):
        if mesh.shape[axis] > 1:
            own = _carrier.current().broadcast(own, mesh.group(axis))
    return own


def _owners(module: Module) -> Iterator[tuple[str, dict[str, Any], str]]:
    for path, child in module.named_modules():
        prefix = path + "." if path else ""
        for table in (child._parameters, child._buffers):
            for key, x in table.items():
                if x is not None:
                    yield prefix + key, table, key


def layout_of(
    module: Module, mesh: placement, plan: Mapping[str, SbpLike]
) -> list[tuple[dict[str, Any], str, Signature]]:
    """Returns, for each parameter and buffer, the table and the key where it is, and its signatures.

    Raises:
        ValueError: a name fits nothing, or a signature does not fit its parameter.
    """
    wanted = dict(plan)
    unused = set(wanted)
    chosen: list[tuple[dict[str, Any], str, Signature]] = []
    whole: Signature = (sbps.broadcast,) * mesh.ndim
    for name, table, key in _owners(module):
        signature = whole
        for pattern, given in wanted.items():
            exact = name == pattern
            paths = name, name.rpartition(".")[0]
            if any(fnmatchcase(path, pattern) for path in paths) or fnmatchcase(name, f"{pattern}.*"):
                signature = _signature(given, mesh, table[key].ndim, exact, name)
                if exact or signature != whole or _is_whole(given):
                    unused.discard(pattern)
        chosen.append((table, key, signature))
    if unused:
        raise ValueError(
            f"[parallelize] these names fit no parameter of {type(module).__name__} that has the axis: {sorted(unused)}"
        )
    return chosen


def parallelize(
    module: M, placement: placement, plan: Mapping[str, SbpLike] | None = None, *, synchronize: bool = True
) -> M:
    """Makes a model's parameters and buffers global tensors, in place: what its layers compute is split accordingly.

    The layers stay as they are. Tensors that the model is given count as the same on every process; give it global ones
    to split the batch. With the ways of Megatron-LM (M. Shoeybi et al., arXiv:1909.08053), a block of a transformer
    is ``{"q_proj": split(0), "k_proj": split(0), "v_proj": split(0), "out_proj": split(1)}`` and, of the layers after,
    ``{"up": split(0), "down": split(1)}``.

    Args:
        module: the model, of which every process has one of the same structure.
        placement: the processes.
        plan: signatures by the names of parameters, or of modules for all of theirs that have the axis, with ``*`` for
            any part of a name. A signature is one, or one for each axis of the placement. All else is broadcast.
        synchronize: True takes the first process's values; False is for models that are the same already.

    Returns:
        The model itself. Its optimizer is made afterwards.

    Raises:
        ValueError: a name fits nothing, or a signature does not fit its parameter; the model is as before.
        RuntimeError: this process is not in the placement.
    """
    placement.coordinate()
    chosen = layout_of(module, placement, plan or {})
    made: dict[int, GlobalTensor] = {}
    for table, key, signature in chosen:
        x = table[key]
        if isinstance(x, GlobalTensor):
            continue
        if id(x) not in made:
            values = _whole(x, placement) if synchronize else x
            local = part_of(values, placement, signature)
            kind = GlobalParameter if isinstance(x, lm.nn.Parameter) else GlobalTensor
            made[id(x)] = kind._of(local, x.shape, placement, signature)
            made[id(x)].stop_gradient = x.stop_gradient
        elif made[id(x)]._sbp != signature:
            raise ValueError(f"[parallelize] '{key}' is shared, and its names give it other signatures")
        table[key] = made[id(x)]
    return module
