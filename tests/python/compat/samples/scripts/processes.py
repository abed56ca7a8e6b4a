"""Processes that train one network in shared memory without waiting for each other."""

import os

import torch
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


def batch(seed):
    torch.manual_seed(seed)
    x = torch.randn(64, 4)
    return x, x.sum(dim=1, keepdim=True)


def train(rank, model, steps):
    x, y = batch(rank)
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()


def loss_of(model):
    x, y = batch(7)
    with torch.no_grad():
        return F.mse_loss(model(x), y).item()


if __name__ == "__main__":
    mp.set_start_method("spawn", force=True)
    torch.manual_seed(0)
    model = Net()
    before = loss_of(model)
    model.share_memory()
    assert model.fc1.weight.is_shared() and loss_of(model) == before
    processes = []
    for rank in range(2):
        p = mp.Process(target=train, args=(rank, model, 60))
        p.start()
        processes.append(p)
    for p in processes:
        p.join()
        assert p.exitcode == 0
    after = loss_of(model)
    assert after < 0.3 * before, (before, after)
    print(f"{os.getpid()}: {before:.3f} -> {after:.3f}")
