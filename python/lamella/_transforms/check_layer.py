"""A check of everything that a layer owes to its users."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .. import _C
from .._C import PyLayer, PyLayerContext, Tensor, enable_grad, grad, no_grad
from .functional_call import functional_call
from .gradcheck import GradcheckError, check
from .tree import TensorTree, flatten

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_NOT_RUN = "not run: "
_DEFAULTS: dict[str, Any] = {"eps": 1e-6, "atol": 1e-5, "rtol": 1e-3, "nondet_tol": 0.0, "fast_mode": False}
#: How far the values of two ways to compute the same may lie apart, relative to the largest, by dtype.
_CLOSE = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}


class LayerReport(dict[str, str]):
    """What :func:`check_layer` found: for each check "ok", "not run: ..." with the reason, or what is wrong."""

    @property
    def failures(self) -> dict[str, str]:
        """The checks that failed, with what is wrong."""
        return {name: text for name, text in self.items() if text != "ok" and not text.startswith(_NOT_RUN)}

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    def __str__(self) -> str:
        return "\n".join(f"{name}: {text}" for name, text in self.items())


class LayerCheckError(GradcheckError):
    """A layer failed checks; ``report`` holds the outcome of all of them."""

    def __init__(self, layer: str, report: LayerReport) -> None:
        listed = "\n".join(f"- {name}: {text}" for name, text in report.failures.items())
        super().__init__(f"[check_layer] {layer} fails {len(report.failures)} of {len(report)} checks:\n{listed}")
        self.report = report


def check_layer(
    layer: Any,
    /,
    *args: Any,
    raise_exception: bool = True,
    check_options: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> LayerReport:
    """Checks a whole layer at one example of its arguments.

    The checks:

    - ``runs``: forward and backward run;
    - ``deterministic``: two calls, and two passes, give the same numbers;
    - ``inputs``: neither forward nor backward writes into tensors that it was given, save an input that forward
      declared dirty (``ctx.mark_dirty``) and returned;
    - ``gradcheck``: the gradients are right (:func:`gradcheck`);
    - ``gradgradcheck``: so are the second derivatives, or the layer is ``once_differentiable``;
    - ``meta``: on meta tensors it gives the same shapes and dtypes; not run where it cannot work on them;
    - ``leaks``: contexts, outputs and memory are free as soon as the call's results are, without the collector;
    - ``retain_graph``: a second pass through the graph gives the same gradients;
    - ``non_contiguous``: so do inputs and gradients that are not contiguous;
    - ``needs_input_grad``: so do calls in which only some of the inputs want a gradient.

    Args:
        layer: a :class:`PyLayer` class, a :class:`lamella.nn.Module` (its parameters count as inputs), or a function.
        *args: its arguments. Tensors that want a gradient, in nested lists, tuples and dicts too, are differentiated;
            they should be float64 or complex128.
        raise_exception: False returns the report of a layer that fails.
        check_options: ``eps``, ``atol``, ``rtol``, ``nondet_tol`` and ``fast_mode`` for the gradient checks.
        **kwargs: its keyword arguments.

    Returns:
        The report, a dict of the checks' names to "ok" or what is to be said.

    Raises:
        LayerCheckError: (a GradcheckError) names every check that failed.
        TypeError: ``layer`` cannot be called, or an option is unknown.
        ValueError: no tensor among the arguments wants a gradient.
    """
    options = dict(_DEFAULTS)
    for name, value in (check_options or {}).items():
        if name not in options:
            raise TypeError(f"[check_layer] unknown option '{name}': expected {', '.join(options)}")
        options[name] = value
    subject = _Subject(layer, args, kwargs, options)
    report = LayerReport()
    report["runs"] = _outcome(subject.check_runs)
    for name, run in _CHECKS.items():
        report[name] = _outcome(run, subject) if report["runs"] == "ok" else f"{_NOT_RUN}the layer does not run"
    if raise_exception and not report.ok:
        raise LayerCheckError(subject.name, report)
    return report


class _FailedError(Exception):
    """What a check found."""


class _NotRunError(Exception):
    """Why a check cannot be made."""


def _outcome(run: Callable[..., None], *args: Any) -> str:
    try:
        run(*args)
    except _FailedError as failure:
        return str(failure)
    except _NotRunError as reason:
        return f"{_NOT_RUN}{reason}"
    except Exception as error:
        return _text(error)
    return "ok"


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


class _Subject:
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
        """The tensors that the layer returns for these."""
        parameters, args, kwargs = self._tree.build(tensors)
        with enable_grad():
            result = (
                functional_call(self.layer, parameters, args, kwargs) if parameters else self._call(*args, **kwargs)
            )
        leaves, _ = flatten(result)
        return [leaf for leaf in leaves if isinstance(leaf, Tensor)]

    def seeds(self, outputs: list[Tensor]) -> list[Tensor]:
        """A gradient for each output, always the same numbers."""
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
        """The gradients of all tensors that want one, begun with the seeds; None for those that get none."""
        starts = [(y, s) for y, s in zip(outputs, seeds or self.seeds(outputs), strict=True) if not y.stop_gradient]
        inputs = [x for x in tensors if x.is_leaf and not x.stop_gradient]  # no leaf is what a layer wrote into
        if not starts:
            return [None] * len(inputs)
        grads: Any = grad(
            [y for y, _ in starts], inputs, [s for _, s in starts], retain_graph=retain_graph, allow_unused=True
        )
        return [None if g is None else _values(g) for g in grads]

    def run(self, tensors: list[Tensor]) -> tuple[list[Array], list[Array | None]]:
        """The values of the outputs, and the gradients."""
        outputs = self(tensors)
        return [_values(y) for y in outputs], self.gradients(outputs, tensors)

    def check_runs(self) -> None:
        """Forward and backward run."""
        tensors = self.fresh()
        outputs = self(tensors)
        if not outputs:
            raise _FailedError("it returned no tensor")
        if all(y.stop_gradient for y in outputs):
            raise _FailedError(
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
    return x.dtype.name.startswith("complex")


def _values(x: Tensor) -> Array:
    """A copy of a tensor's values that numpy can hold."""
    with no_grad():
        plain = x.detach().cpu()
        if plain.dtype.name == "bfloat16":
            plain = plain.astype("float32")
        return plain.numpy().copy()


