"""saved_tensors_hooks, disable_saved_tensors_hooks and save_on_cpu."""

import contextlib
import gc
import weakref

import numpy as np
import pytest

import lamella as lm
from lamella.autograd import (
    allow_mutation_on_saved_tensors,
    checkpoint,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)
from support.layers import Cube
from support.memory import Marker
from support.tensors import leaf
from support.threads import run_on_threads


class Exp(lm.PyLayer):
    @staticmethod
    def forward(ctx, x):
        y = lm.exp(x)
        ctx.save_for_backward(None, y)
        return y

    @staticmethod
    def backward(ctx, dy):
        nothing, y = ctx.saved_tensors
        assert nothing is None
        return dy * y


def test_anything_may_be_packed():
    x = leaf(2.0, 3.0)
    with saved_tensors_hooks(lambda t: t.numpy().copy(), lm.asarray):
        y = (Cube.apply(x) * x).sum()
    y.backward()
    assert x.grad.tolist() == [32, 108]


def test_pack_gets_each_saved_tensor_once_and_off_the_tape():
    seen = []

    def pack(t):
        assert t.stop_gradient and not lm.is_grad_enabled()
        seen.append(t.tolist())
        return t

    x = leaf(0.0)
    with saved_tensors_hooks(pack, lambda t: t):
        y = Exp.apply(x)
        z = y * y
    assert seen == [[1], [1], [1]]
    z.backward()
    assert x.grad.tolist() == [2]


def test_unpack_gets_the_very_object():
    packed, unpacked = [], []

    def pack(t):
        packed.append([t])
        return packed[-1]

    def unpack(box):
        unpacked.append(box)
        return box[0]

    x = leaf(2.0)
    with saved_tensors_hooks(pack, unpack):
        y = x * x
    y.backward()
    assert all(a is b for a, b in zip(packed, unpacked, strict=True)) and len(packed) == 2


def test_the_innermost_pair_applies():
    log = []

    def named(name):
        return saved_tensors_hooks(lambda t: (log.append(name), t)[1], lambda t: t)

    x = leaf(1.0)
    with named("outer"):
        with named("inner"):
            x.exp()
        x.exp()
    x.exp()
    assert log == ["inner", "outer"]


def test_one_object_may_be_entered_again():
    log = []
    hooks = saved_tensors_hooks(lambda t: (log.append(1), t)[1], lambda t: t)
    x = leaf(1.0)
    with hooks:
        with hooks:
            x.exp()
        x.exp()
    x.exp()
    assert log == [1, 1]


def test_higher_derivatives():
    x = leaf(2.0)
    with saved_tensors_hooks(lambda t: t.numpy().copy(), lm.asarray):
        y = Cube.apply(x * 1) * x
        (dx,) = lm.grad(y, x, create_graph=True)
        (ddx,) = lm.grad(dx, x, create_graph=True)
    assert dx.item() == 32 and ddx.item() == 48
    assert lm.grad(ddx, x)[0].item() == 48


def test_saved_outputs_keep_their_place():
    x = leaf(0.0)
    with saved_tensors_hooks(lambda t: t.numpy().copy(), lm.asarray):
        (dx,) = lm.grad(Exp.apply(2 * x), x, create_graph=True)
    assert lm.grad(dx, x)[0].item() == 4


def test_hooks_do_not_apply_to_their_own_work():
    calls = []

    def pack(t):
        calls.append(1)
        with lm.enable_grad():
            w = leaf(1.0)
            (w * w).backward()
        return t

    x = leaf(3.0)
    with saved_tensors_hooks(pack, lambda t: t):
        y = x * x
    y.backward()
    assert len(calls) == 2 and x.grad.item() == 6


def test_in_force_in_a_recorded_backward():
    calls = []
    x = leaf(3.0)
    y = x * x
    with saved_tensors_hooks(lambda t: (calls.append(1), t)[1], lambda t: t):
        (dx,) = lm.grad(y, x, create_graph=True)
    assert calls
    assert lm.grad(dx, x)[0].item() == 2


