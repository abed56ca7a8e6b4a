"""A transformer with a buffer of sines, under a subclass of nn.Transformer, and one of encoder layers."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Positions(nn.Module):
    def __init__(self, width, dropout=0.0, longest=50):
        super(Positions, self).__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(longest, width)
        position = torch.arange(0, longest, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, width, 2).float() * (-math.log(10000.0) / width))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0).transpose(0, 1))

    def forward(self, x):
        return self.dropout(x + self.pe[: x.size(0), :])


class Model(nn.Transformer):
    def __init__(self, words, width):
        super(Model, self).__init__(d_model=width, nhead=2, dim_feedforward=32, num_encoder_layers=1, dropout=0.0)
        self.src_mask = None
        self.positions = Positions(width)
        self.embedding = nn.Embedding(words, width)
        self.width = width
        self.decoder = nn.Linear(width, words)

    def _mask(self, size):
        return torch.log(torch.tril(torch.ones(size, size)))

    def forward(self, src):
        if self.src_mask is None or self.src_mask.size(0) != len(src):
            self.src_mask = self._mask(len(src)).to(src.device)
        src = self.positions(self.embedding(src) * math.sqrt(self.width))
        output = self.encoder(src, mask=self.src_mask)
        return F.log_softmax(self.decoder(output), dim=-1)


torch.manual_seed(0)
model = Model(6, 16)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 5))
ids = (torch.arange(11).unsqueeze(1) + torch.arange(8)) % 6
losses = []
for _ in range(25):
    optimizer.zero_grad()
    loss = F.nll_loss(model(ids[:-1]).view(-1, 6), ids[1:].reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())
assert losses[-1] < 0.5 * losses[0], losses
assert "positions.pe" in model.state_dict() and abs(scheduler.get_last_lr()[0] - 5e-3) < 1e-9

layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True, activation="gelu")
encoder = nn.TransformerEncoder(layer, num_layers=2, norm=nn.LayerNorm(8))
padded = torch.tensor([[False, False, True], [False, False, False]])
encoded = encoder(torch.randn(2, 3, 8), src_key_padding_mask=padded)
assert encoded.shape == (2, 3, 8)
mask = nn.Transformer.generate_square_subsequent_mask(4)
assert mask.size() == (4, 4) and mask[0, 1] == float("-inf")
print(f"{losses[-1]:.3f}")
