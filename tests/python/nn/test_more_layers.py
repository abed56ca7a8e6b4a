"""Layers that stand for one function: they pass their settings on, print them, and refuse bad ones."""

import numpy as np
import pytest

import lamella as lm
from lamella import nn

X = np.array([[-2.0, -0.5, 0.0, 4.0], [0.5, 1.0, 3.0, -7.0]])
SIGNS = np.array([[1.0, -1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1.0]])
Y = np.array([[0.5, 0.25, 0.75, 0.9], [0.1, 0.2, 0.3, 0.6]])

ACTIVATIONS = [
    (nn.ReLU6(), lambda x: lm.relu6(x)),
    (nn.LeakyReLU(0.3), lambda x: lm.leaky_relu(x, 0.3)),
    (nn.ELU(0.5), lambda x: lm.elu(x, 0.5)),
    (nn.SELU(), lambda x: lm.selu(x)),
    (nn.CELU(2.0), lambda x: lm.celu(x, 2.0)),
    (nn.SiLU(), lambda x: lm.silu(x)),
    (nn.Mish(), lambda x: lm.mish(x)),
    (nn.Softplus(2.0, 3.0), lambda x: lm.softplus(x, 2.0, 3.0)),
    (nn.Softsign(), lambda x: lm.softsign(x)),
    (nn.LogSigmoid(), lambda x: lm.log_sigmoid(x)),
    (nn.Hardswish(), lambda x: lm.hardswish(x)),
    (nn.Hardsigmoid(), lambda x: lm.hardsigmoid(x)),
    (nn.Hardtanh(-2.0, 0.7), lambda x: lm.hardtanh(x, -2.0, 0.7)),
    (nn.Tanhshrink(), lambda x: lm.tanhshrink(x)),
    (nn.Hardshrink(0.6), lambda x: lm.hardshrink(x, 0.6)),
    (nn.Softshrink(0.6), lambda x: lm.softshrink(x, 0.6)),
    (nn.Threshold(0.6, 9.0), lambda x: lm.threshold(x, 0.6, 9.0)),
    (nn.GLU(0), lambda x: lm.glu(x, 0)),
    (nn.RReLU(0.1, 0.3).eval(), lambda x: lm.rrelu(x, 0.1, 0.3)),
    (nn.Softmin(0), lambda x: lm.softmin(x, 0)),
    (nn.Swish(), lambda x: x * lm.sigmoid(x)),
    (nn.ThresholdedReLU(0.7, -1.0), lambda x: lm.where(x > 0.7, x, -1.0)),
    (nn.Maxout(2), lambda x: lm.maximum(x[:, ::2], x[:, 1::2])),
    (nn.Maxout(2, 0), lambda x: lm.maximum(x[:1], x[1:])),
]

