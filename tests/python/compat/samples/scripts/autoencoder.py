"""A variational autoencoder: the reparameterization trick, two losses, Kullback and Leibler's in closed form."""

import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(0)
data = (torch.rand(256, 1, 6, 6) > 0.7).float()
data[:, :, :3] = 1.0
loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True)


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(36, 24)
        self.fc21 = nn.Linear(24, 4)
        self.fc22 = nn.Linear(24, 4)
        self.fc3 = nn.Linear(4, 24)
        self.fc4 = nn.Linear(24, 36)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 36))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    bce = F.binary_cross_entropy(recon_x, x.view(-1, 36), size_average=False)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld


model = VAE()
optimizer = optim.Adam(model.parameters(), lr=1e-2)
means = []
for epoch in range(8):
    model.train()
    train_loss = 0
    for batch in loader:
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(batch)
        loss = loss_function(recon_batch, batch, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    means.append(train_loss / len(loader.dataset))
assert means[-1] < 0.8 * means[0], means
with torch.no_grad():
    sample = model.decode(torch.randn(8, 4)).cpu().view(8, 1, 6, 6)
    comparison = torch.cat([batch[:8], recon_batch.view(-1, 1, 6, 6)[:8].detach()])
assert comparison.shape == torch.Size([16, 1, 6, 6]) and sample.min() >= 0
print("Average loss: {:.4f}".format(means[-1]))
