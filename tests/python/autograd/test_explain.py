"""explain(): why there is no gradient, told as a whole, and the lines that trace() writes down."""

import re

import numpy as np
import pytest

import lamella as lm
from lamella.autograd import explain, trace
from support.layers import Cube
from support.tensors import leaf

HINT = "To learn the operation and its line, run the computation under lamella.autograd.trace() and ask again."
PLAIN = (
    " What is computed with plain values is not recorded: compute with tensors, or write a layer whose backward gives "
    "the gradient."
)


class Half(lm.PyLayer):
    """Gives its second input no gradient."""

    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, dy):
        return dy, None


# Leaves that want a gradient


def test_a_gradient_that_is_there():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    assert explain(x) == (
        "x (float32[2] on cpu) has a gradient: x.grad holds what backward passes have added up since it was last "
        "cleared."
    )


def test_a_leaf_that_nothing_uses():
    assert explain(leaf(1.0)) == (
        "x (float32[1] on cpu) is a leaf that wants a gradient, but no recorded operation that is still alive uses it: "
        "nothing was computed from it while recording was on, or what was is dropped. Check that the loss is computed "
        "from this very tensor, not from a copy or a detached one: explain(x, of=loss) tells where the path ends."
    )


def test_backward_was_not_run():
    x = leaf(1.0)
    y = x * 2
    assert explain(x) == (
        "x (float32[1] on cpu) is a leaf that wants a gradient, and a recorded operation uses it, but no backward pass "
        "has brought a gradient: call backward() on what was computed from it. (lamella.autograd.grad() returns "
        "gradients and leaves grad alone.) If backward() did run, no path led from its tensor to x: explain(x, of=that "
        "tensor) tells where it ends."
    )
    del y


@pytest.mark.parametrize("clear", [lambda x: setattr(x, "grad", None), lambda x: x.clear_grad()])
def test_a_gradient_that_was_cleared(clear):
    x = leaf(1.0)
    (x * 2).backward()
    clear(x)
    text = (
        "x (float32[1] on cpu) is a leaf that wants a gradient, and its gradient was cleared (by setting grad to None, "
        "clear_grad() or zero_grad()). No backward pass has brought one since: call backward() again."
    )
    assert explain(x) == text
    clear(x)
    assert explain(x) == text
    (x * 2).backward()
    assert explain(x).startswith("x (float32[1] on cpu) has a gradient")


def test_a_layer_that_gives_none(at):
    a, b = leaf(1.0), leaf(2.0)
    with trace():
        c = b * 3
        y = Half.apply(a, c)  # half
        y.backward()  # pass
    assert explain(b) == (
        f"x (float32[1] on cpu) is a leaf that wants a gradient, but the last backward pass (called at {at('pass')}) "
        f"brought it none: `Half` (called at {at('half')}) gave no gradient (None) for its input 1, and x is reached "
        "through that input only. Return a gradient there if x is to have one."
    )
    (b * 2).backward()
    assert explain(b).startswith("x (float32[1] on cpu) has a gradient")


def test_what_another_path_brings_is_not_missed():
    a = leaf(1.0)
    with trace():
        (Half.apply(a, a) + a).backward()
    a.grad = None
    assert "its gradient was cleared" in explain(a)


# Results of recorded operations


def test_a_result_is_no_leaf(at):
    x = leaf(1.0, 2.0)
    with trace():
        y = x * x  # call
    assert explain(y) == (
        f"x (float32[2] on cpu) is the result of `multiply` (called at {at('call')}) and not a leaf: a backward pass "
        "keeps gradients of leaves only. Call x.retain_grad() before backward(), or use lamella.autograd.grad()."
    )
    y.sum().backward()
    assert explain(y).endswith("A backward pass has freed the graph since: compute x again first.")


