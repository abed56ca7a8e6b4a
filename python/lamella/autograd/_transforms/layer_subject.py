"""A layer with an example of its arguments, as the checks of :mod:`.check_layer` call it and compare its results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import _C
from ..._C import PyLayer, Tensor, enable_grad, grad, no_grad
from ..._dtypes import for_numpy
from ..._tree import TensorTree, leaves_of
from .functional_call import functional_call

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

#: Largest difference of two ways to compute the same values, relative to the largest of them, by dtype.
_CLOSE = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}


class FailedError(Exception):
    """Fault that a check found."""


class NotRunError(Exception):
    """Why a check cannot be made."""


class Subject:
    """A layer with its arguments, as a function of the tensors among them."""

    def __init__(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: dict[str, Any]) -> None:
        if not callable(layer):
            raise TypeError(f"[check_layer] expected a PyLayer class, a Module or a function, got {layer!r}")
        self.name: str = getattr(layer, "__qualname__", type(layer).__name__)
        self.options = options
        self.layer = layer
        if isinstance(layer, type) and issubclass(layer, PyLayer):
            self._call: Callable[..., Any] = layer.apply
        else:
            self._call = layer
        parameters = dict(layer.named_parameters()) if hasattr(layer, "named_parameters") else {}
        self._tree = TensorTree((parameters, args, kwargs))
        self.examples = self._tree.tensors
        self.names = tuple(_argument_name(path) for path in self._tree.paths())
        self.wanted = [i for i, x in enumerate(self.examples) if not x.stop_gradient]
        if not self.wanted:
            raise ValueError(
                "[check_layer] no tensor among the arguments wants a gradient; make them with stop_gradient=False"
            )
        self._seeds: list[Array] = []

    def fresh(self, wanted: list[int] | None = None) -> list[Tensor]:
        """Copies of the example's tensors, as leaves."""
        copies = [x.detach().clone() for x in self.examples]
        for i in self.wanted if wanted is None else wanted:
            copies[i].stop_gradient = False
        return copies

    def __call__(self, tensors: list[Tensor]) -> list[Tensor]:
        """Returns the tensors that the layer returns for these."""
        parameters, args, kwargs = self._tree.build(tensors)
        with enable_grad():
            result = (
                functional_call(self.layer, parameters, args, kwargs) if parameters else self._call(*args, **kwargs)
            )
        leaves, _ = leaves_of(result)
        return [leaf for leaf in leaves if isinstance(leaf, Tensor)]

    def seeds(self, outputs: list[Tensor]) -> list[Tensor]:
        """Returns a gradient for each output, always the same numbers."""
        import numpy as np

        rng = np.random.default_rng(11)
        seeds = []
        for y in outputs:
            values = rng.uniform(0.5, 1.5, y.shape) + (1j * rng.uniform(0.5, 1.5, y.shape) if _is_complex(y) else 0)
            seeds.append(_C.asarray(np.asarray(values)).astype(y.dtype).to(y.device))
        return seeds

    def gradients(
        self,
        outputs: list[Tensor],
        tensors: list[Tensor],
        seeds: list[Tensor] | None = None,
        retain_graph: bool = False,
    ) -> list[Array | None]:
        """Returns the gradients of all tensors that want one, begun with the seeds; None for those that get none."""
        starts = [(y, s) for y, s in zip(outputs, seeds or self.seeds(outputs), strict=True) if not y.stop_gradient]
        inputs = [x for x in tensors if x.is_leaf and not x.stop_gradient]  # without those written into, no leaves now
        if not starts:
            return [None] * len(inputs)
        grads: Any = grad(
            [y for y, _ in starts], inputs, [s for _, s in starts], retain_graph=retain_graph, allow_unused=True
        )
        return [None if g is None else values_of(g) for g in grads]

    def run(self, tensors: list[Tensor]) -> tuple[list[Array], list[Array | None]]:
        """Returns the values of the outputs, and the gradients."""
        outputs = self(tensors)
        return [values_of(y) for y in outputs], self.gradients(outputs, tensors)

    def check_runs(self) -> None:
        """Forward and backward run."""
        tensors = self.fresh()
        outputs = self(tensors)
        if not outputs:
            raise FailedError("it returned no tensor")
        if all(y.stop_gradient for y in outputs):
            raise FailedError(
                "no output wants a gradient: are they computed off the tape (by numpy, detach(), or under no_grad), or "
                "marked as not differentiable?"
            )
        self.gradients(outputs, tensors)


def _argument_name(path: str) -> str:
    """``[1][0]['w']`` as "input 0['w']", ``[2]['bias']`` as "input bias", ``[0]['w']`` as "parameter w"."""
    place, rest = path[1], path[3:]
    key, _, inner = rest[1:].partition("]")
    return f"{'parameter' if place == '0' else 'input'} {key.strip(chr(39))}{inner}"


def _is_complex(x: Tensor) -> bool:
    return _C.isdtype(x.dtype, "complex floating")


def values_of(x: Tensor) -> Array:
    """Returns a copy of a tensor's values that numpy can hold."""
    with no_grad():
        return for_numpy(x).numpy().copy()


def same_values(a: Array, b: Array, tolerance: float) -> bool:
    """True if all values agree to within ``tolerance`` times the largest of them (0: to the bit, NaN alike)."""
    import numpy as np

    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if tolerance == 0 or a.size == 0 or a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    finite = np.abs(b[np.isfinite(b)])
    scale = float(finite.max()) if finite.size else 0.0
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True))


def _difference(a: Array, b: Array) -> str:
    import numpy as np

    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}"
    if a.dtype.kind not in "fc":
        return "the values differ"
    with np.errstate(invalid="ignore"):
        return f"the largest difference is {float(np.nanmax(np.abs(a - b))):.4g}"


def compare_gradients(
    subject: Subject, got: list[Array | None], expected: list[Array | None], wanted: list[int], what: str, exact: bool
) -> None:
    """Fails where gradients differ; no gradient counts as zeros."""
    import numpy as np

    for i, a, b in zip(wanted, got, expected, strict=True):
        present = a if b is None else b
        if present is None:
            continue
        left = np.zeros_like(present) if a is None else a
        right = np.zeros_like(present) if b is None else b
        tolerance = subject.options["nondet_tol"] if exact else _CLOSE.get(str(right.dtype), 1e-4)
        if not same_values(left, right, tolerance):
            raise FailedError(f"{what}: the gradients of {subject.names[i]} differ, {_difference(left, right)}")


def compare_outputs(subject: Subject, got: list[Array], expected: list[Array], what: str, exact: bool) -> None:
    if len(got) != len(expected):
        raise FailedError(f"{what}: {len(got)} tensors were returned, {len(expected)} before")
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        tolerance = subject.options["nondet_tol"] if exact else _CLOSE.get(str(b.dtype), 1e-4)
        if not same_values(a, b, tolerance):
            raise FailedError(f"{what}: the values of output {i} differ, {_difference(a, b)}")
