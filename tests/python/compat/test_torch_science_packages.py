"""What scientific packages ask of the front for PyTorch: classes of theirs, private names, hooks."""

import pytest

from support import extensions

PROGRAMS = {
    "objects that take calls of functions over": """
class Diagonal:
    def __init__(self, entries):
        self.entries = entries

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        asked.append((func, types, len(args), kwargs))
        if func is torch.matmul:
            return args[0].entries.unsqueeze(-1) * args[1]
        return NotImplemented

    def __radd__(self, other):
        return other + torch.diag(self.entries)


asked = []
d, x = Diagonal(torch.tensor([2.0, 3.0])), torch.ones(2, 2)
assert torch.matmul(d, x).tolist() == [[2.0, 2.0], [3.0, 3.0]] and (x + d).tolist() == [[3.0, 1.0], [1.0, 4.0]]
for call in (lambda: torch.abs(d), lambda: torch.add(x, d, alpha=2), lambda: torch.stack([x, d], dim=1),
             lambda: torch.linalg.cholesky(d), lambda: torch.sum(d, -1), lambda: torch.nn.functional.relu(d)):
    try:
        call()
        raise AssertionError("a call that nobody takes over is an error")
    except TypeError:
        pass
functions = [each[0] for each in asked]
assert functions[1:6] == [torch.abs, torch.add, torch.stack, torch.linalg.cholesky, torch.sum]
assert asked[2][1:] == ((Diagonal,), 2, {"alpha": 2}) and asked[0][1:] == ((Diagonal,), 2, {})
assert asked[3][2:] == (2, {}) or asked[3][3] == {"dim": 1}
assert torch.overrides.has_torch_function((x, d)) and not torch.overrides.has_torch_function((x,))
assert torch.overrides.is_tensor_like(d) and torch.overrides.is_tensor_like(x)
assert torch.overrides.handle_torch_function(torch.matmul, (d, x), d, x).shape == (2, 2)
""",
    "attributes of tensors": """
import gc

x = torch.ones(2)
x.mark, x.other = [1], 2
assert x.mark == [1] and x.other == 2
del x.other
assert not hasattr(x, "other") and not hasattr(torch.ones(2), "mark")
for name in ("shape", "is_leaf"):
    try:
        setattr(x, name, 3)
        raise AssertionError(name)
    except AttributeError:
        pass
kept = torch._attributes._kept
assert id(x) in kept
key = id(x)
del x
gc.collect()
assert key not in kept
""",
    "results with gradients in the memory of a parameter": """
import operator

for write in (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow,
              torch.Tensor.add_, torch.Tensor.mul_, torch.Tensor.copy_):
    weight, factor = nn.Parameter(torch.tensor([2.0, 4.0])), torch.tensor([2.0, 1.0], requires_grad=True)
    wanted = write(weight.detach().clone(), factor.detach() * 1)
    weight.data = write(weight.data, factor * 1)  # as layers merge what they have learnt
    assert weight.is_leaf and torch.equal(weight, wanted), write
    weight.sum().backward()
    assert weight.grad.tolist() == [1.0, 1.0] and factor.grad is None
layer = nn.Linear(2, 2)
before, part = layer.weight.detach().clone(), torch.ones(2, 2, requires_grad=True)
layer.weight.data += part * 3
assert torch.equal(layer.weight, before + 3) and layer.weight.requires_grad
""",
    "names of the type of tensors": """
import io, pickle

x = torch.ones(2)
assert type(x).__module__ == "torch" and str(type(x)) == "<class 'torch.Tensor'>" == str(torch.Tensor)
for made in (x, nn.Parameter(x), nn.Linear(2, 1).weight):
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is type(made) and torch.equal(again, made) and torch.equal(copy.deepcopy(made), made)
file = io.BytesIO()
torch.save({"kind": type(x), "x": x}, file)
file.seek(0)
held = torch.load(file, weights_only=False)
assert held["kind"] == type(x) and torch.equal(held["x"], x)
""",
    "subclasses of tensors": """
class Marked(torch.Tensor):
    def __new__(cls, data, mark, requires_grad=False):
        made = torch.Tensor._make_subclass(cls, data, requires_grad)
        made.mark = mark
        return made


class MarkedParameter(Marked, nn.Parameter):
    pass


p = MarkedParameter(torch.ones(2), "m", True)
assert p.mark == "m" and p.requires_grad and p.is_leaf and isinstance(p, nn.Parameter) and isinstance(p, Marked)
assert not isinstance(nn.Parameter(torch.ones(1)), MarkedParameter) and not isinstance(torch.ones(1), Marked)
(p * torch.tensor([2.0, 3.0])).sum().backward()
assert p.grad.tolist() == [2.0, 3.0]
x = torch.ones(2, requires_grad=True)
y = (x * 2).as_subclass(Marked)
assert type(y) is Marked and type(y.as_subclass(torch.Tensor)) == torch.Tensor
(y * y).sum().backward()
assert x.grad.tolist() == [8.0, 8.0]
""",
    "parameters of a shape that the first input tells": """
from torch.nn.parameter import UninitializedParameter, is_lazy


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = UninitializedParameter()
        self.hook = self.register_forward_pre_hook(self.fill)

    @torch.no_grad()
    def fill(self, module, args):
        self.weight.materialize((2, args[0].shape[-1]))
        self.weight.fill_(1.0)
        self.hook.remove()

    def forward(self, x):
        return F.linear(x, self.weight)


layer = Lazy()
assert is_lazy(layer.weight) and isinstance(layer.weight, nn.Parameter) and len(list(layer.parameters())) == 1
optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
other = copy.deepcopy(layer)
for each in (layer, other):
    assert each(torch.ones(1, 3)).tolist() == [[3.0, 3.0]] and not is_lazy(each.weight)
    assert each(torch.ones(1, 3)).tolist() == [[3.0, 3.0]] and type(each.weight) is nn.Parameter
layer(torch.ones(1, 3)).sum().backward()
optimizer.step()
assert layer.weight.tolist() == [[0.5] * 3] * 2 and other.weight.tolist() == [[1.0] * 3] * 2
""",
    "metaclasses": """
import abc
from torch.utils.data import Dataset, Sampler, Subset, TensorDataset


class Meta(type):
    pass


class Beside(metaclass=Meta):
    pass


class Layer(nn.Linear, Beside):
    pass


class Convolution(nn.Conv2d, abc.ABC):
    pass


class Data(Dataset, Beside):
    def __len__(self):
        return 4


class Order(Sampler[list[int]], abc.ABC):
    pass


assert Layer(2, 3, bias=False).bias is None and Convolution(1, 2, kernel_size=3, padding=1).padding is not None
assert isinstance(nn.BatchNorm2d(3), nn.modules.batchnorm._BatchNorm) and isinstance(nn.LSTM(2, 3), nn.RNNBase)
assert isinstance(nn.Conv2d(1, 1, 1), nn.modules.conv._ConvNd) and not isinstance(nn.Linear(1, 1), nn.Conv2d)
assert isinstance(nn.Dropout2d(), nn.modules.dropout._DropoutNd)
parts = [*nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2).modules()]
for kind in (nn.Linear, nn.LayerNorm, nn.Dropout, nn.MultiheadAttention, nn.ModuleList):
    assert any(isinstance(each, kind) for each in parts), kind
assert isinstance(torch.utils.data.random_split(Data(), [3, 1])[0], Subset)
lazy = nn.LazyLinear(3)
lazy(torch.ones(2, 2))
assert isinstance(lazy, nn.Linear) and nn.utils.skip_init(nn.Linear, 2, 3).weight.shape == (3, 2)
x = torch.tensor([-1.0, 1.0])
assert nn.ReLU(inplace=True)(x) is x and x.tolist() == [0.0, 1.0]
y = torch.tensor([-2.0, 2.0])
assert nn.Hardtanh(inplace=True)(y) is y and y.tolist() == [-1.0, 1.0]
""",
    "names of modules": """
assert "ReLU" in vars(torch.nn.modules.activation) and nn.__dict__["Linear"] is nn.Linear
assert torch.optim.__dict__["Adam"] is torch.optim.Adam and "StepLR" in vars(torch.optim.lr_scheduler)
assert "Normal" in vars(torch.distributions) and torch.distributions.kl.kl_divergence is not None
from torch.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from torch.distributions.relaxed_categorical import ExpRelaxedCategorical, RelaxedOneHotCategorical
from torch.distributions.studentT import StudentT
from torch.nn.modules.module import _IncompatibleKeys
from torch.optim.lbfgs import _strong_wolfe
from torch.utils.data.dataloader import _BaseDataLoaderIter
assert torch._C._get_tracing_state() is None and not torch.onnx.is_in_onnx_export()
add = torch.ops.aten.add
assert add.Tensor(torch.ones(1), 2).item() == 3.0 and add.Tensor is torch.ops.aten.add.Tensor
try:
    torch.ops.aten.nosuch(1)
    raise AssertionError("there is no such operator")
except NotImplementedError:
    pass
future = torch.futures.Future()
then = future.then(lambda done: done.wait() + 1)
both = torch.futures.collect_all([future, then])
future.set_result(1)
assert then.wait() == 2 and both.wait() == [future, then] and torch.futures.wait_all([future]) == [1]
assert torch.sparse_coo == "sparse_coo" and isinstance(torch.ones(1).layout, torch.layout)
""",
    "states of modules that load and save in their own way": """
class Renamed(nn.Module):
    _version = 2

    def __init__(self):
        super().__init__()
        self.w, self.part = nn.Parameter(torch.ones(2)), nn.Linear(2, 2)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *lists):
        versions.append((prefix, local_metadata.get("version")))
        if prefix + "old" in state_dict:
            state_dict[prefix + "w"] = state_dict.pop(prefix + "old")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *lists)


class More(nn.Linear):
    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "more"] = torch.ones(1)


versions = []
net = nn.Sequential(Renamed(), nn.Linear(2, 1))
state = net.state_dict()
assert {path: each["version"] for path, each in state._metadata.items()} == {"": 1, "0": 2, "0.part": 1, "1": 1}
state["0.old"] = state.pop("0.w") * 3
assert str(net.load_state_dict(state)) == "<All keys matched successfully>" and net[0].w.tolist() == [3.0, 3.0]
assert versions == [("0.", 2)] and "0.old" in state
state["elsewhere.x"] = state["0.part.what"] = torch.ones(1)
del state["1.bias"]
missing, unexpected = net.load_state_dict(state, strict=False)
assert missing == ["1.bias"] and sorted(unexpected) == ["0.part.what", "elsewhere.x"]
try:
    net.load_state_dict(state)
    raise AssertionError("a state that does not fit")
except RuntimeError as error:
    assert "1.bias" in str(error) and "elsewhere.x" in str(error)
state = net.state_dict()
state["0.w"] = torch.ones(3)
try:
    net.load_state_dict(state, strict=False)
    raise AssertionError("shapes differ")
except RuntimeError as error:
    assert "0.w" in str(error)
assert list(nn.Sequential(More(1, 1)).state_dict()) == ["0.weight", "0.bias", "0.more"]
layer = nn.Linear(1, 1)
layer._register_state_dict_hook(lambda module, state, *rest: {name + "_": each for name, each in state.items()})
assert list(layer.state_dict()) == ["weight_", "bias_"]
layer = nn.Linear(1, 1)
layer._register_load_state_dict_pre_hook(lambda state, prefix, *rest: state.update(bias=torch.tensor([7.0])))
layer.load_state_dict({"weight": torch.ones(1, 1)})
assert layer.bias.item() == 7.0
own, joined = nn.Sequential(Renamed(), nn.MultiheadAttention(4, 2), nn.LazyLinear(2)), nn.MultiheadAttention(4, 2)
given = {**own[0].state_dict(prefix="0."), **joined.state_dict(prefix="1."), **nn.Linear(3, 2).state_dict(prefix="2.")}
own.load_state_dict(given)
assert type(own[2]) is nn.Linear and torch.equal(own[2].weight, given["2.weight"])
assert torch.equal(own[1].in_proj_weight, joined.in_proj_weight) and set(own.state_dict()) == set(given)
""",
    "classes of distributions": """
from torch.distributions import Distribution, Independent, Normal, TransformedDistribution, constraints, kl_divergence
from torch.distributions.transforms import Transform
from torch.distributions.utils import broadcast_all, lazy_property, probs_to_logits
from torch.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix


class Triangle(Distribution):
    arg_constraints = {"width": constraints.positive}
    has_rsample = True

    def __init__(self, width, validate_args=None):
        (self.width,) = broadcast_all(width)
        super().__init__(self.width.shape, validate_args=validate_args)

    support = constraints.nonnegative

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Triangle, _instance)
        new.width = self.width.expand(batch_shape)
        super(Triangle, new).__init__(batch_shape, validate_args=False)
        return new

    def rsample(self, sample_shape=torch.Size()):
        return self.width * torch.rand(self._extended_shape(sample_shape)).sqrt()

    def log_prob(self, value):
        self._validate_sample(value)
        return torch.log(2 * value / self.width**2)


class Flow(Transform, nn.Module):
    domain = codomain = constraints.real
    bijective = True

    def __init__(self):
        super().__init__(cache_size=1)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def _call(self, x):
        return x * self.scale

    def _inverse(self, y):
        return y / self.scale

    def log_abs_det_jacobian(self, x, y):
        return self.scale.abs().log().expand(x.shape)


d = Triangle(torch.tensor([1.0, 2.0]))
assert d.sample(sample_shape=(3,)).shape == (3, 2) and isinstance(d._extended_shape((3,)), torch.Size)
assert d.expand((4, 2)).log_prob(torch.ones(4, 2)).shape == (4, 2)
assert Independent(d, 1).sample((5,)).shape == (5, 2) and Normal(0.0, 1.0).rsample(sample_shape=(2,)).shape == (2,)
try:
    d.log_prob(torch.tensor([-1.0, 1.0]))
    raise AssertionError("outside of the support")
except ValueError:
    pass
flow = Flow()
pushed = TransformedDistribution(Normal(torch.zeros(3), 1.0), [flow])
y = pushed.rsample()
assert flow._cached_x_y[1] is y and list(dict(flow.named_parameters())) == ["scale"]
flow._cached_x_y = None, None
torch.testing.assert_close(pushed.log_prob(y), Normal(0.0, 1.0).log_prob(y / 2) - torch.tensor(2.0).log())


class Mixin:
    pass


@torch.distributions.register_kl(Triangle, Mixin)
def _of_mixin(p, q):
    return p.width


class Mixed(Triangle, Mixin):
    pass


assert kl_divergence(d, Mixed(torch.ones(2))).tolist() == [1.0, 2.0]
m = torch.arange(9.0).reshape(3, 3)
assert tril_matrix_to_vec(m).tolist() == [0.0, 3.0, 4.0, 6.0, 7.0, 8.0]
for diagonal in (-1, 0, 1):
    vec = tril_matrix_to_vec(m, diagonal)
    assert torch.equal(vec_to_tril_matrix(vec, diagonal), torch.tril(m, diagonal))
torch.testing.assert_close(probs_to_logits(torch.tensor(0.2), True), torch.tensor(0.25).log())
""",
    "results that are written where they are told to": """
out = torch.empty(0)
assert torch.diag(torch.ones(2), out=out) is out and out.tolist() == [[1.0, 0.0], [0.0, 1.0]]
values, places = torch.empty(2), torch.empty(2, dtype=torch.int64)
torch.topk(torch.tensor([1.0, 3.0, 2.0]), 2, out=(values, places))
assert values.tolist() == [3.0, 2.0] and places.tolist() == [1, 2]
torch.norm(torch.tensor([3.0, 4.0]), out=(total := torch.empty(())))
assert total.item() == 5.0
""",
    "dtypes of Python's types": """
x = torch.ones(2)
made = [
    torch.zeros(2, dtype=float), torch.tensor([1], dtype=float), torch.as_tensor([1], dtype=float), x.to(float),
    x.to(dtype=float), x.sum(dtype=float), torch.arange(2, dtype=float), x.new_zeros(2, dtype=float),
    x.new_tensor([1], dtype=float), torch.ones_like(x, dtype=float), nn.Linear(1, 1, dtype=float).weight,
    nn.Linear(1, 1).to(float).weight, torch.cumsum(x, 0, dtype=float), F.softmax(x, 0, dtype=float),
]
assert all(each.dtype == torch.float64 for each in made), [each.dtype for each in made]
assert torch.full((1,), 1.0, dtype=complex).dtype == torch.complex128 and x.to(int).dtype == torch.int64
assert x.to(bool).dtype == torch.bool and torch.tensor([1.0]).dtype == torch.float32
""",
    "words of functions": """
A, B = torch.tensor([[4.0, 1.0], [2.0, 3.0]]), torch.tensor([[1.0, 2.0], [3.0, 5.0]])
torch.testing.assert_close(torch.linalg.solve(A=A, B=B), torch.linalg.inv(A) @ B)
torch.testing.assert_close(torch.linalg.eigh(A, "U")[0], torch.linalg.eigvalsh(A, UPLO="U"))
assert torch.linalg.eigh(A, "U")[0].tolist() != torch.linalg.eigh(A)[0].tolist()
assert torch.linalg.matrix_norm(A, 1, dim=(0, 1)).item() == 6.0
assert torch.linalg.matrix_norm(A, keepdim=True).shape == (1, 1)
torch.testing.assert_close(torch.lerp(A, end=B, weight=0.5), (A + B) / 2)
torch.testing.assert_close(A.lerp(B, weight=0.5), (A + B) / 2)
assert torch.float_power(A, exponent=2).dtype == torch.float64 and torch.ger(A[0], vec2=B[0]).shape == (2, 2)
assert F.cosine_similarity(x1=A, x2=B).shape == (2,) and F.gumbel_softmax(A, 1.0, False, 1e-10, 0).shape == (2, 2)
torch.testing.assert_close(F.gumbel_softmax(logits=A, dim=0).sum(0), torch.ones(2))
assert nn.init.constant_(torch.empty(2), val=3.0).tolist() == [3.0, 3.0] and A.real is not None
assert torch.special.polygamma(1, input=A).shape == (2, 2) and F.one_hot(torch.tensor([0, 2])).shape == (2, 3)
""",
    "functions of lists": """
a, b = [torch.ones(2), torch.full((3,), 2.0)], [torch.full((2,), 3.0), torch.ones(3)]


def texts(tensors):
    return [each.tolist() for each in tensors]


assert texts(torch._foreach_add(a, b, alpha=2)) == [[7.0, 7.0], [4.0, 4.0, 4.0]]
assert texts(torch._foreach_mul(a, [2.0, 3.0])) == [[2.0, 2.0], [6.0, 6.0, 6.0]]
assert texts(torch._foreach_addcmul(a, a, b, [1.0, 2.0])) == [[4.0, 4.0], [6.0, 6.0, 6.0]]
assert texts(torch._foreach_addcdiv(a, a, b, 3.0)) == [[2.0, 2.0], [8.0, 8.0, 8.0]]
assert texts(torch._foreach_norm(a, 1)) == [2.0, 6.0] and texts(torch._foreach_max(b)) == [3.0, 1.0]
torch._foreach_add_(a, 1)
torch._foreach_zero_(b)
assert texts(a) == [[2.0, 2.0], [3.0, 3.0, 3.0]] and texts(b) == [[0.0, 0.0], [0.0, 0.0, 0.0]]
""",
    "memory that a layer writes without being noticed": """
class Assign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scratch, value, index):
        ctx.index = index
        scratch.data[index] = value
        return scratch

    @staticmethod
    def backward(ctx, grad):
        return grad, grad[ctx.index], None


w = torch.tensor([2.0, 3.0], requires_grad=True)
k = torch.empty(2, 2)
k = Assign.apply(k, w * 2, 0)
first = (k[0] * w).sum()
k = Assign.apply(k, k[0] * w, 1)
(first + k[1].sum()).backward()
torch.testing.assert_close(w.grad, 8 * w)
""",
    "a line search": """
from torch.optim.lbfgs import _cubic_interpolate, _strong_wolfe


def f(x, t, d):
    y = x + t * d
    return float((y**2).sum()), 2 * y


x, d = torch.tensor([3.0]), torch.tensor([-1.0])
value, gradient, t, tried = _strong_wolfe(f, x, 1.0, d, 9.0, 2 * x, -6.0)
assert 0 <= value <= 9.0 - 1e-4 * 6.0 * t and abs(gradient.dot(d)) <= 0.9 * 6.0 and tried >= 1
# The parabola (x - 1)**2 is lowest at 1, whichever end comes first.
assert abs(_cubic_interpolate(0.0, 1.0, -2.0, 3.0, 4.0, 4.0) - 1) < 1e-9
assert abs(_cubic_interpolate(3.0, 4.0, 4.0, 0.0, 1.0, -2.0) - 1) < 1e-9
""",
    "points of Sobol' sequences": """
try:
    import scipy
except ImportError:
    scipy = None
if scipy is not None:
    points = torch.quasirandom.SobolEngine(2)
    assert points.draw(3).tolist() == [[0.0, 0.0], [0.5, 0.5], [0.75, 0.25]] and points.num_generated == 3
    points.fast_forward(1)
    assert points.draw().shape == (1, 2) and points.reset().draw_base2(2).shape == (4, 2)
    same = [torch.quasirandom.SobolEngine(3, scramble=True, seed=1).draw(4) for _ in range(2)]
    assert torch.equal(*same) and bool(((same[0] >= 0) & (same[0] < 1)).all())
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_packages(program, tmp_path):
    head = "import copy\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
    extensions.write(tmp_path, {"program.py": head + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
