"""Texts that programs written for Paddle see: layers, tensors and the tables of ``paddle.summary``."""

import json
import re
from pathlib import Path

import pytest

from support import extensions

#: What Paddle prints for a layer, by the call that makes it.
LAYERS = {
    "Linear(2, 3)": "Linear(in_features=2, out_features=3, dtype=float32)",
    "Linear(2, 3, name='fc')": "Linear(in_features=2, out_features=3, dtype=float32, name=fc)",
    "Bilinear(2, 3, 4)": "Bilinear(in1_features=2, in2_features=3, out_features=4, dtype=float32)",
    "Conv1D(2, 4, 3)": "Conv1D(2, 4, kernel_size=[3], data_format=NCL)",
    "Conv2D(2, 4, [3, 2], stride=2, padding=1, dilation=2, groups=2)": (
        "Conv2D(2, 4, kernel_size=[3, 2], stride=[2, 2], padding=1, dilation=[2, 2], groups=2, data_format=NCHW)"
    ),
    "Conv2D(2, 4, 3, padding='SAME')": "Conv2D(2, 4, kernel_size=[3, 3], padding=SAME, data_format=NCHW)",
    "Conv2D(2, 4, 3, padding=1, padding_mode='reflect')": (
        "Conv2D(2, 4, kernel_size=[3, 3], padding=1, padding_mode=reflect, data_format=NCHW)"
    ),
    "Conv3D(2, 4, 3, stride=(1, 2, 1))": "Conv3D(2, 4, kernel_size=[3, 3, 3], stride=[1, 2, 1], data_format=NCDHW)",
    "Conv2DTranspose(2, 4, 3, stride=2, output_padding=1)": (
        "Conv2DTranspose(2, 4, kernel_size=[3, 3], stride=[2, 2], output_padding=1, data_format=NCHW)"
    ),
    "BatchNorm(4)": "BatchNorm()",
    "BatchNorm1D(4)": "BatchNorm1D(num_features=4, momentum=0.9, epsilon=1e-05, data_format=NCL)",
    "BatchNorm2D(4, momentum=0.8)": "BatchNorm2D(num_features=4, momentum=0.8, epsilon=1e-05)",
    "BatchNorm2D(4, data_format='NHWC')": (
        "BatchNorm2D(num_features=4, momentum=0.9, epsilon=1e-05, data_format=NHWC)"
    ),
    "InstanceNorm2D(4)": "InstanceNorm2D(num_features=4, epsilon=1e-05)",
    "GroupNorm(2, 4)": "GroupNorm(num_groups=2, num_channels=4, epsilon=1e-05)",
    "LayerNorm(4)": "LayerNorm(normalized_shape=[4], epsilon=1e-05)",
    "LocalResponseNorm(4)": "LocalResponseNorm(size=4, alpha=0.0001, beta=0.75, k=1.0)",
    "Dropout(0.2, axis=1)": "Dropout(p=0.2, axis=1, mode=upscale_in_train, inplace=False)",
    "Dropout2D(0.3)": "Dropout2D(p=0.3, data_format=NCHW)",
    "Embedding(4, 3)": "Embedding(4, 3, sparse=False, scale_grad_by_freq=False)",
    "Embedding(4, 3, padding_idx=1)": "Embedding(4, 3, padding_idx=1, sparse=False, scale_grad_by_freq=False)",
    "ReLU()": "ReLU()",
    "ReLU(name='x')": "ReLU(name=x)",
    "LeakyReLU(0.2)": "LeakyReLU(negative_slope=0.2)",
    "PReLU(4, 0.1)": "PReLU(num_parameters=4, data_format=NCHW, init=0.1, dtype=float32)",
    "RReLU(0.1, 0.2)": "RReLU(lower=0.1, upper=0.2, training=True, dtype=float32)",
    "GELU(True)": "GELU(approximate=True)",
    "Silu()": "Silu(inplace=False)",
    "Hardtanh(-2, 2)": "Hardtanh(min=-2, max=2)",
    "Hardsigmoid()": "Hardsigmoid()",
    "Softshrink()": "Softshrink(threshold=0.5)",
    "Softmax(1)": "Softmax(axis=1)",
    "Unflatten(1, [2, 3])": "Unflatten(axis=1, shape=[2, 3])",
    "Pad1D(1)": "Pad1D(padding=[1, 1], mode=constant, value=0.0, data_format=NCL)",
    "Pad2D([1, 2, 0, 1], mode='reflect')": "Pad2D(padding=[1, 2, 0, 1], mode=reflect, value=0.0, data_format=NCHW)",
    "Pad3D(1, value=1.0)": "Pad3D(padding=[1, 1, 1, 1, 1, 1], mode=constant, value=1.0, data_format=NCDHW)",
    "ZeroPad2D(1)": "ZeroPad2D(padding=[1, 1, 1, 1], mode=constant, value=0.0, data_format=NCHW)",
    "MaxPool2D(3, stride=2, padding=1, return_mask=True)": "MaxPool2D(kernel_size=3, stride=2, padding=1)",
    "AvgPool1D(2)": "AvgPool1D(kernel_size=2, stride=None, padding=0)",
    "AdaptiveAvgPool2D((1, 2))": "AdaptiveAvgPool2D(output_size=(1, 2))",
    "MaxUnPool2D(2)": "MaxUnPool2D(output_size=None)",
    "LPPool2D(2.0, 2)": "LPPool2D(norm_type=2.0, kernel_size=2, stride=2, padding=0)",
    "FractionalMaxPool2D(2)": "FractionalMaxPool2D(output_size=2, return_mask=False)",
    "Upsample(scale_factor=2)": (
        "Upsample(scale_factor=2, mode=nearest, align_corners=False, align_mode=0, data_format=None)"
    ),
    "UpsamplingBilinear2D(size=[3, 4])": "UpsamplingBilinear2D(size=[3, 4], data_format=NCHW)",
    "PixelShuffle(2)": "PixelShuffle(upscale_factor=2)",
    "PixelUnshuffle(2)": "PixelUnshuffle(downscale_factor=2)",
    "ChannelShuffle(2)": "ChannelShuffle(groups=2)",
    "Unfold(2)": "Unfold(kernel_size=2, dilation=1, padding=0, stride=1)",
    "PairwiseDistance()": "PairwiseDistance(p=2.0)",
    "PairwiseDistance(3.0, 1e-3, True)": "PairwiseDistance(p=3.0, epsilon=0.001, keepdim=True)",
    "CrossEntropyLoss()": "CrossEntropyLoss()",
    "KLDivLoss()": "KLDivLoss()",
    "SimpleRNNCell(2, 3, activation='relu')": "SimpleRNNCell(2, 3, activation=relu)",
    "GRUCell(2, 3)": "GRUCell(2, 3)",
    "LSTM(2, 3)": "LSTM(2, 3\n  (0): RNN(\n    (cell): LSTMCell(2, 3)\n  )\n)",
    "GRU(2, 3, 2, 'bidirect', dropout=0.1)": (
        "GRU(2, 3, num_layers=2, dropout=0.1\n"
        "  (0): BiRNN(\n    (cell_fw): GRUCell(2, 3)\n    (cell_bw): GRUCell(2, 3)\n  )\n"
        "  (1): BiRNN(\n    (cell_fw): GRUCell(6, 3)\n    (cell_bw): GRUCell(6, 3)\n  )\n)"
    ),
    "Sequential(Linear(2, 3), Tanh())": (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, dtype=float32)\n  (1): Tanh()\n)"
    ),
}
#: What Paddle prints behind the first line of a tensor, by its elements.
TENSORS = {
    "[1.0, 2.5, 1e-8]": "[1.        , 2.50000000, 0.00000001]",
    "1.5": "1.50000000",
    "[-0.5, 2.0]": "[-0.50000000,  2.        ]",
    "[True, False]": "[True , False]",
    "[100.0, 2000.0]": "[100. , 2000.]",
    "[float('nan'), float('inf'), 1.0]": "[nan , inf., 1.  ]",
    "[1 + 2j]": "[(1.00000000+2.00000000j)]",
    "[1e10, 1.0]": "[10000000000., 1.          ]",
    "[[[1.0], [2.0]], [[3.0], [4.5]]]": (
        "[[[1.        ],\n         [2.        ]],\n\n        [[3.        ],\n         [4.50000000]]]"
    ),
    "list(range(2000))": "[0   , 1   , 2   , ..., 1997, 1998, 1999]",
    "[i / 7 for i in range(9)]": (
        "[0.        , 0.14285715, 0.28571430, 0.42857143, 0.57142860, 0.71428573,\n        0.85714287, 1.        , "
        "1.14285719]"
    ),
}
OPTIONS = """
import paddle

x = paddle.to_tensor([[0.5, -1.25, 3.0], [1e-3, 4.0, 5.0], [6.0, 7.0, 8.0]])
paddle.set_printoptions(precision=2, threshold=4, edgeitems=1)
print(str(x).split("\\n", 1)[1])
paddle.set_printoptions(precision=3, threshold=1000, sci_mode=True, linewidth=30)
print(str(x[0]).split("\\n", 1)[1])
try:
    paddle.set_printoptions(precision="3")
except TypeError as error:
    assert "precision is of type int" in str(error)
else:
    raise AssertionError
"""
PRINTED_OPTIONS = """\
       [[0.50, ..., 3.  ],
        ...,
        [6.  , ..., 8.  ]])
       [ 5.000e-01,
        -1.250e+00,
         3.000e+00])
"""
SUMMARY = """
import paddle
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(9, 4)
        self.line, self.unused = nn.Linear(4, 4), nn.Linear(3, 3)
        self.norm = nn.BatchNorm1D(4)
        self.line.bias.stop_gradient = True

    def forward(self, x, i):
        return self.norm(self.line(self.line(x))), self.words(i)


counts = paddle.summary(Net(), [(2, 4), (2,)], dtypes=["float32", "int64"])
assert counts == {"total_params": 72, "trainable_params": 60}, counts
net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
assert paddle.summary(net, (None, 2)) == paddle.summary(net, input=paddle.ones([1, 2]))
assert net.training and net[0].training
for wrong, kind in ((lambda: paddle.summary(net), ValueError), (lambda: paddle.summary(net, (0, 2)), ValueError)):
    try:
        wrong()
    except kind as error:
        assert "[summary]" in str(error)
    else:
        raise AssertionError
"""
PRINTED_SUMMARY = """\
---------------------------------------------------------------------------
 Layer (type)       Input Shape          Output Shape         Param #
===========================================================================
   Linear-1           [[2, 4]]              [2, 4]              20
 BatchNorm1D-1        [[2, 4]]              [2, 4]              16
  Embedding-1          [[2]]                [2, 4]              36
===========================================================================
Total params: 72
Trainable params: 60
Non-trainable params: 12
---------------------------------------------------------------------------
Input size (MB): 0.00
Forward/backward pass size (MB): 0.00
Params size (MB): 0.00
Estimated Total Size (MB): 0.00
---------------------------------------------------------------------------
"""

