"""inference_mode: a block whose tensors never come on the tape."""

import asyncio

import numpy as np
import pytest

import lamella as lm
from support.tensors import leaf
from support.threads import run_on_threads


def made_inside():
    with lm.inference_mode():
        return lm.ones(2) * 2


def test_blocks_nest():
    assert not lm.is_inference_mode_enabled()
    with lm.inference_mode():
        assert lm.is_inference_mode_enabled() and not lm.is_grad_enabled()
        with lm.inference_mode(mode=False):
            assert not lm.is_inference_mode_enabled() and lm.is_grad_enabled()
            assert not (leaf(1.0) * 2).stop_gradient
            with lm.inference_mode(True):
                assert lm.is_inference_mode_enabled()
        assert lm.is_inference_mode_enabled() and not lm.is_grad_enabled()
    assert not lm.is_inference_mode_enabled() and lm.is_grad_enabled()
    with lm.no_grad(), lm.inference_mode(False):
        assert not lm.is_grad_enabled()
    assert lm.autograd.inference_mode is lm.inference_mode


def test_one_object_entered_twice_and_left_by_an_exception():
    mode = lm.inference_mode()
    with mode:
        with lm.inference_mode(False), mode:
            assert lm.is_inference_mode_enabled()
        assert lm.is_inference_mode_enabled()
    with pytest.raises(KeyError), mode:
        raise KeyError
    mode.__exit__(None, None, None)
    assert not lm.is_inference_mode_enabled() and lm.is_grad_enabled()


def test_nothing_switches_recording_on_inside():
    x = leaf(1.0)
    with lm.inference_mode():
        for scope in (lm.enable_grad(), lm.set_grad_enabled(True)):
            with scope:
                assert not lm.is_grad_enabled() and (x * 2).stop_gradient and (x * 2).is_inference()
    assert lm.is_grad_enabled()


def test_which_tensors_are_made_inside():
    x = lm.ones(2)
    with lm.inference_mode():
        assert not x[:1].is_inference() and not x.detach().is_inference()
        assert (x * 2).is_inference() and (x * 2)[:1].is_inference() and lm.zeros(2).is_inference()
        assert lm.asarray([1.0]).is_inference() and lm.from_numpy(np.ones(2)).is_inference()
    inside = made_inside()
    assert inside.is_inference() and inside[:1].is_inference() and inside.detach().is_inference()
    assert not inside.clone().is_inference() and not (inside + 1).is_inference() and not x.is_inference()


def test_writes_in_place():
    inside = made_inside()
    for write in (
        lambda: inside.add_(1),
        lambda: inside.copy_(lm.ones(2)),
        lambda: inside.fill_(3),
        lambda: inside.zero_(),
        lambda: inside[:1].mul_(3),
        lambda: inside.__setitem__(0, 5.0),
        lambda: inside.__iadd__(1),
    ):
        with pytest.raises(RuntimeError, match="made in inference_mode cannot be changed in place outside"):
            write()
    assert inside.tolist() == [2, 2]
    with lm.inference_mode():
        inside.add_(1)
        inside[0] = 7
    assert inside.tolist() == [7, 3]
    x = lm.ones(2)
    with lm.inference_mode():
        x.add_(1)
    x.add_(1)
    assert x.tolist() == [3, 3] and x.inplace_version == 2


