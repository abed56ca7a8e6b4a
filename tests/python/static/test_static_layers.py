"""Layers in programs: against the operators that they call, in training and in copies for tests."""

import numpy as np
import pytest

import lamella as lm
from lamella import static
from lamella.static import nn


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


FC = {
    "a matrix": ([-1, 4], {}, lambda x, w, b: x @ w + b),
    "no bias": ([-1, 4], {"bias_attr": False}, lambda x, w, b: x @ w),
    "axes joined": ([-1, 2, 3], {}, lambda x, w, b: x.reshape(-1, 6) @ w + b),
    "two axes stay": ([-1, 2, 3], {"num_flatten_dims": 2}, lambda x, w, b: x @ w + b),
    "the last axis": ([-1, 2, 3], {"num_flatten_dims": -1}, lambda x, w, b: x @ w + b),
    "tanh": ([-1, 4], {"activation": "tanh"}, lambda x, w, b: np.tanh(x @ w + b)),
    "sigmoid": ([5, 4], {"activation": "sigmoid"}, lambda x, w, b: sigmoid(x @ w + b)),
}


@pytest.mark.parametrize("case", FC)
def test_fc(bench, rng, case):
    shape, options, formula = FC[case]
    y = nn.fc(static.data("x", shape), 3, **options)
    bench.start()
    values = rng.normal(size=[5 if n == -1 else n for n in shape]).astype("float32")
    bias = np.zeros(3) if options.get("bias_attr") is False else rng.normal(size=3)
    if options.get("bias_attr") is not False:
        bench.scope.find_var("fc_0.b_0").get_tensor().set(bias)
    (found,) = bench.run({"x": values}, [y])
    np.testing.assert_allclose(found, formula(values, bench.array("fc_0.w_0"), bias), 1e-4, 1e-5)
    assert tuple(y.shape)[-1] == 3


def test_fc_of_several_variables(bench, rng):
    xs = [static.data(name, [-1, size]) for name, size in (("a", 2), ("b", 3))]
    y = nn.fc(xs, 4, weight_attr=["first", static.ParamAttr(name="second")], bias_attr=static.ParamAttr(name="bias"))
    bench.start()
    a, b = rng.normal(size=(5, 2)).astype("float32"), rng.normal(size=(5, 3)).astype("float32")
    (found,) = bench.run({"a": a, "b": b}, [y])
    np.testing.assert_allclose(found, a @ bench.array("first") + b @ bench.array("second"), 1e-4, 1e-5)


def test_fc_draws_as_xavier(bench):
    nn.fc(static.data("x", [-1, 300]), 200)
    bench.start()
    w = bench.array("fc_0.w_0")
    bound = np.sqrt(6 / 500)
    assert w.shape == (300, 200) and abs(w).max() <= bound and abs(w).max() > 0.99 * bound
    assert (bench.array("fc_0.b_0") == 0).all()


CONV = [
    {},
    {"stride": 2, "padding": 1},
    {"padding": "SAME"},
    {"padding": "VALID", "dilation": 2},
    {"groups": 2, "bias_attr": False},
    {"filter_size": [3, 1], "stride": [1, 2], "padding": [1, 0], "act": "relu"},
]


@pytest.mark.parametrize("options", CONV, ids=str)
def test_conv2d(bench, rng, options):
    options = {"filter_size": 3, **options}
    y = nn.conv2d(static.data("x", [-1, 4, 8, 8]), 6, **options)
    bench.start()
    values = rng.normal(size=(2, 4, 8, 8)).astype("float32")
    (found,) = bench.run({"x": values}, [y])
    with static.program.paused():
        padding = options.get("padding", 0)
        bias = None if options.get("bias_attr") is False else lm.tensor(bench.array("conv2d_0.b_0"))
        expected = lm.conv2d(
            lm.tensor(values),
            lm.tensor(bench.array("conv2d_0.w_0")),
            bias,
            stride=options.get("stride", 1),
            padding=padding.lower() if isinstance(padding, str) else padding,
            dilation=options.get("dilation", 1),
            groups=options.get("groups", 1),
        )
        expected = lm.relu(expected) if "act" in options else expected
    np.testing.assert_allclose(found, expected.numpy(), 1e-5, 1e-5)
    assert tuple(y.shape) == (-1, *expected.shape[1:])


