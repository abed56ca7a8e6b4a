"""A vision transformer of torch.nn's encoder, a learning rate finder, and layers frozen, replaced and pruned."""

from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.utils.prune as prune
from fixing import fix, images


class PatchEmbed(nn.Module):
    def __init__(self, size, patch, channels, dim):
        super().__init__()
        self.num_patches = (size // patch) ** 2
        self.proj = nn.Conv2d(channels, dim, kernel_size=patch, stride=patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class ViT(nn.Module):
    def __init__(self, size=12, patch=4, channels=1, classes=3, dim=16, depth=2, heads=4):
        super().__init__()
        self.patch_embed = PatchEmbed(size, patch, channels, dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.randn(1, self.patch_embed.num_patches + 1, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(
            d_model=dim,
            nhead=heads,
            dim_feedforward=2 * dim,
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.encoder = nn.TransformerEncoder(
            layer, num_layers=depth, norm=nn.LayerNorm(dim), enable_nested_tensor=False
        )
        self.pool = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.head = nn.Sequential(OrderedDict([("norm", nn.LayerNorm(dim)), ("fc", nn.Linear(dim, classes))]))
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        self.apply(self._init_weights)

    def _init_weights(self, m):
        if isinstance(m, nn.Linear):
            nn.init.trunc_normal_(m.weight, std=0.02)
            if isinstance(m, nn.Linear) and m.bias is not None:
                nn.init.zeros_(m.bias)

    def forward(self, x):
        x = self.patch_embed(x)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embed
        x = self.encoder(x)
        pooled, weights = self.pool(x[:, :1], x, x)
        self.weights = weights
        return self.head(pooled.squeeze(1))


def lr_finder(model, x, y, start=1e-4, end=1.0, steps=6):
    optimizer = torch.optim.SGD(model.parameters(), lr=start)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, (end / start) ** (1 / steps))
    history = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        history.append((optimizer.param_groups[0]["lr"], loss.item()))
        schedule.step()
    return history


def main():
    pictures, masks = images(9, 12)
    labels = torch.arange(9) % 3
    model = fix(ViT())
    start = {k: v.clone() for k, v in model.state_dict().items()}
    seen = [each for pair in lr_finder(model, pictures, labels) for each in pair]
    model.load_state_dict(start)
    for name, param in model.named_parameters():
        param.requires_grad = not name.startswith("patch_embed")
    model.head.fc = fix(nn.Linear(model.head.fc.in_features, 3), 0.1)
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=3e-3, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, steps_per_epoch=2, epochs=4)
    for _ in range(8):
        logits = model(pictures)
        loss = nn.CrossEntropyLoss()(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if scheduler.last_epoch < 7:
            scheduler.step()
        seen.append(loss.item())
    prune.l1_unstructured(model.head.fc, name="weight", amount=0.4)
    prune.global_unstructured(
        [(layer.linear1, "weight") for layer in model.encoder.layers], pruning_method=prune.L1Unstructured, amount=0.3
    )
    pruned = float(torch.sum(model.head.fc.weight == 0)) / model.head.fc.weight.nelement()
    seen += [pruned, model(pictures).sum().item(), model.weights.sum().item()]
    prune.remove(model.head.fc, "weight")
    return [*seen, *sorted(k for k in model.state_dict() if "in_proj" in k or "mask" in k)]


if __name__ == "__main__":
    print(main())
