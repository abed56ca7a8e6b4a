"""CUDA's devices, streams, events and memory: in a build without them, and in the emulation."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import lamella as lm
from support import emulation

emulated = pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA")
without = pytest.mark.skipif(lm.cuda.is_available(), reason="there is a CUDA device")


# Names of devices
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ("cpu", ValueError, "device is a CUDA device, such as 'cuda:1', not 'cpu'"),
        ("cuda:x", ValueError, "not 'cuda:x'"),
        (1.5, TypeError, "device is an index or a name such as 'cuda:1', not float"),
        (True, TypeError, "not bool"),
    ],
)
def test_what_names_no_device_is_refused(given, error, text):
    for function in (lm.cuda.Stream, lm.cuda.mem_get_info, lm.cuda.set_device, lm.cuda.current_stream):
        with pytest.raises(error, match=text):
            function(given)


@without
@pytest.mark.parametrize(
    "function",
    [
        lm.cuda.Stream,
        lm.cuda.Event,
        lm.cuda.current_stream,
        lm.cuda.mem_get_info,
        lm.cuda.get_device_properties,
        lm.cuda.memory_allocated,
        lambda: lm.cuda.set_device(0),
        lambda: lm.cuda.synchronize(0),
    ],
)
def test_without_a_device_there_is_an_error(function):
    with pytest.raises(RuntimeError, match="cuda"):
        function()
    assert lm.cuda.current_device() == 0
    lm.cuda.synchronize()
    lm.cuda.empty_cache()


@pytest.mark.parametrize("mode", ["loud", 3, None, -1])
def test_modes_that_are_none(mode):
    with pytest.raises(ValueError, match="mode is 'default', 'warn' or 'error'"):
        lm.cuda.set_sync_debug_mode(mode)
    assert lm.cuda.get_sync_debug_mode() == 0


# Devices
# ---------------------------------------------------------------------------------------------------------------------


@emulated
def test_the_current_device_is_a_threads_own():
    seen = []
    with lm.cuda.device(1) as scope:
        assert (scope.idx, lm.cuda.current_device()) == (1, 1)
        assert lm.ones([2], device="cuda").device == "cuda:1"
        thread = threading.Thread(target=lambda: seen.append(lm.cuda.current_device()))
        thread.start()
        thread.join()
        with lm.cuda.device("cuda:0"):
            assert lm.ones([2], device="cuda").device == "cuda:0"
        with lm.cuda.device(None):
            assert lm.cuda.current_device() == 1
    assert seen == [0] and lm.cuda.current_device() == 0
    for index in (2, -1, 1000):
        with pytest.raises(RuntimeError, match="there is no cuda:"):
            lm.cuda.set_device(index)


@emulated
def test_properties():
    properties = lm.cuda.get_device_properties("cuda:1")
    assert properties.total_memory == lm.cuda.mem_get_info(1)[1] > 0
    assert lm.cuda.get_device_capability(1) == (properties.major, properties.minor)
    assert lm.cuda.get_device_name() == properties.name != ""
    with pytest.raises(RuntimeError, match="there is no cuda:7"):
        lm.cuda.get_device_properties(7)


@emulated
def test_memory_is_counted():
    lm.cuda.reset_peak_memory_stats()
    before = lm.cuda.memory_allocated()
    x = lm.ones([1 << 16], device="cuda")
    assert lm.cuda.memory_allocated() - before >= x.nbytes
    del x
    assert lm.cuda.memory_allocated() == before
    assert lm.cuda.max_memory_allocated() - before >= 1 << 18
    stats = lm.cuda.memory_stats()
    assert stats["reserved_bytes.current"] == lm.cuda.memory_reserved() >= stats["allocated_bytes.current"] == before


# Streams and events
# ---------------------------------------------------------------------------------------------------------------------


@emulated
def test_work_goes_to_the_current_stream():
    first, second = lm.cuda.Stream(), lm.cuda.Stream("cuda:0", priority=-1)
    assert first != second and len({first, second}) == 2
    assert lm.cuda.current_stream() == lm.cuda.default_stream() != first
    with lm.cuda.stream(first):
        assert lm.cuda.current_stream() == first
        with second:
            assert lm.cuda.current_stream() == second
        with lm.cuda.stream(None):
            assert lm.cuda.current_stream() == first
    lm.cuda.set_stream(first)
    assert lm.cuda.current_stream() == first
    lm.cuda.set_stream(lm.cuda.default_stream())
    assert lm.cuda.current_stream() == lm.cuda.default_stream()
    assert repr(first).startswith("Stream(device='cuda:0'")


@emulated
def test_streams_wait_for_each_other():
    stream = lm.cuda.Stream()
    x = lm.rand([1000], device="cuda")
    stream.wait_stream(lm.cuda.current_stream())
    with stream:
        y = x * 2 + 1
    lm.cuda.current_stream().wait_stream(stream)
    z = y + x
    lm.cuda.synchronize()
    np.testing.assert_allclose(z.to("cpu").numpy(), x.to("cpu").numpy() * 3 + 1, rtol=1e-6)
    assert stream.query() and lm.cuda.current_stream().query()


@emulated
def test_the_order_holds_for_work_that_starts_as_late_as_it_may():
    """Here the tests of streams would find a missing order: elsewhere work is done when it is queued."""
    environment = {**os.environ, "LAMELLA_EMULATION_DEFERRED": "1"}
    tests = "wait_for_each_other or another_stream_uses"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", tests, __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout


@emulated
def test_events():
    begin, end, idle = lm.cuda.Event(enable_timing=True), lm.cuda.Event(enable_timing=True), lm.cuda.Event()
    assert begin.query()
    with pytest.raises(ValueError, match="recorded first"):
        begin.elapsed_time(end)
    begin.record()
    x = lm.ones([100], device="cuda")
    end.record()
    end.synchronize()
    assert begin.elapsed_time(end) >= 0 and end.query()
    with pytest.raises(ValueError, match="enable_timing"):
        begin.elapsed_time(idle)
    there = lm.cuda.Event(enable_timing=True, device=1)
    with pytest.raises(ValueError, match="cuda:0 and cuda:1"):
        begin.elapsed_time(there)
    idle.wait()
    lm.cuda.Stream().wait_event(end)
    assert x.to("cpu").tolist() == [1.0] * 100


@emulated
def test_streams_of_other_devices_are_refused():
    stream = lm.cuda.Stream(1)
    with pytest.raises(ValueError, match="no stream of cuda:0"):
        lm.cuda.Event(device=0).record(stream)
    with pytest.raises(ValueError, match="the tensor is on cuda:0, the stream belongs to cuda:1"):
        stream.record_stream(lm.ones([2], device="cuda:0"))
    made = lm.cuda.Stream._of("cuda:0", 12345)
    with pytest.raises(ValueError, match="no stream of cuda:0"):
        made.synchronize()


@emulated
def test_memory_that_another_stream_uses_is_not_reused_before_it_is_done():
    stream = lm.cuda.Stream()
    for _ in range(20):
        x = lm.full([5000], 3.0, device="cuda")
        stream.wait_stream(lm.cuda.current_stream())
        with stream:
            y = x * 2
        stream.record_stream(x)
        del x
        gc.collect()
        overwritten = lm.full([5000], -1.0, device="cuda")
        stream.synchronize()
        assert y.to("cpu").tolist() == [6.0] * 5000
        del overwritten


#: Results of work on several streams, none of which the host waits for before the end.
PROGRAM = """
import gc
import lamella as lm

