"""Extensions built for real: while a program runs, and into wheels."""

import importlib.metadata
import importlib.util
import re
import sys
import zipfile
from pathlib import Path

import pytest

import lamella as lm
from lamella.utils import cpp_extension
from lamella.utils._extension import toolchain
from support import extensions

pytestmark = pytest.mark.projects

LAYER = r"""
#include <lamella/lamella.h>
#include <lamella/python.h>

using lamella::Tensor;

struct Cube : lamella::Function<Cube> {
  static Tensor forward(lamella::Context& ctx, const Tensor& x) {
    ctx.save_for_backward(x);
    return x * x * x;
  }
  static Tensor backward(lamella::Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.saved_tensors<1>();
    return 3 * x * x * dy;
  }
};

PYBIND11_MODULE(LAMELLA_EXTENSION_NAME, m) { lamella::python::bind_function<Cube>(m, "cube"); }
"""

OPERATOR = r"""
#include <lamella/library.h>

LAMELLA_LIBRARY(lamella_test_loaded, m) {
  m.def("same(Tensor x) -> Tensor", [](const lamella::Tensor& x) { return lamella::make_alias(x); });
}
"""

SETUP = """
from setuptools import setup
from lamella.utils.cpp_extension import BuildExtension, CppExtension

setup(
    name="lamella-test-layers",
    version="1.0",
    packages=["lamella_test_layers"],
    ext_modules=[CppExtension("lamella_test_layers._C", ["layers.cpp"], extra_compile_args=["-std=c++14", "-O0"])],
    cmdclass={"build_ext": BuildExtension.with_options(use_ninja=False, no_python_abi_suffix=True)},
)
"""

TEST = """
import lamella as lm  # first: the layers are not installed beside it here
import lamella_test_layers
x = lm.tensor([2.0], stop_gradient=False)
lamella_test_layers.cube(x).backward()
assert x.grad.item() == 12
print(lamella_test_layers._C.__file__)
"""


def test_a_module_is_loaded_and_found_again(tmp_path):
    extensions.need_compiler()
    source = tmp_path / "layers.cpp"
    source.write_text(LAYER)
    options = {"build_directory": tmp_path / "build", "extra_cflags": ["-O0"]}
    module = cpp_extension.load("lamella_test_cube", source, **options)
    x = lm.tensor([2.0], stop_gradient=False)
    module.cube(x).backward()
    assert x.grad.item() == 12 and module.__name__ == "lamella_test_cube"
    assert "lamella_test_cube" not in sys.modules
    again = cpp_extension.load("lamella_test_cube", [source], **options)
    assert again.__file__ == module.__file__


def test_a_library_of_operators_is_loaded(tmp_path):
    extensions.need_compiler()
    (tmp_path / "operator.cpp").write_text(OPERATOR)
    loaded = cpp_extension.load(
        "lamella_test_loaded", tmp_path / "operator.cpp", build_directory=tmp_path / "build", is_python_module=False
    )
    assert loaded is None
    assert lm.ops.lamella_test_loaded.same(lm.ones(2)).tolist() == [1.0, 1.0]


def test_the_example_of_the_docs(tmp_path, monkeypatch):
    extensions.need_compiler()
    monkeypatch.setenv("LAMELLA_EXTENSIONS_DIR", str(tmp_path))
    page = Path(__file__).resolve().parents[3] / "docs" / "extensions.md"
    example = re.search(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)[1]
    names = {"x": lm.ones(2)}
    exec(example, names)
    assert names["module"].twice(names["x"]).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("name", ["a-b", "", "a.b", "1a"])
def test_names_of_modules(name, tmp_path):
    with pytest.raises(ValueError, match="is no name of a module"):
        cpp_extension.load(name, "x.cpp", build_directory=tmp_path)
    with pytest.raises(ValueError, match="is no name of a module"):
        cpp_extension.load_inline(name, "", build_directory=tmp_path)


