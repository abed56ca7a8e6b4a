"""Values, dtypes and shapes of the paddle front where Paddle's differ from those that Lamella gives natively."""

import subprocess
import sys
import textwrap

import pytest

HEADER = """
import numpy as np
import paddle
import paddle.nn.functional as F
from numpy.testing import assert_allclose

rng = np.random.default_rng(5)

def tensor(values, dtype="float32", wanted=False):
    return paddle.to_tensor(values, dtype=dtype, stop_gradient=not wanted)
"""

#: Programs by what they look at. All of a table run in one process.
CREATION = {
    "lists of arrays are floats, and integers want no gradient": """
        assert paddle.to_tensor([np.ones(2)]).dtype == paddle.float32
        assert paddle.to_tensor(np.ones(2)).dtype == paddle.float64
        assert paddle.to_tensor([tensor([1.0], "float64")]).dtype == paddle.float64
        assert paddle.to_tensor([1, 2], stop_gradient=False).stop_gradient
        """,
    "default dtype of tensors and parameters": """
        paddle.set_default_dtype("float64")
        assert paddle.get_default_dtype() == "float64"
        for made in (paddle.zeros([2]), paddle.full([2], 1), paddle.to_tensor([0.1]), paddle.rand([2]), paddle.eye(2),
                     paddle.arange(0.0, 1.0, 0.25), paddle.normal(0.0, 1.0, [2]), paddle.linspace(0, 1, 3),
                     paddle.nn.Linear(2, 3).weight, paddle.nn.BatchNorm1D(2)._mean):
            assert made.dtype == paddle.float64, made
        assert paddle.to_tensor([0.1]).item() == 0.1
        for made in (paddle.to_tensor([1]), paddle.arange(3), paddle.zeros([2], "float32")):
            assert made.dtype != paddle.float64, made
        assert paddle.to_tensor(1 + 2j).dtype == paddle.to_tensor([1 + 2j]).dtype == paddle.complex128
        assert paddle.to_tensor(np.ones(2, np.float32)).dtype == paddle.float32
        paddle.set_default_dtype("float32")
        assert paddle.zeros([2]).dtype == paddle.float32 and paddle.nn.Linear(2, 3).weight.dtype == paddle.float32
        try:
            paddle.set_default_dtype("int64")
        except TypeError as error:
            assert "int64" in str(error)
        else:
            raise AssertionError
        """,
    "limits of dtypes": """
        assert paddle.finfo("float32").resolution == 1e-6 and paddle.finfo(paddle.float64).resolution == 1e-15
        assert paddle.finfo("float16").dtype == "float16" and paddle.iinfo("uint8").max == 255
        """,
    "random numbers": """
        first = paddle.seed(3)
        assert isinstance(first, paddle.Generator) and first.initial_seed() == 3
        means = tensor([0.0, 50.0])
        drawn = paddle.log_normal(mean=means, std=tensor([1e-3, 1e-3]))
        assert_allclose(np.log(drawn.numpy()), [0.0, 50.0], atol=0.01)
        drawn = paddle.randn_like(means, dtype="float64", requires_grad=True)
        assert drawn.dtype == paddle.float64 and not drawn.stop_gradient
        """,
}
OPERATORS = {
    "augmented assignments make new tensors": """
        import operator
        both = "add sub mul truediv floordiv mod pow"
        for name in (both + " and or xor lshift rshift matmul").split():
            floats = name in both.split() or name == "matmul"
            for dtype in ("float32", "int64") if floats else ("int64",):
                x = paddle.full([2, 2], 6, dtype)
                y = paddle.full([2, 2], 2, dtype)
                kept, before = x, x.numpy()
                made = getattr(operator, f"i{name}")(x, y)
                assert made is not x and (kept.numpy() == before).all(), name
                assert (made == getattr(operator, f"__{name}__")(x, y)).all(), name
        x = paddle.to_tensor([1, 2])
        x += 0.5
        assert x.dtype == paddle.float32 and x.tolist() == [1.5, 2.5]
        x *= tensor([[1.0], [2.0]])
        assert x.tolist() == [[1.5, 2.5], [3.0, 5.0]]
        leaf = tensor([1.0], wanted=True)
        y = leaf
        y *= 3
        y.backward()
        assert leaf.item() == 1 and leaf.grad.item() == 3 and y is not leaf

        def shifted(x):
            x -= 1
            return x

        given = tensor([1.0])
        assert shifted(given).item() == 0 and given.item() == 1
        given[0] += 4
        assert given.item() == 5
        """,
    "numbers above 0 are true": """
        for value in (2.0, 0.0, -1.0, float("nan"), 2, -3, True, False):
            truth = value > 0
            assert bool(paddle.to_tensor(value)) is truth is bool(paddle.to_tensor([value]))
        try:
            bool(tensor([1.0, 2.0]))
        except (ValueError, RuntimeError):
            pass
        else:
            raise AssertionError
        """,
}
ARGUMENTS = {
    "bounds of slices are tensors of one element": """
        x = tensor(np.arange(12).reshape(3, 4))
        two = paddle.to_tensor([2])
        assert x[:two].tolist() == x[:2].tolist() and x[0, two:].tolist() == [2.0, 3.0]
        assert x[..., : two - 1].shape == [3, 1]
        x[:, :two] = 0.0
        assert x[1].tolist() == [0.0, 0.0, 6.0, 7.0]
        """,
    "axes, values and sizes of other kinds": """
        x = paddle.ones([1, 2, 1])
        assert paddle.squeeze(x, paddle.to_tensor(0)).shape == [2, 1]
        assert paddle.squeeze(x, paddle.to_tensor([0, -1])).shape == [2]
        assert paddle.squeeze(paddle.ones([]), 0).shape == []
        for value in (paddle.to_tensor([3.5]), "3.5", 3.5):
            made = paddle.full([2], value, dtype="float32")
            assert made.tolist() == [3.5, 3.5] and made.dtype == paddle.float32
        assert paddle.full([1], 1 + 2j).dtype == paddle.complex128
        assert paddle.view(x, -1).shape == [2]
        """,
    "bins of doubles have their ends": """
        values = rng.uniform(0.1, 0.9, 50)
        for bins in (4, 100):
            found = paddle.histogram(tensor(values, "float64"), bins)
            assert (found.numpy() == np.histogram(values, bins)[0]).all()
        """,
    "orders of distinct slices": """
        x = rng.integers(0, 2, (2, 2, 9))
        for axis in (0, 1, 2, -1):
            turned = np.swapaxes(x, 0, axis)
            rows = turned.reshape(len(turned), -1)
            kept, first, inverse, counts = np.unique(rows, True, True, True, axis=0)
            found = paddle.unique(paddle.to_tensor(x), True, True, True, axis=axis)
            expected = np.swapaxes(kept.reshape(-1, *turned.shape[1:]), 0, axis), first, inverse.reshape(-1), counts
            assert all((a.numpy() == b).all() for a, b in zip(found, expected)), axis
        pairs = paddle.to_tensor([[1, 1], [2, 1]])
        assert paddle.unique_consecutive(pairs, return_inverse=True)[1].tolist() == [0, 0, 1, 2]
        """,
}
MEMORY = {
    "arrays of numpy are copies": """
        x = tensor([1.0, 2.0], wanted=True)
        for make in (lambda: x.numpy(), lambda: np.asarray(x), lambda: x.__array__(), lambda: x.detach().numpy()):
            array = make()
            array[0] = 9
            assert x.tolist() == [1.0, 2.0]
        layer = paddle.nn.Linear(2, 2)
        before, first = layer.weight.numpy(), layer.weight.tolist()
        optimizer = paddle.optimizer.SGD(0.5, parameters=layer.parameters())
        layer(paddle.ones([1, 2])).sum().backward()
        optimizer.step()
        assert before.tolist() == first and np.abs(layer.weight.numpy() - before).min() > 0.4
        """,
    "parts are copies, and pass gradients on": """
        for make in (lambda x: x.split(2), lambda x: x.chunk(2), lambda x: x.tensor_split(2), lambda x: x.vsplit(2),
                     lambda x: paddle.split(x, [2, -1]), lambda x: paddle.hsplit(x, 2), lambda x: paddle.unstack(x),
                     lambda x: paddle.dsplit(x.unsqueeze(0), 2), lambda x: paddle.tensor_split(x, [1], axis=1)):
            x = tensor(np.arange(16).reshape(4, 4))
            first = make(x)[0]
            first[0] = -1.0
            first.add_(first)
            assert first.max() >= -2 and x.min() == 0 and (x.numpy() == np.arange(16).reshape(4, 4)).all()
            x.stop_gradient = False
            made = make(x)
            assert isinstance(made, list)
            made[0].sum().backward()
            assert x.grad.sum() == made[0].size and x.grad.max() == 1
        """,
    "copies of parameters have names of their own": """
        import copy
        one = paddle.nn.Linear(2, 2)
        other = copy.deepcopy(one)
        names = [p.name for p in one.parameters() + other.parameters()]
        assert len(set(names)) == 4 and all("_deepcopy_" in name for name in names[2:]), names
        optimizer = paddle.optimizer.Momentum(0.5, parameters=one.parameters() + other.parameters())
        other(one(paddle.ones([1, 2]))).sum().backward()
        optimizer.step()
        assert len(optimizer.state_dict()) == 4
        """,
    "short names of dtypes": """
        x = tensor([1.0])
        kinds = {float: "float64", int: "int64", bool: "bool", "float": "float64", "int": "int64", "double": "float64",
                 "long": "int64", "half": "float16"}
        for kind, dtype in kinds.items():
            made = [x.astype(kind), x.cast(kind), paddle.cast(x, kind), paddle.zeros([1], kind),
                    paddle.ones([1], dtype=kind), paddle.full([1], 1, dtype=kind),
                    paddle.zeros_like(x, dtype=kind), paddle.eye(1, dtype=kind)]
            assert {each.dtype for each in made} == {getattr(paddle, dtype)}, (kind, made)
        """,
}
LOSSES = {
    "rows that are ignored": """
        scores = rng.standard_normal((4, 5)).astype("float32")
        logarithms = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        weights = np.arange(1, 6).astype("float32")
        for ignored in (-100, -1, 2):
            labels = np.array([0, 3, ignored, 1])
            kept, costs = [0, 1, 3], -logarithms[[0, 1, 3], [0, 3, 1]]
            mean = lambda weight=None: F.cross_entropy(
                tensor(scores), paddle.to_tensor(labels), weight, ignore_index=ignored).item()
            assert_allclose(mean(), costs.sum() / (4 if ignored < 0 else 3), rtol=1e-5)
            share = weights[labels[kept]]
            assert_allclose(mean(tensor(weights)), (share * costs).sum() / share.sum(), rtol=1e-5)
        """,
    "smoothed classes are not ignored": """
        scores, labels = rng.standard_normal((3, 4)).astype("float32"), np.array([0, 2, 1])
        logarithms = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        smooth = 0.8 * np.eye(4)[labels] + 0.05
        costs, weights = -(smooth * logarithms).sum(1), np.array([1, 2, 3, 4])
        each = lambda reduction, weight=None: F.cross_entropy(
            tensor(scores), paddle.to_tensor(labels), weight, ignore_index=2, reduction=reduction, label_smoothing=0.2)
        assert_allclose(each("none").numpy()[:, 0], costs, rtol=1e-5)
        assert_allclose(each("sum").item(), costs.sum(), rtol=1e-5)
        assert_allclose(each("mean").item(), costs.sum() / 12, rtol=1e-5)
        share = smooth @ weights
        assert_allclose(each("mean", tensor(weights)).item(), (share * costs).sum() / share.sum() / 4, rtol=1e-5)
        """,
    "weights of classes are buffers that are not saved": """
        nn, weight = paddle.nn, tensor([1.0, 2.0])
        for name in ("BCELoss", "BCEWithLogitsLoss", "CrossEntropyLoss", "NLLLoss", "MultiMarginLoss",
                     "MultiLabelSoftMarginLoss"):
            loss = getattr(nn, name)(weight=weight)
            assert loss.state_dict() == {} and len(loss.buffers()) == 1 and loss.weight is weight
            loss.to(dtype="float64")
            assert loss.buffers()[0].dtype == paddle.float64
        loss = nn.L1Loss()
        loss.reduction = "sum"
        assert loss(tensor([1.0, 2.0]), tensor([0.0, 0.0])).item() == 3.0

        class Own(nn.Layer):
            def __init__(self):
                super().__init__()
                self.cache = None
                self.cache = tensor([1.0])

        own = Own()
        assert own.cache is own.buffers()[0] and own.state_dict() == {}
        """,
    "states that do not fit": """
        import warnings
        layer = paddle.nn.Linear(2, 3)
        kept, bias = layer.weight.tolist(), np.ones(3, "float32")
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found = layer.set_state_dict({"weight": np.zeros((3, 2), "float32"), "bias": bias, "other": bias})
        assert found == (["weight"], ["weight", "other"]) and layer.weight.tolist() == kept
        assert layer.bias.tolist() == [1.0] * 3 and "'weight'" in str(seen[0].message) and len(seen) == 1
        assert layer.set_state_dict({layer.bias.name: bias * 2, layer.weight.name: tensor(kept)}, False) == ([], [])
        assert layer.bias.tolist() == [2.0] * 3
        """,
    "margins of 0": """
        a, b, c = (tensor(rng.standard_normal((3, 2))) for _ in range(3))
        length = lambda x, y: np.sqrt(((x.numpy() - y.numpy() + 1e-6) ** 2).sum(1))
        for swap in (False, True):
            far = np.minimum(length(a, c), length(b, c)) if swap else length(a, c)
            expected = np.maximum(length(a, b) - far, 0)
            made = F.triplet_margin_loss(a, b, c, margin=0.0, swap=swap, reduction="none")
            assert_allclose(made.numpy(), expected, rtol=1e-4, atol=1e-6)
            for kind in ("TripletMarginLoss", "TripletMarginWithDistanceLoss"):
                made = getattr(paddle.nn, kind)(margin=0, swap=swap, reduction="sum")(a, b, c)
                assert_allclose(made.item(), expected.sum(), rtol=1e-4, atol=1e-6)
        assert paddle.nn.Identity(3, a=4)(a) is a
        """,
}
SHAPES = {
    "a shape is a list that equals tuples": """
        shape = paddle.zeros([2, 3]).shape
        assert shape == (2, 3) and (2, 3) == shape and shape == [2, 3] and shape != (3, 2) and isinstance(shape, list)
        assert shape[1:] == (3,) and [1] + shape == (1, 2, 3) and shape + [4] == (2, 3, 4) and shape.numel() == 6
        assert repr(shape) == "paddle.Size([2, 3])"
        """,
    "sizes of 0 in reshape": """
        assert paddle.zeros([0, 3]).reshape([3, 0]).shape == [3, 0]
        assert paddle.zeros([0, 3]).reshape([0, 0]).shape == [0, 3]
        assert paddle.zeros([2, 3]).reshape([0, -1, 1]).shape == [2, 3, 1]
        """,
    "repeat tiles": """
        x = tensor([[1, 2], [3, 4]], "int64")
        assert x.repeat(2).tolist() == np.tile(x.numpy(), 2).tolist()
        assert x.repeat([2, 1, 3]).tolist() == x.repeat(2, 1, 3).tolist() == np.tile(x.numpy(), (2, 1, 3)).tolist()
        """,
    "axes of tensordot": """
        a, b = rng.normal(size=(2, 3, 4)), rng.normal(size=(5, 3, 4))
        x, y = tensor(a, "float64"), tensor(b, "float64")
        assert_allclose(paddle.tensordot(x, y, [1, 2]).numpy(), np.tensordot(a, b, ([1, 2], [1, 2])))
        assert_allclose(paddle.tensordot(x, y, [[1, 2]]).numpy(), np.tensordot(a, b, ([1, 2], [1, 2])))
        assert_allclose(paddle.tensordot(x, y, [[1], [1, 2]]).numpy(), np.tensordot(a, b, ([1, 2], [1, 2])))
        assert_allclose(paddle.tensordot(x, tensor(b.T.copy(), "float64"), 1).numpy(), np.tensordot(a, b.T, 1))
        assert_allclose(x.tensordot(y, paddle.to_tensor([2])).numpy(), np.tensordot(a, b, ([2], [2])))
        """,
    "a tensor for an axis": "assert paddle.unsqueeze(tensor([1.0]), paddle.to_tensor(1)).shape == [1, 1]",
}
NUMBERS = {
    "integers": """
        i = paddle.to_tensor([5, -3])
        assert paddle.atan2(i, i).dtype == paddle.float64 and paddle.atan2(tensor([1.0]), i[:1]).dtype == paddle.float32
        assert paddle.copysign(i, tensor([-1.0, 1.0])).tolist() == [-5, 3]
        assert paddle.scale(i, 2.5).tolist() == [10, -6]
        assert paddle.increment(paddle.to_tensor(2)).item() == 3
        """,
    "dtypes of reductions": """
        i, u, h = tensor([3, 2], "int32"), tensor([3, 2], "uint8"), tensor([1.0, 3.0], "float16")
        made = [paddle.prod(i), paddle.cumprod(i, 0), paddle.dot(i, i), paddle.nansum(h, dtype="int32"),
                paddle.prod(h, dtype="int32")]
        assert [each.dtype for each in made] == [paddle.int32] * 5
        assert paddle.cumsum(u).dtype == paddle.int64 and paddle.median(h).dtype == paddle.float32
        assert paddle.nanmean(i).item() == 2.5 and paddle.prod(tensor([True], "bool")).dtype == paddle.int64
        """,
    "products of all elements, and middles of none": """
        x, y = rng.normal(size=(2, 3)), rng.normal(size=(2, 1))
        assert_allclose(paddle.outer(tensor(x, "float64"), tensor(y, "float64")).numpy(), np.outer(x, y))
        nothing = paddle.zeros([0, 3])
        for middle in (paddle.median, paddle.nanmedian):
            assert np.isnan(middle(nothing).item()) and middle(nothing, axis=1).shape == [0]
            assert np.isnan(middle(nothing, axis=0, keepdim=True).numpy()).all()
            assert [each.shape for each in middle(nothing, axis=0, mode="min")] == [[3], [3]]
        """,
    "arguments of methods that write over their tensor": """
        start = rng.normal(size=(3, 3)).astype("float32")
        first, row = paddle.to_tensor([0]), tensor([[1.0, 2.0, 3.0]])
        for name, args, named in (
            ("triu", (1,), {}), ("tril", (), {"diagonal": -1}), ("index_fill", (first, 0, 4.0), {}),
            ("index_add", (first, 0, row), {}), ("scatter", (first, row), {}), ("scatter", (first, row, False), {}),
            ("add", (), {"y": row}), ("clip", (), {"min": -0.5, "max": 0.5}), ("lerp", (row,), {"weight": 0.25}),
        ):
            x = tensor(start)
            assert getattr(x, name + "_")(*args, **named) is x
            assert_allclose(x.numpy(), getattr(tensor(start), name)(*args, **named).numpy(), err_msg=name)
        x = paddle.zeros([500])
        assert -3 <= x.uniform_(min=-3.0, max=-2.0).min().item() and x.max().item() < -2
        assert x.uniform_(0.0, 1.0, 7).tolist() == paddle.zeros([500]).uniform_(0.0, 1.0, seed=7).tolist()
        assert abs(x.exponential_(lam=4.0).mean().item() - 0.25) < 0.05 and x.geometric_(probs=0.5).min().item() == 1
        w = tensor([1.0, 2.0], wanted=True)
        y = w * 3
        y.multiply_(y=tensor([2.0, 4.0]))
        y.sum().backward()
        assert w.grad.tolist() == [6.0, 12.0]
        assert x.copy_(paddle.ones([500]), True) is x and x.sum().item() == 500
        """,
    "shares in a tensor": """
        x = tensor(rng.normal(size=(2, 5)), "float64")
        shares = tensor([0.25, 0.5], "float64")
        for keepdim in (False, True):
            wanted = np.quantile(x.numpy(), [0.25, 0.5], axis=1, keepdims=keepdim)
            assert_allclose(paddle.quantile(x, shares, axis=1, keepdim=keepdim).numpy(), wanted)
        """,
    "bits moved down": """
        i = tensor([-8, 8], "int32")
        one = tensor([1, 1], "int32")
        assert paddle.bitwise_right_shift(i, one).tolist() == [-4, 4]
        assert paddle.bitwise_right_shift(i, one, is_arithmetic=False).tolist() == [(2**32 - 8) // 2, 4]
        assert paddle.bitwise_left_shift(i, one, is_arithmetic=False).tolist() == [-16, 16]
        """,
    "medians of rows without numbers": """
        x = tensor([[1.0, np.nan, 3.0, np.nan], [1.0, 2.0, 3.0, 4.0], [np.nan, 1.0, 2.0, 3.0]])
        values, places = paddle.median(x, axis=1, mode="min")
        assert np.isnan(values.numpy()).tolist() == [True, False, True] and places.tolist() == [1, 1, 0]
        assert paddle.nanmedian(x, axis=(0, 1), mode="min").item() == 2.0
        """,
    "least squares": """
        a, b = rng.normal(size=(4, 2)), rng.normal(size=(4, 3))
        solution, residuals, rank, _ = paddle.linalg.lstsq(tensor(a, "float64"), tensor(b, "float64"))
        wanted = np.linalg.lstsq(a, b, rcond=None)
        assert_allclose(solution.numpy(), wanted[0])
        assert_allclose(residuals.numpy(), wanted[1])
        assert rank.dtype == paddle.int32 and rank.item() == 2
        assert paddle.linalg.lstsq(tensor(a[:2], "float64"), tensor(b[:2], "float64"))[1].shape == [0]
        """,
    "name= of all functions": """
        x = tensor([0.25, 0.5])
        for function in (paddle.round, paddle.logit, paddle.isposinf, F.elu, F.softplus, F.leaky_relu):
            assert_allclose(function(x, name="a").numpy(), function(x).numpy())
        i = paddle.to_tensor([1, 2])
        assert paddle.isin(i, paddle.to_tensor([2]), assume_unique=True).tolist() == [False, True]
        """,
}
COSTS = {
    "labels of kl_div that are not above 0": """
        p, q = tensor([0.1, 0.2, 0.3], wanted=True), tensor([0.0, -1.0, 0.5], wanted=True)
        cost = F.kl_div(p, q, reduction="none")
        assert_allclose(cost.numpy(), [0.0, 0.0, 0.5 * (np.log(0.5) - 0.3)], 1e-4)
        cost.sum().backward()
        assert_allclose(p.grad.numpy(), [0.0, 0.0, -0.5], 1e-6)
        assert_allclose(q.grad.numpy(), [0.0, 0.0, np.log(0.5) + 1 - 0.3], 1e-4)
        assert_allclose(F.kl_div(tensor([[0.1], [0.2]]), tensor([[0.4], [0.5]]), "batchmean").item(),
                        (0.4 * (np.log(0.4) - 0.1) + 0.5 * (np.log(0.5) - 0.2)) / 2, 1e-4)
        """,
    "classes and one-hot rows are smoothed alike": """
        scores = tensor(rng.normal(size=(4, 3)))
        classes = paddle.to_tensor([0, 2, 1, 1])
        rows = F.one_hot(classes, 3)
        both = [F.cross_entropy(scores, each, label_smoothing=0.3).item() for each in (classes, rows)]
        assert_allclose(both[0], both[1], 1e-6)
        """,
    "other costs": """
        logs = F.log_softmax(tensor(rng.normal(size=(4, 3))))
        classes = paddle.to_tensor([0, 2, 1, 1])
        assert F.nll_loss(logs, classes.unsqueeze(1)).item() == F.nll_loss(logs, classes).item()
        x = tensor([1.0, -2.0])
        assert_allclose(F.gelu(x, "none").numpy(), F.gelu(x).numpy())
        assert_allclose(F.gelu(x, "tanh").numpy(), F.gelu(x, True).numpy())
        assert F.silu(x, True) is x
        assert_allclose(x.numpy(), [1 / (1 + np.exp(-1)), -2 / (1 + np.exp(2))], 1e-6)
        """,
}
GRADIENTS = {
    "of tensors of many elements": """
        x = tensor([1.0, 2.0], wanted=True)
        (x * x).backward()
        assert x.grad.tolist() == [2.0, 4.0]
        assert paddle.grad(x * x, x)[0].tolist() == [2.0, 4.0]
        assert paddle.grad([x * x, 3 * x], [x], [None, tensor([1.0, 10.0])])[0].tolist() == [5.0, 34.0]
        x.clear_grad()
        assert x.grad.tolist() == [0.0, 0.0]
        x.clear_grad(False)
        assert x.grad is None
        paddle.autograd.backward([x * x, 3 * x], [None, tensor([1.0, 10.0])])
        assert x.grad.tolist() == [5.0, 34.0]
        """,
    "that are cleared are zeros": """
        layer = paddle.nn.Linear(2, 1)
        optimizer = paddle.optimizer.Momentum(0.1, 0.5, layer.parameters())
        layer(paddle.ones([1, 2])).backward()
        optimizer.step()
        optimizer.clear_grad()
        assert layer.weight.grad.tolist() == [[0.0], [0.0]]
        before = layer.weight.numpy().copy()
        optimizer.step()  # goes on by its momentum
        assert_allclose(before - layer.weight.numpy(), 0.05, 1e-5)
        optimizer.clear_gradients(set_to_zero=False)
        assert layer.weight.grad is None
        """,
    "that optimizers are given": """
        layer = paddle.nn.Linear(2, 1)
        optimizer = paddle.optimizer.SGD(1.0, layer.parameters())
        loss = layer(paddle.ones([1, 2]))
        loss.backward()
        pairs = optimizer.backward(loss)
        assert [parameter is own for (parameter, _), own in zip(pairs, layer.parameters())] == [True, True]
        before, kept = layer.weight.numpy().copy(), layer.bias.numpy().copy()
        optimizer.apply_gradients([(layer.weight, 2 * layer.weight.grad)])
        assert_allclose(before - layer.weight.numpy(), 2.0, 1e-5)
        assert layer.bias.numpy() == kept and layer.bias.grad.item() == 1.0
        """,
    "of what is no function of its arguments": """
        x = tensor([1.0, 2.0], wanted=True)
        assert paddle.autograd.hessian(x.sum(), x)[:].tolist() == [[0.0, 0.0], [0.0, 0.0]]
        """,
    "options of groups of parameters": """
        layer = paddle.nn.Linear(2, 1)
        groups = [{"params": [layer.weight], "beta1": 0.5}, {"params": [layer.bias], "epsilon": 1e-3}]
        made = paddle.optimizer.AdamW(parameters=groups).param_groups
        assert made[0]["betas"] == (0.5, 0.999) and made[1]["eps"] == 1e-3 and made[1]["betas"] == (0.9, 0.999)
        """,
}
LAYERS = {
    "a state holds the parameters themselves": """
        net = paddle.nn.Sequential(("one", paddle.nn.Linear(2, 2)), ("two", paddle.nn.Linear(2, 2)))
        state = net.state_dict()
        assert state["one.weight"] is net["one"].weight and not state["one.weight"].stop_gradient
        assert list(net.state_dict(include_sublayers=False)) == []
        assert list(net["one"].state_dict(structured_name_prefix="a.")) == ["a.weight", "a.bias"]
        into = {}
        assert net.state_dict(into) is into and list(into) == list(state)
        assert net.state_dict(keep_vars=False)["one.weight"].stop_gradient
        """,
    "names of parts": """
        class Net(paddle.nn.Layer):
            def __init__(self):
                super().__init__()
                self.part = self.same = paddle.nn.Linear(2, 2)
                self.register_buffer("kept", paddle.zeros([1]), persistable=True)
                self.register_buffer("left", paddle.zeros([1]), persistable=False)

        net = Net()
        assert [name for name, _ in net.named_parameters(include_sublayers=False)] == []
        assert [name for name, _ in net.named_buffers(include_sublayers=True)] == ["kept", "left"]
        assert [name for name in net.state_dict() if "." not in name] == ["kept"] and len(net.buffers()) == 2
        assert [name for name, _ in net.named_sublayers()] == ["part"]
        assert [name for name, _ in net.named_sublayers(remove_duplicate=False)] == ["part", "same"]
        assert list(net.named_sublayers(layers_set={net.part})) == []
        net.part(paddle.ones([1, 2])).backward()
        net.clear_gradients()
        assert net.part.bias.grad.tolist() == [0.0, 0.0]
        assert paddle.nn.LayerList([net]).insert(0, net) is None
        """,
    "tensors of a layer": """
        class Counting(paddle.nn.Layer):
            def __init__(self):
                super().__init__()
                self.seen = paddle.zeros([1])

            def forward(self, x):
                self.seen = self.seen + x.sum()
                return x

        layer = Counting()
        layer(paddle.ones([3]))
        assert layer.seen.tolist() == [3.0] and [name for name, _ in layer.named_buffers()] == ["seen"]
        assert layer.state_dict() == {} and layer.float16().seen.dtype == paddle.float16
        layer.seen = None
        assert layer.seen is None
        """,
    "cells of two directions are named once": """
        import copy

        layer = paddle.nn.BiRNN(paddle.nn.GRUCell(2, 3), paddle.nn.GRUCell(2, 3))
        assert {name.partition(".")[0] for name in layer.state_dict()} == {"cell_fw", "cell_bw"}
        x = tensor(rng.normal(size=(2, 4, 2)))
        assert_allclose(copy.deepcopy(layer)(x)[0].numpy(), layer(x)[0].numpy())
        twin = copy.deepcopy(layer)
        twin.cell_fw.weight_ih.set_value(np.zeros(twin.cell_fw.weight_ih.shape, "float32"))
        assert np.abs(twin(x)[0].numpy() - layer(x)[0].numpy()).max() > 1e-3
        """,
    "layers of costs": """
        x, y = tensor([[0.5, 2.0]]), tensor([0.0, 1.0])
        assert paddle.nn.L1Loss()(x, y).item() == 0.75 and F.l1_loss(x, y, reduction="sum").item() == 1.5
        assert_allclose(paddle.nn.KLDivLoss("none")(x[0], y).numpy(), [0.0, -2.0])
        assert paddle.nn.Silu(True)(x) is x
        q = tensor(rng.normal(size=(1, 3, 2, 4)))
        wanted = F.scaled_dot_product_attention(q, q, q, is_causal=True).numpy()
        assert_allclose(F.flash_attention(q, q, q, causal=True)[0].numpy(), wanted)
        """,
    "inputs by name": """
        image = tensor(rng.normal(size=(1, 1, 4, 4)))
        assert paddle.nn.AdaptiveAvgPool2D(2)(x=image).shape == [1, 1, 2, 2]
        try:
            paddle.nn.AdaptiveAvgPool2D(2)(image, size=3)
        except TypeError as error:
            assert "AdaptiveAvgPool2D" in str(error) and "size" in str(error)
        else:
            raise AssertionError
        """,
}
SURROUNDINGS = {
    "modules by the paths that Paddle defines them in": """
        from paddle.base import set_flags
        from paddle.distribution.normal import Normal
        from paddle.framework import ParamAttr
        from paddle.nn.functional.loss import ctc_loss
        from paddle.nn.layer.transformer import MultiHeadAttention
        from paddle.tensor.linalg import eigvalsh
        from paddle.tensor.math import frexp

        assert eigvalsh is paddle.linalg.eigvalsh and frexp is paddle.frexp and "tanh" in paddle.tensor.math.__all__
        assert paddle.nn.loss.MSELoss is paddle.nn.MSELoss and ParamAttr is paddle.ParamAttr
        assert paddle.device.get_available_device()[0] == "cpu" and not paddle.device.is_compiled_with_xpu()
        with paddle.device.device_guard("cpu"):
            assert paddle.device.get_device() == "cpu"
        try:
            paddle.tensor.math.no_such_name
        except AttributeError as error:
            assert "paddle.tensor.math.no_such_name" in str(error)
        else:
            raise AssertionError
        """,
    "texts of tensors": """
        assert f"{tensor(3.5)} {tensor(3.5):.2f}" == "3.5 3.50"
        text = repr(tensor([[1.0, 2.0]], wanted=True))
        head, line = text.splitlines()
        assert head == "Tensor(shape=[1, 2], dtype=float32, place=Place(cpu), stop_gradient=False,"
        assert line == "       [[1., 2.]])"
        """,
    "folders of files": """
        import os, tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "new", "state.pdparams")
            paddle.save({"a": tensor([1.0])}, path)
            assert paddle.load(path)["a"].tolist() == [1.0]
        """,
    "colors": """
        import colorsys
        from paddle.vision.transforms import functional as T

        image = rng.integers(0, 256, (4, 5, 3)).astype(np.uint8)
        wanted = np.empty((4, 5, 3))
        for place in np.ndindex(4, 5):
            h, s, v = colorsys.rgb_to_hsv(*(image[place] / 255))
            wanted[place] = np.multiply(colorsys.hsv_to_rgb((h + 0.2) % 1, s, v), 255)
        assert np.abs(T.adjust_hue(image, 0.2) - wanted).max() <= 0.51
        assert_allclose(T.adjust_brightness(image, 0.5), image // 2)
        """,
    "devices by places": """
        place = paddle.CPUPlace()
        x = paddle.to_tensor([1.5], place=place)
        assert x.to(place, "float64", False).dtype == paddle.float64 and x.to(paddle.to_tensor([1])).tolist() == [1]
        assert paddle.asarray([1.0], device=place).tolist() == [1.0]
        assert paddle.assign(paddle.ones([3, 1]), x) is x and x.shape == [3, 1]
        """,
    "lists of tensors": """
        array = paddle.tensor.create_array("float32")
        paddle.tensor.array_write(tensor([1.0]), paddle.to_tensor(0), array)
        paddle.tensor.array_write(tensor([2.0]), 1, array)
        paddle.tensor.array_write(tensor([3.0]), 0, array)
        assert paddle.tensor.array_length(array) == 2 and paddle.tensor.array_read(array, 0).item() == 3.0
        try:
            paddle.tensor.array_write(tensor([1.0]), 5, array)
        except IndexError as error:
            assert "5" in str(error)
        else:
            raise AssertionError
        """,
    "loaders beside programs that are recorded": """
        from paddle.base import dygraph

        paddle.enable_static()
        batches = list(paddle.io.DataLoader([np.float32(i) for i in range(5)], batch_size=2, shuffle=True)())
        with dygraph.guard():
            assert sorted(float(x) for batch in batches for x in batch) == [0.0, 1.0, 2.0, 3.0, 4.0]
        paddle.disable_static()
        """,
    "images that are tensors": """
        from paddle.vision import transforms as T

        image = tensor(np.arange(24).reshape(2, 3, 4), "int32")
        assert T.hflip(image).tolist() == image.numpy()[..., ::-1].tolist() and T.hflip(image).dtype == paddle.int32
        assert T.CenterCrop(1)(paddle.stack([image, image])).shape == [2, 2, 1, 1]
        assert T.RandomCrop(2)(image).shape == [2, 2, 2]
        """,
}
#: Options of layers and optimizers; the numbers are Paddle's.
OPTIONS = {
    "groups set the rate's factor and the penalty of their parameters": """
        for own, of_group, expected in [
            (dict(learning_rate=0.3), {}, 0.9),
            (dict(learning_rate=0.3), dict(learning_rate=0.5), 0.95),
            (dict(learning_rate=0.3), dict(weight_decay=0.2), 0.88),
            (dict(regularizer=paddle.regularizer.L2Decay(0.5)), dict(weight_decay=0.2), 0.88),
            (dict(regularizer=paddle.regularizer.L1Decay(0.5)), {}, 0.9),
        ]:
            start = paddle.nn.initializer.Constant(1.0)
            p = paddle.create_parameter([1], "float32", attr=paddle.ParamAttr(**own), default_initializer=start)
            sgd = paddle.optimizer.SGD(0.1, parameters=[{"params": [p], **of_group}])
            p.sum().backward()
            sgd.step()
            assert abs(p.item() - expected) < 1e-6, (own, of_group, p.item())
        """,
    "windows behind all elements, and what windows are divided by": """
        x = tensor(np.arange(1, 6).reshape(1, 1, 5))
        low = np.finfo("float32").min
        for made, expected in [
            (F.max_pool1d(x, 3, None, 1, ceil_mode=True), [2, 5, low]),
            (F.avg_pool1d(x, 3, None, 1, exclusive=True, ceil_mode=True), [1.5, 4, np.nan]),
            (F.avg_pool1d(x, 3, None, 1, exclusive=False, ceil_mode=True), [1, 4, 0]),
            (F.avg_pool1d(x, 2, 4, 1, exclusive=True, ceil_mode=True), [1, 4.5, 0]),
            (F.avg_pool1d(paddle.concat([x, x[:, :, :2]], 2), 2, 3, 1, ceil_mode=True), [1, 3.5, 1.5, 0]),
            (F.lp_pool1d(paddle.concat([x, x[:, :, :2]], 2), 1.0, 2, 3, 1, ceil_mode=True), [1, 7, 3, 0]),
            (F.avg_pool1d(x, 3, 2, [1, 0], exclusive=False, ceil_mode=True), [1, 3, 3]),
            (F.avg_pool1d(x, 3, 2, [0, 1], exclusive=False, ceil_mode=True), [2, 4, 5]),
            (F.max_pool1d(x, 3, 2, "SAME", return_mask=True)[0], [3, 5]),
            (F.lp_pool1d(-x, float("inf"), 3, 2), [-1, -3]),
        ]:
            assert_allclose(made.numpy().reshape(-1), expected, rtol=1e-6)
        """,
    "places counted from corners go by the factor that is given": """
        x = tensor(np.arange(1, 6).reshape(1, 1, 5))
        made = F.interpolate(x, scale_factor=1.7, mode="linear", align_mode=1).numpy().reshape(-1)
        assert_allclose(made, np.minimum(1 + np.arange(8) / 1.7, 5), rtol=1e-5)
        """,
    "statistics of the batch in evaluation": """
        x = tensor(rng.standard_normal((3, 2, 4)))
        old = paddle.nn.BatchNorm(2, trainable_statistics=True)
        for norm in (paddle.nn.BatchNorm1D(2, use_global_stats=False), old):
            norm.eval()
            assert_allclose(norm(x).numpy().mean((0, 2)), 0, atol=1e-6)
            assert_allclose(norm._mean.numpy(), 0.1 * x.numpy().mean((0, 2)), rtol=1e-5)
        """,
    "weights and biases of cells that are left out are there, and not trained": """
        cell = paddle.nn.LSTMCell(2, 3, weight_ih_attr=False, bias_hh_attr=False)
        assert [p.stop_gradient for p in cell.parameters()] == [True, False, False, True]
        assert (cell.weight_ih == 1).all() and (cell.bias_hh == 0).all() and len(cell.state_dict()) == 4
        """,
    "attributes for each part of a transformer": """
        layer = paddle.nn.TransformerEncoderLayer(4, 2, 8, bias_attr=[False, None])
        assert layer.self_attn.q_proj.bias is None and layer.linear1.bias is not None
        model = paddle.nn.Transformer(4, 2, 1, 0, 8, bias_attr=[None, False])
        assert model.encoder.layers[0].linear1.bias is None and len(model.decoder.layers) == 0
        """,
    "a query that sees nothing sees all": """
        for weights in (False, True):
            attention = paddle.nn.MultiHeadAttention(4, 2, need_weights=weights)
            x = tensor(rng.standard_normal((1, 3, 4)), wanted=True)
            for mask in (paddle.zeros([3, 3], "bool"), paddle.zeros([3, 3], "int64")):
                made = attention(x, attn_mask=mask)
                made = made[0] if weights else made
                value = attention.out_proj(attention.v_proj(x).mean(1))
                assert_allclose(made.numpy(), np.repeat(value.numpy()[:, None], 3, 1), atol=1e-5)
                x.clear_gradient(False)
                (made * made).sum().backward()
                assert x.grad.isfinite().all() and type(attention.gen_cache(x)).__name__ == "Cache"
        """,
    "epsilon of Adamax": """
        w = paddle.create_parameter([1], "float32", default_initializer=paddle.nn.initializer.Constant(0.0))
        optimizer = paddle.optimizer.Adamax(0.1, 0.7, 0.9, 0.5, parameters=[w])
        mean, largest, expected = 0.0, 0.0, 0.0
        for step, g in enumerate([0.3, -1.0, 0.2], 1):
            (w * g).sum().backward()
            optimizer.step()
            optimizer.clear_grad()
            mean, largest = 0.7 * mean + 0.3 * g, max(abs(g), 0.9 * largest + 0.5)
            expected -= 0.1 / (1 - 0.7**step) * mean / largest
            assert_allclose(w.numpy(), [expected], rtol=1e-5)
        """,
}
KINKS = {
    "derivatives at kinks": """
        for function, x, expected in [
            (F.leaky_relu, [0.0, -1.0, 1.0], [1.0, 0.01, 1.0]),
            (lambda x: F.rrelu(x, 0.1, 0.3, training=False), [0.0, -1.0], [1.0, 0.2]),
            (paddle.nn.LeakyReLU(0.5), [0.0, -1.0], [1.0, 0.5]),
            (lambda x: F.selu(x, 1.5, 2.0), [0.0, 1.0], [3.0, 1.5]),
            (lambda x: F.hardsigmoid(x, 0.25, 0.5), [-2.0, 0.0, 2.0], [0.0, 0.25, 0.0]),
            (lambda x: F.hardshrink(x, 0.0), [0.0, 1.0], [1.0, 1.0]),
            (lambda x: F.maxout(x.reshape([1, 4, 1, 1]), 2), [2.0, 2.0, 1.0, 3.0], [1.0, 0.0, 0.0, 1.0]),
            (lambda x: F.margin_ranking_loss(x, tensor([1.0, 2.0]), tensor([1.0, 1.0]), reduction="sum"),
             [1.0, 1.0], [0.0, -1.0]),
            (lambda x: F.hinge_embedding_loss(x, tensor([-1.0, -1.0, 1.0]), reduction="sum"),
             [1.0, 0.5, 2.0], [0.0, -1.0, 1.0]),
            (lambda x: F.multi_margin_loss(x.reshape([1, 4]), paddle.to_tensor([1])), [1.0, 2.0, 3.0, 0.0],
             [0.25, -0.5, 0.25, 0.0]),
        ]:
            given = tensor(x, wanted=True)
            function(given).sum().backward()
            assert_allclose(given.grad.numpy(), expected, rtol=1e-6)
        assert F.hardshrink(tensor([0.5, -0.5, 0.4])).tolist() == [0.5, -0.5, 0.0]
        """,
    "usual axes and lengths": """
        x = tensor(rng.standard_normal((2, 3, 4)))
        assert_allclose(paddle.softmax(x).numpy(), F.softmax(x, 0).numpy(), rtol=1e-6)
        assert_allclose(x.softmax().numpy(), F.softmax(x, 0).numpy(), rtol=1e-6)
        assert_allclose(paddle.softmax(x[0]).numpy(), F.softmax(x[0], 1).numpy(), rtol=1e-6)
        short, long = tensor([[0.1, 0.0]]), tensor([[2.0, 0.0]])
        assert_allclose(F.cosine_similarity(short, long, eps=0.5).numpy(), [0.4], rtol=1e-6)
        assert paddle.trace(paddle.ones([2, 2], "int32")).dtype == paddle.int32
        q = tensor(rng.standard_normal((1, 3, 1, 2)))
        mask = paddle.zeros([1, 1, 3, 3])
        assert_allclose(F.scaled_dot_product_attention(q, q, q, mask, is_causal=True).numpy(),
                        F.scaled_dot_product_attention(q, q, q, is_causal=True).numpy(), rtol=1e-5)
        """,
    "axes of size 1 in front of what is written": """
        x, value = paddle.zeros([3, 2]) * 1, tensor([[[[1.0, 2.0]]]], wanted=True)
        x[1] = value
        assert x.tolist() == [[0, 0], [1, 2], [0, 0]]
        x.sum().backward()
        assert value.grad.tolist() == [[[[1, 1]]]]
        x = paddle.zeros([2])
        x[0] = tensor([[5.0]])
        assert x.tolist() == [5, 0]
        """,
}
TABLES = {
    "kinks": KINKS,
    "creation": CREATION,
    "operators": OPERATORS,
    "arguments": ARGUMENTS,
    "memory": MEMORY,
    "losses": LOSSES,
    "shapes": SHAPES,
    "numbers": NUMBERS,
    "costs": COSTS,
    "gradients": GRADIENTS,
    "layers": LAYERS,
    "surroundings": SURROUNDINGS,
    "options": OPTIONS,
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_values(table):
    parts = [
        f"def part_{number}():  # {title}\n{textwrap.indent(textwrap.dedent(code).strip(), '    ')}\npart_{number}()\n"
        for number, (title, code) in enumerate(table.items())
    ]
    command = [sys.executable, "-m", "lamella.compat", "-c", HEADER + "\n".join(parts)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
