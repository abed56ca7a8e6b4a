"""The README's examples are true: the Python ones run, the C++ ones stand in a program that the tests compile."""

import re
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]


def listings(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert found, f"the README has no example in {language}"
    return found


def test_python_examples_run(capsys):
    names: dict = {"__name__": "readme"}
    for listing in listings("python"):
        exec(compile(listing, "README.md", "exec"), names)
    assert capsys.readouterr().out
    x, beta = np.array([[-1.0, 0.0, 2.0]]), 1.5
    s = 1 / (1 + np.exp(-beta * x))
    np.testing.assert_allclose(names["x"].grad.numpy(), s + beta * x * s * (1 - s), rtol=1e-5)


def test_cpp_examples_are_compiled():
    program = (ROOT / "tests" / "cmake_package" / "main.cc").read_text()
    for listing in listings("cpp"):
        for block in listing.strip().split("\n\n"):
            assert block in program


def test_cmake_example_is_configured():
    project = (ROOT / "tests" / "cmake_package" / "CMakeLists.txt").read_text()
    for listing in listings("cmake"):
        for line in listing.replace("program", "outside").splitlines():
            assert line in project
