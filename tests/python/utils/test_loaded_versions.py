"""Extensions that are changed and loaded again while a program runs."""

import subprocess
import sys
import threading

import pytest

import lamella as lm
from lamella.utils import cpp_extension
from lamella.utils._extension import versions
from support import extensions

pytestmark = pytest.mark.projects

#: A module with a function and an operator, which both return a number.
SOURCE = r"""
#include <lamella/library.h>
#include <lamella/python.h>
static int64_t number(const lamella::Tensor&) { return NUMBER; }
LAMELLA_LIBRARY(SPACE, m) { m.def("number(TYPE x) -> int", number); }
"""
MODULE = "PYBIND11_MODULE(LAMELLA_EXTENSION_NAME, m) { m.def(NAME, [] { return NUMBER; }); }\n"


@pytest.fixture
def build(tmp_path):
    extensions.need_compiler()
    source = tmp_path / "source.cpp"

    def loaded(name, number, kind="Tensor", function="f", space=None, is_module=True):
        text = SOURCE + (MODULE if is_module else "")
        words = {"NUMBER": str(number), "SPACE": space or name, "TYPE": kind}
        for word, value in words.items():
            text = text.replace(word, value)
        text = text.replace(
            "(LAMELLA_EXTENSION_NAME, m) { m.def(NAME", f'(LAMELLA_EXTENSION_NAME, m) {{ m.def("{function}"'
        )
        source.write_text(text)
        return cpp_extension.load(
            name, source, build_directory=tmp_path / "build", extra_cflags=["-O0"], is_python_module=is_module
        )

    return loaded


def test_a_changed_source_is_a_new_module(build):
    x = lm.ones([1])
    first = build("lamella_test_changed", 1)
    assert first.f() == 1 and lm.ops.lamella_test_changed.number(x) == 1
    operator = lm.ops.lamella_test_changed.number
    second = build("lamella_test_changed", 2, function="g")
    assert (first.f(), second.g(), hasattr(second, "f"), first is second) == (1, 2, False, False)
    assert operator(x) == 2 and operator(x) == lm.ops.lamella_test_changed.number.default(x)
    assert build("lamella_test_changed", 2, function="g") is second  # unchanged
    assert build("lamella_test_changed", 1) is first and operator(x) == 1  # as it was before
    for _ in range(2):
        with pytest.raises(ValueError, match="there is no type 'Tensr'"):
            build("lamella_test_changed", 3, kind="Tensr")
        assert operator(x) == 1
    assert build("lamella_test_changed", 3).f() == 3 and operator(x) == 3


def test_other_namespaces_stay(build):
    x = lm.ones([1])
    build("lamella_test_spaces", 1, space="lamella_test_space_a")
    build("lamella_test_spaces", 2, space="lamella_test_space_b")
    assert (lm.ops.lamella_test_space_a.number(x), lm.ops.lamella_test_space_b.number(x)) == (1, 2)


def test_changed_libraries_of_operators(build):
    x = lm.ones([1])
    for number, kind in ((1, "Tensor"), (2, "Tensor"), (3, "Tensor? o=None, Tensor"), (1, "Tensor")):
        try:
            assert build("lamella_test_library", number, kind, is_module=False) is None
        except ValueError as error:
            assert number == 3 and "needs a default" in str(error)  # what was there stays
        else:
            assert lm.ops.lamella_test_library.number(x) == number


def test_threads_load_one_module(build):
    built = build("lamella_test_threads", 7)
    seen = []
    path = versions.os.path.realpath(built.__file__)
    threads = [
        threading.Thread(target=lambda: seen.append(versions.load("lamella_test_threads", path, True)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [built] * 4


def test_a_class_of_an_earlier_version(tmp_path):
    extensions.need_compiler()
    text = "#include <lamella/python.h>\nstruct Thing {};\nPYBIND11_MODULE(LAMELLA_EXTENSION_NAME, m) { BODY }\n"
    options = {"build_directory": tmp_path, "extra_cflags": ["-O0"], "no_implicit_headers": True}

    def load(body):
        return cpp_extension.load_inline("lamella_test_class", text.replace("BODY", body), **options)

    load('pybind11::class_<Thing>(m, "Thing");')
    with pytest.raises(ImportError, match=r"already registered.*add py::module_local\(\)"):
        load('pybind11::class_<Thing>(m, "Thing").def(pybind11::init<>());')
    made = load('pybind11::class_<Thing>(m, "Thing", pybind11::module_local()).def(pybind11::init<>());')
    assert type(made.Thing()).__name__ == "Thing"


def test_an_import_raises_what_could_not_be_registered(build, tmp_path):
    with pytest.raises(ValueError, match="there is no type 'Tensr'"):
        build("lamella_test_import", 1, kind="Tensr")
    (path,) = (tmp_path / "build").glob("*/lamella_test_import*.so")
    program = (
        "import lamella as lm\ntry:\n    import lamella_test_import\nexcept ValueError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**extensions.environment(), "PYTHONPATH": f"{extensions.PACKAGE_HOME}:{path.parent}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "there is no type 'Tensr'" in done.stdout


def test_an_egg_has_the_extension(tmp_path):
    extensions.need_wheels()
    pytest.importorskip("setuptools.command.bdist_egg")
    setup = (
        "from setuptools import setup\n"
        "from lamella.utils.cpp_extension import BuildExtension, CppExtension\n"
        "setup(name='egged', packages=['egged'], cmdclass={'build_ext': BuildExtension}, ext_modules=[\n"
        "    CppExtension(name, ['code.cpp'], extra_compile_args=['-O0']) for name in ('egged_top', 'egged._C')])\n"
    )
    code = (
        "#include <lamella/python.h>\n"
        'PYBIND11_MODULE(LAMELLA_EXTENSION_NAME, m) { m.def("f", [](const lamella::Tensor& x) { return x; }); }\n'
    )
    folder = extensions.write(tmp_path / "egged", {"setup.py": setup, "code.cpp": code, "egged/__init__.py": ""})
    extensions.succeed("setup.py", "-q", "bdist_egg", "-d", tmp_path / "eggs", cwd=folder)
    (egg,) = (tmp_path / "eggs").glob("*.egg")
    program = (
        f"import sys; sys.path.insert(0, {str(egg)!r})\n"
        "import lamella as lm, egged_top, egged._C\n"
        "print(egged_top.f(lm.ones(1)).item(), egged._C.f(lm.ones(1)).item(), egged_top.__file__)\n"
    )
    printed = extensions.succeed("-c", program, cwd=tmp_path)
    assert printed.startswith("1.0 1.0")
