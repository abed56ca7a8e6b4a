"""Graph convolutions over a dense adjacency, graph attention, dropout off, early stopping, a checkpoint resumed."""

import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from fixing import fix, rng
from torch.nn.parameter import Parameter


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / self.weight.size(1) ** 0.5
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        output = torch.spmm(adj, torch.mm(input, self.weight))
        return output + self.bias if self.bias is not None else output

    def __repr__(self):
        return f"{self.__class__.__name__} ({self.in_features} -> {self.out_features})"


class GraphAttention(nn.Module):
    def __init__(self, in_features, out_features, alpha=0.2):
        super().__init__()
        self.W = nn.Parameter(torch.empty(size=(in_features, out_features)))
        nn.init.xavier_uniform_(self.W.data, gain=1.414)
        self.a = nn.Parameter(torch.empty(size=(2 * out_features, 1)))
        nn.init.xavier_uniform_(self.a.data, gain=1.414)
        self.leakyrelu = nn.LeakyReLU(alpha)
        self.out_features = out_features

    def forward(self, h, adj):
        Wh = torch.mm(h, self.W)
        left, right = Wh @ self.a[: self.out_features, :], Wh @ self.a[self.out_features :, :]
        e = self.leakyrelu(left + right.T)
        scores = torch.where(adj > 0, e, -9e15 * torch.ones_like(e))
        return F.elu(torch.matmul(F.softmax(scores, dim=1), Wh))


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super().__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gat = GraphAttention(nhid, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        return F.log_softmax(self.gc2(self.gat(x, adj), adj), dim=1)


class EarlyStopping:
    def __init__(self, patience, path):
        self.patience, self.path, self.counter, self.best = patience, path, 0, None

    def __call__(self, loss, model, optimizer, epoch):
        if self.best is None or loss < self.best:
            self.best, self.counter = loss, 0
            state = {
                "epoch": epoch,
                "state_dict": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "best": loss,
            }
            torch.save(state, self.path)
        else:
            self.counter += 1
        return self.counter >= self.patience


def main():
    draw = rng(8)
    adj = (draw.uniform(size=(10, 10)) < 0.3).astype("float32")
    adj = torch.from_numpy(((adj + adj.T) > 0).astype("float32")) + torch.eye(10)
    degree = adj.sum(1).pow(-0.5)
    adj = torch.diag(degree).mm(adj).mm(torch.diag(degree))
    features = torch.FloatTensor(draw.standard_normal((10, 5)))
    labels = torch.LongTensor(draw.integers(0, 3, 10))
    idx_train, idx_val = torch.LongTensor(range(6)), torch.LongTensor(range(6, 10))
    model = fix(GCN(5, 6, 3, 0.0))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
    seen = []
    with tempfile.TemporaryDirectory() as folder:
        stopping = EarlyStopping(2, os.path.join(folder, "checkpoint.pt"))
        for epoch in range(15):
            model.train()
            optimizer.zero_grad()
            output = model(features, adj)
            loss = F.nll_loss(output[idx_train], labels[idx_train])
            loss.backward()
            optimizer.step()
            model.eval()
            with torch.no_grad():
                val = F.nll_loss(model(features, adj)[idx_val], labels[idx_val]).item()
            seen += [loss.item(), val]
            if stopping(val, model, optimizer, epoch):
                break
        checkpoint = torch.load(stopping.path, weights_only=True)
    model.load_state_dict(checkpoint["state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    predicted = model(features, adj).max(1)[1].type_as(labels)
    correct = predicted.eq(labels).double().sum()
    return [*seen, checkpoint["epoch"], checkpoint["best"], correct.item() / len(labels), repr(model.gc1)]


if __name__ == "__main__":
    print(main())
