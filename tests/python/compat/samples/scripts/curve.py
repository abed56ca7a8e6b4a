"""A polynomial fitted by hand: features in powers, gradients added to the data of parameters."""

from itertools import count

import torch
import torch.nn.functional as F

torch.manual_seed(4)
DEGREE = 3
W_target = torch.randn(DEGREE, 1) * 2
b_target = torch.randn(1) * 2


def make_features(x):
    x = x.unsqueeze(1)
    return torch.cat([x**i for i in range(1, DEGREE + 1)], 1)


def f(x):
    return x.mm(W_target) + b_target.item()


def poly_desc(W, b):
    result = "y = "
    for i, w in enumerate(W):
        result += "{:+.2f} x^{} ".format(w, i + 1)
    return result + "{:+.2f}".format(b[0])


fc = torch.nn.Linear(W_target.size(0), 1)
for batch_idx in count(1):
    random = torch.randn(32)
    batch_x = make_features(random)
    batch_y = f(batch_x)
    fc.zero_grad()
    output = F.smooth_l1_loss(fc(batch_x), batch_y)
    loss = output.item()
    output.backward()
    for param in fc.parameters():
        param.data.add_(-0.1 * param.grad)
    if loss < 1e-3:
        break
    assert batch_idx < 3000, loss
print("Loss: {:.6f} after {} batches".format(loss, batch_idx))
print("==> Learned function:\t" + poly_desc(fc.weight.view(-1), fc.bias))
print("==> Actual function:\t" + poly_desc(W_target.view(-1), b_target))
