"""Trains nothing: calls operations until one process dies, stalls or calls another one. The argument says which."""

import os
import signal
import sys
import time

import lamella as lm
import lamella.distributed as dist
from support import default_device

what = sys.argv[1]
group = dist.init_process_group(
    os.environ.get("LAMELLA_TEST_BACKEND"), timeout=float(sys.argv[2]), debug=what == "mismatch"
)
rank = group.rank
default_device.use_own(rank)
x = lm.ones([1000])
dist.all_reduce(x)
dist.barrier()
if what == "mismatch":
    for calls in (
        lambda: dist.all_reduce(x[: 10 + rank]),
        lambda: dist.all_reduce(x) if rank else dist.broadcast(x),
        lambda: dist.all_reduce(x.astype("int32") if rank else x),
        lambda: dist.all_reduce(x, "max" if rank else "min"),
    ):
        try:
            calls()
        except dist.DistributedError as error:
            assert "rank 0: " in str(error) and "rank 1: " in str(error), error
            print(error)
        else:
            raise AssertionError("the calls differ")
    dist.all_reduce(x)  # the group is still good
    print("still good")
    sys.exit(0)
if rank == 1:
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "exit":
        sys.exit(0)
    if what == "stall":
        time.sleep(30)
begin = time.monotonic()
print("waits", flush=True)
try:
    dist.all_gather(x, sizes=[1000] * group.size)  # they need not tell each other first
except dist.DistributedError as error:
    print(f"after {time.monotonic() - begin:.1f} s: {error}")
    try:
        dist.barrier()
    except dist.DistributedError as again:
        assert "has failed before" in str(again)
        sys.exit(3)
sys.exit(4)
