"""Arguments for operators, made from what the operator list says of each."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

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
    settings: dict[int, float]

    def __call__(self, *args: object) -> lm.Tensor:
        return getattr(lm, self.name)(*args)

    @property
    def argument_names(self) -> list[str]:
        """The names that the reference expression uses: those of the operands."""
        return list(inspect.signature(getattr(lm, self.name)).parameters)[: self.inputs]


ALL = _C.operators()
ELEMENTWISE = [
    Operator(**{field: info[field] for field in Operator.__dataclass_fields__}) for info in ALL if info["elementwise"]
]
#: Names of the operators that are not elementwise.
OTHERS = [info["name"] for info in ALL if not info["elementwise"]]
DIFFERENTIABLE = [op for op in ELEMENTWISE if any(op.differentiable) and "float64" in op.dtypes]
DIFFERENTIABLE_COMPLEX = [op for op in ELEMENTWISE if any(op.differentiable) and "complex128" in op.dtypes]
#: Shapes of up to four operands, for the tests of derivatives.
GRADIENT_SHAPES = {"same": [(2, 3)] * 4, "broadcast": [(2, 1), (3,), (2, 3), ()], "0-d": [(), (2,), (), (1,)]}
DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
# The distance from 1 to the next number, of the floating and complex ones.
EPS = {
    "float16": 2**-10,
    "bfloat16": 2**-7,
    "float32": 2**-23,
    "float64": 2**-52,
    "complex64": 2**-23,
    "complex128": 2**-52,
}


def cases(dtypes: tuple[str, ...] = DTYPES) -> list[tuple[Operator, str]]:
    """Every elementwise operator with every dtype that it takes."""
    return [(op, dtype) for op in ELEMENTWISE for dtype in op.dtypes if dtype in dtypes]


def case_id(case: object) -> str:
    return case.name if isinstance(case, Operator) else str(case)


def is_integer(dtype: str) -> bool:
    return dtype.startswith(("int", "uint"))


def tensor(array: np.ndarray, dtype: str) -> lm.Tensor:
    """A tensor of a dtype that numpy may not have; masks stay masks."""
    return lm.asarray(array) if array.dtype == bool else lm.asarray(array).astype(dtype, copy=False)


def rounded(array: np.ndarray, dtype: str) -> np.ndarray:
    """The values as the dtype holds them; those of bfloat16 in float32."""
    if dtype == "bfloat16":
        return lm.asarray(array.astype("float32")).astype("bfloat16").astype("float32").numpy()
    return array.astype(dtype)


def numpy_values(x: lm.Tensor) -> np.ndarray:
    """A tensor's values as a numpy array, those of bfloat16 in float32."""
    return (x.astype("float32") if x.dtype == lm.bfloat16 else x).numpy()


def draw_integers(op: Operator, shape: tuple[int, ...], dtype: str, rng: np.random.Generator, position: int) -> Any:
    low, high = (0, 10) if dtype.startswith("u") else (-9, 10)
    if op.name == "pow":
        low, high = 0, 4
    if op.name.endswith("shift") and position == 1:
        low, high = 0, 8
    values = rng.integers(low, high, shape, dtype=dtype)
    if op.name in ("floor_divide", "remainder") and position == 1:
        values = np.where(values == 0, 3, values).astype(dtype)
    return values


def draw(op: Operator, shape: tuple[int, ...], dtype: str, rng: np.random.Generator, position: int) -> np.ndarray:
    """An array in the operator's domain, away from the points where it has no derivative."""
    if op.mask_input and position == 0:
        return rng.random(shape) < 0.5
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if is_integer(dtype):
        return np.asarray(draw_integers(op, shape, dtype, rng, position))
    values = rng.uniform(op.sample_low, op.sample_high, shape)
    for kink in op.kinks:
        values = np.where(np.abs(values - kink) < 0.1, values + 0.25, values)
    if dtype.startswith("complex"):
        values = values + 1j * rng.uniform(0.2, 1.0, shape) * np.where(rng.random(shape) < 0.5, 1, -1)
    return rounded(values, dtype)


def arguments(op: Operator, shapes: list[tuple[int, ...]], dtype: str, rng: np.random.Generator) -> list[np.ndarray]:
    """One array per operand. Bounds of a clip are in order; operands of a comparison are equal here and there."""
    arrays = [draw(op, shape, dtype, rng, i) for i, shape in enumerate(shapes)]
    for i, value in op.settings.items():
        setting = max(1, np.ceil(value)) if dtype.startswith("u") else np.ceil(value) if is_integer(dtype) else value
        arrays[i] = rounded(np.full(shapes[i], setting), dtype)
    return arrays
