"""Layers that paddle.jit.save writes: control flow, nested arguments and results, modes, methods."""

import pytest

from .test_paddle import run

SAVED = """
        from paddle import nn, static

        S = static.InputSpec
        rng = np.random.default_rng(0)

        def leaves(value):
            if isinstance(value, (list, tuple, dict)):
                parts = value.values() if isinstance(value, dict) else value
                return [x for each in parts for x in leaves(each)]
            return [value] if isinstance(value, paddle.Tensor) else []

        def saved(layer, specs, *calls):
            layer.eval()
            wanted = [leaves(layer(*call)) for call in calls]
            paddle.jit.save(layer, "saved", input_spec=specs)
            loaded = paddle.jit.load("saved")
            for call, want in zip(calls, wanted):
                tensors = leaves(call)
                found = leaves(loaded(*tensors))
                assert len(found) == len(want)
                for a, b in zip(found, want):
                    np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-5)
            return loaded

        class Layer(nn.Layer):
            def __init__(self):
                super().__init__()
                self.a, self.drop, self.norm = nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1D(4)

        def numbers(rows, shift):
            return paddle.to_tensor(rng.normal(size=(rows, 4)).astype("float32") + shift)
"""

CASES = {
    "branches": """
        class Cond(Layer):
            def forward(self, x):
                return static.nn.cond(x.sum() > 0, lambda: self.drop(self.a(x)) * 2, lambda: self.norm(x) - x.shape[0])

        layer = Cond()
        loaded = saved(layer, [S([None, 4])], *[[numbers(n, k)] for n in (2, 3) for k in (-2, 2)])
        x = numbers(3, 2)
        (layer(x) ** 2).sum().backward()
        (loaded(x) ** 2).sum().backward()
        found = [p.grad.numpy() for p in loaded.parameters() if p.grad is not None and p.ndim == 2]
        np.testing.assert_allclose(found, [layer.a.weight.grad.numpy()], 1e-5)
        """,
    "loops with branches in them": """
        class Loop(Layer):
            def forward(self, x):
                def body(i, h):
                    return [i + 1, static.nn.cond(h.mean() > 0, lambda: self.a(h), lambda: h * 2)]

                return static.nn.while_loop(lambda i, h: i < 3, body, [paddle.full([1], 0, "int64"), x])

        saved(Loop(), [S([None, 4])], *[[numbers(n, k)] for n in (2, 3) for k in (-2, 2)])
        """,
    "one of several branches": """
        class Switch(Layer):
            def forward(self, x, n):
                one = static.nn.switch_case(n, {1: lambda: self.a(x), 2: lambda: x * 3, 5: lambda: x - 7})
                many = [(x.sum() < -5, lambda: x * 0), (x.sum() < 0, lambda: self.a(x))]
                return one + static.nn.case(many, default=lambda: x + x.shape[0])

        calls = [[numbers(2, k), paddle.to_tensor(n)] for k in (-3, -0.2, 2) for n in (1, 2, 5)]
        saved(Switch(), [S([None, 4]), S([], "int64")], *calls)
        """,
    "a program that is read and written again": """
        paddle.enable_static()
        x = static.data("x", [None, 4])
        y = static.nn.cond(x.sum() > 0, lambda: static.nn.fc(x, 4) * 2, lambda: x - 1)
        exe = static.Executor()
        exe.run(static.default_startup_program())
        feeds = [{"x": numbers(3, k).numpy()} for k in (-2, 2)]
        wanted = [exe.run(feed=feed, fetch_list=[y])[0] for feed in feeds]
        static.save_inference_model("first", [x], [y], exe)
        for name, other in (("first", "second"), ("second", "third")):
            program, names, results = static.load_inference_model(name, exe)
            for feed, want in zip(feeds, wanted):
                np.testing.assert_allclose(exe.run(program, feed=feed, fetch_list=results)[0], want, 1e-6)
            static.save_inference_model(other, [program.global_block().var("x")], results, exe, program=program)
        out = static.default_main_program().current_block().create_var(name="out", dtype="float32", shape=[-1, 4])

        def inner():
            static.py_func(lambda a: np.array(a), x, out)
            return out * 1.0

        z = static.nn.cond(x.sum() > 0, inner, lambda: x - 1)
        raises(ValueError, lambda: static.save_inference_model("fourth", [x], [z], exe), "Python function")
        """,
    "a loaded layer that is trained, and saved again, alone and as a part": """
        class Net(Layer):
            def forward(self, x):
                h = self.drop(self.norm(self.a(x))).reshape([x.shape[0], 2, -1])
                h = static.nn.cond(h.sum() > 0, lambda: h * 2, lambda: h - self.a.bias[1])
                step = paddle.zeros([1], "int64")
                return static.nn.while_loop(lambda i, h: i < 3, lambda i, h: [i + 1, h + self.a.bias[0]], [step, h])[1]

        class Outer(nn.Layer):
            def __init__(self, back):
                super().__init__()
                self.back, self.head = back, nn.Linear(2, 3)

            def forward(self, x):
                return self.head(self.back(x))

        specs, calls = [S([None, 4])], [[numbers(3, -2)], [numbers(5, 2)]]
        loaded = saved(Net(), specs, *calls)
        before = loaded(*calls[0]).numpy()
        sgd = paddle.optimizer.SGD(0.1, parameters=loaded.parameters())
        for _ in range(2):
            loaded(*calls[0]).pow(2).mean().backward()
            sgd.step()
            sgd.clear_grad()
        assert not np.allclose(loaded(*calls[0]).numpy(), before)
        again = saved(loaded, specs, *calls)
        assert len(again.parameters()) == len(loaded.parameters())
        whole = saved(Outer(again), specs, *calls)
        assert len(whole.parameters()) == len(again.parameters()) + 2
        """,
    "nested results": """
        saved(nn.LSTM(4, 3), [S([None, None, 4])], [numbers(2, 0).reshape([1, 2, 4])])

        class Mixed(nn.Layer):
            def forward(self, x):
                return {"sum": x + 1, "more": [x * 2, (x - 1, 3, None)], "made": paddle.ones([2])}

        assert len(saved(Mixed(), [S([None, 4])], [numbers(2, 0)])(numbers(3, 0))) == 4
        """,
    "nested specs, and arguments that stay": """
        class Listed(nn.Layer):
            def forward(self, pair, d=None, none=None, scale=2.0):
                return (pair[0] + pair[1] * d["a"]) * scale if none is None else pair[0]

        layer, (a, b, c) = Listed(), [numbers(2, 0) for _ in range(3)]
        layer.eval()
        loaded = saved(layer, [[S([None, 4])] * 2, {"a": S([None, 4])}, None, 3.0], [[a, b], {"a": c}, None, 3.0])
        np.testing.assert_allclose(loaded([a, b], {"a": c}).numpy(), ((a + b * c) * 3).numpy(), 1e-6)
        raises(ValueError, lambda: loaded(a, b), "3 inputs, got 2")
        """,
    "each part keeps its mode": """
        layer = Layer()
        layer.forward = lambda x: layer.drop(layer.norm(x))
        for modes in ((True, False, True), (False, True, False), (True, True, True)):
            parts = layer, layer.norm, layer.drop
            for part, mode in zip(parts, modes):
                part.training = mode
            paddle.jit.save(layer, "modes", input_spec=[S([None, 4])])
            assert tuple(part.training for part in parts) == modes
            paddle.flops(layer, [2, 4])
            assert tuple(part.training for part in parts) == modes
            paddle.summary(layer, (2, 4))
            assert tuple(part.training for part in parts) == modes
        x = numbers(2, 0)
        np.testing.assert_allclose(paddle.jit.load("modes")(x).numpy(), x.numpy(), 1e-4)
        """,
    "methods with specs of their own": """
        class Both(Layer):
            @paddle.jit.to_static(input_spec=[S([None, 4])])
            def forward(self, x):
                return self.a(x)

            @paddle.jit.to_static(input_spec=[S([None, 4]), S([1])])
            def infer(self, x, y):
                return self.a(x) * 2 + self.drop(y)

        layer, x, y = Both(), numbers(2, 0), paddle.ones([1])
        paddle.jit.save(layer, "both")
        assert layer.training and layer.drop.training
        layer.eval()
        loaded = paddle.jit.load("both")
        np.testing.assert_allclose(loaded(x).numpy(), layer(x).numpy(), 1e-6)
        np.testing.assert_allclose(loaded.infer(x, y).numpy(), layer.infer(x, y).numpy(), 1e-6)
        assert len(loaded.parameters()) == 2
        for parameter in loaded.parameters():
            parameter.set_value(parameter * 0)
        np.testing.assert_allclose(loaded.infer(x, y).numpy(), np.ones((2, 4)))
        paddle.jit.save(layer.infer, "one")
        np.testing.assert_allclose(paddle.jit.load("one")(x, y).numpy(), layer.infer(x, y).numpy(), 1e-6)
        """,
}


@pytest.mark.parametrize("case", CASES)
def test_saved_layers(case, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run(SAVED + CASES[case])
