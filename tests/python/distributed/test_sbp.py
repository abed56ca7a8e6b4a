"""Signatures: how they print, are read, and are checked."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import lamella as lm
from lamella.distributed import sbp

PRINTED = {
    "S(0)": "lamella.sbp.split(axis=0)",
    "S(3)": "lamella.sbp.split(axis=3)",
    "B": "lamella.sbp.broadcast",
    "P": "lamella.sbp.partial_sum",
    "P(max)": "lamella.sbp.partial_max",
    "P(min)": "lamella.sbp.partial_min",
}


@pytest.mark.parametrize("short", PRINTED)
def test_short_and_long_forms(short: str) -> None:
    one = sbp.parse(short)
    assert one.short == short and repr(one) == str(one) == PRINTED[short]
    assert pickle.loads(pickle.dumps(one)) is one and copy.deepcopy(one) is one


def test_equal_signatures_are_the_same() -> None:
    assert lm.sbp.split(1) is sbp.split(1)
    assert lm.sbp.broadcast() is lm.sbp.broadcast and lm.sbp.partial_sum() is lm.sbp.partial_sum
    assert [one.is_split for one in (sbp.split(0), sbp.broadcast, sbp.partial_sum)] == [True, False, False]
    assert sbp.partial_max.is_partial and sbp.partial_max.op == "max"


def test_signatures_for_a_mesh() -> None:
    assert sbp.signature("S(-1)", 1, 3, "f") == (sbp.split(2),)
    assert sbp.signature(["B", sbp.split(0)], 2, 1, "f") == (sbp.broadcast, sbp.split(0))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: sbp.split("0"), TypeError, "axis is an int, not str"),
        (lambda: sbp.split(True), TypeError, "axis is an int, not bool"),
        (lambda: sbp.split(0)(), TypeError, "takes no further argument"),
        (lambda: sbp.parse("S"), ValueError, "'S' is no signature"),
        (lambda: sbp.signature("S(2)", 1, 2, "f"), ValueError, r"\[f\] .*out of range for a tensor of 2 axes"),
        (lambda: sbp.signature("B", 2, 2, "f"), ValueError, "1 signatures for a mesh of 2 axes"),
        (lambda: sbp.signature([3], 1, 2, "f"), TypeError, "a signature is"),
    ],
)
def test_mistakes(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
