"""Rules that follow from which axes an operator works along: it treats the others alike."""

from __future__ import annotations

from collections.abc import Iterable

from ._letters import axes_of, letters
from .call import Call
from .registry import rule
from .spec import UNKNOWN, Spec

#: Operators with a parameter ``axis`` that work along the other axes, or draw one order for all of them.
OTHERWISE = frozenset({"renorm", "permutation", "tensordot", "unique", "unique_consecutive"})
#: Those that are linear in all tensors that are not indices.
_LINEAR = frozenset(
    [
        *("concat", "split", "chunk", "tensor_split", "unstack", "narrow", "select", "flip", "roll", "repeat"),
        *("cumsum", "cumulative_sum", "diff", "index_select", "take", "gather", "take_along_axis", "fft_c2c"),
    ]
)
#: By name, the axis that an operator works along without being told.
_FIXED = {"hstack": 1, "vstack": 0, "dstack": 2, "hsplit": 1, "vsplit": 0, "dsplit": 2, "fliplr": 1, "flipud": 0}
#: Operators that move axes without computing along any.
_MOVES = (
    *("permute_dims", "matrix_transpose", "swapaxes", "moveaxis", "expand_dims", "stack"),
    *("atleast_1d", "atleast_2d", "atleast_3d", "view_as_real"),
)
#: By name, how many of the last axes an operator works along; it treats those before alike.
_LAST = {
    **dict.fromkeys(("tril", "triu", "rot90"), 2),
    **dict.fromkeys(("linalg_cholesky", "linalg_inv", "linalg_det", "linalg_slogdet", "linalg_qr", "linalg_eigh"), 2),
    **dict.fromkeys(("linalg_eigvalsh", "linalg_eig", "linalg_eigvals", "linalg_svd", "linalg_svdvals"), 2),
    **dict.fromkeys(("linalg_matrix_exp", "linalg_matrix_power", "linalg_matrix_norm", "linalg_lu_factor"), 2),
    **dict.fromkeys(("pixel_shuffle", "pixel_unshuffle", "channel_shuffle"), 3),
    "view_as_complex": 1,
}


def _spec(call: Call, places: list[int], axes: Iterable[int], linear: bool = False) -> Spec:
    """Returns the axes of a call, of which ``axes`` of the tensors at ``places`` are treated alike."""
    shapes, results = call.shapes, call.results()
    names = letters(len(shapes[places[0]]))
    inputs = [[UNKNOWN] * len(shape) for shape in shapes]
    outputs = [[UNKNOWN] * x.ndim for x in results]
    for axis in axes:
        if len({shapes[place][axis] for place in places}) > 1 or shapes[places[0]][axis] < 2:
            continue
        found = call.follows(places, axis)
        if found is None or None in found:
            continue
        for place in places:
            inputs[place][axis] = names[axis]
        for labels, at in zip(outputs, found, strict=True):
            if at is not None:
                labels[at] = names[axis]
    together = frozenset(i for i in places if "int" not in call.tensors[i].dtype.name)
    return Spec(
        tuple("".join(one) for one in inputs),
        tuple("".join(one) for one in outputs),
        linear=(together,) if linear and together else (),
    )


def along_axis(call: Call) -> Spec | None:
    """Splits the axes that the call does not work along, of all tensors with as many axes as the first."""
    if not call.tensors:
        return None
    ndim = call.tensors[0].ndim
    places = [i for i, x in enumerate(call.tensors) if x.ndim == ndim]
    given = call.arguments.get("axes", call.arguments.get("axis"))
    others = call.arguments.get("others")
    used = axes_of(given, ndim) | (axes_of(others, ndim) if others is not None else set())
    return _spec(call, places, [k for k in range(ndim) if k not in used], linear=call.name in _LINEAR)


@rule(*_FIXED)
def along_its_axis(call: Call) -> Spec | None:
    """Splits the other axes than the one that the operator stacks, cuts or reverses."""
    ndim, axis = call.tensors[0].ndim, _FIXED[call.name]
    if ndim < 2 or any(x.ndim != ndim for x in call.tensors):
        return None
    places = list(range(len(call.tensors)))
    return _spec(call, places, [k for k in range(ndim) if k != axis], linear=True)


@rule("diagonal", "trace")
def diagonal(call: Call) -> Spec | None:
    """Splits the axes beside those of the matrices."""
    ndim = call.tensors[0].ndim
    used = {call.arguments.get("axis1", -2) % ndim, call.arguments.get("axis2", -1) % ndim}
    return _spec(call, [0], [k for k in range(ndim) if k not in used], linear=True)


@rule(*_MOVES)
def moving(call: Call) -> Spec:
    """Splits any axis, wherever it goes."""
    return _spec(call, list(range(len(call.tensors))), range(call.tensors[0].ndim), linear=True)


@rule(*_LAST)
def last_axes(call: Call) -> Spec | None:
    """Splits the axes before those that the call works along."""
    if len(call.tensors) != 1:
        return None
    before = call.tensors[0].ndim - _LAST[call.name]
    return _spec(call, [0], range(before), linear=call.name in ("tril", "triu"))
