"""Indices, through the front: what PyTorch's programs mean by them where numpy means something else."""

import pytest

from support import extensions

SETUP = "import copy, warnings\nimport numpy as np\nimport torch\nwarnings.simplefilter('ignore')\nT = torch.tensor\n"

PROGRAMS = {
    "order": """
x = torch.arange(48.0).reshape(2, 3, 4, 2)
array = x.numpy()
picked = [0, 1]
for index, wanted in (
    ((0, slice(None), picked), array[0][:, picked]),  # numpy has the axis of the list in front
    ((T(1), slice(None), T([[0], [1]])), array[1][:, [[0], [1]]]),
    ((0, slice(None), picked, picked), array[0][:, picked, picked]),
    ((slice(None), 0, slice(None), picked), array[:, 0][:, :, picked]),
    ((0, ..., picked), array[0][..., picked]),
    ((0, None, picked), array[0][None, picked]),
    ((picked, slice(None), 0), array[:, :, 0][picked]),
    ((picked, 0), array[picked, 0]),
    ((np.int64(1), slice(None), np.array([1, 2])), array[1][:, [1, 2]]),
    ((0, slice(None), T([True, False, True, False])), array[0][:, [0, 2]]),
    ((0, T([[True] * 4] * 3)), array[0].reshape(12, 2)),
):
    assert x[index].shape == wanted.shape and x[index].tolist() == wanted.tolist(), index
    y = x.clone()
    y[index] = x[index] * 0 - 1
    assert (y == -1).sum() == wanted.size, index

leaf = x.clone().requires_grad_()
leaf[0, :, [0, 2]].sum().backward()
assert leaf.grad.sum() == 3 * 2 * 2 and leaf.grad[0, :, [0, 2]].min() == 1
""",
    "lists": """
x = torch.arange(6).reshape(2, 3)
assert x[[0, 1]].shape == (2, 3) and x[[T(0), T(2)]] == 2 and x[[T([0, 1]), T([1, 2])]].tolist() == [1, 5]
assert x[[[0, 1], [0, 2]]].tolist() == [0, 5] and x[[slice(0, 1), 0]].tolist() == [0] and x[[None, 0]].shape == (1, 3)
assert x[[0] * 40].shape == (40, 3) and x[range(2)].shape == (2, 3) and x[[..., 0]].tolist() == [0, 3]
x[[T([0, 1]), T([1, 2])]] = -1
assert x.tolist() == [[0, -1, 2], [3, 4, -1]]
""",
    "masks": """
x = torch.arange(6).reshape(2, 3)
mask = T([1, 0], dtype=torch.uint8)
assert x[mask].tolist() == [[0, 1, 2]] and x[mask, 1:].tolist() == [[1, 2]] and x[mask.numpy()].shape == (1, 3)
assert x[T(1, dtype=torch.uint8)].shape == (1, 2, 3) and x[T(0, dtype=torch.uint8)].shape == (0, 2, 3)
x[mask] = 7
assert x.tolist() == [[7, 7, 7], [3, 4, 5]]
x.index_put_((mask,), T([1, 1, 1]), accumulate=True)
assert x.tolist() == [[8, 8, 8], [3, 4, 5]] == x.index_put((mask * 0,), T(0)).tolist()
for wrong in (lambda: x[T([1, 0, 1], dtype=torch.uint8)], lambda: x[[0, 1], [0, 1, 2]], lambda: x[T([1.0])]):
    try:
        wrong()
    except IndexError:
        pass
    else:
        raise AssertionError("nothing was raised")
""",
    "views": """
x = torch.zeros(3, 4)
for place in torch.arange(3):
    x[place].fill_(int(place) + 1)
x[T(0), T(1)].zero_()
x[:, T(3, dtype=torch.int32)].mul_(10)
assert x.tolist() == [[1, 0, 1, 10], [2, 2, 2, 20], [3, 3, 3, 30]]
assert x[T(1)].data_ptr() == x[1].data_ptr()

chosen = torch.compile(lambda x, place: x[place] * 2)  # a place that is an argument stays one
assert [chosen(x, T(place))[0].item() for place in (0, 2, 1)] == [2, 6, 4]
rows = torch.vmap(lambda x, place: x[place], in_dims=(None, 0))(x, T([2, 0]))
assert rows.tolist() == [x[2].tolist(), x[0].tolist()]
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_indices(name, tmp_path):
    extensions.write(tmp_path, {"program.py": SETUP + PROGRAMS[name]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
