"""``paddle.Model``: a network with its loss, its optimizer and its metrics, which trains and evaluates itself."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import lamella as lm
from lamella.nn._modes import in_evaluation
from lamella.static import InputSpec

from . import _summary
from . import callbacks as _callbacks
from . import jit as _jit
from ._files import load as _load
from ._files import save as _save
from .metric import Metric


def _array(value: Any) -> Any:
    """Returns the numbers of a tensor, and anything else as it is."""
    return value.numpy() if isinstance(value, lm.Tensor) else value


def _list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _tensor(value: Any) -> Any:
    return value if isinstance(value, lm.Tensor) else lm.tensor(value)


class Model:
    """A network that is trained by :meth:`fit`, after :meth:`prepare` has told how.

    Args:
        network: the layer.
        inputs: descriptions of its arguments; how many there are is read from them, one by default.
        labels: descriptions of the labels; not used.
    """

    def __init__(self, network: Any, inputs: Any = None, labels: Any = None) -> None:
        if not callable(network):
            raise TypeError(f"[Model] network is a layer, not {type(network).__name__}")
        self.network = network
        self.stop_training = False
        self._specs = list(inputs.values()) if isinstance(inputs, dict) else _list(inputs)
        self._inputs = max(len(self._specs), 1)
        self._optimizer: Any = None
        self._loss: Any = None
        self._metrics: list[Any] = []
        #: Descriptions of the inputs of the last batch.
        self._seen: list[Any] = []
        #: What callbacks see, which lives on from call to call, as in Paddle: predictions show the loss before them.
        self._logs: dict[str, Any] = {}

    def prepare(self, optimizer: Any = None, loss: Any = None, metrics: Any = None, amp_configs: Any = None) -> None:
        """Sets the optimizer, the loss, a function of outputs and labels, and the metrics."""
        if loss is not None and not callable(loss):
            raise TypeError(f"[Model] loss is a layer or a function, not {type(loss).__name__}")
        if amp_configs not in (None, "O0"):
            raise NotImplementedError("[Model] Lamella's paddle front takes no amp_configs: use paddle.amp.auto_cast")
        for metric in _list(metrics):
            if not isinstance(metric, Metric):
                raise TypeError(f"[Model] metrics are of paddle.metric.Metric, not {type(metric).__name__}")
        self._optimizer, self._loss, self._metrics = optimizer, loss, _list(metrics)

    def parameters(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Returns the network's parameters."""
        return list(self.network.parameters(*args, **kwargs))

    # ---- batches

    def train_batch(self, inputs: Any, labels: Any = None, update: bool = True) -> Any:
        """Makes a step on one batch; returns the losses as arrays, and the metrics where there are some.

        Raises:
            RuntimeError: there is no loss, or no optimizer, as :meth:`prepare` sets them.
        """
        if self._loss is None or (update and self._optimizer is None):
            raise RuntimeError("[Model] training needs an optimizer and a loss: call prepare(optimizer, loss) first")
        self.network.train()
        outputs, losses = self._forward(inputs, labels)
        total = losses[0] if len(losses) == 1 else sum(losses[1:], losses[0])
        total.backward()
        if update:
            self._optimizer.step()
            self._optimizer.clear_grad()
        return self._measured(outputs, labels, losses)

    def eval_batch(self, inputs: Any, labels: Any = None) -> Any:
        """Returns the losses of one batch as arrays, and the metrics where there are some."""
        self.network.eval()
        with lm.no_grad():
            outputs, losses = self._forward(inputs, labels)
            return self._measured(outputs, labels, losses)

    def predict_batch(self, inputs: Any) -> list[Any]:
        """Returns the outputs of one batch, as arrays."""
        self.network.eval()
        with lm.no_grad():
            return [each.numpy() for each in _list(self.network(*map(_tensor, _list(inputs))))]

    def _forward(self, inputs: Any, labels: Any) -> tuple[list[Any], list[Any]]:
        given = [_tensor(each) for each in _list(inputs)]
        self._seen = [InputSpec(list(each.shape), each.dtype) for each in given if isinstance(each, lm.Tensor)]
        outputs = _list(self.network(*given))
        losses = [] if self._loss is None else _list(self._loss(*outputs, *map(_tensor, _list(labels))))
        return outputs, [each if each.ndim == 0 else lm.mean(each) for each in losses]

    def _measured(self, outputs: list[Any], labels: Any, losses: list[Any]) -> Any:
        values = [each.numpy() for each in losses]
        found = []
        with lm.no_grad():
            for metric in self._metrics:
                computed = metric.compute(*outputs, *map(_tensor, _list(labels)))
                found.append(metric.update(*map(_array, _list(computed))))
        return (values, found) if self._metrics else values

    # ---- data

    def fit(
        self,
        train_data: Any = None,
        eval_data: Any = None,
        batch_size: int = 1,
        epochs: int = 1,
        eval_freq: int = 1,
        log_freq: int = 10,
        save_dir: str | None = None,
        save_freq: int = 1,
        verbose: int = 2,
        drop_last: bool = False,
        shuffle: bool = True,
        num_workers: int = 0,
        callbacks: Any = None,
        accumulate_grad_batches: int = 1,
        num_iters: int | None = None,
    ) -> None:
        """Trains for some epochs on a data set or a loader, evaluates after the first and each ``eval_freq``-th one.

        Args:
            train_data: a data set of tuples, inputs first, or a loader of batches of them.
            eval_data: the same, to evaluate on.
            batch_size: of a data set's batches.
            epochs: how often the data are gone through.
            eval_freq: after how many epochs, from the first on, there is an evaluation.
            log_freq: after how many steps loss and metrics are printed.
            save_dir: a folder for the parameters after the first epoch and each ``save_freq``-th behind it.
            save_freq: see ``save_dir``.
            verbose: 0 prints nothing, 1 a bar that moves, 2 lines.
            drop_last: leaves out a smaller last batch.
            shuffle: takes a data set's examples in random order.
            num_workers: processes that load a data set.
            callbacks: a list of :class:`paddle.callbacks.Callback`.
            accumulate_grad_batches: how many batches share a step.
            num_iters: the most steps in all, for which there are as many epochs as that takes. As in Paddle, batches of
                evaluations are some of them.
        """
        loader = self._loader(train_data, batch_size, shuffle, drop_last, num_workers)
        steps, logs = _length(loader), self._logs
        if num_iters is not None and steps:
            epochs = num_iters // steps + 1
        usual = [_callbacks.ModelCheckpoint(save_freq, save_dir)]
        called = self._called(callbacks, verbose, log_freq, self._names(), epochs, steps, usual)
        for each in called:
            if isinstance(each, _callbacks.EarlyStopping):
                each.save_dir = save_dir
        left = num_iters
        _all(called, "on_train_begin", None)
        for epoch in range(epochs):
            self._reset()
            _all(called, "on_epoch_begin", epoch, None)
            for step, batch in enumerate(loader):
                _all(called, "on_train_batch_begin", step, logs)
                inputs, labels = self._parts(batch)
                # What is left of an epoch makes a step, too.
                moves = (step + 1) % accumulate_grad_batches == 0 or step + 1 == steps
                self._log(self.train_batch(inputs, labels, moves), step, inputs)
                _all(called, "on_train_batch_end", step, logs)
                left = None if left is None else left - 1
                if left is not None and left <= 0:
                    self.stop_training = True
                    break
            _all(called, "on_epoch_end", epoch, logs)
            if eval_data is not None and epoch % eval_freq == 0:
                done = self._evaluate(eval_data, batch_size, num_workers, called)
                left = None if left is None else left - done
                self.stop_training = self.stop_training or (left is not None and left <= 0)
            if self.stop_training:
                break
        _all(called, "on_train_end", logs)

    def evaluate(
        self,
        eval_data: Any,
        batch_size: int = 1,
        log_freq: int = 10,
        verbose: int = 2,
        num_workers: int = 0,
        callbacks: Any = None,
        num_samples: int | None = None,
    ) -> dict[str, Any]:
        """Returns the loss of the last batch and the metrics of all, by name."""
        self._evaluate(eval_data, batch_size, num_workers, self._called(callbacks, verbose, log_freq, self._names()))
        return {name: self._logs[name] for name in self._names() if name in self._logs}

    def _evaluate(self, eval_data: Any, batch_size: int, num_workers: int, called: list[Any]) -> int:
        """Evaluates by callbacks that know what they belong to, a training or this evaluation.

        Returns:
            The number of batches.
        """
        loader, logs = self._loader(eval_data, batch_size, False, False, num_workers), self._logs
        self._reset()
        _all(called, "on_eval_begin", {"steps": _length(loader), "metrics": self._names()})
        done = 0
        for step, batch in enumerate(loader):
            inputs, labels = self._parts(batch)
            _all(called, "on_eval_batch_begin", step, logs)
            self._log(self.eval_batch(inputs, labels), step, inputs)
            _all(called, "on_eval_batch_end", step, logs)
            done = step + 1
        _all(called, "on_eval_end", logs)
        return done

    def predict(
        self,
        test_data: Any,
        batch_size: int = 1,
        num_workers: int = 0,
        stack_outputs: bool = False,
        verbose: int = 1,
        callbacks: Any = None,
    ) -> list[Any]:
        """Returns for each output a tuple of the batches' arrays, or one array where ``stack_outputs``."""
        import numpy as np

        loader = self._loader(test_data, batch_size, False, False, num_workers)
        called = self._called(callbacks, verbose, 2, [])
        found: list[Any] = []
        logs = self._logs
        _all(called, "on_predict_begin", {"steps": _length(loader)})
        for step, batch in enumerate(loader):
            inputs = self._parts(batch)[0]
            _all(called, "on_predict_batch_begin", step, logs)
            found.append(self.predict_batch(inputs))
            logs.update(step=step, batch_size=inputs[0].shape[0])
            _all(called, "on_predict_batch_end", step, logs)
        _all(called, "on_predict_end", logs)
        outputs = list(zip(*found, strict=True))
        return [np.concatenate(each) for each in outputs] if stack_outputs else outputs

    # ---- state

    def save(self, path: str, training: bool = True) -> None:
        """Writes the parameters to ``path.pdparams``, and the optimizer's state to ``path.pdopt``.

        Without ``training`` it writes the network's program, for ``paddle.jit.load``.

        Raises:
            RuntimeError: the program is asked for, and the model was made without ``inputs``, and has seen none.
        """
        if not training:
            specs = self._specs or self._seen
            if not specs:
                raise RuntimeError("[Model] save(training=False) needs the inputs that Model(network, inputs) is given")
            _jit.save(self.network, path, input_spec=specs)
            return
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        _save(self.network.state_dict(), path + ".pdparams")
        if self._optimizer is not None:
            _save(self._optimizer.state_dict(), path + ".pdopt")

    def load(self, path: str, skip_mismatch: bool = False, reset_optimizer: bool = False) -> None:
        """Reads the parameters, and the optimizer's state where there is one."""
        state = _load(path + ".pdparams")
        if skip_mismatch:
            own = self.network.state_dict()
            state = {name: x for name, x in state.items() if name in own and list(x.shape) == list(own[name].shape)}
        self.network.load_state_dict(state, strict=not skip_mismatch)
        if self._optimizer is not None and not reset_optimizer and os.path.exists(path + ".pdopt"):
            self._optimizer.set_state_dict(_load(path + ".pdopt"))

    def summary(self, input_size: Any = None, dtype: Any = None) -> dict[str, Any]:
        """Prints the parameters; returns how many there are, and how many are trained.

        Without ``input_size`` the inputs are as the model's descriptions of them say, or as those of the last batch.
        """
        specs = self._specs or self._seen
        if input_size is None and specs:
            input_size, dtype = specs, dtype or [each.dtype for each in specs]
        return _summary.summary(self.network, input_size, dtype)

    # ---- parts

    def _loader(self, data: Any, batch_size: int, shuffle: bool, drop_last: bool, num_workers: int) -> Any:
        from . import io

        if hasattr(data, "__getitem__") and hasattr(data, "__len__"):
            return io.DataLoader(
                data, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last, num_workers=num_workers
            )
        if not hasattr(data, "__iter__"):
            raise TypeError(f"[Model] data are a paddle.io.Dataset or a loader of batches, not {type(data).__name__}")
        return data

    def _parts(self, batch: Any) -> tuple[list[Any], list[Any]]:
        fields = _list(batch)
        return fields[: self._inputs], fields[self._inputs :]

    def _reset(self) -> None:
        for metric in self._metrics:
            metric.reset()

    def _names(self) -> list[str]:
        """Returns the names of loss and metrics."""
        return ["loss", *(name for metric in self._metrics for name in _list(metric.name()))]

    def _log(self, measured: Any, step: int, inputs: Sequence[Any]) -> None:
        """Keeps what callbacks see of a batch: loss and metrics, its number and its size."""
        values = measured[0] if self._metrics else measured
        self._logs["loss"] = [float(each) for each in values]
        for metric in self._metrics:
            self._logs.update(zip(_list(metric.name()), _list(metric.accumulate()), strict=False))
        self._logs.update(step=step, batch_size=inputs[0].shape[0])

    def _called(
        self,
        callbacks: Any,
        verbose: int,
        log_freq: int,
        metrics: list[str],
        epochs: int | None = None,
        steps: int | None = None,
        usual: Sequence[Any] = (),
    ) -> list[Any]:
        """Returns the callbacks with those that are there where none of their kind is given.

        They know their model and, as Paddle's, no size of batches.
        """
        called: list[Any] = _list(callbacks)

        def has(kind: type) -> bool:
            return any(isinstance(each, kind) for each in called)

        if not has(_callbacks.ProgBarLogger):
            called = [_callbacks.ProgBarLogger(log_freq, verbose), *called]
        called = [*called, *(each for each in (_callbacks.LRScheduler(), *usual) if not has(type(each)))]
        for each in called:
            each.set_model(self)
            each.set_params(
                {"batch_size": None, "epochs": epochs, "steps": steps, "verbose": verbose, "metrics": metrics}
            )
        return called