WEIGHT = lm.asarray([0.5, 1.0, 2.0, 4.0], dtype="float64")
LOSSES = [
    (nn.CrossEntropyLoss(WEIGHT, 3, "sum", 0.1), (X, np.array([1, 3])),
     lambda x, t: lm.cross_entropy(x, t, WEIGHT, 3, "sum", 0.1)),
    (nn.NLLLoss(WEIGHT, ignore_index=3), (X, np.array([1, 3])), lambda x, t: lm.nll_loss(x, t, WEIGHT, 3)),
    (nn.MSELoss("sum"), (X, Y), lambda x, y: lm.mse_loss(x, y, "sum")),
    (nn.L1Loss("none"), (X, Y), lambda x, y: lm.l1_loss(x, y, "none")),
    (nn.SmoothL1Loss(beta=0.5), (X, Y), lambda x, y: lm.smooth_l1_loss(x, y, beta=0.5)),
    (nn.HuberLoss(delta=0.5), (X, Y), lambda x, y: lm.huber_loss(x, y, delta=0.5)),
    (nn.BCELoss(WEIGHT), (Y, 1 - Y), lambda x, y: lm.binary_cross_entropy(x, y, WEIGHT)),
    (nn.BCEWithLogitsLoss(pos_weight=WEIGHT), (X, Y),
     lambda x, y: lm.binary_cross_entropy_with_logits(x, y, pos_weight=WEIGHT)),
    (nn.KLDivLoss("batchmean", log_target=True), (X, Y), lambda x, y: lm.kl_div(x, y, "batchmean", True)),
    (nn.PoissonNLLLoss(full=True), (X, Y), lambda x, y: lm.poisson_nll_loss(x, y, full=True)),
    (nn.GaussianNLLLoss(full=True), (X, Y, Y), lambda x, y, v: lm.gaussian_nll_loss(x, y, v, True)),
    (nn.SoftMarginLoss(), (X, SIGNS), lm.soft_margin_loss),
    (nn.HingeEmbeddingLoss(0.5), (X, SIGNS), lambda x, y: lm.hinge_embedding_loss(x, y, 0.5)),
    (nn.MarginRankingLoss(0.5), (X, Y, SIGNS), lambda x, y, t: lm.margin_ranking_loss(x, y, t, 0.5)),
    (nn.CosineEmbeddingLoss(0.5), (X, Y, SIGNS[:, 0]), lambda x, y, t: lm.cosine_embedding_loss(x, y, t, 0.5)),
    (nn.TripletMarginLoss(2.0, 1.0, swap=True), (X, Y, SIGNS),
     lambda x, y, z: lm.triplet_margin_loss(x, y, z, 2.0, 1.0, swap=True)),
    (nn.TripletMarginWithDistanceLoss(distance_function=lm.cosine_similarity, margin=0.5, swap=True), (X, Y, SIGNS),
     lambda x, y, z: lm.triplet_margin_with_distance_loss(
         x, y, z, distance_function=lm.cosine_similarity, margin=0.5, swap=True)),
    (nn.MultiMarginLoss(2, 0.5, WEIGHT), (X, np.array([1, 3])),
     lambda x, t: lm.multi_margin_loss(x, t, 2, 0.5, WEIGHT)),
    (nn.MultiLabelMarginLoss("sum"), (X, np.array([[2, 0, -1, 1], [3, -1, 0, 0]])),
     lambda x, t: lm.multilabel_margin_loss(x, t, "sum")),
    (nn.MultiLabelSoftMarginLoss(WEIGHT, "none"), (X, (X > 0) * 1.0),
     lambda x, t: lm.multilabel_soft_margin_loss(x, t, WEIGHT, "none")),
    (nn.CTCLoss(blank=1), (np.zeros((4, 1, 3)), np.array([[2, 0]]), np.array([4]), np.array([2])),
     lambda *a: lm.ctc_loss(*a, blank=1)),
]  # fmt: skip

IMAGE = np.arange(32.0).reshape(1, 2, 4, 4)
IMAGES = [
    (nn.Unfold(2, stride=2), lambda x: lm.unfold(x, 2, stride=2)),
    (nn.PixelUnshuffle(2), lambda x: lm.pixel_unshuffle(x, 2)),
    (nn.Upsample(scale_factor=1.5, mode="bilinear"), lambda x: lm.interpolate(x, None, 1.5, "bilinear")),
    (nn.UpsamplingNearest2d(scale_factor=2), lambda x: lm.repeat(lm.repeat(x, 2, axis=2), 2, axis=3)),
    (nn.UpsamplingBilinear2d((3, 7)), lambda x: lm.interpolate(x, (3, 7), None, "bilinear", True)),
    (nn.ChannelShuffle(2), lambda x: x),
    (nn.Softmax2d(), lambda x: lm.exp(x) / lm.sum(lm.exp(x), axis=1, keepdims=True)),
    (nn.Unflatten(2, (2, -1)), lambda x: lm.reshape(x, (1, 2, 2, 2, 4))),
    (nn.Upsample(3, align_corners=True, mode="bicubic"), lambda x: lm.interpolate(x, 3, None, "bicubic", True)),
]  # fmt: skip


