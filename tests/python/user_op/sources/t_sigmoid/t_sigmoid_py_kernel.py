import numpy as np

seen = []


def forward(args):
    (x,) = args
    y = 1 / (1 + np.exp(-x))
    seen[:] = [x, y]
    return y


def backward(args):
    y, dy = args
    return y * (1 - y) * dy
