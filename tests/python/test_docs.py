"""The examples of the README and of the pages for users, as somebody who reads would paste them.

Each page's Python runs in an interpreter of its own (see support/page.py for what an example promises), and its C++ is
compiled, all blocks of a page as one file.
"""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import lamella as lm
from support import page as pages
from support.page import blocks

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

#: For each page, how many values and printed texts it promises at least; 0 for those that are not listed.
PROMISES = {
    "compile.md": 5,
    "custom-layers.md": 1,
    "derivatives.md": 5,
    "dtypes.md": 6,
    "onnx.md": 6,
    "hooks.md": 6,
    "linalg.md": 3,
    "finding-out.md": 3,
    "vmap.md": 4,
    "operators.md": 8,
    "data.md": 5,
    "devices.md": 1,
    "files.md": 5,
    "array-api.md": 6,
    "autograd/index.md": 4,
    "coming-from-pytorch.md": 7,
    "nn.md": 8,
    "static-programs.md": 9,
}


def with_blocks(language):
    """The README and the pages that have blocks of a language, as paths from docs."""
    found = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    texts = {os.path.relpath(path, DOCS): path.read_text("utf-8") for path in found}
    return [name for name, text in texts.items() if any(each == language for each, _ in blocks(text))]


def blocks_of(page, language):
    return [text for each, text in blocks((DOCS / page).read_text("utf-8")) if each == language]


@pytest.mark.parametrize("page", with_blocks("python"))
def test_examples_run(page, tmp_path):
    # The page on benchmarks is for those who work in the repository, whose root is then on the path.
    path = [str(Path(lm.__file__).parents[1]), str(ROOT), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, pages.__file__, str(DOCS / page)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[-1]) >= PROMISES.get(page, 0)


def test_every_page_with_promises_is_there():
    assert set(PROMISES) <= set(with_blocks("python"))


@pytest.mark.projects
@pytest.mark.parametrize("page", with_blocks("cpp"))
def test_cpp_examples_compile(page, tmp_path):
    import pybind11

    from lamella.utils._extension import toolchain

    source = tmp_path / "page.cc"
    source.write_text("\n".join(blocks_of(page, "cpp")), "utf-8")
    flags = subprocess.check_output([sys.executable, "-m", "lamella.sysconfig", "--cflags"], text=True).split()
    includes = ["-I" + sysconfig.get_path("include"), "-I" + pybind11.get_include()]
    done = subprocess.run(
        [*toolchain.cxx().line, *flags, *includes, "-Wall", "-Werror", "-fsyntax-only", str(source)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_layers_of_the_page_are_right():
    names: dict = {"__name__": "page"}
    for source in blocks_of("custom-layers.md", "python"):
        exec(source, names)
    values = np.array([0.5, -1.0], dtype=np.float32)
    expected = {"Tanh": 1 - np.tanh(values) ** 2, "Double": np.full(2, 2.0), "Arctan": 1 / (1 + values**2)}
    for name, slope in expected.items():
        x = lm.tensor(values, stop_gradient=False)
        names[name].apply(x * 1).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), slope, rtol=1e-6)


def test_a_block_that_needs_a_name_from_elsewhere_fails(tmp_path):
    (tmp_path / "page.md").write_text("```python\nlm.ones([2])\n```\n", "utf-8")
    done = subprocess.run([sys.executable, pages.__file__, "page.md"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and re.search(r"NameError: name 'lm' is not defined", done.stderr)


def test_nothing_tells_to_fetch_lamella_from_an_index():
    """A name of an index may be somebody else's package; Lamella is installed from a checkout or from a wheel."""
    texts = [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "tutorials").rglob("*.md")]
    texts += (ROOT / "python" / "lamella").rglob("*.py")
    told = [path.relative_to(ROOT).as_posix() for path in texts if "pip install lamella" in path.read_text("utf-8")]
    assert told == []
