"""Layers and draws of PyTorch through the front: what programs give them, and old states."""

import pytest

from support import extensions

PROGRAMS = {
    "names of other kinds": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.number, self.module, self.parameter = 3, nn.Linear(1, 1), nn.Parameter(torch.ones(1))
        self.register_buffer("buffer", torch.ones(1))
        self.register_parameter("absent", None)

    def method(self):
        pass


VALUES = {"parameter": nn.Parameter(torch.ones(1)), "buffer": torch.zeros(1), "module": nn.ReLU()}
REGISTER = {"parameter": Net.register_parameter, "buffer": Net.register_buffer, "module": Net.add_module}
for kind, register in REGISTER.items():
    for name in ("number", "module", "parameter", "buffer", "method", "forward", "training", "", "a.b", "new"):
        net = Net()
        try:
            register(net, name, VALUES[kind])
        except KeyError as error:
            assert name not in (kind, "new") and (not name or name in str(error)), (kind, name)
        else:
            assert name in (kind, "new") and getattr(net, name) is VALUES[kind], (kind, name)
            assert sum(name in table for table in (net._parameters, net._buffers, net._modules)) == 1
for name in ("parameter", "absent"):
    for value in (nn.ReLU(), nn.Buffer(torch.ones(1)), torch.ones(1), 3):
        net = Net()
        try:
            setattr(net, name, value)
        except TypeError as error:
            assert name in str(error) and name in net._parameters
        else:
            raise AssertionError((name, value))
""",
    "tensors that a group holds several times": """
for make in (
    lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    lambda p: torch.optim.Adam(p, lr=0.1),
    lambda p: torch.optim.Adafactor(p, lr=0.1),
    lambda p: torch.optim.RMSprop(p, lr=0.1),
):
    p, q, once = (nn.Parameter(torch.ones(2, 2)) for _ in range(3))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        optimizer = make([p, q, p])
    assert len(seen) == 1 and "several times" in str(seen[0].message)
    assert [id(each) for each in optimizer.param_groups[0]["params"]] == [id(p), id(q), id(p)]
    single = make([once])
    for _ in range(2):
        for each in (p, q, once):
            each.grad = torch.full((2, 2), 0.5)
        optimizer.step()
        single.step()
        single.step()
    assert torch.allclose(p, once) and not torch.allclose(p, q), make
    state = optimizer.state_dict()
    assert state["param_groups"][0]["params"] == [2, 1, 2] and set(state["state"]) == {1, 2}
    copied = pickle.loads(pickle.dumps(optimizer))
    copied.load_state_dict(state)
    p.grad = None
    optimizer.step()
try:
    torch.optim.SGD([{"params": [p]}, {"params": [p]}], lr=0.1)
except ValueError:
    pass
else:
    raise AssertionError
""",
    "sparse tensors in layers and products": """
places = torch.tensor([[0, 0, 2], [1, 3, 0]])


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, places, values, size, dense):
        sparse = torch.sparse_coo_tensor(places, values, size)
        ctx.save_for_backward(None, sparse, dense)
        return sparse @ dense

    @staticmethod
    def backward(ctx, grad):
        nothing, sparse, dense = ctx.saved_tensors
        assert nothing is None and sparse.is_sparse and sparse.shape == (3, 4)
        found = grad @ dense.t()
        return None, found[sparse._indices()[0], sparse._indices()[1]], None, sparse.t() @ grad


values = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
dense = torch.arange(8.0).reshape(4, 2).requires_grad_()
weight = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
(Product.apply(places, values, (3, 4), dense) * weight).sum().backward()
found = values.grad.clone(), dense.grad.clone()
values.grad = dense.grad = None
matrix = torch.zeros(3, 4).index_put((places[0], places[1]), values)
((matrix @ dense) * weight).sum().backward()
assert torch.equal(found[0], values.grad) and torch.equal(found[1], dense.grad)
for layout in (lambda x: x, lambda x: x.to_sparse_csr(), lambda x: x.to_sparse_csc()):
    sparse = layout(torch.sparse_coo_tensor(places, torch.ones(3), (3, 4)))

    class Saved(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(sparse)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            (kept,) = ctx.saved_tensors
            assert kept.layout == sparse.layout and torch.equal(kept.to_dense(), sparse.to_dense())
            return grad

    Saved.apply(torch.ones(1, requires_grad=True)).sum().backward()
try:
    Saved.backward = staticmethod(lambda ctx, grad: ctx.save_for_backward("text"))
    Saved.apply(torch.ones(1, requires_grad=True)).sum().backward()
except TypeError as error:
    assert "str" in str(error)
sparse, dense = torch.sparse_coo_tensor(places, torch.ones(3), (3, 4)), dense.detach()
wanted = sparse.to_dense() @ dense
products = (torch.smm(sparse, dense), 2, 4), (sparse.smm(dense), 2, 4), (torch.hspmm(sparse, dense), 1, 2)
for made, axes, rows in products:
    assert made.is_sparse and made.sparse_dim() == axes and made._nnz() == rows and made.is_coalesced()
    assert torch.equal(made.to_dense(), wanted)
for added in (torch.sspaddmm(summand := products[0][0], sparse, dense, beta=3, alpha=0.5),
              summand.sspaddmm(sparse, dense, beta=3, alpha=0.5)):
    assert added.is_sparse and torch.equal(added.to_dense(), 3.5 * wanted)
""",
    "derivatives of draws with respect to concentrations": """
x = torch.tensor([0.3, 0.2, 0.5, 0.01, 0.97], dtype=torch.float64)
own = torch.tensor([0.5, 1.0, 2.0, 0.1, 40.0], dtype=torch.float64)
total = torch.tensor([3.5, 3.0, 4.0, 9.0, 42.0], dtype=torch.float64)
# By differences of scipy.special.betainc.
slopes = torch.tensor([0.61256517, 0.32765441, 0.29543145, 0.22860527, 0.02432246], dtype=torch.float64)
assert torch.allclose(torch._dirichlet_grad(x, own, total), slopes, rtol=1e-6)
single = torch._dirichlet_grad(x.float()[None], own.float()[None], total.float()[None])
assert single.dtype == torch.float32 and torch.allclose(single.double(), slopes[None], rtol=1e-4)
""",
    "hints of causal masks": """
torch.manual_seed(0)
x, mask = torch.randn(2, 6, 16), nn.Transformer.generate_square_subsequent_mask(6)
other = torch.zeros(6, 6).masked_fill(torch.eye(6).bool(), -torch.inf)
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True), 2)
layer, attention = encoder.layers[0], encoder.layers[0].self_attn
calls = {
    "encoder": lambda mask=None, **given: encoder(x, mask=mask, **given),
    "layer": lambda mask=None, **given: layer(x, src_mask=mask, **given),
    "attention": lambda mask=None, **given: attention(x, x, x, attn_mask=mask, **given)[0],
}
for training in (True, False):
    encoder.train(training)
    for recorded in (True, False):
        for name, call in calls.items():
            with torch.set_grad_enabled(recorded):
                place = training, recorded, name
                assert torch.allclose(call(mask, is_causal=True), call(mask), atol=1e-5), place
                if not training and not recorded:  # the masks alone count
                    assert torch.equal(call(is_causal=True), call()), place
                    if name != "attention":
                        assert torch.equal(call(other, is_causal=True), call(other)), place
                    continue
                try:
                    call(is_causal=True)
                except RuntimeError as error:
                    assert "is_causal" in str(error)
                else:
                    raise AssertionError(place)
""",
    "draws into tensors": """
whole = lambda *args, **named: torch.empty(2000, dtype=torch.long).random_(*args, **named)
for drawn, low, high in [
    (whole(10), 0, 10), (whole(2, 10), 2, 10), (whole(to=10), 0, 10), (whole(**{"from": 2, "to": 10}), 2, 10),
    (whole(2, to=10), 2, 10), (torch.empty(2000).random_(5), 0, 5),
]:
    assert sorted(set(drawn.tolist())) == list(range(low, high))
