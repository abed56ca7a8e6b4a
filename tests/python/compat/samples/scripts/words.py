"""A recurrent language model: hidden states cut from their graph, gradients cut to a norm, plain steps by hand."""

import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F


class Words(nn.Module):
    def __init__(self, kind, words, width, layers, dropout=0.1, tie_weights=False):
        super(Words, self).__init__()
        self.words = words
        self.kind = kind
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(words, width)
        if kind in ["LSTM", "GRU"]:
            self.rnn = getattr(nn, kind)(width, width, layers, dropout=dropout)
        else:
            self.rnn = nn.RNN(width, width, layers, nonlinearity=kind, dropout=dropout)
        self.decoder = nn.Linear(width, words)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        self.shape = (layers, width)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.words)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        layers, width = self.shape
        if self.kind == "LSTM":
            return (weight.new_zeros(layers, bsz, width), weight.new_zeros(layers, bsz, width))
        return weight.new_zeros(layers, bsz, width)


def repackage(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    return data.view(bsz, -1).t().contiguous()


torch.manual_seed(1111)
kind = sys.argv[1]
ids = torch.cat([torch.tensor([i % 7 for i in range(400)]).type(torch.int64), torch.LongTensor([0, 1])])
source = batchify(ids, 8)
model = Words(kind, 7, 16, 2, tie_weights=True)
criterion = nn.NLLLoss()
lr, bptt, totals = (20.0 if kind == "LSTM" else 2.0), 10, []
for epoch in range(16):
    model.train()
    total, count = 0.0, 0
    hidden = model.init_hidden(8)
    for i in range(0, source.size(0) - 1, bptt):
        length = min(bptt, len(source) - 1 - i)
        data, targets = source[i : i + length], source[i + 1 : i + 1 + length].view(-1)
        model.zero_grad()
        hidden = repackage(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total += loss.item()
        count += 1
    totals.append(total / count)
assert totals[-1] < 0.7 * totals[0], totals
with open("words.pt", "wb") as f:
    torch.save(model, f)
with open("words.pt", "rb") as f, torch.serialization.safe_globals([Words]):
    again = torch.load(f)
again.rnn.flatten_parameters()
again.eval()
model.eval()
with torch.no_grad():
    hidden = again.init_hidden(1)
    input = torch.randint(7, (1, 1), dtype=torch.long)
    assert torch.equal(again(input, hidden)[0], model(input, hidden)[0])
    for _ in range(5):
        output, hidden = again(input, hidden)
        weights = output.squeeze().div(1.0).exp().cpu()
        input.fill_(torch.multinomial(weights, 1)[0])
print("| {} | loss {:5.2f} | ppl {:8.2f}".format(kind, totals[-1], math.exp(totals[-1])))
