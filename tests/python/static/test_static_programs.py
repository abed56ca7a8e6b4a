"""Programs, scopes, feeds and fetches, gradients, copies, and errors that name the variable and the operator."""

import gc
import threading
import weakref

import numpy as np
import pytest

import lamella as lm
from lamella import static


def test_modes():
    assert static.in_dynamic_mode()
    static.enable_static()
    try:
        assert not static.in_dynamic_mode()
        with static.program_guard(static.Program(), static.Program()):
            x = static.data("x", [-1])
            assert isinstance(x, static.Variable) and isinstance(x + 1, static.Variable)
        # Another thread computes as before.
        seen = []
        thread = threading.Thread(target=lambda: seen.append(static.in_dynamic_mode()))
        thread.start()
        thread.join()
        assert seen == [True]
    finally:
        static.disable_static()
    assert static.in_dynamic_mode()
    with pytest.raises(RuntimeError, match=r"\[data\].*enable_static"):
        static.data("x", [1])


def test_guards_nest_and_end_after_errors():
    outer, inner = static.Program(), static.Program()
    first = static.default_main_program()
    with static.program_guard(outer):
        assert static.default_main_program() is outer
        with pytest.raises(ZeroDivisionError), static.program_guard(inner, inner):
            assert static.default_main_program() is inner and static.default_startup_program() is inner
            raise ZeroDivisionError
        assert static.default_main_program() is outer and not static.in_dynamic_mode()
        static.data("x", [1])
    assert static.default_main_program() is first and static.in_dynamic_mode()
    assert [v.name for v in outer.list_vars()] == ["x"] and not list(inner.list_vars())


def test_nothing_is_computed_while_a_program_is_built(bench):
    x = static.data("x", [-1, 3])
    y = lm.sum(x * 2, axis=1)
    assert tuple(y.shape) == (-1,) and len(bench.main.global_block().ops) == 2
    for rows in (1, 4, 0):
        values = np.arange(rows * 3, dtype="float32").reshape(rows, 3)
        np.testing.assert_array_equal(bench.run({"x": values}, [y])[0], values.sum(1) * 2)


FEEDS = {
    "array": np.array([[1.0, 2.0]], "float32"),
    "tensor": lm.tensor([[1.0, 2.0]]),
    "list": [[1, 2]],
    "tuple of floats": ([1.0, 2.0],),
}


@pytest.mark.parametrize("value", FEEDS.values(), ids=FEEDS)
@pytest.mark.parametrize("return_numpy", [True, False])
def test_feeds_and_fetches(bench, value, return_numpy):
    x = static.data("x", [None, 2])
    y = x * 3
    y.name = "y"
    for fetch_list in ([y], ["y"], y, "y", (y,), [y, "x", y]):
        found = bench.run({"x": value}, fetch_list, return_numpy=return_numpy)
        assert all(isinstance(each, np.ndarray if return_numpy else lm.Tensor) for each in found)
        assert found[0].tolist() == [[3.0, 6.0]] and str(found[0].dtype) == "float32"
        if len(found) == 3:
            assert found[1].tolist() == [[1.0, 2.0]]


def test_results_do_not_change_in_later_runs(bench):
    w = static.create_parameter([2], name="w")
    loss = lm.sum(w)
    lm.optim.SGD([w], lr=1.0).minimize(loss)
    bench.start()
    for return_numpy in (True, False):
        (first,) = bench.run(fetch_list=["w"], return_numpy=return_numpy)
        kept = np.array(first).copy()
        bench.run()
        np.testing.assert_array_equal(np.array(first), kept)
        np.testing.assert_allclose(bench.array("w"), kept - 1, 1e-5)


def test_a_fed_array_is_not_written_to(bench):
    x = static.data("x", [2])
    x.stop_gradient = False
    y = lm.exp(x)
    (g,) = static.gradients(lm.sum(y), x)
    array = np.ones(2, "float32")
    bench.run({"x": array}, [y, g])
    assert array.tolist() == [1, 1]