def test_the_build_root(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("LAMELLA_EXTENSIONS_DIR", raising=False)
    monkeypatch.delenv("TORCH_EXTENSIONS_DIR", raising=False)
    assert cpp_extension.get_default_build_root() == tmp_path / "lamella" / "extensions"
    monkeypatch.setenv("LAMELLA_EXTENSIONS_DIR", "/elsewhere")
    assert str(cpp_extension.get_default_build_root()) == "/elsewhere"


@pytest.mark.parametrize(
    ("root", "kind"), [("file/root", NotADirectoryError), ("/proc/root_of_builds", FileNotFoundError)]
)
def test_a_build_root_that_cannot_be_written(monkeypatch, tmp_path, root, kind):
    (tmp_path / "file").write_text("")
    (tmp_path / "none.cpp").write_text("")
    monkeypatch.setenv("LAMELLA_EXTENSIONS_DIR", str(tmp_path / root))
    with pytest.raises(kind, match=r"\[cpp_extension\] cannot write to .*: set LAMELLA_EXTENSIONS_DIR"):
        cpp_extension.load("none", [tmp_path / "none.cpp"])


def test_options_of_the_build_command(monkeypatch):
    setuptools = pytest.importorskip("setuptools", reason="projects are built by setuptools")
    command = cpp_extension.BuildExtension
    with pytest.raises(TypeError, match="no option 'ninja'"):
        command.with_options(ninja=True)
    made = cpp_extension.CppExtension("a._C", ["a.cpp"], extra_compile_args={"cxx": ["-DX"]}, include_dirs=["mine"])
    assert isinstance(made, setuptools.Extension) and made.include_dirs[0] == "mine" and "lamella" in made.libraries
    build = command(setuptools.Distribution())
    build.ensure_finalized()
    described = build.described(made)
    assert described.cxx_flags == ["-DX"] and "-DTORCH_EXTENSION_NAME=_C" in described.definitions
    assert "-Wl,-rpath,$ORIGIN/../lamella" in described.link_flags
    for variable in ("CPPFLAGS", "CFLAGS", "CXXFLAGS", "LDFLAGS"):
        monkeypatch.setenv(variable, f"-DV='a b' -D{variable}")
    made.extra_compile_args = ["-O1"]
    described = build.described(made)
    assert described.cxx_flags == ["-DV=a b", "-DCPPFLAGS", "-DV=a b", "-DCFLAGS", "-DV=a b", "-DCXXFLAGS", "-O1"]
    assert described.nvcc_flags == ["-O1"] and described.link_flags[-2:] == ["-DV=a b", "-DLDFLAGS"]
    made.extra_compile_args = {"hip": []}
    with pytest.raises(ValueError, match="'hip'"):
        build.described(made)


def test_an_older_standard_is_not_asked_for():
    newer = ["-std=c++20", "--std=gnu++23", "-std=c++2b", "-std", "c++20", "-O2"]
    older = ["-std=c++17", "-std=gnu++14", "--std=c++11", "-std=c++0x", "-std=c++98", "-std", "c++17", "--std", "c++14"]
    assert toolchain.new_enough([*older, *newer, *older, "-g"]) == [*newer, "-g"]


@pytest.mark.parametrize("how", ["setup.py", "pip"])
def test_a_project_gives_a_wheel(tmp_path, how):
    extensions.need_wheels()
    files = {
        "setup.py": SETUP,
        "layers.cpp": LAYER,
        "lamella_test_layers/__init__.py": "from ._C import cube\n",
        "pyproject.toml": '[build-system]\nrequires = ["setuptools", "lamella"]\n'
        'build-backend = "setuptools.build_meta"\n',
    }
    folder = extensions.write(tmp_path / "project", files)
    if how == "setup.py":
        extensions.succeed("setup.py", "-q", "bdist_wheel", "-d", tmp_path / "wheels", cwd=folder)
    else:
        options = ("-q", "--no-deps", "--no-index", "--no-build-isolation", "-w", tmp_path / "wheels")
        extensions.succeed("-m", "pip", "wheel", *options, ".", cwd=folder)
        options = ("-q", "--no-deps", "--no-index", "--no-build-isolation", "--target", tmp_path / "site")
        extensions.succeed("-m", "pip", "install", *options, ".", cwd=folder)
        assert (tmp_path / "site" / "lamella_test_layers" / "_C.so").exists()
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    python = extensions.clean_environment(tmp_path / "env")
    extensions.install(wheel, python)
    (tmp_path / "test.py").write_text(TEST)
    printed = extensions.succeed("test.py", cwd=tmp_path, python=python)
    assert printed.strip().endswith("lamella_test_layers/_C.so")


SMALL = r"""
#include <lamella/python.h>
PYBIND11_MODULE(LAMELLA_EXTENSION_NAME, m) {
  lamella::python::init();
  m.def("same", [](const lamella::Tensor& x) { return x; });
}
"""


def wheel_of_this_tree(folder):
    """A wheel named lamella, by which an environment finds the package that is being tested."""
    record = f"lamella-{lm.__version__}.dist-info"
    with zipfile.ZipFile(folder / f"lamella-{lm.__version__}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("lamella_tree.pth", f"{extensions.PACKAGE_HOME}\n")
        wheel.writestr(f"{record}/METADATA", f"Metadata-Version: 2.1\nName: lamella\nVersion: {lm.__version__}\n")
        wheel.writestr(f"{record}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{record}/RECORD", "")


def test_a_project_builds_in_isolation(tmp_path):
    """pip makes an environment for the build, of what pyproject.toml requires: nothing of this one is seen there."""
    extensions.need_wheels()
    offered = tmp_path / "offered"
    fetch = ("-m", "pip", "download", "-q", "--no-deps", "--retries", "0", "--timeout", "20", "-d", offered)
    fetched = extensions.run(*fetch, "setuptools>=70.1", "pybind11>=3", cwd=tmp_path)
    if fetched.returncode != 0:
        pytest.skip(f"pip's index cannot be reached: {fetched.stderr.strip().splitlines()[-1]}")
    wheel_of_this_tree(offered)
    files = {
        "setup.py": SETUP.replace("lamella_test_layers", "lamella_test_isolated"),
        "layers.cpp": SMALL,
        "lamella_test_isolated/__init__.py": "from ._C import same\n",
        "pyproject.toml": '[build-system]\nrequires = ["setuptools>=70.1", "lamella", "pybind11>=3"]\n'
        'build-backend = "setuptools.build_meta"\n',
    }
    folder = extensions.write(tmp_path / "project", files)
    options = ("-q", "--no-deps", "--no-index", "--find-links", offered, "-w", tmp_path / "wheels")
    extensions.succeed("-m", "pip", "wheel", *options, ".", cwd=folder)
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    python = extensions.clean_environment(tmp_path / "env")
    extensions.install(wheel, python)
    program = "import lamella as lm, lamella_test_isolated as t; print(t.same(lm.ones([2])).tolist())"
    assert extensions.succeed("-c", program, cwd=tmp_path, python=python).strip() == "[1.0, 1.0]"
    # What the build requires is not there when it is not offered, and pip says so.
    (next(offered.glob("lamella-*.whl"))).unlink()
    missing = extensions.run("-m", "pip", "wheel", *options, ".", cwd=folder)
    assert missing.returncode != 0 and "No matching distribution found for lamella" in missing.stderr


@pytest.mark.parametrize(
    ("version", "has_wheel", "fails"), [("65.5.0", False, True), ("65.5.0", True, False), ("70.1.0", False, False)]
)
def test_an_old_setuptools_without_wheel_says_how(monkeypatch, version, has_wheel, fails):
    # The setuptools that comes with Python 3.11 makes wheels with another package.
    find, read = importlib.util.find_spec, importlib.metadata.version
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: has_wheel or None if name == "wheel" else find(name))
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version if name == "setuptools" else read(name))
    for arguments in (["setup.py", "bdist_wheel"], ["hook", "dist_info", "--output-dir", "x"]):
        monkeypatch.setattr(sys, "argv", arguments)
        if fails:
            with pytest.raises(ModuleNotFoundError, match=r"setuptools 65.5.0 makes wheels .*pip install wheel"):
                cpp_extension.CppExtension("a", ["a.cc"])
        else:
            cpp_extension.CppExtension("a", ["a.cc"])
    monkeypatch.setattr(sys, "argv", ["setup.py", "build_ext"])
    cpp_extension.CppExtension("a", ["a.cc"])
