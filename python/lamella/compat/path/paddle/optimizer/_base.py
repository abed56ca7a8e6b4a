"""The base of Paddle's optimizers, and what their arguments mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import lamella as lm
from lamella import static

from .._attributes import attribute
from ..regularizer import L1Decay, L2Decay
from ._masters import SUFFIX, in_float32, is_low
from ._states import TENSORS, from_paddle, to_paddle
from .lr import LRScheduler


class Optimizer(lm.optim.Optimizer):
    """The methods that Paddle's optimizers have and Lamella's call otherwise."""

    _schedule: LRScheduler | None = None
    _grad_clip: Any = None
    #: Of each group, the number of the program's group that it is a part of, and a clipping of its own, or ().
    _parts: list[tuple[int, Any]]
    #: Of each group, the penalty that stands in the place of the optimizer's, None for none, or () for that one.
    _group_penalties: list[Any]
    #: Of each group, a factor of the learning rate beside those of its parameters.
    _ratios: list[float]
    _penalty: Any = None
    #: Rate of learning to which the factors of groups and parameters apply.
    _rate = 0.001
    #: True if parameters in 16 bits have weights in float32 that the steps move.
    _multi_precision = False

    def _set(self, learning_rate: Any, grad_clip: Any, weight_decay: Any = None, multi_precision: bool = False) -> None:
        """Keeps the schedule of the learning rate, the clipping of gradients, and a penalty that is no ``L2Decay``."""
        self._schedule = learning_rate if isinstance(learning_rate, LRScheduler) else None
        if grad_clip is not None and not callable(grad_clip):
            raise TypeError(f"[{type(self).__name__}] grad_clip is a ClipGradBy..., not {type(grad_clip).__name__}")
        self._grad_clip = grad_clip
        self._penalty = weight_decay if isinstance(weight_decay, L1Decay) else None
        self._rate = rate(learning_rate)
        self._multi_precision = multi_precision
        self._master_weights: dict[str, Any] = {}
        #: Parameters of which the state that was taken over holds nothing, with an example of what it holds.
        self._unknown: dict[str, str] = {}
        self._spread()

    def add_param_group(self, group: Any) -> None:
        """Adds tensors with options of their own, which may be called as Paddle's arguments are."""
        if isinstance(group, Mapping) and "betas" in self.defaults and {"beta1", "beta2"} & set(group):
            usual = dict(zip(("beta1", "beta2"), self.defaults["betas"], strict=True))
            own = {word: group.get(word, value) for word, value in usual.items()}
            group = {word: value for word, value in group.items() if word not in own} | {"betas": tuple(own.values())}
        if isinstance(group, Mapping) and "eps" in self.defaults and "epsilon" in group:
            group = {("eps" if word == "epsilon" else word): value for word, value in group.items()}
        parts: list[tuple[int, Any]] = self.__dict__.setdefault("_parts", [])
        penalties: list[Any] = self.__dict__.setdefault("_group_penalties", [])
        ratios: list[float] = self.__dict__.setdefault("_ratios", [])
        beside: dict[str, Any] = {"_part": len(parts), "_penalty": (), "_ratio": 1.0, "grad_clip": ()}
        if isinstance(group, Mapping):
            beside |= {word: value for word, value in group.items() if word in beside}
            group = {word: value for word, value in group.items() if word not in beside}
        super().add_param_group(group)
        parts.append((beside["_part"], beside["grad_clip"]))
        penalties.append(beside["_penalty"])
        ratios.append(beside["_ratio"])

    def _grouped(self, parameters: Any) -> Iterable[Any]:
        """Returns parameters in groups of those that the steps treat alike."""
        return given(type(self).__name__, parameters)

    def take(self, parameters: Iterable[Any]) -> None:
        """Gives the optimizer the parameters of a static program."""
        self._regroup(self._grouped(list(parameters)))

    def _regroup(self, grouped: Iterable[Any]) -> None:
        """Puts groups, or tensors of one, in the place of a group without any."""
        (empty,) = self.param_groups
        options = {word: value for word, value in empty.items() if word != "params"}
        self.param_groups, self._parts, self._group_penalties, self._ratios = [], [], [], []
        listed = list(grouped)
        for group in listed if any(isinstance(each, Mapping) for each in listed) else [{"params": listed}]:
            self.add_param_group({**options, **group})

    def _clip_gradients(self) -> None:
        """Puts clipped gradients in the place of those that parameters have.

        The groups that a program gives are clipped each by itself, as norms of all gradients are of those of a group.
        """
        members: dict[int, tuple[Any, list[Any]]] = {}
        for group, (part, own) in zip(self.param_groups, self._parts, strict=True):
            clip = self._grad_clip if own == () else own
            members.setdefault(part, (clip, []))[1].extend(group["params"])
        for clip, parameters in members.values():
            if clip is not None:
                for parameter, gradient in clip([(p, p.grad) for p in parameters if p.grad is not None]):
                    parameter.grad = gradient

    @property
    def _learning_rate(self) -> Any:
        """The schedule of the learning rate, or the rate itself: programs call its ``step``."""
        return self._rate if self._schedule is None else self._schedule

    @property
    def _parameter_list(self) -> list[Any]:
        """The parameters, or the groups that the program gave, as programs look through them."""
        groups: dict[int, dict[str, Any]] = {}
        for group, (part, _) in zip(self.param_groups, self._parts, strict=True):
            groups.setdefault(part, {**group, "params": []})["params"].extend(group["params"])
        return list(groups.values()) if len(groups) > 1 else [p for each in groups.values() for p in each["params"]]

    _param_groups = _parameter_list

    def _spread(self) -> None:
        """Gives each group the learning rate times the factor that all of its parameters have."""
        for group, ratio in zip(self.param_groups, self._ratios, strict=True):
            group["lr"] = self._rate * ratio * (factor(group["params"][0]) if group["params"] else 1.0)

    def _penalties(self) -> list[tuple[Any, Any, Any]]:
        """Returns the parameters with a penalty of their own, or of their group's or the optimizer's beside a decay."""
        found = []
        for group, of_group in zip(self.param_groups, self._group_penalties, strict=True):
            usual = self._penalty if of_group == () else of_group
            for parameter in group["params"]:
                own = attribute(parameter, "regularizer")
                if parameter.grad is not None and (own is not None or usual is not None):
                    found.append((parameter, group, own or usual))
        return found

    #: True if the optimizer's own decay is no part of the gradient.
    _decays_apart = False

    def step(self, closure: Any = None) -> Any:
        """Makes one step, with the learning rate of now and with clipped gradients.

        Parameters with ``stop_gradient=True`` stay as they are, and keep a gradient that they have.
        """
        with self._without_frozen():
            if self._unknown:
                self._check_known()
            return self._of_masters(closure)

    def _check_known(self) -> None:
        for parameter in (p for group in self.param_groups for p in group["params"]):
            if parameter.grad is not None and str(parameter.name) in self._unknown:
                raise RuntimeError(
                    f"[{type(self).__name__}.step] set_state_dict() was given nothing of '{parameter.name}', but "
                    f"'{self._unknown[str(parameter.name)]}': names of parameters and of a state have to agree"
                )

    def _of_masters(self, closure: Any) -> Any:
        """Makes a step of the parameters, or of their weights in float32."""
        if not self._multi_precision:
            return self._step(closure)
        with in_float32(self._master_weights, [p for group in self.param_groups for p in group["params"]]):
            return self._step(closure)

    def _step(self, closure: Any) -> Any:
        if self._schedule is not None:
            self._rate = self._schedule.last_lr
        self._spread()
        penalties = self._penalties()
        clips = self._grad_clip is not None or any(own not in ((), None) for _, own in self._parts)
        if not clips and not penalties:
            return super().step(closure)
        changed = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        gradients = [p.grad for p in changed]
        try:
            with lm.no_grad():
                self._clip_gradients()
                for parameter, group, penalty in penalties:
                    # In the place of the optimizer's own, which is added by its step.
                    apart = self._decays_apart or group.get("decoupled") or penalty is self._penalty
                    others = 0.0 if apart else group.get("weight_decay", 0.0)
                    parameter.grad = parameter.grad + penalty(parameter) - others * parameter
            return super().step(closure)
        finally:
            for parameter, gradient in zip(changed, gradients, strict=True):
                parameter.grad = gradient

    def state_dict(self) -> dict[str, Any]:
        """Returns the state under Paddle's names, with that of the schedule under ``"LR_Scheduler"``."""
        parameters = [(p, group) for group in self.param_groups for p in group["params"]]
        masters = self._master_weights
        names = [p.name + SUFFIX if p.name in masters else str(p.name) for p, _ in parameters]
        states = [self.state.get(id(p)) for p, _ in parameters]
        found = to_paddle(type(self).__name__, names, [group for _, group in parameters], states)
        if self._schedule is not None:
            found["LR_Scheduler"] = self._schedule.state_dict()
        if masters:
            found["master_weights"] = dict(masters)
        return found

    def set_state_dict(self, state_dict: Any) -> None:
        """Takes over a state that :meth:`state_dict`, or Paddle's optimizer of the same name, gave.

        What it holds of parameters that are not here is passed over. A step raises a RuntimeError where the state has
        entries, but none of a parameter that learns: their names do not agree.
        """
        if "param_groups" in state_dict:
            self.load_state_dict(state_dict)
            return
        kind, masters = type(self).__name__, state_dict.get("master_weights", {})
        held = next((key for key in state_dict if key not in ("LR_Scheduler", "master_weights")), None)
        self._unknown = {}
        for group in self.param_groups:
            for parameter in group["params"]:
                fitted, name = parameter, str(parameter.name)
                if name in masters and is_low(parameter):
                    master = lm.asarray(masters[name]).detach().clone().to(parameter.device)
                    fitted = self._master_weights[name] = master
                    name += SUFFIX
                values = from_paddle(kind, name, group, state_dict)
                if values:
                    self.state[id(parameter)] = {key: self._fitted(value, fitted, key) for key, value in values.items()}
                elif held is not None and kind in TENSORS:
                    self._unknown[str(parameter.name)] = held
        if self._schedule is not None and "LR_Scheduler" in state_dict:
            self._schedule.set_state_dict(state_dict["LR_Scheduler"])

    set_dict = set_state_dict

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Makes the gradients zeros, so that the next step goes on by momentum and decay, or drops them.

        Parameters with ``stop_gradient=True`` keep theirs, as in Paddle.
        """
        with self._without_frozen():
            self.zero_grad(set_to_none=not set_to_zero)

    @contextmanager
    def _without_frozen(self) -> Iterator[None]:
        """Puts the gradients of parameters aside that want none, for the time of a block."""
        frozen = [(p, p.grad) for group in self.param_groups for p in group["params"] if p.stop_gradient]
        try:
            for parameter, _ in frozen:
                parameter.grad = None
            yield
        finally:
            for parameter, gradient in frozen:
                parameter.grad = gradient

    clear_gradients = clear_grad

    def get_lr(self) -> float:
        """Returns the learning rate."""
        return float(self._schedule.last_lr if self._schedule is not None else self._rate)

    def set_lr(self, value: float) -> None:
        """Sets the learning rate.

        Raises:
            RuntimeError: a schedule sets it.
        """
        if self._schedule is not None:
            raise RuntimeError(f"[{type(self).__name__}] the learning rate is that of a schedule: set_lr_scheduler()")
        self._rate = float(value)
        self._spread()

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Lets a schedule set the learning rate."""
        if not isinstance(scheduler, LRScheduler):
            raise TypeError(f"[{type(self).__name__}] expected an LRScheduler, not {type(scheduler).__name__}")
        self._schedule = scheduler

    def minimize(
        self, loss: lm.Tensor, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> Any:
        """Adds gradients and a step to the program of ``loss``.

        Outside of a program it makes one step along the gradients that ``loss.backward()`` has left, and returns an
        empty list, as there are no operators of a program, and one of parameters with their gradients.
        """
        if isinstance(loss, static.Variable):
            return static.minimize(self, loss, startup_program, parameters, no_grad_set)
        self.step()
        chosen = [p for group in self.param_groups for p in group["params"]] if parameters is None else parameters
        return [], [(p, p.grad) for p in chosen if p.grad is not None]

    def backward(
        self,
        loss: Any,
        startup_program: Any = None,
        parameters: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> Any:
        """Adds the gradients of ``loss`` to its program and returns each parameter with its gradient.

        Outside of a program the gradients are those that ``loss.backward()`` has left.
        """
        if isinstance(loss, static.Variable):
            return static.append_backward(loss, parameters, no_grad_set, callbacks)
        listed = [p for group in self.param_groups for p in group["params"]] if parameters is None else parameters
        return [(parameter, parameter.grad) for parameter in listed if parameter.grad is not None]

    def apply_gradients(self, params_grads: Any) -> list[Any]:
        """Adds a step along gradients that :meth:`backward` has added to their program, or makes one outside of it."""
        if any(isinstance(gradient, static.Variable) for _, gradient in params_grads):
            static.apply_gradients(self, params_grads)
            return []
        given = {id(parameter): gradient for parameter, gradient in params_grads}
        members = [p for group in self.param_groups for p in group["params"]]
        kept = [p.grad for p in members]
        try:
            for parameter in members:
                parameter.grad = given.get(id(parameter))
            self.step()
        finally:
            for parameter, gradient in zip(members, kept, strict=True):
                parameter.grad = gradient
        return []


#: Options of optimizers that a group may have of its own, beside those of all; Paddle passes over others.
_OF_GROUPS = {
    "Adadelta": "epsilon rho",
    "Adagrad": "epsilon initial_accumulator_value",
    "Adam": "beta1 beta2 epsilon",
    "AdamW": "beta1 beta2 epsilon",
    "Adamax": "beta1 beta2 epsilon",
    "Lamb": "beta1 beta2 epsilon lamb_weight_decay",
    "Momentum": "momentum use_nesterov",
    "NAdam": "beta1 beta2 epsilon momentum_decay",
    "RAdam": "beta1 beta2 epsilon",
    "RMSProp": "epsilon rho momentum centered",
}


def given(name: str, parameters: Iterable[Any] | None) -> Iterable[Any]:
    """Returns the parameters, in groups of one factor of the learning rate where there are several.

    In a program there may be none, as ``minimize`` takes all that the program trains. A group's ``learning_rate`` is a
    factor, and so is that of a parameter's ``ParamAttr``. As in Paddle, a group sets the factor of its parameters, 1
    where it names none, and takes their own ``regularizer`` from them.
    """
    if parameters is None:
        if static.in_dynamic_mode():
            raise ValueError(f"[{name}] parameters are needed where graphs are dynamic")
        return [{"params": []}]
    listed: list[Any] = [parameters] if isinstance(parameters, lm.Tensor) else list(parameters)
    are_groups = any(isinstance(each, dict) for each in listed)
    if not are_groups:
        if len({factor(each) for each in listed}) <= 1:
            return listed
        listed = [{"params": listed}]
    groups: list[Any] = []
    for number, group in enumerate(listed):
        options: dict[str, Any] = {"_part": number}
        words = ("_part", "_penalty", "_ratio", "grad_clip", "weight_decay", *_OF_GROUPS.get(name, "").split())
        options.update((word, value) for word, value in group.items() if word in words)
        if "weight_decay" in options:
            options.update(_of_group(name, options.pop("weight_decay")))
        if "use_nesterov" in options:
            options["nesterov"] = options.pop("use_nesterov")
        if name == "Lamb" and "lamb_weight_decay" in options:
            options["weight_decay"] = options.pop("lamb_weight_decay")
        members: list[Any] = [group["params"]] if isinstance(group["params"], lm.Tensor) else list(group["params"])
        by_factor: dict[float, list[Any]] = {}
        for parameter in members:
            if are_groups:
                parameter.optimize_attr = {"learning_rate": float(group.get("learning_rate", 1.0))}
                parameter.regularizer = None
            by_factor.setdefault(factor(parameter), []).append(parameter)
        groups += [{"params": each, **options} for each in by_factor.values()]
    return groups


def _of_group(name: str, weight_decay: Any) -> dict[str, Any]:
    """Returns options of a group with a penalty, which stands in the place of the optimizer's; None leaves that one.

    Raises:
        TypeError: the steps of AdamW take numbers only.
    """
    if name == "Momentum" and not isinstance(weight_decay, L1Decay):
        # The step itself adds the squares' penalty, beside an L1Decay of the optimizer.
        return {"weight_decay": decay(weight_decay)}
    if weight_decay is None and name != "AdamW":
        return {}
    penalty = weight_decay if isinstance(weight_decay, L1Decay) else None
    if name == "AdamW":
        return {"weight_decay": decoupled(weight_decay)}
    if name in ("Lamb", "Rprop"):  # whose own steps add no penalty to gradients
        return {"_penalty": penalty or L2Decay(decay(weight_decay))}
    return {"_penalty": penalty, "weight_decay": decay(weight_decay)}


def factor(parameter: Any) -> float:
    """Returns by what a parameter multiplies the learning rate."""
    attributes = attribute(parameter, "optimize_attr")
    return 1.0 if attributes is None else float(attributes["learning_rate"])


def apart(parameters: Iterable[Any], options: Callable[[Any], dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns parameters in groups of those for which ``options`` gives the same, which the groups then have."""
    listed = list(parameters)
    groups: list[dict[str, Any]] = []
    whole: list[dict[str, Any]] = [{"params": listed, "_part": 0}]
    for group in listed if any(isinstance(each, dict) for each in listed) else whole:
        taken: list[tuple[dict[str, Any], list[Any]]] = [] if group["params"] else [({}, [])]
        for parameter in group["params"]:
            own = options(parameter)
            members = next((others for found, others in taken if found == own), None)
            if members is None:
                taken.append((own, members := []))
            members.append(parameter)
        groups += [{**group, "params": members, **own} for own, members in taken]
    return groups


def number(value: Any) -> Any:
    """Returns the number in a tensor of one element, and anything else as it is."""
    return value.item() if isinstance(value, lm.Tensor) and value.size == 1 else value


def rate(learning_rate: Any) -> float:
    """Returns the rate of now of a schedule, or the number that it is."""
    found = learning_rate.last_lr if isinstance(learning_rate, LRScheduler) else number(learning_rate)
    if isinstance(found, (str, bytes)) or not hasattr(found, "__float__"):
        kind = type(learning_rate).__name__
        raise TypeError(f"[Optimizer] learning_rate is a number or a schedule of paddle.optimizer.lr, not {kind}")
    return float(found)


def decay(weight_decay: Any) -> float:
    """Returns the factor of a number, of an ``L2Decay`` or of None; 0 for other penalties."""
    return 0.0 if isinstance(weight_decay, L1Decay) else number(getattr(weight_decay, "coeff", weight_decay)) or 0.0


def decoupled(weight_decay: Any) -> float:
    """Returns the factor of AdamW's decay.

    Raises:
        TypeError: it is no number.
    """
    found = number(weight_decay)
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        raise TypeError(f"[AdamW] weight_decay is a number, not {type(weight_decay).__name__}: penalties are Adam's")
    return found
