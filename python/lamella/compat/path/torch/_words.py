"""PyTorch's words for parameters, and what these mean here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import lamella as lm
from lamella._names import ARGUMENTS
from lamella.compat.dialect import Dialect, by_other_names
from lamella.compat.names import Names as _Names
from lamella.compat.names import serve  # noqa: F401

from . import _underivable
from ._node_names import COMPOSED, noting
from ._plain import STRIDED
from ._taking_over import DOUBLE, otherwise
from ._warnings import warn
from ._writing import written
from .return_types import CLASSES, named


class Names(_Names):
    """The names of a module; functions without a derivative refuse one, and others name their nodes or results."""

    #: In front of the names of results.
    prefix = ""

    def words_differ(self, name: str) -> bool:
        """True if the function of the name is not quite the native one."""
        return self.prefix + name in CLASSES or super().words_differ(name)

    def make(self, name: str) -> Any:
        """Returns what has the name."""
        made = super().make(name)
        if (result := self.prefix + name) in CLASSES and inspect.isfunction(made):
            inner, made = made, named(result, made)
            inner.__globals__["_function"] = made
        if name in COMPOSED and inspect.isfunction(made):
            inner, made = made, noting(name, made)
            inner.__globals__["_function"] = made  # what takes calls over gets the function that programs know
        return _underivable.refusing(name, made) if name in _underivable.PLACES else made


#: PyTorch's words by what they are called natively: the first word counts where there are several.
WORDS: dict[str, tuple[str, ...]] = {
    **ARGUMENTS,
    "input": ("x", "a", "x1"),
    "other": ("b", "x2"),
    "end": ("stop",),
    "offset": ("k",),
    "dim0": ("axis1",),
    "dim1": ("axis1", "axis2"),
    "dim2": ("axis2",),
    "tensors": ("arrays",),
    "rcond": ("rtol",),
    "train": ("training",),
    "decoupled_weight_decay": ("decoupled",),
    "LU_data": ("lu",),
    "LU": ("lu",),
    "LU_pivots": ("pivots",),
    "LD": ("ld",),
    "A": ("a", "x"),
    "B": ("b",),
    "pivots": ("pivots",),
    "input1": ("x1",),
    "input2": ("x2",),
    "logits": ("x",),
    "val": ("value",),
    "values": ("x2", "b", "parameters"),
    **dict.fromkeys(("mat2", "vec", "vec2", "tensor", "exponent"), ("x2", "b", "vector")),
}

#: Words of written signatures only: of derived ones, they would name parameters that go by other words.
_WRITTEN = frozenset({"A", "input1", "input2", "logits", "val", "values"})


def of_old_words(size_average: bool | None, reduce: bool | None) -> str:
    """Returns the word for what older programs say by two bools; a warning names it."""
    word = "none" if reduce is False else "sum" if size_average is False else "mean"
    warn(f"size_average and reduce are older words: write reduction={word!r}")
    return word


def _place(module: Any, device: Any, dtype: Any) -> None:
    if device is not None:
        module.to(device)
    if dtype is not None:
        module.to(dtype)


def _put_weight(module: Any, weight: Any) -> None:
    """Makes a tensor the weight of a layer that was made with one of its own.

    Raises:
        ValueError: it has another shape.
    """
    if weight is None:
        return
    got, wanted = list(weight.shape), list(module.weight.shape)
    if got != wanted:
        raise ValueError(f"[{type(module).__name__}] _weight has the shape {got}, expected {wanted}")
    module.weight = type(module.weight).of_memory(weight)


def _warn_of_dropout(layer: Any, dropout: float) -> None:
    warn(f"[{type(layer).__name__}] dropout={dropout} acts between layers, of which num_layers=1 is one: no dropout")


_OLD_REDUCTION = {
    "size_average": "if size_average is not None or reduce is not None: reduction = _reduction(size_average, reduce)"
}
_DTYPE = {"dtype": "if dtype in _DOUBLE: dtype = _DOUBLE[dtype]"}
_HELPERS = {"_reduction": of_old_words, "_place": _place, "_DOUBLE": DOUBLE}
_MEMORY = frozenset({"layout", "pin_memory", "memory_format", "_stacklevel", "sparse_grad", "cudnn_enabled"})

#: Numpy's words, which PyTorch takes, too.
NUMPY = {"dim": "axis", "keepdim": "keepdims"}


def with_numpy_words(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function whose arguments may be given in numpy's words, too."""
    return by_other_names(function, NUMPY)


def _laid_out(function: Callable[..., Any], x: Any, layout: Any) -> Any:
    """Returns what a function made in a layout: zeros, and elements that are not set, may be sparse.

    Raises:
        RuntimeError: other elements are to be sparse.
    """
    if layout == STRIDED:
        return x
    name = function.__name__
    if not name.startswith(("zeros", "empty")):
        raise RuntimeError(f"[{name}] makes dense tensors, not {layout}: call to_sparse() of the result")
    zeros: Any = lm.zeros_like(x)
    return zeros.to_sparse(layout=layout)


