"""Random programs of operations, views, writes in place, modes, layers and hooks, beside a model that is written anew.

The model knows memory and nothing of a tape: each place holds a value and its derivatives along all inputs, and an
alias is a list of places and whether it follows the tape. A program may be refused; it may not be wrong. For more
programs than the test has: `python tests/python/autograd/test_random_programs.py COUNT [FIRST]`.
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

Array = np.ndarray[Any, Any]
SHAPE = (3, 4)
INPUTS = 14  # the elements of a matrix, and two numbers

# Views of a (3, 4) tensor by places: each works on a tensor and on an array.
VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x[1],
    lambda x: x[1:],
    lambda x: x[:, ::-2],
    lambda x: x[2, 1, ...],
    lambda x: x[:, None, 1:3],
    lambda x: x.T,
    lambda x: x.reshape(4, 3),
    lambda x: x.reshape(12)[2:9],
    lambda x: x.T[1:3, ::2],
    lambda x: x[...],
    lambda x: list(x)[2],
    lambda x: (
        lm.sliding_window(x, 1, 2, 1) if isinstance(x, lm.Tensor) else np.stack([x[:, 0:2], x[:, 1:3], x[:, 2:4]], 1)
    ),
    lambda x: lm.sliding_window(x, 0, 2, 1) if isinstance(x, lm.Tensor) else np.stack([x[:2].T, x[1:].T], 0),
    lambda x: lm.broadcast_to(x, (2, 3, 4)) if isinstance(x, lm.Tensor) else np.stack([x, x]),
]


class Memory:
    """Values and derivatives of the elements of one storage."""

    def __init__(self, values: Array, slopes: Array) -> None:
        self.values = values
        self.slopes = slopes
        # Written through detach(): a gradient that is asked for is an error.
        self.lost = False


class Alias:
    """A tensor of the model beside the library's."""

    def __init__(self, tensor: lm.Tensor, memory: Memory, places: Array, follows: bool, detached: bool = False) -> None:
        self.tensor = tensor
        self.memory = memory
        self.places = places
        self.follows = follows
        self.detached = detached

    def read(self, recording: bool = True) -> tuple[Array, Array]:
        """Values and slopes as an operation sees them."""
        slopes = self.memory.slopes[self.places]
        return self.memory.values[self.places], slopes if self.follows and recording else np.zeros_like(slopes)


class Twice(lm.PyLayer):
    """A layer that saves nothing."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        dy.mul_(2)  # of no concern to others
        return dy


class Square(lm.PyLayer):
    """A layer that saves its input and its output, and keeps both."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        y = x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        x, _ = ctx.saved_tensor()
        return 2 * x * dy


