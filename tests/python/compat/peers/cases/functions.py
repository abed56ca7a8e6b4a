"""Functions of tensors and of networks."""

import torch
import torch.nn.functional as F
from recording import add, fixed, function, index, tensor, x

INDEX = torch.tensor([[0, 2], [1, 3], [2, 0]])
MASK = torch.tensor([[True, False, True, False], [False, True, True, True], [True, True, False, False]])

POINTWISE = (
    "abs acos asin atan ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac i0 lgamma log log10 "
    "log1p log2 logit neg rad2deg reciprocal round rsqrt sigmoid sign sin sinc sinh sqrt square tan tanh trunc "
    "isfinite isnan signbit logical_not"
)
for name in POINTWISE.split():
    add(f"torch.{name}", function(lambda a, n=name: getattr(torch, n)(a), x(3, 4, low=0.1, high=0.9)))
for name in [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "entr",
    "erfcx",
    "i0e",
    "i1",
    "i1e",
    "log_ndtr",
    "ndtr",
    "ndtri",
    "modified_bessel_k0",
]:
    add(f"special.{name}", function(lambda a, n=name: getattr(torch.special, n)(a), fixed(3, 4, low=0.1, high=0.9)))
for name in ["gammainc", "gammaincc", "xlog1py", "xlogy", "zeta"]:
    add(
        f"special.{name}",
        function(
            lambda a, b, n=name: getattr(torch.special, n)(a + 1, b),
            fixed(5, low=0.5, high=3.0),
            fixed(5, low=0.5, high=3.0),
        ),
    )
for name in [
    "add",
    "sub",
    "mul",
    "div",
    "atan2",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "maximum",
    "minimum",
    "pow",
    "remainder",
    "float_power",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_xor",
]:
    add(
        f"torch.{name}",
        function(lambda a, b, n=name: getattr(torch, n)(a, b), x(3, 4, low=0.1, high=3.0), x(4, low=0.2, high=2.0)),
    )
for name in [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "gcd",
    "lcm",
    "remainder",
    "floor_divide",
    "fmod",
    "div",
    "bitwise_left_shift",
]:
    add(
        f"torch.{name}/int",
        function(lambda a, b, n=name: getattr(torch, n)(a, b), index(20, 6, low=-20), index(5, 6, low=1)),
    )

