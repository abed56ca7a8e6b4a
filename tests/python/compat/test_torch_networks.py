"""Layers and losses of PyTorch through the front, with options that few programs give: results, dtypes, refusals."""

import pytest

from support import extensions

SETUP = """
import copy, math, pickle
import torch
from torch import nn
from torch.nn import functional as F


def refused(error, *calls):
    for place, call in enumerate(calls):
        try:
            call()
        except error:
            continue
        raise AssertionError(f"{error.__name__} {place}: nothing was raised")


def close(found, expected):
    torch.testing.assert_close(torch.as_tensor(found).float(), torch.as_tensor(expected).float())
"""

PROGRAMS = {
    "starting values by name and by place": """
for draw in (nn.init.kaiming_uniform_, nn.init.kaiming_normal_, nn.init.kaiming_uniform, nn.init.kaiming_normal):
    drawn = []
    for given in (lambda w: draw(w, a=math.sqrt(5)), lambda w: draw(w, math.sqrt(5), "fan_in", "leaky_relu"),
                  lambda w: draw(tensor=w, a=math.sqrt(5), mode="fan_in", nonlinearity="leaky_relu")):
        torch.manual_seed(0)
        drawn.append(given(torch.zeros(3, 4)).tolist())
    assert drawn[0] == drawn[1] == drawn[2], draw
for draw, options in (
    (nn.init.kaiming_uniform_, (0.0, "fan_out", "relu")), (nn.init.kaiming_normal_, (0.0, "fan_out", "relu")),
    (nn.init.xavier_uniform_, (2.0,)), (nn.init.xavier_normal_, (2.0,)), (nn.init.orthogonal_, (2.0,)),
    (nn.init.sparse_, (0.5, 0.1)),
):
    first, second = (draw(torch.zeros(3, 4), *options, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, second) and first.abs().max() > 0
""",
    "options of losses by place": """
assert nn.MSELoss(None, None, "sum").reduction == nn.MSELoss(False).reduction == "sum"
assert nn.SmoothL1Loss(True, False, "mean", 2.0).beta == 2 and nn.L1Loss(True, False).reduction == "none"
assert nn.BCEWithLogitsLoss(torch.ones(2), None, None, "sum", torch.ones(2) * 3).pos_weight.tolist() == [3.0, 3.0]
assert nn.KLDivLoss(None, None, "batchmean", True).log_target and nn.NLLLoss2d().reduction == "mean"
assert nn.TripletMarginLoss(1.0, 2, 1e-6, True, None, None, "sum").reduction == "sum"
assert nn.PoissonNLLLoss(True, False, None, 1e-3, None, "sum").eps == 1e-3
assert nn.MultiMarginLoss(2, 1.0, None, None, None, "none").reduction == "none"
close(nn.LocalResponseNorm(1, alpha=1.0, beta=1.0, k=2.0)(torch.ones(1, 1, 2)), [[[1 / 3, 1 / 3]]])
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_networks(program, tmp_path):
    extensions.write(tmp_path, {"program.py": SETUP + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
