"""The PyLayer listings of the specification document on custom Python operators, run as written.

The documents are not part of the repository: where they do not lie beside the checkout, these tests are skipped.
tests/python/compat covers the same ground with code of its own.
"""

import subprocess
import sys

import pytest

from support.documents import TOOL, needs_tool

pytestmark = needs_tool


@pytest.fixture(scope="module")
def listings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("listings")
    subprocess.run([sys.executable, str(TOOL), str(folder)], check=True)
    return [path.read_text("utf-8") for path in sorted((folder / "002").glob("*.py"))]


def run(tmp_path, *parts):
    script = tmp_path / "listing.py"
    script.write_text("\n".join(parts), "utf-8")
    command = [sys.executable, "-m", "lamella.compat", str(script)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)


def succeed(tmp_path, *parts):
    done = run(tmp_path, *parts)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_interfaces_are_python(listings, tmp_path):
    for listing in listings[:2]:
        assert "class PyLayer" in listing
        succeed(tmp_path, listing)


def test_tanh(listings, tmp_path):
    check = (
        "import numpy as np; np.testing.assert_allclose(data.grad.numpy(), (1 - np.tanh(data.numpy())**2) / 6, 1e-5)"
    )
    printed = succeed(tmp_path, listings[2], listings[3], check)
    assert "float32" in printed and "[" in printed


def test_functions_as_arguments(listings, tmp_path):
    check = """
z.sum().backward()
np.testing.assert_allclose(input1.grad.numpy(), 1 - np.tanh(input1.numpy()) ** 2, 1e-6)
assert input1.grad.numpy().dtype == np.float64 and input2.grad is None and not input2.stop_gradient
"""
    succeed(tmp_path, listings[4], check)


def test_an_output_has_to_be_a_tensor(listings, tmp_path):
    wrong, right = listings[5].split("# 正确示例")
    done = run(tmp_path, listings[2], wrong)
    assert done.returncode == 1
    error = done.stderr.strip().splitlines()[-1]
    assert error.startswith("ValueError: [cus_tanh]"), done.stderr
    assert run(tmp_path, listings[2], listings[5]).returncode == 1
    check = """
import numpy as np
assert y_shape == [2, 3], y_shape
np.testing.assert_allclose(data.grad.numpy(), np.full((2, 3), 2 / 6), 1e-6)
"""
    succeed(tmp_path, listings[2], right, check)


def test_none_for_an_input_that_wants_no_gradient(listings, tmp_path):
    check = """
import numpy as np
np.testing.assert_allclose(data1.grad.numpy(), np.full((2, 3), 1 / 6), 1e-6)
assert data2.grad is None
"""
    succeed(tmp_path, listings[2], listings[6], check)


def test_backward_does_not_run_where_nothing_wants_a_gradient(listings, tmp_path):
    assert succeed(tmp_path, listings[2], listings[7]).splitlines()[-1] == "True"


# ---- py_func

#: A layer before the listing's operator, a loss behind it, and steps of training, in place of `in_var` alone.
TRAINING = """
image = paddle.static.data(name="image", dtype="float32", shape=[-1, 784])
in_var = paddle.reshape(paddle.static.nn.fc(image, 784), [-1, 28, 28])
out_var = create_tmp_var(
    paddle.static.default_main_program(), name="trained", dtype="float32", shape=[-1, 28, 28]
)
"""
STEPS = """
loss = paddle.mean(paddle.square(out_var - 0.5))
native = paddle.mean(paddle.square(paddle.tanh(in_var) - 0.5))
test = paddle.static.default_main_program().clone(for_test=True)
paddle.optimizer.SGD(learning_rate=10.0).minimize(loss)
exe = paddle.static.Executor(paddle.CPUPlace())
exe.run(paddle.static.default_startup_program())
images = np.random.default_rng(0).normal(size=(20, 8, 784)).astype("float32")
losses = []
for x in images:
    feed = {"image": x, "input": np.zeros((1, 28, 28), "float32")}
    found, expected = exe.run(feed=feed, fetch_list=[loss, native.name])
    assert abs(found - expected) < 1e-6, (found, expected)
    losses.append(float(exe.run(test, feed=feed, fetch_list=[loss])[0]))
assert losses[-1] < losses[0], losses
"""


def test_the_interface_of_py_func_is_python(listings, tmp_path):
    check = """
import inspect, paddle
given = list(inspect.signature(py_func).parameters.items())
for function in (paddle.static.nn.py_func, paddle.static.py_func):
    ours = list(inspect.signature(function).parameters.items())
    assert [(n, p.default) for n, p in ours] == [(n, p.default) for n, p in given]
"""
    succeed(tmp_path, listings[8], check)


@pytest.mark.parametrize("call", [14, 15], ids=["all inputs", "an input skipped"])
def test_py_func(listings, tmp_path, call):
    check = """
exe = paddle.static.Executor(paddle.CPUPlace())
x = np.random.default_rng(0).normal(size=(3, 28, 28)).astype("float32")
for variable in (out_var, "output"):
    y, = exe.run(paddle.static.default_main_program(), feed={"input": x}, fetch_list=[variable])
    np.testing.assert_allclose(y, np.tanh(x), 1e-6)
"""
    succeed(tmp_path, listings[11], listings[12], listings[13], listings[call], check)


@pytest.mark.parametrize("call", [14, 15], ids=["all inputs", "an input skipped"])
def test_py_func_trains(listings, tmp_path, call):
    succeed(tmp_path, listings[11], listings[12], listings[13], TRAINING, listings[call], STEPS)


def test_functions_of_two_inputs_and_of_no_output(listings, tmp_path):
    check = """
main = paddle.static.default_main_program()
a, b = (paddle.static.data(name=n, dtype="int32", shape=[-1, 3]) for n in "ab")
total = create_tmp_var(main, name="total", dtype="int32", shape=[-1, 3])
for form in (list, tuple):
    paddle.static.nn.py_func(func=element_wise_add, x=form([a, b]), out=total)
paddle.static.nn.py_func(func=debug_func, x=total, out=None)
exe = paddle.static.Executor(paddle.CPUPlace())
ones = np.ones((2, 3), "int32")
feed = {"input": np.zeros((1, 28, 28), "float32"), "a": ones, "b": ones * 2}
assert (exe.run(feed=feed, fetch_list=[total])[0] == 3).all()
try:
    exe.run(feed={**feed, "b": np.ones((1, 3), "int32")}, fetch_list=[total])
except AssertionError as error:
    assert "the shape of inputs must be the same!" in str(error)
else:
    raise SystemExit("no error")
"""
    printed = succeed(tmp_path, listings[11], listings[12], listings[13], check)
    assert "[[3, 3, 3]" in printed
