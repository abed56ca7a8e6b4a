"""Tensor objects: making, identity, attributes, conversion, printing, copies."""

import copy
import gc
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest

import lamella as lm


class Sub(lm.Tensor):
    pass


def test_making():
    x = lm.Tensor([[1, 2], [3, 4]], dtype="float64", stop_gradient=False)
    assert x.shape == (2, 2) and x.dtype is lm.float64 and not x.stop_gradient and x.is_leaf
    y = lm.Tensor(x)
    assert y is not x and y.is_leaf and y.stop_gradient and y.data_ptr() == x.data_ptr()


@pytest.mark.parametrize(
    "make", [lambda: lm.Tensor(), lambda: lm.Tensor.__new__(lm.Tensor), lambda: object.__new__(lm.Tensor)]
)
def test_without_data(make):
    with pytest.raises(TypeError):
        make()


def test_subclasses():
    x = Sub([1.0, 2.0])
    x.note = "text"
    assert isinstance(x, lm.Tensor) and x.note == "text" and x.__dict__ == {"note": "text"}
    assert type(x + 1) is lm.Tensor
    with pytest.raises(AttributeError):
        lm.zeros(1).note = 1

    class Broken(lm.Tensor):
        def __init__(self, *args):
            raise KeyError("no")

    with pytest.raises(KeyError):
        Broken([1.0])

    class Quiet(lm.Tensor):
        def __new__(cls, n):
            return super().__new__(cls, [0.0] * n)

        def __init__(self, n):
            self.n = n

    assert Quiet(3).n == 3 and Quiet(3).shape == (3,)


def test_identity():
    x = lm.tensor([1.0], stop_gradient=False)
    (x * 2).backward()
    assert x.grad is x.grad
    assert {x: 1}[x] == 1 and hash(x) == hash(x)
    node, same = (x * 2).grad_fn, None
    same = node.next_functions[0][0]
    assert same == (x * 3).grad_fn.next_functions[0][0] and hash(same) == hash((x * 3).grad_fn.next_functions[0][0])
    assert same != node and same != 3


def test_weak_references():
    for make in (lambda: lm.zeros(2), lambda: Sub([1.0])):
        x, seen = make(), []
        ref = weakref.ref(x, seen.append)
        assert ref() is x
        del x
        gc.collect()
        assert ref() is None and seen == [ref]
    # An object from the free list starts clean.
    assert all(weakref.getweakrefcount(lm.zeros(1)) == 0 for _ in range(300))


def test_cycles_of_subclasses_are_collected():
    x = Sub([1.0])
    x.me = x
    ref = weakref.ref(x)
    del x
    gc.collect()
    assert ref() is None


def test_attributes():
    x = lm.zeros((2, 3, 4), dtype="int16")
    assert (x.ndim, x.size, x.itemsize, x.nbytes) == (3, 24, 2, 48)
    assert x.strides == (12, 4, 1) and x.T.strides == (1, 4, 12) and x.T.shape == (4, 3, 2) and x.mT.shape == (2, 4, 3)
    assert x.device == "cpu" and lm.zeros(1, device="meta").device == "meta"
    assert x.is_contiguous() and not x.T.is_contiguous()
    assert isinstance(x.data_ptr(), int)
    with pytest.raises(AttributeError):
        x.shape = (24,)


def test_stop_gradient_and_requires_grad_are_opposites():
    x = lm.zeros(2)
    assert x.stop_gradient and not x.requires_grad
    x.requires_grad = True
    assert not x.stop_gradient
    x.stop_gradient = True
    assert not x.requires_grad
    for value in (1, None, "yes"):
        with pytest.raises(TypeError, match="stop_gradient"):
            x.stop_gradient = value
    with pytest.raises(TypeError):
        del x.stop_gradient
    with pytest.raises(RuntimeError, match="int64"):
        lm.zeros(1, dtype="int64").requires_grad = True
    x.requires_grad = True
    with pytest.raises(RuntimeError, match="detach"):
        (x * 2).stop_gradient = True


