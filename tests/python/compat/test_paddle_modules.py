"""Modules of the paddle front beside layers and tensors: checks of numbers, PyTorch's forms of functions, loaders."""

import pytest

from support import extensions

HEADER = """
import numpy as np
import paddle


def raises(kind, words, function):
    try:
        function()
    except kind as error:
        assert all(word in str(error) for word in words.split()), error
    else:
        raise AssertionError(f"no {kind.__name__}: {words}")
"""
PROGRAMS = {
    "check_numerics": """
from paddle.amp.debugging import DebugMode, check_layer_numerics, check_numerics

bad = paddle.to_tensor([float("inf"), 5.0, float("nan"), 0.0])
counts, numbers = check_numerics(bad, "divide", "z", debug_mode=DebugMode.CHECK_NAN_INF)
assert counts.tolist() == [1, 1, 1] and counts.dtype == paddle.int64
assert numbers[:2].tolist() == [float("inf"), 0.0] and numbers[2].isnan()
raises(RuntimeError, "num_nan=1 num_inf=1 op=divide tensor=z", lambda: check_numerics(bad, "divide", "z"))
raises(TypeError, "int64", lambda: check_numerics(paddle.to_tensor([1]), "divide", "z"))
assert check_numerics(paddle.to_tensor([1.0, 0.0]), "divide", "z")[1].tolist() == [1.0, 0.0, 0.5]


class Net(paddle.nn.Layer):
    @check_layer_numerics
    def forward(self, x):
        return x / 0


assert Net()(paddle.ones([2])).isinf().all()
raises(RuntimeError, "no tensor", lambda: Net()("x"))
print("[PRECISION] [ERROR] in [device=cpu, op=divide, tensor=z, dtype=fp32], numel=4, num_nan=1, num_inf=1, "
      "num_zero=1, max=inf, min=0.000000e+00, mean=nan")
""",
    "tensor checker": """
from paddle.amp.debugging import DebugMode, TensorCheckerConfig, disable_tensor_checker, enable_tensor_checker


def bad():
    x = paddle.to_tensor([1.0, 0.0], stop_gradient=False)
    return x / paddle.to_tensor([0.0, 1.0])


for steps, checked in ((None, [True] * 4), ([1, 3], [False, True, True, False])):
    config = TensorCheckerConfig(enable=True, debug_step=steps)
    for wanted in checked:
        enable_tensor_checker(config)
        if wanted:
            raises(RuntimeError, "divide infinite", bad)
        else:
            bad()
        disable_tensor_checker()
enable_tensor_checker(TensorCheckerConfig(enable=False))
bad()
raises(NotImplementedError, "skipped_op_list", lambda: TensorCheckerConfig(True, skipped_op_list=["divide"]))
raises(NotImplementedError, "CHECK_ALL", lambda: TensorCheckerConfig(True, DebugMode.CHECK_ALL))
raises(ValueError, "debug_step", lambda: TensorCheckerConfig(True, debug_step=[3, 1]))
""",
    "functions in PyTorch's form": """
from paddle import compat

x = paddle.to_tensor([[3.0, 1.0, 2.0], [9.0, 8.0, 9.0]], stop_gradient=False)
values, places = compat.sort(x, dim=1, descending=True, stable=True)
assert values.tolist() == [[3, 2, 1], [9, 9, 8]] and places.tolist() == [[0, 2, 1], [0, 2, 1]]
assert [part.tolist() for part in compat.split(paddle.arange(7), 3)] == [[0, 1, 2], [3, 4, 5], [6]]
assert [part.tolist() for part in compat.split(paddle.arange(7), [2, 5])] == [[0, 1], [2, 3, 4, 5, 6]]
largest = compat.max(x, 1)
assert largest.values.tolist() == [3, 9] and largest.indices.tolist() == [0, 0]
largest.values.sum().backward()
assert x.grad.tolist() == [[1, 0, 0], [1, 0, 0]]
assert compat.max(x).item() == 9 and compat.min(x, dim=0, keepdim=True).values.tolist() == [[3, 1, 2]]
assert compat.max(x, paddle.full([2, 3], 2.0)).tolist() == [[3, 2, 2], [9, 8, 9]]
raises(TypeError, "[max] axis", lambda: compat.max(x, axis=1))
assert compat.median(x).item() == 3 and compat.median(x, 1).values.tolist() == [2, 9]
assert compat.nanmedian(paddle.to_tensor([3.0, float("nan"), 2.0, 1.0])).item() == 2
found = compat.unique(paddle.to_tensor([3, 1, 3]), return_inverse=True, return_counts=True)
assert [each.tolist() for each in found] == [[1, 3], [1, 0, 1], [1, 2]]
assert compat.equal(x, x) is True and compat.equal(x, x + 1) is False
assert abs(compat.slogdet(paddle.eye(3) * 2).logabsdet.item() - 3 * np.log(2)) < 1e-5
first, second = compat.seed(), compat.seed()
assert first != second and 0 <= first < 2**48
raises(ValueError, "[split] 7", lambda: compat.split(paddle.arange(7), [2, 4]))
""",
    "dtypes of batches": """
class Same(paddle.io.Dataset):
    def __init__(self, sample):
        self.sample = sample

    def __getitem__(self, place):
        return self.sample

    def __len__(self):
        return 2


def batch(sample, **options):
    return next(iter(paddle.io.DataLoader(Same(sample), batch_size=2, **options)))


assert batch(1.5).dtype == paddle.float64 and batch(1).dtype == paddle.int64 and batch(True).dtype == paddle.bool
assert [each.dtype for each in batch((1.5, np.float32(1)))] == [paddle.float64, paddle.float32]
assert batch({"a": [0.1]})["a"][0].tolist() == [0.1, 0.1]
for workers in (0, 1):
    made = batch(1.0, num_workers=workers, collate_fn=lambda samples: {"x": [np.ones(2)], "y": (samples[0], "z")})
    assert isinstance(made["x"][0], paddle.Tensor) and made["x"][0].dtype == paddle.float64 and made["y"] == (1.0, "z")
whole = paddle.io.DataLoader(paddle.io.TensorDataset([paddle.arange(4)]), batch_size=3)
assert [each[0].tolist() for each in whole] == [[0, 1, 2], [3]]
""",
    "images in folders": """
import os
from PIL import Image
from paddle.vision import datasets, transforms

for name in ("b", "a"):
    os.makedirs(f"images/{name}/inside")
    for place, file in enumerate(("2.png", "1.jpg", "inside/0.png")):
        Image.fromarray(np.full((4, 5), 7 * place, "uint8")).save(f"images/{name}/{file}")
    open(f"images/{name}/notes.txt", "w").close()
data = datasets.DatasetFolder("images", transform=transforms.ToTensor())
assert data.classes == ["a", "b"] and data.class_to_idx == {"a": 0, "b": 1} and data.targets == [0, 0, 0, 1, 1, 1]
names = ["1.jpg", "2.png", "inside/0.png"]
assert [path for path, _ in data.samples] == [os.path.join("images", c, each) for c in "ab" for each in names]
image, label = data[5]
assert image.shape == [3, 4, 5] and label == 1 and len(data) == 6
assert [each.shape for each in next(iter(paddle.io.DataLoader(data, batch_size=4)))] == [[4, 3, 4, 5], [4]]
flat = datasets.ImageFolder("images/a")
assert len(flat) == 3 and flat[0][0].mode == "RGB" and flat[0][0].size == (5, 4)
assert datasets.ImageFolder("images", loader=os.path.basename, extensions=(".txt",))[1] == ["notes.txt"]
raises(RuntimeError, "[DatasetFolder] .bmp", lambda: datasets.DatasetFolder("images", extensions=(".bmp",)))
""",
    "tensors that gradients do not pass": """
x, z = (paddle.to_tensor(values, stop_gradient=False) for values in ([1.0, 2.0], [3.0, 4.0]))
y = x * z
loss = (y * x).sum()
for through, expected in ((None, [6, 16]), ([y], [3, 8]), (y, [3, 8]), ({z}, [6, 16])):
    (found,) = paddle.grad(loss, [x], no_grad_vars=through, retain_graph=True)
    assert found.tolist() == expected, (through, found)
raises(NotImplementedError, "only_inputs", lambda: paddle.grad(loss, [x], only_inputs=False))
""",
    "profiler": """
import json
import os

from paddle import profiler

states = profiler.make_scheduler(closed=1, ready=1, record=2, repeat=2, skip_first=1)
assert [states(step).value for step in range(11)] == [0, 0, 1, 2, 3, 0, 1, 2, 3, 0, 0]
raises(ValueError, "make_scheduler", lambda: profiler.make_scheduler(closed=1, ready=1, record=0))
raises(ValueError, "Profiler", lambda: profiler.Profiler(scheduler=(3, 2)))

layer, x, counts = paddle.nn.Linear(4, 4), paddle.ones([2, 4]), []
write = profiler.export_chrome_tracing("traces", "worker")


def ready(found):
    counts.append(found.step_num)
    write(found)


with profiler.Profiler(targets=[profiler.ProfilerTarget.CPU], scheduler=(2, 4), on_trace_ready=ready) as found:
    for _ in range(6):
        with profiler.RecordEvent("mine"):
            layer(x).sum().backward()
        found.step(num_samples=2)
assert counts == [4], counts
(name,) = os.listdir("traces")
assert name.startswith("worker_time_") and name.endswith(".paddle_trace.json")
events = profiler.load_profiler_result(os.path.join("traces", name))
assert sum(each.get("name") == "mine" and each.get("ph") == "X" for each in events) == 2
found.export("again.json", "json")
raises(NotImplementedError, "export pb", lambda: found.export("x", "pb"))
raises(ValueError, "summary days", lambda: found.summary(time_unit="days"))
found.summary(sorted_by=profiler.SortedKeys.CPUMax, time_unit="us")
assert "images/s" in found.step_info("images") and found.step_info() == ""
raises(RuntimeError, "nothing was recorded", lambda: profiler.Profiler(timer_only=True).summary())
""",
    "hub": """
from pathlib import Path

from paddle import hub

Path("models").mkdir()
Path("models/parts.py").write_text("SIZE = 3")
Path("models/hubconf.py").write_text(
    "import paddle\\nfrom parts import SIZE\\ndependencies = ['json']\\n"
    "def line(out=2):\\n    'A line.'\\n    return paddle.nn.Linear(SIZE, out)\\n"
)
assert hub.list("models", source="local") == ["line"]
assert hub.help("models", "line", source="local") == "A line."
assert hub.load("models", "line", source="local", out=4).weight.shape == [3, 4]
raises(RuntimeError, "curve", lambda: hub.load("models", "curve", source="local"))
raises(ValueError, "source elsewhere", lambda: hub.list("models", source="elsewhere"))
raises(NotImplementedError, "hub.list local", lambda: hub.list("owner/name"))
raises(FileNotFoundError, "hubconf.py", lambda: hub.list(".", source="local"))
Path("models/hubconf.py").write_text("dependencies = ['no_such_package']")
raises(RuntimeError, "no_such_package", lambda: hub.list("models", source="local"))
""",
    "devices without a GPU": """
from paddle import device

if not device.is_compiled_with_cuda():
    assert device.get_device() == "cpu" and device.device_count() == device.cuda.device_count() == 0
    assert not device.is_available() and not device.is_bf16_supported()
    for nothing in (device.empty_cache, device.cuda.empty_cache, device.synchronize, device.ipc_collect):
        assert nothing() is None
    with device.stream_guard(None), device.device_guard("cpu"):
        assert paddle.ones([1]).place.is_cpu_place()
    for name in ("memory_allocated", "max_memory_allocated", "current_stream", "Stream", "Event", "get_device_name"):
        raises(ValueError, f"[{name}] GPU", getattr(device, name))
        raises(ValueError, f"[{name}] GPU", getattr(device.cuda, name))
    raises(ValueError, "[synchronize] GPU", device.cuda.synchronize)
""",
    "paths of modules": """
from paddle.hapi import Model
from paddle.hapi.model_summary import summary
from paddle.optimizer.rmsprop import RMSProp
from paddle.utils.unique_name import generate, guard

import paddle.special

assert Model is paddle.Model and summary is paddle.summary and RMSProp is paddle.optimizer.RMSProp
assert paddle.special.expm1 is paddle.expm1
with guard():
    assert [generate("fc"), paddle.utils.unique_name.generate("fc")] == ["fc_0", "fc_1"]
x = paddle.ones([2])
assert x.place.is_cpu_place() and not x.place.is_gpu_place() and str(x.place) == "Place(cpu)"
assert paddle.to_tensor([1.0], place=x.place).place == x.place
layers = [paddle.nn.ReLU() for _ in range(2)]
assert [each.full_name() for each in reversed(layers)] == ["re_lu_1", "re_lu_0"]
""",
}
#: The line that a program ends with, and has printed before.
REPEATED = {"check_numerics"}


@pytest.mark.parametrize("title", PROGRAMS)
def test_the_program_runs(title, tmp_path):
    extensions.write(tmp_path, {"program.py": HEADER + PROGRAMS[title]})
    lines = extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path).splitlines()
    if title in REPEATED:
        assert lines[-1] in lines[:-1], lines
