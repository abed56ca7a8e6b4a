"""Tables of values of torch.distributed: what each does alone, over threads, and between processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lamella.distributed as dist
from lamella.distributed import launch
from support import extensions

PROGRAM = """
import datetime, os, pathlib, sys, threading, time
import torch.distributed as dist

second = datetime.timedelta(seconds=1)


def made(kind, name):
    if kind == "hash":
        return dist.HashStore()
    if kind == "file":
        return dist.FileStore(name, 2)
    if kind == "tcp":
        return dist.TCPStore("127.0.0.1", 0, 1, True, timeout=datetime.timedelta(seconds=20))
    return dist.PrefixStore("outer", dist.PrefixStore("inner", dist.HashStore()))


def fails(kind, call, words=""):
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)


for kind in ("hash", "file", "tcp", "prefix"):
    store = made(kind, "table")
    assert isinstance(store, dist.Store)
    before = store.num_keys()
    store.set("a", "1")
    store.set("b/with space?&\\u00e9", bytes(range(256)))
    assert store.get("a") == b"1" and store.get("b/with space?&\\u00e9") == bytes(range(256))
    assert store.add("count", 3) == 3 and store.add("count", -1) == 2 and store.get("count") == b"2"
    assert store.num_keys() == before + 3
    # A key that is not there: the new value only where none is expected, and otherwise the expected one is given back.
    assert store.compare_set("c", "x", "y") == b"x" and not store.check(["c"])
    assert store.compare_set("c", "", "y") == b"y" and store.compare_set("c", "x", "z") == b"y"
    assert store.compare_set("c", "y", "z") == b"z" and store.get("c") == b"z"
    store.append("c", "!")
    store.append("d", "new")
    assert store.multi_get(["c", "d"]) == [b"z!", b"new"] and store.has_extended_api()
    store.multi_set(["e", "f"], ["5", b"6"])
    assert store.check(["e", "f"]) and not store.check(["e", "nothing"])
    assert store.delete_key("e") and not store.delete_key("e") and not store.check(["e"])
    threading.Timer(0.2, lambda: store.set("late", "here")).start()
    store.wait(["late", "a"], second * 20)
    begin = time.monotonic()
    fails(dist.DistStoreError, lambda: store.wait(["never"], second / 5), "has set 'never' within 0.2 s")
    assert time.monotonic() - begin < 10
    store.set_timeout(datetime.timedelta(milliseconds=100))
    assert store.timeout == datetime.timedelta(milliseconds=100)
    fails(RuntimeError, lambda: store.get("never"), "never")
    store.set_timeout(second * 20)
    threads = [threading.Thread(target=lambda: [store.add("sum", 1) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.add("sum", 0) == 80
    shared = dist.PrefixStore("p", store)
    shared.set("a", "other")
    assert store.get("p/a") == b"other" and store.get("a") == b"1" and shared.underlying_store is store
    if kind == "tcp":
        other = dist.TCPStore("127.0.0.1", store.port, is_master=False)
        assert (other.host, other.port) == ("127.0.0.1", store.port) and other.get("a") == b"1"
        fails(dist.DistNetworkError, lambda: dist.TCPStore("127.0.0.1", store.port, 1, True), "cannot listen")
        assert dist.TCPStore("127.0.0.1", store.port, is_master=True, multi_tenant=True).get("a") == b"1"
    if kind == "file":
        assert dist.FileStore("table").get("a") == b"1" and pathlib.Path("table").exists()
    del store, shared, threads
assert not list(pathlib.Path().glob("table*"))
fails(ValueError, lambda: dist.init_process_group("gloo", store=dist.HashStore()), "goes with rank and world_size")
print("checked")
"""

PROCESSES = """
import datetime, sys
import torch
import torch.distributed as dist

kind, place, rank = sys.argv[1], sys.argv[2], int(sys.argv[3])
limit = datetime.timedelta(seconds=30)
if kind == "file":
    store = dist.FileStore(place, 2)
else:
    store = dist.TCPStore("127.0.0.1", int(place), 2, rank == 0, timeout=limit)
for attempt in range(2):
    dist.init_process_group("gloo", store=dist.PrefixStore(f"attempt-{attempt}", store), rank=rank, world_size=2,
                            timeout=limit)
    dist.all_reduce(x := torch.tensor([rank + 1.0]))
    assert x.item() == 3.0 and dist.get_rank() == rank
    dist.destroy_process_group()
if store.add("ready", 1) < 2:
    store.wait(["all"], limit)
else:
    store.set("all", "")
if rank == 0:
    store.wait(["read"], limit)  # it serves the other one
else:
    store.set("read", "")
print("met")
"""


def test_tables(tmp_path: Path) -> None:
    extensions.write(tmp_path, {"program.py": PROGRAM})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)


@pytest.mark.skipif(not dist.is_available("gloo"), reason="built without Gloo")
@pytest.mark.parametrize("kind", ["file", "tcp"])
def test_processes_meet_in_a_table(kind: str, tmp_path: Path) -> None:
    extensions.write(tmp_path, {"program.py": PROCESSES})
    place = str(tmp_path / "table") if kind == "file" else str(launch._port())
    command = [sys.executable, "-m", "lamella.compat", "program.py", kind, place]
    processes = [
        subprocess.Popen(
            [*command, str(rank)], cwd=tmp_path, env=extensions.environment(), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    try:
        said = [process.communicate(timeout=60)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert said == ["met\n", "met\n"]
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]
