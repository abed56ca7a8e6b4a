"""The oneflow front: placements, signatures and global tensors."""

import subprocess
import sys

from .test_oneflow import run
from .test_torch_distributed import needs_gloo


def test_placements_signatures_and_global_tensors():
    found = run("""
        print(flow.placement("cpu", [0]), flow.placement(type="cpu", ranks=[[0]]).shape)
        print(flow.sbp.split(0), flow.sbp.split(dim=1), flow.sbp.split(axis=1) is flow.sbp.split(1))
        print(flow.sbp.broadcast, flow.sbp.broadcast() is flow.sbp.broadcast, flow.sbp.partial_sum)
        print(isinstance(flow.sbp.split(0), flow.sbp.sbp))
        import lamella as lm
        lm.distributed.init_process_group()
        x = lm.asarray(np.arange(6.0).reshape(2, 3))
        y = x.to_global(placement=flow.placement("cpu", [0]), sbp=flow.sbp.split(0))
        whole = y.to_global(sbp=flow.sbp.broadcast)
        print(y.is_global, y.shape, y.sbp, (y * 2).sum().item(), whole.to_local().tolist())
        for wrong in (lambda: flow.sbp.split(), lambda: flow.sbp.split(0, axis=1), lambda: flow.sbp.nothing):
            try:
                wrong()
            except (TypeError, AttributeError) as error:
                print(type(error).__name__, error)
    """)
    assert found.splitlines() == [
        "lamella.placement(type='cpu', ranks=[0]) (1, 1)",
        "lamella.sbp.split(axis=0) lamella.sbp.split(axis=1) True",
        "lamella.sbp.broadcast True lamella.sbp.partial_sum",
        "True",
        "True (2, 3) (lamella.sbp.split(axis=0),) 30.0 [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]",
        "TypeError [sbp.split] takes one axis: split(0)",
        "TypeError [sbp.split] takes one axis: split(0)",
        "AttributeError Lamella's oneflow front does not have 'oneflow.sbp.nothing'",
    ]


MESSAGES = """
import sys
import oneflow as flow

comm = flow.comm
me = flow.env.get_rank()
assert flow.env.get_world_size() == 2
comm.barrier()
assert flow.env.get_rank() == me


def of(*values):
    return flow.tensor(values, dtype=flow.float32)


x = of(me + 1.0, 2.0)
comm.all_reduce(x)
assert x.tolist() == [3.0, 4.0]
parts = [flow.zeros(1), flow.zeros(1)]
comm.all_gather(parts, of(me))
assert [part.item() for part in parts] == [0.0, 1.0]
both = flow.zeros(2)
comm.all_gather_into_tensor(both, of(me + 5.0))
assert both.tolist() == [5.0, 6.0]
x = of(me)
comm.broadcast(x, 1)
assert x.item() == 1.0
comm.scatter(x, [of(7.0), of(8.0)] if me == 0 else None, src=0)
assert x.item() == 7.0 + me
x = of(me + 1.0)
comm.reduce(x, 1)
assert me == 0 or x.item() == 3.0
comm.gather(of(me), parts if me == 0 else None, dst=0)
assert me == 1 or [part.item() for part in parts] == [0.0, 1.0]
comm.all_to_all(parts, [of(10.0 * me), of(10.0 * me + 1)])
assert [part.item() for part in parts] == [float(me), 10.0 + me]
x = flow.zeros(1)
comm.reduce_scatter(x, [of(1.0), of(me)])
assert x.item() == (2.0, 1.0)[me]
comm.reduce_scatter_tensor(x, of(1.0, me + 1.0))
assert x.item() == (2.0, 3.0)[me]
sent = flow.tensor([[1, 2, 3]], dtype=flow.int64)
if me == 0:
    comm.send(sent, 1)
    comm.send(sent, 1, send_meta=False)
    comm.send(of(4.0), 1, send_meta=False)
else:
    found = comm.recv(0)
    assert found.tolist() == [[1, 2, 3]] and found.dtype == flow.int64
    assert comm.recv(0, shape=(1, 3), dtype=flow.int64).tolist() == [[1, 2, 3]]
    x = flow.zeros(1)
    assert comm.recv(0, shape=(1,), dtype=flow.float32, out=x) is x and x.item() == 4.0
    try:
        comm.recv(0, shape=(1,))
    except ValueError as error:
        assert "[comm.recv]" in str(error)
    else:
        raise AssertionError
sys.stdout.write(f"done {me}\\n")  # in one piece, beside the other process's
"""


@needs_gloo
def test_messages_between_processes(tmp_path):
    (tmp_path / "messages.py").write_text(MESSAGES)
    command = [sys.executable, "-m", "lamella.compat", "torchrun", "--standalone", "--nproc_per_node=2", "messages.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert sorted(done.stdout.split("\n")) == ["", "done 0", "done 1"], done.stdout + done.stderr
