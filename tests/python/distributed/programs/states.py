"""Saves states over processes, and loads them in another layout."""

import sys
from pathlib import Path

import numpy as np

import lamella as lm
import lamella.distributed as dist

dist.init_process_group(timeout=20)
rank, n = dist.get_rank(), dist.get_world_size()
folder = Path(sys.argv[1])
rng = np.random.default_rng(2)
W, V = rng.standard_normal((5, 4)).astype("float32"), rng.standard_normal((3,))
line = lm.placement("cpu", range(n))


def state(fill, sbp):
    lm.seed(0)
    cut = dist.FullyShardedDataParallel(lm.nn.Linear(4, 3))
    with cut.summon_full_params(), lm.no_grad():
        cut.module.weight.fill_(fill)
    return {
        "w": dist.distribute(lm.asarray(W * fill), line, sbp),
        "model": cut.sharded_state_dict(),
        "list": [{"v": lm.asarray(V * fill)}, 3 * fill, {"empty": {}}],
        "plain": {"names": ["a", "b"], "own": rank * fill, 7: (1, 2)},
    }


dist.save_state(folder, state(2, lm.sbp.split(0)))
other = state(1, lm.sbp.split(1))
weight = other["model"]["weight"].values
dist.load_state(folder, other)
np.testing.assert_array_equal(other["w"].whole().numpy(), 2 * W)
np.testing.assert_array_equal(other["list"][0]["v"].numpy(), 2 * V)
assert other["list"][1] == 6 and other["plain"] == {"names": ["a", "b"], "own": 2 * rank, 7: (1, 2)}
assert weight.tolist() == [2.0] * weight.size
part = {"w": lm.zeros((5, 4)), "none": lm.zeros((1,))}
for wrong, words in (
    (part, "the folder has no none"),
    ({"w": lm.zeros((4, 5))}, "'w' has shape [5, 4] in the folder, [4, 5] in the state"),
    ({"plain": {"c": 1}}, "the folder has no plain.c"),
):
    try:
        dist.load_state(folder, wrong)
    except ValueError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
assert part["w"].sum().item() == 0.0
dist.load_state(folder, part, strict=False)
np.testing.assert_array_equal(part["w"].numpy(), 2 * W)
whole = dist.read_state(folder)
np.testing.assert_array_equal(whole["w"].numpy(), 2 * W)
assert list(whole) == list(other) and whole["model"]["weight"].shape == (3, 4)
assert whole["plain"] == {"names": ["a", "b"], "own": 0, 7: (1, 2)} and whole["list"][2] == {"empty": {}}
assert dist.get_group().size == lm.placement("cpu", [list(range(n))]).along(1).size
grid = lm.placement("cpu", np.arange(n).reshape(2, -1).tolist())
row = grid.along(1)
assert rank in row and row.ranks == tuple(grid.fibers(1)[rank // (n // 2)])
assert dist.all_reduce(lm.tensor(float(rank)), group=row.group(0)).item() == sum(row.ranks)
dist.barrier()
print("checked", rank)
