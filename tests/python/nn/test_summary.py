"""Models as tables."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm
from lamella import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Dropout(0.5))
        self.head = nn.Linear(16, 3)
        self.unused = nn.Linear(2, 2)
        self.tied = nn.Linear(16, 3)
        self.tied.weight = self.head.weight

    def forward(self, x: lm.Tensor, scale: float = 1.0) -> lm.Tensor:
        return self.head(self.body(x)) * scale


def test_shapes_and_counts() -> None:
    model = Net()
    model.unused.weight.stop_gradient = True
    model.body[3].eval()
    running = model.body[1].running_mean.numpy().copy()
    table = model.summary(lm.ones([2, 1, 4, 4]), scale=2.0)
    rows = {row.path: row for row in table}
    assert rows[""].outputs == rows["head"].outputs == "float32[2, 3]" and rows[""].kind == "Net"
    assert rows["body.0"].outputs == "float32[2, 4, 2, 2]" and rows["body.0"].parameters == 4 * 9 + 4
    assert rows["head"].parameters == 51 and rows["tied"].parameters == 3, "shared weights count once"
    assert rows["unused"][2:] == ("", 6, 4)
    assert table.parameters == sum(p.size for p in {id(p): p for p in model.parameters()}.values())
    assert table.frozen == 4 and table.nbytes > 4 * table.parameters
    assert model.training and model.body[1].training and not model.body[3].training
    np.testing.assert_array_equal(model.body[1].running_mean.numpy(), running)
    assert all(p.grad is None and p.is_leaf for p in model.parameters())


def test_it_prints() -> None:
    text = str(nn.summary(Net(), lm.ones([1, 1, 4, 4]))).splitlines()
    assert text[0].split() == ["module", "class", "output", "parameters"]
    assert text[1].startswith("Net") and text[2].startswith("  body ") and text[3].startswith("    0 ")
    assert text[-1].startswith("108 parameters; ")
    without = nn.summary(nn.Linear(2, 3))
    assert str(without).splitlines()[0].split() == ["module", "class", "parameters"]
    assert without._repr_html_().count("<tr>") == 2 and str(nn.summary(nn.Identity())).endswith("0 bytes with buffers")


def test_a_part_may_have_the_name() -> None:
    model = nn.Identity()
    model.summary = nn.Linear(2, 2)
    assert isinstance(model.summary, nn.Linear)


def test_mistakes_leave_the_model_as_it_was() -> None:
    model = Net()
    with pytest.raises(ValueError, match="conv2d"):
        model.summary(lm.ones([1, 3, 4, 4]))
    assert model.training and not any(module._hooks_of("forward") for module in model.modules())
    with pytest.raises(TypeError, match=r"\[summary\] model: expected a Module"):
        nn.summary(3)  # type: ignore[arg-type]