@pytest.mark.parametrize(
    ("unpack", "error", "message"),
    [
        (lambda t: None, TypeError, r"\[multiply\] unpack of saved_tensors_hooks must return a Tensor, got NoneType"),
        (lambda t: t.numpy(), TypeError, "got numpy.ndarray"),
        (lambda t: t.reshape(1, 2), ValueError, r"float32\[1, 2\] on cpu for saved tensor 0, which was float32\[2\]"),
        (lambda t: t.astype("float64"), ValueError, "float64"),
        (lambda t: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_what_unpack_returns_is_checked(unpack, error, message):
    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(lambda t: t, unpack):
        y = (x * x).sum()
    with pytest.raises(error, match=message):
        y.backward()
    assert x.grad is None


def test_an_exception_in_pack_comes_out_of_the_call():
    x = leaf(1.0)
    with saved_tensors_hooks(lambda t: 1 / 0, lambda t: t):
        with pytest.raises(ZeroDivisionError):
            x.exp()
        with pytest.raises(ZeroDivisionError):
            Cube.apply(x)
    assert x.exp().grad_fn is not None


def test_pack_must_not_write():
    def pack(t):
        t += 1
        return t

    x = leaf(1.0) * 1
    with (
        saved_tensors_hooks(pack, lambda t: t),
        pytest.raises(RuntimeError, match=r"\[saved_tensors_hooks\] pack wrote into the tensor .*saved by multiply"),
    ):
        x * x


def test_foreign_memory_may_be_written_while_pack_copies_it():
    values = np.ones(3, np.float32)
    x = lm.from_numpy(values)
    x.stop_gradient = False

    def pack(t):
        copied = t.clone()
        values[0] = 5  # stands for another process, with which the memory is shared
        return copied

    with saved_tensors_hooks(pack, lambda t: t):
        y = x.exp() * x
    y.sum().backward()
    assert x.grad is not None


def test_writes_are_found_where_pack_kept_the_memory():
    x = leaf(1.0) * 1
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x * x
    with lm.no_grad():
        x += 1
    with pytest.raises(RuntimeError, match="was overwritten by add_"):
        y.backward()


def test_a_copy_may_outlive_a_write():
    x = leaf(3.0)
    h = x * 1
    with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = h * h
    with lm.no_grad():
        h += 1
    y.backward()
    assert x.grad.item() == 6


def test_a_freed_graph_says_so():
    x = leaf(1.0)
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x * x
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="freed by an earlier backward pass"):
        y.backward()


def test_wrong_use():
    with pytest.raises(TypeError, match=r"\[saved_tensors_hooks\] unpack: expected a function, got int"):
        saved_tensors_hooks(lambda t: t, 3)
    hooks = saved_tensors_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="not entered"):
        hooks.__exit__(None, None, None)
    with pytest.raises(RuntimeError, match="not entered"):
        lm._C._pop_saved_tensors_hooks_disabled()


def test_other_threads_know_nothing_of_it():
    x = leaf(1.0)
    calls = []
    with saved_tensors_hooks(lambda t: (calls.append(1), t)[1], lambda t: t):
        run_on_threads(lambda: (x * x).backward())
    assert not calls and x.grad.item() == 2


def test_disabled():
    with disable_saved_tensors_hooks("not in here"):
        with pytest.raises(RuntimeError, match="not in here"), saved_tensors_hooks(lambda t: t, lambda t: t):
            pass
        with pytest.raises(RuntimeError, match="not in here"):
            lm.autograd.checkpoint(lm.exp, leaf(1.0))
    with (
        saved_tensors_hooks(lambda t: t, lambda t: t),
        pytest.raises(RuntimeError, match="why"),
        disable_saved_tensors_hooks("why"),
    ):
        pass
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        pass
    with pytest.raises(TypeError, match="expected a str"):
        disable_saved_tensors_hooks(3)


class Thing:
    """Something that can be watched, and holds others."""

    def __init__(self, *others):
        self.others = others


def test_packed_objects_go_with_backward():
    watched = []

    def pack(t):
        thing = Thing(t.clone())
        watched.append(weakref.ref(thing))
        return thing

    x = leaf(1.0)
    with saved_tensors_hooks(pack, lambda thing: thing.others[0]):
        y = x * x
        z = Cube.apply(y)
    z.backward()
    assert len(watched) == 3 and not any(ref() for ref in watched)
    assert y is not None


@pytest.mark.usefixtures("quiet_collector")
def test_packed_objects_go_with_the_graph():
    watched = []

    def pack(t):
        thing = Thing(t)
        watched.append(weakref.ref(thing))
        return thing

    before = lm.memory.memory_allocated()
    x = leaf(1.0)
    with saved_tensors_hooks(pack, lambda thing: thing.others[0]):
        y = Cube.apply(x).exp()
    assert all(ref() for ref in watched)
    del x, y
    assert not any(ref() for ref in watched)
    assert lm.memory.memory_allocated() == before


@pytest.mark.parametrize("operation", [lm.exp, Cube.apply], ids=["operator", "layer"])
def test_the_collector_sees_packed_objects(operation):
    box = []

    def pack(t):
        thing = Thing(box)
        box.append(thing)
        return thing

    gc.collect()
    x = leaf(1.0)
    with saved_tensors_hooks(pack, lambda thing: x):
        y = operation(x)
    ref = weakref.ref(box[0])
    box[0].others = (y,)  # the result holds the node, the node the thing, the thing the result
    box.clear()
    del y, pack
    gc.collect()
    assert ref() is None


def test_the_collector_sees_the_functions():
    x = leaf(1.0)
    results = Thing()

    def run(thing):
        with saved_tensors_hooks(lambda t: t.numpy().copy(), lambda array: thing.others and lm.asarray(array)):
            return Cube.apply(x)

    results.others = (run(results),)
    ref = weakref.ref(results)
    del results
    gc.collect()
    assert ref() is None


@pytest.mark.usefixtures("quiet_collector")
@pytest.mark.parametrize("pin_memory", [False, True])
def test_save_on_cpu_copies_nothing_there(pin_memory):
    x = lm.ones((1 << 16,), dtype="float32")
    x.stop_gradient = False
    before = lm.memory.memory_allocated()
    with save_on_cpu(pin_memory=pin_memory):
        y = x * x
    assert lm.memory.memory_allocated() - before < 2 * x.nbytes
    y.sum().backward()
    assert np.all(x.grad.numpy() == 2)


def test_save_on_cpu_takes_a_bool():
    with pytest.raises(TypeError, match=r"\[save_on_cpu\] pin_memory: expected True or False, got str"):
        save_on_cpu("cuda:0")  # type: ignore[arg-type]


@pytest.mark.skipif(not lm.cuda.is_available(), reason="wants a CUDA device")
def test_save_on_cpu_frees_the_device():
    x = lm.ones((1 << 20,), dtype="float32", device="cuda:0")
    x.stop_gradient = False
    held = []
    for context in (saved_tensors_hooks(lambda t: t, lambda t: t), save_on_cpu()):
        before = lm.memory.memory_allocated("cuda:0")
        with context:
            y = x.exp().exp().exp()
        held.append(lm.memory.memory_allocated("cuda:0") - before)
        (dx,) = lm.grad(y.sum(), x)
        assert dx.device == "cuda:0"
        del y, dx
    assert held[1] * 3 <= held[0]


# What a user set on a saved Parameter


class Weight(lm.nn.Parameter):
    """A Parameter of a class of the user's."""


class Product(lm.PyLayer):
    """x * w, whose backward reads attributes of w and sets one."""

    @staticmethod
    def forward(ctx, x, w):
        assert w.note == ["a note"]
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        assert w.note == ["a note"] and not hasattr(w, "nothing")
        w.note.append(type(w))
        w.seen = True
        return dy * w, dy * x


HOOKS = {
    "none": contextlib.nullcontext,
    "numpy": lambda: saved_tensors_hooks(lambda t: t.numpy().copy(), lm.asarray),
    "identity": lambda: saved_tensors_hooks(lambda t: t, lambda t: t),
    "copy": lambda: saved_tensors_hooks(lambda t: t.clone(), lambda t: t),
    "save_on_cpu": save_on_cpu,
    "mutation": allow_mutation_on_saved_tensors,
}
CALLS = {
    "plain": lambda x, w: Product.apply(x, w),
    "checkpoint": lambda x, w: checkpoint(Product.apply, x, w),
    "checkpoint of a closure": lambda x, w: checkpoint(lambda x: Product.apply(x, w), x),
    "checkpoint, keyword": lambda x, w: checkpoint(lambda x, w: Product.apply(x, w), x, w=w),
    "checkpoint, nested": lambda x, w: checkpoint(lambda x, ws: checkpoint(Product.apply, x, ws["w"]), x, {"w": w}),
    "checkpoint, reentrant": lambda x, w: checkpoint(Product.apply, x, w, use_reentrant=True),
}


@pytest.mark.parametrize("kind", [lm.nn.Parameter, Weight])
@pytest.mark.parametrize("hooks", HOOKS)
@pytest.mark.parametrize("call", CALLS)
def test_attributes_of_a_saved_parameter_are_there_in_backward(kind, hooks, call):
    x, w = leaf(2.0), kind([3.0])
    w.note = ["a note"]
    with HOOKS[hooks]():
        y = CALLS[call](x, w)
    y.backward()
    assert w.note == ["a note", kind] and w.seen and x.grad.item() == 3 and w.grad.item() == 2


@pytest.mark.parametrize("hooks", HOOKS)
@pytest.mark.parametrize("call", [name for name in CALLS if "reentrant" not in name])
def test_such_a_parameter_has_its_place_on_the_tape(hooks, call):
    x, w = leaf(2.0), Weight([3.0])
    w.note = ["a note"]
    with HOOKS[hooks]():
        y = CALLS[call](x, w)
    (dx,) = lm.grad([y], [x], create_graph=True)
    assert w.note == ["a note", Weight] and lm.grad(dx, w).item() == 1


def test_attributes_are_gone_with_the_parameter():
    x = leaf(2.0)

    class Read(lm.PyLayer):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(w)
            return x * w

        @staticmethod
        def backward(ctx, dy):
            (w,) = ctx.saved_tensors
            return dy * w, None

    w = Weight([3.0])
    w.note = note = Marker()
    gone = weakref.ref(note)
    with save_on_cpu():
        y = Read.apply(x, w)
    del w, note
    gc.collect()
    assert gone() is None
    y.backward()
    assert x.grad.item() == 3