def name(value):
    return repr(value) if isinstance(value, nn.Module) else ""


@pytest.mark.parametrize(("layer", "function"), ACTIVATIONS, ids=name)
def test_activations(layer, function):
    x = lm.asarray(X)
    np.testing.assert_array_equal(layer(x).numpy(), function(x).numpy())
    assert not list(layer.parameters())


@pytest.mark.parametrize(("layer", "arrays", "function"), LOSSES, ids=name)
def test_losses(layer, arrays, function):
    tensors = [lm.asarray(a) for a in arrays]
    np.testing.assert_array_equal(layer(*tensors).numpy(), function(*tensors).numpy())
    assert "reduction=" in repr(layer)
    with pytest.raises(ValueError, match="reduction is"):
        type(layer)(reduction="median")


@pytest.mark.parametrize(("layer", "function"), IMAGES, ids=name)
def test_images(layer, function):
    x = lm.asarray(IMAGE)
    np.testing.assert_allclose(layer(x).numpy(), function(x).numpy(), rtol=1e-14)


def test_pairs_of_image_layers_undo_each_other():
    x = lm.asarray(IMAGE)
    columns = nn.Unfold(2, stride=2)(x)
    np.testing.assert_array_equal(nn.Fold(4, 2, stride=2)(columns).numpy(), IMAGE)
    np.testing.assert_array_equal(nn.PixelShuffle(2)(nn.PixelUnshuffle(2)(x)).numpy(), IMAGE)


def test_channels_are_dealt_out():
    x = lm.reshape(lm.arange(12), (1, 6, 2))
    assert nn.ChannelShuffle(3)(x)[0, :, 0].tolist() == [0, 4, 8, 2, 6, 10]
    assert nn.Flatten(1, 2)(nn.Unflatten(1, (3, 2))(x)).shape == (1, 6, 2)
    one = lm.asarray(IMAGE[0])
    np.testing.assert_allclose(nn.Softmax2d()(one).numpy().sum(0), np.ones((4, 4)))


def test_bilinear():
    rng = np.random.default_rng(8)
    layer = nn.Bilinear(3, 4, 2, dtype="float64")
    a, b = rng.normal(size=(5, 3)), rng.normal(size=(5, 4))
    weight, bias = (p.detach().numpy() for p in (layer.weight, layer.bias))
    expected = np.einsum("ni,oij,nj->no", a, weight, b) + bias
    np.testing.assert_allclose(layer(lm.asarray(a), lm.asarray(b)).detach().numpy(), expected)
    assert np.abs(weight).max() <= 3**-0.5 and nn.Bilinear(3, 4, 2, bias=False).bias is None
    assert layer(lm.asarray(a[:0]), lm.asarray(b[:0])).shape == (0, 2)
    lm.autograd.check_layer(layer, *[lm.tensor(x, stop_gradient=False) for x in (a, b)])
    with pytest.raises(TypeError, match=r"\[Bilinear\] in2_features is an int"):
        nn.Bilinear(3, 4.0, 2)


def test_unpooling():
    x = lm.asarray(np.random.default_rng(9).permutation(2 * 3 * 64).reshape(2, 3, 4, 4, 4).astype("float64"))
    for axes, given in ((1, x[0, :, :, 0, 0]), (2, x[0]), (3, x)):
        pool = getattr(nn, f"MaxPool{axes}d")(2, return_indices=True)
        unpool = getattr(nn, f"MaxUnpool{axes}d")(2)
        values, places = pool(given)
        back = unpool(values, places)
        # The largest elements are in their places, and all others 0.
        kept = np.isin(given.numpy(), values.numpy())
        np.testing.assert_array_equal(back.numpy(), np.where(kept, given.numpy(), 0))
        longer = [5] * axes
        assert unpool(values, places, output_size=longer).shape[-axes:] == tuple(longer)
        whole = (*values.shape[:-axes], *longer)
        assert unpool(values, places, output_size=whole).shape == whole
        assert repr(unpool) == f"MaxUnpool{axes}d(kernel_size=2, stride=2, padding=0)"


