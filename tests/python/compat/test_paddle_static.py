"""Static programs of the paddle front: programs as they are written for Paddle."""

import pytest

from .test_paddle import run

STATIC = """
        paddle.enable_static()
        assert not paddle.in_dynamic_mode()
        F = paddle.nn.functional
        main, startup = paddle.static.default_main_program(), paddle.static.default_startup_program()
        exe = paddle.static.Executor(paddle.CPUPlace())
        rng = np.random.default_rng(0)

        def create_tmp_var(program, name, dtype, shape):
            return program.current_block().create_var(name=name, dtype=dtype, shape=shape)
"""

PROGRAMS = {
    "writes are saved and compiled": """
        paddle.disable_static()
        import lamella as lm

        x = paddle.to_tensor(np.arange(8, dtype="float32").reshape(2, 4))
        for line in ("y += 1", "y *= 2", "y[0] = 5", "y[:, 1] += 1", "y.add_(x)", "y.exp_()", "y.zero_()",
                     "paddle.assign(x * 3, y)", "y.set_value(x)", "z = y[1]; z += 2", "z = y[1]; z.add_(x[0])"):
            names = {"paddle": paddle}
            exec(f"def f(x):\\n y = x * 2 + 1\\n {line}\\n return y * 3", names)
            f = names["f"]
            want = f(x.clone()).numpy()

            class Writes(paddle.nn.Layer):
                def forward(self, x):
                    return f(x)

            compiled = lm.compile(f)
            for _ in range(4):
                np.testing.assert_allclose(compiled(x.clone()).numpy(), want, 1e-6, err_msg=line)
            layer = paddle.jit.to_static(Writes(), input_spec=[paddle.static.InputSpec([None, 4], "float32")])
            paddle.jit.save(layer, "writes")
            np.testing.assert_allclose(paddle.jit.load("writes")(x.clone()).numpy(), want, 1e-6, err_msg=line)
        """,
    "comparisons in place are exported": """
        import onnxruntime

        paddle.disable_static()
        for name in ("equal_", "not_equal_", "less_than_", "greater_equal_"):

            class Compares(paddle.nn.Layer):
                def forward(self, x):
                    y = x.clone()
                    getattr(y, name)(paddle.full([3], 2, "int64"))
                    return y

            paddle.onnx.export(Compares(), "compares", input_spec=[paddle.static.InputSpec([3], "int64")])
            numbers = np.array([0, 2, 3])
            session = onnxruntime.InferenceSession("compares.onnx", providers=["CPUExecutionProvider"])
            found = session.run(None, {session.get_inputs()[0].name: numbers})[0]
            assert found.tolist() == Compares()(paddle.to_tensor(numbers)).tolist(), name
        """,
    "each run makes what the program made": """
        i = paddle.zeros([1], "int64")
        v = paddle.static.data("v", [1], "float32")
        body = lambda i, y: [paddle.increment(i), y * 2]
        i, y = paddle.static.nn.while_loop(lambda i, y: (i < 3).all(), body, [i, v])
        ones = paddle.ones([4])
        ones[0] = v[0]
        total = paddle.zeros([1])
        total.add_(v)
        x = paddle.static.data("x", [2, 2], "float32")
        x.add_(paddle.ones([2, 2]))
        fed = np.zeros((2, 2), "float32")
        for number in (7.0, 5.0):
            feed = {"v": np.full(1, number, "float32"), "x": fed}
            found = exe.run(feed=feed, fetch_list=[i, y, ones * 1, total * 1, x * 2])
            assert found[0] == 3 and found[1] == number * 8 and found[2].tolist() == [number, 1, 1, 1]
            assert found[3] == number and (found[4] == 2).all() and not fed.any()
        """,
    "sizes that are open": """
        v = paddle.static.data("v", [None, 4])
        scaled = paddle.sum(v) / paddle.shape(v)[0].astype("float32")
        rows, fours = v.reshape([v.shape[0], -1]) * 2, v.reshape([v.shape[0], -1, 2])
        fed = np.arange(12, dtype="float32").reshape(3, 4)
        found = exe.run(feed={"v": fed}, fetch_list=[scaled, rows, fours])
        assert found[0] == fed.sum() / 3 and found[1].shape == (3, 4) and found[2].shape == (3, 2, 2)
        w = paddle.shape(paddle.static.data("w", [None, 3, None]))
        assert exe.run(feed={"v": fed, "w": np.ones((2, 3, 5), "float32")}, fetch_list=[w])[0].tolist() == [2, 3, 5]
        mean = paddle.sum(v) / v.size
        sizes = paddle.shape(v)
        kept = [
            paddle.reshape(v, [paddle.shape(v)[0], 2, -1]), paddle.reshape(v, paddle.shape(v * 2)),
            paddle.zeros([v.shape[0], 2]) + 1, paddle.full([sizes[0]], 3.0), paddle.arange(sizes[0]),
            paddle.expand(paddle.ones([1, 4]), [v.shape[0], -1]), paddle.tile(paddle.ones([1, 2]), [v.shape[0], 1]),
            v[: sizes[0] // 2], v[sizes[0] - 1], paddle.concat([v, v])[v.shape[0] :], paddle.numel(v),
        ]
        want = [
            fed.reshape(3, 2, 2), fed, np.ones((3, 2)), np.full(3, 3.0), np.arange(3), np.ones((3, 4)), np.ones((3, 2)),
            fed[:1], fed[2], fed, 12,
        ]
        found = exe.run(feed={"v": fed, "w": np.ones((2, 3, 5), "float32")}, fetch_list=[mean, *kept])
        assert found[0] == fed.mean()
        for one, other in zip(found[1:], want, strict=True):
            assert one.shape == np.shape(other) and (one == other).all(), (one, other)
        try:
            bool(v.shape[0] > 2)
        except RuntimeError as error:
            assert "known only when" in str(error)
        else:
            raise AssertionError
        """,
    "a classifier": """
        img = paddle.static.data(name="img", shape=[None, 28, 28], dtype="float32")
        label = paddle.static.data(name="label", shape=[None, 1], dtype="int64")
        assert img.shape == [-1, 28, 28] and img.stop_gradient and img.name == "img"
        hidden = paddle.static.nn.fc(img, 32, activation="relu")
        predict = paddle.static.nn.fc(x=hidden, size=10)
        loss = paddle.mean(F.cross_entropy(predict, label))
        acc = paddle.static.accuracy(predict, label)
        test = main.clone(for_test=True)
        paddle.optimizer.Adam(learning_rate=0.01).minimize(loss)
        paddle.seed(0)
        exe.run(startup)
        x = rng.normal(size=(64, 28, 28)).astype("float32")
        y = rng.integers(0, 10, (64, 1))
        losses = [float(exe.run(main, feed={"img": x, "label": y}, fetch_list=[loss])[0]) for _ in range(30)]
        assert losses[-1] < 0.1 * losses[0], losses
        values = exe.run(test, feed={"img": x, "label": y}, fetch_list=[acc.name, loss])
        assert values[0] > 0.9 and values[1] < losses[-1]
        w = paddle.static.global_scope().find_var("fc_0.w_0").get_tensor()
        assert np.array(w).shape == (784, 32) and w.shape() == [784, 32]
        w.set(np.zeros((784, 32), "float32"), paddle.CPUPlace())
        assert not np.array(w).any()
        """,
    "a program that goes on where it was saved, with its optimizer": """
        x = paddle.static.data("x", [None, 4])
        loss = paddle.static.nn.fc(x, 1).square().mean()
        assert repr(x.shape) == "paddle.Size([-1, 4])"
        paddle.optimizer.Adam(0.05).minimize(loss)
        exe.run(startup)
        batch = {"x": rng.normal(size=(5, 4)).astype("float32")}
        exe.run(main, feed=batch)
        paddle.static.save(main, "saved")
        losses = [exe.run(main, feed=batch, fetch_list=[loss])[0] for _ in range(3)]
        paddle.static.load(main, "saved", exe)
        assert [exe.run(main, feed=batch, fetch_list=[loss])[0] for _ in range(3)] == losses
        """,
    "py_func, and the same network natively": """
        def tanh(x):
            return np.tanh(x)

        def tanh_grad(y, dy):
            return np.array(dy) * (1 - np.square(np.array(y)))

        def train(use_py_func):
            with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
                with paddle.static.scope_guard(paddle.static.Scope()):
                    x = paddle.static.data("x", [-1, 8])
                    hidden = x
                    for i in range(4):
                        hidden = paddle.static.nn.fc(hidden, size=16)
                        if use_py_func:
                            out = create_tmp_var(
                                paddle.static.default_main_program(), f"hidden_{i}", "float32", hidden.shape
                            )
                            hidden = paddle.static.py_func(tanh, hidden, out, tanh_grad, hidden)
                        else:
                            hidden = paddle.tanh(hidden)
                    loss = paddle.mean(paddle.square(paddle.static.nn.fc(hidden, 1) - 1.0))
                    paddle.optimizer.SGD(learning_rate=0.1).minimize(loss)
                    paddle.seed(3)
                    exe.run(paddle.static.default_startup_program())
                    data = np.random.default_rng(1).normal(size=(10, 4, 8)).astype("float32")
                    return [float(exe.run(feed={"x": d}, fetch_list=[loss.name])[0]) for d in data]

        a, b = train(False), train(True)
        np.testing.assert_allclose(a, b, atol=1e-3)
        assert a[0] != a[-1]
        """,
    "layers and functionals": """
        x = paddle.static.data("x", [-1, 4])
        nn = paddle.nn
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 1))
        assert [p.name for p in net.parameters()] == ["linear_0.w_0", "linear_0.b_0", "linear_1.w_0", "linear_1.b_0"]
        loss = F.mse_loss(net(x), paddle.ones([1]))
        test = main.clone(for_test=True)
        optimizer = paddle.optimizer.Momentum(0.1, parameters=net.parameters())
        _, pairs = optimizer.minimize(loss)
        assert [p.name for p, g in pairs] == [p.name for p in net.parameters()]
        exe.run(startup)
        first = np.array(paddle.static.global_scope().find_var("linear_0.w_0").get_tensor())
        assert (first == net[0].weight.numpy()).all()
        data = rng.normal(size=(32, 4)).astype("float32")
        before, = exe.run(test, {"x": data}, [loss])
        for _ in range(60):
            exe.run(main, feed={"x": data}, fetch_list=[loss])
        after, again = (exe.run(test, {"x": data}, [loss])[0] for _ in range(2))
        assert after == again and after < before
        exe.run(startup)
        assert (np.array(net[0].weight) != first).any() and exe.run(test, {"x": data}, [loss])[0] > after
        """,
    "layers for images and sequences": """
        nn = paddle.nn
        paddle.disable_static()
        for static in (False, True):
            (paddle.enable_static if static else paddle.disable_static)()
            net = nn.Sequential(
                nn.Conv2D(1, 4, 3, padding=1), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2), nn.AvgPool2D([2, 2]),
                nn.Flatten(), nn.LayerNorm(16), nn.Linear(16, 3),
            )
            table = nn.Embedding(10, 3, padding_idx=0)
            images, ids = rng.normal(size=(8, 1, 8, 8)).astype("float32"), rng.integers(0, 10, (8,))
            make = lambda x, i: F.cross_entropy(net(x) + table(i), i % 3)
            parameters = net.parameters() + table.parameters()
            optimizer = paddle.optimizer.Adam(0.05, parameters=parameters)
            losses = []
            if static:
                loss = make(paddle.static.data("x", [-1, 1, 8, 8]), paddle.static.data("i", [-1], "int64"))
                test = main.clone(for_test=True)
                optimizer.minimize(loss)
                exe.run(startup)
                feed = {"x": images, "i": ids}
                losses = [float(exe.run(feed=feed, fetch_list=[loss])[0]) for _ in range(30)]
                assert abs(float(exe.run(test, feed, [loss])[0]) - losses[-1]) < 0.5
            else:
                for _ in range(30):
                    loss = make(paddle.to_tensor(images), paddle.to_tensor(ids))
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
                    losses.append(float(loss))
            assert losses[-1] < 0.3 * losses[0], (static, losses)
            assert (np.array(net[1]._mean) != 0).any() and len(parameters) == 11
            assert not np.array(table.weight)[0].any()
        """,
    "operators": """
        x = paddle.static.data("x", [-1, 2, 3])
        total = x
        total += 1
        assert total is not x
        results = [
            total,
            paddle.reshape(x, [0, -1]),
            paddle.reshape(x, [-1, 3]),
            paddle.sum(x, axis=[1], keepdim=True),
            x.mean(axis=-1),
            paddle.concat([x, x * 2], axis=1),
            paddle.transpose(x, [0, 2, 1]),
            paddle.matmul(x, x, transpose_y=True),
            x[:, 0],
            paddle.cast(x, "int64"),
            x.astype("float64"),
            F.softmax(x),
            paddle.maximum(x, paddle.zeros([3])),
            x.sum(axis=[0, 1], keepdim=True),
            x.max(axis=1, keepdim=True),
            x.reshape([0, 6]).unsqueeze(1).squeeze(1).t(),
            x.transpose([1, 0, 2]),
            x.flatten(1),
            x.split([1, -1], axis=2)[1],
            paddle.numel(x),
            paddle.expand(paddle.unsqueeze(x, 1), [-1, 4, 2, 3]),
            x.clip(-0.5, 0.5),
        ]
        n = rng.normal(size=(5, 2, 3)).astype("float32")
        e = np.exp(n)
        expected = [
            n + 1, n.reshape(5, 6), n.reshape(-1, 3), n.sum(1, keepdims=True), n.mean(-1),
            np.concatenate([n, n * 2], 1), n.transpose(0, 2, 1), n @ n.transpose(0, 2, 1), n[:, 0], n.astype("int64"),
            n.astype("float64"), e / e.sum(-1, keepdims=True), np.maximum(n, 0), n.sum((0, 1), keepdims=True),
            n.max(1, keepdims=True), n.reshape(5, 6).T, n.transpose(1, 0, 2), n.reshape(5, 6), n[..., 1:], np.array(30),
            np.repeat(n[:, None], 4, 1), n.clip(-0.5, 0.5),
        ]
        assert results[1].shape == [-1, 6] and results[2].shape == [-1, 3]
        for found, wanted in zip(exe.run(feed={"x": n}, fetch_list=results), expected, strict=True):
            np.testing.assert_allclose(found, wanted, 1e-5, 1e-6)
            assert found.dtype == wanted.dtype
        w = paddle.create_parameter([2], "float32")
        assert (w.persistable, w.is_parameter, w.trainable) == (True, True, True)
        assert (x.persistable, x.is_parameter, x.trainable) == (False, False, False)
        assert x.block is main.global_block() and [v for v in main.list_vars() if v.persistable][0] is w
        """,
    "gradients": """
        x = paddle.static.data("x", [-1, 3])
        x.stop_gradient = False
        w = paddle.create_parameter([3, 2], "float32", name="w")
        y = paddle.matmul(x, w)
        grads = paddle.static.gradients([y], [x, w])
        pairs = paddle.static.append_backward(paddle.mean(y), parameter_list=[w])
        assert pairs[0][0].name == "w" and pairs[0][1].shape == [3, 2]
        exe.run(startup)
        n = rng.normal(size=(4, 3)).astype("float32")
        dx, dw, dmean = exe.run(feed={"x": n}, fetch_list=[*grads, pairs[0][1]])
        np.testing.assert_allclose(dw, n.sum(0)[:, None].repeat(2, 1), 1e-5)
        np.testing.assert_allclose(dmean, dw / 8, 1e-5)
        """,
    "backward and apply_gradients": """
        x = paddle.static.data("x", [-1, 3])
        loss = paddle.mean(paddle.static.nn.fc(x, 1))
        optimizer = paddle.optimizer.SGD(0.5)
        pairs = optimizer.backward(loss)
        optimizer.apply_gradients(pairs)
        exe.run(startup)
        scope = paddle.static.global_scope()
        before = np.array(scope.find_var("fc_0.b_0").get_tensor())
        exe.run(feed={"x": np.ones((2, 3), "float32")})
        np.testing.assert_allclose(np.array(scope.find_var("fc_0.b_0").get_tensor()), before - 0.5)
        """,
    "convolutions, normalizations and tables": """
        image = paddle.static.data("image", [None, 1, 8, 8])
        ids = paddle.static.data("ids", [None, 2], "int64")
        hidden = paddle.static.nn.conv2d(input=image, num_filters=4, filter_size=3, padding=1, act="relu")
        hidden = paddle.static.nn.batch_norm(input=hidden)
        rows = paddle.static.nn.embedding(input=ids, size=[10, 6])
        hidden = paddle.concat([paddle.flatten(hidden, 1), paddle.flatten(rows, 1)], axis=1)
        hidden = paddle.static.nn.layer_norm(hidden)
        loss = paddle.mean(paddle.static.nn.fc(hidden, 3) ** 2)
        paddle.optimizer.AdamW(0.01, weight_decay=0.1).minimize(loss)
        exe.run(startup)
        feed = {"image": rng.normal(size=(4, 1, 8, 8)).astype("float32"), "ids": rng.integers(0, 10, (4, 2))}
        losses = [float(exe.run(feed=feed, fetch_list=[loss])[0]) for _ in range(20)]
        assert losses[-1] < 0.5 * losses[0]
        """,
    "the older names": """
        from paddle import base
        from paddle.base import core
        with base.program_guard(base.Program(), base.Program()), base.scope_guard(core.Scope()):
            x = paddle.static.data("x", [-1, 2])
            ones = base.ParamAttr(name="ones", initializer=paddle.nn.initializer.Constant(value=1.0))
            y = paddle.static.nn.fc(x, 1, weight_attr=ones, bias_attr=False)
            exe = base.Executor(base.CPUPlace())
            exe.run(base.default_startup_program())
            assert exe.run(base.default_main_program(), {"x": [[1, 2]]}, [y])[0].tolist() == [[3.0]]
        with paddle.utils.unique_name.guard():
            assert paddle.utils.unique_name.generate("fc") == "fc_0"
        """,
    "readers, feeders and compiled programs": """
        import warnings
        from paddle import base
        from paddle.base import compiler
        x, label = paddle.static.data("x", [-1, 2, 2]), paddle.static.data("label", [-1, 1], "int64")
        y = paddle.sum(x, axis=[1, 2]) + label.astype("float32").squeeze(1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert x == x
        assert "taken for True, as in Paddle" in str(caught[0].message)
        raises(RuntimeError, lambda: bool(x > 0), "runs")
        feeder = base.DataFeeder(feed_list=[x, "label"], place=base.CPUPlace())
        examples = [(rng.random(4), [i]) for i in range(5)]
        batches = list(paddle.batch(lambda: iter(examples), batch_size=2)())
        assert [len(b) for b in batches] == [2, 2, 1]
        assert len(list(paddle.batch(lambda: iter(examples), 2, drop_last=True)())) == 2
        program = compiler.CompiledProgram(main)
        found = [exe.run(program, feed=feeder.feed(b), fetch_list=[y])[0] for b in batches]
        np.testing.assert_allclose(np.concatenate(found), [e.sum() + i for i, (e, _) in enumerate(examples)], 1e-5)
        raises(ValueError, lambda: feeder.feed([(1,)]), "example 0", "1 values", "2 variables")
        raises(ValueError, lambda: feeder.feed([([1, 2], [0])]), "'x'", "[-1, 2, 2]")
        raises(ValueError, lambda: feeder.feed([]), "no example")
        raises(ValueError, lambda: base.DataFeeder(["nothing"]), "'nothing'")
        """,
    "static_pylayer": """
        x = paddle.static.data("x", [-1, 3])
        x.stop_gradient = False
        for backward, slope in ((lambda dy: 2 * paddle.exp(dy), 2 * np.e), (None, None)):
            y = paddle.static.nn.static_pylayer(lambda x: paddle.exp(x), [x], backward)
            grads = paddle.static.gradients(paddle.sum(y), x)
            n = rng.normal(size=(2, 3)).astype("float32")
            np.testing.assert_allclose(exe.run(feed={"x": n}, fetch_list=[y])[0], np.exp(n), 1e-5)
            if slope is None:
                assert grads == [None]
            else:
                np.testing.assert_allclose(exe.run(feed={"x": n}, fetch_list=grads)[0], np.full((2, 3), slope), 1e-5)
        raises(TypeError, lambda: paddle.static.nn.static_pylayer(3, [x]), "forward_fn")
        """,
    "cond": """
        x = paddle.static.data("x", [-1, 3])
        x.stop_gradient = False
        hidden = paddle.static.nn.fc(x, 3, bias_attr=False)
        w = main.all_parameters()[0]
        y = paddle.static.nn.cond(paddle.sum(x) > 0, lambda: hidden * 2, lambda: paddle.matmul(x - 1, w))
        grads = paddle.static.gradients(paddle.sum(y), [x, w])
        assert list(y.shape) == [-1, 3]
        exe.run(startup)
        weight = np.array(paddle.static.global_scope().find_var(w.name).get_tensor())
        for sign in (1, -1):
            n = sign * np.abs(rng.normal(size=(2, 3))).astype("float32")
            expected = n @ weight * 2 if sign > 0 else (n - 1) @ weight
            slope = 2 if sign > 0 else 1
            found = exe.run(feed={"x": n}, fetch_list=[y, *grads])
            np.testing.assert_allclose(found[0], expected, 1e-5)
            np.testing.assert_allclose(found[1], slope * np.ones((2, 3)) @ weight.T, 1e-5)
            np.testing.assert_allclose(found[2], (n * 2 if sign > 0 else n - 1).T @ np.ones((2, 3)), 1e-5)
        assert paddle.static.nn.cond(paddle.sum(x) > 0) is None
        raises(ValueError, lambda: paddle.static.nn.cond(paddle.sum(x) > 0, lambda: x, lambda: paddle.sum(x)),
               "true_fn gives float32[-1, 3]", "false_fn float32[]")
        raises(ValueError, lambda: paddle.static.nn.cond(paddle.sum(x) > 0, lambda: x), "structures")
        raises(TypeError, lambda: paddle.static.nn.cond(paddle.sum(x) > 0, 3, lambda: x), "true_fn")
        """,
    "while_loop": """
        x = paddle.static.data("x", [1])
        x.stop_gradient = False
        i = paddle.full([1], 0, dtype="int64")
        steps, y = paddle.static.nn.while_loop(
            lambda i, v: paddle.logical_and(i < 10, v < 100), lambda i, v: [i + 1, v * 2 + x], [i, x * 1]
        )
        [slope] = paddle.static.gradients(paddle.sum(y), x)
        for n in (1.0, 30.0, 1e-3, 200.0):
            count, v, d = 0, np.float32(n), 1.0
            while count < 10 and v < 100:
                count, v, d = count + 1, v * 2 + np.float32(n), d * 2 + 1
            found = exe.run(feed={"x": np.array([n], "float32")}, fetch_list=[steps, y, slope])
            assert found[0] == count and np.isclose(found[1], v) and np.isclose(found[2], d), (found, count, v, d)
        raises(ValueError, lambda: paddle.static.nn.while_loop(lambda v: paddle.sum(v) < 1, paddle.sum, [x * 1]),
               "carry[0]", "float32[1]", "float32[]")
        raises(TypeError, lambda: paddle.static.nn.while_loop(lambda v: v < 1, lambda v: v, x), "carry")
        paddle.disable_static()
        i, total = paddle.static.nn.while_loop(
            lambda i, t: i < 5, lambda i, t: [i + 1, t + i], [paddle.to_tensor(0), paddle.to_tensor(0)]
        )
        assert (int(i), int(total)) == (5, 10)
        assert paddle.static.nn.cond(paddle.to_tensor(False), lambda: 1, lambda: paddle.ones([2])).shape == [2]
        """,
    "inference programs": """
        import tempfile
        x = paddle.static.data("x", [-1, 3])
        y = paddle.static.nn.fc(x, 2, activation="tanh")
        exe.run(startup)
        n = rng.normal(size=(4, 3)).astype("float32")
        expected, = exe.run(feed={"x": n}, fetch_list=[y])
        with tempfile.TemporaryDirectory() as folder:
            paddle.static.save_inference_model(folder + "/m", [x], [y], exe)
            with paddle.static.scope_guard(paddle.static.Scope()):
                program, names, targets = paddle.static.load_inference_model(folder + "/m", exe)
                found, = exe.run(program, feed={names[0]: n}, fetch_list=targets)
            np.testing.assert_array_equal(found, expected)
            paddle.static.save(main, folder + "/m")
            exe.run(startup)
            paddle.static.load(main, folder + "/m", exe)
            np.testing.assert_array_equal(exe.run(feed={"x": n}, fetch_list=[y])[0], expected)
        """,
    "penalties, clipping and rates of a parameter alone": """
        L1, L2, Norm = paddle.regularizer.L1Decay, paddle.regularizer.L2Decay, paddle.nn.ClipGradByGlobalNorm
        steps, LookAhead = paddle.optimizer, paddle.incubate.optimizer.LookAhead
        is_weight = lambda name: name.endswith("w_0")
        cases = [
            (lambda **of: steps.SGD(0.1, **of), {"regularizer": L2(0.5)}),
            (lambda **of: steps.SGD(0.1, weight_decay=L2(0.5), **of), {"regularizer": L2(0.0)}),
            (lambda **of: steps.Adam(0.1, grad_clip=Norm(0.05), **of), {"regularizer": L1(0.2)}),
            (lambda **of: steps.Momentum(0.1, 0.9, weight_decay=0.1, **of), {"regularizer": L2(0.3)}),
            (lambda **of: steps.SGD(0.5, grad_clip=Norm(0.05), **of), {"need_clip": False}),
            (lambda **of: steps.AdamW(0.1, weight_decay=0.2, **of), {"regularizer": L2(0.3)}),
            (lambda **of: steps.SGD(0.1, **of), {"learning_rate": 0.3}),
            (lambda **of: steps.Adam(0.1, grad_clip=Norm(0.05), **of), {"learning_rate": 4, "regularizer": L1(0.2)}),
            (lambda **of: steps.Momentum(steps.lr.StepDecay(0.1, 2), 0.9, **of), {"learning_rate": 0.5}),
            (lambda **of: steps.AdamW(0.1, weight_decay=0.9, apply_decay_param_fun=is_weight, **of), {}),
            (lambda **of: steps.AdamW(0.1, lr_ratio=lambda p: 0.5 if len(p.shape) > 1 else 2.0, **of), {}),
            (lambda **of: steps.AdamW(0.1, lr_ratio=lambda p: 0.5, **of), {"learning_rate": 3.0}),
            (lambda **of: steps.Lamb(0.1, 0.9, exclude_from_weight_decay_fn=lambda p: is_weight(p.name), **of), {}),
            (lambda **of: LookAhead(steps.SGD(0.1, **of), 0.5, 2), {"learning_rate": 0.3}),
        ]
        n, w, v = (rng.normal(size=shape).astype("float32") for shape in ((5, 4), (4, 2), (2, 1)))
        start = paddle.nn.initializer.Assign

        def losses_at_once(make, options):
            paddle.disable_static()
            first = paddle.nn.Linear(4, 2, weight_attr=paddle.ParamAttr(initializer=start(w), **options))
            second = paddle.nn.Linear(2, 1, weight_attr=start(v))
            optimizer, found = make(parameters=[*first.parameters(), *second.parameters()]), []
            for _ in range(5):
                loss = paddle.mean(second(paddle.tanh(first(paddle.to_tensor(n)))) ** 2)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                found.append(float(loss))
            paddle.enable_static()
            return found

        for k, (make, options) in enumerate(cases):
            main, startup = paddle.static.Program(), paddle.static.Program()
            with paddle.static.program_guard(main, startup), paddle.static.scope_guard(paddle.static.Scope()):
                attr = paddle.ParamAttr(initializer=start(w), **options)
                hidden = paddle.static.nn.fc(paddle.static.data("x", [-1, 4]), 2, weight_attr=attr)
                y = paddle.static.nn.fc(paddle.tanh(hidden), 1, weight_attr=paddle.ParamAttr(initializer=start(v)))
                loss = paddle.mean(y * y)
                make().minimize(loss)
                exe.run(startup)
                found = [float(exe.run(main, feed={"x": n}, fetch_list=[loss])[0]) for _ in range(5)]
            np.testing.assert_allclose(found, losses_at_once(make, options), 1e-5, err_msg=str(k))
        """,
    "averages of parameters": """
        def ema(decay, **options):
            start = paddle.nn.initializer.Constant(0.5)
            main, startup = paddle.static.Program(), paddle.static.Program()
            with paddle.static.program_guard(main, startup), paddle.static.scope_guard(paddle.static.Scope()):
                x = paddle.static.data("x", [4, 3])
                steps = paddle.static.data("steps", [1])
                attr = paddle.ParamAttr(initializer=start)
                hidden = paddle.static.nn.fc(x, 2, weight_attr=attr, bias_attr=False)
                y = paddle.static.nn.fc(hidden, 1, bias_attr=paddle.ParamAttr(do_model_average=False))
                loss = paddle.mean(y * y)
                weight, bias = main.all_parameters()[0].name, main.all_parameters()[2].name
                before = main.clone(for_test=True)
                paddle.optimizer.Adam(0.1).minimize(loss)
                if options:
                    options = {"thres_steps": steps}
                average = paddle.static.ExponentialMovingAverage(decay, **options)
                average.update()
                exe.run(startup)
                value = lambda name: np.array(paddle.static.global_scope().find_var(name).get_tensor())
                mean, weights, shares, after = 0.0, [], [], main.clone(for_test=True)
                for k in range(5):
                    feed = {"x": rng.normal(size=(4, 3)).astype("float32"), "steps": np.float32([k])}
                    exe.run(main, feed=feed)
                    exe.run(after, feed=feed)
                    shares.append(min(decay, (k + 1) / (k + 10)) if options else decay)
                    weights.append(value(weight))
                    mean = mean * shares[-1] + weights[-1] * (1 - shares[-1])
                    bias_now = value(bias)
                    with average.apply(exe):
                        np.testing.assert_allclose(value(weight), mean / (1 - shares[-1] ** (k + 1)), 1e-4)
                        assert (value(bias) == bias_now).all()
                        moved = exe.run(before, feed=feed, fetch_list=[loss.name])
                    assert (value(weight) == weights[-1]).all()
                    assert k == 0 or moved != exe.run(before, feed=feed, fetch_list=[loss.name])
                with average.apply(exe, need_restore=False):
                    pass
                assert not np.allclose(value(weight), weights[-1])
                average.restore(exe)
                assert (value(weight) == weights[-1]).all()

        ema(0.9)
        ema(0.3, thres_steps=True)
        paddle.disable_static()
        raises(RuntimeError, lambda: paddle.static.ExponentialMovingAverage(), "ExponentialMovingAverage", "static")
        paddle.enable_static()
        """,
    "sampled classes": """
        x, label = paddle.static.data("x", [-1, 4]), paddle.static.data("label", [-1, 1], "int64")
        weight = rng.normal(size=(6, 4)).astype("float32")
        start, nce = paddle.nn.initializer.Assign, paddle.static.nn.nce
        attr = lambda: paddle.ParamAttr(initializer=start(weight))
        even = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(0.1))
        third = [0, 0, 1, 0, 0, 0]
        point = nce(x, label, 6, None, attr(), False, 3, sampler="custom_dist", custom_dist=third)
        uniform = nce(x, label, 6, None, even, num_neg_samples=4)
        weighted = nce(x, label, 6, label.astype("float32"), even, num_neg_samples=4)
        small = nce(x, label, 6, None, attr(), False, 200, sampler="log_uniform")
        learned = nce(x, label, 6, num_neg_samples=5)
        paddle.optimizer.Adam(0.1).minimize(paddle.mean(learned))
        exe.run(startup)
        n, classes = rng.normal(size=(300, 4)).astype("float32"), rng.integers(0, 5, (300, 1))
        feed, fetched = {"x": n, "label": classes}, [point, uniform, weighted, small, learned]
        found = exe.run(feed=feed, fetch_list=fetched)
        said = 1 / (1 + np.exp(-n @ weight.T))
        chances = 3 * np.array(third)
        true = np.take_along_axis(said, classes, 1)
        wanted = -np.log(true / (true + chances[classes])) - 3 * np.log(3 / (said[:, 2:3] + 3))
        np.testing.assert_allclose(found[0], wanted / 4, 1e-4)
        same = 1 / (1 + np.exp(-n.sum(1, keepdims=True) * 0.1))
        wanted = -np.log(same / (same + 4 / 6)) - 4 * np.log(4 / 6 / (same + 4 / 6))
        np.testing.assert_allclose(found[1], wanted / 5, 1e-4)
        np.testing.assert_allclose(found[2], wanted / 5 * classes, 1e-4)
        shares = np.log((np.arange(5) + 2) / (np.arange(5) + 1)) / np.log(6)
        terms = -np.log(200 * shares / (said[:, :5] + 200 * shares))
        wanted = -np.log(true / (true + 200 * shares[classes])) + 200 * (terms * shares).sum(1, keepdims=True)
        np.testing.assert_allclose(found[3].mean(), (wanted / 201).mean(), 0.01)
        assert exe.run(feed=feed, fetch_list=[small])[0].mean() != found[3].mean()  # drawn anew
        for _ in range(40):
            last = exe.run(feed=feed, fetch_list=[learned])[0].mean()
        assert last < found[4].mean() - 0.02, (last, found[4].mean())
        raises(ValueError, lambda: nce(x, label, 6, sampler="other"), "nce", "other")
        raises(ValueError, lambda: nce(x, label, 6, sampler="custom_dist", custom_dist=[1.0]), "6")
        """,
    "measures": """
        x, y = paddle.static.data("x", [-1, 3]), paddle.static.data("y", [-1, 1], "int64")
        measure = paddle.metric.Accuracy(topk=(1, 2))
        fetched = [paddle.metric.accuracy(x, y), paddle.metric.accuracy(x, y, k=2), measure.compute(x, y)]
        exe.run(startup)
        feed = {"x": np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]], "float32"), "y": np.array([[0], [1]])}
        one, two, correct = exe.run(feed=feed, fetch_list=fetched)
        assert one == 0 and two == 0.5 and correct.tolist() == [[0, 0], [0, 1]]
        assert measure.update(correct) == [0, 0.5] and measure.accumulate() == [0, 0.5]
        """,
    "and back": """
        x = paddle.static.data("x", [2])
        paddle.disable_static()
        assert paddle.in_dynamic_mode() and (paddle.ones([2]) * 2).numpy().tolist() == [2, 2]
        out = paddle.zeros([2])
        y = paddle.static.nn.py_func(
            lambda x: np.tanh(x), leaf([0.5, 1.0]), out, lambda x, y, dy: np.array(dy) * (1 - np.array(y) ** 2)
        )
        assert y is out and not y.stop_gradient
        """,
}


@pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_programs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(STATIC + code)


SCHEDULES = {
    "StepDecay(0.1, 2, 0.5)": [0.1, 0.1, 0.05, 0.05, 0.025],
    "MultiStepDecay(0.1, [1, 3], 0.5)": [0.1, 0.05, 0.05, 0.025, 0.025],
    "ExponentialDecay(0.1, 0.5)": [0.1, 0.05, 0.025, 0.0125, 0.00625],
    "NaturalExpDecay(0.1, 0.5)": [0.1, 0.060653066, 0.036787944, 0.022313016, 0.013533528],
    "InverseTimeDecay(0.1, 1.0)": [0.1, 0.05, 0.1 / 3, 0.025, 0.02],
    "PiecewiseDecay([1, 3], [0.3, 0.2, 0.1])": [0.3, 0.2, 0.2, 0.1, 0.1],
    "CosineAnnealingDecay(0.1, 4)": [0.1, 0.085355339, 0.05, 0.014644661, 0.0],
    "PolynomialDecay(0.1, 4, 0.0)": [0.1, 0.075, 0.05, 0.025, 0.0],
    "PolynomialDecay(0.1, 2, 0.0, cycle=True)": [0.1, 0.05, 0.0, 0.025, 0.0],
    "NoamDecay(4, 2, 1.0)": [0.0, 0.1767767, 0.35355339, 0.28867513, 0.25],
    "LinearWarmup(0.5, 2, 0.0, 1.0)": [0.0, 0.5, 0.5, 0.5, 0.5],
    "LinearWarmup(lr.ExponentialDecay(0.5, 0.5), 2, 0.0, 1.0)": [0.0, 0.5, 0.5, 0.25, 0.125],
    "LambdaDecay(0.1, lambda epoch: 1 / (1 + epoch))": [0.1, 0.05, 0.1 / 3, 0.025, 0.02],
    "MultiplicativeDecay(0.1, lambda epoch: 0.5)": [0.1, 0.05, 0.025, 0.0125, 0.00625],
    "LinearLR(0.1, 4, 0.2)": [0.02, 0.04, 0.06, 0.08, 0.1, 0.1],
    "CosineAnnealingWarmRestarts(0.1, 2)": [0.1, 0.05, 0.1, 0.05, 0.1],
    "CyclicLR(0.1, 0.5, 2)": [0.1, 0.3, 0.5, 0.3, 0.1, 0.3],
    "OneCycleLR(0.5, 5, 5.0, 0.01, 0.4, 'linear')": [0.1, 0.5, 1.01 / 3, 0.52 / 3, 0.01],
}