def test_grad_can_be_set_and_deleted():
    x = lm.tensor([1.0, 2.0], stop_gradient=False)
    g = lm.ones(2)
    x.grad = g
    assert x.grad is g
    del x.grad
    assert x.grad is None
    x.grad = g
    x.clear_grad()
    assert x.grad is None
    x.grad = None
    with pytest.raises(TypeError, match=r"numpy\.ndarray"):
        x.grad = np.ones(2)
    for wrong in (lm.ones(3), lm.ones(2, dtype="float64"), x):
        with pytest.raises(ValueError):
            x.grad = wrong


def test_to():
    x = lm.tensor([1.5], stop_gradient=False)
    assert x.to("cpu") is x and x.cpu() is x and x.to(lm.float32) is x and x.to() is x
    assert x.to("float64").dtype is lm.float64 and x.to(dtype="int32").dtype is lm.int32
    assert x.to("meta").device == "meta" and x.to(device="meta", dtype="float64").dtype is lm.float64
    with pytest.raises(ValueError, match="mars"):
        x.to("mars")
    with pytest.raises(TypeError):
        x.to(3)


def test_numbers():
    assert lm.asarray([2.5]).item() == 2.5 and type(lm.asarray(2).item()) is int and lm.asarray(True).item() is True
    assert float(lm.asarray(2)) == 2.0 and int(lm.asarray([[2.9]])) == 2 and complex(lm.asarray(1j).item()) == 1j
    assert [10, 20, 30][lm.asarray(1)] == 20 and "ab" * lm.asarray(2) == "abab"
    assert bool(lm.asarray(0.0)) is False and bool(lm.asarray([5]))
    for call in (bool, float, int):
        with pytest.raises(ValueError, match=call.__name__):
            call(lm.ones(2))
    with pytest.raises(TypeError, match="index"):
        [1, 2][lm.asarray(1.0)]
    with pytest.raises(TypeError):
        float(lm.asarray(1j))
    with pytest.raises(ValueError, match="item"):
        lm.ones(2).item()


def test_tolist():
    assert lm.asarray([[1, 2], [3, 4]]).T.tolist() == [[1, 3], [2, 4]]
    assert lm.asarray(1.5).tolist() == 1.5 and lm.zeros((0, 2)).tolist() == [] and lm.zeros((2, 0)).tolist() == [[], []]
    assert lm.asarray([True]).tolist() == [True] and lm.asarray([1.5], dtype="bfloat16").tolist() == [1.5]
    assert lm.asarray([2**64 - 1], dtype="uint64").tolist() == [2**64 - 1]


def test_length_and_iteration():
    x = lm.asarray([[1, 2], [3, 4]])
    assert len(x) == 2 and [row.tolist() for row in x] == [[1, 2], [3, 4]] and 3 in x[1]
    _, b = x
    assert b.tolist() == [3, 4]
    for call in (len, iter, list):
        with pytest.raises(TypeError, match="0-d"):
            call(lm.asarray(1))


def test_meta_tensors_have_no_values():
    x = lm.zeros((2, 3), device="meta")
    assert (x + 1).shape == (2, 3) and repr(x) == "Tensor(shape=[2, 3], dtype=float32, device='meta')"
    for call in (x.numpy, x.tolist, x[0, 0].item, lambda: bool(x[0, 0]), lambda: x.__dlpack__()):
        with pytest.raises(RuntimeError, match="meta"):
            call()


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (lm.asarray([1.0, 2.5]), "Tensor([1. , 2.5], dtype=float32)"),
        (lm.asarray(3), "Tensor(3, dtype=int64)"),
        (lm.asarray([[True], [False]]), "Tensor([[ True],\n        [False]], dtype=bool)"),
        (lm.zeros((0, 3)), "Tensor([], shape=[0, 3], dtype=float32)"),
        (lm.tensor([1.0], stop_gradient=False), "Tensor([1.], dtype=float32, stop_gradient=False)"),
        (lm.tensor([1.0], stop_gradient=False) * 2, "Tensor([2.], dtype=float32, grad_fn=<multiply node>)"),
        (lm.asarray([1.0], dtype="bfloat16"), "Tensor([1.], dtype=bfloat16)"),
    ],
)
def test_repr(x, text):
    assert repr(x) == str(x) == text


