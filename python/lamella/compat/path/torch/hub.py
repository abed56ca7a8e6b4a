"""Files of models: a folder of those that were fetched, and models of folders that have a ``hubconf.py``."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from lamella.compat.front import close_module

from . import serialization

#: What a file's name ends in that carries the first digits of its SHA-256: ``resnet18-5c106cde.pth``.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")

_folder: list[str] = []


def _get_torch_home() -> str:
    """Returns the folder of files that are kept: that of TORCH_HOME, or one in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """Returns the folder of models."""
    return _folder[-1] if _folder else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Makes another folder that of models."""
    _folder.append(os.path.expanduser(d))


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Fetches a file.

    Args:
        url: where it is.
        dst: where it goes, once it is whole.
        hash_prefix: what its SHA-256 begins with.
        progress: not used.

    Raises:
        RuntimeError: it has another hash.
    """
    digest = hashlib.sha256()
    target = os.path.expanduser(dst)
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(os.path.abspath(target)), delete=False) as file:
        try:
            with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source:
                while block := source.read(1 << 20):
                    file.write(block)
                    digest.update(block)
            if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(
                    f"[download_url_to_file] the hash of {url} begins with {digest.hexdigest()[: len(hash_prefix)]}, "
                    f"not {hash_prefix}"
                )
            file.close()
            shutil.move(file.name, target)
        finally:
            Path(file.name).unlink(missing_ok=True)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """Reads a file of ``torch.save`` from an address, which is fetched once.

    Args:
        url: where it is.
        model_dir: the folder in which it is kept; by default "checkpoints" of :func:`get_dir`.
        map_location: see ``torch.load``.
        progress: not used.
        check_hash: True compares its hash with the digits in its name.
        file_name: its name in the folder, by default that of the address.
        weights_only: see ``torch.load``.
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else os.path.expanduser(model_dir)
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    return serialization.load(path, map_location=map_location, weights_only=weights_only)


load_url = load_state_dict_from_url


def _hubconf(repo_or_dir: str | os.PathLike[str], source: str) -> ModuleType:
    """Returns the module ``hubconf`` of a folder.

    Raises:
        NotImplementedError: the source is not "local".
    """
    if source != "local":
        raise NotImplementedError(
            f"[hub] code is not fetched: clone '{repo_or_dir}' and give its folder with source='local'"
        )
    folder = os.path.abspath(os.path.expanduser(repo_or_dir))
    spec = importlib.util.spec_from_file_location("hubconf", os.path.join(folder, "hubconf.py"))
    if spec is None or spec.loader is None or not os.path.exists(os.path.join(folder, "hubconf.py")):
        raise FileNotFoundError(f"[hub] there is no hubconf.py in '{folder}'")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """Calls a function of a folder's ``hubconf.py``, and returns the model that it makes.

    Raises:
        NotImplementedError: the source is not "local".
    """
    for option in ("trust_repo", "force_reload", "verbose", "skip_validation"):
        kwargs.pop(option, None)
    return getattr(_hubconf(repo_or_dir, source), model)(*args, **kwargs)


def list(github: str, force_reload: bool = False, *, source: str = "local", **options: Any) -> Any:
    """Returns the names of the functions of a folder's ``hubconf.py``."""
    names = vars(_hubconf(github, source))
    return [name for name, value in names.items() if callable(value) and not name.startswith("_")]


def help(github: str, model: str, *, source: str = "local", **options: Any) -> str | None:
    """Returns the text of a function of a folder's ``hubconf.py``."""
    text: str | None = getattr(_hubconf(github, source), model).__doc__
    return text


_missing = close_module(__name__)


def __getattr__(name: str) -> Any:
    if name == "tqdm":  # programs take the package's class from here
        try:
            return importlib.import_module("tqdm").tqdm
        except ModuleNotFoundError:
            raise AttributeError("[hub] tqdm is a package of its own, which is not installed") from None
    return _missing(name)
