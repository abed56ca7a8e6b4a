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