def test_schedules_and_clipping():
    run(
        f"""
        from paddle.optimizer import lr
        for text, expected in {SCHEDULES!r}.items():
            schedule = eval("lr." + text)
            found = []
            for _ in expected:
                found.append(schedule())
                schedule.step()
            np.testing.assert_allclose(found, expected, 1e-6, 1e-9, err_msg=text)
        schedule = lr.StepDecay(0.1, 2)
        w = paddle.nn.Linear(1, 1).weight
        optimizer = paddle.optimizer.SGD(schedule, [w])
        schedule.step(4)
        assert abs(optimizer.get_lr() - 0.001) < 1e-9
        raises(RuntimeError, lambda: optimizer.set_lr(1.0), "schedule")
        other = lr.StepDecay(0.1, 2)
        other.set_state_dict(schedule.state_dict())
        assert other() == schedule()
        plateau, others = (lr.ReduceOnPlateau(1.0, factor=0.5, patience=1) for _ in range(2))
        for metric, expected in [(3.0, 1.0), (3.0, 1.0), (paddle.to_tensor(3.0), 0.5)]:
            plateau.step(metric)
            assert plateau() == expected
        others.set_state_dict(plateau.state_dict())
        others.step(3.0)
        others.step(3.0)
        assert others() == 0.25 and plateau() == 0.5

        paddle.enable_static()
        clips = [
            (paddle.nn.ClipGradByValue(0.5), lambda a, b: (np.clip(a, -0.5, 0.5), np.clip(b, -0.5, 0.5))),
            (paddle.nn.ClipGradByNorm(1.0), lambda *pair: [g / max(np.linalg.norm(g), 1) for g in pair]),
            (
                paddle.nn.ClipGradByGlobalNorm(1.0),
                lambda a, b: tuple(g / max((np.linalg.norm(a)**2 + np.linalg.norm(b)**2)**0.5, 1) for g in (a, b)),
            ),
        ]
        for clip, formula in clips:
            main, startup = paddle.static.Program(), paddle.static.Program()
            with paddle.static.program_guard(main, startup), paddle.static.scope_guard(paddle.static.Scope()):
                x = paddle.static.data("x", [3])
                zero = paddle.nn.initializer.Constant(0.0)
                a, b = (paddle.create_parameter([3], "float32", name=n, attr=zero) for n in "ab")
                loss = paddle.sum(a * x) + paddle.sum(b * x * 0.1)
                schedule = lr.PiecewiseDecay([1], [1.0, 0.25])
                paddle.optimizer.SGD(schedule, grad_clip=clip).minimize(loss)
                exe = paddle.static.Executor()
                exe.run(startup)
                n = np.array([3.0, -2.0, 0.1], "float32")
                expected = [0, 0]
                for rate in (1.0, 0.25):
                    exe.run(main, {{"x": n}})
                    schedule.step()
                    expected = [e - rate * g for e, g in zip(expected, formula(n, n * 0.1))]
                    for name, value in zip("ab", expected):
                        found = np.array(paddle.static.global_scope().find_var(name).get_tensor())
                        np.testing.assert_allclose(found, value, 1e-5)
        """
    )


