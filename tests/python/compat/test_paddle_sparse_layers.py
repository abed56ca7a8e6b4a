"""Convolutions, pooling and batch norms of ``paddle.sparse.nn``, beside those of dense tensors."""

import subprocess
import sys
import textwrap

import pytest

HEADER = """
import numpy as np
import paddle
import paddle.nn.functional as F
from numpy.testing import assert_allclose
from paddle import sparse

rng = np.random.default_rng(3)


def volume(axes, channels, count=7, size=5):
    numbers = rng.permutation(2 * size**axes)[:count]
    places = np.stack(np.unravel_index(numbers, (2, *[size] * axes)))
    values = paddle.to_tensor(rng.normal(size=(count, channels)))
    return sparse.sparse_coo_tensor(places, values, [2, *[size] * axes, channels], stop_gradient=False)


def drawn(*shape):
    return paddle.to_tensor(rng.normal(size=shape), stop_gradient=False)


def at_places(made, dense):
    return dense.numpy()[tuple(made.indices().numpy())]


def raises(kind, words, function):
    try:
        function()
    except kind as error:
        assert all(word in str(error) for word in words.split()), error
    else:
        raise AssertionError(words)
"""

#: Number of axes, kernel, stride, padding, dilation, and whether the windows are around values only.
CONVOLUTIONS = [
    (3, (3, 3, 3), 1, 1, 1, False),
    (3, (2, 2, 2), 2, 0, 1, False),
    (3, (3, 2, 1), (2, 1, 1), (1, 0, 0), 1, False),
    (3, (2, 2, 2), 1, "SAME", 1, False),
    (3, (3, 3, 3), 1, 2, 2, False),
    (3, (3, 3, 3), 1, 1, 1, True),
    (3, (3, 1, 3), 1, (1, 0, 1), 1, True),
    (2, (3, 3), 1, 1, 1, False),
    (2, (3, 3), 2, 1, 1, False),
    (2, (3, 3), 1, 2, 2, True),
    (2, (5, 5), 1, 2, 1, True),
]

