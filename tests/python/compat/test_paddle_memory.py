"""Memory of the paddle front's tensors: which results, copies and gradients have their own, as in Paddle."""

import subprocess
import sys
import textwrap

HEADER = """
import copy
import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer

evaluated = paddle.nn.Dropout(0.5)
evaluated.eval()

def leaf(values=(1.0, 2.0, 3.0)):
    return paddle.to_tensor(np.array(values, "float32"), stop_gradient=False)

class ZeroFirst(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        dy[0] = 0.0
        return dy
"""

#: Results on memory of their own, of a matrix ``x`` of 2 by 3.
OWN = [
    "x.expand([4, 2, 3])",
    "x.expand([2, 3])",
    "x[:1].expand([2, -1])",
    "x.expand_as(paddle.zeros([4, 2, 3]))",
    "x.broadcast_to([2, 2, 3])",
    "paddle.broadcast_to(x, [2, 3])",
    "paddle.broadcast_tensors([x, paddle.zeros([2, 2, 3])])[0]",
    "paddle.meshgrid(x[0], x[1])[0]",
    "paddle.cast(x, 'float32')",
    "x.cast('float32')",
    "x.to('float32')",
    "x.to(dtype=paddle.float32)",
    "paddle.crop(x, [2, 3])",
    "paddle.einsum('ij->ji', x)",
    "paddle.einsum('ii->i', x[:, :2])",
    "F.dropout(x, 0.5, training=False)",
    "F.alpha_dropout(x, 0.0)",
    "F.feature_alpha_dropout(x, 0)",
    "paddle.nn.AlphaDropout(0.0)(x)",
    "paddle.nn.FeatureAlphaDropout(0)(x)",
    "x.conj()",
    "paddle.conj(x)",
    "F.pixel_shuffle(x.reshape([1, 2, 3, 1]), 1).reshape([2, 3])",
    "F.pixel_unshuffle(x.reshape([1, 2, 3, 1]), 1).reshape([2, 3])",
    "F.channel_shuffle(x.reshape([1, 2, 3, 1]), 1).reshape([2, 3])",
    "paddle.incubate.identity_loss(x)",
    "paddle.signal.frame(x.reshape([6]), 3, 3).transpose([1, 0]).reshape([2, 3])",
    "evaluated(x)",
]
#: Results that show the memory of ``x``.
SHOWN = [
    "x.reshape([6])",
    "x.transpose([1, 0])",
    "x[0]",
    "x.detach()",
    "x.astype('float32')",
    "x.to('cpu')",
    "x.unbind()[0]",
    "F.dropout(x, 0.0, axis=0)",
    "F.dropout(x, 0, mode='downscale_in_infer')",
    "F.dropout(x, 0, training=False)",
    "F.dropout(x, 0.5, axis=[0, 1], training=False)",
    "F.alpha_dropout(x, 0.0, training=False)",
]

#: Gradients after something was written into one: a program, and the numbers that it leaves in ``made``.
WRITTEN = {
    "that of a sum, in a layer": ("x = leaf(); ZeroFirst.apply(x).sum().backward(); made = x.grad", [0, 1, 1]),
    "that of a mean, in a layer": ("x = leaf(); ZeroFirst.apply(x).mean().backward(); made = x.grad * 3", [0, 1, 1]),
    "below another branch": ("x = leaf(); (x + ZeroFirst.apply(x)).sum().backward(); made = x.grad", [1, 2, 2]),
    "of a layer that is recorded": (
        "x = leaf(); made, = paddle.grad(ZeroFirst.apply(x).sum(), x, create_graph=True)",
        [0, 1, 1],
    ),
    "of paddle.grad, of a sum": ("x = leaf(); made, = paddle.grad(x.sum(), x); made[1] = 7.0", [1, 7, 1]),
    "of paddle.grad, of a mean": ("x = leaf(); made, = paddle.grad(x.mean() * 3, x); made[1] = 7.0", [1, 7, 1]),
    "of paddle.grad, beside another": (
        "x, y = leaf(), leaf(); one, made = paddle.grad((x + y) * leaf(), [x, y]); one[0] = 9.0",
        [1, 2, 3],
    ),
    "of paddle.grad, which was given": (
        "x, made = leaf(), leaf().detach(); one, = paddle.grad(x * 1, x, made); one[0] = 9.0",
        [1, 2, 3],
    ),
}

#: Tensors to copy, and the one of each whose gradient is looked at.
COPIES = {
    "a layer": ("paddle.nn.Linear(3, 3)", "weight"),
    "a parameter": ("paddle.create_parameter([3, 3], 'float32')", ""),
    "a tensor": ("leaf(np.ones((3, 3)))", ""),
}


def _run(code):
    command = [sys.executable, "-m", "lamella.compat", "-c", HEADER + textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_results():
    _run(
        f"""
        for own, codes in ((True, {OWN!r}), (False, {SHOWN!r})):
            for code in codes:
                x = paddle.arange(6, dtype="float32").reshape([2, 3])
                made, before = eval(code), x.numpy()
                made[...] = -7.0
                assert (made.numpy() == -7).all() and (x.numpy() == before).all() == own, code
                x.set_value(np.full((2, 3), 5, "float32"))
                assert (made.numpy() == -7).all() == own, code
        """
    )


def test_results_pass_gradients_on():
    _run(
        f"""
        for code in {OWN!r}:
            x = leaf(np.arange(6).reshape(2, 3))
            made = eval(code)
            made.sum().backward()
            assert x.grad.sum() == made.size, code
        """
    )


def test_gradients_that_are_written_into():
    _run(
        f"""
        for title, (code, wanted) in {WRITTEN!r}.items():
            exec(code)
            assert np.allclose(made.numpy(), wanted), (title, made)
        """
    )


def test_copies_have_no_gradient():
    _run(
        f"""
        for title, (code, name) in {COPIES!r}.items():
            one = eval(code)
            of = lambda x: x if not name else getattr(x, name)
            of(one).sum().backward()
            twin = copy.deepcopy(one)
            assert of(one).grad is not None and of(twin).grad is None, title
            of(twin).sum().backward()
            assert of(twin).grad.max() == 1 and of(one).grad.max() == 1, title
        """
    )


#: Gradients of inputs that outputs do not depend on: None with ``allow_unused``, else a ValueError.
UNUSED = ["a.sum(), b", "[a.sum()], [a, b]", "c.sum(), a", "a.sum(), b, create_graph=True"]


def test_gradients_of_unused_inputs():
    _run(
        f"""
        a, b, c = leaf(), leaf(), leaf().detach()
        for text in {UNUSED!r}:
            assert eval("paddle.grad(" + text + ", allow_unused=True)")[-1] is None, text
            try:
                eval("paddle.grad(" + text + ")")
            except ValueError as error:
                assert "[grad]" in str(error) and "allow_unused" in str(error), error
            else:
                raise AssertionError(text)
        made, = paddle.grad([a.sum(), c.sum()], a)
        assert made.tolist() == [1, 1, 1]
        """
    )