def test_a_view_of_a_leaf():
    w = leaf(1.0, 2.0)
    assert explain(w[:1]) == (
        "x (float32[1] on cpu) is the result of `slice` and not a leaf: a backward pass keeps gradients of leaves "
        "only. "
        "Call x.retain_grad() before backward(), or use lamella.autograd.grad(). It is a view of a leaf, whose own "
        "grad "
        "gets this gradient in the view's place."
    )


# Off the tape: what flags tell


def test_a_constant():
    assert explain(lm.ones([2])) == (
        "x (float32[2] on cpu) has stop_gradient=True and no history. Either it was made as a constant: set "
        "x.stop_gradient = False before computing with it if it is to have a gradient. Or it is the result of an "
        "operation that was not recorded: under no_grad(), from inputs none of which wants a gradient, by an operation "
        f"without a gradient, or from plain values (numpy(), item()). {HINT}"
    )


def test_a_dtype_without_gradients():
    assert explain(lm.asarray([1, 2])) == (
        "x (int64[2] on cpu) is of dtype int64, and only floating and complex tensors have gradients. Where it stands "
        "for real values, use a floating copy: x.astype('float32')."
    )


def test_a_detached_tensor():
    assert explain(leaf(1.0).detach()) == (
        "x (float32[1] on cpu) was made by detach(), which gives a constant. Use the tensor it was made from where a "
        f"gradient is to flow. {HINT}"
    )


def test_a_leaf_that_was_stopped():
    x = leaf(1.0)
    x.stop_gradient = True
    assert explain(x) == (
        "x (float32[1] on cpu) is a leaf whose stop_gradient was set to True. Set x.stop_gradient = False before "
        "computing with it if it is to have a gradient."
    )


def test_overwritten_in_place(at):
    y = leaf(1.0) * 2
    y.fill_(0)  # call
    assert explain(y) == (
        f"x (float32[1] on cpu) was overwritten in place by `fill_` (called at {at('call')}), and what was written "
        "is a "
        "constant. Write into a copy, x.clone(), where a gradient is to flow."
    )


def test_memory_of_numpy():
    assert explain(lm.from_numpy(np.ones(2))) == (
        "x (float64[2] on cpu) lies in memory of another library (from_numpy(), asarray() or from_dlpack() took it "
        "over): how it was computed there is not recorded. If it is an input, set x.stop_gradient = False before "
        "computing with it; otherwise compute with tensors."
    )


