"""Functions of the Paddle front beside formulas written out: what no file of references holds."""

import pytest

from support import extensions

HEAD = """
import itertools, io, math, pickle
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

rng = np.random.default_rng(3)
close = np.testing.assert_allclose


def raises(kind, function):
    try:
        function()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind}")


def floats(*shape):
    return paddle.to_tensor(rng.standard_normal(shape).astype("float32"))
"""

PROGRAMS = {
    "in place": """
x = paddle.arange(6, dtype="float32")
y = x.reshape_([2, 3])
assert y is x and x.shape == [2, 3]
assert x.unsqueeze_(0).shape == [1, 2, 3] and x.squeeze_(0).shape == [2, 3] and x.t_().shape == [3, 2]
assert paddle.transpose_(x, [1, 0]) is x and x.flatten_().shape == [6]
x.equal_(paddle.to_tensor([0.0, 1.0, 0.0, 3.0, 0.0, 5.0]))
assert x.dtype == paddle.bool and x.tolist() == [True, True, False, True, False, True]
x.cast_("int64")
assert x.dtype == paddle.int64 and x.sum().item() == 4
z = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
w = z * 2
w.scale_(3.0)
w.cumsum_()
w.sum().backward()
close(z.grad.numpy(), [12.0, 6.0])
assert "leaf" in raises(ValueError, lambda: z.reshape_([2, 1]))
m = paddle.ones([3, 3])
m.fill_diagonal_(5.0, offset=1)
close(m.numpy(), np.ones((3, 3)) + 4 * np.eye(3, k=1))
tall = paddle.zeros([7, 3]).fill_diagonal_(1.0, wrap=True).numpy()
wanted = np.zeros((7, 3)); np.fill_diagonal(wanted, 1.0, wrap=True)
close(tall, wanted)
assert m.resize_([2, 2]).shape == [2, 2] and m.resize_([5], fill_zero=True).tolist()[4] == 0
a = paddle.zeros([2]); a.set_(paddle.to_tensor([[3, 4]]))
assert a.shape == [1, 2] and a.dtype == paddle.int64
a.data = paddle.to_tensor([1.5])
assert a.tolist() == [1.5]
assert a.name == a.name and a.name.startswith("generated_tensor"), a.name
a.name = "mine"
assert a.name == "mine" and paddle.ones([1]).name != "mine"
assert a.new_zeros([2]).dtype == a.dtype and a.new_full([2], 3).tolist() == [3, 3]
assert a.type_as(x).dtype == paddle.int64
""",
    "copies": """
square = paddle.arange(9, dtype="float32").reshape([3, 3])
kept = square.tolist()
for made in (
    paddle.flip(square, 0), paddle.flip(square, axis=[0, 1]), square.flip([1]), paddle.reverse(square, [0]),
    paddle.rot90(square), square.rot90(k=2, axes=[0, 1]), paddle.diag(square), square.diag(1),
):
    made.add_(paddle.to_tensor(100.0))
    assert square.tolist() == kept
assert paddle.flip(square, [0]).tolist() == kept[::-1] and paddle.diag(square).tolist() == [0.0, 4.0, 8.0]
assert paddle.rot90(square).tolist() == [list(each) for each in zip(*kept)][::-1]
""",
    "indices": """
z, i = floats(2, 3, 4), paddle.to_tensor([2, 0, 1, 1])
close(z[1, ..., i].numpy(), z.numpy()[1][:, [2, 0, 1, 1]])
close(z[0, :, [3, 1]].numpy(), z.numpy()[0][:, [3, 1]])
close(z[[1, 0], 2].numpy(), z.numpy()[[1, 0], 2])
y = z.clone()
y[1, :, [0, 2]] = 7.0
assert (y.numpy()[1][:, [0, 2]] == 7).all() and (y.numpy()[0] == z.numpy()[0]).all()
assert z.item(5) == z.numpy().ravel()[5] and z.item(1, 2, 3) == z.numpy()[1, 2, 3]
""",
    "files as Paddle writes them": """
class Tensor:
    def __init__(self, name, values):
        self.parts = name, values

    def __reduce__(self):
        return (tuple, (self.parts,))


class Bare:
    def __init__(self, values):
        self.values = values

    def __reduce__(self):
        return (eval, ("data", {"data": self.values}))


class Other:
    def __reduce__(self):
        return (eval, ("__import__('os')", {"data": 1}))


def read(value, **options):
    return paddle.load(io.BytesIO(pickle.dumps(value)), **options)


made = read({"a": [Tensor("w_0", np.ones(2, "float32"))], "b": (1, np.zeros(3)), "c": ("x", 2)})
assert isinstance(made["a"][0], paddle.Tensor) and made["a"][0].name == "w_0" and made["a"][0].sum().item() == 2
assert isinstance(made["b"][1], np.ndarray) and made["c"] == ("x", 2)
assert isinstance(read((1, Bare(np.zeros(3))))[1], paddle.Tensor)
assert isinstance(read([Tensor("w_0", np.ones(2))], return_numpy=True)[0], np.ndarray)
assert "could do anything" in raises(pickle.UnpicklingError, lambda: read(Other()))
""",
    "states of optimizers": """
KINDS = {"Momentum": "velocity", "Adam": "moment1 moment2 beta1_pow_acc beta2_pow_acc", "Adagrad": "moment",
         "Adamax": "moment inf_norm beta1_pow_acc", "RMSProp": "momentum mean_square mean_grad", "Rprop":
         "prevs learning_rates", "ASGD": "d y m", "NAdam": "moment1 moment2 momentum_decay_pow beta2_pow mu_product"}
for kind, words in KINDS.items():
    layer = nn.Linear(2, 1)
    optimizer = getattr(paddle.optimizer, kind)(learning_rate=0.1, parameters=layer.parameters())
    for _ in range(2):
        layer(paddle.ones([1, 2])).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
    state = optimizer.state_dict()
    wanted = {f"{p.name}_{word}_0" for p in layer.parameters() for word in words.split()}
    assert set(state) == wanted, (kind, set(state))
layer, rates = nn.Linear(2, 1), paddle.optimizer.lr.StepDecay(0.1, 1)
adam = paddle.optimizer.Adam(rates, parameters=layer.parameters())
layer(paddle.ones([1, 2])).sum().backward()
adam.step()
rates.step()
state = adam.state_dict()
close(state[f"{layer.weight.name}_beta1_pow_acc_0"].numpy(), [0.9**2], rtol=1e-6)
assert state["LR_Scheduler"]["last_epoch"] == 1
other = paddle.optimizer.Adam(paddle.optimizer.lr.StepDecay(0.1, 1), parameters=layer.parameters())
other.set_state_dict(state)
assert abs(other.get_lr() - 0.01) < 1e-9 and list(other.state.values())[0]["step"] == 1
other._learning_rate.step()
assert abs(other.get_lr() - 0.001) < 1e-9
""",
    "scaling of losses": """
weight = paddle.create_parameter([1], "float32", default_initializer=nn.initializer.Constant(1.0))
sgd = paddle.optimizer.SGD(0.1, [weight])
scaler = paddle.amp.GradScaler(init_loss_scaling=8.0, decr_every_n_nan_or_inf=2, incr_every_n_steps=2)
seen = []
for factor in (1.0, 1.0, math.inf, math.inf, 1.0):
    sgd.clear_grad()
    scaler.scale((weight * factor).sum()).backward()
    scaler.step(sgd)
    scaler.update()
    seen.append(scaler.get_init_loss_scaling())
assert seen == [8, 16, 16, 8, 8], seen
close(weight.numpy(), [0.7], rtol=1e-6)
again = paddle.amp.GradScaler()
again.load_state_dict(scaler.state_dict())
assert again.state_dict() == scaler.state_dict()
still = paddle.amp.GradScaler(init_loss_scaling=4.0, use_dynamic_loss_scaling=False)
still.scale((weight * math.inf).sum()).backward()
still.step(sgd)
still.update()
assert still.get_init_loss_scaling() == 4 and not still.is_use_dynamic_loss_scaling()
""",
    "sequences": """
ids = paddle.to_tensor([[[2, 2], [6, 1]], [[3, 9], [6, 1]], [[0, 1], [9, 0]]])
parents = paddle.to_tensor([[[0, 0], [1, 1]], [[1, 0], [1, 0]], [[0, 0], [0, 1]]])
assert F.gather_tree(ids, parents).tolist() == [[[2, 2], [1, 6]], [[3, 3], [6, 1]], [[0, 1], [9, 0]]]


class Table(nn.Layer):
    def __init__(self, scores):
        super().__init__()
        self.scores = scores

    def forward(self, words, states):
        return self.scores[words], states


# The best of all sequences of three words after the word 0, of which 1 ends one.
scores = rng.standard_normal((4, 4)).astype("float32")
log = scores - np.log(np.exp(scores).sum(1, keepdims=True))


def value(words):
    total, last = 0.0, 0
    for word in words:
        if last == 1:
            total += 0.0 if word == 1 else -math.inf
        else:
            total += log[last, word]
        last = word
    return total


decoder = nn.BeamSearchDecoder(Table(paddle.to_tensor(scores)), start_token=0, end_token=1, beam_size=16)
found, states = nn.dynamic_decode(decoder, inits=paddle.zeros([2, 1]), max_step_num=2)
best = max(itertools.product(range(4), repeat=3), key=value)
steps = found.shape[1]
assert found[0, :, 0].tolist() == list(best)[:steps] and found[1, :, 0].tolist() == list(best)[:steps], (found, best)
close(states.log_probs[0, 0].item(), value(best), rtol=1e-5)

# All ways to say two labels in three times, one step at a time.
logs = np.log(rng.dirichlet(np.ones(4), (1, 3, 3))).astype("float32")
label, total = [1, 2], 0.0
for way in set(itertools.permutations("tttll")):
    if way[-1] != "t":
        continue
    time = said = 0
    cost = 0.0
    for step in way:
        cost += logs[0, time, said, 0] if step == "t" else logs[0, time, said, label[said]]
        time, said = time + (step == "t"), said + (step == "l")
    total += math.exp(cost)
lengths = [paddle.to_tensor([n], dtype="int32") for n in (3, 2)]
loss = F.rnnt_loss(paddle.to_tensor(logs), paddle.to_tensor([label], dtype="int32"), *lengths)
close(loss.item(), -math.log(total), rtol=1e-5)
""",
    "classes": """
x, weight = floats(5, 4), floats(6, 4)
costs = np.concatenate([F.hsigmoid_loss(x, paddle.full([5], c, "int64"), 7, weight).numpy() for c in range(7)], 1)
# Behind the end of shorter ways each step counts log(2).
depth = [math.floor(math.log2(c + 7)) for c in range(7)]
shares = np.exp(-costs) * 2.0 ** (max(depth) - np.array(depth))
close(shares.sum(1), np.ones(5), rtol=1e-5)
cosines, label = np.tanh(rng.standard_normal((3, 4))).astype("float32"), np.array([1, 0, 3])
moved = 8 * cosines.astype(float)
moved[range(3), label] = 8 * (np.cos(1.2 * np.arccos(cosines[range(3), label]) + 0.1) - 0.2)
wanted = np.log(np.exp(moved).sum(1)) - moved[range(3), label]
loss = F.margin_cross_entropy(paddle.to_tensor(cosines), paddle.to_tensor(label), 1.2, 0.1, 0.2, 8.0, reduction=None)
close(loss.numpy()[:, 0], wanted, rtol=1e-4)
labels, sample = F.class_center_sample(paddle.to_tensor([3, 7, 7, 1]), 20, 6)
assert sample.tolist()[:3] == [1, 3, 7] and len(set(sample.tolist())) == 6 and labels.tolist() == [1, 2, 2, 0]
qkv = floats(2, 5, 4, 2, 8)
found, _ = F.flash_attn_qkvpacked(qkv, causal=True)
q, k, v = qkv.numpy()[:, :, :2], qkv.numpy()[:, :, 2], qkv.numpy()[:, :, 3]
for group in range(2):
    for head in range(2):
        s = q[0, :, group, head] @ k[0, :, head].T / math.sqrt(8) + np.triu(np.full((5, 5), -np.inf), 1)
        p = np.exp(s - s.max(1, keepdims=True))
        close(found.numpy()[0, :, 2 * group + head], p / p.sum(1, keepdims=True) @ v[0, :, head], rtol=1e-4, atol=1e-5)
""",
    "derivatives of functions": """
from paddle.incubate import autograd as A

x, v = floats(3), floats(3)


def f(x):
    return paddle.stack([x[0] * x[1], x[2] ** 3])


a, b, c = x.tolist()
matrix = np.array([[b, a, 0.0], [0.0, 0.0, 3 * c**2]])
close(A.Jacobian(f, x)[:].numpy(), matrix, rtol=1e-5)
close(A.jvp(f, x, v)[1].numpy(), matrix @ v.numpy(), rtol=1e-4, atol=1e-6)
close(A.vjp(f, x, paddle.to_tensor([1.0, 2.0]))[1].numpy(), [1.0, 2.0] @ matrix, rtol=1e-5)
close(A.Hessian(lambda x: (x**3).sum(), x)[:].numpy(), np.diag(6 * x.numpy()), rtol=1e-5)
batch = A.Jacobian(lambda x: x**2, floats(4, 2), is_batched=True)
assert batch.shape == [4, 2, 2]
""",
    "results that leave the tape": """
def derived(name, x):
    h = x * 2
    return h, {"a result": lambda: h + 0, "a view": lambda: h[1:], "a reshape": lambda: h.reshape([3, 1]),
               "a layer's": lambda: paddle.split(h, 3)[0]}[name]()


for name in ("a result", "a view", "a reshape", "a layer's"):
    x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    h, y = derived(name, x)
    same = y
    y.stop_gradient = True
    assert same is y and y.stop_gradient and y.is_leaf and not h.stop_gradient
    (y.sum() * x).sum().backward()
    close(x.grad.numpy(), [y.numpy().sum()] * 3)
x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
y = x * 3
z = (y * y).sum()
y.trainable = False
z.backward()
close(x.grad.numpy(), 18 * x.numpy())
y.stop_gradient = False
(y * y).sum().backward()
close(y.grad.numpy(), 2 * y.numpy())
""",
    "recomputing": """
from paddle.distributed.fleet.utils import recompute
from paddle.distributed.fleet.recompute import recompute_sequential
from paddle.incubate.distributed.fleet import recompute_sequential as older
import paddle.distributed.fleet as fleet

assert fleet.utils.recompute is recompute and older is recompute_sequential
calls = []


class Cube(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        calls.append(x.shape)
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return 3 * x * x * dy


for options in ({}, {"use_reentrant": False}, {"use_reentrant": True, "preserve_rng_state": False}):
    calls.clear()
    layer = nn.Linear(3, 3)
    x = floats(2, 3); x.stop_gradient = False
    made = recompute(lambda a, scale=1.0: Cube.apply(layer(a)) * scale, x, scale=2.0, **options)
    assert len(calls) == 1
    made.sum().backward()
    assert len(calls) == 2
    y = layer(x).numpy()
    close(layer.weight.grad.numpy(), x.numpy().T @ (6 * y**2), rtol=1e-4, atol=1e-5)
    close(x.grad.numpy(), (6 * y**2) @ layer.weight.numpy().T, rtol=1e-4, atol=1e-5)
x = paddle.ones([64]); x.stop_gradient = False
y = recompute(F.dropout, x, 0.5)
y.sum().backward()
close(x.grad.numpy(), y.numpy())
steps = nn.Sequential(*[nn.Linear(3, 3) for _ in range(5)])
x = floats(2, 3); x.stop_gradient = False
for given in (steps, list(steps)):
    x.clear_grad()
    recompute_sequential({"segments": 2, "preserve_rng_state": False}, given, x).sum().backward()
    wanted = np.ones((2, 3), "float32")
    for layer in reversed(list(steps)):
        wanted = wanted @ layer.weight.numpy().T
    close(x.grad.numpy(), wanted, rtol=1e-4, atol=1e-5)
assert "one argument" in raises(TypeError, lambda: recompute_sequential({}, steps, x, x))
""",
    "best sequences of tags": """
scores, rows = rng.random((6, 5, 4)).astype("float32"), rng.random((4, 4)).astype("float32")
lengths = [1, 2, 3, 4, 4, 2]
for bounds in (True, False):
    decoder = paddle.text.ViterbiDecoder(paddle.to_tensor(rows), bounds)
    best, paths = decoder(paddle.to_tensor(scores), paddle.to_tensor(lengths))
    assert paths.shape == [6, 4] and paths.dtype == paddle.int64
    for n, length in enumerate(lengths):
        def worth(tags):
            ends = rows[-1, tags[0]] + rows[-2, tags[-1]] if bounds else 0.0
            steps = sum(rows[a, b] for a, b in zip(tags, tags[1:]))
            return sum(scores[n, i, t] for i, t in enumerate(tags)) + ends + steps
        wanted = max(itertools.product(range(4), repeat=length), key=worth)
        assert paths[n].tolist() == [*wanted, *[0] * (4 - length)]
        close(best[n].item(), worth(wanted), rtol=1e-5)
""",
    "features of sounds": """
A = paddle.audio.functional
from paddle.audio.features import MFCC, LogMelSpectrogram, MelSpectrogram, Spectrogram

hertz = np.array([0.0, 440.0, 1000.0, 4400.0])
slaney = np.where(hertz > 1000, 15 + np.log(np.maximum(hertz, 1) / 1000) * 27 / np.log(6.4), hertz * 3 / 200)
for htk, wanted in ((False, slaney), (True, 2595 * np.log10(1 + hertz / 700))):
    close(A.hz_to_mel(paddle.to_tensor(hertz), htk).numpy(), wanted, rtol=1e-6)
    close(A.mel_to_hz(paddle.to_tensor(wanted), htk).numpy(), hertz, rtol=1e-6, atol=1e-6)
    close([A.hz_to_mel(each, htk) for each in hertz], wanted, rtol=1e-6)
    mels = np.linspace(A.hz_to_mel(50.0, htk), A.hz_to_mel(4000.0, htk), 8)
    centers = np.array([A.mel_to_hz(each, htk) for each in mels])
    close(A.mel_frequencies(8, 50.0, 4000.0, htk).numpy(), centers, rtol=1e-4)
    bins = np.linspace(0, 4000, 129)
    close(A.fft_frequencies(8000, 256).numpy(), bins)
    bank = np.stack([np.interp(bins, centers[i : i + 3], [0, 1, 0], 0, 0) for i in range(6)])
    area = bank * 2 / (centers[2:] - centers[:-2])[:, None]
    unit = bank / np.linalg.norm(bank, axis=1, keepdims=True)
    for norm, wanted in (("slaney", area), (2.0, unit), (None, bank)):
        close(A.compute_fbank_matrix(8000, 256, 6, 50.0, None, htk, norm).numpy(), wanted, rtol=1e-2, atol=1e-4)
power = rng.random(20) + 1e-12
close(A.power_to_db(paddle.to_tensor(power), top_db=None).numpy(), 10 * np.log10(power), rtol=1e-6)
close(A.power_to_db(paddle.to_tensor(power), 2.0, 0.1, 3.0).numpy(), np.maximum(
    10 * np.log10(np.maximum(power, 0.1) / 2), (10 * np.log10(power / 2)).max() - 3), rtol=1e-6)
assert "amin" in raises(ValueError, lambda: A.power_to_db(paddle.ones([1]), amin=0.0))
cosines = np.cos(np.pi / 6 * (np.arange(6)[:, None] + 0.5) * np.arange(4))
close(A.create_dct(4, 6, None).numpy(), 2 * cosines, rtol=1e-4, atol=1e-5)
close(A.create_dct(4, 6).numpy(), cosines * np.sqrt([1 / 6, 2 / 6, 2 / 6, 2 / 6]), rtol=1e-4, atol=1e-5)
assert "ortho" in raises(ValueError, lambda: A.create_dct(4, 6, "other"))
close(A.get_window("hann", 8).numpy(), 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(8) / 8), atol=1e-12)
close(A.get_window("hamming", 8, False, "float32").numpy(), np.hamming(8), rtol=1e-5)
close(A.get_window(("gaussian", 2.0), 7, False).numpy(), np.exp(-((np.arange(7) - 3) ** 2) / 8))
close(A.get_window(("kaiser", 5.0), 7, False).numpy(), np.kaiser(7, 5), rtol=1e-6)
for name, wanted in (
    ("hann", np.hanning), ("hamming", np.hamming), ("blackman", np.blackman), ("bartlett", np.bartlett),
    ("kaiser", lambda n: np.kaiser(n, 12)),
):
    function = getattr(paddle, f"{name}_window")
    assert function(8).dtype == paddle.float32 and function(8, dtype="float64").dtype == paddle.float64
    close(function(8).numpy(), wanted(9)[:-1], rtol=1e-4, atol=1e-6)
    close(function(8, periodic=False).numpy(), wanted(8), rtol=1e-4, atol=1e-6)
close(paddle.hamming_window(8, False, 0.6, 0.3).numpy(), 0.6 - 0.3 * np.cos(2 * np.pi * np.arange(8) / 7), rtol=1e-4)
assert "'nosuch'" in raises(ValueError, lambda: A.get_window("nosuch", 8))
assert "0 numbers" in raises(ValueError, lambda: A.get_window(("hann", 1.0), 8))
sound = rng.standard_normal((2, 1000)).astype("float32")
parts = np.stack([sound[:, i : i + 256] for i in range(0, 1000 - 255, 64)], axis=2)
window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(256) / 256)
spectra = np.abs(np.fft.rfft(parts * window[:, None], axis=1))
close(Spectrogram(256, None, center=False)(paddle.to_tensor(sound)).numpy(), spectra, rtol=1e-3, atol=1e-3)
options = {"n_fft": 256, "hop_length": 64, "center": False, "n_mels": 6, "f_min": 50.0}
bands = np.einsum("mf,nft->nmt", A.compute_fbank_matrix(8000, 256, 6, 50.0).numpy(), spectra**2)
close(MelSpectrogram(8000, **options)(paddle.to_tensor(sound)).numpy(), bands, rtol=1e-3, atol=1e-4)
decibels = 10 * np.log10(bands)
close(LogMelSpectrogram(8000, **options)(paddle.to_tensor(sound)).numpy(), decibels, rtol=1e-3, atol=1e-2)
wanted = np.einsum("mk,nmt->nkt", A.create_dct(4, 6).numpy(), decibels)
close(MFCC(8000, 4, **options)(paddle.to_tensor(sound)).numpy(), wanted, rtol=1e-3, atol=1e-2)
assert "n_mfcc" in raises(ValueError, lambda: MFCC(8000, 7, **options))
""",
    "distributions and factors in Paddle's forms": """
D = paddle.distribution
paddle.seed(1)
for logits in ([0.2, 0.5, 0.3], [1.0, 3.0], [2.0, 2.0, 8.0]):
    drawn = D.Categorical(paddle.to_tensor(logits)).sample([100000]).numpy()
    close(np.bincount(drawn, minlength=len(logits)) / len(drawn), np.exp(logits) / np.exp(logits).sum(), atol=0.01)
one, two = (D.Categorical(floats(2, 3).abs()) for _ in range(2))
assert D.kl_divergence(one, two).shape == one.kl_divergence(two).shape == [2, 1]
magnitude = D.AbsTransform()
assert [x.tolist() for x in magnitude.inverse(paddle.to_tensor([0.5, 2.0]))] == [[-0.5, -2.0], [0.5, 2.0]]
assert [x.item() for x in magnitude.inverse_log_det_jacobian(paddle.to_tensor([0.5]))] == [0, 0]
assert "two points" in raises(NotImplementedError, lambda: magnitude.forward_log_det_jacobian(paddle.ones([1])))
x = floats(5, 3)
for factors, wanted in (
    (paddle.linalg.svd_lowrank(x, 3), x), (x.svd_lowrank(3), x), (paddle.linalg.pca_lowrank(x, 3), x - x.mean(0)),
    (paddle.linalg.svd_lowrank(x, 3, M=x * 0.5), x * 0.5), (x.pca_lowrank(3, center=False), x),
):
    u, s, v = factors
    close((u * s @ v.t()).numpy(), wanted.numpy(), atol=1e-4)
assert [part.shape for part in paddle.linalg.svd_lowrank(x, q=2)] == [[5, 2], [2], [3, 2]]
""",
    "lengths and directions of weights": """
for made, dim, axes in (
    (lambda: nn.Linear(3, 2), 0, (1,)), (lambda: nn.Linear(3, 2), 1, (0,)), (lambda: nn.Linear(3, 2), None, (0, 1)),
    (lambda: nn.Linear(3, 2), -1, (0, 1)), (lambda: nn.Conv2D(2, 3, 3), 0, (1, 2, 3)),
    (lambda: nn.Conv2D(2, 3, 3), 1, (0, 2, 3)), (lambda: nn.Conv2D(2, 3, 3), -4, (1, 2, 3)),
):
    layer = made()
    before = layer.weight.numpy()
    x = floats(2, 3) if layer.weight.ndim == 2 else floats(1, 2, 5, 5)
    plain = layer(x).numpy()
    assert nn.utils.weight_norm(layer, dim=dim) is layer
    assert sorted(layer.state_dict()) == ["bias", "weight_g", "weight_v"]
    close(layer.weight_g.numpy(), np.sqrt((before**2).sum(axes)), rtol=1e-5)
    close(layer.weight_v.numpy(), before)
    close(layer(x).numpy(), plain, rtol=1e-4, atol=1e-5)
    assert "already" in raises(RuntimeError, lambda: nn.utils.weight_norm(layer))
    optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    layer(x).square().sum().backward()
    optimizer.step()
    g, v = layer.weight_g.numpy(), layer.weight_v.numpy()
    length = np.sqrt((v**2).sum(axes, keepdims=True))
    wanted = v / length * g.reshape(length.shape)
    layer(x)
    close(layer.weight.numpy(), wanted, rtol=1e-4, atol=1e-6)
    layer.weight_g.set_value(2 * g)
    layer(x)
    close(layer.weight.numpy(), 2 * wanted, rtol=1e-4, atol=1e-6)
    wanted = 2 * wanted
    assert nn.utils.remove_weight_norm(layer) is layer and sorted(layer.state_dict()) == ["bias", "weight"]
    close(layer.weight.numpy(), wanted, rtol=1e-4, atol=1e-6)
    assert "no weight_norm" in raises(ValueError, lambda: nn.utils.remove_weight_norm(layer))
    assert layer(x).shape == list(plain.shape)
assert "nosuch" in raises(ValueError, lambda: nn.utils.weight_norm(nn.Linear(2, 2), "nosuch"))
for make, size, axis in (
    (lambda: nn.Linear(3, 2), (4, 3), 1), (lambda: nn.Conv2D(2, 3, 2), (1, 2, 3, 3), 0),
    (lambda: nn.Conv2DTranspose(2, 3, 2), (1, 2, 3, 3), 1),
):
    for dim in (None, 0, 1):
        layer, x = make(), floats(*size)
        plain, weight = layer.weight.numpy(), layer.weight
        assert nn.utils.spectral_norm(layer, n_power_iterations=3, dim=dim) is layer and layer.weight_orig is weight
        assert sorted(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
        matrix = np.moveaxis(plain, axis if dim is None else dim, 0)
        matrix = matrix.reshape(len(matrix), -1)
        u = layer.weight_u.numpy()
        for _ in range(3):
            v = matrix.T @ u / np.linalg.norm(matrix.T @ u)
            u = matrix @ v / np.linalg.norm(matrix @ v)
        layer(x).sum().backward()
        close(layer.weight.numpy(), plain / (u @ matrix @ v), rtol=1e-4, atol=1e-5)
        close(layer.weight_u.numpy(), u, rtol=1e-4, atol=1e-5)
        close(layer.weight_v.numpy(), v, rtol=1e-4, atol=1e-5)
        assert abs((weight.grad * weight).sum()) < 1e-3  # the results do not change with the weight's length
        layer.eval()
        layer(x)
        close(layer.weight_u.numpy(), u, rtol=1e-4, atol=1e-5)
        assert "already" in raises(RuntimeError, lambda: nn.utils.spectral_norm(layer))
assert "nosuch" in raises(ValueError, lambda: nn.utils.spectral_norm(nn.Linear(2, 2), "nosuch"))
assert "above 0" in raises(ValueError, lambda: nn.utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=0))
assert "axis" in raises(ValueError, lambda: nn.utils.weight_norm(nn.Linear(2, 2), dim=2))
""",
    "paddings of other counts than those of the layout's axes": """
# By Paddle 3.3: in mode "constant" they are for the last axes in any layout.
five, four, three = [paddle.arange(1.0, 1 + math.prod(shape)).reshape(shape)
                     for shape in ([1, 2, 3, 2, 2], [2, 2, 3, 2], [2, 3, 2])]
for x, pad, layout, shape in (
    (four, [1, 2], "NHWC", [2, 2, 3, 5]), (four, [1, 2], "NCHW", [2, 2, 3, 5]),
    (four, [1, 2, 0, 1], "NHWC", [2, 3, 6, 2]), (four, [1, 2, 0, 1], "nhwc", [2, 3, 6, 2]),
    (four, [1, 2, 0, 1, 2, 1], "NHWC", [2, 5, 4, 5]),
    (five, [1, 2, 3, 0], "NDHWC", [1, 2, 3, 5, 5]), (five, [1, 2, 3, 0, 0, 1], "NDHWC", [1, 3, 6, 5, 2]),
    (five, [1, 2, 3, 0, 0, 1, 1, 1], "NDHWC", [1, 4, 4, 5, 5]), (three, [1, 2, 3, 0], "NLC", [2, 6, 5]),
    (three, [1, 2], "NLC", [2, 6, 2]), (three, [1, 2, 3, 0, 0, 1], "NLC", [5, 6, 3]),
    (four, [1], "NHWC", [2, 2, 3, 3]), (three, (1, 2, 3), "NLC", [2, 6, 5]), (paddle.ones([2]), [1], None, [3]),
):
    made = F.pad(x, pad, value=0.0, data_format=layout)
    assert made.shape == shape and made.sum() == x.sum(), (pad, layout, made.shape)
made = F.pad(four, [1, 0, 0, 1, 0, 0], data_format="NHWC")
close(made.numpy(), np.pad(four.numpy(), [(0, 0), (0, 0), (0, 1), (1, 0)]))
close(F.pad(three, [1], data_format="NLC").numpy(), np.pad(three.numpy(), [(0, 0), (0, 0), (1, 0)]))
close(F.zeropad2d(four, [1, 2], "NHWC").numpy(), np.pad(four.numpy(), [(0, 0), (0, 0), (0, 0), (1, 2)]))
assert F.pad(four, [1, 0, 0, 1], mode="reflect", data_format="NHWC").shape == [2, 3, 4, 2]
assert nn.Pad2D([1])(four).shape == [2, 2, 3, 3] and nn.Pad2D(1)(four).shape == [2, 2, 5, 4]
assert nn.Pad1D([1, 2, 3, 4], data_format="NLC")(three).shape == [2, 10, 5]
assert raises(ValueError, lambda: nn.Pad2D([1], mode="reflect")(four))
""",
    "images of one row": """
# Paddle takes the place of a new axis of one element for -1/2, which linear means hold at 0, and cubics do not.
x = paddle.to_tensor([[[[1.0, 2.0, 4.0, 8.0], [3.0, 5.0, 9.0, 7.0]]]], stop_gradient=False)
for mode, factors in (("bilinear", [1.0, 0.0]), ("bicubic", [1.09375, -0.09375])):
    row, column = x[:, :, :, 0], factors[0] * x[:, :, :, 0] + factors[1] * x[:, :, :, 1]
    wanted = (factors[0] * column[0, 0, 0] + factors[1] * column[0, 0, 1]).item()
    for options in ({"size": [1, 1]}, {"size": paddle.to_tensor([1, 1])}, {"scale_factor": [0.5, 0.25]}):
        close(F.interpolate(x, mode=mode, **options).numpy().ravel(), [wanted], rtol=1e-6)
        turned = F.interpolate(x.transpose([0, 2, 3, 1]), mode=mode, data_format="NHWC", **options)
        close(turned.numpy().ravel(), [wanted], rtol=1e-6)
    close(F.interpolate(x, [2, 1], mode=mode).numpy(), column.unsqueeze(-1).numpy(), rtol=1e-6)
    close(F.interpolate(x, None, [1.0, 0.3], mode=mode).numpy(), column.unsqueeze(-1).numpy(), rtol=1e-6)
    close(F.interpolate(x, [1, 1], mode=mode, align_corners=True).item(), 1.0)
    x.clear_grad()
    F.interpolate(x, [1, 1], mode=mode).backward()
    close(x.grad.numpy()[0, 0, :, :2], np.outer(factors, factors), rtol=1e-6)
    assert not x.grad[0, 0, :, 2:].any()
close(F.interpolate(x[:, :, 0], [1], mode="linear", data_format="NCW").item(), 3.0)
close(F.interpolate(x, [1, 1], mode="area").item(), 39 / 8, rtol=1e-6)
""",
    "factors of the sizes that factors lead to": """
x = paddle.arange(1.0, 6.0).reshape([1, 1, 1, 5])
for mode in ("bilinear", "bicubic"):
    for align_mode in (0, 1):
        by_size = F.interpolate(x, [1, 7], mode=mode, align_mode=align_mode)
        options = {"mode": mode, "align_mode": align_mode, "scale_factor": 1.5}
        close(F.interpolate(x, recompute_scale_factor=True, **options).numpy(), by_size.numpy())
        assert not paddle.allclose(F.interpolate(x, **options), by_size)
""",
    "signals and images": """
from paddle.signal import frame, overlap_add
from paddle.vision import transforms as T

x = paddle.arange(8, dtype="float32")
assert frame(x, 4, 2).shape == [4, 3] and frame(x, 4, 2, axis=0).shape == [3, 4]
close(overlap_add(frame(x, 4, 2), 2).numpy(), x.numpy() * [1, 1, 2, 2, 2, 2, 1, 1])
close(overlap_add(frame(x, 4, 2, axis=0), 2, axis=0).numpy(), x.numpy() * [1, 1, 2, 2, 2, 2, 1, 1])
image = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
assert (T.affine(image, 0, (0, 0), 1.0, (0, 0)) == image).all()
moved = T.affine(image, 0, (2, 1), 1.0, (0, 0), fill=9)
assert (moved[1:, 2:] == image[:-1, :-2]).all() and (moved[0] == 9).all() and (moved[:, :2] == 9).all()
corners = [(0, 0), (7, 0), (7, 5), (0, 5)]
assert (T.perspective(image, corners, corners) == image).all()
shifted = [(x + 1, y) for x, y in corners]
assert (T.perspective(image, corners, shifted, "bilinear")[:, 1:] == image[:, :-1]).all()
assert T.RandomAffine(30, (0.1, 0.1), (0.8, 1.2), 10)(image).shape == T.RandomPerspective(1.0)(image).shape == (6, 8, 3)
assert paddle.flops(paddle.vision.models.LeNet(), [1, 1, 28, 28]) == 347560
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_functions(program, tmp_path):
    extensions.write(tmp_path, {"program.py": HEAD + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
