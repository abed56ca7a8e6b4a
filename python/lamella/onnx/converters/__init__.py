"""Converters of Lamella's operators, by family."""

from . import (  # noqa: F401
    activations,
    arithmetic,
    comparisons,
    convolutions,
    creation,
    images,
    indexing,
    losses,
    networks,
    norms,
    pooling,
    products,
    recurrent,
    reductions,
    scans,
    shapes,
    sorting,
    special,
)
