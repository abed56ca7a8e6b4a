"""Operators registered from Python."""

import gc
import threading
import weakref
from collections.abc import Sequence
from typing import Optional

import numpy as np
import pytest

import lamella as lm
from lamella.library import Library, OpCheckError, custom_op, infer_schema, opcheck
from support.libraries import compile_library


def scaled(name, **options):
    @custom_op(f"py_test::{name}", **options)
    def scale(x: lm.Tensor, factor: float = 2.0) -> lm.Tensor:
        """Scales."""
        return lm.asarray(x.numpy() * factor)

    return scale


def test_a_custom_op():
    scale = scaled("plain")
    x = lm.ones([2, 3])
    np.testing.assert_array_equal(scale(x).numpy(), np.full((2, 3), 2))
    np.testing.assert_array_equal(lm.ops.py_test.plain(x, factor=3).numpy(), np.full((2, 3), 3))
    assert lm.ops.py_test.plain.schema == "py_test::plain(Tensor x, float factor=2.0) -> Tensor"
    assert scale.__name__ == "scale" and scale.__doc__ == "Scales."
    assert "Scales." in scale.op.__doc__
    assert repr(scale) == "<custom_op py_test::plain(Tensor x, float factor=2.0) -> Tensor>"


def test_gradients_of_every_order():
    scale = scaled("graded")
    x = lm.tensor([1.0, 2.0], dtype="float64", stop_gradient=False)
    with pytest.raises(
        NotImplementedError, match=r"no gradient is registered for py_test::graded; .*register_autograd"
    ):
        scale(x).sum().backward()

    @custom_op("py_test::cube", mutates_args=())
    def cube(x: lm.Tensor, *, offset: float = 0.0) -> lm.Tensor:
        return lm.asarray(x.numpy() ** 3 + offset)

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        assert keyword_only_inputs == {"offset": 1.0}
        ctx.save_for_backward(inputs[0])

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x

    cube.register_autograd(backward, setup_context=setup_context)
    y = cube(x, offset=1.0)
    assert y.tolist() == [2, 9]
    (first,) = lm.autograd.grad(y.sum(), [x], create_graph=True)
    (second,) = lm.autograd.grad(first.sum(), [x])
    assert first.tolist() == [3, 12]
    assert second.tolist() == [6, 12]
    with lm.no_grad():
        assert cube(x).stop_gradient
    assert lm.ops.py_test.cube(lm.ones([1])).stop_gradient


def test_fake_kernels_and_kernels_for_devices():
    scale = scaled("faked", device_types="cpu")
    meta = lm.empty([2], device="meta")
    with pytest.raises(NotImplementedError, match="no kernel for tensors on meta; it has kernels for CPU"):
        scale(meta)
    scale.register_fake(lambda x, factor: lm.empty_like(x))
    assert scale(meta).device == "meta"

    @scale.register_kernel("cpu")
    def _(x, factor):
        return x + factor

    assert scale(lm.ones([1])).tolist() == [3]
    with pytest.raises(ValueError, match="no device type 'tpu'; they are cpu, cuda, meta, privateuse1"):
        scale.register_kernel("tpu", lambda x, factor: x)


def test_mutable_operators():
    @custom_op("py_test::fill", mutates_args=["out"])
    def fill(x: lm.Tensor, out: lm.Tensor) -> None:
        out.numpy()[...] = x.numpy()

    assert fill.op.schema == "py_test::fill(Tensor x, Tensor(a!) out) -> ()"
    out = lm.zeros([2])
    version = out._version
    assert fill(lm.ones([2]), out) is None
    assert out.tolist() == [1, 1]
    assert out._version == version + 1
    with pytest.raises(RuntimeError, match="writes into its arguments"):
        fill.register_autograd(lambda ctx: None)


