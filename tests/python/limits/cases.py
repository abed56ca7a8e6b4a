"""What sweep.py calls: functions that prepare operands and return the call, which must not change them."""

from __future__ import annotations

import queue
import tempfile
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import lamella as lm
from lamella.nn import functional as F

Call = Callable[[], Any]
CASES: dict[str, Callable[[], Call]] = {}


def case(function: Callable[[], Call]) -> Callable[[], Call]:
    CASES[function.__name__] = function
    return function


def numbers(*shape: int, dtype: Any = None, seed: int = 1) -> lm.Tensor:
    x = lm.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32))
    return x if dtype is None else x.astype(dtype)


def leaf(*shape: int, dtype: Any = None, seed: int = 1) -> lm.Tensor:
    x = numbers(*shape, dtype=dtype, seed=seed)
    x.stop_gradient = False
    return x


def gradients(function: Callable[..., Any], *leaves: lm.Tensor) -> Call:
    """The call of a function with its gradients."""

    def call() -> Any:
        result = function(*leaves)
        return [result, *lm.grad((result * result).sum(), list(leaves))]

    return call


def derived(name: str, function: Callable[..., Any], *shapes: tuple[int, ...], dtype: Any = None) -> None:
    """A case that calls a function of tensors of these shapes, and computes its gradients."""
    CASES[name] = lambda: gradients(function, *(leaf(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)))


