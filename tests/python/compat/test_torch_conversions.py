"""Modules of programs through the front: conversions that keep parameters, methods of parts, dictionaries of hooks."""

import pytest

from support import extensions

PROGRAMS = {
    "optimizers go on with converted parameters": """
for convert in (lambda m: m.double(), lambda m: m.to(torch.float64), lambda m: m._apply(lambda t: t.double())):
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    net(torch.randn(3, 2)).square().sum().backward()
    held = list(net.parameters())
    optimizer = torch.optim.SGD(held, lr=0.1)
    convert(net)
    assert all(a is b for a, b in zip(held, net.parameters()))
    assert all(p.dtype == p.grad.dtype == torch.float64 for p in held)
    assert net[1].running_mean.dtype == torch.float64
    before = [p.detach().clone() for p in held]
    optimizer.zero_grad()
    net(torch.randn(3, 2).double()).square().sum().backward()
    optimizer.step()
    assert not torch.equal(before[0], net[0].weight)
p = nn.Parameter(torch.ones(2))
p.grad = torch.ones(2)
p.data = p.data.double()
assert p.grad.tolist() == [1, 1]
with torch.device("meta"):
    made = nn.Linear(2, 3)
assert made.to_empty(device="cpu").weight.device.type == "cpu" and made(torch.ones(1, 2)).shape == (1, 3)
""",
    "parts are asked by their methods": """
class Frozen(nn.BatchNorm1d):
    def train(self, mode=True):
        return super().train(False)


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = torch.ones(2)

    def _apply(self, fn):
        super()._apply(fn)
        self.rows = fn(self.rows)
        return self


net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(Frozen(2)), Table())
assert net.train().training and not net[1][0].training and net[1].training
assert net.double()[2].rows.dtype == torch.float64 and net.to(torch.float32)[2].rows.dtype == torch.float32
""",
    "dictionaries of hooks": """
layer, seen = nn.Linear(1, 1), []
x = torch.ones(1)
layer.register_forward_hook(lambda *args: seen.append(1))
layer(x)
layer._forward_hooks.clear()
layer(x)
assert seen == [1] and not layer._forward_hooks
handle = layer.register_forward_hook(lambda m, args, kwargs, y: seen.append(2), with_kwargs=True, always_call=True)
assert layer._forward_hooks_with_kwargs == layer._forward_hooks_always_called == {handle.id: True}
assert callable(layer._forward_hooks.pop(handle.id))
layer(x)
handle.remove()
layer.register_forward_pre_hook(lambda *args: seen.append(3))
layer._forward_pre_hooks = OrderedDict()
layer(x)
assert seen == [1]
prefixes = []
layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: prefixes.append((prefix, keep_vars)))
assert set(layer.state_dict(prefix="a.", keep_vars=True)) == {"a.weight", "a.bias"}
assert prefixes == [("a.", True)]
torch.__future__.set_swap_module_params_on_conversion(True)
assert torch.__future__.get_swap_module_params_on_conversion()
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_modules(program, tmp_path):
    head = "from collections import OrderedDict\nimport torch\nfrom torch import nn\n"
    extensions.write(tmp_path, {"program.py": head + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
