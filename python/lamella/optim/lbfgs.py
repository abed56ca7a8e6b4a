"""L-BFGS."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import lamella as lm

from ._line_search import Point, strong_wolfe
from .optimizer import Group, Optimizer, check_number, check_numbers


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last changes of gradients: for a deterministic loss that is computed again and again.

    :meth:`step` makes up to ``max_iter`` steps and needs a closure::

        def closure():
            optimizer.zero_grad()
            loss = loss_of(model)
            loss.backward()
            return loss

        optimizer.step(closure)

    Each goes along ``-H g``, where ``H`` is the BFGS estimate of the inverse Hessian from ``s.y / y.y`` times the
    identity and the last ``history_size`` changes ``s`` of the parameters and ``y`` of the gradient; changes with
    ``s.y`` near 0 or below are left out. The first step has at most the length ``lr``, in the 1-norm.

    Sources: Liu & Nocedal 1989, "On the limited memory BFGS method for large scale optimization"; Nocedal & Wright
    2006, "Numerical optimization", algorithms 7.4 and 7.5, and 3.5 and 3.6 for the line search.

    Args:
        params: tensors, or one group of them: there is one learning rate for all.
        lr: the length of a step, or of the first that a line search tries.
        max_iter: the most steps in a call of :meth:`step`.
        max_eval: the most calls of the closure in it, by default 1.25 times ``max_iter``; a line search makes one call
            beyond it.
        tolerance_grad: ends where no element of the gradient is larger.
        tolerance_change: ends where neither parameters nor loss change more.
        history_size: how many changes are remembered.
        line_search_fn: ``"strong_wolfe"``, or None for steps of the length ``lr``.
        maximize: climbs instead.
    """

    needs_whole = True

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Adds the only group.

        Raises:
            ValueError: there is a group already.
        """
        if self.param_groups:
            raise ValueError("[LBFGS] there is one group of parameters, as a step goes along one line for all")
        super().add_param_group(group)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("LBFGS", group, "tolerance_grad", "tolerance_change")
        check_number("LBFGS", "lr", group["lr"])
        for option in ("max_iter", "max_eval", "history_size"):
            value = group[option]
            if value is None and option == "max_eval":
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"[LBFGS] {option} is an int, not {type(value).__name__}")
            if value < 1:
                raise ValueError(f"[LBFGS] {option} is at least 1, not {value}")
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise ValueError(f"[LBFGS] line_search_fn is None or 'strong_wolfe', not {group['line_search_fn']!r}")
        for index, parameter in enumerate(group["params"]):
            if not lm.isdtype(parameter.dtype, "real floating"):
                raise ValueError(
                    f"[LBFGS] parameter {index} is of dtype {parameter.dtype.name}, not a real floating one"
                )

    def state_shape(self, key: str, parameter: lm.Tensor) -> tuple[int, ...] | None:
        """Returns None: what is remembered is of all parameters in one row, and kept with the first."""
        return None

    def minimize(
        self, loss: lm.Tensor, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> Any:
        """Raises ``TypeError``: a static program computes its loss once in a step, L-BFGS several times."""
        raise TypeError("[LBFGS] minimize: a program computes its loss once in a step, L-BFGS several times")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Makes steps until the tolerances are met or the limits are reached.

        Args:
            closure: computes the loss and its gradients anew and returns the loss.

        Returns:
            The loss before the first step.

        Raises:
            TypeError: there is no closure.
        """
        if not callable(closure):
            raise TypeError(
                "[LBFGS] step needs a closure that computes the loss and its gradients and returns the loss"
            )
        group = self.param_groups[0]
        state = self.state.setdefault(id(group["params"][0]), {})
        with lm.enable_grad():
            loss = closure()
        with lm.no_grad():
            _Run(group, state, closure).go(float(loss))
        return loss


