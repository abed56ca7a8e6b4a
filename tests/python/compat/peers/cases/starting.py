"""Starting values with fixed formulas, their statistics, reparametrizations and other tools of torch.nn.utils."""

import torch
from recording import add, described, fill, gradients, tensor
from torch import nn
from torch.nn import init
from torch.nn.utils import parametrizations, parametrize, prune


def fixed_values(rng):
    """Returns starting values that are no chance, and gains."""
    gains = [
        init.calculate_gain(*each)
        for each in (
            ("linear",),
            ("conv2d",),
            ("sigmoid",),
            ("tanh",),
            ("relu",),
            ("leaky_relu",),
            ("leaky_relu", 0.3),
            ("selu",),
        )
    ]
    return [
        init.eye_(torch.empty(3, 4)),
        init.dirac_(torch.empty(4, 2, 3)),
        init.dirac_(torch.empty(4, 2, 3, 3), groups=2),
        init.ones_(torch.empty(2)),
        init.zeros_(torch.ones(2)),
        init.constant_(torch.empty(2), 0.3),
        gains,
    ]


add("init.fixed", fixed_values)


def bounds(rng):
    """Returns bounds and deviations, rounded so that chance does not matter."""
    found = {}
    big = lambda: torch.empty(300, 200)  # noqa: E731
    found["uniform"] = [
        round(init.xavier_uniform_(big(), 2.0).abs().max().item(), 2),
        round(init.kaiming_uniform_(big(), 0.3, "fan_out").abs().max().item(), 2),
        round(init.kaiming_uniform_(big(), nonlinearity="tanh").abs().max().item(), 2),
    ]
    found["normal"] = [
        round(init.xavier_normal_(big()).std().item(), 2),
        round(init.kaiming_normal_(big()).std().item(), 2),
        round(init.trunc_normal_(big(), 0.0, 1.0, -0.5, 0.5).abs().max().item(), 2),
    ]
    q = init.orthogonal_(torch.empty(4, 6), 2.0)
    found["orthogonal"] = q @ q.T
    sparse = init.sparse_(torch.empty(10, 5), 0.3)
    found["sparse"] = (sparse == 0).sum(0)
    return found


add("init.bounds", bounds)

LAYERS = {
    "Linear": (lambda: nn.Linear(400, 100), 2),
    "Conv2d": (lambda: nn.Conv2d(40, 60, 3), 2),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(40, 60, 3), 2),
    "Embedding": (lambda: nn.Embedding(300, 50), 1),
    "LSTM": (lambda: nn.LSTM(30, 100), 2),
    "GRUCell": (lambda: nn.GRUCell(30, 100), 2),
    "Bilinear": (lambda: nn.Bilinear(60, 40, 30), 2),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(120, 4), 2),
    "BatchNorm": (lambda: nn.BatchNorm1d(3), 4),
    "PReLU": (lambda: nn.PReLU(), 4),
    "LayerNorm": (lambda: nn.LayerNorm(3), 4),
    "EncoderLayer": (lambda: nn.TransformerEncoderLayer(96, 4, 200), 2),
}


def starting(make, digits):
    """Returns a case: deviations of a fresh layer's parameters."""

    def run(rng):
        return [
            f"{name} {round(p.detach().std().item() if p.numel() > 1 else 0.0, digits)}"
            for name, p in make().named_parameters()
            if p.numel() > 300 or p.std() == 0 or p.numel() < 4
        ]

    return run


for name, (make, digits) in LAYERS.items():
    add(f"init.{name}", starting(make, digits))


def spectral(module, rng):
    """Gives the vectors of a power iteration fixed values."""
    for name, value in module.named_buffers():
        if name.endswith(("_u", "_v")):
            with torch.no_grad():
                numbers = tensor(rng, *value.shape)
                value.copy_(numbers / numbers.norm())
    return module


