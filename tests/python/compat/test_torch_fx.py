"""Graphs of the front: what is traced, the code made of it, and passes over it."""

import pytest

from support import extensions

SETUP = """
import copy, math, operator, pickle, sys, tempfile
import torch
import torch.nn.functional as F
from torch import fx, nn
from torch.nn.functional import gelu
from torch.fx.passes.shape_prop import ShapeProp

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, n, act=F.silu):
        super().__init__()
        self.conv, self.norm, self.act = nn.Conv2d(n, n, 3, padding=1), nn.BatchNorm2d(n), act
        self.scale = nn.Parameter(torch.rand(n))
        self.register_buffer("shift", torch.rand(n, 1, 1))

    def forward(self, x):
        b, c, h, w = x.shape
        y = self.norm(self.conv(x)) * self.scale.view(-1, 1, 1) + self.shift
        y = torch.cat([y, x], dim=1)[:, :c]
        return gelu(self.act(y).reshape(b, c, h * w)).view(b, c, h, w) / math.sqrt(c) + torch.tanh(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
        self.blocks = nn.Sequential(Block(4), Block(4, torch.relu))
        self.head = nn.Linear(4, 2)

    def forward(self, x, pooled=True, *, factor=1.0):
        x = self.blocks(self.stem(x))
        if pooled:
            x = x.mean((2, 3))
        return {"out": self.head(x) * factor, "features": (x,)}


net = Net().eval()
x = torch.randn(2, 3, 8, 8)
traced = fx.symbolic_trace(net, concrete_args={"pooled": True})


def close(a, b):
    return torch.allclose(a["out"], b["out"], atol=1e-6)


def targets(graph, op="call_function"):
    return [node.target for node in graph.nodes if node.op == op]

"""

