"""Names of the graph's nodes that PyTorch's programs see in the texts of tensors, through the front."""

from support import extensions

PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn

x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], requires_grad=True)
z, y, one = torch.full((2, 3), 0.5), torch.tensor([0, 2]), torch.ones(2)
image = torch.ones(1, 2, 4, 4, requires_grad=True)

NAMES = {
    "MeanBackward0": (lambda: x.mean(), lambda: torch.mean(x), lambda: F.l1_loss(x, z), lambda: nn.L1Loss()(x, z),
        lambda: nn.CosineEmbeddingLoss()(x, z, one), lambda: nn.TripletMarginLoss()(x, z, z + 1)),
    "SumBackward0": (lambda: x.sum(), lambda: F.l1_loss(x, z, reduction="sum")),
    "DivBackward0": (lambda: x.sum() / 6, lambda: x / z),
    "MaxBackward1": (lambda: x.max(),),
    "MaxBackward0": (lambda: x.max(1).values, lambda: torch.max(x, dim=0)[0]),
    "MseLossBackward0": tuple(lambda r=r: F.mse_loss(x, z, reduction=r) for r in ("mean", "sum", "none")),
    "NllLossBackward0": (lambda: F.cross_entropy(x, y), lambda: nn.CrossEntropyLoss()(x, y),
        lambda: nn.NLLLoss(reduction="sum")(x, y), lambda: F.nll_loss(input=x, target=y)),
    "NllLoss2DBackward0": (lambda: F.cross_entropy(image, torch.zeros(1, 4, 4).long()),),
    "BinaryCrossEntropyWithLogitsBackward0": (lambda: nn.BCEWithLogitsLoss()(x, z),),
    "BinaryCrossEntropyBackward0": (lambda: F.binary_cross_entropy(x.sigmoid(), z),),
    "SmoothL1LossBackward0": (lambda: F.smooth_l1_loss(x, z), lambda: nn.SmoothL1Loss(reduction="none")(x, z)),
    "SortBackward0": (lambda: x.sort().values,),
    "TopkBackward0": (lambda: x.topk(1).values,),
    "EmbeddingBackward0": (lambda: nn.Embedding(3, 2)(y), lambda: F.embedding(torch.tensor([1]), x)),
    "NativeLayerNormBackward0": (lambda: nn.LayerNorm(3)(x), lambda: F.layer_norm(x, (3,))),
    "NativeBatchNormBackward0": (lambda: nn.BatchNorm1d(3)(x), lambda: nn.BatchNorm2d(2)(image)),
    "MaxPool2DWithIndicesBackward0": (lambda: F.max_pool2d(image, 2),),
    "ViewBackward0": (lambda: x.view(-1), lambda: x.flatten()),
}
for name, makers in NAMES.items():
    for place, make in enumerate(makers):
        made = make()
        node = made.grad_fn
        assert node.name() == type(node).__name__ == name, (name, place, node.name())
        assert f"grad_fn=<{name}>" in repr(made), (name, place, repr(made))
        assert made.grad_fn.name() == name  # of a node that is looked at anew
loss = x.mean()
inner = (loss * 2).grad_fn.next_functions[0][0]
assert inner.name() == "MeanBackward0" and isinstance(inner, torch.autograd.graph.Node)
assert "torch.name" not in (x * 2).grad_fn.metadata
step = torch.compile(lambda x: F.mse_loss(x.mean(1)[0], z[0, 0]) + x[0].sum(), fullgraph=True)
for _ in range(3):
    x.grad = None
    step(x).backward()
    assert torch.allclose(x.grad[1], torch.zeros(3)) and x.grad[0, 0] != 0
"""


def test_names_of_composed_operations(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
