"""Names that PyTorch has beside its graphs."""

from __future__ import annotations

from lamella.compat.front import add_paths, close_module

from . import optimization  # noqa: F401


def get_proxy_mode() -> None:
    """None: operators are not traced by themselves."""


__getattr__ = close_module(__name__)
add_paths("torch", {f"{__name__}.proxy_tensor": {__name__: "get_proxy_mode"}})
