"""Learns to draw digits: a variational autoencoder whose two hidden numbers can be looked at as a plane."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import lamella as lm
from lamella import data, distributions, nn, optim
from lamella.progress import progress

HERE = Path(__file__).resolve().parent
HELD_OUT = 297  # of 1797 images
REQUIRED_BOUND = 70.0  # a density that knows nothing of digits gives 0


# 1. The images: 64 pixels of 17 shades. Their digits are only used to color a picture.

SHADES = 17


def load_data(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Images of shape (n, 64) with shades from 0 to 16, and their digits, in random order."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    order = np.random.default_rng(seed).permutation(len(bunch.target))
    return bunch.data[order].astype(np.float32), bunch.target[order]


def spread(shades: lm.Tensor) -> lm.Tensor:
    """Returns each pixel as a random number within its shade, from 0 to 1.

    Without that, a density over the numbers from 0 to 1 could grow without limit at the 17 shades themselves, and
    training would learn nothing else.
    """
    return (shades + lm.rand_like(shades)) / SHADES


# 2. The model: an encoder from an image to a distribution of z, a few numbers, and a decoder from z to one of images.


class VAE(nn.Module):
    """A variational autoencoder with a standard normal prior.

    Source: Kingma and Welling 2014, "Auto-encoding variational Bayes".
    """

    def __init__(self, latent: int = 2, width: int = 256) -> None:
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(
            nn.Linear(64, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2 * latent)
        )
        self.decoder = nn.Sequential(
            nn.Linear(latent, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 64)
        )

    def encode(self, images: lm.Tensor) -> distributions.Distribution:
        """Returns the distribution of z that the encoder sees behind each image."""
        mean, log_scale = lm.split(self.encoder(images), 2, axis=-1)
        return distributions.Independent(distributions.Normal(mean, lm.exp(log_scale)), 1)

    def decode(self, z: lm.Tensor) -> distributions.Distribution:
        """Returns the distribution of the images that z stands for.

        Its density is one of numbers from 0 to 1: Loaiza-Ganem and Cunningham 2019, "The continuous Bernoulli".
        """
        return distributions.Independent(distributions.ContinuousBernoulli(logits=self.decoder(z)), 1)

    def prior(self) -> distributions.Distribution:
        """Returns the distribution of z before an image has been seen."""
        zeros = lm.zeros([self.latent])
        return distributions.Independent(distributions.Normal(zeros, lm.ones_like(zeros)), 1)

    def forward(self, images: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor]:
        """Returns, for each image, the log density of its reconstruction, and what its z tells beyond the prior.

        The first minus the second is a lower bound of the logarithm of the image's density.
        """
        posterior = self.encode(images)
        # A draw that gradients flow through: the mean plus the scale times noise.
        z = posterior.rsample()
        return self.decode(z).log_prob(images), distributions.kl_divergence(posterior, self.prior())


# 3. Training: the bound is made as large as possible.


def train(model: VAE, images: np.ndarray, epochs: int) -> list[float]:
    """Returns the bound by epoch."""
    loader = data.DataLoader(data.TensorDataset(images), batch_size=100, shuffle=True, drop_last=True)
    optimizer = optim.AdamW(model.parameters(), lr=2e-3)
    schedule = optim.OneCycleLR(optimizer, max_lr=4e-3, total_steps=epochs * len(loader))
    history = []
    bar = progress(range(1, epochs + 1), description="training", unit="epoch", file=sys.stdout)
    for epoch in bar:
        total = seen = 0.0
        for (batch,) in loader:
            optimizer.zero_grad()
            drawn, told = model(spread(batch))
            bound = (drawn - told).mean()
            (-bound).backward()
            optimizer.step()
            schedule.step()
            total += bound.item()
            seen += told.mean().item()
        history.append(total / len(loader))
        if epoch == 1 or epoch % 20 == 0:
            bar.write(f"epoch {epoch:3}   bound {history[-1]:7.3f}   told by z {seen / len(loader):.3f}")
    return history


@lm.no_grad()
def bound(model: VAE, shades: lm.Tensor, samples: int = 100) -> float:
    """Returns the bound on images that were not learned from; many draws make it tight.

    Source: Burda et al. 2016, "Importance weighted autoencoders".
    """
    images = spread(shades)
    posterior = model.encode(images)
    z = posterior.sample([samples])
    weights = model.decode(z).log_prob(images) + model.prior().log_prob(z) - posterior.log_prob(z)
    return (lm.logsumexp(weights, axis=0) - np.log(samples)).mean().item()


# 4. Pictures.


def tiled(images: lm.Tensor, columns: int) -> np.ndarray:
    """Lays images of 64 pixels out in rows, with a gap between them."""
    rows = len(images) // columns
    framed = lm.pad(images[: rows * columns].reshape([rows, columns, 8, 8]), [1, 1, 1, 1])
    return framed.permute_dims([0, 2, 1, 3]).reshape([rows * 10, columns * 10]).numpy()


@lm.no_grad()
def draw(model: VAE, shades: lm.Tensor, digits: np.ndarray, history: list[float], path: Path) -> None:
    """The bound, where digits lie on the plane, the images that lie there, images drawn again, and samples."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        print("no picture: matplotlib is not installed")
        return
    images = spread(shades)
    posterior = model.encode(images)
    figure = Figure(figsize=(13, 8.6), layout="constrained")
    axes = figure.subplot_mosaic([["bound", "plane", "map"], ["scale", "again", "samples"]])
    axes["bound"].plot(range(1, len(history) + 1), history)
    axes["bound"].set(title="bound of the log density (nats)", xlabel="epoch")
    axes["bound"].grid(alpha=0.3)

    z = posterior.mean.numpy()
    shown = axes["plane"].scatter(z[:, 0], z[:, 1], c=digits, cmap="tab10", vmin=-0.5, vmax=9.5, s=12)
    figure.colorbar(shown, ax=axes["plane"], ticks=range(10))
    numbers = {"xlabel": "first number of z", "ylabel": "second number of z"}
    axes["plane"].set(title="held-out digits on the plane of z", aspect="equal", **numbers)

    axes["scale"].hist(posterior.base_dist.scale[:, :2].numpy(), bins=30, label=["first number", "second number"])
    axes["scale"].set(title="how precisely the encoder knows z", xlabel="standard deviation", ylabel="images")
    axes["scale"].legend()

    # Places of equal probability under the prior, so that no part of the plane is shown too large.
    places = distributions.Normal(0.0, 1.0).icdf(lm.linspace(0.01, 0.99, 17))
    down, across = lm.meshgrid(lm.flip(places), places, indexing="ij")
    others = lm.zeros([down.size, model.latent - 2])
    grid = lm.concat([lm.stack([across.ravel(), down.ravel()], axis=1), others], axis=1)
    again = model.decode(posterior.mean[:50]).mean
    pairs = lm.stack([images[:50].reshape([5, 10, 64]), again.reshape([5, 10, 64])], axis=1).reshape([100, 64])
    for name, title, pictures, columns in (
        ("map", "images by their place on the plane", model.decode(grid).mean, 17),
        ("again", "held-out images, each reconstructed below", pairs, 10),
        ("samples", "new images, from random z", model.decode(model.prior().sample([100])).mean, 10),
    ):
        axes[name].imshow(tiled(pictures, columns), cmap="gray_r")
        axes[name].set(title=title, xticks=[], yticks=[], **(numbers if name == "map" else {}))
    figure.savefig(path, dpi=100)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=60, help="passes over the training images (default: 60)")
    parser.add_argument("--short", action="store_true", help="three epochs, to see that it runs")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="folder for the results (default: out, here)")
    options = parser.parse_args()
    epochs = 3 if options.short else options.epochs
    if epochs < 1:
        parser.error("--epochs is at least 1")

    lm.seed(0)
    images, digits = load_data(seed=0)
    model = VAE()
    print(model.summary(lm.zeros([1, 64])))
    history = train(model, images[HELD_OUT:], epochs)

    held_out = lm.asarray(images[:HELD_OUT])
    reached = bound(model, held_out)
    options.out.mkdir(parents=True, exist_ok=True)
    draw(model, held_out, digits[:HELD_OUT], history, options.out / "vae.png")
    lm.io.save(model.state_dict(), options.out / "vae.safetensors")
    print(f"vae.png and vae.safetensors are in {options.out}")
    print(f"log density of held-out images: at least {reached:.2f}")
    if not options.short and reached < REQUIRED_BOUND:
        print(f"that is below {REQUIRED_BOUND}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