TRAINING = """
import numpy as np
import paddle

net = paddle.nn.Linear(4, 3)
net.weight.set_value(np.full((4, 3), 0.1, "float32"))
model = paddle.Model(net)
model.prepare(paddle.optimizer.SGD(0.1, parameters=net.parameters()), paddle.nn.CrossEntropyLoss(),
              paddle.metric.Accuracy(topk=(1, 2)))
x = paddle.arange(80, dtype="float32").reshape([20, 4]) / 80
data = paddle.io.TensorDataset([x, paddle.arange(20).reshape([20, 1]) % 3])
model.fit(data, data, batch_size=5, epochs=1, shuffle=False, log_freq=2, save_dir="saved")
model.evaluate(data, batch_size=8, verbose=1)
model.predict(data, batch_size=8, verbose=1)
model.fit(data, batch_size=5, verbose=0)
"""
#: What Paddle prints, with ``T`` for times and ``HERE`` for the folder.
PRINTED_TRAINING = """\
The loss value printed in the log is the current step, and the metric is the average value of previous steps.
Epoch 1/1
step 2/4 - loss: 1.1005 - acc_top1: 0.3000 - acc_top2: 0.7000 - T/step
step 4/4 - loss: 1.1024 - acc_top1: 0.2500 - acc_top2: 0.6500 - T/step
save checkpoint at HERE/saved/0
Eval begin...
step 2/4 - loss: 1.1019 - acc_top1: 0.3000 - acc_top2: 0.7000 - T/step
step 4/4 - loss: 1.0913 - acc_top1: 0.3500 - acc_top2: 0.7000 - T/step
Eval samples: 20
save checkpoint at HERE/saved/final
Eval begin...
step 3/3 [==============================] - loss: 1.0909 - acc_top1: 0.3500 - acc_top2: 0.7000 - T/step
Eval samples: 20
Predict begin...
step 2/3 [===================>..........] - ETA: 0s - T/step
step 3/3 [==============================] - T/step
Predict samples: 20
"""


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("texts")
    program = (
        "import json\nimport paddle\nfrom paddle.nn import *\n"
        f"layers = {{call: repr(eval(call)) for call in {list(LAYERS)!r}}}\n"
        f"tensors = {{call: str(paddle.to_tensor(eval(call))) for call in {list(TENSORS)!r}}}\n"
        "json.dump([layers, tensors], open('texts.json', 'w'))\n"
    )
    extensions.write(folder, {"program.py": program})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=folder)
    return json.loads((folder / "texts.json").read_text("utf-8"))


