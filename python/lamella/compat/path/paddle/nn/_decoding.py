"""Sequences made step by step, of which the most likely ones are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import lamella as lm
from lamella import Tensor


def gather_tree(ids: Tensor, parents: Tensor) -> Tensor:
    """Returns whole sequences: from each of the last steps back over the beams that it came from.

    Args:
        ids: what each step chose, ``(steps, n, beams)``.
        parents: the beams of the step before that the choices belong to, of the same shape.
    """
    rows = [ids[-1]]
    beams = parents[-1]
    for step in range(ids.shape[0] - 2, -1, -1):
        rows.append(lm.take_along_axis(ids[step], beams, axis=-1))
        beams = lm.take_along_axis(parents[step], beams, axis=-1)
    return lm.stack(rows[::-1])


def _map(function: Callable[[Tensor], Tensor], value: Any) -> Any:
    """Applies a function to all tensors of nested tuples, lists and dicts."""
    if isinstance(value, dict):
        return {key: _map(function, each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [_map(function, each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return function(value)


class BeamOutput(NamedTuple):
    """Choice of a step: scores, classes and the beams that they go on from, ``(n, beams)`` each."""

    scores: Tensor
    predicted_ids: Tensor
    parent_ids: Tensor


class BeamState(NamedTuple):
    """State that a step goes on from: the cell's states, and the score, end and length of each beam."""

    cell_states: Any
    log_probs: Tensor
    finished: Tensor
    lengths: Tensor


class BeamSearchDecoder:
    """Keeps the ``beam_size`` most likely sequences that a cell makes.

    Args:
        cell: called as ``cell(inputs, states)``; returns the output of a step and the states after it.
        start_token: the class that sequences begin with.
        end_token: the class that ends them.
        beam_size: number of sequences that are kept of each example.
        embedding_fn: makes inputs of the cell from classes.
        output_fn: makes scores of classes from outputs of the cell.
    """

    OutputWrapper = BeamOutput
    StateWrapper = BeamState
    #: A beam that has ended stays so, wherever the step puts it.
    tracks_own_finished = True
    _far = 1e9

    def __init__(
        self,
        cell: Any,
        start_token: int,
        end_token: int,
        beam_size: int,
        embedding_fn: Any = None,
        output_fn: Any = None,
    ) -> None:
        self.cell, self.start_token, self.end_token, self.beam_size = cell, start_token, end_token, beam_size
        self.embedding_fn, self.output_fn = embedding_fn, output_fn

    @staticmethod
    def tile_beam_merge_with_batch(x: Tensor, beam_size: int) -> Tensor:
        """Returns each example ``beam_size`` times, one behind the other: ``(n * beam_size, ...)``."""
        return lm.repeat(x, beam_size, axis=0)

    def _split(self, x: Tensor) -> Tensor:
        return lm.reshape(x, (-1, self.beam_size, *tuple(x.shape)[1:]))

    def _merge(self, x: Tensor) -> Tensor:
        return lm.reshape(x, (-1, *tuple(x.shape)[2:]))

    def initialize(self, initial_cell_states: Any) -> tuple[Any, BeamState, Tensor]:
        """Returns the first inputs, the states ``(n, beams, ...)`` and that no beam has ended."""
        states = _map(lambda x: self._split(self.tile_beam_merge_with_batch(x, self.beam_size)), initial_cell_states)
        first = states
        while not isinstance(first, Tensor):
            first = next(iter(first.values())) if isinstance(first, dict) else first[0]
        shape = (first.shape[0], self.beam_size)
        tokens = lm.full(shape, self.start_token, dtype="int64")
        # Only the first beam counts at the beginning: all are the same.
        scores = lm.where(lm.arange(self.beam_size) == 0, lm.zeros(shape), lm.full(shape, -self._far))
        finished = lm.zeros(shape, dtype="bool")
        state = BeamState(states, scores, finished, lm.zeros_like(tokens))
        return self.embedding_fn(tokens) if self.embedding_fn else tokens, state, finished

    def step(self, time: Any, inputs: Any, states: BeamState, **kwargs: Any) -> tuple[Any, BeamState, Any, Tensor]:
        """Returns the choices of a step, the states after it, the next inputs, and which beams have ended."""
        outputs, after = self.cell(_map(self._merge, inputs), _map(self._merge, states.cell_states), **kwargs)
        outputs, after = _map(self._split, outputs), _map(self._split, after)
        logits = self.output_fn(outputs) if self.output_fn is not None else outputs
        classes = logits.shape[-1]
        # A beam that has ended goes on with the end alone, which costs nothing.
        ended = lm.where(lm.arange(classes) == self.end_token, 0.0, lm.full((classes,), -self._far))
        steps = lm.where(lm.expand_dims(states.finished, 2), ended, lm.log_softmax(logits, axis=-1))
        scores = lm.reshape(steps + lm.expand_dims(states.log_probs, 2), (-1, self.beam_size * classes))
        best, places = lm.topk(scores, self.beam_size)
        beams, tokens = lm.floor_divide(places, classes), lm.remainder(places, classes)
        rows = lm.expand_dims(lm.arange(beams.shape[0]), 1)
        after = _map(lambda x: x[rows, beams], after)
        finished = states.finished[rows, beams]
        lengths = states.lengths[rows, beams] + lm.logical_not(finished).astype("int64")
        finished = lm.logical_or(finished, tokens == self.end_token)
        following = self.embedding_fn(tokens) if self.embedding_fn else tokens
        return BeamOutput(best, tokens, beams), BeamState(after, best, finished, lengths), following, finished

    def finalize(self, outputs: BeamOutput, final_states: Any, sequence_lengths: Tensor) -> tuple[Tensor, Any]:
        """Returns the classes of whole sequences, ``(steps, n, beams)``, and the states."""
        return gather_tree(outputs.predicted_ids, outputs.parent_ids), final_states


