"""The torch front: what programs that use extensions for PyTorch find, and what they are told of the rest."""

import pytest

from support import extensions

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


@pytest.mark.parametrize("script", [FRONT, LIBRARY], ids=["tensors", "library"])
def test_the_front(script, tmp_path):
    extensions.write(tmp_path, {"program.py": script})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)


@pytest.mark.parametrize(
    ("statement", "error", "text"),
    [
        ("import torch; torch.nosuch", "AttributeError", "'torch.nosuch'"),
        ("import torch; torch.compile", "AttributeError", "'torch.compile': there are no compiled graphs yet"),
        ("import torch.nn.utils", "ImportError", "'torch.nn.utils'"),
        ("from torch.utils import data", "ImportError", "'torch.utils.data'"),
        ("from torch.utils.cpp_extension import SyclExtension", "ImportError", "cpp_extension.SyclExtension'"),
        ("from torch.library import triton_op", "ImportError", "'torch.library.triton_op'"),
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
