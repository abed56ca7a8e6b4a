"""A small transformer that learns text by characters: tied weights, groups of AdamW, autocast, checkpoints."""

import argparse
import inspect
import math
import os
from contextlib import nullcontext
from dataclasses import asdict, dataclass

import numpy as np
import torch
import torch.nn as nn
from torch.nn import functional as F


@dataclass
class Settings:
    vocabulary: int = 27
    context: int = 16
    layers: int = 2
    heads: int = 2
    width: int = 16
    dropout: float = 0.0


class Attention(nn.Module):
    def __init__(self, settings, flash):
        super().__init__()
        self.heads, self.width = settings.heads, settings.width
        self.project = nn.Linear(settings.width, 3 * settings.width, bias=False)
        self.out_proj = nn.Linear(settings.width, settings.width, bias=False)
        self.drop = nn.Dropout(settings.dropout)
        self.flash = flash and hasattr(F, "scaled_dot_product_attention")
        mask = torch.tril(torch.ones(settings.context, settings.context))
        self.register_buffer("mask", mask.view(1, 1, settings.context, settings.context), persistent=False)

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = self.project(x).split(self.width, dim=2)
        q, k, v = (each.view(b, t, self.heads, c // self.heads).transpose(1, 2) for each in (q, k, v))
        if self.flash:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
            y = self.drop(F.softmax(scores, dim=-1)) @ v
        return self.out_proj(y.transpose(1, 2).contiguous().view(b, t, c))


class Block(nn.Module):
    def __init__(self, settings, flash):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(settings.width) for _ in range(2)])
        self.attention = Attention(settings, flash)
        self.mlp = nn.ModuleDict(
            dict(
                grow=nn.Linear(settings.width, 4 * settings.width),
                act=nn.GELU(approximate="tanh"),
                out_proj=nn.Linear(4 * settings.width, settings.width),
            )
        )

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        return x + self.mlp.out_proj(self.mlp.act(self.mlp.grow(self.norms[1](x))))


class Model(nn.Module):
    def __init__(self, settings, flash=True):
        super().__init__()
        self.settings = settings
        self.body = nn.ModuleDict(
            dict(
                tokens=nn.Embedding(settings.vocabulary, settings.width),
                places=nn.Embedding(settings.context, settings.width),
                blocks=nn.ModuleList([Block(settings, flash) for _ in range(settings.layers)]),
                norm=nn.LayerNorm(settings.width),
            )
        )
        self.head = nn.Linear(settings.width, settings.vocabulary, bias=False)
        self.body.tokens.weight = self.head.weight
        self.apply(self._start)
        for name, p in self.named_parameters():
            if name.endswith("out_proj.weight"):
                torch.nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * settings.layers))

    def _start(self, module):
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, tokens, targets=None):
        device = tokens.device
        _, t = tokens.size()
        places = torch.arange(0, t, dtype=torch.long, device=device)
        x = self.body.tokens(tokens) + self.body.places(places)
        for block in self.body.blocks:
            x = block(x)
        x = self.body.norm(x)
        if targets is None:
            return self.head(x[:, [-1], :]), None
        scores = self.head(x)
        return scores, F.cross_entropy(scores.view(-1, scores.size(-1)), targets.view(-1), ignore_index=-1)

    def optimizer(self, lr, device_type):
        named = {name: p for name, p in self.named_parameters() if p.requires_grad}
        groups = [
            {"params": [p for p in named.values() if p.dim() >= 2], "weight_decay": 0.1},
            {"params": [p for p in named.values() if p.dim() < 2], "weight_decay": 0.0},
        ]
        fused = "fused" in inspect.signature(torch.optim.AdamW).parameters and device_type == "cuda"
        extra = dict(fused=True) if fused else dict()
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), **extra)

    @torch.no_grad()
    def generate(self, tokens, count, temperature=1.0, top_k=None):
        for _ in range(count):
            scores, _ = self(tokens[:, -self.settings.context :])
            scores = scores[:, -1, :] / temperature
            if top_k is not None:
                values, _ = torch.topk(scores, min(top_k, scores.size(-1)))
                scores[scores < values[:, [-1]]] = -float("Inf")
            probabilities = F.softmax(scores, dim=-1)
            tokens = torch.cat((tokens, torch.multinomial(probabilities, num_samples=1)), dim=1)
        return tokens


parser = argparse.ArgumentParser()
parser.add_argument("--compile", action="store_true")
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()

torch.manual_seed(1337)
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
device = "cuda" if torch.cuda.is_available() else "cpu"
dtype = "float32"
ptdtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[dtype]
device_type = "cuda" if "cuda" in device else "cpu"
ctx = nullcontext() if dtype == "float32" else torch.amp.autocast(device_type=device_type, dtype=ptdtype)

text = np.array([ord(c) % 27 for c in "the quick brown fox jumps over the lazy dog " * 40], dtype=np.uint16)
settings = Settings()


def batch():
    starts = torch.randint(len(text) - settings.context - 1, (8,))
    x = torch.stack([torch.from_numpy(text[i : i + settings.context].astype(np.int64)) for i in starts])
    y = torch.stack([torch.from_numpy(text[i + 1 : i + 1 + settings.context].astype(np.int64)) for i in starts])
    return x.to(device), y.to(device)


model = Model(settings).to(device)
assert sum(p.numel() for p in model.parameters()) < 10_000
scaler = torch.cuda.amp.GradScaler(enabled=(dtype == "float16"))
optimizer = model.optimizer(1e-2, device_type)
run = torch.compile(model) if args.compile else model
losses = []
for _ in range(args.steps):
    for group in optimizer.param_groups:
        group["lr"] = 1e-2
    x, y = batch()
    with ctx:
        _, loss = run(x, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    losses.append(loss.item())
assert losses[-1] < 0.8 * losses[0] and norm > 0, losses

torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "args": asdict(settings)}, "ckpt.pt")
checkpoint = torch.load("ckpt.pt", map_location=device)
other = Model(Settings(**checkpoint["args"]), flash=False)
other.load_state_dict(checkpoint["model"])
other.optimizer(1e-2, device_type).load_state_dict(checkpoint["optimizer"])
assert other.head.weight is other.body.tokens.weight
x, y = batch()
model.eval(), other.eval()
with torch.no_grad():
    torch.testing.assert_close(model(x, y)[1], other(x, y)[1], rtol=1e-4, atol=1e-4)
out = model.generate(torch.zeros((1, 1), dtype=torch.long, device=device), 20, temperature=0.8, top_k=5)
assert out.shape == (1, 21)
os.remove("ckpt.pt")
print(f"loss {losses[-1]:.4f}, grad norm {norm:.2f}")
