"""Gradients cut to a norm, vectors of parameters, and other forms of weights."""

from __future__ import annotations

from typing import Any

from lamella.compat.tables.torch_nn import UTILS as _TABLE
from lamella.nn import Module
from lamella.nn.utils import skip_init  # noqa: F401

from ... import _words
from . import parametrizations, parametrize, prune, rnn, stateless  # noqa: F401
from ._clipping import clip_grad_norm, clip_grad_norm_, get_total_norm  # noqa: F401
from ._reweighted import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm  # noqa: F401


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Returns the module itself: weights have one order of their axes here."""
    return module


convert_conv3d_weight_memory_format = convert_conv2d_weight_memory_format
__getattr__ = _words.serve(_words.Names(__name__, [("lamella.nn.utils", _TABLE, _words.FUNCTIONS)]))
