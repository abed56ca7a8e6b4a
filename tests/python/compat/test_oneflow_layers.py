"""The oneflow front: layers, functions and starting values of variables, in jobs."""

from .test_oneflow_jobs import run


def test_layers_and_functions_compute_what_their_formulas_say():
    run("""
        pictures = rng.normal(size=(2, 4, 7, 6)).astype(np.float32)
        kernel = rng.normal(size=(3, 4, 3, 3)).astype(np.float32)

        def windows(a, k, stride, low, high, fill):
            a = np.pad(a, ((0, 0), (0, 0), (low[0], high[0]), (low[1], high[1])), constant_values=fill)
            rows, columns = (a.shape[2] - k) // stride + 1, (a.shape[3] - k) // stride + 1
            return np.stack([a[:, :, i * stride : i * stride + k, j * stride : j * stride + k]
                             for i in range(rows) for j in range(columns)],
                            2).reshape(*a.shape[:2], rows, columns, k, k)

        def same(size, k, stride, upper):
            total = max((-(-size // stride) - 1) * stride + k - size, 0)
            return (total // 2, total - total // 2) if upper else (total - total // 2, total // 2)

        def job_of(function, *shapes):
            names = [f"a{k}" for k in range(len(shapes))]
            space = {"function": function}
            exec(f"def job({', '.join(names)}):\\n    return function({', '.join(names)})", space)
            placeholders = {name: tp.Numpy.Placeholder(shape) for name, shape in zip(names, shapes)}
            space["job"].__annotations__ = placeholders | {"return": tp.Numpy}
            return flow.global_function(type="train")(space["job"])

        for padding in ("VALID", "SAME", "SAME_UPPER", ((0, 0), (0, 0), (1, 0), (2, 1))):
            for stride in (1, 2, 3):
                if padding == "VALID":
                    pads = [(0, 0), (0, 0)]
                elif isinstance(padding, str):
                    pads = [same(size, 3, stride, padding == "SAME_UPPER") for size in (7, 6)]
                else:
                    pads = padding[2:]
                low, high = zip(*pads)
                wanted = np.einsum("ncijkl,ockl->noij", windows(pictures, 3, stride, low, high, 0), kernel)
                job = job_of(lambda a, b: flow.nn.conv2d(a, b, stride, padding), (2, 4, 7, 6), (3, 4, 3, 3))
                got = job(pictures, kernel)
                assert got.shape == wanted.shape and np.allclose(got, wanted, atol=1e-4), (padding, stride)
                wanted = windows(pictures, 3, stride, low, high, -np.inf).max((-1, -2))
                got = job_of(lambda a: flow.nn.max_pool2d(a, 3, stride, padding), (2, 4, 7, 6))(pictures)
                assert np.array_equal(got, wanted), (padding, stride)
                wanted = np.nanmean(windows(pictures, 3, stride, low, high, np.nan), (-1, -2))
                got = job_of(lambda a: flow.nn.avg_pool2d(a, 3, stride, padding), (2, 4, 7, 6))(pictures)
                assert np.allclose(got, wanted, atol=1e-5), (padding, stride)

        flat = pictures.reshape(2, -1)
        shifted = (flat - flat.mean(1, keepdims=True)) / np.sqrt(flat.var(1, keepdims=True) + 1e-5)
        mean, var = pictures.mean((0, 2, 3), keepdims=True), pictures.var((0, 2, 3), keepdims=True)
        mean_last = pictures.mean((0, 1, 2)), pictures.var((0, 1, 2))
        p = 1 / (1 + np.exp(-pictures))
        softmax = np.exp(pictures) / np.exp(pictures).sum(-1, keepdims=True)
        for function, wanted in [
            (flow.math.reduce_mean, pictures.mean().reshape(1)),
            (lambda a: flow.math.reduce_sum(a, axis=[1, 3], keepdims=True), pictures.sum((1, 3), keepdims=True)),
            (lambda a: flow.math.reduce_max(a, axis=2), pictures.max(2)),
            (lambda a: flow.transpose(a, perm=[0, 2, 3, 1]), pictures.transpose(0, 2, 3, 1)),
            (lambda a: flow.concat([a, a * 2], axis=1), np.concatenate([pictures, pictures * 2], 1)),
            (lambda a: flow.stack([a, a], axis=1), np.stack([pictures, pictures], 1)),
            (lambda a: flow.squeeze(flow.expand_dims(a, 0)), pictures),
            (lambda a: flow.flatten(a, start_dim=1), flat),
            (lambda a: flow.matmul(a, a, transpose_b=True), pictures @ pictures.swapaxes(-1, -2)),
            (lambda a: flow.cast(flow.math.argmax(a, axis=3), flow.float), pictures.argmax(3)),
            (lambda a: flow.cast(flow.math.greater(a, 0 * a), flow.float), pictures > 0),
            (lambda a: flow.math.add_n([a, a, a]), pictures * 3),
            (lambda a: flow.math.clip_by_value(a, -0.5, 0.5), pictures.clip(-0.5, 0.5)),
            (lambda a: flow.slice(a, [None, 1, 2, 0], [None, 2, -1, 3]), pictures[:, 1:3, 2:, :3]),
            (lambda a: flow.gather(a, flow.constant(1, flow.int64, (1,)), axis=1), pictures[:, 1:2]),
            (lambda a: flow.nn.leaky_relu(a, 0.1), np.where(pictures > 0, pictures, 0.1 * pictures)),
            (lambda a: flow.nn.softmax(a), softmax),
            (
                lambda a: flow.nn.softmax_cross_entropy_with_logits(flow.nn.softmax(a), a),
                -(softmax * np.log(softmax)).sum(-1),
            ),
            (lambda a: flow.nn.sigmoid_cross_entropy_with_logits(flow.ones_like(a), a), -np.log(p)),
            (lambda a: flow.nn.bias_add(a, flow.constant(2.0, shape=(4,))), pictures + 2),
            (lambda a: flow.layers.layer_norm(a), shifted.reshape(pictures.shape)),
            (lambda a: flow.layers.batch_normalization(a, axis=1, name="n1"), (pictures - mean) / np.sqrt(var + 1e-3)),
            (
                lambda a: flow.layers.batch_normalization(a, name="n2"),
                (pictures - mean_last[0]) / np.sqrt(mean_last[1] + 1e-3),
            ),
        ]:
            got = job_of(function, pictures.shape)(pictures)
            assert got.shape == wanted.shape and np.allclose(got, wanted, atol=1e-4), (got, wanted)
        # Running statistics move in jobs that train, and are what others normalize by.
        assert np.allclose(variables()["n1-moving_mean"], 0.01 * mean.reshape(-1), atol=1e-5)

        @flow.global_function()
        def predict(a: tp.Numpy.Placeholder((2, 4, 7, 6))) -> tp.Numpy:
            return flow.layers.batch_normalization(a, axis=1, name="n1")
        now = variables()
        moving = [now[name].reshape(1, 4, 1, 1) for name in ("n1-moving_mean", "n1-moving_variance")]
        wanted = (pictures - moving[0]) / np.sqrt(moving[1] + 1e-3)
        assert np.allclose(predict(pictures), wanted, atol=1e-4)
        assert np.array_equal(variables()["n1-moving_mean"], now["n1-moving_mean"])
        """)


