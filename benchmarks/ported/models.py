"""Training steps of models as PyTorch's examples have them, at their sizes, in PyTorch's words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (as programs name it)
from torch import nn

#: Statement of a step, and numbers of the model without its dropout, which must agree between the frameworks.
Step = tuple[Callable[[], Any], torch.Tensor]


def fill(model: nn.Module) -> None:
    """Gives matrices drawn numbers and biases zeros, which are the same in every framework."""
    rng = np.random.default_rng(7)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                bound = 1 / math.sqrt(parameter[0].numel())
                parameter.copy_(torch.from_numpy(rng.uniform(-bound, bound, parameter.shape).astype(np.float32)))
            elif "bias" in name:
                parameter.zero_()


def judged(model: nn.Module, cost_of: Callable[[], torch.Tensor]) -> torch.Tensor:
    """Returns the cost in evaluation mode, and the sums of the gradients' magnitudes."""
    model.eval()
    cost = cost_of()
    cost.backward()
    sums = [p.grad.abs().sum() for p in model.parameters() if p.grad is not None]
    model.train()
    model.zero_grad()
    return torch.stack([cost.detach(), *sums])


class Digits(nn.Module):
    """The convolutional network of the example mnist."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, 1)
        self.conv2 = nn.Conv2d(32, 64, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Returns log-probabilities [batch, 10] of images [batch, 1, 28, 28]."""
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = self.dropout1(F.max_pool2d(x, 2))
        x = torch.flatten(x, 1)
        x = self.dropout2(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=1)


def digits() -> Step:
    """A step of Adadelta, batch 64."""
    rng = np.random.default_rng(0)
    images = torch.from_numpy(rng.standard_normal((64, 1, 28, 28), np.float32))
    labels = torch.from_numpy(rng.integers(0, 10, 64))
    model = Digits()
    fill(model)
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)

    def step() -> float:
        optimizer.zero_grad()
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, judged(model, lambda: F.nll_loss(model(images), labels))


class Words(nn.Module):
    """The LSTM of the example word_language_model."""

    def __init__(self, words: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.words = words
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(words, width)
        self.rnn = nn.LSTM(width, width, layers, dropout=dropout)
        self.decoder = nn.Linear(width, words)

    def forward(self, input: torch.Tensor, hidden: Any) -> Any:
        """Returns log-probabilities [tokens * batch, words], and the state behind them."""
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.words)
        return F.log_softmax(decoded, dim=1), hidden


def words() -> Step:
    """A step of plain gradient descent with clipping, WikiText-2's 33,278 words, 20 times 35 tokens."""
    rng = np.random.default_rng(1)
    count, width, layers, tokens, batch = 33278, 200, 2, 35, 20
    data, targets = (torch.from_numpy(rng.integers(0, count, (tokens, batch))) for _ in range(2))
    targets = targets.view(-1)
    model = Words(count, width, layers, 0.2)
    fill(model)
    hidden = [tuple(torch.zeros(layers, batch, width) for _ in range(2))]
    start = hidden[0]

    def step() -> float:
        model.zero_grad()
        output, after = model(data, tuple(h.detach() for h in hidden[0]))
        loss = F.nll_loss(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-20)
        hidden[0] = after
        return loss.item()

    return step, judged(model, lambda: F.nll_loss(model(data, start)[0], targets))


class Attention(nn.Module):
    """Causal attention of several heads, as nanoGPT has it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.c_attn = nn.Linear(width, 3 * width, bias=False)
        self.c_proj = nn.Linear(width, width, bias=False)
        self.heads, self.width = heads, width

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Returns [batch, tokens, width]."""
        batch, tokens, width = x.size()
        parts = self.c_attn(x).split(self.width, dim=2)
        q, k, v = (part.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(batch, tokens, width))


class Block(nn.Module):
    """A block of a transformer with norms ahead."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width, bias=False), nn.GELU(), nn.Linear(4 * width, width, bias=False), nn.Dropout(0.0)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Returns [batch, tokens, width]."""
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Characters(nn.Module):
    """A GPT with tied embeddings."""

    def __init__(self, words: int, width: int, heads: int, layers: int, tokens: int) -> None:
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(words, width),
                "wpe": nn.Embedding(tokens, width),
                "drop": nn.Dropout(0.0),
                "h": nn.ModuleList([Block(width, heads) for _ in range(layers)]),
                "ln_f": nn.LayerNorm(width),
            }
        )
        self.lm_head = nn.Linear(width, words, bias=False)
        self.transformer.wte.weight = self.lm_head.weight

    def forward(self, idx: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Returns the cost of predicting each next token."""
        places = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
        x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(places))
        for block in self.transformer.h:
            x = block(x)
        logits = self.lm_head(self.transformer.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)


def characters() -> Step:
    """A step of AdamW with clipping: nanoGPT's settings for a CPU, 4 layers 128 wide, 12 times 64 tokens."""
    rng = np.random.default_rng(2)
    x, y = (torch.from_numpy(rng.integers(0, 65, (12, 64))) for _ in range(2))
    model = Characters(65, 128, 4, 4, 64)
    fill(model)
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))

    def step() -> float:
        loss = model(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step, judged(model, lambda: model(x, y))


class Variational(nn.Module):
    """The autoencoder of the example vae."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(784, 400)
        self.fc21 = nn.Linear(400, 20)
        self.fc22 = nn.Linear(400, 20)
        self.fc3 = nn.Linear(20, 400)
        self.fc4 = nn.Linear(400, 784)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Returns images, and the mean and the logarithm of the variance behind them."""
        h = F.relu(self.fc1(x.view(-1, 784)))
        mu, logvar = self.fc21(h), self.fc22(h)
        std = torch.exp(0.5 * logvar)
        z = mu + torch.randn_like(std) * std if self.training else mu
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar

    def cost(self, x: torch.Tensor) -> torch.Tensor:
        """Returns the reconstruction's cross-entropy and the divergence from the prior, summed."""
        images, mu, logvar = self(x)
        entropy = F.binary_cross_entropy(images, x.view(-1, 784), reduction="sum")
        return entropy - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())


def variational() -> Step:
    """A step of Adam, batch 128."""
    images = torch.from_numpy(np.random.default_rng(3).random((128, 1, 28, 28), np.float32))
    model = Variational()
    fill(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> float:
        optimizer.zero_grad()
        loss = model.cost(images)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, judged(model, lambda: model.cost(images))
