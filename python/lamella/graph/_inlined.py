"""Custom layers in programs that are written: the operators that their forward calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._recorder import recording
from ._sizes import UnknownValueError

if TYPE_CHECKING:
    from ._graph import Graph


class InlinedContext:
    """The context of a custom layer whose backward is never called."""

    def __init__(self, inputs: int) -> None:
        self.needs_input_grad = (False,) * inputs
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps what :attr:`saved_tensors` has."""
        self.saved_tensors = tensors

    def saved_tensor(self) -> tuple[Any, ...]:
        """Returns :attr:`saved_tensors`."""
        return self.saved_tensors

    def _ignored(self, *_: Any) -> None:
        """Says something about gradients."""

    mark_dirty = mark_non_differentiable = mark_not_inplace = save_for_forward = _ignored
    set_materialize_grads = set_grad_in_dtype_consistent = _ignored


def inlined(graph: Graph, layer: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Records the forward of a layer as the operators that it calls, and returns what it returns."""
    context = InlinedContext(len(args))
    setup = getattr(layer, "setup_context", None)
    with recording(graph):
        if setup is None:
            return layer.forward(context, *args, **kwargs)
        result = layer.forward(*args, **kwargs)
        setup(context, tuple(args), result)
        return result


class Inlining:
    """Takes calls of layers while a program is recorded: those that compute in another way, in numpy, stay one step.

    Args:
        graph: what is recorded.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        #: The layers whose operators are steps, without their backward.
        self.names: list[str] = []

    def __call__(self, layer: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Records a call."""
        try:
            result = inlined(self.graph, layer, args, kwargs)
        except UnknownValueError:
            return self.graph._recorder.layer_node(layer, args, kwargs)
        if layer.__name__ not in self.names:
            self.names.append(layer.__name__)
        return result
