"""Parameters as one vector, and a vector as parameters."""

from __future__ import annotations

from collections.abc import Iterable

import lamella as lm


def parameters_to_vector(parameters: Iterable[lm.Tensor]) -> lm.Tensor:
    """Returns the elements of all parameters, one after the other, as one tensor with gradients to each.

    Raises:
        ValueError: there are no parameters, or they are not on one device.
    """
    listed = list(parameters)
    _check("parameters_to_vector", listed)
    return lm.concat([lm.reshape(parameter, (-1,)) for parameter in listed])


def vector_to_parameters(vector: lm.Tensor, parameters: Iterable[lm.Tensor]) -> None:
    """Writes the elements of a vector into parameters, in their order; nothing is recorded.

    Raises:
        TypeError: ``vector`` is no tensor.
        ValueError: the vector has not one axis with as many elements as all parameters together, or these are not on
            one device. Nothing is written then.
    """
    listed = list(parameters)
    if not isinstance(vector, lm.Tensor):
        raise TypeError(f"[vector_to_parameters] vector is a Tensor, not {type(vector).__name__}")
    _check("vector_to_parameters", listed)
    total = sum(parameter.size for parameter in listed)
    if tuple(vector.shape) != (total,):
        raise ValueError(
            f"[vector_to_parameters] the parameters have {total} elements, the vector has the shape "
            f"{list(vector.shape)}"
        )
    with lm.no_grad():
        start = 0
        for parameter in listed:
            part = vector[start : start + parameter.size]
            parameter.copy_(lm.reshape(part, tuple(parameter.shape)))
            start += parameter.size


def _check(op: str, parameters: list[lm.Tensor]) -> None:
    devices = {str(parameter.device) for parameter in parameters}
    if len(devices) != 1:
        found = ", ".join(sorted(devices)) or "no parameters"
        raise ValueError(f"[{op}] the parameters are on one device, got {found}")
