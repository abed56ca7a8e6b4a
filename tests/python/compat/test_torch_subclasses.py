"""Subclasses of tensors in the front for PyTorch: what is done with their objects asks their ``__torch_function__``."""

import pytest

from support import extensions

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn


class Plain(torch.Tensor):
    pass


class Marked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        made = super().__torch_function__(func, types, args, kwargs or {})
        marks = [each.mark for each in args if hasattr(each, "mark")]
        if isinstance(made, cls) and marks:
            made.mark = marks[0]
        return made


def of(kind, *values):
    return torch.tensor(values or (1.0, -2.0)).as_subclass(kind)
"""

PROGRAMS = {
    "compiled functions": """
import warnings

class Counted(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})

warnings.simplefilter("ignore")
plain, w = torch.ones(2, 2), torch.ones(2, 2).as_subclass(Counted)
for f in (
    *(lambda x: x + w, lambda x: x - w, lambda x: x * w, lambda x: x / w, lambda x: x @ w, lambda x: x**w),
    *(lambda x: x // w, lambda x: x % w, lambda x: x < w, lambda x: w * x, lambda x: torch.mul(x, w)),
):
    expected, names = f(plain), list(Counted.calls)
    assert type(expected) is Counted and names
    compiled = torch.compile(f)
    for _ in range(4):
        Counted.calls.clear()
        found, asked = compiled(plain), list(Counted.calls)
        assert type(found) is Counted and torch.equal(found, expected) and asked == names, (names, asked)
    Counted.calls.clear()
""",
    "classes of results": """
x, p = of(Plain), torch.ones(2)
for made in (
    *(x + 1, 1 + x, p + x, x - p, p - x, 1 - x, x * 2, p / x, x**2, -x, abs(x), x @ p, p @ x, x == p, p < x),
    *(x[0], x[x > 0], x.T, x.data, x.clone(), x.detach(), x.double(), x.view(2, 1), x.sum(), x.max(0).values, *x),
    *(torch.exp(x), torch.add(p, x), torch.cat([p, x]), torch.where(p > 0, x, p), torch.zeros_like(x)),
    *(F.relu(x), F.softmax(x, dim=0), torch.linalg.norm(x), *torch.split(x, 1), x.new_zeros(2)),
    *(Plain([1, 2]), Plain(2, 3), Plain(), Plain(p), torch.Tensor._make_subclass(Plain, p)),
):
    assert type(made) is Plain, made
for made in (x.tolist(), x.shape, x.dtype, len(x), x.numel(), torch.tensor(x), x.as_subclass(torch.Tensor)):
    assert not isinstance(made, Plain)
assert Plain([1, 2]).dtype == torch.float32 and Plain(2, 3).shape == (2, 3) and Plain().shape == (0,)
assert x.add_(1) is x and x.float() is x and x.requires_grad_() is x
""",
    "attributes": """
x = of(Marked)
x.mark = "m"
assert (x + 1).mark == x.exp()[0].mark == torch.sum(x).mark == "m"
parameter = nn.Parameter(x)
assert isinstance(parameter, Marked) and isinstance(parameter, nn.Parameter) and parameter.mark == "m"
layer = nn.Module()
layer.weight = parameter
layer.register_buffer("held", x)
assert [name for name, _ in layer.named_parameters()] == ["weight"] and type(parameter * 2) is Marked
assert {name: type(each) for name, each in layer.state_dict().items()} == {"weight": Marked, "held": Marked}
layer.to(torch.float64)
assert type(layer.held) is Marked and layer.held.mark == "m" and layer.held.dtype == torch.float64
""",
    "layers": """
image, rows, words = torch.randn(2, 4, 8, 8), torch.randn(5, 2, 6), torch.tensor([[1, 2], [0, 1]])
signal, target = torch.randn(2, 4, 8), torch.randn(2, 4, 8)
LAYERS = [
    (image, [
        nn.Conv2d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2, bias=False), nn.Conv2d(4, 2, 3, padding="same"),
        nn.Conv2d(4, 2, 3, padding=1, padding_mode="circular"), nn.ConvTranspose2d(4, 2, 3, 2, 1, output_padding=1),
        nn.BatchNorm2d(4, eps=0.1, momentum=0.3), nn.BatchNorm2d(4, track_running_stats=False),
        nn.BatchNorm2d(4, affine=False).eval(), nn.InstanceNorm2d(4, affine=True), nn.GroupNorm(2, 4, eps=0.1),
        nn.LayerNorm((8, 8), eps=0.1), nn.RMSNorm(8, eps=0.1), nn.LocalResponseNorm(2), nn.Linear(8, 3),
        nn.MaxPool2d(3, 2, 1, ceil_mode=True), nn.MaxPool2d(2, return_indices=True),
        nn.AvgPool2d(3, 2, 1, count_include_pad=False),
        nn.LPPool2d(2, 3, stride=2), nn.AdaptiveAvgPool2d((3, None)), nn.AdaptiveMaxPool2d(2),
        nn.Upsample(scale_factor=2),
        nn.Upsample(5, mode="bilinear", align_corners=True), nn.PixelShuffle(2), nn.PixelUnshuffle(2),
        nn.ChannelShuffle(2),
        nn.ReflectionPad2d(1), nn.ConstantPad2d((1, 2, 0, 1), 3.0), nn.ZeroPad2d(2), nn.ReplicationPad2d(1),
        nn.Flatten(2),
        nn.Unfold(3, padding=1), nn.Dropout(0.5).eval(), nn.Dropout2d(0.5).eval(), nn.Softmax2d(), nn.Identity(),
        nn.Sequential(nn.Conv2d(4, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 2)),
    ]),
    (signal, [
        nn.ReLU(), nn.ReLU(inplace=True), nn.ReLU6(), nn.LeakyReLU(0.3), nn.ELU(0.5), nn.CELU(0.5), nn.SELU(),
        nn.GELU(),
        nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.Hardtanh(-0.3, 0.4), nn.Hardswish(), nn.Hardsigmoid(), nn.Sigmoid(),
        nn.Tanh(), nn.Softplus(2.0, 0.5), nn.Softsign(), nn.Softshrink(0.3), nn.Hardshrink(0.3), nn.Tanhshrink(),
        nn.Threshold(0.2, 3.0), nn.GLU(1), nn.PReLU(4, 0.4), nn.LogSigmoid(), nn.Softmax(1), nn.Softmin(1),
        nn.LogSoftmax(1),
        nn.RReLU().eval(), nn.Conv1d(4, 3, 2), nn.Bilinear(8, 8, 2), nn.CosineSimilarity(2), nn.PairwiseDistance(1),
        nn.MSELoss(reduction="sum"), nn.L1Loss(reduction="none"), nn.SmoothL1Loss(beta=0.3), nn.HuberLoss(delta=0.3),
        nn.KLDivLoss(reduction="batchmean", log_target=True), nn.PoissonNLLLoss(log_input=True), nn.SoftMarginLoss(),
        nn.CrossEntropyLoss(label_smoothing=0.2, weight=torch.tensor([1.0, 2.0, 3.0, 4.0])),
        nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0)), nn.HingeEmbeddingLoss(0.3), nn.MultiLabelSoftMarginLoss(),
    ]),
    (rows, [nn.LSTM(6, 4, 2, dropout=0.0), nn.GRU(6, 4, bidirectional=True), nn.RNN(6, 4, nonlinearity="relu"),
            nn.TransformerEncoderLayer(6, 2, 8, 0.0),
            nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, 0.0), 2)]),
    (rows[0], [nn.LSTMCell(6, 4), nn.GRUCell(6, 4), nn.RNNCell(6, 4)]),
    (words, [nn.Embedding(4, 3, padding_idx=1), nn.EmbeddingBag(4, 3, mode="sum")]),
]
TWO = (nn.Bilinear, nn.CosineSimilarity, nn.PairwiseDistance, nn.modules.loss._Loss)


