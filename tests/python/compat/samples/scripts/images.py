"""A generator against a discriminator: starting values by class names, labels filled in, normed batches."""

import argparse
import random

import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn
import torch.nn.parallel
import torch.optim as optim
import torch.utils.data

parser = argparse.ArgumentParser()
parser.add_argument("--ngpu", type=int, default=1)
opt = parser.parse_args()
random.seed(3)
torch.manual_seed(3)
cudnn.benchmark = True
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        m.weight.data.normal_(0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        m.weight.data.normal_(1.0, 0.02)
        m.bias.data.fill_(0)


class Generator(nn.Module):
    def __init__(self, ngpu):
        super(Generator, self).__init__()
        self.ngpu = ngpu
        self.main = nn.Sequential(
            nn.ConvTranspose2d(6, 8, 4, 1, 0, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(True),
            nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        if input.is_cuda and self.ngpu > 1:
            return nn.parallel.data_parallel(self.main, input, range(self.ngpu))
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, 8, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(8, 16, 3, 1, 1, bias=False),
            nn.BatchNorm2d(16),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(16, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input).view(-1, 1).squeeze(1)


real = torch.ones(64, 1, 8, 8) * torch.linspace(-1, 1, 8)
dataloader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(real), batch_size=16, shuffle=True)
net_g, net_d = Generator(opt.ngpu).to(device), nn.DataParallel(Discriminator()).to(device)
net_g.apply(weights_init)
net_d.apply(weights_init)
criterion = nn.BCELoss()
fixed_noise = torch.randn(4, 6, 1, 1, device=device)
optimizer_d = optim.Adam(net_d.parameters(), lr=0.01, betas=(0.5, 0.999))
optimizer_g = optim.Adam(net_g.parameters(), lr=0.01, betas=(0.5, 0.999))
for epoch in range(4):
    for i, data in enumerate(dataloader, 0):
        net_d.zero_grad()
        real_cpu = data[0].to(device)
        batch_size = real_cpu.size(0)
        label = torch.full((batch_size,), 1, dtype=real_cpu.dtype, device=device)
        output = net_d(real_cpu)
        err_real = criterion(output, label)
        err_real.backward()
        d_x = output.mean().item()
        fake = net_g(torch.randn(batch_size, 6, 1, 1, device=device))
        label.fill_(0)
        output = net_d(fake.detach())
        err_fake = criterion(output, label)
        err_fake.backward()
        optimizer_d.step()
        net_g.zero_grad()
        label.fill_(1)
        output = net_d(fake)
        err_g = criterion(output, label)
        err_g.backward()
        optimizer_g.step()
assert d_x > output.mean().item()
with torch.no_grad():
    assert net_g(fixed_noise).size() == (4, 1, 8, 8)
torch.save(net_g.state_dict(), "%s_epoch_%d.pth" % ("g", epoch))
other = Generator(1)
other.load_state_dict(torch.load("g_epoch_3.pth", map_location=torch.device("cpu")))
other.eval(), net_g.eval()
assert torch.allclose(other(fixed_noise), net_g(fixed_noise), atol=1e-6)
print("Loss_D: %.4f Loss_G: %.4f" % (err_real + err_fake, err_g.item()))
print(net_g)
