"""Workers: their errors, their ends, and what is left of them when anything ends in another way than it should."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.data import DataLoader, Dataset, IterableDataset, get_worker_info

PYTHON = Path(lm.__file__).resolve().parents[1]


class Numbers(Dataset[Any]):
    def __init__(self, length: int = 12) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return index


class Who(Numbers):
    """Samples that tell who fetched them."""

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        return index, os.getpid(), info.id, info.num_workers, info.seed


class OddError(Exception):
    """An exception that cannot be made again from its arguments."""

    def __init__(self, code: int, where: str) -> None:
        super().__init__(f"code {code} in {where}")


def gone(pid: int, within: float = 5) -> bool:
    """True once there is no process, not even a zombie, with this number."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        # One whose parent is gone waits for this machine's first process to look at it.
        if state == "Z" and Path(f"/proc/{pid}/status").read_text().find(f"PPid:\t{os.getpid()}") < 0:
            return True
        time.sleep(0.01)
    return False


def pids_of(iterator: Any) -> list[int]:
    return [process.pid for process in iterator._pool._processes]


def test_workers_know_themselves_and_end_with_the_epoch() -> None:
    assert get_worker_info() is None
    iterator = iter(DataLoader(Who(), None, num_workers=3, generator=lm.Generator("cpu", 2)))
    pids = pids_of(iterator)
    found = list(iterator)
    assert [sample[0] for sample in found] == list(range(12))
    assert [sample[1] for sample in found] == pids * 4 and os.getpid() not in pids
    assert [sample[2:4] for sample in found] == [(i % 3, 3) for i in range(12)]
    assert len({sample[4] for sample in found}) == 3
    assert all(gone(pid, 0.1) for pid in pids)


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_every_way_of_starting(context: str) -> None:
    loader = DataLoader(np.arange(40000.0).reshape(4, -1), 2, num_workers=1, multiprocessing_context=context)
    assert [batch[:, 0].tolist() for batch in loader] == [[0, 10000], [20000, 30000]]


def test_workers_that_are_kept_stay_the_same_and_end_with_the_loader() -> None:
    loader = DataLoader(Who(), None, num_workers=2, persistent_workers=True)
    first = {sample[1] for sample in loader}
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    assert {sample[1] for sample in loader} == first
    with pytest.raises(RuntimeError, match="a later iterator of this loader"):
        next(iterator)
    assert not any(gone(pid, 0) for pid in first)
    del loader, iterator
    gc.collect()
    assert all(gone(pid) for pid in first)


def test_workers_that_are_kept_serve_an_iterator_whose_loader_nobody_else_holds() -> None:
    found = [sample[1] for sample in DataLoader(Who(), None, num_workers=2, persistent_workers=True)]
    assert len(found) == len(Who())
    gc.collect()
    assert all(gone(pid) for pid in set(found))


def test_a_dropped_iterator_takes_its_workers_along() -> None:
    iterator = iter(DataLoader(Numbers(1000), 2, num_workers=2))
    next(iterator)
    pids = pids_of(iterator)
    del iterator
    assert all(gone(pid, 0.1) for pid in pids)


def test_an_exception_in_the_loop_leaves_no_worker() -> None:
    pids: list[int] = []

    def train() -> None:
        iterator = iter(DataLoader(Numbers(1000), 2, num_workers=2))
        pids.extend(pids_of(iterator))
        for _ in iterator:
            raise KeyError("step")

    with pytest.raises(KeyError):
        train()
    gc.collect()
    assert all(gone(pid) for pid in pids)


def test_a_worker_that_does_not_end_is_ended() -> None:
    class Stuck(Numbers):
        def __getitem__(self, index: int) -> int:
            if index:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(60)
            return index

    iterator = iter(DataLoader(Stuck(), num_workers=1))
    next(iterator)
    pids = pids_of(iterator)
    time.sleep(0.05)
    begin = time.monotonic()
    del iterator
    assert all(gone(pid, 0.1) for pid in pids) and time.monotonic() - begin < 10