assert int(whole().min()) >= 0 and int(whole().max()) > 2**60
assert set(torch.empty(99, dtype=torch.bool).random_().tolist()) == {True, False}
drawn = torch.empty(2000).uniform_(**{"from": 1.0, "to": 3.0})
assert 1 <= drawn.min() < 1.1 and 2.9 < drawn.max() < 3
for arguments, named in [((1, 2, 3), {}), ((1,), {"from": 0}), ((), {"until": 1})]:
    try:
        whole(*arguments, **named)
    except TypeError:
        continue
    raise AssertionError((arguments, named))
""",
    "parts of layers that subclasses replace": """
def of(kind, name, change):
    # A class whose part counts its calls, and changes what it makes of its arguments.
    def part(self, *args, **named):
        called.append(name)
        return change(getattr(kind, name), self, *args, **named)
    return type("Own", (kind,), {name: part})

same = lambda native, self, *args, **named: native(self, *args, **named)
twice = lambda native, self, *args, **named: 2 * native(self, *args, **named)
image, rows, words = torch.randn(2, 3, 4, 4), torch.randn(5, 3), torch.randn(2, 5, 4)
encoder, decoder = (4, 2, 8, 0.0), {"batch_first": True}
for kind, name, change, args, named, inputs in [
    (nn.Conv2d, "_conv_forward", twice, (3, 2, 3), {}, [image]),
    (nn.Conv1d, "_conv_forward", twice, (4, 2, 3), {"padding": 1, "padding_mode": "reflect"}, [image[0]]),
    (nn.BatchNorm2d, "_check_input_dim", same, (3,), {}, [image]),
    (nn.InstanceNorm1d, "_check_input_dim", same, (4,), {}, [image[0]]),
    (nn.TransformerEncoderLayer, "_sa_block", twice, encoder, decoder, [words]),
    (nn.TransformerEncoderLayer, "_ff_block", twice, encoder, decoder, [words]),
    (nn.TransformerDecoderLayer, "_sa_block", twice, encoder, decoder, [words, words]),
    (nn.TransformerDecoderLayer, "_mha_block", twice, encoder, decoder, [words, words]),
    (nn.TransformerDecoderLayer, "_ff_block", twice, encoder, decoder, [words, words]),
]:
    called = []
    plain = kind(*args, **named)
    own = of(kind, name, change)(*args, **named)
    own.load_state_dict(plain.state_dict())
    made, wanted = own(*inputs), plain(*inputs)
    assert called == [name] and torch.allclose(made, wanted, atol=1e-6) == (change is same), (kind, name)
    assert "_conv" not in name or torch.allclose(made, 2 * wanted, atol=1e-5)

class Norm(nn.modules.batchnorm._BatchNorm):
    def _check_input_dim(self, input):
        if input.dim() != 2:
            raise ValueError("two axes")

assert torch.allclose(Norm(3)(rows), nn.BatchNorm1d(3)(rows))
try:
    Norm(3)(image)
    raise AssertionError("the class says what it takes")
except ValueError as error:
    assert "two axes" in str(error)

for kind, args in (
    (nn.Linear, (2, 1)), (nn.Conv2d, (1, 1, 1)), (nn.BatchNorm2d, (2,)), (nn.InstanceNorm2d, (2,)),
    (nn.LayerNorm, (2,)), (nn.GroupNorm, (1, 2)), (nn.RMSNorm, (2,)), (nn.Embedding, (2, 2)),
    (nn.LSTM, (2, 2)), (nn.Bilinear, (1, 1, 1)),
):
    called = []
    of(kind, "reset_parameters", same)(*args)
    assert called == ["reset_parameters"], kind
norm = nn.BatchNorm1d(3)
norm(rows)
norm.reset_parameters()
assert norm.running_mean.tolist() == [0.0] * 3 and norm.running_var.tolist() == [1.0] * 3
assert norm.num_batches_tracked == 0
sides = [
    (nn.Conv2d(1, 1, 3, padding=(1, 2)), [2, 2, 1, 1]), (nn.Conv1d(1, 1, 3, padding="same"), [1, 1]),
    (nn.Conv2d(1, 1, (4, 2), padding="same", dilation=2), [1, 1, 3, 3]),
    (nn.ConvTranspose1d(1, 1, 3, padding=1), [1, 1]),
]
for layer, wanted in sides:
    assert list(layer._reversed_padding_repeated_twice) == wanted
