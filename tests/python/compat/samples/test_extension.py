"""Tests in the manner of PyTorch's own and of its tutorials; test_samples.py runs them through the front."""

import os
import unittest

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from torch.testing._internal.common_utils import TestCase, run_tests
from torch.testing._internal.optests import opcheck
from torch.utils.cpp_extension import load

module = load(
    "samples", [os.environ["SAMPLES"]], extra_cflags=["-O0"], build_directory=os.environ["SAMPLES_BUILD"], verbose=False
)


@torch.library.register_fake("samples::multiply_add")
def _(a, b, c):
    torch._check(a.shape == b.shape, lambda: f"{a.shape} and {b.shape} differ")
    torch._check(a.dtype == torch.float)
    return torch.empty_like(a)


@torch.library.register_fake("samples::multiply")
def _(a, b):
    return torch.empty_like(a)


def _backward(ctx, grad):
    a, b = ctx.saved_tensors
    grad_a, grad_b = None, None
    if ctx.needs_input_grad[0]:
        grad_a = torch.ops.samples.multiply.default(grad, b)
    if ctx.needs_input_grad[1]:
        grad_b = torch.ops.samples.multiply.default(grad, a)
    return grad_a, grad_b, None


def _setup_context(ctx, inputs, output):
    a, b, _ = inputs
    ctx.save_for_backward(a if ctx.needs_input_grad[1] else None, b if ctx.needs_input_grad[0] else None)


torch.library.register_autograd("samples::multiply_add", _backward, setup_context=_setup_context)


