"""What users have, a wheel and an installed prefix, builds and runs what the documentation shows, without the tree."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from compat import test_torch_listings as document_003
from compat.test_torch_extensions import PROJECT
from support import documents, extensions, installed

pytestmark = pytest.mark.projects

TUTORIALS = installed.ROOT / "tutorials"
BUILD_REQUIREMENTS = ("numpy", "pybind11", "setuptools", "pip")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    extensions.need_wheels()
    return installed.wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The Python of an environment in which the wheel is installed."""
    folder = tmp_path_factory.mktemp("environment")
    made = installed.environment(folder / "env", *BUILD_REQUIREMENTS, "scikit-learn", "matplotlib")
    installed.run(made, "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel, cwd=folder)
    return made


@pytest.fixture(scope="module")
def package(python):
    """The installed package's folder."""
    (found,) = python.parents[1].glob("lib/python*/site-packages/lamella")
    return found


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    return installed.install_prefix(tmp_path_factory.mktemp("prefix"))


def includes(folder):
    return [folder / "include", folder / "include" / "lamella"]


def test_the_package_is_the_installed_one_and_computes(python, package, tmp_path):
    code = """
import lamella as lm
print(lm.__file__)
a = lm.eye(100) * 4
assert (a @ a).sum().item() == 1600 and lm.linalg.cholesky(a).sum().item() == 200
assert lm.conv2d(lm.ones((1, 1, 9, 9)), lm.ones((1, 1, 3, 3))).sum().item() == 441
"""
    assert installed.run(python, "-c", code, cwd=tmp_path).strip() == str(package / "__init__.py")
    for option in ("--cflags", "--ldflags", "--cmakedir"):
        assert str(installed.ROOT) not in installed.run(python, "-m", "lamella.sysconfig", option, cwd=tmp_path)


def test_the_command_line_begins_an_operator_that_builds(python, tmp_path):
    assert installed.run(python, "-m", "lamella", "info", cwd=tmp_path).startswith("lamella ")
    installed.run(python, "-m", "lamella", "new-op", "soft_limit", cwd=tmp_path)
    installed.run(python, "setup.py", "-q", "build_ext", "--inplace", cwd=tmp_path / "soft_limit")
    checked = ("check", "soft_limit:soft_limit", "[3,2]", "0.5")
    assert "soft_limit passes" in installed.run(python, "-m", "lamella", *checked, cwd=tmp_path / "soft_limit")


def test_parts_that_are_loaded_later_are_there(python, tmp_path):
    code = """
import lamella as lm
loader = lm.data.DataLoader(lm.data.TensorDataset(lm.arange(6)), batch_size=4, num_workers=1)
assert [batch[0].tolist() for batch in loader] == [[0, 1, 2, 3], [4, 5]]
assert lm.distributions.Normal(0.0, 1.0).log_prob(lm.asarray(0.0)).item() < 0
with lm.profiler.profile() as profile:
    lm.optim.Muon([lm.nn.Parameter(lm.ones((2, 2)))], lr=0.1).step()
print(len(lm.nn.Linear(2, 3).summary()), lm.nn.utils.get_total_norm([lm.ones([4])]).item())
"""
    assert installed.run(python, "-c", code, cwd=tmp_path) == "1 2.0\n"


@pytest.mark.parametrize("where", ["package", "prefix"])
def test_headers_include_what_is_installed(where, request):
    folders = includes(request.getfixturevalue(where))
    headers = [path for path in folders[0].rglob("*.h")]
    ours = ("lamella/", "engine/", "ops/", "python/")
    missing = []
    for header in headers:
        for name in re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', header.read_text("utf-8"), re.MULTILINE):
            if name.startswith(ours) and not any((folder / name).is_file() for folder in folders):
                missing.append(f"{header.relative_to(folders[0])}: {name}")
    assert len(headers) > 300 and not missing


def compile_alone(headers, flags, folder):
    """Compiles each header as a file of its own, two at a time."""
    script = folder / "alone.sh"
    compiler = f"{shutil.which('g++') or 'c++'} -fsyntax-only -Wall -Wextra -Werror {flags}"
    script.write_text(
        'name="$(mktemp --suffix=.cc)" && printf "#include <%s>\\n" "$1" >"$name" || exit 255\n'
        f'{compiler} "$name" || {{ echo "$1"; exit 1; }}\n'
    )
    text = "\\n".join(headers)
    installed.run("sh", "-c", f"printf '{text}\\n' | xargs -P 2 -n 1 sh {script}", cwd=folder)


def test_public_headers_compile_alone(python, package, tmp_path):
    flags = installed.run(python, "-m", "lamella.sysconfig", "--cflags", cwd=tmp_path).strip()
    flags += " " + installed.run(python, "-m", "pybind11", "--includes", cwd=tmp_path).strip()
    public = [f"lamella/{path.name}" for path in (package / "include" / "lamella").glob("*.h")]
    assert {"lamella/lamella.h", "lamella/python.h", "lamella/user_op.h"} <= set(public)
    # By the names that the documents have, without the front.
    dialects = ["oneflow/core/framework/framework.h", "torch/extension.h", "torch/library.h", "ATen/ATen.h"]
    compile_alone([*public, *dialects], flags, tmp_path)


def test_public_headers_of_the_prefix_compile_alone(prefix, tmp_path):
    public = [f"lamella/{path.name}" for path in (prefix / "include" / "lamella").glob("*.h")]
    for_python = {"lamella/python.h", "lamella/abi.h"}  # compiled above, with Python's headers
    flags = "-std=c++20 " + " ".join(f"-I{folder}" for folder in includes(prefix))
    compile_alone(sorted(set(public) - for_python), flags, tmp_path)


@pytest.mark.parametrize("where", ["package", "prefix"])
def test_a_project_finds_the_package(where, python, request, tmp_path):
    folder = request.getfixturevalue(where)
    (config,) = folder.rglob("lamella-config.cmake")
    for name in ("cmake_package", "03_cpp_function"):
        origin = installed.ROOT / "tests" / name if name == "cmake_package" else TUTORIALS / name
        shutil.copytree(origin, tmp_path / name)
        build = tmp_path / f"{name}_build"
        options = (f"-Dlamella_DIR={config.parent}", "-DCMAKE_BUILD_TYPE=Release")
        installed.run("cmake", "-S", tmp_path / name, "-B", build, *options, cwd=tmp_path)
        installed.run("cmake", "--build", build, cwd=tmp_path)
    assert "gradient" in installed.run(tmp_path / "cmake_package_build" / "outside", cwd=tmp_path)
    assert "accuracy" in installed.run(tmp_path / "03_cpp_function_build" / "spirals", cwd=tmp_path)


PROGRAM = """
import lamella as lm, numpy as np

net = lm.nn.Sequential(lm.nn.Linear(3, 4), lm.nn.Tanh())
graph = lm.graph.Graph("net")
x = graph.input("x", lm.float32, [-1, 3])
with lm.graph.recording(graph):
    y = net(x) * 2
graph.save_cpp("net", [y])
np.save("x.npy", np.ones((2, 3), np.float32))
compiled = lm.compile(net)
for _ in range(4):
    z = compiled(lm.ones([2, 3])) * 2
assert len(lm.compile.explain(compiled).graphs) == 1
np.save("expected.npy", z.detach().numpy())
print(y.name)
"""


def test_a_graph_as_a_cpp_program(python, tmp_path):
    name = installed.run(python, "-c", PROGRAM, cwd=tmp_path).strip()
    made = installed.run(python, "-m", "lamella.sysconfig", "--cmakedir", cwd=tmp_path).strip()
    installed.run("cmake", "-S", "net", "-B", "build", f"-Dlamella_DIR={made}", cwd=tmp_path)
    installed.run("cmake", "--build", "build", cwd=tmp_path)
    installed.run(tmp_path / "build" / "program", "x=x.npy", "--weights", "net/weights", cwd=tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / f"{name}.npy"), np.load(tmp_path / "expected.npy"), 1e-5)


