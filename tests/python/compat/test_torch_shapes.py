"""Tensors that get another shape, dtype or memory in place, through the front."""

import pytest

from support import extensions

PROGRAMS = {
    "axes": """
x = torch.arange(6.0).reshape(2, 3)
rows = x[0]
for call, wanted in (
    (lambda: x.t_(), (3, 2)), (lambda: x.unsqueeze_(0), (1, 3, 2)), (lambda: x.squeeze_(), (3, 2)),
    (lambda: x.transpose_(0, 1), (2, 3)), (lambda: x.swapaxes_(0, 1), (3, 2)), (lambda: x.swapdims_(0, 1), (2, 3)),
    (lambda: x.unsqueeze_(-1), (2, 3, 1)), (lambda: x.squeeze_(2), (2, 3)), (lambda: x.t_(), (3, 2)),
):
    assert call() is x and x.shape == wanted, (x.shape, wanted)
rows.zero_()  # still shows the memory
assert x.tolist() == [[0.0, 3.0], [0.0, 4.0], [0.0, 5.0]]
assert copy.deepcopy(x).shape == pickle.loads(pickle.dumps(x)).shape == (3, 2)
""",
    "gradients": """
leaf = torch.arange(6.0).reshape(2, 3).requires_grad_()
y = leaf * 2
y.t_()
y.mul_(torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]))
y.unsqueeze_(0).sum().backward()
assert leaf.grad.tolist() == [[2.0, 4.0, 6.0], [20.0, 40.0, 60.0]]

squared = (leaf * leaf).sum()
with torch.no_grad():
    leaf.t_()
assert leaf.shape == (3, 2) and leaf.requires_grad and leaf.is_leaf and leaf.grad is None
(gradient,) = torch.autograd.grad((leaf * leaf).sum(), leaf)
assert gradient.tolist() == [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]
for wrong in (lambda: leaf.t_(), lambda: leaf.unsqueeze_(0), lambda: leaf.resize_(2), lambda: leaf.set_(torch.ones(1)),
              lambda: setattr(leaf * 2, "data", torch.ones(1)), lambda: leaf.view(7)):
    try:
        wrong()
    except RuntimeError:
        assert leaf.shape == (3, 2)
    else:
        raise AssertionError("nothing was raised")
""",
    "memory": """
x = torch.arange(6.0)
assert x.resize_(2, 2) is x and x.tolist() == [[0.0, 1.0], [2.0, 3.0]]
assert x.resize_((3,)).tolist() == [0.0, 1.0, 2.0] and x.resize_(2, 4).shape == (2, 4)
assert x.flatten()[:3].tolist() == [0.0, 1.0, 2.0] and x.resize_as_(torch.ones(1, 2)).shape == (1, 2)
y = torch.ones(3)
assert x.set_(y).tolist() == [1.0] * 3
y[0] = 5
assert x[0] == 5 and x.set_().shape == (0,)

numbers = torch.tensor([1.0, 2.0])
bits = numbers.view(torch.int32)
bits[0] = 0
assert numbers.tolist() == [0.0, 2.0]
for start, dtype in (
    (torch.arange(8), torch.int32), (torch.arange(8).to(torch.int16).reshape(2, 4), torch.int64),
    (torch.arange(8)[2:4], torch.uint8), (torch.arange(6.0).reshape(2, 3)[:, 1:], torch.int32),
):
    seen = start.view(dtype)
    wanted = start.contiguous().numpy().view(str(dtype).partition(".")[2])
    assert seen.dtype == dtype and seen.shape == wanted.shape and seen.tolist() == wanted.tolist()
assert torch.ones(2, 3).t().view(torch.int32).shape == (3, 2)
assert torch.ones(2, dtype=torch.bfloat16).view(torch.int16).tolist() == [16256] * 2
try:
    torch.ones(3).view(torch.int64)
except RuntimeError:
    pass
else:
    raise AssertionError("nothing was raised")
""",
    "data": """
p = nn.Parameter(torch.ones(2, 3))
optimizer = torch.optim.SGD([p], lr=0.5)
p.data = torch.ones(4)
assert isinstance(p, nn.Parameter) and p.shape == (4,) and p.requires_grad and p.is_leaf
(p * p).sum().backward()
optimizer.step()
assert p.tolist() == [0.0] * 4
for dtype in (torch.half, torch.float64, torch.bfloat16):
    p.data = p.data.to(dtype)
    assert p.dtype == dtype and p.requires_grad
p.data = p.data

backup = p.data  # as weights are swapped for averaged ones and back
p.data = torch.full((4,), 7.0, dtype=p.dtype)
assert backup.tolist() != p.tolist() == [7.0] * 4
p.data = backup
assert p.data_ptr() == backup.data_ptr()

q = nn.Parameter(torch.ones(2))
seen = []
q.register_hook(lambda gradient: seen.append(gradient.tolist()))
q.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf is q))
(q * 3).sum().backward()
q.data = torch.zeros(2)
(q * 2).sum().backward()
assert q.grad.tolist() == [5.0, 5.0] and seen == [[3.0, 3.0], True, [2.0, 2.0], True]

r = nn.Parameter(torch.full((2,), 3.0))
r.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf is r))
made = (r * r).sum()
for value in (5.0, 7.0):  # what was computed before goes into the gradient of the same parameter
    r.data = torch.full((2,), value)
(first,) = torch.autograd.grad(made, r, create_graph=True)
(second,) = torch.autograd.grad(first.sum(), r, retain_graph=True)
assert first.tolist() == [6.0, 6.0] and second.tolist() == [2.0, 2.0] and r.grad is None
(made + r.sum()).backward(retain_graph=True)
made.backward()
assert r.grad.tolist() == [13.0, 13.0] and seen[-2:] == [True, True] and r.tolist() == [7.0, 7.0]
made = r.sum()
r.data = torch.ones(3)
try:
    made.backward()
except RuntimeError as error:
    assert "shape [2] arrived at a tensor of shape [3]" in str(error), error
else:
    raise AssertionError("nothing was raised")

import math

for operation, slopes in ((torch.exp, [1.0, math.e]), (torch.relu, [0.0, 1.0]), (torch.sin, [1.0, math.cos(1)])):
    leaf = torch.tensor([0.0, 1.0], requires_grad=True)
    result = operation(leaf)
    kept, before, seen = result.detach(), result * 1, []
    result.register_hook(lambda gradient: seen.append(gradient.tolist()))
    result.retain_grad()
    result.data = torch.full((2,), 7.0)
    assert result.tolist() == [7.0, 7.0] and kept.tolist() == before.tolist() == operation(leaf).tolist()
    result.register_hook(lambda gradient: seen.append(gradient.tolist()))
    result.data = result.data * 2
    ((result * result).sum() + 0 * before.sum()).backward()
    assert seen == [[28.0, 28.0]] * 2 and result.grad.tolist() == [28.0, 28.0]
    assert torch.allclose(leaf.grad, 28 * torch.tensor(slopes)), (operation, leaf.grad)
result = q * 1
result.data = torch.ones(2)
result += 1
q.grad = None
result.sum().backward()
assert result.tolist() == [2.0, 2.0] and q.grad.tolist() == [1.0, 1.0]

layer = nn.Linear(3, 2)
layer.weight.data, layer.bias.data = torch.zeros(5, 3), torch.ones(5)
assert layer(torch.ones(1, 3)).tolist() == [[1.0] * 5] and layer.state_dict()["weight"].shape == (5, 3)
compiled = torch.compile(lambda x: layer(x))
assert compiled(torch.ones(1, 3)).shape == (1, 5)
layer.weight.data, layer.bias.data = torch.zeros(4, 3), torch.ones(4)
for factor in (1.0, 2.0, 3.0):
    layer.weight.data, layer.bias.data = torch.full((4, 3), factor), torch.ones(4)
    for _ in range(3):
        layer.weight.grad = None
        made = compiled(torch.ones(1, 3))
        made.sum().backward()
        assert made.tolist() == [[1.0 + 3 * factor] * 4] and layer.weight.grad.tolist() == [[1.0] * 3] * 4

@torch.compile
def turned(x):
    y = x * 2
    y.t_()
    return y + 1

for _ in range(2):
    assert turned(torch.arange(6.0).view(2, 3)).tolist() == [[1.0, 7.0], [3.0, 9.0], [5.0, 11.0]]
""",
    "vectors": """
matrices = torch.eye(5).repeat(3, 1, 1) * 2
vectors = torch.arange(15.0).reshape(3, 5)
for _ in range(2):
    assert torch.linalg.solve(matrices, vectors).equal(vectors / 2)
    assert torch.linalg.solve_ex(matrices, vectors)[0].equal(vectors / 2)
# A batch of as many matrices as they have rows: each row is a vector, too.
assert torch.linalg.solve(torch.diag_embed(vectors + 1), vectors).equal(vectors / (vectors + 1))
assert torch.linalg.solve(torch.eye(5), torch.ones(5, 2)).shape == (5, 2)
for rows, columns in ((3, 3), (5, 3), (3, 5)):
    for driver in (None, "gelsd"):
        found = torch.linalg.lstsq(torch.randn(2, rows, columns), torch.randn(2, rows), driver=driver)
        assert found[0].shape == (2, columns) and found[1].shape in ((0,), (2, 1))
assert torch.linalg.lu_factor(torch.eye(2)).pivots.tolist() == [1, 2]
many = torch.randn(4, 3, 3)
assert torch.allclose(torch.func.vmap(torch.linalg.lu_factor)(many)[0], torch.linalg.lu_factor(many)[0])


class Factors(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.lu_factor(x)[0]


assert torch.allclose(torch.export.export(Factors(), (many,)).module()(many), torch.linalg.lu_factor(many)[0])
for singular in (torch.zeros(2, 2), torch.stack([torch.eye(2), torch.ones(2, 2)])):
    try:
        torch.linalg.lu_factor(singular)
    except RuntimeError as error:
        assert "is zero" in str(error)
    else:
        raise AssertionError
    assert torch.linalg.lu_factor_ex(singular).info.max() > 0
for dtype in (torch.float32, torch.float64, torch.complex64):
    bad = torch.eye(3, dtype=dtype)
    bad[1, 1] = float("nan")
    assert torch.linalg.cholesky_ex(bad).info == 2
    try:
        torch.linalg.cholesky(torch.stack([torch.eye(3, dtype=dtype), bad]))
    except RuntimeError as error:
        assert "not positive" in str(error)
    else:
        raise AssertionError
x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
for full in (True, False):
    for wide in (x, x.mT):
        assert torch.autograd.gradgradcheck(lambda y: torch.linalg.svd(y, full_matrices=full)[1].pow(3).sum(), (wide,))
""",
    "transforms": """
x = torch.randn(4, 3)
for _ in range(2):
    assert torch.fft.fftn(x, s=5, dim=0).equal(torch.fft.fft(x, 5, 0))
    assert torch.fft.fftn(x, (-1, 3)).equal(torch.fft.fftn(x, (x.shape[-2], 3)))
    whole = 2 * (x.shape[-1] - 1)
    assert torch.fft.irfftn(x, (2, -1)).equal(torch.fft.irfftn(x, (2, whole)))
    assert torch.fft.ifftn(x, None, 0).equal(torch.fft.ifft(x, dim=0))
    assert torch.fft.rfft2(x, None, (-2, -1), "ortho").equal(torch.fft.rfft2(x, norm="ortho"))
""",
    "no axis": """
x = torch.arange(10.0).reshape(2, 5)
assert torch.take_along_dim(x, torch.tensor([[3, 1]])).tolist() == [3.0, 1.0]
assert x.take_along_dim(x.argmax(1, keepdim=True), 1).tolist() == [[4.0], [9.0]]
assert tuple(torch.nanmedian(torch.tensor(2.0), dim=-1)) == (torch.tensor(2.0), torch.tensor(0))
assert [each.tolist() for each in torch.nonzero(torch.tensor(3.0), as_tuple=True)] == [[0]]
assert [each.shape for each in torch.atleast_2d(torch.tensor(1.0), torch.ones(3))] == [(1, 1), (1, 3)]
edges = torch.tensor([1.0, 3.0])
assert torch.bucketize(torch.tensor([0.0, 3.0, 9.0]), edges, out_int32=True).dtype == torch.int32
assert torch.bucketize(3.0, edges, right=True).item() == 2
""",
    "sums": """
x = torch.tensor([[200, 100], [1, 0]], dtype=torch.uint8)
for made, wanted in (
    (x.sum(), 301), (torch.sum(x, 0), [201, 100]), (x.prod(1), [20000, 0]), (x.cumsum(0), [[200, 100], [201, 100]]),
    (torch.cumprod(x, 1), [[200, 20000], [1, 0]]), (x.trace(), 200), (torch.nansum(x), 301),
):
    assert made.dtype == torch.int64 and made.tolist() == wanted, made
assert x.all().dtype == x.any(1).dtype == torch.uint8 and x.any(1).tolist() == [1, 1] and not x.all()
assert (x > 0).all(dim=1, keepdim=True).tolist() == [[True], [False]] and x.sum(dtype=torch.float32).item() == 301
a, b = torch.tensor([7, -7, 7, -7, 2**53 + 1, 0]), torch.tensor([2, 2, -2, -2, 1, 3])
out = torch.empty(6, dtype=torch.int64)
assert torch.div(a, b, rounding_mode="trunc", out=out) is out and out.tolist() == [3, -3, -3, 3, 2**53 + 1, 0]
assert torch.div(torch.tensor([-7.0]), 2, rounding_mode="trunc", out=torch.empty(1)).tolist() == [-3.0]
assert a.div(-2, rounding_mode="trunc").tolist() == [-3, 3, -3, 3, -(2**52), 0]
assert torch.arange(0.1, -7.9, -4.0, dtype=torch.int64).tolist() == [0, -4]
assert torch.arange(0, 2, 0.5, dtype=torch.int64).tolist() == [0, 0, 0, 0] and torch.arange(2.5).tolist() == [0, 1, 2]
""",
    "copies": """
x = torch.arange(6.0).reshape(2, 3)
for made, view in (
    (torch.permute_copy(x, (1, 0)), x.permute(1, 0)), (torch.t_copy(x), x.t()), (torch.unsqueeze_copy(x, 0), x[None]),
    (torch.transpose_copy(x, 0, 1), x.T), (torch.view_copy(x, (6,)), x.view(6)), (torch.select_copy(x, 0, 1), x[1]),
    (torch.diagonal_copy(x), x.diagonal()), (torch.expand_copy(x, (2, 2, 3)), x.expand(2, 2, 3)),
    (torch.unbind_copy(x)[1], x[1]), (torch.split_copy(x, 1)[0], x[:1]),
    (torch.unfold_copy(x, 1, 2, 1), x.unfold(1, 2, 1)),
):
    assert made.equal(view) and made.data_ptr() != x.data_ptr()
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_shapes(program, tmp_path):
    head = "import copy, pickle\nimport torch\nfrom torch import nn\n"
    (tmp_path / "program.py").write_text(head + PROGRAMS[program])
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
