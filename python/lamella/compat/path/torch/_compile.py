"""``torch.compile``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Makes a function or module run as a graph: :func:`lamella.compile`.

    Args:
        model: the function or module; without one, a decorator is returned.
        fullgraph: not used: calls that no graph can replay run as they are, with a warning.
        dynamic: not used: sizes that vary are found.
        backend: not used.
        mode: not used.
        options: not used.
        disable: True returns ``model`` as it is.
    """
    if model is None:
        return lambda function: compile(function, disable=disable)
    return model if disable else lm.compile(model)
