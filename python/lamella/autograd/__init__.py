"""The tape: gradients, gradient modes, and layers with a gradient of one's own."""

# `as` tells type checkers which of the names imported here are the surface of the package.

import typing as _typing
from collections.abc import Callable as _Callable

from .. import _lazy
from .._C import HookHandle as HookHandle
from .._C import Node as Node
from .._C import PyLayer as PyLayer
from .._C import PyLayerContext as PyLayerContext
from .._C import backward as backward
from .._C import enable_grad as enable_grad
from .._C import explain as explain
from .._C import grad as grad
from .._C import inference_mode as inference_mode
from .._C import is_grad_enabled as is_grad_enabled
from .._C import is_inference_mode_enabled as is_inference_mode_enabled
from .._C import no_grad as no_grad
from .._C import queue_callback as queue_callback
from .._C import register_multi_grad_hook as register_multi_grad_hook
from .._C import set_grad_enabled as set_grad_enabled

if _typing.TYPE_CHECKING:
    from . import forward_ad as forward_ad
    from . import graph as graph
    from ._checkpoint import CheckpointPolicy as CheckpointPolicy
    from ._checkpoint import checkpoint as checkpoint
    from ._checkpoint import checkpoint_sequential as checkpoint_sequential
    from ._inspect import Drawing as Drawing
    from ._inspect import GraphStats as GraphStats
    from ._inspect import NodeCount as NodeCount
    from ._inspect import detect_anomaly as detect_anomaly
    from ._inspect import draw as draw
    from ._inspect import graph_stats as graph_stats
    from ._inspect import is_anomaly_enabled as is_anomaly_enabled
    from ._inspect import live_nodes as live_nodes
    from ._inspect import saved_bytes as saved_bytes
    from ._inspect import set_detect_anomaly as set_detect_anomaly
    from ._inspect import trace as trace
    from ._saved_hooks import allow_mutation_on_saved_tensors as allow_mutation_on_saved_tensors
    from ._saved_hooks import disable_saved_tensors_hooks as disable_saved_tensors_hooks
    from ._saved_hooks import save_on_cpu as save_on_cpu
    from ._saved_hooks import saved_tensors_hooks as saved_tensors_hooks
    from ._transforms.check_layer import LayerCheckError as LayerCheckError
    from ._transforms.check_layer import LayerReport as LayerReport
    from ._transforms.check_layer import check_layer as check_layer
    from ._transforms.derivatives import hessian as hessian
    from ._transforms.derivatives import hvp as hvp
    from ._transforms.derivatives import jacobian as jacobian
    from ._transforms.derivatives import jacrev as jacrev
    from ._transforms.derivatives import vhp as vhp
    from ._transforms.derivatives import vjp as vjp
    from ._transforms.forward_mode import jacfwd as jacfwd
    from ._transforms.forward_mode import jvp as jvp
    from ._transforms.forward_mode import linearize as linearize
    from ._transforms.functional_call import functional_call as functional_call
    from ._transforms.gradcheck import GradcheckError as GradcheckError
    from ._transforms.gradcheck import gradcheck as gradcheck
    from ._transforms.gradcheck import gradgradcheck as gradgradcheck
    from ._vmap import VmapInfo as VmapInfo
    from ._vmap import vmap as vmap

__getattr__, _loaded_later = _lazy.loader(
    __name__,
    {
        "_checkpoint": ["CheckpointPolicy", "checkpoint", "checkpoint_sequential"],
        "_inspect": [
            "Drawing",
            "GraphStats",
            "NodeCount",
            "detect_anomaly",
            "draw",
            "graph_stats",
            "is_anomaly_enabled",
            "live_nodes",
            "saved_bytes",
            "set_detect_anomaly",
            "trace",
        ],
        "_saved_hooks": [
            "allow_mutation_on_saved_tensors",
            "disable_saved_tensors_hooks",
            "save_on_cpu",
            "saved_tensors_hooks",
        ],
        "_transforms.check_layer": ["LayerCheckError", "LayerReport", "check_layer"],
        "_transforms.derivatives": ["hessian", "hvp", "jacobian", "jacrev", "vhp", "vjp"],
        "_transforms.forward_mode": ["jacfwd", "jvp", "linearize"],
        "_transforms.functional_call": ["functional_call"],
        "_transforms.gradcheck": ["GradcheckError", "gradcheck", "gradgradcheck"],
        "_vmap": ["VmapInfo", "vmap"],
        "forward_ad": [],
        "graph": [],
    },
)

_Function = _typing.TypeVar("_Function", bound=_Callable[..., _typing.Any])


class NoBackwardError(NotImplementedError, OSError):
    """A layer of the Paddle dialect defines no backward: Paddle's programs expect an ``OSError``."""


def once_differentiable(backward: _Function) -> _Function:
    """Marks a :class:`PyLayer`'s ``backward`` as one that has no derivative itself.

    It runs with recording off, whatever the pass asks for, and a second derivative through the layer is a
    ``RuntimeError`` in place of a wrong number::

        @staticmethod
        @lm.autograd.once_differentiable
        def backward(ctx, dy): ...
    """
    function: _typing.Any = backward.__func__ if isinstance(backward, staticmethod) else backward
    if not callable(function):
        raise TypeError(f"[once_differentiable] expected a function, got {type(backward).__name__}")
    function._once_differentiable = True
    return backward


__all__ = sorted(name for name in {*globals(), *_loaded_later} if not name.startswith("_"))


def __dir__() -> list[str]:
    return __all__
