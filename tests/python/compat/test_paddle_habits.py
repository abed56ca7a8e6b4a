"""What public programs read of Paddle's parameters, optimizers, layers and models, and print while they train."""

import json
import re

from support import extensions

TRAINED = """
import paddle, paddle.nn as nn
import numpy as np

data = paddle.io.TensorDataset([paddle.arange(48, dtype="float32").reshape([12, 4]) / 48, paddle.arange(12) % 2])
C = paddle.callbacks

class Rows(paddle.io.IterableDataset):
    def __iter__(self):
        return iter(data)

def trained(callbacks=None, verbose=2, source=data, **options):
    net = nn.Linear(4, 2)
    for parameter in net.parameters():
        parameter.set_value(np.full(parameter.shape, 0.1, "float32"))
    model = paddle.Model(net)
    optimizer = paddle.optimizer.SGD(0.5, parameters=net.parameters())
    model.prepare(optimizer, nn.CrossEntropyLoss(), paddle.metric.Accuracy())
    model.fit(source, batch_size=4, shuffle=False, verbose=verbose, callbacks=callbacks, **options)
    return model
"""
#: Programs and what Paddle prints, with ``T`` for times and ``HERE`` for the folder.
PRINTED = {
    "trained(verbose=1, log_freq=2).evaluate(data, batch_size=12, verbose=1)": """\
The loss value printed in the log is the current step, and the metric is the average value of previous steps.
Epoch 1/1
step 2/3 [===================>..........] - loss: 0.6916 - acc: 0.5000 - ETA: 0s - T
step 3/3 [==============================] - loss: 0.6916 - acc: 0.5000 - T
Eval begin...
step 1/1 [==============================] - loss: 0.6906 - acc: 0.5833 - T
Eval samples: 12
""",
    "trained(source=paddle.io.DataLoader(Rows(), batch_size=6), log_freq=1)": """\
The loss value printed in the log is the current step, and the metric is the average value of previous steps.
Epoch 1/1
step   1 - loss: 0.6931 - acc: 0.5000 - T
step   2 - loss: 0.6919 - acc: 0.5000 - T
""",
    "trained([C.EarlyStopping('loss', patience=0), C.ModelCheckpoint(2, 'kept')], 0, eval_data=data, epochs=3)": """\
save checkpoint at HERE/kept/0
Epoch 1: Early stopping.
save checkpoint at HERE/kept/final
""",
    "trained(C.EarlyStopping('acc', patience=1), 0, eval_data=data, epochs=5, save_dir='best')": """\
save checkpoint at HERE/best/0
save checkpoint at HERE/best/1
Epoch 2: Early stopping.
Best checkpoint has been saved at HERE/best/best_model
save checkpoint at HERE/best/final
""",
    "trained(C.ReduceLROnPlateau('acc', 0.5, patience=1), 0, eval_data=data, epochs=3)": """\

Epoch 2: ReduceLROnPlateau reducing learning rate to 0.25.

Epoch 3: ReduceLROnPlateau reducing learning rate to 0.125.
""",
    # Three of the steps are of the evaluation.
    "trained(num_iters=6, epochs=4, eval_data=data, log_freq=5)": """\
The loss value printed in the log is the current step, and the metric is the average value of previous steps.
Epoch 1/3
step 3/3 - loss: 0.6916 - acc: 0.5000 - T
Eval begin...
step 3/3 - loss: 0.6910 - acc: 0.5833 - T
Eval samples: 12
""",
    "print(trained(verbose=0).evaluate(data, batch_size=4, verbose=0)['acc'].dtype)": "float64",
    "print(trained(verbose=0).summary()['total_params'].dtype)": """\
---------------------------------------------------------------------------
 Layer (type)       Input Shape          Output Shape         Param #
===========================================================================
   Linear-8           [[4, 4]]              [4, 2]              10
===========================================================================
Total params: 10
Trainable params: 10
Non-trainable params: 0
---------------------------------------------------------------------------
Input size (MB): 0.00
Forward/backward pass size (MB): 0.00
Params size (MB): 0.00
Estimated Total Size (MB): 0.00
---------------------------------------------------------------------------
int64
""",
}