stream = lm.cuda.Stream()
for _ in range(10):
    x = lm.full([3000], 2.0, device="cuda")
    x.stop_gradient = False
    stream.wait_stream(lm.cuda.current_stream())
    with stream:
        y = lm.exp(x * 0.5) * x  # saves what belongs to the stream
    y.backward(lm.ones([3000], device="cuda"))
    del y
    gc.collect()
    with stream:  # memory that was freed is taken again at once
        filled = [lm.full([3000], -1.0, device="cuda") for _ in range(6)]
    gradient = x.grad
    lm.cuda.current_stream().synchronize()
    expected = 2.718281828 * (1 + 0.5 * 2)
    assert max(abs(g - expected) for g in gradient.to("cpu").tolist()) < 1e-5
    lm.cuda.synchronize()
"""


@emulated
@pytest.mark.parametrize("deferred", ["0", "1"])
def test_a_pass_waits_for_the_streams_of_the_forward_pass(deferred):
    environment = {**os.environ, "LAMELLA_EMULATION_DEFERRED": deferred}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@emulated
def test_waits_are_told():
    x = lm.ones([3], device="cuda")
    try:
        lm.cuda.set_sync_debug_mode("error")
        y = (x * 2).sum()
        with pytest.raises(RuntimeError, match=r"\[copy\] the host waits for a device"):
            y.item()
        lm.cuda.set_sync_debug_mode("warn")
        with pytest.warns(UserWarning, match="the host waits for a device"):
            assert y.item() == 6.0
        assert lm.cuda.get_sync_debug_mode() == 1
    finally:
        lm.cuda.set_sync_debug_mode("default")


@emulated
def test_a_training_step_does_not_wait():
    net = lm.nn.Sequential(lm.nn.Linear(8, 16), lm.nn.LayerNorm(16), lm.nn.GELU(), lm.nn.Linear(16, 4)).to("cuda")
    optimizer = lm.optim.AdamW(net.parameters())
    x, target = lm.rand([5, 8], device="cuda"), lm.rand([5, 4], device="cuda")
    for step in range(3):
        if step == 1:
            lm.cuda.set_sync_debug_mode("error")
        try:
            optimizer.zero_grad()
            loss = lm.nn.functional.mse_loss(net(x), target)
            loss.backward()
            optimizer.step()
        finally:
            if step == 2:
                lm.cuda.set_sync_debug_mode("default")
    assert np.isfinite(loss.item())