def test_pretrained_embeddings():
    table = lm.asarray(np.arange(8.0).reshape(4, 2))
    layer = nn.Embedding.from_pretrained(table)
    assert layer.weight.stop_gradient and layer.weight.dtype == lm.float64 and layer.weight.device == "cpu"
    assert layer(lm.asarray([3, 0])).tolist() == [[6.0, 7.0], [0.0, 1.0]]
    bags = nn.EmbeddingBag.from_pretrained(table, freeze=False, mode="sum")
    assert not bags.weight.stop_gradient and bags(lm.asarray([[0, 1]])).tolist() == [[2.0, 4.0]]
    with lm.no_grad():
        bags.weight.fill_(0.0)
    assert table[3, 1].item() == 7.0
    with pytest.raises(ValueError, match=r"\[Embedding\] a table has two axes"):
        nn.Embedding.from_pretrained(lm.ones((3,)))


@pytest.mark.parametrize("kind", [nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.RReLU, nn.ELU, nn.SELU, nn.CELU, nn.SiLU, nn.Mish,
                                  nn.Hardswish, nn.Hardsigmoid, nn.Hardtanh, nn.Dropout, nn.AlphaDropout])  # fmt: skip
def test_layers_overwrite_nothing(kind):
    kind(inplace=False)
    with pytest.raises(ValueError, match=rf"\[{kind.__name__}\] inplace=True is not taken: a layer's result is a new"):
        kind(inplace=True)


def test_prelu_is_trained():
    layer = nn.PReLU(4, init=0.1, dtype="float64")
    y = layer(lm.asarray(X))
    np.testing.assert_allclose(y.detach().numpy(), np.where(X > 0, X, 0.1 * X))
    y.sum().backward()
    np.testing.assert_allclose(layer.weight.grad.numpy(), np.minimum(X, 0).sum(0))


def test_weights_of_losses_are_buffers():
    loss = nn.CrossEntropyLoss(WEIGHT)
    assert [key for key, _ in loss.named_buffers()] == ["weight"]
    assert loss.to("float32").weight.dtype == lm.float32
    with pytest.raises(TypeError, match=r"\[CrossEntropyLoss\] weight"):
        nn.CrossEntropyLoss("sum")


def test_bad_settings():
    for make in (
        lambda: nn.CELU(0.0),
        lambda: nn.Hardtanh(1.0, 1.0),
        lambda: nn.Softshrink(-1.0),
        lambda: nn.Maxout(1),
        lambda: nn.Maxout(3)(lm.ones((2, 4))),
        lambda: nn.Softmax2d()(lm.ones((2, 4))),
        lambda: nn.ChannelShuffle(0),
    ):
        with pytest.raises(ValueError, match=r"^\[\w+\]"):
            make()


def attention_by_hand(layer, q, k, v, mask=None):
    """`mask` is true where a query does not see a key."""
    heads, size = layer.num_heads, layer.embed_dim // layer.num_heads
    q, k, v = (
        p(lm.asarray(a)).detach().numpy().reshape(*a.shape[:2], heads, size).swapaxes(1, 2)
        for p, a in ((layer.q_proj, q), (layer.k_proj, k), (layer.v_proj, v))
    )
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(size)
    if mask is not None:
        scores = np.where(mask, -np.inf, scores)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    y = (p @ v).swapaxes(1, 2).reshape(q.shape[0], -1, layer.embed_dim)
    return layer.out_proj(lm.asarray(y)).detach().numpy(), p.mean(1)