def test_variables_of_a_block(bench):
    block = bench.main.global_block()
    x = static.data("x", [-1, 4], "float64")
    w = static.create_parameter([4, 2], "float64", name="w")
    made = block.create_var(name="made", dtype="int32", shape=[3])
    assert block.var("x") is x and block.var("w") is w and block.var("made") is made
    assert set(block.vars) >= {"x", "w", "made"} and block.has_var("x") and not block.has_var("z")
    assert [p.name for p in bench.main.all_parameters()] == ["w"] == [p.name for p in block.all_parameters()]
    assert bench.main.num_blocks == 1 and bench.main.blocks == [block] and block.program is bench.main
    assert bench.main.current_block() is block and bench.main.block(0) is block
    y = lm.matmul(x, w)
    assert "lamella::matmul(%x, %w)" in str(bench.main) and bench.main.to_string() == str(bench.main)
    assert (y.dtype, tuple(y.shape)) == (lm.float64, (-1, 2)) and "1 nodes" in repr(bench.main)


def test_the_text_says_which_inputs_want_gradients(bench):
    static.data("x", [-1])
    static.data("y", [2]).stop_gradient = False
    static.create_parameter([3], name="w")
    static.create_global_var([1], 0, "int64", name="n")
    text = str(bench.main).splitlines()
    assert text[1:] == [
        "input %x: float32[-1]",
        "input %y: float32[2] grad",
        "input %w: float32[3] grad",
        "input %n: int64[1]",
    ]
    copy = lm.graph.Graph.parse(str(bench.main))
    assert [symbol.stop_gradient for symbol in copy.symbols] == [True, False, False, True]


def test_names_are_unique():
    with static.unique_name.guard():
        assert [static.unique_name.generate("fc") for _ in range(3)] == ["fc_0", "fc_1", "fc_2"]
        with static.unique_name.guard("a/"):
            assert static.unique_name.generate("fc") == "a/fc_0"
        assert static.unique_name.generate("fc") == "fc_3"
        before = static.unique_name.switch()
        assert static.unique_name.generate("fc") == "fc_0"
        static.unique_name.switch(before)
        assert static.unique_name.generate("fc") == "fc_4"


def test_name_scopes_are_in_the_names_of_nodes(bench):
    x = static.data("x", [1])
    with static.name_scope("outer"), static.name_scope("inner"):
        static.py_func(lambda x: None, x, None)
    assert 'function "outer/inner/py_func_0"' in str(bench.main)


# ---- gradients


def test_append_backward(bench, rng):
    x = static.data("x", [-1, 3])
    w, b = static.create_parameter([3, 1], name="w"), static.create_parameter([1], name="b", is_bias=True)
    static.create_parameter([3], name="unused")
    pairs = static.append_backward(lm.mean(lm.square(x @ w + b)))
    assert [(p.name, g.name) for p, g in pairs] == [("w", "w@GRAD"), ("b", "b@GRAD")]
    bench.start()
    values = rng.normal(size=(4, 3)).astype("float32")
    dw, db = bench.run({"x": values}, [g for _, g in pairs])
    y = values @ bench.array("w") + bench.array("b")
    np.testing.assert_allclose(dw, values.T @ y / 2, 1e-4, 1e-6)
    np.testing.assert_allclose(db, [2 * y.mean()], 1e-4, 1e-6)


def test_append_backward_takes_lists(bench):
    x = static.data("x", [-1, 2])
    w, v = static.create_parameter([2, 1], name="w"), static.create_parameter([2, 1], name="v")
    loss = lm.mean(x @ w + x @ v)
    assert [p.name for p, _ in static.append_backward(loss, parameter_list=["v"])] == ["v"]
    assert [p.name for p, _ in static.append_backward(loss, no_grad_set={v.name})] == ["w"]
    assert [p.name for p, _ in static.append_backward(loss, parameter_list=[w, v])] == ["w", "v"]
    assert "w@GRAD_1" in bench.main.graph and "v@GRAD_1" in bench.main.graph


