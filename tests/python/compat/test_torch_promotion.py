"""PyTorch's rule for dtypes of tensors without axes, through the front ("Tensor Attributes", type promotion).

Where the kinds of two operands differ, in the order bool, integer, floating, complex, the higher kind decides; within a
kind a tensor without axes, or a number, leaves the dtype of tensors with axes as it is.
"""

from support import extensions

PROGRAM = """
import itertools
import torch

DTYPES = [torch.bool, torch.uint8, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64,
          torch.complex64, torch.complex128]


def kind(dtype):
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 0 if dtype == torch.bool else 1


def ranked(high, low):
    '''The dtype of a tensor with axes beside one without.'''
    if kind(low) <= kind(high):
        return high
    if kind(high) == 2:  # complex numbers of the same precision
        return torch.complex128 if high == torch.float64 else torch.complex64
    return torch.promote_types(high, low)


def made(dtype, axes):
    return torch.ones((2,) * axes, dtype=dtype)


#: Functions of two tensors, and the dtype of the result by that of the computation; None for the same.
OPERATORS = {
    "add": (torch.add, None), "multiply": (lambda a, b: a * b, None), "maximum": (torch.maximum, None),
    "where": (lambda a, b: torch.where(torch.tensor([True, False]), a, b), None),
    "less": (torch.lt, torch.bool), "equal": (lambda a, b: a == b, torch.bool),
    "clamp": (lambda a, b: a.clamp(min=b), None),
    "result_type": (torch.result_type, None),
}
NO_COMPLEX = {"maximum", "less", "clamp"}
for (name, (operator, result)), first, second in itertools.product(OPERATORS.items(), DTYPES, DTYPES):
    if name in NO_COMPLEX and (first.is_complex or second.is_complex):
        continue
    if (first == torch.float16 and second.is_complex) or (second == torch.float16 and first.is_complex):
        continue  # PyTorch has a dtype of half complex numbers
    if name == "clamp" and torch.bool in (first, second):
        continue
    for axes, wanted in (
        ((1, 0), ranked(first, second)), ((0, 1), ranked(second, first)), ((1, 1), torch.promote_types(first, second)),
        ((0, 0), torch.promote_types(first, second)),
    ):
        found = operator(made(first, axes[0]), made(second, axes[1]))
        found = getattr(found, "dtype", found)
        assert found == (result or wanted), (name, first, second, axes, found)

# Numbers count after tensors without axes.
for dtype in DTYPES[1:]:
    for axes in (0, 1):
        assert (made(dtype, axes) * 2).dtype == dtype
assert (made(torch.int32, 0) + 0.5).dtype == torch.float32
assert (made(torch.float64, 0) + made(torch.int64, 1)).dtype == torch.float64
assert torch.where(torch.tensor([True, False]), made(torch.float64, 0), 1.5).dtype == torch.float64
assert torch.where(torch.tensor([True, False]), made(torch.int32, 1), 1.5).dtype == torch.float32
assert torch.addcmul(made(torch.float32, 1), made(torch.float64, 0), made(torch.float64, 0)).dtype == torch.float32

# In place the tensor keeps its dtype, and a higher kind is refused.
x = made(torch.float32, 1)
x += made(torch.float64, 0)
x.mul_(made(torch.float64, 0))
assert x.dtype == torch.float32 and x.tolist() == [2.0, 2.0]
try:
    made(torch.int64, 1).add_(made(torch.float32, 0))
except RuntimeError:
    pass
else:
    raise AssertionError("nothing was raised")
torch.add(made(torch.float32, 1), made(torch.float64, 0), out=x)
assert x.tolist() == [2.0, 2.0]

# Values are compared in the common dtype, and a gradient has its tensor's dtype.
assert not (torch.tensor([0.1]) < torch.tensor(0.1, dtype=torch.float64)).any()
a = torch.ones(2, requires_grad=True)
b = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
product = a * b
assert product.dtype == torch.float32
product.sum().backward()
assert (a.grad.dtype, b.grad.dtype) == (torch.float32, torch.float64)
assert b.grad.item() == 2.0 and a.grad.tolist() == [3.0, 3.0]

# The sum of bools is one of bools, whatever it weighs them by.
p, q = torch.tensor([True, False]), torch.tensor([False, True])
assert torch.add(p, q, alpha=2).tolist() == [True, True] and p.add(q, alpha=0).tolist() == [True, False]
assert p.clone().add_(q, alpha=3).tolist() == [True, True]
assert torch.add(torch.tensor([1]), torch.tensor([True]), alpha=3).tolist() == [4]

compiled = torch.compile(lambda p, q: p * q)
assert compiled(a.detach(), b.detach()).dtype == compiled(a.detach(), b.detach()).dtype == torch.float32
assert torch.vmap(lambda row, z: row * z, (0, None))(torch.ones(3, 2), b.detach()).dtype == torch.float32
"""

NATIVE = """
import lamella as lm
assert (lm.ones(2) + lm.ones((), dtype="float64")).dtype == lm.float64
assert lm.result_type(lm.ones(2), lm.ones((), dtype="float64")) == lm.float64
"""


def test_dtypes_of_tensors_without_axes(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)


def test_natively_all_tensors_count_alike(tmp_path):
    extensions.succeed("-c", NATIVE, cwd=tmp_path)
