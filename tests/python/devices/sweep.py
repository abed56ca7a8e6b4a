"""Runs the calls of every operator, and their gradients, on the simulated accelerator and on the CPU, and compares."""

import numpy as np
import sim_npu  # noqa: F401

import lamella as lm
from ops import assembly_calls, calls, linalg_calls, moving, nn_calls, random_calls, samples, special_calls

DEVICE = "npu:0"
MODULES = (calls, moving, linalg_calls, nn_calls, random_calls, assembly_calls, special_calls)
# Calls that bring a tensor of the CPU themselves are refused for that; these are all of them.
MIXED = {
    *("conv1d", "instance_norm", "linear", "linalg_eigh", "linalg_svd"),
    *("max_unpool1d", "max_unpool2d", "max_unpool3d", "scaled_dot_product_attention"),
}
# Goes to the CPU by its own word; draws its mask in another order there.
OTHERWISE = {("to_device", 0), ("scaled_dot_product_attention", 3)}

make_index, make_generator = calls.index, lm.Generator


def tensors(result):
    if isinstance(result, lm.Tensor):
        return [result]
    return [x for part in result for x in tensors(part)] if isinstance(result, (tuple, list)) else []


def outcome(call, inputs):
    """The results of a call, and the gradients of its inputs."""
    results = tensors(call(*inputs))
    differentiable = [y for y in results if not y.stop_gradient]
    wanted = [x for x in inputs if not x.stop_gradient]
    if not differentiable:
        return results
    ones = [lm.ones_like(y) for y in differentiable]
    return [*results, *lm.grad(differentiable, wanted, ones, allow_unused=True)]


def there(x):
    moved = x.detach().to(DEVICE)
    moved.stop_gradient = x.stop_gradient
    return moved


def on_the_cpu():
    found = {}
    for name, cases in calls.CALLS.items():
        for number, (call, inputs) in enumerate(cases):
            lm.random.seed(0)
            found[name, number] = outcome(call, inputs)
    return found


expected = on_the_cpu()
for module in MODULES:
    for name, value in list(vars(module).items()):
        if isinstance(value, lm.Tensor):
            setattr(module, name, value.to(DEVICE))
    if hasattr(module, "index"):
        module.index = lambda *values: make_index(*values).to(DEVICE)
lm.Generator = lambda **options: make_generator(**{"device": DEVICE, **options})

compared = 0
for name, cases in calls.CALLS.items():
    for number, (call, inputs) in enumerate(cases):
        if (name, number) in OTHERWISE:
            continue
        lm.random.seed(0)
        try:
            results = outcome(call, [there(x) for x in inputs])
        except RuntimeError as error:
            assert name in MIXED and "got tensors on" in str(error), (name, number, error)
            continue
        for got, wanted in zip(results, expected[name, number], strict=True):
            assert (got is None) == (wanted is None), (name, number)
            if got is None:
                continue
            assert got.device == DEVICE, (name, number)
            close = np.allclose(got.detach().numpy(), wanted.detach().numpy(), rtol=1e-6, atol=1e-9, equal_nan=True)
            assert close, (name, number)
            compared += 1
assert compared > 900, compared

rng = np.random.default_rng(0)
for op in samples.ELEMENTWISE:
    for dtype in op.dtypes:
        for shapes in ([(3, 4)] * 4, [(3, 1), (4,), (3, 4), ()]):
            arrays = samples.arguments(op, shapes[: op.inputs], dtype, rng)
            given = [samples.tensor(a, dtype) for a in arrays]
            got, wanted = op(*[x.to(DEVICE) for x in given]), op(*given)
            assert got.device == DEVICE and got.dtype == wanted.dtype, (op.name, dtype)
            a, b = (x.cpu().astype("complex128").numpy() for x in (got, wanted))
            assert np.allclose(a, b, rtol=1e-6, equal_nan=True), (op.name, dtype)
