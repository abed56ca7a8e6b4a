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
    "attributes": """
        piecewise = lr.PiecewiseDecay([2], [0.3, 0.2])
        assert piecewise.base_lr == 0.1 and piecewise() == 0.3 and piecewise.values == [0.3, 0.2]
        assert lr.LinearWarmup(0.5, 2, 0.0, 1.0).learning_rate == 0.5
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
TABLES = [SCHEDULES]
IDS = ["schedules"]


@pytest.mark.parametrize("table", TABLES, ids=IDS)
def test_optimizers(table):
    parts = [
        f"def part_{number}():  # {title}\n{textwrap.indent(textwrap.dedent(code).strip(), '    ')}\npart_{number}()\n"
        for number, (title, code) in enumerate(table.items())
    ]
    command = [sys.executable, "-m", "lamella.compat", "-c", HEADER + "\n".join(parts)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
