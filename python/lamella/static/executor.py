"""Runs programs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import lamella as lm
from lamella.graph import Symbol

from .places import device_of
from .program import Fed, Program, default_main_program, paused
from .scope import Scope, check_scope, global_scope, run_in
from .spec import fits


class CompiledProgram:
    """A program that is to be run; there is nothing to compile.

    Args:
        program: the program.
        build_strategy: not used.
    """

    def __init__(self, program: Program, build_strategy: Any = None) -> None:
        if not isinstance(program, Program):
            raise TypeError(f"[CompiledProgram] program is a Program, not {type(program).__name__}")
        self.program = program


class Executor:
    """Runs programs on a device.

    Args:
        place: the device; the CPU by default.

    Raises:
        TypeError: ``place`` is no device.
    """

    def __init__(self, place: Any = None) -> None:
        self.device = device_of("Executor", place)
        self._closed = False

    def run(
        self,
        program: Program | CompiledProgram | None = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Any = None,
        feed_var_name: str = "feed",
        fetch_var_name: str = "fetch",
        scope: Scope | None = None,
        return_numpy: bool = True,
        use_program_cache: bool = False,
        use_prune: bool = False,
    ) -> list[Any]:
        """Runs all nodes of a program in order, and returns what was asked for.

        Args:
            program: the program; :func:`default_main_program` by default.
            feed: for each variable that :func:`data` has made its value, by name: an array, a tensor, or numbers,
                which take the variable's dtype.
            fetch_list: variables, or names of variables, whose values are wanted: one or a list of them. A variable of
                the program that this one was cloned from stands for that of the same name.
            feed_var_name: not used.
            fetch_var_name: not used.
            scope: has the values of parameters; :func:`global_scope` by default.
            return_numpy: False returns tensors in place of arrays.
            use_program_cache: not used.
            use_prune: True leaves out what ``fetch_list`` does not need and does nothing else, such as printing.

        Returns:
            The values in the order of ``fetch_list``.

        Raises:
            TypeError: an argument, a feed's name or its dtype is another than wanted.
            ValueError: a feed is missing, unknown or of another shape; a variable of ``fetch_list`` is unknown.
            RuntimeError: a parameter has no value, as the start-up program was not run.
        """
        if self._closed:
            raise RuntimeError("[Executor.run] the executor is closed")
        program = program.program if isinstance(program, CompiledProgram) else program
        program = default_main_program() if program is None else program
        if not isinstance(program, Program):
            raise TypeError(f"[Executor.run] program is a Program, not {type(program).__name__}")
        scope = global_scope() if scope is None else check_scope("Executor.run", scope)
        listed = (
            [] if fetch_list is None else list(fetch_list) if isinstance(fetch_list, (list, tuple)) else [fetch_list]
        )
        last_update = program.updates[-1] if program.updates else None
        with (
            paused(),
            run_in(scope, self.device, last_update),
            _seeded(program, scope) if program.random_seed else _UNSEEDED,
        ):
            feeds = self._feeds(program, feed, scope)
            wanted = [program.find("Executor.run", each) for each in listed if not _is_constant(each)]
            if len(feeds) != len(program.fed) + len(program.held) or program.undefined:
                _check_fed(program, feeds, wanted, scope, use_prune)
            scope.programs.add(program)
            found = iter(program.graph.run(feeds, wanted, prune=use_prune))
            values = [each if _is_constant(each) else next(found) for each in listed]
            for each, value in zip(listed, values, strict=True):
                if value is None:
                    name = each if isinstance(each, str) else each.name
                    raise ValueError(f"[Executor.run] fetch_list: no operator of the program computes '{name}'")
            return [_returned(value, return_numpy) for value in values]

    def close(self) -> None:
        """Ends the use of the executor: :meth:`run` raises from now on."""
        self._closed = True

    def _feeds(self, program: Program, feed: Any, scope: Scope) -> dict[str, lm.Tensor]:
        """Returns the tensors of the program's inputs by name: those fed, and those that the scope has."""
        if feed is None:
            feed = {}
        if isinstance(feed, (list, tuple)) and len(feed) == 1:
            feed = feed[0]
        if not isinstance(feed, Mapping):
            raise TypeError(f"[Executor.run] feed is a dict of values by name, not {type(feed).__name__}")
        feeds: dict[str, lm.Tensor] = {}
        for name, value in feed.items():
            if not isinstance(name, str):
                raise TypeError(f"[Executor.run] feed: a variable is fed by its name, not by {type(name).__name__}")
            if name not in program.fed:
                program.look_again()
            if name in program.held:
                raise ValueError(
                    f"[Executor.run] feed: '{name}' is a parameter: its value lies in the scope, "
                    f"global_scope().find_var('{name}').get_tensor().set(...)"
                )
            if name not in program.fed:
                raise ValueError(
                    f"[Executor.run] feed: the program takes no '{name}'; it takes "
                    f"{', '.join(program.fed) or 'nothing'}"
                )
            feeds[name] = self._fed(name, program.fed[name], value, program.writes())
        for name in program.held:
            variable = scope.find_var(name)
            if variable is not None and variable.value is not None:
                feeds[name] = program.value("Executor.run", name, scope)
        return feeds

    def _fed(self, name: str, variable: Fed, value: Any, writes: bool) -> lm.Tensor:
        """Returns the value that is fed for a variable, checked."""
        if isinstance(value, lm.Tensor):
            if isinstance(value, Symbol):
                raise TypeError(
                    f"[Executor.run] the feed '{name}' is a variable of a program; feed an array or a tensor"
                )
            tensor = value
        else:
            try:
                tensor = lm.asarray(value)
            except (TypeError, ValueError) as error:
                raise TypeError(
                    f"[Executor.run] the feed '{name}' is {type(value).__name__}, which is no array: {error}"
                ) from error
            if not hasattr(value, "dtype"):
                tensor = tensor.astype(variable.dtype)
        shape = tuple(tensor.shape)
        if shape != variable.shape and not fits(shape, variable.shape):
            raise ValueError(
                f"[Executor.run] the feed '{name}' has shape {list(shape)}, the variable {list(variable.shape)}"
            )
        if tensor.dtype != variable.dtype:
            raise TypeError(
                f"[Executor.run] the feed '{name}' is {tensor.dtype}, the variable {variable.dtype}: convert it, "
                f"array.astype('{variable.dtype}')"
            )
        if self.device != "cpu" or tensor.device != "cpu":
            return tensor.to(self.device)
        # A program that writes into its variables leaves the caller's memory alone.
        return tensor.clone() if writes else tensor