def _all(callbacks: Sequence[Any], method: str, *args: Any) -> None:
    for each in callbacks:
        getattr(each, method)(*args)


def _length(loader: Any) -> int | None:
    """Returns the number of a loader's batches, None where it does not know it."""
    try:
        return len(loader)
    except TypeError:
        return None


def flops(net: Any, input_size: Any, custom_ops: Any = None, print_detail: bool = False) -> int:
    """Returns how many multiplications and additions a network makes for an input, by Paddle's count.

    Args:
        net: the network.
        input_size: the sizes of the input, with the batch's.
        custom_ops: by class, functions of a layer, its inputs and its output that add to ``layer.total_ops``.
        print_detail: prints the count of each layer.
    """
    counted: list[tuple[str, int]] = []
    handles = []

    def hook(layer: Any, inputs: Any, output: Any) -> None:
        own = next((rule for kind, rule in (custom_ops or {}).items() if isinstance(layer, kind)), None)
        if own is None:
            made = _operations(layer, inputs[0], output)
        else:
            layer.total_ops = 0
            own(layer, inputs, output)
            made = layer.__dict__.pop("total_ops")
        counted.append((type(layer).__name__, int(made)))

    for layer in net.modules():
        if not list(layer.children()):
            handles.append(layer.register_forward_hook(hook))
    try:
        with in_evaluation(net), lm.no_grad():
            net(lm.zeros(tuple(1 if size in (None, -1) else int(size) for size in input_size)))
    finally:
        for handle in handles:
            handle.remove()
    for name, count in counted if print_detail else ():
        print(f"{name:<30} {count}")
    total = sum(count for _, count in counted)
    print(f"Total Flops: {total}     Total Params: {sum(int(p.size) for p in net.parameters())}")
    return total


def _operations(layer: Any, x: Any, y: Any) -> int:
    """Returns the count of a layer; of kinds that Paddle counts nothing for, 0."""
    from . import nn

    weight: Any = getattr(layer, "weight", None)
    name = type(layer).__name__
    if name.startswith("Conv"):
        products = int(math.prod(tuple(weight.shape)[1:]))
        return int(y.size) * (products + (layer.bias is not None))
    if isinstance(layer, nn.Linear):
        return weight.shape[0] * int(y.size)
    if name.startswith("BatchNorm"):
        return 2 * int(x.size)
    if name == "LeakyReLU":
        return int(x.size)
    if name.startswith("AdaptiveAvgPool"):
        window = [a // b for a, b in zip(tuple(x.shape)[2:], tuple(y.shape)[2:], strict=True)]
        return int(y.size) * (int(math.prod(window)) + 1)
    return 0
