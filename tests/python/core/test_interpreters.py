"""`import lamella` beside the main interpreter: an ImportError, and no process that waits for ever."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from support import extensions

#: By the module that makes interpreters, a program that runs `code` in a new one and prints what it prints or raises.
WAYS = {
    "_xxsubinterpreters": """
        import _xxsubinterpreters as interpreters
        made = interpreters.create()
        try:
            interpreters.run_string(made, code)
        except interpreters.RunFailedError as error:
            print("failed", error)
        interpreters.destroy(made)
    """,
    "_interpreters": """
        import _interpreters
        made = _interpreters.create()
        error = _interpreters.exec(made, code)
        if error is not None:
            print("failed", error.formatted)
        _interpreters.destroy(made)
    """,
    "concurrent.interpreters": """
        from concurrent import interpreters
        made = interpreters.create()
        try:
            made.exec(code)
        except interpreters.ExecutionFailed as error:
            print("failed", error)
        made.close()
    """,
    "_testcapi": """
        import _testcapi
        print(_testcapi.run_in_subinterp(code))
    """,
}
CODE = """
    try:
        {statement}
    except ImportError as error:
        print("ImportError", error, flush=True)
    else:
        print("it worked", flush=True)
"""


def run(way: str, statement: str, before: str) -> str:
    code = textwrap.dedent(CODE).format(statement=statement)
    program = f"{before}\ncode = {code!r}\n{textwrap.dedent(WAYS[way])}\n{before}\nprint('lives')"
    line = [sys.executable, "-c", program]
    done = subprocess.run(line, capture_output=True, text=True, env=extensions.environment(), timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("before", ["", "import lamella as lm; assert lm.ones([2]).sum().item() == 2"])
@pytest.mark.parametrize("statement", ["import lamella", "import lamella._C", "from lamella import nn"])
@pytest.mark.parametrize("way", WAYS)
def test_a_subinterpreter(way: str, statement: str, before: str) -> None:
    pytest.importorskip(way)
    printed = run(way, statement, before)
    assert "ImportError [lamella]" in printed and "subinterpreter" in printed and "processes" in printed
    assert "it worked" not in printed and printed.endswith("lives\n")


def test_a_second_import_gives_the_same_module() -> None:
    """The types of the module exist once, so that tensors of an earlier import are those of a later one."""
    program = """
        import importlib, sys
        import lamella as lm
        first = sys.modules.pop("lamella._C")
        x = lm.ones([2])
        second = importlib.import_module("lamella._C")
        assert second is first and isinstance(x, second.Tensor) and second.__name__ == "lamella._C"
        assert second.sum(x).item() == 2
        print("lives")
    """
    line = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(line, capture_output=True, text=True, env=extensions.environment(), timeout=120)
    assert done.returncode == 0 and done.stdout == "lives\n", done.stdout + done.stderr
