"""Ends as its arguments say: the status of each rank, or "wait"."""

import os
import signal
import subprocess
import sys
import time

rank = int(os.environ["RANK"])
place = [os.environ[name] for name in ("WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR")]
# One write, also where output is not buffered: lines of several processes stay whole.
print(" ".join([f"line of {rank}", *place]) + "\n", end="")
print("port", int(os.environ["MASTER_PORT"]) > 0, file=sys.stderr, flush=True)
sys.stdout.flush()
what = sys.argv[1 + rank]
if what == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if what in ("wait", "deaf"):
    time.sleep(60)
if what == "abort":
    os.abort()
if what == "parent":
    print("child", subprocess.Popen(["sleep", "60"]).pid, flush=True)
    if "LAST" in os.environ:
        time.sleep(60)
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(int(what))
