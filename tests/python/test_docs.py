"""The Python examples of the pages for users run, block after block, as somebody who reads would type them."""

import re
from pathlib import Path

import numpy as np
import pytest

import lamella as lm

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)


def check_last_lines(source, names):
    """A line `expression  # value` without an assignment promises a value."""
    for line in source.splitlines():
        found = re.fullmatch(r"([a-z][\w.,()=\[\] ]*?)  +# (\S.*)", line)
        if found and "=" not in re.sub(r"\w+=[^=]", "", found[1]):
            try:
                promised = eval(found[2], dict(names))
            except (SyntaxError, NameError):
                continue  # words, not a value
            assert eval(found[1], names) == promised, line


@pytest.mark.parametrize(
    "page",
    [
        *("getting-started.md", "custom-layers.md", "derivatives.md", "hooks.md", "finding-out.md", "vmap.md"),
        "array-api.md",
    ],
)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {
        "lm": lm,
        "x": lm.tensor([1.0, 2.0, 3.0], stop_gradient=False),
        "batches": [(lm.rand((4, 64)), lm.asarray(np.array([1, 2, 3, 4])))],
        "train_one_epoch": lambda: 0.5,
    }
    found = blocks(page)
    assert len(found) >= 3
    for source in found:
        exec(compile(source, page, "exec"), names)
        check_last_lines(source, names)


def test_layers_of_the_page_are_right():
    names = {"lm": lm, "x": lm.tensor([0.5, -1.0], stop_gradient=False)}
    for source in blocks("custom-layers.md"):
        exec(source, names)
    values = np.array([0.5, -1.0], dtype=np.float32)
    expected = {"Tanh": 1 - np.tanh(values) ** 2, "Double": np.full(2, 2.0), "Arctan": 1 / (1 + values**2)}
    for name, slope in expected.items():
        x = lm.tensor(values, stop_gradient=False)
        names[name].apply(x * 1).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), slope, rtol=1e-6)
