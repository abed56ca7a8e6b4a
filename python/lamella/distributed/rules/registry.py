"""The table of rules: which function says how a call of an operator may be split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from .call import Call
from .spec import Spec

#: Says how a call may be split; None where it has no say in the matter.
Rule: TypeAlias = "Callable[[Call], Spec | Sequence[Any] | None]"
#: Computes a call on global tensors by other calls; NotImplemented leaves it to the operator's rule.
Composition: TypeAlias = "Callable[..., Any]"

R = TypeVar("R", bound="Callable[[Call], Spec | Sequence[Any] | None]")

_rules: dict[str, Rule] = {}
_compositions: dict[str, Composition] = {}


def rule(*names: str) -> Callable[[R], R]:
    """Makes a function the rule of built-in operators."""

    def register(function: R) -> R:
        for name in names:
            if name in _rules:
                raise ValueError(f"[rule] {name!r} has a rule already: {_rules[name].__module__}")
            _rules[name] = function
        return function

    return register


def composition(*names: str) -> Callable[[Composition], Composition]:
    """Makes a function what computes calls of built-in operators on global tensors, by their parameters' names."""

    def register(function: Composition) -> Composition:
        _compositions.update(dict.fromkeys(names, function))
        return function

    return register


def composition_of(name: str) -> Composition | None:
    """Returns what computes calls of an operator by other calls."""
    return _compositions.get(name)


def rule_of(name: str) -> Rule | None:
    """Returns the rule of an operator or a layer."""
    return _rules.get(name)


def register_sbp(name: str) -> Callable[[Rule], Rule]:
    """Makes a function the rule of an operator that is registered by a schema, or of a layer written in C++.

    The function is given the :class:`Call` and returns a :class:`Spec` (see :func:`equation`), or a list of ways: pairs
    of the signatures of the tensors given and of the results. That all are broadcast is always a way.

    Args:
        name: the operator's full name, ``"my_ops::scale"``, or the layer's.

    Raises:
        TypeError: the name is no str.
        ValueError: the name has a rule already.

    Example::

        @lm.distributed.register_sbp("my_ops::scale")
        def scale(call):
            return [([split(i)], [split(i)]) for i in range(call.tensors[0].ndim)]
    """
    if not isinstance(name, str):
        raise TypeError(f"[register_sbp] a name is a str such as 'my_ops::scale', not {type(name).__name__}")
    return rule(name.removeprefix("lamella::"))


def ruled() -> list[str]:
    """Returns the names that have a rule."""
    return sorted({*_rules, *_compositions})
