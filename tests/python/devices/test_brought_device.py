"""The simulated accelerator of tutorial 07: its memory is not the program's, and its work is done later."""

import pytest

from support import devices

START = """
import numpy as np
import lamella as lm
import sim_npu
from support.devices import raises
"""


@pytest.fixture
def run(npu):
    return lambda code, *arguments: devices.succeed(START + code, npu, arguments=arguments)


def test_tensors_are_made_moved_and_printed(run):
    run("""
x = lm.tensor([[1.0, 2.0], [3.0, 4.0]], device="npu:0")
assert x.device == "npu:0" and x.is_npu and not x.cpu().is_npu
assert repr(x) == "Tensor([[1., 2.],\\n        [3., 4.]], dtype=float32, device='npu:0')"
assert x.tolist() == [[1, 2], [3, 4]] and x.T.tolist() == [[1, 3], [2, 4]] and x[::-1, 1].tolist() == [4, 2]
assert x.to("npu") is not None and x.npu(1).device == "npu:1" and x.npu(1).npu(0).tolist() == x.tolist()
assert x.numpy().tolist() == x.tolist()  # a copy
raises(RuntimeError, lambda: memoryview(x), "the tensor is on npu:0: call x.cpu() first")
raises(RuntimeError, lambda: x.__dlpack__(), "no device for npu:0")
assert x.astype("int64").tolist() == [[1, 2], [3, 4]] and x.astype("int64").device == "npu:0"
for dtype in ("bool", "int8", "uint64", "float16", "bfloat16", "float64", "complex64"):
    assert lm.ones([3], dtype=dtype, device="npu").device == "npu:0"
    assert lm.ones([3], dtype=dtype, device="npu").cpu().astype("complex128").tolist() == [1, 1, 1]
assert lm.empty([0, 3], device="npu").tolist() == [] and lm.tensor(2.5, device="npu").item() == 2.5
assert lm.arange(4, device="npu").tolist() == [0, 1, 2, 3]
""")


def test_views_are_written_in_their_place_only(run):
    run("""
x = lm.zeros([4, 6], device="npu")
expected = np.zeros((4, 6), "float32")
for key, value in [((slice(None), 1), 5.0), ((slice(1, 3), slice(None, None, 2)), 7.0), ((2,), 1.0), ((..., -1), 2.0)]:
    x[key] = value
    expected[key] = value
    assert (x.numpy() == expected).all(), key
x.T[0] = lm.tensor([1.0, 2.0, 3.0, 4.0], device="npu")
expected.T[0] = [1, 2, 3, 4]
x[:, ::-2] += lm.ones([4, 3], device="npu")
expected[:, ::-2] += 1
assert (x.numpy() == expected).all()
x[lm.tensor([0, 2], device="npu")] = lm.tensor(9.0)
expected[[0, 2]] = 9
x[x > 8] = -1.0
expected[expected > 8] = -1
assert (x.numpy() == expected).all()
assert (lm.broadcast_to(x[:1], [3, 6]) * 1).tolist() == np.repeat(expected[:1], 3, 0).tolist()
""")


def test_gradients_are_computed_and_accumulated_there(run):
    run("""
x = lm.tensor([1.0, 2.0, 3.0], device="npu", stop_gradient=False)
b = lm.tensor([0.5], device="npu", stop_gradient=False)
for _ in range(2):
    (x * x + b).sum().backward()
assert x.grad.tolist() == [4, 8, 12] and x.grad.device == "npu:0" and b.grad.tolist() == [6]
(d,) = lm.grad((x**3).sum(), [x], create_graph=True)
(dd,) = lm.grad(d.sum(), [x])
assert np.allclose(dd.numpy(), [6, 12, 18]) and dd.device == "npu:0"
# Through the transfer, to leaves elsewhere.
leaf = lm.tensor([1.0, 2.0], stop_gradient=False)
(leaf.npu() * 3).sum().backward()
assert leaf.grad.tolist() == [3, 3] and leaf.grad.device == "cpu"
# A view, and a write in place that is recorded.
y = lm.ones([2, 3], device="npu") * x.detach()
w = lm.ones([3], device="npu")
w.stop_gradient = False
y[0] = w * 2
y.sum().backward()
assert w.grad.tolist() == [2, 2, 2]
primal, tangent = lm.autograd.jvp(lambda t: t * t, (x.detach(),), (lm.ones([3], device="npu"),))[:2]
assert tangent.tolist() == [2, 4, 6]
assert lm.autograd.vmap(lambda t: t * 2)(lm.ones([2, 3], device="npu")).tolist() == [[2, 2, 2]] * 2
""")