def test_starting_values_names_and_seeds():
    run(
        """
        drawn = {
            "random_uniform_initializer(-1, 3)": (1, 16 / 12, -1, 3),
            "random_normal_initializer(2, 0.5)": (2, 0.25, -1, 5),
            "truncated_normal_initializer(1, 2)": (1, 4 * 0.7737413, -3, 5),
            "truncated_normal(0.1)": (0, 0.01 * 0.7737413, -0.2, 0.2),
            "xavier_uniform_initializer()": (0, 2 / 400, -1, 1),
            "glorot_normal_initializer()": (0, 2 / 400, -1, 1),
            "variance_scaling_initializer(3, 'fan_out')": (0, 3 / 300, -1, 1),
            "kaiming_initializer((300, 100), 'random_uniform', nonlinearity='relu')": (0, 2 / 100, -1, 1),
        }

        @flow.global_function()
        def job() -> Tuple[tp.Numpy, ...]:
            made = []
            for k, text in enumerate(drawn):
                with flow.scope.namespace("outer"), flow.scope.namespace("inner"):
                    made.append(flow.get_variable(f"v{k}", (300, 100), initializer=eval("flow." + text)))
            for k in range(2):
                normal = flow.random_normal_initializer()
                made.append(flow.get_variable(f"s{k}", (9,), initializer=normal, random_seed=3))
            made.append(flow.get_variable("c", (2,), dtype=flow.int64, initializer=flow.constant_initializer(7)))
            return tuple(made)

        *values, first, second, constants = job()
        for (text, (mean, variance, low, high)), value in zip(drawn.items(), values, strict=False):
            assert abs(value.mean() - mean) < 0.02 * max(1, variance**0.5), text
            assert abs(value.var() / variance - 1) < 0.05 and low <= value.min() and value.max() <= high, text
        assert np.array_equal(first, second) and constants.tolist() == [7, 7]
        assert {"outer-inner-v0", "s0", "c"} <= set(variables())

        config = flow.FunctionConfig()
        config.default_data_type(flow.double)
        config.default_logical_view(flow.scope.consistent_view())

        @flow.global_function(function_config=config)
        def doubles() -> tp.Numpy:
            split = flow.distribute.split(0)
            return flow.get_variable("d", (2,), initializer=flow.zeros_initializer(), distribute=split)
        assert doubles().dtype == np.float64
        """.replace("Tuple[", "tuple[")
    )
