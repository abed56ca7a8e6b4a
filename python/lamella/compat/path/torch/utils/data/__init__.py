"""Data sets, samplers and loaders."""

from __future__ import annotations

from collections.abc import Callable as _Callable
from collections.abc import Iterator
from types import GenericAlias as _GenericAlias
from typing import Any as _Any
from typing import Self as _Self

from lamella import data as _native
from lamella import float64 as _float64
from lamella.compat.errors import as_runtime_error
from lamella.compat.front import add_paths as _add_paths
from lamella.compat.tables.torch_nn import DATA as _TABLE
from lamella.data import collate as _collate

from ... import _words
from . import _collating as _by_class

#: Floats of samples keep their precision in a batch, as in PyTorch.
_collate.floats = _float64

_NAMES = _words.Names(__name__, [("lamella.data", _TABLE, _words.LOADING)])
__getattr__ = _words.serve(_NAMES)
_NAMES.stand_for_all()


def _with_lists(value: _Any) -> _Any:
    """Returns a batch with lists in the place of tuples."""
    if type(value) in (tuple, list):
        return [_with_lists(each) for each in value]
    return {key: _with_lists(each) for key, each in value.items()} if type(value) is dict else value


def default_collate(batch: _Any) -> _Any:
    """Makes a batch of samples, see :func:`lamella.data.default_collate`; those that are tuples become a list."""
    if _by_class.is_extended():
        return _by_class.collate(batch, collate_fn_map=_by_class.default_collate_fn_map)
    try:
        return _with_lists(_native.default_collate(batch))
    except ValueError as error:
        raise as_runtime_error(error) from None


def default_convert(data: _Any) -> _Any:
    """Returns arrays as tensors, see :func:`lamella.data.default_convert`, and tuples as lists."""
    return _with_lists(_native.default_convert(data))


class _BaseDataLoaderIter(Iterator[_Any]):
    """Iterator over the batches of a loader.

    Args:
        loader: the loader; of other objects with ``dataset`` and ``collate_fn``, what iterating over the dataset gives.
    """

    def __init__(self, loader: _Any) -> None:
        native = _NAMES.native("DataLoader")
        self._with_lists = False
        if isinstance(loader, native):
            self._batches = native.__iter__(loader)
            self._with_lists = loader.collate_fn in (_native.default_collate, _native.default_convert)
        else:
            self._batches = map(loader.collate_fn, loader.dataset)

    def __iter__(self) -> _Self:
        return self

    def __next__(self) -> _Any:
        if not self._with_lists:
            return next(self._batches)
        try:
            return _with_lists(next(self._batches))
        except ValueError as error:
            if str(error).startswith("[default_collate]"):
                raise as_runtime_error(error) from None
            raise


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """The iterator of a loader without workers."""


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """The iterator of a loader with workers."""


class _DatasetKind:
    """Names of the two kinds of datasets."""

    Map, Iterable = 0, 1


class DataLoader(_NAMES.make("DataLoader")):  # type: ignore[misc]
    """Gives the batches of a dataset, epoch by epoch, see :class:`lamella.data.DataLoader`.

    Samples that are tuples come in lists, unless ``collate_fn`` makes something else of them.
    """

    __class_getitem__: _Any = classmethod(_GenericAlias)

    def __init__(self, *args: _Any, **options: _Any) -> None:
        super().__init__(*args, **options)
        # Lamella asks datasets for whole batches where the function is its own.
        given: _Any = vars(self)["collate_fn"]
        if _by_class.is_extended():
            self.collate_fn: _Any = default_collate if given is _native.default_collate else given
            return
        own = ((default_collate, _native.default_collate), (default_convert, _native.default_convert))
        self.collate_fn = next((native for function, native in own if function is given), given)

    def __iter__(self) -> Iterator[_Any]:
        return (_MultiProcessingDataLoaderIter if self.num_workers else _SingleProcessDataLoaderIter)(self)

    @property
    def _dataset_kind(self) -> int:
        """Tells whether the dataset gives samples by index, or one after the other."""
        return _DatasetKind.Iterable if isinstance(self.dataset, _native.IterableDataset) else _DatasetKind.Map


_collate_fn_t: _Any = _Callable[[list[_Any]], _Any]  # a name of annotations

_OF_LOADERS = (
    "_BaseDataLoaderIter _DatasetKind _MultiProcessingDataLoaderIter _SingleProcessDataLoaderIter _collate_fn_t"
)
for _path in ("dataset", "dataloader", "sampler", "_utils", "_utils.collate"):
    _shown = [*_NAMES, *(_OF_LOADERS.split() if _path == "dataloader" else ())]
    _homes = {__name__: " ".join(_shown)}
    if _path == "_utils.collate":
        _homes[_by_class.__name__] = "collate collate_tensor_fn default_collate_fn_map np_str_obj_array_pattern"
    _add_paths("torch", {f"{__name__}.{_path}": _homes})

from . import distributed  # noqa: E402, F401
from .distributed import DistributedSampler  # noqa: E402, F401
