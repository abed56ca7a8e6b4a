"""Texts of tensors, through the front: the examples of PyTorch's documentation, and their rules."""

import json

from support import extensions

PROGRAM = """
import torch

TEXTS = {
    "tensor([1., 2.])": torch.tensor([1.0, 2.0]),
    "tensor(2.5000)": torch.tensor(2.5),
    "tensor([1, 2])": torch.tensor([1, 2]),
    "tensor([ True, False])": torch.tensor([True, False]),
    "tensor([1., 2.], dtype=torch.float64)": torch.tensor([1.0, 2.0]).double(),
    "tensor([1.0000, 2.5000])": torch.tensor([1.0, 2.5]),
    "tensor([1.0000e-05, 1.0000e+00])": torch.tensor([1e-5, 1.0]),
    "tensor([1.0000e+09, 1.0000e+00])": torch.tensor([1e9, 1.0]),
    "tensor([   1., 1000.])": torch.tensor([1.0, 1000.0]),
    "tensor([nan, 1.])": torch.tensor([float("nan"), 1.0]),
    "tensor([   inf, 1.5000])": torch.tensor([float("inf"), 1.5]),
    "tensor([])": torch.tensor([]),
    "tensor([], size=(2, 0))": torch.zeros(2, 0),
    "tensor([], dtype=torch.int64)": torch.zeros(0, dtype=torch.int64),
    "tensor([1.], requires_grad=True)": torch.ones(1, requires_grad=True),
    "tensor([2.], grad_fn=<MulBackward0>)": torch.ones(1, requires_grad=True) * 2,
    "Parameter containing:\\ntensor([1.], requires_grad=True)": torch.nn.Parameter(torch.ones(1)),
    "tensor([[1., 2.],\\n        [3., 4.]])": torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
    "tensor([   0,    1,    2,  ..., 1998, 1999, 2000])": torch.arange(2001),
    "tensor(..., device='meta', size=(2,))": torch.ones(2, device="meta"),
}
for text, x in TEXTS.items():
    assert str(x) == repr(x) == text, (text, str(x))
node = (torch.ones(1, requires_grad=True) * 2).grad_fn
assert node.name() == "MulBackward0" and repr(node).startswith("<MulBackward0 object at 0x")
lines = str(torch.arange(40)).split("\\n")
assert len(lines) == 3 and all(len(line) <= 80 for line in lines) and lines[1].startswith("        ")
assert str(torch.zeros(2, 1, 2)) == "tensor([[[0., 0.]],\\n\\n        [[0., 0.]]])"
assert f"{torch.tensor(2.5)} {torch.tensor(3)} {torch.tensor(2.125):.1f} {torch.tensor([1])}" == "2.5 3 2.1 tensor([1])"
torch.set_printoptions(precision=2, sci_mode=True)
assert str(torch.tensor([0.5])) == "tensor([5.00e-01])"
torch.set_printoptions(profile="default")
torch.set_printoptions(edgeitems=1, threshold=3)
assert str(torch.arange(5)) == "tensor([0,  ..., 4])"
torch.set_printoptions(profile="full")
assert "..." not in str(torch.arange(2000))
"""


def test_texts(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)


