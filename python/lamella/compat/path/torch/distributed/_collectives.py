"""Collective operations with PyTorch's signatures: they write their results into tensors that they are given."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
import lamella.distributed as native
from lamella import Tensor

from ..futures import Future
from ._groups import GroupMember, get_group_rank, get_process_group_ranks


class ReduceOp:
    """Names of what groups compute."""

    SUM, AVG, PRODUCT, MIN, MAX = "sum", "mean", "product", "min", "max"
    BAND, BOR, BXOR, PREMUL_SUM = "band", "bor", "bxor", "premul_sum"
    RedOpType = str


reduce_op = ReduceOp
_OPS = ("sum", "mean", "product", "min", "max")


class Work:
    """An operation that was started."""

    def __init__(self, wait: Callable[[], Any], completed: Callable[[], bool], written: Sequence[Tensor] = ()) -> None:
        self._wait: Callable[[], Any] | None = wait
        self._completed = completed
        self._written = list(written)

    def wait(self, timeout: Any = None) -> bool:
        """Waits for the result, which is then where it was asked for."""
        if self._wait is not None:
            self._wait()
            self._wait = None
        return True

    def is_completed(self) -> bool:
        """True if the result is there."""
        return self._wait is None or self._completed()

    def is_success(self) -> bool:
        """True if the result is there."""
        return self.is_completed()

    def get_future(self) -> Future[list[Tensor]]:
        """Returns a future whose value is the list of the tensors that are written."""

        def written() -> list[Tensor]:
            self.wait()
            return self._written

        return Future.of(written, self.is_completed)

    def result(self) -> list[Tensor]:
        """Waits, and returns the tensors that were written."""
        self.wait()
        return self._written


def _is_outside(group: Any) -> bool:
    return group is not None and (group == GroupMember.NON_GROUP_MEMBER or group.rank < 0)


def checked(op: Any, caller: str) -> str:
    """Returns the name of what groups are to compute.

    Raises:
        NotImplementedError: they do not.
    """
    name = str(op)
    if name not in _OPS:
        raise NotImplementedError(f"[{caller}] op is SUM, AVG, PRODUCT, MIN or MAX here, not {name.upper()}")
    return name


def _run(
    start: Callable[[], native.Work], keep: Callable[[Any], Any], async_op: bool, written: Sequence[Tensor] = ()
) -> Work | None:
    """Starts an operation and has its result kept, now or when it is waited for."""
    with lm.no_grad():
        work = start()

    def wait() -> None:
        with lm.no_grad():
            keep(work.wait())

    made = Work(wait, work.is_completed, written)
    if async_op:
        return made
    made.wait()
    return None


def root_of(group: Any, rank: int | None, group_rank: int | None) -> int:
    """Returns the rank in the group of a process that is named by its rank among all, or in the group."""
    if group_rank is not None:
        return group_rank
    return (rank or 0) if group is None else get_group_rank(group, rank or 0)


def _into(tensors: Sequence[Tensor]) -> Callable[[Tensor], None]:
    """Returns what copies a tensor's parts along axis 0 into tensors."""

    def keep(found: Tensor) -> None:
        for x, part in zip(tensors, found.split([len(_rows(x)) for x in tensors]), strict=True):
            x.detach().copy_(part.reshape(x.shape))

    return keep


def _rows(x: Tensor) -> Tensor:
    return x.detach().reshape([-1])


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Overwrites a tensor by those of all processes, joined element by element."""
    if _is_outside(group):
        return None
    name = checked(op, "all_reduce")
    own = tensor.detach()
    return _run(lambda: native.all_reduce(own, name, group, async_op=True), own.copy_, async_op, [tensor])


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Overwrites the tensor of process ``dst`` by those of all processes, joined element by element."""
    if _is_outside(group):
        return None
    name, own, root = checked(op, "reduce"), tensor.detach(), root_of(group, dst, group_dst)

    def keep(found: Tensor) -> None:
        if native.get_rank(group) == root:
            own.copy_(found)

    return _run(lambda: native.reduce(own, name, root, group, async_op=True), keep, async_op, [tensor])


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Overwrites a tensor by that of process ``src``."""
    if _is_outside(group):
        return None
    own, root = tensor.detach(), root_of(group, src, group_src)
    return _run(lambda: native.broadcast(own, root, group, async_op=True), own.copy_, async_op, [tensor])


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Writes the tensors of all processes into those of a list."""
    if _is_outside(group):
        return None
    sizes = [len(_rows(x)) for x in tensor_list]
    return _run(
        lambda: native.all_gather(_rows(tensor), sizes=sizes, group=group, async_op=True),
        _into(tensor_list),
        async_op,
        tensor_list,
    )


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Writes the tensors of all processes, one after the other, into one tensor."""
    if _is_outside(group):
        return None
    sizes = [len(_rows(input_tensor))] * native.get_world_size(group)
    return _run(
        lambda: native.all_gather(_rows(input_tensor), sizes=sizes, group=group, async_op=True),
        _into([output_tensor]),
        async_op,
        [output_tensor],
    )


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Writes, of the lists of all processes joined element by element, this process's tensor into ``output``."""
    if _is_outside(group):
        return None
    rows = [_rows(x) for x in input_list]
    return _scattered(output, lm.concat(rows), [len(x) for x in rows], op, group, async_op, "reduce_scatter")


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Writes this process's part of the tensors of all processes, joined element by element, into ``output``."""
    if _is_outside(group):
        return None
    sizes = [len(_rows(output))] * native.get_world_size(group)
    return _scattered(output, _rows(input), sizes, op, group, async_op, "reduce_scatter_tensor")