def test_cross_entropy():
    run(
        """
        F = paddle.nn.functional
        rng = np.random.default_rng(0)
        n, k = rng.normal(size=(5, 4)).astype("float32"), rng.integers(0, 4, 5)
        x, label = paddle.to_tensor(n), paddle.to_tensor(k)
        p = np.exp(n) / np.exp(n).sum(1, keepdims=True)
        losses = -np.log(p[np.arange(5), k])
        close = lambda a, b: np.testing.assert_allclose(a.numpy(), b, 1e-5)
        close(F.cross_entropy(x, label), losses.mean())
        close(F.cross_entropy(x, label, reduction="none"), losses)
        close(F.cross_entropy(x, label.reshape([5, 1]), reduction="none"), losses[:, None])
        close(F.cross_entropy(paddle.to_tensor(p), label, reduction="sum", use_softmax=False), losses.sum())
        soft = np.eye(4, dtype="float32")[k]
        close(F.cross_entropy(x, paddle.to_tensor(soft), soft_label=True), losses.mean())
        close(F.cross_entropy(x, paddle.to_tensor(soft), soft_label=True, reduction="none"), losses[:, None])
        close(F.square_error_cost(x, x + 2), np.full((5, 4), 4.0))
        w = np.array([1, 2, 3, 4], "float32")
        close(F.cross_entropy(x, label, paddle.to_tensor(w)), (losses * w[k]).sum() / w[k].sum())
        """
    )


