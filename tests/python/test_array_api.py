"""The Python array API standard: what the namespace tells of itself, and the public suite, where there is a copy of it.

The suite (data-apis/array-api-tests, with its submodule, and its requirements installed) is run by

    ARRAY_API_TESTS=/path/to/array-api-tests python -m pytest -s tests/python/test_array_api.py

and by nothing else: without the variable it is skipped. ARRAY_API_TESTS_ARGUMENTS may hold arguments for it, such as
"-x -k linspace"; ARRAY_API_TESTS_EXAMPLES the number of examples for each test, 200 unless it is set.
"""

from __future__ import annotations

import math
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import lamella as lm

ROOT = Path(__file__).parents[2]
EXCEPTIONS = Path(__file__).with_name("array_api_exceptions.txt")
PAGE = ROOT / "docs/array-api.md"


def exceptions() -> list[str]:
    """The tests of the suite that are known to fail."""
    lines = EXCEPTIONS.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_exceptions_have_reasons() -> None:
    """Each of them stands in the documentation."""
    page = PAGE.read_text()
    for test in exceptions():
        assert f"`{test.split('::', 1)[1]}`" in page, f"{test} is not explained in {PAGE}"


def test_suite() -> None:
    path = os.environ.get("ARRAY_API_TESTS")
    if not path:
        pytest.skip("ARRAY_API_TESTS does not name a copy of the array API suite (see docs/array-api.md)")
    suite = Path(path).resolve()
    assert (suite / "array_api_tests").is_dir(), f"ARRAY_API_TESTS={path} is no copy of array-api-tests"
    package = str(Path(lm.__file__).parents[1])
    search = [package, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    environment = os.environ | {
        "ARRAY_API_TESTS_MODULE": "lamella",
        "ARRAY_API_TESTS_VERSION": lm.__array_api_version__,
        "PYTHONPATH": os.pathsep.join(search),
    }
    command = [
        *(sys.executable, "-m", "pytest", "array_api_tests", "-q", "-p", "no:cacheprovider", "--disable-deadline"),
        *("--max-examples", os.environ.get("ARRAY_API_TESTS_EXAMPLES", "200")),
        *("--xfails-file", str(EXCEPTIONS)),
        *shlex.split(os.environ.get("ARRAY_API_TESTS_ARGUMENTS", "")),
    ]
    assert subprocess.run(command, cwd=suite, env=environment, check=False).returncode == 0


def test_namespace() -> None:
    x = lm.zeros([2])
    assert x.__array_namespace__() is lm
    assert x.__array_namespace__(api_version="2022.12") is lm
    assert x.__array_namespace__(api_version=lm.__array_api_version__) is lm
    with pytest.raises(ValueError, match=r"\[__array_namespace__\] api_version '2020.01' is not supported"):
        x.__array_namespace__(api_version="2020.01")
    assert lm.__array_api_version__ == "2024.12"


def test_constants() -> None:
    assert (lm.e, lm.pi, lm.inf) == (math.e, math.pi, math.inf)
    assert math.isnan(lm.nan)
    assert lm.zeros([2])[lm.newaxis].shape == (1, 2)
    assert {"e", "inf", "nan", "newaxis", "pi"} <= set(lm.__all__)


def test_inspection() -> None:
    info = lm.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}
    assert info.default_device() == str(lm.zeros([1]).device)
    assert info.devices()[0] == "cpu"
    defaults = info.default_dtypes(device="cpu")
    assert defaults["real floating"] is lm.zeros([1]).dtype
    assert defaults["complex floating"] is lm.asarray(1j).dtype
    assert defaults["integral"] is lm.asarray(1).dtype
    assert defaults["indexing"] is lm.argmax(lm.zeros([1])).dtype
    assert list(info.dtypes(kind="integral")) == [
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    ]
    assert info.dtypes(kind=("bool", "complex floating")) == {
        "bool": lm.bool,
        "complex64": lm.complex64,
        "complex128": lm.complex128,
    }
    assert len(info.dtypes()) == 13 and "bfloat16" not in info.dtypes()
    with pytest.raises(ValueError, match=r"\[dtypes\] kind must be"):
        info.dtypes(kind="floating")
    with pytest.raises(ValueError, match=r"\[dtypes\] device must be"):
        info.dtypes(device="tpu")


def test_as_many_axes_as_promised() -> None:
    axes = lm.__array_namespace_info__().capabilities()["max dimensions"]
    assert isinstance(axes, int)
    x = lm.broadcast_to(lm.asarray(2.0), [2, 1] * (axes // 2))
    y = lm.permute_dims(lm.ones([2] * axes), list(range(axes - 1, -1, -1)))
    assert ((x + y).shape, (x + y).sum().item()) == ((2,) * axes, 3.0 * 2**axes)


def test_numbers_from_tensors() -> None:
    assert [10, 20, 30][lm.asarray(1)] == 20
    for convert in (float, int):
        with pytest.raises(TypeError, match="complex"):
            convert(lm.asarray(1j))
    with pytest.raises(TypeError):
        [10, 20][lm.asarray(1.0)]  # type: ignore[call-overload]
    with pytest.raises(OverflowError):
        int(lm.asarray(lm.inf))
    with pytest.raises(ValueError, match="NaN"):
        int(lm.asarray(lm.nan))
    with pytest.raises(ValueError, match="2 elements"):
        bool(lm.zeros([2]))