""",
    "one number in a list": """
image = torch.ones(1, 1, 6, 6)
conv = nn.Conv2d(1, 1, 3, stride=[2], padding=(1,), dilation=[1])
assert torch.equal(conv(image), F.conv2d(image, conv.weight, conv.bias, [2], (1,), [1])) and conv.stride[0] == 2
assert nn.MaxPool2d([2])(image).shape == nn.AvgPool2d((2,))(image).shape == (1, 1, 3, 3)
bases = {nn.modules.pooling._AdaptiveAvgPoolNd: nn.AdaptiveAvgPool2d, nn.modules.pooling._MaxUnpoolNd: nn.MaxUnpool2d,
         nn.modules.pooling._AdaptiveMaxPoolNd: nn.AdaptiveMaxPool1d, nn.modules.pooling._MaxPoolNd: nn.MaxPool3d}
assert all(issubclass(kind, base) for base, kind in bases.items())
""",
    "tables of rows on the memory of tensors": """
for kind in (nn.Embedding, nn.EmbeddingBag):
    rows = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    layer = kind.from_pretrained(rows, max_norm=1.0)
    layer(torch.tensor([[0, 1]]))
    assert torch.allclose(rows, torch.tensor([[0.6, 0.8], [0.3, 0.4]])) and not layer.weight.requires_grad
trained = nn.Embedding.from_pretrained(torch.ones(3, 2), freeze=False, padding_idx=0)
assert trained.weight.requires_grad and trained.padding_idx == 0
assert nn.Embedding.from_pretrained(torch.tensor([[1, 2], [3, 4]]))(torch.tensor([1])).tolist() == [[3, 4]]
""",
    "losses of other shapes": """
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for loss in (nn.MSELoss(), nn.L1Loss(), F.mse_loss, F.l1_loss):
        assert loss(torch.ones(3, 1), torch.zeros(3)) == 1
    for loss in (nn.SmoothL1Loss(), nn.HuberLoss()):
        assert loss(torch.ones(3, 1), torch.zeros(3)) == 0.5
assert len(caught) == 6 and "broadcast" in str(caught[0].message)
assert isinstance(nn.MSELoss(), nn.modules.loss._Loss) and F.mse_loss(torch.ones(2), torch.zeros(2)) == 1
""",
    "distributions": """
D = torch.distributions
parts = [D.transforms.ExpTransform(), D.transforms.AffineTransform(0.0, 2.0)]
joined = D.transforms.CatTransform(parts, dim=1, lengths=[1, 1])
stacked = D.transforms.StackTransform(parts, dim=1)
assert torch.allclose(joined(torch.ones(1, 2)), stacked(torch.ones(1, 2))) and joined.dim == stacked.dim == 1
torch.set_default_dtype(torch.float64)
assert D.Bernoulli(0.3).probs.dtype == D.Normal(0, 1).sample().dtype == torch.float64
torch.set_default_dtype(torch.float32)
assert D.Normal(0, 1).loc.dtype == torch.float32
""",
    "names of arguments": """
one = torch.ones
for called in (
    lambda: nn.Linear(2, 3)(input=one(1, 2)), lambda: nn.Embedding(3, 2)(input=torch.tensor([1])),
    lambda: nn.Conv2d(1, 1, 1)(input=one(1, 1, 1, 1)), lambda: nn.ReLU(inplace=True)(input=one(1)),
    lambda: nn.BatchNorm1d(2)(input=one(2, 2)), lambda: nn.Sequential(nn.Tanh())(input=one(1)),
    lambda: nn.LSTM(1, 1)(input=one(1, 1, 1), hx=None)[0], lambda: nn.GRUCell(1, 1)(input=one(1, 1), hx=None),
    lambda: nn.Bilinear(1, 1, 1)(input1=one(1, 1), input2=one(1, 1)), lambda: nn.MSELoss()(input=one(1), target=one(1)),
    lambda: nn.PoissonNLLLoss()(log_input=one(1), target=one(1)), lambda: nn.MaxPool1d(1)(input=one(1, 1, 1)),
    lambda: nn.LazyLinear(2)(input=one(1, 2)), lambda: nn.Dropout2d()(input=one(1, 1, 1, 1)),
):
    assert isinstance(called(), torch.Tensor)


