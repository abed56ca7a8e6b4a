"""SimCLR's loss, an EMA teacher, knowledge distillation, k nearest neighbors, and mixed precision."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from fixing import blobs, fix, rng


class NTXentLoss(nn.Module):
    def __init__(self, temperature=0.5):
        super().__init__()
        self.temperature = temperature
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, z_i, z_j):
        n = z_i.shape[0]
        z = F.normalize(torch.cat([z_i, z_j], dim=0), dim=1)
        similarity = torch.matmul(z, z.T)
        labels = torch.cat([torch.arange(n) for _ in range(2)], dim=0)
        labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
        mask = torch.eye(labels.shape[0], dtype=torch.bool)
        labels = labels[~mask].view(labels.shape[0], -1)
        similarity = similarity[~mask].view(similarity.shape[0], -1)
        positives = similarity[labels.bool()].view(labels.shape[0], -1)
        negatives = similarity[~labels.bool()].view(similarity.shape[0], -1)
        logits = torch.cat([positives, negatives], dim=1) / self.temperature
        return self.criterion(logits, torch.zeros(logits.shape[0], dtype=torch.long))


class EMA:
    def __init__(self, model, decay):
        self.module, self.decay = copy.deepcopy(model).eval(), decay
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for slow, fast in zip(self.module.state_dict().values(), model.state_dict().values()):
            if slow.dtype.is_floating_point:
                slow.mul_(self.decay).add_(fast.detach(), alpha=1 - self.decay)
            else:
                slow.copy_(fast)


def build(width):
    return nn.Sequential(nn.Linear(6, width, bias=False), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 4))


def distillation(student, teacher, labels, temperature=3.0, alpha=0.7):
    soft = F.kl_div(
        F.log_softmax(student / temperature, dim=1), F.softmax(teacher / temperature, dim=1), reduction="batchmean"
    )
    return alpha * temperature * temperature * soft + (1.0 - alpha) * F.cross_entropy(student, labels)


def main():
    draw = rng(7)
    x, y = blobs(32, 6, 4)
    model, criterion, seen = fix(build(12)), NTXentLoss(), []
    ema = EMA(model, 0.9)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8, enabled=True)
    for _ in range(8):
        views = [x + torch.from_numpy(draw.standard_normal((32, 6)).astype("float32")) * 0.1 for _ in range(2)]
        loss = criterion(model(views[0]), model(views[1]))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        ema.update(model)
        seen.append(loss.item())
    teacher = ema.module
    seen += [p.sum().item() for p in teacher.parameters()]
    student = fix(build(3))
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)
    swa = torch.optim.swa_utils.AveragedModel(student)
    for _ in range(8):
        with torch.no_grad():
            target = teacher(x)
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16, enabled=False):
            loss = distillation(student(x), target, y)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        swa.update_parameters(student)
        seen.append(loss.item())
    torch.optim.swa_utils.update_bn([x[:16], x[16:]], swa)
    swa.eval()
    features = F.normalize(swa(x), dim=-1)
    near = (features @ features.t()).topk(k=3, dim=-1)[1]
    votes = torch.gather(y.expand(32, -1), dim=-1, index=near)
    counts = torch.zeros(32 * 3, 4).scatter(dim=-1, index=votes.reshape(-1, 1), value=1.0).view(32, -1, 4).sum(dim=1)
    return [*seen, (counts.argmax(-1) == y).float().mean().item()]


if __name__ == "__main__":
    print(main())
