"""Two images through one network: a loss of pairs, a mean over a schedule of several steps."""

import random

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import Dataset


class Siamese(nn.Module):
    def __init__(self):
        super(Siamese, self).__init__()
        body = nn.Sequential(
            nn.Conv2d(1, 4, 3, bias=False), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((2, 2)), nn.ReLU()
        )
        self.body = nn.Sequential(*(list(body.children())[:-1]))
        self.fc = nn.Sequential(nn.Linear(32, 16), nn.ReLU(inplace=True), nn.Linear(16, 1))
        self.sigmoid = nn.Sigmoid()
        self.body.apply(self.init_weights)
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        output = self.body(x)
        return output.view(output.size()[0], -1)

    def forward(self, input1, input2):
        output = torch.cat((self.forward_once(input1), self.forward_once(input2)), 1)
        return self.sigmoid(self.fc(output))


class Pairs(Dataset):
    def __init__(self):
        super(Pairs, self).__init__()
        self.targets = torch.arange(64) % 2
        self.data = (torch.rand(64, 6, 6) * 50).to(torch.uint8).unsqueeze(1).clone()
        self.data[self.targets == 1, :, :3] += 200
        np_arr = np.array(self.targets.clone())
        self.groups = {i: np.where((np_arr == i))[0] for i in range(2)}

    def __len__(self):
        return self.data.shape[0]

    def __getitem__(self, index):
        kind = random.randint(0, 1)
        other = kind if index % 2 == 0 else 1 - kind
        first, second = (self.groups[each][random.randint(0, 31)] for each in (kind, other))
        target = torch.tensor(1 if index % 2 == 0 else 0, dtype=torch.float)
        return self.data[first].clone().float() / 255, self.data[second].clone().float() / 255, target


random.seed(0)
torch.manual_seed(0)
loader = torch.utils.data.DataLoader(Pairs(), batch_size=16, shuffle=True)
model = Siamese()
optimizer = optim.Adadelta(model.parameters(), lr=1.0)
scheduler = StepLR(optimizer, step_size=10, gamma=0.7)
criterion = nn.BCELoss()
for _ in range(30):
    correct = 0
    for first, second, targets in loader:
        optimizer.zero_grad()
        outputs = model(first, second).squeeze()
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        pred = torch.where(outputs > 0.5, 1, 0)
        correct += pred.eq(targets.view_as(pred)).sum().item()
    scheduler.step()
assert correct > 45, correct
assert abs(scheduler.get_last_lr()[0] - 0.7**3) < 1e-9
print("Accuracy: {}/{} ({:.0f}%)".format(correct, len(loader.dataset), 100.0 * correct / len(loader.dataset)))
