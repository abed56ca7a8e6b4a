"""cmake/check_comments.py finds comments that lean on the one before, in C++ and in Python, and no others."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("check_comments", ROOT / "cmake" / "check_comments.py")
assert spec is not None and spec.loader is not None
check_comments = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_comments)

HEADER = """\
/// Returns the sum of x.
/// What comes second is read with the first line.
Tensor sum(const Tensor& x);
/// The same for several.
Tensor sums(const std::vector<Tensor>& x);
int count;  ///< Of the terms.
// What is no comment of a declaration.
"""


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("sum.h", HEADER, [4, 6]),
        ("sum.cc", HEADER, [4, 6]),
        ("sum.py", '"""Whether it works."""\n\n\ndef f():\n    """Returns what f does."""\n', [1]),
        ("sum.txt", HEADER, []),
    ],
)
def test_comments_that_lean_are_found(tmp_path, name, text, lines):
    (tmp_path / name).write_text(text)
    found = check_comments.leaning(tmp_path)
    assert [int(line.removeprefix(f"{tmp_path / name}:").split(":")[0]) for line in found] == lines
