"""Operators that programs register by torch.library: what calls of them take and give is as in PyTorch."""

from support import extensions

PROGRAM = """
import warnings

import torch
from torch.library import Library, get_ctx, opcheck

library = Library("tried", "DEF")


def define(schema, kernel, key="CPU"):
    library.define(schema)
    name = schema.partition("(")[0]
    library.impl(name, kernel, key)
    return getattr(torch.ops.tried, name)


def fails(error, words, call, *args, **options):
    try:
        call(*args, **options)
    except error as raised:
        assert words in str(raised), raised
    else:
        raise AssertionError(f"no error: {words}")


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def quietly(op, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return op(*args)


# Kernels that call differentiable operators are differentiated through, and the user is warned once.
x = leaf(1.0, 2.0)
triple = define("triple(Tensor x) -> Tensor", lambda x: x * 3)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    triple(x).sum().backward()
    triple(x).sum()
assert x.grad.tolist() == [3, 3] and len(caught) == 1 and "no kernel for Autograd" in str(caught[0].message)
pieces = define("pieces(Tensor(a) x, int n) -> Tensor(a)[]", lambda x, n: list(x.split(n)))
x.grad = None
a, b = quietly(pieces, x, 1)
(a * 2 + b * 5).sum().backward()
assert x.grad.tolist() == [2, 5]
added = define("add_(Tensor(a!) x, Tensor y) -> Tensor(a!)", lambda x, y: x.add_(y))
x.grad, z = None, torch.ones(2)
assert quietly(added, z, x) is z
z.sum().backward()
assert x.grad.tolist() == [1, 1] and z.tolist() == [2, 3]
fails(RuntimeError, "leaf", added, x, z)
mixed = define(
    "mixed(Tensor x) -> (Tensor, Tensor, Tensor, int)",
    lambda x: (x * 2, torch.from_numpy(x.detach().numpy() * 3), torch.tensor([1]), 7),
)
p, q, i, n = quietly(mixed, x)
assert (p.requires_grad, q.requires_grad, i.requires_grad, n) == (True, True, False, 7)
x.grad = None
p.sum().backward()
assert x.grad.tolist() == [2, 2] and q.tolist() == [3, 6]
fails(NotImplementedError, "no gradient is registered for tried::mixed", q.sum().backward)
memory = define("memory_(Tensor(a!) x) -> ()", lambda x: x.detach().numpy().__imul__(2) is None or None)
y = x * 1
memory(y)
assert y.tolist() == [2, 4]
fails(NotImplementedError, "no gradient is registered for tried::memory_", y.sum().backward)
with torch.no_grad():
    assert not triple(x).requires_grad
library.impl("pieces", torch.library.fallthrough_kernel, "Autograd")
x.grad = None
torch.ops.tried.pieces(x, 1)[0].sum().backward()
assert x.grad.tolist() == [1, 0]

# An operator of torch.library.custom_op computes off the tape.
@torch.library.custom_op("tried::custom", mutates_args=())
def custom(x: torch.Tensor) -> torch.Tensor:
    return x * 2


fails(NotImplementedError, "no gradient is registered for tried::custom", custom(x).sum().backward)

# Tensors of subclasses.
class Special(torch.Tensor):
    pass


special = torch.ones(2).as_subclass(Special)
for op in (triple, triple.default):
    assert type(op(special)) is Special and not isinstance(op(torch.ones(2)), Special)
assert type(torch.ops.tried.add_(torch.ones(2), y=special)) is Special
assert [type(each) for each in torch.ops.tried.pieces(x=special, n=1)] == [Special] * 2
with torch._C.DisableTorchFunctionSubclass():
    assert not isinstance(triple(special), Special)

# What operators print as.
library.define("triple.Scalar(Scalar x) -> Tensor")
shown = [str(op) for op in (torch.ops.tried.triple, torch.ops.tried.triple.default, torch.ops.tried.triple.Scalar)]
assert shown == ["tried.triple", "tried.triple.default", "tried.triple.Scalar"], shown

# Sizes that depend on data.
nonzero = define("nonzero(Tensor x, int most=99) -> Tensor", lambda x, most: torch.nonzero(x))


@torch.library.register_fake("tried::nonzero")
def _(x, most):
    return x.new_empty([get_ctx().new_dynamic_size(max=most), x.dim()], dtype=torch.int64)


given = torch.tensor([0.0, 1.0, 2.0])
assert set(opcheck(nonzero, (given,)).values()) == {"SUCCESS"}
fails(RuntimeError, "int64[2, 1] on cpu", opcheck, nonzero, (given, 1))
fails(NotImplementedError, "depends on the tensors' elements", nonzero, given.to("meta"))
fails(ValueError, "min is 0 or more", get_ctx().new_dynamic_size, min=-1)

# Modes, and what is refused.
from torch._subclasses.fake_tensor import FakeTensorMode

with FakeTensorMode() as mode:
    fake = torch.nn.Linear(4, 2)(mode.from_tensor(torch.ones(3, 4)))
assert fake.shape == (3, 2) and fake.device.type == "meta" and torch.ones(1).device.type == "cpu"
fails(NotImplementedError, "tried::triple", torch.library.register_autocast, "tried::triple", "cpu", torch.float16)
fails(NotImplementedError, "tried::triple", torch.library.register_torch_dispatch, "tried::triple", Special)
fails(RuntimeError, "'spaces.Kind', but it does not exist", lambda: torch.classes.spaces.Kind)
from torch._custom_ops import get_ctx as same
from torch.utils import cpp_extension

assert same is get_ctx and torch._C._GLIBCXX_USE_CXX11_ABI is True and not cpp_extension.IS_WINDOWS
assert cpp_extension._get_cuda_arch_flags(["-arch=sm_80"]) == []
assert isinstance(torch.utils.cmake_prefix_path, str) and isinstance(cpp_extension.get_default_build_root(), str)
fails(NotImplementedError, "is_standalone", cpp_extension.load, "x", "x.cpp", is_standalone=True)
print("done")
"""


def test_registered_operators(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    assert extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path) == "done\n"
