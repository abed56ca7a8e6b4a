"""Averages of weights over training: of equal parts (SWA), or with older ones fading (EMA)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import lamella as lm
from lamella._C import _optimizer_formula

from .. import nn
from ..nn.norm import _BatchNorm
from . import _steps
from .lr.cosine import annealed
from .lr.scheduler import LRScheduler, check_count
from .optimizer import Optimizer, check_number

_AVERAGE = _optimizer_formula("average_step")

Average = Callable[[lm.Tensor, lm.Tensor, int], lm.Tensor]


class AveragedModel(nn.Module):
    """A copy of a model whose parameters are averages of the model's, called as the model is.

    With a parameter ``p`` of the model, its average ``a`` and the number ``n`` of updates before, an update is
    ``a = p`` for ``n = 0`` and after that::

        a = a + (p - a) / (n + 1)                     (SWA: the mean of all)
        a = a + (p - a) * (1 - decay)                 (EMA, with a decay)

    Sources: Izmailov et al. 2018, "Averaging weights leads to wider optima and better generalization" (SWA); Polyak &
    Juditsky 1992, "Acceleration of stochastic approximation by averaging".

    Args:
        model: the module to average; it is copied, with what it holds now.
        decay: how much of an average remains in an update, from 0 to 1; None for the mean of all.
        avg_fn: a rule of your own: maps an average, the model's parameter and ``n`` to the new average.
        use_buffers: averages floating buffers, too; otherwise the average has those of the last update.

    Attributes:
        module: the copy.
        n_averaged: the number of updates, a buffer.

    Raises:
        ValueError: there are both a decay and a rule, or the decay is out of range.
    """

    n_averaged: lm.Tensor

    def __init__(
        self,
        model: nn.Module,
        decay: float | None = None,
        avg_fn: Average | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(model, nn.Module):
            raise TypeError(f"[AveragedModel] expected a Module, not {type(model).__name__}")
        if decay is not None:
            check_number("AveragedModel", "decay", decay)
            if decay > 1:
                raise ValueError(f"[AveragedModel] decay is at most 1, not {decay}")
            if avg_fn is not None:
                raise ValueError("[AveragedModel] takes a decay or an avg_fn, not both")
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", lm.zeros((), dtype="int64"))
        self.decay = decay
        self.avg_fn = avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Returns what the averaged module does."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: nn.Module) -> None:
        """Takes the weights of the model into the averages.

        Raises:
            ValueError: the model's parameters or buffers differ from the copy's in number or shape.
        """
        pairs = self._pairs("parameters", self.module.parameters(), model.parameters())
        buffers = self._pairs("buffers", self.module.buffers(), model.buffers())
        count = int(self.n_averaged.item())
        averaged, copied = (pairs + buffers, []) if self.use_buffers else (pairs, buffers)
        with lm.no_grad():
            if count > 0:
                self._average([pair for pair in averaged if _is_floating(pair[0])], count)
                averaged = [pair for pair in averaged if not _is_floating(pair[0])]
            for average, current in averaged + copied:
                average.copy_(current)
            self.n_averaged.add_(1)

    def _average(self, pairs: list[tuple[lm.Tensor, lm.Tensor]], count: int) -> None:
        if self.avg_fn is not None:
            for average, current in pairs:
                average.copy_(self.avg_fn(average.detach(), current, count))
            return
        part = 1.0 / (count + 1) if self.decay is None else 1.0 - self.decay
        averages, currents = [average for average, _ in pairs], [current for _, current in pairs]
        _steps.step(_AVERAGE, averages, currents, [], [part], 0.0, 1.0, False)

    @staticmethod
    def _pairs(
        kind: str, averages: Iterable[lm.Tensor], currents: Iterable[lm.Tensor]
    ) -> list[tuple[lm.Tensor, lm.Tensor]]:
        ours, theirs = [x.detach() for x in averages], [x.detach() for x in currents]
        if [tuple(x.shape) for x in ours] != [tuple(x.shape) for x in theirs]:
            raise ValueError(f"[AveragedModel] the {kind} of the model differ in number or shape from those averaged")
        return [(a, b.to(a.device)) for a, b in zip(ours, theirs, strict=True)]


def _is_floating(x: lm.Tensor) -> bool:
    return bool(lm.isdtype(x.dtype, ("real floating", "complex floating")))


def update_bn(loader: Iterable[Any], model: nn.Module, device: Any = None) -> None:
    """Computes anew the running statistics of batch normalization, which averaged weights change.

    Each layer gets the mean over all batches; a model without such layers is left alone.

    Args:
        loader: yields batches, or tuples and lists that begin with one.
        model: is called with each batch, in training and without gradients; its mode is as before afterwards.
        device: where batches are moved to first; None leaves them where they are.
    """
    layers = [layer for layer in model.modules() if isinstance(layer, _BatchNorm)]
    if not layers:
        return
    momenta = [layer.momentum for layer in layers]
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.train()
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum = None
        with lm.no_grad():
            for batch in loader:
                x = batch[0] if isinstance(batch, (list, tuple)) else batch
                model(x if device is None else x.to(device))
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        for module, training in modes:
            module.training = training


class SWALR(LRScheduler):
    """Brings the rate to ``swa_lr`` in ``anneal_epochs`` epochs, and keeps it there.

    It begins with the rate that the optimizer has at the first :meth:`step`, to which another schedule may have led.

    Args:
        optimizer: its groups get the rates.
        swa_lr: the rate to reach, or one for each group.
        anneal_epochs: how many epochs that takes; 0 sets the rate at once.
        anneal_strategy: ``"cos"`` or ``"linear"``.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
    ) -> None:
        check_count("SWALR", "anneal_epochs", anneal_epochs, 0)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"[SWALR] anneal_strategy is 'cos' or 'linear', not {anneal_strategy!r}")
        super().__init__(optimizer)
        self.swa_lrs = self._per_group("swa_lr", swa_lr)
        for value in self.swa_lrs:
            check_number("SWALR", "swa_lr", value)
        self.anneal_epochs = anneal_epochs
        self.anneal_strategy = anneal_strategy

    def step(self) -> None:
        """Begins the next epoch."""
        if self.epoch == 0:
            self.base_lrs = self.get_last_lr()
        super().step()

    def rates(self, epoch: int, bases: Any) -> list[float]:
        """Returns the rate of each group."""
        part = min(epoch / self.anneal_epochs, 1.0) if self.anneal_epochs else 1.0
        pairs = zip(bases, self.swa_lrs, strict=True)
        if self.anneal_strategy == "cos":
            return [annealed(start, end, part) for start, end in pairs]
        return [start + (end - start) * part for start, end in pairs]
