"""The oneflow front: jobs, which are recorded once and run often, in a process of their own."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from .test_oneflow import run as run_with_header

HEADER = """
import lamella as lm

rng = np.random.default_rng(0)
images = rng.normal(size=(12, 6)).astype(np.float32)
labels = (np.arange(12) % 3).astype(np.int32)
constant = flow.optimizer.PiecewiseConstantScheduler([], [0.1])

def mlp(x):
    initializer = flow.random_normal_initializer(stddev=0.3)
    hidden = flow.layers.dense(x, 8, activation=flow.nn.relu, kernel_initializer=initializer, name="hidden")
    return flow.layers.dense(hidden, 3, kernel_initializer=initializer, name="output")

def variables():
    return {name: value.numpy() for name, value in flow.get_all_variables().items()}

def trained(optimizer, name="train"):
    def job(
        x: tp.Numpy.Placeholder((12, 6)), y: tp.Numpy.Placeholder((12,), dtype=flow.int32)
    ) -> tp.Numpy:
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, mlp(x))
        optimizer.minimize(loss)
        return loss
    job.__name__ = name
    return flow.global_function(type="train")(job)
"""


def run(code):
    return run_with_header(HEADER + textwrap.dedent(code))


def test_a_function_is_recorded_once_and_runs_with_each_call():
    run("""
        calls = []

        @flow.global_function()
        def job(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
            calls.append(x)
            return relu(x) + x * 2

        for k in range(4):
            assert np.array_equal(job(x + k), np.maximum(x + k, 0) + (x + k) * 2)
        assert len(calls) == 1 and not isinstance(calls[0], np.ndarray)

        source = iter(range(100))
        numpy_op("counts", lambda args: np.float32([next(source)]), inputs=[], outputs=["out"],
                 infer=lambda given: [((1,), lm.float32)])

        @flow.global_function()
        def counting() -> tp.Numpy:
            return flow.user_op_builder("c").Op("counts").Output("out").Build().InferAndTryRun().SoleOutputBlob() * 10

        assert [counting()[0] for _ in range(3)] == [0, 10, 20]
        """)


# The formulas of OneFlow's documentation, on arrays: each moves `p` along `g`, with a state `s`, in step number `t`.
OPTIMIZERS = {
    "SGD(constant, momentum=0)": "p - 0.1 * g",
    "SGD(constant, momentum=0.9)": "p + s.setdefault('v', Box(0)).set(0.9 * s['v'].x - 0.1 * g)",
    "SGD(steps, momentum=0.9)": "p + s.setdefault('v', Box(0)).set(0.9 * s['v'].x - (0.1 if t < 5 else 0.01) * g)",
    "SGDW(constant, momentum=0.5, weight_decay=0.2)": (
        "p + s.setdefault('v', Box(0)).set(0.5 * s['v'].x - 0.1 * g) - 0.1 * 0.2 * p"
    ),
    "Adam(small)": "adam(p, g, s, t, correct=False)",
    "Adam(small, beta1=0.8, beta2=0.9, do_bias_correction=True)": "adam(p, g, s, t, 0.8, 0.9)",
    "AdamW(small, weight_decay=0.3, do_bias_correction=True)": "adam(p, g, s, t, decay=0.3)",
    "AdamW(small, weight_decay=0.3)": "adam(p, g, s, t, decay=0.3, correct=False)",
    "AdamW(small, weight_decay=0.3, weight_decay_excludes='bias')": (
        "adam(p, g, s, t, decay=0.3 * (p.ndim > 1), correct=False)"
    ),
    "RMSProp(constant, decay_rate=0.9, epsilon=1e-6)": (
        "p - 0.1 / np.sqrt(s.setdefault('s', Box(0)).set(0.9 * s['s'].x + 0.1 * g * g) + 1e-6) * g"
    ),
    "SGD(constant, momentum=0, grad_clipping=flow.optimizer.grad_clipping.by_global_norm(0.2))": (
        "p - 0.1 * g * min(1, 0.2 / norm)"
    ),
    "SGD(constant, momentum=0, variables=['output-weight'])": "p - 0.1 * g * (p.shape == (3, 8))",
}

TRAINING = """
class Box:
    def __init__(self, x):
        self.x = x
    def set(self, x):
        self.x = x
        return x

def adam(p, g, s, t, b1=0.9, b2=0.999, decay=0.0, correct=True):
    m = s.setdefault("m", Box(0)).set(b1 * s["m"].x + (1 - b1) * g)
    v = s.setdefault("v", Box(0)).set(b2 * s["v"].x + (1 - b2) * g * g)
    if correct:
        m, v = m / (1 - b1 ** (t + 1)), v / (1 - b2 ** (t + 1))
    return p - 0.01 * (m / (np.sqrt(v) + 1e-8) + decay * p)

def eager(values, states, t, update):
    w = {name: lm.tensor(value, stop_gradient=False) for name, value in values.items()}
    hidden = lm.relu(lm.asarray(images) @ w["hidden-weight"].mT + w["hidden-bias"])
    scores = hidden @ w["output-weight"].mT + w["output-bias"]
    loss = lm.cross_entropy(scores, lm.asarray(labels), reduction="none")
    loss.mean().backward()
    grads = {name: each.grad.numpy().astype(np.float64) for name, each in w.items()}
    norm = np.sqrt(sum((g * g).sum() for g in grads.values()))
    moved = {}
    for name, value in values.items():
        names = {"p": value.astype(np.float64), "g": grads[name], "s": states.setdefault(name, {}), "t": t}
        moved[name] = np.float32(eval(update, globals() | names | {"norm": norm}))
    return loss.detach().numpy(), moved

small = flow.optimizer.PiecewiseConstantScheduler([], [0.01])
steps = flow.optimizer.PiecewiseConstantScheduler([5], [0.1, 0.01])
"""


def test_a_job_trains_to_the_losses_of_the_eager_program():
    run(
        TRAINING
        + f"""
weights = ("hidden-weight", "hidden-bias", "output-weight", "output-bias")
for optimizer, update in {OPTIMIZERS!r}.items():
    flow.clear_default_session()
    job = trained(eval("flow.optimizer." + optimizer))
    values, states, losses = {{name: variables()[name] for name in weights}}, {{}}, []
    for t in range(12):
        wanted, values = eager(values, states, t, update)
        got = job(images, labels)
        assert got.shape == (12,) and np.abs(got - wanted).max() < 1e-5, (optimizer, t, got, wanted)
        losses.append(got.mean())
    assert losses[-1] < losses[0], optimizer
    after = variables()
    assert all(np.abs(after[name] - values[name]).max() < 1e-4 for name in weights), optimizer
    assert after["System-Train-TrainStep-train"].tolist() == [12]
"""
    )


SCHEDULES = {
    "PiecewiseConstantScheduler([2, 4], [0.3, 0.2, 0.1])": "[0.3, 0.3, 0.2, 0.2, 0.1, 0.1]",
    "PiecewiseScalingScheduler(0.4, [2, 3], [0.5, 0.1])": "[0.4, 0.4, 0.2, 0.04, 0.04, 0.04]",
    "PiecewiseScalingScheduler(0.4, [1, 3], 0.5)": "[0.4, 0.2, 0.2, 0.1, 0.1, 0.1]",
    "CosineScheduler(0.1, 4, alpha=0.5)": (
        "[0.1 * (0.5 * 0.5 * (1 + np.cos(np.pi * min(k, 4) / 4)) + 0.5) for k in range(6)]"
    ),
    "PolynomialScheduler(0.1, 4, 0.02, 2.0)": "[0.08 * (1 - min(k, 4) / 4) ** 2 + 0.02 for k in range(6)]",
    "PolynomialScheduler(0.1, 4, 0.02, cycle=True)": (
        "[0.08 * (1 - k / (4 * max(np.ceil(k / 4), 1))) + 0.02 for k in range(6)]"
    ),
    "ExponentialScheduler(0.1, 2, 0.9)": "[0.1 * 0.9 ** (k / 2) for k in range(6)]",
    "ExponentialScheduler(0.1, 2, 0.9, staircase=True)": "[0.1 * 0.9 ** (k // 2) for k in range(6)]",
    "NaturalExpScheduler(0.1, 2, 0.9)": "[0.1 * np.exp(-0.9 * k / 2) for k in range(6)]",
    "InverseTimeScheduler(0.1, 2, 0.9)": "[0.1 / (1 + 0.9 * k / 2) for k in range(6)]",
    "PiecewiseConstantScheduler([], [0.1], warmup=flow.optimizer.warmup.linear(4, 0.2))": (
        "[0.1 * (0.2 + 0.8 * min(k, 4) / 4) for k in range(6)]"
    ),
    "PiecewiseConstantScheduler([], [0.1], warmup=flow.optimizer.warmup.constant(2, 0.5))": (
        "[0.05, 0.05, 0.1, 0.1, 0.1, 0.1]"
    ),
}


def test_learning_rates():
    run(f"""
        for text, wanted in {SCHEDULES!r}.items():
            flow.clear_default_session()

            @flow.global_function(type="train")
            def job() -> tp.Numpy:
                w = flow.get_variable("w", (1,), initializer=flow.zeros_initializer())
                flow.optimizer.SGD(eval("flow.optimizer." + text), momentum=0).minimize(w)
                return w

            values = np.array([job()[0] for _ in range(7)])
            assert np.allclose(-np.diff(values), eval(wanted), atol=1e-6), (text, -np.diff(values), eval(wanted))
        """)


def test_regularizers_and_losses_of_many_elements():
    run("""
        @flow.global_function(type="train")
        def job() -> tp.Numpy:
            term = flow.regularizers.l1_l2(0.5, 0.25)
            w = flow.get_variable("w", (2, 2), initializer=flow.constant_initializer(2), regularizer=term)
            flow.optimizer.SGD(constant, momentum=0).minimize(w * 3)
            return w * 3

        assert (job() == 6).all()
        assert np.allclose(variables()["w"], 2 - 0.1 * (3 / 4 + 0.5 + 0.25 * 2))
        """)


def test_jobs_share_variables_by_name():
    run("""
        job = trained(flow.optimizer.SGD(constant, momentum=0.9))

        @flow.global_function(type="predict")
        def predict(x: tp.Numpy.Placeholder((4, 6))) -> tp.Numpy:
            return mlp(x)

        def scores(values):
            hidden = np.maximum(images[:4] @ values["hidden-weight"].T + values["hidden-bias"], 0)
            return hidden @ values["output-weight"].T + values["output-bias"]

        before = predict(images[:4])
        assert np.allclose(before, scores(variables()), atol=1e-5), (before, scores(variables()))
        for _ in range(5):
            job(images, labels)
        after = predict(images[:4])
        assert np.allclose(after, scores(variables()), atol=1e-5), (after, scores(variables()))
        assert not np.allclose(before, after, atol=1e-3)

        @flow.global_function()
        def other(x: tp.Numpy.Placeholder((4, 5))) -> tp.Numpy:
            return mlp(x)
        raises(ValueError, lambda: other(images[:4, :5]), "job 'other', variable 'hidden-weight'", "(8, 6)", "(8, 5)")

        @flow.global_function()
        def frozen() -> tp.Numpy:
            return flow.get_variable("later", (2,), initializer=flow.ones_initializer(), trainable=False)

        @flow.global_function(type="train")
        def trains() -> tp.Numpy:
            w = flow.get_variable("later", (2,), initializer=flow.ones_initializer())
            flow.optimizer.SGD(constant, momentum=0).minimize(w * w)
            return w
        assert frozen().tolist() == [1, 1] and trains().tolist() == [1, 1]
        assert np.allclose(frozen(), 0.9) and np.allclose(trains(), 0.9)

        @flow.global_function()
        def clashes(c: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
            y = c * 2
            return y + flow.get_variable("c", (2,)) + sum(flow.get_variable(name, (2,)) for name in ("t", "t0", "t1"))
        assert clashes(x[:2]).shape == (2,) and {"c", "t", "t0", "t1"} <= set(variables())

        flow.clear_default_session()
        raises(RuntimeError, lambda: predict(images[:4]), "[predict] clear_default_session() has ended the session")
        assert variables() == {}
        """)


def test_checkpoints(tmp_path):
    run(f"""
        import os, pathlib
        folder = pathlib.Path({str(tmp_path)!r})
        for optimizer in (flow.optimizer.SGD(constant), flow.optimizer.Adam(constant, do_bias_correction=True),
                          flow.optimizer.RMSProp(constant, centered=True)):
            flow.clear_default_session()
            job = trained(optimizer)
            for _ in range(3):
                job(images, labels)
            path = folder / type(optimizer).__name__
            flow.checkpoint.save(path)
            wanted = [job(images, labels) for _ in range(3)]

            flow.clear_default_session()
            job = trained(optimizer)
            flow.load_variables(flow.checkpoint.get(str(path)))
            assert all(np.array_equal(job(images, labels), each) for each in wanted), path

        assert (path / "snapshot_done").exists() and (path / "hidden-weight" / "out").stat().st_size == 8 * 6 * 4
        assert "dim: 8" in (path / "hidden-weight" / "meta").read_text()
        one = flow.checkpoint.get(path / "hidden-weight")
        assert one.shape == (8, 6) and one.dtype == flow.float32 and one.numpy().shape == (8, 6)

        raises(FileExistsError, lambda: flow.checkpoint.save(path), "not an empty folder")
        raises(FileNotFoundError, lambda: flow.checkpoint.get(folder / "none"), "there is no folder")
        raises(TypeError, lambda: flow.checkpoint.save(folder / "new", {{"a": 3}}), "'a'", "int")
        raises(ValueError, lambda: flow.checkpoint.save(folder / "new", {{"../a": x}}), "'../a'")
        assert not (folder / "new").exists()
        flow.checkpoint.save(folder / "new", {{"a/b": x, "c": np.int64(3)}})
        found = flow.checkpoint.get(folder / "new")
        assert set(found) == {{"a/b", "c"}} and np.array_equal(found["a/b"].numpy(), x) and found["c"].shape == ()
        (folder / "new" / "c" / "out").write_bytes(b"123")
        raises(ValueError, lambda: flow.checkpoint.get(folder / "new"), "has 3 bytes")

        old = variables()
        for given, kind, words in (
            ({{"hidden-bias": x, "hidden-weight": old["hidden-weight"] * 2}}, ValueError, ("(8,)", "(5,)")),
            ({{"hidden-weight": old["hidden-weight"] * 2, "hidden-bias": np.zeros(8)}}, TypeError, ("float64",)),
            ({{"hidden-bias": [1]}}, TypeError, ("'hidden-bias'", "list")),
            (3, TypeError, ("expected a dict",)),
        ):
            raises(kind, lambda: flow.load_variables(given), *words)
        assert all(np.array_equal(old[name], value) for name, value in variables().items())
        raises(RuntimeError, lambda: flow.load_variables({{"nosuch": x}}, ignore_mismatch=False), "'nosuch'")
        flow.load_variables({{"nosuch": x, "hidden-bias": np.ones(8, np.float32)}})
        assert (variables()["hidden-bias"] == 1).all()

        older = flow.train.CheckPoint()
        older.init()
        older.save(folder / "older")
        flow.clear_default_session()
        job = trained(flow.optimizer.RMSProp(constant, centered=True))
        older.load(folder / "older")
        assert (variables()["hidden-bias"] == 1).all()
        """)


def test_placeholders_and_results_of_every_kind():
    run("""
        from typing import Dict, List, Tuple
        P, L = tp.Numpy.Placeholder((5,)), tp.ListNumpy.Placeholder((3, 5), dtype=flow.float64)
        many = np.ones((2, 4))

        def check(annotations, wanted, given, function):
            def job(*args):
                return function(*args)
            names = [f"a{k}" for k in range(len(given))]
            space = {"function": function}
            exec(f"def job({', '.join(names)}):\\n    return function({', '.join(names)})", space)
            job = space["job"]
            job.__annotations__ = dict(zip(names, annotations)) | ({} if wanted is None else {"return": wanted[0]})
            return flow.global_function()(job)(*given)

        same = lambda a: a
        for annotations, wanted, given, function, result in [
            ([P], [tp.Numpy], [x], same, x),
            ([L], [tp.ListNumpy], [[many]], same, [many]),
            ([L], [tp.Numpy], [[many]], lambda a: a + 1, many + 1),
            ([P], [tp.ListNumpy], [x], same, [x]),
            ([P, L], [Tuple[tp.Numpy, tp.ListNumpy]], [x, [many]], lambda a, b: (a, b), (x, [many])),
            ([P], [Tuple[tp.Numpy, ...]], [x], lambda a: (a, a), (x, x)),
            ([P], [List[tp.Numpy]], [x], lambda a: [a, a * 2], [x, x * 2]),
            ([P], [Dict[str, tp.Numpy]], [x], lambda a: {"k": a}, {"k": x}),
            ([P], [Dict[str, Tuple[tp.Numpy, tp.Numpy]]], [x], lambda a: {"k": (a, a)}, {"k": (x, x)}),
            ([P], [tp.Bundle[tp.Numpy]], [x], lambda a: [a, {"k": (a,)}], [x, {"k": (x,)}]),
            ([Tuple[P, P]], [tp.Numpy], [(x, x + 1)], lambda a: a[0] + a[1], 2 * x + 1),
            ([[P, P]], [tp.Numpy], [[x, x + 1]], lambda a: a[0] + a[1], 2 * x + 1),
            ([{"u": P, "v": L}], [tp.Numpy], [{"u": x, "v": [many]}], lambda a: a["u"], x),
            ([P], [None], [x], lambda a: None, None),
            ([], [tp.Numpy], [], lambda: flow.constant(2.0, shape=(2,)), np.full(2, 2.0)),
        ]:
            got = check(annotations, wanted, given, function)
            assert type(got) is type(result) and str(got) == str(result), (annotations, got, result)

        seen = []
        check([P], [tp.Callback[Tuple[tp.Numpy, tp.Numpy]]], [x], lambda a: (a, a + 1))(seen.append)
        assert np.array_equal(seen[0][1], x + 1)
        blob = check([P], None, [x], same).get()
        assert np.array_equal(blob.numpy(), x) and np.array_equal(blob.numpy_list()[0], blob.ndarray())
        assert [each.shape for each in check([P], None, [x], lambda a: (a, a[:2])).get()] == [(5,), (2,)]

        @flow.global_function()
        def older(a=flow.FixedTensorDef((5,)), b=flow.MirroredTensorDef((9,), dtype=flow.int64)):
            return a, b
        assert older(x, [np.arange(3)]).get()[1].tolist() == [0, 1, 2]
        """)


def test_lists_are_recorded_once_and_for_each_shape_where_a_size_matters():
    run("""
        calls = []

        @flow.global_function()
        def free(a: tp.ListNumpy.Placeholder((4, 6))) -> tp.ListNumpy:
            calls.append(tuple(a.shape))
            return relu(a) * 2

        @flow.global_function(type="train")
        def train(
            a: tp.ListNumpy.Placeholder((12, 6)), b: tp.ListNumpy.Placeholder((12,), dtype=flow.int32)
        ) -> tp.Numpy:
            calls.append(tuple(a.shape))
            loss = flow.nn.sparse_softmax_cross_entropy_with_logits(b, mlp(flow.reshape(a, [a.shape[0], -1])))
            flow.optimizer.SGD(constant, momentum=0.9).minimize(loss)
            return loss

        for rows in (1, 4, 2):
            assert free([images[:rows, :5]])[0].shape == (rows, 5)
        assert calls == [(-1, -1)]
        names = set(variables())
        calls.clear()
        for rows in (12, 5, 12, 5):
            assert train([images[:rows]], [labels[:rows]]).shape == (rows,)
        assert calls == [(5, 6)] and set(variables()) == names
        # The records have their optimizer in common: its steps are those of one that saw all batches.
        assert variables()["System-Train-TrainStep-train"].tolist() == [4]
        got = variables()

        whole = {}
        for rows in (12, 5):
            def job(a: tp.Numpy.Placeholder((rows, 6)), b: tp.Numpy.Placeholder((rows,), dtype=flow.int32)) -> tp.Numpy:
                return flow.nn.sparse_softmax_cross_entropy_with_logits(b, mlp(a))
            whole[rows] = flow.global_function()(job)
        for rows, predict in whole.items():
            a, b = images[:rows], labels[:rows]
            assert np.allclose(predict(a, b), train([a], [b]), atol=1e-6)
            flow.load_variables(got)
        """)


ERRORS = {
    "shape": ("fixed(x[:2])", "ValueError", "[fixed] argument 'a': expected shape (5,), got (2,)"),
    "dtype": ("fixed(np.zeros(5))", "TypeError", "[fixed] argument 'a': expected dtype float32, got float64"),
    "no array": ("fixed([1, 2])", "TypeError", "[fixed] argument 'a': expected a numpy array, got list"),
    "count": ("fixed()", "TypeError", "[fixed] missing a required argument: 'a'; its arguments are a"),
    "too many": ("fixed(x, x)", "TypeError", "[fixed] too many positional arguments; its arguments are a"),
    "rank": ("listed([x])", "ValueError", "[listed] argument 'a': expected a shape within (2, 3), got (5,)"),
    "size": ("listed([np.zeros((3, 3), np.float32)])", "ValueError", "expected a shape within (2, 3), got (3, 3)"),
    "list dtype": ("listed([np.zeros((1, 3))])", "TypeError", "[listed] argument 'a': expected dtype float32"),
    "no list": ("listed(np.zeros((2, 3), np.float32))", "TypeError", "expected a list of one numpy array, got ndarray"),
    "lists": ("listed([x, x])", "ValueError", "[listed] argument 'a': expected a list of one numpy array"),
    "tuple": ("tupled((x,))", "ValueError", "[tupled] argument 'a': expected 2 values, got 1"),
    "in a tuple": ("tupled((x, x[:1]))", "ValueError", "[tupled] argument 'a[1]': expected shape (5,), got (1,)"),
    "result": ("returns(lambda a: [a], tp.Numpy)", "TypeError", "[job] returns list, and its annotation says Numpy"),
    "results": ("returns(lambda a: (a,), tuple[tp.Numpy, tp.Numpy])", "TypeError", "[job] returns tuple of 1"),
    "array": ("returns(lambda a: np.zeros(3), tp.Numpy)", "TypeError", "[job] returns ndarray"),
    "numpy()": ("returns(lambda a: a.numpy(), tp.Numpy)", "RuntimeError", "[job] <string>:", "flow.watch(x, handler)"),
    "numpy": (
        "returns(lambda a: np.sin(a), tp.Numpy)",
        "RuntimeError",
        "[job] <string>:",
        "'argument a' is a value of the graph",
    ),
    "bool": ("returns(lambda a: a if a.sum() > 0 else -a, tp.Numpy)", "RuntimeError", "[job] <string>:", "[bool]"),
    "item": (
        "returns(lambda a: a * a.sum().item(), tp.Numpy)",
        "RuntimeError",
        "[item]",
        "called once, to be recorded",
    ),
    "backward": ("returns(lambda a: a.sum().backward(), tp.Numpy)", "RuntimeError", "[backward]", "minimize(loss)"),
    "own error": ("returns(lambda a: 1 // 0, tp.Numpy)", "ZeroDivisionError", "division"),
    "operator": (
        "returns(lambda a: flow.matmul(a, flow.constant(1, shape=(3, 3))), tp.Numpy)",
        "ValueError",
        "5 and 3",
    ),
    "job in a job": (
        "returns(lambda a: fixed(a), tp.Numpy)",
        "RuntimeError",
        "[fixed] the job is called while another",
    ),
    "outside": ("flow.get_variable('w', (3,))", "RuntimeError", "[get_variable] belongs into the function of a job"),
    "minimize outside": ("optimizer.minimize(lm.ones(1))", "RuntimeError", "[SGD.minimize] belongs into"),
    "minimize in predict": (
        "returns(optimizer.minimize, None)",
        "RuntimeError",
        "the job 'job' is of the type 'predict'",
    ),
    "no loss": (
        "trains(lambda a: optimizer.minimize(3))",
        "TypeError",
        "[SGD.minimize] the loss of the job 'job' is int",
    ),
    "no variable": ("trains(lambda a: optimizer.minimize(a))", "ValueError", "'job' depends on no variable to train"),
    "frozen": (
        "trains(lambda a: optimizer.minimize(flow.get_variable('w', (3,), trainable=False)))",
        "ValueError",
        "depends on no variable",
    ),
    "watch_diff": (
        "trains(lambda a: flow.watch_diff(a))",
        "ValueError",
        "[watch_diff] the job 'job' minimizes no loss",
    ),
    "watch": ("returns(lambda a: flow.watch(3), None)", "TypeError", "[watch] expected a value of the job, got int"),
    "no shape": ("trains(lambda a: flow.get_variable('w'))", "ValueError", "job 'job', variable 'w': expected a shape"),
    "no initializer": (
        "trains(lambda a: flow.get_variable('w', (3,), initializer=3))",
        "TypeError",
        "zeros_initializer",
    ),
    "two looks": (
        "trains(lambda a: [flow.get_variable('w', (n,)) for n in (2, 3)])",
        "ValueError",
        "'w' is float32[2] already",
    ),
    "no reuse": (
        "trains(lambda a: [flow.layers.dense(flow.reshape(a, [1, 5]), 2) for _ in range(2)])",
        "ValueError",
        "variable 'Dense-weight': the job has it already",
    ),
    "schedule": ("flow.optimizer.SGD(0.1)", "TypeError", "[SGD] lr_scheduler: expected a schedule"),
    "rates": ("flow.optimizer.PiecewiseConstantScheduler([1], [0.1])", "ValueError", "1 values and 1 boundaries"),
    "clipping": ("flow.optimizer.Adam(constant, grad_clipping=3)", "TypeError", "[Adam] grad_clipping"),
    "decays": (
        "flow.optimizer.AdamW(constant, weight_decay_includes='a', weight_decay_excludes='b')",
        "ValueError",
        "only one of them",
    ),
    "padding": (
        "returns(lambda a: flow.nn.max_pool2d(flow.reshape(a, [1, 1, 1, 5]), 2, 1, 'MANY'), tp.Numpy)",
        "ValueError",
        "[max_pool2d] padding is 'SAME'",
    ),
    "layout": (
        "returns(lambda a: flow.nn.max_pool2d(flow.reshape(a, [1, 1, 1, 5]), 1, 1, 'SAME', 'NHWC'), tp.Numpy)",
        "NotImplementedError",
        "data_format is 'NCHW', got 'NHWC'",
    ),
    "config": ("flow.FunctionConfig().train", "AttributeError", "flow.optimizer.SGD(...).minimize(loss)"),
    "not a config": ("flow.global_function('train', 3)", "TypeError", "expected a FunctionConfig, got 3"),
    "machines": ("flow.env.machine([1, 2])", "NotImplementedError", "jobs run on one machine, got 2"),
    "data": ("flow.data.load_mnist", "AttributeError", "a job is fed numpy arrays"),
    "losses": ("flow.losses.add_loss", "AttributeError", "minimize(loss) takes the loss"),
    "unknown": ("flow.tensorrt", "AttributeError", "Lamella's oneflow front does not have 'oneflow.tensorrt'"),
}


def test_errors_name_the_job_the_argument_and_what_is_wanted():
    run(f"""
        optimizer = flow.optimizer.SGD(constant)

        @flow.global_function()
        def fixed(a: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
            return a

        @flow.global_function()
        def listed(a: tp.ListNumpy.Placeholder((2, 3))) -> tp.ListNumpy:
            return a

        @flow.global_function()
        def tupled(a: tuple[tp.Numpy.Placeholder((5,)), tp.Numpy.Placeholder((5,))]) -> tp.Numpy:
            return a[0]

        def called(function, wanted, **options):
            def job(a: tp.Numpy.Placeholder((5,))):
                return function(a)
            job.__annotations__["return"] = wanted
            return flow.global_function(**options)(job)(x)

        returns = called
        trains = lambda function: called(function, None, type="train")
        for name, (code, kind, *words) in {ERRORS!r}.items():
            try:
                raises(eval(kind, globals() | __builtins__.__dict__), lambda: eval(code), *words)
            except BaseException as error:
                error.add_note(name)
                raise
        # An error leaves everything as it was: no variable is there, and the session starts.
        assert variables() == {{}} and np.array_equal(fixed(x), x)
        """)


def test_an_error_while_a_job_runs_names_node_and_job():
    run("""
        def broken(args):
            raise KeyError("broken kernel")
        numpy_op("breaks", broken, inputs=["in"], outputs=["out"])

        @flow.global_function()
        def job(a: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
            op = flow.user_op_builder("b").Op("breaks").Input("in", [a]).Output("out").Build()
            return op.InferAndTryRun().SoleOutputBlob()
        try:
            job(x)
        except KeyError as error:
            assert "broken kernel" in str(error) and "in the job 'job'" in error.__notes__, error.__notes__
        else:
            raise AssertionError
        """)


def test_operators_and_layers_of_all_kinds_are_nodes_with_gradients():
    run("""
        numpy_op("cube", lambda a: a[0] ** 3, lambda a: 3 * a[0] ** 2 * a[1], inputs=["in"], outputs=["out"])

        class Square(lm.PyLayer):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return lm.asarray(x.numpy() ** 2)
            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * x * 2

        def cube(a):
            op = flow.user_op_builder("c").Op("cube").Input("in", [a]).Output("out").Build()
            return op.InferAndTryRun().SoleOutputBlob()

        for name, function, slope in [
            ("op", cube, lambda w: 3 * w**2),
            ("registered", lm.ops.user_op.cube, lambda w: 3 * w**2),
            ("layer", Square.apply, lambda w: 2 * w),
            ("both", lambda a: Square.apply(cube(a)), lambda w: 6 * w**5),
            ("built in", lm.tanh, lambda w: 1 - np.tanh(w) ** 2),
        ]:
            seen = {}

            def job() -> tp.Numpy:
                w = flow.get_variable(name, (4,), initializer=flow.random_uniform_initializer(-2, 2))
                loss = flow.math.reduce_sum(function(w))
                flow.watch(w, lambda a: seen.update(w=a.numpy()))
                flow.watch_diff(w, lambda a: seen.update(dw=a.numpy()))
                flow.optimizer.SGD(constant, momentum=0).minimize(loss)
                return w
            job.__name__ = "job_" + name.replace(" ", "_")
            train = flow.global_function(type="train")(job)
            for _ in range(3):
                before = train()
                assert np.array_equal(before, seen["w"]), name
                assert np.allclose(seen["dw"], slope(before), rtol=1e-4), (name, seen, slope(before))
                assert np.allclose(variables()[name], before - 0.1 * slope(before), rtol=1e-4, atol=1e-5), name
        """)


def test_watching():
    printed = run("""
        seen = []
        def array(a: tp.Numpy):
            seen.append(a)
        def arrays(a: tp.ListNumpy):
            seen.append(a)

        @flow.global_function(type="train")
        def job(a: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
            w = flow.get_variable("w", (2,), initializer=flow.ones_initializer())
            y = w * a
            for handler in (array, arrays, seen.append, "y is"):
                flow.watch(y, handler)
            flow.watch_diff(y, array)
            flow.optimizer.SGD(constant, momentum=0).minimize(y * y)
            return y

        job(np.float32([1, 2]))
        assert type(seen[0]) is np.ndarray and type(seen[1]) is list and isinstance(seen[2], flow.Tensor)
        # Gradients that are watched begin with ones, those of variables are of the mean.
        assert seen[3].tolist() == [2, 4]
        assert np.allclose(variables()["w"], [1 - 0.1 * 2 / 2, 1 - 0.1 * 8 / 2])
        """)
    assert printed == "y is [1. 2.]\n"


def test_a_network_of_convolutions_trains_saves_and_predicts(tmp_path):
    run(f"""
        def network(data, train=False):
            initializer = flow.truncated_normal(0.1)
            for k, filters in enumerate((4, 8), 1):
                data = flow.layers.conv2d(data, filters, 5, padding="SAME", activation=flow.nn.relu,
                                          kernel_initializer=initializer, name=f"conv{{k}}")
                data = flow.nn.max_pool2d(data, ksize=2, strides=2, padding="SAME", data_format="NCHW", name="pool")
            hidden = flow.layers.dense(flow.reshape(data, [data.shape[0], -1]), 16, activation=flow.nn.relu,
                                       kernel_initializer=initializer, name="dense1")
            if train:
                hidden = flow.nn.dropout(hidden, rate=0.5, name="dropout")
            return flow.layers.dense(hidden, 3, kernel_initializer=initializer, name="dense2")

        P, Q = tp.Numpy.Placeholder((12, 1, 8, 8), dtype=flow.float), tp.Numpy.Placeholder((12,), dtype=flow.int32)

        @flow.global_function(type="train")
        def train_job(images: P, labels: Q) -> tp.Callback[tp.Numpy]:
            with flow.scope.placement("cpu", "0:0-0"):
                logits = network(images, train=True)
                loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits, name="softmax_loss")
            rate = flow.optimizer.PiecewiseConstantScheduler([], [0.005])
            flow.optimizer.Adam(rate, do_bias_correction=True).minimize(loss)
            return loss

        def eval_job(images: P, labels: Q) -> tp.Numpy:
            return flow.nn.softmax(network(images, train=True))
        function, eval_job = eval_job, flow.global_function(type="predict")(eval_job)

        flow.env.init()
        flow.config.enable_legacy_model_io(False)
        lm.seed(0)
        pictures = rng.normal(size=(12, 1, 8, 8)).astype(np.float32)
        losses = []
        for _ in range(100):
            train_job(pictures, labels)(lambda loss: losses.append(loss.mean()))
        assert losses[-1] < 0.7 * losses[0], losses[::10]
        # In a job that predicts, there is no dropout.
        scores = eval_job(pictures, labels)
        assert np.array_equal(scores, eval_job(pictures, labels))
        assert (scores.argmax(1) == labels).mean() > 0.8, scores
        flow.checkpoint.save({str(tmp_path / "model")!r})
        flow.clear_default_session()
        eval_job = flow.global_function()(function)
        flow.load_variables(flow.checkpoint.get({str(tmp_path / "model")!r}))
        assert np.array_equal(scores, eval_job(pictures, labels))
        assert {{"conv1-weight", "conv2-bias", "dense2-weight"}} <= set(variables())
        """)


def test_the_example_of_the_documentation(tmp_path):
    page = Path(__file__).resolve().parents[3] / "docs" / "compat.md"
    blocks = re.findall(r"^```py\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (code,) = [block for block in blocks if "import oneflow.typing" in block]
    (tmp_path / "job.py").write_text(code, "utf-8")
    command = [sys.executable, "-m", "lamella.compat", "job.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 0.95 and (tmp_path / "model" / "snapshot_done").exists()
