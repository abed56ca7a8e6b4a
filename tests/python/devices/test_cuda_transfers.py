"""Pinned memory, copies that the host does not wait for, and memory that other libraries show or are shown."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import lamella as lm
from support import emulation

emulated = pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA")


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.mark.skipif(lm.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_nothing_is_pinned():
    x = lm.ones([3])
    with pytest.raises(RuntimeError, match=r"\[pin_memory\]"):
        x.pin_memory()
    assert not x.is_pinned() and x.to("cpu", non_blocking=True) is x
    assert not hasattr(x, "__cuda_array_interface__")


@emulated
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int8", "bool", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (40, 50)])
def test_pinned_memory_holds_the_same(shape, dtype, rng):
    x = lm.asarray(rng.normal(size=shape) * 3, device="cpu").astype(dtype)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and not x.is_pinned() and pinned.pin_memory().is_pinned()
    assert (pinned.dtype, pinned.shape, pinned.device) == (x.dtype, x.shape, "cpu")
    assert pinned.tolist() == x.tolist()
    assert pinned.T.is_pinned() if pinned.ndim == 2 else True
    with pytest.raises(RuntimeError, match="cuda:0"):
        x.to("cuda").pin_memory()


@emulated
def test_copies_of_pinned_memory_do_not_wait(rng):
    given = rng.normal(size=(30, 20)).astype("float32")
    pinned, plain = lm.asarray(given, device="cpu").pin_memory(), lm.asarray(given, device="cpu")
    for x, waits in ((pinned, 0), (plain, 1)):
        with emulation.counted() as counts:
            there = x.to("cuda", non_blocking=True)
        assert counts.get("waits", 0) == waits
        np.testing.assert_array_equal(there.numpy(), given)
    with emulation.counted() as counts:
        back = (there * 2).to("cpu", non_blocking=True)
    assert back.is_pinned() and counts.get("waits", 0) == 0
    lm.cuda.synchronize()
    np.testing.assert_array_equal(back.numpy(), given * 2)
    lm.cuda.set_sync_debug_mode("error")
    try:
        pinned.cuda(non_blocking=True)
        with pytest.raises(RuntimeError, match="waits for a device"):
            pinned.cuda()
    finally:
        lm.cuda.set_sync_debug_mode("default")


@emulated
def test_pinned_memory_is_not_reused_before_its_copy_is_done(rng):
    given = rng.normal(size=(8, 64)).astype("float32")
    there = []
    for row in given:
        there.append(lm.asarray(row, device="cpu").pin_memory().to("cuda", non_blocking=True))  # goes at once
    np.testing.assert_array_equal([x.numpy() for x in there], given)


@emulated
def test_the_order_holds_for_work_that_starts_as_late_as_it_may():
    environment = {**os.environ, "LAMELLA_EMULATION_DEFERRED": "1"}
    tests = "do_not_wait or not_reused or other_streams"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", tests, __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout


@emulated
def test_batches_come_pinned(rng):
    samples = [(lm.asarray(rng.normal(size=3), device="cpu"), {"there": lm.ones([2], device="cuda")}) for _ in range(6)]
    loader = lm.data.DataLoader(samples, batch_size=4, pin_memory=True)
    for x, parts in loader:
        assert x.is_pinned() and parts["there"].device == "cuda:0"
    assert not next(iter(lm.data.DataLoader(samples, batch_size=4)))[0].is_pinned()


@emulated
def test_saved_tensors_wait_in_pinned_memory(rng):
    x = lm.asarray(rng.normal(size=(4, 5)), device="cuda")
    x.stop_gradient = False
    with lm.autograd.save_on_cpu(pin_memory=True), emulation.counted() as counts:
        y = (lm.exp(x) * x).sum()
    assert counts.get("waits", 0) == 0
    y.backward()
    given = x.detach().numpy()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(given) * (given + 1), rtol=1e-12)


# Memory of other libraries
# ---------------------------------------------------------------------------------------------------------------------


class Shown:
    """An array of another library, which has nothing but the interface."""

    def __init__(self, interface):
        self._interface = interface

    @property
    def __cuda_array_interface__(self):
        return self._interface


@emulated
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64", "uint8", "bool", "float16", "bfloat16"])
def test_the_interface_shows_a_tensors_memory(dtype, rng):
    x = lm.asarray(rng.integers(0, 2, (4, 6)), device="cuda").astype(dtype)
    shown = x.__cuda_array_interface__
    assert (shown["version"], shown["shape"], shown["strides"], shown["stream"]) == (3, (4, 6), None, 1)
    assert shown["data"] == (x.data_ptr(), False)
    if dtype != "bfloat16":
        assert np.dtype(shown["typestr"]) == np.dtype(dtype)
    for part in (x, x.T, x[1:, ::2], x[:0]):
        again = lm.asarray(Shown(part.__cuda_array_interface__))
        assert (again.dtype, again.device, again.tolist()) == (part.dtype, "cuda:0", part.tolist())
    again = lm.asarray(Shown(shown))
    x.zero_()
    assert not again.astype("float32").any()


@emulated
def test_the_interface_names_the_current_stream_and_refuses_gradients():
    stream = lm.cuda.Stream(1)
    x = lm.ones([2], device="cuda:1")
    with lm.cuda.stream(stream):
        assert x.__cuda_array_interface__["stream"] == stream.cuda_stream
    x.stop_gradient = False
    with pytest.raises(RuntimeError, match="detach"):
        _ = x.__cuda_array_interface__
    with pytest.raises(AttributeError, match="on cpu"):
        _ = lm.ones([2], device="cpu").__cuda_array_interface__
    assert lm.asarray(Shown(x.detach().__cuda_array_interface__)).device == "cuda:1"


@emulated
@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"typestr": "<f3"}, TypeError, "no dtype corresponds to '<f3'"),
        ({"typestr": ">f4"}, TypeError, "'>f4'"),
        ({"stream": 0}, ValueError, "stream 0"),
        ({"mask": object()}, ValueError, "mask"),
        ({"data": 5}, TypeError, "'data'"),
        ({"data": None}, ValueError, "has no 'data'"),
        ({"data": (4096, False)}, ValueError, "not in a device's memory"),
        ({"strides": (3,)}, ValueError, "whole elements"),
        ({"strides": (4, 4)}, ValueError, "different lengths"),
        ({"shape": [2]}, TypeError, "'shape' is no tuple"),
    ],
)
def test_an_interface_that_is_none(change, error, text):
    x = lm.ones([2], device="cuda")
    with pytest.raises(error, match=text):
        lm.asarray(Shown({**x.__cuda_array_interface__, **change}))


@emulated
def test_memory_comes_from_other_streams_in_order():
    stream = lm.cuda.Stream()
    x = lm.zeros([100], device="cuda")
    stream.wait_stream(lm.cuda.current_stream())
    with lm.cuda.stream(stream):
        y = x + 3
        shown = Shown(y.__cuda_array_interface__)
        capsule = y.__dlpack__(stream=1)
    assert (lm.asarray(shown) + 1).tolist() == [4.0] * 100
    assert (lm.from_dlpack(capsule) * 2).tolist() == [6.0] * 100
    with lm.cuda.stream(stream):
        z = lm.from_dlpack(x) + 1
    lm.cuda.current_stream().wait_stream(stream)
    assert z.tolist() == [1.0] * 100
    for wrong in (0, -2):
        with pytest.raises(ValueError, match="expected -1, 1, 2"):
            x.__dlpack__(stream=wrong)
    with pytest.raises(ValueError, match="expected None"):
        lm.ones([2], device="cpu").__dlpack__(stream=1)
