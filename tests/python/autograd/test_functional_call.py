"""functional_call: other tensors in a module's places, and the module as it was afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.autograd import functional_call, gradcheck, jacrev


class Net(lm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = lm.nn.Sequential(lm.nn.Linear(3, 3), lm.nn.Tanh(), lm.nn.Linear(3, 3))
        self.register_buffer("scale", lm.asarray(2.0))
        self.register_buffer("calls", lm.asarray(0))

    def forward(self, x: lm.Tensor, *, fail: bool = False) -> lm.Tensor:
        self.calls = self.calls + 1
        if fail:
            raise KeyError("in forward")
        return self.body(x) * self.scale


def state(module: lm.nn.Module) -> list[tuple[str, int]]:
    """The very tensors that a module holds, by name."""
    return [(name, id(t)) for name, t in (*module.named_parameters(), *module.named_buffers())]


X = lm.asarray(np.arange(6, dtype="float32").reshape(2, 3))


def test_replaces_and_restores() -> None:
    net = Net()
    before = state(net)
    weight = lm.zeros([3, 3])
    got = functional_call(net, {"body.2.weight": weight, "scale": lm.asarray(10.0)}, X)
    np.testing.assert_allclose(got.detach().numpy()[0], 10 * bias(net), rtol=1e-6)
    assert [name for name, _ in before] == [name for name, _ in state(net)]
    assert [pair for pair in before if pair[0] != "calls"] == [pair for pair in state(net) if pair[0] != "calls"]


def bias(net: Net) -> np.ndarray:
    return dict(net.named_parameters())["body.2.bias"].detach().numpy()


def test_restores_after_an_exception() -> None:
    net = Net()
    given = {"body.0.weight": lm.zeros([3, 3]), "calls": lm.asarray(5)}
    before = state(net)
    with pytest.raises(KeyError, match="in forward"):
        functional_call(net, given, (X,), {"fail": True})
    assert state(net) == before
    with pytest.raises(TypeError):
        functional_call(net, given, (X, X, X))
    assert state(net) == before


def test_a_buffer_set_anew_is_given_back() -> None:
    net = Net()
    given = {"calls": lm.asarray(5)}
    functional_call(net, given, X)
    functional_call(net, given, X)
    assert given["calls"].item() == 7 and net.calls.item() == 0


def test_gradients_reach_what_was_given() -> None:
    net = Net().to("float64")
    x = X.astype("float64")
    params = {name: p.detach() for name, p in net.named_parameters()}
    jacobian = jacrev(lambda p: functional_call(net, p, x).sum())(params)
    net(x).sum().backward()
    for name, p in net.named_parameters():
        np.testing.assert_allclose(jacobian[name].numpy(), p.grad.numpy(), rtol=1e-12)
    for p in params.values():
        p.stop_gradient = False
    assert gradcheck(lambda p: functional_call(net, p, x), params)


def test_several_mappings_and_keyword_arguments() -> None:
    net = Net()
    params, buffers = dict(net.named_parameters()), {"scale": lm.asarray(3.0), "calls": lm.asarray(1)}
    got = functional_call(net, (params, buffers), kwargs={"x": X}, strict=True)
    np.testing.assert_allclose(got.detach().numpy(), net(X).detach().numpy() * 1.5, rtol=1e-6)


class Tied(lm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = lm.nn.Linear(2, 2, bias=False)
        self.b = lm.nn.Linear(2, 2, bias=False)
        self.b.weight = self.a.weight
        self.again = self.a

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        return self.b(self.a(x)) + self.again(x)


@pytest.mark.parametrize("name", ["a.weight", "b.weight", "again.weight"])
def test_tied_weights_are_replaced_together(name: str) -> None:
    net, weight, x = Tied(), lm.asarray([[1.0, 2.0], [3.0, 4.0]]), lm.ones([1, 2])
    before = [net.a.weight, net.b.weight]
    expected = x.numpy() @ weight.numpy().T
    np.testing.assert_allclose(
        functional_call(net, {name: weight}, x, strict=True).numpy(), expected @ weight.numpy().T + expected
    )
    assert net.a.weight is before[0] and net.b.weight is before[1]


def test_untied_weights() -> None:
    net, weight, x = Tied(), lm.asarray([[1.0, 2.0], [3.0, 4.0]]), lm.ones([1, 2])
    own = net.a.weight.detach().numpy()
    first = x.numpy() @ own.T
    got = functional_call(net, {"b.weight": weight}, x, tie_weights=False)
    np.testing.assert_allclose(got.detach().numpy(), first @ weight.numpy().T + first, rtol=1e-6)
    other = lm.zeros([2, 2])
    got = functional_call(net, {"a.weight": weight, "b.weight": other}, x, tie_weights=False)
    np.testing.assert_allclose(got.detach().numpy(), x.numpy() @ weight.numpy().T)
    with pytest.raises(ValueError, match=r"'a.weight' and 'b.weight' are one tensor.*tie_weights=False"):
        functional_call(net, {"a.weight": weight, "b.weight": other}, x)
    with pytest.raises(ValueError, match=r"'a.weight' and 'again.weight' are one tensor"):
        functional_call(net, {"a.weight": weight, "again.weight": other}, x, tie_weights=False)
    got = functional_call(net, {"a.weight": weight, "b.weight": weight}, x)
    np.testing.assert_array_equal(got.numpy(), functional_call(net, {"a.weight": weight}, x).numpy())


def test_calls_nest() -> None:
    net = lm.nn.Linear(2, 2, bias=False)
    own = net.weight
    one, two = lm.ones([2, 2]), lm.full([2, 2], 2.0)

    class Outer(lm.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, x: lm.Tensor) -> lm.Tensor:
            inner = functional_call(net, {"weight": two}, x)
            assert net.weight is one
            return self.net(x) + inner

    x = lm.ones([1, 2])
    np.testing.assert_allclose(functional_call(Outer(), {"net.weight": one}, x).numpy(), [[6.0, 6.0]])
    assert net.weight is own


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda n: functional_call(n, {"body.7.weight": X}, X), ValueError, r"no parameter or buffer 'body.7.weight'"),
        (lambda n: functional_call(n, {"scale": 3.0}, X), TypeError, "'scale' is float"),
        (lambda n: functional_call(n, ({"scale": X}, {"scale": X}), X), ValueError, "'scale' is given twice"),
        (lambda n: functional_call(n, {"scale": X}, X, strict=True), ValueError, "not given: calls, body.0.weight"),
    ],
)
def test_misuse(call: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    net = Net()
    before = state(net)
    with pytest.raises(error, match=text):
        call(net)
    assert state(net) == before
