"""What programs of PyTorch do beside the plain training loop, through the front."""

import pytest

from support import extensions

PROGRAMS = {
    "layers that are made without their parameters": """
class Extra:
    def __init__(self, base):
        self.base, self.scale = base, nn.Parameter(torch.full((1,), 2.0))


for kind, base, x in (
    (nn.Linear, nn.Linear(2, 3), torch.ones(2)),
    (nn.LayerNorm, nn.LayerNorm(3), torch.arange(3.0)),
    (nn.Embedding, nn.Embedding(4, 2), torch.tensor([1, 3])),
):
    class Adapter(kind, Extra):
        def __init__(self, base):
            super(kind, self).__init__()
            Extra.__init__(self, base)

        def forward(self, x):
            return self.base(x) * self.scale

    class Own(kind):
        def __init__(self, *args):
            super().__init__(*args)

    adapter = Adapter(base)
    names = [name for name, _ in adapter.named_parameters()]
    assert names[0] == "scale" and all(name.startswith("base.") for name in names[1:]), names
    assert isinstance(adapter, kind) and torch.equal(adapter(x), base(x) * 2) and adapter.training
    for refused in (Own, kind):
        try:
            refused()
        except TypeError:
            continue
        raise AssertionError(refused)
assert list(type("Plain", (nn.Linear,), {})(2, 3).state_dict()) == ["weight", "bias"]
""",
    "sparse matrices row by row": """
rows = torch.sparse_csr_tensor([0, 2, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0], size=(3, 4))
dense = torch.tensor([[1.0, 0.0, 2.0, 0.0], [0.0] * 4, [0.0, 3.0, 0.0, 0.0]])
assert rows.layout == torch.sparse_csr and rows.is_sparse_csr and not rows.is_sparse and rows._nnz() == 3
assert torch.equal(rows.to_dense(), dense) and rows.shape == (3, 4) and rows.dtype == torch.float32
columns = rows.to_sparse_csc()
assert columns.ccol_indices().tolist() == [0, 1, 2, 3, 3] and columns.row_indices().tolist() == [0, 2, 0]
for made in (dense.to_sparse_csr(), dense.to_sparse().to_sparse_csr(), columns.to_sparse_csr(), columns.to_sparse_csr(),
             dense.to_sparse(layout=torch.sparse_csr), rows.clone().detach(), rows.t().t(), (rows * 2) / 2, -(-rows)):
    assert made.layout == torch.sparse_csr and made.crow_indices().tolist() == [0, 2, 2, 3]
    assert made.col_indices().tolist() == [0, 2, 1] and made.values().tolist() == [1.0, 2.0, 3.0]
other = torch.arange(8.0).reshape(4, 2).requires_grad_()
for product in (rows @ other, columns @ other, torch.mm(rows, other), torch.sparse.mm(rows, other), rows.matmul(other)):
    assert torch.equal(product, dense @ other)
product.sum().backward()
assert torch.equal(other.grad, dense.sum(0)[:, None].expand(4, 2))
assert torch.equal(torch.mv(rows, torch.arange(4.0)), dense @ torch.arange(4.0))
assert torch.equal(torch.addmm(torch.ones(3, 2), rows, other, alpha=2), 1 + 2 * (dense @ other))
assert torch.equal(rows.t().to_dense(), dense.T) and rows.t().layout == torch.sparse_csc
square = rows @ rows.t().to_sparse_csr()
for made, wanted in ((square, dense @ dense.T), (rows + rows, 2 * dense), (rows - rows, 0 * dense)):
    assert made.layout == torch.sparse_csr and torch.equal(made.to_dense(), wanted)
assert rows.to_sparse_coo().indices().tolist() == [[0, 0, 2], [0, 2, 1]] and rows.double().dtype == torch.float64
import io
file = io.BytesIO()
torch.save({"rows": rows, "columns": columns}, file)
file.seek(0)
for made in torch.load(file).values():
    assert torch.equal(made.to_dense(), dense)
for call in (
    lambda: torch.sparse_csr_tensor([0, 2], [0], [1.0]),
    lambda: torch.sparse_csr_tensor([0, 2, 1], [0], [1.0]),
    lambda: torch.sparse_csr_tensor([0, 1], [5], [1.0], size=(1, 3)),
    lambda: rows.ccol_indices(),
    lambda: rows.indices(),
    lambda: torch.ones(2, 2, 2).to_sparse_csr(),
    lambda: torch.cat([rows, dense]),
):
    try:
        call()
    except RuntimeError:
        continue
    raise AssertionError(call)
""",
    "functions of sparse tensors": """
torch.manual_seed(0)
draw = lambda *sizes: torch.randn(*sizes) * (torch.rand(*sizes) > 0.5)
x, y = draw(3, 4), draw(3, 4)
a, b = x.to_sparse(), y.to_sparse()
three = draw(2, 3, 4)
index = torch.tensor([2, 0, 0])
for place, (made, wanted) in enumerate((
    (torch.cat([a, b]), torch.cat([x, y])),
    (torch.cat((a, b), dim=1), torch.cat([x, y], 1)),
    (torch.cat([a, b, a], -1), torch.cat([x, y, x], -1)),
    (torch.stack([a, b]), torch.stack([x, y])),
    (torch.stack([a, b], 1), torch.stack([x, y], 1)),
    (torch.stack([a, b], dim=-1), torch.stack([x, y], dim=-1)),
    (torch.hstack([a, b]), torch.hstack([x, y])),
    (torch.vstack([a, b]), torch.vstack([x, y])),
    (torch.add(a, b, alpha=2), x + 2 * y),
    (torch.sub(a, b), x - y),
    (a - b, x - y),
    (torch.mul(a, 3), x * 3),
    (torch.mul(a, b), x * y),
    (torch.div(a, 2), x / 2),
    (torch.abs(a), x.abs()),
    (a.neg(), -x),
    (a.tanh(), x.tanh()),
    (torch.sin(a), x.sin()),
    (torch.relu(a + b), torch.relu(x + y)),
    (a.pow(2), x**2),
    (torch.transpose(a, 0, 1), x.T),
    (torch.t(a), x.T),
    (a.unsqueeze(0), x.unsqueeze(0)),
    (torch.unsqueeze(a, -1), x.unsqueeze(-1)),
    (a.index_select(0, index), x[index]),
    (torch.index_select(a, 1, index), x[:, index]),
    (a[1], x[1]),
    (a.select(1, -1), x[:, -1]),
    (a[1][2], x[1][2]),
    (torch.mv(a, y[0]), x @ y[0]),
    (torch.addmm(torch.ones(3, 3), a, y.T, beta=2), 2 + x @ y.T),
    (torch.bmm(three.to_sparse(), three.mT), three @ three.mT),
    (torch.sum(a), x.sum()),
    (torch.zeros_like(a), torch.zeros(3, 4)),
    (three.to_sparse(2)[1], three[1]),
    (torch.sparse.softmax(a, 1), torch.where(x == 0, -torch.inf, x).softmax(1).nan_to_num(0)),
    (a * y, x * y), (y * a, x * y), (a * y[0], x * y[0]), (a.to_sparse_csr() * y, x * y), (a[1, 2], x[1, 2]),
    (three.to_sparse().permute(2, 0, 1), three.permute(2, 0, 1)), (a.narrow_copy(1, 1, 2), x[:, 1:3]),
    (three.to_sparse(1).permute(0, 2, 1), three.mT), (torch.norm(a), x.norm()), (a.norm(1), x.norm(1)),
    (a.any(), x.any()), (torch.isnan(a), torch.isnan(x)), (a.clone().zero_(), x * 0), (a.clone().mul_(3), x * 3),
    (y.sparse_mask(a), y * (x != 0)), (b.sparse_mask(a), y * (x != 0)),
    (y.sparse_mask(a.to_sparse_csr()), y * (x != 0)),
    (torch.sparse.sampled_addmm(a.to_sparse_csr(), y, y.T @ y, beta=2, alpha=3), 2 * x + 3 * (y @ y.T @ y) * (x != 0)),
    (torch.sparse.spdiags(y[:2], torch.tensor([0, -1]), (4, 4)), torch.diag(y[0]) + torch.diag(y[1, :3], -1)),
    (torch.sparse_coo_tensor(size=(2, 3)), torch.zeros(2, 3)),
)):
    made = made.to_dense()
    assert made.shape == wanted.shape and torch.allclose(made, wanted, atol=1e-6), (place, made, wanted)
assert three.to_sparse(1).values().shape == (2, 3, 4) and torch.is_tensor(torch.cat([a, b]).coalesce().values())
for dense, sparse in ((x, a), (three, three.to_sparse()), (three, three.to_sparse(2)), (three, three.to_sparse(1))):
    count = sparse.sparse_dim()
    for dim in (0, 1, -1, (0, 1), (0, -1), tuple(range(dense.ndim))):
        along = {each % dense.ndim for each in (dim if isinstance(dim, tuple) else (dim,))}
        for keep in (False, True):
            made, wanted = torch.sum(sparse, dim, keepdim=keep), torch.sum(dense, dim, keepdim=keep)
            assert torch.allclose(made.to_dense(), wanted, atol=1e-6) and made.shape == wanted.shape
            kept = keep or set(range(count)) - along
            assert made.layout == (torch.sparse_coo if kept else torch.strided), (dim, made)
        assert torch.sparse.sum(sparse, dim, dtype=torch.float64).dtype == torch.float64
rows = torch.sum(a.to_sparse_csr(), dim=1, keepdim=True)
assert rows.layout == torch.sparse_csr and torch.allclose(rows.to_dense(), x.sum(1, keepdim=True))
for layout in (torch.sparse_coo, torch.sparse_csr):
    like = torch.zeros_like(x[:2, :3], layout=layout)
    for made in (torch.zeros(2, 3, layout=layout), torch.empty((2, 3), layout=layout), like):
        assert made.layout == layout and made._nnz() == 0 and made.to_dense().tolist() == [[0.0] * 3] * 2
    for call in (lambda: torch.ones(2, 2, layout=layout), lambda: torch.rand(2, 2, layout=layout)):
        try:
            call()
        except RuntimeError:
            continue
        raise AssertionError(call)
assert torch.zeros(2, layout=torch.strided).layout == torch.strided and len(a) == 3
""",
    "what libraries of graphs ask sparse matrices": """
links = torch.tensor([[0, 0, 2, 2, 3], [1, 3, 0, 2, 1]])
rows = torch._convert_indices_from_coo_to_csr(links[0], 5)
assert rows.tolist() == [0, 2, 2, 4, 5, 5] and rows.dtype == torch.int64
assert torch._convert_indices_from_coo_to_csr(links[0], 5, out_int32=True).dtype == torch.int32
assert torch._convert_indices_from_csr_to_coo(rows, links[1]).equal(links)
assert torch._convert_indices_from_csr_to_coo(rows, links[1], transpose=True).equal(links.flip(0))
values, x = torch.tensor([1.0, -2.0, 3.0, 4.0, 5.0]), torch.randn(4, 3, requires_grad=True)
by_row = torch.sparse_csr_tensor(crow_indices=rows, col_indices=links[1], values=values, size=(5, 4))
by_column = torch.sparse_csc_tensor(ccol_indices=rows, row_indices=links[1], values=values, size=(4, 5))
assert by_row.to_dense().equal(by_column.to_dense().T) and not by_row.is_cuda
placed = torch.sparse_coo_tensor(links, values, (5, 4))._coalesced_(True)
assert placed.is_coalesced() and placed.indices().equal(links)
terms = values[:, None] * x[links[1]]
for reduce in ("sum", "mean", "amax", "amin"):
    wanted = torch.zeros(5, 3)
    for row in (0, 2, 3):
        of_row = terms[links[0] == row]
        wanted[row] = of_row.sum(0) if reduce == "sum" else getattr(of_row, reduce)(0)
    for matrix in (by_row, placed):
        made = torch.sparse.mm(matrix, x, reduce)
        assert torch.allclose(made, wanted, atol=1e-6), (reduce, made)
        gradients = [torch.autograd.grad(y.sum(), x, retain_graph=True)[0] for y in (made, wanted)]
        assert torch.allclose(*gradients), reduce
try:
    torch.sparse.mm(placed, x, "median")
    raise AssertionError
except ValueError:
    pass
""",
    "gradients of sparse tensors are their own": """
values = torch.tensor([3.0, 4.0])
made = torch.sparse_coo_tensor([[0, 1], [1, 0]], values, (2, 2)).coalesce().requires_grad_()
assert not values.requires_grad and made.requires_grad and made.is_leaf and made.grad is None
weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
torch.sparse.mm(made, weight).sum().backward()
assert made.grad.is_sparse and made.grad.to_dense().tolist() == [[0.0, 7.0], [3.0, 0.0]]
assert weight.grad.tolist() == [[4.0, 4.0], [3.0, 3.0]]
made.grad = None
assert made.grad is None
(made * weight).to_dense().sum().backward()
assert made.grad.to_dense().tolist() == [[0.0, 2.0], [3.0, 0.0]]
twice = torch.sparse_coo_tensor([[0, 1], [1, 0]], values, (2, 2)).mul_(2)
assert values.tolist() == [3.0, 4.0] and twice.to_dense().tolist() == [[0.0, 6.0], [8.0, 0.0]]
wanted = torch.tensor([1.0, 2.0], requires_grad=True)
torch.sparse_coo_tensor([[0, 1], [1, 0]], wanted, (2, 2)).to_dense().sum().backward()
assert wanted.grad.tolist() == [1.0, 1.0]
""",
    "other tensors in the place of parameters, for a block": """
from torch.nn.utils.stateless import _reparametrize_module, functional_call

layer = nn.Linear(2, 1)
kept = layer.weight
other = {"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.zeros(1)}
with _reparametrize_module(layer, other):
    assert layer(torch.ones(2)).item() == 3.0 and layer.weight is other["weight"]
assert layer.weight is kept and isinstance(layer.weight, nn.Parameter)
for options in ({"strict": True}, {"strict": True, "tie_weights": True}):
    try:
        with _reparametrize_module(layer, {"weight": kept}, **options):
            raise AssertionError("no bias is given")
    except RuntimeError as error:
        assert "bias" in str(error)
try:
    with _reparametrize_module(layer, {**other, "scale": torch.ones(1)}):
        assert layer.scale.item() == 1.0
        raise KeyError("inside")
except KeyError:
    assert layer.weight is kept and not hasattr(layer, "scale")
for called in (functional_call, torch.func.functional_call):
    for args, kwargs in (((torch.ones(2),), None), (torch.ones(2), {}), (None, {"input": torch.ones(2)})):
        assert called(layer, other, args, kwargs).item() == 3.0
norm = nn.BatchNorm1d(1, momentum=1.0)
means = {"running_mean": torch.zeros(1)}
with _reparametrize_module(norm, means):
    norm(torch.tensor([[1.0], [3.0]]))
assert means["running_mean"].item() == 2.0 and norm.running_mean.item() == 0.0
""",
    "draws of gamma distributions": """
torch.manual_seed(0)
shapes = torch.full((20000,), 3.0, requires_grad=True)
drawn = torch._standard_gamma(shapes)
drawn.mean().backward()
assert abs(drawn.mean().item() - 3.0) < 0.1 and abs(shapes.grad.sum().item() - 1.0) < 0.05
slopes = torch._standard_gamma_grad(torch.ones(1), torch.tensor([0.5]))
assert abs(slopes.item() - 0.80698) < 1e-4
assert torch.allclose(torch._sample_dirichlet(torch.ones(5, 3)).sum(-1), torch.ones(5))
""",
    "comparing in tests": """
x = torch.tensor([1.0, 2.0])
for function, args, options, error in (
    (torch.testing.assert_allclose, (x, x.double() + 1e-5), {}, None),
    (torch.testing.assert_allclose, (x, [1.0, 2.0]), {}, None),
    (torch.testing.assert_allclose, (x, x + 1e-2), {}, AssertionError),
    (torch.testing.assert_allclose, (x, x + 1e-2), {"rtol": 0.0, "atol": 0.1}, None),
    (torch.testing.assert_close, (x, x + 1e-2), {"rtol": 0.0, "atol": 0.1}, None),
    (torch.testing.assert_close, (x, x), {"atol": 0.1}, ValueError),
    (torch.testing.assert_close, (x, x), {"rtol": 0.1}, ValueError),
):
    try:
        function(*args, **options)
        assert error is None, (function, options)
    except Exception as raised:
        assert error is not None and isinstance(raised, error), raised
make = torch.testing.make_tensor
for dtype in (torch.float32, torch.float16, torch.int64, torch.uint8, torch.bool, torch.complex64):
    made = make((3, 40), dtype=dtype, device="cpu")
    assert made.shape == (3, 40) and made.dtype == dtype and made.unique().numel() > 1
    assert make(2, 3, dtype=dtype, device="cpu", noncontiguous=True).stride() == (6, 2)
    assert (make(500, dtype=dtype, device="cpu", exclude_zero=True) != 0).all()
made = make(1000, dtype=torch.float32, device="cpu", low=1, high=2, requires_grad=True)
assert 1 <= made.min() < made.max() < 2 and made.requires_grad
""",
    "an optimizer of one's own": """
import copy, pickle


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data.mul_(1 - group["lr"] * group["weight_decay"])
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                beta1, beta2 = group["betas"]
                update = state["exp_avg"] * beta1 + p.grad * (1 - beta1)
                p.add_(update.sign_(), alpha=-group["lr"])
                state["exp_avg"].mul_(beta2).add_(p.grad, alpha=1 - beta2)
        return loss


x = nn.Parameter(torch.ones(3))
optimizer = Lion([{"params": [x], "weight_decay": 0.1, "name": "x"}], lr=0.1)


def closure():
    optimizer.zero_grad()
    loss = (x**2).sum()
    loss.backward()
    return loss


first = optimizer.step(closure)
assert optimizer.step(closure) < first and x in optimizer.state and optimizer.param_groups[0]["name"] == "x"
state = optimizer.state_dict()
assert list(state["state"]) == [0] and state["param_groups"][0]["params"] == [0]
other = Lion([x], lr=0.5)
other.load_state_dict(Lion([x], lr=0.1).state_dict())
assert other.param_groups[0]["lr"] == 0.1
again = pickle.loads(pickle.dumps(optimizer))
assert again.state[again.param_groups[0]["params"][0]]["exp_avg"].shape == (3,)
optimizer.zero_grad(set_to_none=False)
assert x.grad.tolist() == [0.0] * 3
""",
    "schedules": """
from torch.optim import lr_scheduler as S

def rates(make, steps=6, **options):
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    schedule = make(optimizer)
    seen = []
    for _ in range(steps):
        seen.append(round(optimizer.param_groups[0]["lr"], 6))
        optimizer.step()
        schedule.step(**options)
    return seen

assert rates(lambda o: S.StepLR(o, step_size=2, gamma=0.1)) == [1.0, 1.0, 0.1, 0.1, 0.01, 0.01]
assert rates(lambda o: S.MultiStepLR(o, milestones=[1, 3], gamma=0.5))[:4] == [1.0, 0.5, 0.5, 0.25]
assert rates(lambda o: S.ExponentialLR(o, gamma=0.5))[:3] == [1.0, 0.5, 0.25]
assert rates(lambda o: S.LambdaLR(o, lr_lambda=lambda e: 1 / (e + 1)))[:3] == [1.0, 0.5, 0.333333]
assert rates(lambda o: S.CosineAnnealingLR(o, T_max=2, eta_min=0.0))[:3] == [1.0, 0.5, 0.0]
assert rates(lambda o: S.LinearLR(o, start_factor=0.5, total_iters=2))[:3] == [0.5, 0.75, 1.0]
plateau = rates(lambda o: S.ReduceLROnPlateau(o, mode="min", factor=0.1, patience=1), metrics=1.0)
assert plateau[:4] == [1.0, 1.0, 1.0, 0.1]
parts = lambda o: [S.ConstantLR(o, factor=0.1, total_iters=2), S.ExponentialLR(o, gamma=0.5)]
assert rates(lambda o: S.SequentialLR(o, parts(o), milestones=[2]))[1:4] == [0.1, 1.0, 0.5]
one = rates(lambda o: S.OneCycleLR(o, max_lr=1.0, total_steps=10))
assert max(one) == 1.0 and one[0] < one[1]
assert rates(lambda o: S.CosineAnnealingWarmRestarts(o, T_0=2, T_mult=1))[:4] == [1.0, 0.5, 1.0, 0.5]
optimizer = torch.optim.AdamW([nn.Parameter(torch.ones(1))], lr=0.3)
schedule = S.StepLR(optimizer, 1)
assert isinstance(schedule, S.LRScheduler) and schedule.get_last_lr() == [0.3]
state = schedule.state_dict()
optimizer.step(), schedule.step()
schedule.load_state_dict(state)
""",
    "modules": """
calls = []


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.register_buffer("count", torch.zeros(1, dtype=torch.long), persistent=False)
        self.layers = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Identity()})
        self.scale = nn.ParameterList([nn.Parameter(torch.ones(1))])

    def forward(self, x, *, factor=1):
        self.count += 1
        return self.layers["a"](self.lin(x)) * self.scale[0] * factor


block = Block()
pre = block.register_forward_pre_hook(lambda m, args: calls.append("pre"))
handle = block.register_forward_hook(lambda m, args, out: out + 1)
out = block(torch.zeros(1, 2), factor=2)
assert calls == ["pre"] and out.shape == (1, 2)
handle.remove(), pre.remove()
grads = []
block.register_full_backward_hook(lambda m, gi, go: grads.append(go[0].shape))
block(torch.zeros(1, 2, requires_grad=True)).sum().backward()
assert grads == [torch.Size([1, 2])] and block.count.item() == 2 and "count" not in block.state_dict()
names = [name for name, _ in block.named_parameters(prefix="net")]
assert names == ["net.lin.weight", "net.lin.bias", "net.scale.0"], names
assert [name for name, _ in block.named_modules()][:2] == ["", "lin"] and len(list(block.children())) == 3
assert block.get_submodule("layers.a") is block.layers.a
block.requires_grad_(False)
assert not any(p.requires_grad for p in block.parameters())
assert block.to(torch.double).lin.weight.dtype == torch.float64 and block.float().lin.weight.dtype == torch.float32
assert block.to("cpu", torch.float16, non_blocking=True).lin.bias.dtype == torch.half
missing = Block().load_state_dict({}, strict=False)
assert "lin.weight" in missing.missing_keys and missing.unexpected_keys == []
tied = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
tied[1].weight = tied[0].weight
assert len(list(tied.parameters())) == 3 and len(list(tied.named_parameters(remove_duplicate=False))) == 4
assert len(list(tied[:1])) == 1 and str(nn.Linear(1, 2)) == "Linear(in_features=1, out_features=2, bias=True)"
try:
    block.nosuch
except AttributeError as error:
    assert "nosuch" in str(error)
net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).train()
vector = nn.utils.parameters_to_vector(net.parameters())
nn.utils.vector_to_parameters(torch.zeros_like(vector), net.parameters())
assert all(not p.any() for p in net.parameters())
nn.utils.clip_grad_value_(net.parameters(), clip_value=0.5)
weight = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
assert weight(torch.ones(1, 2)).shape == (1, 3)
for dim, shape in ((0, (3, 1)), (1, (1, 2)), (-1, ()), (None, ())):
    weight = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3), dim=dim)
    assert weight.parametrizations.weight.original0.shape == shape, dim
pairs = torch.arange(6.0).reshape(3, 2)
for norm in (torch.linalg.norm, torch.linalg.vector_norm):
    assert norm(pairs, axis=1, keepdims=True).shape == (3, 1)
assert torch.linalg.matrix_norm(pairs, axis=(0, 1), keepdims=True).shape == (1, 1) and not torch._C._is_tracing()
nn.utils.prune.l1_unstructured(net[0], name="weight", amount=0.5)
average = torch.optim.swa_utils.AveragedModel(block, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
average.update_parameters(block)
assert nn.Module.__call__ is not None and isinstance(net, torch.nn.modules.module.Module)
""",
    "data": """
import random
from torch.utils.data import *
from torch.utils.data.sampler import SubsetRandomSampler, WeightedRandomSampler


class Pairs(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return {"x": torch.full((2,), float(i)), "y": i, "name": str(i)}


batch = next(iter(DataLoader(Pairs(), batch_size=4, pin_memory=True)))
assert batch["x"].shape == (4, 2) and batch["y"].tolist() == [0, 1, 2, 3] and batch["name"] == ["0", "1", "2", "3"]


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(7))


assert [b.tolist() for b in DataLoader(Stream(), batch_size=3)] == [[0, 1, 2], [3, 4, 5], [6]]
assert len(DataLoader(Pairs(), batch_size=3, drop_last=True)) == 3
collated = DataLoader(Pairs(), batch_size=2, collate_fn=lambda rows: [row["y"] for row in rows])
assert next(iter(collated)) == [0, 1]
assert len(list(WeightedRandomSampler([0.1, 0.9], 5, replacement=True))) == 5
assert sorted(SubsetRandomSampler([3, 1])) == [1, 3]
whole = TensorDataset(torch.arange(6.0).view(6, 1), torch.arange(6))
parts = random_split(whole, [0.5, 0.5], generator=torch.Generator().manual_seed(42))
assert [len(part) for part in parts] == [3, 3] and len(ConcatDataset(parts)) == 6
order = [b[1].item() for b in DataLoader(whole, shuffle=True, generator=torch.Generator().manual_seed(0))]
assert sorted(order) == list(range(6))
assert order == [b[1].item() for b in DataLoader(whole, shuffle=True, generator=torch.Generator().manual_seed(0))]
loader = DataLoader(Subset(whole, [0, 2]), batch_sampler=BatchSampler(SequentialSampler(range(2)), 2, False))
assert [[f.tolist() for f in b] for b in loader] == [[[[0.0], [2.0]], [0, 2]]]
from torch.utils.data.distributed import DistributedSampler

parts = [list(DistributedSampler(range(7), num_replicas=2, rank=rank, shuffle=False)) for rank in range(2)]
assert parts == [[0, 2, 4, 6], [1, 3, 5, 0]], parts
shuffled = [DistributedSampler(range(8), num_replicas=2, rank=rank, seed=1) for rank in range(2)]
assert sorted(sum(map(list, shuffled), [])) == list(range(8)) and len(shuffled[0]) == 4
before = list(shuffled[0])
shuffled[0].set_epoch(1)
assert list(shuffled[0]) != before and len(DistributedSampler(range(7), 2, 0, drop_last=True)) == 3
many = RandomSampler(whole, replacement=True, num_samples=20)
assert len(many) == 20 and max(many) < 6
endless = RandomSampler(whole, replacement=True, num_samples=int(1e10))
loader = DataLoader(whole, batch_size=4, sampler=endless, num_workers=0)
first = next(iter(loader))
assert len(loader) == 2_500_000_000 and first[0].shape == (4, 1) and isinstance(endless, RandomSampler)
""",
    "gradients": """
x = torch.tensor([1.0, 2.0], requires_grad=True)
(gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
(second,) = torch.autograd.grad(gradient.sum(), x)
assert gradient.tolist() == [3.0, 12.0] and second.tolist() == [6.0, 12.0]
with torch.no_grad():
    assert not (x * 2).requires_grad


@torch.no_grad()
def frozen(y):
    return y * 2


assert not frozen(x).requires_grad and (x * 2).detach().is_leaf
with torch.set_grad_enabled(False), torch.inference_mode():
    assert not torch.is_grad_enabled()
seen = []
y = x * 2
y.register_hook(lambda g: seen.append(g.tolist()))
y.retain_grad()
y.sum().backward()
assert seen == [[1.0, 1.0]] and y.grad.tolist() == [1.0, 1.0]
x.grad.zero_()
x.grad = None
values, places = torch.tensor([[1.0, 5.0, 5.0]], requires_grad=True).max(dim=1)
z = torch.tensor([[1.0, 5.0, 5.0]], requires_grad=True)
z.max(dim=1).values.sum().backward()
assert z.grad.tolist() == [[0.0, 1.0, 0.0]]
jac = torch.autograd.functional.jacobian(lambda a: a**2, torch.tensor([1.0, 2.0]))
assert jac.tolist() == [[2.0, 0.0], [0.0, 4.0]]
model = nn.Linear(2, 1)
out = torch.func.functional_call(model, dict(model.named_parameters()), (torch.ones(1, 2),))
assert out.shape == (1, 1)
gradient = torch.func.grad(lambda w, v: (w * v).sum())
per_sample = torch.func.vmap(gradient, in_dims=(None, 0))(torch.ones(2), torch.eye(2))
assert per_sample.tolist() == [[1.0, 0.0], [0.0, 1.0]]
with torch.autocast("cpu", dtype=torch.bfloat16):
    assert model(torch.ones(1, 2)).dtype == torch.bfloat16
scaler = torch.amp.GradScaler("cpu")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler.scale(model(torch.ones(1, 2)).sum()).backward()
scaler.step(optimizer), scaler.update()
relu = nn.ReLU(inplace=True)
h = model(torch.ones(1, 2)) * -1.0
assert relu(h) is h
leaky = F.leaky_relu(h * -1, 0.1, inplace=True)
torch.manual_seed(0)
state = torch.get_rng_state()
a = torch.rand(3)
torch.set_rng_state(state)
assert torch.equal(a, torch.rand(3)) and torch.initial_seed() == 0
""",
    "sizes and rates of numpy's, values rounded as integers": """
import numpy as np

four, two = np.int64(4), np.int32(2)
model = nn.Sequential(nn.Conv2d(two, four, two), nn.LayerNorm(four), nn.Flatten(), nn.Linear(np.prod((4, 4, 4)), two))
assert model(torch.ones(3, 2, 5, 5)).shape == (3, 2) and type(model[3].in_features) is int
assert torch.ones(4, 4).view(np.int64(-1)).shape == (16,)
x = torch.ones(2, requires_grad=True)
for rate in (np.float32(0.5), torch.tensor(0.5)):
    optimizer = torch.optim.SGD([x], lr=rate)
    x.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
assert x.tolist() == [0, 0]
x = torch.tensor([-3.0, 0.24, 0.26, 9.0], requires_grad=True)
y = torch.fake_quantize_per_tensor_affine(x, 0.5, 1, -4, 7)
y.sum().backward()
assert y.tolist() == [-2.5, 0, 0.5, 3] and x.grad.tolist() == [0, 1, 1, 0]
steps, zeros = torch.tensor([0.4, 0.3]), torch.zeros(2).int()
rows = torch.fake_quantize_per_channel_affine(torch.ones(2, 1), steps, zeros, 0, -8, 7)
assert torch.allclose(rows, torch.tensor([[0.8], [0.9]]))
x = torch.ones(2, requires_grad=True)
y = x * 3
z = y.exp()
y.data.masked_fill_(torch.tensor([True, False]), 0.0)  # noticed by nothing
z.sum().backward()
assert y.tolist() == [0, 3] and torch.allclose(x.grad, 3 * torch.full((2,), 3.0).exp())
""",
    "schedules that count for themselves": """
class Cycles(torch.optim.lr_scheduler.LRScheduler):
    def __init__(self, optimizer, length):
        self.length, self.cycle, self.place = length, 0, -1
        super().__init__(optimizer)

    def get_lr(self):
        return [base * (1 - self.place / self.length) / 2**self.cycle for base in self.base_lrs]

    def step(self, epoch=None):
        self.place += 1
        if self.place == self.length:
            self.cycle, self.place = self.cycle + 1, 0
        super().step(epoch)


class Warm(torch.optim.lr_scheduler.LambdaLR):
    def __init__(self, optimizer, steps):
        self.steps, self.seen = steps, 0
        super().__init__(optimizer, self.factor)

    def factor(self, epoch):
        self.seen = epoch
        return min(1.0, epoch / self.steps)


def made():
    return torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)


schedule, rates = Cycles(made(), 2), []
for _ in range(5):
    rates.append(schedule.get_last_lr()[0])
    schedule.optimizer.step()
    schedule.step()
assert rates == [1.0, 0.5, 0.5, 0.25, 0.25] and schedule.last_epoch == 5
again = Cycles(made(), 2)
again.load_state_dict(schedule.state_dict())
assert (again.cycle, again.place, again.last_epoch) == (2, 1, 5)
warm = Warm(made(), 4)
warm.step()
warm.steps = 8
again = Warm(made(), 4)
again.load_state_dict(warm.state_dict())
assert (again.steps, again.last_epoch) == (8, 1) and {"steps", "seen"} <= set(warm.state_dict())
for name in ("foo", "cuda:x"):
    try:
        torch.device(name)
    except RuntimeError as error:
        assert name in str(error)
    else:
        raise AssertionError(name)
""",
    "distributions": """
from torch.distributions import Bernoulli, Categorical, MultivariateNormal, Normal, kl_divergence

normal = Normal(torch.zeros(2), torch.ones(2))
assert normal.rsample((3,)).shape == (3, 2) and normal.sample(torch.Size([4])).shape == (4, 2)
assert kl_divergence(normal, Normal(torch.ones(2), torch.ones(2))).tolist() == [0.5, 0.5]
c = Categorical(logits=torch.zeros(5, 3))
assert c.sample().shape == (5,) and abs(c.entropy()[0].item() - 1.0986123) < 1e-5
assert c.log_prob(torch.zeros(5, dtype=torch.long)).shape == (5,) and c.probs.sum(dim=-1)[0].item() - 1 < 1e-6
assert Bernoulli(torch.tensor([0.5])).log_prob(torch.ones(1)).item() + 0.6931472 < 1e-5
assert MultivariateNormal(torch.zeros(2), torch.eye(2)).sample().shape == (2,)
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_habits(program, tmp_path):
    head = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
    extensions.write(tmp_path, {"program.py": head + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
