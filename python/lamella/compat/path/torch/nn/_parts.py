"""Steps of layers that programs call by PyTorch's names, or replace in subclasses: checks, orders, masks, sizes."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.amp import is_autocast_enabled
from lamella.nn import recurrent
from lamella.nn.conv import _TransposedConv
from lamella.nn.embedding import _Table
from lamella.nn.utils.rnn import PackedSequence


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """Returns the parts of a tensor along an axis in another order."""
    return lm.take(tensor, permutation, axis=dim)


def _check_input(self: Any, input: Tensor, batch_sizes: Tensor | None) -> None:
    """Raises unless a recurrent layer takes an input, which has no axis of steps where sizes of batches are given.

    Raises:
        RuntimeError: it has another number of axes, or another size.
        ValueError: it has another dtype.
    """
    name, axes = type(self).__name__, 3 if batch_sizes is None else 2
    dtype = self._flat_weights[0].dtype
    if input.dtype != dtype and not is_autocast_enabled():
        raise ValueError(f"[{name}] the input is {input.dtype.name}, the weights are {dtype.name}: convert one of them")
    if input.ndim != axes:
        raise RuntimeError(f"[{name}] the input has {axes} axes, not the shape {list(input.shape)}")
    if input.shape[-1] != self.input_size:
        raise RuntimeError(f"[{name}] the last axis of the input has size {self.input_size}, not {input.shape[-1]}")


def _state_shape(self: Any, input: Tensor, batch_sizes: Tensor | None, size: int) -> tuple[int, int, int]:
    count = input.shape[0 if self.batch_first else 1] if batch_sizes is None else int(batch_sizes[0])
    return self.num_layers * (1 + self.bidirectional), count, size


def _get_expected_hidden_size(self: Any, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
    """Returns the shape of the states of an input."""
    return _state_shape(self, input, batch_sizes, self.proj_size or self.hidden_size)


def _get_expected_cell_size(self: Any, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
    """Returns the shape of the cells of an input."""
    return _state_shape(self, input, batch_sizes, self.hidden_size)


def _check_hidden_size(
    self: Any, hx: Tensor, expected_hidden_size: Sequence[int], msg: str = "Expected hidden size {}, got {}"
) -> None:
    """Raises ``RuntimeError`` with a text that has places for both shapes, unless states have the one expected."""
    if tuple(hx.shape) != tuple(expected_hidden_size):
        raise RuntimeError(msg.format(tuple(expected_hidden_size), list(hx.shape)))


def _check_forward_args(self: Any, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
    """Raises unless a recurrent layer takes an input and its first states."""
    self.check_input(input, batch_sizes)
    self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))


def _check_lstm_args(self: Any, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
    """Raises unless a layer takes an input and its first states and cells."""
    self.check_input(input, batch_sizes)
    shapes = self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)
    for i, (state, shape) in enumerate(zip(hidden, shapes, strict=True)):
        self.check_hidden_size(state, shape, f"Expected hidden[{i}] size {{}}, got {{}}")


def _permute_hidden(self: Any, hx: Any, permutation: Tensor | None) -> Any:
    """Returns states in the order of sequences that ``permutation`` has; None leaves them."""
    if permutation is None:
        return hx
    if isinstance(hx, tuple):
        return tuple(apply_permutation(state, permutation) for state in hx)
    return apply_permutation(hx, permutation)


_native_run: Any = recurrent._Network._run


def _run(self: Any, function: Any, x: Any, states: Sequence[Tensor] | None) -> tuple[Any, tuple[Tensor, ...]]:
    """Runs a layer, with the checks and orders of a subclass that has its own."""
    kind = type(self)
    checks = kind.check_forward_args not in (_check_forward_args, _check_lstm_args)
    if not checks and kind.permute_hidden is _permute_hidden:
        return _native_run(self, function, x, states)  # type: ignore[no-any-return]
    packed = isinstance(x, PackedSequence)
    data: Any = x.data if packed else x
    sizes: Any = x.batch_sizes if packed else None
    lacks_batch = not packed and x.ndim == 2
    if lacks_batch:
        data = lm.expand_dims(x, 0 if self.batch_first else 1)
        states = None if states is None else [lm.expand_dims(state, 1) for state in states]
    order, back = (x.sorted_indices, x.unsorted_indices) if packed else (None, None)
    if states is None:
        first = lm.expand_dims(data[: int(sizes[0])], 0) if packed else self._turned(data)
        hidden = _joined(self._states(first))
    else:
        hidden = self.permute_hidden(_joined(states), order)
    if checks:
        self.check_forward_args(data, hidden, sizes)
    if packed:  # its sequences have an order already, and so have the states
        x = x._replace(sorted_indices=None, unsorted_indices=None)
    made, last = _native_run(self, function, x if packed else data, hidden if isinstance(hidden, tuple) else (hidden,))
    last = self.permute_hidden(_joined(last), back)
    if packed:
        made = made._replace(sorted_indices=order, unsorted_indices=back)
    elif lacks_batch:
        made = lm.squeeze(made, 0 if self.batch_first else 1)
        last = tuple(lm.squeeze(state, 1) for state in last) if isinstance(last, tuple) else lm.squeeze(last, 1)
    return made, last if isinstance(last, tuple) else (last,)


def _joined(states: Sequence[Tensor]) -> Any:
    """Returns states as a layer takes them: a tensor, or for an LSTM a pair."""
    return states[0] if len(states) == 1 else tuple(states)


def _merge_masks(
    self: Any, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
) -> tuple[Tensor | None, int | None]:
    """Returns one mask for an attention's scores, and its kind.

    Args:
        self: the layer.
        attn_mask: of shape ``(targets, sources)``, or one for each sequence and head.
        key_padding_mask: of shape ``(batch, sources)``.
        query: of shape ``(batch, targets, size)``.

    Returns:
        The mask and 1 for one of keys, 2 for one of scores; None and None where there is none.
    """
    if attn_mask is None:
        return key_padding_mask, None if key_padding_mask is None else 1
    batch, length = query.shape[:2]
    if attn_mask.ndim == 3:
        merged = lm.reshape(attn_mask, (batch, -1, length, length))
    else:
        merged = lm.broadcast_to(attn_mask, (batch, self.num_heads, length, length))
    if key_padding_mask is not None:
        keys = lm.reshape(key_padding_mask, (batch, 1, 1, length))
        merged = merged | keys if merged.dtype == keys.dtype == lm.bool else merged + keys
    return merged, 2


def _output_padding(
    self: Any,
    input: Tensor,
    output_size: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    kernel_size: Sequence[int],
    num_spatial_dims: int,
    dilation: Sequence[int] | None = None,
) -> list[int]:
    """Returns how much a transposed convolution adds at the end of each axis, so that it has a size.

    Raises:
        ValueError: no convolution with these settings has it.
    """
    if output_size is None:
        return list(self.output_padding)
    wanted = list(output_size)[-num_spatial_dims:]
    steps = [1] * num_spatial_dims if dilation is None else dilation
    sizes = input.shape[-num_spatial_dims:]
    least = [
        (n - 1) * s - 2 * p + d * (k - 1) + 1
        for n, s, p, d, k in zip(sizes, stride, padding, steps, kernel_size, strict=True)
    ]
    most = [low + s - 1 for low, s in zip(least, stride, strict=True)]
    if len(wanted) != num_spatial_dims or any(
        not low <= size <= high for low, size, high in zip(least, wanted, most, strict=True)
    ):
        raise ValueError(f"[{type(self).__name__}] output_size lies between {least} and {most} here, not {wanted}")
    return [size - low for size, low in zip(wanted, least, strict=True)]


def _fill_padding_idx_with_zero(self: Any) -> None:
    """Sets the row of what stands for no entry to 0."""
    if self.padding_idx is not None:
        with lm.no_grad():
            self.weight[self.padding_idx] = 0


def _reset_table(self: Any) -> None:
    """Draws new starting values, of the standard normal distribution; row ``padding_idx`` is 0."""
    lm.nn.init.normal_(self.weight)
    self._fill_padding_idx_with_zero()


def _get_clones(module: Any, N: int) -> Any:  # noqa: N803  # as PyTorch calls it
    """Returns a list of ``N`` copies of a layer."""
    return lm.nn.ModuleList(copy.deepcopy(module) for _ in range(N))


def _get_seq_len(src: Tensor, batch_first: bool) -> int:
    """Returns the length of sequences, of one or of a batch."""
    return src.shape[1 if src.ndim > 2 and batch_first else 0]


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    """Returns a mask of scores that hides what comes later: 0, and minus infinity above the diagonal."""
    hidden = lm.full((sz, sz), float("-inf"), dtype=dtype, device=None if device is None else str(device))
    return lm.triu(hidden, k=1)


def _detect_is_causal_mask(mask: Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    """True if a mask hides just what comes later; what ``is_causal`` says is believed."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    length = mask.shape[-2] if size is None else size
    wanted = _generate_square_subsequent_mask(length, dtype=mask.dtype, device=mask.device)
    return mask.shape == wanted.shape and bool((mask == wanted).all())