#: Functions: what is made may want a gradient, and may be asked for memory of a kind.
FUNCTIONS = Dialect(
    WORDS,
    ignored=_MEMORY | {"size_average", "reduce", "assume_unique", "output_size", "compute_mode", "foreach", "sparse"},
    before={**_OLD_REDUCTION, **_DTYPE},
    after={
        "layout": "({result} if layout is None else _laid_out(_function, {result}, layout))",
        "out": "_written({result}, out)",
        "requires_grad": "_marked({result}, requires_grad)",
    },
    helpers={
        **_HELPERS,
        "_laid_out": _laid_out,
        "_written": written,
        "_marked": lambda x, requires_grad: x.requires_grad_() if requires_grad else x,
    },
    extra={"requires_grad": "device", "layout": "device", "pin_memory": "device"},
    also=NUMPY,
    written=_WRITTEN,
    otherwise=otherwise,
)
#: Functions that write their result where they are told to.
INTO = replace(
    FUNCTIONS,
    # What is made of nothing is made in the dtype of the tensor that it is written into.
    before={**FUNCTIONS.before, "layout": "if out is not None and dtype is None: dtype = out.dtype"},
    extra={**FUNCTIONS.extra, "out": ""},
)
#: Layers: they are made on a device and in a dtype.
LAYERS = Dialect(
    WORDS,
    ignored=frozenset({"size_average", "reduce", "sparse", "enable_nested_tensor", "mask_check"}),
    before={
        **_OLD_REDUCTION,
        **_DTYPE,
        # Of recurrent layers.
        "bidirectional": "if num_layers == 1 and dropout: _warn_of_dropout(self, dropout)",
    },
    after={
        "device": "_place(self, device, None)",
        "dtype": "_place(self, None, dtype)",
        "_weight": "_put_weight(self, _weight)",
        "_random_samples": 'self.register_buffer("_random_samples", _random_samples)',
        "process_group": "if process_group is not None: self.group = process_group",
        "min_value": "if min_value is not None: self.min_val = min_value",
        "max_value": "if max_value is not None: self.max_val = max_value",
        "sparse": "self.sparse = bool(sparse)",
        "_freeze": "if _freeze: self.weight.stop_gradient = True",
    },
    helpers={**_HELPERS, "_put_weight": _put_weight, "_warn_of_dropout": _warn_of_dropout},
    extra={"device": "", "dtype": "", "size_average": "reduction", "reduce": "reduction"},
    written=_WRITTEN,
)


def _in_place() -> type:
    from .nn._module import InPlace

    return InPlace


#: Layers that may write over their input.
LAYERS_IN_PLACE = replace(
    LAYERS,
    after={**LAYERS.after, "inplace": "self.inplace = bool(inplace)"},
    extra={"inplace": "", **LAYERS.extra},
    own=frozenset({"inplace"}),
    base=_in_place,
)


def _choose(optimizer: Any, option: str, value: Any) -> None:
    """Notes which kernel was asked for, which changes nothing here, in the groups."""
    if option == "differentiable" and value:
        raise NotImplementedError(
            f"[{type(optimizer).__name__}] steps are not recorded: compute the new parameters with operators, and call "
            "the module with them by torch.func.functional_call"
        )
    optimizer.defaults[option] = value
    for group in optimizer.param_groups:
        group.setdefault(option, value)


#: Optimizers: which kernel computes a step is not theirs to say here.
OPTIMIZERS = Dialect(
    WORDS,
    before={
        # Adafactor's bound of steps.
        "d": 'if not d >= 1: raise ValueError(f"[Adafactor] d is at least 1, not {d}")',
        # Programs read it from the groups of L-BFGS.
        "max_eval": "if max_eval is None: max_eval = max_iter * 5 // 4",
    },
    after={word: f"_choose(self, {word!r}, {word})" for word in ("foreach", "capturable", "differentiable", "fused")},
    helpers={"_choose": _choose},
)
#: Schedules: ``last_epoch`` says that one begins behind that epoch, -1 that it begins anew.
SCHEDULERS = Dialect(
    WORDS,
    ignored=frozenset({"verbose"}),
    # Programs give counts as floats, too.
    before={
        "last_epoch": "self._goes_on = last_epoch not in (-1, None)",
        **{
            name: f"if isinstance({name}, float) and {name}.is_integer(): {name} = int({name})"
            for name in ("step_size", "T_max", "total_iters")
        },
    },
    after={"last_epoch": "self._begin_after(last_epoch)"},
    extra={"last_epoch": "", "verbose": ""},
    in_place=frozenset({"last_epoch"}),
)
#: Loading: what serves the copies to a GPU changes nothing here.
LOADING = Dialect(
    WORDS,
    ignored=frozenset({"pin_memory", "pin_memory_device", "prefetch_factor", "persistent_workers", "in_order"}),
    extra={"pin_memory": "batch_size", "pin_memory_device": "batch_size", "in_order": "batch_size"},
)
#: Names that are Lamella's as they are.
PLAIN = Dialect({})