def test_a_value_of_a_layers_forward():
    kept = []

    class Keeps(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            h = x * x
            y = h * x
            kept.extend([h, y])
            return y

        @staticmethod
        def backward(ctx, dy):
            return dy

    out = Keeps.apply(leaf(1.0))
    assert explain(kept[0]) == (
        "x (float32[1] on cpu) was computed in the forward of a custom layer, where nothing is recorded. Return it "
        "from "
        f"forward, and let the layer's backward give its gradient. {HINT}"
    )
    assert explain(kept[1]) == (
        "x (float32[1] on cpu) is what a layer's forward returned, as the layer itself kept it. The tensor on the tape "
        "is the one that apply() returned: use that one."
    )
    assert out.grad_fn is not None


def test_values_of_a_layers_forward_that_were_picked():
    kept = []

    class Picks(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            kept.extend([x[x > 0], lm.unique_consecutive(x)])
            return x * x

        @staticmethod
        def backward(ctx, dy):
            return dy

    Picks.apply(leaf(1.0))
    assert all("was computed in the forward of a custom layer" in explain(value) for value in kept)


# Off the tape: what trace() writes down


def test_the_chain_back_to_detach(at):
    y = leaf(1.0)
    with trace():
        c = y.detach()  # detach
        d = 2 * c  # mul
        x = lm.ones([1]) + d  # add
    assert explain(x) == (
        f"x (float32[1] on cpu) was computed by `add` (called at {at('add')}) from input 1, which was computed by "
        f"`multiply` (called at {at('mul')}) from input 1, which left the tape at `detach` (called at {at('detach')}): "
        "detach() gives a constant. Use the tensor itself where a gradient is to flow."
    )


def test_no_grad_has_an_operation_and_a_line(at):
    x = leaf(1.0)
    with trace(), lm.no_grad():
        y = lm.exp(x)  # call
    assert explain(y) == (
        f"x (float32[1] on cpu) left the tape at `exp` (called at {at('call')}): recording was off there, by no_grad() "
        "or "
        "set_grad_enabled(False). Compute it outside of that scope, or under enable_grad()."
    )


@pytest.mark.parametrize(
    ("name", "run", "dtype"),
    [
        ("greater", lambda x: x > 0, "bool"),
        ("isnan", lm.isnan, "bool"),
        ("argmax", lm.argmax, "int64"),
        ("argmin", lambda x: lm.argmin(x, axis=0, keepdims=True), "int64"),
        ("any", lm.any, "bool"),
        ("all", lm.all, "bool"),
        ("nonzero", lambda x: lm.nonzero(x)[0], "int64"),
        ("cast", lambda x: x.astype("int32"), "int32"),
    ],
)
def test_results_without_gradients(name, run, dtype):
    x = leaf(1.0, 2.0)
    with trace():
        y = run(x)
    text = explain(y)
    assert re.sub(r"called at .*:\d+", "called at LINE", text.split(") ", 1)[1]) == (
        f"left the tape at `{name}` (called at LINE): its result is {dtype}, and only floating and complex tensors "
        "have "
        "gradients. Use a differentiable operation in its place where a gradient is to flow."
    )


def test_an_operation_without_a_gradient(at):
    x = leaf(1.5)
    with trace():
        y = lm.floor_divide(x, 1.0)  # call
    assert explain(y) == (
        f"x (float32[1] on cpu) left the tape at `floor_divide` (called at {at('call')}): it has no gradient. Use a "
        "differentiable operation in its place where a gradient is to flow."
    )


def test_an_output_marked_non_differentiable(at):
    class Marks(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            a, b = x * 2, x * 3
            ctx.mark_non_differentiable(b)
            return a, b

        @staticmethod
        def backward(ctx, da, db):
            return da * 2

    x = leaf(1.0)
    with trace():
        _, b = Marks.apply(x)  # call
    assert explain(b) == (
        f"x (float32[1] on cpu) left the tape at `Marks` (called at {at('call')}): the layer named this output in "
        "mark_non_differentiable(). Take it out of there, and let the layer's backward give its gradient."
    )


def test_through_numpy(at):
    x = leaf(1.0)
    with trace():
        a = x.detach().numpy()  # out
        y = lm.asarray(np.exp(a))  # back
    assert explain(y) == (
        f"x (float32[1] on cpu) was made of plain values (a number, a list or an array) at {at('back')}, after the "
        "values of a tensor that wants a gradient had been taken out (by numpy(), item() or the like) at "
        f"{at('out')}; that "
        f"tensor left the tape at `detach` (called at {at('out')}): detach() gives a constant. Use the tensor itself "
        f"where a gradient is to flow.{PLAIN}"
    )


def test_through_item(at):
    x = leaf(1.0)
    with trace():
        number = x.item()  # out
        y = lm.tensor([number])  # back
    assert explain(y) == (
        f"x (float32[1] on cpu) was made of plain values (a number, a list or an array) at {at('back')}, after the "
        "values of a tensor that wants a gradient had been taken out (by numpy(), item() or the like) at "
        f"{at('out')}.{PLAIN}"
    )


def test_in_place_from_a_constant(at):
    x = leaf(1.0)
    with trace():
        y = x * 2
        y.copy_(lm.ones([1]))  # call
    assert explain(y) == (
        f"x (float32[1] on cpu) left the tape at `copy_` (called at {at('call')}): a constant was written over it in "
        "place. Write into a copy, x.clone(), where a gradient is to flow."
    )


def test_a_gradient_itself(at):
    x = leaf(1.0)
    with trace():
        (x * 2).backward()  # pass
    assert explain(x.grad) == (
        f"x (float32[1] on cpu) left the tape at `multiply` (called at {at('pass')}): it ran in a backward pass that "
        "was "
        "not recorded. Pass create_graph=True to that pass."
    )


def test_a_long_chain_keeps_its_ends():
    x = leaf(1.0)
    with trace():
        y = x.detach()
        for _ in range(1000):
            y = y + 1
    text = explain(y)
    assert text.count("`add`") < 20
    skipped = sum(int(n) for n in re.findall(r"came through (\d+) more operations", text))
    assert skipped + text.count("`add`") == 1000
    assert "left the tape at `detach`" in text


# With the tensor that backward started from


def test_the_path_from_a_result(at):
    x, w = leaf(1.0), leaf(2.0)
    with trace():
        h = x * w  # h
        y = lm.sum(lm.exp(h))  # y
    assert explain(x, of=y).startswith(
        f"The tape leads from `of` to x (float32[1] on cpu) through `sum` (called at {at('y')}), `exp` (called at "
        f"{at('y')}), `multiply` (called at {at('h')}). x (float32[1] on cpu) is a leaf that wants a gradient"
    )


def test_where_the_path_ends(at):
    x, w = leaf(1.0), leaf(2.0)
    with trace():
        h = (x * 2).detach()  # h
        y = h * w  # y
    assert explain(x, of=y) == (
        "The tape does not lead from `of` (float32[1] on cpu) to x (float32[1] on cpu): a backward pass from there "
        "brings it no gradient. The tape from `of` ends\n"
        f"  at input 0 of `multiply` (called at {at('y')}), which left the tape at `detach` (called at {at('h')}): "
        "detach() gives a constant. Use the tensor itself where a gradient is to flow."
    )
    assert explain(x, of=w * 2) == (
        "The tape does not lead from `of` (float32[1] on cpu) to x (float32[1] on cpu): a backward pass from there "
        "brings it no gradient. To learn where the path is broken, run the computation under "
        "lamella.autograd.trace() and ask again."
    )


def test_from_a_constant():
    assert explain(leaf(1.0), of=lm.asarray([1])) == (
        "No tape leads anywhere from `of`: of (int64[1] on cpu) is of dtype int64, and only floating and complex "
        "tensors "
        "have gradients. Where it stands for real values, use a floating copy: of.astype('float32')."
    )


@pytest.mark.parametrize(
    ("args", "kwargs"), [((1,), {}), ((), {}), ((lm.ones([1]), 2), {}), ((lm.ones([1]),), {"of": "y"})]
)
def test_wrong_arguments(args, kwargs):
    with pytest.raises(TypeError, match=r"^\[explain\]"):
        explain(*args, **kwargs)


# What trace() must not change


def test_tracing_changes_no_gradient():
    def run():
        x = leaf(1.0, -2.0)
        y = Cube.apply(x) * x.detach()
        (g,) = (lm.autograd.grad(y.sum(), x, create_graph=True),)
        (g * g).sum().backward()
        return y.tolist(), g.tolist(), x.grad.tolist()

    expected = run()
    with trace():
        assert run() == expected


def test_gradients_stay_the_same_object_under_trace():
    x = leaf(1.0)
    with trace():
        (x * x).backward()
        grad = x.grad
        (x * x).backward()
    assert x.grad is grad and grad.item() == 4


def test_a_saved_intermediate_is_still_found_under_trace():
    class Wrong(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            h = x * x
            ctx.save_for_backward(h)
            return h * x

        @staticmethod
        def backward(ctx, dy):
            (h,) = ctx.saved_tensors
            return 3 * h * dy

    x = leaf(2.0)
    with trace():
        g = lm.autograd.grad(Wrong.apply(x), x, create_graph=True)
        with pytest.raises(RuntimeError, match="a second derivative reached a value"):
            lm.autograd.grad(g, x)
