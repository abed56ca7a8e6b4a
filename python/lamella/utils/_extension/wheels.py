"""Requirements for making a wheel."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re

#: First version of setuptools that makes wheels by itself.
_FIRST = (70, 1)


def what_is_missing() -> str | None:
    """Why this environment's setuptools makes no wheels, with the remedy; None where it makes some, or is absent."""
    try:
        version = importlib.metadata.version("setuptools")
    except importlib.metadata.PackageNotFoundError:
        return None
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers >= _FIRST or importlib.util.find_spec("wheel") is not None:
        return None
    return (
        f"setuptools {version} makes wheels with the package 'wheel', which is not installed: "
        "pip install wheel, or pip install 'setuptools>=70.1', which needs none"
    )