TABLE = {
    "abs_complex": (lambda a: torch.complex(a, a * 2).abs(), x(3)),
    "addcdiv": (lambda a, b, c: torch.addcdiv(a, b, c, value=0.5), x(3), x(3), x(3, low=0.5, high=1.0)),
    "addcmul": (lambda a, b, c: torch.addcmul(a, b, c, value=0.5), x(3), x(3), x(3)),
    "addmm": (lambda a, b, c: torch.addmm(a, b, c, beta=0.5, alpha=2.0), x(4), x(3, 2), x(2, 4)),
    "baddbmm": (lambda a, b, c: torch.baddbmm(a, b, c, beta=0.5), x(2, 3, 4), x(2, 3, 2), x(2, 2, 4)),
    "add_alpha": (lambda a, b: torch.add(a, b, alpha=3), x(3), x(3)),
    "rsub": (lambda a, b: torch.rsub(a, b, alpha=2), x(3), x(3)),
    "div_trunc": (lambda a, b: torch.div(a, b, rounding_mode="trunc"), x(5), x(5)),
    "div_floor": (
        lambda a, b: [
            torch.div(a, b, rounding_mode="floor"),
            torch.heaviside(a, b),
            torch.nextafter(a, b),
            torch.floor_divide(a, b),
            torch.copysign(a, b),
            torch.sgn(a),
        ],
        fixed(5),
        fixed(5),
    ),
    "clamp": (lambda a: torch.clamp(a, -0.5, 0.5), x(3, 4)),
    "clamp_tensor": (lambda a, b: torch.clamp(a, min=b), x(3, 4), x(4)),
    "lerp": (lambda a, b, w: torch.lerp(a, b, w), x(3), x(3), x(3)),
    "nan_to_num": (lambda: torch.nan_to_num(torch.tensor([float("nan"), float("inf"), -float("inf")]), 1.0),),
    "round2": (lambda a: torch.round(a, decimals=2), x(5)),
    "where": (lambda a, b: torch.where(MASK, a, b), x(3, 4), x(4)),
    "sum": (lambda a: [a.sum(), a.sum(0), a.sum((0, 2), keepdim=True), a.sum(-1)], x(2, 3, 4)),
    "mean": (lambda a: [a.mean(), a.mean(1), a.mean((0, 2), True)], x(2, 3, 4)),
    "std": (
        lambda a: [
            a.std(),
            a.std(1),
            a.std(0, unbiased=False),
            a.var(dim=(0, 1)),
            a.var(correction=0),
            torch.var_mean(a, 1),
            torch.std_mean(a),
        ],
        x(3, 4),
    ),
    "max": (
        lambda a: [a.max(), a.max(1), a.max(0, keepdim=True), torch.max(a, a * 2), a.amax((0, 1)), a.min(1)],
        x(3, 4),
    ),
    "argmax": (lambda a: [a.argmax(), a.argmax(1), a.argmin(0, keepdim=True)], x(3, 4)),
    "median": (lambda a: [a.median(), a.median(1), torch.nanmedian(a)], x(3, 4)),
    "mode": (lambda a: torch.mode(a).values, index(4, 5, 6)),
    "sort": (lambda a: [a.sort(), a.sort(0, descending=True), a.argsort(dim=0)], x(3, 4)),
    "topk": (lambda a: [a.topk(2), a.topk(2, 0, largest=False), a.kthvalue(2)], x(3, 4)),
    "prod": (lambda a: [a.prod(), a.prod(1)], x(3, 4)),
    "cumulative": (lambda a: [a.cumsum(0), a.cumprod(1), torch.logcumsumexp(a, 0), *a.cummax(1)], x(3, 4)),
    "norm": (
        lambda a: [a.norm(), a.norm(dim=1), a.norm(1, 0), a.norm(float("inf")), torch.norm(a, p=3, dim=(0, 1))],
        x(3, 4),
    ),
    "renorm": (lambda a: torch.renorm(a, 2, 0, 1.0), x(3, 4)),
    "logsumexp": (lambda a: [torch.logsumexp(a, 0), torch.logsumexp(a, (0, 1))], x(3, 4)),
    "quantile": (
        lambda a: [
            torch.quantile(a, 0.3),
            torch.quantile(a, torch.tensor([0.1, 0.5]), 1),
            torch.quantile(a, 0.4, 0, interpolation="nearest"),
        ],
        x(3, 4),
    ),
    "histc": (lambda a: torch.histc(a, 5, -1.0, 1.0), fixed(20)),
    "bincount": (lambda a: torch.bincount(a, minlength=8), index(6, 20)),
    "cov": (lambda a: [torch.cov(a), torch.corrcoef(a)], x(3, 5)),
    "cdist": (
        lambda a, b: [torch.cdist(a, b), torch.cdist(a, b, 1.0), torch.cdist(a, b, float("inf"))],
        x(3, 2),
        x(4, 2),
    ),
    "unique": (
        lambda a: [*torch.unique(a, return_inverse=True, return_counts=True), torch.unique_consecutive(a)],
        index(5, 12),
    ),
    "searchsorted": (
        lambda a: [torch.searchsorted(torch.arange(5.0), a), torch.bucketize(a, torch.arange(3.0), right=True)],
        fixed(6),
    ),
    "gather": (lambda a: [a.gather(1, INDEX), torch.take_along_dim(a, INDEX, 1), a.take(INDEX)], x(3, 4)),
    "scatter": (
        lambda a, b: [
            a.scatter(1, INDEX, b),
            a.scatter_add(1, torch.zeros_like(INDEX), b),
            a.scatter(1, INDEX, 2.5),
            a.scatter_reduce(1, torch.zeros_like(INDEX), b, "amax"),
        ],
        x(3, 4),
        x(3, 2),
    ),
    "index": (
        lambda a: [
            a[1],
            a[:, 2],
            a[MASK],
            a[..., None],
            a[[0, 2]],
            a[range(3), [0, 1, 0]],
            a[INDEX[:, 0], INDEX[:, 1]],
            a.index_select(1, torch.tensor([3, 0])),
            a.masked_fill(MASK, -1.0),
            a[::2, 1:3],
        ],
        x(3, 4),
    ),
    "index_put": (
        lambda a: [
            a.index_add(0, torch.tensor([0, 0, 2]), torch.ones(3, 4), alpha=2.0),
            a.index_fill(1, torch.tensor([1]), 5.0),
            a.index_copy(0, torch.tensor([1]), torch.zeros(1, 4)),
            a.masked_scatter(MASK, torch.arange(12.0)),
        ],
        x(3, 4),
    ),
    "shapes": (
        lambda a: [
            a.view(4, 3),
            a.t(),
            a.permute(1, 0),
            a.unsqueeze(0),
            a.flatten(),
            a.reshape(-1, 2),
            a.repeat(2, 1),
            a.expand(2, 3, 4),
            a.roll(1, 0),
            a.flip(1),
            torch.rot90(a),
            a.tile(2),
            a.T,
            a.unfold(1, 2, 1),
            a.repeat_interleave(2, 0),
            a.movedim(0, 1),
            a.unflatten(1, (2, 2)),
            a.narrow(1, 1, 2),
        ],
        x(3, 4),
    ),
    "split": (
        lambda a: [a.split(2), a.split([1, 2], 0), a.chunk(2, 1), a.unbind(1), a.tensor_split(2), a.chunk(5)],
        x(3, 4),
    ),
    "join": (
        lambda a, b: [
            torch.cat([a, b]),
            torch.stack([a, b], 1),
            torch.hstack([a, b]),
            torch.vstack([a, b]),
            torch.dstack([a, b]),
            torch.block_diag(a, b),
        ],
        x(3, 4),
        x(3, 4),
    ),
    "diagonals": (
        lambda a: [a.diag(1), a.diagonal(), torch.diag_embed(a), a.tril(), a.triu(1), torch.diagflat(a[0])],
        x(3, 4),
    ),
    "meshgrid": (
        lambda a, b: [
            *torch.meshgrid(a, b, indexing="ij"),
            *torch.meshgrid(a, b, indexing="xy"),
            torch.cartesian_prod(a, b),
            torch.combinations(b),
        ],
        x(3),
        x(4),
    ),
    "products": (
        lambda a, b: [
            a @ b,
            torch.mm(a, b),
            torch.mv(a, b[:, 0]),
            torch.einsum("ij,jk->ki", a, b),
            torch.tensordot(a, b, 1),
            torch.kron(a, b),
            torch.outer(a[0], b[:, 1]),
            torch.dot(a[0], b[:, 0]),
        ],
        x(3, 4),
        x(4, 2),
    ),
    "made": (
        lambda: [
            torch.arange(2, 9, 3),
            torch.arange(0.0, 1.0, 0.25),
            torch.linspace(0, 1, 5),
            torch.logspace(0, 2, 3),
            torch.eye(2, 3),
            torch.full((2,), 3),
            torch.full((2,), 3.0),
            torch.zeros(2, dtype=torch.int32),
            torch.tril_indices(3, 3),
            torch.ones_like(torch.zeros(2, 1)),
            torch.tensor([1, 2.5]),
            torch.tensor([True]),
            torch.hann_window(5),
            torch.hamming_window(5, periodic=False),
            torch.vander(torch.arange(3.0)),
            torch.tensor(3),
            torch.scalar_tensor(2),
            torch.range(1, 3),
            torch.bartlett_window(4),
        ],
    ),
    "types": (
        lambda: [
            torch.ones(2, dtype=torch.int64) / 2,
            torch.tensor([1, 2]) * 2.5,
            torch.tensor([1], dtype=torch.int32) + 1,
            torch.tensor([True]) + torch.tensor([True]),
            torch.arange(3).float().mean(),
            torch.ones(2).sum(dtype=torch.float64),
            torch.tensor([1, 2]).sum(),
            torch.tensor([True, True]).sum(),
            torch.tensor([1.5]).int(),
            torch.tensor([2]).double(),
            torch.ones(1, dtype=torch.float16) + torch.ones(1),
            torch.tensor([3]) // 2,
            torch.tensor([-7]) % 4,
            2.0 * torch.ones(1, dtype=torch.float16),
            torch.bitwise_not(torch.tensor([5])),
        ],
    ),
    "strides": (lambda a: torch.as_strided(a, (2, 2), (1, 2), 1), x(3, 4)),
    "trapezoid": (
        lambda a: [torch.trapezoid(a), torch.cumulative_trapezoid(a, dx=0.5), torch.diff(a), *torch.gradient(a)],
        x(3, 4),
    ),
    "F.one_hot": (lambda a: [F.one_hot(a), F.one_hot(a, 7)], index(5, 3, 2)),
    "F.pad": (
        lambda a: [
            F.pad(a, (1, 2)),
            F.pad(a, (1, 1, 0, 2), value=3.0),
            F.pad(a, (1, 1, 1, 1), "reflect"),
            F.pad(a, (-1, 2)),
            F.pad(a, (2, 0), "circular"),
            F.pad(a, (1, 0, 2, 0), "replicate"),
        ],
        x(2, 3, 4),
    ),
    "F.interpolate": (
        lambda a: [
            F.interpolate(a, size=5),
            F.interpolate(a, scale_factor=2, mode="bilinear"),
            F.interpolate(a, size=(3, 7), mode="bicubic", align_corners=True),
            F.interpolate(a, size=(2, 2), mode="area"),
            F.interpolate(a, scale_factor=0.6, mode="bilinear", antialias=True),
            F.interpolate(a, scale_factor=1.5, mode="nearest", recompute_scale_factor=True),
        ],
        x(1, 2, 4, 5),
    ),
    "F.grid_sample": (
        lambda a, g: [
            F.grid_sample(a, g, m, p, align_corners=c)
            for m in ("bilinear", "nearest", "bicubic")
            for p in ("zeros", "border", "reflection")
            for c in (False, True)
        ],
        x(1, 2, 4, 5),
        x(1, 3, 3, 2, low=-1.3, high=1.3),
    ),
    "F.affine_grid": (lambda a: [F.affine_grid(a, (2, 3, 4, 5), c) for c in (False, True)], x(2, 2, 3)),
    "F.normalize": (lambda a: [F.normalize(a), F.normalize(a, 1.0, 0), F.cosine_similarity(a, a * 2 + 1, 0)], x(3, 4)),
    "F.attention": (
        lambda q, k, v: [
            F.scaled_dot_product_attention(q, k, v),
            F.scaled_dot_product_attention(q, k, v, scale=0.3),
            F.scaled_dot_product_attention(q, k, v, attn_mask=MASK),
            F.scaled_dot_product_attention(q, k, v, is_causal=True),
        ],
        x(2, 2, 3, 4),
        x(2, 2, 4, 4),
        x(2, 2, 4, 5),
    ),
    "F.attention_groups": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        x(2, 4, 3, 4),
        x(2, 2, 3, 4),
        x(2, 2, 3, 4),
    ),
    "F.gumbel": (lambda a: F.gumbel_softmax(a, hard=True).sum(-1), fixed(3, 4)),
    "F.embedding": (
        lambda w, i: [F.embedding(i, w), F.embedding(i, w, padding_idx=1), F.embedding(i, w, scale_grad_by_freq=True)],
        x(5, 3),
        index(5, 2, 4),
    ),
    "F.fold": (lambda a: [F.unfold(a, (2, 3), padding=1), F.fold(F.unfold(a, 2), (4, 5), 2)], x(1, 2, 4, 5)),
    "F.unpool": (lambda a: F.max_unpool2d(*F.max_pool2d(a, 2, return_indices=True), 2), x(1, 2, 4, 4)),
    "F.glu": (
        lambda a: [
            F.glu(a),
            F.softmin(a, 1),
            F.logsigmoid(a),
            F.softsign(a),
            F.tanhshrink(a),
            F.hardshrink(a),
            F.rrelu(a),
            F.celu(a, 0.3),
        ],
        x(3, 4),
    ),
    "F.dropout_eval": (
        lambda a: [F.dropout(a, 0.7, False), F.dropout2d(a, 0.7, False), F.alpha_dropout(a, 0.5, False)],
        x(3, 4),
    ),
    "F.bilinear": (lambda a, b, w: F.bilinear(a, b, w), x(3, 2), x(3, 4), x(5, 2, 4)),
    "F.local_response_norm": (lambda a: F.local_response_norm(a, 2, 0.1, 0.5, 2.0), x(2, 4, 3)),
    "F.softmax_dtype": (lambda a: [F.softmax(a, 0, dtype=torch.float64), F.log_softmax(a, -1)], x(3, 4)),
}
for name, (ask, *inputs) in TABLE.items():
    add(f"fn.{name}", function(ask, *inputs))


