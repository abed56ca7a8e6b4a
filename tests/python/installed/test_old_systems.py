"""What wheels are linked against: versions of symbols that older systems have, and parts that came later."""

import ctypes
import importlib.util
import platform
import re
import subprocess
import sys
import zipfile

import pytest

from support import installed

WHEEL = installed.ROOT / "cmake" / "wheel"
pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc", reason="wheels are made on x86-64 with glibc"
)

# Each line calls something that came with a newer glibc or libstdc++ than the limits: glibc 2.29 to 2.35, GCC 9 to 12.
SOURCE = r"""
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <dlfcn.h>
#include <filesystem>
#include <immintrin.h>
#include <sstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

extern "C" __m128 _ZGVbN4v_acosf(__m128);

thread_local int calls = 0;

extern "C" double answers(double x) {
  ++calls;
  double read = 0;
  const char text[] = "0.25";
  std::from_chars(text, text + 4, read);
  struct stat status;
  if (stat("/", &status) != 0 || !S_ISDIR(status.st_mode)) return -1;
  if (!std::filesystem::exists(std::filesystem::path("/") / "proc") || gettid() <= 0) return -2;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::thread other([&] {
    { const std::lock_guard lock(mutex); done = true; }
    changed.notify_one();
  });
  {
    std::unique_lock lock(mutex);
    if (!changed.wait_for(lock, std::chrono::seconds(20), [&] { return done; })) return -3;
    if (changed.wait_for(lock, std::chrono::milliseconds(20), [] { return false; })) return -4;
  }
  other.join();
  Dl_info found;
  if (!dladdr(reinterpret_cast<void*>(&answers), &found)) return -5;
  std::ostringstream joined;
  joined << calls;
  if (std::move(joined).str() != "1") return -6;
  try {
    static_cast<void>(std::filesystem::file_size("/nowhere/at/all"));
    return -7;
  } catch (const std::system_error&) {
  }
  const float angle = _mm_cvtss_f32(_ZGVbN4v_acosf(_mm_set1_ps(1.0f)));
  return std::exp(x) + std::log(x) + std::pow(x, x) + read + angle;
}
"""


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stubs")
    subprocess.run([sys.executable, WHEEL / "stubs.py", folder], check=True)
    return folder


def test_new_parts_run_and_ask_for_old_versions_only(stubs, tmp_path):
    (tmp_path / "new.cc").write_text(SOURCE)
    hidden = "-Wl,--exclude-libs,libstdc++.a:libshims.a:libmvec.a:libc_nonshared.a"
    command = ["g++", "-std=c++20", "-O1", "-fPIC", "-shared", f"-L{stubs}", hidden, "new.cc", "-lmvec", "-o", "new.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "new.so"))
    library.answers.restype, library.answers.argtypes = ctypes.c_double, [ctypes.c_double]
    assert library.answers(1.0) == pytest.approx(2.718281828459045 + 0 + 1 + 0.25 + 0)
    symbols = subprocess.run(
        ["objdump", "-T", "new.so"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    limits = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}
    wanted = re.findall(r"\((GLIBC|GLIBCXX|CXXABI)_([0-9.]+)\)", symbols)
    assert {family for family, _ in wanted} == set(limits)
    for family, version in wanted:
        assert tuple(map(int, version.split("."))) <= limits[family], (family, version)
    # What is linked in stays inside.
    exported = re.findall(r" g\s+D?F?O?\s+\S+\s+[0-9a-f]+\s+(?:Base\s+)?(\S+)$", symbols, re.MULTILINE)
    assert not [name for name in exported if "filesystem" in name or name in ("stat", "gettid", "_ZGVbN4v_acosf")]


def test_the_same_wheel_for_another_python(tmp_path):
    specification = importlib.util.spec_from_file_location("wheel_build", WHEEL / "build.py")
    sys.path.insert(0, str(WHEEL))
    try:
        build = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(build)
    finally:
        sys.path.remove(str(WHEEL))
    wheel = tmp_path / "lamella-1.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("lamella/__init__.py", "x = 1\n")
        file.writestr("lamella/_C.cpython-311-x86_64-linux-gnu.so", b"for 3.11")
        file.writestr("lamella-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n")
        file.writestr("lamella-1.0.dist-info/RECORD", "")
    module = tmp_path / "_C.cpython-313-x86_64-linux-gnu.so"
    module.write_bytes(b"for 3.13")
    made = build.exchanged(wheel, module, "cp311", "cp313")
    assert made.name == "lamella-1.0-cp313-cp313-linux_x86_64.whl"
    with zipfile.ZipFile(made) as file:
        names = file.namelist()
        assert file.read("lamella/_C.cpython-313-x86_64-linux-gnu.so") == b"for 3.13"
        assert "lamella/_C.cpython-311-x86_64-linux-gnu.so" not in names
        assert b"Tag: cp313-cp313-linux_x86_64" in file.read("lamella-1.0.dist-info/WHEEL")
        record = file.read("lamella-1.0.dist-info/RECORD").decode().splitlines()
        assert sorted(line.split(",")[0] for line in record) == sorted(names)