def reparametrized(wrap, make):
    """Returns a case: names, results and gradients of a layer whose weight is computed."""

    def run(rng):
        module = spectral(wrap(fill(make(), rng)), rng)
        shape = (2, 4, 5, 5) if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)) else (5, 4)
        a = tensor(rng, *shape, grad=True)
        y = module(a)
        slopes = gradients(y, [a, *module.parameters()], rng)
        again = module(a)
        module.eval()
        return [described(module), y, slopes, again, module(a), module.weight]

    return run


for name, wrap in {
    "old_weight_norm": lambda m: nn.utils.weight_norm(m),
    "old_weight_norm/none": lambda m: nn.utils.weight_norm(m, dim=None),
    "old_weight_norm/1": lambda m: nn.utils.weight_norm(m, dim=1),
    "weight_norm": lambda m: parametrizations.weight_norm(m),
    "old_spectral_norm": lambda m: nn.utils.spectral_norm(m, n_power_iterations=2),
}.items():
    for kind, make in {
        "linear": lambda: nn.Linear(4, 3),
        "conv": lambda: nn.Conv2d(4, 3, 2),
        "transposed": lambda: nn.ConvTranspose2d(4, 3, 2),
    }.items():
        add(f"utils.{name}/{kind}", reparametrized(wrap, make))


def names(rng):
    """Returns the names that reparametrizations give, and what removing them leaves."""
    module = fill(nn.Linear(4, 4), rng)
    before = module.weight.detach().clone()
    found = []
    parametrizations.spectral_norm(module)
    found.append(described(module))
    parametrize.remove_parametrizations(module, "weight", leave_parametrized=False)
    found += [module.weight - before, described(module), parametrize.is_parametrized(module)]
    parametrizations.orthogonal(module, orthogonal_map="cayley")
    found += [described(module), module.weight @ module.weight.T]

    class Symmetric(nn.Module):
        def forward(self, value):
            return value.triu() + value.triu(1).mT

    other = fill(nn.Linear(3, 3), rng)
    parametrize.register_parametrization(other, "weight", Symmetric())
    found += [described(other), other.weight, other.parametrizations.weight.original]
    weighted = nn.utils.remove_weight_norm(nn.utils.weight_norm(fill(nn.Linear(3, 2), rng)))
    return [*found, described(weighted), weighted.weight]


add("utils.names", names)


def pruned(rng):
    """Returns masks and weights of pruned layers."""
    module = fill(nn.Linear(4, 5), rng)
    prune.l1_unstructured(module, "weight", 0.3)
    prune.ln_structured(module, "weight", 1, n=2, dim=0)
    found = [described(module), module.weight, module.weight_mask]
    prune.remove(module, "weight")
    two = fill(nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2)), rng)
    prune.global_unstructured([(two[0], "weight"), (two[1], "weight")], pruning_method=prune.L1Unstructured, amount=5)
    return [*found, described(module), two[0].weight, two[1].weight]


add("utils.prune", pruned)


def vectors(rng):
    """Returns parameters as one vector, and a fused layer."""
    module = fill(nn.Sequential(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4)), rng).eval()
    fused = nn.utils.fuse_conv_bn_eval(module[0], module[1])
    flat = nn.utils.parameters_to_vector(module.parameters())
    nn.utils.vector_to_parameters(flat * 2, module.parameters())
    a = tensor(rng, 1, 3, 4, 4)
    return [fused(a), flat, module(a)]


add("utils.vectors", vectors)


def hooks(rng):
    """Returns what hooks of modules and tensors see."""
    net = fill(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), rng)
    seen = []
    net[1].register_forward_hook(lambda m, a, y: seen.append(y.detach()))
    net[1].register_forward_pre_hook(lambda m, a: (a[0] * 2,))
    net[1].register_full_backward_hook(lambda m, before, after: seen.append([before[0], after[0]]))
    net[2].register_forward_hook(lambda m, a, named, y: y + 1, with_kwargs=True)
    a = tensor(rng, 2, 3, grad=True)
    a.register_hook(lambda g: seen.append(g))
    y = net(a)
    y.sum().backward()
    return [seen, y, a.grad]


add("module.hooks", hooks)
