"""Cases of ``make_paddle.py`` that are programs in the manner of Paddle's tutorials: the losses of twenty steps."""

import tempfile
from pathlib import Path

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.autograd import PyLayer

CASES = {}


def program(function):
    """Registers a function of a random generator that returns losses."""
    CASES[f"programs.{function.__name__}"] = lambda rng: [np.array(function(rng), np.float64)]
    return function


def numbers(rng, *shape):
    return paddle.to_tensor(rng.standard_normal(shape).astype("float32"))


def filled(rng, *layers):
    """Gives all weights that are trained values."""
    for layer in layers:
        for parameter in layer.parameters():
            if not parameter.stop_gradient:
                parameter.set_value(rng.standard_normal(tuple(parameter.shape)).astype("float32") * 0.2)


class Sentiment(nn.Layer):
    """Classes of texts by the last states of two networks over their words."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, 6, num_layers=2, direction="bidirectional")
        self.linear = nn.Linear(12, 2)

    def forward(self, words, lengths):
        _, (h, _) = self.lstm(self.embedding(words), sequence_length=lengths)
        return self.linear(paddle.concat((h[-2, :, :], h[-1, :, :]), axis=1))


@program
def sentiment(rng):
    net, lengths = Sentiment(), rng.integers(2, 8, 12)
    filled(rng, net)
    words = np.where(np.arange(7) < lengths[:, None], rng.integers(1, 30, (12, 7)), 0)
    given = paddle.to_tensor(words), paddle.to_tensor(lengths)
    target = paddle.to_tensor(rng.integers(0, 2, (12, 1)))
    rates = paddle.optimizer.lr.CosineAnnealingDecay(0.02, 20)
    options = {"weight_decay": 0.01, "grad_clip": nn.ClipGradByGlobalNorm(1.0)}
    optimizer = paddle.optimizer.AdamW(rates, parameters=net.parameters(), **options)
    losses, accuracy = [], paddle.metric.Accuracy()
    for _ in range(20):
        scores = net(*given)
        loss = F.cross_entropy(scores, target)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        rates.step()
        accuracy.update(accuracy.compute(scores, target))
        losses += [loss.item(), accuracy.accumulate()]
    return losses


@program
def adversaries(rng):
    grow = [nn.Conv2DTranspose(2, 4, 4, 2, 1, bias_attr=False), nn.BatchNorm2D(4), nn.ReLU()]
    makes = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Unflatten(1, [2, 2, 2]), *grow)
    makes = nn.Sequential(makes, nn.Conv2DTranspose(4, 1, 4, 2, 1), nn.Tanh())
    shrink = [nn.Conv2D(1, 4, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2D(4, 4, 4, 2, 1), nn.BatchNorm2D(4)]
    judges = nn.Sequential(*shrink, nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(16, 1), nn.Sigmoid())
    filled(rng, makes, judges)
    one, two = (paddle.optimizer.Adam(2e-3, beta1=0.5, parameters=net.parameters()) for net in (makes, judges))
    cost, losses = nn.BCELoss(), []
    for _ in range(20):
        real, made = paddle.tanh(numbers(rng, 6, 1, 8, 8)), makes(numbers(rng, 6, 4))
        two.clear_grad()
        judged = cost(judges(real), paddle.ones([6, 1])) + cost(judges(made.detach()), paddle.zeros([6, 1]))
        judged.backward()
        two.step()
        one.clear_grad()
        fooled = cost(judges(made), paddle.ones([6, 1]))
        fooled.backward()
        one.step()
        losses += [judged.item(), fooled.item()]
    return losses


@program
def autoencoder(rng):
    encoder, mean, spread = nn.Linear(12, 8), nn.Linear(8, 3), nn.Linear(8, 3)
    decoder = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 12))
    filled(rng, encoder, mean, spread, decoder)
    weights = [p for layer in (encoder, mean, spread, decoder) for p in layer.parameters()]
    optimizer, losses = paddle.optimizer.RMSProp(1e-2, parameters=weights), []
    x = paddle.to_tensor(rng.random((10, 12)).astype("float32"))
    for _ in range(20):
        hidden = F.relu(encoder(x))
        mu, log = mean(hidden), spread(hidden)
        y = F.sigmoid(decoder(mu + paddle.exp(log * 0.5) * numbers(rng, 10, 3)))
        normal = paddle.distribution.Normal(mu, paddle.exp(log * 0.5))
        unit = paddle.distribution.Normal(paddle.zeros_like(mu), paddle.ones_like(mu))
        loss = F.binary_cross_entropy(y, x, reduction="sum") + paddle.distribution.kl_divergence(normal, unit).sum()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item() / x.shape[0])
    return losses


@program
def translation(rng):
    words, net, out = nn.Embedding(20, 16), nn.Transformer(16, 4, 2, 2, 32, dropout=0.0), nn.Linear(16, 20)
    filled(rng, words, net, out)
    rates = paddle.optimizer.lr.NoamDecay(16, 10, learning_rate=0.5)
    weights = [*words.parameters(), *net.parameters(), *out.parameters()]
    optimizer = paddle.optimizer.Adam(rates, 0.9, 0.98, 1e-9, weights, grad_clip=nn.ClipGradByNorm(1.0))
    source, target = (paddle.to_tensor(rng.integers(1, 20, (5, n))) for n in (8, 9))
    losses = []
    for _ in range(20):
        mask = net.generate_square_subsequent_mask(8)
        scores = out(net(words(source) * 4, words(target[:, :-1]) * 4, None, mask))
        loss = F.cross_entropy(scores.reshape([-1, 20]), target[:, 1:].reshape([-1]), label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        rates.step()
        losses.append(loss.item())
    return losses


class Tanh(PyLayer):
    """A layer with a gradient of its own, of two results."""

    @staticmethod
    def forward(ctx, x, function=paddle.tanh):
        y = function(x)
        ctx.save_for_backward(y)
        ctx.set_materialize_grads(False)
        return y, y * 2

    @staticmethod
    def backward(ctx, one, two):
        (y,) = ctx.saved_tensor()
        total = one if two is None else one + two * 2
        return total * (1 - paddle.square(y))


@program
def layers_of_ones_own(rng):
    net, x, losses = nn.Linear(4, 4), numbers(rng, 5, 4), []
    filled(rng, net)
    optimizer = paddle.optimizer.SGD(0.1, net.parameters())
    for number in range(20):
        one, two = Tanh.apply(net(x), function=paddle.tanh)
        loss = (one**2).mean() + (two.mean() if number % 2 else 0.0)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    return losses


@program
def files(rng):
    x, y = numbers(rng, 6, 4), numbers(rng, 6, 2)
    losses, folder = [], Path(tempfile.mkdtemp())
    for half in range(2):
        with paddle.utils.unique_name.guard():
            net = nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.ReLU(), nn.Linear(6, 2))
            rates = paddle.optimizer.lr.ExponentialDecay(0.05, 0.9)
            optimizer = paddle.optimizer.Adam(rates, parameters=net.parameters())
            if half:
                net.set_state_dict(paddle.load(str(folder / "net.pdparams")))
                optimizer.set_state_dict(paddle.load(str(folder / "net.pdopt")))
            else:
                filled(rng, net)
            for _ in range(10):
                loss = F.mse_loss(net(x), y)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                rates.step()
                losses.append(loss.item())
            paddle.save(net.state_dict(), str(folder / "net.pdparams"))
            paddle.save(optimizer.state_dict(), str(folder / "net.pdopt"))
    return losses