class TestOperators(TestCase):
    def inputs(self, *, requires_grad=False):
        def tensor(*size, wanted=True):
            return torch.randn(size, device="cpu", requires_grad=requires_grad and wanted)

        return [
            [tensor(3), tensor(3), 1],
            [tensor(20), tensor(20, wanted=False), -123],
            [tensor(2, 3, wanted=False), tensor(2, 3), -0.3],
        ]

    def test_values(self):
        for a, b, c in self.inputs():
            torch.testing.assert_close(torch.ops.samples.multiply_add(a, b, c), a * b + c)

    @unittest.skipIf(not torch.cuda.is_available(), "requires cuda")
    def test_values_cuda(self):
        torch.ops.samples.multiply_add(torch.ones(2, device="cuda"), torch.ones(2, device="cuda"), 1.0)

    def test_gradients(self):
        for args in self.inputs(requires_grad=True):
            wanted = [x for x in args if isinstance(x, torch.Tensor) and x.requires_grad]
            out = torch.ops.samples.multiply_add(*args)
            grad = torch.randn_like(out)
            result = torch.autograd.grad(out, wanted, grad)
            expected = torch.autograd.grad(args[0] * args[1] + args[2], wanted, grad)
            self.assertEqual(result, expected)

    def test_opcheck(self):
        for args in self.inputs(requires_grad=True) + self.inputs():
            opcheck(torch.ops.samples.multiply_add.default, args)
        with self.assertRaisesRegex(RuntimeError, r"torch.Size\(\[2\]\) and torch.Size\(\[3\]\) differ"):
            torch.ops.samples.multiply_add(torch.empty(2, device="meta"), torch.empty(3, device="meta"), 1.0)

    def test_an_operator_that_writes(self):
        for requires_grad in (True, False):
            a, b, out = (torch.randn(20, requires_grad=requires_grad) for _ in range(3))
            opcheck(torch.ops.samples.add_out.default, (a, b, out))
        torch.ops.samples.add_out(a, b, out)
        self.assertEqual(out, torch.add(a, b))

    def test_schemas_of_functions(self):
        output = torch.ops.samples.repeat(torch.ones(5), 2.0, 3)
        self.assertEqual(type(output), list)
        self.assertEqual(output, [torch.ones(5) * 2] * 3)
        self.assertEqual(torch.ops.samples.repeat_with_defaults(torch.ones(5)), [torch.ones(5)])
        self.assertLess(torch.ops.samples.compare("abc", "def"), 0)
        self.assertEqual(torch.ops.samples.compare("abc", "abc"), 0)

    def test_a_cell(self):
        kwargs = {"dtype": torch.double, "requires_grad": True}
        args = [torch.randn(size, **kwargs) for size in ((3, 4), (4, 6), (1, 4), (3, 2))]
        assert torch.autograd.gradcheck(lambda *args: torch.ops.samples.cell(*args)[0], args)

        class Cell(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(6, 4)

            def forward(self, x, state):
                bias = self.linear.bias.unsqueeze(0)
                return torch.ops.samples.cell(x, self.linear.weight, bias, state)[0]

        model = Cell()
        x, state = torch.randn(3, 4), torch.zeros(3, 2)
        loss = F.mse_loss(model(x, state), torch.ones(3, 2))
        loss.backward()
        assert all(p.grad is not None and p.grad.abs().sum().item() > 0 for p in model.parameters())


class TestBindings(TestCase):
    def test_functions(self):
        x, y = torch.randn(4, 4), torch.randn(4, 4)
        self.assertEqual(module.sigmoid_add(x, y), x.sigmoid() + y.sigmoid())
        assert module.is_given(x) and not module.is_given(None)

    def test_a_class(self):
        multiplier = module.Multiplier(4, 8)
        weights = torch.rand(8, 4, dtype=torch.double)
        self.assertEqual(multiplier.get(), torch.ones(4, 8, dtype=torch.float64))
        multiplier.forward(weights).sum().backward()
        self.assertEqual(multiplier.get().grad, torch.ones(4, 4, dtype=torch.double).mm(weights.t()))


# --- The tutorial on operators in Python.


@torch.library.custom_op("samples::numpy_sin", mutates_args=())
def numpy_sin(x: Tensor) -> Tensor:
    return torch.from_numpy(np.sin(x.cpu().numpy())).to(x.device)


@numpy_sin.register_fake
def _(x):
    return x.new_empty(x.size())


numpy_sin.register_autograd(
    lambda ctx, grad: grad * ctx.saved_tensors[0].cos(),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
)


@torch.library.custom_op("samples::numpy_sin_into", mutates_args={"output"}, device_types="cpu")
def numpy_sin_into(input: Tensor, output: Tensor) -> None:
    assert input.device == output.device
    np.sin(input.numpy(), out=output.numpy())


@torch.library.custom_op("samples::crop", mutates_args=())
def crop(pic: Tensor, box: list[int]) -> Tensor:
    return torch.tensor(pic.numpy()[:, box[1] : box[3], box[0] : box[2]].copy())


@crop.register_fake
def _(pic, box):
    return pic.new_empty(pic.shape[0], box[3] - box[1], box[2] - box[0])


def crop_backward(ctx, grad):
    whole = torch.zeros(ctx.shape, dtype=grad.dtype)
    x0, y0, x1, y1 = ctx.box
    whole.numpy()[:, y0:y1, x0:x1] = grad.numpy()
    return whole, None


def crop_setup(ctx, inputs, output):
    pic, box = inputs
    ctx.shape, ctx.box = pic.shape, box


crop.register_autograd(crop_backward, setup_context=crop_setup)


class TestPython(TestCase):
    def test_sin(self):
        x = torch.randn(3, requires_grad=True)
        y = numpy_sin(x)
        y.sum().backward()
        self.assertEqual(x.grad, x.detach().cos())
        for example in (x, torch.randn(0), torch.randn(3, 2, dtype=torch.double)):
            torch.library.opcheck(numpy_sin, [example])

    def test_into(self):
        x, out = torch.randn(3), torch.zeros(3)
        numpy_sin_into(x, out)
        self.assertEqual(out, x.sin())
        version = out._version
        torch.ops.samples.numpy_sin_into(x, out)
        assert out._version > version
        torch.library.opcheck(numpy_sin_into, (x, out))

    def test_crop(self):
        pic = torch.randn(3, 8, 8, requires_grad=True)
        out = torch.ops.samples.crop(pic, (1, 2, 4, 7))
        self.assertEqual(out, pic[:, 2:7, 1:4])
        out.sum().backward()
        self.assertEqual(pic.grad.sum().item(), 3 * 5 * 3)
        torch.library.opcheck(crop, (torch.randn(3, 8, 8), [0, 0, 5, 5]))

    def test_vmap_of_an_operator(self):
        calls = []

        @torch.library.register_vmap("samples::numpy_sin")
        def _(info, in_dims, x):
            calls.append(info.batch_size)
            return numpy_sin(x), in_dims[0]

        x = torch.randn(4, 3)
        import lamella

        self.assertEqual(lamella.autograd.vmap(numpy_sin)(x), x.sin())
        assert calls == [4]

    def test_libraries(self):
        library = torch.library.Library("samples_python", "DEF")
        library.define("double(Tensor x) -> Tensor", tags=())
        library.impl("double", lambda x: x * 2, "CPU")
        self.assertEqual(torch.ops.samples_python.double(torch.ones(2)), torch.full((2,), 2.0))
        with self.assertRaisesRegex(RuntimeError, "has a kernel for CPU from"):
            library.impl("double", lambda x: x * 3, "CPU")
        with self.assertRaisesRegex(NotImplementedError, "no kernel for tensors on meta"):
            torch.ops.samples_python.double(torch.ones(2, device="meta"))


if __name__ == "__main__":
    run_tests()