def fails(kind: str) -> Any:
    if kind == "dictionary":
        return {}["key"]
    if kind == "text":
        raise ValueError("line one\nline two: ünïcode")
    if kind == "odd":
        raise OddError(3, "there")
    if kind == "local":

        class LocalError(Exception):
            pass

        raise LocalError("within")
    if kind == "exit":
        sys.exit(3)
    if kind == "lock":
        return threading.Lock()
    raise UnicodeDecodeError("utf-8", b"ab", 0, 1, "bad")


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("dictionary", KeyError, "'key'"),
        ("text", ValueError, "line one\nline two: ünïcode"),
        ("odd", RuntimeError, "OddError: code 3 in there"),
        ("local", RuntimeError, "LocalError: within"),
        ("exit", SystemExit, "3"),
        ("unicode", UnicodeDecodeError, "'utf-8' codec can't decode byte 0x61 in position 0: bad"),
        ("lock", TypeError, "cannot pickle '_thread.lock' object"),
    ],
)
def test_errors_arrive_whole(kind: str, error: type[BaseException], message: str) -> None:
    class Failing(Numbers):
        def __getitem__(self, index: int) -> Any:
            return fails(kind) if index == 3 else index

    iterator = iter(DataLoader(Failing(), None, num_workers=2))
    assert [next(iterator) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(error) as caught:
        next(iterator)
    assert type(caught.value) is error and str(caught.value) == message
    text = "".join(traceback.format_exception(caught.value))
    assert "raised in worker 1 (pid " in text
    if kind != "lock":
        assert "in fails" in text and __file__ in text
    assert next(iterator) == 4


def test_errors_of_what_runs_before_the_first_batch() -> None:
    def init(number: int) -> None:
        if number == 1:
            raise LookupError("no start")

    iterator = iter(DataLoader(Numbers(), None, num_workers=2, worker_init_fn=init))
    assert next(iterator) == 0
    with pytest.raises(LookupError, match="no start"):
        next(iterator)

    class Broken(IterableDataset[int]):
        def __iter__(self) -> Any:
            raise OSError("no stream")

    with pytest.raises(OSError, match="no stream"):
        next(iter(DataLoader(Broken(), num_workers=1)))


def test_workers_are_set_up(tmp_path) -> None:
    class Drawn(Numbers):
        def __getitem__(self, index: int) -> Any:
            return lm.get_num_threads(), self.length

    def init(number: int) -> None:
        (tmp_path / str(number)).write_text(str(random.random()))

    loader = DataLoader(Drawn(), None, num_workers=2, worker_init_fn=init)
    assert set(loader) == {(1, 12)} and sorted(os.listdir(tmp_path)) == ["0", "1"]
    assert (tmp_path / "0").read_text() != (tmp_path / "1").read_text()


class Part(IterableDataset[int]):
    def __init__(self, start: int, stop: int) -> None:
        self.start, self.stop = start, stop

    def __iter__(self) -> Any:
        return iter(range(self.start, self.stop))


@pytest.mark.parametrize("persistent", [False, True])
def test_what_sets_a_worker_up_knows_the_worker_and_its_seed(persistent: bool, tmp_path) -> None:
    def init(number: int) -> None:
        info = get_worker_info()
        assert info is not None and info.id == number and info.num_workers == 2
        part = info.dataset
        each = -(-(part.stop - part.start) // info.num_workers)
        part.start += number * each
        part.stop = min(part.start + each, part.stop)
        with open(tmp_path / str(number), "a") as file:
            print(random.random(), file=file)

    def drawn() -> list[list[str]]:
        return [(tmp_path / name).read_text().split() for name in ("0", "1")]

    def loader() -> DataLoader[Any]:
        return DataLoader(
            Part(3, 10),
            None,
            num_workers=2,
            worker_init_fn=init,
            persistent_workers=persistent,
            generator=lm.Generator("cpu", 5),
        )

    first = loader()
    assert sorted(first) == list(range(3, 10))
    assert sorted(first) == list(range(3, 10))
    kept = drawn()
    assert kept[0] != kept[1]
    for name in ("0", "1"):
        (tmp_path / name).unlink()
    second = loader()
    assert sorted(second) == sorted(second) and drawn() == kept


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP, "exit"])
def test_a_worker_that_dies_is_an_error(how: Any) -> None:
    class Dying(Numbers):
        def __getitem__(self, index: int) -> int:
            if index == 5 and how == "exit":
                os._exit(7)
            if index == 5:
                if how != signal.SIGKILL:
                    signal.signal(how, signal.SIG_DFL)  # which nohup has taken away
                os.kill(os.getpid(), how)
            return index

    iterator = iter(DataLoader(Dying(), None, num_workers=2))
    pids = pids_of(iterator)
    found = []
    expected = "ended with the code 7" if how == "exit" else f"was killed by {how.name}"
    with pytest.raises(RuntimeError, match=rf"\[DataLoader\] worker 1 \(pid {pids[1]}\) {expected}"):
        for sample in iterator:
            found.append(sample)
    assert found == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="the workers have ended"):
        next(iterator)
    assert all(gone(pid) for pid in pids)


