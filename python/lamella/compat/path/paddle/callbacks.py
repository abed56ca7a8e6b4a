"""Objects that :class:`paddle.Model` calls while it trains."""

from __future__ import annotations

import os
import warnings
from typing import Any

from lamella.compat.front import close_module

from ._progress import EXPLAINED, Progress


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

    def on_eval_batch_begin(self, step: int, logs: Any = None) -> None:
        """Is called before a batch is evaluated."""

    def on_eval_batch_end(self, step: int, logs: Any = None) -> None:
        """Is called after a batch was evaluated, with the values of loss and metrics."""

    def on_predict_begin(self, logs: Any = None) -> None:
        """Is called before predictions."""

    def on_predict_end(self, logs: Any = None) -> None:
        """Is called after predictions."""

    def on_predict_batch_begin(self, step: int, logs: Any = None) -> None:
        """Is called before a batch is predicted."""

    def on_predict_batch_end(self, step: int, logs: Any = None) -> None:
        """Is called after a batch was predicted."""


class EarlyStopping(Callback):
    """Stops training where a value has not become better in the last ``patience`` evaluations, at least in one.

    Where :meth:`paddle.Model.fit` has a ``save_dir``, the best model is saved in it as ``best_model``.
    """

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
        self.baseline = baseline
        self.save_best_model = save_best_model
        #: The folder that ``fit`` saves in.
        self.save_dir: str | None = None
        self.verbose = verbose
        #: Number of evaluations, which later training adds to.
        self.stopped_epoch = 0
        EarlyStopping.on_train_begin(self)

    def on_train_begin(self, logs: Any = None) -> None:
        """Forgets what earlier training has given."""
        self.best_value = self.sign * float("inf") if self.baseline is None else self.baseline
        self.wait_epoch = 0

    def on_eval_end(self, logs: Any = None) -> None:
        """Compares the value with the best so far."""
        if not self._has_value(logs):
            return
        kept = self.save_best_model and self.save_dir is not None
        best = os.path.join(str(self.save_dir), "best_model") if kept else None
        if self._is_worse(logs):
            self.wait_epoch += 1
        elif best is not None:
            self.model.save(best)
        self.stopped_epoch += 1
        if self.wait_epoch >= self.patience:
            self.model.stop_training = True
            if self.verbose:
                print(f"Epoch {self.stopped_epoch}: Early stopping.")
                if best is not None:
                    print(f"Best checkpoint has been saved at {os.path.abspath(best)}")

    def _has_value(self, logs: Any) -> bool:
        if self.monitor in (logs or {}):
            return True
        kind = type(self).__name__
        warnings.warn(f"[{kind}] monitor is the loss or a metric, there is no {self.monitor!r}", stacklevel=3)
        return False

    def _is_worse(self, logs: Any) -> bool:
        """True if the value is not better than the best so far, which a better one becomes."""
        value = logs[self.monitor]
        now = float(value[0] if isinstance(value, (list, tuple)) else value)
        if self.sign * now < self.sign * self.best_value - self.min_delta:
            self.best_value, self.wait_epoch = now, 0
            return False
        return True


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


