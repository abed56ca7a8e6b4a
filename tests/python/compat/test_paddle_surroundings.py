"""What stands around training programs of Paddle, through the front: files of programs, images, distributions, more."""

import pytest

from support import extensions

PROGRAMS = {
    "parts of tensors": """
x = paddle.arange(24, dtype="float32").reshape([4, 6])
for made, wanted in (
    (paddle.slice(x, [0, 1], [1, -3], [3, 100]), x.numpy()[1:3, -3:]),
    (paddle.strided_slice(x, [1], [0], [6], [2]), x.numpy()[:, ::2]),
    (paddle.strided_slice(x, [0], [3], [0], [-2]), x.numpy()[3:0:-2]),
    (paddle.strided_slice(x, [0, 1], [-1, 1], [-100, 3], [-1, 1]), x.numpy()[::-1, 1:3]),
    (paddle.crop(x, [2, -1], [1, 2]), x.numpy()[1:3, 2:]),
    (paddle.scatter_nd(paddle.to_tensor([[1], [1], [0]]), paddle.ones([3, 2]), [3, 2]), [[1, 1], [2, 2], [0, 0]]),
    (paddle.scatter_nd_add(paddle.ones([2, 2]), paddle.to_tensor([[0, 1]]), paddle.ones([1])), [[1, 2], [1, 1]]),
    (paddle.multiplex([x[:2], -x[:2]], paddle.to_tensor([[1], [0]])), [-x.numpy()[0], x.numpy()[1]]),
    (paddle.stanh(x), 1.7159 * np.tanh(0.67 * x.numpy())),
    (paddle.cross(x[:, :3], x[:, 3:]), np.cross(x.numpy()[:, :3], x.numpy()[:, 3:])),
    (paddle.dot(x, x), (x.numpy() ** 2).sum(1)), (x.dot(x), (x.numpy() ** 2).sum(1)),
    (paddle.norm(x, axis=1), np.linalg.norm(x.numpy(), axis=1)), (paddle.norm(x, p=1), np.abs(x.numpy()).sum()),
    (paddle.shard_index(paddle.to_tensor([[16], [1]]), 20, 2, 0), [[-1], [1]]),
    (paddle.as_complex(paddle.as_real(paddle.complex(x, x))).real(), x.numpy()),
):
    np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-5)
try:
    paddle.slice(x, [0], [1, 2], [3])
except ValueError as error:
    assert "differ in length" in str(error)
state = paddle.get_rng_state()
first = paddle.rand([3])
paddle.set_rng_state(state)
assert paddle.equal_all(first, paddle.rand([3]))
paddle.set_flags({"FLAGS_x": 1})
assert paddle.get_flags("FLAGS_x") == {"FLAGS_x": 1}
""",
    "more functions": """
x, i = paddle.to_tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]), paddle.to_tensor([[1, 2, 3], [4, 5, 6]])
for made, wanted in (
    (paddle.add_n([x, x, x]), 3 * x.numpy()),
    (paddle.take(x, i - 8, mode="wrap"), x.numpy().take(i.numpy() - 8, mode="wrap")),
    (paddle.take(x, i * 2, mode="clip"), x.numpy().take(i.numpy() * 2, mode="clip")),
    (x.view([3, 2]), x.numpy().reshape(3, 2)),
    (paddle.unique_consecutive(paddle.to_tensor([1, 1, 2, 1])), [1, 2, 1]), (paddle.t(x), x.numpy().T),
    (paddle.cat([x, x]), np.concatenate([x.numpy()] * 2)), (paddle.exp_(x.clone()), np.exp(x.numpy())),
    (paddle.view_as(x, i.reshape([6])), x.numpy().reshape(6)), (paddle.sgn(x), np.sign(x.numpy())),
    (paddle.select_scatter(x, paddle.zeros([3]), 0, 1), [[1, -2, 3], [0, 0, 0]]),
    (paddle.isin(i, i[0]), [[1] * 3, [0] * 3]),
    (paddle.vecdot(x, x), (x.numpy() ** 2).sum(1)), (paddle.linalg.cov(x), np.cov(x.numpy())),
    (paddle.linalg.matrix_norm(x), np.linalg.norm(x.numpy())), (paddle.linalg.matrix_rank(x), 2),
    (paddle.unfold(x, 1, 2, 1), [[[1, -2], [-2, 3]], [[4, 5], [5, -6]]]), (paddle.trapezoid(x),
    ((x + 0)[:, 1:] + x[:, :-1]).numpy().sum(1) / 2),
    (paddle.diagonal_scatter(x, paddle.zeros([2])), [[0, -2, 3], [4, 0, -6]]), (F.relu_(x.clone()), x.numpy().clip(0)),
):
    np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-5)
total = paddle.add_n(x)
total[0, 0] = 9.0
assert x[0, 0] == 1 and paddle.broadcast_shape([2, 1], [3]) == [2, 3]
assert paddle.broadcast_tensors([x, x[:1]])[1].shape == [2, 3]
assert paddle.is_complex(paddle.complex(x, x)) and paddle.is_integer(i) and not paddle.is_empty(x)
assert paddle.tolist(i)[1] == [4, 5, 6]
assert paddle.log_normal(0.0, 0.1, [3]).min() > 0 and paddle.randint_like(i, 2).max() < 2
assert round(paddle.pi, 2) == 3.14
assert isinstance(x.dtype, paddle.dtype) and paddle.newaxis is None and not hasattr(paddle, "nosuch_")
images = paddle.rand([1, 1, 4, 4])
pooled, places = F.max_pool2d(images, 2, return_mask=True)
assert F.max_unpool2d(pooled, places, 2).sum() == pooled.sum()
assert nn.MaxUnPool2D(2)(pooled, places).shape == [1, 1, 4, 4]
mean, variance = paddle.zeros([1]), paddle.ones([1])
assert abs(float(F.batch_norm(images, mean, variance, training=True).mean())) < 1e-5
assert abs(float(mean) - 0.1 * float(images.mean())) < 1e-6 and abs(float(F.instance_norm(images).mean())) < 1e-5
volume = paddle.ones([1, 1, 2, 2, 2])
for layer, given, shape in (
    (nn.AvgPool3D(2), volume, [1, 1, 1, 1, 1]), (nn.MaxPool3D(2), volume, [1, 1, 1, 1, 1]),
    (nn.ZeroPad3D(1), volume, [1, 1, 4, 4, 4]),
    (nn.ZeroPad1D(1), x.unsqueeze(0), [1, 2, 5]), (nn.LPPool2D(2, 2), images, [1, 1, 2, 2]),
    (nn.Unflatten(1, [3, 1]), x, [2, 3, 1]),
    (nn.UpsamplingBilinear2D(scale_factor=2), images, [1, 1, 8, 8]), (nn.FeatureAlphaDropout(), x, [2, 3]),
    (nn.RReLU(), x, [2, 3]),
):
    assert layer(given).shape == shape, layer
assert nn.Bilinear(3, 3, 2)(x, x).shape == [2, 2] and nn.MultiMarginLoss()(x, paddle.to_tensor([0, 1])).shape == []
assert nn.ParameterDict({"a": paddle.create_parameter([2], "float32")})["a"].shape == [2]
""",
    "losses": """
rng = np.random.default_rng(0)
score, target = rng.normal(size=(4, 3)).astype("float32"), (rng.random((4, 3)) > 0.5).astype("float32")
p = 1 / (1 + np.exp(-score))
right = np.where(target == 1, p, 1 - p)
focal = (np.where(target == 1, 0.25, 0.75) * (1 - right) ** 2 * -np.log(right)).sum()
x, y = paddle.to_tensor(score), paddle.to_tensor(target)
classes = paddle.to_tensor([[0], [2], [1], [0]])
hot = np.eye(3)[[0, 2, 1, 0]]
soft = np.exp(score) / np.exp(score).sum(1, keepdims=True)
dice = (1 - 2 * (soft * hot).sum(1) / (soft.sum(1) + 1 + 1e-5)).mean()
labels = np.array([0, 1, 0, 2])
same = (labels[:, None] == labels).astype(float)
logits = score @ target.T
logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
squares = (score**2).sum(1).mean() + (target**2).sum(1).mean()
npair = -(same / same.sum(1, keepdims=True) * logs).sum(1).mean() + 0.25 * 0.002 * squares
for made, wanted in (
    (F.sigmoid_focal_loss(x, y), focal), (F.sigmoid_focal_loss(x, y, paddle.to_tensor([2.0])), focal / 2),
    (F.log_loss(F.sigmoid(x), y), -target * np.log(p + 1e-4) - (1 - target) * np.log(1 - p + 1e-4)),
    (F.dice_loss(F.softmax(x), classes), dice), (F.npair_loss(x, y, paddle.to_tensor(labels)), npair),
    (F.label_smooth(paddle.to_tensor(hot.astype("float32")), epsilon=0.3), 0.7 * hot + 0.1),
    (F.sequence_mask(paddle.to_tensor([1, 3]), 4), [[1, 0, 0, 0], [1, 1, 1, 0]]),
    (F.maxout(paddle.to_tensor(score.reshape(1, 4, 3, 1)), 2), score.reshape(1, 2, 2, 3, 1).max(2)),
    (F.zeropad2d(paddle.ones([1, 1, 1, 1]), [1, 0, 0, 1]), [[[[0, 1], [0, 0]]]]),
):
    np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-4)
steps = np.arange(8.0, dtype="float32").reshape(2, 4, 1, 1)
moved = F.temporal_shift(paddle.to_tensor(steps), 2).numpy()[..., 0, 0]
assert moved.tolist() == [[0, 5, 2, 3], [0, 0, 6, 7]], moved
""",
    "layers": """
cells = nn.SimpleRNNCell(3, 4), nn.SimpleRNNCell(3, 4)
x = paddle.randn([2, 5, 3])
outputs, last = nn.RNN(cells[0])(x)
state = None
for step in range(5):
    wanted, state = cells[0](x[:, step], state)
np.testing.assert_allclose(outputs[:, -1].numpy(), wanted.numpy(), rtol=1e-5)
outputs, last = nn.RNN(cells[0])(x, sequence_length=paddle.to_tensor([2, 5]))
assert np.allclose(last[0].numpy(), outputs[0, 1].numpy())
both, (forward, backward) = nn.BiRNN(*cells)(x)
assert both.shape == [2, 5, 8] and np.allclose(backward.numpy(), both[:, 0, 4:].numpy())
model = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0)
mask = model.generate_square_subsequent_mask(4)
a, b = paddle.randn([1, 3, 8]), paddle.randn([1, 4, 8])
first = model(a, b, tgt_mask=mask)
b[:, -1] = 0.0
assert np.allclose(first[:, :3].numpy(), model(a, b, tgt_mask=mask)[:, :3].numpy(), atol=1e-5)
layers = nn.LayerDict({"a": nn.Linear(1, 2)})
layers["b"] = nn.Linear(2, 1)
assert list(layers) == ["a", "b"] and len(layers) == 2 and "a" in layers and len(layers.parameters()) == 4
assert layers.pop("a").weight.shape == [1, 2]
assert [name for name, _ in layers.named_parameters()] == ["b.weight", "b.bias"]
two = paddle.create_parameter([2], "float32"), paddle.create_parameter([3], "float32", is_bias=True)
listed = nn.ParameterList(two)
assert len(listed.parameters()) == 2 and listed[1].tolist() == [0.0] * 3
listed[0].trainable = False
assert listed[0].stop_gradient and listed[1].trainable
weight = paddle.randn([4, 3])
norm = nn.SpectralNorm([4, 3], power_iters=50)
assert abs(np.linalg.norm(norm(weight).numpy(), 2) - 1) < 1e-4 and not norm.weight_u.trainable
norm = nn.BatchNorm(3, act="relu")
assert norm(paddle.randn([4, 3, 2, 2])).min() >= 0
calls = []
layer = nn.Linear(2, 2)
handle = layer.register_forward_post_hook(lambda layer, given, made: calls.append(made.shape))
layer(paddle.ones([1, 2]))
handle.remove()
layer(paddle.ones([1, 2]))
assert calls == [[1, 2]]
vector = nn.utils.parameters_to_vector(layer.parameters())
nn.utils.vector_to_parameters(vector * 0, layer.parameters())
assert vector.shape == [6] and not layer.weight.any()
assert nn.utils.weight_norm(nn.Linear(3, 2))(paddle.ones([1, 3])).shape == [1, 2]
(paddle.ones([1, 2]) @ layer.weight).sum().backward()
nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
assert abs(float(paddle.norm(layer.weight.grad)) - 1) < 1e-5
nn.initializer.set_global_initializer(nn.initializer.Constant(2.0), nn.initializer.Constant(3.0))
layer = nn.Linear(1, 1)
nn.initializer.set_global_initializer(None)
assert layer.weight.item() == 2 and layer.bias.item() == 3 and nn.Linear(1, 1).bias.item() == 0
rows = nn.Linear(3, 3, weight_attr=nn.initializer.Orthogonal()).weight
assert np.allclose((rows @ rows.t()).numpy(), np.eye(3), atol=1e-5)
drawn = nn.Linear(30, 30, weight_attr=nn.initializer.TruncatedNormal(1.0, 2.0)).weight
assert -2 <= drawn.min() < -1.5 and 1.5 < drawn.max() <= 2 and abs(drawn.mean() - 0.29) < 0.2
drawn = nn.Linear(30, 30, weight_attr=nn.initializer.TruncatedNormal(std=0.02)).weight
assert 0.045 < drawn.abs().max() < 0.2 and abs(drawn.std() - 0.02) < 0.003
""",
    "penalties and decay": """
def one(regularizer=None, value=2.0):
    attr = paddle.ParamAttr(regularizer=regularizer, initializer=nn.initializer.Constant(value))
    return paddle.create_parameter([1], "float32", attr=attr)


for penalty, wanted in ((None, 2 - 0.1 * (1 + 0.5 * 2)), (paddle.regularizer.L2Decay(0.25), 2 - 0.1 * (1 + 0.25 * 2)),
                        (paddle.regularizer.L1Decay(0.25), 2 - 0.1 * (1 + 0.25))):
    x = one(penalty)
    optimizer = paddle.optimizer.SGD(0.1, parameters=[x], weight_decay=0.5)
    x.sum().backward()
    optimizer.step()
    assert abs(x.item() - wanted) < 1e-6 and x.grad.item() == 1.0, (x.item(), wanted)
layer = nn.Linear(1, 1, weight_attr=nn.initializer.Constant(1.0), bias_attr=nn.initializer.Constant(1.0))
names = []
optimizer = paddle.optimizer.AdamW(
    0.1,
    parameters=layer.parameters(),
    weight_decay=0.5,
    apply_decay_param_fun=lambda name: names.append(name) or ".b" not in name,
)
(0 * layer(paddle.ones([1, 1]))).sum().backward()
optimizer.step()
assert len(names) == 2 and abs(layer.weight.item() - 0.95) < 1e-6 and layer.bias.item() == 1.0
x = paddle.create_parameter([2], "float32", default_initializer=nn.initializer.Constant(3.0))
optimizer = paddle.optimizer.LBFGS(1.0, parameters=[x], line_search_fn="strong_wolfe")


def closure():
    optimizer.clear_grad()
    loss = ((x - 1) ** 2).sum()
    loss.backward()
    return loss


optimizer.step(closure)
assert np.allclose(x.numpy(), 1, atol=1e-4)
""",
    "files of programs": """
from paddle.static import InputSpec

net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1D(8), nn.ReLU(), nn.Linear(8, 2))
x = paddle.randn([4, 3])
net(x)
paddle.jit.save(net, "saved/net", input_spec=[InputSpec([None, 3], "float32", "x")])
loaded = paddle.jit.load("saved/net")
assert net.training
net.eval()
assert np.allclose(loaded(x).numpy(), net(x).numpy(), atol=1e-6) and loaded(x[:1]).shape == [1, 2]
try:
    loaded(x, x)
except ValueError as error:
    assert "takes 1 inputs" in str(error)


class Two(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    @paddle.jit.to_static(input_spec=[InputSpec(shape=[None, 3], dtype="float32")])
    def forward(self, x):
        return self.linear(x), x.mean()


two = Two()
paddle.jit.save(two, "saved/two")
assert all(np.allclose(a.numpy(), b.numpy(), atol=1e-6) for a, b in zip(paddle.jit.load("saved/two")(x), two(x)))
assert paddle.jit.to_static(net) is net and paddle.jit.not_to_static(len) is len and paddle.in_dynamic_mode()
try:
    paddle.jit.save(nn.Linear(1, 1), "saved/none")
except ValueError as error:
    assert "input_spec" in str(error)
""",
    "states of programs that are read": """
from paddle.static import InputSpec


class Scaled(nn.Layer):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1D(3)
        self.register_buffer("scale", paddle.to_tensor([2.0]))
        self.register_buffer("places", paddle.to_tensor([2, 1, 0]))

    def forward(self, x):
        return paddle.index_select(self.norm(x), self.places, axis=1) * self.scale + paddle.ones([1])


net = Scaled()
net(paddle.randn([4, 3]))
paddle.jit.save(net, "saved/scaled", input_spec=[InputSpec([None, 3], "float32")])
loaded = paddle.jit.load("saved/scaled")
wanted = sorted((x.stop_gradient, x.astype("float32").tolist()) for x in net.state_dict().values())
assert sorted((x.stop_gradient, x.astype("float32").tolist()) for x in loaded.state_dict().values()) == wanted
""",
    "decisions that no program can hold": """
from paddle.static import InputSpec


class Branches(nn.Layer):
    def forward(self, x):
        if x.sum() > 0:  # here
            return x
        return -x


class Loops(nn.Layer):
    def forward(self, x):
        while x.sum() > 0:  # here
            x = x - 1
        return x


line = [number for number, text in enumerate(open(__file__), 1) if text.endswith("# here\\n")]
for layer, at, advice in ((Branches(), line[0], "static.nn.cond("), (Loops(), line[1], "static.nn.while_loop(")):
    try:
        paddle.jit.save(layer, "saved/refused", input_spec=[InputSpec([None, 3], "float32")])
        raise AssertionError("nothing was raised")
    except RuntimeError as error:
        assert f":{at}:" in str(error) and advice in str(error), error
    assert paddle.in_dynamic_mode()
""",
    "orders by numpy's generator": """
from paddle.io import BatchSampler, DataLoader, Dataset, RandomSampler, WeightedRandomSampler


class Pairs(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return np.float32(index), (index, float(index))


def seeded(make):
    np.random.seed(3)
    return list(make())


data, order = Pairs(), [3, 5, 4, 1, 0, 2]
assert seeded(lambda: BatchSampler(data, shuffle=True, batch_size=4)) == [order[:4], order[4:]]
assert seeded(lambda: (int(i) for x, _ in DataLoader(data, batch_size=4, shuffle=True) for i in x)) == order
assert seeded(lambda: RandomSampler(data)) == order
assert seeded(lambda: RandomSampler(range(5), replacement=True, num_samples=7)) == [2, 0, 1, 3, 0, 0, 0]
assert seeded(lambda: RandomSampler(data, generator=iter([5, 1, 0, 2, 3, 4]))) == [5, 1, 0, 2, 3, 4]
assert seeded(lambda: WeightedRandomSampler([0.1, 0.5, 0.4], 6)) == [1, 2, 1, 1, 2, 2]
assert seeded(lambda: WeightedRandomSampler([0.1, 0.5, 0.4], 2, replacement=False)) == [1, 2]
assert all(type(pair) is list for _, pair in DataLoader(data, batch_size=4))
for wrong in (lambda: WeightedRandomSampler([-1.0], 1), lambda: RandomSampler(data, num_samples=7)):
    try:
        wrong()
        raise AssertionError("nothing was raised")
    except ValueError as error:
        assert "Sampler]" in str(error)
""",
    "images": """
import random
import paddle.vision.transforms as T
from paddle.vision.transforms import functional as V

random.seed(0)
image = np.random.default_rng(0).integers(0, 256, (8, 10, 3), dtype=np.uint8)
tensor = T.ToTensor()(image)
assert tensor.shape == [3, 8, 10] and np.allclose(tensor.numpy(), image.transpose(2, 0, 1) / 255)
assert T.Resize(4)(image).shape == (4, 5, 3) and T.Resize((8, 10))(image).tolist() == image.tolist()
assert T.Resize((16, 20), "nearest")(image)[::2, ::2].tolist() == image.tolist()
assert T.CenterCrop(4)(image).tolist() == image[2:6, 3:7].tolist()
assert T.RandomHorizontalFlip(1.0)(image).tolist() == image[:, ::-1].tolist()
assert T.RandomVerticalFlip(0.0)(image) is image and V.vflip(image).tolist() == image[::-1].tolist()
assert T.Pad((1, 2))(image).shape == (12, 12, 3) and T.Pad(1, fill=(9, 8, 7))(image)[0, 0].tolist() == [9, 8, 7]
assert T.Grayscale(3)(image).shape == (8, 10, 3) and V.to_grayscale(image[..., 0]).tolist() == image[..., :1].tolist()
assert T.Transpose()(image).shape == (3, 8, 10) and T.RandomCrop(12, pad_if_needed=True)(image).shape == (12, 12, 3)
normal = T.Normalize([0.5] * 3, [0.25] * 3)(tensor)
assert np.allclose(normal.numpy(), (tensor.numpy() - 0.5) / 0.25, atol=1e-6)
assert np.allclose(T.Normalize(127.5, 127.5, "HWC")(image), (image - 127.5) / 127.5)
for adjust in (V.adjust_brightness, V.adjust_contrast, V.adjust_saturation):
    assert adjust(image, 1.0).tolist() == image.tolist()
assert np.abs(V.adjust_hue(image, 0.0).astype(int) - image).max() <= 1
assert V.adjust_brightness(image, 0.0).sum() == 0 and len(np.unique(V.adjust_saturation(image, 0.0)[0, 0])) == 1
square = image[:8, :8]
assert V.rotate(image, 0).tolist() == image.tolist() and V.rotate(square, 90).tolist() == np.rot90(square).tolist()
many = [T.RandomResizedCrop(5), T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.RandomRotation(20), T.RandomErasing(1.0)]
many = T.Compose(many)
assert many(image).shape == (5, 5, 3) and many(image).dtype == np.uint8
both = T.RandomCrop(4, keys=("image", "label"))((image, 7))
assert both[0].shape == (4, 4, 3) and both[1] == 7
for wrong in (lambda: T.Resize(), lambda: T.Resize(4, "cubic")(image), lambda: T.RandomCrop(20)(image)):
    try:
        wrong()
    except (TypeError, ValueError):
        continue
    raise AssertionError
assert paddle.vision.models.LeNet()(paddle.ones([2, 1, 28, 28])).shape == [2, 10]
small = paddle.vision.models.resnet18(num_classes=3)
assert small(paddle.ones([2, 3, 32, 32])).shape == [2, 3] and sum(p.size for p in small.parameters()) == 11187651
assert len(paddle.vision.models.resnet50().sublayers()) > 100
""",
    "distributions and derivatives": """
from paddle.distribution import Beta, Categorical, Independent, MultivariateNormal, Normal, Uniform, kl_divergence

normal = Normal(0.0, 2.0)
density = float(normal.log_prob(paddle.to_tensor(0.0)))
assert normal.sample([3]).shape == [3] and abs(density + np.log(2 * np.sqrt(2 * np.pi))) < 1e-6
assert abs(float(normal.entropy()) - 0.5 * np.log(2 * np.pi * np.e * 4)) < 1e-5 and normal.stddev.item() == 2
assert abs(float(kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))) - 0.5) < 1e-6
assert Uniform(0, 4).probs(paddle.to_tensor(1.0)).item() == 0.25 and abs(Beta([2.0], [3.0]).mean.item() - 0.4) < 1e-6
weights = paddle.to_tensor([1.0, 3.0])
several = Categorical(weights)
assert np.allclose(several.probs(paddle.to_tensor([1, 0])).numpy(), [0.75, 0.25])
assert np.allclose(several.log_prob(paddle.to_tensor([1])).numpy(), np.log(0.75)) and several.sample([4]).shape == [4]
soft = np.exp([1, 3]) / np.exp([1, 3]).sum()
assert abs(float(several.entropy()) + (soft * np.log(soft)).sum()) < 1e-6
rows = Categorical(paddle.to_tensor([[1.0, 3.0], [1.0, 1.0]]))
assert np.allclose(rows.probs(paddle.to_tensor([[1], [0]])).numpy(), [[0.75], [0.5]])
assert Independent(Normal(paddle.zeros([2, 3]), paddle.ones([2, 3])), 1).log_prob(paddle.zeros([2, 3])).shape == [2]
assert MultivariateNormal(paddle.zeros([2]), paddle.eye(2)).sample().shape == [2]
try:
    Normal(0.0, 1.0, scales=2)
except TypeError as error:
    assert "loc, scale" in str(error)
x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
assert paddle.autograd.jacobian(x**2, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
assert paddle.autograd.hessian((x**3).sum(), x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
rows = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
assert paddle.autograd.jacobian(rows**2, rows, batch_axis=0).tolist() == [[[2, 0], [0, 4]], [[6, 0], [0, 8]]]
""",
    "tools": """
from paddle.io import DistributedBatchSampler

sampler = DistributedBatchSampler(range(6), 2, num_replicas=2, rank=1)
assert [list(batch) for batch in sampler] == [[2, 3], [5]] and len(sampler) == 2
sampler.set_epoch(1)
net = paddle.DataParallel(nn.Linear(2, 1))
assert list(net.state_dict()) == ["weight", "bias"] and net(paddle.ones([1, 2])).shape == [1, 1]
assert paddle.distributed.get_rank() == 0 and paddle.distributed.get_world_size() == 1
paddle.distributed.init_parallel_env()
paddle.distributed.spawn(lambda: None)
optimizer = paddle.optimizer.SGD(0.5, parameters=net.parameters())
assert paddle.amp.decorate(net, optimizer, level="O2") == (net, optimizer) and paddle.amp.is_bfloat16_supported()
data = paddle.io.TensorDataset([paddle.randn([8, 2]), paddle.zeros([8, 1])])
model = paddle.Model(nn.Linear(2, 1))
model.prepare(paddle.optimizer.SGD(0.5, parameters=model.parameters()), nn.MSELoss())
late = paddle.callbacks.ReduceLROnPlateau(patience=1, min_delta=1e9, cooldown=2)
saved = paddle.callbacks.ModelCheckpoint(save_dir="kept")
model.fit(data, data, epochs=4, batch_size=4, verbose=0, callbacks=[late, saved, paddle.callbacks.ProgBarLogger(2)])
# Worse in evaluations 2, 3 and 4; lowered after the second one, and after the fourth one, when it has rested.
assert abs(model._optimizer.get_lr() - 0.005) < 1e-9, model._optimizer.get_lr()
import os

assert {"0.pdparams", "3.pdparams", "final.pdparams"} <= set(os.listdir("kept"))
paddle.utils.run_check()
shared = paddle.utils.dlpack.from_dlpack(paddle.utils.dlpack.to_dlpack(paddle.ones([2])))
assert shared.tolist() == [1.0, 1.0] and paddle.version.full_version.startswith("3.")
assert paddle.utils.try_import("json").dumps(1) == "1"
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_surroundings(program, tmp_path):
    head = "import numpy as np\nimport paddle\nimport paddle.nn as nn\nimport paddle.nn.functional as F\n"
    extensions.write(tmp_path, {"program.py": head + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