def dynamic_decode(
    decoder: Any,
    inits: Any = None,
    max_step_num: int | None = None,
    output_time_major: bool = False,
    impute_finished: bool = False,
    is_test: bool = False,
    return_length: bool = False,
    **kwargs: Any,
) -> Any:
    """Runs the steps of a decoder until all sequences have ended.

    Args:
        decoder: has ``initialize``, ``step`` and ``finalize``, as :class:`BeamSearchDecoder`.
        inits: what ``initialize`` is given.
        max_step_num: the last step, counted from 0; None for no limit.
        output_time_major: outputs are ``(steps, n, ...)`` instead of ``(n, steps, ...)``.
        impute_finished: states of sequences that have ended stay as they are, and their outputs are zeros.
        is_test: not used.
        return_length: returns the lengths, too.
        kwargs: are given to each step.

    Returns:
        What ``finalize`` makes of the outputs, the last states, and the lengths where asked for.
    """
    inputs, states, finished = decoder.initialize(inits)
    lengths = lm.zeros_like(finished.astype("int64"))
    outputs, time = [], 0
    while not bool(lm.all(finished)):
        made, after, inputs, ended = decoder.step(lm.tensor([time]), inputs, states, **kwargs)
        if not decoder.tracks_own_finished:
            ended = lm.logical_or(ended, finished)
            lengths = lengths + lm.logical_not(finished).astype("int64")
            if impute_finished:
                after = _kept(finished, states, after)
        outputs.append(made)
        states, finished = after, ended
        time += 1
        if max_step_num is not None and time > max_step_num:
            break
    if decoder.tracks_own_finished:
        lengths = states.lengths
    stacked = _stacked(outputs)
    if hasattr(decoder, "finalize"):
        stacked, states = decoder.finalize(stacked, states, lengths)
    if not output_time_major:
        stacked = _map(lambda x: lm.swapaxes(x, 0, 1), stacked)
    return (stacked, states, lengths) if return_length else (stacked, states)


def _stacked(outputs: list[Any]) -> Any:
    """Returns the tensors of all steps along a new first axis."""
    first = outputs[0]
    if isinstance(first, dict):
        return {key: _stacked([each[key] for each in outputs]) for key in first}
    if isinstance(first, (list, tuple)):
        parts = [_stacked([each[i] for each in outputs]) for i in range(len(first))]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    return lm.stack(outputs)


def _kept(finished: Tensor, before: Any, after: Any) -> Any:
    """Returns states after a step, and those before it where a sequence has ended."""
    if isinstance(after, (list, tuple)):
        parts = [_kept(finished, b, a) for b, a in zip(before, after, strict=True)]
        return type(after)(*parts) if hasattr(after, "_fields") else type(after)(parts)
    mask = lm.reshape(finished, (-1,) + (1,) * (after.ndim - 1))
    return lm.where(mask, before, after)