@pytest.mark.parametrize("with_begin", [False, True])
def test_gradients_of_several_targets(bench, rng, with_begin):
    x, s = static.data("x", [3]), static.data("s", [3])
    x.stop_gradient = False
    targets = [lm.exp(x), x * x]
    other = static.data("other", [2])
    begin = [s, None] if with_begin else None
    found = static.gradients(targets, [x, other], begin)
    assert found[0].name == "x@GRAD" and found[1] is None
    values, scale = rng.normal(size=(2, 3)).astype("float32")
    feed = {"x": values, "s": scale, "other": np.zeros(2, "float32")}
    (g,) = bench.run(feed, [found[0]])
    np.testing.assert_allclose(g, (scale if with_begin else 1) * np.exp(values) + 2 * values, 1e-5)


def test_no_gradient_flows_through_the_no_grad_set(bench, rng):
    x = static.data("x", [3])
    x.stop_gradient = False
    a = lm.tanh(x)
    (g,) = static.gradients(lm.sum(a * x), x, no_grad_set=[a])
    values = rng.normal(size=3).astype("float32")
    np.testing.assert_allclose(bench.run({"x": values}, [g])[0], np.tanh(values), 1e-5)


def test_second_derivatives(bench):
    x = static.data("x", [2])
    x.stop_gradient = False
    (first,) = static.gradients(lm.sum(x * x * x), x)
    (second,) = static.gradients(lm.sum(first), x)
    assert second.name == "x@GRAD_1"
    a, b = bench.run({"x": np.array([1, 2], "float32")}, [first, second])
    assert a.tolist() == [3, 12] and b.tolist() == [6, 12]


# ---- scopes


def test_scopes():
    scope = static.Scope()
    assert scope.find_var("x") is None
    scope.var("x").get_tensor().set(np.arange(3, dtype="int64"), static.CPUPlace())
    held = scope.find_var("x").get_tensor()
    assert np.array(held).tolist() == [0, 1, 2] and held.shape() == [3] and len(held) == 3
    assert np.asarray(held, "float32").dtype == np.float32
    held.set([4.0, 5.0, 6.0])
    assert held.numpy().tolist() == [4, 5, 6] and held.numpy().dtype == np.int64
    with pytest.raises(ValueError, match=r"'x' has shape \[3\], the array \[2\]"):
        held.set(np.zeros(2))
    kid = scope.new_scope()
    assert kid.find_var("x") is scope.find_var("x") and kid.local_var_names() == []
    kid.var("y")
    assert scope.find_var("y") is None and "y" in kid
    with pytest.raises(RuntimeError, match="'y' has no value"):
        kid.find_var("y").get_tensor().numpy()
    scope.erase(["x"])
    scope.drop_kids()
    assert scope.find_var("x") is None
    before = static.global_scope()
    with static.scope_guard(scope):
        assert static.global_scope() is scope
    assert static.global_scope() is before


def test_one_program_in_two_scopes(bench):
    w = static.create_parameter([2], name="w")
    y = w * 1
    scopes = [static.Scope(), static.Scope()]
    for value, scope in enumerate(scopes):
        bench.run(program=bench.startup, scope=scope)
        scope.find_var("w").get_tensor().set(np.full(2, value))
    for value, scope in enumerate(scopes):
        assert bench.run(fetch_list=[y], scope=scope)[0].tolist() == [value, value]
    with pytest.raises(RuntimeError, match="'w' has no value in this scope: run the start-up program first"):
        bench.run(fetch_list=[y])


def test_programs_whose_parameters_have_one_name_share_it(bench, rng):
    programs = []
    for _ in range(2):
        main = static.Program()
        with static.unique_name.guard(), static.program_guard(main, bench.startup):
            y = static.nn.fc(static.data("x", [-1, 3]), 2)
        programs.append((main, y))
    bench.start()
    feed = {"x": rng.normal(size=(4, 3)).astype("float32")}
    first, second = (bench.run(feed, [y], program=main)[0] for main, y in programs)
    np.testing.assert_array_equal(first, second)
    assert set(bench.scope.local_var_names()) == {"fc_0.w_0", "fc_0.b_0"}