_UNSEEDED = contextlib.nullcontext()


def _is_constant(value: Any) -> bool:
    """True for a tensor with values, which stands for itself."""
    return isinstance(value, lm.Tensor) and not isinstance(value, Symbol)


def _returned(value: lm.Tensor, return_numpy: bool) -> Any:
    """Returns a copy of a value, which later runs do not write into, as an array or a tensor."""
    value = value.detach()
    return value.cpu().numpy().copy() if return_numpy else value.clone()


def _check_fed(
    program: Program, feeds: Mapping[str, lm.Tensor], fetches: list[Symbol], scope: Scope, prune: bool
) -> None:
    """Raises for an input that a node or a fetch reads and that has no value."""
    missing = {*program.fed, *program.held, *program.undefined} - set(feeds)
    if not missing:
        return
    graph = program.graph.prune(fetches) if prune else program.graph
    readers: dict[str, str] = {symbol.name: "fetch_list" for symbol in fetches if symbol.name in missing}
    for node in graph.nodes:
        for name in _read(node):
            if name in missing:
                readers.setdefault(name, f"'{node.op}'" + (f" ({node.where})" if node.where else ""))
    for name, reader in readers.items():
        if name in program.held:
            program.value("Executor.run", name, scope)
        if name in program.undefined:
            raise ValueError(
                f"[Executor.run] no operator of the program computes '{name}', which {reader} reads: it was only "
                "declared"
            )
        raise ValueError(
            f"[Executor.run] the variable '{name}', which {reader} reads, was not fed: "
            f"run(feed={{'{name}': array}}, ...)"
        )


def _read(node: Any) -> Iterator[str]:
    """Yields the names of the variables among a node's arguments."""
    for _, value in node.arguments:
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(each, Symbol):
                yield each.name


@contextlib.contextmanager
def _seeded(program: Program, scope: Scope) -> Iterator[None]:
    """Draws the random numbers of a run from the sequence of a program that has a seed.

    A start-up program begins its sequence anew in every run.
    """
    before = lm.random.rng_states()
    try:
        if program.prepares or program not in scope.generators:
            lm.random.seed(program.random_seed)
        else:
            lm.random.restore_rng_states(scope.generators[program])
        yield
        scope.generators[program] = lm.random.rng_states()
    finally:
        lm.random.restore_rng_states(before)