def test_they_are_read_but_not_saved():
    x, inside = leaf(1.0, 2.0), made_inside()
    (x + inside).sum().backward()
    assert x.grad.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        x * inside
    (x * inside.clone()).sum().backward()
    assert x.grad.tolist() == [3, 3]

    class Saves(lm.PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(y)
            return x * 1

        @staticmethod
        def backward(ctx, dy):
            return dy, None

    with pytest.raises(RuntimeError, match="inference_mode"):
        Saves.apply(x, inside)
    with lm.inference_mode():
        assert Saves.apply(x, inside).stop_gradient


def test_stop_gradient():
    inside = made_inside()
    with pytest.raises(RuntimeError, match="inference_mode"):
        inside.stop_gradient = False
    with pytest.raises(RuntimeError, match="inference_mode"):
        inside.requires_grad_()
    inside.stop_gradient = True
    with lm.inference_mode():
        parameter = lm.tensor([1.0], stop_gradient=False)
        assert not parameter.stop_gradient and (parameter * 2).stop_gradient


def test_a_pass_inside_makes_ordinary_tensors():
    x = leaf(1.0, 2.0)
    h = x * 3
    y = (h * h).sum()
    with lm.inference_mode():
        y.backward(retain_graph=True)
        y.backward(retain_graph=True, inputs=[h])
        (dx,) = lm.grad(y, [x], create_graph=True)
        x.sum()
    assert not x.grad.is_inference() and not h.grad.is_inference() and not dx.is_inference()
    assert lm.grad(dx.sum(), x).tolist() == [18, 18]
    x.grad.add_(1)


class TestDecorators:
    @pytest.mark.parametrize("decorator", [lm.inference_mode, lm.inference_mode(), lm.inference_mode(True)])
    def test_functions(self, decorator):
        @decorator
        def function(a, *, b):
            """Its text."""
            assert lm.is_inference_mode_enabled()
            return a + b

        assert function(1, b=2) == 3 and function.__name__ == "function" and function.__doc__ == "Its text."
        assert not lm.is_inference_mode_enabled()

    def test_false(self):
        @lm.inference_mode(False)
        def function():
            return lm.is_inference_mode_enabled(), lm.is_grad_enabled()

        with lm.inference_mode():
            assert function() == (False, True)
            assert lm.is_inference_mode_enabled()

    def test_generators(self):
        @lm.inference_mode()
        def generate():
            yield lm.is_inference_mode_enabled()
            yield lm.is_inference_mode_enabled()

        steps = generate()
        assert next(steps) and not lm.is_inference_mode_enabled() and next(steps)

        @lm.inference_mode()
        def echo():
            got = None
            while True:
                try:
                    got = yield got, lm.is_inference_mode_enabled()
                except ValueError:
                    got = "caught"

        steps = echo()
        assert next(steps) == (None, True) and steps.send(1) == (1, True)
        assert steps.throw(ValueError()) == ("caught", True) and not lm.is_inference_mode_enabled()
        steps.close()

    @pytest.mark.parametrize("mode", [True, False])
    def test_the_other_modes_too(self, mode):
        for make in (lambda: lm.set_grad_enabled(mode), lm.enable_grad if mode else lm.no_grad):

            @make()
            def generate():
                yield lm.is_grad_enabled()

            @make()
            async def run():
                await asyncio.sleep(0)
                return lm.is_grad_enabled()

            with lm.set_grad_enabled(not mode):
                assert list(generate()) == [mode] and asyncio.run(run()) is mode
                assert lm.is_grad_enabled() is not mode
        assert lm.is_grad_enabled()

    def test_coroutines(self):
        @lm.inference_mode()
        async def work():
            assert lm.is_inference_mode_enabled()
            await asyncio.sleep(0.001)
            return lm.is_inference_mode_enabled()

        @lm.inference_mode
        async def numbers():
            for i in range(3):
                await asyncio.sleep(0)
                assert lm.is_inference_mode_enabled()
                yield i

        async def plain():
            for _ in range(4):
                assert not lm.is_inference_mode_enabled()
                await asyncio.sleep(0.0005)
            return [i async for i in numbers()]

        async def main():
            return await asyncio.gather(work(), plain())

        assert asyncio.run(main()) == [True, [0, 1, 2]]

    def test_wrong_use(self):
        for call in (
            lambda: lm.inference_mode(3),
            lambda: lm.inference_mode(None),
            lambda: lm.inference_mode(True, False),
            lambda: lm.inference_mode(enabled=True),
            lambda: lm.inference_mode()(3),
            lambda: lm.inference_mode(int),
        ):
            with pytest.raises(TypeError):
                call()


def test_threads_have_modes_of_their_own():
    seen = []
    with lm.inference_mode():
        run_on_threads(lambda: seen.append((lm.is_inference_mode_enabled(), lm.is_grad_enabled())))
    assert seen == [(False, True)]
