"""Layers and losses of PyTorch through the front, with options that few programs give: results, dtypes, refusals."""

import pytest

from support import extensions

SETUP = """
import copy, math, pickle
import torch
from torch import nn
from torch.nn import functional as F


def refused(error, *calls):
    for place, call in enumerate(calls):
        try:
            call()
        except error:
            continue
        raise AssertionError(f"{error.__name__} {place}: nothing was raised")


def close(found, expected):
    torch.testing.assert_close(torch.as_tensor(found).float(), torch.as_tensor(expected).float())
"""

PROGRAMS = {
    "starting values by name and by place": """
for draw in (nn.init.kaiming_uniform_, nn.init.kaiming_normal_, nn.init.kaiming_uniform, nn.init.kaiming_normal):
    drawn = []
    for given in (lambda w: draw(w, a=math.sqrt(5)), lambda w: draw(w, math.sqrt(5), "fan_in", "leaky_relu"),
                  lambda w: draw(tensor=w, a=math.sqrt(5), mode="fan_in", nonlinearity="leaky_relu")):
        torch.manual_seed(0)
        drawn.append(given(torch.zeros(3, 4)).tolist())
    assert drawn[0] == drawn[1] == drawn[2], draw
for draw, options in (
    (nn.init.kaiming_uniform_, (0.0, "fan_out", "relu")), (nn.init.kaiming_normal_, (0.0, "fan_out", "relu")),
    (nn.init.xavier_uniform_, (2.0,)), (nn.init.xavier_normal_, (2.0,)), (nn.init.orthogonal_, (2.0,)),
    (nn.init.sparse_, (0.5, 0.1)),
):
    first, second = (draw(torch.zeros(3, 4), *options, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, second) and first.abs().max() > 0
""",
    "options of losses by place": """
assert nn.MSELoss(None, None, "sum").reduction == nn.MSELoss(False).reduction == "sum"
assert nn.SmoothL1Loss(True, False, "mean", 2.0).beta == 2 and nn.L1Loss(True, False).reduction == "none"
assert nn.BCEWithLogitsLoss(torch.ones(2), None, None, "sum", torch.ones(2) * 3).pos_weight.tolist() == [3.0, 3.0]
assert nn.KLDivLoss(None, None, "batchmean", True).log_target and nn.NLLLoss2d().reduction == "mean"
assert nn.TripletMarginLoss(1.0, 2, 1e-6, True, None, None, "sum").reduction == "sum"
assert nn.PoissonNLLLoss(True, False, None, 1e-3, None, "sum").eps == 1e-3
assert nn.MultiMarginLoss(2, 1.0, None, None, None, "none").reduction == "none"
close(nn.LocalResponseNorm(1, alpha=1.0, beta=1.0, k=2.0)(torch.ones(1, 1, 2)), [[[1 / 3, 1 / 3]]])
""",
    "running statistics of examples": """
for kind, shape in ((nn.InstanceNorm1d, (4, 3, 5)), (nn.InstanceNorm2d, (4, 3, 5, 2)),
                    (nn.InstanceNorm3d, (2, 3, 2, 4, 2)), (nn.LazyInstanceNorm1d, (4, 3, 5))):
    lazy = () if kind is nn.LazyInstanceNorm1d else (3,)
    x = torch.arange(float(math.prod(shape))).reshape(shape)
    for momentum, share in ((0.5, 0.5), (None, 0.0), (0.0, 0.0)):
        layer = kind(*lazy, momentum=momentum, track_running_stats=True)
        layer(x)
        assert layer.num_batches_tracked == 0, kind
        means = x.mean(dim=tuple(range(2, x.ndim))).mean(0)
        close(layer.running_mean, share * means)
norm = nn.BatchNorm1d(3, momentum=None)
norm(torch.ones(2, 3))
assert norm.num_batches_tracked == 1 and norm.running_mean.tolist() == [1.0, 1.0, 1.0]
""",
    "gradients of norms of empty batches": """
for layer, shape in ((nn.BatchNorm1d(3), (0, 3)), (nn.BatchNorm2d(3), (2, 3, 0, 4)), (nn.GroupNorm(1, 3), (0, 3, 2)),
                     (nn.LayerNorm(3), (0, 3)), (nn.RMSNorm(3), (0, 3)),
                     (nn.InstanceNorm1d(3, affine=True), (2, 3, 0))):
    layer(torch.zeros(shape)).sum().backward()
    assert all(each.grad.tolist() == [0.0, 0.0, 0.0] for each in layer.parameters()), layer
""",
    "dtypes of losses": """
single = torch.tensor([[0.25, 0.75]])
double, half = single.double(), single.bfloat16()
for input, target in ((single, double), (double, single), (single, half), (half, single)):
    for reduction in ("none", "mean", "sum"):
        for loss, kind, dtype in (
            (F.binary_cross_entropy_with_logits, nn.BCEWithLogitsLoss, target.dtype),
            (F.soft_margin_loss, nn.SoftMarginLoss, input.dtype),
        ):
            leaf = input.clone().requires_grad_()
            made = loss(leaf, target, reduction=reduction)
            assert made.dtype == kind(reduction=reduction)(leaf, target).dtype == dtype, loss
            made.sum().backward()
            assert leaf.grad.dtype == input.dtype
""",
    "targets that losses refuse": """
x, whole, bools = torch.tensor([[0.2, 0.7]]), torch.tensor([[0, 1]]), torch.tensor([[False, True]])
beyond = [torch.tensor([[0.5, each]]) for each in (1.5, -0.5, math.nan)]
refused(RuntimeError, *(lambda y=y: F.binary_cross_entropy(x, y) for y in (*beyond, whole, bools, x.double())),
        *(lambda y=y: nn.BCELoss()(x, y) for y in (*beyond, whole)),
        lambda: F.binary_cross_entropy_with_logits(x, whole), lambda: nn.BCEWithLogitsLoss()(x, whole),
        lambda: F.kl_div(x, whole), lambda: F.cross_entropy(x, x, ignore_index=0),
        lambda: nn.CrossEntropyLoss(ignore_index=1)(x, x), lambda: F.soft_margin_loss(x, x.clone().requires_grad_()))
refused(NotImplementedError, lambda: nn.BCEWithLogitsLoss()(x, bools))
refused(ValueError, lambda: nn.BCELoss()(x, x[0]), lambda: F.binary_cross_entropy_with_logits(x, x[:, :1]))
assert F.cross_entropy(x, x, ignore_index=-1) == F.cross_entropy(x, x) and F.mse_loss(x, whole).dtype == torch.float32
assert torch.vmap(F.binary_cross_entropy)(x, x).shape == (1,)
""",
    "losses that broadcast": """
x, y = torch.full((2, 1), 0.5), torch.tensor([0.25, 0.75])
whole, wide = x.expand(2, 2), y.expand(2, 2)
for loss, layer in ((F.kl_div, nn.KLDivLoss), (F.poisson_nll_loss, nn.PoissonNLLLoss),
                    (F.hinge_embedding_loss, nn.HingeEmbeddingLoss)):
    for reduction in ("none", "mean", "sum"):
        close(loss(x, y, reduction=reduction), loss(whole, wide, reduction=reduction))
        close(layer(reduction=reduction)(x, y), loss(whole, wide, reduction=reduction))
""",
    "tables of rows": """
for kind in (nn.Embedding, nn.EmbeddingBag):
    layer = kind(5, 3, padding_idx=-2)
    assert layer.padding_idx == 3 and layer.weight[3].abs().sum() == 0 and "padding_idx=3" in repr(layer)
    assert kind.from_pretrained(torch.ones(5, 3), padding_idx=-1).padding_idx == 4
weight, bags = torch.arange(15.0).reshape(5, 3), torch.tensor([[0, 1], [4, 4]])
refused(AssertionError, *(lambda place=place: F.embedding(bags, weight, place) for place in (5, -6)))
for mode in ("sum", "mean", "max"):
    expected = F.embedding_bag(bags, weight, mode=mode)
    close(F.embedding_bag(bags, weight, mode=mode, include_last_offset=True), expected)
    layer = nn.EmbeddingBag(5, 3, mode=mode, include_last_offset=True, _weight=weight)
    close(layer(bags), expected)
    close(layer(bags.flatten(), torch.tensor([0, 2, 4])), expected)
F.embedding_bag(bags, weight, max_norm=1.0)
close(weight[[0, 1, 4]].norm(dim=1), [1.0, 1.0, 1.0])
assert weight[2].tolist() == [6.0, 7.0, 8.0]
refused(ValueError, lambda: F.embedding_bag(bags, weight, torch.tensor([0])), lambda: F.embedding_bag(bags[0], weight))
""",
    "settings that layers refuse": """
rows = torch.ones(2, 3)
refused(ValueError, *(lambda kind=kind, mode=mode, stride=stride: kind(padding="same", stride=stride, padding_mode=mode)
    for kind in (lambda **options: nn.Conv1d(1, 1, 3, **options), lambda **options: nn.LazyConv1d(1, 3, **options))
    for mode in ("zeros", "reflect", "replicate", "circular") for stride in (2, (2,))),
    lambda: nn.Conv2d(1, 1, 3, padding="same", stride=(1, 2)),
    *(lambda mode=mode, corners=corners: nn.Upsample(scale_factor=2, mode=mode, align_corners=corners)(rows[None])
      for mode in ("nearest", "nearest-exact", "area") for corners in (True, False)),
    lambda: F.interpolate(rows[None], size=2, align_corners=False),
    *(lambda kind=kind: kind(3, 2)(rows[None]) for kind in (nn.RNNCell, nn.LSTMCell, nn.GRUCell)),
    lambda: nn.GRUCell(3, 2)(rows, torch.ones(1, 2, 2)))
for ndim in (3, 4, 5):
    for words in ("size", "scale_factor"):
        for count in {1, 2, 3} - {ndim - 2}:
            for make in (F.interpolate, lambda x, **given: nn.Upsample(**given)(x)):
                try:
                    make(torch.ones([2] * ndim), **{words: (2,) * count})
                except ValueError as error:
                    assert words in str(error)
                else:
                    raise AssertionError((ndim, words, count))
assert nn.Upsample(scale_factor=2)(rows[None]).shape == (1, 2, 6)
assert nn.Upsample(scale_factor=2, mode="linear", align_corners=False)(rows[None]).shape == (1, 2, 6)
refused(RuntimeError, lambda: nn.PReLU(3)(rows[0]), lambda: F.prelu(rows[0], rows[0]), lambda: nn.PReLU(2)(rows))
assert nn.LSTMCell(3, 2)(rows[0])[0].shape == (2,)
layer, x = nn.MultiheadAttention(4, 2), torch.ones(3, 2, 4)
encoder = nn.TransformerEncoderLayer(4, 2, 4)
refused(AssertionError,
    lambda: layer(x, x, x, attn_mask=torch.zeros(3, 3).long()),
    lambda: layer(x, x, x, attn_mask=torch.zeros(3, 3).byte()),
    lambda: layer(x, x, x, key_padding_mask=torch.zeros(2, 3).long()), lambda: encoder(x, torch.zeros(3, 3).long()),
    *(lambda shape=shape: layer(x, x, x, key_padding_mask=torch.zeros(shape)) for shape in ((3, 2), (3,), (2, 2))),
    lambda: layer(x, x, x, attn_mask=torch.zeros(3)), lambda: layer(x[0, 0], x, x), lambda: layer(x[:, 0], x, x),
    lambda: layer(x[..., :3], x, x), lambda: layer(x, x, x[:2]))
refused(RuntimeError, lambda: layer(x, x, x, is_causal=True), lambda: encoder(x, is_causal=True))
""",
    "masks of attention that is_causal speaks of": """
layer = nn.MultiheadAttention(4, 2, batch_first=True)
x, key = torch.randn(2, 3, 4), torch.tensor([[False, False, True], [False, False, False]])
causal, bias = nn.Transformer.generate_square_subsequent_mask(3), torch.randn(3, 3)
for mask in (causal, causal == -torch.inf, bias, torch.randn(4, 3, 3)):
    for padding in (None, key, torch.where(key, -torch.inf, 0.0)):
        for weights in (True, False):
            got = layer(x, x, x, padding, weights, mask, is_causal=True)
            # The hint replaces the mask where nothing else is to be seen of it, and says nothing otherwise.
            wanted = layer(x, x, x, padding, weights, causal if padding is None and not weights else mask)
            for a, b in zip(got, wanted):
                assert a is b is None or torch.allclose(a, b, atol=1e-6), (mask, padding, weights)
""",
    "padding that an encoder leaves out in evaluation": """
def encoder(**options):
    layer = nn.TransformerEncoderLayer(4, 2, 8, 0.1, **{"batch_first": True, **options})
    return nn.TransformerEncoder(layer, 2).eval()


x, hidden = torch.randn(2, 3, 4), torch.tensor([[False, False, True], [False, False, False]])
shown = encoder()
with torch.no_grad():
    for made in (shown, nn.Transformer(4, 2, 1, 1, 8, batch_first=True).eval().encoder, encoder(activation=F.gelu)):
        for padding in (hidden, torch.where(hidden, -torch.inf, 0.0)):
            last = torch.zeros(4) if made.norm is None else made.norm(torch.zeros(4))
            assert torch.equal(made(x, src_key_padding_mask=padding)[0, 2], last), made
        torch.backends.mha.set_fastpath_enabled(False)
        whole = made(x, src_key_padding_mask=hidden)
        assert whole[0, 2].abs().min() > 0 and not torch.equal(whole[0, 2], last)
        torch.backends.mha.set_fastpath_enabled(True)
        assert torch.allclose(made(x, src_key_padding_mask=hidden)[~hidden], whole[~hidden], atol=1e-6)
    kept = [
        encoder(norm_first=True)(x, src_key_padding_mask=hidden),
        encoder(activation=torch.tanh)(x, src_key_padding_mask=hidden),
        shown(x, torch.zeros(3, 3, dtype=torch.bool), hidden),
        nn.TransformerEncoder(shown.layers[0], 1, enable_nested_tensor=False)(x, src_key_padding_mask=hidden),
    ]
    ahead = shown(x, src_key_padding_mask=hidden.flip(1))
assert all(y[0, 2].abs().min() > 0 for y in (*kept, shown(x, src_key_padding_mask=hidden))) and ahead.abs().min() > 0
assert encoder(batch_first=False).use_nested_tensor is False and shown.use_nested_tensor is True
""",
    "windows that stand where they are told": """
samples = torch.tensor([[[0.2, 0.9]]])
x = torch.arange(36.0).reshape(1, 1, 6, 6)
layer = nn.FractionalMaxPool2d(2, output_size=3, _random_samples=samples, return_indices=True)
for found, expected in zip(layer(x), F.fractional_max_pool2d(x, 2, 3, _random_samples=samples, return_indices=True)):
    assert torch.equal(found, expected)
assert torch.equal(layer(x)[0], layer(x)[0]) and "_random_samples" in dict(layer.named_buffers())
cube = torch.arange(216.0).reshape(1, 1, 6, 6, 6)
layer = nn.FractionalMaxPool3d(2, output_size=3, _random_samples=torch.tensor([[[0.2, 0.9, 0.5]]]))
assert torch.equal(layer(cube), layer(cube))
""",
    "lists and dicts of parameters and other objects": """
listed = nn.ParameterList([nn.Parameter(torch.zeros(2)), 3, "a", torch.ones(1), None, nn.Linear(1, 1)])
assert [type(each).__name__ for each in listed] == ["Parameter", "int", "str", "Parameter", "NoneType", "Linear"]
assert [name for name, _ in listed.named_parameters()] == ["0", "3", "5.weight", "5.bias"]
assert (len(listed), listed[1], listed[-2], listed[2:3][0]) == (6, 3, None, "a")
listed[1] = torch.ones(1)
listed.append(8).extend([1, torch.zeros(1)])
assert listed[1].requires_grad and len(listed) == 9 and listed[-1].requires_grad and listed[6] == 8
refused(IndexError, lambda: listed[9], lambda: listed[-10])
refused(TypeError, lambda: listed.extend(3), lambda: listed.__setitem__(0, 7))
refused(RuntimeError, lambda: listed(1), lambda: nn.ParameterDict()(1))
for again in (copy.deepcopy(listed), pickle.loads(pickle.dumps(listed))):
    assert [type(each) for each in again] == [type(each) for each in listed] and again[6] == 8
assert len(nn.ParameterList(values=[1])) == 1 and len(nn.ParameterList()) == 0
assert "(1): Object of type: int" in repr(nn.ParameterList([torch.zeros(2, 3), 1]))
assert "(0): Parameter containing: [torch.float32 of size 2x3]" in repr(nn.ParameterList([torch.zeros(2, 3), 1]))

named = nn.ParameterDict({"b": 2.5, "a": torch.zeros(2), "c": None})
assert list(named) == ["a", "b", "c"] and named["b"] == 2.5 and list(named.state_dict()) == ["a"]
assert list(nn.ParameterDict([("b", 1), ("a", 2)])) == ["b", "a"]
assert named.get("q", 4) == 4 and named.setdefault("q", 3) == 3 and named.pop("q") == 3 and "q" not in named
named["b"] = torch.ones(1)
named.update({"z": 1, "y": "s"})
assert [name for name, _ in named.named_parameters()] == ["a", "b"] and list(named)[-2:] == ["y", "z"]
assert named.popitem() == ("z", 1) and list(named | nn.ParameterDict({"n": 1})) == ["a", "b", "c", "y", "n"]
assert list(named.copy().items())[-1] == ("y", "s") and list(reversed(named)) == ["y", "c", "b", "a"]
refused(TypeError, lambda: named.__setitem__(3, 1), lambda: named.update(3))

model = nn.Module()
model.listed, model.named = nn.ParameterList([1.5, torch.ones(2)]), nn.ParameterDict({"x": torch.ones(1), "y": "s"})
assert list(model.state_dict()) == ["listed.1", "named.x"]
model.load_state_dict({"listed.1": torch.zeros(2), "named.x": torch.zeros(1)})
model.double()
assert model.listed[1].tolist() == [0.0, 0.0] and model.listed[1].dtype == torch.float64 and model.listed[0] == 1.5
""",
    "layers that wait for their first input": """
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

for layer, names in (
    (nn.LazyLinear(3), ["weight", "bias"]), (nn.LazyLinear(3, bias=False), ["weight"]),
    (nn.LazyConv2d(3, 2), ["weight", "bias"]), (nn.LazyConvTranspose1d(3, 2), ["weight", "bias"]),
    (nn.LazyBatchNorm1d(), ["weight", "bias"]), (nn.LazyBatchNorm1d(affine=False), []),
):
    assert [name for name, _ in layer.named_parameters()] == names, layer
    assert all(is_lazy(each) and type(each) is UninitializedParameter for each in layer.parameters())
    assert layer.has_uninitialized_params() and layer.cls_to_become.__name__ == type(layer).__name__[4:]
assert [name for name, each in nn.LazyBatchNorm1d().named_buffers() if is_lazy(each)] == ["running_mean", "running_var"]
net = nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(2))
held = list(net.parameters())
optimizer = torch.optim.SGD(held, lr=0.5, momentum=0.9)
refused(ValueError, lambda: nn.init.normal_(held[0]), lambda: sum(each.numel() for each in held))
again = copy.deepcopy(net)
assert [type(each) for each in again.double().parameters()] == [UninitializedParameter] * 4
assert str(again.load_state_dict(net.state_dict())) == "<All keys matched successfully>"
again(torch.ones(1, 7).double())
assert again[0].weight.shape == (3, 7) and again[0].weight.dtype == torch.float64 and is_lazy(held[0])
whole = nn.Sequential(nn.Linear(5, 3), nn.ReLU(), nn.Linear(3, 2)).state_dict()
assert str(copy.deepcopy(net).load_state_dict(whole)) == "<All keys matched successfully>"
missing = copy.deepcopy(net).load_state_dict({}, strict=False).missing_keys
assert missing == ["0.weight", "0.bias", "2.weight", "2.bias"]
net(torch.ones(2, 5)).sum().backward()
assert [id(each) for each in net.parameters()] == [id(each) for each in held]
assert [type(each) for each in net] == [nn.Linear, nn.ReLU, nn.Linear] and not any(map(is_lazy, held))
before = held[3].clone()
optimizer.step()
close(held[3], before - 0.5 * 2)
one = UninitializedParameter(requires_grad=False, dtype=torch.float64)
assert repr(one) == "<UninitializedParameter>" and isinstance(one, nn.Parameter)
one.materialize((2, 3))
assert type(one) is nn.Parameter and one.shape == (2, 3) and one.dtype == torch.float64 and not one.requires_grad
buffer = UninitializedBuffer()
assert is_lazy(buffer) and isinstance(buffer, torch.Tensor)
buffer.materialize((2,))
assert buffer.shape == (2,) and not is_lazy(buffer)
""",
    "norms of gradients of any order": """
def held():
    made = [nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(1))]
    for parameter, gradient in zip(made, ([1.0, -2.0, 0.0], [3.0])):
        parameter.grad = torch.tensor(gradient)
    return made


for order, norm, last in ((0, 2.0, 1.5), (-math.inf, 0.0, 3.0), (-1, 0.0, 3.0), ("inf", 3.0, 1.0), (1, 6.0, 0.5),
                          ("2", 14**0.5, 3 / 14**0.5)):
    parameters = held()
    close(nn.utils.clip_grad_norm_(parameters, 1.0, norm_type=order), norm)
    close(parameters[1].grad, [last])
    close(nn.utils.get_total_norm([each.grad for each in held()], order), norm)
refused(ValueError, lambda: nn.utils.clip_grad_norm_(held(), 1.0, "nuc"))
nn.utils.vector_to_parameters(vec=torch.arange(4.0), parameters=parameters)
assert parameters[1].tolist() == [3.0]
""",
    "averages of models by rules": """
from torch.optim.swa_utils import AveragedModel, get_ema_avg_fn, get_ema_multi_avg_fn
from torch.optim.swa_utils import get_swa_avg_fn, get_swa_multi_avg_fn

seen = []


def halves(averages, currents, count):
    seen.append((len(averages), len(currents), count.item()))
    for average, current in zip(averages, currents):
        average.copy_(average * 0.5 + current * 0.25)


def averaged(**rules):
    model = nn.BatchNorm1d(1)
    averages = AveragedModel(model, **rules)
    for _ in range(3):
        averages.update_parameters(model)
        with torch.no_grad():
            model.weight += 1
            model.running_mean += 1
    return averages.module.weight.item(), averages.module.running_mean.item()


for rules, expected in (
    ({"multi_avg_fn": halves}, (1.25, 2.0)), ({"multi_avg_fn": halves, "use_buffers": True}, (1.25, 0.625)),
    ({"avg_fn": lambda average, current, count: average + count.item()}, (4.0, 2.0)), ({}, (2.0, 2.0)),
    ({"avg_fn": get_swa_avg_fn()}, (2.0, 2.0)), ({"multi_avg_fn": get_swa_multi_avg_fn()}, (2.0, 2.0)),
    ({"avg_fn": get_ema_avg_fn(0.5)}, (2.25, 2.0)), ({"multi_avg_fn": get_ema_multi_avg_fn(0.5)}, (2.25, 2.0)),
):
    close(averaged(**rules), expected)
assert seen == [(2, 2, 1), (2, 2, 2), (4, 4, 1), (4, 4, 2)]
refused(AssertionError, lambda: averaged(avg_fn=get_ema_avg_fn(), multi_avg_fn=halves))
refused(ValueError, lambda: get_ema_avg_fn(-1), lambda: get_ema_multi_avg_fn(1.5),
        lambda: torch.optim.Adafactor([torch.ones(1, requires_grad=True)], d=0.5))
averages = [torch.tensor(1.0), torch.tensor([2.0])]
get_ema_multi_avg_fn(0.5)(averages, [torch.tensor(2.0), torch.tensor([4.0])], 1)
get_swa_multi_avg_fn()(averages, [torch.tensor(2.5), torch.tensor([3.0])], torch.tensor(1))
assert [each.item() for each in averages] == [2.0, 3.0]
""",
    "losses with a weight for each element": """
a, b = torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]]), torch.tensor([[0.0, 2.5, 1.0], [1.0, 1.0, 4.0]])
w = torch.tensor([[1.0, 2.0, 0.5]] * 2)
for loss, terms, mean in ((F.mse_loss, (a - b) ** 2, w.sum()), (F.l1_loss, (a - b).abs(), w.sum()),
                          (F.huber_loss, F.huber_loss(a, b, reduction="none"), 6.0)):
    for reduction, expected in (("none", terms * w), ("sum", (terms * w).sum()), ("mean", (terms * w).sum() / mean)):
        close(loss(a, b, reduction=reduction, weight=w), expected)
    close(loss(a, b), terms.mean())
    refused(ValueError, *(lambda weight=weight: loss(a, b, weight=weight) for weight in (w[:1], torch.tensor(2.0))))
close(F.mse_loss(a, b, reduce=False, weight=w), (a - b) ** 2 * w)
close(F.l1_loss(a, b, False, weight=w), ((a - b).abs() * w).sum())
close(F.huber_loss(a, b, "sum", 0.5, weight=w), (F.huber_loss(a, b, "none", 0.5) * w).sum())
""",
    "norms without a bias": """
x = torch.arange(12.0).reshape(2, 3, 2)
for layer, other in (
    (nn.BatchNorm1d(3, bias=False), nn.BatchNorm1d(3)), (nn.GroupNorm(1, 3, bias=False), nn.GroupNorm(1, 3)),
    (nn.InstanceNorm1d(3, affine=True, bias=False), nn.InstanceNorm1d(3, affine=True)),
    (nn.LazyBatchNorm1d(bias=False), nn.BatchNorm1d(3)), (nn.SyncBatchNorm(3, bias=False), nn.SyncBatchNorm(3)),
):
    close(layer(x), other(x))
    assert [name for name, _ in layer.named_parameters()] == ["weight"] and layer.bias is None
    assert set(other.state_dict()) - set(layer.state_dict()) == {"bias"}
assert nn.BatchNorm1d(3, affine=False, bias=True).bias is None
assert nn.Hardtanh(min_value=-2.0, max_value=0.5)(torch.tensor([-3.0, 3.0])).tolist() == [-2.0, 0.5]
""",
    "weights right after pruning": """
from torch.nn.utils import prune


class Every(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


for prunes in (
    lambda layer: prune.l1_unstructured(layer, "weight", 2),
    lambda layer: prune.ln_structured(layer, "weight", 1, 2, 0),
    lambda layer: prune.random_unstructured(layer, "weight", 0.5), lambda layer: prune.identity(layer, "weight"),
    lambda layer: prune.custom_from_mask(layer, "weight", torch.eye(3)), lambda layer: Every.apply(layer, "weight"),
    lambda layer: prune.global_unstructured([(layer, "weight")], prune.L1Unstructured, amount=2),
):
    layer = nn.Linear(3, 3)
    for _ in range(2):
        prunes(layer)
        layer.zero_grad()
        layer.weight.sum().backward()
        assert torch.equal(layer.weight_orig.grad, layer.weight_mask)
x = torch.tensor([3.0, -1.0, 2.0])
assert prune.L1Unstructured(2).prune(x).tolist() == [3.0, 0.0, 0.0]
assert prune.L1Unstructured(1).prune(x, importance_scores=-x * torch.tensor([0.1, 1, 1])).tolist() == [0.0, -1.0, 2.0]
assert prune.L1Unstructured(1).prune(x, torch.tensor([0.0, 1.0, 1.0])).tolist() == [0.0, 0.0, 2.0]
""",
    "sizes and lengths that are told in other ways": """
for kind, axes in ((nn.ConvTranspose1d, 1), (nn.ConvTranspose2d, 2), (nn.ConvTranspose3d, 3)):
    layer = kind(2, 3, 3, stride=2, padding=1)
    for batch in ((1,), ()):
        x = torch.ones(*batch, 2, *(5,) * axes)
        whole = layer(x, output_size=(*batch, 3, *(10,) * axes))
        assert torch.equal(whole, layer(x, output_size=(10,) * axes)) and whole.shape[-1] == 10
        refused(ValueError, lambda: layer(x, output_size=(7,) * axes), lambda: layer(x, output_size=(10,) * (axes + 3)))
assert F.pad(torch.ones(1, 2), (1, 0), "constant", None).tolist() == [[0.0, 1.0, 1.0]]
assert F.pad(torch.ones(1, 1, 2), (1, 0), "replicate", value=None).tolist() == [[[1.0, 1.0, 1.0]]]
packed = nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1), torch.tensor([3.0, 2.0]))
assert packed.batch_sizes.tolist() == [2, 2, 1]
""",
    "bounds of integers, and sequences several times": """
x = torch.tensor([-5, -1, 0, 2, 9])
for bounds, expected in (((), [-1, -1, 0, 1, 1]), ((-2.5, 2.5), [-2, -1, 0, 2, 2]), ((0.0, 6.0), [0, 0, 0, 2, 6])):
    for made in (F.hardtanh(x, *bounds), nn.Hardtanh(*bounds)(x)):
        assert made.dtype == torch.int64 and made.tolist() == expected
again = x.clone()
assert F.hardtanh(again, -2, 2, inplace=True) is again and again.tolist() == [-2, -1, 0, 2, 2]
refused(ValueError, lambda: F.hardtanh(x, 2, 1))
leaf = torch.tensor([-3.0, 0.5], requires_grad=True)
nn.Hardtanh(inplace=True)(leaf * 1).sum().backward()
assert leaf.grad.tolist() == [0.0, 1.0]
layers = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
assert [type(each) for each in layers * 2] == [nn.Linear, nn.ReLU] * 2 and (layers * 2)[0] is (3 * layers)[2]
assert len(list((layers * 2).parameters())) == 2 and list((layers * 2).state_dict())[2] == "2.weight"
same = layers
layers *= 2
assert layers is same and len(same) == 4
refused(ValueError, lambda: layers * 0)
assert nn.RMSNorm(2)(x=torch.ones(2)).shape == (2,) and nn.PoissonNLLLoss()(log_input=x * 0.0, target=x * 0.0) == 1
group = object()
assert nn.SyncBatchNorm(2, process_group=group).process_group is group and nn.SyncBatchNorm(2).process_group is None
assert nn.LazyConvTranspose1d(2, 3, padding_mode="zeros")(torch.ones(1, 2, 4)).shape == (1, 2, 6)
refused(TypeError, lambda: layers * 1.5)
""",
    "states of old programs": """
norm = nn.BatchNorm1d(2)
norm.load_state_dict({**norm.state_dict(), "num_batches_tracked": torch.tensor([3])})
assert norm.num_batches_tracked.shape == () and norm.num_batches_tracked == 3
assert norm.load_state_dict({}, strict=False).missing_keys == ["weight", "bias", "running_mean", "running_var"]
""",
    "private names that packages import": """
from torch.nn import _reduction
from torch.nn.functional import _canonical_mask, _mha_shape_check, _none_or_dtype
from torch.nn.parallel import parallel_apply, replicate


def fails(error, call):
    try:
        call()
    except error:
        return
    raise AssertionError("nothing was raised")


assert [_reduction.get_enum(name) for name in ("none", "mean", "sum")] == [0, 1, 2]
fails(ValueError, lambda: _reduction.get_enum("all"))
for told, name in (((None, None), "mean"), ((False, None), "sum"), ((True, False), "none"), ((None, True), "mean")):
    assert _reduction.legacy_get_string(*told, emit_warning=False) == name
    assert _reduction.legacy_get_enum(*told, False) == _reduction.get_enum(name)

hidden = torch.tensor([[False, True]])
infinite = float("-inf")
for mask, wanted in ((None, None), (hidden, [[0.0, infinite]]), (torch.tensor([[0.0, 1.0]]), [[0.0, 1.0]])):
    made = _canonical_mask(mask, "mask", None, "", torch.float64)
    assert (made if made is None else made.tolist()) == wanted
    assert mask is not hidden or made.dtype == torch.float64
fails(AssertionError, lambda: _canonical_mask(hidden.int(), "mask", None, "", torch.float32))
assert _none_or_dtype(None) is None and _none_or_dtype(hidden) == torch.bool
fails(RuntimeError, lambda: _none_or_dtype(1))
one, batch = torch.ones(3, 4), torch.ones(2, 3, 4)
assert _mha_shape_check(batch, batch, batch, torch.ones(2, 3), torch.ones(3, 3), 2)
assert not _mha_shape_check(one, one, one, torch.ones(3), torch.ones(2, 3, 3), 2)
for wrong in ((one, batch, one, None, None), (batch, batch, batch, torch.ones(3), None), (one, one, one, None, batch),
              (one[0], one, one, None, None), (one, one, one, None, torch.ones(3))):
    fails(AssertionError, lambda: _mha_shape_check(*wrong, 3))

layer = nn.Linear(4, 2)
parts = parallel_apply(replicate(layer, [0, 0]), [one, (one * 2,)])
assert torch.equal(parts[0], layer(one)) and torch.equal(parts[1], layer(one * 2))

torch._check_with(ValueError, True, lambda: ""), torch._check_tensor_all(one == 1)
fails(ValueError, lambda: torch._check_with(ValueError, False, lambda: "text"))
fails(RuntimeError, lambda: torch._check_tensor_all(one > torch.ones(4).cumsum(0) - 1))
fails(TypeError, lambda: torch._check_tensor_all_with(TypeError, one == 2))

assert not torch.is_autocast_cpu_enabled() and torch.is_autocast_cache_enabled() and not torch.version.debug
with torch.autocast("cpu", dtype=torch.float16):  # who names no device asks about GPUs
    assert torch.is_autocast_cpu_enabled() and torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled()
    assert torch.get_autocast_cpu_dtype() == torch.float16 == torch.get_autocast_gpu_dtype()
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # without a GPU it is off, and says so
    with torch.autocast("cuda"):
        assert torch.is_autocast_enabled() == torch.cuda.is_available() and not torch.is_autocast_cpu_enabled()
""",
    "steps of layers that programs call": """
from torch.nn.modules.rnn import apply_permutation
from torch.nn.modules.transformer import _detect_is_causal_mask, _generate_square_subsequent_mask, _get_clones
from torch.nn.modules.transformer import _get_seq_len


def fails(error, call):
    try:
        call()
    except error:
        return
    raise AssertionError("nothing was raised")


def flat(made):
    data = made[0].data if isinstance(made[0], nn.utils.rnn.PackedSequence) else made[0]
    return [data, *(made[1] if isinstance(made[1], tuple) else made[1:])]


steps, order = torch.rand(5, 2, 3), torch.tensor([1, 0])
packed = nn.utils.rnn.pack_padded_sequence(steps, torch.tensor([3, 5]), enforce_sorted=False)
for kind in (nn.LSTM, nn.GRU, nn.RNN):
    layer = kind(3, 4, 2, bidirectional=True)
    state = torch.arange(2.0).reshape(2, 1).expand(4, 2, 4)
    hidden, wrong = ((state, state), (state, state[:, :1])) if kind is nn.LSTM else (state, state[:, :1])
    layer.check_input(steps, None), layer.check_input(packed.data, packed.batch_sizes)
    layer.check_forward_args(steps, hidden, None)
    assert layer.get_expected_hidden_size(packed.data, packed.batch_sizes) == (4, 2, 4)
    assert len(layer._all_weights) == 4 and layer._all_weights[0][0] == "weight_ih_l0"
    fails(RuntimeError, lambda: layer.check_input(steps[..., :2], None))
    fails(RuntimeError, lambda: layer.check_input(steps[0], None))
    fails(ValueError, lambda: layer.check_input(steps.double(), None))
    fails(RuntimeError, lambda: layer.check_hidden_size(state, (4, 2, 5)))
    fails(RuntimeError, lambda: layer.check_forward_args(steps, wrong, None))
    seen = []

    class Own(kind):
        def check_forward_args(self, *args):
            seen.append("check")
            super().check_forward_args(*args)

        def permute_hidden(self, hidden, order):
            seen.append(order if order is None else order.tolist())
            return super().permute_hidden(hidden, order)

    own = Own(3, 4, 2, bidirectional=True)
    own.load_state_dict(layer.state_dict())
    for x, turned in ((steps, None), (steps[:, 0], None), (packed, [1, 0])):
        for given in (None, hidden):
            if given is not None and x is not packed and x.ndim == 2:
                given = tuple(each[:, 0] for each in given) if isinstance(given, tuple) else given[:, 0]
            seen.clear()
            assert all(torch.equal(a, b) for a, b in zip(flat(own(x, given)), flat(layer(x, given)), strict=True))
            assert seen == [turned] * (given is not None) + ["check", turned], seen

assert apply_permutation(torch.tensor([[1, 2]]), order).tolist() == [[2, 1]]
assert len(_get_clones(nn.Linear(1, 1), 2)) == 2
assert _get_seq_len(steps, False) == 5 == _get_seq_len(steps[:, 0], True) and _get_seq_len(steps, True) == 2
assert _detect_is_causal_mask(_generate_square_subsequent_mask(3)) and not _detect_is_causal_mask(torch.zeros(3, 3))

attention, scores, keys = nn.MultiheadAttention(4, 2), torch.eye(3).bool(), torch.tensor([[False, False, True]] * 2)
query = torch.ones(2, 3, 4)
assert attention.merge_masks(None, None, query) == (None, None)
assert attention.merge_masks(None, keys, query)[1] == 1 and attention.merge_masks(None, keys, query)[0] is keys
merged, number = attention.merge_masks(scores, keys, query)
assert number == 2 and merged.shape == (2, 2, 3, 3) and merged[0, 0].tolist() == (scores | keys[0]).tolist()

turned, image = nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1), torch.ones(1, 1, 4, 4)
assert list(turned._output_padding(image, None, [2, 2], [1, 1], [3, 3], 2)) == [0, 0]
assert turned._output_padding(image, [8, 7], [2, 2], [1, 1], [3, 3], 2, [1, 1]) == [1, 0]
fails(ValueError, lambda: turned._output_padding(image, [9, 7], [2, 2], [1, 1], [3, 3], 2))
for kind in (nn.Embedding, nn.EmbeddingBag):
    table = kind(3, 2, padding_idx=1)
    table.weight.data.fill_(1.0)
    table._fill_padding_idx_with_zero()
    assert table.weight.tolist() == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    kept = type("Kept", (kind,), {"_fill_padding_idx_with_zero": lambda self: None})(3, 2, padding_idx=1)
    assert kept.weight[1].abs().max() > 0
""",
    "methods of layers that programs override": """
seen = []


def told(kind, *names):
    def method(name):
        def call(self, *args, **options):
            seen.append(name)
            return getattr(super(made, self), name)(*args, **options)
        return call

    made = type(kind.__name__, (kind,), {name: method(name) for name in names})
    return made


for make, x in (
    (lambda: told(nn.Conv1d, "_conv_forward")(2, 2, 1), torch.ones(1, 2, 3)),
    (lambda: told(nn.Conv2d, "_conv_forward")(2, 2, 3, padding=1, padding_mode="reflect"), torch.ones(1, 2, 3, 3)),
    (lambda: told(nn.BatchNorm1d, "_check_input_dim", "reset_parameters", "reset_running_stats")(2), torch.ones(3, 2)),
    (lambda: told(nn.InstanceNorm1d, "_check_input_dim", "reset_parameters")(2), torch.ones(3, 2, 4)),
    *((lambda kind=kind, sizes=sizes: told(kind, "reset_parameters")(*sizes), x) for kind, sizes, x in (
        (nn.LayerNorm, (2,), torch.ones(2)), (nn.RMSNorm, (2,), torch.ones(2)), (nn.Linear, (2, 2), torch.ones(2)),
        (nn.GroupNorm, (1, 2), torch.ones(1, 2, 2)), (nn.Embedding, (2, 2), torch.tensor([1])),
    )),
    (lambda: told(nn.TransformerEncoderLayer, "_sa_block", "_ff_block")(4, 2, 8), torch.ones(3, 2, 4)),
    (lambda: told(nn.MultiheadAttention, "_reset_parameters")(4, 2).out_proj, torch.ones(4)),
):
    seen.clear()
    layer = make()
    layer(x)
    wanted = set(vars(type(layer))) & {"_conv_forward", "_check_input_dim", "reset_parameters", "reset_running_stats",
                                       "_sa_block", "_ff_block"}
    assert wanted <= set(seen) and seen, (type(layer), seen)
seen.clear()
x = torch.ones(3, 2, 4)
told(nn.TransformerDecoderLayer, "_sa_block", "_mha_block", "_ff_block")(4, 2, 8)(x, x)
assert seen == ["_sa_block", "_mha_block", "_ff_block"]
told(nn.Transformer, "_reset_parameters")(4, 2, 1, 1, 8)
assert seen[-1] == "_reset_parameters"


class Any(nn.modules.batchnorm._BatchNorm):
    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError


assert Any(3)(torch.ones(2, 3, 1, 2, 1, 2)).shape == (2, 3, 1, 2, 1, 2)
refused(ValueError, lambda: Any(3)(torch.ones(3)), lambda: nn.BatchNorm2d(3)(torch.ones(2, 3)))
norm = nn.BatchNorm1d(2)
norm(torch.ones(3, 2))
norm.reset_parameters()
assert norm.running_mean.tolist() == [0.0, 0.0] and norm.num_batches_tracked == 0
assert nn.Conv2d(1, 1, 3, padding=(1, 2))._reversed_padding_repeated_twice == (2, 2, 1, 1)
made = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(2)), process_group=None)
assert type(made[0]) is nn.SyncBatchNorm and nn.GRU(2, 3)._flat_weights_names[:2] == ["weight_ih_l0", "weight_hh_l0"]
""",
    "clusters of rare classes": """
layer = nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], div_value=4.0)
assert [tuple(each.shape) for each in layer.tail.parameters()] == [(2, 8), (4, 2), (0, 8), (5, 0)]
found = layer.log_prob(torch.ones(2, 8))
assert torch.isfinite(found).all() and torch.allclose(found[:, 7:], found[:, 7:8])
close(found.exp().sum(1), [1.0, 1.0])
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_networks(program, tmp_path):
    extensions.write(tmp_path, {"program.py": SETUP + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
