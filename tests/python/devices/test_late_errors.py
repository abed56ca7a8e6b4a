"""Errors in elements on a device, which are raised when the host next waits for it, and steps that never wait."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from support import emulation

pytestmark = pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA")

#: Defines x [5, 3], an index i with a number that x does not have, and j, a good one, on the device, and lengths.
SETUP = """
import lamella as lm, numpy as np
F = lm.nn.functional
x = lm.reshape(lm.arange(15, dtype="float32"), [5, 3]).to("cuda")
i = lm.tensor([1, 7, 0], device="cuda")
j = lm.tensor([1, 4, 0], device="cuda")
length = lambda n: lm.tensor([n], device="cpu")
"""

#: Calls, with the error that they make and a part of its text.
CALLS = {
    "x[i]": ("IndexError", "[index] index 7 is out of range for axis 0 of size 5"),
    "x[i, i]": ("IndexError", "[index] index 7 is out of range"),
    "lm.take(x, i, axis=0)": ("IndexError", "[take] index 7 is out of range for axis 0 of size 5"),
    "lm.take_along_axis(x, lm.reshape(i, [1, 3]), axis=0)": ("IndexError", "[take_along_axis] index 7"),
    "lm.gather(x, 1, lm.reshape(i, [3, 1]))": ("IndexError", "[gather] index 7 is out of range for axis 1 of size 3"),
    "lm.index_select(x, 0, i)": ("IndexError", "[index_select] index 7"),
    "lm.index_add(x, 0, i, lm.ones([3, 3], device='cuda'))": ("IndexError", "[index_add] index 7"),
    "lm.scatter_add(x, 0, lm.reshape(i, [1, 3]), x[:1])": ("IndexError", "[scatter_add] index 7"),
    "lm.scatter(x, 0, lm.reshape(i, [1, 3]), 2.0)": ("IndexError", "[scatter] index 7"),
    "lm.one_hot(i, 5)": ("IndexError", "[one_hot] index 7"),
    "F.embedding(i, x)": ("IndexError", "[embedding] index 7 is out of range for axis 0 of size 5"),
    "F.cross_entropy(x[:3], lm.tensor([0, 3, 1], device='cuda'))": (
        "IndexError",
        "[cross_entropy] index 3 is out of range for axis 1 of size 3",
    ),
    "F.cross_entropy(x[:3], lm.tensor([0, 3, -100], device='cuda'), weight=x[0])": (
        "IndexError",
        "[cross_entropy] index 3",
    ),
    "F.ctc_loss(lm.reshape(x, [5, 1, 3]), lm.reshape(i, [1, 3]), length(5), length(2))": (
        "IndexError",
        "[ctc_loss] targets must be among the 3 classes, got 7",
    ),
    "F.nll_loss(x[:3], lm.tensor([0, 5, 1], device='cuda'))": ("IndexError", "[nll_loss] index 5"),
    "F.binary_cross_entropy(x, x)": ("ValueError", "[binary_cross_entropy] all elements of input must lie in [0, 1]"),
    "F.gaussian_nll_loss(x, x, x - 1)": ("ValueError", "[gaussian_nll_loss] var cannot be negative"),
}


def run(program: str, *, blocking: bool = False, deferred: bool = True) -> None:
    """Runs a program in which launches return at once, and kernels run as late as they may if `deferred`."""
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_LAUNCH_BLOCKING"}
    environment["LAMELLA_EMULATION_DEFERRED"] = str(int(deferred))
    if blocking:
        environment["CUDA_LAUNCH_BLOCKING"] = "1"
    done = subprocess.run(
        [sys.executable, "-c", SETUP + textwrap.dedent(program)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("deferred", [False, True])
def test_errors_are_raised_once_when_the_host_waits(deferred):
    run(
        f"""
        for call, (error, text) in {CALLS!r}.items():
            for wait in (lm.cuda.synchronize, x.sum().item, lm.cuda.current_stream().synchronize):
                lm.cuda.set_sync_debug_mode("error")
                y = eval(call)  # neither waits nor raises
                lm.cuda.set_sync_debug_mode("default")
                try:
                    wait()
                except (IndexError, ValueError) as raised:
                    assert type(raised).__name__ == error, (call, raised)
                    assert text in str(raised) and "CUDA_LAUNCH_BLOCKING=1" in str(raised), (call, raised)
                else:
                    raise AssertionError(f"{{call}}: nothing was raised")
                lm.cuda.synchronize()
                assert np.array_equal(x[j].numpy(), x.numpy()[[1, 4, 0]]), call  # the device can be used on
        """,
        deferred=deferred,
    )


def test_blocking_launches_raise_in_the_call():
    run(
        f"""
        for call, (error, text) in {CALLS!r}.items():
            try:
                eval(call)
            except (IndexError, ValueError) as raised:
                assert type(raised).__name__ == error and text in str(raised), (call, raised)
                assert "CUDA_LAUNCH_BLOCKING" not in str(raised), raised
            else:
                raise AssertionError(f"{{call}}: nothing was raised")
            lm.cuda.synchronize()
        """,
        blocking=True,
        deferred=False,
    )


def test_writes_by_a_wrong_index_leave_other_elements():
    run(
        """
        def written(write):
            y = x.clone()
            write(y)
            try:
                lm.cuda.synchronize()
            except IndexError:
                return y.numpy()
            raise AssertionError("nothing was raised")

        def put(y): y[i] = 50.0
        def put_rows(y): y[i] = lm.full([3, 3], 50.0, device="cuda")
        def add(y): y.index_add_(0, i, lm.full([3, 3], 50.0, device="cuda"))
        def scatter(y): y.scatter_(0, lm.reshape(i, [1, 3]), 50.0)
        for write in (put, put_rows, add, scatter):
            got = written(write)
            assert np.array_equal(got[2:], x.numpy()[2:]), (write.__name__, got)
        """
    )


def test_a_graph_checks_in_each_replay():
    run(
        """
        table, numbers = x.clone(), j.clone()
        F.embedding(numbers, table)  # the first call takes memory that a capture may not
        graph = lm.cuda.CUDAGraph()
        with lm.cuda.graph(graph):
            y = F.embedding(numbers, table)
        graph.replay()
        assert np.array_equal(y.numpy(), x.numpy()[[1, 4, 0]])
        numbers.copy_(i)
        graph.replay()
        try:
            lm.cuda.synchronize()
        except IndexError as raised:
            assert "[embedding] index 7" in str(raised)
        else:
            raise AssertionError("nothing was raised")
        """
    )


#: Training steps: what they need, and the step.
STEPS = {
    "digits": (
        """
        net = lm.nn.Sequential(lm.nn.Linear(64, 32), lm.nn.ReLU(), lm.nn.Dropout(0.2), lm.nn.Linear(32, 10)).to("cuda")
        data, labels = lm.rand([16, 64], device="cuda"), lm.randint(0, 10, [16], device="cuda")
        loss_of = lambda: F.cross_entropy(net(data), labels)
        """
    ),
    "convolution": (
        """
        net = lm.nn.Sequential(lm.nn.Conv2d(1, 4, 3), lm.nn.BatchNorm2d(4), lm.nn.ReLU(), lm.nn.MaxPool2d(2),
                               lm.nn.Flatten(), lm.nn.Linear(36, 5)).to("cuda")
        data, labels = lm.rand([4, 1, 8, 8], device="cuda"), lm.randint(0, 5, [4], device="cuda")
        loss_of = lambda: F.cross_entropy(net(data), labels, label_smoothing=0.1)
        """
    ),
    "gpt": (
        """
        class GPT(lm.nn.Module):
            def __init__(self):
                super().__init__()
                self.tokens, self.places = lm.nn.Embedding(11, 16), lm.nn.Embedding(6, 16)
                self.norm, self.qkv, self.out = lm.nn.LayerNorm(16), lm.nn.Linear(16, 48), lm.nn.Linear(16, 16)
                self.head = lm.nn.Linear(16, 11)

            def forward(self, tokens):
                n, t = tokens.shape
                h = self.tokens(tokens) + self.places(lm.arange(t, device="cuda"))
                q, k, v = (lm.permute_dims(lm.reshape(part, [n, t, 2, 8]), [0, 2, 1, 3])
                           for part in lm.split(self.qkv(self.norm(h)), 3, axis=-1))
                a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                h = h + self.out(lm.reshape(lm.permute_dims(a, [0, 2, 1, 3]), [n, t, 16]))
                return self.head(F.gelu(h))

        net = GPT().to("cuda")
        data, labels = lm.randint(0, 11, [3, 6], device="cuda"), lm.randint(0, 11, [3, 6], device="cuda")
        loss_of = lambda: F.cross_entropy(lm.reshape(net(data), [18, 11]), lm.reshape(labels, [18]), ignore_index=3)
        """
    ),
    "recurrent": (
        """
        words, net, head = (x.to("cuda") for x in (lm.nn.Embedding(11, 8), lm.nn.LSTM(8, 8), lm.nn.Linear(8, 11)))
        data, labels = lm.randint(0, 11, [5, 2], device="cuda"), lm.randint(0, 11, [5, 2], device="cuda")
        loss_of = lambda: F.cross_entropy(lm.reshape(head(net(words(data))[0]), [10, 11]), lm.reshape(labels, [10]))
        """
    ),
    "adversary": (
        """
        net = lm.nn.Sequential(lm.nn.Linear(8, 1), lm.nn.Sigmoid()).to("cuda")
        data, labels = lm.rand([4, 8], device="cuda"), lm.ones([4, 1], device="cuda")
        loss_of = lambda: F.binary_cross_entropy(net(data), labels)
        """
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_training_do_not_wait(name):
    run(
        textwrap.dedent(STEPS[name])
        + textwrap.dedent(
            """
            optimizer = lm.optim.AdamW(net.parameters())
            schedule = lm.optim.CosineAnnealingLR(optimizer, 10)
            losses = []
            for step in range(4):
                lm.cuda.set_sync_debug_mode("error" if step > 0 else "default")  # the first one makes the state
                optimizer.zero_grad()
                loss = loss_of()
                loss.backward()
                lm.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                losses.append(loss.detach())
            lm.cuda.set_sync_debug_mode("default")
            assert all(np.isfinite(loss.item()) for loss in losses)
            """
        )
    )
