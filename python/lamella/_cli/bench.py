"""``lamella bench``: a minute of timings that tell what to expect of a machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import lamella as lm

from . import UsageError

#: Seconds that one benchmark takes.
_PATIENCE = 1.0


class _Tanh(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        y = lm.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        (y,) = ctx.saved_tensors
        result: lm.Tensor = dy * (1 - y * y)
        return result


def _best(run: Callable[[], Any]) -> float:
    """Returns the seconds of a call: the best of batches that take some milliseconds each."""
    run()
    begin = time.perf_counter()
    run()
    each = max(1, round(0.01 / max(1e-7, time.perf_counter() - begin)))
    best = float("inf")
    end = time.perf_counter() + _PATIENCE
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(each):
            run()
        best = min(best, (time.perf_counter() - begin) / each)
    return best


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} µs" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


def _rate(of: str, amount: float) -> Callable[[float], str]:
    return lambda seconds: f"{_time(seconds)}, {amount / seconds / 1e9:.3g} {of}"


def _product(dtype: str, n: int = 1024) -> tuple[Callable[[], Any], Callable[[float], str]]:
    a, b = (lm.randn([n, n], dtype=dtype) for _ in range(2))
    return lambda: a @ b, _rate("GFLOP/s", 2 * n**3)


def _addition(n: int = 1 << 24) -> tuple[Callable[[], Any], Callable[[float], str]]:
    a, b = (lm.randn([n]) for _ in range(2))
    return lambda: a + b, _rate("GB/s", 12 * n)


def _small() -> tuple[Callable[[], Any], Callable[[float], str]]:
    a, b = (lm.randn([8]) for _ in range(2))
    return lambda: a + b, _time


def _layer() -> tuple[Callable[[], Any], Callable[[float], str]]:
    x, dy = lm.randn([8]).requires_grad_(), lm.ones([8])
    return lambda: lm.grad([_Tanh.apply(x)], [x], [dy]), _time


def _convolution() -> tuple[Callable[[], Any], Callable[[float], str]]:
    x, w = lm.randn([16, 64, 56, 56]), lm.randn([64, 64, 3, 3])
    return lambda: lm.conv2d(x, w, padding=1), _rate("GFLOP/s", 2 * 16 * 64 * 64 * 56 * 56 * 9)


def _step(compiled: bool) -> tuple[Callable[[], Any], Callable[[float], str]]:
    net = lm.nn.Sequential(
        lm.nn.Linear(784, 256), lm.nn.ReLU(), lm.nn.Linear(256, 256), lm.nn.ReLU(), lm.nn.Linear(256, 10)
    )
    optimizer = lm.optim.Adam(net.parameters(), lr=1e-3)
    x, target = lm.randn([64, 784]), lm.randint(0, 10, [64])

    def step() -> lm.Tensor:
        optimizer.zero_grad()
        loss = lm.cross_entropy(net(x), target)
        loss.backward()
        optimizer.step()
        return loss

    run = lm.compile(step) if compiled else step
    for _ in range(3):
        run()
    return run, _time


_BENCHMARKS: dict[str, tuple[str, Callable[[], tuple[Callable[[], Any], Callable[[float], str]]]]] = {
    "matmul": ("product of 1024x1024, float32", lambda: _product("float32")),
    "matmul64": ("product of 1024x1024, float64", lambda: _product("float64")),
    "convolution": ("convolution 3x3 of 16x64x56x56", _convolution),
    "addition": ("sum of 16 million floats", _addition),
    "small": ("sum of 8 floats", _small),
    "layer": ("PyLayer of 8 floats, forward and backward", _layer),
    "step": ("perceptron 784-256-256-10, batch 64, Adam", lambda: _step(False)),
    "compiled": ("the same, compiled", lambda: _step(True)),
}


def bench(names: list[str], only_list: bool) -> int:
    """Times the benchmarks of these names, or all, and prints a line for each."""
    unknown = [name for name in names if name not in _BENCHMARKS]
    if unknown:
        raise UsageError(f"there is no benchmark {unknown[0]!r}; there are {', '.join(_BENCHMARKS)}")
    chosen = names or list(_BENCHMARKS)
    width = max(len(_BENCHMARKS[name][0]) for name in chosen)
    for name in chosen:
        title, prepare = _BENCHMARKS[name]
        if only_list:
            print(f"{name:<12} {title}")
            continue
        run, text = prepare()
        print(f"{title:<{width}}  {text(_best(run))}", flush=True)
    return 0