@pytest.mark.parametrize("shape", [[-1, 3, 4], [6, 3, 4], [-1, 3, -1]])
@pytest.mark.parametrize("use_prune", [False, True])
def test_batch_norm(bench, rng, shape, use_prune):
    y = nn.batch_norm(static.data("x", shape), momentum=0.8)
    test = bench.main.clone(for_test=True)
    bench.start()
    with static.program.paused():
        layer = lm.nn.BatchNorm1d(3, momentum=0.2)
    variance = 1.0
    for _ in range(3):
        values = rng.normal(size=(6, 3, 4)).astype("float32") * 2 + 1
        variance = 0.8 * variance + 0.2 * values.var((0, 2))
        (found,) = bench.run({"x": values}, [y], use_prune=use_prune)
        with static.program.paused():
            expected = layer(lm.tensor(values)).detach().numpy()
        np.testing.assert_allclose(found, expected, 1e-5, 1e-5)
    before = [bench.array(f"batch_norm_0.{name}").copy() for name in ("mean", "var")]
    np.testing.assert_allclose(before, [layer.running_mean.numpy(), variance], 1e-5)
    (found,) = bench.run({"x": values}, [y], program=test)
    with static.program.paused():
        layer.running_var.copy_(lm.asarray(before[1]))
        expected = layer.eval()(lm.tensor(values)).detach().numpy()
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)
    np.testing.assert_array_equal([bench.array(f"batch_norm_0.{name}") for name in ("mean", "var")], before)
    assert {p.name for p in bench.main.all_parameters()} == {"batch_norm_0.w_0", "batch_norm_0.b_0"}


@pytest.mark.parametrize("option", ["is_test", "use_global_stats"])
def test_batch_norm_by_running_statistics(bench, option):
    x = static.data("x", [-1, 2])
    y = nn.batch_norm(x, moving_mean_name="m", moving_variance_name="v", act="relu", **{option: True})
    bench.start()
    bench.scope.find_var("m").get_tensor().set([1, 2])
    values = np.array([[3, 1], [5, 4]], "float32")
    found, _ = bench.run({"x": values}, [y, x])
    np.testing.assert_allclose(found, [[2, 0], [4, 2]], 1e-4)


def test_batch_norm_trains(bench, rng):
    x = static.data("x", [-1, 3])
    loss = lm.mean(lm.square(nn.batch_norm(nn.fc(x, 4)) - 1))
    test = bench.main.clone(for_test=True)
    lm.optim.Adam(bench.main.all_parameters(), 0.05).minimize(loss)
    bench.start()
    feed = {"x": rng.normal(size=(16, 3)).astype("float32")}
    losses = [float(bench.run(feed, [loss])[0]) for _ in range(150)]
    assert losses[-1] < 0.1 * losses[0]
    assert abs(float(bench.run(feed, [loss], program=test)[0]) - losses[-1]) < 0.2


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize(("scale", "shift"), [(True, True), (False, True), (False, False)])
def test_layer_norm(bench, rng, axis, scale, shift):
    y = nn.layer_norm(static.data("x", [-1, 3, 4]), scale, shift, axis)
    bench.start()
    values = rng.normal(size=(2, 3, 4)).astype("float32")
    axes = tuple(range(axis, 3))
    mean, var = values.mean(axes, keepdims=True), values.var(axes, keepdims=True)
    np.testing.assert_allclose(bench.run({"x": values}, [y])[0], (values - mean) / np.sqrt(var + 1e-5), 1e-4, 1e-5)
    names = {p.name for p in bench.main.all_parameters()}
    assert names == {f"layer_norm_0.{n}" for n, wanted in (("w_0", scale), ("b_0", shift)) if wanted}


@pytest.mark.parametrize("padding_idx", [None, 1, -1])
def test_embedding(bench, rng, padding_idx):
    ids = static.data("ids", [-1, 2], "int64")
    y = nn.embedding(ids, [5, 3], padding_idx=padding_idx, param_attr="table")
    static.append_backward(lm.sum(y))
    bench.start()
    values = rng.integers(0, 5, (4, 2))
    found, grad = bench.run({"ids": values}, [y, "table@GRAD"])
    table = bench.array("table")
    np.testing.assert_array_equal(found, table[values])
    counts = np.bincount(values.ravel(), minlength=5).astype("float32")
    if padding_idx is not None:
        counts[padding_idx] = 0
        assert (table[padding_idx] == 0).all()
    np.testing.assert_array_equal(grad, np.repeat(counts[:, None], 3, 1))


def test_dropout_is_off_in_copies_for_tests(bench):
    x = static.data("x", [-1])
    y = nn.dropout(x, 0.5)
    test = bench.main.clone(for_test=True)
    feed = {"x": np.ones(1000, "float32")}
    first, second = (bench.run(feed, [y])[0] for _ in range(2))
    assert set(np.unique(first)) == {0, 2} and (first != second).any()
    assert (bench.run(feed, [y], program=test)[0] == 1).all()


def test_modules_in_programs(bench, rng):
    with static.program.paused():
        model = lm.nn.Sequential(
            lm.nn.Conv2d(1, 2, 3, padding=1), lm.nn.BatchNorm2d(2), lm.nn.ReLU(), lm.nn.Dropout(0.5), lm.nn.Flatten(),
            lm.nn.Linear(32, 3),
        )  # fmt: skip
    y = model(static.data("x", [-1, 1, 4, 4]))
    test = bench.main.clone(for_test=True)
    feed = {"x": rng.normal(size=(3, 1, 4, 4)).astype("float32")}
    first, second = (bench.run(feed, [y])[0] for _ in range(2))
    assert first.shape == (3, 3) and (first != second).any()
    with static.program.paused(), lm.no_grad():
        model.eval()
        expected = model(lm.tensor(feed["x"])).numpy()
    np.testing.assert_allclose(bench.run(feed, [y], program=test)[0], expected, 1e-5, 1e-5)
    assert len(bench.main.all_parameters()) == 6


