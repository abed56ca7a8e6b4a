"""Counts of inputs and outputs, attributes, kernels' choice, buffers and states."""

import numpy as np
import pytest

import lamella as lm
from support.user_ops import load, use


@pytest.fixture(autouse=True, scope="module")
def library():
    load("declarations")


def test_many_inputs_and_their_gradients():
    xs = [lm.tensor([[float(i)] * 2] * 2, stop_gradient=False) for i in range(3)]
    y = use("t_add_n", {"in": xs}, {"out": 1})
    assert y.tolist() == [[3, 3], [3, 3]]
    (2 * y).sum().backward()
    assert all(x.grad.tolist() == [[2, 2], [2, 2]] for x in xs)
    with pytest.raises(ValueError, match=r"\[t_add_n\] input 'in' is at least 2 tensors, 1 was given"):
        use("t_add_n", {"in": xs[0]}, {"out": 1})


def test_a_gradient_of_built_in_operators():
    x = lm.tensor([1.5, -2.0], dtype=lm.float64, stop_gradient=False)

    def square(x):
        return use("t_square", {"x": x}, {"y": 1})

    assert lm.autograd.gradcheck(square, [x])
    assert lm.autograd.gradgradcheck(square, [x])


def test_sbp_signatures():
    x = lm.empty([4, 6], device="meta")
    ways = lm.user_op.sbp_signatures("t_add_n", {"in": [x, x]})
    keys = [("in", 0), ("in", 1), ("out", 0)]
    assert ways == [dict.fromkeys(keys, how) for how in ("S(0)", "S(1)", "P", "B")]


COUNTED = {"out": 1, "two": 2, "many": 1}


def counts(inputs, **outputs):
    x = lm.zeros([1])
    given = {"a": x, "pair": [x, x]} | {name: [x] * count for name, count in inputs.items()}
    return [y.tolist() for y in use("t_counts", given, COUNTED | outputs)]


def test_optional_inputs_and_outputs():
    results = counts({})
    assert [row[:6] for row in results] == [[1, 2, 0, 0, 0, 0]] * 4
    assert [row[6] for row in results] == [0, 1, 2, 3]
    results = counts({"maybe": 1, "maybe_pair": 2, "some": 3, "some_more": 1}, many=3, extra=1, extras=2)
    assert len(results) == 9 and results[0][:6] == [1, 2, 1, 2, 3, 1]


@pytest.mark.parametrize(
    ("inputs", "outputs", "words"),
    [
        ({"pair": 3}, {}, "input 'pair' is 2 tensors, 3 were given"),
        ({"maybe": 2}, {}, "input 'maybe' is none or 1 tensor, 2 were given"),
        ({"maybe_pair": 1}, {}, "input 'maybe_pair' is none or 2 tensors, 1 was given"),
        ({"some": 1}, {}, "input 'some' is none or at least 2 tensors, 1 was given"),
        ({}, {"two": 1}, "output 'two' is 2 tensors, 1 was given"),
        ({}, {"many": 0}, "output 'many' is at least 1 tensor, 0 were given"),
        ({}, {"extra": 2}, "output 'extra' is none or 1 tensor, 2 were given"),
        ({}, {"extras": 1}, "output 'extras' is none or at least 2 tensors, 1 was given"),
        ({"nothing": 1}, {}, "has no input 'nothing': it has 'a', 'pair', 'maybe', 'maybe_pair', 'some', 'some_more'"),
        ({}, {"other": 1}, "has no output 'other'"),
    ],
)
def test_wrong_counts(inputs, outputs, words):
    with pytest.raises(ValueError) as error:
        counts(inputs, **outputs)
    assert str(error.value).startswith(f"[t_counts] {words}"), error.value


DEFAULTS = [0, 0.5, 2, 4, 6, 6, 12, 1, 1.5, 2, 30, 2]


def attrs(**given):
    return use("t_attrs", {"x": lm.zeros([1])}, {"out": 1}, **given).tolist()


