"""Smaller images made larger by shuffled pixels, with orthogonal starting weights."""

from math import log10

import torch
import torch.nn as nn
import torch.nn.init as init
import torch.optim as optim
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super(Net, self).__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, (5, 5), (1, 1), (2, 2))
        self.conv4 = nn.Conv2d(16, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv4.weight)

    def forward(self, x):
        return self.pixel_shuffle(self.conv4(self.relu(self.conv1(x))))


torch.manual_seed(123)
targets = torch.nn.functional.interpolate(torch.rand(16, 1, 4, 4), scale_factor=4, mode="bilinear", align_corners=False)
inputs = nn.functional.avg_pool2d(targets, 2)
loader = DataLoader(dataset=list(zip(inputs, targets)), num_workers=0, batch_size=8, shuffle=True)
model = Net(upscale_factor=2)
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.01)
losses = []
for _ in range(20):
    for _, batch in enumerate(loader, 1):
        input, target = batch[0], batch[1]
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
assert losses[-1] < 0.2 * losses[0], losses
torch.save(model, "model.pth")
again = torch.load("model.pth", weights_only=False)
assert torch.equal(again(inputs), model(inputs))
print("===> Avg. PSNR: {:.4f} dB".format(10 * log10(1 / losses[-1])))
