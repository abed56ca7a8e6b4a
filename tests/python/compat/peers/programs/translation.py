"""Sequence to sequence with additive attention, packed batches, teacher forcing and a beam of one."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from fixing import fix, rng
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset, Sampler

PAD, SOS, EOS = 0, 1, 2


class Reversed(Dataset):
    def __init__(self, count=24):
        draw = rng(2)
        self.rows = [torch.from_numpy(draw.integers(3, 10, draw.integers(2, 7))) for _ in range(count)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        return row, torch.cat([row.flip(0), torch.tensor([EOS])])


class ByLength(Sampler):
    def __init__(self, lengths, batch_size):
        self.lengths, self.batch_size = lengths, batch_size

    def __iter__(self):
        order = sorted(range(len(self.lengths)), key=lambda index: (-self.lengths[index], index))
        for start in range(0, len(order), self.batch_size):
            yield order[start : start + self.batch_size]

    def __len__(self):
        return (len(self.lengths) + self.batch_size - 1) // self.batch_size


def collate(pairs):
    sources, targets = zip(*pairs)
    lengths = torch.tensor([len(source) for source in sources])
    return pad_sequence(sources, batch_first=True), lengths, pad_sequence(targets, batch_first=True, padding_value=PAD)


class EncoderRNN(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.embedding = nn.Embedding(size, hidden, padding_idx=PAD)
        self.gru = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, hidden)

    def forward(self, source, lengths):
        packed = pack_padded_sequence(self.embedding(source), lengths.cpu(), batch_first=True, enforce_sorted=False)
        output, hidden = self.gru(packed)
        output, _ = pad_packed_sequence(output, batch_first=True)
        return output, torch.tanh(self.fc(torch.cat((hidden[-2], hidden[-1]), dim=1))).unsqueeze(0)


class BahdanauAttention(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.Wa = nn.Linear(hidden, hidden)
        self.Ua = nn.Linear(2 * hidden, hidden)
        self.Va = nn.Linear(hidden, 1)

    def forward(self, query, keys, mask):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys))).squeeze(2).unsqueeze(1)
        weights = F.softmax(scores.masked_fill(mask.unsqueeze(1) == 0, float("-inf")), dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden, size):
        super().__init__()
        self.embedding = nn.Embedding(size, hidden)
        self.attention = BahdanauAttention(hidden)
        self.gru = nn.GRU(3 * hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, size)
        self.dropout = nn.Dropout(0.0)

    def forward(self, encoded, hidden, mask, target=None, steps=8):
        token = torch.empty(encoded.size(0), 1, dtype=torch.long, device=encoded.device).fill_(SOS)
        outputs, attentions = [], []
        for step in range(steps if target is None else target.size(1)):
            context, weights = self.attention(hidden.permute(1, 0, 2), encoded, mask)
            output, hidden = self.gru(torch.cat((self.dropout(self.embedding(token)), context), dim=2), hidden)
            logits = self.out(output)
            outputs.append(logits)
            attentions.append(weights)
            if target is not None:
                token = target[:, step].unsqueeze(1)
            else:
                _, topi = logits.topk(1)
                token = topi.squeeze(-1).detach()
        return F.log_softmax(torch.cat(outputs, dim=1), dim=-1), hidden, torch.cat(attentions, dim=1)


def main():
    data = Reversed()
    loader = DataLoader(data, batch_sampler=ByLength([len(row) for row in data.rows], 6), collate_fn=collate)
    encoder, decoder = fix(EncoderRNN(10, 8)), fix(AttnDecoderRNN(8, 10))
    optimizers = [torch.optim.Adam(each.parameters(), lr=0.01) for each in (encoder, decoder)]
    criterion = nn.NLLLoss(ignore_index=PAD)
    seen = []
    for _ in range(4):
        for source, lengths, target in loader:
            for optimizer in optimizers:
                optimizer.zero_grad()
            encoded, hidden = encoder(source, lengths)
            output, _, _ = decoder(encoded, hidden, (source != PAD), target)
            loss = criterion(output.view(-1, output.size(-1)), target.view(-1))
            loss.backward()
            for each in (encoder, decoder):
                nn.utils.clip_grad_norm_(each.parameters(), max_norm=1)
            for optimizer in optimizers:
                optimizer.step()
            seen.append(loss.item())
    with torch.no_grad():
        source, lengths, target = next(iter(loader))
        encoded, hidden = encoder(source, lengths)
        output, _, attention = decoder(encoded, hidden, source != PAD)
        _, best = output.topk(1)
    return [*seen, best.squeeze(-1)[0].tolist(), attention.shape[1], attention.sum().item()]


if __name__ == "__main__":
    print(main())
