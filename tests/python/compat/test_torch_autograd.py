"""What programs of PyTorch do with gradients beside backward(), through the front."""

import pytest

from support import extensions

PROGRAMS = {
    "outputs among saved tensors": """
class Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, constant):
        y, between = torch.sqrt(x), x * 2
        ctx.save_for_backward(y, x, between, constant, None)
        return y

    @staticmethod
    def backward(ctx, gradient):
        y, x, between, constant, none = ctx.saved_tensors
        assert none is None and y.requires_grad and x.requires_grad
        assert constant.requires_grad is False
        if not torch.is_grad_enabled():
            assert between.requires_grad is False and (y * 2).requires_grad is False
        with torch.enable_grad():
            residual = y * y - x.detach()
            slope, = torch.autograd.grad(residual.sum(), y)
        return gradient / slope, None


x = torch.tensor([4.0, 9.0], requires_grad=True)
Root.apply(x, torch.ones(2)).sum().backward()
assert torch.allclose(x.grad, torch.tensor([0.25, 1 / 6]))
""",
    "elements that are found among equal ones": """
nan = float("nan")
for place, (function, elements, wanted) in enumerate((
    (torch.median, [1.0, 2.0, 1.0, 0.0], [0.5, 0.0, 0.5, 0.0]),
    (torch.median, [[0.0, 0.0], [0.0, -1.0]], [[1 / 3, 1 / 3], [1 / 3, 0.0]]),
    (torch.median, [1.0, nan, 1.0, nan], [0.0, 0.5, 0.0, 0.5]),
    (torch.nanmedian, [1.0, nan, 1.0, 0.0], [0.5, 0.0, 0.5, 0.0]),
    (lambda x: x.median(), [3.0, 1.0, 2.0], [0.0, 0.0, 1.0]),
    (lambda x: x.mode()[0], [0.0, 1.0, 1.0, -1.0], [0.0, 0.0, 1.0, 0.0]),
    (lambda x: x.mode(1, True)[0], [[1.0, 0.0, 1.0], [2.0, 2.0, 3.0]], [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
    (lambda x: x.nanmedian(1)[0], [[1.0, nan, 3.0], [2.0, 4.0, 3.0]], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
)):
    x = torch.tensor(elements, requires_grad=True)
    function(x).sum().backward()
    assert torch.allclose(x.grad, torch.tensor(wanted)), (place, x.grad)
""",
    "nodes and views": """
import torch.nn.functional as F

x = torch.randn(3, 4, requires_grad=True)
for made, names in (
    ((x * 2).sum(), ["SumBackward0", "MulBackward0", "AccumulateGrad"]),
    (x.exp().relu(), ["ReluBackward0", "ExpBackward0", "AccumulateGrad"]),
    (F.gelu(x).cumsum(0), ["CumsumBackward0", "GeluBackward0", "AccumulateGrad"]),
    (F.dropout(x, 0.5), ["MulBackward0"]),
    (F.conv1d(x[None], x[None, :, :1].detach()).clamp(0, 1), ["ClampBackward1", "ConvolutionBackward0"]),
):
    node = first = made.grad_fn
    for name in names:
        wanted = "torch::autograd::AccumulateGrad" if name == "AccumulateGrad" else name
        assert type(node).__name__ == name and node.name() == wanted, (node, name)
        assert isinstance(node, torch.autograd.graph.Node)
        assert hasattr(node, "variable") == (name == "AccumulateGrad")
        last, node = node, node.next_functions[0][0] if node.next_functions else None
    assert first == made.grad_fn and hash(first) == hash(made.grad_fn)
    if type(last).__name__ == "AccumulateGrad":
        assert last.variable is x
assert type(torch.autograd.graph.get_gradient_edge(x * 2).node).__name__ == "MulBackward0"
for base in (x, torch.zeros(3, 4)):
    for view in (base[0], base.t(), base.view(4, 3)[1:], base.unsqueeze(0), base.chunk(2)[0], base.diagonal()):
        assert view._base is base and view._is_view()
    for other in (base, base * 2, base.clone(), base.contiguous(), base.detach()):
        assert other._base is None and not other._is_view()
""",
    "what a layer's call sets is on its node": """
seen = []


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, by):
        ctx.save_for_backward(x, y)
        ctx.by, ctx.name_of_user = by, "s"
        ctx.register_hook(lambda inner, outer: seen.append(("hook", ctx.by)))
        ctx.metadata["at"] = by
        return x * y * by

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        seen.append((ctx.name(), ctx._sequence_nr() == node._sequence_nr(), len(ctx.next_functions)))
        return grad * y * ctx.by, None, None


class Named(Scaled):
    @staticmethod
    def forward(ctx, x, y, by):
        ctx.save_for_backward(x, y)
        ctx.by, ctx.name, ctx.metadata = by, "own", None
        return x * by

    @staticmethod
    def backward(ctx, grad):
        seen.append((ctx.name, ctx.metadata))
        return grad * ctx.by, None, None


x, y = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)
node = Scaled.apply(x, y, 4).grad_fn
assert (node.by, node.name_of_user, node.needs_input_grad) == (4, "s", (True, False, False)), node.by
assert node.saved_tensors[0] is x and torch.equal(node.saved_tensors[1], y) and node.metadata == {"at": 4}
assert node.name() == type(node).__name__ == "ScaledBackward" and isinstance(node, torch.autograd.graph.Node)
raises(AttributeError, lambda: node.other)
result = Scaled.apply(x, y, 4)
node = result.grad_fn
node.by, node.more = 5, "m"
assert node.more == "m"
node.register_prehook(lambda outer: (outer[0] * 2,))
result.sum().backward()
assert x.grad.tolist() == [30.0, 30.0] and seen == [("ScaledBackward", True, 2), ("hook", 5)], (x.grad, seen)
assert node.by == 5
raises(RuntimeError, lambda: node.saved_tensors)
seen.clear()
Named.apply(x, y, 4).sum().backward()
assert seen == [("own", None)]
""",
    "functions over batches and at points": """
from torch.autograd import functional as AF
from torch.func import vmap

batch, one = torch.arange(12.0).reshape(4, 3), torch.arange(3.0)
scaled = vmap(lambda a, b=None: a * b)
assert torch.equal(scaled(batch, b=one), batch * one)  # keyword arguments are the same for all examples
assert scaled(batch, b=batch).shape == (4, 4, 3) and torch.equal(scaled(batch, b=2.0), batch * 2)
assert vmap(lambda a, b=None: a * b, out_dims=(1,))(batch, b=one).shape == (3, 4)
apart = lambda a, b: a.pow(2).sum()
constant = lambda a: torch.ones(())
for name in ("vjp", "jvp"):
    call = getattr(AF, name)
    v = torch.ones(()) if name == "vjp" else (one, one)
    assert name == "jvp" or not call(apart, (one, one), v)[1][1].any()
    raises(RuntimeError, lambda: call(apart, (one, one), v, strict=True))
    raises(RuntimeError, lambda: call(constant, one, v if name == "vjp" else one, strict=True))
    raises(RuntimeError, lambda: call(lambda a: a * 2, one))  # there is no vector, and more than one element
    value, product = call(lambda a: a * 2, torch.tensor(3.0), strict=True)
    assert (value.item(), product.item()) == (6, 2)
raises(RuntimeError, lambda: AF.vjp(lambda a: a * 2, one, torch.ones(4)))
x = torch.tensor([1.0, 2.0], requires_grad=True)
for name in ("vjp", "jvp"):
    _, product = getattr(AF, name)(lambda a: a**3, x, torch.ones(2), create_graph=True)
    assert torch.autograd.grad(product.sum(), x)[0].tolist() == [6.0, 12.0]
""",
    "leaves of graphs": """
def leaves(node):
    found = [node.variable] if hasattr(node, "variable") else []
    return found + [x for child, _ in node.next_functions if child is not None for x in leaves(child)]

net = torch.nn.Linear(4, 2)
node = net(torch.ones(1, 4)).sum().grad_fn
assert {id(x) for x in leaves(node)} == {id(x) for x in net.parameters()} and not hasattr(node, "variable")
""",
    "what vmap gets by name": """
x, three = torch.arange(6.0).reshape(3, 2), torch.ones(3, 2)
scaled = lambda a, b=None, c=0: a * (1 if b is None else b) + c
for mapped in (torch.vmap, torch.func.vmap):
    assert torch.equal(mapped(scaled)(x, b=torch.tensor([1.0, 2.0])), x * torch.tensor([1.0, 2.0]))
    assert torch.equal(mapped(scaled)(x, b=torch.tensor(2.0), c=1), x * 2 + 1) and torch.equal(mapped(scaled)(x), x)
    assert mapped(scaled)(x, b=three).shape == mapped(scaled, chunk_size=2)(x, b=three).shape == (3, 3, 2)
    assert mapped(lambda a, b: a.sum() * b, out_dims=(1,))(x, b=torch.ones(5)).shape == (5, 3)
    raises(RuntimeError, lambda: mapped(scaled)(x, b=torch.ones(3)))
    raises(ValueError, lambda: mapped(lambda *, b: b)(b=x))
slope = torch.vmap(torch.func.grad(lambda a, b=None: (a * b).sum()))
assert torch.equal(slope(x, b=torch.tensor([1.0, 2.0])), torch.tensor([[1.0, 2.0]] * 3))
""",
    "products of vectors and jacobians": """
from torch.autograd.functional import vjp

w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
x, v = torch.tensor([1.0, 2.0]), torch.tensor([0.5, -1.0], requires_grad=True)
square, constant, other = lambda x: (w @ x) ** 2, lambda x: torch.ones(2), lambda x: w.sum(1)
for given in (x, x.clone().requires_grad_()):
    value, product = vjp(square, given, v)
    assert value.tolist() == [25.0, 121.0] and product.tolist() == [-61.0, -78.0]
    assert not value.requires_grad and not product.requires_grad
    value, product = vjp(square, given, v, create_graph=True)
    assert value.requires_grad and torch.autograd.grad(product.sum(), v)[0].tolist() == [30.0, 154.0]
    value, product = vjp(lambda x: w.detach() @ x, given, v, create_graph=True)
    assert value.requires_grad and torch.autograd.grad(product.sum(), v)[0].tolist() == [3.0, 7.0]
    for create in (False, True):
        for independent in (constant, other):
            assert vjp(independent, given, v, create)[1].tolist() == [0.0, 0.0]
            raises(RuntimeError, lambda: vjp(independent, given, v, create, strict=True))
pair, products = vjp(lambda a, b: (a * b, a.sum()), (x, x * 2), (torch.ones(2), torch.tensor(3.0)))
assert [each.tolist() for each in pair] == [[2.0, 8.0], 3.0] and products[0].tolist() == [5.0, 7.0]
assert vjp(lambda x: x.sum(), x)[1].tolist() == [1.0, 1.0]
raises(RuntimeError, lambda: vjp(square, x))
""",
    "custom functions": """
class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k, times=1):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x, x * k)
        ctx.k = k
        return k, x * x * k, None, "name", x * 3

    @staticmethod
    def backward(ctx, *grads):
        assert [g is None for g in grads] == [True, False, True, True, False]
        (x,) = ctx.saved_tensors
        return 2 * x * ctx.k * grads[1] + 3 * grads[4], None

    @staticmethod
    def jvp(ctx, t, k, times):
        assert k is None and times is None
        x, product = ctx.saved_tensors
        return None, 2 * product * t, None, None, 3 * t

x = torch.tensor(3.0, requires_grad=True)
k, square, none, name, triple = Both.apply(x, 5)
assert (k, none, name) == (5, None, "name")
(square + triple).backward()
assert x.grad.item() == 33
with forward_ad.dual_level():
    results = Both.apply(forward_ad.make_dual(torch.tensor(3.0), torch.tensor(2.0)), 5)
    assert [forward_ad.unpack_dual(results[i]).tangent.item() for i in (1, 4)] == [60, 6]

class Square(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**2, x.item() * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.slope = output[1]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy, nothing):
        assert nothing is None
        return dy * ctx.slope

assert not Square.generate_vmap_rule
assert torch.autograd.grad(Square.apply(x)[0], x)[0].item() == 6

called = []
class Late(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, dy):
        torch.autograd.Variable._execution_engine.queue_callback(lambda: called.append(x.grad is not None))
        return dy

x.grad = None
Late.apply(x).backward()
assert called == [True]
""",
    "functions without a derivative": """
a = torch.tensor([1.5, 2.0], requires_grad=True)
x = torch.tensor([2.0, 3.0])
calls = [
    lambda a: torch.igamma(a, x),
    lambda a: torch.igammac(input=a, other=x),
    lambda a: a.igamma(x),
    lambda a: torch.special.gammainc(a, x),
    lambda a: torch.special.gammaincc(a, x),
    lambda a: torch.nextafter(x, a),
    lambda a: a.unique(),
    lambda a: torch.unique(a, return_counts=True)[0],
    lambda a: torch.geqrf(torch.outer(a, a))[0],
    lambda a: torch.linalg.ldl_factor(torch.outer(a, a) + torch.eye(len(a))).LD,
]
for call in calls:
    raises(NotImplementedError, lambda: (call(a).sum() + a.sum()).backward())
    with forward_ad.dual_level():
        raises(NotImplementedError, lambda: call(forward_ad.make_dual(a.detach(), torch.ones(2))))
    with torch.no_grad():
        assert not call(a).requires_grad
z = x.clone().requires_grad_()
torch.igamma(a, z).sum().backward(inputs=[z])
density = torch.exp((a - 1) * torch.log(x) - x - torch.lgamma(a))
assert torch.allclose(z.grad, density.detach())
values, counts = torch.unique(a, return_counts=True)
assert counts.tolist() == [1, 1] and not counts.requires_grad
""",
    "gradients of unused inputs": """
x = torch.tensor(0.5, requires_grad=True)
a = torch.tensor(1.0, requires_grad=True)
(slope,) = torch.autograd.grad(x * a, x, create_graph=True)
(second,) = torch.autograd.grad(slope, x, create_graph=True, materialize_grads=True)
assert second.item() == 0 and torch.autograd.grad(second, x, materialize_grads=True)[0].item() == 0
raises(ValueError, lambda: torch.autograd.grad(x * a, x, allow_unused=False, materialize_grads=True))

number = x * 0.5j
raises(RuntimeError, number.backward)
raises(RuntimeError, lambda: torch.autograd.grad(number, x))
raises(RuntimeError, lambda: torch.autograd.backward([x * 1, number], [torch.tensor(1.0), None]))
number.backward(torch.tensor(2j))
assert x.grad.item() == 1 and not torch.is_neg(x)

weight = torch.ones(3, requires_grad=True)
y = weight.exp()
torch.autograd.graph.increment_version([weight, y])
raises(RuntimeError, y.sum().backward)
with torch.autograd.set_multithreading_enabled(False), torch.inference_mode():
    made = torch.ones(2)
    torch.autograd.graph.increment_version(made)
assert torch.is_inference(made) and not torch.is_inference(weight)
""",
    "checks of gradients": """
from torch.autograd import gradcheck, gradgradcheck
from torch.autograd.gradcheck import GradcheckError

x = torch.rand(3, dtype=torch.double, requires_grad=True)
z = torch.rand(2, dtype=torch.cdouble, requires_grad=True)
every = dict(check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True, masked=False)
assert gradcheck(torch.sin, (x,), **every) and gradcheck(lambda z: z * z, (z,), **every)
assert gradgradcheck(torch.exp, (x,), check_fwd_over_rev=True, gen_non_contig_grad_outputs=True)

class Forward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * 2

    @staticmethod
    def jvp(ctx, t, factor):
        return t * ctx.factor

alone = dict(check_forward_ad=True, check_backward_ad=False)
assert gradcheck(Forward.apply, (x, 2), **alone)
raises(GradcheckError, lambda: gradcheck(Forward.apply, (x, 3), **alone))
assert not gradcheck(Forward.apply, (x, 3), raise_exception=False, **alone)
raises(ValueError, lambda: gradcheck(torch.sin, (x,), check_backward_ad=False))
""",
    "functions of functions": """
import functorch
from functorch.experimental import chunk_vmap
from torch.func import functional_call, grad, jacfwd, jacrev, stack_module_state, vmap

x = torch.arange(6.0).reshape(2, 3)
def loss(x):
    "Of a vector."
    return (x**2).sum()

assert grad(loss).__name__ == "loss" and grad(loss, argnums=-1)(x[1]).tolist() == [6, 8, 10]
raises(RuntimeError, lambda: grad(loss, argnums=1)(x))
assert torch.equal(jacrev(torch.square, chunk_size=2)(x[0]), jacfwd(torch.square, randomness="same")(x[0]))
assert torch.equal(chunk_vmap(loss, chunks=3)(torch.arange(7.0)), torch.arange(7.0) ** 2)

assert vmap(lambda x: x, out_dims=(1,))(x).shape == (3, 2) and vmap(lambda x: (x,), out_dims=(1,))(x)[0].shape == (3, 2)

def filled(x, y):
    made = x.new_zeros(2)
    made[0] = y
    return made
assert vmap(filled)(x, torch.ones(2)).tolist() == [[1, 0], [1, 0]]

layer = nn.Linear(3, 2)
weight = torch.ones(2, 3)
given = {"weight": weight, "bias": None, "of another": weight}
assert torch.equal(functional_call(layer, given, x), x @ weight.T) and set(given) == {"weight", "bias", "of another"}
raises(RuntimeError, lambda: functional_call(layer, given, x, strict=True))
raises(RuntimeError, lambda: functional_call(layer, {"weight": weight}, x, strict=True))

class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = torch.ones(())
        self.layer = layer

    def forward(self, x):
        return self.layer(x) * self.factor * getattr(self.layer, "second", 1)
scaled = Scaled()
got = torch.nn.utils.stateless.functional_call(scaled, {"factor": torch.tensor(2.0), "layer.second": 3}, (x,))
assert torch.allclose(got, 6 * layer(x)) and scaled.factor.item() == 1 and not hasattr(layer, "second")

layers = [nn.Linear(3, 2) for _ in range(2)]
call, params, buffers = functorch.combine_state_for_ensemble(layers)
assert torch.allclose(vmap(call, (0, 0, None))(params, buffers, x), torch.stack([layer(x) for layer in layers]))
layers[0].bias.requires_grad_(False)
raises(RuntimeError, lambda: stack_module_state(layers))

network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
call, params, buffers = functorch.make_functional_with_buffers(network)
assert torch.equal(call(params, buffers, x), network(x))
raises(RuntimeError, lambda: functorch.make_functional(network))
torch.func.replace_all_batch_norm_modules_(network)
assert not list(network.buffers())
call, params = functorch.make_functional(network, disable_autograd_tracking=True)
assert torch.equal(call(params, x), network(x)) and not any(p.requires_grad for p in params)
""",
    "checkpoints": """
from functools import partial
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
from torch.utils.checkpoint import detach_variable, set_checkpoint_early_stop

x = torch.randn(2, 3, requires_grad=True)
layer, seen = nn.Linear(3, 3), []
def block(x):
    return (layer(x).sin() @ torch.ones(3, 3)).exp()
def policy(context, op, *tensors):
    seen.append(op)
    return CheckpointPolicy.MUST_SAVE if op is torch.ops.aten.mm.default else CheckpointPolicy.PREFER_RECOMPUTE
(wanted,) = torch.autograd.grad(block(x).sum(), x)
for chosen in (policy, [torch.ops.aten.addmm.default, torch.ops.aten.mm.default]):
    contexts = partial(create_selective_checkpoint_contexts, chosen)
    y = checkpoint(block, x, use_reentrant=False, debug=True, context_fn=contexts)
    assert torch.allclose(torch.autograd.grad(y.sum(), x)[0], wanted)
aten = torch.ops.aten
assert seen == [aten.addmm.default, aten.sin.default, aten.mm.default, aten.exp.default]

def two(x):
    y = x.sin()
    seen.append("between")
    return y.sum()
for early, times in ((True, 1), (False, 2)):
    seen.clear()
    with set_checkpoint_early_stop(early):
        y = checkpoint(two, x, use_reentrant=False)
    y.backward()
    assert len(seen) == times, seen
(leaf, number) = detach_variable((x * 1, 2))
assert leaf.is_leaf and leaf.requires_grad and number == 2
""",
    "mixed precision": """
import warnings

x = torch.ones(2, 3)
layer = nn.Linear(3, 3)
with torch.autocast("cpu", dtype=torch.bfloat16):
    assert layer(x).dtype == torch.addmm(layer.bias, x, layer.weight).dtype == torch.bfloat16
    with torch.cpu.amp.autocast(enabled=False):
        assert layer(x).dtype == torch.float32
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        with torch.autocast("cpu", dtype=torch.float32):
            assert layer(x).dtype == torch.float32
    assert len(noted) == 1
with torch.cpu.amp.autocast():
    assert layer(x).dtype == torch.bfloat16
raises(RuntimeError, lambda: torch.autocast("not a device"))

# Functions that take no 16-bit numbers get them in float32, and so do those of two dtypes that are to be one.
square, grid = torch.eye(4) + torch.rand(4, 4) / 9, torch.zeros(1, 2, 2, 2, requires_grad=True)
COMPUTED = {
    "qr": lambda h: torch.linalg.qr(h)[0], "svd": lambda h: torch.linalg.svd(h)[1], "inv": torch.linalg.inv,
    "eigh": lambda h: torch.linalg.eigh(h + h.T)[0], "solve": lambda h: torch.linalg.solve(h, square),
    "fft": lambda h: torch.fft.fft(h).real, "rfft": lambda h: torch.fft.rfft(h, dim=0).real,
    "stft": lambda h: torch.stft(h.flatten(), 8, window=torch.ones(8), return_complex=True).real,
    "grid_sample": lambda h: nn.functional.grid_sample(h[None, None], grid, align_corners=False),
    "det": torch.linalg.det,
}
weight = square.clone().requires_grad_()
for name, compute in COMPUTED.items():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        narrow = weight @ square
        made = compute(narrow)
    assert narrow.dtype == torch.bfloat16 and made.dtype == torch.float32, (name, made.dtype)
    torch.testing.assert_close(made, compute(narrow.float()), rtol=2e-2, atol=1e-3)
    (gradient,) = torch.autograd.grad(made.sum(), weight)
    assert gradient.dtype == torch.float32 and gradient.isfinite().all(), name
    raises(TypeError, lambda: compute(narrow))
with torch.autocast("cpu", dtype=torch.bfloat16):
    raises(TypeError, lambda: torch.linalg.qr(torch.ones(2, 2, dtype=torch.int64)))
""",
    "what nodes keep": """
import torch.nn.functional as F

x = torch.tensor([[0.2, 0.3, 0.4], [0.5, 0.6, 0.7]], requires_grad=True)
w = torch.tensor([[0.7, 0.1, 0.2], [0.3, 0.9, 0.8]], requires_grad=True)
m, c = torch.rand(3, 4).requires_grad_(), torch.tensor([[0.1, 0.4, 0.5], [0.6, 0.2, 0.9]])
above, places = x.detach() > 0.45, torch.tensor([[0], [1]])
of_input = "abs acos asin asinh atan atanh cos cosh digamma erf erfc lgamma log log10 log1p log2 sin sinh var".split()
of_result = "exp reciprocal rsqrt sqrt sigmoid tanh relu".split()
KEPT = [
    *((lambda name=name: getattr(torch, name)(x), {"self": x}) for name in of_input),
    *((lambda name=name: getattr(F, name)(x), {"self": x}) for name in "gelu hardsigmoid hardswish mish silu".split()),
    *((lambda name=name: getattr(torch, name)(x), {"result": None}) for name in of_result),
    (lambda: x.softmax(1), {"result": None}), (lambda: x.log_softmax(1), {"result": None}),
    (lambda: x * w, {"self": x, "other": w}), (lambda: x * 3, {"other": torch.tensor(3.0)}),
    (lambda: torch.maximum(x, w), {"self": x, "other": w}), (lambda: torch.atan2(x, w), {"self": x, "other": w}),
    (lambda: x / w, {"other": w}), (lambda: x / 4, {"other": torch.tensor(4.0)}),
    (lambda: x**w, {"self": x, "exponent": w, "result": None}), (lambda: x**3, {"self": x, "exponent": 3}),
    (lambda: F.elu(x, 0.5), {"self": x, "alpha": 0.5}), (lambda: x.clamp(0.125, 0.5), {"min": 0.125, "max": 0.5}),
    (lambda: x.clamp(min=0.5), {"self": x, "min": 0.5, "max": ...}),
    (lambda: F.hardtanh(x), {"min_val": -1.0, "max_val": 1.0}),
    (lambda: F.softplus(x, 2.0), {"beta": 2, "threshold": 20}),
    (lambda: F.leaky_relu(x, 0.25), {"self": x, "negative_slope": 0.25}),
    (lambda: x.std(), {"self": x, "result": None}),
    (lambda: x.logsumexp(1), {"self": x, "result": None}), (lambda: x.norm(), {"self": x, "result": None}),
    (lambda: x @ m, {"self": x, "mat2": m}), (lambda: torch.where(above, x, w), {"condition": above}),
    (lambda: x.gather(1, places), {"index": places}),
    (lambda: F.conv1d(x[None], w[None]), {"input": x[None], "weight": w[None]}),
    (lambda: F.linear(x, w, w[:, 0]), {"mat1": x, "mat2": w.mT}), (lambda: x.cumprod(1), {"self": x, "result": None}),
    (lambda: x.scatter_add(1, places, w), {"index": places}), (lambda: x.topk(1)[0], {"indices": x.topk(1)[1]}),
    (lambda: x.index_add(0, places[:, 0], w), {"index": places[:, 0]}),
    (lambda: F.smooth_l1_loss(x, w, reduction="none", beta=0.5), {"self": x, "target": w, "beta": 0.5}),
    (lambda: torch.addcmul(x, w, w, value=2), {"tensor1": w, "tensor2": w, "value": 2}),
    (lambda: torch.cdist(x, w), {"x1": x, "x2": w, "result": None}), (lambda: F.logsigmoid(x), {"self": x}),
    (lambda: x.lerp(w, 0.1), {"weight": 0.1}), (lambda: x.lerp(w, w), {"self": x, "end": w, "weight": w}),
    (lambda: c.lerp(c, w), {"self": c, "end": c}), (lambda: x.lerp(c, c), {"weight": c}),
    (lambda: torch.addcmul(x, c, w, value=3), {"tensor1": c, "tensor2": ..., "value": 3}),
    (lambda: torch.addcmul(x, w, c, value=3), {"tensor1": ..., "tensor2": c, "value": 3}),
    (lambda: c * x, {"self": c, "other": ...}), (lambda: x * c, {"self": ..., "other": c}),
    (
        lambda: F.scaled_dot_product_attention(x[None], w[None], m.mT[None, :2, :3]),
        {"query": x[None], "key": w[None], "value": m.mT[None, :2, :3]},
    ),
]
for make, wanted in KEPT:
    y = make()
    node = y.grad_fn
    assert {f"_saved_{name}" for name in wanted} <= set(dir(node)), (node, dir(node))
    for name, value in wanted.items():
        got, value = getattr(node, f"_saved_{name}"), y if value is None else None if value is ... else value
        same = torch.equal(got, value) if isinstance(value, torch.Tensor) else got == value
        assert same, (node, name, got, value)
    y.sum().backward()
    for name in wanted:
        raises(RuntimeError, lambda: getattr(node, f"_saved_{name}"))
raises(AttributeError, lambda: (x + w).grad_fn._saved_self)
""",
    "kernels before their operators": """
for number, kind in enumerate(("DEF", "FRAGMENT", "IMPL")):
    for key, factor in (("CPU", 2), ("CompositeImplicitAutograd", 3), ("CompositeExplicitAutograd", 4)):
        name = f"early_{number}_{factor}"
        kernels = torch.library.Library(name, "IMPL" if kind == "IMPL" else "FRAGMENT")
        if kind == "FRAGMENT":
            torch.library.impl(kernels, "scaled", key)(lambda x, factor=factor: x * factor)
        else:
            kernels.impl("scaled", lambda x, factor=factor: x * factor, key)
        definition = torch.library.Library(name, "DEF" if kind == "DEF" else "FRAGMENT")
        definition.define("scaled(Tensor x) -> Tensor")
        x = torch.ones(2, requires_grad=key == "CompositeImplicitAutograd")
        y = getattr(torch.ops, name).scaled(x)
        assert y.tolist() == [factor, factor]
        if x.requires_grad:
            y.sum().backward()
            assert x.grad.tolist() == [factor, factor]

@torch.library.triton_op("early::three", mutates_args=())
def three(x: torch.Tensor) -> torch.Tensor:
    return x * 3

assert torch.ops.early.three(torch.ones(1)).item() == 3
raises(NotImplementedError, lambda: torch.library.wrap_triton(three))
""",
    "libraries for a while": """
with torch.library._scoped_library("for_a_while") as library:
    library.define("twice(Tensor x) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))
    library.impl("twice", lambda x: x * 2, "CPU")
    assert torch.ops.for_a_while.twice(torch.ones(2)).tolist() == [2, 2]

older = torch.library.Library("older_forms", "DEF")

@torch.library.define(older, "twice(Tensor x) -> Tensor")
def twice(x):
    return x * 2

torch.library.define("older_forms::thrice", "(Tensor x) -> Tensor", lib=older)

@torch.library.impl(older, "thrice", "CPU")
def thrice(x):
    return x * 3

assert torch.ops.older_forms.twice(torch.ones(1)).item() == 2 == twice(1)
assert torch.ops.older_forms.thrice(torch.ones(1)).item() == 3 == thrice(1)

def half(x: torch.Tensor) -> torch.Tensor:
    return x / 2
assert torch.library.infer_schema(half, op_name="half", mutates_args=()) == "half(Tensor x) -> Tensor"
raises(RuntimeError, lambda: torch.ops.for_a_while.twice(torch.ones(2)))
""",
}

HEAD = """
import torch
import torch.nn as nn
from torch.autograd import forward_ad

torch.manual_seed(0)

def raises(kind, call):
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")
"""


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients(program, tmp_path):
    extensions.write(tmp_path, {"program.py": HEAD + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
