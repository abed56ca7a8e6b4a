"""A variational autoencoder with torch.distributions, checkpointed layers, and a schedule of the program's own."""

import torch
import torch.distributions as D
import torch.nn as nn
from fixing import fix, images, rng
from torch.optim.lr_scheduler import _LRScheduler
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset, SubsetRandomSampler, WeightedRandomSampler  # noqa: F401


class PolynomialWarmup(_LRScheduler):
    def __init__(self, optimizer, warmup, total, power=2.0, last_epoch=-1):
        self.warmup, self.total, self.power = warmup, total, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch < self.warmup:
            return [base_lr * (self.last_epoch + 1) / self.warmup for base_lr in self.base_lrs]
        part = (self.last_epoch - self.warmup) / (self.total - self.warmup)
        return [base_lr * (1 - part) ** self.power for base_lr in self.base_lrs]


class Noisy(Dataset):
    def __init__(self, transform=None):
        self.pictures = images(10, 8)[0]
        self.noise = torch.from_numpy(rng(9).standard_normal((10, 1, 8, 8)).astype("float32"))
        self.transform = transform

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, idx):
        if torch.is_tensor(idx):
            idx = idx.tolist()
        clean = self.pictures[idx]
        sample = {"noisy": clean + 0.1 * self.noise[idx], "clean": clean, "index": idx, "name": f"picture{idx}"}
        return self.transform(sample) if self.transform else sample


class VAE(nn.Module):
    def __init__(self, latent=3):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 4, 3, stride=2, padding=1),
            nn.SiLU(),
            nn.Conv2d(4, 8, 3, stride=2, padding=1),
            nn.SiLU(),
            nn.Flatten(),
        )
        self.mu, self.log_var = nn.Linear(32, latent), nn.Linear(32, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, 32),
            nn.Unflatten(1, (8, 2, 2)),
            nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1),
            nn.PReLU(),
            nn.ConvTranspose2d(4, 1, 3, stride=2, padding=1, output_padding=1),
        )

    def forward(self, x, eps):
        h = checkpoint(self.encoder, x, use_reentrant=False)
        posterior = D.Independent(D.Normal(self.mu(h), (0.5 * self.log_var(h)).exp()), 1)
        z = posterior.base_dist.loc + eps * posterior.base_dist.scale
        return self.decoder(z), posterior


def main():
    loader = DataLoader(
        Noisy(lambda sample: {**sample, "noisy": sample["noisy"].clamp(-1, 2)}),
        batch_size=5,
        drop_last=False,
        sampler=torch.utils.data.SequentialSampler(range(10)),
    )
    model, draw, seen = fix(VAE()), rng(10), []
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = PolynomialWarmup(optimizer, 2, 8)
    prior = D.Independent(D.Normal(torch.zeros(3), torch.ones(3)), 1)
    for _ in range(4):
        for batch in loader:
            eps = torch.from_numpy(draw.standard_normal((len(batch["name"]), 3)).astype("float32"))
            output, posterior = model(batch["noisy"], eps)
            kl = D.kl_divergence(posterior, prior).mean()
            likelihood = D.Normal(output, 0.5).log_prob(batch["clean"]).sum(dim=(1, 2, 3)).mean()
            loss = kl * 0.1 - likelihood
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            seen += [loss.item(), kl.item(), scheduler.get_last_lr()[0]]
    seen += [batch["index"].tolist(), batch["name"][-1]]
    mixture = D.MixtureSameFamily(
        D.Categorical(torch.ones(2)), D.Normal(torch.tensor([-1.0, 1.0]), torch.tensor([0.5, 1.0]))
    )
    policy = D.Categorical(logits=torch.tensor([0.1, 0.5, -0.3], requires_grad=True))
    seen += [
        mixture.log_prob(torch.tensor(0.3)).item(),
        policy.entropy().item(),
        policy.log_prob(torch.tensor(1)).item(),
    ]
    flow = D.TransformedDistribution(
        D.Normal(0.0, 1.0), [D.transforms.AffineTransform(1.0, 2.0), D.transforms.ExpTransform()]
    )
    state = scheduler.state_dict()
    again = PolynomialWarmup(torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1e-2), 2, 8)
    again.load_state_dict(state)
    return [*seen, flow.log_prob(torch.tensor(2.0)).item(), again.last_epoch, sum(again.get_lr())]


if __name__ == "__main__":
    print(main())
