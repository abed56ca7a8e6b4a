"""A GAN with spectral norm and a gradient penalty: derivatives of derivatives, two optimizers, frozen parts."""

import torch
import torch.nn as nn
from fixing import fix, rng
from torch import autograd
from torch.autograd import Variable
from torch.nn.utils import spectral_norm


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        m.weight.data.normal_(1.0, 0.02)
        m.bias.data.fill_(0)


class Generator(nn.Module):
    def __init__(self, nz, ngf, nc):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, nc, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self, nc, ndf):
        super().__init__()
        self.main = nn.Sequential(
            spectral_norm(nn.Conv2d(nc, ndf, 4, 2, 1, bias=False)),
            nn.LeakyReLU(0.2, inplace=True),
            spectral_norm(nn.Conv2d(ndf, ndf * 2, 3, 1, 1)),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Flatten(),
        )
        self.fc = spectral_norm(nn.Linear(ndf * 2 * 16, 1))

    def forward(self, input):
        return self.fc(self.main(input)).view(-1)


def gradient_penalty(netD, real, fake, alpha):
    interpolates = Variable(alpha * real.data + (1 - alpha) * fake.data, requires_grad=True)
    out = netD(interpolates)
    gradients = autograd.grad(
        outputs=out,
        inputs=interpolates,
        grad_outputs=torch.ones(out.size()),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((gradients.view(gradients.size(0), -1).norm(2, dim=1) - 1) ** 2).mean()


def main():
    draw = rng(6)
    netG, netD = Generator(4, 4, 1), Discriminator(1, 4)
    netG.apply(weights_init)
    fix(netG)
    fix(netD, 0.4)
    for module in netD.modules():
        for name in ("weight_u", "weight_v"):
            if hasattr(module, name):
                vector = getattr(module, name)
                values = torch.from_numpy(draw.standard_normal(vector.shape[0]).astype("float32"))
                vector.data.copy_(values / values.norm())
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizerG = torch.optim.Adam(filter(lambda p: p.requires_grad, netG.parameters()), lr=2e-3, betas=(0.5, 0.999))
    seen = []
    for step in range(6):
        real = torch.from_numpy(draw.uniform(-1, 1, (6, 1, 8, 8)).astype("float32"))
        noise = torch.from_numpy(draw.standard_normal((6, 4, 1, 1)).astype("float32"))
        for p in netD.parameters():
            p.requires_grad = True
        netD.zero_grad()
        fake = netG(noise)
        penalty = gradient_penalty(
            netD, real, fake, torch.from_numpy(draw.uniform(size=(6, 1, 1, 1)).astype("float32"))
        )
        lossD = torch.relu(1 - netD(real)).mean() + torch.relu(1 + netD(fake.detach())).mean() + 10 * penalty
        lossD.backward()
        optimizerD.step()
        for p in netD.parameters():
            p.requires_grad_(False)
        netG.zero_grad()
        lossG = -netD(netG(noise)).mean()
        lossG.backward()
        optimizerG.step()
        seen += [lossD.item(), lossG.item(), penalty.item()]
        if step == 3:
            for group in optimizerD.param_groups:
                group["lr"] *= 0.5
    state = netD.state_dict()
    return [*seen, " ".join(state), netD.fc.weight_u.norm().item(), netD.main[0].weight_orig.sum().item()]


if __name__ == "__main__":
    print(main())
