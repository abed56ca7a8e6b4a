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
        fullgraph: True is refused, as calls that no graph can replay run as they are.
        dynamic: not used: sizes that vary are found.
        backend: not used.
        mode: not used.
        options: not used.
        disable: True returns ``model`` as it is.

    Raises:
        NotImplementedError: ``fullgraph`` is set.
    """
    if fullgraph:
        raise NotImplementedError(
            "[compile] fullgraph=True: calls that no graph can replay run as they are, with a warning; "
            "lamella.compile.explain tells why"
        )
    if model is None:
        return lambda function: compile(function, disable=disable)
    return model if disable else lm.compile(model)