def test_digits_are_learned(python, tmp_path):
    shutil.copytree(TUTORIALS / "01_train_digits", tmp_path / "digits", ignore=shutil.ignore_patterns("*.so", "out"))
    made = installed.run(python, "-m", "lamella.sysconfig", "--cmakedir", cwd=tmp_path).strip()
    pybind11 = installed.run(python, "-m", "pybind11", "--cmakedir", cwd=tmp_path).strip()
    options = (f"-Dlamella_DIR={made}", f"-Dpybind11_DIR={pybind11}", f"-DPython_EXECUTABLE={python}")
    installed.run("cmake", "-S", "digits", "-B", "build", "-DCMAKE_BUILD_TYPE=Release", *options, cwd=tmp_path)
    installed.run("cmake", "--build", "build", cwd=tmp_path)
    printed = installed.run(python, "digits/train.py", cwd=tmp_path)
    assert float(re.search(r"accuracy on held-out images: ([\d.]+)%", printed)[1]) >= 97


@pytest.mark.parametrize("name", ["04_user_op_cpp", "05_python_kernel", "06_extension_wheel", "07_new_device"])
def test_tutorials_print_what_they_say(name, python, package, tmp_path):
    folder = tmp_path / name
    shutil.copytree(TUTORIALS / name, folder)
    text = (folder / "README.md").read_text("utf-8")
    (commands,) = re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (printed,) = re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    # Environments that the text makes find Lamella, too.
    variables = {"PYTHONPATH": str(package.parent)}
    assert installed.run("sh", "-ec", commands, cwd=folder, python=python, **variables) == printed


