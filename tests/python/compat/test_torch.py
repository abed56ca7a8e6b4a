"""The torch front: what programs that use extensions for PyTorch find, and what they are told of the rest."""

import pytest

from support import extensions

COMPILED = """
import lamella as lm
import torch

net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


@torch.compile(dynamic=True)
def step(x):
    loss = ((net(x) - 1) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


losses = [step(torch.ones(5, 3)).item() for _ in range(8)]
assert losses[-1] < losses[0] and len(lm.compile.explain(step).graphs) == 1, (losses, lm.compile.explain(step))
compiled = torch.compile(net)
for _ in range(4):
    assert compiled(torch.ones(2, 3)).tolist() == net(torch.ones(2, 3)).tolist()
assert len(lm.compile.explain(compiled).graphs) == 1 and list(compiled.state_dict()) == list(net.state_dict())
assert torch.compile(net, disable=True) is net
assert isinstance(compiled, torch.nn.Module) and list(compiled.state_dict()) == list(net.state_dict())
assert torch.cond(torch.ones(2).sum() > 3, lambda a: a * 2, lambda a: a * 3, (torch.ones(2),)).tolist() == [3, 3]
whole = torch.compile(net, fullgraph=True, mode="max-autotune")
assert whole(torch.ones(2, 3)).tolist() == net(torch.ones(2, 3)).tolist()
"""

FRONT = """
import torch

x = torch.randn(2, 3, requires_grad=True)
y = (x.mm(x.t()).sum(dim=1, keepdim=True) + torch.zeros((2, 1), dtype=torch.float32)).squeeze(1)
y.sum().backward()
assert x.grad.shape == x.size() == (2, 3) and x.size(0) == 2 and x.numel() == 6 and y.dim() == 1
values, indices = torch.tensor([[1.0, 3.0], [5.0, 2.0]]).max(dim=1)
assert values.tolist() == [3.0, 5.0] and indices.tolist() == [1, 0]
assert x.view(-1).size() == (6,) and x.expand(4, -1, -1).shape == (4, 2, 3) and x.permute(1, 0).shape == (3, 2)
assert [p.shape for p in torch.split(torch.ones(5), 2)] == [(2,), (2,), (1,)]
assert torch.add(torch.ones(2), torch.ones(2), alpha=3).tolist() == [4.0, 4.0]
assert torch.equal(torch.cat([torch.ones(1), torch.zeros(1)]), torch.tensor([1.0, 0.0]))
assert (torch.device("cuda", 1).index, torch.device("cpu").type, torch.device("cpu").index) == (1, "cpu", None)
d = x.device
assert isinstance(d, torch.device) and (d.type, d.index) == ("cpu", None) and d == "cpu" == str(d) == f"{d}"
assert hash(d) == hash("cpu") and {"cpu": 3}[d] == 3 and repr(d) == "device(type='cpu')" and d != "cuda"
assert torch.ones(2, device=d).device == d == torch.device(d) == x.to(d).device and "%s" % d == "cpu" and d != 3
assert repr(torch.device("cuda:1")) == "device(type='cuda', index=1)" == repr(torch.device(1))
assert torch.device(type="cuda", index=2) == "cuda:2" and type(torch.device("cuda:1").type) is str
assert torch.ones(2, device=torch.device("meta")).device.type == "meta" and d.type.startswith("c")
assert __import__("pickle").loads(__import__("pickle").dumps(d)) == d
assert torch.nn.Linear(1, 1).weight.device.type == "cpu"
for wrong in ("", "cuda:", "cuda:x", "cpu:0:1", "two words"):
    try:
        torch.device(wrong)
    except RuntimeError:
        continue
    raise AssertionError(wrong)
assert x.double().dtype == torch.float64 and x.to("cpu", torch.float16).dtype == torch.half
assert x.detach().long().dtype == torch.int64 and x.new_zeros(4).shape == (4,)
assert torch.randint(3, (5,)).max().item() < 3 and torch.arange(3).tolist() == [0, 1, 2]
assert torch.__version__ >= "2.6.0" and not torch.is_tensor(3)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        assert ctx.needs_input_grad[0] and x.shape == grad.shape
        return grad * 2


z = Double.apply(x)
(grad,) = torch.autograd.grad(z.sum(), x)
torch.testing.assert_close(grad, torch.full((2, 3), 2.0))
torch.testing.assert_close([1.0, {"a": torch.ones(2)}], [1.0, {"a": torch.ones(2)}])
for wrong in (torch.ones(2), torch.zeros(3), torch.zeros(3, dtype=torch.float64) + 1):
    try:
        torch.testing.assert_close(torch.ones(3), wrong)
    except AssertionError:
        continue
    raise RuntimeError(f"{wrong} is close to ones")
"""