def test_attributes_of_every_type():
    assert attrs(i32=3, i64=2**40) == [3, 2**40, *DEFAULTS]
    assert attrs(i32=np.int64(3), i64=4, b=True, f=1, d=0.25, s="ab", shape=(4, 5), dtype=lm.float64) == [
        3, 4, 1, 1, 0.25, 2, 20, 3, *DEFAULTS[6:],
    ]  # fmt: skip
    assert attrs(
        i32=3, i64=4, li32=[7], li64=[], lf=[2, 0.5], ldtype=[lm.float32, lm.int32], lshape=[(3, 3)], ls=["xyz"]
    ) == [3, 4, *DEFAULTS[:6], 7, 0, 2, 5, 9, 3]
    for double in (np.float64, np.dtype("float64")):
        assert attrs(i32=3, i64=4, dtype=double, ldtype=[double]) == attrs(
            i32=3, i64=4, dtype=lm.float64, ldtype=[lm.float64]
        )


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"i64": 1}, ValueError, "attribute 'i32' (kAtInt32) has no value and no default"),
        ({"i32": 2**31, "i64": 1}, ValueError, "attribute 'i32' is 2147483648, which does not fit"),
        ({"i32": 0.5, "i64": 1}, TypeError, "attribute 'i32' is of type kAtDouble, and kAtInt32 is declared"),
        ({"i32": 1, "i64": 1, "s": 3}, TypeError, "attribute 's' is of type kAtInt64, and kAtString is declared"),
        ({"i32": 1, "i64": 1, "none": 3}, ValueError, "has no attribute 'none': it has 'i32', 'i64', 'b'"),
    ],
)
def test_wrong_attributes(given, kind, words):
    with pytest.raises(kind) as error:
        attrs(**given)
    assert str(error.value).startswith(f"[t_attrs] {words}")


def test_a_default_that_fails_its_check_is_found_in_use():
    with pytest.raises(ValueError, match=r"\[t_checked\] data_format value: NCHW for Conv op is illegal"):
        use("t_checked", {"x": lm.zeros([1])}, {"out": 1})
    with pytest.raises(NotImplementedError, match="no kernel"):  # the check is passed
        use("t_checked", {"x": lm.zeros([1])}, {"out": 1}, data_format="channels_last")


def test_state_buffer_and_kernels_by_attribute():
    x = lm.zeros([2])
    values = [use("t_state", {"x": x}, {"out": 1}, "one").tolist()[0] for _ in range(3)]
    assert values == [1, 2, 3]
    assert use("t_state", {"x": x}, {"out": 1}, "another").tolist() == [1, 1]
    assert use("t_state", {"x": x}, {"out": 1}, "one", way=2).tolist() == [101, 101]
    assert use("t_state", {"x": lm.zeros([0])}, {"out": 1}, "one").shape == (0,)
    assert use("t_state", {"x": x}, {"out": 1}, "one").tolist() == [5, 5]  # the empty call was computed too
    with pytest.raises(NotImplementedError, match="attribute way == 0"):
        use("t_state", {"x": x}, {"out": 1}, way=3)


def test_builder_mistakes():
    builder = lm.user_op.user_op_builder("b")
    with pytest.raises(ValueError, match="call Op"):
        builder.Build()
    with pytest.raises(TypeError, match="takes a list of Tensors"):
        builder.Op("t_add_n").Input("in", lm.zeros([1]))
    two = builder.Input("in", [lm.zeros([1]), lm.zeros([1])]).Output("out").Build()
    with pytest.raises(RuntimeError, match="InferAndTryRun"):
        two.RemoteBlobList()
    assert two.InferAndTryRun().SoleOutputBlob().tolist() == [0]
    many = lm.user_op.user_op_builder("c").Op("t_counts").Input("a", [lm.zeros([1])])
    many.Input("pair", [lm.zeros([1])] * 2).Output("out").Output("two", 2).Output("many")
    with pytest.raises(ValueError, match="there are 4: use RemoteBlobList"):
        many.Build().InferAndTryRun().SoleOutputBlob()
    with pytest.raises(ValueError, match=r"no operator 't_nowhere' is registered; there are .*'t_counts'"):
        use("t_nowhere", {})
