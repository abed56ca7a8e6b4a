"""Random numbers of calls on global tensors: the same where tensors are whole, others for each part."""

from __future__ import annotations

import weakref
from typing import Any

import lamella as lm
from lamella._C import Tensor

from . import _carrier, _choice
from ._choice import Choice
from .mesh import placement


def is_drawing(arguments: dict[str, Any]) -> bool:
    """False for a call that takes a generator and draws nothing: dropout of probability 0, or out of training."""
    probability = arguments.get("dropout_p", arguments.get("p", 1.0))
    return arguments.get("training", True) and (isinstance(probability, Tensor) or probability != 0)


def generator_of(choice: Choice, mesh: placement, given: Any) -> Any:
    """Returns the source of random numbers of a call: the same where tensors are whole, another for each part.

    The processes' generators are at the same place, as all make the same calls; those of parts are derived from it.
    """
    at = mesh.coordinate()
    index, count = 0, 1
    for k, (i, n) in enumerate(zip(at, mesh.shape, strict=True)):
        if _choice.splits(choice.outputs, choice.inputs, k):
            index, count = index * n + i, count * n
    return given if count == 1 else (given or lm.random.default_generator()).split(count)[index]


#: Meshes whose processes were found to seed alike.
_seeded: weakref.WeakKeyDictionary[Any, set[placement]] = weakref.WeakKeyDictionary()


def check_seeds(mesh: placement, name: str) -> None:
    """Raises RuntimeError where the processes of a mesh draw different numbers; they are asked once."""
    done = _seeded.setdefault(_carrier.current(), set())
    if mesh in done:
        return
    seed = lm.random.default_generator().initial_seed() % 2**62
    own = lm.asarray([seed], dtype="int64", device="cpu")
    for axis, n in enumerate(mesh.shape):
        if n > 1:
            seeds = _carrier.current().all_gather(own, 0, [1] * n, mesh.group(axis)).tolist()
            if len(set(seeds)) > 1:
                raise RuntimeError(
                    f"[{name}] the processes' random numbers begin at different seeds, and would differ where they "
                    "should not: call lm.seed(n) with one number on all of them"
                )
    done.add(mesh)
