"""word2vec: skip-gram with negative samples, sparse gradients, a data set that is iterated, and a collate function."""

from collections import Counter

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from fixing import fix
from torch.utils.data import DataLoader, IterableDataset

TEXT = "the quick brown fox jumps over the lazy dog while the quick cat sleeps under the brown tree " * 6


class SkipGrams(IterableDataset):
    def __init__(self, words, window=2):
        counts = Counter(words)
        self.vocabulary = sorted(counts, key=lambda word: (-counts[word], word))
        self.index = {word: number for number, word in enumerate(self.vocabulary)}
        self.ids = [self.index[word] for word in words]
        self.window = window
        frequencies = np.array([counts[word] for word in self.vocabulary]) ** 0.75
        self.noise = torch.from_numpy(frequencies / frequencies.sum())

    def __iter__(self):
        for center, word in enumerate(self.ids):
            for place in range(max(0, center - self.window), min(len(self.ids), center + self.window + 1)):
                if place != center:
                    yield word, self.ids[place]


class SkipGramModel(nn.Module):
    def __init__(self, size, dimension):
        super().__init__()
        self.u_embeddings = nn.Embedding(size, dimension, sparse=True)
        self.v_embeddings = nn.Embedding(size, dimension, sparse=True)
        initrange = 1.0 / dimension
        nn.init.uniform_(self.u_embeddings.weight.data, -initrange, initrange)
        nn.init.constant_(self.v_embeddings.weight.data, 0)

    def forward(self, pos_u, pos_v, neg_v):
        emb_u, emb_v, emb_neg = self.u_embeddings(pos_u), self.v_embeddings(pos_v), self.v_embeddings(neg_v)
        score = torch.clamp(torch.sum(torch.mul(emb_u, emb_v), dim=1), max=10, min=-10)
        neg_score = torch.clamp(torch.bmm(emb_neg, emb_u.unsqueeze(2)).squeeze(), max=10, min=-10)
        return torch.mean(-F.logsigmoid(score) - torch.sum(F.logsigmoid(-neg_score), dim=1))


def main():
    data = SkipGrams(TEXT.split())
    draw = np.random.default_rng(1)

    def collate(pairs):
        negatives = draw.choice(len(data.vocabulary), (len(pairs), 3), p=data.noise.numpy())
        centers, contexts = zip(*pairs)
        return torch.LongTensor(centers), torch.LongTensor(contexts), torch.LongTensor(negatives)

    model = fix(SkipGramModel(len(data.vocabulary), 8))
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.05)
    loader = DataLoader(data, batch_size=40, shuffle=False, num_workers=0, collate_fn=collate)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
    seen = []
    for batch in loader:
        optimizer.zero_grad()
        loss = model(*batch)
        loss.backward()
        optimizer.step()
        scheduler.step()
        seen.append(loss.item())
    vectors = F.normalize(model.u_embeddings.weight.detach(), dim=1)
    nearest = (vectors @ vectors.T).fill_diagonal_(-1).argmax(1)
    bag = nn.EmbeddingBag.from_pretrained(model.u_embeddings.weight, mode="mean", freeze=True)
    sentence = torch.tensor([data.index[word] for word in ("quick", "fox")])
    return [*seen, nearest[:5].tolist(), bag(sentence, torch.tensor([0])).sum().item()]


if __name__ == "__main__":
    print(main())