#: Expressions and what they are in Paddle, after ``SETTING``.
VALUES = {
    "[x.optimize_attr for x in net.parameters()]": [{"learning_rate": 1.0}] * 2,
    "[(x.regularizer, x.need_clip, x.do_model_average, x.is_distributed) for x in net.parameters()]": [
        [None, True, True, False]
    ]
    * 2,
    "[str(L2Decay(0.1)), str(L1Decay(1e-3))]": ["L2Decay, coeff=0.100000", "L1Decay, coeff=0.001000"],
    "str(nn.ClipGradByNorm(0.1))": "Gradient Clip By Norm, clip_norm=0.100000",
    "str(nn.ClipGradByValue(0.02, -0.01))": "Clip Gradient By Value, min = -0.010000, max=0.020000",
    "str(nn.ClipGradByGlobalNorm(2))": "Gradient Clip By GlobalNorm, global_norm=2.000000",
    "frozen()": [[1.0, 1.0], [4.0, 4.0]],
    "slowed()": [0.6, -3.0],
    "copied()": [2.0, 2.0],
    "[len(sgd(ps)._parameter_list), len(sgd([{'params': ps[:1]}, {'params': ps[1:]}])._param_groups)]": [2, 2],
    "list(stepped(paddle.optimizer.Adagrad(0.1, parameters=ps)).state_dict())": [
        "linear_0.w_0_moment_0",
        "linear_0.b_0_moment_0",
    ],
    "[name for name, _ in nn.TransformerDecoderLayer(4, 2, 8, 0.1, act_dropout=0.3).named_children()]": [
        *("self_attn", "cross_attn", "linear1", "dropout", "linear2", "norm1", "norm2", "norm3"),
        *("dropout1", "dropout2", "dropout3"),
    ],
    "type(nn.Transformer(4, 2, 1, 1, 8).encoder.layers).__name__": "LayerList",
    "nn.MultiHeadAttention(8, 2).head_dim": 4,
    "raised(lambda: paddle.grad((y * y).sum(), [x], retain_graph=True, no_grad_vars=[y]))": "ValueError",
    "paddle.grad((y * y).sum(), [x], retain_graph=True, no_grad_vars=[y], allow_unused=True)": [None],
    "paddle.grad((y * y).sum() + x.sum(), [x], retain_graph=True, no_grad_vars=[y])[0].tolist()": [1.0, 1.0],
    "raised(lambda: nn.functional.dropout(x, 0.5, axis=[]))": "ValueError",
    "(lambda z: [paddle.grad(z, x)[0].tolist() == paddle.grad(z, x)[0].tolist() for _ in range(2)])((x * x).sum())": [
        True,
        True,
    ],
    "raised(lambda: paddle.optimizer.SGD(None, parameters=ps))": "TypeError",
    "raised(lambda: paddle.Model(net).prepare(metrics=[3]))": "TypeError",
    "raised(lambda: paddle.Model(3))": "TypeError",
    "[(lambda h: [h.remove(), h.remove()])(x.register_hook(lambda g: g * 2)), x.grad]": [[True, False], None],
    "[paddle.amp.GradScaler(**each).is_enable() for each in scalers]": [False] * 4,
    "float(paddle.amp.GradScaler(incr_ratio=1.0).scale(paddle.ones([])))": 1.0,
}
SETTING = """
import json
import paddle, paddle.nn as nn
from paddle.regularizer import L1Decay, L2Decay

net = nn.Linear(3, 2)
ps = net.parameters()
x = paddle.ones([2])
x.stop_gradient = False
y = x * 2

def sgd(parameters):
    return paddle.optimizer.SGD(0.1, parameters=parameters)

def layer():
    made = nn.Linear(1, 2)
    made.weight.set_value(paddle.ones([1, 2]))
    made.bias.set_value(paddle.ones([2]))
    return made

def stepped(optimizer):
    net(paddle.ones([4, 3])).sum().backward()
    optimizer.step()
    return optimizer

def frozen():
    made = layer()
    made(paddle.ones([4, 1])).sum().backward()
    made.bias.stop_gradient = True
    optimizer = sgd(made.parameters())
    optimizer.step()
    optimizer.clear_grad()
    return [made.bias.tolist(), made.bias.grad.tolist()]

def slowed():
    made = layer()
    made.weight.optimize_attr["learning_rate"] *= 0.1
    made(paddle.ones([4, 1])).sum().backward()
    paddle.optimizer.SGD(1.0, parameters=made.parameters()).step()
    return [round(made.weight[0, 0].item(), 5), made.bias[0].item()]

def copied():
    made = layer()
    made.bias.copy_(paddle.full([2], 2.0), False)
    return made.bias.tolist()

def raised(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__

scalers = [{"incr_ratio": 1.0}, {"decr_ratio": 2.0}, {"init_loss_scaling": -1.0}, {"incr_every_n_steps": 0}]
"""


def told(text, folder):
    """Returns the lines of a text that are not empty, with ``T`` for times and ``HERE`` for the folder."""
    text = re.sub(r"\d+(ms|us|s)/step", "T", text).replace("\b", "").replace(str(folder), "HERE")
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_values_are_those_of_paddle(tmp_path):
    program = f"{SETTING}\njson.dump([eval(each) for each in {list(VALUES)!r}], open('values.json', 'w'))\n"
    extensions.write(tmp_path, {"program.py": program})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
    found = json.loads((tmp_path / "values.json").read_text("utf-8"))
    wrong = {call: got for (call, value), got in zip(VALUES.items(), found, strict=True) if got != value}
    assert not wrong


def test_training_prints_what_paddle_prints(tmp_path):
    calls = "\nprint('####')\n".join(PRINTED)
    extensions.write(tmp_path, {"program.py": TRAINED + calls})
    found = extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path).split("####\n")
    wrong = {
        call: part
        for (call, printed), part in zip(PRINTED.items(), found, strict=True)
        if told(part, tmp_path) != told(printed, tmp_path)
    }
    assert not wrong
