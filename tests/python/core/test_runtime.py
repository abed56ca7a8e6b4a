"""Memory statistics, threads, random state, configuration."""

import gc
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lamella as lm


def test_memory_statistics():
    gc.collect()
    lm.reset_peak_memory()
    before = lm.memory_allocated()
    x = lm.zeros((1000, 1000))
    assert lm.memory_allocated() - before >= 4_000_000
    del x
    assert lm.memory_allocated() == before
    assert lm.max_memory_allocated() >= before + 4_000_000
    assert lm.memory_reserved() >= lm.memory_allocated("cpu")
    lm.reset_peak_memory("cpu")
    assert lm.max_memory_allocated() < before + 4_000_000
    reserved = lm.memory_reserved()
    lm.empty_cache()
    lm.memory.empty_cache("cpu")
    assert lm.memory_reserved() <= reserved - 4_000_000
    assert lm.memory_allocated("meta") == 0
    for wrong, error in [("mars", ValueError), (3, TypeError)]:
        with pytest.raises(error):
            lm.memory_allocated(wrong)


def test_memory_of_steps():
    w = lm.tensor(np.ones((64, 64), np.float32), stop_gradient=False)
    x = lm.ones((32, 64))

    def steps(count):
        for _ in range(count):
            lm.tanh(x @ w).sum().backward()
            w.clear_grad()
        gc.collect()
        return lm.memory_allocated()

    before = steps(20)
    assert steps(500) == before


def test_threads():
    before = lm.get_num_threads()
    try:
        lm.set_num_threads(1)
        assert lm.get_num_threads() == 1
        for wrong in (0, -1, 2**40):
            with pytest.raises(ValueError, match="set_num_threads"):
                lm.set_num_threads(wrong)
        for wrong in ("2", 1.5, True, None):
            with pytest.raises(TypeError, match="set_num_threads"):
                lm.set_num_threads(wrong)
    finally:
        lm.set_num_threads(before)


def test_random_state():
    lm.seed(7)
    first = lm.rand((5,)).tolist()
    state = lm.random.get_rng_state()
    second = lm.rand((5,)).tolist()
    lm.random.set_rng_state(state)
    assert lm.rand((5,)).tolist() == second != first
    lm.random.seed(7)
    assert lm.rand((5,)).tolist() == first
    lm.seed(-1)
    for wrong in ("x", 1.5, None):
        with pytest.raises(TypeError):
            lm.seed(wrong)
        with pytest.raises(TypeError):
            lm.random.set_rng_state(wrong)
    with pytest.raises(ValueError):
        lm.seed(2**70)


def test_configuration(capsys):
    entries = lm.config.config()
    assert entries["version"] == lm.__version__ and entries["threads"] == lm.get_num_threads()
    lm.show_config()
    assert lm.__version__ in capsys.readouterr().out


def test_cuda_queries():
    count = lm.cuda.device_count()
    assert lm.cuda.is_available() == (count > 0)
    lm.cuda.synchronize()
    if not count:
        with pytest.raises(RuntimeError, match="cuda"):
            lm.ones(1).cuda()
        with pytest.raises(RuntimeError, match="cuda"):
            lm.zeros(1, device="cuda:0")
    with pytest.raises(ValueError):
        lm.ones(1).cuda(-1)


WITHOUT = """
import numpy as np
import lamella as lm

config = lm.config.config()
assert config["oneDNN"].startswith(("not found: ", "left out")), config
assert config["LAPACK"].startswith(("OpenBLAS not found: ", "left out")), config
rng = np.random.default_rng(0)
for dtype in (lm.float32, lm.bfloat16):
    a, b = rng.integers(-3, 4, (50, 70)), rng.integers(-3, 4, (70, 60))
    product = lm.tensor(a, dtype=dtype) @ lm.tensor(b, dtype=dtype)
    assert product.astype(lm.int64).tolist() == (a @ b).tolist()
x = lm.ones((2, 3, 9, 9)).requires_grad_()
y = lm.conv2d(x, lm.ones((4, 3, 3, 3)))
y.sum().backward()
assert y.sum().item() == 2 * 4 * 49 * 27 and x.grad[0, 0, 4, 4].item() == 36
for call in (lm.linalg.cholesky, lm.linalg.svd, lm.linalg.eigh, lm.linalg.qr, lm.linalg.eigvals):
    try:
        call(lm.eye(80))
    except NotImplementedError as error:
        assert "libopenblas" in str(error) and str(error).startswith("["), error
    else:
        raise AssertionError(call)
"""


def test_libraries_that_are_absent_are_done_without(tmp_path):
    # Files that are no libraries stand before those of the system, and where a package brings its own, there is a link
    # to all of it but these.
    package = Path(lm.__file__).parent
    (tmp_path / "lamella").mkdir()
    for path in package.iterdir():
        if not path.name.startswith(("libdnnl", "libscipy_openblas", "liblamella")):
            (tmp_path / "lamella" / path.name).symlink_to(path)
    for path in package.glob("liblamella*.so"):
        shutil.copy2(path, tmp_path / "lamella")
    (tmp_path / "absent").mkdir()
    for name in ("libdnnl.so.2", "libdnnl.so.3", "libopenblas.so.0"):
        (tmp_path / "absent" / name).touch()
    env = os.environ | {"LD_LIBRARY_PATH": str(tmp_path / "absent"), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_library_is_linked_with_nothing_that_may_be_absent():
    library = Path(lm.__file__).parent / "liblamella.so"
    printed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*?)\]", printed))
    elsewhere = {name for name in needed if not (library.parent / name).exists() and not name.startswith("ld-linux")}
    compilers = {"libc", "libm", "libgcc_s", "libstdc++", "libgomp", "libdl", "libpthread", "librt"}
    assert needed and {name.partition(".so")[0] for name in elsewhere} <= compilers
