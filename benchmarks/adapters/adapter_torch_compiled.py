"""PyTorch's torch.compile, as it is set up by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.adapters.adapter_torch import TorchAdapter


class CompiledTorchAdapter(TorchAdapter):
    """See benchmarks.adapters.CompiledAdapter."""

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return torch.compile(function)


ADAPTER = CompiledTorchAdapter()