def test_the_layers_tutorial(python, tmp_path):
    shutil.copytree(TUTORIALS / "02_pylayer", tmp_path / "layers")
    installed.run(python, "layers/pylayer.py", cwd=tmp_path)


# A project written for PyTorch, whose pyproject.toml names the backend that brings the front.
PYPROJECT = """
[build-system]
requires = ["lamella", "setuptools", "pybind11"]
build-backend = "lamella.utils.cpp_extension"
"""


@pytest.mark.parametrize("isolation", [(), ("--no-build-isolation",)], ids=["isolated", "not isolated"])
def test_a_backend_builds_extensions_written_for_torch(isolation, python, wheel, tmp_path):
    folder = extensions.write(tmp_path / "project", PROJECT | {"pyproject.toml": PYPROJECT})
    # What an index would have.
    shutil.copy2(wheel, tmp_path)
    for name in ("numpy", "pybind11", "setuptools"):
        installed.packed_distribution(name, tmp_path)
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    command = ("-m", "pip", "wheel", "-q", "--no-deps", *isolation, "-w", tmp_path / "made", ".")
    installed.run(python, *command, cwd=folder, python=python, **offline)
    (made,) = (tmp_path / "made").glob("extension_op-*.whl")
    site = tmp_path / "site"
    installed.run(python, "-m", "pip", "install", "-q", "--no-deps", "--target", site, made, cwd=tmp_path, **offline)
    front = (python, "-m", "lamella.compat")
    # From another folder: the project's own has the package without the library.
    assert installed.run(*front, "-c", PROJECT["test.py"], cwd=tmp_path, PYTHONPATH=str(site)).strip() == "OK"


INLINE = """
import lamella as lm
from lamella.utils.cpp_extension import load_inline

source = "lamella::Tensor twice(const lamella::Tensor& x) { return 2 * x; }"
module = load_inline("installed_inline", source, functions="twice", extra_cflags=["-O0"], build_directory="build")
assert module.twice(lm.ones(2)).tolist() == [2.0, 2.0]
"""


def test_load_inline(python, tmp_path):
    installed.run(python, "-c", INLINE, cwd=tmp_path)


@documents.needs_documents("001")
def test_the_makefile_of_document_001(python, tmp_path):
    code = documents.fenced("001")
    names = {0: "myrelu_op.cpp", 1: "myrelu_cpu_kernel.cpp", 2: "myrelu_gpu_kernel.cu", 5: "Makefile", 6: "test.py"}
    extensions.write(tmp_path, {name: code[k] for k, name in names.items()})
    if shutil.which("nvcc") is None and not Path("/usr/local/cuda/bin/nvcc").exists():
        text = re.sub(r"^\s*-lcudart\s*\\\n", "", code[5].replace("myrelu_gpu_kernel.o  ", "  "), flags=re.MULTILINE)
        (tmp_path / "Makefile").write_text(
            text.replace("myrelu_cpu_kernel.o myrelu_gpu_kernel.o", "myrelu_cpu_kernel.o")
        )
    front = (python, "-m", "lamella.compat")
    installed.run(*front, "make", cwd=tmp_path)
    assert installed.run(*front, "test.py", cwd=tmp_path) == code[7]


@documents.needs_tool
def test_the_wheel_of_document_003(python, tmp_path):
    subprocess.run([sys.executable, str(documents.TOOL), str(tmp_path / "listings")], check=True)
    listings = [path.read_text("utf-8") for path in sorted((tmp_path / "listings" / "003").iterdir())]
    folder = document_003.project(tmp_path / "setup", listings)
    front = (python, "-m", "lamella.compat")
    installed.run(*front, "setup.py", "-q", "build", "bdist_wheel", cwd=folder)
    (wheel,) = (folder / "dist").glob("custom_ops-1.0-*.whl")
    site = tmp_path / "site"
    installed.run(
        python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", site, wheel, cwd=tmp_path
    )
    test = "test/test_add_custom.py"
    assert installed.run(*front, test, cwd=folder, PYTHONPATH=str(site)).strip() == "OK"