class _Run:
    """The steps of one call."""

    def __init__(self, group: Group, state: dict[str, Any], closure: Callable[[], Any]) -> None:
        self.group = group
        self.parameters: list[lm.Tensor] = group["params"]
        self.state = state
        self.closure = closure
        self.evaluations = 1
        self.sign = -1.0 if group.get("maximize") else 1.0  # states of earlier versions lack the option

    def go(self, loss: float) -> None:
        """Makes the steps, from a loss whose gradients are there."""
        group, state = self.group, self.state
        loss *= self.sign
        most = group["max_eval"] if group["max_eval"] is not None else group["max_iter"] * 5 // 4
        gradient = self.gradient()
        for number in range(group["max_iter"]):
            if not math.isfinite(loss) or _largest(gradient) <= group["tolerance_grad"]:
                break
            direction = self.direction(gradient)
            slope = _dot(gradient, direction)
            if not slope < -group["tolerance_change"]:
                break
            length = float(group["lr"])  # a number of its own, where the option is a tensor
            if state.get("n_iter", 0) == 0:
                length *= min(1.0, 1.0 / float(lm.sum(lm.abs(gradient))))
            state["prev_flat_grad"] = gradient
            before = loss
            # After a last step of given length nobody asks for the loss: the next call of step() computes it anyway.
            left = most - self.evaluations
            if group["line_search_fn"] is None and number == group["max_iter"] - 1:
                left = 0
            point = self.moved(Point(0.0, loss, slope, gradient), direction, length, left)
            state.update(d=direction, t=point.at, n_iter=state.get("n_iter", 0) + 1)
            loss, gradient = point.value, point.gradient
            change = _largest(direction) * point.at
            if self.evaluations >= most or max(change, abs(loss - before)) <= group["tolerance_change"]:
                break
        state["func_evals"] = state.get("func_evals", 0) + self.evaluations

    def direction(self, gradient: lm.Tensor) -> lm.Tensor:
        """Returns ``-H g``, after the last change was taken into ``H``."""
        state = self.state
        if "d" in state:
            s, y = state["d"] * state["t"], gradient - state["prev_flat_grad"]
            if _dot(s, y) > 1e-10:
                keep = self.group["history_size"]
                for key, row in (("s", s), ("y", y)):
                    rows = [state[key], row[None]] if key in state else [row[None]]
                    state[key] = lm.concat(rows)[-keep:]
        direction = -gradient
        if "s" not in state:
            return direction
        changes, slopes = state["s"], state["y"]
        products = lm.sum(changes * slopes, axis=1).tolist()
        rows = list(zip(changes, slopes, products, strict=True))
        weights = []
        for s, y, product in reversed(rows):
            weights.append(_dot(s, direction) / product)
            direction.sub_(y * weights[-1])
        direction.mul_(products[-1] / _dot(slopes[-1], slopes[-1]))
        for (s, y, product), weight in zip(rows, reversed(weights), strict=True):
            direction.add_(s * (weight - _dot(y, direction) / product))
        return direction

    def moved(self, start: Point, direction: lm.Tensor, length: float, left: int) -> Point:
        """Moves the parameters along a direction and returns the point where they are.

        The point of a given length is that of the start where ``left``, the number of evaluations, is 0.
        """
        origins = [parameter.detach().clone() for parameter in self.parameters]

        def place(at: float) -> None:
            offset = 0
            for parameter, origin in zip(self.parameters, origins, strict=True):
                part = direction[offset : offset + origin.size].reshape(origin.shape)
                parameter.copy_(origin + part * at)
                offset += origin.size

        def evaluate(at: float) -> Point:
            place(at)
            with lm.enable_grad():
                value = self.sign * float(self.closure())
            self.evaluations += 1
            gradient = self.gradient()
            return Point(at, value, _dot(gradient, direction), gradient)

        if self.group["line_search_fn"] is None:
            if left > 0:
                return evaluate(length)
            place(length)
            return start._replace(at=length)
        narrow = self.group["tolerance_change"] / max(_largest(direction), 1e-300)
        found = strong_wolfe(evaluate, start, length, narrow, left)
        place(found.at)
        return found

    def gradient(self) -> lm.Tensor:
        """Returns the gradients of all parameters in one row; zeros where there is none."""
        rows = []
        for parameter in self.parameters:
            gradient = parameter.grad
            row = lm.zeros_like(parameter.detach()) if gradient is None else gradient.detach()
            rows.append(row.reshape([-1]))
        return lm.concat(rows) * self.sign


def _dot(a: lm.Tensor, b: lm.Tensor) -> float:
    return float(lm.sum(a * b))


def _largest(x: lm.Tensor) -> float:
    return float(lm.max(lm.abs(x))) if x.size else 0.0
