"""A convolutional network that learns images of digits, with loaders, a schedule and a saved state."""

from __future__ import print_function

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split


class Digits(Dataset):
    """Images of eight strokes with noise."""

    def __init__(self, count, transform=None):
        generator = torch.Generator().manual_seed(3)
        self.targets = torch.randint(0, 8, (count,), generator=generator)
        self.data = torch.zeros(count, 12, 12)
        for i, target in enumerate(self.targets):
            k = int(target)
            self.data[i, k, 2:10] = 1.0
            self.data[i, 2:10, k] = 1.0
        self.data += 0.2 * torch.randn(count, 12, 12)
        self.transform = transform

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        image, target = self.data[index], int(self.targets[index])
        if self.transform is not None:
            image = self.transform(image)
        return image, target


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, kernel_size=3, stride=1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout2d(0.1)
        self.fc1 = nn.Linear(256, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.dropout2(self.conv2(x)))
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x), inplace=True)
        return F.log_softmax(self.fc2(x), dim=1)


def train(args, model, device, train_loader, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            print(
                "Train Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.6f}".format(
                    epoch,
                    batch_idx * len(data),
                    len(train_loader.dataset),
                    100.0 * batch_idx / len(train_loader),
                    loss.item(),
                )
            )


def test(model, device, test_loader):
    model.eval()
    test_loss = 0
    correct = 0
    with torch.no_grad():
        for data, target in test_loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
            values, places = output.max(1)
            assert torch.equal(places, pred.squeeze(1)) and values.size(0) == target.size(0)
    test_loss /= len(test_loader.dataset)
    print(f"Test set: Average loss: {test_loss:.4f}, Accuracy: {correct}/{len(test_loader.dataset)}")
    return correct / len(test_loader.dataset)


def main():
    parser = argparse.ArgumentParser(description="digits")
    parser.add_argument("--batch-size", type=int, default=32, metavar="N")
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--gamma", type=float, default=0.7)
    parser.add_argument("--no-cuda", action="store_true", default=False)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--log-interval", type=int, default=10)
    args = parser.parse_args()
    use_cuda = not args.no_cuda and torch.cuda.is_available()
    torch.manual_seed(1)
    device = torch.device("cuda" if use_cuda else "cpu")

    train_kwargs = {"batch_size": args.batch_size, "num_workers": args.workers, "pin_memory": True, "shuffle": True}
    whole = Digits(512, transform=lambda image: image.unsqueeze(0))
    training, testing = random_split(whole, [384, 128], generator=torch.Generator().manual_seed(0))
    train_loader = torch.utils.data.DataLoader(training, **train_kwargs)
    images, labels = zip(*[testing[i] for i in range(len(testing))])
    test_loader = DataLoader(TensorDataset(torch.stack(images), torch.tensor(labels)), batch_size=100)

    model = Net().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    for epoch in range(1, 4):
        train(args, model, device, train_loader, optimizer, epoch)
        accuracy = test(model, device, test_loader)
        scheduler.step()
    assert accuracy > 0.8, accuracy
    assert abs(optimizer.param_groups[0]["lr"] - args.lr * args.gamma**3) < 1e-6
    torch.save(model.state_dict(), "digits.pt")
    again = Net()
    print(again.load_state_dict(torch.load("digits.pt")))
    assert test(again, device, test_loader) == accuracy


if __name__ == "__main__":
    main()