def methods(rng):
    """Returns what methods in place and small properties give."""
    a = tensor(rng, 3, 4)
    b = a.clone()
    b.add_(1).mul_(2).clamp_(min=0).sub_(0.5, alpha=2).div_(3).addcmul_(a, a, value=0.1)
    b[0] = 7.0
    b[:, 1] += a[:, 2]
    b.masked_fill_(MASK, -3.0)
    c = torch.zeros(3, 4).scatter_(1, INDEX, 1.0).index_add_(0, torch.tensor([1]), torch.ones(1, 4))
    facts = [
        a.size(),
        a.size(1),
        a.dim(),
        a.numel(),
        a.stride(),
        a.is_contiguous(),
        a.t().is_contiguous(),
        a.element_size(),
        a.shape[-1],
        len(a),
        a.nelement(),
        a.is_floating_point(),
        a.dtype == torch.float32,
    ]
    return {
        "b": b,
        "c": c,
        "facts": [str(each) for each in facts],
        "item": a[0, 0].item(),
        "list": a.tolist(),
        "like": [a.new_zeros(2), a.new_tensor([1, 2]), a.type_as(c), list(torch.empty_like(a).shape)],
    }


add("fn.methods", methods)


def higher(rng):
    """Returns derivatives of higher order, Jacobians and vmap."""
    a = tensor(rng, 4, grad=True)
    y = (a**3).sin().sum()
    first = torch.autograd.grad(y, a, create_graph=True)[0]
    second = torch.autograd.grad(first.sum(), a)[0]
    f = lambda v: (v**2).sum() * v  # noqa: E731
    return [
        first,
        second,
        torch.autograd.functional.jacobian(f, a.detach()),
        torch.autograd.functional.hessian(lambda v: (v**3).sum(), a.detach()),
        torch.func.vmap(lambda v: v * v.sum())(tensor(rng, 3, 2)),
        torch.func.grad(lambda v: (v**3).sum())(a.detach()),
        torch.func.jacrev(f)(a.detach()),
        torch.func.jacfwd(f)(a.detach()),
    ]


add("fn.higher", higher)
