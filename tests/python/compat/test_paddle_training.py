"""Networks, loaders, metrics and ``paddle.Model`` of the paddle front."""

import pytest

from support import extensions

PROGRAMS = {
    "model": """
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.io import DataLoader, Dataset

paddle.seed(1)
rng = np.random.default_rng(1)


class Digits(Dataset):
    def __init__(self, count):
        super().__init__()
        self.labels = rng.integers(0, 4, count)
        self.images = rng.normal(size=(count, 1, 8, 8)).astype("float32") * 0.3
        for image, label in zip(self.images, self.labels):
            image[0, label * 2] += 2.0

    def __getitem__(self, index):
        return self.images[index], self.labels[index : index + 1]

    def __len__(self):
        return len(self.labels)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2D(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2, 2), nn.LeakyReLU(0.1))
        self.fc = nn.Sequential(nn.Linear(96, 16), nn.Silu(), nn.Linear(16, 4))

    def forward(self, x):
        x = self.features(x)
        return self.fc(paddle.flatten(x, 1))


class Counter(paddle.callbacks.Callback):
    epochs = steps = 0

    def on_epoch_end(self, epoch, logs=None):
        self.epochs += 1
        assert set(logs) == {"loss", "acc", "step", "batch_size"} and isinstance(logs["loss"], list)

    def on_train_batch_end(self, step, logs=None):
        self.steps += 1


train, test = Digits(192), Digits(64)
model = paddle.Model(Net())
schedule = paddle.optimizer.lr.StepDecay(0.01, step_size=12, gamma=0.5)
optimizer = paddle.optimizer.Adam(learning_rate=schedule, parameters=model.parameters())
model.prepare(optimizer, nn.CrossEntropyLoss(), paddle.metric.Accuracy())
counter = Counter()
model.fit(train, test, epochs=4, batch_size=32, verbose=1, log_freq=3, save_dir="saved", callbacks=[counter])
assert (counter.epochs, counter.steps) == (4, 24) and abs(optimizer.get_lr() - 0.0025) < 1e-9
found = model.evaluate(test, batch_size=32, verbose=0)
assert found["acc"] > 0.8, found
predicted = model.predict(test, batch_size=32, stack_outputs=True)
assert predicted[0].shape == (64, 4) and (predicted[0].argmax(1) == test.labels).mean() == found["acc"]
again = paddle.Model(Net())
again.prepare(paddle.optimizer.Adam(parameters=again.parameters()), nn.CrossEntropyLoss(), paddle.metric.Accuracy())
again.load("saved/final")
assert again.evaluate(test, batch_size=32, verbose=0)["acc"] == found["acc"]
assert again.summary((1, 1, 8, 8)) == {"total_params": 1680, "trainable_params": 1680}

net = Net()
opt = paddle.optimizer.Momentum(0.05, parameters=net.parameters(), weight_decay=1e-4)
losses = []
for epoch in range(3):
    net.train()
    for image, label in DataLoader(train, batch_size=32, shuffle=True):
        loss = F.cross_entropy(net(image), label)
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append(float(loss))
assert losses[-1] < losses[0]
paddle.save(net.state_dict(), "net.pdparams")
state = paddle.load("net.pdparams")
net.set_state_dict(state)
net.eval()
assert paddle.allclose(state["fc.0.weight"], net.fc[0].weight).item()
""",
    "what a model gives and tells": """
import contextlib
import io
import numpy as np
import paddle
from paddle import nn

x, y = np.ones([4, 3], "float32"), np.zeros([4, 1], "int64")
data = paddle.io.TensorDataset([paddle.to_tensor(x), paddle.to_tensor(y)])
told = []


class Told(paddle.callbacks.Callback):
    def __getattribute__(self, name):
        if name.startswith("on_"):
            return lambda *args: (print(name), told.append((name, dict(self.params))))
        return super().__getattribute__(name)


net = nn.Linear(3, 2)
model = paddle.Model(net, paddle.static.InputSpec([None, 3], "float32", "x"))
model.prepare(paddle.optimizer.SGD(0.1, parameters=net.parameters()), nn.CrossEntropyLoss(), paddle.metric.Accuracy())
for measure in (model.train_batch, model.eval_batch):
    (loss,), metrics = measure([x], [y])
    assert isinstance(loss, np.ndarray) and loss.shape == () and len(metrics) == 1
assert model.summary() == {"total_params": 8, "trainable_params": 8}
predicted = model.predict(paddle.io.TensorDataset([paddle.to_tensor(x)]), batch_size=2, verbose=0)
assert [type(each) for each in predicted] == [tuple] and len(predicted[0]) == 2
with contextlib.redirect_stdout(io.StringIO()) as shown:
    model.fit(data, data, batch_size=2, epochs=2, verbose=2, log_freq=1, callbacks=Told())
of_all = {"batch_size": None, "epochs": 2, "steps": 2, "verbose": 2, "metrics": ["loss", "acc"]}
assert all(params == of_all for _, params in told), told
lines = [line.split()[0] for line in shown.getvalue().splitlines()]
batches = "on_{0}_batch_begin step on_{0}_batch_end on_{0}_batch_begin on_{0}_batch_end step"
epoch = f"Epoch on_epoch_begin {batches.format('train')} on_epoch_end Eval on_eval_begin {batches.format('eval')}"
assert lines == f"The on_train_begin {' '.join(2 * [epoch + ' Eval on_eval_end'])} on_train_end".split(), lines
told.clear()
model.evaluate(data, batch_size=2, verbose=0, callbacks=Told())
assert told[0][1] == {**of_all, "epochs": None, "steps": None, "verbose": 0}, told[0]
""",
    "a model that is not prepared": """
import paddle

model = paddle.Model(paddle.nn.Linear(3, 2))
for train in (lambda: model.train_batch([paddle.ones([1, 3])]), lambda: model.fit([(paddle.ones([3]),)], verbose=0)):
    try:
        train()
    except RuntimeError as error:
        assert "[Model]" in str(error) and "prepare" in str(error), error
    else:
        raise AssertionError("trained without a loss")
assert model.predict_batch([paddle.ones([1, 3])])[0].shape == (1, 2)
""",
    "metrics": """
import numpy as np
import paddle
from paddle.metric import Accuracy, Auc, Metric, Precision, Recall, accuracy

m = Accuracy(topk=(1, 2))
scores = paddle.to_tensor([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2], [0.3, 0.3, 0.4]])
label = paddle.to_tensor([[1], [1], [0]])
assert m.update(m.compute(scores, label)) == [1 / 3, 1.0] and m.name() == ["acc_top1", "acc_top2"]
m.update(m.compute(scores, paddle.to_tensor([[1], [0], [2]])))
assert m.accumulate() == [4 / 6, 6 / 6]
m.reset()
assert m.accumulate() == [0.0, 0.0]
assert abs(accuracy(scores, label, k=1).item() - 1 / 3) < 1e-6
p, r = Precision(), Recall()
for each in (p, r):
    each.update(np.array([0.1, 0.9, 0.8, 0.7, 0.2]), np.array([0, 1, 0, 1, 1]))
assert p.accumulate() == 2 / 3 and r.accumulate() == 2 / 3 and p.name() == "precision"
a = Auc()
a.update(np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]]), np.array([[0], [1], [1], [0]]))
assert abs(a.accumulate() - 0.75) < 1e-6 and Auc().accumulate() == 0.0
assert issubclass(Accuracy, Metric)
""",
    "loaded programs are trained on": """
import numpy as np
import paddle
from paddle import nn


def made(seed):
    rng = np.random.default_rng(seed)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1D(4), nn.Tanh(), nn.Linear(4, 2))
    for parameter in net.parameters():
        parameter.set_value(abs(rng.normal(size=parameter.shape)).astype("float32"))
    net[3].bias.stop_gradient = True
    net.eval()
    return net


x = paddle.to_tensor(np.random.default_rng(0).normal(size=(5, 3)).astype("float32"))
nets = {"a": made(1), "b": made(2)}
for name, net in nets.items():
    paddle.jit.save(net, name, input_spec=[paddle.static.InputSpec([None, 3], "float32", "x")])
loaded = {name: paddle.jit.load(name) for name in nets}
for name, net in nets.items():
    twin = loaded[name]
    trained = [each for each in net.parameters() if not each.stop_gradient]
    own = [each.shape for each in twin.parameters() if not each.stop_gradient]
    assert own == [each.shape for each in trained] and len(trained) == 5 and len(twin.parameters()) == 8
    for _ in range(3):
        found = []
        for layer, parameters in ((net, trained), (twin, twin.parameters())):
            y = x.clone()
            y.stop_gradient = False
            optimizer = paddle.optimizer.SGD(0.1, parameters=parameters)
            loss = (layer(y) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            found.append([loss.item(), *y.grad.numpy().ravel()])
        np.testing.assert_allclose(found[0], found[1], 1e-5, 1e-6)
    with paddle.no_grad():
        assert twin(x).stop_gradient
""",
    "metrics of a program's own": """
import numpy as np
import paddle

seen = []


class Mine(paddle.metric.Metric):
    def compute(self, predicted, label):
        assert isinstance(predicted, paddle.Tensor) and isinstance(label, paddle.Tensor)
        return predicted.argmax(-1) == label.squeeze(-1), 3

    def update(self, right, beside):
        seen.append((type(right), beside))
        self.total += float(np.sum(right))
        return self.total

    def reset(self):
        self.total = 0.0

    def accumulate(self):
        return self.total

    def name(self):
        return "mine"


net = paddle.nn.Linear(2, 2)
model, mine = paddle.Model(net), Mine()
mine.reset()
model.prepare(paddle.optimizer.SGD(0.0, parameters=net.parameters()), paddle.nn.CrossEntropyLoss(), mine)
data = paddle.io.TensorDataset([paddle.ones([6, 2]), paddle.zeros([6, 1], "int64")])
model.fit(data, data, batch_size=4, epochs=1, verbose=0)
assert seen == [(np.ndarray, 3)] * 4, seen
assert model.evaluate(data, batch_size=4, verbose=0)["mine"] in (0.0, 6.0)
""",
    "callbacks": """
import os
import warnings
import paddle
from paddle import nn

x = paddle.ones([8, 2])
data = paddle.io.TensorDataset([x, paddle.zeros([8, 1])])


def epochs_of(callback, **options):
    net = nn.Linear(2, 1, weight_attr=nn.initializer.Constant(1.0))
    model = paddle.Model(net, inputs=[paddle.static.InputSpec([None, 2], "float32", "x")])
    model.prepare(paddle.optimizer.SGD(0.0, parameters=net.parameters()), nn.MSELoss())
    counts = []

    class Count(paddle.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            counts.append(epoch)

        def on_eval_end(self, logs=None):
            counts.append("eval")

    model.fit(data, data, batch_size=4, verbose=0, callbacks=[Count(), *callback], **options)
    return counts, model


# The loss stays as it is: each evaluation behind the first is worse.
stop = paddle.callbacks.EarlyStopping
for patience, wanted in ((0, 1), (1, 2), (2, 3)):
    counts, model = epochs_of([stop("loss", patience=patience, verbose=0)], epochs=5)
    assert counts.count("eval") == wanted, (patience, counts)
twice = stop("loss", patience=1, verbose=0)
assert len(epochs_of([twice], epochs=5)[0]) == len(epochs_of([twice], epochs=5)[0]) == 4
counts, model = epochs_of([stop("loss", patience=9)], epochs=5, eval_freq=2, save_dir="kept", save_freq=3)
assert counts == [0, "eval", 1, 2, "eval", 3, 4, "eval"]
wanted = {f"{name}.{kind}" for name in ("0", "3", "final", "best_model") for kind in ("pdparams", "pdopt")}
assert set(os.listdir("kept")) == wanted, os.listdir("kept")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    epochs_of([stop("nosuch")], epochs=1)
assert any("nosuch" in str(each.message) for each in caught)
model.save("program", training=False)
assert paddle.jit.load("program")(x).tolist() == [[2.0]] * 8
try:
    paddle.Model(nn.Linear(2, 1)).save("program", training=False)
except RuntimeError as error:
    assert "inputs" in str(error)
""",
    "settings of parameters": """
import numpy as np
import paddle
from paddle import nn

# Names are those of layers, by which `apply_decay_param_fun` tells parameters apart.
wanted = [
    (nn.Linear(2, 2), "linear_0"), (nn.Conv2D(1, 1, 1), "conv2d_0"), (nn.BatchNorm2D(2), "batch_norm2d_0"),
    (nn.LayerNorm(2), "layer_norm_0"), (nn.PReLU(), "p_re_lu_0"), (nn.GRUCell(2, 2), "gru_cell_0"),
]
for layer, name in wanted:
    assert layer.parameters()[0].name == f"{name}.w_0", layer.parameters()[0].name
for kind, cell in ((nn.LSTM, "lstm_cell"), (nn.GRU, "gru_cell"), (nn.SimpleRNN, "simple_rnn_cell")):
    first = 1 if kind is nn.GRU else 0
    names = [p.name for p in kind(2, 2, num_layers=2).parameters()]
    assert names == [f"{cell}_{first + i}.{end}" for i in (0, 1) for end in ("w_0", "w_1", "b_0", "b_1")], names

# What `ParamAttr` says reaches the optimizer, from each layer that takes one.
decay = paddle.regularizer.L2Decay(0.5)
attr = lambda: paddle.ParamAttr(learning_rate=0.5, regularizer=decay, need_clip=False)
makers = (
    lambda: nn.Linear(2, 2, weight_attr=attr()).weight, lambda: nn.LSTMCell(2, 2, weight_hh_attr=attr()).weight_hh,
    lambda: nn.GRU(2, 2, weight_hh_attr=attr()).weight_hh_l0,
    lambda: nn.SimpleRNN(2, 2, weight_hh_attr=attr()).weight_hh_l0,
    lambda: paddle.create_parameter([2, 2], "float32", name="mine", attr=attr()),
)
for make in makers:
    for kind in ("plain", "decays", "denied"):
        weight = make()
        before = weight.numpy()
        if kind == "plain":
            optimizer = paddle.optimizer.SGD(0.1, parameters=[weight], grad_clip=nn.ClipGradByGlobalNorm(1e-6))
            wanted = before - 0.1 * 0.5 * (3.0 + 0.5 * before)
        else:
            weight.regularizer = None
            optimizer = paddle.optimizer.AdamW(
                0.1, parameters=[weight, paddle.create_parameter([1], "float32")], weight_decay=0.2,
                apply_decay_param_fun=lambda name, kind=kind: kind == "decays", epsilon=0.0,
            )
            wanted = before * (1 - 0.1 * 0.5 * 0.2 * (kind == "decays")) - 0.1 * 0.5
        (weight * 3.0).sum().backward()
        optimizer.step()
        np.testing.assert_allclose(weight.numpy(), wanted, rtol=1e-5, atol=1e-6)

L = paddle.optimizer.lr
make = lambda: L.LinearWarmup(L.StepDecay(0.1, 2), 2, 0.0, 0.1)
one, other = make(), make()
for _ in range(5):
    one.step()
state = one.state_dict()
assert state["LinearWarmup_LR"]["last_lr"] == one(), state
other.set_state_dict(state)
assert other() == one() and other.learning_rate.last_epoch == one.learning_rate.last_epoch
""",
    "functions": """
import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.io import BatchSampler, ComposeDataset, DataLoader, RandomSampler, Sampler, SequenceSampler
from paddle.io import TensorDataset, random_split

x = paddle.to_tensor([[1.0, 2.0, 3.0], [6.0, 5.0, 4.0]])
same = np.testing.assert_allclose
same(paddle.cumsum(x).numpy(), [1, 3, 6, 12, 17, 21])
same(x.cumsum(axis=1).numpy()[0], [1, 3, 6])
same(paddle.std(x, axis=1).numpy(), [1, 1])
same(x.var(unbiased=False).numpy(), 35 / 12, rtol=1e-6)
values, places = paddle.topk(x, k=2, axis=1)
same(values.numpy(), [[3, 2], [6, 5]])
same(paddle.sort(x, axis=1, descending=True).numpy()[0], [3, 2, 1])
same(paddle.argsort(x, axis=-1).numpy()[1], [2, 1, 0])
same(paddle.gather(x, paddle.to_tensor([1, 0])).numpy()[0], [6, 5, 4])
same(paddle.gather_nd(x, paddle.to_tensor([[0, 1], [1, 2]])).numpy(), [2, 4])
same(paddle.index_select(x, paddle.to_tensor([2]), axis=1).numpy(), [[3], [4]])
same(paddle.index_sample(x, paddle.to_tensor([[2], [0]])).numpy(), [[3], [6]])
same(paddle.take_along_axis(x, paddle.to_tensor([[0], [1]]), 1).numpy(), [[1], [5]])
same(paddle.scatter(x, paddle.to_tensor([1]), paddle.zeros([1, 3])).numpy()[1], [0, 0, 0])
two = paddle.to_tensor([1, 1])
same(paddle.scatter(x, two, paddle.ones([2, 3]), overwrite=False).numpy()[1], [2, 2, 2])
same(paddle.tile(x, [1, 2]).numpy().shape, (2, 6))
same(paddle.flip(x, axis=[0]).numpy()[0], [6, 5, 4])
same(paddle.roll(x, shifts=1, axis=1).numpy()[0], [3, 1, 2])
same(paddle.tril(paddle.ones([2, 2]), diagonal=-1).numpy(), [[0, 0], [1, 0]])
same(paddle.diag(paddle.to_tensor([1.0, 2.0]), padding_value=9).numpy(), [[1, 9], [9, 2]])
same(paddle.logsumexp(paddle.zeros([2, 2]), axis=1, keepdim=True).numpy(), np.log([[2], [2]]), rtol=1e-6)
same(paddle.nonzero(x > 4).numpy(), [[1, 0], [1, 1]])
same(paddle.meshgrid(paddle.arange(2), paddle.arange(3))[0].numpy(), [[0, 0, 0], [1, 1, 1]])
same(paddle.histogram(x, bins=2, min=1, max=6).numpy(), [3, 3])
same(paddle.masked_fill(x, x > 4, 0.0).numpy()[1], [0, 0, 4])
same(x.masked_select(x > 4).numpy(), [6, 5])
same(paddle.addmm(paddle.ones([2, 2]), x, x.t(), beta=2.0, alpha=0.0).numpy(), [[2, 2], [2, 2]])
same(paddle.linalg.norm(x, p=2, axis=1).numpy()[0], 14**0.5, rtol=1e-6)
same(paddle.linalg.inv(paddle.eye(2) * 2).numpy(), [[0.5, 0], [0, 0.5]])
same(paddle.fft.rfft(paddle.ones([4])).numpy().real, [4, 0, 0])
same(paddle.chunk(x, 3, axis=1)[2].numpy(), [[3], [4]])
same(paddle.scale(x, 2.0, 1.0).numpy()[0], [3, 5, 7])
assert paddle.equal_all(x, x).item() and paddle.unique(two).numpy().tolist() == [1]
assert paddle.is_floating_point(x) and paddle.rank(x).item() == 2 and paddle.shape(x).numpy().tolist() == [2, 3]
assert x.sign().shape == [2, 3] and x.expand_as(paddle.zeros([4, 2, 3])).shape == [4, 2, 3]
assert x.tile([2, 1]).shape == [4, 3] and x.unbind(axis=1)[2].numpy().tolist() == [3, 4]

same(F.one_hot(paddle.to_tensor([1]), 3).numpy(), [[0, 1, 0]])
same(F.pad(x, [1, 0], value=9.0).numpy()[0], [9, 1, 2, 3])
same(F.pad(x, [0, 0, 1, 0], value=9.0).numpy()[0], [9, 1, 2, 3])
same(F.leaky_relu(paddle.to_tensor([-1.0]), 0.2).numpy(), [-0.2])
same(F.smooth_l1_loss(x, x + 3, delta=2.0).numpy(), 4.0)
same(F.binary_cross_entropy_with_logits(paddle.zeros([1]), paddle.ones([1])).numpy(), np.log(2), rtol=1e-6)
same(F.layer_norm(x, [3], epsilon=0.0).numpy().sum(), 0, atol=1e-5)
q = paddle.randn([2, 5, 3, 4])
assert F.scaled_dot_product_attention(q, q, q, is_causal=True).shape == [2, 5, 3, 4]
assert F.softmax_with_cross_entropy(x, paddle.to_tensor([[0], [1]])).shape == [2, 1]
assert F.interpolate(paddle.ones([1, 1, 2, 2]), scale_factor=2).shape == [1, 1, 4, 4]
assert paddle.nn.AdaptiveAvgPool2D((1, 1))(paddle.ones([2, 3, 4, 4])).shape == [2, 3, 1, 1]
layer = paddle.nn.GroupNorm(2, 4)
assert isinstance(layer, paddle.nn.Layer) and isinstance(layer.parameters(), list) and layer.full_name()
assert paddle.nn.GroupNorm(2, 4, weight_attr=False).weight is None

rows = TensorDataset([x, paddle.to_tensor([0, 1])])
assert rows[1][1].item() == 1 and len(rows) == 2 and len(ComposeDataset([rows, rows])[0]) == 4


class Backwards(Sampler):
    def __iter__(self):
        return iter(range(len(self.data_source) - 1, -1, -1))

    def __len__(self):
        return len(self.data_source)


assert list(BatchSampler(sampler=Backwards(rows), batch_size=2)) == [[1, 0]] and Sampler().data_source is None
sampler = BatchSampler(rows, batch_size=1, shuffle=False)
assert [batch[1].numpy().tolist() for batch in DataLoader(rows, batch_sampler=sampler)] == [[0], [1]]
assert sorted(RandomSampler(rows)) == list(SequenceSampler(rows)) == [0, 1]
assert [len(part) for part in random_split(rows, [1, 1])] == [1, 1]
""",
    "batches of processes": """
import numpy as np
from paddle.io import DataLoader, Dataset, DistributedBatchSampler


class Numbers(Dataset):
    def __getitem__(self, index):
        return np.int64(index)

    def __len__(self):
        return 10


expected = {
    (3, False): ([[0, 1, 2], [6, 7]], [[3, 4, 5], [8, 9]]),
    (3, True): ([[0, 1, 2]], [[3, 4, 5]]),
    (5, False): ([[0, 1, 2, 3, 4]], [[5, 6, 7, 8, 9]]),
}
for (size, drops), parts in expected.items():
    for rank, part in enumerate(parts):
        sampler = DistributedBatchSampler(Numbers(), size, 2, rank, drop_last=drops)
        assert list(sampler) == part and len(sampler) == len(part)
        assert [batch.tolist() for batch in DataLoader(Numbers(), batch_sampler=sampler)] == part
assert list(DistributedBatchSampler(Numbers(), 2, 4, 3)) == [[6, 7], [1]]
seen = []
for rank in range(2):
    sampler = DistributedBatchSampler(Numbers(), 2, 2, rank, shuffle=True)
    first, second = list(sampler), list(sampler)
    sampler.set_epoch(0)
    assert list(sampler) == first != second
    seen += sum(first, [])
order = np.arange(10)
np.random.RandomState(0).shuffle(order)
assert sorted(seen) == list(range(10)) and seen[:2] == order[:2].tolist() and seen[5:7] == order[2:4].tolist()
""",
    "what callbacks see": """
import copy

import numpy as np
import paddle
from paddle import nn
from paddle.metric import Accuracy, Precision, Recall


class Pairs(paddle.io.Dataset):
    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        return np.float32([index, 1.0]), np.int64([index % 2])

    def __len__(self):
        return self.count


calls = []


class Seen(paddle.callbacks.Callback):
    def __getattribute__(self, name):
        if name.startswith("on_"):
            return lambda *args: calls.append((name, copy.deepcopy(args)))  # one dict lives on in all calls
        return super().__getattribute__(name)


def names(kind):
    return [name[len("on_"):] for name, _ in calls if kind in name]


network = nn.Linear(2, 2)
model = paddle.Model(network)
optimizer = paddle.optimizer.SGD(0.1, parameters=network.parameters())
steps = []
optimizer.step = lambda: steps.append(len(calls))
model.prepare(optimizer, nn.CrossEntropyLoss(), Accuracy())
model.fit(Pairs(5), Pairs(3), batch_size=2, epochs=2, verbose=0, callbacks=Seen(), accumulate_grad_batches=2)
# Two of three batches of each epoch make a step: the second one, and the last one for what it is alone.
assert len(steps) == 4
each = ["train_batch_begin", "train_batch_end"]
assert names("train") == ["train_begin", *each * 6, "train_end"]
assert names("eval") == 2 * ["eval_begin", *2 * ["eval_batch_begin", "eval_batch_end"], "eval_end"]
keys = {"loss", "acc", "step", "batch_size"}
for name, args in calls:
    if name.endswith("batch_end"):
        assert set(args[1]) == keys and args[1]["step"] == args[0] and args[1]["batch_size"] in (1, 2)
    elif name == "on_eval_begin":
        assert args == ({"steps": 2, "metrics": ["loss", "acc"]},)
    elif name == "on_epoch_begin":
        assert args[1:] == (None,)
assert set(calls[-1][1][0]) == keys
assert set(model.evaluate(Pairs(3), verbose=0)) == {"loss", "acc"}
calls.clear()
model.predict(Pairs(3), batch_size=2, verbose=0, callbacks=Seen())
assert names("predict") == ["predict_begin", *2 * ["predict_batch_begin", "predict_batch_end"], "predict_end"]
stop = paddle.callbacks.EarlyStopping(verbose=0, baseline=0.0, save_best_model=False)
model.fit(Pairs(4), Pairs(2), epochs=4, verbose=0, callbacks=stop)
assert stop.stopped_epoch == 1
for kind, found in ((Precision, 2 / 3), (Recall, 1 / 3)):
    metric = kind()
    metric.update(np.array([0.1, 0.5, 0.6, 0.7, 0.4]), np.array([0, 1, 1, 0, 1]))
    assert abs(metric.accumulate() - found) < 1e-9, kind
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_program_runs(program, tmp_path):
    extensions.write(tmp_path, {"program.py": PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
