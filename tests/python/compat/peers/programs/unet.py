"""Segmentation by a small U-Net with a Dice loss, a schedule with warm-up, and the best weights kept."""

import copy
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from fixing import fix, images
from torch.utils.data import DataLoader, TensorDataset, random_split


class DoubleConv(nn.Module):
    def __init__(self, in_channels, out_channels, mid_channels=None):
        super().__init__()
        if not mid_channels:
            mid_channels = out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(in_channels, out_channels))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(nn.Module):
    def __init__(self, in_channels, out_channels, bilinear=True):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diff_y = x2.size()[2] - x1.size()[2]
        diff_x = x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diff_x // 2, diff_x - diff_x // 2, diff_y // 2, diff_y - diff_y // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes, bilinear=False):
        super().__init__()
        factor = 2 if bilinear else 1
        self.inc = DoubleConv(n_channels, 4)
        self.down1 = Down(4, 8)
        self.down2 = Down(8, 16 // factor)
        self.up1 = Up(16, 8 // factor, bilinear)
        self.up2 = Up(8, 4, bilinear)
        self.outc = nn.Conv2d(4, n_classes, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        return self.outc(self.up2(self.up1(x3, x2), x1))


def dice_loss(logits, target, smooth=1.0):
    prediction = torch.sigmoid(logits).view(-1)
    target = target.view(-1)
    intersection = (prediction * target).sum()
    return 1 - (2.0 * intersection + smooth) / (prediction.sum() + target.sum() + smooth)


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dataset = TensorDataset(*images(12, 14))
    n_val = int(len(dataset) * 0.25)
    train_set, val_set = random_split(
        dataset, [len(dataset) - n_val, n_val], generator=torch.Generator().manual_seed(0)
    )
    train_set.indices, val_set.indices = list(range(9)), list(range(9, 12))
    loader = DataLoader(train_set, shuffle=False, batch_size=3, num_workers=0, pin_memory=False)
    seen = []
    for bilinear in (False, True):
        model = fix(UNet(1, 1, bilinear)).to(device)
        optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, weight_decay=1e-8, momentum=0.9, foreach=True)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=0, factor=0.5)
        scaler = torch.cuda.amp.GradScaler(enabled=False)
        best, best_state = float("-inf"), None
        for epoch in range(3):
            model.train()
            for inputs, masks in loader:
                inputs = inputs.to(device=device, dtype=torch.float32, memory_format=torch.channels_last)
                masks = masks.to(device)
                with torch.autocast(device.type, enabled=False):
                    output = model(inputs)
                    loss = F.binary_cross_entropy_with_logits(output, masks) + dice_loss(output, masks)
                optimizer.zero_grad(set_to_none=True)
                scaler.scale(loss).backward()
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
                seen.append(loss.item())
            model.eval()
            with torch.inference_mode():
                score = sum(-dice_loss(model(x[None]), y[None]).item() for x, y in val_set) / len(val_set)
            scheduler.step(score)
            if score > best:
                best, best_state = score, copy.deepcopy(model.state_dict())
        seen += [best, optimizer.param_groups[0]["lr"]]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "best.pth")
            torch.save(best_state, path)
            model.load_state_dict(torch.load(path, map_location=device))
        seen.append(sum(p.numel() for p in model.parameters() if p.requires_grad))
    return seen


if __name__ == "__main__":
    print(main())
