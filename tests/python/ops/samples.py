"""Arguments for operators, made from what the operator list says of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import lamella as lm
from lamella import _C


@dataclass(frozen=True)
class Operator:
    """One elementwise operator, as ``_C.operators()`` describes it."""

    name: str
    inputs: int
    mask_input: bool
    differentiable: tuple[bool, ...]
    dtypes: tuple[str, ...]
    reference: str | None
    example: str | None
    sample_low: float
    sample_high: float
    kinks: tuple[float, ...]

    def __call__(self, *args: object) -> lm.Tensor:
        return getattr(lm, self.name)(*args)

    @property
    def argument_names(self) -> list[str]:
        """The names that the reference expression uses."""
        if self.mask_input:
            return ["condition", "a", "b"]
        if self.name == "clip_between":
            return ["x", "low", "high"]
        return ["x"] if self.inputs == 1 else ["a", "b"]


ALL = _C.operators()
ELEMENTWISE = [
    Operator(**{field: info[field] for field in Operator.__dataclass_fields__}) for info in ALL if info["elementwise"]
]
#: Names of the operators that are not elementwise.
OTHERS = [info["name"] for info in ALL if not info["elementwise"]]
DIFFERENTIABLE = [op for op in ELEMENTWISE if any(op.differentiable) and "float64" in op.dtypes]
#: Shapes of up to three operands, for the tests of derivatives.
GRADIENT_SHAPES = {"same": [(2, 3)] * 3, "broadcast": [(2, 1), (3,), (2, 3)], "0-d": [(), (2,), ()]}
KERNEL_DTYPES = ("bool", "int32", "int64", "float32", "float64")


def cases(dtypes: tuple[str, ...] = KERNEL_DTYPES) -> list[tuple[Operator, str]]:
    """Every elementwise operator with every dtype that it takes and that has kernels."""
    return [(op, dtype) for op in ELEMENTWISE for dtype in op.dtypes if dtype in dtypes]


def case_id(case: object) -> str:
    return case.name if isinstance(case, Operator) else str(case)


def draw(op: Operator, shape: tuple[int, ...], dtype: str, rng: np.random.Generator, position: int) -> np.ndarray:
    """An array in the operator's domain, away from the points where it has no derivative."""
    if op.mask_input and position == 0:
        return rng.random(shape) < 0.5
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype.startswith(("int", "uint")):
        low, high = (0, 4) if op.name == "pow" else (-9, 10)
        values = rng.integers(low, high, shape, dtype=dtype)
        if op.name in ("floor_divide", "remainder") and position == 1:
            values = np.where(values == 0, 3, values).astype(dtype)
        return values
    values = rng.uniform(op.sample_low, op.sample_high, shape)
    for kink in op.kinks:
        values = np.where(np.abs(values - kink) < 0.1, values + 0.25, values)
    return values.astype(dtype)


def arguments(op: Operator, shapes: list[tuple[int, ...]], dtype: str, rng: np.random.Generator) -> list[np.ndarray]:
    """One array per operand. Bounds of a clip are in order; operands of a comparison are equal here and there."""
    arrays = [draw(op, shape, dtype, rng, i) for i, shape in enumerate(shapes)]
    if op.name == "clip_between":
        arrays[1], arrays[2] = (
            np.full(shapes[1], -1.05).astype(dtype),
            np.full(shapes[2], 1.15 if dtype.startswith("float") else 2).astype(dtype),
        )
    return arrays
