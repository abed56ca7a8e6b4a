"""Results as PyTorch returns them, through the front: in memory of their own or as views, of a dtype, along an axis."""

import pytest

from support import extensions

SETUP = """
import math, warnings
import torch
from torch import nn
from torch.nn import functional as F


def refused(*calls, by=RuntimeError):
    for place, call in enumerate(calls):
        try:
            call()
        except by:
            continue
        raise AssertionError(f"call {place} raised nothing")
"""

PROGRAMS = {
    "results written over tensors keep their names": """
x = torch.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
ranks = lambda *sizes: torch.empty(*sizes, dtype=torch.long)
square = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
for place, (function, args, into) in enumerate((
    (torch.max, (x, 1), (torch.empty(2), ranks(2))),
    (torch.min, (x, 1), [torch.empty(2), ranks(2)]),
    (torch.sort, (x,), (torch.empty(2, 3), ranks(2, 3))),
    (torch.topk, (x, 2), (torch.empty(2, 2), ranks(2, 2))),
    (torch.median, (x, 1), (torch.empty(2), ranks(2))),
    (torch.kthvalue, (x, 2), (torch.empty(2), ranks(2))),
    (torch.cummax, (x, 1), (torch.empty(2, 3), ranks(2, 3))),
    (torch.linalg.slogdet, (square,), (torch.empty(()), torch.empty(()))),
    (torch.linalg.eigh, (square,), (torch.empty(2), torch.empty(2, 2))),
)):
    made, wanted = function(*args, out=into), function(*args)
    assert type(made) is type(wanted) is not tuple and all(a is b for a, b in zip(made, into)), place
    assert all(torch.equal(a, b) for a, b in zip(made, wanted)), place
""",
    "tensors of one element in sequences are numbers": """
one, two = torch.tensor([1.5]), torch.tensor([[2.5]])
for made in (
    torch.tensor([one, two]), torch.as_tensor([one, 2.5]), torch.FloatTensor([one, two]),
    torch.ones(1).new_tensor((one, two)), torch.tensor([1.5, nn.Parameter(two)]), torch.asarray([one, two]),
):
    assert made.tolist() == [1.5, 2.5] and made.dtype == torch.float32
assert torch.tensor([[one, two], [two, one]]).shape == (2, 2)
assert torch.tensor([torch.tensor([3], dtype=torch.int16)]).dtype == torch.int16
""",
    "copies": """
square = torch.arange(9.0).reshape(3, 3)
kept = square.tolist()
for place, made in enumerate((
    torch.flip(square, [0]), square.flip(0, 1), square.flip((1,)), torch.flip(square, dims=(0,)), torch.fliplr(square),
    square.fliplr(), torch.flipud(square), square.flipud(), torch.rot90(square), square.rot90(2, [0, 1]),
    torch.rot90(square, 0), torch.diag(square), square.diag(1), torch.diag(square, diagonal=-1),
)):
    assert made.is_contiguous() and made.data_ptr() != square.data_ptr(), place
    made.add_(100)
    assert square.tolist() == kept, place
assert torch.flip(square, [0]).tolist() == kept[::-1] and square.diag(1).tolist() == [1.0, 5.0]
assert square.rot90().tolist() == [[2.0, 5.0, 8.0], [1.0, 4.0, 7.0], [0.0, 3.0, 6.0]]
into = torch.zeros(3)
assert torch.diag(square, out=into) is into and into.tolist() == [0.0, 4.0, 8.0]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(x.flip(0) * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
assert x.grad.tolist() == [100.0, 10.0, 1.0]
""",
    "strides": """
cases = ((2, 3), (1, 2)), ((2, 3), (4, 1)), ((3,), (0,)), ((0, 3), (1, 2)), ((), ()), ((2, 2, 2), (1, 8, 2))
for sizes, strides in cases:
    x = torch.empty_strided(sizes, strides)
    assert x.shape == sizes and (x.stride() == strides or not x.numel()), (sizes, strides)
    assert x.new_empty_strided(sizes, strides, dtype=torch.int8).dtype == torch.int8
x = torch.empty_strided((2, 3), (1, 2), requires_grad=True)
assert x.is_leaf and not x.is_contiguous() and x.dtype == torch.float32
with torch.no_grad():
    x.copy_(torch.arange(6.0).reshape(2, 3))
(x * x).sum().backward()
assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] and torch.equal(x.grad, 2 * x)
assert torch.empty_strided((2, 3), (1, 2), device="meta", dtype=torch.float64).stride() == (1, 2)
refused(lambda: torch.empty_strided((2, 3), (1,)), lambda: torch.empty_strided((2,), (-1,)))
""",
    "views": """
x = torch.arange(6.0).reshape(2, 3)
row = torch.arange(3.0)
for place, (of, made) in enumerate((
    (x, x.squeeze(0)), (x, torch.squeeze(x, 1)), (x, x.squeeze((0, 1))), (row, row.t()), (row, torch.t(row)),
    (x, x.expand(2, 3)), (x, x.expand(-1, 3)), (x, x.expand_as(x)), (x, x.broadcast_to((2, 3))),
    (x, torch.broadcast_to(x, (2, 3))), (x, torch.broadcast_tensors(x, row)[0]),
)):
    assert made is not of and made.data_ptr() == of.data_ptr(), place
    made.unsqueeze_(0)
    assert made.ndim == of.ndim + 1 and x.shape == (2, 3) and row.shape == (3,), place
leaf = torch.ones(2, 3, requires_grad=True)
for made in (leaf.squeeze(0), leaf.expand(2, 3), leaf[0].t(), torch.broadcast_tensors(leaf)[0]):
    assert not made.is_leaf
leaf.squeeze(0).mul(2).sum().backward()
assert leaf.grad.tolist() == [[2.0] * 3] * 2
for made in (torch.broadcast_tensors(x, row), torch.broadcast_tensors(x), torch.gradient(x), torch.gradient(x, dim=0)):
    assert type(made) is tuple
""",
    "dtypes": """
for dtype in (torch.float64, torch.int32, torch.bool):
    x = torch.ones(2, dtype=dtype)
    for made in (x.new_ones(2, dtype=None), x.new_zeros(2, dtype=None, device=None), x.new_full((2,), 1, dtype=None),
                 x.new_empty(2, dtype=None), x.new_tensor([1, 0], dtype=None)):
        assert made.dtype == dtype, (made.dtype, dtype)
for call in (torch.tril_indices, torch.triu_indices):
    assert call(2, 3).dtype == torch.int64
    assert call(2, 3, 1, dtype=torch.int32).dtype == call(2, 3, offset=1, dtype=torch.int32).dtype == torch.int32
assert torch.tril_indices(3, 3, -1, dtype=torch.int32).tolist() == [[1, 2, 2], [0, 0, 1]]

# Ends of integers in a row are whole; a number between them is cut.
between = [0 + each * 0.25 for each in range(5)]
assert torch.logspace(0.1, 1, 5, dtype=torch.int64).tolist() == [int(10**each) for each in between]
assert torch.linspace(0.5, 9.7, 4, dtype=torch.int32).tolist() == [0, 3, 6, 9]
assert torch.linspace(0.5, 9.5, 4).tolist() == [0.5, 3.5, 6.5, 9.5]
for dtype in (torch.uint8, torch.int16):
    assert torch.vander(torch.tensor([1, 2, 3], dtype=dtype)).dtype == torch.int64

x = torch.tensor([1, 2, 3])
for made in (F.threshold(x, 1.5, 7.5), torch.threshold(x, 1.5, 7.5), nn.Threshold(1.5, 7.5)(x)):
    assert made.dtype == torch.int64 and made.tolist() == [7, 2, 3]
assert F.threshold(x, 1, 0, inplace=True) is x and x.tolist() == [0, 2, 3]
y = torch.tensor([1.0, 2.0])
assert nn.Threshold(1.5, 7.5, inplace=True)(y) is y and y.tolist() == [7.5, 2.0]
""",
    "softmaxes": """
warnings.simplefilter("error")
for ndim, dim in enumerate((0, 0, 1, 0, 1)):
    x = torch.arange(2.0**ndim).reshape((2,) * ndim)
    for name, layer in (("softmax", nn.Softmax), ("log_softmax", nn.LogSoftmax), ("softmin", nn.Softmin)):
        function = getattr(F, name)
        wanted = function(x, dim)
        assert torch.equal(layer(dim)(x), wanted) and torch.equal(layer(dim=dim)(x), wanted)
        for call in (lambda: function(x), lambda: function(x, dim=None), lambda: layer()(x)):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                made = call()
            assert torch.equal(made, wanted), (name, ndim)
            assert len(seen) == 1 and "none is named" in str(seen[0].message), (name, ndim)
assert nn.Softmax().dim is None
assert repr(nn.Softmax()) == "Softmax(dim=None)" and repr(nn.Softmax(1)) == "Softmax(dim=1)"
assert F.softmax(torch.ones(2, 2), 1, dtype=torch.float64).dtype == torch.float64
""",
    "segments": """
x = torch.tensor([1.0, 2.0, 3.0, 5.0])
lengths = torch.tensor([2, 0, 2])
wanted = {"sum": [3.0, 0.0, 8.0], "mean": [1.5, math.nan, 4.0], "max": [2.0, -math.inf, 5.0],
          "min": [1.0, math.inf, 3.0], "prod": [2.0, 1.0, 15.0]}
with_four = {"sum": [7.0, 4.0, 12.0], "mean": [3.5, 4.0, 6.0], "max": [4.0, 4.0, 5.0], "min": [1.0, 4.0, 3.0],
             "prod": [8.0, 4.0, 60.0]}
slopes = {"sum": [1.0, 1.0, 1.0, 1.0], "mean": [0.5, 0.5, 0.5, 0.5], "max": [0.0, 1.0, 0.0, 1.0],
          "min": [1.0, 0.0, 1.0, 0.0], "prod": [2.0, 1.0, 5.0, 3.0]}
for name in wanted:
    made = torch.segment_reduce(x, name, lengths=lengths)
    torch.testing.assert_close(made, torch.tensor(wanted[name]), equal_nan=True)
    torch.testing.assert_close(torch.segment_reduce(x, name, offsets=torch.tensor([0, 2, 2, 4])), made, equal_nan=True)
    assert torch.segment_reduce(x, name, lengths=lengths, initial=4).tolist() == with_four[name], name
    columns = torch.segment_reduce(torch.stack((x, 2 * x), 1), name, lengths=lengths)
    assert columns.shape == (3, 2) and torch.equal(columns[::2, 0], made[::2])
    leaf = x.clone().requires_grad_()
    torch.segment_reduce(leaf, name, lengths=torch.tensor([2, 2])).sum().backward()
    assert leaf.grad.tolist() == slopes[name], (name, leaf.grad)
rows = torch.arange(6.0).reshape(2, 3)
made = torch.segment_reduce(rows, "sum", lengths=torch.tensor([[1, 2], [3, 0]]), axis=1)
assert made.tolist() == [[0.0, 3.0], [12.0, 0.0]]
refused(
    lambda: torch.segment_reduce(x, "sum", lengths=torch.tensor([1, 1])), lambda: torch.segment_reduce(x, "sum"),
    lambda: torch.segment_reduce(x, "sum", lengths=torch.tensor([5, -1])),
    lambda: torch.segment_reduce(x, "median", lengths=lengths),
    lambda: torch.segment_reduce(rows, "sum", lengths=torch.tensor([1, 2]), axis=1),
)
refused(lambda: torch.segment_reduce(x, "sum", indices=lengths), by=NotImplementedError)
""",
    "names": """
made = torch.as_strided_scatter(torch.zeros(3, 3), torch.tensor([[1.0, 2.0], [3.0, 4.0]]), (2, 2), (1, 2), 1)
assert made.tolist() == [[0.0, 1.0, 3.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0]]
assert torch.zeros(4).as_strided_scatter(torch.ones(2), (2,), (3,)).tolist() == [1.0, 0.0, 0.0, 1.0]
refused(lambda: torch.as_strided_scatter(torch.zeros(3), torch.ones(2), (2,), (3,)),
        lambda: torch.as_strided_scatter(torch.zeros(3), torch.ones(3), (2,), (1,)))
refused(lambda: torch.as_strided_scatter(torch.zeros(3, 3).T, torch.ones(2), (2,), (3,)), by=NotImplementedError)
leaf = torch.zeros(3, requires_grad=True)
(leaf.as_strided_scatter(torch.ones(2), (2,), (2,)) * torch.tensor([2.0, 3.0, 4.0])).sum().backward()
assert leaf.grad.tolist() == [0.0, 3.0, 0.0]
made = torch.empty_permuted((2, 3, 5, 7), (0, 2, 3, 1), dtype=torch.float64, requires_grad=True)
assert made.shape == (2, 3, 5, 7) and made.stride() == (105, 1, 21, 3) and made.requires_grad
refused(lambda: torch.empty_permuted((2, 3), (0, 0)))
assert torch.is_storage(made.untyped_storage()) and not torch.is_storage(made)
x = torch.arange(4.0).reshape(1, 4, 1, 1)
assert torch.equal(torch.native_channel_shuffle(x, 2), torch.channel_shuffle(x, 2))
assert torch.equal(torch.tile(x, dims=(2, 1, 1)), torch.tile(x, (2, 1, 1))) and x.tile(dims=(2,)).shape == (1, 4, 1, 2)
assert nn.init.calculate_gain("leaky_relu", param=1.0) == 1.0
assert isinstance(torch.TensorType, type) and not isinstance(x, torch.TensorType)
for name, arguments in {
    "uniform_": {"a": 0.0, "b": 1.0}, "normal_": {"mean": 0.0, "std": 1.0}, "constant_": {"val": 2.0},
    "sparse_": {"sparsity": 0.5},
    "trunc_normal_": {"mean": 0.0, "std": 1.0, "a": -2.0, "b": 2.0}, "xavier_uniform_": {"gain": 1.0},
    "orthogonal_": {"gain": 1},
    **dict.fromkeys(
        ("kaiming_uniform_", "kaiming_normal_"), {"a": math.sqrt(5), "mode": "fan_out", "nonlinearity": "leaky_relu"}
    ),
}.items():
    older = getattr(nn.init, name.rstrip("_"), None)
    for function in filter(None, (getattr(nn.init, name), older if name not in ("trunc_normal_",) else None)):
        assert function(tensor=torch.empty(4, 3), **arguments).shape == (4, 3), name

from torch.signal import windows

n = 4
for k, (found, cosine) in enumerate(zip(windows.hann(5).tolist(), windows.cosine(5).tolist())):
    assert abs(found - (0.5 - 0.5 * math.cos(2 * math.pi * k / n))) < 1e-6
    assert abs(cosine - math.sin(math.pi * (k + 0.5) / (n + 1))) < 1e-6
found = torch.signal.windows.gaussian(3, std=2.0, sym=True, dtype=torch.float64, requires_grad=True)
assert found.dtype == torch.float64 and found.requires_grad
assert [round(each, 9) for each in found.tolist()] == [round(math.exp(-0.125), 9), 1.0, round(math.exp(-0.125), 9)]
assert windows.general_cosine(M=4, a=[0.4, 0.6], sym=False).shape == (4,)
torch.set_default_dtype(torch.float64)
assert windows.kaiser(3).dtype == torch.float64
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name, tmp_path):
    extensions.write(tmp_path, {"program.py": SETUP + PROGRAMS[name]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
