"""Functions, methods and attributes that modes of ``torch.overrides`` see, as PyTorch's do."""

from support import extensions

#: Expressions, and the names of what a mode sees of each.
SEEN = [
    ("x + y", "add"),
    ("2 + x", "add"),
    ("x - 1", "sub"),
    ("1 - x", "__rsub__"),
    ("x * y", "mul"),
    ("2 * x", "mul"),
    ("x / 2", "div"),
    ("x ** 2", "pow"),
    ("2 ** x", "__rpow__"),
    ("-x", "neg"),
    ("abs(x)", "abs"),
    ("x @ y.T", "__get__ matmul"),
    ("x == y", "__eq__"),
    ("x != y", "ne"),
    ("x < 1", "lt"),
    ("x >= y", "ge"),
    ("i & i", "__and__"),
    ("i | i", "__or__"),
    ("i ^ i", "__xor__"),
    ("~i", "__invert__"),
    ("x // 2", "__floordiv__"),
    ("x % 2", "remainder"),
    ("y.clone().__iadd__(1)", "clone add_"),
    ("i << 1", "__lshift__"),
    ("x[0]", "__getitem__"),
    ("x[x > 0]", "gt __getitem__"),
    ("y.clone().__setitem__(0, 1.0)", "clone __setitem__"),
    ("len(x)", "__len__"),
    ("bool(x[0, 0] > 0)", "__getitem__ gt __bool__"),
    ("float(y[0, 0])", "__getitem__ __float__"),
    ("int(i[0])", "__getitem__ __int__"),
    ("y[0, 0].item()", "__getitem__ item"),
    ("i.tolist()", "tolist"),
    ("x.add(y)", "add"),
    ("x.sum()", "sum"),
    ("x.mean(0)", "mean"),
    ("x.view(4, 3)", "view"),
    ("x.reshape(-1)", "reshape"),
    ("x.permute(1, 0)", "permute"),
    ("x.transpose(0, 1)", "transpose"),
    ("x.t()", "t"),
    ("x.T", "__get__"),
    ("x.mT", "__get__"),
    ("x[None].expand(2, 3, 4)", "__getitem__ expand"),
    ("x.unsqueeze(0)", "unsqueeze"),
    ("x.squeeze()", "squeeze"),
    ("x.flatten()", "flatten"),
    ("x.softmax(-1)", "softmax"),
    ("y.clone().relu_()", "clone relu_"),
    ("x.clamp(0, 1)", "clamp"),
    ("x.to(torch.float64)", "to"),
    ("x.float()", "float"),
    ("x.detach()", "detach"),
    ("x.clone()", "clone"),
    ("x.contiguous()", "contiguous"),
    ("x.sum().backward()", "sum backward"),
    ("x.max(1)", "max"),
    ("x.dim()", "dim"),
    ("x.size()", "size"),
    ("x.size(-1)", "size"),
    ("x.numel()", "numel"),
    ("x.stride()", "stride"),
    ("y.numpy()", "numpy"),
    ("x.masked_fill(x > 0, 1.0)", "gt masked_fill"),
    ("y.scatter(0, i[None], 1.0)", "__getitem__ scatter"),
    ("y.gather(0, i[None])", "__getitem__ gather"),
    ("x.chunk(2)", "chunk"),
    ("x.split(2)", "split"),
    ("y.clone().requires_grad_()", "clone requires_grad_"),
    ("x.type_as(y)", "type_as"),
    ("x.new_zeros(3)", "new_zeros"),
    ("x.matmul(y.T)", "__get__ matmul"),
    ("x[None].bmm(y.T[None])", "__getitem__ __get__ __getitem__ bmm"),
    ("y.clone().copy_(y)", "clone copy_"),
    ("y.clone().zero_()", "clone zero_"),
    ("x.is_contiguous()", "is_contiguous"),
    ("(x * 1).register_hook(lambda g: g)", "mul register_hook"),
    ("x.unbind()", "unbind"),
    ("x.type()", "type"),
    ("x.half()", "half"),
    ("x.cpu()", "cpu"),
    ("x.new_tensor([1.0])", "new_tensor"),
    ("y.clone().uniform_()", "clone uniform_"),
    ("x.argmax()", "argmax"),
    ("x.norm()", "norm"),
    ("x.std()", "std"),
    ("x.topk(2)", "topk"),
    ("x.repeat(2, 1)", "repeat"),
    ("x.index_select(0, i)", "index_select"),
    ("x.log_softmax(-1)", "log_softmax"),
    ("x.exp()", "exp"),
    ("x.sigmoid()", "sigmoid"),
    ("x.shape", "__get__"),
    ("x.dtype", "__get__"),
    ("x.device", "__get__"),
    ("x.grad", "__get__"),
    ("x.requires_grad", "__get__"),
    ("x.data", "__get__"),
    ("x.is_leaf", "__get__"),
    ("x.grad_fn", "__get__"),
    ("x.ndim", "__get__"),
    ("x.real", "__get__"),
    ("setattr(y, 'grad', None)", "__set__"),
    ("setattr(y, 'data', y)", "__set__"),
    ("x._version", "__get__"),
    ("x.layout", "__get__"),
    ("F.relu(x)", "relu"),
    ("F.cross_entropy(x, i)", "cross_entropy"),
    ("F.linear(x, torch.ones(2, 4))", "ones linear"),
    ("torch.cat([x, y])", "cat"),
    ("torch.sum(x)", "sum"),
    ("torch.ones(2)", "ones"),
    ("nn.Linear(4, 2)(x)", "linear"),
    ("F.conv1d(x[None], torch.ones(2, 3, 2))", "__getitem__ ones conv1d"),
    ("nn.MSELoss()(x, y)", "mse_loss"),
]

PROGRAM = """
import threading
import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode


class Log(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


x = torch.ones(3, 4, requires_grad=True)
y = torch.ones(3, 4)
i = torch.ones(3, dtype=torch.long)
wrong = []
for text, seen in {seen!r}:
    with Log() as log:
        eval(text)
    if " ".join(log.names) != seen:
        wrong.append((text, log.names, seen))
assert not wrong, wrong

add, shape = torch.Tensor.add, torch.Tensor.shape


class Swap(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        assert torch.Tensor.add is add and torch.Tensor.shape is shape
        if func is add:
            return torch.mul(*args)
        if func == shape.__get__:
            return "shape"
        return "sum" if func in (torch.Tensor.sum, torch.sum) else func(*args, **(kwargs or {}))


x = torch.full((2,), 3.0)
elsewhere = []
with Swap():
    assert (x + x).tolist() == [9, 9] and x.sum() == torch.sum(x) == "sum" and x.shape == "shape"
    assert x != "text" and x.__add__("text") is NotImplemented
    thread = threading.Thread(target=lambda: elsewhere.append((x + x).tolist()))
    thread.start()
    thread.join()
    seen = []
    with Log() as inner:
        seen.append((x + x).tolist())
assert elsewhere == [[6, 6]] and seen == [[9, 9]] and inner.names == ["add", "tolist"], (elsewhere, seen, inner.names)
assert (x + x).tolist() == [6, 6] and x.shape == (2,) and torch.Tensor.add is add
made = nn.Sequential(nn.Linear(2, 2), nn.ReLU())(x)
with Log() as log:
    with torch.no_grad():
        made.real, (made * 2).grad, setattr(made, "grad", None)
assert log.names == ["__get__", "mul", "__get__", "__set__"], log.names
"""


def test_modes(tmp_path):
    extensions.write(tmp_path, {"program.py": PROGRAM.replace("{seen!r}", repr(SEEN))})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
