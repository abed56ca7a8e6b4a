"""The steps of optimizers, written in numpy from their papers: each maps a start and gradients to where they lead."""

import numpy as np


def sgd(p, gradients, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False):
    v = None
    for g in gradients:
        g = (-g if maximize else g) + weight_decay * p
        v = g if v is None else momentum * v + (1 - dampening) * g
        d = (g + momentum * v if nesterov else v) if momentum else g
        p = p - lr * d
    return p


def adam(
    p,
    gradients,
    lr=1e-3,
    betas=(0.9, 0.999),
    eps=1e-8,
    weight_decay=0.0,
    amsgrad=False,
    decoupled=False,
    maximize=False,
):
    m, v, largest = np.zeros_like(p), np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(gradients, 1):
        g = -g if maximize else g
        if decoupled:
            p = p - lr * weight_decay * p
        else:
            g = g + weight_decay * p
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        largest = np.maximum(largest, v)
        root = np.sqrt(largest if amsgrad else v) / np.sqrt(1 - betas[1] ** t)
        p = p - lr / (1 - betas[0] ** t) * m / (root + eps)
    return p


def adamw(p, gradients, weight_decay=0.01, **options):
    return adam(p, gradients, weight_decay=weight_decay, decoupled=True, **options)


def adamax(p, gradients, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, maximize=False):
    m, u = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(gradients, 1):
        g = (-g if maximize else g) + weight_decay * p
        m = betas[0] * m + (1 - betas[0]) * g
        u = np.maximum(betas[1] * u, np.abs(g) + eps)
        p = p - lr / (1 - betas[0] ** t) * m / u
    return p


def nadam(
    p,
    gradients,
    lr=2e-3,
    betas=(0.9, 0.999),
    eps=1e-8,
    weight_decay=0.0,
    momentum_decay=4e-3,
    decoupled=False,
    maximize=False,
):
    def mu(t):
        return betas[0] * (1 - 0.5 * 0.96 ** (t * momentum_decay))

    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(gradients, 1):
        g = -g if maximize else g
        if decoupled:
            p = p - lr * weight_decay * p
        else:
            g = g + weight_decay * p
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        product = np.prod([mu(i) for i in range(1, t + 1)])
        mean = mu(t + 1) * m / (1 - product * mu(t + 1)) + (1 - mu(t)) * g / (1 - product)
        p = p - lr * mean / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
    return p


def radam(p, gradients, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled=False, maximize=False):
    m, v = np.zeros_like(p), np.zeros_like(p)
    longest = 2 / (1 - betas[1]) - 1
    for t, g in enumerate(gradients, 1):
        g = -g if maximize else g
        if decoupled:
            p = p - lr * weight_decay * p
        else:
            g = g + weight_decay * p
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        mean = m / (1 - betas[0] ** t)
        length = longest - 2 * t * betas[1] ** t / (1 - betas[1] ** t)
        if length > 5:
            rectified = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            mean = mean * np.sqrt(rectified) * np.sqrt(1 - betas[1] ** t) / (np.sqrt(v) + eps)
        p = p - lr * mean
    return p


def adagrad(
    p, gradients, lr=1e-2, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10, maximize=False
):
    total = np.full_like(p, initial_accumulator_value)
    for t, g in enumerate(gradients, 1):
        g = (-g if maximize else g) + weight_decay * p
        total = total + g * g
        p = p - lr / (1 + (t - 1) * lr_decay) * g / (np.sqrt(total) + eps)
    return p


def adadelta(p, gradients, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0, maximize=False):
    v, u = np.zeros_like(p), np.zeros_like(p)
    for g in gradients:
        g = (-g if maximize else g) + weight_decay * p
        v = rho * v + (1 - rho) * g * g
        d = np.sqrt(u + eps) / np.sqrt(v + eps) * g
        u = rho * u + (1 - rho) * d * d
        p = p - lr * d
    return p


def rmsprop(
    p, gradients, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False, maximize=False
):
    v, m, b = np.zeros_like(p), np.zeros_like(p), np.zeros_like(p)
    for g in gradients:
        g = (-g if maximize else g) + weight_decay * p
        v = alpha * v + (1 - alpha) * g * g
        m = alpha * m + (1 - alpha) * g
        s = g / (np.sqrt(v - m * m if centered else v) + eps)
        b = momentum * b + s
        p = p - lr * b
    return p