def test_the_start_up_program_initializes_anew(bench):
    static.create_parameter([50], name="w", attr=static.ParamAttr(initializer=lm.nn.init.normal_))
    static.create_global_var([2], 3.0, "int32", name="counter")
    draws = []
    for _ in range(2):
        bench.start()
        draws.append(bench.array("w"))
    assert (draws[0] != draws[1]).all() and bench.array("counter").tolist() == [3, 3]
    bench.startup.random_seed = 7
    draws = []
    for _ in range(2):
        lm.rand((3,))
        before = lm.random.get_rng_state()
        bench.start()
        draws.append(bench.array("w"))
        assert str(lm.random.get_rng_state()) == str(before)
    np.testing.assert_array_equal(*draws)


def test_a_main_program_with_a_seed_draws_a_sequence_of_its_own(bench):
    y = lm.dropout(static.data("x", [64]), 0.5)
    bench.main.random_seed = 3
    feed = {"x": np.ones(64, "float32")}

    def draw(scope):
        return [bench.run(feed, [y], scope=scope)[0].tolist() for _ in range(2)]

    first = draw(static.Scope())
    lm.seed(99)
    assert first[0] != first[1] and draw(static.Scope()) == first


def test_a_counter(bench):
    counter = static.create_global_var([1], 0, "int64", name="counter")
    counter.add_(1)
    bench.start()
    assert [bench.run(fetch_list=[counter])[0].tolist() for _ in range(3)] == [[1], [2], [3]]


# ---- copies


def test_a_copy_runs_with_variables_of_the_original(bench, rng):
    x = static.data("x", [-1, 3])
    y = static.nn.fc(x, 2)
    copy = bench.main.clone()
    z = y * 2
    bench.start()
    feed = {"x": rng.normal(size=(2, 3)).astype("float32")}
    np.testing.assert_array_equal(bench.run(feed, [y])[0], bench.run(feed, [y], program=copy)[0])
    with pytest.raises(ValueError, match=f"no variable '{z.name}'"):
        bench.run(feed, [z], program=copy)


def test_a_copy_for_tests_has_neither_gradients_nor_updates(bench, rng):
    x = static.data("x", [-1, 3])
    loss = lm.mean(static.nn.fc(x, 2))
    seen = []
    static.py_func(lambda loss: seen.append(1), loss, None)
    _, pairs = lm.optim.SGD(bench.main.all_parameters(), lr=1.0).minimize(loss)
    test = bench.main.clone(for_test=True)
    bench.start()
    before = bench.array("fc_0.w_0")
    feed = {"x": rng.normal(size=(2, 3)).astype("float32")}
    first, second = (bench.run(feed, [loss], program=test)[0] for _ in range(2))
    assert first == second and seen == [1, 1]
    np.testing.assert_array_equal(bench.array("fc_0.w_0"), before)
    with pytest.raises(ValueError, match=r"no operator of the program computes 'fc_0\.w_0@GRAD'"):
        bench.run(feed, [pairs[0][1]], program=test)
    assert "gradients" not in str(test) and "SGD" not in str(test) and not test.updates


# ---- errors


def build(bench):
    x = static.data("x", [-1, 3])
    n = static.data("n", [2], "int64")
    y = lm.matmul(x, static.create_parameter([3, 2], name="w"))
    lm.cast(n, "float32")
    y.name = "y"
    bench.start()
    return y


