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
for start, dtype, shape in ((torch.arange(8), torch.int32, (16,)), (torch.ones(2, 4, dtype=torch.int16), torch.int64, (2, 1)),
                            (torch.arange(8)[2:4], torch.uint8, (16,)), (torch.ones(2, 3).t(), torch.int32, (3, 2))):
    seen = start.view(dtype)
    assert seen.shape == shape and seen.dtype == dtype
    assert seen.reshape(-1).tolist() == start.numpy().copy(order="K").view(dtype.__str__()[6:]).reshape(seen.shape).ravel().tolist() or start.dim() == 2
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
layer = nn.Linear(3, 2)
layer.weight.data, layer.bias.data = torch.zeros(5, 3), torch.ones(5)
assert layer(torch.ones(1, 3)).tolist() == [[1.0] * 5] and layer.state_dict()["weight"].shape == (5, 3)
compiled = torch.compile(lambda x: layer(x))
assert compiled(torch.ones(1, 3)).shape == (1, 5)
layer.weight.data, layer.bias.data = torch.zeros(4, 3), torch.ones(4)
assert compiled(torch.ones(1, 3)).tolist() == [[1.0] * 4]

@torch.compile
def turned(x):
    y = x * 2
    y.t_()
    return y + 1

for _ in range(2):
    assert turned(torch.arange(6.0).view(2, 3)).tolist() == [[1.0, 7.0], [3.0, 9.0], [5.0, 11.0]]
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_shapes(program, tmp_path):
    head = "import copy, pickle\nimport torch\nfrom torch import nn\n"
    (tmp_path / "program.py").write_text(head + PROGRAMS[program])
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