def test_multihead_attention():
    lm.seed(1)
    rng = np.random.default_rng(0)
    layer = nn.MultiheadAttention(6, 2, kdim=3, vdim=5, batch_first=True, dtype="float64")
    q, k, v = (rng.normal(size=shape) for shape in [(2, 4, 6), (2, 7, 3), (2, 7, 5)])
    tensors = [lm.asarray(a) for a in (q, k, v)]
    expected, weights = attention_by_hand(layer, q, k, v)
    y, none = layer(*tensors)
    assert none is None
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-10, atol=1e-12)
    y, got = layer(*tensors, need_weights=True)
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(got.detach().numpy(), weights, rtol=1e-10)

    padding = np.zeros((2, 7), bool)
    padding[1, 5:] = True
    pairs = np.triu(np.ones((4, 7), bool), 1)
    both = padding[:, None, None] | pairs
    expected, _ = attention_by_hand(layer, q, k, v, both)
    y, _ = layer(*tensors, key_padding_mask=lm.asarray(padding), attn_mask=lm.asarray(pairs))
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-10, atol=1e-12)
    y, _ = layer(*tensors, attn_mask=lm.asarray(np.broadcast_to(both, (2, 2, 4, 7)).reshape(4, 4, 7).copy()))
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-10, atol=1e-12)
    hidden = np.zeros((4, 7), bool)
    hidden[2, 0] = hidden[3, 6] = True
    expected, _ = attention_by_hand(layer, q, k, v, pairs | hidden)
    for mask in (hidden, np.where(hidden, -np.inf, 0.0), np.broadcast_to(hidden, (4, 4, 7)).copy(), pairs | hidden):
        y, _ = layer(*tensors, attn_mask=lm.asarray(mask), is_causal=True)
        np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-10, atol=1e-12)
    expected, _ = attention_by_hand(layer, q, k, v, pairs)
    for settings in ({"is_causal": True}, {"is_causal": True, "need_weights": True}):
        y, _ = layer(*tensors, **settings)
        np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-10, atol=1e-12)


def test_multihead_attention_layouts():
    lm.seed(1)
    rng = np.random.default_rng(0)
    layer = nn.MultiheadAttention(6, 3, bias=False)
    x = lm.asarray(rng.normal(size=(5, 2, 6)).astype("float32"))
    y, _ = layer(x, x, x)
    for i in range(2):
        one, weights = layer(x[:, i], x[:, i], x[:, i], need_weights=True)
        assert weights.shape == (5, 5)
        np.testing.assert_allclose(one.detach().numpy(), y[:, i].detach().numpy(), rtol=1e-4, atol=1e-6)
    y.sum().backward()
    assert all(p.grad is not None for p in layer.parameters())
    layer = nn.MultiheadAttention(6, 3, dropout=0.5)
    assert (layer(x, x, x)[0].detach().numpy() != layer(x, x, x)[0].detach().numpy()).any()
    layer.eval()
    np.testing.assert_array_equal(layer(x, x, x)[0].detach().numpy(), layer(x, x, x)[0].detach().numpy())
    for call in (
        lambda: nn.MultiheadAttention(6, 4),
        lambda: nn.MultiheadAttention(6, 3, dropout=2.0),
        lambda: layer(x, x[0], x),
    ):
        with pytest.raises(ValueError, match="MultiheadAttention"):
            call()