def test_a_kept_worker_that_died_is_replaced() -> None:
    loader = DataLoader(Numbers(), None, num_workers=2, persistent_workers=True)
    assert list(loader) == list(range(12))
    os.kill(loader._pool._processes[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="was killed by SIGKILL"):
        list(loader)
    assert list(loader) == list(range(12))


def test_a_late_worker_is_an_error_and_may_be_waited_for() -> None:
    class Slow(Numbers):
        def __getitem__(self, index: int) -> int:
            time.sleep(0.4 if index == 1 else 0)
            return index

    iterator = iter(DataLoader(Slow(4), None, num_workers=1, timeout=0.1))
    assert next(iterator) == 0
    with pytest.raises(RuntimeError, match=r"worker 0 \(pid \d+\) gave no batch within 0\.1 s"):
        next(iterator)
    time.sleep(0.5)
    assert list(iterator) == [1, 2, 3]


def test_long_lists_of_numbers_and_long_answers_do_not_wait_for_each_other() -> None:
    class Long(Numbers):
        def __getitem__(self, index: int) -> str:
            return "x" * 100

    batches = [list(range(20000))] * 200
    loader = DataLoader(Long(20000), batch_sampler=batches, collate_fn=len, num_workers=1, prefetch_factor=200)
    assert list(loader) == [20000] * 200
    many = DataLoader(Numbers(3000), None, num_workers=1, prefetch_factor=3000)
    assert list(many) == list(range(3000))


def test_two_loaders_at_once() -> None:
    pairs = zip(DataLoader(Numbers(), None, num_workers=2), DataLoader(Numbers(), None, num_workers=2), strict=True)
    assert list(pairs) == [(i, i) for i in range(12)]
    outer = iter(DataLoader(Numbers(), None, num_workers=2))
    next(outer)
    inner = iter(DataLoader(Numbers(), None, num_workers=2))
    pids = pids_of(outer)
    del outer  # while the inner workers, forked later, live
    assert all(gone(pid, 0.5) for pid in pids)
    assert list(inner) == list(range(12))


def test_a_worker_has_no_workers() -> None:
    class Nested(Numbers):
        def __getitem__(self, index: int) -> Any:
            return list(DataLoader([index], None, num_workers=index))

    iterator = iter(DataLoader(Nested(), None, num_workers=1))
    assert next(iterator) == [0]
    with pytest.raises(RuntimeError, match="this process is a worker itself"):
        next(iterator)


def test_operators_and_gradients_in_workers() -> None:
    class Computed(Numbers):
        def __getitem__(self, index: int) -> Any:
            weight = lm.ones((3,))
            weight.stop_gradient = False
            (weight * weight * index).sum().backward()
            return weight.grad, lm.ones((100, 100)) @ lm.full((100, 100), index, dtype="float32")

    lm.ones((500, 500)) @ lm.ones((500, 500))  # on several threads, which no worker has
    for number, (grad, product) in enumerate(DataLoader(Computed(), None, num_workers=2)):
        assert grad.tolist() == [2 * number] * 3 and product[0, 0].item() == 100 * number


def test_batches_outlive_their_workers() -> None:
    batches = list(DataLoader(np.arange(80000.0).reshape(20, -1), 2, num_workers=2))
    assert np.concatenate([batch.numpy() for batch in batches]).ravel().tolist() == list(range(80000))


def test_a_loader_on_another_thread() -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(DataLoader(Numbers(), None, num_workers=2)))
    thread.start()
    thread.join()
    assert found == list(range(12))


PROGRAM = """
import os, signal, sys, time
import numpy as np
import lamella as lm

class Slow(lm.data.Dataset):
    def __len__(self):
        return 10**6
    def __getitem__(self, index):
        time.sleep({pause} if index > 1 else 0)
        return np.zeros(100000)

loader = lm.data.DataLoader(Slow(), 2, num_workers=3{options})
iterator = iter(loader)
next(iterator)
print(*[process.pid for process in iterator._pool._processes], flush=True)
{end}
"""


@contextlib.contextmanager
def program(pause: float = 0.01, options: str = "", end: str = "for batch in iterator: pass"):
    """A program in a session of its own, and the numbers of its workers."""
    source = PROGRAM.format(pause=pause, options=options, end=end)
    process = subprocess.Popen(
        [sys.executable, "-c", source],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(PYTHON)},
    )
    try:
        yield process, [int(pid) for pid in process.stdout.readline().split()]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize("pause", [0.001, 60])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_parent_that_is_killed_leaves_nothing(how: signal.Signals, pause: float) -> None:
    before = sorted(os.listdir("/dev/shm"))
    with program(pause) as (process, pids):
        assert len(pids) == 3
        os.kill(process.pid, how)
        process.wait()
        assert all(gone(pid) for pid in pids)
    assert sorted(os.listdir("/dev/shm")) == before


def test_ctrl_c_is_one_keyboard_interrupt() -> None:
    with program() as (process, pids):
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, errors = process.communicate(timeout=20)
        assert process.returncode == -signal.SIGINT
        assert errors.count("Traceback") == 1 and errors.rstrip().endswith("KeyboardInterrupt")
        assert len(pids) == 3 and all(gone(pid) for pid in pids)


def test_ctrl_c_is_not_lost_while_workers_end() -> None:
    end = "os.kill(os.getpid(), signal.SIGSTOP)\nfor _ in range(1000):\n    iterator = iter(loader)\n    next(iterator)"
    with program(0.001, end=end) as (process, _):
        while "T" not in Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]:
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(0.15)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == -signal.SIGINT and "ignored" not in errors


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "del iterator, loader", "iterator.x = iterator"])
def test_a_program_that_ends_takes_its_workers_along(end: str) -> None:
    for options in ("", ", persistent_workers=True"):
        with program(end=end, options=options) as (process, pids):
            _, errors = process.communicate(timeout=20)
            assert process.returncode == 0 and errors == ""
            assert len(pids) == 3 and all(gone(pid) for pid in pids)
