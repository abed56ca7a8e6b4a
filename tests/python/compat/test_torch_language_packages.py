"""What packages that build on PyTorch do with it beside its documented ways: names, hooks, memory, attributes."""

import json

import pytest

from support import extensions

PROGRAMS = {
    "attributes of tensors": """
import gc

x, y = torch.ones(2), torch.zeros(3)
parameter = nn.Parameter(torch.ones(1))
parameter.mark = "own"
x.mark = 1
assert x.mark == 1 and parameter.mark == "own" and not hasattr(y, "mark") and not hasattr(torch.Tensor, "mark")
x.mark = 2
torch.utils.swap_tensors(x, y)
assert y.mark == 2 and not hasattr(x, "mark") and x.shape == (3,) and y.shape == (2,)
del y.mark
assert not hasattr(y, "mark")
for change in (lambda: setattr(x, "ndim", 3), lambda: x.mark, lambda: delattr(x, "mark")):
    try:
        change()
    except AttributeError:
        continue
    raise AssertionError("an AttributeError was expected")
addresses = set()
for _ in range(20):  # what a dead tensor had is not its successor's
    z = torch.ones(1)
    assert not hasattr(z, "mark")
    z.mark = 3
    del z
    gc.collect()
one, two = nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(3))
one.tag = "a"
torch.utils.swap_tensors(one, two)
assert two.tag == "a" and not hasattr(one, "tag") and two.tolist() == [1.0, 1.0]
""",
    "memory": """
x = torch.arange(6.0).reshape(2, 3)
whole, part = x.untyped_storage(), x[1].untyped_storage()
assert whole == part and whole.nbytes() == 24 == len(whole)
assert whole.data_ptr() == x.data_ptr() and whole.device == x.device
assert hash(whole) == hash(part) and whole != torch.ones(6).untyped_storage() and x.storage_offset() == 0
typed = x[1:].storage()
assert typed.tolist() == x.reshape(-1).tolist() and typed.dtype == torch.float32
assert typed.size() == 6 and typed[1] == 1.0
typed[0] = 9.0
assert x[0, 0].item() == 9.0 and typed.untyped() == whole
meta = torch.empty(4, 5, device="meta", dtype=torch.float64).untyped_storage()
assert meta.nbytes() == 160 and meta.data_ptr() == 0
clone = whole.clone()
clone.fill_(0)
assert clone.tolist() == [0] * 24 and x[0, 1].item() == 1.0
with open("numbers.bin", "wb") as file:
    file.write(bytes(whole.tolist()))
read = torch.UntypedStorage.from_file("numbers.bin", shared=False, nbytes=24)
y = torch.asarray(read[4:12], dtype=torch.uint8).view(dtype=torch.float32)
assert y.tolist() == [1.0, 2.0] and read[0:4].nbytes() == 4
y.fill_(7.0)  # a private copy of the file's pages
assert open("numbers.bin", "rb").read() == bytes(whole.tolist())
torch.UntypedStorage.from_file("numbers.bin", shared=True, nbytes=24).fill_(0)
assert open("numbers.bin", "rb").read() == bytes(24)
try:
    whole.resize_(8)
except NotImplementedError as error:
    assert "24" in str(error)
else:
    raise AssertionError("memory keeps its size")
""",
    "a default dtype": """
kept = torch.zeros
torch.set_default_dtype(torch.float64)
assert torch.tensor(0.1).item() == 0.1 == torch.full((1,), 0.1).item() and torch.get_default_dtype() == torch.float64
floating = [torch.zeros(1), torch.ones(1), torch.empty(1), torch.rand(1), torch.randn(1), torch.eye(1)]
floating += [torch.linspace(0, 1, 2), torch.arange(0, 1, 0.5), torch.tensor([1.0, 2.0])]
assert {x.dtype for x in floating} == {torch.float64}
kept_dtypes = [torch.arange(3), torch.tensor([1, 2]), torch.full((1,), 2), torch.zeros(1, dtype=torch.int64)]
assert {x.dtype for x in kept_dtypes} == {torch.int64}
assert torch.tensor(torch.ones(1).float()).dtype == torch.float32
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))
        self.scale = nn.Parameter(torch.ones(2))
assert {p.dtype for p in Net().parameters()} == {torch.float64}
assert {p.dtype for p in nn.MultiheadAttention(4, 2).parameters()} == {torch.float64}
assert nn.Linear(2, 2, dtype=torch.float32).weight.dtype == torch.float32
for wrong in (torch.int64, torch.complex64):
    try:
        torch.set_default_dtype(wrong)
    except TypeError:
        assert torch.get_default_dtype() == torch.float64
    else:
        raise AssertionError(wrong)
torch.set_default_tensor_type(torch.FloatTensor)
assert torch.zeros is kept and torch.zeros(1).dtype == torch.float32 == nn.Linear(1, 1).weight.dtype
cast = torch.compile(lambda x: x.to(torch.get_default_dtype()))
for dtype in [torch.float32] * 4 + [torch.float64] * 3:
    torch.set_default_dtype(dtype)
    assert cast(torch.ones(2, dtype=torch.float32)).dtype == dtype
torch.set_default_dtype(torch.float32)
import inspect
assert "bias" in inspect.signature(nn.Linear).parameters
""",
    "dtypes that are only named": """
import copy, pickle

f8 = torch.float8_e4m3fn
assert f8 != torch.float32 and repr(f8) == "torch.float8_e4m3fn" and f8.itemsize == 1 and f8.is_floating_point
assert torch.finfo(f8).max == 448.0 and torch.finfo(f8).tiny == 2.0**-6
assert torch.finfo(torch.float8_e5m2).max == 57344.0
assert pickle.loads(pickle.dumps(f8)) is f8 and copy.deepcopy(f8) is f8
assert len({f8, torch.float8_e5m2, torch.int4, torch.quint8}) == 4
for make in (lambda: torch.zeros(1, dtype=f8), lambda: torch.ones(1).to(f8), lambda: torch.finfo(torch.int4)):
    try:
        make()
    except TypeError:
        continue
    raise AssertionError("no tensor has this dtype")
limits = torch.finfo(torch.float32)
assert limits.tiny == limits.smallest_normal == 2.0**-126 and limits.dtype == "float32"
assert abs(limits.resolution - 1e-6) < 1e-12
assert torch.finfo() == limits and str(torch.iinfo(torch.int8)) == "iinfo(min=-128, max=127, dtype=int8)"
assert str(limits).startswith("finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38")
""",
    "states that classes read themselves": """
class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(1))
        self.register_buffer("cache", torch.zeros(1), persistent=False)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing, unexpected, errors):
        state_dict.pop(prefix + "num_batches_tracked", None)
        if prefix + "old" in state_dict:
            state_dict[prefix + "mean"] = state_dict.pop(prefix + "old")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, unexpected, errors)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "mean"] = destination[prefix + "mean"] + 1

model = nn.Sequential(Frozen(), nn.Linear(1, 1))
assert model[0]._non_persistent_buffers_set == {"cache"}
state = model.state_dict()
assert state["0.mean"].item() == 1.0 and "0.cache" not in state
seen = []
model[1]._register_load_state_dict_pre_hook(lambda state, prefix, *rest: seen.append((prefix, len(rest))))
model[1]._register_load_state_dict_pre_hook(lambda module, *rest: seen.append(module), with_module=True)
given = {"0.old": torch.tensor([5.0]), "0.num_batches_tracked": torch.tensor(1)}
given.update((name, value) for name, value in state.items() if name[0] == "1")
model.load_state_dict(given)
assert model[0].mean.item() == 5.0 and seen == [("1.", 5), model[1]] and "0.old" in given
""",
    "classes of two kinds": """
from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
class Adapter(ABC):
    @abstractmethod
    def merge(self): ...
class Named(Protocol):
    name: str
class Both(nn.Linear, Adapter):
    def merge(self):
        return self.weight
class Typed(nn.Embedding, Generic[T]):
    pass
class Described(nn.LayerNorm, Named):
    name = "norm"
layer = Both(2, 2)
assert isinstance(layer, (nn.Linear, Adapter)) and layer.merge() is layer.weight
assert not isinstance(nn.Linear(1, 1), Both)
assert Typed(2, 2)(torch.tensor([1])).shape == (1, 2) and Described(2)(torch.ones(1, 2)).shape == (1, 2)
class Attention(nn.MultiheadAttention, Adapter):
    def merge(self):
        return None
assert isinstance(Attention(4, 2), nn.MultiheadAttention)
class Packed(torch.Tensor):
    pass
source = torch.ones(2)
packed = torch.Tensor._make_subclass(Packed, source, True)
assert type(packed) is Packed and packed.requires_grad and packed.is_leaf and packed.data_ptr() == source.data_ptr()
class Marked(nn.Parameter):
    pass
assert not isinstance(layer.weight, Marked) and isinstance(layer.weight, nn.Parameter)
assert isinstance(Marked(torch.ones(1)), (Marked, nn.Parameter))
made = type(layer.weight)(torch.ones(2), requires_grad=False)
assert isinstance(made, nn.Parameter) and not made.requires_grad and type(layer.weight)(torch.ones(2)).requires_grad
""",
    "numbers": """
empty, x = torch.tensor([]), torch.ones(2, 3)
assert torch.cat([empty, x], dim=-2).shape == (2, 3) == torch.cat((x, empty), axis=1).shape
assert torch.cat([empty, empty]).shape == (0,)
assert torch.cat([empty, x.long()]).dtype == torch.float32
try:
    torch.cat([x, torch.ones(2)])
except RuntimeError as error:
    assert "[2, 3] and [2]" in str(error)
else:
    raise AssertionError
assert 1 in x and 2.0 not in x and torch.tensor(1.0) in x
mask, flags, numbers = torch.tensor([True, False]), torch.tensor([True, True]), torch.tensor([1, 2])
assert flags.masked_fill(mask, 0).tolist() == [False, True] and numbers.masked_fill(mask, 1.5).tolist() == [1, 2]
assert flags.clone().masked_fill_(mask, 0).tolist() == [False, True]
assert torch.masked_fill(flags, mask, torch.tensor(0)).tolist() == [False, True]
try:
    numbers.masked_fill(mask, float("-inf"))
except RuntimeError as error:
    assert "-inf" in str(error)
else:
    raise AssertionError
assert torch.div(7, 2, rounding_mode="trunc").item() == 3 and torch.div(7, 2).item() == 3.5
assert ["a", "b"][torch.tensor([1])] == "b"
assert torch.eye(2, out=(y := torch.empty(2, 2))) is y and y.tolist() == [[1, 0], [0, 1]]
assert torch.zeros(2, 3, out=torch.ones(0)).shape == (2, 3)
assert torch.arange(3, out=torch.empty(3)).tolist() == [0, 1, 2]
ones = torch.ones(1, 2, 2)
assert ones.baddbmm(batch1=ones, batch2=ones, beta=0.5, alpha=2.0).tolist() == [[[4.5] * 2] * 2]
turned = torch.arange(24.0).reshape(2, 3, 4).transpose(0, 1)
assert turned.as_strided((2, 3), (1, 2)).tolist() == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
assert torch.zeros(2).lerp(end=torch.ones(2), weight=0.5).tolist() == [0.5, 0.5]
assert nn.utils.skip_init(nn.Linear, 2, out_features=3).weight.shape == (3, 2)
assert nn.ReLU()._call_impl(turned).min() >= 0 and x.new_empty_strided((2, 1), (1, 1)).shape == (2, 1)
assert nn.init.constant_(tensor=torch.empty(2), val=3.0).tolist() == [3.0, 3.0]
frozen = nn.Embedding(2, 2, _weight=(w := torch.ones(2, 2)), _freeze=True)
assert not frozen.weight.requires_grad and frozen.weight.data_ptr() == w.data_ptr()
y = torch.softmax(z := torch.tensor([1.0, 2.0, 3.0], requires_grad=True), -1)
y.backward(g := torch.tensor([1.0, 0.0, 2.0]))
assert torch.allclose(torch._softmax_backward_data(g, y.detach(), -1, y.dtype), z.grad)
""",
    "lists of tensors": """
a, b = [torch.ones(2), torch.full((3,), 2.0)], [torch.full((2,), 3.0), torch.full((3,), 4.0)]
assert [x.tolist() for x in torch._foreach_add(a, b, alpha=2)] == [[7.0] * 2, [10.0] * 3]
assert torch._foreach_mul_(a, 2.0) is a and a[0].tolist() == [2.0] * 2
torch._foreach_add_(a, b)
torch._foreach_mul_(a, [10.0, 100.0])
torch._foreach_lerp_(a, b, 1.0)
assert [x.tolist() for x in a] == [x.tolist() for x in b]
torch._foreach_addcdiv_(a, b, b, value=-1.0)
assert a[1].tolist() == [3.0] * 3 and abs(torch._foreach_norm(b)[1].item() - 48.0**0.5) < 1e-5
torch._foreach_copy_(a, b)
assert a[0].tolist() == b[0].tolist() and torch._foreach_maximum(a, 3.5)[0].tolist() == [3.5] * 2
assert not hasattr(torch, "_foreach_nosuch")
""",
    "trees with keys": """
from collections import namedtuple
from torch.utils import _pytree as tree

Pair = namedtuple("Pair", "a b")
data = {"x": [1, (2, Pair(3, 4))], "y": 5}
pairs, spec = tree.tree_flatten_with_path(data)
texts = ["['x'][0]", "['x'][1][0]", "['x'][1][1].a", "['x'][1][1].b", "['y']"]
assert [tree.keystr(keys) for keys, _ in pairs] == texts
assert all(tree.key_get(data, keys) == leaf for keys, leaf in pairs) and spec.num_leaves == 5
assert tree.tree_map_with_path(lambda keys, leaf, other: len(keys) * leaf + other, data, data)["y"] == 10
class Box(dict):
    pass
tree.register_pytree_node(
    Box,
    tree._dict_flatten,
    lambda values, keys: Box(tree._dict_unflatten(values, keys)),
    flatten_with_keys_fn=tree._dict_flatten_with_keys,
)
assert [tree.keystr(keys) for keys, _ in tree.tree_leaves_with_path(Box(p=1, q=[2]))] == ["['p']", "['q'][0]"]
assert tree.tree_map(lambda x: x + 1, Box(p=1)) == Box(p=2)
found = []
assert tree.tree_map_(found.append, data) is data and found == list(tree.tree_iter(data))
""",
    "loaders": """
from dataclasses import dataclass
from torch.utils.data import DataLoader

@dataclass
class Collator:  # has no hash
    scale: int
    def __call__(self, samples):
        return self.scale * torch.stack(samples)
data = [torch.tensor(float(i)) for i in range(4)]
loader = DataLoader(data, batch_size=2, collate_fn=Collator(2), in_order=True, pin_memory_device="")
assert [batch.tolist() for batch in loader] == [[0.0, 2.0], [4.0, 6.0]]
""",
    "checkpoints of chosen operators": """
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

calls = []
def block(x):
    calls.append("block")
    return torch.tanh(x @ x).sum()
def policy(context, op, *tensors):
    assert not context.is_recompute
    return CheckpointPolicy.MUST_SAVE if op is torch.ops.aten.mm.default else CheckpointPolicy.PREFER_RECOMPUTE
x = torch.eye(2, requires_grad=True)
block(x).backward()
wanted = x.grad.clone()
for chosen in (policy, ["matmul"]):
    x.grad = None
    contexts = lambda: create_selective_checkpoint_contexts(chosen)
    checkpoint(block, x, use_reentrant=False, context_fn=contexts).backward()
    assert torch.equal(x.grad, wanted)
states = torch.utils.checkpoint.get_device_states(x, [x])
assert states == ([], []) and torch.utils.checkpoint.set_device_states(*states) is None
""",
    "sizes that are known": """
assert not isinstance(3, torch.SymInt) and not isinstance(3.0, torch.SymFloat) and not isinstance(True, torch.SymBool)
assert torch.sym_max(2, 3) == 3 and torch.sym_min(2, 3.0) == 2.0 and torch.sym_int(-2.5) == -2 and torch.sym_not(False)
assert torch.sym_float(2) == 2.0 and torch.sym_sum([1, 2]) == 3 and torch.sym_ite(True, 1, 2) == 1
torch._check_is_size(3)
for wrong in (lambda: torch._check_is_size(-1), lambda: torch._check_is_size(5, max=4)):
    try:
        wrong()
    except RuntimeError:
        continue
    raise AssertionError
""",
    "devices and generators": """
assert torch.Generator().device.type == "cpu" and torch.get_device_module("cpu").device_count() == 1
assert torch.get_device_module(torch.device("cuda:0")) is torch.cuda and isinstance(torch.cuda._initialized, bool)
torch.manual_seed(3)
assert torch.default_generator.initial_seed() == 3
a = torch.rand(2)
torch.default_generator.manual_seed(3)
assert torch.equal(a, torch.rand(2, generator=torch.default_generator))
assert not isinstance(torch.ones(1), torch.cuda.FloatTensor) and isinstance(torch.ones(1), torch.FloatTensor)
import pickle
assert issubclass(torch.OutOfMemoryError, RuntimeError) and torch.cuda.OutOfMemoryError is torch.OutOfMemoryError
try:
    torch.zeros(1 << 50)
except RuntimeError as error:
    assert type(error) is torch.OutOfMemoryError and "DefaultCPUAllocator: can't allocate memory" in error.args[0]
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
else:
    raise AssertionError("more memory than there is")
assert isinstance(torch.compile(nn.Linear(1, 1)), torch._dynamo.eval_frame.OptimizedModule)
from torch.distributions import Gamma, Independent, Normal
for made in (Normal(torch.zeros(2), 1.0), Independent(Normal(torch.zeros(2), 1.0), 1), Gamma(torch.ones(2), 1.0)):
    assert made.sample(sample_shape=(3,)).shape == (3, 2) == made.rsample(sample_shape=torch.Size([3])).shape
with torch._tensor_str.printoptions(precision=2):
    assert str(torch.tensor(0.123456)) == "tensor(0.12)"
assert str(torch.tensor(0.123456)) == "tensor(0.1235)"
""",
    "functions of torch_npu": """
import torch_npu

x = torch.randn(2, 6)
first, second = x.chunk(2, -1)
assert torch.allclose(torch_npu.npu_geglu(x)[0], first * F.gelu(second, approximate="tanh"))
assert torch.allclose(torch_npu.npu_geglu(x, approximate=0, activate_left=True)[0], second * F.gelu(first))
weight = torch.rand(6)
y, scale = torch_npu.npu_rms_norm(x, weight, epsilon=1e-5)
assert torch.allclose(y, F.rms_norm(x, (6,), weight, eps=1e-5), atol=1e-6) and scale.shape == (2, 1)
""",
}


#: Runs all programs in one process, and writes the traceback of each that fails.
RUNNER = """
import json, sys, traceback

failed = {}
for name, program in json.load(open("programs.json")).items():
    try:
        exec(compile(program, name, "exec"), {"__name__": "__main__"})
    except Exception:
        failed[name] = traceback.format_exc()
json.dump(failed, open("failed.json", "w"))
"""


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    head = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
    programs = {name: head + program for name, program in PROGRAMS.items()}
    extensions.write(folder, {"run.py": RUNNER, "programs.json": json.dumps(programs)})
    extensions.succeed("-m", "lamella.compat", "run.py", cwd=folder)
    return json.loads((folder / "failed.json").read_text())


@pytest.mark.parametrize("program", PROGRAMS)
def test_packages(program, failed):
    assert program not in failed, failed[program]