class TwiceInPlace(lm.PyLayer):
    """A layer that writes into its input and says so."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        return dy * 2


class Program:
    """One program, run on the library and on the model step by step."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.recording = True
        values = np.random.default_rng(seed).uniform(0.5, 1.5, INPUTS)
        eye = np.eye(INPUTS)
        self.leaves = [
            lm.asarray(values[:12].reshape(SHAPE), copy=True),
            *(lm.tensor(v, dtype="float64") for v in values[12:]),
        ]
        for leaf in self.leaves:
            leaf.stop_gradient = False
        matrix, *numbers = self.leaves
        self.numbers = [
            Alias(t, Memory(values[12 + i : 13 + i], eye[12 + i : 13 + i]), np.array(0), True)
            for i, t in enumerate(numbers)
        ]
        leaf = Alias(matrix, Memory(values[:12].copy(), eye[:12]), np.arange(12).reshape(SHAPE), True)
        self.log: list[str] = []
        # The leaf itself is not written to: its copy is.
        self.aliases = [self.fresh(matrix * 1, *leaf.read())]
        plain = lm.asarray(values[:12].reshape(SHAPE) + 1, copy=True)
        self.aliases.append(
            Alias(plain, Memory(values[:12] + 1, np.zeros((12, INPUTS))), np.arange(12).reshape(SHAPE), True)
        )

    def fresh(self, tensor: lm.Tensor, values: Array, slopes: Array) -> Alias:
        """A new tensor with memory of its own."""
        kept = slopes if self.recording else np.zeros_like(slopes)
        places = np.arange(values.size).reshape(values.shape)
        return Alias(tensor, Memory(values.reshape(-1).copy(), kept.reshape(-1, INPUTS).copy()), places, True)

    def pick(self) -> Alias:
        """Any alias."""
        return self.draw.choice(self.aliases)

    def whole(self) -> Alias:
        """One of the common shape."""
        return self.draw.choice([a for a in self.aliases if a.places.shape == SHAPE])

    def step(self) -> None:
        """Does one thing."""
        kinds = [
            self.operate,
            self.operate,
            self.view,
            self.view,
            self.view,
            self.write,
            self.write,
            self.write,
            self.off,
        ]
        self.draw.choice(kinds)()

    def operate(self) -> None:
        """A result of an operation, perhaps with a hook."""
        a, number = self.whole(), self.draw.choice(self.numbers)
        (va, sa), (vn, sn) = a.read(self.recording), number.read(self.recording)
        kind = self.draw.choice(["add", "multiply", "sin", "self", "twice", "square", "pair"])
        self.log.append(kind)
        if kind == "add":
            result = self.fresh(a.tensor + number.tensor, va + vn, sa + sn)
        elif kind == "multiply":
            result = self.fresh(a.tensor * number.tensor, va * vn, sa * vn + va[..., None] * sn)
        elif kind == "sin":
            result = self.fresh(lm.sin(a.tensor), np.sin(va), np.cos(va)[..., None] * sa)
        elif kind == "self":
            result = self.fresh(a.tensor * a.tensor, va * va, 2 * va[..., None] * sa)
        elif kind == "twice":
            result = self.fresh(Twice.apply(a.tensor), 2 * va, 2 * sa)
        elif kind == "square":
            result = self.fresh(Square.apply(a.tensor), va * va, 2 * va[..., None] * sa)
        else:
            b = self.whole()
            vb, sb = b.read(self.recording)
            result = self.fresh(a.tensor + 3 * b.tensor, va + 3 * vb, sa + 3 * sb)
        if not result.tensor.stop_gradient and self.draw.random() < 0.4:
            scale = self.draw.choice([0.5, 2.0, -1.0])
            if self.draw.random() < 0.5:
                result.tensor.register_hook(lambda g: g * scale)
            else:
                result.tensor.register_hook(lambda g: g.mul_(scale) is None or None)
            result.memory.slopes *= scale
            self.log.append(f"hook {scale}")
        if self.draw.random() < 0.2:
            result.tensor.retain_grad() if not result.tensor.stop_gradient else None
        self.aliases.append(result)

    def view(self) -> None:
        """A view, which follows where recording is on."""
        a = self.whole()
        number = self.draw.randrange(len(VIEWS))
        self.log.append(f"view {number} of {self.aliases.index(a)}")
        view = VIEWS[number]
        self.aliases.append(Alias(view(a.tensor), a.memory, view(a.places), a.follows and self.recording, a.detached))

    def off(self) -> None:
        """A few steps in which nothing is recorded, or an alias by detach()."""
        mode = self.draw.choice(["no_grad", "set_grad_enabled", "detach"])
        self.log.append(mode)
        if mode == "detach":
            a = self.pick()
            self.aliases.append(Alias(a.tensor.detach(), a.memory, a.places, False, detached=True))
            return
        with contextlib.ExitStack() as stack:
            stack.enter_context(lm.no_grad() if mode == "no_grad" else lm.set_grad_enabled(False))
            before, self.recording = self.recording, False
            for _ in range(self.draw.randint(1, 2)):
                self.draw.choice([self.view, self.write, self.operate])()
            self.recording = before
        self.log.append("end")

    def write(self) -> None:
        """A write in place by a constant, a number with a gradient, or another tensor."""
        a = self.pick()
        number = self.draw.choice(self.numbers)
        kind = self.draw.choice(
            ["mul", "add", "fill", "set", "mul number", "add number", "set part", "copy", "mask", "layer"]
        )
        self.log.append(f"{kind} into {self.aliases.index(a)}")
        values, slopes = a.read()
        vn, sn = number.read(self.recording)
        x = a.tensor
        change = np.ones(values.shape, dtype=bool)
        if kind == "mul":
            x.mul_(3.0)
            values, slopes = values * 3, slopes * 3
        elif kind == "add":
            x += 1.5
            values = values + 1.5
        elif kind == "fill":
            x.fill_(0.5)
            values, slopes = np.full_like(values, 0.5), np.zeros_like(slopes)
        elif kind == "set":
            x[...] = number.tensor
            values, slopes = np.full_like(values, vn), np.broadcast_to(sn, slopes.shape)
        elif kind == "mul number":
            x *= number.tensor
            values, slopes = values * vn, slopes * vn + values[..., None] * sn
        elif kind == "add number":
            x.add_(number.tensor)
            values, slopes = values + vn, slopes + sn
        elif kind == "set part" and a.places.ndim:
            x[0] = 2.0
            change[...] = False
            change[0] = True
            values, slopes = np.full_like(values, 2.0), np.zeros_like(slopes)
        elif kind == "mask":
            change = np.arange(values.size).reshape(values.shape) % 2 == 0
            x.masked_fill_(lm.asarray(change), number.tensor)
            values, slopes = np.full_like(values, vn), np.broadcast_to(sn, slopes.shape)
        elif kind == "layer":
            TwiceInPlace.apply(x)
            values, slopes = values * 2, slopes * 2
        else:
            sources = [b for b in self.aliases if b.places.shape == a.places.shape and b.memory is not a.memory]
            if not sources:
                self.log[-1] += " (nothing)"
                return
            source = self.draw.choice(sources)
            x.copy_(source.tensor)
            values, slopes = source.read(self.recording)
        written = a.places[change]
        assert len(set(written.tolist())) == written.size, "a write into memory that overlaps itself"
        a.memory.values[a.places[change]] = values[change]
        if self.recording:
            if not a.follows:
                # Nothing on the tape may share the memory, and nothing with a gradient be written.
                past = bool((a.memory.slopes[a.places[change]] != 0).any())
                assert not past or a.detached, "a write past the tape"
                a.memory.lost |= past
                assert not (slopes[change] != 0).any(), "a gradient written past the tape"
                return
            a.memory.slopes[a.places[change]] = slopes[change]
            if len(set(a.places[change].ravel().tolist())) == a.memory.values.size and kind in ("fill", "set", "copy"):
                a.memory.lost = False

    def check(self) -> None:
        """Values and gradients of all aliases."""
        total, expected, value = lm.zeros([], dtype="float64"), np.zeros(INPUTS), 0.0
        for i, a in enumerate(self.aliases):
            weights = np.cos(np.arange(a.places.size) + i).reshape(a.places.shape)
            total = total + (a.tensor * lm.asarray(weights)).sum()
            values, slopes = a.read()
            value += float((values * weights).sum())
            expected += (slopes * weights[..., None]).reshape(-1, INPUTS).sum(0)
        np.testing.assert_allclose(total.item(), value, rtol=1e-9, atol=1e-9)
        if total.stop_gradient:
            np.testing.assert_array_equal(expected, 0)
            return
        total.backward()
        assert not any(a.memory.lost and (a.read()[1] != 0).any() for a in self.aliases), "a gradient of what was lost"
        grads = [np.zeros(tuple(x.shape)) if x.grad is None else x.grad.numpy() for x in self.leaves]
        got = np.concatenate([g.reshape(-1) for g in grads])
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


def run(seed: int) -> str:
    """ "right", or the operation that refused the program; AssertionError for a wrong one."""
    program = Program(seed)
    try:
        for _ in range(program.draw.randint(3, 10)):
            program.step()
        program.check()
    except RuntimeError as error:
        text = str(error)
        if not text.startswith("[") or "clone()" not in text:
            raise AssertionError(f"program {seed} {program.log}: {text}") from error
        return text.split("]")[0][1:]
    except AssertionError as error:
        raise AssertionError(f"program {seed} {program.log}: {error}") from error
    return "right"


@pytest.mark.parametrize("block", range(20))
def test_programs(block: int) -> None:
    """Each is right, or refused by a message with a remedy; enough of them are right."""
    outcomes = Counter(run(seed) for seed in range(100 * block, 100 * (block + 1)))
    assert outcomes["right"] >= 25, outcomes


def main() -> None:
    """Runs COUNT programs."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    outcomes: Counter[str] = Counter()
    wrong = 0
    for seed in range(first, first + count):
        try:
            outcomes[run(seed)] += 1
        except AssertionError as error:
            wrong += 1
            print(error)
    print(dict(outcomes.most_common()), f"wrong: {wrong}")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
