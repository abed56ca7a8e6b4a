"""A check of everything that a layer owes to its users."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ... import _C
from ..._C import PyLayerContext, Tensor, no_grad
from .gradcheck import GradcheckError, check
from .layer_subject import FailedError, NotRunError, Subject, compare_gradients, compare_outputs, same_values, values_of

_NOT_RUN = "not run: "
_DEFAULTS: dict[str, Any] = {"eps": 1e-6, "atol": 1e-5, "rtol": 1e-3, "nondet_tol": 0.0, "fast_mode": False}


class LayerReport(dict[str, str]):
    """Result of :func:`check_layer`: for each check "ok", "not run: ..." with the reason, or the fault."""

    @property
    def failures(self) -> dict[str, str]:
        """The failed checks, each with its fault."""
        return {name: text for name, text in self.items() if text != "ok" and not text.startswith(_NOT_RUN)}

    @property
    def ok(self) -> bool:
        """True if no check failed."""
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
    if not isinstance(check_options, (Mapping, type(None))):
        raise TypeError(f"[check_layer] check_options is a dict of settings, not {type(check_options).__name__}")
    for name, value in (check_options or {}).items():
        if name not in options:
            raise TypeError(f"[check_layer] unknown option '{name}': expected {', '.join(options)}")
        options[name] = value
    subject = Subject(layer, args, kwargs, options)
    report = LayerReport()
    report["runs"] = _outcome(subject.check_runs)
    for name, run in _CHECKS.items():
        report[name] = _outcome(run, subject) if report["runs"] == "ok" else f"{_NOT_RUN}the layer does not run"
    if raise_exception and not report.ok:
        raise LayerCheckError(subject.name, report)
    return report


def _outcome(run: Callable[..., None], *args: Any) -> str:
    try:
        run(*args)
    except FailedError as failure:
        return str(failure)
    except NotRunError as reason:
        return f"{_NOT_RUN}{reason}"
    except Exception as error:
        return _text(error)
    return "ok"


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _check_deterministic(subject: Subject) -> None:
    first_outputs, first_grads = subject.run(subject.fresh())
    outputs, grads = subject.run(subject.fresh())
    compare_outputs(subject, outputs, first_outputs, "forward gave different results in two calls", exact=True)
    what = "backward gave different results in two calls"
    compare_gradients(subject, grads, first_grads, subject.wanted, what, exact=True)


def _check_inputs(subject: Subject) -> None:
    tensors = subject.fresh()
    before = [(x._version, values_of(x)) for x in tensors]
    outputs = subject(tensors)

    def check_unwritten(when: str) -> None:
        for x, name, (version, values) in zip(tensors, subject.names, before, strict=True):
            if any(x is y for y in outputs):
                continue  # an input returned as itself is declared dirty
            if same_values(values_of(x), values, 0):
                if x._version != version:
                    raise FailedError(
                        f"{when} wrote into {name} and put the old values back: saved copies of it are lost"
                    )
            elif x._version == version:
                raise FailedError(
                    f"{when} wrote into {name} behind the version counter (through numpy or raw memory): results that "
                    "other operations saved of it are wrong, unnoticed; work on a copy"
                )
            else:
                raise FailedError(
                    f"{when} changed {name} in place: work on a copy, or declare it by ctx.mark_dirty and return it"
                )

    check_unwritten("forward")
    written = [(y._version, values_of(y)) for y in outputs]
    seeds = subject.seeds(outputs)
    subject.gradients(outputs, tensors, seeds)  # backward may write into these: from then on it is given copies
    check_unwritten("backward")
    for i, (y, (_, values)) in enumerate(zip(outputs, written, strict=True)):
        if not same_values(values_of(y), values, 0):
            raise FailedError(f"backward changed output {i}, which the caller still holds")


def _gradient_check(subject: Subject, second: bool) -> None:
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
        raise FailedError(message)


def _check_gradients(subject: Subject) -> None:
    _gradient_check(subject, second=False)


def _check_second_order(subject: Subject) -> None:
    try:
        _gradient_check(subject, second=True)
    except FailedError as failure:
        raise FailedError(
            f"{failure}\n  (a backward that has no second derivative is marked by lm.autograd.once_differentiable)"
        ) from None
    except RuntimeError as error:
        if "marked once_differentiable" not in str(error):
            raise


def _check_meta(subject: Subject) -> None:
    expected = subject(subject.fresh())
    tensors = [x.to("meta") for x in subject.fresh([])]
    for i in subject.wanted:
        tensors[i].stop_gradient = False
    try:
        outputs = subject(tensors)
    except Exception as error:
        raise NotRunError(f"it does not work on meta tensors ({_text(error)})") from None
    if len(outputs) != len(expected):
        raise FailedError(f"on meta tensors it returns {len(outputs)} tensors, otherwise {len(expected)}")
    for i, (y, real) in enumerate(zip(outputs, expected, strict=True)):
        if str(y.device) != "meta":
            raise FailedError(f"on meta tensors output {i} is on {y.device}")
        if (y.shape, y.dtype) != (real.shape, real.dtype):
            raise FailedError(
                f"on meta tensors output {i} is {y.dtype.name}{list(y.shape)}, otherwise "
                f"{real.dtype.name}{list(real.shape)}"
            )


def _live_contexts() -> int:
    return sum(type(x) is PyLayerContext for x in gc.get_objects())


def _check_leaks(subject: Subject) -> None:
    seeds = subject.seeds(subject(subject.fresh()))

    def use() -> list[weakref.ref[Tensor]]:
        tensors = subject.fresh()
        outputs = subject(tensors)
        subject.gradients(outputs, tensors, seeds)
        return [weakref.ref(x) for x in (*tensors, *outputs)]

    def held_bytes() -> int:
        return sum(_C.memory_allocated(device) for device in {"cpu", *(x.device for x in subject.examples)} - {"meta"})

    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        use()  # warms up: what is made once and kept is no leak
        contexts, held = _live_contexts(), held_bytes()
        alive = [ref() for ref in use()]
        inputs = len(subject.examples)
        for i, x in enumerate(alive):
            if x is not None:
                name = subject.names[i] if i < inputs else f"output {i - inputs}"
                raise FailedError(f"{name} is still alive after the call: something that outlives it holds the tensor")
        if _live_contexts() > contexts:
            raise FailedError(
                "a context is still alive after the call: it refers to itself (through an attribute or a closure), or "
                "something that outlives the call holds it"
            )
        if (more := held_bytes() - held) > 0:
            use()
            if held_bytes() - held > more:
                raise FailedError(f"{more} bytes more are held after each call")
    finally:
        if was_enabled:
            gc.enable()
        gc.collect()


def _check_retain_graph(subject: Subject) -> None:
    tensors = subject.fresh()
    outputs = subject(tensors)
    first = subject.gradients(outputs, tensors, retain_graph=True)
    second = subject.gradients(outputs, tensors, retain_graph=True)
    what = "a second pass through the graph (retain_graph=True) gave something else"
    compare_gradients(subject, second, first, subject.wanted, what, exact=True)


def _strided(x: Tensor) -> Tensor:
    """Returns a copy of which no two elements are neighbors in memory."""
    import numpy as np

    with no_grad():
        plain = x.detach()
        if plain.device == "cpu" and plain.dtype != _C.bfloat16:
            # The copy is no view of another tensor, which a layer could not write into while gradients are recorded.
            values = plain.numpy()
            copy = _C.from_numpy(np.stack([values, values], axis=-1)[..., 0])
        else:
            copy = _C.stack([plain, plain], axis=-1)[..., 0]
    copy.stop_gradient = x.stop_gradient
    return copy


def _check_non_contiguous(subject: Subject) -> None:
    expected, grads = subject.run(subject.fresh())
    tensors = [_strided(x) for x in subject.fresh()]
    outputs = subject(tensors)
    what = "with inputs that are not contiguous"
    compare_outputs(subject, [values_of(y) for y in outputs], expected, what, exact=False)
    got = subject.gradients(outputs, tensors, retain_graph=True)
    compare_gradients(subject, got, grads, subject.wanted, what, exact=False)
    got = subject.gradients(outputs, tensors, [_strided(s) for s in subject.seeds(outputs)])
    what = "with a gradient that is not contiguous"
    compare_gradients(subject, got, grads, subject.wanted, what, exact=False)


def _subsets(wanted: list[int]) -> Iterator[list[int]]:
    """Returns each alone, and all but each."""
    if len(wanted) > 1:
        yield from ([i] for i in wanted)
    if len(wanted) > 2:
        yield from ([j for j in wanted if j != i] for i in wanted)


def _check_subsets(subject: Subject) -> None:
    _, grads = subject.run(subject.fresh())
    by_input = dict(zip(subject.wanted, grads, strict=True))
    for subset in _subsets(subject.wanted):
        tensors = subject.fresh(subset)
        what = f"where only {', '.join(subject.names[i] for i in subset)} wants a gradient"
        try:
            _, got = subject.run(tensors)
        except Exception as error:
            raise FailedError(f"{what}: {_text(error)}") from None
        compare_gradients(subject, got, [by_input[i] for i in subset], subset, what, exact=False)


_CHECKS: dict[str, Callable[[Subject], None]] = {
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
