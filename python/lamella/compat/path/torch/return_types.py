"""Results of several tensors: tuples whose class and fields go by names, as PyTorch shows them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any

#: Functions, ``linalg_`` before those of torch.linalg, and the names of what they return.
_FIELDS = {
    "max min median nanmedian mode sort topk kthvalue cummax cummin": "values indices",
    "aminmax": "min max",
    "frexp": "mantissa exponent",
    "geqrf": "a tau",
    "histogram histogramdd": "hist bin_edges",
    "slogdet linalg_slogdet": "sign logabsdet",
    "svd": "U S V",
    "linalg_svd": "U S Vh",
    "qr linalg_qr": "Q R",
    "linalg_polar": "U H",
    "linalg_eig linalg_eigh": "eigenvalues eigenvectors",
    "lu_unpack linalg_lu": "P L U",
    "linalg_lu_factor": "LU pivots",
    "linalg_lu_factor_ex": "LU pivots info",
    "linalg_ldl_factor": "LD pivots",
    "linalg_ldl_factor_ex": "LD pivots info",
    "linalg_cholesky_ex": "L info",
    "linalg_inv_ex": "inverse info",
    "linalg_solve_ex": "result info",
    "linalg_lstsq": "solution residuals rank singular_values",
    "triangular_solve": "solution cloned_coefficient",
}


class _Result(tuple[Any, ...]):
    """A tuple with names, made of one sequence; pickles name its class."""

    __slots__ = ()
    n_fields = n_sequence_fields = n_unnamed_fields = 0
    _names: tuple[str, ...] = ()

    def __new__(cls, sequence: Iterable[Any], dict: Any = None) -> _Result:
        """Returns a result; the second argument is that of pickles.

        Raises:
            TypeError: the sequence has another length.
        """
        made = super().__new__(cls, sequence)
        if len(made) != cls.n_fields:
            name = f"torch.return_types.{cls.__name__}"
            raise TypeError(f"[{name}] takes a sequence of {cls.n_fields} values, got {len(made)}")
        return made

    #: What code for named tuples makes another one by.
    _make = classmethod(lambda cls, sequence: cls(sequence))

    def __repr__(self) -> str:
        fields = (f"{name}={value!r}" for name, value in zip(self._names, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n" + ",\n".join(fields) + ")"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self), {})


def _class_of(name: str, fields: tuple[str, ...]) -> type[_Result]:
    members: dict[str, Any] = {"__module__": __name__, "__slots__": (), "__match_args__": fields, "_names": fields}
    members.update(n_fields=len(fields), n_sequence_fields=len(fields), __doc__=f"What {name} returns.")
    for place, field in enumerate(fields):
        members[field] = property(operator.itemgetter(place))
    return type(name, (_Result,), members)


#: The classes by function.
CLASSES = {name: _class_of(name, tuple(fields.split())) for names, fields in _FIELDS.items() for name in names.split()}
globals().update(CLASSES)


def named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function whose tuples are of the class of a name."""
    kind = CLASSES[name]

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        made = function(*args, **named)
        return kind(made) if isinstance(made, tuple) else made

    return call
