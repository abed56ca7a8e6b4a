"""Gradients that compiled functions compute beside the outputs, as the pass that is to come is known: those that come,
and every way in which something else comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

SIZE = 5000
CALLS = 6


@pytest.fixture(params=["wait", "off"])
def way(request):
    """Programs compiled, and run in blocks."""
    before = lm.graph.native_status().mode
    lm.graph.set_native(request.param)
    yield
    lm.graph.set_native(before)


def values(seed: int, *shape: int, dtype: str = "float32") -> lm.Tensor:
    return lm.tensor(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def wanting(x: lm.Tensor) -> lm.Tensor:
    x.stop_gradient = False
    return x


def chain(x: lm.Tensor, w: lm.Tensor) -> lm.Tensor:
    return lm.sigmoid(lm.exp(lm.tanh(x * w + 0.5)) - x) * w


# Each takes x, w and dy, and returns what is compared.


def one_seed(x, w, dy):
    y = chain(x, w)
    return y, *lm.grad(y, [x, w], dy)


def seed_in_a_list(x, w, dy):
    y = chain(x, w)
    return y, *lm.grad([y], [x], [dy])


def two_targets(x, w, dy):
    y = lm.tanh(x * w)
    z = lm.exp(y * 0.5)
    return y, z, *lm.grad([y, z], [x, w], [dy, dy * 2])


def seed_for_one_of_two(x, w, dy):
    y = lm.tanh(x * w)
    z = lm.exp(y * 0.5)
    return y, z, *lm.grad([z], [x, w], [dy])


def other_reader(x, w, dy):
    y = chain(x, w)
    s = lm.sum(y * y)
    return y, *lm.grad([y, s], [x, w], [dy, lm.ones([])])


def target_twice(x, w, dy):
    y = chain(x, w)
    return y, *lm.grad([y, y], [x, w], [dy, dy])


def seed_of_the_chain(x, w, dy):
    y = chain(x, w)
    return y, *lm.grad(y, [x, w], lm.tanh(y.detach()))


def seed_made_late(x, w, dy):
    y = chain(x, w)
    seed = lm.sum(dy) * lm.ones([SIZE])
    return y, *lm.grad(y, [x, w], seed)


def seed_written(x, w, dy):
    seed = dy * 1
    y = chain(x, w)
    seed.mul_(3.0)
    return y, *lm.grad(y, [x, w], seed)


def input_written(x, w, dy):
    a = x * 1
    y = a + w
    a.mul_(2.0)
    return y, a, *lm.grad(y, [x, w], dy)


def two_passes(x, w, dy):
    y = chain(x, w)
    first = lm.grad(y, [x], dy, retain_graph=True)
    return y, *first, *lm.grad(y, [x, w], dy)


def second_order(x, w, dy):
    y = chain(x, w)
    (dx,) = lm.grad(y, [x], dy, create_graph=True)
    return y, dx, *lm.grad(lm.sum(dx * dx), [x, w])


def expanded_seed(x, w, dy):
    y = chain(x, w)
    return y, *lm.grad(y, [x, w], lm.broadcast_to(dy[:1], [SIZE]))


def method(x, w, dy):
    x = x * 1
    y = chain(x, w)
    x.retain_grad()
    y.backward(dy)
    return y, x.grad


def without_recording(x, w, dy):
    with lm.no_grad():
        z = chain(x, w)
    y = chain(x, w)
    return z, *lm.grad(y, [x], dy)


PROGRAMS = [
    *(one_seed, seed_in_a_list, two_targets, seed_for_one_of_two, other_reader, target_twice, seed_of_the_chain),
    *(seed_made_late, seed_written, input_written, two_passes, second_order, expanded_seed, method),
    without_recording,
]


def compare(found: Any, wanted: Any, tolerance: float) -> None:
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_what_is_compiled_is_what_runs(program: Callable[..., Any], dtype: str) -> None:
    compiled = lm.compile(program)
    tolerance = 2e-5 if dtype == "float32" else 1e-12
    for call in range(CALLS):
        given = [values(3 * call + i, SIZE, dtype=dtype) for i in range(3)]
        own, others = ([wanting(x + 0), wanting(w + 0), dy] for x, w, dy in (given, given))
        compare([x.detach() for x in compiled(*own)], [x.detach() for x in program(*others)], tolerance)


def test_inputs_that_want_no_gradient() -> None:
    def first_alone(x, w, dy):
        y = chain(x, w.detach())
        return y, *lm.grad(y, [x], dy)

    compiled = lm.compile(first_alone)
    for call in range(CALLS):
        x, w, dy = (values(3 * call + i, SIZE) for i in range(3))
        found = compiled(wanting(x + 0), w, dy)
        compare([y.detach() for y in found], [y.detach() for y in first_alone(wanting(x + 0), w, dy)], 2e-5)


class TestWhatComesLater:
    """The caller goes on with the outputs: the gradients of the pass in the function were not theirs."""

    def test_backward_through_the_output(self) -> None:
        def function(x, w, dy):
            y = chain(x, w)
            return y, *lm.grad(y, [x], dy, retain_graph=True)

        compiled = lm.compile(function)
        for call in range(CALLS):
            x, w, dy = (values(3 * call + i, SIZE) for i in range(3))
            results = []
            for f in (compiled, function):
                own = wanting(x + 0).detach()
                own.stop_gradient = False
                y, dx = f(own, w, dy)
                (y * 3).sum().backward()
                results.append([y.detach(), dx, own.grad])
            compare(*results, 2e-5)

    def test_writes_to_gradients(self) -> None:
        """Gradients that are the seed itself share its memory as in the plain call; the next call is right."""

        def function(x, w, dy):
            y = x + w
            dx, dw = lm.grad(y, [x, w], dy)
            return y, dx, dw

        compiled = lm.compile(function)
        for _ in range(CALLS):
            results = []
            for f in (compiled, function):
                x, w, dy = wanting(values(0, SIZE)), wanting(values(1, SIZE)), values(2, SIZE)
                y, dx, dw = f(x, w, dy)
                dx.mul_(2.0)
                results.append([y.detach(), dx, dw, dy])
            compare(*results, 0.0)

    def test_hooks_of_saved_tensors(self) -> None:
        def function(x, w, dy):
            y = chain(x, w)
            return y, *lm.grad(y, [x], dy)

        compiled = lm.compile(function)
        x, w, dy = wanting(values(0, SIZE)), values(1, SIZE), values(2, SIZE)
        for _ in range(CALLS):
            compiled(x, w, dy)
        calls = []
        with lm.autograd.saved_tensors_hooks(lambda t: calls.append(1) or t, lambda t: t):
            found = compiled(x, w, dy)
        assert calls
        compare([y.detach() for y in found], [y.detach() for y in function(x, w, dy)], 2e-5)


# Values within a chain whose own gradients are asked for


def of_a_value_within(x, w, dy):
    h = x * w
    y = lm.tanh(h) * 2
    return y, *lm.grad(y, [h], dy)


def of_it_and_its_input(x, w, dy):
    h = x * w
    y = lm.tanh(h) * 2
    return y, *lm.grad([y, h], [h, x], [dy, dy])


def of_it_if_it_is_used(x, w, dy):
    h = x * w
    y = lm.tanh(h) * 2
    return y, *lm.grad([y, h], [h, x], [dy, dy], allow_unused=True)


def kept_by_it(x, w, dy):
    h = x * w
    y = lm.tanh(h) * 2
    h.retain_grad()
    y.backward(dy)
    return y, h.grad


def added_to_it(x, w, dy):
    h = x * w
    y = lm.tanh(h) * 2
    h.retain_grad()
    y.backward(dy, inputs=[h])
    return y, h.grad


WITHIN = [of_a_value_within, of_it_and_its_input, of_it_if_it_is_used, kept_by_it, added_to_it]


@pytest.mark.parametrize("program", WITHIN, ids=lambda program: program.__name__)
def test_gradients_of_values_within(program: Callable[..., Any]) -> None:
    compiled = lm.compile(program)
    for call in range(CALLS):
        given = [values(3 * call + i, 40) for i in range(3)]
        own, others = ([wanting(x + 0), wanting(w + 0), dy] for x, w, dy in (given, given))
        compare([x.detach() for x in compiled(*own)], [x.detach() for x in program(*others)], 2e-5)


def test_the_caller_asks_for_the_gradient_of_a_result_within() -> None:
    def function(x, w):
        h = x * w
        return h, lm.tanh(h) * 2

    compiled = lm.compile(function)
    for call in range(CALLS):
        given = [values(3 * call + i, 40) for i in range(3)]
        results = []
        for f in (compiled, function):
            h, y = f(wanting(given[0] + 0), wanting(given[1] + 0))
            results.append(lm.grad([y, h], [h], [given[2], given[2]]))
        compare(*results, 2e-5)


def test_gradients_of_values_within_static_programs() -> None:
    from lamella import static

    program = static.Program()
    with static.program_guard(program):
        x, w = (static.data(name, [40], "float32") for name in ("x", "w"))
        x.stop_gradient = w.stop_gradient = False
        h = x * w
        y = lm.tanh(h) * 2
        dh, dx = static.gradients([y], [h, x])
    a, b = values(0, 40), values(1, 40)
    found = static.Executor().run(program, feed={"x": a.numpy(), "w": b.numpy()}, fetch_list=[dh, dx])
    c = wanting(a * b)
    (wanted,) = lm.grad(lm.tanh(c) * 2, [c], lm.ones([40]))
    compare([lm.asarray(np.asarray(f)) for f in found], [wanted, wanted * b], 2e-5)


# Cross-entropy


def loss_cases():
    for reduction in ("mean", "sum"):
        for smoothing in (0.0, 0.1):
            for rows, classes in ((1, 1), (7, 3), (33, 10), (5, 40), (64, 16), (3, 5000), (600, 4000)):
                yield reduction, smoothing, rows, classes


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", list(loss_cases()), ids=str)
def test_cross_entropy(case: tuple[str, float, int, int], dtype: str) -> None:
    reduction, smoothing, rows, classes = case
    if rows * classes > 100_000 and dtype == "float64":
        rows //= 8

    def loss(x, labels):
        return lm.cross_entropy(x, labels, reduction=reduction, label_smoothing=smoothing)

    def ones(x, labels, dy):
        y = loss(x, labels)
        return y, *lm.grad(y, [x])

    def seed(x, labels, dy):
        y = loss(x, labels)
        return y, *lm.grad(y, [x], dy)

    def others_too(x, labels, dy):
        y = loss(x, labels)
        return y, *lm.grad([y * 2, y], [x], [dy, dy])

    def second(x, labels, dy):
        y = loss(x, labels)
        (dx,) = lm.grad(y, [x], dy, create_graph=True)
        return y, dx, *lm.grad(lm.sum(dx * dx), [x])

    tolerance = 2e-6 if dtype == "float32" else 1e-13
    for program in (ones, seed, others_too, second):
        compiled = lm.compile(program)
        for call in range(4):
            rng = np.random.default_rng(call)
            x = rng.standard_normal((rows, classes)).astype(dtype) * 4
            labels = rng.integers(0, classes, rows)
            if call % 2:
                labels[rng.integers(0, rows, max(1, rows // 4))] = -100
            dy = np.asarray(rng.standard_normal(), dtype)
            found, wanted = (
                [y.detach() for y in f(wanting(lm.tensor(x)), lm.tensor(labels), lm.tensor(dy))]
                for f in (compiled, program)
            )
            compare(found, wanted, tolerance)


def test_a_training_step_with_cross_entropy() -> None:
    """Weights and gradients are those of the step as it is, also where the logits have three axes."""

    def make():
        lm.random.seed(3)
        model = lm.nn.Sequential(lm.nn.Linear(20, 30), lm.nn.Tanh(), lm.nn.Linear(30, 12))
        return model, lm.optim.SGD(model.parameters(), lr=0.5)

    results = []
    for compiled in (True, False):
        model, optimizer = make()

        def step(x, labels, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = lm.cross_entropy(model(x), labels, axis=-1)
            loss.backward()
            optimizer.step()
            return loss

        run = lm.compile(step) if compiled else step
        losses = [run(values(i, 4, 9, 20), lm.tensor(np.arange(36).reshape(4, 9) * (i + 1) % 12)) for i in range(8)]
        parameters = list(model.parameters())
        results.append([*(y.detach() for y in losses), *parameters, *(p.grad for p in parameters)])
    compare([x.detach() for x in results[0]], [x.detach() for x in results[1]], 1e-5)


def test_errors_of_cross_entropy_are_those_of_the_call() -> None:
    def function(x, labels):
        y = lm.cross_entropy(x, labels)
        return y, *lm.grad(y, [x])

    compiled = lm.compile(function)
    x = wanting(values(0, 6, 5))
    for _ in range(4):
        compiled(x, lm.tensor(np.arange(6) % 5))
    with pytest.raises(IndexError, match=r"\[cross_entropy\] index 5 is out of range for axis 1 of size 5"):
        compiled(x, lm.tensor(np.arange(6)))


def test_programs_with_gradients_are_seen_in_the_explanation() -> None:
    """The pass that is foreseen is no secret: the node says so."""

    def function(x, labels):
        y = lm.cross_entropy(x, labels)
        return y, *lm.grad(y, [x])

    compiled = lm.compile(function)
    for _ in range(4):
        compiled(wanting(values(0, 6, 5)), lm.tensor(np.arange(6) % 5))
    assert "cross_entropy-with-gradient" in str(lm.compile.explain(compiled))


def test_gradients_of_static_programs() -> None:
    """Programs have nodes of their own for gradients."""
    from lamella import static

    program = static.Program()
    with static.program_guard(program):
        x, w, dy = (static.data(name, [SIZE], "float32") for name in ("x", "w", "dy"))
        x.stop_gradient = w.stop_gradient = False
        y = chain(x, w)
        dx, dw = static.gradients([y], [x, w], [dy])
    executor = static.Executor()
    for call in range(CALLS):
        given = [values(3 * call + i, SIZE) for i in range(3)]
        feed = dict(zip(("x", "w", "dy"), (g.numpy() for g in given), strict=True))
        found = executor.run(program, feed=feed, fetch_list=[y, dx, dw])
        a, b, seed = given
        a, b = wanting(a), wanting(b)
        out = chain(a, b)
        wanted = [out.detach(), *lm.grad(out, [a, b], seed)]
        for f, v in zip(found, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(f), v.numpy(), rtol=2e-5, atol=2e-5)