def test_repr_of_a_large_tensor_is_short():
    text = repr(lm.arange(100_000))
    assert "..." in text and len(text) < 200


def test_format():
    assert f"{lm.asarray(2.0):.3f}" == "2.000" and f"{lm.asarray([1.0])}" == "Tensor([1.], dtype=float32)"
    with pytest.raises(TypeError):
        f"{lm.ones(2):.3f}"


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), copy.copy])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int8", "bool", "complex64"])
def test_copies(clone, dtype):
    x = lm.asarray([[1, 0, 3], [4, 5, 6]], dtype=dtype).T
    y = clone(x)
    assert type(y) is lm.Tensor and y.dtype is x.dtype and y.tolist() == x.tolist() and y.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_leaves_and_subclasses(clone):
    x = Sub([1.0], stop_gradient=False)
    x.note = [1]
    y = clone(x)
    assert type(y) is Sub and y.note == [1] and y.note is not x.note and not y.stop_gradient and y.is_leaf
    meta = clone(lm.zeros((2,), device="meta"))
    assert meta.device == "meta" and meta.shape == (2,)
    with pytest.raises(RuntimeError, match="detach"):
        clone(x * 2)


def test_deepcopy_keeps_gradients_and_sharing():
    x = lm.tensor([1.0], stop_gradient=False)
    (x * 3).backward()
    first, second = copy.deepcopy([x, x])
    assert first is second and first.grad.item() == 3 and first.grad is not x.grad


def test_dtypes():
    assert (
        lm.float32.name == "float32"
        and lm.float32.itemsize == 4
        and repr(lm.int8) == "lamella.int8"
        and str(lm.bool) == "bool"
    )
    assert (
        lm.DType("float32") is lm.float32
        and lm.DType(np.float32) is lm.float32
        and lm.DType(np.dtype("int8")) is lm.int8
    )
    assert lm.DType(int) is lm.int64 and lm.DType(float) is lm.float32 and lm.DType(bool) is lm.bool
    for clone in (copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))):
        assert clone(lm.float16) is lm.float16
    for wrong in (3, None, [], "float31", np.dtype(">f4"), np.dtype("datetime64[s]")):
        with pytest.raises(TypeError):
            lm.DType(wrong)
    assert lm.float32 == lm.float32 and lm.float32 != lm.float64 and {lm.float32: 1}[lm.float32] == 1


def test_import_brings_little_along():
    code = """if True:
        import sys
        before = set(sys.modules)
        import lamella
        print(*sys.modules.keys() - before)
    """
    brought = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "lamella" in brought and not {"numpy", "dataclasses", "inspect", "platform"} & set(brought)


def test_module_names():
    assert "Tensor" in dir(lm) and lm.Tensor.__module__ == "lamella" and lm.PyLayer is lm.autograd.PyLayer
    assert lm.nn.Linear and lm.optim.SGD
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        lm.nothing  # noqa: B018
    assert dir(lm.autograd) == lm.autograd.__all__ and all(hasattr(lm.autograd, name) for name in dir(lm.autograd))
    with pytest.raises(AttributeError, match=r"'lamella\.autograd' has no attribute 'nothing'"):
        lm.autograd.nothing  # noqa: B018


def test_version_counter():
    x = lm.zeros(2)
    before = x._version
    x.add_(1)
    x[0] = 3
    assert x._version == before + 2 and x.T._version == x._version
