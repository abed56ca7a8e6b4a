"""What makes, copies and writes tensors, through the front: random numbers, ``out=``, storages, copies, odd methods."""

import pytest

from support import extensions

SETUP = """
import copy, pickle
import torch
from torch import nn

torch.manual_seed(0)


def refused(*calls, by=RuntimeError):
    for place, call in enumerate(calls):
        try:
            call()
        except by:
            continue
        raise AssertionError(f"call {place} raised nothing")
"""

PROGRAMS = {
    "made of the shape of another": """
x = torch.ones(2, 3)
kinds = {torch.Tensor: "float32", torch.FloatTensor: "float32", torch.LongTensor: "int64", x.new: "float32"}
for kind, dtype in kinds.items():
    made = kind(x.shape)
    assert made.shape == (2, 3) and str(made.dtype) == f"torch.{dtype}", kind
    assert kind((2, 3)).tolist() == kind([2, 3]).tolist() == [2, 3]
assert torch.Tensor(torch.Size([])).shape == () and torch.Tensor(x.shape[:1]).shape == (2,)
assert torch.tensor(x.shape).tolist() == torch.as_tensor(x.shape).tolist() == [2, 3]
""",
    "random": """
x = torch.full((2000,), -1.0)
for call, low, high in (
    (lambda: x.random_(4), 0, 3), (lambda: x.random_(2, 5), 2, 4), (lambda: x.random_(to=3), 0, 2),
    (lambda: x.random_(**{"from": 2, "to": 4}), 2, 3),
):
    call()
    assert x.min() == low and x.max() == high, (low, high)
assert x.long().random_().max() > 1000 and 0 < x.bool().random_().float().mean() < 1
assert not x.bool().random_(0, 1).any()
assert 2 < x.uniform_(to=3).max() < 3 and x.uniform_(**{"from": 2, "to": 3}).min() >= 2
refused(lambda: x.random_(5, 2), lambda: x.uniform_(3, 1), lambda: x.byte().random_(0, 300))
refused(lambda: x.random_(1, 2, 3), lambda: x.uniform_(until=3), by=TypeError)

mean, kept = torch.full((2000,), 5.0), torch.zeros(2000)
assert torch.normal(mean, 0.1, out=kept) is kept and kept.min() > 4 and torch.normal(0.0, 1.0, (3,), out=kept) is kept
assert kept.shape == (3,) and torch.normal(5, torch.full((2,), 0.1)).min() > 4
refused(lambda: torch.normal(mean, -1.0), lambda: torch.normal(0.0, -mean), lambda: torch.normal(0.0, -1.0, (2,)))
assert 0.2 < torch.bernoulli(mean, 0.3).mean() < 0.4 and 0.2 < mean.bernoulli(p=0.3).mean() < 0.4

assert torch.bernoulli(torch.ones(3), out=torch.empty(0, dtype=torch.uint8)).tolist() == [1, 1, 1]
for dtype in (torch.bool, torch.float32, torch.bfloat16, torch.int16):
    made = torch.randint(0, 2, (200,), dtype=dtype)
    assert made.dtype == dtype and made.double().unique().tolist() == [0, 1]
    if dtype != torch.bool:
        assert torch.randperm(5, dtype=dtype).dtype == dtype and torch.randperm(5, dtype=dtype).sum() == 10
assert torch.randint(high=3, size=(50,)).unique().tolist() == [0, 1, 2]
assert torch.randint(3, (4,), out=torch.empty(0, dtype=torch.int64)).shape == (4,)
""",
    "out": """
a, b = torch.arange(6.0).reshape(2, 3), torch.full((2, 3), 2.0)
for function, args in (
    (torch.add, (a, b)), (torch.eq, (a, b)), (torch.div, (a, b)), (torch.sin, (a,)), (torch.sum, (a, 0)),
    (torch.matmul, (a, b.t())), (torch.cat, ([a, b],)), (torch.cumsum, (a, 1)), (torch.linalg.pinv, (a,)),
    (torch.where, (a > b, a, b)), (torch.bitwise_not, (a.int(),)), (torch.mean, (a, 1)), (torch.fft.fft, (a,)),
):
    wanted = function(*args)
    for shape in ((0,), (7,), wanted.shape):  # results of another shape are written all the same
        place = torch.empty(shape, dtype=wanted.dtype)
        assert function(*args, out=place) is place and torch.equal(place, wanted), function
    wider = torch.empty(0, dtype=torch.complex128)
    assert function(*args, out=wider) is wider and torch.equal(wider, wanted.to(wider.dtype)), function
values, places = torch.empty(0), torch.empty(0, dtype=torch.int64)
for function, args in ((torch.max, (a, 1)), (torch.sort, (a,)), (torch.topk, (a, 2)), (torch.kthvalue, (a, 2))):
    function(*args, out=(values, places))
    assert torch.equal(values, function(*args)[0]) and torch.equal(places, function(*args)[1]), function

whole = torch.zeros(2, 3, dtype=torch.int64)
refused(lambda: torch.add(a, b, out=whole), lambda: torch.sin(a, out=whole), lambda: torch.mul(a, 1j, out=a))
names = ("div_", "true_divide_", "mul_", "float_power_", "pow_")
refused(*(lambda name=name: getattr(whole, name)(2.5) for name in names))
refused(lambda: whole.sin_(), lambda: whole.logit_(), lambda: whole.div_(whole + 1))
assert (whole == 0).all()

fixed = torch.ones(2, dtype=torch.float64)
refused(lambda: fixed.div_(torch.ones(2, 1)), lambda: fixed.float_power_(torch.ones(2, 1)))  # keep their shape
assert fixed.shape == (2,)
try:
    torch.fft.fft2(a, dim=(0, 0))
except RuntimeError as error:  # of Python code as of the compiled part
    assert isinstance(error, ValueError)
else:
    raise AssertionError("nothing was raised")
assert torch.equal(torch.fft.fftn(a, norm=None), torch.fft.fftn(a))
spectra = torch.stft(a.flatten(), 4, return_complex=True)
assert torch.equal(torch.stft(a.flatten(), 4, return_complex=False), torch.view_as_real(spectra))

for make in (
    lambda out: torch.arange(4, out=out), lambda out: torch.range(0, 3, out=out),
    lambda out: torch.linspace(0, 3, 4, out=out), lambda out: torch.logspace(0, 3, 4, 1.5, out=out),
):  # numbers in a row fill a tensor of as many
    rows = torch.zeros(2, 3)
    make(rows[:, 1:])
    assert rows[:, 0].tolist() == [0, 0] and rows[0, 1:].tolist() == make(torch.empty(4))[:2].tolist()
for make in (torch.eye, torch.zeros, torch.ones, torch.arange):  # in the dtype of the tensor
    assert make(2, out=torch.empty(0, dtype=torch.uint8)).dtype == torch.uint8
""",
    "storages": """
x = torch.arange(6.0)
for storage in (x.storage(), x.untyped_storage()):
    y = torch.empty(0).set_(storage)
    assert y.tolist() == x.tolist() and y.data_ptr() == x.data_ptr()
y.set_(source=x.storage(), storage_offset=1, size=(2, 2), stride=(2, 1))
y.zero_()
assert x.tolist() == [0.0] * 5 + [5.0] and y.is_set_to(x[1:5].view(2, 2)) and not y.is_set_to(x)
assert y.set_(x.storage(), 2, torch.Size([2, 2])).stride() == (2, 1)
refused(lambda: y.set_(x.double()), lambda: y.set_(x.double().storage()), lambda: y.set_(x.storage(), 3, (4,)))

numbers = torch.LongStorage([3, 1])
assert numbers.tolist() == [3, 1] == torch.tensor(numbers).tolist() and torch.FloatStorage(3).tolist() == [0.0] * 3
assert torch.TypedStorage(2, dtype=torch.int32).nbytes() == 8 and torch.UntypedStorage([1, 2]).tolist() == [1, 2]
assert numbers.clone() != numbers == numbers and numbers.fill_(7).copy_(torch.LongStorage([4, 5])).tolist() == [4, 5]
assert torch.tensor(torch.ones(2).untyped_storage(), dtype=torch.float32).tolist() == [1.0, 1.0]
memory = bytearray(3)
assert torch.asarray(memory).dtype == torch.uint8 and torch.asarray(memory).fill_(1).tolist() == list(memory)
""",
    "copies": """
x = torch.ones(3, requires_grad=True)
x.tag = [1]
made = copy.copy(x)
assert made is not x and made.requires_grad and made.is_leaf and made.grad is None and made.tag is x.tag
made.detach().fill_(2)
assert x.tolist() == [2.0] * 3
deep = copy.deepcopy(x)
assert deep.tag == [1] and deep.tag is not x.tag and deep.data_ptr() != x.data_ptr()
import io
x.sum().backward()
for dtype in (torch.float32, torch.bfloat16, torch.uint16):
    given = x if dtype == torch.float32 else torch.ones(2, dtype=dtype)
    given.tag = [1, {"of": torch.zeros(2)}]
    found = [pickle.loads(pickle.dumps(given))]
    for only in (True, False):
        file = io.BytesIO()
        torch.save([given, given], file)
        file.seek(0)
        first, second = torch.load(file, weights_only=only)
        assert first is second
        found.append(first)
    for each in found:
        assert torch.equal(each, given) and each.dtype == dtype and each.requires_grad == given.requires_grad
        assert each.tag[0] == 1 and each.tag[1]["of"].tolist() == [0.0, 0.0]
assert pickle.loads(pickle.dumps(x)).grad.tolist() == [1.0] * 3
weight = nn.Parameter(torch.ones(2))
weight.tag = 3
made = copy.copy(weight)
assert type(made) is type(weight) and made.tag == 3 and made.data_ptr() == weight.data_ptr()
optimizer = torch.optim.Adam([weight])
weight.sum().backward()
optimizer.step()
before = [value.clone() for value in optimizer.state[weight].values() if torch.is_tensor(value)]
copied = copy.copy(optimizer)
optimizer.step()
after = [value for value in copied.state[weight].values() if torch.is_tensor(value)]
assert all(map(torch.equal, before, after))  # a copy of an optimizer goes its own way

kept = (x * 2).detach().requires_grad_() * 3
assert torch.asarray(kept).grad_fn is None and torch.asarray(kept, requires_grad=True) is kept
""",
    "elements": """
x = torch.arange(6.0).reshape(2, 3)
assert x.clone().map_(torch.ones(3), lambda a, b: a - b).tolist() == (x - 1).tolist()
assert x.clone().map2_(x, torch.ones(2, 1), lambda a, b, c: a * b + c).tolist() == (x * x + 1).tolist()
refused(lambda: x.map_(x, "no"), by=TypeError)
refused(lambda: x.clone().map_(torch.ones(3, requires_grad=True), lambda a, b: b))
assert x.t().dim_order() == (1, 0) and x.dim_order() == (0, 1)
assert reversed(x).tolist() == x.flip(0).tolist() and torch.flip(torch.tensor(1.0), [0]) == 1
tall = torch.zeros(7, 3).fill_diagonal_(1, wrap=True)
assert tall.nonzero().tolist() == [[0, 0], [1, 1], [2, 2], [4, 0], [5, 1], [6, 2]]
refused(lambda: torch.zeros(2, 3, 4).fill_diagonal_(1))
assert torch.put(x, torch.tensor([0, 5]), torch.tensor([7.0, 8.0])).flatten()[[0, 5]].tolist() == [7.0, 8.0]
assert torch.is_signed(x) and not torch.is_signed(x.byte()) and x.new(size=(2, 1)).shape == (2, 1)
assert torch.nonzero(torch.tensor(3)).shape == (1, 0) and torch.nonzero(torch.tensor(0)).shape == (0, 0)
nothing = torch.empty(0, 2)
assert len(nothing.chunk(3)) == 3 and len(nothing.split(2)) == 1 == len(nothing.split(0))
refused(lambda: x.split(0), lambda: x.split(-1))
assert torch.cat([torch.empty(0), torch.empty(0)], dim=1).shape == (0,)
none = torch.tensor([], dtype=torch.int64)
assert torch.equal(x.scatter(0, none, x), x) and torch.equal(x.scatter_reduce(0, none, x, "sum"), x)
assert torch.equal(x.clone().scatter_(0, none, x), x) and torch.equal(x.clone().scatter_add_(0, none, x), x)
assert x.layout is torch.strided and x.int().type(torch.Tensor).dtype == torch.float32
""",
    "reductions": """
nan = float("nan")
x = torch.tensor([[1.0, nan, 3.0], [4.0, 5.0, 6.0]])
values, places = torch.median(x, 1)
assert values.tolist()[1] == 5 and values[0].isnan() and places.tolist() == [1, 1]
assert x.median(0, True).values.isnan().tolist() == [[False, True, False]]
assert x.nanmedian(1).values.tolist() == [1.0, 5.0]
assert torch.median(torch.empty(0)).isnan() and torch.nanmedian(torch.empty(0)).isnan()
leaf = torch.tensor([[3.0, 1.0, 2.0]], requires_grad=True)
leaf.median(1).values.sum().backward()
assert leaf.grad.tolist() == [[0.0, 0.0, 1.0]]
whole = torch.tensor([[3, 0], [2, 1]])
for reduce, wanted in (
    (torch.amax, 3), (torch.amin, 0), (torch.count_nonzero, 3), (torch.sum, 6), (lambda x, dim: x.amax(dim), 3),
):  # no axes at all are all of them
    assert reduce(whole, ()) == wanted == reduce(whole, dim=[]), reduce
assert torch.nanmean(x, ()) == 19 / 5 and torch.logsumexp(torch.zeros(2, 2), ()) == torch.logsumexp(torch.zeros(4), 0)
# Truth is that of each element then.
assert torch.all(whole, ()).tolist() == [[True, False], [True, True]] == torch.any(whole, dim=[]).tolist()
assert torch.searchsorted(torch.tensor([1, 2]), 1.5) == 1 and torch.searchsorted(torch.tensor([1.5, 2]), 2) == 1
assert torch.histogram(torch.tensor([1.0, 1.0, 9.0]), 2, range=(1, 1)).bin_edges.tolist() == [0.5, 1.0, 1.5]
assert torch.index_fill(whole, 0, torch.tensor([-1]), 9).tolist() == [[3, 0], [9, 9]]
assert whole.clone().index_fill_(1, torch.tensor([-1, 0]), 7).tolist() == [[7, 7], [7, 7]]
assert torch.where(torch.tensor([1, 0], dtype=torch.uint8), 1, 2).tolist() == [1, 2]
assert torch.tensor([-1, 255], dtype=torch.uint8).tolist() == [255, 255]
refused(lambda: torch.tensor(256, dtype=torch.uint8), lambda: torch.tensor(-256, dtype=torch.uint8))
assert torch.median(whole, 1, out=None).values.tolist() == [0, 1]
""",
    "lists": """
first, second = torch.tensor([1.0, 2.0]), torch.tensor([[3.0]])
tensors = [first, second]
for made, wanted in (
    (torch._foreach_pow(2, tensors), (2**first, 2**second)),
    (torch._foreach_mul(tensors, scalar=3), (first * 3, second * 3)),
    (torch._foreach_add(tensors, scalars=[1, 2]), (first + 1, second + 2)),
    (torch._foreach_addcmul(tensors, tensors, tensors, scalars=[1, 2]), (first + first**2, second + 2 * second**2)),
):
    assert all(map(torch.equal, made, wanted))
points = torch.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
found = torch.histogramdd(points, [2, 2], weight=torch.tensor([1.0, 2.0, 4.0]))
assert found.hist.tolist() == [[1.0, 0.0], [4.0, 2.0]] and len(found.bin_edges) == 2
""",
    "matrices": """
x = torch.randn(2, 3, 4, dtype=torch.float64)
for dim in ((0, 1), [1, 0], (0, 2), (-1, -3)):
    seen, first = torch.norm(x, "nuc", dim), tuple(each % 3 for each in dim)
    rest = ({0, 1, 2} - set(first)).pop()
    wanted = [torch.linalg.svdvals(x.select(rest, place)).sum().item() for place in range(x.shape[rest])]
    assert torch.allclose(seen, torch.tensor(wanted, dtype=torch.float64))
    kept = torch.norm(x, "nuc", dim, keepdim=True)
    assert [kept.shape[axis] for axis in first] == [1, 1] and torch.equal(kept.flatten(), seen)
assert torch.equal(torch.nuclear_norm(x[0]), torch.norm(x[0], "nuc"))
refused(lambda: torch.norm(x, "nuc"), lambda: torch.norm(x, "nuc", 0), lambda: torch.linalg.norm(x, dim=()))
assert torch.norm_except_dim(x, 2, 1).shape == (1, 3, 1) and torch.frobenius_norm(x, 1).shape == (2, 4)
assert torch.linalg.vector_norm(x, dim=()).shape == ()
assert torch.linalg.vector_norm(x, dtype=torch.float32).dtype == torch.float32
for order in (1, 2, float("inf")):
    assert torch.linalg.norm(torch.empty(0, 3), order) == 0
    assert torch.linalg.matrix_norm(torch.empty(2, 3, 0), order).tolist() == [0, 0]
spread = torch.diag(torch.tensor([4.0, 2.0, 0.5]))
assert torch.linalg.matrix_rank(spread, 1.0) == 2 == torch.linalg.matrix_rank(spread, tol=1.0)
assert torch.linalg.pinv(spread, rcond=0.3).diagonal().tolist() == [0.25, 0.5, 0.0]
assert torch.linalg.pinv(spread, 0.3).diagonal().tolist() == [0.25, 0.5, 0.0]
nothing, r = torch.linalg.qr(x, mode="r")
assert nothing.shape == (0,) and torch.allclose(r, torch.linalg.qr(x).R)
assert torch.linalg.lstsq(spread, spread).residuals.shape == (0,)
assert torch.equal(torch.einsum(x, [0, 1, 2], x, [0, 3, 2], [0, 1, 3]), torch.einsum("abc,adc->abd", x, x))
refused(lambda: torch.inverse(torch.zeros(2, 2)), lambda: torch.eye(2).neg().cholesky(), by=torch.linalg.LinAlgError)
assert torch.inverse(spread).diagonal().tolist() == [0.25, 0.5, 2.0]
""",
    "dtypes": """
assert torch.float32.to_complex() == torch.complex64 and torch.complex128.to_real() == torch.float64
assert torch.complex64.to_complex() == torch.complex64 and torch.int8.to_real() == torch.int8
refused(lambda: torch.int32.to_complex())
assert torch.result_type(1, 2.0) == torch.float32 and torch.result_type(True, 1j) == torch.complex64
assert torch.result_type(torch.ones(1, dtype=torch.int32), 2) == torch.int32
torch.set_default_dtype(torch.float64)
assert torch.finfo().dtype == "float64" and torch.tensor(1j).dtype == torch.full((1,), 1j).dtype == torch.complex128
assert torch.tensor(1j, dtype=torch.complex64).dtype == torch.complex64
assert torch.linspace(0, 1, 2).dtype == torch.float64
scaler = torch.amp.GradScaler("cpu", growth_factor=3.0)
scaler.set_growth_interval(5)
assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (3.0, 0.5, 5)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_tensors(name, tmp_path):
    extensions.write(tmp_path, {"program.py": SETUP + PROGRAMS[name]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
