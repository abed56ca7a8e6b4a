"""Counts the bytes that a training step sends over TCP, beside the least that any algorithm sends."""

import os
import socket
import struct
from pathlib import Path

import lamella as lm
import lamella.distributed as dist

dist.init_process_group("gloo", timeout=30)
rank, n = dist.get_rank(), dist.get_world_size()
#: Place of ``tcpi_bytes_sent`` in Linux's ``struct tcp_info``.
SENT_AT = 200


def sent():
    """Bytes that this process has sent, over all connections that it has."""
    total = 0
    for path in Path("/proc/self/fd").iterdir():
        if not path.is_symlink() or not os.readlink(path).startswith("socket:"):
            continue
        with socket.socket(fileno=os.dup(int(path.name))) as one:
            if one.family in (socket.AF_INET, socket.AF_INET6) and one.type == socket.SOCK_STREAM:
                total += struct.unpack_from("Q", one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), SENT_AT)[0]
    return total


def net():
    lm.seed(0)
    return lm.nn.Sequential(*[lm.nn.Sequential(lm.nn.Linear(256, 256), lm.nn.ReLU()) for _ in range(5)])


#: A sum over n processes moves each element twice, but for the n-th part, on every process; a gather and a sum of which
#: each gets a part move it once. The third stage gathers parameters twice, as backward comes when they are dropped.
TIMES = {"data": 2, 1: 2, 2: 2, 3: 3}
STEPS = 3
for way, times in TIMES.items():
    plain = net()
    least = times * (n - 1) / n * sum(p.nbytes for p in plain.parameters())
    is_whole = way == "data"
    model = dist.DistributedDataParallel(plain) if is_whole else dist.FullyShardedDataParallel(plain, stage=way)
    optimizer = lm.optim.SGD(model.parameters(), lr=0.1)
    before = 0
    for step in range(STEPS + 1):
        if step == 1:  # without what is told once
            dist.barrier()
            before = sent()
        optimizer.zero_grad()
        model(lm.rand((4, 256))).square().mean().backward()
        optimizer.step()
    dist.barrier()
    found = max(dist.all_gather_object((sent() - before) / STEPS)) / least
    assert 0.99 < found < 1.02, (way, found)
dist.barrier()
print("checked", rank)
