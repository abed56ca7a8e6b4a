"""Recorded programs through the front: torch.jit's and torch.export's, shown, trained, saved and loaded."""

import pytest

from support import extensions

HEAD = """
import copy, io, subprocess, sys
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.last = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 5)
        self.register_buffer("shift", torch.ones(5))

    def forward(self, x, *, scale=None):
        y = torch.relu(self.norm(self.conv(x))).mean((2, 3)).view(x.size(0), -1)
        y = self.last(y) + self.shift
        return y if scale is None else {"y": y * scale, "n": 3}

    def seven(self):
        return 7


net, x = Net().eval(), torch.randn(2, 1, 8, 8)


def fails(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError
"""

PROGRAMS = {
    "modes after a trace": """
noisy = nn.Sequential(nn.Linear(4, 64), nn.BatchNorm1d(64), nn.Dropout(0.5))
traced, given = torch.jit.trace(noisy, torch.randn(3, 4)), torch.randn(5, 4)
for training in (False, True, False):
    traced.train(training)
    traced.save("mode.pt")
    loaded = torch.jit.load("mode.pt")
    assert torch.equal(loaded(given), loaded(given)) is not training
    assert training or torch.equal(loaded(given), traced(given))
assert type(copy.deepcopy(traced)) is nn.Sequential
""",
    "traces": """
traced = torch.jit.trace(net, x)
assert isinstance(traced, torch.jit.ScriptModule) and traced.seven() == 7 and torch.equal(traced(x), net(x))
assert list(traced.state_dict()) == list(net.state_dict()) and "conv2d" in traced.code and "conv2d" in str(traced.graph)
traced.save("net.pt", _extra_files={"note": "hi"})
extra = {"note": ""}
loaded = torch.jit.load("net.pt", _extra_files=extra)
assert extra["note"] == b"hi" and torch.equal(loaded(x), net(x)) and loaded.original_name == "Net"
assert loaded(torch.ones(7, 1, 8, 8)).shape == (7, 5)  # the first axis is of any size
assert set(dict(loaded.named_parameters())) == set(dict(net.named_parameters()))
optimizer = torch.optim.SGD(loaded.parameters(), lr=0.1)
losses = []
for _ in range(3):
    optimizer.zero_grad()
    loss = loaded(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[0] > losses[1] > losses[2]
assert torch.equal(copy.deepcopy(loaded)(x), loaded(x)) and torch.equal(copy.deepcopy(traced)(x), traced(x))
line = "import torch; print(torch.jit.load('net.pt')(torch.ones(1, 1, 8, 8)).shape)"
assert "[1, 5]" in subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True).stdout
memory = io.BytesIO()
torch.jit.save(torch.jit.trace(lambda a, b: a @ b + 1, (torch.ones(2, 3), torch.ones(3, 4))), memory)
memory.seek(0)
assert torch.jit.load(memory)(torch.ones(2, 3), torch.ones(3, 4)).tolist() == [[4.0] * 4] * 2
torch.save(net.state_dict(), "state.pt")
assert "torch.jit.save" in fails(RuntimeError, lambda: torch.jit.load("state.pt"))
assert "1 tensors" in fails(ValueError, lambda: loaded(x, x))
""",
    "scripts and frozen modules": """
script = torch.jit.script(net)
assert "first call" in fails(RuntimeError, lambda: script.graph)
script(x)
script.save("script.pt")
assert torch.equal(torch.jit.load("script.pt")(x), net(x)) and "linear" in script.code
frozen = torch.jit.freeze(script)
assert not list(frozen.parameters()) and torch.equal(frozen(x), net(x))
with torch.no_grad():
    net.shift += 1
assert not torch.equal(frozen(x), net(x)) and torch.equal(script(x), net(x))
assert "eval" in fails(RuntimeError, lambda: torch.jit.freeze(torch.jit.script(Net())))


class Decides(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


decides = torch.jit.trace(Decides(), torch.ones(2))
assert decides(-torch.ones(2)).tolist() == [1, 1] and "no program" in fails(RuntimeError, lambda: decides.graph)
""",
    "writes are recorded": """
import onnxruntime

WRITES = '''y += 1
y -= 1
y *= 2
y /= 2
y **= 2
y[0] = 5
y[:, 1:] = 0
y[1] += 2
y.add_(1)
y.mul_(2)
y.zero_()
y.clamp_(0, 3)
y.T[0] += 1
y.view(9)[:2] = 8
y.detach()[0] = 1
y.data[0] = 3
y.data = x + 3
y.t_()
y.transpose_(0, 1)
for r in y: r[0] = 1
y.unbind(0)[1].zero_()
torch.add(y, 1, out=y)'''
x = torch.arange(9.0).reshape(3, 3)
for line in WRITES.splitlines():
    for begin in ("y = x * 2 + 1", "y = x.clone()"):
        names = {"torch": torch}
        exec(f"def f(x):\\n {begin}\\n {line}\\n return y * 3, y", names)
        f = names["f"]
        want = [each.clone() for each in f(x.clone())]

        class Writes(nn.Module):
            def forward(self, x):
                return f(x)

        def same(call, what):
            for _ in range(4):
                for a, b in zip(call(x.clone()), want, strict=True):
                    assert torch.equal(a, b), (what, begin, line, a, b)

        same(torch.compile(f), "compile")
        same(torch.export.export(Writes(), (x.clone(),)).module(), "export")
        memory = io.BytesIO()
        try:
            torch.onnx.export(Writes(), (x.clone(),), memory, input_names=["x"], opset_version=18)
        except ValueError as error:  # what no model can express is refused
            assert "may share memory" in str(error) and "view" in line
            continue
        session = onnxruntime.InferenceSession(memory.getvalue(), providers=["CPUExecutionProvider"])
        same(lambda x: map(torch.from_numpy, session.run(None, {"x": x.numpy()})), "onnx")
weight = torch.zeros(3)


@torch.compile
def moved(x):
    weight[:] = weight * 0.5 + x
    return x + 1


for _ in range(5):
    moved(torch.ones(3))
assert weight.tolist() == [1.9375] * 3
""",
    "each run makes what the program made": """
import onnxruntime


class Sum(nn.Module):
    def forward(self, x):
        total = torch.zeros(4)
        for row in x:
            total += row
        return total


class Several(nn.Module):
    def forward(self, x):
        out, twos, numbers = x.new_zeros(2, 4), torch.ones(4) * 2, torch.tensor([1.0, 2.0, 3.0, 4.0])
        out[:, 1] = x[:, 0]
        numbers.add_(x[0])
        twos[0] = x[0, 0]
        return out + numbers * twos + torch.arange(4)[None] + twos


class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x):
        self.count.add_(x[0])
        return self.count * 1


class Middle(nn.Module):
    def forward(self, x):
        return x.median()


class View(nn.Module):
    def forward(self, x):
        whole = torch.zeros(2, 4)
        row = whole[0]
        row.add_(x[0])
        return whole


x = torch.ones(2, 4)
for kind in (Sum, Several):
    want = kind()(x)
    exported = torch.export.export(kind(), (x,)).module()
    torch.jit.save(torch.jit.trace(kind(), x), "program.pt")
    memory = io.BytesIO()
    torch.onnx.export(kind(), (x,), memory, input_names=["x"], opset_version=18)
    session = onnxruntime.InferenceSession(memory.getvalue(), providers=["CPUExecutionProvider"])
    onnx = lambda x: torch.from_numpy(session.run(None, {"x": x.numpy()})[0])
    for run in (exported, torch.jit.load("program.pt"), onnx):
        assert all(torch.equal(run(x), want) for _ in range(3)), (kind, run)
exported = torch.export.export(Kept(), (x,)).module()
assert exported(x).tolist() == [1.0] * 4 and exported(x).tolist() == [2.0] * 4
assert "through a view" in fails(RuntimeError, lambda: torch.export.export(View(), (x,)))
for line in ("m.data.add_(x[0])", "m.detach().add_(x[0])", "m[0:2].add_(x[0, :2])"):

    class Shared(nn.Module):
        def forward(self, x):
            m = torch.zeros(4)
            exec(line)
            return m * 1

    assert "through a view" in fails(RuntimeError, lambda: torch.export.export(Shared(), (x,)))
assert torch.export.export(Middle(), (x.long(),)).module()(x.long()).dtype == torch.int64
""",
    "no number is taken for a size that is open": """
import numpy as np

for text in (
    "x * int(x.shape[0])", "x + torch.zeros(4).sum() * len(range(x.size(0)))", "x * float(np.prod(x.shape))",
    "x * max(x.shape)", "x if x.shape[0] == 1 else x * 2", "x if x.shape != (2, 4) else x * 2", "x * 0.5 ** x.size(0)",
):

    class One(nn.Module):
        def forward(self, x):
            return eval(text)

    text_of = fails(RuntimeError, lambda: torch.export.export(One(), (torch.ones(2, 4),),
                                                              dynamic_shapes=({0: torch.export.Dim("n")},)))
    assert "known only when" in text_of, text


class Limited(nn.Module):
    def forward(self, x):
        assert x.shape[0] <= 5 and x.shape[0] * 2 > 2
        return x[: x.shape[0] // 2]


shapes = ({0: torch.export.Dim("n", min=2, max=5)},)
limited = torch.export.export(Limited(), (torch.ones(2, 4),), dynamic_shapes=shapes)
torch.export.save(limited, "limited.pt2")
for program in (limited.module(), torch.export.load("limited.pt2").module()):
    assert program(torch.ones(5, 4)).shape == (2, 4)
    for rows in (1, 6):
        assert f"size {rows}" in fails(RuntimeError, lambda: program(torch.ones(rows, 4)))


class Same(nn.Module):
    def forward(self, x, y):
        return x + y if x.shape[0] == y.shape[0] else x * 2 + y.mean(0)


n, m = torch.export.Dim("n"), torch.export.Dim("m")
same = torch.export.export(Same(), (torch.ones(2, 4), torch.ones(2, 4)), dynamic_shapes=({0: n}, {0: n})).module()
assert torch.equal(same(torch.ones(3, 4), torch.ones(3, 4)), torch.full((3, 4), 2.0))
assert "one size" in fails(RuntimeError, lambda: same(torch.ones(1, 4), torch.ones(3, 4)))
text_of = fails(RuntimeError, lambda: torch.export.export(Same(), (torch.ones(2, 4), torch.ones(3, 4)),
                                                          dynamic_shapes=({0: n}, {0: m})))
assert "known only when" in text_of


class Half(nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        return x * 0 if rows // 2 == columns else x


assert "known only when" in fails(RuntimeError, lambda: torch.export.export(Half(), (torch.ones(4, 3),),
                                                                            dynamic_shapes=({0: n, 1: m},)))


class Mean(nn.Module):
    def forward(self, x):
        return x.sum() / torch.tensor(x.shape[0]) + torch.tensor(x.shape).sum()


program = torch.export.export(Mean(), (torch.ones(2, 4),), dynamic_shapes=({0: torch.export.Dim("n")},)).module()
assert program(torch.ones(5, 4)).item() == 4 + 9
""",
    "methods mean what PyTorch's do": """
import onnxruntime

x = torch.tensor([[1.0, 2.0, 4.0, 9.0], [2.0, 0.0, 1.0, 5.0]])
for text in (
    "x.std(1)", "x.var(1)", "x.var(1, False)", "x.min(1)[0]", "x.max(1)[1]", "x.split(2, 1)[0]", "x.split(1)[1]",
    "x.sort(1)[0]", "x.argsort(1)", "x.argmax(1, keepdim=True)", "x.mean(1, keepdim=True)", "x.triu(1)",
    "x.repeat(2, 1)", "x.view(x.size(0), -1)", "x.size(1) * x", "x.median(1)[0]", "x.squeeze(0)", "x.chunk(2, 1)[1]",
    "x.std()", "x.sum(1, True)", "x.flip(1)", "x.expand(2, -1)", "x.size()[0] + x", "x.quantile(0.5, 1)",
):

    class One(nn.Module):
        def forward(self, x):
            return eval(text)

    want = One()(x)
    assert torch.allclose(torch.export.export(One(), (x,)).module()(x), want), text
    if "quantile" in text:
        continue
    memory = io.BytesIO()
    torch.onnx.export(One(), (x,), memory, input_names=["x"], opset_version=18)
    session = onnxruntime.InferenceSession(memory.getvalue(), providers=["CPUExecutionProvider"])
    assert torch.allclose(torch.from_numpy(session.run(None, {"x": x.numpy()})[0]), want), text


class Rows(nn.Module):
    def forward(self, x):
        return x.view(x.size(0), -1) * 2


memory = io.BytesIO()
torch.onnx.export(Rows(), (torch.ones(2, 3, 4),), memory, input_names=["x"], dynamic_axes={"x": {0: "n"}})
session = onnxruntime.InferenceSession(memory.getvalue(), providers=["CPUExecutionProvider"])
assert session.run(None, {"x": torch.ones(5, 3, 4).numpy()})[0].shape == (5, 12)


class Token(nn.Module):
    def forward(self, x):
        return torch.ones(1, 1, 4).expand(x.shape[0], -1, -1) + x


memory = io.BytesIO()
torch.onnx.export(Token(), (torch.ones(2, 3, 4),), memory, input_names=["x"], dynamic_axes={"x": {0: "n"}})
session = onnxruntime.InferenceSession(memory.getvalue(), providers=["CPUExecutionProvider"])
assert (session.run(None, {"x": torch.ones(5, 3, 4).numpy()})[0] == 2).all()


class Position(nn.Module):
    def forward(self, x):
        return x + torch.ones(1, 8, 4)[:, : x.shape[1]]


memory = io.BytesIO()
torch.onnx.export(Position(), (torch.ones(2, 7, 4),), memory, input_names=["x"], dynamic_axes={"x": {1: "n"}})
session = onnxruntime.InferenceSession(memory.getvalue(), providers=["CPUExecutionProvider"])
assert (session.run(None, {"x": torch.ones(2, 3, 4).numpy()})[0] == 2).all()
""",
    "export": """
from torch.export import Dim, ExportedProgram, export, load, save

program = export(net, (x,), dynamic_shapes={"x": {0: Dim("batch", min=1)}})
assert isinstance(program, ExportedProgram) and program.range_constraints == {"batch": (1, None)}
signature = program.graph_signature
assert set(signature.parameters) == set(dict(net.named_parameters())) and signature.user_inputs == ("x",)
assert set(signature.buffers) == {"norm.running_mean", "norm.running_var", "norm.num_batches_tracked", "shift"}
kinds = [node.op for node in program.graph.nodes]
assert kinds.count("placeholder") == len(program.state_dict) + 1 and "linear" in program.graph_module.code
module = program.module()
assert torch.equal(module(x), net(x)) and module(torch.ones(9, 1, 8, 8)).shape == (9, 5)
save(program, "net.pt2")
assert torch.equal(load("net.pt2").module()(x), net(x)) and "RuntimeError" not in str(program)
copied = copy.deepcopy(program)
assert torch.equal(copied.module()(x), net(x)) and list(copied.state_dict) == list(program.state_dict)
assert copied.state_dict["shift"] is not program.state_dict["shift"]
assert "module()" in fails(RuntimeError, lambda: program(x))
named = export(net, (x,), {"scale": torch.tensor(2.0)}).module()(x, scale=torch.tensor(3.0))
assert named["n"] == 3 and torch.equal(named["y"], net(x) * 3)


class Sizes(nn.Module):
    def forward(self, x):
        return x.sum() / x.shape[0]


open_ = export(Sizes(), (x,), dynamic_shapes=({0: Dim("n")},)).module()
assert open_(torch.ones(5, *x.shape[1:])).item() == x[0].numel()
assert export(Sizes(), (x,), dynamic_shapes=({0: Dim.AUTO},)).module()(x).item() == (x.sum() / 2).item()
fails(TypeError, lambda: export(len, (x,)))
""",
    "buffers that are set, attributes, and no_grad": """
import warnings


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))
        self.last, self.log, self.linear = None, [], nn.Linear(3, 3)

    def forward(self, x):
        self.seen = self.seen * 0.5 + x.detach().mean(0)
        self.last = x * 2
        self.log.append(x)
        return self.linear(x) * self.seen


x = torch.ones(2, 3)
module = Counts()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    program = torch.export.export(module, (x,)).module()
assert sorted(str(each.message).split("'")[1] for each in told) == ["last", "log"]
assert type(module.seen) is type(x) and not module.seen.any() and module.last is None and module.log == []
warnings.simplefilter("ignore")
eager = Counts()
eager.load_state_dict(module.state_dict())
for _ in range(3):
    assert torch.allclose(program(x), eager(x)) and torch.equal(program.seen, eager.seen)
module = Counts()
traced = torch.jit.trace(module, x)
assert type(module.seen) is type(x) and not traced.seen.any()
module(x), traced(x)
torch.jit.save(traced, "counts.pt")
loaded = torch.jit.load("counts.pt")
before = loaded.seen.clone()
loaded(x)
assert torch.equal(loaded.seen, before * 0.5 + 1)
assert "'seen'" in fails(ValueError, lambda: torch.onnx.export(module, (x,), io.BytesIO()))
assert type(module.seen) is type(x)


class Grows(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("all", torch.zeros(0, 3))

    def forward(self, x):
        self.all = torch.cat([self.all, x])
        return self.all


assert "'all'" in fails(RuntimeError, lambda: torch.export.export(Grows(), (x,)))


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        with torch.no_grad():
            x = self.first(x)
        return self.second(x)


program = torch.export.export(Frozen(), (x,)).module()
again = copy.deepcopy(program)
for one in (program, again):
    given = torch.ones(2, 3, requires_grad=True)
    one(given).sum().backward()
    assert given.grad is None and one.first.weight.grad is None and one.second.weight.grad is not None
""",
    "custom functions": """
import warnings
import onnxruntime


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x.sign() * scale

    @staticmethod
    def backward(ctx, g):
        return g, None


class Two(torch.autograd.Function):
    @staticmethod
    def forward(x, scale):
        return x.exp() * scale, x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g, h):
        return g + h, None


class Numpy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.from_numpy(x.detach().numpy() * 2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Uses(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        a, b = Two.apply(self.linear(x), 3.0)
        return Sign.apply(a + b, 2.0) + a


module, x = Uses(), torch.randn(2, 4)
want = module(x)
memory = io.BytesIO()
torch.onnx.export(module, (x,), memory, input_names=["x"])
session = onnxruntime.InferenceSession(memory.getvalue(), providers=["CPUExecutionProvider"])
assert torch.allclose(torch.from_numpy(session.run(None, {"x": x.numpy()})[0]), want, atol=1e-5)
torch.export.save(torch.export.export(module, (x,)), "uses.pt2")
torch.jit.save(torch.jit.trace(module, (x,)), "uses.pt")
for one in (torch.export.load("uses.pt2").module(), torch.jit.load("uses.pt")):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with torch.no_grad():
            assert torch.allclose(one(x), want, atol=1e-6)
        assert not told
        assert torch.allclose(one(x), want, atol=1e-6) and torch.allclose(one(x), want, atol=1e-6)
    assert len(told) == 1 and "Two, Sign" in str(told[0].message)


class UsesNumpy(nn.Module):
    def forward(self, x):
        return Numpy.apply(x)


torch.jit.save(torch.jit.trace(UsesNumpy(), (x,)), "numpy.pt")  # the module itself
assert torch.equal(torch.jit.load("numpy.pt")(x), x * 2)
assert "Numpy" in fails((RuntimeError, NotImplementedError), lambda: torch.export.export(UsesNumpy(), (x,)))
""",
    "names of state": """
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.norm = nn.Linear(3, 3), nn.Linear(3, 3, bias=False), nn.BatchNorm1d(3)
        self.b.weight, self.unused, self.rnn = self.a.weight, nn.Linear(2, 2), nn.LSTM(3, 3)
        self.register_buffer("t", torch.ones(3), persistent=False)

    def forward(self, x):
        return self.rnn(self.norm(self.b(self.a(x))) * self.t)[0]


module, x = Tied(), torch.randn(4, 3)
for training in (True, False):
    module.train(training)
    names = list(module.state_dict())
    program = torch.export.export(module, (x,))
    torch.export.save(program, "tied.pt2")
    traced = torch.jit.trace(module, x)
    torch.jit.save(traced, "tied.pt")
    assert list(program.state_dict) == names
    for one in (program.module(), torch.export.load("tied.pt2").module(), torch.jit.load("tied.pt")):
        assert list(one.state_dict()) == names and one.b.weight is one.a.weight
        one.load_state_dict(module.state_dict())
        count = int(one.norm.num_batches_tracked)
        result = one(x)
        assert int(one.norm.num_batches_tracked) == count + training
        assert torch.allclose(result, copy.deepcopy(module)(x), atol=1e-6)
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program, tmp_path):
    extensions.write(tmp_path, {"program.py": HEAD + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
