"""A writer for TensorBoard that takes tensors. It needs the package tensorboardX."""

from __future__ import annotations

import contextlib
import functools
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lamella import _tree
from lamella._dtypes import for_numpy

try:
    import tensorboardX  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError as error:
    raise ImportError(
        "lamella.utils.tensorboard needs the package tensorboardX: install it with `pip install tensorboardX`"
    ) from error

__all__ = ["SummaryWriter"]


class SummaryWriter(tensorboardX.SummaryWriter):  # type: ignore[misc, unused-ignore]
    """Writes numbers, histograms, images, texts and graphs that TensorBoard shows: ``tensorboard --logdir runs``.

    It is tensorboardX's writer, with its methods (``add_scalar``, ``add_scalars``, ``add_histogram``, ``add_image``,
    ``add_figure``, ``add_text``, ``add_hparams``, ``add_embedding``, ..), which take tensors, alone and in lists and
    dicts. Tensors may be on the tape and on any device; those of one element become numbers::

        with SummaryWriter("runs/first") as writer:
            for step in range(100):
                writer.add_scalar("loss", train_one_step(), step)
            writer.add_histogram("weights", model.weight, step)

    Args:
        logdir: The folder that is written to; by default one below ``runs``, named after the time and the machine.
        comment: Ends the name of that default.
        purge_step: The step at which a run begins that goes on after a crash; what was written from there on is hidden.
        max_queue: Number of entries that wait before they are written.
        flush_secs: Seconds after which they are written in any case.
        filename_suffix: Ends the names of files.
        **kwargs: Others of tensorboardX's own.
    """

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False, **kwargs: Any) -> None:
        """Adds the graph of what a model computes. It needs the package onnx, in whose format the graph is.

        Args:
            model: A module, or a function of tensors.
            input_to_model: The arguments that it is called with: a tensor, or a tuple.
            verbose: Prints the graph, too.
            **kwargs: Ignored: they choose how PyTorch looks at a model.

        Raises:
            NotImplementedError: the model does something that ONNX does not have.
            ImportError: there is no package onnx.
        """
        from lamella import onnx

        graph = onnx.export(model, () if input_to_model is None else input_to_model, check=False)
        # An output would be a second node of the name that the operator before it has, and weights are not shown.
        del graph.graph.output[:], graph.graph.initializer[:]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.onnx"
            file.write_bytes(graph.SerializeToString())
            # tensorboardX prints the name of each node.
            with contextlib.redirect_stdout(io.StringIO()):
                self.add_onnx_graph(str(file))
        if verbose:
            print(graph.graph)


def _plain(value: Any) -> Any:
    """Returns a value with numpy arrays, or numbers, in the places of its tensors."""
    tensors, spec = _tree.flatten(value)
    if not tensors:
        return value
    arrays = [for_numpy(tensor).numpy() for tensor in tensors]
    plain: list[Any] = [array.item() if array.ndim == 0 else array for array in arrays]
    return _tree.rebuild(spec, plain)


def _of_tensors(method: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method of tensorboardX's writer that takes tensors, too."""

    @functools.wraps(method)
    def add(self: SummaryWriter, *args: Any, **kwargs: Any) -> Any:
        return method(self, *_plain(args), **_plain(kwargs))

    return add


for _name, _method in vars(tensorboardX.SummaryWriter).items():
    if _name.startswith("add_") and _name not in vars(SummaryWriter):
        setattr(SummaryWriter, _name, _of_tensors(_method))
