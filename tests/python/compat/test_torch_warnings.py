"""Warnings that PyTorch gives for common mistakes, through the front: they name the program's line."""

from support import extensions

PROGRAM = """
import warnings
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

schedules = torch.optim.lr_scheduler


def made(kind, **options):
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    return optimizer, kind(optimizer, **options)


def early():
    optimizer, schedule = made(schedules.StepLR, step_size=1)
    schedule.step()
    optimizer.step()


def late():
    optimizer, schedule = made(schedules.StepLR, step_size=1)
    optimizer.step()
    schedule.step()
    schedule.step()


def stepped(kind, size):
    optimizer, schedule = made(kind, **{"step_size" if kind is schedules.StepLR else "T_0": size})
    optimizer.step()
    schedule.step(1)


image, places = torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2)
leaf = torch.ones(2, requires_grad=True)
inner = leaf * 2
kept = leaf * 2
kept.retain_grad()
x, p = torch.ones(2, 3), torch.full((2, 3), 1 / 3)

#: What a warning is given for, and what is meant, for which none is.
PAIRS = {
    "schedule": (early, late),
    "grad": (lambda: inner.grad, lambda: (leaf.grad, kept.grad)),
    "copy": (lambda: torch.tensor(leaf), lambda: leaf.detach().clone()),
    "new copy": (lambda: x.new_tensor(leaf), lambda: x.new_tensor([1.0])),
    "graph": (lambda: (leaf * leaf).sum().backward(create_graph=True), lambda: (leaf * leaf).sum().backward()),
    "shapes": (lambda: F.mse_loss(x, torch.ones(3)), lambda: F.mse_loss(x, x)),
    "old words": (lambda: nn.MSELoss(size_average=False), lambda: nn.MSELoss(reduction="sum")),
    "old words of functions": (lambda: F.l1_loss(x, x, reduce=False), lambda: F.l1_loss(x, x, reduction="none")),
    "softmax": (lambda: F.softmax(x), lambda: F.softmax(x, dim=1)),
    "divergence": (lambda: F.kl_div(p.log(), p), lambda: F.kl_div(p.log(), p, reduction="batchmean")),
    "layer of it": (lambda: nn.KLDivLoss()(p.log(), p), lambda: nn.KLDivLoss(reduction="sum")(p.log(), p)),
    "dropout": (lambda: nn.LSTM(2, 3, dropout=0.5), lambda: nn.LSTM(2, 3, 2, dropout=0.5)),
    "plateau": (
        lambda: made(schedules.ReduceLROnPlateau)[1].step(1.0, epoch=3),
        lambda: made(schedules.ReduceLROnPlateau)[1].step(1.0),
    ),
    "checkpoint": (
        lambda: checkpoint(torch.sin, leaf), lambda: checkpoint(torch.sin, leaf, use_reentrant=False)
    ),
    "older names": (lambda: F.upsample_nearest(image, scale_factor=2), lambda: F.interpolate(image, scale_factor=2)),
    "corners": (lambda: F.grid_sample(image, places), lambda: F.grid_sample(image, places, align_corners=False)),
    "corners of maps": (
        lambda: F.affine_grid(torch.zeros(1, 2, 3), [1, 1, 2, 2]),
        lambda: F.affine_grid(torch.zeros(1, 2, 3), [1, 1, 2, 2], align_corners=True),
    ),
    "axes": (lambda: image.T, lambda: (x.T, image.mT)),
    "grids": (lambda: torch.meshgrid(x[0], x[0]), lambda: torch.meshgrid(x[0], x[0], indexing="xy")),
    **{
        name: (lambda f=f: f(x[:1], dim=0), lambda f=f: (f(x, dim=0), f(x[:1], dim=0, correction=0)))
        for name, f in (("std", torch.std), ("var", torch.Tensor.var), ("std_mean", torch.std_mean))
    },
    "starting values": (
        lambda: nn.init.kaiming_normal_(torch.zeros(0, 2)), lambda: nn.init.kaiming_normal_(torch.zeros(2, 2))
    ),
    "epochs": (lambda: stepped(schedules.StepLR, 1), lambda: stepped(schedules.CosineAnnealingWarmRestarts, 1)),
    "autocast": (lambda: torch.autocast("cuda"), lambda: torch.autocast("cpu", dtype=torch.bfloat16)),
    "scaler": (lambda: torch.amp.GradScaler("cuda"), lambda: torch.amp.GradScaler("cuda", enabled=False)),
}
for name, (mistake, right) in PAIRS.items():
    if name in ("autocast", "scaler") and torch.cuda.is_available():
        continue
    for f, count in ((mistake, 1), (right, 0)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            f()
        assert len(seen) == count, (name, [str(each.message) for each in seen])
        assert all(each.filename == __file__ and each.category is UserWarning for each in seen), (name, seen)

optimizer, schedule = made(schedules.ReduceLROnPlateau)
warnings.simplefilter("ignore")
schedule.step(1.0, epoch=3)
assert schedule.last_epoch == 3
assert not torch.amp.GradScaler("cuda").is_enabled() or torch.cuda.is_available()
"""


def test_warnings_of_common_mistakes(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