@pytest.mark.parametrize("call", LAYERS)
def test_a_layer_is_printed_as_in_paddle(call, texts):
    assert texts[0][call] == LAYERS[call]


@pytest.mark.parametrize("elements", TENSORS)
def test_a_tensor_is_printed_as_in_paddle(elements, texts):
    head, _, rest = texts[1][elements].partition("\n")
    assert head.startswith("Tensor(shape=[") and head.endswith("place=Place(cpu), stop_gradient=True,")
    assert rest == f"       {TENSORS[elements]})"


#: What Paddle prints of sparse tensors below the first line.
SPARSE = {
    "sparse_coo_tensor([[0, 1, 2], [1, 2, 0]], [1.0, 2.0, 3.5], [3, 3])": """\
       indices=[[0, 1, 2],
                [1, 2, 0]],
       values=[1.        , 2.        , 3.50000000])""",
    "sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], [3, 2])": """\
       indices=[[0, 1]],
       values=[[1., 2.],
               [3., 4.]])""",
    "sparse_csr_tensor([0, 1, 2], [1, 0], [1, 2], [2, 2])": """\
       crows=[0, 1, 2],
       cols=[1, 0],
       values=[1, 2])""",
}


def test_a_sparse_tensor_is_printed_as_in_paddle(tmp_path):
    program = "import paddle\n" + "".join(f"print(paddle.sparse.{each})\n" for each in SPARSE)
    extensions.write(tmp_path, {"program.py": program})
    found = extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
    lines = [line.rstrip() for line in found.splitlines() if not line.startswith("Tensor(shape=")]
    assert lines == "\n".join(SPARSE.values()).splitlines()


@pytest.mark.parametrize(
    ("program", "printed"), [(OPTIONS, PRINTED_OPTIONS), (SUMMARY, PRINTED_SUMMARY)], ids=["options", "summary"]
)
def test_printed_texts(program, printed, tmp_path):
    extensions.write(tmp_path, {"program.py": program})
    lines = extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path).splitlines()
    assert [line.rstrip() for line in lines][: len(printed.splitlines())] == printed.splitlines()


def test_training_is_told_as_in_paddle(tmp_path):
    extensions.write(tmp_path, {"program.py": TRAINING})
    found = extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
    found = re.sub(r"\d+(ms|us|s)/step", "T/step", found.replace("\b", "")).replace(str(tmp_path), "HERE")
    assert [line.rstrip() for line in found.splitlines() if line] == PRINTED_TRAINING.splitlines()
