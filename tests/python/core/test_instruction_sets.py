"""Operators under each instruction set that this machine has: special values, random bits, and what is refused."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import lamella as lm

MODULES = sorted(pathlib.Path(lm.__file__).parent.glob("liblamella_cpu_*.so"))
SETS = [path.stem.removeprefix("liblamella_cpu_") for path in MODULES]

PROGRAM = """
import json, sys
import numpy as np
import lamella as lm
special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, 88.7, -104.0, 3e38, 0.5, 2.0], "float32")
out = {"isa": lm.config.config()["cpu kernels"]}
for dtype in ("float32", "float64"):
    x = lm.asarray(np.tile(special, 3).astype(dtype))
    for name in "exp expm1 log log1p sqrt tanh sin cos erf floor round sigmoid relu".split():
        out[f"{name} {dtype}"] = getattr(lm, name)(x).tolist()
    out[f"sum {dtype}"] = lm.sum(lm.arange(1003, dtype=dtype) * 0.5).tolist()
    out[f"softmax {dtype}"] = lm.softmax(lm.arange(19, dtype=dtype)).tolist()
    out[f"matmul {dtype}"] = lm.matmul(lm.ones([5, 7], dtype=dtype), lm.ones([7, 3], dtype=dtype)).tolist()
    g = lm.Generator(seed=3)
    out[f"bits {dtype}"] = lm.uniform([1003], -1.0, 2.0, dtype=dtype, generator=g).tolist()
    out[f"normal {dtype}"] = lm.randn([1003], dtype=dtype, generator=g).tolist()
g = lm.Generator(seed=4)
out["bits integers"] = lm.randint(-5, 2**40, [501], generator=g).tolist()
out["bits small integers"] = lm.randint(0, 9, [501], generator=g, dtype="int8").tolist()
out["bits coins"] = lm.zeros([501]).bernoulli_(0.3, generator=g).tolist()
json.dump(out, sys.stdout)
"""


def run(isa: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(pathlib.Path(lm.__file__).parent.parent), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "LAMELLA_CPU_ISA": isa, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize("isa", SETS)
def test_all_sets_agree(isa: str) -> None:
    import json

    done = run(isa)
    if done.returncode != 0 and "does not have" in done.stderr:
        pytest.skip(f"this processor lacks {isa}; CI runs it in qemu")
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    assert got.pop("isa") == isa
    here = {}
    stdout = sys.stdout
    import io

    sys.stdout = io.StringIO()
    try:
        exec(PROGRAM, {})
        here = json.loads(sys.stdout.getvalue())
    finally:
        sys.stdout = stdout
    here.pop("isa")
    assert got.keys() == here.keys()
    for name, values in got.items():
        if name.startswith("bits"):
            assert values == here[name], name
        else:
            tolerance = 2e-6 if "float32" in name else 1e-13
            np.testing.assert_allclose(values, here[name], rtol=tolerance, atol=tolerance, err_msg=name)


def test_special_values() -> None:
    x = lm.asarray([0.0, -0.0, np.inf, -np.inf, np.nan], dtype="float32")
    np.testing.assert_array_equal(lm.exp(x).numpy(), [1, 1, np.inf, 0, np.nan])
    np.testing.assert_array_equal(lm.log(x).numpy(), [-np.inf, -np.inf, np.inf, np.nan, np.nan])
    np.testing.assert_array_equal(lm.tanh(x).numpy(), [0, 0, 1, -1, np.nan])
    np.testing.assert_array_equal(np.signbit(lm.sqrt(x).numpy()[:2]), [False, True])


def test_an_unknown_set_is_refused() -> None:
    done = run("x86-64-v9")
    assert done.returncode != 0 and 'LAMELLA_CPU_ISA is "x86-64-v9"; known here' in done.stderr


def test_show_config(capsys: pytest.CaptureFixture[str]) -> None:
    lm.show_config()
    shown = capsys.readouterr().out
    assert lm.config.config()["cpu kernels"] in shown and "threads" in shown
