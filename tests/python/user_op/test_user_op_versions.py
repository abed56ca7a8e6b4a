"""What sources for other versions of OneFlow use: inference, shapes, kernels and what has a gradient."""

import pytest

import lamella as lm
from support.user_ops import load, use


@pytest.fixture(autouse=True, scope="module")
def library():
    load("later_versions")


@pytest.mark.parametrize(("op", "by"), [("v_logical", 2), ("v_physical", 3)])
def test_what_is_inferred(op, by):
    assert use(op, {"x": lm.tensor([1.0, 2.0])}, {"y": 1}).tolist() == [by, 2 * by]


def test_signatures_for_each_axis():
    ways = lm.user_op.sbp_signatures("v_logical", {"x": [lm.empty([2, 3], device="meta")]})
    assert [way["y", 0] for way in ways] == ["S(0)", "S(1)", "B"]


@pytest.mark.parametrize(
    ("how", "shape"),
    [("extended", [1, 2, 3, 4]), ("reduced", [1, 3, 1]), ("ones", [1, 1, 1]), ("range", [2, 3]), ("removed", [2, 3])],
)
def test_shapes(how, shape, capfd):
    x = lm.empty([2, 3, 4], device="meta")
    assert list(lm.ops.user_op.v_shapes(x, how=how).shape) == shape
    assert ("later_versions.cpp" in capfd.readouterr().err) == (how == "ones")


@pytest.mark.parametrize(
    ("how", "kind", "words"),
    [
        ("wrong", IndexError, "no such way"),
        ("type", TypeError, "another type"),
        ("kind", TypeError, "x.NumAxes() == 0 0-d alone"),
        ("later", NotImplementedError, "a way of later"),
        ("fatal", RuntimeError, "no way"),
        ("none", NotImplementedError, "UNIMPLEMENTED() ("),
    ],
)
def test_errors(how, kind, words):
    with pytest.raises(kind) as error:
        use("v_shapes", {"x": lm.ones([2])}, {"y": 1}, how=how)
    assert str(error.value).startswith("[v_shapes]") and words in str(error.value), error.value


def test_caches_are_of_each_call():
    assert [use("v_cached", {"x": lm.ones([n])}, {"y": 1}).tolist() for n in (2, 1)] == [[2, 2], [1]]


def test_the_kernel_of_the_highest_priority():
    x = lm.ones([1])
    assert use("v_named", {"x": x}, {"y": 1}, number=3).tolist() == [3]
    assert use("v_named", {"x": [x, x]}, {"y": 1}, number=3).tolist() == [10]
    assert use("v_named", {"x": [x, x]}, {"y": 1}, number=6).tolist() == [20]
    assert use("v_named", {"x": lm.ones([1], dtype=lm.float16)}, {"y": 1}, number=3).tolist() == [3.5]


def leaf():
    return lm.tensor([1.0, 2.0], stop_gradient=False)


@pytest.mark.parametrize("op", ["v_no_grad", "v_constant_output"])
def test_outputs_that_are_constants(op):
    x = leaf()
    y = use(op, {"x": x}, {"y": 1})
    assert y.stop_gradient
    (y * x).sum().backward()
    assert x.grad.tolist() == [2, 4]


def test_inputs_without_a_gradient():
    x, mean = leaf(), leaf()
    use("v_constant_input", {"x": x, "mean": mean}, {"y": 1}).sum().backward()
    assert x.grad.tolist() == [1, 1] and mean.grad is None
    assert use("v_constant_input", {"x": x, "mean": mean}, {"y": 1}, all=True).stop_gradient
    assert use("v_constant_input", {"x": x.detach(), "mean": mean}, {"y": 1}).stop_gradient


@pytest.mark.parametrize(
    ("op", "kind", "words"),
    [
        ("v_mutable", NotImplementedError, r"input 'x' is to be written to .* declare the new value as an output"),
        ("v_modifies_another", ValueError, r"SetInputArgModifyFn's function: 'y' is an output"),
        ("v_elsewhere", NotImplementedError, r"output 'y' is to lie on cuda, .* on cpu"),
    ],
)
def test_what_is_refused(op, kind, words):
    with pytest.raises(kind, match=rf"\[{op}\] {words}"):
        use(op, {"x": lm.ones([2])}, {"y": 1})


def test_a_gradient_of_whole_numbers():
    y = use("v_whole_gradient", {"x": leaf()}, {"y": 1})
    with pytest.raises(
        TypeError, match=r"\[v_whole_gradient\] the gradient of input 'x' is int32, expected a floating"
    ):
        y.sum().backward()


def test_sizes_that_a_kernel_decides_on_are_not_replayed():
    compiled = lm.compile(lambda x: use("v_nonzero", {"x": x}, {"y": 1}) * 2)
    with pytest.warns(UserWarning, match="the size of v_nonzero's result depends on elements"):
        found = [compiled(lm.tensor(given)).tolist() for given in ([1.0, 0.0], [1.0, 1.0], [0.0, 5.0], [0.0, 0.0])]
    assert found == [[2], [2, 2], [10], []]


def test_operators_that_come_with_the_front_are_told():
    with pytest.raises(ValueError, match=r"no operator 'no_such' .* OneFlow's own operators are there once oneflow is"):
        use("no_such", {"x": lm.ones([1])}, {"y": 1})
