"""Tensors, modules, graphs and drawings as notebooks show them: well-formed, with the numbers that are there."""

import math
import webbrowser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import lamella as lm
from lamella import nn

RNG = np.random.default_rng(11)


def parsed(shown):
    """Returns what a notebook is given as a tree, which it is only if it is well-formed."""
    return ElementTree.fromstring(f"<div>{shown}</div>")


def texts(tree, tag):
    return ["".join(element.itertext()) for element in tree.iter(tag)]


@pytest.mark.parametrize(
    ("x", "head", "cells"),
    [
        (lm.tensor([[1.0, -2.0], [0.25, 0.0]]), "Tensor float32[2, 2] on cpu", ["1", "-2", "0.25", "0"]),
        (lm.tensor([1.5, math.nan, -math.inf]), "Tensor float32[3] on cpu", ["1.5", "nan", "-inf"]),
        (lm.tensor([True, False]), "Tensor bool[2] on cpu", ["True", "False"]),
        (lm.tensor([255, 7], dtype="uint8"), "Tensor uint8[2] on cpu", ["255", "7"]),
        (lm.ones([2], dtype="bfloat16"), "Tensor bfloat16[2] on cpu", ["1", "1"]),
        (lm.tensor([1 + 2j]), "Tensor complex64[1] on cpu", ["1+2j"]),
        (lm.zeros([3, 0]), "Tensor float32[3, 0] on cpu", []),
        (lm.empty([3], device="meta"), "Tensor float32[3] on meta", []),
        (nn.Parameter(lm.ones([1])), "Parameter float32[1] on cpu, stop_gradient=False", ["1"]),
        (nn.Parameter(lm.ones([1])) * 2, "Tensor float32[1] on cpu, grad_fn=<multiply node>", ["2"]),
    ],
)
def test_tensors_show_their_numbers(x, head, cells):
    tree = parsed(x._repr_html_())
    assert texts(tree, "code") == [head] and texts(tree, "td") == cells


@pytest.mark.parametrize("shape", [(), (2, 3, 4), (1, 1, 1, 1), (30, 30, 2)])
def test_other_tensors_are_a_text(shape):
    tree = parsed(lm.asarray(RNG.normal(size=shape))._repr_html_())
    (text,) = texts(tree, "pre")
    assert not texts(tree, "td") and text.count("[") == text.count("]") and len(text) < 3000


def test_the_middle_of_large_tensors_is_left_out():
    values = np.arange(40 * 11).reshape(40, 11)
    rows = [[cell.text for cell in row.iter("td")] for row in parsed(lm.asarray(values)._repr_html_()).iter("tr")]
    shown = [*range(5), None, *range(35, 40)], [*range(5), None, *range(6, 11)]
    assert rows == [["…" if None in (i, j) else str(values[i, j]) for j in shown[1]] for i in shown[0]]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8"])
def test_the_range_of_the_numbers_is_told(dtype):
    values = RNG.integers(0, 100, (4, 5)).astype(np.float32)
    x = lm.asarray(values).astype(dtype)
    told = f"from {values.min():.4g} to {values.max():.4g}, mean {values.mean():.4g}"
    assert texts(parsed(x._repr_html_()), "small") == [told]
    if dtype == "float32":
        x[1, 2] = math.nan
        rest = np.delete(values.ravel(), 7)
        told = f"from {rest.min():.4g} to {rest.max():.4g}, mean {rest.mean():.4g}, 1 not finite"
        assert texts(parsed(x._repr_html_()), "small") == [told]
        assert texts(parsed((x * math.nan)._repr_html_()), "small") == ["20 not finite"]


def test_colors_tell_size_and_sign():
    tree = parsed(lm.tensor([4.0, -2.0, 0.0])._repr_html_())
    styles = [cell.get("style").partition("background: ")[2] for cell in tree.iter("td")]
    assert styles == ["rgba(66, 133, 244, 0.60)", "rgba(234, 67, 53, 0.30)", ""]


def test_looking_records_nothing_and_counts_nowhere():
    x = lm.ones([2], dtype="float32")
    x.stop_gradient = False
    y = x * 2
    first, second = ((y * 1).grad_fn.sequence_nr for _ in range(2))
    y._repr_html_()
    assert (y * 1).grad_fn.sequence_nr - second == second - first
    seen = []
    lm.vmap(lambda row: seen.append(row._repr_html_()) or row * 2)(lm.ones([2, 3]))
    assert len(seen) == 1 and not texts(parsed(seen[0]), "td")


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = nn.Linear(2, 3)
        self.parts = nn.ModuleDict({"a<b": nn.ReLU()})
        self.register_buffer("seen", lm.zeros([4]))
        self.scale = nn.Parameter(lm.ones([5]))

    def extra_repr(self):
        return "x < 1 & 'y'"


def test_modules_are_trees():
    model = Odd()
    model.part.bias.stop_gradient = True
    tree = parsed(model._repr_html_())
    lines = [" ".join(line.split()) for line in texts(tree, "summary") + texts(tree, "code")]
    assert "Odd(x < 1 & 'y') 14 parameters, 3 frozen" in lines and "a<b: ReLU()" in lines
    assert {"scale float32[5]", "seen float32[4]", "weight float32[3, 2]", "bias float32[3]"} <= set(lines)
    model.requires_grad_(False)
    assert "14 parameters, all frozen" in model._repr_html_()
    # Parts are folded, the model itself is not.
    assert [details.get("open") for details in tree.iter("details")] == ["open", None, None]


def test_tables_are_escaped_and_lead_to_the_left():
    shown = nn.Sequential(Odd()).summary()._repr_html_()
    cells = [(cell.text, cell.get("style")) for cell in parsed(shown.replace("&emsp;", "  ")).iter("td")]
    assert ("      a<b", "text-align: left") in cells and ("5", "text-align: right") in cells


def test_a_graph_is_its_drawing():
    graph = lm.graph.Graph()
    x = graph.input("x", "float32", [2])
    assert graph._repr_svg_() is None
    with lm.graph.recording(graph):
        lm.tanh(x)
    assert graph._repr_svg_() == graph.draw() and "tanh" in graph._repr_svg_()


@pytest.mark.parametrize("form", ["svg", "text"])
def test_drawings_open_in_the_browser(form, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    x = lm.ones([2])
    x.stop_gradient = False
    file = Path(lm.autograd.draw((x * x).sum(), format=form).show())
    try:
        assert opened == [file.as_uri()]
        page = file.read_text("utf-8")
        assert page.startswith("<!DOCTYPE html>") and "multiply" in page and ("<svg" in page) == (form == "svg")
    finally:
        file.unlink()