def test_the_documents_operator(run):
    run("""
x = lm.tensor([1.0, 2.0], device="npu", stop_gradient=False)
y = lm.tensor([10.0, 20.0], device="npu", stop_gradient=False)
z = lm.ops.sim_npu.my_op(x, y)
assert z.tolist() == [11, 22] and z.grad_fn is not None
z.backward(lm.tensor([1.0, 3.0], device="npu"))
assert x.grad.tolist() == [1, 3] and y.grad.tolist() == [1, 3] and y.grad.device == "npu:0"
raises(RuntimeError, lambda: lm.ops.sim_npu.my_op(x, lm.ones([2])), "'self' on npu:0, 'other' on cpu; move them to one")
raises(RuntimeError, lambda: lm.ops.sim_npu.my_op(x, y.npu(1)), "'self' on npu:0, 'other' on npu:1")
raises(NotImplementedError, lambda: lm.ops.sim_npu.my_op(lm.ones([2]), lm.ones([2])), "it has kernels for PrivateUse1")
""")


def test_models_and_optimizers(run):
    run("""
for make in (lambda p: lm.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: lm.optim.Adam(p, lr=0.05)):
    lm.random.seed(1)
    model = lm.nn.Sequential(lm.nn.Linear(2, 8), lm.nn.ReLU(), lm.nn.Linear(8, 1)).npu()
    assert all(p.device == "npu:0" for p in model.parameters())
    twin = lm.nn.Sequential(lm.nn.Linear(2, 8), lm.nn.ReLU(), lm.nn.Linear(8, 1))
    twin.load_state_dict({name: value.cpu() for name, value in model.state_dict().items()})
    x = lm.randn([16, 2])
    y = (x[:, :1] * x[:, 1:]).detach()
    optimizers = [make(model.parameters()), make(twin.parameters())]
    for _ in range(20):
        losses = []
        for net, optimizer, where in ((model, optimizers[0], "npu"), (twin, optimizers[1], "cpu")):
            optimizer.zero_grad()
            loss = ((net(x.to(where)) - y.to(where)) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert np.allclose(*losses, rtol=1e-3), losses
    assert all(p.device == "npu:0" for p in model.parameters())
""")


def test_what_has_no_kernel_runs_on_the_host(run):
    run("""
x = lm.tensor([[3.0, 1.0, 2.0], [0.5, 0.25, 8.0]], device="npu")
for f in (lm.sort, lm.argsort, lambda t: lm.cumulative_sum(t, axis=1), lambda t: lm.softmax(t, 0), lm.exp,
          lambda t: lm.linalg.svd(t)[1], lambda t: lm.conv1d(t[:, None], t[:1, None, :2]), lm.unique_values,
          lambda t: lm.fft.fft(t), lambda t: t.max(1), lambda t: lm.argmax(t, 1), lambda t: t[t > 1], lm.nonzero,
          lambda t: lm.where(t > 1, t, 0), lambda t: t.std(), lambda t: lm.einsum("ij,kj->ik", t, t),
          lambda t: lm.tril(t > 0.5), lambda t: lm.linalg.ldl_factor_ex(t[:, :2]),
          lambda t: lm.linalg.lu_factor_ex(t[:, :2])):
    got, expected = f(x), f(x.cpu())
    for a, b in zip(got, expected) if isinstance(got, tuple) else [(got, expected)]:
        assert a.device == "npu:0" and a.dtype == b.dtype and np.allclose(a.numpy(), b.numpy()), f
ints = lm.arange(4, device="npu")
assert (ints + 1).tolist() == [1, 2, 3, 4]  # the kernel for add declines integers
assert (ints // 2).tolist() == [0, 0, 1, 1] and ints.sum().item() == 6 and (x @ x.T).device == "npu:0"
# Operators of the user's, with a kernel for the CPU alone.
@lm.library.custom_op("devices::twice", mutates_args=(), device_types="cpu")
def twice(t: lm.Tensor) -> lm.Tensor:
    assert t.device == "cpu"
    return t * 2
assert twice(x).device == "npu:0" and twice(x).tolist() == (x * 2).tolist()
@lm.library.custom_op("devices::fill", mutates_args=("t",), device_types="cpu")
def fill(t: lm.Tensor, value: float) -> None:
    t.fill_(value)
fill(x, 4.0)
assert x.tolist() == [[4, 4, 4], [4, 4, 4]]
# A kernel of one's own for it, in Python.
@lm.library.custom_op("devices::where_am_i", mutates_args=(), device_types="npu")
def where_am_i(t: lm.Tensor) -> str:
    return t.device
assert where_am_i(x.npu(1)) == "npu:1"
""")