def _same(a: Array, b: Array, tolerance: float) -> bool:
    """Whether all values agree to within ``tolerance`` times the largest of them (0: to the bit, NaN alike)."""
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


def _compare_gradients(
    subject: _Subject, got: list[Array | None], expected: list[Array | None], wanted: list[int], what: str, exact: bool
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
        if not _same(left, right, tolerance):
            raise _FailedError(f"{what}: the gradients of {subject.names[i]} differ, {_difference(left, right)}")


def _compare_outputs(subject: _Subject, got: list[Array], expected: list[Array], what: str, exact: bool) -> None:
    if len(got) != len(expected):
        raise _FailedError(f"{what}: {len(got)} tensors were returned, {len(expected)} before")
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        tolerance = subject.options["nondet_tol"] if exact else _CLOSE.get(str(b.dtype), 1e-4)
        if not _same(a, b, tolerance):
            raise _FailedError(f"{what}: the values of output {i} differ, {_difference(a, b)}")


def _check_deterministic(subject: _Subject) -> None:
    first_outputs, first_grads = subject.run(subject.fresh())
    outputs, grads = subject.run(subject.fresh())
    _compare_outputs(subject, outputs, first_outputs, "forward gave different results in two calls", exact=True)
    what = "backward gave different results in two calls"
    _compare_gradients(subject, grads, first_grads, subject.wanted, what, exact=True)


def _check_inputs(subject: _Subject) -> None:
    tensors = subject.fresh()
    before = [(x._version, _values(x)) for x in tensors]
    outputs = subject(tensors)

    def check_unwritten(when: str) -> None:
        for x, name, (version, values) in zip(tensors, subject.names, before, strict=True):
            if any(x is y for y in outputs):
                continue  # returned as itself: declared dirty
            if _same(_values(x), values, 0):
                if x._version != version:
                    raise _FailedError(
                        f"{when} wrote into {name} and put the old values back: saved copies of it are lost"
                    )
            elif x._version == version:
                raise _FailedError(
                    f"{when} wrote into {name} behind the version counter (through numpy or raw memory): results that "
                    "other operations saved of it are wrong, unnoticed; work on a copy"
                )
            else:
                raise _FailedError(
                    f"{when} changed {name} in place: work on a copy, or declare it by ctx.mark_dirty and return it"
                )

    check_unwritten("forward")
    written = [(y._version, _values(y)) for y in outputs]
    seeds = subject.seeds(outputs)
    begun = [_values(s) for s in seeds]
    subject.gradients(outputs, tensors, seeds)
    for i, (s, values) in enumerate(zip(seeds, begun, strict=True)):
        if not _same(_values(s), values, 0):
            raise _FailedError(f"backward changed the gradient of output {i} that it was given: work on a copy")
    check_unwritten("backward")
    for i, (y, (_, values)) in enumerate(zip(outputs, written, strict=True)):
        if not _same(_values(y), values, 0):
            raise _FailedError(f"backward changed output {i}, which the caller still holds")


def _gradient_check(subject: _Subject, second: bool) -> None:
    options = subject.options

    def call(*tensors: Tensor) -> list[Tensor]:
        return subject(list(tensors))

    message = check(
        call,
        tuple(subject.fresh()),
        "gradgradcheck" if second else "gradcheck",
        grad_outputs=[] if second else None,
        tolerances=(options["eps"], options["atol"], options["rtol"], options["nondet_tol"]),
        switches=(True, False, options["fast_mode"], False, False),
        names=subject.names,
    )
    if message is not None:
        raise _FailedError(message)


def _check_gradients(subject: _Subject) -> None:
    _gradient_check(subject, second=False)


def _check_second_order(subject: _Subject) -> None:
    try:
        _gradient_check(subject, second=True)
    except _FailedError as failure:
        raise _FailedError(
            f"{failure}\n  (a backward that has no second derivative is marked by lm.autograd.once_differentiable)"
        ) from None
    except RuntimeError as error:
        if "marked once_differentiable" not in str(error):
            raise


def _check_meta(subject: _Subject) -> None:
    expected = subject(subject.fresh())
    tensors = [x.to("meta") for x in subject.fresh([])]
    for i in subject.wanted:
        tensors[i].stop_gradient = False
    try:
        outputs = subject(tensors)
    except Exception as error:
        raise _NotRunError(f"it does not work on meta tensors ({_text(error)})") from None
    if len(outputs) != len(expected):
        raise _FailedError(f"on meta tensors it returns {len(outputs)} tensors, otherwise {len(expected)}")
    for i, (y, real) in enumerate(zip(outputs, expected, strict=True)):
        if str(y.device) != "meta":
            raise _FailedError(f"on meta tensors output {i} is on {y.device}")
        if (y.shape, y.dtype) != (real.shape, real.dtype):
            raise _FailedError(
                f"on meta tensors output {i} is {y.dtype.name}{list(y.shape)}, otherwise "
                f"{real.dtype.name}{list(real.shape)}"
            )


def _live_contexts() -> int:
    return sum(type(x) is PyLayerContext for x in gc.get_objects())


def _check_leaks(subject: _Subject) -> None:
    seeds = subject.seeds(subject(subject.fresh()))

    def use() -> list[weakref.ref[Tensor]]:
        tensors = subject.fresh()
        outputs = subject(tensors)
        subject.gradients(outputs, tensors, seeds)
        return [weakref.ref(x) for x in (*tensors, *outputs)]

    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        use()  # what is made once, and kept, is no leak
        contexts, held = _live_contexts(), _C.memory_allocated()
        alive = [ref() for ref in use()]
        inputs = len(subject.examples)
        for i, x in enumerate(alive):
            if x is not None:
                name = subject.names[i] if i < inputs else f"output {i - inputs}"
                raise _FailedError(f"{name} is still alive after the call: something that outlives it holds the tensor")
        if _live_contexts() > contexts:
            raise _FailedError(
                "a context is still alive after the call: it refers to itself (through an attribute or a closure), or "
                "something that outlives the call holds it"
            )
        if (more := _C.memory_allocated() - held) > 0:
            use()
            if _C.memory_allocated() - held > more:
                raise _FailedError(f"{more} bytes more are held after each call")
    finally:
        if was_enabled:
            gc.enable()
        gc.collect()


def _check_retain_graph(subject: _Subject) -> None:
    tensors = subject.fresh()
    outputs = subject(tensors)
    first = subject.gradients(outputs, tensors, retain_graph=True)
    second = subject.gradients(outputs, tensors, retain_graph=True)
    what = "a second pass through the graph (retain_graph=True) gave something else"
    _compare_gradients(subject, second, first, subject.wanted, what, exact=True)


def _strided(x: Tensor) -> Tensor:
    """A copy of which no two elements are neighbors in memory."""
    import numpy as np

    with no_grad():
        plain = x.detach()
        if plain.device == "cpu" and plain.dtype.name != "bfloat16":
            # No view of another tensor, which a layer could not write into while gradients are recorded.
            values = plain.numpy()
            copy = _C.from_numpy(np.stack([values, values], axis=-1)[..., 0])
        else:
            copy = _C.stack([plain, plain], axis=-1)[..., 0]
    copy.stop_gradient = x.stop_gradient
    return copy


def _check_non_contiguous(subject: _Subject) -> None:
    expected, grads = subject.run(subject.fresh())
    tensors = [_strided(x) for x in subject.fresh()]
    outputs = subject(tensors)
    what = "with inputs that are not contiguous"
    _compare_outputs(subject, [_values(y) for y in outputs], expected, what, exact=False)
    got = subject.gradients(outputs, tensors, retain_graph=True)
    _compare_gradients(subject, got, grads, subject.wanted, what, exact=False)
    got = subject.gradients(outputs, tensors, [_strided(s) for s in subject.seeds(outputs)])
    what = "with a gradient that is not contiguous"
    _compare_gradients(subject, got, grads, subject.wanted, what, exact=False)


def _subsets(wanted: list[int]) -> Iterator[list[int]]:
    """Each alone, and all but each."""
    if len(wanted) > 1:
        yield from ([i] for i in wanted)
    if len(wanted) > 2:
        yield from ([j for j in wanted if j != i] for i in wanted)


def _check_subsets(subject: _Subject) -> None:
    _, grads = subject.run(subject.fresh())
    by_input = dict(zip(subject.wanted, grads, strict=True))
    for subset in _subsets(subject.wanted):
        tensors = subject.fresh(subset)
        what = f"where only {', '.join(subject.names[i] for i in subset)} wants a gradient"
        try:
            _, got = subject.run(tensors)
        except Exception as error:
            raise _FailedError(f"{what}: {_text(error)}") from None
        _compare_gradients(subject, got, [by_input[i] for i in subset], subset, what, exact=False)


_CHECKS: dict[str, Callable[[_Subject], None]] = {
    "deterministic": _check_deterministic,
    "inputs": _check_inputs,
    "gradcheck": _check_gradients,
    "gradgradcheck": _check_second_order,
    "meta": _check_meta,
    "leaks": _check_leaks,
    "retain_graph": _check_retain_graph,
    "non_contiguous": _check_non_contiguous,
    "needs_input_grad": _check_subsets,
}
