"""Says who it is, and where it listens."""

import os
from pathlib import Path

import lamella as lm
import lamella.distributed as dist


def addresses():
    """The addresses, in hexadecimal, at which this process waits for connections over TCP."""
    own = {os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
    rows = [row.split() for kind in ("tcp", "tcp6") for row in Path(f"/proc/self/net/{kind}").read_text().splitlines()]
    listening = "0A"
    return {row[1].split(":")[0] for row in rows if row[3] == listening and f"socket:[{row[9]}]" in own}


group = dist.init_process_group(os.environ.get("LAMELLA_TEST_BACKEND"), timeout=20)
total = dist.all_reduce(lm.tensor(group.rank)).item()
assert addresses() <= {"0100007F"}, addresses()
print(f"rank {group.rank} of {group.size}, {group.backend}, sum {total}\n", end="", flush=True)