def flat(made):
    return [each for part in made for each in flat(part)] if isinstance(made, tuple) else [made]


for x, layers in LAYERS:
    for layer in layers:
        inputs = (x, target.abs() if isinstance(layer, nn.modules.loss._WeightedLoss) else target)
        inputs = [each.clone() for each in (inputs if isinstance(layer, TWO) else (x,))]
        wanted = flat(layer(*inputs))
        inputs = [x.clone(), *inputs[1:]]
        made = flat(layer(*[each.as_subclass(Plain) for each in inputs]))
        assert [type(each) for each in made] == [Plain] * len(made), (layer, made)
        for a, b in zip(wanted, made, strict=True):
            torch.testing.assert_close(a, b.as_subclass(torch.Tensor), equal_nan=True, msg=str(layer))

marked = of(Marked, 1.0, 2.0)
marked.mark = "m"
assert nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))(marked).mark == "m"
attention = nn.MultiheadAttention(6, 2)(*[rows.as_subclass(Plain)] * 3)
assert [type(each) for each in attention] == [Plain, Plain]
""",
    "layers whose weights say what a function does": """
CALLS = []


class Halved(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        CALLS.append((func, len(args)))
        if func is F.linear:
            x, weight, bias = args
            with torch._C.DisableTorchFunctionSubclass():
                return F.linear(x, weight / 2, bias).as_subclass(torch.Tensor)
        return super().__torch_function__(func, types, args, kwargs or {})


layer, x = nn.Linear(3, 2), torch.randn(4, 3)
wanted = F.linear(x, layer.weight / 2, layer.bias)
layer.weight = nn.Parameter(layer.weight.detach().as_subclass(Halved), requires_grad=False)
CALLS.clear()
made = layer(x)
assert CALLS == [(F.linear, 3)] and type(made) == torch.Tensor and torch.equal(made, wanted), CALLS

x = of(Halved, 1.0, 2.0, 3.0)
for layer, func, count in (
    (nn.ReLU(), F.relu, 2), (nn.GELU("tanh"), F.gelu, 2), (nn.LayerNorm(3), F.layer_norm, 5),
    (nn.LeakyReLU(0.2), F.leaky_relu, 3), (nn.Dropout(), F.dropout, 4), (nn.Softmax(0), F.softmax, 2),
):
    CALLS.clear()
    layer(x)
    assert CALLS[0][0] is func and len(CALLS) == 1, (layer, CALLS)
CALLS.clear()
nn.BatchNorm1d(3)(x[None].expand(2, 3)), nn.LSTM(3, 2)(x[None])
names = [func.__name__ for func, _ in CALLS if func.__module__ == "torch.nn.functional"]
assert names == ["batch_norm", "lstm"], CALLS
""",
    "layers in a mode": """
from torch.overrides import TorchFunctionMode


class Told(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls.append(func.__name__)
        return func(*args, **(kwargs or {}))


layers = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.LayerNorm(3), nn.Flatten())
x = torch.ones(1, 2)
with Told() as outer:
    with Told() as inner:
        y = layers(x)


class Later(torch.Tensor):
    pass


with Told():
    later = of(Later)
assert outer.calls == inner.calls == ["linear", "relu", "layer_norm", "flatten"], inner.calls
assert torch.equal(layers(x), y) and len(inner.calls) == 4
assert type(torch.exp(later)) is type(nn.ReLU()(later)) is Later
""",
    "gradients": """
for kind in (Plain, Marked):
    x = of(kind).requires_grad_()
    y = x * 3
    y.retain_grad()
    (y.as_subclass(torch.Tensor) * y).sum().backward()
    assert type(x.grad) == torch.Tensor and x.grad.tolist() == [18.0, -36.0] and y.grad.tolist() == [6.0, -12.0]
    p = nn.Parameter(of(kind))
    rule = torch.optim.SGD([p], lr=0.5)
    (p**2).sum().backward()
    rule.step()
    assert p.tolist() == [0.0, 0.0] and p.grad.tolist() == [2.0, -4.0]
x = torch.ones(2, requires_grad=True)
(x.as_subclass(Plain) * x).sum().backward()
assert x.grad.tolist() == [2.0, 2.0]
""",
    "parameters on a manifold": """
class Angle(torch.Tensor):
    def add_(self, other, alpha=1):
        with torch._C.DisableTorchFunctionSubclass():
            return self.copy_((self + alpha * other) % 1.0)


class Holder(nn.Parameter):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        given = [each.inner if isinstance(each, Holder) else each for each in args]
        with torch._C.DisableTorchFunctionSubclass():
            return func(*given, **(kwargs or {}))


p = nn.Parameter(torch.tensor([0.25, 0.5]).as_subclass(Angle))
(p * torch.tensor([1.0, -1.0])).sum().backward()
torch.optim.SGD([p], lr=0.5).step()
assert p.tolist() == [0.75, 0.0]
held = Holder(torch.zeros(0))
object.__setattr__(held, "inner", nn.Parameter(torch.ones(2)))
(held.inner * 2).sum().backward()
assert held.grad.tolist() == [2.0, 2.0]
torch.optim.SGD([held], lr=0.5).zero_grad()
assert held.inner.grad is None and held.grad is None
x = of(Marked)
x.mark = "m"
kinds = []


def squares(y):
    kinds.append((type(y), y.mark))
    return y**2


found = torch.autograd.functional.jacobian(squares, x)
assert found.diagonal().tolist() == [2.0, -4.0] and set(kinds) == {(Marked, "m")}
""",
    "functions by which a class tells what it handles": """
HANDLED = {}


class Table(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return HANDLED.get(func, super().__torch_function__)(*(() if func in HANDLED else (func, types)), args)


functions = {
    torch.sum: lambda x: torch.sum(x),
    torch.Tensor.mean: lambda x: x.mean(),
    torch.Tensor.add: lambda x: x + 1,
    torch.Tensor.__getitem__: lambda x: x[0],
    torch.matmul: lambda x: torch.matmul(x, x),
    torch.Tensor.shape.__get__: lambda x: x.shape,
    F.relu: lambda x: F.relu(x),
}
for function, call in functions.items():
    assert isinstance(call(of(Table)), (torch.Tensor, torch.Size))
    HANDLED[function] = lambda args: "handled"
    assert call(of(Table)) == "handled", function
names = []


class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        names.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


x = of(Named)
x + 1, 1 + x, torch.ones(2) - x, 1 - x, x.numpy(), x.to(torch.float64), x.float(), x.new_zeros(2), x.dim(), x[0], x.T
assert names == "add add sub __rsub__ numpy to float new_zeros dim __getitem__ __get__".split(), names
""",
    "bases beside tensors": """
from typing import Generic, TypeVar

T = TypeVar("T")
Mixed = type("Mixed", (), {"mixed": True})
for bases in ((torch.Tensor,), (torch.Tensor, object), (Mixed, torch.Tensor, object), (torch.Tensor, Mixed)):
    kind = type("Kind", bases, {"own": 3})
    x = torch.ones(2).as_subclass(kind)
    assert type(x + 1) is kind and (x + 1).own == 3 and (Mixed not in bases or (x * 2).mixed), bases


class Listed(torch.Tensor, Generic[T]):
    pass


assert type(torch.ones(2).as_subclass(Listed) * 2) is Listed
""",
    "which class is asked": """
class Base(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return cls.__name__, [each.__name__ for each in types]


class Derived(Base):
    pass


class Other(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


a, b, c = of(Base), of(Derived), of(Other)
assert a + b == b + a == torch.add(a, b) == ("Derived", ["Derived", "Base"])
assert c + a == torch.add(c, a) == ("Base", ["Other", "Base"])
assert torch.cat([torch.ones(2), a]) == ("Base", ["Base"])
for refused in (lambda: c + 1, lambda: torch.add(c, 1), lambda: of(Plain) + of(Marked)):
    try:
        refused()
    except TypeError:
        pass
    else:
        raise AssertionError("nobody takes it over")


class Unasked(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


class Weight(nn.Parameter):
    pass


assert type(of(Unasked) + 1) == type(Weight(torch.ones(2)) + 1) == torch.Tensor
assert not torch.overrides.has_torch_function((of(Unasked), Weight(torch.ones(1)), torch.ones(1)))
for block in (torch._C.DisableTorchFunctionSubclass, torch._C.DisableTorchFunction):
    with block():
        assert type(a + 1) == torch.Tensor and not torch.overrides.has_torch_function((a,))
assert torch.overrides.has_torch_function((a,)) and torch.overrides.has_torch_function_unary(b)


def own(x):
    return torch.overrides.handle_torch_function(own, (x,), x) if torch.overrides.has_torch_function((x,)) else "own"


@torch.overrides.wrap_torch_function(lambda x: (x,))
def wrapped(x):
    return "own"


for function in (own, wrapped):
    assert function(torch.ones(1)) == "own" and function(a) == ("Base", ["Base"])
named = torch.Tensor.add, torch.Tensor.shape.__get__, torch.Tensor.grad.__set__
names = [torch.overrides.resolve_name(f) for f in named]
assert names == ["torch.Tensor.add", "torch.Tensor.shape.__get__", "torch.Tensor.grad.__set__"]
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_subclasses(program, tmp_path):
    extensions.write(tmp_path, {"program.py": HEAD + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