CASES = {
    "values": """
assert close(traced(x), net(x)) and close(traced(x, factor=2.0), net(x, factor=2.0))
assert list(traced.state_dict()) == list(net.state_dict()) and not traced.training
traced(x)["out"].sum().backward()
assert net.stem[0].weight.grad is not None  # the parameters are the same
""",
    "targets": """
found = targets(traced.graph)
assert found.count(torch.tanh) == 2 and found.count(gelu) == 2 and F.gelu is gelu
assert torch.relu in found and F.silu in found and math.sqrt in found and operator.getitem in found
assert targets(traced.graph, "call_module")[:3] == ["stem.0", "stem.1", "blocks.0.conv"]
assert "blocks.0.scale" in targets(traced.graph, "get_attr") and "blocks.0.shift" in targets(traced.graph, "get_attr")
assert torch.tanh(torch.zeros(1)).item() == 0 and net(x)["out"].shape == (2, 2)  # functions are as before
traced.graph.lint()
""",
    "arguments that functions hand on": """
def products(a, b):
    yield torch.einsum("ij,jk", a, b), ("ij,jk", "a", "b"), {}
    yield torch.einsum("ij,jk", [a, b]), ("ij,jk", "a", "b"), {}
    yield torch.einsum("ij,jk", (a, b)), ("ij,jk", "a", "b"), {}
    yield torch.tensordot(a, b, 1), ("a", "b"), {"dims": 1, "out": None}
    yield torch.tensordot(a, b=b, dims=([1], [0])), ("a", "b"), {"dims": ([1], [0]), "out": None}
    yield torch.split(a, 1), ("a", 1), {"dim": 0}
    yield torch.split(a, [1, 2], 1), ("a", [1, 2]), {"dim": 1}
    yield torch.unique(a, return_counts=True), ("a",), {
        "sorted": True, "return_inverse": False, "return_counts": True, "dim": None,
    }
    yield torch.atleast_1d(a), ("a",), {}
    yield torch.matmul(a, b), ("a", "b"), {}

calls = lambda a, b: [made for made, *_ in products(a, b)]
traced = fx.symbolic_trace(calls)
nodes = [node for node in traced.graph.nodes if node.op == "call_function"]
a, b = torch.randn(2, 3), torch.randn(3, 4)
for node, (_, args, kwargs) in zip(nodes, products(a, b), strict=True):
    plain = tuple(each.name if isinstance(each, fx.Node) else each for each in node.args)
    assert (plain, dict(node.kwargs)) == (args, kwargs), node.format_node()
for made, wanted in zip(traced(a, b), calls(a, b), strict=True):
    assert all(map(torch.equal, made, wanted)) if isinstance(made, tuple) else torch.equal(made, wanted)

graph = fx.Graph()
x = fx.Proxy(graph.placeholder("x"))
torch._assert(x.shape[-1] == 3, "sizes")
graph.output(torch.tensordot(x, x, 1).node)
assert "_assert" in [node.name for node in graph.nodes]
""",
    "copies": """
for made in (copy.deepcopy(traced), pickle.loads(pickle.dumps(traced)), copy.copy(traced)):
    assert close(made(x), net(x)) and made.code == traced.code and type(made).__name__ == "Net"
    assert type(made) is not type(traced)
    made.graph.erase_node(made.graph.call_function(torch.ones, (1,)))
    made.recompile()
    assert close(made(x), net(x))
copied = copy.deepcopy(traced)
with torch.no_grad():
    copied.head.weight.zero_()
assert not close(copied(x), net(x)) and close(traced(x), net(x))
""",
    "code": """
def f(x, *rest, k=2, **named):
    return torch.clamp(x[..., 1:] + rest[0] * -k, max=float("inf")) + named["y"] ** -1.5

made = fx.symbolic_trace(f)
assert made.code.startswith("def forward(self, x, *rest, k = 2, **named):"), made.code
assert torch.equal(made(torch.ones(3), 1.0, y=2.0), f(torch.ones(3), 1.0, y=2.0))

def g(x, dtype=torch.float64):
    return torch.zeros(2, device=x.device), x.to(torch.float64), F.softmax(x, dim=-1), slice(0, x.size(0))

made = fx.symbolic_trace(g)
assert "torch.float64" in made.code and "torch.nn.functional.softmax(x, dim = -1)" in made.code, made.code
assert made(torch.ones(2))[3] == slice(0, 2) and made(torch.ones(2))[1].dtype == torch.float64
names = [node.name for node in fx.symbolic_trace(lambda x: (x + 1) + (x + 2) + x.add(3)).graph.nodes]
assert len(set(names)) == len(names) and names[:4] == ["x", "add", "add_1", "add_2"], names
""",
    "what is not known": """
for f, text in [
    (lambda x: x if x.sum() > 0 else -x, "depends on 'gt'"),
    (lambda x: [each for each in x], "cannot be iterated over"),
    (lambda x: dict(**x), "keys"),
]:
    try:
        fx.symbolic_trace(f)
    except fx.proxy.TraceError as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)
try:
    fx.symbolic_trace(lambda x: len(x))
except RuntimeError as error:
    assert "torch.fx.wrap('len')" in str(error)
try:
    fx.symbolic_trace(net, concrete_args={"nosuch": 1})
except ValueError as error:
    assert "nosuch" in str(error)
try:
    traced(x, False)
except AssertionError as error:
    assert "'pooled'" in str(error)
""",
    "wrapped": """
fx.wrap("len")
fx.wrap("twice")

@fx.wrap
def chosen(x):
    return x if x.sum() > 0 else -x

def twice(x):
    return [each * 2 for each in x]

def f(x):
    return chosen(x) * len(x), twice(x)

made = fx.symbolic_trace(f)
assert targets(made.graph)[:2] == [chosen, len] and twice in targets(made.graph)
assert made(-torch.ones(3))[0].tolist() == [3, 3, 3] and len([1]) == 1
""",
    "changes": """
made = copy.deepcopy(traced)
for node in made.graph.nodes:
    if node.target is torch.tanh:
        with made.graph.inserting_after(node):
            new = made.graph.call_function(torch.mul, (node.args[0], 0.0))
        assert node.replace_all_uses_with(new) and not node.users
        made.graph.erase_node(node)
unused = made.graph.call_function(torch.abs, (next(iter(made.graph.nodes)),))
made.graph.output_node().prepend(unused)
assert made.graph.eliminate_dead_code() and not made.graph.eliminate_dead_code()
made.recompile()
assert not close(made(x), net(x)) and torch.tanh not in targets(made.graph)
for wrong in (lambda: made.graph.erase_node(new), lambda: made.graph.erase_node(unused)):
    try:
        wrong()
    except RuntimeError:
        pass
    else:
        raise AssertionError
try:
    fx.immutable_collections.immutable_list([1]).append(2)
except NotImplementedError as error:
    assert "node.args" in str(error)
else:
    raise AssertionError
graph = fx.Graph()
a = graph.placeholder("a")
b = fx.Proxy(graph.call_function(operator.add, (a, 1)))
graph.output((b * 2).relu().node)
assert fx.GraphModule({}, graph)(torch.ones(1)).item() == 4
""",
    "interpreter": """
class Counting(fx.Interpreter):
    count = 0

    def call_function(self, target, args, kwargs):
        self.count += 1
        return super().call_function(target, args, kwargs)

run = Counting(traced)
assert close(run.run(x, True, 1.0), net(x)) and run.count == len(targets(traced.graph))

class Negated(fx.Transformer):
    def call_function(self, target, args, kwargs):
        return -torch.sigmoid(args[0]) if target is torch.tanh else super().call_function(target, args, kwargs)

made = Negated(traced).transform()
assert torch.sigmoid in targets(made.graph) and torch.tanh not in targets(made.graph)
assert made(x)["out"].shape == (2, 2) and close(traced(x), net(x))

ShapeProp(traced).propagate(x)
meta = {node.name: node.meta.get("tensor_meta") for node in traced.graph.nodes}
assert meta["stem_0"].shape == (2, 4, 6, 6) and meta["head"].dtype == torch.float32 and meta["getitem"] is None
assert meta["x"].stride == x.stride() and not meta["x"].is_quantized
try:
    fx.Interpreter(traced).run(torch.ones(1))
except Exception as error:
    assert "stem.0" in "".join(error.__notes__)
""",
    "patterns": """
def f(x, w):
    return torch.add(x.relu(), w) + torch.add(x, w).relu()

made = fx.symbolic_trace(f)
found = fx.replace_pattern(made, lambda a, b: torch.add(a, b), lambda a, b: torch.mul(b, a))
assert len(found) == 2 and torch.add not in targets(made.graph) and targets(made.graph).count(torch.mul) == 2
a, b = torch.rand(3) - 0.5, torch.rand(3)
assert torch.allclose(made(a, b), a.relu() * b + (a * b).relu())

chain = fx.symbolic_trace(lambda x: x.neg().neg().neg().neg())
assert len(fx.replace_pattern(chain, lambda x: x.neg().neg(), lambda x: x + 1)) == 2
assert chain(torch.zeros(1)).item() == 2

shared = fx.symbolic_trace(lambda x: (lambda y: y.exp() + y)(x.sin()))  # something else needs what is inside
assert fx.replace_pattern(shared, lambda x: x.sin().exp(), lambda x: x) == []
try:
    fx.replace_pattern(made, lambda x: x.sin(), lambda x, y: x + y)
except ValueError as error:
    assert "1 inputs" in str(error)
""",
    "fusion": """
from torch.fx.experimental.optimization import fuse

torch.manual_seed(1)
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4))
for _ in range(3):
    model(torch.randn(4, 3, 6, 6))
model.eval()
fused = fuse(model)
assert not any(isinstance(each, nn.BatchNorm2d) for each in fused.modules())
assert torch.allclose(fused(x), model(x), atol=1e-5)
assert isinstance(model[1], nn.BatchNorm2d)
""",
    "leaves": """
class Whole(fx.Tracer):
    def is_leaf_module(self, m, name):
        return isinstance(m, Block) or super().is_leaf_module(m, name)

graph = Whole().trace(net, {"pooled": True})
assert targets(graph, "call_module") == ["stem.0", "stem.1", "blocks.0", "blocks.1", "head"]
assert close(fx.GraphModule(net, graph)(x), net(x))

class Foreign(nn.Module):
    def forward(self, x):
        return nn.Linear(2, 2)(x)

try:
    fx.symbolic_trace(Foreign())
except NameError as error:
    assert "set it as an attribute" in str(error)
assert nn.Linear(2, 2)(torch.ones(1, 2)).shape == (1, 2)  # modules are called as before
""",
    "threads": """
import threading

made = []
def trace():
    made.append(fx.symbolic_trace(net, {"pooled": True}).code)

threads = [threading.Thread(target=trace) for _ in range(4)]
for each in threads:
    each.start()
while any(each.is_alive() for each in threads):
    assert torch.tanh(torch.zeros(1)).item() == 0 and net(x)["out"].shape == (2, 2)  # others compute as ever
for each in threads:
    each.join()
assert made == [traced.code] * 4
assert torch.tanh.__code__.co_varnames[0] == "input" and torch.tanh.__kwdefaults__ != {"_answer": None}
""",
    "modules": """
made = copy.deepcopy(traced)
assert made.add_submodule("extra.part", nn.ReLU()) and isinstance(made.extra.part, nn.ReLU)
made.delete_all_unused_submodules()
assert not hasattr(made, "extra") and close(made(x), net(x)) and not made.delete_submodule("extra")
folder = tempfile.mkdtemp()
made.to_folder(folder + "/saved", "Saved")
sys.path.insert(0, folder)
from saved import Saved
assert close(Saved().eval()(x), net(x))
text = made.print_readable(print_output=False)
assert text.startswith("class Net(torch.nn.Module):") and str(made.graph).startswith("graph(%x")
""",
}


