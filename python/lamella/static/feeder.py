"""Batches of examples as feeds of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .places import device_of
from .program import Program, default_main_program


class DataFeeder:
    """Turns lists of examples into feeds.

    Args:
        feed_list: the variables that are fed, or their names, in the order in which an example has their values.
        place: not used: the executor's device counts.
        program: the program of the names; :func:`default_main_program` by default.

    Raises:
        TypeError: ``feed_list`` holds neither variables nor names, or ``place`` is no device.
        ValueError: there is no variable of a name.
    """

    def __init__(self, feed_list: Sequence[Any], place: Any = None, program: Program | None = None) -> None:
        device_of("DataFeeder", place)
        program = default_main_program() if program is None else program
        found = [program.find("DataFeeder", each) for each in feed_list]
        self.variables = [(each.name, str(each.dtype), tuple(each.shape)) for each in found]

    def feed(self, iterable: Iterable[Sequence[Any]]) -> dict[str, Any]:
        """Returns the feed of a batch: the values of all examples by variable, in its dtype and shape.

        Raises:
            ValueError: there is no example, or one of another length than ``feed_list``, or of another size than its
                variable.
        """
        rows = list(iterable)
        if not rows:
            raise ValueError("[DataFeeder.feed] there is no example")
        for index, row in enumerate(rows):
            if len(row) != len(self.variables):
                raise ValueError(
                    f"[DataFeeder.feed] example {index} has {len(row)} values for {len(self.variables)} variables"
                )
        feed = {}
        for column, (name, dtype, shape) in enumerate(self.variables):
            try:
                array = np.array([row[column] for row in rows], dtype)
                feed[name] = array if array.ndim == len(shape) else array.reshape((len(rows), *shape[1:]))
            except ValueError as error:
                raise ValueError(
                    f"[DataFeeder.feed] the values of '{name}' do not fit {list(shape)}: {error}"
                ) from error
        return feed


def batch(
    reader: Callable[[], Iterable[Any]], batch_size: int, drop_last: bool = False
) -> Callable[[], Iterator[list[Any]]]:
    """Returns a reader of batches of what another reader, a function that returns examples, reads.

    Raises:
        ValueError: ``batch_size`` is below 1.
    """
    if batch_size < 1:
        raise ValueError(f"[batch] batch_size is at least 1, not {batch_size}")

    def batches() -> Iterator[list[Any]]:
        rows: list[Any] = []
        for row in reader():
            rows.append(row)
            if len(rows) == batch_size:
                yield rows
                rows = []
        if rows and not drop_last:
            yield rows

    return batches
