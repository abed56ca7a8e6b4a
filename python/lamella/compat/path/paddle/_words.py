"""Paddle's words for parameters, and what these mean here."""

from __future__ import annotations

from lamella.compat.dialect import Dialect

#: Paddle's words by what they are called natively.
_WORDS: dict[str, tuple[str, ...]] = {
    "x": ("input", "a", "x1"),
    "y": ("b", "x2", "other", "exponent"),
    "keepdim": ("keepdims",),
    "label": ("target",),
    "labels": ("targets",),
    "label_lengths": ("target_lengths",),
    "logit": ("input",),
    "input": ("x", "x1", "input1", "anchor"),
    "other": ("input2",),
    "mat2": ("x2",),
    "epsilon": ("eps",),
    "offset": ("k",),
    "diagonal": ("k",),
    "dim1": ("axis1",),
    "dim2": ("axis2",),
    "shifts": ("shift",),
    "repeat_times": ("repetitions",),
    "value": ("source", "values"),
    "arr": ("x",),
    "shape": ("sizes",),
    "num_or_indices": ("indices_or_sections",),
    "temperature": ("tau",),
    "threshold": ("lambd",),
    "min": ("min_val",),
    "max": ("max_val",),
    "kernel_sizes": ("kernel_size",),
    "strides": ("stride",),
    "paddings": ("padding",),
    "dilations": ("dilation",),
    "output_sizes": ("output_size",),
    "out_shape": ("size",),
    "p": ("ord",),
    "weight": ("c",),
    "data_source": ("source", "dataset"),
    "sorted_sequence": ("boundaries",),
    "return_mask": ("return_indices",),
    "max_norm": ("maxnorm",),
    "test_x": ("test_elements", "x2"),
    "dim": ("axis",),
    "variance": ("var",),
}

#: Functions, which may be given a name that means nothing here.
FUNCTIONS = Dialect(_WORDS, ignored=frozenset({"name", "sparse", "stable"}), extra={"name": ""})


def _layer() -> type:
    from .nn._base import Layer

    return Layer


#: Layers, with the methods of Paddle's.
LAYERS = Dialect(_WORDS, ignored=frozenset({"name"}), extra={"name": ""}, base=_layer)
#: Data sets and samplers.
LOADING = Dialect(
    {word: natives for word, natives in _WORDS.items() if word != "data_source"} | {"data_source": ("source",)}
)