def test_vmap():
    scale = scaled("mapped")
    calls = []

    @scale.register_vmap
    def _(info, in_dims, x, factor):
        calls.append((info.batch_size, in_dims))
        return scale(x, factor), 0

    x = lm.asarray(np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(lm.autograd.vmap(scale)(x).numpy(), x.numpy() * 2)
    assert len(calls) == 1 and calls[0][0] == 3


@pytest.mark.parametrize(
    ("function", "schema"),
    [
        ("def f(x: Tensor) -> Tensor: ...", "(Tensor x) -> Tensor"),
        ("def f(x: Optional[Tensor] = None) -> None: ...", "(Tensor? x=None) -> ()"),
        ("def f(x: Tensor | None, *, n: int | None = 3) -> int: ...", "(Tensor? x, *, int? n=3) -> int"),
        (
            "def f(xs: Sequence[Tensor], ns: list[int] = (1, 2)) -> list[Tensor]: ...",
            "(Tensor[] xs, int[] ns=[1, 2]) -> Tensor[]",
        ),
        (
            "def f(s: str = 'a\"b', b: bool = True) -> tuple[Tensor, int]: ...",
            '(str s="a\\"b", bool b=True) -> (Tensor, int)',
        ),
        (
            "def f(c: complex = 1, d: int | float = 2.5, t: lm.DType = lm.float32) -> Tensor: ...",
            "(Scalar c=1, Scalar d=2.5, dtype t=float32) -> Tensor",
        ),
        ("def f(xs: Sequence[Optional[Tensor]]) -> (Tensor): ...", "(Tensor?[] xs) -> Tensor"),
    ],
)
def test_schemas_from_annotations(function, schema):
    names = {"lm": lm, "Tensor": lm.Tensor, "Optional": Optional, "Sequence": Sequence}
    exec(function, names)
    assert infer_schema(names["f"]) == schema
    assert lm._C._parse_schema("f" + schema).startswith("f(")


@pytest.mark.parametrize(
    ("function", "mutates", "message"),
    [
        ("def f(x) -> Tensor: ...", (), r"argument 'x' of f has no annotation; write one, such as x: Tensor"),
        ("def f(x: Tensor): ...", (), r"no annotation of its result"),
        ("def f(x: dict) -> Tensor: ...", (), r"the annotation dict, for which there is no type in schemas"),
        ("def f(x: int | str) -> Tensor: ...", (), r"the annotation int \| str"),
        ("def f(*xs: Tensor) -> Tensor: ...", (), r"a fixed number of arguments"),
        ("def f(x: Tensor) -> tuple[Tensor, ...]: ...", (), r"a tuple of any length"),
        ("def f(x: Tensor) -> Tensor: ...", "y", r"mutates_args names \['y'\], which f has no arguments for"),
        ("def f(n: int) -> Tensor: ...", "n", r"'n', which is no tensor but int"),
        ("def f(x: Tensor = object()) -> Tensor: ...", (), r"which a schema cannot hold"),
    ],
)
def test_annotations_that_give_no_schema(function, mutates, message):
    names = {"Tensor": lm.Tensor}
    exec(function, names)
    with pytest.raises(ValueError, match=message):
        infer_schema(names["f"], mutates_args=mutates)


def test_wrong_definitions():
    with pytest.raises(ValueError, match=r"a name is 'namespace::name', not 'scale'"):
        custom_op("scale", lambda x: x, schema="(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match=r"(?s)there is no type 'Tensr'.*\^"):
        custom_op("py_test::bad", lambda x: x, schema="(Tensr x) -> Tensor")
    with pytest.raises(ValueError, match="begins with the arguments"):
        custom_op("py_test::bad", lambda x: x, schema="bad(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="no device type 'tpu'"):
        custom_op("py_test::bad", lambda x: x, schema="(Tensor x) -> Tensor", device_types="tpu")
    with pytest.raises(AttributeError, match="no operator"):
        lm.ops.py_test.bad  # noqa: B018 (what was registered before the error is gone)


@pytest.mark.parametrize(
    ("returned", "schema", "error", "message"),
    [
        (None, "(Tensor x) -> Tensor", RuntimeError, "left the result undefined: it returned None where Tensor"),
        (1, "(Tensor x) -> Tensor", TypeError, "the result: expected Tensor, got int"),
        ("x", "(Tensor x) -> (Tensor, Tensor)", TypeError, r"returned lamella\.Tensor, expected a tuple of 2"),
        (["x"], "(Tensor x) -> (Tensor, Tensor)", ValueError, "returned 1 results, expected 2"),
        (["x", None], "(Tensor x) -> (Tensor, Tensor y)", RuntimeError, r"left result 1 \('y'\) undefined"),
        ("x", "(Tensor x) -> ()", TypeError, "the schema says that it returns nothing"),
        ([1.5], "(Tensor x) -> int[]", TypeError, r"the result: expected int\[\], got float"),
    ],
)
def test_wrong_results(returned, schema, error, message):
    def kernel(x):
        if returned == "x":
            return x
        return [x if item == "x" else item for item in returned] if isinstance(returned, list) else returned

    library = Library("py_test_results")
    library.define("returns" + schema)
    library.impl("returns", kernel, "CPU")
    try:
        with pytest.raises(error, match=message):
            lm.ops.py_test_results.returns(lm.ones([1]))
    finally:
        library.reset()


def test_exceptions_keep_their_type_and_traceback():
    class OwnError(Exception):
        pass

    @custom_op("py_test::raises", mutates_args=())
    def raises(x: lm.Tensor) -> lm.Tensor:
        raise OwnError("mine")

    with pytest.raises(OwnError, match=r"^mine$") as caught:
        raises(lm.ones([1]))
    assert caught.traceback[-1].name == "raises"


def test_a_kernel_that_calls_itself():
    @custom_op("py_test::loop", mutates_args=())
    def loop(x: lm.Tensor) -> lm.Tensor:
        return loop(x)

    with pytest.raises((RuntimeError, RecursionError)):
        loop(lm.ones([1]))
    with pytest.raises((RuntimeError, RecursionError)):
        loop(lm.ones([1]))


def test_the_same_operator_from_elsewhere_is_an_error():
    scaled("redefined")
    again = scaled("redefined")  # the same function anew takes its place
    assert again(lm.ones([1])).tolist() == [2]
    with pytest.raises(RuntimeError, match=r"(?s)\[py_test::redefined\].*test_custom_op.py:\d+.*test_custom_op.py:\d+"):
        custom_op("py_test::redefined", lambda x: x, schema="(Tensor x) -> Tensor")
    assert again(lm.ones([1])).tolist() == [2]


def test_libraries():
    library = Library("py_test_lib", "FRAGMENT")
    assert library.define("add(Tensor a, Tensor b, *, int n=1) -> Tensor", doc="a + n b") == "py_test_lib::add"
    kernels = Library("py_test_lib", "IMPL", "CPU")

    @kernels.impl("add")
    def add(a, b, *, n):
        return a + b * n

    x = lm.ones([1])
    assert lm.ops.py_test_lib.add(x, x, n=4).tolist() == [5]
    with pytest.raises(RuntimeError, match=r"has a kernel for CPU from .*, and gets another at"):
        kernels.impl("add", lambda a, b, *, n: a)
    with pytest.raises(RuntimeError, match=r"no operator 'py_test_lib::sub'"):
        kernels.impl("sub", add)
    with pytest.raises(TypeError, match="expected a function as kernel, got int"):
        kernels.impl("add", 3, "Meta")
    with pytest.raises(RuntimeError, match=r"(?s)is defined at .*test_custom_op.py:\d+ as.*and at .*test_custom_op.py"):
        library.define("add(Tensor a) -> Tensor")
    with pytest.raises(RuntimeError, match="does not belong in"):
        kernels.define("other(Tensor a) -> Tensor")
    with pytest.raises(ValueError, match="expected kind 'DEF', 'FRAGMENT' or 'IMPL', got 'OTHER'"):
        Library("py_test_lib", "OTHER")
    with pytest.raises(ValueError, match="no dispatch key 'TPU'"):
        Library("py_test_lib", "IMPL", "TPU")
    with pytest.raises(ValueError, match="is no name"):
        Library("not a name")

    operator = lm.ops.py_test_lib.add
    w = lm.tensor([1.0], stop_gradient=False)
    library.fallthrough("add", "Autograd")
    operator(w, x).sum().backward()
    assert w.grad.tolist() == [1]
    library.reset()
    assert not operator.is_defined
    assert "not registered any more" in repr(operator)
    with pytest.raises(RuntimeError, match="not registered any more: its library was unloaded"):
        operator(x, x)
    kernels.reset()


def test_functions_go_with_their_library():
    def kernel(x):
        return x

    gone = weakref.ref(kernel)
    library = Library("py_test_gone")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", kernel, "CPU")
    del kernel
    gc.collect()
    assert gone() is not None
    del library
    gc.collect()
    assert gone() is None


def test_operators_of_the_library():
    names = {operator["name"] for operator in lm._C.operators()}
    assert names | {"index", "set_index_"} == set(dir(lm.ops.lamella))  # x[...] has no function of that name
    x = lm.asarray(np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(lm.ops.lamella.sum(x, 1).numpy(), [3, 12])
    np.testing.assert_array_equal(lm.ops.lamella.add(x, 2.5).numpy(), x.numpy() + 2.5)
    values = lm.ops.lamella.topk(x, 2)
    assert values.values.shape == (2, 2)
    assert lm.ops.lamella.concat([x, x], axis=1).shape == (2, 6)
    assert lm.ops.lamella.randn([3], generator=lm.Generator()).shape == (3,)
    assert lm.ops.lamella.conv2d(lm.ones([1, 1, 4, 4]), lm.ones([1, 1, 3, 3]), padding="same").shape == (1, 1, 4, 4)
    w = lm.tensor([1.0, 2.0], stop_gradient=False)
    lm.ops.lamella.tanh(w).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), 1 - np.tanh([1.0, 2.0]) ** 2, rtol=1e-6)
    np.testing.assert_array_equal(lm.autograd.vmap(lm.ops.lamella.sum)(x).numpy(), [3, 12])
    with pytest.raises(ValueError, match="padding"):
        lm.ops.lamella.conv2d(lm.ones([1, 1, 4, 4]), lm.ones([1, 1, 3, 3]), padding="both")


def test_cpp_calls_python_kernels(tmp_path):
    scaled("from_cpp")
    source = """
LAMELLA_LIBRARY_FRAGMENT(py_test_cpp, m) {
  m.def("thrice", [](const Tensor& x) {
    static const auto op = lamella::Dispatcher::singleton()
                               .find_schema_or_throw("py_test::from_cpp").typed<Tensor(const Tensor&, double)>();
    return op.call(x, 3.0);
  });
}
"""
    lm.ops.load_library(compile_library(tmp_path, "calls_python", source))
    assert lm.ops.py_test_cpp.thrice(lm.ones([1])).tolist() == [3]
    results = []
    thread = threading.Thread(target=lambda: results.append(lm.ops.py_test_cpp.thrice(lm.ones([100000])).sum().item()))
    thread.start()
    thread.join()
    assert results == [300000]


def test_opcheck():
    good = scaled("checked")
    x = lm.tensor([[1.0, 2.0]], dtype="float64", stop_gradient=False)
    good.register_fake(lambda x, factor: lm.empty_like(x))
    with pytest.raises(OpCheckError, match=r"(?s)fails 2 of 4.*test_autograd_registration: no gradient is registered"):
        opcheck(good, (x, 3.0))
    good.register_autograd(
        lambda ctx, grad: (grad * ctx.factor, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
    )
    assert set(opcheck(good, (x, 3.0)).values()) == {"SUCCESS"}
    assert opcheck(good, (x.detach(), 3.0))["test_gradients"].startswith("SKIPPED")

    good.register_autograd(lambda ctx, grad: (grad, None))
    assert "gradcheck" in opcheck(good, (x, 3.0), raise_exception=False)["test_gradients"]
    good.register_fake(lambda x, factor: lm.empty([1], device="meta"))
    outcome = opcheck(good, (x,), test_utils="test_fake", raise_exception=False)
    assert outcome == {"test_fake": "result 0 is float32[1] on meta, float64[1, 2] on cpu"}

    @custom_op("py_test::writes", mutates_args=())
    def writes(x: lm.Tensor) -> lm.Tensor:
        x.numpy()[...] = 0
        return x + 1

    with pytest.raises(OpCheckError, match=r"it wrote into the argument 'x', which the schema does not say"):
        opcheck(writes, (lm.ones([2]),), test_utils="test_schema")
    with pytest.raises(ValueError, match="there are no tests"):
        opcheck(writes, (x,), test_utils="test_everything")
    with pytest.raises(TypeError, match="expected a registered operator, got function"):
        opcheck(lambda x: x, (x,))


#: The schema, what the kernel returns given x and xs, and the form in which backward gets the gradients: a tensor is a
#: number that says how many times x it is. A result that is no tensor has None.
RESULTS = [
    ("(Tensor x, Tensor[] xs) -> Tensor[]", [1, 2], [[0, 1]]),
    ("(Tensor x, Tensor[] xs) -> Tensor[]", [3], [[0]]),
    ("(Tensor x, Tensor[] xs) -> (Tensor, Tensor[])", (1, [2, 3]), [0, [1, 2]]),
    ("(Tensor x, Tensor[] xs) -> (Tensor[], Tensor)", ([2, 3], 1), [[0, 1], 2]),
    ("(Tensor x, Tensor[] xs) -> (Tensor[], Tensor[])", ([1], [2, 3]), [[0], [1, 2]]),
    ("(Tensor x, Tensor[] xs) -> (Tensor, Tensor[], int, Tensor)", (1, [], 7, 2), [0, [], None, 1]),
    ("(Tensor x, Tensor[] xs) -> (Tensor[], Tensor[], Tensor)", ([], [1, 2], 3), [[], [0, 1], 2]),
    ("(Tensor x, Tensor[] xs) -> (Tensor[], int[])", ([1, 2], [4, 5]), [[0, 1], None]),
    ("(Tensor x, Tensor[] xs) -> (Tensor, int)", (2, 7), [0, None]),
]


@pytest.mark.parametrize("with_context", [False, True])
@pytest.mark.parametrize(("row", "schema", "results", "form"), [(i, *row) for i, row in enumerate(RESULTS)])
def test_a_list_is_one_argument_of_the_gradient_rule(row, schema, results, form, with_context):
    kinds = [kind.strip() for kind in schema.partition("->")[2].strip(" ()").split(",")]
    seen = []

    def made(value, kind, x):
        if not kind.startswith("Tensor"):
            return value
        return [x * k for k in value] if isinstance(value, list) else x * value

    @custom_op(f"py_test::lists_{row}_{with_context}", schema=schema)
    def lists(x, xs):
        x = lm.asarray(x.numpy() + sum(y.numpy() for y in xs))
        if len(kinds) == 1:
            return made(results, kinds[0], x)
        return tuple(made(value, kind, x) for value, kind in zip(results, kinds, strict=True))

    def backward(ctx, *grads):
        seen.append(grads)
        flat = [g for grad in grads for g in (grad if isinstance(grad, list) else [grad]) if g is not None]
        total = sum(k * g for k, g in zip(numbers, flat, strict=True))
        return total, [total for _ in range(2)]

    def setup_context(ctx, inputs, output):
        assert len(inputs) == 2 and isinstance(inputs[1], list)

    lists.register_autograd(backward, setup_context=setup_context if with_context else None)
    numbers = []
    for value, kind in zip(results if len(kinds) > 1 else [results], kinds, strict=True):
        if kind.startswith("Tensor"):
            numbers += value if isinstance(value, list) else [value]
    leaves = [lm.tensor([1.0], stop_gradient=False) for _ in range(3)]
    output = lists(leaves[0], leaves[1:])
    outputs = [
        y
        for part in (output if isinstance(output, tuple) else [output])
        for y in (part if isinstance(part, list) else [part])
    ]
    outputs = [y for y in outputs if isinstance(y, lm.Tensor)]
    lm.autograd.backward(outputs, [lm.full([1], 10.0**k) for k in range(len(outputs))])
    ((*grads,),) = seen

    def power(grad):
        if isinstance(grad, list):
            return [power(g) for g in grad]
        return None if grad is None else int(np.log10(grad.item()))

    assert [power(grad) for grad in grads] == form
    expected = sum(k * 10**i for i, k in enumerate(numbers))
    assert [x.grad.item() for x in leaves] == [expected] * 3


def test_a_list_without_a_gradient_holds_none():
    seen = []

    @custom_op("py_test::parts", mutates_args=())
    def parts(x: lm.Tensor) -> list[lm.Tensor]:
        return [x * 1, x * 2]

    def setup_context(ctx, inputs, output):
        assert isinstance(output, list)
        ctx.set_materialize_grads(False)

    def backward(ctx, grads):
        seen.append(grads)
        return grads[1] * 2

    parts.register_autograd(backward, setup_context=setup_context)
    x = lm.tensor([1.0], stop_gradient=False)
    (dx,) = lm.grad([parts(x)[1]], [x], create_graph=True)
    assert seen[0][0] is None and dx.item() == 2 and len(seen[0]) == 2


def test_lists_both_ways_through_second_derivatives():
    @custom_op("py_test::squares", mutates_args=())
    def squares(xs: Sequence[lm.Tensor]) -> list[lm.Tensor]:
        return [x * x for x in xs]

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[0])

    def backward(ctx, grads):
        return [2 * x * g for x, g in zip(ctx.saved_tensors, grads, strict=True)]

    squares.register_autograd(backward, setup_context=setup_context)
    xs = [lm.tensor([float(k)], dtype="float64", stop_gradient=False) for k in (1, 2, 3)]
    assert lm.autograd.gradcheck(lambda *xs: tuple(squares(list(xs))), tuple(xs))
    assert lm.autograd.gradgradcheck(lambda *xs: tuple(squares(list(xs))), tuple(xs))
