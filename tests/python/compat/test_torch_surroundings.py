"""What stands around training programs of PyTorch, through the front: sizes, words of numpy, bases of layers, tools."""

import pytest

from support import extensions

PROGRAMS = {
    "blocks of devices": """
with torch.device("meta") as device:
    layer = nn.Linear(2, 3)
    with torch.device("cpu"):
        assert torch.ones(1).device == torch.device("cpu")
    assert torch.zeros(2).is_meta and layer.weight.is_meta and device == torch.device("meta")
assert torch.ones(1).device == torch.device("cpu")
""",
    "parts of sequences": """
net = nn.Sequential(*[nn.Linear(1, 1) for _ in range(4)])
assert list(net[2:].state_dict()) == ["2.weight", "2.bias", "3.weight", "3.bias"] and net[1:][0] is net[1]
assert [name for name, _ in nn.ModuleList(net)[2:].named_children()] == ["0", "1"] and net[-1] is net[3]
assert net[1:3](torch.ones(1, 1)).shape == (1, 1)
net.state_dict().move_to_end("0.weight")
""",
    "memory, compilers and hooks of optimizers": """
import torch.compiler, torch.overrides
from torch.utils.dlpack import from_dlpack, to_dlpack

x = torch.arange(4.0)
shared = from_dlpack(to_dlpack(x))
shared[0] = 9
assert x[0] == 9 and from_dlpack(x).data_ptr() == x.data_ptr()
assert x[2:].storage_offset() == 2 and x.storage_offset() == 0 and torch.arange(6)[4:].storage_offset() == 4
assert torch.arange(6).reshape(2, 3)[1, 1:].storage_offset() == 4 and not x.is_xla
assert not torch.compiler.is_compiling() and torch.compiler.disable(len) is len and torch.compiler.disable()(len) is len
assert torch.overrides.is_tensor_like(x) and not torch.overrides.has_torch_function((x,))
assert torch.overrides.handle_torch_function(torch.neg, (x,), x)[1] == -1
with torch.compiler.set_stance("force_eager"):
    torch.compiler.reset()
if not torch.cuda.is_available():
    assert torch.cuda.get_rng_state_all() == [] and torch.cuda.max_memory_reserved() == 0
    torch.cuda.set_rng_state_all([])
    assert "allocated 0" in torch.cuda.memory_summary()
seen = []
nn.Linear(1, 1).register_backward_hook(lambda *args: None).remove()
optimizer = torch.optim.Adam([nn.Parameter(torch.ones(1))])
handles = [
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("before")),
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "note": 1}),
    optimizer.register_load_state_dict_pre_hook(lambda o, state: seen.append(state.pop("note"))),
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("after")),
    optimizer.register_load_state_dict_pre_hook(lambda o, state: seen.append("first"), prepend=True),
]
state = optimizer.state_dict()
optimizer.load_state_dict(state)
assert seen == ["before", "first", 1, "after"] and state["note"] == 1
for handle in handles:
    handle.remove()
assert "note" not in optimizer.state_dict() and len(seen) == 4
""",
    "dtypes of numbers in lists": """
import numpy as np

for data, wanted in (
    ([np.float64(1)], torch.float64), ([1.0, np.float64(2)], torch.float64), ([np.float32(1), 2.0], torch.float32),
    ([np.int32(1)], torch.int32), ([np.int32(1), 2], torch.int64), ([[np.float16(1)]], torch.float16),
    ([np.array([1.0, 2.0])], torch.float64), ([torch.tensor(1.0, dtype=torch.float64), 1], torch.float64),
    ([np.bool_(True)], torch.bool), ([1, 2.5], torch.float32), ([[1, 2], [3, 4]], torch.int64),
    ([True, 1], torch.int64),
    ([1, 2j], torch.complex64), (range(3), torch.int64), ([], torch.float32),
    (np.float64(2), torch.float64), (2.0, torch.float32),
):
    made = torch.tensor(data), torch.as_tensor(data), torch.asarray(data)
    assert {each.dtype for each in made} == {wanted}, (data, wanted)
    assert wanted.is_complex or torch.tensor(data, dtype=torch.float32).dtype == torch.float32
assert torch.tensor([torch.tensor(1), torch.tensor([2])[0]]).tolist() == [1, 2]
for wrong in (["a"], [None], "a", [np.array(["a"])]):
    try:
        torch.tensor(wrong)
    except (TypeError, ValueError, RuntimeError):
        pass
    else:
        raise AssertionError(wrong)
assert isinstance(torch.broadcast_shapes((1, 3), (2, 1)), torch.Size)
""",
    "trees": """
import collections
from torch.utils._pytree import (
    register_pytree_node, tree_all, tree_any, tree_flatten, tree_leaves, tree_map, tree_map_only, tree_unflatten,
)

Pair = collections.namedtuple("Pair", "first second")
trees = [
    {"a": 1, "b": [2, (3,)]}, Pair(1, [2]), collections.OrderedDict(x=1), collections.deque([1, 2], 3), (), 5,
    collections.defaultdict(list, {"k": [1]}), [{}, ()],
]
for tree in trees:
    leaves, spec = tree_flatten(tree)
    again = tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree) and spec.num_leaves == len(leaves) == len(tree_leaves(tree))
spec = tree_flatten([1, (2, {}), {"a": 3}])[1]
assert (spec.num_nodes, spec.num_children, spec.num_leaves) == (7, 3, 3)
assert tree_map(lambda x, y: x + y, trees[0], trees[0]) == {"a": 2, "b": [4, (6,)]}
assert tree_map(len, [[1], [2, 3]], is_leaf=lambda x: isinstance(x, list) and type(x[0]) is int) == [1, 2]
assert tree_map_only(str, str.upper, ["a", 1]) == ["A", 1] and tree_map_only(lambda x: x == 1, str, [1, 2]) == ["1", 2]
assert tree_any(bool, [0, 1]) and not tree_all(bool, [0, 1])

class Box:
    def __init__(self, held):
        self.held = held

register_pytree_node(Box, lambda box: ([box.held], None), lambda children, _: Box(*children))
assert tree_map(lambda x: x + 1, [Box(1)])[0].held == 2
try:
    tree_unflatten([1], tree_flatten([1, 2])[1])
except ValueError as error:
    assert "2 leaves" in str(error)

subtract = lambda x, y: x - y
for first, other, wanted in [
    ({"a": 5, "b": 7}, {"b": 1, "a": 2}, {"a": 3, "b": 6}),  # by keys, in whichever order they were written
    ({"a": 5}, collections.OrderedDict(a=1), {"a": 4}),
    (collections.defaultdict(int, a=5, b=1), {"b": 1, "a": 1}, {"a": 4, "b": 0}),
    (collections.deque([5], 3), collections.deque([1]), collections.deque([4])),
    (Pair(5, [3]), Pair(1, [1]), Pair(4, [2])),
]:
    assert tree_map(subtract, first, other) == wanted, first
assert tree_map(lambda x, y: [x, *y], [5, 6], [[7, 9], [1, 2]]) == [[5, 7, 9], [6, 1, 2]]
assert tree_map(lambda x, y: y, {"a": 1, "b": (2,)}, {"b": ({"c": 3},), "a": [4, 5]}) == {"a": [4, 5], "b": ({"c": 3},)}
assert spec.flatten_up_to([[1], (2, {}), {"a": [3, 4]}]) == [[1], 2, [3, 4]] and spec.unflatten([1, 2, 3])[1] == (2, {})
for first, other in [
    ([1, 2], (1, 2)), ([1, 2], [1]), ({"a": 1}, {"b": 1}), ([1], 1), (Pair(1, 2), (1, 2)), ({"a": 1}, [1]),
    (Box(1), [1]),
]:
    try:
        tree_map(subtract, first, other)
    except ValueError as error:
        assert "the first tree" in str(error)
    else:
        raise AssertionError((first, other))
""",
    "states of generators": """
import copy

generator = torch.Generator().manual_seed(3)
torch.rand(5, generator=generator)
state = generator.get_state()
assert state.dtype == torch.uint8 and state.dim() == 1
drawn = torch.rand(4, generator=generator)
for other in (generator, torch.Generator()):
    assert torch.equal(torch.rand(4, generator=other.set_state(state.clone().cpu())), drawn)
torch.manual_seed(1)
torch.save({"rng": torch.get_rng_state()}, "state.pt")
drawn = torch.randn(3)
torch.set_rng_state(torch.load("state.pt")["rng"])
assert torch.equal(torch.randn(3), drawn)
for wrong in (torch.zeros(3, dtype=torch.uint8), torch.zeros(24)):
    try:
        torch.set_rng_state(wrong)
    except RuntimeError as error:
        assert "24 bytes" in str(error)
    else:
        raise AssertionError(wrong)
loader = torch.utils.data.DataLoader(range(4), shuffle=True, generator=generator)
assert sorted(int(x) for x in loader) == [0, 1, 2, 3] and loader.state_dict()["generator"] is not None
""",
    "options of groups": """
p, q = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(1))
matrices = {"params": [p], "name": "matrices", "note": 0, "weight_decay": 0.5}
first = torch.optim.AdamW([matrices, {"params": [q]}], lr=0.1)
(p.sum() + q.sum()).backward()
first.step()
second = torch.optim.AdamW([{"params": [p]}, {"params": [q], "note": 1}])
state = first.state_dict()
second.load_state_dict(state)
assert second.param_groups[0]["name"] == "matrices" and second.param_groups[0]["note"] == 0
assert "note" not in second.param_groups[1]
assert second.param_groups[0]["weight_decay"] == 0.5 and second.param_groups[1]["lr"] == 0.1
assert state["param_groups"][0]["name"] == "matrices"
second.param_groups[1]["note"] = 2
for wrong in ({"state": {}, "param_groups": []}, {"state": {}}):
    try:
        second.load_state_dict(wrong)
    except (ValueError, KeyError):
        assert second.param_groups[1]["note"] == 2 and second.param_groups[0]["name"] == "matrices"
    else:
        raise AssertionError(wrong)
""",
    "sizes": """
import copy, pickle

x = torch.zeros(3, 4)
assert isinstance(x.shape, torch.Size) and x.shape == (3, 4) and x.shape.numel() == 12 and x.size(-1) == 4
for made, wanted in (
    (x.shape[1:], (4,)), (x.shape[:-1] + (5, 6), (3, 5, 6)), ((1,) + x.shape, (1, 3, 4)), (x.shape[-1:] * 2, (4, 4)),
    (torch.zeros(x.shape[:1]).shape, (3,)), (x.size(), (3, 4)), (nn.Linear(2, 5).weight.shape, (5, 2)),
):
    assert type(made) is torch.Size and made == wanted, (made, wanted)
assert type(x.shape[0]) is int and repr(x.shape) == "torch.Size([3, 4])" and {x.shape: 1}[(3, 4)] == 1
assert type(pickle.loads(pickle.dumps(x.shape))) is torch.Size and copy.deepcopy(x.shape) == x.shape
rows, columns = x.shape
assert rows * columns == 12 and x.view(*x.shape[:-1], 2, 2).shape == (3, 2, 2)
x[0] = torch.ones(1, 1, 4)
assert x[0].tolist() == [1.0] * 4
try:
    x[0] = torch.ones(1, 3)
except ValueError as error:
    assert "does not broadcast" in str(error)
assert str(x.dtype) == repr(x.dtype) == f"{x.dtype}" == "torch.float32" and str(torch.bool) == "torch.bool"
""",
    "words of numpy": """
x = torch.arange(12.0).reshape(3, 4)
for made, wanted in (
    (x.sum(axis=1, keepdims=True), x.sum(1, True)), (torch.mean(x, axis=0), x.mean(0)), (x.max(axis=1)[0], x.max(1)[0]),
    (torch.cat((x, x), axis=1), torch.cat((x, x), 1)), (torch.stack([x], axis=1), torch.stack([x], 1)),
    (x.cumsum(axis=0), x.cumsum(0)), (x.argmax(axis=1), x.argmax(1)), (torch.softmax(x, axis=1), x.softmax(1)),
    (x.std(axis=0), x.std(0)), (x.unsqueeze(axis=0), x[None]), (x[:1].squeeze(axis=0), x[0]), (x.sort(axis=1)[0], x),
    (torch.logsumexp(x, axis=1), torch.logsumexp(x, 1)), (torch.unbind(x, axis=1)[2], x[:, 2]),
    (x.any(axis=1), x.any(1)),
):
    assert torch.equal(made, wanted)
for wrong in (lambda: torch.cumsum(x), lambda: torch.cumsum(x, 0, axes=1)):
    try:
        wrong()
    except TypeError as error:
        assert "dim" in str(error) or "axes" in str(error)
    else:
        raise AssertionError
""",
    "sizes in compiled functions": """
import lamella as lm

lm.graph.set_native("wait")


@torch.compile
def spread(x):
    rows, columns = x.shape
    scale = columns if x.size(0) > 3 else rows
    return (x * scale).reshape(x.shape[1:] + x.shape[:1]).tanh() * x.shape.numel()


for sizes in ((2, 3), (2, 3), (2, 3), (5, 4), (5, 4), (2, 3), (7, 2), (1, 6)):
    x = torch.randn(*sizes)
    scale = sizes[1] if sizes[0] > 3 else sizes[0]
    wanted = (x * scale).reshape(sizes[1], sizes[0]).tanh() * (sizes[0] * sizes[1])
    assert torch.allclose(spread(x), wanted, atol=1e-6), sizes
""",
    "words of methods": """
x = torch.arange(6.0).view(2, 3)
for made, wanted in (
    (torch.flip(x, dims=(1,)), x.flip(1)), (torch.pow(x, exponent=2), x * x), (x.clone().pow_(exponent=2), x * x),
    (torch.bmm(input=x[None], mat2=x.t()[None])[0], x @ x.t()), (torch.mv(x, vec=x[0]), x @ x[0]),
    (torch.dot(x[0], tensor=x[1]), (x[0] * x[1]).sum()), (torch.outer(x[0], vec2=x[1]), x[0][:, None] * x[1]),
    (x.clone().masked_fill_(mask=x > 2, value=0.0), x * (x <= 2)), (x.clone().lerp_(end=x + 2, weight=0.5), x + 1),
    (x.clone().addcdiv_(tensor1=x, tensor2=x + 1, value=2), x + 2 * x / (x + 1)),
    (x.clone().tril_(diagonal=-1), x.tril(-1)),
    (torch.zeros(2, 3).copy_(x, non_blocking=True), x), (torch.zeros(2, 3).copy_(x), x),
    (x.clone().triu_(1), x.triu(1)),
    (x.split(split_size=2, dim=1)[1], x[:, 2:]), (x.split([1, 2], 1)[1], x[:, 1:]),
):
    assert torch.allclose(made, wanted), (made, wanted)
assert x.clone().exponential_(lambd=2.0).min() >= 0 and x.clone().cauchy_(median=1.0, sigma=2.0).shape == (2, 3)
y = torch.ones(2, requires_grad=True)
(y * 2).backward(gradient=torch.tensor([1.0, 3.0]), retain_graph=None)
assert y.grad.tolist() == [2.0, 6.0]
""",
    "functions of the module": """
import math

x = torch.tensor([1.0, 4.0])
assert torch.sqrt_(x) is x and x.tolist() == [1.0, 2.0] and torch.zero_(x.clone()).tolist() == [0.0, 0.0]
assert torch.fill(x, 3).tolist() == [3.0, 3.0] and torch.get_device(x) == -1 and not torch.detach(x).requires_grad
assert torch.constant_pad_nd(x, (1, 0), 9.0).tolist() == [9.0, 1.0, 2.0]
assert torch.embedding(torch.eye(3), torch.tensor([2])).tolist() == [[0.0, 0.0, 1.0]]
assert torch.repeat_interleave(torch.tensor([1, 2])).tolist() == [0, 1, 1]
assert x.repeat_interleave(2).tolist() == torch.repeat_interleave(x, torch.tensor([2, 2])).tolist() == [1, 1, 2, 2]
assert torch.can_cast(torch.double, torch.float) and not torch.can_cast(torch.float, torch.int)
assert not torch.can_cast(torch.cfloat, torch.float) and torch.can_cast(torch.int, torch.uint8)
assert x.new(2, 3).shape == (2, 3) and x.new([1, 2]).tolist() == [1.0, 2.0] and x.bernoulli(1.0).tolist() == [1.0, 1.0]
image = torch.zeros(1, 2, 3, 4)
assert image.is_contiguous() and not image.is_contiguous(memory_format=torch.channels_last)
assert image.contiguous(memory_format=torch.channels_last).shape == image.shape
turned = torch.zeros(1, 3, 4, 2).permute(0, 3, 1, 2)
assert turned.is_contiguous(memory_format=torch.channels_last) and not turned.is_contiguous()
assert [len(part) for part in torch.ones(3).unsafe_chunk(2)] == [2, 1] and not hasattr(torch, "nosuch_")
# Windows that reach over the end: the mean of what is in them stands for the rest.
values = torch.arange(5.0)
found = F.lp_pool1d(values[None], 2, 3, stride=2, ceil_mode=True)[0].tolist()
wanted = [math.sqrt(0 + 1 + 4), math.sqrt(4 + 9 + 16)]
assert all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(found, wanted))
found = nn.LPPool1d(2, 3, stride=3, ceil_mode=True)(values[None])[0].tolist()
assert math.isclose(found[1], math.sqrt((9 + 16) / 2 * 3), rel_tol=1e-6)
assert F.lp_pool2d(torch.ones(1, 1, 3, 3), 1, 2, ceil_mode=True).tolist() == [[[[4.0, 4.0], [4.0, 4.0]]]]
assert nn.init._calculate_fan_in_and_fan_out(torch.ones(2, 3, 5)) == (15, 10)
assert nn.init._calculate_correct_fan(torch.ones(2, 3), "fan_out") == 2
""",
    "bases of layers": """
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.loss import _Loss, _WeightedLoss
from torch.nn.modules.utils import _ntuple, _pair, _reverse_repeat_tuple, _triple

assert isinstance(nn.BatchNorm2d(1), _BatchNorm) and not isinstance(nn.GroupNorm(1, 1), _BatchNorm)
assert isinstance(nn.Conv1d(1, 1, 1), _ConvNd) and isinstance(nn.ConvTranspose2d(1, 1, 1), _ConvNd)
assert isinstance(nn.GRU(1, 1), nn.RNNBase) and isinstance(nn.LSTMCell(1, 1), nn.RNNCellBase)
assert isinstance(nn.Dropout(), nn.modules.dropout._DropoutNd) and isinstance(nn.MSELoss(), _Loss)
assert isinstance(nn.NLLLoss(), _WeightedLoss) and isinstance(nn.MaxPool2d(2), nn.modules.pooling._MaxPoolNd)


class Focal(_WeightedLoss):
    def __init__(self, gamma=2.0, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(weight, size_average, reduce, reduction)
        self.gamma = gamma

    def forward(self, input, target):
        cost = F.cross_entropy(input, target, weight=self.weight, reduction="none")
        focal = (1 - torch.exp(-cost)) ** self.gamma * cost
        return focal.mean() if self.reduction == "mean" else focal.sum()


scores, classes = torch.zeros(2, 2), torch.tensor([0, 1])
assert abs(Focal()(scores, classes).item() - 0.25 * 0.6931472) < 1e-6 and Focal(reduce=False).reduction == "none"
assert "weight" in Focal(weight=torch.ones(2)).state_dict()
assert _pair(3) == (3, 3) and _triple([1, 2, 3]) == (1, 2, 3) and _ntuple(4)(0) == (0,) * 4
assert _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
""",
    "attention": """
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import and_masks, create_block_mask, flex_attention, or_masks

q, k, v = (torch.randn(2, 4, 5, 8) for _ in range(3))
causal = lambda b, h, i, j: i >= j
with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
    wanted = F.scaled_dot_product_attention(q, k, v, is_causal=True)
mask = create_block_mask(causal, None, None, 5, 5)
assert torch.allclose(flex_attention(q, k, v, block_mask=mask), wanted, atol=1e-5) and abs(mask.sparsity() - 40) < 1e-4
assert torch.allclose(flex_attention(q, k, v), F.scaled_dot_product_attention(q, k, v), atol=1e-5)
slopes = torch.tensor([1.0, 0.5, 0.25, 0.125])
bias = slopes.view(4, 1, 1) * (torch.arange(5)[None, :] - torch.arange(5)[:, None])
wanted = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.expand(2, 4, 5, 5))
assert torch.allclose(flex_attention(q, k, v, lambda s, b, h, i, j: s + slopes[h] * (j - i)), wanted, atol=1e-5)
near = and_masks(causal, lambda b, h, i, j: i - j < 2)
assert create_block_mask(near, 1, 1, 3, 3).to_dense()[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
assert create_block_mask(or_masks(causal, lambda b, h, i, j: j == 2), 1, 1, 3, 3).to_dense()[0, 0, 0].tolist() == [
    True, False, True,
]
few = F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True)
assert torch.allclose(flex_attention(q, k[:, :2], v[:, :2], enable_gqa=True), few, atol=1e-5)
out, sums = flex_attention(q, k, v, return_lse=True)
assert sums.shape == (2, 4, 5)
try:
    sdpa_kernel("math").__enter__()
except TypeError as error:
    assert "SDPBackend" in str(error)

for sizes, masked in (({}, False), ({"kdim": 3, "vdim": 6}, False), ({"add_bias_kv": True}, True)):
    layer = nn.MultiheadAttention(4, 2, **sizes)
    x, y, z = torch.randn(3, 2, 4), torch.randn(5, 2, sizes.get("kdim", 4)), torch.randn(5, 2, sizes.get("vdim", 4))
    left_out = torch.tensor([[False] * 4 + [True]] * 2) if masked else None
    wanted = layer(x, y, z, key_padding_mask=left_out)
    apart = {n: getattr(layer, n) for n in ("q_proj_weight", "k_proj_weight", "v_proj_weight")} if sizes else {}
    apart = apart if "kdim" in sizes else {}
    found = F.multi_head_attention_forward(
        x, y, z, 4, 2, layer.in_proj_weight, layer.in_proj_bias, layer.bias_k, layer.bias_v, False, 0.0,
        layer.out_proj.weight, layer.out_proj.bias, key_padding_mask=left_out, use_separate_proj_weight=bool(apart),
        **apart,
    )
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(found, wanted))
found[0].sum().backward()
assert layer.in_proj_weight.grad is not None and layer.out_proj.weight.grad is not None
""",
    "tools": """
import torch.utils.benchmark as benchmark
from torch.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler
from pathlib import Path

model, x = nn.Linear(4, 4), torch.randn(2, 4)
seen = []
turn = schedule(wait=1, warmup=1, active=2, repeat=1)
assert [turn(step).name for step in range(5)] == ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE"]
with profile(activities=[ProfilerActivity.CPU], schedule=turn, on_trace_ready=seen.append) as measured:
    for _ in range(6):
        with record_function("step"):
            model(x).sum().backward()
        measured.step()
assert seen == [measured]
counts = {each.key: each.count for each in measured.key_averages()}
assert counts["step"] == 2 and counts["linear"] == 2 and any("backward" in name for name in counts)
text = measured.key_averages().table(sort_by="cpu_time_total", row_limit=2)
assert len(text.splitlines()) == 4 and "step" in text.splitlines()[1]
with torch.autograd.profiler.profile() as whole:
    model(x)
tensorboard_trace_handler("traces")(whole)
assert len(list(Path("traces").glob("*.pt.trace.json"))) == 1 and whole.events()
try:
    profile(schedule=schedule(wait=5, warmup=0, active=1)).key_averages()
except RuntimeError as error:
    assert "nothing was recorded" in str(error)

timer = benchmark.Timer("x + y", "y = 2", globals={"x": x}, label="sum", sub_label="small")
found = timer.blocked_autorange(min_run_time=0.01)
assert found.median > 0 and found.iqr >= 0 and found.number_per_run * len(found.times) > 1
assert "sum: small" in repr(found) and timer.timeit(10).mean > 0
table = benchmark.Compare([found])
table.print()
assert "sum: small" in str(table)
""",
    "sparse matrices": """
indices, values = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), torch.tensor([3.0, 4.0, 5.0, 1.0], requires_grad=True)
matrix, dense = torch.sparse_coo_tensor(indices, values, (2, 3)), torch.randn(3, 2, requires_grad=True)
whole = matrix.to_dense()
assert whole.tolist() == [[0, 0, 4], [4, 0, 5]] and matrix.shape == (2, 3) and matrix.is_sparse and matrix._nnz() == 4
merged = matrix.coalesce()
assert merged.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and merged.values().tolist() == [4, 4, 5]
wanted = whole @ dense
for made in (torch.sparse.mm(matrix, dense), matrix @ dense, torch.spmm(matrix, dense), torch.mm(matrix, dense),
             torch.matmul(matrix, dense), (dense.t() @ matrix.t()).t(), merged.mm(dense)):
    assert torch.allclose(made, wanted)
assert torch.allclose(torch.matmul(matrix, dense[:, 0]), wanted[:, 0])
assert torch.allclose(torch.sparse.addmm(torch.ones(2, 2), matrix, dense, beta=2.0), 2 + wanted)
(gradient,) = torch.autograd.grad(torch.sparse.mm(matrix, dense).sum(), values)
assert torch.allclose(gradient, dense.detach().sum(1)[indices[1]])
eye = torch.eye(3).to_sparse()
assert (eye + eye).coalesce().values().tolist() == [2, 2, 2] and torch.sparse.sum(eye) == 3 and (2 * eye).sum() == 6
assert torch.sparse.mm(eye, eye).to_dense().tolist() == torch.eye(3).tolist()
older = torch.sparse.FloatTensor(torch.LongTensor([[0], [1]]), torch.FloatTensor([2]), torch.Size([2, 2]))
assert older.to_dense().tolist() == [[0, 2], [0, 0]] and older.to(torch.float64).dtype == torch.float64
for wrong in (lambda: matrix.values(), lambda: torch.sparse_coo_tensor(indices, values[:3]),
              lambda: torch.sparse_coo_tensor(indices, values, (1, 3)), lambda: torch.sparse.mm(matrix, whole)):
    try:
        wrong()
    except RuntimeError:
        continue
    raise AssertionError
for places in ([[-1]], [[2]]):
    try:
        torch.sparse_coo_tensor(places, [1.0], (2,))
        raise AssertionError("places are within the sizes")
    except RuntimeError:
        pass
assert isinstance(eye, torch.Tensor) and torch.is_tensor(eye) and not isinstance(eye, nn.Parameter)
assert eye.layout is torch.sparse_coo and str(eye.layout) == "torch.sparse_coo" and eye.numel() == 9
assert repr(torch.eye(2).to_sparse()).splitlines() == [
    "tensor(indices=tensor([[0, 1],", "                       [0, 1]]),", "       values=tensor([1., 1.]),",
    "       size=(2, 2), nnz=2, layout=torch.sparse_coo)",
]
""",
    "sparse buffers": """
import copy

class Net(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.register_buffer("links", torch.tensor([[0.0, scale], [2.0, 0.0]]).to_sparse())
        self.register_buffer("mask", torch.eye(2, dtype=torch.bool).to_sparse(), persistent=False)

net = Net(1.0)
assert [name for name, _ in net.named_buffers()] == ["links", "mask"] and list(net.state_dict()) == ["links"]
torch.save(net.state_dict(), "state.pt")
again = Net(5.0)
before = again.links
again.load_state_dict(torch.load("state.pt"))
assert again.links is before and torch.equal(again.links.to_dense(), net.links.to_dense()) and before.is_coalesced()
copied = copy.deepcopy(again).half()
assert copied.links.dtype == torch.float16 and copied.mask.dtype == torch.bool and again.links.dtype == torch.float32
assert copied.mask.indices().T.tolist() == [[0, 0], [1, 1]]
again.links = torch.eye(2).to_sparse()
assert dict(again.named_buffers())["links"]._nnz() == 2 and net.links.to_dense().tolist() == [[0, 1], [2, 0]]
again.load_state_dict(net.state_dict(), assign=True)
assert again.links.to_dense().tolist() == [[0, 1], [2, 0]]
for wrong in (torch.eye(2), torch.eye(3).to_sparse()):
    try:
        again.load_state_dict({"links": wrong})
        raise AssertionError("a state that does not fit is refused")
    except RuntimeError as error:
        assert "links" in str(error)
""",
    "loaders, optimizers, errors": """
import numpy as np
from torch.types import Device, Number
from torch.utils.data import DataLoader, Dataset, TensorDataset, default_collate

rows = TensorDataset(torch.arange(8.0).view(4, 2), torch.arange(4))
for workers in (0, 1):
    loader = DataLoader(rows, batch_size=2, num_workers=workers)
    batches = list(loader)
    assert [type(batch) for batch in batches] == [list, list] and batches[1][1].tolist() == [2, 3]
    for data in loader:
        data[0] = data[0] * 2  # which a list lets do
samples = [(1, {"a": (2, "x")}), (4, {"a": (5, "y")})]
first, rest = next(iter(DataLoader(samples, batch_size=2)))
assert first.tolist() == [1, 4] and type(rest["a"]) is list and rest["a"][0].tolist() == [2, 5]
assert next(iter(DataLoader([1, 2], batch_size=2, collate_fn=tuple))) == (1, 2)
assert type(default_collate([(1, 2), (3, 4)])) is list
assert type(next(iter(DataLoader(rows, batch_size=2, collate_fn=default_collate)))) is list
loader = DataLoader(rows, batch_size=1, shuffle=True)
batches = iter(loader)
next(batches)
other = DataLoader(rows, batch_size=1, shuffle=True)
other.load_state_dict(loader.state_dict())
assert [y.item() for _, y in other] == [y.item() for _, y in batches]

layer, calls = nn.Linear(2, 1), []
optimizer = torch.optim.SGD(layer.named_parameters(), lr=0.1)
assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"] and len(optimizer.param_groups[0]["params"]) == 2
handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: calls.append("before"))
optimizer.register_step_post_hook(lambda optimizer, args, kwargs: calls.append(args))
layer(torch.ones(1, 2)).sum().backward()
before = layer.bias.item()
optimizer.step()
handle.remove()
optimizer.step(None)
assert calls == ["before", (optimizer,), (optimizer, None)] and abs(layer.bias.item() - before + 0.2) < 1e-6
for function, matrix in ((torch.linalg.inv, torch.zeros(2, 2)), (torch.linalg.cholesky, -torch.eye(2))):
    for kind in (torch.linalg.LinAlgError, RuntimeError, ValueError):
        try:
            function(matrix)
        except kind:
            continue
        raise AssertionError
assert str(layer.load_state_dict(layer.state_dict())) == "<All keys matched successfully>"
try:
    layer.load_state_dict({})
except RuntimeError as error:
    assert "weight" in str(error)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1.0, gamma=0.5)
schedule.step()
assert optimizer.param_groups[0]["lr"] == 0.05
try:
    torch.optim.lr_scheduler.StepLR(optimizer, 1.5)
except TypeError as error:
    assert "step_size" in str(error)
handle = layer.register_forward_pre_hook(len)
assert list(layer._forward_pre_hooks.values()) == [len] and not layer._forward_hooks
handle.remove()
assert not layer._forward_pre_hooks
torch._dynamo.reset()
torch._dynamo.config.suppress_errors = True
""",
    "counts of products": """
from torch.utils.flop_counter import FlopCounterMode

a, b, bias, out = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5), torch.randn(5), torch.empty(3, 5)
same = [
    lambda: a @ b,
    lambda: torch.matmul(a, b),
    lambda: a.matmul(b),
    lambda: a.mm(b),
    lambda: torch.mm(a, b),
    lambda: torch.bmm(a[None], b[None]),
    lambda: torch.addmm(bias, a, b),
    lambda: F.linear(a, b.T, bias),
    lambda: a.__rmatmul__(b.T[:, :3]),
]
for k, make in enumerate(same):
    with FlopCounterMode(display=False) as counter:
        made = make()
    assert counter.get_total_flops() == 120, (k, counter.get_total_flops())
    assert torch.equal(made, make()), k
assert (a + a).requires_grad and (a @ b).grad_fn is not None
""",
    "scripts, ensembles, precision": """
import copy
from torch.func import functional_call, functionalize, stack_module_state, vmap

model, x = nn.Sequential(nn.Linear(4, 2), nn.Tanh()), torch.randn(3, 4)
torch.jit.save(torch.jit.script(model), "model.pt")
assert torch.equal(torch.jit.load("model.pt")(x), model(x))
torch.jit.trace(model, x).save("traced.pt")
assert torch.equal(torch.jit.load("traced.pt")(x), model(x))
torch._assert(True, "not raised")
try:
    torch._assert(False, "raised")
except AssertionError as error:
    assert str(error) == "raised"
assert torch.jit.annotate(list, [1]) == [1] and torch.jit.isinstance([1], list)
assert torch.jit.Attribute(1, int).value == 1
traced = torch.jit.trace_module(model, {"forward": x})
assert torch.jit.script_if_tracing(len) is len and torch.equal(traced(x), model(x))
models = [nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2)).eval() for _ in range(3)]
parameters, buffers = stack_module_state(models)
weight = parameters["0.weight"]
assert weight.shape == (3, 2, 4) and weight.requires_grad and weight.is_leaf
base = copy.deepcopy(models[0])
found = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(parameters, buffers, x)
assert torch.allclose(found, torch.stack([each(x) for each in models]), atol=1e-6)
try:
    stack_module_state([models[0], nn.ReLU()])
except RuntimeError as error:
    assert "one type" in str(error)
node = (torch.ones(2, requires_grad=True) * 2).grad_fn
assert node.name() == "MulBackward0" and node.next_functions[0][0] is not None
assert torch.equal(functionalize(torch.sin)(x), torch.sin(x)) and torch.GradScaler is torch.amp.GradScaler
weights = {name: torch.zeros_like(p) for name, p in models[0].named_parameters()}
assert torch.nn.utils.stateless.functional_call(models[0], weights, (x,)).abs().sum() == 0
assert torch.amp.is_autocast_available("cpu") and not torch.amp.is_autocast_available("nosuch")
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_surroundings(program, tmp_path):
    head = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
    extensions.write(tmp_path, {"program.py": head + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