def _none_or_dtype(input: Tensor | None) -> Any:
    """Returns the dtype of a mask; None stays None.

    Raises:
        RuntimeError: it is no tensor.
    """
    if input is None or isinstance(input, Tensor):
        return None if input is None else input.dtype
    raise RuntimeError(f"[_none_or_dtype] a mask is a tensor or None, not {type(input).__name__}")


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: Any,
    other_name: str,
    target_type: Any,
    check_other: bool = True,
) -> Tensor | None:
    """Returns a mask as numbers that are added to scores: minus infinity where one of bool is set.

    Raises:
        AssertionError: the mask is neither of bool nor of floats.
    """
    if mask is None or lm.isdtype(mask.dtype, "real floating"):
        made = mask
    elif mask.dtype == lm.bool:
        made = lm.where(mask, lm.full((), float("-inf"), dtype=target_type), lm.zeros((), dtype=target_type))
    else:
        raise AssertionError(f"[attention] {mask_name} is of bool or of floats, not {mask.dtype.name}")
    if mask is not None and check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(f"{mask_name} and {other_name} are of one dtype: {mask.dtype} and {other_type}", stacklevel=2)
    return made


def _mha_shape_check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """True if attention gets a batch, False if it gets one sequence.

    Raises:
        AssertionError: the axes of tensors do not fit together.
    """
    axes = query.ndim
    if axes not in (2, 3):
        raise AssertionError(f"[attention] query has 2 axes, or 3 with a batch, not the shape {list(query.shape)}")
    for name, each, wanted in (
        ("key", key, (axes,)),
        ("value", value, (axes,)),
        ("key_padding_mask", key_padding_mask, (axes - 1,)),
        ("attn_mask", attn_mask, (2, 3)),
    ):
        if each is not None and each.ndim not in wanted:
            raise AssertionError(
                f"[attention] {name} has {' or '.join(map(str, wanted))} axes beside a query of {axes}, "
                f"not the shape {list(each.shape)}"
            )
    if axes == 2 and attn_mask is not None and attn_mask.ndim == 3:
        whole = num_heads, query.shape[0], key.shape[0]
        if tuple(attn_mask.shape) != whole:
            raise AssertionError(f"[attention] attn_mask has shape {whole} here, not {list(attn_mask.shape)}")
    return axes == 3


_network: Any = recurrent._Network
_network._run = _run
_network.check_input = _check_input
_network.get_expected_hidden_size = _get_expected_hidden_size
_network.check_hidden_size = _check_hidden_size
_network.check_forward_args = _check_forward_args
_network.permute_hidden = _permute_hidden
_lstm: Any = lm.nn.LSTM
_lstm.get_expected_cell_size = _get_expected_cell_size
_lstm.check_forward_args = _check_lstm_args
_attention: Any = lm.nn.MultiheadAttention
_attention.merge_masks = _merge_masks
_transposed: Any = _TransposedConv
_transposed._output_padding = _output_padding
_table: Any = _Table
_table.reset_parameters = _reset_table
_table._fill_padding_idx_with_zero = _fill_padding_idx_with_zero
