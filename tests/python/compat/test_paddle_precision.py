"""The Paddle front in 16 bits: texts of dtypes, files, layers that are turned to another dtype, their optimizers."""

import pytest

from support import extensions

HEAD = """
import io
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

equal = np.testing.assert_array_equal
close = np.testing.assert_allclose


def raises(kind, function, *words):
    try:
        function()
    except kind as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError(f"no {kind}")


def again(value, **options):
    file = io.BytesIO()
    paddle.save(value, file)
    file.seek(0)
    return paddle.load(file, **options)
"""

PROGRAMS = {
    "counts of operators": """
import contextlib, io
from paddle.amp import debugging
from paddle.autograd import PyLayer


class Twice(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        return dy * 2


def table(function):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), debugging.collect_operator_stats():
        function()
    head, titles, *rows, end = printed.getvalue().strip().splitlines()
    assert len(head) == len(end) == 122 and " op list " in head and f" op count: {len(rows)} " in end
    assert titles == (
        "<--------------- Op Name ---------------- | -- FP16 Calls --- | -- BF16 Calls --- | --- FP32 Calls--- | "
        "-- Other Calls -->"
    )
    cells = [[cell.strip() for cell in row.split("|")] for row in rows]
    return {name: [int(count) for count in counts] for name, *counts in cells}


x, half, layer = paddle.ones([2, 2]), paddle.ones([2, 2], "float16"), nn.Linear(2, 2)
assert table(lambda: None) == {}
assert table(lambda: x + x)["add"] == [0, 0, 1, 0]
assert table(lambda: (half * half, half.astype("bfloat16") * 2))["multiply"] == [1, 1, 0, 0]
assert table(lambda: (2 - x, x @ x, paddle.matmul(x, x), x.matmul(x)))["matmul"] == [0, 0, 3, 0]
assert table(lambda: (paddle.concat([half, half]), paddle.to_tensor([1]) + 1)) == {
    "add": [0, 0, 0, 1], "concat": [1, 0, 0, 0],
}
leaf = paddle.ones([2])
leaf.stop_gradient = False
found = table(lambda: Twice.apply(leaf).sum().backward())
assert found["Twice"] == [0, 0, 1, 0] and found["sum"] == [0, 0, 1, 0]
equal(leaf.grad.numpy(), [2, 2])
debugging.enable_operator_stats_collection()
debugging.enable_operator_stats_collection()
layer(x)
with contextlib.redirect_stdout(io.StringIO()) as printed:
    debugging.disable_operator_stats_collection()
    debugging.disable_operator_stats_collection()
assert printed.getvalue().count("op list") == 1 and " add " in printed.getvalue()
assert (x + x).sum() == 8
try:
    with debugging.collect_operator_stats():
        raise KeyError("mine")
except KeyError:
    debugging.disable_operator_stats_collection()
""",
    "texts of dtypes": """
for name in ("float16", "bfloat16", "float32", "float64", "int8", "int64", "bool", "complex64"):
    dtype = getattr(paddle, name)
    assert str(dtype) == f"{dtype}" == "%s" % dtype == repr(dtype) == "paddle." + name, str(dtype)
assert "dtype=float32" in repr(paddle.ones([2]))
""",
    "blocks of auto_cast change nothing on the CPU": """
import warnings

a, x, image = paddle.full([4, 4], 0.3), paddle.full([1, 2, 8], 0.7), paddle.full([1, 2, 6, 6], 0.1)
functions = [
    lambda: paddle.matmul(a, a), lambda: F.linear(a, a, a[0]), lambda: paddle.einsum("ij,jk->ik", a, a),
    lambda: F.conv1d(x, x), lambda: F.conv2d(image, image[:, :, :3, :3]), lambda: paddle.exp(a), lambda: F.softmax(a),
    lambda: a.sum(), lambda: F.gelu(paddle.mm(a, a)), lambda: F.layer_norm(a, [4]), lambda: nn.LSTM(4, 3)(a[None])[0],
    lambda: F.scaled_dot_product_attention(*[a.reshape([1, 2, 2, 4])] * 3), lambda: paddle.bmm(a[None], a[None]),
]
plain = [function().numpy() for function in functions]
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    for dtype in ("float16", "bfloat16", paddle.bfloat16):
        for level in ("O0", "O1", "O2", "OD", "o1"):
            lists = {"custom_white_list": ["exp"]}, {"custom_black_list": {"matmul_v2"}}
            for options in ({}, *lists, {"use_promote": False}):
                with paddle.amp.auto_cast(level=level, dtype=dtype, **options):
                    made = [function() for function in functions]
                assert all(each.dtype == paddle.float32 for each in made)
                for number, (each, wanted) in enumerate(zip(made, plain)):
                    if number != 10:  # new weights are drawn
                        equal(each.numpy(), wanted)
    with paddle.autocast("cpu", dtype="bfloat16"), paddle.amp.autocast(dtype="bfloat16"):
        assert functions[0]().dtype == paddle.float32
assert any("CPU" in str(each.message) for each in told)
raises(ValueError, lambda: paddle.amp.auto_cast(level="O3"), "auto_cast", "O3")
raises(ValueError, lambda: paddle.amp.auto_cast(dtype="float64"), "auto_cast", "float64")
raises(ValueError, lambda: paddle.amp.auto_cast(custom_white_list={"exp"}, custom_black_list={"exp"}), "exp")
net = nn.Linear(2, 2)
optimizer = paddle.optimizer.Adam(parameters=net.parameters())
for options in ({"master_weight": False}, {"save_dtype": "float16"}, {"level": "O1", "dtype": "bfloat16"}):
    assert paddle.amp.decorate(net, optimizer, **{"level": "O2", **options}) == (net, optimizer)
    assert net.weight.dtype == net.state_dict()["weight"].dtype == paddle.float32
raises(ValueError, lambda: paddle.amp.decorate(net, level="O3"), "decorate", "O3")
raises(ValueError, lambda: paddle.amp.decorate(net, dtype="float64"), "decorate", "float64")
""",
    "files tell arrays from tensors": """
net = nn.Linear(2, 3)
row = [np.zeros(3), paddle.zeros([2], "int64")]
values = {"array": np.ones(2), "tensor": paddle.ones([2]), "row": row, "word": "w"}
read = again(values)
assert isinstance(read["array"], np.ndarray) and isinstance(read["row"][0], np.ndarray) and read["word"] == "w"
assert read["tensor"].dtype == paddle.float32 and read["row"][1].dtype == paddle.int64
assert read["tensor"].name == values["tensor"].name
assert isinstance(again(values, return_numpy=True)["row"][1], np.ndarray)
assert isinstance(again(np.ones(2)), paddle.Tensor) and isinstance(again({"a": np.ones(2)})["a"], paddle.Tensor)
state = again(net.state_dict())
assert {key: x.name for key, x in state.items()} == {"weight": net.weight.name, "bias": net.bias.name}
equal(again((paddle.full([1], 3.0), 2))[0].numpy(), [3.0])
half = paddle.to_tensor([1.5, -0.01, float("inf")], dtype="bfloat16")
for value in (again(half), again({"x": half})["x"], again([half, np.ones(1)])[0]):
    assert value.dtype == paddle.bfloat16
    equal(value.astype("float32").numpy(), half.astype("float32").numpy())
bits = again(half, return_numpy=True)
assert bits.dtype == np.uint16 and paddle.to_tensor(bits).dtype == paddle.bfloat16
equal(half.view("int16").numpy(), bits.view(np.int16))
""",
    "numbers of masked_fill have the tensor's dtype": """
mask = paddle.to_tensor([True, False, True])
for dtype, value, filled in (
    ("int32", 1.5, 1), ("int64", -2.7, -2), ("int32", 4, 4),
    ("bool", 1.5, True), ("bool", 0, False), ("float32", 1.5, 1.5),
):
    x = paddle.to_tensor([1, 0, 3]).astype(dtype)
    wanted = np.where(mask.numpy(), filled, x.numpy())
    for made in (paddle.masked_fill(x, mask, value), x.masked_fill(mask, value), x.clone().masked_fill_(mask, value)):
        assert made.dtype == x.dtype
        equal(made.numpy(), wanted)
equal(paddle.masked_fill(paddle.zeros([3]), mask, paddle.to_tensor([2.5])).numpy(), [2.5, 0, 2.5])
""",
    "layers in another dtype keep their tensors": """
for turn in (
    lambda net: net.to(dtype="float64"), lambda net: net.to("cpu", "float64"), lambda net: net.astype("float64"),
    lambda net: net.to(dtype=paddle.float64, blocking=True),
):
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1D(2))
    weight, name, mean = net[0].weight, net[0].weight.name, net[1]._mean
    weight.optimize_attr = {"learning_rate": 2.0}
    optimizer = paddle.optimizer.SGD(0.5, parameters=net.parameters())
    before = weight.numpy()
    weight.sum().backward()
    assert turn(net) is net and net[0].weight is weight and net[1]._mean is mean and net[0]._dtype == "float64"
    assert weight.dtype == weight.grad.dtype == mean.dtype == paddle.float64 and weight.name == name
    optimizer.step()
    close(net[0].weight.numpy(), before - 1.0, rtol=1e-6)
""",
    "weights in float32 behind parameters in 16 bits": """
slopes = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, -6.0]], "float32")


def trained(kind, dtype, options, stop=None):
    net = nn.Linear(3, 2, bias_attr=False)
    net.weight.set_value(np.arange(6).reshape(3, 2).astype("float32") + 1)
    net.to(dtype=dtype)
    optimizer = kind(learning_rate=0.001, parameters=net.parameters(), **options)
    for number in range(6):
        if number == stop:
            state = again(optimizer.state_dict())
            optimizer = kind(learning_rate=0.001, parameters=net.parameters(), **options)
            optimizer.set_state_dict(state)
        (net.weight.astype("float32") * paddle.to_tensor(slopes)).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
    return net.weight, optimizer.state_dict()


for kind in ("SGD", "Momentum", "Adam", "AdamW", "Lamb", "ASGD", "Rprop"):
    for options in ({}, {"grad_clip": nn.ClipGradByGlobalNorm(1.0)}):
        make = getattr(paddle.optimizer, kind)
        wanted, plain = trained(make, "float32", options)
        assert "master_weights" not in plain
        for dtype in ("bfloat16", "float16"):
            for stop in (None, 3):
                weight, state = trained(make, dtype, {**options, "multi_precision": True}, stop)
                assert weight.dtype == getattr(paddle, dtype)
                master = state["master_weights"].pop(weight.name)
                equal(master.numpy(), wanted.numpy())
                equal(weight.astype("float32").numpy(), wanted.astype(dtype).astype("float32").numpy())
                accumulators = {key: x for key, x in state.items() if key != "master_weights"}
                assert all(key.startswith(weight.name + "_fp32_master_0_") for key in accumulators), accumulators
                assert all(x.dtype != weight.dtype for x in accumulators.values())
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_precision(program, tmp_path):
    extensions.write(tmp_path, {"program.py": HEAD + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
