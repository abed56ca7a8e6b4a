"""Base of all optimizers: parameter groups, state, and its saving."""

from __future__ import annotations

import copy
import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Self

import lamella as lm

from ._pytorch import converted

Group = dict[str, Any]

#: What groups hold beside their options: the tensors, and the rate that schedules began with.
_BESIDE = frozenset({"params", "initial_lr"})


class Optimizer:
    """The base of the optimizers.

    Args:
        params: the tensors to train, or groups: dictionaries that hold them under ``"params"`` and, beside it,
            options that differ from the defaults.
        defaults: the options of a group that does not set its own.

    Attributes:
        param_groups: the groups; an option (``group["lr"] = 0.01``) may be changed between steps.
        state: what the optimizer remembers of each tensor, by ``id(tensor)``; copies and pickles of the optimizer
            have it for their own tensors. Under a name, a subclass remembers what belongs to no tensor.

    A subclass defines ``check(group)``, which raises on options that make no sense, and either
    ``update(parameter, gradient, state, group)``, called with recording off for each tensor with a gradient, or
    ``update_group(parameters, gradients, states, group)``, called for all those of a group at once. One whose steps
    depend on a tensor's shape, or on all of its elements, sets ``needs_whole``.
    """

    #: True if parts of a tensor are not moved as they are within the whole.
    needs_whole: ClassVar[bool] = False

    def __init__(self, params: Iterable[lm.Tensor] | Iterable[Group], defaults: Group) -> None:
        self.defaults = defaults
        self.param_groups: list[Group] = []
        self.state: dict[Any, Any] = {}
        if isinstance(params, lm.nn.Module):
            raise TypeError(f"[{type(self).__name__}] params are tensors, not a module: give its parameters()")
        if isinstance(params, (lm.Tensor, Mapping)) or not isinstance(params, Iterable):
            kind = type(params).__name__
            raise TypeError(f"[{type(self).__name__}] params is an iterable of tensors or of groups, not one {kind}")
        listed = list(params)
        if not listed:
            raise ValueError(f"[{type(self).__name__}] there are no parameters to train")
        groups: list[Any] = listed if isinstance(listed[0], Mapping) else [{"params": listed}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Adds a group: ``{"params": tensors, option: value, ...}``.

        Raises:
            TypeError: ``group`` is not a mapping, or holds something that is not a tensor.
            ValueError: a tensor is not a leaf, or is in a group already, or is a shard where the optimizer needs whole
                tensors; an option is unknown or makes no sense.
        """
        name = type(self).__name__
        if not isinstance(group, Mapping):
            raise TypeError(f"[{name}] a parameter group is a mapping, not {type(group).__name__}")
        if "params" not in group:
            raise ValueError(f"[{name}] a parameter group holds its tensors under 'params'")
        unknown = set(group) - set(self.defaults) - _BESIDE
        if unknown:
            raise ValueError(f"[{name}] unknown options: {', '.join(sorted(map(str, unknown)))}")
        params = [group["params"]] if isinstance(group["params"], lm.Tensor) else list(group["params"])
        seen = {id(p) for g in self.param_groups for p in g["params"]}
        for index, parameter in enumerate(params):
            if not isinstance(parameter, lm.Tensor):
                raise TypeError(f"[{name}] parameter {index} is {type(parameter).__name__}, not a Tensor")
            if not parameter.is_leaf:
                raise ValueError(f"[{name}] parameter {index} is the result of an operation, not a leaf")
            if id(parameter) in seen:
                raise ValueError(f"[{name}] parameter {index} is in the optimizer already")
            if self.needs_whole and getattr(parameter, "is_shard", False):
                raise ValueError(
                    f"[{name}] parameter {index} is this process's shard of several parameters, and the optimizer "
                    "moves whole ones: take one that moves each element by itself, such as AdamW"
                )
            seen.add(id(parameter))
        new = {**self.defaults, **group, "params": params}
        self.check(new)
        self.param_groups.append(new)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""

    def update(self, parameter: lm.Tensor, gradient: lm.Tensor, state: dict[str, Any], group: Group) -> None:
        """Moves one tensor. A subclass defines it, or :meth:`update_group`."""
        raise NotImplementedError(f"[{type(self).__name__}] the optimizer defines no update")

    def update_group(
        self, parameters: list[lm.Tensor], gradients: list[lm.Tensor], states: list[dict[str, Any]], group: Group
    ) -> None:
        """Moves the tensors of a group; here one after the other."""
        for parameter, gradient, state in zip(parameters, gradients, states, strict=True):
            self.update(parameter, gradient, state, group)

    def state_shape(self, key: str, parameter: lm.Tensor) -> tuple[int, ...] | None:
        """Returns the shape of a tensor that is remembered of ``parameter``, its own by default; None for any."""
        return tuple(parameter.shape)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Moves every tensor that has a gradient.

        Args:
            closure: computes the loss and its gradients again and returns the loss; called first, with recording on.

        Returns:
            What ``closure`` returned, or None.
        """
        loss = None
        if closure is not None:
            with lm.enable_grad():
                loss = closure()
        with lm.no_grad():
            for group in self.param_groups:
                parameters, gradients, states = [], [], []
                for parameter in group["params"]:
                    gradient = parameter.grad
                    if gradient is not None:
                        parameters.append(parameter)
                        gradients.append(gradient)
                        states.append(self.state.setdefault(id(parameter), {}))
                self.update_group(parameters, gradients, states, group)
        return loss

    def minimize(
        self, loss: lm.Tensor, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> Any:
        """Adds the gradients of ``loss``, a variable of a static program, and a step along them to its program.

        See :func:`lamella.static.minimize`.

        Raises:
            TypeError: ``loss`` is no variable of a program. Of a tensor, call ``backward()``, then :meth:`step`.
        """
        from lamella import static

        if not isinstance(loss, static.Variable):
            raise TypeError(
                f"[{type(self).__name__}] minimize takes a variable of a static program, not {type(loss).__name__}: "
                "call loss.backward() and step()"
            )
        return static.minimize(self, loss, startup_program, parameters, no_grad_set)

    def take(self, parameters: Iterable[lm.Tensor]) -> None:
        """Gives the optimizer the parameters of a static program: that of its one group, which has none."""
        self.param_groups[0]["params"] = list(parameters)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all tensors, or sets them to zero, so that momentum and decay go on in the next step.

        Args:
            set_to_none: True drops them.
        """
        if set_to_none:
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter.grad = None
            return
        with lm.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.grad.zero_()

    def state_dict(self) -> dict[str, Any]:
        """Returns the state as plain data: tensors are named by their position, counted through the groups.

        ``{"state": {position: {...}}, "param_groups": [{option: value, ..., "params": [positions]}]}``; what
        :func:`lamella.io.save` takes. The state's tensors are the optimizer's own, not copies.
        """
        position = {id(p): i for i, p in enumerate(self._parameters())}
        groups = [{**g, "params": [position[id(p)] for p in g["params"]]} for g in self.param_groups]
        of_tensors = {position[key]: dict(value) for key, value in self.state.items() if isinstance(key, int)}
        return {"state": {**of_tensors, **self._beside()}, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes over a state that :meth:`state_dict` gave; everything is checked before anything changes.

        A state that PyTorch's optimizer of the same name gave is taken, too, as :func:`lamella.io.load_torch` reads it.

        Raises:
            ValueError: the groups, their sizes, their options or a tensor's shape differ from this optimizer's.
        """
        name = type(self).__name__
        if not isinstance(state_dict, Mapping) or not {"state", "param_groups"} <= set(state_dict):
            raise ValueError(f"[{name}] the state is a mapping that holds 'state' and 'param_groups'")
        state_dict = converted(state_dict, self.param_groups)
        saved = list(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError(
                f"[{name}] the state has {len(saved)} parameter groups, the optimizer {len(self.param_groups)}"
            )
        groups = []
        parameters: dict[Any, lm.Tensor] = {}
        for index, (theirs, ours) in enumerate(zip(saved, self.param_groups, strict=True)):
            if len(theirs["params"]) != len(ours["params"]):
                raise ValueError(
                    f"[{name}] group {index} has {len(theirs['params'])} tensors in the state, "
                    f"{len(ours['params'])} in the optimizer"
                )
            odd = ", ".join(sorted((set(theirs) ^ set(ours)) - _BESIDE))
            if odd:
                raise ValueError(f"[{name}] group {index} has other options in the state: {odd}")
            parameters.update(zip(theirs["params"], ours["params"], strict=True))
            kept = {"initial_lr": ours["initial_lr"]} if "initial_lr" in ours else {}
            groups.append({**kept, **theirs, "params": ours["params"]})
            self.check(groups[-1])
        state: dict[Any, Any] = {}
        for position, values in state_dict["state"].items():
            if isinstance(position, str):
                state[position] = values
                continue
            if position not in parameters:
                raise ValueError(f"[{name}] the state holds values for tensor {position}, which is in no group")
            parameter = parameters[position]
            state[id(parameter)] = {key: self._fitted(value, parameter, key) for key, value in values.items()}
        self.param_groups, self.state = groups, state

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state for copies and pickles, keyed by the position of each tensor, as a copy has another id."""
        remembered = [self.state.get(id(p)) for p in self._parameters()]
        return {**self.__dict__, "state": remembered, "_beside_tensors": self._beside()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes over what :meth:`__getstate__` gave, for the tensors that the groups hold now."""
        beside = state.get("_beside_tensors", {})
        self.__dict__.update((name, value) for name, value in state.items() if name != "_beside_tensors")
        remembered = zip(self._parameters(), state["state"], strict=True)
        self.state = {**{id(p): values for p, values in remembered if values is not None}, **beside}

    def __copy__(self) -> Self:
        """Returns an optimizer of the same tensors, with options and state of its own."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.defaults = dict(self.defaults)
        made.param_groups = [{**group, "params": list(group["params"])} for group in self.param_groups]
        of_tensors = {key: s for key, s in self.state.items() if isinstance(key, int)}
        copied = {key: {name: copy.copy(value) for name, value in s.items()} for key, s in of_tensors.items()}
        made.state = {**copied, **{key: copy.copy(value) for key, value in self._beside().items()}}
        return made

    def _beside(self) -> dict[Any, Any]:
        """Returns what a subclass remembers of no tensor, by names."""
        return {key: value for key, value in self.state.items() if isinstance(key, str)}

    def _fitted(self, value: Any, parameter: lm.Tensor, key: str) -> Any:
        """Returns a copy of one remembered value, in the dtype and on the device of its parameter."""
        if not isinstance(value, lm.Tensor):
            return value
        expected = self.state_shape(key, parameter)
        if expected is not None and tuple(value.shape) != expected:
            raise ValueError(
                f"[{type(self).__name__}] '{key}' has shape {list(value.shape)} in the state, "
                f"its parameter {list(parameter.shape)}"
            )
        with lm.no_grad():
            return value.detach().astype(parameter.dtype).to(parameter.device).clone()

    def _parameters(self) -> list[lm.Tensor]:
        return [parameter for group in self.param_groups for parameter in group["params"]]

    def __repr__(self) -> str:
        groups = []
        for index, group in enumerate(self.param_groups):
            options = ", ".join(f"{key}={value}" for key, value in group.items() if key != "params")
            groups.append(f"\n  group {index}: {len(group['params'])} tensors, {options}")
        return f"{type(self).__name__}({''.join(groups)}\n)"


def check_number(
    name: str, option: str, value: Any, low: float = 0.0, below: float = math.inf, *, open_low: bool = False
) -> None:
    """Raises unless ``value`` is a number, or a tensor of one, in ``[low, below)`` (``open_low``: ``(low, below)``)."""
    if isinstance(value, lm.Tensor) and value.size == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"[{name}] {option} is a number, not {type(value).__name__}")
    value = float(value)
    if not (low < value if open_low else low <= value) or not value < below:
        left = "(" if open_low else "["
        raise ValueError(f"[{name}] {option} is in {left}{low:g}, {below:g}), not {value}")


def check_numbers(name: str, group: Group, *options: str, low: float = 0.0, below: float = math.inf) -> None:
    """Raises unless the options of a group are numbers in ``[low, below)``."""
    for option in options:
        check_number(name, option, group[option], low, below)


def check_betas(name: str, betas: Any) -> None:
    """Raises unless ``betas`` are two numbers in ``[0, 1)``."""
    if not isinstance(betas, (tuple, list)) or len(betas) != 2:
        raise TypeError(f"[{name}] betas are two numbers, not {betas!r}")
    for index, beta in enumerate(betas):
        check_number(name, f"betas[{index}]", beta, below=1.0)