def test_built_in_operators_ask_for_kernels(run):
    run("""
seen = []
library = lm.library.Library("lamella", "FRAGMENT")
@library.impl("exp", dispatch_key="PrivateUse1")
def exp(x):
    seen.append((x.shape, x.is_contiguous(), x.device))
    return lm.exp(x.cpu()).to(x.device)
x = lm.tensor([[0.0, 1.0, 2.0]], device="npu", stop_gradient=False)
y = lm.exp(x.T)
assert seen == [((3, 1), True, "npu:0")], seen
y.sum().backward()
assert np.allclose(x.grad.numpy(), np.exp([[0, 1, 2]]))
assert lm.ops.lamella.exp(x).requires_grad
library.reset()
lm.exp(x)
assert len(seen) == 2
""")


def test_random_numbers(run):
    run("""
lm.random.seed(3)
a = lm.randn([5], device="npu")
lm.npu.manual_seed(3)
assert lm.randn([5], device="npu").tolist() == a.tolist()
assert lm.randn([5], device="npu").tolist() != a.tolist()
state = lm.npu.get_rng_state()
b = lm.rand([4], device="npu")
lm.npu.set_rng_state(state)
assert lm.rand([4], device="npu").tolist() == b.tolist() and b.device == "npu:0"
generator = lm.Generator(device="npu:1", seed=5)
assert lm.randint(0, 9, [4], device="npu:1", generator=generator).device == "npu:1"
raises(ValueError, lambda: lm.rand([2], generator=generator), "one of device npu:1 cannot draw numbers on cpu")
x = lm.ones([1000], device="npu")
assert 300 < (lm.dropout(x, 0.5) == 0).sum().item() < 700
assert lm.multinomial(lm.tensor([0.0, 1.0], device="npu"), 3, replacement=True).tolist() == [1, 1, 1]
assert lm.random.rng_states()["npu:0"] is not None
""")


def test_the_devices_module(run):
    run("""
import lamella.npu
assert lamella.npu is lm.npu and lm.npu.is_available() and lm.npu.device_count() == 2
assert lm.npu.current_device() == 0 and lm.ones([1], device="npu").device == "npu:0"
with lm.npu.device("npu:1"):
    assert lm.npu.current_device() == 1 and lm.ones([1], device="npu").device == "npu:1"
    assert lm.ones([2]).npu().device == "npu:1"
assert lm.npu.current_device() == 0
for bad in (2, -1, "npu:9", 10**9):
    raises(RuntimeError, lambda: lm.npu.set_device(bad), "there is no npu:")
raises(ValueError, lambda: lm.npu.set_device("cpu"))
raises(RuntimeError, lambda: lm.ones([1], device="npu:2"), "there is no npu:2: this process can use 2 of its kind")
raises(ValueError, lambda: lm.ones([1], device="tpu"), '"npu" or "npu:<index>", got "tpu"')
before = lm.npu.memory_allocated()
x = lm.ones([1 << 20], device="npu")
assert lm.npu.memory_allocated() - before >= 4 << 20 and lm.npu.max_memory_allocated() >= 4 << 20
del x
assert lm.npu.memory_allocated() == before and lm.npu.memory_reserved() >= 4 << 20
lm.npu.empty_cache()
assert lm.npu.memory_reserved() < 4 << 20
lm.npu.synchronize()
lm.npu.synchronize("npu:1")
lm.utils.generate_methods_for_privateuse1_backend()
lm.utils.rename_privateuse1_backend("npu")
assert lm.utils.privateuse1_backend_name() == "npu"
raises(RuntimeError, lambda: lm.utils.rename_privateuse1_backend("tpu"), "are called 'npu' in this process")
for bad in ("", "cpu", "NPU", "1x", "a b", "cuda", "privateuse1"):
    raises(ValueError, lambda: lm.utils.rename_privateuse1_backend(bad))
raises(RuntimeError, lambda: lm.utils.register_device_module("tpu"), "'npu'")
""")