def _scattered(
    output: Tensor, rows: Tensor, sizes: list[int], op: Any, group: Any, async_op: bool, caller: str
) -> Work | None:
    name = checked(op, caller)
    if name not in ("sum", "mean"):
        found = native.reduce_scatter(rows, name, sizes=sizes, group=group)
        output.detach().copy_(found.reshape(output.shape))
        return Work(lambda: None, lambda: True, [output]) if async_op else None
    return _run(
        lambda: native.reduce_scatter(rows, name, sizes=sizes, group=group, async_op=True),
        _into([output]),
        async_op,
        [output],
    )


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Writes the tensors of all processes into those of a list, on process ``dst``."""
    if _is_outside(group):
        return None
    root = root_of(group, dst, group_dst)
    if native.get_rank(group) == root and gather_list is None:
        raise ValueError("[gather] gather_list is a list of tensors on the process that gets them")
    sizes = [len(_rows(tensor))] * native.get_world_size(group)
    keep = _into(gather_list) if gather_list and native.get_rank(group) == root else lambda found: None
    return _run(lambda: native.gather(_rows(tensor), root, sizes=sizes, group=group, async_op=True), keep, async_op)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Writes one of the tensors of process ``src`` into that of each process."""
    if _is_outside(group):
        return None
    root, size = root_of(group, src, group_src), native.get_world_size(group)
    rows = None
    if native.get_rank(group) == root:
        if not scatter_list or len(scatter_list) != size:
            raise ValueError(f"[scatter] scatter_list has a tensor for each of the {size} processes")
        rows = lm.concat([_rows(x) for x in scatter_list])
    with lm.no_grad():
        found = native.scatter(rows, root, sizes=[len(_rows(tensor))] * size, group=group)
        tensor.detach().copy_(found.reshape(tensor.shape))
    return Work(lambda: None, lambda: True) if async_op else None


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """Sends a tensor to each process, and writes those that come into a list."""
    if _is_outside(group):
        return None
    rows = [_rows(x) for x in input_tensor_list]
    sizes, received = [len(x) for x in rows], [len(_rows(x)) for x in output_tensor_list]
    return _run(
        lambda: native.all_to_all(lm.concat(rows), sizes=sizes, received=received, group=group, async_op=True),
        _into(output_tensor_list),
        async_op,
    )


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Sends a part of a tensor along axis 0 to each process, and writes the parts that come into another."""
    if _is_outside(group):
        return None
    size, own = native.get_world_size(group), output.detach()
    return _run(
        lambda: native.all_to_all(
            input.detach(),
            sizes=input_split_sizes or [len(input) // size] * size,
            received=output_split_sizes or [len(output) // size] * size,
            group=group,
            async_op=True,
        ),
        own.copy_,
        async_op,
    )


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Waits until all processes of a group have come here."""
    if _is_outside(group):
        return None
    if not native.is_initialized():
        return None
    return _run(lambda: native.barrier(group, async_op=True), lambda _: None, async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Waits until all processes have come here; one that does not is named after the group's time."""
    barrier(group)


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work:
    """Starts to send a tensor to a process."""
    to = root_of(group, dst, group_dst)
    made = _run(lambda: native.send(tensor.detach(), to, tag, group, async_op=True), lambda _: None, True)
    assert made is not None
    return made


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work:
    """Starts to receive a tensor from a process.

    Raises:
        NotImplementedError: the process is not named.
    """
    if src is None and group_src is None:
        raise NotImplementedError("[recv] src is the rank of the process that sends")
    own, source = tensor.detach(), root_of(group, src, group_src)
    made = _run(lambda: native.recv(own, source, tag, group=group, async_op=True), own.copy_, True)  # type: ignore[arg-type, return-value]
    assert made is not None
    return made


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Sends a tensor to a process."""
    isend(tensor, dst, group, tag, group_dst).wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Overwrites a tensor by one that a process has sent. Returns that process's rank."""
    irecv(tensor, src, group, tag, group_src).wait()
    return src if src is not None else get_process_group_ranks(group)[group_src or 0]


# ---- objects, which travel pickled, as in PyTorch: the processes are of one program


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Writes the objects of all processes into a list."""
    if not _is_outside(group):
        object_list[:] = [unpickled(data) for data in native.all_gather_object(pickled(obj), group)]


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Writes the objects of all processes into a list, on process ``dst``."""
    if _is_outside(group):
        return
    found = native.all_gather_object(pickled(obj), group)
    if native.get_rank(group) == root_of(group, dst, group_dst):
        if object_gather_list is None:
            raise ValueError("[gather_object] object_gather_list is a list on the process that gets the objects")
        object_gather_list[:] = [unpickled(data) for data in found]


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Overwrites the objects of a list by those of process ``src``."""
    if not _is_outside(group):
        found = native.broadcast_object(pickled(list(object_list)), root_of(group, src, group_src), group)
        object_list[:] = unpickled(found)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Writes one of the objects of process ``src`` into the first place of a list, on each process."""
    if not _is_outside(group):
        told = [pickled(each) for each in scatter_object_input_list or []]
        found = native.broadcast_object(told, root_of(group, src, group_src), group)
        scatter_object_output_list[:1] = [unpickled(found[native.get_rank(group)])]


def pickled(value: Any) -> bytes:
    """Returns an object as bytes."""
    buffer = io.BytesIO()
    pickle.Pickler(buffer).dump(value)
    return buffer.getvalue()


def unpickled(data: bytes) -> Any:
    """Returns the object that was pickled; the processes are of one program."""
    return pickle.loads(data)