GOOD = {"x": np.ones((1, 3), "float32"), "n": np.ones(2, "int64")}
RUNS = {
    "a missing feed": (
        ValueError,
        ["'x'", "lamella::matmul", "test_static_programs.py:", "not fed"],
        {"x": None},
        ["y"],
    ),
    "an unknown feed": (ValueError, ["'z'", "x, n"], {"z": 1}, ["y"]),
    "a parameter as a feed": (ValueError, ["'w'", "parameter", "find_var"], {"w": 1}, ["y"]),
    "a feed's dtype": (TypeError, ["'x'", "float64", "float32", "astype"], {"x": np.ones((1, 3))}, ["y"]),
    "a feed's dtype (integers)": (TypeError, ["'n'", "float32", "int64"], {"n": np.ones(2, "float32")}, ["y"]),
    "a feed's shape": (ValueError, ["'x'", "[1, 4]", "[-1, 3]"], {"x": np.ones((1, 4), "float32")}, ["y"]),
    "a feed's rank": (ValueError, ["'x'", "[3]", "[-1, 3]"], {"x": np.ones(3, "float32")}, ["y"]),
    "a feed that is no array": (TypeError, ["'x'", "object"], {"x": object()}, ["y"]),
    "a feed's name": (TypeError, ["by its name", "int"], {3: 1}, ["y"]),
    "an unknown fetch": (ValueError, ["'nothing'"], {}, ["nothing"]),
    "a fetch that is no variable": (TypeError, ["int"], {}, [3]),
}


@pytest.mark.parametrize("case", RUNS)
def test_runs_that_fail_name_the_variable(bench, case):
    build(bench)
    kind, words, change, fetch_list = RUNS[case]
    feed = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    with pytest.raises(kind) as caught:
        bench.run(feed, fetch_list)
    message = str(caught.value)
    assert message.startswith("[Executor.run]") and not [word for word in words if word not in message], message
    # The program still runs.
    assert bench.run(GOOD, ["y"])[0].shape == (1, 2)


READERS = {
    "a fetch": (lambda out: out, "fetch_list"),
    "an operator": (lambda out: out + 1, "lamella::add"),
    "a list": (lambda out: lm.concat([out, out]), "lamella::concat"),
    "a gradient": (lambda out: static.gradients(lm.sum(out * out), out)[0], "lamella::multiply"),
    "a function": (lambda out: static.py_func(np.tanh, out, declare("other", [1])), "py_func"),
}


@pytest.mark.parametrize("case", READERS)
def test_a_variable_that_is_declared_and_not_computed(bench, case):
    read, reader = READERS[case]
    fetched = read(bench.declare("out", [1]))
    with pytest.raises(ValueError, match=f"no operator of the program computes 'out', which '?{reader}"):
        bench.run(fetch_list=[fetched])


VALUES = {
    "float": float,
    "int": int,
    "bool": bool,
    "item": lambda x: x.item(),
    "numpy": lambda x: x.numpy(),
    "array": np.array,
    "tolist": lambda x: x.tolist(),
    "backward": lambda x: x.backward(),
    "if": lambda x: 1 if x > 0 else 2,
}


@pytest.mark.parametrize("use", VALUES.values(), ids=VALUES)
def test_a_variable_has_no_value_while_the_program_is_built(bench, use):
    loss = lm.mean(static.data("x", [-1]))
    loss.name = "the_loss"
    with pytest.raises((TypeError, RuntimeError), match="runs"):
        use(loss)


def test_variables_of_another_program(bench):
    x = static.data("x", [2])
    with static.program_guard(static.Program(), static.Program()):
        y = static.data("y", [2])
        out = static.default_main_program().current_block().create_var(name="out", dtype="float32", shape=[2])
        with pytest.raises(ValueError, match="'x'"):
            y + x
        with pytest.raises(ValueError, match=r"\[py_func\].*'x' is of another program"):
            static.py_func(np.tanh, x, out)
        with pytest.raises(ValueError, match="'x'"):
            static.gradients([lm.sum(y)], [x])


