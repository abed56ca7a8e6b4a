"""What the build decides by itself: which files are compiled together, and what `./dev` says of itself."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNITY = ROOT / "cmake" / "unity.py"


def load(name: str, path: Path):
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


unity = load("unity", UNITY)
pages = load("pages", ROOT / "docs" / "pages.py")


def sources(layer: str) -> list[Path]:
    if layer == "cuda":
        return list((ROOT / "ops").rglob("*.cu"))
    return [file for file in (ROOT / layer).rglob("*.cc") if not {"cpu", "cuda", "simd"} & set(file.parts)]


def groups(files: list[Path], lines: int = 3000) -> dict[str, list[Path]]:
    command = [sys.executable, str(UNITY), str(lines), *map(str, files)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = defaultdict(list)
    for line in printed.splitlines():
        name, file = line.split(" ", 1)
        found[name].append(Path(file))
    return found


@pytest.mark.parametrize(
    ("layer", "lines"), [("engine", 3000), ("ops", 3000), ("python/bindings", 3000), ("tests/cpp", 3000), ("cuda", 800)]
)
def test_files_that_are_compiled_together_share_no_name(layer, lines):
    files = sources(layer)
    found = groups(files, lines)
    together = [file for members in found.values() for file in members]
    assert len(together) == len(set(together)) > len(files) / 2
    for members in found.values():
        texts = {file: file.read_text() for file in members}
        folders = Counter(file.parent for file in members for _ in texts[file].splitlines())
        assert folders.total() <= lines
        assert len(folders) == 1 or max(folders.values()) <= lines // 2, folders  # small ones alone are joined
        for i, a in enumerate(members):
            for b in members[i + 1 :]:
                assert not unity.names(texts[a]) & unity.names(texts[b]), (a, b)


FORMS = {
    "struct Fn : Function<Fn> {": {"Fn"},
    "template <class T> struct Fn {": {"Fn"},
    "enum class Kind : int {": {"Kind"},
    "constexpr std::int64_t kGrain = 4;": {"kGrain"},
    "[[maybe_unused]] const bool registered = [] {": {"registered"},
    "Tensor shaped(const Tensor& x) { return x; }": {"shaped"},
    "std::string Type::str() const {": {"Type::str"},
    "using Key = int;": {"Key"},
    "using registry::Arg;": set(),
    "#define LM_ROW 1": {"LM_ROW"},
    "__global__ void __launch_bounds__(kTile* kRows) update(const Args args) {": {"update"},
    "__global__ void __launch_bounds__(kThreads)\n    fold(const Args args) {": {"fold"},
    "  return x;": set(),
    "}  // namespace": set(),
}


@pytest.mark.parametrize("line", FORMS)
def test_names_that_a_line_defines(line):
    assert unity.names(line + "\n") == FORMS[line]
    assert unity.names(f"namespace {{\n{line}\n}}  // namespace\n", unnamed=True) == FORMS[line]


def test_names_that_meet_are_kept_apart(tmp_path):
    """Two unnamed namespaces with one name; and one with a name that a header of another file declares."""
    (tmp_path / "a.cc").write_text("namespace {\nint twice() { return 1; }\n}  // namespace\n")
    (tmp_path / "b.cc").write_text("namespace {\nint twice() { return 2; }\n}  // namespace\n")
    (tmp_path / "c.cc").write_text("namespace {\nint once() { return 3; }\n}  // namespace\n")
    header = next(file for file in (ROOT / "ops").rglob("*.h") if "Tensor isfinite(" in file.read_text())
    (tmp_path / "d.cc").write_text(f'#include "{header.relative_to(ROOT)}"\n')
    (tmp_path / "e.cc").write_text("namespace {\nint isfinite() { return 3; }\n}  // namespace\n")
    found = groups(sorted(tmp_path.glob("*.cc")))
    together = [{file.name for file in members} for members in found.values()]
    assert any({"a.cc", "c.cc"} <= members for members in together)
    assert not any({"a.cc", "b.cc"} <= members or {"d.cc", "e.cc"} <= members for members in together)


def test_the_commands_are_those_that_are_described():
    usage = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True, check=True).stdout
    described = set(re.findall(r"^\./dev (\w+)", usage, re.MULTILINE))
    script = (ROOT / "dev").read_text()
    cases = script[script.rindex('case "$command" in') :]
    assert described == set(re.findall(r"^  (\w+)\)", cases, re.MULTILINE))
    done = subprocess.run([ROOT / "dev", "none"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "there is no command 'none'" in done.stderr


def run(*command):
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
    )


def test_hooks_before_a_commit_run_what_dev_runs():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    script = (ROOT / "dev").read_text()
    entries = re.findall(r"^ +entry: (.+)$", hooks, re.MULTILINE)
    assert len(entries) == hooks.count("- id: ") >= 5
    for entry in entries:
        assert entry in script.replace("format -q", "format")
    assert set(re.findall(r"repo: (\S+)", hooks)) == {"local"}


def test_bench_runs_a_benchmark_by_its_name():
    listed = run("-m", "benchmarks.by_name")
    assert listed.returncode == 0 and {"mlp64", "softmax", "instructions"} <= set(listed.stdout.split())
    unknown = run("-m", "benchmarks.by_name", "softmx")
    assert unknown.returncode == 2 and "did you mean softmax" in unknown.stderr and "mlp64" in unknown.stderr
    checked = run("-m", "benchmarks.by_name", "add_recorded", "--check", "--python", sys.executable)
    assert checked.returncode == 0, checked.stderr


def test_doc_prints_operators_and_checks_pages():
    softmax = run("docs/pages.py", "softmax", "linalg.svd", "lm.Tensor.sum")
    assert softmax.returncode == 0, softmax.stderr
    for part in ("lm.softmax(x, /, axis=-1", "divided by its sum", "lm.linalg.svd(x: Tensor", "lm.Tensor.sum("):
        assert part in softmax.stdout
    unknown = run("docs/pages.py", "softmx")
    assert unknown.returncode == 2 and "did you mean softmax" in unknown.stderr


def test_the_made_part_of_a_page_is_between_its_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table -->\nold\n<!-- end -->\nafter\n")
    assert pages.made(page, "new") == "before\n<!-- table -->\nnew\n<!-- end -->\nafter\n"
    page.write_text("no marks\n")
    with pytest.raises(ValueError, match=r"page\.md has no part"):
        pages.made(page, "new")


@pytest.mark.parametrize("name", pages.PAGES)
def test_pages_are_what_would_be_made(name):
    page = ROOT / "docs" / name
    assert pages.made(page, pages.PAGES[name]()) == page.read_text("utf-8"), "./dev doc writes it"


def test_a_decision_begins_with_its_date_status_and_consequence(tmp_path):
    page = tmp_path / "page.md"
    begin = "# Title\n\n- **Date:** 2026-11-22\n"
    page.write_text(f"{begin}- **Status:** accepted\n- **Consequence:** Two\n  lines.\n\nWhy.\n")
    assert pages.head_of(page) == ("Title", "2026-11-22", "accepted", "Two lines.")
    page.write_text(f"{begin}\nWhy.\n")
    with pytest.raises(ValueError, match="no status"):
        pages.head_of(page)


@pytest.mark.parametrize("name", ["dev", "docs/accuracy.md", "tests/python/ops/__init__.py"])
def test_files_have_the_line_ends_that_git_is_told(name):
    attributes = (ROOT / ".gitattributes").read_text()
    assert re.search(r"^\* +text=auto eol=lf$", attributes, re.MULTILINE)
    assert b"\r" not in (ROOT / name).read_bytes()


def test_patterns_of_attributes_match_files():
    for line in (ROOT / ".gitattributes").read_text().splitlines():
        pattern = line.split()[0] if line and not line.startswith("#") else "*"
        assert any(ROOT.glob(pattern)) or any(ROOT.glob(f"*/**/{pattern}")), pattern


@pytest.mark.skipif(not (shutil.which("ccache") and shutil.which("g++")), reason="needs ccache and g++")
def test_a_precompiled_header_is_not_an_old_one_out_of_the_cache(tmp_path: Path) -> None:
    """ccache takes one that is there for all that it was made of, and so one made anew for another."""
    (tmp_path / "all.hxx").write_text('#include "number.h"\n')
    (tmp_path / "all.hxx.cxx").write_text("\n")
    (tmp_path / "main.cc").write_text("int main() { return number(); }\n")
    made = tmp_path / "all.hxx.gch"
    launcher = [ROOT / "cmake" / "ccache.sh", shutil.which("ccache"), tmp_path]
    include = ["-include", tmp_path / "all.hxx"]
    environment = {**os.environ, "CCACHE_DIR": str(tmp_path / "cache")}
    environment.pop("CCACHE_DISABLE", None)

    def number(value: int) -> int:
        (tmp_path / "number.h").write_text(f"static int number() {{ return {value}; }}\n")
        options = ["-fpch-preprocess", "-Winvalid-pch", "-x", "c++-header", *include, "-o", made]
        compiler = [*launcher, "g++", *options, "-c", "all.hxx.cxx"]
        subprocess.run([*map(str, compiler)], cwd=tmp_path, env=environment, check=True)
        subprocess.run(["g++", *map(str, include), "main.cc", "-o", "main"], cwd=tmp_path, check=True)
        return subprocess.run([tmp_path / "main"], check=False).returncode

    assert number(1) == 1
    first = made.read_bytes()
    assert number(2) == 2
    made.write_bytes(first)
    assert number(3) == 3
