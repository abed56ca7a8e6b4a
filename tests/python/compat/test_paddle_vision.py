"""Paddle's operators of detectors, eagerly and in static programs, through the front."""

from support import extensions

PROGRAM = """
import numpy as np
import paddle
from lamella.compat import regions
from paddle.vision import ops

rng = np.random.default_rng(3)
corners = rng.random((6, 2)) * 4
boxes = paddle.to_tensor(np.concatenate([corners, corners + 3], axis=1).astype("float32"))
scores = paddle.to_tensor(rng.random(6).astype("float32"))
kinds = paddle.to_tensor(np.arange(6) % 2)
kept = ops.nms(boxes, 0.2, scores, kinds, [0, 1]).numpy()
for kind in (0, 1):
    own = np.flatnonzero(np.arange(6) % 2 == kind)
    alone = own[ops.nms(paddle.to_tensor(boxes.numpy()[own]), 0.2, paddle.to_tensor(scores.numpy()[own])).numpy()]
    assert [k for k in kept if k % 2 == kind] == alone.tolist()
assert ops.nms(boxes, 0.2, scores, kinds, [0, 1], 2).tolist() == kept[:2].tolist()
assert ops.nms(boxes, 0.2).numpy()[0] == 0

x = paddle.to_tensor(rng.normal(size=(2, 4, 7, 8)).astype("float32"))
rois = paddle.concat([paddle.to_tensor([[0.0]] * 4 + [[1.0]] * 2), boxes], axis=1)
counts = paddle.to_tensor([4, 2])
aligned = regions.roi_align(x, rois, 1.0, 2, 2, -1, True)
assert np.array_equal(ops.roi_align(x, boxes, counts, 2).numpy(), aligned.numpy())
assert np.array_equal(ops.RoIPool((2, 3))(x, boxes, counts).numpy(), regions.roi_pool(x, rois, 1.0, 2, 3).numpy())
layer = ops.DeformConv2D(4, 6, 3, padding=1)
still = layer(x, paddle.zeros([2, 18, 7, 8]), paddle.ones([2, 9, 7, 8]))
plain = paddle.nn.functional.conv2d(x, layer.weight, layer.bias, padding=1)
assert np.allclose(still.numpy(), plain.numpy(), atol=1e-5)

paddle.enable_static()
main, startup = paddle.static.Program(), paddle.static.Program()
matrix = rng.normal(size=(3, 4, 2)).astype("float32")
with paddle.static.program_guard(main, startup):
    images = paddle.static.data("x", [None, 4, 7, 8], "float32")
    offset = paddle.static.data("offset", [None, 18, 7, 8], "float32")
    mask = paddle.static.data("mask", [None, 9, 7, 8], "float32")
    constant = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(0.1))
    y = paddle.static.nn.deform_conv2d(images, offset, mask, 6, 3, padding=1, weight_attr=constant)
    assign = paddle.ParamAttr(initializer=paddle.nn.initializer.Assign(matrix))
    weight = paddle.static.create_parameter([3, 4, 2], "float32", attr=assign)
    normed = paddle.static.nn.spectral_norm(weight, dim=1, power_iters=50)
executor = paddle.static.Executor()
executor.run(startup)
feed = {"x": x.numpy(), "offset": np.zeros((2, 18, 7, 8), "float32"), "mask": np.full((2, 9, 7, 8), 0.5, "float32")}
found, normed = executor.run(main, feed=feed, fetch_list=[y, normed])
padded = np.pad(x.numpy().sum(1), ((0, 0), (1, 1), (1, 1)))
windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2)).sum((-1, -2))
assert np.allclose(found, 0.05 * windows[:, None], atol=1e-5) and found.shape == (2, 6, 7, 8)
largest = np.linalg.norm(np.moveaxis(matrix, 1, 0).reshape(4, -1), 2)
assert np.allclose(normed, matrix / largest, atol=1e-4)
"""


def test_operators_of_detectors(tmp_path):
    extensions.write(tmp_path, {"program.py": PROGRAM})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)