MODULES = """
import torch
from torch import nn

parametrized = nn.Linear(2, 2)
nn.utils.parametrize.register_parametrization(parametrized, "weight", nn.Tanh())
TEXTS = {
    "Linear(in_features=2, out_features=3, bias=True)": nn.Linear(2, 3),
    "ReLU()": nn.ReLU(),
    "ReLU(inplace=True)": nn.ReLU(inplace=True),
    "LeakyReLU(negative_slope=0.1, inplace=True)": nn.LeakyReLU(0.1, True),
    "Dropout(p=0.5, inplace=False)": nn.Dropout(),
    "Softmax(dim=1)": nn.Softmax(1),
    "Flatten(start_dim=1, end_dim=-1)": nn.Flatten(),
    "LSTM(2, 3)": nn.LSTM(2, 3),
    "LSTM(2, 3, num_layers=2, batch_first=True, dropout=0.1, bidirectional=True)": nn.LSTM(
        2, 3, num_layers=2, batch_first=True, bidirectional=True, dropout=0.1
    ),
    "RNNCell(2, 3, nonlinearity=relu)": nn.RNNCell(2, 3, nonlinearity="relu"),
    "CrossEntropyLoss()": nn.CrossEntropyLoss(),
    "ZeroPad2d((1, 1, 1, 1))": nn.ZeroPad2d(1),
    "ConstantPad1d(padding=(1, 1), value=2.0)": nn.ConstantPad1d(1, 2.0),
    "Conv2d(2, 2, kernel_size=(3, 3), stride=(1, 1), padding=same)": nn.Conv2d(2, 2, 3, padding="same"),
    "ModuleList(\\n  (0-1): 2 x ReLU()\\n  (2): Tanh()\\n)": nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()]),
    "Sequential(\\n  (0): ReLU()\\n  (1): ReLU()\\n)": nn.Sequential(nn.ReLU(), nn.ReLU()),
    "ModuleDict(\\n  (a): Sequential()\\n)": nn.ModuleDict({"a": nn.Sequential()}),
    "ParametrizedLinear(\\n  in_features=2, out_features=2, bias=True\\n  (parametrizations): ModuleDict(\\n"
    "    (weight): ParametrizationList(\\n      (0): Tanh()\\n    )\\n  )\\n)": parametrized,
}
for text, module in TEXTS.items():
    assert repr(module) == text, (text, repr(module))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(1, 2))

    def extra_repr(self):
        return "size=3\\nkind=a"


assert repr(Net()) == (
    "Net(\\n  size=3\\n  kind=a\\n  (inner): Sequential(\\n    "
    "(0): Linear(in_features=1, out_features=2, bias=True)\\n  )\\n)"
)
assert repr(torch.tensor([[3.0, 1.0]]).max(1)) == (
    "torch.return_types.max(\\nvalues=tensor([3.]),\\nindices=tensor([0]))"
)
"""


def test_texts_of_modules(tmp_path):
    (tmp_path / "program.py").write_text(MODULES)
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)


OPTIMIZERS = """
import torch

p, q = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(2))


class Mine(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"rate": 0.5, "decay": None})


GROUPS = [{"params": p, "name": "a"}, {"params": q, "decay": 1}]
TEXTS = {
    "Mine (\\nParameter Group 0\\n    decay: None\\n    rate: 0.5\\n)": Mine([p]),
    "Mine (\\nParameter Group 0\\n    decay: None\\n    name: a\\n    rate: 0.5\\n\\n"
    "Parameter Group 1\\n    decay: 1\\n    rate: 0.5\\n)": Mine(GROUPS),
}
for text, optimizer in TEXTS.items():
    assert repr(optimizer) == str(optimizer) == text, repr(optimizer)
text = str(torch.optim.Adam([p], lr=0.25))
assert text.startswith("Adam (\\nParameter Group 0\\n    amsgrad: False\\n    betas: (0.9, 0.999)\\n"), text
assert "    lr: 0.25\\n" in text and "    decoupled_weight_decay: False\\n" in text, text

KERNELS = {"foreach": None, "capturable": False, "differentiable": False, "fused": None}
#: By optimizer, the kernels among its options, and defaults that are integers.
DEFAULTS = {
    "ASGD": ("foreach capturable differentiable", {"weight_decay": 0}),
    "Adadelta": ("foreach capturable differentiable", {"weight_decay": 0}),
    "Adafactor": ("foreach", {}),
    "Adagrad": ("foreach differentiable fused", {"weight_decay": 0, "lr_decay": 0, "initial_accumulator_value": 0}),
    "Adam": ("foreach capturable differentiable fused", {"weight_decay": 0}),
    "AdamW": ("foreach capturable differentiable fused", {}),
    "Adamax": ("foreach capturable differentiable", {"weight_decay": 0}),
    "LBFGS": ("", {"lr": 1, "max_eval": 25}),
    "NAdam": ("foreach capturable differentiable", {"weight_decay": 0}),
    "RAdam": ("foreach capturable differentiable", {"weight_decay": 0}),
    "RMSprop": ("foreach capturable differentiable", {"weight_decay": 0, "momentum": 0}),
    "Rprop": ("foreach capturable differentiable", {"step_sizes": (1e-6, 50)}),
    "SGD": ("foreach differentiable fused", {"weight_decay": 0, "momentum": 0, "dampening": 0}),
}
for name, (kernels, integers) in DEFAULTS.items():
    kind = getattr(torch.optim, name)
    wanted = {kernel: KERNELS[kernel] for kernel in kernels.split()} | integers
    made = kind([p], **({"foreach": False} if kernels else {}))
    wanted |= {"foreach": False} if kernels else {}
    again = kind([p])
    again.load_state_dict(made.state_dict())
    for each in (made.defaults, made.param_groups[0], again.param_groups[0], made.state_dict()["param_groups"][0]):
        assert repr({option: each[option] for option in wanted}) == repr(wanted), (name, each)
        assert not (KERNELS.keys() - kernels.split()) & each.keys(), (name, each)
    assert list(made.param_groups[0])[:2] == ["params", "lr"], name
    assert all(f"    {option}: {value}\\n" in repr(made) for option, value in wanted.items()), (name, made)
"""


