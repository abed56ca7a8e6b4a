"""Optimizers, schedules and clipping of the paddle front, and what they remember."""

import subprocess
import sys
import textwrap

import pytest

HEADER = """
import numpy as np
import paddle
from numpy.testing import assert_allclose
from paddle.optimizer import lr

def raises(kind, call, *words):
    try:
        call()
    except kind as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError(words)

def rates(schedule, count):
    found = [schedule()]
    for _ in range(count):
        schedule.step()
        found.append(schedule())
    return found

def parameter(values):
    values = np.asarray(values, "float32")
    return paddle.create_parameter(values.shape, "float32", default_initializer=paddle.nn.initializer.Assign(values))
"""

#: Programs by what they look at. All of a table run in one process.
SCHEDULES = {
    "rates that follow the one before begin where the schedule does": """
        cosine = lr.CosineAnnealingDecay(0.5, 4, 0.1, last_epoch=2)
        ratio = (1 + np.cos(0.75 * np.pi)) / (1 + np.cos(0.5 * np.pi))
        assert_allclose(cosine(), 0.1 + 0.4 * ratio, 1e-6)
        cosine.step(2)
        assert_allclose(cosine(), 0.3)
        linear = lr.LinearLR(0.5, 4, 0.2, last_epoch=1)
        assert_allclose(linear(), 0.5 * (1 + 0.8 / (0.8 + 0.8)))
        for schedule in (lr.CosineAnnealingDecay(0.5, 4), lr.LinearLR(0.5, 4)):
            schedule.step()
            before = schedule()
            assert schedule.get_lr() != before and schedule() == before
        """,
    "one cycle ends": """
        for options in ({}, {"end_learning_rate": 0}, {"three_phase": True}):
            schedule = lr.OneCycleLR(0.5, 4, **options)
            assert_allclose(rates(schedule, 3)[-1], options.get("end_learning_rate", 1e-4), atol=1e-9)
            schedule.step()
            raises(ValueError, schedule.step, "OneCycleLR", "5", "total_steps")
        """,
    "arguments that make no sense": """
        for kind, arguments, words in [
            ("MultiStepDecay", (0.5, [5, 5]), "milestones [5, 5]"),
            ("MultiStepDecay", (0.5, [5, 3]), "milestones [5, 3]"),
            ("MultiStepDecay", (0.5, [5], 1.5), "gamma 1.5"),
            ("StepDecay", (0.5, 3, 1.5), "gamma 1.5"),
            ("ExponentialDecay", (0.5, 2), "gamma 2"),
            ("ExponentialDecay", (-0.5, 0.9), "learning_rate -0.5"),
            ("NaturalExpDecay", (0.5, -1), "gamma -1"),
            ("NoamDecay", (-1, 3), "d_model -1"),
            ("PolynomialDecay", (0.5, 0), "decay_steps 0"),
            ("PolynomialDecay", (0.5, 3, 0.1, 0), "power 0"),
            ("LinearWarmup", (0.5, 0, 0.0, 1.0), "warmup_steps 0"),
            ("LinearWarmup", (0.5, 3, 1.0, 0.5), "end_lr 0.5"),
            ("CosineAnnealingDecay", (0.5, 0), "T_max 0"),
            ("PiecewiseDecay", ([], [1.0]), "boundary"),
        ]:
            raises(ValueError, lambda: getattr(lr, kind)(*arguments), f"[{kind}]", *words.split(" ", 1))
        raises(TypeError, lambda: lr.MultiStepDecay(0.5, 5), "MultiStepDecay", "int")
        raises(TypeError, lambda: lr.LinearWarmup("a", 3, 0.0, 1.0), "LinearWarmup", "str")
        raises(TypeError, lambda: lr.CosineAnnealingDecay(0.5, 2.5), "CosineAnnealingDecay", "float")
        """,
    "one cycle has a step behind its end, in the form of its last phase": """
        for options, expected in [
            ({"total_steps": 5}, [1e-4, 0.188336]),
            ({"total_steps": 7, "three_phase": True}, [1e-4, 0.006538]),
            ({"total_steps": 6, "anneal_strategy": "linear", "phase_pct": 0.5}, [1e-4, -0.3332]),
        ]:
            found = rates(lr.OneCycleLR(1.0, **options), options["total_steps"])
            assert_allclose(found[-2:], expected, atol=2e-6, err_msg=str(options))
        """,
    "attributes": """
        piecewise = lr.PiecewiseDecay([2], [0.3, 0.2])
        assert piecewise.base_lr == 0.1 and piecewise() == 0.3 and piecewise.values == [0.3, 0.2]
        assert lr.LinearWarmup(0.5, 2, 0.0, 1.0).learning_rate == 0.5
        """,
    "states of other names": """
        def steps(net, optimizer):
            net(paddle.ones([2, 3])).mean().backward()
            optimizer.step()
            optimizer.clear_grad()

        first, second = paddle.nn.Linear(3, 2), paddle.nn.Linear(3, 2)
        for kind in (paddle.optimizer.Momentum, paddle.optimizer.Adam, paddle.optimizer.SGD):
            one, other = kind(0.1, parameters=first.parameters()), kind(0.1, parameters=second.parameters())
            other.set_state_dict(one.state_dict())  # nothing yet
            steps(second, other)
            steps(first, one)
            other.set_state_dict(one.state_dict())
            weight = second.weight.numpy()
            if one.state_dict():
                raises(RuntimeError, lambda: steps(second, other), "nothing of", first.weight.name, second.weight.name)
                assert (second.weight.numpy() == weight).all()
                other.clear_grad()
            other.set_state_dict(other.state_dict())
            steps(second, other)
            other.set_state_dict({**one.state_dict(), **other.state_dict()})
            steps(second, other)
        """,
    "states have the names that a schedule gives": """
        class Own(lr.LRScheduler):
            def __init__(self):
                self.calls = paddle.to_tensor([0.0])
                super().__init__(0.5)

            def state_keys(self):
                self.keys = ["last_epoch", "last_lr", "calls"]

            def get_lr(self):
                self.calls = self.calls + 1
                return self.base_lr / self.calls.item()

        one, other = Own(), Own()
        one.step()
        assert one.state_dict() == {"last_epoch": 1, "last_lr": 0.25, "calls": 2.0}
        other.set_state_dict(one.state_dict())
        assert other.calls == 2.0 and other() == 0.25
        raises(RuntimeError, lambda: Own().set_state_dict({"last_epoch": 1, "last_lr": 0.1}), "Own", "calls")
        """,
    "plateaus": """
        schedule = lr.ReduceOnPlateau(0.5, patience=0, cooldown=1, factor=0.5)
        for metric, rate in [(1.0, 0.5), (paddle.to_tensor(1.0), 0.25), (2.0, 0.25), (np.float32(0.5), 0.25)]:
            schedule.step(metric)
            assert schedule() == rate
        state = {"cooldown_counter": 0, "best": 0.5, "num_bad_epochs": 0, "last_epoch": 4, "last_lr": 0.25}
        assert schedule.state_dict() == state
        other = lr.ReduceOnPlateau(0.5, patience=0, factor=0.5)
        other.set_state_dict(state)
        other.step(0.6)
        assert other() == 0.125
        # The margin of a relative threshold has the sign of the best metric.
        for mode, second in (("min", -0.95), ("max", -1.05)):
            below = lr.ReduceOnPlateau(0.5, mode, patience=0, threshold=0.1)
            below.step(-1.0)
            below.step(second)
            assert below() == 0.5
        """,
}
CLIPS = {
    "each group is clipped by itself, or by a clipping of its own": """
        def step(clip, **own):
            a, b, c = (parameter(values) for values in ([0.0, 0.0], [0.0], [0.0]))
            optimizer = paddle.optimizer.SGD(1.0, [{"params": [a, b]}, {"params": [c], **own}], grad_clip=clip)
            (a * paddle.to_tensor([3.0, 4.0]) + 12 * b + 10 * c).sum().backward()
            optimizer.step()
            return [float(-value) for value in (*a, b, c)]

        # Sums are of two terms, as ``b`` and ``c`` are added to each element of ``a``.
        clip = paddle.nn.ClipGradByGlobalNorm(1.0)
        length = (9 + 16 + 24**2) ** 0.5
        first = [3 / length, 4 / length, 24 / length]
        assert_allclose(step(clip), [*first, 1.0], 1e-5)
        assert_allclose(step(clip, grad_clip=None), [*first, 20.0], 1e-5)
        assert_allclose(step(clip, grad_clip=paddle.nn.ClipGradByValue(0.5)), [*first, 0.5], 1e-5)
        assert_allclose(step(None, grad_clip=paddle.nn.ClipGradByValue(0.5)), [3, 4, 24, 0.5], 1e-5)
        """,
    "rows of sparse tables that were not looked up": """
        start, places = np.arange(10, dtype="float32").reshape(5, 2) / 10, [[0, 1], [3, 3], [1, 4], [2, 2]]
        def train(make, **options):
            table = paddle.nn.Embedding(5, 2, **options)
            table.weight.set_value(start)
            optimizer, found = make(parameters=table.parameters()), []
            for rows in places:
                (table(paddle.to_tensor(rows)) ** 2).sum().backward()
                optimizer.step()
                optimizer.clear_grad()
                found.append(table.weight.numpy())
            return found

        lazy = lambda **of: paddle.optimizer.Adam(0.1, lazy_mode=True, **of)
        dense = train(paddle.optimizer.Adam, sparse=True)
        found, m, v, w = train(lazy, sparse=True), np.zeros((5, 2)), np.zeros((5, 2)), start.copy()
        for k, rows in enumerate(places, 1):
            g = np.zeros((5, 2))
            np.add.at(g, rows, 2 * w[rows])
            for row in set(rows):
                m[row], v[row] = 0.9 * m[row] + 0.1 * g[row], 0.999 * v[row] + 0.001 * g[row] ** 2
                w[row] -= 0.1 * (m[row] / (1 - 0.9**k)) / (np.sqrt(v[row] / (1 - 0.999**k)) + 1e-8)
            assert_allclose(found[k - 1], w, 1e-4, 1e-6)
            still = [row for row in range(5) if row not in rows]
            assert k == 1 or (found[k - 1][still] == found[k - 2][still]).all()
        assert (found[-1] != dense[-1]).any()  # whose other rows go on by momentum
        usual = lambda **of: paddle.optimizer.Adam(0.1, **of)
        for a, b in zip(train(lazy), train(usual)):
            assert (a == b).all()
        """,
    "parts of a group are clipped together": """
        makes = {
            "SGD": {}, "AdamW": {"apply_decay_param_fun": lambda name: name == "a"},
            "Lamb": {"exclude_from_weight_decay_fn": lambda p: p.name == "a"},
        }
        for name, options in makes.items():
            seen = []
            class Norm(paddle.nn.ClipGradByGlobalNorm):
                def _dygraph_clip(self, params_grads):
                    seen.append([p.name for p, _ in params_grads])
                    return super()._dygraph_clip(params_grads)

            a, b = parameter([1.0]), parameter([2.0])
            a.name, b.name = "a", "b"
            b.optimize_attr = {"learning_rate": 0.5}
            optimizer = getattr(paddle.optimizer, name)(0.1, parameters=[a, b], grad_clip=Norm(1.0), **options)
            (a * b).sum().backward()
            optimizer.step()
            assert [sorted(names) for names in seen] == [["a", "b"]], (name, seen)
        """,
    "lists of parameters with gradients": """
        a, b = paddle.nn.Linear(1, 1, bias_attr=paddle.ParamAttr(need_clip=False)).parameters()
        g = paddle.to_tensor([[3.0]])
        for clip, limit in [("ClipGradByGlobalNorm", 1.0), ("ClipGradByNorm", 1.0), ("ClipGradByValue", 1.0)]:
            made = getattr(paddle.nn, clip)(limit)([(a, g), (b, g), (a, None)])
            assert [p is q for (p, _), q in zip(made, (a, b))] == [True, True] and len(made) == 2
            assert_allclose([value.item() for _, value in made], [1.0, 3.0], 1e-6)
        raises(NotImplementedError, lambda: paddle.nn.clip.ClipGradBase()([]))
        """,
}
OPTIMIZERS = {
    "tensors of one element as options": """
        for name in ("Adam", "AdamW"):
            found = []
            for make in (float, lambda value: paddle.to_tensor([value])):
                w = parameter([1.0])
                # 0.9 and 0.999 are those by which Paddle corrects a bias, whatever the tensors hold.
                options = {"beta1": make(0.9), "beta2": make(0.999), "epsilon": make(1e-3)}
                optimizer = getattr(paddle.optimizer, name)(0.1, parameters=[w], **options)
                for factor in (1.0, -2.0):
                    (w * w * factor).sum().backward()
                    optimizer.step()
                    optimizer.clear_grad()
                found.append(w.item())
            assert_allclose(*found, 1e-6)
        """,
    "counts of steps have the dtype of their parameters": """
        for name in ("Adam", "AdamW", "Lamb", "Adamax"):
            for dtype in ("float32", "float64"):
                w = paddle.create_parameter([2], dtype)
                optimizer = getattr(paddle.optimizer, name)(0.1, parameters=[w])
                w.sum().backward()
                optimizer.step()
                state = optimizer.state_dict()
                assert {value.dtype for value in state.values()} == {getattr(paddle, dtype)}, (name, state)
        """,
    "steps ahead and back": """
        from paddle.incubate import LookAhead
        w, expected, slow = parameter([1.0]), 1.0, None
        ahead = LookAhead(paddle.optimizer.SGD(0.1, [w]), alpha=0.25, k=3)
        for step in range(1, 8):
            (w * step).sum().backward()
            ahead.step()
            ahead.clear_grad()
            expected -= 0.1 * step
            slow = expected if step == 1 else slow
            if step % 3 == 0:
                expected = slow = 0.25 * expected + 0.75 * slow
            assert_allclose(w.numpy(), [expected], 1e-5)
        state = ahead.state_dict()
        assert list(state) == [w.name + "_slow_0"] and abs(state[w.name + "_slow_0"].item() - slow) < 1e-5
        for kind, options in ((TypeError, [w]), (ValueError, [ahead, 2.0]), (ValueError, [ahead, 0.5, 0])):
            raises(kind, lambda: LookAhead(*options), "LookAhead")
        """,
    "means of weights": """
        w = parameter([0.0])
        average = paddle.incubate.ModelAverage(0.5, [w], min_average_window=2, max_average_window=3)
        closed, since = [], []
        for step in range(1, 10):
            w.set_value(np.float32([step]))
            (w * 1.0).sum().backward()
            average.step()
            since.append(step)
            if len(since) >= 2 and len(since) >= min(3, int(step * 0.5)):
                closed, since = since, []
            with average.apply():
                assert_allclose(w.numpy(), [np.mean(closed + since)])
            assert w.item() == step
        with average.apply(need_restore=False):
            pass
        assert w.item() != 9
        average.restore()
        assert w.item() == 9
        other = paddle.incubate.ModelAverage(0.5, [w], min_average_window=2, max_average_window=3)
        other.set_state_dict(average.state_dict())
        for each in (average, other):
            each.step()
        assert all((value == other.state_dict()[key]).all() for key, value in average.state_dict().items())
        """,
    "a program looks ahead": """
        paddle.enable_static()
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            x = paddle.static.data("x", [1])
            w = paddle.create_parameter([1], "float32", default_initializer=paddle.nn.initializer.Constant(1.0))
            loss = (w * x).sum()
            paddle.incubate.LookAhead(paddle.optimizer.SGD(0.1), alpha=0.25, k=2).minimize(loss)
            exe = paddle.static.Executor()
            for _ in range(2):
                exe.run(startup)
                found = [exe.run(main, {"x": np.float32([1])}, [loss])[0].item() for _ in range(4)]
                assert_allclose(found, [1.0, 0.9, 0.875, 0.775], 1e-5)
        paddle.disable_static()
        """,
}
GROUPS = {
    "a group's penalty stands in the place of the optimizer's": """
        from paddle.regularizer import L1Decay, L2Decay

        def moved(kind, group, **options):
            first, second = (paddle.create_parameter([2], "float32") for _ in range(2))
            for each in (first, second):
                each.set_value(np.float32([1.0, -2.0]))
            groups = [{"params": [first]}, {"params": [second], **group}]
            optimizer = getattr(paddle.optimizer, kind)(learning_rate=0.1, parameters=groups, **options)
            ((first + second).sum() * 0.1).backward()
            optimizer.step()
            return [*first.tolist(), *second.tolist()]

        for kind, group, options, expected in [
            ("SGD", {"weight_decay": 0.05}, {"weight_decay": L1Decay(0.5)}, [0.94, -1.96, 0.985, -2.0]),
            ("SGD", {"weight_decay": L1Decay(0.05)}, {"weight_decay": L1Decay(0.5)}, [0.94, -1.96, 0.985, -2.005]),
            ("SGD", {"weight_decay": L1Decay(0.05)}, {"weight_decay": 0.5}, [0.94, -1.91, 0.985, -2.005]),
            ("SGD", {"weight_decay": L2Decay(0.05)}, {"weight_decay": L1Decay(0.5)}, [0.94, -1.96, 0.985, -2.0]),
            ("SGD", {"weight_decay": L1Decay(0.05)}, {}, [0.99, -2.01, 0.985, -2.005]),
            ("Adam", {"weight_decay": 0.05}, {"weight_decay": L1Decay(0.5)}, [0.9, -1.9, 0.9, -2.0]),
            ("Adagrad", {"weight_decay": 0.05}, {"weight_decay": L1Decay(0.5)}, [0.9, -1.9, 0.9, -2.0]),
            ("AdamW", {"weight_decay": 0.5}, {}, [0.899, -2.098, 0.85, -2.0]),
            ("Lamb", {"weight_decay": 0.5}, {}, [0.83952, -2.15571, 0.84267, -1.84111]),
            ("Lamb", {"weight_decay": 0.5}, {"lamb_weight_decay": 0.0}, [0.9, -2.1, 0.9, -1.9]),
            ("Lamb", {"lamb_weight_decay": 0.5}, {}, [0.83952, -2.15571, 0.77639, -2.0]),
            ("Rprop", {"weight_decay": 0.5}, {}, [0.9, -2.1, 0.9, -1.9]),
        ]:
            assert_allclose(moved(kind, group, **options), expected, atol=2e-5, err_msg=str((kind, group, options)))
        """,
    "the first steps of Rprop have the size that it was made with": """
        p = parameter([1.0, -2.0])
        optimizer = paddle.optimizer.Rprop(0.05, parameters=[p])
        optimizer.set_lr(0.2)
        for expected in ([0.95, -2.05], [0.89, -2.11]):
            (p.sum() * 0.1).backward()
            optimizer.step()
            optimizer.clear_grad()
            assert_allclose(p.numpy(), expected, atol=1e-6)
            assert optimizer.get_lr() == 0.2
        """,
    "a group has the options that its optimizer has": """
        from paddle.regularizer import L1Decay, L2Decay

        def moved(kind, group, **options):
            first, second = parameter([1.0, -2.0]), parameter([1.0, -2.0])
            groups = [{"params": [first]}, {"params": [second], **group}]
            optimizer = getattr(paddle.optimizer, kind)(learning_rate=0.1, parameters=groups, **options)
            for _ in range(2):
                ((first + second).sum() * 0.1).backward()
                optimizer.step()
                optimizer.clear_grad()
            return [*first.tolist(), *second.tolist()]

        absolute = {"weight_decay": L1Decay(0.5)}
        for kind, group, options, expected in [
            ("SGD", {"weight_decay": None}, {"weight_decay": 0.5}, [0.883, -1.8245, 0.883, -1.8245]),
            ("SGD", {"momentum": 0.5, "unknown": 1}, {}, [0.98, -2.02, 0.98, -2.02]),
            ("RMSProp", {"weight_decay": None, "momentum": 0.5}, absolute, [0.23255, -1.23257, 0.00895, -1.00898]),
            ("Momentum", {"weight_decay": 0.2}, absolute, [0.826, -1.884, 0.7696, -1.7696]),
            ("Momentum", {"weight_decay": L2Decay(0.2)}, absolute, [0.826, -1.884, 0.7696, -1.7696]),
            ("Momentum", {"weight_decay": L1Decay(0.2)}, absolute, [0.826, -1.884, 0.913, -1.971]),
            ("Momentum", {"weight_decay": None}, absolute, [0.826, -1.884, 0.826, -1.884]),
            ("Momentum", {"weight_decay": None}, {"weight_decay": 0.5}, [0.829, -1.7435, 0.971, -2.029]),
            ("Momentum", {"use_nesterov": True, "momentum": 0.5}, {}, [0.971, -2.029, 0.9675, -2.0325]),
        ]:
            assert_allclose(moved(kind, group, **options), expected, atol=2e-5, err_msg=str((kind, group, options)))
        raises(TypeError, lambda: moved("AdamW", {"weight_decay": None}), "AdamW", "NoneType")
        raises(TypeError, lambda: moved("AdamW", {}, weight_decay=L2Decay(0.1)), "AdamW", "L2Decay")
        """,
    "minimize returns the parameters with their gradients": """
        line = paddle.nn.Linear(2, 3)
        loss = line(paddle.ones([1, 2])).sum()
        loss.backward()
        operators, moved = paddle.optimizer.SGD(0.1, parameters=line.parameters()).minimize(loss)
        assert operators == [] and [p.name for p, _ in moved] == [p.name for p in line.parameters()]
        assert all((g == 1).all() for _, g in moved)
        """,
}
TABLES = [SCHEDULES, CLIPS, OPTIMIZERS, GROUPS]
IDS = ["schedules", "clips", "optimizers", "groups"]


@pytest.mark.parametrize("table", TABLES, ids=IDS)
def test_optimizers(table):
    parts = [
        f"def part_{number}():  # {title}\n{textwrap.indent(textwrap.dedent(code).strip(), '    ')}\npart_{number}()\n"
        for number, (title, code) in enumerate(table.items())
    ]
    command = [sys.executable, "-m", "lamella.compat", "-c", HEADER + "\n".join(parts)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