def test_a_module_that_is_made_while_a_program_is_built_has_values(bench):
    layer = lm.nn.Linear(3, 2)
    assert not isinstance(layer.weight, static.Variable) and (layer.weight.detach().numpy() != 0).any()
    assert not bench.main.global_block().ops


def test_print(bench, capsys):
    x = static.data("x", [-1])
    assert static.Print(x, message="here", summarize=2, first_n=2) is x
    static.Print(x * 2, print_tensor_name=False, print_tensor_type=False)
    for _ in range(3):
        bench.run({"x": np.array([1, 2, 3], "float32")})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "here  Variable: x  shape: [3]  dtype: float32  data: [1.0 2.0 ...]"
    assert lines[1] == "shape: [3]  data: [2.0 4.0 6.0]" and len(lines) == 5


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("shape", [[-1], [-1, 1]])
def test_accuracy(bench, rng, k, shape):
    scores, label = static.data("scores", [-1, 4]), static.data("label", shape, "int64")
    share = static.accuracy(scores, label, k)
    values, labels = rng.normal(size=(20, 4)).astype("float32"), rng.integers(0, 4, 20)
    (found,) = bench.run({"scores": values, "label": labels.reshape([20, *shape[1:]])}, [share])
    best = np.argsort(-values, 1)[:, :k]
    np.testing.assert_allclose(found, (best == labels[:, None]).any(1).mean(), 1e-6)


def test_parameters(bench):
    w = static.create_parameter([2, 3], "float64", attr=static.ParamAttr("w", lm.nn.init.ones_, trainable=False))
    b = static.create_parameter([3], is_bias=True, default_initializer=lambda t: lm.nn.init.constant_(t, 4))
    n = static.create_parameter([3], name="n", attr=lm.nn.init.ones_)
    assert (w.name, w.dtype, w.stop_gradient, b.stop_gradient) == ("w", lm.float64, True, False)
    assert static.create_parameter([2, 3], "float64", name="w") is w
    bench.start()
    assert (bench.array("w") == 1).all() and (bench.array(b.name) == 4).all() and (bench.array(n.name) == 1).all()


ERRORS = {
    "fc of a tensor": (TypeError, ["[fc]", "Tensor"], lambda x: nn.fc(lm.ones((2, 3)), 2)),
    "fc with an unknown size": (ValueError, ["[fc]", "'u'"], lambda x: nn.fc(static.data("u", [2, -1]), 2)),
    "fc's axes": (ValueError, ["num_flatten_dims", "'x'"], lambda x: nn.fc(x, 2, num_flatten_dims=4)),
    "fc's size": (ValueError, ["size"], lambda x: nn.fc(x, 0)),
    "fc's activation": (ValueError, ["[fc]", "'nothing'"], lambda x: nn.fc(x, 2, activation="nothing")),
    "fc's attr": (TypeError, ["[fc]", "int"], lambda x: nn.fc(x, 2, weight_attr=3)),
    "conv2d's rank": (ValueError, ["[conv2d]", "[4, 5, 5]"], lambda x: nn.conv2d(lm.squeeze(x[0:1], 0), 2, 3)),
    "conv2d's groups": (ValueError, ["[conv2d]", "3"], lambda x: nn.conv2d(x, 6, 3, groups=3)),
    "a layout": (NotImplementedError, ["NHWC"], lambda x: nn.conv2d(x, 6, 3, data_format="NHWC")),
    "layer_norm's axis": (ValueError, ["begin_norm_axis"], lambda x: nn.layer_norm(x, begin_norm_axis=4)),
    "embedding's row": (ValueError, ["padding_idx 9"], lambda x: nn.embedding(x, [5, 2], padding_idx=9)),
    "embedding's size": (ValueError, ["size"], lambda x: nn.embedding(x, [5])),
    "a name": (ValueError, ["name is empty"], lambda x: static.ParamAttr(name="")),
    "an initializer": (TypeError, ["initializer"], lambda x: static.ParamAttr(initializer=3)),
    "a rate": (NotImplementedError, ["learning_rate"], lambda x: static.ParamAttr(learning_rate=0.1)),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(bench, case):
    kind, words, call = ERRORS[case]
    with pytest.raises(kind) as caught:
        call(static.data("x", [-1, 4, 5, 5]))
    assert not [word for word in words if word not in str(caught.value)], caught.value


def test_layers_need_a_program():
    with pytest.raises(RuntimeError, match="enable_static"):
        nn.fc(lm.ones((2, 3)), 2)
