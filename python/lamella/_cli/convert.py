"""``lamella convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lamella as lm

from . import UsageError


def _cast(value: Any, dtype: lm.DType) -> Any:
    if isinstance(value, dict):
        return {key: _cast(item, dtype) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, dtype) for item in value)
    if isinstance(value, lm.Tensor) and value.dtype.name.startswith(("float", "bfloat")):
        return value.astype(dtype)
    return value


def _count(value: Any) -> tuple[int, int]:
    """Returns the number of tensors in a state, and their bytes."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
    if isinstance(value, lm.Tensor):
        return 1, value.nbytes
    counts = [_count(item) for item in items]
    return sum(count for count, _ in counts), sum(size for _, size in counts)


def _bytes(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def convert(source: Path, target: Path, dtype: str | None) -> int:
    """Reads a file of tensors and writes it in another format, or with another dtype."""
    if not source.is_file():
        about = "is a folder, not a file" if source.is_dir() else "is no file"
        raise UsageError(f"{str(source)!r} {about}" if source.exists() else f"there is no file {str(source)!r}")
    to = getattr(lm, dtype, None) if dtype is not None else None
    if dtype is not None and not (isinstance(to, lm.DType) and dtype.startswith(("float", "bfloat"))):
        raise UsageError(f"{dtype!r} is no floating dtype")
    try:
        state = lm.io.load_torch(source) if source.suffix in (".pt", ".pth", ".bin") else lm.io.load(source)
    except OSError as error:
        raise UsageError(f"{str(source)!r} cannot be read: {error.strerror or error}") from error
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    written = state if to is None else _cast(state, to)
    try:
        lm.io.save(written, target)
    except OSError as error:
        raise UsageError(f"{str(target)!r} cannot be written: {error.strerror or error}") from error
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    tensors, size = _count(written)
    print(f"{tensors} tensor{'s' * (tensors != 1)}, {_bytes(size)}: {source} to {target}")
    return 0