def computed(name: str, function: Callable[..., Any], *shapes: tuple[int, ...], dtype: Any = None) -> None:
    """The same without gradients."""

    def prepare() -> Call:
        operands = [numbers(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]
        return lambda: function(*operands)

    CASES[name] = prepare


# Loaded before there is a limit: Python's own compiler raises SystemError where it runs out of memory.
PARTS = (
    lm.fft,
    lm.io,
    lm.linalg,
    lm.optim,
    *(getattr(lm.autograd, n) for n in ("checkpoint", "hessian", "jvp", "vmap")),
)

# The first call of an operator, which loads the kernels.
FIRST = "first_call"
computed(FIRST, lm.exp, (300, 500))

# Elementwise, reductions, movement ------------------------------------------------------------------------------------

for op in ("exp", "tanh", "sin", "erf", "sigmoid", "softplus"):
    derived(op, getattr(lm, op), (300, 500))
for op in ("add", "multiply", "divide", "atan2", "maximum"):
    derived(op, getattr(lm, op), (300, 500), (500,))
for op in ("sum", "mean", "max", "argmax", "std", "logsumexp", "cumsum", "prod"):
    computed(op, lambda x, op=op: getattr(lm, op)(x, axis=0), (400, 300))
for op in ("sort", "argsort", "median", "unique_values", "nonzero", "flip", "isnan"):
    computed(op, getattr(lm, op), (40000,))


def set_part(x: lm.Tensor) -> lm.Tensor:
    y = x * 1
    y[10:20] = x[20:30] * 2
    y[y > 1] = 0.0
    return y


def integers(count: int) -> lm.Tensor:
    return lm.arange(count, dtype=lm.int64)


derived("chain", lambda x: lm.tanh(x * 2 + 1).square().mean(), (1000,))
computed("in_place", lambda x: (x * 1).add_(1).mul_(2).relu_(), (300, 400))
computed("cast", lambda x: [x.astype(lm.float64), x.astype(lm.int32), x.astype(lm.bfloat16)], (200, 300))
derived("where", lambda x: lm.where(x > 0, x, x * 2), (300, 400))
computed("transpose", lambda x: x.T.contiguous(), (300, 400))
derived("concat", lambda x: lm.concat([x, x * 2], 0), (300, 400))
derived("stack", lambda x: lm.stack([x] * 5), (100, 100))
computed("split", lambda x: list(lm.split(x, 3)), (3000, 10))
computed("unstack", lm.unstack, (3000, 3))
derived("pad", lambda x: F.pad(x, [3, 3, 2, 2]), (200, 200))
derived("repeat", lambda x: lm.repeat(x, 3), (20000,))
derived("tile", lambda x: lm.tile(x, (3, 2)), (100, 100))
derived("kron", lm.kron, (20, 20), (15, 15))
computed("combinations", lambda x: lm.combinations(x, 3), (60,))
computed("cartesian_prod", lambda x: lm.cartesian_prod(x, x, x), (40,))
computed("meshgrid", lambda x: [grid + 1 for grid in lm.meshgrid(x, x)], (300,))
derived("block_diag", lambda x: lm.block_diag(x, x, x), (100, 100))
computed("creation", lambda: [lm.zeros([300, 300]), lm.eye(300), lm.arange(50000), lm.linspace(0, 1, 50000)])
computed("one_hot", lambda: F.one_hot(integers(300), 300))
computed("bincount", lambda: lm.bincount(integers(50000)))
computed("histogram", lambda x: lm.histc(x, 1000), (30000,))
computed("tril_indices", lambda: lm.tril_indices(300, 300))
computed("topk", lambda x: list(lm.topk(x, 10)), (300, 400))
computed("quantile", lambda x: lm.quantile(x, 0.3), (30000,))
computed("searchsorted", lambda x: lm.searchsorted(lm.sort(x), x), (30000,))
derived("index_tensor", lambda x: x[integers(3000)], (3000, 40))
derived("index_mask", lambda x: x[x > 0], (300, 400))
derived("index_slice", lambda x: x[::2, 3:], (300, 400))
derived("set_index", set_part, (300, 400))
derived("gather", lambda x: lm.gather(x, 0, lm.zeros([200, 40], dtype=lm.int64)), (300, 40))
computed("scatter_add", lambda x: lm.scatter_add(x, 0, lm.zeros([300, 40], dtype=lm.int64), x), (300, 40))
computed("masked_select", lambda x: lm.masked_select(x, x > 0), (300, 400))

# Products and networks ------------------------------------------------------------------------------------------------

derived("matmul", lm.matmul, (110, 130), (130, 90))
computed("matmul_large", lm.matmul, (300, 300), (300, 300))
derived("matmul_batched", lm.matmul, (6, 50, 60), (6, 60, 40))
for dtype in (lm.bfloat16, lm.float64, lm.complex64):
    computed(f"matmul_{dtype}", lm.matmul, (110, 130), (130, 90), dtype=dtype)
computed("matmul_integer", lambda: lm.matmul(lm.ones([110, 110], dtype=lm.int64), lm.ones([110, 110], dtype=lm.int64)))
derived("einsum", lambda a, b: lm.einsum("ij,jk->ik", a, b), (90, 110), (110, 70))
derived("linear", F.linear, (60, 120), (80, 120), (80,))
for dtype in (lm.float32, lm.bfloat16, lm.float64):
    derived(f"conv1d_{dtype}", lm.conv1d, (3, 16, 60), (24, 16, 3), dtype=dtype)
    derived(f"conv2d_{dtype}", lm.conv2d, (3, 16, 20, 20), (24, 16, 3, 3), dtype=dtype)
    derived(f"conv3d_{dtype}", lm.conv3d, (2, 6, 9, 9, 9), (8, 6, 3, 3, 3), dtype=dtype)
derived("conv2d_grouped", lambda x, w: lm.conv2d(x, w, groups=16), (3, 16, 20, 20), (16, 1, 3, 3))
derived("conv_transpose2d", lm.conv_transpose2d, (3, 16, 10, 10), (16, 8, 3, 3))
derived("max_pool2d", lambda x: F.max_pool2d(x, 2), (3, 8, 40, 40))
derived("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2), (3, 8, 40, 40))
derived("adaptive_pool", lambda x: F.adaptive_avg_pool2d(x, 7), (3, 8, 40, 40))
derived("interpolate", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (1, 3, 40, 40))
derived("grid_sample", F.grid_sample, (1, 3, 40, 40), (1, 20, 20, 2))
derived("unfold", lambda x: F.unfold(x, [3, 3]), (2, 3, 30, 30))
derived("layer_norm", lambda x: F.layer_norm(x, [200]), (300, 200))
derived("group_norm", lambda x: F.group_norm(x, 4), (20, 16, 10, 10))
derived("softmax", lambda x: lm.softmax(x, -1), (300, 200))
derived("cross_entropy", lambda x: F.cross_entropy(x, integers(100)), (100, 200))
derived("attention", lambda q: F.scaled_dot_product_attention(q, q, q), (2, 4, 60, 32))
derived("embedding", lambda w: F.embedding(integers(300), w), (400, 50))
derived("cdist", lambda a: lm.cdist(a, a + 1), (100, 20))
derived("pdist", lm.pdist, (100, 20))

# Linear algebra and transforms ----------------------------------------------------------------------------------------

computed("svd", lm.linalg.svdvals, (60, 50))
computed("svd_large", lm.linalg.svdvals, (400, 300))
computed("eigh", lambda a: lm.linalg.eigvalsh(a + a.T), (60, 60))
computed("eig", lambda a: lm.linalg.eigvals(a).abs().sum(), (40, 40))
computed("qr", lambda a: lm.linalg.qr(a)[1].abs(), (60, 50))
computed("qr_batched", lambda a: lm.linalg.qr(a)[1].abs(), (40, 30, 20))
derived("solve", lm.linalg.solve, (60, 60), (60, 5))
computed("inv", lambda a: lm.linalg.inv(a + 20 * lm.eye(60)), (60, 60))
computed("inv_large", lambda a: lm.linalg.inv(a + 40 * lm.eye(300)), (300, 300))
computed("lu", lambda a: lm.linalg.lu_factor(a)[0], (60, 60))
derived("cholesky", lambda a: lm.linalg.cholesky(a @ a.T + lm.eye(60)), (60, 60))
computed("lstsq", lambda a, b: lm.linalg.lstsq(a, b)[0], (60, 30), (60, 5))
computed("slogdet", lambda a: lm.linalg.slogdet(a)[1], (60, 60))
derived("fft", lambda x: lm.fft.rfft(x).abs(), (30, 1000))
computed("fft_prime", lambda x: lm.fft.fft(x).abs(), (5, 1009))
computed("fft2", lambda x: lm.fft.fft2(x).abs(), (100, 120))
computed("stft", lambda x: lm.stft(x, 64).abs(), (5000,))

# Recurrent networks, optimizers, layers ----------------------------------------------------------------------------


@case
def lstm() -> Call:
    lm.seed(3)
    module = lm.nn.LSTM(20, 30)
    x = numbers(12, 4, 20)
    return lambda: module(x)[0]


@case
def gru_backward() -> Call:
    lm.seed(3)
    module = lm.nn.GRU(20, 30)
    x = leaf(12, 4, 20)
    return gradients(lambda x: module(x)[0], x)


@case
def optimizers() -> Call:
    start = numbers(200, 100)

    def call() -> Any:
        results = []
        for make in (lm.optim.SGD, lm.optim.Adam):
            w = lm.nn.Parameter(start.clone())
            optimizer = make([w], lr=0.1)
            for _ in range(2):
                optimizer.zero_grad()
                (w * w).sum().backward()
                optimizer.step()
            results.append(w.detach())
        return results

    return call


@case
def training_step() -> Call:
    x = numbers(30, 8)

    def call() -> Any:
        lm.seed(5)
        model = lm.nn.Sequential(lm.nn.Linear(8, 40), lm.nn.ReLU(), lm.nn.Dropout(0.2), lm.nn.Linear(40, 3))
        optimizer = lm.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
        return loss.detach()

    return call


class Cube(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        (x,) = ctx.saved_tensors
        return dy * 3 * x * x


@case
def layer() -> Call:
    x = leaf(300, 200)
    return gradients(lambda x: Cube.apply(x), x)


@case
def layer_small() -> Call:
    x = leaf(3)

    def call() -> Any:
        y = x
        for _ in range(300):
            y = Cube.apply(y) * 0.01
        return lm.grad(y.sum(), [x])

    return call


@case
def deep_graph() -> Call:
    x = leaf(10)

    def call() -> Any:
        y = x
        for _ in range(3000):
            y = y * 0.999 + 0.001
        return lm.grad(y.sum(), [x])

    return call


@case
def second_derivative() -> Call:
    x = leaf(100, 100)

    def call() -> Any:
        (g,) = lm.grad(lm.tanh(x).sum(), [x], create_graph=True)
        return lm.grad((g * g).sum(), [x])

    return call


@case
def accumulation() -> Call:
    x = leaf(200, 100)

    def call() -> Any:
        x.grad = None
        (x * 2).sum().backward()
        (x * 3).sum().backward()
        return x.grad

    return call


@case
def hooks() -> Call:
    x = leaf(100, 100)

    def call() -> Any:
        y = x * 2
        y.register_hook(lambda g: g * 3)
        return lm.grad(y.sum(), [x])

    return call


@case
def checkpointed() -> Call:
    x = leaf(100, 100)
    return gradients(lambda x: lm.autograd.checkpoint(lambda t: lm.tanh(t).exp(), x), x)


@case
def nested_passes() -> Call:
    class Nested(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor, depth: int) -> lm.Tensor:
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            if not ctx.depth:
                return dy * 3
            with lm.enable_grad():
                x = leaf(2)
                return dy * lm.grad(Nested.apply(x, ctx.depth - 1).sum(), [x])[0]

    x = leaf(2)
    return lambda: lm.grad(Nested.apply(x, 150).sum(), [x])


@case
def mapped() -> Call:
    x = numbers(50, 100)
    return lambda: lm.autograd.vmap(lambda t: lm.tanh(t) * t.sum())(x)


@case
def forward_mode() -> Call:
    x = numbers(50, 100)
    return lambda: lm.autograd.jvp(lambda t: lm.tanh(t) * t, (x,), (x,))


@case
def hessian() -> Call:
    x = numbers(20)
    return lambda: lm.autograd.hessian(lambda t: (t * t * t).sum(), x)


# Python's side --------------------------------------------------------------------------------------------------------


@case
def conversions() -> Call:
    x = numbers(100, 100)
    return lambda: [np.array(x.numpy()), x.tolist()[7][:3], repr(x), str(x.sum().item())]


@case
def from_python() -> Call:
    array = np.arange(30000.0)
    values = array[:3000].tolist()
    return lambda: [lm.asarray(array), lm.tensor(array), lm.tensor(values), lm.asarray(array)[::-1].sum()]


@case
def random() -> Call:
    def call() -> Any:
        lm.seed(11)
        return [
            lm.rand([200, 200]),
            lm.randn([200, 200]),
            lm.randperm(20000),
            lm.random.Generator().initial_seed() >= 0,
        ]

    return call


@case
def saved() -> Call:
    x = numbers(200, 100)
    folder = tempfile.TemporaryDirectory()

    def call() -> Any:
        results = []
        for name in ("x.safetensors", "x.npz"):
            path = f"{folder.name}/{name}"
            lm.io.save({"x": x}, path)
            results.append(lm.io.load(path)["x"])
        return results

    return call


@case
def in_a_thread() -> Call:
    """A thread that is there already: Python's own way to start one does not come back where there is no memory."""
    a = numbers(110, 110)
    b = numbers(300, 500)
    asked: queue.SimpleQueue[int] = queue.SimpleQueue()
    given: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def work() -> None:
        while True:
            asked.get()
            try:
                given.put([a @ a, lm.tanh(b).sum(), lm.linalg.svdvals(a)])
            except BaseException as error:
                given.put(error)

    threading.Thread(target=work, daemon=True).start()

    def call() -> Any:
        asked.put(1)
        result = given.get()
        if isinstance(result, BaseException):
            raise result
        return result

    return call