def test_texts_of_optimizers(tmp_path):
    (tmp_path / "program.py").write_text(OPTIMIZERS)
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)


#: Layers, and PyTorch's texts of them.
LAYERS = [
    ("nn.Embedding(3, 2, sparse=True)", "Embedding(3, 2, sparse=True)"),
    ("nn.LayerNorm(4)", "LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=True)"),
    ("nn.LayerNorm(4, bias=False)", "LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=False)"),
    (
        "nn.LayerNorm((2, 3), eps=1e-3, elementwise_affine=False)",
        "LayerNorm((2, 3), eps=0.001, elementwise_affine=False, bias=False)",
    ),
    ("nn.GroupNorm(2, 4)", "GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)"),
    ("nn.GroupNorm(2, 4, affine=False)", "GroupNorm(2, 4, eps=1e-05, affine=False, bias=False)"),
    ("nn.RMSNorm(4)", "RMSNorm((4,), eps=None, elementwise_affine=True)"),
    ("nn.Upsample(scale_factor=2)", "Upsample(scale_factor=2.0, mode='nearest')"),
    ("nn.Upsample(scale_factor=(2, 1.5), mode='bilinear')", "Upsample(scale_factor=(2.0, 1.5), mode='bilinear')"),
    ("nn.Upsample(size=(3, 4))", "Upsample(size=(3, 4), mode='nearest')"),
    ("nn.AvgPool1d(2)", "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"),
    ("nn.AvgPool1d(3, 2, padding=1)", "AvgPool1d(kernel_size=(3,), stride=(2,), padding=(1,))"),
    ("nn.AvgPool2d((3, 2))", "AvgPool2d(kernel_size=(3, 2), stride=(3, 2), padding=0)"),
    ("nn.MaxUnpool1d(2)", "MaxUnpool1d(kernel_size=(2,), stride=(2,), padding=(0,))"),
    ("nn.MaxUnpool2d((2, 3), stride=(2, 1))", "MaxUnpool2d(kernel_size=(2, 3), stride=(2, 1), padding=(0, 0))"),
    ("nn.LPPool1d(2, 3)", "LPPool1d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)"),
    (
        "nn.LPPool2d(1.5, (2, 3), ceil_mode=True)",
        "LPPool2d(norm_type=1.5, kernel_size=(2, 3), stride=None, ceil_mode=True)",
    ),
    ("nn.FractionalMaxPool2d(3, output_ratio=0.5)", "FractionalMaxPool2d()"),
    ("nn.EmbeddingBag(5, 3)", "EmbeddingBag(5, 3, mode='mean')"),
    ("nn.EmbeddingBag(5, 3, mode='sum', padding_idx=1)", "EmbeddingBag(5, 3, mode='sum', padding_idx=1)"),
    ("nn.EmbeddingBag(5, 3, max_norm=1.0)", "EmbeddingBag(5, 3, max_norm=1.0, mode='mean')"),
    ("nn.LSTM(3, 4)", "LSTM(3, 4)"),
    (
        "nn.LSTM(3, 4, num_layers=2, batch_first=True, dropout=0.5, bidirectional=True)",
        "LSTM(3, 4, num_layers=2, batch_first=True, dropout=0.5, bidirectional=True)",
    ),
    ("nn.LSTM(3, 4, proj_size=2)", "LSTM(3, 4, proj_size=2)"),
    ("nn.GRU(3, 4, bias=False)", "GRU(3, 4, bias=False)"),
    ("nn.RNN(3, 4, nonlinearity='relu')", "RNN(3, 4)"),
    ("nn.RNNCell(3, 4)", "RNNCell(3, 4)"),
    ("nn.LSTMCell(3, 4, bias=False)", "LSTMCell(3, 4, bias=False)"),
    ("nn.LazyLinear(4)", "LazyLinear(in_features=0, out_features=4, bias=True)"),
    (
        "nn.LazyBatchNorm1d()",
        "LazyBatchNorm1d(0, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
    ),
    (
        "nn.LazyInstanceNorm2d()",
        "LazyInstanceNorm2d(0, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
    ),
    (
        "nn.BatchNorm2d(3, momentum=None)",
        "BatchNorm2d(3, eps=1e-05, momentum=None, affine=True, bias=True, track_running_stats=True)",
    ),
    (
        "nn.InstanceNorm1d(3, affine=True)",
        "InstanceNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=False)",
    ),
    (
        "nn.Conv2d(3, 4, 3, padding='same', bias=False)",
        "Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1), padding=same, bias=False)",
    ),
    (
        "nn.ConvTranspose1d(3, 4, 3, output_padding=1, stride=2)",
        "ConvTranspose1d(3, 4, kernel_size=(3,), stride=(2,), output_padding=(1,))",
    ),
    ("nn.AdaptiveAvgPool2d((None, 3))", "AdaptiveAvgPool2d(output_size=(None, 3))"),
    ("nn.Dropout(0.1, inplace=True)", "Dropout(p=0.1, inplace=True)"),
    ("nn.LeakyReLU(0.2)", "LeakyReLU(negative_slope=0.2)"),
    ("nn.Softmax(dim=-1)", "Softmax(dim=-1)"),
    ("nn.CrossEntropyLoss()", "CrossEntropyLoss()"),
    ("nn.TripletMarginLoss(p=3.0)", "TripletMarginLoss()"),
    ("nn.PixelShuffle(2)", "PixelShuffle(upscale_factor=2)"),
    ("nn.Flatten()", "Flatten(start_dim=1, end_dim=-1)"),
    ("nn.Unflatten(1, (2, 3))", "Unflatten(dim=1, unflattened_size=(2, 3))"),
    ("nn.Fold((4, 4), 2)", "Fold(output_size=(4, 4), kernel_size=2, dilation=1, padding=0, stride=1)"),
    ("nn.Bilinear(2, 3, 4)", "Bilinear(in1_features=2, in2_features=3, out_features=4, bias=True)"),
    ("nn.Identity()", "Identity()"),
    ("nn.ReLU6()", "ReLU6()"),
    ("nn.Hardtanh(-2, 2)", "Hardtanh(min_val=-2, max_val=2)"),
    ("nn.Threshold(0.1, 20)", "Threshold(threshold=0.1, value=20)"),
    ("nn.PReLU(3)", "PReLU(num_parameters=3)"),
    ("nn.GLU(1)", "GLU(dim=1)"),
    ("nn.CosineSimilarity()", "CosineSimilarity()"),
    ("nn.ZeroPad2d((1, 2, 3, 4))", "ZeroPad2d((1, 2, 3, 4))"),
    ("nn.ReflectionPad1d(2)", "ReflectionPad1d((2, 2))"),
    ("nn.LocalResponseNorm(2)", "LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1.0)"),
    (
        "nn.SyncBatchNorm(3)",
        "SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
    ),
]

