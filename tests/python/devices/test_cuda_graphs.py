"""Graphs of CUDA: what they repeat, the memory that they keep, and what they refuse."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import lamella as lm
from support import emulation

emulated = pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA")

OWN = lm.Generator("cuda", 3) if lm.cuda.is_available() else None


def network():
    generator = np.random.default_rng(3)
    net = lm.nn.Sequential(lm.nn.Linear(6, 8), lm.nn.Tanh(), lm.nn.Linear(8, 2))
    with lm.no_grad():
        for parameter in net.parameters():
            parameter.copy_(lm.asarray(generator.normal(0, 0.4, parameter.shape).astype("float32")))
    return net.to("cuda")


def step_of(net, optimizer, x, target):
    optimizer.zero_grad()
    loss = ((net(x) - target) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss


@emulated
def test_a_graph_reads_its_inputs_anew():
    x = lm.ones([4], device="cuda")
    lm.exp(x * 2)
    captured = lm.cuda.CUDAGraph()
    with lm.cuda.graph(captured):
        assert lm.cuda.is_current_stream_capturing()
        y = lm.exp(x * 2) + x
    assert not lm.cuda.is_current_stream_capturing()
    for value in (0.5, -1.0):
        x.fill_(value)
        with emulation.counted() as counts:
            captured.replay()
        assert counts == {"launches": 1}
        np.testing.assert_allclose(y.numpy(), np.full(4, np.exp(2 * value) + value), rtol=1e-6)


@emulated
def test_a_training_step_is_repeated():
    generator = np.random.default_rng(5)
    batches = [
        (generator.normal(size=(5, 6)).astype("float32"), generator.normal(size=(5, 2)).astype("float32"))
        for _ in range(5)
    ]
    losses = {}
    for graphed in (False, True):
        net = network()
        optimizer = lm.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        x, target = lm.zeros([5, 6], device="cuda"), lm.zeros([5, 2], device="cuda")
        captured, losses[graphed] = lm.cuda.CUDAGraph(), []
        for number, (given, wanted) in enumerate(batches):
            x.copy_(lm.asarray(given).to("cuda"))
            target.copy_(lm.asarray(wanted).to("cuda"))
            if not graphed or number < 2:
                loss = step_of(net, optimizer, x, target)
            elif number == 2:
                with lm.cuda.graph(captured):
                    loss = step_of(net, optimizer, x, target)
            if graphed and number >= 2:
                captured.replay()
            losses[graphed].append(loss.item())
        losses[graphed] += [parameter.detach().numpy().copy() for parameter in net.parameters()]
    for plain, repeated in zip(losses[False], losses[True], strict=True):
        np.testing.assert_array_equal(plain, repeated)


@emulated
def test_a_graph_keeps_its_memory():
    x = lm.full([1000], 2.0, device="cuda")
    captured = lm.cuda.CUDAGraph()
    with lm.cuda.graph(captured):
        y = ((x + 1) * 3).sum()
    gc.collect()
    lm.cuda.empty_cache()
    others = [lm.zeros([1000], device="cuda") for _ in range(8)]
    captured.replay()
    assert y.item() == 9000.0
    assert all(float(other.sum()) == 0 for other in others)
    captured.reset()
    del y
    before = lm.cuda.memory_reserved()
    lm.cuda.empty_cache()
    assert lm.cuda.memory_reserved() < before


@emulated
def test_graphs_share_a_pool():
    x = lm.ones([8], device="cuda")
    first, second = lm.cuda.CUDAGraph(), lm.cuda.CUDAGraph()
    with lm.cuda.graph(first):
        y = x * 2
    with lm.cuda.graph(second, pool=first.pool()):
        z = y + 1
    first.reset()
    with pytest.raises(RuntimeError, match="nothing was captured"):
        first.replay()
    y.fill_(5.0)
    second.replay()
    assert z.tolist() == [6.0] * 8


@emulated
def test_transforms_and_factorizations_are_repeated():
    generator = np.random.default_rng(8)
    x, a = lm.zeros([3, 34], device="cuda"), lm.zeros([5, 5], device="cuda")
    captured = lm.cuda.CUDAGraph()
    with lm.cuda.graph(captured):
        spectrum = lm.fft.rfft(x)
        factor = lm.linalg.cholesky_ex(a)[0]
    for _ in range(2):
        given, root = generator.normal(size=(3, 34)), generator.normal(size=(5, 5))
        matrix = root @ root.T + 5 * np.eye(5)
        x.copy_(lm.asarray(given.astype("float32")).to("cuda"))
        a.copy_(lm.asarray(matrix.astype("float32")).to("cuda"))
        captured.replay()
        np.testing.assert_allclose(spectrum.numpy(), np.fft.rfft(given), atol=1e-4)
        np.testing.assert_allclose(factor.numpy(), np.linalg.cholesky(matrix), atol=1e-4)


def noisy_step(net, optimizer, x, target):
    """A step with dropout, and with a layer that is computed again, with the same numbers, in the backward pass."""
    optimizer.zero_grad()
    y = lm.checkpoint(lambda x: lm.nn.functional.dropout(net[:2](x), 0.4), x + 0.1 * lm.randn(x.shape, device="cuda"))
    loss = ((net[2](y) - target) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss


@emulated
@pytest.mark.parametrize("streams", [False, True])
def test_replays_draw_what_steps_would_draw(streams):
    """Also where others draw in between, and where replays come from different streams."""
    found = []
    for captured in (None, lm.cuda.CUDAGraph()):
        net = network()
        optimizer = lm.optim.SGD(net.parameters(), 0.1)
        x, target = (lm.full([5, n], 0.5, device="cuda") for n in (6, 2))
        lm.seed(7)
        step = lambda: noisy_step(net, optimizer, x, target)  # noqa: E731, B023 (called in this turn)
        losses = [step().item() for _ in range(2)]
        if captured is not None:
            state = lm.get_rng_state("cuda")
            with lm.cuda.graph(captured):
                loss = step()
            assert lm.get_rng_state("cuda") == state  # nothing was drawn
        for k in range(5):
            with lm.cuda.stream(lm.cuda.Stream() if streams and captured else lm.cuda.current_stream()):
                if captured is None:
                    loss = step()
                else:
                    captured.replay()
            if k % 2:
                losses.extend(lm.rand([2], device="cuda").tolist())
                lm.cuda.synchronize()
                losses.append(loss.item())
        lm.cuda.synchronize()
        found.append((losses, [p.tolist() for p in net.parameters()], lm.rand([2], device="cuda").tolist()))
    assert found[0] == found[1]


@emulated
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.sum().item(), r"\[copy\] this cannot be captured into a CUDA graph: the host would wait"),
        (lambda x: x.to("cpu"), r"\[copy\] this cannot be captured"),
        (lambda x: x[x > 0], "cannot be captured"),
        (lambda x: lm.linalg.cholesky(x), r"\[copy\] this cannot be captured"),
        (lambda x: lm.rand([3], device="cpu"), r"\[rand\] this cannot be captured.*the same numbers of the CPU"),
        (lambda x: lm.rand([3], device="cuda", generator=OWN), r"\[rand\] this cannot be captured.*of its generator"),
        (lambda x: lm.seed(3), r"\[seed\] this cannot be captured"),
        (lambda x: lm.cuda.current_stream().synchronize(), r"\[synchronize\] this cannot be captured"),
        (lambda x: lm.cuda.CUDAGraph().capture_begin(), "this thread captures another one"),
    ],
)
def test_what_a_graph_cannot_repeat_is_refused(call, message):
    x = lm.eye(3, device="cuda")
    captured = lm.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match=message), lm.cuda.graph(captured):
        call(x)
    assert not lm.cuda.is_current_stream_capturing()
    with pytest.raises(RuntimeError, match="nothing was captured"):
        captured.replay()
    with lm.cuda.graph(captured):
        y = x + 1
    captured.replay()
    assert y.sum().item() == 12.0


@emulated
def test_misuse_is_told():
    captured = lm.cuda.CUDAGraph()
    for function in (captured.replay, captured.pool, captured.capture_end):
        with pytest.raises(RuntimeError, match=r"\[CUDAGraph\]"):
            function()
    captured.capture_begin()
    with pytest.raises(RuntimeError, match=r"captures another one|captured already"):
        captured.capture_begin()
    captured.capture_end()
    with pytest.raises(RuntimeError, match="captured already"):
        captured.capture_begin()
    with pytest.raises(ValueError, match="no such graph"):
        lm.cuda.CUDAGraph().capture_begin(pool=10**9)


@pytest.mark.skipif(lm.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_there_is_an_error():
    with pytest.raises(RuntimeError):
        lm.cuda.CUDAGraph().capture_begin()
    assert not lm.cuda.is_current_stream_capturing()
    with pytest.raises(RuntimeError, match=r"\[CUDAGraph\] there is no CUDA device"):
        lm.cuda.CUDAGraph()


@emulated
def test_the_order_holds_for_work_that_starts_as_late_as_it_may():
    environment = {**os.environ, "LAMELLA_EMULATION_DEFERRED": "1"}
    tests = "anew or training or keeps or share"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", tests, __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "4 passed" in done.stdout, done.stdout
