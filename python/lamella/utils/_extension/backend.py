"""A build backend (PEP 517 and 660): that of setuptools, for whose time ``import torch`` finds Lamella's front."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from setuptools import build_meta  # type: ignore[import-untyped]

from lamella import compat


def hook(name: str) -> Callable[..., Any]:
    """Returns the hook of that name: setuptools' own, with the fronts on the path of this process and of its children.

    Raises:
        AttributeError: setuptools does not have it.
    """
    found = getattr(build_meta, name)

    @functools.wraps(found)
    def with_fronts(*args: Any, **kwargs: Any) -> Any:
        if str(compat.PATH) not in sys.path:
            sys.path.insert(0, str(compat.PATH))
        os.environ.update(compat.environment())
        answer = found(*args, **kwargs)
        if name.startswith("get_requires"):
            return [line for line in answer if _project(line) not in compat.fronts()]
        return answer

    return with_fronts


def _project(requirement: str) -> str:
    """Returns the normalized name of what a requirement asks for."""
    name = re.match(r"[A-Za-z0-9._-]*", requirement.strip())
    return re.sub(r"[-_.]+", "-", name[0]).lower() if name else ""