HABITS = """
import torch
from torch.autograd import Function, Variable
from torch.autograd.function import InplaceFunction, once_differentiable
from torch.nn.parameter import Parameter
from torch.utils.checkpoint import checkpoint


class ReverseGradient(Function):
    @staticmethod
    def forward(ctx, x, lmbd=0.01):
        ctx.lmbd = lmbd
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.lmbd, None


class LinearFunction(Function):
    @staticmethod
    def forward(input, weight, bias=None):
        output = input.mm(weight.t())
        return output if bias is None else output + bias.unsqueeze(0).expand_as(output)

    @staticmethod
    def setup_context(ctx, inputs, output):
        input, weight, bias = inputs
        ctx.save_for_backward(input, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_bias = grad_output.sum(0) if bias is not None and ctx.needs_input_grad[2] else None
        return grad_output.mm(weight), grad_output.t().mm(input), grad_bias


class AddOne_(InplaceFunction):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return grad, None, None


x = torch.ones(2, 3, requires_grad=True)
ReverseGradient.apply(x).sum().backward()
torch.testing.assert_close(x.grad, torch.full((2, 3), -0.01))
w = Parameter(torch.ones(4, 3))
LinearFunction.apply(x, w).sum().backward()
LinearFunction.apply(x, w, Parameter(torch.zeros(4))).sum().backward()
assert w.grad.tolist() == [[4.0] * 3] * 4
h = x * 2
assert AddOne_.apply(h) is h
assert isinstance(torch.nn.Linear(2, 2).weight, Parameter) and not Parameter(x, requires_grad=False).requires_grad
v = Variable(h, requires_grad=True)
assert isinstance(v, Variable) and v.is_leaf and v.requires_grad and not isinstance(3, Variable)
y = checkpoint(LinearFunction.apply, x, w, use_reentrant=False)
assert y.grad_fn is y.grad_fn and y.grad_fn.next_functions[0][0] is y.grad_fn.next_functions[0][0]
assert torch.func.grad(lambda a: (a * a).sum())(torch.ones(2)).tolist() == [2.0, 2.0]
both = torch.func.grad_and_value(lambda a, b: ((a * b).sum(), "aux"), 1, has_aux=True)
gradient, (value, aux) = both(x.detach(), x.detach())
assert gradient.shape == (2, 3) and value.item() == 6 and aux == "aux"
assert torch.func.hessian(lambda a: (a**3).sum())(torch.ones(2)).tolist() == [[6.0, 0.0], [0.0, 6.0]]
assert torch.vmap(lambda a: a * 2, in_dims=1, out_dims=1)(torch.ones(2, 3)).shape == (2, 3)
out, (dx, dw) = torch.autograd.functional.vjp(lambda a, b: a * b, (torch.ones(2), torch.full((2,), 3.0)), torch.ones(2))
assert dx.tolist() == [3.0, 3.0]
assert torch.autograd.functional.jvp(lambda a: a * a, torch.ones(2), torch.ones(2))[1].tolist() == [2.0, 2.0]
optimizer = torch.optim.SGD([w], lr=1.0)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
optimizer.step()
schedule.step()
assert abs(schedule.get_last_lr()[0] - 0.5) < 1e-6
with torch.amp.autocast("cpu", dtype=torch.bfloat16), torch.cuda.amp.autocast(enabled=False):
    assert torch.ones(2, 2).mm(torch.ones(2, 2)).dtype == torch.bfloat16
assert torch.amp.GradScaler("cpu", enabled=False).scale(x).sum().item() == 6
"""

LIBRARY = """
import torch


@torch.library.custom_op("lamella_test_front::scale", mutates_args=())
def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    return torch.tensor(x.numpy() * factor)


@torch.library.register_fake("lamella_test_front::scale")
def _(x, factor):
    return torch.empty_like(x)


def setup_context(ctx, inputs, output):
    ctx.factor = inputs[1]


torch.library.register_autograd(
    "lamella_test_front::scale", lambda ctx, grad: (grad * ctx.factor, None), setup_context=setup_context
)
x = torch.randn(3, requires_grad=True)
torch.ops.lamella_test_front.scale.default(x, 2.0).sum().backward()
assert x.grad.tolist() == [2.0, 2.0, 2.0]
assert torch.ops.lamella_test_front.scale(torch.empty(3, device="meta"), 1.0).device == "meta"

torch.library.define("lamella_test_front::minus", "(Tensor x) -> Tensor")


@torch.library.impl("lamella_test_front::minus", "cpu")
def _(x):
    return -x


torch.library.register_autograd("lamella_test_front::minus", lambda ctx, grad: -grad)
y = torch.ones(2, requires_grad=True)
torch.ops.lamella_test_front.minus(y).sum().backward()
assert y.grad.tolist() == [-1.0, -1.0]
"""


@pytest.mark.parametrize("script", [FRONT, HABITS, LIBRARY, COMPILED], ids=["tensors", "habits", "library", "compiled"])
def test_the_front(script, tmp_path):
    extensions.write(tmp_path, {"program.py": script})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)


@pytest.mark.parametrize(
    ("statement", "error", "text"),
    [
        ("import torch; torch.nosuch", "AttributeError", "'torch.nosuch'"),
        ("from torch.ao.quantization import prepare", "ImportError", "'torch.ao.quantization.prepare'"),
        ("from torch.utils import bottleneck", "ImportError", "'torch.utils.bottleneck'"),
        ("from torch.utils.cpp_extension import SyclExtension", "ImportError", "cpp_extension.SyclExtension'"),
        ("import torch_npu; torch_npu.npu", "AttributeError", "'torch_npu.npu': there is no NPU here"),
    ],
)
def test_what_the_front_lacks_says_so(statement, error, text, tmp_path):
    done = extensions.run("-m", "lamella.compat", "-c", statement, cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.strip().splitlines()[-1].startswith(error), done.stderr
    assert "front does not have" in done.stderr and text in done.stderr


def test_headers_and_pip_in_the_environment():
    from lamella import compat

    assert (compat.HEADERS / "torch" / "extension.h").exists()
    assert compat.environment({})["PIP_NO_BUILD_ISOLATION"] == "false"
    assert compat.environment({"PIP_NO_BUILD_ISOLATION": "true"})["PIP_NO_BUILD_ISOLATION"] == "true"
