"""Data sets, samplers and loaders."""

from __future__ import annotations

from collections.abc import Callable as _Callable
from collections.abc import Iterator
from typing import Any as _Any
from typing import Self as _Self

from lamella import data as _native
from lamella import float64 as _float64
from lamella.compat.errors import as_runtime_error
from lamella.compat.front import add_paths as _add_paths
from lamella.compat.tables.torch_nn import DATA as _TABLE
from lamella.data import collate as _collate

from ... import _words

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
    try:
        return _with_lists(_native.default_collate(batch))
    except ValueError as error:
        raise as_runtime_error(error) from None


def default_convert(data: _Any) -> _Any:
    """Returns arrays as tensors, see :func:`lamella.data.default_convert`, and tuples as lists."""
    return _with_lists(_native.default_convert(data))


class _Lists(Iterator[_Any]):
    """Iterator over batches with lists in the place of tuples."""

    def __init__(self, batches: Iterator[_Any]) -> None:
        self._batches = batches

    def __iter__(self) -> _Self:
        return self

    def __next__(self) -> _Any:
        try:
            return _with_lists(next(self._batches))
        except ValueError as error:
            if str(error).startswith("[default_collate]"):
                raise as_runtime_error(error) from None
            raise


class DataLoader(_NAMES.make("DataLoader")):  # type: ignore[misc]
    """Gives the batches of a dataset, epoch by epoch, see :class:`lamella.data.DataLoader`.

    Samples that are tuples come in lists, unless ``collate_fn`` makes something else of them.
    """

    def __init__(self, *args: _Any, **options: _Any) -> None:
        super().__init__(*args, **options)
        # Lamella asks datasets for whole batches where the function is its own.
        given: _Any = vars(self)["collate_fn"]
        own: dict[_Any, _Any] = {
            default_collate: _native.default_collate,
            default_convert: _native.default_convert,
        }
        self.collate_fn: _Any = own.get(given, given)

    def __iter__(self) -> Iterator[_Any]:
        batches: Iterator[_Any] = super().__iter__()
        own = self.collate_fn in (_native.default_collate, _native.default_convert)
        return _Lists(batches) if own else batches


from lamella.data._epochs import Epoch as _BaseDataLoaderIter  # noqa: E402, F401
from lamella.data._epochs import ParallelEpoch as _MultiProcessingDataLoaderIter  # noqa: E402, F401
from lamella.data._epochs import SerialEpoch as _SingleProcessDataLoaderIter  # noqa: E402, F401

_collate_fn_t: _Any = _Callable[[list[_Any]], _Any]  # a name of annotations

_EPOCHS = "_BaseDataLoaderIter _MultiProcessingDataLoaderIter _SingleProcessDataLoaderIter _collate_fn_t"

for _path in ("dataset", "dataloader", "sampler", "_utils", "_utils.collate"):
    _add_paths("torch", {f"{__name__}.{_path}": {__name__: f"{' '.join(_NAMES)} {_EPOCHS}"}})

from . import distributed  # noqa: E402, F401
from .distributed import DistributedSampler  # noqa: E402, F401
