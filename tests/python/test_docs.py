"""The Python examples of the pages for users run, block after block, as somebody who reads would type them.

An expression with a literal behind it (`x.tolist()  # [1.0, 2.0]`) has that value, and a block without a language, or
of the language `text`, is what the Python before it prints.
"""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import lamella as lm

DOCS = Path(__file__).resolve().parents[2] / "docs"

#: For each page, how many values and printed texts it promises at least.
PAGES = {
    "getting-started.md": 0,
    "custom-layers.md": 1,
    "derivatives.md": 5,
    "dtypes.md": 6,
    "hooks.md": 6,
    "linalg.md": 3,
    "finding-out.md": 3,
    "vmap.md": 4,
    "operators.md": 8,
    "devices.md": 1,
    "array-api.md": 6,
    "autograd/index.md": 4,
    "coming-from-pytorch.md": 7,
}


def blocks(page):
    """The fenced blocks, as (language, text)."""
    return re.findall(r"^```(\w*)\n(.*?)^```", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)


def python_blocks(page):
    return [text for language, text in blocks(page) if language == "python"]


def promised_value(line):
    """The literal in a comment at the end of a line, in a list; an empty one where there are words, or nothing."""
    comment = re.fullmatch(r".*?  # (.*)", line)
    try:
        return [ast.literal_eval(comment[1])] if comment else []
    except (SyntaxError, ValueError):
        return []


def run(source, names):
    """Runs a block statement by statement, and says how many promised values it held."""
    lines, count = source.splitlines(), 0
    for statement in ast.parse(source).body:
        promised = promised_value(lines[statement.end_lineno - 1])
        if isinstance(statement, ast.Expr) and promised:
            value = eval(compile(ast.Expression(statement.value), "train.py", "eval"), names)
            assert value == promised[0], lines[statement.end_lineno - 1]
            count += 1
        else:
            exec(compile(ast.Module([statement], []), "train.py", "exec"), names)
    return count


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {
        "lm": lm,
        "x": lm.tensor([1.0, 2.0, 3.0], stop_gradient=False),
        "batches": [(lm.rand((4, 64)), lm.asarray(np.array([1, 2, 3, 4])))],
        "train_one_epoch": lambda: 0.5,
    }
    promises, printed = 0, ""
    for language, text in blocks(page):
        if language == "python":
            promises += run(text, names)
            printed = capsys.readouterr().out
        elif language in ("", "text"):
            # Lines are broken to the width of the page. What follows is the frames of this test.
            assert " ".join(printed.split()).startswith(" ".join(text.split()))
            promises += 1
    assert python_blocks(page) and promises >= PAGES[page]


def test_layers_of_the_page_are_right():
    names = {"lm": lm, "x": lm.tensor([0.5, -1.0], stop_gradient=False)}
    for source in python_blocks("custom-layers.md"):
        exec(source, names)
    values = np.array([0.5, -1.0], dtype=np.float32)
    expected = {"Tanh": 1 - np.tanh(values) ** 2, "Double": np.full(2, 2.0), "Arctan": 1 / (1 + values**2)}
    for name, slope in expected.items():
        x = lm.tensor(values, stop_gradient=False)
        names[name].apply(x * 1).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), slope, rtol=1e-6)