PROGRAMS = {
    "convolutions": f"""
        for axes, kernel, stride, padding, dilation, around in {CONVOLUTIONS!r}:
            x, weight, bias = volume(axes, 2), drawn(*kernel, 2, 3), drawn(3)
            function = getattr(sparse.nn.functional, f"{{'subm_' if around else ''}}conv{{axes}}d")
            made = function(x, weight, bias, stride, padding, dilation)
            dense_x = x.to_dense().detach()
            dense_x.stop_gradient = False
            layout = "NDHWC" if axes == 3 else "NHWC"
            turned = weight.transpose([axes + 1, axes, *range(axes)])
            options = stride, padding, dilation, 1, layout
            wanted = getattr(F, f"conv{{axes}}d")(dense_x, turned, bias, *options)
            case = (axes, kernel, stride, padding, dilation, around)
            assert list(made.shape) == list(wanted.shape), case
            assert_allclose(made.values().numpy(), at_places(made, wanted), 1e-9, err_msg=str(case))
            if around:
                assert (made.indices().numpy() == x.indices().numpy()).all(), case
            else:  # elsewhere no window has a value
                others = wanted.numpy() - bias.numpy()
                others[tuple(made.indices().numpy())] = 0
                assert_allclose(others, 0, atol=1e-12)
            factors = rng.normal(size=tuple(made.values().shape))
            whole = np.zeros(tuple(wanted.shape))
            whole[tuple(made.indices().numpy())] = factors
            found = paddle.grad((made.values() * paddle.to_tensor(factors)).sum(), [x.values(), weight, bias])
            dense = paddle.grad((wanted * paddle.to_tensor(whole)).sum(), [dense_x, weight, bias])
            assert_allclose(found[0].numpy(), at_places(x, dense[0]), 1e-9, err_msg=str(case))
            for one, other in zip(found[1:], dense[1:]):
                assert_allclose(one.numpy(), other.numpy(), 1e-9, err_msg=str(case))
        """,
    "pooling": """
        for kernel, stride, padding in ((2, None, 0), (2, 1, 0), (3, 2, 1), ((1, 2, 3), None, 0)):
            x = volume(3, 2, 12)
            made = sparse.nn.functional.max_pool3d(x, kernel, stride, padding)
            low = np.full(tuple(x.shape), -np.inf)
            low[tuple(x.indices().numpy())] = x.values().numpy()
            wanted = F.max_pool3d(paddle.to_tensor(low), kernel, stride, padding, data_format="NDHWC")
            assert list(made.shape) == list(wanted.shape) and made.nnz() == np.isfinite(wanted.numpy()[..., 0]).sum()
            assert_allclose(made.values().numpy(), at_places(made, wanted))
            made.values().sum().backward()
            assert x.grad.values().sum() == made.values().size
        layer = sparse.nn.MaxPool3D(2)
        assert list(layer(volume(3, 2)).shape) == [2, 2, 2, 2, 2] and str(layer).startswith("MaxPool3D(kernel_size=2")
        """,
    "batch norms": """
        x, layer, dense = volume(3, 3), sparse.nn.BatchNorm(3), paddle.nn.BatchNorm1D(3)
        for each in (layer, dense):
            each.astype("float64")
        for _ in range(2):
            made, wanted = layer(x), dense(x.values())
            assert_allclose(made.values().numpy(), wanted.numpy())
            assert_allclose(layer._variance.numpy(), dense._variance.numpy())
        layer.eval(), dense.eval()
        assert_allclose(layer(x).values().numpy(), dense(x.values()).numpy())
        assert isinstance(sparse.nn.SyncBatchNorm(3), sparse.nn.BatchNorm)
        """,
    "attention": """
        query, key, value = (drawn(2, 1, 4, 3) for _ in range(3))
        seen = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]], bool)
        places = np.stack(np.nonzero(np.stack([seen, seen])))
        mask = sparse.sparse_coo_tensor(places, np.ones(10, "float64"), [2, 4, 4]).to_sparse_csr()
        made = sparse.nn.functional.attention(query, key, value, mask)
        scores = query.numpy() @ key.numpy().swapaxes(-1, -2) / np.sqrt(3)
        powers = np.exp(scores) * seen
        shares = powers / np.maximum(powers.sum(-1, keepdims=True), 1e-300)
        assert_allclose(made.numpy(), shares @ value.numpy(), 1e-9, 1e-12)
        made.sum().backward()
        assert np.isfinite(query.grad.numpy()).all() and (query.grad.numpy()[..., 3, :] == 0).all()
        keys = paddle.to_tensor([[1.0, 0, 1, 1], [1, 1, 1, 1]])
        made = sparse.nn.functional.attention(query, key, value, mask, keys)
        powers[0, :, :, 1] = 0
        shares = powers / np.maximum(powers.sum(-1, keepdims=True), 1e-300)
        assert_allclose(made.numpy(), shares @ value.numpy(), 1e-9, 1e-12)
        """,
    "a network trains": """
        class Network(paddle.nn.Layer):
            def __init__(self):
                super().__init__()
                self.first = sparse.nn.SubmConv3D(2, 4, 3, padding=1)
                self.norm = sparse.nn.BatchNorm(4)
                self.second = sparse.nn.Conv3D(4, 3, 2, stride=2)

            def forward(self, x):
                return self.second(sparse.nn.ReLU()(self.norm(self.first(x)))).to_dense().mean([1, 2, 3])

        network = Network()
        network.astype("float64")
        assert [tuple(p.shape) for p in network.first.parameters()] == [(3, 3, 3, 2, 4), (4,)]
        assert "kernel_size=[2, 2, 2], stride=[2, 2, 2], data_format=NDHWC" in str(network)
        optimizer = paddle.optimizer.Adam(0.05, parameters=network.parameters())
        x, label, losses = volume(3, 2, 20), paddle.to_tensor([0, 2]), []
        for _ in range(30):
            loss = F.cross_entropy(network(x), label)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(float(loss))
        assert losses[-1] < 0.5 * losses[0], losses
        """,
    "arguments that do not fit": """
        x, weight = volume(3, 2), drawn(3, 3, 3, 2, 4)
        conv3d = sparse.nn.functional.conv3d
        raises(ValueError, "[conv3d] data_format NDHWC NCDHW", lambda: conv3d(x, weight, data_format="NCDHW"))
        raises(ValueError, "[conv3d] groups 2", lambda: conv3d(x, weight, groups=2))
        raises(ValueError, "[conv3d] 2 channels 5", lambda: conv3d(x, drawn(3, 3, 3, 5, 4)))
        raises(ValueError, "[conv3d] sparse", lambda: conv3d(x.to_dense(), weight))
        raises(ValueError, "[conv2d] sparse", lambda: sparse.nn.functional.conv2d(x, drawn(3, 3, 2, 4)))
        raises(AssertionError, "groups 2", lambda: sparse.nn.Conv3D(2, 4, 3, groups=2))
        raises(ValueError, "NDHWC NCDHW", lambda: sparse.nn.SubmConv3D(2, 4, 3, data_format="NCDHW"))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_layers(program):
    command = [sys.executable, "-m", "lamella.compat", "-c", HEADER + textwrap.dedent(PROGRAMS[program])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