def test_streams(run):
    run("""
stream = lm.npu.Stream()
assert repr(stream) == "Stream(device='npu:0')"
with lm.npu.stream(stream):
    x = lm.ones([1000], device="npu") * 3
    with lm.npu.Stream("npu:0"):
        y = lm.ones([4], device="npu") * 2
        assert y.sum().item() == 8
    assert x.sum().item() == 3000
stream.synchronize()
raises(ValueError, lambda: lm._C._privateuse1_set_stream("npu:1", stream._id), "expected a stream of npu:1, got one")
raises(ValueError, lambda: lm._C._privateuse1_synchronize_stream(12345), "no such stream")
raises(RuntimeError, lambda: lm.npu.Stream(7), "there is no npu:7")
# A stream that goes while it is the current one lives on as that.
other = lm.npu.Stream()
other.__enter__()
del other
x = lm.ones([100], device="npu") + 1
assert x.sum().item() == 200
del stream
""")


def test_memory_runs_out(run):
    run("""
raises(MemoryError, lambda: lm.empty([1 << 30], device="npu"), "npu:0 has no 4294967296 bytes left")
x = [lm.ones([16 << 20], device="npu") for _ in range(3)]
raises(MemoryError, lambda: [lm.ones([16 << 20], device="npu") for _ in range(3)], "npu:0")
del x
for _ in range(6):  # what was freed is used again, in other sizes after the cache was given back
    lm.ones([48 << 20], device="npu")
    lm.ones([8 << 20], device="npu")
assert lm.ones([2], device="npu").tolist() == [1, 1]
""")


def test_pickling_and_copies(run, npu):
    run("""
import copy, pickle
x = lm.tensor([[1.0, 2.0]], device="npu:1", stop_gradient=False)
for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
    assert y.tolist() == [[1, 2]] and y.device == "npu:1" and not y.stop_gradient
""")


def test_many_threads(run):
    run("""
import threading
errors = []
def work(seed):
    try:
        for i in range(40):
            n = 10 + (seed * 7 + i) % 50
            x = lm.full([n], float(seed), device=f"npu:{seed % 2}")
            x.stop_gradient = False
            y = (x * x + 1).sum()
            y.backward()
            assert abs(y.item() - n * (seed * seed + 1)) < 1e-3
            assert x.grad.tolist() == [2.0 * seed] * n
            if i % 10 == 0:
                with lm.npu.Stream(seed % 2):
                    assert (lm.ones([n], device=f"npu:{seed % 2}") + 1).sum().item() == 2 * n
                lm.npu.empty_cache(seed % 2)
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
for t in threads: t.start()
for t in threads: t.join()
assert not errors, errors
""")


@pytest.mark.parametrize(
    "ending",
    [
        "pass",
        "import sys; sys.exit(0)",
        "sys_kept = [x, stream]; import atexit; atexit.register(lambda: sys_kept)",
        "import atexit; atexit.register(lambda: print(x.sum().item() > 0))",
        "class Late:\n    def __del__(self): x.sum()\nlate = Late()",
        "threading.Thread(target=work, args=(500,)).start()",
        "threading.Thread(target=work, args=(10**6,), daemon=True).start()",
    ],
)
def test_the_process_ends_cleanly_with_work_under_way(run, ending):
    run(f"""
import threading
def work(times):
    for i in range(times):
        lm.ones([9], device="npu") + i
stream = lm.npu.Stream()
x = lm.ones([1 << 20], device="npu")
for _ in range(20):
    x = x + 1
with stream:
    y = lm.ones([1 << 20], device="npu") + 1
{ending}
""")


def test_a_forked_process_is_told(run):
    run("""
import os
x = lm.ones([4], device="npu")
child = os.fork()
if child == 0:
    try:
        raises(RuntimeError, lambda: x + 1, "forked off after its extension was loaded")
        raises(RuntimeError, lambda: lm.npu.synchronize(), "forked")
        del x
        assert (lm.ones([2]) + 1).tolist() == [2, 2]
    except BaseException:
        import traceback; traceback.print_exc()
        os._exit(1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert (x + 1).tolist() == [2, 2, 2, 2]
""")


def test_all_operators_on_the_device(run):
    """Every operator's calls in the tests' tables, values and gradients, beside the CPU."""
    run("import runpy, sys\nrunpy.run_path(sys.argv[1])", str(devices.ROOT / "tests/python/devices/sweep.py"))
