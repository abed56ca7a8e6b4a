"""Texts of tensors, through the front: the examples of PyTorch's documentation, and their rules."""

from support import extensions

PROGRAM = """
import torch

TEXTS = {
    "tensor([1., 2.])": torch.tensor([1.0, 2.0]),
    "tensor(2.5000)": torch.tensor(2.5),
    "tensor([1, 2])": torch.tensor([1, 2]),
    "tensor([ True, False])": torch.tensor([True, False]),
    "tensor([1., 2.], dtype=torch.float64)": torch.tensor([1.0, 2.0]).double(),
    "tensor([1.0000, 2.5000])": torch.tensor([1.0, 2.5]),
    "tensor([1.0000e-05, 1.0000e+00])": torch.tensor([1e-5, 1.0]),
    "tensor([1.0000e+09, 1.0000e+00])": torch.tensor([1e9, 1.0]),
    "tensor([   1., 1000.])": torch.tensor([1.0, 1000.0]),
    "tensor([nan, 1.])": torch.tensor([float("nan"), 1.0]),
    "tensor([   inf, 1.5000])": torch.tensor([float("inf"), 1.5]),
    "tensor([])": torch.tensor([]),
    "tensor([], size=(2, 0))": torch.zeros(2, 0),
    "tensor([], dtype=torch.int64)": torch.zeros(0, dtype=torch.int64),
    "tensor([1.], requires_grad=True)": torch.ones(1, requires_grad=True),
    "tensor([2.], grad_fn=<MulBackward0>)": torch.ones(1, requires_grad=True) * 2,
    "Parameter containing:\\ntensor([1.], requires_grad=True)": torch.nn.Parameter(torch.ones(1)),
    "tensor([[1., 2.],\\n        [3., 4.]])": torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
    "tensor([   0,    1,    2,  ..., 1998, 1999, 2000])": torch.arange(2001),
    "tensor(..., device='meta', size=(2,))": torch.ones(2, device="meta"),
}
for text, x in TEXTS.items():
    assert str(x) == repr(x) == text, (text, str(x))
node = (torch.ones(1, requires_grad=True) * 2).grad_fn
assert node.name() == "MulBackward0" and repr(node).startswith("<MulBackward0 object at 0x")
lines = str(torch.arange(40)).split("\\n")
assert len(lines) == 3 and all(len(line) <= 80 for line in lines) and lines[1].startswith("        ")
assert str(torch.zeros(2, 1, 2)) == "tensor([[[0., 0.]],\\n\\n        [[0., 0.]]])"
assert f"{torch.tensor(2.5)} {torch.tensor(3)} {torch.tensor(2.125):.1f} {torch.tensor([1])}" == "2.5 3 2.1 tensor([1])"
torch.set_printoptions(precision=2, sci_mode=True)
assert str(torch.tensor([0.5])) == "tensor([5.00e-01])"
torch.set_printoptions(profile="default")
torch.set_printoptions(edgeitems=1, threshold=3)
assert str(torch.arange(5)) == "tensor([0,  ..., 4])"
torch.set_printoptions(profile="full")
assert "..." not in str(torch.arange(2000))
"""


def test_texts(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