@pytest.mark.parametrize("joined", [True, False])
def test_states_of_attention_that_pytorch_has_written(joined):
    sizes = {} if joined else {"kdim": 3, "vdim": 5}
    layer = nn.MultiheadAttention(6, 2, add_bias_kv=True, **sizes)
    own = {f"0.{name}": tensor for name, tensor in layer.state_dict().items()}
    theirs = {f"0.out_proj.{kind}": own[f"0.out_proj.{kind}"] for kind in ("weight", "bias")}
    theirs |= {f"0.{name}": own[f"0.{name}"].numpy().reshape(1, 1, 6) for name in ("bias_k", "bias_v")}
    theirs["0.in_proj_bias"] = lm.concat([own[f"0.{name}_proj.bias"] for name in "qkv"])
    weights = {name: own[f"0.{name}_proj.weight"] for name in "qkv"}
    if joined:
        theirs["0.in_proj_weight"] = lm.concat(list(weights.values()))
    else:
        theirs |= {f"0.{name}_proj_weight": weight for name, weight in weights.items()}
    names = list(theirs)
    net = nn.Sequential(nn.MultiheadAttention(6, 2, add_bias_kv=True, **sizes))
    assert net.load_state_dict(theirs) == ([], []) and list(theirs) == names
    assert all((tensor == own[name]).all() for name, tensor in net.state_dict().items())
    with pytest.raises(nn.StateDictError, match=r"0\.out_proj\.weight: shape"):
        net.load_state_dict({**theirs, "0.out_proj.weight": lm.ones((2, 2))})


