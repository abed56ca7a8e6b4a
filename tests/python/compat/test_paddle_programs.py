"""Static programs of the paddle front: starting values, statistics of batches, and gradients of branches."""

import pytest

from .test_paddle import run

CASES = {
    "weights as lengths and directions are trained": """
        x, w = (rng.normal(size=size).astype("float32") for size in ((5, 6), (6, 4)))

        def made():
            layer = nn.Linear(6, 4, weight_attr=paddle.ParamAttr(initializer=nn.initializer.Assign(w)))
            return nn.utils.weight_norm(layer, dim=1)

        layer = made()
        optimizer, wanted = paddle.optimizer.SGD(0.1, parameters=layer.parameters()), []
        for _ in range(4):
            loss = (layer(paddle.to_tensor(x)) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            wanted.append(float(loss))
        paddle.enable_static()
        fed = static.data("x", [None, 6])
        layer = made()
        loss = (layer(fed) ** 2).mean()
        test = static.default_main_program().clone(for_test=True)
        paddle.optimizer.SGD(0.1).minimize(loss)
        exe.run(static.default_startup_program())
        found = [float(exe.run(feed={"x": x}, fetch_list=[loss])[0]) for _ in range(5)]
        np.testing.assert_allclose(found[:4], wanted, 1e-5)
        assert float(exe.run(test, feed={"x": x}, fetch_list=[loss])[0]) < found[4]
        """,
    "other forms of weights get their starting values in the start-up program": """
        paddle.enable_static()
        normed, removed = (nn.utils.weight_norm(nn.Conv2D(3, 4, 2)) for _ in range(2))
        nn.utils.remove_weight_norm(removed)
        divided = nn.utils.spectral_norm(nn.Linear(3, 4))
        writers = [node for node in main.graph.nodes if node.effects]
        assert not writers and isinstance(divided.weight_u.numpy(), np.ndarray)
        before = []
        for _ in range(2):
            exe.run(startup)
            v, g, weight = (x.numpy().copy() for x in (normed.weight_v, normed.weight_g, removed.weight))
            np.testing.assert_allclose(np.sqrt((v**2).sum((1, 2, 3))), g, 1e-5)
            before.append((v, weight))
        assert not any((a == b).any() for a, b in zip(*before))
        """,
    "a state is loaded once, not in each run": """
        paddle.enable_static()
        layer = nn.Linear(3, 1)
        loss = (layer(static.data("x", [None, 3])) ** 2).mean()
        exe.run(startup)
        count = len(main.graph.nodes)
        layer.set_state_dict({"weight": np.ones((3, 1), "float32"), "bias": np.zeros(1, "float32")})
        assert len(main.graph.nodes) == count
        paddle.optimizer.SGD(0.05).minimize(loss)
        feed = {"x": np.ones((2, 3), "float32")}
        losses = [float(exe.run(feed=feed, fetch_list=[loss])[0]) for _ in range(3)]
        assert losses[0] == 9 and losses[2] < losses[1] < 9
        """,
    "variances are those of batches as they are": """
        images = rng.normal(size=(4, 6, 3, 2)).astype("float32") * 2
        shapes = {
            nn.BatchNorm1D: (images[:, :, 0, 0], [None, 6], [4, 6]),
            nn.BatchNorm2D: (images, [None, 6, None, 2], [4, 6, 3, 2], [4, 6, None, None]),
        }
        for kind, (x, *specs) in shapes.items():
            layer = kind(6, momentum=0.5)
            for _ in range(2):
                want = layer(layer(paddle.to_tensor(x)) * 2).numpy()
            statistics = [layer._mean.numpy(), layer._variance.numpy()]
            for spec in specs:
                paddle.enable_static()
                programs = static.Program(), static.Program()
                with static.program_guard(*programs), static.scope_guard(static.Scope()):
                    fed = static.data("x", spec)
                    same = kind(6, momentum=0.5)
                    y = same(same(fed) * 2)
                    test = programs[0].clone(for_test=True)
                    paddle.optimizer.SGD(0.0).minimize((y**3).mean())
                    exe.run(programs[1])
                    for _ in range(2):
                        (found,) = exe.run(programs[0], feed={"x": x}, fetch_list=[y])
                    np.testing.assert_allclose(found, want, 1e-4, 1e-5)
                    np.testing.assert_allclose([same._mean.numpy(), same._variance.numpy()], statistics, 1e-5, 1e-6)
                    (found,) = exe.run(test, feed={"x": x}, fetch_list=[y])
                    np.testing.assert_allclose([same._mean.numpy(), same._variance.numpy()], statistics, 1e-5, 1e-6)
                paddle.disable_static()
                layer.eval()
                np.testing.assert_allclose(found, layer(layer(paddle.to_tensor(x)) * 2).numpy(), 1e-4, 1e-5)
                layer.train()
        """,
    "a run that reaches no parameter has zeros as gradients": """
        paddle.enable_static()
        x, n = static.data("x", [None, 4]), static.data("n", [1], "int64")
        layer = nn.Linear(4, 4)
        y = static.nn.cond(x.sum() > 0, lambda: layer(x).mean(), lambda: (x * 0).mean())
        _, h = static.nn.while_loop(lambda i, h: i < n, lambda i, h: [i + 1, layer(h)], [paddle.zeros([1], "int64"), x])
        of_branch = [g for _, g in static.append_backward(y)]
        of_loop = [g for _, g in static.append_backward(h.sum())]
        paddle.optimizer.Adam(0.1).minimize(y)
        exe.run(startup)
        found = []
        for sign, turns in ((1, 2), (1, 0), (-1, 0), (1, 1)):
            feed = {"x": np.full((3, 4), sign, "float32"), "n": np.array([turns])}
            *gradients, value = exe.run(feed=feed, fetch_list=[*of_branch, *of_loop, y])
            assert [bool(g.any()) for g in gradients] == [sign > 0] * 2 + [turns > 0] * 2
            found.append(float(value))
        assert found[1] < found[0] and found[2] == 0 and found[3] < found[1] - 0.4
        """,
    "elements of a shape are the sizes that are known": """
        def halves(x):
            n, m = paddle.shape(x)
            return paddle.concat([x[:, : m // 2] * paddle.ones([2]), paddle.zeros([n // 2, m - 2])])

        def last(x):
            n, m = paddle.shape(x)
            y = x * 2
            y[n - 1] = paddle.zeros([m])
            return y

        def written(x):
            sizes = paddle.shape(x)
            sizes[1] = 2
            return paddle.ones(sizes) * sizes[1].astype("float32")

        def through_a_view(x):
            sizes = paddle.shape(x)
            paddle.assign(paddle.to_tensor([3]), sizes[1:2])
            return paddle.ones([sizes[0], sizes[1]])

        def branches(x):
            n, m = sizes = paddle.shape(x).astype("int32")
            return static.nn.cond(x.sum() > 0, lambda: paddle.zeros([n, m]) + x, lambda: paddle.ones(sizes) * x)

        half = lambda v: np.concatenate([v[:, :2], np.zeros((len(v) // 2, 2))])
        ended = lambda v: np.concatenate([v[:-1] * 2, v[:1] * 0])
        check(lambda x: paddle.zeros(paddle.shape(x)) + x, lambda v: v, [-1, 4])
        check(halves, half, [-1, 2])
        check(last, ended, [-1, 4])
        check(lambda x: x.reshape([paddle.shape(x)[0], 2, paddle.shape(x)[1] // 2]), lambda v: v.reshape(-1, 2, 2))
        check(lambda x: paddle.arange(paddle.shape(x)[1]).astype("float32") + x, lambda v: v + np.arange(4), [-1, 4])
        check(lambda x: paddle.to_tensor([1.0, 2.0, 3.0, 4.0, 5.0])[: paddle.shape(x)[1]] + x, lambda v: v + np.r_[1:5])
        check(branches, lambda v: v, [-1, 4])
        check(written, lambda v: np.full((len(v), 2), 2.0))
        # In Lamella a slice is a view.
        check(through_a_view, lambda v: np.ones((len(v), 3)))
        """,
    "tensors of variables": """
        check(lambda x: paddle.to_tensor(paddle.shape(x)[0]), lambda v: np.int64(len(v)))
        check(lambda x: paddle.to_tensor([paddle.shape(x)[0], 2]), lambda v: np.array([len(v), 2]))
        check(lambda x: paddle.to_tensor([x.shape[0], paddle.shape(x)[1]]), lambda v: np.array(v.shape))
        check(lambda x: paddle.to_tensor(x), lambda v: v, [-1, 4])
        check(lambda x: paddle.to_tensor([x.sum(), 1.5]), lambda v: np.array([v.sum(), 1.5]))
        nested = lambda x: paddle.to_tensor([[x.sum(), 1.5], [2, x.mean()]], dtype="float64")
        check(nested, lambda v: np.array([[v.sum(), 1.5], [2, v.mean()]]), [2, 2])
        check(lambda x: paddle.ones([paddle.to_tensor(paddle.shape(x)[1])]) + x, lambda v: v + 1, [-1, 4])
        paddle.enable_static()
        x = static.data("x", [None, 4])
        x.stop_gradient = False
        assert paddle.to_tensor(x).stop_gradient and paddle.to_tensor([x.sum(), 2.0]).stop_gradient
        assert not paddle.to_tensor(x, stop_gradient=False).stop_gradient and not x.stop_gradient
        """,
    "elements are repeated as often as a size": """
        half = lambda x: paddle.repeat_interleave(x, paddle.shape(x)[0] // 2, axis=0)
        check(half, lambda v: v.repeat(len(v) // 2, 0))
        check(lambda x: paddle.repeat_interleave(x, x.shape[0], axis=1), lambda v: v.repeat(len(v), 1))
        check(lambda x: paddle.repeat_interleave(x, x.shape[0]), lambda v: v.repeat(len(v)))
        check(lambda x: paddle.repeat_interleave(x, paddle.shape(x)[1:], axis=-1), lambda v: v.repeat(4, 1), [-1, 16])
        """,
    "variables are printed": """
        paddle.enable_static()
        x = static.data("x", [None, 4])
        for text in (str(x), f"{x}", "%s" % x, repr(x)):
            assert text == "Symbol('x', shape=[-1, 4], dtype=float32)"
        assert "shape=[]" in f"{x.sum()}" and "shape=[]" in str(x.sum())
        raises(RuntimeError, lambda: f"{x.sum():.2f}", "item", "when the graph runs")
        """,
}


@pytest.mark.parametrize("case", CASES)
def test_programs(case):
    head = """
        from paddle import nn, static

        main, startup, exe = static.default_main_program(), static.default_startup_program(), static.Executor()
        rng = np.random.default_rng(0)

        def check(program, want, shape=None):
            paddle.enable_static()
            with static.program_guard(static.Program(), static.Program()):
                y = program(static.data("x", [None, 4]))
                assert shape is None or list(y.shape) == shape
                for n in (3, 2, 6):
                    x = np.arange(1, 4 * n + 1, dtype="float32").reshape(n, 4)
                    (found,) = exe.run(feed={"x": x}, fetch_list=[y])
                    assert found.shape == np.shape(want(x))
                    np.testing.assert_allclose(found, want(x), 1e-6)
            paddle.disable_static()
"""
    run(head + CASES[case])
