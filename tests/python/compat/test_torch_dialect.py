"""Where PyTorch's words mean something else than Lamella's: expressions, with what PyTorch says of them."""

import json
import subprocess
import sys

import pytest

from support import extensions

#: Expressions; tensors are compared as lists. ``x`` is [[1, 2, 3], [6, 5, 4]] in float32, ``i`` the same in int64.
CASES = {
    # Reductions: named pairs, the sample's variance, axes by "dim".
    "x.sum(dim=1, keepdim=True)": [[6.0], [15.0]],
    "torch.sum(x, (0, 1))": 21.0,
    "i.float().mean(0)": [3.5, 3.5, 3.5],
    "x.max(1).values": [3.0, 6.0],
    "x.max(dim=1, keepdim=True)[1]": [[2], [0]],
    "torch.max(x, torch.tensor(3.0))": [[3.0, 3.0, 3.0], [6.0, 5.0, 4.0]],
    "x.min()": 1.0,
    "x.amax(dim=0)": [6.0, 5.0, 4.0],
    "torch.tensor([1.0, 3.0]).std()": 2.0**0.5,
    "torch.tensor([1.0, 3.0]).var(unbiased=False)": 1.0,
    "torch.var(x, 1)": [1.0, 1.0],
    "torch.var(x, 1, False, True)": [[2 / 3], [2 / 3]],
    "torch.std_mean(x, dim=1)[0]": [1.0, 1.0],
    "torch.var(x, False)": 35 / 12,
    "x.median(1)": [[2.0, 5.0], [1, 1]],
    "x.sort(descending=True)[0]": [[3.0, 2.0, 1.0], [6.0, 5.0, 4.0]],
    "torch.sort(x, dim=0).indices": [[0, 0, 0], [1, 1, 1]],
    "x.argsort(1)": [[0, 1, 2], [2, 1, 0]],
    "x.topk(2, dim=1).indices": [[2, 1], [0, 1]],
    "x.kthvalue(1).values": [1.0, 4.0],
    "x.norm()": 91.0**0.5,
    "x.norm(p=1, dim=1)": [6.0, 15.0],
    "x.cumsum(dim=1)": [[1.0, 3.0, 6.0], [6.0, 11.0, 15.0]],
    "x.prod(1)": [6.0, 120.0],
    "(x > 2).any(dim=1)": [True, True],
    "torch.all(x > 0)": True,
    "x.argmax()": 3,
    "torch.logsumexp(torch.zeros(2, 2), dim=1)": [0.6931471805599453] * 2,
    "torch.unique(torch.tensor([3, 1, 3]), return_counts=True)": [[1, 3], [1, 2]],
    "torch.nonzero(x > 4)": [[1, 0], [1, 1]],
    "(x > 4).nonzero(as_tuple=True)": [[1, 1], [0, 1]],
    "torch.where(x > 4)": [[1, 1], [0, 1]],
    "torch.where(x > 4, x, 0.0)": [[0.0, 0.0, 0.0], [6.0, 5.0, 0.0]],
    "torch.histc(x, bins=2, min=1, max=6)": [3.0, 3.0],
    "torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3]), right=True)": [2],
    "torch.bucketize(torch.tensor([3]), torch.tensor([1, 3, 5]))": [1],
    # Shapes.
    "x.view(3, -1).size()": [3, 2],
    "x.view([6]).shape": [6],
    "x.reshape(1, 6)": [[1.0, 2.0, 3.0, 6.0, 5.0, 4.0]],
    "x.size(-1)": 3,
    "x.numel()": 6,
    "x.dim()": 2,
    "len(x)": 2,
    "x.t()": [[1.0, 6.0], [2.0, 5.0], [3.0, 4.0]],
    "x.transpose(0, 1).shape": [3, 2],
    "torch.transpose(x, dim0=0, dim1=1).shape": [3, 2],
    "x.permute(1, 0).shape": [3, 2],
    "x.permute(dims=(1, 0)).shape": [3, 2],
    "x.unsqueeze(0).unsqueeze(dim=-1).shape": [1, 2, 3, 1],
    "x.unsqueeze(1).squeeze().shape": [2, 3],
    "x.squeeze(0).shape": [2, 3],
    "x.repeat(2, 1).shape": [4, 3],
    "x.repeat(2, 1, 1).shape": [2, 2, 3],
    "torch.tensor([1, 2]).repeat_interleave(2)": [1, 1, 2, 2],
    "torch.repeat_interleave(i, 2, dim=1)[0]": [1, 1, 2, 2, 3, 3],
    "x.expand(2, 2, 3).shape": [2, 2, 3],
    "torch.zeros(1, 3).expand(4, -1).shape": [4, 3],
    "x.expand_as(torch.zeros(5, 2, 3)).shape": [5, 2, 3],
    "[p.shape for p in torch.arange(5).split(2)]": [[2], [2], [1]],
    "[p.tolist() for p in torch.arange(5).split([2, 3])]": [[0, 1], [2, 3, 4]],
    "[p.shape for p in torch.chunk(torch.arange(5), 2)]": [[3], [2]],
    "x.unbind(1)[2]": [3.0, 4.0],
    "torch.stack([x, x], dim=2).shape": [2, 3, 2],
    "torch.cat((x, x), 1).shape": [2, 6],
    "torch.cat([x, x], dim=-1).shape": [2, 6],
    "torch.flip(x, [0])": [[6.0, 5.0, 4.0], [1.0, 2.0, 3.0]],
    "x.flip(1)[0]": [3.0, 2.0, 1.0],
    "x.roll(1, 1)[0]": [3.0, 1.0, 2.0],
    "torch.flatten(torch.zeros(2, 3, 4), start_dim=1).shape": [2, 12],
    "torch.zeros(2, 12).unflatten(1, (3, 4)).shape": [2, 3, 4],
    "torch.arange(6).unfold(0, 3, 2)": [[0, 1, 2], [2, 3, 4]],
    "torch.meshgrid(torch.arange(2), torch.arange(3))[0].shape": [2, 3],
    "torch.tile(x, (1, 2)).shape": [2, 6],
    "torch.movedim(torch.zeros(2, 3, 4), 0, 2).shape": [3, 4, 2],
    "x.narrow(1, 1, 2)": [[2.0, 3.0], [5.0, 4.0]],
    "torch.diagonal(torch.eye(3)).sum()": 3.0,
    "torch.tril(torch.ones(2, 2), diagonal=-1)": [[0.0, 0.0], [1.0, 0.0]],
    "torch.triu(torch.ones(2, 2), 1)": [[0.0, 1.0], [0.0, 0.0]],
    "torch.Size([2, 3]).numel()": 6,
    "repr(x.size())": "torch.Size([2, 3])",
    # Elements.
    "x.masked_fill(x > 4, 0.0)": [[1.0, 2.0, 3.0], [0.0, 0.0, 4.0]],
    "x.clone().masked_fill_(x > 4, 0)": [[1.0, 2.0, 3.0], [0.0, 0.0, 4.0]],
    "x.gather(1, torch.tensor([[0], [1]]))": [[1.0], [5.0]],
    "torch.gather(x, dim=1, index=torch.tensor([[2], [2]]))": [[3.0], [4.0]],
    "torch.zeros(2, 3).scatter_(1, torch.tensor([[1], [2]]), 1.0)": [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    "torch.zeros(2, 3).scatter_(1, torch.tensor([[1], [2]]), value=2)": [[0.0, 2.0, 0.0], [0.0, 0.0, 2.0]],
    "torch.zeros(3).scatter_add_(0, torch.tensor([0, 0]), torch.ones(2))": [2.0, 0.0, 0.0],
    "torch.zeros(3).index_add_(dim=0, index=torch.tensor([1]), source=torch.ones(1))": [0.0, 1.0, 0.0],
    "x.index_select(1, torch.tensor([2, 0]))": [[3.0, 1.0], [4.0, 6.0]],
    "torch.take_along_dim(x, torch.tensor([[2], [0]]), dim=1)": [[3.0], [6.0]],
    "torch.isin(i, torch.tensor([1, 6]))": [[True, False, False], [True, False, False]],
    "x[x > 4]": [6.0, 5.0],
    "x[:, [-1]]": [[3.0], [4.0]],
    "x[None, ..., 0].shape": [1, 2],
    # Arithmetic.
    "torch.add(x, 1, alpha=2)[0]": [3.0, 4.0, 5.0],
    "x.sub(x, alpha=2)[0]": [-1.0, -2.0, -3.0],
    "torch.zeros(2).add_(torch.ones(2), alpha=-0.5)": [-0.5, -0.5],
    "torch.div(torch.tensor([7, -7]), 2, rounding_mode='floor')": [3, -4],
    "torch.div(torch.tensor([7, -7]), 2, rounding_mode='trunc')": [3, -3],
    "torch.tensor([7]) / 2": [3.5],
    "x.clamp(min=2, max=5)": [[2.0, 2.0, 3.0], [5.0, 5.0, 4.0]],
    "x.clamp_min(4)[0]": [4.0, 4.0, 4.0],
    "torch.clone(x).clamp_(max=2)[1]": [2.0, 2.0, 2.0],
    "x.eq(x).sum().item()": 6,
    "torch.equal(x, x.clone())": True,
    "torch.allclose(x, x) and not x.allclose(x + 1, atol=0.5)": True,
    "x.mm(x.t())[0]": [14.0, 28.0],
    "torch.einsum('ij,ij->i', x, x)": [14.0, 77.0],
    "torch.einsum('ij,kj->ik', [x, x]).shape": [2, 2],
    "torch.addmm(torch.ones(2, 2), x, x.t(), beta=2, alpha=0)": [[2.0, 2.0], [2.0, 2.0]],
    "torch.lerp(torch.zeros(1), torch.ones(1), 0.25)": [0.25],
    "torch.addcmul(torch.zeros(1), torch.ones(1), torch.ones(1), value=3)": [3.0],
    "torch.tensor([1.26]).round(decimals=1)": [1.3],
    "torch.softmax(torch.zeros(1, 2), dim=1)": [[0.5, 0.5]],
    "torch.outer(torch.ones(2), torch.ones(2)).shape": [2, 2],
    "torch.norm(x, 2, 1)[0]": 14.0**0.5,
    "torch.ones(2).mul_(3).sub_(1).div_(4)": [0.5, 0.5],
    "torch.ones(2, 2).fill_diagonal_(5)": [[5.0, 1.0], [1.0, 5.0]],
    "torch.zeros(2).bernoulli_(1.0)": [1.0, 1.0],
    "torch.pow(2, torch.tensor([3.0]))": [8.0],
    "torch.cdist(torch.zeros(1, 2), torch.ones(1, 2), p=1)": [[2.0]],
    "torch.linalg.norm(x, ord=2, dim=1)[0]": 14.0**0.5,
    "torch.linalg.vector_norm(x, dim=0).shape": [3],
    "torch.fft.rfft(torch.ones(4), dim=0).real": [4.0, 0.0, 0.0],
    "torch.special.expit(torch.zeros(1))": [0.5],
    # Made of nothing, and dtypes.
    "torch.arange(1, 4, dtype=torch.float)": [1.0, 2.0, 3.0],
    "torch.arange(end=3)": [0, 1, 2],
    "torch.full((2,), 7)": [7, 7],
    "torch.zeros((2, 1)).shape + torch.zeros(3).shape": [2, 1, 3],
    "torch.ones(2, requires_grad=True).requires_grad": True,
    "torch.linspace(0, 1, steps=3)": [0.0, 0.5, 1.0],
    "torch.eye(2)": [[1.0, 0.0], [0.0, 1.0]],
    "torch.randn(2, 3, generator=torch.Generator().manual_seed(1)).shape": [2, 3],
    "torch.randint(5, (2,)).dtype == torch.int64": True,
    "torch.randint(3, 4, size=(2,))": [3, 3],
    "torch.normal(0.0, 0.0, size=(2,))": [0.0, 0.0],
    "torch.normal(torch.ones(2), torch.zeros(2))": [1.0, 1.0],
    "torch.tensor([torch.tensor(1.0), 2.0])": [1.0, 2.0],
    "torch.Tensor(2, 3).shape": [2, 3],
    "torch.FloatTensor([1, 2])": [1.0, 2.0],
    "torch.LongTensor(3).zero_()": [0, 0, 0],
    "x.type()": "torch.FloatTensor",
    "i.type(torch.FloatTensor).dtype == torch.float32": True,
    "x.long().dtype == i.dtype == torch.long": True,
    "x.to(i).dtype == torch.int64 and x.to('cpu', torch.half).dtype == torch.float16": True,
    "x.new_full((2,), 3)": [3.0, 3.0],
    "x.double().numpy().dtype.name": "float64",
    "isinstance(x, torch.Tensor) and type(x) == torch.Tensor and not isinstance(3, torch.Tensor)": True,
    "isinstance(x, torch.FloatTensor) and not isinstance(i, torch.FloatTensor)": True,
    "issubclass(torch.nn.Parameter, torch.Tensor)": True,
    "torch.is_floating_point(x) and not i.is_floating_point()": True,
    "torch.finfo(torch.float32).eps > 0 and torch.iinfo(torch.int8).max": 127,
    "f'{x.mean():.2f} {i.sum()}'": "3.50 21",
    "'%.1f' % x.mean()": "3.5",
    "x.stride() + (x.element_size(), x.nelement())": [3, 1, 4, 6],
    "torch.tensor(3).item() + int(torch.tensor(2))": 5,
    "x.is_cuda or x.is_sparse or x.requires_grad": False,
    "[10, 20][torch.tensor(1)]": 20,
    # Functions of networks.
    "F.relu(torch.tensor([-1.0, 1.0]), inplace=True)": [0.0, 1.0],
    "F.softmax(torch.zeros(2, 2), dim=0)": [[0.5, 0.5], [0.5, 0.5]],
    "F.cross_entropy(torch.zeros(1, 2), torch.tensor([0]))": 0.6931471805599453,
    "F.mse_loss(x, x + 1, size_average=False)": 6.0,
    "F.nll_loss(torch.zeros(2, 3), torch.tensor([0, 1]), reduction='sum')": 0.0,
    "F.max_pool2d(torch.ones(1, 1, 4, 4), 2, return_indices=True)[1]": [[[[0, 2], [8, 10]]]],
    "F.pad(x, (1, 0), value=9)[0]": [9.0, 1.0, 2.0, 3.0],
    "F.normalize(x, dim=0).shape": [2, 3],
    "F.one_hot(torch.tensor([1]), num_classes=3)": [[0, 1, 0]],
    "F.interpolate(torch.ones(1, 1, 2, 2), scale_factor=2).shape": [1, 1, 4, 4],
    "F.leaky_relu(torch.tensor([-1.0]), 0.2)": [-0.2],
    "F.embedding(torch.tensor([1]), x)": [[6.0, 5.0, 4.0]],
    "F.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True, eps=0)": [[-1.0], [1.0]],
    "F.logsigmoid(torch.zeros(1))": [-0.6931471805599453],
    "F.glu(torch.zeros(1, 4), dim=1).shape": [1, 2],
    "F.layer_norm(x, (3,)).sum().abs().item() < 1e-5": True,
    "nn.Linear(3, 2, bias=False, dtype=torch.double).weight.dtype == torch.float64": True,
    "nn.Softmax(dim=1)(torch.zeros(1, 2))": [[0.5, 0.5]],
    "nn.Flatten(start_dim=1, end_dim=-1)(torch.zeros(2, 3, 4)).shape": [2, 12],
    "nn.LSTM(3, 4, num_layers=2, batch_first=True)(torch.zeros(2, 5, 3))[1][0].shape": [2, 2, 4],
    "nn.LeakyReLU(0.2, True)(torch.tensor([-1.0]))": [-0.2],
    "nn.Dropout(0.5, True).inplace, nn.ELU(1.0, True).inplace, nn.ReLU6(True).inplace, nn.SiLU(True).inplace": [True]
    * 4,
    "nn.Hardtanh(-2.0, 2.0, inplace=True)(torch.tensor([3.0]))": [2.0],
    "nn.MultiheadAttention(4, 2)(*[torch.ones(3, 1, 4)] * 3)[0].shape": [3, 1, 4],
    "nn.Sequential(nn.Linear(3, 3), nn.ReLU(True))(x).shape": [2, 3],
    "nn.Sequential(OrderedDict([('a', nn.Identity())])).a(x).shape": [2, 3],
    "isinstance(nn.Sequential(nn.Linear(1, 1))[0], nn.Linear)": True,
    "nn.CrossEntropyLoss(size_average=False, reduce=True).reduction": "sum",
    "nn.Module().__class__.__name__ + nn.ReLU(inplace=True).__class__.__name__": "ModuleReLU",
    "nn.DataParallel(nn.Identity()).module.__class__ is nn.Identity": True,
    "sorted(nn.Linear(2, 1).state_dict(prefix='a.'))": ["a.bias", "a.weight"],
    "nn.Linear(2, 1).half().weight.dtype == torch.half": True,
    "torch.optim.SGD([nn.Parameter(x)], lr=0.1, foreach=True, fused=None).param_groups[0]['lr']": 0.1,
    "torch.optim.Adam([{'params': [nn.Parameter(x)], 'name': 'a'}]).param_groups[0]['name']": "a",
    "'fused' in inspect.signature(torch.optim.AdamW).parameters": True,
    "torch.backends.cudnn.is_available() or torch.backends.mps.is_available()": False,
    "torch.jit.script(F.relu) is F.relu": True,
    "torch.distributed.is_initialized() or torch.distributed.get_world_size()": 1,
    "torch.utils.data.default_collate([1, 2])": [1, 2],
}

PROBE = """
import inspect, json, sys
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F


def plain(value):
    if isinstance(value, torch.Tensor):
        return value.tolist()
    return [plain(each) for each in value] if isinstance(value, (tuple, list)) else value


found = {}
for case in json.load(sys.stdin):
    x = torch.tensor([[1.0, 2.0, 3.0], [6.0, 5.0, 4.0]])
    i = x.to(torch.int64)
    try:
        found[case] = plain(eval(case))
    except Exception as error:
        found[case] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
"""


def evaluated(cases):
    command = [sys.executable, "-m", "lamella.compat", "-c", PROBE]
    options = {"capture_output": True, "text": True, "env": extensions.environment(), "timeout": 100}
    done = subprocess.run(command, input=json.dumps(list(cases)), **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def found():
    return evaluated(CASES)


def close(value, expected):
    if isinstance(expected, list):
        return isinstance(value, list) and len(value) == len(expected) and all(map(close, value, expected))
    if isinstance(expected, float):
        return isinstance(value, float) and abs(value - expected) < 1e-5
    return type(value) is type(expected) and value == expected


@pytest.mark.parametrize("case", CASES)
def test_it_is_as_in_pytorch(case, found):
    assert close(found[case], CASES[case]), found[case]


#: Programs that PyTorch refuses, or that ask for what is not here, with what they are told.
REFUSED = {
    "torch.div(x, 2, rounding_mode='up')": "RuntimeError: [div] rounding_mode",
    "torch.set_default_dtype(torch.int64)": "TypeError: [set_default_dtype] takes a dtype of real floating-point",
    "torch.distributed.init_process_group('gloo', world_size=2)": "ValueError: [init_process_group] of 2 processes",
    "torch.distributed.init_process_group('nccl', rank=0, world_size=2)": "RuntimeError: [init_process_group]",
    "torch.nn.utils.nosuch": "AttributeError: Lamella's torch front does not have 'torch.nn.utils.nosuch'",
    "setattr(torch.ones(1, requires_grad=True) * 2, 'data', x)": "RuntimeError: [data] x.data takes a tensor of the",
    "torch.ones(2, requires_grad=True).unsqueeze_(0)": "RuntimeError: [unsqueeze_] a leaf tensor that wants a gradient",
    "torch.cuda.set_device(1)": "RuntimeError: [set_device] there is no cuda:1",
}


def test_what_is_refused():
    for case, text in evaluated(REFUSED).items():
        assert isinstance(text, str) and text.startswith(REFUSED[case]), (case, text)