class ModelCheckpoint(Callback):
    """Saves the model after the first epoch, each ``save_freq``-th behind it and the last, in a folder."""

    def __init__(self, save_freq: int = 1, save_dir: str | None = None) -> None:
        self.save_freq, self.save_dir = save_freq, save_dir

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Saves the model where that is due."""
        if epoch % self.save_freq == 0:
            self._save(str(epoch))

    def on_train_end(self, logs: Any = None) -> None:
        """Saves the model."""
        self._save("final")

    def _save(self, name: str) -> None:
        if self.save_dir is not None:
            path = os.path.join(self.save_dir, name)
            print(f"save checkpoint at {os.path.abspath(path)}", flush=True)
            self.model.save(path)


class ProgBarLogger(Callback):
    """Prints loss and metrics after each ``log_freq`` steps and the last; one of its own is part of each ``fit``.

    Args:
        log_freq: number of steps between lines.
        verbose: 0 prints nothing, 1 a bar that moves, 2 lines.
    """

    def __init__(self, log_freq: int = 1, verbose: int = 2) -> None:
        self.log_freq, self.verbose = log_freq, verbose
        self._begin(None)

    def _begin(self, steps: int | None, title: str = "") -> None:
        self._progress, self._done, self._samples = Progress(self.verbose, steps), 0, 0
        if title:
            self._progress.say(title)

    def _update(self, step: int, logs: Any, names: Any) -> None:
        """Prints a step where that is due; the last one waits for the end, as in Paddle."""
        self._done = step + 1
        self._samples += (logs or {}).get("batch_size", 0)
        if self._done % self.log_freq == 0 and self._done != self._progress.steps:
            self._progress.update(self._done, _text(logs, names))

    def _finish(self, logs: Any, names: Any, samples: str = "") -> None:
        if self._progress.steps is not None:
            self._progress.update(self._done, _text(logs, names))
        if samples:
            self._progress.say(f"{samples} samples: {self._samples}")

    def _names(self) -> Any:
        return (self.params or {}).get("metrics") or ()

    def on_train_begin(self, logs: Any = None) -> None:
        """Says what the lines show."""
        self._progress.say(EXPLAINED)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Prints the number of the epoch."""
        params = self.params or {}
        self._begin(params.get("steps"), f"Epoch {epoch + 1}/{params.get('epochs')}")

    def on_train_batch_end(self, step: int, logs: Any = None) -> None:
        """Prints where that is due."""
        self._update(step, logs, self._names())

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Prints the last step."""
        self._finish(logs, self._names())

    def on_eval_begin(self, logs: Any = None) -> None:
        """Says that an evaluation begins."""
        self._begin((logs or {}).get("steps"), "Eval begin...")

    def on_eval_batch_end(self, step: int, logs: Any = None) -> None:
        """Prints where that is due."""
        self._update(step, logs, self._names())

    def on_eval_end(self, logs: Any = None) -> None:
        """Prints the last step and the number of examples."""
        self._finish(logs, self._names(), "Eval")

    def on_predict_begin(self, logs: Any = None) -> None:
        """Says that predictions begin."""
        self._begin((logs or {}).get("steps"), "Predict begin...")

    def on_predict_batch_end(self, step: int, logs: Any = None) -> None:
        """Prints where that is due."""
        self._update(step, logs, ())

    def on_predict_end(self, logs: Any = None) -> None:
        """Prints the last step and the number of examples."""
        self._finish(logs, (), "Predict")


def _text(logs: Any, names: Any) -> str:
    """Returns loss and metrics of a batch as a line shows them."""
    parts = []
    for name in names:
        if name in (logs or {}):
            value = logs[name]
            shown = value[0] if isinstance(value, list) and value else value
            parts.append(f"{name}: {shown:.4f}" if isinstance(shown, float) else f"{name}: {shown}")
    return " - ".join(parts)


class ReduceLROnPlateau(EarlyStopping):
    """Lowers the learning rate where a value has not become better for ``patience`` evaluations."""

    def __init__(
        self,
        monitor: str = "loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 1,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        super().__init__(monitor, mode, patience, verbose, min_delta, None, False)
        if not 0 < factor < 1:
            raise ValueError(f"[ReduceLROnPlateau] factor is between 0 and 1, not {factor}")
        self.factor, self.cooldown, self.min_lr = factor, cooldown, min_lr
        self.rests = 0
        #: Number of evaluations, which later training adds to.
        self.epoch = 0

    def on_train_begin(self, logs: Any = None) -> None:
        """Forgets what earlier training has given."""
        super().on_train_begin()
        self.rests = 0

    def on_eval_end(self, logs: Any = None) -> None:
        """Compares the value with the best so far."""
        if not self._has_value(logs):
            return
        self.epoch += 1
        if self.rests:
            self.rests, self.wait_epoch = self.rests - 1, 0
        if self._is_worse(logs) and not self.rests:
            self.wait_epoch += 1
            if self.wait_epoch >= self.patience:
                self._lower()

    def _lower(self) -> None:
        """Lowers the rate of learning, if it is above the least one."""
        optimizer = self.model._optimizer
        before = optimizer.get_lr()
        if before > self.min_lr:
            now = max(before * self.factor, self.min_lr)
            optimizer.set_lr(now)
            if self.verbose:
                print(f"\nEpoch {self.epoch}: ReduceLROnPlateau reducing learning rate to {now}.")
            self.rests, self.wait_epoch = self.cooldown, 0


__getattr__ = close_module(__name__)
