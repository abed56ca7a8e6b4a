"""Modes of modules: training and evaluation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .module import Module


@contextlib.contextmanager
def in_evaluation(model: Module) -> Iterator[None]:
    """Puts a module and all below it in evaluation mode until the end of the block, and each in its own again then."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