class Scaled(nn.Linear):
    def forward(self, x):
        return super().forward(x) * 2


assert Scaled(1, 1)(x=one(1)).shape == (1,)
""",
    "names of attributes": """
layer = nn.Softmax(dim=0)
layer.dim = 1
assert layer(torch.zeros(1, 2)).tolist() == [[0.5, 0.5]] and pickle.loads(pickle.dumps(layer)).dim == 1
layer = nn.Flatten()
layer.start_dim = 0
assert layer(torch.ones(2, 2)).shape == (4,) and layer.end_dim == -1
assert nn.Unflatten(1, (2, 2)).unflattened_size == (2, 2) and nn.ConvTranspose2d(1, 1, 1).transposed
assert nn.RNN(1, 1).mode == "RNN_TANH" and [len(each) for each in nn.LSTM(1, 1, 2).all_weights] == [4, 4]
""",
    "packed sequences": """
packed = nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1), torch.tensor([1, 3]), enforce_sorted=False)
for made, dtype in (
    (packed.double(), torch.float64), (packed.to("cpu", torch.float16), torch.float16), (packed.cpu(), torch.float32),
    (packed.to(device="cpu", dtype=torch.float64), torch.float64), (packed.long(), torch.int64),
    (packed.to(torch.zeros(1, dtype=torch.float64)), torch.float64),
):
    assert made.data.dtype == dtype and made.sorted_indices.tolist() == packed.sorted_indices.tolist()
""",
    "comparisons of strides": """
pairs = torch.arange(6.0).reshape(2, 3)
torch.testing.assert_close(pairs.t().contiguous().t(), pairs, check_stride=False, check_layout=True)
try:
    torch.testing.assert_close(pairs.t().contiguous().t(), pairs, check_stride=True)
except AssertionError as error:
    assert "strides" in str(error)
else:
    raise RuntimeError
""",
    "calls with other tensors": """
class Shifted(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return x * self.weight + getattr(self, "shift", 0)


layer = Shifted()
call = torch.func.functional_call
assert call(layer, {"weight": torch.tensor([2.0]), "shift": torch.tensor([3.0])}, torch.ones(1)) == 5
assert not hasattr(layer, "shift") and call(layer, {"weight": torch.zeros(1)}, (torch.ones(1),)) == 0
layer.shift = 1
assert call(layer, [{"shift": torch.tensor([3.0])}, {"weight": torch.zeros(1)}], torch.ones(1)) == 3
assert layer.shift == 1
try:
    call(layer, {"weight": torch.ones(1), "other": torch.ones(1)}, torch.ones(1), strict=True)
except (ValueError, RuntimeError) as error:
    assert "other" in str(error)
else:
    raise AssertionError
""",
    "old states": """
norm = nn.BatchNorm1d(2)
state = norm.state_dict()
del state["num_batches_tracked"]
assert str(norm.load_state_dict(state)) == "<All keys matched successfully>"
state = nn.Sequential(nn.Linear(1, 1)).state_dict(prefix="module.")
nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
file = io.BytesIO()
torch.save(dict(state), file, _use_new_zipfile_serialization=False)
file.seek(0)
assert torch.equal(torch.load(file)["0.weight"], state["0.weight"])
assert list(state) == ["0.weight", "0.bias"] and list(state._metadata) == ["", "0"]
assert nn.Unflatten(dim=1, unflattened_size=(2, 2))(torch.ones(1, 4)).shape == (1, 2, 2)
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_layers(program, tmp_path):
    head = "import io, pickle, warnings\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
    extensions.write(tmp_path, {"program.py": head + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
