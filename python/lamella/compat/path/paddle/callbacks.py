"""Objects that :class:`paddle.Model` calls while it trains."""

from __future__ import annotations

from typing import Any

from lamella.compat.front import close_module


class Callback:
    """The base of callbacks: a subclass defines those methods that it needs, such as ``on_epoch_end(epoch, logs)``."""

    model: Any = None
    params: Any = None

    def set_model(self, model: Any) -> None:
        """Tells the callback its model."""
        self.model = model

    def set_params(self, params: Any) -> None:
        """Tells the callback how many epochs and steps there are."""
        self.params = params

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Is called before an epoch."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Is called after an epoch, with the values of loss and metrics."""

    def on_train_begin(self, logs: Any = None) -> None:
        """Is called before training."""

    def on_train_end(self, logs: Any = None) -> None:
        """Is called after training."""

    def on_train_batch_begin(self, step: int, logs: Any = None) -> None:
        """Is called before a batch is trained on."""

    def on_train_batch_end(self, step: int, logs: Any = None) -> None:
        """Is called after a batch was trained on, with the values of loss and metrics."""

    def on_eval_begin(self, logs: Any = None) -> None:
        """Is called before an evaluation."""

    def on_eval_end(self, logs: Any = None) -> None:
        """Is called after an evaluation, with the values of loss and metrics."""


class EarlyStopping(Callback):
    """Stops training where a value has not become better for ``patience`` evaluations."""

    def __init__(
        self,
        monitor: str = "loss",
        mode: str = "auto",
        patience: int = 0,
        verbose: int = 1,
        min_delta: float = 0,
        baseline: float | None = None,
        save_best_model: bool = True,
    ) -> None:
        self.monitor, self.patience, self.min_delta = monitor, patience, abs(min_delta)
        self.sign = -1 if mode == "max" or (mode == "auto" and "acc" in monitor) else 1
        self.best = float("inf") if baseline is None else self.sign * baseline
        self.waited = 0
        self.save_best_model = save_best_model

    def on_eval_end(self, logs: Any = None) -> None:
        """Compares the value with the best so far."""
        value = (logs or {}).get(self.monitor)
        if value is None:
            return
        now = self.sign * float(value[0] if isinstance(value, (list, tuple)) else value)
        if now < self.best - self.min_delta:
            self.best, self.waited = now, 0
            return
        self.waited += 1
        if self.waited > self.patience:
            self.model.stop_training = True


class LRScheduler(Callback):
    """Steps the schedule of the optimizer after each epoch, or each step."""

    def __init__(self, by_step: bool = True, by_epoch: bool = False) -> None:
        if by_step and by_epoch:
            raise ValueError("[LRScheduler] steps after each step or after each epoch, not both")
        self.by_step, self.by_epoch = by_step, by_epoch

    def _step(self) -> None:
        schedule = getattr(self.model._optimizer, "_schedule", None)
        if schedule is not None:
            schedule.step()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Steps the schedule where that is asked for."""
        if self.by_epoch:
            self._step()

    def on_train_batch_end(self, step: int, logs: Any = None) -> None:
        """Steps the schedule where that is asked for."""
        if self.by_step:
            self._step()


__getattr__ = close_module(__name__)
