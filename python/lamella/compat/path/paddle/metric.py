"""Measures of how right a network is, kept over batches."""

from __future__ import annotations

from typing import Any

import numpy as np

import lamella as lm
from lamella import static
from lamella.compat.front import close_module
from lamella.graph import Symbol


class Metric:
    """The base of measures: ``compute`` on tensors, ``update`` with its results, ``accumulate`` for the value."""

    def __init__(self, name: str | None = None) -> None:
        self._name = name or type(self).__name__.lower()

    def reset(self) -> None:
        """Forgets what was counted."""
        raise NotImplementedError(f"[{type(self).__name__}] the metric defines no reset")

    def update(self, *args: Any) -> Any:
        """Counts what :meth:`compute` returned."""
        raise NotImplementedError(f"[{type(self).__name__}] the metric defines no update")

    def accumulate(self) -> Any:
        """Returns the value of all that was counted."""
        raise NotImplementedError(f"[{type(self).__name__}] the metric defines no accumulate")

    def name(self) -> Any:
        """Returns the name, or the names of several values."""
        return self._name

    def compute(self, *args: Any) -> Any:
        """Returns what :meth:`update` takes; by default the predictions and labels themselves."""
        return args


def _array(x: Any) -> Any:
    return x.detach().cpu().numpy() if isinstance(x, lm.Tensor) else np.asarray(x)


class Accuracy(Metric):
    """The share of examples whose class is among the ``k`` that the scores rank highest, for each k of ``topk``."""

    def __init__(self, topk: Any = (1,), name: str | None = None) -> None:
        super().__init__(name or "acc")
        self.topk: tuple[int, ...] = (topk,) if isinstance(topk, int) else tuple(topk)
        self.total = [0.0] * len(self.topk)
        self.count: Any = 0

    def compute(self, pred: Any, label: Any, *args: Any) -> Any:
        """Returns for each example whether its class is the first, the second and so on, as 1 and 0."""
        _, ranked = lm.topk(pred, max(self.topk), axis=-1)
        if label.ndim == 1:
            label = lm.expand_dims(label, -1)
        elif label.shape[-1] != 1:  # one-hot
            label = lm.argmax(label, axis=-1, keepdims=True)
        return lm.equal(ranked, label.astype(ranked.dtype)).astype(lm.float32)

    def update(self, correct: Any, *args: Any) -> Any:
        """Counts a batch of :meth:`compute`; returns its accuracies."""
        rows = _array(correct)
        found = [float(rows[..., :k].sum()) for k in self.topk]
        count = np.prod(rows.shape[:-1])  # numpy's number, as are the shares of it, in Paddle, too
        self.total = [before + now for before, now in zip(self.total, found, strict=True)]
        self.count += count
        shares = [each / count if count else 0.0 for each in found]
        return shares[0] if len(shares) == 1 else shares

    def reset(self) -> None:
        """Forgets what was counted."""
        self.total, self.count = [0.0] * len(self.topk), 0

    def accumulate(self) -> Any:
        """Returns the accuracy of all batches, or a list for several k."""
        shares = [each / self.count if self.count else 0.0 for each in self.total]
        return shares[0] if len(shares) == 1 else shares

    def name(self) -> list[str]:
        """Returns a name for each k."""
        return [self._name] if len(self.topk) == 1 else [f"{self._name}_top{k}" for k in self.topk]


class _OfPositives(Metric):
    """The share of true positives among something, at a threshold of 0.5."""

    #: True if a probability of 0.5 is a positive.
    _half = False

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.reset()

    def reset(self) -> None:
        """Forgets what was counted."""
        self.true_positive = self.false_positive = self.false_negative = 0

    def update(self, preds: Any, labels: Any, *args: Any) -> None:
        """Counts a batch of probabilities and of labels, 0 or 1."""
        values, wanted = _array(preds).ravel(), _array(labels).ravel() > 0.5
        found = values >= 0.5 if self._half else values > 0.5
        self.true_positive += int((found & wanted).sum())
        self.false_positive += int((found & ~wanted).sum())
        self.false_negative += int((~found & wanted).sum())


class Precision(_OfPositives):
    """The share of positives among those that were found."""

    _half = True

    def accumulate(self) -> float:
        """Returns the precision of all batches."""
        return self.true_positive / max(self.true_positive + self.false_positive, 1)


class Recall(_OfPositives):
    """The share of positives that were found."""

    def accumulate(self) -> float:
        """Returns the recall of all batches."""
        return self.true_positive / max(self.true_positive + self.false_negative, 1)


class Auc(Metric):
    """The area under the ROC curve, from a histogram of probabilities."""

    def __init__(self, curve: str = "ROC", num_thresholds: int = 4095, name: str = "auc") -> None:
        super().__init__(name)
        if curve != "ROC":
            raise ValueError(f"[Auc] curve is 'ROC', not {curve!r}")
        self.num_thresholds = num_thresholds
        self.reset()

    def reset(self) -> None:
        """Forgets what was counted."""
        self._positive = np.zeros(self.num_thresholds + 1)
        self._negative = np.zeros(self.num_thresholds + 1)

    def update(self, preds: Any, labels: Any, *args: Any) -> None:
        """Counts a batch: ``preds`` is ``(n, 2)``, the probabilities of both classes, ``labels`` 0 or 1."""
        scores = _array(preds)
        scores = scores[:, 1] if scores.ndim == 2 and scores.shape[1] == 2 else scores.ravel()
        places = np.clip((scores * self.num_thresholds).astype(np.int64), 0, self.num_thresholds)
        wanted = _array(labels).ravel() > 0.5
        size = self.num_thresholds + 1
        self._positive += np.bincount(places[wanted], minlength=size)
        self._negative += np.bincount(places[~wanted], minlength=size)

    def accumulate(self) -> float:
        """Returns the area; 0 where there are no examples of one class."""
        positive, negative = self._positive[::-1].cumsum(), self._negative[::-1].cumsum()
        if not positive[-1] or not negative[-1]:
            return 0.0
        heights, widths = np.concatenate([[0.0], positive]), np.diff(negative, prepend=0.0)
        return float(((heights[1:] + heights[:-1]) / 2 * widths).sum() / (positive[-1] * negative[-1]))


def accuracy(input: Any, label: Any, k: int = 1, correct: Any = None, total: Any = None, name: Any = None) -> Any:
    """The share of examples whose class is among the ``k`` that the scores rank highest, as a tensor."""
    if isinstance(input, Symbol):
        return static.accuracy(input, label, k)
    metric = Accuracy((k,))
    return lm.tensor(metric.update(metric.compute(input, label)), dtype=lm.float32)


__getattr__ = close_module(__name__)