LAYERS_PROGRAM = """
import json
import sys

import torch
from torch import nn

for layer, text in json.loads(sys.argv[1]):
    assert repr(eval(layer)) == text, (layer, repr(eval(layer)))
"""


def test_settings_of_layers(tmp_path):
    (tmp_path / "program.py").write_text(LAYERS_PROGRAM)
    extensions.succeed("-m", "lamella.compat", "program.py", json.dumps(LAYERS), cwd=tmp_path)


DEFAULT_PROGRAM = """
import torch

def shown():
    dtypes = torch.float32, torch.float64, torch.complex64, torch.complex128
    return [[" dtype=" in repr(torch.ones(size, dtype=dtype)) for dtype in dtypes] for size in (2, 0)]

assert shown() == [[False, True, False, True], [False, True, True, True]]
torch.set_default_dtype(torch.float64)
assert shown() == [[True, False, True, False], [True, False, True, True]]
assert repr(torch.ones(2)) == "tensor([1., 1.])" and repr(torch.arange(2)) == "tensor([0, 1])"
torch.set_default_dtype(torch.float32)
assert shown() == [[False, True, False, True], [False, True, True, True]]
"""


def test_the_default_dtype_is_not_printed(tmp_path):
    (tmp_path / "program.py").write_text(DEFAULT_PROGRAM)
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
