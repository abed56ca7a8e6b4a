"""The paddle front: custom layers in Paddle's dialect, and the functions that programs with them use."""

import subprocess
import sys
import textwrap

import pytest

HEADER = """
import numpy as np
import paddle
from paddle.autograd import PyLayer

def raises(kind, function, *words):
    try:
        function()
    except kind as error:
        missing = [word for word in words if word not in str(error)]
        assert not missing, f"{error} lacks {missing}"
        return error
    raise AssertionError(f"{kind.__name__} was not raised")

def leaf(values, dtype="float32"):
    return paddle.to_tensor(values, dtype=dtype, stop_gradient=False)
"""


def run(code):
    script = HEADER + textwrap.dedent(code)
    command = [sys.executable, "-m", "lamella.compat", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


LAYERS = {
    "saved output and attribute": """
        class Scaled(PyLayer):
            @staticmethod
            def forward(ctx, x, factor, shift=1.0):
                y = paddle.tanh(x) * factor + shift
                ctx.factor = factor
                ctx.save_for_backward(y - shift)
                return y

            @staticmethod
            def backward(ctx, dy):
                scaled, = ctx.saved_tensor()
                return dy * (ctx.factor - paddle.square(scaled) / ctx.factor)

        x = leaf([[0.1, -0.2, 0.3]])
        y = Scaled.apply(x, 2.0, shift=0.5)
        assert not y.stop_gradient
        y.mean().backward()
        np.testing.assert_allclose(x.grad.numpy(), 2 * (1 - np.tanh(x.numpy()) ** 2) / 3, 1e-5)
        """,
    "keywords in another order than the signature": """
        class Weighted(PyLayer):
            @staticmethod
            def forward(ctx, a, b):
                return 2 * a + 3 * b

            @staticmethod
            def backward(ctx, dy):
                return 2 * dy, 3 * dy

        a, b = leaf([1.0]), leaf([1.0])
        Weighted.apply(b=b, a=a).backward()
        assert a.grad.numpy().tolist() == [2.0] and b.grad.numpy().tolist() == [3.0]
        """,
    "a shape beside a tensor": """
        class Shaped(PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x * 1, x.shape

            @staticmethod
            def backward(ctx, dy):
                return dy

        y, shape = Shaped.apply(leaf([[1.0, 2.0]]))
        assert shape == [1, 2] == y.shape and shape == (1, 2) and isinstance(shape, list)
        """,
    "no tensor at all": """
        class Bare(PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x.shape

            @staticmethod
            def backward(ctx, dy):
                return dy

        raises(ValueError, lambda: Bare.apply(leaf([1.0])), "Bare")
        """,
    "None for an input without a gradient, and no backward where none has one": """
        calls = []

        class First(PyLayer):
            @staticmethod
            def forward(ctx, x, y):
                return x + y

            @staticmethod
            def backward(ctx, dz):
                calls.append(1)
                return dz, None

        x, y = leaf([1.0, 2.0]), paddle.to_tensor([3.0, 4.0])
        First.apply(x, y).sum().backward()
        assert x.grad.numpy().tolist() == [1.0, 1.0] and y.grad is None and calls == [1]
        z = First.apply(y, y)
        assert z.stop_gradient
        z.sum().backward()
        with paddle.no_grad():
            First.apply(x, y).sum().backward()
        assert calls == [1] and y.grad is None
        """,
    "a gradient for an input that wants none": """
        class Both(PyLayer):
            @staticmethod
            def forward(ctx, x, y):
                return x + y

            @staticmethod
            def backward(ctx, dz):
                return dz, dz

        z = Both.apply(leaf([1.0]), paddle.to_tensor([1.0]))
        raises(ValueError, lambda: z.backward(), "Both")
        """,
    "an input returned as it is": """
        class Through(PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def backward(ctx, dy):
                return dy * 5

        raises(ValueError, lambda: Through.apply(leaf([1.0])), "Through")
        x = leaf([1.0, 2.0])
        inner = x * 1
        outer = Through.apply(inner)
        assert outer is inner
        outer.sum().backward()
        assert x.grad.numpy().tolist() == [5.0, 5.0]

        class Marked(Through):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_not_inplace(x)
                return x

        x = leaf([1.0, 2.0])
        y = Marked.apply(x)
        assert y is not x
        y.sum().backward()
        assert x.grad.numpy().tolist() == [5.0, 5.0]
        """,
    "gradients through a cast to integers": """
        class Rounded(PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x.astype("int64")

            @staticmethod
            def backward(ctx, dy):
                return dy.astype("float32") * 3

        x = leaf([1.0, 2.0])
        y = Rounded.apply(x)
        assert y.dtype == paddle.int64 and not y.stop_gradient
        y.astype("float32").sum().backward()
        assert x.grad.numpy().tolist() == [3.0, 3.0]
        """,
    "no backward": """
        class Forward(PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x * 2

        for kind in (NotImplementedError, OSError):
            raises(kind, lambda: Forward.apply(leaf([1.0])).backward(), "Forward")
        """,
    "several outputs, one of them not used": """
        class Pair(PyLayer):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(ctx_materialize)
                return x * 2, x * 3

            @staticmethod
            def backward(ctx, da, db):
                seen.append(db if db is None else db.numpy().tolist())
                return da * 2

        seen = []
        for ctx_materialize in (True, False):
            x = leaf([1.0])
            a, b = Pair.apply(x)
            a.backward()
            assert x.grad.numpy().tolist() == [2.0]
        assert seen == [[0.0], None]
        """,
    "saving twice": """
        class Twice(PyLayer):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                ctx.save_for_backward(x)
                return x * 1

            @staticmethod
            def backward(ctx, dy):
                return dy

        raises(RuntimeError, lambda: Twice.apply(leaf([1.0])))
        """,
    "the wrong number of gradients": """
        class Many(PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, dy):
                return dy, dy, dy

        raises(ValueError, lambda: Many.apply(leaf([1.0])).backward(), "Many", "3", "1")
        """,
    "a second pass through a kept graph": """
        class Square(PyLayer):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, dy):
                x, = ctx.saved_tensor()
                return dy * 2 * x

        x = leaf([3.0])
        y = Square.apply(x)
        y.backward(retain_graph=True)
        y.backward()
        assert x.grad.numpy().tolist() == [12.0]
        x.clear_grad()
        first = paddle.grad(Square.apply(x), x, create_graph=True)
        second = paddle.grad(first[0], [x])
        assert first[0].numpy().tolist() == [6.0] and second[0].numpy().tolist() == [2.0]
        """,
}


@pytest.mark.parametrize("code", LAYERS.values(), ids=LAYERS.keys())
def test_layers(code):
    run(code)


def test_functions():
    run(
        """
        paddle.seed(7)
        a = paddle.randn([2, 3], dtype="float64")
        paddle.seed(7)
        assert (paddle.randn([2, 3], dtype="float64").numpy() == a.numpy()).all() and a.dtype == paddle.float64
        x = paddle.to_tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])
        n = x.numpy()
        assert x.shape == [2, 3] and x.stop_gradient and x.dtype == paddle.float32
        pairs = [
            (paddle.mean(x), n.mean()),
            (paddle.mean(x, axis=1, keepdim=True), n.mean(axis=1, keepdims=True)),
            (x.mean(axis=[0, 1]), n.mean()),
            (x.sum(axis=0, keepdim=True), n.sum(axis=0, keepdims=True)),
            (paddle.sum(x, dtype="float64"), n.sum(dtype="float64")),
            (paddle.max(x, axis=1), n.max(axis=1)),
            (x.argmax(axis=-1), n.argmax(axis=-1)),
            (paddle.square(x), n ** 2),
            (paddle.abs(x, name="abs"), abs(n)),
            (paddle.add(x, x), n + n),
            (paddle.matmul(x, x, transpose_y=True), n @ n.T),
            (paddle.matmul(x, x, transpose_x=True), n.T @ n),
            (paddle.reshape(x, [0, -1]), n),
            (x.reshape([3, 2]), n.reshape(3, 2)),
            (paddle.transpose(x, [1, 0]), n.T),
            (x.t(), n.T),
            (paddle.concat([x, x], axis=1), np.concatenate([n, n], axis=1)),
            (paddle.stack([x, x]), np.stack([n, n])),
            (paddle.split(x, [1, -1], axis=1)[1], n[:, 1:]),
            (paddle.split(x, 3, axis=1)[2], n[:, 2:]),
            (paddle.unsqueeze(x, [0, 2]), n[None, :, None]),
            (paddle.squeeze(paddle.ones([1, 2, 1])), np.ones(2, "float32")),
            (paddle.squeeze(paddle.ones([1, 2, 1]), 1), np.ones((1, 2, 1), "float32")),
            (paddle.expand(paddle.ones([3, 1]), [-1, 2]), np.ones((3, 2), "float32")),
            (paddle.clip(x, -1, 2), n.clip(-1, 2)),
            (paddle.where(x > 0, x, paddle.zeros_like(x)), np.where(n > 0, n, 0)),
            (paddle.full([2], 3), np.full(2, 3.0, "float32")),
            (paddle.arange(3), np.arange(3)),
            (paddle.cast(x, "int64"), n.astype("int64")),
            (x.numel(), np.array(6)),
            (paddle.nn.functional.softmax(x, axis=0), np.exp(n) / np.exp(n).sum(axis=0)),
        ]
        for i, (ours, expected) in enumerate(pairs):
            expected = np.asarray(expected)
            assert ours.shape == list(expected.shape) and ours.numpy().dtype == expected.dtype, (i, ours, expected)
            np.testing.assert_allclose(ours.numpy(), expected, 1e-6, err_msg=str(i))
        assert bool(paddle.allclose(x, x)) and not bool(paddle.allclose(x, x + 1))
        assert paddle.is_tensor(x) and not paddle.is_tensor(n) and paddle.in_dynamic_mode()
        assert paddle.uniform([100]).numpy().min() < 0 and set(paddle.randint(3, shape=[50]).numpy()) == {0, 1, 2}
        """
    )


def test_layers_and_optimizers_train():
    run(
        """
        paddle.seed(0)
        target = paddle.to_tensor(np.random.default_rng(0).normal(size=(64, 3)).astype("float32"))
        for make in (
            lambda p: paddle.optimizer.SGD(learning_rate=0.1, parameters=p),
            lambda p: paddle.optimizer.Momentum(learning_rate=0.05, parameters=p, use_nesterov=True),
            lambda p: paddle.optimizer.Adam(learning_rate=0.01, parameters=p),
            lambda p: paddle.optimizer.AdamW(learning_rate=0.01, parameters=p),
        ):
            class Net(paddle.nn.Layer):
                def __init__(self):
                    super().__init__()
                    self.body = paddle.nn.Sequential(paddle.nn.Linear(3, 16), paddle.nn.Tanh(), paddle.nn.Linear(16, 3))

                def forward(self, x):
                    return self.body(x)

            net = Net()
            assert net.body[0].weight.shape == [3, 16] and len(net.parameters()) == 4
            optimizer = make(net.parameters())
            losses = []
            for _ in range(40):
                loss = paddle.nn.MSELoss()(net(target), target)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                losses.append(loss.item())
            assert losses[-1] < losses[0] / 2, losses
        """
    )