def rprop(p, gradients, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50.0), maximize=False):
    before, size = np.zeros_like(p), np.full_like(p, lr)
    for g in gradients:
        g = -g if maximize else g
        turn = np.sign(g * before)
        size = np.clip(size * np.choose(turn.astype(int) + 1, [etas[0], 1.0, etas[1]]), *step_sizes)
        g = np.where(turn < 0, 0, g)
        p = p - np.sign(g) * size
        before = g
    return p


def asgd(p, gradients, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0, maximize=False):
    for t, g in enumerate(gradients):
        g = (-g if maximize else g) + weight_decay * p
        rate = lr / (1 + lambd * lr * t) ** alpha
        p = p - lambd * rate * p - rate * g
    return p


def lion(p, gradients, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, maximize=False):
    m = np.zeros_like(p)
    for g in gradients:
        g = -g if maximize else g
        p = p - lr * weight_decay * p - lr * np.sign(betas[0] * m + (1 - betas[0]) * g)
        m = betas[1] * m + (1 - betas[1]) * g
    return p


def norm(x):
    return np.sqrt(np.sum(x * x))


def lamb(p, gradients, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01, maximize=False):
    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(gradients, 1):
        g = -g if maximize else g
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        s = m / (1 - betas[0] ** t) / (np.sqrt(v / (1 - betas[1] ** t)) + eps) + weight_decay * p
        p = p - lr * (norm(p) / norm(s) if norm(p) > 0 and norm(s) > 0 else 1) * s
    return p


def lars(
    p,
    gradients,
    lr=0.1,
    momentum=0.9,
    dampening=0.0,
    weight_decay=0.0,
    nesterov=False,
    trust_coefficient=1e-3,
    eps=1e-8,
    maximize=False,
):
    v = None
    for g in gradients:
        trust = 1.0
        if norm(p) > 0 and norm(g) > 0:
            trust = trust_coefficient * norm(p) / (norm(g) + weight_decay * norm(p) + eps)
        g = trust * ((-g if maximize else g) + weight_decay * p)
        v = g if v is None else momentum * v + (1 - dampening) * g
        p = p - lr * ((g + momentum * v if nesterov else v) if momentum else g)
    return p


def rms(x):
    return np.sqrt(np.mean(x * x))


def adafactor(
    p, gradients, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, maximize=False, dtype="float64"
):
    low = np.finfo(dtype).eps if eps[0] is None else eps[0]
    rows = columns = variance = 0.0
    for t, g in enumerate(gradients, 1):
        g = -g if maximize else g
        new = t**beta2_decay
        rate = max(eps[1], rms(p)) * min(lr, 1 / np.sqrt(t))
        p = p - lr * weight_decay * p
        if p.ndim < 2:
            estimate = variance = (1 - new) * variance + new * g * g
        else:
            rows = (1 - new) * rows + new * np.mean(g * g, axis=-1, keepdims=True)
            columns = (1 - new) * columns + new * np.mean(g * g, axis=-2, keepdims=True)
            estimate = rows * columns / np.maximum(np.mean(rows, axis=-2, keepdims=True), low)
        u = g / np.sqrt(np.maximum(estimate, low**2))
        p = p - rate / max(1.0, rms(u) / d) * u
    return p


def orthogonalized(x, coefficients=(3.4445, -4.775, 2.0315), steps=5, eps=1e-7):
    a, b, c = coefficients
    left, values, right = np.linalg.svd(x, full_matrices=False)
    values = values / max(norm(x), eps)
    for _ in range(steps):
        values = a * values + b * values**3 + c * values**5
    return left * values @ right


def muon(
    p,
    gradients,
    lr=1e-3,
    weight_decay=0.1,
    momentum=0.95,
    nesterov=True,
    ns_steps=5,
    adjust_lr_fn=None,
    maximize=False,
):
    v = np.zeros_like(p)
    rows, columns = p.shape
    factor = 0.2 * np.sqrt(max(p.shape)) if adjust_lr_fn == "match_rms_adamw" else np.sqrt(max(1, rows / columns))
    for g in gradients:
        g = -g if maximize else g
        v = momentum * v + (1 - momentum) * g
        u = momentum * v + (1 - momentum) * g if nesterov else v
        p = p - lr * weight_decay * p - lr * factor * orthogonalized(u, steps=ns_steps)
    return p