def test_the_start_up_program_puts_statistics_into_the_scope():
    run(
        """
        with paddle.static.program_guard(paddle.static.Program(), startup := paddle.static.Program()):
            norm = paddle.nn.BatchNorm1D(3)
        with paddle.static.scope_guard(scope := paddle.static.Scope()):
            paddle.static.Executor().run(startup)
        found = [np.array(scope.find_var(each.name).get_tensor()) for each in (norm._mean, norm._variance)]
        np.testing.assert_array_equal(found, [[0.0] * 3, [1.0] * 3])
        """
    )


def test_the_start_up_program_puts_recurrent_layers_into_the_scope():
    run(
        """
        drawn = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(0.25))
        layers = ("LSTM", "GRU", "SimpleRNN", "LSTMCell", "GRUCell", "SimpleRNNCell")
        for name in layers:
            with paddle.static.program_guard(paddle.static.Program(), startup := paddle.static.Program()):
                layer = getattr(paddle.nn, name)(3, 4, weight_ih_attr=drawn, bias_hh_attr=paddle.ParamAttr(name=name))
            found = []
            for _ in range(2):
                with paddle.static.scope_guard(scope := paddle.static.Scope()):
                    paddle.static.Executor().run(startup)
                found.append([np.array(scope.find_var(each.name).get_tensor()) for each in layer.parameters()])
            for first, again, parameter in zip(*found, layer.parameters()):
                assert list(first.shape) == list(parameter.shape) and abs(first).max() <= 0.5, parameter.name
                assert (first == 0.25).all() or not np.array_equal(first, again), parameter.name
            assert sum((each == 0.25).all() for each in found[0]) == 1 and scope.find_var(name) is not None
        """
    )


def test_names_that_are_not_there_say_so():
    run(
        """
        raises(AttributeError, lambda: paddle.static.nn.nosuch, "paddle.static.nn.nosuch")
        raises(AttributeError, lambda: paddle.static.nosuch, "paddle.static.nosuch")
        raises(AttributeError, lambda: paddle.optimizer.lr.nosuch, "paddle.optimizer.lr.nosuch")
        raises(ValueError, lambda: paddle.optimizer.SGD(0.1), "parameters")
        """
    )