@pytest.mark.parametrize("zeros", [True, False])
@pytest.mark.parametrize("trained", [True, False])
def test_added_keys_of_attention(trained, zeros):
    lm.seed(2)
    rng = np.random.default_rng(4)
    layer = nn.MultiheadAttention(6, 2, add_bias_kv=trained, add_zero_attn=zeros, batch_first=True, dtype="float64")
    assert (layer.bias_k is None) == (layer.bias_v is None) == (not trained)
    q, k = rng.normal(size=(2, 4, 6)), rng.normal(size=(2, 5, 6))
    hidden = np.zeros((2, 1, 4, 5), bool)
    hidden[1, :, :, 3:] = True
    pairs = np.triu(np.ones((4, 5), bool), 1)

    def heads(x):
        return x.reshape(2, -1, 2, 3).swapaxes(1, 2)

    for mask, options in ((hidden, {"key_padding_mask": lm.asarray(hidden[:, 0, 0])}), (pairs, {"is_causal": True})):
        parts = [
            p(lm.asarray(x)).detach().numpy() for p, x in ((layer.q_proj, q), (layer.k_proj, k), (layer.v_proj, k))
        ]
        extra = [p.detach().numpy() for p in (layer.bias_k, layer.bias_v) if p is not None]
        for i, each in enumerate(extra, 1):
            parts[i] = np.concatenate([parts[i], np.broadcast_to(each, (2, 1, 6))], 1)
        parts = [heads(x) for x in parts]
        if zeros:
            parts[1:] = [np.concatenate([x, np.zeros((2, 2, 1, 3))], 2) for x in parts[1:]]
        scores = parts[0] @ parts[1].swapaxes(-1, -2) / 3**0.5
        unseen = np.broadcast_to(mask, (2, 2, 4, 5))
        unseen = np.concatenate([unseen, np.zeros((2, 2, 4, trained + zeros), bool)], -1)
        e = np.where(unseen, 0, np.exp(scores))
        p = e / e.sum(-1, keepdims=True)
        y = (p @ parts[2]).swapaxes(1, 2).reshape(2, 4, 6)
        expected = layer.out_proj(lm.asarray(y)).detach().numpy()
        got, none = layer(lm.asarray(q), lm.asarray(k), lm.asarray(k), **options)
        np.testing.assert_allclose(got.detach().numpy(), expected, rtol=1e-9, atol=1e-12)
        assert none is None
        got, weights = layer(*map(lm.asarray, (q, k, k)), need_weights=True, average_attn_weights=False, **options)
        np.testing.assert_allclose(got.detach().numpy(), expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(weights.detach().numpy(), p, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("norm", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("kind", [nn.Embedding, nn.EmbeddingBag])
def test_tables_of_limited_rows(kind, norm):
    layer = kind(6, 3, max_norm=1.5, norm_type=norm, dtype="float64")
    nn.init.normal_(layer.weight, 0.0, 3.0)
    before = layer.weight.detach().numpy().copy()
    x = lm.asarray([[0, 2], [2, 5]])
    y = layer(x)
    lengths = np.linalg.norm(before, norm, axis=1, keepdims=True)
    limited = np.where(lengths > 1.5, before * 1.5 / lengths, before)
    rows = [0, 2, 5]
    expected = before.copy()
    expected[rows] = limited[rows]
    np.testing.assert_allclose(layer.weight.detach().numpy(), expected, rtol=1e-6)
    found = expected[x.numpy()]
    np.testing.assert_allclose(y.detach().numpy(), found if kind is nn.Embedding else found.mean(1), rtol=1e-6)
    y.sum().backward()
    assert layer.weight.grad.shape == (6, 3) and "max_norm=1.5" in repr(layer)
    assert layer(x[:0]).shape[0] == 0
    with pytest.raises(ValueError, match=rf"\[{kind.__name__}\] max_norm is a number above 0, not 0.0"):
        kind(6, 3, max_norm=0.0)


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("shape", ["rows", "offsets"])
def test_gradients_of_bags_by_frequency(mode, padding, shape):
    """A row's gradient is divided by how often all bags name it; values are those of the plain layer."""
    plain, layer = (
        nn.EmbeddingBag(7, 3, mode, padding, dtype="float64", scale_grad_by_freq=scaled) for scaled in (False, True)
    )
    layer.load_state_dict(plain.state_dict())
    x = lm.asarray([[1, 2, 2, 4], [2, 2, 0, 6], [1, 1, 1, 5]])
    given = (x,) if shape == "rows" else (x.reshape((-1,)), lm.asarray([0, 5, 7]))
    seed = lm.asarray(np.arange(9.0).reshape(3, 3))
    for bags in (plain, layer):
        lm.sum(bags(*given) * seed).backward()
    np.testing.assert_array_equal(layer(*given).detach().numpy(), plain(*given).detach().numpy())
    times = np.maximum(np.bincount(x.numpy().ravel(), minlength=7), 1)[:, None]
    np.testing.assert_allclose(layer.weight.grad.numpy(), plain.weight.grad.numpy() / times, rtol=1e-12)


def test_bags_of_maxima_have_no_frequencies():
    with pytest.raises(ValueError, match=r"\[EmbeddingBag\] scale_grad_by_freq goes with mode 'sum' or 'mean'"):
        nn.EmbeddingBag(7, 3, "max", scale_grad_by_freq=True)


def test_layers_that_draw():
    x = lm.asarray(np.linspace(-1, 1, 96).reshape(1, 2, 6, 8))
    layer = nn.RReLU(0.2, 0.4)
    slopes = (layer(x) / x).numpy()[x.numpy() < 0]
    assert 0.2 <= slopes.min() < slopes.max() <= 0.4
    samples = lm.asarray([[[0.25, 0.75], [0.5, 0.1]]])
    pool = nn.FractionalMaxPool2d(2, output_ratio=0.5, return_indices=True)
    for got, expected in zip(
        pool(x, samples),
        lm.fractional_max_pool2d_with_indices(x, 2, output_ratio=0.5, random_samples=samples),
        strict=True,
    ):
        np.testing.assert_array_equal(got.numpy(), expected.numpy())
    assert nn.FractionalMaxPool3d(2, 3)(lm.ones([2, 5, 5, 5])).shape == (2, 3, 3, 3)
    assert "output_ratio=0.5" in repr(pool)
    with pytest.raises(ValueError, match=r"\[FractionalMaxPool3d\] give one"):
        nn.FractionalMaxPool3d(2)
    bags = nn.EmbeddingBag(4, 3, include_last_offset=True)
    assert bags(lm.asarray([0, 1, 3]), lm.asarray([0, 1, 3])).shape == (2, 3)
