"""Operators that functions of numpy arrays compute."""

import numpy as np

import lamella as lm

# 1. One function for the outputs, one for the gradients.


def forward(args):
    (x,) = args
    return np.log1p(np.exp(-abs(x))) + np.maximum(x, 0)


def backward(args):
    x, dy = args
    return dy / (1 + np.exp(-x))


softplus = lm.user_op.numpy_op("softplus_py", forward, backward)

x = lm.tensor([-1.0, 0.0, 2.0], dtype=lm.float64, stop_gradient=False)
softplus(x).sum().backward()
print([round(value, 4) for value in x.grad.tolist()])
assert lm.autograd.gradcheck(softplus, [x])

# 2. Another shape than the first input's: say so with infer. Backward gets what `saved` names.


def gather(args):
    table, index = args
    return table[index]


def scatter(args):
    table, index, dy = args
    dtable = np.zeros_like(table)
    np.add.at(dtable, index, dy)
    return dtable, np.zeros_like(index)


rows = lm.user_op.numpy_op(
    "rows_py",
    gather,
    scatter,
    inputs=["table", "index"],
    outputs=["y"],
    infer=lambda given: [(given[1][0] + given[0][0][1:], given[0][1])],
)

table = lm.tensor(np.ones((4, 2)), stop_gradient=False)
y = rows(table, lm.tensor([0, 3, 3]))
y.sum().backward()
print(y.shape, table.grad[:, 0].tolist())

# 3. Mistakes are named.

wrong = lm.user_op.numpy_op("wrong_py", lambda args: args[0][:1])
try:
    wrong(lm.zeros([3]))
except ValueError as error:
    print(error)
