"""Hooks of modules: when they run, what they get, what they may change."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lamella as lm
from lamella import nn


class Scale(nn.Module):
    """Two inputs, two results, of which a keyword scales the first."""

    def forward(self, x, y, *, factor=1.0):
        return x * y * factor, x + y


def double(module, args):
    """A pre-hook that can be pickled."""
    return tuple(2 * x for x in args)


def leaf(*numbers):
    return lm.tensor(list(numbers), stop_gradient=False)


def test_forward_hooks_run_in_their_order():
    log = []
    layer = nn.Identity()
    for name in "ab":
        layer.register_forward_pre_hook(lambda m, args, name=name: log.append(f"before {name}"))
        layer.register_forward_hook(lambda m, args, result, name=name: log.append(f"after {name}"))
    layer.register_forward_pre_hook(lambda m, args: log.append("before first"), prepend=True)
    layer.register_forward_hook(lambda m, args, result: log.append("after first"), prepend=True)
    layer(lm.ones((1,)))
    assert log == ["before first", "before a", "before b", "after first", "after a", "after b"]


def test_forward_hooks_replace_arguments_and_results():
    layer = Scale()
    layer.register_forward_pre_hook(double)
    layer.register_forward_hook(lambda m, args, result: (result[0], result[1] + args[0]))
    product, total = layer(lm.asarray([1.0]), lm.asarray([3.0]))
    assert (product.item(), total.item()) == (12.0, 10.0)
    single = nn.Identity()
    single.register_forward_pre_hook(lambda m, args: args[0] + 1)
    assert single(lm.asarray([1.0])).item() == 2.0


def test_hooks_with_keyword_arguments():
    layer = Scale()
    seen = []
    layer.register_forward_pre_hook(lambda m, args, kw: (args, {"factor": kw["factor"] * 2}), with_kwargs=True)
    layer.register_forward_hook(lambda m, args, kw, result: seen.append(kw), with_kwargs=True)
    assert layer(lm.asarray([1.0]), lm.asarray([3.0]), factor=5.0)[0].item() == 30.0
    assert seen == [{"factor": 10.0}]
    layer.register_forward_pre_hook(lambda m, args, kw: args, with_kwargs=True)
    with pytest.raises(TypeError, match=r"\[Scale\] a forward pre-hook .* returns None or \(args, kwargs\)"):
        layer(lm.asarray([1.0]), lm.asarray([3.0]), factor=5.0)


def test_a_hook_that_is_always_called():
    class Fails(nn.Module):
        def forward(self, x):
            raise RuntimeError("no")

    log = []
    layer = Fails()
    layer.register_forward_hook(lambda m, args, result: log.append("skipped"))
    layer.register_forward_hook(lambda m, args, result: log.append(result), always_call=True)
    layer.register_forward_hook(lambda m, args, result: 1 / 0, always_call=True)
    with pytest.raises(RuntimeError, match="no") as caught:
        layer(1)
    assert log == [None] and "ZeroDivisionError" in caught.value.__notes__[0]

    # A hook that has run is not called again when a later one fails.
    layer, log = nn.Identity(), []
    layer.register_forward_hook(lambda m, args, result: log.append(result), always_call=True)
    layer.register_forward_hook(lambda m, args, result: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        layer(7)
    assert log == [7]


def test_handles_take_hooks_away():
    layer = nn.Identity()
    first = layer.register_forward_hook(lambda m, args, result: result + 1)
    with layer.register_forward_hook(lambda m, args, result: result * 10):
        assert layer(1) == 20
    assert layer(1) == 2
    first.remove()
    first.remove()
    assert layer(1) == 1 and "_hook_table" not in vars(layer)

    def once(module, args, result):
        handle.remove()
        return result + 1

    handle = layer.register_forward_hook(once)
    layer.register_forward_hook(lambda m, args, result: result * 10)
    assert layer(1) == 20 and layer(1) == 10


@pytest.mark.parametrize("kind", ["forward_pre", "forward", "full_backward_pre", "full_backward"])
def test_a_hook_is_a_function(kind):
    layer = nn.Identity()
    with pytest.raises(TypeError, match=rf"\[register_{kind}_hook\] a hook is a function, not int"):
        getattr(layer, f"register_{kind}_hook")(3)
    assert layer(1) == 1


def test_backward_hooks_see_gradients():
    layer = nn.Linear(2, 3, bias=False)
    seen = {}
    layer.register_full_backward_pre_hook(lambda m, grads: seen.update(before=grads))
    layer.register_full_backward_hook(lambda m, inputs, outputs: seen.update(inputs=inputs, outputs=outputs))
    x = lm.tensor([[1.0, 2.0]], stop_gradient=False)
    (layer(x) * lm.asarray([1.0, 2.0, 3.0])).sum().backward()
    assert seen["before"][0].tolist() == seen["outputs"][0].tolist() == [[1.0, 2.0, 3.0]]
    expected = np.array([[1.0, 2.0, 3.0]]) @ layer.weight.detach().numpy()
    np.testing.assert_allclose(seen["inputs"][0].numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-6)


def test_backward_hooks_replace_gradients():
    layer = Scale()
    x, y = leaf(2.0), leaf(3.0)
    layer.register_full_backward_pre_hook(lambda m, grads: (grads[0] * 10, grads[1]))
    layer.register_full_backward_hook(lambda m, inputs, outputs: (inputs[0] + 1, None))
    product, total = layer(x, y)
    (product + total).sum().backward()
    assert x.grad.tolist() == [10 * 3.0 + 1 + 1] and y.grad is None
    with layer.register_full_backward_hook(lambda m, inputs, outputs: inputs[:1]):
        product, total = layer(x, y)
        with pytest.raises(ValueError, match=r"\[Scale\] a backward hook returned 1 gradients .* grad_input"):
            product.sum().backward()


def test_backward_hooks_of_results_that_are_not_used():
    seen = []
    layer = Scale()
    layer.register_full_backward_hook(lambda m, inputs, outputs: seen.append((inputs, outputs)))
    layer(leaf(2.0), lm.asarray([3.0]))[1].sum().backward()
    ((inputs, outputs),) = seen
    assert inputs[0].tolist() == [1.0] and inputs[1] is None
    assert outputs[0] is None and outputs[1].tolist() == [1.0]


def test_backward_hooks_without_gradients_of_inputs():
    seen = []
    layer = nn.Linear(2, 1)
    layer.register_full_backward_hook(lambda m, inputs, outputs: seen.append((inputs, outputs[0].tolist())))
    layer(lm.ones((1, 2))).sum().backward()
    assert seen == [((None,), [[1.0]])] and layer.weight.grad is not None
    with lm.no_grad():
        layer(lm.ones((1, 2)))
    assert len(seen) == 1


def test_backward_hooks_reach_second_derivatives():
    layer = nn.Tanh()
    layer.register_full_backward_hook(lambda m, inputs, outputs: (inputs[0] * 3,))
    x = lm.tensor([0.3], dtype="float64", stop_gradient=False)
    (first,) = lm.grad(layer(x).sum(), [x], create_graph=True)
    t = np.tanh(0.3)
    np.testing.assert_allclose(first.item(), 3 * (1 - t * t))
    (second,) = lm.grad(first.sum(), [x])
    np.testing.assert_allclose(second.item(), 3 * -2 * t * (1 - t * t))


def test_nested_results_and_forward_mode():
    class Nested(nn.Module):
        def forward(self, x):
            return {"a": [x * 2, 5], "b": x + 1}

    layer, seen = Nested(), []
    layer.register_full_backward_hook(lambda m, inputs, outputs: seen.append(len(outputs)))
    x = leaf(1.0)
    result = layer(x)
    (result["a"][0] * result["b"]).sum().backward()
    assert seen == [2] and result["a"][1] == 5 and x.grad.tolist() == [2 * 2 + 2]
    hooked = nn.Tanh()
    hooked.register_full_backward_hook(lambda m, inputs, outputs: None)
    _, tangent = lm.jvp(hooked, lm.asarray([0.3]), lm.asarray([1.0]))
    np.testing.assert_allclose(tangent.item(), 1 - np.tanh(0.3) ** 2, rtol=1e-6)


def test_a_module_with_hooks_is_a_layer_as_any():
    layer = nn.Linear(3, 2, dtype="float64")
    layer.register_full_backward_pre_hook(lambda m, grads: None)
    layer.register_full_backward_hook(lambda m, inputs, outputs: inputs)
    layer.register_forward_hook(lambda m, args, result: result * 2)
    x = lm.tensor(np.random.default_rng(0).normal(size=(2, 3)), stop_gradient=False)
    report = lm.autograd.check_layer(layer, x)
    assert report.ok, report
    assert lm.vmap(layer)(x).shape == (2, 2)


def test_hooks_within_a_checkpoint():
    calls = []
    layer = nn.Tanh()
    layer.register_full_backward_hook(lambda m, inputs, outputs: calls.append(outputs[0].tolist()))
    x = leaf(0.5)
    lm.checkpoint(lambda x: layer(x) * 2, x).sum().backward()
    assert calls == [[2.0]]
    np.testing.assert_allclose(x.grad.item(), 2 * (1 - np.tanh(0.5) ** 2), rtol=1e-6)


def test_hooks_registered_by_several_threads_are_all_kept():
    layer = nn.Identity()

    def register(_):
        return [layer.register_forward_hook(lambda m, args, result: result + 1) for _ in range(50)]

    with ThreadPoolExecutor(4) as pool:
        handles = [handle for some in pool.map(register, range(4)) for handle in some]
    assert layer(0) == 200
    for handle in handles:
        handle.remove()
    assert layer(0) == 0


def test_copies_have_hooks_of_their_own():
    layer = nn.Identity()
    layer.register_forward_pre_hook(double)
    twins = [copy.copy(layer), copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))]
    handles = [twin.register_forward_hook(lambda m, args, result: result + 1) for twin in twins]
    assert layer(3) == 6
    assert [twin(3) for twin in twins] == [7, 7, 7]
    for handle in handles:
        handle.remove()
    assert [twin(3) for twin in twins] == [6, 6, 6]


def test_hooks_keep_no_module_alive():
    layer = nn.Linear(1, 1)
    handle = layer.register_full_backward_hook(lambda m, inputs, outputs: None)
    layer(leaf(1.0)).sum().backward()
    gone = weakref.ref(layer)
    del layer
    gc.collect()
    assert gone() is None
    handle.remove()


def test_compiled_modules_notice_hooks():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    compiled = lm.compile(net)
    x = lm.ones((1, 2))
    plain = [compiled(x).tolist() for _ in range(3)][-1]
    handle = net[1].register_forward_hook(lambda m, args, result: result + 1)
    assert compiled(x).tolist() == net(x).tolist() != plain
    handle.remove()
    assert compiled(x).tolist() == plain


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_a_handle_that_a_module_holds_takes_the_hook_of_the_copy_away(copied):
    module = lm.nn.Identity()
    module.handle = module.register_forward_pre_hook(double)
    other = copied(module)
    other.handle.remove()
    assert other(lm.ones(1)).item() == 1.0 and module(lm.ones(1)).item() == 2.0
    module.handle.remove()
    assert module(lm.ones(1)).item() == 1.0