NETWORKS = """
import numpy as np
import paddle
from paddle.vision import models, ops

#: Numbers of weights that are trained, as the networks' authors and their common tables count them.
COUNTS = {
    "mobilenet_v1": ({}, 4_231_976),
    "mobilenet_v2": ({}, 3_504_872),
    "resnext50_32x4d": ({}, 25_028_904),
    "resnet18": ({}, 11_689_512),
    "mobilenet_v3_small": ({}, 2_542_856),
    "mobilenet_v3_large": ({}, 5_483_032),
    "densenet121": ({}, 7_978_856),
    "densenet161": ({}, 28_681_000),
    "squeezenet1_0": ({}, 1_248_424),
    "squeezenet1_1": ({}, 1_235_496),
    "vgg16": ({"num_classes": 0}, 14_714_688),
    "vgg11": ({"num_classes": 0, "batch_norm": True}, 9_220_480 + 2 * 2752),
}
for name, (options, count) in COUNTS.items():
    network = getattr(models, name)(**options)
    assert sum(p.size for p in network.parameters() if not p.stop_gradient) == count, name

small = models.mobilenet_v2(scale=0.35, num_classes=3)
small.eval()
assert small(paddle.ones([2, 3, 32, 32])).shape == [2, 3]
searched = models.mobilenet_v3_small(scale=0.5, num_classes=3)
assert list(searched.state_dict())[:2] == ["conv.0.weight", "conv.1.weight"]
assert {"blocks.0.mid_se.fc1.bias", "blocks.3.expand_conv.1._mean"} <= set(searched.state_dict())
assert searched.conv[1].weight.shape == [8] and searched.classifier[0].weight.shape == [288, 512]
searched.eval()
assert searched(paddle.ones([2, 3, 32, 32])).shape == [2, 3]
dense = models.densenet121(num_classes=3, bn_size=2, dropout=0.1)
names = {"conv1_func._conv.weight", "db_conv_3.conv3_12.bn_ac_func2._batch_norm._mean", "out.bias"}
assert names <= set(dense.state_dict()) and dense.out.weight.abs().max() <= 0.03125
assert dense.tr_conv4_blk.conv_ac_func._conv.weight.shape == [512, 1024, 1, 1]
dense.eval()
assert dense(paddle.ones([2, 3, 32, 32])).shape == [2, 3]
assert models.mobilenet_v1(scale=0.25, num_classes=0)(paddle.ones([2, 3, 32, 32])).shape == [2, 256, 1, 1]
for make, first, left in ((models.squeezenet1_0, [96, 3, 7, 7], 2), (models.squeezenet1_1, [64, 3, 3, 3], 3)):
    squeezed = make(num_classes=3)
    state = squeezed.state_dict()
    assert list(state)[:4] == ["_conv.weight", "_conv.bias", "_conv1._conv._conv.weight", "_conv1._conv._conv.bias"]
    assert list(state)[-2:] == ["_conv9.weight", "_conv9.bias"] and state["_conv.weight"].shape == first
    assert state["_conv8._conv_path2._conv.weight"].shape == [256, 64, 3, 3]
    squeezed.eval()
    assert squeezed(paddle.ones([2, 3, 64, 64])).shape == [2, 3]
    assert make(num_classes=3, with_pool=False)(paddle.ones([1, 3, 64, 64])).shape == [1, 3, left, left]
# Sums of what Paddle computes from weights that are cosines, by the network and the size of its images.
for make, size, names, expected in (
    (models.shufflenet_v2_x0_25, 64, ("_conv1.0.weight", "2_1._conv_dw_1.0.weight"), [6.070238]),
    (models.googlenet, 224, ("_ince4e._conv5r._conv.weight", "_out2.bias"), [1.619609, 7.439451, 7.422766]),
    (
        models.inception_v3,
        107,
        ("inception_stem.conv_4a_3x3.0.weight", "inception_block_list.8.branch7x7x3_4.0.weight", "fc.weight"),
        [20.109787],
    ),
):
    net = make(num_classes=3)
    net.eval()
    assert set(names) <= set(net.state_dict())
    for name, value in net.state_dict().items():
        waves = np.cos(np.arange(value.size) % 97).reshape(tuple(value.shape)).astype("float32")
        wide = max(1, int(np.prod(value.shape[1:])))
        vector = 1 + 0.1 * waves if "_variance" in name else 0.1 * waves + 0.5
        value.set_value(waves * (2 / wide) ** 0.5 if wide > 1 else vector)
    image = np.cos(np.arange(3 * size * size) % 89).reshape(1, 3, size, size).astype("float32")
    made = net(paddle.to_tensor(image))
    found = [float(each.sum()) for each in (made if isinstance(made, (list, tuple)) else [made])]
    np.testing.assert_allclose(found, expected, rtol=1e-3)
unit = ops.ConvNormActivation(2, 4, activation_layer=paddle.nn.Swish, groups=2)
assert [type(each).__name__ for each in unit] == ["Conv2D", "BatchNorm2D", "Swish"] and unit[0].bias is None
assert ops.ConvNormActivation(2, 4, norm_layer=None, activation_layer=None)[0].bias.shape == [4]
grouped = models.ResNet(models.BottleneckBlock, 50, 4, num_classes=2, groups=2)
assert grouped.layer1[0].conv2.weight.shape == [8, 4, 3, 3]
for wrong in (lambda: models.ResNet(models.BasicBlock, 18, 128), lambda: models.ResNet(models.BasicBlock, 19)):
    try:
        wrong()
    except ValueError as error:
        assert "128" in str(error) or "19" in str(error)
    else:
        raise AssertionError
try:
    models.vgg16(pretrained=True)
except NotImplementedError as error:
    assert "vgg16" in str(error)
else:
    raise AssertionError
"""


def test_networks(tmp_path):
    extensions.write(tmp_path, {"program.py": NETWORKS})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
