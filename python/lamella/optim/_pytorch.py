"""States of PyTorch's optimizers in the words of Lamella's, so that training goes on where it was.

Names of what is remembered are the same. PyTorch's groups also say which of its kernels compute a step, and its counts
of steps are tensors; L-BFGS keeps its changes in lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import lamella as lm

#: Options of PyTorch's groups that change no number.
_KERNELS = {"capturable", "differentiable", "foreach", "fused"}
#: Names that PyTorch has for options.
OPTIONS = {"decoupled_weight_decay": "decoupled"}
_LISTS = {"old_stps": "s", "old_dirs": "y"}
_BESIDE = {"params", "initial_lr"}
#: What PyTorch remembers and Lamella computes anew.
_COMPUTED = {"eta", "mu", "al", "ro", "H_diag", "prev_loss"}


def converted(state: Mapping[str, Any], groups: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Returns a state that PyTorch's optimizer of the same kind gave as one of Lamella's; others as they are.

    Args:
        state: groups and what is remembered, by position.
        groups: those of the optimizer that takes the state; options that a state does not have stay as they are there.
    """
    saved = [_in_our_words(group) for group in state["param_groups"]]
    remembered = state["state"]
    of_lists = any(isinstance(values, Mapping) and "old_dirs" in values for values in remembered.values())
    if not of_lists and not any(_KERNELS & set(group) for group in saved):
        return {**state, "param_groups": saved}
    made = []
    for index, group in enumerate(saved):
        own = groups[index] if index < len(groups) else {}
        given = {name: value for name, value in group.items() if name not in _KERNELS}
        # Newer versions have more options, which change nothing where they are off.
        given = {name: value for name, value in given.items() if name in own or name in _BESIDE or value}
        made.append({**{name: value for name, value in own.items() if name != "params"}, **given})
    values = {key: _values(each) if isinstance(each, Mapping) else each for key, each in remembered.items()}
    return {"state": values, "param_groups": made}


def _in_our_words(group: Any) -> Any:
    if not isinstance(group, Mapping):  # which is refused where the state is checked
        return group
    return {OPTIONS.get(name, name): value for name, value in group.items()}


def _values(values: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name in _COMPUTED or value is None:
            continue
        if name in _LISTS:
            if value:
                found[_LISTS[name]] = lm.stack(list(value))
        elif name == "step":
            found[name] = int(value)
        elif name in ("mu_product", "t"):
            found[name] = float(value)
        else:
            found[name] = value
    return found