@pytest.mark.parametrize("name", CASES)
def test_graphs(name, tmp_path):
    extensions.write(tmp_path, {"program.py": SETUP + CASES[name]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)


MODES = """
import torch
from torch.overrides import TorchFunctionMode, resolve_name

seen = []


class Log(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        seen.append(resolve_name(func))
        return func(*args, **(kwargs or {}))


class Zeros(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return torch.zeros(2) if func is torch.tanh else func(*args, **(kwargs or {}))


x = torch.ones(2)
with Zeros(), Log():
    assert torch.tanh(x).tolist() == [0, 0] and torch.relu(x).tolist() == [1, 1]
    torch.nn.init.zeros_(torch.nn.functional.gelu(x))
methods = ["torch.Tensor.tolist", "torch.Tensor.tolist"]
assert seen[:4:2] == ["torch.tanh", "torch.relu"] and seen[1:4:2] == methods
assert seen[4:] == ["torch.nn.functional.gelu", "torch.nn.init.zeros_"]
count = len(seen)
assert torch.tanh(x)[0] > 0.7 and len(seen) == count
try:
    with TorchFunctionMode():
        torch.relu(x)
except NotImplementedError:
    pass
else:
    raise AssertionError
assert torch.relu(x).sum() == 2
"""


def test_modes_take_calls_over(tmp_path):
    extensions.write(tmp_path, {"program.py": MODES})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
