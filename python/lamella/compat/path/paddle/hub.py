"""Models of folders that have a ``hubconf.py``: Paddle's hub, without its fetching from the network."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from builtins import list as _list
from pathlib import Path
from types import ModuleType
from typing import Any

from lamella.compat.front import close_module


def _hubconf(function: str, repo_dir: Any, source: str) -> ModuleType:
    """Returns the module ``hubconf.py`` of a folder, run anew.

    Raises:
        FileNotFoundError: the folder has none.
        NotImplementedError: it would be fetched from the network.
        RuntimeError: a package that it names in ``dependencies`` is not installed.
        ValueError: ``source`` is something else.
    """
    if source not in ("github", "gitee", "local"):
        raise ValueError(f"[hub.{function}] source is 'github', 'gitee' or 'local', not {source!r}")
    if source != "local":
        raise NotImplementedError(f"[hub.{function}] Lamella's paddle front fetches nothing: source is 'local'")
    folder = Path(repo_dir).expanduser()
    file = folder / "hubconf.py"
    if not file.is_file():
        raise FileNotFoundError(f"[hub.{function}] there is no file {file}")
    specification = importlib.util.spec_from_file_location("hubconf", file)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.path.insert(0, str(folder))
    try:
        specification.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    needed = getattr(module, "dependencies", None) or []
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"[hub.{function}] packages are missing: {', '.join(missing)}")
    return module


def _entry(function: str, module: ModuleType, model: str) -> Any:
    """Returns the function of a name.

    Raises:
        RuntimeError: there is none.
        ValueError: ``model`` is no text.
    """
    if not isinstance(model, str):
        raise ValueError(f"[hub.{function}] model is the name of a function, not {type(model).__name__}")
    found = getattr(module, model, None)
    if not callable(found):
        raise RuntimeError(f"[hub.{function}] {module.__file__} has no function {model!r}")
    return found


def list(repo_dir: Any, source: str = "github", force_reload: bool = False) -> _list[str]:
    """Returns the names of the functions of a folder's ``hubconf.py``."""
    names = vars(_hubconf("list", repo_dir, source))
    return [name for name, value in names.items() if callable(value) and not name.startswith("_")]


def help(repo_dir: Any, model: str, source: str = "github", force_reload: bool = False) -> str | None:
    """Returns the text of a function of a folder's ``hubconf.py``."""
    text: str | None = _entry("help", _hubconf("help", repo_dir, source), model).__doc__
    return text


def load(repo_dir: Any, model: str, source: str = "github", force_reload: bool = False, **kwargs: Any) -> Any:
    """Returns what a function of a folder's ``hubconf.py`` makes of the further arguments."""
    return _entry("load", _hubconf("load", repo_dir, source), model)(**kwargs)


__all__ = ["help", "list", "load"]

__getattr__ = close_module(__name__)
