"""detect_anomaly: which operation gave a gradient that is no number, and where it was called."""

import numpy as np
import pytest

import lamella as lm
from lamella.autograd import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from support.tensors import leaf
from support.threads import run_on_threads


def take_log(x):
    return lm.log(x)


LOG = f"{__file__}:{take_log.__code__.co_firstlineno + 1}, in take_log"


def raised(error, run):
    with pytest.raises(error) as info:
        run()
    return info.value


def own_frames(text):
    """Without the frames of the test runner."""
    return [line for line in text.splitlines() if __file__ in line or ".py:" not in line]


def test_the_operation_the_gradient_and_the_line(at):
    x = leaf(0.0, 1.0, 0.0)
    with detect_anomaly():
        y = take_log(x).sum()  # call
        error = raised(RuntimeError, y.backward)
    assert own_frames(str(error)) == [
        "[log] backward gave 2 infinite values of 3 (float32[3] on cpu) in the gradient of its input 0; the gradient "
        "that arrived was finite: look at the values of the forward call. The operation was",
        f"  called at {LOG}",
        f"  from {at('call')}, in test_the_operation_the_gradient_and_the_line",
    ]
    assert x.grad is None


def test_nan_in_one_of_several_gradients():
    x, y = leaf(2.0), leaf(0.0, 4.0)
    with detect_anomaly():
        z = lm.where(lm.asarray([True, True]), x, lm.sqrt(y) * 0 / 0)
        error = raised(RuntimeError, lambda: z.sum().backward())
    assert str(error).startswith("[divide] backward gave 2 NaN values of 2 (float32[2] on cpu) in the gradient of its")


def test_what_is_not_checked_goes_through():
    x = leaf(0.0)
    with detect_anomaly(check_inf=False):
        lm.log(x).backward()
    assert x.grad.tolist() == [np.inf]
    with detect_anomaly(check_nan=False, check_inf=False, check_forward=True):
        (lm.sqrt(x) * 0).backward()


def test_results_are_checked_on_request():
    x = leaf(-1.0, 1.0)
    with detect_anomaly(check_forward=True):
        error = raised(RuntimeError, lambda: take_log(x))
    assert own_frames(str(error))[:2] == [
        "[log] forward gave 1 NaN value of 2 (float32[2] on cpu) in its output 0; look at the values it was called "
        "with",
        f"  called at {LOG}",
    ]


class Fails(lm.PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        raise KeyError("mine")


class GivesNan(lm.PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        return dy * float("nan")


def test_an_exception_of_the_users_keeps_its_type(at):
    x = leaf(1.0)
    with detect_anomaly():
        y = Fails.apply(x)  # call
        error = raised(KeyError, y.backward)
    assert error.args == ("mine",)
    note = error.__notes__[-1]
    assert own_frames(note) == [
        "raised in the backward of `Fails`, which was",
        f"  called at {at('call')}, in test_an_exception_of_the_users_keeps_its_type",
    ]


def test_an_error_of_the_library_gets_the_place_too(at):
    class WrongShape(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, dy):
            return lm.ones([5])

    x = leaf(1.0, 2.0)
    with detect_anomaly():
        y = WrongShape.apply(x)  # call
        error = raised(ValueError, y.sum().backward)
    assert own_frames(str(error))[-2:] == [
        "raised in the backward of `WrongShape`, which was",
        f"  called at {at('call')}, in test_an_error_of_the_library_gets_the_place_too",
    ]


def test_a_layer_in_python_is_named(at):
    x = leaf(1.0)
    with detect_anomaly():
        y = GivesNan.apply(x)  # call
        error = raised(RuntimeError, y.backward)
    assert str(error).startswith(
        "[GivesNan] backward gave 1 NaN value of 1 (float32[1] on cpu) in the gradient of its input 0; the gradient "
        "that "
        f"arrived was finite: look at the values of the forward call. The operation was\n  called at {at('call')}, in "
    )


def test_the_parent_of_a_recorded_pass(at):
    x = leaf(0.0)
    with detect_anomaly():
        y = lm.pow(x, 1.5)  # forward
        dy = lm.autograd.grad(y, x, create_graph=True)  # recorded
        error = raised(RuntimeError, dy.backward)
    lines = own_frames(str(error))
    k = lines.index("  recorded while the backward of `pow` ran, which was")
    assert lines[k - 1] == f"  called at {at('recorded')}, in test_the_parent_of_a_recorded_pass"
    assert lines[k + 1] == f"    called at {at('forward')}, in test_the_parent_of_a_recorded_pass"


def test_the_next_pass_starts_clean():
    x = leaf(0.0)
    with detect_anomaly(), pytest.raises(RuntimeError):
        lm.log(x).backward()
    (x * 3).backward()
    assert x.grad.tolist() == [3]


def test_it_is_left_by_exceptions_and_nests():
    assert not is_anomaly_enabled()
    with pytest.raises(ZeroDivisionError), detect_anomaly():
        with detect_anomaly(check_nan=False):
            assert is_anomaly_enabled()
        1 / 0  # noqa: B018
    assert not is_anomaly_enabled()


def test_as_a_decorator():
    @detect_anomaly()
    def run():
        assert is_anomaly_enabled()
        lm.log(leaf(0.0)).backward()

    with pytest.raises(RuntimeError, match=r"^\[log\] backward gave"):
        run()
    assert not is_anomaly_enabled()

    @detect_anomaly()
    def steps():
        yield is_anomaly_enabled()

    assert list(steps()) == [True]
    assert run.__name__ == "run"


def test_set_detect_anomaly():
    set_detect_anomaly(True)
    try:
        assert is_anomaly_enabled()
        with set_detect_anomaly(False):
            assert not is_anomaly_enabled()
        assert is_anomaly_enabled()
    finally:
        set_detect_anomaly(False)
    assert not is_anomaly_enabled()
    assert not lm._C._tracing_state()[0]

    @set_detect_anomaly(True)
    def run():
        return is_anomaly_enabled()

    assert not is_anomaly_enabled()
    assert run() and not is_anomaly_enabled()


def test_it_is_a_matter_of_the_thread():
    seen = []
    with detect_anomaly():
        run_on_threads(lambda: seen.append(is_anomaly_enabled()))
    assert seen == [False]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: detect_anomaly(1), r"\[detect_anomaly\] check_nan: expected True or False, got int"),
        (lambda: detect_anomaly(leaf), r"got function; decorate with @detect_anomaly\(\)"),
        (lambda: set_detect_anomaly("on"), r"\[set_detect_anomaly\] mode: expected True or False, got str"),
        (lambda: detect_anomaly()(1), r"\[detect_anomaly\] expected a function, got int"),
        (lambda: lm._C._set_tracing_state(1), "tuple"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(TypeError, match=message):
        call()
    assert not is_anomaly_enabled()


def test_gradients_are_those_of_an_ordinary_pass():
    def run():
        x = leaf(1.0, 2.0)
        (lm.tanh(x * x) + x).sum().backward()
        return x.grad.tolist()

    expected = run()
    with detect_anomaly(check_forward=True):
        assert run() == expected
