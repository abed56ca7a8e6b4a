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
}


@pytest.mark.parametrize("case", CASES)
def test_programs(case):
    head = """
        from paddle import nn, static

        main, startup, exe = static.default_main_program(), static.default_startup_program(), static.Executor()
        rng = np.random.default_rng(0)
"""
    run(head + CASES[case])
