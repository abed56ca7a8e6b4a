"""Hooks of all modules of a process, through the front and natively."""

import pytest

import lamella as lm
from lamella.nn._hooks import KINDS, hook_all_modules
from support import extensions

PROGRAM = """
import torch
from torch import nn
from torch.nn.modules import module
from torch.utils.hooks import RemovableHandle, unserializable_hook

net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
seen = []
handles = [
    module.register_module_forward_pre_hook(lambda m, args: seen.append(f"all before {type(m).__name__}")),
    module.register_module_forward_hook(lambda m, args, result: seen.append(f"all after {type(m).__name__}")),
    module.register_module_full_backward_hook(lambda m, into, out: seen.append(f"all back {type(m).__name__}")),
    net[0].register_forward_pre_hook(lambda m, args: seen.append("before")),
    net[0].register_forward_hook(lambda m, args, result: seen.append("after")),
]
of_a_tensor = torch.ones(1, requires_grad=True).register_hook(print)
assert all(isinstance(each, RemovableHandle) for each in [*handles, of_a_tensor])
net(torch.ones(1, 2, requires_grad=True)).sum().backward()
assert seen == [
    "all before Sequential", "all before Linear", "before", "all after Linear", "after", "all before ReLU",
    "all after ReLU", "all after Sequential", "all back ReLU", "all back Linear", "all back Sequential",
] or sorted(seen[8:]) == ["all back Linear", "all back ReLU", "all back Sequential"], seen
for each in handles:
    each.remove()
    each.remove()
count = len(seen)
net(torch.ones(1, 2))
assert len(seen) == count

with module.register_module_forward_hook(lambda m, args, result: result * 10 if isinstance(m, nn.Identity) else None):
    assert nn.Identity()(torch.ones(1)).item() == 10
assert nn.Identity()(torch.ones(1)).item() == 1

table = {}
handle = RemovableHandle(table)
table[handle.id] = unserializable_hook(lambda g: g)
with handle:
    pass
assert table == {}
"""


def test_hooks_of_all_modules_through_the_front(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_hook_of_all_modules_is_called_as_one_of_each(kind):
    def calls(register):
        layer = lm.nn.Linear(2, 3)
        seen = []
        handle = register(layer, lambda *arguments: seen.append([type(each) for each in arguments]))
        layer(lm.tensor([[1.0, 1.0]], stop_gradient=False)).sum().backward()
        handle.remove()
        layer(lm.ones((1, 2)))
        return seen

    name = f"register_{'full_' if kind.startswith('b') else ''}{kind}_hook"
    of_one = calls(lambda layer, hook: getattr(layer, name)(hook))
    assert calls(lambda layer, hook: hook_all_modules(kind, hook)) == of_one and len(of_one) == 1


@pytest.mark.parametrize(("kind", "hook", "error"), [("forward", 3, TypeError), ("nosuch", print, ValueError)])
def test_what_is_no_hook_is_refused(kind, hook, error):
    with pytest.raises(error, match="hook_all_modules"):
        hook_all_modules(kind, hook)
    assert lm.nn.Identity()(1) == 1
