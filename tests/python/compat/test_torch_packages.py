"""What packages that build on PyTorch ask the front for: paths, habits of their classes, files of models."""

import pytest

from support import extensions

SETUP = """
import abc, copy, os, pickle, sys, tempfile
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

"""

CASES = {
    "paths": """
import torch.ao.quantization, torch.nn.quantized, torch.quantization, torch.utils.model_zoo, torch.distributed.constants
from torch._dynamo.eval_frame import OptimizedModule
from torch._subclasses.fake_tensor import is_fake
from torch.amp.grad_scaler import OptState
from torch.autograd.profiler import EventList, format_time
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.jit.annotations import BroadcastingList2, List
from torch.nn.modules.transformer import _get_activation_fn
from torch.nn.parallel.scatter_gather import gather, scatter
from torch.nn.parameter import is_lazy
from torch.onnx import is_in_onnx_export
from torch.optim.optimizer import ParamsT, required
from torch.profiler.profiler import profile
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

assert torch.backends.cpu.get_cpu_capability() == "DEFAULT" and torch.ones(1).numpy(force=True).item() == 1
assert torch.torch is torch and not is_fake(torch.ones(1)) and get_proxy_mode() is None and not is_in_onnx_export()
assert isinstance(torch.compile(nn.Linear(1, 1)), OptimizedModule) and not is_lazy(nn.Linear(1, 1).weight)
assert not isinstance(nn.Linear(1, 1), torch.jit.ScriptModule) and not torch.is_autocast_enabled("mps")
assert torch.equal(_get_activation_fn("relu")(-torch.ones(1)), torch.zeros(1))
assert format_time(1.5e6) == "1.500s" and format_time(12) == "12.000us"
assert repr(required) == "<required parameter>" and OptState.READY.value == 0
assert torch.default_generator.initial_seed() == torch.initial_seed() == 0
stub = torch.ao.quantization.QuantWrapper(nn.ReLU())
assert stub(-torch.ones(1)).item() == 0 and torch.nn.quantized.FloatFunctional().add_relu(-torch.ones(1), 0).item() == 0
assert torch._C._nn._parse_to("cpu", torch.float64, non_blocking=True)[:3] == (torch.device("cpu"), torch.float64, True)
parts = torch._utils._unflatten_dense_tensors(torch._utils._flatten_dense_tensors([torch.ones(2, 2), torch.zeros(1)]),
                                              [torch.ones(2, 2), torch.zeros(1)])
assert [tuple(each.shape) for each in parts] == [(2, 2), (1,)]
try:
    torch._assert_async(torch.zeros(1), "no")
except RuntimeError as error:
    assert str(error) == "no"
drawn = torch.binomial(torch.tensor([0.0, 5.0, 1000.0]), torch.tensor([0.5, 1.0, 0.25]))
assert drawn[0] == 0 and drawn[1] == 5 and 150 < drawn[2] < 350
""",
    "words": """
a, b = torch.rand(3, 4), torch.rand(3, 4)
m = torch.rand(3, 3) + 3 * torch.eye(3)
for got, wanted in [
    (torch.lerp(a, end=b, weight=0.25), a + 0.25 * (b - a)),
    (torch.float_power(a, exponent=2), a.double() ** 2),
    (torch.heaviside(a - 0.5, values=b), (a > 0.5).float()),
    (torch.ldexp(a, other=torch.tensor(2)), a * 4),
    (torch.ger(a[0], vec2=b[0]), a[0][:, None] * b[0]),
    (torch.linalg.solve(A=m, B=a), torch.linalg.inv(m) @ a),
    (F.cosine_similarity(x1=a, x2=b, dim=1), (a * b).sum(1) / a.norm(dim=1) / b.norm(dim=1)),
    (F.pairwise_distance(x1=a, x2=b, eps=0.0), (a - b).norm(dim=1)),
    (F.one_hot(tensor=torch.tensor([1, 0])), torch.tensor([[0, 1], [1, 0]])),
    (F.gumbel_softmax(logits=a, dim=1).sum(1), torch.ones(3)),
    (torch.ones(2).add_(2.0, torch.ones(2)), torch.full((2,), 3.0)),
    (torch.ones(2).addcmul_(2.0, torch.ones(2), torch.ones(2)), torch.full((2,), 3.0)),
    (torch.ones(2).addcdiv_(torch.ones(2), torch.ones(2), value=2.0), torch.full((2,), 3.0)),
]:
    assert torch.allclose(got, wanted, atol=1e-5), (got, wanted)
assert torch.randint_like(a, high=2).max() < 2
""",
    "results written over tensors": """
a, b = torch.rand(3, 4), torch.rand(3, 4)
for function, args in [
    (torch.max, (a, b)), (torch.min, (a, b)), (torch.max, (a, 1)), (torch.sort, (a,)), (torch.median, (a, 1)),
    (torch.mode, (a, 1)), (torch.std, (a, 1)), (torch.var_mean, (a, 0)), (torch.norm, (a, 2, 1)),
    (torch.searchsorted, (a[0].sort()[0], b[0])), (torch.sum, (a, 0)), (torch.mean, (a, 0)),
]:
    wanted = function(*args)
    many = isinstance(wanted, tuple)
    places = tuple(torch.empty_like(each) for each in (wanted if many else (wanted,)))
    function(*args, out=places if many else places[0])
    for place, each in zip(places, wanted if many else (wanted,)):
        assert torch.equal(place, each), function
kept = a.clone()
torch.max(kept, b, out=kept)
assert torch.equal(kept, torch.maximum(a, b))
""",
    "strides": """
image = torch.arange(24).reshape(2, 4, 3).permute(2, 0, 1)  # channels come last in memory
assert torch.equal(image.as_strided((3, 2, 4), (1, 12, 3)), image)
assert image.as_strided((4,), (2,), 1).tolist() == [1, 3, 5, 7]
part = image[:, :, :2]
part.as_strided((2,), (1,)).zero_()  # a view of the memory, which has elements beside the part
assert image[:2, 0, 0].tolist() == [0, 0] and part.as_strided((12,), (1,), 12).tolist() == list(range(12, 24))
for wrong in (lambda: part.as_strided((25,), (1,)), lambda: part.float().requires_grad_().as_strided((25,), (1,))):
    try:
        wrong()
    except RuntimeError:
        pass
    else:
        raise AssertionError
weight = torch.arange(6.0, requires_grad=True)
weight.as_strided((2, 2), (2, 1)).sum().backward()
assert weight.grad.tolist() == [1, 1, 1, 1, 0, 0]
pair, tangent = torch.func.jvp(lambda x: (x * 2).as_strided((2,), (2,)), (weight.detach(),), (torch.ones(6),))
assert pair.tolist() == [0, 4] and tangent.tolist() == [2, 2]
assert torch.func.jacfwd(lambda x: x.as_strided((1,), (1,), 5))(weight.detach()).tolist() == [[0, 0, 0, 0, 0, 1]]
assert torch.arange(6).as_strided_((2, 2), (1, 2)).tolist() == [[0, 2], [1, 3]]
""",
    "classes": """
from typing import TypeVar
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler

T = TypeVar("T")


class Base(abc.ABC, Dataset[T]):
    @abc.abstractmethod
    def __len__(self): ...


class Numbers(Base[int]):
    def __len__(self):
        return 4

    def __getitem__(self, k):
        return k


try:
    Base()
except TypeError:
    pass
else:
    raise AssertionError
loader: DataLoader[int] = DataLoader(Numbers(), batch_size=2)
assert [each.tolist() for each in loader] == [[0, 1], [2, 3]] and isinstance(Numbers(), Dataset)
from torch.utils.data.dataloader import _BaseDataLoaderIter, _SingleProcessDataLoaderIter
from types import SimpleNamespace
assert isinstance(iter(loader), _BaseDataLoaderIter)
foreign = SimpleNamespace(dataset=[[1, 2], [3]], collate_fn=sum)
assert list(_SingleProcessDataLoaderIter(foreign)) == [3, 3]
assert Sampler[int] and IterableDataset[T] and loader._dataset_kind == 0
assert isinstance(nn.CrossEntropyLoss().__annotations__, dict)


class Collection(nn.ModuleDict):
    def __init__(self, modules):
        super().__init__()
        self.ready = True
        self.update(modules)

    def update(self, modules):
        assert self.ready
        super().update(modules)


assert list(Collection({"a": nn.ReLU()})) == ["a"]


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self._computed = self._named = self._claim = self._get = None
        self.weight = nn.Parameter(torch.ones(1))


own = Own()
assert not hasattr(own, "nosuch") and [name for name, _ in own.named_parameters()] == ["weight"]
assert own.get_parameter("weight") is own.weight


class Named(torch.Tensor):
    def astype(self, *args):
        raise AssertionError


x = torch.ones(2).as_subclass(Named)
assert type(x) is Named and x.double().dtype == torch.float64 and x.type(torch.int32).dtype == torch.int32
""",
    "memory off the tape": """
y = torch.ones(3, requires_grad=True)
shadow = torch.zeros(3)
shadow.data.copy_(y * 2)
shadow.data.lerp_(y, 0.5)
shadow.detach().mul_(y)
shadow.data[0] = y[0] * 7
assert shadow.tolist() == [7, 1.5, 1.5] and not shadow.requires_grad
""",
    "optimizers": """
from torch.optim.optimizer import Optimizer, required


class Rows(Optimizer):
    def __init__(self, params, lr=required):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["rows"] = state.get("rows", torch.zeros(p.shape[0])) + p.grad.abs().sum(1)
                p.sub_(group["lr"] * p.grad / state["rows"][:, None])


weights = [nn.Parameter(torch.rand(2, 3)) for _ in range(2)]
weights[1].data.copy_(weights[0])
first, second = (Rows([w], lr=0.1) for w in weights)
for _ in range(2):
    weights[0].square().sum().backward()
    first.step()
weights[1].data.copy_(weights[0])
second.load_state_dict(first.state_dict())
for w, optimizer in zip(weights, (first, second)):
    w.grad = torch.ones(2, 3)
    optimizer.step()
assert torch.equal(*weights)

from torch.distributed.optim import ZeroRedundancyOptimizer

nets = [nn.Linear(2, 2) for _ in range(2)]
nets[1].load_state_dict(nets[0].state_dict())
plain = torch.optim.Adam(nets[0].parameters(), lr=0.1)
divided = ZeroRedundancyOptimizer(nets[1].parameters(), torch.optim.Adam, lr=0.1)
for net, optimizer in zip(nets, (plain, divided)):
    for step in range(3):
        optimizer.zero_grad()
        net(torch.ones(1, 2)).sum().backward()
        optimizer.param_groups[0]["lr"] = 0.1 / (step + 1)
        optimizer.step()
assert torch.equal(nets[0].weight, nets[1].weight)
divided.consolidate_state_dict()
again = ZeroRedundancyOptimizer(nets[1].parameters(), torch.optim.Adam, lr=0.1)
again.load_state_dict(divided.state_dict())
""",
    "hub": """
from pathlib import Path

folder = Path(tempfile.mkdtemp())
os.environ["TORCH_HOME"] = str(folder / "home")
assert torch.hub.get_dir() == str(folder / "home" / "hub")
state = nn.Linear(2, 2).state_dict()
torch.save(state, folder / "linear.pt")
digest = __import__("hashlib").sha256((folder / "linear.pt").read_bytes()).hexdigest()
named = folder / f"linear-{digest[:8]}.pt"
(folder / "linear.pt").rename(named)
found = torch.hub.load_state_dict_from_url(named.as_uri(), check_hash=True, map_location=lambda storage, where: storage)
assert torch.equal(found["weight"], state["weight"])
named.unlink()
assert torch.utils.model_zoo.load_url(named.as_uri()).keys() == state.keys()  # it is kept
wrong = folder / "linear-00000000.pt"
torch.save(state, wrong)
try:
    torch.hub.load_state_dict_from_url(wrong.as_uri(), check_hash=True)
except RuntimeError as error:
    assert "hash" in str(error)
else:
    raise AssertionError
assert [each.name for each in (folder / "home" / "hub" / "checkpoints").iterdir()] == [named.name]
source = ["import torch", "def net(n):", "    'A layer.'", "    return torch.nn.Linear(n, n)"]
(folder / "hubconf.py").write_text("\\n".join(source))
assert torch.hub.load(str(folder), "net", 3, source="local").weight.shape == (3, 3)
assert torch.hub.list(str(folder)) == ["net"] and torch.hub.help(str(folder), "net") == "A layer."
try:
    torch.hub.load("owner/name", "net")
except NotImplementedError as error:
    assert "clone" in str(error)
torch.hub.set_dir(folder / "other")
assert torch.hub.get_dir() == str(folder / "other")
""",
    "futures": """
import threading
from torch.futures import Future, collect_all, wait_all

first, second = Future(), torch.Future()
doubled = first.then(lambda f: f.value() * 2)
failing = first.then(lambda f: 1 / 0)
both = collect_all([first, second])
threading.Timer(0.05, lambda: [each.set_result(k + 1) for k, each in enumerate((first, second))]).start()
assert [each.value() for each in both.wait()] == [1, 2] and doubled.wait() == 2 and first.done()
assert wait_all([first, second]) == [1, 2] and collect_all([]).wait() == []
for wrong, error in [(failing.wait, ZeroDivisionError), (lambda: first.set_result(0), RuntimeError),
                     (Future().value, RuntimeError), (lambda: Future().set_exception(1), TypeError)]:
    try:
        wrong()
    except error:
        pass
    else:
        raise AssertionError(error)
""",
    "batches by class": """
from torch.utils.data import DataLoader, default_collate
from torch.utils.data._utils.collate import collate, default_collate_fn_map, np_str_obj_array_pattern


class Point:
    def __init__(self, x):
        self.x = x


samples = [{"p": Point(k), "n": k, "t": (torch.ones(2), "a")} for k in range(2)]
default_collate_fn_map[Point] = lambda batch, *, collate_fn_map=None: [each.x for each in batch]
for batch in (default_collate(samples), next(iter(DataLoader(samples, batch_size=2)))):
    assert batch["p"] == [0, 1] and batch["n"].tolist() == [0, 1] and batch["t"][0].shape == (2, 2)
    assert list(batch["t"][1]) == ["a", "a"]
try:
    collate([[1], [1, 2]])
except RuntimeError as error:
    assert "as many parts" in str(error)
else:
    raise AssertionError
assert np_str_obj_array_pattern.search("<U3") and not np_str_obj_array_pattern.search("<f4")
""",
    "counts of products": """
from torch.utils.flop_counter import FlopCounterMode

net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10))
with FlopCounterMode(display=False) as counter:
    net(torch.rand(2, 3, 8, 8))
    F.scaled_dot_product_attention(torch.rand(1, 2, 5, 4), torch.rand(1, 2, 6, 4), torch.rand(1, 2, 6, 4))
convolution, linear, attention = 2 * 2 * 8 * 64 * 27, 2 * 2 * 512 * 10, 2 * 2 * 2 * 5 * 6 * 4
assert counter.get_total_flops() == convolution + linear + attention
counts = {name: sum(each.values()) for name, each in counter.get_flop_counts().items()}
assert counts["Sequential.0"] == convolution and counts["Sequential"] == convolution + linear
assert "Sequential.3" in counter.get_table() and net(torch.rand(1, 3, 8, 8)).requires_grad
""",
    "operators that are not there": """
@torch.library.register_fake("packages_test::twice")
def _(x):
    return torch.empty_like(x)


torch.library.register_autograd("packages_test::twice", lambda ctx, g: g * 2)
library = torch.library.Library("packages_test", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: torch.as_tensor(x.detach().numpy() * 2), "CPU")
x = torch.ones(2, requires_grad=True)
assert torch.ops.packages_test.twice(torch.ones(2, device="meta")).shape == (2,)
torch.ops.packages_test.twice(x).sum().backward()
assert x.grad.tolist() == [2, 2]
broken = os.path.join(tempfile.mkdtemp(), "broken.so")
open(broken, "w").close()
try:
    torch.ops.load_library(broken)
except OSError as error:
    assert isinstance(error, RuntimeError)
else:
    raise AssertionError
""",
    "files": """
from torch.serialization import DEFAULT_PROTOCOL

path = os.path.join(tempfile.mkdtemp(), "state.pt")
torch.save({"w": torch.ones(2)}, path)
reader = torch.PyTorchFileReader(path)
assert reader.has_record("data.pkl") and not reader.has_record("nosuch") and DEFAULT_PROTOCOL == 2
assert reader.get_record("byteorder") == b"little" and "data/0" in reader.get_all_records()
""",
}


@pytest.mark.parametrize("name", CASES)
def test_packages(name, tmp_path):
    extensions.write(tmp_path, {"program.py": SETUP + CASES[name]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
