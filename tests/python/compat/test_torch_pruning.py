"""Pruned parameters through the front: their hooks are the methods, several of them in a container."""

from support import extensions

PROGRAM = """
import copy
import torch
from torch import nn
from torch.nn.utils import prune


class Every(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, step):
        self.step = step

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[:: self.step] = 0
        return mask


def hooks(layer):
    return list(layer._forward_pre_hooks.values())


METHODS = {
    "L1Unstructured": lambda layer: prune.l1_unstructured(layer, "weight", 2),
    "RandomUnstructured": lambda layer: prune.random_unstructured(layer, "weight", 0.25),
    "LnStructured": lambda layer: prune.ln_structured(layer, "weight", 1, 2, 0),
    "RandomStructured": lambda layer: prune.random_structured(layer, "weight", 1, 0),
    "Identity": lambda layer: prune.identity(layer, "weight"),
    "CustomFromMask": lambda layer: prune.custom_from_mask(layer, "weight", torch.eye(3)),
    "Every": lambda layer: Every.apply(layer, "weight", 2),
}
for name, prunes in METHODS.items():
    layer = nn.Linear(3, 3)
    prunes(layer)
    (hook,) = hooks(layer)
    assert type(hook).__name__ == name and isinstance(hook, prune.BasePruningMethod), hook
    assert hook._tensor_name == "weight" and torch.equal(hook.apply_mask(layer), layer.weight)
    prune.l1_unstructured(layer, "bias", 1)
    for count in (2, 3):
        prunes(layer)
        kinds = [type(each).__name__ for each in hooks(layer)]
        assert kinds == ["L1Unstructured", "PruningContainer"], kinds
        container = hooks(layer)[1]
        assert [type(each).__name__ for each in container] == [name] * count and len(container) == count
        assert container[0] is hook and container._tensor_name == "weight"
    assert torch.equal(layer.weight, layer.weight_orig * layer.weight_mask)
    other = copy.deepcopy(layer)
    assert torch.equal(other(torch.ones(3)), layer(torch.ones(3))) and len(hooks(other)[1]) == 3
    kept = layer.weight.detach().clone()
    container.remove(layer)
    prune.remove(layer, "bias")
    assert not layer._forward_pre_hooks and not prune.is_pruned(layer) and torch.equal(layer.weight, kept)

net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
prune.ln_structured(net[0], "weight", 1, 2, 0)
prune.global_unstructured([(each, "weight") for each in net], prune.L1Unstructured, amount=4)
assert [type(hooks(each)[0]).__name__ for each in net] == ["PruningContainer", "CustomFromMask"]
assert sum(int((each.weight == 0).sum()) for each in net) == 7
for wrong, error in ((lambda: container.add_pruning_method(1), TypeError), (lambda: container.add_pruning_method(
        hooks(net[1])[0].__class__(torch.ones(1))), ValueError)):
    try:
        wrong()
    except error:
        continue
    raise AssertionError(error)
"""


def test_hooks_of_pruned_parameters_are_their_methods(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