BUILDS = {
    "a taken name": (ValueError, ["'x'"], lambda: static.data("x", [3])),
    "a name that is no text": (TypeError, ["name"], lambda: static.data(3, [1])),
    "a dtype": (TypeError, ["'z'", "float33"], lambda: static.data("z", [1], "float33")),
    "a shape": (TypeError, ["'z'", "str"], lambda: static.data("z", "ab")),
    "a size": (ValueError, ["'z'", "-2"], lambda: static.data("z", [-2])),
    "a size that is no int": (TypeError, ["'z'", "float"], lambda: static.data("z", [1.5])),
    "a parameter without a size": (ValueError, ["'w'", "[-1, 2]"], lambda: static.create_parameter([-1, 2], name="w")),
    "a parameter that looks different": (
        ValueError,
        ["'v'", "[2]", "[3]"],
        lambda: static.create_parameter([3], name="v"),
    ),
    "a variable that looks different": (ValueError, ["'x'", "[-1]"], lambda: declare("x", [4])),
    "a guard": (TypeError, ["main_program", "str"], lambda: static.program_guard("p").__enter__()),
    "a scope": (TypeError, ["scope", "dict"], lambda: static.scope_guard({}).__enter__()),
    "a place": (TypeError, ["place", "int"], lambda: static.Executor(3)),
    "a device": (RuntimeError, ["CUDA device 99"], lambda: static.CUDAPlace(99)),
}


def declare(name, shape):
    return static.default_main_program().current_block().create_var(name=name, dtype="float32", shape=shape)


@pytest.mark.parametrize("case", BUILDS)
def test_what_is_built_is_checked(bench, case):
    kind, words, call = BUILDS[case]
    static.data("x", [-1])
    static.create_parameter([2], name="v")
    with pytest.raises(kind) as caught:
        call()
    assert not [word for word in words if word not in str(caught.value)], caught.value


def test_places():
    assert static.CPUPlace() == static.CPUPlace() and len({static.CPUPlace(), static.CPUPlace()}) == 1
    assert str(static.cpu_places(2)) == "[Place(cpu), Place(cpu)]"
    executor = static.Executor()
    executor.close()
    with pytest.raises(RuntimeError, match="closed"):
        executor.run(static.Program())


def test_specs():
    spec = static.InputSpec([None, 3], "int64", "x")
    assert spec == static.InputSpec([-1, 3], "int64", "x") and spec != static.InputSpec([-1, 3], "int64", "y")
    assert spec.batch(2).shape == (2, -1, 3) and spec.unbatch().shape == (-1, 3)
    assert static.InputSpec.from_tensor(lm.ones((2,)), "t").shape == (2,)
    assert static.InputSpec.from_numpy(np.ones((2, 1))).dtype == lm.float64


def test_threads_run_one_program(bench, rng):
    y = lm.sum(static.nn.fc(static.data("x", [-1, 3]), 4))
    bench.start()
    inputs = rng.normal(size=(8, 5, 3)).astype("float32")
    expected = [bench.run({"x": x}, [y])[0] for x in inputs]
    found: dict[int, list] = {}

    def work(i):
        found[i] = [static.Executor().run(bench.main, {"x": inputs[i]}, [y], scope=bench.scope)[0] for _ in range(20)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((np.array(found[i]) == expected[i]).all() for i in range(8))


def test_programs_are_freed(rng):
    def work():
        main, startup, scope = static.Program(), static.Program(), static.Scope()
        with static.program_guard(main, startup), static.scope_guard(scope):
            x = static.data("x", [-1, 3])
            out = main.current_block().create_var("out", "float32", [-1, 4])
            static.py_func(np.tanh, static.nn.fc(x, 4), out, lambda x, y, dy: np.array(dy))
            loss = lm.mean(out)
            test = main.clone(for_test=True)
            optimizer = lm.optim.Adam(main.all_parameters())
            optimizer.minimize(loss)
            executor = static.Executor()
            executor.run(startup)
            for program in (main, test):
                executor.run(program, {"x": rng.normal(size=(2, 3)).astype("float32")}, [loss])
        return [weakref.ref(each) for each in (main, startup, scope, test, optimizer, main.graph)]

    references = work()
    gc.collect()
    assert [each() for each in references] == [None] * 6
