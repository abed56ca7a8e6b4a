"""lm.progress: what it prints, on a terminal, in a notebook and elsewhere."""

import io
import sys
import types

import pytest

import lamella as lm
from lamella.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_items_pass_through():
    file = io.StringIO()
    assert list(progress([3, 1, 2], file=file)) == [3, 1, 2]
    assert list(progress(iter("ab"), file=file)) == ["a", "b"]
    assert list(progress([], file=file)) == []


def test_a_log_gets_few_lines():
    file = io.StringIO()
    for _ in progress(range(1000), description="work", unit="step", file=file):
        pass
    (line,) = file.getvalue().splitlines()
    assert line.startswith("work: 100% 1000/1000  ") and "step/s" in line


def test_every_step_where_asked():
    file = io.StringIO()
    for _ in progress(range(4), file=file, interval=0):
        pass
    assert [line.split()[1] for line in file.getvalue().splitlines()] == ["1/4", "2/4", "3/4", "4/4"]
    assert "left" in file.getvalue().splitlines()[0] and "left" not in file.getvalue().splitlines()[-1]


def test_a_terminal_gets_one_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    file = Terminal()
    bar = progress(range(10), description="work", file=file, interval=0)
    for i in bar:
        bar.set(loss=1 / (i + 3), accuracy="97 %", count=lm.tensor(2.5))
    text = file.getvalue()
    assert text.count("\n") == 1 and text.endswith("\n")
    last = text.rstrip("\n").split("\r")[-1]
    assert last.startswith("work: [====") and "] 100% 10/10" in last
    assert "loss 0.08333" in last and "accuracy 97 %" in last and "count 2.5" in last
    assert max(len(line) for line in text.split("\r")) <= 100


def test_lines_above_the_bar(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    file = Terminal()
    with progress(total=2, file=file, interval=0) as bar:
        bar.update()
        bar.write("a remark")
        bar.update()
    screen = [line.split("\r")[-1].rstrip() for line in file.getvalue().split("\n")]
    assert screen[0] == "a remark" and screen[1].endswith("0:00") and "2/2" in screen[1]
    plain = io.StringIO()
    with progress(total=2, file=plain) as bar:
        bar.write("a remark")
    assert plain.getvalue().splitlines()[0] == "a remark"


def test_without_a_total():
    file = io.StringIO()
    bar = progress(iter(range(3)), unit="row", file=file)
    assert sum(bar) == 3
    assert file.getvalue().startswith("3 row  ")
    with pytest.raises(TypeError, match="length is not known"):
        len(bar)
    assert len(progress(range(7), file=file)) == 7


def test_a_loop_within_a_loop_shares_the_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    file = Terminal()
    for _ in progress(range(2), description="training", file=file, interval=0):
        for _ in progress(range(3), description="batch", file=file, interval=0):
            pass
    text = file.getvalue()
    # One line in all, whose last state is the outer loop's.
    assert text.count("\n") == 1 and text.rstrip("\n").split("\r")[-1].startswith("training: [====")
    assert "\rtraining 1/2 > batch: [==" in text and max(map(len, text.split("\r"))) <= 90
    elsewhere = Terminal()
    with progress(total=1, file=elsewhere, interval=0) as bar, progress(total=2, file=file, interval=0) as other:
        other.update()
        bar.update()
    assert " > " not in elsewhere.getvalue() + file.getvalue()[len(text) :]


def test_a_loop_that_is_left_early_leaves_no_trace():
    file = Terminal()
    for item in progress(range(5), file=file, interval=0):
        if item == 2:
            break
    assert list(progress(range(2), description="next", file=file, interval=0)) == [0, 1]
    assert " > " not in file.getvalue()


def test_a_notebook_shows_a_bar_that_moves(monkeypatch, capsys):
    shown = []

    class Handle:
        def update(self, thing):
            shown.append(thing._repr_html_())

    def display(thing, display_id):
        shown.append(thing._repr_html_())
        return Handle()

    notebook = types.ModuleType("IPython")
    notebook.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    notebook.display = types.ModuleType("IPython.display")
    notebook.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", notebook.display)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    bar = lm.utils.progress(range(2), description="a < b", interval=0)
    for _ in bar:
        bar.write("a remark")
    assert [html.split(" style")[0] for html in shown] == [f"<progress value='{i}' max='2'" for i in (1, 2)]
    assert "a &lt; b: 100% 2/2" in shown[-1] and capsys.readouterr().out == "a remark\n" * 2
    assert sys.stderr.getvalue() == ""


def test_an_exception_closes_the_bar():
    file = Terminal()
    with pytest.raises(KeyError), progress(total=3, file=file) as bar:
        bar.update()
        raise KeyError
    assert file.getvalue().endswith("\n") and "1/3" in file.getvalue()
    before = file.getvalue()
    bar.close()
    assert file.getvalue() == before


def test_disabled_prints_nothing():
    file = io.StringIO()
    bar = progress(range(3), file=file, interval=0, disable=True)
    for _ in bar:
        bar.set(loss=1)
        bar.write("line")
    assert file.getvalue() == ""


def test_bad_arguments():
    with pytest.raises(ValueError, match="total is negative"):
        progress(total=-1)
    with pytest.raises(TypeError, match="without an iterable"):
        list(progress(total=3))
