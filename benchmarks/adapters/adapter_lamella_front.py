"""Lamella's front for programs written for PyTorch, which `import torch` finds in this process."""

from __future__ import annotations

from benchmarks.adapters.adapter_torch import ADAPTER

__all__ = ["ADAPTER"]
